//! Orders that are not the calm one: what a schedule holds back waits, all else goes on as the
//! rules of order allow (`docs/order.md`, "Schedules"; MODEL as all of that page).
//!
//! A queue reads packet after packet as in the calm order. What it reads is set aside until it may
//! be written: several packets are in flight then ([`Flight`]). Stores of a CPU agent that are held
//! back wait where no one else sees them (`Pending`); a fence waits for them. The same machinery
//! answers what may happen next at all ([`Machine::choices`]), for whoever looks at every order.

mod choose;
mod cpu;

pub use choose::Choice;

use super::device::{self, Action, Outgoing};
use super::event::{Agent, EventKind};
use super::machine::{Machine, NextCpu, Step as Told};
use super::memory::Content;
use super::queue::{Held, Queue, ix};
use crate::diag::Diagnostic;
use crate::engine::order::queue::QueueOrder;
use crate::engine::order::step::stream_of;
use crate::engine::program::Program;
use crate::engine::ring::host::Frame;
use crate::engine::schedule::{CpuAct, EngineAct, Moment};
use crate::udma::profile::MARKER;
use crate::udma::{DESC_BYTES, Desc, Dir, reg};
use imbl::{OrdMap, OrdSet, Vector};
use std::cmp::Ordering;

/// The write of an Rx descriptor of a packet in flight.
#[derive(Debug, Clone, Hash)]
struct Write {
    /// Its bytes, until they are written.
    out: Option<Outgoing>,
    k: u64,
    slot: u64,
    /// Where it ends in the packet's stream.
    end: u64,
}

/// A Tx descriptor of a packet in flight: which since reset, and where its bytes lie in the
/// packet's stream.
#[derive(Debug, Clone, Copy, Hash)]
struct Source {
    k: u64,
    start: u64,
    end: u64,
}

/// A packet that is read, as far as it is, and whose writes may come in any order that the rules
/// allow.
#[derive(Debug, Clone, Hash)]
pub struct Flight {
    tx: Vec<Source>,
    rx: Vec<Write>,
    /// Every Tx descriptor contributes to every Rx descriptor.
    whole: bool,
    batch: u64,
    /// All of it is read and set aside.
    closed: bool,
    retired: usize,
}

impl Flight {
    fn is_done(&self) -> bool {
        self.closed && self.rx.iter().all(|w| w.out.is_none())
    }

    /// Where it lies in ring order from a descriptor since reset: before, with or after it.
    pub fn place(&self, dir: Dir, k: u64) -> Ordering {
        let ends = match dir {
            Dir::Tx => self.tx.first().map(|x| x.k).zip(self.tx.last().map(|x| x.k)),
            Dir::Rx => self.rx.first().map(|w| w.k).zip(self.rx.last().map(|w| w.k)),
        };
        match ends {
            Some((_, last)) if last < k => Ordering::Less,
            Some((first, _)) if first <= k => Ordering::Equal,
            // One of which nothing is set aside yet is the last.
            _ => Ordering::Greater,
        }
    }

    /// Whether the bytes of a descriptor since reset are in memory; no for those of others.
    pub fn is_visible(&self, dir: Dir, k: u64) -> bool {
        match dir {
            Dir::Rx => self.rx.iter().any(|w| w.k == k && w.out.is_none()),
            Dir::Tx => self.tx.iter().find(|x| x.k == k).is_some_and(|x| self.is_through(x)),
        }
    }

    /// Whether every write that the bytes of a Tx descriptor reach is done.
    fn is_through(&self, x: &Source) -> bool {
        let all = self.closed || self.rx.last().is_some_and(|w| w.end >= x.end && !self.whole);
        let mut start = 0;
        all && self.rx.iter().all(|w| {
            let reached = self.whole || (start < x.end && x.start < w.end);
            start = w.end;
            !reached || w.out.is_none()
        })
    }

    /// The write that comes next in ring order.
    pub fn next_write(&self) -> Option<&Outgoing> {
        self.rx.iter().find_map(|w| w.out.as_ref())
    }
}

/// A store that was made and that no one else sees yet.
#[derive(Debug, Clone, Hash)]
struct Pending {
    agent: Agent,
    /// Which of its agent's stores.
    n: u64,
    addr: u64,
    content: Content,
}

