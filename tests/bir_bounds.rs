//! Modules that ask for too much: a diagnostic at whatever stage sees it, soon, and in bounded
//! memory (`docs/limits.md`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::bir::{Layout, Module, exec, verify};
use dmadbg::diag::{Place, Severity};
use dmadbg::engine::lower::{self, Stage};
use dmadbg::engine::module_run::{self, Initial, Options};
use dmadbg::engine::order::Readings;
use dmadbg::engine::validate::{Reference, Verdict, validate};
use dmadbg::limits::{MAX_LOWERED_INSTS, MAX_RUN_SAME_CODE};
use dmadbg::load::bir::{read_json, read_text};
use dmadbg::udma::Generation;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What each part of the way says of a module: codes of errors.
#[derive(Debug, Default)]
struct Said {
    load: BTreeSet<&'static str>,
    verify: BTreeSet<&'static str>,
    lower: BTreeSet<&'static str>,
    run: BTreeSet<&'static str>,
    insts: u64,
}

/// Every stage takes it, whatever the stages before said.
fn all_stages(module: Module) -> Said {
    let mut said = Said::default();
    let module = Arc::new(module);
    let error = |d: &dmadbg::diag::Diagnostic| d.severity == Severity::Error;
    let found = verify::verify(&module, &Layout::new(&module));
    said.verify.extend(found.iter().filter(|f| error(&f.diag)).map(|f| f.diag.code));
    let lowered = lower::lower(&module, &lower::Options::default(), Stage::LowerDma);
    said.lower.extend(lowered.findings().filter(|f| error(&f.diag)).map(|f| f.diag.code));
    lowered.module().unwrap().visit(&mut |_| said.insts += 1);
    assert!(lowered.findings().count() as u64 <= 2 * MAX_RUN_SAME_CODE);
    let few = exec::Options { max_steps: 100_000, max_bytes: 1 << 24 };
    let initial = Initial::default();
    let reference = Reference::new(module, &initial, &few).unwrap();
    said.run.extend(reference.findings.iter().filter(|f| error(&f.diag)).map(|f| f.diag.code));
    let options = Options::new(Generation::V3);
    if let Ok(p) = module_run::program(&lowered, &|_| Place::default(), &initial, &options) {
        let v = validate(&lowered, Some(&p), &initial, &few).unwrap();
        assert_eq!(v.first_bad().is_some(), !reference.complete || !said.lower.is_empty());
        if !reference.complete {
            let v = reference.judge_rings(&p, Readings::default());
            assert!(matches!(v, Verdict::Failed(_)), "{v:?}");
        }
    }
    said
}

fn text(body: &str, dims: &str) -> String {
    format!(
        "bir 2 gen3

func main {{
  set x_set : uint8 Internal {{
    location x DRAM {dims} addr=0
  }}
  set i_set : int32 ExternalInput {{
    location i DRAM [64] addr=0
  }}
  set y_set : uint8 ExternalOutput {{
    location y DRAM [64] addr=0
  }}
  register r0
  block Block1:
{body}
}}

queue q blocks=[]
"
    )
}

fn judged(body: &str, dims: &str) -> Said {
    let began = Instant::now();
    let text = text(body, dims);
    let said = match read_text("m", &text) {
        Ok(m) => all_stages(m.module),
        Err(e) => Said { load: e.iter().map(|d| d.code).collect(), ..Said::default() },
    };
    assert!(began.elapsed() < Duration::from_secs(120), "{body}: {:?}", began.elapsed());
    said
}

const COPY: &str =
    "%c = DMACopy SP queue=q dge_type=None ins(x[[1, 8]] : uint8) outs(y[[1, 8]] : uint8)";

