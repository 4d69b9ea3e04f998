//! What is set stays at what it was set at, told by means of its own: operations that each have a
//! note and a destination of their own, and modules whose instructions have names.

use super::super::Session;
use super::super::stops::StopKind;
use super::*;
use crate::engine::command::{Command, Goto, Info, Loc, Watch as Watchpoint, Watched};
use crate::engine::expr::{BinOp, QueueRef};
use crate::engine::fixture::{self, BUFFER, DEVICE, Q};
use crate::engine::program::{HostOp, ScriptOp};
use crate::engine::ring::{Event, EventKind, machine};
use proptest::prelude::*;
use std::ops::ControlFlow;

/// Bytes between the destinations of two operations.
const APART: u64 = 0x2_0000;

/// Operation `id` of all that there are: a copy of a size and to a place that no other has; each
/// third takes two descriptors.
fn op(id: u64) -> ScriptOp {
    let size = if id.is_multiple_of(3) { 70_000 + id } else { 64 + 16 * id };
    let op = HostOp::Copy { queue: Q, src: BUFFER + id * 64, dst: DEVICE + id * APART, size };
    ScriptOp { op, note: format!("op {id}") }
}

fn program(ids: &[u64]) -> Arc<Program> {
    let mut p = fixture::program(true, 64, Vec::new());
    p.script.extend(ids.iter().map(|id| op(*id)));
    Arc::new(p)
}

fn reload(s: &mut Session, p: Arc<Program>) -> Carried {
    s.reload(p, &mut |_| ControlFlow::Continue(()))
}

fn run(s: &mut Session, c: Command) -> Vec<String> {
    s.execute(&c).unwrap().into_text()
}

fn go(s: &mut Session, n: u64) {
    run(s, Command::Goto(Goto::Event(Expr::Num(n))));
}

fn slots(dir: Dir, slot: u64) -> Loc {
    Loc::Slots { queue: QueueRef::Selected, dir, first: slot, last: slot }
}

fn break_at(s: &mut Session, loc: Loc) {
    run(s, Command::Break { loc, cond: None, once: false, after: 0 });
}

/// All events of a run.
fn events(p: &Program) -> Vec<Event> {
    let mut out = Vec::new();
    machine::run(p, |_, e| {
        out.push(*e);
        true
    });
    out
}

/// Which operation an event belongs to, which of the operation's it is, and what.
fn identity(p: &Program, all: &[Event], n: u64) -> (String, usize, &'static str) {
    let upto = &all[..n as usize];
    let last = |e: &Event| match e.kind {
        EventKind::Call { op } => Some(op),
        _ => None,
    };
    let at = upto.iter().rposition(|e| last(e).is_some());
    let note = at.and_then(|i| last(&all[i])).map(|op| p.script[op as usize].note.clone());
    let nth = upto.len() - at.unwrap_or(0);
    (note.unwrap_or_default(), nth, upto.last().map_or("", |e| e.kind.name()))
}

/// Where each operation's descriptor was put, by its destination.
fn slot_of(all: &[Event], id: u64) -> Option<u64> {
    all.iter().find_map(|e| match e.kind {
        EventKind::Stage { dst, tx, .. } if dst == DEVICE + id * APART => Some(tx.slot),
        _ => None,
    })
}

/// Everything that a user has set and where the session stands, as text.
fn all_of(s: &mut Session) -> Vec<String> {
    let mut out = vec![format!("{}", s.position())];
    out.extend(s.info_breakpoints());
    out.extend(s.marks().iter().map(|(n, at)| format!("{n} {at}")));
    out.extend(s.info_display());
    out.extend(s.info_edits());
    out.extend(s.vars().iter().map(|(n, v)| format!("{n} {v}")));
    out.push(format!("{:x}", s.machine().digest()));
    out
}