impl Pending {
    fn overlaps(&self, addr: u64, len: u64) -> bool {
        self.addr < addr.saturating_add(len) && addr < self.addr.saturating_add(self.content.len())
    }
}

/// What has happened so far, and what waits.
#[derive(Debug, Clone, Hash)]
pub struct Loose {
    /// The rules of each queue.
    rules: Vec<QueueOrder>,
    /// Tx descriptors read of each queue.
    reads: Vec<u64>,
    /// Rx descriptors written of each queue.
    written: Vec<OrdSet<u64>>,
    /// How often each agent did what.
    cpus: OrdMap<(Agent, CpuAct), u64>,
    pending: Vector<Pending>,
    /// Stores of the host that are kept pending, for whoever chooses when they land.
    keep: OrdSet<u64>,
    /// The holds are let go: what they wait for does not come.
    let_go: bool,
}

/// What a queue may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// Write: place among the flights, place in the flight.
    Write(usize, usize),
    Retire,
    /// What the calm order does next.
    Calm(Action),
}

/// An event, and its batch where that does not follow from the state.
type Next = (Agent, EventKind, Option<u64>);

impl Loose {
    /// Before the first event.
    pub fn new(p: &Program) -> Loose {
        let n = p.queues.len();
        Loose {
            rules: vec![QueueOrder::default(); n],
            reads: vec![0; n],
            written: vec![OrdSet::new(); n],
            cpus: OrdMap::new(),
            pending: Vector::new(),
            keep: OrdSet::new(),
            let_go: false,
        }
    }

    fn count(&self, agent: Agent, act: CpuAct) -> u64 {
        self.cpus.get(&(agent, act)).copied().unwrap_or(0)
    }

    fn add(&mut self, agent: Agent, act: CpuAct) -> u64 {
        let n = self.count(agent, act) + 1;
        self.cpus.insert((agent, act), n);
        n
    }

    /// Whether the holds were let go, because what they wait for did not come.
    pub fn has_let_go(&self) -> bool {
        self.let_go
    }
}

fn index(p: &Program, id: crate::engine::program::QueueId) -> Option<usize> {
    p.queues.iter().position(|q| q.id == id)
}

impl Machine {
    /// Whether an event has happened. In the calm order nobody counts.
    fn happened(&self, p: &Program, x: Moment) -> bool {
        let Some(loose) = &self.loose else { return false };
        match x {
            Moment::Engine { queue, dir, k, act } => index(p, queue).is_some_and(|i| match act {
                EngineAct::Fetch => loose.rules[i].fetched(dir) > k,
                EngineAct::Read => loose.reads[i] > k,
                EngineAct::Write => loose.written[i].contains(&k),
            }),
            Moment::Cpu { agent, act, n } => {
                let waits = |w: &Pending| w.agent == agent && w.n == n;
                loose.count(agent, act) >= n
                    && !(act == CpuAct::Store && loose.pending.iter().any(waits))
            }
        }
    }

    fn is_held(&self, p: &Program, x: Moment) -> bool {
        self.loose.as_ref().is_some_and(|l| !l.let_go)
            && p.schedule.holds.iter().any(|h| h.what == x && !self.happened(p, h.until))
    }

    fn moment(&self, i: usize, dir: Dir, k: u64, act: EngineAct) -> Moment {
        let q = &self.queues[i];
        Moment::Engine { queue: q.id(), dir, k: q.earlier[ix(dir)] + k, act }
    }

