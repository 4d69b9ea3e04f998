//! What the META descriptors of a compute packet carry (`docs/author.md`, "META payload").
//!
//! MODEL, all of it: that a compute packet begins with META descriptors is known, what they
//! hold is not. This is what the author writes and the device reads; words that are not exactly
//! this are not understood, and nothing guesses at them.

use super::class;
use super::desc::{Desc, View};
use super::field::{self, CCE_SUB_OPS, Field, Kind, Word};

/// Element types by the numbers that the IR gives them; META words hold these, because the
/// nibbles of a class word cannot tell all types apart.
pub const IR_DTYPES: &[(u8, &str)] = &[
    (0, "uint8"),
    (1, "int8"),
    (2, "float4_e2m1fn_x4"),
    (3, "float8e3"),
    (4, "float8e4"),
    (5, "float8_e4m3fn"),
    (6, "float8_e8m0fnu"),
    (7, "float8e5"),
    (8, "float8_e4m3fn_x4"),
    (9, "float8_e5m2_x4"),
    (10, "uint16"),
    (11, "int16"),
    (12, "bfloat16"),
    (13, "float16"),
    (14, "uint32"),
    (15, "int32"),
    (16, "float32"),
    (17, "float32r"),
    (18, "uint64"),
    (19, "int64"),
    (20, "bool"),
];
/// Permutations by the numbers that the IR gives them: the source's dimensions W Z Y X in the
/// destination's order.
pub const IR_TRANSPOSES: &[(u8, &str)] = &[
    (0, "None"),
    (1, "WZXY"),
    (2, "WXZY"),
    (3, "WYXZ"),
    (4, "ZWYX"),
    (5, "ZYWX"),
    (6, "ZYXW"),
    (7, "YXWZ"),
    (8, "YXZW"),
    (9, "YWZX"),
    (10, "XWZY"),
    (11, "XZYW"),
    (12, "XYZW"),
    (13, "XYWZ"),
];
/// Tags of the class word's nibbles (`field::DTYPES`) for element types of the IR that have one.
const TAGS: &[(u8, u32)] = &[
    (18, 1),
    (1, 2),
    (0, 3),
    (11, 4),
    (10, 5),
    (12, 6),
    (13, 7),
    (15, 8),
    (14, 9),
    (16, 10),
    (17, 11),
    (19, 12),
    (3, 13),
    (4, 14),
    (7, 15),
];
/// Tag of `float32`, the type of every scale.
const F32_TAG: u32 = 10;

/// The nibble of a class word for an element type; 0 where it has none.
pub fn dtype_tag(ir: u8) -> u32 {
    TAGS.iter().find(|(n, _)| *n == ir).map_or(0, |t| t.1)
}

const SUM: u8 = 1;
const CAST: u8 = 2;
const PERMUTE: u8 = 3;
const KINDS: Kind = Kind::Enum(&[(SUM, "scaled sources"), (CAST, "cast"), (PERMUTE, "transpose")]);
const DTYPE: Kind = Kind::Enum(IR_DTYPES);

const fn meta(
    names: (&'static str, &'static str),
    word: Word,
    bits: (u8, u8),
    kind: Kind,
    meaning: &'static str,
) -> Field {
    field::meta_field(names, word, bits, kind, meaning)
}

