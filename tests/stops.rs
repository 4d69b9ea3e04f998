//! Stops on the sample programs and modules, as scripts set them, and through the real binary
//! (`docs/stops.md`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use dmadbg::engine::program::Program;
use dmadbg::engine::session::{Outcome, Session};
use dmadbg::load::{self, LoadOptions};
use dmadbg::script::parse_command;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

fn sample(name: &str) -> Arc<Program> {
    if name.ends_with(".bir") {
        return Arc::new(ui_support::module(name));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-programs").join(name);
    load::open(&[path], &LoadOptions::default()).unwrap().program.unwrap()
}

fn ask(s: &mut Session, line: &str) -> Outcome {
    let command = parse_command(line).unwrap_or_else(|d| panic!("{line}: {d:?}")).unwrap();
    s.execute(&command).unwrap_or_else(|d| panic!("{line}: {d:?}"))
}

/// What is set on each sample, and how often it stops.
const STOPS: &[(&str, &str, usize)] = &[
    ("copy-4k.dma", "break tx[0]", 4),
    ("copy-4k.dma", "break rx[0:1]", 8),
    ("copy-4k.dma", "watch tx[0]", 1),
    ("copy-4k.dma", "watch tx[0] access", 2),
    ("copy-4k.dma", "watch tx[0].len_ctrl", 1),
    ("copy-4k.dma", "watch tx[0].dmb access", 2),
    ("copy-4k.dma", "watch tx[1].length", 1),
    ("copy-4k.dma", "watch marker", 3),
    ("copy-4k.dma", "watch marker read", 1),
    ("copy-4k.dma", "catch doorbell", 1),
    ("copy-4k.dma", "catch race", 0),
    ("wrap.dma", "break doorbell after 1", 7),
    ("three-queues.dma", "catch doorbell q1", 1),
    ("timeout.dma", "catch timeout", 1),
    ("timeout.dma", "catch ret", 1),
    ("lowered-loop.bir", "break %I-1", 4),
    ("lowered-loop.bir", "break dma_block_0", 4),
    ("lowered-loop.bir", "break %desc-1", 4),
    ("lowered-loop.bir", "break line 20", 4),
    ("lowered-loop.bir", "watch y", 2),
    ("lowered-loop.bir", "watch y change", 1),
    ("lowered-loop.bir", "watch y read", 64),
    ("semaphores.bir", "watch semaphore 1", 1),
    ("semaphores.bir", "watch semaphore 1 access", 2),
    ("semaphores.bir", "break qActHw0", 69),
    ("gather.bir", "break %I-2", 16),
    ("gather.bir", "break idx", 1),
];

#[test]
fn a_sample_stops_at_the_same_events_forwards_backwards_and_by_steps() {
    let mut counts = Vec::new();
    for (name, line, _) in STOPS {
        let p = sample(name);
        let mut s = Session::new(p);
        ask(&mut s, line);
        let hits = |s: &Session| s.stops()[0].hits;
        let mut ahead = Vec::new();
        loop {
            let before = hits(&s);
            ask(&mut s, "continue");
            if hits(&s) == before {
                break;
            }
            ahead.push(s.position());
        }
        let end = s.position();
        let mut behind: Vec<u64> =
            ahead.last().copied().filter(|n| *n == end).into_iter().collect();
        loop {
            let before = hits(&s);
            ask(&mut s, "reverse-continue");
            if hits(&s) == before {
                break;
            }
            behind.push(s.position());
        }
        behind.reverse();
        assert_eq!(behind, ahead, "{name}: {line}");
        let mut stepped = Vec::new();
        while s.position() < end {
            let before = hits(&s);
            ask(&mut s, "step event");
            if hits(&s) > before {
                stepped.push(s.position());
            }
        }
        assert_eq!(stepped, ahead, "{name}: {line}");
        counts.push((*name, *line, ahead.len()));
    }
    assert_eq!(counts, STOPS);
}

struct Ran {
    status: i32,
    out: String,
    err: String,
}

fn script(program: &str, text: &str) -> Ran {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("s.dbg"), text).unwrap();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-programs").join(program);
    let mut c = Command::new(env!("CARGO_BIN_EXE_dmadbg"));
    c.current_dir(dir.path()).env("NO_COLOR", "1").arg("run").arg(sample);
    let out = c.args(["--no-init", "--script", "s.dbg"]).output().unwrap();
    Ran {
        status: out.status.code().unwrap(),
        out: String::from_utf8(out.stdout).unwrap(),
        err: String::from_utf8(out.stderr).unwrap(),
    }
}

