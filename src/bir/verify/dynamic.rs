//! Rules about addresses that are known only at run time.

use super::{Cx, shape_text};
use crate::bir::{
    At, Body, DgeType, Dtype, Expr, Finding, Inst, Mode, Module, Name, Opcode, Operand,
    OperandKind, Part, Pattern, Reference,
};
use crate::limits::MAX_INDEX_LIST;
use crate::udma::count_of;
use std::collections::HashSet;

/// Registers that some instruction writes.
fn written_registers(module: &Module) -> HashSet<Name> {
    let mut out = HashSet::new();
    module.visit(&mut |i| {
        for o in &i.outs {
            if let OperandKind::Register(n) = &o.kind {
                out.insert(n.clone());
            }
        }
    });
    out
}

/// Operands with the part of the instruction that each is.
pub(super) fn operands(inst: &Inst) -> impl Iterator<Item = (Part, &Operand)> {
    let ins = inst.ins.iter().enumerate().map(|(k, o)| (Part::In(k as u32), o));
    ins.chain(inst.outs.iter().enumerate().map(|(k, o)| (Part::Out(k as u32), o)))
}

/// Positions of `ins` that are index operands of a DMA.
pub(super) fn index_positions(inst: &Inst) -> HashSet<u32> {
    let patterns = operands(inst).filter_map(|(_, o)| o.as_pattern());
    patterns.filter_map(|p| p.start.as_ref()).flat_map(Expr::indices).collect()
}

pub(super) fn check(cx: &mut Cx<'_>, inst: &Inst) {
    registers(cx, inst);
    let descriptor = inst.opcode.is_descriptor();
    if !inst.opcode.is_dma() && !descriptor {
        return;
    }
    let lists = index_positions(inst);
    let mut dynamic = Vec::new();
    for (part, o) in operands(inst) {
        let Some(p) = o.as_pattern() else { continue };
        let is_list = matches!(part, Part::In(k) if lists.contains(&k));
        if let Some(Reference::Index { list, .. }) = &p.reference {
            index_type(cx, inst, part, list);
        }
        if !p.is_dynamic() {
            continue;
        }
        dynamic.push(part);
        let at = At::Inst(inst.pos, part);
        if descriptor {
            let text = "DMA descriptor cannot have dynamic AP";
            cx.push(Finding::new("L053", at.clone(), text));
        }
        if is_list {
            let text = "an index operand has a dynamic address itself";
            cx.push(Finding::new("B058", at.clone(), text));
        }
        kinds(cx, at, p);
        if let Some(arg) = p.index_arg() {
            index(cx, inst, part, p, arg);
        }
    }
    if let &[first, .., last] = dynamic.as_slice() {
        let both = matches!(first, Part::In(_)) && matches!(last, Part::Out(_));
        let text = if both {
            "source and destination are both dynamic; at most one side may be".to_owned()
        } else {
            format!("{} operands are dynamic; at most one may be", dynamic.len())
        };
        cx.push(Finding::new("B056", At::Inst(inst.pos, last), text));
    }
    if let (Body::Dma(d), Some(&part)) = (&inst.body, dynamic.first())
        && d.dge == DgeType::None
        && d.mode != Mode::Transpose
    {
        let side = if matches!(part, Part::In(_)) { "src" } else { "dst" };
        let text = format!("DGE must be enabled when dynamic {side} access in DMA is used");
        cx.push(Finding::new("B057", At::Inst(inst.pos, Part::Key("dge_type")), text));
    }
}

/// Scalar or vector: one of them.
fn kinds(cx: &mut Cx<'_>, at: At, p: &Pattern) {
    let (scalar, vector) = (!p.registers().is_empty(), p.index_arg().is_some());
    let text = match (scalar, vector) {
        (true, true) => "a dynamic address has a scalar offset and a vector offset; one is allowed",
        (false, false) => "a dynamic address has neither a scalar nor a vector offset",
        _ => return,
    };
    cx.push(Finding::new("B055", at, text));
}

fn index(cx: &mut Cx<'_>, inst: &Inst, part: Part, p: &Pattern, arg: u32) {
    let at = At::Inst(inst.pos, part);
    let alone = matches!(p.start, Some(Expr::Index(_)));
    if !alone && p.registers().is_empty() {
        let text = "an index operand inside another expression; it can only stand alone";
        cx.push(Finding::new("B058", at.clone(), text));
    }
    let list = inst.ins.get(arg as usize);
    let Some(list) = list.filter(|_| part != Part::In(arg)) else {
        let text = if list.is_some() {
            "a dynamic address takes its indices from itself".to_owned()
        } else {
            format!("index operand {arg} of an instruction with {} operands", inst.ins.len())
        };
        cx.push(Finding::new("B058", at, text));
        return;
    };
    index_type(cx, inst, Part::In(arg), list);
    let Some(count) = list.as_pattern().and_then(Pattern::count) else { return };
    let rows = p.pairs.first().map_or(1, |p| p.num);
    let at = At::Inst(inst.pos, Part::In(arg));
    if count != rows {
        let text = format!(
            "{count_indices} for {rows}: one is needed for each outermost step of {}",
            shape_text(p),
            count_indices = count_of(count, "index"),
            rows = count_of(rows, "row")
        );
        cx.push(Finding::new("B058", at.clone(), text));
    }
    if count > MAX_INDEX_LIST {
        let text = format!(
            "an index list of {count_entries}; at most {MAX_INDEX_LIST} are allowed",
            count_entries = count_of(count, "entry")
        );
        cx.push(Finding::new("L054", at, text));
    }
}

fn index_type(cx: &mut Cx<'_>, inst: &Inst, part: Part, list: &Operand) {
    let at = At::Inst(inst.pos, part);
    if list.as_pattern().is_none() {
        cx.push(Finding::new("B058", at, "an index operand is no access pattern"));
    } else if let Some(d) = list.dtype
        && !matches!(d, Dtype::I32 | Dtype::U32)
    {
        cx.push(Finding::new("B058", at, format!("indices of {d}; int32 or uint32 is needed")));
    }
}

/// Registers that nobody writes have no value when they are read.
fn registers(cx: &mut Cx<'_>, inst: &Inst) {
    let mut unknown = Vec::new();
    let mut read = |n: &Name, at: Part, cx: &Cx<'_>| {
        if !cx.written.get_or_init(|| written_registers(cx.module)).contains(n) {
            unknown.push((n.clone(), at));
        }
    };
    for (part, o) in operands(inst) {
        match &o.kind {
            OperandKind::Register(n) if matches!(part, Part::In(_)) => read(n, part, cx),
            OperandKind::Pattern(p) => {
                p.registers().iter().for_each(|n| read(n, part, cx));
                if let Some(Reference::Register { register, .. }) = &p.reference {
                    read(register, part, cx);
                }
            }
            _ => {}
        }
    }
    let expressions = match &inst.body {
        Body::DynamicLoop(l) => vec![&l.lb, &l.ub, &l.stride],
        Body::DoWhile(l) => vec![&l.cond],
        _ => Vec::new(),
    };
    for n in expressions.into_iter().flat_map(Expr::registers) {
        read(&n, Part::Whole, cx);
    }
    if matches!(inst.opcode, Opcode::Other(_)) {
        return;
    }
    for (n, part) in unknown {
        let text = format!("register `{n}` is read, but no instruction writes it");
        cx.push(Finding::new("B059", At::Inst(inst.pos, part), text));
    }
}
