//! The field table: every bit of every word of a descriptor, once.
//!
//! Decode, encode, checks, the inspector, the documentation and the tests are driven by
//! [`FIELDS`]. For each view ([`View`]) the fields of one word cover its bits exactly once; a
//! test holds that. The rules are in `docs/wire.md`.

use super::arch::Generation;
use super::desc::View;
use crate::udma::count_of;

/// A word of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Word {
    /// Offset 0x0, 32 bits, all views.
    LenCtrl,
    /// Offset 0x4 of a Tx or META descriptor, 32 bits.
    MetaCtrl,
    /// Offset 0x4 of an Rx descriptor, 32 bits.
    Buf2PtrLo,
    /// Offset 0x8 of a Tx or Rx descriptor, 64 bits.
    BufPtr,
    /// Offset 0x8 of a META descriptor, 32 bits.
    Meta1,
    /// Offset 0xc of a META descriptor, 32 bits.
    Meta2,
}

impl Word {
    /// The word's name as expressions and JSON write it.
    pub fn name(self) -> &'static str {
        match self {
            Word::LenCtrl => "len_ctrl",
            Word::MetaCtrl => "meta_ctrl",
            Word::Buf2PtrLo => "buf2_ptr_lo",
            Word::BufPtr => "buf_ptr",
            Word::Meta1 => "meta1",
            Word::Meta2 => "meta2",
        }
    }

    /// Byte offset inside the descriptor.
    pub fn offset(self) -> usize {
        match self {
            Word::LenCtrl => 0,
            Word::MetaCtrl | Word::Buf2PtrLo => 4,
            Word::BufPtr | Word::Meta1 => 8,
            Word::Meta2 => 12,
        }
    }

    /// Width in bits.
    pub fn bits(self) -> u8 {
        if self == Word::BufPtr { 64 } else { 32 }
    }

    /// Width in bytes.
    pub fn bytes(self) -> usize {
        usize::from(self.bits() / 8)
    }

    /// The words of a view, in memory order.
    pub fn of(view: View) -> &'static [Word] {
        match view {
            View::Tx => &[Word::LenCtrl, Word::MetaCtrl, Word::BufPtr],
            View::Rx => &[Word::LenCtrl, Word::Buf2PtrLo, Word::BufPtr],
            View::Meta => &[Word::LenCtrl, Word::MetaCtrl, Word::Meta1, Word::Meta2],
        }
    }
}

/// What sort of value a field holds; decides how it is worded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One bit.
    Flag,
    /// A plain number.
    Number,
    /// Bytes, where 0 stands for 65536.
    Length,
    /// The ring id, 0..=3.
    Phase,
    /// A code with names, `(value, name)`.
    Enum(&'static [(u8, &'static str)]),
    /// An address, possibly symbolic.
    Address,
    /// A 32-bit float.
    Float,
    /// Should be zero; a set bit is reported.
    Reserved,
}

/// The views in which a field exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Views {
    /// In a Tx data descriptor.
    pub tx: bool,
    /// In an Rx descriptor.
    pub rx: bool,
    /// In a META descriptor.
    pub meta: bool,
}

impl Views {
    const ALL: Views = Views { tx: true, rx: true, meta: true };
    const DATA: Views = Views { tx: true, rx: true, meta: false };
    const TX: Views = Views { tx: true, rx: false, meta: false };
    const RX: Views = Views { tx: false, rx: true, meta: false };
    const META: Views = Views { tx: false, rx: false, meta: true };
    const M2S: Views = Views { tx: true, rx: false, meta: true };

    /// Whether `view` is among them.
    pub const fn has(self, view: View) -> bool {
        match view {
            View::Tx => self.tx,
            View::Rx => self.rx,
            View::Meta => self.meta,
        }
    }
}

/// One field of a descriptor word.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// Name in expressions, assembly and JSON.
    pub name: &'static str,
    /// Name on the ruler.
    pub label: &'static str,
    /// The word it lies in.
    pub word: Word,
    /// Lowest bit.
    pub lo: u8,
    /// Width in bits.
    pub width: u8,
    /// In which views it exists.
    pub views: Views,
    /// What its value is.
    pub kind: Kind,
    /// One sentence for a reader who sees it for the first time.
    pub meaning: &'static str,
    /// First generation that has it, where not all do.
    pub since: Option<Generation>,
}

impl Field {
    /// Highest bit.
    pub const fn hi(&self) -> u8 {
        self.lo + self.width - 1
    }

    /// Mask inside the word.
    pub const fn mask(&self) -> u64 {
        let ones = if self.width == 64 { u64::MAX } else { (1 << self.width) - 1 };
        ones << self.lo
    }

    /// The field's value inside a word's value.
    pub const fn get(&self, word: u64) -> u64 {
        (word & self.mask()) >> self.lo
    }

