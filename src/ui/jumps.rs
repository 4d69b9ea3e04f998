//! Places that were left by a jump, to go back to and forward again (`docs/screen.md`, "Jumps").

use super::keymap::Action;
use super::layout::Pane;
use super::model::{Model, Selection};
use crate::bir::Pos;
use crate::diag::Severity;
use crate::engine::command::{Command, Info, Pass};
use crate::engine::lower::Stage;
use crate::engine::program::QueueId;
use crate::limits::MAX_JUMPS;
use crate::udma::count_of;

/// Where the user is: in time, and what they look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// Events that happened.
    pub event: u64,
    /// The selected queue.
    pub queue: Option<QueueId>,
    /// The selected slot, word and bit.
    pub selection: Selection,
    /// The pane with the focus.
    pub focus: Pane,
    /// The stage whose text is shown.
    pub stage: Option<Stage>,
    /// The line of the text with the cursor.
    pub line: usize,
    /// The selected instruction.
    pub inst: Option<Pos>,
}

impl Spot {
    /// Whether another place is not worth going back to from this one: the same in time, slot,
    /// stage and instruction. Which pane has the focus, a bit or a line do not make a place.
    pub fn is_near(&self, other: &Spot) -> bool {
        let seen =
            |s: &Spot| (s.event, s.queue, s.selection.dir, s.selection.slot, s.stage, s.inst);
        seen(self) == seen(other)
    }
}

/// Going to a place of the list: what the session has yet to do for it runs as commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// Where to.
    to: Spot,
    /// The list as it was, for the case that the session cannot go there.
    before: Jumps,
}

/// Whether a command is a jump: one goes elsewhere by it, not a step further.
fn is_jump(command: &Command) -> bool {
    match command {
        Command::Goto(_) | Command::Restart | Command::Continue { .. } | Command::Until { .. } => {
            true
        }
        Command::Find { .. } => true,
        Command::Info { what, .. } => *what == Info::Queue,
        Command::Pass(what) => matches!(what, Pass::Next | Pass::Prev | Pass::Select(_)),
        _ => false,
    }
}

/// Whether what a key does is a jump by itself.
pub(super) fn action_jumps(action: Action) -> bool {
    let by = [Action::SelectInst, Action::GotoSelected];
    by.contains(&action) || matches!(action, Action::Match(_) | Action::Queue(_))
}

/// Places that were left: those behind, oldest first, and those ahead after going back, nearest
/// last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Jumps {
    behind: Vec<Spot>,
    ahead: Vec<Spot>,
}

impl Jumps {
    /// Leaves a place by a jump: it can be gone back to, and what was ahead is no more.
    pub fn leave(&mut self, from: Spot) {
        self.ahead.clear();
        // The same place twice in a row is one place.
        if self.behind.last() != Some(&from) {
            self.behind.push(from);
        }
        if self.behind.len() > MAX_JUMPS {
            self.behind.remove(0);
        }
    }

    /// The place that was left last; `here` is what forward comes back to.
    pub fn back(&mut self, here: Spot) -> Option<Spot> {
        let to = self.behind.pop()?;
        self.ahead.push(here);
        Some(to)
    }

    /// The place that going back left.
    pub fn forward(&mut self, here: Spot) -> Option<Spot> {
        let to = self.ahead.pop()?;
        self.behind.push(here);
        Some(to)
    }

    /// All places from the oldest to the farthest ahead, with `here` among them, and its number.
    pub fn all(&self, here: Spot) -> (Vec<Spot>, usize) {
        let mut out = self.behind.clone();
        let at = out.len();
        out.push(here);
        out.extend(self.ahead.iter().rev());
        (out, at)
    }

    /// Goes to a place of [`Jumps::all`] by its number, as by so many steps back or forward.
    pub fn go(&mut self, here: Spot, to: usize) -> Option<Spot> {
        let mut at = here;
        while to < self.behind.len() {
            at = self.back(at)?;
        }
        while to > self.behind.len() {
            at = self.forward(at)?;
        }
        Some(at)
    }

    /// How many places lie behind and ahead.
    pub fn len(&self) -> (usize, usize) {
        (self.behind.len(), self.ahead.len())
    }

    /// Whether there is nowhere to go.
    pub fn is_empty(&self) -> bool {
        self.len() == (0, 0)
    }
}

impl Model {
    /// Where the user is now.
    pub fn spot(&self) -> Spot {
        Spot {
            event: self.session.position(),
            queue: self.queue(),
            selection: self.selection,
            focus: self.focus,
            stage: self.session.stage(),
            line: if self.has_assembly() { self.assembly.cursor } else { self.source.cursor },
            inst: self.source.selected,
        }
    }

    /// Remembers where a jump began, where it led elsewhere.
    pub(super) fn leave(&mut self, from: Spot) {
        if !from.is_near(&self.spot()) {
            self.jumps.leave(from);
        }
    }

    /// A step back (-1) or forward (1) in the list of places; the commands that go there.
    pub(super) fn jump(&mut self, by: i64) -> Vec<String> {
        let before = self.jumps.clone();
        let here = self.spot();
        let to = if by < 0 { self.jumps.back(here) } else { self.jumps.forward(here) };
        match to {
            Some(to) => self.land(to, before),
            None => {
                let text = if by < 0 { "no place was left by a jump" } else { "nothing is ahead" };
                self.say(text, Some(Severity::Note));
                Vec::new()
            }
        }
    }

