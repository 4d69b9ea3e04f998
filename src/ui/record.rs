//! The file that `--record` names: each command is in it before it is carried out, so that
//! nothing is lost whatever happens to the program (`docs/screen.md`, "Recording").

use crate::diag::Diagnostic;
use crate::diag::render::printable;
use crate::script::runner::{HEADER, VERSION};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;

/// A script that is being written.
#[derive(Debug)]
pub struct Recorder {
    file: File,
    /// Bytes that are settled.
    end: u64,
    /// Lines after them, of a command that may still be refused.
    pending: Vec<String>,
}

impl Recorder {
    /// Begins a new file; `of` says of what it is the record.
    ///
    /// # Errors
    /// S011 where the file is there already, D007 where the system refuses.
    pub fn create(path: &Path, of: &str) -> Result<Recorder, Diagnostic> {
        let name = path.to_string_lossy();
        let refused = |e: &io::Error| {
            if e.kind() == ErrorKind::AlreadyExists {
                let why = format!("`{name}` is there already, and would be lost");
                return Diagnostic::new("S011", why).help("record to another file, or remove it");
            }
            Diagnostic::new("D007", format!("cannot write `{name}`: {e}")).in_file(&name)
        };
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(|e| refused(&e))?;
        let mut recorder = Recorder { file, end: 0, pending: Vec::new() };
        let head = format!("{HEADER} {VERSION}\n# Recorded on the screen of {}.", printable(of));
        recorder.write(&[head]).map_err(|e| refused(&e))?;
        Ok(recorder)
    }

    /// Writes lines for good.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&mut self, lines: &[String]) -> io::Result<()> {
        self.begin(lines)?;
        self.settle(lines)
    }

    /// Writes the lines of a command that is about to be carried out.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin(&mut self, lines: &[String]) -> io::Result<()> {
        let text: String = lines.iter().flat_map(|l| [l.as_str(), "\n"]).collect();
        self.file.write_all(text.as_bytes())?;
        self.file.flush()?;
        self.pending = lines.to_vec();
        Ok(())
    }

    /// Says what became of the command: these lines stand in place of those that it began with.
    ///
    /// # Errors
    /// What the system says.
    pub fn settle(&mut self, lines: &[String]) -> io::Result<()> {
        if self.pending != lines {
            self.file.set_len(self.end)?;
            self.file.seek(SeekFrom::Start(self.end))?;
            self.begin(lines)?;
        }
        self.pending.clear();
        self.end = self.file.stream_position()?;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_written_before_it_runs_and_taken_back_where_it_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.dbg");
        let read = || std::fs::read_to_string(&path).unwrap();
        let mut r = Recorder::create(&path, "a\u{1b}b").unwrap();
        let head = "dbg 1\n# Recorded on the screen of a\\u{1b}b.\n";
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        r.begin(&lines("step\nlonger")).unwrap();
        assert_eq!(read(), format!("{head}step\nlonger\n"));
        r.settle(&[]).unwrap();
        assert_eq!(read(), head);
        r.begin(&lines("continue")).unwrap();
        r.settle(&lines("goto 7")).unwrap();
        r.begin(&lines("where")).unwrap();
        r.settle(&lines("where")).unwrap();
        assert_eq!(read(), format!("{head}goto 7\nwhere\n"));
        assert_eq!(Recorder::create(&path, "x").unwrap_err().code, "S011");
        assert_eq!(Recorder::create(&dir.path().join("no/r"), "x").unwrap_err().code, "D007");
    }
}
