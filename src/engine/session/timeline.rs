//! The run as a line of events: checkpoints, and going anywhere on it (`docs/timeline.md`).
//!
//! A checkpoint is a copy of the state, which shares memory, findings and the lists of a queue
//! with others. Checkpoints lie as far apart as a bounded amount of work reaches, a plain step
//! or a leap counting by what it costs; when there are too many, or they hold too much, every
//! second one goes and the distance doubles. Going to an event costs at most that work,
//! whichever way. Each checkpoint says what happened since the one before ([`Span`]), so that a
//! search skips whole stretches.

use super::span::{Happened, Span};
use crate::engine::program::Program;
use crate::engine::ring::queue::Queue;
use crate::engine::ring::seq::Sequencer;
use crate::engine::ring::{Event, Leap, Machine, Step};
use crate::limits::{CHECKPOINT_WORK, MAX_CHECKPOINT_BYTES, MAX_CHECKPOINTS};
use imbl::OrdMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Bytes of the short lists of a queue or a sequencer that was at work.
const LISTS_BYTES: u64 = 8 << 10;

/// A state on the line, and what lies between it and the one before.
#[derive(Debug)]
pub struct Checkpoint {
    /// The state.
    pub machine: Machine,
    /// The events since the checkpoint before, or since the start.
    pub span: Span,
    /// Work from the start of the run, in plain steps.
    work: u64,
    /// Work since the checkpoint before.
    since: u64,
}

impl Checkpoint {
    /// Work since the checkpoint before, in plain steps.
    pub fn work_since(&self) -> u64 {
        self.since
    }

    /// Bytes that it and the one before hold but for what they share: an estimate from above.
    /// What memory became larger by is not among them: the newest state holds that anyway.
    fn bytes(&self, before: &Machine) -> u64 {
        let m = &self.machine;
        let own = size_of::<Checkpoint>()
            + size_of::<Queue>() * m.queues.len()
            + size_of::<Sequencer>() * m.seqs.len();
        let at_work = ((m.queues.len() + m.seqs.len()) as u64 + 1).min(self.since);
        let memory = before.memory.replaced_by(&m.memory, self.span.writes.list());
        own as u64 + self.span.bytes() + memory + at_work * LISTS_BYTES
    }
}

/// The newest event that the line knows, and what lies between it and the newest checkpoint.
#[derive(Debug, Clone, Default)]
struct Front {
    n: u64,
    work: u64,
    since: u64,
    span: Span,
}

/// What the checkpoints of a timeline are held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// How many there may be.
    pub checkpoints: usize,
    /// Bytes that they may hold together.
    pub bytes: u64,
    /// Work between two of them at first, in plain steps.
    pub distance: u64,
}

/// The run of one program.
#[derive(Debug, Clone)]
pub struct Timeline {
    program: Arc<Program>,
    start: Machine,
    checkpoints: OrdMap<u64, Arc<Checkpoint>>,
    /// Bytes that they hold beyond the newest state.
    bytes: u64,
    bound: Bound,
    /// Work between two of them.
    distance: u64,
    front: Front,
    end: Option<u64>,
}

impl Timeline {
    /// The line of a program, nothing of it run yet.
    pub fn new(program: Arc<Program>) -> Timeline {
        let bound = Bound {
            checkpoints: MAX_CHECKPOINTS,
            bytes: MAX_CHECKPOINT_BYTES,
            distance: CHECKPOINT_WORK,
        };
        Timeline::bounded(program, bound)
    }

    /// The same with bounds of one's own.
    pub fn bounded(program: Arc<Program>, bound: Bound) -> Timeline {
        let start = Machine::new(&program);
        Timeline {
            program,
            start,
            checkpoints: OrdMap::new(),
            bytes: 0,
            bound,
            distance: bound.distance.max(1),
            front: Front::default(),
            end: None,
        }
    }

