//! A changed run is a run like any other: it goes back, it is undone, it is told of.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::engine::command::{Command, Expect, Explain, Goto, Loc, Unit, Who};
use crate::engine::fixture::{self, *};
use crate::engine::order;
use crate::engine::program::HostOp;
use crate::engine::ring::{EventKind, Machine};
use crate::udma::profile::MARKER as WORD;
use proptest::prelude::*;

fn session(ops: Vec<HostOp>) -> Session {
    Session::new(Arc::new(fixture::program(true, 64, ops)))
}

/// A slot's part.
fn slot(dir: Dir, index: u64, path: &str) -> Expr {
    let path = path.split('.').map(str::to_owned).collect();
    Expr::Slot { queue: QueueRef::Selected, dir, index: Box::new(Expr::Num(index)), path }
}

/// A property or register of a ring.
fn of_ring(dir: Dir, name: &str) -> Expr {
    let path = vec![dir.name().to_owned(), name.to_owned()];
    Expr::Queue { queue: QueueRef::Selected, path }
}

fn set(s: &mut Session, what: Expr, value: u64) -> Result<String, Diagnostic> {
    let done = s.execute(&Command::Set { what, value: Expr::Num(value) })?;
    Ok(done.lines.join("\n"))
}

fn goto(s: &mut Session, n: u64) {
    s.execute(&Command::Goto(Goto::Event(Expr::Num(n)))).unwrap();
}

fn end(s: &mut Session) -> u64 {
    s.execute(&Command::Goto(Goto::Mark("end".into()))).unwrap();
    s.position()
}

/// To the first event at which the question is answered yes.
fn until(s: &mut Session, is: impl Fn(&EventKind) -> bool) -> u64 {
    loop {
        let step = Command::Step { count: 1, unit: Unit::Event, who: Who::Any, back: false };
        s.execute(&step).unwrap();
        if s.last_event().is_some_and(|e| is(&e.kind)) {
            return s.position();
        }
        assert_ne!(Some(s.position()), s.end(), "it never comes");
    }
}

fn codes(s: &Session) -> Vec<&'static str> {
    s.machine().findings.iter().map(|d| d.code).collect()
}

/// The state that a run of the session's program has at its position.
fn replayed(s: &Session) -> u64 {
    let mut m = Machine::new(s.program());
    while m.n < s.position() && m.step(s.program()).is_some() {}
    m.digest()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Whatever is changed wherever: the session stands in the state that its program has
    /// there, undoing gives back each state, and doing it again the other.
    #[test]
    fn undo_gives_back_the_very_state(
        sizes in prop::collection::vec(1u64..300_000, 1..4),
        changes in prop::collection::vec((0u64..200, fixture::change(64)), 1..8),
        away in 0u64..250,
    ) {
        let mut s = session(sizes.into_iter().map(copy).collect());
        let mut states = Vec::new();
        for (n, change) in changes {
            goto(&mut s, n);
            let before = (s.position(), s.machine().digest(), s.program().edits.clone());
            if s.make(change, "changed").is_err() {
                prop_assert_eq!(before.1, s.machine().digest());
                continue;
            }
            prop_assert_eq!(s.position(), before.0);
            prop_assert_eq!(s.machine().digest(), replayed(&s));
            states.push((before, s.machine().digest(), s.program().edits.clone()));
        }
        goto(&mut s, away);
        for ((n, digest, edits), ..) in states.iter().rev() {
            s.execute(&Command::Undo).unwrap();
            prop_assert_eq!(&s.program().edits, edits);
            prop_assert_eq!(s.machine().digest(), replayed(&s));
            goto(&mut s, *n);
            prop_assert_eq!(s.machine().digest(), *digest);
        }
        prop_assert!(s.program().edits.is_empty());
        prop_assert_eq!(s.execute(&Command::Undo).unwrap_err().code, "S021");
        for ((n, ..), digest, edits) in &states {
            goto(&mut s, *n);
            s.execute(&Command::Redo).unwrap();
            prop_assert_eq!(s.machine().digest(), *digest);
            prop_assert_eq!(&s.program().edits, edits);
        }
        prop_assert_eq!(s.execute(&Command::Redo).unwrap_err().code, "S021");
    }

    /// No change breaks the run, nor the check of its order; it ends.
    #[test]
    fn every_changed_run_ends_and_its_order_can_be_checked(
        sizes in prop::collection::vec(1u64..300_000, 1..4),
        authored in any::<bool>(),
        edits in fixture::edits(64),
    ) {
        let mut p = fixture::program(!authored, 64, sizes.into_iter().map(copy).collect());
        p.edits = edits;
        let mut n = 0;
        let done = crate::engine::ring::machine::run(&p, |_, _| {
            n += 1;
            n < 100_000
        });
        prop_assert!(n < 100_000, "the run does not end");
        prop_assert!(done.machine.injected.len() <= p.edits.len());
        order::check(&p, order::Readings::STRICT);
    }
}

