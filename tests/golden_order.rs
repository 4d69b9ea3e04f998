//! Races of the recorded ring runs: exactly those that the rules of order leave open, under
//! every reading.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[allow(dead_code)]
mod golden_replay;
mod golden_support;

use dmadbg::diag::Severity;
use dmadbg::engine::order::{
    Act, DmbReading, Missing, Race, RaceKind, ReadingSet, Readings, SowReading, check,
};
use dmadbg::engine::program::Program;
use golden_replay::Replay;
use golden_support::{Compared, golden, load_json, races};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The host's side of a race and what it is about.
type About = (String, RaceKind);
/// What races with which slots: the engine's acts by slot.
type Found = BTreeMap<About, BTreeSet<(Act, u64)>>;

/// The side that is the host's, in words that do not depend on event numbers: which batch's poll,
/// or which seeding of which marker word.
fn host_side(p: &Program, r: &Race) -> String {
    let marker = p.queues[0].marker_area;
    let side = [r.first, r.second].into_iter().find(|s| matches!(s.act, Act::Store | Act::Poll));
    let side = side.expect("a race of one queue with itself");
    // Both words are four bytes; the host's store covers one of them.
    let word = match side.addr.wrapping_sub(marker) {
        0 => "source",
        4 => "polled",
        _ => "elsewhere",
    };
    // The poll after which a word is armed again comes before that store.
    let before = r.second.act == Act::Store;
    match (side.act, side.batch, word, before) {
        (Act::Poll, batch, _, _) => format!("poll of batch {batch}"),
        (Act::Store, _, "source", false) => "seed of the source word".into(),
        (Act::Store, _, "polled", false) => "seed of the polled word".into(),
        (Act::Store, _, "source", true) => "re-arm of the source word".into(),
        (Act::Store, _, "polled", true) => "re-arm of the polled word".into(),
        _ => panic!("{side}"),
    }
}

fn found(p: &Program, races: &[Race]) -> Found {
    let mut out = Found::new();
    for r in races {
        let engine = [r.first, r.second];
        let engine = engine.iter().find(|s| !matches!(s.act, Act::Store | Act::Poll)).unwrap();
        let slot = (engine.act, engine.slot.unwrap().index);
        assert!(out.entry((host_side(p, r), r.kind)).or_default().insert(slot), "{slot:?} twice");
    }
    out
}

/// What `v3_timeout` leaves open: slot 1's copy of the marker is on its way while both words are
/// seeded again, and may be what the second poll sees.
fn late_marker() -> Found {
    use RaceKind::*;
    let list = [
        ("seed of the source word", ReadAfterWrite, (Act::Read, 1)),
        ("seed of the polled word", WriteAfterWrite, (Act::Write, 1)),
        ("poll of batch 2", MarkerOvertakes, (Act::Write, 2)),
        ("re-arm of the source word", WriteAfterRead, (Act::Read, 3)),
        ("re-arm of the polled word", WriteAfterWrite, (Act::Write, 3)),
    ];
    list.into_iter().map(|(side, kind, slot)| ((side.into(), kind), [slot].into())).collect()
}

/// The expected findings of a run under a reading; nothing where another wait than that of
/// `v3_timeout` runs out.
fn expected(run: &Value, r: Readings) -> Option<Found> {
    if run["name"] == "v3_timeout" {
        return Some(late_marker());
    }
    if races::runs_out(run) {
        return None;
    }
    let reading = races::Reading {
        dmb_entry: r.dmb == DmbReading::Entry,
        sow_self: r.sow == SowReading::SelfOnly,
    };
    let overtaken = races::batches(run).into_iter().zip(1u64..).map(|(batch, n)| {
        let slots = batch.overtaken(reading).into_iter().map(|s| (Act::Write, s));
        ((format!("poll of batch {n}"), RaceKind::MarkerOvertakes), slots.collect())
    });
    Some(overtaken.filter(|f: &(About, BTreeSet<_>)| !f.1.is_empty()).collect())
}

fn replays() -> Option<Vec<(Value, Replay)>> {
    let dir = golden()?;
    let index = load_json("rings/index.json")?;
    let runs = index["runs"].as_array().unwrap();
    Some(runs.iter().map(|run| (run.clone(), Replay::new(run, &dir.join("rings")))).collect())
}

#[test]
fn golden_ring_runs_race_exactly_where_the_rules_leave_it_open() {
    let Some(replays) = replays() else { return };
    let mut n = Compared::new();
    for (run, replay) in &replays {
        let name = &run["name"];
        for r in Readings::ALL {
            let Some(expected) = expected(run, r) else { continue };
            let done = check(replay.program(), r);
            assert_eq!(done.stopped, None, "{name}");
            assert_eq!((done.more, done.too_early), (0, None), "{name}");
            let got = found(replay.program(), &done.races);
            assert_eq!(got, expected, "{name} under {r}");
            n.one();
        }
    }
    n.finish("ring runs under a reading");
}

#[test]
fn golden_findings_say_under_which_readings_they_hold() {
    let Some(replays) = replays() else { return };
    let mut n = Compared::new();
    for (run, replay) in &replays {
        let (p, name) = (replay.program(), &run["name"]);
        if expected(run, Readings::STRICT).is_none() {
            continue;
        }
        for race in check(p, Readings::STRICT).races {
            let about = found(p, std::slice::from_ref(&race));
            let holds = |r| {
                let all = expected(run, r).unwrap_or_default();
                about.iter().all(|(k, slots)| all.get(k).is_some_and(|s| slots.is_subset(s)))
            };
            let loose = holds(Readings::default());
            let severity = if loose { Severity::Error } else { Severity::Note };
            assert_eq!(race.severity(), severity, "{name}");
            for r in Readings::ALL {
                assert_eq!(race.holds.contains(r), holds(r), "{name} {r}");
            }
            let d = race.diagnostic(replay.program());
            assert!(d.message.ends_with(race.holds.words()), "{}", d.message);
            assert!(d.help.is_some() && d.place.slot.is_some(), "{d:?}");
            n.one();
        }
    }
    n.finish("findings and their readings");
}

/// The two runs of zero copy differ only in how the last batch is kept in order.
#[test]
fn golden_what_is_missing_is_named() {
    let Some(replays) = replays() else { return };
    let mut n = Compared::new();
    for (run, replay) in &replays {
        let name = run["name"].as_str().unwrap();
        if expected(run, Readings::default()).is_none() {
            continue;
        }
        for r in check(replay.program(), Readings::default()).races {
            let slot = r.slots().next().unwrap().1;
            match (name, r.kind) {
                ("v3_timeout", RaceKind::MarkerOvertakes) => {
                    let Missing::OwnMarker(by) = r.missing else { panic!("{:?}", r.missing) };
                    assert_eq!((slot, by.index), (2, 1));
                }
                ("v3_timeout", _) => assert_eq!(r.missing, Missing::BatchWait),
                _ => assert_eq!(r.missing, Missing::MarkerBarrier, "{name}"),
            }
            assert_eq!(r.holds, ReadingSet::ALL);
            n.one();
        }
    }
    n.finish("missing barriers");
}
