//! Watchpoints: which events access which bytes, and what they hold before and after
//! (`docs/stops.md`, "Watchpoints").

use super::super::eval::{SlotPart, part_of};
use super::super::{Prior, Session};
use crate::bir::layout::Placed;
use crate::diag::Diagnostic;
use crate::engine::command::{Access, Watched};
use crate::engine::expr::{Expr, QueueRef};
use crate::engine::ring::{Event, EventKind, Machine, Memory};
use crate::limits::{MAX_WATCH_CHANGE_BYTES, MAX_WATCH_TOLD_BYTES};
use crate::udma::{DESC_BYTES, Desc, Dir, count_of, field};

/// Bytes that are watched where nothing is said: a word, as the marker is one.
const WORD: u64 = 4;

/// An access of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Touch {
    pub addr: u64,
    pub len: u64,
    pub written: bool,
}

/// The accesses that an event makes; `m` is the state after it.
pub(super) fn accesses(m: &Machine, e: &Event) -> impl Iterator<Item = Touch> {
    let touch = |addr, len, written| Some(Touch { addr, len, written });
    let bytes = DESC_BYTES as u64;
    let queue = || e.queue().and_then(|id| m.queue(id));
    let both = match e.kind {
        EventKind::Stage { tx, rx, .. } => [(Dir::Tx, tx), (Dir::Rx, rx)].map(|(dir, taken)| {
            taken.desc?;
            touch(queue()?.ring(dir).slot_addr(taken.slot), bytes, true)
        }),
        EventKind::CopyIn { dir, slot, count, .. } => {
            let at = queue().map(|q| q.ring(dir).slot_addr(slot));
            [at.and_then(|a| touch(a, count.saturating_mul(bytes), true)), None]
        }
        EventKind::Fetch { dir, slot, .. } => {
            let at = queue().map(|q| q.hw(dir).ring.slot_addr(slot));
            [at.and_then(|a| touch(a, bytes, false)), None]
        }
        kind => [kind.access().and_then(|(addr, len, w)| touch(addr, len, w)), None],
    };
    both.into_iter().flatten()
}

/// Watched bytes: rows of as many bytes each, mostly one. A location in on-chip memory has a row
/// in each of its partitions, and what lies between them is not its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// First address.
    pub addr: u64,
    /// Bytes of a row.
    pub len: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes from one row to the next.
    pub stride: u64,
}

impl Area {
    /// Bytes in a row.
    pub fn new(addr: u64, len: u64) -> Area {
        Area { addr, len, rows: 1, stride: len }
    }

    /// All of a location.
    pub fn of(l: &Placed) -> Area {
        Area { addr: l.addr, len: l.pitch, rows: l.partitions, stride: l.stride }
    }

    /// How many bytes.
    pub fn bytes(&self) -> u64 {
        self.len.saturating_mul(self.rows)
    }

    /// The bytes that it shares with an access, row by row.
    pub fn shared(self, a: (u64, u64)) -> impl Iterator<Item = (u64, u64)> {
        let row = move |k: u64| {
            let at = self.addr.saturating_add(k.saturating_mul(self.stride));
            overlap(a, (at, self.len))
        };
        (0..self.rows).filter_map(row)
    }

    /// Whether an access is about any of its bytes.
    pub fn meets(self, a: (u64, u64)) -> bool {
        self.shared(a).next().is_some()
    }

    /// Whether one of its rows ends at or beyond an address.
    pub fn reaches(self, at: u64) -> bool {
        let last = self.stride.saturating_mul(self.rows.saturating_sub(1));
        self.addr.saturating_add(last).saturating_add(self.len.saturating_sub(1)) >= at
    }

    /// The row in which an address lies, and which it is.
    fn row(self, at: u64) -> (u64, u64) {
        let k = (at - self.addr).checked_div(self.stride).unwrap_or(0);
        (k, self.addr + k * self.stride)
    }
}

