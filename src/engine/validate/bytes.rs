//! The memory of a run that is proved batch by batch, and of each byte who wrote it last and who
//! read it since: enough to tell that nothing races, though not what would.

use crate::bir::memory::{Read, UNWRITTEN};
use crate::bir::quick::QuickMap;
use crate::limits::{MAX_BIR_MEMORY_BYTES, MAX_ORDER_SPANS};
use std::cell::Cell;

const PAGE: u64 = 4096;
/// Sequencers that marks tell apart.
pub(super) const AGENTS: usize = 8;

/// How much of each sequencer's work comes before something, in batches and stores.
pub(super) type Known = [u32; AGENTS];

/// A batch or a store of a sequencer, counted from 1; 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mark {
    pub agent: u8,
    pub count: u32,
}

impl Mark {
    /// Whether it comes before what knows of so much.
    pub fn is_known(self, known: &Known) -> bool {
        self.count <= known[usize::from(self.agent) % AGENTS]
    }
}

/// Who reads or writes now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access<'a> {
    /// The batch or store.
    pub mark: Mark,
    /// What comes before it.
    pub known: &'a Known,
    /// Of a write: which Rx descriptor of its batch. Of a read: how many of them come before it.
    pub rank: u32,
}

impl Access<'_> {
    /// Whether another batch, or its own, comes before.
    fn follows(&self, other: Mark) -> bool {
        other == self.mark || other.is_known(self.known)
    }
}

/// Who has read some bytes since they were written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Readers {
    #[default]
    None,
    One(Mark),
    /// The newest read of each agent.
    Many(Box<Known>),
}

impl Readers {
    /// Whether all of them come before.
    fn are_before(&self, a: &Access<'_>) -> bool {
        match self {
            Readers::None => true,
            Readers::One(m) => a.follows(*m),
            Readers::Many(all) => {
                (0u8..).zip(all.iter()).all(|(agent, &count)| a.follows(Mark { agent, count }))
            }
        }
    }

    /// One more. What comes before it need not be kept: who follows it follows that too.
    fn add(&mut self, a: &Access<'_>) {
        let new = a.mark;
        match self {
            Readers::Many(all) => all[usize::from(new.agent) % AGENTS] = new.count,
            Readers::One(old) if old.agent != new.agent && !a.follows(*old) => {
                let mut all = Box::new([0; AGENTS]);
                for m in [*old, new] {
                    all[usize::from(m.agent) % AGENTS] = m.count;
                }
                *self = Readers::Many(all);
            }
            _ => *self = Readers::One(new),
        }
    }
}

/// Bytes of a page with the same past.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    from: u16,
    to: u16,
    rank: u32,
    wrote: Mark,
    read: Readers,
}

#[derive(Debug, Default)]
struct Page {
    /// Nothing was written yet where there are none.
    bytes: Option<Box<[u8; PAGE as usize]>>,
    /// Ascending, apart.
    spans: Vec<Span>,
}

/// Why something is not shown this way; the plain run must be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unsure;

/// The bytes of the locations, and what lies between them.
#[derive(Debug, Default)]
pub(super) struct Bytes {
    /// Regions of data, ascending: first address, and the one behind the last.
    regions: Vec<(u64, u64)>,
    places: QuickMap<u64, u32>,
    pages: Vec<Page>,
    spans: usize,
    /// The page looked up last: its number and place.
    last: Cell<(u64, u32)>,
}

impl Bytes {
    /// Nothing is written in these regions, which are ascending and apart.
    pub fn new(regions: Vec<(u64, u64)>) -> Bytes {
        Bytes { regions, last: Cell::new((u64::MAX, 0)), ..Bytes::default() }
    }

    /// Where data may lie, ascending: first address, and the one behind the last.
    pub fn regions(&self) -> &[(u64, u64)] {
        &self.regions
    }

    /// Whether a stretch lies in one region.
    pub fn holds(&self, at: u64, len: u64) -> bool {
        let behind = self.regions.partition_point(|r| r.0 <= at);
        let region = behind.checked_sub(1).and_then(|k| self.regions.get(k));
        region.is_some_and(|r| at.checked_add(len).is_some_and(|end| end <= r.1))
    }

