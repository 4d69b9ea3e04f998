//! The real binary on modules that are wrong: what is told of them, where, and how often.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod run_support;

use run_support::*;
use serde_json::Value;
use std::path::PathBuf;

/// A file of this content.
fn file(dir: &tempfile::TempDir, name: &str, content: &str) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// A module of three locations, `x` to read, `t` on the way, `y` to write, and these lines.
fn module(lines: &[&str]) -> String {
    let mut out = "bir 2 gen3\nfunc main {\n".to_owned();
    for (name, kind) in [("x", "ExternalInput"), ("t", "Internal"), ("y", "ExternalOutput")] {
        out += &format!("  set {name}_set : uint8 {kind} {{\n");
        out += &format!("    location {name} DRAM [4096] addr=0\n  }}\n");
    }
    out += "  block B1:\n";
    for line in lines {
        out += &format!("    {line}\n");
    }
    out + "}\nqueue qA blocks=[]\nqueue qB blocks=[]\n"
}

/// Row by row to `t` on one engine, and from there to `y` on another, which does not wait.
const ROWS: [&str; 2] = [
    "%a = DMACopy SP queue=qA dge_type=None ins(x[[64, 4], [1, 16]] : uint8) outs(t[[64, 4], [1, 16]] : uint8)",
    "%b = DMACopy Pool queue=qB dge_type=None ins(t[[64, 4], [1, 16]] : uint8) outs(y[[64, 4], [1, 16]] : uint8)",
];

fn lines_of(json: &str) -> Vec<Value> {
    json.lines().filter_map(|l| serde_json::from_str(l).ok()).collect()
}

/// The findings of a command, as JSON.
fn findings(args: &[&str]) -> Vec<Value> {
    let r = run(&[args, &["--format", "json"]].concat());
    let all = lines_of(&r.out).into_iter().chain(lines_of(&r.err));
    all.filter(|v| v["severity"].is_string()).collect()
}

#[test]
fn the_pairs_of_two_instructions_that_race_are_one_finding_with_both_places() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "r.bir", &module(&ROWS));
    for command in ["check", "run"] {
        let all = findings(&[command, text(&path)]);
        let races: Vec<&Value> =
            all.iter().filter(|v| v["code"].as_str().unwrap().starts_with("R03")).collect();
        assert!((1..=2).contains(&races.len()), "{command}: {all:#?}");
        for r in &races {
            let message = r["message"].as_str().unwrap();
            assert!(message.contains("`%a DMACopy`") && message.contains("`%b DMACopy`"), "{r}");
            let (second, first) = (r["line"].as_u64(), r["labels"][0]["line"].as_u64());
            let mut places = [first.unwrap(), second.unwrap()];
            places.sort_unstable();
            assert_eq!(places, [13, 14], "{command}: {r}");
            assert!(r["column"] == 5 && r["event"].is_u64(), "{r}");
            assert!(r["help"].as_str().unwrap().contains("semaphore"), "{r}");
        }
        // All the pairs are counted: four rows of 16 bytes.
        let bytes = |r: &Value| {
            let text = r["message"].as_str().unwrap().split(": ").nth(2).unwrap().to_owned();
            text.split(' ').next().unwrap().parse::<u64>().unwrap()
        };
        assert_eq!(races.iter().map(|r| bytes(r)).sum::<u64>(), 64, "{command}: {races:#?}");
    }
    let listed = run(&["run", text(&path), "--no-init", "-e", "goto end", "-e", "info races"]);
    assert!(
        listed.out.contains("r.bir:1") && listed.out.contains("`%a DMACopy`"),
        "{}",
        listed.out
    );
}

