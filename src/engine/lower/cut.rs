//! Cutting access patterns: which stretches of an element order are patterns again, and what
//! they are. Rules: `docs/lowering.md`, "Cutting".
//!
//! Elements are numbered in element order, the first pair slowest. A stretch `at .. at + len` is
//! a pattern again if it is `t` whole rows of one dimension inside one row of the dimension
//! before it; a cut that several patterns share must be such a stretch in each of them.

use crate::bir::{Pair, Pairs};
use smallvec::SmallVec;

/// A pattern as far as cutting it is concerned.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    pairs: Pairs,
    /// Elements below one step of each pair.
    below: SmallVec<[u64; 4]>,
    /// The first pair walks partitions and stays, be it with a count of 1.
    on_chip: bool,
    /// Outermost pair that may be cut, so that not too many are left.
    outer: usize,
    /// Innermost pair that may be cut.
    inner: usize,
}

impl Grid {
    /// A pattern; `None` where it has more elements than can be counted. `max_pairs`: how many a
    /// piece may have.
    pub(super) fn new(pairs: &[Pair], on_chip: bool, max_pairs: Option<usize>) -> Option<Grid> {
        let unit = [Pair { step: 0, num: 1 }];
        let kept = if pairs.is_empty() { &unit[..] } else { pairs };
        let mut below: SmallVec<[u64; 4]> = SmallVec::from_elem(1, kept.len());
        for i in (0..kept.len() - 1).rev() {
            below[i] = below[i + 1].checked_mul(kept[i + 1].num)?;
        }
        below[0].checked_mul(kept[0].num)?;
        let outer = match max_pairs {
            Some(most) if kept.len() > most => kept.len() - most + usize::from(on_chip),
            _ => 0,
        };
        let inner = kept.len() - 1;
        Some(Grid { pairs: kept.into(), below, on_chip, outer: outer.min(inner), inner })
    }

    /// Only whole steps of its first pair may be cut off.
    #[must_use]
    pub(super) fn whole_rows(mut self) -> Grid {
        (self.outer, self.inner) = (0, 0);
        self
    }

    /// How many elements.
    pub(super) fn count(&self) -> u64 {
        self.below[0] * self.pairs[0].num
    }

    /// How many steps of pair `level` are left from element `at` on, where a step begins there.
    fn left(&self, level: usize, at: u64) -> Option<u64> {
        let (below, num) = (self.below[level], self.pairs[level].num);
        (at.is_multiple_of(below)).then(|| num - (at / below) % num)
    }

    /// The pair and the count of its steps that the stretch is; `None` where it is no pattern.
    pub(super) fn find(&self, at: u64, len: u64) -> Option<(usize, u64)> {
        (self.outer..=self.inner).find_map(|level| {
            let below = self.below[level];
            let fits = len.is_multiple_of(below) && len / below <= self.left(level, at)?;
            fits.then_some((level, len / below))
        })
    }

    /// Index of pair `level` at element `at`.
    pub(super) fn index(&self, level: usize, at: u64) -> u64 {
        at / self.below[level] % self.pairs[level].num.max(1)
    }

    /// The stretch as a pattern: elements to add to the offset, and pairs. `None` where it is
    /// none, or the offset does not fit 64 bits.
    pub(super) fn part(&self, at: u64, len: u64) -> Option<(i64, Pairs)> {
        let (level, steps) = self.find(at, len)?;
        let mut delta = 0i128;
        for (k, p) in self.pairs.iter().enumerate().take(level + 1) {
            delta += i128::from(p.step) * i128::from(self.index(k, at));
        }
        let mut pairs = Pairs::new();
        if self.on_chip && level > 0 {
            pairs.push(Pair { step: self.pairs[0].step, num: 1 });
        }
        pairs.push(Pair { step: self.pairs[level].step, num: steps });
        pairs.extend_from_slice(&self.pairs[level + 1..]);
        Some((i64::try_from(delta).ok()?, pairs))
    }
}

/// The largest stretch from `at` on, of at most `cap` elements, that is a pattern in all of the
/// grids (the largest that keeps outer pairs whole, where ranks do not nest). `None` where there
/// is none, which cannot be where every pair of every grid may be cut.
pub(super) fn take(grids: &[Grid], at: u64, cap: u64) -> Option<u64> {
    let mut levels = Vec::with_capacity(grids.len());
    for g in grids {
        let fits = |l: &usize| g.below[*l] <= cap && g.left(*l, at).is_some();
        levels.push((g.outer..=g.inner).find(fits)?);
    }
    loop {
        let mut limit = cap;
        let mut unit = Some(1u64);
        for (g, &level) in grids.iter().zip(&levels) {
            let steps = g.left(level, at)?;
            limit = limit.min(steps.saturating_mul(g.below[level]));
            unit = unit.and_then(|u| lcm(u, g.below[level]));
        }
        if let Some(unit) = unit.filter(|u| *u <= limit) {
            return Some(limit / unit * unit);
        }
        // The coarsest that can go one pair inwards does.
        let able = (0..grids.len()).filter(|&i| levels[i] < grids[i].inner);
        let coarsest = able.max_by_key(|&i| grids[i].below[levels[i]])?;
        levels[coarsest] += 1;
    }
}

