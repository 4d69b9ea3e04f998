use super::fixture::*;
use crate::bir::blocks::Expected;
use crate::bir::exec::*;
use crate::bir::module::*;
use crate::bir::*;
use Engine::{Pool, Sp};

/// Block `k` puts byte `k` of `x` to the front of `y`, after moving all of `y` one on.
fn logging(m: &mut Make, blocks: u8) {
    for k in 0..blocks {
        let shift = m.descriptor(bytes("y", 0, 15), bytes("y", 1, 15));
        let put = m.descriptor(bytes("x", i64::from(k), 1), bytes("y", 0, 1));
        m.dma_block("q", &format!("k{k}"), vec![shift, put]);
    }
}

fn fill() -> [(&'static str, Vec<u8>); 2] {
    [("x", count(16)), ("y", vec![0; 16])]
}

#[test]
fn a_fire_runs_the_next_block_in_order_and_wraps() {
    let mut m = Make::new(&[("x", &[16]), ("y", &[16])]);
    logging(&mut m, 3);
    // Two triggers with one name count apart; loops around add up.
    let a = m.trigger("t", Pool, &["k0", "k1", "k2"]);
    let inner = m.rounds("j", (0, 2, 1), vec![a]);
    let b = m.trigger("t", Pool, &["k2", "k0"]);
    let outer = m.rounds("i", (0, 2, 1), vec![inner, b]);
    m.add(outer);
    let got = m.run(&fill()).ok();
    // Pool: k0 k1 | k2 | k2 k0 | k0; newest first, values one above.
    assert_eq!(got.dump("y")[..7], [1, 1, 3, 3, 2, 1, 0]);
    assert_eq!((got.outcome.fired, got.outcome.descriptors), (6, 12));
}

/// A branch back counts as a loop does: the fires of a trigger that is met again add up.
#[test]
fn a_trigger_that_is_branched_back_to_fires_the_next_block() {
    let mut m = Make::new(&[("x", &[16]), ("y", &[16])]);
    logging(&mut m, 3);
    let set = m.set("r", imm(0), Pool);
    m.add(set);
    let t = m.trigger("t", Pool, &["k0", "k1", "k2"]);
    let one = m.alu(AluOp::Add, "r", reg("r"), imm(1), Pool);
    let again = m.branch(Pool, BranchOp::LtReg, (reg("r"), imm(5)), Some("body"), None);
    m.add_block("body", vec![t, one, again]);
    m.add_block("end", vec![]);
    let got = m.run(&fill()).ok();
    // k0 k1 k2 k0 k1; newest first, values one above.
    assert_eq!(got.dump("y")[..6], [2, 1, 3, 2, 1, 0]);
    assert_eq!(got.outcome.fired, 5);
}

#[test]
fn updates_of_block_and_trigger_are_made_when_it_is_done() {
    let mut m = Make::new(&[("x", &[16]), ("y", &[16])]);
    logging(&mut m, 1);
    let queue = &mut m.module.queues[0].blocks[0].insts[0];
    std::sync::Arc::make_mut(queue).updates = vec![Update { id: 7, value: 2, extra: vec![] }];
    let mut t = m.trigger("t", Pool, &["k0"]);
    t.updates = vec![Update { id: 8, value: 1, extra: vec![] }];
    let mut after = m.move_bytes("c", Sp, ("y", 0), ("y", 8), 1);
    let wait = |id, value| Wait { from: None, id, value, extra: vec![] };
    after.waits = vec![wait(7, 2), wait(8, 1)];
    m.add(after).add(t);
    assert_eq!(m.run(&fill()).ok().dump("y")[8], 1);
}

#[test]
fn a_block_without_descriptors_is_fired_all_the_same() {
    let mut m = Make::new(&[("x", &[16]), ("y", &[16])]);
    m.dma_block("q", "none", vec![]);
    logging(&mut m, 1);
    let t = m.trigger("t", Pool, &["none", "k0"]);
    let l = m.rounds("i", (0, 3, 1), vec![t]);
    m.add(l);
    let got = m.run(&fill()).ok();
    let o = &got.outcome;
    assert_eq!((o.fired, o.descriptors, o.transfers), (3, 2, 0));
}

#[test]
fn what_a_trigger_names_must_be_there() {
    let error = |f: &dyn Fn(&mut Make, &mut Trigger)| {
        let mut m = Make::new(&[("x", &[16]), ("y", &[16])]);
        logging(&mut m, 1);
        let mut i = m.trigger("t", Pool, &["k0"]);
        let Body::Trigger(mut t) = i.body else { panic!() };
        f(&mut m, &mut t);
        i.body = Body::Trigger(t);
        m.add(i);
        m.run(&fill()).error()
    };
    let missing = error(&|_, t| t.dma_blocks = vec!["k1".into()]);
    assert_eq!(missing.0, "B085");
    assert!(missing.1.contains("no block `k1`"), "{}", missing.1);
    assert!(error(&|_, t| t.queue = Some("p".into())).1.contains("no queue `p`"));
    assert_eq!(error(&|_, t| t.queue = None).0, "B085");
    assert_eq!(error(&|_, t| t.dma_blocks.clear()).0, "B085");
    let holds = error(&|m, t| {
        let again = m.trigger("again", Pool, &["bad"]);
        m.dma_block("q", "bad", vec![again]);
        t.dma_blocks = vec!["bad".into()];
    });
    assert!(holds.1.contains("no descriptor"), "{}", holds.1);
    let mut m = Make::new(&[("x", &[16])]);
    let d = m.descriptor(bytes("x", 0, 1), bytes("x", 1, 1));
    m.add(d);
    assert_eq!(m.run(&[]).error().0, "B085", "a descriptor is no instruction");
}

#[test]
fn groups_say_which_descriptor_of_which_block_they_are() {
    let mut m = Make::new(&[("x", &[16]), ("y", &[16])]);
    logging(&mut m, 2);
    let t = m.trigger("t", Pool, &["k1"]);
    m.add(t);
    let p = m.program();
    let mut c = Control::new(&p);
    let memory = filled(&p, &fill());
    let before = c.clone();
    let peeked = c.peek(&p, &memory, Pool).unwrap();
    assert_eq!(c, before, "a look changes nothing");
    let action = c.fetch(&p, &memory, Pool).unwrap();
    assert_eq!(action, peeked);
    assert_eq!(c.ready(&p, Pool), Err(Why::Busy));
    assert_eq!(c.next_engine(&p), Choice::Blocked(vec![(Pool, Why::Busy)]));
    let Action::Transfers(groups) = action else { panic!() };
    let fired = Fired {
        trigger: p.inst(Item(0)).unwrap().pos,
        block: p.blocks().find("q", "k1", &mut Expected::default()).unwrap(),
        count: 0,
    };
    assert_eq!(groups.len(), 2);
    for (k, g) in (0u32..).zip(&groups) {
        assert_eq!((g.descriptor, g.fired.as_ref()), (k, Some(&fired)));
        assert_eq!(g.transfers.len(), 1);
    }
    c.complete(&p, Pool);
    assert_eq!((c.next_engine(&p), c.fires(&p, Item(0))), (Choice::Done, 1));
    c.complete(&p, Pool);
    assert_eq!(c.fires(&p, Item(0)), 1, "nothing was begun");
}
