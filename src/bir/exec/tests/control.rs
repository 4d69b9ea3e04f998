use super::fixture::*;
use crate::bir::exec::*;
use crate::bir::module::*;
use crate::bir::*;
use Engine::{Activation, Dve, Pe, Pool, Sp};

fn wait(id: u64, value: u64) -> Wait {
    Wait { from: None, id, value, extra: vec![] }
}

fn update(id: u64, value: u64) -> Update {
    Update { id, value, extra: vec![] }
}

fn dep(name: &str) -> Dep {
    Dep { name: name.into(), kind: EdgeKind::Flow }
}

/// Names of instructions in the order in which a program starts them.
fn order(m: &Make) -> Vec<String> {
    let p = m.program();
    let mut c = Control::new(&p);
    let memory = Memory::new();
    let mut names = Vec::new();
    while let Choice::Run(e) = c.next_engine(&p) {
        let inst = c.current(&p, e).and_then(|i| p.inst(i));
        names.extend(inst.filter(|i| !i.opcode.is_container()).map(|i| i.name.to_string()));
        c.fetch(&p, &memory, e).unwrap();
        c.complete(&p, e);
    }
    assert_eq!(c.next_engine(&p), Choice::Done);
    names
}

fn noop(m: &mut Make, name: &str, engine: Engine) -> Inst {
    m.inst(name, "NoOp", engine)
}

#[test]
fn without_waits_a_module_runs_in_the_order_of_its_arrays() {
    let mut m = Make::new(&[]);
    let body = [("a", Pool), ("b", Sp), ("c", Dve)].map(|(n, e)| noop(&mut m, n, e));
    let inner = m.rounds("j", (0, 2, 1), body.to_vec());
    let d = noop(&mut m, "d", Sp);
    let outer = m.rounds("i", (0, 2, 1), vec![inner, d]);
    let e = noop(&mut m, "e", Pe);
    m.add(outer).add(e);
    assert_eq!(order(&m).concat(), "abcabcdabcabcde");
}

#[test]
fn semaphores_hold_until_they_are_high_enough() {
    let mut m = Make::new(&[]);
    let mut a = noop(&mut m, "a", Pool);
    a.waits = vec![wait(3, 2)];
    let mut b = noop(&mut m, "b", Sp);
    b.updates = vec![update(3, 1)];
    let b2 = b.clone();
    m.add(a).add(b).add(b2);
    assert_eq!(order(&m).concat(), "bba");
    let mut c = noop(&mut m, "c", Pool);
    c.waits = vec![wait(3, 3)];
    m.add(c);
    let (code, text) = m.run(&[]).error();
    assert_eq!(code, "B071");
    assert!(text.contains("Pool at `c` waits for semaphore 3 to be 3; it is 2"), "{text}");
}

#[test]
fn a_reset_zeroes_and_a_barrier_joins() {
    let mut m = Make::new(&[]);
    let mut a = noop(&mut m, "a", Sp);
    a.updates = vec![update(1, 5), update(2, 1)];
    let mut bar = m.inst("bar", "AllEngineBarrier", Engine::All);
    bar.waits = vec![wait(1, 5)];
    let mut reset = m.inst("reset", "GroupResetSemaphores", Engine::All);
    reset.body = Body::ResetSemaphores(vec![1]);
    let b = noop(&mut m, "b", Pool);
    let c = noop(&mut m, "c", Pool);
    m.add(b).add(bar).add(c).add(reset).add(a);
    // `a` comes after the barrier in SP's stream: it can never come.
    let (code, text) = m.run(&[]).error();
    assert_eq!(code, "B071");
    assert!(text.contains("semaphore 1"), "{text}");
    m.module.functions[0].blocks[0].insts.rotate_right(1);
    assert_eq!(order(&m), ["a", "b", "bar", "c", "reset"]);
    let p = m.program();
    let mut control = Control::new(&p);
    run_from(&p, &mut control, &mut Memory::new(), &Options::default(), &mut |c| {
        c.ready_engines(&p).last().copied()
    });
    assert_eq!(control.semaphores().collect::<Vec<_>>(), [(2, 1)]);
}

