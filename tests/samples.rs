//! Every sample program: opens, runs to its end and back, finds what it is there to show.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod back_and_forth;

use dmadbg::engine::ring::{EventKind, Ret, machine};
use dmadbg::load::{self, LoadOptions, asm, container, disasm};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-programs")
}

/// Codes that each sample shows; a sample that is not here fails the test.
const SHOWS: &[(&str, &[&str])] = &[
    ("authored-concat.dma", &[]),
    ("chain.dma", &[]),
    ("copy-1m.dma", &[]),
    ("copy-4k.dma", &[]),
    ("double-buffer.dma", &[]),
    ("memset.dma", &[]),
    ("no-doorbell.dma", &["R002", "R015"]),
    ("race.dma", &[]),
    ("ring-full.dma", &["R015", "R017"]),
    ("three-queues.dma", &[]),
    ("timeout.dma", &["R002", "R015", "R016"]),
    ("wrap.dma", &[]),
];

fn samples() -> Vec<(String, load::Loaded)> {
    opened(".dma")
}

fn modules() -> Vec<(String, load::Loaded)> {
    opened(".bir")
}

/// What no sample has: an instruction that waits for what nobody does.
fn waits_for_ever() -> (String, load::Loaded) {
    let text = std::fs::read_to_string(folder().join("semaphores.bir")).unwrap();
    let text = text.replace("wait(sem 2 >= 1 from I-2)", "wait(sem 2 >= 2 from I-2)");
    let blob = dmadbg::engine::program::Blob::from_vec(text.into_bytes());
    let loaded = load::load_bytes("waits.bir", blob, &LoadOptions::default()).unwrap();
    ("waits.bir".to_owned(), loaded)
}

fn opened(suffix: &str) -> Vec<(String, load::Loaded)> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.ends_with(suffix))
        .collect();
    names.sort();
    let open = |n: &String| {
        load::open(&[folder().join(n)], &LoadOptions::default())
            .unwrap_or_else(|r| panic!("{n}: {r:?}"))
    };
    names.iter().map(|n| (n.clone(), open(n))).collect()
}

#[test]
fn every_sample_shows_what_it_is_there_for() {
    let all = samples();
    let names: Vec<&str> = all.iter().map(|s| s.0.as_str()).collect();
    assert_eq!(names, SHOWS.iter().map(|s| s.0).collect::<Vec<_>>());
    for ((name, loaded), (_, codes)) in all.iter().zip(SHOWS) {
        assert!(loaded.report.is_empty(), "{name}: {:?}", loaded.report);
        let done = machine::run(loaded.program.as_ref().unwrap(), |_, _| true);
        let found: BTreeSet<&str> = done.machine.findings.iter().map(|d| d.code).collect();
        assert_eq!(found, codes.iter().copied().collect(), "{name}");
        let text = &loaded.source.as_ref().unwrap().text;
        assert!(text.lines().nth(1).unwrap().starts_with("; "), "{name} says what it teaches");
    }
}

#[test]
fn every_sample_steps_to_its_end_and_back_to_event_0() {
    for (name, loaded) in samples() {
        let n = back_and_forth::check(loaded.program.as_ref().unwrap());
        assert!(n > 50, "{name}: {n} states");
    }
}

#[test]
fn every_sample_is_the_same_as_image_and_as_text() {
    for (name, loaded) in samples() {
        let p = Arc::unwrap_or_clone(loaded.program.unwrap());
        let image = container::write(&p).unwrap();
        let blob = dmadbg::engine::program::Blob::from_vec(image.clone());
        let (back, _) = container::read(&blob).unwrap();
        assert_eq!(back, p, "{name}");
        assert_eq!(container::write(&back).unwrap(), image, "{name}");
        let text = disasm::disassemble(&p).unwrap().text;
        assert_eq!(asm::assemble(&text).unwrap().program, p, "{name}");
    }
}

