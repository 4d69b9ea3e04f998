//! A plain interpreter, written for tests: it goes element by element and byte by byte through
//! what `docs/bir.md` and `docs/execution.md` say, in the order of the arrays, and shares no
//! arithmetic, no addresses and no casts with the product. Engines, semaphores and dependencies it
//! does not know: what is executed here must be sound in the order of its arrays.

use dmadbg::bir::{
    AluOp, Block, Body, Dtype, Expr, Inst, Location, Mode, Module, Name, Opcode, Operand,
    OperandKind, Pair, Pattern, Pos, Reference, Space,
};
use std::collections::{BTreeMap, HashMap};

/// Where a byte is: a space, and what counts in it.
type Byte = (String, u64, u64);

/// A value on its way from one type to another.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Num {
    Int(i128),
    Float(f64),
}

fn int(d: Dtype) -> Option<(u32, bool)> {
    use Dtype::*;
    Some(match d {
        U8 => (8, false),
        I8 => (8, true),
        U16 => (16, false),
        I16 => (16, true),
        U32 => (32, false),
        I32 => (32, true),
        U64 => (64, false),
        I64 => (64, true),
        _ => return None,
    })
}

/// Bits of exponent and fraction, and whether the largest exponent is kept for infinities.
fn float(d: Dtype) -> Option<(u32, u32, bool)> {
    use Dtype::*;
    Some(match d {
        F8e3 => (3, 4, true),
        F8e4 => (4, 3, true),
        F8e4m3fn => (4, 3, false),
        F8e5 => (5, 2, true),
        Bf16 => (8, 7, true),
        F16 => (5, 10, true),
        F32 | F32r => (8, 23, true),
        _ => return None,
    })
}

fn number(bytes: &[u8], d: Dtype) -> Num {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let code = u64::from_le_bytes(word);
    if let Some((bits, signed)) = int(d) {
        let value = i128::from(code);
        let negative = signed && code >> (bits - 1) & 1 == 1;
        return Num::Int(if negative { value - (1 << bits) } else { value });
    }
    let Some((e, m, ieee)) = float(d) else { return Num::Int(i128::from(code != 0)) };
    let (exponent, fraction) = (code >> m & ((1 << e) - 1), code & ((1 << m) - 1));
    let bias = (1 << (e - 1)) - 1;
    let all = (1 << e) - 1;
    let size = match (exponent == all, ieee) {
        (true, true) if fraction == 0 => f64::INFINITY,
        (true, true) => f64::NAN,
        (true, false) if fraction == (1 << m) - 1 => f64::NAN,
        _ if exponent == 0 => fraction as f64 * 2f64.powi(1 - bias - m as i32),
        _ => (fraction + (1 << m)) as f64 * 2f64.powi(exponent as i32 - bias - m as i32),
    };
    Num::Float(if code >> (e + m) & 1 == 1 { -size } else { size })
}

/// All values of a type of at most 16 bits that are not negative, by code; what comes after the
/// largest finite one is as far away as it would be were there no end.
struct Narrow {
    values: Vec<f64>,
    end: u64,
    nan: u64,
}

fn narrow(d: Dtype) -> Narrow {
    let (e, m, ieee) = float(d).unwrap();
    let read = |code: u64| match number(&code.to_le_bytes()[..d.bytes() as usize], d) {
        Num::Float(f) => f,
        Num::Int(_) => unreachable!(),
    };
    let codes = 1u64 << (e + m);
    let values: Vec<f64> = (0..codes).map(read).take_while(|f| f.is_finite()).collect();
    let nan = if ieee { (((1 << e) - 1) << m) | 1 << (m - 1) } else { codes - 1 };
    Narrow { end: values.len() as u64, values, nan }
}

