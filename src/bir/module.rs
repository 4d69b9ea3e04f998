//! The module: functions of blocks of instructions, memory locations, queues of DMA blocks.
//!
//! Instructions are shared (`Arc`), so that a copy of a module before each pass costs little.
//! Each one knows which instruction of the loaded module it stems from; that number is what
//! provenance is made of (`docs/provenance.md`).

use super::Name;
use super::enums::{
    AluOp, Arch, BranchOp, DgeType, Dtype, EdgeKind, Engine, Mode, Opcode, QosClass, Space,
    TensorKind, TransposeOp,
};
use super::expr::Expr;
use super::operands::Operands;
use super::value::{Extra, Value};
use smallvec::SmallVec;
use std::sync::Arc;

/// Position of an instruction in the loaded module: functions first, then queues, each in file
/// order, an instruction before those that it holds. Whatever a pass makes of an instruction
/// keeps its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pos(pub u32);

impl Pos {
    /// Of what a pass added of its own accord: it stems from no loaded instruction.
    pub const ADDED: Pos = Pos(u32::MAX);
}

/// Which part of an instruction is meant, for pointing at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// All of it.
    Whole,
    /// An entry of `ins`.
    In(u32),
    /// An entry of `outs`.
    Out(u32),
    /// The value of a key.
    Key(&'static str),
}

/// A place in a module.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum At {
    /// An instruction or a part of it.
    Inst(Pos, Part),
    /// A memory location or an allocation, by name.
    Storage(Name),
    /// A queue, by name.
    Queue(Name),
    /// A block, by name.
    Block(Name),
    /// The module as a whole, or one of its keys.
    Module(&'static str),
}

/// Something found in a module; who knows the file turns `at` into line and column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub diag: crate::diag::Diagnostic,
    /// Where.
    pub at: Option<At>,
}

impl Finding {
    /// With the severity that its code has.
    pub fn new(code: &'static str, at: At, message: impl Into<String>) -> Finding {
        Finding { diag: crate::diag::Diagnostic::new(code, message), at: Some(at) }
    }
}

/// A module.
#[derive(Debug, Clone, PartialEq)]
pub struct Module {
    /// 1 or 2: how expressions are written.
    pub version: u32,
    /// Generation; absent where the file has none.
    pub arch: Option<Arch>,
    /// Functions; the first is where the program begins.
    pub functions: Vec<Function>,
    /// Queues with their DMA blocks.
    pub queues: Vec<Queue>,
    /// Everything else.
    pub extra: Extra,
}

/// A function.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// Name.
    pub name: Name,
    /// Memory and registers.
    pub allocations: Vec<Allocation>,
    /// Blocks, run in this order except where a branch says otherwise.
    pub blocks: Vec<Block>,
    /// Everything else.
    pub extra: Extra,
}

/// What an allocation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageKind {
    /// A set of memory locations.
    Memory,
    /// A register.
    Register,
    /// Something else, by name.
    Other(Name),
}

/// An entry of `allocations`.
#[derive(Debug, Clone, PartialEq)]
pub struct Allocation {
    /// What it is.
    pub storage: StorageKind,
    /// Name; `<location>_set` by convention.
    pub name: Name,
    /// Element type of the tensor; it plays no part in addresses.
    pub dtype: Option<Dtype>,
    /// What the tensor is to the module.
    pub kind: Option<TensorKind>,
    /// Shape of the tensor.
    pub shape: Vec<u64>,
    /// Its locations.
    pub locations: Vec<Location>,
    /// Everything else.
    pub extra: Extra,
}

/// A memory location.
#[derive(Debug, Clone, PartialEq)]
pub struct Location {
    /// Name.
    pub name: Name,
    /// Where.
    pub space: Space,
    /// DRAM: byte address in its space. SB, PSUM: byte in the partition.
    pub addr: u64,
    /// SB, PSUM: partitions, then bytes per partition. DRAM: the product is the size in bytes.
    pub dims: Vec<u64>,
    /// First partition.
    pub base: u64,
    /// PSUM bank.
    pub bank: Option<u64>,
    /// Number in its set.
    pub tensor_id: Option<u64>,
    /// Everything else.
    pub extra: Extra,
}

