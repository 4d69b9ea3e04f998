//! Small modules by hand.

use crate::bir::exec::{Options, Outcome, Program, run};
use crate::bir::module::*;
use crate::bir::*;
use std::sync::Arc;

/// A module being written; every instruction gets the next position.
#[derive(Clone)]
pub struct Make {
    pub module: Module,
    next: u32,
}

pub fn reg(name: &str) -> Operand {
    Operand { dtype: Some(Dtype::I32), kind: OperandKind::Register(name.into()), extra: vec![] }
}

pub fn imm(n: i64) -> Operand {
    let kind = OperandKind::Imm(Value::int(n));
    Operand { dtype: Some(Dtype::I32), kind, extra: vec![] }
}

/// A pattern operand.
pub fn ap(dtype: Dtype, location: &str, offset: i64, pairs: &[(i64, u64)]) -> Operand {
    Operand::pattern(dtype, Pattern::new(location, offset, pairs))
}

/// Bytes `from .. from + n` of a location.
pub fn bytes(location: &str, from: i64, n: u64) -> Operand {
    ap(Dtype::U8, location, from, &[(1, n)])
}

/// The same with a start that is only known later.
pub fn starting(mut o: Operand, start: Expr) -> Operand {
    o.as_pattern_mut().unwrap().start = Some(start);
    o
}

pub fn axis(name: &str) -> Expr {
    Expr::Axis(name.into())
}

pub fn block(insts: Vec<Arc<Inst>>) -> Block {
    Block { name: None, insts, extra: vec![] }
}

impl Make {
    /// Locations by name and dims; one dim is internal DRAM, two are SB.
    pub fn new(locations: &[(&str, &[u64])]) -> Make {
        let (mut dram, mut column) = (0x1000, 0);
        let allocations = locations.iter().map(|(name, dims)| {
            let on_chip = dims.len() == 2;
            let addr = if on_chip { &mut column } else { &mut dram };
            let location = Location {
                name: (*name).into(),
                space: if on_chip { Space::Sb } else { Space::Dram },
                addr: *addr,
                dims: dims.to_vec(),
                base: 0,
                bank: None,
                tensor_id: None,
                extra: vec![],
            };
            *addr += dims.last().unwrap().next_multiple_of(64);
            Allocation {
                storage: StorageKind::Memory,
                name: format!("{name}_set").into(),
                dtype: None,
                kind: Some(TensorKind::Internal),
                shape: vec![],
                locations: vec![location],
                extra: vec![],
            }
        });
        let function = Function {
            name: "f".into(),
            allocations: allocations.collect(),
            blocks: vec![Block::new("b0", vec![])],
            extra: vec![],
        };
        let module = Module {
            version: 2,
            arch: Some(Arch::Gen3),
            functions: vec![function],
            queues: vec![],
            extra: vec![],
        };
        Make { module, next: 0 }
    }

    /// An instruction that is not yet anywhere.
    pub fn inst(&mut self, name: &str, opcode: &str, engine: Engine) -> Inst {
        self.next += 1;
        Inst::new(Pos(self.next - 1), name, Opcode::by_name(opcode), engine)
    }

    pub fn copy(&mut self, name: &str, engine: Engine, from: Operand, to: Operand) -> Inst {
        let mut i = self.inst(name, "DMACopy", engine);
        i.body = Body::Dma(Dma { queue: Some("q".into()), ..Dma::default() });
        (i.ins, i.outs) = ([from].into(), [to].into());
        i
    }

    /// Bytes from one location to another.
    pub fn move_bytes(
        &mut self,
        name: &str,
        engine: Engine,
        (from, at): (&str, i64),
        (to, into): (&str, i64),
        n: u64,
    ) -> Inst {
        self.copy(name, engine, bytes(from, at, n), bytes(to, into, n))
    }

    pub fn alu(&mut self, op: AluOp, to: &str, a: Operand, b: Operand, engine: Engine) -> Inst {
        let mut i = self.inst("alu", "RegisterAlu", engine);
        i.body = Body::RegisterAlu { op, wide: false };
        (i.ins, i.outs) = ([a, b].into(), [reg(to)].into());
        i
    }

    pub fn set(&mut self, to: &str, value: Operand, engine: Engine) -> Inst {
        let mut i = self.inst("set", "RegisterMove", engine);
        (i.ins, i.outs) = ([value].into(), [reg(to)].into());
        i
    }

    pub fn rounds(
        &mut self,
        name: &str,
        (lb, ub, stride): (i64, i64, i64),
        body: Vec<Inst>,
    ) -> Inst {
        let mut i = self.inst(name, "Loop", Engine::Unassigned);
        let axis = Axis { name: name.into(), lb, ub, stride };
        let blocks = vec![block(body.into_iter().map(Arc::new).collect())];
        i.body = Body::Loop(Loop { axis, blocks });
        i
    }

