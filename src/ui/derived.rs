//! What drawing needs, worked out from the session and from where the user looks after each
//! message, so that drawing only reads.

use super::arrange::Arrangement;
use super::flip::Flipping;
use super::folding::RingLine;
use super::layout::{self, Areas, Pane, Texts};
use super::links::Links;
use super::model::{LOOK_AHEAD, Model, Selection};
use super::ties::Ties;
use super::timeline::Strip;
use super::view;
use crate::check;
use crate::diag::Diagnostic;
use crate::engine::budget::Budget;
use crate::engine::order::Readings;
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::{Event, Machine};
use crate::engine::session::{Lanes, Share};
use crate::limits::MAX_SCREEN_RACE_EVENTS;
use crate::udma::Dir;
use crate::udma::profile::MARKER;
use std::sync::{Arc, Weak};

/// What changes the marker's polled word next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerNews {
    /// This event; whether it makes it the marker that is waited for.
    By(Event, bool),
    /// Nothing within so many events.
    NotWithin(u64),
    /// Nothing up to the end of the run.
    Never,
}

/// Of which races are known: program, event, and what was asked for.
type RacesAt = (Weak<Program>, u64, (Option<Readings>, usize));

/// Worked out after each message.
#[derive(Debug, Clone)]
pub struct Derived {
    /// Places of everything.
    pub areas: Areas,
    /// Lines of the ring panes; where each has its own, of the ring that is looked at.
    pub ring: Vec<RingLine>,
    /// Then those of the other one.
    pub aside: Vec<RingLine>,
    /// Columns in which every address can be told from others, and of which program: it may have
    /// very many regions.
    pub address_needs: (Weak<Program>, usize),
    /// Events of the events pane.
    pub events: Vec<Event>,
    /// Which were asked for: the first, how many.
    pub window: (u64, u64),
    /// The event that comes next.
    pub next: Option<Event>,
    /// What changes the marker next, seen from an event on: of which queue, and which word
    /// that was.
    pub marker: (u64, Option<(QueueId, u64)>, MarkerNews),
    /// The part of the run that the timeline shows, where it is shown.
    pub strip: Option<Strip>,
    /// What happened in it.
    pub lanes: Option<Arc<Lanes>>,
    /// What was worked out of it last, of which more may be known now.
    pub(super) kept_lanes: Option<Arc<Lanes>>,
    /// What is used up, where it is shown: worst first.
    pub shares: Vec<Share>,
    /// What a module takes, once somebody looked.
    pub budget: Option<(Weak<Program>, Arc<Budget>)>,
    /// What belongs to what is selected.
    pub links: Links,
    /// What the events around the position touch, where that was asked for.
    pub ties: Arc<Ties>,
    /// What flipping the selected bit does, while the descriptor has the focus.
    pub flipping: Option<Flipping>,
    /// Of which event and bit the descriptor told last.
    pub inspected: Option<(u64, Selection)>,
    /// What the checks say of the rings as they lie now.
    pub judged: Vec<Diagnostic>,
    /// The program and the event for which that was worked out.
    judged_at: Option<(Weak<Program>, u64)>,
    /// The races up to here.
    pub races: Vec<Diagnostic>,
    /// For what they were worked out.
    races_at: Option<RacesAt>,
}

impl Derived {
    /// Nothing yet.
    pub(super) fn new(size: (u16, u16), focus: Pane) -> Derived {
        Derived {
            areas: layout::areas(size, focus, Texts::None, &Arrangement::default()),
            ring: Vec::new(),
            aside: Vec::new(),
            address_needs: (Weak::new(), 0),
            events: Vec::new(),
            window: (0, 0),
            next: None,
            marker: (0, None, MarkerNews::NotWithin(0)),
            strip: None,
            lanes: None,
            kept_lanes: None,
            shares: Vec::new(),
            budget: None,
            links: Links::default(),
            ties: Arc::default(),
            flipping: None,
            inspected: None,
            judged: Vec::new(),
            judged_at: None,
            races: Vec::new(),
            races_at: None,
        }
    }

    /// The run is another: what was read of it and found ahead holds no more.
    pub(super) fn forget_run(&mut self) {
        self.window = (0, 0);
        self.marker = (0, None, MarkerNews::NotWithin(0));
    }
}

impl Model {
    /// Works out what drawing needs. Called after every message.
    pub fn prepare(&mut self) {
        let rows = view::lesson::height(self);
        match self.focus {
            Pane::Passes => self.arrangement.passes = true,
            Pane::Source => self.arrangement.passes = false,
            _ => {}
        }
        self.arrangement.lone = match Dir::BOTH.map(|d| self.ring_size(d) > 0) {
            [true, false] => Some(Dir::Tx),
            [false, true] => Some(Dir::Rx),
            _ => None,
        };
        self.derived.areas =
            layout::areas_with(self.size, self.focus, self.texts(), &self.arrangement, rows);
        self.selection.slot = self.selection.slot.min(self.last_slot(self.selection.dir));
        self.derived.next = self.session.next_event();
        self.prepare_source();
        self.prepare_passes();
        self.prepare_assembly();
        self.prepare_search();
        self.prepare_ring();
        self.prepare_timeline();
        self.prepare_events();
        self.prepare_marker();
        self.prepare_checks();
        self.prepare_budget();
        self.stop_rows(0);
        self.prepare_memory();
        self.prepare_links();
        self.prepare_flip();
        self.prepare_inspector();
    }