/// The bytes that two stretches share: first address, how many.
pub(super) fn overlap(a: (u64, u64), b: (u64, u64)) -> Option<(u64, u64)> {
    // One beyond the last address may not fit.
    let last = |(addr, len): (u64, u64)| len.checked_sub(1).map(|n| addr.saturating_add(n));
    let (lo, hi) = (a.0.max(b.0), last(a)?.min(last(b)?));
    (lo <= hi).then(|| (lo, (hi - lo).saturating_add(1)))
}

/// Whether an event counts for a watchpoint.
pub(super) fn counts(before: &Prior, m: &Machine, e: &Event, area: Area, on: Access) -> bool {
    accesses(m, e).filter(|a| area.meets((a.addr, a.len))).any(|a| match on {
        Access::Read => !a.written,
        Access::Write => a.written,
        Access::Access => true,
        Access::Change => {
            let differs = |old: &Memory| {
                area.shared((a.addr, a.len)).any(|shared| changed(old, &m.memory, shared))
            };
            a.written && before.memory.as_ref().is_none_or(differs)
        }
    })
}

/// Whether an event counts for the watchpoint of a semaphore.
pub(super) fn semaphore(e: &Event, id: u64, on: Access) -> bool {
    match e.kind {
        EventKind::SemWait { id: of, .. } => {
            of == id && matches!(on, Access::Read | Access::Access)
        }
        EventKind::SemUpdate { id: of, add } => {
            of == id && (on != Access::Read) && (on != Access::Change || add != 0)
        }
        _ => false,
    }
}

/// What is known of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Byte {
    Never,
    Unknown,
    Value(u8),
}

/// The bytes of a stretch.
fn bytes(memory: &Memory, (addr, len): (u64, u64)) -> Vec<Byte> {
    let mut out = vec![0; len as usize];
    let known = memory.read(addr, &mut out);
    if known.never_written.is_none() && known.unknown.is_none() {
        return out.into_iter().map(Byte::Value).collect();
    }
    let of = |(k, value): (u64, u8)| {
        let known = memory.known(addr.wrapping_add(k), 1);
        match (known.never_written, known.unknown) {
            (Some(_), _) => Byte::Never,
            (_, Some(_)) => Byte::Unknown,
            _ => Byte::Value(value),
        }
    };
    (0..).zip(out).map(of).collect()
}

/// Whether a byte is another one than before. Of a byte whose value is not known nobody can say
/// that it is the same.
fn changed(before: &Memory, after: &Memory, area: (u64, u64)) -> bool {
    first_change(&bytes(before, area), &bytes(after, area)).is_some()
}

fn first_change(old: &[Byte], new: &[Byte]) -> Option<usize> {
    old.iter().zip(new).position(|(a, b)| a != b || *b == Byte::Unknown)
}

/// Refuses what cannot be watched.
pub(super) fn check_area(area: Area, on: Access) -> Result<(), Diagnostic> {
    if area.bytes() == 0 {
        return Err(Diagnostic::new("S003", "0 bytes are nothing to watch"));
    }
    if area.addr.checked_add(area.len - 1).is_none() {
        let Area { addr, len, .. } = area;
        let text = format!(
            "{len_bytes} from {addr:#x} on go beyond the last address",
            len_bytes = count_of(len, "byte")
        );
        return Err(Diagnostic::new("S003", text));
    }
    if on == Access::Change && area.bytes() > MAX_WATCH_CHANGE_BYTES {
        let text = format!("at most {MAX_WATCH_CHANGE_BYTES} bytes are watched for changes");
        return Err(Diagnostic::new("S003", text).help("`write` watches any number"));
    }
    Ok(())
}

/// Names the queues of what an expression watches.
pub(super) fn pin(e: &mut Expr, pin: &dyn Fn(&mut QueueRef)) {
    match e {
        Expr::Name(name) if name == "marker" => {
            let mut queue = QueueRef::Selected;
            pin(&mut queue);
            if queue != QueueRef::Selected {
                *e = Expr::Queue { queue, path: vec!["marker".to_owned()] };
            }
        }
        Expr::Slot { queue, .. } => pin(queue),
        _ => {}
    }
}

