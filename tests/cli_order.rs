//! Orders other than the calm one, from the command line: explored, saved, replayed, expected.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::path::Path;
use std::process::Command;

struct Ran {
    status: i32,
    out: String,
    err: String,
}

fn run(args: &[&str]) -> Ran {
    let out = Command::new(env!("CARGO_BIN_EXE_dmadbg")).args(args).output().unwrap();
    Ran {
        status: out.status.code().unwrap(),
        out: String::from_utf8(out.stdout).unwrap(),
        err: String::from_utf8(out.stderr).unwrap(),
    }
}

/// Runs a sample under a script that is written first.
fn script(dir: &Path, sample: &str, name: &str, lines: &[&str]) -> Ran {
    let path = dir.join(name);
    std::fs::write(&path, lines.join("\n")).unwrap();
    run(&[
        "run",
        &format!("sample-programs/{sample}"),
        "--no-init",
        "--script",
        path.to_str().unwrap(),
    ])
}

#[test]
fn an_order_is_found_saved_and_replayed_forwards_and_backwards() {
    let dir = tempfile::tempdir().unwrap();
    let saved = dir.path().join("found.dbg");
    let explore = format!("order explore > \"{}\"", saved.display());
    let r = script(dir.path(), "race.dma", "a.dbg", &[&explore, "order replay", "order"]);
    assert_eq!(r.status, 0, "{}{}", r.out, r.err);
    assert!(r.out.contains("sees the marker of batch 1 before its data"), "{}", r.out);
    assert!(r.out.contains("order hold e5.q3 rx 0 visible until host poll 3"), "{}", r.out);
    assert!(r.out.contains("fix: write_barrier on e5.q3.tx[0]"), "{}", r.out);
    // The saved order: at the poll that sees the marker the 64 bytes are not there; one event
    // later they are, and one back they are gone again.
    let replay = format!("order replay \"{}\"", saved.display());
    let lines = [
        replay.as_str(),
        "assert mem32[0x400040063004] == 0xabcdef01, \"the marker is there\"",
        "assert mem32[0x10080000] == 0, \"its data is not\"",
        "print /d event",
        "step event",
        "assert mem32[0x10080000] != 0",
        "reverse-step event",
        "assert mem32[0x10080000] == 0",
        "order calm",
        "goto end",
        "assert mem32[0x10080000] != 0",
        "expect race",
    ];
    let r = script(dir.path(), "race.dma", "b.dbg", &lines);
    assert_eq!(r.status, 0, "{}{}", r.out, r.err);
    // The script that was saved runs by itself; the races that it stops at are errors.
    let r = run(&["run", "sample-programs/race.dma", "--script", saved.to_str().unwrap()]);
    assert_eq!(r.status, 1);
    assert!(r.out.contains("poll m2+0x4: 0xabcdef01"), "{}", r.out);
}

#[test]
fn the_barrier_that_is_named_fixes_it() {
    let dir = tempfile::tempdir().unwrap();
    let lines = ["order barrier e5.q3 tx 0 write_barrier on", "order explore"];
    let r = script(dir.path(), "race.dma", "a.dbg", &lines);
    assert!(!r.out.contains("sees the marker"), "{}", r.out);
    // One barrier less breaks what was whole.
    let lines = ["order explore", "order barrier tx 0 write_barrier off", "order explore 10000"];
    let r = script(dir.path(), "copy-4k.dma", "b.dbg", &lines);
    assert_eq!(r.status, 0, "{}", r.err);
    assert!(r.out.starts_with("no allowed order breaks the program"), "{}", r.out);
    assert!(r.out.contains("an allowed order breaks the program"), "{}", r.out);
    assert!(r.out.contains("  proved: no allowed order breaks the program then"), "{}", r.out);
    assert!(r.out.contains("  set e128.q0.tx[0].write_barrier = 1"), "{}", r.out);
    // A bound that is too small is told.
    let lines = ["order barrier tx 0 write_barrier off", "order explore 3"];
    let r = script(dir.path(), "copy-4k.dma", "c.dbg", &lines);
    assert!(r.out.contains("neither proved nor broken"), "{}", r.out);
}

