//! One transfer of each family.

use super::pattern::{Axis, Found, Span, Want, shape, symbolic};
use super::storage::Store;
use super::unit::Builder;
use crate::bir::{
    AluOp, Body, Descriptor, DgeType, Dma, Dtype, Engine, Expr, Form, Inst, Mode, Name, Opcode,
    Operand, OperandKind, Pos, Space, TransposeOp, Value,
};

/// A transfer that is not yet an instruction.
pub(super) struct Transfer {
    pub opcode: Opcode,
    pub mode: Mode,
    pub transpose: TransposeOp,
    pub cce_op: AluOp,
    pub constants: Option<Vec<f32>>,
    pub oob_is_err: bool,
    pub ins: Vec<Operand>,
    pub out: Operand,
    pub accesses: Vec<(Span, bool)>,
    /// Whether one side is dynamic.
    pub dynamic: bool,
    /// Instructions that set its registers.
    pub before: Vec<Inst>,
    /// Instructions that change them for the next iteration.
    pub after: Vec<Inst>,
}

const FLOATS: &[Dtype] = &[
    Dtype::F32,
    Dtype::F32r,
    Dtype::Bf16,
    Dtype::F16,
    Dtype::F8e3,
    Dtype::F8e4,
    Dtype::F8e4m3fn,
    Dtype::F8e5,
];

