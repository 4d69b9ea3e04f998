//! Which single barrier would keep every order from breaking the program, where it goes, and the
//! proof that it does.

use super::observe::Calm;
use super::{Break, Budget, Found, Verdict, judge, races};
use crate::engine::order::race::{Missing, Race, RaceKind};
use crate::engine::order::step::Step;
use crate::engine::program::{Program, QueueId};
use crate::engine::schedule::{BarrierBit, BarrierEdit, EngineAct, Moment};
use crate::limits::MAX_FIX_TRIES;
use crate::udma::Dir;
use std::collections::BTreeMap;

/// A barrier that fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fix {
    /// The barrier and its descriptor.
    pub edit: BarrierEdit,
    /// The slot of that descriptor.
    pub slot: u64,
    /// What the descriptor is in its batch.
    pub role: Role,
    /// Races that are left with it, which have nothing to do with what it fixes.
    pub left: usize,
    /// With it no order breaks the program at all.
    pub proved: bool,
}

/// What a descriptor is in its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The last before the completion pair.
    LastData,
    /// Of the completion pair.
    Marker,
    /// Any other.
    Other,
}

impl Role {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Role::LastData => "the batch's last data descriptor",
            Role::Marker => "the batch's marker",
            Role::Other => "a descriptor of the batch",
        }
    }
}

/// What would fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FixAnswer {
    /// Nobody looked for one.
    NotSought,
    /// This barrier.
    One(Fix),
    /// No single barrier, and why or what else is needed.
    NoBarrier(String),
}

/// Descriptors that a barrier may be put on.
#[derive(Debug, Default)]
struct Places {
    queue: Option<QueueId>,
    /// Slots by count, Tx then Rx.
    slots: [BTreeMap<u64, u64>; 2],
    /// The Tx and Rx descriptor of the completion pair.
    marker: [Option<u64>; 2],
}

/// Looks for the barrier.
pub(super) fn find(p: &Program, found: &Found, budget: &mut Budget<'_>) -> FixAnswer {
    if let Some(race) = &found.race
        && !matches!(race.missing, Missing::MarkerBarrier | Missing::Dmb | Missing::OwnMarker(_))
    {
        return FixAnswer::NoBarrier(race.missing.sentence());
    }
    let places = places(p, found);
    let Some(queue) = places.queue else {
        let text = "no barrier orders events of different queues or agents";
        return FixAnswer::NoBarrier(text.to_owned());
    };
    let Some((before, _)) = races(p, budget) else { return FixAnswer::NotSought };
    let others = before.races.iter().filter(|r| !is_about(r, found)).count();
    let calm = Calm::run(p, |_, _, _| {});
    for (tries, (barrier, k, role)) in candidates(p, &places).into_iter().enumerate() {
        if tries >= MAX_FIX_TRIES || budget.is_spent() {
            let text = format!("no barrier was found among the first {tries} placements");
            return FixAnswer::NoBarrier(text);
        }
        let edit = BarrierEdit { queue, k, barrier, on: true };
        let mut changed = p.clone();
        changed.schedule.barriers.push(edit);
        let Some((after, events)) = races(&changed, budget) else { return FixAnswer::NotSought };
        budget.used = budget.used.saturating_add(events / 16);
        let about = after.races.iter().any(|r| is_about(r, found));
        if about || after.races.len() > others || after.stopped.is_some() {
            continue;
        }
        // A bit that makes another operation of the descriptor is no barrier.
        let with = Calm::run(&changed, |_, _, _| {});
        if with.waits != calm.waits || with.disturbed != calm.disturbed {
            continue;
        }
        let proved = matches!(judge(&changed, budget).0, Verdict::Proved(_));
        // Where no race names what is fixed only a proof does.
        if found.race.is_none() && !proved {
            continue;
        }
        let slots = &places.slots[usize::from(barrier.dir() == Dir::Rx)];
        let slot = slots.get(&k).copied().unwrap_or(0);
        return FixAnswer::One(Fix { edit, slot, role, left: after.races.len(), proved });
    }
    let mut text = "no single barrier fixes it".to_owned();
    if let Some(race) = &found.race {
        text = format!("{text}: {}", race.missing.sentence());
    }
    FixAnswer::NoBarrier(text)
}

