//! The explorer on small rings: what it finds, that it is allowed, that it breaks, and that the
//! fix fixes it.

use super::*;
use crate::engine::command::{Command, Goto};
use crate::engine::expr::Expr;
use crate::engine::order::explore::fix::Role;
use crate::engine::order::explore::{
    Bound, Break, Explored, FixAnswer, Found, Proof, Verdict, explore,
};
use crate::engine::ring::Machine;
use crate::engine::schedule::BarrierBit;
use crate::engine::schedule::Hold;
use crate::engine::session::Session;
use crate::udma::Generation;
use std::ops::ControlFlow;
use std::sync::Arc;

fn look(p: &Program, readings: &str) -> Explored {
    explore(p, readings.parse().unwrap(), Bound::default(), &mut |_| ControlFlow::Continue(()))
}

fn broken(p: &Program) -> Found {
    match look(p, "").verdict {
        Verdict::Broken(found) => *found,
        other => panic!("{other:?}"),
    }
}

/// Every event of a program's run.
fn events(p: &Program) -> Vec<crate::engine::ring::Event> {
    let mut m = Machine::new(p);
    std::iter::from_fn(|| m.step(p).map(|s| s.event)).collect()
}

#[test]
fn a_hold_that_is_met_already_leaves_the_calm_order() {
    let p = one(&[A0, A1.wb(), marker(0)]);
    let mut held = p.clone();
    held.schedule.holds = vec!["host store 3|host store 1"].into_iter().map(hold).collect();
    assert_eq!(events(&p), events(&held));
}

/// `WHAT|UNTIL`, host events only.
fn hold(text: &str) -> Hold {
    let one = |t: &str| {
        let words: Vec<&str> = t.split(' ').collect();
        let act = crate::engine::schedule::CpuAct::ALL
            .into_iter()
            .find(|a| a.name() == words[1])
            .unwrap();
        crate::engine::schedule::Moment::Cpu {
            agent: crate::engine::ring::Agent::Host,
            act,
            n: words[2].parse().unwrap(),
        }
    };
    let (what, until) = text.split_once('|').unwrap();
    Hold { what: one(what), until: one(until) }
}

#[test]
fn without_a_barrier_the_marker_is_seen_before_the_data() {
    let p = one(&[A0, A1, marker(0)]);
    let found = broken(&p);
    assert!(matches!(found.broken, Break::Overtaken { batch: 1, .. }), "{:?}", found.broken);
    assert_eq!(found.schedule.holds.len(), 1);
    let FixAnswer::One(fix) = &found.fix else { panic!("{:?}", found.fix) };
    assert_eq!(
        (fix.edit.barrier, fix.edit.k, fix.role),
        (BarrierBit::WriteBarrier, 1, Role::LastData)
    );
    assert!(fix.proved);
    let proved = look(&one(&[A0, A1.wb(), marker(0)]), "").verdict;
    assert_eq!(proved, Verdict::Proved(Proof::NoRace));
}

/// Going to each event from the end gives the state that going there from the start gave.
#[test]
fn a_session_goes_back_in_an_order_as_it_went_forward() {
    let p = one(&[A0, A1, A1, marker(0)]);
    let mut q = p.clone();
    q.schedule = broken(&p).schedule;
    let mut s = Session::new(Arc::new(q));
    s.execute(&Command::Goto(Goto::Mark("end".into()))).unwrap();
    let end = s.position();
    let forward: Vec<u64> = (0..=end).map(|n| s.state_at(n).digest()).collect();
    for n in (0..=end).rev() {
        s.execute(&Command::Goto(Goto::Event(Expr::Num(n)))).unwrap();
        assert_eq!(s.machine().digest(), forward[n as usize], "event {n}");
    }
}

/// A race of which no order shows anything, and one that only a fence mends.
#[test]
fn a_fence_is_named_where_no_barrier_helps() {
    let mut ops = stage(Q, 0, &[A0.wb(), marker(0)]);
    ops.push(seed(0));
    ops.extend(ring_bare(2));
    ops.push(wait(Q, 0, 2));
    let found = broken(&two_queues(ops));
    assert!(matches!(found.broken, Break::OtherSlot { .. } | Break::Lost { .. }), "{found:?}");
    let FixAnswer::NoBarrier(why) = found.fix else { panic!("{:?}", found.fix) };
    assert!(why.contains("fence"), "{why}");
}

#[test]
fn a_word_that_holds_a_part_of_the_marker_is_not_trusted() {
    // The polled word holds the marker before anything is rung: no race, and yet the poll may
    // succeed at once.
    let mut ops = stage(Q, 0, &[A0.wb(), marker(0)]);
    let both = [WORD.to_le_bytes(), WORD.to_le_bytes()].concat();
    ops.push(HostOp::Store { addr: MARKER, bytes: Blob::from_vec(both) });
    ops.extend([start(Q, 2), wait(Q, 0, 2)]);
    let p = two_queues(ops);
    assert!(check(&p, Readings::default()).races.is_empty());
    assert!(matches!(broken(&p).broken, Break::Overtaken { .. }));
}

#[test]
fn a_batch_of_2033_pairs_is_proved_with_every_barrier() {
    for arch in [Generation::V2, Generation::V3, Generation::V4] {
        for barrier in BarrierBit::ALL {
            let mut pairs: Vec<Pair> =
                (0..2032).map(|i| pair(16 * i, 0x10_0000 + 16 * i, 16)).collect();
            pairs.push(marker(0));
            let at = if barrier == BarrierBit::Sow { 2032 } else { 2031 };
            pairs[at] = match barrier {
                BarrierBit::Sow => pairs[at].sow(),
                BarrierBit::Dmb => pairs[at].dmb(),
                BarrierBit::WriteBarrier => pairs[at].wb(),
            };
            let mut ops = batch(Q, 0, 0, &pairs);
            ops.push(wait(Q, 0, 2033));
            let mut p = two_queues(ops);
            p.arch = arch;
            let ring = |r: crate::engine::program::RingDecl| crate::engine::program::RingDecl {
                size: 4096,
                ..r
            };
            p.queues[0].tx = p.queues[0].tx.map(ring);
            p.queues[0].rx = p.queues[0].rx.map(ring);
            let told = look(&p, "");
            assert_eq!(told.verdict, Verdict::Proved(Proof::NoRace), "{arch} {barrier:?}");
            assert!(told.events > 8000, "{}", told.events);
        }
    }
}

#[test]
fn an_exploration_can_be_cancelled() {
    let p = one(&[A0, A1, marker(0)]);
    let told =
        explore(&p, Readings::default(), Bound { steps: 1 }, &mut |_| ControlFlow::Break(()));
    assert!(matches!(told.verdict, Verdict::Open(_)), "{told:?}");
}
