//! Slots of a ring where they lie in an image.

use super::desc::{DESC_BYTES, Desc};
use fearless_simd::{Simd, prelude::*, u8x64, u64x8};

/// Bytes of a line of the cache, and of what is looked at at once. Nothing asks that they begin
/// where lines of the cache do.
pub const LINE: usize = 64;

/// Whether eight bytes as they lie are the word that they say.
const AS_THEY_LIE: bool = cfg!(target_endian = "little");

/// Slots where they lie, and how many apart those of one ring are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rows<'a> {
    slots: &'a [[u8; DESC_BYTES]],
    step: usize,
}

impl<'a> Rows<'a> {
    /// Every `step`th of these slots, from the first on. A step of 0 counts as 1.
    pub fn new(slots: &'a [[u8; DESC_BYTES]], step: usize) -> Rows<'a> {
        Rows { slots, step: step.max(1) }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len().div_ceil(self.step.max(1))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The first `count` of them.
    #[must_use]
    pub fn first(self, count: u64) -> Rows<'a> {
        let most = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(self.step);
        Rows { slots: self.slots.get(..most).unwrap_or(self.slots), ..self }
    }

    /// As descriptors.
    pub fn descs(self) -> impl DoubleEndedIterator<Item = Desc> + 'a {
        self.slots.iter().step_by(self.step.max(1)).map(Desc::from_bytes)
    }

    /// The slots as two words of 64 bits each. The steps that occur are compiled for themselves.
    #[inline]
    pub fn each(self, mut f: impl FnMut(u64, u64)) {
        match self.step {
            1 => self.slots.iter().map(words).for_each(|(a, b)| f(a, b)),
            2 => {
                let (pairs, rest) = self.slots.as_chunks::<2>();
                pairs.iter().map(|[s, _]| words(s)).for_each(|(a, b)| f(a, b));
                rest.iter().map(words).for_each(|(a, b)| f(a, b));
            }
            n => self.slots.iter().step_by(n.max(1)).map(words).for_each(|(a, b)| f(a, b)),
        }
    }

    /// The first slot as two words of 64 bits.
    pub fn first_words(self) -> Option<(u64, u64)> {
        self.slots.first().map(words)
    }

    /// The bytes of these slots, line by line; nothing where others lie between them, they end
    /// inside of a line, or the machine does not read words as they lie.
    pub fn lines(self) -> Option<&'a [[u8; LINE]]> {
        let (lines, rest) = lines(self.slots.as_flattened())?;
        (self.step == 1 && rest.is_empty()).then_some(lines)
    }

    /// The same of these slots and as many others that lie in turn with them, these first.
    pub fn lines_in_turn(self, other: Rows<'_>) -> Option<&'a [[u8; LINE]]> {
        let (lines, rest) = lines(self.slots.as_flattened())?;
        let whole = self.in_turn(other) && self.len() == other.len();
        (whole && rest.is_empty()).then_some(lines)
    }

    /// Whether the slot behind each of these is one of the others.
    fn in_turn(self, other: Rows<'_>) -> bool {
        let second = self.slots.get(1).zip(other.slots.first());
        (self.step, other.step) == (2, 2)
            && second.is_some_and(|(a, b)| std::ptr::eq(a, b))
            && self.slots.len().is_multiple_of(2)
            && self.len() <= other.len()
    }

    /// These slots beside others, as two words of 64 bits each, as far as both go.
    #[inline]
    pub fn zip(self, other: Rows<'_>, mut f: impl FnMut((u64, u64), (u64, u64))) {
        match (self.step, other.step) {
            // In turn in one image.
            (2, 2) if self.in_turn(other) => {
                let pairs = self.slots.as_chunks::<2>().0;
                pairs.iter().for_each(|[a, b]| f(words(a), words(b)));
            }
            (1, 1) => {
                let both = self.slots.iter().zip(other.slots);
                both.for_each(|(a, b)| f(words(a), words(b)));
            }
            (m, n) => {
                let a = self.slots.iter().step_by(m.max(1));
                let b = other.slots.iter().step_by(n.max(1));
                a.zip(b).for_each(|(a, b)| f(words(a), words(b)));
            }
        }
    }
}

/// Bytes line by line, and what is left; nothing where the machine does not read words as they lie.
pub fn lines(bytes: &[u8]) -> Option<(&[[u8; LINE]], &[u8])> {
    AS_THEY_LIE.then_some(bytes.as_chunks())
}

/// A line as eight words of 64 bits, side by side.
#[inline(always)]
pub fn load<S: Simd>(s: S, line: &[u8; LINE]) -> u64x8<S> {
    u8x64::from_slice(s, line).bitcast()
}

/// A slot as two words of 64 bits: `len_ctrl` and word 1, and the address.
#[inline(always)]
pub fn words(s: &[u8; DESC_BYTES]) -> (u64, u64) {
    let both = u128::from_le_bytes(*s);
    (both as u64, (both >> 64) as u64)
}

/// The descriptor of two such words.
#[inline(always)]
pub fn desc(low: u64, ptr: u64) -> Desc {
    Desc { len_ctrl: low as u32, word1: (low >> 32) as u32, ptr }
}
