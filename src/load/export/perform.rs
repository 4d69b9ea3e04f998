//! What `export` asks for in a script or on the screen, done.

use super::{Table, events, supported, table, write_events, write_rings};
use crate::diag::Diagnostic;
use crate::engine::command::ExportForm;
use crate::engine::session::Session;
use crate::load::save::save_with;
use crate::udma::count_of;
use std::io::{self, Write};
use std::path::Path;

/// Events that are read from the session at a time.
const BLOCK: u64 = 4096;

/// Exports the run up to the position, or the rings as they stand; answers what was done. `input` is the name of
/// the session's own file.
///
/// # Errors
/// S041 where this build has no such form, D007 where the file cannot be written.
pub fn perform(
    session: &mut Session,
    input: &str,
    form: ExportForm,
    file: &str,
) -> Result<String, Diagnostic> {
    supported(form)?;
    let path = Path::new(file);
    let what = match form {
        ExportForm::Descriptors | ExportForm::Parquet => {
            save_with(path, |to| rings(session, form, to))?;
            "the rings as they stand".to_owned()
        }
        _ => {
            save_with(path, |to| run(session, input, form, to))?;
            match session.position() {
                1 => "1 event".to_owned(),
                n => count_of(n, "event"),
            }
        }
    };
    Ok(format!("exported to `{file}`: {what}"))
}

fn rings(session: &Session, form: ExportForm, to: &mut dyn Write) -> io::Result<()> {
    let mut t: Box<dyn Table + '_> = table(form, to).map_err(|d| io::Error::other(d.message))?;
    write_rings(session.program(), session.machine(), &mut *t)
}

/// The events up to the position.
fn run(session: &mut Session, input: &str, form: ExportForm, to: &mut dyn Write) -> io::Result<()> {
    let program = session.program().clone();
    let Some(mut writer) = events(form, input, &program, None) else { return Ok(()) };
    let last = session.position();
    write_events(&mut *writer, &program, to, &mut |each| {
        let mut from = 1;
        while from <= last {
            let to = (from + BLOCK).min(last + 1);
            if !session.events(from, to).iter().all(&mut *each) {
                return;
            }
            from = to;
        }
    })
}
