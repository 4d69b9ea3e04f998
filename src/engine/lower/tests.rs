//! Rules of the passes on small modules.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::options::{HWDGE_DEPTH, SWDGE_DEPTH};
use super::*;
use crate::bir::{
    Allocation, AluOp, Arch, Axis, Block, Dep, DgeType, Dma, Dtype, EdgeKind, Engine, Expr,
    Function, Inst, Layout, Location, Loop, Mode, Operand, Pair, Pattern, Queue, Reference, Space,
    StorageKind, TensorKind, TransposeOp, Update, Wait,
};
use proptest::prelude::*;

mod faults;

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

/// Two DRAM locations `x` and `y` of 1 MiB, tiles `s` and `t` of 128 partitions of 1 KiB, an
/// index list `idx`, a queue `q`.
fn module(insts: Vec<Inst>) -> Module {
    let insts = insts.into_iter().enumerate().map(|(k, mut i)| {
        i.pos = Pos(k as u32);
        Arc::new(i)
    });
    Module {
        version: 2,
        arch: Some(Arch::Gen3),
        functions: vec![Function {
            name: "main".into(),
            allocations: vec![
                location("x", Space::Dram, 0, &[1 << 20]),
                location("y", Space::Dram, 1 << 20, &[1 << 20]),
                location("s", Space::Sb, 0, &[128, 1024]),
                location("t", Space::Sb, 1024, &[128, 1024]),
                location("idx", Space::Dram, 1 << 21, &[1 << 16]),
            ],
            blocks: vec![Block::new("b", insts.collect())],
            extra: Vec::new(),
        }],
        queues: vec![Queue { name: "q".into(), blocks: Vec::new(), extra: Vec::new() }],
        extra: Vec::new(),
    }
}

fn at(location: &str, offset: i64, pairs: &[(i64, u64)]) -> Operand {
    Operand::pattern(Dtype::U8, Pattern::new(location, offset, pairs))
}

fn typed(dtype: Dtype, location: &str, pairs: &[(i64, u64)]) -> Operand {
    Operand::pattern(dtype, Pattern::new(location, 0, pairs))
}

fn started(mut o: Operand, start: Expr) -> Operand {
    o.as_pattern_mut().unwrap().start = Some(start);
    o
}

fn dma(dge: DgeType, ins: Vec<Operand>, out: Operand) -> Inst {
    let mut i = Inst::new(Pos(0), "I", Opcode::DmaCopy, Engine::Pool);
    (i.ins, i.outs) = (ins.into(), [out].into());
    i.body = Body::Dma(Dma { queue: Some("q".into()), dge, ..Dma::default() });
    i
}

fn keys(i: &mut Inst) -> &mut Dma {
    let Body::Dma(d) = &mut i.body else { panic!("no transfer") };
    d
}

/// A gather of `n` rows of 4 bytes.
fn gather(n: u64) -> Inst {
    let rows = started(at("x", 0, &[(8, n), (1, 4)]), Expr::Index(1));
    let list = typed(Dtype::I32, "idx", &[(1, n)]);
    dma(DgeType::Swdge, vec![rows, list], at("y", 0, &[(4, n), (1, 4)]))
}

/// A copy of `n` bytes from where register `r` says.
fn scalar(n: u64) -> Inst {
    let source = started(
        at("x", 5, &[(1, n)]),
        Expr::Sum(vec![Expr::Const(2), Expr::Mul(Box::new(Expr::Register("r".into())), 3)]),
    );
    dma(DgeType::Swdge, vec![source], at("y", 0, &[(1, n)]))
}

fn copy(n: u64) -> Inst {
    dma(DgeType::None, vec![at("x", 0, &[(1, n)])], at("y", 0, &[(1, n)]))
}

fn with_elems(n: u64) -> Options {
    Options { max_desc_elems: Some(n), ..Options::default() }
}

fn insts(m: &Module) -> Vec<Arc<Inst>> {
    m.functions[0].blocks[0].insts.clone()
}

fn names(m: &Module) -> Vec<String> {
    insts(m).iter().map(|i| i.name.to_string()).collect()
}

