//! The bounds of a timeline, progress and cancelling.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::timeline::Bound;
use super::super::*;
use super::{cont, copy, program, random_program};
use crate::engine::command::{Goto, Unit, Who};
use crate::engine::expr::{BinOp, Expr};
use crate::engine::fixture::{BUFFER, DEVICE, Q};
use crate::engine::program::HostOp;
use crate::limits::{MAX_CHECKPOINT_BYTES, MAX_CHECKPOINTS, MAX_RUN_EVENTS, REPORT_WORK};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// However few checkpoints there may be, and however little they may hold, the bounds are
    /// kept and every state is the one of a plain run.
    #[test]
    fn a_timeline_of_few_checkpoints_is_exact(
        p in random_program(),
        most in 0usize..6,
        bytes in prop_oneof![Just(0u64), 1000u64..200_000, Just(u64::MAX)],
        jumps in prop::collection::vec(any::<u64>(), 12),
    ) {
        let p = Arc::new(p);
        let mut plain = Machine::new(&p);
        let mut digests = vec![plain.digest()];
        while plain.step(&p).is_some() {
            digests.push(plain.digest());
        }
        let bound = Bound { checkpoints: most, bytes, distance: 4 };
        let mut line = Timeline::bounded(p, bound);
        let start = line.start().clone();
        for j in jumps {
            let n = j % digests.len() as u64;
            let m = line.state_at(n, &start);
            prop_assert_eq!((m.n, m.digest()), (n, digests[n as usize]));
            prop_assert!(line.checkpoints() <= most && line.bytes() <= bytes);
        }
    }
}

#[test]
fn a_timeline_is_held_to_the_stated_bounds() {
    let line = Timeline::new(Arc::new(program(64, vec![])));
    let bound = line.bound();
    assert_eq!((bound.checkpoints, bound.bytes), (MAX_CHECKPOINTS, MAX_CHECKPOINT_BYTES));
    const { assert!(MAX_RUN_EVENTS >= 100_000_000) };
}

/// Copies that scatter what they write.
fn many(n: u64) -> Program {
    let to = |k: u64| DEVICE + k % 1021 * 12_288;
    let one = |k| HostOp::Copy { queue: Q, src: BUFFER + k, dst: to(k), size: 4096 };
    program(64, (0..n).map(one).collect())
}

#[test]
fn more_checkpoints_than_there_may_be_become_fewer() {
    let p = Arc::new(many(300));
    let bound = Bound { checkpoints: 16, bytes: u64::MAX, distance: 8 };
    let mut line = Timeline::bounded(p.clone(), bound);
    let start = line.start().clone();
    let end = line.state_at(u64::MAX, &start);
    assert!((8..=16).contains(&line.checkpoints()), "{}", line.checkpoints());
    // They lie evenly: the farthest way from one to the next is not much over the mean.
    let mut at = 0;
    let mut widest = 0;
    while let Some(c) = line.next_after(at) {
        widest = widest.max(c.machine.n - at);
        at = c.machine.n;
    }
    assert!(widest * 4 < end.n, "{widest} of {}", end.n);
}

#[test]
fn progress_is_told_and_a_run_forwards_stays_where_it_was_cancelled() {
    let p = Arc::new(many(1400));
    let odd = Expr::Binary(BinOp::Eq, Box::new(Expr::Name("ret".into())), Box::new(Expr::Num(9)));
    for command in [
        Command::Continue { back: false },
        Command::Goto(Goto::Mark("end".into())),
        Command::Until { expr: odd, back: false },
        Command::Step { count: 1 << 40, unit: Unit::Slot, who: Who::Any, back: false },
    ] {
        let mut s = Session::new(p.clone());
        let mut told = Vec::new();
        let mut watch = |p: Progress| {
            told.push(p);
            if told.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let out = s.execute_with(&command, &mut watch).unwrap();
        assert_eq!(out.halt.as_deref(), Some("cancelled"), "{command:?}");
        assert_eq!(told.len(), 2);
        assert!(told[0].event < told[1].event && told[0].from == 0, "{told:?}");
        assert_eq!(s.position(), told[1].event);
        let mut plain = Machine::new(&p);
        while plain.n < s.position() {
            plain.step(&p).unwrap();
        }
        assert_eq!(s.machine().digest(), plain.digest());
        // It goes on from there.
        cont(&mut s);
        assert_eq!(Some(s.position()), s.end());
    }
}

#[test]
fn a_report_comes_at_least_so_often_as_is_said() {
    let mut s = Session::new(Arc::new(many(700)));
    let mut last = 0;
    let mut watch = |p: Progress| {
        // A plain step is one event; a leap of a pair counts as one and is five.
        assert!(p.event - last <= REPORT_WORK * 6, "{last} {p:?}");
        last = p.event;
        ControlFlow::Continue(())
    };
    s.execute_with(&Command::Continue { back: false }, &mut watch).unwrap();
    assert!(last > 0);
}

#[test]
fn a_search_leaves_the_position() {
    let mut s = Session::new(Arc::new(program(64, vec![copy(1 << 21); 4])));
    cont(&mut s);
    let (end, digest) = (s.position(), s.machine().digest());
    let fifth = |s: &Session, _: &Prior, m: &Machine, e: &Event| {
        Ok((s.end() == Some(end) && e.batch == 2).then_some(m.n))
    };
    let watch = &mut |_| ControlFlow::Continue(());
    let hit = s.search(true, &Interest::Every, watch, &mut { fifth }).unwrap().unwrap();
    assert_eq!(hit.machine.n, hit.answer);
    assert_eq!((s.position(), s.machine().digest()), (end, digest));
    let after = s.state_at(hit.answer + 1);
    assert!(after.last.unwrap().batch != 2);
    let watch = &mut |_| ControlFlow::Continue(());
    assert!(s.search(false, &Interest::Every, watch, &mut { fifth }).unwrap().is_none());
}
