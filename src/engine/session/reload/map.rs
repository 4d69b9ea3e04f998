//! Two programs, one that was and one that is: which event, slot, instruction, queue and address
//! of the one is which of the other.

use super::super::search::Watch;
use super::insts::{Insts, Side};
use super::trace::{Laid, Names, RingId, Trace, Want, queue_name, trace};
use crate::bir::Pos;
use crate::engine::diff::Change;
use crate::engine::diff::align::{align, gaps, settle};
use crate::engine::edit::{Change as EditChange, slot_at};
use crate::engine::program::{Program, QueueId};
use crate::limits::MAX_RELOAD_WORK;
use crate::udma::{Dir, reg};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventIs {
    /// It is this one.
    Here(u64),
    /// There is none like it; the nearest before it that there is.
    Gone(u64),
    /// It lies beyond the events that are compared: nothing but its number is known.
    Beyond,
}

/// What became of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotIs {
    /// Its descriptor lies in this one.
    Here(QueueId, u64),
    /// No descriptor lay in it: there is nothing to know it by but its number.
    Empty(QueueId),
    /// Its descriptor is gone.
    Gone,
}

/// The descriptors of one ring.
#[derive(Debug, Default)]
struct RingMap {
    /// By the left's number of a descriptor: the right's.
    to: Vec<Option<usize>>,
    /// By the right's number: whether it is new or another than it was.
    news: Vec<Option<Change>>,
}

/// Which is which of two programs.
#[derive(Debug)]
pub struct Map {
    a: Arc<Program>,
    b: Arc<Program>,
    /// Both are the same program: everything is itself.
    same: bool,
    insts: Insts,
    queues: HashMap<QueueId, QueueId>,
    left: Trace,
    right: Trace,
    /// By the left's number of an event less 1: the right's.
    events: Vec<Option<u64>>,
    rings: BTreeMap<RingId, RingMap>,
}

/// Whether two sequences of keys have the same elements, and which: pairs, and of the right what
/// is new or changed.
fn matched(
    (a, b): (&[u64], &[u64]),
    unlike: &dyn Fn(usize, usize) -> Option<u32>,
) -> (Vec<Option<usize>>, Vec<Option<Change>>) {
    let found = align(a, b, &mut { MAX_RELOAD_WORK });
    let (mut to, mut news) = (vec![None; a.len()], vec![Some(Change::Added); b.len()]);
    for r in &found.runs {
        for i in 0..r.len {
            (to[r.a + i], news[r.b + i]) = (Some(r.b + i), None);
        }
    }
    let s = settle((a, b), &gaps(&found.runs, (a.len(), b.len())), unlike);
    for (i, j) in s.moved {
        (to[i], news[j]) = (Some(j), None);
    }
    for (i, j) in s.changed {
        (to[i], news[j]) = (Some(j), Some(Change::Changed));
    }
    (to, news)
}

/// How different two descriptors are, from 0 to 1000.
fn unlike(a: &Laid, b: &Laid) -> u32 {
    let (x, y) = (a.desc, b.desc);
    250 * (u32::from(x.ptr != y.ptr)
        + u32::from(x.word1 != y.word1)
        + u32::from(x.length() != y.length())
        + u32::from((x.len_ctrl ^ y.len_ctrl) >> 16 & !(3 << 8) != 0))
}

impl Map {
    /// Compares two programs as far as `want` of the left asks for.
    pub(super) fn new(a: &Arc<Program>, b: &Arc<Program>, want: &Want, watch: Watch<'_>) -> Map {
        let same = a == b;
        let (left, right) = if same { Default::default() } else { (Side::of(a), Side::of(b)) };
        let mut map = Map {
            a: a.clone(),
            b: b.clone(),
            same,
            insts: if same { Insts::same(a) } else { Insts::new(&left, &right) },
            queues: HashMap::new(),
            left: Trace::default(),
            right: Trace::default(),
            events: Vec::new(),
            rings: BTreeMap::new(),
        };
        let by_name: HashMap<String, QueueId> =
            b.queues.iter().map(|q| (queue_name(b, q.id), q.id)).collect();
        let named = a.queues.iter().filter_map(|q| {
            let other = by_name.get(&queue_name(a, q.id))?;
            Some((q.id, *other))
        });
        map.queues = named.collect();
        if same {
            return map;
        }
        let right_keys = right.keys();
        let mut left_keys = left.keys();
        // One that has another name has the key of what it is now.
        for (pos, key) in left_keys.iter_mut().enumerate() {
            if let Some(to) = map.insts.of(Pos(pos as u32)) {
                *key = right_keys.get(to.0 as usize).copied().unwrap_or(*key);
            }
        }
        map.left = trace(&Names::new(a, left_keys), want, watch);
        let n = map.left.keys.len() as u64;
        // As much of the right as may lie before the last event of the left.
        let reach = Want { event: if n > 0 { n.saturating_mul(2) } else { 0 }, ..Want::default() };
        map.right = trace(&Names::new(b, right_keys), &reach, watch);
        if map.left.cancelled || map.right.cancelled {
            (map.left, map.right) = (Trace::default(), Trace::default());
        }
        map.match_events();
        map.match_rings();
        map
    }

