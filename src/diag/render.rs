//! Diagnostics as text and as JSON. Text that came from a file is escaped, so that it cannot
//! steer a terminal.

use super::{Diagnostic, Place, Severity};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character does something to a terminal, or to the reader, in place of being seen:
/// control characters (all of C0, DEL, C1), what turns the direction of text, what has no width
/// and joins or parts others, line and paragraph separators, tags, and what is no character.
pub fn is_unsafe(c: char) -> bool {
    match u32::from(c) {
        0x20..=0x7e => false,
        0..=0x1f | 0x7f..=0x9f => true,
        0xad
        | 0x61c
        | 0x180e
        | 0x200b..=0x200f
        | 0x2028..=0x202e
        | 0x2060..=0x206f
        | 0xfeff
        | 0xfff9..=0xfffb
        | 0xfdd0..=0xfdef
        | 0xe0000..=0xe007f => true,
        n => n & 0xfffe == 0xfffe,
    }
}

/// Whether lines of text can be shown as they are.
pub fn is_safe(text: &str) -> bool {
    text.chars().all(|c| matches!(c, '\n' | '\t') || !is_unsafe(c))
}

/// JSON text in which what is not seen ([`is_unsafe`]) is escaped: JSON writers leave everything
/// from DEL on as it is, and some of that steers a terminal. The value stays the same.
pub fn json_safe(text: &str) -> Cow<'_, str> {
    // Lines of JSON have ends; within a string they are escaped already.
    let odd = |c: char| c != '\n' && is_unsafe(c);
    let plain = |part: &[u8]| part.iter().fold(true, |all, b| all & (*b < 0x7f));
    if text.as_bytes().chunks(1 << 12).all(plain) || !text.contains(odd) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        if odd(c) {
            push_json_escape(&mut out, c);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Appends a character as JSON's `\uXXXX`, two of them where one does not hold it.
pub fn push_json_escape(out: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(out, "\\u{unit:04x}");
    }
}

/// Escapes what is not seen ([`is_unsafe`]) so that text is safe on a terminal; a tab becomes a
/// blank.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\t' {
            out.push(' ');
        } else if is_unsafe(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// The place in words, `file:line:column`, `file at byte N`, `tx[3]`, .. ; empty when nothing
/// is known.
pub fn place(p: &Place) -> String {
    let mut parts = Vec::new();
    let mut head = p.file.as_deref().map(printable).unwrap_or_default();
    if let Some(line) = p.line {
        let _ = write!(head, "{}{line}", if head.is_empty() { "line " } else { ":" });
        if let Some(column) = p.column {
            let _ = write!(head, ":{column}");
        }
    }
    if !head.is_empty() {
        parts.push(head);
    }
    if let Some(slot) = p.slot {
        parts.push(slot.to_string());
    }
    if let Some(offset) = p.offset {
        parts.push(format!("byte {offset:#x}"));
    }
    if let Some(event) = p.event {
        parts.push(format!("event {event}"));
    }
    parts.join(", ")
}

/// ANSI colour of a severity.
fn colour(s: Severity) -> &'static str {
    match s {
        Severity::Error => "\x1b[1;31m",
        Severity::Warning => "\x1b[1;33m",
        Severity::Note => "\x1b[1;36m",
    }
}

/// One finding as lines of text. `source` is the text it points into, for the carets.
pub fn text(d: &Diagnostic, source: Option<&str>, ansi: bool) -> String {
    let (on, off) = if ansi { (colour(d.severity), "\x1b[0m") } else { ("", "") };
    let mut out = format!("{on}{}[{}]{off}: {}\n", d.severity, d.code, printable(&d.message));
    let at = place(&d.place);
    if !at.is_empty() {
        let _ = writeln!(out, "  --> {at}");
    }
    out.push_str(&snippet(d, source));
    for (p, why) in &d.labels {
        let _ = writeln!(out, "  - {}: {}", place(p), printable(why));
    }
    if let Some(help) = &d.help {
        // Lines after the first stand below its text: a drawing keeps its columns.
        for (k, line) in help.lines().enumerate() {
            let head = if k == 0 { "help: " } else { "      " };
            let _ = writeln!(out, "  {head}{}", printable(line));
        }
    }
    out
}

/// The line that a finding points into, with carets below; empty where there is none.
fn snippet(d: &Diagnostic, source: Option<&str>) -> String {
    const WIDEST: usize = 160;
    let found = d.place.line.and_then(|n| {
        let index = usize::try_from(n.checked_sub(1)?).ok()?;
        Some((n, source?.lines().nth(index)?))
    });
    let Some((number, line)) = found else { return String::new() };
    let column = d.place.column.unwrap_or(1).saturating_sub(1) as usize;
    // Long lines are shown around the place.
    let skip = column.saturating_sub(WIDEST / 2);
    let shown: String = line.chars().skip(skip).take(WIDEST).collect();
    let wide = |c: char| printable(&c.to_string()).chars().count();
    let before: usize = shown.chars().take(column - skip).map(wide).sum();
    let carets: usize = d.place.width.unwrap_or(1).max(1) as usize;
    // At the end of a line one more may stand than there are characters.
    let carets = carets.min(shown.chars().count().saturating_sub(column - skip).max(1));
    // What is left out on either side is marked.
    let left = if skip > 0 { ".. " } else { "" };
    let right = if line.chars().nth(skip + WIDEST).is_some() { " .." } else { "" };
    let gutter = number.to_string().len();
    let before = before + left.len();
    format!(
        "{:gutter$} |\n{number} | {left}{}{right}\n{:gutter$} | {:before$}{}\n",
        "",
        printable(&shown),
        "",
        "",
        "^".repeat(carets)
    )
}

