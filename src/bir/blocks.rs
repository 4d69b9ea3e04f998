//! DMA blocks by the names of their queue and their own, numbered over all queues
//! (`docs/verify.md`, B060 to B064).
//!
//! A module has as many blocks as transfers: names are looked up once, and what is kept for a
//! block is kept by its number.

use super::quick::{Quick, QuickMap};
use super::{Inst, Name};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Number of a DMA block of a module: in the order of its queues, repeated names left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockNo(pub u32);

/// What is found by its name.
pub trait Named {
    /// Its name.
    fn name(&self) -> &str;
}

impl Named for &str {
    fn name(&self) -> &str {
        self
    }
}

impl Named for Arc<Inst> {
    fn name(&self) -> &str {
        &self.name
    }
}

/// The blocks of a module. Of two with one name in one queue the first counts; queues with one
/// name are one.
#[derive(Debug)]
pub struct Blocks<B> {
    all: Vec<Placed<B>>,
    queues: Vec<Queue>,
    by_name: QuickMap<Name, u32>,
    quick: Quick,
}

#[derive(Debug)]
struct Placed<B> {
    queue: u32,
    position: u32,
    block: B,
}

#[derive(Debug)]
struct Queue {
    name: Name,
    /// Its first block; one behind the last of the first queue of this name.
    first: u32,
    end: u32,
    numbers: HashTable<u32>,
}

/// Where whoever looks up names expects the next one in each queue: mostly they come in the order
/// of the blocks.
#[derive(Debug, Clone, Default)]
pub struct Expected(Vec<u32>);

/// Two names are the same; mostly they are even one text.
fn same(a: &str, b: &str) -> bool {
    std::ptr::eq(a, b) || a == b
}

impl<B> Default for Blocks<B> {
    fn default() -> Blocks<B> {
        let (all, queues, by_name) = (Vec::new(), Vec::new(), QuickMap::default());
        Blocks { all, queues, by_name, quick: Quick::default() }
    }
}

