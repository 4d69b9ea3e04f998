//! Events: what happened, when, and whose doing it was (`docs/model.md`, "Events").

use crate::bir::exec::Item;
use crate::bir::{Engine, Pos};
use crate::engine::program::{DeviceOp, QueueId};
use crate::udma::{Desc, Dir, reg};
use std::fmt;

/// Who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Agent {
    /// The driver on the host.
    Host,
    /// The sequencer of a compute engine, which runs its instructions of the module.
    Seq(Engine),
    /// One queue of one engine.
    Engine(QueueId),
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Agent::Host => f.write_str("host"),
            Agent::Seq(e) => write!(f, "seq {e}"),
            Agent::Engine(q) => write!(f, "{q}"),
        }
    }
}

/// The five phases of the host's cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Descriptors and marker are written.
    Stage,
    /// The counts are handed over and checked.
    Trigger,
    /// Fence and doorbell writes.
    Doorbell,
    /// The marker is polled.
    Poll,
    /// The marker is re-seeded and the slots are freed.
    Ack,
}

impl Phase {
    /// All five, in order.
    pub const ALL: [Phase; 5] =
        [Phase::Stage, Phase::Trigger, Phase::Doorbell, Phase::Poll, Phase::Ack];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Stage => "stage",
            Phase::Trigger => "trigger",
            Phase::Doorbell => "doorbell",
            Phase::Poll => "poll",
            Phase::Ack => "ack",
        }
    }
}

/// What a driver call answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ret {
    /// A return code; 0 is success.
    Code(i64),
    /// The kernel assertion fired: the call never returned.
    Bug,
}

impl Ret {
    /// Success.
    pub const OK: Ret = Ret::Code(0);
}

impl fmt::Display for Ret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ret::Code(c) => write!(f, "{c}"),
            Ret::Bug => f.write_str("BUG"),
        }
    }
}

/// What a staged pair is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Moves data.
    Data,
    /// The completion pair.
    Marker,
}

/// What staging did to one ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlotTaken {
    /// The slot used, or that would have been.
    pub slot: u64,
    /// Phase stamped.
    pub ring_id: u8,
    /// Free slots before.
    pub avail_before: u32,
    /// Free slots after.
    pub avail_after: u32,
    /// Producer cursor after.
    pub next_desc_idx: u32,
    /// Phase of the next slot after.
    pub desc_ring_id: u8,
    /// What was written; nothing when the call failed.
    pub desc: Option<Desc>,
}

