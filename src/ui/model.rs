//! Everything that the screen knows: the session, where the user looks, and what was worked
//! out from both for drawing.

use super::arrange::{Arrangement, Border};
use super::assembly::{Assembly, Seek};
use super::config::Config;
use super::derived::Derived;
use super::grid::Grid;
use super::journal::Journal;
use super::jumps::{Jumps, Landing, Spot};
use super::keymap::Keymap;
use super::layout::{Pane, Texts};
use super::links::Subject;
use super::palette::Palette;
use super::passes::Passes;
use super::reload::Files;
use super::search::Search;
use super::sieve::Sieve;
use super::source::Source;
use super::stops::Replaces;
use super::ties::slots_of;
use super::timeline::Scrub;
use super::unlocked::Unlocked;
use super::{seams, theme::Theme};
use crate::check;
use crate::diag::{Diagnostic, Policy, Severity};
use crate::engine::command::{BlockLine, Command};
use crate::engine::diff::Change;
use crate::engine::edit::Edit;
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::{Event, EventKind, Life, Machine, life};
use crate::engine::session::{Effect, Outcome, Progress, Session, SlotStop};
use crate::learn::{self, Play, is_lesson_command};
use crate::limits::{MAX_FOLLOWING_COMMANDS, MAX_HISTORY};
use crate::load::SourceText;
use crate::udma::{DESC_BYTES, Desc, Dir, Word};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use tui_input::Input;

/// Events looked ahead, to know the end of a short run and what changes the marker.
pub const LOOK_AHEAD: u64 = 1 << 14;
/// Events looked back, for the slot that the newest of them is about.
pub(super) const LOOK_BACK: u64 = 64;
/// Lines kept of what the commands of stops say.
const MAX_SAID: usize = 1000;

/// What is on the screen: the file, and what was said when it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Title {
    /// The file, as the user named it.
    pub file: String,
    /// Findings made while reading; shown among the checks.
    pub notes: Vec<Diagnostic>,
    /// Codes whose findings are accepted, and not shown.
    pub policy: Policy,
    /// The assembly of the program, where it has one.
    pub source: Option<SourceText>,
}

/// Where the user looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    /// Slot, the same in both rings unless these are unlocked.
    pub slot: u64,
    /// Which of its two descriptors is inspected.
    pub dir: Dir,
    /// Word of the descriptor, by its place among the words of its view.
    pub word: usize,
    /// Bit of that word.
    pub bit: u8,
}

/// The command line while it is open.
#[derive(Debug, Clone, Default)]
pub struct CommandLine {
    /// What is typed.
    pub input: Input,
    /// Place in the history, counted from its end; 0 is the line being typed.
    pub back: usize,
    /// The line that was being typed before the history was asked.
    pub kept: String,
    /// Why the line was refused.
    pub error: Option<Diagnostic>,
    /// What could complete it.
    pub candidates: Vec<String>,
    /// The stop that it sets anew, if it was opened for that.
    pub replaces: Option<Replaces>,
}

/// A text over the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Popup {
    /// Keys and commands.
    Help,
    /// The answer of a command.
    Output(Vec<String>),
    /// Places that were left by jumps, and which of them is selected.
    Jumps(usize),
}

/// The newest answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// One line.
    pub text: String,
    /// How it is meant; none for a plain answer.
    pub severity: Option<Severity>,
}

