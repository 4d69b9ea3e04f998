//! Each rule, on a module that breaks it and nothing else; and the addresses of loops against
//! every iteration.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::bir::*;
use crate::diag::codes::CODES;
use proptest::prelude::*;
use std::sync::Arc;

fn location(name: &str, space: Space, addr: u64, dims: &[u64]) -> Allocation {
    Allocation {
        storage: StorageKind::Memory,
        name: format!("{name}_set").into(),
        dtype: None,
        kind: Some(TensorKind::Internal),
        shape: Vec::new(),
        locations: vec![Location {
            name: name.into(),
            space,
            addr,
            dims: dims.to_vec(),
            base: 0,
            bank: None,
            tensor_id: None,
            extra: Vec::new(),
        }],
        extra: Vec::new(),
    }
}

/// DRAM `x`, `y` of 64 bytes, `i` of 16; SB `t` of 8 partitions of 32 bytes; queue `q` with
/// block `b` of one descriptor, fired once.
fn base() -> Module {
    let allocations = vec![
        location("x", Space::Dram, 0, &[64]),
        location("y", Space::Dram, 64, &[64]),
        location("i", Space::Dram, 128, &[16]),
        location("t", Space::Sb, 0, &[8, 32]),
    ];
    let mut m = Module {
        version: 2,
        arch: Some(Arch::Gen3),
        functions: vec![Function {
            name: "f".into(),
            allocations,
            blocks: vec![Block::new("Block1", Vec::new())],
            extra: Vec::new(),
        }],
        queues: Vec::new(),
        extra: Vec::new(),
    };
    let mut desc = Inst::new(Pos(90), "d", Opcode::DescriptorCopy, Engine::Dma);
    desc.body = Body::Descriptor(Descriptor::default());
    desc.ins = [u8s("x", 0, &[(1, 8)])].into();
    desc.outs = [u8s("y", 0, &[(1, 8)])].into();
    let mut block = Inst::new(Pos(91), "b", Opcode::DmaBlock, Engine::Dma);
    block.body = Body::DmaBlock(DmaBlock {
        block_id: None,
        section_start: true,
        trigger: None,
        remote_notifications: Vec::new(),
        blocks: vec![Block::new("b0", vec![Arc::new(desc)])],
    });
    block.updates = vec![Update { id: 7, value: 1, extra: Vec::new() }];
    let holder = Block { name: None, insts: vec![Arc::new(block)], extra: Vec::new() };
    m.queues.push(Queue { name: "q".into(), blocks: vec![holder], extra: Vec::new() });
    m.functions[0].blocks[0].insts.push(Arc::new(trigger(&["b"])));
    m
}

fn trigger(blocks: &[&str]) -> Inst {
    let mut t = Inst::new(Pos(80), "trigger", Opcode::DmaTrigger, Engine::Sp);
    t.body = Body::Trigger(Trigger {
        queue: Some("q".into()),
        dma_blocks: blocks.iter().map(|b| Name::from(*b)).collect(),
        dge: DgeType::None,
        qos: QosClass::Unassigned,
    });
    t
}

fn op(dtype: Dtype, name: &str, offset: i64, pairs: &[(i64, u64)]) -> Operand {
    Operand::pattern(dtype, Pattern::new(name, offset, pairs))
}

fn u8s(name: &str, offset: i64, pairs: &[(i64, u64)]) -> Operand {
    op(Dtype::U8, name, offset, pairs)
}

fn from(mut o: Operand, start: Expr) -> Operand {
    o.as_pattern_mut().unwrap().start = Some(start);
    o
}

fn axis(name: &str) -> Expr {
    Expr::Axis(name.into())
}

fn dma(ins: Vec<Operand>, out: Operand) -> Inst {
    let mut i = Inst::new(Pos(1), "I-1", Opcode::DmaCopy, Engine::Sp);
    i.body = Body::Dma(Dma { queue: Some("q".into()), dge: DgeType::Swdge, ..Dma::default() });
    i.ins = ins.into();
    i.outs = [out].into();
    i
}

fn copy() -> Inst {
    dma(vec![u8s("x", 0, &[(1, 8)])], u8s("y", 0, &[(1, 8)]))
}

fn keys(i: &mut Inst) -> &mut Dma {
    let Body::Dma(d) = &mut i.body else { panic!() };
    d
}

fn with(insts: Vec<Inst>) -> Module {
    let mut m = base();
    m.functions[0].blocks[0].insts.extend(insts.into_iter().map(Arc::new));
    m
}

