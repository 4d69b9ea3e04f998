//! How fast modules are read, lowered, judged and run on rings. `cargo bench --bench bir`
//! prints one line a measurement for three sizes each, which shows what grows faster than the
//! module; nothing is asserted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use dmadbg::bir::{Layout, exec, verify};
use dmadbg::diag::Place;
use dmadbg::engine::lower::{self, Stage};
use dmadbg::engine::module_run::{self, Initial, Options};
use dmadbg::engine::order::Readings;
use dmadbg::engine::ring::machine;
use dmadbg::engine::validate::Reference;
use dmadbg::load::bir::tape::Tape;
use dmadbg::load::bir::{json_to_text, read_json, read_text, text_to_json, write_json, write_text};
use dmadbg::load::module::{LoadedModule, ModuleOptions};
use dmadbg::udma::{Generation, Profile};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;
use support::best;

/// Seconds that the threads of this process had of a processor, those that ended too: in steps
/// of a hundredth, and less touched than the clock by what others do beside.
fn on_cpu() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let rest = text.rsplit_once(')')?.1;
    let mut fields = rest.split_whitespace().skip(11).map_while(|n| n.parse::<f64>().ok());
    Some((fields.next()? + fields.next()?) / 100.0)
}

fn cpu_since(begin: Option<f64>) -> f64 {
    begin.zip(on_cpu()).map_or(f64::NAN, |(a, b)| b - a)
}

fn measure<T>(what: &str, unit: &str, count: u64, f: impl FnMut() -> T) {
    let best = best(2, f);
    println!("{what:<44} {:>10.3} ms  {:>10.3} k {unit}/s", best * 1e3, count as f64 / best / 1e3);
}

/// Static copies of 64 bytes, `n` of them, over four engines.
fn module(n: u64) -> String {
    let bytes = n * 64;
    let mut text = format!(
        "bir 2 gen3\n\nfunc main {{\n  set x_set : uint8 ExternalInput {{\n    location x DRAM [{bytes}] addr=0\n  }}\n  \
        set y_set : uint8 ExternalOutput {{\n    location y DRAM [{bytes}] addr=0\n  }}\n  block Block1:\n"
    );
    for i in 0..n {
        let engine = ["Pool", "Activation", "SP", "PE"][(i % 4) as usize];
        let at = i * 64;
        writeln!(
            text,
            "    %I-{i} = DMACopy {engine} queue=q{engine} dge_type=None ins(x[[1, 64]] +{at} : uint8) outs(y[[1, 64]] +{at} : uint8)"
        )
        .unwrap();
    }
    text += "}\n";
    for engine in ["Pool", "Activation", "SP", "PE"] {
        writeln!(text, "\nqueue q{engine} blocks=[]").unwrap();
    }
    text
}

/// The most memory that was resident so far.
fn peak() -> String {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    text.lines().find(|l| l.starts_with("VmHWM")).unwrap_or("").to_owned()
}

/// The module of [`module`] as JSON, without all that making it of the text takes.
fn json(n: u64) -> String {
    let bytes = n * 64;
    let set = |name: &str, kind: &str| {
        format!(
            "    {{\n     \"Skind\": \"memory_location_set\",\n     \"dtype\": \"uint8\",\n     \"kind\": \"{kind}\",\n     \
            \"memorylocations\": [{{\"Skind\": \"memory_location\", \"addr\": 0, \"dims\": [{bytes}], \"name\": \"{name}\", \"type\": \"DRAM\"}}],\n     \
            \"name\": \"{name}_set\"\n    }}"
        )
    };
    let mut out = format!(
        "{{\n \"arch\": \"gen3\",\n \"functions\": [\n  {{\n   \"allocations\": [\n{},\n{}\n   ],\n   \"blocks\": [\n    {{\n     \"instructions\": [\n",
        set("x", "ExternalInput"),
        set("y", "ExternalOutput")
    );
    let side = |name: &str, at: u64| {
        format!(
            "[{{\"ap\": [[1, 64]], \"dtype\": \"uint8\", \"kind\": \"physical_ap\", \"memref\": \"{name}\", \"memsetref\": \"{name}_set\", \"offset\": {at}}}]"
        )
    };
    for i in 0..n {
        let engine = ["Pool", "Activation", "SP", "PE"][(i % 4) as usize];
        let (x, y, end) = (side("x", i * 64), side("y", i * 64), if i + 1 < n { "," } else { "" });
        writeln!(
            out,
            "      {{\n       \"dge_type\": \"None\",\n       \"engine\": \"{engine}\",\n       \"ins\": {x},\n       \
            \"name\": \"I-{i}\",\n       \"opcode\": \"DMACopy\",\n       \"outs\": {y},\n       \"queue\": \"q{engine}\"\n      }}{end}"
        )
        .unwrap();
    }
    out += "     ],\n     \"name\": \"Block1\"\n    }\n   ],\n   \"name\": \"main\"\n  }\n ],\n \"queues\": [\n";
    for (k, engine) in ["Pool", "Activation", "SP", "PE"].iter().enumerate() {
        let end = if k < 3 { "," } else { "" };
        writeln!(out, "  {{\"blocks\": [], \"name\": \"q{engine}\"}}{end}").unwrap();
    }
    out + " ],\n \"version\": 2\n}\n"
}