    fn find(&self, number: u64) -> Option<u32> {
        let (last, place) = self.last.get();
        if last == number {
            return Some(place);
        }
        let place = *self.places.get(&number)?;
        self.last.set((number, place));
        Some(place)
    }

    fn page(&mut self, number: u64) -> Result<&mut Page, Unsure> {
        let place = match self.find(number) {
            Some(place) => place,
            None => {
                if self.pages.len() as u64 >= MAX_BIR_MEMORY_BYTES / PAGE {
                    return Err(Unsure);
                }
                let place = self.pages.len() as u32;
                self.pages.push(Page::default());
                self.places.insert(number, place);
                self.last.set((number, place));
                place
            }
        };
        self.pages.get_mut(place as usize).ok_or(Unsure)
    }

    /// Puts bytes that are there before anything happens.
    pub fn load(&mut self, at: u64, bytes: &[u8]) -> Result<(), Unsure> {
        if !self.holds(at, bytes.len() as u64) {
            return Err(Unsure);
        }
        let mut rest = bytes;
        for (number, from, to) in pieces(at, bytes.len() as u64) {
            let (now, after) = rest.split_at(to - from);
            self.page(number)?.put(from, now);
            rest = after;
        }
        Ok(())
    }

    /// Appends the bytes of a stretch to `out`, as read by `a`.
    pub fn read_by(
        &mut self,
        at: u64,
        len: u64,
        a: &Access<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Unsure> {
        if !self.holds(at, len) {
            return Err(Unsure);
        }
        let mut spans = self.spans;
        for (number, from, to) in pieces(at, len) {
            let page = self.page(number)?;
            match &page.bytes {
                Some(b) => out.extend_from_slice(&b[from..to]),
                None => out.extend(std::iter::repeat_n(UNWRITTEN, to - from)),
            }
            spans -= page.spans.len();
            page.is_read(from as u16, to as u16, a)?;
            spans += page.spans.len();
        }
        self.counted(spans)
    }

    /// Writes bytes, as `a` does.
    pub fn write_by(&mut self, at: u64, bytes: &[u8], a: &Access<'_>) -> Result<(), Unsure> {
        let len = bytes.len() as u64;
        if !self.holds(at, len) {
            return Err(Unsure);
        }
        let (mut rest, mut spans) = (bytes, self.spans);
        for (number, from, to) in pieces(at, len) {
            let (now, after) = rest.split_at(to - from);
            let page = self.page(number)?;
            page.put(from, now);
            spans -= page.spans.len();
            page.is_written(from as u16, to as u16, a)?;
            spans += page.spans.len();
            rest = after;
        }
        self.counted(spans)
    }

    fn counted(&mut self, spans: usize) -> Result<(), Unsure> {
        self.spans = spans;
        if spans > MAX_ORDER_SPANS { Err(Unsure) } else { Ok(()) }
    }
}

impl Read for Bytes {
    /// Every byte of a region counts as written.
    fn read(&self, at: u64, out: &mut [u8]) -> Option<u64> {
        let mut rest = out;
        for (number, from, to) in pieces(at, rest.len() as u64) {
            let (now, after) = rest.split_at_mut(to - from);
            let page = self.find(number).and_then(|p| self.pages.get(p as usize));
            match page.and_then(|p| p.bytes.as_ref()) {
                Some(b) => now.copy_from_slice(&b[from..to]),
                None => now.fill(UNWRITTEN),
            }
            rest = after;
        }
        None
    }
}

/// The pages of a stretch: number, and where it begins and ends in each.
fn pieces(at: u64, len: u64) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = at.saturating_add(len);
    let mut at = at;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let (number, from) = (at / PAGE, at % PAGE);
        let to = PAGE.min(from + (end - at));
        at += to - from;
        Some((number, from as usize, to as usize))
    })
}

impl Page {
    fn put(&mut self, from: usize, bytes: &[u8]) {
        let page = self.bytes.get_or_insert_with(|| Box::new([UNWRITTEN; PAGE as usize]));
        page[from..from + bytes.len()].copy_from_slice(bytes);
    }

