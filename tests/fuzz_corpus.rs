//! The fuzz targets without a fuzzer: every file of the corpus, every seed made of the samples,
//! and changes of both, through the same functions that libFuzzer drives; and the memory that
//! reading takes is in proportion to what is read (`docs/fuzzing.md`).
//!
//! `DMADBG_FUZZ_RUNS=100000 cargo test --test fuzz_corpus` makes so many changes for each target.
//! `DMADBG_TARGET=leap` makes them for one alone.
//! `DMADBG_SEEDS=DIR cargo test --test fuzz_corpus` writes the seeds for libFuzzer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
// The allocator that counts.
#![allow(unsafe_code)]

#[path = "../fuzz/targets.rs"]
mod targets;

mod fuzz_support;

use fuzz_support::{Mutator, peak_of, seeds};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use targets::{TARGETS, Target};

/// One at a time: what is allocated is counted for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// A file of the corpus is small, and there are not many of them.
const MAX_FILE_BYTES: usize = 4096;
const MAX_FILES: usize = 64;

/// Changes of each target in a test run; of those that cost more; of the screen.
const RUNS: u64 = 500;
const FEWER: u64 = 150;
const COSTLY: [&str; 4] = ["survey", "search", "moves", "batches"];
const FEW: u64 = 20;

/// The program that is all targets.
const ANY: &str = "any";

/// Longer than any input of this size may take, unoptimised and on a busy machine.
const SLOW: Duration = Duration::from_secs(20);

/// Memory that reading may take for each byte that is read, and at most whatever is read: tables
/// of grammars and names are made once.
const BYTES_PER_BYTE: usize = 256;
const BYTES_ANYWAY: usize = 2 << 20;
/// Targets whose texts may stand for more bytes than they have, within a bound of its own; bytes
/// that grow are copied.
const UNFOLD: [&str; 2] = ["hex", "assembly"];
const BYTES_UNFOLDED: usize = 3 * dmadbg::limits::MAX_EXPANDED_BYTES as usize;

/// All targets, or the one that was asked for.
fn asked_for() -> impl Iterator<Item = (usize, &'static Target)> {
    let only = std::env::var("DMADBG_TARGET").ok();
    TARGETS.iter().enumerate().filter(move |t| only.as_ref().is_none_or(|name| t.1.name == name))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = root().join("corpus").join(target);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|p| (p.display().to_string(), std::fs::read(p).unwrap())).collect()
}

/// Runs a target on an input: the memory that it took, or what went wrong, told with the input.
fn feed(t: &Target, name: &str, bytes: &[u8]) -> Result<usize, String> {
    let begun = Instant::now();
    let mut peak = 0;
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        peak = peak_of(|| (t.body)(bytes));
    }));
    let told = || {
        let to = std::env::temp_dir().join(format!("dmadbg-fuzz-{}", t.name));
        std::fs::write(&to, bytes).unwrap();
        format!("target {}, {name}, {} bytes, kept as {}", t.name, bytes.len(), to.display())
    };
    if done.is_err() {
        return Err(format!("panic: {}", told()));
    }
    if begun.elapsed() > SLOW {
        return Err(format!("{:?}: {}", begun.elapsed(), told()));
    }
    let unfolded = if UNFOLD.contains(&t.name) { BYTES_UNFOLDED } else { 0 };
    if t.reads && peak > BYTES_PER_BYTE * bytes.len() + BYTES_ANYWAY + unfolded {
        return Err(format!("{peak} bytes of memory: {}", told()));
    }
    Ok(peak)
}

#[test]
fn every_target_is_a_program_of_the_fuzzer_and_has_a_corpus() {
    // Seeds take memory, too.
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let page = std::fs::read_to_string(root().join("../docs/fuzzing.md")).unwrap();
    let programs: BTreeSet<String> = std::fs::read_dir(root().join("fuzz_targets"))
        .unwrap()
        .map(|e| e.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let names = TARGETS.iter().map(|t| t.name).chain([ANY]).map(str::to_owned);
    assert_eq!(programs, names.collect::<BTreeSet<String>>());
    for t in TARGETS {
        assert!(manifest.contains(&format!("\nname = \"{}\"\n", t.name)), "{}", t.name);
        assert!(page.contains(&format!("| `{}` |", t.name)), "docs/fuzzing.md: {}", t.name);
        let program =
            std::fs::read_to_string(root().join(format!("fuzz_targets/{}.rs", t.name))).unwrap();
        assert!(program.contains(&format!("run_named(\"{}\"", t.name)), "{program}");
        let files = corpus(t.name);
        assert!(!files.is_empty() && files.len() <= MAX_FILES, "{}: {}", t.name, files.len());
        for (name, bytes) in files {
            assert!(bytes.len() <= MAX_FILE_BYTES, "{name}: {} bytes", bytes.len());
        }
        assert!(!seeds(t.name).is_empty(), "{} has no seeds", t.name);
    }
    targets::run_named("keys", b"<Tab>");
}

#[test]
fn the_corpus_and_the_seeds_pass() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(to) = std::env::var_os("DMADBG_SEEDS") {
        for (_, t) in asked_for() {
            let folder = Path::new(&to).join(t.name);
            std::fs::create_dir_all(&folder).unwrap();
            for (n, bytes) in seeds(t.name).iter().enumerate() {
                std::fs::write(folder.join(format!("seed-{n:03}")), bytes).unwrap();
            }
        }
    }
    let mut wrong = Vec::new();
    for (_, t) in asked_for() {
        for (name, bytes) in corpus(t.name) {
            wrong.extend(feed(t, &name, &bytes).err());
        }
        for (n, bytes) in seeds(t.name).iter().enumerate() {
            wrong.extend(feed(t, &format!("seed {n}"), bytes).err());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_near_the_corpus_passes() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let asked: Option<u64> = std::env::var("DMADBG_FUZZ_RUNS").ok().map(|s| s.parse().unwrap());
    let mut wrong = Vec::new();
    let mut all = 0u64;
    for (which, t) in asked_for() {
        let mut known: Vec<Vec<u8>> = corpus(t.name).into_iter().map(|f| f.1).collect();
        known.extend(seeds(t.name));
        // The same changes every time. A key on the screen costs as much as a file elsewhere.
        let runs = asked.unwrap_or(match t.name {
            "screen" => FEW,
            name if COSTLY.contains(&name) => FEWER,
            _ => RUNS,
        });
        let mut m = Mutator::new(which as u64 + 1);
        let (begun, mut most) = (Instant::now(), (0, 0));
        for n in 1..=runs {
            let bytes = m.change(&known);
            all += 1;
            match feed(t, &format!("change {n}"), &bytes) {
                Ok(peak) => most = most.max((peak, bytes.len())),
                Err(e) => {
                    wrong.push(e);
                    break;
                }
            }
        }
        let took = begun.elapsed();
        println!("{:<12} {runs:>8} changes, {took:?}; {} bytes for {}", t.name, most.0, most.1);
    }
    println!("{all} in all");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
