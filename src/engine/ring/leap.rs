//! Leaps: a run of regular work executed at once, landing in exactly the state that single
//! steps reach (`docs/timeline.md`, "Leaps").
//!
//! Two kinds of work are regular: an engine queue doing plain pairs, and the host staging the
//! chunks of a long copy. Whatever is not exactly so is refused, and a plain step is made.

mod near;
mod strewn;

use super::device::{Action, Packet, Work, next_action, resolve, rx_is_plain, single_work};
use super::event::{Agent, Event, EventKind, Role};
use super::host::stage::Ask;
use super::host::{Frame, copy::ChunkedCopy};
use super::lint;
use super::machine::{Machine, NextCpu};
use super::memory::Row;
use super::queue::SwRing;
use crate::engine::program::{Program, QueueId, Speed};
use crate::udma::profile::MARKER;
use crate::udma::{DESC_BYTES, Desc, Dir};
use strewn::Tries;

/// Events of one plain pair: both fetches, the read, the write, the retirement.
pub const PAIR_EVENTS: u64 = 5;

/// Raw descriptors that are looked at for a row at most.
const MOST_LOOKED: u64 = 1 << 13;

/// Strewn pairs that cost as much as a plain step.
const STREWN_A_STEP: u64 = 2;

/// Bytes of a marker word.
const WORD: u64 = 4;

/// The work that a leap did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeapWork {
    /// An engine queue did plain pairs.
    Pairs,
    /// The host staged pairs of a copy.
    Staged,
}

/// A stretch of addresses, from the first to before the last; empty where both are the same.
pub type Stretch = (u64, u64);

/// What a leap did, for those who ask whether an event of it may matter to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leap {
    /// What was done.
    pub work: LeapWork,
    /// Index of the queue on which.
    pub queue: usize,
    /// Batches of its events: the least and the greatest.
    pub batches: (u64, u64),
    /// It may have made four bytes visible, as a marker is.
    pub words: bool,
    /// What it read lies in these: data, of pairs of two lengths, then the slots of either ring.
    pub reads: [Stretch; 4],
    /// What it wrote lies in these: data, of pairs of two lengths, or the slots of either ring.
    pub writes: [Stretch; 2],
    /// Where free slots of a queue went down: from how many to how few.
    pub free: Option<(QueueId, (u64, u64))>,
    /// What it cost, in plain steps.
    pub cost: u64,
}

/// What some pairs in a row touched.
struct Pairs {
    count: u64,
    /// Bytes of each.
    len: u64,
    source: Stretch,
    rings: [Stretch; 2],
    written: Stretch,
}

fn hull(a: Stretch, b: Stretch) -> Stretch {
    match (a.0 == a.1, b.0 == b.1) {
        (true, _) => b,
        (_, true) => a,
        _ => (a.0.min(b.0), a.1.max(b.1)),
    }
}

/// How many of a series of addresses, `step` apart and each `len` bytes long, may be taken as
/// one stretch: those of a symbolic address and those that lie apart may not.
fn contiguous(row: &Row, count: u64) -> bool {
    let last = row.desc(count - 1).ptr;
    row.step == row.first.length() && last >= row.first.ptr && last.checked_add(row.step).is_some()
}

/// Whether two stretches are apart, and do not even touch.
fn apart(a: (u64, u64), b: (u64, u64)) -> bool {
    a.0.saturating_add(a.1) < b.0 || b.0.saturating_add(b.1) < a.0
}

/// Whether a stretch (first address, bytes) lies in one region of the program.
fn in_one_region(p: &Program, (at, len): (u64, u64)) -> bool {
    let end = len.checked_sub(1).and_then(|n| at.checked_add(n));
    p.region_at(at).is_some_and(|r| end.is_some_and(|e| r.contains(e)))
}

/// Whether a descriptor's pointer is what it names.
fn direct(p: &Program, desc: &Desc) -> bool {
    resolve(p, desc.ptr) == Ok(desc.ptr)
}

