//! What is known of a stretch of events without running it again: what kinds of things happened,
//! where, and between which values. Whoever searches skips a stretch that cannot matter
//! (`docs/timeline.md`, "Footprints"). All of it errs on the side of more.

use crate::engine::program::QueueId;
use crate::engine::ring::leap::Stretch;
use crate::engine::ring::queue::ix;
use crate::engine::ring::{Agent, Event, EventKind, Leap, LeapWork, Machine, Ret};
use crate::udma::{DESC_BYTES, Dir, reg};

bitflags::bitflags! {
    /// Kinds of things that happen.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Happened: u32 {
        /// The host did something.
        const HOST = 1;
        /// A sequencer did something.
        const SEQ = 1 << 1;
        /// An engine did something.
        const ENGINE = 1 << 2;
        /// A pair retired.
        const RETIRE = 1 << 3;
        /// Four bytes became visible, as a marker does.
        const WORD = 1 << 4;
        /// A fault.
        const FAULT = 1 << 5;
        /// A doorbell was written.
        const BELL = 1 << 6;
        /// Completions were acknowledged.
        const ACK = 1 << 7;
        /// A marker was seeded or a wait for one began.
        const MARKER = 1 << 8;
        /// An event about a slot that cursors do not tell of.
        const ODD_SLOT = 1 << 9;
        /// Cursors may have been set anew, or something changed that nothing else tells of.
        const ODD = 1 << 10;
        /// A call returned.
        const RETURN = 1 << 11;
    }
}

/// Stretches of addresses that a span tells apart.
const STRETCHES: usize = 12;
/// Queues whose free slots a span tells apart.
const QUEUES: usize = 4;

/// A bounded set of addresses: where there would be too many stretches, the nearest become one.
#[derive(Debug, Clone, Default)]
pub struct Touched(Vec<Stretch>);

impl Touched {
    /// Adds the bytes from `at.0` to before `at.1`.
    pub fn add(&mut self, at: Stretch) {
        if at.0 == at.1 {
            return;
        }
        if self.0.iter().any(|s| s.0 <= at.0 && at.1 <= s.1) {
            return;
        }
        let mut at = at;
        self.0.retain(|s| {
            let meets = s.0 <= at.1 && at.0 <= s.1;
            if meets {
                at = (s.0.min(at.0), s.1.max(at.1));
            }
            !meets
        });
        let place = self.0.partition_point(|s| s.0 < at.0);
        self.0.insert(place, at);
        if self.0.len() > STRETCHES {
            let gap = |k: &usize| self.0[k + 1].0 - self.0[*k].1;
            if let Some(k) = (0..self.0.len() - 1).min_by_key(gap) {
                self.0[k].1 = self.0[k + 1].1;
                self.0.remove(k + 1);
            }
        }
    }

    /// The stretches, in order of address.
    pub fn list(&self) -> &[Stretch] {
        &self.0
    }

    /// Whether a byte of `at.0` to before `at.1` may be among them.
    pub fn meets(&self, at: Stretch) -> bool {
        self.0.iter().any(|s| s.0 < at.1 && at.0 < s.1)
    }
}

/// A least and a greatest value.
pub type Bounds = (u64, u64);

fn widen(a: &mut Option<Bounds>, b: Bounds) {
    *a = Some(a.map_or(b, |a| (a.0.min(b.0), a.1.max(b.1))));
}

/// What is known of a stretch of events.
#[derive(Debug, Clone, Default)]
pub struct Span {
    /// What happened.
    pub happened: Happened,
    /// The batches of its events.
    pub batches: Option<Bounds>,
    /// Bytes that were read.
    pub reads: Touched,
    /// Bytes that were written.
    pub writes: Touched,
    /// What calls returned.
    pub rets: Option<Bounds>,
    /// Free slots in between, by queue, Tx then Rx.
    free: Vec<(QueueId, [Bounds; 2])>,
    /// There were more queues than are told apart.
    more_queues: bool,
    /// One leap: every value goes one way from its start to its end.
    pub one_leap: bool,
}

impl Span {
    /// Of one leap.
    pub fn of_leap(leap: &Leap) -> Span {
        let mut span = Span { one_leap: true, ..Span::default() };
        span.leap(leap);
        span
    }

    /// Bounds of a queue's free slots in between; nothing where they are not known, and the
    /// whole range of nothing where none changed.
    pub fn free(&self, id: QueueId, dir: Dir) -> Option<Option<Bounds>> {
        match self.free.iter().find(|f| f.0 == id) {
            Some(f) => Some(Some(f.1[ix(dir)])),
            None => (!self.more_queues).then_some(None),
        }
    }

    fn frees(&mut self, id: QueueId, dir: Dir, bounds: Bounds) {
        match self.free.iter().position(|f| f.0 == id) {
            Some(k) => {
                let known = &mut self.free[k].1[ix(dir)];
                *known = (known.0.min(bounds.0), known.1.max(bounds.1));
            }
            None if self.free.len() < QUEUES => {
                let mut known = [(u64::MAX, 0); 2];
                known[ix(dir)] = bounds;
                self.free.push((id, known));
            }
            None => self.more_queues = true,
        }
    }

