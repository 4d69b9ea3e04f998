//! The sixteen-byte descriptor and its three views (`docs/wire.md`).
//!
//! [`Desc`] keeps all 128 bits, reserved ones included: `Desc::from_bytes` followed by
//! `to_bytes` gives back any sixteen bytes. Words are little-endian in memory.

use super::field::{self, Field, Word};

/// Bytes of one descriptor.
pub const DESC_BYTES: usize = 16;

/// Direction of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dir {
    /// Memory to stream (M2S): reads the source.
    Tx,
    /// Stream to memory (S2M): writes the destination.
    Rx,
}

impl Dir {
    /// Both, Tx first.
    pub const BOTH: [Dir; 2] = [Dir::Tx, Dir::Rx];

    /// `tx` or `rx`.
    pub fn name(self) -> &'static str {
        match self {
            Dir::Tx => "tx",
            Dir::Rx => "rx",
        }
    }

    /// The other one.
    #[must_use]
    pub fn other(self) -> Dir {
        match self {
            Dir::Tx => Dir::Rx,
            Dir::Rx => Dir::Tx,
        }
    }
}

impl std::fmt::Display for Dir {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// How the bits of a descriptor are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum View {
    /// A Tx data descriptor.
    Tx,
    /// An Rx descriptor.
    Rx,
    /// A Tx descriptor with META set.
    Meta,
}

impl View {
    /// The three views.
    pub const ALL: [View; 3] = [View::Tx, View::Rx, View::Meta];
}

/// One descriptor, all 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Desc {
    /// `len_ctrl`, offset 0.
    pub len_ctrl: u32,
    /// `meta_ctrl` (Tx, META) or `buf2_ptr_lo` (Rx), offset 4.
    pub word1: u32,
    /// `buf_ptr`, or `meta1` (low half) and `meta2` (high half) of META, offset 8.
    pub ptr: u64,
}

/// META, bit 23 of a Tx `len_ctrl`.
pub const META: u32 = 1 << 23;
/// `len_ctrl` of META index 0: META and FIRST.
pub const META_BASE: u32 = 0x0480_0000;

impl Desc {
    /// Reads sixteen bytes in memory order.
    #[inline]
    pub fn from_bytes(b: &[u8; DESC_BYTES]) -> Desc {
        let w = |i: usize| u32::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]);
        Desc { len_ctrl: w(0), word1: w(4), ptr: u64::from(w(8)) | u64::from(w(12)) << 32 }
    }

    /// The sixteen bytes in memory order; the exact inverse of [`Desc::from_bytes`].
    #[inline]
    pub fn to_bytes(self) -> [u8; DESC_BYTES] {
        let mut b = [0; DESC_BYTES];
        b[0..4].copy_from_slice(&self.len_ctrl.to_le_bytes());
        b[4..8].copy_from_slice(&self.word1.to_le_bytes());
        b[8..16].copy_from_slice(&self.ptr.to_le_bytes());
        b
    }

    /// A META descriptor. Index bit 2 coincides with FIRST and cannot be read back.
    pub fn new_meta(index: u8, meta_ctrl: u32, meta1: u32, meta2: u32) -> Desc {
        Desc {
            len_ctrl: u32::from(index) << 24 | META_BASE,
            word1: meta_ctrl,
            ptr: u64::from(meta1) | u64::from(meta2) << 32,
        }
    }

    /// Whether all bits are zero: a slot never used.
    #[inline]
    pub fn is_zero(self) -> bool {
        self == Desc::default()
    }

    /// The view in which a descriptor of a `dir` ring is read.
    #[inline]
    pub fn view(self, dir: Dir) -> View {
        match dir {
            Dir::Rx => View::Rx,
            Dir::Tx if self.len_ctrl & META != 0 => View::Meta,
            Dir::Tx => View::Tx,
        }
    }

    /// The value of a word.
    #[inline]
    pub fn word(self, word: Word) -> u64 {
        match word {
            Word::LenCtrl => u64::from(self.len_ctrl),
            Word::MetaCtrl | Word::Buf2PtrLo => u64::from(self.word1),
            Word::BufPtr => self.ptr,
            Word::Meta1 => self.ptr & 0xffff_ffff,
            Word::Meta2 => self.ptr >> 32,
        }
    }

    /// The descriptor with a word replaced; bits above the word's width are dropped.
    #[must_use]
    pub fn with_word(mut self, word: Word, value: u64) -> Desc {
        match word {
            Word::LenCtrl => self.len_ctrl = value as u32,
            Word::MetaCtrl | Word::Buf2PtrLo => self.word1 = value as u32,
            Word::BufPtr => self.ptr = value,
            Word::Meta1 => self.ptr = (self.ptr & !0xffff_ffff) | (value & 0xffff_ffff),
            Word::Meta2 => self.ptr = (self.ptr & 0xffff_ffff) | value << 32,
        }
        self
    }

    /// The value of a field.
    #[inline]
    pub fn get(self, field: &Field) -> u64 {
        field.get(self.word(field.word))
    }

    /// The descriptor with a field replaced.
    #[must_use]
    pub fn with(self, field: &Field, value: u64) -> Desc {
        self.with_word(field.word, field.set(self.word(field.word), value))
    }

    /// Whether a one-bit field of the given view is set; false for a name it does not have.
    pub fn flag(self, view: View, name: &str) -> bool {
        field::find(view, name).is_some_and(|f| self.get(f) != 0)
    }

    /// Bytes that it stands for: 65536 where the field is 0.
    #[inline]
    pub fn length(self) -> u64 {
        match self.len_ctrl & 0xffff {
            0 => 65_536,
            n => u64::from(n),
        }
    }

    /// The phase, 0..=3 (not meaningful on META).
    #[inline]
    pub fn ring_id(self) -> u8 {
        (self.len_ctrl >> 24 & 3) as u8
    }

    /// CONCAT, bit 31 of data descriptors.
    #[inline]
    pub fn concat(self) -> bool {
        self.len_ctrl & 1 << 31 != 0
    }

    /// LAST, bit 27 of data descriptors.
    #[inline]
    pub fn last(self) -> bool {
        self.len_ctrl & 1 << 27 != 0
    }

    /// FIRST, bit 26.
    #[inline]
    pub fn first(self) -> bool {
        self.len_ctrl & 1 << 26 != 0
    }

    /// META, bit 23 (Tx only).
    #[inline]
    pub fn is_meta(self) -> bool {
        self.len_ctrl & META != 0
    }

    /// The index of a META descriptor with its unknown bit 2 taken as 0.
    pub fn meta_index(self) -> u8 {
        (self.len_ctrl >> 24 & 0xfb) as u8
    }

    /// The other index that the bits may stand for: bit 2 is laid over FIRST. None where FIRST
    /// is clear, since then bit 2 is as well.
    pub fn meta_index_or(self) -> Option<u8> {
        self.first().then_some(self.meta_index() | 4)
    }
}

