//! `lower_dma`: every transfer becomes a trigger in its place, and blocks of descriptors in its
//! queue (`docs/lowering.md`, "lower_dma").

use super::blocks::{BlockRef, Queues, groups};
use super::check::all_dram;
use super::context::{Context, Refusal};
use super::cut::contiguous;
use super::family::{Dynamic, Family, data_ins};
use super::options::{Materialise, Mutation};
use super::overlap::{Order, Staged, order, share, stage};
use super::pieces::{Cutter, Piece};
use super::resolve::{Env, Nest, Unresolved, resolve};
use super::rewrite::{Names, Replacement, Scope, rewrite};
use super::route::classify;
use super::split::{bound_indices, cutter};
use super::terminators;
use crate::bir::{
    Body, Descriptor, DgeType, Dma, Engine, Inst, Layout, Module, Name, Opcode, Operand, Operands,
    Part, QosClass, TransposeOp, Trigger, Value,
};
use crate::limits::MAX_DESCRIPTOR_PAIRS;
use crate::udma::count_of;
use std::collections::BTreeSet;
use std::sync::Arc;

mod whole;

/// Runs the stage.
pub(super) fn run(module: &Arc<Module>, cx: &mut Context<'_>) -> Arc<Module> {
    let mut lower = Lower {
        layout: Layout::new(module),
        names: Names::of(module),
        queues: Queues::of(module),
        functions: BTreeSet::new(),
        open: None,
        module,
    };
    let mut out = rewrite(module, &mut |inst, scope| {
        if cx.is_refused(inst.pos) || stays(cx, inst) {
            return None;
        }
        let done = lower.one(cx, inst, scope);
        if done.is_ok() {
            lower.functions.insert(scope.function);
        }
        done.map(Some).unwrap_or_else(|refusal| {
            cx.refuse(inst.pos, refusal);
            None
        })
    });
    if !lower.functions.is_empty() {
        let changed = Arc::make_mut(&mut out);
        lower.queues.add_to(changed);
        for function in lower.functions {
            if let Some(f) = changed.functions.get_mut(function) {
                terminators::add(f, &mut lower.names);
            }
        }
    }
    cx.add_allocations(&mut out);
    out
}

/// Whether a transfer stays one because the device generates its descriptors.
fn stays(cx: &Context<'_>, inst: &Inst) -> bool {
    let generated = |d: &Dma| matches!(d.dge, DgeType::Swdge | DgeType::Hwdge);
    cx.opts.materialise == Materialise::Static
        && inst.opcode == Opcode::DmaCopy
        && inst.dma().is_some_and(generated)
}

/// A transfer that may not run each time that it is reached.
fn is_masked(inst: &Inst) -> bool {
    let key = inst.extra.iter().find(|(k, _)| &**k == "predicates");
    key.is_some_and(|(_, v)| !matches!(v, Value::Null) && *v != Value::Arr(Vec::new()))
}

/// The last trigger that another transfer may join (`reuse_block`).
struct Open {
    order: usize,
    key: (Name, Engine, DgeType, QosClass),
    name: Name,
    trigger: Name,
    from: Name,
    blocks: Vec<BlockRef>,
}

/// Descriptors of one iteration, each with whether a block may begin with it.
type Row = Vec<(Inst, bool)>;

struct Lower<'a> {
    module: &'a Module,
    layout: Layout,
    names: Names,
    queues: Queues,
    functions: BTreeSet<usize>,
    open: Option<Open>,
}