fn looped(name: &str, lb: i64, ub: i64, stride: i64, insts: Vec<Inst>) -> Inst {
    let mut l = Inst::new(Pos(60), name, Opcode::Loop, Engine::Unassigned);
    let axis = Axis { name: name.into(), lb, ub, stride };
    let insts = insts.into_iter().map(Arc::new).collect();
    l.body = Body::Loop(Loop { axis, blocks: vec![Block::new("body", insts)] });
    l
}

fn run(m: &Module) -> Vec<Finding> {
    verify(m, &Layout::new(m))
}

fn codes(m: &Module) -> Vec<&'static str> {
    run(m).iter().map(|f| f.diag.code).collect()
}

/// The one finding, which has this code.
#[track_caller]
fn one(code: &str, m: &Module) -> crate::diag::Diagnostic {
    let found = run(m);
    assert_eq!(found.iter().map(|f| f.diag.code).collect::<Vec<_>>(), [code], "{found:#?}");
    found.into_iter().next().unwrap().diag
}

#[track_caller]
fn one_inst(code: &str, i: Inst) -> crate::diag::Diagnostic {
    one(code, &with(vec![i]))
}

#[test]
fn a_sound_module_has_no_findings() {
    assert_eq!(run(&base()), []);
    assert_eq!(run(&with(vec![copy()])), []);
}

#[test]
fn every_rule_of_the_table_has_a_code_and_every_code_a_rule() {
    let text = include_str!("mod.rs");
    let mine = |c: &&str| ("B040"..="B069").contains(c) || ("L050"..="L079").contains(c);
    let codes: Vec<&str> = CODES.iter().map(|c| c.code).filter(mine).collect();
    let rules: Vec<&str> =
        text.lines().filter_map(|l| l.strip_prefix("//! | ")).filter_map(|l| l.get(..4)).collect();
    assert_eq!(rules[1..], codes);
}

#[test]
fn module_and_locations() {
    let mut m = base();
    m.version = 3;
    assert!(one("B040", &m).message.contains("version 3"));
    let mut m = base();
    m.arch = None;
    assert_eq!(one("B040", &m).severity, Severity::Warning);
    let mut m = base();
    m.functions[0].allocations.push(location("big", Space::Sb, 0, &[1, 229_377]));
    one("B041", &m);
    let mut m = base();
    m.functions[0].allocations.push(location("psum", Space::Psum, 16_380, &[1, 8]));
    one("B041", &m);
    let mut m = base();
    m.functions[0].allocations.push(location("x", Space::Dram, 512, &[8]));
    one("B042", &m);
}

#[test]
fn an_access_beyond_is_said_as_users_know_it() {
    let mut m = base();
    m.functions[0].allocations.push(location("v", Space::Dram, 4096, &[12_288]));
    m.functions[0].allocations.push(location("s", Space::Dram, 20_480, &[768]));
    let i = dma(vec![u8s("s", 0, &[(1, 768)])], u8s("v", 16_896, &[(1, 768)]));
    m.functions[0].blocks[0].insts.push(Arc::new(i));
    assert_eq!(one("B044", &m).message, "invalid offset in v, 12288 < (16896 + 768)");

    let rows = op(Dtype::U32, "x", 1, &[(4, 4), (1, 4)]);
    let d = one_inst("B044", dma(vec![rows], op(Dtype::U32, "y", 0, &[(1, 16)])));
    assert_eq!(d.message, "invalid offset in x, 64 < (4 + 64)");
    let help = d.help.unwrap();
    let lines: Vec<&str> = help.lines().collect();
    assert_eq!(lines[0], "the pattern is 4x4 of uint32, 64 bytes; `x` is 64 bytes of DRAM");
    assert_eq!(lines[1], "X marks the first element outside, at byte 64:");
    assert_eq!(lines[6], "3 . . . X");

    let back = u8s("x", 3, &[(-1, 5)]);
    let d = one_inst("B044", dma(vec![back], u8s("y", 0, &[(1, 5)])));
    assert_eq!(d.message, "invalid offset: an element lies 1 byte before the begin of `x`");
    let columns = u8s("t", 20, &[(32, 4), (1, 16)]);
    let d = one_inst("B044", dma(vec![columns], u8s("y", 0, &[(1, 64)])));
    assert_eq!(d.message, "invalid offset in t, 32 < (20 + 16)");
    let d = one_inst("B044", dma(vec![u8s("t", 0, &[(32, 9)])], u8s("y", 0, &[(1, 9)])));
    assert!(d.message.contains("partition 8 of `t`"), "{}", d.message);
    let d = one_inst("B045", dma(vec![u8s("t", 0, &[(31, 4)])], u8s("y", 0, &[(1, 4)])));
    assert!(d.message.contains("31"), "{}", d.message);
}

