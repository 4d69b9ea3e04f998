//! One descriptor in words: a sentence, every field, the set flags by name, and what is
//! remarkable about it (`docs/wire.md`).
//!
//! `decode`, the inspector and the checks all speak through this room; it takes every bit
//! position from the field table.

use super::arch::Generation;
use super::class::{self, Class, Family};
use super::desc::{Desc, Dir, View};
use super::field::{FIELDS, Field, Kind, Word};
use super::payload;
use super::template::Template;
use crate::udma::count_of;
use std::borrow::Cow;
use std::fmt::Write as _;

/// The field of that name in a view. In a `const` a name that does not exist fails to
/// compile, because the search runs off the table.
pub(crate) const fn named(view: View, name: &str) -> &'static Field {
    let mut i = 0;
    loop {
        let f = &FIELDS[i];
        if f.views.has(view) && same(f.name.as_bytes(), name.as_bytes()) {
            return f;
        }
        i += 1;
    }
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Bits of `word` that a view keeps at zero.
const fn reserved(view: View, word: Word) -> u32 {
    let mut mask = 0;
    let mut i = 0;
    while i < FIELDS.len() {
        let f = &FIELDS[i];
        if f.views.has(view)
            && f.word as u8 == word as u8
            && matches!(f.kind, Kind::Reserved)
            && f.width < 64
        {
            mask |= f.mask();
        }
        i += 1;
    }
    mask as u32
}

const TX_LEN_RESERVED: u32 = reserved(View::Tx, Word::LenCtrl);
const RX_LEN_RESERVED: u32 = reserved(View::Rx, Word::LenCtrl);
const META_LEN_RESERVED: u32 = reserved(View::Meta, Word::LenCtrl);
const META_CTRL_RESERVED: u32 = reserved(View::Tx, Word::MetaCtrl);
const NOTIFICATION: &Field = named(View::Tx, "notification");
const WRITE_BARRIER: &Field = named(View::Tx, "write_barrier");
const DMB: &Field = named(View::Tx, "dmb");
const STRONG_ORDER: &Field = named(View::Rx, "strong_order");
const INT_EN: &Field = named(View::Tx, "int_en");
const OP_TYPE: &Field = named(View::Tx, "op_type");

/// Something worth saying about one descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// A code of the diagnostic table.
    pub code: &'static str,
    /// What is the case, without the place.
    pub text: Cow<'static, str>,
}

/// Whether a word sets a one-bit field.
fn on(field: &Field, word: u32) -> bool {
    field.get(u64::from(word)) != 0
}

/// Bits of `meta_ctrl` that are set although the word's class leaves them reserved. A bit that
/// the overlay of a fitting class uses is not one of them.
fn meta_ctrl_reserved(meta_ctrl: u32) -> u32 {
    let bad = meta_ctrl & META_CTRL_RESERVED;
    if bad == 0 {
        return 0;
    }
    let used = class::readings(meta_ctrl)
        .iter()
        .flat_map(|c| c.fields)
        .fold(0, |mask, f| mask | f.mask() as u32);
    bad & !used
}

/// Reserved bits that are set, per 32-bit word of the descriptor: (`len_ctrl`, word 1).
pub fn reserved_bits(desc: Desc, dir: Dir) -> (u32, u32) {
    match desc.view(dir) {
        View::Tx => (desc.len_ctrl & TX_LEN_RESERVED, meta_ctrl_reserved(desc.word1)),
        View::Meta => (desc.len_ctrl & META_LEN_RESERVED, meta_ctrl_reserved(desc.word1)),
        View::Rx => (desc.len_ctrl & RX_LEN_RESERVED, 0),
    }
}

