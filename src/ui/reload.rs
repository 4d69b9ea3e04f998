//! What the screen makes of files that changed: going on with another program where it was, or
//! with the last good one (`docs/reload.md`). Pure: `live` watches and reads.

use super::build::Ended;
use super::live::Fresh;
use super::model::{Model, Popup, Selection};
use super::unlocked::{Unlocked, moved_top};
use super::update::Effect;
use crate::bir::Pos;
use crate::diag::{Diagnostic, Report, Severity};
use crate::engine::command::{Command, Info};
use crate::engine::diff::{self, Change, Diff, Part, Sides};
use crate::engine::program::Program;
use crate::engine::session::{Carried, Progress};
use crate::limits::{MAX_RELOAD_DIFF_EVENTS, MAX_RELOAD_LINES, MAX_SAME_CODE};
use crate::load::bir::Keys;
use std::ops::ControlFlow;
use std::sync::Arc;

/// How the answer to a reload begins.
const RELOADED: &str = "reloaded";

/// What is told of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// They are watched from now on.
    Watching,
    /// They were read.
    Loaded {
        /// What they hold.
        fresh: Fresh,
        /// It is what they held before.
        same: bool,
        /// The user asked for it.
        asked: bool,
    },
    /// They cannot be read as a program.
    Broken(Report),
    /// The command that comes first was started.
    Building,
    /// It is over.
    Built(Ended),
    /// It changes what it is run for, again and again: it is not run once more.
    Endless(String),
    /// Changes are not seen any more, and why.
    Lost(String),
    /// How the program differs from the one before.
    Compared {
        /// Which reload that was.
        number: u64,
        /// In one line.
        summary: String,
        /// In full.
        lines: Vec<String>,
    },
}

/// What the screen knows of its files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// Their changes are seen.
    pub watched: bool,
    /// Why they cannot be read: what is shown is the last that could be.
    pub broken: Option<Report>,
    /// The command that comes first runs.
    pub building: bool,
    /// It failed when it was run last.
    pub failed: bool,
    /// How often another program was read.
    pub reloads: u64,
    /// How the newest differs from the one before.
    pub changes: Vec<String>,
    /// Where the user looked in the program before.
    back: Option<Back>,
    /// The answer that stands there is of a reload, and more is to be added to it.
    said: Option<String>,
}

impl Files {
    /// The sign in the header: what keeps the screen from showing the files as they are.
    pub fn sign(&self) -> Option<(String, Severity)> {
        if let Some(report) = &self.broken {
            let n = report.items.iter().filter(|d| d.severity == Severity::Error).count();
            let file = report.items.iter().find_map(|d| d.place.file.as_deref());
            let file = file.map(|f| f.rsplit('/').next().unwrap_or(f));
            let of = file.map(|f| format!(" in {f}")).unwrap_or_default();
            let text = format!("BROKEN: {n} error{}{of}", if n == 1 { "" } else { "s" });
            return Some((text, Severity::Error));
        }
        if self.building {
            return Some(("BUILDING".to_owned(), Severity::Note));
        }
        self.failed.then(|| ("BUILD FAILED".to_owned(), Severity::Error))
    }

    /// What `info reload` tells, with what the session does not know.
    pub fn with_changes(&self, command: &Command, lines: Vec<String>) -> Vec<String> {
        if !matches!(command, Command::Info { what: Info::Reload, .. }) {
            return lines;
        }
        let watched = if self.watched { "are watched" } else { "are not watched" };
        let times = match self.reloads {
            0 => "they have not changed".to_owned(),
            1 => "they changed once".to_owned(),
            n => format!("they changed {n} times"),
        };
        let mut out = vec![format!("the files {watched}; {times}")];
        out.extend(self.sign().map(|s| s.0));
        out.extend(lines);
        if !self.changes.is_empty() {
            out.push(String::new());
            out.extend(self.changes.iter().cloned());
        }
        out
    }

    /// What is wrong with the files, for the checks.
    pub fn findings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.broken.iter().flat_map(|r| &r.items)
    }
}