#[test]
fn a_barrier_in_a_loop_joins_each_round() {
    let mut m = Make::new(&[]);
    let a = noop(&mut m, "a", Pool);
    let b = noop(&mut m, "b", Sp);
    let bar = m.inst("|", "AllEngineBarrier", Pool);
    let l = m.rounds("i", (0, 3, 1), vec![a, bar, b]);
    m.add(l);
    assert_eq!(order(&m).concat(), "a|ba|ba|b");
    let p = m.program();
    let mut c = Control::new(&p);
    // SP comes to the barrier first and waits there.
    for e in [Sp, Sp] {
        if c.ready(&p, e).is_ok() {
            c.fetch(&p, &Memory::new(), e).unwrap();
            c.complete(&p, e);
        }
    }
    let Err(Why::Join(missing)) = c.ready(&p, Sp) else { panic!() };
    assert_eq!(missing.iter().collect::<Vec<_>>(), [Pool]);
}

#[test]
fn dependencies_wait_for_the_nearest_earlier_instance() {
    // In each round `b` waits for the `a` of this round although the array has it later only
    // for the engine's choice: Pool is held by a semaphore that Activation gives late.
    let mut m = Make::new(&[]);
    let mut a = noop(&mut m, "a", Pool);
    a.waits = vec![wait(1, 1)];
    let mut b = noop(&mut m, "b", Sp);
    b.deps = vec![dep("a")];
    let mut c = noop(&mut m, "c", Activation);
    c.updates = vec![update(1, 1)];
    let l = m.rounds("i", (0, 2, 1), vec![a, b, c]);
    m.add(l);
    assert_eq!(order(&m).concat(), "cababc".to_owned());
}

#[test]
fn of_a_name_before_a_loop_and_later_in_it_the_nearest_is_meant() {
    // In the first round the one before the loop, from then on the one of the round before.
    let mut m = Make::new(&[]);
    let a = noop(&mut m, "a", Pool);
    let mut b = noop(&mut m, "b", Sp);
    b.deps = vec![dep("a")];
    let again = noop(&mut m, "a", Sp);
    let l = m.rounds("i", (0, 2, 1), vec![b, again]);
    m.add(a).add(l);
    assert_eq!(order(&m).concat(), "ababa");
}

#[test]
fn a_block_or_descriptor_that_is_depended_on_is_who_fires_it() {
    for name in ["k0", "one"] {
        let mut m = Make::new(&[("x", &[4]), ("y", &[4])]);
        let mut d = m.descriptor(bytes("x", 0, 1), bytes("y", 0, 1));
        d.name = "one".into();
        m.dma_block("q", "k0", vec![d]);
        let d = m.descriptor(bytes("x", 1, 1), bytes("y", 1, 1));
        m.dma_block("q", "k1", vec![d]);
        // By the block that it fires, or by itself.
        for of_block in [false, true] {
            let mut m = m.clone();
            let mut first = m.trigger("first", Pool, &["k0"]);
            first.waits = vec![wait(1, 1)];
            let mut then = m.trigger("then", Sp, &["k1"]);
            if of_block {
                let block = &mut m.module.queues[0].blocks[0].insts[1];
                std::sync::Arc::make_mut(block).deps = vec![dep(name), dep("then")];
            } else {
                then.deps = vec![dep(name)];
            }
            let mut late = noop(&mut m, "late", Activation);
            late.updates = vec![update(1, 1)];
            m.add(first).add(then).add(late);
            assert_eq!(order(&m), ["late", "first", "then"], "{name} {of_block}");
        }
    }
}

#[test]
fn an_earlier_round_counts_where_the_name_comes_later() {
    let mut m = Make::new(&[]);
    let mut a = noop(&mut m, "a", Pool);
    a.loop_deps = vec![dep("b")];
    let b = noop(&mut m, "b", Sp);
    let l = m.rounds("i", (0, 3, 1), vec![a, b]);
    m.add(l);
    assert_eq!(order(&m).concat(), "ababab");
    let p = m.program();
    let mut c = Control::new(&p);
    let step = |c: &mut Control, e| {
        c.fetch(&p, &Memory::new(), e).unwrap();
        c.complete(&p, e);
    };
    // Pool enters and runs the first round alone; its second waits for SP's first.
    step(&mut c, Pool);
    step(&mut c, Pool);
    assert_eq!(c.ready(&p, Pool), Err(Why::Dependency("b".into())));
    step(&mut c, Sp);
    assert_eq!(c.ready(&p, Pool), Err(Why::Dependency("b".into())));
    step(&mut c, Sp);
    assert_eq!(c.ready(&p, Pool), Ok(()));
}

