//! A session under a script, with what it does not do itself: answers that are made of a
//! module's text, lints, and writing files (`docs/commands.md`, "Commands").

use crate::check::live::with_checks;
use crate::diag::Diagnostic;
use crate::engine::command::Command;
use crate::engine::session::Session;
use crate::script::runner::{Reply, Target};
use crate::ui::model::Title;
use crate::ui::{outside, seams};

/// Answers `list`, `pass diff` and `info checks` too, whose text the session does not have, and
/// writes what `save`, `export` and `order explore` ask for.
pub(super) struct WithTexts<'a> {
    /// The session.
    pub session: &'a mut Session,
    /// What the input is called, and what was found in it.
    pub title: &'a Title,
    /// Whether files may be written.
    pub writes: bool,
}

impl Target for WithTexts<'_> {
    fn run(&mut self, command: &Command) -> Result<Reply, Diagnostic> {
        let done = self.session.execute(command)?;
        let mut reply = Reply::from(done.clone());
        if let Some(effect) = &done.effect {
            if !self.writes {
                let text = format!("`{}`: a file test writes nothing", effect.file());
                return Err(Diagnostic::new("S033", text));
            }
            reply.lines.push(outside::of_session(self.session, self.title, effect)?);
            return Ok(reply);
        }
        match seams::answer(self.session, command) {
            Some(lines) => Ok(Reply { lines: lines?, ..reply }),
            None => {
                let lines = with_checks(self.session, command, reply.lines);
                Ok(Reply { lines, ..reply })
            }
        }
    }

    fn event(&self) -> Option<u64> {
        Target::event(self.session)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::diag::Place;
    use crate::engine::lower::{self, Stage};
    use crate::engine::module_run::{self, Initial, Options};
    use crate::script::parse_command;
    use crate::udma::Generation;
    use std::sync::Arc;

    #[test]
    fn a_script_sees_the_text_of_a_stage_and_how_two_differ() {
        let text = include_str!("../../sample-programs/copy.bir");
        let module = crate::load::bir::read_text("copy.bir", text).unwrap().module;
        let lowered = lower::lower(&module, &lower::Options::default(), Stage::LowerDma);
        let (initial, options) = (Initial::default(), Options::new(Generation::V3));
        let p = module_run::program(&lowered, &|_| Place::default(), &initial, &options).unwrap();
        let mut session = Session::new(Arc::new(p));
        let mut ask = |line: &str| {
            let command = parse_command(line).unwrap().unwrap();
            let title = Title { file: "copy.bir".to_owned(), ..Title::default() };
            WithTexts { session: &mut session, title: &title, writes: true }
                .run(&command)
                .map(|r| r.lines.join("\n"))
        };
        assert_eq!(ask("pass lower_dma").unwrap(), "lower_dma: 1 trigger, 1 block, 1 descriptor");
        ask("doorbell").unwrap();
        let near = ask("list 11").unwrap();
        let line = near.lines().find(|l| l.contains("=> SP ")).unwrap();
        assert!(line.starts_with("~   11 ") && line.contains("%I-1 = DMATrigger"), "{near}");
        let diff = ask("pass diff").unwrap();
        assert!(diff.starts_with("check -> lower_dma\n") && diff.contains("\n+     %I-1 = DMATr"));
        assert_eq!(ask("pass diff loaded peel").unwrap().lines().count(), 2);
        assert_eq!(ask("list 0").unwrap_err().code, "S003");
    }
}
