//! Races of the recorded ring runs: exactly those that the rules of order leave open, under
//! every reading.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[allow(dead_code)]
mod golden_replay;
mod golden_support;

use dmadbg::diag::Severity;
use dmadbg::engine::order::{
    Act, DmbReading, Missing, Race, RaceKind, ReadingSet, Readings, check,
};
use dmadbg::engine::program::Program;
use golden_replay::Replay;
use golden_support::{Compared, golden, load_json};
use std::collections::{BTreeMap, BTreeSet};

/// The host's side of a race and what it is about.
type About = (&'static str, RaceKind);
/// What races with which slots: the engine's acts by slot.
type Found = BTreeMap<About, BTreeSet<(Act, u64)>>;

/// The side that is the host's, in words that do not depend on event numbers: which batch's poll,
/// or which seeding of which marker word.
fn host_side(p: &Program, r: &Race) -> &'static str {
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
        (Act::Poll, 1, _, _) => "poll of batch 1",
        (Act::Poll, 2, _, _) => "poll of batch 2",
        (Act::Store, _, "source", false) => "seed of the source word",
        (Act::Store, _, "polled", false) => "seed of the polled word",
        (Act::Store, _, "source", true) => "re-arm of the source word",
        (Act::Store, _, "polled", true) => "re-arm of the polled word",
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

/// The expected findings of a run under a reading.
fn expected(run: &str, r: Readings) -> Found {
    use RaceKind::*;
    let writes = |slots: &[u64]| slots.iter().map(|s| (Act::Write, *s)).collect();
    let reads = |slots: &[u64]| slots.iter().map(|s| (Act::Read, *s)).collect();
    let entry = r.dmb == DmbReading::Entry;
    let list: Vec<(About, BTreeSet<(Act, u64)>)> = match run {
        // The driver does not order batches before the last.
        "v2_zero_copy_wb" | "v3_zero_copy_sow" => {
            vec![(("poll of batch 1", MarkerOvertakes), writes(&[0, 1, 2]))]
        }
        "v3_timeout" => vec![
            (("seed of the source word", ReadAfterWrite), reads(&[1])),
            (("seed of the polled word", WriteAfterWrite), writes(&[1])),
            (("poll of batch 2", MarkerOvertakes), writes(&[2])),
            (("re-arm of the source word", WriteAfterRead), reads(&[3])),
            (("re-arm of the polled word", WriteAfterWrite), writes(&[3])),
        ],
        "v2_dmb_chain" if entry => vec![(("poll of batch 1", MarkerOvertakes), writes(&[3]))],
        "v2_zero_copy" if entry => vec![
            (("poll of batch 1", MarkerOvertakes), writes(&[31])),
            (("poll of batch 2", MarkerOvertakes), writes(&[37])),
        ],
        _ => Vec::new(),
    };
    list.into_iter().collect()
}

fn replays() -> Option<Vec<(String, Replay)>> {
    let dir = golden()?;
    let index = load_json("rings/index.json")?;
    let runs = index["runs"].as_array().unwrap();
    let named = |run: &serde_json::Value| {
        (run["name"].as_str().unwrap().to_owned(), Replay::new(run, &dir.join("rings")))
    };
    Some(runs.iter().map(named).collect())
}

#[test]
fn golden_ring_runs_race_exactly_where_the_rules_leave_it_open() {
    let Some(replays) = replays() else { return };
    assert_eq!(replays.len(), 20);
    let mut n = Compared::new();
    for (name, replay) in &replays {
        for r in Readings::ALL {
            let done = check(replay.program(), r);
            assert_eq!(done.stopped, None, "{name}");
            assert_eq!((done.more, done.too_early), (0, None), "{name}");
            let got = found(replay.program(), &done.races);
            assert_eq!(got, expected(name, r), "{name} under {r}");
            n.one();
        }
    }
    n.finish("ring runs under a reading");
}

#[test]
fn golden_findings_say_under_which_readings_they_hold() {
    let Some(replays) = replays() else { return };
    let mut n = Compared::new();
    for (name, replay) in &replays {
        for race in check(replay.program(), Readings::STRICT).races {
            let strict = matches!(name.as_str(), "v2_dmb_chain" | "v2_zero_copy");
            let severity = if strict { Severity::Note } else { Severity::Error };
            assert_eq!(race.severity(), severity, "{name}");
            for r in Readings::ALL {
                let holds = !strict || r.dmb == DmbReading::Entry;
                assert_eq!(race.holds.contains(r), holds, "{name} {r}");
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
    for (name, replay) in &replays {
        for r in check(replay.program(), Readings::default()).races {
            let slot = r.slots().next().unwrap().1;
            match (name.as_str(), r.kind) {
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