#[test]
fn a_dependency_on_a_loop_or_into_one_waits_for_its_last_round() {
    for target in ["l", "a"] {
        let mut m = Make::new(&[]);
        let a = noop(&mut m, "a", Pool);
        let l = m.rounds("l", (0, 2, 1), vec![a]);
        let mut b = noop(&mut m, "b", Sp);
        b.deps = vec![dep(target)];
        m.add(l).add(b);
        let p = m.program();
        let mut c = Control::new(&p);
        for _ in 0..3 {
            assert_eq!(c.ready(&p, Sp), Err(Why::Dependency(target.into())));
            c.fetch(&p, &Memory::new(), Pool).unwrap();
            c.complete(&p, Pool);
        }
        assert_eq!(c.ready(&p, Sp), Ok(()), "{target}");
    }
}

#[test]
fn a_name_that_repeats_means_the_nearest_before() {
    let mut m = Make::new(&[]);
    let a = noop(&mut m, "a", Pool);
    let mut b = noop(&mut m, "b", Sp);
    b.deps = vec![dep("a")];
    let mut late = noop(&mut m, "a", Pool);
    late.waits = vec![wait(9, 1)];
    let mut free = noop(&mut m, "c", Sp);
    free.updates = vec![update(9, 1)];
    m.add(a).add(b).add(late).add(free);
    assert_eq!(order(&m).concat(), "abca");
}

#[test]
fn a_dependency_on_a_later_one_holds_until_that_is_complete() {
    let mut m = Make::new(&[]);
    let mut a = noop(&mut m, "a", Pool);
    a.deps = vec![dep("b")];
    let b = noop(&mut m, "b", Sp);
    m.add(a).add(b);
    assert_eq!(order(&m).concat(), "ba");
}

#[test]
fn cycles_are_errors() {
    let mut m = Make::new(&[]);
    let mut a = noop(&mut m, "a", Pool);
    a.deps = vec![dep("a")];
    let l = m.rounds("i", (0, 2, 1), vec![a]);
    m.add(l);
    let (code, text) = m.run(&[]).error();
    assert_eq!(code, "B072");
    assert!(text.contains("cyclic dependency"), "{text}");
    let mut m = Make::new(&[]);
    let mut a = noop(&mut m, "a", Pool);
    a.deps = vec![dep("b")];
    let mut b = noop(&mut m, "b", Sp);
    b.deps = vec![dep("a")];
    m.add(a).add(b);
    let (code, text) = m.run(&[]).error();
    assert_eq!(code, "B071");
    assert!(text.contains("waits for `b`") && text.contains("waits for `a`"), "{text}");
}

#[test]
fn a_dependency_on_nothing_is_said() {
    let mut m = Make::new(&[]);
    let mut a = noop(&mut m, "a", Pool);
    a.deps = vec![dep("gone")];
    m.add(a);
    let got = m.run(&[]);
    assert!(got.outcome.finished);
    assert_eq!(got.outcome.findings[0].diag.code, "B092");
}

#[test]
fn dependencies_follow_branches() {
    // The body goes round three times; in each round SP waits for what Pool did in that round.
    let mut m = Make::new(&[]);
    for (r, e) in [("p", Pool), ("s", Sp)] {
        let set = m.set(r, imm(0), e);
        m.add(set);
    }
    let mut a = noop(&mut m, "a", Pool);
    a.loop_deps = vec![dep("b")];
    let mut b = noop(&mut m, "b", Sp);
    b.deps = vec![dep("a")];
    let mut body = vec![a, b];
    for (r, e) in [("p", Pool), ("s", Sp)] {
        body.push(m.alu(AluOp::Add, r, reg(r), imm(1), e));
        body.push(m.branch(e, BranchOp::LtImm, (reg(r), imm(3)), Some("body"), None));
    }
    m.add_block("body", body);
    let p = m.program();
    for prefer in [Pool, Sp] {
        let mut c = Control::new(&p);
        let mut names = String::new();
        while let Some(&first) = c.ready_engines(&p).first() {
            let e = if c.ready(&p, prefer).is_ok() { prefer } else { first };
            let inst = c.current(&p, e).and_then(|i| p.inst(i));
            names.extend(inst.filter(|i| i.name.len() == 1).map(|i| i.name.to_string()));
            c.fetch(&p, &Memory::new(), e).unwrap();
            c.complete(&p, e);
        }
        assert_eq!(names, "ababab", "{prefer}");
    }
}