/// Whether [`notes`] would find nothing; cheap, for scanning large images.
pub fn is_plain(desc: Desc, dir: Dir, arch: Generation) -> bool {
    if desc.is_zero() {
        return true;
    }
    let quiet = desc.length() != 65_536 && Template::parse(desc.ptr).is_none();
    quiet
        && match desc.view(dir) {
            View::Meta => false,
            View::Rx => {
                desc.len_ctrl & RX_LEN_RESERVED == 0
                    && desc.word1 == 0
                    && (arch != Generation::V2 || !on(STRONG_ORDER, desc.len_ctrl))
            }
            View::Tx => {
                desc.len_ctrl & TX_LEN_RESERVED == 0
                    && desc.word1 & META_CTRL_RESERVED == 0
                    && class::is_copy(desc.word1)
                    && (arch >= Generation::V4 || !on(NOTIFICATION, desc.word1))
            }
        }
}

/// What is remarkable about a descriptor; nothing for a slot that was never used.
pub fn notes(desc: Desc, dir: Dir, arch: Generation) -> Vec<Note> {
    if is_plain(desc, dir, arch) {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut say = |code, text: Cow<'static, str>| out.push(Note { code, text });
    let view = desc.view(dir);
    let (len_bits, ctrl_bits) = reserved_bits(desc, dir);
    if len_bits != 0 {
        say("D010", format!("len_ctrl has reserved bits set: {len_bits:#010x}").into());
    }
    if ctrl_bits != 0 {
        say("D010", format!("meta_ctrl has reserved bits set: {ctrl_bits:#010x}").into());
    }
    if view != View::Meta && desc.length() == 65_536 {
        say("D011", "length 0 stands for 65536 bytes".into());
    }
    match view {
        View::Meta => {
            let clear = if desc.first() { "" } else { ", and FIRST, which META has set, is clear" };
            say("D012", format!("META index is {}{clear}", meta_index_words(desc)).into());
        }
        View::Tx => class_notes(desc.word1, &mut say),
        View::Rx if desc.word1 != 0 => {
            say("D016", format!("buf2_ptr_lo is {:#010x}, not zero", desc.word1).into());
        }
        View::Rx => {}
    }
    if let Some(t) = Template::parse(desc.ptr).filter(|_| view != View::Meta) {
        say("D015", format!("the address is variable {} + {:#x}", t.var, t.offset).into());
    }
    if view != View::Rx && arch < Generation::V4 && on(NOTIFICATION, desc.word1) {
        say("D023", format!("notification is set, which {arch} does not have").into());
    }
    if view == View::Rx && arch == Generation::V2 && on(STRONG_ORDER, desc.len_ctrl) {
        say("D024", "strongly ordered write on v2, which user space refuses".into());
    }
    out
}

fn class_notes(meta_ctrl: u32, say: &mut impl FnMut(&'static str, Cow<'static, str>)) {
    let readings = class::readings(meta_ctrl);
    match readings.as_slice() {
        [] => {
            let (ssmae, op_type) = class::selector(meta_ctrl);
            let text = format!("no known class has ssmae_op {ssmae} with op_type {op_type}");
            say("D014", text.into());
        }
        [_] => {}
        many => say("D013", format!("the operation reads as {}", class_names(many)).into()),
    }
}

/// `add or min_max`.
fn class_names(classes: &[&'static Class]) -> String {
    classes.iter().map(|c| c.name).collect::<Vec<_>>().join(" or ")
}

/// The set flags by the names that the field table gives them, highest bit first.
pub fn flags(desc: Desc, dir: Dir) -> Vec<&'static str> {
    let view = desc.view(dir);
    // The low bits of another class than copy are not flags of the main table.
    let overlaid = view != View::Rx
        && class::readings(desc.word1).first().is_some_and(|c| !c.fields.is_empty());
    FIELDS
        .iter()
        .filter(|f| f.views.has(view) && f.kind == Kind::Flag && desc.get(f) != 0)
        .filter(|f| !(overlaid && f.word == Word::MetaCtrl && f.hi() < OP_TYPE.lo))
        .map(|f| f.name)
        .collect()
}

/// One field of a descriptor with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRow {
    /// The word.
    pub word: Word,
    /// Name in expressions.
    pub name: &'static str,
    /// Name on the ruler.
    pub label: &'static str,
    /// Highest bit.
    pub hi: u8,
    /// Lowest bit.
    pub lo: u8,
    /// The value.
    pub value: u64,
    /// The value in words.
    pub words: String,
    /// What the field is for.
    pub meaning: &'static str,
    /// The class whose reading of the word this is; `None` for what holds under every reading.
    pub class: Option<&'static str>,
}

