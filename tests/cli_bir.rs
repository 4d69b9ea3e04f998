//! The real binary on modules: `gen`, `fmt`, `shrink`, `info`, and `provenance` in scripts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod run_support;

use run_support::*;
use serde_json::{Value, json};
use std::path::Path;

/// Runs commands on a module.
fn script(module: &str, commands: &str) -> Ran {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.dbg");
    std::fs::write(&path, commands).unwrap();
    run(&["run", module, "--no-init", "--script", text(&path)])
}

#[test]
fn the_same_number_gives_the_same_module_and_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let memory = dir.path().join("m.json");
    let module = dir.path().join("m.bir");
    let again = run(&["gen", "--seed", "11"]);
    let r = run(&["gen", "--seed", "11", "-o", text(&module), "--memory-out", text(&memory)]);
    assert_eq!((r.status, r.out.as_str()), (0, ""), "{}", r.err);
    assert_eq!(std::fs::read_to_string(&module).unwrap(), again.out);
    assert_ne!(run(&["gen", "--seed", "12"]).out, again.out);
    let given: Value = serde_json::from_slice(&std::fs::read(&memory).unwrap()).unwrap();
    assert!(given.as_object().unwrap().values().all(|v| v.as_str().unwrap().len() % 2 == 0));
    let r = run(&["lower", text(&module), "--verify", "--memory-in", text(&memory)]);
    assert_eq!(r.status, 0, "{}{}", r.out, r.err);
    let json = run(&["gen", "--seed", "11", "--format", "json"]);
    let v: Value = serde_json::from_str(&json.out).unwrap();
    assert!(v["functions"].is_array());
}

#[test]
fn several_modules_go_into_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("many");
    let r = run(&[
        "gen",
        "--count",
        "3",
        "--seed",
        "7",
        "--plain",
        "-o",
        text(&to),
        "--memory-out",
        text(&to),
    ]);
    assert_eq!(r.status, 0, "{}", r.err);
    let mut names: Vec<String> = std::fs::read_dir(&to)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let all = [7, 8, 9].map(|n| [format!("module-{n}.bir"), format!("module-{n}.memory.json")]);
    assert_eq!(names, all.concat());
    let r = run(&["gen", "--count", "3"]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("S011") && r.err.contains("directory"), "{}", r.err);
}

#[test]
fn text_and_json_are_turned_into_each_other_and_back() {
    let dir = tempfile::tempdir().unwrap();
    for seed in ["1", "2", "3"] {
        let path = dir.path().join("a.bir");
        assert_eq!(run(&["gen", "--seed", seed, "-o", text(&path)]).status, 0);
        let first = std::fs::read_to_string(&path).unwrap();
        assert_eq!(run(&["fmt", "--check", text(&path)]).status, 0);
        let json = run(&["fmt", "--to", "json", text(&path)]);
        assert_eq!(json.status, 0, "{}", json.err);
        let other = dir.path().join("a.json");
        std::fs::write(&other, &json.out).unwrap();
        assert_eq!(run(&["fmt", "--check", text(&other)]).status, 0);
        assert_eq!(run(&["fmt", "--to", "text", text(&other)]).out, first);
    }
}

#[test]
fn fmt_says_what_would_change_and_writes_only_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.bir");
    assert_eq!(run(&["gen", "--seed", "5", "-o", text(&path)]).status, 0);
    let good = std::fs::read_to_string(&path).unwrap();
    let loose = good.replacen("  ", "      ", 1).replacen('\n', "\n\n; a remark\n", 1);
    std::fs::write(&path, &loose).unwrap();
    let r = run(&["fmt", "--check", text(&path)]);
    assert_eq!((r.status, r.out.contains("would change")), (1, true), "{}{}", r.out, r.err);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), loose);
    let r = run(&["fmt", text(&path)]);
    assert!(r.status == 0 && r.out.contains("; a remark\n"));
    assert_eq!(run(&["fmt", "--write", text(&path)]).status, 0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), r.out);
    let without: String =
        r.out.lines().filter(|l| *l != "; a remark").map(|l| format!("{l}\n")).collect();
    assert_eq!(without, good);
    let json = run(&["fmt", "--to", "json", text(&path)]);
    assert!(json.status == 0 && json.err.contains("comments"), "{}", json.err);
}