impl Lower<'_> {
    fn one(
        &mut self,
        cx: &mut Context<'_>,
        inst: &Arc<Inst>,
        scope: &Scope<'_>,
    ) -> Result<Replacement, Refusal> {
        let (family, dynamic) = classify(inst)?;
        if dynamic != Dynamic::No {
            let text = "DMA descriptor cannot have dynamic AP";
            return Err(("L010", Part::Whole, text.into()));
        }
        let Some(dma) = inst.dma() else {
            return Err(("L019", Part::Whole, "it has no keys of a transfer".into()));
        };
        let Some(queue) = dma.queue.clone() else {
            return Err(("L026", Part::Whole, "it has no queue".into()));
        };
        let masked = is_masked(inst);
        let nest = Nest::new(scope.loops, masked).map_err(|why| ("L024", Part::Whole, why))?;
        if !cx.opts.reuse_block
            && nest.iterations == 1
            && let Some(descriptor) = whole::descriptor(cx, &self.layout, inst, family)
        {
            cx.make(3)?;
            self.open = None;
            return self.emit_one(inst, dma, scope, &queue, descriptor);
        }
        let mut rows = self.rows(cx, inst, scope, family, &nest)?;
        if cx.opts.mutation == Some(Mutation::DroppedDescriptor) {
            rows.iter_mut().for_each(|r| drop(r.pop()));
        }
        let budget = cx.opts.block_descs(dma.dge);
        let may_begin: Vec<bool> = rows.first().into_iter().flatten().map(|d| d.1).collect();
        let (lengths, forced) = groups(&may_begin, budget);
        if forced {
            let text = format!(
                "a contiguous run needs more than {budget_descriptors}: its block is cut inside the run",
                budget_descriptors = count_of(budget, "descriptor")
            );
            cx.say("L025", inst.pos, Part::Whole, text);
        }
        let key = (queue.clone(), inst.engine, dma.dge, dma.qos);
        let may_join = cx.opts.reuse_block && lengths.len() == 1 && !masked;
        if may_join && let Some(done) = self.join(inst, scope, &key, &mut rows, budget) {
            return Ok(done);
        }
        let triggers = self.emit(inst, dma, scope, &queue, rows, &lengths)?;
        let last = triggers.last.clone();
        self.open = may_join.then(|| Open {
            order: scope.order,
            key,
            name: inst.name.clone(),
            trigger: last,
            from: triggers.from.clone(),
            blocks: triggers.blocks,
        });
        if nest.iterations == 0 {
            let text = "it is in a loop without iterations: its trigger has no block, and waits for it name the trigger";
            cx.say("L027", inst.pos, Part::Whole, text.into());
        }
        Ok(Replacement { insts: triggers.insts, last: triggers.last, from: triggers.from })
    }

    /// Descriptors of each iteration.
    fn rows(
        &mut self,
        cx: &mut Context<'_>,
        inst: &Inst,
        scope: &Scope<'_>,
        family: Family,
        nest: &Nest,
    ) -> Result<Vec<Row>, Refusal> {
        let mut shared: BTreeSet<usize> = BTreeSet::new();
        let mut impossible = false;
        let mut out = Vec::new();
        for iteration in 0..nest.iterations {
            let now = self.resolved(inst, family, &nest.env(iteration), &nest.left)?;
            let (pieces, order) = self.cut(cx, &now, family)?;
            let made = pieces.len() as u64 + 2;
            if iteration == 0 {
                // Every iteration is cut alike: what is hopeless is not begun.
                cx.fits(made.saturating_mul(nest.iterations))?;
            }
            cx.make(made)?;
            impossible |= order == Order::Impossible;
            let to = now.outs.first();
            for (k, o) in now.ins.iter().enumerate() {
                if to.is_some_and(|to| share(cx, &self.layout, o, to)) {
                    shared.insert(k);
                }
            }
            out.push(self.row(cx, &now, family, pieces, order));
        }
        if !impossible {
            return Ok(out);
        }
        // All iterations go the same way, so that each has as many blocks.
        let mut staged: Vec<(usize, Staged)> = Vec::new();
        let places: Vec<usize> = data_ins(inst).map(|(k, _)| k).collect();
        let mut new = inst.clone();
        for k in shared {
            let at = places.get(k).copied().unwrap_or(k);
            let s = stage(cx, &self.layout, self.module, scope.function, inst.pos, &inst.ins[at])?;
            new.ins[at] = s.operand.clone();
            staged.push((k, s));
        }
        self.layout = cx.layout(self.module);
        let mut out = Vec::new();
        for iteration in 0..nest.iterations {
            let env = nest.env(iteration);
            let mut row = Vec::new();
            for (_, s) in &staged {
                let copy = super::clones::copy_to_scratch(inst, s);
                let now = self.resolved(&copy, Family::Copy, &env, &nest.left)?;
                let (pieces, order) = self.cut(cx, &now, Family::Copy)?;
                row.extend(self.row(cx, &now, Family::Copy, pieces, order));
            }
            let now = self.resolved(&new, family, &env, &nest.left)?;
            let (pieces, _) = self.cut(cx, &now, family)?;
            row.extend(self.row(cx, &now, family, pieces, Order::Ascending));
            cx.make(row.len() as u64)?;
            out.push(row);
        }
        Ok(out)
    }

    /// The transfer in one iteration: its data operands re-pointed and resolved.
    fn resolved(
        &self,
        inst: &Inst,
        family: Family,
        env: &Env,
        left: &[Name],
    ) -> Result<Inst, Refusal> {
        let one = |part: Part, o: &Operand| {
            resolve(&self.layout, o, env, left).map_err(|e| match e {
                Unresolved::Start(why) => {
                    ("L007", part, format!("its address has no value: {why}"))
                }
                Unresolved::Place(e) => ("L021", part, e.to_string()),
            })
        };
        let mut now = inst.clone();
        let sources = if family == Family::Cce { usize::MAX } else { 1 };
        let data = data_ins(inst).take(sources);
        now.ins = data.map(|(k, o)| one(Part::In(k as u32), o)).collect::<Result<_, _>>()?;
        now.outs = inst.outs.iter().map(|o| one(Part::Out(0), o)).collect::<Result<_, _>>()?;
        Ok(now)
    }

    fn cut(
        &self,
        cx: &Context<'_>,
        now: &Inst,
        family: Family,
    ) -> Result<(Vec<Piece>, Order), Refusal> {
        let most = cx.opts.desc_elems(now, cx.arch);
        let uncut = |why: String| ("L024", Part::Whole, why);
        let cut = |inst: &Inst| match cutter(
            cx,
            &self.layout,
            inst,
            family,
            Some(MAX_DESCRIPTOR_PAIRS),
        ) {
            Some(c) => Ok(c.cut(&mut |_| most).map_err(uncut)?),
            None => Err(("L019", Part::Whole, "it has no destination".to_owned())),
        };
        let mut pieces = cut(now)?;
        if pieces.len() > 1 {
            let mut bounded = now.clone();
            for o in bounded.ins.iter_mut().chain(&mut bounded.outs) {
                bound_indices(&self.layout, o)?;
            }
            if bounded != *now {
                pieces = cut(&bounded)?;
            }
        }
        let sources: Vec<_> = now.ins.iter().collect();
        let order = match now.outs.first() {
            Some(out) => order(cx, &self.layout, &sources, out, &pieces),
            None => Order::Ascending,
        };
        Ok((pieces, order))
    }

    /// The descriptors of pieces.
    fn row(
        &self,
        cx: &Context<'_>,
        now: &Inst,
        family: Family,
        pieces: Vec<Piece>,
        order: Order,
    ) -> Row {
        let cutter = cutter(cx, &self.layout, now, family, Some(MAX_DESCRIPTOR_PAIRS));
        let runs = cutter.as_ref().map(|c| self.runs(c)).unwrap_or_default();
        let begins = |start: u64| runs.iter().all(|run| start.is_multiple_of(*run));
        let mut row: Row = Vec::with_capacity(pieces.len());
        for p in &pieces {
            row.push((descriptor(now, family, p, cx.opts.mutation), begins(p.start)));
        }
        let Order::Given(given) = order else { return row };
        given.into_iter().filter_map(|k| row.get(k).cloned()).collect()
    }

    /// Lengths of the contiguous runs within which a block should not be cut: those of all
    /// sides, where all are DRAM and elements stay in order.
    fn runs(&self, c: &Cutter<'_>) -> Vec<u64> {
        let ordered = matches!(c.family, Family::Copy | Family::Cce | Family::ReadVarAddr);
        let all = || c.ins.iter().chain([&c.out]).map(|(o, _)| *o);
        if !ordered || !all_dram(&self.layout, all()) {
            return Vec::new();
        }
        all().filter_map(|o| o.as_pattern()).map(|p| contiguous(&p.pairs, false).max(1)).collect()
    }

    /// Adds the transfer to the block of the one directly before it, where nothing tells the two
    /// apart.
    fn join(
        &mut self,
        inst: &Inst,
        scope: &Scope<'_>,
        key: &(Name, Engine, DgeType, QosClass),
        rows: &mut Vec<Row>,
        budget: u64,
    ) -> Option<Replacement> {
        let open = self.open.as_mut().filter(|o| scope.before == Some(o.order))?;
        let alone = inst.waits.is_empty()
            && inst.loop_deps.is_empty()
            && inst.deps.iter().all(|d| d.name == open.name);
        if open.key != *key || !alone || open.blocks.len() != rows.len() || rows.is_empty() {
            return None;
        }
        let queues = &mut self.queues;
        let fits = |(b, r): (&BlockRef, &Row)| queues.len(*b) + r.len() as u64 <= budget;
        if !open.blocks.iter().zip(rows.iter()).all(fits) {
            return None;
        }
        let remote = inst.dma().map(|d| d.remote_notification.clone()).unwrap_or_default();
        for (block, row) in open.blocks.iter().zip(std::mem::take(rows)) {
            self.queues.extend(*block, row.into_iter().map(|d| d.0));
            self.queues.tell(*block, &inst.updates, &remote);
        }
        (open.order, open.name) = (scope.order, inst.name.clone());
        let (last, from) = (open.trigger.clone(), open.from.clone());
        Some(Replacement { insts: Vec::new(), last, from })
    }

    /// The triggers of a transfer, one for each length, and their blocks.
    fn emit(
        &mut self,
        inst: &Inst,
        dma: &Dma,
        scope: &Scope<'_>,
        queue: &Name,
        rows: Vec<Row>,
        lengths: &[usize],
    ) -> Result<Triggers, Refusal> {
        let names: Vec<Name> = match lengths {
            [_] => vec![inst.name.clone()],
            _ => lengths.iter().map(|_| self.names.clone_of(&inst.name)).collect(),
        };
        let section = (scope.function, scope.block);
        let mut lists: Vec<Vec<Name>> = vec![Vec::new(); lengths.len()];
        let mut blocks = Vec::new();
        for row in rows {
            let mut row = row.into_iter();
            for (k, length) in lengths.iter().enumerate() {
                let descriptors = row.by_ref().take(*length).map(|d| d.0);
                let block = self.queues.add(queue, section, inst.pos, &names[k], descriptors);
                let Some(block) = block else { return Err(no_queue(queue)) };
                if k + 1 == lengths.len() {
                    self.queues.tell(block, &inst.updates, &dma.remote_notification);
                }
                lists[k].extend(self.queues.name(block));
                blocks.push(block);
            }
        }
        let from = match lists.last().map(Vec::as_slice) {
            Some([only]) => only.clone(),
            _ => names.last().unwrap_or(&inst.name).clone(),
        };
        let mut insts = Vec::new();
        for (k, (name, dma_blocks)) in names.iter().zip(lists).enumerate() {
            insts.push(Arc::new(trigger(inst, dma, name.clone(), queue, dma_blocks, k == 0)));
        }
        let last = names.last().unwrap_or(&inst.name).clone();
        Ok(Triggers { insts, last, from, blocks })
    }

    /// As [`Lower::emit`], of a transfer that is one descriptor.
    fn emit_one(
        &mut self,
        inst: &Inst,
        dma: &Dma,
        scope: &Scope<'_>,
        queue: &Name,
        descriptor: Inst,
    ) -> Result<Replacement, Refusal> {
        let section = (scope.function, scope.block);
        let block = self.queues.add(queue, section, inst.pos, &inst.name, [descriptor]);
        let (Some(block), Some(name)) = (block, block.and_then(|b| self.queues.name(b))) else {
            return Err(no_queue(queue));
        };
        self.queues.tell(block, &inst.updates, &dma.remote_notification);
        let trigger = trigger(inst, dma, inst.name.clone(), queue, vec![name.clone()], true);
        Ok(Replacement { insts: vec![Arc::new(trigger)], last: inst.name.clone(), from: name })
    }
}

