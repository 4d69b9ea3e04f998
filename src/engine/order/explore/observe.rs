//! What can be seen of a run from outside, and where one run differs from the calm one
//! (`docs/order.md`, "What breaks a program").

use super::super::queue::{Needs, QueueOrder};
use super::super::race::Act;
use super::super::readings::Readings;
use super::super::step::{Step, Teller};
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::digest::digest;
use crate::engine::ring::{Agent, Event, Machine, Memory};
use crate::engine::schedule::{CpuAct, EngineAct, Moment};
use crate::udma::{Desc, Dir, count_of};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// Something that a program sees in one order and not in the calm one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Break {
    /// A poll succeeds before bytes of its batch are visible.
    Overtaken {
        /// The poll.
        poll: Moment,
        /// Its batch.
        batch: u64,
        /// Writes of the batch that are still to come, the first of them: the write, address,
        /// bytes.
        late: (Moment, u64, u64),
        /// How many writes are still to come.
        count: u64,
    },
    /// A slot is fetched that holds another descriptor than in the calm order.
    OtherSlot {
        /// The fetch.
        fetch: Moment,
        /// The slot.
        slot: u64,
        /// What is fetched.
        got: Desc,
        /// What the calm order fetches.
        calm: Desc,
    },
    /// At a successful poll a byte of its batch has another value than in the calm order.
    OtherBytes {
        /// The poll.
        poll: Moment,
        /// Its batch.
        batch: u64,
        /// The first byte that differs.
        addr: u64,
    },
    /// A poll never succeeds that does in the calm order.
    Lost {
        /// The poll.
        poll: Moment,
    },
    /// At the end of the run a byte has another value than in the calm order.
    OtherEnd {
        /// The first byte that differs.
        addr: u64,
    },
}

impl Break {
    /// In a sentence.
    pub fn words(&self, p: &Program) -> String {
        match self {
            Break::Overtaken { poll, batch, late: (write, addr, len), count } => {
                let more = if *count > 1 {
                    format!(", nor are {} more", count - 1)
                } else {
                    String::new()
                };
                format!(
                    "{poll} sees the marker of batch {batch} before its data: {len_bytes} at {} \
                     ({write}) are not in memory{more}",
                    p.name_addr(*addr),
                    len_bytes = count_of(len, "byte")
                )
            }
            Break::OtherSlot { fetch, slot, got, calm } => format!(
                "{fetch} gets another descriptor from slot {slot} than in the calm order: {:032x}, \
                 not {:032x}",
                Bytes(got),
                Bytes(calm)
            ),
            Break::OtherBytes { poll, batch, addr } => format!(
                "at {poll} the bytes of batch {batch} differ from those of the calm order, from {} \
                 on",
                p.name_addr(*addr)
            ),
            Break::Lost { poll } => format!("the marker is lost: {poll} never succeeds"),
            Break::OtherEnd { addr } => format!(
                "at the end memory differs from that of the calm order, from {} on",
                p.name_addr(*addr)
            ),
        }
    }
}

/// A descriptor as its bytes in memory order.
struct Bytes<'a>(&'a Desc);

impl fmt::LowerHex for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.to_bytes().iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// A wait of the calm order.
#[derive(Debug, Clone)]
struct Seen {
    memory: Memory,
    batches: (u64, u64),
    queue: u32,
    word: Option<u64>,
}

/// A write of the calm order.
#[derive(Debug, Clone, Copy)]
struct Write {
    k: u64,
    addr: u64,
    len: u64,
}

/// What the calm run of a program shows.
#[derive(Debug, Clone)]
pub struct Calm {
    fetched: BTreeMap<(u32, Dir, u64), Desc>,
    /// Writes of each batch of each queue that are accesses.
    batches: BTreeMap<(u32, u64), Vec<Write>>,
    seen: BTreeMap<(Agent, u64), Seen>,
    /// How each wait of the host ended.
    pub waits: Vec<bool>,
    /// All bytes that anybody wrote: address and length.
    touched: BTreeSet<(u64, u64)>,
    end: Memory,
    /// Events of the run.
    pub events: u64,
    /// The engine found faults or stood.
    pub disturbed: bool,
    /// What is broken already in the calm order, and at which event.
    pub broken: Option<(Break, u64)>,
}

