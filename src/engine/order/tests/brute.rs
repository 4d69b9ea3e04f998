//! Every interleaving of a small program, one by one: no event is left out because it commutes
//! with another, only a state that was met before is not gone on from again. What the explorer
//! says must be what is seen here.
//!
//! The steps of the calm run say what the program does; when each may happen is written here once
//! more, for rings whose packets have one descriptor of each direction.

use super::*;
use crate::engine::order::explore::{Bound, Break, Explored, Proof, Verdict, explore};
use crate::engine::program::Speed;
use crate::engine::ring::{Agent, Event, EventKind};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

/// One thing that the host does.
#[derive(Debug, Clone)]
enum Host {
    Store(u64, Vec<u8>),
    Fence,
    Bell(usize, usize, u64),
    Seen { word: u64, reads: Vec<(usize, u64)> },
    TimedOut(u64),
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    at: u64,
    desc: Desc,
}

#[derive(Debug, Clone, Copy)]
struct Move {
    addr: u64,
    len: u64,
    batch: u64,
}

/// A queue of the program: descriptors and what they move, in ring order.
#[derive(Debug, Clone, Default)]
struct Ring {
    slots: [Vec<Slot>; 2],
    reads: Vec<Move>,
    writes: Vec<Move>,
}

#[derive(Debug, Clone)]
struct Model {
    r: Readings,
    rings: Vec<Ring>,
    host: Vec<Host>,
    start: BTreeMap<u64, u8>,
    /// The bytes that each poll reads, and those at the end, in the calm order.
    polls: Vec<Vec<u8>>,
    end: BTreeMap<u64, u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct State {
    pc: usize,
    polls: usize,
    pending: Vec<(u64, Vec<u8>)>,
    posted: Vec<[u64; 2]>,
    fetched: Vec<[usize; 2]>,
    /// What was read, by descriptor.
    read: Vec<Vec<Vec<u8>>>,
    visible: Vec<Vec<bool>>,
    memory: BTreeMap<u64, u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Host,
    Land(usize),
    Fetch(usize, usize),
    Read(usize),
    Write(usize, usize),
}

fn overlap(a: (u64, u64), b: (u64, u64)) -> bool {
    a.0 < b.0 + b.1 && b.0 < a.0 + a.1
}

impl State {
    fn bytes(&self, at: u64, len: u64) -> Vec<u8> {
        (at..at + len).map(|a| self.memory.get(&a).copied().unwrap_or(0)).collect()
    }

    fn put(&mut self, at: u64, bytes: &[u8]) {
        for (a, b) in (at..).zip(bytes) {
            self.memory.insert(a, *b);
        }
    }

