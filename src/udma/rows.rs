//! One descriptor as a row: the JSON object and the text line of `decode` (`docs/json.md`).
//!
//! Rows are appended to a buffer without a formatter in between, so that an image of millions
//! of slots prints as fast as it is read. Every bit position comes from the field table.

use crate::udma::class::{self, Class};
use crate::udma::describe::{grouped_hex, is_plain, meta_index_words, named, op_names};
use crate::udma::{Desc, Dir, Field, Generation, View, Word, digits, field, notes, payload};
use serde_json::Value;

const DMB: &Field = named(View::Tx, "dmb");
const STRONG_ORDER: &Field = named(View::Rx, "strong_order");
const INT_EN: &Field = named(View::Tx, "int_en");
const WRITE_BARRIER: &Field = named(View::Tx, "write_barrier");
const NOTIFICATION: &Field = named(View::Tx, "notification");

/// Appends `0x` and so many hex digits.
pub fn push_hex(out: &mut String, value: u64, digits: u32) {
    out.push_str("0x");
    push_digits(out, value, digits);
}

fn push_digits(out: &mut String, value: u64, digits: u32) {
    let all = digits::hex16(value);
    digits::push(out, all.get(all.len() - digits.min(16) as usize..).unwrap_or_default());
}

/// Appends a decimal number.
pub fn push_number(out: &mut String, value: u64) {
    digits::push(out, digits::decimal(value, &mut [0; digits::MOST]));
}

/// Appends a descriptor's bytes in memory order, 32 digits.
pub fn push_bytes(out: &mut String, desc: Desc) {
    let both = u128::from_le_bytes(desc.to_bytes()).swap_bytes();
    push_digits(out, (both >> 64) as u64, 16);
    push_digits(out, both as u64, 16);
}

fn key(out: &mut String, name: &str) {
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
}

/// Appends a key with a truth value: one text of each.
macro_rules! flag {
    ($out:expr, $name:literal, $value:expr) => {
        $out.push_str(if $value {
            concat!(",\"", $name, "\":true")
        } else {
            concat!(",\"", $name, "\":false")
        })
    };
}

fn hex(out: &mut String, name: &str, value: u64, digits: u32) {
    key(out, name);
    out.push('"');
    push_hex(out, value, digits);
    out.push('"');
}

/// Appends the JSON object of one slot, without a line end.
///
/// On META the flags and the phase are the bits as they lie; they belong to its index.
pub fn push_json(out: &mut String, index: u64, dir: Dir, desc: Desc, arch: Generation) {
    let len_ctrl = u64::from(desc.len_ctrl);
    let view = desc.view(dir);
    let meta = view == View::Meta;
    out.push_str("{\"index\":");
    push_number(out, index);
    out.push_str(",\"ring\":\"");
    out.push_str(dir.name());
    out.push('"');
    hex(out, Word::LenCtrl.name(), len_ctrl, 8);
    let second = if dir == Dir::Tx { Word::MetaCtrl } else { Word::Buf2PtrLo };
    hex(out, second.name(), desc.word1.into(), 8);
    if meta {
        hex(out, Word::Meta1.name(), desc.word(Word::Meta1), 8);
        hex(out, Word::Meta2.name(), desc.word(Word::Meta2), 8);
        key(out, "meta_index");
        push_number(out, desc.meta_index().into());
    } else {
        hex(out, Word::BufPtr.name(), desc.ptr, 16);
    }
    key(out, "length");
    push_number(out, desc.length());
    key(out, "ring_id");
    push_number(out, desc.ring_id().into());
    flag!(out, "first", desc.first());
    flag!(out, "last", desc.last());
    flag!(out, "concat", desc.concat());
    flag!(out, "dmb", dir == Dir::Tx && DMB.get(len_ctrl) != 0);
    flag!(out, "strong_order", dir == Dir::Rx && STRONG_ORDER.get(len_ctrl) != 0);
    flag!(out, "int_en", INT_EN.get(len_ctrl) != 0);
    flag!(out, "meta", meta);
    if dir == Dir::Tx {
        push_op(out, desc.word1);
        flag!(out, "write_barrier", WRITE_BARRIER.get(desc.word1.into()) != 0);
        flag!(out, "notification", NOTIFICATION.get(desc.word1.into()) != 0);
    }
    if meta && let Some(words) = payload::words(desc) {
        key(out, "payload_model");
        out.push_str(&serde_json::Value::from(words).to_string());
    }
    push_notes(out, desc, dir, arch);
    out.push('}');
}

fn push_op(out: &mut String, meta_ctrl: u32) {
    if class::is_copy(meta_ctrl) {
        out.push_str(",\"op\":\"copy\"");
        return;
    }
    match op_names(meta_ctrl).as_slice() {
        [one] => {
            out.push_str(",\"op\":\"");
            out.push_str(one);
            out.push('"');
        }
        many => {
            out.push_str(",\"ops\":[\"");
            out.push_str(&many.join("\",\""));
            out.push_str("\"]");
        }
    }
}

