//! What was done on the screen, as the lines of a script that does it again
//! (`docs/screen.md`, "Recording").
//!
//! A key is a command, so every command is one line. The screen also selects a queue where the
//! newest event was, which a script does not; and it looks ahead, so that it may know the end of
//! the run. Lines that make up for both are written where they matter.

use super::model::Model;
use crate::diag::Diagnostic;
use crate::engine::command::Command;
use crate::engine::program::{Program, QueueId};
use crate::engine::session::{Progress, Session};
use crate::script;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The commands that were carried out, and what a script that repeats them knows.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    /// The queue that is selected in a script of the lines so far.
    selected: Option<QueueId>,
    /// Such a script has come to the end of the run.
    end_known: bool,
    /// Lines that were not taken yet.
    lines: Vec<String>,
}

impl Journal {
    /// A journal of what is done from here on.
    pub fn new(session: &Session) -> Journal {
        let end_known = session.end() == Some(session.position());
        Journal { selected: session.selected(), end_known, lines: Vec::new() }
    }

    /// The lines that make a script do what the screen does with this command; none for what
    /// asks nothing of the session, and for `reload`, which no script does.
    pub fn lines_for(&self, session: &Session, command: &Command) -> Vec<String> {
        use Command::{Help, Quit, Reload, Source};
        if matches!(command, Help(_) | Quit | Reload | Source(_)) {
            return Vec::new();
        }
        let text = script::print(command);
        let mut lines = self.catching_up(session);
        if !self.end_known && session.end().is_some() && names_the_end(&text) {
            lines.extend(["goto end".to_owned(), format!("goto {}", session.position())]);
        }
        lines.push(text);
        lines
    }

    /// The program is another from here on; the session stands at event `n` of it.
    pub(super) fn reloaded(&mut self, n: u64) {
        self.lines.push("# The files changed: what follows is of another program.".to_owned());
        self.lines.push(format!("goto {n}"));
        self.end_known = false;
    }

    /// The line that selects the queue that is selected on the screen.
    fn catching_up(&self, session: &Session) -> Vec<String> {
        let other = session.selected().filter(|id| Some(*id) != self.selected);
        other.map(|id| format!("info queue {id}")).into_iter().collect()
    }
}

/// Whether a command asks for the number of the last event.
fn names_the_end(text: &str) -> bool {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$')).any(|w| w == "end")
}

impl Model {
    /// The lines that the journal will have of a command that is about to be carried out.
    pub fn foreseen(&self, command: &Command) -> Vec<String> {
        // A drag is recorded at its end, as one command.
        if self.scrub.is_dragged() {
            return Vec::new();
        }
        self.journal.as_ref().map_or_else(Vec::new, |j| j.lines_for(&self.session, command))
    }

    /// The lines of what was carried out since this was asked last.
    pub fn take_journal(&mut self) -> Vec<String> {
        self.journal.as_mut().map_or_else(Vec::new, |j| std::mem::take(&mut j.lines))
    }

    /// Carries out a command, and writes it into the journal if there is one. `watch` sees the
    /// screen as it was, and can cancel.
    ///
    /// # Errors
    /// The command's diagnostic, which is not yet shown.
    pub fn run(
        &mut self,
        command: &Command,
        watch: &mut dyn FnMut(&Model, Progress) -> ControlFlow<()>,
    ) -> Result<bool, Diagnostic> {
        let mut lines = self.foreseen(command);
        let from = self.session.position();
        let program = self.session.program().clone();
        let mut cancelled = false;
        let result = self.carry_out(command, &mut |model, progress| {
            let go_on = watch(model, progress);
            cancelled |= go_on.is_break();
            go_on
        });
        if self.scrub.is_dragged() {
            return result;
        }
        let here = self.session.position();
        if self.journal.is_none() || result.is_err() {
            return result;
        }
        if cancelled {
            // It stays where it got to, which no condition says.
            lines.pop();
            lines.extend((here != from).then(|| format!("goto {here}")));
        }
        self.enter(lines, from, &program);
        result
    }

    /// Writes a command into the journal that was carried out from another state.
    pub(super) fn note(&mut self, before: &Session, command: &Command) {
        if let Some(journal) = &self.journal {
            let lines = journal.lines_for(before, command);
            self.enter(lines, before.position(), before.program());
        }
    }

    /// Writes the lines of what was carried out at an event of a program.
    fn enter(&mut self, mut lines: Vec<String>, from: u64, program: &Arc<Program>) {
        let (here, end) = (self.session.position(), self.session.end());
        let Some(journal) = self.journal.as_mut() else { return };
        if !lines.is_empty() {
            journal.selected = self.settled;
            // An edit makes another run, whose end a script finds only by going there.
            let same = Arc::ptr_eq(program, self.session.program());
            let reached = here != from && end == Some(here);
            let found = reached || lines.iter().any(|l| l == "goto end");
            journal.end_known = same && (journal.end_known || found);
        }
        journal.lines.append(&mut lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_asks_for_the_end_is_known_by_its_words() {
        for (text, names) in [
            ("print end - 1", true),
            ("until event == end", true),
            ("goto end", true),
            ("print $end", false),
            ("echo ended", false),
            ("break tx[3] if end>4", true),
        ] {
            assert_eq!(names_the_end(text), names, "{text}");
        }
    }
}
