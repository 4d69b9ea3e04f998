//! One queue: the driver's software cursors and the engine's own view of both rings
//! (`docs/rings.md`).

use crate::engine::module_run::Origin;
use crate::engine::program::{QueueDecl, QueueId, RingDecl, Start};
use crate::udma::profile::Profile;
use crate::udma::ring::{INITIAL_RING_ID, free_slots, take_slot};
use crate::udma::{Desc, Dir};

use super::event::{EventKind, Ret};
use imbl::Vector;
use std::sync::Arc;

/// The driver's cursors of one ring, and running totals that never wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SwRing {
    /// Slots.
    pub size: u32,
    /// Producer cursor.
    pub next_desc_idx: u32,
    /// Software counter of acked descriptors (there is no completion ring).
    pub next_cdesc_idx: u32,
    /// Phase of the next slot taken.
    pub desc_ring_id: u8,
    /// Slots written since initialisation: slot `k % size` was the k-th.
    pub staged: u64,
    /// Slots acked since initialisation.
    pub acked: u64,
}

impl SwRing {
    /// A ring just initialised.
    pub fn new(size: u64) -> SwRing {
        SwRing {
            size: size as u32,
            next_desc_idx: 0,
            next_cdesc_idx: 0,
            desc_ring_id: INITIAL_RING_ID,
            staged: 0,
            acked: 0,
        }
    }

    /// Free slots, by the driver's arithmetic.
    ///
    /// # Errors
    /// A ring whose size is no power of two cannot be allocated from: an assertion before
    /// 2.26, no free slot from then on (`Code(0)` stands for the count 0).
    pub fn available(&self, profile: &Profile) -> Result<u32, Ret> {
        profile.reported_free(self.size, self.next_desc_idx, self.next_cdesc_idx).ok_or(Ret::Bug)
    }

    /// Free slots for showing: as above, 0 where the driver would stop.
    pub fn free(&self) -> u32 {
        if self.size.is_power_of_two() {
            free_slots(self.size, self.next_desc_idx, self.next_cdesc_idx)
        } else {
            0
        }
    }

    /// Takes the next slot: its index and the phase to stamp.
    pub fn take(&mut self) -> (u32, u8) {
        let slot = self.next_desc_idx;
        let ring_id = self.desc_ring_id;
        (self.next_desc_idx, self.desc_ring_id) = take_slot(self.size, slot, ring_id);
        self.staged += 1;
        (slot, ring_id)
    }

    /// Advances the ack cursor by `n`, unchecked as in the driver.
    ///
    /// # Errors
    /// A ring whose size is no power of two: an assertion before 2.26, -1 from then on.
    pub fn ack(&mut self, n: u32, profile: &Profile) -> Result<(), Ret> {
        if !self.size.is_power_of_two() {
            return Err(if profile.asserts_return { Ret::Code(-1) } else { Ret::Bug });
        }
        self.next_cdesc_idx = self.next_cdesc_idx.wrapping_add(n) & (self.size - 1);
        // By as much as the cursor moves: the whole ring is nothing.
        self.acked += u64::from(n & (self.size - 1));
        Ok(())
    }
}

/// The engine's view of one ring. MODEL: what silicon keeps inside is not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HwRing {
    /// Base and length as the registers hold them.
    pub ring: RingDecl,
    /// Descriptors posted by doorbells since reset.
    pub posted: u64,
    /// Descriptors fetched.
    pub fetched: u64,
    /// Descriptors whose bytes were read (Tx) or are visible (Rx).
    pub visible: u64,
    /// Descriptors retired; the head register is this modulo the length.
    pub retired: u64,
    /// Phase expected of the next fetch.
    pub ring_id: u8,
    /// Where it begins after a reset.
    pub first: Start,
}

impl HwRing {
    /// After a queue reset: head and tail 0, expected phase the first one.
    pub fn reset(&mut self) {
        self.posted = 0;
        self.fetched = 0;
        self.visible = 0;
        self.retired = 0;
        self.ring_id = self.first.ring_id;
    }

    /// How far the k-th descriptor lies from slot 0 of the first lap. A declared start beyond
    /// the ring counts modulo its size.
    fn distance(&self, k: u64) -> u64 {
        self.first.slot.checked_rem(self.ring.size).unwrap_or(0).saturating_add(k)
    }