fn push_notes(out: &mut String, desc: Desc, dir: Dir, arch: Generation) {
    out.push_str(",\"notes\":[");
    for (i, note) in notes(desc, dir, arch).into_iter().enumerate() {
        out.push_str(if i == 0 { "{\"code\":\"" } else { ",{\"code\":\"" });
        out.push_str(note.code);
        out.push_str("\",\"text\":");
        out.push_str(&Value::from(note.text.as_ref()).to_string());
        out.push('}');
    }
    out.push(']');
}

/// The heading of the text table.
pub const HEADING: &str =
    "      slot  ph  F L C  order  int  op               length  address                notes";

fn pad(out: &mut String, start: usize, width: usize) {
    while out.len() < start + width {
        out.push(' ');
    }
}

/// The line of a used descriptor that is as most are. The columns that are not blank in it are
/// written over.
const LINE: [u8; 78] =
    *b"tx                            -    copy                     0x0000000000000000";
/// Digits of a slot's number that its column has; a longer one moves what stands before `int`.
const SLOT_DIGITS: usize = 7;
/// By how much it can.
const ROOM: usize = 2;
/// Where `int` stands.
const INT_AT: usize = 30;

/// Writes a column's text from `at` on; what does not fit is left out.
fn put(line: &mut [u8; LINE.len()], at: usize, text: &[u8]) {
    if let Some(to) = line.get_mut(at..at + text.len()) {
        to.copy_from_slice(text);
    }
}

/// Appends the text line of one slot, without a line end.
pub fn push_text(out: &mut String, index: u64, dir: Dir, desc: Desc, arch: Generation) {
    // Length 0 is the one thing with a note that large copies are full of.
    let full = desc.len_ctrl & 0xffff == 0;
    let asked = Desc { len_ctrl: desc.len_ctrl | u32::from(full), ..desc };
    if desc.is_zero()
        || index >= 10u64.pow((SLOT_DIGITS + ROOM) as u32)
        || !is_plain(asked, dir, arch)
    {
        return push_text_plainly(out, index, dir, desc, arch);
    }
    let mut line = LINE;
    let mut room = [0; digits::MOST];
    let len_ctrl = u64::from(desc.len_ctrl);
    put(&mut line, 0, dir.name().as_bytes());
    let number = digits::decimal(index, &mut room);
    let on = number.len().saturating_sub(SLOT_DIGITS).min(ROOM);
    // Both barriers behind a long number move the column after theirs, too.
    if on > 0 && 23 + on + order(dir, desc).len() > INT_AT {
        return push_text_plainly(out, index, dir, desc, arch);
    }
    put(&mut line, 10 + on - number.len().min(10), number);
    line[13 + on] = b'0' + desc.ring_id();
    for (at, set, c) in
        [(16, desc.first(), b'F'), (18, desc.last(), b'L'), (20, desc.concat(), b'C')]
    {
        line[at + on] = if set { c } else { b'.' };
    }
    put(&mut line, 23 + on, order(dir, desc).as_bytes());
    if INT_EN.get(len_ctrl) != 0 {
        put(&mut line, INT_AT, INT_EN.label.as_bytes());
    }
    if dir == Dir::Rx {
        put(&mut line, 35, b"write");
    }
    let number = digits::decimal(desc.length(), &mut room);
    put(&mut line, 58 - number.len().min(58), number);
    put(&mut line, 62, &digits::hex16(desc.ptr));
    digits::push(out, &line);
    if full {
        out.push_str("     D011");
    }
}

/// The same of any descriptor, column by column: the plain twin.
pub fn push_text_plainly(out: &mut String, index: u64, dir: Dir, desc: Desc, arch: Generation) {
    let start = out.len();
    out.push_str(dir.name());
    let digits = index.checked_ilog10().unwrap_or(0) as usize + 1;
    pad(out, start, 10usize.saturating_sub(digits).max(3));
    push_number(out, index);
    out.push_str("   ");
    if desc.is_zero() {
        out.push_str("-  never written");
        return;
    }
    let view = desc.view(dir);
    if view == View::Meta {
        out.push_str("-  META index ");
        out.push_str(&meta_index_words(desc));
        pad(out, start, 60);
        push_hex(out, desc.word(Word::Meta1), 8);
        out.push(' ');
        push_hex(out, desc.word(Word::Meta2), 8);
    } else {
        push_data(out, start, (dir, view), desc);
    }
    let notes = notes(desc, dir, arch);
    if !notes.is_empty() {
        pad(out, start, 82);
        for note in notes {
            out.push(' ');
            out.push_str(note.code);
        }
    }
    if view == View::Meta
        && let Some(words) = payload::words(desc)
    {
        out.push_str("  MODEL: ");
        out.push_str(&words);
    }
    while out.ends_with(' ') {
        out.pop();
    }
}

