//! What kind of input this is, told from a bounded prefix, and why.
//!
//! The order of the questions is fixed (`docs/formats.md`, "How the kind is told"): the
//! program image's magic, JSON, text by its first word, formats that are known but not read,
//! a row of slots.

use super::asm;
use super::container::MAGIC;
use super::hex::{self, HexForm};
use crate::diag::{Diagnostic, Place};
use crate::limits::DETECT_BYTES;
use crate::udma::{DESC_BYTES, count_of};

/// The kind of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A raw ring image.
    Raw,
    /// Hex text, in this form.
    Hex(HexForm),
    /// A directory of raw images.
    Directory,
    /// A program image.
    Container,
    /// DMA assembly.
    Assembly,
    /// BIR text.
    BirText,
    /// JSON.
    BirJson,
    /// A script of the debugger.
    Script,
}

impl Kind {
    /// Its name for a reader.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Raw => "raw ring image",
            Kind::Hex(_) => "hex text",
            Kind::Directory => "directory of ring images",
            Kind::Container => "DMA program image",
            Kind::Assembly => "DMA assembly",
            Kind::BirText => "BIR text",
            Kind::BirJson => "BIR JSON",
            Kind::Script => "debugger script",
        }
    }
}

/// A kind and the reason for it, a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    /// What.
    pub kind: Kind,
    /// Why.
    pub why: String,
}

/// Header words of text inputs.
const HEADERS: [(&str, Kind); 3] =
    [(asm::HEADER, Kind::Assembly), ("bir", Kind::BirText), ("dbg", Kind::Script)];
/// Extensions that promise text.
const TEXT_EXTENSIONS: [&str; 6] = ["bir", "dma", "dbg", "hex", "txt", "json"];
/// Formats that are known by their first bytes and not read.
const FOREIGN: [(&[u8], &str); 4] = [
    (b"NEFF", "a NEFF"),
    (b"COLZ", "a column log (.colz)"),
    (b"colz", "a column log (.colz)"),
    (b"\xd9\xd9\xf7", "CBOR"),
];
/// Extensions of formats that are known and not read.
const FOREIGN_EXTENSIONS: [(&str, &str); 3] =
    [("neff", "a NEFF"), ("colz", "a column log (.colz)"), ("cbor", "CBOR")];

/// Tells the kind of `bytes`, of which only a prefix is looked at.
///
/// # Errors
/// D001 empty, D002 no row of slots, D003 nothing known, D004 a text's name on binary
/// content, D005 a known format that is not read.
pub fn detect(name: &str, bytes: &[u8]) -> Result<Detected, Diagnostic> {
    known(name, bytes).map_err(|d| d.in_file(name))
}

fn known(name: &str, bytes: &[u8]) -> Result<Detected, Diagnostic> {
    let prefix = bytes.get(..DETECT_BYTES).unwrap_or(bytes);
    let extension = extension(name);
    let found = |kind, why: String| Ok(Detected { kind, why });
    if bytes.is_empty() {
        return Err(Diagnostic::new("D001", format!("`{name}` is empty")));
    }
    if prefix.starts_with(&MAGIC) {
        return found(Kind::Container, "it begins with the magic of a program image".to_owned());
    }
    // A cut magic is a cut image, not a raw ring.
    if prefix.len() < MAGIC.len() && MAGIC.starts_with(prefix) {
        return found(Kind::Container, "it is the beginning of a program image".to_owned());
    }
    if let Some(what) = foreign(&extension, prefix) {
        return Err(Diagnostic::new(
            "D005",
            format!("`{name}` is {what}, which is not supported yet"),
        ));
    }
    let head = prefix.get(..DESC_BYTES).unwrap_or(prefix);
    let inside = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    let brace = inside.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
    if brace && !head.contains(&0) {
        return found(Kind::BirJson, "it begins with `{` and has no NUL in front".to_owned());
    }
    let text = text(prefix, bytes.len() > prefix.len());
    if let Some(d) = text.and_then(|t| by_first_word(t, &extension)) {
        return Ok(d);
    }
    if text.is_none() && TEXT_EXTENSIONS.contains(&extension.as_str()) {
        let at = prefix.iter().position(|b| *b == 0 || *b >= 0x80).unwrap_or(0);
        let why = format!("`{name}` should be text and is binary");
        return Err(Diagnostic::new("D004", why).at(Place::offset(at as u64)));
    }
    if let Some(t) = text.filter(|t| readable(t) || TEXT_EXTENSIONS.contains(&extension.as_str())) {
        return Err(unknown_text(t));
    }
    let over = bytes.len() % DESC_BYTES;
    if over != 0 {
        let why = format!(
            "{}: no row of 16-byte slots, and no other known form",
            count_of(bytes.len(), "byte")
        );
        return Err(Diagnostic::new("D002", why).at(Place::offset((bytes.len() - over) as u64)));
    }
    let slots = bytes.len() / DESC_BYTES;
    found(
        Kind::Raw,
        format!(
            "it has no magic, is no text, and is {slots} of 16 bytes",
            slots = count_of(slots, "slot")
        ),
    )
}

