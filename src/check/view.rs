//! Plain views of a ring, and a walk over its used slots in blocks.

use super::order::Order;
use super::survey::{CHUNK, Chunk, Kind, run};
use crate::udma::{DESC_BYTES, Desc, Rows};

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

    /// Slots from `first` on where they lie, `count` of them or as many as there are; `None`
    /// where they do not lie in an image. Such a ring is not surveyed.
    fn rows(&self, _first: u64, _count: u64) -> Option<Rows<'_>> {
        None
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

    fn rows(&self, first: u64, count: u64) -> Option<Rows<'_>> {
        let at = usize::try_from(first).ok()?.checked_mul(self.step)?;
        Some(Rows::new(self.slots.get(at..)?, self.step).first(count))
    }
}

/// Slots read at once.
const BLOCK: usize = CHUNK as usize;

/// A ring and what is known of its chunks from a survey, slot 0 first; nothing of those that
/// `chunks` has not.
#[derive(Clone, Copy)]
pub struct Surveyed<'a> {
    /// The ring.
    pub view: &'a dyn RingView,
    /// Its chunks.
    pub chunks: &'a [Chunk],
}

/// A part of a walk.
pub enum Piece {
    /// One slot.
    Slot(u64, Desc),
    /// Slots from the first number up to the second, all of them calm or all empty: a chunk, or
    /// several that are told of as one.
    Chunk(u64, u64, Chunk),
}

impl<'a> Surveyed<'a> {
    /// The chunk at a slot with those that go on with it, and where they end, if they begin there,
    /// end by `to` and are not odd.
    fn chunk(&self, at: u64, to: u64) -> Option<(u64, Chunk)> {
        if !at.is_multiple_of(CHUNK) {
            return None;
        }
        // Of the last chunk of the ring there may be less.
        let whole = if to < self.view.len() { to / CHUNK } else { to.div_ceil(CHUNK) };
        let chunks = self.chunks.get(usize::try_from(at / CHUNK).ok()?..)?;
        let left = usize::try_from(whole.checked_sub(at / CHUNK)?).unwrap_or(usize::MAX);
        let (count, chunk) = run(chunks.get(..left).unwrap_or(chunks))?;
        let end = (at + count * CHUNK).min(self.view.len());
        (chunk.kind != Kind::Odd).then_some((end, chunk))
    }

    /// Calls `f` with every slot from 0 to before `to`, those of a calm or an empty chunk
    /// together, until it answers false.
    pub fn pieces(&self, to: u64, mut f: impl FnMut(Piece) -> bool) {
        let mut at = 0;
        while at < to {
            if let Some((end, chunk)) = self.chunk(at, to) {
                if !f(Piece::Chunk(at, end, chunk)) {
                    return;
                }
                at = end;
                continue;
            }
            let end = ((at / CHUNK + 1) * CHUNK).min(to);
            let (mut more, mut got) = (true, false);
            scan(self.view, at, end, |index, desc| {
                got = true;
                more = f(Piece::Slot(index, desc));
                more
            });
            if !more || !got {
                return;
            }
            at = end;
        }
    }

    /// Calls `f` with every slot before `to` that is in an odd chunk.
    pub fn odd(&self, to: u64, mut f: impl FnMut(u64, Desc)) {
        self.pieces(to, |piece| {
            if let Piece::Slot(index, desc) = piece {
                f(index, desc);
            }
            true
        });
    }
}

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
    ring: Surveyed<'a>,
    ranges: [(u64, u64); 2],
    block: Vec<Desc>,
    filled: usize,
    next: usize,
    base: u64,
}

impl<'a> Slots<'a> {
    /// A walk from the order's start around the ring.
    pub fn new(view: &'a dyn RingView, order: Order) -> Slots<'a> {
        Slots::surveyed(Surveyed { view, chunks: &[] }, order)
    }

    /// The same with a survey: see [`Slots::calm`].
    pub fn surveyed(ring: Surveyed<'a>, order: Order) -> Slots<'a> {
        Slots {
            ring,
            ranges: [(order.start, order.len), (0, order.start)],
            block: vec![Desc::default(); BLOCK],
            filled: 0,
            next: 0,
            base: order.start,
        }
    }

    /// The range that the walk is in.
    fn range(&mut self) -> Option<&mut (u64, u64)> {
        self.ranges.iter_mut().find(|(from, to)| from < to)
    }

    /// The calm chunk or chunks that come next, with the first slot and the one after its last; passes
    /// over empty ones. `None` where the next slot is not the first of one.
    pub fn calm(&mut self) -> Option<(u64, u64, Chunk)> {
        if self.block.get(self.next..self.filled).is_some_and(|rest| !rest.is_empty()) {
            return None;
        }
        let ring = self.ring;
        loop {
            let range = self.range()?;
            let (end, chunk) = ring.chunk(range.0, range.1)?;
            if chunk.kind == Kind::Calm {
                return Some((range.0, end, chunk));
            }
            range.0 = end;
        }
    }

    /// Passes over the chunk that [`Slots::calm`] has told of, up to its end.
    pub fn pass(&mut self, end: u64) {
        if let Some(range) = self.range() {
            range.0 = end;
        }
    }

    /// A slot of the ring.
    pub fn get(&self, index: u64) -> Option<Desc> {
        self.ring.view.get(index)
    }

    /// Reads the next block; false at the end. Blocks end where chunks do.
    fn refill(&mut self) -> bool {
        let ring = self.ring;
        while let Some(range) = self.range() {
            let (from, to) = *range;
            if let Some((end, chunk)) = ring.chunk(from, to)
                && chunk.kind == Kind::Empty
            {
                range.0 = end;
                continue;
            }
            let want = usize::try_from((to - from).min(CHUNK - from % CHUNK)).unwrap_or(BLOCK);
            let want = want.min(self.block.len());
            let got = ring.view.read(from, &mut self.block[..want]);
            let range = self.range();
            if got == 0 {
                range.into_iter().for_each(|r| r.0 = r.1);
                continue;
            }
            range.into_iter().for_each(|r| r.0 += got as u64);
            (self.base, self.next, self.filled) = (from, 0, got);
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