    /// As the host sees it.
    fn own(&self) -> State {
        let mut own = self.clone();
        for (at, bytes) in &self.pending {
            own.put(*at, bytes);
        }
        own
    }
}

impl Model {
    /// From the calm run of a program, and the order of that run.
    fn of(p: &Program, r: Readings) -> (Model, Vec<Act>) {
        let mut m = Model {
            r,
            rings: vec![Ring::default(); p.queues.len()],
            host: Vec::new(),
            start: BTreeMap::new(),
            polls: Vec::new(),
            end: BTreeMap::new(),
        };
        let mut order = Vec::new();
        let teller = Teller::new(p);
        let first = crate::engine::ring::Machine::new(p);
        let mut known: Vec<(u64, u64)> = Vec::new();
        machine::run(p, |now, e| {
            let timed_out = matches!(e.kind, EventKind::Poll { .. })
                && now.host.poll.is_none()
                && now.host.polled == Some(false);
            if let (true, EventKind::Poll { addr, .. }) = (timed_out, e.kind) {
                m.host.push(Host::TimedOut(addr));
                order.push(Act::Host);
            }
            teller.steps(now, e, &mut |step| match step {
                Step::Store { addr, len, .. } => {
                    let mut bytes = vec![0; len as usize];
                    now.memory.read(addr, &mut bytes);
                    known.push((addr, len));
                    m.host.push(Host::Store(addr, bytes));
                    order.extend([Act::Host, Act::Land(0)]);
                }
                Step::Fence { .. } => {
                    m.host.push(Host::Fence);
                    order.push(Act::Host);
                }
                Step::Doorbell { queue, dir, count, .. } => {
                    m.host.push(Host::Bell(queue as usize, usize::from(dir == Dir::Rx), count));
                    order.push(Act::Host);
                }
                Step::Fetch { at: (q, dir, _), addr, desc, .. } => {
                    let d = usize::from(dir == Dir::Rx);
                    known.push((addr, 16));
                    m.rings[q as usize].slots[d].push(Slot { at: addr, desc });
                    order.push(Act::Fetch(q as usize, d));
                }
                Step::Read { queue, addr, len, .. } => {
                    known.push((addr, len));
                    m.rings[queue as usize].reads.push(Move { addr, len, batch: 0 });
                    order.push(Act::Read(queue as usize));
                }
                Step::Visible { queue, addr, len, batch, .. } => {
                    known.push((addr, len));
                    let ring = &mut m.rings[queue as usize];
                    ring.writes.push(Move { addr, len, batch });
                    order.push(Act::Write(queue as usize, ring.writes.len() - 1));
                }
                Step::Seen { wait, .. } => {
                    let word = wait.word.unwrap();
                    known.push((word, 4));
                    // Which writes it reads is known at the end.
                    let reads = vec![(wait.queue as usize, wait.batches.0), (0, wait.batches.1)];
                    m.host.push(Host::Seen { word, reads });
                    order.push(Act::Host);
                }
                _ => {}
            });
            true
        });
        for (at, len) in known {
            for a in at..at + len {
                let mut b = [0];
                first.memory.read(a, &mut b);
                m.start.insert(a, b[0]);
            }
        }
        for h in &mut m.host {
            let Host::Seen { word, reads } = h else { continue };
            let (q, first) = reads[0];
            let last = reads[1].1;
            let all = m.rings[q].writes.iter().enumerate();
            let mine = all.filter(|(_, w)| (first..=last).contains(&w.batch));
            let outside = mine.filter(|(_, w)| {
                (w.addr..w.addr + w.len).any(|a| !(*word..*word + 4).contains(&a))
            });
            *reads = outside.map(|(k, _)| (q, k as u64)).collect();
        }
        // The calm order once more, for what its polls and its end show.
        let mut s = m.begin();
        for act in &order {
            if let (Act::Host, Some(Host::Seen { word, reads })) = (act, m.host.get(s.pc)) {
                m.polls.push(m.poll_bytes(&s, *word, reads));
            }
            m.make(&mut s, *act);
        }
        m.end = s.memory;
        (m, order)
    }

    fn begin(&self) -> State {
        let n = self.rings.len();
        State {
            posted: vec![[0; 2]; n],
            fetched: vec![[0; 2]; n],
            read: vec![Vec::new(); n],
            visible: self.rings.iter().map(|r| vec![false; r.writes.len()]).collect(),
            memory: self.start.clone(),
            ..State::default()
        }
    }

    fn poll_bytes(&self, s: &State, word: u64, reads: &[(usize, u64)]) -> Vec<u8> {
        let own = s.own();
        let mut out = Vec::new();
        for (q, k) in reads {
            let w = self.rings[*q].writes[*k as usize];
            let at = (w.addr..w.addr + w.len).filter(|a| !(word..word + 4).contains(a));
            out.extend(at.flat_map(|a| own.bytes(a, 1)));
        }
        out
    }

    /// Whether a bit of a descriptor is set.
    fn bit(&self, q: usize, d: usize, k: usize, word: usize, bit: u32) -> bool {
        self.rings[q].slots[d].get(k).is_some_and(|s| {
            let w = if word == 0 { s.desc.len_ctrl } else { s.desc.word1 };
            w >> bit & 1 != 0
        })
    }

