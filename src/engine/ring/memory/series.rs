//! Descriptors in a row, as a producer stages them, as one extent; and moving a long stretch of
//! bytes at once. Both are for leaps (`docs/timeline.md`, "Leaps"): what they leave behind is,
//! extent by extent, what the single writes leave behind.

use super::{Extent, Memory, Source};
use crate::engine::program::Blob;
use crate::udma::{DESC_BYTES, Desc};
use std::sync::Arc;

const BYTES: u64 = DESC_BYTES as u64;

/// Descriptor `n` of a series.
fn nth(first: &Desc, step: u64, n: u64) -> Desc {
    Desc { ptr: first.ptr.wrapping_add(step.wrapping_mul(n)), ..*first }
}

/// The descriptor of a series that holds its byte `off`, and the offset in that one.
pub(super) fn first(of: &(Desc, u64), off: u64) -> (Desc, u64) {
    (nth(&of.0, of.1, off / BYTES), off % BYTES)
}

pub(super) fn fill(of: &(Desc, u64), off: u64, out: &mut [u8]) {
    let (mut n, mut skip) = (off / BYTES, (off % BYTES) as usize);
    let mut done = 0;
    while done < out.len() {
        let bytes = nth(&of.0, of.1, n).to_bytes();
        let len = (DESC_BYTES - skip).min(out.len() - done);
        out[done..done + len].copy_from_slice(&bytes[skip..skip + len]);
        done += len;
        skip = 0;
        n += 1;
    }
}

/// The one descriptor that an extent holds.
fn single(e: &Extent) -> Option<Desc> {
    match e.source {
        Source::Inline(bytes, 0) if e.len == BYTES => Some(Desc::from_bytes(&bytes)),
        _ => None,
    }
}

fn alike(a: &Desc, b: &Desc) -> bool {
    a.len_ctrl == b.len_ctrl && a.word1 == b.word1
}

/// The source of two extents in a row where they are one series.
pub(super) fn join(before: &Extent, next: &Extent) -> Option<Source> {
    if let (Some(a), Some(b)) = (single(before), single(next)) {
        let step = b.ptr.wrapping_sub(a.ptr);
        return alike(&a, &b).then(|| Source::Descs(Arc::new((a, step)), 0));
    }
    let Source::Descs(of, off) = &before.source else { return None };
    let (expected, skip) = first(of, off + before.len);
    let goes_on = match &next.source {
        Source::Descs(other, off) => other.1 == of.1 && first(other, *off) == (expected, skip),
        _ => skip == 0 && single(next) == Some(expected),
    };
    goes_on.then(|| before.source.clone())
}

/// Descriptors of a blob that are read at a time, once a row has begun.
const LOOK: usize = 64;

/// The row that begins at byte `off` of a blob, of at most `most` descriptors; nothing where the
/// blob has none there.
fn row_of(blob: &Blob, off: u64, most: u64) -> Option<Row> {
    let off = usize::try_from(off).ok()?;
    let mut two = [0; 2 * DESC_BYTES];
    let there = blob.read(off, &mut two);
    let mut descs = two[..there].as_chunks::<DESC_BYTES>().0.iter().map(Desc::from_bytes);
    let first = descs.next()?;
    let mut row = Row { first, step: 0, count: 1 };
    let Some(second) = descs.next().filter(|d| most > 1 && alike(&first, d)) else {
        return Some(row);
    };
    row = Row { step: second.ptr.wrapping_sub(first.ptr), count: 2, ..row };
    let mut bytes = [0; LOOK * DESC_BYTES];
    while row.count < most {
        let n = (most - row.count).min(LOOK as u64) as usize * DESC_BYTES;
        let at = usize::try_from(row.count * BYTES).ok().and_then(|done| off.checked_add(done));
        let there = at.map_or(0, |at| blob.read(at, &mut bytes[..n]));
        let before = row.count;
        for bytes in bytes[..there].as_chunks::<DESC_BYTES>().0 {
            if Desc::from_bytes(bytes) != row.desc(row.count) {
                return Some(row);
            }
            row.count += 1;
        }
        if row.count == before {
            break;
        }
    }
    Some(row)
}

