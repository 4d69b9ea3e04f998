//! Saving so that a reader sees either the old file or the new one, never a half.

use super::{container, disasm, export};
use crate::diag::{Diagnostic, Report};
use crate::engine::command::SaveFormat;
use crate::engine::program::Program;
use crate::engine::session::{Effect, Session};
use crate::udma::count_of;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes `bytes` to `path`: a new file in the same directory, flushed to the disk, then
/// renamed over the old one, whose permissions it takes. A symbolic link is followed.
///
/// # Errors
/// D007 with the system's message; the old file is then untouched.
pub fn save(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    save_with(path, |to| to.write_all(bytes))
}

/// As [`save`], with what `write` writes.
///
/// # Errors
/// D007 with what the system or `write` says; the old file is then untouched.
pub fn save_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Diagnostic> {
    write_then_rename(path, write).map_err(|e| {
        let name = path.to_string_lossy();
        Diagnostic::new("D007", format!("cannot write `{name}`: {e}")).in_file(&name)
    })
}

/// Does what a session asks of the world outside; answers what was done. `input` is the name of
/// the session's own file.
///
/// # Errors
/// S022 where a file is there and is not to be written over, or the form cannot hold the
/// program; S041 where this build has no such form of an export; D007 where the file cannot be written.
pub fn carry_out(
    session: &mut Session,
    input: &str,
    effect: &Effect,
) -> Result<String, Diagnostic> {
    match effect {
        Effect::Save { file, format, over, program } => save_program(file, *format, *over, program),
        Effect::Write { file, text } => {
            save(Path::new(file), text.as_bytes())?;
            Ok(format!("written to {file}"))
        }
        Effect::Export { form, file } => export::perform(session, input, *form, file),
        // Whoever has a screen draws it (`ui::outside`).
        Effect::Screenshot { file, .. } => {
            Err(Diagnostic::new("S022", format!("`{file}`: there is no screen to draw here")))
        }
        Effect::Reload => effect.only_on_the_screen().map_or_else(|| Ok(String::new()), Err),
    }
}

fn save_program(
    file: &str,
    format: SaveFormat,
    over: bool,
    program: &Program,
) -> Result<String, Diagnostic> {
    let path = Path::new(file);
    if !over && std::fs::symlink_metadata(path).is_ok() {
        let d = Diagnostic::new("S022", format!("`{file}` is there already"));
        return Err(d.help("`save!` writes over it"));
    }
    let bytes = match format {
        SaveFormat::Assembly => {
            disasm::disassemble(program).map(|l| with_directives(&l.text, program).into_bytes())
        }
        SaveFormat::Image => container::write(program),
    };
    let bytes = bytes.map_err(first)?;
    save(path, &bytes)?;
    let edits = match program.edits.len() {
        0 => "no edits".to_owned(),
        1 => "1 edit".to_owned(),
        n => count_of(n, "edit"),
    };
    let lost = match format {
        SaveFormat::Image if !program.aside.directives.is_empty() => {
            "; an image has no comments: what the file allows or denies is not in it"
        }
        _ => "",
    };
    Ok(format!("saved `{file}`: {}, {edits}{lost}", count_of(bytes.len(), "byte")))
}

/// The text with what its file said about findings, as comments behind the first line.
fn with_directives(text: &str, program: &Program) -> String {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let own = program.aside.directives.iter().map(|d| format!("; {d}\n"));
    std::iter::once(format!("{first}\n")).chain(own).chain([rest.to_owned()]).collect()
}

/// The first of the reasons why a program has no such form.
fn first(report: Report) -> Diagnostic {
    let why = report.items.into_iter().next();
    let text = why.map_or_else(|| "it has no such form".to_owned(), |d| d.message);
    Diagnostic::new("S022", text)
}

fn write_then_rename(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // A pipe or a device is written to; nothing can take its place.
    if std::fs::metadata(&target).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        return write(&mut OpenOptions::new().write(true).open(&target)?);
    }
    let (temp, mut file) = temp_beside(&target)?;
    let written = (|| {
        write(&mut file)?;
        if let Ok(old) = std::fs::metadata(&target) {
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()?;
        std::fs::rename(&temp, &target)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&temp);
    }
    written?;
    // The rename itself lasts once the directory is on the disk; not every file system can.
    if let Ok(dir) = File::open(parent(&target)) {
        let _ = dir.sync_all();
    }
    Ok(())
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file that did not exist, next to `target`.
fn temp_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    const TRIES: u32 = 100;
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for n in 0..TRIES {
        let mut temp = std::ffi::OsString::from(".");
        temp.push(name);
        temp.push(format!(".{}-{n}.tmp", std::process::id()));
        let temp = parent(target).join(temp);
        match OpenOptions::new().write(true).create_new(true).open(&temp) {
            Ok(file) => return Ok((temp, file)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => last = e,
            Err(e) => return Err(e),
        }
    }
    Err(last)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn load_save_replaces_the_file_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.dma");
        save(&path, b"one").unwrap();
        save(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn load_save_into_a_missing_directory_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(save(&dir.path().join("no/a"), b"x").unwrap_err().code, "D007");
    }
}
