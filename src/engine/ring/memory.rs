//! Sparse memory as a map of extents: what lies where, and where it came from.
//!
//! An extent is a stretch of bytes that share a source: a fill, a piece of a blob, or bytes
//! that are known to be unwritten or unknown. Copying moves extents, not bytes, so a transfer
//! costs the number of extents it touches, a checkpoint costs nothing, and a byte keeps the
//! knowledge of whether anybody ever wrote it. `docs/model.md`, "Memory".

mod content;
mod difference;
mod fill;
mod flat;
mod many;
mod map;
mod series;
mod weight;

pub use content::{Content, Known};
pub use difference::{Cell, Difference};
pub use fill::{pattern_byte, unknown_byte};
pub use series::{Row, Solid};

use super::digest::{hash_bytes, mix};
use crate::engine::program::{Blob, Fill, Program, Region};
use crate::udma::DESC_BYTES;
use content::{Extent, INLINE, Knowledge, Source};
use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// How an extent comes to its place.
enum How {
    /// It takes the place of one just as long, and of nothing else.
    Over,
    /// It lies in one extent: what is left of that before it, where it begins, and after it, at
    /// what distance.
    Into { before: Option<(u64, Extent)>, rest: Option<(u64, Extent)> },
    /// In any other way.
    Plainly,
}

/// The memory of the machine.
#[derive(Debug, Clone)]
pub struct Memory {
    map: map::Map,
    regions: Arc<Vec<Region>>,
    digest: u64,
}

impl crate::bir::memory::Read for Memory {
    fn read(&self, at: u64, out: &mut [u8]) -> Option<u64> {
        Memory::read(self, at, out).never_written
    }
}

impl Memory {
    /// The memory before the first event: every region's fill, then the contents.
    ///
    /// Rings that no region covers are regions of their own, filled with zero as the driver
    /// allocates them.
    pub fn new(program: &Program) -> Memory {
        let mut regions = program.regions.clone();
        for q in &program.queues {
            for dir in crate::udma::Dir::BOTH {
                let Some(ring) = q.ring(dir) else { continue };
                if program.region_at(ring.base).is_none() {
                    let kind = if program.arch.is_host(ring.base) {
                        crate::engine::program::RegionKind::Host
                    } else {
                        crate::engine::program::RegionKind::Device
                    };
                    regions.push(Region {
                        name: format!("{}.{dir}", q.id),
                        kind,
                        base: ring.base,
                        len: ring.bytes(),
                        fill: Fill::Zero,
                    });
                }
            }
        }
        regions.sort_by_key(|r| r.base);
        let mut m = Memory { map: map::Map::new(), regions: Arc::new(Vec::new()), digest: 0 };
        for r in &regions {
            let source = match r.fill {
                Fill::Never => continue,
                Fill::Zero => Source::Byte(0),
                Fill::Byte(b) => Source::Byte(b),
                Fill::Pattern(seed) => Source::Pattern(seed, 0),
                Fill::Unknown => Source::Unknown(r.base),
            };
            m.put(r.base, Extent { len: r.len, source });
        }
        for (i, c) in program.contents.iter().enumerate() {
            // A blob of the program is named by its index: contents may be a mapped gigabyte
            // that must not be hashed.
            let id = mix(0x636f_6e74, i as u64);
            let source = Source::Blob(Arc::new((id, c.bytes.clone())), 0);
            m.put_source(c.addr, c.bytes.len() as u64, source);
        }
        m.regions = Arc::new(regions);
        m
    }

    /// The regions, in order of address, rings included.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The region that holds an address.
    pub fn region_at(&self, addr: u64) -> Option<&Region> {
        let i = self.regions.partition_point(|r| r.base <= addr);
        self.regions[..i].last().filter(|r| r.contains(addr))
    }

    /// The first address of a stretch that no region holds.
    pub fn outside(&self, addr: u64, len: u64) -> Option<u64> {
        let mut at = addr;
        let mut left = len;
        while left > 0 {
            let Some(r) = self.region_at(at) else { return Some(at) };
            let in_region = (r.len - (at - r.base)).min(left);
            left -= in_region;
            match at.checked_add(in_region) {
                Some(next) => at = next,
                None if left == 0 => {}
                None => return Some(at),
            }
        }
        None
    }

    /// Takes a copy of the content of `len` bytes at `addr` (clipped at the end of the
    /// address space).
    pub fn take(&self, addr: u64, len: u64) -> Content {
        let end = addr.saturating_add(len);
        let mut out = Content { len, ..Content::default() };
        self.each(addr, end, |start, source, len| {
            out.pieces.push_back((start - addr, Extent { len, source: source.clone() }));
        });
        out
    }

    /// The extent that begins last before `at`, and where it begins.
    fn before(&self, at: u64) -> Option<(u64, Cow<'_, Extent>)> {
        self.map.until(at.checked_sub(1)?)
    }

