//! What is done on the screen is recorded as a script that does it again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use dmadbg::diag::Diagnostic;
use dmadbg::engine::program::Program;
use dmadbg::engine::session::Session;
use dmadbg::script::runner::{self, End};
use dmadbg::ui::update::{Message, finish, update, update_all};
use dmadbg::ui::{Effect, Journal, Model};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;
use ui_support::*;

const PROGRAMS: usize = 5;

fn program(n: usize) -> Program {
    match n {
        0 => wrap64(),
        1 => two_queues(),
        2 => faulting(),
        3 => module("gather.bir"),
        _ => module("semaphores.bir"),
    }
}

fn recorded(p: Program) -> Model {
    let mut m = model(p, "x", (120, 36));
    m.journal = Some(Journal::new(&Session::new(m.session.program().clone())));
    m
}

/// A session in which the lines were run as a script.
fn replayed(p: Program, lines: &[String]) -> Session {
    let none = |_: &str, _: &str| Err(Diagnostic::new("S009", "nothing is sourced"));
    let text = format!("dbg 1\n{}\n", lines.join("\n"));
    let script = runner::parse("r.dbg", &text, &mut none.clone()).unwrap();
    let mut session = Session::new(Arc::new(p));
    let end = runner::run(&mut session, &script, &mut |_| {});
    assert_eq!(end, End::Done, "{text}");
    session
}

/// The script comes to where the screen is, with all that it was told.
fn same(m: &Model, s: &Session, lines: &[String]) {
    let here = &m.session;
    assert_eq!(here.position(), s.position(), "{lines:#?}");
    assert_eq!(here.machine().digest(), s.machine().digest(), "{lines:#?}");
    assert_eq!((here.marks(), here.vars()), (s.marks(), s.vars()), "{lines:#?}");
    let stops = |s: &Session| {
        s.stops().iter().map(|s| (s.number, s.text(), s.enabled, s.hits)).collect::<Vec<_>>()
    };
    assert_eq!(stops(here), stops(s), "{lines:#?}");
}

/// Typed on the command line; some of it is refused.
const TYPED: &[&str] = &[
    "step 3 event",
    "step engine",
    "reverse-step 2 event",
    "goto 17",
    "goto nowhere",
    "mark here",
    "goto here",
    "set $n = event + 1",
    "goto $n",
    "goto end",
    "goto end - 3",
    "until event == end - 5",
    "until $none",
    "break tx[1]",
    "tbreak rx[0]",
    "break batch 2 after 1",
    "delete",
    "disable 1",
    "enable",
    "info queue q0",
    "info queue q1",
    "print/x event",
    "x/4wx 0",
    "assert 0",
    "expect ret 0",
    "doorbell q1",
    "pass next",
    "pass set split off",
    "help step",
    "source nothing",
    "echo \"a # b\"",
    "restart",
    "stpe",
    "reverse-until event < 9",
    "reverse-continue",
];

#[derive(Debug, Clone)]
enum Done {
    Keys(&'static str),
    Typed(usize),
    Click(u16, u16),
}

fn done() -> impl Strategy<Value = Done> {
    let keys = prop_oneof![
        Just("s"),
        Just("S"),
        Just("n"),
        Just("N"),
        Just("e"),
        Just("E"),
        Just("d"),
        Just("D"),
        Just("f"),
        Just("F"),
        Just("c"),
        Just("C"),
        Just("g"),
        Just("G"),
        Just("b"),
        Just("a"),
        Just("["),
        Just("]"),
        Just("<Tab>"),
        Just("<Down>"),
        Just("<Up>"),
        Just("<PgDn>"),
        Just("<Left>"),
        Just("<Right>"),
        Just("<Enter>"),
        Just("<Esc>"),
        Just(">"),
        Just("t"),
        Just("?"),
        Just("^l"),
    ];
    prop_oneof![
        6 => keys.prop_map(Done::Keys),
        3 => (0..TYPED.len()).prop_map(Done::Typed),
        1 => (0u16..120, 0u16..36).prop_map(|(x, y)| Done::Click(x, y)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_recorded_session_comes_to_the_same_place(
        which in 0..PROGRAMS,
        all in proptest::collection::vec(done(), 1..25),
    ) {
        let p = program(which);
        let mut m = recorded(p.clone());
        for d in &all {
            match d {
                Done::Keys(k) => {
                    keys(&mut m, k);
                }
                Done::Typed(n) => {
                    m.popup = None;
                    m.line = None;
                    keys(&mut m, ":");
                    update_all(&mut m, Message::Paste(TYPED[*n].to_owned()));
                    keys(&mut m, "<Enter><Esc>");
                }
                Done::Click(column, row) => {
                    let kind = MouseEventKind::Down(MouseButton::Left);
                    let modifiers = crossterm::event::KeyModifiers::NONE;
                    let e = MouseEvent { kind, column: *column, row: *row, modifiers };
                    update_all(&mut m, Message::Mouse(e));
                }
            }
        }
        let lines = m.take_journal();
        same(&m, &replayed(p, &lines), &lines);
    }
}

#[test]
fn keys_are_recorded_as_commands_and_what_is_refused_is_not() {
    let mut m = recorded(wrap64());
    keys(&mut m, "ds:goto nowhere<Enter><Esc>:stpe<Enter><Esc>?<Esc>Sb:mark a<Enter>q");
    assert_eq!(m.take_journal(), ["doorbell", "step", "reverse-step", "break tx[0]", "mark a"]);
    assert!(m.take_journal().is_empty(), "taken once");
}

#[test]
fn the_queue_that_the_screen_went_to_is_selected_where_it_matters() {
    let mut m = recorded(two_queues());
    // The second queue begins to work: the screen shows it now.
    keys(&mut m, "dde");
    assert_eq!(m.queue().unwrap().queue, 1);
    keys(&mut m, "f");
    let lines = m.take_journal();
    assert!(lines.contains(&"info queue e128.q1".to_owned()), "{lines:?}");
    same(&m, &replayed(two_queues(), &lines), &lines);
}

#[test]
fn a_cancelled_run_is_recorded_by_where_it_stopped() {
    let mut p = wrap64();
    // Long enough that progress is told on the way.
    for _ in 0..400 {
        p.script.push(p.script[1].clone());
    }
    let mut m = recorded(p.clone());
    let effects = update(&mut m, Message::Key(crossterm::event::KeyCode::Char('c').into()));
    let [Effect::Run(command)] = effects.as_slice() else { panic!("{effects:?}") };
    let mut told = 0;
    finish(&mut m, command, &mut |_, _| {
        told += 1;
        ControlFlow::Break(())
    });
    assert_eq!(told, 1, "the run is long enough to be cancelled");
    let lines = m.take_journal();
    assert_eq!(lines, [format!("goto {}", m.session.position())]);
    same(&m, &replayed(p, &lines), &lines);
}