fn no_queue(queue: &str) -> Refusal {
    let text = format!("there is no queue `{queue}`, or it has no block id left");
    ("L026", Part::Key("queue"), text)
}

/// A trigger of a transfer's blocks; the first one of a transfer waits for what it waits for.
fn trigger(
    inst: &Inst,
    dma: &Dma,
    name: Name,
    queue: &Name,
    dma_blocks: Vec<Name>,
    first: bool,
) -> Inst {
    let mut t = Inst::named(inst.pos, name, Opcode::DmaTrigger, inst.engine);
    if first {
        t.waits = inst.waits.clone();
        t.deps = inst.deps.clone();
        t.loop_deps = inst.loop_deps.clone();
    }
    t.debug = inst.debug.clone();
    t.extra = inst.extra.clone();
    let (dge, qos) = (dma.dge, dma.qos);
    t.body = Body::Trigger(Trigger { queue: Some(queue.clone()), dma_blocks, dge, qos });
    t
}

struct Triggers {
    insts: Vec<Arc<Inst>>,
    last: Name,
    from: Name,
    blocks: Vec<BlockRef>,
}

/// A descriptor of one piece.
fn descriptor(inst: &Inst, family: Family, piece: &Piece, mutation: Option<Mutation>) -> Inst {
    let mut d = descriptor_of(inst, family, piece.ins.clone().into(), [piece.out.clone()].into());
    if mutation == Some(Mutation::SwappedStride)
        && let Some(p) = d.ins.first_mut().and_then(Operand::as_pattern_mut)
        && let [.., a, b] = p.pairs.as_mut_slice()
    {
        std::mem::swap(&mut a.step, &mut b.step);
    }
    d
}

/// A descriptor of a transfer with these operands.
fn descriptor_of(inst: &Inst, family: Family, ins: Operands, outs: Operands) -> Inst {
    let mut d = Inst::named(inst.pos, Name::default(), family.descriptor(), Engine::Dma);
    d.debug = inst.debug.clone();
    let n = ins.len();
    (d.ins, d.outs) = (ins, outs);
    let (cce, none) = (family == Family::Cce, Dma::default());
    let keys = inst.dma().unwrap_or(&none);
    d.body = Body::Descriptor(Descriptor {
        constants: cce.then(|| keys.constants.clone().unwrap_or_else(|| vec![1.0; n])),
        op: cce.then_some(keys.cce_op),
        transpose: (keys.transpose != TransposeOp::None).then_some(keys.transpose),
        can_read_uninit: keys.can_read_uninit,
        oob_is_err: keys.oob_is_err,
    });
    d
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
