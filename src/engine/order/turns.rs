//! A queue that serves several sequencers, one after the other (`docs/order.md`, "Queues that
//! several engines use").
//!
//! Who comes first is open, so that what a queue did for one of them says nothing of what it did
//! for another: for the rules of order it is as many queues as there are sequencers that use it.
//! Only its own memory, rings and marker, is handed on in good order: who takes the queue comes
//! after all that was done there before.

use super::table::NONE;
use crate::engine::program::Program;
use crate::udma::DESC_BYTES;
use std::collections::BTreeMap;

/// Bytes of a marker: its two words.
const MARKER_BYTES: u64 = 8;

/// Who has each queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns {
    queues: Vec<Turn>,
    /// By queue and CPU agent.
    chains: BTreeMap<(u32, u32), u32>,
    next: u32,
    /// The memory of queues: first byte, one behind the last, queue.
    own: Vec<(u64, u64, u32)>,
}

#[derive(Debug, Clone, Copy)]
struct Turn {
    /// What it is for the rules of order.
    chain: u32,
    /// The CPU agent that has it; nothing where none has had it.
    holder: u32,
    /// The first access of this turn.
    since: u32,
}

impl Turns {
    /// Before the first one.
    pub fn new(p: &Program) -> Turns {
        let n = p.queues.len() as u32;
        let mut own = Vec::new();
        // Rings without a module have one host.
        for (queue, q) in (0u32..).zip(p.queues.iter().filter(|_| p.module.is_some())) {
            let rings = [q.tx, q.rx].into_iter().flatten();
            own.extend(rings.map(|r| (r.base, r.size.saturating_mul(DESC_BYTES as u64), queue)));
            own.push((q.marker_area, MARKER_BYTES, queue));
        }
        own.iter_mut().for_each(|o| o.1 = o.0.saturating_add(o.1));
        own.sort_unstable();
        let queues = (0..n).map(|chain| Turn { chain, holder: NONE, since: 0 }).collect();
        Turns { queues, chains: BTreeMap::new(), next: n, own }
    }

    /// What a queue is for the rules of order now.
    pub fn chain(&self, queue: u32) -> u32 {
        self.queues.get(queue as usize).map_or(queue, |t| t.chain)
    }

    /// A CPU agent puts something into a queue; `now` accesses were made before.
    pub fn take(&mut self, queue: u32, cpu: u32, now: u32) {
        let Some(turn) = self.queues.get_mut(queue as usize) else { return };
        if turn.holder == cpu {
            return;
        }
        if turn.holder == NONE {
            self.chains.insert((queue, cpu), turn.chain);
        } else {
            turn.since = now;
            turn.chain = *self.chains.entry((queue, cpu)).or_insert(self.next);
            self.next = self.next.max(turn.chain + 1);
        }
        turn.holder = cpu;
    }

    /// Where a new access is one to the memory of its queue (or of the marker, which names
    /// none): the queue, and the first access of its turn.
    pub fn of_memory(&self, addr: u64, queue: u32) -> Option<(u32, u32)> {
        let at = self.own.partition_point(|o| o.0 <= addr).checked_sub(1)?;
        let &(_, end, own) = self.own.get(at)?;
        let fits = addr < end && (queue == own || queue == NONE);
        let turn = self.queues.get(own as usize)?;
        fits.then_some((own, turn.since))
    }
}
