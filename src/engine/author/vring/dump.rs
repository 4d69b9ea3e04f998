//! From a virtual ring to the slots of a physical one.

use super::super::stamp;
use super::{Target, Vring, VringError, signal};
use crate::limits::MAX_RING_DESCS;
use crate::udma::ring::next_ring_id;
use crate::udma::{Desc, Dir};
use std::ops::Range;

/// A part of a virtual ring that is rung at once: whole packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Its Tx descriptors.
    pub tx: Range<u64>,
    /// Its Rx descriptors.
    pub rx: Range<u64>,
}

impl Vring {
    /// One direction as it goes into a ring: the descriptors in order, self-copies of four
    /// bytes, and the completion pair's half as the last. MODEL: padding copies the marker's
    /// word +0 onto itself, and comes before the completion pair, so that the marker stays the
    /// last thing written. Phases are not stamped; see [`phased`].
    ///
    /// # Errors
    /// More descriptors than `padded_size`, both numbers named; a size beyond any ring's.
    pub fn dump(
        &self,
        dir: Dir,
        padded_size: u64,
        marker: u64,
        target: &Target,
    ) -> Result<Vec<Desc>, VringError> {
        let whole = Batch { tx: 0..self.half(Dir::Tx).len(), rx: 0..self.half(Dir::Rx).len() };
        self.dump_batch(&whole, dir, padded_size, marker, target)
    }

    /// One direction of a batch, as [`Vring::dump`].
    ///
    /// # Errors
    /// As there.
    pub fn dump_batch(
        &self,
        batch: &Batch,
        dir: Dir,
        padded_size: u64,
        marker: u64,
        target: &Target,
    ) -> Result<Vec<Desc>, VringError> {
        let range = if dir == Dir::Tx { batch.tx.clone() } else { batch.rx.clone() };
        let count = range.end.saturating_sub(range.start) + 1;
        if padded_size < count {
            return Err(VringError::Padding { count, padded_size });
        }
        if padded_size > MAX_RING_DESCS {
            return Err(VringError::Full { have: count, more: padded_size - count });
        }
        let half = self.half(dir);
        let one = |pair: (Desc, Desc)| if dir == Dir::Tx { pair.0 } else { pair.1 };
        let pad = one(signal(marker, marker, target)?);
        let end = one(signal(marker, marker.wrapping_add(4), target)?);
        let mut out: Vec<Desc> = range.filter_map(|i| half.get(i)).collect();
        out.resize(padded_size.saturating_sub(1) as usize, pad);
        out.push(end);
        Ok(out)
    }

    /// The padded sizes (Tx, Rx) of a batch whose larger half is padded to `padded_size`. Each
    /// padding is a pair, so that both halves get equally many.
    ///
    /// # Errors
    /// More descriptors than `padded_size`, both numbers named.
    pub fn padded_sizes(&self, batch: &Batch, padded_size: u64) -> Result<(u64, u64), VringError> {
        let count = |r: &Range<u64>| r.end.saturating_sub(r.start) + 1;
        let (tx, rx) = (count(&batch.tx), count(&batch.rx));
        let larger = tx.max(rx);
        let pads = padded_size
            .checked_sub(larger)
            .ok_or(VringError::Padding { count: larger, padded_size })?;
        Ok((tx + pads, rx + pads))
    }

    /// Cuts the ring into batches of at most `most` descriptors a direction, the completion
    /// pair not counted; no packet lies in two.
    ///
    /// # Errors
    /// A packet is larger than that.
    pub fn batches(&self, most: u64) -> Result<Vec<Batch>, VringError> {
        let tx = self.half(Dir::Tx);
        let mut out: Vec<Batch> = Vec::new();
        let (mut packet, mut at) = ((0, 0), (0, 0));
        for &(t, r) in &self.ends {
            let end = (u64::from(t), u64::from(r));
            // A packet goes on where the next descriptor is no first one.
            let ends = (end.0..tx.len())
                .filter_map(|i| tx.get(i))
                .find(|d| !d.is_meta())
                .is_none_or(Desc::first);
            if !ends {
                continue;
            }
            let size = (end.0 - packet.0).max(end.1 - packet.1);
            if size > most {
                return Err(VringError::Batch { packet: size, batch: most });
            }
            if (end.0 - at.0).max(end.1 - at.1) > most {
                out.push(Batch { tx: at.0..packet.0, rx: at.1..packet.1 });
                at = packet;
            }
            packet = end;
        }
        if packet != at {
            out.push(Batch { tx: at.0..packet.0, rx: at.1..packet.1 });
        }
        Ok(out)
    }
}

/// Descriptors with the phases of a ring of `size` slots, the first of them going into slot
/// `at` with phase `ring_id`.
pub fn phased(
    descs: &[Desc],
    dir: Dir,
    size: u64,
    at: u64,
    ring_id: u8,
) -> impl Iterator<Item = Desc> + '_ {
    let (mut slot, mut phase) = (at, ring_id);
    descs.iter().map(move |d| {
        let out = stamp(*d, dir, phase);
        slot += 1;
        if slot >= size {
            slot = 0;
            phase = next_ring_id(phase);
        }
        out
    })
}
