//! Running a script against a session. All of it is read before any of it is run.

use super::{help, parse_command};
use crate::diag::{Diagnostic, Report};
use crate::engine::command::Command;
use crate::engine::session::Session;
use crate::limits::{MAX_SOURCE_DEPTH, MAX_TEXT_BYTES};
use std::sync::Arc;

/// A line of a script that is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Name of its file.
    pub file: Arc<str>,
    /// Line number, from 1.
    pub number: u64,
    /// What it says.
    pub command: Command,
}

/// Reads a script. `read` gives the text of a file that a `source` line names, given the name
/// of the file in which the line stands.
///
/// # Errors
/// Every mistake of every line.
pub fn parse(
    name: &str,
    text: &str,
    read: &mut dyn FnMut(&str, &str) -> Result<String, Diagnostic>,
) -> Result<Vec<Line>, Report> {
    let mut out = Vec::new();
    let mut report = Report::default();
    parse_into(name, text, read, 0, &mut out, &mut report);
    if report.is_empty() { Ok(out) } else { Err(report) }
}

fn parse_into(
    name: &str,
    text: &str,
    read: &mut dyn FnMut(&str, &str) -> Result<String, Diagnostic>,
    depth: usize,
    out: &mut Vec<Line>,
    report: &mut Report,
) {
    if text.len() as u64 > MAX_TEXT_BYTES {
        let d = Diagnostic::new("S009", format!("larger than {MAX_TEXT_BYTES} bytes"));
        return report.push(d.in_file(name));
    }
    let file: Arc<str> = name.into();
    for (i, line) in text.lines().enumerate() {
        let number = i as u64 + 1;
        let placed = |mut d: Diagnostic| {
            d.place.line = Some(number);
            d.in_file(name)
        };
        match parse_command(line) {
            Ok(None) => {}
            Ok(Some(Command::Source(path))) => {
                if depth + 1 >= MAX_SOURCE_DEPTH {
                    let why = format!("`source` nested deeper than {MAX_SOURCE_DEPTH}");
                    report.push(placed(Diagnostic::new("S009", why)));
                    return;
                }
                match read(name, &path) {
                    Ok(text) => parse_into(&path, &text, read, depth + 1, out, report),
                    Err(d) => report.push(placed(d)),
                }
            }
            Ok(Some(command)) => out.push(Line { file: file.clone(), number, command }),
            Err(d) => report.push(placed(d)),
        }
    }
}

/// How a script ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Every line was run, or `quit` came.
    Done,
    /// An assertion or expectation of this line is not true: exit status 1.
    Failed(Box<Diagnostic>),
    /// This line could not be carried out: exit status 2.
    Wrong(Box<Diagnostic>),
}

/// Runs the lines; `say` gets each line of output as it comes.
pub fn run(session: &mut Session, lines: &[Line], say: &mut dyn FnMut(&str)) -> End {
    for line in lines {
        if let Command::Help(name) = &line.command {
            help::help(name.as_deref()).iter().for_each(|l| say(l));
            continue;
        }
        match session.execute(&line.command) {
            Ok(outcome) => {
                outcome.lines.iter().for_each(|l| say(l));
                if outcome.quit {
                    break;
                }
            }
            Err(mut d) => {
                d.place.line = Some(line.number);
                d.place.event = Some(session.position());
                let d = d.in_file(&line.file);
                let failed = matches!(d.code, "S007" | "S008");
                return if failed { End::Failed(d.into()) } else { End::Wrong(d.into()) };
            }
        }
    }
    End::Done
}
