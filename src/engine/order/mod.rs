//! Happens-before over a run of the ring model: which accesses of a byte nothing orders.
//!
//! The rules are those of `docs/order.md` (all MODEL). A run is told in steps ([`step`]); the
//! rules of one queue ([`queue`]) say for each event what must come before it; what an agent
//! knows of others is kept as counts of chains ([`past`]); of every byte the accesses that a
//! later one may race with are kept (`bytes`). Each event is looked at once.

mod bytes;
pub mod explore;
mod lane;
pub mod past;
pub mod queue;
pub mod race;
pub mod readings;
mod report;
pub(in crate::engine) mod semaphores;
pub mod step;
mod table;
mod told;
mod turns;

pub use race::{Act, Missing, Race, RaceKind, Side};
pub use readings::{DmbReading, ReadingSet, Readings, SowReading};
pub use step::{Poster, Step, Teller};

#[cfg(test)]
mod tests;

use super::program::{Program, QueueId};
use super::ring::{Event, Machine, machine};
use crate::diag::{Diagnostic, Severity};
use crate::limits::{MAX_ORDER_ACCESSES, MAX_ORDER_SPANS, MAX_ORDER_WORK};
use crate::udma::{Dir, View};
use lane::Lane;
use semaphores::Semaphores;
use std::collections::BTreeMap;

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// The races, by the events at which they came about.
    pub races: Vec<Race>,
    /// Pairs beyond the first [`MAX_DIAGNOSTICS`](crate::limits::MAX_DIAGNOSTICS) of a reading, which are only counted.
    pub more: u64,
    /// Why the check stopped before the run did, if so.
    pub stopped: Option<Diagnostic>,
    /// The first event that came before something that the rules put before it; a calm run has
    /// none.
    pub too_early: Option<u64>,
}

impl Checked {
    /// All of it as findings; of a module's program those of two instructions are one.
    pub fn diagnostics(&self, p: &Program) -> Vec<Diagnostic> {
        let mut out: Vec<Diagnostic> = match &p.module {
            Some(run) => told::diagnostics(p, run, &self.races),
            None => self.races.iter().map(|r| r.diagnostic(p)).collect(),
        };
        if self.more > 0 {
            let text = format!("{} more pairs race and are not listed", self.more);
            out.push(Diagnostic::new("R036", text));
        }
        out.extend(self.stopped.clone());
        if p.aside.made_up {
            // When such a host waits is not known.
            return out.into_iter().map(|d| d.severity(Severity::Note)).collect();
        }
        out
    }
}

/// What a check may hold and do, over all lanes.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    accesses: usize,
    spans: usize,
    work: u64,
}

