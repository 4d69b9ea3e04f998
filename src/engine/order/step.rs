//! The steps that the rules of order speak of, and how an event of the ring model is told in
//! them.
//!
//! Nothing after this file knows the machine: whatever else makes runs (a schedule that is not
//! the calm one, agents that are no host) tells them in the same steps.

use super::queue::Stream;
use super::semaphores::zeroed;
use crate::bir::Engine;
use crate::bir::exec::Item;
use crate::engine::edit::Change;
use crate::engine::module_run::ModuleRun;
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::device::Packet;
use crate::engine::ring::host::Frame;
use crate::engine::ring::queue::Queue;
use crate::engine::ring::{Agent, Event, EventKind, Machine};
use crate::udma::profile::MARKER;
use crate::udma::{DESC_BYTES, Desc, Dir, class, reg};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A slot of a queue: the queue's index in the program, direction, slot.
pub type SlotAt = (u32, Dir, u64);

/// Bytes of a polled word.
pub const WORD_BYTES: u64 = 4;

/// What a CPU agent waits for on a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// Index of the queue.
    pub queue: u32,
    /// The word that held the marker; `None` where the queue was seen idle (MODEL).
    pub word: Option<u64>,
    /// First and last batch that the wait is about.
    pub batches: (u64, u64),
    /// Bytes of the slots that the ack after it frees: address and length.
    pub slots: Vec<(u64, u64)>,
}

/// One step. Queues are named by their index in the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A CPU agent stores `len` bytes; into a slot where it stages a descriptor.
    Store {
        /// Who.
        agent: Agent,
        /// First address.
        addr: u64,
        /// Bytes.
        len: u64,
        /// The slot, if it is one.
        slot: Option<SlotAt>,
    },
    /// A CPU agent's memory barrier.
    Fence {
        /// Who.
        agent: Agent,
    },
    /// A CPU agent rings for `count` more descriptors.
    Doorbell {
        /// Who.
        agent: Agent,
        /// Queue.
        queue: u32,
        /// Direction.
        dir: Dir,
        /// How many.
        count: u64,
    },
    /// One direction of a queue is reset. MODEL: that orders nothing.
    Reset {
        /// Queue.
        queue: u32,
        /// Direction.
        dir: Dir,
    },
    /// The engine reads a slot of its ring.
    Fetch {
        /// Queue, direction, slot.
        at: SlotAt,
        /// Address of the slot.
        addr: u64,
        /// What it got.
        desc: Desc,
        /// Given with the descriptor that ends a packet's Tx side.
        stream: Option<Stream>,
    },
    /// The engine reads a Tx descriptor's bytes.
    Read {
        /// Queue.
        queue: u32,
        /// Slot.
        slot: u64,
        /// First address.
        addr: u64,
        /// Bytes; 0 for META.
        len: u64,
    },
    /// An Rx descriptor's bytes become visible, all at once.
    Visible {
        /// Queue.
        queue: u32,
        /// Slot.
        slot: u64,
        /// First address.
        addr: u64,
        /// Bytes.
        len: u64,
        /// Its batch.
        batch: u64,
    },
    /// The oldest packet of a queue is retired whole.
    PacketEnd {
        /// Queue.
        queue: u32,
        /// Its batch.
        batch: u64,
    },
    /// A CPU agent's poll was successful.
    Seen {
        /// Who.
        agent: Agent,
        /// What it waited for.
        wait: Wait,
    },
    /// A CPU agent raises a semaphore, and lets others know by that.
    Raise {
        /// Who.
        agent: Agent,
        /// Which.
        semaphore: u64,
        /// By how much.
        by: u64,
    },
    /// A semaphore is 0 again.
    Zero {
        /// Which.
        semaphore: u64,
    },
    /// A CPU agent goes on because of the updates that brought a semaphore to a value.
    Reach {
        /// Who.
        agent: Agent,
        /// Which.
        semaphore: u64,
        /// The value that it waited for.
        value: u64,
    },
    /// Something lets others know of it through an object, such as an instruction that is
    /// complete.
    Post {
        /// What.
        by: Poster,
        /// Any number that names the object, or one value of it.
        object: u64,
    },
    /// A CPU agent goes on because of all that was posted to an object so far.
    Await {
        /// Who.
        agent: Agent,
        /// The object.
        object: u64,
    },
}

/// What is known to an agent that awaits an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poster {
    /// A CPU agent with what it did and knows; its stores up to its last fence.
    Cpu(Agent),
    /// The newest write of the Rx descriptor in a slot: a semaphore word written by DMA.
    Write(SlotAt),
    /// The packets that a queue has retired so far: a block that is complete.
    Queue(u32),
}

