//! Registers: moves, arithmetic, comparison (`docs/execution.md`, "Registers").

use super::action::Action;
use super::control::View;
use super::resolve::{Base, Ctx, Env, at, whole};
use super::stream::Next;
use crate::bir::memory::Read;
use crate::bir::module::{Body, Finding, Inst, Operand, OperandKind, Part};
use crate::bir::{AluOp, BranchOp, Dtype, Layout, Opcode, Walk};

/// Whether an instruction works on registers. MODEL: a variable's address that is read into a
/// register, and `TensorLoad` and `TensorSave`, move one integer between a register and memory.
pub(super) fn is_register(inst: &Inst) -> bool {
    let kind = |o: &Operand| matches!(o.kind, OperandKind::Register(_));
    let holds = |list: &[Operand]| list.first().is_some_and(kind);
    match &inst.opcode {
        Opcode::RegisterAlu | Opcode::RegisterMove => true,
        Opcode::ReadVarAddr => holds(&inst.outs),
        Opcode::Other(name) => match &**name {
            "TensorLoad" => holds(&inst.outs),
            "TensorSave" => holds(&inst.ins),
            _ => false,
        },
        _ => false,
    }
}

struct Look<'a> {
    ctx: Ctx<'a>,
}

/// Executes one.
pub(super) fn execute(
    inst: &Inst,
    view: &View<'_>,
    mem: &dyn Read,
    layout: &Layout,
) -> Result<(Action, Next), Finding> {
    let look = Look::new(inst, view, mem, layout);
    let [out] = inst.outs.as_slice() else {
        return Err(whole("B086", inst, "it needs one result"));
    };
    let value = match &inst.body {
        Body::RegisterAlu { op, wide } => {
            let a = look.value(0)?;
            let b = if inst.ins.len() > 1 { Some(look.value(1)?) } else { None };
            let value = alu(*op, a, b, *wide);
            let value = value.ok_or_else(|| {
                let text = format!("`{op}` on {a}, {b:?} has no value or no rule");
                whole("B086", inst, text)
            })?;
            wrap(value, *wide, out.dtype)
        }
        _ if inst.ins.is_empty() => return Err(whole("B086", inst, "it needs a source")),
        _ => look.value(0)?,
    };
    match &out.kind {
        OperandKind::Register(name) => Ok((Action::Nothing, Next::Set(name.clone(), value))),
        OperandKind::Pattern(_) => {
            let (walk, dtype) = look.place(Part::Out(0), out)?;
            let bytes = value.to_le_bytes()[..dtype.bytes() as usize].to_vec();
            Ok((Action::Store { pos: inst.pos, walk, bytes }, Next::On))
        }
        _ => Err(at("B086", inst, Part::Out(0), "its result goes to no register")),
    }
}

/// Whether a branch's comparison holds.
pub(super) fn compare(
    inst: &Inst,
    op: BranchOp,
    view: &View<'_>,
    mem: &dyn Read,
    layout: &Layout,
) -> Result<bool, Finding> {
    let look = Look::new(inst, view, mem, layout);
    if inst.ins.len() != 2 {
        return Err(whole("B086", inst, "a comparison has two operands"));
    }
    let order = look.value(0)?.cmp(&look.value(1)?);
    use BranchOp::*;
    Ok(match op {
        LtImm | LtReg => order.is_lt(),
        LeImm | LeReg => order.is_le(),
        EqImm | EqReg => order.is_eq(),
        NeImm | NeReg => order.is_ne(),
        GeImm | GeReg => order.is_ge(),
        GtImm | GtReg => order.is_gt(),
        Unsupported => return Err(whole("B086", inst, "its comparison is not known")),
    })
}