fn code(value: Num, d: Dtype, tables: &mut HashMap<Dtype, Narrow>) -> Vec<u8> {
    let n = d.bytes() as usize;
    if let Some((bits, signed)) = int(d) {
        let whole = whole(value);
        let (lo, hi) =
            if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
        return whole.max(lo).min(hi).to_le_bytes()[..n].to_vec();
    }
    if matches!(d, Dtype::F32 | Dtype::F32r) {
        // The language rounds to nearest even, from integers too.
        let f = match value {
            Num::Int(i) => i as f32,
            Num::Float(f) => f as f32,
        };
        let bits = if f.is_nan() { 0x7fc0_0000 } else { f.to_bits() };
        return bits.to_le_bytes().to_vec();
    }
    if float(d).is_none() {
        return vec![whole(value).clamp(0, 1) as u8];
    }
    let t = tables.entry(d).or_insert_with(|| narrow(d));
    let (e, m, ieee) = float(d).unwrap();
    let (negative, beyond) = match value {
        Num::Int(i) => (i < 0, false),
        Num::Float(f) => (f.is_sign_negative(), f.is_infinite()),
    };
    let sign = u64::from(negative) << (e + m);
    if matches!(value, Num::Float(f) if f.is_nan()) {
        return t.nan.to_le_bytes()[..n].to_vec();
    }
    // Twice a value against the sum of two neighbours, both exact.
    let below = |x: f64| match value {
        Num::Int(i) => {
            (i.unsigned_abs() as f64) < x
                || (i.unsigned_abs() as f64 == x && i.unsigned_abs() < x as u128)
        }
        Num::Float(f) => f.abs() < x,
    };
    let equal = |x: f64| {
        !below(x)
            && match value {
                Num::Int(i) => x.fract() == 0.0 && x as u128 == i.unsigned_abs(),
                Num::Float(f) => f.abs() == x,
            }
    };
    let largest = *t.values.last().unwrap();
    let step = largest - t.values[t.values.len() - 2];
    let at = |k: u64| if k < t.end { t.values[k as usize] } else { largest + step };
    let upper = t.values.partition_point(|v| !below(*v) && !equal(*v)) as u64;
    let found = if beyond {
        t.end
    } else if upper < t.end && equal(at(upper)) {
        upper
    } else if upper == 0 {
        0
    } else {
        let (lo, hi) = (upper - 1, upper);
        let middle = (at(lo) + at(hi)) / 2.0;
        match (below(middle), equal(middle)) {
            (_, true) => lo + (lo & 1),
            (true, _) => lo,
            _ => hi,
        }
    };
    if found >= t.end {
        let end = if ieee { sign | t.end } else { t.nan };
        return end.to_le_bytes()[..n].to_vec();
    }
    (sign | found).to_le_bytes()[..n].to_vec()
}

fn whole(value: Num) -> i128 {
    match value {
        Num::Int(i) => i,
        Num::Float(f) if f.is_nan() => 0,
        Num::Float(f) if f.abs() > 1e30 => {
            if f > 0.0 {
                1 << 100
            } else {
                -(1 << 100)
            }
        }
        Num::Float(f) => {
            let down = f.floor();
            let part = f - down;
            let odd = (down as i128) & 1 == 1;
            down as i128 + i128::from(part > 0.5 || (part == 0.5 && odd))
        }
    }
}

/// A module in execution.
pub struct Plain<'m> {
    module: &'m Module,
    memory: BTreeMap<Byte, u8>,
    fires: HashMap<Pos, usize>,
    registers: HashMap<Name, i64>,
    tables: HashMap<Dtype, Narrow>,
}

type Axes = Vec<(Name, i64)>;