#[test]
fn a_field_a_word_and_a_length_are_set_and_what_does_not_fit_is_refused() {
    let mut s = session(vec![copy(4096)]);
    until(&mut s, |k| matches!(k, EventKind::Stage { .. }));
    let n = s.position();
    let told = set(&mut s, slot(Dir::Tx, 0, "len_ctrl.dmb"), 1).unwrap();
    assert_eq!(
        told,
        format!(
            "e128.q0.tx[0].len_ctrl.dmb: 0 -> 1 (len_ctrl 0x0d001000 -> 0x4d001000), at event {n}"
        )
    );
    assert_eq!(s.value(&slot(Dir::Tx, 0, "dmb")), Ok(1));
    set(&mut s, slot(Dir::Rx, 0, "len_ctrl"), 0x0100_0800).unwrap();
    assert_eq!(s.value(&slot(Dir::Rx, 0, "length")), Ok(2048));
    set(&mut s, slot(Dir::Rx, 0, "length"), 65_536).unwrap();
    assert_eq!(s.value(&slot(Dir::Rx, 0, "len_ctrl.length")), Ok(0));
    set(&mut s, slot(Dir::Rx, 0, "phase"), 3).unwrap();
    assert_eq!(s.value(&slot(Dir::Rx, 0, "ring_id")), Ok(3));
    set(&mut s, slot(Dir::Tx, 0, "buf_ptr"), u64::MAX).unwrap();
    for (what, value, says) in [
        (slot(Dir::Tx, 0, "dmb"), 2, "2 does not fit e128.q0.tx[0].dmb, which has 1 bit"),
        (slot(Dir::Tx, 0, "len_ctrl"), 1 << 32, "which has 32 bits"),
        (slot(Dir::Rx, 0, "length"), 0, "moves 1 to 65536 bytes, not 0"),
        (slot(Dir::Tx, 0, "addr"), 0, "it is where the ring lies"),
        (slot(Dir::Tx, 0, "life"), 0, "it follows from the cursors"),
        (Expr::Mem { width: 1, addr: Box::new(Expr::Num(DEVICE)) }, 256, "which has 8 bits"),
        (Expr::Mem { width: 4, addr: Box::new(Expr::Num(16)) }, 1, "no memory is known at 0x10"),
        (of_ring(Dir::Tx, "free"), 1, "it follows from the cursors"),
        (of_ring(Dir::Rx, "drtp"), 1, "it is what doorbells have posted"),
        (of_ring(Dir::Tx, "drtp_inc"), 1 << 24, "which has 24 bits"),
        (of_ring(Dir::Tx, "next_desc_idx"), 64, "64 is no slot of a ring of 64"),
        (of_ring(Dir::Tx, "desc_ring_id"), 4, "a phase is 0 to 3"),
        (Expr::Name("event".into()), 1, "`goto` moves it"),
    ] {
        let before = s.machine().digest();
        let d = set(&mut s, what, value).unwrap_err();
        let text = format!("{} {}", d.message, d.help.unwrap_or_default());
        assert!(d.code == "S020" && text.contains(says), "{text}");
        assert_eq!(s.machine().digest(), before);
    }
    assert_eq!(set(&mut s, slot(Dir::Tx, 64, "dmb"), 1).unwrap_err().code, "S005");
}

#[test]
fn a_meta_descriptor_is_set_by_its_own_words() {
    let mut s = session(vec![copy(64)]);
    until(&mut s, |k| matches!(k, EventKind::Stage { .. }));
    set(&mut s, slot(Dir::Tx, 0, "meta"), 1).unwrap();
    set(&mut s, slot(Dir::Tx, 0, "meta2"), 7).unwrap();
    assert_eq!(s.value(&slot(Dir::Tx, 0, "meta2")), Ok(7));
    let d = set(&mut s, slot(Dir::Tx, 0, "phase"), 1).unwrap_err();
    assert!(d.message.contains("a META descriptor has no ring_id"), "{}", d.message);
    assert_eq!(set(&mut s, slot(Dir::Tx, 0, "buf_ptr"), 64).unwrap_err().code, "S005");
}

