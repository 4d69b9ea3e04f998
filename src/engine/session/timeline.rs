//! The run as a line of events: checkpoints, and going anywhere on it.
//!
//! A checkpoint is a copy of the state; memory, findings and the lists of a queue are shared
//! between copies, so one costs a few hundred bytes a queue, and a copy of the whole line costs
//! nothing. Checkpoints lie a fixed number of events apart; when there are too many every second
//! one goes and the distance doubles. Going to an event costs at most that distance, whichever
//! way.

use crate::engine::program::Program;
use crate::engine::ring::{Event, Machine, Step};
use crate::limits::{MAX_CHECKPOINT_QUEUES, MAX_CHECKPOINTS};
use imbl::OrdMap;
use std::sync::Arc;

/// Events between checkpoints at first.
const FIRST_DISTANCE: u64 = 64;

/// The run of one program.
#[derive(Debug, Clone)]
pub struct Timeline {
    program: Arc<Program>,
    start: Machine,
    checkpoints: OrdMap<u64, Machine>,
    distance: u64,
    end: Option<u64>,
}

impl Timeline {
    /// The line of a program, nothing of it run yet.
    pub fn new(program: Arc<Program>) -> Timeline {
        let start = Machine::new(&program);
        Timeline { program, start, checkpoints: OrdMap::new(), distance: FIRST_DISTANCE, end: None }
    }

    /// The line of the same program with other edits, which are the same before event `from`:
    /// what is known of the line stays as far as it is true.
    pub fn with_edits(&self, program: Arc<Program>, from: u64) -> Timeline {
        let start = if from == 0 { Machine::new(&program) } else { self.start.clone() };
        let kept = self.checkpoints.range(..from).map(|(n, m)| (*n, m.clone())).collect();
        Timeline { program, start, checkpoints: kept, distance: self.distance, end: None }
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The state at event 0.
    pub fn start(&self) -> &Machine {
        &self.start
    }

    /// The number of the last event, once a run came there.
    pub fn end(&self) -> Option<u64> {
        self.end
    }

    /// Makes the next event of `m` happen and keeps a checkpoint where one is due.
    pub fn step(&mut self, m: &mut Machine) -> Option<Step> {
        let step = m.step(&self.program);
        if step.is_none() {
            // Looking for an event that does not come may leave traces (an idle engine is found
            // idle); the state after the last event is without them.
            self.end = Some(m.n);
            *m = self.replay(m.n);
        } else if m.n.is_multiple_of(self.distance) && !self.checkpoints.contains_key(&m.n) {
            self.checkpoints.insert(m.n, m.clone());
            // A checkpoint costs what its queues cost; of two thousand queues fewer are kept.
            let room = MAX_CHECKPOINT_QUEUES / self.program.queues.len().max(1);
            if self.checkpoints.len() > room.clamp(1, MAX_CHECKPOINTS) {
                self.distance *= 2;
                let distance = self.distance;
                let kept = self.checkpoints.iter().filter(|(n, _)| n.is_multiple_of(distance));
                self.checkpoints = kept.map(|(n, m)| (*n, m.clone())).collect();
            }
        }
        step
    }

    /// The state after event `n`, which exists, from the nearest checkpoint before it.
    fn replay(&self, n: u64) -> Machine {
        let mut m = self.base(n, &self.start);
        while m.n < n && m.step(&self.program).is_some() {}
        m
    }

    /// The newest known state not after event `n`, `near` included.
    pub fn base(&self, n: u64, near: &Machine) -> Machine {
        let kept = self.checkpoints.range(..=n).next_back().map_or(&self.start, |(_, m)| m);
        if near.n <= n && near.n > kept.n { near.clone() } else { kept.clone() }
    }

    /// The state after event `n`, or at the end where the run is shorter.
    pub fn state_at(&mut self, n: u64, near: &Machine) -> Machine {
        let mut m = self.base(n, near);
        while m.n < n && self.step(&mut m).is_some() {}
        m
    }

    /// The events `from..to`, as far as the run has them.
    pub fn events(&mut self, from: u64, to: u64, near: &Machine) -> Vec<Event> {
        let from = from.max(1);
        let mut m = self.state_at(from - 1, near);
        let mut out = Vec::new();
        while m.n + 1 < to {
            let Some(step) = self.step(&mut m) else { break };
            out.push(step.event);
        }
        out
    }

    /// The starts of the stretches that lie before event `n`, newest first: from each the next
    /// one can be reached by running.
    pub fn stretches_before(&self, n: u64) -> Vec<u64> {
        let mut out: Vec<u64> = self.checkpoints.range(..n).rev().map(|(n, _)| *n).collect();
        out.push(0);
        out
    }
}
