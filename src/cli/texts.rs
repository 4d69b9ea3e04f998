//! A session under a script, with the answers that are made of a module's text
//! (`docs/commands.md`, "Commands").

use crate::diag::Diagnostic;
use crate::engine::command::Command;
use crate::engine::session::Session;
use crate::load::bir::listing;
use crate::script::runner::{Reply, Target};

/// Answers `list` and `pass diff` too, whose text the session does not have.
pub(super) struct WithTexts<'a>(pub &'a mut Session);

impl Target for WithTexts<'_> {
    fn run(&mut self, command: &Command) -> Result<Reply, Diagnostic> {
        let reply = Target::run(self.0, command)?;
        match listing::answer(self.0, command) {
            Some(lines) => Ok(Reply { lines: lines?, ..reply }),
            None => Ok(reply),
        }
    }

    fn event(&self) -> Option<u64> {
        Target::event(self.0)
    }
}
