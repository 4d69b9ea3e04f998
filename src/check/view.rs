//! Plain views of a ring, and a walk over its used slots in blocks.

use super::order::Order;
use crate::udma::{DESC_BYTES, Desc};

/// A ring's slots, wherever they lie.
pub trait RingView: Sync {
    /// Slots.
    fn len(&self) -> u64;

    /// The descriptor of a slot; `None` beyond the end.
    fn get(&self, index: u64) -> Option<Desc>;

    /// Whether there is no slot.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads slots from `first` on into `out`; answers how many there were. A view whose
    /// slots lie side by side does better than one call per slot.
    fn read(&self, first: u64, out: &mut [Desc]) -> usize {
        let mut n = 0;
        for (slot, index) in out.iter_mut().zip(first..) {
            let Some(d) = self.get(index) else { break };
            *slot = d;
            n += 1;
        }
        n
    }
}

/// Descriptors in memory.
#[derive(Debug, Clone, Copy)]
pub struct DescView<'a>(pub &'a [Desc]);

impl RingView for DescView<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn get(&self, index: u64) -> Option<Desc> {
        self.0.get(usize::try_from(index).ok()?).copied()
    }
}

/// The bytes of an image, sixteen per slot; with a step of two, one direction of interleaved
/// pairs.
#[derive(Debug, Clone, Copy)]
pub struct ImageView<'a> {
    slots: &'a [[u8; DESC_BYTES]],
    step: usize,
}

impl<'a> ImageView<'a> {
    /// Every slot of an image; a tail shorter than a slot is left out.
    pub fn new(bytes: &'a [u8]) -> ImageView<'a> {
        ImageView { slots: bytes.as_chunks().0, step: 1 }
    }

    /// The even slots (`odd` false: the Tx of Tx, Rx pairs) or the odd ones.
    pub fn interleaved(bytes: &'a [u8], odd: bool) -> ImageView<'a> {
        let slots: &[[u8; DESC_BYTES]] = bytes.as_chunks().0;
        ImageView { slots: slots.get(usize::from(odd)..).unwrap_or_default(), step: 2 }
    }
}

impl RingView for ImageView<'_> {
    fn len(&self) -> u64 {
        self.slots.len().div_ceil(self.step) as u64
    }

    fn get(&self, index: u64) -> Option<Desc> {
        let at = usize::try_from(index).ok()?.checked_mul(self.step)?;
        self.slots.get(at).map(Desc::from_bytes)
    }

    fn read(&self, first: u64, out: &mut [Desc]) -> usize {
        let at = usize::try_from(first).ok().and_then(|i| i.checked_mul(self.step));
        let rest = at.and_then(|i| self.slots.get(i..)).unwrap_or_default();
        let mut n = 0;
        for (slot, bytes) in out.iter_mut().zip(rest.iter().step_by(self.step)) {
            *slot = Desc::from_bytes(bytes);
            n += 1;
        }
        n
    }
}

/// Slots read at once.
const BLOCK: usize = 256;

/// Calls `f` with every slot from `from` to before `to`, in blocks, until it answers false.
pub fn scan(view: &dyn RingView, from: u64, to: u64, mut f: impl FnMut(u64, Desc) -> bool) {
    let mut block = [Desc::default(); BLOCK];
    let mut at = from;
    while at < to {
        let want = usize::try_from(to - at).unwrap_or(BLOCK).min(BLOCK);
        let got = view.read(at, &mut block[..want]);
        if got == 0 {
            return;
        }
        for (desc, index) in block[..got].iter().zip(at..) {
            if !f(index, *desc) {
                return;
            }
        }
        at += got as u64;
    }
}

/// The used (non-zero) slots of a ring in the order of time.
pub struct Slots<'a> {
    view: &'a dyn RingView,
    ranges: [(u64, u64); 2],
    block: Vec<Desc>,
    filled: usize,
    next: usize,
    base: u64,
}

impl<'a> Slots<'a> {
    /// A walk from the order's start around the ring.
    pub fn new(view: &'a dyn RingView, order: Order) -> Slots<'a> {
        let ranges = [(order.start, order.len), (0, order.start)];
        Slots {
            view,
            ranges,
            block: vec![Desc::default(); BLOCK],
            filled: 0,
            next: 0,
            base: order.start,
        }
    }

    /// Reads the next block; false at the end.
    fn refill(&mut self) -> bool {
        for (from, to) in &mut self.ranges {
            let want = usize::try_from(to.saturating_sub(*from)).unwrap_or(BLOCK).min(BLOCK);
            if want == 0 {
                continue;
            }
            let got = self.view.read(*from, &mut self.block[..want]);
            if got == 0 {
                *from = *to;
                continue;
            }
            (self.base, self.next, self.filled) = (*from, 0, got);
            *from += got as u64;
            return true;
        }
        false
    }
}

impl Iterator for Slots<'_> {
    type Item = (u64, Desc);

    fn next(&mut self) -> Option<(u64, Desc)> {
        loop {
            while self.next < self.filled {
                let (at, desc) = (self.next, self.block[self.next]);
                self.next += 1;
                if !desc.is_zero() {
                    return Some((self.base + at as u64, desc));
                }
            }
            if !self.refill() {
                return None;
            }
        }
    }
}