#[test]
fn what_cannot_be_printed_is_told_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let (bad, json) = (dir.path().join("bad.bir"), dir.path().join("bad.json"));
    std::fs::write(&bad, "bir 2 gen3\nfunc main {\n  wrong here\n}\n").unwrap();
    std::fs::write(&json, "{\"functions\": [}").unwrap();
    let r = run(&["fmt", text(&bad), text(&json)]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("bad.bir:3:3"), "{}", r.err);
    assert!(r.err.contains("bad.json:1:16"), "{}", r.err);
    assert_eq!(run(&["fmt", "--check", "no-such-file"]).status, 2);
}

#[test]
fn nothing_is_shrunk_where_nothing_goes_wrong() {
    let r = run(&["shrink", "sample-programs/copy.bir"]);
    assert_eq!((r.status, r.out.as_str()), (0, ""), "{}", r.err);
    assert!(r.err.contains("nothing goes wrong"), "{}", r.err);
    let r = run(&["shrink", "sample-programs/copy-4k.dma"]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("no module"), "{}", r.err);
}

#[cfg(unix)]
#[test]
fn a_program_can_say_what_goes_wrong() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("judge");
    std::fs::write(&program, "#!/bin/sh\n! grep -q DMACopy \"$1\"\n").unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let small = dir.path().join("small.bir");
    let r = run(&[
        "shrink",
        "sample-programs/gather.bir",
        "--property",
        text(&program),
        "-o",
        text(&small),
    ]);
    assert_eq!(r.status, 1, "{}", r.err);
    let small = std::fs::read_to_string(&small).unwrap();
    assert_eq!(small.matches("DMACopy").count(), 1, "{small}");
    assert!(r.err.starts_with("1 of 2 instructions left"), "{}", r.err);
    let r = run(&["shrink", "sample-programs/copy.bir", "--property", "no-such-program-here"]);
    assert_eq!(r.status, 2);
}

#[test]
fn info_of_a_module_tells_its_budget() {
    let r = run(&["info", "sample-programs/gather.bir"]);
    assert_eq!(r.status, 0, "{}", r.err);
    for part in ["budget", "qPoolDyn0", "SWDGE of depth 1020", "spent by %I-2 DMACopy"] {
        assert!(r.out.contains(part), "{part}: {}", r.out);
    }
    let r = run(&["info", "--format", "json", "sample-programs/gather.bir"]);
    let lines: Vec<Value> = r.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let b = &lines.iter().find(|l| l.get("budget").is_some()).unwrap()["budget"];
    assert_eq!((&b["queues"][0]["blocks"], &b["queues"][0]["descriptors"]), (&9.into(), &9.into()));
    assert_eq!(
        (&b["limits"]["queue"], &b["limits"]["driver_batch"]),
        (&16_777_200.into(), &2033.into())
    );
    // One META for the cast, one Tx for each row, and a completion pair for each of nine blocks.
    assert_eq!((&b["all"]["tx"], &b["all"]["rx"]), (&19.into(), &18.into()));
}

#[test]
fn provenance_goes_from_the_line_to_the_slots_and_back() {
    let r = script(
        "sample-programs/gather.bir",
        "finish\nfinish\nprovenance %I-2\nprov rx[2]\nprov dma_block_1\nprov idx\nprov qPoolDyn0\n",
    );
    assert_eq!(r.status, 0, "{}{}", r.out, r.err);
    let source = "source     sample-programs/gather.bir:24:5: %I-2 DMACopy";
    assert!(r.out.matches(source).count() >= 3, "{}", r.out);
    for part in [
        "unroll     %I-2_0 DMACopy, %I-2_1 DMACopy",
        "block      qPoolDyn0 dma_block_1, descriptor 0",
        "slots      e0.q0.rx[2]",
        "slot       e0.q0.rx[2] (qPoolDyn0)",
        "block      dma_block_1, descriptor 0 of 1, fire 0",
        "run as     %I-2_0 DMATrigger on Pool",
        "written by %I-1 DMACopy",
        "queue      qPoolDyn0 is e0.q0",
        "the lap of the ring",
    ] {
        assert!(r.out.contains(part), "{part}: {}", r.out);
    }
}

