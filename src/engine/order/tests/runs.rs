//! Whole runs: where drivers put barriers, edges that others make, bounds.

use super::*;
use crate::engine::command::{Command, Goto, Info};
use crate::engine::expr::Expr;
use crate::engine::program::Start;
use crate::engine::ring::{Agent, EventKind};
use crate::engine::session::Session;
use crate::udma::Generation;
use crate::udma::profile::PROFILES;
use std::sync::Arc;

#[test]
fn where_the_driver_puts_barriers_nothing_races() {
    let big = 3 * 65_536 + 17;
    let mut n = 0;
    for profile in PROFILES.iter().filter(|p| p.kernel) {
        for arch in [Generation::V2, Generation::V3, Generation::V4] {
            let asynchronous = |previous, at| HostOp::CopyAsync {
                queue: Q,
                src: BUFFER + at,
                dst: DEVICE + at,
                size: 100_000,
                previous,
            };
            let ops = vec![
                copy(big),
                copy(big),
                HostOp::Memset { queue: Q, buffer: BUFFER, dst: DEVICE, size: big, value: 7 },
                asynchronous(-1, 0),
                asynchronous(1, 0x10_0000),
                asynchronous(2, 0x20_0000),
                HostOp::WaitAsync { queue: Q, handle: 1 },
                copy(5),
            ];
            let mut p = program(true, 64, ops);
            (p.profile, p.arch) = (profile, arch);
            assert_eq!(under(&p, "dmb=entry sow=self"), Told::new(), "{} {arch}", profile.name);
            n += 1;
        }
    }
    assert!(n >= 9);
    // One batch of zero copy is kept in order by every release.
    for profile in PROFILES.iter().filter(|p| p.kernel) {
        for arch in [Generation::V2, Generation::V3] {
            let markers = [MARKER, MARKER + 8];
            let ops = vec![HostOp::ZeroCopy {
                queue: Q,
                host: BUFFER + 0x123,
                device: DEVICE,
                size: 100_000,
                to_device: true,
                markers,
            }];
            let mut p = program(true, 128, ops);
            (p.profile, p.arch) = (profile, arch);
            assert_eq!(races(&p), Told::new(), "{} {arch}", profile.name);
        }
    }
}

#[test]
fn where_user_space_puts_barriers_nothing_races() {
    // The last chunk carries a DMB, or SOW where that is supported; the marker is plain.
    for last in [A1.dmb(), A1.sow()] {
        let mut p = one(&[A0, last, marker(0)]);
        p.profile = PROFILES.iter().find(|p| !p.kernel).unwrap();
        assert_eq!(races(&p), Told::new());
    }
}

#[test]
fn a_session_lists_the_races_up_to_where_it_stands() {
    let mut s = Session::new(Arc::new(one(&[A0, A1.dmb(), marker(0)])));
    let races = Command::Info { what: Info::Races, queue: None };
    let ordered = "every access up to here is ordered, under every reading";
    assert_eq!(s.execute(&races).unwrap().lines, [ordered]);
    s.execute(&Command::Goto(Goto::Event(Expr::Num(10_000)))).unwrap();
    let lines = s.execute(&races).unwrap().lines;
    assert!(lines[0].starts_with("note[R030] e128.q0.rx[1], event "), "{lines:?}");
    assert!(lines[0].ends_with("only under dmb=entry"), "{lines:?}");
    assert_eq!(lines.len(), 2);
}

#[test]
fn what_was_posted_orders_what_awaits_it() {
    let ops = |edge: bool| {
        let mut ops = batch(Q, 0, 0, &[A0.wb(), marker(0)]);
        ops.extend(batch(B, 0, 1, &[pair(0x1000, 0x3000, 64)]));
        let p = two_queues(ops);
        let mut checker = Checker::new(&p, Readings::default());
        let mut calls = 0;
        machine::run(&p, |m, e| {
            checker.event(m, e);
            calls += u64::from(matches!(e.kind, EventKind::Call { .. }));
            // Before the other queue's batch is staged.
            if edge && calls == 7 && matches!(e.kind, EventKind::Call { .. }) {
                let by = Poster::Write((0, Dir::Rx, 1));
                checker.step(e.n, &Step::Post { by, object: 5 });
                checker.step(e.n, &Step::Await { agent: Agent::Host, object: 5 });
            }
            true
        });
        checker.finish().races.len()
    };
    assert_eq!(ops(false), 1);
    assert_eq!(ops(true), 0);
}