#[test]
fn the_first_bad_iteration_of_a_loop_is_named() {
    let source = from(u8s("x", 0, &[(1, 9)]), axis("i"));
    let i = dma(vec![source], u8s("y", 0, &[(1, 9)]));
    let d = one_inst("B044", looped("i", 2, 100, 3, vec![i]));
    let text = "invalid offset in x, 64 < (56 + 9) (first in the iteration i = 56)";
    assert_eq!(d.message, text);
    let source = from(u8s("x", 0, &[(1, 1)]), axis("i"));
    let i = dma(vec![source], u8s("y", 0, &[(1, 1)]));
    one_inst("B067", i);
    let never = from(u8s("x", 1000, &[(1, 9)]), axis("i"));
    let i = dma(vec![never], u8s("y", 0, &[(1, 9)]));
    assert_eq!(run(&with(vec![looped("i", 4, 4, 1, vec![i])])), []);
}

#[test]
fn names_types_and_kinds() {
    one_inst("B043", dma(vec![u8s("nowhere", 0, &[(1, 8)])], u8s("y", 0, &[(1, 8)])));
    let mut m = with(vec![dma(vec![u8s("x", 0, &[(1, 8)])], u8s("r", 0, &[(1, 8)]))]);
    m.functions[0].allocations.push(location("r", Space::Reg, 0, &[8]));
    one("B043", &m);
    // Without dims nobody knows what lies in it; that matters where it is used.
    let mut m = with(vec![copy()]);
    m.functions[0].allocations.push(location("r", Space::Dram, 1 << 20, &[]));
    assert_eq!(run(&m), []);
    m.functions[0].blocks[0].insts =
        vec![dma(vec![u8s("x", 0, &[(1, 1)])], u8s("r", 0, &[(1, 1)])).into()];
    assert!(one("B043", &m).message.contains("no `dims`"));
    let mut i = copy();
    let p = i.ins[0].as_pattern_mut().unwrap();
    (p.location, p.set) = (None, Some("pair".into()));
    let mut m = with(vec![i]);
    let mut pair = location("p", Space::Dram, 4096, &[8]);
    pair.name = "pair".into();
    pair.locations.push(Location { name: "p2".into(), addr: 8192, ..pair.locations[0].clone() });
    m.functions[0].allocations.push(pair);
    assert!(one("B043", &m).message.contains("has 2 locations"));
    let mut i = copy();
    i.outs[0].dtype = None;
    one_inst("B046", i);
    let mut i = copy();
    i.ins[0].kind = OperandKind::Other("strange_ap".into());
    one_inst("B047", i);
    let mut i = copy();
    i.body = Body::None;
    one_inst("B047", i);
    let i = dma(
        vec![from(u8s("x", 0, &[(1, 8)]), Expr::Unknown("XKind".into()))],
        u8s("y", 0, &[(1, 8)]),
    );
    one_inst("B047", i);
}

#[test]
fn operands_and_shapes() {
    let mut i = copy();
    i.ins.push(u8s("y", 0, &[(1, 8)]));
    one_inst("B048", i);
    let mut i = copy();
    i.outs.clear();
    one_inst("B048", i);
    let d =
        one_inst("B049", dma(vec![u8s("x", 0, &[(6, 4), (1, 6)])], u8s("y", 0, &[(5, 5), (1, 5)])));
    assert_eq!(
        d.message,
        "element counts differ: 24 elements (4x6) read, 25 elements (5x5) written"
    );
    assert_eq!(d.help.unwrap(), "the sides are 24 bytes and 25 bytes");

    let transpose = |op, from: &[(i64, u64)], to: &[(i64, u64)]| {
        let mut i = dma(vec![u8s("x", 0, from)], u8s("t", 0, to));
        (keys(&mut i).mode, keys(&mut i).transpose) = (Mode::Transpose, op);
        i
    };
    let (from, to) = ([(12, 2), (4, 3), (4, 1), (1, 4)], [(32, 4), (1, 3), (1, 1), (3, 2)]);
    assert_eq!(run(&with(vec![transpose(TransposeOp::Xzyw, &from, &to)])), []);
    one_inst("B050", transpose(TransposeOp::None, &from, &to));
    one_inst("B050", transpose(TransposeOp::Xzyw, &[(12, 2), (4, 3), (1, 4)], &to));
    one_inst("B050", transpose(TransposeOp::Xyzw, &from, &to));
    let other = transpose(TransposeOp::Wzxy, &from, &[(32, 2), (4, 3), (1, 4), (1, 1)]);
    assert_eq!(one_inst("L052", other).severity, Severity::Warning);
    // A pass makes it SWDGE, whatever engine and generation feed HWDGE, and says so.
    let mut routed = transpose(TransposeOp::Xzyw, &from, &to);
    (keys(&mut routed).dge, routed.engine) = (DgeType::Hwdge, Engine::Pe);
    let mut m = with(vec![routed]);
    assert_eq!(run(&m), []);
    m.arch = Some(Arch::Sunda);
    assert_eq!(run(&m), []);

    let replicate = |from: &[(i64, u64)], to: &[(i64, u64)]| {
        let mut i = dma(vec![u8s("x", 0, from)], u8s("t", 0, to));
        keys(&mut i).mode = Mode::Replicate;
        i
    };
    assert_eq!(run(&with(vec![replicate(&[(10, 2), (1, 10)], &[(32, 8), (1, 10)])])), []);
    one_inst("B051", replicate(&[(10, 3), (1, 10)], &[(32, 8), (1, 10)]));
    one_inst("B051", replicate(&[(10, 2), (1, 10)], &[(32, 8), (1, 9)]));
    one_inst("B051", replicate(&[(1, 10)], &[(32, 8), (1, 10)]));
    let mut m = with(vec![replicate(&[(10, 1), (1, 10)], &[(32, 8), (1, 10)])]);
    m.arch = Some(Arch::Sunda);
    one("L057", &m);
}