    /// Calls `f` for each extent's part inside `start..end`, in order.
    fn each(&self, start: u64, end: u64, mut f: impl FnMut(u64, &Source, u64)) {
        if start >= end {
            return;
        }
        // Mostly one extent holds all of it.
        let mut from = start;
        if let Some((s, e)) = self.map.until(start) {
            let e_end = s.saturating_add(e.len);
            if e_end > start {
                f(start, &e.source.at(start - s), e_end.min(end) - start);
                from = e_end;
            }
        }
        if from < end {
            self.map.each(from, end, |s, e| {
                f(s, &e.source, e.len.min(end - s));
                true
            });
        }
    }

    /// Reads bytes; unwritten ones read as zero. Says what of them is not known.
    pub fn read(&self, addr: u64, out: &mut [u8]) -> Known {
        let end = addr.saturating_add(out.len() as u64);
        let mut known = Knowledge::of(addr);
        let mut done = 0;
        self.each(addr, end, |s, source, len| {
            known.extent(s, source, len);
            let at = (s - addr) as usize;
            out[done..at].fill(0);
            done = at + len as usize;
            source.fill(&mut out[at..done]);
        });
        out[done..].fill(0);
        known.end(end)
    }

    /// Descriptors from `addr` on where they lie ([`Blob::lying`]), how many apart, and how many
    /// come before something else does; nothing where they come from no blob.
    pub fn lying(&self, addr: u64) -> Option<(&[u8], usize, u64)> {
        // What is made when it is asked for comes from no blob.
        let (start, Cow::Borrowed(e)) = self.map.until(addr)? else { return None };
        let skip = addr.checked_sub(start)?;
        let slots = e.len.checked_sub(skip)? / DESC_BYTES as u64;
        let Source::Blob(of, off) = &e.source else { return None };
        let (bytes, step) = of.1.lying(usize::try_from(off.checked_add(skip)?).ok()?)?;
        (slots > 0).then_some((bytes, step, slots))
    }

    /// What is known of a stretch, without reading it.
    pub fn known(&self, addr: u64, len: u64) -> Known {
        let end = addr.saturating_add(len);
        let mut known = Knowledge::of(addr);
        self.each(addr, end, |s, source, len| known.extent(s, source, len));
        known.end(end)
    }

    /// Reads a little-endian 32-bit word.
    pub fn read_u32(&self, addr: u64) -> u32 {
        let mut b = [0; 4];
        self.read(addr, &mut b);
        u32::from_le_bytes(b)
    }