/// The model.
#[derive(Debug, Clone)]
pub struct Model {
    /// The session.
    pub session: Session,
    /// File and notes.
    pub title: Title,
    /// Whether the files are watched, and what became of them.
    pub files: Files,
    /// Columns and rows.
    pub size: (u16, u16),
    /// How the panes are arranged.
    pub arrangement: Arrangement,
    /// The border that is being moved: it, how far it was moved, where the mouse was.
    pub drag: Option<(Border, i16, (u16, u16))>,
    /// The pane that keys go to.
    pub focus: Pane,
    /// The selected slot and bit.
    pub selection: Selection,
    /// First slot shown.
    pub ring_top: u64,
    /// Equal slots are folded.
    pub fold: bool,
    /// Rings that do not move together.
    pub unlocked: Unlocked,
    /// The selection goes where the newest event was.
    pub follow: bool,
    /// Selected event.
    pub event_cursor: u64,
    /// First event shown.
    pub event_top: u64,
    /// What is selected, to which the panes mark what belongs.
    pub subject: Subject,
    /// The byte at the cursor of the memory pane, counted from the one that the selected
    /// descriptor names first.
    pub memory_at: i64,
    /// Rows by which the memory pane is scrolled.
    pub memory_rows: i64,
    /// The text of a module.
    pub source: Source,
    /// Its passes.
    pub passes: Passes,
    /// The assembly of a program without a module.
    pub assembly: Assembly,
    /// Places that were left by a jump.
    pub jumps: Jumps,
    /// The place that the session is on its way to.
    pub(super) landing: Option<Landing>,
    /// Where the jump began that a command is about to make.
    pub(super) jump_from: Option<Spot>,
    /// Selected finding, counted from the newest.
    pub check_cursor: usize,
    /// The command line, while it is open.
    pub line: Option<CommandLine>,
    /// What was searched for last.
    pub search: Option<Search>,
    /// Rows of the descriptor that are scrolled away, where it has not room for all.
    pub inspector_top: usize,
    /// Selected line of the stops.
    pub stop_cursor: usize,
    /// Selected line of the budget.
    pub budget_cursor: usize,
    /// Where on the timeline the user looks.
    pub scrub: Scrub,
    /// The palette, while it is open.
    pub palette: Option<Palette>,
    /// The lesson that is taken.
    pub lesson: Option<Play>,
    /// Lessons that were gone on from, with which of their tasks are solved.
    pub taken: Vec<(String, Vec<bool>)>,
    /// The lesson to go on with, by its place in the list, where every task of this one is solved.
    pub lesson_next: Option<usize>,
    /// How far the learner had come in all lessons.
    pub progress: learn::progress::Progress,
    /// Lines entered before, oldest first.
    pub history: Vec<String>,
    /// The access grid, while it is open.
    pub grid: Option<Grid>,
    /// What the text over the screen answers: a command, or what it is of.
    pub answers: String,
    /// A text over the screen, and how far it is scrolled.
    pub popup: Option<(Popup, usize)>,
    /// What is searched for in it.
    pub sieve: Sieve,
    /// The newest answer.
    pub said: Option<Said>,
    /// The edits that a file holds: the opened one, or what was saved since.
    pub saved: Vec<Edit>,
    /// The user was told that leaving loses edits, and nothing came since.
    pub(super) warned: bool,
    /// What a command asked of the world outside, not done yet.
    pub asked: Vec<Effect>,
    /// A command runs: where it is.
    pub running: Option<Progress>,
    /// What was carried out, where it is recorded.
    pub journal: Option<Journal>,
    /// The queue that the newest command left selected, before the screen followed the events.
    pub(super) settled: Option<QueueId>,
    /// Colours and glyphs.
    pub theme: Theme,
    /// Keys.
    pub keys: Arc<Keymap>,
    /// For drawing.
    pub derived: Derived,
}

/// The descriptor in a slot of a state, and what the slot is at.
pub fn slot_in(
    p: &Program,
    m: &Machine,
    id: QueueId,
    dir: Dir,
    index: u64,
) -> Option<(Desc, Life)> {
    let q = m.queue(id)?;
    let ring = q.ring(dir);
    if index >= ring.size {
        return None;
    }
    let mut bytes = [0; DESC_BYTES];
    m.memory.read(ring.slot_addr(index), &mut bytes);
    let desc = Desc::from_bytes(&bytes);
    Some((desc, life::of_program(p, q, dir, index, !desc.is_zero())))
}

impl Model {
    /// A model at the session's position.
    pub fn new(mut session: Session, title: Title, theme: Theme, size: (u16, u16)) -> Model {
        // A short run is walked once, so that its end is known.
        session.state_at(session.position() + LOOK_AHEAD);
        let module = session.program().module.is_some();
        let focus = if module { Pane::Source } else { Pane::Tx };
        let mut model = Model {
            event_cursor: session.position(),
            saved: session.program().edits.clone(),
            warned: false,
            session,
            title,
            files: Files::default(),
            size,
            arrangement: Arrangement::default(),
            drag: None,
            focus,
            selection: Selection { slot: 0, dir: Dir::Tx, word: 0, bit: 0 },
            ring_top: 0,
            fold: true,
            unlocked: Unlocked::default(),
            follow: true,
            event_top: 1,
            subject: Subject::Slot,
            memory_at: 0,
            memory_rows: 0,
            source: Source::default(),
            passes: Passes::default(),
            assembly: Assembly::default(),
            jumps: Jumps::default(),
            landing: None,
            jump_from: None,
            check_cursor: 0,
            line: None,
            palette: None,
            search: None,
            inspector_top: 0,
            stop_cursor: 0,
            budget_cursor: 0,
            scrub: Scrub::default(),
            lesson: None,
            taken: Vec::new(),
            lesson_next: None,
            progress: learn::progress::Progress::default(),
            history: Vec::new(),
            grid: None,
            answers: String::new(),
            popup: None,
            sieve: Sieve::default(),
            said: None,
            asked: Vec::new(),
            running: None,
            journal: None,
            settled: None,
            theme,
            keys: Arc::default(),
            derived: Derived::new(size, focus),
        };
        model.take_assembly();
        if model.ring_size(Dir::Tx) == 0 && model.ring_size(Dir::Rx) > 0 {
            model.select_slot(Some(Dir::Rx), 0);
        }
        model.after_move();
        model.prepare();
        model
    }

