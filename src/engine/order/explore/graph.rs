//! The events of a calm run with what lies before each, and which of them do not commute.
//!
//! An edge is drawn only where it holds in every order. Fewer edges than there are would make
//! [`walk`](super::walk) look at more orders, never at fewer.

use super::observe::{Calm, Named, without};
use crate::engine::order::step::{Step, WORD_BYTES};
use crate::engine::program::Program;
use crate::engine::ring::{Agent, Event, EventKind, Machine};
use crate::engine::schedule::{CpuAct, Moment};
use crate::udma::{DESC_BYTES, Dir};
use std::collections::{BTreeMap, BTreeSet};

/// A set of nodes.
#[derive(Debug, Clone, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn has(&self, n: usize) -> bool {
        self.0.get(n / 64).is_some_and(|w| w >> (n % 64) & 1 != 0)
    }

    fn add(&mut self, n: usize) {
        if self.0.len() <= n / 64 {
            self.0.resize(n / 64 + 1, 0);
        }
        self.0[n / 64] |= 1 << (n % 64);
    }

    fn join(&mut self, other: &Bits) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }
}

/// An event.
#[derive(Debug, Clone)]
struct Node {
    moment: Option<Moment>,
    agent: Option<Agent>,
    before: Bits,
    /// Address, length, whether it writes.
    touches: Vec<(u64, u64, bool)>,
}

/// What a queue did, by count from the run's start.
#[derive(Debug, Clone, Default)]
struct Ring {
    fetched: [Vec<usize>; 2],
    reads: BTreeMap<u64, usize>,
    writes: BTreeMap<u64, (usize, u64, u64)>,
    bells: [Vec<(usize, u64)>; 2],
    posted: [u64; 2],
}

/// A CPU agent's nodes.
#[derive(Debug, Clone, Default)]
struct Cpu {
    last: Option<usize>,
    unfenced: Vec<usize>,
}

/// A poll that is over: node, queue, first and last batch, word.
type Over = (usize, u32, (u64, u64), Option<u64>);

#[derive(Debug, Default)]
struct Builder {
    nodes: Vec<Node>,
    rings: Vec<Ring>,
    cpus: BTreeMap<Agent, Cpu>,
    /// Polls that are over.
    polls: Vec<Over>,
    /// Writes of each batch.
    batches: BTreeMap<(u32, u64), Vec<(u64, u64)>>,
    doubtful: BTreeSet<Moment>,
    waits: u64,
}

/// Which events do not commute and are not ordered.
#[derive(Debug, Clone, Default)]
pub(super) struct Graph {
    /// By name, those that it conflicts with.
    pub partners: BTreeMap<Moment, Vec<Moment>>,
    /// Place of each in the calm order.
    pub place: BTreeMap<Moment, usize>,
}

/// Stands for the end of a wait that runs out; schedules have no name for it.
pub(super) fn timeout(n: u64) -> Moment {
    Moment::Cpu { agent: Agent::Host, act: CpuAct::Poll, n: n | 1 << 63 }
}

fn ix(dir: Dir) -> usize {
    usize::from(dir == Dir::Rx)
}

impl Builder {
    fn node(&mut self, moment: Option<Moment>, agent: Option<Agent>) -> usize {
        let (before, touches) = (Bits::default(), Vec::new());
        self.nodes.push(Node { moment, agent, before, touches });
        self.nodes.len() - 1
    }

    fn edge(&mut self, from: usize, to: usize) {
        if from == to || self.nodes[to].before.has(from) {
            return;
        }
        let before = self.nodes[from].before.clone();
        let to = &mut self.nodes[to].before;
        to.join(&before);
        to.add(from);
    }

    fn ordered(&self, a: usize, b: usize) -> bool {
        self.nodes[b].before.has(a)
    }

    /// A node of a CPU agent, after what it did before.
    fn cpu_node(&mut self, moment: Option<Moment>, agent: Agent) -> usize {
        let me = self.node(moment, Some(agent));
        if let Some(last) = self.cpus.entry(agent).or_default().last {
            self.edge(last, me);
        }
        me
    }

    /// The agent's next events follow this one.
    fn follows(&mut self, agent: Agent, node: usize) {
        self.cpus.entry(agent).or_default().last = Some(node);
    }