/// Both barriers that a Tx descriptor may have, as wide as the column is.
const BOTH_BARRIERS: &str = "DMB+WB";

/// What orders a descriptor, by its label.
fn order(dir: Dir, desc: Desc) -> &'static str {
    let len_ctrl = u64::from(desc.len_ctrl);
    let write_barrier = WRITE_BARRIER.get(desc.word1.into()) != 0;
    match dir {
        Dir::Tx if DMB.get(len_ctrl) != 0 && write_barrier => BOTH_BARRIERS,
        Dir::Tx if DMB.get(len_ctrl) != 0 => DMB.label,
        Dir::Tx if write_barrier => WRITE_BARRIER.label,
        Dir::Rx if STRONG_ORDER.get(len_ctrl) != 0 => STRONG_ORDER.label,
        _ => "-",
    }
}

fn push_data(out: &mut String, start: usize, (dir, view): (Dir, View), desc: Desc) {
    let len_ctrl = u64::from(desc.len_ctrl);
    push_number(out, desc.ring_id().into());
    out.push_str("  ");
    for (set, c) in [(desc.first(), 'F'), (desc.last(), 'L'), (desc.concat(), 'C')] {
        out.push(if set { c } else { '.' });
        out.push(' ');
    }
    out.push(' ');
    out.push_str(order(dir, desc));
    pad(out, start, 30);
    out.push_str(if INT_EN.get(len_ctrl) != 0 { INT_EN.label } else { "-" });
    pad(out, start, 35);
    if view == View::Tx {
        match op_names(desc.word1).as_slice() {
            [one] => out.push_str(one),
            [first, ..] => {
                out.push_str(first);
                out.push('?');
            }
            [] => {}
        }
    } else {
        out.push_str("write");
    }
    let length = desc.length();
    let digits = length.ilog10() as usize + 1;
    pad(out, start, 58 - digits);
    push_number(out, length);
    out.push_str("  ");
    push_hex(out, desc.ptr, 16);
}

/// Every field of a word as a JSON object, for words given on the command line.
pub fn word_json(word: Word, view: View, value: u64, arch: Generation) -> Value {
    let fields: Vec<Value> = crate::udma::explain_word(word, view, value, arch)
        .into_iter()
        .map(|r| {
            let mut o = serde_json::json!({
                "name": r.name, "bits": r.bits(), "value": r.value, "text": r.words,
                "meaning": r.meaning,
            });
            if let (Some(class), Some(o)) = (r.class, o.as_object_mut()) {
                o.insert("class".into(), class.into());
            }
            o
        })
        .collect();
    serde_json::json!({
        "word": word.name(),
        "ring": if view == View::Rx { Dir::Rx.name() } else { Dir::Tx.name() },
        "value": hex_string(value, u32::from(word.bits()) / 4),
        "fields": fields,
    })
}

/// `0x` and so many digits.
pub fn hex_string(value: u64, digits: u32) -> String {
    let mut out = String::with_capacity(2 + digits as usize);
    push_hex(&mut out, value, digits);
    out
}

/// The lines that name every field of a word.
pub fn word_text(word: Word, view: View, value: u64, arch: Generation) -> Vec<String> {
    let shown = match word {
        Word::BufPtr => grouped_hex(value),
        _ => hex_string(value, 8),
    };
    let mut lines = vec![format!("{} {shown}", word.name())];
    let mut class = None;
    for r in crate::udma::explain_word(word, view, value, arch) {
        if r.class != class {
            class = r.class;
            if let Some(c) = class {
                let about = class_of(c).map_or("", |c| c.meaning);
                lines.push(format!("  read as {c}: {about}"));
            }
        }
        lines.push(format!("  {:>5}  {:<18} {:<24} {}", r.bits(), r.name, r.words, r.meaning));
    }
    lines
}

/// The lines that name every field of a META descriptor's payload, where the model knows it.
pub fn payload_text(desc: Desc) -> Vec<String> {
    let Some(fields) = payload::fields(desc) else { return Vec::new() };
    let mut lines = vec!["payload (MODEL)".to_owned()];
    for f in fields {
        let bits = if f.width == 1 { f.lo.to_string() } else { format!("{}:{}", f.hi(), f.lo) };
        let (place, words) = (format!("{} {bits}", f.word.name()), f.words(desc.get(f)));
        lines.push(format!("  {place:>11}  {:<18} {words:<24} {}", f.name, f.meaning));
    }
    lines
}