/// Counts what happens, so that each event has a name that is the same in every order.
#[derive(Debug, Clone)]
pub struct Names {
    teller: Arc<Teller>,
    ids: Arc<[QueueId]>,
    rules: Vec<QueueOrder>,
    counts: BTreeMap<(Agent, CpuAct), u64>,
    readings: Readings,
}

/// A named access: the step that makes it and whether it is one of padding.
#[derive(Debug, Clone)]
pub struct Named {
    /// Its name; nothing for steps that schedules do not name.
    pub moment: Option<Moment>,
    /// What it does.
    pub step: Step,
    /// It belongs to a padding self-copy.
    pub padding: bool,
    /// Of an event of a queue: what must have happened in the queue before it.
    pub needs: Option<Needs>,
}

impl Names {
    /// Before the first event.
    pub fn new(p: &Program, readings: Readings) -> Names {
        Names {
            teller: Arc::new(Teller::new(p)),
            ids: p.queues.iter().map(|q| q.id).collect(),
            rules: vec![QueueOrder::default(); p.queues.len()],
            counts: BTreeMap::new(),
            readings,
        }
    }

    /// The steps of an event with their names; `m` is the state after it.
    pub fn take(&mut self, m: &Machine, e: &Event) -> Vec<Named> {
        let mut steps = Vec::new();
        let teller = self.teller.clone();
        teller.steps(m, e, &mut |s| steps.push(s));
        steps.into_iter().map(|step| self.name(step)).collect()
    }

    fn name(&mut self, step: Step) -> Named {
        let r = self.readings;
        let mut had = None;
        let engine = |queue: u32, dir, k, act| {
            Some(Moment::Engine { queue: self.ids[queue as usize], dir, k, act })
        };
        let mut cpu = |agent, act| {
            let n = self.counts.entry((agent, act)).or_default();
            *n += 1;
            Some(Moment::Cpu { agent, act, n: *n })
        };
        let moment = match &step {
            Step::Fetch { at: (queue, dir, slot), desc, stream, .. } => {
                let needs = self.rules[*queue as usize].fetch(*dir, *slot, *desc, *stream);
                had = Some(needs);
                engine(*queue, *dir, needs.k, EngineAct::Fetch)
            }
            Step::Read { queue, slot, .. } => {
                self.rules[*queue as usize].read(*slot, r).and_then(|needs| {
                    had = Some(needs);
                    engine(*queue, Dir::Tx, needs.k, EngineAct::Read)
                })
            }
            Step::Visible { queue, slot, .. } => {
                self.rules[*queue as usize].write(*slot, r).and_then(|needs| {
                    had = Some(needs);
                    engine(*queue, Dir::Rx, needs.k, EngineAct::Write)
                })
            }
            Step::PacketEnd { queue, .. } => {
                self.rules[*queue as usize].retire(r);
                None
            }
            Step::Reset { queue, .. } => {
                self.rules[*queue as usize].reset(r);
                None
            }
            Step::Store { agent, .. } => cpu(*agent, CpuAct::Store),
            Step::Doorbell { agent, .. } => cpu(*agent, CpuAct::Doorbell),
            Step::Seen { agent, .. } => cpu(*agent, CpuAct::Poll),
            _ => None,
        };
        Named { moment, step, padding: had.is_some_and(|n| n.padding), needs: had }
    }
}

/// What an access of a race does, by name.
pub fn act_of(x: Moment) -> Act {
    match x {
        Moment::Engine { act: EngineAct::Fetch, .. } => Act::Fetch,
        Moment::Engine { act: EngineAct::Read, .. } => Act::Read,
        Moment::Engine { act: EngineAct::Write, .. } => Act::Write,
        Moment::Cpu { act: CpuAct::Poll, .. } => Act::Poll,
        Moment::Cpu { .. } => Act::Store,
    }
}

/// The bytes of a write that a poll of its batch reads: those outside of the polled word.
fn outside(w: &Write, word: Option<u64>) -> impl Iterator<Item = (u64, u64)> {
    without((w.addr, w.len), word)
}

