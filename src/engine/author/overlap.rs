//! Sources and destinations that share bytes: a group of transfers reads everything before it
//! writes anything, its packets do so one by one (`docs/author.md`, "Overlap").

use super::interval::Intervals;
use super::{AuthorError, Packet, Target, Why, copy, cut_all};
use crate::bir::walk::Dim;
use crate::bir::{Op, Side, Transfer, Walk};
use crate::limits::MAX_OVERLAP_EDGES;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Whether no source of the group can share a byte with a destination of it.
pub fn apart(transfers: &[Transfer]) -> bool {
    let mut spans: Vec<(u64, u64, bool)> = Vec::new();
    for t in transfers {
        for s in &t.sources {
            spans.push((s.walk.span().0, s.walk.span().1, false));
        }
        spans.push((t.dest.walk.span().0, t.dest.walk.span().1, true));
    }
    spans.retain(|s| s.0 < s.1);
    spans.sort_unstable();
    // How far sources and destinations passed so far reach.
    let mut reach = [0; 2];
    for (lo, hi, dest) in spans {
        if lo < reach[usize::from(!dest)] {
            return false;
        }
        let mine = &mut reach[usize::from(dest)];
        *mine = hi.max(*mine);
    }
    true
}

/// Whether no two elements of a walk share a byte. It may say no for walks whose dimensions
/// interleave.
pub fn writes_once(walk: &Walk) -> bool {
    let mut dims: Vec<&Dim> = walk.dims.iter().filter(|d| d.num > 1).collect();
    dims.sort_unstable_by_key(|d| d.step.unsigned_abs());
    let mut extent = walk.elem;
    dims.into_iter().all(|d| {
        let step = d.step.unsigned_abs();
        let apart = step >= extent;
        extent = extent.saturating_add(step.saturating_mul(d.num - 1));
        apart
    })
}

/// The packets of a group whose spans meet: as they come where that does no harm, else in
/// pieces so ordered that none reads what an earlier one wrote, else by way of scratch memory.
pub fn buffered(
    transfers: &[Transfer],
    target: &Target,
    budget: u64,
) -> Result<Vec<Packet>, AuthorError> {
    let plain = cut_all(transfers, target, budget, false)?;
    if in_order(&plain) {
        return Ok(plain);
    }
    drop(plain);
    let pieces = cut_all(transfers, target, budget, true)?;
    if in_order(&pieces) {
        return Ok(copy::join(pieces, target.limits()));
    }
    match ordered(pieces) {
        Some(pieces) => Ok(copy::join(pieces, target.limits())),
        None => by_scratch(transfers, target, budget),
    }
}

/// Whether no packet reads what it or an earlier one wrote. A packet with one Rx descriptor
/// may write over its own source: its write follows all of its reads.
fn in_order(packets: &[Packet]) -> bool {
    let mut written = Intervals::default();
    packets.iter().all(|p| {
        let several = p.rx.len() > 1;
        if several {
            p.writes().for_each(|(at, len)| written.add(at, len));
        }
        let good = p.reads().all(|(at, len)| !written.hits(at, len));
        if !several {
            p.writes().for_each(|(at, len)| written.add(at, len));
        }
        good
    })
}

/// The pieces in an order in which each byte is read by all before it is written; `None` where
/// there is none. Of several, the one closest to the order given.
fn ordered(pieces: Vec<Packet>) -> Option<Vec<Packet>> {
    let mut writes: Vec<(u64, u64, usize)> = Vec::new();
    for (n, p) in pieces.iter().enumerate() {
        writes.extend(p.writes().map(|(at, len)| (at, at.saturating_add(len), n)));
    }
    writes.sort_unstable();
    // A byte written twice must keep the order of its writes: not taken apart here.
    if writes.windows(2).any(|w| w[0].1 > w[1].0) {
        return None;
    }
    let mut after: Vec<Vec<u32>> = vec![Vec::new(); pieces.len()];
    let mut waits = vec![0u32; pieces.len()];
    let mut edges = 0usize;
    for (n, p) in pieces.iter().enumerate() {
        for (at, len) in p.reads() {
            let end = at.saturating_add(len);
            let first = writes.partition_point(|w| w.1 <= at);
            for w in writes[first..].iter().take_while(|w| w.0 < end) {
                if w.2 == n {
                    if p.rx.len() > 1 {
                        return None;
                    }
                    continue;
                }
                edges += 1;
                if edges > MAX_OVERLAP_EDGES {
                    return None;
                }
                after[n].push(w.2 as u32);
                waits[w.2] += 1;
            }
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..pieces.len()).filter(|n| waits[*n] == 0).map(Reverse).collect();
    let mut pieces: Vec<Option<Packet>> = pieces.into_iter().map(Some).collect();
    let mut out = Vec::with_capacity(pieces.len());
    while let Some(Reverse(n)) = ready.pop() {
        out.extend(pieces[n].take());
        for &next in &after[n] {
            let next = next as usize;
            waits[next] -= 1;
            if waits[next] == 0 {
                ready.push(Reverse(next));
            }
        }
    }
    (out.len() == pieces.len()).then_some(out)
}

/// Everything is put down in scratch memory as the destinations will have it, then copied
/// (MODEL). The second half reads what the first wrote, so that its first packet gets DMB.
fn by_scratch(
    transfers: &[Transfer],
    target: &Target,
    budget: u64,
) -> Result<Vec<Packet>, AuthorError> {
    let mut need = 0u64;
    let (mut down, mut up) = (Vec::new(), Vec::new());
    let (base, have) = target.scratch.unwrap_or((0, 0));
    for t in transfers {
        let (mut first, walk) = (t.clone(), packed(&t.dest.walk, base.wrapping_add(need)));
        need = need.saturating_add(t.dest.walk.bytes());
        first.dest = Side { walk, dtype: t.dest.dtype, patched: false };
        let second = Transfer {
            op: Op::Copy,
            sources: vec![first.dest.clone()],
            dest: t.dest.clone(),
            can_read_uninit: t.can_read_uninit,
            from: t.from,
        };
        down.push(first);
        up.push(second);
    }
    if need > have {
        let from = transfers.first().map_or(crate::bir::Pos(0), |t| t.from);
        return Err(AuthorError { from, why: Why::Overlap { need, have } });
    }
    let mut out = cut_all(&down, target, budget, false)?;
    let used = out.iter().map(|p| p.tx.len().max(p.rx.len()) as u64).sum::<u64>();
    out.extend(cut_all(&up, target, budget.saturating_sub(used), false)?);
    Ok(out)
}

/// A walk of the same shape without gaps.
fn packed(walk: &Walk, start: u64) -> Walk {
    let mut step = walk.elem;
    let mut dims: Vec<Dim> = Vec::with_capacity(walk.dims.len());
    for d in walk.dims.iter().rev() {
        dims.push(Dim { step: step as i64, num: d.num });
        step = step.wrapping_mul(d.num);
    }
    dims.reverse();
    Walk { start, dims, elem: walk.elem }
}
