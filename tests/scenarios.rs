//! Scenario files: a program or an image, what goes wrong in words, and exactly what the tool
//! must say. A user's report becomes one by putting its ring into a file here.
//!
//! The first comment that begins with `test:` says what to run (`check` or `run`, then options).
//! `expect SEVERITY[CODE] at SLOT: part of the message` names a finding, the place and the part
//! optional; on the concerned line itself `SEVERITY[CODE]: part` does. `status: N` is the exit
//! status. Nothing may be missing and nothing more may be said.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::diag::codes::CODES;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a scenario says must come.
#[derive(Debug)]
struct Expected {
    severity: String,
    code: String,
    slot: Option<String>,
    line: Option<u64>,
    part: String,
}

/// A finding of the tool.
#[derive(Debug)]
struct Found {
    severity: String,
    code: String,
    slot: Option<String>,
    line: Option<u64>,
    message: String,
}

#[derive(Debug, Default)]
struct Scenario {
    args: Vec<String>,
    status: Option<i32>,
    expected: Vec<Expected>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().path());
    let mut all: Vec<PathBuf> =
        entries.filter(|p| p.extension().is_some_and(|e| e != "dbg")).collect();
    all.sort();
    all
}

/// `error[D012] at tx[3]: part`, the place and the part optional.
fn expectation(text: &str, line: Option<u64>) -> Option<Expected> {
    let (severity, rest) = text.split_once('[')?;
    let (code, rest) = rest.split_once(']')?;
    let known = ["error", "warning", "note"].contains(&severity);
    if !known || !code.chars().all(|c| c.is_ascii_alphanumeric()) {
        return None;
    }
    let (at, part) = match rest.strip_prefix(" at ") {
        Some(rest) => {
            let (at, part) = rest.split_once(": ").unwrap_or((rest, ""));
            (Some(at.trim().to_owned()), part)
        }
        None => (None, rest.strip_prefix(": ").unwrap_or(rest)),
    };
    let (severity, code) = (severity.to_owned(), code.to_owned());
    Some(Expected { severity, code, slot: at, line, part: part.trim().to_owned() })
}

fn read(path: &Path) -> Scenario {
    let mark = if path.extension().is_some_and(|e| e == "hex") { '#' } else { ';' };
    let mut s = Scenario::default();
    for (line, n) in std::fs::read_to_string(path).unwrap().lines().zip(1u64..) {
        let Some((before, comment)) = line.split_once(mark) else { continue };
        let comment = comment.trim();
        if let Some(run) = comment.strip_prefix("test: ") {
            s.args = run.split_whitespace().map(str::to_owned).collect();
        } else if let Some(status) = comment.strip_prefix("status: ") {
            s.status = Some(status.parse().unwrap());
        } else if let Some(text) = comment.strip_prefix("expect ") {
            s.expected.push(expectation(text, None).unwrap_or_else(|| panic!("{path:?}:{n}")));
        } else if let Some(e) = expectation(comment, Some(n)) {
            assert!(!before.trim().is_empty(), "{path:?}:{n} concerns no line");
            s.expected.push(e);
        }
    }
    assert!(!s.args.is_empty(), "{path:?} does not say what to run");
    s
}

fn findings(text: &str) -> Vec<Found> {
    let objects = text.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok());
    let finding = |v: serde_json::Value| {
        let text = |k: &str| v[k].as_str().map(str::to_owned);
        Some(Found {
            severity: text("severity")?,
            code: text("code")?,
            slot: text("slot"),
            line: v["line"].as_u64(),
            message: text("message")?,
        })
    };
    objects.filter_map(finding).collect()
}