#[test]
fn cce_and_casts() {
    let cce = |n: usize, dtype| {
        let mut i = dma(vec![op(dtype, "x", 0, &[(1, 4)]); n], op(dtype, "y", 0, &[(1, 4)]));
        let d = keys(&mut i);
        (d.mode, d.cce_op, d.constants) = (Mode::Cce, AluOp::Add, Some(vec![1.0; n]));
        i
    };
    assert_eq!(run(&with(vec![cce(16, Dtype::F32)])), []);
    one_inst("B052", cce(17, Dtype::F32));
    let mut i = cce(2, Dtype::F32);
    keys(&mut i).constants = Some(vec![1.0]);
    one_inst("B053", i);
    let mut i = cce(2, Dtype::F32);
    keys(&mut i).constants = None;
    assert_eq!(run(&with(vec![i.clone()])), []);
    keys(&mut i).cce_op = AluOp::Mult;
    one_inst("B053", i);
    assert_eq!(codes(&with(vec![cce(2, Dtype::I32)])), ["B053"; 3]);
    let mx = dma(vec![op(Dtype::F4x4, "x", 0, &[(1, 4)])], op(Dtype::U16, "y", 0, &[(1, 4)]));
    one_inst("B054", mx);
    let same =
        dma(vec![op(Dtype::F8e8m0, "x", 0, &[(1, 4)])], op(Dtype::F8e8m0, "y", 0, &[(1, 4)]));
    assert_eq!(run(&with(vec![same])), []);
}

fn set(register: &str) -> Inst {
    let mut i = Inst::new(Pos(50), "set", Opcode::RegisterMove, Engine::Sp);
    i.outs = [Operand {
        dtype: Some(Dtype::I32),
        kind: OperandKind::Register(register.into()),
        extra: Vec::new(),
    }]
    .into();
    i
}