/// A large module all the way: `DMADBG_BENCH_DMAS` static copies (a million), read, verified,
/// lowered and put on rings, as the program does it; then proved. Each size in a process of its
/// own, so that what one leaves behind is not counted for the next.
fn large() {
    assert_eq!(json(9), text_to_json("m", &module(9)).unwrap());
    let n = std::env::var("DMADBG_BENCH_DMAS").ok().and_then(|t| t.parse().ok());
    let n: u64 = n.unwrap_or(1_000_000);
    for n in [n / 16, n / 8, n / 4, n / 2, n] {
        let me = std::env::current_exe().unwrap();
        let one = std::process::Command::new(me).env(ONE, n.to_string()).status().unwrap();
        assert!(one.success());
    }
}

/// Names the variable that asks for one large module of a size, and for nothing else.
const ONE: &str = "DMADBG_BENCH_ONE";

fn one_large(n: u64) {
    let json = json(n);
    let opts = ModuleOptions::default();
    let (cpu, begin) = (on_cpu(), Instant::now());
    let (m, _) = LoadedModule::read("m", json.as_bytes(), true, &opts, None).unwrap();
    assert!(!m.is_wrong() && !m.lowered.has_errors());
    let read = begin.elapsed().as_secs_f64();
    let p = m.program(&opts, Profile::default_profile()).unwrap();
    let all = begin.elapsed().as_secs_f64();
    println!(
        "{n} static DMAs, {} MB: read, verified, lowered in {read:.2} s, on rings in {all:.2} s ({:.2} s of processors); {}",
        json.len() / 1_000_000,
        cpu_since(cpu),
        peak(),
    );
    if std::env::var_os("DMADBG_BENCH_PROOF").is_some() {
        let (cpu, begin) = (on_cpu(), Instant::now());
        let run = exec::Options::default();
        let proof = m.validate(Some(&p), &run).unwrap();
        let took = begin.elapsed().as_secs_f64();
        println!(
            "  proof of each stage and the rings in {took:.2} s ({:.2} s of processors), {} verdicts; {}",
            cpu_since(cpu),
            proof.stages.len(),
            peak(),
        );
    }
}

/// JSON of `DMADBG_BENCH_JSON_MB` megabytes (what a module may have is near 536): indexed, and
/// loaded with all its names looked up. Each in a process of its own, which holds the text once
/// and what is made of it once, so that the memory said is that of the row.
fn large_json(mb: u64) {
    for what in ["index", "load"] {
        let me = std::env::current_exe().unwrap();
        let job = format!("{what} {mb}");
        let one = std::process::Command::new(me).env(ONE_JSON, job).status().unwrap();
        assert!(one.success());
    }
}

/// Names the variable that asks for one row of [`large_json`], and for nothing else.
const ONE_JSON: &str = "DMADBG_BENCH_ONE_JSON";

