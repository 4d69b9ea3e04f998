//! A session goes back to exactly where going forward would have been.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::engine::command::{Goto, Switch, Unit, Who};
use crate::engine::expr::{BinOp, Expr, QueueRef};
use crate::engine::fixture::{self, *};
use crate::engine::program::{DeviceOp, HostOp, QueueDecl, RingDecl, Speed};
use crate::engine::ring::{EventKind, Role, machine};
use crate::udma::profile::PROFILES;
use crate::udma::{Dir, Generation, Profile};
use proptest::prelude::*;

mod lanes;
mod line;
pub(crate) mod twin;

pub(crate) fn program(size: u64, ops: Vec<HostOp>) -> Program {
    fixture::program(true, size, ops)
}

fn op() -> impl Strategy<Value = HostOp> {
    let src = BUFFER;
    prop_oneof![
        4 => (1u64..400_000).prop_map(copy),
        1 => (400_000u64..6_000_000).prop_map(copy),
        1 => (1u64..200_000, any::<u8>()).prop_map(move |(size, value)| HostOp::Memset {
            queue: Q, buffer: src, dst: DEVICE, size, value
        }),
        1 => (0u64..4096, 1u64..200_000, any::<bool>()).prop_map(move |(off, size, to_device)| {
            HostOp::ZeroCopy {
                queue: Q, host: src + off, device: DEVICE, size, to_device,
                markers: [MARKER + 0x20, MARKER + 0x28],
            }
        }),
        1 => (0u64..70_000, 0u32..5).prop_map(move |(size, barrier_code)| HostOp::Stage {
            queue: Q, src, dst: DEVICE, size, barrier_code, set_dst_int: false
        }),
        1 => (-1i32..4, 1u64..100_000).prop_map(move |(previous, size)| HostOp::CopyAsync {
            queue: Q, src, dst: DEVICE, size, previous
        }),
        1 => (0u32..70, 0u32..70).prop_map(|(m2s, s2m)| HostOp::CopyStart { queue: Q, m2s, s2m }),
        1 => (0u32..70).prop_map(|count| HostOp::Ack { queue: Q, count }),
        1 => (0i32..3).prop_map(|handle| HostOp::WaitAsync { queue: Q, handle }),
        1 => prop_oneof![
            Just(DeviceOp::Hold), Just(DeviceOp::Resume), Just(DeviceOp::Kick),
            (0u64..50).prop_map(DeviceOp::Latency), (0u32..3).prop_map(DeviceOp::LoseDoorbells),
            any::<bool>().prop_map(DeviceOp::ResetWindow),
        ].prop_map(HostOp::Device),
    ]
}

pub(crate) fn random_program() -> impl Strategy<Value = Program> {
    let size = prop_oneof![Just(32u64), Just(64), Just(128)];
    let speed =
        (0u64..2, 0u64..3).prop_map(|(d, b)| Speed { ns_per_desc: d * 700, bytes_per_ns: b * 40 });
    (size, prop::collection::vec(op(), 1..8), 0..PROFILES.len(), 0usize..3, speed).prop_map(
        |(size, ops, profile, arch, speed)| {
            let mut p = program(size, ops);
            p.profile = &PROFILES[profile];
            p.arch = Generation::ALL[arch];
            p.speed = speed;
            p
        },
    )
}

/// The same, its run changed at some events, or not.
pub(crate) fn edited_program() -> impl Strategy<Value = Program> {
    random_program().prop_flat_map(|p| {
        let size = p.queues[0].tx.map_or(0, |r| r.size);
        fixture::edits(size).prop_map(move |edits| Program { edits, ..p.clone() })
    })
}

/// The digest after every event, and the events.
fn record(p: &Program) -> (Vec<u64>, Vec<Event>) {
    let mut m = Machine::new(p);
    let mut digests = vec![m.digest()];
    let mut events = Vec::new();
    while let Some(s) = m.step(p) {
        digests.push(m.digest());
        events.push(s.event);
        assert!(events.len() < 200_000, "the run does not end");
    }
    (digests, events)
}

