//! Which elements of two sequences are the same ones: by keys that occur once on either side,
//! then by the shortest edit of what lies between them.
//!
//! Work is bounded. Where the bound is reached, what is left is compared place by place, and the
//! answer says so. Swapping the two sequences mirrors the answer.

use std::collections::HashMap;
use std::ops::Range;

/// Edits that the shortest edit script of one stretch may have.
const MAX_EDITS: usize = 1024;
/// Comparisons that pairing what is left of one gap may take; beyond, it is paired in order.
const MAX_PAIRING: usize = 1 << 16;
/// What an element costs that is only on one side.
const LONE: u32 = 1000;

/// A stretch that is the same on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// First element on the left.
    pub a: usize,
    /// First element on the right.
    pub b: usize,
    /// How many.
    pub len: usize,
}

/// The stretches that two sequences share, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Alignment {
    /// Ascending on both sides, not overlapping; neighbours are joined.
    pub runs: Vec<Run>,
    /// The bound on work was reached: some of it is compared place by place.
    pub bounded: bool,
}

/// Aligns two sequences of keys; `work` counts down and bounds the effort.
pub fn align(a: &[u64], b: &[u64], work: &mut u64) -> Alignment {
    // One order for both ways around, so that swapping mirrors the answer.
    if a > b {
        let mut mirrored = align(b, a, work);
        for r in &mut mirrored.runs {
            *r = Run { a: r.b, b: r.a, len: r.len };
        }
        return mirrored;
    }
    let mut aligner = Aligner { a, b, work, found: Alignment::default() };
    let mut waiting = vec![(0..a.len(), 0..b.len())];
    while let Some((x, y)) = waiting.pop() {
        aligner.stretch(x, y, &mut waiting);
    }
    let Alignment { mut runs, bounded } = aligner.found;
    runs.sort_unstable();
    let mut joined: Vec<Run> = Vec::with_capacity(runs.len());
    for r in runs {
        match joined.last_mut() {
            Some(l) if l.a + l.len == r.a && l.b + l.len == r.b => l.len += r.len,
            _ => joined.push(r),
        }
    }
    Alignment { runs: joined, bounded }
}

type Stretch = (Range<usize>, Range<usize>);

struct Aligner<'a> {
    a: &'a [u64],
    b: &'a [u64],
    work: &'a mut u64,
    found: Alignment,
}

impl Aligner<'_> {
    fn stretch(&mut self, mut x: Range<usize>, mut y: Range<usize>, waiting: &mut Vec<Stretch>) {
        let front = common(self.a[x.clone()].iter(), self.b[y.clone()].iter());
        self.same(x.start, y.start, front);
        x.start += front;
        y.start += front;
        let back = common(self.a[x.clone()].iter().rev(), self.b[y.clone()].iter().rev());
        x.end -= back;
        y.end -= back;
        self.same(x.end, y.end, back);
        if x.is_empty() || y.is_empty() {
            return;
        }
        let cost = (x.len() + y.len()) as u64;
        if *self.work < cost {
            return self.in_place(x, y);
        }
        *self.work -= cost;
        let anchors = self.anchors(&x, &y);
        if anchors.is_empty() {
            return self.shortest(x, y);
        }
        let (mut from_a, mut from_b) = (x.start, y.start);
        for (i, j) in anchors {
            waiting.push((from_a..i, from_b..j));
            self.same(i, j, 1);
            (from_a, from_b) = (i + 1, j + 1);
        }
        waiting.push((from_a..x.end, from_b..y.end));
    }

    fn same(&mut self, a: usize, b: usize, len: usize) {
        if len > 0 {
            self.found.runs.push(Run { a, b, len });
        }
    }

    /// Out of work: only what stands at the same distance is the same.
    fn in_place(&mut self, x: Range<usize>, y: Range<usize>) {
        self.found.bounded = true;
        for (i, j) in x.zip(y) {
            if self.a[i] == self.b[j] {
                self.same(i, j, 1);
            }
        }
    }

    /// Keys that occur once on either side, as many as keep their order.
    fn anchors(&self, x: &Range<usize>, y: &Range<usize>) -> Vec<(usize, usize)> {
        // Times on the left, place there, times on the right, place there.
        let mut seen: HashMap<u64, [usize; 4]> = HashMap::new();
        for i in x.clone() {
            let e = seen.entry(self.a[i]).or_default();
            (e[0], e[1]) = (e[0] + 1, i);
        }
        for j in y.clone() {
            if let Some(e) = seen.get_mut(&self.b[j]) {
                (e[2], e[3]) = (e[2] + 1, j);
            }
        }
        let once = |e: &[usize; 4]| (e[0] == 1 && e[2] == 1).then_some((e[1], e[3]));
        let mut both: Vec<_> = seen.values().filter_map(once).collect();
        both.sort_unstable();
        longest_ascending(&both)
    }

    /// The shortest edit of a stretch in which no key is unique.
    fn shortest(&mut self, x: Range<usize>, y: Range<usize>) {
        let (a, b) = (&self.a[x.clone()], &self.b[y.clone()]);
        match edits(a, b, self.work) {
            Some(pairs) => {
                for (i, j) in pairs {
                    self.same(x.start + i, y.start + j, 1);
                }
            }
            None => self.in_place(x, y),
        }
    }
}