/// Tells the machine's events in steps.
#[derive(Debug, Clone)]
pub struct Teller {
    index: BTreeMap<QueueId, u32>,
    module: Option<Arc<ModuleRun>>,
    /// Register writes that a user made, by the event that they follow: MODEL, they order as the
    /// host's do. Other edits are no steps.
    written: BTreeMap<u64, Vec<EventKind>>,
}

/// Objects through which sequencers know of each other: an instruction that is complete, an
/// engine with all that it has completed.
#[derive(Clone, Copy)]
enum Object {
    Done(Item),
    Engine(Engine),
}

impl Object {
    fn number(self) -> u64 {
        match self {
            Object::Done(item) => 1 << 62 | u64::from(item.0),
            Object::Engine(e) => 2 << 62 | u64::from(e.number()),
        }
    }
}

impl Teller {
    /// For the events of a program's runs.
    pub fn new(p: &Program) -> Teller {
        let index = p.queues.iter().enumerate().map(|(i, q)| (q.id, i as u32)).collect();
        Teller { index, module: p.module.clone(), written: written(p) }
    }

    /// Index of a queue.
    pub fn queue(&self, id: QueueId) -> Option<u32> {
        self.index.get(&id).copied()
    }

    /// The steps that an event stands for; `m` is the state after it.
    pub fn steps(&self, m: &Machine, e: &Event, out: &mut impl FnMut(Step)) {
        // Before the first event there is none that edits could follow.
        if e.n == 1 {
            self.edits(m, e, 0, out);
        }
        match e.agent {
            Agent::Engine(id) => {
                if let Some(step) = self.queue(id).and_then(|q| engine(m, e, q)) {
                    out(step);
                }
            }
            agent => self.cpu(m, e, agent, out),
        }
        self.edits(m, e, e.n, out);
    }

    /// The register writes of a user that follow event `n`.
    fn edits(&self, m: &Machine, e: &Event, n: u64, out: &mut impl FnMut(Step)) {
        for kind in self.written.get(&n).into_iter().flatten() {
            let e = Event { agent: Agent::Host, kind: *kind, ..*e };
            self.cpu(m, &e, Agent::Host, out);
        }
    }

    fn cpu(&self, m: &Machine, e: &Event, agent: Agent, out: &mut impl FnMut(Step)) {
        match e.kind {
            EventKind::Stage { queue, tx, rx, .. } => {
                let Some(q) = self.queue(queue) else { return };
                for (dir, taken) in [(Dir::Rx, rx), (Dir::Tx, tx)] {
                    if taken.desc.is_some() {
                        let addr = m.queues[q as usize].ring(dir).slot_addr(taken.slot);
                        let slot = Some((q, dir, taken.slot));
                        out(Step::Store { agent, addr, len: DESC_BYTES as u64, slot });
                    }
                }
            }
            EventKind::CopyIn { queue, dir, slot, count } => {
                let Some(q) = self.queue(queue) else { return };
                let addr = m.queues[q as usize].ring(dir).slot_addr(slot);
                let len = count.saturating_mul(DESC_BYTES as u64);
                out(Step::Store { agent, addr, len, slot: Some((q, dir, slot)) });
            }
            EventKind::MarkerWrite { addr, .. } => {
                out(Step::Store { agent, addr, len: WORD_BYTES, slot: None });
            }
            EventKind::Store { addr, len } => out(Step::Store { agent, addr, len, slot: None }),
            EventKind::CpuFence => out(Step::Fence { agent }),
            EventKind::MmioWrite { engine, offset, value, lost } => {
                let Some(r) = reg::name_at(offset) else { return };
                let Some((dir, queue)) = r.queue else { return };
                let Some(queue) = self.queue(QueueId { engine, queue }) else { return };
                match r.name {
                    "drtp_inc" if !lost => {
                        let count = u64::from(value & reg::INDEX_MASK);
                        out(Step::Doorbell { agent, queue, dir, count });
                    }
                    "q_sw_ctrl" if value & 0x100 != 0 => out(Step::Reset { queue, dir }),
                    _ => {}
                }
            }
            EventKind::Poll { addr, value, .. } if value == MARKER => {
                self.seen(m, e, agent, Some(addr), out);
            }
            EventKind::Patch { queue, dir, slot, at, .. } => {
                let Some(q) = self.queue(queue) else { return };
                out(Step::Store { agent, addr: at, len: 8, slot: Some((q, dir, slot)) });
            }
            EventKind::SemWait { id, value } => {
                out(Step::Reach { agent, semaphore: id, value });
            }
            EventKind::SemUpdate { id, add } => {
                // As in `post`.
                out(Step::Fence { agent });
                out(Step::Raise { agent, semaphore: id, by: add });
            }
            EventKind::Inst { item, .. } => self.begins(m, agent, item, out),
            EventKind::InstDone { item, .. } => {
                let run = self.module.as_deref();
                for done in run.into_iter().flat_map(|run| run.exec.completes(item)) {
                    post(agent, Object::Done(done), out);
                }
                if let Agent::Seq(engine) = agent {
                    post(agent, Object::Engine(engine), out);
                }
                self.parts(item, out);
            }
            EventKind::PollIdle { idle: true, .. } => self.seen(m, e, agent, None, out),
            _ => {}
        }
    }

