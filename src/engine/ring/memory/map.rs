//! The extents by their first address: a tree whose nodes copies of it share, so that a copy
//! costs nothing and a change makes anew only what it changes and shares with a copy.
//!
//! Descriptors that lie side by side, as the slots of a ring do, are kept by their bytes alone:
//! between two checkpoints a ring may be written anew slot by slot (`docs/timeline.md`,
//! "Checkpoints"). Outside of this file they are extents as all others.

use super::{Extent, Source};
use crate::udma::DESC_BYTES;
use std::borrow::Cow;
use std::mem::{replace, take};
use std::sync::Arc;

/// Entries of a node.
const MOST: usize = 32;
/// A node with fewer becomes one with its neighbour, where both fit; fewer descriptors side by
/// side are kept as extents.
const LEAST: usize = 8;
/// Entries of a node that is put together at once: there is room for more.
const FULL: usize = 24;
/// Bytes of a node without its entries, what its allocations cost included.
pub(super) const NODE_BYTES: u64 = 96;
/// Bytes of an extent in a node.
pub(super) const ENTRY_BYTES: u64 = size_of::<Entry>() as u64;

const SLOT: u64 = DESC_BYTES as u64;

type Bytes = [u8; DESC_BYTES];
pub(super) type Entry = (u64, Extent);
/// Nodes, each with an address: no extent of it begins before, and all of those before it do.
type Kids = Vec<(u64, Arc<Node>)>;
/// An extent and where it begins.
pub(super) type Found<'a> = (u64, Cow<'a, Extent>);

/// What lies around an address.
pub(super) struct Near<'a> {
    /// The last extent that begins before it.
    pub before: Option<Found<'a>>,
    /// The one that begins there.
    pub at: Option<Cow<'a, Extent>>,
    /// The first that begins after it.
    pub after: Option<Found<'a>>,
}

#[derive(Debug, Clone)]
enum Node {
    Leaf(Leaf),
    Inner(Kids),
}

#[derive(Debug, Clone)]
enum Leaf {
    /// Extents by their first address, in order.
    Any(Vec<Entry>),
    /// Extents of a whole descriptor each, side by side from an address on.
    Slots(u64, Vec<Bytes>),
}

/// The map.
#[derive(Debug, Clone)]
pub(super) struct Map {
    root: Arc<Node>,
    len: usize,
    /// Bytes of nodes that were made anew because a copy shares them, so far.
    made: u64,
}

/// The bytes of an extent that is a whole descriptor and nothing else.
fn slot(e: &Extent) -> Option<&Bytes> {
    match &e.source {
        Source::Inline(bytes, 0) if e.len == SLOT => Some(bytes),
        _ => None,
    }
}

fn extent(bytes: &Bytes) -> Extent {
    Extent { len: SLOT, source: Source::Inline(*bytes, 0) }
}

fn place(base: u64, k: usize) -> u64 {
    base.saturating_add(k as u64 * SLOT)
}

/// The child in which an extent that begins at `key` lies.
fn child(kids: &Kids, key: u64) -> usize {
    kids.partition_point(|k| k.0 <= key).saturating_sub(1)
}

impl Leaf {
    fn of(all: Vec<Entry>) -> Leaf {
        let base = all.first().map_or(0, |e| e.0);
        let side_by_side =
            |(k, e): (usize, &Entry)| slot(&e.1).filter(|_| e.0 == place(base, k)).copied();
        if all.len() >= LEAST
            && let Some(slots) = all.iter().enumerate().map(side_by_side).collect()
        {
            return Leaf::Slots(base, slots);
        }
        Leaf::Any(all)
    }

    fn len(&self) -> usize {
        match self {
            Leaf::Any(all) => all.len(),
            Leaf::Slots(_, all) => all.len(),
        }
    }

    fn first(&self) -> u64 {
        match self {
            Leaf::Any(all) => all.first().map_or(0, |e| e.0),
            Leaf::Slots(base, _) => *base,
        }
    }

    /// Takes its entries out.
    fn entries(&mut self) -> Vec<Entry> {
        match self {
            Leaf::Any(all) => take(all),
            Leaf::Slots(base, all) => {
                let base = *base;
                let all = take(all).into_iter().enumerate();
                all.map(|(k, s)| (place(base, k), extent(&s))).collect()
            }
        }
    }

    /// The number of the descriptor that begins at `key`, if one does.
    fn number(&self, key: u64) -> Option<usize> {
        let Leaf::Slots(base, all) = self else { return None };
        let off = key.checked_sub(*base)?;
        (off.is_multiple_of(SLOT) && off / SLOT < all.len() as u64).then_some((off / SLOT) as usize)
    }