#[test]
fn a_block_of_commands_goes_on_by_itself_and_says_only_what_it_prints() {
    let r = script(
        "wrap.dma",
        "catch doorbell\ncommands\n  silent\n  print q0.free # a comment\n  continue\n  echo never\nend\ncontinue\nwhere\n",
    );
    assert_eq!((r.status, r.err.as_str()), (0, ""));
    let lines: Vec<&str> = r.out.lines().collect();
    assert_eq!(lines[..2], ["catchpoint 1: doorbell", "catchpoint 1 has 3 commands now"]);
    assert_eq!(lines.iter().filter(|l| l.starts_with("q0.free = ")).count(), 8);
    assert!(!r.out.contains("never"), "what follows a move is left out");
    assert!(!r.out.contains("catchpoint 1, doorbell"), "silent");
    assert_eq!(r.out.matches("the run is at its end").count(), 3, "{}", r.out);
}

#[test]
fn a_block_on_one_line_is_shown_and_taken_away() {
    let r = script(
        "copy-4k.dma",
        "break marker\ncommands 1 print marker; echo \"a; b\"\ncontinue\ninfo b\ncommands 1 end\nrestart\ncontinue\n",
    );
    assert_eq!((r.status, r.err.as_str()), (0, ""));
    assert!(r.out.contains("\nmarker = 2882400001 (0xabcdef01)\na; b\nnum "), "{}", r.out);
    assert!(r.out.contains("\n       print marker\n       echo \"a; b\"\n"), "{}", r.out);
    assert_eq!(r.out.matches("a; b\n").count(), 1, "{}", r.out);
}

#[test]
fn what_is_wrong_in_a_block_is_told_at_its_line() {
    // All of it before anything runs.
    let r = script("copy-4k.dma", "break marker\ncommands\n  print makrer\n  stpe\nend\n");
    assert_eq!((r.status, r.out.as_str()), (2, ""));
    assert!(r.err.contains("s.dbg:3:9") && r.err.contains("s.dbg:4:3"), "{}", r.err);
    // And what goes wrong when the stop is hit.
    let r = script("copy-4k.dma", "break marker\ncommands\n  print tx[64].dmb\nend\ncontinue\n");
    assert_eq!(r.status, 2);
    assert!(r.err.contains("--> s.dbg:3:9"), "{}", r.err);
    let r = script("copy-4k.dma", "break marker\ncommands 1 assert 0\ncontinue\n");
    assert_eq!(r.status, 1);
    assert!(r.err.contains("error[S007]") && r.err.contains("s.dbg:2:1"), "{}", r.err);
}

#[test]
fn a_block_must_be_closed_and_closes_nothing_else() {
    let r = script("copy-4k.dma", "break marker\ncommands 1\nprint 1\n");
    assert_eq!(r.status, 2);
    assert!(r.err.contains("s.dbg:2:1") && r.err.contains("`end` is missing"), "{}", r.err);
    for line in ["end", "silent"] {
        let r = script("copy-4k.dma", &format!("{line}\n"));
        assert_eq!(r.status, 2);
        assert!(r.err.contains("error[S001]"), "{}", r.err);
    }
}

