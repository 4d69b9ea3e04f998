//! What a transfer is: its family, its operands, what is dynamic about it
//! (`docs/lowering.md`, "Families", "Dynamic addresses").

use crate::bir::{AluOp, Dtype, Expr, Inst, Mode, Name, Opcode, Operand, Pattern, TransposeOp};
use crate::limits::MAX_INDEX_LIST;
use crate::udma::count_of;

/// What becomes of a transfer. The first that matches counts, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// The address of a variable; the only run-time address that no DGE is asked for.
    ReadVarAddr,
    /// Four dimensions permuted.
    Transpose,
    /// Several sources scaled and summed, or their maximum or minimum.
    Cce,
    /// Source rows over and over.
    Replicate,
    /// A copy or cast.
    Copy,
}

impl Family {
    /// The descriptor that it becomes.
    pub fn descriptor(self) -> Opcode {
        match self {
            Family::Transpose => Opcode::DescriptorTranspose,
            Family::Cce => Opcode::DescriptorCce,
            Family::Replicate => Opcode::DescriptorReplicate,
            Family::ReadVarAddr | Family::Copy => Opcode::DescriptorCopy,
        }
    }
}

/// Why a transfer has no family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoFamily {
    /// No public rule says how this opcode is lowered.
    NoRule(&'static str),
    /// It matches none, or several; in words.
    Unclear(String),
}

/// Whether an instruction reads a variable's address into a register: it is called a transfer,
/// but moves no memory and is left alone.
pub fn reads_address(inst: &Inst) -> bool {
    inst.opcode == Opcode::ReadVarAddr && inst.outs.iter().any(|o| o.as_pattern().is_none())
}

/// The family of a transfer.
///
/// # Errors
/// As [`NoFamily`] lists.
pub fn family(inst: &Inst) -> Result<Family, NoFamily> {
    match inst.opcode {
        Opcode::GenericIndirectLoad | Opcode::GenericIndirectSave => {
            return Err(NoFamily::NoRule(
                "an earlier pass turns it into address arithmetic and an IndirectLoad or IndirectSave",
            ));
        }
        Opcode::IndirectSaveAccumulate => {
            return Err(NoFamily::NoRule(
                "it reads what it writes, and no descriptor is known that does so",
            ));
        }
        _ => {}
    }
    let Some(dma) = inst.dma() else {
        return Err(NoFamily::Unclear("it has no keys of a transfer".into()));
    };
    if inst.opcode == Opcode::ReadVarAddr && dma.mode == Mode::Copy {
        return Ok(Family::ReadVarAddr);
    }
    let permutes = dma.transpose != TransposeOp::None;
    let computes = dma.cce_op != AluOp::Bypass;
    let (family, also) = match dma.mode {
        Mode::Transpose => (Family::Transpose, computes.then_some("a CCE operation")),
        Mode::Cce => (Family::Cce, permutes.then_some("a transpose")),
        Mode::Replicate if permutes => (Family::Replicate, Some("a transpose")),
        Mode::Replicate => (Family::Replicate, computes.then_some("a CCE operation")),
        // Whatever is neither transposed, computed nor replicated is a copy.
        Mode::Copy | Mode::Dynamic if permutes => (Family::Copy, Some("a transpose")),
        Mode::Copy | Mode::Dynamic => (Family::Copy, computes.then_some("a CCE operation")),
    };
    if let Some(also) = also {
        let mode = dma.mode;
        return Err(NoFamily::Unclear(format!("mode {mode} and {also} are two families")));
    }
    Ok(family)
}

/// Positions of operands that hold indices rather than data.
pub fn index_args(inst: &Inst) -> Vec<usize> {
    let patterns = inst.ins.iter().chain(&inst.outs).filter_map(Operand::as_pattern);
    let starts = patterns.filter_map(|p| p.start.as_ref());
    starts.flat_map(Expr::indices).map(|i| i as usize).collect()
}

/// Operands read as data, with their positions in `ins`.
pub fn data_ins(inst: &Inst) -> impl Iterator<Item = (usize, &Operand)> {
    let index = index_args(inst);
    inst.ins.iter().enumerate().filter(move |(i, _)| !index.contains(i))
}

/// A side of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// An entry of `ins`.
    In(usize),
    /// `outs[0]`.
    Out,
}

impl Side {
    /// The operand.
    pub fn of(self, inst: &Inst) -> Option<&Operand> {
        match self {
            Side::In(i) => inst.ins.get(i),
            Side::Out => inst.outs.first(),
        }
    }

    /// The operand's pattern, to be changed.
    pub fn pattern_mut(self, inst: &mut Inst) -> Option<&mut Pattern> {
        match self {
            Side::In(i) => inst.ins.get_mut(i),
            Side::Out => inst.outs.first_mut(),
        }
        .and_then(Operand::as_pattern_mut)
    }
}

/// What is dynamic about a transfer before it is unrolled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dynamic {
    /// Nothing, or only axes of loops.
    No,
    /// The address of a side depends on registers.
    Scalar(Side),
    /// The rows of a side are chosen by the index operand at a position of `ins`.
    Vector(Side, usize),
}

/// Why the dynamic part of a transfer is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadDynamic {
    /// Both sides are dynamic.
    BothSides,
    /// A register and an index operand in one address.
    BothKinds,
    /// A dynamic part with neither register nor index operand.
    NeitherKind,
    /// Something is wrong with the index operand; in words.
    Index(String),
}