/// Whether a race is what the fix has to take away: of a marker that overtakes its data all that
/// its poll races with.
fn is_about(race: &Race, found: &Found) -> bool {
    let Some(this) = &found.race else { return true };
    let polls = |r: &Race| {
        [r.first, r.second].into_iter().find(|s| s.act == super::super::Act::Poll).map(|s| s.event)
    };
    match this.kind {
        RaceKind::MarkerOvertakes => race.kind == this.kind && polls(race) == polls(this),
        _ => (race.first.event, race.second.event) == (this.first.event, this.second.event),
    }
}

/// The descriptors between which a barrier can stand.
fn places(p: &Program, found: &Found) -> Places {
    let mut out = Places::default();
    let between = match &found.broken {
        Break::Overtaken { late: (Moment::Engine { queue, .. }, ..), .. } => {
            out.queue = Some(*queue);
            None
        }
        _ => {
            let Some(ends) = ends(found) else { return out };
            out.queue = Some(ends.0);
            Some(ends.1)
        }
    };
    let index = |id: QueueId| p.queues.iter().position(|q| q.id == id).map(|i| i as u32);
    let Some(queue) = out.queue.and_then(index) else { return out };
    let batch = match &found.broken {
        Break::Overtaken { batch, .. } => Some(*batch),
        _ => None,
    };
    Calm::run(p, |_, e, all| {
        for x in all {
            let Some(Moment::Engine { k, .. }) = x.moment else { continue };
            let (of, dir, slot) = match x.step {
                // META carries no barrier.
                Step::Read { len: 0, .. } => continue,
                Step::Read { queue, slot, .. } => (queue, 0, slot),
                Step::Visible { queue, slot, .. } => (queue, 1, slot),
                _ => continue,
            };
            let inside = batch.is_none_or(|b| b == e.batch)
                && between.is_none_or(|(lo, hi)| (lo..=hi).contains(&k));
            if of != queue || !inside || x.padding {
                continue;
            }
            out.slots[dir].insert(k, slot);
        }
    });
    // The completion pair comes last.
    if batch.is_some() {
        out.marker = [0, 1].map(|i| out.slots[i].last_key_value().map(|x| *x.0));
    }
    out
}

/// The queue and the counts of the two events of a single hold, where they are of one queue.
fn ends(found: &Found) -> Option<(QueueId, (u64, u64))> {
    let hold = found.schedule.holds.first()?;
    match (hold.what, hold.until) {
        (
            Moment::Engine { queue: a, k: i, act, .. },
            Moment::Engine { queue: b, k: j, act: other, .. },
        ) if a == b && act != EngineAct::Fetch && other != EngineAct::Fetch => {
            Some((a, (i.min(j), i.max(j))))
        }
        _ => None,
    }
}

/// Barriers that the generation and the driver accept, where drivers put them first.
fn candidates(p: &Program, places: &Places) -> Vec<(BarrierBit, u64, Role)> {
    let allowed = |b: &BarrierBit| p.profile.accepts(b.mode(), p.arch);
    let [tx, rx] = &places.slots;
    let last = places.marker[0].and_then(|m| tx.range(..m).next_back()).map(|x| *x.0);
    let mut out = Vec::new();
    out.extend(last.map(|k| (BarrierBit::WriteBarrier, k, Role::LastData)));
    out.extend(places.marker[1].map(|k| (BarrierBit::Sow, k, Role::Marker)));
    out.extend(last.map(|k| (BarrierBit::Dmb, k, Role::LastData)));
    let role = |dir: usize, k: u64| {
        if places.marker[dir] == Some(k) {
            Role::Marker
        } else if dir == 0 && last == Some(k) {
            Role::LastData
        } else {
            Role::Other
        }
    };
    let mut ks: Vec<u64> = tx.keys().chain(rx.keys()).copied().collect();
    ks.sort_unstable();
    ks.dedup();
    for k in ks.into_iter().rev() {
        for b in BarrierBit::ALL {
            let dir = usize::from(b.dir() == Dir::Rx);
            let next = (b, k, role(dir, k));
            if places.slots[dir].contains_key(&k) && !out.contains(&next) {
                out.push(next);
            }
        }
    }
    out.retain(|c| allowed(&c.0));
    out.truncate(MAX_FIX_TRIES + 1);
    out
}
