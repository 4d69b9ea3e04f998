use super::fixture::*;
use crate::bir::exec::*;
use crate::bir::module::*;
use crate::bir::*;
use Engine::{Activation, Pool, Sp};

fn sum(terms: Vec<Expr>) -> Expr {
    Expr::Sum(terms)
}

fn times(e: Expr, by: i64) -> Expr {
    Expr::Mul(Box::new(e), by)
}

#[test]
fn addresses_use_axis_values_of_all_loops_around() {
    let mut m = Make::new(&[("x", &[16]), ("y", &[16])]);
    let place = || sum(vec![times(axis("i"), 4), axis("j")]);
    let copy = m.copy(
        "c",
        Pool,
        starting(bytes("x", 0, 1), place()),
        starting(bytes("y", 15, 1), times(place(), -1)),
    );
    let inner = m.rounds("j", (1, 4, 2), vec![copy]);
    let outer = m.rounds("i", (0, 4, 1), vec![inner]);
    m.add(outer);
    let got = m.run(&[("x", count(16)), ("y", vec![0; 16])]).ok();
    let want: Vec<u8> = (0..16).rev().map(|k| if k % 2 == 1 { k as u8 + 1 } else { 0 }).collect();
    assert_eq!(got.dump("y"), want);
    assert_eq!(got.outcome.transfers, 8);
}

#[test]
fn a_loop_without_rounds_is_passed_and_one_without_stride_is_an_error() {
    let mut m = Make::new(&[("x", &[4])]);
    let copy = m.move_bytes("c", Pool, ("x", 9), ("x", 0), 1);
    let never = m.rounds("i", (4, 4, 0), vec![copy]);
    m.add(never);
    m.run(&[]).ok();
    let noop = m.inst("n", "NoOp", Pool);
    let bad = m.rounds("i", (0, 4, 0), vec![noop]);
    m.add(bad);
    assert_eq!(m.run(&[]).error().0, "B087");
}

#[test]
fn endless_programs_end_with_the_limit() {
    let long = |m: &mut Make| {
        let noop = m.inst("n", "NoOp", Pool);
        vec![m.rounds("i", (0, 1 << 40, 1), vec![]), m.rounds("i", (0, 1 << 40, 1), vec![noop])]
    };
    for k in 0..2 {
        let mut m = Make::new(&[]);
        let i = long(&mut m).swap_remove(k);
        m.add(i);
        let got = m.run(&[]);
        assert_eq!(got.error().0, "B070");
        assert!(got.outcome.steps < 10, "seen at once, not counted out");
    }
    // Many of few.
    let mut m = Make::new(&[]);
    let noop = m.inst("n", "NoOp", Pool);
    let inner = m.rounds("j", (0, 1 << 20, 1), vec![noop]);
    let outer = m.rounds("i", (0, 1 << 20, 1), vec![inner]);
    m.add(outer);
    assert_eq!((m.run(&[]).error().0, m.run(&[]).outcome.steps), ("B070", 0));
    // A condition that always holds.
    let mut m = Make::new(&[]);
    let w = m.while_true("w", Expr::Const(1), vec![]);
    m.add(w);
    assert_eq!(m.run(&[]).error().0, "B070");
    // A register that nobody changes, and a block that goes to itself: the option counts.
    let mut m = Make::new(&[]);
    let set = m.set("r", imm(1), Pool);
    let w = m.while_true("w", Expr::Register("r".into()), vec![]);
    m.add(set).add(w);
    let mut n = Make::new(&[]);
    let mut jump = n.inst("j", "UnconditionalBranch", Pool);
    jump.body = Body::Jump("b0".into());
    n.add(jump);
    for m in [m, n] {
        let options = Options { max_steps: 1000, ..Options::default() };
        let out = run(&m.program(), &mut Memory::new(), &options);
        assert_eq!((out.error().unwrap().diag.code, out.steps), ("B070", 1000));
    }
}

#[test]
fn moved_bytes_are_bounded() {
    let mut m = Make::new(&[("x", &[64])]);
    let copy = m.move_bytes("c", Pool, ("x", 0), ("x", 32), 32);
    let all = m.rounds("i", (0, 1000, 1), vec![copy]);
    m.add(all);
    let p = m.program();
    let options = Options { max_bytes: 10 * 1024, ..Options::default() };
    let out = run(&p, &mut filled(&p, &[("x", vec![0; 64])]), &options);
    assert_eq!((out.error().unwrap().diag.code, out.bytes), ("B089", 320));
    // Bytes that lie apart count for more.
    let mut m = Make::new(&[("x", &[256]), ("y", &[128])]);
    let apart = m.copy("c", Pool, ap(Dtype::U8, "x", 0, &[(2, 128)]), bytes("y", 0, 128));
    m.add(apart);
    let p = m.program();
    for (max_bytes, ends) in [(128 * 32, true), (128 * 32 - 1, false)] {
        let options = Options { max_bytes, ..Options::default() };
        let out = run(&p, &mut filled(&p, &[("x", vec![0; 256])]), &options);
        assert_eq!(out.finished, ends);
    }
}