    /// What queue `i` may do, what the calm order does first in front; and whether something is
    /// only held back by a schedule.
    fn acts(&self, p: &Program, i: usize) -> (Vec<Act>, bool) {
        let (mut out, mut held) = (Vec::new(), false);
        let q = &self.queues[i];
        let Some(loose) = &self.loose else { return (out, held) };
        if self.aborted.contains(&q.id().engine) {
            return (out, held);
        }
        let (rules, r) = (&loose.rules[i], p.schedule.readings);
        let mut earlier: Vec<(u64, u64)> = Vec::new();
        for (f, flight) in q.flights.iter().enumerate() {
            for (j, w) in flight.rx.iter().enumerate() {
                let Some(o) = &w.out else { continue };
                let over = earlier.iter().any(|e| e.0 < o.addr + o.len && o.addr < e.0 + e.1);
                earlier.push((o.addr, o.len));
                if over || !rules.may_write(w.slot, r).is_some_and(|n| n.met) {
                    continue;
                }
                match self.is_held(p, self.moment(i, Dir::Rx, w.k, EngineAct::Write)) {
                    true => held = true,
                    false => out.push(Act::Write(f, j)),
                }
            }
        }
        if q.flights.front().is_some_and(Flight::is_done) {
            out.push(Act::Retire);
        }
        if q.stalled.is_some() {
            return (out, held);
        }
        let action = device::next_action(q);
        let what = match action {
            Action::Fetch(dir) => Some(self.moment(i, dir, q.hw(dir).fetched, EngineAct::Fetch)),
            Action::Read => {
                let k = q.packet.tx.get(q.packet.read).map_or(0, |x| x.k);
                let slot = q.hw(Dir::Tx).slot(k);
                if !rules.may_read(slot, r).is_some_and(|n| n.met) {
                    return (out, held);
                }
                Some(self.moment(i, Dir::Tx, k, EngineAct::Read))
            }
            _ => None,
        };
        match what {
            _ if action == Action::Idle => {}
            Some(x) if self.is_held(p, x) => held = true,
            _ => out.push(Act::Calm(action)),
        }
        (out, held)
    }

    /// Sets aside what is read and closes packets that are read whole; tells of a fault or stall
    /// that this meets.
    fn settle(&mut self, p: &Program, i: usize) -> Option<EventKind> {
        loop {
            let q = &self.queues[i];
            if q.stalled.is_some() || self.aborted.contains(&q.id().engine) {
                return None;
            }
            match device::next_action(q) {
                Action::Visible => {
                    let out = match self.take_write(p, i) {
                        Ok(out) => out,
                        Err(kind) => return Some(kind),
                    };
                    let q = &mut self.queues[i];
                    let end = q.packet.delivered;
                    let (k, slot) = (out.k, out.slot);
                    if let Some(f) = self.flight(i) {
                        f.rx.push(Write { out: Some(out), k, slot, end });
                    }
                }
                Action::Retire => {
                    if let Some(f) = self.flight(i) {
                        f.closed = true;
                    }
                    self.queues[i].packet = device::Packet::default();
                }
                Action::Judge => {
                    self.queues[i].packet.judged = true;
                    if let Some(kind) = self.judge(p, i) {
                        return Some(kind);
                    }
                }
                _ => return None,
            }
        }
    }

    /// The packet in work as one in flight.
    fn flight(&mut self, i: usize) -> Option<&mut Flight> {
        let q = &self.queues[i];
        if q.flights.back().is_none_or(|f| f.closed) {
            let id = q.id();
            let mut at = 0;
            let source = |x: &Held| {
                let start = at;
                at += if x.desc.is_meta() { 0 } else { x.desc.length() };
                Source { k: x.k, start, end: at }
            };
            let flight = Flight {
                tx: q.packet.tx.iter().map(source).collect(),
                rx: Vec::new(),
                whole: !q.packet.is_straight(),
                batch: self.batch_of(Agent::Engine(id), &EventKind::CpuFence),
                closed: false,
                retired: 0,
            };
            self.queues[i].flights.push_back(flight);
        }
        self.queues[i].flights.back_mut()
    }

    fn do_act(&mut self, p: &Program, i: usize, act: Act) -> Option<Next> {
        let agent = Agent::Engine(self.queues[i].id());
        match act {
            Act::Write(f, j) => {
                let (kind, batch) = self.write_aside(p, i, f, j)?;
                Some((agent, kind, Some(batch)))
            }
            Act::Retire => self.retire_flight(p, i).map(|kind| (agent, kind, None)),
            Act::Calm(_) => {
                let kind = self.engine_step(p, i)?;
                self.note_engine(p, i, &kind);
                Some((agent, kind, None))
            }
        }
    }

    /// Keeps the rules in step with what a queue fetched or read.
    fn note_engine(&mut self, p: &Program, i: usize, kind: &EventKind) {
        let packet = &self.queues[i].packet;
        let Some(loose) = &mut self.loose else { return };
        match *kind {
            EventKind::Fetch { dir, slot, desc } => {
                let ends = dir == Dir::Tx && packet.complete;
                let stream = ends.then(|| stream_of(packet));
                loose.rules[i].fetch(dir, slot, desc, stream);
            }
            EventKind::Read { slot, .. } => {
                if let Some(needs) = loose.rules[i].read(slot, p.schedule.readings) {
                    loose.reads[i] = needs.k + 1;
                }
            }
            _ => {}
        }
    }

