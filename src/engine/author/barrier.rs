//! Where barriers go (`docs/wire.md`, "Ordering"; `docs/author.md`, "Barriers").

use super::interval::Intervals;
use super::{DMB, Packet, STRONG_ORDER, Target, WRITE_BARRIER};
use crate::udma::{Barrier, Generation, Profile};

/// Sets DMB on the first Tx data descriptor of every packet that reads bytes which an earlier
/// packet of the batch writes (MODEL). One DMB also orders all later reads after the writes
/// before it, so that those need none of their own.
pub fn order_batch(packets: &mut [Packet]) {
    let mut written = Intervals::default();
    for p in packets {
        if p.reads().any(|(at, len)| written.hits(at, len)) {
            if let Some(d) = p.tx.iter_mut().find(|d| !d.is_meta()) {
                d.len_ctrl |= DMB;
            }
            written.clear();
        }
        for (at, len) in p.writes() {
            written.add(at, len);
        }
    }
}

/// The barrier that ends what user space authors: SOW where the profile takes it, else DMB.
pub fn batch_barrier(profile: &Profile, arch: Generation) -> Barrier {
    if !profile.kernel && profile.accepts(Barrier::StrongOrderWrite, arch) {
        Barrier::StrongOrderWrite
    } else {
        Barrier::Dmb
    }
}

/// The barrier on the last data descriptor of a batch, behind which the marker stays: the
/// chunked copy's under a kernel profile, the builder's under a user-space one.
pub fn final_barrier(profile: &Profile, arch: Generation) -> Barrier {
    if profile.kernel { profile.chunk_barrier(true) } else { batch_barrier(profile, arch) }
}

/// Puts [`final_barrier`] on the last packet of a batch.
pub fn close_batch(packets: &mut [Packet], target: &Target) {
    let Some(p) = packets.last_mut() else { return };
    match final_barrier(target.profile, target.arch) {
        Barrier::None => {}
        Barrier::Dmb => {
            if let Some(d) = p.tx.last_mut() {
                d.len_ctrl |= DMB;
            }
        }
        Barrier::WriteBarrier => {
            if let Some(d) = p.tx.last_mut() {
                d.word1 |= WRITE_BARRIER;
            }
        }
        Barrier::StrongOrderWrite => {
            if let Some(d) = p.rx.last_mut() {
                d.len_ctrl |= STRONG_ORDER;
            }
        }
    }
}