#[test]
fn a_loop_of_2_to_the_40_iterations_does_not_become_as_many_blocks() {
    let ends = 1u64 << 40;
    let body = format!(
        "    %l = Loop for j in 0..{ends} step 1 {{\n      block b:\n        {COPY}\n    }}"
    );
    let said = judged(&body, "[64]");
    assert!(said.load.is_empty() && said.verify == BTreeSet::from(["L058"]), "{said:?}");
    assert!(said.lower.contains("L024") && said.run.contains("B070"), "{said:?}");
    assert!(said.insts < 100, "{said:?}");
    // Two of 2^20 come to the same.
    let body = format!(
        "    %l = Loop for j in 0..1048576 step 1 {{\n      block b:\n        %k = Loop for k in 0..1048576 step 1 {{\n          block c:\n            {COPY}\n        }}\n    }}"
    );
    let said = judged(&body, "[64]");
    assert!(said.lower.contains("L024") && said.run.contains("B070"), "{said:?}");
    // One that no transfer is in is left alone.
    let body = format!(
        "    %l = Loop for j in 0..{ends} step 1 {{\n      block b:\n        %n = NoOp SP ins() outs()\n    }}"
    );
    let said = judged(&body, "[64]");
    assert!(said.lower.is_empty() && said.run.contains("B070"), "{said:?}");
}

#[test]
fn loops_above_the_limit_are_refused_before_they_are_begun_and_those_below_are_lowered() {
    // A descriptor, its block and, counted each time, the trigger. That exactly so many are
    // allowed, `lower::context` tests without making them.
    let most = MAX_LOWERED_INSTS / 3;
    for (trips, refused) in [(1 << 16, false), (most + 1, true), (MAX_LOWERED_INSTS + 1, true)] {
        let body = format!(
            "    %l = Loop for j in 0..{trips} step 1 {{\n      block b:\n        {COPY}\n    }}"
        );
        let m = read_text("m", &text(&body, "[64]")).unwrap().module;
        let lowered = lower::lower(&m, &lower::Options::default(), Stage::LowerDma);
        assert_eq!(lowered.has_errors(), refused, "{trips}");
        assert_eq!(
            lowered.stage(Stage::LowerDma).unwrap().stats.blocks,
            if refused { 0 } else { trips }
        );
    }
}

#[test]
fn an_endless_run_ends_with_a_diagnostic() {
    let endless =
        "    %n = NoOp SP ins() outs()\n    %j = UnconditionalBranch SP target=Block1 ins() outs()";
    let said = judged(endless, "[64]");
    assert!(said.run.contains("B070"), "{said:?}");
}

#[test]
fn numbers_beyond_64_bits_are_told() {
    let copy = |x: &str, y: &str| {
        format!("    %c = DMACopy SP queue=q dge_type=None ins(x{x} : uint8) outs(y{y} : uint8)")
    };
    for (x, y) in [
        // A step of nearly 2^63, one of 2^63, and a product that overflows.
        ("[[9223372036854775807, 2]]", "[[1, 2]]"),
        ("[[9223372036854775808, 2]]", "[[1, 2]]"),
        ("[[-9223372036854775808, 2]]", "[[1, 2]]"),
        ("[[9223372036854775807, 3], [9223372036854775807, 3]]", "[[1, 9]]"),
        (
            "[[0, 4294967296], [0, 4294967296], [0, 4]]",
            "[[0, 4294967296], [0, 4294967296], [0, 4]]",
        ),
        ("[[1, 8]] +9223372036854775807", "[[1, 8]]"),
        ("[[1, 18446744073709551615]]", "[[1, 18446744073709551615]]"),
    ] {
        let said = judged(&copy(x, y), "[64]");
        if said.load.is_empty() {
            assert!(!said.verify.is_empty() && !said.run.is_empty(), "{x}: {said:?}");
            assert!(!said.lower.is_empty(), "{x}: {said:?}");
        }
    }
    // A location whose size overflows.
    for dims in ["[4294967296, 4294967296, 4]", "[18446744073709551615, 2]"] {
        let said = judged(&copy("[[1, 8]]", "[[1, 8]]"), dims);
        assert!(!said.load.is_empty() || !said.verify.is_empty(), "{dims}: {said:?}");
    }
    // A loop whose values overflow.
    for bounds in [
        "-9223372036854775808..9223372036854775807 step 1",
        "0..9223372036854775807 step 9223372036854775807",
    ] {
        let body = format!(
            "    %l = Loop for j in {bounds} {{\n      block b:\n        {}\n    }}",
            COPY.replace(
                "[[1, 8]] : uint8) outs",
                "_set[[1, 8]] at((9223372036854775807*$j)) : uint8) outs"
            )
        );
        let said = judged(&body, "[64]");
        assert!(
            said.lower.is_empty() || said.lower.contains("L024") || said.lower.contains("L007"),
            "{said:?}"
        );
    }
}

