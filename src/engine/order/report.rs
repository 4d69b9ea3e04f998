//! From pairs of accesses to races: their kind, their sides, what would have ordered them.

use super::lane::{Lane, Shared};
use super::race::{Act, Missing, Race, RaceKind, Side};
use super::table::{Access, NONE, Table};
use crate::diag::SlotRef;
use crate::engine::program::QueueId;
use crate::engine::ring::Agent;
use crate::udma::Dir;

/// The race of a pair that a lane found, without the readings of other lanes.
pub(super) fn race(ids: &[QueueId], lane: &Lane, pair: (u32, u32), shared: Shared) -> Race {
    let t = &lane.table;
    let (a, b) = (t.access(pair.0), t.access(pair.1));
    Race {
        kind: kind(t, a, b),
        first: side(ids, t, a),
        second: side(ids, t, b),
        lo: shared.lo,
        hi: shared.hi,
        bytes: shared.bytes,
        holds: lane.set,
        missing: missing(ids, t, a, b),
    }
}

/// The one of the two that does this, and the other.
fn find<'a>(a: &'a Access, b: &'a Access, act: Act) -> Option<(&'a Access, &'a Access)> {
    if a.act == act {
        Some((a, b))
    } else if b.act == act {
        Some((b, a))
    } else {
        None
    }
}

fn kind(t: &Table, a: &Access, b: &Access) -> RaceKind {
    if let Some((store, fetch)) = find(a, b, Act::Store)
        && fetch.act == Act::Fetch
    {
        let old = unfenced(t, store, fetch);
        return if old { RaceKind::OldSlot } else { RaceKind::SlotReuse };
    }
    if let Some((poll, other)) = find(a, b, Act::Poll)
        && of_its_batch(t, poll, other)
    {
        return RaceKind::MarkerOvertakes;
    }
    match (a.act.writes(), b.act.writes()) {
        (true, true) => RaceKind::WriteAfterWrite,
        (true, false) => RaceKind::ReadAfterWrite,
        _ => RaceKind::WriteAfterRead,
    }
}

/// Whether a write is one of the batch that a poll is about.
fn of_its_batch(t: &Table, poll: &Access, x: &Access) -> bool {
    let (Some(p), Some(w)) = (t.poll_of(poll), t.write_of(x)) else { return false };
    p.queue == x.queue && (p.batches.0..=p.batches.1).contains(&w.batch)
}

/// Whether a store was made before a doorbell that the engine's access follows: only the fence
/// between them is missing.
fn unfenced(t: &Table, store: &Access, x: &Access) -> bool {
    let bells = match x.act {
        Act::Fetch => [t.bell(x.queue, x.dir, x.k + 1), None],
        Act::Read => [t.bell(x.queue, Dir::Tx, x.k + 1), None],
        Act::Write => t.write_of(x).map_or([None; 2], |w| t.bells(x.queue, &w.own)),
        Act::Store | Act::Poll => [None; 2],
    };
    bells.into_iter().flatten().any(|b| b.cpu == store.owner && store.k <= b.stored)
}

fn missing(ids: &[QueueId], t: &Table, a: &Access, b: &Access) -> Missing {
    if let Some((poll, write)) = find(a, b, Act::Poll)
        && of_its_batch(t, poll, write)
    {
        let certain = t.poll_of(poll).into_iter().flat_map(|p| &p.follows);
        let mut markers = certain.map(|w| t.access(t.writes[*w as usize].access));
        return match markers.find(|m| m.owner == write.owner) {
            None => Missing::Marker,
            Some(m) if write.k < m.k => Missing::MarkerBarrier,
            Some(m) => slot(ids, m).map_or(Missing::Marker, Missing::OwnMarker),
        };
    }
    let cpu = |x: &Access| matches!(x.act, Act::Store | Act::Poll);
    match (cpu(a), cpu(b)) {
        (true, true) => Missing::Agents,
        (false, false) if a.owner != b.owner => Missing::QueueWait,
        (false, false) if a.act == Act::Fetch || b.act == Act::Fetch => Missing::BatchWait,
        (false, false) => Missing::Dmb,
        _ => match find(a, b, Act::Store) {
            Some((store, other)) if unfenced(t, store, other) => Missing::Fence,
            _ => Missing::BatchWait,
        },
    }
}

fn slot(ids: &[QueueId], x: &Access) -> Option<SlotRef> {
    if x.queue == NONE || x.act == Act::Poll {
        return None;
    }
    let id = ids.get(x.queue as usize)?;
    let queue = Some((id.engine, id.queue));
    Some(SlotRef { queue, dir: x.dir, index: u64::from(x.slot) })
}

fn side(ids: &[QueueId], t: &Table, x: &Access) -> Side {
    let agent = match x.act {
        Act::Store | Act::Poll => t.cpus.get(x.owner as usize).map(|c| c.agent),
        _ => ids.get(x.queue as usize).map(|id| Agent::Engine(*id)),
    };
    let batch = match x.act {
        Act::Poll => t.poll_of(x).map_or(0, |p| p.batches.1),
        _ => t.write_of(x).map_or(0, |w| w.batch),
    };
    Side {
        event: x.event,
        agent: agent.unwrap_or(Agent::Host),
        act: x.act,
        slot: slot(ids, x),
        addr: x.addr,
        len: x.len,
        batch,
    }
}
