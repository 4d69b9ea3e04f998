//! Check: what must hold of every transfer before it becomes descriptors (`docs/lowering.md`,
//! "Check"). It changes nothing; a transfer that breaks a rule is refused and stays.

use super::context::{Context, Refusal, on_chip};
use super::family::{Dynamic, Family, data_ins};
use super::options::ring_depth;
use super::route::classify;
use super::split::descriptors;
use crate::bir::{
    AluOp, Arch, DgeType, Engine, Inst, Layout, Module, Opcode, Operand, Part, Pattern, TransposeOp,
};
use crate::limits::{MAX_BIR_QUEUES, MAX_CCE_SOURCES};
use crate::udma::count_of;
use std::sync::Arc;

/// Runs the stage.
pub(super) fn run(module: &Arc<Module>, cx: &mut Context<'_>) -> Arc<Module> {
    let layout = Layout::new(module);
    if module.queues.len() > MAX_BIR_QUEUES {
        let text = format!(
            "{}; one program may use {MAX_BIR_QUEUES}",
            count_of(module.queues.len(), "queue")
        );
        cx.say_module("L016", "queues", text);
    }
    for b in module.functions.iter().flat_map(|f| &f.blocks) {
        b.visit(&mut |inst| {
            if inst.opcode.is_dma()
                && !cx.is_refused(inst.pos)
                && let Err(refusal) = one(cx, &layout, inst)
            {
                cx.refuse(inst.pos, refusal);
            }
        });
    }
    module.clone()
}

fn one(cx: &Context<'_>, layout: &Layout, inst: &Inst) -> Result<(), Refusal> {
    let (family, dynamic) = classify(inst)?;
    if dynamic != Dynamic::No {
        let text = "DMA descriptor cannot have dynamic AP";
        return Err(("L010", Part::Whole, text.into()));
    }
    for (part, operand) in operands(inst) {
        place(layout, part, operand)?;
    }
    counts(inst, family)?;
    match family {
        Family::Transpose => transpose(layout, inst)?,
        Family::Cce => cce(inst)?,
        Family::Replicate => replicate(cx, inst)?,
        Family::ReadVarAddr | Family::Copy => {}
    }
    route(cx, inst)
}

fn operands(inst: &Inst) -> impl Iterator<Item = (Part, &Operand)> {
    let ins = data_ins(inst).map(|(k, o)| (Part::In(k as u32), o));
    ins.chain(inst.outs.iter().map(|o| (Part::Out(0), o)))
}

fn count(o: &Operand) -> Option<u64> {
    o.as_pattern().and_then(Pattern::count)
}

/// Every operand lies in its location, as far as that is known before the loops are resolved.
fn place(layout: &Layout, part: Part, operand: &Operand) -> Result<(), Refusal> {
    let out = |e: crate::bir::PlaceError| ("L021", part, e.to_string());
    let p = operand.as_pattern().ok_or_else(|| out(crate::bir::PlaceError::NoPattern))?;
    layout.of(p).map_err(out)?;
    if operand.dtype.is_none() {
        return Err(out(crate::bir::PlaceError::NoDtype));
    }
    if p.start.is_none() && p.reference.is_none() && !layout.holds(operand) {
        layout.walk_static(operand).map_err(out)?;
    }
    Ok(())
}

fn counts(inst: &Inst, family: Family) -> Result<(), Refusal> {
    let Some(to) = inst.outs.first().and_then(count) else {
        return Err(("L012", Part::Out(0), "it has more elements than can be counted".into()));
    };
    let sources = if family == Family::Cce { usize::MAX } else { 1 };
    for (k, o) in data_ins(inst).take(sources) {
        let from = count(o);
        if from != Some(to) && family != Family::Replicate {
            let from = from.map_or("too many".into(), |n| n.to_string());
            let text = format!(
                "{from_elements} are read and {to} written",
                from_elements = count_of(from, "element")
            );
            return Err(("L012", Part::In(k as u32), text));
        }
    }
    Ok(())
}

fn transpose(layout: &Layout, inst: &Inst) -> Result<(), Refusal> {
    let bad = |part, text: String| Err(("L013", part, text));
    for (part, o) in operands(inst) {
        let n = o.as_pattern().map_or(0, |p| p.pairs.len());
        if n != 4 {
            return bad(
                part,
                format!(
                    "DGE transpose must have 4D AP; this one has {n_pairs}",
                    n_pairs = count_of(n, "pair")
                ),
            );
        }
        let to = matches!(part, Part::Out(_));
        let space = o.as_pattern().and_then(|p| layout.of(p).ok()).map(|p| p.space);
        let fits = space.is_some_and(|s| if to { s == crate::bir::Space::Sb } else { s.is_dram() });
        if !fits {
            return bad(part, "transpose only supported for DRAM->SB".into());
        }
    }
    let Some(dma) = inst.dma() else { return Ok(()) };
    if !matches!(dma.transpose, TransposeOp::Xzyw | TransposeOp::Xyzw) {
        let op = dma.transpose;
        return bad(Part::Key("transpose_op"), format!("{op} is not lowered: XZYW and XYZW are"));
    }
    if dma.dge == DgeType::Hwdge {
        return bad(Part::Key("dge_type"), "a transpose is Unassigned or SWDGE".into());
    }
    Ok(())
}

