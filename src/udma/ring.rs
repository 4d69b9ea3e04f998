//! Ring arithmetic: free slots, phases, rounding, what sizes are legal (`docs/rings.md`).

use crate::limits::{MAX_RING_DESCS, MIN_RING_DESCS};

/// Slots just before `next_cdesc_idx` that are never handed out.
pub const GUARD_GAP: u32 = 16;
/// Alignment of a ring's base address, bytes.
pub const RING_ALIGN: u64 = 256;
/// The phase with which a fresh ring starts.
pub const INITIAL_RING_ID: u8 = 1;
/// Phases count modulo four.
pub const RING_ID_MASK: u8 = 3;

/// Descriptors that a ring gets when `asked` are asked for: 64 below 32, else the next power
/// of two that holds `asked + 16`, in 32-bit arithmetic (which wraps: `u32::MAX` gives 16).
pub fn round_count(asked: u32) -> u32 {
    if asked < 32 {
        return 64;
    }
    // Next power of two, 0 when it does not fit, as a 32-bit round-up does.
    match asked.wrapping_add(GUARD_GAP) {
        0 => 0,
        n => n.checked_next_power_of_two().unwrap_or(0),
    }
}

/// Free slots of a ring of `size` (a power of two) with these cursors. Wraps to a large
/// number past the guard gap, as the driver's own arithmetic does.
pub fn free_slots(size: u32, next_desc_idx: u32, next_cdesc_idx: u32) -> u32 {
    next_cdesc_idx.wrapping_sub(next_desc_idx.wrapping_add(GUARD_GAP)) & size.wrapping_sub(1)
}

/// The phase after `id`.
pub fn next_ring_id(id: u8) -> u8 {
    id.wrapping_add(1) & RING_ID_MASK
}

/// The phase of a ring's lap, counted from 0.
pub fn ring_id_of_lap(lap: u64) -> u8 {
    ((lap & u64::from(RING_ID_MASK)) as u8).wrapping_add(INITIAL_RING_ID) & RING_ID_MASK
}

/// The producer's cursor and phase after it took a slot at `next_desc_idx`, whose own phase is
/// `ring_id`: the phase moves on when the cursor has come round to 0.
pub fn take_slot(size: u32, next_desc_idx: u32, ring_id: u8) -> (u32, u8) {
    match next_desc_idx.wrapping_add(1) {
        next if next < size => (next, ring_id),
        _ => (0, next_ring_id(ring_id)),
    }
}

/// Whether `slot` of a ring of `size` is one of the sixteen just before `next_cdesc_idx`.
pub fn is_guard(size: u64, next_cdesc_idx: u64, slot: u64) -> bool {
    size != 0 && (next_cdesc_idx + size - 1 - slot) % size < u64::from(GUARD_GAP)
}

/// Why a ring cannot be initialised, in the order in which the driver looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// The base is not a multiple of 256 bytes.
    #[error("ring base {0:#x} is not aligned to 256 bytes")]
    BaseAlignment(u64),
    /// The ring's end is not aligned either: the size is no multiple of 16.
    #[error("ring size {0} is not a multiple of 16 descriptors")]
    SizeAlignment(u64),
    /// Below 32 or above 2^24 - 16.
    #[error("ring size {0} is outside 32 .. 16777200")]
    SizeRange(u64),
}

impl RingError {
    /// What the driver's queue initialisation returns for it.
    pub fn errno(self) -> i64 {
        match self {
            RingError::BaseAlignment(_) | RingError::SizeAlignment(_) => -1,
            RingError::SizeRange(_) => -22,
        }
    }
}

/// Checks base and size of one ring: alignment first (both of its ends), then the range.
///
/// # Errors
/// The first of the three that applies.
pub fn check_ring(base: u64, size: u64) -> Result<(), RingError> {
    if !base.is_multiple_of(RING_ALIGN) {
        return Err(RingError::BaseAlignment(base));
    }
    if !size.is_multiple_of(16) {
        return Err(RingError::SizeAlignment(size));
    }
    check_range(size)
}

/// Checks a ring's size against the legal range only.
///
/// # Errors
/// [`RingError::SizeRange`].
pub fn check_range(size: u64) -> Result<(), RingError> {
    if (MIN_RING_DESCS..=MAX_RING_DESCS).contains(&size) {
        Ok(())
    } else {
        Err(RingError::SizeRange(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_the_drivers_with_its_wrap() {
        for (asked, got) in [
            (0, 64),
            (31, 64),
            (32, 64),
            (48, 64),
            (49, 128),
            (4080, 4096),
            (4081, 8192),
            (4096, 8192),
            (4_294_967_280, 0),
            (u32::MAX, 16),
        ] {
            assert_eq!(round_count(asked), got, "{asked}");
        }
    }

    #[test]
    fn a_fresh_ring_offers_all_but_sixteen() {
        assert_eq!(free_slots(64, 0, 0), 48);
        assert_eq!(free_slots(32, 16, 0), 0);
        assert_eq!(free_slots(64, 0, 3), 51);
    }

    #[test]
    fn guard_is_the_sixteen_before_the_ack_cursor() {
        let guard: Vec<u64> = (0..64).filter(|&s| is_guard(64, 3, s)).collect();
        assert_eq!(guard, [(0..3).collect::<Vec<_>>(), (51..64).collect()].concat());
    }

    #[test]
    fn the_phase_moves_with_the_slot_after_the_wrap() {
        assert_eq!(take_slot(64, 62, 3), (63, 3));
        assert_eq!(take_slot(64, 63, 3), (0, 0));
    }

    #[test]
    fn ring_ids_go_round() {
        let ids: Vec<u8> = std::iter::successors(Some(INITIAL_RING_ID), |&i| Some(next_ring_id(i)))
            .take(5)
            .collect();
        assert_eq!(ids, [1, 2, 3, 0, 1]);
    }
}