/// Whether the part of a slot is an address, so that what it names is watched, not it.
pub(super) fn is_pointer(path: &[String]) -> bool {
    matches!(path, [part] if part == "addr" || part == "buf_ptr")
}

/// Whether an expression is a number of the run (a count, a cursor, a register) and nothing
/// beside it. With an operator in it nobody can say.
fn is_count(e: &Expr) -> bool {
    match e {
        Expr::Name(name) => name != "base",
        Expr::Queue { path, .. } => path.last().is_none_or(|p| p != "base"),
        Expr::Reg { .. } => true,
        _ => false,
    }
}

impl Session {
    /// The bytes of a slot that hold a word or a field of it, as its descriptor is now.
    fn part_bytes(&self, slot: Area, dir: Dir, path: &[String]) -> Result<Area, Diagnostic> {
        let mut bytes = [0; DESC_BYTES];
        self.machine.memory.read(slot.addr, &mut bytes);
        let view = Desc::from_bytes(&bytes).view(dir);
        let part = part_of(view, path).map_err(super::EvalError::into_diagnostic)?;
        let field = match part {
            SlotPart::Word(w) => {
                return Ok(Area::new(slot.addr + w.offset() as u64, w.bytes() as u64));
            }
            SlotPart::Field(f) => Some(f),
            SlotPart::Phase => field::find(view, "ring_id"),
            SlotPart::Length => field::find(view, "length"),
            SlotPart::Addr | SlotPart::Life => None,
        };
        let Some(f) = field else {
            let text = format!("`{}` lies nowhere in memory", path.join("."));
            let help = "words and fields of a slot do: tx[3].len_ctrl, tx[3].dmb";
            return Err(Diagnostic::new("S003", text).help(help));
        };
        let (first, last) = (u64::from(f.lo / 8), u64::from((f.lo + f.width - 1) / 8));
        Ok(Area::new(slot.addr + f.word.offset() as u64 + first, last - first + 1))
    }

    /// The bytes that are meant where no length is said.
    pub(super) fn watched_bytes(&self, what: &Watched) -> Result<Area, Diagnostic> {
        let slots = |queue: &QueueRef, dir: Dir, first: u64, last: u64| {
            let id =
                super::super::queue_of(self, queue).map_err(super::EvalError::into_diagnostic)?;
            self.check_slots(id, dir, last)?;
            let at = self.machine.queue(id).map_or(0, |q| q.ring(dir).slot_addr(first));
            Ok(Area::new(at, (last - first + 1).saturating_mul(DESC_BYTES as u64)))
        };
        match what {
            Watched::Slots { queue, dir, first, last } => slots(queue, *dir, *first, *last),
            Watched::Name(name) => self.location(name),
            Watched::Expr(Expr::Name(name)) if name == "marker" => {
                Ok(Area::new(self.marker_of(&QueueRef::Selected)?, WORD))
            }
            Watched::Expr(Expr::Queue { queue, path }) if *path == ["marker"] => {
                Ok(Area::new(self.marker_of(queue)?, WORD))
            }
            Watched::Expr(Expr::Slot { queue, dir, index, path }) if path.is_empty() => {
                let index = self.value(index)?;
                slots(queue, *dir, index, index)
            }
            Watched::Expr(Expr::Slot { queue, dir, index, path }) if !is_pointer(path) => {
                let index = self.value(index)?;
                let slot = slots(queue, *dir, index, index)?;
                self.part_bytes(slot, *dir, path)
            }
            Watched::Expr(Expr::Mem { width, addr }) => {
                Ok(Area::new(self.value(addr)?, u64::from(*width)))
            }
            Watched::Expr(e) if is_count(e) => {
                let now = self.value(e)?;
                let text = format!(
                    "`{e}` is a number, {now} now, and no address: what is watched is memory"
                );
                let help = format!("`until {e} != {now}` goes to where it changes");
                Err(Diagnostic::new("S003", text).help(help))
            }
            Watched::Expr(e) => Ok(Area::new(self.value(e)?, WORD)),
            Watched::Semaphore(_) => Err(Diagnostic::new("S003", "a semaphore is no memory")),
        }
    }