fn cce(inst: &Inst) -> Result<(), Refusal> {
    let bad = |part, text: String| Err(("L017", part, text));
    let Some(dma) = inst.dma() else { return Ok(()) };
    let n = data_ins(inst).count();
    if n > MAX_CCE_SOURCES {
        let text = format!(
            "{n_sources}; a descriptor takes {MAX_CCE_SOURCES}",
            n_sources = count_of(n, "source")
        );
        return bad(Part::Whole, text);
    }
    if !matches!(dma.cce_op, AluOp::Add | AluOp::Max | AluOp::Min) {
        let op = dma.cce_op;
        return bad(Part::Key("cce_op"), format!("`{op}` is none of add, max, min"));
    }
    if let Some(c) = dma.constants.as_ref().filter(|c| c.len() != n) {
        let text = format!(
            "{} for {n_sources}",
            count_of(c.len(), "constant"),
            n_sources = count_of(n, "source")
        );
        return bad(Part::Key("constants"), text);
    }
    for (part, o) in operands(inst) {
        if o.dtype.is_some_and(|d| d.is_integer() || d.copy_only()) {
            let d = o.dtype.map(crate::bir::Dtype::name).unwrap_or_default();
            return bad(part, format!("sums are of floats, not of {d}"));
        }
    }
    Ok(())
}

fn replicate(cx: &Context<'_>, inst: &Inst) -> Result<(), Refusal> {
    let bad = |part, text: String| Err(("L018", part, text));
    let mut shapes = Vec::new();
    for (part, o) in operands(inst) {
        match o.as_pattern().map(|p| p.pairs.as_slice()) {
            Some([rows, cols]) => shapes.push((rows.num, cols.num)),
            other => {
                let n = other.map_or(0, <[_]>::len);
                return bad(
                    part,
                    format!(
                        "replicate is 2-D on both sides; this has {n_pairs}",
                        n_pairs = count_of(n, "pair")
                    ),
                );
            }
        }
    }
    let &[(rows, len), (copies, room)] = shapes.as_slice() else {
        return bad(Part::Whole, "replicate has one source and one destination".into());
    };
    if len != room {
        return bad(
            Part::Whole,
            format!(
                "rows of {len_elements} for rows of {room}",
                len_elements = count_of(len, "element")
            ),
        );
    }
    if rows == 0 || copies % rows != 0 {
        let text = format!("{rows} source rows do not divide {copies} destination rows");
        return bad(Part::Whole, text);
    }
    if copies > rows && cx.arch.is_some_and(|a| a < Arch::Gen3) {
        let text = "replication to several destinations is there from gen3 on only";
        return bad(Part::Whole, text.into());
    }
    Ok(())
}

/// Engine and generation of HWDGE, and the depth of the ring.
fn route(cx: &Context<'_>, inst: &Inst) -> Result<(), Refusal> {
    let Some(dma) = inst.dma() else { return Ok(()) };
    if dma.dge == DgeType::Hwdge {
        if !matches!(inst.engine, Engine::Sp | Engine::Activation) {
            let text = format!("HWDGE is fed by SP or Activation, not by {}", inst.engine);
            return Err(("L015", Part::Key("engine"), text));
        }
        if let Some(arch) = cx.arch.filter(|a| *a < Arch::Gen3) {
            let text = format!("HWDGE is there from gen3 on; this is {arch}");
            return Err(("L015", Part::Key("dge_type"), text));
        }
    }
    let depth = ring_depth(dma.dge).filter(|_| inst.opcode == Opcode::DmaCopy);
    if let (Some(depth), Some(n)) = (depth, descriptors(cx, inst))
        && n > depth
    {
        let text = format!(
            "{n_descriptors} for a {} ring of {depth}",
            dma.dge,
            n_descriptors = count_of(n, "descriptor")
        );
        return Err(("L011", Part::Whole, text));
    }
    Ok(())
}

/// Whether all operands lie in DRAM.
pub(super) fn all_dram<'a>(
    layout: &Layout,
    mut operands: impl Iterator<Item = &'a Operand>,
) -> bool {
    operands.all(|o| !on_chip(layout, o))
}
