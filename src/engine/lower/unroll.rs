//! Unroll: what is dynamic about a transfer becomes a single base (`docs/lowering.md`,
//! "Unroll"). A gather or scatter is cloned once for each index, in the order of the list; a
//! transfer with a scalar offset gets a register of its own. The list stays in memory, the
//! register is read when the clone runs: a run-time value never becomes a constant.

use super::clones::Clones;
use super::context::{Context, Refusal, on_chip};
use super::cut::{Grid, take};
use super::family::{Dynamic, Side, split_register};
use super::options::Mutation;
use super::resolve::index_bound;
use super::rewire::{register_like, rewire};
use super::rewrite::{Names, Replacement, Scope, rewrite};
use super::route::classify;
use crate::bir::{
    Dtype, Extra, Form, Inst, Layout, Module, Name, Opcode, Operand, OperandKind, Part, Pos,
    Reference,
};
use crate::udma::count_of;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Runs the stage.
pub(super) fn run(module: &Arc<Module>, cx: &mut Context<'_>) -> Arc<Module> {
    let layout = Layout::new(module);
    let mut names = Names::of(module);
    let mut registers = Names::registers(module);
    let mut bases: BTreeMap<Pos, Name> = BTreeMap::new();
    let mut out = rewrite(module, &mut |inst, scope| {
        if cx.is_refused(inst.pos) {
            return None;
        }
        let done = classify(inst).and_then(|(_, dynamic)| match dynamic {
            Dynamic::No => Ok(None),
            Dynamic::Vector(side, list) => {
                rows(&mut *cx, &layout, &mut names, inst, side, list).map(Some)
            }
            Dynamic::Scalar(side) => {
                let mut own = Own { module, names: &mut names, registers: &mut registers };
                own.register(&mut *cx, &layout, &mut bases, inst, scope, side).map(Some)
            }
        });
        done.unwrap_or_else(|refusal| {
            cx.refuse(inst.pos, refusal);
            None
        })
    });
    cx.add_allocations(&mut out);
    out
}

/// Keys of an operand without those that say how its address was dynamic.
fn settled(extra: &Extra) -> Extra {
    let gone = ["dynamic_ap_info", "access_shape"];
    extra.iter().filter(|(k, _)| !gone.contains(&&**k)).cloned().collect()
}

/// Byte offsets, in iteration order, of what is unrolled over `pairs`, the first slowest:
/// `size * sum k_j * step_j`. As many as the product of the counts.
pub fn offsets(pairs: &[crate::bir::Pair], dtype: Dtype) -> impl Iterator<Item = i64> {
    let size = dtype.bytes() as i64;
    let pairs = pairs.to_vec();
    let count = pairs.iter().fold(1u64, |n, p| n.saturating_mul(p.num));
    (0..count).map(move |mut k| {
        let mut at = 0i64;
        for p in pairs.iter().rev() {
            at = at.wrapping_add(p.step.wrapping_mul((k % p.num) as i64));
            k /= p.num;
        }
        at.wrapping_mul(size)
    })
}

/// One clone for each index; several where a row is no pattern on the other side.
fn rows(
    cx: &mut Context<'_>,
    layout: &Layout,
    names: &mut Names,
    inst: &Arc<Inst>,
    side: Side,
    list: usize,
) -> Result<Replacement, Refusal> {
    let whole = |text: &str| ("L006", Part::Whole, text.to_owned());
    let other = if side == Side::Out { Side::In(0) } else { Side::Out };
    let (Some(moving), Some(fixed), Some(indices)) =
        (side.of(inst), other.of(inst), inst.ins.get(list))
    else {
        return Err(whole("an operand is missing"));
    };
    let (Some(p), Some(q)) = (moving.as_pattern(), fixed.as_pattern()) else {
        return Err(whole("a side is no access pattern"));
    };
    let placed = layout.of(p).map_err(|e| ("L021", Part::Whole, e.to_string()))?;
    let chip = placed.space.has_partitions();
    let grids =
        [Grid::new(&p.pairs, chip, None), Grid::new(&q.pairs, on_chip(layout, fixed), None)];
    let [Some(from), Some(to)] = grids else {
        return Err(("L012", Part::Whole, "it has more elements than can be counted".into()));
    };
    let (Some(outer), total) = (p.pairs.first().copied(), from.count()) else {
        return Err(whole("the pattern has no dimension along which rows could be chosen"));
    };
    if to.count() != total {
        let text = format!(
            "{total_elements} on one side, {} on the other",
            to.count(),
            total_elements = count_of(total, "element")
        );
        return Err(("L012", Part::Whole, text));
    }
    let row = total.checked_div(outer.num).unwrap_or(0);
    let grids = [from, to];
    let mut clones = Clones::new(names, inst);
    cx.make(outer.num)?;
    for k in 0..outer.num {
        let (mut at, end) = (k * row, (k + 1) * row);
        while at < end {
            let most = end - at;
            let len = take(&grids, at, most).ok_or_else(|| whole("a row cannot be cut"))?;
            let element = match cx.opts.mutation {
                Some(Mutation::ForeignBase) => k.saturating_sub(1),
                _ => k,
            };
            let mut max_index = p.max_index;
            if len < row {
                // Each part must be skipped where the whole row would be.
                cx.make(1)?;
                let full = reference(moving, indices, element, outer.step, max_index, placed);
                let full = with_row(full, &p.pairs);
                max_index = max_index.or_else(|| index_bound(layout, &full));
                if max_index.is_none() {
                    return Err(whole("a row must be cut, and its last valid index is not known"));
                }
            }
            let mut scale = outer.step;
            let (delta, mut pairs) =
                grids[0].part(at, len).ok_or_else(|| whole("a row cannot be cut"))?;
            if cx.opts.mutation == Some(Mutation::SwappedStrideUnroll)
                && let Some(last) = pairs.last_mut().filter(|l| l.num > 1)
            {
                std::mem::swap(&mut scale, &mut last.step);
            }
            if pairs.len() > 1 && pairs[0].num == 1 && !chip {
                pairs.remove(0);
            }
            let mut clone = Inst::clone(inst);
            let mut new = reference(moving, indices, element, scale, max_index, placed);
            if let Some(n) = new.as_pattern_mut() {
                // The index takes the place of the row number.
                n.offset = i128::from(delta)
                    .checked_sub(i128::from(outer.step) * i128::from(k))
                    .and_then(|d| i64::try_from(d + i128::from(n.offset)).ok())
                    .ok_or_else(|| whole("an offset does not fit 64 bits"))?;
                n.pairs = pairs;
            }
            let (delta, pairs) =
                grids[1].part(at, len).ok_or_else(|| whole("a row cannot be cut"))?;
            if let Some(q) = other.pattern_mut(&mut clone) {
                q.pairs = pairs;
                q.offset = q
                    .offset
                    .checked_add(delta)
                    .ok_or_else(|| whole("an offset does not fit 64 bits"))?;
            }
            match side {
                Side::Out => clone.outs = [new].into(),
                Side::In(i) => clone.ins[i] = new,
            }
            clone.ins.remove(list);
            clones.extend([clone]);
            at += len;
        }
    }
    if outer.num == 0 || row == 0 {
        return Err(whole("it moves no element"));
    }
    Ok(clones.done())
}

