//! How many ring descriptors a queue's transfers take, by arithmetic over their patterns.
//!
//! A loader lays all static descriptors of a queue into one ring; one that asks for more than a
//! queue may have fails at its initialisation (`docs/verify.md`).

use super::Cx;
use super::flow::Scope;
use crate::bir::quick::QuickMap;
use crate::bir::{At, Body, Finding, Inst, Name, Operand, Space};
use crate::limits::MAX_RING_DESCS;
use crate::udma::count_of;
use crate::udma::profile::MAX_DESC_BYTES;

/// Descriptors of either ring by queue.
#[derive(Default)]
pub(super) struct Counts(QuickMap<Name, u64>);

/// Adds a transfer, or a descriptor of `queue`. One in loops counts for each round, as far as
/// those are known: a block each.
pub(super) fn count(cx: &mut Cx<'_>, inst: &Inst, scope: &Scope, queue: Option<&Name>) {
    let queue = match (&inst.body, queue) {
        (Body::Dma(d), None) => d.queue.as_ref(),
        (Body::Descriptor(_), queue) => queue,
        _ => None,
    };
    let Some(queue) = queue else { return };
    let side = |all: &[Operand]| all.iter().fold(0u64, |n, o| n.saturating_add(descriptors(cx, o)));
    let one = side(&inst.ins).max(side(&inst.outs));
    let rounds = scope.axes.iter().filter_map(|a| a.values);
    let times = rounds.fold(1u64, |n, (_, _, trips)| n.saturating_mul(trips));
    let more = one.saturating_mul(times);
    match cx.ring.0.get_mut(queue) {
        Some(sum) => *sum = sum.saturating_add(more),
        None => drop(cx.ring.0.insert(queue.clone(), more)),
    }
}

/// Descriptors that one side of a transfer takes at least: one for each contiguous run, and for
/// each 64 KiB of it.
fn descriptors(cx: &Cx<'_>, o: &Operand) -> u64 {
    let Some((p, dtype)) = o.as_pattern().zip(o.dtype) else { return 0 };
    if p.pairs.iter().any(|x| x.num == 0) {
        return 0;
    }
    // Partitions never continue each other.
    let apart = cx.layout.of(p).is_ok_and(|l| matches!(l.space, Space::Sb | Space::Psum));
    let (mut run, mut at) = (1u64, p.pairs.len());
    while at > usize::from(apart)
        && (p.pairs[at - 1].num == 1 || u64::try_from(p.pairs[at - 1].step) == Ok(run))
    {
        run = run.saturating_mul(p.pairs[at - 1].num);
        at -= 1;
    }
    let runs = p.pairs[..at].iter().fold(1u64, |n, x| n.saturating_mul(x.num));
    runs.saturating_mul(run.saturating_mul(dtype.bytes()).div_ceil(MAX_DESC_BYTES))
}

/// Says which queues ask for too much.
pub(super) fn check(cx: &mut Cx<'_>) {
    for q in &cx.module.queues {
        let Some(n) = cx.ring.0.remove(&q.name).filter(|n| *n > MAX_RING_DESCS) else { continue };
        let text = format!(
            "queue `{}` needs {n_descriptors}: size({n}) too large, at most {MAX_RING_DESCS}",
            q.name,
            n_descriptors = count_of(n, "descriptor")
        );
        cx.push(Finding::new("L058", At::Queue(q.name.clone()), text));
    }
}
