//! How far a leap may go before it comes to an address that somebody asks about.
//!
//! A leap that passes over an event that may matter is taken back and made anew, shorter. Where
//! an address is written once in each lap of a ring, most leaps would be: so the place of its
//! next write is guessed, from where the regular work stands. Only a guess: what a leap did is
//! looked at all the same.

use super::super::host::Frame;
use super::super::machine::Machine;
use super::PAIR_EVENTS;
use crate::udma::{DESC_BYTES, Dir};

/// Bytes of the first word of a marker, behind which the polled one lies.
const WORD: u64 = 4;

impl Machine {
    /// The last event of the regular work under way that probably leaves the byte at `at` as it
    /// is: the present one where the next one writes it. Nothing where the work does not seem to
    /// come to it.
    pub(in crate::engine) fn untouched_to(&self, at: u64) -> Option<u64> {
        let Some((i, _)) = self.due() else {
            let Some(Frame::Copy(copy)) = self.host.stack.last() else { return None };
            let q = self.queue(copy.regular().0).filter(|_| copy.is_staging())?;
            return Dir::BOTH.into_iter().find_map(|dir| {
                let (ring, sw) = (q.ring(dir), q.sw(dir));
                let slot = at.checked_sub(ring.base)? / DESC_BYTES as u64;
                let next = u64::from(sw.next_desc_idx);
                // One event a pair, from the next slot on.
                (slot < ring.size).then(|| self.n + (slot + ring.size - next) % ring.size)
            });
        };
        let q = self.queues.get(i)?;
        let polled = at.checked_sub(q.marker.checked_add(WORD)?).is_some_and(|o| o < WORD);
        let tx = q.hw(Dir::Tx);
        // The pair that writes the marker is the last that was posted.
        let before = tx.posted.checked_sub(tx.retired)?.checked_sub(1)?;
        polled.then(|| self.n.saturating_add(before.saturating_mul(PAIR_EVENTS)))
    }
}