#[test]
fn more_elements_than_can_be_moved_are_refused() {
    let body = "    %c = DMACopy SP queue=q dge_type=None ins(x[[0, 1099511627776]] : uint8) outs(y[[0, 1099511627776]] : uint8)";
    let said = judged(body, "[64]");
    assert!(said.lower.contains("L024") && !said.run.is_empty(), "{said:?}");
    assert!(said.insts < 100, "{said:?}");
}

#[test]
fn an_index_list_of_2_to_the_40_is_refused() {
    let n = 1u64 << 40;
    let body = format!(
        "    %c = DMACopy Pool queue=q dge_type=SWDGE ins(x_set[[0, {n}]] at(arg(1)) : uint8, i[[0, {n}]] : int32) outs(y[[0, {n}]] : uint8)"
    );
    let said = judged(&body, "[64]");
    assert!(!said.verify.is_empty() && !said.lower.is_empty() && !said.run.is_empty(), "{said:?}");
    assert!(said.insts < 100, "{said:?}");
}

#[test]
fn references_in_a_circle_are_told() {
    for body in [
        "    %a = DMACopy SP queue=q dge_type=None ins(x[[1, 8]] : uint8) outs(y[[1, 8]] : uint8) after(b)\n    %b = DMACopy Pool queue=q dge_type=None ins(x[[1, 8]] : uint8) outs(y[[1, 8]] : uint8) after(a)",
        "    %a = DMACopy SP queue=q dge_type=None ins(x[[1, 8]] : uint8) outs(y[[1, 8]] : uint8) after(a)",
    ] {
        let said = judged(body, "[64]");
        assert!(
            !said.load.is_empty() || (said.verify.contains("B066") && !said.run.is_empty()),
            "{said:?}"
        );
    }
}

#[test]
fn ten_thousand_levels_are_a_diagnostic() {
    const DEEP: usize = 10_000;
    let nested = |open: &str, close: &str| open.repeat(DEEP) + &close.repeat(DEEP);
    let json = |inner: String| format!("{{\"functions\": [], \"x\": {inner}}}");
    for bytes in [
        json(nested("[", "]")),
        json(nested("{\"a\":", "") + "1" + &"}".repeat(DEEP)),
        nested("{\"module\":", "}"),
        "[".repeat(DEEP),
    ] {
        let said = read_json("m", bytes.as_bytes()).unwrap_err();
        assert!(!said.is_empty());
    }
    let mut loops = String::new();
    for n in 0..DEEP {
        loops += &format!("%l{n} = Loop for j{n} in 0..2 step 1 {{\nblock b:\n");
    }
    loops += COPY;
    loops += &"\n}".repeat(DEEP);
    assert!(!judged(&loops, "[64]").load.is_empty());
    let expr = nested("(2*", ")").replacen("*)", "*$j)", 1);
    let body = format!(
        "%c = DMACopy SP queue=q ins(x_set[[1, 8]] at({expr}) : uint8) outs(y[[1, 8]] : uint8)"
    );
    assert!(!judged(&body, "[64]").load.is_empty());
    // As many as can be read go all the way.
    let mut loops = String::new();
    for n in 0..40 {
        loops += &format!("%l{n} = Loop for j{n} in 0..1 step 1 {{\nblock b:\n");
    }
    loops += COPY;
    loops += &"\n}".repeat(40);
    let said = judged(&loops, "[64]");
    assert!(said.load.is_empty() && said.lower.is_empty(), "{said:?}");
}
