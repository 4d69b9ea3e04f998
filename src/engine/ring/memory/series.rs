//! Descriptors in a row, as a producer stages them, as one extent; and moving a long stretch of
//! bytes at once. Both are for leaps (`docs/timeline.md`, "Leaps"): what they leave behind is,
//! extent by extent, what the single writes leave behind.

use super::{Extent, Memory, Source};
use crate::udma::{DESC_BYTES, Desc};

const BYTES: u64 = DESC_BYTES as u64;

/// Descriptor `n` of a series.
fn nth(first: &Desc, step: u64, n: u64) -> Desc {
    Desc { ptr: first.ptr.wrapping_add(step.wrapping_mul(n)), ..*first }
}

/// The series from `skip` bytes on.
pub(super) fn at(first: &Desc, step: u64, skip: u64) -> Source {
    Source::Descs(nth(first, step, skip / BYTES), step, (skip % BYTES) as u8)
}

pub(super) fn fill(first: &Desc, step: u64, off: u8, out: &mut [u8]) {
    let mut skip = usize::from(off);
    let mut done = 0;
    let mut n = 0;
    while done < out.len() {
        let bytes = nth(first, step, n).to_bytes();
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
        return alike(&a, &b).then(|| Source::Descs(a, b.ptr.wrapping_sub(a.ptr), 0));
    }
    let Source::Descs(first, step, off) = before.source else { return None };
    let end = u64::from(off) + before.len;
    let goes_on = match next.source {
        Source::Descs(b, s, off) => {
            s == step && u64::from(off) == end % BYTES && nth(&first, step, end / BYTES) == b
        }
        _ => end.is_multiple_of(BYTES) && single(next) == Some(nth(&first, step, end / BYTES)),
    };
    goes_on.then_some(Source::Descs(first, step, off))
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
    /// with it.
    pub fn row(&self, addr: u64) -> Row {
        if let Some((s, e)) = self.map.get_prev(&addr)
            && let Source::Descs(first, step, off) = e.source
        {
            let skip = addr - s + u64::from(off);
            let left = s.saturating_add(e.len).saturating_sub(addr);
            if skip.is_multiple_of(BYTES) && left >= BYTES {
                let first = nth(&first, step, skip / BYTES);
                return Row { first, step, count: left / BYTES };
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
                let rest = Source::Descs(row.desc(n), row.step, 0);
                return self.put_source(at, (row.count - n) * BYTES, rest);
            }
            self.write(at, &row.desc(n).to_bytes());
        }
    }

    /// Whether a series ends at `at` that the n-th of a row goes on, and so all after it.
    fn goes_on(&self, at: u64, row: &Row, n: u64) -> bool {
        let next = Extent { len: BYTES, source: Source::Descs(row.desc(n), row.step, 0) };
        self.before(at).is_some_and(|(s, before)| {
            s.saturating_add(before.len) == at
                && matches!(before.source, Source::Descs(_, step, _) if step == row.step)
                && before.join(&next).is_some()
        })
    }

    /// The extent that holds `addr`, where moving pieces of it is as moving all of it.
    pub fn solid(&self, addr: u64) -> Option<Solid> {
        let (s, e) = self.map.get_prev(&addr)?;
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
        let Some(source) = self.map.get_prev(&src).map(|(s, e)| e.source.at(src - s)) else {
            return;
        };
        self.put_source(dst, len, source);
    }
}