/// Descriptors that lie in a row: they differ in their pointers only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The first one.
    pub first: Desc,
    /// From one pointer to the next, modulo 2^64.
    pub step: u64,
    /// How many, at least one.
    pub count: u64,
}

impl Row {
    /// One of them.
    pub fn desc(&self, n: u64) -> Desc {
        nth(&self.first, self.step, n)
    }
}

/// What a stretch of bytes in one extent is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Solid {
    /// Bytes of it from the address asked for on.
    pub len: u64,
    /// Every byte is the same.
    pub even: bool,
    /// Their value is not known.
    pub unknown: bool,
}

impl Memory {
    /// The descriptors in a row that begin at `addr`: one, where those after it are no series
    /// with it. Where they are bytes of a blob, no more than `most` are looked at.
    pub fn row(&self, addr: u64, most: u64) -> Row {
        if let Some((s, e)) = self.map.until(addr) {
            let left = s.saturating_add(e.len).saturating_sub(addr) / BYTES;
            match &e.source {
                Source::Descs(of, off) if left > 0 => {
                    let (first, skip) = first(of, off + (addr - s));
                    if skip == 0 {
                        return Row { first, step: of.1, count: left };
                    }
                }
                Source::Blob(of, off) if left > 0 => {
                    let row = row_of(&of.1, off + (addr - s), left.min(most));
                    if let Some(row) = row {
                        return row;
                    }
                }
                Source::Inline(bytes, 0) if addr == s && left == 1 => {
                    return Row { first: Desc::from_bytes(bytes), step: 0, count: 1 };
                }
                _ => {}
            }
        }
        let mut bytes = [0; DESC_BYTES];
        self.read(addr, &mut bytes);
        Row { first: Desc::from_bytes(&bytes), step: 0, count: 1 }
    }

    /// Stores descriptors one after the other from `addr` on.
    pub fn write_row(&mut self, addr: u64, row: Row) {
        for n in 0..row.count {
            let at = addr.wrapping_add(n * BYTES);
            if self.goes_on(at, &row, n) {
                let rest = Source::Descs(Arc::new((row.desc(n), row.step)), 0);
                return self.put_source(at, (row.count - n) * BYTES, rest);
            }
            self.write(at, &row.desc(n).to_bytes());
        }
    }

    /// Whether a series ends at `at` that the n-th of a row goes on, and so all after it.
    fn goes_on(&self, at: u64, row: &Row, n: u64) -> bool {
        self.before(at).is_some_and(|(s, before)| match &before.source {
            Source::Descs(of, off) => {
                s.saturating_add(before.len) == at
                    && of.1 == row.step
                    && first(of, off + before.len) == (row.desc(n), 0)
            }
            _ => false,
        })
    }

    /// The extent that holds `addr`, where moving pieces of it is as moving all of it.
    pub fn solid(&self, addr: u64) -> Option<Solid> {
        let (s, e) = self.map.until(addr)?;
        let len = s.saturating_add(e.len).saturating_sub(addr);
        let (even, unknown) = match e.source {
            Source::Byte(_) => (true, false),
            Source::Pattern(..) | Source::Blob(..) => (false, false),
            Source::Unknown(_) => (false, true),
            // Reads of unwritten bytes are told one by one.
            Source::Unwritten | Source::Inline(..) | Source::Descs(..) => return None,
        };
        (len > 0).then_some(Solid { len, even, unknown })
    }

    /// Moves bytes of one extent ([`Memory::solid`]) as copies of its pieces one after the other
    /// would.
    pub fn move_solid(&mut self, src: u64, dst: u64, len: u64) {
        let Some(source) = self.map.until(src).map(|(s, e)| e.source.at(src - s)) else {
            return;
        };
        self.put_source(dst, len, source);
    }
}