/// A block.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Name; some holders have none.
    pub name: Option<Name>,
    /// Instructions, in order.
    pub insts: Vec<Arc<Inst>>,
    /// Everything else.
    pub extra: Extra,
}

/// A queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Queue {
    /// Name.
    pub name: Name,
    /// Holders of its DMA blocks.
    pub blocks: Vec<Block>,
    /// Everything else.
    pub extra: Extra,
}

impl Queue {
    /// Its DMA blocks, in order.
    pub fn dma_blocks(&self) -> impl Iterator<Item = &Arc<Inst>> {
        self.blocks.iter().flat_map(|b| &b.insts)
    }
}

/// An instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Inst {
    /// Which instruction of the loaded module it is or stems from.
    pub pos: Pos,
    /// Name; may repeat.
    pub name: Name,
    /// What it is.
    pub opcode: Opcode,
    /// Who issues it.
    pub engine: Engine,
    /// Operands read.
    pub ins: Operands,
    /// Operands written.
    pub outs: Operands,
    /// What must be complete before.
    pub deps: Vec<Dep>,
    /// The same across iterations of a loop.
    pub loop_deps: Vec<Dep>,
    /// Semaphores waited for, in order.
    pub waits: Vec<Wait>,
    /// Semaphores updated at the end, in order.
    pub updates: Vec<Update>,
    /// The source line that it came from.
    pub debug: Option<Arc<Debug>>,
    /// What only some opcodes have.
    pub body: Body,
    /// Everything else.
    pub extra: Extra,
}

impl Inst {
    /// An instruction without anything.
    pub fn new(pos: Pos, name: &str, opcode: Opcode, engine: Engine) -> Inst {
        Inst::named(pos, name.into(), opcode, engine)
    }

    /// As [`Inst::new`], with a name that is shared.
    pub fn named(pos: Pos, name: Name, opcode: Opcode, engine: Engine) -> Inst {
        Inst {
            pos,
            name,
            opcode,
            engine,
            ins: Operands::default(),
            outs: Operands::default(),
            deps: Vec::new(),
            loop_deps: Vec::new(),
            waits: Vec::new(),
            updates: Vec::new(),
            debug: None,
            body: Body::None,
            extra: Vec::new(),
        }
    }

    /// Its keys as a transfer.
    pub fn dma(&self) -> Option<&Dma> {
        match &self.body {
            Body::Dma(d) => Some(d),
            _ => None,
        }
    }

    /// The blocks that it holds.
    pub fn blocks(&self) -> &[Block] {
        match &self.body {
            Body::Loop(l) => &l.blocks,
            Body::DynamicLoop(l) => &l.blocks,
            Body::DoWhile(l) => &l.blocks,
            Body::DmaBlock(b) => &b.blocks,
            _ => &[],
        }
    }

    /// The blocks that it holds, to be changed.
    pub fn blocks_mut(&mut self) -> Option<&mut Vec<Block>> {
        match &mut self.body {
            Body::Loop(l) => Some(&mut l.blocks),
            Body::DynamicLoop(l) => Some(&mut l.blocks),
            Body::DoWhile(l) => Some(&mut l.blocks),
            Body::DmaBlock(b) => Some(&mut b.blocks),
            _ => None,
        }
    }

    /// Whether it is executed here at all: transfers, control flow, registers, semaphores. Any
    /// other is opaque.
    pub fn is_opaque(&self) -> bool {
        matches!(self.opcode, Opcode::Other(_))
    }
}

/// A dependency.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Dep {
    /// Name of the instruction.
    pub name: Name,
    /// Why.
    pub kind: EdgeKind,
}

/// A semaphore that is waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    /// Who updates it; for reading only.
    pub from: Option<Name>,
    /// Semaphore.
    pub id: u64,
    /// It must be at least this.
    pub value: u64,
    /// Everything else.
    pub extra: Extra,
}

/// A semaphore that is updated.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// Semaphore.
    pub id: u64,
    /// How much is added.
    pub value: u64,
    /// Everything else.
    pub extra: Extra,
}

