//! Scripts: all of a script and of what it sources is read before any of it is run, then its
//! commands are run one by one until one fails (`docs/commands.md`, "Scripts").
//!
//! Nothing here reads a file. A `source` is answered by the caller, who also decides what a
//! file's name is relative to.

use super::help;
use super::lex::{skip, without_comment};
use super::parse_line;
use crate::diag::{Diagnostic, Place, Report};
use crate::engine::command::Command;
use crate::engine::session::Session;
use crate::limits::{MAX_SCRIPT_COMMANDS, MAX_SOURCE_DEPTH, MAX_TEXT_BYTES};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The word that may head a script, with its version after it.
pub const HEADER: &str = "dbg";
/// The version of the command language that this build reads.
pub const VERSION: &str = "1";

/// What a command answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// What to print, line by line.
    pub lines: Vec<String>,
    /// The script ends here.
    pub quit: bool,
}

/// What commands are run against.
pub trait Target {
    /// Runs one command to its end. `help` and `source` never come here.
    ///
    /// # Errors
    /// A diagnostic; S007 and S008 say that the program under test is wrong, any other that
    /// the script is.
    fn run(&mut self, command: &Command) -> Result<Reply, Diagnostic>;
}

impl Target for Session {
    fn run(&mut self, command: &Command) -> Result<Reply, Diagnostic> {
        self.execute(command).map(|o| Reply { lines: o.lines, quit: o.quit })
    }
}

/// A text that a script sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its name, for messages and to know it again: two sources with one name are the same.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Answers a `source`: the name as written and the name of the script that it stands in; or
/// why there is no text.
pub type Resolver<'a> = &'a mut dyn FnMut(&str, &str) -> Result<Source, String>;

/// Where a command stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Name of the script.
    pub file: Rc<str>,
    /// Line, from 1.
    pub line: u64,
    /// Column of the command, from 1, in characters.
    pub column: u64,
    /// Its characters.
    pub width: u64,
}

impl Origin {
    /// As a place.
    pub fn place(&self) -> Place {
        Place::text(self.line, self.column, self.width).in_file(&self.file)
    }
}

/// A script that was read whole: its commands with those that it sources in their place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// What is run, in order.
    pub commands: Vec<(Command, Origin)>,
}

/// How a script ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Everything held (status 0).
    Passed,
    /// An `assert` or `expect` did not hold (status 1).
    Failed,
    /// The script itself is wrong (status 2).
    Bad,
}

/// What came of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// What its commands printed.
    pub lines: Vec<String>,
    /// What stopped it; empty where nothing did.
    pub report: Report,
    /// How it ended.
    pub outcome: Verdict,
}

/// Reads a script and all that it sources.
///
/// # Errors
/// Everything that is wrong with any of its lines, and S009 for what cannot be sourced.
pub fn read(name: &str, text: &str, resolve: Resolver<'_>) -> Result<Script, Report> {
    let mut reader =
        Reader { resolve, parsed: BTreeMap::new(), report: Report::default(), bytes: 0 };
    let root: Rc<str> = name.into();
    reader.parse(&root, text);
    let mut queue = vec![root.clone()];
    while let Some(file) = queue.pop() {
        queue.extend(reader.load_sources(&file));
    }
    let mut script = Script::default();
    if !reader.report.has_errors() {
        reader.expand(&root, &mut Vec::new(), &mut script);
    }
    if reader.report.has_errors() { Err(reader.report) } else { Ok(script) }
}

/// Reads a script and runs it, if nothing is wrong with it.
pub fn run(name: &str, text: &str, target: &mut dyn Target, resolve: Resolver<'_>) -> Run {
    match read(name, text, resolve) {
        Ok(script) => execute(&script, target),
        Err(report) => Run { lines: Vec::new(), report, outcome: Verdict::Bad },
    }
}

/// Runs a script until its end, a `quit`, or the first command that fails.
pub fn execute(script: &Script, target: &mut dyn Target) -> Run {
    let mut lines = Vec::new();
    for (command, origin) in &script.commands {
        // What is sourced follows in the row.
        if matches!(command, Command::Source(_)) {
            continue;
        }
        if let Some(text) = help::answer(command) {
            lines.extend(text);
            continue;
        }
        match target.run(command) {
            Ok(reply) => {
                lines.extend(reply.lines);
                if reply.quit {
                    break;
                }
            }
            Err(d) => {
                let outcome = match d.code {
                    "S007" | "S008" => Verdict::Failed,
                    _ => Verdict::Bad,
                };
                return Run { lines, report: placed(d, origin).into(), outcome };
            }
        }
    }
    Run { lines, report: Report::default(), outcome: Verdict::Passed }
}

/// A finding at the command that made it; what else its place tells is kept.
fn placed(mut d: Diagnostic, origin: &Origin) -> Diagnostic {
    let Place { offset, slot, event, .. } = d.place;
    d.place = Place { offset, slot, event, ..origin.place() };
    d
}

