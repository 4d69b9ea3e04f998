//! Slices that overlap, put side by side: a trace's track can only hold slices inside of one
//! another, and descriptors in flight end in the order in which they began.

use std::collections::BTreeMap;

/// Lanes of one ring.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// Slot in flight, and its lane.
    held: BTreeMap<u64, u32>,
    /// Lanes that are free, below `used`.
    free: Vec<u32>,
    used: u32,
    /// Descriptors for which there was no lane.
    pub(super) without: u64,
}

/// Where a slot goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lane {
    /// Its number.
    pub(super) number: u32,
    /// It was not used before.
    pub(super) new: bool,
}

impl Lanes {
    /// Gives a slot a lane, at most `most` side by side. A slot that is still in flight keeps
    /// none: the ring was overrun.
    pub(super) fn begin(&mut self, slot: u64, most: u32) -> Option<Lane> {
        if self.held.contains_key(&slot) {
            self.without += 1;
            return None;
        }
        let lane = match self.free.pop() {
            Some(number) => Lane { number, new: false },
            None if self.used < most => {
                self.used += 1;
                Lane { number: self.used - 1, new: true }
            }
            None => {
                self.without += 1;
                return None;
            }
        };
        self.held.insert(slot, lane.number);
        Some(lane)
    }

    /// Frees the lane of a slot.
    pub(super) fn end(&mut self, slot: u64) -> Option<u32> {
        let lane = self.held.remove(&slot)?;
        // The lowest first, so that a trace has no more tracks than it needs.
        let at = self.free.partition_point(|l| *l > lane);
        self.free.insert(at, lane);
        Some(lane)
    }

    /// Lanes still held.
    pub(super) fn held(&self) -> impl Iterator<Item = u32> + '_ {
        self.held.values().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_lane_is_taken_and_no_more_than_there_are() {
        let mut l = Lanes::default();
        let take = |l: &mut Lanes, slot| l.begin(slot, 2).map(|l| (l.number, l.new));
        assert_eq!(take(&mut l, 7), Some((0, true)));
        assert_eq!(take(&mut l, 8), Some((1, true)));
        assert_eq!(take(&mut l, 9), None);
        assert_eq!(take(&mut l, 7), None);
        assert_eq!(l.without, 2);
        assert_eq!((l.end(8), l.end(7), l.end(9)), (Some(1), Some(0), None));
        assert_eq!(take(&mut l, 1), Some((0, false)));
        assert_eq!(l.held().collect::<Vec<_>>(), [0]);
    }
}