    /// The slot of the k-th descriptor.
    pub fn slot(&self, k: u64) -> u64 {
        self.distance(k).checked_rem(self.ring.size).unwrap_or(0)
    }

    /// Phase of the k-th descriptor.
    pub(super) fn phase(&self, k: u64) -> u64 {
        let laps = self.distance(k).checked_div(self.ring.size).unwrap_or(0);
        (u64::from(self.first.ring_id) + laps) & 3
    }

    /// Head register: index and ring id. MODEL: the ring id in it.
    pub fn head_reg(&self) -> u32 {
        (self.slot(self.retired) | self.phase(self.retired) << 30) as u32
    }

    /// Tail register: index and ring id. MODEL: the ring id in it.
    pub fn tail_reg(&self) -> u32 {
        (self.slot(self.posted) | self.phase(self.posted) << 30) as u32
    }
}

/// A descriptor that the engine holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Held {
    /// Which one since reset.
    pub k: u64,
    /// Its bits.
    pub desc: Desc,
}

/// An asynchronous copy that nobody waited for yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pending {
    /// Source of its transfer.
    pub src: u64,
    /// Destination.
    pub dst: u64,
    /// Bytes.
    pub size: u64,
    /// Descriptors, marker included.
    pub count: u32,
}

/// What the host has rung on Tx and what it has waited for or acked since, in descriptors: tells
/// which batch a wait is about (`docs/model.md`, "Batches").
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Ledger {
    rung: u64,
    settled: u64,
    /// Where batches end among what is not settled: (count, batch).
    ends: Vector<(u64, u64)>,
    done: u64,
}

impl Ledger {
    fn ring(&mut self, count: u64, batch: u64) {
        self.rung += count;
        self.ends.push_back((self.rung, batch));
    }

    /// The batch that the last of the next `count` descriptors belongs to; nothing where fewer
    /// were rung.
    pub fn batch_of_next(&self, count: u32) -> Option<u64> {
        let last = self.settled.saturating_add(u64::from(count.max(1)));
        let at = self.ends.binary_search_by_key(&last, |b| b.0).unwrap_or_else(|at| at);
        self.ends.get(at).map(|b| b.1)
    }

    /// `count` descriptors are acked or given up.
    pub fn settle(&mut self, count: u32) {
        self.settled = self.settled.saturating_add(u64::from(count)).min(self.rung);
        while let Some(&(end, batch)) = self.ends.front()
            && end <= self.settled
        {
            self.done = batch;
            self.ends.pop_front();
        }
    }

    /// The newest batch that TX was rung for; 0 before the first.
    pub fn newest(&self) -> u64 {
        self.ends.back().map_or(self.done, |b| b.1)
    }

    /// The newest batch that is acked or given up as a whole; 0 before the first.
    pub fn done(&self) -> u64 {
        self.done
    }
}

/// What the engine did at a ring in the run so far, in events. Unlike its counters these go up
/// only: a reset, an edit or a fault takes nothing back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Tally {
    /// Descriptors fetched.
    pub fetched: u64,
    /// Sources read (Tx), or destinations made visible (Rx).
    pub moved: u64,
    /// Descriptors retired.
    pub retired: u64,
    /// Stalls.
    pub stalls: u64,
    /// Causes found.
    pub faults: u64,
}

/// A queue.
#[derive(Debug, Clone, Hash)]
pub struct Queue {
    /// As declared.
    pub decl: QueueDecl,
    /// Whether it was ever initialised.
    pub ready: bool,
    /// Driver cursors, Tx then Rx.
    pub sw: [SwRing; 2],
    /// Engine view, Tx then Rx.
    pub hw: [HwRing; 2],
    /// When the engine begins what is posted on Tx, nanoseconds; nothing to begin otherwise.
    pub due: Option<u64>,
    /// The packet in work.
    pub packet: super::device::Packet,
    /// First word of the marker that the newest batch uses; the area's first before that.
    pub marker: u64,
    /// Doorbell pairs so far: the number of the newest batch.
    pub batches: u64,
    /// The newest batch that anything was done for.
    pub begun: u64,
    /// What was rung and what was waited for.
    pub ledger: Ledger,
    /// Where batches end among the posted Tx descriptors not yet retired: (count, batch).
    pub bounds: Vector<(u64, u64)>,
    /// Asynchronous handles 0, 1, 2.
    pub handles: [Option<Pending>; 3],
    /// Why it stands, once reported.
    pub stalled: Option<super::event::Stall>,
    /// The faulted slot, if any.
    pub faulted: Option<(Dir, u64)>,
    /// The sequencer whose trigger it serves.
    pub owner: Option<crate::bir::Engine>,
    /// Of what the staged descriptors are made, Tx then Rx: runs, ascending, as far as they lie
    /// in the ring.
    pub origins: [Vector<StagedRun>; 2],
    /// Packets that are read but not written whole, in ring order; only in an order that is not
    /// the calm one.
    pub flights: Vector<super::loose::Flight>,
    /// Descriptors that were fetched before the newest reset of each direction.
    pub earlier: [u64; 2],
    /// What was done at both rings.
    pub tally: [Tally; 2],
}

