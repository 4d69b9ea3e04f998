//! Breakpoints. They belong to the timeline: an event matches or does not, whichever way the
//! session comes to it.

use super::interest::Interest;
use super::search::{Ended, Pace, Question, Search};
use super::{EvalError, Outcome, Session, eval, queue_of};
use crate::diag::Diagnostic;
use crate::engine::command::Loc;
use crate::engine::expr::Expr;
use crate::engine::program::QueueId;
use crate::engine::ring::{Event, EventKind, Machine};
use crate::limits::MAX_STOPS;
use crate::udma::profile::MARKER;
use crate::udma::{DESC_BYTES, Dir, reg};
use std::ops::ControlFlow;

/// A breakpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// Its number.
    pub number: u64,
    /// Where.
    pub loc: Loc,
    /// Condition.
    pub cond: Option<Expr>,
    /// Deleted at its first hit.
    pub once: bool,
    /// Hits that are passed over.
    pub after: u64,
    /// Heeded.
    pub enabled: bool,
    /// How often the session stopped at it.
    pub hits: u64,
    /// Hits up to this event are passed over.
    pub(super) skip_to: u64,
}

impl Stop {
    /// Its place in words.
    pub fn text(&self) -> String {
        let mut t = loc_text(&self.loc);
        if let Some(c) = &self.cond {
            t.push_str(&format!(" if {c}"));
        }
        if self.once {
            t.push_str(" once");
        }
        if self.after > 0 {
            t.push_str(&format!(" after {}", self.after));
        }
        t
    }
}

/// A place as commands write it.
pub fn loc_text(loc: &Loc) -> String {
    loc.to_string()
}

/// Whether the event is a doorbell to stop after: the TX write, or the RX write where TX is
/// not rung.
pub(super) fn is_doorbell(m: &Machine, e: &Event, queue: Option<QueueId>) -> bool {
    let EventKind::MmioWrite { engine, offset, .. } = e.kind else { return false };
    let Some(place) = reg::name_at(offset) else { return false };
    let Some((dir, q)) = place.queue else { return false };
    place.name == "drtp_inc"
        && queue.is_none_or(|id| id == QueueId { engine, queue: q })
        && (dir == Dir::Tx || !m.cpu().rings_tx_next())
}

/// Slots that an event touches: queue, direction, first, how many.
fn slots(e: &Event) -> Vec<(QueueId, Dir, u64, u64)> {
    let Some(id) = e.queue() else { return Vec::new() };
    let one = |dir, slot| vec![(id, dir, slot, 1)];
    match e.kind {
        EventKind::Stage { tx, rx, .. } => {
            vec![(id, Dir::Tx, tx.slot, 1), (id, Dir::Rx, rx.slot, 1)]
        }
        EventKind::CopyIn { dir, slot, count, .. } => vec![(id, dir, slot, count)],
        EventKind::Fetch { dir, slot, .. }
        | EventKind::Fault { dir, slot, .. }
        | EventKind::Stall { dir, slot, .. } => one(dir, slot),
        EventKind::Read { slot, .. } => one(Dir::Tx, slot),
        EventKind::Visible { slot, .. } => one(Dir::Rx, slot),
        EventKind::Retire { tx, rx, .. } => [(Dir::Tx, tx), (Dir::Rx, rx)]
            .into_iter()
            .filter_map(|(dir, slot)| Some((id, dir, slot?, 1)))
            .collect(),
        _ => Vec::new(),
    }
}

