//! An order that is not the calm one, and barriers that are not the program's: what a run is a
//! function of besides its program (`docs/order.md`, "Schedules").
//!
//! A schedule is a list of holds. An event that is held does not happen before another one has;
//! all else goes on as in the calm order, as far as the rules of order allow. Nothing here says
//! how: `ring::loose` does.

use super::order::Readings;
use super::program::QueueId;
use super::ring::Agent;
use crate::udma::{Barrier, Desc, Dir, View, field};
use std::fmt;

/// What a queue does with a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EngineAct {
    /// Its slot is fetched.
    Fetch,
    /// The bytes of a Tx descriptor are read.
    Read,
    /// The bytes of an Rx descriptor become visible.
    Write,
}

/// What a CPU agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CpuAct {
    /// A store reaches memory: a word, bytes, a descriptor of one ring.
    Store,
    /// A doorbell write.
    Doorbell,
    /// A poll that ends its wait.
    Poll,
}

impl CpuAct {
    /// All of them.
    pub const ALL: [CpuAct; 3] = [CpuAct::Store, CpuAct::Doorbell, CpuAct::Poll];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            CpuAct::Store => "store",
            CpuAct::Doorbell => "doorbell",
            CpuAct::Poll => "poll",
        }
    }
}

impl EngineAct {
    /// What there is of a direction.
    pub fn of(dir: Dir) -> [EngineAct; 2] {
        match dir {
            Dir::Tx => [EngineAct::Fetch, EngineAct::Read],
            Dir::Rx => [EngineAct::Fetch, EngineAct::Write],
        }
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            EngineAct::Fetch => "fetch",
            EngineAct::Read => "read",
            EngineAct::Write => "visible",
        }
    }
}

/// An event by what it is, whenever it happens. `Q` names queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Moment<Q = QueueId> {
    /// Of a queue.
    Engine {
        /// Which.
        queue: Q,
        /// Direction of the descriptor.
        dir: Dir,
        /// Which descriptor of its direction, counted from 0 from the run's start; on the first
        /// lap of a fresh ring that is its slot.
        k: u64,
        /// What is done with it.
        act: EngineAct,
    },
    /// Of a CPU agent.
    Cpu {
        /// Who.
        agent: Agent,
        /// What.
        act: CpuAct,
        /// Which of its kind, counted from 1.
        n: u64,
    },
}

impl<Q: Copy> Moment<Q> {
    /// With another name of its queue.
    ///
    /// # Errors
    /// Those of `name`.
    pub fn named<R, E>(self, name: impl FnOnce(Q) -> Result<R, E>) -> Result<Moment<R>, E> {
        Ok(match self {
            Moment::Engine { queue, dir, k, act } => {
                Moment::Engine { queue: name(queue)?, dir, k, act }
            }
            Moment::Cpu { agent, act, n } => Moment::Cpu { agent, act, n },
        })
    }
}

/// A queue in front of what is its; nothing where no queue is named.
fn front(f: &mut fmt::Formatter<'_>, queue: &impl fmt::Display) -> fmt::Result {
    let queue = queue.to_string();
    if queue.is_empty() { Ok(()) } else { write!(f, "{queue} ") }
}

impl<Q: fmt::Display> fmt::Display for Moment<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::Engine { queue, dir, k, act } => {
                front(f, queue)?;
                write!(f, "{dir} {k} {}", act.name())
            }
            Moment::Cpu { agent, act, n } => write!(f, "{agent} {} {n}", act.name()),
        }
    }
}

/// `what` does not happen before `until` has. What is held is never a doorbell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hold<Q = QueueId> {
    /// The event that is held back.
    pub what: Moment<Q>,
    /// The one that it waits for.
    pub until: Moment<Q>,
}

impl<Q: fmt::Display> fmt::Display for Hold<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hold {} until {}", self.what, self.until)
    }
}

/// A barrier that is set or taken away in the ring just before the doorbell that covers its
/// descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BarrierEdit<Q = QueueId> {
    /// Queue.
    pub queue: Q,
    /// Which descriptor of its direction, counted from 0 from the run's start: an Rx descriptor
    /// for SOW, a Tx descriptor for the others.
    pub k: u64,
    /// Which barrier.
    pub barrier: BarrierBit,
    /// Set rather than cleared.
    pub on: bool,
}

/// A bit of a descriptor that is a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BarrierBit {
    /// Of a Tx descriptor's second word.
    WriteBarrier,
    /// Of a Tx descriptor's first word.
    Dmb,
    /// Of an Rx descriptor's first word.
    Sow,
}

impl BarrierBit {
    /// All, the cheapest first: what holds back least of what it need not (MODEL).
    pub const ALL: [BarrierBit; 3] = [BarrierBit::WriteBarrier, BarrierBit::Sow, BarrierBit::Dmb];

    /// Whose bit it is.
    pub fn dir(self) -> Dir {
        if self == BarrierBit::Sow { Dir::Rx } else { Dir::Tx }
    }

    /// Name of its field.
    pub fn field(self) -> &'static str {
        match self {
            BarrierBit::WriteBarrier => "write_barrier",
            BarrierBit::Dmb => "dmb",
            BarrierBit::Sow => "strong_order",
        }
    }

    /// The descriptor with the bit set or cleared.
    #[must_use]
    pub fn put(self, desc: Desc, on: bool) -> Desc {
        let view = if self.dir() == Dir::Tx { View::Tx } else { View::Rx };
        field::find(view, self.field()).map_or(desc, |f| desc.with(f, u64::from(on)))
    }

    /// The mode of the driver that sets it.
    pub fn mode(self) -> Barrier {
        match self {
            BarrierBit::WriteBarrier => Barrier::WriteBarrier,
            BarrierBit::Dmb => Barrier::Dmb,
            BarrierBit::Sow => Barrier::StrongOrderWrite,
        }
    }
}

impl<Q: fmt::Display> fmt::Display for BarrierEdit<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("barrier ")?;
        front(f, &self.queue)?;
        let on = if self.on { "on" } else { "off" };
        write!(f, "{} {} {} {on}", self.barrier.dir(), self.k, self.barrier.mode())
    }
}

/// In which order a program is run, and with which barriers. The default is the calm order of
/// the program as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Schedule {
    /// The reading of the barriers that the order keeps to.
    pub readings: Readings,
    /// What is held back.
    pub holds: Vec<Hold>,
    /// What is edited.
    pub barriers: Vec<BarrierEdit>,
}

impl Schedule {
    /// Whether the run is the calm one of the program as it is.
    pub fn is_calm(&self) -> bool {
        self.holds.is_empty() && self.barriers.is_empty()
    }

    /// Its lines, without the verb: the reading first where it is not the default one.
    pub fn lines(&self) -> Vec<String> {
        let reading =
            (self.readings != Readings::default()).then(|| format!("reading {}", self.readings));
        let barriers = self.barriers.iter().map(ToString::to_string);
        let holds = self.holds.iter().map(ToString::to_string);
        reading.into_iter().chain(barriers).chain(holds).collect()
    }
}
