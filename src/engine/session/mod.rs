//! A session: a program, a position in its run, and the commands that move it and look.
//!
//! The run is a function of the program; the session only chooses where in it to stand.
//! Going back is going to an earlier event: restore a checkpoint and run forward to it, never
//! undo ([`Timeline`]). The same session serves the screen, scripts and tests. Rules:
//! `docs/commands.md`.

mod assert;
mod causes;
mod display;
mod edit;
mod effect;
mod eval;
mod find;
mod interest;
mod lanes;
mod look;
mod module;
mod moves;
mod order;
mod passes;
mod question;
mod range;
mod reload;
mod search;
mod shares;
mod sieve;
mod span;
mod stops;
mod timeline;

pub use super::expr::{PROPERTIES, RING_PROPERTIES};
pub use display::Display;
pub use effect::Effect;
pub use eval::{EvalError, eval, eval_at, queue_of};
pub use find::Found;
pub use interest::{Interest, Look};
pub use lanes::{Cell, Column, Did, Lane, Lanes, Looked, Signs, View};
pub use look::{describe_event, inst_words};
pub use moves::Progress;
pub use passes::{SeqAt, counts};
pub use reload::{Carried, EventIs, Map, SlotIs};
pub use search::{Answer, Ended, Hit, Prior, Question, Watch};
pub use shares::{Share, ShareOf};
pub use span::{Bounds, Happened, Span, Touched};
pub use stops::{Area, SlotStop, Stop, StopKind, StopPlace, Then, touches};
pub use timeline::{Bound, Checkpoint, Timeline};

#[cfg(test)]
pub(crate) mod tests;

use super::command::{BlockLine, Command, Expect, Loc};
use super::order::Readings;
use super::program::{Program, QueueId};
use super::ring::{Event, Machine, Ret};
use super::schedule::Schedule;
use crate::diag::{Diagnostic, Severity};
use crate::limits::MAX_RUN_EVENTS;
use crate::udma::Dir;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The answer to a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What to print, line by line.
    pub lines: Vec<String>,
    /// Of a command that moves: why it went no further; empty where it came to what it asked
    /// for.
    pub halt: Option<String>,
    /// The user wants to leave.
    pub quit: bool,
    /// What is to be done outside, which the session itself cannot.
    pub effect: Option<Effect>,
    /// Commands of the stops that were hit: to be executed next, by whoever executes the
    /// session's commands.
    pub follow: Vec<BlockLine>,
}

impl Outcome {
    fn say(line: impl Into<String>) -> Outcome {
        Outcome { lines: vec![line.into()], ..Outcome::default() }
    }

    fn list(lines: Vec<String>) -> Outcome {
        Outcome { lines, ..Outcome::default() }
    }

    /// All of it as text: the reason of the halt, if there is one to name, then the lines.
    pub fn into_text(self) -> Vec<String> {
        let why = self.halt.filter(|why| !why.is_empty());
        why.into_iter().chain(self.lines).collect()
    }
}

/// A program under debugging.
#[derive(Debug, Clone)]
pub struct Session {
    timeline: Timeline,
    machine: Machine,
    before: Machine,
    selected: Option<QueueId>,
    /// The stage after which the module is shown, by its place among the snapshots.
    stage: usize,
    stops: Vec<Stop>,
    next_stop: u64,
    /// Why the newest move halted, until its answer is made.
    halt: Option<stops::Halt>,
    race_line: stops::RaceLine,
    displays: Vec<display::Shown>,
    next_display: u64,
    marks: BTreeMap<String, u64>,
    vars: BTreeMap<String, u64>,
    examine_next: u64,
    /// Findings that an `expect` named, by their index: a run always makes the same ones.
    expected: BTreeSet<usize>,
    /// Engines whose abort was expected; that their batches time out follows from it.
    expected_aborts: BTreeSet<u32>,
    history: edit::History,
    /// How the barriers are read; nothing was said about it otherwise.
    readings: Option<Readings>,
    /// The order that the explorer found last.
    found: Option<Schedule>,
    /// Races that an `expect` named, by the events of both sides.
    expected_races: BTreeSet<(u64, u64)>,
    /// Events that one command may pass.
    bound: u64,
    /// The program as it was loaded: without edits, and lowered as its options say.
    loaded: Arc<Program>,
    /// Parameters of the lowering that the user set.
    params: Option<super::lower::Options>,
    /// What has no place since the program was loaded anew.
    waiting: Vec<reload::Waiting>,
    /// What was different then.
    news: reload::News,
}

