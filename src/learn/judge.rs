//! Whether a session is in a state that a lesson asks for. The session itself never moves:
//! all of it happens on a copy, and within a bound.

use super::model::{Line, Races, State};
use crate::diag::{Diagnostic, Severity};
use crate::engine::command::Command;
use crate::engine::order::Readings;
use crate::engine::session::Session;
use crate::limits::MAX_LESSON_EVENTS;
use std::ops::ControlFlow;

/// Runs commands of a lesson.
///
/// # Errors
/// What the first that fails says, at its line; S063 where one runs on and on.
pub(super) fn run_lines(session: &mut Session, lines: &[Line]) -> Result<(), Diagnostic> {
    lines.iter().try_for_each(|line| {
        execute(session, &line.command).map_err(|mut d| {
            d.place = line.place.clone();
            d
        })
    })
}

/// Runs one command within the bound of lessons.
///
/// # Errors
/// What the command says, or S063.
pub(super) fn execute(session: &mut Session, command: &Command) -> Result<(), Diagnostic> {
    let mut too_long = false;
    let done = session.execute_with(command, &mut |p| {
        too_long = p.event.abs_diff(p.from) > MAX_LESSON_EVENTS;
        if too_long { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if too_long {
        let text = format!("the command runs through more than {MAX_LESSON_EVENTS} events");
        return Err(Diagnostic::new("S063", text));
    }
    done.map(|_| ())
}

/// Whether a session is in a state; why not.
///
/// # Errors
/// The check that fails, or what the order lacks.
pub(super) fn holds(session: &Session, state: &State) -> Result<(), Diagnostic> {
    let mut copy = session.clone();
    run_lines(&mut copy, &state.check)?;
    match &state.races {
        Some(want) => races(&copy, want),
        None => Ok(()),
    }
}

/// Whether the run up to the position has the races that are asked for.
fn races(session: &Session, want: &Races) -> Result<(), Diagnostic> {
    let found = session.races(Readings::STRICT).diagnostics(session.program());
    let errors = || found.iter().filter(|d| d.severity == Severity::Error);
    let holds = match want {
        Races::None => errors().next().is_none(),
        Races::Never => found.is_empty(),
        Races::Some => errors().next().is_some(),
        Races::Code(code) => errors().any(|d| d.code == code),
    };
    if holds {
        return Ok(());
    }
    let text = match want {
        Races::None | Races::Never => "two accesses of this run race: `info races` names them",
        Races::Some | Races::Code(_) => "the run has no such race",
    };
    Err(Diagnostic::new("S008", text))
}
