//! Which bytes of memory an event writes and reads (`docs/causes.md`, "Accesses").

use crate::bir::exec::Control;
use crate::engine::program::Program;
use crate::engine::ring::{Agent, Event, EventKind, Machine};
use crate::udma::{DESC_BYTES, Dir};

/// A stretch of memory: first address, bytes.
pub(super) type Span = (u64, u64);

/// The part that two stretches share.
pub(super) fn shared(a: Span, b: Span) -> Option<Span> {
    let start = a.0.max(b.0);
    let end = a.0.saturating_add(a.1).min(b.0.saturating_add(b.1));
    (start < end).then(|| (start, end - start))
}

/// The parts of `a` that lie outside `b`, in order.
pub(super) fn without(a: Span, b: Span) -> impl Iterator<Item = Span> {
    let end = a.0.saturating_add(a.1);
    let parts = match shared(a, b) {
        None => [Some(a), None],
        Some((at, len)) => {
            let after = at.saturating_add(len);
            [Some((a.0, at - a.0)), Some((after, end - after))]
        }
    };
    parts.into_iter().flatten().filter(|p| p.1 > 0)
}

/// What an event writes; `m` is the state after it.
pub(super) fn writes(m: &Machine, e: &Event) -> Vec<Span> {
    let desc = DESC_BYTES as u64;
    let ring = |dir| e.queue().and_then(|id| m.queue(id)).map(|q| q.ring(dir));
    match e.kind {
        EventKind::Stage { tx, rx, .. } => [(Dir::Tx, tx), (Dir::Rx, rx)]
            .into_iter()
            .filter(|(_, taken)| taken.desc.is_some())
            .filter_map(|(dir, taken)| Some((ring(dir)?.slot_addr(taken.slot), desc)))
            .collect(),
        EventKind::CopyIn { dir, slot, count, .. } => {
            ring(dir).map(|r| (r.slot_addr(slot), count.saturating_mul(desc))).into_iter().collect()
        }
        _ => {
            e.kind.access().filter(|a| a.2).map(|(addr, len, _)| (addr, len)).into_iter().collect()
        }
    }
}

/// What an event reads; `m` is the state after it, `control` is where the module's instruction
/// streams stood before it.
pub(super) fn reads(p: &Program, control: Option<&Control>, m: &Machine, e: &Event) -> Vec<Span> {
    match e.kind {
        EventKind::Fetch { dir, slot, .. } => {
            let ring = e.queue().and_then(|id| m.queue(id)).map(|q| q.hw(dir).ring);
            ring.map(|r| (r.slot_addr(slot), DESC_BYTES as u64)).into_iter().collect()
        }
        EventKind::Inst { .. } => instruction(p, control, m, e),
        _ => {
            e.kind.access().filter(|a| !a.2).map(|(addr, len, _)| (addr, len)).into_iter().collect()
        }
    }
}

/// What an instruction of a module reads by itself as it begins: operands, index lists.
fn instruction(p: &Program, control: Option<&Control>, m: &Machine, e: &Event) -> Vec<Span> {
    let (Some(run), Some(control)) = (&p.module, control) else { return Vec::new() };
    let Agent::Seq(engine) = e.agent else { return Vec::new() };
    // Beginning an instruction writes nothing: memory after it is what it has read.
    let memory = Recorder { memory: &m.memory, seen: Default::default() };
    let mut control = control.clone();
    // It has begun in the run already, so that there is nothing to be told of it here.
    let _ = run.work(&mut control, &memory, engine);
    memory.seen.into_inner()
}

/// Memory that notes what is read of it.
struct Recorder<'a> {
    memory: &'a crate::engine::ring::memory::Memory,
    seen: std::cell::RefCell<Vec<Span>>,
}

impl crate::bir::memory::Read for Recorder<'_> {
    fn read(&self, at: u64, out: &mut [u8]) -> Option<u64> {
        self.seen.borrow_mut().push((at, out.len() as u64));
        self.memory.read(at, out).never_written
    }
}