#[test]
fn dynamic_addresses() {
    let r = || Expr::Register("r".into());
    let scalar = |start| dma(vec![from(u8s("x", 0, &[(1, 8)]), start)], u8s("y", 0, &[(1, 8)]));
    let list = |dtype, n| op(dtype, "i", 0, &[(1, n)]);
    let rows = |o| from(o, Expr::Index(1));
    let gather = |l| dma(vec![rows(u8s("x", 0, &[(8, 4), (1, 8)])), l], u8s("y", 0, &[(1, 32)]));
    assert_eq!(run(&with(vec![set("r"), scalar(r())])), []);
    assert_eq!(run(&with(vec![gather(list(Dtype::I32, 4))])), []);
    assert_eq!(one_inst("B059", scalar(r())).severity, Severity::Warning);
    let wide = dma(vec![from(u8s("x", 0, &[(1, 65)]), r())], u8s("y", 0, &[(0, 65)]));
    one("B044", &with(vec![set("r"), wide]));
    let both = Expr::Sum(vec![r(), Expr::Index(1)]);
    let mut i = gather(list(Dtype::I32, 4));
    i.ins[0].as_pattern_mut().unwrap().start = Some(both);
    one("B055", &with(vec![set("r"), i]));
    let mut i = copy();
    i.ins[0].as_pattern_mut().unwrap().dynamic_info = true;
    one_inst("B055", i);
    let mut i = gather(list(Dtype::I32, 4));
    i.outs[0] = rows(u8s("y", 0, &[(8, 4), (1, 8)]));
    one_inst("B056", i);
    let mut i = gather(list(Dtype::I32, 4));
    keys(&mut i).dge = DgeType::None;
    assert_eq!(
        one_inst("B057", i).message,
        "DGE must be enabled when dynamic src access in DMA is used"
    );
    one_inst("B058", gather(list(Dtype::I32, 3)));
    one_inst("B058", gather(list(Dtype::U16, 4)));
    let mut i = gather(list(Dtype::I32, 4));
    i.ins[0].as_pattern_mut().unwrap().start = Some(Expr::Mul(Box::new(Expr::Index(1)), 2));
    one_inst("B058", i);
    let mut i = gather(list(Dtype::I32, 4));
    i.ins.pop();
    one_inst("B058", i);
    let long = [(0, 4097), (1, 1)];
    let mut i = dma(vec![rows(u8s("x", 0, &long))], u8s("y", 0, &long));
    i.ins.push(op(Dtype::I32, "i", 0, &long));
    one_inst("L054", i);
    let mut m = base();
    change_descriptor(&mut m, |d| {
        d.ins[0].as_pattern_mut().unwrap().start = Some(Expr::Register("r".into()));
    });
    m.functions[0].blocks[0].insts.push(Arc::new(set("r")));
    one("L053", &m);
}

#[test]
fn references_of_descriptors() {
    let refer = |element, offset| {
        let mut m = base();
        change_descriptor(&mut m, |d| {
            d.ins[0].as_pattern_mut().unwrap().reference = Some(Reference::Index {
                list: Box::new(op(Dtype::I32, "i", offset, &[(1, 4)])),
                element,
                scale: 8,
                max_index: None,
            });
        });
        m
    };
    assert_eq!(run(&refer(3, 0)), []);
    one("B058", &refer(4, 0));
    one("B044", &refer(3, 1));
}

fn change_block(m: &mut Module, f: impl FnOnce(&mut Inst)) {
    f(Arc::make_mut(&mut m.queues[0].blocks[0].insts[0]));
}

fn change_descriptor(m: &mut Module, f: impl FnOnce(&mut Inst)) {
    change_block(m, |b| f(Arc::make_mut(&mut b.blocks_mut().unwrap()[0].insts[0])));
}

#[test]
fn queues_blocks_and_triggers() {
    let queue = |name: &str| Queue { name: name.into(), blocks: Vec::new(), extra: Vec::new() };
    let mut m = base();
    m.queues.push(queue("a_name_of_thirty_two_bytes_______"));
    one("B060", &m);
    let mut m = base();
    m.queues.push(queue("q"));
    one("B060", &m);
    let mut m = base();
    m.queues.extend((0..175).map(|k| queue(&format!("q{k}"))));
    assert_eq!(run(&m), []);
    m.queues.push(queue("one_more"));
    one("B060", &m);
    let mut i = copy();
    keys(&mut i).queue = Some("q7".into());
    one_inst("B061", i);
    let mut m = base();
    change_block(&mut m, |b| {
        b.blocks_mut().unwrap()[0].insts.push(Arc::new(trigger(&["b"])));
    });
    one("B062", &m);
    one_inst("B063", trigger(&["b", "missing"]));
    one_inst("B063", trigger(&[]));
    // Of two queues with one name the first counts.
    let mut m = with(vec![trigger(&["c"])]);
    let mut second = (*m.queues[0].blocks[0].insts[0]).clone();
    second.name = "c".into();
    m.queues.push(Queue { blocks: vec![Block::new("b0", vec![Arc::new(second)])], ..queue("q") });
    assert_eq!(codes(&m), ["B060", "B063"]);
    let mut m = base();
    let mut again = (*m.queues[0].blocks[0].insts[0]).clone();
    again.name = "c".into();
    m.queues[0].blocks[0].insts.push(Arc::new(again.clone()));
    assert_eq!(run(&m), []);
    let Body::DmaBlock(b) = &mut again.body else { panic!() };
    b.block_id = Some(0);
    m.queues[0].blocks[0].insts[1] = Arc::new(again);
    assert!(one("B064", &m).message.contains("duplicate block id"));
    change_block(&mut m, |b| {
        b.name = "c".into();
        let Body::DmaBlock(b) = &mut b.body else { panic!() };
        b.block_id = Some(1);
    });
    m.functions[0].blocks[0].insts.clear();
    one("B064", &m);
    let block = base().queues[0].blocks[0].insts[0].clone();
    one_inst("B065", (*block).clone());
    one_inst("B065", (*block.blocks()[0].insts[0]).clone());
    let mut m = base();
    m.queues[0].blocks[0].insts.push(Arc::new(copy()));
    one("B065", &m);
    let mut m = base();
    change_descriptor(&mut m, |d| {
        d.ins[0] = u8s("x", 0, &[(0, 1), (0, 1), (0, 1), (0, 1), (1, 8)]);
    });
    one("L055", &m);
    let mut m = base();
    change_descriptor(&mut m, |d| {
        d.opcode = Opcode::DescriptorCce;
        d.body = Body::Descriptor(Descriptor { op: Some(AluOp::Max), ..Descriptor::default() });
        d.ins[0] = op(Dtype::F32, "x", 0, &[(0, 2049)]);
        d.outs[0] = op(Dtype::F32, "y", 0, &[(0, 2049)]);
    });
    one("L056", &m);
}

