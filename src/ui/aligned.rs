//! Two texts of a module side by side: which line of the one is which of the other
//! (`docs/screen.md`, "Passes").
//!
//! A line is known by the instruction that it belongs to, then by its text; never by its number.
//! Every line of either text is in exactly one row, and the rows keep the order of both.

use crate::bir::Pos;
use crate::engine::diff::align::{self, Run, longest_ascending, pair_up};
use crate::limits::MAX_DIFF_WORK;
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// A line of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its text.
    pub text: &'a str,
    /// The instruction of the loaded module that the one which begins here stems from.
    pub pos: Option<Pos>,
    /// The instruction that the line belongs to: its own, or the one around it.
    pub owner: Option<Pos>,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Both texts have it.
    Same,
    /// Both have it, with other words.
    Changed,
    /// Only the text before has it.
    Removed,
    /// Only the text after has it.
    Added,
}

/// A row: a line of either text, or one of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// Line of the text before, from 0.
    pub left: Option<usize>,
    /// Line of the text after, from 0.
    pub right: Option<usize>,
    /// What became of it.
    pub kind: Kind,
}

/// Two texts, row by row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aligned {
    /// The rows, top to bottom.
    pub pairs: Vec<Pair>,
    /// The bound on work was reached: equal lines may stand in different rows.
    pub bounded: bool,
}

impl Aligned {
    /// How many rows are of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.pairs.iter().filter(|p| p.kind == kind).count()
    }
}

fn key(line: &Line<'_>) -> u64 {
    let mut h = DefaultHasher::new();
    (line.owner, line.pos.is_some(), line.text).hash(&mut h);
    h.finish()
}