impl Transfer {
    fn new(sources: &[(Found, Operand)], dest: &Found, out: Operand) -> Transfer {
        let mut accesses: Vec<(Span, bool)> = sources.iter().map(|s| (s.0.span, false)).collect();
        accesses.push((dest.span, true));
        Transfer {
            opcode: Opcode::DmaCopy,
            mode: Mode::Copy,
            transpose: TransposeOp::None,
            cce_op: AluOp::Bypass,
            constants: None,
            oob_is_err: true,
            ins: sources.iter().map(|s| s.1.clone()).collect(),
            out,
            accesses,
            dynamic: false,
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    /// As a DMA of an engine and a queue.
    pub fn dma(self, name: Name, engine: Engine, queue: Name, dge: DgeType) -> Inst {
        let mut i = Inst::new(Pos(0), &name, self.opcode, engine);
        i.body = Body::Dma(Dma {
            queue: Some(queue),
            dge,
            mode: self.mode,
            oob_is_err: self.oob_is_err,
            transpose: self.transpose,
            constants: self.constants,
            cce_op: self.cce_op,
            ..Dma::default()
        });
        i.ins = self.ins.into();
        i.outs = [self.out].into();
        i
    }

    /// As a descriptor.
    pub fn descriptor(self, name: Name) -> Inst {
        let (opcode, op, transpose) = match self.mode {
            Mode::Transpose => (Opcode::DescriptorTranspose, None, Some(self.transpose)),
            Mode::Cce => (Opcode::DescriptorCce, Some(self.cce_op), None),
            Mode::Replicate => (Opcode::DescriptorReplicate, None, None),
            Mode::Copy | Mode::Dynamic => (Opcode::DescriptorCopy, None, None),
        };
        let mut i = Inst::new(Pos(0), &name, opcode, Engine::Dma);
        i.body = Body::Descriptor(Descriptor {
            constants: self.constants,
            op,
            transpose,
            can_read_uninit: false,
            oob_is_err: true,
        });
        i.ins = self.ins.into();
        i.outs = [self.out].into();
        i
    }
}

fn meets(a: Span, b: Span) -> bool {
    a.lo < b.hi && b.lo < a.hi
}

impl Builder<'_> {
    fn store(&mut self, written: bool) -> Store {
        let all: Vec<&Store> = self.storage.stores.iter().collect();
        let fit: Vec<&Store> = all.into_iter().filter(|s| s.writable || !written).collect();
        (*self.rng.pick(&fit)).clone()
    }

    fn types(&mut self) -> (Dtype, Dtype) {
        let all: Vec<Dtype> = Dtype::ALL.to_vec();
        let from = *self.rng.pick(&all);
        if !self.options.casts || from.copy_only() || self.rng.chance(60) {
            return (from, from);
        }
        let to: Vec<Dtype> = all.into_iter().filter(|d| !d.copy_only()).collect();
        (from, *self.rng.pick(&to))
    }

    /// Tries until something fits; a copy of one byte always does.
    fn retry<T>(&mut self, mut f: impl FnMut(&mut Self) -> Option<T>) -> Option<T> {
        (0..12).find_map(|_| f(self))
    }

    /// Source and destination that share no byte, unless that is wanted.
    fn sides(
        &mut self,
        (from, to): (Store, Store),
        (a, b): (Want<'_>, Want<'_>),
    ) -> Option<(Found, Found)> {
        let s = self.storage.pattern(&mut self.rng, &from, a)?;
        let d = self.storage.pattern(&mut self.rng, &to, b)?;
        (self.options.overlap || !meets(s.span, d.span)).then_some((s, d))
    }

    fn want<'w>(&mut self, dtype: Dtype, shape: &'w [u64], axes: &'w [Axis]) -> Want<'w> {
        Want { dtype, shape, exact: false, repeats: false, axes }
    }

    /// A transfer of any family that may stand in a loop of these axes. `descriptor`: one that
    /// can be a descriptor.
    pub fn transfer(&mut self, axes: &[Axis], descriptor: bool) -> Option<Transfer> {
        let o = *self.options;
        let replicate = o.replicate && self.arch() != crate::bir::Arch::Sunda;
        match self.rng.below(20) {
            0..=1 if o.transpose => self.transpose(axes),
            2..=4 if o.cce => self.cce(axes),
            5..=6 if replicate => self.replicate(axes),
            7..=9 if o.scalar && !descriptor => self.scalar(axes),
            10..=12 if o.vector && !descriptor && axes.is_empty() => self.vector(),
            13 if o.large && axes.is_empty() => self.rows(),
            _ => self.copy(axes, descriptor),
        }
    }

    pub fn copy(&mut self, axes: &[Axis], descriptor: bool) -> Option<Transfer> {
        self.retry(|b| {
            let (from, to) = (b.store(false), b.store(true));
            let (s, d) = b.types();
            let dims = if b.options.five && !descriptor && b.rng.chance(10) { 5 } else { 3 };
            let most = *b.rng.pick(&[4, 12, 30, 60]);
            let shape = shape(&mut b.rng, dims, most);
            let repeats = b.options.overlap && b.rng.chance(8);
            let read = Want { repeats: true, ..b.want(s, &shape, axes) };
            let write = Want { repeats, ..b.want(d, &shape, axes) };
            let (s, d) = b.sides((from, to), (read, write))?;
            let out = d.operand(axes);
            let source = s.operand(axes);
            let mut t = Transfer::new(&[(s, source)], &d, out);
            let space = |n: &Name| b.storage.layout.location(n).map(|l| l.space.is_dram());
            t.opcode = match (space(&d.store), b.rng.chance(15)) {
                (Some(false), true) => Opcode::Load,
                (Some(true), true) => Opcode::Save,
                _ => Opcode::DmaCopy,
            };
            Some(t)
        })
    }

    fn transpose(&mut self, axes: &[Axis]) -> Option<Transfer> {
        self.retry(|b| {
            let (from, to) = (b.store(false), b.store(true));
            if !from.space.is_dram() || to.space != Space::Sb {
                return None;
            }
            let dtype = *b.rng.pick(Dtype::ALL);
            let dims: Vec<u64> = (0..4).map(|_| 1 + b.rng.below(4)).collect();
            let op = *b.rng.pick(&[TransposeOp::Xzyw, TransposeOp::Xyzw]);
            let turned: Vec<u64> = op.order().iter().map(|k| dims[*k]).collect();
            let read = Want { exact: true, ..b.want(dtype, &dims, axes) };
            let write = Want { exact: true, ..b.want(dtype, &turned, axes) };
            let (s, d) = b.sides((from, to), (read, write))?;
            let (source, out) = (s.operand(axes), d.operand(axes));
            let mut t = Transfer::new(&[(s, source)], &d, out);
            (t.mode, t.transpose) = (Mode::Transpose, op);
            Some(t)
        })
    }

    fn replicate(&mut self, axes: &[Axis]) -> Option<Transfer> {
        self.retry(|b| {
            let (from, to) = (b.store(false), b.store(true));
            let dtype = b.types();
            let (rows, columns) = (1 + b.rng.below(3), 1 + b.rng.below(12));
            let (small, big) = ([rows, columns], [rows * (1 + b.rng.below(8)), columns]);
            let read = Want { exact: true, ..b.want(dtype.0, &small, axes) };
            let write = Want { exact: true, ..b.want(dtype.1, &big, axes) };
            let (s, d) = b.sides((from, to), (read, write))?;
            let (source, out) = (s.operand(axes), d.operand(axes));
            let mut t = Transfer::new(&[(s, source)], &d, out);
            t.mode = Mode::Replicate;
            Some(t)
        })
    }

    fn cce(&mut self, axes: &[Axis]) -> Option<Transfer> {
        self.retry(|b| {
            let n = if b.rng.chance(8) { 16 } else { 1 + b.rng.below(4) };
            let shape = shape(&mut b.rng, 3, 40);
            let mut sources = Vec::new();
            for _ in 0..n {
                let (from, dtype) = (b.store(false), *b.rng.pick(FLOATS));
                let want = Want { repeats: true, ..b.want(dtype, &shape, axes) };
                let s = b.storage.pattern(&mut b.rng, &from, want)?;
                let o = s.operand(axes);
                sources.push((s, o));
            }
            let (to, dtype) = (b.store(true), *b.rng.pick(FLOATS));
            let want = b.want(dtype, &shape, axes);
            let d = b.storage.pattern(&mut b.rng, &to, want)?;
            if !b.options.overlap && sources.iter().any(|s| meets(s.0.span, d.span)) {
                return None;
            }
            let out = d.operand(axes);
            let mut t = Transfer::new(&sources, &d, out);
            t.mode = Mode::Cce;
            t.cce_op = *b.rng.pick(&[AluOp::Add, AluOp::Max, AluOp::Min]);
            if b.rng.chance(70) {
                let one = |b: &mut Self| *b.rng.pick(&[1.0, 0.5, -2.0, 3.0, 0.1, -0.0]);
                t.constants = Some((0..n).map(|_| one(b)).collect());
            }
            Some(t)
        })
    }

    /// A copy with one side whose offset is in a register.
    fn scalar(&mut self, axes: &[Axis]) -> Option<Transfer> {
        // The register moves with the innermost loop, not the address with the axes.
        let inner = axes.last().filter(|a| a.trips > 1).cloned();
        let (from, to) = (self.store(false), self.store(true));
        let dtype = self.types();
        let small = shape(&mut self.rng, 3, 16);
        let read = Want { repeats: true, ..self.want(dtype.0, &small, &[]) };
        let write = self.want(dtype.1, &small, &[]);
        let (mut s, mut d) = self.sides((from, to), (read, write))?;
        let is_source = self.rng.chance(50);
        let side = if is_source { &mut s } else { &mut d };
        side.coefs = vec![0; axes.len()];
        let (target, scale) = (side.offset, *self.rng.pick(&[1, 1, 2, 3]));
        // What the register is raised by in each trip, where all of them lie inside.
        let mut step = 0;
        if let Some(inner) = &inner {
            let wanted = self.rng.range(1, 3);
            let moved = |offset| Found {
                store: side.store.clone(),
                dtype: side.dtype,
                pairs: side.pairs.clone(),
                offset,
                coefs: Vec::new(),
                span: side.span,
            };
            let inside = (0..inner.trips as i64).all(|k| {
                let at = moved(target + k * wanted * scale);
                self.storage.span(&at, &[]).is_some()
            });
            step = if inside { wanted } else { 0 };
        }
        let value = self.rng.range(0, 9);
        let constant = target - value * scale;
        let register = self.register();
        let whole = self.storage.whole(&side.store);
        side.span = whole;
        if !self.options.overlap && meets(s.span, d.span) {
            return None;
        }
        let form = self.rng.below(3);
        let (mut source, mut out) = (s.operand(&[]), d.operand(&[]));
        let operand = if is_source { &mut source } else { &mut out };
        if let Some(p) = operand.as_pattern_mut() {
            let r = Expr::Register(register.clone());
            match form {
                0 if scale == 1 => {
                    symbolic(p, r);
                    (p.form, p.offset) = (Form::Register, constant);
                }
                1 if scale == 1 => (p.start, p.dynamic_info, p.offset) = (Some(r), true, constant),
                _ => {
                    let r = Expr::Mul(Box::new(r), scale);
                    symbolic(p, Expr::Sum(vec![r, Expr::Const(constant)]));
                }
            }
        }
        let mut t = Transfer::new(&[(s, source)], &d, out);
        t.dynamic = true;
        t.before = self.set(&register, value);
        if step != 0 {
            t.after.push(self.alu(&register, AluOp::Add, self::register(&register), step));
        }
        Some(t)
    }

    /// Instructions that give a register a value.
    pub fn set(&mut self, register: &Name, value: i64) -> Vec<Inst> {
        let add = if self.rng.chance(40) { self.rng.range(0, value.max(0)) } else { 0 };
        let mut i = Inst::new(Pos(0), &self.name(), Opcode::RegisterMove, self.engine);
        i.ins = [immediate(value - add)].into();
        i.outs = [self::register(register)].into();
        let mut out = vec![i];
        if add > 0 {
            out.push(self.alu(register, AluOp::Add, self::register(register), add));
        }
        out
    }

    fn alu(&mut self, to: &Name, op: AluOp, from: Operand, by: i64) -> Inst {
        let mut i = Inst::new(Pos(0), &self.name(), Opcode::RegisterAlu, self.engine);
        i.body = Body::RegisterAlu { op, wide: false };
        i.ins = [from, immediate(by)].into();
        i.outs = [self::register(to)].into();
        i
    }

    /// A gather or scatter.
    fn vector(&mut self) -> Option<Transfer> {
        let list = self.storage.lists.pop()?;
        let made = self.retry(|b| b.gather(&list));
        if made.is_none() {
            self.storage.lists.push(list);
        }
        made
    }

    fn gather(&mut self, list: &super::storage::List) -> Option<Transfer> {
        let scatter = self.rng.chance(40);
        let (table, other) = (self.store(scatter), self.store(!scatter));
        let (from, to) = self.types();
        let dtype = if scatter { to } else { from };
        let n = list.entries;
        let inner = shape(&mut self.rng, 2, 6);
        let tile = table.space.has_partitions();
        let room = table.pitch / dtype.bytes();
        // Row 0 begins at the location's begin, inner steps ascend.
        let width: u64 = inner.iter().product();
        let step = if tile { room } else { width + self.rng.below(2) };
        if width > room || room == 0 {
            return None;
        }
        let rows = if tile { table.partitions } else { (room - width) / step + 1 };
        let mut pairs = vec![(step as i64, n)];
        let mut unit = width;
        for k in &inner {
            unit /= k;
            pairs.push((unit as i64, *k));
        }
        let limit = self.rng.chance(25).then(|| 1 + self.rng.below(rows));
        let good = limit.unwrap_or(rows);
        let signed = self.rng.chance(60);
        let skips = self.options.skipped && self.rng.chance(40);
        let indices: Vec<u32> = (0..n)
            .map(|_| match self.rng.below(4) {
                0 if skips && signed => (-1 - self.rng.below(3) as i64) as u32,
                1 if skips => (rows + self.rng.below(3)) as u32,
                2 if skips && self.rng.chance(20) => u32::MAX >> u32::from(signed),
                _ => self.rng.below(good) as u32,
            })
            .collect();
        let mut shape = vec![n];
        shape.extend(&inner);
        let want = self.want(if scatter { from } else { to }, &shape, &[]);
        let flat = self.storage.pattern(&mut self.rng, &other, want)?;
        let whole = self.storage.whole(&table.name);
        if meets(whole, flat.span) && !self.options.overlap {
            return None;
        }
        let mut p = crate::bir::Pattern::new(&table.name, 0, &pairs);
        symbolic(&mut p, Expr::Index(1));
        p.max_index = limit;
        let kind = OperandKind::Pattern(p);
        let dynamic = Operand { dtype: Some(dtype), kind, extra: Vec::new() };
        let index = if list.space == Space::Sb { &[(1, n), (1, 1)][..] } else { &[(1, n)] };
        let index = crate::bir::Pattern::new(&list.name, 0, index);
        let dtype = if signed { Dtype::I32 } else { Dtype::U32 };
        let index = Operand::pattern(dtype, index);
        let side = flat.operand(&[]);
        let (source, out) = if scatter { (side, dynamic) } else { (dynamic, side) };
        let mut t = Transfer::new(&[], &flat, out);
        let list_span = self.storage.whole(&list.name);
        t.accesses = vec![(whole, scatter), (flat.span, !scatter), (list_span, false)];
        t.ins = vec![source, index];
        t.dynamic = true;
        t.oob_is_err = !skips;
        self.storage.fill(&list.name, &indices);
        Some(t)
    }

    /// More bytes than a descriptor can move, or more rows than a ring is deep.
    fn rows(&mut self) -> Option<Transfer> {
        let big = self.storage.stores.iter().find(|s| &*s.name == "big")?.clone();
        let from = self.store(false);
        let n = *self.rng.pick(&[1021, 1100, 65_537]);
        let p = |store: &Store, step| Found {
            store: store.name.clone(),
            dtype: Dtype::U8,
            pairs: vec![crate::bir::Pair { step, num: n }],
            offset: 0,
            coefs: Vec::new(),
            span: Span { lo: 0, hi: 0 },
        };
        if from.space.has_partitions() || from.name == big.name {
            return None;
        }
        let (mut s, mut d) = (p(&from, 0), p(&big, if n < 2000 { 2 } else { 1 }));
        (s.span, d.span) = (self.storage.span(&s, &[])?, self.storage.span(&d, &[])?);
        let (source, out) = (s.operand(&[]), d.operand(&[]));
        Some(Transfer::new(&[(s, source)], &d, out))
    }
}

fn immediate(value: i64) -> Operand {
    Operand {
        dtype: Some(Dtype::I32),
        kind: OperandKind::Imm(Value::int(value)),
        extra: Vec::new(),
    }
}

/// A register as an operand: its value where it is read, itself where it is written.
fn register(name: &Name) -> Operand {
    let kind = OperandKind::Register(name.clone());
    Operand { dtype: Some(Dtype::I32), kind, extra: Vec::new() }
}
