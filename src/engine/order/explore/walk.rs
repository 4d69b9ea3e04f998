//! Every order of a small program, but for orders that differ only in events that commute.
//!
//! An event that conflicts with nothing that is still to come is made to happen at once: whatever
//! follows it follows it in every order that matters. Where no such event is left every one that
//! may happen is tried in turn. States that were met before are not looked at again.

use super::graph::{self, Graph, timeout};
use super::observe::{Break, Calm, Named, Watcher};
use super::{Budget, Found, Proof, Verdict, holds};
use crate::engine::order::step::Step;
use crate::engine::program::Program;
use crate::engine::ring::digest::digest;
use crate::engine::ring::loose::Choice;
use crate::engine::ring::{Agent, Machine};
use crate::engine::schedule::{CpuAct, EngineAct, Hold, Moment};
use crate::limits::{MAX_EXPLORE_NODES, MAX_EXPLORE_STATES};
use crate::udma::{Dir, count_of};
use imbl::{OrdSet, Vector};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// A run that is being chosen.
#[derive(Clone)]
struct Run {
    m: Machine,
    watcher: Watcher,
    done: OrdSet<Moment>,
    path: Vector<Moment>,
    waits: usize,
}

/// Where a run can go no further by itself.
enum Stand {
    /// Something shows that the calm order does not.
    Broken,
    /// It is over and showed the same.
    Over,
    /// What is to be chosen from.
    Choose(Vec<Choice>),
    /// It is an order that is not looked at: a wait ends in another way than in the calm one.
    Other,
    /// It meets what the calm order does not: a fault, a queue that stands.
    Disturbed,
    /// The budget is spent.
    Spent,
}

struct Walk<'a, 'b> {
    p: &'a Program,
    graph: &'a Graph,
    keep: BTreeSet<u64>,
    budget: &'a mut Budget<'b>,
    seen: HashSet<u64>,
}

/// Walks every order.
pub(super) fn every_order(
    p: &Program,
    calm: &Arc<Calm>,
    doubts: &[(Moment, u32, u64)],
    budget: &mut Budget<'_>,
) -> Verdict {
    let open = |why: &str| Verdict::Open(why.to_owned());
    if p.module.is_some() {
        return open(
            "there are races, no order with one access held back shows anything, and the orders \
             of sequencers are not walked",
        );
    }
    if calm.disturbed {
        return open("the calm run meets a fault or a stall: its orders are not walked");
    }
    let doubtful = doubts.iter().map(|d| d.0).collect();
    let Some(graph) = graph::graph(p, doubtful, MAX_EXPLORE_NODES) else {
        return Verdict::Open(format!(
            "there are races, no order with one access held back shows anything, and the run has \
             more than {MAX_EXPLORE_NODES} accesses, too many to walk every order"
        ));
    };
    let store = |x: &Moment| match x {
        Moment::Cpu { agent: Agent::Host, act: CpuAct::Store, n } => Some(*n),
        _ => None,
    };
    let keep = graph.partners.keys().filter_map(store).collect();
    let mut walk = Walk { p, graph: &graph, keep, budget, seen: HashSet::new() };
    let path = match walk.walk(calm) {
        Ok(None) => {
            return Verdict::Proved(Proof::EveryOrder { states: walk.seen.len() as u64 });
        }
        Ok(Some(path)) => path,
        Err(why) => return Verdict::Open(why),
    };
    match made_of(p, calm, &graph, &path, walk.budget) {
        Some(found) => Verdict::Broken(Box::new(found)),
        None => open("an order that breaks it was found, but no list of holds that leads to it"),
    }
}

impl Walk<'_, '_> {
    /// The events of an order that breaks the program; nothing where none does.
    fn walk(&mut self, calm: &Arc<Calm>) -> Result<Option<Vector<Moment>>, String> {
        let first = Run {
            m: Machine::to_choose(self.p, self.keep.iter().copied()),
            watcher: Watcher::new(self.p, calm.clone()),
            done: OrdSet::new(),
            path: Vector::new(),
            waits: 0,
        };
        let mut disturbed = false;
        let mut todo = vec![first];
        while let Some(mut run) = todo.pop() {
            match self.advance(&mut run) {
                Stand::Broken => return Ok(Some(run.path)),
                Stand::Over | Stand::Other => {}
                Stand::Disturbed => disturbed = true,
                Stand::Spent => {
                    return Err(format!(
                        "the bound of {} was reached: neither is it proved nor was an \
                         order found",
                        count_of(self.budget.bound.steps, "event")
                    ));
                }
                Stand::Choose(choices) => {
                    if !self.seen.insert(key(&run.m)) {
                        continue;
                    }
                    if self.seen.len() > MAX_EXPLORE_STATES {
                        return Err(format!("more than {MAX_EXPLORE_STATES} states"));
                    }
                    for choice in choices.into_iter().rev() {
                        let mut next = run.clone();
                        match self.make(&mut next, choice) {
                            Some(true) => return Ok(Some(next.path)),
                            _ => todo.push(next),
                        }
                    }
                }
            }
        }
        if disturbed {
            return Err("an order meets a fault or a stall that the calm one does not".to_owned());
        }
        Ok(None)
    }