    /// MODEL: a sequencer that holds an instruction until others are complete knows of all that
    /// they did.
    fn begins(&self, m: &Machine, agent: Agent, item: Item, out: &mut impl FnMut(Step)) {
        let Some(run) = &self.module else { return };
        for semaphore in run.exec.inst(item).into_iter().flat_map(|i| zeroed(i)) {
            out(Step::Zero { semaphore: *semaphore });
        }
        let block = m.control.as_ref().and_then(|c| c.block(&run.exec, item));
        for before in run.exec.comes_after(item, block) {
            out(Step::Await { agent, object: Object::Done(before).number() });
        }
        for engine in run.exec.joined(item).iter() {
            out(Step::Await { agent, object: Object::Engine(engine).number() });
        }
    }

    /// MODEL: what one sequencer does for all that came together lets all of them go on, and
    /// each then knows of what every other did before.
    fn parts(&self, item: Item, out: &mut impl FnMut(Step)) {
        let Some(run) = &self.module else { return };
        for engine in run.exec.joined(item).iter() {
            let object = Object::Done(item).number();
            out(Step::Await { agent: Agent::Seq(engine), object });
        }
    }

    /// A poll that ended its wait. Polls that did not are no accesses.
    fn seen(
        &self,
        m: &Machine,
        e: &Event,
        agent: Agent,
        word: Option<u64>,
        out: &mut impl FnMut(Step),
    ) {
        let Some(Frame::Wait { queue, counts, .. }) = m.cpu().stack.last() else { return };
        if m.cpu().polled != Some(true) {
            return;
        }
        let Some(queue) = self.queue(*queue) else { return };
        let q = &m.queues[queue as usize];
        let first = (q.ledger.done() + 1).min(e.batch);
        let slots = Dir::BOTH.iter().flat_map(|d| freed(q, *d, u64::from(counts.of(*d)))).collect();
        let wait = Wait { queue, word, batches: (first, e.batch), slots };
        out(Step::Seen { agent, wait });
    }
}

fn written(p: &Program) -> BTreeMap<u64, Vec<EventKind>> {
    let mut out: BTreeMap<u64, Vec<EventKind>> = BTreeMap::new();
    for e in &p.edits {
        if let Change::Register { engine, offset, value } = e.change {
            let kind = EventKind::MmioWrite { engine, offset, value, lost: false };
            out.entry(e.at).or_default().push(kind);
        }
    }
    out
}

/// A sequencer's instructions are complete before it lets others know: nothing of them is left
/// unfenced.
fn post(agent: Agent, object: Object, out: &mut impl FnMut(Step)) {
    out(Step::Fence { agent });
    out(Step::Post { by: Poster::Cpu(agent), object: object.number() });
}

/// The bytes of the next `count` slots that an ack frees: to the ring's end, and from its start.
fn freed(q: &Queue, dir: Dir, count: u64) -> impl Iterator<Item = (u64, u64)> {
    let ring = q.ring(dir);
    let count = count.min(ring.size);
    let at = u64::from(q.sw(dir).next_cdesc_idx);
    let first = count.min(ring.size.saturating_sub(at));
    let bytes = DESC_BYTES as u64;
    [(ring.slot_addr(at), first * bytes), (ring.base, (count - first) * bytes)]
        .into_iter()
        .filter(|(_, len)| *len > 0)
}

/// How a packet streams whose Tx side is complete.
pub(in crate::engine) fn stream_of(packet: &Packet) -> Stream {
    let data = packet.tx.iter().find(|x| !x.desc.is_meta());
    let copy = data.is_some_and(|x| class::is_copy(x.desc.word1));
    Stream { need: packet.need, whole: !copy }
}

/// A step of an engine queue.
fn engine(m: &Machine, e: &Event, queue: u32) -> Option<Step> {
    let q = &m.queues[queue as usize];
    Some(match e.kind {
        EventKind::Fetch { dir, slot, desc } => {
            let addr = q.hw(dir).ring.slot_addr(slot);
            let ends = dir == Dir::Tx && q.packet.complete;
            let stream = ends.then(|| stream_of(&q.packet));
            Step::Fetch { at: (queue, dir, slot), addr, desc, stream }
        }
        EventKind::Read { slot, addr, len } => Step::Read { queue, slot, addr, len },
        EventKind::Visible { slot, addr, len } => {
            Step::Visible { queue, slot, addr, len, batch: e.batch }
        }
        EventKind::Retire { packet_end: true, .. } => Step::PacketEnd { queue, batch: e.batch },
        _ => return None,
    })
}