/// Descriptors of a batch that a sequencer copied into a ring in one piece.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StagedRun {
    /// Which one since reset the first is.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// Position of the first in the batch.
    pub skip: u64,
    /// Of what those of the whole batch are made.
    pub batch: Arc<[Origin]>,
}

/// Index of a direction in a pair.
pub fn ix(dir: Dir) -> usize {
    match dir {
        Dir::Tx => 0,
        Dir::Rx => 1,
    }
}

impl Queue {
    /// Slots that the driver can still hand out of a ring; nothing of a ring authored elsewhere,
    /// whose slots it never hands out, so that its arithmetic says nothing of them.
    pub fn free(&self, dir: Dir) -> Option<u32> {
        self.decl.allocatable.then(|| self.sw(dir).free())
    }

    /// A queue before initialisation.
    pub fn new(decl: &QueueDecl) -> Queue {
        let sw = Dir::BOTH.map(|d| SwRing::new(decl.ring(d).map_or(0, |r| r.size)));
        let hw = Dir::BOTH.map(|d| HwRing {
            ring: RingDecl { base: 0, size: 0 },
            posted: 0,
            fetched: 0,
            visible: 0,
            retired: 0,
            ring_id: decl.start(d).ring_id,
            first: decl.start(d),
        });
        Queue {
            decl: *decl,
            ready: false,
            sw,
            hw,
            due: None,
            packet: super::device::Packet::default(),
            marker: decl.marker_area,
            batches: 0,
            begun: 0,
            ledger: Ledger::default(),
            bounds: Vector::new(),
            handles: [None; 3],
            stalled: None,
            faulted: None,
            owner: None,
            origins: Default::default(),
            flights: Vector::new(),
            earlier: [0; 2],
            tally: [Tally::default(); 2],
        }
    }

    /// Which one it is.
    pub fn id(&self) -> QueueId {
        self.decl.id
    }

    /// Driver cursors of a direction.
    pub fn sw(&self, dir: Dir) -> &SwRing {
        &self.sw[ix(dir)]
    }

    /// Engine view of a direction.
    pub fn hw(&self, dir: Dir) -> &HwRing {
        &self.hw[ix(dir)]
    }

    /// Engine view of a direction.
    pub fn hw_mut(&mut self, dir: Dir) -> &mut HwRing {
        &mut self.hw[ix(dir)]
    }

    /// The ring as the driver knows it: the declared base, the size of the last
    /// initialisation.
    pub fn ring(&self, dir: Dir) -> RingDecl {
        RingDecl {
            base: self.decl.ring(dir).map_or(0, |r| r.base),
            size: u64::from(self.sw(dir).size),
        }
    }

    /// Whether the engine is in the middle of a packet or has posted work on Tx.
    pub fn has_work(&self) -> bool {
        let tx = self.hw(Dir::Tx);
        !self.packet.is_empty() || !self.flights.is_empty() || tx.fetched < tx.posted
    }

    /// Whether the bytes of the k-th descriptor since reset are visible: of an Rx descriptor its
    /// own, of a Tx descriptor those of every Rx descriptor that its bytes reach.
    pub fn is_visible(&self, dir: Dir, k: u64) -> bool {
        let flight = || self.flights.binary_search_by(|f| f.place(dir, k)).ok();
        k < self.hw(dir).visible || flight().is_some_and(|i| self.flights[i].is_visible(dir, k))
    }