    fn write_aside(
        &mut self,
        p: &Program,
        i: usize,
        f: usize,
        j: usize,
    ) -> Option<(EventKind, u64)> {
        let q = &mut self.queues[i];
        let flight = q.flights.get_mut(f)?;
        let batch = flight.batch;
        let Outgoing { slot, addr, len, content, .. } = flight.rx.get_mut(j)?.out.take()?;
        self.memory.put_content(addr, content);
        q.due = Some(self.now_ns.saturating_add(device::duration(p, len)));
        // The counts go on with what is visible without a gap.
        for dir in Dir::BOTH {
            while q.is_visible(dir, q.hw(dir).visible) {
                q.hw_mut(dir).visible += 1;
            }
        }
        if let Some(loose) = &mut self.loose
            && let Some(needs) = loose.rules[i].write(slot, p.schedule.readings)
        {
            loose.written[i].insert(needs.k);
        }
        Some((EventKind::Visible { slot, addr, len }, batch))
    }

    fn retire_flight(&mut self, p: &Program, i: usize) -> Option<EventKind> {
        let q = &mut self.queues[i];
        let flight = q.flights.front_mut()?;
        let n = flight.retired;
        let (tx, rx) = (flight.tx.get(n).map(|x| x.k), flight.rx.get(n).map(|w| w.k));
        flight.retired += 1;
        let packet_end = flight.retired >= flight.tx.len().max(flight.rx.len());
        let slot = |q: &Queue, dir, k: Option<u64>| k.map(|k| q.hw(dir).slot(k));
        let (tx, rx) = (slot(q, Dir::Tx, tx), slot(q, Dir::Rx, rx));
        for (dir, slot) in [(Dir::Tx, tx), (Dir::Rx, rx)] {
            let hw = q.hw_mut(dir);
            hw.retired += u64::from(slot.is_some());
            hw.visible = hw.visible.max(hw.retired);
        }
        if packet_end {
            q.flights.pop_front();
            if let Some(loose) = &mut self.loose {
                loose.rules[i].retire(p.schedule.readings);
            }
        }
        let q = &mut self.queues[i];
        while q.bounds.front().is_some_and(|b| b.0 < q.hw[0].retired) {
            q.bounds.pop_front();
        }
        Some(EventKind::Retire { tx, rx, packet_end })
    }

    /// The next event of an order with holds.
    pub(super) fn next_loose(&mut self, p: &Program) -> Option<Next> {
        loop {
            if let Some(f) = self.queued.pop_front() {
                let id = self.queues[f.queue].id();
                let kind = self.fault(p, f.queue, f.dir, f.name, (f.slot, f.addr));
                return Some((Agent::Engine(id), kind, None));
            }
            let free = |m: &Machine, w: &Pending| {
                !m.is_held(p, Moment::Cpu { agent: w.agent, act: CpuAct::Store, n: w.n })
            };
            if let Some(landed) = self.land(free) {
                return Some(landed);
            }
            let mut held = Vec::new();
            let mut engine: Option<(u64, usize, Act)> = None;
            for i in 0..self.queues.len() {
                if let Some(kind) = self.settle(p, i) {
                    return Some((Agent::Engine(self.queues[i].id()), kind, None));
                }
                let (acts, is_held) = self.acts(p, i);
                held.extend(is_held.then_some(i));
                let q = &mut self.queues[i];
                let idle = device::next_action(q) == Action::Idle;
                if acts.is_empty() && !is_held && idle && q.flights.is_empty() {
                    q.due = None;
                }
                // What is not begun waits for its time; what is in flight goes on.
                let due = q.due;
                let first = acts.into_iter().find_map(|a| match (a, due) {
                    (_, Some(t)) => Some((t.max(self.now_ns), a)),
                    (Act::Calm(_), None) => None,
                    (_, None) => Some((self.now_ns, a)),
                });
                if let Some((t, act)) = first
                    && engine.is_none_or(|e| (t, i) < (e.0, e.1))
                {
                    engine = Some((t, i, act));
                }
            }
            let cpu = self.next_cpu(p, |m, who| m.cpu_waits(p, who));
            if let Some(next) = self.act_loose(p, engine, cpu, &held) {
                return next;
            }
        }
    }