#[test]
fn commands_that_lead_from_stop_to_stop_for_ever_are_given_up() {
    let r = script(
        "copy-4k.dma",
        "break event 1\ncommands 1 silent; continue\nbreak event 2\ncommands 2 silent; reverse-continue\ncontinue\n",
    );
    assert_eq!(r.status, 2);
    assert!(r.err.contains("error[S023]"), "{}", r.err);
}

#[test]
fn a_name_that_does_not_exist_is_pointed_at_with_the_nearest() {
    for (program, line, column, near) in [
        ("lowered-loop.bir", "break dma_blok_0 if 1", 7, "did you mean `dma_block_0`?"),
        ("lowered-loop.bir", "break %I-11 once", 7, "did you mean `I-1`?"),
        ("lowered-loop.bir", "watch z if $nothing", 12, "variables: none"),
        ("lowered-loop.bir", "watch \"zz\"", 8, "did you mean `z`?"),
        ("lowered-loop.bir", "break line 1", 7, "the nearest lines with one: 18, 20, 26"),
        ("copy-4k.dma", "break q7.tx[0]", 7, "queues: e128.q0"),
        ("copy-4k.dma", "break tx[9999]", 7, ""),
        ("copy-4k.dma", "break dma_block_0", 7, "places: tx[3]"),
        ("copy-4k.dma", "until event == q7.free", 16, "queues: e128.q0"),
        ("copy-4k.dma", "delete 7", 8, "there are no stops"),
    ] {
        let r = script(program, &format!("{line}\n"));
        assert_eq!((r.status, r.out.as_str()), (2, ""), "{line}");
        let place = format!("--> s.dbg:1:{column}");
        assert!(r.err.contains(&place) && r.err.contains(near), "{line}: {}", r.err);
    }
}

#[test]
fn a_stage_stops_where_the_stages_are_gone_through() {
    let mut s = Session::new(sample("copy.bir"));
    ask(&mut s, "break pass unroll");
    let said = |s: &mut Session, line: &str| ask(s, line).lines;
    assert_eq!(said(&mut s, "pass lower_dma")[0], "breakpoint 1, pass unroll");
    assert_eq!(s.stage().unwrap().name(), "unroll");
    assert_eq!(said(&mut s, "pass lower_dma").len(), 1, "from there it is behind");
    assert_eq!(said(&mut s, "pass loaded")[0], "breakpoint 1, pass unroll");
    said(&mut s, "pass loaded");
    ask(&mut s, "pass next");
    assert_eq!(said(&mut s, "pass next")[0], "breakpoint 1, pass unroll");
    ask(&mut s, "pass lower_dma");
    let lines = said(&mut s, "pass set split equal");
    assert_eq!((lines.len(), lines[1].as_str()), (3, "breakpoint 1, pass unroll"));
    assert_eq!(s.stage().unwrap().name(), "unroll");
    assert_eq!(s.stops()[0].hits, 4);
    // A run has no stages in it.
    let out = ask(&mut s, "continue");
    assert_eq!(out.halt.as_deref(), Some("the run is at its end"));
}

#[test]
fn stops_outlive_another_lowering_by_their_names() {
    let mut s = Session::new(sample("lowered-loop.bir"));
    ask(&mut s, "break dma_block_1");
    ask(&mut s, "display event");
    ask(&mut s, "continue");
    let here = s.position();
    ask(&mut s, "pass set split equal");
    assert_eq!(s.position(), 0);
    ask(&mut s, "continue");
    assert_eq!((s.position(), s.stops()[0].hits), (here, 2));
    assert_eq!(s.display_lines().len(), 1);
}

#[test]
fn an_instruction_is_expected_where_the_session_stands() {
    let r = script(
        "lowered-loop.bir",
        "break dma_block_0\ncontinue\nexpect stop dma_block_0\ncontinue\nexpect stop %desc-0\nexpect stop dma_block_1\n",
    );
    assert_eq!(r.status, 1);
    assert!(r.err.contains("s.dbg:6:1") && r.err.contains("event 30 is not about"), "{}", r.err);
}