fn after(m: &Module, opts: &Options, stage: Stage) -> Arc<Module> {
    let lowered = lower(m, opts, stage);
    let all: Vec<_> = lowered.findings().map(|f| f.diag.message.clone()).collect();
    assert!(!lowered.has_errors(), "{all:?}");
    lowered.module().unwrap().clone()
}

/// Descriptors of each block of the queue `q`.
fn blocks(m: &Module) -> Vec<Vec<Arc<Inst>>> {
    let of = |b: &Arc<Inst>| match &b.body {
        Body::DmaBlock(b) => b.descriptors().cloned().collect(),
        _ => panic!("no block"),
    };
    m.queue("q").unwrap().dma_blocks().map(of).collect()
}

fn pairs(o: &Operand) -> (i64, Vec<(i64, u64)>) {
    let p = o.as_pattern().unwrap();
    (p.offset, p.pairs.iter().map(|p| (p.step, p.num)).collect())
}

fn codes(m: &Module, opts: &Options) -> Vec<&'static str> {
    let all = lower(m, opts, Stage::LowerDma);
    all.findings().map(|f| f.diag.code).collect()
}

fn sizes(n: u64, depth: u64, rule: SplitRule) -> Vec<u64> {
    split_sizes(n, depth, rule).collect()
}

fn runs(of: &[(u64, usize)]) -> Vec<u64> {
    of.iter().flat_map(|&(size, times)| vec![size; times]).collect()
}

#[test]
fn largest_factors_are_those_of_the_table() {
    for (n, f) in [
        (1, 1),
        (17, 1),
        (1021, 1),
        (24, 12),
        (100, 10),
        (130, 13),
        (136, 8),
        (255, 15),
        (1020, 15),
        (1024, 16),
        (65_520, 16),
        (0, 1),
    ] {
        assert_eq!(largest_factor(n), f, "{n}");
    }
}

#[test]
fn split_sizes_are_those_of_the_table() {
    use SplitRule::*;
    for (n, factor, greedy, equal) in [
        (0, runs(&[]), runs(&[]), runs(&[])),
        (1, runs(&[(1, 1)]), runs(&[(1, 1)]), runs(&[(1, 1)])),
        (1019, runs(&[(1019, 1)]), runs(&[(1019, 1)]), runs(&[(1019, 1)])),
        (1020, runs(&[(1020, 1)]), runs(&[(1020, 1)]), runs(&[(1020, 1)])),
        (1021, runs(&[(1020, 1), (1, 1)]), runs(&[(1020, 1), (1, 1)]), runs(&[(511, 1), (510, 1)])),
        (1024, runs(&[(1008, 1), (16, 1)]), runs(&[(1020, 1), (4, 1)]), runs(&[(512, 2)])),
        (
            2048,
            runs(&[(1008, 2), (32, 1)]),
            runs(&[(1020, 2), (8, 1)]),
            runs(&[(683, 2), (682, 1)]),
        ),
        (65_520, runs(&[(1008, 65)]), runs(&[(1020, 64), (240, 1)]), runs(&[(1008, 65)])),
        (
            65_536,
            runs(&[(1008, 65), (16, 1)]),
            runs(&[(1020, 64), (256, 1)]),
            runs(&[(1009, 16), (1008, 49)]),
        ),
    ] {
        assert_eq!(sizes(n, SWDGE_DEPTH, Factor), factor, "{n}");
        assert_eq!(sizes(n, SWDGE_DEPTH, Greedy), greedy, "{n}");
        assert_eq!(sizes(n, SWDGE_DEPTH, Equal), equal, "{n}");
    }
    for rule in [Factor, Greedy, Equal] {
        for n in [1, 1021, 65_519, 65_520] {
            assert_eq!(sizes(n, HWDGE_DEPTH, rule), [n]);
        }
    }
    assert_eq!(sizes(65_521, HWDGE_DEPTH, Factor), [65_520, 1]);
    assert_eq!(sizes(65_536, HWDGE_DEPTH, Factor), [65_520, 16]);
    assert_eq!(sizes(65_536, HWDGE_DEPTH, Greedy), [65_520, 16]);
    assert_eq!(sizes(65_536, HWDGE_DEPTH, Equal), [32_768, 32_768]);
}

