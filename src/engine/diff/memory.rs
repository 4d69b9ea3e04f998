//! Memory at the end of two runs, by region or, of modules, by location. Rings and markers are
//! the way and not the outcome; they are left out.

use super::Diff;
use super::outcome::MemoryChange;
use super::record::Record;
use crate::engine::program::{HostOp, Program, Region};
use crate::engine::ring::Memory;
use crate::engine::ring::memory::Difference;
use crate::limits::MAX_DIFF_BYTES;
use crate::udma::Dir;
use std::collections::{BTreeMap, BTreeSet};

/// A half-open stretch of addresses.
type Span = (u64, u64);

/// One side of a comparison.
struct Side<'a> {
    program: &'a Program,
    memory: &'a Memory,
    start: Memory,
}

struct Compare<'a> {
    sides: [Side<'a>; 2],
    work: u64,
    bounded: bool,
    found: BTreeMap<(String, Option<usize>), MemoryChange>,
}

/// Compares the memories at the end. `by_name`: a region that lies elsewhere is still the same
/// one; not so where regions were made of the addresses that descriptors name.
pub(super) fn compare(
    (a, x): (&Program, &Record),
    (b, y): (&Program, &Record),
    by_name: bool,
    diff: &mut Diff,
) -> Vec<MemoryChange> {
    let mut c = Compare {
        sides: [
            Side { program: a, memory: &x.machine.memory, start: Memory::new(a) },
            Side { program: b, memory: &y.machine.memory, start: Memory::new(b) },
        ],
        work: MAX_DIFF_BYTES,
        bounded: false,
        found: BTreeMap::new(),
    };
    match (&a.module, &b.module) {
        (Some(m), Some(n)) => c.locations(m.exec.layout(), n.exec.layout()),
        _ => c.regions(by_name),
    }
    if c.bounded {
        diff.bound("outcome: the bound on compared bytes is reached; the rest of memory is not");
    }
    c.found.into_values().collect()
}

/// How the memories of two runs of one program differ, rings and markers left out; true where
/// not all was compared, since only `work` bytes are looked at.
pub fn between(p: &Program, a: &Memory, b: &Memory, work: u64) -> (Vec<MemoryChange>, bool) {
    let side = |memory| Side { program: p, memory, start: Memory::new(p) };
    let sides = [side(a), side(b)];
    let mut c = Compare { sides, work, bounded: false, found: BTreeMap::new() };
    match &p.module {
        Some(m) => c.locations(m.exec.layout(), m.exec.layout()),
        None => c.regions(false),
    }
    (c.found.into_values().collect(), c.bounded)
}