    /// Goes on as long as something may happen that commutes with all that is to come.
    fn advance(&mut self, run: &mut Run) -> Stand {
        loop {
            let times_out = run.watcher.times_out(run.waits);
            let choices = run.m.choices(self.p, times_out);
            if run.m.faults() > 0 || run.m.queues.iter().any(|q| q.stalled.is_some()) {
                return Stand::Disturbed;
            }
            if choices.is_empty() {
                return self.over(run, times_out);
            }
            let free = choices.iter().find(|c| {
                self.moment(run, **c).is_none_or(|x| {
                    let with = self.graph.partners.get(&x);
                    with.into_iter().flatten().all(|o| run.done.contains(o))
                })
            });
            let Some(choice) = free else { return Stand::Choose(choices) };
            if !self.budget.spend() {
                return Stand::Spent;
            }
            if self.make(run, *choice) == Some(true) {
                return Stand::Broken;
            }
        }
    }

    fn over(&self, run: &mut Run, times_out: bool) -> Stand {
        if run.m.host.poll.is_some() {
            if !times_out {
                run.path.push_back(run.m.next_poll());
            }
            return if times_out { Stand::Other } else { Stand::Broken };
        }
        match run.watcher.end(&run.m) {
            Some(Break::OtherEnd { .. }) => Stand::Broken,
            _ => Stand::Over,
        }
    }

    /// The name of a choice; nothing for one that touches nothing that others do.
    fn moment(&self, run: &Run, choice: Choice) -> Option<Moment> {
        match choice {
            Choice::Write(i, k) => {
                let queue = run.m.queues.get(i)?.id();
                Some(Moment::Engine { queue, dir: Dir::Rx, k, act: EngineAct::Write })
            }
            Choice::Next(i) => run.m.next_access(i),
            Choice::Land(n) => Some(Moment::Cpu { agent: Agent::Host, act: CpuAct::Store, n }),
            Choice::Host => {
                run.m.host.poll?;
                Some(if run.watcher.times_out(run.waits) {
                    timeout(run.waits as u64)
                } else {
                    run.m.next_poll()
                })
            }
        }
    }

    /// Makes a choice; whether it shows something, nothing where it told of no event.
    fn make(&mut self, run: &mut Run, choice: Choice) -> Option<bool> {
        let mut names: Vec<Moment> = Vec::new();
        let by_itself = matches!(choice, Choice::Land(_))
            || matches!(choice, Choice::Host) && run.m.host.poll.is_some();
        names.extend(self.moment(run, choice).filter(|_| by_itself));
        let step = run.m.choose(self.p, choice)?;
        if holds::ended(&run.m, &step.event).is_some() {
            run.waits += 1;
        }
        let (all, found) = run.watcher.event(&run.m, &step.event);
        let later = |x: &Named| match x.moment {
            Some(Moment::Cpu { agent: Agent::Host, act: CpuAct::Store, n }) => {
                matches!(x.step, Step::Store { .. }) && self.keep.contains(&n)
            }
            _ => false,
        };
        names.extend(all.iter().filter(|x| !later(x)).filter_map(|x| x.moment));
        names.dedup();
        for x in names {
            run.done.insert(x);
            if self.graph.partners.contains_key(&x) {
                run.path.push_back(x);
            }
        }
        Some(found.is_some())
    }
}

/// What the rest of a run hangs on.
fn key(m: &Machine) -> u64 {
    digest(&(&m.memory, &m.queues, &m.host, &m.loose, &m.regs, m.now_ns))
}

/// The smallest list of holds that leads to what a path shows.
fn made_of(
    p: &Program,
    calm: &Arc<Calm>,
    graph: &Graph,
    path: &Vector<Moment>,
    budget: &mut Budget<'_>,
) -> Option<Found> {
    let mut inverted = Vec::new();
    let mut all = Vec::new();
    let mut done: BTreeSet<Moment> = BTreeSet::new();
    let is_wait = |x: &Moment| matches!(x, Moment::Cpu { n, .. } if n >> 63 != 0);
    for x in path {
        done.insert(*x);
        let partners = graph.partners.get(x).into_iter().flatten();
        for y in partners.filter(|y| !done.contains(y) && !is_wait(y)) {
            if is_wait(x) {
                continue;
            }
            let hold = Hold { what: *y, until: *x };
            all.push(hold);
            if graph.place.get(y) < graph.place.get(x) {
                inverted.push(hold);
            }
        }
    }
    holds::shrink(p, calm, inverted, budget).or_else(|| holds::shrink(p, calm, all, budget))
}
