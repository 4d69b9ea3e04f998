//! What all slots of a chunk have in common, found a line of the cache at a time.
//!
//! A line holds eight words of 64 bits: four slots, or two pairs of rings that lie in turn. All
//! of them go through the same operations, side by side in registers as wide as the processor
//! has (chosen when the program runs; the answer does not depend on it). What an operation says of
//! a word that it is not meant for is left out at the end.
//!
//! The plain twins go slot by slot: [`Seen::plainly`], [`Beside::plainly`]. Tests compare them.

use super::pairs::MARKER_BYTES;
use crate::udma::describe::named;
use crate::udma::lanes::{LINE, load};
use crate::udma::{Rows, View};
use fearless_simd::{Level, Simd, dispatch, prelude::*, u64x8};

/// Words of a line.
const WORDS: usize = LINE / 8;

/// The length of a descriptor in its first 64 bits, in both rings.
pub(super) const LENGTH: u64 = named(View::Tx, "length").mask();

/// An address bit that two neighbours do not differ in and still share bytes.
const FAR: u64 = 1 << 63;

/// Bytes of a descriptor less one.
#[inline(always)]
pub(super) fn less_one(word: u64) -> u64 {
    word.wrapping_sub(1) & LENGTH
}

/// What was seen of the slots of one ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Bits in which a slot differs from the first one: of its first 64 bits, of its address.
    pub differ: [u64; 2],
    /// Bytes of the descriptors.
    pub bytes: u64,
    /// No two neighbours share a byte, nor begin at the same one.
    pub apart: bool,
    /// An address is zero but for the host window's bits.
    pub null: bool,
}

impl Seen {
    /// Of no slots.
    const NONE: Seen = Seen { differ: [0; 2], bytes: 0, apart: true, null: false };

    /// Slot by slot; `host` is where the host window begins.
    pub fn plainly(rows: Rows<'_>, host: u64) -> Seen {
        let mut seen = Seen::NONE;
        let Some((low, first)) = rows.first_words() else { return seen };
        let mut before: Option<(u64, u64)> = None;
        rows.each(|w, ptr| {
            let now = less_one(w);
            seen.differ[0] |= w ^ low;
            seen.differ[1] |= ptr ^ first;
            seen.bytes += now + 1;
            seen.null |= ptr & !host == 0;
            if let Some((last, length)) = before.replace((ptr, now)) {
                seen.apart &= ptr.wrapping_sub(last) > length && last.wrapping_sub(ptr) > now;
            }
        });
        seen
    }
}

/// What was seen of the slots of two rings beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beside {
    /// Bits in which the lengths of a pair differ.
    pub lengths: u64,
    /// The source of a pair lies a marker behind its destination.
    pub swapped: bool,
}

impl Beside {
    /// Pair by pair, as far as both go.
    pub fn plainly(tx: Rows<'_>, rx: Rows<'_>) -> Beside {
        let mut beside = Beside { lengths: 0, swapped: false };
        tx.zip(rx, |(a, src), (b, dst)| {
            beside.lengths |= (a ^ b) & LENGTH;
            beside.swapped |= src.wrapping_sub(dst) == MARKER_BYTES;
        });
        beside
    }
}

/// How wide the registers are.
pub fn level() -> Level {
    Level::new()
}

/// Every width that this processor has, the widest first.
pub fn levels() -> Vec<Level> {
    let best = Level::new();
    let mut all = vec![best];
    #[cfg(target_arch = "x86_64")]
    {
        all.extend(best.as_avx2().map(|l| l.level()));
        all.extend(best.as_sse4_2().map(|l| l.level()));
        all.extend(best.as_sse2().map(|l| l.level()));
    }
    all
}