/// Two lists of operations: the same but for some that go, some that come, and some that move.
fn lists() -> impl Strategy<Value = (Vec<u64>, Vec<u64>)> {
    let a = Just((1u64..=9).collect::<Vec<u64>>()).prop_shuffle().prop_map(|v| v[..5].to_vec());
    (a, prop::collection::vec(20u64..26, 0..3), any::<u64>(), 0u64..3).prop_map(
        |(a, mut come, seed, what)| {
            come.sort_unstable();
            come.dedup();
            let mut b = a.clone();
            if what > 0 {
                b.remove(seed as usize % b.len());
            }
            if what > 1 {
                let x = b.remove((seed >> 8) as usize % b.len());
                b.insert((seed >> 16) as usize % (b.len() + 1), x);
            }
            for (i, id) in come.into_iter().enumerate() {
                b.insert((seed >> (24 + 8 * i)) as usize % (b.len() + 1), id);
            }
            (a, b)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_position_is_the_same_event_of_the_same_operation((a, b) in lists(), at in any::<prop::sample::Index>()) {
        let (p, q) = (program(&a), program(&b));
        let (x, y) = (events(&p), events(&q));
        let n = at.index(x.len() + 1) as u64;
        let mut s = Session::new(p.clone());
        go(&mut s, n);
        run(&mut s, Command::Mark("here".into()));
        let was = identity(&p, &x, n);
        let carried = reload(&mut s, q.clone());
        let is = identity(&q, &y, s.position());
        let kept = was.0.is_empty() || q.script.iter().any(|o| o.note == was.0);
        if kept {
            prop_assert_eq!(&was, &is, "{:?}", carried.notes);
            prop_assert_eq!(s.marks().get("here").copied(), Some(s.position()));
        } else {
            // Its operation is gone: another stands in its place; or the session stands at one
            // that came before it, and the mark waits.
            if !is.0.is_empty() && !p.script.iter().any(|o| o.note == is.0) {
                return Ok(());
            }
            prop_assert!(carried.notes.iter().any(|l| l.contains("is gone")), "{:?}", carried.notes);
            prop_assert!(s.marks().is_empty());
            prop_assert!(s.pending() >= 1);
        }
    }

    #[test]
    fn a_slot_s_stop_follows_its_descriptor((a, b) in lists(), which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>()) {
        let (p, q) = (program(&a), program(&b));
        let (x, y) = (events(&p), events(&q));
        let id = a[which.index(a.len())];
        let slot = slot_of(&x, id).unwrap();
        let mut s = Session::new(p);
        go(&mut s, at.index(x.len() + 1) as u64);
        break_at(&mut s, slots(Dir::Tx, slot));
        let what = Watched::Slots { queue: QueueRef::Selected, dir: Dir::Rx, first: slot, last: slot };
        run(&mut s, Command::Watch {
            watch: Watchpoint { what, len: None, on: Default::default() },
            cond: None, once: false, after: 0,
        });
        let shown = Expr::Slot {
            queue: QueueRef::Selected, dir: Dir::Tx, index: Box::new(Expr::Num(slot)), path: vec!["length".into()],
        };
        run(&mut s, Command::Display { expr: Some(shown), form: None });
        let carried = reload(&mut s, q);
        match slot_of(&y, id) {
            Some(to) => {
                prop_assert_eq!(&s.stops()[0].kind, &StopKind::Break(slots(Dir::Tx, to)), "{:?}", carried.notes);
                let watch = s.stops()[1].text();
                prop_assert_eq!(watch, format!("rx[{to}]"));
                let shown = format!("tx[{to}]");
                prop_assert!(s.info_display()[0].contains(&shown));
                prop_assert!(s.stops().iter().all(|s| s.note.is_none()));
            }
            None => {
                let changed = carried.notes.iter().any(|l| l.contains("is gone")) || s.stops()[0].note.is_none();
                prop_assert!(changed, "{:?}", carried.notes);
            }
        }
    }

    #[test]
    fn there_and_back_again_restores_everything((a, b) in lists(), at in any::<prop::sample::Index>(), slot in 0u64..12, edit in any::<bool>()) {
        let (p, q) = (program(&a), program(&b));
        let x = events(&p);
        let n = at.index(x.len() + 1) as u64;
        let mut s = Session::new(p.clone());
        go(&mut s, n / 2);
        run(&mut s, Command::Mark("half".into()));
        if edit {
            let what = Expr::Mem { width: 4, addr: Box::new(Expr::Num(BUFFER + 64)) };
            run(&mut s, Command::Set { what, value: Expr::Num(7) });
        }
        go(&mut s, n);
        run(&mut s, Command::Mark("here".into()));
        run(&mut s, Command::SetVar("v".into(), Expr::Num(3)));
        break_at(&mut s, slots(Dir::Tx, slot));
        break_at(&mut s, slots(Dir::Rx, slot));
        // Events are counted from 1.
        break_at(&mut s, Loc::Event(n.max(1)));
        break_at(&mut s, Loc::Addr(DEVICE + APART));
        let event = Box::new(Expr::Name("event".into()));
        run(&mut s, Command::Display {
            expr: Some(Expr::Binary(BinOp::Add, event, Box::new(Expr::Num(1)))), form: None,
        });
        let before = all_of(&mut s);
        reload(&mut s, q);
        let carried = reload(&mut s, p.clone());
        prop_assert_eq!(&before, &all_of(&mut s), "{:?}", carried.notes);
        prop_assert_eq!(s.pending(), 0);
        // And the same program once more is nothing at all.
        prop_assert!(reload(&mut s, p).same);
        prop_assert_eq!(&before, &all_of(&mut s));
    }
}

#[test]
fn a_mark_and_a_stop_that_wait_come_back() {
    let (p, q) = (program(&[1, 2, 4]), program(&[1, 4]));
    let x = events(&p);
    let slot = slot_of(&x, 2).unwrap();
    let staged = x
        .iter()
        .find(|e| matches!(e.kind, EventKind::Stage { dst, .. } if dst == DEVICE + 2 * APART));
    let n = staged.unwrap().n;
    let mut s = Session::new(p.clone());
    go(&mut s, n);
    run(&mut s, Command::Mark("two".into()));
    break_at(&mut s, Loc::Event(n));
    break_at(&mut s, slots(Dir::Tx, slot));
    let carried = reload(&mut s, q.clone());
    let said = carried.notes.join("\n");
    assert!(said.contains("mark two waits"), "{said}");
    assert!(said.contains("breakpoint 1 waits: event"), "{said}");
    let listed = run(&mut s, Command::Info { what: Info::Breakpoints, queue: None }).join("\n");
    assert!(listed.contains("pending: event"), "{listed}");
    let told = run(&mut s, Command::Info { what: Info::Reload, queue: None }).join("\n");
    assert!(told.contains("pending: mark two") && told.contains("pending: stop 1"), "{told}");
    // A stop that waits never hits; deleting it ends the waiting.
    run(&mut s, Command::Restart);
    let text = run(&mut s, Command::Continue { back: false }).join("\n");
    assert!(!text.contains("breakpoint 1"), "{text}");
    run(&mut s, Command::Delete(vec![(1, 1)]));
    let carried = reload(&mut s, p);
    let said = carried.notes.join("\n");
    assert!(said.contains("mark two is back, at event"), "{said}");
    assert_eq!(s.marks().get("two"), Some(&n));
    assert_eq!(s.stops().len(), 1);
    // Whoever moved on stays where that led.
    assert!(!said.contains("back at the event"), "{said}");
}

#[test]
fn an_edit_is_made_again_where_its_target_is_and_waits_where_it_is_not() {
    let (p, q) = (program(&[1, 2, 4]), program(&[7, 1, 2, 4]));
    let x = events(&p);
    let slot = slot_of(&x, 4).unwrap();
    let mut s = Session::new(p.clone());
    let n = x
        .iter()
        .find(|e| matches!(e.kind, EventKind::Stage { dst, .. } if dst == DEVICE + 4 * APART))
        .unwrap()
        .n;
    go(&mut s, n);
    let field = Expr::Slot {
        queue: QueueRef::Selected,
        dir: Dir::Tx,
        index: Box::new(Expr::Num(slot)),
        path: vec!["int_en".into()],
    };
    run(&mut s, Command::Set { what: field, value: Expr::Num(1) });
    reload(&mut s, q.clone());
    let y = events(&q);
    let to = slot_of(&y, 4).unwrap();
    assert_ne!(slot, to);
    let edits = s.info_edits().join("\n");
    assert!(edits.contains(&format!("tx[{to}]")), "{edits}");
    // It is the session's, and can be taken back.
    assert!(edits.contains("1 can be undone"), "{edits}");
    let (desc, _) = s.slot(Q, Dir::Tx, to).unwrap();
    let field = crate::udma::field::find(desc.view(Dir::Tx), "int_en").unwrap();
    assert_eq!(desc.get(field), 1);
    // Without the operation it waits.
    reload(&mut s, program(&[7, 1, 2]));
    let edits = s.info_edits().join("\n");
    assert!(edits.contains("no edits"), "{edits}");
    reload(&mut s, q);
    assert!(s.info_edits().join("\n").contains(&format!("tx[{to}]")));
    run(&mut s, Command::Undo);
    assert!(s.program().edits.is_empty());
}

#[test]
fn what_is_new_is_marked_until_the_session_moves() {
    let (p, q) = (program(&[1, 2]), program(&[1, 5, 2]));
    let mut s = Session::new(p);
    let last = events(&q).len() as u64;
    run(&mut s, Command::Goto(Goto::Event(Expr::Num(i64::MAX as u64))));
    let carried = reload(&mut s, q.clone());
    let new = slot_of(&events(&q), 5).unwrap();
    let two = slot_of(&events(&q), 2).unwrap();
    assert_eq!(s.position(), last, "{:?}", carried.notes);
    assert_eq!(s.slot_news(Q, Dir::Tx, new), Some(Change::Added));
    assert_eq!(s.slot_news(Q, Dir::Tx, two), None);
    // The screen looks at slots by what lies in them.
    assert_eq!(
        carried.slot(Q, Dir::Tx, slot_of(&events(&program(&[1, 2])), 2).unwrap()),
        Some((Q, two))
    );
    go(&mut s, last - 1);
    assert_eq!(s.slot_news(Q, Dir::Tx, new), None);
}

#[test]
fn catch_reload_is_hit_by_a_reload_alone() {
    let mut s = Session::new(program(&[1]));
    let c = crate::engine::command::Catch::Reload;
    let said = run(&mut s, Command::Catch { what: c, cond: None, once: true, after: 1 }).join("");
    assert!(said.contains("whenever its files changed"), "{said}");
    run(&mut s, Command::Continue { back: false });
    assert_eq!(s.next_event(), None);
    assert_eq!(s.reload_caught(), None, "the first is passed over");
    reload(&mut s, program(&[1, 2]));
    let halt = s.reload_caught().and_then(|o| o.halt).unwrap();
    assert!(halt.contains("catchpoint 1, reload once"), "{halt}");
    assert!(s.stops().is_empty());
}
