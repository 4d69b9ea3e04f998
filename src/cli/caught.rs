//! A subcommand that is run for what comes of it: what it prints, what it finds, how it ends.
//! File tests compare that with what was expected, `watch` with what came before.

use super::args::Format;
use super::out::{Failure, Out, Status};
use crate::diag::Report;
use crate::limits::MAX_CAUGHT_BYTES;
use std::io::{self, Write};

/// What came of a subcommand.
#[derive(Debug)]
pub struct Caught {
    /// How it ended.
    pub status: Status,
    /// What it printed, findings aside.
    pub text: String,
    /// What it found.
    pub report: Report,
    /// Whether its input could be read, so that it was run at all.
    pub ran: bool,
}

impl Caught {
    /// Runs `command` with a writer that keeps everything.
    ///
    /// # Errors
    /// Why what it prints cannot be kept: too much, or no text.
    pub fn of(
        form: Format,
        command: impl FnOnce(&mut Out<'_>) -> Result<Status, Failure>,
    ) -> Result<Caught, String> {
        let mut sink = Bounded::default();
        let mut errors = io::sink();
        let mut out = Out::catching(&mut sink, &mut errors, form);
        let ended = command(&mut out).and_then(|status| {
            out.flush()?;
            Ok(status)
        });
        let mut report = out.caught();
        let (status, ran) = match ended {
            Ok(status) => (status, true),
            Err(Failure::Report(wrong)) => {
                report.extend(wrong);
                (Status::Unreadable, false)
            }
            Err(Failure::Io(_)) if sink.full => {
                return Err(format!("this prints more than {MAX_CAUGHT_BYTES} bytes"));
            }
            Err(Failure::Io(e)) => return Err(e.to_string()),
        };
        match String::from_utf8(sink.bytes) {
            Ok(text) => Ok(Caught { status, text, report, ran }),
            Err(_) => Err("what this prints is no text, but an image".to_owned()),
        }
    }
}

/// What is printed, up to a bound.
#[derive(Default)]
struct Bounded {
    bytes: Vec<u8>,
    full: bool,
}

impl Write for Bounded {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.bytes.len().saturating_add(buf.len()) > MAX_CAUGHT_BYTES {
            self.full = true;
            return Err(io::Error::other("too much output"));
        }
        self.bytes.extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::diag::Diagnostic;

    #[test]
    fn what_is_printed_and_found_is_kept_apart() {
        let report = || Report::from(Diagnostic::new("D001", "x"));
        let c = Caught::of(Format::Text, |out| {
            out.line("one")?;
            out.findings(&report())?;
            Ok(Status::Wrong)
        });
        let c = c.unwrap();
        assert_eq!((c.text.as_str(), c.report.items.len(), c.ran), ("one\n", 1, true));
        let c = Caught::of(Format::Text, |_| Err(report().into())).unwrap();
        assert_eq!((c.status, c.report.items.len(), c.ran), (Status::Unreadable, 1, false));
    }

    #[test]
    fn too_much_and_what_is_no_text_is_refused() {
        let line = "x".repeat(1 << 20);
        let c = Caught::of(Format::Text, |out| {
            (0..=MAX_CAUGHT_BYTES >> 20).try_for_each(|_| out.line(&line))?;
            Ok(Status::Fine)
        });
        assert!(c.unwrap_err().contains("prints more than"));
        let c = Caught::of(Format::Text, |out| {
            out.bytes(b"\xff")?;
            Ok(Status::Fine)
        });
        assert!(c.is_err());
    }
}