#[test]
fn the_ring_wraps_and_the_phase_changes_in_the_wrap_sample() {
    let all = samples();
    let p = all.iter().find(|s| s.0 == "wrap.dma").unwrap().1.program.clone().unwrap();
    let mut phases = BTreeSet::new();
    machine::run(&p, |_, e| {
        if let EventKind::Stage { tx, ret: Ret::OK, .. } = e.kind {
            phases.insert(tx.ring_id);
        }
        true
    });
    assert_eq!(phases.into_iter().collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn the_copies_arrive() {
    for (name, loaded) in samples().into_iter().filter(|s| s.0.starts_with("copy-")) {
        let p = loaded.program.unwrap();
        let m = machine::run(&p, |_, _| true).machine;
        let find = |n: &str| p.regions.iter().find(|r| r.name == n).unwrap();
        let (from, to) = (find("buffer"), find("hbm"));
        let (mut a, mut b) = (vec![0; from.len as usize], vec![0; from.len as usize]);
        m.memory.read(from.base, &mut a);
        m.memory.read(to.base, &mut b);
        assert!(a == b, "{name}");
    }
}

#[test]
fn queues_of_several_engines_work_at_once() {
    let all = samples();
    let p = all.iter().find(|s| s.0 == "three-queues.dma").unwrap().1.program.clone().unwrap();
    let done = machine::run(&p, |_, _| true);
    for (q, tx, rx) in [(0, 3, 3), (1, 3, 3), (2, 3, 2)] {
        let hw = done.machine.queues[q].hw;
        assert_eq!((hw[0].retired, hw[1].retired), (tx, rx), "queue {q}");
    }
    let (mut a, mut b) = ([0; 64], [0; 64]);
    done.machine.memory.read(0x4000_400d_3000, &mut a);
    done.machine.memory.read(0x1008_0000, &mut b);
    assert_eq!(a, b, "the symbolic source is resolved");
    assert_ne!(a, [0; 64]);
}

/// The page on JSON, as it says of events: the keys that every line may have, and those of each kind.
fn documented_keys(page: &str) -> (BTreeSet<String>, BTreeMap<String, BTreeSet<String>>) {
    let section = page.split("\n## Events\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let words = |text: &str| -> BTreeSet<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let (head, rest) = section.split_once("| `kind` | keys |").unwrap();
    let mut kinds = BTreeMap::new();
    for row in rest.lines().filter(|l| l.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [names, keys] = cells.as_slice() else { panic!("{row}") };
        words(names).into_iter().for_each(|n| drop(kinds.insert(n, words(keys))));
    }
    (words(head), kinds)
}

#[test]
fn the_page_on_json_lists_every_key_of_every_kind_of_event() {
    let (common, kinds) = documented_keys(include_str!("../docs/json.md"));
    fn check(v: &serde_json::Value, may: &dyn Fn(&str) -> bool) {
        for (key, value) in v.as_object().unwrap() {
            assert!(may(key), "`{key}` of {v}");
            if value.is_object() {
                check(value, may);
            }
        }
    }
    let mut agents = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let all = samples().into_iter().chain(modules()).chain([waits_for_ever()]);
    for (name, p) in all.map(|(name, loaded)| (name, loaded.program.unwrap())) {
        machine::run(&p, |_, e| {
            let v = dmadbg::engine::ring::json::event_json(&p, e);
            let of_kind = kinds.get(e.kind.name()).unwrap_or_else(|| panic!("{name}: {v}"));
            check(&v, &|key| common.contains(key) || of_kind.contains(key));
            for (key, value) in v.as_object().unwrap() {
                // Numbers that stand for "none" are not for others to know.
                assert_ne!(value.as_u64(), Some(u64::from(u32::MAX)), "{name}: {key} of {v}");
            }
            assert!(common.contains(v["agent"].as_str().unwrap()), "{v}");
            agents.insert(v["agent"].as_str().unwrap().to_owned());
            seen.insert(e.kind.name());
            true
        });
    }
    assert_eq!(agents.len(), 3, "{agents:?}");
    for kind in ["inst", "inst_done", "blocked", "patch", "sem_wait", "sem_update"] {
        assert!(seen.contains(kind), "no sample has {kind}: {seen:?}");
    }
}

#[test]
fn an_event_of_an_instruction_says_its_name_and_its_line() {
    let (_, loaded) = modules().into_iter().find(|m| m.0 == "copy.bir").unwrap();
    let text = std::fs::read_to_string(folder().join("copy.bir")).unwrap();
    let p = loaded.program.unwrap();
    let (mut of_file, mut added) = (0, 0);
    machine::run(&p, |_, e| {
        let v = dmadbg::engine::ring::json::event_json(&p, e);
        let Some(inst) = v.get("inst") else { return true };
        let name = v["inst_name"].as_str().unwrap();
        if inst.is_null() {
            assert!(name.starts_with("terminator_") && v.get("line").is_none(), "{v}");
            added += 1;
        } else {
            let line = text.lines().nth(v["line"].as_u64().unwrap() as usize - 1).unwrap();
            assert!(line.contains(&format!("%{name} = ")), "{v}: {line}");
            of_file += 1;
        }
        true
    });
    assert!(of_file > 0 && added > 0, "{of_file} {added}");
}