#[test]
fn engines_and_dge() {
    let mut i = copy();
    keys(&mut i).queue = None;
    one_inst("L050", i.clone());
    let m = with(vec![i]);
    let options = Options { unqueued: Severity::Warning };
    let found = verify_with(&m, &Layout::new(&m), &options);
    assert_eq!(found[0].diag.severity, Severity::Warning);
    assert!(!has_errors(&found));
    let mut i = copy();
    i.engine = Engine::Unassigned;
    one_inst("L050", i);
    let mut i = copy();
    keys(&mut i).dge = DgeType::Hwdge;
    assert_eq!(run(&with(vec![i.clone()])), []);
    let mut m = with(vec![i.clone()]);
    m.arch = Some(Arch::Sunda);
    one("L051", &m);
    i.engine = Engine::Pe;
    one_inst("L051", i);
}

fn dep(mut i: Inst, name: &str, on: &str) -> Inst {
    i.name = name.into();
    i.deps = vec![Dep { name: on.into(), kind: EdgeKind::Flow }];
    i
}

fn at_engine(mut i: Inst, engine: Engine) -> Inst {
    i.engine = engine;
    i
}

#[test]
fn dependencies() {
    assert_eq!(run(&with(vec![dep(copy(), "a", "trigger"), dep(copy(), "a", "a")])), []);
    one_inst("B066", dep(copy(), "a", "a"));
    one_inst("B066", dep(copy(), "a", "gone"));
    let pool = at_engine(copy(), Engine::Pool);
    let ahead = dep(pool.clone(), "a", "b");
    assert_eq!(run(&with(vec![ahead.clone(), dep(copy(), "b", "trigger")])), []);
    one("B066", &with(vec![ahead.clone(), dep(copy(), "b", "a")]));
    one("B066", &with(vec![dep(copy(), "a", "b"), dep(copy(), "b", "trigger")]));
    let three = vec![ahead, dep(copy(), "b", "c"), dep(pool, "c", "trigger")];
    assert_eq!(codes(&with(three)), ["B066"; 2]);
    one_inst("B066", looped("l", 0, 2, 1, vec![dep(copy(), "a", "l")]));
    // What stands in a wrong place is not looked into, but waits and is waited for.
    let mut block = (*base().queues[0].blocks[0].insts[0]).clone();
    let held = dep((*block.blocks()[0].insts[0]).clone(), "d", "gone");
    block.blocks_mut().unwrap()[0].insts = vec![Arc::new(held)];
    assert_eq!(codes(&with(vec![block])), ["B065", "B066"]);
    let mut i = dep(copy(), "a", "trigger");
    i.loop_deps = vec![Dep { name: "a".into(), kind: EdgeKind::Output }];
    assert_eq!(run(&with(vec![looped("l", 0, 2, 1, vec![i])])), []);
}

#[test]
fn loops_and_branches() {
    one_inst("B067", looped("l", 0, 2, 0, vec![]));
    one_inst("B067", looped("l", 0, 2, 1, vec![looped("l", 0, 2, 1, vec![])]));
    let two = vec![looped("l", 0, 2, 1, vec![]), looped("l", 0, 3, 1, vec![])];
    assert_eq!(run(&with(two)), []);
    let jump = |to: &str| {
        let mut i = Inst::new(Pos(70), "jump", Opcode::UnconditionalBranch, Engine::Sp);
        i.body = Body::Jump(to.into());
        i
    };
    one_inst("B068", jump("gone"));
    assert!(one_inst("B068", jump("Block1")).message.contains("SP cannot reach the end"));
    let mut m = with(vec![jump("Last")]);
    m.functions[0].blocks.push(Block::new("Between", vec![Arc::new(jump("Between"))]));
    m.functions[0].blocks.push(Block::new("Last", Vec::new()));
    assert_eq!(run(&m), []);
}

