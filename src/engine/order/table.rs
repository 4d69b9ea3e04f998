//! Every access of a run under one reading, and whether it comes before another event.

use super::past::{Past, QueuePast};
use super::queue::QueueOrder;
use super::race::Act;
use super::turns::Turns;
use crate::engine::ring::Agent;
use crate::udma::Dir;

/// Stands for no queue and no write record.
pub(super) const NONE: u32 = u32::MAX;

/// One access.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    pub act: Act,
    /// Direction of its slot.
    pub dir: Dir,
    /// What its queue is for the rules of order, of an engine's access; the CPU agent of the
    /// others.
    pub owner: u32,
    /// The queue of its slot.
    pub queue: u32,
    /// Its slot.
    pub slot: u32,
    /// Record of a write or of a poll.
    pub link: u32,
    /// Which of its chain: descriptor of its direction, store or step of its agent.
    pub k: u64,
    /// Its event.
    pub event: u64,
    pub addr: u64,
    pub len: u64,
}

/// What is known of the write of an Rx descriptor.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub access: u32,
    pub batch: u64,
    /// What lies before it in its queue.
    pub own: QueuePast,
    /// Earlier writes of the queue to some byte of it.
    pub over: Vec<u32>,
    /// CPU agents that follow it, and from which of their steps on.
    pub known: Vec<(u32, u64)>,
}

/// What is known of a successful poll.
#[derive(Debug, Clone)]
pub(super) struct Poll {
    pub queue: u32,
    pub batches: (u64, u64),
    pub word: Option<u64>,
    /// The writes that it follows for certain.
    pub follows: Vec<u32>,
    /// What its agent knew then, with what it had done itself.
    pub past: Past,
}

/// A doorbell, for the fetches that it covers.
#[derive(Debug, Clone)]
pub(super) struct Bell {
    /// Covers the descriptors below this one that no earlier one covers.
    pub upto: u64,
    pub cpu: u32,
    /// Stores that its agent had made, fenced or not.
    pub stored: u64,
    /// No other agent has rung this ring.
    pub alone: bool,
    /// What lies before it and before the doorbells that came before it on this ring.
    pub past: Past,
}

/// A CPU agent.
#[derive(Debug, Clone)]
pub(super) struct Cpu {
    pub agent: Agent,
    /// What it knows of others.
    pub past: Past,
    pub stores: u64,
    pub fenced: u64,
    pub steps: u64,
}

/// A queue.
#[derive(Debug, Clone, Default)]
pub(super) struct QueueState {
    pub order: QueueOrder,
    pub posted: [u64; 2],
    pub bells: [Vec<Bell>; 2],
}

/// Whose event a past is asked of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Me {
    Queue(u32),
    Cpu(u32),
}

/// What lies before one event.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    me: Me,
    /// The event is a write of an Rx descriptor.
    writes: bool,
    own: QueuePast,
    pasts: [Option<&'a Past>; 2],
}

#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    pub queues: Vec<QueueState>,
    pub cpus: Vec<Cpu>,
    pub accesses: Vec<Access>,
    pub writes: Vec<Write>,
    pub polls: Vec<Poll>,
    pub turns: Turns,
}

pub(super) fn ix(dir: Dir) -> usize {
    usize::from(dir == Dir::Rx)
}

impl Table {
    pub fn access(&self, x: u32) -> &Access {
        &self.accesses[x as usize]
    }

    /// The record behind a write.
    pub fn write_of(&self, x: &Access) -> Option<&Write> {
        (x.act == Act::Write).then(|| self.writes.get(x.link as usize)).flatten()
    }

    /// The record behind a poll.
    pub fn poll_of(&self, x: &Access) -> Option<&Poll> {
        (x.act == Act::Poll).then(|| self.polls.get(x.link as usize)).flatten()
    }

    /// The newest doorbell that the first `fetched` fetches of a direction follow.
    pub fn bell(&self, queue: u32, dir: Dir, fetched: u64) -> Option<&Bell> {
        let k = fetched.checked_sub(1)?;
        let bells = &self.queues.get(queue as usize)?.bells[ix(dir)];
        bells.get(bells.partition_point(|b| b.upto <= k))
    }

    /// The doorbells that an event of a queue follows.
    pub fn bells(&self, queue: u32, own: &QueuePast) -> [Option<&Bell>; 2] {
        Dir::BOTH.map(|d| self.bell(queue, d, own.fetched[ix(d)]))
    }