    /// The word with this field set; bits of `value` above the width are dropped.
    pub const fn set(&self, word: u64, value: u64) -> u64 {
        (word & !self.mask()) | ((value << self.lo) & self.mask())
    }

    /// The value in words: a name for a code, bytes for a length, yes or no for a flag.
    pub fn words(&self, value: u64) -> String {
        match self.kind {
            Kind::Flag => (if value == 0 { "no" } else { "yes" }).to_owned(),
            Kind::Number => value.to_string(),
            Kind::Length if value == 0 => "65536 bytes (0 stands for 65536)".to_owned(),
            Kind::Length if value == 1 => "1 byte".to_owned(),
            Kind::Length => count_of(value, "byte"),
            Kind::Phase => format!("phase {value}"),
            Kind::Enum(names) => match names.iter().find(|(v, _)| u64::from(*v) == value) {
                Some((_, name)) => (*name).to_owned(),
                None => format!("{value}, no known meaning"),
            },
            Kind::Address => format!("{value:#018x}"),
            Kind::Float => format!("{}", f32::from_bits(value as u32)),
            Kind::Reserved if value == 0 => "zero, as it should be".to_owned(),
            Kind::Reserved => format!("{value:#x} in reserved bits"),
        }
    }
}

/// `ssmae_op` codes whose class is known (`docs/wire.md`, "Operation classes").
pub const SSMAE_OPS: &[(u8, &str)] =
    &[(1, "reshape (split, transpose, replicate)"), (2, "copy (CME)"), (4, "compute (CCE)")];
/// Data types by the instruction set's tags (MODEL: that these nibbles hold them is inferred).
pub const DTYPES: &[(u8, &str)] = &[
    (1, "u64"),
    (2, "i8"),
    (3, "u8"),
    (4, "i16"),
    (5, "u16"),
    (6, "bf16"),
    (7, "f16"),
    (8, "i32"),
    (9, "u32"),
    (10, "f32"),
    (11, "f32r"),
    (12, "i64"),
    (13, "fp8_e3"),
    (14, "fp8_e4"),
    (15, "fp8_e5"),
];
/// Sub-operations of compute descriptors.
pub const CCE_SUB_OPS: &[(u8, &str)] = &[(0, "add"), (1, "fma"), (2, "max"), (3, "min")];

/// A field that every generation has; the other columns as in [`Field`].
pub(crate) const fn field(
    (name, label): (&'static str, &'static str),
    word: Word,
    (hi, lo): (u8, u8),
    views: Views,
    kind: Kind,
    meaning: &'static str,
) -> Field {
    Field { name, label, word, lo, width: hi - lo + 1, views, kind, meaning, since: None }
}

/// A field inside `meta_ctrl` of a Tx descriptor, for the class overlays.
pub(crate) const fn op_field(
    (name, label): (&'static str, &'static str),
    bits: (u8, u8),
    kind: Kind,
    meaning: &'static str,
) -> Field {
    field((name, label), Word::MetaCtrl, bits, Views::M2S, kind, meaning)
}

/// A field inside the parameter words of META descriptors, for the payloads of the model.
pub(crate) const fn meta_field(
    names: (&'static str, &'static str),
    word: Word,
    bits: (u8, u8),
    kind: Kind,
    meaning: &'static str,
) -> Field {
    field(names, word, bits, Views::META, kind, meaning)
}