#[test]
fn a_race_that_nobody_expects_is_an_error() {
    let r = run(&["run", "sample-programs/race.dma", "--no-init"]);
    assert_eq!(r.status, 1);
    assert!(r.err.contains("error[R030]"), "{}", r.err);
    let r = run(&["check", "sample-programs/race.dma"]);
    assert_eq!(r.status, 1);
    assert!(r.out.contains("error[R031]"), "{}", r.out);
    let r = run(&["info", "--reading", "dmb=entry", "sample-programs/race.dma"]);
    assert!(r.out.contains("2 (dmb=entry sow=through)"), "{}", r.out);
    let dir = tempfile::tempdir().unwrap();
    let lines =
        ["goto end", "expect race e5.q3.rx[0] marker", "expect race e5.q3.tx[0] e128.q0.rx[0]"];
    let r = script(dir.path(), "race.dma", "a.dbg", &lines);
    assert_eq!(r.status, 0, "{}", r.err);
    let r = script(dir.path(), "race.dma", "b.dbg", &lines[..2]);
    assert_eq!(r.status, 1, "one of two is not expected");
    let r = script(dir.path(), "copy-4k.dma", "c.dbg", &["goto end", "expect race"]);
    assert_eq!(r.status, 1);
    assert!(r.err.contains("error[S008]: no race up to event"), "{}", r.err);
    let r = script(dir.path(), "copy-4k.dma", "d.dbg", &["goto end", "expect race fault fault"]);
    assert_eq!((r.status, r.err.contains("error[S008]")), (1, true), "{}", r.err);
}

#[test]
fn a_race_of_a_strict_reading_is_a_note() {
    let dir = tempfile::tempdir().unwrap();
    // The write barrier of the data becomes a DMB, whose first half alone is not enough.
    let lines = [
        "order barrier tx 0 write_barrier off",
        "order barrier tx 0 dmb on",
        "order explore",
        "order reading dmb=entry",
        "order explore",
        "goto end",
        "info races",
    ];
    let r = script(dir.path(), "copy-4k.dma", "a.dbg", &lines);
    assert_eq!(r.status, 0, "{}", r.err);
    assert!(r.out.contains("nothing races in its"), "{}", r.out);
    assert!(
        r.out.contains("an allowed order breaks the program (dmb=entry sow=through)"),
        "{}",
        r.out
    );
    assert!(r.err.contains("note[R030]"), "{}", r.err);
    assert!(r.err.contains("only under dmb=entry"), "{}", r.err);
}

#[test]
fn a_file_that_is_no_order_is_refused_at_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let bad = dir.path().join("bad.dbg");
    std::fs::write(&bad, "dbg 1\norder hold rx 0 visible until host poll\n  step\n").unwrap();
    let line = format!("order replay \"{}\"", bad.display());
    let r = script(dir.path(), "copy-4k.dma", "a.dbg", &[&line]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("bad.dbg:2:40"), "{}", r.err);
    std::fs::write(&bad, "dbg 1\norder calm\n  step\n").unwrap();
    let r = script(dir.path(), "copy-4k.dma", "b.dbg", &[&line]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("S040") && r.err.contains("bad.dbg:3:3"), "{}", r.err);
    let missing = format!("order replay \"{}\"", dir.path().join("none").display());
    let r = script(dir.path(), "copy-4k.dma", "c.dbg", &[&missing]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("S009"), "{}", r.err);
    let r = script(dir.path(), "copy-4k.dma", "d.dbg", &["order replay"]);
    assert_eq!((r.status, r.err.contains("S040")), (2, true), "{}", r.err);
}

#[test]
fn a_hold_that_cannot_be_kept_is_let_go() {
    let dir = tempfile::tempdir().unwrap();
    // The read of the marker's source comes before its write, whatever is held.
    let lines = ["order hold tx 0 read until host poll 1", "goto end", "info faults"];
    let r = script(dir.path(), "copy-4k.dma", "a.dbg", &lines);
    assert_eq!(r.status, 0, "{}", r.err);
    assert!(r.err.contains("warning[R045]"), "{}", r.err);
}