    fn take(&mut self, x: &Named) {
        match &x.step {
            Step::Store { agent, addr, len, .. } => {
                let me = self.cpu_node(x.moment, *agent);
                self.nodes[me].touches.push((*addr, *len, true));
                self.cpus.entry(*agent).or_default().unfenced.push(me);
            }
            Step::Fence { agent } => {
                let me = self.cpu_node(None, *agent);
                let all = std::mem::take(&mut self.cpus.entry(*agent).or_default().unfenced);
                all.into_iter().for_each(|s| self.edge(s, me));
                self.follows(*agent, me);
            }
            Step::Doorbell { agent, queue, dir, count } => {
                let me = self.cpu_node(x.moment, *agent);
                self.follows(*agent, me);
                let ring = &mut self.rings[*queue as usize];
                ring.posted[ix(*dir)] += count;
                let upto = ring.posted[ix(*dir)];
                ring.bells[ix(*dir)].push((me, upto));
            }
            Step::Reset { queue, dir } => {
                let ring = &mut self.rings[*queue as usize];
                let fetched = ring.fetched[ix(*dir)].len() as u64;
                ring.posted[ix(*dir)] = fetched;
                ring.bells[ix(*dir)].retain(|b| b.1 < fetched);
            }
            Step::Fetch { at: (queue, dir, _), addr, .. } => {
                let me = self.node(x.moment, None);
                self.nodes[me].touches.push((*addr, DESC_BYTES as u64, false));
                let ring = &mut self.rings[*queue as usize];
                let k = ring.fetched[ix(*dir)].len() as u64;
                let bell = ring.bells[ix(*dir)].iter().find(|b| b.1 > k).map(|b| b.0);
                let last = ring.fetched[ix(*dir)].last().copied();
                ring.fetched[ix(*dir)].push(me);
                bell.into_iter().chain(last).for_each(|n| self.edge(n, me));
            }
            Step::Read { queue, addr, len, .. } => {
                let me = self.node(x.moment, None);
                if *len > 0 && !x.padding {
                    self.nodes[me].touches.push((*addr, *len, false));
                }
                self.needs(x, *queue, me);
                if let Some(needs) = x.needs {
                    self.rings[*queue as usize].reads.insert(needs.k, me);
                }
            }
            Step::Visible { queue, addr, len, batch, .. } => {
                let me = self.node(x.moment, None);
                self.needs(x, *queue, me);
                if let Some(needs) = x.needs {
                    let over = |w: &(usize, u64, u64)| w.1 < addr + len && *addr < w.1 + w.2;
                    let ring = &self.rings[*queue as usize];
                    let under: Vec<usize> = ring
                        .writes
                        .range(..needs.k)
                        .map(|w| *w.1)
                        .filter(over)
                        .map(|w| w.0)
                        .collect();
                    under.into_iter().for_each(|n| self.edge(n, me));
                    self.rings[*queue as usize].writes.insert(needs.k, (me, *addr, *len));
                }
                // Padding is ordered as any write is, but nobody looks at it.
                if x.padding {
                    return;
                }
                self.nodes[me].touches.push((*addr, *len, true));
                for (poll, q, batches, word) in self.polls.clone() {
                    if q == *queue && (batches.0..=batches.1).contains(batch) {
                        let more = without((*addr, *len), word).map(|(a, l)| (a, l, false));
                        self.nodes[poll].touches.extend(more);
                    }
                }
                self.batches.entry((*queue, *batch)).or_default().push((*addr, *len));
            }
            Step::Seen { agent, wait } => {
                let me = self.cpu_node(x.moment, *agent);
                match wait.word {
                    None => {
                        let ring = &self.rings[wait.queue as usize];
                        let all: Vec<usize> = ring
                            .reads
                            .values()
                            .copied()
                            .chain(ring.writes.values().map(|w| w.0))
                            .collect();
                        all.into_iter().for_each(|n| self.edge(n, me));
                    }
                    Some(word) => {
                        if x.moment.is_none_or(|m| !self.doubtful.contains(&m)) {
                            self.certain(word, me);
                        }
                        self.nodes[me].touches.push((word, WORD_BYTES, false));
                    }
                }
                let range = (wait.queue, wait.batches.0)..=(wait.queue, wait.batches.1);
                let mine: Vec<(u64, u64, bool)> = self
                    .batches
                    .range(range)
                    .flat_map(|(_, list)| list)
                    .flat_map(|w| without(*w, wait.word))
                    .map(|(a, l)| (a, l, false))
                    .collect();
                self.nodes[me].touches.extend(mine);
                self.polls.push((me, wait.queue, wait.batches, wait.word));
                self.follows(*agent, me);
            }
            Step::PacketEnd { .. }
            | Step::Post { .. }
            | Step::Await { .. }
            | Step::Raise { .. }
            | Step::Zero { .. }
            | Step::Reach { .. } => {}
        }
    }

