//! A transfer or a descriptor at its moment: every address looked up, every rule about its
//! shape applied (`docs/execution.md`, "Transfers").

use super::indirect;
use crate::bir::compute::{can_cast, is_cce_dtype, is_cce_op};
use crate::bir::memory::Read;
use crate::bir::module::{At, Body, Finding, Inst, Operand, Part, Pattern, Reference};
use crate::bir::{
    AluOp, Dtype, Expr, Layout, Mode, Op, Opcode, PlaceError, Side, Transfer, TransposeOp, Value,
    Walk, expr::ExprError,
};
use crate::limits::MAX_BIR_TRANSFER_BYTES;
use crate::limits::MAX_CCE_SOURCES;
use crate::udma::count_of;

/// What is known only while the program runs.
pub trait Env {
    /// The value of the axis of an enclosing loop.
    fn axis(&self, name: &str) -> Option<i64>;
    /// The value of a register; `None` where nothing was written to it.
    fn register(&self, name: &str) -> Option<i64>;
}

/// Nothing is known: no loop around, no register written.
pub struct NoEnv;

impl Env for NoEnv {
    fn axis(&self, _: &str) -> Option<i64> {
        None
    }

    fn register(&self, _: &str) -> Option<i64> {
        None
    }
}

/// What a transfer does, as its opcode and keys say.
#[derive(Debug, Clone, PartialEq)]
pub enum Family {
    /// Moves, and casts where types differ. A read of a variable is one.
    Copy,
    /// Permutes.
    Transpose(TransposeOp),
    /// Repeats.
    Replicate,
    /// Sums, or takes the greatest or least; scales of the sources, absent for all 1.
    Cce(AluOp, Option<Vec<f32>>),
    /// MODEL: applies the operation to what the destination holds and what is moved there, one
    /// row of the index list after the other, so that a repeated index counts twice.
    Accumulate(AluOp),
}

/// The family of a transfer or descriptor.
///
/// # Errors
/// It is neither, or its operation is not known.
pub fn family(inst: &Inst) -> Result<Family, Finding> {
    if inst.opcode.is_dma() {
        let d = inst.dma().cloned().unwrap_or_default();
        return match (&inst.opcode, d.mode) {
            (Opcode::IndirectSaveAccumulate | Opcode::GenericIndirectSave, _) => accumulation(inst),
            (Opcode::ReadVarAddr, _) | (_, Mode::Copy | Mode::Dynamic) => Ok(Family::Copy),
            (_, Mode::Transpose) => Ok(Family::Transpose(d.transpose)),
            (_, Mode::Cce) => Ok(Family::Cce(d.cce_op, d.constants)),
            (_, Mode::Replicate) => Ok(Family::Replicate),
        };
    }
    let d = match &inst.body {
        Body::Descriptor(d) => d.clone(),
        _ => Default::default(),
    };
    match inst.opcode {
        Opcode::DescriptorCopy => Ok(Family::Copy),
        Opcode::DescriptorReplicate => Ok(Family::Replicate),
        Opcode::DescriptorTranspose => {
            Ok(Family::Transpose(d.transpose.unwrap_or(TransposeOp::None)))
        }
        Opcode::DescriptorCce => Ok(Family::Cce(d.op.unwrap_or(AluOp::Bypass), d.constants)),
        _ => {
            let text = format!("`{}` is no transfer and no descriptor with a family", inst.opcode);
            Err(whole("B085", inst, text))
        }
    }
}

/// The operation of a save that accumulates: its key `op`, add where it is absent; `bypass`
/// makes it a plain save.
fn accumulation(inst: &Inst) -> Result<Family, Finding> {
    let given = inst.extra.iter().find(|(k, _)| &**k == "op").map(|(_, v)| v);
    let op = match given {
        None => Some(AluOp::Add),
        Some(Value::Str(name)) => AluOp::by_name(name),
        Some(v) => v.as_int().and_then(|n| AluOp::by_number(u32::try_from(n).ok()?)),
    };
    match op {
        Some(AluOp::Bypass) => Ok(Family::Copy),
        Some(op) if is_cce_op(op) => Ok(Family::Accumulate(op)),
        _ => Err(whole("B081", inst, "its operation is not add, max or min")),
    }
}

pub(super) fn whole(code: &'static str, inst: &Inst, text: impl Into<String>) -> Finding {
    let text: String = text.into();
    Finding::new(code, At::Inst(inst.pos, Part::Whole), format!("`{}`: {text}", inst.name))
}

pub(super) fn at(code: &'static str, inst: &Inst, part: Part, text: impl Into<String>) -> Finding {
    let text: String = text.into();
    Finding::new(code, At::Inst(inst.pos, part), format!("`{}`: {text}", inst.name))
}