impl Session {
    /// A session at event 0. The first queue is selected.
    pub fn new(program: Arc<Program>) -> Session {
        let loaded = program.clone();
        let timeline = Timeline::new(program);
        let mut machine = timeline.start().clone();
        timeline.close(&mut machine);
        Session {
            selected: timeline.program().queues.first().map(|q| q.id),
            before: machine.clone(),
            machine,
            stage: 0,
            timeline,
            stops: Vec::new(),
            next_stop: 1,
            halt: None,
            race_line: stops::RaceLine::default(),
            displays: Vec::new(),
            next_display: 1,
            marks: BTreeMap::new(),
            vars: BTreeMap::new(),
            examine_next: 0,
            expected: BTreeSet::new(),
            expected_aborts: BTreeSet::new(),
            history: edit::History::default(),
            readings: None,
            found: None,
            expected_races: BTreeSet::new(),
            bound: MAX_RUN_EVENTS,
            loaded,
            params: None,
            waiting: Vec::new(),
            news: reload::News::default(),
        }
    }

    /// Lets one command pass at most this many events, in place of [`MAX_RUN_EVENTS`].
    #[must_use]
    pub fn bounded(self, events: u64) -> Session {
        Session { bound: events.max(1), ..self }
    }

    /// Goes on with another program from its event 0. Stops, variables, the selected queue and the
    /// shown stage stay; marks go, since they are events of the run that is no more.
    fn begin_anew(&mut self, program: Arc<Program>) {
        let new = Session::new(program);
        let selected = self.selected.filter(|id| new.program().queue(*id).is_some());
        let stops = std::mem::take(&mut self.stops);
        *self = Session {
            selected: selected.or(new.selected),
            next_stop: self.next_stop,
            displays: std::mem::take(&mut self.displays),
            next_display: self.next_display,
            vars: std::mem::take(&mut self.vars),
            stage: self.stage,
            readings: self.readings,
            found: self.found.take(),
            bound: self.bound,
            loaded: self.loaded.clone(),
            params: self.params.take(),
            waiting: std::mem::take(&mut self.waiting),
            ..new
        };
        self.adopt_stops(stops);
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        self.timeline.program()
    }

    /// The program as it was loaded, without edits and under the parameters of its options.
    pub fn loaded(&self) -> &Arc<Program> {
        &self.loaded
    }

    /// The line of events.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The state at the position.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The state at the position before the last move: what changed since is shown.
    pub fn before(&self) -> &Machine {
        &self.before
    }

    /// The event number of the position: 0 before anything happened.
    pub fn position(&self) -> u64 {
        self.machine.n
    }

    /// The last event of the run, where it is known already.
    pub fn end(&self) -> Option<u64> {
        self.timeline.end()
    }

    /// The newest event.
    pub fn last_event(&self) -> Option<Event> {
        self.machine.last
    }

    /// The event that comes next; `None` at the end.
    pub fn next_event(&self) -> Option<Event> {
        self.machine.peek(self.program())
    }

    /// The events `from..to` (numbers from 1), as far as the run has them.
    pub fn events(&mut self, from: u64, to: u64) -> Vec<Event> {
        self.timeline.events(from, to, &self.machine)
    }

    /// The state after event `n` (the end where the run is shorter).
    pub fn state_at(&mut self, n: u64) -> Machine {
        self.timeline.state_at(n, &self.machine)
    }

    /// The selected queue.
    pub fn selected(&self) -> Option<QueueId> {
        self.selected
    }

    /// Selects a queue, if the program has it.
    pub fn select(&mut self, id: QueueId) {
        if self.program().queue(id).is_some() {
            self.selected = Some(id);
        }
    }

    /// The stops, by number.
    pub fn stops(&self) -> &[Stop] {
        &self.stops
    }

    /// The number that the next stop will have.
    pub fn next_stop_number(&self) -> u64 {
        self.next_stop
    }

    /// Marks by name.
    pub fn marks(&self) -> &BTreeMap<String, u64> {
        &self.marks
    }

    /// Variables by name.
    pub fn vars(&self) -> &BTreeMap<String, u64> {
        &self.vars
    }

    /// Findings of the error severity up to the position that no `expect` named.
    pub fn unexpected(&self) -> Vec<&Diagnostic> {
        self.findings_left().filter(|d| d.severity == Severity::Error).collect()
    }

    /// Findings up to the position that no `expect` named, of every severity.
    pub fn findings_left(&self) -> impl Iterator<Item = &Diagnostic> {
        let follows = |d: &Diagnostic| {
            let engine = d.place.slot.and_then(|s| s.queue).map(|q| q.0);
            d.code == "R002" && engine.is_some_and(|e| self.expected_aborts.contains(&e))
        };
        let left = self.machine.findings.iter().enumerate();
        left.filter(move |(i, d)| !self.expected.contains(i) && !follows(d)).map(|(_, d)| d)
    }

