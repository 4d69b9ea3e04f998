//! The rules once more, as a graph: every edge is drawn, everything that follows from edges is
//! followed, every pair is compared. On random rings the checker must agree with it.

use super::*;
use crate::engine::program::Speed;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// An event of the graph: its number in the run, what it is, the bytes that it touches.
struct Node {
    event: u64,
    step: Step,
    /// Address and length.
    touches: Vec<(u64, u64)>,
    writes: bool,
    /// What comes before it, itself left out.
    before: Vec<bool>,
}

#[derive(Default)]
struct Graph {
    nodes: Vec<Node>,
}

/// A descriptor in flight or done, by its node.
#[derive(Clone, Copy)]
struct Fetched {
    node: usize,
    desc: Desc,
}

/// What a queue did, in ring order. Every packet has one descriptor of each direction here.
#[derive(Default)]
struct Ring {
    bells: [Vec<(usize, u64)>; 2],
    fetched: [Vec<Fetched>; 2],
    reads: Vec<usize>,
    writes: Vec<usize>,
}

impl Graph {
    /// Draws an edge to the newest node.
    fn edge(&mut self, from: usize) {
        let all: Vec<bool> = self.nodes[from].before.clone();
        let to = self.nodes.last_mut().unwrap();
        to.before[from] = true;
        for (i, before) in all.into_iter().enumerate() {
            to.before[i] |= before;
        }
    }

    fn ordered(&self, a: usize, b: usize) -> bool {
        self.nodes[b].before.get(a).copied().unwrap_or(false)
    }

    /// Whether a node writes byte `at`.
    fn writes(&self, n: usize, at: u64) -> bool {
        let x = &self.nodes[n];
        x.writes && x.touches.iter().any(|t| (t.0..t.0 + t.1).contains(&at))
    }

    fn is_visible(&self, n: usize) -> bool {
        matches!(self.nodes[n].step, Step::Visible { .. })
    }

    fn is_poll(&self, event: u64) -> bool {
        self.nodes.iter().any(|x| x.event == event && matches!(x.step, Step::Seen { .. }))
    }

    /// A pair of events in full, for a test that fails.
    fn describe(&self, a: u64, b: u64) -> String {
        let of = |n| self.nodes.iter().filter(move |x| x.event == n).map(|x| &x.step);
        let list: Vec<_> = of(a).chain(of(b)).collect();
        format!("{a} and {b}: {list:?}")
    }

    /// The writes that the newest node, a poll of `word`, follows.
    fn follow(&mut self, word: u64) {
        let me = self.nodes.len() - 1;
        let mut certain = BTreeSet::new();
        for at in word..word + 4 {
            let stores: Vec<usize> = (0..me)
                .filter(|&n| matches!(self.nodes[n].step, Step::Store { .. }) && self.writes(n, at))
                .collect();
            let may: Vec<usize> = (0..me)
                .filter(|&n| self.is_visible(n) && self.writes(n, at))
                .filter(|&n| !stores.iter().any(|s| self.ordered(n, *s)))
                .collect();
            certain.extend(
                may.iter().copied().find(|a| may.iter().all(|b| a == b || self.ordered(*a, *b))),
            );
        }
        for n in certain {
            self.edge(n);
        }
    }
}

fn dmb(d: &Fetched) -> bool {
    d.desc.len_ctrl >> 30 & 1 != 0
}
fn wb(d: &Fetched) -> bool {
    d.desc.word1 >> 26 & 1 != 0
}
fn sow(d: &Fetched) -> bool {
    d.desc.len_ctrl >> 29 & 1 != 0
}