    /// The spans that have bytes of a stretch.
    fn over(&self, from: u16, to: u16) -> std::ops::Range<usize> {
        // Mostly it goes on behind all others.
        if self.spans.last().is_none_or(|s| s.to <= from) {
            return self.spans.len()..self.spans.len();
        }
        let first = self.spans.partition_point(|s| s.to <= from);
        let count = self.spans[first..].iter().take_while(|s| s.from < to).count();
        first..first + count
    }

    fn is_written(&mut self, from: u16, to: u16, a: &Access<'_>) -> Result<(), Unsure> {
        let over = self.over(from, to);
        let all = &self.spans[over.clone()];
        if !all.iter().all(|s| a.follows(s.wrote) && s.read.are_before(a)) {
            return Err(Unsure);
        }
        let new = Span { from, to, rank: a.rank, wrote: a.mark, read: Readers::None };
        if let [one] = all
            && (one.from, one.to) == (from, to)
        {
            self.spans[over.start] = new;
            return Ok(());
        }
        let before = all.first().filter(|s| s.from < from).map(|s| Span { to: from, ..s.clone() });
        let after = all.last().filter(|s| s.to > to).map(|s| Span { from: to, ..s.clone() });
        if all.is_empty() {
            self.spans.insert(over.start, new);
        } else {
            self.spans.splice(over, before.into_iter().chain([new]).chain(after));
        }
        Ok(())
    }