fn one_json(job: &str) {
    let (what, mb) = job.split_once(' ').unwrap();
    let bytes = mb.parse::<u64>().unwrap() * 1_000_000;
    // As many copies as come near to it; numbers of more digits make the later ones longer.
    let sample = json(100_000).len() as u64;
    let json = json(bytes * 100_000 / (sample + sample / 200));
    let size = json.len() as f64 / 1e6;
    let text = peak();
    let (cpu, begin) = (on_cpu(), Instant::now());
    let took = match what {
        "index" => {
            let tape = Tape::read(json.as_bytes()).unwrap();
            let took = begin.elapsed().as_secs_f64();
            assert!(tape.root().get("functions").is_some());
            took
        }
        _ => {
            let loaded = read_json("m", json.as_bytes()).unwrap();
            let took = begin.elapsed().as_secs_f64();
            assert_eq!(loaded.module.queues.len(), 4);
            took
        }
    };
    println!(
        "JSON {what} of {size:.0} MB: {took:.3} s, {:.0} MB/s ({:.2} s of processors); {text} with the text, {} with all",
        size / took,
        cpu_since(cpu),
        peak(),
    );
}

fn main() {
    if let Ok(job) = std::env::var(ONE_JSON) {
        return one_json(&job);
    }
    if let Some(n) = std::env::var(ONE).ok().and_then(|t| t.parse().ok()) {
        return one_large(n);
    }
    if let Some(mb) = std::env::var("DMADBG_BENCH_JSON_MB").ok().and_then(|t| t.parse().ok()) {
        return large_json(mb);
    }
    large();
    if std::env::var_os("DMADBG_BENCH_NO_ROWS").is_some() {
        return;
    }
    for n in [1_000u64, 10_000, 50_000] {
        let text = module(n);
        let loaded = read_text("m", &text).unwrap().module;
        let json = write_json(&loaded);
        let kb = json.len() as u64 / 1000;
        println!("{n} static copies, {kb} kB of JSON");
        measure("  JSON index", "kB", kb, || Tape::read(json.as_bytes()).unwrap());
        measure("  JSON to text", "kB", kb, || json_to_text("m", json.as_bytes()));
        measure("  text to JSON", "kB", kb, || text_to_json("m", &text));
        measure("  load JSON", "kB", kb, || read_json("m", json.as_bytes()).unwrap());
        measure("  load text", "kB", kb, || read_text("m", &text).unwrap());
        measure("  write JSON", "kB", kb, || write_json(&loaded));
        measure("  write text", "kB", kb, || write_text(&loaded));
        measure("  layout and verify", "DMAs", n, || {
            verify::verify(&loaded, &Layout::new(&loaded))
        });
        let options = lower::Options::default();
        for stage in [Stage::Peel, Stage::Unroll, Stage::Split, Stage::Check, Stage::LowerDma] {
            let what = format!("  lower as far as {stage}");
            measure(&what, "DMAs", n, || lower::lower(&loaded, &options, stage));
        }
        let lowered = lower::lower(&loaded, &options, Stage::LowerDma);
        let last = lowered.module().unwrap().clone();
        measure("  layout and verify, lowered", "DMAs", n, || {
            verify::verify(&last, &Layout::new(&last))
        });
        let given = [("x".to_owned(), vec![7; n as usize * 64])].into_iter().collect();
        let (initial, run) = (Initial { given, file: None }, exec::Options::default());
        let module = Arc::new(loaded);
        measure("  execute as loaded", "DMAs", n, || {
            Reference::new(module.clone(), &initial, &run).unwrap()
        });
        let reference = Reference::new(module.clone(), &initial, &run).unwrap();
        assert!(reference.complete);
        measure("  judge after lower_dma", "DMAs", n, || {
            assert!(reference.judge(&last, &run).is_good());
        });
        let ring = Options::new(Generation::V3);
        let put = || module_run::program(&lowered, &|_| Place::default(), &initial, &ring).unwrap();
        measure("  put on rings", "DMAs", n, put);
        let p = put();
        let events = machine::run(&p, |_, _| true).machine.n;
        measure("  run on rings", "events", events, || machine::run(&p, |_, _| true).machine.n);
        measure("  judge on rings, with the order check", "events", events, || {
            assert!(reference.judge_rings(&p, Readings::default()).is_good());
        });
    }
}