/// The reader is first in the run, so that another memory comes of it, too.
#[test]
fn a_difference_does_not_hide_the_races_that_may_be_why() {
    let dir = tempfile::tempdir().unwrap();
    let long = "%n = DMACopy SP queue=qA dge_type=None ins(x[[64, 32], [1, 16]] : uint8) outs(t[[64, 32], [1, 16]] +1024 : uint8)";
    let bad = module(&[long, ROWS[0], ROWS[1]]).replace("[4096]", "[8192]");
    let good = bad.replace(
        "(x[[64, 4], [1, 16]] : uint8) outs(t[[64, 4], [1, 16]] : uint8)",
        "(x[[64, 4], [1, 16]] : uint8) outs(t[[64, 4], [1, 16]] : uint8) update(sem 1 += 1)",
    );
    let good = good.replace(
        "outs(y[[64, 4], [1, 16]] : uint8)",
        "outs(y[[64, 4], [1, 16]] : uint8) wait(sem 1 >= 1 from a)",
    );
    let (bad, good) = (file(&dir, "bad.bir", &bad), file(&dir, "good.bir", &good));
    let codes = |args: &[&str]| -> Vec<String> {
        findings(args).iter().map(|v| v["code"].as_str().unwrap().to_owned()).collect()
    };
    let all = codes(&["check", text(&bad)]);
    assert!(all.iter().any(|c| c == "L080") && all.iter().any(|c| c.starts_with("R03")), "{all:?}");
    let r = run(&["check", text(&bad), "--allow", "L080"]);
    assert_eq!(r.status, 1, "{}", r.out);
    assert_eq!(codes(&["check", text(&good)]), Vec::<String>::new());
    // `lower` and `diff` tell of them as well.
    let r = run(&["lower", text(&bad), "--verify"]);
    assert!(r.err.contains("error[L080]") && r.err.contains("error[R03"), "{}", r.err);
    let r = run(&["diff", text(&bad), text(&good), "--format", "json"]);
    let last = lines_of(&r.out).pop().unwrap();
    assert!(last["findings"][0]["code"].as_str().unwrap().starts_with("R03"), "{last}");
}

#[test]
fn bisect_names_an_instruction_or_says_that_it_is_none() {
    let dir = tempfile::tempdir().unwrap();
    // The reader has much to do before: the bytes are right, by luck.
    let long = "%n = DMACopy Pool queue=qB dge_type=None ins(x[[1, 4096]] : uint8) outs(y[[1, 4096]] : uint8)";
    let path = file(&dir, "r.bir", &module(&[ROWS[0], long, ROWS[1]]));
    let r = run(&["lower", text(&path), "--verify", "--bisect", "--no-times"]);
    let last = r.out.lines().last().unwrap();
    assert!(last.starts_with("bisect: first wrong stage rings, "), "{last}");
    assert!(!last.contains("1 races") && !last.contains("first wrong instruction"), "{last}");
    assert!(last.contains("`%a DMACopy`"), "{last}");
    // Where the bytes are wrong, it is one.
    let path = file(&dir, "r.bir", &module(&ROWS));
    let r = run(&["lower", text(&path), "--verify", "--bisect", "--no-times"]);
    let last = r.out.lines().last().unwrap();
    assert_eq!(last, "bisect: first wrong stage rings, first wrong instruction %b DMACopy");
}

#[test]
fn a_loop_without_iterations_is_no_fault() {
    let dir = tempfile::tempdir().unwrap();
    for range in ["10..0", "0..0"] {
        let lines = [&format!("Loop for i in {range} step 1 {{"), "block body:", ROWS[0], "}"];
        let path = file(&dir, "l.bir", &module(&lines));
        let r = run(&["lower", text(&path), "--verify"]);
        assert_eq!((r.status, r.out.contains("WRONG")), (0, false), "{}{}", r.out, r.err);
        assert_eq!(run(&["check", text(&path)]).status, 0);
    }
    // Where it can fire, a trigger without blocks still is one.
    let trigger = "%t = DMATrigger SP queue=qA dge_type=None ins() outs() dma_blocks=[]";
    let path = file(&dir, "t.bir", &module(&[trigger]));
    assert!(run(&["check", text(&path)]).out.contains("error[B063]"));
}

#[test]
fn lower_chooses_queue_and_engine_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let bare = ROWS[0].replace(" SP queue=qA", "");
    let path = file(&dir, "q.bir", &module(&[&bare]));
    let r = run(&["lower", text(&path), "--verify"]);
    assert_eq!(r.status, 0, "{}{}", r.out, r.err);
    assert!(r.err.contains("warning[L001]: it has neither engine nor queue: Pool"), "{}", r.err);
    assert!(!r.err.contains("L050") && r.out.contains("rings"), "{}{}", r.out, r.err);
    // Everyone else refuses it.
    for command in ["check", "run"] {
        let r = run(&[command, text(&path)]);
        assert_eq!(r.status, 1);
        assert!(format!("{}{}", r.out, r.err).contains("error[L050]"), "{}{}", r.out, r.err);
    }
    // For a trigger nobody can choose.
    let path = file(&dir, "t.bir", &module(&["%t = DMATrigger SP ins() outs() dma_blocks=[]"]));
    assert!(run(&["lower", text(&path)]).err.contains("error[L050]"));
}