    /// Whether the slot taken last is one that the engine was told of and has not retired: the
    /// driver hands it out again after an ack of what was not done.
    pub fn overruns(&self, dir: Dir) -> bool {
        let (sw, hw) = (self.sw(dir), self.hw(dir));
        let before = sw.staged.checked_sub(u64::from(sw.size) + 1);
        before.is_some_and(|k| (hw.retired..hw.posted).contains(&k))
    }

    /// Whether one of the next `n` slots taken may be such a one.
    pub fn may_overrun(&self, dir: Dir, n: u64) -> bool {
        let (sw, hw) = (self.sw(dir), self.hw(dir));
        let end = (sw.staged + n).saturating_sub(u64::from(sw.size));
        let first = end.saturating_sub(n);
        first < hw.posted && hw.retired < end
    }

    /// Counts descriptors that were copied into slots `at ..`, which lie inside the ring. Each
    /// is taken for the next use of its slot that no doorbell has told of. Answers whether one
    /// of them lies on a slot that the engine has not retired.
    pub fn copied_in(&mut self, dir: Dir, at: u64, count: u64) -> bool {
        let hw = *self.hw(dir);
        let sw = &mut self.sw[ix(dir)];
        let size = u64::from(sw.size);
        if size == 0 || count == 0 {
            return false;
        }
        // Counted from the queue's first slot on; what goes around there is a second part.
        let from = (at + size - self.decl.start(dir).slot % size) % size;
        let first = count.min(size - from);
        let (posted, retired) = (hw.posted % size, hw.retired % size);
        let outstanding = (hw.posted - hw.retired).min(size);
        let mut overrun = false;
        for (from, len) in [(from, first), (0, count - first)] {
            if len == 0 {
                continue;
            }
            let end = if from < posted && posted < from + len {
                size
            } else {
                (from + size - posted) % size + len
            };
            sw.staged = sw.staged.max(hw.posted + end);
            let ahead = (from + size - retired) % size;
            overrun |= outstanding > 0 && (ahead < outstanding || ahead + len > size);
        }
        overrun
    }

    /// Remembers of what descriptors are made that were copied in, and forgets those that they
    /// lie upon.
    pub fn staged_from(&mut self, dir: Dir, run: StagedRun) {
        let size = u64::from(self.sw(dir).size);
        let end = run.first.saturating_add(run.count);
        let runs = &mut self.origins[ix(dir)];
        while runs.back().is_some_and(|r| r.first >= run.first) {
            runs.pop_back();
        }
        runs.push_back(run);
        while runs.front().is_some_and(|r| r.first + r.count + size <= end) {
            runs.pop_front();
        }
    }

    /// Of what the descriptor is made that lies in a slot; nothing where no sequencer put one
    /// there.
    pub fn origin(&self, dir: Dir, slot: u64) -> Option<Origin> {
        let size = u64::from(self.sw(dir).size);
        let runs = &self.origins[ix(dir)];
        let newest = runs.back()?;
        let last = (newest.first + newest.count).checked_sub(1)?;
        if slot >= size {
            return None;
        }
        // The newest that lies in this slot.
        let k = last.checked_sub((last % size + size - slot) % size)?;
        let at = match runs.binary_search_by_key(&k, |r| r.first) {
            Ok(at) => at,
            Err(at) => at.checked_sub(1)?,
        };
        let run = runs.get(at).filter(|r| k < r.first + r.count)?;
        run.batch.get((run.skip + (k - run.first)) as usize).copied()
    }