fn common<'k>(a: impl Iterator<Item = &'k u64>, b: impl Iterator<Item = &'k u64>) -> usize {
    a.zip(b).take_while(|(x, y)| x == y).count()
}

/// The longest part of pairs ascending on the left that also ascends on the right.
pub fn longest_ascending(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // `ends[n]` ends an ascending part of n + 1 elements with the least right side.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; pairs.len()];
    for (i, p) in pairs.iter().enumerate() {
        let at = ends.partition_point(|e| pairs[*e].1 < p.1);
        before[i] = at.checked_sub(1).map(|k| ends[k]);
        match ends.get_mut(at) {
            Some(e) => *e = i,
            None => ends.push(i),
        }
    }
    let mut out = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(i) = at {
        out.push(pairs[i]);
        at = before[i];
    }
    out.reverse();
    out
}

/// Pairs of equal elements of a shortest edit script (greedy, furthest reaching); `None` beyond
/// [`MAX_EDITS`] or the work that is left.
fn edits(a: &[u64], b: &[u64], work: &mut u64) -> Option<Vec<(usize, usize)>> {
    let most = (a.len() + b.len()).min(MAX_EDITS);
    // `rows[d][k]` is how far on the left the diagonal `2k - d` reaches with d edits.
    let mut rows: Vec<Vec<usize>> = Vec::new();
    for d in 0..=most {
        let mut row = Vec::with_capacity(d + 1);
        for k in 0..=d {
            let mut x = match rows.last() {
                None => 0,
                Some(last) if goes_down(last, k, d) => last[k],
                Some(last) => last[k - 1] + 1,
            };
            // The diagonal: left place minus right place.
            let diagonal = 2 * k as isize - d as isize;
            let Some(mut y) = x.checked_add_signed(-diagonal) else {
                row.push(x);
                continue;
            };
            let start = x;
            while let (Some(i), Some(j)) = (a.get(x), b.get(y))
                && i == j
            {
                (x, y) = (x + 1, y + 1);
            }
            *work = work.checked_sub((x - start) as u64 + 1)?;
            if x >= a.len() && y >= b.len() {
                row.push(x);
                rows.push(row);
                return Some(walk_back(&rows, a.len(), b.len()));
            }
            row.push(x);
        }
        rows.push(row);
    }
    None
}

/// Whether the best way to diagonal `k` of row `d` comes from the diagonal above (an element of
/// the right side alone).
fn goes_down(last: &[usize], k: usize, d: usize) -> bool {
    k == 0 || (k < d && last[k - 1] < last[k])
}

fn walk_back(rows: &[Vec<usize>], mut x: usize, mut y: usize) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    for d in (0..rows.len()).rev() {
        let k = ((x as isize - y as isize + d as isize) / 2) as usize;
        let from = match d.checked_sub(1).map(|d| &rows[d]) {
            None => 0,
            Some(last) if goes_down(last, k, d) => last[k],
            Some(last) => last[k - 1] + 1,
        };
        while x > from {
            (x, y) = (x - 1, y - 1);
            out.push((x, y));
        }
        if let Some(last) = d.checked_sub(1).map(|d| &rows[d]) {
            if goes_down(last, k, d) {
                y -= 1;
            } else {
                x -= 1;
            }
        }
    }
    out.reverse();
    out
}

/// Elements of both sides that lie between two shared stretches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// On the left.
    pub a: Range<usize>,
    /// On the right.
    pub b: Range<usize>,
}