#[test]
fn an_edit_changes_what_comes_and_undo_brings_the_old_run_back() {
    let mut s = session(vec![copy(4096)]);
    let (last, digest) = (end(&mut s), s.machine().digest());
    s.execute(&Command::Mark("late".into())).unwrap();
    goto(&mut s, 0);
    let staged = until(&mut s, |k| matches!(k, EventKind::Stage { .. }));
    let told = set(&mut s, slot(Dir::Tx, 0, "ring_id"), 2).unwrap();
    assert!(told.ends_with("; a later mark went with it"), "{told}");
    assert!(s.marks().is_empty() && s.end().is_none());
    end(&mut s);
    assert!(codes(&s).starts_with(&["R001"]), "{:?}", codes(&s));
    assert_eq!(s.machine().queues[0].faulted, Some((Dir::Tx, 0)));
    goto(&mut s, staged + 3);
    let undone = s.execute(&Command::Undo).unwrap().lines.join("");
    assert!(
        undone.starts_with("undone: set e128.q0.tx[0].len_ctrl = 0xe001000 at event"),
        "{undone}"
    );
    assert!(undone.ends_with("; a later mark is back"), "{undone}");
    assert_eq!((s.position(), s.marks()["late"]), (staged + 3, last));
    assert_eq!((end(&mut s), s.machine().digest()), (last, digest));
}

#[test]
fn an_edit_at_the_end_lets_the_run_go_on() {
    // The doorbell is lost: the batch times out, and nothing more happens.
    let lose = HostOp::Device(crate::engine::program::DeviceOp::LoseDoorbells(2));
    let mut s = session(vec![lose, copy(64)]);
    let last = end(&mut s);
    assert!(s.next_event().is_none());
    set(&mut s, of_ring(Dir::Rx, "drtp_inc"), 2).unwrap();
    let told = set(&mut s, of_ring(Dir::Tx, "drtp_inc"), 2).unwrap();
    assert!(told.starts_with("doorbell e128.q0.tx 2, rung by the debugger"), "{told}");
    assert!(s.next_event().is_some_and(|e| e.n == last + 1));
    assert!(end(&mut s) > last);
    assert_eq!(s.value(&of_ring(Dir::Rx, "retired")), Ok(2));
    assert_eq!(s.value(&Expr::Name("marker".into())), Ok(u64::from(WORD)));
    s.execute(&Command::Undo).unwrap();
    // The Rx doorbell alone starts no work, so the run ends where it did.
    assert_eq!((s.position(), s.next_event()), (last, None));
}

#[test]
fn the_marker_can_be_set_for_the_host() {
    let mut s = session(vec![copy(64)]);
    until(&mut s, |k| matches!(k, EventKind::Delay { .. }));
    let at = s.position();
    set(&mut s, of_ring(Dir::Tx, "tail"), 0).unwrap();
    set(&mut s, Expr::Name("marker".into()), u64::from(WORD)).unwrap();
    let poll = until(&mut s, |k| matches!(k, EventKind::Poll { .. }));
    assert!(matches!(s.last_event().unwrap().kind, EventKind::Poll { value: WORD, .. }));
    assert!(poll > at);
    let e = s.events(at, at + 4);
    assert!(e.iter().all(|e| !matches!(e.kind, EventKind::Read { .. })), "{e:?}");
}

#[test]
fn reads_of_the_old_marker_are_not_told_with_the_new_one() {
    let mut p = fixture::program(true, 64, vec![copy(400_000)]);
    p.speed.ns_per_desc = 900_000;
    let mut s = Session::new(Arc::new(p));
    // The engine works while the host reads: reads are made that no event has told yet.
    until(&mut s, |k| matches!(k, EventKind::Delay { .. }));
    let mut n = 0;
    while s.machine().host.poll.is_none_or(|p| p.untold == 0) {
        let step = Command::Step { count: 1, unit: Unit::Event, who: Who::Any, back: false };
        s.execute(&step).unwrap();
        n += 1;
        assert!(n < 50, "no read is left untold");
    }
    set(&mut s, Expr::Name("marker".into()), u64::from(WORD)).unwrap();
    until(&mut s, |k| matches!(k, EventKind::Poll { .. }));
    let told = s.last_event().unwrap().kind;
    assert!(matches!(told, EventKind::Poll { value: WORD, reads: 1, .. }), "{told:?}");
}

