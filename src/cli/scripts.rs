//! Reading scripts from files, with all that they source, and the init file
//! (`docs/commands.md`, "Scripts").
//!
//! Everything is read before anything runs, and every file that was asked for is remembered,
//! so that a change of any of them can be watched.

use super::given::{Commands, Given};
use crate::diag::{Diagnostic, Place, Policy, Report};
use crate::engine::command::nearest;
use crate::limits::{MAX_NAMES_COMPARED, MAX_TEXT_BYTES};
use crate::load::source;
use crate::script::runner::{self, Lines, Source};
use std::path::{Path, PathBuf};

/// What is to be executed, and the files that say so.
pub struct Scripts {
    /// The lines, in order.
    ///
    /// # Errors
    /// Every mistake of every script, S009 for what cannot be read.
    pub lines: Result<Lines, Report>,
    /// How many of them are those of the init file.
    pub init: usize,
    /// Every file that was read or asked for.
    pub inputs: Vec<PathBuf>,
    /// What their comments say about findings; a later one wins.
    pub policy: Policy,
}

impl Scripts {
    /// Reads the init file, unless it is not wanted, and what the command line gives.
    pub fn read(no_init: bool, commands: &Commands) -> Scripts {
        let mut inputs = Vec::new();
        let mut policy = Policy::default();
        let init = init_file().filter(|p| !no_init && p.is_file());
        let mut parts: Vec<Result<Lines, Report>> = Vec::new();
        parts.extend(init.map(|path| file(&path, &mut inputs, &mut policy)));
        let init = parts.first().and_then(|p| p.as_ref().ok()).map_or(0, Lines::len);
        let mut inline = commands.inline();
        for given in &commands.0 {
            parts.extend(match given {
                Given::Script(path) => Some(file(path, &mut inputs, &mut policy)),
                Given::Inline(_) => inline
                    .next()
                    .map(|(name, text)| parse(&name, text, &mut |path| read(path), &mut inputs)),
            });
        }
        Scripts { lines: joined(parts), init, inputs, policy }
    }
}

/// Reads the text of a file test's script, which is called `name` and lies in `dir`. What it
/// sources is called as the scripts name it, and is read by `read`.
///
/// # Errors
/// As [`Scripts::lines`].
pub fn of_test(
    name: &str,
    text: &str,
    dir: &Path,
    read: &dyn Fn(&Path) -> Result<String, Diagnostic>,
) -> Result<Lines, Report> {
    // Where the test lies is nothing that it could say.
    let shorter = |mut d: Diagnostic| {
        let way = dir.join("").to_string_lossy().into_owned();
        for text in std::iter::once(&mut d.message).chain(d.help.as_mut()) {
            *text = text.replace(&format!("`{way}"), "`");
        }
        d
    };
    let mut read = |named: &Path| read(&dir.join(named)).map_err(shorter);
    parse(name, text, &mut read, &mut Vec::new())
}

/// All lines in a row, or all mistakes.
fn joined(parts: Vec<Result<Lines, Report>>) -> Result<Lines, Report> {
    let (mut lines, mut report) = (Lines::default(), Report::default());
    for part in parts {
        match part {
            Ok(part) => lines.extend(part),
            Err(wrong) => report.extend(wrong),
        }
    }
    if report.has_errors() { Err(report) } else { Ok(lines) }
}

fn file(path: &Path, inputs: &mut Vec<PathBuf>, policy: &mut Policy) -> Result<Lines, Report> {
    inputs.push(path.to_owned());
    let name = path.to_string_lossy();
    let text = read(path).map_err(|d| d.in_file(&name))?;
    *policy = policy_of(&text).map_err(|r| r.in_file(&name))?.over(policy);
    parse(&name, &text, &mut |path| read(path), inputs)
}

/// What the comments of a script say about findings.
///
/// # Errors
/// S013 for a code that there is not.
pub fn policy_of(text: &str) -> Result<Policy, Report> {
    Policy::of_text(text, &["#"])
}