#[test]
fn an_address_in_a_ring_is_its_slot() {
    let r = script(
        "sample-programs/gather.bir",
        "finish\nprovenance rx[0]\nprint rx[0].addr\nprov 0x18000004000\n",
    );
    assert_eq!(r.status, 0, "{}{}", r.out, r.err);
    assert!(r.out.matches("slot       e0.q0.rx[0]").count() == 2, "{}", r.out);
}

#[test]
fn a_wrong_name_is_pointed_at_and_the_nearest_is_named() {
    for (line, column, help) in [
        ("provenance %I-3", 12, "`I-1` or `I-2`"),
        ("prov  dma_block_11", 7, "`dma_block_1`"),
        ("prov tx[99999]", 6, "1024"),
    ] {
        let r = script("sample-programs/gather.bir", &format!("{line}\n"));
        assert_eq!(r.status, 2, "{line}");
        assert!(r.err.contains(&format!("s.dbg:1:{column}")), "{line}: {}", r.err);
        assert!(r.err.contains("S005") && r.err.contains(help), "{line}: {}", r.err);
    }
    let r = script("sample-programs/gather.bir", "prov tx[0:3]\n");
    assert!(r.status == 2 && r.err.contains("S003") && r.err.contains(":1:6"), "{}", r.err);
    let r = script("sample-programs/copy-4k.dma", "prov %I-1\n");
    assert!(r.status == 2 && r.err.contains("not made of a module"), "{}", r.err);
    // A slot of rings without a module tells who wrote it.
    let r = script("sample-programs/copy-4k.dma", "goto end\nprov tx[0]\n");
    assert!(r.status == 0 && r.out.contains("written    event 19, host"), "{}{}", r.out, r.err);
}

#[test]
fn going_back_takes_the_origins_along() {
    let module = "sample-programs/gather.bir";
    let there = script(module, "goto 60\nprov rx[0]\nprov rx[2]\n");
    let back = script(module, "continue\ngoto 60\nprov rx[0]\nprov rx[2]\n");
    let tail = |r: &Ran| {
        let at = r.out.find("slot       ").unwrap();
        r.out[at..].to_owned()
    };
    assert_eq!(tail(&there), tail(&back));
    assert!(tail(&back).contains("block      dma_block_0, descriptor 0 of 1"), "{}", back.out);
    let r = script(module, "continue\nrestart\nprov rx[0]\n");
    assert!(r.out.contains("no instruction has put a descriptor there yet"), "{}", r.out);
}

/// What a later stage refuses does not keep an earlier one from being run.
#[test]
fn a_module_runs_at_every_stage_that_it_reaches() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.bir");
    let sample = std::fs::read_to_string("sample-programs/transpose.bir").unwrap();
    // A permutation that has a meaning, but that Check refuses.
    let other = sample
        .replace("transpose_op=XZYW", "transpose_op=WXZY")
        .replace("tile SB [4, 24]", "tile SB [2, 48]")
        .replace("tile[[12, 4], [4, 3], [2, 2], [1, 2]]", "tile[[24, 2], [6, 4], [2, 3], [1, 2]]");
    std::fs::write(&path, other).unwrap();
    for (stage, status) in [("loaded", 0), ("split", 0), ("check", 1), ("rings", 1)] {
        let ran = run(&["run", text(&path), "--stage", stage]);
        assert_eq!(ran.status, status, "{stage}: {}", ran.err);
        assert_eq!(ran.err.contains("error["), status == 1, "{stage}: {}", ran.err);
    }
}

