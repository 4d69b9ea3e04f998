//! What the run shows to be probably not meant, beside the faults of the engine and the answers
//! of the driver (`docs/checks.md`, "In a run").
//!
//! Each function looks at a state and answers what to say; [`Machine`] calls them where the
//! thing happens, so that a finding stands at its event.

use super::machine::Machine;
use super::queue::Queue;
use crate::diag::{Diagnostic, Place, Severity, SlotRef};
use crate::engine::program::{Fill, Program};
use crate::udma::profile::{MARKER, WaitBudget, WaitKind};
use crate::udma::{DESC_BYTES, Desc, Dir, count_of};

/// Bytes of a marker word.
const WORD: u64 = 4;
/// Retired descriptors that are looked at for the one that should have written the marker.
const LOOKED_BACK: u64 = 64;

fn place(q: &Queue, dir: Dir, index: u64) -> Place {
    Place::slot(SlotRef { queue: Some((q.id().engine, q.id().queue)), dir, index })
}

/// The k-th descriptor of a ring is fetched: whether anybody wrote it for this lap.
pub(super) fn stale(q: &Queue, dir: Dir, k: u64, slot: u64, desc: Desc) -> Option<Diagnostic> {
    let staged = q.sw(dir).staged;
    if k < staged {
        return None;
    }
    let what = if desc.is_zero() {
        "it holds zeroes".to_owned()
    } else {
        format!("it holds a descriptor of phase {} from before", desc.ring_id())
    };
    let text = format!("nobody wrote this slot for its lap ({staged} were written): {what}");
    Some(Diagnostic::new("R050", text).at(place(q, dir, slot)))
}

/// A doorbell was rung: whether the ring is now as full as it can be.
pub(super) fn full(q: &Queue, dir: Dir) -> Option<Diagnostic> {
    let hw = q.hw(dir);
    let size = hw.ring.size;
    if size == 0 || hw.posted - hw.retired != size {
        return None;
    }
    let slot = hw.slot(hw.posted);
    let text = format!(
        "all {size_slots} are outstanding: head and tail are both {slot}, as in an empty ring",
        size_slots = count_of(size, "slot")
    );
    Some(guess(q, Diagnostic::new("R051", text).at(place(q, dir, slot))))
}

/// As many descriptors are acked as the ring has slots.
pub(super) fn acked_all(q: &Queue, dir: Dir, count: u32) -> Option<Diagnostic> {
    let size = q.sw(dir).size;
    // A ring authored elsewhere is armed and acked as a whole.
    if count == 0 || count != size || !q.decl.allocatable {
        return None;
    }
    let text = format!("an ack of {count} in a ring of {size} moves next_cdesc_idx by nothing");
    Some(Diagnostic::new("R051", text))
}

/// A ring authored elsewhere may be armed as a whole: its author knows what is in it.
fn guess(q: &Queue, d: Diagnostic) -> Diagnostic {
    if q.decl.allocatable { d } else { d.severity(Severity::Note) }
}

/// Descriptors are copied to `at`: whether that is the next slot by the other ring's size.
pub(super) fn other_mask(q: &Queue, dir: Dir, at: u64) -> Option<Diagnostic> {
    let other = dir.other();
    let (own, others) = (u64::from(q.sw(dir).size), u64::from(q.sw(other).size));
    let begun = q.decl.start(dir).slot.saturating_add(q.sw(dir).staged);
    let next = begun.checked_rem(own)?;
    let wrong = begun.checked_rem(others)?;
    // What waits for its doorbell may be written over as its author likes.
    let waiting = q.sw(dir).staged > q.hw(dir).posted;
    if q.sw(dir).staged == 0 || waiting || own == others || at == next || at != wrong {
        return None;
    }
    let text = format!(
        "the next slot of this ring of {own} is {next}; {at} is next by the {others_slots} of \
         {other}",
        others_slots = count_of(others, "slot")
    );
    Some(Diagnostic::new("R052", text).at(place(q, dir, at)))
}

/// Bytes that begin in one region and end in another. Regions of unknown content are made from
/// the addresses of descriptors: where one ends says nothing.
pub(super) fn crosses(
    p: &Program,
    q: &Queue,
    at: (Dir, u64),
    addr: u64,
    len: u64,
) -> Option<Diagnostic> {
    let first = p.region_at(addr)?;
    let end = addr.checked_add(len.checked_sub(1)?)?;
    if first.contains(end) {
        return None;
    }
    let last = p.region_at(end)?;
    if first.fill == Fill::Unknown || last.fill == Fill::Unknown {
        return None;
    }
    let left = first.len - (addr - first.base);
    let text = format!(
        "{len_bytes} from {} on: {left} are left in `{}`, the rest lies in `{}`",
        p.name_addr(addr),
        first.name,
        last.name,
        len_bytes = count_of(len, "byte")
    );
    Some(Diagnostic::new("R053", text).at(place(q, at.0, at.1)))
}