    /// Every slot that holds a descriptor of a sequencer, and of what it is made; each slot once.
    pub fn origins(&self, dir: Dir) -> impl Iterator<Item = (u64, Origin)> + '_ {
        let size = u64::from(self.sw(dir).size).max(1);
        let runs = &self.origins[ix(dir)];
        let end = runs.back().map_or(0, |r| r.first + r.count);
        let least = end.saturating_sub(size);
        let in_run = move |r: &StagedRun| {
            let from = r.first.max(least);
            let (r, to) = (r.clone(), r.first + r.count);
            (from..to).filter_map(move |k| {
                let o = r.batch.get((r.skip + (k - r.first)) as usize)?;
                Some((k % size, *o))
            })
        };
        runs.iter().flat_map(in_run)
    }

    /// The host has rung, whether or not the engine hears of it. RX is rung first and opens the
    /// batch.
    pub fn rung(&mut self, dir: Dir, count: u64) {
        match dir {
            Dir::Rx => self.batches += 1,
            Dir::Tx => self.ledger.ring(count, self.batches),
        }
    }

    /// Counts an event of its engine.
    pub(super) fn count(&mut self, kind: &EventKind) {
        let [tx, rx] = &mut self.tally;
        match *kind {
            EventKind::Fetch { dir, .. } => self.tally[ix(dir)].fetched += 1,
            EventKind::Read { .. } => tx.moved += 1,
            EventKind::Visible { .. } => rx.moved += 1,
            EventKind::Retire { tx: of_tx, rx: of_rx, .. } => {
                tx.retired += u64::from(of_tx.is_some());
                rx.retired += u64::from(of_rx.is_some());
            }
            EventKind::Stall { dir, .. } => self.tally[ix(dir)].stalls += 1,
            EventKind::Fault { dir, .. } => self.tally[ix(dir)].faults += 1,
            _ => {}
        }
    }

    /// Resets one direction in hardware.
    pub fn reset(&mut self, dir: Dir) {
        self.earlier[ix(dir)] += self.hw(dir).fetched;
        self.hw_mut(dir).reset();
        self.packet = super::device::Packet::default();
        self.flights.clear();
        self.due = None;
        self.stalled = None;
        self.faulted = None;
        self.bounds.clear();
        self.origins[ix(dir)].clear();
        // What was rung before is gone; nobody can wait for it.
        let done = self.batches;
        self.ledger = Ledger { done, ..Ledger::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_stamped_with_the_phase_before_the_wrap() {
        let mut r = SwRing::new(32);
        let taken: Vec<_> = (0..33).map(|_| r.take()).collect();
        assert_eq!(taken[31], (31, 1));
        assert_eq!(taken[32], (0, 2));
        assert_eq!((r.next_desc_idx, r.desc_ring_id), (1, 2));
    }

    #[test]
    fn the_newest_descriptor_of_a_slot_says_of_what_it_is_made() {
        use crate::bir::{Pos, exec::Item};
        let id = crate::engine::program::QueueId { engine: 0, queue: 0 };
        let ring = Some(RingDecl { base: 0, size: 32 });
        let mut q = Queue::new(&QueueDecl {
            id,
            tx: ring,
            rx: ring,
            allocatable: false,
            marker_area: 0,
            first: [Start::FRESH; 2],
        });
        let of = |n| Origin { inst: Pos(n), item: Item(0), block: None, descriptor: Some(0) };
        let batch: Arc<[Origin]> = (0..20).map(of).collect();
        let run = |first, count, skip| StagedRun { first, count, skip, batch: batch.clone() };
        assert_eq!(q.origin(Dir::Tx, 0), None);
        q.staged_from(Dir::Tx, run(0, 20, 0));
        q.staged_from(Dir::Tx, run(20, 12, 0));
        q.staged_from(Dir::Tx, run(32, 8, 12));
        let inst = |q: &Queue, slot| q.origin(Dir::Tx, slot).map(|o| o.inst.0);
        assert_eq!(inst(&q, 7), Some(19));
        assert_eq!(inst(&q, 8), Some(8));
        assert_eq!(inst(&q, 31), Some(11));
        assert_eq!(inst(&q, 32), None);
        assert_eq!(q.origin(Dir::Rx, 0), None);
        q.staged_from(Dir::Tx, run(40, 12, 0));
        assert_eq!((q.origins[0].len(), inst(&q, 8), inst(&q, 0)), (3, Some(0), Some(12)));
        q.reset(Dir::Tx);
        assert_eq!(inst(&q, 8), None);
    }

    #[test]
    fn ack_is_unchecked_and_wraps_in_32_bits() {
        let p = Profile::default_profile();
        let mut r = SwRing::new(64);
        r.next_cdesc_idx = 10;
        assert_eq!(r.ack(u32::MAX, p), Ok(()));
        assert_eq!(r.next_cdesc_idx, 9);
        assert_eq!(SwRing::new(96).ack(1, p), Err(Ret::Code(-1)));
    }
}