impl FieldRow {
    /// `31`, or `25:24`.
    pub fn bits(&self) -> String {
        if self.hi == self.lo { self.hi.to_string() } else { format!("{}:{}", self.hi, self.lo) }
    }
}

fn row(f: &Field, value: u64, words: String, class: Option<&'static str>) -> FieldRow {
    let (hi, lo) = (f.hi(), f.lo);
    let Field { word, name, label, meaning, .. } = *f;
    FieldRow { word, name, label, hi, lo, value, words, meaning, class }
}

/// Every field of a descriptor, word by word, highest bit first. Where `meta_ctrl` is of
/// another class than copy its low bits are listed once per reading, so that within each
/// reading every bit is named once.
pub fn explain(desc: Desc, dir: Dir, arch: Generation) -> Vec<FieldRow> {
    let view = desc.view(dir);
    Word::of(view).iter().flat_map(|&w| explain_word_of(desc, w, view, arch)).collect()
}

/// Every field of one word of a descriptor; see [`explain`]. Other than [`explain_word`] it
/// sees the other words: the parameter words of META are also listed as the model's payload
/// where they hold one.
pub fn explain_word_of(desc: Desc, word: Word, view: View, arch: Generation) -> Vec<FieldRow> {
    let mut rows = explain_word(word, view, desc.word(word), arch);
    if view == View::Meta
        && let Some(fields) = payload::fields(desc)
    {
        let inside = fields.iter().filter(|f| f.word == word);
        rows.extend(inside.map(|f| {
            let value = desc.get(f);
            row(f, value, f.words(value), Some(PAYLOAD))
        }));
    }
    rows
}

/// What the rows of a META payload are read as.
pub const PAYLOAD: &str = "payload (MODEL)";

/// Every field of one word of a view; see [`explain`].
pub fn explain_word(word: Word, view: View, value: u64, arch: Generation) -> Vec<FieldRow> {
    let readings = if word == Word::MetaCtrl { class::readings(value as u32) } else { Vec::new() };
    let overlaid: Vec<_> = readings.iter().filter(|c| !c.fields.is_empty()).collect();
    let mut rows: Vec<FieldRow> = super::field::fields_of(view, word)
        .filter(|f| overlaid.is_empty() || f.hi() >= OP_TYPE.lo)
        .map(|f| {
            let v = f.get(value);
            let words = match f.kind {
                Kind::Address => address_words(v, arch),
                _ if f.name == OP_TYPE.name && !readings.is_empty() => {
                    format!("{v}: {}", class_names(&readings))
                }
                _ => f.words(v),
            };
            row(f, v, words, None)
        })
        .collect();
    for class in overlaid {
        rows.extend(overlay_rows(class, value));
    }
    rows
}

/// The fields of one class in a `meta_ctrl`, with the bits in between that it does not name.
fn overlay_rows(class: &'static Class, value: u64) -> Vec<FieldRow> {
    let mut rows = Vec::new();
    let mut top = OP_TYPE.lo;
    let gap = |hi: u8, lo: u8| {
        let f = super::field::op_field(
            ("unnamed", "-"),
            (hi, lo),
            Kind::Number,
            "Bits that this class does not name.",
        );
        row(&f, f.get(value), f.get(value).to_string(), Some(class.name))
    };
    for f in class.fields {
        if f.hi() + 1 < top {
            rows.push(gap(top - 1, f.hi() + 1));
        }
        rows.push(row(f, f.get(value), f.words(f.get(value)), Some(class.name)));
        top = top.min(f.lo);
    }
    if top > 0 {
        rows.push(gap(top - 1, 0));
    }
    rows
}

/// A number in hex, digits grouped by four, at least eight of them.
pub fn grouped_hex(value: u64) -> String {
    let mut out = String::from("0x");
    let groups = (67 - value.leading_zeros() as usize).div_ceil(16).clamp(2, 4);
    for i in (0..groups).rev() {
        let _ = write!(out, "{:04x}", value >> (16 * i) & 0xffff);
        if i > 0 {
            out.push('_');
        }
    }
    out
}