    fn dmb(&self, q: usize, k: usize) -> bool {
        self.bit(q, 0, k, 0, 30)
    }

    fn wb(&self, q: usize, k: usize) -> bool {
        self.bit(q, 0, k, 1, 26)
    }

    fn sow(&self, q: usize, k: usize) -> bool {
        self.bit(q, 1, k, 0, 29)
    }

    fn may(&self, s: &State, act: Act) -> bool {
        let all = |q: usize, n: usize| s.visible[q].iter().take(n).all(|v| *v);
        let full = self.r.dmb == DmbReading::Full;
        let through = self.r.sow == SowReading::Through;
        match act {
            Act::Host => match self.host.get(s.pc) {
                None => false,
                Some(Host::Fence) => s.pending.is_empty(),
                Some(Host::Seen { word, .. }) => s.own().bytes(*word, 4) == WORD.to_le_bytes(),
                Some(Host::TimedOut(word)) => s.own().bytes(*word, 4) != WORD.to_le_bytes(),
                Some(_) => true,
            },
            Act::Land(i) => s.pending.get(i).is_some_and(|(at, b)| {
                let mine = (*at, b.len() as u64);
                !s.pending[..i].iter().any(|(o, c)| overlap((*o, c.len() as u64), mine))
            }),
            Act::Fetch(q, d) => {
                (s.fetched[q][d] as u64) < s.posted[q][d]
                    && s.fetched[q][d] < self.rings[q].slots[d].len()
            }
            Act::Read(q) => {
                let k = s.read[q].len();
                k < s.fetched[q][0]
                    && k < self.rings[q].reads.len()
                    && (!self.dmb(q, k) || all(q, k))
                    && (0..k).all(|i| !(full && self.dmb(q, i)) || all(q, i + 1))
            }
            Act::Write(q, k) => {
                let w = &self.rings[q].writes;
                !s.visible[q][k]
                    && k < s.fetched[q][1]
                    && k < s.read[q].len()
                    && (!self.sow(q, k) || all(q, k))
                    && (0..k).all(|i| {
                        let over = overlap((w[i].addr, w[i].len), (w[k].addr, w[k].len));
                        (!over || s.visible[q][i])
                            && (!self.wb(q, i) || all(q, i + 1))
                            && (!(full && self.dmb(q, i)) || all(q, i + 1))
                            && (!(through && self.sow(q, i)) || s.visible[q][i])
                    })
            }
        }
    }

    /// Makes it happen; whether it shows what the calm order does not.
    fn make(&self, s: &mut State, act: Act) -> bool {
        match act {
            Act::Host => {
                let h = &self.host[s.pc];
                s.pc += 1;
                match h {
                    Host::Store(at, bytes) => s.pending.push((*at, bytes.clone())),
                    Host::Bell(q, d, n) => s.posted[*q][*d] += n,
                    Host::Seen { word, reads } => {
                        s.polls += 1;
                        let late = reads.iter().any(|(q, k)| !s.visible[*q][*k as usize]);
                        let calm = self.polls.get(s.polls - 1);
                        return late
                            || calm.is_some_and(|c| *c != self.poll_bytes(s, *word, reads));
                    }
                    Host::Fence | Host::TimedOut(_) => {}
                }
            }
            Act::Land(i) => {
                let (at, bytes) = s.pending.remove(i);
                s.put(at, &bytes);
            }
            Act::Fetch(q, d) => {
                let slot = self.rings[q].slots[d][s.fetched[q][d]];
                s.fetched[q][d] += 1;
                return s.bytes(slot.at, 16) != slot.desc.to_bytes();
            }
            Act::Read(q) => {
                let m = self.rings[q].reads[s.read[q].len()];
                let bytes = s.bytes(m.addr, m.len);
                s.read[q].push(bytes);
            }
            Act::Write(q, k) => {
                let at = self.rings[q].writes[k].addr;
                let bytes = s.read[q][k].clone();
                s.put(at, &bytes);
                s.visible[q][k] = true;
            }
        }
        false
    }