/// Fields of the META words of scaled sums, maxima, minima and casts: one descriptor a source.
pub static COMPUTE: &[Field] = &[
    meta(("payload_kind", "KIND"), Word::Meta1, (31, 28), KINDS, "MODEL: what the words are."),
    meta(
        ("sub_op", "OP"),
        Word::Meta1,
        (27, 24),
        Kind::Enum(CCE_SUB_OPS),
        "MODEL: sub-operation, as in the class word.",
    ),
    meta(
        ("last_source", "LAST"),
        Word::Meta1,
        (23, 20),
        Kind::Number,
        "MODEL: number of the packet's last source.",
    ),
    meta(
        ("source", "SOURCE"),
        Word::Meta1,
        (19, 16),
        Kind::Number,
        "MODEL: number of the source that this descriptor is about, from 0.",
    ),
    meta(("to", "TO"), Word::Meta1, (15, 8), DTYPE, "MODEL: element type of the destination."),
    meta(("from", "FROM"), Word::Meta1, (7, 0), DTYPE, "MODEL: element type of this source."),
    meta(("scale", "SCALE"), Word::Meta2, (31, 0), Kind::Float, "MODEL: scale of this source."),
];
/// Fields of the two META descriptors of a transpose.
pub static TRANSPOSE: &[Field] = &[
    meta(("payload_kind", "KIND"), Word::Meta1, (31, 28), KINDS, "MODEL: what the words are."),
    meta(
        ("permutation", "ORDER"),
        Word::Meta1,
        (27, 24),
        Kind::Enum(IR_TRANSPOSES),
        "MODEL: source dimensions in the destination's order.",
    ),
    meta(("unused_high", "-"), Word::Meta1, (23, 17), Kind::Reserved, "MODEL: zero."),
    meta(
        ("half", "HALF"),
        Word::Meta1,
        (16, 16),
        Kind::Number,
        "MODEL: 0 for the outer two dimensions (W, Z), 1 for the inner two (Y, X).",
    ),
    meta(("unused_low", "-"), Word::Meta1, (15, 8), Kind::Reserved, "MODEL: zero."),
    meta(("elem", "ELEM"), Word::Meta1, (7, 0), Kind::Number, "MODEL: bytes of an element."),
    meta(
        ("dim_outer", "OUTER"),
        Word::Meta2,
        (31, 16),
        Kind::Number,
        "MODEL: elements along the outer of the two dimensions, in the source.",
    ),
    meta(
        ("dim_inner", "INNER"),
        Word::Meta2,
        (15, 0),
        Kind::Number,
        "MODEL: elements along the inner of the two.",
    ),
];
/// Most elements along one dimension that a transpose's META words can say.
pub const MAX_TRANSPOSE_DIM: u64 = 0xffff;
/// META descriptors of a transpose.
pub const TRANSPOSE_METAS: usize = 2;
/// Most sources of a packet.
pub const MAX_SOURCES: usize = 16;

/// One source of a computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Source {
    /// Element type, by the IR's number.
    pub dtype: u8,
    /// Bits of its scale, an f32.
    pub scale: u32,
}

/// What a sum of sources does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SubOp {
    /// Adds; class `add`, or `fma` where a scale is not 1.
    Add,
    /// Takes the largest.
    Max,
    /// Takes the smallest.
    Min,
}

/// What a packet computes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Payload {
    /// `acc op= scale * source` over the sources, then cast.
    Sum {
        /// The operation.
        op: SubOp,
        /// The sources, in stream order; 1 to 16.
        sources: Vec<Source>,
        /// Element type of the destination.
        to: u8,
    },
    /// Elements of one type made into another.
    Cast {
        /// Element type of the source.
        from: u8,
        /// Of the destination.
        to: u8,
    },
    /// Four dimensions in another order.
    Transpose {
        /// The permutation, by the IR's number.
        order: u8,
        /// Bytes of an element.
        elem: u8,
        /// Elements along the source's dimensions, outermost first; each at most 65535.
        dims: [u16; 4],
    },
}