/// The graph of a run. Events of the host are a chain, but for a store and what comes before the
/// next fence.
fn graph(p: &Program, r: Readings) -> Graph {
    let mut g = Graph::default();
    let mut rings: BTreeMap<u32, Ring> = BTreeMap::new();
    let mut host: Vec<usize> = Vec::new();
    let teller = Teller::new(p);
    let full = r.dmb == DmbReading::Full;
    let through = r.sow == SowReading::Through;
    machine::run(p, |m, e| {
        teller.steps(m, e, &mut |step| {
            let me = g.nodes.len();
            let touches = match &step {
                Step::Store { addr, len, .. }
                | Step::Read { addr, len, .. }
                | Step::Visible { addr, len, .. } => vec![(*addr, *len)],
                Step::Fetch { addr, .. } => vec![(*addr, 16)],
                Step::Seen { wait, .. } => wait.slots.clone(),
                _ => Vec::new(),
            };
            let writes = matches!(step, Step::Store { .. } | Step::Visible { .. });
            let before = vec![false; me];
            g.nodes.push(Node { event: e.n, step: step.clone(), touches, writes, before });
            match &step {
                Step::Store { .. }
                | Step::Fence { .. }
                | Step::Doorbell { .. }
                | Step::Seen { .. } => {
                    for &h in &host {
                        let store = matches!(g.nodes[h].step, Step::Store { .. });
                        if !store || matches!(step, Step::Fence { .. }) {
                            g.edge(h);
                        }
                    }
                    host.push(me);
                }
                _ => {}
            }
            match step {
                Step::Doorbell { queue, dir, count, .. } => {
                    let bells =
                        &mut rings.entry(queue).or_default().bells[usize::from(dir == Dir::Rx)];
                    let upto = bells.last().map_or(0, |b| b.1) + count;
                    bells.push((me, upto));
                }
                Step::Fetch { at: (queue, dir, _), desc, .. } => {
                    let i = usize::from(dir == Dir::Rx);
                    let ring = rings.entry(queue).or_default();
                    let k = ring.fetched[i].len() as u64;
                    let bell = ring.bells[i].iter().find(|b| b.1 > k).unwrap().0;
                    g.edge(bell);
                    if let Some(last) = ring.fetched[i].last() {
                        g.edge(last.node);
                    }
                    ring.fetched[i].push(Fetched { node: me, desc });
                }
                Step::Read { queue, .. } => {
                    let ring = rings.entry(queue).or_default();
                    let j = ring.reads.len();
                    g.edge(ring.fetched[0][j].node);
                    if let Some(&last) = ring.reads.last() {
                        g.edge(last);
                    }
                    for (i, &v) in ring.writes.iter().enumerate() {
                        let later = full && (i..j).any(|d| dmb(&ring.fetched[0][d]));
                        if dmb(&ring.fetched[0][j]) || later {
                            g.edge(v);
                        }
                    }
                    ring.reads.push(me);
                }
                Step::Visible { queue, addr, len, batch, .. } => {
                    let ring = rings.entry(queue).or_default();
                    let j = ring.writes.len();
                    g.edge(ring.fetched[1][j].node);
                    g.edge(ring.reads[j]);
                    for (i, &v) in ring.writes.iter().enumerate() {
                        let (a, n) = g.nodes[v].touches[0];
                        let same = a < addr + len && addr < a + n;
                        let barrier = (i..j)
                            .any(|d| wb(&ring.fetched[0][d]) || (full && dmb(&ring.fetched[0][d])));
                        let strong = sow(&ring.fetched[1][j])
                            || (through && (i..j).any(|d| sow(&ring.fetched[1][d])));
                        if same || barrier || strong {
                            g.edge(v);
                        }
                    }
                    ring.writes.push(me);
                    // A poll that is over stands for reading these bytes too.
                    for poll in &mut g.nodes {
                        let Step::Seen { wait, .. } = &poll.step else { continue };
                        if wait.queue == queue && (wait.batches.0..=wait.batches.1).contains(&batch)
                        {
                            poll.touches.extend(outside((addr, len), wait.word));
                        }
                    }
                }
                Step::Seen { ref wait, .. } => {
                    if let Some(word) = wait.word {
                        g.follow(word);
                    }
                    let mine = g.nodes.iter().filter_map(|n| match n.step {
                        Step::Visible { queue, addr, len, batch, .. }
                            if queue == wait.queue
                                && (wait.batches.0..=wait.batches.1).contains(&batch) =>
                        {
                            Some((addr, len))
                        }
                        _ => None,
                    });
                    let mine: Vec<_> = mine.flat_map(|t| outside(t, wait.word)).collect();
                    let touches = &mut g.nodes[me].touches;
                    touches.extend(mine);
                }
                _ => {}
            }
        });
        true
    });
    g
}

/// The bytes of a range one by one, those of a polled word left out.
fn outside((addr, len): (u64, u64), word: Option<u64>) -> impl Iterator<Item = (u64, u64)> {
    let skip = word.map_or(0..0, |w| w..w + 4);
    (addr..addr + len).filter(move |b| !skip.contains(b)).map(|b| (b, 1))
}

fn is_host(n: &Node) -> bool {
    matches!(n.step, Step::Store { .. } | Step::Seen { .. })
}

/// What is compared: events, the acts told apart by whether they write.
type Pairs = BTreeSet<(u64, u64)>;

/// Every pair that races.
fn pairs(g: &Graph) -> Pairs {
    let mut out = Pairs::new();
    for b in 0..g.nodes.len() {
        for a in 0..b {
            let (x, y) = (&g.nodes[a], &g.nodes[b]);
            if !(x.writes || y.writes) || (is_host(x) && is_host(y)) || g.ordered(a, b) {
                continue;
            }
            let meet = x
                .touches
                .iter()
                .any(|s| y.touches.iter().any(|t| s.0 < t.0 + t.1 && t.0 < s.0 + s.1));
            if meet {
                out.insert((x.event, y.event));
            }
        }
    }
    out
}