impl Machine {
    /// Whether the next work looks regular: a quick look before a copy is made of the state.
    pub fn may_leap(&self, p: &Program) -> bool {
        let staging = || matches!(self.host.stack.last(), Some(Frame::Copy(c)) if c.is_staging() && c.regular().1 > 1);
        let pair = || self.due().is_some_and(|(i, _)| self.starts_pair(i));
        self.is_leapable(p) && (staging() || (p.speed == Speed::default() && pair()))
    }

    /// Whether nothing stands against leaps at all: a fault yet to be told, or an order that is
    /// not the calm one.
    fn is_leapable(&self, p: &Program) -> bool {
        self.closed.is_none()
            && self.queued.is_empty()
            && self.loose.is_none()
            && p.schedule.is_calm()
    }

    /// The event that a leap may reach: one after which the program is edited is a plain step.
    fn before_edit(&self, p: &Program) -> u64 {
        let next = p.edits.get(p.edits.partition_point(|e| e.at <= self.n));
        next.map_or(u64::MAX, |e| e.at - 1)
    }

    /// Executes a run of regular work that ends at event `limit` or before. Nothing, and nothing
    /// changed, where the next work is not regular.
    pub fn leap(&mut self, p: &Program, limit: u64) -> Option<Leap> {
        let limit = limit.min(self.before_edit(p));
        if limit <= self.n || !self.is_leapable(p) {
            return None;
        }
        let engine = self.due();
        let staging = match self.host.stack.last() {
            Some(Frame::Copy(c)) if c.is_staging() => Some(*c),
            _ => None,
        };
        let pairs = (limit - self.n) / PAIR_EVENTS;
        let starts = engine
            .filter(|(i, _)| pairs > 0 && p.speed == Speed::default() && self.starts_pair(*i));
        if starts.is_none() && staging.is_none() {
            return None;
        }
        let cpu = self.next_cpu(p, |_, _| false);
        match (engine, cpu) {
            (Some((i, t)), cpu) if cpu.as_ref().is_none_or(|c| t <= c.at) => {
                starts?;
                self.leap_pairs(p, (i, t), cpu, pairs)
            }
            (_, Some(cpu)) if cpu.who.is_none() && !cpu.polls => {
                self.leap_staging(p, staging?, cpu.at, limit)
            }
            _ => None,
        }
    }

    fn starts_pair(&self, i: usize) -> bool {
        let q = &self.queues[i];
        let rx = q.hw(Dir::Rx);
        // A fault that a user injected is found at a descriptor.
        let injected = self.injected.iter().any(|f| f.queue == i);
        !injected
            && q.packet.is_empty()
            && next_action(q) == Action::Fetch(Dir::Tx)
            && rx.fetched < rx.posted
    }

