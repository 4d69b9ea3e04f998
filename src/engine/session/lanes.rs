//! What each agent did over a part of the run, in columns: the lanes of the timeline pane
//! (`docs/timeline.md`, "Lanes").
//!
//! A column stands for a range of events. Of a short part every event is looked at. Of a longer
//! one as much is told as the checkpoints know: counters only grow, so the states at two of them
//! say how many descriptors each ring fetched, moved and retired in between. A stretch between
//! two checkpoints that would cost too much to divide is told as a whole for all its columns, and
//! they say so ([`Looked`]).

use super::search::Prior;
use super::timeline::Checkpoint;
use super::{Happened, Session, Span};
use crate::bir::Engine;
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::queue::{Queue, ix};
use crate::engine::ring::seq::Sequencer;
use crate::engine::ring::{Agent, Event, EventKind, Leap, LeapWork, Machine};
use crate::limits::{LANES_EVENTS, LANES_STOP_ASKS, LANES_WORK, MAX_LANES};
use crate::udma::profile::MARKER;
use crate::udma::{Dir, reg};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};

/// Events of a leap of plain pairs that one pair has in the lane of each ring.
const PAIR_EVENTS_OF_RING: u64 = 3;

/// The part of the run that is shown, and in how many columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// The event before the first that is shown.
    pub from: u64,
    /// How many events are shown.
    pub len: u64,
    /// Columns; no more than events.
    pub columns: u64,
}

impl View {
    /// Events after `from`, at least one, in so many columns or in one for each event.
    pub fn new(from: u64, len: u64, columns: u64) -> View {
        let len = len.max(1);
        View { from, len, columns: columns.clamp(1, len) }
    }

    /// How many events lie before the end of so many columns.
    fn before(self, columns: u64) -> u64 {
        let n = u128::from(self.len) * u128::from(columns.min(self.columns));
        u64::try_from(n / u128::from(self.columns)).unwrap_or(u64::MAX)
    }

    /// The event before the first of a column, and its last.
    pub fn bounds(self, column: u64) -> (u64, u64) {
        let at = |k| self.from.saturating_add(self.before(k));
        (at(column), at(column.saturating_add(1)))
    }

    /// The last event that is shown.
    pub fn last(self) -> u64 {
        self.bounds(self.columns - 1).1
    }

    /// The column of an event; nothing where it is not shown.
    pub fn column_of(self, event: u64) -> Option<u64> {
        let n = event.checked_sub(self.from).filter(|n| (1..=self.len).contains(n))?;
        let ends = (u128::from(n) * u128::from(self.columns)).div_ceil(u128::from(self.len));
        u64::try_from(ends).ok()?.checked_sub(1)
    }

    /// Whether every column is one event.
    pub fn is_single(self) -> bool {
        self.columns == self.len
    }
}

/// Whose lane it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// The driver on the host.
    Host,
    /// A sequencer.
    Seq(Engine),
    /// The engine at a ring of a queue.
    Ring(QueueId, Dir),
}

bitflags::bitflags! {
    /// What an agent did in a column.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Did: u16 {
        /// A call began or ended, a store, a fence, a change of the device.
        const CALL = 1;
        /// Descriptors or a marker were written.
        const STAGE = 1 << 1;
        /// Counts were handed to the doorbell call.
        const TRIGGER = 1 << 2;
        /// A register was written, mostly a doorbell.
        const BELL = 1 << 3;
        /// It waited, or read a marker.
        const POLL = 1 << 4;
        /// Slots were freed.
        const ACK = 1 << 5;
        /// An instruction began or was done.
        const INST = 1 << 6;
        /// A semaphore was waited for or updated.
        const SEM = 1 << 7;
        /// A descriptor was fetched.
        const FETCH = 1 << 8;
        /// Bytes were read.
        const READ = 1 << 9;
        /// Bytes became visible.
        const WRITE = 1 << 10;
        /// A pair was retired.
        const RETIRE = 1 << 11;
        /// A fault's cause was found.
        const FAULT = 1 << 12;
        /// It cannot go on.
        const STALL = 1 << 13;
        /// Something that the states at both ends do not tell.
        const SOMETHING = 1 << 14;
    }
}