fn verbs(back: bool) -> Vec<Command> {
    let mut v: Vec<Command> = Unit::ALL
        .into_iter()
        .map(|unit| Command::Step { count: 1, unit, who: Who::Any, back })
        .collect();
    v.push(Command::Step { count: 1, unit: Unit::Event, who: Who::Host, back });
    v.push(Command::Step { count: 1, unit: Unit::Event, who: Who::Engine, back });
    v.push(Command::Next { count: 1, back });
    v.push(Command::Finish { back });
    v.push(Command::Doorbell { queue: None, back });
    let odd =
        Expr::Binary(BinOp::And, Box::new(Expr::Name("event".into())), Box::new(Expr::Num(1)));
    v.push(Command::Until { expr: odd, back });
    v.push(Command::Continue { back });
    v
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// For every verb: the stops on the way back are those on the way forward, and the state
    /// at each is the one that a plain run has there.
    #[test]
    fn back_is_forward_reversed_for_every_verb(p in edited_program(), stop in 0u64..32) {
        let (digests, _) = record(&p);
        let last = digests.len() as u64 - 1;
        let mut s = Session::new(Arc::new(p));
        let at = Loc::Slots { queue: QueueRef::Selected, dir: Dir::Rx, first: stop, last: stop };
        s.execute(&Command::Break { loc: at, cond: None, once: false, after: 0 }).unwrap();
        for (forward, backward) in verbs(false).iter().zip(verbs(true)) {
            s.execute(&Command::Restart).unwrap();
            let mut ahead = vec![0];
            loop {
                s.execute(forward).unwrap();
                prop_assert_eq!(s.machine().digest(), digests[s.position() as usize]);
                if s.position() == *ahead.last().unwrap() {
                    break;
                }
                ahead.push(s.position());
            }
            prop_assert_eq!(*ahead.last().unwrap(), last);
            let mut behind = vec![last];
            while s.position() > 0 {
                s.execute(&backward).unwrap();
                prop_assert_eq!(s.machine().digest(), digests[s.position() as usize]);
                behind.push(s.position());
            }
            behind.reverse();
            prop_assert_eq!(&behind, &ahead, "{:?}", backward);
        }
    }

    /// Every verb, there and back and from anywhere, stops exactly where single steps find that
    /// it has to, in exactly the state that they reach.
    #[test]
    fn every_verb_stops_where_single_steps_say(
        p in edited_program(),
        stops in prop::collection::vec(twin::stop(), 0..3),
        untils in prop::collection::vec(twin::condition(), 2..5),
        places in prop::collection::vec(any::<u64>(), 6),
    ) {
        twin::check(&p, &stops, &twin::untils(untils), &places);
    }

    /// Jumping anywhere gives the state that running there gives.
    #[test]
    fn goto_is_running_there(p in edited_program(), jumps in prop::collection::vec(any::<u16>(), 1..30)) {
        let (digests, events) = record(&p);
        let mut s = Session::new(Arc::new(p));
        for j in jumps {
            let n = u64::from(j) % digests.len() as u64;
            s.execute(&Command::Goto(Goto::Event(Expr::Num(n)))).unwrap();
            prop_assert_eq!(s.position(), n);
            prop_assert_eq!(s.machine().digest(), digests[n as usize]);
            let window = s.events(n, n + 5);
            let from = n.max(1) as usize;
            let to = (n as usize + 5).min(events.len() + 1);
            prop_assert_eq!(&window[..], &events[from - 1..to.max(from) - 1]);
        }
    }

    /// Time never runs backwards, and every counter is in the order of a descriptor's life.
    #[test]
    fn a_run_is_orderly(p in random_program()) {
        let mut time = 0;
        machine::run(&p, |m, e| {
            assert!(e.t_ns >= time, "{e:?}");
            time = e.t_ns;
            let hw = m.queues[0].hw(Dir::Tx);
            assert!(hw.retired <= hw.visible && hw.visible <= hw.fetched, "{e:?} {hw:?}");
            let rx = m.queues[0].hw(Dir::Rx);
            assert!(rx.retired <= rx.visible && rx.visible <= rx.fetched && rx.fetched <= rx.posted);
            true
        });
    }
}

