//! Peel: a transfer with a dynamic side is cut along its dynamic dimension into chunks that fit
//! one descriptor each (`docs/lowering.md`, "Peel"). As the first stage it also settles engine,
//! queue and DGE type of every transfer, and lets a dynamic one whose sides may share bytes read
//! from a scratch location, since nobody knows before the program runs in which order its rows
//! would be safe.

use super::clones::{Clones, copy_to_scratch};
use super::context::{Context, Refusal, on_chip};
use super::cut::{Grid, take};
use super::family::{Dynamic, Side, reads_address};
use super::options::Mutation;
use super::overlap::{share, stage};
use super::rewrite::{Names, Replacement, Scope, rewrite};
use super::route::{NewQueues, bad_dynamic, classify, route};
use crate::bir::{Inst, Layout, Module, Operand, Pair, Part};
use std::sync::Arc;

/// Runs the stage.
pub(super) fn run(module: &Arc<Module>, cx: &mut Context<'_>) -> Arc<Module> {
    let layout = Layout::new(module);
    let mut names = Names::of(module);
    let mut queues = NewQueues::default();
    let mut out = rewrite(module, &mut |inst, scope| {
        let mut work = Peel { cx: &mut *cx, module, layout: &layout, names: &mut names };
        if reads_address(inst) {
            work.cx.leave(inst.pos);
            return None;
        }
        match work.one(inst, scope, &mut queues) {
            Ok(done) => done,
            Err(refusal) => {
                cx.refuse(inst.pos, refusal);
                None
            }
        }
    });
    queues.add_to(&mut out);
    cx.add_allocations(&mut out);
    out
}

struct Peel<'a, 'o> {
    cx: &'a mut Context<'o>,
    module: &'a Module,
    layout: &'a Layout,
    names: &'a mut Names,
}

impl Peel<'_, '_> {
    fn one(
        &mut self,
        inst: &Arc<Inst>,
        scope: &Scope<'_>,
        queues: &mut NewQueues,
    ) -> Result<Option<Replacement>, Refusal> {
        let (family, dynamic) = classify(inst)?;
        let routed = route(self.cx, self.module, queues, inst, family, dynamic)?;
        let changed = routed.is_some();
        let inst = routed.as_ref().unwrap_or(inst);
        let alone = || {
            changed.then(|| Replacement {
                insts: vec![inst.clone()],
                last: inst.name.clone(),
                from: inst.name.clone(),
            })
        };
        if dynamic == Dynamic::No {
            return Ok(alone());
        }
        let (staged, mut before) = self.through_scratch(inst, scope, dynamic)?;
        let main = staged.as_ref().unwrap_or(inst);
        before.push(Inst::clone(main));
        let mut chunks = Vec::new();
        for i in before {
            // A copy may be the dynamic one, and what reads from scratch no longer be it.
            match super::family::dynamic(&i).map_err(bad_dynamic)? {
                Dynamic::No => chunks.push(i),
                d @ (Dynamic::Scalar(side) | Dynamic::Vector(side, _)) => {
                    chunks.extend(self.chunks(&i, side, d)?);
                }
            }
        }
        if chunks.len() < 2 {
            return Ok(alone());
        }
        self.cx.make(chunks.len() as u64)?;
        let mut clones = Clones::new(self.names, inst);
        clones.extend(chunks);
        Ok(Some(clones.done()))
    }

