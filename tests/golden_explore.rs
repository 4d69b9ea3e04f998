//! The explorer on the recorded ring runs: with their barriers no order breaks a batch, without
//! one there is an order that shows the marker before the data, and the barrier that fixes it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[allow(dead_code)]
mod golden_replay;
mod golden_support;

use dmadbg::engine::order::explore::{
    Bound, Break, Explored, FixAnswer, Found, Proof, Verdict, explore,
};
use dmadbg::engine::order::{Checker, Readings, check};
use dmadbg::engine::program::{Program, QueueId};
use dmadbg::engine::ring::{Agent, EventKind, Machine, machine};
use dmadbg::engine::schedule::{BarrierBit, BarrierEdit, Moment};
use dmadbg::udma::{Dir, Generation, View};
use golden_replay::Replay;
use golden_support::{Compared, golden, load_json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::Instant;

fn replays() -> Option<Vec<(String, Replay)>> {
    let dir = golden()?;
    let index = load_json("rings/index.json")?;
    let runs = index["runs"].as_array().unwrap();
    let named = |run: &serde_json::Value| {
        (run["name"].as_str().unwrap().to_owned(), Replay::new(run, &dir.join("rings")))
    };
    Some(runs.iter().map(named).collect())
}

fn look(p: &Program, r: Readings) -> Explored {
    explore(p, r, Bound::default(), &mut |_| ControlFlow::Continue(()))
}

/// Pairs of a batch that is long.
const LONG: usize = 256;

/// A batch of a run: descriptors by count, where its barriers stand, whether a poll saw it.
#[derive(Debug, Default, Clone)]
struct Batch {
    tx: Vec<u64>,
    rx: Vec<u64>,
    barriers: Vec<(BarrierBit, u64)>,
    seen: bool,
}

fn batches(p: &Program) -> BTreeMap<(QueueId, u64), Batch> {
    let mut out: BTreeMap<(QueueId, u64), Batch> = BTreeMap::new();
    let mut counts: BTreeMap<(QueueId, Dir), u64> = BTreeMap::new();
    machine::run(p, |m, e| {
        if let (Agent::Engine(id), EventKind::Fetch { dir, desc, .. }) = (e.agent, e.kind) {
            let k = counts.entry((id, dir)).or_default();
            let batch = out.entry((id, e.batch)).or_default();
            let view = if dir == Dir::Tx { View::Tx } else { View::Rx };
            for b in BarrierBit::ALL.into_iter().filter(|b| b.dir() == dir) {
                if desc.flag(view, b.field()) {
                    batch.barriers.push((b, *k));
                }
            }
            if dir == Dir::Tx {
                batch.tx.push(*k)
            } else {
                batch.rx.push(*k)
            }
            *k += 1;
        }
        if matches!(e.kind, EventKind::Poll { .. }) && m.host.polled == Some(true) {
            for ((_, n), b) in &mut out {
                b.seen |= *n == e.batch;
            }
        }
        true
    });
    out
}

fn edited(p: &Program, edits: Vec<BarrierEdit>) -> Program {
    let mut p = p.clone();
    p.schedule.barriers = edits;
    p
}

/// What is found must be an order that the rules allow and that a run in it shows.
fn holds_up(name: &str, p: &Program, r: Readings, found: &Found) {
    let mut q = p.clone();
    q.schedule = found.schedule.clone();
    let mut checker = Checker::new(&q, r);
    let mut m = Machine::new(&q);
    let mut last = None;
    while m.n < found.event {
        let step = m.step(&q).unwrap();
        checker.event(&m, &step.event);
        last = Some(step.event);
    }
    assert_eq!(checker.finish().too_early, None, "{name}");
    if let Break::Overtaken { late: (Moment::Engine { queue, k, .. }, ..), .. } = found.broken {
        // At the poll that saw the marker its data is not there.
        assert!(matches!(last.unwrap().kind, EventKind::Poll { .. }), "{name}");
        let q = m.queue(queue).unwrap();
        assert!(!q.is_visible(Dir::Rx, k - q.earlier[1]), "{name}");
    }
}

#[test]
fn golden_runs_are_proved_or_broken_as_their_races_say() {
    let Some(replays) = replays() else { return };
    let mut n = Compared::new();
    for (name, replay) in &replays {
        let p = replay.program();
        for r in Readings::ALL {
            let races = check(p, r).races;
            let told = look(p, r);
            assert_eq!(told.races, races, "{name} {r}");
            match told.verdict {
                Verdict::Proved(Proof::NoRace) => assert!(races.is_empty(), "{name} {r}"),
                Verdict::Broken(found) => {
                    assert!(!races.is_empty(), "{name} {r}");
                    holds_up(name, p, r, &found);
                }
                other => panic!("{name} {r}: {other:?}"),
            }
            n.one();
        }
    }
    n.finish("ring runs under a reading");
}

#[test]
fn golden_batches_without_their_barrier_are_broken_and_fixed() {
    let Some(replays) = replays() else { return };
    let mut n = Compared::new();
    let mut kinds: BTreeSet<(Generation, &str)> = BTreeSet::new();
    let mut largest = 0;
    let r = Readings::default();
    for (name, replay) in &replays {
        let p = replay.program();
        let clean = look(p, r);
        for ((queue, number), batch) in batches(p) {
            if batch.barriers.is_empty() || !batch.seen {
                continue;
            }
            // The time grows with the square of a batch: of the long ones the first is enough.
            if batch.tx.len() > LONG && largest > LONG {
                continue;
            }
            let off =
                |&(barrier, k): &(BarrierBit, u64)| BarrierEdit { queue, k, barrier, on: false };
            let without = edited(p, batch.barriers.iter().map(off).collect());
            let began = Instant::now();
            let told = look(&without, r);
            let Verdict::Broken(found) = &told.verdict else { panic!("{name} {number}: {told:?}") };
            holds_up(name, &without, r, found);
            // Runs that are broken as they are may show that first.
            if !matches!(clean.verdict, Verdict::Proved(_)) {
                continue;
            }
            let Break::Overtaken { batch: shown, .. } = found.broken else {
                panic!("{name}: {:?}", found.broken)
            };
            assert_eq!(shown, number, "{name}");
            assert_eq!(found.schedule.holds.len(), 1, "{name}");
            let FixAnswer::One(fix) = &found.fix else { panic!("{name}: {:?}", found.fix) };
            assert!(fix.proved, "{name}: {fix:?}");
            for (barrier, _) in &batch.barriers {
                kinds.insert((p.arch, barrier.field()));
            }
            if batch.tx.len() > largest {
                largest = batch.tx.len();
                println!("{name}: {largest} pairs, {} events, {:?}", told.events, began.elapsed());
            }
            n.one();
        }
    }
    // Those that the driver puts in these runs.
    for kind in [
        (Generation::V2, "write_barrier"),
        (Generation::V2, "dmb"),
        (Generation::V3, "write_barrier"),
    ] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert!(largest > LONG, "{largest}");
    n.finish("batches without their barrier");
}

#[test]
fn golden_batches_are_proved_with_each_kind_of_barrier() {
    let Some(replays) = replays() else { return };
    let mut n = Compared::new();
    let mut kinds: BTreeMap<(Generation, &str), usize> = BTreeMap::new();
    let r = Readings::default();
    for (name, replay) in &replays {
        let p = replay.program();
        if !matches!(look(p, r).verdict, Verdict::Proved(_)) {
            continue;
        }
        for ((queue, _), batch) in batches(p) {
            let (Some(marker), true) = (batch.rx.last(), batch.seen) else { continue };
            let Some(last) = batch.tx.len().checked_sub(2).map(|i| batch.tx[i]) else { continue };
            let edit = |barrier, k, on| BarrierEdit { queue, k, barrier, on };
            let off: Vec<_> = batch.barriers.iter().map(|b| edit(b.0, b.1, false)).collect();
            for (barrier, k) in [
                (BarrierBit::WriteBarrier, last),
                (BarrierBit::Dmb, last),
                (BarrierBit::Sow, *marker),
            ] {
                let mut edits = off.clone();
                edits.retain(|e| (e.barrier, e.k) != (barrier, k));
                edits.push(edit(barrier, k, true));
                let told = look(&edited(p, edits), r);
                assert_eq!(told.verdict, Verdict::Proved(Proof::NoRace), "{name} {barrier:?}");
                let size = kinds.entry((p.arch, barrier.field())).or_default();
                *size = batch.tx.len().max(*size);
                n.one();
            }
        }
    }
    for arch in [Generation::V2, Generation::V3] {
        for barrier in BarrierBit::ALL {
            assert!(kinds.contains_key(&(arch, barrier.field())), "{arch} {barrier:?}: {kinds:?}");
        }
    }
    println!("largest batches: {kinds:?}");
    n.finish("batches under a barrier");
}