fn class_of(name: &str) -> Option<&'static Class> {
    class::CLASSES.iter().find(|c| c.name == name)
}

/// The view in which two words are a Tx or an Rx descriptor's.
pub fn view_of(dir: Dir, len_ctrl: u32) -> View {
    Desc { len_ctrl, ..Desc::default() }.view(dir)
}

/// Whether the table has a field of that name, in any view; for `explain`.
pub fn find_field(name: &str) -> Option<(&'static Field, View)> {
    View::ALL.into_iter().find_map(|v| field::find(v, name).map(|f| (f, v)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(desc: Desc, dir: Dir) -> Value {
        let mut s = String::new();
        push_json(&mut s, 7, dir, desc, Generation::V3);
        serde_json::from_str(&s).unwrap_or(Value::Null)
    }

    proptest! {
        /// A row is JSON, and its words give back the sixteen bytes.
        #[test]
        fn a_row_holds_the_whole_descriptor(b in any::<[u8; 16]>(), rx in any::<bool>()) {
            let d = Desc::from_bytes(&b);
            let dir = if rx { Dir::Rx } else { Dir::Tx };
            let row = parsed(d, dir);
            let word = |name: &str| {
                let digits = row[name].as_str().and_then(|s| s.strip_prefix("0x")).unwrap_or("");
                u64::from_str_radix(digits, 16).ok()
            };
            let mut again = Desc::default();
            for &w in Word::of(d.view(dir)) {
                prop_assert!(word(w.name()).is_some(), "{} {}", w.name(), row);
                again = again.with_word(w, word(w.name()).unwrap_or(0));
            }
            prop_assert_eq!(again, d);
            prop_assert_eq!(row["index"].as_u64(), Some(7));
            prop_assert_eq!(row["length"].as_u64(), Some(d.length()));
            prop_assert!(rx || row["op"].is_string() != row["ops"].is_array());
            let mut line = String::new();
            push_text(&mut line, u64::from(b[0]) << 40, dir, d, Generation::V2);
            prop_assert!(!line.ends_with(' '));
        }

        /// What is written over a line is the line that is put together column by column.
        #[test]
        fn a_plain_line_is_the_line(
            bit in 0u32..128, more in any::<u128>(), rx in any::<bool>(), arch in 0usize..3,
            index in prop_oneof![
                0u64..20, 9_999_990u64..10_000_010, 99_999_990u64..100_000_010,
                999_999_990u64..1_000_000_010, any::<u64>(),
            ],
        ) {
            let dir = if rx { Dir::Rx } else { Dir::Tx };
            let word1 = if rx { 0u128 } else { 0x0108_0003 };
            // A copy with any length, flags, address; and that with a bit more.
            let like = word1 << 32 | 0x0100_0000 | more & (0x3fff_u128 << 80 | 0xff00_ffff);
            for bits in [like, like ^ 1 << bit, like & !0xffff, more, 0] {
                let d = Desc::from_bytes(&bits.to_le_bytes());
                let arch = [Generation::V2, Generation::V3, Generation::V4][arch];
                let (mut fast, mut plain) = (String::from("x"), String::from("x"));
                push_text(&mut fast, index, dir, d, arch);
                push_text_plainly(&mut plain, index, dir, d, arch);
                prop_assert_eq!(fast, plain);
            }
        }

        #[test]
        fn numbers_print_as_the_formatter_does(n in any::<u64>()) {
            let mut s = String::new();
            push_number(&mut s, n);
            push_hex(&mut s, n, 16);
            prop_assert_eq!(s, format!("{n}{n:#018x}"));
        }
    }

    #[test]
    fn columns_stand_below_their_headings() {
        let mut s = String::new();
        let d = Desc { len_ctrl: 0x0d01_1000, word1: 0x0508_0003, ptr: 0x4000_0100_2000 };
        push_text(&mut s, 16, Dir::Tx, d, Generation::V3);
        assert_eq!(
            s,
            "tx      16   1  F L .  WBAR   -    copy               4096  0x0000400001002000     D010"
        );
        for (head, text) in
            [("order", "WBAR"), ("op", "copy"), ("address", "0x0000"), ("notes", "D010")]
        {
            assert_eq!(HEADING.find(head), s.find(text), "{head}");
        }
        assert_eq!(HEADING.find("length").map(|i| i + 6), s.find("4096").map(|i| i + 4));
        // Neither barrier hides the other.
        s.clear();
        push_text(&mut s, 16, Dir::Tx, Desc { len_ctrl: 0x4d00_1000, ..d }, Generation::V3);
        assert_eq!(HEADING.find("order"), s.find("DMB+WB -    copy"), "{s}");
        s.clear();
        push_text(&mut s, 3, Dir::Rx, Desc::default(), Generation::V3);
        assert_eq!(s, "rx       3   -  never written");
    }
}
