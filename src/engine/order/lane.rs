//! One reading's view of a run: takes steps, finds races.

use super::bytes::{ByteMap, Fate};
use super::past::{CpuPast, Past, QueuePast};
use super::race::Act;
use super::readings::{ReadingSet, Readings};
use super::semaphores::Semaphores;
use super::step::{Poster, SlotAt, Step, WORD_BYTES, Wait};
use super::table::{Access, Bell, Me, NONE, Poll, QueueState, Table, Write, ix};
use super::turns::Turns;
use crate::engine::program::Program;
use crate::engine::ring::Agent;
use crate::limits::{MAX_DIAGNOSTICS, MAX_ORDER_SIDE_BY_SIDE};
use crate::udma::{DESC_BYTES, Dir};
use std::collections::{BTreeMap, BTreeSet};

/// The bytes that two racing accesses share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared {
    pub lo: u64,
    pub hi: u64,
    pub bytes: u64,
}

/// Pairs of racing accesses, the earlier one first.
#[derive(Debug, Clone, Default)]
pub(super) struct Pairs {
    pub list: BTreeMap<(u32, u32), Shared>,
    /// Pairs beyond the bound.
    pub more: u64,
    last_left: Option<(u32, u32)>,
}

impl Pairs {
    fn add(&mut self, pair: (u32, u32), lo: u64, hi: u64) {
        if let Some(s) = self.list.get_mut(&pair) {
            s.lo = s.lo.min(lo);
            s.hi = s.hi.max(hi);
            s.bytes += hi - lo;
        } else if self.list.len() < MAX_DIAGNOSTICS {
            self.list.insert(pair, Shared { lo, hi, bytes: hi - lo });
        } else if self.last_left != Some(pair) {
            self.last_left = Some(pair);
            self.more += 1;
        }
    }
}

/// What a queue still owes to polls.
#[derive(Debug, Clone, Default)]
struct Batches {
    /// Writes by batch that no poll has read yet.
    written: BTreeMap<u64, Vec<u32>>,
    /// Polls that succeeded, for writes that come after them.
    polled: Vec<u32>,
}

/// What was posted to an object.
#[derive(Debug, Clone, Default)]
struct Posted {
    past: Past,
    writes: BTreeSet<u32>,
}

/// The run under one reading, for all readings that it does not tell apart.
#[derive(Debug, Clone)]
pub(super) struct Lane {
    pub set: ReadingSet,
    reading: Readings,
    pub table: Table,
    pub bytes: ByteMap,
    pub pairs: Pairs,
    batches: Vec<Batches>,
    posted: BTreeMap<u64, Posted>,
    semaphores: Semaphores<Past>,
    /// The first event that came before what it needs.
    pub too_early: Option<u64>,
}

impl Lane {
    pub fn new(p: &Program, semaphores: Semaphores<Past>) -> Lane {
        let queues = p.queues.len();
        let all = vec![QueueState::default(); queues];
        let table = Table { queues: all, turns: Turns::new(p), ..Table::default() };
        Lane {
            set: ReadingSet::ALL,
            reading: Readings::default(),
            table,
            bytes: ByteMap::default(),
            pairs: Pairs::default(),
            batches: vec![Batches::default(); queues],
            posted: BTreeMap::new(),
            semaphores,
            too_early: None,
        }
    }

    /// Whether it stands for readings of both kinds.
    pub fn is_split_by(&self, yes: fn(Readings) -> bool) -> bool {
        let (with, without) = self.set.split(yes);
        !with.is_empty() && !without.is_empty()
    }

    /// From here on for some of its readings only.
    pub fn keep(&mut self, set: ReadingSet) {
        self.set = set;
        self.reading = set.iter().next().unwrap_or_default();
    }

    /// The same run for some of its readings only.
    pub fn only(&self, set: ReadingSet) -> Lane {
        let mut lane = self.clone();
        lane.keep(set);
        lane
    }

