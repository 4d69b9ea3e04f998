//! Modules and trees made of a seed, for tests: every name resolves, every key occurs.

use crate::bir::*;
use std::sync::Arc;

/// Names that need quotes, words that mean something, and plain ones.
pub const NAMES: [&str; 12] =
    ["x", "y_set", "I-1", "a b", "é\"\\\n", "block", "true", "sem", "%;", "-[0]", "inst", "reg"];
/// Words that the text has a meaning for somewhere.
const WORDS: [&str; 12] = [
    "imm",
    "null",
    "at",
    "by",
    "ins",
    "outs",
    "queue",
    "physical_ap",
    "Loop",
    "absent",
    "x[[1, 2]]",
    "",
];
const EXTRA: [&str; 4] = ["!x", "x b", "x_a", "é="];

/// A source of numbers.
pub struct Gen(u64, /** Whether branches may be made. */ bool);

impl Gen {
    /// From a seed.
    pub fn new(seed: u64) -> Gen {
        Gen(seed ^ 0x9e37_79b9_7f4a_7c15, true)
    }

    /// The next number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n.max(1)
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    fn maybe<T>(&mut self, f: impl FnOnce(&mut Gen) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| f(self))
    }

    fn some<T>(&mut self, most: usize, mut f: impl FnMut(&mut Gen) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| f(self)).collect()
    }

    fn name(&mut self) -> Name {
        self.one(&NAMES).into()
    }

    fn int(&mut self) -> i64 {
        self.one(&[0, 1, -1, 4, 31, -7, i64::MAX, i64::MIN])
    }

    fn uint(&mut self) -> u64 {
        self.one(&[0, 1, 8, 128, u64::MAX])
    }

    /// Any value.
    pub fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 0),
            2 => Value::Num(self.one(&["0", "-0", "1e5", "0.10", "12", "-3", "1E-7"]).into()),
            3 => Value::Str(self.name()),
            4 => Value::Str(self.one(&WORDS).into()),
            5 => Value::Arr(self.some(3, |g| g.value(depth - 1))),
            _ => Value::Obj(self.members(depth - 1)),
        }
    }

    fn members(&mut self, depth: usize) -> Vec<(Name, Value)> {
        let keys: Vec<&str> = EXTRA.into_iter().filter(|_| self.below(3) == 0).collect();
        keys.into_iter().map(|k| (k.into(), self.value(depth))).collect()
    }

    fn extra(&mut self) -> Extra {
        if self.below(3) > 0 { Vec::new() } else { self.members(2) }
    }

    fn expr(&mut self, axes: &[Name], depth: usize) -> Expr {
        let deep = |g: &mut Gen| Box::new(g.expr(axes, depth.saturating_sub(1)));
        match self.below(if depth == 0 { 4 } else { 8 }) {
            0 => Expr::Const(self.int()),
            1 if !axes.is_empty() => Expr::Axis(self.one(axes)),
            1 | 2 => Expr::Register(self.name()),
            3 => Expr::Index(self.below(3) as u32),
            4 => Expr::Sum(self.some(3, |g| *deep(g))),
            5 => Expr::Mul(deep(self), self.int()),
            6 => Expr::FloorDiv(deep(self), deep(self)),
            _ => {
                let mut terms = self.some(2, |g| Expr::Mul(deep(g), g.int()));
                terms.push(Expr::Const(self.int()));
                Expr::Mod(Box::new(Expr::Sum(terms)), deep(self))
            }
        }
    }

    fn operand(&mut self, axes: &[Name], opaque: bool) -> Operand {
        let kind = match self.below(if opaque { 9 } else { 8 }) {
            0 => OperandKind::Register(self.name()),
            1 => OperandKind::Imm(self.value(1)),
            8 => {
                let kind = OperandKind::Other(self.one(&["imm_array", "what is this"]).into());
                return Operand { dtype: None, kind, extra: self.extra() };
            }
            _ => OperandKind::Pattern(self.pattern(axes)),
        };
        let dtype = self.maybe(|g| g.one(Dtype::ALL));
        Operand { dtype, kind, extra: self.extra() }
    }

    fn pattern(&mut self, axes: &[Name]) -> Pattern {
        let location = self.maybe(Gen::name);
        let set = match &location {
            Some(l) if self.below(2) == 0 => Some(format!("{l}_set").into()),
            _ => self.maybe(|g| format!("{}_set", g.name()).into()),
        };
        Pattern {
            form: self.one(&[Form::Physical, Form::Symbolic, Form::Register]),
            pairs: self.some(4, |g| Pair { step: g.int(), num: g.uint() }).into(),
            location,
            set,
            offset: self.int(),
            start: self.maybe(|g| g.expr(axes, 2)),
            dynamic_info: self.below(4) == 0,
            max_index: self.maybe(Gen::uint),
            reference: match self.below(8) {
                0 => Some(Reference::Register { register: self.name(), scale: self.int() }),
                1 => {
                    let list = Operand::pattern(Dtype::I32, Pattern::new("x", 3, &[(1, 4)]));
                    let (element, scale) = (self.uint(), self.int());
                    let max_index = self.maybe(Gen::uint);
                    Some(Reference::Index { list: Box::new(list), element, scale, max_index })
                }
                _ => None,
            },
        }
    }

    fn constants(&mut self) -> Option<Vec<f32>> {
        self.maybe(|g| g.some(3, |g| g.one(&[0.0, -0.0, 0.1, 3.4e38, 1e-45, -2.5, f32::INFINITY])))
    }

    fn deps(&mut self) -> Vec<Dep> {
        self.some(2, |g| Dep { name: g.name(), kind: g.one(EdgeKind::ALL) })
    }

    fn inst(&mut self, next: &mut u32, axes: &[Name], depth: usize, queues: bool) -> Arc<Inst> {
        use Opcode as O;
        let opcodes = [
            O::DmaCopy,
            O::Load,
            O::DmaTrigger,
            O::DescriptorCce,
            O::DescriptorTranspose,
            O::RegisterAlu,
            O::RegisterMove,
            O::CompareAndBranch,
            O::UnconditionalBranch,
            O::GroupResetSemaphores,
            O::Other("Matmult".into()),
            O::Other("block".into()),
            O::Other("what is".into()),
            O::Loop,
            O::DynamicForLoop,
            O::DoWhile,
        ];
        let opcode = self.one(&opcodes[..if depth == 0 { 13 } else { 16 }]);
        let branch = matches!(opcode, O::CompareAndBranch | O::UnconditionalBranch);
        let opcode = if branch && !self.1 { O::DescriptorCopy } else { opcode };
        let pos = Pos(*next);
        *next += 1;
        let opaque = matches!(opcode, O::Other(_));
        let mut i = Inst::new(pos, "", opcode, self.one(Engine::ALL));
        if self.below(4) > 0 {
            i.name = self.name();
        }
        i.ins = self.some(3, |g| g.operand(axes, opaque)).into();
        i.outs = self.some(2, |g| g.operand(axes, opaque)).into();
        i.deps = self.deps();
        i.loop_deps = self.deps();
        i.waits = self.some(2, |g| Wait {
            from: g.maybe(Gen::name),
            id: g.uint(),
            value: g.uint(),
            extra: g.extra(),
        });
        i.updates = self.some(2, |g| Update { id: g.uint(), value: g.uint(), extra: g.extra() });
        let debug = self.maybe(|g| Debug {
            filename: g.maybe(Gen::name),
            lineno: g.maybe(Gen::uint),
            op_name: g.maybe(Gen::name),
            extra: g.extra(),
        });
        i.debug = debug.map(Into::into);
        i.extra = self.extra();
        i.body = match &i.opcode {
            o if o.is_dma() => Body::Dma(Dma {
                queue: self.maybe(|_| "q 0".into()),
                dge: self.one(DgeType::ALL),
                mode: self.one(Mode::ALL),
                oob_is_err: self.below(2) == 0,
                transpose: self.one(TransposeOp::ALL),
                constants: self.constants(),
                cce_op: self.one(AluOp::ALL),
                can_read_uninit: self.below(2) == 0,
                qos: self.one(QosClass::ALL),
                remote_notification: self.some(2, Gen::uint),
            }),
            o if o.is_descriptor() => Body::Descriptor(Descriptor {
                constants: self.constants(),
                op: self.maybe(|g| g.one(AluOp::ALL)),
                transpose: self.maybe(|g| g.one(TransposeOp::ALL)),
                can_read_uninit: self.below(2) == 0,
                oob_is_err: self.below(2) == 0,
            }),
            O::DmaTrigger => Body::Trigger(Trigger {
                queue: (!queues || self.below(2) == 0).then(|| "q 0".into()),
                dma_blocks: self.some(3, |g| g.one(&["dma_block_0", "blk 1"]).into()),
                dge: self.one(DgeType::ALL),
                qos: self.one(QosClass::ALL),
            }),
            O::RegisterAlu => {
                Body::RegisterAlu { op: self.one(AluOp::ALL), wide: self.below(2) == 0 }
            }
            O::CompareAndBranch => Body::Branch(Branch {
                op: self.one(BranchOp::ALL),
                on_true: self.maybe(|_| "B 0".into()),
                on_false: self.maybe(|_| "B1".into()),
            }),
            O::UnconditionalBranch => Body::Jump("B1".into()),
            O::GroupResetSemaphores => Body::ResetSemaphores(self.some(3, Gen::uint)),
            O::Loop => {
                let (axis, inner) = self.axis(axes);
                let (lb, ub, stride) = (self.int(), self.int(), self.int());
                let axis = Axis { name: axis, lb, ub, stride };
                Body::Loop(Loop { axis, blocks: self.blocks(next, &inner, depth - 1, queues) })
            }
            O::DynamicForLoop => {
                let (axis, inner) = self.axis(axes);
                Body::DynamicLoop(
                    DynamicLoop {
                        axis,
                        lb: self.expr(axes, 1),
                        ub: self.expr(axes, 1),
                        stride: self.expr(axes, 1),
                        blocks: self.blocks(next, &inner, depth - 1, queues),
                    }
                    .into(),
                )
            }
            O::DoWhile => Body::DoWhile(DoWhile {
                cond: self.expr(axes, 1),
                blocks: self.blocks(next, axes, depth - 1, queues),
            }),
            _ => Body::None,
        };
        Arc::new(i)
    }

    fn axis(&mut self, axes: &[Name]) -> (Name, Vec<Name>) {
        let axis = self.name();
        let mut inner = axes.to_vec();
        inner.push(axis.clone());
        (axis, inner)
    }

    fn blocks(&mut self, next: &mut u32, axes: &[Name], depth: usize, queues: bool) -> Vec<Block> {
        let names = [Some("B 0"), Some("B1"), None];
        (0..1 + self.below(3))
            .map(|n| Block {
                name: names[n].map(Name::from),
                insts: self.some(3, |g| g.inst(next, axes, depth, queues)),
                extra: self.extra(),
            })
            .collect()
    }

    fn dma_block(&mut self, next: &mut u32, name: &str) -> Arc<Inst> {
        let mut i = Inst::new(Pos(*next), name, Opcode::DmaBlock, Engine::Dma);
        *next += 1;
        self.1 = false;
        i.body = Body::DmaBlock(DmaBlock {
            block_id: self.maybe(Gen::uint),
            section_start: self.below(2) == 0,
            trigger: self.maybe(Gen::name),
            remote_notifications: self.some(2, Gen::uint),
            blocks: self.blocks(next, &[], 0, true),
        });
        self.1 = true;
        i.extra = self.extra();
        Arc::new(i)
    }

    /// A module whose names all resolve and whose positions are those of its file.
    pub fn module(&mut self) -> Module {
        let mut allocations: Vec<Allocation> = NAMES
            .iter()
            .map(|n| Allocation {
                storage: StorageKind::Memory,
                name: format!("{n}_set").into(),
                dtype: self.maybe(|g| g.one(Dtype::ALL)),
                kind: self.maybe(|g| g.one(TensorKind::ALL)),
                shape: self.some(3, Gen::uint),
                locations: vec![Location {
                    name: (*n).into(),
                    space: self.one(Space::ALL),
                    addr: self.uint(),
                    dims: self.some(3, Gen::uint),
                    base: self.uint(),
                    bank: self.maybe(Gen::uint),
                    tensor_id: self.maybe(Gen::uint),
                    extra: self.extra(),
                }],
                extra: self.extra(),
            })
            .collect();
        allocations.extend(NAMES.iter().map(|n| Allocation {
            storage: StorageKind::Register,
            name: (*n).into(),
            dtype: self.maybe(|g| g.one(Dtype::ALL)),
            kind: None,
            shape: Vec::new(),
            locations: Vec::new(),
            extra: self.extra(),
        }));
        let queues = self.below(3) > 0;
        let mut next = 0;
        let mut insts = Vec::new();
        for name in NAMES {
            // Dependencies find their instruction.
            insts.push(Arc::new(Inst::new(Pos(next), name, Opcode::NoOp, Engine::Sp)));
            next += 1;
        }
        let names = Block { name: Some("names".into()), insts, extra: Vec::new() };
        let mut blocks = vec![names];
        // Branches go to these.
        for name in ["B 0", "B1"] {
            let insts = self.some(4, |g| g.inst(&mut next, &[], 2, queues));
            blocks.push(Block { name: Some(name.into()), insts, extra: self.extra() });
        }
        let name = self.name();
        let f = Function { name, allocations, blocks, extra: self.extra() };
        let holder = |g: &mut Gen, next: &mut u32| Block {
            name: None,
            insts: ["dma_block_0", "blk 1"].iter().map(|n| g.dma_block(next, n)).collect(),
            extra: g.extra(),
        };
        let queues = if queues {
            let blocks = vec![holder(self, &mut next)];
            vec![Queue { name: "q 0".into(), blocks, extra: self.extra() }]
        } else {
            Vec::new()
        };
        Module {
            version: self.one(&[1, 2]),
            arch: self.maybe(|g| g.one(Arch::ALL)),
            functions: vec![f],
            queues,
            extra: self.extra(),
        }
    }

    /// Changes a tree somewhere: a value, a key, or one less of them.
    pub fn change(&mut self, v: &mut Value) {
        if self.below(2) == 0 {
            let mut n = self.below(count(v));
            if let Some(v) = nth(v, &mut n) {
                *v = self.value(1);
            }
        } else {
            self.change_outside_first(v);
        }
    }

    fn change_outside_first(&mut self, v: &mut Value) {
        let inside = match v {
            Value::Arr(items) if !items.is_empty() && self.below(8) > 0 => {
                let n = self.below(items.len());
                if self.below(20) == 0 {
                    items.remove(n);
                    return;
                }
                &mut items[n]
            }
            Value::Obj(members) if !members.is_empty() && self.below(8) > 0 => {
                let n = self.below(members.len());
                match self.below(20) {
                    0 => {
                        members.remove(n);
                        return;
                    }
                    1 => {
                        let key = self.one(&["name", "kind", "c", "ins", "a b", "Skind", "blocks"]);
                        if members.iter().all(|(k, _)| &**k != key) {
                            members[n].0 = key.into();
                        }
                        return;
                    }
                    _ => &mut members[n].1,
                }
            }
            _ => {
                *v = self.value(2);
                return;
            }
        };
        self.change_outside_first(inside);
    }
}

/// How many values a tree has.
fn count(v: &Value) -> usize {
    1 + match v {
        Value::Arr(items) => items.iter().map(count).sum(),
        Value::Obj(members) => members.iter().map(|(_, v)| count(v)).sum(),
        _ => 0,
    }
}

/// One of them, by its number.
fn nth<'v>(v: &'v mut Value, n: &mut usize) -> Option<&'v mut Value> {
    if *n == 0 {
        return Some(v);
    }
    *n -= 1;
    match v {
        Value::Arr(items) => items.iter_mut().find_map(|v| nth(v, n)),
        Value::Obj(members) => members.iter_mut().find_map(|(_, v)| nth(v, n)),
        _ => None,
    }
}
