//! The timeline on the screen: which part of the run is shown, and going somewhere on it by the
//! mouse or by keys (`docs/screen.md`, "The timeline").
//!
//! What the lanes hold is the session's to say ([`Session::lanes`]); nothing is worked out anew
//! while the part that is shown stays the same and is known.

use super::layout::{Areas, Pane};
use super::model::Model;
use super::seams;
use super::update::Effect;
use super::view;
use crate::engine::session::{Session, View};
use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;
use std::sync::Arc;

/// Events that are shown at least where the end of the run is not known.
const LEAST_SHOWN: u64 = 64;
/// Columns of the screen that an event takes at most where there are fewer events than columns.
const WIDEST: u64 = 3;
/// Columns of the screen for the names of the lanes.
pub const NAMES: u16 = 13;
/// How often the shown part may be halved.
const MAX_ZOOM: u32 = 63;

/// Where on the run the user looks.
#[derive(Debug, Clone, Default)]
pub struct Scrub {
    /// How often the shown part was halved; 0 shows the whole run.
    pub zoom: u32,
    /// The event before the first that is shown.
    pub from: u64,
    /// First lane shown.
    pub top: usize,
    /// The position for which that was settled.
    seen: u64,
    /// While the mouse drags: the session before, from which each step of it begins.
    drag: Option<Box<Session>>,
}

/// A part of the run as it lies on the screen: one cell for the state before it, then its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strip {
    /// The part.
    pub view: View,
    /// Cells of the screen that a column takes.
    pub wide: u16,
}

impl Strip {
    /// The event after which the state is that a cell stands for, counted from the strip's first.
    pub fn event_at(self, cell: u16) -> u64 {
        match cell.checked_sub(1) {
            None => self.view.from,
            Some(k) => self.view.bounds(u64::from(k / self.wide).min(self.view.columns - 1)).1,
        }
    }

    /// The cell of the state after an event; nothing where it is not shown.
    pub fn cell_of(self, event: u64) -> Option<u16> {
        if event == self.view.from {
            return Some(0);
        }
        let column = self.view.column_of(event)?;
        u16::try_from(column).ok()?.checked_mul(self.wide)?.checked_add(1)
    }
}

impl Scrub {
    /// Whether the mouse is dragging.
    pub fn is_dragged(&self) -> bool {
        self.drag.is_some()
    }

    /// Another run than before.
    pub fn forget(&mut self) {
        *self = Scrub { zoom: self.zoom, ..Scrub::default() };
    }
}

impl Model {
    /// Where the strip of events lies: in the timeline pane beside the names, or on the line of
    /// the scrubber beside two numbers. Empty where neither is shown.
    pub fn strip_area(&self) -> Rect {
        let areas = &self.derived.areas;
        let (area, names, right) = match areas.pane(Pane::Timeline).map(Areas::inner) {
            Some(pane) => {
                let height = view::timeline::lane_rows(self, pane.height.into()) as u16;
                (Rect { height, ..pane }, NAMES, 0)
            }
            None => (areas.scrubber, NAMES, NAMES),
        };
        let width = area.width.saturating_sub(names + right);
        if width < 4 {
            return Rect::ZERO;
        }
        Rect { x: area.x + names, width, ..area }
    }

    /// The whole run as far as it is known; some more where its end is not, so that it need not be
    /// drawn anew at each step.
    fn whole(&self) -> u64 {
        let known = self.session.known_to();
        let more = || known.saturating_add(1).checked_next_power_of_two().unwrap_or(u64::MAX);
        self.session.end().unwrap_or_else(more).max(match self.session.end() {
            Some(_) => 1,
            None => LEAST_SHOWN,
        })
    }

    /// Works out what the timeline shows.
    pub(super) fn prepare_timeline(&mut self) {
        let area = self.strip_area();
        if area.is_empty() {
            self.derived.strip = None;
            self.derived.lanes = None;
            return;
        }
        let cells = u64::from(area.width - 1);
        let (whole, here) = (self.whole(), self.session.position());
        let least = whole.min(cells);
        let scrub = &mut self.scrub;
        scrub.zoom = scrub.zoom.min(MAX_ZOOM);
        while scrub.zoom > 0 && whole >> (scrub.zoom - 1) <= least {
            scrub.zoom -= 1;
        }
        let len = (whole >> scrub.zoom).max(least);
        let outside = here < scrub.from || here > scrub.from.saturating_add(len);
        if scrub.seen != here && outside && scrub.drag.is_none() {
            // What comes is of more interest than what was.
            scrub.from = here.saturating_sub(len / 4);
        }
        scrub.seen = here;
        scrub.from = scrub.from.min(whole - len);
        let view = View::new(scrub.from, len, cells);
        let wide = (cells / view.columns).clamp(1, WIDEST) as u16;
        let known = self.derived.lanes.take().filter(|l| l.hold(&self.session, view));
        let old = self.derived.kept_lanes.take();
        let lanes = known.unwrap_or_else(|| Arc::new(self.session.lanes(view, old.as_deref())));
        self.derived.strip = Some(Strip { view, wide });
        self.derived.kept_lanes = Some(Arc::clone(&lanes));
        self.derived.lanes = Some(lanes);
    }

