//! Batches that never complete, each in its own way.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::engine::command::{Command, Goto};
use crate::engine::expr::Expr;
use crate::engine::fixture::{self, BUFFER, DEVICE, MARKER, Q, copy};
use crate::engine::program::{HostOp, Program};
use crate::engine::session::Session;
use crate::udma::Dir;
use crate::udma::profile::WaitKind;
use std::sync::Arc;

fn session(p: Program) -> Session {
    let mut s = Session::new(Arc::new(p));
    s.execute(&Command::Goto(Goto::Mark("end".into()))).unwrap();
    s
}

fn why(s: &mut Session) -> Vec<String> {
    s.execute(&Command::Why(None)).unwrap().lines
}

/// A batch whose second pair is a completion pair that writes `dst`, after a good one.
fn misdirected(dst: u64) -> Program {
    let pair = |src, dst, size| HostOp::Stage {
        queue: Q,
        src,
        dst,
        size,
        barrier_code: 0,
        set_dst_int: false,
    };
    let ops = vec![
        copy(64),
        pair(BUFFER, DEVICE, 64),
        pair(MARKER, dst, 4),
        HostOp::CopyStart { queue: Q, m2s: 2, s2m: 2 },
        HostOp::Wait { queue: Q, marker: MARKER, count: 2, kind: WaitKind::Sync },
    ];
    fixture::program(true, 64, ops)
}

#[test]
fn why_tells_at_the_end_what_it_told_in_the_middle() {
    let cause =
        "no descriptor writes marker+0x4: the last one, rx[3], writes 4 bytes to marker+0x8";
    let mut s = session(misdirected(MARKER + 8));
    let end = s.position();
    let told = why(&mut s);
    assert_eq!(told[0], cause, "{told:?}");
    assert!(told.iter().any(|l| l.starts_with("  so: batch 2 timed out: ")), "{told:?}");
    // The earlier batch's flip is no part of it, and its descriptors are not blamed.
    let found = s.machine().findings.iter().find(|d| d.code == "R054").unwrap();
    assert_eq!(found.place.slot.unwrap().index, 3, "{found:?}");
    let rung = (0..end).find(|n| {
        s.execute(&Command::Goto(Goto::Event(Expr::Num(*n)))).unwrap();
        s.machine().queues[0].hw(Dir::Tx).posted == 4
    });
    for n in rung.unwrap()..end {
        s.execute(&Command::Goto(Goto::Event(Expr::Num(n)))).unwrap();
        let told = why(&mut s);
        assert_eq!(told[0], cause, "event {n}: {told:?}");
    }
}

#[test]
fn a_batch_that_only_rx_was_rung_for_is_the_one_that_is_waited_for() {
    let mut p = misdirected(MARKER + 4);
    for op in &mut p.script {
        if let HostOp::CopyStart { m2s, .. } = &mut op.op {
            *m2s = 0;
        }
    }
    let mut s = session(p);
    let told = why(&mut s);
    assert!(told.iter().any(|l| l.starts_with("  so: batch 2 timed out: ")), "{told:?}");
    assert!(told.iter().any(|l| l.contains("2 tx and 2 rx slots stay taken")), "{told:?}");
    assert_eq!(s.machine().host.timed_out, Some((Q, 2)));
}