    /// Takes what a user has set, except for what the terminal is asked for.
    pub fn configure(&mut self, config: &Config) {
        self.keys = Arc::new(config.keys.clone());
        self.fold = config.fold;
        self.follow = config.follow;
        self.prepare();
    }

    /// Whether a key that leaves must not do so yet: there are edits that no file and no record
    /// holds, and the user was not told. Tells them.
    pub(super) fn keeps_back(&mut self) -> bool {
        let edits = &self.session.program().edits;
        if self.warned || self.lesson.is_some() || self.journal.is_some() || *edits == self.saved {
            return false;
        }
        self.warned = true;
        let text = "edits are not saved: the key again leaves, `:save FILE` keeps them";
        self.say(text, Some(Severity::Warning));
        true
    }

    /// What texts the program has.
    pub fn texts(&self) -> Texts {
        match (self.has_module(), self.has_assembly()) {
            (true, _) => Texts::Module,
            (false, true) => Texts::Assembly,
            (false, false) => Texts::None,
        }
    }

    /// The selected queue.
    pub fn queue(&self) -> Option<QueueId> {
        self.session.selected()
    }

    /// Slots of a ring of the selected queue.
    pub fn ring_size(&self, dir: Dir) -> u64 {
        let q = self.queue().and_then(|id| self.session.machine().queue(id));
        q.map_or(0, |q| q.ring(dir).size)
    }

    /// Slots of the longer ring of the selected queue.
    pub fn slots(&self) -> u64 {
        Dir::BOTH.into_iter().map(|d| self.ring_size(d)).max().unwrap_or(0)
    }

    /// A slot of the selected queue, now.
    pub fn slot(&self, dir: Dir, index: u64) -> Option<(Desc, Life)> {
        slot_in(self.session.program(), self.session.machine(), self.queue()?, dir, index)
    }

    /// Whether a slot is not as it was at the last stop.
    pub fn slot_changed(&self, dir: Dir, index: u64) -> bool {
        let before = self
            .queue()
            .and_then(|id| slot_in(self.session.program(), self.session.before(), id, dir, index));
        self.slot(dir, index) != before || self.slot_news(dir, index).is_some()
    }

    /// What of the descriptor in a slot of the selected queue is new since the files changed.
    pub fn slot_news(&self, dir: Dir, index: u64) -> Option<Change> {
        self.session.slot_news(self.queue()?, dir, index)
    }

    /// The selected descriptor.
    pub fn desc(&self) -> Option<(Desc, Life)> {
        self.slot(self.selection.dir, self.selection.slot)
    }

