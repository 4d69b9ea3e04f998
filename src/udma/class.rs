//! Operation classes of a Tx `meta_ctrl`, and every reading that a word admits
//! (`docs/wire.md`, "Operation classes").
//!
//! With `ssmae_op` 4 the encoding is ambiguous: `min_max` puts a data type where the other
//! compute classes have their type code. [`readings`] returns them all, most likely first;
//! nothing here picks one silently.

use super::field::{CCE_SUB_OPS, DTYPES, Field, Kind, op_field};

/// Which unit does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// Moves and reshapes bytes.
    Sdma,
    /// Computes on elements.
    Cce,
}

/// What `op_type` of a class may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpType {
    /// Exactly this code.
    Is(u8),
    /// A data type's low three bits: any value fits.
    Dtype,
}

/// One operation class.
#[derive(Debug, PartialEq, Eq)]
pub struct Class {
    /// Name in JSON, assembly and on the screen.
    pub name: &'static str,
    /// Its unit.
    pub family: Family,
    /// `meta_ctrl` of the class with its variable fields zero.
    pub word: u32,
    /// Selector, bits 25:23.
    pub ssmae_op: u8,
    /// Selector, bits 22:20.
    pub op_type: OpType,
    /// Fields inside the word; names inside compute words are inferred. Empty for copy,
    /// whose fields are those of the main table.
    pub fields: &'static [Field],
    /// One sentence.
    pub meaning: &'static str,
}

const DTYPE: Kind = Kind::Enum(DTYPES);
const SUB_OP: Kind = Kind::Enum(CCE_SUB_OPS);

static SPLIT: &[Field] = &[
    op_field(("dtype", "DTYPE"), (19, 16), DTYPE, "Element type."),
    op_field(("shape_index", "SHAPE"), (15, 8), Kind::Number, "Index of the shape."),
    op_field(("multi", "MULTI"), (5, 5), Kind::Flag, "The split count is above one."),
    op_field(("split_count", "SPLIT"), (2, 0), Kind::Number, "Number of splits."),
];
static TRANSPOSE: &[Field] = &[
    op_field(("byte_count", "BYTES"), (19, 16), Kind::Number, "Byte count."),
    op_field(("out_shape_index", "SHAPE"), (15, 8), Kind::Number, "Index of the output shape."),
    op_field(("multi", "MULTI"), (5, 5), Kind::Flag, "The shape count is above one."),
    op_field(("element_bytes", "ELEM"), (4, 0), Kind::Number, "Bytes of one element."),
];
static REPLICATE: &[Field] = &[op_field(
    ("replication", "COUNT"),
    (15, 0),
    Kind::Number,
    "How often the source is written.",
)];
static ADD: &[Field] = &[
    op_field(("dtype_b", "DTYPE"), (19, 16), DTYPE, "Second data type."),
    op_field(("dtype_a", "DTYPE"), (15, 12), DTYPE, "First data type."),
    op_field(("cce_flags", "FLAGS"), (7, 5), Kind::Number, "Three flags."),
    op_field(("sub_op", "OP"), (2, 0), SUB_OP, "Sub-operation."),
];
static MIN_MAX: &[Field] = &[
    op_field(
        ("constant_dtype", "CONST"),
        (22, 20),
        DTYPE,
        "The constant's data type; only its low three bits fit.",
    ),
    op_field(("dtype_b", "DTYPE"), (19, 16), DTYPE, "Second data type."),
    op_field(("dtype_a", "DTYPE"), (15, 12), DTYPE, "First data type."),
    op_field(("cce_flags", "FLAGS"), (7, 6), Kind::Number, "Two flags."),
    op_field(("no_constant", "NOCONST"), (5, 5), Kind::Flag, "There is no constant."),
    op_field(("sub_op", "OP"), (2, 0), SUB_OP, "Sub-operation."),
];
static FMA: &[Field] = &[
    op_field(("dtype_c", "DTYPE"), (19, 16), DTYPE, "Third data type."),
    op_field(("dtype_b", "DTYPE"), (15, 12), DTYPE, "Second data type."),
    op_field(("dtype_a", "DTYPE"), (11, 8), DTYPE, "First data type."),
    op_field(("cce_flags", "FLAGS"), (7, 6), Kind::Number, "Two flags."),
    op_field(("sub_op", "OP"), (2, 0), SUB_OP, "Sub-operation."),
];
static CCE_EXT: &[Field] = &[
    op_field(("dst_dtype", "DST"), (19, 16), DTYPE, "Destination data type."),
    op_field(("src_dtype", "SRC"), (15, 12), DTYPE, "Source data type."),
    op_field(("sub_op", "OP"), (2, 0), SUB_OP, "Sub-operation."),
];
static GRADIENT: &[Field] = &[
    op_field(("dtype_b", "DTYPE"), (19, 16), DTYPE, "Second data type."),
    op_field(("dtype_a", "DTYPES"), (15, 8), Kind::Number, "Two data types, a nibble each."),
    op_field(("cce_flags", "FLAGS"), (7, 6), Kind::Number, "Two flags."),
    op_field(("sub_op", "OP"), (2, 0), SUB_OP, "Sub-operation."),
];

const fn class(
    name: &'static str,
    (family, word): (Family, u32),
    (ssmae_op, op_type): (u8, OpType),
    fields: &'static [Field],
    meaning: &'static str,
) -> Class {
    Class { name, family, word, ssmae_op, op_type, fields, meaning }
}

