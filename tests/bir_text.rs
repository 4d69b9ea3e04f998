//! Modules of the IR as JSON and as text.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod golden_support;

use dmadbg::bir::Value;
use dmadbg::load::bir::tape::Tape;
use dmadbg::load::bir::{json_to_text, read_json, read_text, text_to_json};
use golden_support::{Compared, golden};
use std::path::PathBuf;

fn files() -> Option<Vec<PathBuf>> {
    let dir = golden()?.join("bir");
    let all = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut all: Vec<PathBuf> = all
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    all.sort();
    Some(all)
}

fn stem(p: &std::path::Path) -> String {
    p.file_stem().unwrap().to_string_lossy().into_owned()
}

/// Golden modules that loading itself refuses, and the code.
const REFUSED: [(&str, &str); 5] = [
    ("error_trigger_missing_block", "B023"),
    ("error_unknown_axis", "B026"),
    ("error_unknown_memory_location", "B020"),
    ("error_unknown_queue", "B022"),
    ("error_version_3", "B007"),
];

#[test]
fn golden_modules_load_and_those_with_broken_names_do_not() {
    let Some(files) = files() else { return };
    let mut n = Compared::new();
    for f in files {
        let bytes = std::fs::read(&f).unwrap();
        let name = stem(&f);
        let refused = REFUSED.iter().find(|(n, _)| *n == name);
        match (read_json(&name, &bytes), refused) {
            (Ok(l), None) => {
                assert!(l.warnings.is_empty(), "{name}: {:?}", l.warnings);
                assert!(l.beside.iter().any(|(k, _)| &**k == "memory_in"), "{name}");
            }
            (Err(d), Some((_, code))) => {
                assert_eq!(d.len(), 1, "{name}: {d:?}");
                assert_eq!(d[0].code, *code, "{name}");
                assert!(d[0].place.line > Some(1) && d[0].place.column.is_some(), "{name}: {d:?}");
            }
            (Ok(_), Some(_)) => panic!("{name} loads"),
            (Err(d), None) => panic!("{name}: {d:?}"),
        }
        n.one();
    }
    n.finish("modules loaded");
}

/// A tree with the keys of its objects in order.
fn sorted(v: Value) -> Value {
    match v {
        Value::Arr(items) => Value::Arr(items.into_iter().map(sorted).collect()),
        Value::Obj(members) => {
            let mut members: Vec<_> = members.into_iter().map(|(k, v)| (k, sorted(v))).collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Obj(members)
        }
        other => other,
    }
}

fn tree(json: &str) -> Value {
    let tape = Tape::read(json.as_bytes()).unwrap_or_else(|f| panic!("{f:?}\n{json}"));
    sorted(tape.root().to_value())
}

#[test]
fn golden_modules_are_the_same_as_text() {
    let Some(files) = files() else { return };
    let mut n = Compared::new();
    for f in files {
        let json = std::fs::read_to_string(&f).unwrap();
        let name = stem(&f);
        let text = json_to_text(&name, json.as_bytes()).unwrap();
        let back = text_to_json(&name, &text).unwrap_or_else(|d| panic!("{name}: {d:?}\n{text}"));
        assert_eq!(tree(&json), tree(&back), "{name}\n{text}");
        let again = json_to_text(&name, back.as_bytes()).unwrap();
        assert_eq!(text, again, "{name}: printing is no fixpoint");
        assert!(!text.contains("={\"kind\""), "{name}: an operand without syntax\n{text}");
        match (read_json(&name, json.as_bytes()), read_text(&name, &text)) {
            (Ok(a), Ok(b)) => assert_eq!(a.module, b.module, "{name}"),
            (Err(a), Err(b)) => {
                let codes = |d: &[dmadbg::diag::Diagnostic]| {
                    d.iter().map(|d| (d.code, d.message.clone())).collect::<Vec<_>>()
                };
                assert_eq!(codes(&a), codes(&b), "{name}");
                let place = &b[0].place;
                let line = text.lines().nth(place.line.unwrap() as usize - 1).unwrap();
                let width = place.width.unwrap() as usize;
                let column = place.column.unwrap() as usize;
                assert!(column - 1 + width <= line.chars().count(), "{name}: {place:?}\n{line}");
            }
            (a, b) => panic!("{name}: JSON {:?}, text {:?}", a.err(), b.err()),
        }
        n.one();
    }
    n.finish("modules as text");
}