/// The dynamic operand of a clone: a static pattern with one base.
fn reference(
    moving: &Operand,
    list: &Operand,
    element: u64,
    scale: i64,
    max_index: Option<u64>,
    placed: &crate::bir::Placed,
) -> Operand {
    let mut new = moving.clone();
    new.extra = settled(&moving.extra);
    if let Some(p) = new.as_pattern_mut() {
        p.form = Form::Physical;
        p.location = Some(placed.name.clone());
        p.start = None;
        p.dynamic_info = false;
        p.max_index = None;
        p.reference =
            Some(Reference::Index { list: Box::new(list.clone()), element, scale, max_index });
    }
    new
}

/// The operand as one whole row.
fn with_row(mut o: Operand, pairs: &[crate::bir::Pair]) -> Operand {
    if let Some(p) = o.as_pattern_mut() {
        p.pairs = pairs.into();
        if let Some(first) = p.pairs.first_mut() {
            first.num = 1;
        }
    }
    o
}

struct Own<'a> {
    module: &'a Module,
    names: &'a mut Names,
    registers: &'a mut Names,
}

impl Own<'_> {
    /// A move into a register of the clone's own, and the clone that reads it.
    fn register(
        &mut self,
        cx: &mut Context<'_>,
        layout: &Layout,
        bases: &mut BTreeMap<Pos, Name>,
        inst: &Arc<Inst>,
        scope: &Scope<'_>,
        side: Side,
    ) -> Result<Replacement, Refusal> {
        let start = side.of(inst).and_then(|o| o.as_pattern()?.start.clone());
        let split = start.as_ref().map(split_register).transpose();
        let split =
            split.map_err(|why| ("L007", Part::Whole, format!("its address holds {why}")))?;
        let Some((rest, Some((old, scale)))) = split else {
            return Err(("L007", Part::Whole, "its address holds no register".into()));
        };
        let new = self.registers.unique(&format!("{old}_{}", inst.name));
        let function = self.module.functions.get(scope.function);
        cx.allocate(scope.function, register_like(function, &old, &new));
        cx.make(2)?;
        let register = |n: &Name| Operand {
            dtype: None,
            kind: OperandKind::Register(n.clone()),
            extra: Vec::new(),
        };
        let name = self.names.unique(&format!("{}_base", inst.name));
        let mut moved = Inst::new(inst.pos, &name, Opcode::RegisterMove, inst.engine);
        moved.ins = [register(&old)].into();
        moved.outs = [register(&new)].into();
        moved.debug = inst.debug.clone();
        moved.waits = inst.waits.clone();
        moved.deps = inst.deps.clone();
        moved.loop_deps = inst.loop_deps.clone();

        let mut clone = Inst::clone(inst);
        (clone.waits, clone.deps, clone.loop_deps) = (Vec::new(), Vec::new(), Vec::new());
        let base = match (cx.opts.mutation, bases.get(&inst.pos)) {
            (Some(Mutation::ForeignBase), Some(foreign)) => foreign.clone(),
            _ => new.clone(),
        };
        bases.insert(inst.pos, new);
        let operand = match side {
            Side::In(i) => clone.ins.get_mut(i),
            Side::Out => clone.outs.first_mut(),
        };
        let Some(operand) = operand else {
            return Err(("L019", Part::Whole, "an operand is missing".into()));
        };
        operand.extra = settled(&operand.extra);
        if let Some(p) = operand.as_pattern_mut() {
            p.location = match layout.of(p) {
                Ok(placed) => Some(placed.name.clone()),
                Err(e) => return Err(("L021", Part::Whole, e.to_string())),
            };
            p.form = Form::Physical;
            p.start = rest;
            p.dynamic_info = false;
            p.reference = Some(Reference::Register { register: old.clone(), scale });
        }
        let missing = |n: Name| ("L008", Part::Whole, format!("no clone has a register for `{n}`"));
        rewire(operand, &BTreeMap::from([(old, base)])).map_err(missing)?;
        let last = clone.name.clone();
        let insts = vec![Arc::new(moved), Arc::new(clone)];
        Ok(Replacement { insts, from: last.clone(), last })
    }
}