    /// What lies before an event of a queue.
    pub fn of_queue(&self, (queue, chain): (u32, u32), own: QueuePast, writes: bool) -> View<'_> {
        let pasts = self.bells(queue, &own).map(|b| b.map(|b| &b.past));
        View { me: Me::Queue(chain), writes, own, pasts }
    }

    /// What lies before the next event of a CPU agent.
    pub fn of_cpu(&self, cpu: u32) -> View<'_> {
        let past = self.cpus.get(cpu as usize).map(|c| &c.past);
        View { me: Me::Cpu(cpu), writes: false, own: QueuePast::default(), pasts: [past, None] }
    }

    /// What lies before a poll that is over.
    pub fn of_poll<'a>(&self, poll: &'a Poll) -> View<'a> {
        let own = QueuePast::default();
        View { me: Me::Queue(NONE), writes: false, own, pasts: [Some(&poll.past), None] }
    }

    /// What lies before a write.
    pub fn of_write(&self, w: &Write) -> View<'_> {
        let x = self.access(w.access);
        self.of_queue((x.queue, x.owner), w.own, true)
    }

    /// Whether `x` comes before the event.
    pub fn ordered(&self, x: &Access, e: &View<'_>) -> bool {
        let within = match e.me {
            Me::Cpu(c) => match x.act {
                Act::Store | Act::Poll => x.owner == c,
                Act::Write => {
                    self.write_of(x).is_some_and(|w| w.known.iter().any(|(cpu, _)| *cpu == c))
                }
                Act::Fetch | Act::Read => false,
            },
            Me::Queue(q) => {
                x.owner == q
                    && match x.act {
                        // Two writes of one queue to the same byte keep ring order.
                        Act::Write => e.writes || e.own.visible > x.k,
                        Act::Read => e.own.read > x.k,
                        Act::Fetch => e.own.fetched[ix(x.dir)] > x.k,
                        Act::Store | Act::Poll => false,
                    }
            }
        };
        within || e.pasts.iter().flatten().any(|p| self.in_past(x, p))
    }

    fn in_past(&self, x: &Access, p: &Past) -> bool {
        match x.act {
            Act::Fetch => p.queue(x.owner).fetched[ix(x.dir)] > x.k,
            Act::Read => p.queue(x.owner).read > x.k,
            Act::Store => p.cpu(x.owner).stores >= x.k,
            Act::Poll => p.cpu(x.owner).steps >= x.k,
            Act::Write => {
                let known = |w: &Write| w.known.iter().any(|(cpu, s)| p.cpu(*cpu).steps >= *s);
                p.queue(x.owner).visible > x.k || self.write_of(x).is_some_and(known)
            }
        }
    }

    /// Of several writes the one that comes before all the others; `None` where there is none.
    pub fn earliest(&self, list: &[u32]) -> Option<u32> {
        let first = |w: u32| {
            let x = self.access(self.writes[w as usize].access);
            list.iter().all(|&o| {
                let other = &self.writes[o as usize];
                let y = self.access(other.access);
                o == w
                    || (x.owner == y.owner && x.k < y.k)
                    || (x.owner != y.owner && self.ordered(x, &self.of_write(other)))
            })
        };
        list.iter().copied().find(|w| first(*w))
    }

    /// The number of a CPU agent; a new one has done nothing yet.
    pub fn cpu(&mut self, agent: Agent) -> u32 {
        let known = self.cpus.iter().position(|c| c.agent == agent);
        let at = known.unwrap_or_else(|| {
            let past = Past::default();
            self.cpus.push(Cpu { agent, past, stores: 0, fenced: 0, steps: 0 });
            self.cpus.len() - 1
        });
        at as u32
    }

    /// A CPU agent follows a write, and what comes before it.
    pub fn follow_write(&mut self, cpu: u32, w: u32) {
        let step = self.cpus[cpu as usize].steps;
        let mut todo = vec![w];
        while let Some(w) = todo.pop() {
            let Some(write) = self.writes.get_mut(w as usize) else { continue };
            if write.known.iter().all(|(c, _)| *c != cpu) {
                write.known.push((cpu, step));
                todo.extend(&write.over);
            }
        }
        let Some(write) = self.writes.get(w as usize) else { return };
        let x = self.access(write.access);
        self.follow_queue(cpu, (x.queue, x.owner), write.own);
    }

    /// A CPU agent follows so much of a queue, and what comes before it.
    pub fn follow_queue(&mut self, cpu: u32, (queue, chain): (u32, u32), own: QueuePast) {
        // An agent has its own doorbells behind it anyway.
        let others = self.bells(queue, &own).into_iter().flatten();
        let pasts: Vec<Past> =
            others.filter(|b| b.cpu != cpu || !b.alone).map(|b| b.past.clone()).collect();
        let past = &mut self.cpus[cpu as usize].past;
        past.join_queue(chain, own);
        pasts.iter().for_each(|p| past.join(p));
    }
}
