//! Pairs of a raw image that are alike in everything but where they read and write: of those the
//! rows of [`super`] are one each, and these all are moved at once. Where they write is put in
//! order first, which is as good as the order of the ring as long as no two of them meet.

use super::{Pairs, WORD, apart, in_one_region};
use crate::engine::program::Program;
use crate::engine::ring::machine::Machine;
use crate::udma::template::Template;
use crate::udma::{DESC_BYTES, Desc};

/// Pairs that went on from none before them until it is tried.
const LONELY: u64 = 4;
/// Pairs that are taken together at least, which are those that are tried first; each time that
/// it goes well four times as many are, up to so many.
const LEAST: u64 = 64;
const MOST: u64 = 1 << 16;

/// How many are tried next.
pub(super) struct Tries {
    lonely: u64,
    count: u64,
}

impl Tries {
    pub(super) fn new() -> Tries {
        Tries { lonely: 0, count: LEAST }
    }

    /// So many pairs were done as a row.
    pub(super) fn row(&mut self, count: u64) {
        self.lonely = if count == 1 { self.lonely + 1 } else { 0 };
    }

    /// How many may be tried at once now.
    pub(super) fn due(&self) -> Option<u64> {
        (self.lonely >= LONELY).then_some(self.count)
    }

    /// Whether that went well. Else as many are done one by one before it is tried again, so that
    /// looking costs no more than they do.
    pub(super) fn went(&mut self, well: bool) {
        if well {
            self.count = (self.count * 4).min(MOST);
        } else {
            *self = Tries::new();
        }
    }
}

/// The least and the greatest of addresses.
#[derive(Clone, Copy)]
struct Hull(u64, u64);

impl Hull {
    const NONE: Hull = Hull(u64::MAX, 0);

    fn with(self, at: u64) -> Hull {
        Hull(self.0.min(at), self.1.max(at))
    }

    /// First address and bytes, where so many begin at each.
    fn stretch(self, len: u64) -> Option<(u64, u64)> {
        let bytes = self.1.checked_sub(self.0)?.checked_add(len)?;
        self.0.checked_add(bytes).map(|_| (self.0, bytes))
    }
}

/// Pairs that are alike in everything but where they read and write.
struct Alike {
    /// Where each writes, and from where, in order of where they write.
    moves: Vec<(u64, u64)>,
    /// The descriptors of the first, Tx and Rx.
    first: [Desc; 2],
    /// Where they read, and where they write.
    ends: [Hull; 2],
}

impl Machine {
    /// Does as many pairs as are tried at once, or none.
    pub(super) fn strewn_pairs(&mut self, p: &Program, i: usize, most: u64) -> Option<Pairs> {
        let (slots, count) = self.pairs_ahead(i, most)?;
        if count < LEAST {
            return None;
        }
        let bytes = count * DESC_BYTES as u64;
        let rings = slots.map(|at| (at, bytes));
        let Alike { moves, first, ends: [from, to] } = self.alike_pairs(slots, count)?;
        let len = first[0].length();
        let (read, written) = (from.stretch(len)?, to.stretch(len)?);
        let solid = self.memory.solid(read.0).filter(|s| s.len >= read.1)?;
        let untold = solid.unknown && !self.told_unknown.contains(&self.queues[i].id());
        let meet = || moves.windows(2).any(|two| two[1].0 - two[0].0 < len);
        if len <= WORD
            || untold
            || !apart(read, written)
            || rings.iter().any(|ring| !apart(written, *ring))
            || !in_one_region(p, read)
            || !in_one_region(p, written)
            || !self.is_plain_pair(p, i, &first)
            || rings
                .iter()
                .chain([&read, &written])
                .any(|s| self.memory.outside(s.0, s.1).is_some())
            || meet()
        {
            return None;
        }
        self.memory.move_many(&moves, len);
        self.did_pairs(i, count);
        let stretch = |(at, len)| (at, at + len);
        Some(Pairs {
            count,
            len,
            source: stretch(read),
            rings: rings.map(stretch),
            written: stretch(written),
        })
    }

    /// So many pairs; nothing where they are not alike, or do not lie in a raw image.
    fn alike_pairs(&self, slots: [u64; 2], count: u64) -> Option<Alike> {
        let mut ends = [Hull::NONE; 2];
        let mut moves = Vec::with_capacity(usize::try_from(count).ok()?);
        let [tx, rx] = slots.map(|at| {
            let (bytes, step, there) = self.memory.lying(at)?;
            let slots = bytes.as_chunks::<DESC_BYTES>().0;
            (there >= count).then(|| slots.iter().step_by(step).map(Desc::from_bytes))
        });
        let mut pairs = tx?.zip(rx?).take(usize::try_from(count).ok()?).peekable();
        let (tx0, rx0) = *pairs.peek()?;
        for (tx, rx) in pairs {
            let alike = (tx.len_ctrl, tx.word1) == (tx0.len_ctrl, tx0.word1)
                && (rx.len_ctrl, rx.word1) == (rx0.len_ctrl, rx0.word1);
            if !alike || Template::parse(tx.ptr | rx.ptr).is_some() {
                return None;
            }
            ends = [ends[0].with(tx.ptr), ends[1].with(rx.ptr)];
            moves.push((rx.ptr, tx.ptr));
        }
        moves.sort_unstable();
        (moves.len() as u64 == count).then_some(Alike { moves, first: [tx0, rx0], ends })
    }
}
