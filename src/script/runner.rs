//! Scripts: all of a script and of what it sources is read before any of it is run, then its
//! commands are run one by one until one fails (`docs/commands.md`, "Scripts").
//!
//! Nothing here reads a file. A `source` is answered by the caller, who also decides what a
//! file's name is relative to.

use super::command::stops::{END, add_line};
use super::help::help;
use super::lex::{skip, without_comment};
pub use super::lines::Lines;
use super::lines::{Spot, Text};
use super::parse_command;
use super::pin::word_in;
use crate::diag::{Diagnostic, Place, Report};
use crate::engine::command::{Attached, Block, BlockLine, Command, Order};
use crate::engine::session::{Outcome, Session};
use crate::limits::{
    MAX_FOLLOWING_COMMANDS, MAX_SCRIPT_COMMANDS, MAX_SOURCE_DEPTH, MAX_TEXT_BYTES,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

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
    /// It moved in time.
    pub moved: bool,
    /// Commands of the stops that were hit.
    pub follow: Vec<BlockLine>,
}

impl From<Outcome> for Reply {
    fn from(mut done: Outcome) -> Reply {
        Reply {
            quit: done.quit,
            moved: done.halt.is_some(),
            follow: std::mem::take(&mut done.follow),
            lines: done.into_text(),
        }
    }
}

/// What commands are run against.
pub trait Target {
    /// Runs one command to its end. `help` and `source` never come here.
    ///
    /// # Errors
    /// A diagnostic; S007 and S008 say that the program under test is wrong, any other that
    /// the script is.
    fn run(&mut self, command: &Command) -> Result<Reply, Diagnostic>;

    /// The event at which it stands, for the place of what is wrong.
    fn event(&self) -> Option<u64> {
        None
    }
}

impl Target for Session {
    fn run(&mut self, command: &Command) -> Result<Reply, Diagnostic> {
        let done = self.execute(command)?;
        match &done.effect {
            // Nobody stands around it who could do that.
            Some(effect) => Err(effect.only_on_the_screen().unwrap_or_else(|| {
                let text = format!("`{}`: files cannot be written from here", effect.file());
                Diagnostic::new("S022", text)
            })),
            None => Ok(done.into()),
        }
    }

    fn event(&self) -> Option<u64> {
        Some(self.position())
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

/// Answers a `source`: the name of the script in which it stands, and the file as it is named
/// there; or why there is no text.
pub type Resolver<'a> = &'a mut dyn FnMut(&str, &str) -> Result<Source, Diagnostic>;

/// A line of a script that is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Name of its file.
    pub file: Arc<str>,
    /// Line number, from 1.
    pub number: u64,
    /// Column of the command, from 1, in characters.
    pub column: u64,
    /// Its characters.
    pub width: u64,
    /// They themselves.
    pub text: Arc<str>,
    /// What it says.
    pub command: Command,
}

impl Line {
    /// A command that no text holds, such as one of the command line.
    pub fn new(file: &str, command: Command) -> Line {
        Line { file: file.into(), number: 1, column: 1, width: 1, text: "".into(), command }
    }

    /// A command of a stop that was hit because of this line.
    fn following(&self, of: BlockLine) -> Line {
        let place = of.written.place.as_deref();
        let number = |n: Option<u64>, own| place.map_or(own, |_| n.unwrap_or(1));
        let at = place.cloned().unwrap_or_default();
        Line {
            file: at.file.map_or_else(|| self.file.clone(), |f| f.into()),
            number: number(at.line, self.number),
            column: number(at.column, self.column),
            width: number(at.width, self.width),
            text: of.written.text.into(),
            command: of.command,
        }
    }

    /// Where it stands.
    pub fn place(&self) -> Place {
        Place::text(self.number, self.column, self.width).in_file(&self.file)
    }

