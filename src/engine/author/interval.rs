//! A set of byte stretches.

use std::collections::BTreeMap;

/// Bytes, as disjoint stretches that do not touch each other.
#[derive(Debug, Clone, Default)]
pub struct Intervals {
    ends: BTreeMap<u64, u64>,
}

impl Intervals {
    /// Whether a byte of `len` bytes at `at` is in the set.
    pub fn hits(&self, at: u64, len: u64) -> bool {
        let end = at.saturating_add(len);
        self.ends.range(..end).next_back().is_some_and(|(_, e)| *e > at)
    }

    /// Adds `len` bytes at `at`.
    pub fn add(&mut self, at: u64, len: u64) {
        if len == 0 {
            return;
        }
        let (mut start, mut end) = (at, at.saturating_add(len));
        // Whatever it overlaps or touches becomes one with it.
        while let Some((&s, &e)) = self.ends.range(..=end).next_back()
            && e >= start
        {
            self.ends.remove(&s);
            start = start.min(s);
            end = end.max(e);
        }
        self.ends.insert(start, end);
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        self.ends.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_the_set_of_its_bytes(adds in prop::collection::vec((0u64..60, 0u64..9), 0..20)) {
            let (mut set, mut bytes) = (Intervals::default(), BTreeSet::new());
            for (at, len) in adds {
                set.add(at, len);
                bytes.extend(at..at + len);
            }
            for at in 0..70 {
                for len in 1..6 {
                    let hit = (at..at + len).any(|b| bytes.contains(&b));
                    prop_assert_eq!(set.hits(at, len), hit);
                }
            }
            let all: Vec<_> = set.ends.iter().collect();
            prop_assert!(all.windows(2).all(|w| w[0].1 < w[1].0), "stretches do not touch");
        }
    }
}