/// Every known class. Order is the order of likelihood among those that fit one word.
pub static CLASSES: &[Class] = &[
    class("copy", (Family::Sdma, 0x0108_0003), (2, OpType::Is(0)), &[], "Moves bytes unchanged."),
    class(
        "striding_split",
        (Family::Sdma, 0x0080_0000),
        (1, OpType::Is(0)),
        SPLIT,
        "Splits a stream by strides.",
    ),
    class(
        "transpose",
        (Family::Sdma, 0x0090_0000),
        (1, OpType::Is(1)),
        TRANSPOSE,
        "Transposes elements.",
    ),
    class(
        "replicate",
        (Family::Sdma, 0x00a0_0000),
        (1, OpType::Is(2)),
        REPLICATE,
        "Writes its source several times.",
    ),
    class(
        "add",
        (Family::Cce, 0x0200_0000),
        (4, OpType::Is(0)),
        ADD,
        "Adds sources element by element.",
    ),
    class("fma", (Family::Cce, 0x0210_0000), (4, OpType::Is(1)), FMA, "Multiplies and adds."),
    class(
        "cce_ext",
        (Family::Cce, 0x0240_0000),
        (4, OpType::Is(4)),
        CCE_EXT,
        "Extended compute operation.",
    ),
    class(
        "gradient",
        (Family::Cce, 0x0250_0000),
        (4, OpType::Is(5)),
        GRADIENT,
        "Gradient operation.",
    ),
    class(
        "min_max",
        (Family::Cce, 0x0200_0000),
        (4, OpType::Dtype),
        MIN_MAX,
        "Takes minima or maxima.",
    ),
];

/// The selector of a `meta_ctrl`: (`ssmae_op`, `op_type`).
pub fn selector(meta_ctrl: u32) -> (u8, u8) {
    ((meta_ctrl >> 23 & 7) as u8, (meta_ctrl >> 20 & 7) as u8)
}

/// Every class that fits the word, most likely first; empty where none is known.
///
/// Among compute readings one whose sub-operation is its own kind comes first: a word with
/// sub-op max or min is read as `min_max` before anything else.
pub fn readings(meta_ctrl: u32) -> Vec<&'static Class> {
    let (ssmae, op_type) = selector(meta_ctrl);
    let mut fit: Vec<&'static Class> = CLASSES
        .iter()
        .filter(|c| {
            c.ssmae_op == ssmae && (c.op_type == OpType::Is(op_type) || c.op_type == OpType::Dtype)
        })
        .collect();
    let min_max_like = matches!(meta_ctrl & 7, 2 | 3);
    fit.sort_by_key(|c| min_max_like && c.name != "min_max");
    fit
}

/// Whether the word is a plain copy, barrier and notification bits aside.
pub fn is_copy(meta_ctrl: u32) -> bool {
    selector(meta_ctrl) == (2, 0)
}

/// What to call the word's operation: the only or most likely class, `cme` for another
/// operation of the copy engine, `unknown` where no class fits.
pub fn name(meta_ctrl: u32) -> &'static str {
    match readings(meta_ctrl).first() {
        Some(c) => c.name,
        None if selector(meta_ctrl).0 == 2 => "cme",
        None => "unknown",
    }
}

/// Bytes of one element of a data type, by its tag; `None` for a tag without a meaning.
pub fn dtype_bytes(tag: u64) -> Option<u64> {
    let (_, name) = DTYPES.iter().find(|(t, _)| u64::from(*t) == tag)?;
    // The first number in a type's name is its width in bits.
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse::<u64>().ok().map(|bits| bits / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_copy_is_the_word_that_is_read_so_and_in_no_other_way() {
        for selector in 0..1u32 << 6 {
            for low in [0, 1, 2, 3, 0x8_0003] {
                let word = selector << 20 | low;
                let only = matches!(readings(word).as_slice(), [c] if c.name == "copy");
                assert_eq!(is_copy(word), only, "{word:#x}");
            }
        }
    }

    #[test]
    fn a_class_word_reads_as_that_class() {
        for c in CLASSES {
            assert!(readings(c.word).iter().any(|r| r.name == c.name), "{}", c.name);
        }
    }

    #[test]
    fn only_compute_words_are_ambiguous() {
        let names = |w| readings(w).iter().map(|c| c.name).collect::<Vec<_>>();
        assert_eq!(names(0x0108_0003), ["copy"]);
        assert_eq!(names(0x0508_0003), ["copy"]);
        assert_eq!(names(0x00a0_0010), ["replicate"]);
        assert_eq!(names(0x0200_0000), ["add", "min_max"]);
        assert_eq!(names(0x0200_0002), ["min_max", "add"]);
        assert_eq!(names(0x0220_0000), ["min_max"]);
        assert_eq!(names(0x0000_0000), [""; 0]);
    }

    #[test]
    fn element_sizes_follow_from_the_names() {
        let sizes: Vec<_> = (0..17).map(dtype_bytes).collect();
        let some = |n| Some(n);
        assert_eq!(sizes[1..=6], [8, 1, 1, 2, 2, 2].map(some));
        assert_eq!(sizes[7..=12], [2, 4, 4, 4, 4, 8].map(some));
        assert_eq!(sizes[13..=15], [1, 1, 1].map(some));
        assert_eq!((sizes[0], sizes[16]), (None, None));
    }
}