    pub fn step(&mut self, n: u64, step: &Step) {
        match *step {
            Step::Store { agent, addr, len, slot } => self.store(n, agent, (addr, len), slot),
            Step::Fence { agent } => {
                let cpu = self.table.cpu(agent);
                let cpu = &mut self.table.cpus[cpu as usize];
                cpu.fenced = cpu.stores;
            }
            Step::Doorbell { agent, queue, dir, count } => {
                self.doorbell(agent, (queue, dir), count);
            }
            Step::Reset { queue, dir } => self.reset(queue, dir),
            Step::Fetch { at: (queue, dir, slot), addr, desc, stream } => {
                let Some(q) = self.table.queues.get_mut(queue as usize) else { return };
                let needs = q.order.fetch(dir, slot, desc, stream);
                let chain = self.table.turns.chain(queue);
                let x = Access {
                    act: Act::Fetch,
                    dir,
                    owner: chain,
                    queue,
                    slot: slot as u32,
                    link: NONE,
                    k: needs.k,
                    event: n,
                    addr,
                    len: DESC_BYTES as u64,
                };
                let x = self.push(x);
                self.put((addr, DESC_BYTES as u64), x, Me::Queue(chain), needs.past);
            }
            Step::Read { queue, slot, addr, len } => self.read(n, queue, slot, (addr, len)),
            Step::Visible { queue, slot, addr, len, batch } => {
                self.visible(n, queue, slot, (addr, len), batch);
            }
            Step::PacketEnd { queue, batch } => {
                let Some(q) = self.table.queues.get_mut(queue as usize) else { return };
                q.order.retire(self.reading);
                let polls = &self.table.polls;
                let behind = |p: &u32| {
                    let x = self.table.accesses.get(*p as usize);
                    let poll = x.and_then(|x| polls.get(x.link as usize));
                    poll.is_some_and(|p| p.batches.1 >= batch)
                };
                self.batches[queue as usize].polled.retain(behind);
            }
            Step::Seen { agent, ref wait } => self.seen(n, agent, wait),
            Step::Raise { agent, semaphore, by } => {
                let past = self.tells(agent);
                self.semaphores.raise(semaphore, by, |known| known.join(&past));
            }
            Step::Zero { semaphore } => self.semaphores.zero(semaphore),
            Step::Reach { agent, semaphore, value } => {
                let cpu = self.table.cpu(agent);
                let c = &mut self.table.cpus[cpu as usize];
                c.steps += 1;
                if let Some(known) = self.semaphores.reached(semaphore, value) {
                    c.past.join(known);
                }
            }
            Step::Post { by, object } => self.post(by, object),
            Step::Await { agent, object } => {
                let cpu = self.table.cpu(agent);
                self.table.cpus[cpu as usize].steps += 1;
                let Some(posted) = self.posted.get(&object) else { return };
                for &w in &posted.writes {
                    self.table.follow_write(cpu, w);
                }
                self.bytes.work += posted.writes.len() as u64;
                self.table.cpus[cpu as usize].past.join(&posted.past);
            }
        }
    }

    fn push(&mut self, x: Access) -> u32 {
        self.table.accesses.push(x);
        (self.table.accesses.len() - 1) as u32
    }

