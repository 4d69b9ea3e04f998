//! Faults that a user injects (`docs/whatif.md`, "Faults").
//!
//! MODEL, all of it: the engine finds the cause at the next descriptor that can have it, where
//! it would find a real one: while the slot is fetched, once the descriptor is there, once the
//! packet's Rx side is, or while its bytes are moved. Whether it aborts follows the rules that
//! hold for real faults. Each is found once.

use super::device::Packet;
use super::machine::Machine;
use super::queue::Queue;
use crate::udma::Dir;
use crate::udma::cause::{self, Cause};

/// A fault that waits for its descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Injected {
    /// Index of the queue.
    pub queue: usize,
    /// Whose cause group.
    pub dir: Dir,
    /// Bit of the cause.
    pub bit: u8,
    /// The slot that it waits for; any if none.
    pub slot: Option<u64>,
}

/// Where an engine finds a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// While it fetches a slot: it gets no descriptor.
    Prefetch,
    /// At the descriptor that it got.
    Descriptor,
    /// At a packet whose Rx descriptors are all there.
    Packet,
    /// While it reads the source or writes the destination.
    Data,
}

/// Where an engine finds a cause.
pub fn point(c: &Cause) -> Point {
    match (c.dir, c.name) {
        (_, "PREFETCH_AXI_TO" | "PREFETCH_AXI_RESP") => Point::Prefetch,
        (_, "DATA_AXI_TO" | "DATA_AXI_RESP") => Point::Data,
        (Dir::Rx, "PKT_LEN" | "STRM_FIRST" | "STRM_LAST") => Point::Packet,
        _ => Point::Descriptor,
    }
}

impl Machine {
    /// Takes the first injected fault that is found at a point of a slot.
    pub(super) fn take_injected(
        &mut self,
        queue: usize,
        dir: Dir,
        at: Point,
        slot: u64,
    ) -> Option<&'static Cause> {
        self.take_injected_if(queue, dir, at, |s| s == slot).map(|hit| hit.0)
    }

    /// The same at a packet: the cause, and the slot and address that it is told for: that which
    /// it waited for, else the packet's last.
    pub(super) fn take_injected_packet(
        &mut self,
        queue: usize,
    ) -> Option<(&'static Cause, (u64, u64))> {
        if self.injected.is_empty() {
            return None;
        }
        let q = &self.queues[queue];
        let slots = packet_slots(q, &q.packet);
        let there = |s| slots.contains(&s);
        let (cause, wanted) = self.take_injected_if(queue, Dir::Rx, Point::Packet, there)?;
        let slot = wanted.or(slots.last().copied()).unwrap_or(0);
        Some((cause, (slot, self.queues[queue].hw(Dir::Rx).ring.slot_addr(slot))))
    }

    /// The cause, and the slot that it waited for.
    fn take_injected_if(
        &mut self,
        queue: usize,
        dir: Dir,
        at: Point,
        is_there: impl Fn(u64) -> bool,
    ) -> Option<(&'static Cause, Option<u64>)> {
        if self.injected.is_empty() {
            return None;
        }
        let cause = |bit| cause::by_bit(dir, bit);
        let hit = self.injected.iter().position(|f| {
            (f.queue, f.dir) == (queue, dir)
                && f.slot.is_none_or(&is_there)
                && cause(f.bit).is_some_and(|c| point(c) == at)
        })?;
        let taken = self.injected.remove(hit);
        cause(taken.bit).map(|c| (c, taken.slot))
    }
}

/// The slots of a packet's Rx descriptors.
fn packet_slots(q: &Queue, packet: &Packet) -> Vec<u64> {
    packet.rx.iter().map(|x| q.hw(Dir::Rx).slot(x.k)).collect()
}

#[cfg(test)]
mod tests;
