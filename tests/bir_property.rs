//! Generated modules at every stage and on rings: nothing that a pass or the authoring of
//! descriptors does changes what is in memory at the end, and nothing races
//! (`docs/validation.md`).
//!
//! `DMADBG_CASES` is how many modules there are, `DMADBG_SEED` the first seed. A failing case
//! tells its seed, and the smallest module with the same fault as text.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod back_and_forth;

use dmadbg::bir::generate::{self, Generated, Rng};
use dmadbg::bir::shrink::shrink;
use dmadbg::bir::{Arch, Finding, Layout, Module, exec, verify};
use dmadbg::diag::{Place, Severity};
use dmadbg::engine::lower::{self, Materialise, SplitRule, Stage};
use dmadbg::engine::module_run::{self, Initial, Options};
use dmadbg::engine::order::Readings;
use dmadbg::engine::ring::Machine;
use dmadbg::engine::session::Session;
use dmadbg::engine::validate::{Reference, Verdict};
use dmadbg::load::bir::{read_json, write_json, write_text};
use dmadbg::load::module::{LoadedModule, ModuleOptions};
use dmadbg::script::parse_command;
use dmadbg::udma::{Generation, Profile};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Modules of a plain test run.
const CASES: u64 = 300;

fn from_env(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(n) => n.parse().unwrap_or_else(|_| panic!("{name}={n} is not a number")),
        Err(_) => otherwise,
    }
}

/// What a module is run with, out of its seed.
#[derive(Debug, Clone)]
struct Case {
    generate: generate::Options,
    lower: lower::Options,
    /// Whether the module says for which generation it is; if not it goes to all.
    says_arch: bool,
    ring_slots: u64,
}

impl Case {
    fn of(seed: u64) -> Case {
        let mut rng = Rng::new(seed ^ 0x0bad_cafe);
        let large = rng.chance(10);
        let generate = generate::Options {
            units: 1 + rng.below(10),
            engines: rng.chance(70),
            large,
            ..generate::Options::default()
        };
        // One row a descriptor is slow to no purpose where there are many.
        let elems: &[Option<u64>] = if large {
            &[None, Some(64), Some(1000)]
        } else {
            &[None, Some(1), Some(2), Some(3), Some(7), Some(64)]
        };
        let lower = lower::Options {
            max_desc_elems: *rng.pick(elems),
            split: *rng.pick(&[SplitRule::Factor, SplitRule::Greedy, SplitRule::Equal]),
            reuse_block: rng.chance(30),
            max_block_descs: *rng.pick(&[None, None, Some(1), Some(2), Some(5), Some(17)]),
            materialise: *rng.pick(&[Materialise::All, Materialise::All, Materialise::Static]),
            mutation: None,
        };
        let says_arch = rng.chance(60);
        let ring_slots = *rng.pick(&[256, 256, 272, 512, 1024]);
        Case { generate, lower, says_arch, ring_slots }
    }

    fn module(&self, seed: u64) -> Generated {
        let mut g = generate::module(seed, &self.generate);
        if !self.says_arch {
            g.module.arch = None;
        }
        g
    }
}

/// Bytes for the locations that a module has (a shrunk one may lack some).
fn initial(layout: &Layout, g: &Generated) -> Initial {
    let fits = |(name, bytes): &&(Arc<str>, Vec<u8>)| {
        layout.location(name).is_some_and(|l| l.bytes() == bytes.len() as u64)
    };
    Initial {
        file: None,
        given: g.memory.iter().filter(fits).map(|(n, b)| (n.to_string(), b.clone())).collect(),
    }
}

/// What is wrong: where, of what kind, and in words.
#[derive(Debug, Clone, PartialEq)]
struct Fault {
    stage: Stage,
    kind: String,
    words: String,
}

#[derive(Default)]
struct Counts {
    stages: AtomicU64,
    rings: AtomicU64,
    refused: AtomicU64,
}

fn fault(stage: Stage, v: &Verdict) -> Fault {
    let kind = match v {
        Verdict::Same => "same".to_owned(),
        Verdict::Failed(f) => format!("failed {}", f.first().map_or("", |f| f.diag.code)),
        Verdict::Differs(_) => "differs".to_owned(),
        Verdict::Races(r) => format!("races {}", r.first().map_or("", |d| d.code)),
    };
    let mut words = v.words();
    match v {
        Verdict::Failed(f) => {
            f.iter().for_each(|f| words += &format!("\n  {:?}: {}", f.at, f.diag.message))
        }
        Verdict::Races(r) => r.iter().take(5).for_each(|d| words += &format!("\n  {}", d.message)),
        Verdict::Differs(d) => words += &format!(" ({:?})", d.inst),
        Verdict::Same => {}
    }
    Fault { stage, kind, words }
}

