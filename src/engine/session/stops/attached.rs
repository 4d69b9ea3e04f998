//! Commands of stops: kept and shown here, executed by whoever executes the commands of the
//! session (`docs/stops.md`, "Commands of a stop").

use super::super::{Outcome, Session};
use crate::diag::Diagnostic;
use crate::engine::command::{Attached, Block};

/// The commands of a block, a line each.
pub(super) fn lines(block: &Block) -> Vec<String> {
    let silent = block.silent.then(|| "silent".to_owned());
    silent.into_iter().chain(block.lines.iter().map(|l| l.written.text.clone())).collect()
}

impl Session {
    pub(in crate::engine::session) fn attach(
        &mut self,
        stop: Option<u64>,
        what: &Attached,
    ) -> Result<Outcome, Diagnostic> {
        let newest = self.stops.last().map(|s| s.number);
        let Some(number) = stop.or(newest) else {
            return Err(Diagnostic::new("S005", "there is no stop whose commands they could be"));
        };
        let Some(stop) = self.stops.iter_mut().find(|s| s.number == number) else {
            return Err(self.no_stop(number, number));
        };
        let title = stop.title();
        match what {
            Attached::Show => Ok(match &stop.block {
                None => Outcome::say(format!("{title} has no commands")),
                Some(block) => {
                    let head = format!("{title}, {}", stop.text());
                    let all = lines(block).into_iter().map(|l| format!("  {l}"));
                    Outcome::list(std::iter::once(head).chain(all).collect())
                }
            }),
            Attached::Clear => {
                stop.block = None;
                Ok(Outcome::say(format!("{title} has no commands now")))
            }
            Attached::Set(block) => {
                stop.block = Some(block.clone());
                let n = block.lines.len();
                let s = if n == 1 { "" } else { "s" };
                Ok(Outcome::say(format!("{title} has {n} command{s} now")))
            }
        }
    }
}