impl Compare<'_> {
    fn add(&mut self, name: String, offset: u64, only: Option<usize>, d: Difference) {
        self.bounded |= d.bounded;
        let Some((at, from, to)) = d.first else { return };
        let (at, cells) = (offset + at, [from, to]);
        let key = (name.clone(), only);
        let e = self.found.entry(key).or_insert_with(|| MemoryChange {
            name,
            offset: at,
            cells,
            count: 0,
            only,
        });
        e.count = e.count.saturating_add(d.count);
        if at < e.offset {
            (e.offset, e.cells) = (at, cells);
        }
    }

    /// Bytes `at..` of the left against those `theirs..` of the right.
    fn both(&mut self, at: u64, theirs: u64, len: u64) -> Difference {
        let [a, b] = &self.sides;
        a.memory.difference(at, (b.memory, theirs), len, &mut self.work)
    }

    /// Locations that both modules have, row by row.
    fn locations(&mut self, a: &crate::bir::Layout, b: &crate::bir::Layout) {
        for place in a.placed() {
            let Some(other) = b.location(&place.name) else { continue };
            let (mut x, mut y) = (place.runs().peekable(), other.runs().peekable());
            let (mut skip_x, mut skip_y, mut offset) = (0, 0, 0);
            while let (Some(&(p, n)), Some(&(q, m))) = (x.peek(), y.peek()) {
                let len = (n - skip_x).min(m - skip_y);
                let d = self.both(p + skip_x, q + skip_y, len);
                self.add(place.name.to_string(), offset, None, d);
                offset += len;
                (skip_x, skip_y) = (skip_x + len, skip_y + len);
                if skip_x == n {
                    (skip_x, _) = (0, x.next());
                }
                if skip_y == m {
                    (skip_y, _) = (0, y.next());
                }
            }
        }
    }

    /// Regions of one name that lie elsewhere are compared with each other, all else by address.
    fn regions(&mut self, by_name: bool) {
        let (away, shifted) = if by_name { self.elsewhere() } else { Default::default() };
        let holes = merged(self.sides.iter().flat_map(|s| apparatus(s.program)).collect());
        for (r, base) in &shifted {
            let theirs = holes.iter().filter_map(|h| {
                let from = h.0.max(*base).checked_sub(*base)?.checked_add(r.base)?;
                let to = h.1.min(base.saturating_add(r.len)).checked_sub(*base)?;
                Some((from, to.checked_add(r.base)?))
            });
            let all = merged(holes.iter().copied().chain(theirs).collect());
            for (from, to) in without((r.base, r.base + r.len), &all) {
                let d = self.both(from, base + (from - r.base), to - from);
                self.add(r.name.clone(), from - r.base, None, d);
            }
        }
        let [a, b] = &self.sides;
        let spans = |s: &Side<'_>| -> Vec<Span> {
            let all = s.memory.regions().iter().filter(|r| !away.contains(&r.name));
            all.map(|r| (r.base, r.base.saturating_add(r.len))).collect()
        };
        for (from, to, held) in overlay(&spans(a), &spans(b)) {
            for (from, to) in without((from, to), &holes) {
                self.stretch((from, to), held);
            }
        }
    }

    fn stretch(&mut self, (from, to): Span, held: [bool; 2]) {
        let only = match held {
            [true, false] => Some(0),
            [false, true] => Some(1),
            _ => None,
        };
        let d = match only {
            None => self.both(from, from, to - from),
            Some(side) => {
                let s = &self.sides[side];
                let mut d = s.start.difference(from, (s.memory, from), to - from, &mut self.work);
                // What was written there; the other side has nothing.
                if let Some((_, was, is)) = &mut d.first {
                    let never = crate::engine::ring::memory::Cell::Never;
                    (*was, *is) = if side == 0 { (*is, never) } else { (never, *is) };
                }
                d
            }
        };
        let holder = usize::from(only == Some(1));
        let region = self.sides[holder].memory.region_at(from);
        let (name, offset) = match region {
            Some(r) => (r.name.clone(), from - r.base),
            None => (format!("{from:#x}"), 0),
        };
        self.add(name, offset, only, d);
    }

    /// Names of regions that both have at different addresses, and those of the left with their
    /// base on the right.
    fn elsewhere(&self) -> (BTreeSet<String>, Vec<(Region, u64)>) {
        let [a, b] = &self.sides;
        let theirs: BTreeMap<&str, &Region> =
            b.program.regions.iter().map(|r| (r.name.as_str(), r)).collect();
        let pairs = a.program.regions.iter().filter_map(|r| Some((r, *theirs.get(&*r.name)?)));
        let pairs = pairs.filter(|(r, s)| {
            let apart =
                r.base >= s.base.saturating_add(s.len) || s.base >= r.base.saturating_add(r.len);
            r.base != s.base && r.len == s.len && apart
        });
        let shifted: Vec<(Region, u64)> = pairs.map(|(r, s)| (r.clone(), s.base)).collect();
        (shifted.iter().map(|(r, _)| r.name.clone()).collect(), shifted)
    }
}

/// Rings, and the words of markers that the host's calls name.
fn apparatus(p: &Program) -> Vec<Span> {
    const MARKER: u64 = 8;
    let mut out = Vec::new();
    for q in &p.queues {
        for dir in Dir::BOTH {
            out.extend(q.ring(dir).map(|r| (r.base, r.base.saturating_add(r.bytes()))));
        }
        // One for each asynchronous handle.
        out.push((q.marker_area, q.marker_area.saturating_add(3 * MARKER)));
    }
    let mut marker = |at: u64| out.push((at, at.saturating_add(MARKER)));
    for s in &p.script {
        match &s.op {
            HostOp::StageMarker { marker: m, .. }
            | HostOp::Wait { marker: m, .. }
            | HostOp::WaitRings { marker: m, .. } => marker(*m),
            HostOp::ZeroCopy { markers, .. } => markers.iter().for_each(|m| marker(*m)),
            _ => {}
        }
    }
    out
}

/// Stretches in order, those that touch joined.
fn merged(mut all: Vec<Span>) -> Vec<Span> {
    all.retain(|s| s.0 < s.1);
    all.sort_unstable();
    let mut out: Vec<Span> = Vec::with_capacity(all.len());
    for s in all {
        match out.last_mut() {
            Some(l) if s.0 <= l.1 => l.1 = l.1.max(s.1),
            _ => out.push(s),
        }
    }
    out
}

/// The parts of a stretch outside of merged holes.
fn without((mut from, to): Span, holes: &[Span]) -> Vec<Span> {
    let mut out = Vec::new();
    let first = holes.partition_point(|h| h.1 <= from);
    for &(a, b) in holes[first..].iter().take_while(|h| h.0 < to) {
        if a > from {
            out.push((from, a));
        }
        from = from.max(b);
    }
    if from < to {
        out.push((from, to));
    }
    out
}

/// Stretches that either list holds, cut where one begins or ends, and which of them holds each.
fn overlay(a: &[Span], b: &[Span]) -> Vec<(u64, u64, [bool; 2])> {
    let mut cuts: Vec<u64> = a.iter().chain(b).flat_map(|s| [s.0, s.1]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let holds = |all: &[Span], at: u64| {
        let i = all.partition_point(|s| s.0 <= at);
        all[..i].last().is_some_and(|s| at < s.1)
    };
    let pieces = cuts.windows(2).map(|w| (w[0], w[1], [holds(a, w[0]), holds(b, w[0])]));
    pieces.filter(|p| p.2 != [false, false]).collect()
}