impl Payload {
    /// Name of the class whose packets carry it.
    pub fn class(&self) -> &'static str {
        match self {
            Payload::Sum { op: SubOp::Add, sources, .. } if plain(sources) => "add",
            Payload::Sum { op: SubOp::Add, .. } => "fma",
            Payload::Sum { .. } => "min_max",
            Payload::Cast { .. } => "cce_ext",
            Payload::Transpose { .. } => "transpose",
        }
    }

    /// `meta_ctrl` of the packet's descriptors, META included. Types go into the nibbles as far
    /// as those can tell them; of several sources the first one's does.
    pub fn word(&self) -> u32 {
        let class = class::CLASSES.iter().find(|c| c.name == self.class());
        let mut word = class.map_or(0, |c| c.word);
        let mut set = |name: &str, value: u32| {
            if let Some(f) = class.and_then(|c| c.fields.iter().find(|f| f.name == name)) {
                word = f.set(u64::from(word), u64::from(value)) as u32;
            }
        };
        match self {
            Payload::Sum { sources, to, .. } => {
                let from = sources.first().map_or(0, |s| dtype_tag(s.dtype));
                set("dtype_a", from);
                match self.class() {
                    "fma" => {
                        set("dtype_b", F32_TAG);
                        set("dtype_c", dtype_tag(*to));
                    }
                    "min_max" if plain(sources) => {
                        set("dtype_b", dtype_tag(*to));
                        set("no_constant", 1);
                    }
                    "min_max" => {
                        set("dtype_b", dtype_tag(*to));
                        set("constant_dtype", F32_TAG);
                    }
                    _ => set("dtype_b", dtype_tag(*to)),
                }
                set("sub_op", self.sub_op());
            }
            Payload::Cast { from, to } => {
                set("src_dtype", dtype_tag(*from));
                set("dst_dtype", dtype_tag(*to));
            }
            Payload::Transpose { elem, .. } => set("element_bytes", u32::from(*elem)),
        }
        word
    }

    fn sub_op(&self) -> u32 {
        match self {
            Payload::Sum { op: SubOp::Add, sources, .. } => u32::from(!plain(sources)),
            Payload::Sum { op: SubOp::Max, .. } => 2,
            Payload::Sum { op: SubOp::Min, .. } => 3,
            _ => 0,
        }
    }

    /// The META descriptors that say it, in order; they come before the packet's data.
    pub fn metas(&self) -> Vec<Desc> {
        let word = self.word();
        let put = |index: usize, table: &'static [Field], values: &[(&str, u64)]| {
            let mut d = Desc::new_meta(index as u8, word, 0, 0);
            for (name, value) in values {
                if let Some(f) = table.iter().find(|f| f.name == *name) {
                    d = d.with(f, *value);
                }
            }
            d
        };
        match self {
            Payload::Sum { sources, to, .. } => {
                let last = sources.len().saturating_sub(1) as u64;
                let one = |(n, s): (usize, &Source)| {
                    let values = [
                        ("payload_kind", SUM.into()),
                        ("sub_op", self.sub_op().into()),
                        ("last_source", last),
                        ("source", n as u64),
                        ("to", u64::from(*to)),
                        ("from", u64::from(s.dtype)),
                        ("scale", u64::from(s.scale)),
                    ];
                    put(n, COMPUTE, &values)
                };
                sources.iter().enumerate().map(one).collect()
            }
            Payload::Cast { from, to } => {
                let values = [
                    ("payload_kind", CAST.into()),
                    ("to", u64::from(*to)),
                    ("from", u64::from(*from)),
                    ("scale", ONE.into()),
                ];
                vec![put(0, COMPUTE, &values)]
            }
            Payload::Transpose { order, elem, dims } => {
                let half = |n: usize| {
                    let values = [
                        ("payload_kind", PERMUTE.into()),
                        ("permutation", u64::from(*order)),
                        ("half", n as u64),
                        ("elem", u64::from(*elem)),
                        ("dim_outer", u64::from(dims[2 * n])),
                        ("dim_inner", u64::from(dims[2 * n + 1])),
                    ];
                    put(n, TRANSPOSE, &values)
                };
                vec![half(0), half(1)]
            }
        }
    }
}

/// Bits of the scale 1.
pub const ONE: u32 = 1.0f32.to_bits();

fn plain(sources: &[Source]) -> bool {
    sources.iter().all(|s| s.scale == ONE)
}

/// Why META words are not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NotKnown {
    /// The class has no payload that is known, not even to the model.
    #[error("the payload of {0} is not publicly known")]
    Class(&'static str),
    /// There is no META descriptor in front.
    #[error("no META descriptor in front of the data says what is computed")]
    Absent,
    /// The words are not what the model writes.
    #[error("its META words are not those that this model writes")]
    Foreign,
}