    /// Up to `most` plain pairs of the queue that acts next, at time `t`.
    fn leap_pairs(
        &mut self,
        p: &Program,
        (i, t): (usize, u64),
        cpu: Option<NextCpu>,
        most: u64,
    ) -> Option<Leap> {
        let polls = match cpu {
            Some(cpu) if cpu.polls => {
                let host = cpu.who.and_then(|k| self.seqs.get(k)).map_or(&self.host, |s| &s.host);
                // Reads that are not told yet are told before the engine acts.
                if host.poll.is_none_or(|poll| poll.untold > 0) {
                    return None;
                }
                Some(cpu.who)
            }
            _ => None,
        };
        let id = self.queues[i].id();
        let (mut done, mut cost, mut words) = (0, 0, false);
        let (mut reads, mut writes) = ([(0, 0); 4], [(0, 0); 2]);
        let mut length = None;
        let first = self.batch_at(id, self.queues[i].hw(Dir::Tx).fetched);
        let mut tries = Tries::new();
        while done < most && self.starts_pair(i) {
            let strewn = tries.due().and_then(|n| {
                let pairs = self.strewn_pairs(p, i, n.min(most - done));
                tries.went(pairs.is_some());
                pairs
            });
            let pairs = match strewn {
                Some(pairs) => {
                    cost += pairs.count / STREWN_A_STEP;
                    pairs
                }
                None => {
                    let Some(pairs) = self.some_pairs(p, i, most - done) else { break };
                    tries.row(pairs.count);
                    pairs
                }
            };
            done += pairs.count;
            cost += 1;
            words |= pairs.len == 4;
            // A marker lies far from data.
            let k = usize::from(pairs.len != *length.get_or_insert(pairs.len));
            reads[k] = hull(reads[k], pairs.source);
            writes[k] = hull(writes[k], pairs.written);
            for (all, more) in reads[2..].iter_mut().zip(pairs.rings) {
                *all = hull(*all, more);
            }
        }
        if done == 0 {
            return None;
        }
        if let Some(who) = polls {
            self.active = who;
        }
        self.nothing_opened();
        self.now_ns = self.now_ns.max(t);
        self.n += done * PAIR_EVENTS;
        let q = &mut self.queues[i];
        q.due = Some(self.now_ns);
        while q.bounds.front().is_some_and(|b| b.0 < q.hw[0].retired) {
            q.bounds.pop_front();
        }
        // What was fetched last: of a ring that was changed, not all that was fetched retires.
        let slot = |dir| Some(q.hw(dir).slot(q.hw(dir).fetched - 1));
        let kind = EventKind::Retire { tx: slot(Dir::Tx), rx: slot(Dir::Rx), packet_end: true };
        let agent = Agent::Engine(id);
        let batch = self.batch_of(agent, &kind);
        self.last = Some(Event { n: self.n, t_ns: self.now_ns, agent, batch, kind });
        Some(Leap {
            work: LeapWork::Pairs,
            queue: i,
            batches: (first.min(batch), first.max(batch)),
            words,
            reads,
            writes,
            free: None,
            cost,
        })
    }

    /// Pairs that lie in a row in both rings and move bytes in a row: memory and counters only.
    fn some_pairs(&mut self, p: &Program, i: usize, most: u64) -> Option<Pairs> {
        let (slots, count) = self.pairs_ahead(i, most)?;
        let (rows, count) = self.rows_alike(slots, count);
        let mut count = count;
        let [tx, rx] = &rows;
        let len = tx.first.length();
        let first = [tx.first, rx.first];
        if !self.is_plain_pair(p, i, &first) || !first.iter().all(|d| direct(p, d)) {
            return None;
        }
        let bytes = DESC_BYTES as u64;
        let (src, dst) = (tx.first.ptr, rx.first.ptr);
        let [tx_at, rx_at] = slots;
        // Completion pairs, and words of which one may be, are looked at one by one.
        let pairs = tx.first.ptr.checked_add(WORD) == Some(rx.first.ptr);
        if len == WORD && (pairs || tx.step != len) {
            count = 1;
        }
        // A marker that is there before its pair is told of.
        if self.marker_is_there(tx.first, rx.first) {
            return None;
        }
        let solid = self.memory.solid(src).filter(|s| s.len >= len);
        if count > 1 {
            count = match solid {
                // The same bytes over and over.
                Some(s) if s.even && tx.step == 0 => count,
                Some(s) if tx.step == len => count.min(s.len / len),
                _ => 1,
            };
            let whole = (src, if tx.step == 0 { len } else { count * len });
            let written = (dst, count * len);
            let still = |at| apart(written, (at, count * bytes));
            let may = contiguous(rx, count)
                && (tx.step == 0 || contiguous(tx, count))
                && direct(p, &tx.desc(count - 1))
                && direct(p, &rx.desc(count - 1))
                && (solid.is_some_and(|s| s.even) || apart(whole, written))
                && still(tx_at)
                && still(rx_at)
                && in_one_region(p, whole)
                && in_one_region(p, written);
            if !may {
                count = 1;
            }
        }
        let source = if tx.step == 0 { len } else { count * len };
        // Bytes of a single pair that lie in two regions are told of.
        let q = &self.queues[i];
        let crosses = |dir, addr| lint::crosses(p, q, (dir, 0), addr, len).is_some();
        if count == 1 && (crosses(Dir::Tx, src) || crosses(Dir::Rx, dst)) {
            return None;
        }
        let outside =
            [(tx_at, count * bytes), (rx_at, count * bytes), (src, source), (dst, count * len)]
                .into_iter()
                .any(|(at, len)| self.memory.outside(at, len).is_some());
        if outside {
            return None;
        }
        let known = match solid {
            Some(s) if s.len >= source => s.unknown,
            _ => {
                let known = self.memory.known(src, source);
                if known.never_written.is_some() {
                    return None;
                }
                known.unknown.is_some()
            }
        };
        if known && !self.told_unknown.contains(&q.id()) {
            return None;
        }
        if count > 1 || solid.is_some_and(|s| s.len >= source) {
            self.memory.move_solid(src, dst, count * len);
        } else {
            let content = self.memory.take(src, len);
            self.memory.put_content(dst, content);
        }
        self.did_pairs(i, count);
        let stretch = |at: u64, len| (at, at.saturating_add(len));
        Some(Pairs {
            count,
            len,
            source: stretch(src, source),
            rings: [stretch(tx_at, count * bytes), stretch(rx_at, count * bytes)],
            written: stretch(dst, count * len),
        })
    }