    /// Stores bytes.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) {
        let mut inline = [0; INLINE];
        match inline.get_mut(..bytes.len()) {
            Some(front) => {
                front.copy_from_slice(bytes);
                let len = bytes.len() as u64;
                self.put_source(addr, len, Source::Inline(inline, 0));
            }
            None => self.write_blob(addr, Blob::from_vec(bytes.to_vec())),
        }
    }

    /// Stores a blob without copying it; its content is hashed once.
    pub fn write_blob(&mut self, addr: u64, blob: Blob) {
        let len = blob.len() as u64;
        let id = hash_bytes(blob.bytes());
        self.put_source(addr, len, Source::Blob(Arc::new((id, blob)), 0));
    }

    /// Stores one byte `len` times.
    pub fn fill(&mut self, addr: u64, len: u64, byte: u8) {
        self.put_source(addr, len, Source::Byte(byte));
    }

    /// Puts bytes of one source at an address.
    fn put_source(&mut self, addr: u64, len: u64, source: Source) {
        let end = addr.saturating_add(len);
        if end > addr {
            self.put_extent(addr, Extent { len: end - addr, source });
        }
    }

    /// Puts an extent at an address; what lies there goes.
    fn put_extent(&mut self, addr: u64, e: Extent) {
        match self.how(addr, &e) {
            How::Over => self.insert_over(addr, e),
            How::Into { before, rest } => {
                if let Some((s, before)) = before {
                    self.insert_over(s, before);
                }
                self.insert_over(addr, e);
                if let Some(rest) = rest {
                    self.insert_over(addr.saturating_add(rest.0), rest.1);
                }
            }
            How::Plainly => self.put_plainly(addr, e),
        }
    }

    /// Puts an extent at an address, whatever lies around it.
    fn put_plainly(&mut self, addr: u64, e: Extent) {
        let end = addr.saturating_add(e.len);
        self.clear(addr, end);
        self.put(addr, e);
        self.join_next(end);
    }

    /// How an extent comes to its place, by one look at what lies there.
    fn how(&self, addr: u64, e: &Extent) -> How {
        let near = self.map.near(addr);
        let end = addr.saturating_add(e.len);
        let ends = |(s, e): &(u64, Cow<'_, Extent>)| s.saturating_add(e.len);
        let (before, at) = (near.before, near.at);
        // What is joined to it is a matter of its own, and so is what it covers in part.
        if let Some(old) = at {
            let joins = before.is_some_and(|b| ends(&b) == addr && b.1.join(e).is_some());
            if joins || old.len < e.len {
                return How::Plainly;
            }
            if old.len > e.len {
                let rest = Extent { len: old.len - e.len, source: old.source.at(e.len) };
                let joins = e.join(&rest).is_some();
                let rest = Some((e.len, rest));
                return if joins { How::Plainly } else { How::Into { before: None, rest } };
            }
            // A descriptor or a marker word that is written again.
            let joins = near.after.is_some_and(|(s, next)| s == end && e.join(&next).is_some());
            return if joins { How::Plainly } else { How::Over };
        }
        let Some((s, old)) = before.filter(|b| ends(b) >= end && b.0 < addr) else {
            return How::Plainly;
        };
        let front = Extent { len: addr - s, source: old.source.clone() };
        let left = s.saturating_add(old.len) - end;
        let rest = (left > 0).then(|| Extent { len: left, source: old.source.at(end - s) });
        let joins = match &rest {
            Some(rest) => e.join(rest).is_some(),
            None => near.after.is_some_and(|(s, next)| s == end && e.join(&next).is_some()),
        };
        if joins || front.join(e).is_some() {
            return How::Plainly;
        }
        How::Into { before: Some((s, front)), rest: rest.map(|rest| (e.len, rest)) }
    }

    fn insert_over(&mut self, addr: u64, e: Extent) {
        self.digest = self.digest.wrapping_add(Memory::extent_hash(addr, &e));
        if let Some(old) = self.map.insert(addr, e) {
            self.digest = self.digest.wrapping_sub(Memory::extent_hash(addr, &old));
        }
    }

    /// Puts content at an address. Its gaps become bytes that are known to be unwritten.
    pub fn put_content(&mut self, addr: u64, content: Content) {
        let end = addr.saturating_add(content.len);
        if end == addr {
            return;
        }
        if let Some((0, only)) = content.pieces().next()
            && only.len == content.len
        {
            return self.put_source(addr, content.len, only.source.clone());
        }
        self.clear(addr, end);
        let mut at = addr;
        for (off, e) in content.pieces() {
            let start = addr.saturating_add(off);
            if start > at {
                self.put(at, Extent { len: start - at, source: Source::Unwritten });
            }
            let len = e.len.min(end.saturating_sub(start));
            if len > 0 {
                self.put(start, Extent { len, source: e.source.clone() });
            }
            at = start.saturating_add(len);
        }
        if at < end {
            self.put(at, Extent { len: end - at, source: Source::Unwritten });
        }
        self.join_next(end);
    }

    /// Removes everything in `start..end`, keeping what sticks out.
    fn clear(&mut self, start: u64, end: u64) {
        if let Some((s, e)) = self.before(start).map(|(s, e)| (s, e.into_owned())) {
            let e_end = s.saturating_add(e.len);
            if e_end > start {
                self.insert_over(s, Extent { len: start - s, source: e.source.clone() });
                if e_end > end {
                    self.insert_over(
                        end,
                        Extent { len: e_end - end, source: e.source.at(end - s) },
                    );
                }
                if e_end >= end {
                    return;
                }
            }
        }
        while let Some((s, e)) = self.map.from(start).map(|(s, e)| (s, e.into_owned())) {
            if s >= end {
                return;
            }
            self.remove(s);
            let e_end = s.saturating_add(e.len);
            if e_end > end {
                self.insert_over(end, Extent { len: e_end - end, source: e.source.at(end - s) });
            }
        }
    }

    fn extent_hash(start: u64, e: &Extent) -> u64 {
        mix(mix(start, e.len), e.source.hash())
    }

    fn remove(&mut self, start: u64) {
        if let Some(e) = self.map.remove(start) {
            self.digest = self.digest.wrapping_sub(Memory::extent_hash(start, &e));
        }
    }

    /// Inserts an extent into free space, joined to the one before it where it goes on.
    fn put(&mut self, start: u64, e: Extent) {
        if e.len == 0 {
            return;
        }
        if let Some((s, before)) = self.before(start)
            && s.saturating_add(before.len) == start
            && let Some(joined) = before.join(&e)
        {
            return self.insert_over(s, joined);
        }
        self.insert_over(start, e);
    }

    /// Joins the extent that starts at `at` to the one before it, where it goes on.
    fn join_next(&mut self, at: u64) {
        let near = self.map.near(at);
        if let (Some((s, before)), Some(e)) = (near.before, near.at)
            && s.saturating_add(before.len) == at
            && let Some(joined) = before.join(&e)
        {
            self.remove(at);
            self.insert_over(s, joined);
        }
    }

    /// A digest of the whole content.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// How many extents there are; what memory costs.
    pub fn extents(&self) -> usize {
        self.map.len()
    }
}

impl Hash for Memory {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}

#[cfg(test)]
mod tests;