/// The table. Within a word, highest bit first, as a ruler shows them.
pub static FIELDS: &[Field] = &[
    // len_ctrl
    field(
        ("concat", "CONCAT"),
        Word::LenCtrl,
        (31, 31),
        Views::DATA,
        Kind::Flag,
        "The packet goes on in the next descriptor.",
    ),
    field(
        ("dmb", "DMB"),
        Word::LenCtrl,
        (30, 30),
        Views::TX,
        Kind::Flag,
        "Data memory barrier: waits for the writes of earlier packets.",
    ),
    field(
        ("reserved_30", "-"),
        Word::LenCtrl,
        (30, 30),
        Views::RX,
        Kind::Reserved,
        "Not used on Rx (DMB on Tx).",
    ),
    field(
        ("reserved_29", "-"),
        Word::LenCtrl,
        (29, 29),
        Views::TX,
        Kind::Reserved,
        "Not used on Tx (strongly ordered write on Rx).",
    ),
    field(
        ("strong_order", "SOW"),
        Word::LenCtrl,
        (29, 29),
        Views::RX,
        Kind::Flag,
        "Strongly ordered write: not before earlier writes of the queue.",
    ),
    field(
        ("int_en", "INT"),
        Word::LenCtrl,
        (28, 28),
        Views::DATA,
        Kind::Flag,
        "Interrupt on completion; never how completion is seen here.",
    ),
    field(
        ("last", "LAST"),
        Word::LenCtrl,
        (27, 27),
        Views::DATA,
        Kind::Flag,
        "Last descriptor of its packet.",
    ),
    field(
        ("meta_index_hi", "INDEX"),
        Word::LenCtrl,
        (31, 27),
        Views::META,
        Kind::Number,
        "Index bits 7:3, laid over CONCAT, DMB, SOW, INT and LAST.",
    ),
    field(
        ("first", "FIRST"),
        Word::LenCtrl,
        (26, 26),
        Views::ALL,
        Kind::Flag,
        "First descriptor of its packet. On META always set, and over index bit 2.",
    ),
    field(
        ("ring_id", "PHASE"),
        Word::LenCtrl,
        (25, 24),
        Views::DATA,
        Kind::Phase,
        "Phase (ring id), 0 to 3: grows by one on each lap of the ring.",
    ),
    field(
        ("meta_index_lo", "INDEX"),
        Word::LenCtrl,
        (25, 24),
        Views::META,
        Kind::Number,
        "Index bits 1:0, laid over the phase.",
    ),
    field(
        ("meta", "META"),
        Word::LenCtrl,
        (23, 23),
        Views::M2S,
        Kind::Flag,
        "A CME/CRC meta descriptor: carries parameters, moves no data.",
    ),
    field(
        ("reserved_23", "-"),
        Word::LenCtrl,
        (23, 23),
        Views::RX,
        Kind::Reserved,
        "Not used on Rx (META on Tx).",
    ),
    field(
        ("reserved_22_16", "reserved"),
        Word::LenCtrl,
        (22, 16),
        Views::ALL,
        Kind::Reserved,
        "Reserved, zero.",
    ),
    field(
        ("length", "LENGTH"),
        Word::LenCtrl,
        (15, 0),
        Views::ALL,
        Kind::Length,
        "Bytes of this descriptor; 0 stands for 65536.",
    ),
    // meta_ctrl
    field(
        ("reserved_31_29", "-"),
        Word::MetaCtrl,
        (31, 29),
        Views::M2S,
        Kind::Reserved,
        "Reserved, zero.",
    ),
    Field {
        since: Some(Generation::V4),
        ..field(
            ("notification", "NOTIFY"),
            Word::MetaCtrl,
            (28, 28),
            Views::M2S,
            Kind::Flag,
            "Notification; only v4 has it, reserved before.",
        )
    },
    field(
        ("reserved_27", "-"),
        Word::MetaCtrl,
        (27, 27),
        Views::M2S,
        Kind::Reserved,
        "Reserved, zero.",
    ),
    field(
        ("write_barrier", "WBAR"),
        Word::MetaCtrl,
        (26, 26),
        Views::M2S,
        Kind::Flag,
        "Write barrier: later packets' writes wait for all up to this one.",
    ),
    field(
        ("ssmae_op", "SSMAE"),
        Word::MetaCtrl,
        (25, 23),
        Views::M2S,
        Kind::Enum(SSMAE_OPS),
        "Which engine works on the stream; with op_type it selects the class.",
    ),
    field(
        ("op_type", "TYPE"),
        Word::MetaCtrl,
        (22, 20),
        Views::M2S,
        Kind::Number,
        "Operation within the engine; its meaning depends on ssmae_op.",
    ),
    field(
        ("copy_source_data", "COPY"),
        Word::MetaCtrl,
        (19, 19),
        Views::M2S,
        Kind::Flag,
        "Copy the source bytes to the destination.",
    ),
    field(
        ("store_source_crc", "SSCRC"),
        Word::MetaCtrl,
        (18, 18),
        Views::M2S,
        Kind::Flag,
        "Store the CRC of the source.",
    ),
    field(
        ("store_crc_result", "STCRC"),
        Word::MetaCtrl,
        (17, 17),
        Views::M2S,
        Kind::Flag,
        "Store the CRC result.",
    ),
    field(
        ("send_crc_result", "SNCRC"),
        Word::MetaCtrl,
        (16, 16),
        Views::M2S,
        Kind::Flag,
        "Send the CRC result.",
    ),
    field(
        ("use_stored_crc_iv", "USEIV"),
        Word::MetaCtrl,
        (15, 15),
        Views::M2S,
        Kind::Flag,
        "Start the CRC from the stored initial value.",
    ),
    field(
        ("validate_crc", "VCRC"),
        Word::MetaCtrl,
        (14, 14),
        Views::M2S,
        Kind::Flag,
        "Validate the CRC.",
    ),
    field(
        ("swap_ctrl", "SWAP"),
        Word::MetaCtrl,
        (13, 6),
        Views::M2S,
        Kind::Number,
        "Eight endian and bit-swap controls of CRC source and result.",
    ),
    field(
        ("crc_iv_index", "IVIDX"),
        Word::MetaCtrl,
        (5, 3),
        Views::M2S,
        Kind::Number,
        "Which cached CRC initial value to use.",
    ),
    field(
        ("reserved_2", "-"),
        Word::MetaCtrl,
        (2, 2),
        Views::M2S,
        Kind::Reserved,
        "Reserved; the other overlay reads bits 2:0 as block_attr.",
    ),
    field(
        ("is_first_block", "FBLK"),
        Word::MetaCtrl,
        (1, 1),
        Views::M2S,
        Kind::Flag,
        "First block of the stream.",
    ),
    field(
        ("is_last_block", "LBLK"),
        Word::MetaCtrl,
        (0, 0),
        Views::M2S,
        Kind::Flag,
        "Last block of the stream.",
    ),
    // second word of Rx
    field(
        ("buf2_ptr_lo", "BUF2"),
        Word::Buf2PtrLo,
        (31, 0),
        Views::RX,
        Kind::Number,
        "Low half of a second buffer; zero on a memory-to-memory queue.",
    ),
    // the pointer
    field(
        ("buf_ptr", "ADDRESS"),
        Word::BufPtr,
        (63, 0),
        Views::DATA,
        Kind::Address,
        "Source (Tx) or destination (Rx) address; bit 61 marks a symbolic one.",
    ),
    // META payload
    field(
        ("meta1", "META1"),
        Word::Meta1,
        (31, 0),
        Views::META,
        Kind::Number,
        "First parameter word.",
    ),
    field(
        ("meta2", "META2"),
        Word::Meta2,
        (31, 0),
        Views::META,
        Kind::Number,
        "Second parameter word. MODEL: in a CCE packet the source's scale, an f32.",
    ),
];

