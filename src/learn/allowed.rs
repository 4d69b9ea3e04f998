//! What the commands of a lesson may be. A lesson from a stranger can do no harm: what is not
//! named here it may not use.

use crate::engine::command::{Command, Order};
use crate::limits::MAX_LESSON_EVENTS;

/// What a lesson may do: move, look, change the run. A lesson from a stranger can do no harm:
/// it writes no file, reads none, and does not leave.
pub(super) fn may_use(command: &Command) -> bool {
    match command {
        Command::Order(Order::Explore { file, bound }) => {
            file.is_none() && bound.is_none_or(|b| b <= MAX_LESSON_EVENTS)
        }
        Command::Order(Order::Replay(file)) => file.is_none(),
        command => is_harmless(command),
    }
}

/// Whether a command belongs into a check: it moves, changes or asserts, and costs no more than
/// the events that it runs through.
pub(super) fn judges(command: &Command) -> bool {
    matches!(
        command,
        Command::Step { .. }
            | Command::Next { .. }
            | Command::Continue { .. }
            | Command::Until { .. }
            | Command::Finish { .. }
            | Command::Doorbell { .. }
            | Command::Goto(_)
            | Command::Restart
            | Command::SetVar(..)
            | Command::Set { .. }
            | Command::Inject { .. }
            | Command::Undo
            | Command::Redo
            | Command::Assert { .. }
            | Command::Expect(_)
    )
}

fn is_harmless(command: &Command) -> bool {
    matches!(
        command,
        Command::Step { .. }
            | Command::Next { .. }
            | Command::Continue { .. }
            | Command::Until { .. }
            | Command::Finish { .. }
            | Command::Doorbell { .. }
            | Command::Goto(_)
            | Command::Restart
            | Command::Break { .. }
            | Command::Watch { .. }
            | Command::Catch { .. }
            | Command::Delete(_)
            | Command::Enable(..)
            | Command::Print { .. }
            | Command::Examine { .. }
            | Command::Find { .. }
            | Command::Where
            | Command::Info { .. }
            | Command::Explain(_)
            | Command::Provenance(_)
            | Command::Why(_)
            | Command::LastWrite(_)
            | Command::NextRead(_)
            | Command::Origin(_)
            | Command::Order(_)
            | Command::Pass(_)
            | Command::List(_)
            | Command::Mark(_)
            | Command::SetVar(..)
            | Command::Set { .. }
            | Command::Inject { .. }
            | Command::Undo
            | Command::Redo
            | Command::Assert { .. }
            | Command::Expect(_)
            | Command::Echo(_)
    )
}