/// A bound that was met: how many of what there may be at most.
type Bound = (u64, &'static str);

/// What helps against a bound.
const WAY_OUT: &str = "check a shorter part: a program of fewer operations, or a script that ends sooner; `--deny R036` makes an unfinished check an error";

/// Looks for races while a run is made, event by event.
#[derive(Debug, Clone)]
pub struct Checker {
    readings: Readings,
    queues: Vec<QueueId>,
    teller: Teller,
    /// One until a barrier comes that readings tell apart; at most four.
    lanes: Vec<Lane>,
    bounds: Bounds,
    /// The event at which a bound was met, and which.
    stopped: Option<(u64, Bound)>,
}

impl Checker {
    /// Before the first event of a run of `p`. Races that hold under `readings` will be told,
    /// each with all the readings under which it holds.
    pub fn new(p: &Program, readings: Readings) -> Checker {
        let bounds =
            Bounds { accesses: MAX_ORDER_ACCESSES, spans: MAX_ORDER_SPANS, work: MAX_ORDER_WORK };
        let semaphores = p.module.as_ref().map(|m| Semaphores::of(&m.exec));
        let lanes = vec![Lane::new(p, semaphores.unwrap_or_default())];
        let queues = p.queues.iter().map(|q| q.id).collect();
        Checker { readings, queues, teller: Teller::new(p), lanes, bounds, stopped: None }
    }

    /// Takes an event of the ring model; `m` is the state after it.
    pub fn event(&mut self, m: &Machine, e: &Event) {
        let mut steps = Vec::new();
        self.teller.steps(m, e, &mut |s| steps.push(s));
        for step in &steps {
            self.step(e.n, step);
        }
    }

    /// Takes a step that happened at event `n`; for what the ring model's events do not show,
    /// such as the edges that semaphores make.
    pub fn step(&mut self, n: u64, step: &Step) {
        if self.stopped.is_some() {
            return;
        }
        // A lane that becomes two doubles what is held: that must have room.
        self.stopped = match split_by(step) {
            Some(yes) if self.lanes.iter().any(|l| l.is_split_by(yes)) => {
                let beyond = self.beyond(2);
                if beyond.is_none() {
                    split(&mut self.lanes, yes);
                }
                beyond.map(|why| (n, why))
            }
            _ => None,
        };
        if self.stopped.is_some() {
            return;
        }
        for lane in &mut self.lanes {
            lane.step(n, step);
        }
        self.stopped = self.beyond(1).map(|why| (n, why));
    }

    /// Which bound would be passed by so many times what is held.
    fn beyond(&self, times: usize) -> Option<Bound> {
        let sum = |f: fn(&Lane) -> usize| times * self.lanes.iter().map(f).sum::<usize>();
        if sum(|l| l.table.accesses.len()) > self.bounds.accesses {
            Some((self.bounds.accesses as u64, "accesses"))
        } else if sum(|l| l.bytes.count()) > self.bounds.spans {
            Some((self.bounds.spans as u64, "stretches of memory"))
        } else if self.lanes.iter().map(|l| l.bytes.work).sum::<u64>() > self.bounds.work {
            Some((self.bounds.work, "looks at an earlier access"))
        } else {
            None
        }
    }

    /// How many pairs race so far under one reading.
    pub fn found(&self, readings: Readings) -> u64 {
        let lane = self.lanes.iter().find(|l| l.set.contains(readings));
        lane.map_or(0, |l| l.pairs.list.len() as u64 + l.pairs.more)
    }

    /// The races under one reading whose later access event `n` makes, as far as they are
    /// listed. Under which other readings they hold is not told.
    pub fn closed_at(&self, n: u64, readings: Readings) -> Vec<Race> {
        let Some(lane) = self.lanes.iter().find(|l| l.set.contains(readings)) else {
            return Vec::new();
        };
        let event = |x: u32| lane.table.access(x).event;
        let later = |p: &(u32, u32)| event(p.0).max(event(p.1)) == n;
        let all = lane.pairs.list.iter().filter(|(pair, _)| later(pair));
        all.map(|(pair, shared)| report::race(&self.queues, lane, *pair, *shared)).collect()
    }

    /// Index of a queue in steps.
    pub fn teller(&self) -> &Teller {
        &self.teller
    }

    /// Whether a bound was met and nothing more is looked at.
    pub fn has_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// What was found.
    pub fn finish(self) -> Checked {
        self.so_far(self.readings)
    }

    /// What was found up to the last event that it took, as far as it holds under a reading.
    pub fn so_far(&self, readings: Readings) -> Checked {
        let mut all: BTreeMap<(u32, u32), Race> = BTreeMap::new();
        for lane in &self.lanes {
            for (pair, shared) in &lane.pairs.list {
                let race = report::race(&self.queues, lane, *pair, *shared);
                all.entry(*pair).and_modify(|r| r.holds = r.holds.union(lane.set)).or_insert(race);
            }
        }
        // A lane that left out pairs beyond its bound may lack one that a more generous one has.
        all.values_mut().for_each(|r| r.holds = r.holds.closed());
        let mut races: Vec<Race> =
            all.into_values().filter(|r| r.holds.contains(readings)).collect();
        races.sort_by_key(|r| (r.second.event, r.first.event, r.kind, r.lo));
        let mine = self.lanes.iter().find(|l| l.set.contains(readings));
        let stopped = self.stopped.map(|(n, (most, of))| {
            let text = format!(
                "races are looked for up to event {n} only, what comes after is not checked: the check has room for {most} {of}"
            );
            let mut d = Diagnostic::new("R036", text).help(WAY_OUT);
            d.place.event = Some(n);
            d
        });
        Checked {
            races,
            more: mine.map_or(0, |l| l.pairs.more),
            stopped,
            too_early: mine.and_then(|l| l.too_early),
        }
    }
}

/// What tells readings apart, where a step brings a barrier of which they differ.
fn split_by(step: &Step) -> Option<fn(Readings) -> bool> {
    let Step::Fetch { at: (_, dir, _), desc, .. } = step else { return None };
    match dir {
        Dir::Tx if desc.flag(View::Tx, "dmb") => Some(|r| r.dmb == DmbReading::Full),
        Dir::Rx if desc.flag(View::Rx, "strong_order") => Some(|r| r.sow == SowReading::Through),
        _ => None,
    }
}

/// Lanes that hold both kinds of readings become two.
fn split(lanes: &mut Vec<Lane>, yes: fn(Readings) -> bool) {
    for i in 0..lanes.len() {
        if !lanes[i].is_split_by(yes) {
            continue;
        }
        let (with, without) = lanes[i].set.split(yes);
        lanes.push(lanes[i].only(without));
        lanes[i].keep(with);
    }
}

/// Runs a program to its end and checks the order of its accesses.
pub fn check(p: &Program, readings: Readings) -> Checked {
    let mut checker = Checker::new(p, readings);
    machine::run(p, |m, e| {
        checker.event(m, e);
        !checker.has_stopped()
    });
    checker.finish()
}