impl<'m> Plain<'m> {
    /// Before the first instruction, with nothing in memory.
    pub fn new(module: &'m Module) -> Plain<'m> {
        Plain {
            module,
            memory: BTreeMap::new(),
            fires: HashMap::new(),
            registers: HashMap::new(),
            tables: HashMap::new(),
        }
    }

    fn named(&self, name: &str) -> (&Location, bool) {
        let (set, l) = self.module.locations().find(|(_, l)| &*l.name == name).unwrap();
        (l, set.kind.is_some_and(|k| k.is_external()))
    }

    /// The bytes of a location, row by row.
    fn bytes(&self, name: &str) -> Vec<Byte> {
        let at = self.named(name);
        let all: u64 = at.0.dims.iter().product();
        let row = if matches!(at.0.space, Space::Sb | Space::Psum) { at.0.dims[1] } else { all };
        (0..all).map(|k| Plain::byte(at, k / row, k % row)).collect()
    }

    /// Puts bytes into a location.
    pub fn load(&mut self, name: &str, bytes: &[u8]) {
        let all = self.bytes(name);
        self.memory.extend(all.into_iter().zip(bytes.iter().copied()));
    }

    /// What a location holds.
    pub fn dump(&self, name: &str) -> Vec<u8> {
        let all = self.bytes(name);
        all.iter().map(|b| self.memory.get(b).copied().unwrap_or(0xa5)).collect()
    }

    /// Executes the module's first function.
    pub fn execute(&mut self) {
        let module = self.module;
        self.run(&module.functions[0].blocks, &mut Vec::new());
    }

    fn location(&self, p: &Pattern) -> (&Location, bool) {
        let all = || self.module.locations();
        let found = match (&p.location, &p.set) {
            (Some(name), _) => all().find(|(_, l)| l.name == *name),
            (None, set) => all().find(|(s, _)| Some(&s.name) == set.as_ref()),
        };
        let (set, l) = found.unwrap();
        (l, set.kind.is_some_and(|k| k.is_external()))
    }

    /// Byte `at` of partition `partition` of a location.
    fn byte((l, external): (&Location, bool), partition: u64, at: u64) -> Byte {
        match l.space {
            Space::Sb => ("sb".into(), l.base + partition, l.addr + at),
            Space::Psum => {
                let bank = l.bank.filter(|_| l.addr < 2048).unwrap_or(0);
                ("psum".into(), l.base + partition, bank * 2048 + l.addr + at)
            }
            _ if external => (format!("tensor {}", l.name), 0, at),
            _ => ("dram".into(), 0, l.addr + at),
        }
    }

    fn value(e: &Expr, axes: &Axes) -> i64 {
        match e {
            Expr::Const(c) => *c,
            Expr::Axis(n) => axes.iter().rev().find(|(a, _)| a == n).unwrap().1,
            Expr::Sum(all) => all.iter().map(|e| Plain::value(e, axes)).sum(),
            Expr::Mul(e, by) => Plain::value(e, axes) * by,
            Expr::FloorDiv(a, b) => {
                let (a, b) = (Plain::value(a, axes) as f64, Plain::value(b, axes) as f64);
                (a / b).floor() as i64
            }
            Expr::Mod(a, b) => {
                let (a, b) = (Plain::value(a, axes), Plain::value(b, axes));
                a - b * (a as f64 / b as f64).floor() as i64
            }
            other => panic!("{other:?} is not asked for"),
        }
    }

    /// The bytes of each element of `pairs` from element `offset` on; `None` where one of them
    /// does not lie in the location.
    fn elements(
        &self,
        p: &Pattern,
        d: Dtype,
        pairs: &[Pair],
        offset: i64,
    ) -> Option<Vec<Vec<Byte>>> {
        let at = self.location(p);
        let size = d.bytes() as i64;
        let chip = matches!(at.0.space, Space::Sb | Space::Psum);
        let count: u64 = pairs.iter().map(|p| p.num).product();
        let mut out = Vec::new();
        for n in 0..count {
            let (mut left, mut index) = (n, Vec::new());
            for p in pairs.iter().rev() {
                index.insert(0, (left % p.num) as i64);
                left /= p.num;
            }
            let steps: Vec<i64> = index.iter().zip(pairs).map(|(i, p)| i * p.step).collect();
            let (partition, first, room) = if chip {
                let pitch = at.0.dims[1] as i64 / size;
                let row = offset + steps.first().copied().unwrap_or(0);
                let column = offset.rem_euclid(pitch) + steps.iter().skip(1).sum::<i64>();
                let partition = row.div_euclid(pitch);
                if !(0..at.0.dims[0] as i64).contains(&partition) {
                    return None;
                }
                (partition, column * size, at.0.dims[1] as i64)
            } else {
                let bytes: u64 = at.0.dims.iter().product();
                (0, (offset + steps.iter().sum::<i64>()) * size, bytes as i64)
            };
            if first < 0 || first + size > room {
                return None;
            }
            out.push(
                (first..first + size)
                    .map(|b| Plain::byte(at, partition as u64, b as u64))
                    .collect(),
            );
        }
        Some(out)
    }

    fn read(&self, element: &[Byte]) -> Vec<u8> {
        element.iter().map(|b| self.memory.get(b).copied().unwrap_or(0xa5)).collect()
    }

    fn cast(&mut self, bytes: Vec<u8>, from: Dtype, to: Dtype) -> Vec<u8> {
        let plain = |d| if d == Dtype::F32r { Dtype::F32 } else { d };
        if plain(from) == plain(to) {
            bytes
        } else {
            code(number(&bytes, from), to, &mut self.tables)
        }
    }

    fn offset(&self, o: &Operand, axes: &Axes) -> i64 {
        let p = o.as_pattern().unwrap();
        let looked_up = match &p.reference {
            None => 0,
            Some(Reference::Register { register, scale }) => self.registers[register] * scale,
            Some(r @ Reference::Index { scale, .. }) => self.index(r, axes) * scale,
        };
        p.offset + looked_up + p.start.as_ref().map_or(0, |e| Plain::value(e, axes))
    }

    /// The entry of a list from which a base is taken.
    fn index(&self, r: &Reference, axes: &Axes) -> i64 {
        let Reference::Index { list, element, .. } = r else { panic!("no index") };
        let (d, all) = self.side(list, axes);
        let Num::Int(i) = number(&self.read(&all[*element as usize]), d) else {
            panic!("no index")
        };
        i.try_into().unwrap()
    }

    /// The base of an operand is one that is looked up, and is out of range.
    fn is_skipped(&self, o: &Operand, axes: &Axes) -> bool {
        let p = o.as_pattern().unwrap();
        let Some(r @ Reference::Index { max_index, .. }) = &p.reference else { return false };
        let index = self.index(r, axes);
        let beyond = match max_index {
            Some(m) => index >= *m as i64,
            None => {
                let at = self.offset(o, axes);
                self.elements(p, o.dtype.unwrap(), &p.pairs, at).is_none()
            }
        };
        index < 0 || beyond
    }

    fn side(&self, o: &Operand, axes: &Axes) -> (Dtype, Vec<Vec<Byte>>) {
        let (p, d) = (o.as_pattern().unwrap(), o.dtype.unwrap());
        (d, self.elements(p, d, &p.pairs, self.offset(o, axes)).unwrap())
    }

    fn write(&mut self, to: Vec<Vec<Byte>>, what: Vec<Vec<u8>>) {
        assert_eq!(to.len(), what.len());
        for (byte, value) in to.into_iter().flatten().zip(what.into_iter().flatten()) {
            self.memory.insert(byte, value);
        }
    }

    fn transfer(&mut self, i: &Inst, axes: &Axes) {
        let (mode, op, constants, transpose, strict) = match &i.body {
            Body::Dma(d) => {
                (d.mode, d.cce_op, d.constants.clone(), Some(d.transpose), d.oob_is_err)
            }
            Body::Descriptor(d) => {
                let mode = match i.opcode {
                    Opcode::DescriptorCce => Mode::Cce,
                    Opcode::DescriptorTranspose => Mode::Transpose,
                    Opcode::DescriptorReplicate => Mode::Replicate,
                    _ => Mode::Copy,
                };
                (
                    mode,
                    d.op.unwrap_or(AluOp::Bypass),
                    d.constants.clone(),
                    d.transpose,
                    d.oob_is_err,
                )
            }
            _ => panic!("{} is no transfer", i.opcode),
        };
        let listed = |o: &Operand| match o.as_pattern().unwrap().start {
            Some(Expr::Index(n)) => Some(n as usize),
            _ => None,
        };
        let (source, dest) = (&i.ins[0], &i.outs[0]);
        if let Some(list) = listed(source).or(listed(dest)) {
            return self.rows(i, &i.ins[list], listed(dest).is_some(), strict, axes);
        }
        if i.ins.iter().chain([dest]).any(|o| self.is_skipped(o, axes)) {
            assert!(!strict, "`{}` has an index out of range", i.name);
            return;
        }
        let (to, places) = self.side(dest, axes);
        let from = |plain: &mut Plain<'_>, o: &Operand| -> (Dtype, Vec<Vec<u8>>) {
            let (d, all) = plain.side(o, axes);
            (d, all.iter().map(|e| plain.read(e)).collect())
        };
        let values: Vec<Vec<u8>> = if mode == Mode::Cce {
            let constants = constants.unwrap_or_else(|| vec![1.0; i.ins.len()]);
            let mut sum: Vec<f32> = Vec::new();
            for (k, (o, c)) in i.ins.iter().zip(constants).enumerate() {
                let (d, all) = from(self, o);
                for (n, e) in all.iter().enumerate() {
                    let Num::Float(x) = number(e, d) else { panic!("no float") };
                    let x = x as f32 * c;
                    match (k, op) {
                        (0, AluOp::Add) => sum.push(0.0 + x),
                        (0, _) => sum.push(x),
                        (_, AluOp::Add) => sum[n] += x,
                        (_, AluOp::Max) => sum[n] = best(sum[n], x, |a, b| a > b, false),
                        _ => sum[n] = best(sum[n], x, |a, b| a < b, true),
                    }
                }
            }
            sum.into_iter().map(|x| code(Num::Float(f64::from(x)), to, &mut self.tables)).collect()
        } else {
            let (d, all) = from(self, source);
            let all: Vec<_> = all.into_iter().map(|e| self.cast(e, d, to)).collect();
            let counts = |o: &Operand| {
                o.as_pattern().unwrap().pairs.iter().map(|p| p.num as usize).collect::<Vec<_>>()
            };
            match mode {
                Mode::Replicate => {
                    let (rows, copies) = (counts(source)[0], counts(dest)[0]);
                    let len = all.len() / rows;
                    (0..copies)
                        .flat_map(|p| all[p % rows * len..(p % rows + 1) * len].to_vec())
                        .collect()
                }
                Mode::Transpose => {
                    // Letters are source dimensions, listed as the destination has them.
                    let name = transpose.unwrap().name();
                    let order: Vec<usize> = name.chars().map(|c| "WZYX".find(c).unwrap()).collect();
                    let n = counts(source);
                    let m: Vec<usize> = order.iter().map(|k| n[*k]).collect();
                    (0..all.len())
                        .map(|k| {
                            let out = [
                                k / (m[1] * m[2] * m[3]),
                                k / (m[2] * m[3]) % m[1],
                                k / m[3] % m[2],
                                k % m[3],
                            ];
                            let mut at = [0; 4];
                            for (dim, i) in order.iter().zip(out) {
                                at[*dim] = i;
                            }
                            all[((at[0] * n[1] + at[1]) * n[2] + at[2]) * n[3] + at[3]].clone()
                        })
                        .collect()
                }
                _ => all,
            }
        };
        self.write(places, values);
    }

