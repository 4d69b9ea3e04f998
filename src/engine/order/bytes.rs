//! Which accesses of every byte still matter: spans of addresses, each with the accesses that
//! a later one may race with.

use crate::limits::MAX_ORDER_SIDE_BY_SIDE;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// What becomes of an access in a span that a newer one touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It stays: later accesses may race with it.
    Keep,
    /// Whatever races with it races with the newer one as well.
    Drop,
    /// As [`Fate::Drop`], and it is remembered as an earlier write of these bytes by this queue,
    /// if it is the first.
    Older(u32),
}

/// Bytes that the same accesses touched last. Accesses are told by their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    end: u64,
    items: Vec<u32>,
    /// By queue the first write that newer ones of the queue cover.
    older: Vec<(u32, u32)>,
}

/// The spans.
#[derive(Debug, Clone, Default)]
pub struct ByteMap {
    spans: BTreeMap<u64, Span>,
    /// Accesses looked at so far.
    pub work: u64,
}

/// Pushes, and forgets the oldest beyond the bound.
fn push(list: &mut Vec<u32>, item: u32) {
    if list.len() >= MAX_ORDER_SIDE_BY_SIDE {
        list.remove(0);
    }
    list.push(item);
}

impl ByteMap {
    /// How many spans there are.
    pub fn count(&self) -> usize {
        self.spans.len()
    }

    fn split(&mut self, at: u64) {
        let Some((_, span)) = self.spans.range_mut(..at).next_back() else { return };
        if span.end > at {
            let right = span.clone();
            span.end = at;
            self.spans.insert(at, right);
        }
    }

    /// Every access that still matters of `lo..hi` and the earlier writes behind it; the second
    /// argument says which of the two.
    pub fn look(&mut self, lo: u64, hi: u64, mut each: impl FnMut(u64, u32, bool)) {
        let before = self.spans.range(..=lo).next_back().filter(|(_, s)| s.end > lo);
        let from = before.map_or(lo, |(k, _)| *k);
        let mut work = 0;
        for (key, span) in self.spans.range(from..hi) {
            work += span.items.len() as u64 + 1;
            let at = (*key).max(lo);
            span.items.iter().for_each(|x| each(at, *x, false));
            span.older.iter().for_each(|(_, x)| each(at, *x, true));
        }
        self.work += work;
    }

    /// Puts access `new` on `lo..hi`. `each` is asked about every access there, with the bytes
    /// that both touch; `keep_older` about every earlier write behind them.
    pub fn touch(
        &mut self,
        lo: u64,
        hi: u64,
        new: u32,
        mut each: impl FnMut(u32, u64, u64) -> Fate,
        mut keep_older: impl FnMut(u32) -> bool,
    ) {
        if lo >= hi {
            return;
        }
        self.split(lo);
        self.split(hi);
        let keys: Vec<u64> = self.spans.range(lo..hi).map(|(k, _)| *k).collect();
        let mut at = lo;
        for &key in &keys {
            if at < key {
                self.spans.insert(at, Span { end: key, items: vec![new], older: Vec::new() });
            }
            let Some(span) = self.spans.get_mut(&key) else { continue };
            self.work += span.items.len() as u64 + 1;
            let end = span.end;
            span.older.retain(|(_, x)| keep_older(*x));
            let mut behind = Vec::new();
            span.items.retain(|x| match each(*x, key, end) {
                Fate::Keep => true,
                Fate::Drop => false,
                Fate::Older(queue) => {
                    behind.push((queue, *x));
                    false
                }
            });
            for (queue, x) in behind {
                let room = span.older.len() < MAX_ORDER_SIDE_BY_SIDE;
                if room && span.older.iter().all(|o| o.0 != queue) {
                    span.older.push((queue, x));
                }
            }
            push(&mut span.items, new);
            at = end;
        }
        if at < hi {
            self.spans.insert(at, Span { end: hi, items: vec![new], older: Vec::new() });
        }
        if !keys.is_empty() {
            self.merge(lo, hi);
        }
    }

    /// Joins neighbours that became alike.
    fn merge(&mut self, lo: u64, hi: u64) {
        let keys: Vec<u64> = self.spans.range(lo..hi).map(|(k, _)| *k).collect();
        let Some(&first) = keys.first() else { return };
        let mut into = first;
        for &key in &keys[1..] {
            let alike = match (self.spans.get(&into), self.spans.get(&key)) {
                (Some(a), Some(b)) => a.end == key && a.items == b.items && a.older == b.older,
                _ => false,
            };
            if !alike {
                into = key;
                continue;
            }
            if let Entry::Occupied(gone) = self.spans.entry(key) {
                let end = gone.remove().end;
                if let Some(span) = self.spans.get_mut(&into) {
                    span.end = end;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    /// The same byte by byte: the newest drops all that is even.
    fn plain(list: &[(u64, u64)]) -> Vec<Vec<u32>> {
        let mut bytes = vec![Vec::new(); 64];
        for (new, &(lo, len)) in list.iter().enumerate() {
            for b in &mut bytes[lo as usize..(lo + len) as usize] {
                b.retain(|x| x % 2 == 1);
                push(b, new as u32);
            }
        }
        bytes
    }

    proptest! {
        #[test]
        fn spans_say_what_single_bytes_would(
            list in prop::collection::vec((0u64..48, 0u64..16), 0..40)
        ) {
            let mut map = ByteMap::default();
            for (new, &(lo, len)) in list.iter().enumerate() {
                let fate = |x: u32, _, _| if x % 2 == 1 { Fate::Keep } else { Fate::Drop };
                map.touch(lo, lo + len, new as u32, fate, |_| true);
            }
            for (at, want) in plain(&list).into_iter().enumerate() {
                let mut got = Vec::new();
                map.look(at as u64, at as u64 + 1, |_, x, _| got.push(x));
                prop_assert_eq!(got, want);
            }
        }
    }

    #[test]
    fn a_write_over_many_spans_leaves_one() {
        let mut map = ByteMap::default();
        for i in 0..100 {
            map.touch(i * 4, i * 4 + 4, i as u32, |_, _, _| Fate::Drop, |_| true);
        }
        assert_eq!(map.count(), 100);
        map.touch(0, 400, 100, |_, _, _| Fate::Drop, |_| true);
        assert_eq!(map.count(), 1);
    }

    #[test]
    fn what_lies_side_by_side_is_bounded() {
        let mut map = ByteMap::default();
        for i in 0..1000 {
            map.touch(0, 4, i, |_, _, _| Fate::Keep, |_| true);
        }
        let mut n = 0;
        map.look(0, 4, |_, _, _| n += 1);
        assert_eq!(n, MAX_ORDER_SIDE_BY_SIDE);
    }
}