#[test]
fn semaphores() {
    let wait = |id, value| {
        let mut i = copy();
        i.waits = vec![Wait { from: None, id, value, extra: Vec::new() }];
        i
    };
    assert_eq!(run(&with(vec![wait(7, 1), wait(9, 0)])), []);
    one_inst("B069", wait(9, 1));
    assert!(one_inst("B069", wait(7, 2)).message.ends_with("all updates together add 1"));
    // One that names a block twice fires one of them, once.
    let again = with(vec![trigger(&["b", "b"]), wait(7, 3)]);
    assert!(one("B069", &again).message.ends_with("all updates together add 2"));
    let twice = looped("l", 0, 2, 1, vec![trigger(&["b"])]);
    assert_eq!(run(&with(vec![twice, wait(7, 3)])), []);
}

/// Queue `q` with a block for each descriptor, `b0` and on.
fn with_blocks(insts: Vec<Inst>, descriptors: &[Inst]) -> Module {
    let mut m = with(insts);
    let holder = &mut m.queues[0].blocks[0];
    for (k, d) in descriptors.iter().enumerate() {
        let mut b = Inst::clone(&holder.insts[0]);
        b.name = format!("b{k}").into();
        b.updates.clear();
        b.blocks_mut().unwrap()[0].insts = vec![Arc::new(d.clone())];
        holder.insts.push(Arc::new(b));
    }
    m
}

#[test]
fn a_block_that_nothing_fires_waits_for_nothing() {
    let mut m = with_blocks(vec![], &[]);
    let block = |m: &mut Module, fired: bool| {
        let holder = &mut m.queues[0].blocks[0];
        let mut b = Inst::clone(&holder.insts[0]);
        b.name = if fired { "b" } else { "idle" }.into();
        b.waits = vec![Wait { from: None, id: 9, value: 1, extra: Vec::new() }];
        if fired {
            holder.insts[0] = Arc::new(b);
        } else {
            holder.insts.push(Arc::new(b));
        }
    };
    block(&mut m, false);
    assert_eq!(run(&m), []);
    block(&mut m, true);
    one("B069", &m);
}

#[test]
fn a_block_is_judged_in_the_rounds_in_which_its_turn_comes() {
    // Of 16 bytes the second half in the second round, by the second block; a first round would
    // lie below them.
    let moved = |c: i64| {
        let mut d = Inst::new(Pos(90), "d", Opcode::DescriptorCopy, Engine::Dma);
        d.body = Body::Descriptor(Descriptor::default());
        let start = Expr::Mul(Box::new(axis("l")), 8);
        d.ins = [from(u8s("x", c, &[(1, 8)]), start)].into();
        d.outs = [u8s("y", 0, &[(1, 8)])].into();
        d
    };
    let around = |blocks: &[&str]| looped("l", 0, 2, 1, vec![trigger(blocks)]);
    let both = with_blocks(vec![around(&["b0", "b1"])], &[moved(0), moved(-8)]);
    assert_eq!(run(&both), []);
    one("B044", &with_blocks(vec![around(&["b0"])], &[moved(-8)]));
    // No round is known to be left out where one of its triggers has no other block.
    let also = vec![around(&["b0", "b1"]), around(&["b0"])];
    assert_eq!(run(&with_blocks(also, &[moved(0), moved(-8)])), []);
}

#[test]
fn the_list_is_bounded_and_keeps_an_error() {
    let mut i = copy();
    i.ins = [from(u8s("x", 0, &[(1, 8)]), Expr::Register("r".into()))].into();
    let mut m = with(vec![i; crate::limits::MAX_DIAGNOSTICS + 10]);
    m.functions[0].blocks[0].insts.push(Arc::new(dep(copy(), "a", "a")));
    let found = run(&m);
    assert_eq!(found.len(), crate::limits::MAX_DIAGNOSTICS);
    assert!(has_errors(&found));
}

