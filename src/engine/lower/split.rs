//! Split: a `DMACopy` that needs more descriptors than its ring holds becomes several
//! (`docs/lowering.md`, "Split"). For other opcodes no public rule exists.

use super::clones::{Clones, copy_to_scratch};
use super::context::{Context, Refusal, on_chip};
use super::family::{Family, data_ins};
use super::options::{MAX_PARALLEL_ENGINES, Mutation, SplitRule, ring_depth};
use super::overlap::{Order, order, share, stage};
use super::pieces::{Cutter, Piece};
use super::resolve::index_bound;
use super::rewrite::{Names, Replacement, Scope, rewrite};
use super::route::classify;
use crate::bir::{Inst, Layout, Module, Opcode, Operand, Part, Reference};
use crate::udma::count_of;

/// The largest divisor of `n` that is at most 16; 1 for 0.
pub fn largest_factor(n: u64) -> u64 {
    (1..=MAX_PARALLEL_ENGINES).rev().find(|d| n != 0 && n.is_multiple_of(*d)).unwrap_or(1)
}

/// Sizes of the pieces of `n` descriptors on a ring of `depth`: they sum to `n`, none is above
/// the depth, and 0 gives none.
pub fn split_sizes(n: u64, depth: u64, rule: SplitRule) -> impl Iterator<Item = u64> {
    let depth = depth.max(1);
    let pieces = n.div_ceil(depth);
    let piece = match rule {
        SplitRule::Factor if n > depth => {
            let f = largest_factor(n);
            if f > depth { depth } else { depth / f * f }
        }
        _ => depth,
    };
    // Of equal pieces the first few have one more.
    let (least, more) = (n.checked_div(pieces).unwrap_or(0), n.checked_rem(pieces).unwrap_or(0));
    let (mut left, mut k) = (n, 0);
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let size = match rule {
            SplitRule::Equal => least + u64::from(k < more),
            _ => piece.min(left),
        };
        k += 1;
        left -= size;
        Some(size)
    })
}
use std::sync::Arc;

/// Runs the stage.
pub(super) fn run(module: &Arc<Module>, cx: &mut Context<'_>) -> Arc<Module> {
    let layout = Layout::new(module);
    let mut names = Names::of(module);
    let mut out = rewrite(module, &mut |inst, scope| {
        if cx.is_refused(inst.pos) {
            return None;
        }
        let mut work = Split { cx: &mut *cx, module, layout: &layout, names: &mut names };
        work.one(inst, scope).unwrap_or_else(|refusal| {
            cx.refuse(inst.pos, refusal);
            None
        })
    });
    cx.add_allocations(&mut out);
    out
}

/// Descriptors of a transfer: one for every M elements.
pub(super) fn descriptors(cx: &Context<'_>, inst: &Inst) -> Option<u64> {
    let elements = inst.outs.first()?.as_pattern()?.count()?;
    Some(elements.div_ceil(cx.opts.desc_elems(inst, cx.arch)))
}

/// What is cut when this transfer is cut.
pub(super) fn cutter<'a>(
    cx: &Context<'_>,
    layout: &Layout,
    inst: &'a Inst,
    family: Family,
    max_pairs: Option<usize>,
) -> Option<Cutter<'a>> {
    let all: Vec<_> = data_ins(inst).map(|(_, o)| (o, on_chip(layout, o))).collect();
    let sources = if family == Family::Cce { all.len() } else { 1 };
    let out = inst.outs.first()?;
    Some(Cutter {
        family,
        transpose: inst.dma().map(|d| d.transpose).unwrap_or(crate::bir::TransposeOp::None),
        ins: all.into_iter().take(sources).collect(),
        out: (out, on_chip(layout, out)),
        max_pairs,
        most: cx.room(),
    })
}

/// Gives the first invalid index to operands that are about to be cut, since each part must be
/// skipped where the whole would be.
///
/// # Errors
/// It is not known.
pub(super) fn bound_indices(layout: &Layout, operand: &mut Operand) -> Result<(), Refusal> {
    let unbounded = matches!(
        operand.as_pattern().and_then(|p| p.reference.as_ref()),
        Some(Reference::Index { max_index: None, scale, .. }) if *scale != 0
    );
    if !unbounded {
        return Ok(());
    }
    let Some(bound) = index_bound(layout, operand) else {
        let text = "a row must be cut, and its last valid index is not known";
        return Err(("L006", Part::Whole, text.into()));
    };
    if let Some(Reference::Index { max_index, .. }) =
        operand.as_pattern_mut().and_then(|p| p.reference.as_mut())
    {
        *max_index = Some(bound);
    }
    Ok(())
}

struct Split<'a, 'o> {
    cx: &'a mut Context<'o>,
    module: &'a Module,
    layout: &'a Layout,
    names: &'a mut Names,
}

