//! In which order in time the slots of a copied-out ring stand (`docs/wire.md`, "A ring
//! without its cursors").
//!
//! MODEL: the image shows no cursors, so the order is inferred. Used slots are the non-zero
//! ones. Only when no slot is zero and two adjacent phases are present does the ring hold two
//! laps: phase p below slot b and p - 1 from b on, and the order is b .. end, 0 .. b - 1. Else
//! it starts at the first used slot. Where a few slots have another phase than the rest, b and
//! p are those that the fewest slots contradict.

use super::survey::Kind;
use super::view::{Piece, RingView, Surveyed};
use crate::udma::ring::{RING_ID_MASK, next_ring_id};
use crate::udma::{Desc, Dir};

/// The order of a ring's slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Slots of the ring.
    pub len: u64,
    /// First slot in time.
    pub start: u64,
    /// Slots below it carry `phase`, those from it on the phase before; `len` for one lap.
    pub boundary: u64,
    /// Phase of the slots below `boundary`.
    pub phase: u8,
    /// Slots that are not zero.
    pub used: u64,
    /// Whether a phase was found at all (META descriptors have none).
    pub phased: bool,
}

/// What whoever keeps a ring's cursors knows of it, where anybody does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursors {
    /// The slot that was written first.
    pub first: u64,
    /// The phase that the engine expects there.
    pub ring_id: u8,
    /// Slots written since.
    pub written: u64,
}

/// How many slots contradict each (phase, boundary), kept for all four phases at once.
#[derive(Default)]
struct Tally {
    /// Slots seen with each phase.
    seen: [u64; 4],
    /// Per phase, the best boundary so far and its score: slots of the phase below it minus
    /// slots of the phase before below it.
    best: [(i64, u64); 4],
    score: [i64; 4],
}

impl Tally {
    /// `count` slots from `index` on with this phase.
    fn add(&mut self, index: u64, count: u64, ring_id: u8) {
        let id = usize::from(ring_id & RING_ID_MASK);
        let next = usize::from(next_ring_id(ring_id));
        let times = i64::try_from(count).unwrap_or(i64::MAX);
        self.seen[id] += count;
        // Under p = id the slot wants to lie below the boundary, under p = id + 1 above it.
        self.score[id] += times;
        self.score[next] -= times;
        if self.score[id] > self.best[id].0 {
            self.best[id] = (self.score[id], index + count);
        }
    }

    /// Slots that agree with phase p and boundary b, where b is p's best.
    fn agree(&self, p: u8) -> (u64, u64) {
        let (score, boundary) = self.best[usize::from(p)];
        let before = self.seen[usize::from(p.wrapping_sub(1) & RING_ID_MASK)];
        (before.saturating_add_signed(score), boundary)
    }
}

impl Order {
    /// Infers the order of a ring, or takes `start` for its first slot.
    pub fn infer(view: &dyn RingView, dir: Dir, start: Option<u64>) -> Order {
        Order::surveyed(Surveyed { view, chunks: &[] }, dir, start)
    }

    /// The same of a ring that was surveyed.
    pub fn surveyed(ring: Surveyed<'_>, dir: Dir, start: Option<u64>) -> Order {
        let len = ring.view.len();
        let start = start.filter(|s| *s < len);
        let mut tally = Tally::default();
        let mut below = [0u64; 4];
        let (mut used, mut first_used, mut first_phase) = (0u64, None, None);
        let mut slots = |index: u64, count: u64, id: Option<u8>| {
            used += count;
            first_used.get_or_insert(index);
            let Some(id) = id else { return };
            first_phase.get_or_insert(id);
            tally.add(index, count, id);
            let s = start.unwrap_or(0);
            below[usize::from(id)] += s.saturating_sub(index).min(count);
        };
        ring.pieces(len, |piece| {
            match piece {
                Piece::Slot(_, desc) if desc.is_zero() => {}
                Piece::Slot(index, desc) => slots(index, 1, phase_of(desc, dir)),
                Piece::Chunk(_, _, chunk) if chunk.kind == Kind::Empty => {}
                Piece::Chunk(from, to, chunk) => slots(from, to - from, Some(chunk.phase)),
            }
            true
        });
        let seen = tally.seen;
        let favourite = first_phase.unwrap_or(0);
        let mut order = Order {
            len,
            start: 0,
            boundary: len,
            phase: favourite,
            used,
            phased: first_phase.is_some(),
        };
        // Where several fit equally well, the first used slot's own phase wins.
        let prefer = |candidate: u64, best: u64, p: u8| {
            candidate > best || (candidate == best && p == favourite)
        };
        let mut best = 0;
        for p in 0..4u8 {
            let at = usize::from(p);
            let before = usize::from(p.wrapping_sub(1) & RING_ID_MASK);
            let (agree, boundary) = match start {
                Some(s) if s > 0 => (below[at] + seen[before] - below[before], s),
                _ => (seen[at], len),
            };
            if prefer(agree, best, p) {
                (best, order.phase, order.boundary) = (agree, p, boundary);
            }
        }
        if start.is_none() && used == len {
            for p in 0..4u8 {
                let (agree, boundary) = tally.agree(p);
                if boundary > 0 && boundary < len && agree > best {
                    (best, order.phase, order.boundary) = (agree, p, boundary);
                }
            }
        }
        order.start = start.unwrap_or(if order.boundary < len {
            order.boundary
        } else if used == len {
            0
        } else {
            first_used.unwrap_or(0)
        });
        order
    }

    /// The order by a ring's cursors, where they tell it; what lies in slots that nobody wrote
    /// is left to what was inferred.
    pub fn known(self, by: Cursors) -> Order {
        let Some(first) = by.first.checked_rem(self.len) else { return self };
        let reached = first.saturating_add(by.written);
        let (laps, next) = (reached / self.len, reached % self.len);
        // The phase of the lap that the next slot begins or goes on with.
        let phase = (u64::from(by.ring_id) + laps) as u8 & RING_ID_MASK;
        match laps {
            0 if self.wrapped() => self,
            0 => Order { phase, ..self },
            1 if next < first => self,
            _ if next == 0 => Order {
                start: 0,
                boundary: self.len,
                phase: phase.wrapping_sub(1) & RING_ID_MASK,
                ..self
            },
            _ => Order { start: next, boundary: next, phase, ..self },
        }
    }

    /// Whether the ring holds the newest lap over an older one, or starts in the middle: then
    /// its oldest packet may have lost its beginning.
    pub fn wrapped(&self) -> bool {
        self.boundary < self.len
    }

    /// Whether slots of this ring or of the other side's, `other`, were written over, so that what
    /// met them has no counterpart: one of them went around, or is full and of another lap.
    pub fn lost_some(&self, other: &Order) -> bool {
        let full = self.used == self.len || other.used == other.len;
        let laps_differ = self.phased && other.phased && self.phase != other.phase;
        self.wrapped() || other.wrapped() || (full && laps_differ)
    }

    /// The phase that a slot's place asks for.
    pub fn expected(&self, index: u64) -> u8 {
        if index < self.boundary { self.phase } else { self.phase.wrapping_sub(1) & RING_ID_MASK }
    }
}

/// The phase of a used descriptor; META descriptors carry none.
pub fn phase_of(desc: Desc, dir: Dir) -> Option<u8> {
    (dir == Dir::Rx || !desc.is_meta()).then(|| desc.ring_id())
}
