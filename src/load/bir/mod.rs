//! Modules of the compiler's IR, as JSON and as `.bir` text, in and out.
//!
//! [`tape`] indexes JSON, `decode` (with `inst` and `operand`) makes a module of the index,
//! [`resolve`] looks up its names; [`spans`] remembers where everything stands. What the keys
//! mean is in `docs/bir.md`, the text form in `docs/bir-text.md`.

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
pub(crate) mod arbitrary;
mod clause;
mod decode;
mod fields;
mod inst;
mod json;
mod keys;
mod lex;
pub mod listing;
mod names;
mod near;
mod node;
mod operand;
mod parse;
mod print;
pub mod resolve;
pub mod spans;
pub mod tape;
mod write;

use crate::bir::{Extra, Module, Pos};
use crate::diag::{Diagnostic, Severity};
use decode::Decoder;
use node::Node;
use print::Printer;
use spans::{Fault, Lines, Origin};
use std::collections::{BTreeSet, HashSet};
use std::thread;
use tape::{Json, Tape};

pub use fields::Keys;
pub use parse::HEADER;
pub use spans::Spans;

/// A module and where everything in it stands.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The module.
    pub module: Module,
    /// Where its parts are in the file.
    pub spans: Spans,
    /// Findings that are no errors.
    pub warnings: Vec<Diagnostic>,
    /// Keys beside the module, where the file is a `{"module": ..}` wrapper.
    pub beside: Extra,
}

/// Whether a code says that a module cannot be read as one (syntax, version, names, limits).
pub fn is_load_error(code: &str) -> bool {
    code.len() == 4 && ("B001"..="B039").contains(&code)
}

/// Reads a module from JSON: the bare object, or one with the module under the key `module`.
///
/// # Errors
/// Everything that is wrong with it, each with line, column, width and offset: B001 to B039.
pub fn read_json(file: &str, bytes: &[u8]) -> Result<Loaded, Vec<Diagnostic>> {
    let (lines, tape) = beside_lines(bytes, || Tape::read(bytes));
    read(Origin { file: file.to_owned(), lines, map: None }, tape)
}

/// The lines of a text and what `f` makes of it; of a large one at the same time.
fn beside_lines<T>(bytes: &[u8], f: impl FnOnce() -> T) -> (Lines, T) {
    if bytes.len() < LARGE_BYTES {
        return (Lines::of(bytes), f());
    }
    thread::scope(|s| {
        let lines = s.spawn(|| Lines::of(bytes));
        let made = f();
        (lines.join().unwrap_or_else(|_| Lines::of(bytes)), made)
    })
}

/// Bytes of text from which on a second thread is worth its while.
const LARGE_BYTES: usize = 1 << 22;

/// Reads a module in either form, whichever the bytes are: JSON begins with `{`.
///
/// # Errors
/// Everything that is wrong with it: B001 to B039.
pub fn read_any(file: &str, bytes: &[u8]) -> Result<Loaded, Vec<Diagnostic>> {
    let inside = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    if inside.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{') {
        return read_json(file, bytes);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => read_text(file, text),
        Err(e) => {
            let origin = Origin { file: file.to_owned(), lines: Lines::of(bytes), map: None };
            let at = u32::try_from(e.valid_up_to()).unwrap_or(u32::MAX);
            let span = spans::Span { start: at, end: at.saturating_add(1) };
            Err(said(&origin, vec![Fault::new("B002", span, "a byte that is no UTF-8")]))
        }
    }
}

/// Reads a module from `.bir` text; places are those of the text.
///
/// # Errors
/// Everything that is wrong with it: B001 to B039.
pub fn read_text(file: &str, text: &str) -> Result<Loaded, Vec<Diagnostic>> {
    let (lines, parsed) = beside_lines(text.as_bytes(), || parse::parse(text));
    let mut origin = Origin { file: file.to_owned(), lines, map: None };
    match parsed {
        Ok(t) => {
            let faults = said(&origin, t.faults);
            origin.map = Some(t.map);
            let read = read(origin, Tape::read(t.json.as_bytes()));
            if faults.is_empty() { read } else { Err(recovered(text, faults, read)) }
        }
        Err(faults) => Err(said(&origin, faults)),
    }
}

/// The faults of lines, and those of what the other lines say. What only follows from a line
/// that could not be read is left out: what is wrong with its rest, and names that it has.
fn recovered(
    text: &str,
    mut faults: Vec<Diagnostic>,
    read: Result<Loaded, Vec<Diagnostic>>,
) -> Vec<Diagnostic> {
    let lines: Vec<&str> = text.lines().collect();
    let line = |n: u64| {
        let at = usize::try_from(n).ok()?.checked_sub(1)?;
        lines.get(at).copied()
    };
    let broken: BTreeSet<u64> = faults.iter().filter_map(|d| d.place.line).collect();
    let lost: HashSet<&str> = broken
        .iter()
        .filter_map(|n| line(*n))
        .flat_map(|l| l.split(|c: char| !c.is_ascii_alphanumeric() && !"_.-".contains(c)))
        .collect();
    // What stands in a message between marks is a name.
    let names = |d: &Diagnostic| d.message.split('`').skip(1).step_by(2).any(|n| lost.contains(n));
    let found = match read {
        Ok(loaded) => loaded.warnings,
        Err(all) => all,
    };
    let follows = |d: &Diagnostic| {
        d.place.line.is_none_or(|n| broken.contains(&n))
            || matches!(d.code, "B006" | "B016")
            || (("B020"..="B030").contains(&d.code) && names(d))
    };
    faults.extend(found.into_iter().filter(|d| !follows(d)));
    faults.sort_by_key(|d| d.place.offset);
    faults
}