#[test]
fn opaque_instructions_write_what_depends_on_place_visit_and_inputs() {
    let run = |x: u8, rounds: i64, shift: u32| {
        let mut m = Make::new(&[("x", &[4]), ("y", &[64])]);
        for _ in 0..shift {
            let n = noop(&mut m, "n", Pool);
            m.add(n);
        }
        let mut o = m.inst("o", "Matmult", Pe);
        o.ins = [bytes("x", 0, 4), imm(3)].into();
        o.outs = [starting(bytes("y", 0, 16), Expr::Mul(Box::new(axis("i")), 16)), reg("r")].into();
        let l = m.rounds("i", (0, rounds, 1), vec![o]);
        m.add(l);
        m.run(&[("x", vec![x; 4]), ("y", vec![0; 64])]).ok().dump("y")
    };
    let y = run(1, 2, 0);
    assert_eq!(y, run(1, 2, 0));
    assert!(y[..16] != y[16..32] && y[..16] != [0; 16] && y[32..] == [0; 32]);
    assert_ne!(y, run(2, 2, 0));
    assert_ne!(y, run(1, 2, 1));
    assert_eq!(y[..16], run(1, 1, 0)[..16]);
}

#[test]
fn opaque_instructions_keep_program_order_with_what_shares_their_bytes() {
    // DVE's writes t, Pool moves t to y, PE's writes t again; nothing says so.
    let mut m = Make::new(&[("t", &[8]), ("y", &[8]), ("z", &[8])]);
    let opaque = |m: &mut Make, name: &str, e| {
        let mut o = m.inst(name, "Memset", e);
        o.outs = [bytes("t", 0, 8)].into();
        o
    };
    let (a, b) = (opaque(&mut m, "a", Dve), m.move_bytes("b", Pool, ("t", 0), ("y", 0), 8));
    let c = opaque(&mut m, "c", Pe);
    let d = m.move_bytes("d", Sp, ("z", 0), ("z", 0), 8);
    let l = m.rounds("i", (0, 2, 1), vec![a, b, c, d]);
    m.add(l);
    let p = m.program();
    let fill = [("z", vec![0; 8])];
    let ends: Vec<Memory> = [Pe, Pool, Dve, Sp]
        .iter()
        .map(|prefer| {
            let (mut c, mut mem) = (Control::new(&p), filled(&p, &fill));
            let out = run_from(&p, &mut c, &mut mem, &Options::default(), &mut |c| {
                let ready = c.ready_engines(&p);
                ready.iter().find(|e| *e == prefer).or(ready.first()).copied()
            });
            assert!(out.finished);
            mem
        })
        .collect();
    assert!(ends.iter().all(|e| *e == ends[0]));
    // Held against a semaphore that says otherwise, it is not waited for.
    let mut m = Make::new(&[("t", &[8])]);
    let mut a = opaque(&mut m, "a", Dve);
    a.waits = vec![wait(1, 1)];
    let mut c = opaque(&mut m, "c", Pe);
    c.updates = vec![update(1, 1)];
    m.add(a).add(c);
    assert_eq!(order(&m).concat(), "ca");
}

#[test]
fn equal_states_are_equal_values() {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut m = Make::new(&[("x", &[64]), ("y", &[64])]);
    let a = m.move_bytes("a", Pool, ("x", 0), ("y", 0), 8);
    let b = m.move_bytes("b", Sp, ("x", 8), ("y", 8), 8);
    m.add(a).add(b);
    let p = m.program();
    let memory = filled(&p, &[("x", count(64)), ("y", vec![0; 64])]);
    let run = |first: [Engine; 2]| {
        let (mut c, mut mem) = (Control::new(&p), memory.clone());
        for e in first {
            let action = c.fetch(&p, &mem, e).unwrap();
            apply(&mut mem, p.layout(), &action, &mut |_| {}).unwrap();
            c.complete(&p, e);
        }
        let mut h = DefaultHasher::new();
        c.hash(&mut h);
        (c, mem, h.finish())
    };
    assert_eq!(run([Pool, Sp]), run([Sp, Pool]));
    assert_ne!(run([Pool, Sp]).0, Control::new(&p));
}
