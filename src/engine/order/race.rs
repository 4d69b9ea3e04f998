//! Races: what was found, and how it is told.

use super::readings::{ReadingSet, Readings};
use crate::diag::{Diagnostic, Place, Severity, SlotRef};
use crate::engine::program::Program;
use crate::engine::ring::Agent;
use crate::udma::{Dir, count_of};
use std::fmt;

/// What a race is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RaceKind {
    /// A poll may succeed before bytes of its batch are written.
    MarkerOvertakes,
    /// Bytes are read that an earlier write may not have written yet.
    ReadAfterWrite,
    /// Bytes are written that an earlier read may not have read yet.
    WriteAfterRead,
    /// Two writes of a byte may come in either order.
    WriteAfterWrite,
    /// A slot is written again that may not be fetched yet.
    SlotReuse,
    /// A slot may be fetched before its descriptor is there.
    OldSlot,
}

impl RaceKind {
    /// All of them, by code.
    pub const ALL: [RaceKind; 6] = [
        RaceKind::MarkerOvertakes,
        RaceKind::ReadAfterWrite,
        RaceKind::WriteAfterRead,
        RaceKind::WriteAfterWrite,
        RaceKind::SlotReuse,
        RaceKind::OldSlot,
    ];

    /// Its diagnostic code.
    pub fn code(self) -> &'static str {
        match self {
            RaceKind::MarkerOvertakes => "R030",
            RaceKind::ReadAfterWrite => "R031",
            RaceKind::WriteAfterRead => "R032",
            RaceKind::WriteAfterWrite => "R033",
            RaceKind::SlotReuse => "R034",
            RaceKind::OldSlot => "R035",
        }
    }

    /// A few words.
    pub fn name(self) -> &'static str {
        match self {
            RaceKind::MarkerOvertakes => "marker overtakes data",
            RaceKind::ReadAfterWrite => "read after write",
            RaceKind::WriteAfterRead => "write after read",
            RaceKind::WriteAfterWrite => "write after write",
            RaceKind::SlotReuse => "slot reuse against fetch",
            RaceKind::OldSlot => "fetch of an old slot",
        }
    }
}

impl fmt::Display for RaceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a side of a race does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Act {
    /// The engine reads a slot of a ring.
    Fetch,
    /// The engine reads a Tx descriptor's bytes.
    Read,
    /// An Rx descriptor's bytes become visible.
    Write,
    /// A CPU agent stores.
    Store,
    /// A CPU agent's successful poll, which stands for reading what its batch wrote.
    Poll,
}

impl Act {
    /// Whether it writes.
    pub fn writes(self) -> bool {
        matches!(self, Act::Write | Act::Store)
    }
}

/// One side of a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Side {
    /// Number of its event.
    pub event: u64,
    /// Whose doing.
    pub agent: Agent,
    /// What.
    pub act: Act,
    /// The slot: of an engine's event its own, of a store the one that it writes.
    pub slot: Option<SlotRef>,
    /// First address that it touches; of a poll the word, 0 where it polls none.
    pub addr: u64,
    /// Bytes that it touches from there.
    pub len: u64,
    /// Its batch; 0 where none is known.
    pub batch: u64,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.act, self.slot) {
            (Act::Fetch, Some(s)) => write!(f, "the fetch of {s}")?,
            (Act::Read, Some(s)) => write!(f, "the read of {s}")?,
            (Act::Write, Some(s)) => write!(f, "the write of {s}")?,
            (Act::Store, Some(s)) => write!(f, "the store to {s}")?,
            (Act::Store, None) => write!(f, "the {}'s store", self.agent)?,
            (Act::Poll, _) => write!(f, "the poll for batch {}", self.batch)?,
            (act, None) => write!(f, "a {act:?} of {}", self.agent)?,
        }
        write!(f, " (event {})", self.event)
    }
}

/// What would have ordered the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Missing {
    /// A fence of the CPU between its store and the doorbell.
    Fence,
    /// A barrier between the data and the marker of a batch.
    MarkerBarrier,
    /// A marker that no other batch writes: the poll may have seen the one that this slot wrote.
    OwnMarker(SlotRef),
    /// A write of the marker that the poll can be said to follow.
    Marker,
    /// A DMB on the descriptor that reads, or on one before it.
    Dmb,
    /// Two queues meet only where an agent waits for the one before it rings the other.
    QueueWait,
    /// The agent must see the batch complete before it goes on.
    BatchWait,
    /// Two agents meet only at something that one posts and the other awaits.
    Agents,
}

impl Missing {
    /// In a sentence.
    pub fn sentence(self) -> String {
        match self {
            Missing::Fence => "a fence between the store and the doorbell would order them".into(),
            Missing::MarkerBarrier => "a write barrier or a DMB on the batch's last data \
                descriptor, or SOW on its marker, would keep the marker behind the data"
                .into(),
            Missing::OwnMarker(slot) => {
                format!("the marker that {slot} wrote to the same word satisfies the poll as well")
            }
            Missing::Marker => "no write of the polled word is certain to come before the poll: \
                seed the marker after the batch before and before the doorbell"
                .into(),
            Missing::Dmb => "a DMB on the descriptor that reads, or on one between the two, would \
                order them"
                .into(),
            Missing::QueueWait => "two queues are ordered only where the one's batch is waited \
                for before the other's doorbell"
                .into(),
            Missing::BatchWait => "the batch is not waited for by a poll that follows this slot \
                before the agent goes on"
                .into(),
            Missing::Agents => "two agents are ordered only where one waits for the other".into(),
        }
    }
}

/// Two accesses to the same bytes, at least one a write, that nothing orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Race {
    /// What it is about.
    pub kind: RaceKind,
    /// The one that came first in this run.
    pub first: Side,
    /// The other.
    pub second: Side,
    /// The lowest address that both touch.
    pub lo: u64,
    /// One beyond the highest.
    pub hi: u64,
    /// Bytes between the two addresses that both touch.
    pub bytes: u64,
    /// The readings under which nothing orders them.
    pub holds: ReadingSet,
    /// What would have.
    pub missing: Missing,
}

impl Race {
    /// An error under the default readings, a note where only a stricter one has it.
    pub fn severity(&self) -> Severity {
        if self.holds.contains(Readings::default()) { Severity::Error } else { Severity::Note }
    }

    /// As a finding: at the later event, at the slot of an engine's side.
    pub fn diagnostic(&self, p: &Program) -> Diagnostic {
        let span = match self.bytes {
            1 => format!("1 byte at {}", p.name_addr(self.lo)),
            n => {
                format!("{n_bytes} from {} on", p.name_addr(self.lo), n_bytes = count_of(n, "byte"))
            }
        };
        let text = format!(
            "{}: nothing orders {} and {}: {span}, {}",
            self.kind,
            self.first,
            self.second,
            self.holds.words()
        );
        let at = |s: &Side| Place { slot: s.slot, event: Some(s.event), ..Place::default() };
        let mut place = at(&self.second);
        place.slot = place.slot.or(self.first.slot);
        Diagnostic::new(self.kind.code(), text)
            .severity(self.severity())
            .at(place)
            .label(at(&self.first), "the other access")
            .help(self.missing.sentence())
    }

    /// The slots of engine events that take part, the earlier side's first.
    pub fn slots(&self) -> impl Iterator<Item = (Dir, u64)> {
        let engine = |s: &Side| matches!(s.act, Act::Fetch | Act::Read | Act::Write);
        [self.first, self.second]
            .into_iter()
            .filter(move |s| engine(s))
            .filter_map(|s| s.slot.map(|s| (s.dir, s.index)))
    }
}
