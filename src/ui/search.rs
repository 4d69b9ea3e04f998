//! What `find` found, on the screen: going from match to match, and showing nothing else
//! (`docs/screen.md`, "Searching").

use super::model::Model;
use crate::diag::{Diagnostic, Severity};
use crate::engine::command::Command;
use crate::engine::expr::Expr;
use crate::engine::program::QueueId;
use crate::udma::{Dir, count_of};
use std::borrow::Cow;
use std::ops::ControlFlow;

/// A question about slots and its answer.
#[derive(Debug, Clone)]
pub struct Search {
    /// Of which ring; both where none is named.
    dir: Option<Dir>,
    /// The question.
    expr: Expr,
    /// The queue and the event for which the answer holds.
    of: (Option<QueueId>, u64),
    /// Matches in the order of slots, whichever ring has them.
    matches: Vec<(u64, Dir)>,
    /// Their slots on Tx and on Rx.
    of_ring: [Vec<u64>; 2],
    /// Slots that were asked.
    asked: u64,
    /// There are more matches than are kept.
    cut: bool,
    /// Only these are shown.
    pub only: bool,
}

impl Search {
    /// The first slot from this one on in which a ring, or without one either, has a match.
    pub fn from(&self, slot: u64, ring: Option<Dir>) -> Option<u64> {
        match ring {
            None => self.matches.get(self.matches.partition_point(|m| m.0 < slot)).map(|m| m.0),
            Some(dir) => {
                let all = &self.of_ring[usize::from(dir == Dir::Rx)];
                all.get(all.partition_point(|s| *s < slot)).copied()
            }
        }
    }

    /// The last slot up to this one in which a ring, or without one either, has a match.
    pub fn up_to(&self, slot: u64, ring: Option<Dir>) -> Option<u64> {
        match ring {
            None => {
                let at = self.matches.partition_point(|m| m.0 <= slot);
                self.matches.get(at.checked_sub(1)?).map(|m| m.0)
            }
            Some(dir) => {
                let all = &self.of_ring[usize::from(dir == Dir::Rx)];
                all.get(all.partition_point(|s| *s <= slot).checked_sub(1)?).copied()
            }
        }
    }

    /// Whether a ring, or without one either, has a match in a slot.
    pub fn has(&self, slot: u64, ring: Option<Dir>) -> bool {
        self.from(slot, ring) == Some(slot)
    }

    /// The matches that are gone through: of this ring where it has any, else all.
    fn ways(&self, ring: Option<Dir>) -> (Cow<'_, [(u64, Dir)]>, Option<Dir>) {
        let its = |dir: &Dir| !self.of_ring[usize::from(*dir == Dir::Rx)].is_empty();
        match ring.filter(its) {
            None => (Cow::Borrowed(&self.matches), None),
            Some(dir) => {
                let all = self.matches.iter().copied().filter(|m| m.1 == dir);
                (all.collect::<Vec<_>>().into(), Some(dir))
            }
        }
    }

    /// The run is another: what was found in it holds no more.
    pub(super) fn forget(&mut self) {
        self.of = (None, u64::MAX);
    }

    /// The question as a command.
    pub fn command(&self) -> Command {
        Command::Find { dir: self.dir, expr: self.expr.clone() }
    }
}

impl Model {
    /// Asks anew and goes to the first match from the selected slot on.
    ///
    /// # Errors
    /// As [`Session::slots_found`](crate::engine::session::Session::slots_found).
    pub(super) fn search(&mut self, dir: Option<Dir>, expr: &Expr) -> Result<(), Diagnostic> {
        let only = self.search.as_ref().is_some_and(|s| s.only);
        self.search = Some(Search {
            dir,
            expr: expr.clone(),
            of: (None, u64::MAX),
            matches: Vec::new(),
            of_ring: [Vec::new(), Vec::new()],
            asked: 0,
            cut: false,
            only,
        });
        if let Err(d) = self.ask_anew() {
            self.search = None;
            return Err(d);
        }
        let here = (self.selection.slot, self.selection.dir);
        match self.search.as_ref().map(|s| s.matches.binary_search(&here)) {
            Some(Ok(_)) => self.tell_match(),
            _ => self.go_to_match(1),
        }
        Ok(())
    }

    /// Brings the answer up to where the session stands.
    fn ask_anew(&mut self) -> Result<(), Diagnostic> {
        let now = (self.queue(), self.session.position());
        let Some(s) = self.search.as_ref().filter(|s| s.of != now) else { return Ok(()) };
        let go_on = &mut |_| ControlFlow::Continue(());
        let found = self.session.slots_found(s.dir, &s.expr, go_on)?;
        if let Some(s) = &mut self.search {
            s.matches = found.slots.iter().map(|(dir, slot)| (*slot, *dir)).collect();
            s.matches.sort_unstable();
            s.of_ring =
                Dir::BOTH.map(|dir| s.matches.iter().filter(|m| m.1 == dir).map(|m| m.0).collect());
            (s.asked, s.cut, s.of) = (found.asked, found.cut, now);
        }
        Ok(())
    }

    /// Keeps the answer true while it decides what is shown.
    pub(super) fn prepare_search(&mut self) {
        if self.search.as_ref().is_some_and(|s| s.only) && self.ask_anew().is_err() {
            self.search = None;
        }
    }

    /// To the next match (1) or the one before (-1), going round.
    pub(super) fn go_to_match(&mut self, by: i64) {
        if let Err(d) = self.ask_anew() {
            return self.refuse(d);
        }
        let Some(s) = &self.search else {
            return self.say("nothing is searched for: / asks", Some(Severity::Note));
        };
        let here = (self.selection.slot, self.selection.dir);
        let (all, _) = s.ways(self.searched_ring());
        let next = match by > 0 {
            true => all.get(all.partition_point(|m| *m <= here)).or(all.first()),
            false => {
                let before = all.partition_point(|m| *m < here).checked_sub(1);
                before.and_then(|i| all.get(i)).or(all.last())
            }
        };
        let next = next.copied();
        if let Some((slot, dir)) = next {
            self.select_slot(Some(dir), slot);
        }
        self.tell_match();
    }

    /// The ring that is searched alone: the one that is looked at while the rings are unlocked.
    fn searched_ring(&self) -> Option<Dir> {
        self.is_unlocked().then_some(self.selection.dir)
    }

    /// Which match is selected, of how many.
    fn tell_match(&mut self) {
        let Some(s) = &self.search else { return };
        let (all, ring) = s.ways(self.searched_ring());
        let n = all.len();
        let least = if s.cut { "at least " } else { "" };
        let at = all.binary_search(&(self.selection.slot, self.selection.dir));
        let of = ring.map_or(String::new(), |dir| format!(" in {}", dir.name()));
        let what = crate::script::print(&s.command());
        let text = match (n, at) {
            (0, _) => format!("{what}: none of {}", count_of(s.asked, "slot")),
            (_, Ok(i)) => {
                format!("{what}: {} of {least}{n}{of}; m next, M previous, x only these", i + 1)
            }
            (_, Err(_)) => format!("{what}: {least}{n}{of} of {}", count_of(s.asked, "slot")),
        };
        self.say(text, (n == 0).then_some(Severity::Note));
    }

    /// Shows only what was found, or everything again.
    pub(super) fn toggle_only(&mut self) {
        match &mut self.search {
            None => self.say("nothing is searched for: / asks", Some(Severity::Note)),
            Some(s) => {
                s.only = !s.only;
                let text =
                    if s.only { "only what was found is shown" } else { "every slot is shown" };
                self.say(text, None);
            }
        }
    }
}