/// Looks at the slots of both rings, with the host window from `host` on; at both beside each
/// other where that costs nothing.
pub fn look(level: Level, rows: [Option<Rows<'_>>; 2], host: u64) -> ([Seen; 2], Option<Beside>) {
    if let [Some(tx), Some(rx)] = rows
        && let Some(lines) = tx.lines_in_turn(rx)
        && let (Some(a), Some(b)) = (tx.first_words(), rx.first_words())
    {
        let like = [a.0, a.1, b.0, b.1, a.0, a.1, b.0, b.1];
        let sums = dispatch!(level, s => sum::<_, 4, true>(s, lines, like, host));
        let of = |at: [usize; 2]| sums.seen(&at, 2 * lines.len() as u64);
        return ([of([0, 4]), of([2, 6])], Some(sums.beside(&[0, 4])));
    }
    (rows.map(|rows| rows.map_or(Seen::NONE, |rows| seen(level, rows, host))), None)
}

/// Looks at the slots of one ring.
fn seen(level: Level, rows: Rows<'_>, host: u64) -> Seen {
    let Some((lines, (w, p))) = rows.lines().zip(rows.first_words()) else {
        return Seen::plainly(rows, host);
    };
    let like = [w, p, w, p, w, p, w, p];
    let sums = dispatch!(level, s => sum::<_, 6, false>(s, lines, like, host));
    sums.seen(&[0, 2, 4, 6], 4 * lines.len() as u64)
}

/// Looks at two rings beside each other.
pub fn beside(level: Level, tx: Rows<'_>, rx: Rows<'_>) -> Beside {
    match (tx.lines(), rx.lines()) {
        (Some(a), Some(b)) if a.len() == b.len() => {
            dispatch!(level, s => compare(s, a, b)).beside(&[0, 2, 4, 6])
        }
        _ => Beside::plainly(tx, rx),
    }
}

/// What was gathered of each word of a line.
#[derive(Clone, Copy, Default)]
struct Sums {
    differ: [u64; WORDS],
    less: [u64; WORDS],
    /// Bit 63: apart.
    apart: [u64; WORDS],
    unlike: [u64; WORDS],
    /// A bit a word.
    swapped: u64,
    /// A bit a word.
    null: u64,
}

impl Sums {
    /// Of the slots that begin at these words.
    #[inline(always)]
    fn seen(&self, at: &[usize], slots: u64) -> Seen {
        let mut seen = Seen { bytes: slots, ..Seen::NONE };
        for &i in at {
            seen.differ[0] |= self.differ[i];
            seen.differ[1] |= self.differ[i + 1];
            seen.bytes += self.less[i];
            seen.apart &= self.apart[i + 1] & FAR != 0;
            seen.null |= self.null >> (i + 1) & 1 != 0;
        }
        seen
    }

    /// Of the pairs whose Tx begins at these words.
    #[inline(always)]
    fn beside(&self, at: &[usize]) -> Beside {
        let mut beside = Beside { lengths: 0, swapped: false };
        for &i in at {
            beside.lengths |= self.unlike[i] & LENGTH;
            beside.swapped |= self.swapped >> (i + 1) & 1 != 0;
        }
        beside
    }
}

/// Goes over lines. The slot before one in its ring lies `WORDS - BACK` words before it; in
/// `PAIRS` its partner lies two behind it. `like` is a line of first slots.
#[inline(always)]
fn sum<S: Simd, const BACK: usize, const PAIRS: bool>(
    s: S,
    lines: &[[u8; LINE]],
    like: [u64; WORDS],
    host: u64,
) -> Sums {
    let none = u64x8::splat(s, 0);
    let one = u64x8::splat(s, 1);
    let length = u64x8::splat(s, LENGTH);
    let marker = u64x8::splat(s, MARKER_BYTES);
    let like = u64x8::simd_from(s, like);
    let (mut differ, mut less, mut unlike, mut apart) = (none, none, none, !none);
    let (bare, mut swapped) = (u64x8::splat(s, !host), one.simd_eq(none));
    let mut null = swapped;
    // Before the first slot comes one that is far from it.
    let mut before = like ^ u64x8::splat(s, FAR);
    let mut length_before = none;
    for line in lines {
        let v = load(s, line);
        differ |= v ^ like;
        null |= (v & bare).simd_eq(none);
        let l = (v - one) & length;
        less += l;
        if PAIRS {
            let partner = v.slide::<2>(v);
            unlike |= v ^ partner;
            swapped |= (v - partner).simd_eq(marker);
        }
        // Beside its address, the length of each slot, and of the slot before it.
        let now = l.slide_within_blocks::<1>(l);
        let then = length_before.slide::<BACK>(now);
        let last = before.slide::<BACK>(v);
        // They share a byte, or begin at the same one, where the address is from `now` before the
        // last one to `then` behind it: neither of these is negative then.
        let behind = v - last + now;
        apart &= (now + then - behind) | behind;
        (before, length_before) = (v, now);
    }
    Sums {
        differ: differ.into(),
        less: less.into(),
        apart: apart.into(),
        unlike: unlike.into(),
        swapped: swapped.to_bitmask(),
        null: null.to_bitmask(),
    }
}

/// Goes over the lines of two rings.
#[inline(always)]
fn compare<S: Simd>(s: S, tx: &[[u8; LINE]], rx: &[[u8; LINE]]) -> Sums {
    let marker = u64x8::splat(s, MARKER_BYTES);
    let mut unlike = u64x8::splat(s, 0);
    let mut swapped = marker.simd_eq(unlike);
    for (a, b) in tx.iter().zip(rx) {
        let (a, b) = (load(s, a), load(s, b));
        unlike |= a ^ b;
        swapped |= (a - b).simd_eq(marker);
    }
    Sums { unlike: unlike.into(), swapped: swapped.to_bitmask(), ..Sums::default() }
}

#[cfg(test)]
#[path = "wide_tests.rs"]
mod tests;