proptest! {
    #[test]
    fn pieces_sum_up_and_none_is_too_large(n in 0u64..200_000, depth in 0u64..70_000) {
        for rule in [SplitRule::Factor, SplitRule::Greedy, SplitRule::Equal] {
            let all = sizes(n, depth, rule);
            prop_assert_eq!(all.iter().sum::<u64>(), n);
            prop_assert!(all.iter().all(|s| *s >= 1 && *s <= depth.max(1)));
            if rule == SplitRule::Equal && n > 0 {
                let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
                prop_assert!(most - least <= 1);
                prop_assert_eq!(all.len() as u64, n.div_ceil(depth.max(1)));
            }
            if rule == SplitRule::Factor && all.len() > 1 && largest_factor(n) <= depth {
                // Every piece spreads evenly.
                prop_assert!(all.iter().all(|s| s % largest_factor(n) == 0));
            }
        }
    }
}

#[test]
fn unrolled_offsets_are_one_for_each_iteration() {
    let p = [Pair { step: 512, num: 3 }, Pair { step: 64, num: 2 }];
    let got: Vec<_> = offsets(&p, Dtype::F32).collect();
    assert_eq!(got, [0, 256, 2048, 2304, 4096, 4352]);
    assert_eq!(offsets(&[], Dtype::U8).collect::<Vec<_>>(), [0]);
}

#[test]
fn peel_leaves_a_short_last_chunk() {
    // 10 rows of 4: 12 elements are 3 rows.
    let m = after(&module(vec![gather(10)]), &with_elems(12), Stage::Peel);
    let chunks = insts(&m);
    assert_eq!(names(&m), ["I_0", "I_1", "I_2", "I_3"]);
    let rows: Vec<_> = chunks.iter().map(|i| i.ins[0].as_pattern().unwrap().pairs[0].num).collect();
    assert_eq!(rows, [3, 3, 3, 1]);
    let lists: Vec<_> = chunks.iter().map(|i| pairs(&i.ins[1])).collect();
    assert_eq!(lists[1], (3, vec![(1, 3)]));
    assert_eq!(lists[3], (9, vec![(1, 1)]));
    assert_eq!(pairs(&chunks[3].outs[0]), (36, vec![(4, 1), (1, 4)]));
    // An index says which row, not which row of the chunk.
    assert!(chunks.iter().all(|i| pairs(&i.ins[0]).0 == 0));
    assert!(chunks.iter().all(|i| i.pos == Pos(0)));
    // Static transfers are not peeled.
    assert_eq!(names(&after(&module(vec![copy(100)]), &with_elems(12), Stage::Peel)), ["I"]);
}

#[test]
fn a_row_that_is_too_large_is_a_chunk_of_its_own() {
    let m = after(&module(vec![gather(3)]), &with_elems(1), Stage::Peel);
    assert_eq!(names(&m), ["I_0", "I_1", "I_2"]);
    let m = after(&module(vec![gather(3)]), &with_elems(1), Stage::LowerDma);
    assert_eq!(blocks(&m).iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 4]);
}

#[test]
fn a_gather_is_cloned_once_for_each_index() {
    let m = after(&module(vec![gather(3)]), &Options::default(), Stage::Unroll);
    assert_eq!(names(&m), ["I_0", "I_1", "I_2"]);
    for (k, i) in insts(&m).iter().enumerate() {
        assert_eq!(i.ins.len(), 1, "the list is no operand any more");
        let p = i.ins[0].as_pattern().unwrap();
        assert_eq!((p.offset, p.pairs.as_slice()), (0, &[Pair { step: 1, num: 4 }][..]));
        let Some(Reference::Index { list, element, scale, max_index }) = &p.reference else {
            panic!("no reference")
        };
        assert_eq!((*element, *scale, *max_index), (k as u64, 8, None));
        assert_eq!(pairs(list), (0, vec![(1, 3)]));
        assert_eq!(pairs(&i.outs[0]), (4 * k as i64, vec![(4, 1), (1, 4)]));
    }
}