#[test]
fn the_end_is_known_to_whoever_names_it() {
    use crate::engine::command::Goto;
    let p = Arc::new(program(64, vec![copy(4096), copy(4096)]));
    let last = record(&p).1.len() as u64;
    let end = || Expr::Name("end".into());
    let three = Expr::Binary(BinOp::Sub, Box::new(end()), Box::new(Expr::Num(3)));
    let mut s = Session::new(p.clone());
    s.execute(&Command::Goto(Goto::Event(three))).unwrap();
    assert_eq!(s.position(), last - 3);
    let mut s = Session::new(p.clone());
    let said = s.execute(&Command::Print { form: None, expr: end() }).unwrap();
    assert!(said.lines.concat().contains(&last.to_string()), "{:?}", said.lines);
    assert_eq!(s.position(), 0);
    let mut s = Session::new(p);
    let here = Expr::Binary(BinOp::Eq, Box::new(Expr::Name("event".into())), Box::new(end()));
    s.execute(&Command::Until { expr: here, back: false }).unwrap();
    assert_eq!(s.position(), last);
}

#[test]
fn a_breakpoint_passes_over_its_first_hits_in_both_directions() {
    let mut s = Session::new(Arc::new(program(64, vec![copy(4096), copy(4096), copy(4096)])));
    let stop = Command::Break { loc: Loc::Doorbell(None), cond: None, once: false, after: 1 };
    s.execute(&stop).unwrap();
    let go = |s: &mut Session, back| {
        s.execute(&Command::Continue { back }).unwrap();
        s.position()
    };
    let first = go(&mut s, false);
    assert_eq!(s.value(&Expr::Name("batch".into())).unwrap(), 2);
    let second = go(&mut s, false);
    assert!(second > first);
    assert_eq!(go(&mut s, true), first);
    assert_eq!(go(&mut s, true), 0);
}

#[test]
fn a_temporary_breakpoint_goes_with_its_hit() {
    let mut s = Session::new(Arc::new(program(64, vec![copy(4096)])));
    s.execute(&Command::Break { loc: Loc::Marker, cond: None, once: true, after: 0 }).unwrap();
    s.execute(&Command::Continue { back: false }).unwrap();
    assert!(matches!(
        s.last_event().unwrap().kind,
        crate::engine::ring::EventKind::Visible { len: 4, .. }
    ));
    assert!(s.stops().is_empty());
}

#[test]
fn expressions_wrap_and_refuse_what_has_no_value() {
    let s = Session::new(Arc::new(program(64, vec![copy(4096)])));
    let n = |v| Box::new(Expr::Num(v));
    let v = |op, a, b| s.value(&Expr::Binary(op, n(a), n(b)));
    assert_eq!(v(BinOp::Add, u64::MAX, 1), Ok(0));
    assert_eq!(v(BinOp::Shl, 1, 64), Ok(0));
    assert_eq!(v(BinOp::Shr, 1, 200), Ok(0));
    assert_eq!(v(BinOp::Div, 1, 0).unwrap_err().code, "S006");
    let typo = Expr::Slot {
        queue: QueueRef::Selected,
        dir: Dir::Tx,
        index: n(0),
        path: vec!["dbm".into()],
    };
    let d = s.value(&typo).unwrap_err();
    assert_eq!((d.code, d.help.as_deref()), ("S005", Some("did you mean dmb?")));
    let nowhere = Expr::Mem { width: 4, addr: n(16) };
    assert_eq!(s.value(&nowhere).unwrap_err().code, "S006");
}

#[test]
fn a_copy_that_finds_the_ring_full_says_so_and_loses_its_slots() {
    let done = machine::run(&program(32, vec![copy(20 * 65_536)]), |_, _| true);
    let codes: Vec<&str> = done.machine.findings.iter().map(|d| d.code).collect();
    assert_eq!(codes, ["R017", "R015"]);
    assert_eq!(done.rets.last().map(|r| r.1), Some(Ret::Code(-12)));
}