    fn acts(&self, s: &State) -> Vec<Act> {
        let mut all = vec![Act::Host];
        all.extend((0..s.pending.len()).map(Act::Land));
        for (q, ring) in self.rings.iter().enumerate() {
            all.extend([Act::Fetch(q, 0), Act::Fetch(q, 1), Act::Read(q)]);
            all.extend((0..ring.writes.len()).map(|k| Act::Write(q, k)));
        }
        all.retain(|a| self.may(s, *a));
        all
    }

    /// Whether some interleaving shows what the calm one does not; nothing where there are more
    /// states than `most`.
    fn breaks(&self, most: usize) -> Option<bool> {
        let mut seen: HashSet<State> = HashSet::new();
        let mut todo = vec![self.begin()];
        while let Some(s) = todo.pop() {
            if !seen.insert(s.clone()) {
                continue;
            }
            if seen.len() > most {
                return None;
            }
            let acts = self.acts(&s);
            if acts.is_empty() {
                let broken = match self.host.get(s.pc) {
                    None => s.memory != self.end,
                    Some(Host::Seen { .. }) => true,
                    _ => false,
                };
                if broken {
                    return Some(true);
                }
            }
            for act in acts {
                let mut next = s.clone();
                if self.make(&mut next, act) {
                    return Some(true);
                }
                todo.push(next);
            }
        }
        Some(false)
    }