#[test]
fn a_register_is_moved_to_one_of_the_clones_own() {
    let m = after(&module(vec![scalar(10)]), &with_elems(4), Stage::Unroll);
    assert_eq!(names(&m), ["I_0_base", "I_0", "I_1_base", "I_1", "I_2_base", "I_2"]);
    let mut own = std::collections::BTreeSet::new();
    for pair in insts(&m).chunks(2) {
        assert_eq!(pair[0].opcode, Opcode::RegisterMove);
        let p = pair[1].ins[0].as_pattern().unwrap();
        let Some(Reference::Register { register, scale: 3 }) = &p.reference else {
            panic!("no reference")
        };
        assert_eq!(pair[0].outs[0].kind, crate::bir::OperandKind::Register(register.clone()));
        assert_eq!(p.start, Some(Expr::Const(2)));
        assert!(own.insert(register.clone()), "{register} twice");
        let mut registers = m.functions[0].allocations.iter();
        assert!(registers.any(|a| a.storage == StorageKind::Register && a.name == *register));
    }
}

#[test]
fn waits_are_on_the_first_clone_and_updates_on_the_last() {
    let mut g = gather(3);
    g.waits = vec![Wait { from: None, id: 7, value: 1, extra: Vec::new() }];
    g.updates = vec![Update { id: 8, value: 1, extra: Vec::new() }];
    g.deps = vec![Dep { name: "A".into(), kind: EdgeKind::Flow }];
    let mut a = copy(4);
    a.name = "A".into();
    let mut z = copy(4);
    z.name = "Z".into();
    z.deps = vec![Dep { name: "I".into(), kind: EdgeKind::Flow }];
    z.waits = vec![Wait { from: Some("I".into()), id: 8, value: 1, extra: Vec::new() }];
    let m = module(vec![a, g, z]);
    let u = insts(&after(&m, &Options::default(), Stage::Unroll));
    let counts: Vec<_> = u.iter().map(|i| (i.waits.len(), i.deps.len(), i.updates.len())).collect();
    assert_eq!(counts, [(0, 0, 0), (1, 1, 0), (0, 0, 0), (0, 0, 1), (1, 1, 0)]);
    assert_eq!(&*u[4].deps[0].name, "I_2");
    assert_eq!(u[4].waits[0].from.as_deref(), Some("I_2"));
    // Lowered, the update is the block's, and the wait names it.
    let m = after(&m, &Options::default(), Stage::LowerDma);
    let l = insts(&m);
    assert!(l.iter().all(|i| i.updates.is_empty()));
    assert_eq!((&*l[4].name, &*l[4].deps[0].name), ("Z", "I_2"));
    let q = m.queue("q").unwrap();
    let block = q.dma_blocks().find(|b| !b.updates.is_empty()).unwrap();
    assert_eq!(l[4].waits[0].from.as_ref(), Some(&block.name));
    assert_eq!(block.pos, Pos(1));
}

#[test]
fn the_same_name_twice_gives_clones_of_different_names() {
    let m = after(&module(vec![gather(2), gather(2)]), &Options::default(), Stage::Unroll);
    assert_eq!(names(&m), ["I_0", "I_1", "I_2", "I_3"]);
}

#[test]
fn split_cuts_at_the_sizes_of_its_rule() {
    for (n, rule, want) in [
        (1020, SplitRule::Factor, vec![1020]),
        (1021, SplitRule::Factor, vec![1020, 1]),
        (1024, SplitRule::Factor, vec![1008, 16]),
        (1024, SplitRule::Greedy, vec![1020, 4]),
        (1024, SplitRule::Equal, vec![512, 512]),
        (2048, SplitRule::Equal, vec![683, 683, 682]),
    ] {
        let rows = |l| at(l, 0, &[(16, n), (1, 3)]);
        let i = dma(DgeType::Swdge, vec![rows("x")], rows("y"));
        let opts = Options { split: rule, ..with_elems(3) };
        let m = after(&module(vec![i]), &opts, Stage::Split);
        let got: Vec<_> =
            insts(&m).iter().map(|i| i.outs[0].as_pattern().unwrap().pairs[0].num).collect();
        assert_eq!(got, want, "{n} {rule:?}");
    }
    // No depth without a DGE.
    let m = after(&module(vec![copy(5000)]), &with_elems(1), Stage::Split);
    assert_eq!(names(&m), ["I"]);
}

