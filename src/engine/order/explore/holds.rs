//! Orders from races: what came first is held back until the other is done.

use super::observe::{Calm, Watcher, act_of, calm};
use super::{Budget, FixAnswer, Found};
use crate::engine::order::race::{Act, Race, RaceKind, Side};
use crate::engine::order::step::Step;
use crate::engine::program::Program;
use crate::engine::ring::Machine;
use crate::engine::schedule::{CpuAct, Hold, Moment};
use crate::limits::MAX_EXPLORE_SIMILAR;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The calm run, with the names of the events that races speak of.
pub(super) struct Names {
    pub calm: Calm,
    by_event: BTreeMap<u64, Vec<(Act, u64, Moment)>>,
    /// Writes of each batch of each queue, by index, to each word: for polls in doubt.
    markers: BTreeMap<(u32, u64), Vec<Moment>>,
}

impl Names {
    /// Runs the program in its calm order.
    pub fn of(p: &Program, wanted: &BTreeSet<u64>) -> Names {
        let mut by_event: BTreeMap<u64, Vec<(Act, u64, Moment)>> = BTreeMap::new();
        let mut markers: BTreeMap<(u32, u64), Vec<Moment>> = BTreeMap::new();
        let calm = Calm::run(p, |_, e, all| {
            for x in all {
                let Some(moment) = x.moment else { continue };
                let addr = match &x.step {
                    Step::Store { addr, .. }
                    | Step::Fetch { addr, .. }
                    | Step::Read { addr, .. } => *addr,
                    Step::Visible { addr, len, queue, batch, .. } => {
                        // The completion pair is the last of its batch.
                        if *len <= 8 {
                            markers.entry((*queue, *batch)).or_default().push(moment);
                        }
                        *addr
                    }
                    Step::Seen { wait, .. } => wait.word.unwrap_or(0),
                    _ => continue,
                };
                if wanted.contains(&e.n) {
                    by_event.entry(e.n).or_default().push((act_of(moment), addr, moment));
                }
            }
        });
        Names { calm, by_event, markers }
    }

    /// The name of a side of a race.
    pub fn side(&self, s: &Side) -> Option<Moment> {
        let all = self.by_event.get(&s.event)?;
        let hit = all.iter().find(|(act, addr, _)| *act == s.act && *addr == s.addr);
        hit.map(|x| x.2)
    }
}

/// What a run in an order shows: the break, and at which event.
pub(super) fn try_order(
    p: &Program,
    calm: &Arc<Calm>,
    budget: &mut Budget<'_>,
) -> Option<(super::Break, u64)> {
    let mut m = Machine::new(p);
    let mut watcher = Watcher::new(p, calm.clone());
    let mut waits = 0;
    while let Some(step) = m.step(p) {
        if !budget.spend() || m.loose.as_ref().is_some_and(|l| l.has_let_go()) {
            return None;
        }
        if let (_, Some(found)) = watcher.event(&m, &step.event) {
            return Some((found, m.n));
        }
        // A wait that ends in another way than in the calm order.
        if let Some(seen) = ended(&m, &step.event) {
            let calm_seen = !watcher.times_out(waits);
            waits += 1;
            if seen != calm_seen {
                return lost(&m, seen).map(|b| (b, m.n));
            }
        }
    }
    watcher.end(&m).map(|b| (b, m.n))
}

/// A wait that ran out although nothing is left that could have ended it well.
fn lost(m: &Machine, seen: bool) -> Option<super::Break> {
    let done = m.queues.iter().all(|q| !q.has_work());
    (!seen && done).then(|| super::Break::Lost { poll: m.next_poll() })
}

/// How a wait of the host ended at an event, if one did.
pub(super) fn ended(m: &Machine, e: &crate::engine::ring::Event) -> Option<bool> {
    use crate::engine::ring::{Agent, EventKind};
    let polls = matches!(e.kind, EventKind::Poll { .. } | EventKind::PollIdle { .. });
    (polls && e.agent == Agent::Host && m.host.poll.is_none())
        .then_some(m.host.polled == Some(true))
}

/// The program under holds.
pub(super) fn under(p: &Program, holds: Vec<Hold>) -> Program {
    let mut p = calm(p);
    p.schedule.holds = holds;
    p
}

/// Tries for each race the order in which its second access comes first; the best of the orders
/// that break the program is the one that shows it soonest.
pub(super) fn search(
    p: &Program,
    calm: &Arc<Calm>,
    names: &Names,
    (races, doubts): (&[Race], &[(Moment, u32, u64)]),
    budget: &mut Budget<'_>,
) -> Option<Found> {
    let mut candidates: Vec<(Hold, Option<Race>)> = Vec::new();
    // Races of one kind with one event mostly show the same: a few of them are tried.
    let mut similar: BTreeMap<(RaceKind, u64), usize> = BTreeMap::new();
    for race in races {
        let n = similar.entry((race.kind, race.second.event)).or_default();
        *n += 1;
        let (Some(what), Some(until)) = (names.side(&race.first), names.side(&race.second)) else {
            continue;
        };
        if *n <= MAX_EXPLORE_SIMILAR {
            candidates.push((Hold { what, until }, Some(*race)));
        }
    }
    for (poll, queue, batch) in doubts {
        let markers = names.markers.get(&(*queue, *batch)).into_iter().flatten();
        candidates.extend(markers.map(|w| (Hold { what: *w, until: *poll }, None)));
    }
    let mut best: Option<Found> = None;
    // Of those the first has held back most by the time that it shows.
    let mut shown: BTreeSet<(RaceKind, u64)> = BTreeSet::new();
    for (hold, race) in candidates {
        let like = race.map(|r| (r.kind, r.second.event));
        if like.is_some_and(|l| shown.contains(&l)) {
            continue;
        }
        if budget.is_spent() {
            break;
        }
        let order = under(p, vec![hold]);
        let Some((broken, event)) = try_order(&order, calm, budget) else { continue };
        shown.extend(like);
        if best.as_ref().is_none_or(|b| event < b.event) {
            let schedule = order.schedule;
            best = Some(Found { broken, schedule, event, race, fix: FixAnswer::NotSought });
        }
    }
    best
}

/// Makes an order out of pairs of events that are to happen one before the other, the smallest
/// that still breaks the program: no hold can be left out of it.
pub(super) fn shrink(
    p: &Program,
    calm: &Arc<Calm>,
    pairs: Vec<Hold>,
    budget: &mut Budget<'_>,
) -> Option<Found> {
    let holds: Vec<Hold> = pairs.into_iter().filter(|h| !is_doorbell(h.what)).collect();
    let found = |holds: &[Hold], budget: &mut Budget<'_>| {
        let order = under(p, holds.to_vec());
        try_order(&order, calm, budget).map(|(broken, event)| (broken, event, order.schedule))
    };
    let mut best = found(&holds, budget)?;
    let mut kept = holds;
    let mut at = 0;
    while at < kept.len() && !budget.is_spent() {
        let mut less = kept.clone();
        less.remove(at);
        match found(&less, budget) {
            Some(better) => {
                best = better;
                kept = less;
            }
            None => at += 1,
        }
    }
    let (broken, event, schedule) = best;
    Some(Found { broken, schedule, event, race: None, fix: FixAnswer::NotSought })
}

fn is_doorbell(x: Moment) -> bool {
    matches!(x, Moment::Cpu { act: CpuAct::Doorbell, .. })
}
