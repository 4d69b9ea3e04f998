//! Rules about one DMA or descriptor: its operands, shapes, types, and what its family asks for.

use super::{Cx, dynamic, shape_text};
use crate::bir::{
    AluOp, Arch, At, Body, Finding, Inst, Mode, Opcode, Operand, OperandKind, Part, Pattern, Space,
    TransposeOp,
};
use crate::diag::Severity;
use crate::limits::{MAX_CCE_SOURCES, MAX_DESCRIPTOR_PAIRS};
use crate::udma::count_of;

/// What is done with the data.
enum Family<'a> {
    Copy,
    Transpose(TransposeOp),
    Cce(AluOp, Option<&'a [f32]>),
    Replicate,
    /// No rule about its operands is known.
    Open,
}

fn family(inst: &Inst) -> Option<Family<'_>> {
    use Opcode::*;
    Some(match (&inst.opcode, &inst.body) {
        (ReadVarAddr | GenericIndirectLoad | GenericIndirectSave, Body::Dma(_)) => Family::Open,
        (_, Body::Dma(d)) => match d.mode {
            Mode::Copy | Mode::Dynamic => Family::Copy,
            Mode::Transpose => Family::Transpose(d.transpose),
            Mode::Cce => Family::Cce(d.cce_op, d.constants.as_deref()),
            Mode::Replicate => Family::Replicate,
        },
        (Descriptor, Body::Descriptor(_)) => Family::Open,
        (DescriptorCopy, Body::Descriptor(_)) => Family::Copy,
        (DescriptorTranspose, Body::Descriptor(d)) => {
            Family::Transpose(d.transpose.unwrap_or(TransposeOp::None))
        }
        (DescriptorCce, Body::Descriptor(d)) => {
            Family::Cce(d.op.unwrap_or(AluOp::Bypass), d.constants.as_deref())
        }
        (DescriptorReplicate, Body::Descriptor(_)) => Family::Replicate,
        _ => return None,
    })
}

/// Whether the body of an instruction is the one of its opcode.
fn body_fits(inst: &Inst) -> bool {
    use Opcode::*;
    match &inst.opcode {
        o if o.is_dma() => matches!(inst.body, Body::Dma(_)),
        o if o.is_descriptor() => matches!(inst.body, Body::Descriptor(_)),
        DmaTrigger => matches!(inst.body, Body::Trigger(_)),
        DmaBlock => matches!(inst.body, Body::DmaBlock(_)),
        Loop => matches!(inst.body, Body::Loop(_)),
        DynamicForLoop => matches!(inst.body, Body::DynamicLoop(_)),
        DoWhile => matches!(inst.body, Body::DoWhile(_)),
        CompareAndBranch => matches!(inst.body, Body::Branch(_)),
        UnconditionalBranch => matches!(inst.body, Body::Jump(_)),
        _ => true,
    }
}

pub(super) fn check(cx: &mut Cx<'_>, inst: &Inst) {
    if !body_fits(inst) {
        let text = format!("a {} without the keys of one", inst.opcode);
        cx.push(Finding::new("B047", At::Inst(inst.pos, Part::Whole), text));
        return;
    }
    let Some(family) = family(inst) else { return };
    for (part, o) in dynamic::operands(inst) {
        let at = At::Inst(inst.pos, part);
        match &o.kind {
            OperandKind::Pattern(p) => {
                if inst.opcode.is_descriptor() && p.pairs.len() > MAX_DESCRIPTOR_PAIRS {
                    let text = format!(
                        "a descriptor of {}; it has at most {MAX_DESCRIPTOR_PAIRS}",
                        count_of(p.pairs.len(), "pair")
                    );
                    cx.push(Finding::new("L055", at, text));
                }
            }
            OperandKind::Other(kind) => {
                let text = format!("an operand of the unknown kind `{kind}`");
                cx.push(Finding::new("B047", at, text));
            }
            OperandKind::Register(_) | OperandKind::Imm(_) => {
                if !matches!(family, Family::Open) {
                    let text = "an operand that is no access pattern";
                    cx.push(Finding::new("B047", at, text));
                }
            }
        }
    }
    if matches!(family, Family::Open) {
        return;
    }
    let lists = dynamic::index_positions(inst);
    let ins = inst.ins.iter().enumerate().map(|(k, o)| (k as u32, o));
    let sources: Vec<(u32, &Operand)> = ins.filter(|(k, _)| !lists.contains(k)).collect();
    if !operand_counts(cx, inst, &family, sources.len()) {
        return;
    }
    let Some(dest) = inst.outs.first() else { return };
    match family {
        Family::Transpose(op) => transpose(cx, inst, op, sources[0].1, dest),
        Family::Cce(op, constants) => cce(cx, inst, op, constants, &sources, dest),
        Family::Replicate => replicate(cx, inst, sources[0].1, dest),
        Family::Copy | Family::Open => {}
    }
    if !matches!(family, Family::Replicate) {
        for (k, source) in &sources {
            counts(cx, inst, *k, source, dest);
        }
    }
    for (k, source) in &sources {
        casts(cx, inst, *k, source, dest);
    }
}

