//! Making a user's edits in the state of a run (`docs/whatif.md`).
//!
//! An edit is no event and no access: it changes the state right after an event, and the next
//! event comes of the changed state. What cannot be made there is a finding and changes
//! nothing, so that an edit from a file can never break what the model relies on.

use super::inject::Injected;
use super::machine::Machine;
use super::queue::{HwRing, Queue, SwRing, ix};
use crate::diag::Diagnostic;
use crate::engine::edit::{Change, Cursor};
use crate::engine::program::{Program, QueueId};
use crate::limits::MAX_EDITS;
use crate::udma::profile::ENGINE_SLOTS;
use crate::udma::reg::ENGINE_BLOCK_BYTES;
use crate::udma::{Dir, cause, count_of};

impl Machine {
    /// Makes the program's edits of the current event.
    pub(super) fn edit_here(&mut self, p: &Program) {
        if p.edits.is_empty() {
            return;
        }
        for e in p.edits_at(self.n) {
            self.edit(p, &e.change);
        }
    }

    /// Makes a change now. One that cannot be made is found (R040).
    pub fn edit(&mut self, p: &Program, change: &Change) {
        self.open();
        if let Err(why) = self.can_edit(p, change) {
            let text = format!("{}: {why}", change.words(p));
            self.find(Diagnostic::new("R040", text));
            return;
        }
        match *change {
            Change::Store { addr, ref bytes } => {
                self.reads_so_far(addr, bytes.len() as u64);
                if bytes.len() <= 8 {
                    self.memory.write(addr, bytes.bytes());
                } else {
                    self.memory.write_blob(addr, bytes.clone());
                }
            }
            Change::Register { engine, offset, value } => {
                // A scenario loses what the host writes, not what a user does.
                let lose = std::mem::take(&mut self.lose);
                self.mmio_write(engine, offset, value);
                self.lose = lose;
            }
            Change::Cursor { queue, dir, cursor, value } => {
                let Some(i) = self.index_of(queue) else { return };
                self.set_cursor(i, dir, cursor, value);
            }
            Change::Inject { queue, dir, bit, slot } => {
                let Some(queue) = self.index_of(queue) else { return };
                self.injected.push_back(Injected { queue, dir, bit, slot });
            }
        }
    }

    /// Whether a change can be made in this state.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn can_edit(&self, p: &Program, change: &Change) -> Result<(), String> {
        match *change {
            Change::Store { addr, ref bytes } => {
                match self.memory.outside(addr, bytes.len() as u64) {
                    Some(at) => Err(format!("no memory is known at {at:#x}")),
                    None => Ok(()),
                }
            }
            Change::Register { engine, offset, .. } => {
                let there = engine < ENGINE_SLOTS && offset % 4 == 0 && offset < ENGINE_BLOCK_BYTES;
                if there { Ok(()) } else { Err("there is no such register".to_owned()) }
            }
            Change::Cursor { queue, dir, cursor, value } => {
                let q = self.queue(queue).ok_or_else(|| no_queue(queue))?;
                can_set(q, dir, cursor, value)
            }
            Change::Inject { queue, dir, bit, slot } => {
                let decl = p.queue(queue).ok_or_else(|| no_queue(queue))?;
                if cause::by_bit(dir, bit).is_none() {
                    return Err(format!("{dir} has no cause with bit {bit}"));
                }
                let size = decl.ring(dir).map_or(0, |r| r.size);
                match slot {
                    _ if size == 0 => return Err(format!("{queue} has no {dir} ring")),
                    Some(s) if s >= size => {
                        return Err(format!(
                            "{dir}[{s}] is not in a ring of {size_slots}",
                            size_slots = count_of(size, "slot")
                        ));
                    }
                    _ => {}
                }
                if self.aborted.contains(&queue.engine) {
                    return Err("the engine has aborted and does nothing any more".to_owned());
                }
                if self.injected.len() >= MAX_EDITS {
                    return Err(format!("{MAX_EDITS} faults wait already"));
                }
                Ok(())
            }
        }
    }

    /// Reads of a polled word that were made and not told are not told any more where the word
    /// is changed: they gave its old value.
    fn reads_so_far(&mut self, addr: u64, len: u64) {
        let seqs = self.seqs.iter_mut().map(|s| &mut s.host);
        for poll in std::iter::once(&mut self.host).chain(seqs).filter_map(|h| h.poll.as_mut()) {
            if addr < poll.addr.saturating_add(4) && poll.addr < addr.saturating_add(len) {
                poll.told += poll.untold;
                poll.untold = 0;
            }
        }
    }

    fn set_cursor(&mut self, i: usize, dir: Dir, cursor: Cursor, value: u64) {
        let (now, held) = (self.now_ns, self.held);
        let q = &mut self.queues[i];
        let handed_out = q.decl.allocatable;
        let sw = &mut q.sw[ix(dir)];
        match cursor {
            Cursor::NextDesc => {
                if handed_out {
                    sw.staged = moved(sw, sw.staged, sw.next_desc_idx, value);
                }
                sw.next_desc_idx = value as u32;
            }
            Cursor::NextCdesc => {
                sw.acked = moved(sw, sw.acked, sw.next_cdesc_idx, value);
                sw.next_cdesc_idx = value as u32;
            }
            Cursor::Phase => sw.desc_ring_id = value as u8,
            Cursor::Tail => {
                let to = tail_count(q.hw(dir), value);
                set_posted(q, dir, to);
                begin(q, dir, (now, held));
            }
            Cursor::Head => {
                let hw = q.hw_mut(dir);
                if let Some(k) = head_count(hw, value) {
                    (hw.retired, hw.visible, hw.fetched) = (k, k, k);
                    hw.ring_id = hw.phase(k) as u8;
                }
                begin(q, dir, (now, held));
            }
        }
    }
}