    /// Lays an access on its bytes: races with what is there are noted, and what it makes
    /// needless to remember is forgotten.
    fn put(&mut self, (addr, len): (u64, u64), new: u32, me: Me, own: QueuePast) {
        let Lane { table, bytes, pairs, .. } = self;
        let act = table.access(new).act;
        let view = match me {
            Me::Queue(chain) => {
                table.of_queue((table.access(new).queue, chain), own, act == Act::Write)
            }
            Me::Cpu(c) => table.of_cpu(c),
        };
        let handed = table.turns.of_memory(addr, table.access(new).queue);
        let comes_before = |x: u32| {
            let old = table.access(x);
            let handed = handed.is_some_and(|(queue, since)| {
                x < since && (old.queue == queue || (old.act == Act::Store && old.queue == NONE))
            });
            handed || table.ordered(old, &view)
        };
        let mut last = (NONE, false);
        let mut ordered = |x: u32| {
            if last.0 != x {
                last = (x, comes_before(x));
            }
            last.1
        };
        let each = |x: u32, lo: u64, hi: u64| {
            let old = table.access(x);
            if x == new {
                return Fate::Drop;
            }
            let before = ordered(x);
            if !before && (act.writes() || old.act.writes()) {
                pairs.add((x, new), lo, hi);
            }
            match (act.writes(), old.act.writes()) {
                _ if !before => Fate::Keep,
                // What races with it later races with the newer access as well, unless that
                // only reads.
                (false, true) => Fate::Keep,
                (true, true) if act == Act::Write && old.act == Act::Write => {
                    Fate::Older(old.owner)
                }
                _ => Fate::Drop,
            }
        };
        // What comes before a store of a CPU can no longer satisfy a poll after it.
        let keep = |x: u32| act != Act::Store || !comes_before(x);
        bytes.touch(addr, addr.saturating_add(len), new, each, keep);
    }

    fn store(&mut self, n: u64, agent: Agent, (addr, len): (u64, u64), slot: Option<SlotAt>) {
        let cpu = self.table.cpu(agent);
        let c = &mut self.table.cpus[cpu as usize];
        c.stores += 1;
        let k = c.stores;
        let (queue, dir, slot) = slot.unwrap_or((NONE, Dir::Tx, 0));
        if let Agent::Seq(_) = agent {
            let now = self.table.accesses.len() as u32;
            self.table.turns.take(queue, cpu, now);
        }
        let x = Access {
            act: Act::Store,
            dir,
            owner: cpu,
            queue,
            slot: slot as u32,
            link: NONE,
            k,
            event: n,
            addr,
            len,
        };
        let x = self.push(x);
        self.put((addr, len), x, Me::Cpu(cpu), QueuePast::default());
    }

    /// What others follow when they follow a step of a CPU agent that is made now.
    fn told(&self, cpu: u32) -> Past {
        let c = &self.table.cpus[cpu as usize];
        let mut past = c.past.clone();
        past.join_cpu(cpu, CpuPast { stores: c.fenced, steps: c.steps });
        past
    }

    /// An agent makes a step that others can follow: what they follow then.
    fn tells(&mut self, agent: Agent) -> Past {
        let cpu = self.table.cpu(agent);
        self.table.cpus[cpu as usize].steps += 1;
        self.told(cpu)
    }

    fn doorbell(&mut self, agent: Agent, (queue, dir): (u32, Dir), count: u64) {
        let cpu = self.table.cpu(agent);
        self.table.cpus[cpu as usize].steps += 1;
        let mut past = self.told(cpu);
        let stored = self.table.cpus[cpu as usize].stores;
        let Some(q) = self.table.queues.get_mut(queue as usize) else { return };
        if count == 0 {
            return;
        }
        q.posted[ix(dir)] += count;
        let mut alone = true;
        // Whether another sequencer rang before or rings after is open.
        let in_turn = matches!(agent, Agent::Seq(_));
        if let Some(before) = q.bells[ix(dir)].last().filter(|_| !in_turn) {
            alone = before.alone && before.cpu == cpu;
            if !alone {
                past.join(&before.past);
            }
        }
        let upto = q.posted[ix(dir)];
        q.bells[ix(dir)].push(Bell { upto, cpu, stored, alone, past });
    }

    fn reset(&mut self, queue: u32, dir: Dir) {
        let Some(q) = self.table.queues.get_mut(queue as usize) else { return };
        q.order.reset(self.reading);
        let fetched = q.order.fetched(dir);
        q.posted[ix(dir)] = fetched;
        let bells = &mut q.bells[ix(dir)];
        let kept = bells.iter().take_while(|b| b.upto < fetched).count();
        bells.truncate(kept + 1);
        if let Some(last) = bells.last_mut() {
            last.upto = last.upto.min(fetched);
        }
    }