#[test]
fn tx_without_rx_stalls_until_rx_is_rung() {
    let tx_bell = |dir| {
        let offset = crate::udma::reg::queue_reg_offset(dir, Q.queue, "drtp_inc").unwrap();
        HostOp::RegWrite { engine: Q.engine, offset, value: 1 }
    };
    let p = program(32, vec![stage(64), HostOp::Fence, tx_bell(Dir::Tx), tx_bell(Dir::Rx)]);
    let mut stalled = 0;
    let done = machine::run(&p, |_, e| {
        stalled += u32::from(matches!(e.kind, crate::engine::ring::EventKind::Stall { .. }));
        true
    });
    assert_eq!(stalled, 1);
    assert_eq!(done.machine.queues[0].hw(Dir::Rx).retired, 1);
    assert!(done.machine.findings.iter().all(|d| d.code == "R005"), "{:?}", done.machine.findings);
}

fn cont(s: &mut Session) -> u64 {
    s.execute(&Command::Continue { back: false }).unwrap();
    s.position()
}

fn stop(s: &mut Session, loc: Loc, once: bool) {
    s.execute(&Command::Break { loc, cond: None, once, after: 0 }).unwrap();
}

fn copy_async(previous: i32) -> HostOp {
    HostOp::CopyAsync { queue: Q, src: BUFFER, dst: DEVICE, size: 64, previous }
}

#[test]
fn a_batch_stops_once_at_its_first_event_however_the_host_comes_back_to_it() {
    let wait = HostOp::WaitAsync { queue: Q, handle: 2 };
    let ops = vec![copy_async(-1), copy_async(1), wait];
    let mut s = Session::new(Arc::new(program(64, ops)));
    stop(&mut s, Loc::Batch(2), false);
    cont(&mut s);
    assert!(matches!(s.last_event().unwrap().kind, EventKind::Stage { .. }));
    cont(&mut s);
    assert_eq!(Some(s.position()), s.end());
}

#[test]
fn a_stop_that_was_not_hit_is_neither_counted_nor_deleted() {
    let mut s = Session::new(Arc::new(program(64, vec![copy(64), copy(64)])));
    s.execute(&Command::Goto(Goto::Event(Expr::Num(30)))).unwrap();
    stop(&mut s, Loc::Batch(1), true);
    stop(&mut s, Loc::Marker, false);
    s.execute(&Command::Restart).unwrap();
    assert_eq!(s.stops().len(), 2);
    // Past the first event of batch 1, still inside it.
    s.execute(&Command::Enable(vec![(1, 1)], Switch::Off)).unwrap();
    s.execute(&Command::Step { count: 1, unit: Unit::Slot, who: Who::Any, back: false }).unwrap();
    s.execute(&Command::Enable(vec![(1, 1)], Switch::On)).unwrap();
    cont(&mut s);
    assert_eq!((s.stops().len(), s.stops()[0].hits, s.stops()[1].hits), (2, 0, 1));
}

#[test]
fn an_address_in_a_ring_stops_at_what_writes_and_fetches_the_slot() {
    let mut s = Session::new(Arc::new(program(64, vec![copy(64)])));
    stop(&mut s, Loc::Addr(TX + RX_AFTER + 0x18), false);
    cont(&mut s);
    assert!(matches!(s.last_event().unwrap().kind, EventKind::Stage { role: Role::Marker, .. }));
    cont(&mut s);
    let at = s.last_event().unwrap().kind;
    assert!(matches!(at, EventKind::Fetch { dir: Dir::Rx, slot: 1, .. }), "{at:?}");
}