/// A wait for so many descriptors, marker included: whether its times wrap. Those of a wait
/// inside the device wrap as well, but come out short.
pub(super) fn wait_wraps(count: u32, kind: WaitKind, budget: WaitBudget) -> Option<Diagnostic> {
    if count >= 2 || kind == WaitKind::IntraDevice {
        return None;
    }
    let text = format!(
        "a wait for {descriptors} wraps 64-bit arithmetic: the first delay is {} us, then {reads} \
         at most",
        budget.delay_us,
        reads = count_of(budget.max_reads, "read"),
        descriptors = count_of(count, "descriptor")
    );
    Some(Diagnostic::new("R056", text))
}

/// A ring base is written to the engine: whether its low bits are lost.
pub(super) fn base(q: &Queue, dir: Dir, value: u32) -> Option<Diagnostic> {
    let align = crate::udma::ring::RING_ALIGN as u32;
    let lost = value % align;
    (lost != 0).then(|| {
        let text = format!(
            "the {dir} ring base ends in {lost:#x}; a base is a multiple of {align_bytes}",
            align_bytes = count_of(align, "byte")
        );
        Diagnostic::new("R055", text).at(place(q, dir, 0))
    })
}

impl Machine {
    /// An Rx descriptor of a completion pair was fetched: whether the polled word holds the
    /// marker already, so that a poll does not wait for this pair.
    pub(super) fn marker_is_set(&self, i: usize, slot: u64, rx: Desc) -> Option<Diagnostic> {
        let q = &self.queues[i];
        let tx = q.packet.tx.last().filter(|_| q.packet.tx.len() == 1)?.desc;
        let pair = tx.length() == WORD
            && rx.length() == WORD
            && tx.ptr.checked_add(WORD) == Some(rx.ptr)
            && self.memory.outside(rx.ptr, WORD).is_none();
        if !pair || self.memory.read_u32(rx.ptr) != MARKER {
            return None;
        }
        let text = format!(
            "the marker word at {:#x} holds {MARKER:#010x} before its pair is executed: a poll \
             does not wait for it",
            rx.ptr
        );
        Some(Diagnostic::new("R016", text).at(place(q, Dir::Rx, slot)))
    }

    /// A wait for the word at `polled` ran out: where all that was posted is done, why the
    /// marker is not there.
    pub(super) fn never_seen(&self, i: usize, polled: u64) -> Option<Diagnostic> {
        let q = &self.queues[i];
        let hw = q.hw(Dir::Rx);
        let done = hw.retired > 0 && !q.has_work() && hw.retired == hw.posted;
        if !done || polled == 0 || self.aborted.contains(&q.id().engine) {
            return None;
        }
        let read = |k: u64| {
            let slot = hw.slot(k);
            let mut bytes = [0; DESC_BYTES];
            self.memory.read(hw.ring.slot_addr(slot), &mut bytes);
            (slot, Desc::from_bytes(&bytes))
        };
        let held = self.memory.read_u32(polled);
        let head = format!("everything posted is done, but the polled word at {polled:#x}");
        // What is acked belongs to a batch before.
        let oldest = hw.retired.saturating_sub(LOOKED_BACK.min(hw.ring.size));
        let back = (oldest.max(q.sw(Dir::Rx).acked)..hw.retired).rev();
        let wrote = back.map(read).find(|(_, d)| d.ptr <= polled && polled - d.ptr < d.length());
        let (slot, why) = match wrote {
            Some((slot, _)) => {
                (slot, format!("was written by rx[{slot}] with {held:#010x}, which is no marker"))
            }
            None => {
                let (slot, last) = read(hw.retired - 1);
                let what = format!(
                    "the last descriptor, rx[{slot}], writes {} to {:#x}",
                    count_of(last.length(), "byte"),
                    last.ptr
                );
                (slot, format!("was not written ({held:#010x}): {what}"))
            }
        };
        Some(Diagnostic::new("R054", format!("{head} {why}")).at(place(q, Dir::Rx, slot)))
    }
}