impl<'a> Look<'a> {
    fn new(inst: &'a Inst, view: &'a View<'a>, mem: &'a dyn Read, layout: &'a Layout) -> Look<'a> {
        let env: &dyn Env = view;
        let ctx = Ctx { inst, env, layout, mem, oob_is_err: true, can_read_uninit: true };
        Look { ctx }
    }

    /// The value of an input: a register, a constant, or one integer in memory.
    fn value(&self, k: u32) -> Result<i64, Finding> {
        let (inst, part) = (self.ctx.inst, Part::In(k));
        let operand = inst.ins.get(k as usize);
        let operand = operand.ok_or_else(|| whole("B086", inst, "an operand is missing"))?;
        match &operand.kind {
            OperandKind::Register(name) => self.ctx.env.register(name).ok_or_else(|| {
                at("B074", inst, part, format!("nothing was ever written to register `{name}`"))
            }),
            OperandKind::Imm(v) => v
                .as_int()
                .ok_or_else(|| at("B086", inst, part, "registers hold integers of 64 bits")),
            OperandKind::Pattern(_) => {
                let (walk, dtype) = self.place(part, operand)?;
                let mut bytes = [0; 8];
                self.ctx.mem.read(walk.start, &mut bytes[..walk.elem as usize]);
                Ok(extend(i64::from_le_bytes(bytes), dtype))
            }
            OperandKind::Other(kind) => {
                Err(at("B086", inst, part, format!("`{kind}` has no value here")))
            }
        }
    }

    /// One integer in memory.
    fn place(&self, part: Part, operand: &'a Operand) -> Result<(Walk, Dtype), Finding> {
        let inst = self.ctx.inst;
        let a = self.ctx.access(part, operand)?;
        let Base::At(offset, _) = self.ctx.base(a)? else {
            return Err(at("B086", inst, part, "an index list has no place here"));
        };
        let walk = self.ctx.walk(a, &a.pattern.pairs, offset);
        let walk = walk.map_err(|e| self.ctx.misplaced(part, &e))?;
        if walk.count() != 1 || !a.dtype.is_integer() {
            return Err(at("B086", inst, part, "one integer goes to or from a register"));
        }
        Ok((walk, a.dtype))
    }
}

/// The low bits of a value as a number of this type.
fn extend(value: i64, dtype: Dtype) -> i64 {
    use Dtype::{I8, I16, I32, I64, U64};
    let up = 64 - 8 * dtype.bytes();
    if matches!(dtype, I8 | I16 | I32 | I64 | U64) {
        return value << up >> up;
    }
    ((value as u64) << up >> up) as i64
}

/// MODEL: results have 32 bits unless they are wide, with a sign unless their type has none.
fn wrap(value: i64, wide: bool, dtype: Option<Dtype>) -> i64 {
    match (wide, dtype) {
        (true, _) => value,
        (false, Some(Dtype::U32)) => i64::from(value as u32),
        (false, _) => i64::from(value as i32),
    }
}

/// `None` where an operand is missing, the result does not exist, or nobody knows what it is.
fn alu(op: AluOp, a: i64, b: Option<i64>, wide: bool) -> Option<i64> {
    let bits = if wide { 64 } else { 32 };
    let flag = |x: bool| Some(i64::from(x));
    match op {
        AluOp::Bypass => return Some(a),
        AluOp::BitwiseNot => return Some(!a),
        AluOp::Abs => return Some(a.wrapping_abs()),
        _ => {}
    }
    let b = b?;
    let shift = u32::try_from(b).ok().filter(|s| *s < bits);
    match op {
        AluOp::Add => Some(a.wrapping_add(b)),
        AluOp::Subtract => Some(a.wrapping_sub(b)),
        AluOp::Mult | AluOp::ElemwiseMul => Some(a.wrapping_mul(b)),
        AluOp::Divide => (b != 0).then(|| a.wrapping_div(b)),
        AluOp::Mod | AluOp::ModInt => (b != 0).then(|| a.wrapping_rem(b)),
        AluOp::Max => Some(a.max(b)),
        AluOp::Min => Some(a.min(b)),
        AluOp::AbsMax => Some(a.wrapping_abs().max(b.wrapping_abs())),
        AluOp::AbsMin => Some(a.wrapping_abs().min(b.wrapping_abs())),
        AluOp::BitwiseAnd => Some(a & b),
        AluOp::BitwiseOr => Some(a | b),
        AluOp::BitwiseXor => Some(a ^ b),
        AluOp::LogicalAnd => flag(a != 0 && b != 0),
        AluOp::LogicalOr => flag(a != 0 || b != 0),
        AluOp::LogicalXor => flag((a != 0) != (b != 0)),
        AluOp::ArithShiftLeft | AluOp::LogicalShiftLeft => shift.map(|s| a << s),
        AluOp::ArithShiftRight => shift.map(|s| a >> s),
        AluOp::LogicalShiftRight if wide => shift.map(|s| (a as u64 >> s) as i64),
        AluOp::LogicalShiftRight => shift.map(|s| i64::from(a as u32 >> s)),
        AluOp::IsEqual => flag(a == b),
        AluOp::NotEqual => flag(a != b),
        AluOp::IsGt => flag(a > b),
        AluOp::IsGe => flag(a >= b),
        AluOp::IsLt => flag(a < b),
        AluOp::IsLe => flag(a <= b),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_wraps_at_its_width() {
        let max = i64::from(i32::MAX);
        let sum = alu(AluOp::Add, max, Some(1), false).unwrap();
        assert_eq!(wrap(sum, false, Some(Dtype::I32)), i64::from(i32::MIN));
        assert_eq!(wrap(sum, false, Some(Dtype::U32)), max + 1);
        assert_eq!(wrap(sum, true, None), max + 1);
        assert_eq!(alu(AluOp::Divide, 1, Some(0), true), None);
        assert_eq!(alu(AluOp::Divide, i64::MIN, Some(-1), true), Some(i64::MIN));
        assert_eq!(alu(AluOp::LogicalShiftRight, -1, Some(28), false), Some(15));
        assert_eq!(alu(AluOp::ArithShiftRight, -16, Some(2), false), Some(-4));
        assert_eq!(alu(AluOp::ArithShiftLeft, 1, Some(32), false), None);
        assert_eq!(alu(AluOp::Rsqrt, 1, Some(1), false), None);
        assert_eq!(alu(AluOp::BitwiseNot, 0, None, false), Some(-1));
        assert_eq!(alu(AluOp::Add, 0, None, false), None);
    }

    #[test]
    fn memory_gives_values_of_its_type() {
        assert_eq!(extend(0xff, Dtype::I8), -1);
        assert_eq!(extend(0xff, Dtype::U8), 255);
        assert_eq!(extend(0xffff_ffff, Dtype::U32), 0xffff_ffff);
        assert_eq!(extend(0x8000, Dtype::I16), -0x8000);
    }
}