/// The file name's extension in lower case.
fn extension(name: &str) -> String {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    match file.rsplit_once('.') {
        Some((_, e)) => e.to_ascii_lowercase(),
        None => String::new(),
    }
}

fn foreign(extension: &str, prefix: &[u8]) -> Option<&'static str> {
    let by_bytes = FOREIGN.iter().find(|(magic, _)| prefix.starts_with(magic)).map(|(_, n)| *n);
    let by_name = || FOREIGN_EXTENSIONS.iter().find(|(e, _)| *e == extension).map(|(_, n)| *n);
    by_bytes.or_else(by_name)
}

/// The prefix as text: UTF-8 without NUL; a character that the prefix cuts is left out.
fn text(prefix: &[u8], cut: bool) -> Option<&str> {
    if prefix.contains(&0) {
        return None;
    }
    match std::str::from_utf8(prefix) {
        Ok(t) => Some(t),
        Err(e) if cut && e.error_len().is_none() => {
            prefix.get(..e.valid_up_to()).and_then(|p| std::str::from_utf8(p).ok())
        }
        Err(_) => None,
    }
}

/// Whether text holds no control characters that text does not have.
fn readable(text: &str) -> bool {
    text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\x0c' | '\x1b'))
}

fn by_first_word(text: &str, extension: &str) -> Option<Detected> {
    let text = text.trim_start_matches('\u{feff}');
    let line = text.lines().find(|l| !hex::is_comment(l));
    let word = line.and_then(|l| l.split_whitespace().next()).unwrap_or_default();
    if let Some((w, kind)) = HEADERS.into_iter().find(|(w, _)| *w == word) {
        return Some(Detected { kind, why: format!("it is text that begins with the word `{w}`") });
    }
    if extension == "dbg" {
        // The command language has no header of its own.
        let why = "it is text named .dbg".to_owned();
        return Some(Detected { kind: Kind::Script, why });
    }
    let form = hex::recognise(text)?;
    let why = format!("it is text whose lines look like {}", form.name());
    Some(Detected { kind: Kind::Hex(form), why })
}

