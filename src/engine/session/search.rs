//! Searching the line of events for one that answers a question, forwards and backwards, past
//! all that cannot matter (`docs/timeline.md`, "Searching").

use super::interest::{Interest, Look};
use super::span::Span;
use super::{Progress, Session};
use crate::diag::Diagnostic;
use crate::engine::ring::leap::PAIR_EVENTS;
use crate::engine::ring::{Event, Machine, Memory, Phase};
use crate::limits::{REPORT_WORK, SEARCH_LEAF_EVENTS, SEARCH_PARTS};
use std::ops::ControlFlow;

/// Told of the progress of a long run; can cancel it.
pub type Watch<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// The state before an event, as far as a question may need it.
#[derive(Debug, Clone)]
pub struct Prior {
    /// The phase.
    pub phase: Option<Phase>,
    /// Batches that timed out.
    pub timeouts: u64,
    /// Memory, where the question asks what changes.
    pub memory: Option<Memory>,
}

impl Prior {
    /// Of this state, with its memory or without.
    pub fn of(m: &Machine, memory: bool) -> Prior {
        let memory = memory.then(|| m.memory.clone());
        Prior { phase: m.phase(), timeouts: m.timeouts(), memory }
    }
}

/// The answer of a question about an event: what it is, where it is one that was looked for.
pub type Answer<T> = Result<Option<T>, Diagnostic>;
/// A question about an event: the session, what was before, the state after it, the event.
pub type Question<'a, T> = &'a mut dyn FnMut(&Session, &Prior, &Machine, &Event) -> Answer<T>;

/// Why a search ended without an answer.
#[derive(Debug)]
pub enum Ended {
    /// It was cancelled, in this state.
    Cancelled(Box<Machine>),
    /// The question could not be answered.
    Failed(Box<Diagnostic>),
}

impl From<Diagnostic> for Ended {
    fn from(d: Diagnostic) -> Ended {
        Ended::Failed(Box::new(d))
    }
}

/// An event that answers: the state after it and what the answer is.
#[derive(Debug, Clone)]
pub struct Hit<T> {
    /// The state.
    pub machine: Machine,
    /// The answer.
    pub answer: T,
}

/// Does with an answer what is to be done; says whether that is all.
type Sink<'a, T> = &'a mut dyn FnMut(Hit<T>) -> ControlFlow<()>;

/// A search under way.
pub(super) struct Search<'a, T> {
    pub interest: &'a Interest,
    pub ask: Question<'a, T>,
    /// The question needs the memory before an event.
    pub memory: bool,
    pub pace: Pace<'a>,
}

/// Counts work and tells of it now and then.
pub(super) struct Pace<'a> {
    watch: Watch<'a>,
    from: u64,
    work: u64,
    /// It was broken off at an event that answers: the search ends after that answer.
    late: bool,
}

impl<'a> Pace<'a> {
    pub fn new(watch: Watch<'a>, from: u64) -> Pace<'a> {
        Pace { watch, from, work: 0, late: false }
    }

    /// Some work led to event `n`.
    pub fn worked(&mut self, n: u64, work: u64) -> ControlFlow<()> {
        let before = self.work;
        self.work += work;
        if before / REPORT_WORK == self.work / REPORT_WORK {
            return ControlFlow::Continue(());
        }
        self.tell(n)
    }

    /// Tells that event `n` is reached, and asks whether to go on.
    fn tell(&mut self, n: u64) -> ControlFlow<()> {
        (self.watch)(Progress { event: n, from: self.from })
    }
}

/// How far the next leap may go, by how the ones before fared.
struct Reach {
    /// No farther than this.
    events: u64,
    /// Before this event something may matter: it is approached by halves.
    matters: u64,
    /// No leap is tried before this event.
    plain_to: u64,
    /// Leaps taken back in a row, longer ones and shortest ones.
    long: usize,
    short: u32,
}

/// By how many bits the next leap is shorter, after so many that were taken back in a row.
const SHORTER: [u32; 4] = [1, 3, 6, 12];

impl Reach {
    fn new() -> Reach {
        Reach { events: u64::MAX, matters: 0, plain_to: 0, long: 0, short: 0 }
    }

