//! A memory map made from a ring's own addresses (MODEL; `docs/formats.md`, "The memory of a
//! raw image").

use super::{Order, RingView};
use crate::engine::program::{Fill, Region, RegionKind};
use crate::limits::MAX_REGIONS;
use crate::udma::template::Template;
use crate::udma::{Dir, Generation};

/// Ranges `[start, last]`, both inclusive, so that the last address can be one.
#[derive(Debug, Clone, Default)]
pub struct Ranges {
    list: Vec<(u64, u64)>,
}

/// Ranges closer than this become one: a page.
const NEAR: u64 = 4096;
/// Ranges kept before they are merged.
const PENDING: usize = 1 << 20;

impl Ranges {
    /// Adds `len` bytes from `start`; what would go beyond 64 bits is cut.
    pub fn add(&mut self, start: u64, len: u64) {
        if len == 0 {
            return;
        }
        let last = start.saturating_add(len - 1);
        if let Some(end) = self.list.last_mut()
            && start >= end.0
            && start <= end.1.saturating_add(1)
        {
            end.1 = end.1.max(last);
            return;
        }
        self.list.push((start, last));
        if self.list.len() >= PENDING {
            self.merge(0);
            let mut gap = NEAR;
            while self.list.len() >= PENDING / 2 {
                self.merge(gap);
                gap = gap.saturating_mul(4);
            }
        }
    }

    /// Sorts and joins what is at most `gap` bytes apart.
    pub fn merge(&mut self, gap: u64) {
        self.list.sort_unstable();
        let mut out: Vec<(u64, u64)> = Vec::new();
        for &(start, last) in &self.list {
            match out.last_mut() {
                Some(end) if start <= end.1.saturating_add(1).saturating_add(gap) => {
                    end.1 = end.1.max(last);
                }
                _ => out.push((start, last)),
            }
        }
        self.list = out;
    }

    /// Cuts away what `other` (merged) covers. Both are merged before.
    pub fn subtract(&mut self, other: &Ranges) {
        let mut out = Vec::new();
        for &(mut start, last) in &self.list {
            let from = other.list.partition_point(|o| o.1 < start);
            let mut gone = false;
            for &(a, b) in other.list.iter().skip(from).take_while(|o| o.0 <= last) {
                if a > start {
                    out.push((start, a - 1));
                }
                match b.checked_add(1) {
                    Some(next) if next <= last => start = next,
                    _ => {
                        gone = true;
                        break;
                    }
                }
            }
            if !gone {
                out.push((start, last));
            }
        }
        self.list = out;
    }

    /// Whether any byte of the range is among them (merged).
    pub fn overlap(&self, start: u64, last: u64) -> Option<(u64, u64)> {
        let i = self.list.partition_point(|r| r.1 < start);
        self.list.get(i).filter(|r| r.0 <= last).copied()
    }
}

/// What the descriptors of some rings touch.
#[derive(Debug, Clone, Default)]
pub struct Touched {
    /// Read.
    pub sources: Ranges,
    /// Written.
    pub destinations: Ranges,
}

impl Touched {
    /// Adds the used slots of a ring, those behind an empty one as well: they are not rung, but
    /// the ring is copied in with them. META moves nothing; a symbolic address has no place.
    pub fn ring(&mut self, ring: &RingView, order: &Order) {
        let into = match ring.dir() {
            Dir::Tx => &mut self.sources,
            Dir::Rx => &mut self.destinations,
        };
        let count = if order.beyond.is_some() { ring.slots() } else { order.count };
        for i in 0..count {
            let at = (order.start + i) % ring.slots().max(1);
            let Some(d) = ring.get(at).filter(|d| !d.is_zero()) else { continue };
            let meta = ring.dir() == Dir::Tx && d.is_meta();
            if !meta && Template::parse(d.ptr).is_none() {
                into.add(d.ptr, d.length());
            }
        }
    }

    /// Everything touched, merged.
    pub fn all(&self) -> Ranges {
        let mut all = self.sources.clone();
        all.list.extend(&self.destinations.list);
        all.merge(0);
        all
    }

    /// The regions: what is read holds unknown bytes, what is only written was never written
    /// before. Memory of the rings is left out.
    pub fn regions(mut self, arch: Generation, rings: &Ranges) -> Vec<Region> {
        let mut gap = NEAR;
        loop {
            self.sources.merge(gap);
            self.destinations.merge(gap);
            let mut read = self.sources.clone();
            read.subtract(rings);
            let mut written = self.destinations.clone();
            written.subtract(&self.sources);
            written.subtract(rings);
            let n = read.list.len() + written.list.len();
            // One more is left for the marker area.
            if n < MAX_REGIONS || gap > 1 << 62 {
                return named(arch, &read, &written);
            }
            gap = gap.saturating_mul(4);
        }
    }
}

fn named(arch: Generation, read: &Ranges, written: &Ranges) -> Vec<Region> {
    let with =
        |r: &Ranges, fill| r.list.iter().map(move |&(a, b)| (a, b, fill)).collect::<Vec<_>>();
    let mut all = with(read, Fill::Unknown);
    all.extend(with(written, Fill::Never));
    all.sort_unstable_by_key(|r| r.0);
    let (mut host, mut hbm) = (0, 0);
    all.into_iter()
        .map(|(base, last, fill)| {
            let (kind, stem, n) = if arch.is_host(base) {
                (RegionKind::Host, "host", &mut host)
            } else {
                (RegionKind::Device, "hbm", &mut hbm)
            };
            let name = format!("{stem}{n}");
            *n += 1;
            Region { name, kind, base, len: (last - base).saturating_add(1), fill }
        })
        .collect()
}