    /// Counts a leap in. Free slots of the ends of a leap are those of its states.
    pub fn leap(&mut self, leap: &Leap) {
        self.happened |= match leap.work {
            LeapWork::Pairs => Happened::ENGINE | Happened::RETIRE,
            LeapWork::Staged => Happened::HOST,
        };
        if leap.words {
            self.happened |= Happened::WORD;
        }
        widen(&mut self.batches, leap.batches);
        for at in leap.reads {
            self.reads.add(at);
        }
        for at in leap.writes {
            self.writes.add(at);
        }
        if let Some((id, free)) = leap.free {
            self.frees(id, Dir::Tx, free);
            self.frees(id, Dir::Rx, free);
        }
    }

    /// Counts an event in that led to state `m`.
    pub fn event(&mut self, m: &Machine, e: &Event) {
        // A queue that was set anew shows it at the event after its last register write.
        if self.happened.contains(Happened::ODD) {
            return;
        }
        widen(&mut self.batches, (e.batch, e.batch));
        self.happened |= match e.agent {
            Agent::Host => Happened::HOST,
            Agent::Seq(_) => Happened::SEQ,
            Agent::Engine(_) => Happened::ENGINE,
        };
        if let Some((addr, len, written)) = e.kind.access() {
            let at = (addr, addr.saturating_add(len));
            if written { &mut self.writes } else { &mut self.reads }.add(at);
        }
        let bytes = DESC_BYTES as u64;
        match e.kind {
            EventKind::Retire { .. } => self.happened |= Happened::RETIRE,
            EventKind::Visible { len: 4, .. } => self.happened |= Happened::WORD,
            EventKind::Fault { .. } => self.happened |= Happened::FAULT | Happened::ODD_SLOT,
            EventKind::Stall { .. } | EventKind::Patch { .. } => {
                self.happened |= Happened::ODD_SLOT;
            }
            EventKind::CallReturn { ret, .. } => {
                self.happened |= Happened::RETURN;
                if let Ret::Code(code) = ret {
                    widen(&mut self.rets, (code as u64, code as u64));
                }
            }
            EventKind::MarkerWrite { .. } | EventKind::WaitBudget { .. } => {
                self.happened |= Happened::MARKER;
            }
            EventKind::Stage { queue, tx, rx, .. } => {
                for (dir, taken) in [(Dir::Tx, tx), (Dir::Rx, rx)] {
                    let (a, b) = (u64::from(taken.avail_before), u64::from(taken.avail_after));
                    self.frees(queue, dir, (a.min(b), a.max(b)));
                    if let Some(q) = m.queue(queue) {
                        let at = q.ring(dir).slot_addr(taken.slot);
                        self.writes.add((at, at.saturating_add(bytes)));
                    }
                }
            }
            EventKind::CopyIn { queue, dir, slot, count } => {
                self.happened |= Happened::ODD_SLOT;
                if let Some(q) = m.queue(queue) {
                    let at = q.ring(dir).slot_addr(slot);
                    self.writes.add((at, at.saturating_add(count.saturating_mul(bytes))));
                }
            }
            EventKind::Fetch { dir, slot, .. } => {
                if let Some(q) = e.queue().and_then(|id| m.queue(id)) {
                    let at = q.hw(dir).ring.slot_addr(slot);
                    self.reads.add((at, at.saturating_add(bytes)));
                }
            }
            EventKind::Ack { queue, dir, available, .. } => {
                self.happened |= Happened::ACK;
                let free = u64::from(available);
                self.frees(queue, dir, (free, free));
            }
            EventKind::MmioWrite { offset, .. } => {
                self.happened |= match reg::name_at(offset) {
                    Some(r) if r.name == "drtp_inc" => Happened::BELL,
                    _ => Happened::ODD,
                };
            }
            _ => {}
        }
    }

    /// Something from outside changed the state after the newest event.
    pub fn edited(&mut self) {
        self.happened |= Happened::ODD;
    }

    /// Counts another in that follows this one.
    pub fn append(&mut self, next: &Span) {
        self.happened |= next.happened;
        if let Some(b) = next.batches {
            widen(&mut self.batches, b);
        }
        if let Some(b) = next.rets {
            widen(&mut self.rets, b);
        }
        for at in &next.reads.0 {
            self.reads.add(*at);
        }
        for at in &next.writes.0 {
            self.writes.add(*at);
        }
        for (id, [tx, rx]) in &next.free {
            self.frees(*id, Dir::Tx, *tx);
            self.frees(*id, Dir::Rx, *rx);
        }
        self.more_queues |= next.more_queues;
    }

    /// Lets go of room that is not used.
    pub fn shrink(&mut self) {
        self.reads.0.shrink_to_fit();
        self.writes.0.shrink_to_fit();
        self.free.shrink_to_fit();
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        let lists = (self.reads.0.capacity() + self.writes.0.capacity()) * size_of::<Stretch>()
            + self.free.capacity() * size_of::<(QueueId, [Bounds; 2])>();
        (size_of::<Span>() + lists) as u64
    }
}