    fn insert(&mut self, key: u64, e: Extent) -> Option<Extent> {
        let number = self.number(key);
        if let (Leaf::Slots(base, all), Some(new)) = (&mut *self, slot(&e)) {
            if let Some(old) = number.and_then(|k| all.get_mut(k)) {
                return Some(extent(&replace(old, *new)));
            }
            if all.len() < MOST && key == place(*base, all.len()) {
                all.push(*new);
                return None;
            }
        }
        let mut all = self.entries();
        let old = match all.binary_search_by_key(&key, |e| e.0) {
            Ok(k) => Some(replace(&mut all[k].1, e)),
            Err(k) => {
                all.insert(k, (key, e));
                None
            }
        };
        *self = Leaf::Any(all);
        old
    }

    fn remove(&mut self, key: u64) -> Option<Extent> {
        let mut all = self.entries();
        let old = all.binary_search_by_key(&key, |e| e.0).ok().map(|k| all.remove(k).1);
        *self = Leaf::Any(all);
        old
    }

    /// Cuts the second half off; all but the last entry stay where that one was put last.
    fn split(&mut self, newest: u64) -> Leaf {
        let mut all = self.entries();
        let last = all.last().is_some_and(|e| e.0 == newest);
        let rest = all.split_off(if last { all.len() - 1 } else { all.len() / 2 });
        *self = Leaf::of(all);
        Leaf::of(rest)
    }
}

impl Node {
    fn len(&self) -> usize {
        match self {
            Node::Leaf(leaf) => leaf.len(),
            Node::Inner(kids) => kids.len(),
        }
    }

    fn bytes(&self) -> u64 {
        let entries = match self {
            Node::Leaf(Leaf::Any(all)) => all.capacity() * size_of::<Entry>(),
            Node::Leaf(Leaf::Slots(_, all)) => all.capacity() * DESC_BYTES,
            Node::Inner(kids) => kids.capacity() * size_of::<(u64, Arc<Node>)>(),
        };
        NODE_BYTES + entries as u64
    }

