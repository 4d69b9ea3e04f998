//! A stop is a fact of the timeline: single steps, `continue` and `reverse-continue` agree on it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::tests::{program, random_program};
use super::super::{Outcome, Progress, Session};
use super::*;
use crate::engine::command::{
    Access, Attached, Block, BlockLine, Catch, Command, Goto, Loc, Switch, Unit, Watch, Watched,
    Who, Written,
};
use crate::engine::expr::{BinOp, Expr, QueueRef};
use crate::engine::fixture::{BUFFER, DEVICE, MARKER, Q, RX_AFTER, TX, copy};
use crate::engine::order;
use crate::engine::program::{DeviceOp, HostOp, Program};
use crate::engine::ring::machine;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

const GO: Command = Command::Continue { back: false };
const BACK: Command = Command::Continue { back: true };
const STEP: Command = Command::Step { count: 1, unit: Unit::Event, who: Who::Any, back: false };

fn watch(what: Expr, len: u64, on: Access) -> StopKind {
    let len = Some(Expr::Num(len));
    StopKind::Watch(Watch { what: Watched::Expr(what), len, on })
}

fn at(addr: u64, len: u64, on: Access) -> StopKind {
    watch(Expr::Num(addr), len, on)
}

fn command(kind: &StopKind, cond: Option<Expr>, after: u64) -> Command {
    match kind.clone() {
        StopKind::Break(loc) => Command::Break { loc, cond, once: false, after },
        StopKind::Watch(watch) => Command::Watch { watch, cond, once: false, after },
        StopKind::Catch(what) => Command::Catch { what, cond, once: false, after },
    }
}

fn session(p: &Program, kind: &StopKind, cond: Option<Expr>, after: u64) -> Session {
    let mut s = Session::new(Arc::new(p.clone()));
    s.execute(&command(kind, cond, after)).unwrap();
    s
}

/// Events at which single steps tell of the stop.
fn by_steps(s: &mut Session) -> Vec<u64> {
    let mut out = Vec::new();
    loop {
        let (here, hits) = (s.position(), s.stops()[0].hits);
        s.execute(&STEP).unwrap();
        if s.position() == here {
            return out;
        }
        if s.stops()[0].hits > hits {
            out.push(s.position());
        }
    }
}

/// Events at which the session stops, forwards from the start, then backwards from the end.
fn both_ways(s: &mut Session) -> (Vec<u64>, Vec<u64>) {
    s.execute(&Command::Restart).unwrap();
    let mut ahead = Vec::new();
    loop {
        let hits = s.stops()[0].hits;
        let out = s.execute(&GO).unwrap();
        if s.stops()[0].hits == hits {
            break;
        }
        assert!(out.halt.unwrap().contains(&s.stops()[0].title()));
        ahead.push(s.position());
    }
    let last = s.position();
    let mut behind: Vec<u64> = ahead.last().copied().filter(|n| *n == last).into_iter().collect();
    loop {
        let hits = s.stops()[0].hits;
        s.execute(&BACK).unwrap();
        if s.stops()[0].hits == hits {
            break;
        }
        behind.push(s.position());
    }
    assert_eq!(s.position(), 0);
    behind.reverse();
    (ahead, behind)
}

/// Kinds of stops, each of them somewhere in most programs.
fn kinds() -> Vec<StopKind> {
    let slots = |dir, first, last| {
        StopKind::Break(Loc::Slots { queue: QueueRef::Selected, dir, first, last })
    };
    let slot = Expr::Slot {
        queue: QueueRef::Selected,
        dir: Dir::Rx,
        index: Box::new(Expr::Num(1)),
        path: Vec::new(),
    };
    let marker = || Expr::Name("marker".into());
    vec![
        slots(Dir::Tx, 0, 0),
        slots(Dir::Rx, 3, 9),
        StopKind::Break(Loc::Batch(2)),
        StopKind::Break(Loc::Addr(TX + RX_AFTER + 0x18)),
        StopKind::Break(Loc::Addr(DEVICE + 70_000)),
        StopKind::Break(Loc::Marker),
        StopKind::Break(Loc::Doorbell(None)),
        StopKind::Break(Loc::Fault),
        StopKind::Break(Loc::Event(7)),
        StopKind::Break(Loc::Queue(QueueRef::Exact(Q))),
        at(DEVICE, 64, Access::Change),
        at(DEVICE + 66_000, 1000, Access::Write),
        at(BUFFER + 8, 4, Access::Read),
        watch(slot, 16, Access::Access),
        watch(marker(), 4, Access::Change),
        watch(marker(), 4, Access::Read),
        StopKind::Catch(Catch::Fault(None)),
        StopKind::Catch(Catch::Race),
        StopKind::Catch(Catch::Doorbell(Some(QueueRef::Selected))),
        StopKind::Catch(Catch::Timeout),
        StopKind::Catch(Catch::Ret(None)),
        StopKind::Catch(Catch::Ret(Some(0))),
        StopKind::Catch(Catch::Stall),
    ]
}