/// What is wrong with an instruction is known only when its time comes: on rings, too, it is an
/// error with the instruction's place.
#[test]
fn an_index_out_of_range_is_an_error_on_rings() {
    let dir = tempfile::tempdir().unwrap();
    let memory = dir.path().join("m.json");
    let path = dir.path().join("gather.bir");
    let sample = std::fs::read_to_string("sample-programs/gather.bir").unwrap();
    let small = sample.replace("table DRAM [1024]", "table DRAM [512]");
    assert_ne!(sample, small);
    std::fs::write(&path, small).unwrap();
    let module = text(&path);
    std::fs::write(
        &memory,
        format!("{{\"rows\":\"{}\",\"table\":\"{}\"}}", "ff".repeat(8), "00".repeat(512)),
    )
    .unwrap();
    for stage in ["loaded", "unroll", "lower_dma", "rings"] {
        let ran = run(&["run", module, "--stage", stage, "--memory-in", text(&memory)]);
        assert_eq!(ran.status, 1, "{stage}: {}", ran.out);
        assert!(
            ran.err.contains("error[B") && ran.err.contains("gather.bir:"),
            "{stage}: {}",
            ran.err
        );
    }
}

/// A loop that nobody lives to see the end of: every verb says so, none begins to count.
#[test]
fn a_loop_without_an_end_in_sight_is_refused_by_every_verb() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.json");
    let place = |name: &str| {
        json!({ "Skind": "memory_location_set", "name": format!("{name}_set"), "dtype": "uint8",
            "kind": "Internal", "tensor_shape": [64], "memorylocations": [{ "name": name,
            "type": "DRAM", "addr": if name == "x" { 0 } else { 4096 }, "dims": [64] }] })
    };
    let side = |name: &str| {
        json!([{ "kind": "physical_ap", "ap": [[1, 8]], "offset": 0, "dtype": "uint8",
            "memref": name, "memsetref": format!("{name}_set") }])
    };
    let body = json!([{ "name": "body", "instructions": [{ "name": "I-1", "opcode": "DMACopy",
        "engine": "SP", "queue": "q", "dge_type": "None", "can_read_uninit": true,
        "ins": side("x"), "outs": side("y") }] }]);
    let fixed = json!([{ "opcode": "Loop", "blocks": body,
        "LoopAxis": { "name": "i", "lb": 0, "ub": 1u64 << 40, "stride": 1 } }]);
    // Here only the run knows that there is no end.
    let endless = json!([
        { "name": "I-0", "opcode": "RegisterMove", "engine": "SP",
            "ins": [{ "kind": "imm_value", "dtype": "int32", "value": 9 }],
            "outs": [{ "kind": "register_access", "dtype": "int32", "regref": "r" }] },
        { "name": "W", "opcode": "DoWhile", "engine": "SP", "blocks": body,
            "cond": { "kind": "IntRuntimeValueKind", "regref": "r" } }]);
    let verbs = ["check", "run", "lower"];
    for (insts, verbs) in [(fixed, &verbs[..]), (endless, &verbs[..1])] {
        let register = json!({ "Skind": "register", "name": "r", "dtype": "int32" });
        let module = json!({ "version": 2, "arch": "gen3", "queues": [{ "name": "q" }],
            "functions": [{ "name": "f", "allocations": [place("x"), place("y"), register],
                "blocks": [{ "name": "B", "instructions": insts }] }] });
        std::fs::write(&path, module.to_string()).unwrap();
        for verb in verbs {
            let ran = run(&[verb, text(&path)]);
            let said = format!("{}{}", ran.out, ran.err);
            assert!(said.contains("error[B070]") || said.contains("error[L0"), "{verb}: {said}");
            assert_eq!(ran.status, 1, "{verb}: {said}");
        }
    }
    let ran = run(&["run", text(&path), "--stage", "loaded"]);
    assert!(ran.status == 1 && ran.err.contains("error[B070]"), "{}", ran.err);
}