/// Aligns two texts: equal lines of the same instruction first, then in what is left of it lines
/// that begin the same instruction, then those whose words are mostly the same.
pub fn align(left: &[Line<'_>], right: &[Line<'_>]) -> Aligned {
    let keys = |all: &[Line<'_>]| all.iter().map(key).collect::<Vec<u64>>();
    let found = align::align(&keys(left), &keys(right), &mut MAX_DIFF_WORK.clone());
    let mut pairs = Vec::with_capacity(left.len().max(right.len()));
    let (mut i, mut j) = (0, 0);
    let end = Run { a: left.len(), b: right.len(), len: 0 };
    for r in found.runs.iter().copied().chain(std::iter::once(end)) {
        gap(left, right, (i..r.a, j..r.b), &mut pairs);
        let both = |n| Pair { left: Some(r.a + n), right: Some(r.b + n), kind: Kind::Same };
        pairs.extend((0..r.len).map(both));
        (i, j) = (r.a + r.len, r.b + r.len);
    }
    Aligned { pairs, bounded: found.bounded }
}

/// The rows of a stretch in which no line is the same.
fn gap(
    left: &[Line<'_>],
    right: &[Line<'_>],
    (a, b): (Range<usize>, Range<usize>),
    out: &mut Vec<Pair>,
) {
    let (x, y): (Vec<usize>, Vec<usize>) = (a.clone().collect(), b.clone().collect());
    let unlike = |i: usize, j: usize| unlike(&left[i], &right[j]);
    let paired = pair_up(&x, &y, &unlike).unwrap_or_else(|| by_instruction(left, right, &x, &y));
    let (mut i, mut j) = (a.start, b.start);
    let ends = std::iter::once((a.end, b.end));
    for (p, q) in paired.into_iter().chain(ends) {
        out.extend((i..p).map(|n| Pair { left: Some(n), right: None, kind: Kind::Removed }));
        out.extend((j..q).map(|n| Pair { left: None, right: Some(n), kind: Kind::Added }));
        if p < a.end && q < b.end {
            let kind = if left[p].text == right[q].text { Kind::Same } else { Kind::Changed };
            out.push(Pair { left: Some(p), right: Some(q), kind });
        }
        (i, j) = (p + 1, q + 1);
    }
}

/// How different two lines are, from 0 to 1000; nothing where they are two different things.
fn unlike(a: &Line<'_>, b: &Line<'_>) -> Option<u32> {
    /// Lines that begin the same instruction are the same line however they read.
    const MOST_OF_ONE: u32 = 900;
    if a.pos.is_some() != b.pos.is_some() || a.owner != b.owner {
        return None;
    }
    let n = different(a.text, b.text);
    match a.pos {
        Some(_) => Some(n.min(MOST_OF_ONE)),
        None => (n <= 500).then_some(n),
    }
}

/// How many of a thousand words of two lines only one of them has.
fn different(a: &str, b: &str) -> u32 {
    fn counted(text: &str) -> HashMap<&str, u32> {
        let mut out = HashMap::new();
        for w in words(text).filter(|w| !w.trim().is_empty()) {
            *out.entry(w).or_default() += 1;
        }
        out
    }
    let (x, y) = (counted(a), counted(b));
    let all: u32 = x.values().sum::<u32>() + y.values().sum::<u32>();
    let shared: u32 = x.iter().map(|(w, n)| (*n).min(y.get(w).copied().unwrap_or(0))).sum();
    if all == 0 { 0 } else { (u64::from(all - 2 * shared) * 1000 / u64::from(all)) as u32 }
}

/// For a stretch too long to weigh every pair: instructions that begin in both, the first line
/// of each with the first, in the order that keeps most of them.
fn by_instruction(
    left: &[Line<'_>],
    right: &[Line<'_>],
    x: &[usize],
    y: &[usize],
) -> Vec<(usize, usize)> {
    let mut first: HashMap<Pos, usize> = HashMap::new();
    for i in x {
        if let Some(p) = left[*i].pos {
            first.entry(p).or_insert(*i);
        }
    }
    let mut all: Vec<(usize, usize)> = Vec::new();
    for j in y {
        if let Some(i) = right[*j].pos.and_then(|p| first.remove(&p)) {
            all.push((i, *j));
        }
    }
    all.sort_unstable();
    longest_ascending(&all)
}

/// A text cut into words, blanks and signs; together they are the text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let sort = |c: char| match c {
        c if c.is_alphanumeric() || matches!(c, '_' | '%' | '.') => 0,
        ' ' => 1,
        _ => 2,
    };
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let kind = sort(first);
        let end = rest.find(|c| sort(c) != kind).unwrap_or(rest.len());
        let end = if kind == 2 { first.len_utf8() } else { end };
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

/// The bytes of either line that the other does not have, word by word.
pub fn changed_words(a: &str, b: &str) -> [Vec<Range<usize>>; 2] {
    let hash = |w: &&str| {
        let mut h = DefaultHasher::new();
        w.hash(&mut h);
        h.finish()
    };
    let (x, y): (Vec<&str>, Vec<&str>) = (words(a).collect(), words(b).collect());
    let keys = |all: &[&str]| all.iter().map(hash).collect::<Vec<u64>>();
    let found = align::align(&keys(&x), &keys(&y), &mut MAX_DIFF_WORK.clone());
    let mut kept = [vec![false; x.len()], vec![false; y.len()]];
    for r in &found.runs {
        kept[0][r.a..r.a + r.len].fill(true);
        kept[1][r.b..r.b + r.len].fill(true);
    }
    let ranges = |all: &[&str], kept: &[bool]| {
        let mut out: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        for (w, same) in all.iter().zip(kept) {
            let end = at + w.len();
            match out.last_mut() {
                _ if *same => {}
                Some(last) if last.end == at => last.end = end,
                _ => out.push(at..end),
            }
            at = end;
        }
        out
    };
    [ranges(&x, &kept[0]), ranges(&y, &kept[1])]
}

/// A row as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// A pair side by side, or one line of it where only one text has it.
    Row(usize),
    /// Of a pair the line before alone.
    Before(usize),
    /// Of a pair the line after alone.
    After(usize),
    /// So many equal pairs from one on.
    Fold(usize, usize),
}

impl Shown {
    /// The first pair that it stands for.
    pub fn pair(self) -> usize {
        match self {
            Shown::Row(i) | Shown::Before(i) | Shown::After(i) | Shown::Fold(i, _) => i,
        }
    }

    /// Whether it stands for a pair.
    pub fn has(self, pair: usize) -> bool {
        match self {
            Shown::Fold(from, n) => (from..from + n).contains(&pair),
            other => other.pair() == pair,
        }
    }
}

/// Equal lines that are shown around those that differ.
pub const CONTEXT: usize = 2;

/// How rows are chosen to be shown.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    /// Stretches of equal lines are one row each.
    pub fold: bool,
    /// First pairs of those that are opened.
    pub opened: &'a BTreeSet<usize>,
    /// Both lines of a pair share a row.
    pub beside: bool,
}

/// The rows to show; `keep` says of a pair that it is not folded away, with what is around it.
pub fn shown(a: &Aligned, how: Choice<'_>, keep: &dyn Fn(&Pair) -> bool) -> Vec<Shown> {
    let n = a.pairs.len();
    let mut near = vec![!how.fold; n];
    if how.fold {
        for (i, p) in a.pairs.iter().enumerate() {
            if p.kind != Kind::Same || keep(p) {
                near[i.saturating_sub(CONTEXT)..(i + CONTEXT + 1).min(n)].fill(true);
            }
        }
    }
    let mut out = Vec::new();
    let mut i = 0;
    while i < n {
        let end = near[i..].iter().position(|k| *k).map_or(n, |k| i + k);
        // One line takes no more room than to say that it is left out.
        if end > i + 1 && !how.opened.contains(&i) {
            out.push(Shown::Fold(i, end - i));
            i = end;
            continue;
        }
        let upto = end.max(i + 1);
        for (k, p) in a.pairs.iter().enumerate().take(upto).skip(i) {
            if p.kind == Kind::Changed && !how.beside {
                out.extend([Shown::Before(k), Shown::After(k)]);
            } else {
                out.push(Shown::Row(k));
            }
        }
        i = upto;
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::bir::generate;
    use crate::engine::lower::{self, Stage};
    use crate::load::bir::listing::owned_lines;
    use proptest::prelude::*;

    fn lines(all: &[(String, Option<Pos>, Option<Pos>)]) -> Vec<Line<'_>> {
        all.iter().map(|(t, p, o)| Line { text: t, pos: *p, owner: *o }).collect()
    }

    fn holds(left: &[Line<'_>], right: &[Line<'_>], a: &Aligned) {
        let lefts: Vec<usize> = a.pairs.iter().filter_map(|p| p.left).collect();
        let rights: Vec<usize> = a.pairs.iter().filter_map(|p| p.right).collect();
        assert_eq!(lefts, (0..left.len()).collect::<Vec<_>>(), "order and completeness, before");
        assert_eq!(rights, (0..right.len()).collect::<Vec<_>>(), "order and completeness, after");
        let mut gap: (Vec<u64>, Vec<u64>) = Default::default();
        for p in &a.pairs {
            match (p.left, p.right, p.kind) {
                (Some(i), Some(j), Kind::Same) => {
                    assert_eq!(left[i].text, right[j].text);
                    assert_eq!(left[i].owner, right[j].owner);
                    gap = Default::default();
                }
                (Some(i), Some(j), Kind::Changed) => {
                    assert_eq!(left[i].owner, right[j].owner);
                    assert_ne!(left[i].text, right[j].text);
                    gap.0.push(key(&left[i]));
                    gap.1.push(key(&right[j]));
                }
                (Some(i), None, Kind::Removed) => gap.0.push(key(&left[i])),
                (None, Some(j), Kind::Added) => gap.1.push(key(&right[j])),
                other => panic!("{other:?}"),
            }
            // Of equal lines of the same instruction as many share a row as can.
            if !a.bounded {
                assert!(gap.0.iter().all(|k| !gap.1.contains(k)), "{p:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_two_texts(
            a in prop::collection::vec(("[ab]{1,2}( [c-e]){0,2}", 0u32..4, any::<bool>()), 0..24),
            b in prop::collection::vec(("[ab]{1,2}( [c-e]){0,2}", 0u32..4, any::<bool>()), 0..24),
        ) {
            let make = |all: Vec<(String, u32, bool)>| {
                all.into_iter()
                    .map(|(t, o, begins)| {
                        let owner = (o > 0).then_some(Pos(o));
                        (t, owner.filter(|_| begins), owner)
                    })
                    .collect::<Vec<_>>()
            };
            let (a, b) = (make(a), make(b));
            let (a, b) = (lines(&a), lines(&b));
            holds(&a, &b, &align(&a, &b));
        }

        #[test]
        fn what_is_shown_stands_for_every_pair_once(
            kinds in prop::collection::vec(0u8..6, 0..60),
            opened in prop::collection::btree_set(0usize..60, 0..4),
            fold: bool,
            beside: bool,
        ) {
            let pairs = kinds.iter().enumerate().map(|(i, k)| match k {
                0 => Pair { left: Some(i), right: None, kind: Kind::Removed },
                1 => Pair { left: Some(i), right: Some(i), kind: Kind::Changed },
                _ => Pair { left: Some(i), right: Some(i), kind: Kind::Same },
            });
            let a = Aligned { pairs: pairs.collect(), bounded: false };
            let rows = shown(&a, Choice { fold, opened: &opened, beside }, &|_| false);
            let mut seen = Vec::new();
            for r in &rows {
                match *r {
                    Shown::Fold(from, n) => {
                        prop_assert!(fold && n > 1);
                        prop_assert!(a.pairs[from..from + n].iter().all(|p| p.kind == Kind::Same));
                        seen.extend(from..from + n);
                    }
                    Shown::After(_) => prop_assert!(!beside),
                    r => seen.push(r.pair()),
                }
            }
            prop_assert_eq!(seen, (0..a.pairs.len()).collect::<Vec<_>>());
        }

        #[test]
        fn changed_words_are_all_that_differs(a in "[ab c.,=0-9]{0,30}", b in "[ab c.,=0-9]{0,30}") {
            let [x, y] = changed_words(&a, &b);
            let without = |t: &str, cut: &[Range<usize>]| {
                let mut out = String::new();
                let mut at = 0;
                for r in cut {
                    out.push_str(&t[at..r.start]);
                    at = r.end;
                }
                out + &t[at..]
            };
            prop_assert_eq!(without(&a, &x), without(&b, &y));
            if a == b {
                prop_assert!(x.is_empty() && y.is_empty());
            }
        }
    }

    #[test]
    fn every_stage_of_generated_modules() {
        for seed in 0..40 {
            let module = generate::module(seed, &generate::Options::default());
            let lowered = lower::lower(&module.module, &lower::Options::default(), Stage::LowerDma);
            let all: Vec<_> = lowered.snapshots.iter().map(|s| owned_lines(&s.module)).collect();
            for w in all.windows(2) {
                let (a, b) = (lines(&w[0]), lines(&w[1]));
                let found = align(&a, &b);
                holds(&a, &b, &found);
                let back = align(&a, &a);
                assert!(back.pairs.iter().all(|p| p.kind == Kind::Same && p.left == p.right));
            }
        }
    }

    #[test]
    fn an_instruction_in_front_does_not_shift_what_follows() {
        let line = |n: u32| (format!("%i{n} = copy"), Some(Pos(n)), Some(Pos(n)));
        let before: Vec<_> = (1..50).map(line).collect();
        let mut after = before.clone();
        after.insert(0, (String::from("%new = copy"), Some(Pos(99)), Some(Pos(99))));
        after[20].0.push_str(" len=4");
        let (a, b) = (lines(&before), lines(&after));
        let found = align(&a, &b);
        assert_eq!((found.count(Kind::Added), found.count(Kind::Changed)), (1, 1));
        let rows =
            shown(&found, Choice { fold: true, opened: &BTreeSet::new(), beside: true }, &|_| {
                false
            });
        let folds: Vec<_> = rows.iter().filter(|r| matches!(r, Shown::Fold(..))).collect();
        assert_eq!(folds, [&Shown::Fold(3, 15), &Shown::Fold(23, 27)]);
        let [x, y] = changed_words("%a = copy len=4", "%a = copy len=16 queue=q");
        let one = |r: Range<usize>| std::iter::once(r).collect::<Vec<_>>();
        assert_eq!((x, y), (one(14..15), one(14..24)));
    }

    #[test]
    fn a_stretch_that_is_too_long_is_paired_by_instruction() {
        let line = |n: u32, w: &str| (format!("%i{n} = {w}"), Some(Pos(n)), Some(Pos(n)));
        let before: Vec<_> = (1..600).map(|n| line(n, "one")).collect();
        // Every instruction twice, none reads as before.
        let after: Vec<_> =
            (1..600).flat_map(|n| [line(n, "two words"), line(n, "three more words")]).collect();
        let (a, b) = (lines(&before), lines(&after));
        let found = align(&a, &b);
        holds(&a, &b, &found);
        assert_eq!(found.count(Kind::Changed), 599);
        assert!(found.pairs.iter().all(|p| {
            p.kind != Kind::Changed || a[p.left.unwrap()].pos == b[p.right.unwrap()].pos
        }));
    }
}