impl Did {
    /// What an event is.
    pub fn of(kind: &EventKind) -> Did {
        match kind {
            EventKind::Stage { .. }
            | EventKind::CopyIn { .. }
            | EventKind::Patch { .. }
            | EventKind::MarkerWrite { .. } => Did::STAGE,
            EventKind::CopyStart { .. } | EventKind::CopyStartReturn { .. } => Did::TRIGGER,
            EventKind::MmioWrite { .. } => Did::BELL,
            EventKind::WaitBudget { .. }
            | EventKind::Delay { .. }
            | EventKind::Poll { .. }
            | EventKind::PollIdle { .. } => Did::POLL,
            EventKind::Ack { .. } => Did::ACK,
            EventKind::Inst { .. } | EventKind::InstDone { .. } => Did::INST,
            EventKind::SemWait { .. } | EventKind::SemUpdate { .. } => Did::SEM,
            EventKind::Fetch { .. } => Did::FETCH,
            EventKind::Read { .. } => Did::READ,
            EventKind::Visible { .. } => Did::WRITE,
            EventKind::Retire { .. } => Did::RETIRE,
            EventKind::Fault { .. } => Did::FAULT,
            EventKind::Stall { .. } | EventKind::Blocked { .. } => Did::STALL,
            EventKind::Call { .. }
            | EventKind::CallReturn { .. }
            | EventKind::Store { .. }
            | EventKind::Land { .. }
            | EventKind::CpuFence
            | EventKind::Device(_) => Did::CALL,
        }
    }
}

bitflags::bitflags! {
    /// What is to be marked at a column.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Signs: u8 {
        /// The polled word of a queue became the marker.
        const FLIP = 1;
        /// A fault's cause was found.
        const FAULT = 1 << 1;
        /// A batch ended: it was acknowledged or given up.
        const BATCH = 1 << 2;
        /// A stop that is enabled stops there.
        const STOP = 1 << 3;
    }
}

/// How much of a column's events was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Looked {
    /// Every event was.
    #[default]
    Each,
    /// The states at its ends were: what happened is counted, in what order is not known.
    Counted,
    /// Only those at the ends of a longer stretch, which what is shown is about.
    Shared,
    /// Nothing was: what is known of the run does not tell it cheaply.
    Not,
}

/// What an agent did in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cell {
    /// What.
    pub did: Did,
    /// How many events that were, of a [`Looked::Shared`] column all of the stretch.
    pub count: u64,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Column {
    /// By lane.
    pub cells: Vec<Cell>,
    /// Events of which the cells tell.
    pub events: u64,
    /// What is to be marked.
    pub signs: Signs,
    /// Lanes of rings whose doorbell was written.
    pub rung: Vec<usize>,
    /// Lanes of rings that wrote the marker where [`Signs::FLIP`] says that it came.
    pub flipped: Vec<usize>,
    /// How much was looked at.
    pub looked: Looked,
    /// The last event of the column that was known of the run; less than its last where the run
    /// was not run so far.
    pub known: u64,
}

impl Column {
    fn new(lanes: usize) -> Column {
        Column { cells: vec![Cell::default(); lanes], ..Column::default() }
    }

    fn add(&mut self, lane: Option<usize>, did: Did, count: u64) {
        if let Some(cell) = lane.and_then(|k| self.cells.get_mut(k)) {
            cell.did |= did;
            cell.count = cell.count.saturating_add(count);
        }
    }

    fn ring(&mut self, lane: Option<usize>) {
        if let Some(k) = lane.filter(|k| !self.rung.contains(k)) {
            self.rung.push(k);
        }
    }

    fn flip(&mut self, lane: Option<usize>) {
        self.signs |= Signs::FLIP;
        if let Some(k) = lane.filter(|k| !self.flipped.contains(k)) {
            self.flipped.push(k);
        }
    }

    fn merge(&mut self, other: &Column) {
        for (a, b) in self.cells.iter_mut().zip(&other.cells) {
            a.did |= b.did;
            a.count = a.count.saturating_add(b.count);
        }
        self.events = self.events.saturating_add(other.events);
        self.signs |= other.signs;
        other.rung.iter().for_each(|k| self.ring(Some(*k)));
        other.flipped.iter().for_each(|k| self.flip(Some(*k)));
        self.looked = self.looked.max(other.looked);
    }
}