/// Where an instruction came from in the model's source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Debug {
    /// Source file.
    pub filename: Option<Name>,
    /// Line.
    pub lineno: Option<u64>,
    /// Operation.
    pub op_name: Option<Name>,
    /// Everything else.
    pub extra: Extra,
}

/// What only some opcodes have.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Nothing.
    None,
    /// A transfer before lowering.
    Dma(Dma),
    /// A trigger.
    Trigger(Trigger),
    /// A block of descriptors.
    DmaBlock(DmaBlock),
    /// A descriptor.
    Descriptor(Descriptor),
    /// A loop with a static trip count.
    Loop(Loop),
    /// A loop whose bounds may be known only at run time.
    DynamicLoop(Box<DynamicLoop>),
    /// A loop that goes on while a register is not zero, judged after each round.
    DoWhile(DoWhile),
    /// A branch.
    Branch(Branch),
    /// A jump to a block of the function.
    Jump(Name),
    /// Register arithmetic.
    RegisterAlu {
        /// Operation.
        op: AluOp,
        /// On 64 rather than 32 bits.
        wide: bool,
    },
    /// Semaphores that are zeroed.
    ResetSemaphores(Vec<u64>),
}

/// Keys of a transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct Dma {
    /// Queue; absent before queues are allocated.
    pub queue: Option<Name>,
    /// Who writes its descriptors.
    pub dge: DgeType,
    /// What it does.
    pub mode: Mode,
    /// Whether an index out of range is an error rather than skipped.
    pub oob_is_err: bool,
    /// Permutation.
    pub transpose: TransposeOp,
    /// Scale of each source; absent: all 1.
    pub constants: Option<Vec<f32>>,
    /// Operation on several sources.
    pub cce_op: AluOp,
    /// Whether bytes that nobody wrote may be read.
    pub can_read_uninit: bool,
    /// Priority.
    pub qos: QosClass,
    /// Ids that are told of the end.
    pub remote_notification: Vec<u64>,
}

impl Default for Dma {
    fn default() -> Dma {
        Dma {
            queue: None,
            dge: DgeType::Unassigned,
            mode: Mode::Copy,
            oob_is_err: true,
            transpose: TransposeOp::None,
            constants: None,
            cce_op: AluOp::Bypass,
            can_read_uninit: false,
            qos: QosClass::Unassigned,
            remote_notification: Vec::new(),
        }
    }
}

/// Keys of a trigger.
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    /// Queue.
    pub queue: Option<Name>,
    /// Names of blocks of that queue; a fire runs the next one and the last is followed by the
    /// first.
    pub dma_blocks: Vec<Name>,
    /// Who writes the descriptors.
    pub dge: DgeType,
    /// Priority.
    pub qos: QosClass,
}

/// Keys of a block of descriptors.
#[derive(Debug, Clone, PartialEq)]
pub struct DmaBlock {
    /// Id; absent: its position in its queue.
    pub block_id: Option<u64>,
    /// First of its section.
    pub section_start: bool,
    /// Trigger that it belongs to, where the file says so.
    pub trigger: Option<Name>,
    /// Ids that are told of the end.
    pub remote_notifications: Vec<u64>,
    /// Holders of its descriptors.
    pub blocks: Vec<Block>,
}

impl DmaBlock {
    /// Its descriptors, in order.
    pub fn descriptors(&self) -> impl Iterator<Item = &Arc<Inst>> {
        self.blocks.iter().flat_map(|b| &b.insts)
    }
}

/// Keys of a descriptor; the family is the opcode.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Descriptor {
    /// Scale of each source (CCE); absent: all 1.
    pub constants: Option<Vec<f32>>,
    /// Operation (CCE).
    pub op: Option<AluOp>,
    /// Permutation (transpose).
    pub transpose: Option<TransposeOp>,
    /// Whether bytes that nobody wrote may be read.
    pub can_read_uninit: bool,
    /// Whether an index out of range is an error; matters where a reference is left.
    pub oob_is_err: bool,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// Name, as expressions use it.
    pub name: Name,
    /// First value.
    pub lb: i64,
    /// The loop ends before this one.
    pub ub: i64,
    /// Step; above 0.
    pub stride: i64,
}