#[test]
fn what_is_expected_covers_what_happened_and_no_more() {
    let lose = |n| HostOp::Device(DeviceOp::LoseDoorbells(n));
    let bad = HostOp::Stage {
        queue: Q,
        src: DEVICE,
        dst: DEVICE,
        size: 1 << 20,
        barrier_code: 0,
        set_dst_int: false,
    };
    let ops = vec![lose(2), copy(64), lose(2), copy(64), bad];
    let mut s = Session::new(Arc::new(program(64, ops)));
    cont(&mut s);
    let left = |s: &Session| s.unexpected().iter().map(|d| d.code).collect::<Vec<_>>();
    assert_eq!(left(&s), ["R002", "R002", "R003"]);
    s.execute(&Command::Expect(Expect::Ret(-1))).unwrap();
    assert_eq!(left(&s), ["R002", "R002"]);
    s.execute(&Command::Expect(Expect::Timeout(Some(2)))).unwrap();
    assert_eq!(left(&s), ["R002"]);
    s.execute(&Command::Expect(Expect::Timeout(None))).unwrap();
    assert_eq!(left(&s), [""; 0]);
}

#[test]
fn an_expected_fault_covers_its_consequences_but_no_other_fault() {
    let to = |dst| HostOp::Copy { queue: Q, src: BUFFER, dst, size: 64 };
    let mut s = Session::new(Arc::new(program(64, vec![to(0x10)])));
    cont(&mut s);
    let left = |s: &Session| s.unexpected().iter().map(|d| d.code).collect::<Vec<_>>();
    assert_eq!(left(&s), ["R010", "R001", "R002"]);
    let fault = |name: &str| Command::Expect(Expect::Fault(name.into(), None));
    assert!(s.execute(&fault("PREFETCH_RING_ID")).is_err());
    s.execute(&fault("DATA_AXI_RESP")).unwrap();
    assert_eq!(left(&s), [""; 0]);
    // Two engines, a fault on each: one expected.
    let mut p = program(64, vec![to(0x10)]);
    let other = QueueId { engine: 129, queue: 0 };
    let ring = |at| Some(RingDecl { base: HOST + at, size: 64 });
    let (tx, rx) = (ring(0x50_0000_0000), ring(0x51_0000_0000));
    p.queues.push(QueueDecl { id: other, tx, rx, ..p.queues[0] });
    p.script.push(HostOp::InitQueue { queue: other }.into());
    p.script.push(HostOp::Copy { queue: other, src: 0x20, dst: DEVICE, size: 64 }.into());
    let mut s = Session::new(Arc::new(p));
    cont(&mut s);
    let slot = |queue, dir| Loc::Slots { queue, dir, first: 0, last: 0 };
    let at = slot(QueueRef::Exact(other), Dir::Tx);
    s.execute(&Command::Expect(Expect::Fault("DATA_AXI_RESP".into(), Some(at)))).unwrap();
    assert_eq!(left(&s), ["R010", "R001", "R002"]);
}

#[test]
fn finish_does_not_stop_at_the_timeout_of_another_queue() {
    let other = QueueId { engine: 129, queue: 0 };
    let mut p = program(64, vec![HostOp::InitQueue { queue: other }]);
    let ring = |at| Some(RingDecl { base: HOST + at, size: 64 });
    let (tx, rx) = (ring(0x50_0000_0000), ring(0x51_0000_0000));
    p.queues.push(QueueDecl { id: other, tx, rx, ..p.queues[0] });
    p.script.push(HostOp::Device(DeviceOp::LoseDoorbells(2)).into());
    let src = BUFFER;
    p.script.push(HostOp::Copy { queue: other, src, dst: DEVICE, size: 64 }.into());
    p.script.push(copy(64).into());
    let mut s = Session::new(Arc::new(p));
    s.execute(&Command::Finish { back: false }).unwrap();
    assert!(matches!(s.last_event().unwrap().kind, EventKind::Ack { queue: Q, dir: Dir::Tx, .. }));
}

#[test]
fn a_cancelled_way_back_leaves_the_position() {
    let mut s = Session::new(Arc::new(program(64, vec![copy(1 << 21); 8])));
    cont(&mut s);
    let (end, digest) = (s.position(), s.machine().digest());
    let mut cancel = |_: Progress| ControlFlow::Break(());
    for back in
        [Command::Continue { back: true }, Command::Until { expr: Expr::Num(0), back: true }]
    {
        s.execute_with(&back, &mut cancel).unwrap();
        assert_eq!((s.position(), s.machine().digest()), (end, digest), "{back:?}");
    }
}