    /// A gather or scatter: all is read, then all is written.
    fn rows(&mut self, i: &Inst, list: &Operand, scatters: bool, strict: bool, axes: &Axes) {
        let (source, dest) = (&i.ins[0], &i.outs[0]);
        let (moving, fixed) = if scatters { (dest, source) } else { (source, dest) };
        let (kind, entries) = self.side(list, axes);
        let (d, all) = self.side(fixed, axes);
        let (p, moving_type) = (moving.as_pattern().unwrap(), moving.dtype.unwrap());
        let mut row = p.pairs.clone();
        let step = row[0].step;
        row[0].num = 1;
        let len = all.len() / entries.len();
        let mut pairs = Vec::new();
        for (k, entry) in entries.iter().enumerate() {
            let Num::Int(index) = number(&self.read(entry), kind) else { panic!("no index") };
            let known = index >= 0 && p.max_index.is_none_or(|m| index < i128::from(m));
            let at = i64::try_from(index * i128::from(step) + i128::from(p.offset)).unwrap();
            let found = if known { self.elements(p, moving_type, &row, at) } else { None };
            let Some(found) = found else {
                assert!(!strict, "`{}`: index {index}", i.name);
                continue;
            };
            for (m, f) in found.into_iter().zip(&all[k * len..]) {
                pairs.push(if scatters { (f.clone(), m) } else { (m, f.clone()) });
            }
        }
        let (from, to) = if scatters { (d, moving_type) } else { (moving_type, d) };
        let mut values = Vec::new();
        for (source, _) in &pairs {
            let bytes = self.read(source);
            values.push(self.cast(bytes, from, to));
        }
        self.write(pairs.into_iter().map(|p| p.1).collect(), values);
    }

