//! Every order that the rules allow: either none of them breaks a program, or here is one that
//! does, and what would have kept it from happening (`docs/order.md`, "The explorer").
//!
//! Where nothing races there is nothing to look for: all orders show the same. Where something
//! does, each race names the order to try first: the access that came first is held back until
//! the other is done (`holds`). Only where no such order shows anything is every order walked,
//! up to a bound (`walk`). What is found is made small and carries what would fix it ([`fix`]).

pub mod fix;
mod graph;
mod holds;
pub mod observe;
mod seeds;
mod walk;
mod words;

pub use fix::{Fix, FixAnswer};
pub use observe::Break;

use super::race::Race;
use super::readings::Readings;
use super::{Checked, Checker};
use crate::engine::program::Program;
use crate::engine::ring::machine;
use crate::engine::schedule::Schedule;
use crate::limits::DEFAULT_EXPLORE_STEPS;
use std::ops::ControlFlow;
use std::sync::Arc;

/// How much may be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Events of all orders together.
    pub steps: u64,
}

impl Default for Bound {
    fn default() -> Bound {
        Bound { steps: DEFAULT_EXPLORE_STEPS }
    }
}

/// What is left of a bound, and who is told how far it has come.
pub struct Budget<'a> {
    bound: Bound,
    used: u64,
    watch: &'a mut dyn FnMut(u64) -> ControlFlow<()>,
    cancelled: bool,
}

/// Events between two reports of progress.
const REPORT_EVERY: u64 = 1 << 12;

impl<'a> Budget<'a> {
    /// The whole of a bound; `watch` is told how many events were looked at, and can cancel.
    pub fn new(bound: Bound, watch: &'a mut dyn FnMut(u64) -> ControlFlow<()>) -> Budget<'a> {
        Budget { bound, used: 0, watch, cancelled: false }
    }

    /// One event more: whether it may be looked at.
    fn spend(&mut self) -> bool {
        if self.cancelled || self.used >= self.bound.steps {
            return false;
        }
        self.used += 1;
        if self.used.is_multiple_of(REPORT_EVERY) {
            self.cancelled = (self.watch)(self.used).is_break();
        }
        !self.cancelled
    }

    fn is_spent(&self) -> bool {
        self.cancelled || self.used >= self.bound.steps
    }
}

/// Why no order breaks a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Nothing races, so that all orders show the same.
    NoRace,
    /// There are races, and every order was walked.
    EveryOrder {
        /// States that were told apart.
        states: u64,
    },
}

/// An order that breaks a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What it shows.
    pub broken: Break,
    /// The order.
    pub schedule: Schedule,
    /// The event of that order at which it shows.
    pub event: u64,
    /// The race that it comes from, where one alone does.
    pub race: Option<Race>,
    /// What would keep every order from doing so.
    pub fix: FixAnswer,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No allowed order breaks the program.
    Proved(Proof),
    /// One does.
    Broken(Box<Found>),
    /// Neither is known, and why.
    Open(String),
}

/// What was looked at, and the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explored {
    /// The reading of the barriers.
    pub readings: Readings,
    /// The answer.
    pub verdict: Verdict,
    /// Races under that reading; at most as many as a check lists.
    pub races: Vec<Race>,
    /// Events of the calm run.
    pub events: u64,
    /// Events looked at in other orders.
    pub steps: u64,
}

/// Looks at the orders of `p`, its schedule's holds left out and its barriers kept.
pub fn explore(
    p: &Program,
    readings: Readings,
    bound: Bound,
    watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Explored {
    let mut budget = Budget::new(bound, watch);
    let mut p = observe::calm(p);
    p.schedule.readings = readings;
    let (verdict, races, events) = judge(&p, &mut budget);
    let mut out = Explored { readings, verdict, races, events, steps: budget.used };
    if let Verdict::Broken(found) = &mut out.verdict {
        found.fix = fix::find(&p, found, &mut budget);
        out.steps = budget.used;
    }
    out
}

/// The races of the program's calm order, under the reading of its schedule; `None` where the
/// budget ends before.
fn races(p: &Program, budget: &mut Budget<'_>) -> Option<(Checked, u64)> {
    let readings = p.schedule.readings;
    let mut checker = Checker::new(p, readings);
    let mut events = 0;
    let mut goes_on = true;
    machine::run(p, |m, e| {
        checker.event(m, e);
        events = e.n;
        if e.n.is_multiple_of(REPORT_EVERY) {
            goes_on = (budget.watch)(budget.used).is_continue();
        }
        goes_on && !checker.has_stopped()
    });
    budget.cancelled |= !goes_on;
    goes_on.then(|| (checker.finish(), events))
}

fn judge(p: &Program, budget: &mut Budget<'_>) -> (Verdict, Vec<Race>, u64) {
    let Some((checked, events)) = races(p, budget) else {
        return (Verdict::Open("cancelled".to_owned()), Vec::new(), 0);
    };
    let Checked { races, more, stopped, .. } = checked;
    if let Some(d) = stopped {
        return (Verdict::Open(d.message), races, events);
    }
    let doubts = seeds::doubts(p);
    if races.is_empty() && more == 0 && doubts.is_empty() {
        return (Verdict::Proved(Proof::NoRace), races, events);
    }
    let wanted = races.iter().flat_map(|r| [r.first.event, r.second.event]).collect();
    let names = holds::Names::of(p, &wanted);
    let calm = Arc::new(names.calm.clone());
    if let Some((broken, event)) = &calm.broken {
        let found = Found {
            broken: broken.clone(),
            schedule: p.schedule.clone(),
            event: *event,
            race: None,
            fix: FixAnswer::NotSought,
        };
        return (Verdict::Broken(Box::new(found)), races, events);
    }
    let tried = holds::search(p, &calm, &names, (&races, &doubts), budget);
    if let Some(found) = tried {
        return (Verdict::Broken(Box::new(found)), races, events);
    }
    let verdict = if budget.cancelled {
        Verdict::Open("cancelled".to_owned())
    } else if more > 0 {
        Verdict::Open("more races than are listed, and none of those alone breaks it".to_owned())
    } else {
        walk::every_order(p, &calm, &doubts, budget)
    };
    (verdict, races, events)
}
