//! The end of a run. That nothing comes after the newest event shows only when the next one is
//! looked for, and that look may find something: a sequencer gives a wait up, and does nothing
//! more. What is found so belongs to the newest event. A state that is closed tells of it; in
//! everything else it is the state after that event, since an edit there may make the run go on.

use super::machine::{Finding, Machine};
use crate::engine::program::Program;
use imbl::{OrdMap, Vector};

/// What had been found before a state was closed.
#[derive(Debug, Clone)]
pub struct Closed {
    pub(super) findings: Vector<Finding>,
    pub(super) counts: OrdMap<&'static str, u64>,
}

impl Machine {
    /// Adds what is found in looking for the next event, where there is none. Costs a step on a
    /// copy of the state.
    pub fn close(&mut self, p: &Program) {
        if self.closed.is_some() {
            return;
        }
        let mut next = self.clone();
        if next.step(p).is_none() {
            let findings = std::mem::replace(&mut self.findings, next.findings);
            let counts = std::mem::replace(&mut self.finding_counts, next.finding_counts);
            self.closed = Some(Box::new(Closed { findings, counts }));
        }
    }

    /// Takes back what closing added: the run may go on.
    pub(super) fn open(&mut self) {
        if let Some(was) = self.closed.take() {
            self.findings = was.findings;
            self.finding_counts = was.counts;
        }
    }

    /// What was found up to the newest event, without what only its being the last one shows.
    pub fn findings_so_far(&self) -> &Vector<Finding> {
        self.closed.as_ref().map_or(&self.findings, |c| &c.findings)
    }

    /// Whether its being the last event showed something more.
    pub fn closing_found(&self) -> bool {
        self.closed.as_ref().is_some_and(|c| c.counts != self.finding_counts)
    }

    /// An event was looked for and there is none: what was found in that, all behind the first
    /// `before` findings, belongs to the newest event.
    pub(super) fn nothing_came(&mut self, before: usize) {
        self.n -= 1;
        for k in before..self.findings.len() {
            if let Some(d) = self.findings.get_mut(k) {
                d.place.event = Some(self.n);
            }
        }
    }
}
