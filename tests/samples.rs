//! Every sample program: opens, runs to its end and back, finds what it is there to show.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod back_and_forth;

use dmadbg::engine::program::Program;
use dmadbg::engine::ring::{EventKind, Ret, machine};
use dmadbg::load::{self, LoadOptions, asm, container, disasm};
use std::collections::BTreeSet;
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
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.ends_with(".dma"))
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
        // What comments allow is no part of the program.
        let directives = Vec::new();
        let p = Program { directives, ..Arc::unwrap_or_clone(loaded.program.unwrap()) };
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

#[test]
fn every_key_of_an_event_is_documented() {
    let docs = include_str!("../docs/json.md");
    fn keys(v: &serde_json::Value, docs: &str) {
        for (key, value) in v.as_object().unwrap() {
            assert!(docs.contains(&format!("`{key}`")), "`{key}` of {v}");
            if value.is_object() {
                keys(value, docs);
            }
        }
    }
    for (_, loaded) in samples() {
        machine::run(&loaded.program.unwrap(), |_, e| {
            let v = dmadbg::engine::ring::json::event_json(e);
            assert!(docs.contains(&format!("`{}`", e.kind.name())), "{v}");
            keys(&v, docs);
            true
        });
    }
}
