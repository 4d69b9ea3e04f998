//! Slots of a ring where they lie in an image.

use super::desc::{DESC_BYTES, Desc};

/// Slots of a line of the cache.
const LINE_SLOTS: usize = 4;

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

    /// Reads a byte of every line of the cache that these slots lie in, so that whoever looks at
    /// them soon finds them there.
    #[inline]
    pub fn come(self) {
        let lines = self.slots.iter().step_by(LINE_SLOTS);
        std::hint::black_box(lines.fold(0, |any, [first, ..]| any | first));
    }

    /// The first slot as two words of 64 bits.
    pub fn first_words(self) -> Option<(u64, u64)> {
        self.slots.first().map(words)
    }

    /// These slots beside others, as two words of 64 bits each, as far as both go.
    #[inline]
    pub fn zip(self, other: Rows<'_>, mut f: impl FnMut((u64, u64), (u64, u64))) {
        let second = self.slots.get(1).zip(other.slots.first());
        let turns = second.is_some_and(|(a, b)| std::ptr::eq(a, b));
        match (self.step, other.step) {
            // In turn in one image: the slot behind one is the other's.
            (2, 2) if turns && self.slots.len().is_multiple_of(2) && self.len() <= other.len() => {
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