/// What was worked out of a part of the run.
#[derive(Debug, Clone)]
pub struct Lanes {
    /// Which part.
    pub view: View,
    /// Whose lanes, in order: the host, sequencers, the rings of each queue.
    pub lanes: Vec<Lane>,
    /// Queues beyond `limits::MAX_LANES` that have none.
    pub left_out: usize,
    /// The columns.
    pub columns: Vec<Column>,
    /// Whether it was asked of every event if a stop stops there.
    pub stops: bool,
    program: Weak<Program>,
    asked: Vec<(u64, bool)>,
}

/// The lanes of a program.
fn lanes_of(s: &Session) -> (Vec<Lane>, usize) {
    let m = s.machine();
    let mut out = vec![Lane::Host];
    out.extend(m.seqs.iter().map(|q| Lane::Seq(q.engine)));
    let room = MAX_LANES.saturating_sub(out.len()) / 2;
    let all = m.queues.iter().map(Queue::id);
    out.extend(all.take(room).flat_map(|id| Dir::BOTH.map(|dir| Lane::Ring(id, dir))));
    (out, m.queues.len().saturating_sub(room))
}

impl Lanes {
    /// Whether they are those of this view still: nothing became known that they lack.
    pub fn hold(&self, s: &Session, view: View) -> bool {
        self.fits(s, view) && self.first_open(s).is_none()
    }

    /// Whether they are about the same part of the same run.
    fn fits(&self, s: &Session, view: View) -> bool {
        let same = self.program.as_ptr() == Arc::as_ptr(s.program());
        same && self.view == view && self.asked == asked(s)
    }

    /// The first column of which more is known now.
    fn first_open(&self, s: &Session) -> Option<usize> {
        let known = s.known_to();
        let mut all = self.columns.iter().enumerate();
        all.find(|(k, c)| c.known < self.view.bounds(*k as u64).1.min(known)).map(|(k, _)| k)
    }
}

/// What the answers about stops depend on.
fn asked(s: &Session) -> Vec<(u64, bool)> {
    s.stops().iter().map(|s| (s.number, s.enabled)).collect()
}

impl Session {
    /// The newest event that is known of the run: it was run up to there.
    pub fn known_to(&self) -> u64 {
        self.timeline.known().max(self.machine.n)
    }

    /// What each agent did in a part of the run, as far as the run is known. `old` is what was
    /// worked out before: columns that it has stay.
    ///
    /// Costs at most [`LANES_EVENTS`] plain steps, or [`LANES_WORK`] for all columns and a look
    /// at each checkpoint among them; and going to the first column, as `goto` does.
    pub fn lanes(&self, view: View, old: Option<&Lanes>) -> Lanes {
        let old = old.filter(|o| o.fits(self, view));
        let (lanes, left_out) = lanes_of(self);
        let kept = old.map_or(0, |o| o.first_open(self).unwrap_or(o.columns.len()));
        let mut columns = Vec::with_capacity(view.columns as usize);
        columns.extend(old.into_iter().flat_map(|o| &o.columns[..kept]).cloned());
        let each = view.len <= LANES_EVENTS;
        let heeded = self.stops.iter().filter(|s| s.enabled).count() as u64;
        let stops = each && heeded.saturating_mul(view.len) <= LANES_STOP_ASKS;
        if (kept as u64) < view.columns {
            let first = view.bounds(kept as u64).0;
            let mut walk = Walk::new(self, &lanes, view, (each, stops && heeded > 0), first);
            for k in kept as u64..view.columns {
                let (after, last) = view.bounds(k);
                columns.push(walk.column(after, last));
            }
        }
        let program = Arc::downgrade(self.program());
        Lanes { view, lanes, left_out, columns, stops, program, asked: asked(self) }
    }
}

/// A stretch that is told as a whole.
struct Shared {
    end: Machine,
    tally: Column,
}

