//! What a copy of memory that was kept costs, once the original goes on: the nodes of the map
//! that changes make anew, estimated from above (`docs/timeline.md`, "Memory").

use super::{Extent, Memory};

/// Bytes of an entry in a node that is half full, with its share of the nodes above.
const ENTRY_BYTES: u64 = 2 * (size_of::<(u64, Extent)>() as u64) + 32;
/// Bytes of the nodes that a change makes anew where none of its neighbours was changed: one of
/// sixteen entries, and those above it.
const NODE_BYTES: u64 = 16 * (size_of::<(u64, Extent)>() as u64) + 3 * 384;
/// Places that changes go on from.
const PLACES: usize = 8;
/// Changes so near to each other share their nodes, mostly.
const NEAR: u64 = 64;

/// Bytes that changes have made anew so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Weight {
    bytes: u64,
    places: [u64; PLACES],
    next: usize,
}

impl Weight {
    /// An extent was put at `at`.
    pub fn changed(&mut self, at: u64) {
        let near = self.places.iter_mut().find(|p| at.wrapping_sub(**p) <= NEAR);
        match near {
            Some(p) if *p == at => {}
            Some(p) => {
                *p = at;
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
}