/// The fields of one word in one view, highest bit first.
pub fn fields_of(view: View, word: Word) -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(move |f| f.word == word && f.views.has(view))
}

/// Finds a field by name in a view.
pub fn find(view: View, name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|f| f.views.has(view) && f.name == name)
}

/// The field that covers `bit` of `word` in `view`.
pub fn at_bit(view: View, word: Word, bit: u8) -> Option<&'static Field> {
    fields_of(view, word).find(|f| (f.lo..=f.hi()).contains(&bit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udma::class::CLASSES;

    #[test]
    fn every_bit_of_every_view_belongs_to_exactly_one_field() {
        for view in View::ALL {
            for &word in Word::of(view) {
                for bit in 0..word.bits() {
                    let n =
                        fields_of(view, word).filter(|f| (f.lo..=f.hi()).contains(&bit)).count();
                    assert_eq!(n, 1, "{view:?} {word:?} bit {bit}");
                }
            }
        }
    }

    #[test]
    fn field_names_are_unique_in_a_view() {
        for view in View::ALL {
            let mut names: Vec<_> =
                FIELDS.iter().filter(|f| f.views.has(view)).map(|f| f.name).collect();
            names.sort_unstable();
            let n = names.len();
            names.dedup();
            assert_eq!(names.len(), n, "{view:?}");
        }
    }

    #[test]
    fn masks_are_those_of_the_format() {
        let mask = |view, name| find(view, name).map(Field::mask);
        assert_eq!(mask(View::Tx, "concat"), Some(0x8000_0000));
        assert_eq!(mask(View::Tx, "dmb"), Some(0x4000_0000));
        assert_eq!(mask(View::Rx, "strong_order"), Some(0x2000_0000));
        assert_eq!(mask(View::Rx, "int_en"), Some(0x1000_0000));
        assert_eq!(mask(View::Tx, "last"), Some(0x0800_0000));
        assert_eq!(mask(View::Tx, "first"), Some(0x0400_0000));
        assert_eq!(mask(View::Tx, "ring_id"), Some(0x0300_0000));
        assert_eq!(mask(View::Tx, "meta"), Some(0x0080_0000));
        assert_eq!(mask(View::Tx, "reserved_22_16"), Some(0x007f_0000));
        assert_eq!(mask(View::Tx, "length"), Some(0xffff));
        assert_eq!(mask(View::Tx, "write_barrier"), Some(0x0400_0000));
        assert_eq!(mask(View::Tx, "ssmae_op"), Some(7 << 23));
    }

    #[test]
    fn class_overlays_stay_inside_the_bits_that_the_selector_leaves() {
        for class in CLASSES {
            for f in class.fields {
                assert_eq!(f.word, Word::MetaCtrl);
                let ok = f.hi() < 20 || (class.name == "min_max" && f.hi() == 22);
                assert!(ok, "{} {}", class.name, f.name);
            }
        }
    }
}