    fn end(&self, n: u64) -> u64 {
        let half = match self.matters.checked_sub(n) {
            Some(left) if left > 0 => (left / 2).max(PAIR_EVENTS),
            _ => u64::MAX,
        };
        n.saturating_add(self.events.min(half))
    }

    fn leapt(&mut self) {
        self.events = self.events.saturating_mul(4);
        (self.long, self.short) = (0, 0);
    }

    /// A leap from event `n` passed over `events` of which one may matter.
    fn took_back(&mut self, n: u64, events: u64) {
        self.matters = n + events;
        if events > PAIR_EVENTS {
            let bits = SHORTER.get(self.long).copied().unwrap_or(12);
            self.events = (events >> bits).max(PAIR_EVENTS);
            self.long += 1;
        } else {
            self.events = PAIR_EVENTS;
            self.plain_to = n + (PAIR_EVENTS << self.short.min(6));
            self.short += 1;
        }
    }
}

impl Session {
    /// Looks for the nearest event after the position, or before it, that answers the question;
    /// the position stays. Events that `interest` leaves out are not asked about.
    ///
    /// # Errors
    /// The question could not be answered, or `watch` cancelled the search.
    pub fn search<T>(
        &mut self,
        back: bool,
        interest: &Interest,
        watch: Watch<'_>,
        ask: Question<'_, T>,
    ) -> Result<Option<Hit<T>>, Ended> {
        let here = self.machine.clone();
        let mut search = Search { interest, ask, memory: false, pace: Pace::new(watch, here.n) };
        if !back {
            let mut m = here;
            return self.first_hit(&mut m, u64::MAX, &mut search);
        }
        let mut found = None;
        self.each_back(&mut search, &mut |hit| {
            found = Some(hit);
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// The first hit after `m`, up to event `end`; `m` is where the search got to.
    pub(super) fn first_hit<T>(
        &mut self,
        m: &mut Machine,
        end: u64,
        search: &mut Search<'_, T>,
    ) -> Result<Option<Hit<T>>, Ended> {
        if search.pace.late {
            return Err(Ended::Cancelled(Box::new(m.clone())));
        }
        let leaps = !search.interest.is_every();
        let from = m.n;
        let places = if leaps { search.interest.places(self) } else { Vec::new() };
        let mut reach = Reach::new();
        // The checkpoint up to which the stretch is known to matter.
        let mut looked = 0;
        while m.n < end {
            if leaps && m.n >= looked {
                let Some(next) = self.timeline.next_after(m.n).filter(|c| c.machine.n <= end)
                else {
                    looked = u64::MAX;
                    continue;
                };
                let look = Look { session: self, start: m, end: &next.machine, span: &next.span };
                if search.interest.may(look) {
                    looked = next.machine.n;
                } else {
                    *m = next.machine.clone();
                    self.worked(search, m, 1)?;
                    continue;
                }
            }
            if leaps
                && m.n >= reach.plain_to
                && self.try_leap(m, (end, &places), search, &mut reach)?
            {
                continue;
            }
            let prior = Prior::of(m, search.memory);
            let Some(step) = self.timeline.step(m) else { return self.last_hit(from, m, search) };
            let answer = (search.ask)(self, &prior, m, &step.event);
            if let Some(answer) = answer? {
                search.pace.late = search.pace.worked(m.n, 1).is_break();
                return Ok(Some(Hit { machine: m.clone(), answer }));
            }
            self.worked(search, m, 1)?;
        }
        Ok(None)
    }

    /// The run is at its end and no event of this search answered: the last one may, by what is
    /// found there only since it is the last.
    fn last_hit<T>(
        &mut self,
        from: u64,
        m: &Machine,
        search: &mut Search<'_, T>,
    ) -> Result<Option<Hit<T>>, Ended> {
        let Some(e) = m.last.filter(|_| from < m.n && m.closing_found()) else { return Ok(None) };
        let start = self.timeline.start().clone();
        let before = self.timeline.state_at(m.n - 1, &start);
        let prior = Prior::of(&before, search.memory);
        let answer = (search.ask)(self, &prior, m, &e)?;
        Ok(answer.map(|answer| Hit { machine: m.clone(), answer }))
    }

    /// Leaps as far as nothing matters; whether it could.
    fn try_leap<T>(
        &mut self,
        m: &mut Machine,
        (end, places): (u64, &[u64]),
        search: &mut Search<'_, T>,
        reach: &mut Reach,
    ) -> Result<bool, Ended> {
        if !m.may_leap(self.timeline.program()) {
            return Ok(false);
        }
        // Up to where a place that is asked about is most likely left alone.
        let near = places.iter().filter_map(|at| m.untouched_to(*at)).min();
        let end = near.map_or(end, |n| end.min(n));
        if end <= m.n {
            return Ok(false);
        }
        let start = m.clone();
        let Some(leap) = self.timeline.leap(m, end.min(reach.end(m.n))) else { return Ok(false) };
        let span = Span::of_leap(&leap);
        let look = Look { session: self, start: &start, end: m, span: &span };
        if search.interest.may(look) {
            reach.took_back(start.n, m.n - start.n);
            *m = start;
            return Ok(m.n >= reach.plain_to);
        }
        self.timeline.leapt(start.n, &leap, m);
        reach.leapt();
        self.worked(search, m, leap.cost)?;
        Ok(true)
    }

    fn worked<T>(&self, search: &mut Search<'_, T>, m: &Machine, work: u64) -> Result<(), Ended> {
        if search.pace.worked(m.n, work).is_break() {
            return Err(Ended::Cancelled(Box::new(m.clone())));
        }
        Ok(())
    }

    /// Gives the hits before the position to `sink`, the newest first.
    pub(super) fn each_back<T>(
        &mut self,
        search: &mut Search<'_, T>,
        sink: Sink<'_, T>,
    ) -> Result<(), Ended> {
        let from = self.machine.n;
        let mut end = from.saturating_sub(1);
        if search.pace.tell(from).is_break() {
            return Err(Ended::Cancelled(Box::new(self.machine.clone())));
        }
        while end > 0 {
            // The stretch that ends at `end` begins at the checkpoint before.
            let before = self.timeline.newest_until(end - 1);
            let start = before.as_ref().map_or(self.timeline.start(), |c| &c.machine);
            let after = self.timeline.next_after(start.n);
            let (upto, span) = match &after {
                Some(c) => (&c.machine, &c.span),
                // Beyond the last checkpoint the position is the end that is known.
                None => (&self.machine, self.timeline.newest_span()),
            };
            let may = search.interest.may(Look { session: self, start, end: upto, span });
            let next = start.n;
            if may {
                let start = start.clone();
                if self.stretch_back(start, end, search, sink)?.is_break() {
                    return Ok(());
                }
            }
            if search.pace.worked(next, 1).is_break() {
                return Err(Ended::Cancelled(Box::new(self.machine.clone())));
            }
            end = next;
        }
        Ok(())
    }

    /// Gives the hits after `start` up to event `end` to `sink`, the newest first.
    fn stretch_back<T>(
        &mut self,
        start: Machine,
        end: u64,
        search: &mut Search<'_, T>,
        sink: Sink<'_, T>,
    ) -> Result<ControlFlow<()>, Ended> {
        let mut m = start;
        let Some(first) = self.first_hit(&mut m, end, search)? else {
            return Ok(ControlFlow::Continue(()));
        };
        if end - m.n <= SEARCH_LEAF_EVENTS {
            let mut hits = vec![first];
            while let Some(hit) = self.first_hit(&mut m, end, search)? {
                hits.push(hit);
            }
            for hit in hits.into_iter().rev() {
                if sink(hit).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            return Ok(ControlFlow::Continue(()));
        }
        // Too long to look at one by one: states in between, and the newest part first.
        let from = m.n;
        let bound = |k| from + (end - from) / SEARCH_PARTS * k;
        let mut parts = vec![m];
        for k in 1..SEARCH_PARTS {
            let mut m = parts.last().unwrap_or(&first.machine).clone();
            let pace = &mut search.pace;
            let ran = self.timeline.run_to(&mut m, bound(k), &mut |m, work| pace.worked(m.n, work));
            if ran.is_break() {
                return Err(Ended::Cancelled(Box::new(m)));
            }
            parts.push(m);
        }
        let mut end = end;
        for part in parts.into_iter().rev() {
            let next = part.n;
            if self.stretch_back(part, end, search, sink)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            end = next;
        }
        Ok(sink(first))
    }
}
