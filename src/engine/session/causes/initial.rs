//! What memory held before the first event, and from where.

use super::access::{Span, shared, without};
use crate::engine::program::{Fill, Program, RegionKind};
use crate::engine::ring::Memory;

/// Where bytes come from that no event wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initial {
    /// Contents of the program, by their number.
    Content(usize),
    /// The fill of the region that holds them.
    Fill(Fill),
    /// No region holds them.
    Outside,
}

/// The parts of a stretch and where each comes from, in the order of addresses.
pub(super) fn of(p: &Program, memory: &Memory, span: Span) -> Vec<(Span, Initial)> {
    let mut out = Vec::new();
    let mut left = vec![span];
    // Later contents lie upon earlier ones.
    for (i, c) in p.contents.iter().enumerate().rev() {
        let block = (c.addr, c.bytes.len() as u64);
        if left.is_empty() {
            break;
        }
        if left.iter().any(|s| shared(*s, block).is_some()) {
            out.extend(left.iter().filter_map(|s| Some((shared(*s, block)?, Initial::Content(i)))));
            left = left.into_iter().flat_map(|s| without(s, block)).collect();
        }
    }
    for mut s in left {
        for r in memory.regions() {
            let Some(part) = shared(s, (r.base, r.len)) else { continue };
            if part.0 > s.0 {
                out.push(((s.0, part.0 - s.0), Initial::Outside));
            }
            out.push((part, Initial::Fill(r.fill)));
            let end = part.0.saturating_add(part.1);
            s = (end, s.0.saturating_add(s.1) - end);
        }
        if s.1 > 0 {
            out.push((s, Initial::Outside));
        }
    }
    out.sort_by_key(|x| x.0.0);
    out
}

impl Initial {
    /// In words, of bytes at an address.
    pub fn words(self, p: &Program, memory: &Memory, addr: u64) -> String {
        let region = memory.region_at(addr).map_or("", |r| &r.name);
        let location = p.module.as_ref().and_then(|m| m.exec.layout().at(addr));
        match (self, location) {
            (Initial::Content(_), Some(l)) => format!("what `{}` holds from the start", l.name),
            (Initial::Content(i), None) => {
                format!("contents of the program, block {} of {}", i + 1, p.contents.len())
            }
            (Initial::Outside, _) => "no memory is known there".to_owned(),
            (Initial::Fill(Fill::Never), _) => format!("never written ({region})"),
            (Initial::Fill(Fill::Unknown), _) => {
                format!("bytes of `{region}` that are not known; a pattern stands for them")
            }
            (Initial::Fill(Fill::Zero), _) if p.region_at(addr).is_none() => {
                format!("zeroes of the ring `{region}`, as the driver allocates it")
            }
            (Initial::Fill(Fill::Zero), _) => format!("zeroes from the start (`{region}`)"),
            (Initial::Fill(Fill::Byte(b)), _) => {
                format!("bytes {b:#04x} from the start (`{region}`)")
            }
            (Initial::Fill(Fill::Pattern(seed)), _) => {
                format!("a pattern from the start (`{region}`, seed {seed})")
            }
        }
    }
}

/// What kind of memory an address is in, for a reader.
pub(super) fn kind_words(memory: &Memory, addr: u64) -> Option<String> {
    let r = memory.region_at(addr)?;
    let kind = match r.kind {
        RegionKind::Host => "host memory",
        RegionKind::Device => "device memory",
        RegionKind::OnChip => "on-chip memory",
        RegionKind::Register => "registers reached by descriptors",
    };
    Some(format!("`{}`, {kind}, {:#x} bytes at {:#x}", r.name, r.len, r.base))
}
