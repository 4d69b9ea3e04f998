//! What was done for a queue before, and what will be: by looking along the run.

use super::super::sweep::Swept;
use super::super::{polled_for, shared};
use crate::engine::program::QueueId;
use crate::engine::ring::{Event, EventKind, Machine};
use crate::engine::session::{Session, Watch};
use crate::limits::MAX_WHY_EVENTS;
use crate::udma::profile::MARKER;
use crate::udma::{Dir, reg};
use std::ops::ControlFlow;

/// A doorbell write of the past.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bell {
    pub event: u64,
    pub value: u32,
    pub lost: bool,
}

/// The newest deeds for a queue since it was reset.
#[derive(Debug, Clone, Default)]
pub(super) struct Past {
    /// Doorbells, Tx then Rx.
    pub bells: [Option<Bell>; 2],
    /// A pair staged or refused, or descriptors copied in.
    pub staged: Option<Event>,
    /// What wrote the polled word.
    pub word: Option<Event>,
    /// What flipped the polled word.
    pub flip: Option<Event>,
}

/// What comes.
#[derive(Debug, Clone, Default)]
pub(super) struct Ahead {
    /// The next event.
    pub next: Option<Event>,
    /// The next doorbells of the queue, Tx then Rx.
    pub bells: [Option<Event>; 2],
    /// The first fault that aborts the engine, or stall of the queue.
    pub trouble: Option<Event>,
    /// The engine makes the polled word the marker.
    pub flip: Option<Event>,
    /// A poll sees it.
    pub seen: Option<Event>,
    /// A wait for the queue times out.
    pub gave_up: Option<Event>,
    /// The last event that was looked at.
    pub last: u64,
    /// That is the end of the run.
    pub complete: bool,
}

/// The doorbell that an event rings for a queue.
fn bell(id: QueueId, e: &Event) -> Option<(Dir, Bell)> {
    let EventKind::MmioWrite { engine, offset, value, lost } = e.kind else { return None };
    let place = reg::name_at(offset).filter(|r| r.name == "drtp_inc")?;
    let (dir, queue) = place.queue?;
    (id == QueueId { engine, queue }).then_some((dir, Bell { event: e.n, value, lost }))
}

fn ix(dir: Dir) -> usize {
    usize::from(dir == Dir::Rx)
}

/// What a look back notes.
enum Note {
    Bell(Dir, Bell),
    Staged(Event),
    Word(Event, bool),
    Reset,
}

impl Session {
    pub(super) fn past_of(&mut self, id: QueueId, watch: Watch<'_>) -> Past {
        let mut past = Past::default();
        let word = self.machine.queue(id).map_or(0, |q| q.marker.wrapping_add(4));
        let flips = |m: &Machine, e: &Event| {
            matches!(e.kind, EventKind::Visible { .. }) && m.memory.read_u32(word) == MARKER
        };
        let note = &mut |m: &Machine, e: &Event| {
            if let Some((dir, bell)) = bell(id, e) {
                return Some(Note::Bell(dir, bell));
            }
            let mine = e.queue() == Some(id);
            match e.kind {
                EventKind::Stage { .. } | EventKind::CopyIn { .. } if mine => {
                    Some(Note::Staged(*e))
                }
                EventKind::MmioWrite { offset, value, .. }
                    if mine
                        && value & reg::Q_SW_RESET != 0
                        && reg::name_at(offset).is_some_and(|r| r.name == "q_sw_ctrl") =>
                {
                    Some(Note::Reset)
                }
                _ => {
                    let spans = super::super::access::writes(m, e);
                    let hit = spans.iter().any(|s| shared(*s, (word, 4)).is_some());
                    hit.then(|| Note::Word(*e, flips(m, e)))
                }
            }
        };
        let from = self.position();
        let _ = self.find_back(from, watch, note, &mut |_, note| {
            match note {
                Note::Bell(dir, b) => {
                    past.bells[ix(dir)].get_or_insert(b);
                }
                Note::Staged(e) => {
                    past.staged.get_or_insert(e);
                }
                Note::Word(e, flips) => {
                    past.word.get_or_insert(e);
                    if flips {
                        past.flip.get_or_insert(e);
                    }
                }
                Note::Reset => return ControlFlow::Break(()),
            }
            let all = past.bells.iter().all(Option::is_some)
                && past.staged.is_some()
                && past.word.is_some()
                && past.flip.is_some();
            if all { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        past
    }

    pub(super) fn ahead_of(&mut self, id: QueueId, watch: Watch<'_>) -> Ahead {
        let mut a = Ahead::default();
        let from = self.position();
        let timeouts = self.machine.timeouts();
        let mut last = from;
        let swept = self.find_forward(from, MAX_WHY_EVENTS, watch, &mut |m, e| {
            a.next.get_or_insert(*e);
            last = e.n;
            if let Some((dir, _)) = bell(id, e) {
                a.bells[ix(dir)].get_or_insert(*e);
            }
            let of_engine = e.queue().is_some_and(|q| q.engine == id.engine);
            match e.kind {
                EventKind::Fault { aborted: true, .. } if of_engine => {
                    a.trouble.get_or_insert(*e);
                }
                EventKind::Stall { .. } if e.queue() == Some(id) => {
                    a.trouble.get_or_insert(*e);
                }
                EventKind::Visible { addr, len, .. } => {
                    let word = m.queue(id).map_or(0, |q| q.marker.wrapping_add(4));
                    if shared((addr, len), (word, 4)).is_some() && m.memory.read_u32(word) == MARKER
                    {
                        a.flip.get_or_insert(*e);
                    }
                }
                _ => {}
            }
            if m.timeouts() > timeouts && m.cpu().timed_out.is_some_and(|t| t.0 == id) {
                a.gave_up.get_or_insert(*e);
            }
            if polled_for(m, e) == Some(id) {
                a.seen = Some(*e);
            }
            (a.seen.is_some() || a.gave_up.is_some() && a.flip.is_some()).then_some(())
        });
        a.last = last;
        a.complete = matches!(swept, Swept::End(_));
        a
    }
}
