//! `asm` and `disasm`: one form in, the other out.

use super::args::ConvertArgs;
use super::inputs::{Depth, load};
use super::out::{Failure, Out, Status};
use crate::diag::{Diagnostic, Report};
use crate::engine::module_run;
use crate::engine::program::Program;
use crate::load::module::ModuleOptions;
use crate::load::{container, disasm, save};
use std::path::Path;
use std::sync::Arc;

/// The program of the inputs, its notes told.
pub(super) fn program(args: &ConvertArgs, out: &mut Out<'_>) -> Result<Arc<Program>, Failure> {
    let loaded = load(&args.files, &args.rings, &ModuleOptions::default(), Depth::Program)?;
    let mut report = loaded.report;
    let Some(program) = loaded.program else {
        report.push(
            Diagnostic::new("S010", "there is no program in this input").in_file(&loaded.name),
        );
        return Err(report.into());
    };
    out.findings(&report)?;
    // A module is written as what its sequencers did.
    if program.module.is_some() {
        return Ok(Arc::new(module_run::record(&program).map_err(Report::from)?));
    }
    Ok(program)
}

/// What is said to whoever would have an image on a terminal.
pub fn not_to_a_terminal() -> Diagnostic {
    let why = "a program image is not text, and standard output is a terminal";
    Diagnostic::new("S011", why).help("-o FILE writes it to a file, `-o -` shows it anyway")
}

/// `asm`: a program image from assembly, or from anything else that is a program.
///
/// # Errors
/// [`Failure`].
pub fn assemble(args: &ConvertArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    if args.output.is_none() && out.on_terminal {
        return Err(Report::from(not_to_a_terminal()).into());
    }
    let p = program(args, out)?;
    emit(&container::write(&p)?, args.output.as_deref(), out)?;
    Ok(Status::Fine)
}

/// `disasm`: assembly from a program image or a raw ring.
///
/// # Errors
/// [`Failure`].
pub fn disassemble(args: &ConvertArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let p = program(args, out)?;
    emit(disasm::disassemble(&p)?.text.as_bytes(), args.output.as_deref(), out)?;
    Ok(Status::Fine)
}

/// Writes a result to a file (the old one or the new one, never half), or to standard output
/// where none (or `-`) is named.
///
/// # Errors
/// [`Failure`] with the file's name.
pub fn emit(bytes: &[u8], to: Option<&Path>, out: &mut Out<'_>) -> Result<(), Failure> {
    match to.filter(|p| p.as_os_str() != "-") {
        None => out.bytes(bytes)?,
        Some(path) => save::save(path, bytes).map_err(Report::from)?,
    }
    Ok(())
}