impl<B: Named> Blocks<B> {
    /// Adds the blocks of a queue, each with its position in it; about `count` of them. Says
    /// whether each of them has a name of its own in the queue.
    pub fn add(
        &mut self,
        name: &Name,
        count: usize,
        blocks: impl Iterator<Item = (u32, B)>,
    ) -> bool {
        let at = *self.by_name.entry(name.clone()).or_insert(self.queues.len() as u32);
        let Blocks { all, queues, quick, .. } = self;
        let again = queues.len() as u32 > at;
        if !again {
            let (first, numbers) = (all.len() as u32, HashTable::with_capacity(count));
            queues.push(Queue { name: name.clone(), first, end: first, numbers });
        }
        let Some(queue) = queues.get_mut(at as usize) else { return false };
        all.reserve(count);
        let mut apart = true;
        for (position, block) in blocks {
            let new = block.name();
            let named = |n: &u32| all.get(*n as usize).map_or("", |p| p.block.name());
            let entry = queue.numbers.entry(
                quick.hash_one(new),
                |n| same(named(n), new),
                |n| quick.hash_one(named(n)),
            );
            match entry {
                Entry::Occupied(_) => apart = false,
                Entry::Vacant(entry) => {
                    entry.insert(all.len() as u32);
                    all.push(Placed { queue: at, position, block });
                }
            }
        }
        if !again {
            queue.end = all.len() as u32;
        }
        apart
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether there is a queue of this name.
    pub fn has_queue(&self, queue: &str) -> bool {
        self.by_name.contains_key(queue)
    }

    /// A block by the names of its queue and its own.
    pub fn find(&self, queue: &str, name: &str, expected: &mut Expected) -> Option<BlockNo> {
        let at = *self.by_name.get(queue)?;
        if expected.0.is_empty() {
            expected.0.extend(self.queues.iter().map(|q| q.first));
        }
        let next = expected.0.get_mut(at as usize)?;
        let here = self.all.get(*next as usize);
        let n = if here.is_some_and(|p| p.queue == at && same(p.block.name(), name)) {
            *next
        } else {
            let hash = self.quick.hash_one(name);
            let named = |n: &u32| self.all.get(*n as usize).map(|p| p.block.name());
            let numbers = &self.queues.get(at as usize)?.numbers;
            *numbers.find(hash, |n| named(n).is_some_and(|own| same(own, name)))?
        };
        *next = n + 1;
        Some(BlockNo(n))
    }

    /// The name of its queue, its position in that, and itself.
    pub fn get(&self, n: BlockNo) -> Option<(&Name, u32, &B)> {
        let p = self.all.get(n.0 as usize)?;
        Some((&self.queues.get(p.queue as usize)?.name, p.position, &p.block))
    }

    /// Whether it is in the first of the queues that have its queue's name.
    pub fn is_of_the_first(&self, n: BlockNo) -> bool {
        let queue = self.all.get(n.0 as usize).and_then(|p| self.queues.get(p.queue as usize));
        queue.is_some_and(|q| (q.first..q.end).contains(&n.0))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    type Queues = Vec<(u8, Vec<u8>)>;

    /// Queues of a few names, some of which repeat, with blocks of a few names.
    fn queues() -> impl Strategy<Value = Queues> {
        prop::collection::vec((0u8..4, prop::collection::vec(0u8..12, 0..10)), 0..6)
    }

    fn names() -> Vec<String> {
        (0..13).map(|n| format!("b{n}")).collect()
    }

    proptest! {
        #[test]
        fn what_is_found_is_the_first_of_its_name(all in queues(), asked in prop::collection::vec((0u8..5, 0u8..13), 0..40)) {
            let names = names();
            let queue = |n: u8| format!("q{n}");
            let mut blocks: Blocks<&str> = Blocks::default();
            // The same in a list: queue, block, position, whether the queue is the first so named.
            let mut list: Vec<(u8, u8, u32, bool)> = Vec::new();
            for (k, (q, own)) in all.iter().enumerate() {
                let first = all[..k].iter().all(|o| o.0 != *q);
                let mut apart = true;
                for (at, b) in (0u32..).zip(own) {
                    if list.iter().any(|l| (l.0, l.1) == (*q, *b)) {
                        apart = false;
                    } else {
                        list.push((*q, *b, at, first));
                    }
                }
                let named = (0u32..).zip(own).map(|(at, b)| (at, &*names[*b as usize]));
                prop_assert_eq!(blocks.add(&queue(*q).into(), own.len(), named), apart);
            }
            prop_assert_eq!(blocks.len(), list.len());
            let mut expected = Expected::default();
            for (q, b) in asked {
                let found = blocks.find(&queue(q), &names[b as usize], &mut expected);
                let wanted = list.iter().position(|l| (l.0, l.1) == (q, b));
                prop_assert_eq!(found.map(|n| n.0 as usize), wanted);
                prop_assert_eq!(blocks.has_queue(&queue(q)), all.iter().any(|o| o.0 == q));
                if let (Some(n), Some(w)) = (found, wanted) {
                    let (of, position, name) = blocks.get(n).unwrap();
                    prop_assert_eq!((&**of, position, *name), (&*queue(q), list[w].2, &*names[b as usize]));
                    prop_assert_eq!(blocks.is_of_the_first(n), list[w].3);
                }
            }
        }
    }

    #[test]
    fn blocks_that_come_in_turn_are_expected() {
        let names = names();
        let mut blocks: Blocks<&str> = Blocks::default();
        blocks.add(&"q".into(), 3, (0u32..).zip(names[..3].iter().map(|n| &**n)));
        let mut expected = Expected::default();
        for n in [0, 1, 2, 1, 2] {
            assert_eq!(blocks.find("q", &names[n as usize], &mut expected), Some(BlockNo(n)));
            assert_eq!(expected.0, [n + 1]);
        }
        assert_eq!(blocks.find("q", "b7", &mut expected), None);
        assert_eq!(expected.0, [3]);
    }
}
