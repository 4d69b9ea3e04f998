//! What a copy of memory that was kept costs, once the original goes on: the nodes of the map
//! that changes make anew, estimated from above (`docs/timeline.md`, "Memory").

use super::{Extent, Memory};
use imbl::OrdMap;

/// Bytes of an entry in a node that is half full, with its share of the nodes above.
const ENTRY_BYTES: u64 = 2 * (size_of::<(u64, Extent)>() as u64) + 32;
/// Bytes of the nodes that a change makes anew where none of its neighbours was changed: one of
/// sixteen entries, and those above it.
const NODE_BYTES: u64 = 16 * (size_of::<(u64, Extent)>() as u64) + 3 * 384;
/// Places that changes go on from.
const PLACES: usize = 16;
/// Bytes that changes have made anew so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Weight {
    bytes: u64,
    places: [u64; PLACES],
    next: usize,
}

impl Weight {
    /// An extent is about to be put at `at`.
    pub fn changes(&mut self, at: u64, map: &OrdMap<u64, Extent>) {
        if self.places.contains(&at) {
            return;
        }
        // Next to one that was changed: the two share their nodes, mostly.
        let key = |found: Option<(&u64, &Extent)>| found.map(|(s, _)| *s);
        let before = at.checked_sub(1).and_then(|b| key(map.get_prev(&b)));
        let at_place = |key: Option<u64>| self.places.iter().position(|p| Some(*p) == key);
        let near = at_place(before)
            .or_else(|| at_place(at.checked_add(1).and_then(|n| key(map.get_next(&n)))));
        match near {
            Some(k) => {
                self.places[k] = at;
                self.bytes += ENTRY_BYTES;
            }
            None => {
                self.places[self.next] = at;
                self.next = (self.next + 1) % PLACES;
                self.bytes += NODE_BYTES;
            }
        }
    }
}

impl Memory {
    /// Bytes that a copy of this state of memory holds and that the state `before`, from which it
    /// came, does not: an estimate from above.
    pub fn weight_since(&self, before: &Memory) -> u64 {
        let all = self.extents() as u64 * ENTRY_BYTES;
        // The first change at each place copies its nodes once more.
        let first = PLACES as u64 * NODE_BYTES;
        all.min(self.weight.bytes.saturating_sub(before.weight.bytes) + first)
    }

    /// Bytes of the nodes of this state that are not in `later`, which came from it, where only
    /// `writes` were written since (anything, where they are not known): an estimate from above.
    pub fn replaced_by(&self, later: &Memory, writes: Option<&[(u64, u64)]>) -> u64 {
        let most = later.weight_since(self);
        let Some(writes) = writes else { return most };
        let mut bytes = 0;
        for &(from, to) in writes {
            let inside = self.map.range(from..to);
            let count = inside.take((most / ENTRY_BYTES) as usize).count() as u64;
            bytes += count * ENTRY_BYTES + NODE_BYTES;
        }
        bytes.min(most)
    }
}