fn odd() -> Expr {
    Expr::Binary(BinOp::And, Box::new(Expr::Name("event".into())), Box::new(Expr::Num(1)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn every_kind_stops_at_the_same_events_by_steps_forwards_and_backwards(
        p in random_program(), after in 0u64..3, odd_only in any::<bool>(),
    ) {
        for kind in kinds() {
            let cond = odd_only.then(odd);
            let all = by_steps(&mut session(&p, &kind, cond.clone(), 0));
            if odd_only {
                prop_assert!(all.iter().all(|n| n % 2 == 1), "{kind}: {all:?}");
            }
            let mut s = session(&p, &kind, cond, after);
            let (ahead, behind) = both_ways(&mut s);
            let passed = (after as usize).min(all.len());
            prop_assert_eq!(&ahead[..], &all[passed..], "{}", &kind);
            prop_assert_eq!(&behind, &ahead, "{}", &kind);
            // Both ways count, but the last event is come to once where the run ends with it.
            let twice = ahead.len() * 2;
            prop_assert!([twice, twice.saturating_sub(1)].contains(&(s.stops()[0].hits as usize)));
        }
    }

    /// The memory of a run changes at no event that `change` does not stop at, and at each that
    /// it stops at; the accesses are the reads and the writes.
    #[test]
    fn a_watchpoint_misses_no_change_and_makes_none_up(
        p in random_program(), offset in 0u64..70_000, len in 1u64..300, ring in any::<bool>(),
    ) {
        let addr = if ring { TX + offset % 1024 } else { DEVICE + offset };
        let mut changes = BTreeSet::new();
        let bytes = |m: &Machine| {
            let mut out = vec![0; len as usize];
            m.memory.read(addr, &mut out);
            let known: Vec<_> = (0..len).map(|k| m.memory.known(addr + k, 1)).collect();
            (out, known.iter().map(|k| (k.never_written.is_some(), k.unknown.is_some())).collect::<Vec<_>>())
        };
        let mut before = bytes(&Machine::new(&p));
        machine::run(&p, |m, e| {
            let after = bytes(m);
            if after != before {
                changes.insert(e.n);
            }
            before = after;
            true
        });
        let of = |on| -> BTreeSet<u64> {
            by_steps(&mut session(&p, &at(addr, len, on), None, 0)).into_iter().collect()
        };
        let (read, write) = (of(Access::Read), of(Access::Write));
        prop_assert_eq!(&of(Access::Change), &changes);
        prop_assert!(changes.is_subset(&write));
        prop_assert_eq!(of(Access::Access), read.union(&write).copied().collect::<BTreeSet<_>>());
    }

    /// What is caught is what the check of the whole run finds, each race at its later access.
    #[test]
    fn a_race_is_caught_at_the_event_that_closes_it(p in random_program()) {
        let found = order::check(&p, order::Readings::default());
        prop_assume!(found.more == 0 && found.stopped.is_none());
        let closing: BTreeSet<u64> =
            found.races.iter().map(|r| r.first.event.max(r.second.event)).collect();
        let mut s = session(&p, &StopKind::Catch(Catch::Race), None, 0);
        let caught: BTreeSet<u64> = both_ways(&mut s).0.into_iter().collect();
        prop_assert_eq!(caught, closing);
    }
}

/// A pair that reads what the pair before it writes, with nothing between them.
fn racing() -> Program {
    let stage = |src, dst| HostOp::Stage {
        queue: Q,
        src,
        dst,
        size: 64,
        barrier_code: 0,
        set_dst_int: false,
    };
    let start = HostOp::CopyStart { queue: Q, m2s: 2, s2m: 2 };
    program(64, vec![stage(BUFFER, DEVICE), stage(DEVICE, DEVICE + 64), start])
}

#[test]
fn a_race_is_told_with_both_of_its_accesses_wherever_the_session_comes_from() {
    let mut s = session(&racing(), &StopKind::Catch(Catch::Race), None, 0);
    let why = run(&mut s, &GO).halt.unwrap();
    let n = s.position();
    assert_eq!(
        why,
        "catchpoint 1, race: R031 read after write: the write of e128.q0.rx[0] (event 33) and \
         the read of e128.q0.tx[1] (event 37)"
    );
    assert_eq!(run(&mut s, &GO).halt.unwrap(), "the run is at its end");
    assert_eq!((run(&mut s, &BACK).halt.unwrap(), s.position()), (why, n));
    // A stop that is set behind it finds it too.
    let mut late = Session::new(Arc::new(racing()));
    run(&mut late, &Command::Goto(Goto::Mark("end".into())));
    run(&mut late, &command(&StopKind::Catch(Catch::Race), None, 0));
    run(&mut late, &BACK);
    assert_eq!(late.position(), n);
}

#[test]
fn working_out_what_a_stop_needs_can_be_cancelled() {
    // Long enough to be told of.
    let mut s = Session::new(Arc::new(program(64, vec![copy(1 << 21); 160])));
    run(&mut s, &Command::Goto(Goto::Mark("end".into())));
    let end = s.position();
    let mut cancel = |_: Progress| std::ops::ControlFlow::Break(());
    // Each event is looked at for these.
    let about_queue = StopKind::Break(Loc::Queue(QueueRef::Selected));
    for (kind, after) in [(StopKind::Catch(Catch::Race), 0), (about_queue, u64::MAX)] {
        let out = s.execute_with(&command(&kind, None, after), &mut cancel).unwrap();
        assert_eq!(out.lines, ["cancelled: no stop was set"], "{kind}");
    }
    assert_eq!((s.position(), s.stops().len()), (end, 0));
}

fn run(s: &mut Session, c: &Command) -> Outcome {
    s.execute(c).unwrap()
}

#[test]
fn a_write_of_the_value_that_was_there_is_a_write_and_no_change() {
    // Two copies of the same bytes.
    let p = program(64, vec![copy(4096), copy(4096)]);
    let stops = |on| by_steps(&mut session(&p, &at(DEVICE, 8, on), None, 0)).len();
    assert_eq!((stops(Access::Write), stops(Access::Change), stops(Access::Read)), (2, 1, 0));
}

#[test]
fn a_watchpoint_tells_what_was_there_and_what_is_there_now() {
    let p = program(64, vec![copy(64)]);
    let mut s = session(&p, &watch(Expr::Name("marker".into()), 4, Access::Change), None, 0);
    let why = run(&mut s, &GO).halt.unwrap();
    assert_eq!(
        why, "watchpoint 1, marker,4 change: old = 0x00000000, new = 0xabcdef01",
        "the marker was zero from the start, and seeded with the same"
    );
    // The same on the way back.
    run(&mut s, &Command::Goto(Goto::Mark("end".into())));
    let back = run(&mut s, &BACK).halt.unwrap();
    assert!(back.ends_with("old = 0xabcdef01, new = 0x00000000"), "the ack re-seeds it: {back}");
    assert_eq!(run(&mut s, &BACK).halt.unwrap(), why);
}

#[test]
fn unwritten_bytes_that_are_written_have_changed() {
    let mut p = program(64, vec![copy(64)]);
    p.regions[0].fill = crate::engine::program::Fill::Never;
    let mut s = session(&p, &at(DEVICE, 4, Access::Change), None, 0);
    let why = run(&mut s, &GO).halt.unwrap();
    assert!(why.contains("old = 0x--------, new = 0x"), "{why}");
}

#[test]
fn a_place_of_the_selected_queue_stays_that_queue_s() {
    use crate::engine::program::QueueId;
    let other = QueueId { engine: 129, queue: 0 };
    let mut p = program(64, vec![copy(64)]);
    p.queues.push(crate::engine::fixture::queue(other, TX + 0x100_0000, 64, true));
    let kind =
        StopKind::Break(Loc::Slots { queue: QueueRef::Selected, dir: Dir::Tx, first: 0, last: 0 });
    let mut s = session(&p, &kind, None, 0);
    s.select(other);
    run(&mut s, &GO);
    assert_eq!(s.last_event().unwrap().queue(), Some(Q));
    assert_eq!(s.stops()[0].text(), "e128.q0.tx[0]");
    assert_eq!(s.stop_on_slot(Q, Dir::Tx, 0).map(|x| x.number), Some(1));
    assert_eq!(s.stop_on_slot(other, Dir::Tx, 0), None);
}

#[test]
fn once_disables_or_deletes_and_numbers_are_not_used_again() {
    let mut s = Session::new(Arc::new(program(64, vec![copy(64), copy(64), copy(64)])));
    let stop = |kind: StopKind| command(&kind, None, 0);
    let bell = StopKind::Break(Loc::Doorbell(None));
    run(&mut s, &stop(bell.clone()));
    run(&mut s, &stop(StopKind::Break(Loc::Marker)));
    run(&mut s, &Command::Enable(vec![(1, 1)], Switch::Once));
    run(&mut s, &Command::Enable(vec![(2, 2)], Switch::Delete));
    run(&mut s, &GO);
    assert_eq!((s.stops()[0].enabled, s.stops()[0].then), (false, Then::Keep));
    run(&mut s, &GO);
    assert_eq!(s.stops().len(), 1, "the second is gone");
    run(&mut s, &Command::Delete(vec![(1, 9)]));
    assert!(s.stops().is_empty());
    assert_eq!(run(&mut s, &stop(bell)).lines, ["breakpoint 3: doorbell"]);
    let gone = s.execute(&Command::Delete(vec![(1, 2)])).unwrap_err();
    assert_eq!((gone.code, gone.message.as_str()), ("S005", "no stop has a number in `1-2`"));
}

#[test]
fn stops_at_one_event_are_all_told_and_counted() {
    let mut s = session(&program(64, vec![copy(64)]), &StopKind::Break(Loc::Marker), None, 0);
    run(&mut s, &command(&StopKind::Catch(Catch::Marker), None, 0));
    let why = run(&mut s, &GO).halt.unwrap();
    assert_eq!(why, "breakpoint 1, marker; catchpoint 2, marker");
    assert_eq!(s.stops().iter().map(|x| x.hits).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn the_commands_of_a_stop_come_with_its_hit_and_silent_keeps_it_quiet() {
    let mut s = session(&program(64, vec![copy(64)]), &StopKind::Break(Loc::Marker), None, 0);
    let line = |command| BlockLine { command, written: Written::default() };
    let block = Block { silent: true, lines: vec![line(Command::Where), line(GO)] };
    let set = Command::Commands { stop: None, what: Attached::Set(block.clone()) };
    assert_eq!(run(&mut s, &set).lines, ["breakpoint 1 has 2 commands now"]);
    let out = run(&mut s, &GO);
    assert_eq!((out.lines.len(), out.halt.as_deref()), (0, Some("")));
    assert_eq!(out.follow, block.lines);
    // A stop that is not silent beside it is told.
    run(&mut s, &Command::Restart);
    run(&mut s, &command(&StopKind::Catch(Catch::Marker), None, 0));
    let out = run(&mut s, &GO);
    assert_eq!(out.halt.as_deref(), Some("breakpoint 1, marker; catchpoint 2, marker"));
    run(&mut s, &Command::Commands { stop: Some(1), what: Attached::Clear });
    run(&mut s, &Command::Restart);
    assert!(run(&mut s, &GO).follow.is_empty());
    assert_eq!(
        s.execute(&Command::Commands { stop: Some(7), what: Attached::Show }).unwrap_err().code,
        "S005"
    );
}

#[test]
fn a_condition_that_goes_wrong_names_its_stop() {
    let zero = Expr::Binary(
        BinOp::Div,
        Box::new(Expr::Num(1)),
        Box::new(Expr::Binary(
            BinOp::Lt,
            Box::new(Expr::Name("event".into())),
            Box::new(Expr::Num(3)),
        )),
    );
    let p = program(64, vec![copy(64)]);
    let mut s = session(&p, &StopKind::Break(Loc::Marker), Some(zero), 0);
    let d = s.execute(&GO).unwrap_err();
    assert_eq!(
        (d.code, d.message.as_str()),
        ("S006", "the condition of breakpoint 1: division by zero: `event < 3` is 0")
    );
    assert_eq!(s.position(), 0);
}

#[test]
fn a_timeout_and_a_failed_call_are_caught() {
    let lose = HostOp::Device(DeviceOp::LoseDoorbells(2));
    let p = program(64, vec![lose, copy(64), copy(64)]);
    for what in [Catch::Timeout, Catch::Ret(None), Catch::Ret(Some(-1))] {
        let hits = by_steps(&mut session(&p, &StopKind::Catch(what.clone()), None, 0));
        assert_eq!(hits.len(), 1, "{what}: {hits:?}");
    }
    let none = by_steps(&mut session(&p, &StopKind::Catch(Catch::Ret(Some(-12))), None, 0));
    assert!(none.is_empty());
}

#[test]
fn what_a_program_does_not_have_is_refused_with_the_nearest() {
    let mut s = Session::new(Arc::new(program(64, vec![copy(64)])));
    let mut refuse = |kind: StopKind| {
        let d = s.execute(&command(&kind, None, 0)).unwrap_err();
        (d.code, d.help.unwrap_or_default())
    };
    let (code, help) = refuse(StopKind::Break(Loc::Name("tz".into())));
    assert_eq!((code, help.as_str()), ("S005", "did you mean `tx`?"));
    for loc in [
        Loc::Inst("I-1".into()),
        Loc::Line(3),
        Loc::Pass(crate::engine::lower::Stage::Split),
        Loc::Doorbell(Some(QueueRef::Queue(7))),
        Loc::Queue(QueueRef::Queue(7)),
    ] {
        assert_eq!(refuse(StopKind::Break(loc)).0, "S005");
    }
    assert_eq!(refuse(at(DEVICE, 0, Access::Write)).0, "S003");
    assert_eq!(refuse(at(u64::MAX, 2, Access::Write)).0, "S003");
    assert_eq!(refuse(at(DEVICE, 1 << 30, Access::Change)).0, "S003");
    let semaphore = Watch { what: Watched::Semaphore(1), len: None, on: Access::Write };
    assert_eq!(refuse(StopKind::Watch(semaphore)).0, "S010");
    assert!(s.stops().is_empty());
}

#[test]
fn values_are_shown_at_every_stop_and_say_why_they_have_none() {
    let mut s =
        session(&program(64, vec![copy(64)]), &StopKind::Break(Loc::Doorbell(None)), None, 0);
    let show = |e| Command::Display { expr: Some(e), form: None };
    assert_eq!(run(&mut s, &show(Expr::Name("event".into()))).lines, ["1: event = 0"]);
    let ret = Expr::Name("ret".into());
    assert_eq!(run(&mut s, &show(ret)).lines, ["2: ret = ?? (no call has returned yet)"]);
    let lines = run(&mut s, &GO).lines;
    assert_eq!(
        &lines[2..],
        [format!("1: event = {0} ({0:#x})", s.position()), "2: ret = 0".into()]
    );
    run(&mut s, &Command::Undisplay(vec![(1, 1)]));
    assert_eq!(run(&mut s, &Command::Display { expr: None, form: None }).lines, ["2: ret = 0"]);
    assert_eq!(s.execute(&Command::Undisplay(vec![(1, 1)])).unwrap_err().code, "S005");
    assert_eq!(s.execute(&show(Expr::Var("nothing".into()))).unwrap_err().code, "S005");
}

#[test]
fn the_marker_of_a_queue_is_a_place_to_watch() {
    let q = Expr::Queue { queue: QueueRef::Exact(Q), path: vec!["marker".into()] };
    let s = session(&program(64, vec![copy(64)]), &watch(q, 4, Access::Write), None, 0);
    let line = s.info_breakpoints().pop().unwrap();
    assert!(line.ends_with(&format!("(4 bytes at marker+0x4, {:#x})", MARKER + 4)), "{line}");
}