impl Model {
    /// Takes note of what is told of the files.
    pub(super) fn notice(&mut self, notice: Notice) -> Vec<Effect> {
        match notice {
            Notice::Watching => self.files.watched = true,
            Notice::Loaded { fresh, same, asked } => {
                let was_broken = self.files.broken.take().is_some();
                if !same {
                    return vec![Effect::TakeUp(Box::new(fresh))];
                }
                self.title = fresh.title;
                // A file that is mapped shows what is written into it at once.
                self.forget_run();
                self.prepare();
                if was_broken {
                    self.say("the files are good again, and what they were", None);
                } else if asked {
                    self.say("the files are what they were", None);
                }
            }
            Notice::Broken(report) => {
                let first = report.items.first().map(|d| {
                    let file = d.place.file.as_deref().unwrap_or_default();
                    let line = d.place.line.map(|n| format!(":{n}")).unwrap_or_default();
                    format!("{}[{}] {file}{line}: {}", d.severity, d.code, d.message)
                });
                let text = first.unwrap_or_else(|| "the files cannot be read".to_owned());
                self.say(format!("{text}; the last good program stays"), Some(Severity::Error));
                self.files.broken = Some(report);
                self.check_cursor = 0;
            }
            Notice::Building => (self.files.building, self.files.failed) = (true, false),
            Notice::Built(ended) => {
                (self.files.building, self.files.failed) = (false, !ended.well);
                if !ended.well {
                    let text = format!("the command failed ({}); nothing is read", ended.words);
                    self.say(text.clone(), Some(Severity::Error));
                    let mut lines = vec![text];
                    lines.extend(ended.output);
                    // The end of it tells what went wrong.
                    let from = lines.len();
                    self.answers = "the command that a change runs".to_owned();
                    self.popup = Some((Popup::Output(lines), from));
                    let most = super::view::popup::max_scroll(self);
                    if let Some((_, scroll)) = &mut self.popup {
                        *scroll = (*scroll).min(most);
                    }
                }
            }
            Notice::Endless(command) => {
                let text = format!(
                    "`{command}` changes what it is run for: not run again until something else does"
                );
                self.say(text, Some(Severity::Warning));
            }
            Notice::Lost(why) => {
                self.files.watched = false;
                let text = format!("changes are not seen any more: {why}; `reload` reads again");
                self.say(text, Some(Severity::Warning));
            }
            Notice::Compared { number, summary, lines } => {
                if number == self.files.reloads {
                    self.files.changes = lines;
                    // Unless the user has been told something else since.
                    let said = self.files.said.take();
                    if let Some(now) = self.said.as_mut().filter(|s| said == Some(s.text.clone())) {
                        now.text =
                            now.text.replacen(RELOADED, &format!("{RELOADED}: {summary}"), 1);
                    }
                }
            }
        }
        Vec::new()
    }

    /// Goes on with another program; true means leave. `watch` sees the screen as it was, and can
    /// break off the search for where things are now.
    ///
    /// # Errors
    /// Endless commands of stops.
    pub fn take_up(
        &mut self,
        fresh: Fresh,
        watch: &mut dyn FnMut(&Model, Progress) -> ControlFlow<()>,
    ) -> Result<(bool, Option<Effect>), Diagnostic> {
        let mut session = self.session.clone();
        let carried = session.reload(fresh.program, &mut |p| watch(self, p));
        let view = View::of(self, &carried);
        let (was, of) = (Looked::of(self), self.session.loaded().clone());
        let back = self.files.back.take().filter(|b| b.became == was);
        self.title = fresh.title;
        // What was saved is saved, wherever its edits stand now.
        let saved = self.session.program().edits == self.saved;
        self.session = session;
        if saved && carried.lost == 0 {
            self.saved.clone_from(&self.session.program().edits);
        }
        self.files.broken = None;
        if carried.same {
            self.prepare();
            return Ok((false, None));
        }
        self.files.reloads += 1;
        self.files.changes.clear();
        self.forget_run();
        self.settled = self.session.selected();
        view.restore(self);
        self.prepare();
        let older = back.map(|b| {
            if b.of == *self.session.loaded() {
                b.was.restore(self);
            }
            b.of
        });
        self.files.back = Some(Back { of, was, became: Looked::of(self) });
        let here = self.session.position();
        self.journal.iter_mut().for_each(|j| j.reloaded(here));
        let mut text = RELOADED.to_owned();
        if let Some(note) = carried.notes.first() {
            text.push_str(&format!("; {note}"));
        }
        if carried.notes.len() > 1 {
            text.push_str(&format!("; {} more: info reload", carried.notes.len() - 1));
        }
        self.say(text, (carried.lost > 0).then_some(Severity::Warning));
        let compare = carried.programs().map(|(was, is)| {
            Effect::Compare(Comparison {
                number: self.files.reloads,
                was: was.clone(),
                is: is.clone(),
                older,
            })
        });
        let quit = self.caught(watch)?;
        self.files.said = self.said.as_ref().map(|s| s.text.clone());
        self.prepare();
        Ok((quit, compare))
    }