fn errors(found: &[Finding]) -> Option<String> {
    let all: Vec<String> = found
        .iter()
        .filter(|f| f.diag.severity == Severity::Error)
        .map(|f| format!("{} {:?}: {}", f.diag.code, f.at, f.diag.message))
        .collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Whether a generation refuses something by rule: replication to several destinations before
/// v3.
fn refused(v: &Verdict, arch: Generation) -> bool {
    match v {
        Verdict::Failed(f) => {
            let code = |c: &str| f.iter().any(|f| f.diag.code == c);
            arch == Generation::V2 && code("D062")
        }
        _ => false,
    }
}

/// Everything that a module goes through. `Ok` where it is unsound before it is lowered, which
/// only happens while shrinking.
fn check(module: &Module, case: &Case, g: &Generated, counts: &Counts) -> Result<bool, Fault> {
    let module = Arc::new(module.clone());
    let layout = Layout::new(&module);
    if verify::has_errors(&verify::verify(&module, &layout)) {
        return Ok(false);
    }
    let initial = initial(&layout, g);
    let run = exec::Options::default();
    let Ok(reference) = Reference::new(module.clone(), &initial, &run) else { return Ok(false) };
    if !reference.complete {
        return Ok(false);
    }
    let lowered = lower::lower(&module, &case.lower, Stage::LowerDma);
    for s in &lowered.snapshots {
        let layout = Layout::new(&s.module);
        let found = [s.findings.clone(), verify::verify(&s.module, &layout)];
        for (f, kind) in found.iter().zip(["lowering", "verify"]) {
            if let Some(words) = errors(f) {
                // Overlapping sides that no order of pieces and no scratch location can keep.
                if words.starts_with("L022") {
                    counts.refused.fetch_add(1, Ordering::Relaxed);
                    return Ok(true);
                }
                let kind = format!("{kind} {}", &words[..4]);
                return Err(Fault { stage: s.stage, kind, words });
            }
        }
        let v = reference.judge(&s.module, &run);
        if !v.is_good() {
            return Err(fault(s.stage, &v));
        }
        // What is written down can be read, at every stage.
        let json = write_json(&s.module);
        let back = read_json("m", json.as_bytes());
        if !back.as_ref().is_ok_and(|b| write_json(&b.module) == json) {
            let words = back.err().map_or("another module".into(), |d| format!("{:?}", d.first()));
            return Err(Fault { stage: s.stage, kind: "read back".into(), words });
        }
        counts.stages.fetch_add(1, Ordering::Relaxed);
    }
    for arch in [Generation::V2, Generation::V3, Generation::V4] {
        if module.arch.and_then(Arch::generation).is_some_and(|a| a != arch) {
            continue;
        }
        let ring = Options { ring_slots: case.ring_slots, ..Options::new(arch) };
        let p = match module_run::program(&lowered, &|_| Place::default(), &initial, &ring) {
            Ok(p) => p,
            Err(e) => {
                let words = e.iter().map(|d| d.message.clone()).collect();
                return Err(Fault { stage: Stage::Rings, kind: "program".into(), words });
            }
        };
        let v = reference.judge_rings(&p, Readings::default());
        if refused(&v, arch) {
            counts.refused.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        if !v.is_good() {
            let mut f = fault(Stage::Rings, &v);
            f.words = format!("{arch}: {}", f.words);
            return Err(f);
        }
        counts.rings.fetch_add(1, Ordering::Relaxed);
    }
    Ok(true)
}

fn tell(seed: u64, case: &Case, g: &Generated, found: &Fault) -> String {
    let none = Counts::default();
    let mut last = found.clone();
    // Shrinking would take away what orders a module.
    if found.kind.starts_with("races") {
        let text = write_text(&g.module).text;
        return format!("seed {seed}: {}: {}\n{case:?}\n{text}", found.kind, found.words);
    }
    let small = shrink(&g.module, &mut |m| match check(m, case, g, &none) {
        Err(f) if (f.stage, &f.kind) == (found.stage, &found.kind) => {
            last = f;
            true
        }
        _ => false,
    });
    format!(
        "seed {seed}: {}: {}: {}\n{case:?}\nshrunk: {}\n{}",
        found.stage,
        found.kind,
        found.words,
        last.words,
        write_text(&small).text
    )
}

/// Every seed on as many threads as there are cores.
fn each_seed(seeds: std::ops::Range<u64>, f: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(seeds.start);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    f(seed);
                }
            });
        }
    });
}