    /// Where the next slots of both rings lie, Tx and Rx, and how many pairs there are at most
    /// before a ring wraps.
    fn pairs_ahead(&self, i: usize, most: u64) -> Option<([u64; 2], u64)> {
        let q = &self.queues[i];
        let mut count = most;
        let slots = Dir::BOTH.map(|dir| {
            let hw = q.hw(dir);
            let slot = hw.slot(hw.fetched);
            let to_wrap = hw.ring.size.saturating_sub(slot);
            // A slot that nobody wrote for its lap is told of.
            let written = q.sw(dir).staged.saturating_sub(hw.fetched);
            count = count.min(to_wrap).min(hw.posted - hw.fetched).min(written);
            hw.ring.slot_addr(slot)
        });
        (count > 0).then_some((slots, count))
    }

    /// Whether the next pair of a queue, Tx and Rx, is a packet that copies and nothing else.
    fn is_plain_pair(&self, p: &Program, i: usize, [tx, rx]: &[Desc; 2]) -> bool {
        let q = &self.queues[i];
        p.profile.enforced_packet_limits(p.arch).0 > 0
            && rx.length() == tx.length()
            && tx.ring_id() == q.hw(Dir::Tx).ring_id
            && rx.ring_id() == q.hw(Dir::Rx).ring_id
            && rx_is_plain(rx)
            && single_work(tx) == Some(Work::Copy)
    }

    /// Counts so many pairs of a queue as fetched, executed and retired.
    fn did_pairs(&mut self, i: usize, count: u64) {
        let q = &mut self.queues[i];
        let retired = q.hw(Dir::Tx).retired;
        let mut tallies = q.tally;
        for dir in Dir::BOTH {
            let hw = q.hw_mut(dir);
            hw.fetched += count;
            hw.retired += count;
            hw.visible += count;
            let tally = &mut tallies[super::queue::ix(dir)];
            tally.fetched += count;
            tally.moved += count;
            tally.retired += count;
            if hw.slot(hw.fetched) == 0 {
                hw.ring_id = crate::udma::ring::next_ring_id(hw.ring_id);
            }
        }
        q.tally = tallies;
        q.hw_mut(Dir::Tx).visible = retired + count;
        q.packet = Packet::default();
    }

    /// The rows that begin at two addresses, Tx and Rx, and how many descriptors of both go on
    /// together: at most `most`.
    fn rows_alike(&self, at: [u64; 2], most: u64) -> ([Row; 2], u64) {
        // Of bytes that are no row on one side not many are looked at on the other.
        let mut look = 2;
        loop {
            let rows = at.map(|at| self.memory.row(at, look.min(most)));
            let count = most.min(rows[0].count).min(rows[1].count);
            if count < look || count == most || look >= MOST_LOOKED {
                return (rows, count);
            }
            look *= 8;
        }
    }