    /// What the catchpoints of reloads say and do.
    fn caught(
        &mut self,
        watch: &mut dyn FnMut(&Model, Progress) -> ControlFlow<()>,
    ) -> Result<bool, Diagnostic> {
        let Some(outcome) = self.session.reload_caught() else { return Ok(false) };
        if let Some(why) = outcome.halt.filter(|w| !w.is_empty()) {
            let severity = self.said.as_ref().and_then(|s| s.severity);
            let said = self.said.take().map(|s| s.text).unwrap_or_default();
            self.say(format!("{why}; {said}"), severity);
        }
        if outcome.follow.is_empty() { Ok(false) } else { self.follow(outcome.follow, watch) }
    }
}

/// Where the user looked, by what it was.
struct View {
    slot: Option<u64>,
    event: u64,
    events_above: u64,
    /// The line with the cursor: an instruction, and lines from its first one on. The number of
    /// the line where no instruction stands before it.
    line: (Option<Pos>, usize),
    /// Lines shown above the cursor; nothing where the text is shown from its beginning.
    above: Option<usize>,
    /// Columns to which the text is moved.
    shift: usize,
    selected: Option<Pos>,
    unlocked: Unlocked,
}

impl View {
    fn of(m: &Model, carried: &Carried) -> View {
        let s = m.selection;
        let slot = m.queue().and_then(|id| carried.slot(id, s.dir, s.slot)).map(|at| at.1);
        let cursor = m.source.cursor;
        // The nearest line before it, or itself, that stems from an instruction that is left.
        let lines = m.listing().map_or(&[][..], |l| &l.lines);
        let mut upwards = lines.iter().take(cursor + 1).rev();
        let pos = upwards.find_map(|l| carried.inst(l.pos?).map(|to| (l.pos, to)));
        let first = pos.and_then(|p| m.listing()?.first_of(p.0?));
        View {
            slot,
            event: carried.event(m.event_cursor),
            events_above: m.event_cursor.saturating_sub(m.event_top),
            line: (pos.map(|p| p.1), cursor.saturating_sub(first.unwrap_or(0))),
            above: (m.source.top > 0).then(|| cursor.saturating_sub(m.source.top)),
            shift: m.source.shift,
            selected: m.source.selected.and_then(|p| carried.inst(p)),
            unlocked: m.unlocked.carried(carried),
        }
    }

    fn restore(self, m: &mut Model) {
        if let Some(slot) = self.slot {
            m.ring_top = moved_top(m.ring_top, m.selection.slot, slot);
            m.selection.slot = slot;
        }
        m.unlocked = self.unlocked;
        m.event_cursor = self.event;
        m.event_top = self.event.saturating_sub(self.events_above).max(1);
        m.source.selected = self.selected;
        m.prepare();
        let first = match self.line.0 {
            Some(pos) => m.listing().and_then(|l| l.first_of(pos)),
            None => Some(0),
        };
        if let Some(first) = first {
            m.source.cursor = first + self.line.1;
            m.source.top = self.above.map_or(0, |n| m.source.cursor.saturating_sub(n));
        }
        m.source.shift = self.shift;
    }
}

/// Where the user looks, by number.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Looked {
    position: u64,
    selection: Selection,
    ring_top: u64,
    unlocked: Unlocked,
    event: (u64, u64),
    line: (usize, usize, usize),
    selected: Option<Pos>,
}

impl Looked {
    fn of(m: &Model) -> Looked {
        Looked {
            position: m.session.position(),
            selection: m.selection,
            ring_top: m.ring_top,
            unlocked: m.unlocked.clone(),
            event: (m.event_cursor, m.event_top),
            line: (m.source.cursor, m.source.top, m.source.shift),
            selected: m.source.selected,
        }
    }