#[test]
fn names_that_are_shown_can_be_typed_wherever_a_place_or_a_value_is() {
    let module = "sample-programs/scalar-offset.bir";
    for (line, want) in [
        ("print y", "y = "),
        ("print mem8[y]", "mem8[y] = "),
        ("x/4w y", "0x"),
        ("x y+4", "0x"),
        ("origin y", "y ("),
        ("last-write y", "y ("),
        ("next-read y", "y ("),
        ("break y", "breakpoint 1: y"),
        ("break y+4", "breakpoint 1: y+0x4"),
        ("watch y+4", "watchpoint 1: y + 4 (4 bytes at y+0x4"),
        ("explain y+4", "is y+0x4 in"),
        ("explain y", "y"),
        ("goto end; print r0", "r0 = 5"),
        ("print \"qPoolDyn0.marker\"", "\"qPoolDyn0.marker\" = "),
    ] {
        let lines = line.replace("; ", "\n") + "\n";
        let r = script(module, &lines);
        assert!(r.status < 2 && r.out.contains(want), "{line}: {}{}", r.out, r.err);
    }
    // A region of rings without a module as well.
    let r = script("sample-programs/copy-4k.dma", "x/1w buffer\nbreak buffer\nbreak hbm+0x10\n");
    assert!(r.status == 0 && r.out.contains("breakpoint 2: hbm+0x10"), "{}{}", r.out, r.err);
    for line in ["print foo", "x foo+4", "break foo+4", "print r1", "set y = 4"] {
        let r = script(module, &format!("{line}\n"));
        assert!(r.status == 2 && r.err.contains("s.dbg:1:"), "{line}: {}{}", r.out, r.err);
    }
}

#[test]
fn a_position_before_the_start_is_refused() {
    for line in ["goto -1", "goto event-1", "goto event - 3"] {
        let r = script("sample-programs/copy.bir", &format!("{line}\n"));
        assert!(
            r.status == 2 && r.err.contains("event 0 is the start"),
            "{line}: {}{}",
            r.out,
            r.err
        );
    }
    let r = script("sample-programs/copy.bir", "expect stop %I-1\n");
    assert!(r.status == 1 && r.err.contains("nothing has happened yet"), "{}", r.err);
}

/// A module that waits for more than is ever updated: the verifier says so, and it can be run.
fn deadlocked(dir: &Path) -> std::path::PathBuf {
    let text = std::fs::read_to_string("sample-programs/semaphores.bir").unwrap();
    let path = dir.join("dead.bir");
    std::fs::write(&path, text.replace("wait(sem 2 >= 1 from I-2)", "wait(sem 2 >= 2 from I-2)"))
        .unwrap();
    path
}

#[test]
fn a_module_with_an_error_is_run_and_the_status_says_that_it_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let module = deadlocked(dir.path());
    let r = script(text(&module), "goto end\nwhy\n");
    assert_eq!(r.status, 1, "{}{}", r.out, r.err);
    assert!(r.out.contains("it waits for semaphore 2 to be 2"), "{}", r.out);
    assert!(r.err.contains("error[B069]"), "{}", r.err);
    // Nothing of it is run before the rings.
    let r = run(&["run", text(&module), "--no-init", "--stage", "loaded"]);
    assert!(r.status == 1 && r.out.is_empty() && r.err.contains("error[B069]"), "{}", r.err);
}

#[test]
fn slots_that_no_ring_has_are_refused_and_not_made_others() {
    for (n, want) in [
        ("0", "from 256 to 16777200"),
        ("32", "from 256 to 16777200"),
        ("99999999", "from 256 to 16777200"),
        ("1000", "992 or 1008"),
    ] {
        let r = run(&["lower", "sample-programs/copy.bir", "--ring-slots", n]);
        assert!(r.status == 2 && r.err.contains(want), "{n}: {}", r.err);
    }
    let r = run(&["lower", "sample-programs/copy.bir", "--ring-slots", "256"]);
    assert_eq!(r.status, 0, "{}", r.err);
}

#[test]
fn memory_that_does_not_fit_is_told_of_its_own_file() {
    let dir = tempfile::tempdir().unwrap();
    let memory = dir.path().join("m.json");
    std::fs::write(&memory, "{\"x\": \"00\", \"nobody\": \"00\"}").unwrap();
    let r = run(&["run", "sample-programs/copy.bir", "--no-init", "--memory-in", text(&memory)]);
    assert_eq!(r.status, 2, "{}", r.err);
    assert_eq!(r.err.matches(&format!("--> {}", text(&memory))).count(), 2, "{}", r.err);
    assert!(!r.err.contains("--> sample-programs/copy.bir"), "{}", r.err);
}

#[test]
fn a_verb_that_there_is_not_is_told_before_the_terminal_is_missed() {
    let r = run(&["lwoer", "sample-programs/copy.bir"]);
    assert!(r.status == 2 && r.err.contains("did you mean the verb `lower`?"), "{}", r.err);
}
