//! A script of many commands: memory in proportion to its bytes, a small multiple of them
//! (`docs/hostile.md`, "Long runs").
//!
//! `DMADBG_SCRIPT_COMMANDS=10000000 cargo test --release --test long_script -- --nocapture`
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(target_os = "linux")]

mod odd_support;

use odd_support::{dmadbg, resident};
use std::io::{BufWriter, Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

const DMA: &str = "sample-programs/copy-4k.dma";

/// What a run may need beside its script, and for each byte of it: the file as it lies, twice as
/// it is read, and twelve bytes for a line, in a list that grows by doubling.
const ANYWAY: u64 = 64 << 20;
const BYTES_PER_BYTE: u64 = 12;

/// Runs a script of so many lines; the most that was resident, and how long it took.
fn run(lines: u64, line: impl Fn(u64) -> String) -> (u64, u64, Duration) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.dbg");
    let mut file = BufWriter::new(std::fs::File::create(&path).unwrap());
    writeln!(file, "dbg 1").unwrap();
    (0..lines).for_each(|n| writeln!(file, "{}", line(n)).unwrap());
    writeln!(file, "print 4242 + 1").unwrap();
    file.into_inner().unwrap().sync_all().unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    let begun = Instant::now();
    let mut c = dmadbg(dir.path());
    c.args(["run", DMA, "--script"]).arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = c.spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    // What it says is counted, not kept; the last of it must be the last answer.
    let reader = std::thread::spawn(move || {
        let (mut tail, mut part) = (Vec::new(), vec![0; 1 << 16]);
        while let Ok(n @ 1..) = out.read(&mut part) {
            tail.extend_from_slice(&part[..n]);
            let from = tail.len().saturating_sub(200);
            tail.drain(..from);
        }
        String::from_utf8_lossy(&tail).into_owned()
    });
    let mut most = 0;
    let status = loop {
        most = most.max(resident(child.id()));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let tail = reader.join().unwrap();
    assert!(status.success() && tail.contains("= 4243"), "{status:?}: {tail}");
    (bytes, most, begun.elapsed())
}

#[test]
fn a_long_script_needs_memory_in_proportion_to_its_bytes() {
    let asked = std::env::var("DMADBG_SCRIPT_COMMANDS").ok().map(|n| n.parse().unwrap());
    let n: u64 = asked.unwrap_or(60_000);
    type Of = fn(u64) -> String;
    let kinds: [(&str, Of); 3] = [
        ("steps to and fro", |n| if n % 2 == 0 { "s" } else { "reverse-step" }.to_owned()),
        ("goto, all different", |n| format!("goto {} # {n}", n % 46)),
        ("print", |n| format!("print {n}")),
    ];
    for (name, line) in kinds {
        let (bytes, most, took) = run(n, line);
        println!("{n} commands ({name}), {bytes} bytes: {} KiB at most, {took:?}", most >> 10);
        assert!(most < ANYWAY + BYTES_PER_BYTE * bytes, "{name}: {most} for {bytes} bytes");
    }
}