/// A line of a script.
#[derive(Clone)]
struct Line {
    command: Command,
    origin: Origin,
    /// What it sources, once that is known.
    source: Option<Rc<str>>,
}

struct Reader<'a> {
    resolve: Resolver<'a>,
    /// Every text by its name, read once however often it is sourced.
    parsed: BTreeMap<Rc<str>, Vec<Line>>,
    report: Report,
    /// Bytes of all texts.
    bytes: u64,
}

impl Reader<'_> {
    fn parse(&mut self, file: &Rc<str>, text: &str) {
        self.bytes = self.bytes.saturating_add(text.len() as u64);
        let mut lines = Vec::new();
        if self.bytes > MAX_TEXT_BYTES {
            let message = format!("the script has more than {MAX_TEXT_BYTES} bytes");
            self.report.push(Diagnostic::new("S009", message).in_file(file));
        } else {
            let mut head = true;
            for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
                self.line(file, number, line, &mut head, &mut lines);
            }
        }
        self.parsed.insert(file.clone(), lines);
    }

    /// Reads one line; `head` says that nothing but comments came before it.
    fn line(
        &mut self,
        file: &Rc<str>,
        number: u64,
        line: &str,
        head: &mut bool,
        out: &mut Vec<Line>,
    ) {
        let text = skip(without_comment(line));
        let before = line.len() - skip(line).len();
        let origin = Origin {
            file: file.clone(),
            line: number,
            column: line.get(..before).map_or(0, |s| s.chars().count() as u64) + 1,
            width: text.trim_ascii_end().chars().count() as u64,
        };
        if !text.is_empty() && std::mem::take(head) && is_header(text) {
            if let Some(version) = other_version(text) {
                let message = format!("version {version} of the command language is not known");
                let d = Diagnostic::new("S009", message).at(origin.place());
                self.report.push(d.help(format!("this build reads `{HEADER} {VERSION}`")));
            }
            return;
        }
        match parse_line(line) {
            Ok(None) => {}
            Ok(Some(command)) => out.push(Line { command, origin, source: None }),
            Err(all) => {
                for mut d in all {
                    d.place.line = Some(number);
                    self.report.push(d.in_file(file));
                }
            }
        }
    }

    /// Fetches what a script sources; the names of the texts that are new.
    fn load_sources(&mut self, file: &Rc<str>) -> Vec<Rc<str>> {
        let mut lines = self.parsed.get_mut(file).map(std::mem::take).unwrap_or_default();
        let mut fresh = Vec::new();
        for line in &mut lines {
            let Command::Source(wanted) = &line.command else { continue };
            match (self.resolve)(wanted, file) {
                Ok(Source { name, text }) => {
                    let name: Rc<str> = name.into();
                    if !self.parsed.contains_key(&name) {
                        self.parse(&name, &text);
                        fresh.push(name.clone());
                    }
                    line.source = Some(name);
                }
                Err(why) => {
                    let message = format!("`{wanted}` cannot be sourced: {why}");
                    self.report.push(Diagnostic::new("S009", message).at(line.origin.place()));
                }
            }
        }
        self.parsed.insert(file.clone(), lines);
        fresh
    }

    /// Puts the commands of a text and of what it sources in a row.
    fn expand(&mut self, file: &Rc<str>, above: &mut Vec<Rc<str>>, out: &mut Script) {
        above.push(file.clone());
        let lines = self.parsed.get(file).cloned().unwrap_or_default();
        for Line { command, origin, source } in lines {
            let refuse = |message: String| Diagnostic::new("S009", message).at(origin.place());
            let wrong = match &source {
                Some(name) if above.contains(name) => {
                    Some(refuse(format!("`{name}` sources itself")))
                }
                Some(_) if above.len() > MAX_SOURCE_DEPTH => {
                    Some(refuse(format!("`source` is nested deeper than {MAX_SOURCE_DEPTH}")))
                }
                _ if out.commands.len() >= MAX_SCRIPT_COMMANDS => {
                    Some(refuse(format!("the script has more than {MAX_SCRIPT_COMMANDS} commands")))
                }
                _ => None,
            };
            if let Some(d) = wrong {
                self.report.push(d);
                break;
            }
            // A `source` stays in the row, so that endless sourcing of nothing is counted.
            out.commands.push((command, origin));
            if let Some(name) = source {
                self.expand(&name, above, out);
            }
            if self.report.has_errors() {
                break;
            }
        }
        above.pop();
    }
}

fn is_header(text: &str) -> bool {
    text.split_ascii_whitespace().next() == Some(HEADER)
}

/// What stands after the header word, where it is not this version.
fn other_version(text: &str) -> Option<&str> {
    let after = text.trim_ascii().strip_prefix(HEADER)?.trim_ascii();
    (!after.is_empty() && after != VERSION).then_some(after)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