/// The lines of a text that is called `name`; what it sources lies beside it and is read by
/// `read`.
fn parse(
    name: &str,
    text: &str,
    read: &mut dyn FnMut(&Path) -> Result<String, Diagnostic>,
    inputs: &mut Vec<PathBuf>,
) -> Result<Lines, Report> {
    runner::parse(name, text, &mut |from, named| {
        let dir = Path::new(from).parent().unwrap_or(Path::new(""));
        let path = dir.join(named);
        inputs.push(path.clone());
        Ok(Source { name: path.to_string_lossy().into_owned(), text: read(&path)? })
    })
}

/// The lines of one script.
///
/// # Errors
/// As [`Scripts::lines`].
pub fn lines(path: &Path) -> Result<Lines, Report> {
    file(path, &mut Vec::new(), &mut Policy::default())
}

/// The text of a script.
pub fn read(path: &Path) -> Result<String, Diagnostic> {
    let name = path.to_string_lossy();
    let source = source::open(path).map_err(|d| {
        // The message has the name and the reason.
        let help = near(path).map(|near| format!("did you mean `{near}`?"));
        Diagnostic { help: help.or(d.help), ..Diagnostic::new("S009", d.message) }
    })?;
    if source.blob.len() as u64 > MAX_TEXT_BYTES {
        let text = format!("`{name}` is larger than {MAX_TEXT_BYTES} bytes");
        return Err(Diagnostic::new("S009", text));
    }
    match std::str::from_utf8(source.blob.bytes()) {
        Ok(text) => Ok(text.to_owned()),
        Err(e) => {
            let good = source.blob.bytes().get(..e.valid_up_to()).unwrap_or_default();
            let text = format!("`{name}` is not UTF-8 text");
            Err(Diagnostic::new("S009", text).at(end_of(good).in_file(&name)))
        }
    }
}

/// The place just after a text.
fn end_of(text: &[u8]) -> Place {
    let text = String::from_utf8_lossy(text);
    let line = text.bytes().filter(|b| *b == b'\n').count() as u64 + 1;
    let column = text.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1;
    Place { offset: Some(text.len() as u64), ..Place::text(line, column, 1) }
}

/// A file beside one that does not exist whose name is nearly the same.
fn near(path: &Path) -> Option<String> {
    if path.exists() {
        return None;
    }
    let parent = path.parent()?;
    let dir = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let entries = std::fs::read_dir(dir).ok()?.take(MAX_NAMES_COMPARED);
    let names: Vec<String> =
        entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
    let wanted = path.file_name()?.to_string_lossy();
    let found = nearest(&wanted, names.iter().map(String::as_str));
    Some(parent.join(found.first()?).to_string_lossy().into_owned())
}

/// The init file: `dmadbg/init.dbg` in the user's configuration folder. Never one of the
/// current folder, which may come from anybody.
fn init_file() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(config.join("dmadbg").join("init.dbg"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_place_after_a_text_is_its_line_and_column() {
        let at = |t: &[u8]| {
            let p = end_of(t);
            (p.line, p.column)
        };
        assert_eq!(at(b""), (Some(1), Some(1)));
        assert_eq!(at("one\näb".as_bytes()), (Some(2), Some(3)));
        assert_eq!(at(b"one\n"), (Some(2), Some(1)));
    }

    #[test]
    fn the_mistakes_of_all_scripts_are_told_together_and_all_files_are_known() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let a = write("a.dbg", "stpe\nsource b.dbg\n");
        let b = write("b.dbg", "source c.dbg\n");
        let given = [Given::Script(a.clone()), Given::Inline("wher\nwhre".into())];
        let scripts = Scripts::read(true, &Commands(given.to_vec()));
        let all = scripts.lines.unwrap_err().items;
        let told: Vec<_> =
            all.iter().map(|d| (d.code, d.place.file.clone().unwrap(), d.place.line)).collect();
        let name = |p: &PathBuf| p.to_string_lossy().into_owned();
        assert_eq!(
            told,
            [
                ("S001", name(&a), Some(1)),
                ("S009", name(&b), Some(1)),
                ("S001", "<-e 1>".to_owned(), Some(2)),
            ]
        );
        assert_eq!(scripts.inputs, [a.clone(), b.clone(), dir.path().join("c.dbg")]);
        let near = all[1].help.clone().unwrap();
        assert!(near.contains("a.dbg") || near.contains("b.dbg"), "{near}");
    }
}