impl Split<'_, '_> {
    fn one(&mut self, inst: &Inst, scope: &Scope<'_>) -> Result<Option<Replacement>, Refusal> {
        let Some(depth) = inst.dma().and_then(|d| ring_depth(d.dge)) else { return Ok(None) };
        let Some(n) = descriptors(self.cx, inst).filter(|n| *n > depth) else { return Ok(None) };
        if inst.opcode != Opcode::DmaCopy {
            let op = &inst.opcode;
            let text = format!(
                "{n_descriptors} for a ring of {depth}; no public rule splits {op}",
                n_descriptors = count_of(n, "descriptor")
            );
            self.cx.say("L009", inst.pos, Part::Whole, text);
            return Ok(None);
        }
        let (family, _) = classify(inst)?;
        let mut inst = inst.clone();
        for o in inst.ins.iter_mut().chain(&mut inst.outs) {
            bound_indices(self.layout, o)?;
        }
        let Some(pieces) = self.pieces(&inst, family, depth)? else { return Ok(None) };
        let mut insts = Vec::new();
        let sources: Vec<_> = data_ins(&inst).map(|(_, o)| o).collect();
        let pieces = match inst
            .outs
            .first()
            .map(|out| order(self.cx, self.layout, &sources, out, &pieces))
        {
            Some(Order::Given(given)) => given.into_iter().map(|k| pieces[k].clone()).collect(),
            Some(Order::Impossible) => {
                let mut new = inst.clone();
                for (k, operand) in inst.ins.iter().enumerate() {
                    if !inst
                        .outs
                        .first()
                        .is_some_and(|out| share(self.cx, self.layout, operand, out))
                    {
                        continue;
                    }
                    let (cx, layout) = (&mut *self.cx, self.layout);
                    let s = stage(cx, layout, self.module, scope.function, inst.pos, operand)?;
                    let copy = copy_to_scratch(&inst, &s);
                    new.ins[k] = s.operand;
                    match self.pieces(&copy, Family::Copy, depth)? {
                        Some(parts) => insts.extend(parts.iter().map(|p| part(&copy, p))),
                        None => insts.push(copy),
                    }
                }
                inst = new;
                self.pieces(&inst, family, depth)?.unwrap_or(pieces)
            }
            _ => pieces,
        };
        for (k, piece) in pieces.iter().enumerate() {
            let mut clone = part(&inst, piece);
            if k > 0 && self.cx.opts.mutation == Some(Mutation::OffByOneSplit) {
                early(&mut clone);
            }
            insts.push(clone);
        }
        self.cx.make(insts.len() as u64)?;
        let mut clones = Clones::new(self.names, &inst);
        clones.extend(insts);
        Ok(Some(clones.done()))
    }

    /// Pieces of at most as many elements as the rule gives descriptors, rounded down to whole
    /// rows of the outermost dimension that can be cut. `None` where it is left to Check, or
    /// need not be cut.
    fn pieces(
        &self,
        inst: &Inst,
        family: Family,
        depth: u64,
    ) -> Result<Option<Vec<Piece>>, Refusal> {
        let Some(cutter) = cutter(self.cx, self.layout, inst, family, None) else {
            return Ok(None);
        };
        let count = |o: &Operand| o.as_pattern().and_then(|p| p.count());
        let total = cutter.count();
        let equal = cutter.ins.iter().all(|(o, _)| count(o) == total);
        let Some(total) = total.filter(|_| equal || family == Family::Replicate) else {
            return Ok(None);
        };
        let most = self.cx.opts.desc_elems(inst, self.cx.arch);
        let n = total.div_ceil(most);
        if n <= depth {
            return Ok(None);
        }
        let mut sizes = split_sizes(n, depth, self.cx.opts.split);
        let mut end = 0u64;
        let pieces = cutter.cut(&mut |at| {
            while end <= at {
                match sizes.next() {
                    Some(size) => end = end.saturating_add(size.saturating_mul(most)),
                    None => end = u64::MAX,
                }
            }
            (end - at).min(depth.saturating_mul(most))
        });
        let pieces = pieces.map_err(|why| ("L024", Part::Whole, why))?;
        Ok((pieces.len() > 1).then_some(pieces))
    }
}

/// The transfer with a piece's operands; what is no data stays.
fn part(inst: &Inst, piece: &Piece) -> Inst {
    let mut clone = inst.clone();
    let places: Vec<usize> = data_ins(inst).map(|(k, _)| k).collect();
    for (k, o) in places.into_iter().zip(&piece.ins) {
        clone.ins[k] = o.clone();
    }
    clone.outs = [piece.out.clone()].into();
    clone
}

fn early(inst: &mut Inst) {
    let source = inst.ins.first_mut().and_then(Operand::as_pattern_mut);
    if let Some(p) = source
        && let Some(step) = p.pairs.iter().rev().find(|q| q.step != 0).map(|q| q.step)
    {
        p.offset = p.offset.saturating_sub(step);
    }
}
