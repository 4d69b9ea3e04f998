//! Raw rings in the order of time, for comparing them (`docs/diff.md`).

use super::{RawImage, RingView, order};
use crate::engine::diff::{RingPair, Slots};
use crate::limits::MAX_RING_DESCS;
use crate::udma::{Desc, Dir};

/// A ring that begins with its oldest slot.
#[derive(Debug, Clone)]
pub struct InOrder {
    ring: RingView,
    start: u64,
}

impl InOrder {
    /// The ring; one that had wrapped begins where its older lap does.
    pub fn new(ring: &RingView) -> InOrder {
        let legal = ring.slots() <= MAX_RING_DESCS;
        let order = legal.then(|| order(ring, None)).filter(|o| o.wrapped);
        InOrder { ring: ring.clone(), start: order.map_or(0, |o| o.start) }
    }
}

impl Slots for InOrder {
    fn len(&self) -> u64 {
        self.ring.slots()
    }

    fn read(&self, first: u64, out: &mut [Desc]) -> usize {
        let slots = self.ring.slots();
        let at = self.slot(first);
        let n = (out.len() as u64).min(slots.saturating_sub(first)).min(slots.saturating_sub(at));
        self.ring.each(at, n, |i, d| out[i as usize] = d);
        n as usize
    }

    fn slot(&self, place: u64) -> u64 {
        (self.start + place).checked_rem(self.ring.slots()).unwrap_or(0)
    }
}

/// Both rings of an image, Tx then Rx, in the order of time; of a window of slots.
pub fn in_order(image: &RawImage, window: Option<(u64, u64)>) -> [Option<InOrder>; 2] {
    let (from, to) = window.unwrap_or((0, u64::MAX));
    Dir::BOTH.map(|dir| image.ring(dir).map(|r| InOrder::new(&r.window(from, to))))
}

/// The two as what is compared.
pub fn as_pair(rings: &[Option<InOrder>; 2]) -> RingPair<'_> {
    let [tx, rx] = rings;
    RingPair { tx: tx.as_ref().map(|r| r as &dyn Slots), rx: rx.as_ref().map(|r| r as &dyn Slots) }
}