#[test]
fn the_drivers_cursors_move_with_their_totals() {
    let mut s = session(vec![copy(64), copy(64), copy(64)]);
    s.execute(&Command::Finish { back: false }).unwrap();
    let get = |s: &Session, name: &str| s.value(&of_ring(Dir::Tx, name)).unwrap();
    assert_eq!((get(&s, "next_desc_idx"), get(&s, "staged")), (2, 2));
    set(&mut s, of_ring(Dir::Tx, "next_desc_idx"), 5).unwrap();
    assert_eq!(get(&s, "staged"), 5);
    set(&mut s, of_ring(Dir::Tx, "next_desc_idx"), 1).unwrap();
    assert_eq!(get(&s, "staged"), 1);
    set(&mut s, of_ring(Dir::Tx, "next_cdesc_idx"), 0).unwrap();
    assert_eq!((get(&s, "acked"), get(&s, "free")), (0, 47));
    set(&mut s, of_ring(Dir::Tx, "desc_ring_id"), 3).unwrap();
    until(&mut s, |k| matches!(k, EventKind::Stage { .. }));
    assert_eq!(s.value(&slot(Dir::Tx, 1, "ring_id")), Ok(3));
    // The engine stands at slot 2, which the driver did not fill.
    end(&mut s);
    assert!(codes(&s).contains(&"R001"), "{:?}", codes(&s));
}

#[test]
fn the_engines_head_and_tail_move_between_packets() {
    let mut s = session(vec![copy(64), copy(64)]);
    s.execute(&Command::Finish { back: false }).unwrap();
    // Both heads back to the first slot: the pair is moved again.
    for dir in Dir::BOTH {
        set(&mut s, of_ring(dir, "head"), 0).unwrap();
    }
    let at = s.position();
    let next = s.next_event().unwrap();
    assert!(matches!(next.kind, EventKind::Fetch { dir: Dir::Tx, slot: 0, .. }), "{next:?}");
    let step = Command::Step { count: 1, unit: Unit::Event, who: Who::Any, back: false };
    s.execute(&step).unwrap();
    let d = set(&mut s, of_ring(Dir::Tx, "head"), 1).unwrap_err();
    assert!(d.message.contains("inside a packet"), "{}", d.message);
    end(&mut s);
    assert_eq!(codes(&s), [""; 0]);
    // Behind the first event of all nothing was passed.
    goto(&mut s, at);
    let d = set(&mut s, of_ring(Dir::Tx, "head"), 9).unwrap_err();
    assert!(d.message.contains("neither posted nor behind"), "{}", d.message);
    // The tail is moved on: what the driver never wrote is fetched.
    set(&mut s, of_ring(Dir::Tx, "tail"), 3).unwrap();
    assert_eq!(s.value(&of_ring(Dir::Tx, "posted")), Ok(3));
}

#[test]
fn before_the_queue_is_initialised_there_is_no_cursor_of_the_engine() {
    let mut s = session(vec![copy(64)]);
    let d = set(&mut s, of_ring(Dir::Tx, "tail"), 1).unwrap_err();
    assert!(d.message.contains("before it is initialised"), "{}", d.message);
    let mut p = fixture::program(true, 64, vec![copy(64)]);
    let change = Change::Cursor { queue: Q, dir: Dir::Tx, cursor: Cursor::Tail, value: 1 };
    p.edits.push(Edit { at: 0, change });
    let m = Machine::new(&p);
    assert_eq!(m.findings[0].code, "R040");
    assert_eq!(m.findings[0].place.event, Some(0));
    // The run is as it would be without.
    let memory =
        |p: &Program| crate::engine::ring::machine::run(p, |_, _| true).machine.memory.digest();
    assert_eq!(memory(&p), memory(&Program { edits: Vec::new(), ..p.clone() }));
}