/// Its list of indices is in memory that is not given, since it writes there itself; some bytes
/// are read unwritten first.
#[test]
fn a_module_that_does_not_run_as_loaded_is_told_by_its_error_and_can_be_shrunk() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        "%w = DMACopy SP queue=qA dge_type=None ins(t[[1, 4]] : uint8) outs(y[[1, 4]] : uint8)",
        ROWS[0],
        "%g = DMACopy SP queue=qA dge_type=SWDGE ins(x_set[[16, 4], [1, 16]] at(arg(1)) : uint8, t[[1, 4]] +2048 : uint32) outs(t[[16, 4], [1, 16]] +1024 : uint8)",
    ];
    let content = module(&lines).replace("location t DRAM [4096]", "location t DRAM [65536]");
    let path = file(&dir, "g.bir", &content);
    let r = run(&["lower", text(&path), "--verify", "--no-times"]);
    assert_eq!(r.status, 1);
    let verdicts: Vec<&str> =
        r.out.lines().skip(1).map(|l| l.split("  ").last().unwrap()).collect();
    assert!(verdicts[0].starts_with("WRONG: does not run: `g`: index "), "{}", r.out);
    assert!(verdicts[1..].iter().all(|v| *v == "not verified"), "{}", r.out);
    let r = run(&["shrink", text(&path)]);
    assert_eq!(r.status, 1, "{}", r.err);
    assert!(r.err.contains("1 of 3 instructions left; at loaded: does not run"), "{}", r.err);
    assert!(r.out.contains("%g = DMACopy"), "{}", r.out);
}

#[test]
#[cfg(unix)]
fn what_is_shrunk_by_a_program_stays_a_module() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let script = file(&dir, "p.sh", "#!/bin/sh\n! grep -q DMACopy \"$1\"\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let small = dir.path().join("small.bir");
    for (lines, sound) in [(module(&ROWS), true), (module(&ROWS).replace(", [1, 16]", ""), true)] {
        let path = file(&dir, "m.bir", &lines);
        let r = run(&["shrink", text(&path), "--property", text(&script), "-o", text(&small)]);
        assert_eq!(r.status, 1, "{}", r.err);
        let left = std::fs::read_to_string(&small).unwrap();
        assert!(left.matches("DMACopy").count() == 1, "{left}");
        let r = run(&["check", text(&small)]);
        assert_eq!(r.status == 0, sound, "{}{}\n{left}", r.out, r.err);
    }
}

#[test]
fn fmt_writes_no_file_in_the_form_that_its_name_does_not_have() {
    let dir = tempfile::tempdir().unwrap();
    let content = module(&ROWS);
    let bir = file(&dir, "m.bir", &content);
    let r = run(&["fmt", "--to", "json", "--write", text(&bir)]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("error[S011]") && r.err.contains("m.json"), "{}", r.err);
    assert_eq!(std::fs::read_to_string(&bir).unwrap(), content);
    let json = file(&dir, "m.json", &run(&["fmt", "--to", "json", text(&bir)]).out);
    let before = std::fs::read(&json).unwrap();
    assert_eq!(run(&["fmt", "--to", "text", "--write", text(&json)]).status, 2);
    assert_eq!(std::fs::read(&json).unwrap(), before);
    // JSON under the name of a text may become one.
    std::fs::copy(&json, &bir).unwrap();
    assert_eq!(run(&["fmt", "--to", "text", "--write", text(&bir)]).status, 0);
    assert!(std::fs::read_to_string(&bir).unwrap().starts_with("bir 2 gen3\n"));
}

