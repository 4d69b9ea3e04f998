//! What a user changed in a run, as data: a change and the event right after which it is made
//! (`docs/whatif.md`).
//!
//! Edits are part of the program, so that a run stays a function of the program alone: going
//! back over an edit is going back over any event.

use super::program::{Blob, Program, QueueId};
use crate::udma::{DESC_BYTES, Desc, Dir, Word, cause, count_of, reg};
use std::fmt;

/// A change, and when it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Right after the event with this number; 0: before the first.
    pub at: u64,
    /// What.
    pub change: Change,
}

/// What is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Bytes of memory: a word of a slot, a marker word, data. No access of any agent.
    Store {
        /// First address.
        addr: u64,
        /// The bytes.
        bytes: Blob,
    },
    /// A write to a register, with all that it does when the host makes it.
    Register {
        /// Engine.
        engine: u32,
        /// Offset inside the engine block.
        offset: u32,
        /// Value.
        value: u32,
    },
    /// A cursor of a ring.
    Cursor {
        /// Queue.
        queue: QueueId,
        /// Ring.
        dir: Dir,
        /// Which cursor.
        cursor: Cursor,
        /// Its new value.
        value: u64,
    },
    /// A fault that the engine is to find (MODEL): at the next descriptor that can have it.
    Inject {
        /// Queue.
        queue: QueueId,
        /// Whose cause group.
        dir: Dir,
        /// Bit of the cause in its group.
        bit: u8,
        /// The slot that it waits for; any if none.
        slot: Option<u64>,
    },
}

/// A cursor that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cursor {
    /// The driver's producer cursor.
    NextDesc,
    /// The driver's ack cursor.
    NextCdesc,
    /// The phase that the driver stamps next.
    Phase,
    /// The slot at which the engine stands.
    Head,
    /// The slot up to which descriptors are posted.
    Tail,
}

impl Cursor {
    /// All of them, in the order of their codes in a program image.
    pub const ALL: [Cursor; 5] =
        [Cursor::NextDesc, Cursor::NextCdesc, Cursor::Phase, Cursor::Head, Cursor::Tail];

    /// Its name, which is that of the ring's property.
    pub fn name(self) -> &'static str {
        match self {
            Cursor::NextDesc => "next_desc_idx",
            Cursor::NextCdesc => "next_cdesc_idx",
            Cursor::Phase => "desc_ring_id",
            Cursor::Head => "head",
            Cursor::Tail => "tail",
        }
    }

    /// The cursor of a name.
    pub fn by_name(name: &str) -> Option<Cursor> {
        Cursor::ALL.into_iter().find(|c| c.name() == name)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Change {
    /// The queue that it names, if one.
    pub fn queue(&self) -> Option<QueueId> {
        match self {
            Change::Cursor { queue, .. } | Change::Inject { queue, .. } => Some(*queue),
            Change::Store { .. } | Change::Register { .. } => None,
        }
    }

    /// Its kind in assembly and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Change::Store { .. } => "store",
            Change::Register { .. } => "reg_write",
            Change::Cursor { .. } => "cursor",
            Change::Inject { .. } => "inject",
        }
    }

    /// In words, as the command that makes it where there is one.
    pub fn words(&self, p: &Program) -> String {
        match self {
            Change::Store { addr, bytes } => stored(p, *addr, bytes.bytes()),
            Change::Register { engine, offset, value } => {
                let known = reg::name_at(*offset).filter(|r| r.byte == 0);
                match known.and_then(|r| Some((r.name, r.queue?))) {
                    Some((name, (dir, queue))) => {
                        let id = QueueId { engine: *engine, queue };
                        format!("set {id}.{dir}.{name} = {value:#x}")
                    }
                    None => format!("write {value:#x} to e{engine}, register {offset:#x}"),
                }
            }
            Change::Cursor { queue, dir, cursor, value } => {
                format!("set {queue}.{dir}.{cursor} = {value}")
            }
            Change::Inject { queue, dir, bit, slot } => {
                let name = cause::by_bit(*dir, *bit).map_or("?", |c| c.name);
                match slot {
                    Some(slot) => format!("inject {name} at {queue}.{dir}[{slot}]"),
                    None => format!("inject {name} at the next {dir} descriptor of {queue}"),
                }
            }
        }
    }
}

/// The slot of a program's rings that an address lies in, and the byte inside it.
pub fn slot_at(p: &Program, addr: u64) -> Option<(QueueId, Dir, u64, usize)> {
    p.queues.iter().find_map(|q| {
        Dir::BOTH.into_iter().find_map(|dir| {
            let ring = q.ring(dir)?;
            let inside = addr.checked_sub(ring.base).filter(|n| *n < ring.bytes())?;
            let bytes = DESC_BYTES as u64;
            Some((q.id, dir, inside / bytes, (inside % bytes) as usize))
        })
    })
}

/// Stored bytes: a word of a slot or of memory where they are one, else their number.
fn stored(p: &Program, addr: u64, bytes: &[u8]) -> String {
    let value = (bytes.len() <= 8).then(|| {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(all)
    });
    let Some(value) = value else {
        return format!("store {} at {}", count_of(bytes.len(), "byte"), p.name_addr(addr));
    };
    if let Some((id, dir, slot, at)) = slot_at(p, addr) {
        let words = Word::of(Desc::default().view(dir));
        let word = words.iter().find(|w| w.offset() == at && w.bytes() == bytes.len());
        if let Some(word) = word {
            return format!("set {id}.{dir}[{slot}].{} = {value:#x}", word.name());
        }
    }
    match bytes.len() {
        1 | 2 | 4 | 8 => format!("set mem{}[{addr:#x}] = {value:#x}", bytes.len() * 8),
        n => format!("store {n_bytes} at {}", p.name_addr(addr), n_bytes = count_of(n, "byte")),
    }
}