fn lcm(a: u64, b: u64) -> Option<u64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).checked_mul(b)
}

/// Elements of the contiguous run that a pattern begins with: scanned innermost to outermost,
/// it goes on while a step is the step inside times the count inside, the innermost step being
/// 1. On chip the first pair walks partitions and never goes on. A count of 1 breaks nothing.
pub fn contiguous(pairs: &[Pair], on_chip: bool) -> u64 {
    let mut run = 1u64;
    for (level, p) in pairs.iter().enumerate().rev() {
        if p.num == 1 {
            continue;
        }
        if (on_chip && level == 0) || i64::try_from(run) != Ok(p.step) {
            break;
        }
        let Some(longer) = run.checked_mul(p.num) else { break };
        run = longer;
    }
    run
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(p: &[(i64, u64)]) -> Vec<Pair> {
        p.iter().map(|&(step, num)| Pair { step, num }).collect()
    }

    fn elements(offset: i64, pairs: &[Pair]) -> Vec<i64> {
        let count: u64 = pairs.iter().map(|p| p.num).product();
        let at = |mut k: u64| {
            pairs.iter().rev().fold(offset, |at, p| {
                let i = k % p.num;
                k /= p.num;
                at + p.step * i as i64
            })
        };
        (0..count).map(at).collect()
    }

    fn walk(grids: &[Grid], cap: u64) -> Vec<(u64, u64)> {
        let (mut at, mut out) = (0, Vec::new());
        while at < grids[0].count() {
            let len = take(grids, at, cap).unwrap();
            out.push((at, len));
            at += len;
        }
        out
    }

    #[test]
    fn a_run_goes_on_while_steps_continue_each_other() {
        for (p, on_chip, run) in [
            (&[(1, 7)][..], false, 7),
            (&[(2, 7)], false, 1),
            (&[(7, 3), (1, 7)], false, 21),
            (&[(7, 3), (1, 7)], true, 7),
            (&[(8, 3), (1, 7)], false, 7),
            (&[(100, 2), (99, 1), (5, 4), (1, 5)], false, 20),
            (&[(-1, 4)], false, 1),
            (&[(0, 4), (1, 4)], false, 4),
            (&[], false, 1),
        ] {
            assert_eq!(contiguous(&pairs(p), on_chip), run, "{p:?}");
        }
    }

    #[test]
    fn whole_rows_come_before_parts_of_rows() {
        let g = Grid::new(&pairs(&[(100, 5), (1, 10)]), false, None).unwrap();
        let lens =
            |cap| walk(std::slice::from_ref(&g), cap).iter().map(|p| p.1).collect::<Vec<_>>();
        assert_eq!(lens(100), [50]);
        assert_eq!(lens(29), [20, 20, 10]);
        assert_eq!(lens(7), [7, 3, 7, 3, 7, 3, 7, 3, 7, 3]);
    }

    #[test]
    fn five_pairs_are_unrolled_along_their_outermost() {
        let p = pairs(&[(1000, 2), (100, 3), (10, 2), (2, 4), (1, 2)]);
        let off_chip = Grid::new(&p, false, Some(4)).unwrap();
        let parts = walk(std::slice::from_ref(&off_chip), 1 << 40);
        assert_eq!(parts, [(0, 48), (48, 48)]);
        assert_eq!(off_chip.part(48, 48).unwrap(), (1000, p[1..].into()));
        // On chip the pair of partitions stays, so that the next one goes as well.
        let on_chip = Grid::new(&p, true, Some(4)).unwrap();
        assert_eq!(walk(std::slice::from_ref(&on_chip), 1 << 40).len(), 6);
        assert_eq!(on_chip.part(16, 16).unwrap().1.len(), 4);
    }

    proptest! {
        #[test]
        fn parts_are_the_elements_in_order(
            (a, b) in (1u64..7, 1u64..7, 1u64..7, 1u64..5).prop_flat_map(|(x, y, z, w)| {
                // Two shapes of the same count.
                let shapes = [vec![x, y, z, w], vec![x * y, z * w], vec![w, z, x * y], vec![x * y * z * w], vec![y, w * x, 1, z]];
                let step = -9i64..20;
                let shape = prop::sample::select(shapes.to_vec());
                let one = (shape, prop::collection::vec(step, 4));
                (one.clone(), one)
            }),
            cap in 1u64..40,
            on_chip: bool,
        ) {
            let make = |(shape, steps): &(Vec<u64>, Vec<i64>)| -> Vec<Pair> {
                shape.iter().zip(steps).map(|(&num, &step)| Pair { step, num }).collect()
            };
            let both = [make(&a), make(&b)];
            let grids: Vec<_> =
                both.iter().map(|p| Grid::new(p, on_chip, Some(3)).unwrap()).collect();
            let mut seen = [Vec::new(), Vec::new()];
            for (at, len) in walk(&grids, cap) {
                prop_assert!(len <= cap);
                for (g, seen) in grids.iter().zip(&mut seen) {
                    let (delta, part) = g.part(at, len).unwrap();
                    prop_assert!(part.len() <= 3);
                    seen.extend(elements(delta, &part));
                }
            }
            prop_assert_eq!(&seen[0], &elements(0, &both[0]));
            prop_assert_eq!(&seen[1], &elements(0, &both[1]));
        }
    }
}
