//! The two rings, each at a place of its own (`docs/screen.md`, "Unlocked rings").
//!
//! The ring that is looked at is the one of the selection: its place is the selected slot, the
//! first slot shown and whether equal slots are folded, as the model has them. Where the rings of
//! a queue are unlocked the place of either is kept here, so that the one that is looked at can
//! be left and found again.

use super::folding::RingLine;
use super::layout::Pane;
use super::links::Subject;
use super::model::Model;
use crate::diag::Severity;
use crate::engine::program::QueueId;
use crate::engine::session::Carried;
use crate::udma::Dir;
use std::collections::BTreeMap;

/// Where a ring is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// The slot with the cursor.
    slot: u64,
    /// The first slot shown.
    top: u64,
    /// Equal slots are folded.
    fold: bool,
}

/// Which queues have unlocked rings, and the places of these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unlocked {
    /// The places on Tx and Rx; no more queues than a program has.
    of: BTreeMap<QueueId, [Place; 2]>,
    /// The queue and the ring whose place the model has.
    at: Option<(QueueId, Dir)>,
    /// Whether equal slots are folded where rings are locked.
    fold: Option<bool>,
}

impl Unlocked {
    /// The same slots after a reload, wherever they lie now; a slot that is gone keeps its number.
    pub(super) fn carried(&self, to: &Carried) -> Unlocked {
        let one = |(id, places): (&QueueId, &[Place; 2])| {
            let now = Dir::BOTH.map(|dir| to.slot(*id, dir, places[nth(dir)].slot));
            let id = now.iter().flatten().next().map_or(*id, |at| at.0);
            let moved = Dir::BOTH.map(|dir| {
                let place = places[nth(dir)];
                let slot = now[nth(dir)].filter(|at| at.0 == id).map_or(place.slot, |at| at.1);
                Place { slot, top: moved_top(place.top, place.slot, slot), ..place }
            });
            (id, moved)
        };
        Unlocked { of: self.of.iter().map(one).collect(), ..*self }
    }
}

/// The place of a direction among both.
fn nth(dir: Dir) -> usize {
    usize::from(dir == Dir::Rx)
}

/// The first slot shown once the selected one has become another. A ring that is shown from its
/// beginning goes on to be.
pub(super) fn moved_top(top: u64, from: u64, to: u64) -> u64 {
    if top == 0 { 0 } else { top.saturating_add_signed(to.wrapping_sub(from) as i64) }
}

impl Model {
    /// Where both rings of the selected queue are looked at, if they are unlocked. A queue with
    /// one ring has nothing to unlock.
    fn places(&self) -> Option<&[Place; 2]> {
        let both = Dir::BOTH.into_iter().all(|d| self.ring_size(d) > 0);
        self.unlocked.of.get(&self.queue()?).filter(|_| both)
    }

    /// Whether the rings of the selected queue are unlocked.
    pub fn is_unlocked(&self) -> bool {
        self.places().is_some()
    }

    /// Whether each ring has lines of its own: unlocked, and not in one table.
    pub fn is_apart(&self) -> bool {
        self.is_unlocked() && !self.derived.areas.shared
    }

    /// The slot with the cursor of a ring: the selected one, which both have where they are
    /// locked.
    pub fn cursor_of(&self, dir: Dir) -> u64 {
        match self.places() {
            Some(places) if dir != self.selection.dir => {
                places[nth(dir)].slot.min(self.last_slot(dir))
            }
            _ => self.selection.slot,
        }
    }

    /// The lines of a ring's pane.
    pub fn lines_of(&self, dir: Dir) -> &[RingLine] {
        let aside = dir != self.selection.dir && self.is_apart();
        if aside { &self.derived.aside } else { &self.derived.ring }
    }

    /// The last slot that can be selected in a ring: of its own, or where they are locked of the
    /// longer one.
    pub(super) fn last_slot(&self, dir: Dir) -> u64 {
        let n = if self.is_unlocked() { self.ring_size(dir) } else { self.slots() };
        n.saturating_sub(1)
    }

    /// The slot of a ring that makes a pair with the selected one, where it needs a mark: where
    /// the cursor of its own ring does not show it.
    pub fn partner(&self, dir: Dir) -> Option<u64> {
        let wanted = dir != self.selection.dir && self.subject == Subject::Slot;
        (wanted && self.is_unlocked()).then_some(self.selection.slot)
    }

    /// Looks at a ring, where its cursor is.
    pub(super) fn look_at_ring(&mut self, dir: Dir) {
        self.select_slot(Some(dir), self.cursor_of(dir));
    }

    /// Moves the cursor of a ring, and looks at the same ring as before.
    pub(super) fn bring(&mut self, dir: Dir, slot: u64) {
        if dir == self.selection.dir || !self.is_unlocked() {
            return self.select_slot(None, slot);
        }
        let slot = slot.min(self.last_slot(dir));
        if let Some(id) = self.queue()
            && let Some(places) = self.unlocked.of.get_mut(&id)
        {
            places[nth(dir)].slot = slot;
        }
    }