fn operand_counts(cx: &mut Cx<'_>, inst: &Inst, family: &Family<'_>, sources: usize) -> bool {
    let at = At::Inst(inst.pos, Part::Whole);
    let mut fine = true;
    if inst.outs.len() != 1 {
        let text = format!("a {} has {} destinations; one is needed", inst.opcode, inst.outs.len());
        cx.push(Finding::new("B048", at.clone(), text));
        fine = false;
    }
    let many = matches!(family, Family::Cce(..));
    if sources == 0 || (sources > 1 && !many) {
        let needs = if many { "at least one" } else { "one" };
        let text = format!(
            "a {} has {sources}; {needs} is needed",
            inst.opcode,
            sources = count_of(sources, "source")
        );
        cx.push(Finding::new("B048", at, text));
        fine = false;
    }
    fine
}

/// `24 elements (4x6)`.
fn size_text(p: &Pattern) -> String {
    match p.count() {
        Some(n) => format!("{n_elements} ({})", shape_text(p), n_elements = count_of(n, "element")),
        None => format!("more than 2^64 elements ({})", shape_text(p)),
    }
}

fn counts(cx: &mut Cx<'_>, inst: &Inst, k: u32, source: &Operand, dest: &Operand) {
    let (Some(s), Some(d)) = (source.as_pattern(), dest.as_pattern()) else { return };
    if s.count() == d.count() && s.count().is_some() {
        return;
    }
    let bytes = |o: &Operand, p: &Pattern| {
        let n = p.count().and_then(|n| n.checked_mul(o.dtype?.bytes()));
        n.map_or("unknown".to_owned(), |n| count_of(n, "byte"))
    };
    let text = format!("element counts differ: {} read, {} written", size_text(s), size_text(d));
    let mut f = Finding::new("B049", At::Inst(inst.pos, Part::In(k)), text);
    let help = format!("the sides are {} and {}", bytes(source, s), bytes(dest, d));
    f.diag = f.diag.help(help);
    cx.push(f);
}

fn casts(cx: &mut Cx<'_>, inst: &Inst, k: u32, source: &Operand, dest: &Operand) {
    let (Some(s), Some(d)) = (source.dtype, dest.dtype) else { return };
    if s != d && (s.copy_only() || d.copy_only()) {
        let only = if s.copy_only() { s } else { d };
        let text = format!("{s} cannot become {d}: {only} can only be copied");
        cx.push(Finding::new("B054", At::Inst(inst.pos, Part::In(k)), text));
    }
}

fn transpose(cx: &mut Cx<'_>, inst: &Inst, op: TransposeOp, source: &Operand, dest: &Operand) {
    let (Some(s), Some(d)) = (source.as_pattern(), dest.as_pattern()) else { return };
    let whole = At::Inst(inst.pos, Part::Whole);
    let mut wrong = Vec::new();
    let (n, m) = (s.pairs.len(), d.pairs.len());
    if op == TransposeOp::None {
        wrong.push("a transpose without a permutation".to_owned());
    } else if (n, m) != (4, 4) {
        let text = "Source and destination access pattern must be 4-D";
        wrong.push(format!(
            "{text}; a transpose has {n} and {m_pairs}",
            m_pairs = count_of(m, "pair")
        ));
    } else {
        let want: Vec<String> = op.order().iter().map(|&k| s.pairs[k].num.to_string()).collect();
        let want = want.join("x");
        if want != shape_text(d) && s.count() == d.count() {
            wrong.push(format!(
                "the transpose {op} of {} is {want}, not {}",
                shape_text(s),
                shape_text(d)
            ));
        }
    }
    let shaped = wrong.is_empty();
    for text in wrong {
        cx.push(Finding::new("B050", whole.clone(), text));
    }
    if shaped {
        lowerable(cx, inst, op, s, d);
    }
}