fn no_queue(id: QueueId) -> String {
    format!("the program has no queue {id}")
}

fn can_set(q: &Queue, dir: Dir, cursor: Cursor, value: u64) -> Result<(), String> {
    let below = |size: u64, what: &str| match size {
        0 => Err(format!("{what} has no {dir} ring before it is initialised")),
        size if value >= size => Err(format!("{value} is no slot of a ring of {size}")),
        _ => Ok(()),
    };
    let (id, hw) = (q.id(), q.hw(dir));
    match cursor {
        Cursor::Phase if value > 3 => Err(format!("a phase is 0 to 3, not {value}")),
        Cursor::Phase => Ok(()),
        Cursor::NextDesc | Cursor::NextCdesc => {
            below(u64::from(q.sw(dir).size), &format!("queue {id}"))
        }
        Cursor::Tail => below(hw.ring.size, &format!("the engine's side of {id}")),
        Cursor::Head => {
            below(hw.ring.size, &format!("the engine's side of {id}"))?;
            if !q.packet.is_empty() || hw.fetched != hw.retired {
                return Err(format!(
                    "{id} is inside a packet: its head moves only between packets"
                ));
            }
            head_count(hw, value).map(|_| ()).ok_or_else(|| {
                format!("{dir}[{value}] is neither posted nor behind the head of {id}")
            })
        }
    }
}

/// A running total whose cursor is set to `to`: it goes along the shorter way around the ring.
fn moved(sw: &SwRing, total: u64, from: u32, to: u64) -> u64 {
    let size = u64::from(sw.size).max(1);
    let ahead = (to + size - u64::from(from) % size) % size;
    match size - ahead {
        back if ahead > 0 && back <= ahead && back <= total => total - back,
        _ => total.saturating_add(ahead),
    }
}

/// How many are posted where the tail lies at a slot: nothing, up to a ring less one, beyond
/// what was fetched.
fn tail_count(hw: &HwRing, slot: u64) -> u64 {
    let size = hw.ring.size.max(1);
    hw.fetched.saturating_add((slot + size - hw.slot(hw.fetched)) % size)
}

/// How many are retired where the head lies at a slot: ahead as far as descriptors are posted,
/// else back.
fn head_count(hw: &HwRing, slot: u64) -> Option<u64> {
    let size = hw.ring.size.max(1);
    let ahead = (slot + size - hw.slot(hw.retired)) % size;
    if ahead <= hw.posted.saturating_sub(hw.retired) {
        return Some(hw.retired + ahead);
    }
    hw.retired.checked_sub(size - ahead)
}

/// Sets how many are posted, and where the newest batch ends among them.
fn set_posted(q: &mut Queue, dir: Dir, to: u64) {
    q.hw_mut(dir).posted = to;
    if dir == Dir::Rx {
        return;
    }
    let mut batch = q.batches;
    while let Some(&(_, b)) = q.bounds.back().filter(|e| e.0 >= to || e.1 == batch) {
        batch = b;
        q.bounds.pop_back();
    }
    q.bounds.push_back((to, batch));
}

/// Lets the engine look again, as a doorbell would.
fn begin(q: &mut Queue, dir: Dir, (now, held): (u64, bool)) {
    q.stalled = None;
    let waits = match dir {
        Dir::Tx => q.has_work(),
        Dir::Rx => !q.packet.is_empty(),
    };
    if q.due.is_none() && !held && waits {
        q.due = Some(now);
    }
}