/// JSON of a module as `.bir` text. Nothing is lost but the order of keys and how strings are
/// escaped; whether it is a module that can be read plays no part.
///
/// # Errors
/// What makes it no JSON, or no object.
pub fn json_to_text(file: &str, json: &[u8]) -> Result<String, Vec<Diagnostic>> {
    let origin = || Origin { file: file.to_owned(), lines: Lines::of(json), map: None };
    let tape = Tape::read(json).map_err(|f| said(&origin(), f))?;
    let root = tape.root();
    if !root.is_obj() {
        let fault = Fault::new("B006", root.span(), "a module is an object");
        return Err(said(&origin(), vec![fault]));
    }
    let mut printer = Printer::new();
    let module = wrapped(root);
    printer.file(Node::Read(module.unwrap_or(root)), module.map(|_| Node::Read(root)));
    Ok(printer.out)
}

/// `.bir` text as JSON, with the keys of what has a syntax in alphabetical order.
///
/// # Errors
/// Everything that cannot be read: B001 to B004, B015, B034, B035.
pub fn text_to_json(file: &str, text: &str) -> Result<String, Vec<Diagnostic>> {
    let mut origin = Origin { file: file.to_owned(), lines: Lines::of(text.as_bytes()), map: None };
    let parsed = parse::parse(text).map_err(|f| said(&origin, f))?;
    if !parsed.faults.is_empty() {
        return Err(said(&origin, parsed.faults));
    }
    origin.map = Some(parsed.map);
    let tape = Tape::read(parsed.json.as_bytes()).map_err(|f| said(&origin, f))?;
    Ok(json::pretty(&json::Tree::Kept(&tape.root().to_value())))
}

/// A module as JSON: names rather than numbers, defaults left out, unknown keys kept.
pub fn write_json(module: &Module) -> String {
    json::pretty(&write::module(module))
}

/// A module as text, and where its instructions are in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// The text.
    pub text: String,
    /// Lines, from 1, on which instructions begin, ascending, with the instruction of the
    /// loaded module that each shows. A position stands on several lines where a pass made
    /// several instructions of one.
    pub lines: Vec<(usize, Pos)>,
}

/// A module as `.bir` text.
pub fn write_text(module: &Module) -> Printed {
    let tree = write::module(module);
    let mut printer = Printer::new();
    printer.file(Node::Made(&tree), None);
    // Instructions are printed in the order in which a module visits them.
    let mut lines = printer.insts.into_iter();
    let mut shown = Vec::with_capacity(lines.len());
    module.visit(&mut |i| shown.extend(lines.next().map(|line| (line, i.pos))));
    Printed { text: printer.out, lines: shown }
}

fn read(origin: Origin, tape: Result<Tape<'_>, Vec<Fault>>) -> Result<Loaded, Vec<Diagnostic>> {
    let tape = match tape {
        Ok(tape) => tape,
        Err(faults) => return Err(said(&origin, faults)),
    };
    let root = tape.root();
    if !root.is_obj() {
        let fault = Fault::new("B006", root.span(), "a module is an object");
        return Err(said(&origin, vec![fault]));
    }
    let wrapped = wrapped(root);
    let mut decoder = Decoder::new(Spans::new(origin, wrapped.unwrap_or(root).span()));
    let module = decoder.module(wrapped.unwrap_or(root));
    let mut beside = Extra::new();
    if wrapped.is_some() {
        for (key, v) in root.members().filter(|(k, _)| k.as_str().as_deref() != Some("module")) {
            decoder.keep(&mut beside, key, v);
        }
    }
    let Decoder { faults, mut spans, .. } = decoder;
    drop(tape);
    spans.seal();
    let mut findings = said(&spans.origin, faults);
    findings.extend(resolve::resolve(&module, &spans));
    findings.sort_by_key(|d| d.place.offset);
    if findings.iter().any(|d| d.severity == Severity::Error) {
        return Err(findings);
    }
    Ok(Loaded { module, spans, warnings: findings, beside })
}

/// The module of a wrapper: an object under `module` beside no `functions`.
fn wrapped(root: Json<'_>) -> Option<Json<'_>> {
    if root.get("functions").is_some() {
        return None;
    }
    root.get("module").filter(|m| m.is_obj())
}

fn said(origin: &Origin, faults: Vec<Fault>) -> Vec<Diagnostic> {
    faults.into_iter().map(|f| origin.diagnostic(f)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