impl Axis {
    /// How often the loop runs; `None` where the stride leads nowhere.
    pub fn trips(&self) -> Option<u64> {
        if self.lb >= self.ub {
            return Some(0);
        }
        if self.stride <= 0 {
            return None;
        }
        let span = self.ub.abs_diff(self.lb);
        Some(span.div_ceil(self.stride as u64))
    }

    /// The axis value of an iteration.
    pub fn value(&self, iteration: u64) -> i64 {
        self.lb.wrapping_add(self.stride.wrapping_mul(iteration as i64))
    }
}

/// A loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    /// Its axis.
    pub axis: Axis,
    /// Its body.
    pub blocks: Vec<Block>,
}

/// A loop with bounds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub struct DynamicLoop {
    /// Axis name.
    pub axis: Name,
    /// First value.
    pub lb: Expr,
    /// The loop ends before this one.
    pub ub: Expr,
    /// Step.
    pub stride: Expr,
    /// Its body.
    pub blocks: Vec<Block>,
}

/// A loop with a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct DoWhile {
    /// Goes on while this is not zero.
    pub cond: Expr,
    /// Its body.
    pub blocks: Vec<Block>,
}

/// A branch between blocks of the function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Comparison of `ins[0]` with `ins[1]`.
    pub op: BranchOp,
    /// Block to go to where it holds; the next one where absent.
    pub on_true: Option<Name>,
    /// Block to go to where it does not.
    pub on_false: Option<Name>,
}

/// A step and a count, in elements of the operand's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pair {
    /// Elements from one to the next; 0 repeats.
    pub step: i64,
    /// How many.
    pub num: u64,
}

/// Steps and counts of a pattern; most have one or two.
pub type Pairs = SmallVec<[Pair; 2]>;

/// How an access pattern is written in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// `physical_ap`
    Physical,
    /// `symbolic_ap`
    Symbolic,
    /// `register_ap`
    Register,
}

/// An operand.
#[derive(Debug, Clone, PartialEq)]
pub struct Operand {
    /// Element type; `None` where the file names none that is known.
    pub dtype: Option<Dtype>,
    /// What it is.
    pub kind: OperandKind,
    /// Everything else.
    pub extra: Extra,
}

/// What an operand is.
#[derive(Debug, Clone, PartialEq)]
pub enum OperandKind {
    /// An access pattern.
    Pattern(Pattern),
    /// `register_access`: the value of a register, or where a result goes.
    Register(Name),
    /// `imm_value`
    Imm(Value),
    /// A kind that is not understood (or plays no part here), by name.
    Other(Name),
}

/// An access pattern: element `(i_0, ..)` lies at `offset + start + sum i_k * step_k` elements.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// How it is written.
    pub form: Form,
    /// Steps and counts, outermost first.
    pub pairs: Pairs,
    /// Location (`memref`).
    pub location: Option<Name>,
    /// Set (`memsetref`); its only location is meant where `location` is absent.
    pub set: Option<Name>,
    /// Static offset, elements.
    pub offset: i64,
    /// What is added to it: an expression over axes, registers or one index operand.
    pub start: Option<Expr>,
    /// It has a dynamic part (`dynamic_ap_info`), whatever that holds.
    pub dynamic_info: bool,
    /// First index that is out of range, where the file says so.
    pub max_index: Option<u64>,
    /// The base that a lowered clone reads when its trigger fires.
    pub reference: Option<Reference>,
}

impl Pattern {
    /// A static pattern in a location.
    pub fn new(location: &str, offset: i64, pairs: &[(i64, u64)]) -> Pattern {
        Pattern {
            form: Form::Physical,
            pairs: pairs.iter().map(|&(step, num)| Pair { step, num }).collect(),
            location: Some(location.into()),
            set: Some(format!("{location}_set").into()),
            offset,
            start: None,
            dynamic_info: false,
            max_index: None,
            reference: None,
        }
    }

    /// How many elements; `None` beyond 64 bits.
    pub fn count(&self) -> Option<u64> {
        self.pairs.iter().try_fold(1u64, |n, p| n.checked_mul(p.num))
    }

