//! Descriptors as a table: a row a slot, empty ones too, a column a field
//! (`docs/export.md`, "Descriptors").

use crate::engine::program::QueueId;
use crate::engine::ring::json::push_number;
use crate::udma::class;
use crate::udma::describe::{named, op_names};
use crate::udma::{Desc, Dir, Field, View, digits};

const DMB: &Field = named(View::Tx, "dmb");
const STRONG_ORDER: &Field = named(View::Rx, "strong_order");
const INT_EN: &Field = named(View::Tx, "int_en");
const WRITE_BARRIER: &Field = named(View::Tx, "write_barrier");
const NOTIFICATION: &Field = named(View::Tx, "notification");

/// The columns, in order.
pub const DESCRIPTOR_COLUMNS: [&str; 21] = [
    "engine",
    "queue",
    "ring",
    "slot",
    "life",
    "used",
    "len_ctrl",
    "word1",
    "buf_ptr",
    "length",
    "ring_id",
    "first",
    "last",
    "concat",
    "dmb",
    "strong_order",
    "int_en",
    "meta",
    "op",
    "write_barrier",
    "notification",
];

/// A slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Queue, where it is known.
    pub queue: Option<QueueId>,
    /// Ring.
    pub dir: Dir,
    /// Slot.
    pub slot: u64,
    /// What it is at; not of an image.
    pub life: Option<&'static str>,
    /// What lies in it.
    pub desc: Desc,
}

/// The flags of a row in the order of their columns: first, last, concat, `dmb`, strong order,
/// interrupt, META; write barrier and notification.
pub(super) fn flags(dir: Dir, desc: Desc) -> ([bool; 7], [bool; 2]) {
    let len_ctrl = u64::from(desc.len_ctrl);
    let word1 = u64::from(desc.word1);
    let tx = dir == Dir::Tx;
    (
        [
            desc.first(),
            desc.last(),
            desc.concat(),
            tx && DMB.get(len_ctrl) != 0,
            !tx && STRONG_ORDER.get(len_ctrl) != 0,
            INT_EN.get(len_ctrl) != 0,
            tx && desc.is_meta(),
        ],
        [tx && WRITE_BARRIER.get(word1) != 0, tx && NOTIFICATION.get(word1) != 0],
    )
}

/// The class of a used Tx descriptor; where several fit, all of them with `|` between.
pub(super) fn op(dir: Dir, desc: Desc) -> String {
    if dir == Dir::Rx || desc.is_zero() { String::new() } else { op_names(desc.word1).join("|") }
}

/// Appends the names of the columns.
pub fn header(out: &mut Vec<u8>) {
    out.extend_from_slice(DESCRIPTOR_COLUMNS.join(",").as_bytes());
    out.push(b'\n');
}

/// Some flags in a row, a comma before each.
fn push_flags<const N: usize>(out: &mut Vec<u8>, flags: [bool; N]) {
    out.extend_from_slice(flags.map(|f| [b',', b'0' + u8::from(f)]).as_flattened());
}

/// The words of a descriptor, a comma before each and one behind them.
fn push_words(out: &mut Vec<u8>, desc: Desc) {
    let mut all = *b",0x00000000,0x00000000,0x0000000000000000,";
    all[3..11].copy_from_slice(&digits::hex8(desc.len_ctrl));
    all[14..22].copy_from_slice(&digits::hex8(desc.word1));
    all[25..41].copy_from_slice(&digits::hex16(desc.ptr));
    out.extend_from_slice(&all);
}

/// Appends a row. Flags are 0 and 1.
pub fn push_row(row: &Row, out: &mut Vec<u8>) {
    let Row { queue, dir, slot, life, desc } = *row;
    if let Some(q) = queue {
        push_number(out, q.engine.into());
        out.push(b',');
        push_number(out, q.queue.into());
    } else {
        out.push(b',');
    }
    out.push(b',');
    out.extend_from_slice(dir.name().as_bytes());
    out.push(b',');
    push_number(out, slot);
    out.push(b',');
    if let Some(life) = life {
        out.extend_from_slice(life.as_bytes());
    }
    push_flags(out, [!desc.is_zero()]);
    push_words(out, desc);
    if !desc.is_zero() {
        push_number(out, desc.length());
    }
    out.extend_from_slice(&[b',', b'0' + desc.ring_id()]);
    let (first, last) = flags(dir, desc);
    push_flags(out, first);
    if dir == Dir::Tx && class::is_copy(desc.word1) && !desc.is_zero() {
        out.extend_from_slice(b",copy");
    } else {
        out.push(b',');
        out.extend_from_slice(op(dir, desc).as_bytes());
    }
    push_flags(out, last);
    out.push(b'\n');
}