#[test]
fn each_iteration_has_a_block_and_all_are_bound_to_one_trigger() {
    let axis = |k: i64| Expr::Mul(Box::new(Expr::Axis("i".into())), k);
    let mut body = dma(
        DgeType::None,
        vec![started(at("x", 1, &[(1, 4)]), axis(10))],
        started(at("y", 0, &[(1, 4)]), axis(4)),
    );
    body.pos = Pos(1);
    let mut l = Inst::new(Pos(0), "L", Opcode::Loop, Engine::Unassigned);
    l.body = Body::Loop(Loop {
        axis: Axis { name: "i".into(), lb: 2, ub: 9, stride: 3 },
        blocks: vec![Block::new("body", vec![Arc::new(body)])],
    });
    let m = after(&module(vec![l]), &Options::default(), Stage::LowerDma);
    let starts: Vec<_> = blocks(&m).iter().map(|b| pairs(&b[0].ins[0]).0).collect();
    assert_eq!(starts, [21, 51, 81]);
    let trigger = insts(&m)[0].blocks()[0].insts[0].clone();
    let Body::Trigger(t) = &trigger.body else { panic!("no trigger") };
    assert_eq!(t.dma_blocks, ["dma_block_0".into(), "dma_block_1".into(), "dma_block_2".into()]);
    assert_eq!((&*trigger.name, trigger.pos), ("I", Pos(1)));
}

#[test]
fn a_section_begins_with_the_first_block_of_a_function_block() {
    let mut m = module(vec![copy(4), copy(4)]);
    let mut third = copy(4);
    third.pos = Pos(2);
    m.functions[0].blocks.push(Block::new("c", vec![Arc::new(third)]));
    let m = after(&m, &Options::default(), Stage::LowerDma);
    let of = |b: &Arc<Inst>| match &b.body {
        Body::DmaBlock(b) => (b.block_id.unwrap(), b.section_start),
        _ => panic!("no block"),
    };
    let got: Vec<_> = m.queue("q").unwrap().dma_blocks().map(of).collect();
    assert_eq!(got, [(0, true), (1, false), (2, true)]);
}

#[test]
fn long_blocks_are_cut_between_contiguous_runs() {
    // Rows of 4 apart from each other, two descriptors a row.
    let rows = |l| at(l, 0, &[(8, 3), (1, 4)]);
    let m = module(vec![dma(DgeType::None, vec![rows("x")], rows("y"))]);
    let opts = |n| Options { max_block_descs: Some(n), ..with_elems(2) };
    let lens = |n| {
        let lowered = lower(&m, &opts(n), Stage::LowerDma);
        let lens: Vec<_> = blocks(lowered.module().unwrap()).iter().map(Vec::len).collect();
        (lens, lowered.findings().map(|f| f.diag.code).collect::<Vec<_>>())
    };
    assert_eq!(lens(6), (vec![6], vec![]));
    assert_eq!(lens(5), (vec![4, 2], vec![]));
    assert_eq!(lens(3), (vec![2, 2, 2], vec![]));
    assert_eq!(lens(1), (vec![1; 6], vec!["L025"]));
}

