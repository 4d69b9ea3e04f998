//! What a copy of memory that was kept costs, once the original goes on: the nodes of the map
//! that changes make anew, counted, and bounded by what there is (`docs/timeline.md`,
//! "Checkpoints").

use super::Memory;
use super::map;

/// Bytes of an entry in a node that is a quarter full, with its share of the nodes above.
const ENTRY_BYTES: u64 = 4 * map::ENTRY_BYTES + 32;
/// Bytes of the nodes that one change makes anew: a node of extents and those above it.
const PATH_BYTES: u64 = 32 * map::ENTRY_BYTES + 4 * (map::NODE_BYTES + 512);

impl Memory {
    /// Bytes that a copy of this state of memory holds and that the state `before`, from which it
    /// came, does not: no less than that. (Another copy taken in between counts once more.)
    pub fn weight_since(&self, before: &Memory) -> u64 {
        let all = self.extents() as u64 * ENTRY_BYTES + PATH_BYTES;
        all.min(self.map.made().saturating_sub(before.map.made()))
    }

    /// Bytes of the nodes of this state that are not in `later`, which came from it, where only
    /// `writes` were written since: no less than that.
    pub fn replaced_by(&self, later: &Memory, writes: &[(u64, u64)]) -> u64 {
        let most = later.weight_since(self);
        let mut bytes = 0;
        for &(from, to) in writes {
            self.map.each(from, to, |_, _| {
                bytes += ENTRY_BYTES;
                bytes < most
            });
            bytes += PATH_BYTES;
        }
        bytes.min(most)
    }
}