#[test]
fn a_fault_is_injected_expected_and_told() {
    let mut s = session(vec![copy(4096)]);
    let inject = |s: &mut Session, fault: &str, at: InjectAt| {
        s.execute(&Command::Inject { fault: fault.into(), at }).map(|o| o.lines.join(""))
    };
    let rx = InjectAt { dir: Some(Dir::Rx), slot: Some(0), ..InjectAt::default() };
    let told = inject(&mut s, "DATA_AXI_TO", rx).unwrap();
    assert_eq!(
        told,
        "DATA_AXI_TO waits for e128.q0.rx[0]; armed: the engine will abort (MODEL), at event 0"
    );
    let both = inject(&mut s, "PKT_LEN", InjectAt::default()).unwrap();
    assert!(both.contains("`inject PKT_LEN at rx`"), "{both}");
    s.execute(&Command::Undo).unwrap();
    let wrong = InjectAt { dir: Some(Dir::Rx), slot: Some(64), ..InjectAt::default() };
    assert_eq!(inject(&mut s, "PKT_LEN", wrong).unwrap_err().code, "S020");
    let lines = s.info_edits().join("\n");
    assert!(lines.contains("1: inject DATA_AXI_TO at e128.q0.rx[0] at event 0"), "{lines}");
    assert!(lines.contains("DATA_AXI_TO waits at e128.q0.rx[0]"), "{lines}");
    end(&mut s);
    assert!(!s.info_edits().join("\n").contains("waits"));
    assert!(s.machine().findings[0].message.ends_with("injected (MODEL))"));
    let at = Some(Loc::Slots { queue: QueueRef::Selected, dir: Dir::Rx, first: 0, last: 0 });
    s.execute(&Command::Expect(Expect::Fault("DATA_AXI_TO".into(), at))).unwrap();
    assert!(s.unexpected().is_empty());
    // The engine is gone: there is nobody to find another one.
    let d = inject(&mut s, "PKT_LEN", InjectAt::default()).unwrap_err();
    assert!(d.message.contains("the engine has aborted"), "{}", d.message);
    // What was expected of a run that is no more is not expected of another.
    goto(&mut s, 0);
    let undone = s.execute(&Command::Undo).unwrap().lines.join("");
    assert!(undone.ends_with("is not expected any more"), "{undone}");
    assert!(s.expected.is_empty() && s.expected_aborts.is_empty());
}

#[test]
fn later_edits_go_and_come_back() {
    let mut s = session(vec![copy(4096)]);
    let mem = |n: u64| Expr::Mem { width: 4, addr: Box::new(Expr::Num(DEVICE + n)) };
    goto(&mut s, 20);
    set(&mut s, mem(0x8000), 1).unwrap();
    goto(&mut s, 10);
    let told = set(&mut s, mem(0x8004), 2).unwrap();
    assert!(told.ends_with("at event 10; a later edit went with it"), "{told}");
    assert_eq!(s.program().edits.len(), 1);
    goto(&mut s, 20);
    assert_eq!((s.value(&mem(0x8000)), s.value(&mem(0x8004))), (Ok(0), Ok(2)));
    let undone = s.execute(&Command::Undo).unwrap().lines.join("");
    assert!(undone.ends_with("; a later edit is back"), "{undone}");
    assert_eq!((s.value(&mem(0x8000)), s.value(&mem(0x8004))), (Ok(1), Ok(0)));
    // A new edit ends what could be made again.
    set(&mut s, mem(0x8008), 3).unwrap();
    assert_eq!(s.execute(&Command::Redo).unwrap_err().code, "S021");
}

#[test]
fn stops_that_pass_over_hits_count_in_the_changed_run() {
    let mut s = session(vec![copy(64), copy(64), copy(64)]);
    let third = Command::Break { loc: Loc::Doorbell(None), cond: None, once: false, after: 2 };
    s.execute(&third).unwrap();
    let go = Command::Continue { back: false };
    s.execute(&go).unwrap();
    let at = s.position();
    goto(&mut s, 0);
    until(&mut s, |k| matches!(k, EventKind::Stage { .. }));
    s.execute(&Command::Inject { fault: "PREFETCH_RING_ID".into(), at: InjectAt::default() })
        .unwrap();
    s.execute(&go).unwrap();
    // Each batch times out, so the third doorbell is another event than before.
    assert_eq!(s.value(&Expr::Name("batch".into())), Ok(3));
    assert_ne!(s.position(), at);
    s.execute(&Command::Undo).unwrap();
    goto(&mut s, 0);
    s.execute(&go).unwrap();
    assert_eq!(s.position(), at);
}

