//! The lanes of the timeline against a plain walk.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::timeline::Bound;
use super::super::*;
use super::{copy, edited_program, program};
use crate::engine::command::Goto;
use crate::engine::expr::{Expr, QueueRef};
use crate::engine::fixture::{BUFFER, DEVICE, Q};
use crate::engine::program::HostOp;
use crate::engine::ring::{Agent, EventKind};
use proptest::prelude::*;

/// What a plain walk of the whole run says of each event: its lanes, what it was, its signs.
struct Walked {
    events: Vec<(Vec<Lane>, Did, Signs)>,
}

fn walked(p: &Program) -> Walked {
    let mut m = Machine::new(p);
    let mut events = Vec::new();
    let done = |m: &Machine| m.queues.iter().map(|q| q.ledger.done()).collect::<Vec<_>>();
    let mut over = done(&m);
    while let Some(step) = m.step(p) {
        let e = step.event;
        let lanes = match (e.agent, e.kind) {
            (Agent::Host, _) => vec![Lane::Host],
            (Agent::Seq(s), _) => vec![Lane::Seq(s)],
            (Agent::Engine(q), EventKind::Retire { tx, rx, .. }) => {
                let tx = tx.map(|_| Lane::Ring(q, Dir::Tx));
                tx.into_iter().chain(rx.map(|_| Lane::Ring(q, Dir::Rx))).collect()
            }
            (
                Agent::Engine(q),
                EventKind::Fetch { dir, .. }
                | EventKind::Fault { dir, .. }
                | EventKind::Stall { dir, .. },
            ) => vec![Lane::Ring(q, dir)],
            (Agent::Engine(q), EventKind::Visible { .. }) => vec![Lane::Ring(q, Dir::Rx)],
            (Agent::Engine(q), _) => vec![Lane::Ring(q, Dir::Tx)],
        };
        let mut signs = Signs::empty();
        let now = done(&m);
        signs.set(Signs::BATCH, now != over);
        over = now;
        signs.set(Signs::FAULT, matches!(e.kind, EventKind::Fault { .. }));
        if let (EventKind::Visible { addr, len, .. }, Some(q)) = (e.kind, e.queue()) {
            let word = m.queue(q).unwrap().marker + 4;
            let written = addr < word + 4 && word < addr + len;
            let flips = m.memory.read_u32(word) == crate::udma::profile::MARKER;
            signs.set(Signs::FLIP, written && flips);
        }
        events.push((lanes, Did::of(&e.kind), signs));
        assert!(events.len() < 400_000, "the run does not end");
    }
    Walked { events }
}

/// What a column must hold.
fn expected(w: &Walked, lanes: &[Lane], (after, last): (u64, u64)) -> (Vec<Cell>, Signs) {
    let mut cells = vec![Cell::default(); lanes.len()];
    let mut signs = Signs::empty();
    for (of, did, sign) in &w.events[after as usize..last as usize] {
        for lane in of {
            let cell = &mut cells[lanes.iter().position(|l| l == lane).unwrap()];
            cell.did |= *did;
            cell.count += 1;
        }
        signs |= *sign;
    }
    (cells, signs)
}

