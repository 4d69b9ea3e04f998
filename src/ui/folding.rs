//! Which lines the ring panes show: a line per slot, equal slots of no interest in one.
//!
//! Nothing that matters is folded away: the selected slot, slots at a cursor or with a
//! breakpoint, slots that the engine still works on, slots that are new since the files changed.
//! A ring may have millions of slots, so only as many are looked at as the pane has lines, and a
//! fold has an upper bound.

use super::layout::Pane;
use super::model::Model;
use super::view;
use crate::engine::ring::Life;
use crate::udma::Dir;
use std::sync::Arc;

/// Equal slots in a row that are folded at most into one line.
const MAX_FOLD: u64 = 1 << 10;
/// Equal slots in a row that are worth folding.
const MIN_FOLD: u64 = 3;

/// What equal slots have in common: their lives on Tx and Rx, and whether those changed. Of lines
/// of one ring both are that one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alike {
    /// On Tx.
    pub tx: Life,
    /// On Rx.
    pub rx: Life,
    /// Since the last stop.
    pub changed: (bool, bool),
}

/// Equal slots in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fold {
    /// The first.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// What they are.
    pub alike: Alike,
}

impl Fold {
    /// The slot behind the last.
    pub fn end(&self) -> u64 {
        self.first + self.count
    }
}

/// A line of the ring panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingLine {
    /// A slot.
    Slot(u64),
    /// Equal slots of no interest.
    Fold(Fold),
    /// Slots from the first on, so many, that a search did not find.
    Hidden(u64, u64),
}

impl RingLine {
    /// The first slot of the line.
    pub fn first(self) -> u64 {
        match self {
            RingLine::Slot(s) => s,
            RingLine::Fold(f) => f.first,
            RingLine::Hidden(first, _) => first,
        }
    }

    /// The slot behind the last of the line.
    pub fn end(self) -> u64 {
        match self {
            RingLine::Slot(s) => s + 1,
            RingLine::Fold(f) => f.end(),
            RingLine::Hidden(first, count) => first + count,
        }
    }
}

/// A cursor of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RingCursor {
    /// Where the engine retires next.
    Head,
    /// Up to where doorbells have posted.
    Tail,
    /// The slot that the driver hands out next.
    Next,
}

/// What the lines of a pane are made from.
#[derive(Debug, Clone, Copy)]
struct Sight {
    /// The ring; none where both have the same lines.
    ring: Option<Dir>,
    /// The slot that is in sight.
    cursor: u64,
    /// The cursor of the other ring, where it is on the same lines.
    other: u64,
    /// Slots.
    size: u64,
    /// Equal slots are folded.
    fold: bool,
}

impl Sight {
    fn cursors(&self) -> [u64; 2] {
        [self.cursor, self.other]
    }
}

impl Model {
    /// Lines of the ring panes: from the first slot shown on, the selected one among them.
    pub(super) fn prepare_ring(&mut self) {
        self.settle_rings();
        let areas = &self.derived.areas;
        let ring = [Pane::Tx, Pane::Rx].into_iter().map(|p| areas.rows(p)).max();
        // A line of headings is on top.
        let rows = ring.unwrap_or(0).saturating_sub(1).max(1);
        let (dir, slot) = (self.selection.dir, self.selection.slot);
        let here = match self.is_apart() {
            true => self.sight_of(dir, self.fold),
            false => {
                let both = Dir::BOTH.map(|d| self.cursor_of(d));
                let other = both.into_iter().find(|s| *s != slot).unwrap_or(slot);
                Sight { ring: None, cursor: slot, other, size: self.slots(), fold: self.fold }
            }
        };
        (self.ring_top, self.derived.ring) = self.in_sight(&here, self.ring_top, rows);
        self.keep_place();
        self.derived.aside.clear();
        if let Some((dir, top, fold)) = self.ring_aside() {
            let (top, lines) = self.in_sight(&self.sight_of(dir, fold), top, rows);
            self.derived.aside = lines;
            self.keep_aside(dir, top);
        }
        let program = self.session.program();
        if self.derived.address_needs.0.as_ptr() != Arc::as_ptr(program) {
            self.derived.address_needs = (Arc::downgrade(program), view::address_needs(self));
        }
    }

    /// A ring that has lines of its own.
    fn sight_of(&self, dir: Dir, fold: bool) -> Sight {
        let cursor = self.cursor_of(dir);
        Sight { ring: Some(dir), cursor, other: cursor, size: self.ring_size(dir), fold }
    }

    /// So many lines from a slot on, or from another one so that the cursor is among them.
    fn in_sight(&self, sight: &Sight, top: u64, rows: usize) -> (u64, Vec<RingLine>) {
        let selected = sight.cursor;
        // A fold tells of all its slots, also where the first line begins within it.
        let mut first = self.begin_of(sight, top.min(selected));
        let mut lines = self.ring_lines(sight, first, rows);
        let shown = lines.contains(&RingLine::Slot(selected));
        if !shown && sight.size > 0 {
            // The selection goes to the last third; lines before it are found backwards.
            first = self.top_before(sight, selected, rows.saturating_sub(1) * 2 / 3);
            lines = self.ring_lines(sight, first, rows);
        }
        // With room below the last slot those that were scrolled away come back.
        // Together they may fold into fewer lines than they were, so that there is room again.
        while lines.len() < rows && first > 0 {
            let top = self.top_before(sight, first, rows - lines.len());
            let more = self.ring_lines(sight, top, rows);
            if top == first || !more.contains(&RingLine::Slot(selected)) {
                break;
            }
            (first, lines) = (top, more);
        }
        (first, lines)
    }