/// Reads the descriptors of an image; a tail shorter than sixteen bytes is left out.
pub fn iter_image(bytes: &[u8]) -> impl ExactSizeIterator<Item = Desc> + '_ {
    bytes.as_chunks::<DESC_BYTES>().0.iter().map(Desc::from_bytes)
}

/// The descriptor at slot `index` of an image.
pub fn image_slot(bytes: &[u8], index: u64) -> Option<Desc> {
    let at = usize::try_from(index).ok()?.checked_mul(DESC_BYTES)?;
    bytes.get(at..)?.first_chunk::<DESC_BYTES>().map(Desc::from_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn encode_after_decode_gives_back_any_sixteen_bytes(b in any::<[u8; 16]>()) {
            prop_assert_eq!(Desc::from_bytes(&b).to_bytes(), b);
        }

        #[test]
        fn rebuilding_from_its_fields_gives_back_the_descriptor(b in any::<[u8; 16]>(), rx in any::<bool>()) {
            let d = Desc::from_bytes(&b);
            let view = d.view(if rx { Dir::Rx } else { Dir::Tx });
            let mut again = Desc::default();
            for &word in Word::of(view) {
                for f in field::fields_of(view, word) {
                    again = again.with(f, d.get(f));
                }
            }
            prop_assert_eq!(again, d);
        }

        #[test]
        fn meta_index_reads_back_but_for_bit_two(index in any::<u8>()) {
            let d = Desc::new_meta(index, 0, 1, 2);
            prop_assert_eq!(d.view(Dir::Tx), View::Meta);
            prop_assert_eq!(d.meta_index(), index & 0xfb);
            prop_assert!(d.first());
        }
    }

    #[test]
    fn the_accessors_agree_with_the_field_table() {
        let d = Desc { len_ctrl: 0xffff_ffff, word1: 0, ptr: 0 };
        for (name, bit) in [("concat", d.concat()), ("last", d.last()), ("first", d.first())] {
            assert_eq!(d.flag(View::Tx, name), bit, "{name}");
        }
        let one = |name| {
            field::find(View::Tx, name).map(|f| Desc::default().with(f, 1)).unwrap_or_default()
        };
        assert!(one("concat").concat() && one("last").last() && one("first").first());
        assert!(one("meta").is_meta());
        assert_eq!(one("ring_id").ring_id(), 1);
        assert_eq!(one("length").length(), 1);
        assert_eq!(Desc::default().length(), 65_536);
    }
}