    /// Where its arguments stand; the whole where it has none.
    fn argument(&self) -> Place {
        let mut place = self.place();
        if let Some(at) = self.text.find(|c: char| c.is_ascii_whitespace()) {
            let rest = skip(&self.text[at..]).chars().count() as u64;
            at_the_end(&mut place, self, rest);
        }
        place
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

/// Reads a script and all that it sources: the lines to run, in order, what is sourced in its
/// place.
///
/// # Errors
/// Everything that is wrong with any of its lines, and S009 for what cannot be sourced.
pub fn parse(name: &str, text: &str, resolve: Resolver<'_>) -> Result<Lines, Report> {
    let mut reader = Reader {
        resolve,
        parsed: Vec::new(),
        by_name: BTreeMap::new(),
        report: Report::default(),
        bytes: 0,
    };
    reader.parse(name.into(), text);
    let mut next = 0;
    while next < reader.parsed.len() {
        reader.load_sources(next);
        next += 1;
    }
    let mut out = Lines::default();
    if !reader.report.has_errors() {
        reader.expand(0, &mut Vec::new(), &mut out);
    }
    if reader.report.has_errors() {
        return Err(reader.report);
    }
    out.texts = reader.parsed.into_iter().map(|p| p.text).collect();
    Ok(out)
}

/// The one command that stands in a part of a text that was read before.
pub(super) fn read_again(file: &Arc<str>, number: u64, part: &str) -> Option<Line> {
    let mut wrong = Report::default();
    let mut found = None;
    read_lines(file, number, part, &mut false, &mut wrong, &mut |line, _| found = Some(line));
    found
}

/// Runs lines until their end, a `quit`, or the first that fails; `say` gets each line of
/// output as it comes. Commands of a stop that is hit come before the next line.
pub fn run(
    target: &mut dyn Target,
    lines: impl IntoIterator<Item = Line>,
    say: &mut dyn FnMut(&str),
) -> End {
    for line in lines {
        let mut waiting = VecDeque::from([line]);
        let mut done = 0;
        while let Some(line) = waiting.pop_front() {
            let reply = match one(target, &line, say) {
                Ok(reply) => reply,
                Err(end) => return end,
            };
            if reply.quit {
                return End::Done;
            }
            // What would come after a move is left out, as in gdb.
            if reply.moved {
                waiting.clear();
            }
            for of in reply.follow.into_iter().rev() {
                waiting.push_front(line.following(of));
            }
            done += 1;
            if done > MAX_FOLLOWING_COMMANDS && !waiting.is_empty() {
                return End::Wrong(placed(endless(), &line, target.event()).into());
            }
        }
    }
    End::Done
}

/// That the commands of stops lead from stop to stop without end.
pub fn endless() -> Diagnostic {
    let text = format!("the commands of stops are more than {MAX_FOLLOWING_COMMANDS} in a row");
    Diagnostic::new("S023", text).help("does each of two stops go on to the other?")
}

/// Runs one line.
fn one(target: &mut dyn Target, line: &Line, say: &mut dyn FnMut(&str)) -> Result<Reply, End> {
    let reply = match &line.command {
        // What is sourced follows.
        Command::Source(_) => return Ok(Reply::default()),
        Command::Help(name) => Ok(Reply { lines: help(name.as_deref()), ..Reply::default() }),
        command => target.run(command),
    };
    match reply {
        Ok(reply) => {
            reply.lines.iter().for_each(|l| say(l));
            Ok(reply)
        }
        Err(d) => {
            let word = word_in(&d, &line.text).filter(|_| d.place.column.is_none());
            let mut d = placed(d, line, target.event());
            if let Some((column, width)) = word {
                (d.place.column, d.place.width) = (Some(line.column + column - 1), Some(width));
            } else if let Command::Provenance(s) = &line.command {
                at_the_end(&mut d.place, line, super::print::subject_width(s));
            }
            let failed = matches!(d.code, "S007" | "S008");
            Err(if failed { End::Failed(d.into()) } else { End::Wrong(d.into()) })
        }
    }
}

/// A finding at the line that made it; what else its place tells is kept.
fn placed(mut d: Diagnostic, line: &Line, event: Option<u64>) -> Diagnostic {
    let Place { offset, slot, event: own, .. } = d.place;
    d.place = Place { offset, slot, event: own.or(event), ..line.place() };
    d
}

/// Commands of a stop whose `end` is still to come.
struct Open {
    /// The line that begins them.
    line: Line,
    stop: Option<u64>,
    block: Block,
}

/// Column, from 1, and characters of what a line says.
fn extent(line: &str) -> (u64, u64) {
    let before = line.len() - skip(line).len();
    let column = line.get(..before).map_or(0, |s| s.chars().count() as u64) + 1;
    let text = skip(without_comment(line)).trim_ascii_end();
    (column, text.chars().count() as u64)
}

/// Points at the last `width` characters of a command.
fn at_the_end(place: &mut Place, line: &Line, width: u64) {
    if let Some(before) = line.width.checked_sub(width).filter(|_| width > 0) {
        (place.column, place.width) = (Some(line.column + before), Some(width));
    }
}

/// Reads the commands of a text that lie in `text`, whose first line has this number; `head`
/// says that nothing but comments came before it. `each` gets a command with the bytes of `text`
/// in which it stands.
fn read_lines(
    file: &Arc<str>,
    first: u64,
    text: &str,
    head: &mut bool,
    report: &mut Report,
    each: &mut dyn FnMut(Line, std::ops::Range<usize>),
) {
    let mut open: Option<(Box<Open>, usize)> = None;
    let mut start = 0;
    for (number, whole) in (first..).zip(text.split_inclusive('\n')) {
        let at = start;
        start += whole.len();
        let line = whole.strip_suffix('\n').unwrap_or(whole);
        let line = line.strip_suffix('\r').unwrap_or(line);
        match open.take() {
            Some((block, from)) => match block_line(block, number, line, report) {
                Ok(line) => each(line, from..start),
                Err(block) => open = Some((block, from)),
            },
            None => match one_line(file, number, line, head, report) {
                Some((line, None)) => each(line, at..start),
                Some((line, Some(stop))) => {
                    open = Some((Box::new(Open { line, stop, block: Block::default() }), at));
                }
                None => {}
            },
        }
    }
    if let Some((begun, _)) = open {
        let text = "the commands that begin here are not closed: `end` is missing";
        report.push(Diagnostic::new("S003", text).at(begun.line.place()));
    }
}

/// Reads a line of the commands of a stop; `end` gives the line that they make.
fn block_line(
    mut open: Box<Open>,
    number: u64,
    line: &str,
    report: &mut Report,
) -> Result<Line, Box<Open>> {
    let text = skip(without_comment(line));
    if text.trim_ascii_end() == END {
        let Open { mut line, stop, block } = *open;
        line.command = Command::Commands { stop, what: Attached::Set(block) };
        return Ok(line);
    }
    let (column, width) = extent(line);
    let place = Place::text(number, column, width).in_file(&open.line.file);
    for mut d in add_line(&mut open.block, line, place).err().unwrap_or_default() {
        d.place.line = Some(number);
        report.push(d.in_file(&open.line.file));
    }
    Err(open)
}

/// Reads one line; with it the stop whose commands begin there.
fn one_line(
    file: &Arc<str>,
    number: u64,
    line: &str,
    head: &mut bool,
    report: &mut Report,
) -> Option<(Line, Option<Option<u64>>)> {
    let text = skip(without_comment(line)).trim_ascii_end();
    let (column, width) = extent(line);
    if !text.is_empty() && std::mem::take(head) && is_header(text) {
        if let Some(version) = other_version(text) {
            let message = format!("version {version} of the command language is not known");
            let place = Place::text(number, column, width).in_file(file);
            let d = Diagnostic::new("S009", message).at(place);
            report.push(d.help(format!("this build reads `{HEADER} {VERSION}`")));
        }
        return None;
    }
    match parse_command(line) {
        Ok(command) => {
            let mut command = command?;
            let begins = match &mut command {
                Command::Commands { stop, what: Attached::Show } => Some(*stop),
                Command::Commands { what: Attached::Set(block), .. } => {
                    let place = Arc::new(Place::text(number, column, width).in_file(file));
                    block.lines.iter_mut().for_each(|l| {
                        l.written.place = Some(place.clone());
                    });
                    None
                }
                _ => None,
            };
            let text = text.into();
            Some((Line { file: file.clone(), number, column, width, text, command }, begins))
        }
        Err(all) => {
            for mut d in all {
                d.place.line = Some(number);
                d.place.column.get_or_insert(column);
                report.push(d.in_file(file));
            }
            None
        }
    }
}

/// What a line sources.
struct Wanted {
    /// Its number among the commands of its text.
    spot: u32,
    /// The file as it is named there.
    file: String,
    /// Whether its lines are an order that is replayed.
    replays: bool,
    /// Which text that is, once it is known.
    text: Option<u32>,
}

/// A text that was read.
struct Parsed {
    text: Text,
    /// In order of their spots.
    wanted: Vec<Wanted>,
}

struct Reader<'a> {
    resolve: Resolver<'a>,
    /// Every text, read once however often it is sourced.
    parsed: Vec<Parsed>,
    by_name: BTreeMap<Arc<str>, u32>,
    report: Report,
    /// Bytes of all texts.
    bytes: u64,
}

impl Reader<'_> {
    fn parse(&mut self, file: Arc<str>, text: &str) {
        self.bytes = self.bytes.saturating_add(text.len() as u64);
        let mut text = text.trim_start_matches('\u{feff}');
        let (mut spots, mut wanted) = (Vec::new(), Vec::new());
        if self.bytes > MAX_TEXT_BYTES {
            let message = format!("the script has more than {MAX_TEXT_BYTES} bytes");
            self.report.push(Diagnostic::new("S009", message).in_file(&file));
            text = "";
        }
        read_lines(&file, 1, text, &mut true, &mut self.report, &mut |line, at| {
            if let Some(file) = sourced(&line.command) {
                let (spot, file) = (spots.len() as u32, file.to_owned());
                let replays = is_replay(&line.command);
                wanted.push(Wanted { spot, file, replays, text: None });
            }
            // A text has fewer bytes than these numbers hold.
            let (start, bytes) = (at.start as u32, at.len() as u32);
            spots.push(Spot { start, bytes, number: line.number as u32 });
        });
        self.by_name.insert(file.clone(), self.parsed.len() as u32);
        let text = Text { name: file, text: text.into(), spots: spots.into() };
        self.parsed.push(Parsed { text, wanted });
    }