/// Whether an event writes or fetches a descriptor that holds the byte at `addr`.
fn moves_slot(m: &Machine, e: &Event, addr: u64) -> bool {
    let Some(q) = e.queue().and_then(|id| m.queue(id)) else { return false };
    let holds = |base: u64, len: u64| addr >= base && addr - base < len;
    let bytes = DESC_BYTES as u64;
    match e.kind {
        EventKind::Stage { tx, rx, .. } => {
            [(Dir::Tx, tx), (Dir::Rx, rx)].into_iter().any(|(dir, taken)| {
                taken.desc.is_some() && holds(q.ring(dir).slot_addr(taken.slot), bytes)
            })
        }
        EventKind::CopyIn { dir, slot, count, .. } => {
            holds(q.ring(dir).slot_addr(slot), count.saturating_mul(bytes))
        }
        EventKind::Fetch { dir, slot, .. } => holds(q.hw(dir).ring.slot_addr(slot), bytes),
        _ => false,
    }
}

/// Whether an event happens at a place. A batch is touched by each of its events.
pub fn touches(s: &Session, m: &Machine, e: &Event, loc: &Loc) -> bool {
    match loc {
        Loc::Slots { queue, dir, first, last } => {
            let Ok(id) = queue_of(s, queue) else { return false };
            slots(e).iter().any(|&(q, d, slot, n)| {
                q == id && d == *dir && slot <= *last && slot.saturating_add(n) > *first
            })
        }
        Loc::Batch(n) => e.batch == *n,
        Loc::Addr(a) => {
            let data = e.kind.access();
            data.is_some_and(|(addr, len, _)| *a >= addr && *a - addr < len) || moves_slot(m, e, *a)
        }
        Loc::Marker => matches!(e.kind, EventKind::Visible { addr, len: 4, .. }
            if m.memory.read_u32(addr) == MARKER),
        Loc::Doorbell => is_doorbell(m, e, None),
        Loc::Fault => matches!(e.kind, EventKind::Fault { .. }),
        Loc::Event(n) => e.n == *n,
    }
}

impl Session {
    /// Whether a stop matches, leaving its count of hits aside.
    fn matches(&self, stop: &Stop, m: &Machine, e: &Event) -> Result<bool, Diagnostic> {
        let here = match stop.loc {
            // A batch stops at its first event only.
            Loc::Batch(n) => m.cpu().opened == Some(n),
            _ => touches(self, m, e, &stop.loc),
        };
        if !here {
            return Ok(false);
        }
        let Some(cond) = &stop.cond else { return Ok(true) };
        match eval(self, m, cond) {
            Ok(v) => Ok(v != 0),
            Err(e) if e.is_for_now() => Ok(false),
            Err(e) => Err(e.into_diagnostic()),
        }
    }

    /// Why the session stops at this event, if a stop says so.
    ///
    /// # Errors
    /// A stop's condition stands for nothing (S005) or has no value (S006).
    pub fn stop_at(&self, m: &Machine, e: &Event) -> Result<Option<String>, Diagnostic> {
        for stop in &self.stops {
            if !stop.enabled || e.n <= stop.skip_to || !self.matches(stop, m, e)? {
                continue;
            }
            let text = format!("breakpoint {}, {}", stop.number, stop.text());
            return Ok(Some(text));
        }
        Ok(None)
    }

    /// Counts the hit of the stop at the position, and deletes it where it was for once.
    pub(super) fn forget_once(&mut self) {
        let (m, Some(e)) = (self.machine.clone(), self.machine.last) else { return };
        for i in (0..self.stops.len()).rev() {
            let hit = self.stops[i].enabled
                && e.n > self.stops[i].skip_to
                && self.matches(&self.stops[i], &m, &e).unwrap_or(false);
            if hit {
                self.stops[i].hits += 1;
                if self.stops[i].once {
                    self.stops.remove(i);
                }
            }
        }
    }