    /// Where the sides may share bytes and it will not stay one piece: copies of what it reads
    /// into scratch, and the transfer that reads from there.
    fn through_scratch(
        &mut self,
        inst: &Inst,
        scope: &Scope<'_>,
        dynamic: Dynamic,
    ) -> Result<(Option<Arc<Inst>>, Vec<Inst>), Refusal> {
        let Some(out) = inst.outs.first() else { return Ok((None, Vec::new())) };
        let elements = out.as_pattern().and_then(|p| p.count());
        let most = self.cx.opts.desc_elems(inst, self.cx.arch);
        let rows = match dynamic {
            Dynamic::Vector(_, list) => {
                inst.ins.get(list).and_then(|o| o.as_pattern()?.count()).unwrap_or(0)
            }
            _ => 1,
        };
        if rows < 2 && elements.is_none_or(|n| n <= most) {
            return Ok((None, Vec::new()));
        }
        let (mut new, mut copies) = (inst.clone(), Vec::new());
        for (k, operand) in inst.ins.iter().enumerate() {
            if !share(self.cx, self.layout, operand, out) {
                continue;
            }
            let (cx, layout) = (&mut *self.cx, self.layout);
            let s = stage(cx, layout, self.module, scope.function, inst.pos, operand)?;
            copies.push(copy_to_scratch(inst, &s));
            new.ins[k] = s.operand;
        }
        Ok(if copies.is_empty() { (None, copies) } else { (Some(Arc::new(new)), copies) })
    }

    /// The chunks; one where it need not be cut, or cannot be cut along whole rows, in which case
    /// the later stages cut it.
    fn chunks(&self, inst: &Inst, side: Side, dynamic: Dynamic) -> Result<Vec<Inst>, Refusal> {
        let whole = || Ok(vec![inst.clone()]);
        let Some(total) = side.of(inst).and_then(|o| o.as_pattern()?.count()) else {
            return Err(("L012", Part::Whole, "it has more elements than can be counted".into()));
        };
        let most = self.cx.opts.desc_elems(inst, self.cx.arch);
        let Some(pairs) = side.of(inst).and_then(Operand::as_pattern).map(|p| p.pairs.clone())
        else {
            return whole();
        };
        if total <= most || total == 0 || pairs.is_empty() {
            return whole();
        }
        let row = total / pairs[0].num;
        // Every operand, cut at whole rows of the dynamic one. An index stands for a row.
        let list = match dynamic {
            Dynamic::Vector(_, arg) => Some(arg),
            _ => None,
        };
        let mut places = Vec::new();
        let mut grids = Vec::new();
        for place in (0..inst.ins.len()).map(Side::In).chain([Side::Out]) {
            let Some(p) = place.of(inst).and_then(Operand::as_pattern) else { return whole() };
            let is_list = list.is_some_and(|arg| place == Side::In(arg));
            let mut pairs = p.pairs.clone();
            if is_list {
                pairs.push(Pair { step: 0, num: row });
            }
            let on_chip = place.of(inst).is_some_and(|o| on_chip(self.layout, o));
            let Some(grid) = Grid::new(&pairs, on_chip, None) else { return whole() };
            if grid.count() != total {
                // Said by Check; a family whose counts differ is cut by the later stages.
                return whole();
            }
            grids.push(if place == side { grid.whole_rows() } else { grid });
            places.push((place, is_list));
        }
        let cap = most.max(row);
        let (mut at, mut chunks) = (0, Vec::new());
        while at < total {
            let Some(len) = take(&grids, at, cap) else { return whole() };
            if total - at < cap && at > 0 && self.cx.opts.mutation == Some(Mutation::LostRemainder)
            {
                break;
            }
            let mut chunk = inst.clone();
            for ((place, is_list), grid) in places.iter().zip(&grids) {
                let Some((delta, mut pairs)) = grid.part(at, len) else { return whole() };
                if *is_list {
                    pairs.pop();
                }
                let by_index = *place == side && list.is_some();
                let Some(p) = place.pattern_mut(&mut chunk) else { return whole() };
                // An index takes the place of the row number, so that the offset stays.
                let delta = if by_index { 0 } else { delta };
                match p.offset.checked_add(delta) {
                    Some(offset) => p.offset = offset,
                    None => return whole(),
                }
                p.pairs = pairs;
            }
            chunks.push(chunk);
            at += len;
            if chunks.len() as u64 > crate::limits::MAX_LOWERED_INSTS {
                let text = "it has too many chunks".to_owned();
                return Err(("L024", Part::Whole, text));
            }
        }
        Ok(chunks)
    }
}