#[test]
fn bounds_of_a_dynamic_loop_are_read_once() {
    let mut m = Make::new(&[("x", &[16]), ("y", &[16])]);
    let set = m.set("n", imm(5), Pool);
    let at = |l| starting(bytes(l, 0, 1), axis("i"));
    let a = m.copy("a", Pool, at("x"), at("y"));
    let more = m.alu(AluOp::Add, "n", reg("n"), imm(9), Pool);
    let b = m.copy("b", Sp, at("x"), starting(bytes("y", 8, 1), axis("i")));
    let mut l = m.inst("l", "DynamicForLoop", Engine::Unassigned);
    let insts = [a, more, b].map(std::sync::Arc::new).to_vec();
    let (lb, ub, stride) = (Expr::Const(1), Expr::Register("n".into()), Expr::Const(2));
    let blocks = vec![block(insts)];
    l.body = Body::DynamicLoop(DynamicLoop { axis: "i".into(), lb, ub, stride, blocks }.into());
    m.add(set).add(l);
    let got = m.run(&[("x", count(16)), ("y", vec![0; 16])]).ok();
    assert_eq!(got.dump("y"), [0, 2, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 0, 0, 0, 0]);
}

#[test]
fn all_engines_of_a_conditional_loop_see_one_condition() {
    // Pool counts down and copies; SP copies what Pool does not. The register is at another
    // value whenever SP comes late.
    let mut m = Make::new(&[("x", &[8]), ("y", &[16])]);
    let set = m.set("r", imm(4), Pool);
    let r = || Expr::Register("r".into());
    let a = m.copy("a", Pool, starting(bytes("x", 0, 1), r()), bytes("y", 0, 1));
    let less = m.alu(AluOp::Subtract, "r", reg("r"), imm(1), Pool);
    let b = m.move_bytes("b", Sp, ("y", 8), ("y", 9), 7);
    let w = m.while_true("w", r(), vec![a, less, b]);
    m.add(set).add(w);
    let p = m.program();
    let memory = filled(&p, &[("x", count(8)), ("y", count(16))]);
    let mut ends = Vec::new();
    for prefer in [Pool, Sp] {
        let (mut c, mut mem) = (Control::new(&p), memory.clone());
        let out = run_from(&p, &mut c, &mut mem, &Options::default(), &mut |c| {
            let ready = c.ready_engines(&p);
            ready.iter().find(|e| **e == prefer).or(ready.first()).copied()
        });
        assert!(out.finished, "{:?}", out.findings);
        assert_eq!((out.transfers, c.register("r")), (8, Some(0)));
        ends.push(mem);
    }
    assert_eq!(ends[0], ends[1]);
    assert_eq!(ends[0].dump(p.layout(), "y").unwrap()[9..], [9, 9, 9, 9, 10, 11, 12]);
}

#[test]
fn each_engine_follows_its_own_branch() {
    let mut m = Make::new(&[("x", &[8]), ("y", &[8])]);
    let (a, b) = (m.set("a", imm(0), Pool), m.set("b", imm(0), Sp));
    m.add(a).add(b);
    let r = |n: &str| Expr::Register(n.into());
    let mut body = Vec::new();
    for (name, engine, from, n) in [("a", Pool, 0, 3), ("b", Sp, 4, 2)] {
        let at = |l| starting(bytes(l, from, 1), r(name));
        let mut to = at("y");
        to.as_pattern_mut().unwrap().start = None;
        to.as_pattern_mut().unwrap().offset = from;
        body.push(m.copy("c", engine, at("x"), to));
        body.push(m.alu(AluOp::Add, name, reg(name), imm(1), engine));
        body.push(m.branch(
            engine,
            BranchOp::LtImm,
            (reg(name), imm(n)),
            Some("body"),
            Some("end"),
        ));
    }
    m.add_block("body", body);
    let last = m.inst("n", "NoOp", Pool);
    m.add_block("end", vec![last]);
    let got = m.run(&[("x", count(8)), ("y", vec![0; 8])]).ok();
    assert_eq!(got.outcome.transfers, 5);
    assert_eq!(got.dump("y"), [3, 0, 0, 0, 6, 0, 0, 0]);
}

#[test]
fn an_engine_without_a_branch_goes_with_the_first_that_has_one() {
    let mut m = Make::new(&[("x", &[8]), ("y", &[8])]);
    let set = m.set("r", imm(0), Pool);
    m.add(set);
    // SP has no branch and must go round with Pool; DVE has nothing to do in the loop.
    let shift = m.move_bytes("c", Sp, ("y", 0), ("y", 1), 7);
    let one = m.alu(AluOp::Add, "r", reg("r"), imm(1), Pool);
    let again = m.branch(Pool, BranchOp::LtReg, (reg("r"), imm(3)), Some("body"), None);
    m.add_block("body", vec![one, again, shift]);
    let skip = m.branch(Pool, BranchOp::EqImm, (reg("r"), imm(3)), Some("end"), None);
    m.add_block("test", vec![skip]);
    let never = m.move_bytes("no", Engine::Dve, ("x", 0), ("y", 0), 8);
    m.add_block("never", vec![never]);
    let last = m.move_bytes("last", Engine::Dve, ("x", 7), ("y", 7), 1);
    m.add_block("end", vec![last]);
    let fill = [("x", count(8)), ("y", vec![7, 0, 0, 0, 0, 0, 0, 0])];
    let got = m.run(&fill).ok();
    assert_eq!(got.dump("y"), [7, 7, 7, 7, 0, 0, 0, 8]);
    assert_eq!(got.outcome.transfers, 4);
}