    /// To a place of the list by its number; the commands that go there.
    pub(super) fn jump_to(&mut self, number: usize) -> Vec<String> {
        let before = self.jumps.clone();
        match self.jumps.go(self.spot(), number) {
            Some(to) => self.land(to, before),
            None => Vec::new(),
        }
    }

    fn land(&mut self, to: Spot, before: Jumps) -> Vec<String> {
        let (behind, ahead) = self.jumps.len();
        self.say(
            format!(
                "{behind_places} behind, {ahead} ahead",
                behind_places = count_of(behind, "place")
            ),
            None,
        );
        let way = self.way_to(&to);
        if way.is_empty() {
            self.look_at(&to);
        } else {
            self.landing = Some(Landing { to, before });
        }
        way
    }

    /// After a command: the place is reached, or it was a jump and its beginning is kept.
    pub(super) fn after_command(&mut self, command: &Command, from: Spot) {
        if let Some(landing) = self.landing.clone() {
            if self.way_to(&landing.to).is_empty() {
                self.landing = None;
                let said = format!("back at event {}", landing.to.event);
                self.look_at(&landing.to);
                self.say(said, None);
            }
            return;
        }
        let from = self.jump_from.take().or_else(|| is_jump(command).then_some(from));
        if let Some(from) = from {
            self.leave(from);
        }
    }

    /// A command was refused: nothing was left, and the list is as it was.
    pub(super) fn stay_put(&mut self) {
        self.jump_from = None;
        if let Some(landing) = self.landing.take() {
            self.jumps = landing.before;
        }
    }

    /// What the way to a place takes of the session, as commands.
    fn way_to(&self, to: &Spot) -> Vec<String> {
        let here = self.spot();
        let mut out = Vec::new();
        if to.event != here.event {
            out.push(format!("goto {}", to.event));
        }
        if let Some(stage) = to.stage.filter(|s| Some(*s) != here.stage) {
            out.push(format!("pass {stage}"));
        }
        out
    }

    /// Looks at what was looked at there, once the session is there.
    fn look_at(&mut self, to: &Spot) {
        if let Some(id) = to.queue {
            self.session.select(id);
        }
        self.focus = to.focus;
        self.selection = to.selection;
        self.source.selected = to.inst;
        if self.has_assembly() {
            (self.assembly.cursor, self.assembly.seek) = (to.line, None);
        } else {
            self.source.stay(to.line, self.session.stage());
        }
        self.prepare();
    }

    /// A place in a line: when, in what queue and slot, at which instruction.
    pub fn spot_words(&self, s: &Spot) -> String {
        let mut out = format!("event {:<6}", s.event);
        if let Some(q) = s.queue {
            out.push_str(&format!("  {q} {}[{}]", s.selection.dir, s.selection.slot));
        }
        if let Some(stage) = s.stage {
            out.push_str(&format!("  {stage} line {}", s.line + 1));
        }
        if let Some(pos) = s.inst {
            out.push_str(&format!("  {}", self.session.program().inst_text(pos)));
        }
        out.push_str(&format!("  ({})", s.focus.name()));
        out
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::udma::Dir;
    use proptest::prelude::*;

    fn spot(n: u64) -> Spot {
        let selection = Selection { slot: n, dir: Dir::Tx, word: 0, bit: 0 };
        let (queue, focus, stage) = (None, Pane::Tx, None);
        Spot { event: n, queue, selection, focus, stage, line: 0, inst: None }
    }

    proptest! {
        #[test]
        fn back_and_forward_are_one_another_s_undoing(
            steps in prop::collection::vec((0u8..4, 0u64..9), 0..300),
        ) {
            let mut jumps = Jumps::default();
            let mut here = spot(0);
            for (step, n) in steps {
                let before = (jumps.clone(), here);
                match step {
                    0 => {
                        jumps.leave(here);
                        let left = here;
                        here = spot(n);
                        // Back after a jump is where it began.
                        let mut again = jumps.clone();
                        prop_assert_eq!(again.back(here), Some(left));
                        prop_assert_eq!(again.forward(left), Some(here));
                        prop_assert_eq!(&again, &jumps);
                    }
                    1 => {
                        if let Some(to) = jumps.back(here) {
                            let mut again = jumps.clone();
                            prop_assert_eq!(again.forward(to), Some(before.1));
                            prop_assert_eq!(&again, &before.0);
                            here = to;
                        }
                    }
                    2 => {
                        if let Some(to) = jumps.forward(here) {
                            let mut again = jumps.clone();
                            prop_assert_eq!(again.back(to), Some(before.1));
                            prop_assert_eq!(&again, &before.0);
                            here = to;
                        }
                    }
                    _ => {
                        let (all, at) = jumps.all(here);
                        let to = n as usize % all.len();
                        prop_assert_eq!(all[at], here);
                        here = jumps.go(here, to).unwrap();
                        prop_assert_eq!(here, all[to]);
                        prop_assert_eq!(jumps.all(here), (all, to));
                    }
                }
                prop_assert!(jumps.len().0 <= MAX_JUMPS && jumps.len().1 <= MAX_JUMPS);
            }
        }
    }

    #[test]
    fn the_oldest_places_go_first() {
        let mut jumps = Jumps::default();
        for n in 0..3 * MAX_JUMPS as u64 {
            jumps.leave(spot(n));
        }
        assert_eq!(jumps.len(), (MAX_JUMPS, 0));
        assert_eq!(jumps.back(spot(9999)), Some(spot(3 * MAX_JUMPS as u64 - 1)));
        assert!(!jumps.is_empty());
    }
}