#[test]
fn what_a_transfer_says_travels_to_its_trigger_block_and_descriptors() {
    let mut i = copy(4);
    let filename = Some("f.py".into());
    let debug = crate::bir::Debug { filename, lineno: Some(3), op_name: None, extra: Vec::new() };
    i.debug = Some(debug.into());
    i.extra = vec![("engine_id".into(), crate::bir::Value::int(3))];
    keys(&mut i).qos = crate::bir::QosClass::P3;
    keys(&mut i).remote_notification = vec![5];
    keys(&mut i).can_read_uninit = true;
    let m = after(&module(vec![i.clone()]), &Options::default(), Stage::LowerDma);
    let trigger = insts(&m)[0].clone();
    let Body::Trigger(t) = &trigger.body else { panic!("no trigger") };
    assert_eq!((t.qos, &trigger.extra), (crate::bir::QosClass::P3, &i.extra));
    let q = m.queue("q").unwrap();
    let Body::DmaBlock(b) = &q.dma_blocks().next().unwrap().body else { panic!("no block") };
    assert_eq!(b.remote_notifications, [5]);
    let d = b.descriptors().next().unwrap();
    let Body::Descriptor(keys) = &d.body else { panic!("no descriptor") };
    assert!(keys.can_read_uninit && d.debug == i.debug && trigger.debug == i.debug);
}

#[test]
fn streams_end_with_a_noop_only_once() {
    let m = after(&module(vec![copy(4)]), &Options::default(), Stage::LowerDma);
    let ends: Vec<_> = insts(&m)[1..].iter().map(|i| (i.opcode.clone(), i.engine)).collect();
    assert_eq!(ends, Engine::STREAMS.map(|e| (Opcode::NoOp, e)));
    assert!(*after(&m, &Options::default(), Stage::LowerDma) == *m);
    let empty = module(vec![]);
    assert!(*after(&empty, &Options::default(), Stage::LowerDma) == empty, "nothing to lower");
}

#[test]
fn overlapping_pieces_run_in_a_safe_order_or_through_scratch() {
    let moved = |from: i64, to: i64| {
        dma(DgeType::None, vec![at("x", from, &[(1, 8)])], at("x", to, &[(1, 8)]))
    };
    let first = |m: &Module| pairs(&blocks(m)[0][0].ins[0]).0;
    // Downwards the first piece may be first, upwards it must be last.
    let down = after(&module(vec![moved(3, 0)]), &with_elems(4), Stage::LowerDma);
    let up = after(&module(vec![moved(0, 3)]), &with_elems(4), Stage::LowerDma);
    assert_eq!((first(&down), first(&up)), (3, 4));
    let turned = dma(DgeType::None, vec![at("x", 7, &[(-1, 8)])], at("x", 0, &[(1, 8)]));
    let m = module(vec![turned.clone()]);
    assert_eq!(codes(&m, &with_elems(4)), ["L023"]);
    assert_eq!(codes(&m, &Options::default()), [""; 0], "one descriptor is buffered");
    let m = after(&m, &with_elems(4), Stage::LowerDma);
    let scratch = m.locations().find(|(_, l)| l.name.starts_with("dmadbg_scratch_")).unwrap().1;
    assert!(scratch.addr >= (1 << 21) + (1 << 16) && scratch.dims == [8]);
    assert_eq!(blocks(&m)[0].len(), 4);
    let mut full = module(vec![turned]);
    let rest = crate::bir::layout::DRAM_BYTES - (1 << 22);
    full.functions[0].allocations.push(location("all", Space::Dram, 1 << 22, &[rest]));
    assert_eq!(codes(&full, &with_elems(4)), ["L022"]);
}

#[test]
fn options_of_a_descriptor_hold_for_every_type_and_generation() {
    let o = Options::default();
    let wide = dma(DgeType::None, vec![typed(Dtype::U64, "x", &[])], typed(Dtype::U8, "y", &[]));
    assert_eq!(o.desc_elems(&wide, None), 8192);
    let mut cce = copy(1);
    keys(&mut cce).mode = Mode::Cce;
    assert_eq!(o.desc_elems(&cce, Some(Arch::Sunda)), 1024);
    assert_eq!(o.desc_elems(&cce, Some(Arch::Gen3)), 2048);
    assert_eq!(o.desc_elems(&gather(1), None), 65_536, "an index list is no data");
    assert_eq!(with_elems(1 << 40).desc_elems(&copy(1), None), 65_536);
}

