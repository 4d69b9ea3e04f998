//! What cannot be lowered, or only with a remark.

use super::*;

fn refused(inst: Inst) -> Vec<&'static str> {
    let m = module(vec![inst]);
    let lowered = lower(&m, &Options::default(), Stage::LowerDma);
    assert!(lowered.has_errors());
    let left = insts(lowered.module().unwrap());
    assert!(left.iter().all(|i| i.opcode != Opcode::DmaTrigger), "it stays as it is");
    lowered.findings().map(|f| f.diag.code).collect()
}

#[test]
fn routes_are_settled_with_a_warning() {
    let mut lost = copy(4);
    lost.engine = Engine::Unassigned;
    keys(&mut lost).queue = None;
    let m = module(vec![lost]);
    assert_eq!(codes(&m, &Options::default()), ["L001"]);
    let m = after(&m, &Options::default(), Stage::Peel);
    assert_eq!(insts(&m)[0].engine, Engine::Pool);
    assert!(m.queue(insts(&m)[0].dma().unwrap().queue.as_ref().unwrap()).is_some());

    let mut hw = scalar(4);
    keys(&mut hw).dge = DgeType::Hwdge;
    let m = module(vec![hw]);
    assert_eq!(codes(&m, &Options::default()), ["L002"]);
    let mut vector = gather(2);
    (keys(&mut vector).dge, vector.engine) = (DgeType::Hwdge, Engine::Sp);
    let m = module(vec![vector]);
    assert_eq!(codes(&m, &Options::default()), [""; 0], "a vector index may stay HWDGE");
    let t = insts(&after(&m, &Options::default(), Stage::LowerDma));
    assert!(matches!(&t[0].body, Body::Trigger(t) if t.dge == DgeType::Hwdge));
}

#[test]
fn each_fault_has_its_code() {
    let change = |mut i: Inst, f: &dyn Fn(&mut Inst)| {
        f(&mut i);
        i
    };
    let none = |i| change(i, &|i| keys(i).dge = DgeType::None);
    let index = |f: &dyn Fn(&mut Inst)| change(gather(3), f);
    let start = |e: Expr| {
        dma(DgeType::Swdge, vec![started(at("x", 0, &[(1, 4)]), e)], at("y", 0, &[(1, 4)]))
    };
    let reg = |n: &str| Expr::Register(n.into());
    let cases: Vec<(Inst, &[&str])> = vec![
        (none(gather(3)), &["L003"]),
        (none(scalar(4)), &["L003"]),
        (index(&|i| i.outs[0] = started(i.outs[0].clone(), reg("r"))), &["L004"]),
        (
            index(&|i| {
                i.ins[0] = started(i.ins[0].clone(), Expr::Sum(vec![reg("r"), Expr::Index(1)]))
            }),
            &["L005"],
        ),
        (change(copy(4), &|i| i.ins[0].as_pattern_mut().unwrap().dynamic_info = true), &["L005"]),
        (index(&|i| i.ins[1].dtype = Some(Dtype::U8)), &["L006"]),
        (index(&|i| i.ins[1] = typed(Dtype::I32, "idx", &[(1, 2)])), &["L006"]),
        (
            index(&|i| {
                i.ins.pop();
            }),
            &["L006"],
        ),
        (gather(4097), &["L006"]),
        (start(Expr::Sum(vec![reg("r"), reg("s")])), &["L007"]),
        (start(Expr::Axis("nowhere".into())), &["L007"]),
        (start(Expr::FloorDiv(Box::new(Expr::Const(1)), Box::new(Expr::Const(0)))), &["L007"]),
        (dma(DgeType::None, vec![at("x", 0, &[(1, 4)])], at("y", 0, &[(1, 5)])), &["L012"]),
        (change(transpose(), &|i| keys(i).transpose = TransposeOp::Wxzy), &["L013"]),
        (change(transpose(), &|i| i.outs[0] = i.ins[0].clone()), &["L013"]),
        (
            change(transpose(), &|i| {
                i.ins[0].as_pattern_mut().unwrap().pairs.pop();
            }),
            &["L012"],
        ),
        (change(copy(4), &|i| keys(i).dge = DgeType::Hwdge), &["L015"]),
        (cce(17), &["L017"]),
        (change(cce(2), &|i| keys(i).cce_op = AluOp::Mult), &["L017"]),
        (change(cce(2), &|i| keys(i).constants = Some(vec![1.0])), &["L017"]),
        (change(cce(1), &|i| i.ins[0].dtype = Some(Dtype::I32)), &["L017"]),
        (replicate(3, 8), &["L018"]),
        (change(replicate(1, 8), &|i| i.ins[0] = at("x", 0, &[(1, 4)])), &["L018"]),
        (change(copy(4), &|i| keys(i).cce_op = AluOp::Add), &["L019"]),
        (change(transpose(), &|i| keys(i).cce_op = AluOp::Add), &["L019"]),
        (change(copy(4), &|i| i.ins.clear()), &["L019"]),
        (change(copy(4), &|i| i.ins[0] = at("x", 1 << 20, &[(1, 4)])), &["L021"]),
        (change(copy(4), &|i| i.ins[0] = at("nothing", 0, &[(1, 4)])), &["L021"]),
        (change(copy(4), &|i| keys(i).queue = Some("other".into())), &["L026"]),
    ];
    for (inst, want) in cases {
        assert_eq!(refused(inst.clone()), want, "{inst:?}");
    }
}

