//! What is done on the screen is recorded as a script that does it again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use dmadbg::engine::program::Program;
use dmadbg::engine::session::Session;

use dmadbg::ui::update::{Message, finish, update};
use dmadbg::ui::{Effect, Journal, Model};
use std::ops::ControlFlow;

use ui_support::*;

fn recorded(p: Program) -> Model {
    let mut m = model(p, "x", (120, 36));
    m.journal = Some(Journal::new(&Session::new(m.session.program().clone())));
    m
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
    // Long enough that progress is told on the way; an engine that takes time is not leapt over.
    p.speed = dmadbg::engine::program::Speed { ns_per_desc: 1, bytes_per_ns: 0 };
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

#[test]
fn the_end_of_a_run_that_an_edit_made_is_looked_for_again() {
    let mut m = recorded(odd());
    keys(&mut m, "d:set tx[2].length = 64<Enter>:goto end - 3<Enter>");
    let lines = m.take_journal();
    same(&m, &replayed(odd(), &lines), &lines);
}