    fn match_events(&mut self) {
        let (x, y) = (&self.left, &self.right);
        let alike = |i: usize, j: usize| (x.sorts[i] == y.sorts[j]).then_some(300);
        let (to, _) = matched((&x.keys, &y.keys), &alike);
        self.events = to.into_iter().map(|j| j.map(|j| j as u64 + 1)).collect();
    }

    fn match_rings(&mut self) {
        let nothing = Vec::new();
        let mut all: Vec<(RingId, Option<RingId>)> = Vec::new();
        for ring in self.left.laid.keys() {
            all.push((*ring, self.queues.get(&ring.0).map(|id| (*id, ring.1))));
        }
        for (ring, other) in all {
            let left = self.left.laid.get(&ring).unwrap_or(&nothing);
            let right = other.and_then(|r| self.right.laid.get(&r)).unwrap_or(&nothing);
            let keys = |l: &[Laid]| l.iter().map(|d| d.key).collect::<Vec<u64>>();
            let alike = |i: usize, j: usize| Some(unlike(&left[i], &right[j]));
            let (to, mut news) = matched((&keys(left), &keys(right)), &alike);
            for (i, j) in to.iter().enumerate().filter_map(|(i, j)| Some((i, (*j)?))) {
                // Of the same, and another descriptor all the same; or the other way round.
                news[j] = (unlike(&left[i], &right[j]) > 0).then_some(Change::Changed);
            }
            self.rings.insert(ring, RingMap { to, news });
        }
    }

    /// Whether both are the same program.
    pub fn is_same(&self) -> bool {
        self.same
    }

    /// Whether the comparison was broken off.
    pub(super) fn cancelled(&self) -> bool {
        !self.same && (self.left.cancelled || self.right.cancelled)
    }

    /// What an event of the left is.
    pub fn event(&self, n: u64) -> EventIs {
        if n == 0 || self.same {
            return EventIs::Here(n);
        }
        let Some(at) = self.events.get(n as usize - 1) else { return EventIs::Beyond };
        let before = || self.events[..n as usize - 1].iter().rev().find_map(|e| *e).unwrap_or(0);
        at.map_or_else(|| EventIs::Gone(before()), EventIs::Here)
    }

    /// The event to stand at in place of one of the left.
    pub fn nearest(&self, n: u64) -> u64 {
        match self.event(n) {
            EventIs::Here(n) | EventIs::Gone(n) => n,
            EventIs::Beyond => n,
        }
    }

    /// The queue of the right that a queue of the left is.
    pub fn queue(&self, id: QueueId) -> Option<QueueId> {
        self.queues.get(&id).copied()
    }

    /// The instruction of the right that one of the left is.
    pub fn inst(&self, pos: Pos) -> Option<Pos> {
        self.insts.of(pos)
    }

    /// Instructions that are new, or not what they were; and how many are gone.
    pub fn inst_news(&self) -> (&BTreeMap<Pos, Change>, usize) {
        (&self.insts.news, self.insts.removed)
    }

    /// A batch of the left by its number: the right's number of the same.
    pub fn batch(&self, n: u64) -> Option<u64> {
        if self.same {
            return Some(n);
        }
        let Some(&(_, at)) = self.left.batches.iter().find(|b| b.0 == n) else { return Some(n) };
        match self.event(at) {
            EventIs::Here(at) => self.right.batches.iter().find(|b| b.1 == at).map(|b| b.0),
            _ => None,
        }
    }

    /// Where the descriptor of a slot lies that is there at event `n`, or comes there next.
    pub fn slot(&self, id: QueueId, dir: Dir, slot: u64, n: u64) -> SlotIs {
        let Some(to) = self.queue(id) else { return SlotIs::Gone };
        if self.same {
            return SlotIs::Here(id, slot);
        }
        let there = self.b.queue(to).and_then(|q| q.ring(dir)).map_or(0, |r| r.size);
        let empty = if slot < there { SlotIs::Empty(to) } else { SlotIs::Gone };
        let Some(laid) = self.left.laid.get(&(id, dir)) else { return empty };
        let mut here = laid.iter().enumerate().filter(|(_, l)| l.slot == slot).peekable();
        let mut found = here.peek().map(|(i, _)| *i);
        here.take_while(|(_, l)| l.at <= n).for_each(|(i, _)| found = Some(i));
        let Some(i) = found else { return empty };
        let right = self.right.laid.get(&(to, dir));
        let j = self.rings.get(&(id, dir)).and_then(|r| r.to.get(i).copied().flatten());
        match j.and_then(|j| right?.get(j)) {
            Some(l) => SlotIs::Here(to, l.slot),
            None => SlotIs::Gone,
        }
    }

