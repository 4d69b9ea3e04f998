//! Every cause can be injected, is found once where a real one would be, and aborts the engine
//! exactly where it is armed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::engine::edit::{Change, Edit};
use crate::engine::fixture::*;
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::machine::run;
use crate::engine::ring::{Event, EventKind, Machine};
use crate::udma::Generation;
use crate::udma::cause::CAUSES;

/// Two copies on an engine of v3.
fn two_copies(engine: u32) -> Program {
    let mut p = program(true, 64, vec![copy(4096), copy(4096)]);
    let id = QueueId { engine, queue: 0 };
    p.queues[0].id = id;
    for s in &mut p.script {
        use crate::engine::program::HostOp::{Copy, InitQueue};
        if let InitQueue { queue } | Copy { queue, .. } = &mut s.op {
            *queue = id;
        }
    }
    p
}

fn inject(p: &mut Program, at: u64, c: &Cause, slot: Option<u64>) {
    let queue = p.queues[0].id;
    let (dir, bit) = (c.dir, c.bit);
    p.edits.push(Edit { at, change: Change::Inject { queue, dir, bit, slot } });
}

fn all(p: &Program) -> (Machine, Vec<Event>) {
    let mut events = Vec::new();
    let done = run(p, |_, e| {
        events.push(*e);
        true
    });
    (done.machine, events)
}

fn faults(events: &[Event]) -> Vec<(usize, Dir, u8, u64, bool, bool)> {
    let fault = |(i, e): (usize, &Event)| match e.kind {
        EventKind::Fault { dir, bit, slot, aborted, injected, .. } => {
            Some((i, dir, bit, slot, aborted, injected))
        }
        _ => None,
    };
    events.iter().enumerate().filter_map(fault).collect()
}

#[test]
fn every_cause_is_found_once_and_aborts_where_it_is_armed() {
    for engine in [128, 5] {
        for c in CAUSES {
            for slot in [None, Some(2)] {
                let mut p = two_copies(engine);
                inject(&mut p, 0, c, slot);
                let (m, events) = all(&p);
                let armed = cause::armed(Generation::V3, engine, c);
                let found = faults(&events);
                let [(at, dir, bit, where_, aborted, true)] = found[..] else {
                    panic!("{} of {} on engine {engine}: {found:?}", c.name, c.dir)
                };
                assert_eq!((dir, bit, aborted), (c.dir, c.bit, armed), "{}", c.name);
                // Of a packet with one Rx descriptor the last is the first.
                assert_eq!(where_, slot.unwrap_or(0), "{}", c.name);
                assert!(m.injected.is_empty());
                assert_eq!(m.faults(), 1);
                let said = &m.findings[0];
                assert_eq!(said.code, if armed { "R001" } else { "R018" });
                assert!(said.message.contains("injected (MODEL)"), "{}", said.message);
                // An armed one ends the engine's work, a masked one changes nothing else.
                let after = &events[at + 1..];
                let works = |e: &Event| matches!(e.kind, EventKind::Retire { .. });
                assert_eq!(after.iter().any(works), !armed, "{}", c.name);
                assert_eq!(m.timeouts() > 0, armed, "{}", c.name);
                if !armed {
                    let (clean, plain) = all(&two_copies(engine));
                    assert_eq!(m.memory.digest(), clean.memory.digest());
                    assert_eq!(events.len(), plain.len() + 1);
                }
                // Found where a real one would be.
                let before = events[at - 1].kind;
                match point(c) {
                    Point::Prefetch => {
                        let got = |e: &Event| {
                            matches!(e.kind, EventKind::Fetch { dir, slot, .. }
                                if dir == c.dir && slot == where_)
                        };
                        assert!(!events.iter().any(got), "{}", c.name);
                    }
                    Point::Descriptor => assert!(
                        matches!(before, EventKind::Fetch { dir, slot, .. }
                            if dir == c.dir && slot == where_),
                        "{before:?}"
                    ),
                    Point::Packet => {
                        assert!(matches!(before, EventKind::Fetch { dir: Dir::Rx, .. }));
                    }
                    Point::Data => {
                        let moved = |e: &Event| match e.kind {
                            EventKind::Read { slot, .. } => c.dir == Dir::Tx && slot == where_,
                            EventKind::Visible { slot, .. } => c.dir == Dir::Rx && slot == where_,
                            _ => false,
                        };
                        assert!(!events.iter().any(moved), "{}", c.name);
                    }
                }
            }
        }
    }
}

#[test]
fn a_prefetch_that_times_out_is_another_point_than_data_that_does() {
    let points = |name: &str| {
        let of = CAUSES.iter().filter(|c| c.name == name).map(point);
        of.collect::<Vec<_>>()
    };
    assert_eq!(points("PREFETCH_AXI_TO"), [Point::Prefetch; 2]);
    assert_eq!(points("DATA_AXI_TO"), [Point::Data; 2]);
    assert_eq!(points("PKT_LEN"), [Point::Descriptor, Point::Packet]);
    assert_eq!(points("PREFETCH_RING_ID"), [Point::Descriptor; 2]);
}

#[test]
fn a_fault_that_is_there_anyway_is_told_once_and_as_a_real_one() {
    let mut p = two_copies(5);
    // The descriptor's phase is another than the expected one.
    let bytes = crate::engine::program::Blob::from_vec(vec![0x0e]);
    let (_, events) = all(&p);
    let staged = events.iter().find(|e| matches!(e.kind, EventKind::Stage { .. })).unwrap().n;
    p.edits.push(Edit { at: staged, change: Change::Store { addr: TX + 3, bytes } });
    let phase = CAUSES.iter().find(|c| c.name == "PREFETCH_RING_ID").unwrap();
    inject(&mut p, staged, phase, Some(0));
    let (m, events) = all(&p);
    let found = faults(&events);
    assert!(matches!(found[..], [(_, Dir::Tx, 17, 0, false, false)]), "{found:?}");
    assert!(m.injected.is_empty());
}

#[test]
fn two_faults_of_one_slot_are_found_in_turn_and_one_for_a_slot_never_reached_waits() {
    let mut p = two_copies(5);
    let of = |dir| cause::by_name(dir, "PREFETCH_RING_ID").unwrap();
    for dir in Dir::BOTH {
        inject(&mut p, 0, of(dir), Some(1));
    }
    inject(&mut p, 0, of(Dir::Tx), Some(60));
    inject(&mut p, 0, of(Dir::Tx), None);
    inject(&mut p, 0, of(Dir::Tx), None);
    let (m, events) = all(&p);
    let found: Vec<_> = faults(&events).iter().map(|f| (f.1, f.3)).collect();
    assert_eq!(found, [(Dir::Tx, 0), (Dir::Tx, 1), (Dir::Rx, 1), (Dir::Tx, 2)]);
    assert_eq!(m.injected.iter().map(|f| f.slot).collect::<Vec<_>>(), [Some(60)]);
}

#[test]
fn what_is_injected_after_the_slot_was_fetched_is_for_its_next_lap() {
    let mut p = two_copies(5);
    let (_, events) = all(&p);
    let fetched = events.iter().find(|e| matches!(e.kind, EventKind::Fetch { .. })).unwrap().n;
    inject(&mut p, fetched, cause::by_name(Dir::Tx, "PREFETCH_RING_ID").unwrap(), Some(0));
    let (m, events) = all(&p);
    assert!(faults(&events).is_empty());
    assert_eq!(m.injected.len(), 1);
}
