//! One line, read and executed, or one expression with its value: what a user of the library
//! wants who has no script (`docs/library.md`).

use super::{parse_command, parse_expr};
use crate::diag::Report;
use crate::engine::session::{Outcome, Session};

/// Executes a line of the command language. An empty one, or a comment, does nothing. What a
/// command asks of its surroundings (a file to be written) is in the outcome, and left undone.
///
/// # Errors
/// Everything that is wrong with the line (S001 to S005), or what the session says.
pub fn execute(session: &mut Session, line: &str) -> Result<Outcome, Report> {
    match parse_command(line)? {
        Some(command) => Ok(session.execute(&command)?),
        None => Ok(Outcome::default()),
    }
}

/// The value of an expression where the session stands.
///
/// # Errors
/// S004, S005 for a text that is none, S005, S006 for one that has no value here.
pub fn evaluate(session: &Session, text: &str) -> Result<u64, Report> {
    Ok(session.value(&parse_expr(text)?)?)
}