/// The bytes of a stretch that lie outside of a polled word.
pub(super) fn without(
    (addr, len): (u64, u64),
    word: Option<u64>,
) -> impl Iterator<Item = (u64, u64)> {
    let end = addr.saturating_add(len);
    let (from, to) = word.map_or((end, end), |w| (w, w.saturating_add(4)));
    let below = (addr, from.clamp(addr, end) - addr);
    let above = (to.clamp(addr, end), end - to.clamp(addr, end));
    [below, above].into_iter().filter(|(_, len)| *len > 0)
}

/// Bytes that are compared at a time.
const BLOCK: u64 = 1 << 16;

/// The first byte of a stretch in which two memories differ.
fn differs(a: &Memory, b: &Memory, (addr, len): (u64, u64)) -> Option<u64> {
    if digest(&a.take(addr, len)) == digest(&b.take(addr, len)) {
        return None;
    }
    let mut at = 0;
    while at < len {
        let n = (len - at).min(BLOCK) as usize;
        let (mut x, mut y) = (vec![0; n], vec![0; n]);
        a.read(addr + at, &mut x);
        b.read(addr + at, &mut y);
        if let Some(i) = x.iter().zip(&y).position(|(x, y)| x != y) {
            return Some(addr + at + i as u64);
        }
        at += n as u64;
    }
    None
}

impl Calm {
    /// Runs a program in the calm order, its barriers as its schedule has them. `each` gets every
    /// event's steps by name.
    pub fn run(p: &Program, mut each: impl FnMut(&Machine, &Event, &[Named])) -> Calm {
        let p = &calm(p);
        let mut m = Machine::new(p);
        let mut calm = Calm {
            fetched: BTreeMap::new(),
            batches: BTreeMap::new(),
            seen: BTreeMap::new(),
            waits: Vec::new(),
            touched: BTreeSet::new(),
            end: m.memory.clone(),
            events: 0,
            disturbed: false,
            broken: None,
        };
        let mut names = Names::new(p, p.schedule.readings);
        while let Some(step) = m.step(p) {
            let all = names.take(&m, &step.event);
            for x in &all {
                calm.note(&m, &step.event, x);
            }
            calm.wait(&m, &step.event);
            each(&m, &step.event, &all);
        }
        calm.events = m.n;
        calm.disturbed |= m.faults() > 0 || m.queues.iter().any(|q| q.stalled.is_some());
        calm.end = m.memory;
        calm
    }

    fn wait(&mut self, m: &Machine, e: &Event) {
        use crate::engine::ring::EventKind;
        let polls = matches!(e.kind, EventKind::Poll { .. } | EventKind::PollIdle { .. });
        if polls && e.agent == Agent::Host && m.host.poll.is_none() {
            self.waits.push(m.host.polled == Some(true));
        }
    }

    fn note(&mut self, m: &Machine, e: &Event, x: &Named) {
        match (&x.step, x.moment) {
            (Step::Fetch { at: (queue, dir, _), desc, .. }, Some(Moment::Engine { k, .. })) => {
                self.fetched.insert((*queue, *dir, k), *desc);
            }
            (
                Step::Visible { queue, addr, len, batch, .. },
                Some(write @ Moment::Engine { k, .. }),
            ) => {
                self.touched.insert((*addr, *len));
                if x.padding {
                    return;
                }
                let w = Write { k, addr: *addr, len: *len };
                self.batches.entry((*queue, *batch)).or_default().push(w);
                // A poll of its batch that is over did not wait for it.
                let over = self.seen.iter().find(|(_, s)| {
                    s.queue == *queue
                        && (s.batches.0..=s.batches.1).contains(batch)
                        && outside(&w, s.word).next().is_some()
                });
                if let Some(((agent, n), _)) = over
                    && self.broken.is_none()
                {
                    let poll = Moment::Cpu { agent: *agent, act: CpuAct::Poll, n: *n };
                    let late = (write, *addr, *len);
                    let broken = Break::Overtaken { poll, batch: *batch, late, count: 1 };
                    self.broken = Some((broken, e.n));
                }
            }
            (Step::Store { addr, len, .. }, _) => {
                self.touched.insert((*addr, *len));
            }
            (Step::Seen { wait, .. }, Some(Moment::Cpu { agent, n, .. })) => {
                let seen = Seen {
                    memory: m.memory.clone(),
                    batches: wait.batches,
                    queue: wait.queue,
                    word: wait.word,
                };
                self.seen.insert((agent, n), seen);
            }
            _ => {}
        }
    }