/// What is dynamic about a transfer.
///
/// # Errors
/// As [`BadDynamic`] lists.
pub fn dynamic(inst: &Inst) -> Result<Dynamic, BadDynamic> {
    let mut found = Dynamic::No;
    let ins = data_ins(inst).map(|(i, o)| (Side::In(i), o));
    for (side, operand) in ins.chain(inst.outs.iter().map(|o| (Side::Out, o))) {
        let Some(p) = operand.as_pattern() else { continue };
        let this = match (p.registers().is_empty(), p.index_arg()) {
            (true, None) if p.dynamic_info && p.reference.is_none() => {
                return Err(BadDynamic::NeitherKind);
            }
            (true, None) => continue,
            (false, Some(_)) => return Err(BadDynamic::BothKinds),
            (false, None) => Dynamic::Scalar(side),
            (true, Some(arg)) => {
                check_index(inst, p, arg as usize)?;
                Dynamic::Vector(side, arg as usize)
            }
        };
        if found != Dynamic::No {
            return Err(BadDynamic::BothSides);
        }
        found = this;
    }
    let copies = inst.dma().is_none_or(|d| matches!(d.mode, Mode::Copy | Mode::Dynamic));
    if matches!(found, Dynamic::Vector(..)) && !copies {
        let mode = inst.dma().map_or(Mode::Copy, |d| d.mode);
        return Err(BadDynamic::Index(format!("mode {mode} has no rule for indices")));
    }
    Ok(found)
}

fn check_index(inst: &Inst, dynamic: &Pattern, arg: usize) -> Result<(), BadDynamic> {
    let bad = |text: String| Err(BadDynamic::Index(text));
    if !matches!(dynamic.start, Some(Expr::Index(_))) {
        return bad("an index inside another expression has no meaning".into());
    }
    let Some(outer) = dynamic.pairs.first() else {
        return bad("the pattern has no dimension along which rows could be chosen".into());
    };
    let Some(operand) = inst.ins.get(arg).filter(|_| arg != 0 || inst.ins.len() > 1) else {
        return bad(format!("there is no index operand {arg}"));
    };
    let Some(list) = operand.as_pattern() else {
        return bad(format!("operand {arg} is no access pattern"));
    };
    if !matches!(operand.dtype, Some(Dtype::I32 | Dtype::U32)) {
        return bad(format!("operand {arg} holds no int32 or uint32"));
    }
    if list.is_dynamic() {
        return bad(format!("operand {arg} is dynamic itself"));
    }
    match list.count() {
        Some(n) if n > MAX_INDEX_LIST => bad(format!(
            "operand {arg} has {n_indices}; there may be {MAX_INDEX_LIST}",
            n_indices = count_of(n, "index")
        )),
        Some(n) if n == outer.num => Ok(()),
        n => {
            let n = n.map_or("too many".to_owned(), |n| n.to_string());
            bad(format!(
                "operand {arg} has {n_indices} for {}",
                count_of(outer.num, "row"),
                n_indices = count_of(n, "index")
            ))
        }
    }
}

/// An affine part of an address: what does not depend on registers, and one register with the
/// elements for each unit of it.
pub type Affine = (Option<Expr>, Option<(Name, i64)>);

/// Takes the register out of an address expression.
///
/// # Errors
/// In words: it is not affine in exactly one register.
pub fn split_register(start: &Expr) -> Result<Affine, String> {
    let mut rest = Vec::new();
    let mut register: Option<(Name, i64)> = None;
    collect(start, 1, &mut rest, &mut register)?;
    let rest = match rest.len() {
        0 => None,
        1 => rest.pop(),
        _ => Some(Expr::Sum(rest)),
    };
    Ok((rest, register))
}

fn collect(
    e: &Expr,
    by: i64,
    rest: &mut Vec<Expr>,
    register: &mut Option<(Name, i64)>,
) -> Result<(), String> {
    let beyond = || "a coefficient does not fit 64 bits".to_owned();
    match e {
        _ if e.registers().is_empty() => {
            rest.push(if by == 1 { e.clone() } else { Expr::Mul(Box::new(e.clone()), by) });
        }
        Expr::Register(name) => match register {
            Some((known, scale)) if known == name => {
                *scale = scale.checked_add(by).ok_or_else(beyond)?;
            }
            Some((known, _)) => {
                return Err(format!("two registers, `{known}` and `{name}`, in one address"));
            }
            None => *register = Some((name.clone(), by)),
        },
        Expr::Sum(terms) => {
            for t in terms {
                collect(t, by, rest, register)?;
            }
        }
        Expr::Mul(inner, k) => {
            collect(inner, by.checked_mul(*k).ok_or_else(beyond)?, rest, register)?;
        }
        _ => return Err("a register below a division".into()),
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn one_register_is_taken_out_of_an_affine_address() {
        let reg = |n: &str| Expr::Register(n.into());
        let axis = Expr::Axis("i".into());
        let e = Expr::Sum(vec![
            Expr::Const(3),
            Expr::Mul(Box::new(Expr::Sum(vec![reg("r"), axis.clone()])), 4),
            reg("r"),
        ]);
        let (rest, register) = split_register(&e).unwrap();
        assert_eq!(register, Some(("r".into(), 5)));
        let rest = rest.unwrap();
        assert_eq!(rest.eval(&|_| Some(10), &|_| None), Ok(43));
        assert!(split_register(&Expr::Sum(vec![reg("r"), reg("s")])).is_err());
        let div = Expr::FloorDiv(Box::new(reg("r")), Box::new(Expr::Const(2)));
        assert!(split_register(&div).is_err());
        assert_eq!(split_register(&axis).unwrap(), (Some(axis), None));
    }
}
