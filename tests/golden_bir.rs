//! Recorded modules at every stage and on rings: the memory after the run is the recorded one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod golden_support;

use dmadbg::bir::memory::{from_hex, to_hex};
use dmadbg::bir::{Arch, exec, verify};
use dmadbg::diag::{Place, Severity};
use dmadbg::engine::lower::{self, SplitRule, Stage};
use dmadbg::engine::module_run::{self, Initial, Options};
use dmadbg::engine::order::Readings;
use dmadbg::engine::validate::{Reference, validate};
use dmadbg::load::bir::read_json;
use dmadbg::udma::Generation;
use golden_support::{Compared, golden};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Case {
    name: String,
    bytes: Vec<u8>,
    json: Value,
}

fn cases(expect: &str) -> Vec<Case> {
    let Some(dir) = golden() else { return Vec::new() };
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir.join("bir")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let json: Value = serde_json::from_slice(&bytes).unwrap();
        if json["expect"] == expect {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            out.push(Case { name, bytes, json });
        }
    }
    out.sort_by(|a, b| a.name.cmp(&b.name));
    out
}

fn initial(case: &Value) -> Initial {
    let given = case["memory_in"].as_object().unwrap();
    let bytes = |v: &Value| from_hex(v.as_str().unwrap()).unwrap();
    Initial { given: given.iter().map(|(k, v)| (k.clone(), bytes(v))).collect(), file: None }
}

/// The memory that the file wants after the run: outputs, and inputs that stay as they are.
fn wanted(case: &Value) -> Vec<(String, String)> {
    let out = case["memory_out"].as_object().unwrap();
    let kept = case["memory_in"].as_object().unwrap().iter().filter(|(k, _)| !out.contains_key(*k));
    out.iter().chain(kept).map(|(k, v)| (k.clone(), v.as_str().unwrap().to_owned())).collect()
}

/// Parameters under which the memory must be the same: all for small modules, and for large
/// ones those by which their size matters.
fn options(large: bool) -> Vec<lower::Options> {
    const SPLITS: [SplitRule; 3] = [SplitRule::Factor, SplitRule::Greedy, SplitRule::Equal];
    let pieces = |elems, split| {
        let max_desc_elems = Some(elems);
        lower::Options { max_desc_elems, split, ..lower::Options::default() }
    };
    let mut out = vec![lower::Options::default()];
    if large {
        out.extend([(1, 0), (3, 1), (7, 2), (64, 0)].map(|(n, k)| pieces(n, SPLITS[k])));
        return out;
    }
    for elems in [1, 3, 7, 64] {
        out.extend(SPLITS.map(|split| pieces(elems, split)));
    }
    let materialise = lower::Materialise::Static;
    out.push(lower::Options { materialise, ..lower::Options::default() });
    out.push(lower::Options { reuse_block: true, ..lower::Options::default() });
    out.push(lower::Options { max_block_descs: Some(5), ..lower::Options::default() });
    out
}

/// Bytes of a file from which on its module is large.
const LARGE: usize = 20_000;
/// Bytes from which on one element a descriptor is slow to no purpose.
const HUGE: usize = 100_000;

/// What is wrong with a module, and how many stages and runs on rings were judged.
fn judge(case: &Case) -> (Vec<String>, u64) {
    let (mut wrong, mut n) = (Vec::new(), 0);
    let name = &case.name;
    let loaded = read_json(name, &case.bytes).unwrap();
    let module = Arc::new(loaded.module);
    let initial = initial(&case.json);
    let run = exec::Options::default();
    let reference = Reference::new(module.clone(), &initial, &run).unwrap();
    if !reference.complete {
        return (vec![format!("{name}: {:?}", reference.findings)], n);
    }
    for (loc, want) in wanted(&case.json) {
        let got = reference.memory().dump(reference.layout(), &loc).unwrap();
        if to_hex(&got) != want {
            wrong.push(format!("{name}: {loc} differs as loaded"));
        }
    }
    n += 1;
    if case.json["scope"] == "execute" {
        return (wrong, n);
    }
    for (k, opts) in options(case.bytes.len() > LARGE).into_iter().enumerate() {
        if case.bytes.len() > HUGE && opts.max_desc_elems.is_some_and(|m| m < 64) {
            continue;
        }
        let lowered = lower::lower(&module, &opts, Stage::LowerDma);
        for f in lowered.findings().filter(|f| f.diag.severity == Severity::Error) {
            wrong.push(format!("{name} [{k}]: {}", f.diag.message));
        }
        for s in &lowered.snapshots {
            let layout = dmadbg::bir::Layout::new(&s.module);
            for f in verify::verify(&s.module, &layout) {
                if f.diag.severity == Severity::Error {
                    wrong.push(format!("{name} [{k}] {}: {}", s.stage, f.diag.message));
                }
            }
            let verdict = reference.judge(&s.module, &run);
            if !verdict.is_good() {
                wrong.push(format!("{name} [{k}] {}: {}", s.stage, verdict.words()));
            }
            n += 1;
        }
        for arch in [Generation::V2, Generation::V3, Generation::V4] {
            if module.arch.and_then(Arch::generation).is_some_and(|a| a != arch) {
                continue;
            }
            let ring = Options::new(arch);
            let at = |_| Place::default();
            let verdict = match module_run::program(&lowered, &at, &initial, &ring) {
                Ok(p) => reference.judge_rings(&p, Readings::default()),
                Err(e) => {
                    wrong.push(format!("{name} [{k}]: {e:?}"));
                    continue;
                }
            };
            if !verdict.is_good() {
                wrong.push(format!("{name} [{k}] rings {arch}: {}", verdict.words()));
            }
            n += 1;
        }
    }
    (wrong, n)
}

#[test]
fn golden_modules_keep_their_meaning_at_every_stage() {
    let mut cases = cases("ok");
    // The longest first, so that no thread is left alone with one at the end.
    cases.sort_by_key(|c| std::cmp::Reverse(c.bytes.len()));
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut n = Compared::new();
    let mut wrong = Vec::new();
    std::thread::scope(|s| {
        let work = || {
            let mut found = (Vec::new(), 0);
            while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                let (wrong, n) = judge(case);
                found.0.extend(wrong);
                found.1 += n;
            }
            found
        };
        let all: Vec<_> = (0..threads).map(|_| s.spawn(work)).collect();
        for t in all {
            let (found, count) = t.join().unwrap();
            wrong.extend(found);
            (0..count).for_each(|_| n.one());
        }
    });
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    if golden().is_some() {
        n.finish("modules at a stage");
    }
}

/// A module that is wrong is refused by somebody, from the loader to the run.
#[test]
fn golden_wrong_modules_are_refused() {
    let mut n = Compared::new();
    let mut missed = Vec::new();
    for case in cases("error") {
        n.one();
        let Ok(loaded) = read_json(&case.name, &case.bytes) else { continue };
        let module = Arc::new(loaded.module);
        let layout = dmadbg::bir::Layout::new(&module);
        if verify::has_errors(&verify::verify(&module, &layout)) {
            continue;
        }
        let lowered = lower::lower(&module, &lower::Options::default(), Stage::LowerDma);
        if lowered.has_errors() {
            continue;
        }
        let v = validate(&lowered, None, &initial(&case.json), &exec::Options::default());
        if v.is_ok_and(|v| v.first_bad().is_none()) {
            missed.push(case.name);
        }
    }
    assert!(missed.is_empty(), "not refused: {missed:?}");
    if golden().is_some() {
        n.finish("wrong modules");
    }
}