proptest! {
    /// The verdict on a loop nest is that of every iteration, and the iteration and element
    /// that are named are the first.
    #[test]
    fn loops_are_judged_as_if_every_iteration_was_tried(
        sb in any::<bool>(),
        offset in 0i64..60,
        pairs in prop::collection::vec((-3i64..4, 1u64..4), 0..3),
        rows in -2i64..3,
        axes in prop::collection::vec((-2i64..3, 0i64..4, 1i64..3, -17i64..18), 0..3),
        whole in any::<bool>(),
        remainder in prop::option::of(1i64..9),
    ) {
        let mut pairs = pairs;
        if sb && let Some(first) = pairs.first_mut() {
            first.0 = rows * 8;
        }
        let mut terms = Vec::new();
        for (k, (_, _, _, coef)) in axes.iter().enumerate() {
            let coef = if whole { coef / 4 * 8 } else { *coef };
            terms.push(Expr::Mul(Box::new(axis(&format!("a{k}"))), coef));
        }
        let mut start = Expr::Sum(terms);
        if let Some(by) = remainder {
            start = Expr::Mod(Box::new(start), Box::new(Expr::Const(by)));
        }
        let place = if sb { "t" } else { "x" };
        let o = from(op(Dtype::U32, place, if sb { offset } else { offset / 4 }, &pairs), start.clone());
        let out = op(Dtype::U32, "y", 0, &[(0, o.as_pattern().unwrap().count().unwrap())]);
        let mut i = dma(vec![o.clone()], out);
        let mut values: Vec<Vec<i64>> = vec![vec![]];
        for (lb, n, stride, _) in &axes {
            values = values.into_iter().flat_map(|v| {
                (0..*n).map(move |k| [v.clone(), vec![lb + k * stride]].concat())
            }).collect();
        }
        for (k, (lb, n, stride, _)) in axes.iter().enumerate().rev() {
            i = looped(&format!("a{k}"), *lb, lb + n * stride, *stride, vec![i]);
        }
        let m = with(vec![i]);
        let layout = Layout::new(&m);
        let p = o.as_pattern().unwrap();
        let bad = values.iter().find_map(|v| {
            let at = |n: &str| v.get(n[1..].parse::<usize>().unwrap()).copied();
            let start = p.offset + start.eval(&at, &|_| None).unwrap();
            let e = layout.walk(p, Dtype::U32, &p.pairs, start).err()?;
            Some((v.clone(), e))
        });
        let found = verify(&m, &layout);
        match bad {
            None => prop_assert_eq!(found, []),
            Some((v, e)) => {
                prop_assert_eq!(found.len(), 1, "{:?}", found);
                let d = &found[0].diag;
                prop_assert_eq!(d.code == "B045", matches!(e, PlaceError::Step { .. }));
                if let PlaceError::Beyond { offset, .. } = e
                    && let Some((_, rest)) = d.help.as_ref().unwrap().split_once("outside, at byte ")
                {
                    prop_assert_eq!(rest.split(':').next().unwrap(), offset.to_string());
                }
                if let Some((_, named)) = d.message.split_once("in the iteration ") {
                    let named: Vec<i64> = named.trim_end_matches(')').split(", ")
                        .map(|t| t.split_once(" = ").unwrap().1.parse().unwrap()).collect();
                    // Axes whose coefficient is 0 are named too.
                    prop_assert_eq!(named, v);
                } else {
                    prop_assert!(axes.is_empty(), "{}", d.message);
                }
            }
        }
    }
}

/// Runs are counted side by side, 64 KiB at most each, and once for each round of a loop.
#[test]
fn a_queue_holds_as_many_descriptors_as_a_queue_may_have() {
    let many = |num: u64, trips: i64| {
        let mut m = base();
        for l in m.functions[0].allocations.iter_mut().flat_map(|a| &mut a.locations) {
            if matches!(&*l.name, "x" | "y") {
                (l.dims, l.addr) = (vec![1 << 26], if &*l.name == "x" { 0 } else { 1 << 27 });
            }
        }
        let i = dma(vec![u8s("x", 0, &[(2, num)])], u8s("y", 0, &[(2, num)]));
        let l = looped("i", 0, trips, 1, vec![i]);
        m.functions[0].blocks[0].insts.push(Arc::new(l));
        let found = run(&m);
        assert!(found.iter().all(|f| f.diag.code == "L058"), "{found:?}");
        !found.is_empty()
    };
    // The block that is there already has one.
    assert!(!many(16_777_199, 1) && many(16_777_200, 1));
    assert!(!many(8_388_599, 2) && many(8_388_600, 2));
    let mut long = base();
    for l in long.functions[0].allocations.iter_mut().flat_map(|a| &mut a.locations) {
        if matches!(&*l.name, "x" | "y") {
            (l.dims, l.addr) = (vec![1 << 34], if &*l.name == "x" { 0 } else { 1 << 34 });
        }
    }
    let i = dma(vec![u8s("x", 0, &[(1, 1 << 34)])], u8s("y", 0, &[(1, 1 << 34)]));
    long.functions[0].blocks[0].insts.push(Arc::new(i));
    assert!(!run(&long).iter().any(|f| f.diag.code == "L058"), "262144 descriptors");
}
