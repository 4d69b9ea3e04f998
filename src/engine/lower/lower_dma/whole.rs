//! Transfers that are one descriptor as they stand: nothing to resolve, nothing to cut. Most
//! transfers of a large module are; what the long way makes of them is the same, which a test
//! holds.

use super::super::context::Context;
use super::super::family::Family;
use super::descriptor_of;
use crate::bir::{Form, Inst, Layout, Operands};
use crate::limits::MAX_DESCRIPTOR_PAIRS;

/// The descriptor of a transfer in a loop of one iteration, or none; where there is no
/// descriptor the long way says what becomes of it.
pub(super) fn descriptor(
    cx: &Context<'_>,
    layout: &Layout,
    inst: &Inst,
    family: Family,
) -> Option<Inst> {
    let ordered = matches!(family, Family::Copy | Family::ReadVarAddr);
    if !ordered || inst.ins.len() != 1 || inst.outs.len() != 1 || cx.opts.mutation.is_some() {
        return None;
    }
    let from = one(layout, &inst.ins)?;
    let to = one(layout, &inst.outs)?;
    // Where the sides share bytes and would be cut, the order of the pieces matters.
    let fits = from.elements == to.elements
        && (1..=cx.opts.desc_elems(inst, cx.arch)).contains(&to.elements);
    fits.then(|| descriptor_of(inst, family, from.operands, to.operands))
}

/// A side as the descriptor has it, and how many elements that is.
struct One {
    operands: Operands,
    elements: u64,
}

fn one(layout: &Layout, operands: &Operands) -> Option<One> {
    let operand = operands.first()?;
    let p = operand.as_pattern()?;
    if p.start.is_some()
        || p.reference.is_some()
        || !(1..=MAX_DESCRIPTOR_PAIRS).contains(&p.pairs.len())
    {
        return None;
    }
    let elements = p.count()?;
    let placed = layout.of(p).ok()?;
    if !layout.holds(operand) {
        return None;
    }
    let mut operands = operands.clone();
    let pointed = p.form == Form::Physical && p.location.as_ref() == Some(&placed.name);
    if !pointed && let Some(p) = operands.first_mut()?.as_pattern_mut() {
        (p.form, p.location) = (Form::Physical, Some(placed.name.clone()));
    }
    Some(One { operands, elements })
}