fn transpose() -> Inst {
    let p = |l| typed(Dtype::U16, l, &[(512, 2), (64, 2), (16, 2), (1, 2)]);
    let mut i = dma(DgeType::Unassigned, vec![p("x")], p("s"));
    keys(&mut i).mode = Mode::Transpose;
    keys(&mut i).transpose = TransposeOp::Xyzw;
    i
}

fn cce(n: usize) -> Inst {
    let o = |l| typed(Dtype::F32, l, &[(1, 4)]);
    let mut i = dma(DgeType::None, vec![o("x"); n], o("y"));
    keys(&mut i).mode = Mode::Cce;
    keys(&mut i).cce_op = AluOp::Add;
    i
}

fn replicate(rows: u64, copies: u64) -> Inst {
    let mut i = dma(
        DgeType::None,
        vec![at("x", 0, &[(4, rows), (1, 4)])],
        at("s", 0, &[(1024, copies), (1, 4)]),
    );
    keys(&mut i).mode = Mode::Replicate;
    i
}

#[test]
fn a_transpose_is_cut_along_whole_dimensions_on_both_sides() {
    let m = after(&module(vec![transpose()]), &with_elems(4), Stage::LowerDma);
    let cut: Vec<_> = blocks(&m)[0].iter().map(|d| (pairs(&d.ins[0]), pairs(&d.outs[0]))).collect();
    let source = vec![(512, 1), (64, 1), (16, 2), (1, 2)];
    let dest = vec![(512, 2), (64, 2), (16, 1), (1, 1)];
    let places = [(0, 0), (64, 16), (512, 1), (576, 17)];
    assert_eq!(cut, places.map(|(a, b)| ((a, source.clone()), (b, dest.clone()))));
    assert!(blocks(&m)[0].iter().all(|d| d.opcode == Opcode::DescriptorTranspose));
}

#[test]
fn a_replicate_is_cut_into_whole_rounds_or_parts_of_one() {
    let cut = |elems| {
        let m = after(&module(vec![replicate(2, 6)]), &with_elems(elems), Stage::LowerDma);
        let rows = |o: &Operand| o.as_pattern().unwrap().pairs[0].num;
        blocks(&m)[0].iter().map(|d| (rows(&d.ins[0]), rows(&d.outs[0]))).collect::<Vec<_>>()
    };
    assert_eq!(cut(24), [(2, 6)]);
    assert_eq!(cut(16), [(2, 4), (2, 2)]);
    assert_eq!(cut(12), [(2, 2), (2, 2), (2, 2)]);
    assert_eq!(cut(4), [(1, 1); 6]);
    assert_eq!(cut(2), [(1, 1); 12]);
}

#[test]
fn stages_are_found_by_name_and_stop_where_told() {
    for s in Stage::ALL {
        assert_eq!(Stage::by_name(s.name()), Some(s));
    }
    let m = module(vec![copy(4)]);
    let mut seen = Vec::new();
    lower_with(&m, &Options::default(), Stage::Split, &mut |s| seen.push(s.stage));
    assert_eq!(seen, [Stage::Loaded, Stage::Peel, Stage::Unroll, Stage::Split]);
    let all = lower(&m, &Options::default(), Stage::Rings);
    let last = all.snapshots.last().unwrap();
    assert_eq!(last.stage, Stage::LowerDma);
    assert_eq!((last.stats.triggers, last.stats.descriptors, last.stats.dmas), (1, 1, 0));
}

#[test]
fn joined_transfers_share_a_block() {
    let opts = Options { reuse_block: true, ..Options::default() };
    let m = after(&module(vec![copy(4), copy(5), copy(6)]), &opts, Stage::LowerDma);
    assert_eq!(blocks(&m).iter().map(Vec::len).collect::<Vec<_>>(), [3]);
    let origins: Vec<_> = blocks(&m)[0].iter().map(|d| d.pos).collect();
    assert_eq!(origins, [Pos(0), Pos(1), Pos(2)]);
    let mut waiting = copy(5);
    waiting.waits = vec![Wait { from: None, id: 1, value: 0, extra: Vec::new() }];
    let m = after(&module(vec![copy(4), waiting]), &opts, Stage::LowerDma);
    assert_eq!(blocks(&m).len(), 2);
}
