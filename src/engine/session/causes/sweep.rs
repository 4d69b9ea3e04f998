//! Looking along the run without moving: backwards by checkpoints, forwards by running on.
//!
//! Both ask a question at each event, with the state after it; the session stays where it is.

use super::super::{Progress, Session, Watch};
use crate::engine::ring::{Event, Machine};
use std::ops::ControlFlow;

/// Events whose answers are held at once on the way back.
const CHUNK: u64 = 1 << 14;

/// How a look along the run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::session) enum Swept<T> {
    /// The answer, found at this event.
    Found(T, u64),
    /// Nothing: the run begins or ends at this event.
    End(u64),
    /// Nothing up to this event; it was told to look no further.
    Limit(u64),
    /// It was cancelled.
    Cancelled,
}

impl Session {
    /// Asks `note` of the events `from, from - 1, .. 1` and gives its answers to `take`, newest
    /// first, until that says `Break`.
    ///
    /// `note` itself is asked in the order of time, a stretch after the other from the newest to
    /// the oldest, so that it must not depend on what `take` was given.
    pub(in crate::engine::session) fn find_back<N, T>(
        &mut self,
        from: u64,
        watch: Watch<'_>,
        note: &mut dyn FnMut(&Machine, &Event) -> Option<N>,
        take: &mut dyn FnMut(u64, N) -> ControlFlow<T>,
    ) -> Swept<T> {
        let here = self.machine.clone();
        let mut end = from;
        for start in self.timeline.stretches_before(from) {
            let first = self.timeline.state_at(start, &here);
            let mut chunks = vec![first];
            while let Some(m) = chunks.last().filter(|m| m.n + CHUNK < end) {
                let next = self.timeline.state_at(m.n + CHUNK, m);
                let n = next.n;
                if watch(Progress { event: n, from }).is_break() {
                    return Swept::Cancelled;
                }
                if n < end && chunks.last().is_some_and(|m| m.n < n) {
                    chunks.push(next);
                } else {
                    break;
                }
            }
            while let Some(mut m) = chunks.pop() {
                let begin = m.n;
                let mut notes = Vec::new();
                while m.n < end {
                    let Some(step) = self.timeline.step(&mut m) else { break };
                    notes.extend(note(&m, &step.event).map(|answer| (m.n, answer)));
                }
                for (n, answer) in notes.into_iter().rev() {
                    if let ControlFlow::Break(found) = take(n, answer) {
                        return Swept::Found(found, n);
                    }
                }
                end = begin;
                if watch(Progress { event: begin, from }).is_break() {
                    return Swept::Cancelled;
                }
            }
        }
        Swept::End(0)
    }

    /// Asks of the events after `from`, in order, until an answer, the end, or `most` events.
    pub(in crate::engine::session) fn find_forward<T>(
        &mut self,
        from: u64,
        most: u64,
        watch: Watch<'_>,
        ask: &mut dyn FnMut(&Machine, &Event) -> Option<T>,
    ) -> Swept<T> {
        let here = self.machine.clone();
        let mut m = self.timeline.state_at(from, &here);
        while m.n - from.min(m.n) < most {
            let Some(step) = self.timeline.step(&mut m) else { return Swept::End(m.n) };
            if let Some(found) = ask(&m, &step.event) {
                return Swept::Found(found, m.n);
            }
            if m.n.is_multiple_of(CHUNK) && watch(Progress { event: m.n, from }).is_break() {
                return Swept::Cancelled;
            }
        }
        Swept::Limit(m.n)
    }
}