/// Reads what a packet computes from its META descriptors and the `meta_ctrl` of its data.
///
/// # Errors
/// The words are not exactly those that [`Payload::metas`] and [`Payload::word`] make.
pub fn read(metas: &[Desc], meta_ctrl: u32) -> Result<Payload, NotKnown> {
    let word = meta_ctrl & !BARRIER;
    let readings = class::readings(word);
    let Some(class) = readings.first() else { return Err(NotKnown::Class("this operation")) };
    if readings.iter().all(|c| matches!(c.name, "striding_split" | "gradient")) {
        return Err(NotKnown::Class(class.name));
    }
    let Some(first) = metas.first() else { return Err(NotKnown::Absent) };
    let get = |d: &Desc, table: &'static [Field], name: &str| {
        table.iter().find(|f| f.name == name).map_or(0, |f| d.get(f))
    };
    let sum = |op| Payload::Sum {
        op,
        sources: metas
            .iter()
            .map(|d| Source {
                dtype: get(d, COMPUTE, "from") as u8,
                scale: get(d, COMPUTE, "scale") as u32,
            })
            .collect(),
        to: get(first, COMPUTE, "to") as u8,
    };
    let payload = match (kind(*first), get(first, COMPUTE, "sub_op")) {
        (SUM, 0 | 1) => sum(SubOp::Add),
        (SUM, 2) => sum(SubOp::Max),
        (SUM, 3) => sum(SubOp::Min),
        (CAST, _) => Payload::Cast {
            from: get(first, COMPUTE, "from") as u8,
            to: get(first, COMPUTE, "to") as u8,
        },
        (PERMUTE, _) => {
            let second = metas.get(1).ok_or(NotKnown::Foreign)?;
            let dim = |d, name| get(d, TRANSPOSE, name) as u16;
            Payload::Transpose {
                order: get(first, TRANSPOSE, "permutation") as u8,
                elem: get(first, TRANSPOSE, "elem") as u8,
                dims: [
                    dim(first, "dim_outer"),
                    dim(first, "dim_inner"),
                    dim(second, "dim_outer"),
                    dim(second, "dim_inner"),
                ],
            }
        }
        _ => return Err(NotKnown::Foreign),
    };
    let named = |list: &[(u8, &str)], n: u8| list.iter().any(|(v, _)| *v == n);
    let sane = match &payload {
        Payload::Sum { sources, to, .. } => {
            sources.len() <= MAX_SOURCES
                && named(IR_DTYPES, *to)
                && sources.iter().all(|s| named(IR_DTYPES, s.dtype))
        }
        Payload::Cast { from, to } => named(IR_DTYPES, *from) && named(IR_DTYPES, *to),
        Payload::Transpose { order, elem, .. } => named(IR_TRANSPOSES, *order) && *elem > 0,
    };
    if sane && payload.word() == word && payload.metas() == metas {
        Ok(payload)
    } else {
        Err(NotKnown::Foreign)
    }
}

/// The write barrier's bit, which any class word may carry.
pub const BARRIER: u32 = 1 << 26;

fn kind(d: Desc) -> u8 {
    COMPUTE.first().map_or(0, |f| d.get(f)) as u8
}

/// The fields of a META descriptor's words as the model reads them; `None` where its kind is
/// none of the model's, or does not go with its class word. The descriptor's neighbours are not
/// looked at: only [`read`] says whether the packet as a whole is understood.
pub fn fields(d: Desc) -> Option<&'static [Field]> {
    let names: &[&str] = match kind(d) {
        SUM => &["add", "fma", "min_max"],
        CAST => &["cce_ext"],
        PERMUTE => &["transpose"],
        _ => return None,
    };
    if d.view(super::Dir::Tx) != View::Meta
        || !class::readings(d.word1).iter().any(|c| names.contains(&c.name))
    {
        return None;
    }
    Some(if kind(d) == PERMUTE { TRANSPOSE } else { COMPUTE })
}

/// A META descriptor's payload in words, where the model knows it.
pub fn words(d: Desc) -> Option<String> {
    let table = fields(d)?;
    let get = |name: &str| table.iter().find(|f| f.name == name).map_or(0, |f| d.get(f));
    let said = |name: &str| {
        table.iter().find(|f| f.name == name).map_or_else(String::new, |f| f.words(d.get(f)))
    };
    Some(match kind(d) {
        SUM => {
            let (n, of) = (get("source") + 1, get("last_source") + 1);
            let (from, to, scale) = (said("from"), said("to"), said("scale"));
            format!("source {n} of {of} is {from}, scaled by {scale}; the result is {to}")
        }
        CAST => format!("a cast from {} to {}", said("from"), said("to")),
        _ => {
            let dims = if get("half") == 0 { "W and Z" } else { "Y and X" };
            format!(
                "a transpose to {} of {}-byte elements; {dims} are {} and {}",
                said("permutation"),
                get("elem"),
                get("dim_outer"),
                get("dim_inner")
            )
        }
    })
}

#[cfg(test)]
#[path = "payload_tests.rs"]
mod tests;