    /// Looks there again, in the same program, unless the session stands elsewhere.
    fn restore(self, m: &mut Model) {
        if m.session.position() != self.position {
            return;
        }
        (m.selection, m.ring_top) = (self.selection, self.ring_top);
        m.unlocked = self.unlocked;
        (m.event_cursor, m.event_top) = self.event;
        (m.source.cursor, m.source.top, m.source.shift) = self.line;
        m.source.selected = self.selected;
    }
}

/// Who goes back to a program, and did not look elsewhere meanwhile, looks where they did.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Back {
    /// The program before the newest reload, as it was loaded.
    of: Arc<Program>,
    /// Where the user looked in it.
    was: Looked,
    /// What that became.
    became: Looked,
}

/// Two programs, of which is to be told how they differ: apart from the screen, since it may take
/// a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// Which reload it was.
    pub number: u64,
    /// The program that was.
    pub was: Arc<Program>,
    /// The one that is.
    pub is: Arc<Program>,
    /// The one before both, of which nothing is asked: giving back its memory takes a while, too.
    pub older: Option<Arc<Program>>,
}

impl Comparison {
    /// How they differ.
    pub fn answer(self) -> Notice {
        let (summary, lines) = compared(&self.was, &self.is);
        Notice::Compared { number: self.number, summary, lines }
    }
}

/// Tells how two programs differ and what comes of both, run for a bounded number of events: in
/// one line, and in full within a bound.
fn compared(was: &Arc<Program>, is: &Arc<Program>) -> (String, Vec<String>) {
    let mut found = Diff::default();
    let loaded = |p: &Program| {
        let run = p.module.as_ref()?;
        Some(run.lowered.snapshots.first()?.module.clone())
    };
    if let (Some(a), Some(b)) = (loaded(was), loaded(is)) {
        diff::modules(&a, &b, &Keys, &mut found);
    }
    diff::programs_within(was, is, Sides::Whole, MAX_RELOAD_DIFF_EVENTS, &mut found);
    let mut lines = diff::lines(&found, MAX_SAME_CODE);
    if lines.len() > MAX_RELOAD_LINES {
        let more = lines.len() - MAX_RELOAD_LINES;
        lines.truncate(MAX_RELOAD_LINES);
        lines.push(format!("{more} lines more: `dmadbg diff` tells all"));
    }
    (summary(&found), lines)
}

/// `+3 -1 ~2 descriptors, outcome in memory differs`.
fn summary(found: &Diff) -> String {
    let counts = found.counts();
    let of = |part, change| counts.get(&(part, change)).copied().unwrap_or(0);
    let mut out: Vec<String> = Vec::new();
    let named = [(Part::Instruction, "instruction"), (Part::Descriptor, "descriptor")];
    for (part, name) in named {
        let signs = [
            ('+', Change::Added),
            ('-', Change::Removed),
            ('~', Change::Changed),
            ('>', Change::Moved),
        ];
        let all: Vec<String> = signs
            .into_iter()
            .filter(|(_, c)| of(part, *c) > 0)
            .map(|(sign, c)| format!("{sign}{}", of(part, c)))
            .collect();
        if !all.is_empty() {
            let total: u64 = signs.into_iter().map(|(_, c)| of(part, c)).sum();
            let s = if total == 1 { "" } else { "s" };
            out.push(format!("{} {name}{s}", all.join(" ")));
        }
    }
    if out.is_empty() {
        let n: u64 = counts.values().sum();
        out.push(match n {
            0 => "nothing else than how it is written".to_owned(),
            1 => "1 difference".to_owned(),
            n => format!("{n} differences"),
        });
    }
    out.extend(found.outcome.as_ref().map(|o| {
        if o.ran.iter().any(|r| !r.finished) {
            return "outcome not known: the run is too long".to_owned();
        }
        let mut what: Vec<&str> = Vec::new();
        what.extend((!o.memory.is_empty()).then_some("memory"));
        what.extend((!o.findings.is_empty()).then_some("findings"));
        what.extend((!o.returns.is_empty()).then_some("returns"));
        match what.as_slice() {
            [] if o.is_same() => "same outcome".to_owned(),
            [] => "outcome differs".to_owned(),
            what => format!("outcome in {} differs", what.join(", ")),
        }
    }));
    out.join(", ")
}