/// What a transfer before lowering does at this moment. One transfer for a static one, one for
/// each step of the index list for a gather or scatter; skipped steps are left out. All are
/// one movement: their sources are read before anything is written, except where the family is
/// [`Family::Accumulate`].
///
/// # Errors
/// Whatever is wrong with its operands, values or addresses (B074 to B084, B089).
pub fn resolve_dma(
    inst: &Inst,
    env: &dyn Env,
    layout: &Layout,
    mem: &dyn Read,
) -> Result<Vec<Transfer>, Finding> {
    Ok(resolve(inst, env, layout, mem)?.transfers)
}

/// What a descriptor does at the moment when its block is fired. The environment is that of
/// the trigger.
///
/// # Errors
/// As [`resolve_dma`].
pub fn resolve_descriptor(
    inst: &Inst,
    env: &dyn Env,
    layout: &Layout,
    mem: &dyn Read,
) -> Result<Vec<Transfer>, Finding> {
    Ok(resolve(inst, env, layout, mem)?.transfers)
}

/// The result of [`resolve`].
pub(super) struct Resolved {
    pub transfers: Vec<Transfer>,
    /// Whether each transfer ends before the next one reads.
    pub one_by_one: bool,
    /// First address of an index list that nobody wrote.
    pub unwritten_index: Option<u64>,
}

/// What is needed to look something up for one instruction.
pub(super) struct Ctx<'a> {
    pub inst: &'a Inst,
    pub env: &'a dyn Env,
    pub layout: &'a Layout,
    pub mem: &'a dyn Read,
    pub oob_is_err: bool,
    pub can_read_uninit: bool,
}

/// Where a pattern begins.
pub(super) enum Base {
    /// At this element of its location; whether that was looked up at run time.
    At(i64, bool),
    /// At as many elements as the list in this operand has.
    List(u32),
    /// Nowhere: its index is out of range and to be skipped.
    Skip,
}

/// An operand that is a pattern, taken apart.
#[derive(Clone, Copy)]
pub(super) struct Access<'a> {
    pub part: Part,
    pub pattern: &'a Pattern,
    pub dtype: Dtype,
}

pub(super) fn resolve(
    inst: &Inst,
    env: &dyn Env,
    layout: &Layout,
    mem: &dyn Read,
) -> Result<Resolved, Finding> {
    let family = family(inst)?;
    let (oob_is_err, can_read_uninit) = match &inst.body {
        Body::Dma(d) => (d.oob_is_err, d.can_read_uninit),
        Body::Descriptor(d) => (d.oob_is_err, d.can_read_uninit),
        _ => (true, false),
    };
    let mut ctx = Ctx { inst, env, layout, mem, oob_is_err, can_read_uninit };
    let sources = ctx.sources(&family)?;
    let [out] = inst.outs.as_slice() else {
        let n = inst.outs.len();
        return Err(whole("B075", inst, format!("it has {n} destinations; one is needed")));
    };
    let dest = ctx.access(Part::Out(0), out)?;
    if sources.iter().any(|s| s.pattern.is_dynamic()) && dest.pattern.is_dynamic() {
        return Err(whole("B080", inst, "both sides are dynamic; only one may be"));
    }
    let listed = sources.iter().chain([&dest]).any(|a| a.pattern.index_arg().is_some());
    if listed {
        return indirect::rows(&mut ctx, &family, &sources, dest);
    }
    let nothing =
        || Ok(Resolved { transfers: Vec::new(), one_by_one: false, unwritten_index: None });
    let Some(to) = ctx.side(dest)? else { return nothing() };
    let mut from = Vec::with_capacity(sources.len());
    for source in sources {
        let Some(side) = ctx.side(source)? else { return nothing() };
        from.push(side);
    }
    let total = from.iter().chain([&to]).fold(0u64, |n, s| n.saturating_add(s.walk.bytes()));
    ctx.check_size(Part::Whole, total)?;
    let (op, from) = ctx.operation(&family, from, &to)?;
    let from_pos = inst.pos;
    let transfer = Transfer { op, sources: from, dest: to, can_read_uninit, from: from_pos };
    // A list in memory was read for a lowered base only; who reads it says so.
    let unwritten_index = indirect::unwritten_reference(&ctx);
    Ok(Resolved { transfers: vec![transfer], one_by_one: false, unwritten_index })
}