    /// Takes the findings that answer yes as expected.
    fn expect_those(&mut self, named: impl Fn(&Diagnostic) -> bool) {
        let all = self.machine.findings.iter().enumerate();
        self.expected.extend(all.filter(|(_, d)| named(d)).map(|(i, _)| i));
    }

    /// Whether the program can be stepped.
    pub fn can_step(&self) -> bool {
        self.program().is_run()
    }

    /// Executes a command to its end.
    ///
    /// # Errors
    /// A diagnostic (S-code); the position is unchanged then.
    pub fn execute(&mut self, command: &Command) -> Result<Outcome, Diagnostic> {
        self.execute_with(command, &mut |_| ControlFlow::Continue(()))
    }

    /// Executes a command; `watch` is told of the progress of long runs and can cancel them.
    ///
    /// # Errors
    /// A diagnostic (S-code); the position is unchanged then, but for a cancelled forward run,
    /// which stays where it got to.
    pub fn execute_with(
        &mut self,
        command: &Command,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Outcome, Diagnostic> {
        // What is known must not depend on how far somebody has looked ahead.
        if self.end().is_none() && command.asks().is_some_and(|e| e.names("end")) {
            self.look_for_end(watch);
        }
        match command {
            Command::Step { .. }
            | Command::Next { .. }
            | Command::Continue { .. }
            | Command::Until { .. }
            | Command::Finish { .. }
            | Command::Doorbell { .. }
            | Command::Goto(_)
            | Command::Restart => self.travel(command, watch),
            Command::Break { loc, cond, once, after } => {
                let kind = StopKind::Break(loc.clone());
                self.add_stop(kind, cond.as_ref(), (*once, *after), watch)
            }
            Command::Watch { watch: what, cond, once, after } => {
                let kind = StopKind::Watch(what.clone());
                self.add_stop(kind, cond.as_ref(), (*once, *after), watch)
            }
            Command::Catch { what, cond, once, after } => {
                let kind = StopKind::Catch(what.clone());
                self.add_stop(kind, cond.as_ref(), (*once, *after), watch)
            }
            Command::Commands { stop, what } => self.attach(*stop, what),
            Command::Delete(numbers) => self.delete_stops(numbers),
            Command::Enable(numbers, switch) => self.enable_stops(numbers, *switch),
            Command::Display { expr, form } => self.display(expr.as_ref(), *form),
            Command::Undisplay(numbers) => self.undisplay(numbers),
            Command::Print { expr, form } => self.print(expr, *form),
            Command::Examine { format, addr } => self.examine(*format, addr.as_ref()),
            Command::Find { dir, expr } => self.find(*dir, expr, watch),
            Command::Where => Ok(Outcome::list(self.where_lines())),
            Command::Info { what, queue } => self.info(*what, queue.as_ref()),
            Command::Explain(what) => self.explain(what, watch),
            Command::LastWrite(bytes) => self.last_write(bytes, watch),
            Command::NextRead(bytes) => self.next_read(bytes, watch),
            Command::Origin(bytes) => self.origin(bytes, watch),
            Command::Why(queue) => self.why(queue.as_ref(), watch),
            Command::Provenance(subject) => self.provenance(subject, watch),
            Command::Pass(what) => self.pass(what.clone()),
            Command::Order(what) => self.order(what, watch),
            // Text that the caller makes.
            Command::List(_) if self.can_step() => Ok(Outcome::default()),
            Command::List(_) => Err(Diagnostic::new("S010", "the program has no text to list")),
            Command::Mark(name) => {
                self.marks.insert(name.clone(), self.machine.n);
                Ok(Outcome::say(format!("mark {name} is event {}", self.machine.n)))
            }
            Command::SetVar(name, expr) => {
                let value = self.value(expr)?;
                self.vars.insert(name.clone(), value);
                Ok(Outcome::say(format!("${name} = {value:#x}")))
            }
            Command::Set { what, value } => self.set(what, value),
            Command::Inject { fault, at } => self.inject(fault, at),
            Command::Undo => self.undo(watch),
            Command::Redo => self.redo(watch),
            Command::Save { file, format, over } => self.save(file, *format, *over),
            Command::Export { form, file } => {
                let effect = Effect::Export { form: *form, file: file.clone() };
                Ok(Outcome { effect: Some(effect), ..Outcome::default() })
            }
            Command::Screenshot { file, form, size, over } => {
                let (file, form, size, over) = (file.clone(), *form, *size, *over);
                let effect = Effect::Screenshot { file, form, size, over };
                Ok(Outcome { effect: Some(effect), ..Outcome::default() })
            }
            Command::Assert { expr, text } => self.assert(expr, text.as_deref()),
            Command::Expect(e) => self.expect(e),
            Command::Echo(text) => Ok(Outcome::say(text.clone())),
            Command::Reload => Ok(Outcome { effect: Some(Effect::Reload), ..Outcome::default() }),
            Command::Quit => Ok(Outcome { quit: true, ..Outcome::default() }),
            // A lesson stands around the session, not in it.
            Command::Answer(_)
            | Command::Hint
            | Command::Skip
            | Command::Again
            | Command::Proceed
            | Command::Lesson => Err(Diagnostic::new("S061", "there is no lesson here")
                .help("`dmadbg learn` lists the lessons, `dmadbg learn 1` opens the first")),
            // Text that only the caller has: the command table's help, and files.
            Command::Help(_) | Command::Source(_) => Ok(Outcome::default()),
        }
    }

    /// The value of an expression here.
    ///
    /// # Errors
    /// S005 for a name that stands for nothing, S006 for an expression without a value.
    pub fn value(&self, expr: &super::expr::Expr) -> Result<u64, Diagnostic> {
        eval(self, &self.machine, expr).map_err(EvalError::into_diagnostic)
    }

    fn expect(&mut self, e: &Expect) -> Result<Outcome, Diagnostic> {
        let not = |text: String| Err(Diagnostic::new("S008", text));
        let ok = Ok(Outcome::default());
        match e {
            Expect::Fault(name, loc) => {
                let slots = match loc {
                    Some(Loc::Slots { queue, dir, first, last }) => {
                        let id = queue_of(self, queue).map_err(EvalError::into_diagnostic)?;
                        Some((id, *dir, *first, *last))
                    }
                    _ => None,
                };
                let hit = self.machine.causes.iter().any(|&(id, dir, bit, slot)| {
                    crate::udma::cause::by_bit(dir, bit).is_some_and(|c| c.name == name)
                        && slots.is_none_or(|(q, d, first, last)| {
                            q == id && d == dir && (first..=last).contains(&slot)
                        })
                });
                if !hit {
                    return not(format!("no fault {name} up to event {}", self.machine.n));
                }
                self.expect_fault(name, slots);
                ok
            }
            Expect::Timeout(batch) => {
                let start = batch.map_or("batch ".to_owned(), |b| format!("batch {b} "));
                let named = |d: &Diagnostic| d.code == "R002" && d.message.starts_with(&start);
                if !self.machine.findings.iter().any(named) {
                    return not(format!("no timeout up to event {}", self.machine.n));
                }
                self.expect_those(named);
                ok
            }
            Expect::Ret(code) => self.expect_ret(Ret::Code(*code)),
            Expect::Bug => self.expect_ret(Ret::Bug),
            Expect::Race(between) => self.expect_race(between.as_ref()),
            Expect::Stop(loc) => match self.machine.last {
                Some(e) if touches(self, &self.machine, &e, loc) => ok,
                Some(e) => not(format!("event {} is not about {loc}", e.n)),
                None => not(format!("nothing has happened yet that could be at {loc}")),
            },
        }
    }

    /// Takes the findings about a fault as expected: the fault itself, and the missing memory
    /// that was found with it.
    fn expect_fault(&mut self, name: &str, slots: Option<(QueueId, Dir, u64, u64)>) {
        let start = format!("{name}:");
        let is = |d: &&Diagnostic| {
            let at = d.place.slot.is_some_and(|s| {
                slots.is_none_or(|(q, dir, first, last)| {
                    s.queue == Some((q.engine, q.queue))
                        && s.dir == dir
                        && (first..=last).contains(&s.index)
                })
            });
            matches!(d.code, "R001" | "R018") && d.message.starts_with(&start) && at
        };
        let hits: Vec<Diagnostic> = self.machine.findings.iter().filter(is).cloned().collect();
        let aborts = hits.iter().filter(|d| d.code == "R001");
        self.expected_aborts.extend(aborts.filter_map(|d| Some(d.place.slot?.queue?.0)));
        let events: BTreeSet<Option<u64>> = hits.iter().map(|d| d.place.event).collect();
        self.expect_those(|d| is(&d) || d.code == "R010" && events.contains(&d.place.event));
    }

    fn expect_ret(&mut self, want: Ret) -> Result<Outcome, Diagnostic> {
        match self.machine.host.last_ret {
            Some(got) if got == want => {
                let call = self.machine.host.last_call;
                self.expect_those(|d| {
                    matches!(d.code, "R002" | "R003" | "R004" | "R017")
                        && d.place.event.is_some_and(|n| n >= call)
                });
                Ok(Outcome::default())
            }
            Some(got) => {
                let text = format!("the last call returned {got}, not {want}");
                Err(Diagnostic::new("S008", text))
            }
            None => Err(Diagnostic::new("S008", "no call has returned yet")),
        }
    }
}
