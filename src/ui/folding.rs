//! Which lines the ring panes show: a line per slot, equal slots of no interest in one.
//!
//! Nothing that matters is folded away: the selected slot, slots at a cursor or with a
//! breakpoint, slots that the engine still works on, slots that are new since the files changed.
//! A ring may have millions of slots, so only as many are looked at as the pane has lines, and a
//! fold has an upper bound.

use super::layout::Pane;
use super::model::Model;
use crate::engine::ring::Life;
use crate::udma::Dir;

/// Equal slots in a row that are folded at most into one line.
const MAX_FOLD: u64 = 1 << 10;
/// Equal slots in a row that are worth folding.
const MIN_FOLD: u64 = 3;

/// What equal slots have in common: their lives on Tx and Rx, and whether those changed.
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
    fn end(self) -> u64 {
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

impl Model {
    /// Lines of the ring panes: from the first slot shown on, the selected one among them.
    pub(super) fn prepare_ring(&mut self) {
        let areas = &self.derived.areas;
        let ring = [Pane::Tx, Pane::Rx].into_iter().map(|p| areas.rows(p)).max();
        // A line of headings is on top.
        let rows = ring.unwrap_or(0).saturating_sub(1).max(1);
        let selected = self.selection.slot;
        self.ring_top = self.ring_top.min(selected);
        let mut lines = self.ring_lines(self.ring_top, rows);
        let shown = lines.contains(&RingLine::Slot(selected));
        if !shown && self.slots() > 0 {
            // The selection goes to the last third; lines before it are found backwards.
            self.ring_top = self.top_before(selected, rows.saturating_sub(1) * 2 / 3);
            lines = self.ring_lines(self.ring_top, rows);
        }
        // With room below the last slot those that were scrolled away come back.
        // Together they may fold into fewer lines than they were, so that there is room again.
        while lines.len() < rows && self.ring_top > 0 {
            let top = self.top_before(self.ring_top, rows - lines.len());
            let more = self.ring_lines(top, rows);
            if top == self.ring_top || !more.contains(&RingLine::Slot(selected)) {
                break;
            }
            (self.ring_top, lines) = (top, more);
        }
        self.derived.ring = lines;
    }

    fn ring_lines(&self, from: u64, rows: usize) -> Vec<RingLine> {
        let mut out = Vec::new();
        let (mut at, size) = (from, self.slots());
        while out.len() < rows && at < size {
            let line = self.line_from(at);
            at = line.end();
            out.push(line);
        }
        out
    }

    /// The line that begins with a slot.
    fn line_from(&self, slot: u64) -> RingLine {
        if let Some(s) = self.search.as_ref().filter(|s| s.only)
            && self.hidden(slot)
        {
            let selected = Some(self.selection.slot).filter(|s| *s > slot);
            let next = s.from(slot).into_iter().chain(selected).min();
            return RingLine::Hidden(slot, next.unwrap_or(self.slots()) - slot);
        }
        let Some(alike) = self.dull(slot) else { return RingLine::Slot(slot) };
        let mut count = 1;
        while count < MAX_FOLD && self.dull(slot + count) == Some(alike) {
            count += 1;
        }
        if count >= MIN_FOLD {
            RingLine::Fold(Fold { first: slot, count, alike })
        } else {
            RingLine::Slot(slot)
        }
    }

    /// The first slot to show so that `slot` comes after `lines` lines.
    fn top_before(&self, slot: u64, lines: usize) -> u64 {
        let mut at = slot;
        for _ in 0..lines {
            if at == 0 {
                break;
            }
            let mut n = 1;
            if self.hidden(at - 1) {
                let found = self.search.as_ref().and_then(|s| s.up_to(at - 1));
                let selected = Some(self.selection.slot).filter(|s| *s < at);
                n = at - found.into_iter().chain(selected).max().map_or(0, |s| s + 1);
            } else if let Some(kind) = self.dull(at - 1) {
                while n < MAX_FOLD && n < at && self.dull(at - 1 - n) == Some(kind) {
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
    fn hidden(&self, slot: u64) -> bool {
        let only = self.search.as_ref().filter(|s| s.only);
        only.is_some_and(|s| !s.has(slot) && slot != self.selection.slot)
    }

    /// What a slot is like where nothing about it is worth a line.
    fn dull(&self, slot: u64) -> Option<Alike> {
        let found = |s: u64| self.search.as_ref().is_some_and(|x| x.only && x.has(s));
        if !self.fold || slot == self.selection.slot || slot >= self.slots() || found(slot) {
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
        let ((tx, a), (rx, b)) = (one(Dir::Tx)?, one(Dir::Rx)?);
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
