//! `export`: the run of an input, or its descriptors, for other programs (`docs/export.md`).

use super::args::{ExportArgs, ExportTime};
use super::inputs::{Depth, load};
use super::out::{Failure, Out, Status};
use crate::diag::{Diagnostic, Report};
use crate::engine::command::ExportForm;
use crate::engine::program::Program;
use crate::engine::ring::machine;
use crate::load::Loaded;
use crate::load::export::{
    self, Table, Time, events, supported, table, write_events, write_image, write_rings,
};
use crate::load::save::save_with;
use std::io::{self, Write};

/// Runs `export`.
///
/// # Errors
/// [`Failure`] where the input cannot be read or the output not written.
pub fn run(args: &ExportArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let form = args.form.0;
    supported(form).map_err(Report::from)?;
    let to = args.output.as_deref().filter(|p| p.as_os_str() != "-");
    if args.output.is_none() && out.on_terminal && !form.is_text() {
        let why = "this form is not text, and standard output is a terminal";
        let d = Diagnostic::new("S011", why);
        return Err(Report::from(d.help("-o FILE writes it to a file")).into());
    }
    let table = matches!(form, ExportForm::Descriptors | ExportForm::Parquet);
    let raw_is_enough = if table { Depth::Browse } else { Depth::Program };
    let loaded = load(&args.files, &args.rings, &args.module.options()?, raw_is_enough)?;
    let program = program_of(args, &loaded, table)?;
    out.findings(&loaded.report)?;
    let mut write = |sink: &mut dyn Write| -> io::Result<()> {
        match (&program, table) {
            (Some(p), false) => run_of(p, &loaded.name, args, sink),
            (Some(p), true) => {
                let end = machine::run(p, |_, _| true).machine;
                let mut t = open(form, sink)?;
                write_rings(p, &end, &mut *t)
            }
            (None, _) => images(&loaded, form, sink),
        }
    };
    match to {
        Some(path) => save_with(path, write).map_err(Report::from)?,
        None => out.through(&mut write)?,
    }
    Ok(Status::Fine)
}

/// What is run; nothing where the slots of an image are enough.
fn program_of(
    args: &ExportArgs,
    loaded: &Loaded,
    table: bool,
) -> Result<Option<std::sync::Arc<Program>>, Failure> {
    if table && !loaded.images.is_empty() {
        return Ok(None);
    }
    if let (Some(m), true) = (&loaded.module, loaded.program.is_none()) {
        let profile = args.rings.profile.map_or(crate::udma::Profile::default_profile(), |p| p.0);
        let p = m.program(&args.module.options()?, profile).map_err(Report::from)?;
        return Ok(Some(std::sync::Arc::new(p)));
    }
    match &loaded.program {
        Some(p) => Ok(Some(p.clone())),
        None => {
            let mut report = loaded.report.clone();
            let why = "there is nothing to run in this input";
            report.push(Diagnostic::new("S010", why).in_file(&loaded.name));
            Err(report.into())
        }
    }
}

fn run_of(p: &Program, file: &str, args: &ExportArgs, sink: &mut dyn Write) -> io::Result<()> {
    let time = args.time.map(|t| match t {
        ExportTime::Events => Time::Events,
        ExportTime::Virtual => Time::Virtual,
    });
    let Some(mut writer) = events(args.form.0, file, p, time) else { return Ok(()) };
    write_events(&mut *writer, p, sink, &mut |each| {
        machine::run(p, |_, e| each(e));
    })
}

fn open<'a>(form: ExportForm, sink: &'a mut dyn Write) -> io::Result<Box<dyn Table + 'a>> {
    table(form, sink).map_err(|d| io::Error::other(d.message))
}

/// The slots of raw images as they lie.
fn images(loaded: &Loaded, form: ExportForm, sink: &mut dyn Write) -> io::Result<()> {
    let mut t = open(form, sink)?;
    for image in &loaded.images {
        write_image(image, image.queue, &mut *t)?;
    }
    export::Table::finish(&mut *t)
}