/// What the lowering's check refuses, although it has a meaning.
fn lowerable(cx: &mut Cx<'_>, inst: &Inst, op: TransposeOp, s: &Pattern, d: &Pattern) {
    let space = |p: &Pattern| cx.layout.of(p).ok().map(|l| l.space);
    let (from, to) = (space(s), space(d));
    if !matches!(op, TransposeOp::Xzyw | TransposeOp::Xyzw) {
        let text = format!(
            "a transpose that cannot be lowered: the permutation is {op}, neither XZYW nor XYZW"
        );
        cx.push(Finding::new("L052", At::Inst(inst.pos, Part::Whole), text));
    }
    if let (Some(from), Some(to)) = (from, to)
        && !(from.is_dram() && to == Space::Sb)
    {
        let why = format!("transpose only supported for DRAM to SB; this is {from} to {to}");
        // A permutation that is not lowered still has a meaning; elsewhere than here none has.
        let text = format!("a transpose that cannot be lowered: {why}");
        let finding = Finding::new("L052", At::Inst(inst.pos, Part::Whole), text);
        cx.push(Finding { diag: finding.diag.severity(Severity::Error), ..finding });
    }
    // One that is HWDGE is lowered as SWDGE, with a warning of the pass (L002).
}

fn replicate(cx: &mut Cx<'_>, inst: &Inst, source: &Operand, dest: &Operand) {
    let (Some(s), Some(d)) = (source.as_pattern(), dest.as_pattern()) else { return };
    let at = At::Inst(inst.pos, Part::Whole);
    let (&[rows, columns], &[to_rows, to_columns]) = (s.pairs.as_slice(), d.pairs.as_slice())
    else {
        let text = format!(
            "replicate is 2-D on both sides; this is {} to {}",
            shape_text(s),
            shape_text(d)
        );
        cx.push(Finding::new("B051", at, text));
        return;
    };
    if columns.num != to_columns.num {
        let text = format!(
            "replicate from rows of {} to rows of {}: {} read, {} written",
            count_of(columns.num, "element"),
            to_columns.num,
            size_text(s),
            size_text(d)
        );
        cx.push(Finding::new("B051", at.clone(), text));
    }
    if s.count().is_none() || d.count().is_none() {
        let text = format!("replicate of {} to {}", size_text(s), size_text(d));
        cx.push(Finding::new("B051", at, text));
    } else if to_rows.num.checked_rem(rows.num).unwrap_or(to_rows.num) != 0 {
        let text = format!(
            "replicate count does not divide: {} to {}",
            count_of(rows.num, "partition"),
            to_rows.num
        );
        cx.push(Finding::new("B051", at, text));
    } else if to_rows.num > rows.num && cx.arch.number() < Arch::Gen3.number() {
        let text = format!("replicate to several destinations on {}; it needs gen3", cx.arch);
        cx.push(Finding::new("L057", at, text));
    }
}

fn cce(
    cx: &mut Cx<'_>,
    inst: &Inst,
    op: AluOp,
    constants: Option<&[f32]>,
    sources: &[(u32, &Operand)],
    dest: &Operand,
) {
    let whole = At::Inst(inst.pos, Part::Whole);
    let n = sources.len();
    if n > MAX_CCE_SOURCES {
        let text = format!("{n} CCE sources; at most {MAX_CCE_SOURCES} are allowed");
        cx.push(Finding::new("B052", whole.clone(), text));
    }
    if !matches!(op, AluOp::Add | AluOp::Max | AluOp::Min) {
        let text = format!("the CCE operation {op}; add, max and min are known");
        cx.push(Finding::new("B053", whole.clone(), text));
    }
    if let Some(c) = constants
        && c.len() != n
    {
        let text =
            format!("{} CCE constants for {n_sources}", c.len(), n_sources = count_of(n, "source"));
        let at = At::Inst(inst.pos, Part::Key("constants"));
        cx.push(Finding::new("B053", at, text));
    }
    let out = std::iter::once((Part::Out(0), dest));
    for (part, o) in sources.iter().map(|(k, o)| (Part::In(*k), *o)).chain(out) {
        if let Some(d) = o.dtype.filter(|d| d.is_integer() || d.copy_only()) {
            let text = format!("CCE on {d}; it works on floats");
            cx.push(Finding::new("B053", At::Inst(inst.pos, part), text));
        }
    }
    let count = dest.as_pattern().and_then(Pattern::count);
    let most = cx.arch.cce_elements();
    if inst.opcode.is_descriptor()
        && let Some(count) = count.filter(|c| *c > most)
    {
        let text = format!(
            "a CCE descriptor of {count_elements}; on {} at most {most}",
            cx.arch,
            count_elements = count_of(count, "element")
        );
        cx.push(Finding::new("L056", whole, text));
    }
}
