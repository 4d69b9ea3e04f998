//! What `explain` knows beside codes, faults, fields, classes, registers, commands and terms:
//! words of a descriptor, labels of the ruler, values that expressions have, profiles and
//! generations. Each is told from its own table.

use super::out::{Out, Style};
use crate::engine::expr::{PROPERTIES, QUEUE_PROPERTIES, RING_PROPERTIES, SLOT_PROPERTIES};
use crate::udma::field::{self, FIELDS, Field};
use crate::udma::profile::PROFILES;
use crate::udma::{Generation, View, Word};
use serde_json::json;
use std::io;

/// The field whose label on the ruler this is, such as `WBAR`.
pub fn labelled(label: &str) -> Option<&'static Field> {
    let named = |f: &&Field| f.label.len() > 1 && f.label.eq_ignore_ascii_case(label);
    FIELDS.iter().find(named)
}

/// Explains a name; false where it is none of these.
///
/// # Errors
/// Those of the output.
pub fn explain(name: &str, out: &mut Out<'_>) -> io::Result<bool> {
    let lower = name.to_ascii_lowercase();
    let mut found = word(&lower, out)?;
    let values = [
        (PROPERTIES, "the session"),
        (RING_PROPERTIES, "a ring"),
        (QUEUE_PROPERTIES, "a queue"),
        (SLOT_PROPERTIES, "a slot"),
    ];
    for (table, of) in values {
        for (_, meaning) in table.iter().filter(|p| p.0 == lower) {
            found = true;
            let json = json!({ "value": lower, "of": of, "meaning": meaning });
            told(out, &format!("{lower} (a value of {of})"), &[("means", meaning)], json)?;
        }
    }
    if let Some(p) = PROFILES.iter().find(|p| p.name == lower || p.version == lower) {
        found = true;
        let json = json!({ "profile": p.name, "version": p.version, "meaning": p.about });
        let lines = [("means", p.about), ("page", "docs/driver.md")];
        told(out, &format!("{} (driver profile)", p.name), &lines, json)?;
    }
    let generation = Generation::ALL
        .into_iter()
        .find(|g| g.name() == lower || g.code_name().eq_ignore_ascii_case(&lower));
    if let Some(g) = generation {
        found = true;
        let (engine, queue) = g.host_copy_queue(0);
        let meaning = format!(
            "Generation {} of the engine. Host addresses have bit {} set; the host's copies run on engine {engine}, queue {queue}.",
            g.code_name(),
            g.host_base().trailing_zeros()
        );
        let json = json!({ "generation": g.name(), "also": g.code_name(), "meaning": meaning });
        let lines = [("means", meaning.as_str()), ("page", "docs/driver.md")];
        told(out, &format!("{} (generation)", g.name()), &lines, json)?;
    }
    Ok(found)
}

/// A word of a descriptor with its fields, as each kind of descriptor has it.
fn word(name: &str, out: &mut Out<'_>) -> io::Result<bool> {
    let mut shown: Vec<Vec<&str>> = Vec::new();
    for view in View::ALL {
        let Some(&word) = Word::of(view).iter().find(|w| w.name() == name) else { continue };
        let fields: Vec<&Field> = field::fields_of(view, word).collect();
        // A field of the same name, and nothing else, is explained as that.
        if fields.len() == 1 && fields[0].name == name {
            continue;
        }
        let names: Vec<&str> = fields.iter().map(|f| f.name).collect();
        if shown.contains(&names) {
            continue;
        }
        let of = match view {
            View::Tx => "tx",
            View::Rx => "rx",
            View::Meta => "meta",
        };
        let json = json!({
            "word": name, "of": of, "offset": word.offset(), "bits": word.bits(),
            "fields": fields.iter().map(|f| json!({
                "name": f.name, "bits": bits(f), "meaning": f.meaning,
            })).collect::<Vec<_>>(),
        });
        let title = format!("{name} (word of a {of} descriptor, byte {})", word.offset());
        let rows: Vec<(String, String)> =
            fields.iter().map(|f| (bits(f), format!("{}: {}", f.name, f.meaning))).collect();
        let lines: Vec<(&str, &str)> = rows.iter().map(|r| (r.0.as_str(), r.1.as_str())).collect();
        told(out, &title, &lines, json)?;
        shown.push(names);
    }
    Ok(!shown.is_empty())
}

fn bits(f: &Field) -> String {
    if f.width == 1 { f.lo.to_string() } else { format!("{}:{}", f.hi(), f.lo) }
}

fn told(
    out: &mut Out<'_>,
    title: &str,
    lines: &[(&str, &str)],
    json: serde_json::Value,
) -> io::Result<()> {
    if out.json() {
        return out.value(&json);
    }
    out.line(&out.styled(Style::Bold, title))?;
    for (head, text) in lines {
        out.line(&format!("  {head:<6}  {text}"))?;
    }
    Ok(())
}
