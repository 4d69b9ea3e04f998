//! The EDIT section: what a user changed in the run (`docs/container.md`).

use super::read::{In, Res, bad, queue_id, reference};
use super::write::Data;
use crate::engine::edit::{Change, Cursor, Edit};
use crate::engine::program::{Blob, Program, QueueId};
use crate::udma::Dir;
use nom::Parser;
use nom::number::complete::{le_u8, le_u16, le_u32, le_u64};

/// Codes of the kinds of edit.
mod code {
    pub const STORE: u16 = 1;
    pub const REGISTER: u16 = 2;
    pub const CURSOR: u16 = 3;
    pub const INJECT: u16 = 4;
}

/// Least bytes of a record: event, code, and the shortest operands.
pub(super) const LEAST: usize = 8 + 2 + 12;

/// The section's bytes; nothing where there is no edit.
pub(super) fn write(p: &Program, data: &mut Data) -> Option<Vec<u8>> {
    if p.edits.is_empty() {
        return None;
    }
    let mut out = (p.edits.len() as u32).to_le_bytes().to_vec();
    for e in &p.edits {
        out.extend(e.at.to_le_bytes());
        record(&e.change, data, &mut out);
    }
    Some(out)
}

fn record(change: &Change, data: &mut Data, out: &mut Vec<u8>) {
    let queue = |out: &mut Vec<u8>, id: QueueId| {
        out.extend(id.engine.to_le_bytes());
        out.extend(id.queue.to_le_bytes());
    };
    match change {
        Change::Store { addr, bytes } => {
            out.extend(code::STORE.to_le_bytes());
            let (at, len) = data.add(bytes);
            for v in [*addr, at, len] {
                out.extend(v.to_le_bytes());
            }
        }
        Change::Register { engine, offset, value } => {
            out.extend(code::REGISTER.to_le_bytes());
            for v in [engine, offset, value] {
                out.extend(v.to_le_bytes());
            }
        }
        Change::Cursor { queue: id, dir, cursor, value } => {
            out.extend(code::CURSOR.to_le_bytes());
            queue(out, *id);
            let which = Cursor::ALL.iter().position(|c| c == cursor).unwrap_or(0) as u8;
            out.extend([ring(*dir), which]);
            out.extend(value.to_le_bytes());
        }
        Change::Inject { queue: id, dir, bit, slot } => {
            out.extend(code::INJECT.to_le_bytes());
            queue(out, *id);
            out.extend([ring(*dir), *bit, u8::from(slot.is_some())]);
            out.extend(slot.unwrap_or(0).to_le_bytes());
        }
    }
}

fn ring(dir: Dir) -> u8 {
    match dir {
        Dir::Tx => 0,
        Dir::Rx => 1,
    }
}

fn dir(i: In<'_>) -> Res<'_, Dir> {
    match le_u8(i)? {
        (rest, 0) => Ok((rest, Dir::Tx)),
        (rest, 1) => Ok((rest, Dir::Rx)),
        _ => bad(i),
    }
}

/// One record.
pub(super) fn read<'a>(i: In<'a>, data: &Blob) -> Res<'a, Edit> {
    let (rest, at) = le_u64(i)?;
    let (body, code) = le_u16(rest)?;
    let (left, change) = match code {
        code::STORE => {
            let (i, addr) = le_u64(body)?;
            let (i, bytes) = reference(i, data)?;
            (i, Change::Store { addr, bytes })
        }
        code::REGISTER => {
            let (i, (engine, offset, value)) = (le_u32, le_u32, le_u32).parse(body)?;
            (i, Change::Register { engine, offset, value })
        }
        code::CURSOR => {
            let (i, queue) = queue_id(body)?;
            let (i, dir) = dir(i)?;
            let (after, which) = le_u8(i)?;
            let Some(cursor) = Cursor::ALL.get(usize::from(which)) else { return bad(i) };
            let (i, value) = le_u64(after)?;
            (i, Change::Cursor { queue, dir, cursor: *cursor, value })
        }
        code::INJECT => {
            let (i, queue) = queue_id(body)?;
            let (i, dir) = dir(i)?;
            let (i, bit) = le_u8(i)?;
            let (after, has_slot) = le_u8(i)?;
            let (end, slot) = le_u64(after)?;
            let slot = match (has_slot, slot) {
                (0, 0) => None,
                (1, slot) => Some(slot),
                _ => return bad(i),
            };
            (end, Change::Inject { queue, dir, bit, slot })
        }
        _ => return bad(rest),
    };
    Ok((left, Edit { at, change }))
}