    /// The node for changing it: a copy of it, as small as it can be, where others share it.
    fn own<'a>(node: &'a mut Arc<Node>, made: &mut u64) -> &'a mut Node {
        if Arc::get_mut(node).is_none() {
            let copy = match &**node {
                Node::Leaf(Leaf::Any(all)) => Node::Leaf(Leaf::of(all.clone())),
                other => other.clone(),
            };
            *made += copy.bytes();
            *node = Arc::new(copy);
        }
        Arc::make_mut(node)
    }

    /// The last extent that begins at `key` or before.
    fn until(&self, key: u64) -> Option<Found<'_>> {
        match self {
            Node::Leaf(Leaf::Any(all)) => {
                let k = all.partition_point(|e| e.0 <= key).checked_sub(1)?;
                all.get(k).map(|(at, e)| (*at, Cow::Borrowed(e)))
            }
            Node::Leaf(Leaf::Slots(base, all)) => {
                let last = all.len().checked_sub(1)?;
                let k = (key.checked_sub(*base)? / SLOT).min(last as u64) as usize;
                all.get(k).map(|s| (place(*base, k), Cow::Owned(extent(s))))
            }
            Node::Inner(kids) => {
                let k = child(kids, key);
                // Mostly there; else what lies before ends with the child before.
                kids.get(..=k)?.iter().rev().find_map(|kid| kid.1.until(key))
            }
        }
    }

    /// The first extent that begins at `key` or after.
    fn from(&self, key: u64) -> Option<Found<'_>> {
        match self {
            Node::Leaf(Leaf::Any(all)) => {
                let k = all.partition_point(|e| e.0 < key);
                all.get(k).map(|(at, e)| (*at, Cow::Borrowed(e)))
            }
            Node::Leaf(Leaf::Slots(base, all)) => {
                let k = usize::try_from(key.saturating_sub(*base).div_ceil(SLOT)).ok()?;
                all.get(k).map(|s| (place(*base, k), Cow::Owned(extent(s))))
            }
            Node::Inner(kids) => {
                kids.get(child(kids, key)..)?.iter().find_map(|kid| kid.1.from(key))
            }
        }
    }

    /// The leaf in which an extent that begins at `key` lies or would lie.
    fn leaf(&self, key: u64) -> Option<&Leaf> {
        let mut node = self;
        loop {
            match node {
                Node::Leaf(leaf) => return Some(leaf),
                Node::Inner(kids) => node = &kids.get(child(kids, key))?.1,
            }
        }
    }

    /// Gives the extents that begin at `from` or after and before `to` to `f`, as long as that
    /// says to go on; whether it always did.
    fn each(&self, from: u64, to: u64, f: &mut dyn FnMut(u64, &Extent) -> bool) -> bool {
        match self {
            Node::Leaf(Leaf::Any(all)) => {
                let rest = &all[all.partition_point(|e| e.0 < from)..];
                rest.iter().take_while(|e| e.0 < to).all(|(at, e)| f(*at, e))
            }
            Node::Leaf(Leaf::Slots(base, all)) => {
                let first = from.saturating_sub(*base).div_ceil(SLOT);
                let rest = all.iter().enumerate().skip(first.min(all.len() as u64) as usize);
                rest.map(|(k, s)| (place(*base, k), s))
                    .take_while(|s| s.0 < to)
                    .all(|(at, s)| f(at, &extent(s)))
            }
            Node::Inner(kids) => {
                let first = child(kids, from);
                let rest = kids.iter().enumerate().skip(first);
                rest.take_while(|(k, kid)| *k == first || kid.0 < to)
                    .all(|(_, kid)| kid.1.each(from, to, f))
            }
        }
    }

    /// Puts an extent in: the one that began there, and the second half of this node where it
    /// became two.
    fn insert(
        &mut self,
        key: u64,
        e: Extent,
        made: &mut u64,
    ) -> (Option<Extent>, Option<(u64, Node)>) {
        match self {
            Node::Leaf(leaf) => {
                let old = leaf.insert(key, e);
                let half = (leaf.len() > MOST).then(|| leaf.split(key));
                (old, half.map(|half| (half.first(), Node::Leaf(half))))
            }
            Node::Inner(kids) => {
                let k = child(kids, key);
                let Some(kid) = kids.get_mut(k) else { return (None, None) };
                kid.0 = kid.0.min(key);
                let (old, half) = Node::own(&mut kid.1, made).insert(key, e, made);
                if let Some((at, half)) = half {
                    kids.insert(k + 1, (at, Arc::new(half)));
                }
                let half = (kids.len() > MOST).then(|| {
                    // What grows at its end keeps its nodes full.
                    let end = k + 2 >= kids.len();
                    kids.split_off(if end { kids.len() - 1 } else { kids.len() / 2 })
                });
                let half = half.and_then(|half| Some((half.first()?.0, Node::Inner(half))));
                (old, half)
            }
        }
    }

    /// Takes an extent out that is there.
    fn remove(&mut self, key: u64, made: &mut u64) -> Option<Extent> {
        match self {
            Node::Leaf(leaf) => leaf.remove(key),
            Node::Inner(kids) => {
                let k = child(kids, key);
                let kid = kids.get_mut(k)?;
                let old = Node::own(&mut kid.1, made).remove(key, made);
                let len = kid.1.len();
                if len == 0 {
                    kids.remove(k);
                } else if len < LEAST {
                    Node::merge(kids, k, made);
                }
                old
            }
        }
    }

    /// Makes a child one with a neighbour, where both fit.
    fn merge(kids: &mut Kids, k: usize, made: &mut u64) {
        let len = |k: usize| kids.get(k).map_or(MOST, |kid| kid.1.len());
        let first = match k.checked_sub(1) {
            Some(before) if len(before) + len(k) <= MOST => before,
            _ if len(k) + len(k + 1) <= MOST => k,
            _ => return,
        };
        let (_, mut second) = kids.remove(first + 1);
        let Some(kid) = kids.get_mut(first) else { return };
        match (Node::own(&mut kid.1, made), Node::own(&mut second, made)) {
            (Node::Leaf(a), Node::Leaf(b)) => {
                let mut all = a.entries();
                all.append(&mut b.entries());
                *a = Leaf::Any(all);
            }
            (Node::Inner(a), Node::Inner(b)) => a.append(b),
            _ => {}
        }
    }
}

impl Map {
    pub fn new() -> Map {
        Map { root: Arc::new(Node::Leaf(Leaf::Any(Vec::new()))), len: 0, made: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes of nodes that were made anew because a copy shares them, so far.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// The extent that begins at `key`.
    pub fn get(&self, key: u64) -> Option<Cow<'_, Extent>> {
        self.until(key).filter(|e| e.0 == key).map(|e| e.1)
    }

    /// The last extent that begins at `key` or before.
    pub fn until(&self, key: u64) -> Option<Found<'_>> {
        self.root.until(key)
    }