#[test]
fn reads_that_fail_are_told_before_the_engine_changes_anything() {
    use crate::engine::ring::EventKind;
    let latency = HostOp::Device(DeviceOp::Latency(7));
    let mut told = None;
    machine::run(&program(64, vec![latency, copy(4096)]), |_, e| {
        match e.kind {
            EventKind::Poll { reads, value: 0, .. } => told = Some((e.n, reads, e.t_us())),
            EventKind::Fetch { .. } => assert!(told.is_some_and(|(n, ..)| n < e.n), "{e:?}"),
            _ => {}
        }
        true
    });
    // The first read is made after a microsecond, the marker is there after seven.
    assert_eq!(told.map(|t| (t.1, t.2)), Some((6, 7)));
}

#[test]
fn a_copy_that_succeeds_on_its_second_try_is_no_failure() {
    let mut p = program(
        64,
        vec![
            HostOp::Device(DeviceOp::ResetWindow(true)),
            HostOp::Device(DeviceOp::LoseDoorbells(2)),
            copy(4096),
        ],
    );
    p.arch = Generation::V2;
    // The queue is initialised again at its production size: the rings need the room.
    let ring = |at| Some(RingDecl { base: HOST + at, size: 8192 });
    (p.queues[0].tx, p.queues[0].rx) = (ring(0x6000_0000), ring(0x7000_0000));
    let done = machine::run(&p, |_, _| true);
    assert_eq!(done.rets.last().map(|r| r.1), Some(Ret::OK));
    let found: Vec<_> = done.machine.findings.iter().map(|d| (d.code, d.severity)).collect();
    assert_eq!(found, [("R002", Severity::Warning)]);
    assert!(!done.machine.has_errors());
}

#[test]
fn user_space_may_not_write_a_doorbell() {
    let offset = crate::udma::reg::queue_reg_offset(Dir::Tx, Q.queue, "drtp_inc").unwrap();
    let write = |offset| HostOp::RegWrite { engine: Q.engine, offset, value: 1 };
    let mut p = program(64, vec![write(offset), write(offset + 4)]);
    p.profile = Profile::find("nrt-2.31").unwrap();
    let rets: Vec<Ret> = machine::run(&p, |_, _| true).rets.iter().map(|r| r.1).collect();
    assert_eq!(rets[1..], [Ret::Code(-22), Ret::OK]);
}

#[test]
fn find_asks_every_slot_that_was_written() {
    let mut s = Session::new(Arc::new(program(32, vec![copy(200_000)])));
    s.execute(&Command::Goto(Goto::Mark("end".into()))).unwrap();
    let here = |name: &str| Box::new(Expr::Here(vec![name.into()]));
    let small = Expr::Binary(BinOp::Lt, here("length"), Box::new(Expr::Num(100)));
    let go_on = &mut |_| ControlFlow::Continue(());
    let found = s.slots_found(None, &small, go_on).unwrap();
    // Three chunks of 64 KiB, a rest, and the marker, which alone is small.
    assert_eq!(found, Found { slots: vec![(Dir::Tx, 4), (Dir::Rx, 4)], cut: false, asked: 10 });
    let ring = s.slots_found(Some(Dir::Rx), &small, go_on).unwrap();
    assert_eq!((ring.slots, ring.asked), (vec![(Dir::Rx, 4)], 5));
    // What only Tx has is no match on Rx; what none has is an error; so is a bare division.
    let barrier = s.slots_found(None, &here("write_barrier"), go_on).unwrap();
    assert_eq!(barrier.slots, [(Dir::Tx, 3)]);
    assert_eq!(s.slots_found(None, &here("nothing"), go_on).unwrap_err().code, "S005");
    let zero = Expr::Binary(BinOp::Div, here("index"), Box::new(Expr::Num(0)));
    assert_eq!(s.slots_found(None, &zero, go_on).unwrap_err().code, "S006");
    let cancelled = s.slots_found(None, &small, &mut |_| ControlFlow::Break(())).unwrap();
    assert!(!cancelled.cut, "ten slots are asked before anybody can cancel");
}
