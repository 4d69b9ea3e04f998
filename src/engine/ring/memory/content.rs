//! What lies in memory, piece by piece: where bytes come from, and what is known of them.

use super::super::digest::{hash_bytes, mix};
use super::super::few::Few;
use super::{fill, series};
use crate::engine::program::Blob;
use crate::udma::Desc;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Bytes that an extent holds itself.
pub(super) const INLINE: usize = 16;

/// Where an extent's bytes come from. Offsets are of the extent's first byte.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// One byte, repeated.
    Byte(u8),
    /// The pattern of a region fill: seed and offset inside it.
    Pattern(u8, u64),
    /// Unknown content; stands for the address it was first at.
    Unknown(u64),
    /// Copied from bytes that nobody wrote; read as zero and reported.
    Unwritten,
    /// At most sixteen bytes (a descriptor, a marker word), and the offset in them.
    Inline([u8; INLINE], u8),
    /// A piece of a blob: hash of the whole, the blob, offset. (Shared, as the next is, so that
    /// extents are small.)
    Blob(Arc<(u64, Blob)>, u64),
    /// Descriptors that differ in their pointers only, which go up by the same step: the first
    /// one, the step; offset in them.
    Descs(Arc<(Desc, u64)>, u64),
}

impl Source {
    pub(super) fn at(&self, skip: u64) -> Source {
        match self {
            Source::Byte(b) => Source::Byte(*b),
            Source::Pattern(seed, off) => Source::Pattern(*seed, off + skip),
            Source::Unknown(addr) => Source::Unknown(addr.wrapping_add(skip)),
            Source::Unwritten => Source::Unwritten,
            Source::Inline(bytes, off) => Source::Inline(*bytes, off.saturating_add(skip as u8)),
            Source::Blob(of, off) => Source::Blob(of.clone(), off + skip),
            Source::Descs(of, off) => Source::Descs(of.clone(), off + skip),
        }
    }

    /// Whether `next` goes on where this one ends after `len` bytes.
    pub(super) fn continues(&self, len: u64, next: &Source) -> bool {
        match (self, next) {
            (Source::Byte(a), Source::Byte(b)) => a == b,
            (Source::Pattern(s, o), Source::Pattern(t, p)) => s == t && o.wrapping_add(len) == *p,
            (Source::Unknown(a), Source::Unknown(b)) => a.wrapping_add(len) == *b,
            (Source::Unwritten, Source::Unwritten) => true,
            (Source::Blob(i, o), Source::Blob(j, p)) => i.0 == j.0 && o + len == *p,
            _ => false,
        }
    }

    pub(super) fn hash(&self) -> u64 {
        match self {
            Source::Byte(b) => mix(1, u64::from(*b)),
            Source::Pattern(seed, off) => mix(mix(2, u64::from(*seed)), *off),
            Source::Unknown(addr) => mix(3, *addr),
            Source::Unwritten => mix(4, 0),
            Source::Inline(bytes, off) => mix(hash_bytes(bytes), u64::from(*off)),
            Source::Blob(of, off) => mix(mix(5, of.0), *off),
            Source::Descs(of, off) => {
                let (first, off) = series::first(of, *off);
                mix(mix(hash_bytes(&first.to_bytes()), of.1), off)
            }
        }
    }

    pub(super) fn fill(&self, out: &mut [u8]) {
        match self {
            Source::Byte(b) => out.fill(*b),
            Source::Pattern(seed, off) => fill::pattern(*seed, *off, out),
            Source::Unknown(addr) => fill::unknown(*addr, out),
            Source::Unwritten => out.fill(0),
            Source::Inline(bytes, off) => {
                let bytes = bytes.get(usize::from(*off)..).unwrap_or(&[]);
                let n = bytes.len().min(out.len());
                out[..n].copy_from_slice(&bytes[..n]);
            }
            Source::Blob(of, off) => {
                let n = usize::try_from(*off).map_or(0, |o| of.1.read(o, out));
                // A mapped file that shrank has no bytes there any more.
                out[n..].fill(0);
            }
            Source::Descs(of, off) => series::fill(of, *off, out),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Extent {
    pub(super) len: u64,
    pub(super) source: Source,
}

impl Extent {
    /// This one and the next as one, where the next goes on with it.
    pub(super) fn join(&self, next: &Extent) -> Option<Extent> {
        let len = self.len.checked_add(next.len)?;
        if self.source.continues(self.len, &next.source) {
            return Some(Extent { len, source: self.source.clone() });
        }
        let source = series::join(self, next)?;
        Some(Extent { len, source })
    }
}

/// Content taken out of memory, to be put somewhere else: extents in order, gaps where nothing
/// was ever written. A copy shares its extents, and cutting off the front costs what is cut.
#[derive(Debug, Clone, Default)]
pub struct Content {
    pub(super) len: u64,
    /// Bytes cut off its front so far: offsets of pieces count from before them.
    pub(super) cut: u64,
    pub(super) pieces: Few<(u64, Extent)>,
}

impl Content {
    /// Bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The extents, by their offset from the first byte.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (u64, &Extent)> {
        self.pieces.iter().map(|(off, e)| (off - self.cut, e))
    }

    /// Appends another.
    pub fn append(&mut self, other: &Content) {
        if self.is_empty() {
            *self = other.clone();
            return;
        }
        let at = self.cut + self.len;
        for (off, e) in other.pieces() {
            self.pieces.push_back((at + off, e.clone()));
        }
        self.len += other.len;
    }

    /// Cuts off the first `n` bytes and returns them.
    #[must_use]
    pub fn split_front(&mut self, n: u64) -> Content {
        if n >= self.len {
            return std::mem::take(self);
        }
        let end = self.cut + n;
        let mut front = Content { len: n, cut: self.cut, pieces: Few::default() };
        while self.pieces.front().is_some_and(|(off, _)| *off < end)
            && let Some((off, e)) = self.pieces.pop_front()
        {
            let fits = (end - off).min(e.len);
            if fits < e.len {
                let rest = Extent { len: e.len - fits, source: e.source.at(fits) };
                self.pieces.push_front((end, rest));
            }
            front.pieces.push_back((off, Extent { len: fits, source: e.source }));
        }
        self.cut = end;
        self.len -= n;
        front
    }
}

impl Hash for Content {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len.hash(state);
        for (off, e) in self.pieces() {
            (off, e.len, e.source.hash()).hash(state);
        }
    }
}

/// What is known of a stretch of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Known {
    /// First address that nobody ever wrote (or that was copied from such).
    pub never_written: Option<u64>,
    /// First address whose content is unknown.
    pub unknown: Option<u64>,
}

/// Gathers what is known of a stretch, extent by extent.
pub(super) struct Knowledge {
    pub(super) known: Known,
    pub(super) at: u64,
}

impl Knowledge {
    pub(super) fn of(addr: u64) -> Knowledge {
        Knowledge { known: Known::default(), at: addr }
    }

    pub(super) fn extent(&mut self, start: u64, source: &Source, len: u64) {
        if start > self.at {
            self.known.never_written.get_or_insert(self.at);
        }
        match source {
            Source::Unknown(_) => {
                self.known.unknown.get_or_insert(start);
            }
            Source::Unwritten => {
                self.known.never_written.get_or_insert(start);
            }
            _ => {}
        }
        self.at = start + len;
    }

    pub(super) fn end(mut self, end: u64) -> Known {
        if self.at < end {
            self.known.never_written.get_or_insert(self.at);
        }
        self.known
    }
}