    /// Slots of the right whose descriptor, at its event `n`, is new or not what it was.
    pub fn slot_news(&self, n: u64) -> BTreeMap<(QueueId, Dir, u64), Change> {
        let mut out = BTreeMap::new();
        if self.same || self.left.keys.is_empty() && self.left.laid.is_empty() {
            return out;
        }
        let back: HashMap<QueueId, QueueId> = self.queues.iter().map(|(a, b)| (*b, *a)).collect();
        for ((id, dir), laid) in &self.right.laid {
            let ring = back.get(id).and_then(|a| self.rings.get(&(*a, *dir)));
            for (j, l) in laid.iter().enumerate().take_while(|(_, l)| l.at <= n) {
                let news = match ring {
                    Some(r) => r.news.get(j).copied().flatten(),
                    None => Some(Change::Added),
                };
                match news {
                    Some(change) => out.insert((*id, *dir, l.slot), change),
                    None => out.remove(&(*id, *dir, l.slot)),
                };
            }
        }
        out
    }

    /// An address of the left: where what it names lies now. Nothing where that is gone.
    pub fn address(&self, addr: u64, n: u64) -> Option<u64> {
        if self.same {
            return Some(addr);
        }
        if let Some((id, dir, slot, inside)) = slot_at(&self.a, addr) {
            let (to, slot) = match self.slot(id, dir, slot, n) {
                SlotIs::Here(to, slot) => (to, slot),
                SlotIs::Empty(to) => (to, slot),
                SlotIs::Gone => return None,
            };
            let ring = self.b.queue(to)?.ring(dir)?;
            return Some(ring.slot_addr(slot) + inside as u64);
        }
        let location = |p: &Program| {
            let layout = p.module.as_ref()?.exec.layout();
            let l = layout.at(addr)?;
            Some((l.name.clone(), addr - l.addr))
        };
        if let Some((name, offset)) = location(&self.a) {
            let l = self.b.module.as_ref()?.exec.layout().location(&name)?;
            return l.addr.checked_add(offset);
        }
        match self.a.region_at(addr) {
            Some(r) => {
                let here = |x: &&crate::engine::program::Region| x.name == r.name;
                let other = self.b.regions.iter().find(here);
                match other {
                    Some(x) => Some(x.base + (addr - r.base)).filter(|at| x.contains(*at)),
                    // Of another name, and memory all the same.
                    None => self.b.region_at(addr).map(|_| addr),
                }
            }
            None => Some(addr),
        }
    }

    /// An edit's change, told of the right.
    pub(super) fn change(&self, change: &EditChange, n: u64) -> Option<EditChange> {
        Some(match change {
            EditChange::Store { addr, bytes } => {
                EditChange::Store { addr: self.address(*addr, n)?, bytes: bytes.clone() }
            }
            EditChange::Register { engine, offset, value } => {
                let known = reg::name_at(*offset).and_then(|r| r.queue);
                let Some((dir, queue)) = known else { return Some(change.clone()) };
                let id = QueueId { engine: *engine, queue };
                let to = match self.a.queue(id) {
                    Some(_) => self.queue(id)?,
                    None => id,
                };
                let block = |q| reg::queue_block(dir, q);
                let offset = offset.checked_sub(block(queue))? + block(to.queue);
                EditChange::Register { engine: to.engine, offset, value: *value }
            }
            EditChange::Cursor { queue, dir, cursor, value } => {
                let queue = self.queue(*queue)?;
                EditChange::Cursor { queue, dir: *dir, cursor: *cursor, value: *value }
            }
            EditChange::Inject { queue, dir, bit, slot } => {
                let to = self.queue(*queue)?;
                let slot = match slot {
                    None => None,
                    Some(s) => Some(match self.slot(*queue, *dir, *s, n) {
                        SlotIs::Here(_, slot) => slot,
                        SlotIs::Empty(_) => *s,
                        SlotIs::Gone => return None,
                    }),
                };
                EditChange::Inject { queue: to, dir: *dir, bit: *bit, slot }
            }
        })
    }

    /// The left program.
    pub fn was(&self) -> &Arc<Program> {
        &self.a
    }

    /// The right program.
    pub fn is(&self) -> &Arc<Program> {
        &self.b
    }
}