    /// Registers that its address depends on.
    pub fn registers(&self) -> Vec<Name> {
        self.start.as_ref().map(Expr::registers).unwrap_or_default()
    }

    /// Position of the index operand, where it has a vector offset.
    pub fn index_arg(&self) -> Option<u32> {
        self.start.as_ref().and_then(|e| e.indices().first().copied())
    }

    /// Whether its address depends on a register or an index, or says that it does.
    pub fn is_dynamic(&self) -> bool {
        self.dynamic_info || self.index_arg().is_some() || !self.registers().is_empty()
    }
}

/// MODEL: what is left dynamic of a lowered transfer: one base, read when its trigger fires and
/// added to the static offset.
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// `register * scale` elements.
    Register {
        /// Register.
        register: Name,
        /// Elements of the operand for each unit of it.
        scale: i64,
    },
    /// `index * scale` elements, the index being one element of a list in memory.
    Index {
        /// The list.
        list: Box<Operand>,
        /// Which element of it.
        element: u64,
        /// Elements of the operand for each unit of it: the outermost step.
        scale: i64,
        /// First index that is out of range, where one is given.
        max_index: Option<u64>,
    },
}

impl Operand {
    /// A pattern operand.
    pub fn pattern(dtype: Dtype, pattern: Pattern) -> Operand {
        Operand { dtype: Some(dtype), kind: OperandKind::Pattern(pattern), extra: Vec::new() }
    }

    /// Its pattern.
    pub fn as_pattern(&self) -> Option<&Pattern> {
        match &self.kind {
            OperandKind::Pattern(p) => Some(p),
            _ => None,
        }
    }

    /// Its pattern, to be changed.
    pub fn as_pattern_mut(&mut self) -> Option<&mut Pattern> {
        match &mut self.kind {
            OperandKind::Pattern(p) => Some(p),
            _ => None,
        }
    }
}

impl Module {
    /// Calls `f` for every instruction: functions, then queues, each in order, an instruction
    /// before those that it holds.
    pub fn visit(&self, f: &mut dyn FnMut(&Arc<Inst>)) {
        let blocks = self.functions.iter().flat_map(|x| &x.blocks);
        for b in blocks.chain(self.queues.iter().flat_map(|q| &q.blocks)) {
            b.visit(f);
        }
    }

    /// All locations with their allocation.
    pub fn locations(&self) -> impl Iterator<Item = (&Allocation, &Location)> {
        let all = self.functions.iter().flat_map(|f| &f.allocations);
        all.flat_map(|a| a.locations.iter().map(move |l| (a, l)))
    }

    /// A queue by name.
    pub fn queue(&self, name: &str) -> Option<&Queue> {
        self.queues.iter().find(|q| &*q.name == name)
    }
}

impl Block {
    /// A block of these.
    pub fn new(name: &str, insts: Vec<Arc<Inst>>) -> Block {
        Block::named(name.into(), insts)
    }

    /// As [`Block::new`], with a name that is shared.
    pub fn named(name: Name, insts: Vec<Arc<Inst>>) -> Block {
        Block { name: Some(name), insts, extra: Vec::new() }
    }

    /// Calls `f` for every instruction, an instruction before those that it holds.
    pub fn visit(&self, f: &mut dyn FnMut(&Arc<Inst>)) {
        // Nesting is bounded when a module is read (`limits::MAX_BIR_DEPTH`).
        for i in &self.insts {
            f(i);
            for b in i.blocks() {
                b.visit(f);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn trips_count_axis_values_below_the_end() {
        let axis = |lb, ub, stride| Axis { name: "i".into(), lb, ub, stride };
        assert_eq!(axis(0, 8, 3).trips(), Some(3));
        assert_eq!(axis(5, 17, 5).trips(), Some(3));
        assert_eq!(axis(4, 4, 0).trips(), Some(0));
        assert_eq!(axis(0, 1, 0).trips(), None);
        assert_eq!(axis(i64::MIN, i64::MAX, 1).trips(), Some(u64::MAX));
        assert_eq!(axis(5, 17, 5).value(2), 15);
    }
}