#[test]
fn branches_go_to_blocks_that_exist() {
    let mut m = Make::new(&[]);
    let b = m.branch(Pool, BranchOp::EqImm, (imm(1), imm(1)), Some("nowhere"), None);
    m.add(b);
    assert_eq!(m.run(&[]).error().0, "B073");
    let mut m = Make::new(&[]);
    let b = m.branch(Pool, BranchOp::EqImm, (imm(1), imm(2)), Some("nowhere"), None);
    m.add(b);
    m.run(&[]).ok();
}

#[test]
fn a_branch_leaves_the_loops_it_is_in() {
    let mut m = Make::new(&[("x", &[8]), ("y", &[8])]);
    let copy = m.copy("c", Activation, bytes("x", 0, 1), starting(bytes("y", 0, 1), axis("i")));
    let r = m.alu(AluOp::Add, "r", imm(1), imm(1), Activation);
    let out = m.branch(Activation, BranchOp::EqImm, (reg("r"), imm(2)), Some("end"), None);
    let l = m.rounds("i", (3, 8, 1), vec![copy, r, out]);
    m.add(l);
    let skipped = m.move_bytes("s", Activation, ("x", 0), ("y", 0), 8);
    m.add_block("skipped", vec![skipped]);
    m.add_block("end", vec![]);
    let got = m.run(&[("x", count(8)), ("y", vec![0; 8])]).ok();
    assert_eq!(got.dump("y"), [0, 0, 0, 1, 0, 0, 0, 0]);
}

#[test]
fn registers_go_to_memory_and_back() {
    let mut m = Make::new(&[("x", &[8]), ("y", &[8])]);
    let mut load = m.inst("l", "TensorLoad", Pool);
    (load.ins, load.outs) = ([ap(Dtype::I16, "x", 1, &[(1, 1)])].into(), [reg("r")].into());
    let double = m.alu(AluOp::Mult, "r", reg("r"), imm(-2), Pool);
    let mut save = m.inst("s", "TensorSave", Pool);
    (save.ins, save.outs) = ([reg("r")].into(), [ap(Dtype::I32, "y", 1, &[(1, 1)])].into());
    let mut addr = m.inst("a", "ReadVarAddr", Pool);
    (addr.ins, addr.outs) = ([ap(Dtype::U8, "x", 0, &[(1, 1)])].into(), [reg("v")].into());
    let copy =
        m.copy("c", Pool, starting(bytes("x", 0, 1), Expr::Register("v".into())), bytes("y", 0, 1));
    m.add(load).add(double).add(save).add(addr).add(copy);
    let got = m.run(&[("x", count(8)), ("y", vec![0; 8])]).ok();
    assert_eq!(got.dump("y")[4..], (-2i32 * 0x0403).to_le_bytes());
    assert_eq!(got.dump("y")[0], 2);
}

#[test]
fn a_branch_of_all_engines_is_taken_by_all_at_once() {
    let mut m = Make::new(&[("y", &[8])]);
    let set = m.set("r", imm(0), Pool);
    m.add(set);
    let shift = m.move_bytes("c", Sp, ("y", 0), ("y", 1), 7);
    let one = m.alu(AluOp::Add, "r", reg("r"), imm(1), Pool);
    let again = m.branch(Engine::All, BranchOp::LtImm, (reg("r"), imm(3)), Some("body"), None);
    m.add_block("body", vec![one, shift, again]);
    let p = m.program();
    for prefer in [Pool, Sp] {
        let mut mem = filled(&p, &[("y", vec![7, 0, 0, 0, 0, 0, 0, 0])]);
        let out = run_from(&p, &mut Control::new(&p), &mut mem, &Options::default(), &mut |c| {
            let ready = c.ready_engines(&p);
            ready.iter().find(|e| **e == prefer).or(ready.first()).copied()
        });
        assert!(out.finished, "{:?}", out.findings);
        assert_eq!(mem.dump(p.layout(), "y").unwrap(), [7, 7, 7, 7, 0, 0, 0, 0]);
    }
}

#[test]
fn a_long_loop_that_is_left_early_is_no_endless_one() {
    let mut m = Make::new(&[]);
    let set = m.set("r", imm(0), Pool);
    let one = m.alu(AluOp::Add, "r", reg("r"), imm(1), Pool);
    let out = m.branch(Pool, BranchOp::EqImm, (reg("r"), imm(9)), Some("end"), None);
    let l = m.rounds("i", (0, 1 << 40, 1), vec![one, out]);
    m.add(set).add(l);
    m.add_block("end", vec![]);
    assert!(m.run(&[]).ok().outcome.steps < 100);
}