    /// Follows the order of a run of the machine, step by step: each must be one that may happen
    /// here, and the last one must show what is claimed.
    fn follows(&self, p: &Program, until: u64, at_end: bool) -> Result<(), String> {
        let mut events: Vec<(Event, Vec<Step>, crate::engine::ring::Memory)> = Vec::new();
        let teller = Teller::new(p);
        machine::run(p, |m, e| {
            let mut steps = Vec::new();
            teller.steps(m, e, &mut |s| steps.push(s));
            let timed_out = matches!(e.kind, EventKind::Poll { .. })
                && m.host.poll.is_none()
                && m.host.polled == Some(false);
            if timed_out {
                steps.push(Step::Fence { agent: Agent::Host });
            }
            events.push((*e, steps, m.memory.clone()));
            e.n < until
        });
        let mut s = self.begin();
        let mut shown = false;
        let mut reads: Vec<BTreeMap<u64, usize>> = vec![BTreeMap::new(); self.rings.len()];
        let mut writes: Vec<BTreeMap<u64, usize>> = vec![BTreeMap::new(); self.rings.len()];
        let mut fetched = vec![[0usize; 2]; self.rings.len()];
        let total = events.len();
        for (n, (e, steps, memory)) in events.into_iter().enumerate() {
            let mut acts = Vec::new();
            if let EventKind::Land { addr, len } = e.kind {
                let at = s.pending.iter().position(|(a, b)| (*a, b.len() as u64) == (addr, len));
                // One that changed nothing was taken to land at once.
                acts.extend(at.map(Act::Land));
            }
            for step in steps {
                match step {
                    Step::Store { addr, len, .. } => {
                        acts.push(Act::Host);
                        // One that is not in memory yet lands later.
                        let mut now = vec![0; len as usize];
                        memory.read(addr, &mut now);
                        let stored = acts.iter().filter(|a| **a == Act::Host).count() - 1;
                        let landed = match self.host.get(s.pc + stored) {
                            Some(Host::Store(_, bytes)) => *bytes == now,
                            _ => return Err(format!("event {}: another store", e.n)),
                        };
                        if landed {
                            acts.push(Act::Land(usize::MAX));
                        }
                    }
                    Step::Fence { .. } | Step::Doorbell { .. } | Step::Seen { .. } => {
                        acts.push(Act::Host);
                    }
                    Step::Fetch { at: (q, dir, slot), .. } => {
                        let (q, d) = (q as usize, usize::from(dir == Dir::Rx));
                        let by_slot = if d == 0 { &mut reads } else { &mut writes };
                        by_slot[q].insert(slot, fetched[q][d]);
                        fetched[q][d] += 1;
                        acts.push(Act::Fetch(q, d));
                    }
                    Step::Read { queue, .. } => acts.push(Act::Read(queue as usize)),
                    Step::Visible { queue, slot, .. } => {
                        let q = queue as usize;
                        acts.push(Act::Write(q, writes[q][&slot]));
                    }
                    _ => {}
                }
            }
            for act in acts {
                let act = match act {
                    Act::Land(usize::MAX) => Act::Land(s.pending.len() - 1),
                    other => other,
                };
                if !self.may(&s, act) {
                    return Err(format!("event {}: {act:?} may not happen: {e:?}", e.n));
                }
                shown = self.make(&mut s, act);
            }
            let last = n + 1 == total;
            if last && !at_end && !shown {
                return Err(format!("event {} shows nothing", e.n));
            }
        }
        Ok(())
    }
}

/// A program to be made up.
#[derive(Debug, Clone)]
struct Plan {
    batches: Vec<(bool, u64, Vec<Pair>, Then)>,
    slow: bool,
    fence: bool,
    armed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Then {
    Nothing,
    Wait,
    Store(u64),
    Restage,
}

impl Plan {
    fn program(&self) -> Program {
        let mut ops = Vec::new();
        let mut at = [0u64; 2];
        for (other, mark, list, then) in &self.batches {
            let queue = if *other { B } else { Q };
            let first = at[usize::from(*other)];
            let n = list.len() as u32;
            at[usize::from(*other)] += u64::from(n);
            ops.extend(stage(queue, first, list));
            if self.armed {
                // A seed that leaves a byte of the marker in the polled word.
                let mut bytes = WORD.to_le_bytes().to_vec();
                bytes.extend([1, 0, 0, 0]);
                ops.push(HostOp::Store { addr: MARKER + 8 * mark, bytes: Blob::from_vec(bytes) });
            } else {
                ops.push(seed(*mark));
            }
            if self.fence {
                ops.push(start(queue, n));
            } else {
                for dir in [Dir::Rx, Dir::Tx] {
                    let offset = reg::queue_block(dir, queue.queue)
                        + reg::queue_reg(dir, "drtp_inc").unwrap().offset;
                    ops.push(HostOp::RegWrite { engine: 128, offset, value: n });
                }
            }
            match then {
                Then::Nothing => {}
                Then::Wait => ops.push(wait(queue, *mark, n)),
                Then::Store(at) => {
                    let bytes = Blob::from_vec(vec![0xee; 4]);
                    ops.push(HostOp::Store { addr: DEVICE + at, bytes });
                }
                Then::Restage => {
                    let other = pair(0x40, 0x80, 4).descs()[0];
                    ops.push(copy_in(queue, Dir::Tx, first, &[other]));
                }
            }
        }
        let mut p = two_queues(ops);
        // Every byte of the sources is another one.
        p.regions[0].fill = crate::engine::program::Fill::Pattern(3);
        if self.slow {
            p.speed = Speed { ns_per_desc: 700, bytes_per_ns: 0 };
        }
        p
    }
}

fn any_pair() -> impl Strategy<Value = Pair> {
    let at = (0u64..6, 0u64..6, 1u32..3, 0u8..10);
    at.prop_map(|(s, d, len, bits)| {
        let d = if s == d { d + 7 } else { d };
        let p = pair(4 * s, 4 * d, 4 * len);
        match bits {
            0 => p.dmb(),
            1 | 2 => p.wb(),
            3 => p.sow(),
            _ => p,
        }
    })
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let then = prop_oneof![
        2 => Just(Then::Nothing),
        5 => Just(Then::Wait),
        1 => (0u64..12).prop_map(|a| Then::Store(4 * a)),
        1 => Just(Then::Restage),
    ];
    let batch = (any::<bool>(), 0u64..2, prop::collection::vec(any_pair(), 0..3), 0u8..8, then)
        .prop_map(|(other, mark, mut list, bits, then)| {
            let m = marker(mark);
            list.push(match bits {
                0 | 1 => m.dmb(),
                2 | 3 => m.sow(),
                _ => m,
            });
            (other, mark, list, then)
        });
    let rest = (prop::bool::weighted(0.3), prop::bool::weighted(0.85), prop::bool::weighted(0.1));
    (prop::collection::vec(batch, 1..3), rest).prop_map(|(batches, (slow, fence, armed))| Plan {
        batches,
        slow,
        fence,
        armed,
    })
}

/// States beyond which a program is not small.
const MOST: usize = 60_000;

fn look(p: &Program, r: Readings) -> Explored {
    explore(p, r, Bound::default(), &mut |_| ControlFlow::Continue(()))
}

/// Compares the two on one program; whether it was broken, nothing where it is too large.
fn agree(p: &Program, r: Readings) -> Result<Option<bool>, String> {
    let (model, _) = Model::of(p, r);
    let Some(breaks) = model.breaks(MOST) else { return Ok(None) };
    let told = look(p, r);
    match told.verdict {
        Verdict::Proved(_) if breaks => Err(format!("{r}: proved, but some order breaks it")),
        Verdict::Broken(f) if !breaks => Err(format!("{r}: no order breaks it, but: {f:?}")),
        Verdict::Open(why) => Err(format!("{r}: {why}; breaks: {breaks}")),
        Verdict::Proved(_) => Ok(Some(false)),
        Verdict::Broken(found) => {
            let mut q = p.clone();
            q.schedule = found.schedule.clone();
            let done = check(&q, r);
            if done.too_early.is_some() {
                return Err(format!("{r}: the order is against the rules: {found:?}"));
            }
            let at_end = matches!(found.broken, Break::OtherEnd { .. } | Break::Lost { .. });
            // A run that is broken in its calm order shows it at a write that comes too late.
            let at_end = at_end || found.schedule.holds.is_empty();
            model.follows(&q, found.event, at_end).map_err(|e| format!("{r}: {e}: {found:?}"))?;
            Ok(Some(true))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// What the explorer says of a small program is what every interleaving shows, and the order
    /// that it finds is one that may happen and that breaks it.
    #[test]
    fn the_explorer_agrees_with_every_interleaving(plan in any_plan(), strict in any::<bool>()) {
        let r = if strict { Readings::STRICT } else { Readings::default() };
        let told = agree(&plan.program(), r);
        prop_assert!(told.is_ok(), "{}", told.unwrap_err());
    }
}

/// The property above has programs of both kinds, and races that change nothing.
#[test]
fn small_programs_of_every_verdict_agree() {
    let r = Readings::default();
    let nothing = one(&[A0.wb(), marker(0)]);
    assert_eq!(agree(&nothing, r), Ok(Some(false)));
    let broken = one(&[A0, marker(0)]);
    assert_eq!(agree(&broken, r), Ok(Some(true)));
    // Two queues write the same bytes: a race that nobody can tell the order of.
    let same = |dst: u64| {
        let from = Pair { dst: DEVICE + dst, ..A0 };
        let mut ops = batch(Q, 0, 0, &[from.wb(), marker(0)]);
        ops.extend(batch(B, 0, 1, &[from.wb(), marker(1)]));
        ops.extend([wait(Q, 0, 2), wait(B, 1, 2)]);
        two_queues(ops)
    };
    let told = look(&same(0x1000), r);
    assert!(!told.races.is_empty());
    assert!(matches!(told.verdict, Verdict::Proved(Proof::EveryOrder { .. })), "{told:?}");
    assert_eq!(agree(&same(0x1000), r), Ok(Some(false)));
}