/// A run to be made up: batches of pairs, each on a queue with a marker.
#[derive(Debug, Clone)]
struct Plan {
    batches: Vec<(bool, u64, Vec<Pair>, Then)>,
    slow: bool,
    fence: bool,
}

/// What the host does after it has rung a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Then {
    Nothing,
    Wait,
    Store(u64),
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
            ops.push(seed(*mark));
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
                    ops.push(HostOp::Store { addr: DEVICE + at, bytes: Blob::from_vec(vec![1; 4]) })
                }
            }
        }
        let mut p = two_queues(ops);
        if self.slow {
            p.speed = Speed { ns_per_desc: 700, bytes_per_ns: 0 };
        }
        p
    }
}

/// A pair within 48 bytes; none is padding.
fn any_pair() -> impl Strategy<Value = Pair> {
    let at = (0u64..12, 0u64..12, 1u32..5, 0u8..10);
    at.prop_map(|(s, d, len, bits)| {
        let d = if s == d { d + 13 } else { d };
        let p = pair(4 * s, 4 * d, 4 * len);
        // Most have no barrier.
        match bits {
            0 => p.dmb(),
            1 => p.wb(),
            2 => p.sow(),
            3 => p.dmb().sow(),
            _ => p,
        }
    })
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let then = prop_oneof![
        Just(Then::Nothing),
        Just(Then::Wait),
        Just(Then::Wait),
        (0u64..12).prop_map(|a| Then::Store(4 * a)),
    ];
    let batch = (any::<bool>(), 0u64..3, prop::collection::vec(any_pair(), 0..4), 0u8..8, then)
        .prop_map(|(other, mark, mut list, bits, then)| {
            let m = marker(mark);
            list.push(match bits {
                0 => m.dmb(),
                1 => m.sow(),
                2 => m.wb(),
                _ => m,
            });
            (other, mark, list, then)
        });
    (prop::collection::vec(batch, 1..5), any::<bool>(), prop::bool::weighted(0.9))
        .prop_map(|(batches, slow, fence)| Plan { batches, slow, fence })
}

fn checked(p: &Program, r: Readings) -> (Checked, Pairs) {
    let done = check(p, r);
    let pairs = done.races.iter().map(|r| (r.first.event, r.second.event)).collect();
    (done, pairs)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Every race that is told is one, and no event that races is left out.
    #[test]
    fn the_checker_agrees_with_the_graph(plan in any_plan()) {
        let p = plan.program();
        for r in Readings::ALL {
            let g = graph(&p, r);
            let want = pairs(&g);
            let (done, got) = checked(&p, r);
            prop_assert!(got.is_subset(&want), "{r}: {:?}", got.difference(&want));
            // A pair may stand for others of its later event, so the events are compared. A poll
            // reads what its batch writes after it, too: what raced with it before may by then
            // be hidden by a write that came after both, and the pair with that one stands for it.
            let second: BTreeSet<u64> = got.iter().map(|p| p.1).collect();
            let first: BTreeSet<u64> = got.iter().map(|p| p.0).collect();
            let told = |b: &u64| second.contains(b) || g.is_poll(*b) && first.contains(b);
            let missed = want.iter().filter(|(_, b)| !told(b));
            let missed: Vec<String> = missed.map(|(a, b)| g.describe(*a, *b)).collect();
            prop_assert!(missed.is_empty(), "{r}: {}", missed.join("\n"));
            prop_assert_eq!((done.more, done.stopped), (0, None));
        }
    }

    /// The calm order is one that the rules allow: nothing comes before what it needs.
    #[test]
    fn the_calm_order_respects_the_rules(plan in any_plan()) {
        let p = plan.program();
        for r in Readings::ALL {
            prop_assert_eq!(check(&p, r).too_early, None);
        }
    }

    /// A barrier more never makes a race more, and a reading that orders less never one less.
    #[test]
    fn a_barrier_more_is_no_race_more(
        plan in any_plan(), at in any::<prop::sample::Index>(), what in 0u8..3
    ) {
        let mut more = plan.clone();
        let n: usize = more.batches.iter().map(|b| b.2.len()).sum();
        let x = more.batches.iter_mut().flat_map(|b| &mut b.2).nth(at.index(n)).unwrap();
        *x = match what {
            0 => x.dmb(),
            1 => x.wb(),
            _ => x.sow(),
        };
        let strict = checked(&plan.program(), Readings::STRICT).1;
        for r in Readings::ALL {
            let (done, without) = checked(&plan.program(), r);
            let with = checked(&more.program(), r).1;
            prop_assert!(with.is_subset(&without), "{r}: {:?}", with.difference(&without));
            prop_assert!(without.is_subset(&strict));
            for race in done.races {
                prop_assert!(race.holds.contains(r) && race.holds.contains(Readings::STRICT));
                prop_assert!(!race.holds.words().contains("some"));
            }
        }
    }
}