#[test]
fn a_word_or_field_of_a_slot_is_watched_where_it_lies_and_a_number_of_the_run_is_refused() {
    let mut s = Session::new(sample("copy-4k.dma"));
    let told = |s: &mut Session, line: &str| ask(s, line).lines.join(" ");
    ask(&mut s, "goto 34");
    for (line, bytes) in [
        ("watch tx[0].len_ctrl", "4 bytes at 0x400040041000"),
        ("watch tx[0].meta_ctrl", "4 bytes at 0x400040041004"),
        ("watch tx[0].dmb", "1 byte at 0x400040041003"),
        ("watch tx[0].phase", "1 byte at 0x400040041003"),
        ("watch tx[0].length", "2 bytes at 0x400040041000"),
        ("watch q0.rx[1].len_ctrl.ring_id", "1 byte at 0x400040021013"),
        ("watch tx[1].addr", "4 bytes at 0x400040041010"),
        ("watch rx[0].buf_ptr,4096", "4096 bytes at hbm, 0x10000000"),
        ("watch base", "4 bytes at 0x400040041000"),
    ] {
        let said = told(&mut s, line);
        assert!(said.contains(bytes), "{line}: {said}");
    }
    for line in ["watch free", "watch q0.tx.head", "watch event", "watch reg[0x1038]"] {
        let command = parse_command(line).unwrap().unwrap();
        let d = s.execute(&command).unwrap_err();
        let help = d.help.unwrap_or_default();
        assert!(d.code == "S003" && help.starts_with("`until "), "{line}: {}", d.message);
        // The advice is a command that can be given.
        parse_command(help.split('`').nth(1).unwrap()).unwrap();
    }
    let life = parse_command("watch tx[0].life").unwrap().unwrap();
    assert_eq!(s.execute(&life).unwrap_err().code, "S003");
    let stops = s.stops().len();
    for line in ["break batch 0", "break event 0"] {
        let command = parse_command(line).unwrap().unwrap();
        assert_eq!(s.execute(&command).unwrap_err().code, "S005", "{line}: there is none");
    }
    assert_eq!(s.stops().len(), stops);
}

#[test]
fn memory_is_shown_from_a_slot_on() {
    let mut s = Session::new(sample("copy-4k.dma"));
    ask(&mut s, "goto 34");
    let slot = ask(&mut s, "x /2i tx[0]").lines;
    assert_eq!(slot, ask(&mut s, "x /2i tx[0].addr").lines);
    assert!(slot[0].contains("0x400040041000") && slot[0].contains("0d001000"), "{slot:?}");
    assert!(ask(&mut s, "x /1i q0.rx[1]").lines[0].contains("0x400040021010"));
}

#[test]
fn the_races_told_at_a_position_are_those_of_a_run_up_to_it() {
    let text = include_str!("../sample-programs/race.dma");
    let program = Arc::new(dmadbg::load::asm::assemble(text).unwrap().program);
    let mut s = Session::new(program);
    use dmadbg::engine::command::{Command as Verb, Goto};
    use dmadbg::engine::expr::Expr;
    let go = |s: &mut Session, n: u64| {
        s.execute(&Verb::Goto(Goto::Event(Expr::Num(n)))).unwrap();
    };
    go(&mut s, u64::MAX >> 1);
    let end = s.position();
    let mut most = 0;
    for n in [end, end / 2, end - 1, 3, 0, end] {
        go(&mut s, n);
        let all = s.races_left().diagnostics(s.program());
        assert_eq!(s.races_here(u64::MAX), all, "event {n}");
        most = most.max(all.len());
    }
    assert!(most > 0);
    // What is left undone is said.
    let mut s = Session::new(s.program().clone());
    go(&mut s, end);
    let few = s.races_here(2);
    assert!(few.last().is_some_and(|d| d.message.contains("up to event 2 only")), "{few:?}");
    let all = s.races_left().diagnostics(s.program());
    assert_eq!(s.races_here(u64::MAX), all);
}