    /// Whether these are a completion pair whose marker word holds the marker already.
    fn marker_is_there(&self, tx: Desc, rx: Desc) -> bool {
        tx.length() == WORD
            && rx.length() == WORD
            && tx.ptr.checked_add(WORD) == Some(rx.ptr)
            && self.memory.read_u32(rx.ptr) == MARKER
    }

    /// Chunks of a copy, but for the last of a batch: all but the newest event at once, that one
    /// as a plain step.
    fn leap_staging(
        &mut self,
        p: &Program,
        c: ChunkedCopy,
        at_ns: u64,
        limit: u64,
    ) -> Option<Leap> {
        let (queue, regular) = c.regular();
        let i = self.index_of(queue)?;
        let q = &self.queues[i];
        if !q.decl.allocatable || !q.ready {
            return None;
        }
        let mut count = (limit - self.n).min(regular);
        for dir in Dir::BOTH {
            let sw = q.sw(dir);
            let free = sw.available(p.profile).ok()?;
            count =
                count.min(u64::from(free)).min(u64::from(sw.size.checked_sub(sw.next_desc_idx)?));
        }
        // The newest is a plain step.
        let bulk = count.checked_sub(1).filter(|n| *n > 0)?;
        let first = self.chunk_pair(p, i, &c.ask(p, 0))?;
        let second = self.chunk_pair(p, i, &c.ask(p, 1))?;
        let last = self.chunk_pair(p, i, &c.ask(p, bulk - 1))?;
        let rows = [0, 1].map(|k| {
            let step = second[k].ptr.wrapping_sub(first[k].ptr);
            let row = Row { first: first[k], step, count: bulk };
            (row.desc(bulk - 1) == last[k] && (bulk < 2 || row.desc(1) == second[k])).then_some(row)
        });
        let rows = [rows[0]?, rows[1]?];
        let q = &self.queues[i];
        let at = Dir::BOTH.map(|d| q.ring(d).slot_addr(u64::from(q.sw(d).next_desc_idx)));
        let bytes = bulk * DESC_BYTES as u64;
        if !apart((at[0], bytes), (at[1], bytes))
            || Dir::BOTH.iter().any(|d| q.may_overrun(*d, bulk + 1))
        {
            return None;
        }
        let least =
            |m: &Machine| u64::from(m.queues[i].sw.iter().map(SwRing::free).min().unwrap_or(0));
        let most = u64::from(q.sw.iter().map(SwRing::free).max().unwrap_or(0));
        for k in [1, 0] {
            self.memory.write_row(at[k], rows[k]);
        }
        for sw in &mut self.queues[i].sw {
            // No wrap: its phase stays.
            sw.next_desc_idx += bulk as u32;
            sw.staged += bulk;
        }
        self.now_ns = self.now_ns.max(at_ns);
        self.host.unfenced = true;
        self.open_batch(i);
        self.n += bulk;
        if let Some(Frame::Copy(c)) = self.host.stack.last_mut() {
            c.advance(bulk);
        }
        let step = self.step(p);
        debug_assert!(step.is_some_and(|s| matches!(s.event.kind, EventKind::Stage { .. })));
        let batch = self.last.map_or(0, |e| e.batch);
        let end = |at: u64| (at, at + bytes + DESC_BYTES as u64);
        Some(Leap {
            work: LeapWork::Staged,
            queue: i,
            batches: (batch, batch),
            words: false,
            reads: [(0, 0); 4],
            writes: at.map(end),
            free: Some((queue, (least(self), most))),
            cost: 3,
        })
    }

    /// The descriptors that a pair is staged as, where nothing stands against it.
    fn chunk_pair(&self, p: &Program, i: usize, ask: &Ask) -> Option<[Desc; 2]> {
        debug_assert_eq!(ask.role, Role::Data);
        let (tx, rx) =
            crate::udma::stage_pair(p.profile, p.arch, &self.request(i, ask)).result.ok()?;
        Some([tx, rx])
    }
}

#[cfg(test)]
pub(crate) mod tests;
