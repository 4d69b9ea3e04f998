//! `--allow`, `--deny` and their comments in files (`docs/checks.md`, "Allow and deny").
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Output};

fn dmadbg(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dmadbg")).args(args).output().unwrap()
}

fn scenario(name: &str) -> String {
    format!("tests/scenarios/{name}")
}

fn text(out: &[u8]) -> String {
    String::from_utf8(out.to_vec()).unwrap()
}

fn script(lines: &str) -> tempfile::NamedTempFile {
    let mut f = tempfile::Builder::new().suffix(".dbg").tempfile().unwrap();
    f.write_all(lines.as_bytes()).unwrap();
    f
}

#[test]
fn an_allowed_error_is_silent_counted_and_no_failure() {
    let file = scenario("order-marker-overtakes.dma");
    assert_eq!(dmadbg(&["check", &file]).status.code(), Some(1));
    let out = dmadbg(&["check", &file, "--allow", "R030"]);
    assert_eq!(out.status.code(), Some(0));
    let said = text(&out.stdout);
    assert!(!said.contains("error[R030]") && said.contains("... 1 of R030 allowed"), "{said}");
    assert!(said.trim_end().ends_with("0 errors, 0 warnings, 0 notes, 1 allowed"), "{said}");
    // In any letter case, several at once.
    let out = dmadbg(&["check", &file, "--allow", "d010,r030"]);
    assert_eq!(out.status.code(), Some(0));
}

#[test]
fn a_denied_warning_is_an_error() {
    let file = scenario("never-written.dma");
    for verb in ["check", "run"] {
        assert_eq!(dmadbg(&[verb, &file]).status.code(), Some(0), "{verb}");
        let out = dmadbg(&[verb, &file, "--deny", "R009"]);
        assert_eq!(out.status.code(), Some(1), "{verb}");
        let said = text(&out.stdout) + &text(&out.stderr);
        assert!(said.contains("error[R009]"), "{said}");
    }
}

#[test]
fn json_has_the_counts() {
    let file = scenario("order-marker-overtakes.dma");
    let out = dmadbg(&["check", &file, "--allow", "R030", "--format", "json"]);
    let lines: Vec<Value> =
        text(&out.stdout).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!((&lines[0]["errors"], &lines[0]["allowed"]), (&0.into(), &1.into()));
    let last = lines.last().unwrap();
    assert_eq!((last["code"].as_str(), last["allowed"].as_u64()), (Some("R030"), Some(1)));
}

#[test]
fn an_unknown_code_is_a_wrong_command_line() {
    let file = scenario("clean.dma");
    for verb in ["check", "run", "info"] {
        let out = dmadbg(&[verb, &file, "--allow", "D0177"]);
        assert_eq!(out.status.code(), Some(2), "{verb}");
        assert!(text(&out.stderr).contains("the nearest is D017"), "{}", text(&out.stderr));
    }
    let out = dmadbg(&["check", &file, "--allow", "D017", "--deny", "D017"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("both allowed and denied"));
}

#[test]
fn the_command_line_wins_over_the_script_and_the_script_over_the_program() {
    let file = scenario("allow-known.dma");
    assert_eq!(dmadbg(&["run", &file]).status.code(), Some(0));
    assert_eq!(dmadbg(&["run", &file, "--deny", "R030"]).status.code(), Some(1));
    let deny = script("# deny R030: here it matters\ngoto end\n");
    let path = deny.path().to_str().unwrap();
    assert_eq!(dmadbg(&["run", &file, "--script", path]).status.code(), Some(1));
    let all = ["run", &file, "--script", path, "--allow", "R030"];
    assert_eq!(dmadbg(&all).status.code(), Some(0));
}

#[test]
fn a_script_with_an_unknown_code_is_wrong_at_its_place() {
    let wrong = script("goto end\n  # allow R30\n");
    let path = wrong.path().to_str().unwrap();
    let out = dmadbg(&["run", &scenario("clean.dma"), "--script", path]);
    assert_eq!(out.status.code(), Some(2));
    let said = text(&out.stderr);
    assert!(said.contains("error[S013]") && said.contains(":2:11"), "{said}");
}

/// What cannot be read cannot be allowed, and a failed assertion is the script's own.
#[test]
fn what_cannot_be_read_stays_an_error() {
    let out = dmadbg(&["check", &scenario("mistakes.dma"), "--allow", "D050,D051,D052,D053,D054"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("error[D051]"));
    let fails = script("assert event == 7\n");
    let path = fails.path().to_str().unwrap();
    let out = dmadbg(&["run", &scenario("clean.dma"), "--script", path, "--allow", "S007"]);
    assert_eq!(out.status.code(), Some(1));
}

#[test]
fn a_comment_in_a_module_counts() {
    let text_of = std::fs::read_to_string("sample-programs/errors/cce-sources.bir").unwrap();
    let mut f = tempfile::Builder::new().suffix(".bir").tempfile().unwrap();
    f.write_all(text_of.replace("bir 2 gen3", "bir 2 gen3\n; allow B052").as_bytes()).unwrap();
    let out = dmadbg(&["check", f.path().to_str().unwrap()]);
    assert!(text(&out.stdout).contains("of B052 allowed"), "{}", text(&out.stdout));
}