    /// Words of the selected descriptor's view.
    pub fn words(&self) -> &'static [Word] {
        let desc = self.desc().map(|d| d.0).unwrap_or_default();
        Word::of(desc.view(self.selection.dir))
    }

    /// The selected word and bit.
    pub fn bit(&self) -> (Word, u8) {
        let words = self.words();
        let word = words[self.selection.word.min(words.len() - 1)];
        (word, self.selection.bit.min(word.bits() - 1))
    }

    /// The stop that a slot of the selected queue is marked with.
    pub fn stop_at(&self, dir: Dir, slot: u64) -> Option<SlotStop> {
        self.session.stop_on_slot(self.queue()?, dir, slot)
    }

    /// Findings: why the files cannot be read, if so; then errors before warnings before notes. Of
    /// each what lints say against the rings as they lie now, those of the run and its races in
    /// their order, so that a cause stands before what came of it, and those of reading the file.
    pub fn findings(&self) -> impl Iterator<Item = &Diagnostic> {
        let all = |severity| {
            let run = self.derived.judged.iter().chain(self.session.machine().findings.iter());
            let read = self.derived.races.iter().chain(&self.title.notes);
            run.chain(read).filter(move |d| d.severity == severity)
        };
        let sorted = [Severity::Error, Severity::Warning, Severity::Note].into_iter().flat_map(all);
        let sorted = sorted.filter(|d| !self.title.policy.allows(d.code));
        self.files.findings().chain(sorted)
    }

    /// Carries out a command, and those of the stops that it leads to, without a word in the
    /// journal.
    ///
    /// # Errors
    /// The command's diagnostic, which is not yet shown.
    pub(super) fn carry_out(
        &mut self,
        command: &Command,
        watch: &mut dyn FnMut(&Model, Progress) -> ControlFlow<()>,
    ) -> Result<bool, Diagnostic> {
        self.settled = self.session.selected();
        let help = match command {
            Command::Help(name) => Some(name.as_deref()),
            _ => None,
        };
        if let Some(name) = help {
            self.help(name);
            return Ok(false);
        }
        if self.lesson.is_some() && is_lesson_command(command) {
            self.lesson_command(command)?;
            self.prepare();
            return Ok(false);
        }
        if let Command::Find { dir, expr } = command {
            self.search(*dir, expr)?;
            self.prepare();
            return Ok(false);
        }
        self.answers = crate::script::print(command);
        let mut outcome = self.execute(command, watch)?;
        self.settled = self.session.selected();
        if outcome.quit {
            return Ok(true);
        }
        let follow = std::mem::take(&mut outcome.follow);
        if matches!(command, Command::Source(_)) {
            self.say("a script is run by `run --script`, not on the screen", Some(Severity::Note));
        } else if let Some(why) = outcome.halt {
            self.said =
                Some(why).filter(|w| !w.is_empty()).map(|text| Said { text, severity: None });
            self.after_move();
        } else {
            self.come_to_queue();
            self.answer(outcome.lines);
        }
        let quit = !follow.is_empty() && self.follow(follow, watch)?;
        self.look_at_lesson();
        self.prepare();
        Ok(quit)
    }

    /// Executes a command, with the text that no session has.
    fn execute(
        &mut self,
        command: &Command,
        watch: &mut dyn FnMut(&Model, Progress) -> ControlFlow<()>,
    ) -> Result<Outcome, Diagnostic> {
        // The session runs apart from the model, which `watch` draws meanwhile.
        let mut session = self.session.clone();
        let mut outcome = session.execute_with(command, &mut |p| watch(self, p))?;
        if let Some(answer) = seams::answer(&session, command) {
            outcome.lines = answer?;
        }
        outcome.lines = check::live::with_checks(&session, command, outcome.lines);
        outcome.lines = self.files.with_changes(command, outcome.lines);
        let same = Arc::ptr_eq(self.session.program(), session.program());
        self.session = session;
        self.asked.extend(outcome.effect.take());
        if !same {
            self.forget_run();
        }
        Ok(outcome)
    }

    /// Shows an answer: one line on the status line, more of them over the screen.
    fn answer(&mut self, lines: Vec<String>) {
        match lines.as_slice() {
            [] => self.said = None,
            [one] => self.say(one.clone(), None),
            many => self.popup = Some((Popup::Output(many.to_vec()), 0)),
        }
    }

    /// Executes the commands of stops that were hit, and shows what they say behind what was said
    /// of the stop.
    pub(super) fn follow(
        &mut self,
        follow: Vec<BlockLine>,
        watch: &mut dyn FnMut(&Model, Progress) -> ControlFlow<()>,
    ) -> Result<bool, Diagnostic> {
        let mut waiting: VecDeque<BlockLine> = follow.into();
        let mut said: Vec<String> = self.said.take().map(|s| s.text).into_iter().collect();
        let mut done = 0;
        while let Some(line) = waiting.pop_front() {
            if let Command::Help(name) = &line.command {
                said.extend(crate::script::help::help(name.as_deref()));
                continue;
            }
            let mut outcome = match self.execute(&line.command, watch) {
                Ok(outcome) => outcome,
                Err(d) => {
                    // What was said before it went wrong stays to be read.
                    let (text, at) = (&d.message, &line.written.text);
                    said.push(format!("{}[{}]: `{at}`: {text}", d.severity, d.code));
                    break;
                }
            };
            if outcome.quit {
                return Ok(true);
            }
            let more = std::mem::take(&mut outcome.follow);
            match outcome.halt.take() {
                Some(why) => {
                    waiting.clear();
                    said.extend(Some(why).filter(|w| !w.is_empty()));
                }
                None => said.append(&mut outcome.lines),
            }
            more.into_iter().rev().for_each(|l| waiting.push_front(l));
            done += 1;
            if done > MAX_FOLLOWING_COMMANDS && !waiting.is_empty() {
                return Err(crate::script::runner::endless());
            }
            // What nobody can read any more is not kept.
            let from = said.len().saturating_sub(MAX_SAID);
            said.drain(..from);
        }
        self.after_move();
        self.answer(said);
        Ok(false)
    }

    /// Another run than before, from some event on: what was worked out of it is so no more.
    pub(super) fn forget_run(&mut self) {
        self.session.state_at(self.session.position() + LOOK_AHEAD);
        self.search.iter_mut().for_each(Search::forget);
        self.derived.forget_run();
        self.scrub.forget();
    }

    /// Shows an answer on the status line.
    pub fn say(&mut self, text: impl Into<String>, severity: Option<Severity>) {
        self.said = Some(Said { text: text.into(), severity });
    }

    /// Shows a refusal: in the command line where that is open, else on the status line.
    pub fn refuse(&mut self, d: Diagnostic) {
        match &mut self.line {
            Some(line) => line.error = Some(d),
            None => {
                let help = d.help.as_deref().map(|h| format!("; {h}")).unwrap_or_default();
                let text = format!("{}[{}]: {}{help}", d.severity, d.code, d.message);
                self.say(text, Some(d.severity));
            }
        }
    }

    fn help(&mut self, name: Option<&str>) {
        let Some(name) = name else {
            self.popup = Some((Popup::Help, 0));
            return;
        };
        self.answers = format!("help {name}");
        self.popup = Some((Popup::Output(crate::script::help::help(Some(name))), 0));
    }

    /// Keeps a line of the command line.
    pub fn remember(&mut self, line: &str) {
        if self.history.last().is_none_or(|l| l != line) {
            self.history.push(line.to_owned());
        }
        if self.history.len() > MAX_HISTORY {
            self.history.remove(0);
        }
    }

    /// After the position changed: the event cursor, and the selection where it follows.
    pub fn after_move(&mut self) {
        self.event_cursor = self.session.position();
        self.check_cursor = 0;
        let rows = self.event_rows().max(3) as u64;
        self.event_top = self.event_cursor.saturating_sub(rows * 2 / 3).max(1);
        if !self.follow {
            return;
        }
        // Where several queues are at work, the screen goes to the one that something happened to.
        if let Some(id) = self.session.last_event().and_then(|e| e.queue()) {
            self.session.select(id);
            self.come_to_queue();
        }
        self.subject_follows();
        self.follow_source();
        self.assembly.seek = Some(Seek::Host);
        let here = self.session.position();
        let faulted = self.queue().and_then(|id| self.session.machine().queue(id)?.faulted);
        if let Some((dir, slot)) = faulted {
            return self.select_slot(Some(dir), slot);
        }
        // The newest event that is about a slot, not too far back.
        let recent = self.session.events(here.saturating_sub(LOOK_BACK), here + 1);
        match recent.iter().rev().find(|e| slot_of(e, self.queue()).is_some()) {
            Some(e) if self.is_unlocked() => {
                slots_of(e).iter().for_each(|s| self.bring(s.0, s.1));
            }
            Some(e) => slot_of(e, self.queue()).iter().for_each(|s| self.select_slot(None, *s)),
            None if here == 0 => Dir::BOTH.into_iter().for_each(|d| self.bring(d, 0)),
            None => {}
        }
    }

    /// Selects a slot; without a direction the selected one stays.
    pub fn select_slot(&mut self, dir: Option<Dir>, slot: u64) {
        if slot != self.selection.slot || dir.is_some_and(|d| d != self.selection.dir) {
            (self.memory_rows, self.memory_at) = (0, 0);
        }
        self.selection.slot = slot.min(self.last_slot(dir.unwrap_or(self.selection.dir)));
        if let Some(dir) = dir {
            self.selection.dir = dir;
            // Where a ring has the focus it is the ring of the selection.
            if self.focus.is_ring() {
                self.focus = Pane::of_ring(dir);
            }
        }
    }
}

/// The slot of a queue that an event is about. The ring that the user looks at stays.
fn slot_of(e: &Event, queue: Option<QueueId>) -> Option<u64> {
    if e.queue() != queue {
        return None;
    }
    match e.kind {
        EventKind::Stage { tx, .. } => Some(tx.slot),
        EventKind::CopyIn { slot, .. }
        | EventKind::Patch { slot, .. }
        | EventKind::Fetch { slot, .. }
        | EventKind::Fault { slot, .. }
        | EventKind::Read { slot, .. }
        | EventKind::Stall { slot, .. }
        | EventKind::Visible { slot, .. } => Some(slot),
        EventKind::Retire { tx, rx, .. } => tx.or(rx),
        _ => None,
    }
}
