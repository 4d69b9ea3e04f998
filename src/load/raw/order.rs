//! In which order the slots of a copied-out ring were used (MODEL; `docs/formats.md`, "The
//! order of a copied-out ring").

use super::RingView;
use crate::udma::Dir;
use crate::udma::ring::next_ring_id;

/// Where a ring's used slots begin and how many follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// First slot.
    pub start: u64,
    /// Used slots from there on, around the end of the ring.
    pub count: u64,
    /// Phase of the first slot.
    pub phase: u8,
    /// Two laps are in the image: the newest ends just before `start`.
    pub wrapped: bool,
    /// A used slot that lies behind an empty one and is therefore not among the `count`.
    pub beyond: Option<u64>,
}

impl Order {
    /// The order without its oldest slots.
    #[must_use]
    pub fn without_oldest(self, slots: u64, n: u64) -> Order {
        let n = n.min(self.count);
        let start = self.start + n;
        let phase = if start < slots { self.phase } else { next_ring_id(self.phase) };
        Order { start: start % slots.max(1), count: self.count - n, phase, ..self }
    }
}

/// The phase of slot `i`, or of the next slot that carries one: META has none.
fn phase(ring: &RingView, i: u64) -> Option<u8> {
    (i..ring.slots())
        .map_while(|i| ring.get(i))
        .find(|d| ring.dir() == Dir::Rx || !d.is_meta())
        .map(|d| d.ring_id())
}

/// The first slot of the older lap, if the ends of the ring are two adjacent phases: found
/// by bisection.
fn boundary(ring: &RingView) -> Option<u64> {
    let newest = phase(ring, 0)?;
    let oldest = (0..ring.slots()).rev().find_map(|i| {
        ring.get(i).filter(|d| ring.dir() == Dir::Rx || !d.is_meta()).map(|d| d.ring_id())
    })?;
    if newest != next_ring_id(oldest) {
        return None;
    }
    let (mut new, mut old) = (0, ring.slots() - 1);
    while new + 1 < old {
        let middle = new + (old - new) / 2;
        // By most of three: a slot that the driver took and did not fill lies alone among others
        // of the newest lap with what the lap before left there.
        let of_newest = |i: &u64| phase(ring, *i) == Some(newest);
        let votes = (middle - 1..=middle + 1).filter(of_newest).count();
        if votes >= 2 { new = middle } else { old = middle }
    }
    // META in front of the older lap's first data slot belong to its packet.
    Some(match phase(ring, old) {
        Some(p) if p == newest => old + 1,
        _ => old,
    })
}

/// The order of a ring's slots. Reads every slot up to the first empty one.
pub fn order(ring: &RingView, start: Option<u64>) -> Order {
    let used = |i: &u64| ring.get(*i).is_some_and(|d| !d.is_zero());
    let n = ring.slots();
    let first_empty = (0..n).find(|i| !used(i));
    let lap = if first_empty.is_none() { boundary(ring) } else { None };
    let (from, wrapped) = match (start, lap) {
        (Some(s), _) => (s.min(n.saturating_sub(1)), false),
        (None, Some(b)) => (b, true),
        (None, None) => ((0..n).find(used).unwrap_or(0), false),
    };
    let run = (from..n).take_while(used).count() as u64;
    // Around the end only where the ring is known to have gone around, or is told to start.
    let around = start.is_some() || wrapped;
    let count = if from + run == n && around && from > 0 {
        run + (0..from).take_while(used).count() as u64
    } else {
        run
    };
    let covered = |i: u64| (i + n - from) % n.max(1) < count;
    let beyond = if count < n { (0..n).find(|i| used(i) && !covered(*i)) } else { None };
    Order { start: from, count, phase: phase(ring, from).unwrap_or(0), wrapped, beyond }
}