#[test]
fn a_block_that_is_complete_orders_what_awaits_it() {
    let run = |by: Option<Poster>| {
        let mut ops = batch(Q, 0, 0, &[A0, A1]);
        ops.extend(batch(B, 0, 1, &[pair(0x1000, 0x3000, 64)]));
        let p = two_queues(ops);
        let mut checker = Checker::new(&p, Readings::default());
        let mut calls = 0;
        machine::run(&p, |m, e| {
            checker.event(m, e);
            if let EventKind::Call { .. } = e.kind {
                calls += 1;
                if let Some(by) = by.filter(|_| calls == 7) {
                    checker.step(e.n, &Step::Post { by, object: 1 });
                    checker.step(e.n, &Step::Await { agent: Agent::Host, object: 1 });
                }
            }
            true
        });
        checker.finish().races.len()
    };
    assert_eq!(run(None), 1);
    assert_eq!(run(Some(Poster::Queue(0))), 0);
    // The host knows of itself what it knows.
    assert_eq!(run(Some(Poster::Cpu(Agent::Host))), 1);
}

#[test]
fn a_bound_that_is_met_is_told() {
    let p = one(&[A0, A1.wb(), marker(0)]);
    let run = |bounds: Bounds| {
        let mut checker = Checker::new(&p, Readings::default());
        checker.bounds = bounds;
        machine::run(&p, |m, e| {
            checker.event(m, e);
            !checker.has_stopped()
        });
        checker.finish()
    };
    let all = Bounds { accesses: 1000, spans: 1000, work: 1000 };
    assert_eq!(run(all).stopped, None);
    for bounds in
        [Bounds { accesses: 3, ..all }, Bounds { spans: 3, ..all }, Bounds { work: 3, ..all }]
    {
        let done = run(bounds);
        let d = done.stopped.clone().unwrap();
        assert_eq!(d.code, "R036");
        assert!(d.place.event.is_some());
        assert_eq!(done.diagnostics(&p).last(), Some(&d));
    }
}

#[test]
fn pairs_beyond_the_bound_are_counted() {
    let mut checker = Checker::new(&two_queues(Vec::new()), Readings::default());
    let desc = Desc { len_ctrl: 4 | PHASE, word1: 0, ptr: DEVICE };
    let tx = Desc { len_ctrl: 4 | PHASE | FIRST | LAST, word1: COPY, ptr: DEVICE + 64 };
    let stream = Some(queue::Stream { need: 4, whole: false });
    // Two queues write the same bytes in turn, and nothing orders them.
    for n in 0..40_000 {
        for queue in [0, 1] {
            for (dir, desc, stream) in [(Dir::Tx, tx, stream), (Dir::Rx, desc, None)] {
                let at = (queue, dir, n % 64);
                let addr = 0x10_0000 + 16 * n;
                checker.step(n, &Step::Fetch { at, addr, desc, stream });
            }
            let (slot, addr, len) = (n % 64, DEVICE, 4);
            checker.step(n, &Step::Read { queue, slot, addr: 0, len });
            checker.step(n, &Step::Visible { queue, slot, addr, len, batch: n });
            checker.step(n, &Step::PacketEnd { queue, batch: n });
        }
    }
    let done = checker.finish();
    assert_eq!(done.races.len(), crate::limits::MAX_DIAGNOSTICS);
    assert!(done.more > 0);
    assert!(done.diagnostics(&two_queues(Vec::new())).iter().any(|d| d.code == "R036"));
}

#[test]
fn starts_and_laps_of_a_ring_make_no_difference() {
    // A ring that is copied out in the middle begins at another slot.
    let mut p = one(&[A0, A1.wb(), marker(0)]);
    p.queues[0].first = [Start { slot: 62, ring_id: 0 }; 2];
    let mut ops = Vec::new();
    for dir in Dir::BOTH {
        for (i, pair) in [A0, A1.wb(), marker(0)].iter().enumerate() {
            let mut d = pair.descs()[usize::from(dir == Dir::Rx)];
            d.len_ctrl = d.len_ctrl & !(3 << 24) | if i < 2 { 0 } else { PHASE };
            ops.push(copy_in(Q, dir, (62 + i as u64) % 64, &[d]));
        }
    }
    ops.extend([seed(0), start(Q, 3), wait(Q, 0, 3)]);
    let mut p2 = two_queues(ops);
    p2.queues[0].first = p.queues[0].first;
    assert_eq!(races(&p2), Told::new());
    // Hundreds of laps of a driver's ring are silent.
    let mut laps = Vec::new();
    laps.extend((0..300).map(|_| copy(200_000)));
    assert_eq!(races(&program(true, 32, laps)), Told::new());
}