#[test]
fn generated_modules_keep_their_meaning_at_every_stage_and_on_rings() {
    let first = from_env("DMADBG_SEED", 0);
    let cases = from_env("DMADBG_CASES", CASES);
    let counts = Counts::default();
    let wrong = Mutex::new(Vec::new());
    each_seed(first..first + cases, |seed| {
        let case = Case::of(seed);
        let g = case.module(seed);
        match check(&g.module, &case, &g, &counts) {
            Ok(true) => {}
            Ok(false) => wrong.lock().unwrap().push(format!("seed {seed}: unsound as generated")),
            Err(found) => {
                if wrong.lock().unwrap().len() < 8 {
                    let text = tell(seed, &case, &g, &found);
                    wrong.lock().unwrap().push(text);
                } else {
                    let text = format!("seed {seed}: {} {}", found.stage, found.kind);
                    wrong.lock().unwrap().push(text);
                }
            }
        }
    });
    let wrong = wrong.into_inner().unwrap();
    let n = |a: &AtomicU64| a.load(Ordering::Relaxed);
    let (stages, rings, refused) = (n(&counts.stages), n(&counts.rings), n(&counts.refused));
    println!("{cases} modules: {stages} stages, {rings} runs on rings, {refused} refused");
    assert!(wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(stages >= 5 * cases && rings >= cases && refused < rings / 4);
}

/// A program on rings of a seed that is small enough to be gone through twice.
fn small(seed: u64) -> Option<dmadbg::engine::program::Program> {
    let mut case = Case::of(seed);
    case.generate.large = false;
    case.generate.units = 1 + seed % 4;
    let g = case.module(seed);
    let initial = initial(&Layout::new(&g.module), &g);
    let lowered = lower::lower(&g.module, &case.lower, Stage::LowerDma);
    let arch = g.module.arch.and_then(Arch::generation).unwrap_or(Generation::V3);
    let ring = Options { ring_slots: case.ring_slots, ..Options::new(arch) };
    module_run::program(&lowered, &|_| Place::default(), &initial, &ring).ok()
}

#[test]
fn generated_modules_go_back_the_way_they_came() {
    let compared = AtomicU64::new(0);
    each_seed(0..from_env("DMADBG_CASES", 40), |seed| {
        let p = small(seed).unwrap();
        compared.fetch_add(back_and_forth::check(&p), Ordering::Relaxed);
    });
    assert!(compared.into_inner() > 1000);
}

#[test]
fn every_sample_module_goes_back_the_way_it_came() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-programs");
    let mut n = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "bir") {
            continue;
        }
        let options = ModuleOptions::default();
        let bytes = std::fs::read(&path).unwrap();
        let read = LoadedModule::read("m", &bytes, false, &options, None);
        let (m, _) = read.unwrap_or_else(|e| panic!("{path:?}: {e:?}"));
        let p = m.program(&options, Profile::default_profile()).unwrap();
        assert!(back_and_forth::check(&p) > 20, "{path:?}");
        n += 1;
    }
    assert!(n >= 8);
}

/// Verbs that go back, each held against a run forwards to the same event.
#[test]
fn verbs_that_go_back_come_to_states_of_the_way_forward() {
    for seed in 0..12 {
        let p = small(seed).unwrap();
        let mut m = Machine::new(&p);
        let mut digests = vec![m.digest()];
        while m.step(&p).is_some() {
            digests.push(m.digest());
        }
        let mut s = Session::new(Arc::new(p));
        let run = |s: &mut Session, line: &str| {
            let _ = s.execute(&parse_command(line).unwrap().unwrap());
            let n = s.position() as usize;
            assert_eq!(s.machine().digest(), digests[n], "seed {seed}: {line}: event {n}");
            n
        };
        assert_eq!(run(&mut s, "goto end"), digests.len() - 1);
        let mut last = digests.len() - 1;
        for line in [
            "reverse-step 3 event",
            "reverse-step 1 packet",
            "reverse-step 1 batch",
            "reverse-next",
            "reverse-step 2 slot",
        ] {
            let n = run(&mut s, line);
            assert!(n <= last, "{line} went from {last} to {n}");
            last = n;
        }
        let middle = digests.len() / 2;
        assert_eq!(run(&mut s, &format!("goto {middle}")), middle);
        assert!(run(&mut s, "step 5 event") > middle);
        assert!(run(&mut s, "reverse-continue") <= middle + 5);
        assert_eq!(run(&mut s, "goto 0"), 0);
    }
}

#[test]
fn two_runs_of_one_module_are_one_run() {
    let mut all = 0;
    for seed in 0..30 {
        let runs = [0, 1].map(|_| {
            let p = small(seed).unwrap();
            let mut m = Machine::new(&p);
            let mut events = Vec::new();
            while let Some(step) = m.step(&p) {
                events.push(step.event);
            }
            (events, m.digest())
        });
        assert!(runs[0] == runs[1], "seed {seed}");
        all += runs[0].0.len();
    }
    assert!(all > 1000);
}