    /// Fetches what a text sources.
    fn load_sources(&mut self, of: usize) {
        let Some(parsed) = self.parsed.get_mut(of) else { return };
        let (text, mut wanted) = (parsed.text.clone(), std::mem::take(&mut parsed.wanted));
        // A file is asked for once, however often it is named.
        let mut known: BTreeMap<String, u32> = BTreeMap::new();
        for w in &mut wanted {
            if let Some(name) = known.get(&w.file) {
                w.text = Some(*name);
                continue;
            }
            match (self.resolve)(&text.name, &w.file) {
                Ok(Source { name, text }) => {
                    if !self.by_name.contains_key(name.as_str()) {
                        self.parse(name.as_str().into(), &text);
                    }
                    w.text = self.by_name.get(name.as_str()).copied();
                    known.extend(w.text.map(|n| (w.file.clone(), n)));
                }
                // What is wrong inside of a file is told there.
                Err(d) if d.place.line.is_some() => self.report.push(d),
                Err(d) => {
                    let place = spot_of(&text, w.spot).map(|l| l.argument()).unwrap_or_default();
                    self.report.push(Diagnostic { place, ..d });
                }
            }
        }
        if let Some(parsed) = self.parsed.get_mut(of) {
            parsed.wanted = wanted;
        }
    }