    /// The engine acts as soon as it may, otherwise a CPU agent; `None` where only time went by
    /// or a hold was let go, and all is to be asked anew.
    #[allow(clippy::option_option)]
    fn act_loose(
        &mut self,
        p: &Program,
        engine: Option<(u64, usize, Act)>,
        cpu: Option<NextCpu>,
        held: &[usize],
    ) -> Option<Option<Next>> {
        let due = engine.map(|(t, i, _)| (i, t));
        let Some(cpu) = cpu else {
            let Some((t, i, act)) = engine else { return self.stuck(p, held) };
            self.now_ns = self.now_ns.max(t);
            return self.do_act(p, i, act).map(Some);
        };
        if cpu.polls {
            let agent = self.agent(cpu.who);
            if due.is_none() && self.waits_in_vain(cpu.who, held) {
                self.let_go();
                return None;
            }
            let seen = self.with_own(agent);
            let real = std::mem::replace(&mut self.memory, seen);
            let kind = self.with_cpu(cpu.who, |m| {
                let poll = m.host.poll?;
                m.poll(p, poll, due, cpu.others_at)
            });
            self.memory = real;
            if let Some(kind) = kind {
                let memory = self.memory.clone();
                self.note_cpu(p, agent, &kind, &memory);
                return Some(Some((agent, kind, None)));
            }
        }
        match engine {
            Some((t, i, act)) if t <= cpu.at => {
                self.now_ns = self.now_ns.max(t);
                self.do_act(p, i, act).map(Some)
            }
            _ if cpu.polls => None,
            _ => {
                self.now_ns = self.now_ns.max(cpu.at);
                self.cpu_event(p, cpu.who).map(Some)
            }
        }
    }

    /// Whether a poll would run out of its budget only because of a hold.
    fn waits_in_vain(&self, who: Option<usize>, held: &[usize]) -> bool {
        let cpu = who.and_then(|k| self.seqs.get(k)).map_or(&self.host, |s| &s.host);
        let Some(poll) = cpu.poll else { return false };
        if self.sees(self.agent(who), poll.addr, poll.idle_of) {
            return false;
        }
        let queue = cpu.stack.iter().rev().find_map(|f| match f {
            Frame::Wait { queue, .. } => self.index_of(*queue),
            _ => None,
        });
        let begun = |i: usize| self.queues[i].due.is_some() || !self.queues[i].flights.is_empty();
        queue.is_some_and(|i| held.contains(&i) && begun(i))
            || self.loose.as_ref().is_some_and(|l| !l.let_go && !l.pending.is_empty())
    }

    /// Nobody may act: work that waits for its time begins, then holds are let go, else it is the
    /// end.
    #[allow(clippy::option_option)]
    fn stuck(&mut self, p: &Program, held: &[usize]) -> Option<Option<Next>> {
        let waits = !held.is_empty()
            || self.loose.as_ref().is_some_and(|l| !l.pending.is_empty())
            || !self.host.is_done(p)
            || self.seqs.iter().any(|s| s.host.poll.is_some());
        let loose = self.loose.as_ref().is_some_and(|l| !l.let_go);
        if loose && waits {
            let idle = (0..self.queues.len()).find(|&i| {
                let q = &self.queues[i];
                q.due.is_none()
                    && q.stalled.is_none()
                    && self.acts(p, i).0.iter().any(|a| matches!(a, Act::Calm(Action::Fetch(_))))
            });
            match idle {
                Some(i) => self.queues[i].due = Some(self.now_ns),
                None => self.let_go(),
            }
            return None;
        }
        let blocked = self.seq_blocked(p);
        Some(blocked.map(|(k, kind)| {
            self.active = Some(k);
            (self.agent(Some(k)), kind, None)
        }))
    }

    fn let_go(&mut self) {
        if let Some(loose) = &mut self.loose {
            loose.let_go = true;
        }
        let text = "a hold of the schedule waits for what does not come: from here on the order \
            is the calm one";
        self.find(Diagnostic::new("R045", text));
    }
}