    /// Shows half as much of the run, or twice as much; the position stays in sight.
    pub(super) fn zoom_time(&mut self, by: i64) {
        let Some(strip) = self.derived.strip else { return };
        let here = self.session.position();
        let full = match by > 0 {
            true => strip.view.is_single().then_some("every column is one event already"),
            false => (self.scrub.zoom == 0).then_some("the whole run is shown already"),
        };
        if let Some(text) = full {
            self.say(text, None);
            return;
        }
        self.scrub.zoom = self.scrub.zoom.saturating_add_signed(by as i32).min(MAX_ZOOM);
        let len = strip.view.len;
        let len = if by > 0 { len / 2 } else { len.saturating_mul(2) };
        self.scrub.from = here.saturating_sub(len / 2);
    }

    /// Shows the part before or after.
    pub(super) fn page_time(&mut self, by: i64) {
        let Some(strip) = self.derived.strip else { return };
        let by = by.saturating_mul(i64::try_from(strip.view.len).unwrap_or(i64::MAX));
        self.scrub.from = self.scrub.from.saturating_add_signed(by);
    }

    /// The command that goes so many columns on.
    pub(super) fn columns_of_time(&self, by: i64) -> Option<String> {
        let strip = self.derived.strip?;
        let here = self.session.position();
        let column = (strip.view.len / strip.view.columns).max(1);
        let to = match (strip.view.column_of(here), by < 0) {
            // To the end of a column, so that what is under the cursor is what the column says.
            (Some(0), true) => strip.view.from.min(here - 1),
            (Some(k), true) => strip.view.bounds(k - 1).1,
            (Some(k), false) if strip.view.bounds(k).1 > here => strip.view.bounds(k).1,
            (Some(k), false) if k + 1 < strip.view.columns => strip.view.bounds(k + 1).1,
            (None, false) if here == strip.view.from => strip.view.bounds(0).1,
            (_, true) => here.saturating_sub(column),
            (_, false) => here.saturating_add(column),
        };
        let to = to.min(self.session.end().unwrap_or(u64::MAX));
        (to != here).then(|| format!("goto {to}"))
    }

    /// The command that goes to the start of the run or to the last event that is known.
    pub(super) fn edge_of_time(&self, by: i64) -> String {
        match (by < 0, self.session.end()) {
            (true, _) => "goto 0".to_owned(),
            (false, Some(_)) => "goto end".to_owned(),
            (false, None) => format!("goto {}", self.session.known_to()),
        }
    }

    /// What the mouse does on the timeline; nothing where it is elsewhere.
    pub(super) fn scrub_by_mouse(&mut self, e: MouseEvent) -> Option<Vec<Effect>> {
        let area = self.strip_area();
        let inside = area.contains((e.column, e.row).into());
        match e.kind {
            MouseEventKind::Down(MouseButton::Left) if inside => {
                // Of a press before nobody may have told that it ended.
                self.let_go();
                self.scrub.drag = Some(Box::new(self.session.clone()));
                if self.derived.areas.pane(Pane::Timeline).is_some() {
                    self.focus = Pane::Timeline;
                    self.arrangement.tab = Pane::Timeline;
                }
            }
            MouseEventKind::Drag(MouseButton::Left) if self.scrub.is_dragged() => {}
            MouseEventKind::Up(_) if self.scrub.is_dragged() => {
                self.let_go();
                return Some(Vec::new());
            }
            MouseEventKind::Down(_) => {
                self.let_go();
                return None;
            }
            _ => return None,
        }
        let cell = e.column.clamp(area.x, area.right().saturating_sub(1)) - area.x;
        let to = self.derived.strip.map(|s| s.event_at(cell));
        let to = to.filter(|n| *n != self.session.position());
        Some(to.and_then(|n| self.scrub_to(n)).into_iter().collect())
    }

    /// Goes to an event as the command would from where the drag began.
    fn scrub_to(&mut self, event: u64) -> Option<Effect> {
        if let Some(before) = &self.scrub.drag {
            self.session = (**before).clone();
        }
        seams::parse(&format!("goto {event}")).ok().map(Effect::Run)
    }

    /// The drag is over: what it came to is one `goto`, from where it began, and has been carried
    /// out already.
    pub(super) fn let_go(&mut self) {
        let here = self.session.position();
        let Some(before) = self.scrub.drag.take() else { return };
        if before.position() == here {
            self.session = *before;
        } else if let Ok(command) = seams::parse(&format!("goto {here}")) {
            self.note(&before, &command);
        }
    }
}
