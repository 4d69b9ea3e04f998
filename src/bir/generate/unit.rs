//! Units: what an engine does in one go, and how they make a module.

use super::pattern::{Axis, Span};
use super::storage::Storage;
use super::sync::{By, Order};
use super::transfer::Transfer;
use super::{Options, Rng};
use crate::bir::{
    Allocation, Arch, Block, Body, Debug, DgeType, DmaBlock, Dtype, DynamicLoop, Engine, Expr,
    Inst, Loop, Mode, Module, Name, Opcode, Pos, QosClass, Queue, StorageKind, Trigger,
};
use std::sync::Arc;

pub(super) struct Builder<'o> {
    pub rng: Rng,
    pub options: &'o Options,
    pub storage: Storage,
    /// Engine of the unit that is being built.
    pub engine: Engine,
    order: Order,
    queues: Vec<Queue>,
    names: u64,
    registers: Vec<Name>,
}

/// A transfer as instructions.
struct Made {
    /// What sets its registers.
    before: Vec<Inst>,
    inst: Inst,
    /// What changes its registers for the next iteration.
    after: Vec<Inst>,
    accesses: Vec<(Span, bool)>,
}

/// What a loop holds.
struct LoopBody {
    /// What stands before it.
    first: Vec<Inst>,
    body: Vec<Inst>,
    /// The bytes of all iterations.
    accesses: Vec<(Span, bool)>,
}