    pub(super) fn add_stop(
        &mut self,
        loc: &Loc,
        cond: Option<&Expr>,
        once: bool,
        after: u64,
    ) -> Result<Outcome, Diagnostic> {
        if self.stops.len() >= MAX_STOPS {
            return Err(Diagnostic::new("S003", format!("there are {MAX_STOPS} stops already")));
        }
        self.check_loc(loc)?;
        if let Some(cond) = cond
            && let Err(e) = eval(self, &self.machine, cond)
            && !e.is_for_now()
        {
            return Err(e.into_diagnostic());
        }
        let mut stop = Stop {
            number: self.next_stop,
            loc: loc.clone(),
            cond: cond.cloned(),
            once,
            after,
            enabled: true,
            hits: 0,
            skip_to: 0,
        };
        if after > 0 {
            stop.skip_to = self.nth_hit(&stop, after)?;
        }
        self.next_stop += 1;
        let text = format!("breakpoint {}: {}", stop.number, stop.text());
        self.stops.push(stop);
        Ok(Outcome::say(text))
    }

    /// The event of the n-th hit, counted from the start of the run; the end where there are
    /// fewer.
    fn nth_hit(&mut self, stop: &Stop, n: u64) -> Result<u64, Diagnostic> {
        let mut m = self.timeline.start().clone();
        let interest = Interest::of_stop(self, stop);
        let watch = &mut |_| ControlFlow::Continue(());
        let ask: Question<'_, ()> = &mut |s, _, m, e| Ok(s.matches(stop, m, e)?.then_some(()));
        let mut search = Search { interest: &interest, ask, pace: Pace::new(watch, 0) };
        for _ in 0..n {
            match self.first_hit(&mut m, u64::MAX, &mut search) {
                Ok(Some(_)) => {}
                Err(Ended::Failed(d)) => return Err(*d),
                Ok(None) | Err(Ended::Cancelled(_)) => return Ok(u64::MAX),
            }
        }
        Ok(m.n)
    }

    /// Refuses a place that does not exist.
    fn check_loc(&self, loc: &Loc) -> Result<(), Diagnostic> {
        let Loc::Slots { queue, dir, first, last } = loc else { return Ok(()) };
        let id = queue_of(self, queue).map_err(EvalError::into_diagnostic)?;
        let size = self.program().queue(id).and_then(|q| q.ring(*dir)).map_or(0, |r| r.size);
        if first > last || *last >= size {
            let text = format!("{} is not in a ring of {size} slots", loc_text(loc));
            return Err(Diagnostic::new("S005", text));
        }
        Ok(())
    }

    /// Indices of the stops with these numbers; of all where none is given.
    fn numbered(&self, numbers: &[u64]) -> Result<Vec<usize>, Diagnostic> {
        if numbers.is_empty() {
            return Ok((0..self.stops.len()).collect());
        }
        let find = |n: &u64| {
            self.stops.iter().position(|s| s.number == *n).ok_or_else(|| {
                Diagnostic::new("S005", format!("no breakpoint {n}")).help("see `info breakpoints`")
            })
        };
        numbers.iter().map(find).collect()
    }

    /// What was done with the stops at these indices, by their numbers.
    fn named(&self, which: &[usize], done: &str) -> Outcome {
        let numbers: Vec<String> =
            which.iter().map(|i| self.stops[*i].number.to_string()).collect();
        Outcome::say(match numbers.as_slice() {
            [] => "there are no breakpoints".to_owned(),
            [one] => format!("breakpoint {one} {done}"),
            many => format!("breakpoints {} {done}", many.join(", ")),
        })
    }

    pub(super) fn delete_stops(&mut self, numbers: &[u64]) -> Result<Outcome, Diagnostic> {
        let mut which = self.numbered(numbers)?;
        which.sort_unstable();
        which.dedup();
        let said = self.named(&which, "deleted");
        for i in which.iter().rev() {
            self.stops.remove(*i);
        }
        Ok(said)
    }

    pub(super) fn enable_stops(
        &mut self,
        numbers: &[u64],
        on: bool,
    ) -> Result<Outcome, Diagnostic> {
        let which = self.numbered(numbers)?;
        for i in &which {
            self.stops[*i].enabled = on;
        }
        Ok(self.named(&which, if on { "enabled" } else { "disabled" }))
    }
}
