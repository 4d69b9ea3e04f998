//! Whether a session is in a state that a lesson asks for. The session itself never moves:
//! all of it happens on a copy, and within a bound.

use super::model::{Line, Races, State};
use crate::diag::{Diagnostic, Severity};
use crate::engine::command::{Command, Expect};
use crate::engine::order::Readings;
use crate::engine::session::Session;
use crate::limits::MAX_LESSON_EVENTS;
use std::ops::ControlFlow;

/// Events that are left to run through; what a lesson asks for must not cost more, whoever
/// wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget(pub u64);

impl Budget {
    /// What a lesson may cost after one command of the learner.
    pub fn full() -> Budget {
        Budget(MAX_LESSON_EVENTS)
    }

    /// Takes so many events, and one for the command itself.
    fn take(&mut self, events: u64) -> Result<(), Diagnostic> {
        match self.0.checked_sub(events.saturating_add(1)) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => {
                self.0 = 0;
                let text = format!("this runs through more than {MAX_LESSON_EVENTS} events");
                Err(Diagnostic::new("S063", text))
            }
        }
    }
}

/// Runs commands of a lesson.
///
/// # Errors
/// What the first that fails says, at its line; S063 where the budget does not do.
pub(super) fn run_lines(
    session: &mut Session,
    lines: &[Line],
    budget: &mut Budget,
) -> Result<(), Diagnostic> {
    lines.iter().try_for_each(|line| {
        execute(session, &line.command, budget).map_err(|mut d| {
            d.place = line.place.clone();
            d
        })
    })
}

/// Runs one command within a budget.
///
/// # Errors
/// What the command says, or S063; the session stays where it was, or where it got to.
pub(super) fn execute(
    session: &mut Session,
    command: &Command,
    budget: &mut Budget,
) -> Result<(), Diagnostic> {
    let from = session.position();
    let most = budget.0;
    let mut far = 0;
    let done = session.execute_with(command, &mut |p| {
        far = p.event.abs_diff(p.from);
        if far > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    // The order is judged from the start on.
    let judged = match command {
        Command::Expect(Expect::Race(_)) => session.position(),
        _ => 0,
    };
    budget.take(far.max(session.position().abs_diff(from)).max(judged))?;
    done.map(|_| ())
}

/// Whether a session is in a state; why not.
///
/// # Errors
/// The check that fails, or what the order lacks.
pub(super) fn holds(
    session: &Session,
    state: &State,
    budget: &mut Budget,
) -> Result<(), Diagnostic> {
    let mut copy = session.clone();
    run_lines(&mut copy, &state.check, budget)?;
    match &state.races {
        Some(want) => {
            budget.take(copy.position())?;
            races(&copy, want)
        }
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