    /// What lies around an address.
    pub fn near(&self, key: u64) -> Near<'_> {
        let mut near = Near { before: None, at: None, after: None };
        // Mostly all three lie in one leaf.
        match self.root.leaf(key) {
            Some(Leaf::Any(all)) => {
                let found = |k: usize| all.get(k).map(|(at, e)| (*at, Cow::Borrowed(e)));
                let k = all.partition_point(|e| e.0 < key);
                near.before = k.checked_sub(1).and_then(found);
                near.at = found(k).filter(|e| e.0 == key).map(|e| e.1);
                near.after = found(k + usize::from(near.at.is_some()));
            }
            Some(Leaf::Slots(base, all)) => {
                let found = |k: usize| all.get(k).map(|s| (place(*base, k), Cow::Owned(extent(s))));
                let k = key.saturating_sub(*base).div_ceil(SLOT).min(all.len() as u64) as usize;
                near.before = k.checked_sub(1).and_then(found);
                near.at = found(k).filter(|e| e.0 == key).map(|e| e.1);
                near.after = found(k + usize::from(near.at.is_some()));
            }
            None => {}
        }
        if near.before.is_none() {
            near.before = key.checked_sub(1).and_then(|k| self.until(k));
        }
        if near.after.is_none() {
            near.after = key.checked_add(1).and_then(|k| self.from(k));
        }
        near
    }

    /// The first extent that begins at `key` or after.
    pub fn from(&self, key: u64) -> Option<Found<'_>> {
        self.root.from(key)
    }

    /// Gives the extents that begin at `from` or after and before `to` to `f`, as long as that
    /// says to go on.
    pub fn each(&self, from: u64, to: u64, mut f: impl FnMut(u64, &Extent) -> bool) {
        self.root.each(from, to, &mut f);
    }

    /// Puts an extent in; answers which one began there.
    pub fn insert(&mut self, key: u64, e: Extent) -> Option<Extent> {
        let (old, half) = Node::own(&mut self.root, &mut self.made).insert(key, e, &mut self.made);
        if let Some((at, half)) = half {
            let first = self.root.clone();
            self.root = Arc::new(Node::Inner(vec![(0, first), (at, Arc::new(half))]));
        }
        self.len += usize::from(old.is_none());
        old
    }

    /// The map of other extents, which are in order.
    pub fn put_together(&mut self, all: Vec<Entry>) {
        self.len = all.len();
        let mut leaves: Vec<Leaf> = Vec::with_capacity(all.len() / FULL + 1);
        let mut some: Vec<Entry> = Vec::new();
        for entry in all {
            // Descriptors side by side have leaves of their own.
            let other =
                some.last().is_some_and(|e| slot(&e.1).is_some() != slot(&entry.1).is_some());
            if some.len() >= FULL || other && some.len() >= LEAST {
                leaves.push(Leaf::of(take(&mut some)));
            }
            some.push(entry);
        }
        if !some.is_empty() || leaves.is_empty() {
            leaves.push(Leaf::of(some));
        }
        let mut nodes: Kids = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            let (first, node) = (leaf.first(), Node::Leaf(leaf));
            self.made += node.bytes();
            nodes.push((first, Arc::new(node)));
        }
        while nodes.len() > 1 {
            let mut above = Vec::with_capacity(nodes.len() / FULL + 1);
            let mut rest = nodes.into_iter();
            loop {
                let kids: Kids = rest.by_ref().take(FULL).collect();
                let Some(first) = kids.first().map(|k| k.0) else { break };
                let node = Node::Inner(kids);
                self.made += node.bytes();
                above.push((first, Arc::new(node)));
            }
            nodes = above;
        }
        if let Some((_, root)) = nodes.pop() {
            self.root = root;
        }
    }

    /// Takes out the extent that begins at `key`.
    pub fn remove(&mut self, key: u64) -> Option<Extent> {
        self.get(key)?;
        let old = Node::own(&mut self.root, &mut self.made).remove(key, &mut self.made);
        while let Node::Inner(kids) = &*self.root {
            let Some((_, only)) = kids.first().filter(|_| kids.len() == 1) else { break };
            self.root = only.clone();
        }
        self.len -= usize::from(old.is_some());
        old
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Debug, Clone)]
    enum Op {
        /// Descriptors side by side from a slot on.
        Slots(u64, u64, u8),
        Byte(u64, u8),
        Remove(u64),
        /// As many as there are, from here on.
        Sweep(u64, usize),
        /// A copy is kept: all is shared.
        Keep,
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            4 => (0u64..300, 1u64..80, any::<u8>()).prop_map(|(a, n, b)| Op::Slots(a, n, b)),
            3 => (0u64..5000, any::<u8>()).prop_map(|(a, b)| Op::Byte(a, b)),
            3 => (0u64..5000).prop_map(Op::Remove),
            1 => (0u64..5000, 1usize..90).prop_map(|(a, n)| Op::Sweep(a, n)),
            2 => Just(Op::Keep),
        ]
    }

    fn word(e: &Extent) -> u64 {
        e.source.hash().wrapping_add(e.len)
    }

    fn same(map: &Map, plain: &BTreeMap<u64, Extent>) -> Result<(), TestCaseError> {
        prop_assert_eq!(map.len(), plain.len());
        let mut all = Vec::new();
        map.each(0, u64::MAX, |at, e| {
            all.push((at, word(e)));
            true
        });
        let want: Vec<(u64, u64)> = plain.iter().map(|(at, e)| (*at, word(e))).collect();
        prop_assert_eq!(all, want);
        Ok(())
    }

    proptest! {
        /// It is an ordered map, and what was kept of it stays as it was.
        #[test]
        fn it_is_an_ordered_map(
            ops in prop::collection::vec(op(), 0..60),
            asks in prop::collection::vec((0u64..5400, 0u64..700, 0usize..40), 8),
        ) {
            let (mut map, mut plain) = (Map::new(), BTreeMap::new());
            let mut kept = Vec::new();
            for op in ops {
                let mut put = |at, e: Extent| {
                    let (a, b) = (map.insert(at, e.clone()), plain.insert(at, e));
                    assert_eq!(a.map(|e| word(&e)), b.map(|e| word(&e)));
                };
                match op {
                    Op::Slots(a, n, b) => {
                        (a..a + n).for_each(|k| put(k * SLOT, extent(&[b ^ k as u8; DESC_BYTES])));
                    }
                    Op::Byte(a, b) => put(a, Extent { len: 1, source: Source::Byte(b) }),
                    Op::Remove(a) => {
                        let (a, b) = (map.remove(a), plain.remove(&a));
                        prop_assert_eq!(a.map(|e| word(&e)), b.map(|e| word(&e)));
                    }
                    Op::Sweep(a, n) => {
                        let gone: Vec<u64> = plain.range(a..).take(n).map(|e| *e.0).collect();
                        for at in gone {
                            prop_assert!(map.remove(at).is_some() && plain.remove(&at).is_some());
                        }
                    }
                    Op::Keep => kept.push((map.clone(), plain.clone())),
                }
            }
            kept.push((map, plain));
            for (map, plain) in &kept {
                same(map, plain)?;
                for (at, len, most) in &asks {
                    let told = |e: Found<'_>| (e.0, word(&e.1));
                    let want = |e: (&u64, &Extent)| (*e.0, word(e.1));
                    prop_assert_eq!(map.until(*at).map(told), plain.range(..=at).next_back().map(want));
                    prop_assert_eq!(map.from(*at).map(told), plain.range(at..).next().map(want));
                    prop_assert_eq!(map.get(*at).map(|e| word(&e)), plain.get(at).map(word));
                    let near = map.near(*at);
                    prop_assert_eq!(near.before.map(told), plain.range(..at).next_back().map(want));
                    prop_assert_eq!(near.at.map(|e| word(&e)), plain.get(at).map(word));
                    prop_assert_eq!(near.after.map(told), plain.range(at + 1..).next().map(want));
                    let mut some = Vec::new();
                    map.each(*at, at + len, |at, e| {
                        some.push((at, word(e)));
                        some.len() < *most
                    });
                    let some_plain = plain.range(at..&(at + len)).map(want);
                    let some_plain: Vec<_> = some_plain.take((*most).max(1)).collect();
                    prop_assert_eq!(some, some_plain);
                }
            }
        }
    }

    #[test]
    fn a_ring_that_is_written_again_costs_its_bytes() {
        let mut map = Map::new();
        let lap = |map: &mut Map, b: u8| {
            (0..8192u64)
                .for_each(|k| drop(map.insert(k * SLOT, extent(&[b ^ k as u8; DESC_BYTES]))));
        };
        lap(&mut map, 1);
        assert_eq!(map.made(), 0);
        let _kept = map.clone();
        lap(&mut map, 2);
        assert!(map.made() < 8192 * 24, "{}", map.made());
    }
}