/// The gaps of an alignment of sequences of these lengths.
pub fn gaps(runs: &[Run], (a, b): (usize, usize)) -> Vec<Gap> {
    let ends = std::iter::once(Run { a, b, len: 0 });
    let (mut from_a, mut from_b) = (0, 0);
    let mut out = Vec::new();
    for r in runs.iter().copied().chain(ends) {
        if r.a > from_a || r.b > from_b {
            out.push(Gap { a: from_a..r.a, b: from_b..r.b });
        }
        (from_a, from_b) = (r.a + r.len, r.b + r.len);
    }
    out
}

/// What became of the elements in the gaps; all lists ascend on the left, then on the right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// The same element at another place.
    pub moved: Vec<(usize, usize)>,
    /// One element with another content.
    pub changed: Vec<(usize, usize)>,
    /// Only on the left.
    pub removed: Vec<usize>,
    /// Only on the right.
    pub added: Vec<usize>,
}

/// Says of what lies in gaps what moved, what changed, and what is on one side only.
///
/// `keys` are those of the alignment. `unlike` says how different two elements are, from 0 to
/// 1000; `None` where they are two different things.
pub fn settle(
    (a, b): (&[u64], &[u64]),
    gaps: &[Gap],
    unlike: &dyn Fn(usize, usize) -> Option<u32>,
) -> Settled {
    let mut out = Settled { moved: moved((a, b), gaps), ..Settled::default() };
    let gone: std::collections::HashSet<usize> = out.moved.iter().map(|m| m.0).collect();
    let come: std::collections::HashSet<usize> = out.moved.iter().map(|m| m.1).collect();
    for g in gaps {
        let left: Vec<usize> = g.a.clone().filter(|i| !gone.contains(i)).collect();
        let right: Vec<usize> = g.b.clone().filter(|j| !come.contains(j)).collect();
        let keys = |all: &[usize], of: &[u64]| all.iter().map(|i| of[*i]).collect::<Vec<u64>>();
        let pairs = if keys(&left, a) <= keys(&right, b) {
            paired(&left, &right, unlike)
        } else {
            let mirrored = paired(&right, &left, &|j, i| unlike(i, j));
            mirrored.into_iter().map(|(j, i)| (i, j)).collect()
        };
        let mut paired = pairs.iter().copied().peekable();
        for i in left {
            if paired.next_if(|p| p.0 == i).is_none() {
                out.removed.push(i);
            }
        }
        let mut paired = pairs.iter().copied().peekable();
        for j in right {
            if paired.next_if(|p| p.1 == j).is_none() {
                out.added.push(j);
            }
        }
        out.changed.extend(pairs);
    }
    out
}

/// Elements of gaps whose key is in gaps of both sides: the first with the first, and so on.
fn moved((a, b): (&[u64], &[u64]), gaps: &[Gap]) -> Vec<(usize, usize)> {
    let mut waiting: HashMap<u64, std::collections::VecDeque<usize>> = HashMap::new();
    for j in gaps.iter().flat_map(|g| g.b.clone()) {
        waiting.entry(b[j]).or_default().push_back(j);
    }
    let all = gaps.iter().flat_map(|g| g.a.clone());
    all.filter_map(|i| Some((i, waiting.get_mut(&a[i])?.pop_front()?))).collect()
}

/// The elements of a gap in pairs; where it is too large to weigh them, in order.
fn paired(
    a: &[usize],
    b: &[usize],
    unlike: &dyn Fn(usize, usize) -> Option<u32>,
) -> Vec<(usize, usize)> {
    let alike = |(i, j): &(usize, usize)| unlike(*i, *j).is_some_and(|u| u < LONE);
    let in_order = || a.iter().copied().zip(b.iter().copied()).filter(alike).collect();
    pair_up(a, b, unlike).unwrap_or_else(in_order)
}