    fn is_read(&mut self, from: u16, to: u16, a: &Access<'_>) -> Result<(), Unsure> {
        let over = self.over(from, to);
        let all = &mut self.spans[over.clone()];
        let follows = |s: &Span| {
            if s.wrote == a.mark { s.rank < a.rank } else { a.follows(s.wrote) }
        };
        if !all.iter().all(follows) {
            return Err(Unsure);
        }
        let fresh = |from, to| Span {
            from,
            to,
            rank: 0,
            wrote: Mark::default(),
            read: Readers::One(a.mark),
        };
        match all {
            [] => {
                self.spans.insert(over.start, fresh(from, to));
                return Ok(());
            }
            [one] if (one.from, one.to) == (from, to) => {
                one.read.add(a);
                return Ok(());
            }
            _ => {}
        }
        let (mut new, mut at) = (Vec::with_capacity(2 * all.len() + 2), from);
        for s in all.iter() {
            if s.from < from {
                new.push(Span { to: from, ..s.clone() });
            }
            if at < s.from {
                new.push(fresh(at, s.from));
            }
            let mut inner = Span { from: s.from.max(from), to: s.to.min(to), ..s.clone() };
            inner.read.add(a);
            at = inner.to;
            new.push(inner);
            if s.to > to {
                new.push(Span { from: to, ..s.clone() });
            }
        }
        if at < to {
            new.push(fresh(at, to));
        }
        self.spans.splice(over, new);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    /// An access of a test: who, whether it writes, where, how much, and what it gets to know of
    /// first.
    #[derive(Debug, Clone)]
    struct Does {
        agent: u8,
        writes: bool,
        at: u64,
        len: u64,
        asks: Option<u8>,
    }

    const BASE: u64 = PAGE - 40;

    fn accesses() -> impl Strategy<Value = Vec<Does>> {
        let one = (0u8..3, any::<bool>(), 0u64..64, 1u64..24, proptest::option::of(0u8..3));
        let one = one.prop_map(|(agent, writes, at, len, asks)| Does {
            agent,
            writes,
            at: BASE + at,
            len,
            asks,
        });
        prop::collection::vec(one, 0..40)
    }

    /// The same byte by byte: all accesses of each byte are kept, and each is compared.
    fn plain(list: &[Does], knows: &[Known]) -> Option<usize> {
        let mut done: Vec<(u64, u64, bool, Mark)> = Vec::new();
        let mut counts = [0; AGENTS];
        for (n, d) in list.iter().enumerate() {
            counts[usize::from(d.agent)] += 1;
            let races = |o: &(u64, u64, bool, Mark)| {
                let meet = o.0 < d.at + d.len && d.at < o.0 + o.1;
                meet && (o.2 || d.writes) && !o.3.is_known(&knows[n])
            };
            if done.iter().any(races) {
                return Some(n);
            }
            let mark = Mark { agent: d.agent, count: counts[usize::from(d.agent)] };
            done.push((d.at, d.len, d.writes, mark));
        }
        None
    }

    proptest! {
        #[test]
        fn the_first_race_is_where_every_pair_compared_has_it(list in accesses()) {
            let mut known = [[0; AGENTS]; 3];
            let mut counts = [0; AGENTS];
            let knows: Vec<Known> = list
                .iter()
                .map(|d| {
                    let me = usize::from(d.agent);
                    if let Some(o) = d.asks {
                        let other = known[usize::from(o)];
                        known[me].iter_mut().zip(other).for_each(|(a, b)| *a = b.max(*a));
                    }
                    let before = known[me];
                    counts[me] += 1;
                    known[me][me] = counts[me];
                    before
                })
                .collect();
            let mut bytes = Bytes::new(vec![(0, 4 * PAGE)]);
            let mut flat = vec![UNWRITTEN; 4 * PAGE as usize];
            let (mut counts, mut found) = ([0; AGENTS], None);
            for (n, d) in list.iter().enumerate() {
                counts[usize::from(d.agent)] += 1;
                let mark = Mark { agent: d.agent, count: counts[usize::from(d.agent)] };
                let a = Access { mark, known: &knows[n], rank: 0 };
                let here = d.at as usize..(d.at + d.len) as usize;
                let ok = if d.writes {
                    let new = vec![n as u8; d.len as usize];
                    flat[here].copy_from_slice(&new);
                    bytes.write_by(d.at, &new, &a)
                } else {
                    let mut out = Vec::new();
                    let ok = bytes.read_by(d.at, d.len, &a, &mut out);
                    prop_assert!(ok.is_err() || out[..] == flat[here]);
                    ok
                };
                if ok.is_err() {
                    found = Some(n);
                    break;
                }
                let mut all = vec![0; flat.len()];
                Read::read(&bytes, 0, &mut all);
                prop_assert_eq!(&all, &flat);
                let apart = |p: &Page| {
                    p.spans.iter().all(|s| s.from < s.to)
                        && p.spans.windows(2).all(|w| w[0].to <= w[1].from)
                };
                prop_assert!(bytes.pages.iter().all(apart));
            }
            prop_assert_eq!(found, plain(&list, &knows));
        }
    }

    #[test]
    fn what_lies_outside_of_the_regions_is_not_touched() {
        let mut bytes = Bytes::new(vec![(0, 100), (200, 300)]);
        let a = Access { mark: Mark { agent: 0, count: 1 }, known: &[0; AGENTS], rank: 0 };
        assert_eq!(bytes.write_by(90, &[0; 11], &a), Err(Unsure));
        assert_eq!(bytes.write_by(90, &[0; 10], &a), Ok(()));
        assert_eq!(bytes.read_by(150, 1, &a, &mut Vec::new()), Err(Unsure));
        assert_eq!(bytes.load(u64::MAX, &[0; 2]), Err(Unsure));
        assert_eq!(bytes.load(299, &[0]), Ok(()));
    }

    #[test]
    fn a_read_of_its_own_batch_follows_the_writes_that_come_before_it_only() {
        let mut bytes = Bytes::new(vec![(0, PAGE)]);
        let mark = Mark { agent: 1, count: 1 };
        let access = |rank| Access { mark, known: &[0; AGENTS], rank };
        bytes.write_by(0, &[1; 8], &access(3)).unwrap();
        assert_eq!(bytes.read_by(4, 8, &access(3), &mut Vec::new()), Err(Unsure));
        assert_eq!(bytes.read_by(4, 8, &access(4), &mut Vec::new()), Ok(()));
        // A write of the same batch over its own read.
        assert_eq!(bytes.write_by(0, &[2; 8], &access(4)), Ok(()));
    }
}
