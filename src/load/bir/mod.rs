//! Modules of the compiler's IR, as JSON and as `.bir` text, in and out.
//!
//! [`tape`] indexes JSON, [`decode`] (with `inst` and `operand`) makes a module of the index,
//! [`resolve`] looks up its names; [`spans`] remembers where everything stands. What the keys
//! mean is in `docs/bir.md`, the text form in `docs/bir-text.md`.

mod decode;
mod inst;
mod keys;
mod operand;
pub mod resolve;
pub mod spans;
pub mod tape;

use crate::bir::{Extra, Module};
use crate::diag::{Diagnostic, Severity};
use decode::Decoder;
use spans::{Fault, Lines, Origin};
use tape::{Json, Tape};

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
    let origin = Origin { file: file.to_owned(), lines: Lines::of(bytes), map: None };
    read(origin, bytes)
}

fn read(origin: Origin, json: &[u8]) -> Result<Loaded, Vec<Diagnostic>> {
    let tape = match Tape::read(json) {
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
    let Decoder { faults, spans, .. } = decoder;
    let mut findings = said(&spans.origin, faults);
    findings.extend(resolve::resolve(&module, &spans));
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