    /// What watched bytes hold at the position, and what they held before it.
    pub(super) fn values_told(&mut self, area: Area, on: Access) -> Option<String> {
        let e = self.machine.last?;
        let counts = |a: &Touch| match on {
            Access::Read => !a.written,
            Access::Write | Access::Change => a.written,
            Access::Access => true,
        };
        let touch =
            accesses(&self.machine, &e).find(|a| counts(a) && area.meets((a.addr, a.len)))?;
        let first = area.shared((touch.addr, touch.len)).next()?;
        let after = self.machine.memory.clone();
        if !touch.written {
            let (part, at) = told(area, first.0);
            return Some(format!("{at}read {}", value(&after, part)));
        }
        let before = self.timeline.state_at(e.n - 1, &self.machine).memory;
        let differs = |shared: (u64, u64)| {
            let most = (shared.0, shared.1.min(MAX_WATCH_CHANGE_BYTES));
            let at = first_change(&bytes(&before, most), &bytes(&after, most))?;
            Some(shared.0 + at as u64)
        };
        let at = area.shared((touch.addr, touch.len)).find_map(differs).unwrap_or(first.0);
        let (part, at) = told(area, at);
        let (old, new) = (value(&before, part), value(&after, part));
        Some(format!("{at}old = {old}, new = {new}"))
    }
}

/// The part of watched bytes that is told: all where they are few, else the word that holds the
/// byte at `at`; and where it begins.
fn told(area: Area, at: u64) -> ((u64, u64), String) {
    if area.bytes() <= MAX_WATCH_TOLD_BYTES && area.rows == 1 {
        return ((area.addr, area.len), String::new());
    }
    let (k, row) = area.row(at);
    let byte = at - row;
    let from = byte - byte % WORD;
    let part = (row + from, (area.len - from).min(WORD));
    (part, format!("at +{:#x} ", k * area.len + from))
}

/// Bytes as a little-endian number; `??` and `--` as `x` shows them.
fn value(memory: &Memory, area: (u64, u64)) -> String {
    let digits = |b: &Byte| match b {
        Byte::Never => "--".to_owned(),
        Byte::Unknown => "??".to_owned(),
        Byte::Value(v) => format!("{v:02x}"),
    };
    let digits: String = bytes(memory, area).iter().rev().map(digits).collect();
    format!("0x{digits}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn stretches_share_bytes_up_to_the_last_address() {
        assert_eq!(overlap((0, 4), (4, 4)), None);
        assert_eq!(overlap((0, 5), (4, 4)), Some((4, 1)));
        assert_eq!(overlap((0, 0), (0, 4)), None);
        assert_eq!(overlap((u64::MAX, 1), (u64::MAX - 3, 4)), Some((u64::MAX, 1)));
    }

    #[test]
    fn of_a_large_area_the_word_is_told_that_counts() {
        let told = |area, at| told(area, at);
        assert_eq!(told(Area::new(100, 8), 104), ((100, 8), String::new()));
        assert_eq!(told(Area::new(100, 62), 158), ((156, 4), "at +0x38 ".to_owned()));
        let rows = Area { addr: 0, len: 4, rows: 128, stride: 1000 };
        assert_eq!(told(rows, 2001), ((2000, 4), "at +0x8 ".to_owned()));
    }

    #[test]
    fn what_lies_between_the_partitions_of_a_location_is_not_watched() {
        let rows = Area { addr: 0x100, len: 4, rows: 3, stride: 0x1000 };
        assert!(rows.meets((0x1102, 8)) && rows.meets((0x2100, 1)));
        assert!(!rows.meets((0x104, 0xffc)) && !rows.meets((0x3100, 4)));
        assert_eq!(rows.shared((0, 0x1102)).collect::<Vec<_>>(), [(0x100, 4), (0x1100, 2)]);
    }
}