/// One finding as a JSON object; absent parts are left out, `labels` is always there.
pub fn to_json(d: &Diagnostic) -> Value {
    let mut o = Map::new();
    o.insert("code".into(), json!(d.code));
    o.insert("severity".into(), json!(d.severity.name()));
    o.insert("message".into(), json!(d.message));
    place_json(&d.place, &mut o);
    if let Some(help) = &d.help {
        o.insert("help".into(), json!(help));
    }
    let labels: Vec<Value> = d
        .labels
        .iter()
        .map(|(p, why)| {
            let mut l = Map::new();
            place_json(p, &mut l);
            l.insert("text".into(), json!(why));
            Value::Object(l)
        })
        .collect();
    o.insert("labels".into(), Value::Array(labels));
    Value::Object(o)
}

fn place_json(p: &Place, o: &mut Map<String, Value>) {
    if let Some(file) = &p.file {
        o.insert("file".into(), json!(file));
    }
    for (key, value) in [
        ("line", p.line),
        ("column", p.column),
        ("width", p.width),
        ("offset", p.offset),
        ("event", p.event),
    ] {
        if let Some(value) = value {
            o.insert(key.into(), json!(value));
        }
    }
    if let Some(slot) = p.slot {
        o.insert("slot".into(), json!(slot.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carets_stand_under_the_word_meant() {
        let d = Diagnostic::new("D040", "`zz` is no hex digit")
            .at(Place::text(2, 4, 2).in_file("a.hex"));
        assert_eq!(
            text(&d, Some("00 11\n22 zz 33\n"), false),
            "error[D040]: `zz` is no hex digit\n  --> a.hex:2:4\n  |\n2 | 22 zz 33\n  |    ^^\n"
        );
    }

    #[test]
    fn what_is_left_out_of_a_long_line_is_marked() {
        let line = format!("{}here{}", "a".repeat(200), "b".repeat(200));
        let at = |column, width| Diagnostic::new("D040", "x").at(Place::text(1, column, width));
        let t = text(&at(201, 4), Some(&line), false);
        let lines: Vec<&str> = t.lines().collect();
        assert!(lines[3].starts_with("1 | .. aaa") && lines[3].ends_with("bbb .."), "{t}");
        let caret = lines[4].find('^').unwrap_or(0);
        assert_eq!(lines[3].get(caret..caret + 4), Some("here"), "{t}");
        let t = text(&at(1, 500), Some(&line), false);
        assert!(t.contains("1 | aaa") && t.contains("a ..\n"), "{t}");
        assert_eq!(t.matches('^').count(), 160);
        let t = text(&at(401, 4), Some(&line), false);
        assert!(t.contains(".. ") && !t.contains("b ..") && t.matches('^').count() == 4, "{t}");
    }

    #[test]
    fn help_of_several_lines_keeps_its_columns() {
        let d = Diagnostic::new("D040", "x").help("a\n  0 1\n0 . X");
        assert!(text(&d, None, false).ends_with("  help: a\n          0 1\n        0 . X\n"));
    }

    #[test]
    fn what_is_not_seen_is_escaped_in_text_and_in_json() {
        let odd =
            "\u{1b}\u{7f}\u{9b}\u{ad}\u{202e}\u{200b}\u{2028}\u{feff}\u{e0041}\u{fffe}\u{10ffff}";
        assert!(odd.chars().all(is_unsafe));
        assert!(is_safe("a\tb\né\u{1f980}~ \u{a0}") && !is_safe("\r"));
        let text = printable(&format!("é{odd}x"));
        assert!(is_safe(&text) && text.starts_with("é\\u{1b}\\u{7f}"), "{text}");
        assert_eq!(printable("a\nb"), "a\\nb");
        let value = json!({ format!("k{odd}"): format!("é{odd}\n\"") });
        let said = value.to_string();
        let safe = json_safe(&said);
        assert!(is_safe(&safe) && safe.contains("\\udb40\\udc41"), "{safe}");
        assert_eq!(serde_json::from_str::<Value>(&safe).ok(), Some(value));
        assert!(matches!(json_safe("{\"é\": 1}\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn names_from_files_cannot_steer_the_terminal() {
        let d =
            Diagnostic::new("D051", "no region `\x1b[2Jx`").at(Place::default().in_file("a\x07b"));
        let t = text(&d, None, false);
        assert!(!t.contains('\x1b') && !t.contains('\x07'), "{t:?}");
    }
}