/// The rings that flip a marker in a column.
fn flipped(w: &Walked, lanes: &[Lane], (after, last): (u64, u64)) -> Vec<usize> {
    let events = w.events[after as usize..last as usize].iter();
    let mut all: Vec<usize> = events
        .filter(|e| e.2.contains(Signs::FLIP))
        .flat_map(|e| e.0.iter().map(|of| lanes.iter().position(|l| l == of).unwrap()))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Compares every column as far as it claims to know.
fn compare(w: &Walked, l: &Lanes, known: u64) -> Result<[usize; 4], TestCaseError> {
    let mut seen = [0; 4];
    for (k, c) in l.columns.iter().enumerate() {
        let (after, last) = l.view.bounds(k as u64);
        let last = last.min(known).max(after.min(known));
        prop_assert_eq!(c.known, last.max(c.known.min(last)));
        let (cells, signs) = expected(w, &l.lanes, (after.min(last), last));
        seen[c.looked as usize] += 1;
        match c.looked {
            Looked::Each => {
                prop_assert_eq!(&c.cells, &cells, "column {} of {:?}", k, l.view);
                prop_assert_eq!(c.signs.difference(Signs::STOP), signs);
                let mut flips = c.flipped.clone();
                flips.sort_unstable();
                prop_assert_eq!(flips, flipped(w, &l.lanes, (after.min(last), last)));
                prop_assert_eq!(c.events, last - after.min(last));
            }
            Looked::Counted | Looked::Shared => {
                for (lane, (have, want)) in l.lanes.iter().zip(c.cells.iter().zip(&cells)) {
                    // Whoever acted is shown.
                    prop_assert!(want.count == 0 || have.count > 0, "{:?} {:?}", lane, l.view);
                    // Of the engine each event is counted.
                    if c.looked == Looked::Counted && matches!(lane, Lane::Ring(..)) {
                        prop_assert_eq!(have, want, "{:?} {:?}", lane, l.view);
                    }
                }
                let told = Signs::BATCH | Signs::FAULT;
                prop_assert!(c.signs.contains(signs & told), "{:?} {:?}", c.signs, signs);
            }
            Looked::Not => {}
        }
    }
    Ok(seen)
}

fn to_end(p: Program) -> Session {
    let mut s = Session::new(Arc::new(p));
    s.execute(&Command::Goto(Goto::Mark("end".into()))).unwrap();
    s
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Every event of a part whose events are looked at is in its lane, in its column.
    #[test]
    fn lanes_hold_what_a_plain_walk_meets(
        p in edited_program(),
        parts in prop::collection::vec((any::<u64>(), 1u64..9000, 1u64..200), 6),
        at in any::<u64>(),
    ) {
        let w = walked(&p);
        let end = w.events.len() as u64;
        let mut s = to_end(p);
        s.execute(&Command::Goto(Goto::Event(Expr::Num(at % (end + 1))))).unwrap();
        for (from, len, columns) in parts {
            let view = View::new(from % (end + 3), len, columns);
            let l = s.lanes(view, None);
            prop_assert_eq!(l.columns.len() as u64, view.columns);
            compare(&w, &l, end)?;
            prop_assert!(l.hold(&s, view));
        }
    }

    /// Columns meet and are in order; every event is in one.
    #[test]
    fn every_event_has_its_column(from in 0u64..1 << 40, len in 1u64..5000, columns in 1u64..300) {
        let v = View::new(from, len, columns);
        prop_assert_eq!((v.bounds(0).0, v.last()), (from, from + len));
        for k in 0..v.columns {
            let (after, last) = v.bounds(k);
            prop_assert!(after < last);
            prop_assert_eq!((v.column_of(after + 1), v.column_of(last)), (Some(k), Some(k)));
        }
        prop_assert_eq!((v.column_of(from), v.column_of(from + len + 1)), (None, None));
        let huge = View::new(u64::MAX - 5, u64::MAX, columns);
        prop_assert_eq!(huge.last(), u64::MAX);
    }
}

/// Copies of many sizes, some 40 000 events.
fn long() -> Program {
    let one = |k: u64| HostOp::Copy {
        queue: Q,
        src: BUFFER,
        dst: DEVICE + k * 64,
        size: 70_000 + k % 7 * 300_000,
    };
    program(64, (0..400).map(one).collect())
}

#[test]
fn a_long_part_is_counted_from_checkpoints() {
    let p = long();
    let w = walked(&p);
    let end = w.events.len() as u64;
    assert!(end > 20_000, "{end}");
    let mut looked = [0; 4];
    for distance in [64, 400, 3000, 100_000] {
        let mut s = Session::new(Arc::new(p.clone()));
        let bound = Bound { checkpoints: 4096, bytes: u64::MAX, distance };
        s.timeline = Timeline::bounded(s.program().clone(), bound);
        s.execute(&Command::Goto(Goto::Mark("end".into()))).unwrap();
        for columns in [1, 7, 100, 190] {
            for (from, len) in [(0, end), (1234, 9000), (17, end - 17), (0, 2 * end)] {
                let l = s.lanes(View::new(from, len, columns), None);
                let seen = compare(&w, &l, end).unwrap();
                looked.iter_mut().zip(seen).for_each(|(a, b)| *a += b);
                assert!(!l.stops);
            }
        }
    }
    assert!(looked[..3].iter().all(|n| *n > 0), "{looked:?}");
}

#[test]
fn what_is_not_known_yet_is_not_run_and_comes_in_later() {
    let p = long();
    let w = walked(&p);
    let mut s = Session::new(Arc::new(p));
    let view = View::new(0, 4096, 128);
    let mut l = s.lanes(view, None);
    assert!(l.columns.iter().all(|c| c.events == 0) && s.known_to() == 0);
    for n in [1, 2, 40, 41, 700, 701, 4000, 5000] {
        s.execute(&Command::Goto(Goto::Event(Expr::Num(n)))).unwrap();
        assert!(!l.hold(&s, view));
        let next = s.lanes(view, Some(&l));
        compare(&w, &next, n).unwrap();
        assert_eq!(next.columns, s.lanes(view, None).columns, "what was kept is true");
        l = next;
    }
    s.execute(&Command::Goto(Goto::Event(Expr::Num(3)))).unwrap();
    assert!(l.hold(&s, view), "going back makes nothing unknown");
}

#[test]
fn stops_are_marked_where_they_stop() {
    let mut s = to_end(program(64, vec![copy(300_000), copy(90_000)]));
    let end = s.position();
    let view = View::new(0, end, end);
    let none = s.lanes(view, None);
    assert!(none.columns.iter().all(|c| !c.signs.contains(Signs::STOP)));
    let at = Loc::Slots { queue: QueueRef::Selected, dir: Dir::Rx, first: 2, last: 2 };
    s.execute(&Command::Break { loc: at, cond: None, once: false, after: 1 }).unwrap();
    assert!(!none.hold(&s, view), "another stop is another question");
    let l = s.lanes(view, Some(&none));
    s.execute(&Command::Restart).unwrap();
    let mut hits = Vec::new();
    loop {
        s.execute(&Command::Continue { back: false }).unwrap();
        if s.position() == end {
            break;
        }
        hits.push(s.position());
    }
    let marked = l.columns.iter().enumerate().filter(|c| c.1.signs.contains(Signs::STOP));
    let marked: Vec<u64> = marked.map(|(k, _)| k as u64 + 1).collect();
    assert!(!hits.is_empty() && marked == hits, "{marked:?} {hits:?}");
}