#[test]
fn generations_and_counts_of_queues_are_held_to() {
    let mut m = module(vec![replicate(1, 4)]);
    assert_eq!(codes(&m, &Options::default()), [""; 0]);
    m.arch = Some(Arch::Sunda);
    assert_eq!(codes(&m, &Options::default()), ["L018"]);
    let mut hw = copy(4);
    (hw.engine, keys(&mut hw).dge) = (Engine::Sp, DgeType::Hwdge);
    let mut m = module(vec![hw]);
    assert_eq!(codes(&m, &Options::default()), [""; 0]);
    m.arch = Some(Arch::Sunda);
    assert_eq!(codes(&m, &Options::default()), ["L015"]);
    let queue = |k| Queue { name: format!("q{k}").into(), blocks: Vec::new(), extra: Vec::new() };
    let mut m = module(vec![copy(4)]);
    m.queues.extend((1..176).map(queue));
    assert_eq!(codes(&m, &Options::default()), [""; 0]);
    m.queues.push(queue(176));
    assert_eq!(codes(&m, &Options::default()), ["L016"]);
}

#[test]
fn what_has_no_public_rule_is_said_and_left() {
    let mut load = dma(DgeType::Swdge, vec![at("x", 0, &[(1, 2000)])], at("y", 0, &[(1, 2000)]));
    load.opcode = Opcode::Load;
    let opts = Options { max_block_descs: Some(5000), ..with_elems(1) };
    assert_eq!(codes(&module(vec![load]), &opts), ["L009"]);
    for opcode in [Opcode::GenericIndirectLoad, Opcode::IndirectSaveAccumulate] {
        let mut i = gather(2);
        i.opcode = opcode.clone();
        let m = module(vec![i]);
        assert_eq!(codes(&m, &Options::default()), ["L020"]);
        let left = after(&m, &Options::default(), Stage::LowerDma);
        assert_eq!(insts(&left)[0].opcode, opcode);
    }
}

#[test]
fn check_sees_what_the_stages_before_it_should_have_done() {
    let run = |m: &Module, opts: &Options| {
        let mut cx = Context::new(opts, m.arch);
        check::run(&std::sync::Arc::new(m.clone()), &mut cx);
        cx.take_findings().iter().map(|f| f.diag.code).collect::<Vec<_>>()
    };
    assert_eq!(run(&module(vec![gather(3)]), &Options::default()), ["L010"]);
    let mut many = copy(1021);
    keys(&mut many).dge = DgeType::Swdge;
    assert_eq!(run(&module(vec![many]), &with_elems(1)), ["L011"]);
}

#[test]
fn lowering_stays_bounded() {
    let huge = |l| at(l, 0, &[(0, 1 << 40)]);
    let m = module(vec![dma(DgeType::None, vec![huge("x")], huge("y"))]);
    assert_eq!(codes(&m, &with_elems(1)), ["L024"]);
    let mut l = Inst::new(Pos(0), "L", Opcode::Loop, Engine::Unassigned);
    let axis = Axis { name: "i".into(), lb: 0, ub: i64::MAX, stride: 1 };
    l.body = Body::Loop(Loop { axis, blocks: vec![Block::new("b", vec![Arc::new(copy(1))])] });
    assert_eq!(codes(&module(vec![l.clone()]), &Options::default()), ["L024"]);
    let axis = Axis { name: "i".into(), lb: 0, ub: 0, stride: 1 };
    l.body = Body::Loop(Loop { axis, blocks: vec![Block::new("b", vec![Arc::new(copy(1))])] });
    assert_eq!(codes(&module(vec![l]), &Options::default()), ["L027"]);
}

#[test]
fn a_pattern_of_a_huge_count_is_no_place_to_panic() {
    let p = Pattern::new("x", i64::MAX, &[(i64::MIN, u64::MAX), (i64::MAX, 3), (1, u64::MAX)]);
    for (out, dge) in [("y", DgeType::None), ("s", DgeType::Swdge)] {
        for mode in Mode::ALL {
            let mut i =
                dma(dge, vec![Operand::pattern(Dtype::F32, p.clone())], at(out, 0, &[(1, 4)]));
            keys(&mut i).mode = *mode;
            let m = module(vec![i]);
            assert!(lower(&m, &with_elems(1), Stage::LowerDma).has_errors());
            assert!(Layout::new(&m).errors().is_empty());
        }
    }
}