    fn run(&mut self, blocks: &[Block], axes: &mut Axes) {
        for i in blocks.iter().flat_map(|b| &b.insts) {
            match &i.body {
                Body::Loop(l) => {
                    let mut at = l.axis.lb;
                    while at < l.axis.ub {
                        axes.push((l.axis.name.clone(), at));
                        self.run(&l.blocks, axes);
                        axes.pop();
                        at += l.axis.stride;
                    }
                }
                Body::Trigger(t) => {
                    let fired = self.fires.entry(i.pos).or_default();
                    let name = &t.dma_blocks[*fired % t.dma_blocks.len()];
                    *fired += 1;
                    let module = self.module;
                    let queue = module.queues.iter().find(|q| Some(&q.name) == t.queue.as_ref());
                    let block = queue.unwrap().dma_blocks().find(|b| b.name == *name).unwrap();
                    let Body::DmaBlock(b) = &block.body else { panic!("no block") };
                    b.descriptors().for_each(|d| self.transfer(d, axes));
                }
                Body::Dma(_) => self.transfer(i, axes),
                _ if i.opcode == Opcode::RegisterMove => {
                    let (OperandKind::Imm(v), OperandKind::Register(to)) =
                        (&i.ins[0].kind, &i.outs[0].kind)
                    else {
                        panic!("{:?} is not asked for", i.ins[0].kind)
                    };
                    self.registers.insert(to.clone(), v.as_int().unwrap());
                }
                _ => {}
            }
        }
    }
}

/// The better of two; a number beats NaN, and of two zeros the one that is asked for is better.
fn best(a: f32, b: f32, better: fn(f32, f32) -> bool, negative: bool) -> f32 {
    if b.is_nan() {
        return a;
    }
    let zeros = a == b && a.is_sign_negative() != negative;
    if a.is_nan() || better(b, a) || zeros { b } else { a }
}
