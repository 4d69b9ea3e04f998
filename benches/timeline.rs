//! How fast the timeline is on a run of about 10^8 events (`docs/timeline.md`, "Figures").
//! `cargo bench --bench timeline -- [EVENTS] [only=NAME]` prints one line a measurement, by the time
//! of one processor; nothing is asserted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use dmadbg::engine::program::Program;
use dmadbg::engine::session::Session;
use dmadbg::script::parse_command;
use std::sync::Arc;
use support::{copy, production, resident, timed};

/// Bytes of one descriptor of a large copy.
const CHUNK: u64 = 65_536;

/// One copy that makes about `events` events: six for each chunk.
fn one_copy(events: u64) -> Program {
    let mut p = production();
    let size = (events / 6 * CHUNK).min(1 << 40);
    let op = copy(&p, 0, size);
    p.script.push(op.into());
    p
}

/// Copies of a page each, one batch a copy, as many as a script may have or as make `events`.
fn small_copies(events: u64) -> Program {
    let mut p = production();
    for k in 0..(events / 28).min((1 << 20) - 2) {
        let op = copy(&p, k * 8192 % (1 << 39), 4096);
        p.script.push(op.into());
    }
    p
}

/// The best of three times from one position: what else the machine does is left aside.
fn best(s: &mut Session, from: &str, line: &str) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        run(s, from);
        best = best.min(run(s, line));
    }
    best
}

fn run(s: &mut Session, line: &str) -> f64 {
    let command = parse_command(line).unwrap().unwrap();
    timed(|| s.execute(&command).unwrap())
}

fn show(what: &str, seconds: f64, more: &str) {
    println!("{what:<66} {:>10.3} ms  {more}", seconds * 1e3);
}

fn rate(events: u64, seconds: f64) -> String {
    format!("{:>9.1} M events/s", events as f64 / seconds / 1e6)
}

fn whole(name: &str, p: Program) {
    println!("{name}");
    let before = resident() / 1024;
    let mut s = Session::new(Arc::new(p));
    let t = run(&mut s, "goto end");
    let end = s.position();
    show("  goto end, the first time", t, &rate(end, t));
    let line = s.timeline();
    println!(
        "  {end} events; memory grew by {} MiB; {} checkpoints, said to hold {} MiB",
        resident() / 1024 - before,
        line.checkpoints(),
        line.bytes() >> 20
    );

    let mut worst: f64 = 0.0;
    let mut sum = 0.0;
    let mut at = 0x9e37_79b9_7f4a_7c15u64;
    let jumps = 200;
    for _ in 0..jumps {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let n = (at >> 20) % end;
        let t = best(&mut s, &format!("goto {}", end - n), &format!("goto {n}"));
        worst = worst.max(t);
        sum += t;
    }
    show("  goto a random event, 200 times: mean", sum / f64::from(jumps), "");
    show("  goto a random event, 200 times: worst", worst, "");

    for verb in [
        "reverse-step",
        "reverse-step slot",
        "reverse-step batch",
        "reverse-next",
        "reverse-finish",
        "reverse-doorbell",
    ] {
        let (mut worst, mut moved) = (0.0f64, 0);
        for k in 1..=20u64 {
            let from = end / 21 * k;
            worst = worst.max(best(&mut s, &format!("goto {from}"), verb));
            moved += from - s.position();
        }
        show(
            &format!("  {verb} from 20 places: worst"),
            worst,
            &format!("{moved} events back in all"),
        );
    }
    let data = 0x1000_0000u64 + 0x123_4568;
    for (what, stop) in [
        ("batch 3", "break batch 3".to_owned()),
        ("event 1000", "break event 1000".to_owned()),
        ("fault", "break fault".to_owned()),
        ("an address of the first batch", format!("break {data:#x}")),
    ] {
        run(&mut s, "delete");
        run(&mut s, &stop);
        let t = best(&mut s, "goto end", "reverse-continue");
        show(&format!("  reverse-continue to {what}"), t, &format!("event {}", s.position()));
    }
    for cond in [
        "event == 777",
        "time == 3",
        "q0.free < 100",
        "q0.tx.head == 5 && batch == 2",
        "mem32[0x10000000] != 0 && batch == 1",
        "tx[7].len_ctrl == 0",
        "batch == 2 && phase == 3",
        "event % 1000003 == 1000002 && q0.free == 8175",
        "faults > 0",
        "ret == 5",
        "marker == 5",
    ] {
        run(&mut s, "delete");
        let t = best(&mut s, "goto end", &format!("reverse-until {cond}"));
        let passed = end - s.position();
        show(
            &format!("  reverse-until {cond}"),
            t,
            &format!("event {}, {}", s.position(), rate(passed, t)),
        );
        run(&mut s, &format!("break tx[5] if {cond}"));
        let t = best(&mut s, "goto end", "reverse-continue");
        let passed = end - s.position();
        show(
            &format!("  reverse-continue, break tx[5] if {cond}"),
            t,
            &format!("event {}, {}", s.position(), rate(passed, t)),
        );
    }
    println!("  memory grew by {} MiB in all", resident() / 1024 - before);
    println!();
}

fn main() {
    let events = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(100_000_000);
    let only = std::env::args().skip(1).find(|a| a.starts_with("only="));
    for (name, program) in [
        ("one copy of 64 KiB chunks", one_copy as fn(u64) -> Program),
        ("copies of a page, one batch each", small_copies),
    ] {
        if only.as_ref().is_none_or(|o| name.contains(&o["only=".len()..])) {
            whole(name, program(events));
        }
    }
}