impl<'a> Ctx<'a> {
    /// The operands that are read as data.
    fn sources(&self, family: &Family) -> Result<Vec<Access<'a>>, Finding> {
        let inst = self.inst;
        if inst.ins.is_empty() {
            return Err(whole("B075", inst, "it has no source"));
        }
        if !matches!(family, Family::Cce(..)) {
            return Ok(vec![self.access(Part::In(0), &inst.ins[0])?]);
        }
        let all = inst.ins.iter().chain(&inst.outs);
        let lists: Vec<u32> =
            all.filter_map(|o| o.as_pattern().and_then(Pattern::index_arg)).collect();
        let data = (0u32..).zip(&inst.ins).filter(|(k, _)| !lists.contains(k));
        data.map(|(k, o)| self.access(Part::In(k), o)).collect()
    }

    pub(super) fn access(&self, part: Part, operand: &'a Operand) -> Result<Access<'a>, Finding> {
        let inst = self.inst;
        let pattern = operand.as_pattern();
        let pattern = pattern.ok_or_else(|| at("B075", inst, part, "no access pattern"))?;
        let dtype = operand.dtype;
        let dtype = dtype.ok_or_else(|| at("B075", inst, part, "its type is not known"))?;
        Ok(Access { part, pattern, dtype })
    }

    /// Where a pattern begins, in elements of its location.
    pub(super) fn base(&self, a: Access<'_>) -> Result<Base, Finding> {
        let (inst, p) = (self.inst, a.pattern);
        let (list, registers) = (p.index_arg(), p.registers());
        if list.is_some() && !registers.is_empty() {
            let text = "it has a scalar and a vector offset; only one may be there";
            return Err(at("B080", inst, a.part, text));
        }
        if p.dynamic_info && list.is_none() && registers.is_empty() {
            let text = "it is dynamic, with neither a scalar nor a vector offset";
            return Err(at("B080", inst, a.part, text));
        }
        if let Some(Expr::Index(arg)) = p.start {
            return Ok(Base::List(arg));
        }
        let mut offset = i128::from(p.offset);
        if let Some(start) = &p.start {
            offset += i128::from(self.eval(a.part, start)?);
        }
        match &p.reference {
            None => {}
            Some(Reference::Register { register, scale }) => {
                let value = self.eval(a.part, &Expr::Register(register.clone()))?;
                offset += i128::from(value) * i128::from(*scale);
            }
            Some(Reference::Index { list, element, scale, max_index }) => {
                let index = indirect::element(self, list, *element)?;
                let fits = indirect::in_range(self, a, index, *max_index, offset, *scale)?;
                if !fits {
                    return Ok(Base::Skip);
                }
                offset += i128::from(index) * i128::from(*scale);
            }
        }
        // An axis that a descriptor still needs is one that nobody could resolve before.
        let late = inst.opcode.is_descriptor() && p.start.is_some();
        let patched = p.reference.is_some() || !registers.is_empty() || late;
        let offset = i64::try_from(offset);
        let offset = offset.map_err(|_| at("B074", inst, a.part, "its offset has over 64 bits"))?;
        Ok(Base::At(offset, patched))
    }

    fn eval(&self, part: Part, expr: &Expr) -> Result<i64, Finding> {
        eval(self.inst, part, expr, self.env)
    }

    pub(super) fn walk(
        &self,
        a: Access<'_>,
        pairs: &[crate::bir::Pair],
        offset: i64,
    ) -> Result<Walk, PlaceError> {
        self.layout.walk(a.pattern, a.dtype, pairs, offset)
    }

    /// All elements of an operand that has no index list; `None` where it is skipped.
    pub(super) fn side(&self, a: Access<'_>) -> Result<Option<Side>, Finding> {
        let (offset, patched) = match self.base(a)? {
            Base::At(offset, patched) => (offset, patched),
            Base::Skip => return Ok(None),
            Base::List(_) => {
                return Err(at("B080", self.inst, a.part, "an index list has no place here"));
            }
        };
        let walk = self.walk(a, &a.pattern.pairs, offset);
        let walk = walk.map_err(|e| self.misplaced(a.part, &e))?;
        self.check_size(a.part, walk.bytes())?;
        Ok(Some(Side { walk, dtype: a.dtype, patched }))
    }

    pub(super) fn misplaced(&self, part: Part, error: &PlaceError) -> Finding {
        at("B076", self.inst, part, error.to_string())
    }

    pub(super) fn check_size(&self, part: Part, bytes: u64) -> Result<(), Finding> {
        if bytes > MAX_BIR_TRANSFER_BYTES {
            let text = format!(
                "{bytes}; there may be {MAX_BIR_TRANSFER_BYTES}",
                bytes = count_of(bytes, "byte")
            );
            return Err(at("B089", self.inst, part, text));
        }
        Ok(())
    }

    /// Applies the family's rules to the shapes of both sides.
    fn operation(
        &self,
        family: &Family,
        mut from: Vec<Side>,
        to: &Side,
    ) -> Result<(Op, Vec<Side>), Finding> {
        let inst = self.inst;
        self.check_types(family, &from, to)?;
        let counts = |from: &[Side]| {
            let want = to.walk.count();
            let bad = from.iter().find(|s| s.walk.count() != want);
            bad.map_or(Ok(()), |s| Err(counts_differ(inst, s.walk.count(), want)))
        };
        match family {
            Family::Copy => {
                counts(&from)?;
                Ok((Op::Copy, from))
            }
            Family::Transpose(op) => {
                if *op == TransposeOp::None {
                    return Err(whole("B082", inst, "a transpose without a permutation"));
                }
                for (name, side) in [("source", &from[0]), ("destination", to)] {
                    let n = side.walk.dims.len();
                    if n != 4 {
                        let text = format!(
                            "a transpose is 4-D; its {name} has {n_dimensions}",
                            n_dimensions = count_of(n, "dimension")
                        );
                        return Err(whole("B082", inst, text));
                    }
                }
                counts(&from)?;
                Ok((Op::Transpose(*op), from))
            }
            Family::Replicate => {
                self.check_rows(&from[0].walk, &to.walk)?;
                Ok((Op::Replicate, from))
            }
            Family::Cce(op, constants) => {
                counts(&from)?;
                let n = from.len();
                if n > MAX_CCE_SOURCES {
                    let text = format!(
                        "{n_sources}; there may be {MAX_CCE_SOURCES}",
                        n_sources = count_of(n, "source")
                    );
                    return Err(whole("B081", inst, text));
                }
                let constants = constants.clone().unwrap_or_else(|| vec![1.0; n]);
                if constants.len() != n {
                    let text = format!(
                        "{} for {n_sources}",
                        count_of(constants.len(), "constant"),
                        n_sources = count_of(n, "source")
                    );
                    return Err(whole("B081", inst, text));
                }
                if !is_cce_op(*op) {
                    let text = format!("`{op}` cannot be applied to sources: add, max or min");
                    return Err(whole("B081", inst, text));
                }
                Ok((Op::Cce { op: *op, constants }, from))
            }
            Family::Accumulate(op) => {
                counts(&from)?;
                from.insert(0, to.clone());
                Ok((Op::Cce { op: *op, constants: vec![1.0; 2] }, from))
            }
        }
    }

    pub(super) fn check_types(
        &self,
        family: &Family,
        from: &[Side],
        to: &Side,
    ) -> Result<(), Finding> {
        if matches!(family, Family::Cce(..) | Family::Accumulate(_)) {
            let bad = from.iter().chain([to]).find(|s| !is_cce_dtype(s.dtype));
            return bad.map_or(Ok(()), |s| {
                let text = format!("sums are of floats, not of {}", s.dtype);
                Err(whole("B081", self.inst, text))
            });
        }
        let bad = from.iter().find(|s| !can_cast(s.dtype, to.dtype));
        bad.map_or(Ok(()), |s| {
            let text = format!("{} cannot be cast to {}", s.dtype, to.dtype);
            Err(whole("B084", self.inst, text))
        })
    }

    /// Replicate: rows of one length on both sides, and whole repetitions of the source.
    fn check_rows(&self, from: &Walk, to: &Walk) -> Result<(), Finding> {
        let shape = |w: &Walk| match w.dims.split_first() {
            Some((first, rest)) => (first.num, rest.iter().map(|d| d.num).product::<u64>()),
            None => (1, 1),
        };
        let ((rows, len), (copies, room)) = (shape(from), shape(to));
        if len != room {
            let text = format!(
                "its source rows have {len_elements}, its destination's {room}",
                len_elements = count_of(len, "element")
            );
            return Err(whole("B083", self.inst, text));
        }
        if copies.checked_rem(rows).unwrap_or(copies) != 0 {
            let text = format!("{rows} source rows do not divide {copies} destination rows");
            return Err(whole("B083", self.inst, text));
        }
        Ok(())
    }
}

pub(super) fn counts_differ(inst: &Inst, from: u64, to: u64) -> Finding {
    let text = format!(
        "its source has {from_elements}, its destination {to}",
        from_elements = count_of(from, "element")
    );
    whole("B077", inst, text)
}

/// The value of an expression, with what is wrong said about a part of an instruction.
pub(super) fn eval(inst: &Inst, part: Part, expr: &Expr, env: &dyn Env) -> Result<i64, Finding> {
    let value = expr.eval(&|n| env.axis(n), &|n| env.register(n));
    value.map_err(|e| {
        let text = match e {
            ExprError::Axis(n) => format!("no loop around it has the axis `{n}`"),
            ExprError::Register(n) => format!("nothing was ever written to register `{n}`"),
            ExprError::Index(n) => {
                format!("the index list in operand {n} stands inside another expression")
            }
            ExprError::Arithmetic => "its value does not exist or has over 64 bits".to_owned(),
            ExprError::Unknown(n) => format!("`{n}` is no kind of expression that is known"),
        };
        at("B074", inst, part, text)
    })
}
