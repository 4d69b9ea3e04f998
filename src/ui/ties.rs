//! What each event of a run touches: slots, bytes, and the instruction or operation to which it
//! belongs. Worked out for the events around the position, and only once something is selected
//! that asks for it (`docs/screen.md`, "What belongs together").

use super::model::Model;
use crate::bir::{Engine, Pos};
use crate::engine::module_run::Origin;
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::{Agent, Event, EventKind};
use crate::limits::MAX_TIED_EVENTS;
use crate::udma::Dir;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// Slots in a row that an event is about: ring, first, how many.
pub type Slots = (Dir, u64, u64);

/// The slots that an event is about.
pub fn slots_of(e: &Event) -> Vec<Slots> {
    match e.kind {
        EventKind::Stage { tx, rx, .. } => vec![(Dir::Tx, tx.slot, 1), (Dir::Rx, rx.slot, 1)],
        EventKind::CopyIn { dir, slot, count, .. } => vec![(dir, slot, count)],
        EventKind::Patch { dir, slot, .. }
        | EventKind::Fetch { dir, slot, .. }
        | EventKind::Fault { dir, slot, .. }
        | EventKind::Stall { dir, slot, .. } => vec![(dir, slot, 1)],
        EventKind::Read { slot, .. } => vec![(Dir::Tx, slot, 1)],
        EventKind::Visible { slot, .. } => vec![(Dir::Rx, slot, 1)],
        EventKind::Retire { tx, rx, .. } => {
            let one = |dir| move |slot| (dir, slot, 1);
            tx.map(one(Dir::Tx)).into_iter().chain(rx.map(one(Dir::Rx))).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether slots in a ring of a size that goes round hold one.
pub fn has_slot((dir, first, count): Slots, size: u64, at: (Dir, u64)) -> bool {
    let size = size.max(1);
    dir == at.0 && (at.1 % size + size - first % size) % size < count
}

/// What an event touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tie {
    /// The event.
    pub event: Event,
    /// Bytes: address, how many, whether they are written.
    pub access: Option<(u64, u64, bool)>,
    /// The instruction of the loaded module to which it belongs.
    pub inst: Option<Pos>,
    /// Of what the descriptor is made that it is about.
    pub origin: Option<Origin>,
    /// The operation of the host script that put the descriptor there, or that was at work.
    pub op: Option<usize>,
}

/// The ties of the events around a position.
#[derive(Debug, Clone, Default)]
pub struct Ties {
    /// Events that were looked at: from, and to but not with.
    pub range: (u64, u64),
    /// One for each, in order.
    pub all: Vec<Tie>,
    /// They reach the end of the run.
    pub complete: bool,
    of: Weak<Program>,
}

impl Ties {
    /// That of an event.
    pub fn of_event(&self, n: u64) -> Option<&Tie> {
        let at = n.checked_sub(self.range.0)?;
        self.all.get(usize::try_from(at).ok()?).filter(|t| t.event.n == n)
    }

    /// Those whose events read or write a byte.
    pub fn of_byte(&self, addr: u64) -> impl Iterator<Item = &Tie> {
        self.all.iter().filter(move |t| touches(t.access, addr))
    }
}

/// Whether an access reaches a byte.
pub fn touches(access: Option<(u64, u64, bool)>, addr: u64) -> bool {
    access.is_some_and(|(at, len, _)| addr.checked_sub(at).is_some_and(|n| n < len))
}

impl Model {
    /// The ties of the events around the position, worked out anew where they are of another
    /// run or of events far from here.
    pub(super) fn prepare_ties(&mut self) {
        let p = self.session.program().clone();
        let here = self.session.position();
        let (from, to) = self.derived.ties.range;
        let near = MAX_TIED_EVENTS / 8;
        let in_sight = (from <= 1 || here >= from.saturating_add(near))
            && (self.derived.ties.complete || here.saturating_add(near) < to);
        if self.derived.ties.of.as_ptr() == Arc::as_ptr(&p) && in_sight && to > 0 {
            return;
        }
        // A short run is looked at as a whole.
        let from = match self.session.end().is_some_and(|e| e <= MAX_TIED_EVENTS) {
            true => 0,
            false => here.saturating_sub(MAX_TIED_EVENTS / 2),
        };
        let mut m = self.session.state_at(from);
        let mut out = Ties { of: Arc::downgrade(&p), ..Ties::default() };
        out.range = (from + 1, from + 1);
        let mut at: BTreeMap<Engine, Pos> = BTreeMap::new();
        for _ in 0..MAX_TIED_EVENTS {
            let Some(step) = m.step(&p) else {
                out.complete = true;
                break;
            };
            let e = step.event;
            let owner = |id: QueueId| m.queue(id).and_then(|q| q.owner);
            let origin = e.queue().and_then(|id| {
                let (dir, slot, _) = *slots_of(&e).first()?;
                m.queue(id)?.origin(dir, slot)
            });
            let engine = match e.agent {
                Agent::Seq(engine) => Some(engine),
                Agent::Engine(id) => owner(id),
                Agent::Host => None,
            };
            let inst = match e.kind {
                EventKind::Inst { pos, .. } => {
                    engine.map(|e| at.insert(e, pos));
                    Some(pos)
                }
                EventKind::InstDone { pos, .. } => {
                    engine.map(|e| at.remove(&e));
                    Some(pos)
                }
                EventKind::Blocked { pos } => Some(pos),
                _ => origin.map(|o| o.inst).or_else(|| at.get(&engine?).copied()),
            };
            let uses = &self.assembly.uses;
            let staged = e.queue().zip(slots_of(&e).first().copied());
            let staged = staged.and_then(|(id, (dir, slot, _))| uses.of_slot((id, dir, slot), e.n));
            let op = staged.filter(|s| s.1).map(|s| s.0.op).or_else(|| uses.of_event(e.n));
            let inst = inst.filter(|p| *p != Pos::ADDED);
            out.all.push(Tie { event: e, access: e.kind.access(), inst, origin, op });
            out.range.1 = e.n + 1;
        }
        self.derived.ties = Arc::new(out);
    }
}