    /// What must have happened in its queue before an event.
    fn needs(&mut self, x: &Named, queue: u32, me: usize) {
        let Some(needs) = x.needs else { return };
        let ring = &self.rings[queue as usize];
        let mut all: Vec<usize> = Vec::new();
        for (dir, n) in needs.past.fetched.iter().enumerate() {
            all.extend(n.checked_sub(1).and_then(|k| ring.fetched[dir].get(k as usize)));
        }
        all.extend(ring.reads.range(..needs.past.read).next_back().map(|r| r.1));
        all.extend(ring.writes.range(..needs.past.visible).rev().map(|w| w.1.0));
        all.into_iter().for_each(|n| self.edge(n, me));
    }

    /// The writes of a polled word that the poll follows for certain, byte by byte.
    fn certain(&mut self, word: u64, me: usize) {
        let mut certain = BTreeSet::new();
        for at in word..word.saturating_add(WORD_BYTES) {
            let writes = |n: &Node| n.touches.iter().any(|t| t.2 && t.0 <= at && at < t.0 + t.1);
            let all = || self.nodes[..me].iter().enumerate().filter(|(_, n)| writes(n));
            let stores: Vec<usize> =
                all().filter(|(_, n)| n.agent.is_some()).map(|n| n.0).collect();
            let may: Vec<usize> = all()
                .filter(|(i, n)| n.agent.is_none() && !stores.iter().any(|s| self.ordered(*i, *s)))
                .map(|n| n.0)
                .collect();
            let first = |a: &&usize| may.iter().all(|b| a == &b || self.ordered(**a, *b));
            certain.extend(may.iter().find(first).copied());
        }
        certain.into_iter().for_each(|n| self.edge(n, me));
    }

    /// The end of a wait that runs out.
    fn timed_out(&mut self, agent: Agent, word: u64) {
        let name = timeout(self.waits);
        let me = self.cpu_node(Some(name), agent);
        self.nodes[me].touches.push((word, WORD_BYTES, false));
        self.follows(agent, me);
    }

    fn finish(self) -> Graph {
        let mut spans: Vec<(u64, u64, usize, bool)> = Vec::new();
        for (i, n) in self.nodes.iter().enumerate() {
            spans.extend(n.touches.iter().map(|t| (t.0, t.0.saturating_add(t.1), i, t.2)));
        }
        spans.sort_unstable();
        let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut open: Vec<(u64, usize, bool)> = Vec::new();
        for (lo, hi, i, writes) in spans {
            open.retain(|o| o.0 > lo);
            for (_, j, other) in &open {
                let (a, b) = (i.min(*j), i.max(*j));
                if a != b && (writes || *other) {
                    pairs.insert((a, b));
                }
            }
            open.push((hi, i, writes));
        }
        let mut out = Graph::default();
        for (a, b) in pairs {
            let (x, y) = (&self.nodes[a], &self.nodes[b]);
            let same = x.agent.is_some() && x.agent == y.agent;
            if same || self.ordered(a, b) || self.ordered(b, a) {
                continue;
            }
            if let (Some(x), Some(y)) = (x.moment, y.moment) {
                out.partners.entry(x).or_default().push(y);
                out.partners.entry(y).or_default().push(x);
            }
        }
        let named = self.nodes.iter().enumerate().filter_map(|(i, n)| Some((n.moment?, i)));
        out.place = named.collect();
        out
    }
}

/// The graph of a program's calm run; `None` where it has more than `most` events. Polls in doubt
/// follow no write for certain.
pub(super) fn graph(p: &Program, doubtful: BTreeSet<Moment>, most: usize) -> Option<Graph> {
    let rings = vec![Ring::default(); p.queues.len()];
    let mut b = Builder { rings, doubtful, ..Builder::default() };
    let mut fits = true;
    Calm::run(p, |m, e, all| {
        fits &= b.nodes.len() <= most;
        if fits {
            all.iter().for_each(|x| b.take(x));
            end_of_wait(&mut b, m, e);
        }
    });
    fits.then(|| b.finish())
}

fn end_of_wait(b: &mut Builder, m: &Machine, e: &Event) {
    match super::holds::ended(m, e) {
        Some(false) => {
            let word = match e.kind {
                EventKind::Poll { addr, .. } => addr,
                _ => 0,
            };
            b.timed_out(e.agent, word);
            b.waits += 1;
        }
        Some(true) => b.waits += 1,
        None => {}
    }
}
