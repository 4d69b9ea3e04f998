//! Many pieces of bytes moved at once, wherever each of them goes: what they leave behind is,
//! extent by extent, what moving them one after the other leaves behind (`docs/timeline.md`,
//! "Leaps").

use super::map::Entry;
use super::{Extent, Memory};

/// Extents there are for each that comes, at most, for all of them to be put together anew.
const FEW: usize = 4;

/// Extents in order as they are put together: the last of them, and what the digest became.
struct Merged {
    done: Vec<Entry>,
    last: Option<Piece>,
    digest: u64,
}

/// An extent that others may still be joined to.
struct Piece {
    at: u64,
    e: Extent,
    /// It lay there before, just so.
    old: bool,
    /// What it ends with came.
    came: bool,
}

impl Piece {
    fn end(&self) -> u64 {
        self.at.saturating_add(self.e.len)
    }

    fn hash(&self) -> u64 {
        Memory::extent_hash(self.at, &self.e)
    }
}

impl Merged {
    /// The last one stays as it is.
    fn settle(&mut self) {
        if let Some(last) = self.last.take() {
            if !last.old {
                self.digest = self.digest.wrapping_add(last.hash());
            }
            self.done.push((last.at, last.e));
        }
    }

    /// An extent that lay there before is there no more.
    fn gone(&mut self, at: u64, e: &Extent) {
        self.digest = self.digest.wrapping_sub(Memory::extent_hash(at, e));
    }

    /// The next piece. What lay side by side before is not joined.
    fn push(&mut self, piece: Piece) {
        if piece.e.len == 0 {
            return;
        }
        if let Some(last) = &mut self.last
            && last.end() == piece.at
            && (last.came || piece.came)
            && let Some(joined) = last.e.join(&piece.e)
        {
            let hash = last.hash();
            let was = std::mem::replace(&mut last.old, false);
            last.e = joined;
            last.came = piece.came;
            if was {
                self.digest = self.digest.wrapping_sub(hash);
            }
            if piece.old {
                self.gone(piece.at, &piece.e);
            }
            return;
        }
        self.settle();
        self.last = Some(piece);
    }
}