impl<'o> Builder<'o> {
    pub fn new(mut rng: Rng, options: &'o Options, storage: Storage) -> Builder<'o> {
        let order = Order::new(rng.chance(40));
        Builder {
            rng,
            options,
            storage,
            engine: Engine::Pool,
            order,
            queues: Vec::new(),
            names: 0,
            registers: Vec::new(),
        }
    }

    pub fn arch(&self) -> Arch {
        self.storage.module.arch.unwrap_or(Arch::Gen3)
    }

    /// A name that no other instruction has.
    pub fn name(&mut self) -> Name {
        self.names += 1;
        format!("I-{}", self.names).into()
    }

    /// A register that no other unit has.
    pub fn register(&mut self) -> Name {
        let name: Name = format!("r{}", self.registers.len()).into();
        self.registers.push(name.clone());
        name
    }

    pub fn build(&mut self) {
        let units = 1 + self.rng.below(self.options.units.max(1));
        for _ in 0..units {
            self.engine =
                if self.options.engines { *self.rng.pick(&Engine::STREAMS) } else { Engine::Sp };
            let o = self.options;
            match self.rng.below(20) {
                0..=1 if o.opaque => self.opaque(),
                2 if o.barriers && o.engines => {
                    let name = self.name();
                    let all = Inst::new(Pos(0), &name, Opcode::AllEngineBarrier, Engine::All);
                    self.order.barrier(all);
                }
                3..=6 if o.loops => self.nest(),
                7 if o.dynamic_loops => self.dynamic_loop(),
                8..=10 if o.lowered => self.lowered(),
                _ => self.straight(),
            }
        }
    }

    fn add(&mut self, insts: Vec<Inst>, accesses: Vec<(Span, bool)>) {
        let (names, rng) = (&mut self.names, &mut self.rng);
        let mut name = || {
            *names += 1;
            Name::from(format!("I-{names}"))
        };
        let mut by = || if rng.chance(30) { By::Dependency } else { By::Semaphore };
        self.order.add(self.engine, insts, accesses, &mut name, &mut by);
    }

    /// The queue of this engine for a DGE.
    fn queue(&mut self, dge: DgeType) -> Name {
        let kind = match dge {
            DgeType::Swdge => "Dyn",
            DgeType::Hwdge => "Hw",
            DgeType::None | DgeType::Unassigned => "Data",
        };
        let name: Name = format!("q{}{kind}{}", self.engine, self.rng.below(2)).into();
        if !self.queues.iter().any(|q| q.name == name) {
            let queue = Queue { name: name.clone(), blocks: Vec::new(), extra: Vec::new() };
            self.queues.push(queue);
        }
        name
    }

    fn dge(&mut self, t: &Transfer) -> DgeType {
        if t.mode == Mode::Transpose {
            return *self.rng.pick(&[DgeType::Swdge, DgeType::Unassigned]);
        }
        if t.dynamic {
            return DgeType::Swdge;
        }
        let hwdge = matches!(self.engine, Engine::Sp | Engine::Activation)
            && self.arch().number() >= Arch::Gen3.number();
        match self.rng.below(5) {
            0 if hwdge => DgeType::Hwdge,
            1 | 2 => DgeType::Swdge,
            3 => DgeType::Unassigned,
            _ => DgeType::None,
        }
    }

    /// A transfer as instructions, with what sets its registers.
    fn instruction(&mut self, t: Transfer) -> Made {
        let dge = self.dge(&t);
        let (queue, name) = (self.queue(dge), self.name());
        let (mut t, line) = (t, 50 + self.names);
        let (before, after) = (std::mem::take(&mut t.before), std::mem::take(&mut t.after));
        let accesses = std::mem::take(&mut t.accesses);
        let mut i = t.dma(name, self.engine, queue, dge);
        if self.rng.chance(50) {
            let debug = Debug {
                filename: Some("/model/block.py".into()),
                lineno: Some(line),
                op_name: Some(format!("copy_op{line}").into()),
                extra: Vec::new(),
            };
            i.debug = Some(debug.into());
        }
        Made { before, inst: i, after, accesses }
    }

    fn straight(&mut self) {
        let Some(t) = self.transfer(&[], false) else { return };
        let Made { before: mut insts, inst, after, accesses } = self.instruction(t);
        insts.push(inst);
        insts.extend(after);
        self.add(insts, accesses);
    }

    fn axis(&mut self) -> Axis {
        let name = self.name().replace('-', "");
        let trips = 1 + self.rng.below(4);
        let (lb, stride) = (self.rng.range(0, 3), self.rng.range(1, 3));
        Axis { name: name.to_lowercase().into(), lb, stride, trips }
    }

    /// One or two loops around one to three transfers.
    fn nest(&mut self) {
        let axes: Vec<Axis> = (0..1 + self.rng.below(2)).map(|_| self.axis()).collect();
        let Some(LoopBody { mut first, mut body, accesses }) = self.body(&axes) else { return };
        for a in axes.iter().rev() {
            // The end lies anywhere before the value after the last.
            let end = a.lb + a.stride * (a.trips as i64 - 1) + self.rng.range(1, a.stride);
            let axis =
                crate::bir::Axis { name: a.name.clone(), lb: a.lb, ub: end, stride: a.stride };
            let blocks = self.blocks(&a.name, body);
            let name = self.name();
            let mut l = Inst::new(Pos(0), &name, Opcode::Loop, Engine::Unassigned);
            l.body = Body::Loop(Loop { axis, blocks });
            body = vec![l];
        }
        first.extend(body);
        self.add(first, accesses);
    }

    /// One to three transfers of a loop.
    fn body(&mut self, axes: &[Axis]) -> Option<LoopBody> {
        let (mut first, mut body, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..1 + self.rng.below(3) {
            let Some(t) = self.transfer(axes, false) else { continue };
            let Made { before, inst, after, accesses } = self.instruction(t);
            // A register that moves is set where the innermost loop begins.
            if after.is_empty() || axes.len() == 1 {
                first.extend(before);
                body.push(inst);
                body.extend(after);
            } else {
                body.extend(before);
                body.push(inst);
            }
            all.extend(accesses);
        }
        if self.options.lowered && self.rng.chance(20) {
            let (trigger, accesses) = self.trigger(3)?;
            body.push(trigger);
            all.extend(accesses);
        }
        (!body.is_empty()).then_some(LoopBody { first, body, accesses: all })
    }

    fn blocks(&mut self, axis: &str, body: Vec<Inst>) -> Vec<Block> {
        let mut rest: Vec<Arc<Inst>> = body.into_iter().map(Arc::new).collect();
        let cut = if self.rng.chance(25) { rest.len() / 2 } else { rest.len() };
        let tail = rest.split_off(cut);
        let mut out = vec![Block::new(&format!("{axis}_body0"), rest)];
        if !tail.is_empty() {
            out.push(Block::new(&format!("{axis}_body1"), tail));
        }
        out
    }

    /// A loop whose end is in a register.
    fn dynamic_loop(&mut self) {
        let a = self.axis();
        let made = self.body(std::slice::from_ref(&a));
        let Some(LoopBody { mut first, body, accesses }) = made else {
            return;
        };
        let register = self.register();
        first.extend(self.set(&register, a.lb + a.stride * a.trips as i64));
        let blocks = self.blocks(&a.name, body);
        let name = self.name();
        let mut l = Inst::new(Pos(0), &name, Opcode::DynamicForLoop, Engine::Unassigned);
        let (axis, ub) = (a.name, Expr::Register(register));
        let (lb, stride) = (Expr::Const(a.lb), Expr::Const(a.stride));
        l.body = Body::DynamicLoop(DynamicLoop { axis, lb, ub, stride, blocks }.into());
        first.push(l);
        self.add(first, accesses);
    }

    fn lowered(&mut self) {
        let Some((trigger, accesses)) = self.trigger(1) else { return };
        self.add(vec![trigger], accesses);
    }

    /// A trigger with up to `most` blocks.
    fn trigger(&mut self, most: u64) -> Option<(Inst, Vec<(Span, bool)>)> {
        let dge = *self.rng.pick(&[DgeType::None, DgeType::Swdge]);
        let queue = self.queue(dge);
        let (mut names, mut all) = (Vec::new(), Vec::new());
        for _ in 0..1 + self.rng.below(most) {
            let mut descriptors = Vec::new();
            for _ in 0..1 + self.rng.below(3) {
                let Some(mut t) = self.transfer(&[], true) else { continue };
                all.extend(std::mem::take(&mut t.accesses));
                let name = self.name();
                descriptors.push(Arc::new(t.descriptor(format!("desc-{}", &name[2..]).into())));
            }
            if !descriptors.is_empty() {
                names.push(self.block(&queue, descriptors));
            }
        }
        if names.is_empty() {
            return None;
        }
        let name = self.name();
        let mut i = Inst::new(Pos(0), &name, Opcode::DmaTrigger, self.engine);
        i.body = Body::Trigger(Trigger {
            queue: Some(queue),
            dma_blocks: names,
            dge,
            qos: QosClass::Unassigned,
        });
        Some((i, all))
    }

    fn block(&mut self, queue: &Name, descriptors: Vec<Arc<Inst>>) -> Name {
        let at = self.queues.iter().position(|q| q.name == *queue).unwrap_or(0);
        let q = &mut self.queues[at];
        if q.blocks.is_empty() {
            q.blocks.push(Block { name: None, insts: Vec::new(), extra: Vec::new() });
        }
        let n = q.blocks[0].insts.len();
        let name: Name = format!("dma_block_{n}").into();
        let mut block = Inst::new(Pos(0), &name, Opcode::DmaBlock, Engine::Dma);
        block.body = Body::DmaBlock(DmaBlock {
            block_id: None,
            section_start: n == 0,
            trigger: None,
            remote_notifications: Vec::new(),
            blocks: vec![Block::new(&format!("{name}_Block0"), descriptors)],
        });
        q.blocks[0].insts.push(Arc::new(block));
        name
    }

    /// Something that is not executed here, with operands that are.
    fn opaque(&mut self) {
        let names = ["Matmult", "TensorTensor", "Activation", "TensorReduce"];
        let opcode = Opcode::by_name(self.rng.pick::<&str>(&names));
        let Some(t) = self.copy(&[], true) else { return };
        let name = self.name();
        let mut i = Inst::new(Pos(0), &name, opcode, self.engine);
        (i.ins, i.outs) = (t.ins.into(), [t.out].into());
        self.add(vec![i], t.accesses);
    }

    /// The module, and the first content of its memory.
    pub fn finish(mut self) -> (Module, Vec<(Name, Vec<u8>)>) {
        let mut module = self.storage.module;
        let mut blocks = vec![Block::new("Block1", Vec::new())];
        for unit in self.order.units {
            if self.rng.chance(15) {
                blocks.push(Block::new(&format!("Block{}", blocks.len() + 1), Vec::new()));
            }
            if let Some(b) = blocks.last_mut() {
                b.insts.extend(unit.insts.into_iter().map(Arc::new));
            }
        }
        let function = &mut module.functions[0];
        function.blocks = blocks;
        function.allocations.extend(self.registers.into_iter().map(|name| Allocation {
            storage: StorageKind::Register,
            name,
            dtype: Some(Dtype::I32),
            kind: None,
            shape: Vec::new(),
            locations: Vec::new(),
            extra: Vec::new(),
        }));
        module.queues = self.queues;
        (module, self.storage.memory)
    }
}