    pub fn while_true(&mut self, name: &str, cond: Expr, body: Vec<Inst>) -> Inst {
        let mut i = self.inst(name, "DoWhile", Engine::Unassigned);
        let blocks = vec![block(body.into_iter().map(Arc::new).collect())];
        i.body = Body::DoWhile(DoWhile { cond, blocks });
        i
    }

    pub fn branch(
        &mut self,
        engine: Engine,
        op: BranchOp,
        (a, b): (Operand, Operand),
        on_true: Option<&str>,
        on_false: Option<&str>,
    ) -> Inst {
        let mut i = self.inst("branch", "CompareAndBranch", engine);
        let (on_true, on_false) = (on_true.map(Name::from), on_false.map(Name::from));
        i.body = Body::Branch(Branch { op, on_true, on_false });
        i.ins = [a, b].into();
        i
    }

    /// Adds a DMA block to a queue.
    pub fn dma_block(&mut self, queue: &str, name: &str, descriptors: Vec<Inst>) {
        let mut i = self.inst(name, "DMABlock", Engine::Dma);
        i.body = Body::DmaBlock(DmaBlock {
            block_id: None,
            section_start: false,
            trigger: None,
            remote_notifications: vec![],
            blocks: vec![block(descriptors.into_iter().map(Arc::new).collect())],
        });
        let queues = &mut self.module.queues;
        if !queues.iter().any(|q| &*q.name == queue) {
            let blocks = vec![block(vec![])];
            queues.push(Queue { name: queue.into(), blocks, extra: vec![] });
        }
        let q = queues.iter_mut().find(|q| &*q.name == queue).unwrap();
        q.blocks[0].insts.push(Arc::new(i));
    }

    pub fn descriptor(&mut self, from: Operand, to: Operand) -> Inst {
        let mut i = self.inst("d", "DMADescriptorCopy", Engine::Dma);
        i.body = Body::Descriptor(Descriptor::default());
        (i.ins, i.outs) = ([from].into(), [to].into());
        i
    }

    pub fn trigger(&mut self, name: &str, engine: Engine, blocks: &[&str]) -> Inst {
        let mut i = self.inst(name, "DMATrigger", engine);
        i.body = Body::Trigger(Trigger {
            queue: Some("q".into()),
            dma_blocks: blocks.iter().map(|b| Name::from(*b)).collect(),
            dge: DgeType::None,
            qos: QosClass::Unassigned,
        });
        i
    }

    /// Appends to the first block of the function.
    pub fn add(&mut self, inst: Inst) -> &mut Make {
        self.module.functions[0].blocks[0].insts.push(Arc::new(inst));
        self
    }

    /// Appends a block to the function.
    pub fn add_block(&mut self, name: &str, insts: Vec<Inst>) -> &mut Make {
        let insts = insts.into_iter().map(Arc::new).collect();
        self.module.functions[0].blocks.push(Block::new(name, insts));
        self
    }

    pub fn program(&self) -> Program {
        Program::new(Arc::new(self.module.clone()))
    }

    /// Runs it from memory with these locations filled.
    pub fn run(&self, fill: &[(&str, Vec<u8>)]) -> Ran {
        let p = self.program();
        let memory = filled(&p, fill);
        run_on(p, memory)
    }
}

pub fn filled(p: &Program, fill: &[(&str, Vec<u8>)]) -> Memory {
    let mut memory = Memory::new();
    for (name, bytes) in fill {
        memory.load(p.layout(), name, bytes).unwrap();
    }
    memory
}

pub fn run_on(p: Program, mut memory: Memory) -> Ran {
    let outcome = run(&p, &mut memory, &Options::default());
    Ran { p, memory, outcome }
}

/// What came of it.
pub struct Ran {
    pub p: Program,
    pub memory: Memory,
    pub outcome: Outcome,
}

impl Ran {
    #[track_caller]
    pub fn ok(self) -> Ran {
        assert!(self.outcome.finished, "{:#?}", self.outcome.findings);
        assert_eq!(self.outcome.findings, []);
        self
    }

    /// The code and text of the error.
    #[track_caller]
    pub fn error(&self) -> (&'static str, String) {
        assert!(!self.outcome.finished);
        let e = self.outcome.error().expect("an error");
        (e.diag.code, e.diag.message.clone())
    }

    pub fn dump(&self, name: &str) -> Vec<u8> {
        self.memory.dump(self.p.layout(), name).unwrap()
    }
}

pub fn count(n: u64) -> Vec<u8> {
    (0..n).map(|i| i as u8 + 1).collect()
}