#[test]
fn the_state_before_an_edit_is_kept_for_showing_what_changed() {
    let mut s = session(vec![copy(64)]);
    goto(&mut s, 25);
    let before = s.machine().digest();
    set(&mut s, slot(Dir::Tx, 0, "dmb"), 1).unwrap();
    assert_eq!(s.before().digest(), before);
    let slot0 = Loc::Slots { queue: QueueRef::Selected, dir: Dir::Tx, first: 0, last: 0 };
    let explained = s.execute(&Command::Explain(Explain::Loc(slot0))).unwrap().lines;
    let edited = "  edited: set e128.q0.tx[0].len_ctrl = 0x4d000040 at event 25";
    assert!(explained.iter().any(|l| l == edited), "{explained:?}");
    assert!(s.where_lines().iter().any(|l| l == "edited: set e128.q0.tx[0].len_ctrl = 0x4d000040"));
}

#[test]
fn a_program_is_handed_out_to_be_saved_and_nothing_is_written_here() {
    let mut s = session(vec![copy(64)]);
    set(&mut s, slot(Dir::Tx, 0, "dmb"), 1).unwrap();
    let (file, format) = ("a.dma".to_owned(), SaveFormat::Assembly);
    let done = s.execute(&Command::Save { file, format, over: true }).unwrap();
    let Some(Effect::Save { program, over: true, .. }) = done.effect else { panic!("{done:?}") };
    assert_eq!(program.edits, s.program().edits);
    assert_eq!(program.edits.len(), 1);
}

#[test]
fn edits_of_the_file_are_named_as_such_and_are_not_undone() {
    let mut p = fixture::program(true, 64, vec![copy(64)]);
    let store = |n: u64| Change::Store { addr: DEVICE + n, bytes: Blob::from_vec(vec![1]) };
    p.edits = vec![Edit { at: 2, change: store(0) }, Edit { at: 30, change: store(1) }];
    let mut s = Session::new(Arc::new(p));
    assert_eq!(s.execute(&Command::Undo).unwrap_err().code, "S021");
    goto(&mut s, 10);
    s.make(store(2), "a byte").unwrap();
    let lines = s.info_edits();
    assert!(lines[0].ends_with("at event 2, from the file"), "{lines:?}");
    assert!(lines[1].ends_with("at event 10"), "{lines:?}");
    s.execute(&Command::Undo).unwrap();
    assert_eq!(s.program().edits.len(), 2);
}

#[test]
fn registers_are_read_and_set_by_name_and_by_offset() {
    let mut s = session(vec![copy(64)]);
    let reg = |offset| Expr::Reg { queue: QueueRef::Selected, offset: Box::new(Expr::Num(offset)) };
    assert_eq!(s.value(&reg(0x200)).unwrap_err().code, "S006");
    let told = set(&mut s, reg(0x200), 5).unwrap();
    assert!(told.starts_with("register 0x200 of e128 "), "{told}");
    assert_eq!(s.value(&reg(0x200)), Ok(5));
    assert_eq!(set(&mut s, reg(0x202), 5).unwrap_err().code, "S020");
    assert_eq!(set(&mut s, reg(1 << 20), 5).unwrap_err().code, "S020");
    assert_eq!(s.value(&reg(1 << 20)).unwrap_err().code, "S005");
    // The same register either way.
    let drl = reg::queue_reg_offset(Dir::Tx, Q.queue, "drl").unwrap();
    until(&mut s, |k| matches!(k, EventKind::Stage { .. }));
    assert_eq!(s.value(&reg(drl.into())), s.value(&of_ring(Dir::Tx, "drl")));
    set(&mut s, of_ring(Dir::Tx, "drl"), 32).unwrap();
    assert_eq!(s.value(&reg(drl.into())), Ok(32));
    assert_eq!(s.machine().queues[0].hw(Dir::Tx).ring.size, 32);
    let drtp = reg::queue_reg_offset(Dir::Tx, Q.queue, "drtp").unwrap();
    assert_eq!(set(&mut s, reg(drtp.into()), 1).unwrap_err().code, "S020");
}

#[test]
fn the_number_of_edits_is_bounded() {
    let mut p = fixture::program(true, 64, vec![]);
    let change = Change::Store { addr: DEVICE, bytes: Blob::from_vec(vec![1]) };
    p.edits = vec![Edit { at: 0, change: change.clone() }; MAX_EDITS];
    let mut s = Session::new(Arc::new(p));
    assert_eq!(s.make(change, "one more").unwrap_err().code, "S020");
}