    /// What is told of another bit, or of another descriptor, begins at its top.
    fn prepare_inspector(&mut self) {
        let here = (self.session.position(), self.selection);
        if self.derived.inspected != Some(here) {
            (self.derived.inspected, self.inspector_top) = (Some(here), 0);
        }
        let area = self.derived.areas.pane(Pane::Inspector).map(Areas::inner).unwrap_or_default();
        let last = view::last_top(self, area.width.into(), area.height.into());
        self.inspector_top = self.inspector_top.min(last);
    }

    fn prepare_checks(&mut self) {
        let (p, n) = (self.session.program(), self.session.position());
        let known = self.derived.judged_at.as_ref();
        if !known.is_some_and(|(of, at)| *at == n && of.as_ptr() == Arc::as_ptr(p)) {
            self.derived.judged = check::live(p, self.session.machine()).items;
            self.derived.judged_at = Some((Arc::downgrade(p), n));
        }
        let asked = self.session.races_asked();
        let known = self.derived.races_at.as_ref();
        if !known
            .is_some_and(|(of, at, by)| *at == n && of.as_ptr() == Arc::as_ptr(p) && *by == asked)
        {
            self.derived.races = self.session.races_here(MAX_SCREEN_RACE_EVENTS);
            self.derived.races_at = Some((Arc::downgrade(p), n, asked));
        }
    }

    /// How many events are shown: in their pane, or below the timeline or the rings where one of
    /// them is alone.
    pub(super) fn event_rows(&self) -> usize {
        let areas = &self.derived.areas;
        if let Some(area) = [Pane::Tx, Pane::Rx].into_iter().find_map(|p| areas.pane(p))
            && areas.pane(Pane::Events).is_none()
        {
            return view::events_below_rings(self, Areas::inner(area).height.into());
        }
        match areas.pane(Pane::Timeline).map(layout::Areas::inner) {
            Some(r) if areas.pane(Pane::Events).is_none() => {
                view::timeline::room_for_events(self, r.width.into(), r.height.into())
            }
            _ => areas.rows(Pane::Events),
        }
    }

    /// The byte with the cursor stays in sight.
    fn prepare_memory(&mut self) {
        let Some(area) = self.derived.areas.pane(Pane::Memory).map(Areas::inner) else { return };
        let (per, rows) = view::memory_shape(self, area.width, area.height);
        let row = self.memory_at.div_euclid(per);
        self.memory_rows = self.memory_rows.clamp(row.saturating_sub(rows - 1), row);
    }

    fn prepare_events(&mut self) {
        let shown = self.event_rows();
        let rows = shown.max(1) as u64;
        self.event_cursor = self.event_cursor.min(self.session.end().unwrap_or(u64::MAX));
        // Event 0, the start, has no line of its own.
        let cursor = self.event_cursor.max(1);
        if rows != self.derived.window.1 && shown > 0 {
            // Another size: what led here stays in sight.
            self.event_top = cursor.saturating_sub(rows * 2 / 3).max(1);
        }
        if cursor < self.event_top {
            self.event_top = cursor;
        } else if cursor >= self.event_top + rows {
            self.event_top = cursor + 1 - rows;
        }
        let window = (self.event_top, rows);
        if shown > 0 && self.derived.window != window {
            // What happens is settled: a window once read stays true.
            self.derived.events = self.session.events(window.0, window.0 + window.1);
            self.derived.window = window;
        }
    }

    fn prepare_marker(&mut self) {
        let here = self.session.position();
        // The word moves on where batches have words of their own.
        let word = |id| Some((id, polled_word(self.session.machine(), id)?));
        let word = self.queue().and_then(word);
        let (from, of, news) = self.derived.marker;
        let holds = match news {
            MarkerNews::By(e, _) => from <= here && here < e.n,
            MarkerNews::Never => from <= here,
            MarkerNews::NotWithin(n) => from == here && n > 0,
        };
        if of == word && holds {
            return;
        }
        let news = word.map_or(MarkerNews::Never, |(id, word)| self.marker_news(id, word));
        self.derived.marker = (here, word, news);
    }

    /// Runs ahead on a copy until the polled word changes; where it never does, the one that
    /// a later batch polls instead.
    fn marker_news(&self, id: QueueId, word: u64) -> MarkerNews {
        let program = self.session.program();
        let mut m = self.session.machine().clone();
        let mut later = None;
        for _ in 0..LOOK_AHEAD {
            let Some(step) = m.step(program) else {
                return later.unwrap_or(MarkerNews::Never);
            };
            let access = step.event.kind.access();
            let news = |m: &Machine, word: u64| {
                let writes = access.is_some_and(|(addr, len, written)| {
                    written && addr < word.wrapping_add(4) && word < addr.saturating_add(len)
                });
                writes.then(|| MarkerNews::By(step.event, m.memory.read_u32(word) == MARKER))
            };
            if let Some(news) = news(&m, word) {
                return news;
            }
            if later.is_none() {
                later = polled_word(&m, id).and_then(|w| news(&m, w));
            }
        }
        later.unwrap_or(MarkerNews::NotWithin(LOOK_AHEAD))
    }
}

/// The word that the newest batch of a queue polls.
fn polled_word(m: &Machine, id: QueueId) -> Option<u64> {
    Some(m.queue(id)?.marker.wrapping_add(4))
}