    fn writes(&self, s: &Seen) -> impl Iterator<Item = (u64, &Write)> {
        let range = (s.queue, s.batches.0)..=(s.queue, s.batches.1);
        self.batches.range(range).flat_map(|(&(_, b), list)| list.iter().map(move |w| (b, w)))
    }
}

/// The program in the calm order, with the barriers of its schedule.
pub fn calm(p: &Program) -> Program {
    let mut p = p.clone();
    p.schedule.holds.clear();
    p
}

/// Watches a run for what the calm one does not show.
#[derive(Debug, Clone)]
pub struct Watcher {
    calm: Arc<Calm>,
    names: Names,
    written: BTreeSet<(u32, u64)>,
    more: BTreeSet<(u64, u64)>,
}

impl Watcher {
    /// Before the first event.
    pub fn new(p: &Program, calm: Arc<Calm>) -> Watcher {
        let names = Names::new(p, p.schedule.readings);
        Watcher { calm, names, written: BTreeSet::new(), more: BTreeSet::new() }
    }

    /// How often the host's waits have ended so far in this order is `n`: whether the next one
    /// does not end well in the calm order.
    pub fn times_out(&self, n: usize) -> bool {
        self.calm.waits.get(n).is_some_and(|seen| !seen)
    }

    /// Takes an event; `m` is the state after it. Answers what it shows that the calm order does
    /// not, with the names of what it does.
    pub fn event(&mut self, m: &Machine, e: &Event) -> (Vec<Named>, Option<Break>) {
        let all = self.names.take(m, e);
        let found = all.iter().find_map(|x| self.look(m, x));
        (all, found)
    }

    fn look(&mut self, m: &Machine, x: &Named) -> Option<Break> {
        match (&x.step, x.moment) {
            (
                Step::Fetch { at: (queue, dir, slot), desc, .. },
                Some(fetch @ Moment::Engine { k, .. }),
            ) => {
                let calm = *self.calm.fetched.get(&(*queue, *dir, k))?;
                let (got, slot) = (*desc, *slot);
                (got != calm).then_some(Break::OtherSlot { fetch, slot, got, calm })
            }
            (Step::Visible { queue, addr, len, .. }, Some(Moment::Engine { k, .. })) => {
                self.written.insert((*queue, k));
                if !self.calm.touched.contains(&(*addr, *len)) {
                    self.more.insert((*addr, *len));
                }
                None
            }
            (Step::Seen { .. }, Some(poll @ Moment::Cpu { agent, n, .. })) => {
                self.seen(m, poll, (agent, n))
            }
            _ => None,
        }
    }

    fn seen(&self, m: &Machine, poll: Moment, key: (Agent, u64)) -> Option<Break> {
        let s = self.calm.seen.get(&key)?;
        let mut late = self.calm.writes(s).filter(|(_, w)| {
            !self.written.contains(&(s.queue, w.k)) && outside(w, s.word).next().is_some()
        });
        if let Some((batch, w)) = late.next() {
            let queue = m.queues.get(s.queue as usize)?.id();
            let write = Moment::Engine { queue, dir: Dir::Rx, k: w.k, act: EngineAct::Write };
            let count = 1 + late.count() as u64;
            return Some(Break::Overtaken { poll, batch, late: (write, w.addr, w.len), count });
        }
        let memory = m.with_own(key.0);
        let mut bytes =
            self.calm.writes(s).flat_map(|(b, w)| outside(w, s.word).map(move |r| (b, r)));
        bytes.find_map(|(batch, range)| {
            let addr = differs(&memory, &s.memory, range)?;
            Some(Break::OtherBytes { poll, batch, addr })
        })
    }

    /// The run is over: what of memory differs from the calm order's end. Only the bytes that a
    /// run writes are looked at.
    pub fn end(&self, m: &Machine) -> Option<Break> {
        if m.memory.digest() == self.calm.end.digest() {
            return None;
        }
        let mut all = self.calm.touched.iter().chain(&self.more);
        all.find_map(|r| differs(&m.memory, &self.calm.end, *r))
            .map(|addr| Break::OtherEnd { addr })
    }
}