/// Which word of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MarkerWord {
    /// +0, the source.
    Src,
    /// +4, the destination that is polled.
    Dst,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event {
    /// Its number, from 1: event 0 is the state before anything happened.
    pub n: u64,
    /// Virtual time, nanoseconds.
    pub t_ns: u64,
    /// Whose doing.
    pub agent: Agent,
    /// The batch that it belongs to (a queue's doorbells count them), from 1; 0 outside any.
    pub batch: u64,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The host begins operation `op` of its script.
    Call {
        /// Index in the script.
        op: u32,
    },
    /// It ends.
    CallReturn {
        /// Index in the script.
        op: u32,
        /// Its result.
        ret: Ret,
    },
    /// One pair was staged, or refused.
    Stage {
        /// Queue.
        queue: QueueId,
        /// Data or marker.
        role: Role,
        /// Source.
        src: u64,
        /// Destination.
        dst: u64,
        /// Bytes as asked for.
        size: u64,
        /// Barrier code as asked for.
        barrier_code: u32,
        /// Result.
        ret: Ret,
        /// What happened to the Tx ring.
        tx: SlotTaken,
        /// What happened to the Rx ring.
        rx: SlotTaken,
    },
    /// Descriptors authored elsewhere were copied into a ring.
    CopyIn {
        /// Queue.
        queue: QueueId,
        /// Ring.
        dir: Dir,
        /// First slot.
        slot: u64,
        /// How many.
        count: u64,
    },
    /// A sequencer begins an instruction of the module.
    Inst {
        /// The instruction of the loaded module that it is or stems from.
        pos: Pos,
        /// The instruction of the module that is run.
        item: Item,
    },
    /// All that it does is done.
    InstDone {
        /// The instruction of the loaded module.
        pos: Pos,
        /// The instruction of the module that is run.
        item: Item,
    },
    /// A sequencer resolved a run-time address and wrote it into a staged descriptor.
    Patch {
        /// Queue.
        queue: QueueId,
        /// Ring.
        dir: Dir,
        /// Slot.
        slot: u64,
        /// Address of the pointer that was written, 8 bytes.
        at: u64,
        /// The address that it now holds.
        addr: u64,
    },
    /// A sequencer waits for what nobody will do any more.
    Blocked {
        /// The instruction that it stands at.
        pos: Pos,
    },
    /// A semaphore had the value that an instruction waits for.
    SemWait {
        /// Semaphore.
        id: u64,
        /// At least this.
        value: u64,
    },
    /// The effects of an instruction are complete and a semaphore was updated.
    SemUpdate {
        /// Semaphore.
        id: u64,
        /// How much was added.
        add: u64,
    },
    /// The CPU stored one marker word.
    MarkerWrite {
        /// Which.
        word: MarkerWord,
        /// Address.
        addr: u64,
        /// Value.
        value: u32,
    },
    /// The CPU stored bytes.
    Store {
        /// Address.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// A store that was made earlier reaches memory; only in an order that is not the calm one.
    Land {
        /// Address.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// The counts of a batch are handed to the doorbell call.
    CopyStart {
        /// Queue.
        queue: QueueId,
        /// TX count.
        m2s: u32,
        /// RX count.
        s2m: u32,
    },
    /// The doorbell call returns.
    CopyStartReturn {
        /// Queue.
        queue: QueueId,
        /// Result.
        ret: Ret,
    },
    /// A CPU memory barrier.
    CpuFence,
    /// A 32-bit register write.
    MmioWrite {
        /// Engine.
        engine: u32,
        /// Offset inside the engine block.
        offset: u32,
        /// Value.
        value: u32,
        /// The device lost it (a scenario's `lose`).
        lost: bool,
    },
    /// How long the wait may take.
    WaitBudget {
        /// Queue.
        queue: QueueId,
        /// Pending descriptors, marker included.
        count: u32,
        /// Asynchronous timing.
        asynchronous: bool,
        /// First delay of the callback, microseconds.
        first_us: u64,
        /// Following wait of the callback.
        following: u64,
    },
    /// The host sleeps.
    Delay {
        /// Microseconds.
        us: u64,
    },
    /// Consecutive equal reads of a marker word.
    Poll {
        /// Address.
        addr: u64,
        /// How many reads.
        reads: u64,
        /// What each gave.
        value: u32,
    },
    /// Consecutive equal looks at whether the engine has nothing left to do (MODEL: a ring
    /// without a marker).
    PollIdle {
        /// Queue.
        queue: QueueId,
        /// How many looks.
        reads: u64,
        /// Whether it was idle.
        idle: bool,
    },
    /// The software completion cursor moved.
    Ack {
        /// Queue.
        queue: QueueId,
        /// Ring.
        dir: Dir,
        /// By how much.
        count: u32,
        /// Cursor before.
        before: u32,
        /// Cursor after.
        after: u32,
        /// Free slots after.
        available: u32,
    },
    /// The scenario changed the device (MODEL).
    Device(DeviceOp),
    /// The engine fetched a descriptor.
    Fetch {
        /// Ring.
        dir: Dir,
        /// Slot.
        slot: u64,
        /// What it got.
        desc: Desc,
    },
    /// The engine read a Tx descriptor's bytes.
    Read {
        /// Slot.
        slot: u64,
        /// Address.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// An Rx descriptor's bytes became visible in memory.
    Visible {
        /// Slot.
        slot: u64,
        /// Address.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// A pair was retired: the heads moved.
    Retire {
        /// Tx slot, absent where the packet has fewer Tx than Rx descriptors.
        tx: Option<u64>,
        /// Rx slot.
        rx: Option<u64>,
        /// The packet is complete.
        packet_end: bool,
    },
    /// The engine found a fault's cause.
    Fault {
        /// Whose cause group.
        dir: Dir,
        /// Bit in the group.
        bit: u8,
        /// The slot concerned.
        slot: u64,
        /// The address concerned.
        addr: u64,
        /// The cause is armed: the engine aborts.
        aborted: bool,
        /// A user injected it.
        injected: bool,
    },
    /// The engine cannot go on (MODEL).
    Stall {
        /// Ring of the slot.
        dir: Dir,
        /// Slot at which it stands.
        slot: u64,
        /// Why.
        why: Stall,
    },
}

/// Why an engine queue stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stall {
    /// TX has work, RX has no descriptor posted.
    RxNotArmed,
    /// The packet's last descriptor is not posted.
    PacketIncomplete,
    /// The operation's class is not executed by the model.
    NotExecuted,
    /// The descriptor carries a symbolic address that nothing resolves.
    Unresolved,
}

impl Stall {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Stall::RxNotArmed => "no Rx descriptor is posted for what Tx streams",
            Stall::PacketIncomplete => "the packet's last descriptor is not posted",
            Stall::NotExecuted => "the model does not execute this operation class",
            Stall::Unresolved => "a symbolic address names no variable",
        }
    }
}

impl EventKind {
    /// Its name in listings and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            EventKind::Call { .. } => "call",
            EventKind::CallReturn { .. } => "call_return",
            EventKind::Stage { .. } => "stage",
            EventKind::CopyIn { .. } => "copy_in",
            EventKind::Inst { .. } => "inst",
            EventKind::InstDone { .. } => "inst_done",
            EventKind::Patch { .. } => "patch",
            EventKind::Blocked { .. } => "blocked",
            EventKind::SemWait { .. } => "sem_wait",
            EventKind::SemUpdate { .. } => "sem_update",
            EventKind::MarkerWrite { .. } => "marker_write",
            EventKind::Store { .. } => "store",
            EventKind::Land { .. } => "land",
            EventKind::CopyStart { .. } => "copy_start",
            EventKind::CopyStartReturn { .. } => "copy_start_return",
            EventKind::CpuFence => "cpu_fence",
            EventKind::MmioWrite { .. } => "mmio_write",
            EventKind::WaitBudget { .. } => "wait_budget",
            EventKind::Delay { .. } => "delay",
            EventKind::Poll { .. } | EventKind::PollIdle { .. } => "poll",
            EventKind::Ack { .. } => "ack",
            EventKind::Device(_) => "device",
            EventKind::Fetch { .. } => "fetch",
            EventKind::Read { .. } => "read",
            EventKind::Visible { .. } => "visible",
            EventKind::Retire { .. } => "retire",
            EventKind::Fault { .. } => "fault",
            EventKind::Stall { .. } => "stall",
        }
    }

    /// Bytes of memory that it reads or writes: (address, length, written).
    pub fn access(&self) -> Option<(u64, u64, bool)> {
        match *self {
            EventKind::MarkerWrite { addr, .. } => Some((addr, 4, true)),
            EventKind::Patch { at, .. } => Some((at, 8, true)),
            EventKind::Store { addr, len } | EventKind::Land { addr, len } => {
                Some((addr, len, true))
            }
            EventKind::Poll { addr, .. } => Some((addr, 4, false)),
            EventKind::Read { addr, len, .. } => Some((addr, len, false)),
            EventKind::Visible { addr, len, .. } => Some((addr, len, true)),
            _ => None,
        }
    }
}

impl Event {
    /// The queue that it is about, if one.
    pub fn queue(&self) -> Option<QueueId> {
        match (self.agent, self.kind) {
            (Agent::Engine(q), _) => Some(q),
            (
                _,
                EventKind::Stage { queue, .. }
                | EventKind::CopyIn { queue, .. }
                | EventKind::Patch { queue, .. }
                | EventKind::CopyStart { queue, .. }
                | EventKind::CopyStartReturn { queue, .. }
                | EventKind::WaitBudget { queue, .. }
                | EventKind::PollIdle { queue, .. }
                | EventKind::Ack { queue, .. },
            ) => Some(queue),
            (_, EventKind::MmioWrite { engine, offset, .. }) => {
                let (_, queue) = reg::name_at(offset)?.queue?;
                Some(QueueId { engine, queue })
            }
            _ => None,
        }
    }

    /// Virtual time in microseconds, rounded down.
    pub fn t_us(&self) -> u64 {
        self.t_ns / 1000
    }
}