    /// Moves the ring of a pane by rows if it is not the one that is looked at; says whether.
    pub(super) fn scroll_aside(&mut self, pane: Pane, by: i64) -> bool {
        let dir = self.selection.dir.other();
        let its = Pane::of_ring(dir);
        let moves = pane == its && self.is_apart();
        if moves {
            self.bring(dir, self.cursor_of(dir).saturating_add_signed(by));
        }
        moves
    }

    /// Unlocks the rings of the selected queue, or locks them at the slot that is looked at.
    pub(super) fn toggle_lock(&mut self) {
        let name = self.selection.dir.name();
        let Some(id) = self.queue() else {
            return self.say("there are no rings", Some(Severity::Note));
        };
        if self.is_unlocked() {
            self.unlocked.of.remove(&id);
            return self
                .say(format!("the rings are locked, at {name}[{}]", self.selection.slot), None);
        }
        if let Some(dir) = Dir::BOTH.into_iter().find(|d| self.ring_size(*d) == 0) {
            let text = format!("there is no {} ring to unlock from", dir.name());
            return self.say(text, Some(Severity::Note));
        }
        let place = Place { slot: self.selection.slot, top: self.ring_top, fold: self.fold };
        self.unlocked.of.insert(id, [place; 2]);
        self.selection.slot = self.selection.slot.min(self.last_slot(self.selection.dir));
        self.say(format!("the rings are unlocked: {name} moves alone"), None);
    }

    /// Folds equal slots, or shows each: where the rings are unlocked, of the one that is looked
    /// at.
    pub(super) fn toggle_fold(&mut self) {
        self.fold = !self.fold;
        let of = match self.is_apart() {
            true => format!(" of {}", self.selection.dir.name()),
            false => String::new(),
        };
        // One table folds both.
        if let Some(places) = self.queue().and_then(|id| self.unlocked.of.get_mut(&id))
            && self.derived.areas.shared
        {
            places.iter_mut().for_each(|p| p.fold = self.fold);
        }
        let text = if self.fold { "equal slots" } else { "every slot" };
        let done = if self.fold { "are folded" } else { "is shown" };
        self.say(format!("{text}{of} {done}"), None);
    }

    /// Another queue was selected and nothing in it: unlocked rings are where they were.
    pub(super) fn come_to_queue(&mut self) {
        let came = self.unlocked.at.map(|at| at.0) != self.queue();
        if let Some(places) = self.places().filter(|_| came) {
            let slot = places[nth(self.selection.dir)].slot;
            self.selection.slot = slot.min(self.last_slot(self.selection.dir));
        }
    }

    /// Another queue or ring is looked at than before: it is shown as it was left.
    pub(super) fn settle_rings(&mut self) {
        let now = self.queue().map(|id| (id, self.selection.dir));
        let was = std::mem::replace(&mut self.unlocked.at, now);
        let came = was.map(|at| at.0) != now.map(|at| at.0);
        match self.places() {
            // One table stays where it is.
            Some(places) if was != now && (came || !self.derived.areas.shared) => {
                let place = places[nth(self.selection.dir)];
                (self.ring_top, self.fold) = (place.top, place.fold);
            }
            None if came => self.fold = self.unlocked.fold.unwrap_or(self.fold),
            _ => {}
        }
    }

    /// Keeps where the ring that is looked at is.
    pub(super) fn keep_place(&mut self) {
        let place = Place { slot: self.selection.slot, top: self.ring_top, fold: self.fold };
        let dir = self.selection.dir;
        if !self.is_unlocked() {
            self.unlocked.fold = Some(self.fold);
        } else if let Some(places) = self.queue().and_then(|id| self.unlocked.of.get_mut(&id)) {
            places[nth(dir)] = place;
        }
    }

    /// The ring that is not looked at where it has lines of its own: it, the first slot that it
    /// showed, and whether equal slots are folded.
    pub(super) fn ring_aside(&self) -> Option<(Dir, u64, bool)> {
        let dir = self.selection.dir.other();
        let place = self.places().filter(|_| self.is_apart())?[nth(dir)];
        Some((dir, place.top, place.fold))
    }

    /// Keeps the first slot that the ring shows which is not looked at.
    pub(super) fn keep_aside(&mut self, dir: Dir, top: u64) {
        let cursor = self.cursor_of(dir);
        if let Some(places) = self.queue().and_then(|id| self.unlocked.of.get_mut(&id)) {
            let place = &mut places[nth(dir)];
            // Where the ring is too short for its cursor now, it may be longer later.
            if place.slot == cursor {
                place.top = top;
            }
        }
    }
}