    /// The line of the same program with other edits, which are the same before event `from`:
    /// what is known of the line stays as far as it is true.
    pub fn with_edits(&self, program: Arc<Program>, from: u64) -> Timeline {
        let mut line = Timeline::bounded(program, self.bound);
        line.distance = self.distance;
        if from > 0 {
            line.start = self.start.clone();
        }
        for (_, c) in self.checkpoints.range(..from) {
            line.keep(c.clone());
        }
        if let Some((n, c)) = line.checkpoints.get_max() {
            line.front = Front { n: *n, work: c.work, ..Front::default() };
            if line.is_odd(&c.machine) {
                line.front.span.edited();
            }
        }
        line
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The state at event 0.
    pub fn start(&self) -> &Machine {
        &self.start
    }

    /// The number of the last event, once a run came there.
    pub fn end(&self) -> Option<u64> {
        self.end
    }

    /// The newest event that the line was run to.
    pub fn known(&self) -> u64 {
        self.front.n
    }

    /// Work since the newest checkpoint, in plain steps.
    pub fn newest_work(&self) -> u64 {
        self.front.since
    }

    /// What its checkpoints are held to.
    pub fn bound(&self) -> Bound {
        self.bound
    }

    /// Bytes that the checkpoints hold and that the newest state does not, by estimate.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many checkpoints there are.
    pub fn checkpoints(&self) -> usize {
        self.checkpoints.len()
    }

    /// Makes the next event of `m` happen and keeps a checkpoint where one is due.
    pub fn step(&mut self, m: &mut Machine) -> Option<Step> {
        let from = m.n;
        let step = m.step(&self.program);
        match &step {
            None => {
                // Looking for an event that does not come may leave traces (an idle engine is
                // found idle); the state after the last event is without them.
                self.end = Some(m.n);
                if m.closed.is_none() {
                    *m = self.replay(m.n);
                    m.close(&self.program);
                }
            }
            Some(step) if from == self.front.n => {
                self.front.span.event(m, &step.event);
                if self.is_edited(m.n) {
                    self.front.span.edited();
                }
                self.reached(m, 1);
            }
            Some(_) => {}
        }
        step
    }

    /// A leap of `m` that ends at event `limit` or before. Whoever makes it tells of it by
    /// [`Timeline::leapt`], or takes it back.
    pub fn leap(&self, m: &mut Machine, limit: u64) -> Option<Leap> {
        m.leap(&self.program, limit.min(self.next_break(m.n)))
    }

    /// The event from `n` on that a leap may not pass: the newest known, since what lies beyond is
    /// to be counted from there. (That it passes no edit is the machine's to see to.)
    fn next_break(&self, n: u64) -> u64 {
        if n < self.front.n { self.front.n } else { u64::MAX }
    }

    /// Counts a leap in that led from event `from` to the state `m`.
    pub fn leapt(&mut self, from: u64, leap: &Leap, m: &Machine) {
        if from == self.front.n {
            self.front.span.leap(leap);
            self.reached(m, leap.cost);
        }
    }

    /// The front is now at `m`.
    fn reached(&mut self, m: &Machine, cost: u64) {
        self.front.n = m.n;
        self.front.work += cost;
        self.front.since += cost;
        if self.front.since < self.distance {
            return;
        }
        let mut span = std::mem::take(&mut self.front.span);
        if self.is_odd(m) {
            self.front.span.edited();
        }
        span.shrink();
        let (work, since) = (self.front.work, std::mem::take(&mut self.front.since));
        let machine = m.clone();
        self.keep(Arc::new(Checkpoint { machine, span, work, since }));
        while self.checkpoints.len() > self.bound.checkpoints || self.bytes > self.bound.bytes {
            if self.checkpoints.is_empty() {
                break;
            }
            self.thin_out();
        }
    }

    /// Whether the program is edited after event `n`.
    fn is_edited(&self, n: u64) -> bool {
        !self.program.edits_at(n).is_empty()
    }

    /// Whether what changed at the newest event of `m` may show only after the next one: a queue
    /// was set anew, or the program is edited here.
    fn is_odd(&self, m: &Machine) -> bool {
        self.is_edited(m.n) || m.last.is_some_and(|e| odd(m, &e))
    }

    fn keep(&mut self, c: Arc<Checkpoint>) {
        let before = self.checkpoints.get_max().map_or(&self.start, |(_, c)| &c.machine);
        self.bytes += c.bytes(before);
        self.checkpoints.insert(c.machine.n, c);
    }

    /// Doubles the distance and lets checkpoints go that are nearer than that.
    fn thin_out(&mut self) {
        self.distance = self.distance.saturating_mul(2);
        let all = std::mem::take(&mut self.checkpoints);
        self.bytes = 0;
        let (mut span, mut since) = (Span::default(), 0);
        for c in all.values() {
            span.append(&c.span);
            since += c.since;
            if since >= self.distance {
                let span = std::mem::take(&mut span);
                let (machine, work) = (c.machine.clone(), c.work);
                self.keep(Arc::new(Checkpoint { machine, span, work, since }));
                since = 0;
            }
        }
        // What is left belongs to the stretch that is being run.
        span.append(&self.front.span);
        self.front.span = span;
        self.front.since += since;
    }

    /// The state after event `n`, which exists, from the nearest checkpoint before it.
    fn replay(&self, n: u64) -> Machine {
        let mut m = self.base(n, &self.start);
        while m.n < n {
            if m.leap(&self.program, n).is_none() && m.step(&self.program).is_none() {
                break;
            }
        }
        m
    }

    /// The newest known state not after event `n`, `near` included.
    pub fn base(&self, n: u64, near: &Machine) -> Machine {
        let kept = self.checkpoints.get_prev(&n);
        let kept = kept.map_or(&self.start, |(_, c)| &c.machine);
        if near.n <= n && near.n > kept.n { near.clone() } else { kept.clone() }
    }

    /// Runs `m` to event `n`, or to the end where the run is shorter. `each` is told of the work
    /// done, at every piece of it, and may stop it.
    pub fn run_to(
        &mut self,
        m: &mut Machine,
        n: u64,
        each: &mut dyn FnMut(&Machine, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while m.n < n {
            let from = m.n;
            let cost = match self.leap(m, n) {
                Some(leap) => {
                    self.leapt(from, &leap, m);
                    leap.cost
                }
                None if self.step(m).is_some() => 1,
                None => break,
            };
            each(m, cost)?;
        }
        ControlFlow::Continue(())
    }

    /// The state after event `n`, or at the end where the run is shorter.
    pub fn state_at(&mut self, n: u64, near: &Machine) -> Machine {
        let mut m = self.base(n, near);
        // Never stopped.
        let _ = self.run_to(&mut m, n, &mut |_, _| ControlFlow::Continue(()));
        self.close(&mut m);
        m
    }

    /// Where a state is that of the last event, what is found there and then is told in it.
    pub fn close(&self, m: &mut Machine) {
        if self.end.is_none_or(|end| end == m.n) {
            m.close(&self.program);
        }
    }

    /// The events `from..to`, as far as the run has them.
    pub fn events(&mut self, from: u64, to: u64, near: &Machine) -> Vec<Event> {
        let from = from.max(1);
        let mut m = self.state_at(from - 1, near);
        let mut out = Vec::new();
        while m.n + 1 < to {
            let Some(step) = self.step(&mut m) else { break };
            out.push(step.event);
        }
        out
    }

    /// The starts of the stretches that lie before event `n`, newest first: from each the next
    /// one can be reached by running.
    pub fn stretches_before(&self, n: u64) -> Vec<u64> {
        let mut out: Vec<u64> = self.checkpoints.range(..n).rev().map(|(n, _)| *n).collect();
        out.push(0);
        out
    }

    /// The first checkpoint after event `n`: its span tells of the events up to it, and of some
    /// before `n`.
    pub fn next_after(&self, n: u64) -> Option<Arc<Checkpoint>> {
        self.checkpoints.get_next(&n.checked_add(1)?).map(|(_, c)| c.clone())
    }

    /// What is known of the events after the newest checkpoint.
    pub fn newest_span(&self) -> &Span {
        &self.front.span
    }

    /// The newest checkpoint not after event `n`.
    pub fn newest_until(&self, n: u64) -> Option<Arc<Checkpoint>> {
        self.checkpoints.get_prev(&n).map(|(_, c)| c.clone())
    }
}

/// Whether what an event set anew may show only after the next one.
fn odd(m: &Machine, e: &Event) -> bool {
    let mut one = Span::default();
    one.event(m, e);
    one.happened.contains(Happened::ODD)
}