    /// Puts the commands of a text and of what it sources in a row.
    fn expand(&mut self, of: u32, above: &mut Vec<u32>, out: &mut Lines) {
        let Some(parsed) = self.parsed.get_mut(of as usize) else { return };
        above.push(of);
        let text = parsed.text.clone();
        // Given back below: nothing above sources it a second time while it is expanded.
        let wanted = std::mem::take(&mut parsed.wanted);
        let mut sources = wanted.iter().peekable();
        for spot in 0..text.spots.len() as u32 {
            let source = sources.next_if(|w| w.spot == spot);
            let line = || spot_of(&text, spot);
            let wrong = match source.and_then(|w| w.text) {
                Some(name) if above.contains(&name) => {
                    let name = self.parsed.get(name as usize).map_or("", |p| &p.text.name);
                    Some(format!("`{name}` sources itself"))
                }
                Some(_) if above.len() > MAX_SOURCE_DEPTH => {
                    Some(format!("`source` is nested deeper than {MAX_SOURCE_DEPTH}"))
                }
                _ if out.len() >= MAX_SCRIPT_COMMANDS => {
                    Some(format!("the script has more than {MAX_SCRIPT_COMMANDS} commands"))
                }
                _ => None,
            };
            if let Some(message) = wrong {
                let place = line().map(|l| l.argument()).unwrap_or_default();
                self.report.push(Diagnostic::new("S009", message).at(place));
                break;
            }
            // A `source` stays in the row, so that endless sourcing of nothing is counted.
            let replays = source.is_some_and(|w| w.replays);
            out.push_spot(of, spot, replays);
            let Some(name) = source.and_then(|w| w.text) else { continue };
            if replays {
                self.check_order(name, &line().map(|l| l.place()).unwrap_or_default());
            }
            self.expand(name, above, out);
            if self.report.has_errors() {
                break;
            }
        }
        if let Some(parsed) = self.parsed.get_mut(of as usize) {
            parsed.wanted = wanted;
        }
        above.pop();
    }

    /// Refuses what does not belong into a text that is replayed at `place`.
    fn check_order(&mut self, of: u32, place: &Place) {
        let Some(parsed) = self.parsed.get(of as usize) else { return };
        let text = parsed.text.clone();
        for l in text.spots.iter().filter_map(|s| text.line(*s)) {
            // What replays another file stands for `order calm`, and is looked at there.
            if !is_of_order(&l.command) && !is_replay(&l.command) {
                let text = "a file of an order has lines of `order` and `goto`, not this one";
                let d = Diagnostic::new("S040", text).at(l.place());
                self.report.push(d.label(place.clone(), "replayed here"));
            }
        }
    }
}

/// A command of a text, read again.
fn spot_of(text: &Text, spot: u32) -> Option<Line> {
    text.line(*text.spots.get(spot as usize)?)
}

/// The file whose lines stand for a command.
fn sourced(command: &Command) -> Option<&str> {
    match command {
        Command::Source(file) | Command::Order(Order::Replay(Some(file))) => Some(file),
        _ => None,
    }
}

fn is_replay(command: &Command) -> bool {
    matches!(command, Command::Order(Order::Replay(Some(_))))
}

/// Whether a line may stand in a file that `order replay` reads.
fn is_of_order(command: &Command) -> bool {
    use Order::{Barrier, Calm, Hold, Reading};
    matches!(
        command,
        Command::Order(Reading { .. } | Hold(_) | Barrier(_) | Calm) | Command::Goto(_)
    )
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