#[test]
fn a_lowering_is_judged_by_its_outcome_where_that_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let from = file(&dir, "a.bir", &module(&ROWS[..1]));
    let to = dir.path().join("b.bir");
    assert_eq!(run(&["lower", text(&from), "--emit", "bir", "-o", text(&to)]).status, 0);
    let args = ["diff", text(&from), text(&to)];
    let (plain, outcome) = (run(&args), run(&[&args[..], &["--outcome"]].concat()));
    assert_eq!((plain.status, outcome.status), (1, 0), "{}", outcome.err);
    assert_eq!(plain.out, outcome.out);
    // On rings they are one and the same.
    let rings = run(&[&args[..], &["--stage", "rings"]].concat());
    assert_eq!(rings.status, 0, "{}", rings.out);
    let other = std::fs::read_to_string(&from).unwrap().replace("(x[[64, 4]", "(x[[32, 4]");
    let other = file(&dir, "c.bir", &other);
    assert_eq!(run(&["diff", text(&from), text(&other), "--outcome"]).status, 1);
}

#[test]
fn findings_of_a_module_are_in_the_order_of_its_lines() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        "%a = DMACopy SP queue=qA ins(x[[1, 8]] +4095 : uint8) outs(y[[1, 8]] : uint8)",
        "%b = DMACopy SP queue=qA ins(x[[1, 8]] : uint8) outs(y[[1, 9]] : uint8)",
        "Loop for i in 0..4 step 0 {",
        "block body:",
        "%c = DMACopy SP queu=qA ins(x[[1, 8]] : uint8) outs(y[[1, 8]] +4090 : uint8)",
        "}",
    ];
    let path = file(
        &dir,
        "o.bir",
        &module(&lines).replace("t DRAM [4096] addr=0", "t DRAM [0] addr=0 bse=1"),
    );
    let all = findings(&["check", text(&path)]);
    let at: Vec<u64> = all.iter().map(|v| v["line"].as_u64().unwrap()).collect();
    let mut sorted = at.clone();
    sorted.sort_unstable();
    assert!(at.len() >= 5 && at == sorted, "{all:#?}");
}

/// Of two engines that fire into one queue the second waits until the batch of the first is over
/// (`docs/sequencer.md`), whatever the first part of its instruction is; and is told of where that
/// never comes.
#[test]
fn a_queue_serves_one_engine_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let copy = |n: u32, engine: &str| {
        let at = n * 64;
        format!(
            "%I-{n} = DMACopy {engine} queue=qA dge_type=None ins(x[[1, 64]] +{at} : uint8) outs(y[[1, 64]] +{at} : uint8)"
        )
    };
    let lines: Vec<String> =
        (0..6).map(|n| copy(n, ["Pool", "SP", "Activation"][n as usize % 3])).collect();
    let lines: Vec<&str> = lines.iter().map(|l| &**l).collect();
    let path = file(&dir, "q.bir", &module(&lines));
    let ended = ["run", text(&path), "-e", "goto end", "-e", "print batch"];
    let r = run(&ended);
    assert!(r.out.contains("batch = 6"), "{}\n{}", r.out, r.err);
    let codes = |all: &[Value]| -> Vec<String> {
        all.iter().map(|v| v["code"].as_str().unwrap().to_owned()).collect()
    };
    let found = codes(&findings(&ended));
    for code in ["R002", "R003", "R015", "R024"] {
        assert!(!found.iter().any(|c| c == code), "{code}: {found:?}");
    }
    // The first batch ends in a fault: its queue stays taken.
    let all = findings(&[
        "run",
        text(&path),
        "-e",
        "doorbell",
        "-e",
        "inject DATA_AXI_TO at tx[0]",
        "-e",
        "goto end",
    ]);
    let stand = |engine: &str| {
        let told = format!("{engine} stands for ever at ");
        all.iter().any(|v| {
            let message = v["message"].as_str().unwrap();
            message.starts_with(&told)
                && message.ends_with("it waits for qA, which serves Pool for ever")
        })
    };
    assert!(stand("SP") && stand("Activation"), "{all:#?}");
}

/// A module that lists no queue at all, as those of the front end, with one that names a queue
/// nevertheless: whatever tells of it says which, and nobody that none was named.
#[test]
fn a_queue_that_is_named_and_nowhere_is_told_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let whole = module(&ROWS[..1]);
    let without = whole.split("queue qA blocks").next().unwrap();
    let path = file(&dir, "q.bir", without);
    for command in ["check", "run"] {
        let all = findings(&[command, text(&path)]);
        assert!(!all.is_empty(), "{command}");
        for f in all.iter().filter(|f| f["severity"] == "error") {
            let message = f["message"].as_str().unwrap();
            assert!(message.contains("`qA`"), "{command}: {f}");
        }
    }
}