impl Memory {
    /// Moves bytes of one extent ([`Memory::solid`]) to many places, `len` from each: `moves` says
    /// where to and from where, in order of where to. The places do not overlap, and nothing that
    /// is moved is moved over.
    pub fn move_many(&mut self, moves: &[(u64, u64)], len: u64) {
        let Some(&(_, any)) = moves.first() else { return };
        let Some((base, of)) = self.map.until(any).map(|(s, e)| (s, e.into_owned())) else {
            return;
        };
        let source = |from: u64| of.source.at(from.wrapping_sub(base));
        if self.map.len() > FEW * moves.len() {
            for &(to, from) in moves {
                self.put_source(to, len, source(from));
            }
            return;
        }
        let all = Vec::with_capacity(self.map.len() + 2 * moves.len());
        let mut merged = Merged { done: all, last: None, digest: self.digest };
        let mut next = moves.iter().copied().peekable();
        let come = |merged: &mut Merged, (to, from): (u64, u64)| {
            let e = Extent { len: len.min(u64::MAX - to), source: source(from) };
            merged.push(Piece { at: to, e, old: false, came: true });
        };
        self.map.each(0, u64::MAX, |at, e| {
            let end = at.saturating_add(e.len);
            // What comes before it; what reaches into it was put by the one before.
            while let Some(m) = next.next_if(|m| m.0 < at) {
                come(&mut merged, m);
            }
            let covered = merged.last.as_ref().map_or(0, Piece::end);
            let mut from = at.max(covered.min(end));
            if from == at && next.peek().is_none_or(|m| m.0 >= end) {
                merged.push(Piece { at, e: e.clone(), old: true, came: false });
                return true;
            }
            merged.gone(at, e);
            let cut = |from: u64, to: u64| Piece {
                at: from,
                e: Extent { len: to - from, source: e.source.at(from - at) },
                old: false,
                came: false,
            };
            while let Some(m) = next.next_if(|m| m.0 < end) {
                merged.push(cut(from, m.0.max(from)));
                come(&mut merged, m);
                from = m.0.saturating_add(len).min(end);
            }
            merged.push(cut(from, end));
            true
        });
        for m in next {
            come(&mut merged, m);
        }
        merged.settle();
        self.digest = merged.digest;
        self.map.put_together(merged.done);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::engine::program::{Blob, Program};
    use crate::udma::{Desc, Generation, Profile};
    use proptest::prelude::*;

    const FROM: u64 = 0x10_0000;

    /// What lies there before, where the pieces go: other pieces, descriptors side by side,
    /// single bytes, gaps.
    #[derive(Debug, Clone)]
    enum Before {
        Bytes(u64, u64, u8),
        Slots(u64, u64),
        Piece(u64, u64, u64),
    }

    fn before() -> impl Strategy<Value = Before> {
        prop_oneof![
            (0u64..4000, 1u64..900, 0u8..3).prop_map(|(a, n, b)| Before::Bytes(a, n, b)),
            (0u64..250, 1u64..30).prop_map(|(a, n)| Before::Slots(a * 16, n)),
            (0u64..250, 0u64..250, 1u64..9).prop_map(|(a, b, n)| Before::Piece(a, b, n)),
        ]
    }

    fn same(a: &Memory, b: &Memory) -> Result<(), TestCaseError> {
        let list = |m: &Memory| {
            let mut all = Vec::new();
            m.map.each(0, u64::MAX, |at, e| {
                all.push((at, e.len, e.source.hash()));
                true
            });
            all
        };
        prop_assert_eq!(list(a), list(b));
        prop_assert_eq!(a.digest(), b.digest());
        prop_assert_eq!(a.extents(), b.extents());
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

        /// Extent by extent it is what one after the other leaves, in any order, however much
        /// lies there already; and what was kept of it before stays.
        #[test]
        fn many_at_once_are_one_after_the_other(
            of in 0usize..3,
            there in prop::collection::vec(before(), 0..24),
            more in prop_oneof![2 => Just(0u64), 1 => Just(500)],
            places in prop::collection::btree_map(0u64..120, 0u64..200, 1..100),
            len in prop_oneof![Just(16u64), Just(32), 1u64..33],
            turn in any::<u64>(),
        ) {
            let mut m = Memory::new(&Program::new(Generation::V3, Profile::default_profile()));
            match of {
                0 => m.write_blob(FROM, Blob::from_vec((0..8192u32).map(|i| (i >> 3) as u8).collect())),
                1 => m.fill(FROM, 8192, 1),
                _ => m.put_source(FROM, 8192, super::super::Source::Unknown(FROM)),
            }
            for b in there {
                match b {
                    Before::Bytes(at, len, byte) => m.fill(at, len, byte),
                    Before::Slots(at, n) => for k in 0..n {
                        let bytes = Desc { len_ctrl: k as u32, word1: 0, ptr: k * k }.to_bytes();
                        m.write(at + 16 * k, &bytes);
                    },
                    Before::Piece(to, from, n) => m.move_solid(FROM + from * 16, to * 16, n * 16),
                }
            }
            // Others far away: then they are put in one by one.
            (0..more).for_each(|k| m.fill(0x100_0000 + 2 * k, 1, k as u8));
            let moves: Vec<(u64, u64)> =
                places.into_iter().map(|(to, from)| (to * 33, FROM + from * 32)).collect();
            let (kept, told) = (m.clone(), m.digest());
            let mut plain = m.clone();
            let start = (turn % moves.len() as u64) as usize;
            let (a, b) = moves.split_at(start);
            for (to, from) in b.iter().rev().chain(a) {
                plain.move_solid(*from, *to, len);
            }
            m.move_many(&moves, len);
            same(&m, &plain)?;
            prop_assert_eq!(kept.digest(), told);
            // It goes on like any other.
            for m in [&mut m, &mut plain] {
                m.fill(40, 700, 9);
                m.move_solid(FROM, 2000, 64);
            }
            same(&m, &plain)?;
        }
    }
}