    /// The first slot of the line that a slot is in.
    fn begin_of(&self, sight: &Sight, slot: u64) -> u64 {
        if self.hidden(sight, slot) {
            return self.top_before(sight, slot + 1, 1);
        }
        let Some(alike) = self.dull(sight, slot) else { return slot };
        let before = (slot.saturating_sub(MAX_FOLD - 1)..slot).rev();
        let run = before.take_while(|s| self.dull(sight, *s) == Some(alike)).count() as u64;
        slot - run
    }

    fn ring_lines(&self, sight: &Sight, from: u64, rows: usize) -> Vec<RingLine> {
        let mut out = Vec::new();
        let mut at = from;
        while out.len() < rows && at < sight.size {
            let line = self.line_from(sight, at);
            at = line.end();
            out.push(line);
        }
        out
    }

    /// The line that begins with a slot.
    fn line_from(&self, sight: &Sight, slot: u64) -> RingLine {
        if let Some(s) = self.search.as_ref().filter(|s| s.only)
            && self.hidden(sight, slot)
        {
            let cursors = sight.cursors().into_iter().filter(|s| *s > slot);
            let next = s.from(slot, sight.ring).into_iter().chain(cursors).min();
            return RingLine::Hidden(slot, next.unwrap_or(sight.size) - slot);
        }
        let Some(alike) = self.dull(sight, slot) else { return RingLine::Slot(slot) };
        let mut count = 1;
        while count < MAX_FOLD && self.dull(sight, slot + count) == Some(alike) {
            count += 1;
        }
        if count >= MIN_FOLD {
            RingLine::Fold(Fold { first: slot, count, alike })
        } else {
            RingLine::Slot(slot)
        }
    }

    /// The first slot to show so that `slot` comes after `lines` lines.
    fn top_before(&self, sight: &Sight, slot: u64, lines: usize) -> u64 {
        let mut at = slot;
        for _ in 0..lines {
            if at == 0 {
                break;
            }
            let mut n = 1;
            if self.hidden(sight, at - 1) {
                let found = self.search.as_ref().and_then(|s| s.up_to(at - 1, sight.ring));
                let cursors = sight.cursors().into_iter().filter(|s| *s < at);
                n = at - found.into_iter().chain(cursors).max().map_or(0, |s| s + 1);
            } else if let Some(kind) = self.dull(sight, at - 1) {
                while n < MAX_FOLD && n < at && self.dull(sight, at - 1 - n) == Some(kind) {
                    n += 1;
                }
                if n < MIN_FOLD {
                    n = 1;
                }
            }
            at -= n;
        }
        at
    }

    /// Whether only what was found is shown and this slot was not.
    fn hidden(&self, sight: &Sight, slot: u64) -> bool {
        let only = self.search.as_ref().filter(|s| s.only);
        only.is_some_and(|s| !s.has(slot, sight.ring) && !sight.cursors().contains(&slot))
    }

    /// What a slot is like where nothing about it is worth a line.
    fn dull(&self, sight: &Sight, slot: u64) -> Option<Alike> {
        let found = |s: u64| self.search.as_ref().is_some_and(|x| x.only && x.has(s, sight.ring));
        if !sight.fold || sight.cursors().contains(&slot) || slot >= sight.size || found(slot) {
            return None;
        }
        let one = |dir| match self.slot(dir, slot) {
            Some((_, life)) => {
                // What cannot be stepped is opened to be read, slot by slot.
                let dull = matches!(
                    life,
                    Life::NeverWritten | Life::Stale | Life::Guard | Life::Acked | Life::Retired
                ) && self.stop_at(dir, slot).is_none()
                    && self.slot_news(dir, slot).is_none()
                    && self.cursors(dir, slot).is_empty();
                dull.then(|| (life, self.slot_changed(dir, slot)))
            }
            None => Some((Life::NeverWritten, false)),
        };
        // A ring with lines of its own is alike whatever the other one is.
        let ((tx, a), (rx, b)) = match sight.ring {
            Some(dir) => {
                let its = one(dir)?;
                (its, its)
            }
            None => (one(Dir::Tx)?, one(Dir::Rx)?),
        };
        Some(Alike { tx, rx, changed: (a, b) })
    }

    /// Which cursors stand at a slot: the engine's head, its tail, the driver's next slot.
    pub fn cursors(&self, dir: Dir, slot: u64) -> Vec<RingCursor> {
        let q = self.queue().and_then(|id| self.session.machine().queue(id));
        let Some(q) = q.filter(|q| q.ready) else { return Vec::new() };
        let (sw, hw) = (q.sw(dir), q.hw(dir));
        let all = [
            (RingCursor::Head, hw.slot(hw.retired)),
            (RingCursor::Tail, hw.slot(hw.posted)),
            (RingCursor::Next, u64::from(sw.next_desc_idx)),
        ];
        all.into_iter().filter(|c| c.1 == slot).map(|c| c.0).collect()
    }
}