/// An address in words: `host 0x0100_2000` without the host window's bit, `variable 5 + 0x10`
/// for a symbolic one, else the bare number.
pub fn address_words(ptr: u64, arch: Generation) -> String {
    match Template::parse(ptr) {
        Some(t) => format!("variable {} + {:#x}", t.var, t.offset),
        None if arch.is_host(ptr) => format!("host {}", grouped_hex(ptr & !arch.host_base())),
        None => grouped_hex(ptr),
    }
}

/// The descriptor in one sentence, for a reader who does not know the format.
pub fn sentence(desc: Desc, dir: Dir, arch: Generation) -> String {
    if desc.is_zero() {
        return "sixteen zero bytes, no descriptor".to_owned();
    }
    let view = desc.view(dir);
    if view == View::Meta {
        return meta_sentence(desc);
    }
    let mut out = match (desc.length(), view) {
        (1, _) => "1 byte".to_owned(),
        (n, _) => count_of(n, "byte"),
    };
    out.push_str(if dir == Dir::Tx { " from " } else { " to " });
    out.push_str(&address_words(desc.ptr, arch));
    if view == View::Tx && !class::is_copy(desc.word1) {
        out.push_str(", ");
        out.push_str(&operation_words(desc.word1));
    }
    out.push_str(packet_words(desc, dir));
    if view == View::Tx && on(DMB, desc.len_ctrl) {
        out.push_str(", after the writes of earlier packets (DMB)");
    }
    if view == View::Tx && on(WRITE_BARRIER, desc.word1) {
        out.push_str(", ordered by a write barrier");
    }
    if view == View::Rx && on(STRONG_ORDER, desc.len_ctrl) {
        out.push_str(", written after all earlier writes (strongly ordered)");
    }
    if on(INT_EN, desc.len_ctrl) {
        out.push_str(", interrupts when done");
    }
    let _ = write!(out, ", phase {}", desc.ring_id());
    out
}

/// The index of a META descriptor as far as it can be read back: `1 or 5`.
pub fn meta_index_words(desc: Desc) -> String {
    match desc.meta_index_or() {
        Some(other) => format!("{} or {other}", desc.meta_index()),
        None => desc.meta_index().to_string(),
    }
}

fn meta_sentence(desc: Desc) -> String {
    let mut out = format!(
        "parameters (META) with index {}: {:#010x} and {:#010x}; moves no data",
        meta_index_words(desc),
        desc.word(Word::Meta1),
        desc.word(Word::Meta2)
    );
    if let Some(words) = payload::words(desc) {
        let _ = write!(out, "; MODEL: {words}");
    }
    out
}

fn operation_words(meta_ctrl: u32) -> String {
    let readings = class::readings(meta_ctrl);
    match readings.as_slice() {
        [] => "an unknown operation".to_owned(),
        [c] if c.family == Family::Sdma && c.fields.len() == 1 => {
            let f = &c.fields[0];
            format!("{} ({} {})", c.name, f.name, f.get(u64::from(meta_ctrl)))
        }
        many => class_names(many),
    }
}

fn packet_words(desc: Desc, dir: Dir) -> &'static str {
    match (desc.first(), desc.last(), desc.concat()) {
        (true, true, false) => ", a packet of its own",
        (true, false, true) => ", first of its packet",
        (false, true, false) => ", last of its packet",
        (false, false, true) => ", inside its packet",
        (false, false, false) if dir == Dir::Rx => "",
        _ => ", with packet flags that fit no packet",
    }
}

/// The class names that a `meta_ctrl` admits, most likely first; `cme` or `unknown` alone
/// where none fits.
pub fn op_names(meta_ctrl: u32) -> Vec<&'static str> {
    let readings = class::readings(meta_ctrl);
    if readings.is_empty() {
        return vec![class::name(meta_ctrl)];
    }
    readings.iter().map(|c| c.name).collect()
}

#[cfg(test)]
#[path = "describe_tests.rs"]
mod tests;