/// Runs one; answers what is wrong with it.
fn run(path: &Path) -> String {
    let s = read(path);
    let name = path.file_name().unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .current_dir(folder())
        .arg(&s.args[0])
        .arg(name)
        .args(&s.args[1..])
        .args(if s.args[0] == "run" { &["--no-init"][..] } else { &[] })
        .args(["--format", "json", "--all"])
        .output()
        .unwrap();
    // `check` tells its findings on standard output, `run` beside its events.
    let result = s.args[0] == "check" && done.status.code() != Some(2);
    let out = if result { &done.stdout } else { &done.stderr };
    let mut found = findings(&String::from_utf8_lossy(out));
    let mut wrong = String::new();
    for e in &s.expected {
        let fits = |f: &Found| {
            (&f.severity, &f.code) == (&e.severity, &e.code)
                && e.slot.as_ref().is_none_or(|at| f.slot.as_ref() == Some(at))
                && e.line.is_none_or(|at| f.line == Some(at))
                && f.message.contains(&e.part)
        };
        match found.iter().position(fits) {
            Some(i) => drop(found.remove(i)),
            None => writeln!(wrong, "  missing: {e:?}").unwrap(),
        }
    }
    for f in &found {
        let at = f.slot.as_ref().map(|s| format!(" at {s}")).unwrap_or_default();
        writeln!(wrong, "  not expected: {}[{}]{at}: {}", f.severity, f.code, f.message).unwrap();
    }
    let errors = s.expected.iter().any(|e| e.severity == "error");
    let status = s.status.unwrap_or(i32::from(errors));
    if done.status.code() != Some(status) {
        writeln!(wrong, "  status {:?}, not {status}", done.status.code()).unwrap();
    }
    if !wrong.is_empty() {
        wrong = format!("{}\n{wrong}", name.display());
    }
    wrong
}

#[test]
fn scenarios_say_exactly_what_they_are_to_say() {
    let files = files();
    assert!(files.len() > 60, "only {} scenarios", files.len());
    let wrong: String = files.iter().map(|f| run(f)).collect();
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Every scenario that goes wrong stands for a mistake; those that end in `-clean` are right.
#[test]
fn clean_scenarios_are_clean_and_the_others_are_not() {
    for f in files() {
        let s = read(&f);
        let name = f.file_stem().unwrap().to_string_lossy().into_owned();
        let clean = name.ends_with("clean");
        let alarms = s.expected.iter().any(|e| e.severity != "note");
        // Remarks are no alarms, and what is allowed is silent.
        let quiet = ["allow-known", "copy-controls", "meta-remarks"].contains(&name.as_str())
            || name.starts_with("image-");
        assert_eq!(alarms, !clean && !quiet, "{name}");
    }
}

/// Codes of images and runs that no scenario needs to show: other tests do. Loading and
/// assembling (`tests/bad_input.rs`, `src/load`), authoring (`tests/author.rs`), modules
/// (`sample-programs/errors`, `tests/lowering.rs`), and a bound of the order check.
const ELSEWHERE: &[&str] = &[
    "D001", "D002", "D003", "D004", "D005", "D006", "D007", "D008", "D009", "D011", "D025", "D029",
    "D030", "D031", "D032", "D033", "D034", "D035", "D036", "D040", "D041", "D042", "D060", "D061",
    "D062", "D063", "D064", "D065", "D066", "D067", "D068", "R024", "R025", "R036",
    // An edit, and an order: `tests/whatif.rs`, `tests/cli_order.rs`.
    "R040", "R045",
];

/// A check without a failing example is no check: a new code asks for a scenario.
#[test]
fn every_code_of_images_and_runs_has_a_scenario() {
    let shown: BTreeSet<String> =
        files().iter().flat_map(|f| read(f).expected).map(|e| e.code).collect();
    let of_rings = CODES.iter().map(|c| c.code).filter(|c| c.starts_with(['D', 'R']));
    let missing: Vec<&str> =
        of_rings.filter(|c| !shown.contains(*c) && !ELSEWHERE.contains(c)).collect();
    assert!(missing.is_empty(), "no scenario shows {missing:?}");
    let both: Vec<_> = ELSEWHERE.iter().filter(|c| shown.contains(**c)).collect();
    assert!(both.is_empty(), "{both:?} have scenarios now");
}