    fn read(&mut self, n: u64, queue: u32, slot: u64, (addr, len): (u64, u64)) {
        let Some(q) = self.table.queues.get_mut(queue as usize) else { return };
        let Some(needs) = q.order.read(slot, self.reading) else { return };
        self.check(n, needs.met);
        if needs.padding || len == 0 {
            return;
        }
        let chain = self.table.turns.chain(queue);
        let x = Access {
            act: Act::Read,
            dir: Dir::Tx,
            owner: chain,
            queue,
            slot: slot as u32,
            link: NONE,
            k: needs.k,
            event: n,
            addr,
            len,
        };
        let x = self.push(x);
        self.put((addr, len), x, Me::Queue(chain), needs.past);
    }

    fn check(&mut self, n: u64, met: bool) {
        if !met {
            self.too_early.get_or_insert(n);
        }
    }

    fn visible(&mut self, n: u64, queue: u32, slot: u64, at: (u64, u64), batch: u64) {
        let (addr, len) = at;
        let Some(q) = self.table.queues.get_mut(queue as usize) else { return };
        let Some(needs) = q.order.write(slot, self.reading) else { return };
        self.check(n, needs.met);
        if needs.padding {
            return;
        }
        // Earlier writes of the queue to a byte of it come before it, with all before them.
        let mut own = needs.past;
        let mut over = Vec::new();
        let mut too_early = false;
        let chain = self.table.turns.chain(queue);
        let Table { accesses, writes, .. } = &self.table;
        self.bytes.look(addr, addr.saturating_add(len), |_, x, older| {
            let old = &accesses[x as usize];
            if older
                || old.act != Act::Write
                || old.owner != chain
                || over.last() == Some(&old.link)
            {
                return;
            }
            too_early |= old.k > needs.k;
            own.visible = own.visible.max(writes[old.link as usize].own.visible);
            over.push(old.link);
        });
        over.sort_unstable();
        over.dedup();
        self.check(n, !too_early);
        let w = self.table.writes.len() as u32;
        let x = Access {
            act: Act::Write,
            dir: Dir::Rx,
            owner: chain,
            queue,
            slot: slot as u32,
            link: w,
            k: needs.k,
            event: n,
            addr,
            len,
        };
        let x = self.push(x);
        self.table.writes.push(Write { access: x, batch, own, over, known: Vec::new() });
        self.late(queue, at, batch);
        self.put(at, x, Me::Queue(chain), own);
        self.batches[queue as usize].written.entry(batch).or_default().push(w);
    }

    /// A poll that succeeded before this write of its batch has read these bytes. MODEL: what
    /// another CPU agent stored there since is not compared with it.
    fn late(&mut self, queue: u32, at: (u64, u64), batch: u64) {
        let Lane { table, bytes, batches, pairs, .. } = self;
        for &p in &batches[queue as usize].polled {
            let read = table.access(p);
            let Some(poll) = table.poll_of(read) else { continue };
            if !(poll.batches.0..=poll.batches.1).contains(&batch) {
                continue;
            }
            let view = table.of_poll(poll);
            let mut each = |x: u32, lo: u64, hi: u64| {
                let old = table.access(x);
                if x == p {
                    return Fate::Drop;
                }
                let ordered = match table.write_of(old) {
                    Some(w) if x > p => table.ordered(read, &table.of_write(w)),
                    Some(_) => table.ordered(old, &view),
                    None => x > p || old.owner == read.owner || table.ordered(old, &view),
                };
                if old.act.writes() && !ordered {
                    pairs.add((x.min(p), x.max(p)), lo, hi);
                }
                Fate::Keep
            };
            for (lo, len) in without(at, poll.word) {
                bytes.touch(lo, lo + len, p, &mut each, |_| true);
            }
        }
    }

    /// The writes that a poll of `word` follows for certain.
    fn follows(&mut self, word: u64) -> Vec<u32> {
        let mut writers: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        let accesses = &self.table.accesses;
        self.bytes.look(word, word.saturating_add(WORD_BYTES), |at, x, _| {
            let x = &accesses[x as usize];
            if x.act == Act::Write {
                writers.entry(at).or_default().push(x.link);
            }
        });
        // The word holds the marker only when each of its bytes was written.
        let earliest = writers.values().filter_map(|list| self.table.earliest(list));
        earliest.collect::<BTreeSet<u32>>().into_iter().collect()
    }