/// Pairs the elements of a gap so that the least is different, keeping their order; nothing
/// where it is too large to weigh them. `unlike` is that of [`settle`].
pub fn pair_up(
    a: &[usize],
    b: &[usize],
    unlike: &dyn Fn(usize, usize) -> Option<u32>,
) -> Option<Vec<(usize, usize)>> {
    if a.len().saturating_mul(b.len()) > MAX_PAIRING {
        return None;
    }
    let width = b.len() + 1;
    let price = |i: usize, j: usize| {
        let u = unlike(a[i], b[j])?;
        // Where nothing is alike they are two elements.
        (u < LONE).then_some(2 * u)
    };
    // `cost[i][j]`: the cheapest way to tell the elements from i and from j on.
    let mut cost = vec![0u32; (a.len() + 1) * width];
    for i in (0..=a.len()).rev() {
        for j in (0..=b.len()).rev() {
            let at = i * width + j;
            let lone = [
                (i < a.len()).then(|| cost[at + width] + LONE),
                (j < b.len()).then(|| cost[at + 1] + LONE),
            ];
            let both = (i < a.len() && j < b.len())
                .then(|| price(i, j).map(|p| cost[at + width + 1] + p))
                .flatten();
            cost[at] = lone.into_iter().flatten().chain(both).min().unwrap_or(0);
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::new();
    while i < a.len() && j < b.len() {
        let at = i * width + j;
        if price(i, j).is_some_and(|p| cost[at] == cost[at + width + 1] + p) {
            out.push((a[i], b[j]));
            (i, j) = (i + 1, j + 1);
        } else if cost[at] == cost[at + width] + LONE {
            i += 1;
        } else {
            j += 1;
        }
    }
    Some(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(0u64..12, len)
    }

    fn longest_common(a: &[u64], b: &[u64]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut corner = 0;
            for (j, y) in b.iter().enumerate() {
                let up = row[j + 1];
                row[j + 1] = if x == y { corner + 1 } else { up.max(row[j]) };
                corner = up;
            }
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn runs_ascend_are_equal_and_mirror(a in keys(0..40), b in keys(0..40), work in 0u64..2000) {
            let mut left = work;
            let found = align(&a, &b, &mut left);
            let (mut i, mut j) = (0, 0);
            for r in &found.runs {
                prop_assert!(r.a >= i && r.b >= j && r.len > 0);
                prop_assert_eq!(&a[r.a..r.a + r.len], &b[r.b..r.b + r.len]);
                (i, j) = (r.a + r.len, r.b + r.len);
            }
            let mut left = work;
            let back = align(&b, &a, &mut left);
            let mirrored: Vec<Run> =
                back.runs.iter().map(|r| Run { a: r.b, b: r.a, len: r.len }).collect();
            prop_assert_eq!(found.runs, mirrored);
            prop_assert_eq!(found.bounded, back.bounded);
        }

        #[test]
        fn the_edit_of_a_stretch_is_shortest(a in keys(0..30), b in keys(0..30)) {
            let pairs = edits(&a, &b, &mut { u64::MAX }).unwrap();
            prop_assert!(pairs.iter().all(|(i, j)| a[*i] == b[*j]));
            prop_assert!(pairs.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
            prop_assert_eq!(pairs.len(), longest_common(&a, &b));
        }

        #[test]
        fn every_element_of_a_gap_is_told_once(a in keys(0..20), b in keys(0..20)) {
            let runs = align(&a, &b, &mut 1000).runs;
            let gaps = gaps(&runs, (a.len(), b.len()));
            let unlike = |i: usize, j: usize| Some(a[i].abs_diff(b[j]) as u32 * 300);
            let s = settle((&a, &b), &gaps, &unlike);
            let mut left: Vec<usize> = runs.iter().flat_map(|r| r.a..r.a + r.len).collect();
            left.extend(s.moved.iter().chain(&s.changed).map(|p| p.0).chain(s.removed.clone()));
            left.sort_unstable();
            prop_assert_eq!(left, (0..a.len()).collect::<Vec<_>>());
            let mut right: Vec<usize> = runs.iter().flat_map(|r| r.b..r.b + r.len).collect();
            right.extend(s.moved.iter().chain(&s.changed).map(|p| p.1).chain(s.added.clone()));
            right.sort_unstable();
            prop_assert_eq!(right, (0..b.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_element_in_front_of_many_is_one_element() {
        let a: Vec<u64> = (0..10_000).collect();
        let b: Vec<u64> = std::iter::once(77_777).chain(a.iter().copied()).collect();
        let found = align(&a, &b, &mut 100_000);
        assert_eq!(found.runs, [Run { a: 0, b: 1, len: 10_000 }]);
        assert!(!found.bounded);
    }

    #[test]
    fn where_the_work_ends_it_is_said() {
        let a: Vec<u64> = (0..1000).map(|i| i % 7).collect();
        let b: Vec<u64> = (0..1000).map(|i| i * i % 5).collect();
        assert!(align(&a, &b, &mut 100).bounded);
    }
}