struct Walk<'a> {
    s: &'a Session,
    p: &'a Program,
    m: Machine,
    seqs: HashMap<Engine, usize>,
    rings: HashMap<(QueueId, Dir), usize>,
    lanes: usize,
    known: u64,
    /// Every event is looked at.
    each: bool,
    /// It is asked of every event if a stop stops there.
    stops: bool,
    /// Work that a column may take.
    budget: u64,
    shared: Option<Shared>,
    /// By queue the newest batch that is over, at an event.
    done: (u64, Vec<u64>),
}

impl<'a> Walk<'a> {
    fn new(
        s: &'a Session,
        lanes: &[Lane],
        view: View,
        (each, stops): (bool, bool),
        first: u64,
    ) -> Walk<'a> {
        let (mut seqs, mut rings) = (HashMap::new(), HashMap::new());
        for (k, lane) in lanes.iter().enumerate() {
            match *lane {
                Lane::Host => {}
                Lane::Seq(e) => drop(seqs.insert(e, k)),
                Lane::Ring(id, dir) => drop(rings.insert((id, dir), k)),
            }
        }
        let known = s.known_to();
        let m = s.timeline.base(first.min(known), s.machine());
        let budget = LANES_WORK / view.columns;
        let p: &Program = s.program();
        let lanes = lanes.len();
        let (shared, done) = (None, (u64::MAX, Vec::new()));
        let mut walk =
            Walk { s, p, m, seqs, rings, lanes, known, each, stops, budget, shared, done };
        walk.go_to(first.min(known));
        walk
    }

    /// To the state after event `n`, where that is not too far.
    fn go_to(&mut self, n: u64) {
        if !self.each && self.cost() > self.budget {
            return;
        }
        while self.m.n < n {
            let leapt = self.m.leap(self.p, n).is_some();
            if !leapt && self.m.step(self.p).is_none() {
                break;
            }
        }
    }

    /// What running to the next checkpoint may cost, in plain steps.
    fn cost(&self) -> u64 {
        match self.s.timeline.next_after(self.m.n) {
            Some(c) => c.work_since(),
            None => self.s.timeline.newest_work(),
        }
    }

    fn column(&mut self, after: u64, last: u64) -> Column {
        let mut col = Column::new(self.lanes);
        let last = last.min(self.known);
        col.known = last;
        if last <= after {
            return col;
        }
        while self.m.n < last {
            if let Some(shared) = self.shared.take() {
                col.merge(&shared.tally);
                col.looked = col.looked.max(Looked::Shared);
                if shared.end.n > last {
                    self.shared = Some(shared);
                    break;
                }
                self.m = shared.end;
                continue;
            }
            if self.each {
                if !self.step(&mut col) {
                    break;
                }
                continue;
            }
            let next = self.s.timeline.next_after(self.m.n);
            if let Some(c) = next.as_ref().filter(|c| c.machine.n <= last) {
                // Part of the stretch may lie before the column.
                let looked = if self.m.n < after { Looked::Shared } else { Looked::Counted };
                col.merge(&self.counted(&c.machine, &c.span, looked));
                self.m = c.machine.clone();
            } else if self.cost() <= self.budget {
                if !self.piece(&mut col, last) {
                    break;
                }
            } else if !self.share(next.as_deref()) {
                col.looked = Looked::Not;
                break;
            }
        }
        col
    }

    /// Takes the stretch up to the next known state as a whole; no where there is none.
    fn share(&mut self, next: Option<&Checkpoint>) -> bool {
        let (end, span) = match next {
            Some(c) => (&c.machine, &c.span),
            None if self.s.machine().n > self.m.n => {
                (self.s.machine(), self.s.timeline.newest_span())
            }
            None => return false,
        };
        let tally = self.counted(end, span, Looked::Shared);
        self.shared = Some(Shared { end: end.clone(), tally });
        true
    }

    /// One leap or one step, no farther than event `last`; no at the end of the run.
    fn piece(&mut self, col: &mut Column, last: u64) -> bool {
        if self.m.may_leap(self.p) {
            let before = self.m.clone();
            if let Some(leap) = self.m.leap(self.p, last) {
                self.leapt(col, &leap, self.m.n - before.n);
                let marker =
                    |m: &Machine| m.queues.get(leap.queue).is_some_and(|q| is_marker(m, q));
                if leap.words && !marker(&before) && marker(&self.m) {
                    let id = self.m.queues.get(leap.queue).map(Queue::id);
                    col.flip(id.and_then(|id| self.lane(id, Dir::Rx)));
                }
                return true;
            }
        }
        self.step(col)
    }

    fn leapt(&self, col: &mut Column, leap: &Leap, events: u64) {
        col.events += events;
        match leap.work {
            LeapWork::Staged => {
                let engine = self.m.active.and_then(|k| self.m.seqs.get(k)).map(|s| s.engine);
                let lane = engine.map_or(Some(0), |e| self.seqs.get(&e).copied());
                col.add(lane, Did::STAGE, events);
            }
            LeapWork::Pairs => {
                let Some(q) = self.m.queues.get(leap.queue) else { return };
                let pairs = events / crate::engine::ring::leap::PAIR_EVENTS;
                let count = pairs * PAIR_EVENTS_OF_RING;
                let did = Did::FETCH | Did::RETIRE;
                col.add(self.lane(q.id(), Dir::Tx), did | Did::READ, count);
                col.add(self.lane(q.id(), Dir::Rx), did | Did::WRITE, count);
            }
        }
    }

    fn lane(&self, id: QueueId, dir: Dir) -> Option<usize> {
        self.rings.get(&(id, dir)).copied()
    }

    /// One event; no at the end of the run.
    fn step(&mut self, col: &mut Column) -> bool {
        let prior = self.stops.then(|| Prior::of(&self.m, self.s.stops_ask_for_change()));
        if self.done.0 != self.m.n {
            self.done.1 = self.m.queues.iter().map(|q| q.ledger.done()).collect();
        }
        let Some(step) = self.m.step(self.p) else { return false };
        let e = step.event;
        self.event(col, &e);
        self.done.0 = self.m.n;
        let one = e.queue().and_then(|id| self.m.index_of(id));
        let meant = match one {
            Some(k) => k..k + 1,
            // The engine tells its queue; what else ends batches may end any.
            None => 0..self.m.queues.len(),
        };
        for k in meant {
            let now = self.m.queues[k].ledger.done();
            if std::mem::replace(&mut self.done.1[k], now) != now {
                col.signs |= Signs::BATCH;
            }
        }
        if let Some(prior) = prior
            && self.s.stops_hit(&prior, &self.m, &e).is_ok_and(|hit| !hit.is_empty())
        {
            col.signs |= Signs::STOP;
        }
        true
    }

    /// Counts an event in that led to the state.
    fn event(&self, col: &mut Column, e: &Event) {
        col.events += 1;
        let did = Did::of(&e.kind);
        match e.agent {
            Agent::Host => col.add(Some(0), did, 1),
            Agent::Seq(engine) => col.add(self.seqs.get(&engine).copied(), did, 1),
            Agent::Engine(id) => {
                let (tx, rx) = match e.kind {
                    EventKind::Visible { .. } => (false, true),
                    EventKind::Retire { tx, rx, .. } => (tx.is_some(), rx.is_some()),
                    EventKind::Fetch { dir, .. }
                    | EventKind::Fault { dir, .. }
                    | EventKind::Stall { dir, .. } => (dir == Dir::Tx, dir == Dir::Rx),
                    _ => (true, false),
                };
                for dir in [(tx, Dir::Tx), (rx, Dir::Rx)].into_iter().filter(|d| d.0) {
                    col.add(self.lane(id, dir.1), did, 1);
                }
            }
        }
        match e.kind {
            EventKind::Fault { .. } => col.signs |= Signs::FAULT,
            EventKind::MmioWrite { engine, offset, lost: false, .. } => {
                if let Some(r) = reg::name_at(offset).filter(|r| r.name == "drtp_inc")
                    && let Some((dir, queue)) = r.queue
                {
                    col.ring(self.lane(QueueId { engine, queue }, dir));
                }
            }
            EventKind::Visible { addr, len, .. } => {
                let word = e.queue().and_then(|id| self.m.queue(id)).map(|q| q.marker);
                if let Some(word) = word.map(|w| w.wrapping_add(4))
                    && addr < word.saturating_add(4)
                    && word < addr.saturating_add(len)
                    && self.m.memory.read_u32(word) == MARKER
                {
                    col.flip(e.queue().and_then(|id| self.lane(id, Dir::Rx)));
                }
            }
            _ => {}
        }
    }

    /// What happened from the state to `end`, by what both say and what is known in between.
    fn counted(&self, end: &Machine, span: &Span, looked: Looked) -> Column {
        let mut col = Column::new(self.lanes);
        let happened = |what| span.happened.intersects(what);
        let start = &self.m;
        col.looked = looked;
        col.events = end.n - start.n;
        let mut left = col.events;
        for (a, b) in start.queues.iter().zip(&end.queues) {
            left = left.saturating_sub(self.rings_counted(&mut col, a, b));
            if a.ledger.done() != b.ledger.done() {
                col.signs |= Signs::BATCH;
            }
            // What ended a batch was its marker, as far as one came at all.
            let over = a.ledger.done() != b.ledger.done();
            if happened(Happened::WORD) && (over || is_marker(end, b) && !is_marker(start, a)) {
                col.flip(self.lane(b.id(), Dir::Rx));
            }
        }
        if happened(Happened::FAULT) || start.faults() != end.faults() {
            col.signs |= Signs::FAULT;
        }
        let acts: Vec<usize> = start
            .seqs
            .iter()
            .zip(&end.seqs)
            .filter(|(a, b)| happened(Happened::SEQ) && mark_of(a) != mark_of(b))
            .filter_map(|(a, _)| self.seqs.get(&a.engine).copied())
            .collect();
        let host = happened(Happened::HOST);
        let sharing = (acts.len() + usize::from(host)) as u64;
        let each = left.checked_div(sharing).unwrap_or(0).max(1);
        for k in acts {
            col.add(Some(k), Did::SOMETHING, each);
        }
        if host {
            let mut did = Did::SOMETHING;
            // Without sequencers these are the host's doing.
            if start.seqs.is_empty() {
                did.set(Did::BELL, happened(Happened::BELL));
                did.set(Did::ACK, happened(Happened::ACK));
            }
            col.add(Some(0), did, each);
        }
        col
    }

    /// Counts what the engine did at both rings of a queue; how many events that were.
    fn rings_counted(&self, col: &mut Column, a: &Queue, b: &Queue) -> u64 {
        let mut events = 0;
        let mut pairs = 0;
        for dir in Dir::BOTH {
            let (x, y) = (a.tally[ix(dir)], b.tally[ix(dir)]);
            let [fetched, moved, retired] =
                [y.fetched - x.fetched, y.moved - x.moved, y.retired - x.retired];
            let (stalls, faults) = (y.stalls - x.stalls, y.faults - x.faults);
            let lane = self.lane(a.id(), dir);
            let mut did = Did::empty();
            did.set(Did::FETCH, fetched > 0);
            did.set(if dir == Dir::Tx { Did::READ } else { Did::WRITE }, moved > 0);
            did.set(Did::RETIRE, retired > 0);
            did.set(Did::STALL, stalls > 0);
            did.set(Did::FAULT, faults > 0);
            let own = fetched + moved + stalls + faults;
            if !did.is_empty() {
                col.add(lane, did, own + retired);
            }
            events += own;
            pairs = retired.max(pairs);
            if a.hw(dir).posted != b.hw(dir).posted {
                col.ring(lane);
            }
        }
        // A pair is retired by one event.
        events + pairs
    }
}

/// Whether the word that a queue's newest batch polls is the marker.
fn is_marker(m: &Machine, q: &Queue) -> bool {
    m.memory.read_u32(q.marker.wrapping_add(4)) == MARKER
}

/// A number that another state of a sequencer hardly has.
fn mark_of(s: &Sequencer) -> u64 {
    let mut hasher = DefaultHasher::new();
    s.host.hash(&mut hasher);
    s.failed.hash(&mut hasher);
    s.work.as_ref().map(Arc::as_ptr).hash(&mut hasher);
    hasher.finish()
}