    fn seen(&mut self, n: u64, agent: Agent, wait: &Wait) {
        let cpu = self.table.cpu(agent);
        self.table.cpus[cpu as usize].steps += 1;
        let k = self.table.cpus[cpu as usize].steps;
        let queue = wait.queue;
        let Some(q) = self.table.queues.get(queue as usize) else { return };
        let mut follows = Vec::new();
        match wait.word {
            None => {
                let retired = q.order.retired();
                let chain = self.table.turns.chain(queue);
                self.table.follow_queue(cpu, (queue, chain), retired);
            }
            Some(word) => {
                follows = self.follows(word);
                follows.iter().for_each(|w| self.table.follow_write(cpu, *w));
            }
        }
        let link = self.table.polls.len() as u32;
        let mut past = self.told(cpu);
        past.join_cpu(cpu, CpuPast { stores: self.table.cpus[cpu as usize].stores, steps: k });
        let (batches, word) = (wait.batches, wait.word);
        self.table.polls.push(Poll { queue, batches, word, follows, past });
        let x = self.push(Access {
            act: Act::Poll,
            dir: Dir::Rx,
            owner: cpu,
            queue,
            slot: 0,
            link,
            k,
            event: n,
            addr: wait.word.unwrap_or(0),
            len: if wait.word.is_some() { WORD_BYTES } else { 0 },
        });
        let batches = &mut self.batches[queue as usize];
        let (first, last) = wait.batches;
        // No later poll is about a batch before the first of these.
        batches.written = batches.written.split_off(&first);
        let written: Vec<u32> =
            batches.written.range(..=last).flat_map(|(_, list)| list.iter().copied()).collect();
        if batches.polled.len() >= MAX_ORDER_SIDE_BY_SIDE {
            batches.polled.remove(0);
        }
        batches.polled.push(x);
        for w in written {
            let Access { addr, len, .. } = *self.table.access(self.table.writes[w as usize].access);
            for part in without((addr, len), wait.word) {
                self.put(part, x, Me::Cpu(cpu), QueuePast::default());
            }
        }
        for &slots in &wait.slots {
            self.put(slots, x, Me::Cpu(cpu), QueuePast::default());
        }
    }

    fn post(&mut self, by: Poster, object: u64) {
        let mut past = Past::default();
        let mut write = None;
        match by {
            Poster::Cpu(agent) => past = self.tells(agent),
            Poster::Write((queue, _, slot)) => {
                let wrote = |w: &Write| {
                    let x = self.table.access(w.access);
                    x.queue == queue && u64::from(x.slot) == slot
                };
                let all = self.table.writes.len();
                let newest = self.table.writes.iter().rposition(wrote);
                self.bytes.work += (all - newest.unwrap_or(0)) as u64;
                write = newest.map(|w| w as u32);
            }
            Poster::Queue(queue) => {
                let Some(q) = self.table.queues.get(queue as usize) else { return };
                let retired = q.order.retired();
                past.join_queue(self.table.turns.chain(queue), retired);
                for bell in self.table.bells(queue, &retired).into_iter().flatten() {
                    past.join(&bell.past);
                }
            }
        }
        let posted = self.posted.entry(object).or_default();
        posted.past.join(&past);
        posted.writes.extend(write);
    }
}

/// The bytes of a range that lie outside a polled word.
fn without((addr, len): (u64, u64), word: Option<u64>) -> impl Iterator<Item = (u64, u64)> {
    let end = addr.saturating_add(len);
    let (from, to) = word.map_or((end, end), |w| (w, w.saturating_add(WORD_BYTES)));
    let below = (addr, from.clamp(addr, end) - addr);
    let above = (to.clamp(addr, end), end - to.clamp(addr, end));
    [below, above].into_iter().filter(|(_, len)| *len > 0)
}