fn unknown_text(text: &str) -> Diagnostic {
    const SHOWN: usize = 24;
    let known = "known: assembly (`dma 1`), BIR (`bir`), BIR JSON (an object, `{`), hex text; \
        docs/formats.md lists them";
    let Some(line) = text.lines().position(|l| !hex::is_comment(l) && !l.trim().is_empty()) else {
        let text = "text without a word in it is none of the known forms";
        return Diagnostic::new("D003", text).at(Place::text(1, 1, 1)).help(known);
    };
    let content = text.lines().nth(line).unwrap_or_default();
    if content.trim_start().starts_with('{') {
        let first = text.lines().position(|l| !l.trim().is_empty()).unwrap_or_default();
        let comment = text.lines().nth(first).unwrap_or_default();
        let lead = comment.chars().take_while(|c| c.is_whitespace()).count();
        let width = comment.trim().chars().count();
        return Diagnostic::new("D003", "a comment before JSON, which has no comments")
            .at(Place::text(first as u64 + 1, lead as u64 + 1, width as u64))
            .help("leave it out, or write the module as `.bir` text, where `;` begins a comment");
    }
    let word: String =
        content.split_whitespace().next().unwrap_or_default().chars().take(SHOWN).collect();
    let lead = content.chars().take_while(|c| c.is_whitespace()).count();
    let width = word.chars().count();
    Diagnostic::new("D003", format!("text that begins with `{word}` is none of the known forms"))
        .at(Place::text(line as u64 + 1, lead as u64 + 1, width as u64))
        .help(known)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn kind(name: &str, b: &[u8]) -> Result<Kind, &'static str> {
        detect(name, b).map(|d| d.kind).map_err(|d| d.code)
    }

    #[test]
    fn load_detection_follows_its_order() {
        assert_eq!(kind("a.bin", b"\x89DMADBG\nxxxx"), Ok(Kind::Container));
        assert_eq!(kind("a.bin", b" {\"a\": 1}"), Ok(Kind::BirJson));
        assert_eq!(kind("a", "\u{feff}{}".as_bytes()), Ok(Kind::BirJson));
        assert_eq!(kind("a", b"; comment\n\nbir gen3\n"), Ok(Kind::BirText));
        assert_eq!(kind("a.bir", b"func f {\n}\n"), Err("D003"), "no header");
        assert_eq!(kind("a.json", b"{\"a\":\0.........."), Err("D004"), "binary content");
        assert_eq!(kind("a", b"; test: run\n dma 1\n"), Ok(Kind::Assembly));
        assert_eq!(kind("a", b"bir 1\n"), Ok(Kind::BirText));
        assert_eq!(kind("a", b"dbg 1\n"), Ok(Kind::Script));
        assert_eq!(kind("a", b"0d001000 05080003\n"), Ok(Kind::Hex(HexForm::Words)));
        assert_eq!(kind("a.bin", &[0; 16]), Ok(Kind::Raw));
        assert_eq!(kind("a.bin", &[0xff; 16]), Ok(Kind::Raw));
        assert_eq!(kind("a.bin", &[1; 16]), Ok(Kind::Raw), "control characters are no text");
        assert_eq!(kind("a.bin", &[0; 15]), Err("D002"));
        assert_eq!(kind("a.bin", &[0; 17]), Err("D002"));
        assert_eq!(kind("a.bin", b""), Err("D001"));
        assert_eq!(kind("a.bir", &[0xfe; 64]), Err("D004"));
        assert_eq!(kind("A.HEX", &[0; 64]), Err("D004"));
        assert_eq!(kind("a.neff", &[0; 64]), Err("D005"));
        assert_eq!(kind("a.bin", b"NEFF\x01\x00"), Err("D005"));
        assert_eq!(kind("a.cbor", &[0xa1; 16]), Err("D005"));
        assert_eq!(kind("a.txt", b"hello world, this is text"), Err("D003"));
        assert_eq!(kind("a", b"{\0.............."), Ok(Kind::Raw));
    }

    #[test]
    fn load_detection_tells_a_comment_before_json() {
        let d = detect("m.json", b"\n  // by hand\n{\"functions\": []}\n").unwrap_err();
        assert_eq!((d.code, d.place.line, d.place.column), ("D003", Some(2), Some(3)));
        assert!(d.message.contains("comment"), "{}", d.message);
        assert_eq!(kind("m", b"// by hand\nbir 2\n"), Ok(Kind::BirText));
    }

    #[test]
    fn load_detection_looks_at_a_prefix_only() {
        let mut b = vec![b' '; DETECT_BYTES + 2];
        b[..6].copy_from_slice(b"dma 1\n");
        b[DETECT_BYTES - 1..].copy_from_slice("\u{20ac}".as_bytes());
        assert_eq!(kind("a", &b), Ok(Kind::Assembly));
    }
}
