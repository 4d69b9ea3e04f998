//! Saying what came of tests: lines for people, JSON lines for tools (`docs/json.md`).

use super::{Case, Outcome};
use crate::cli::difference;
use crate::cli::out::{Out, Status, Style};
use crate::diag::render::{self, printable};
use crate::script::filetest::{Expectation, Found, Spot};
use serde_json::{Value, json};
use std::io;

use super::exec::Tried;

/// How many files came to what.
#[derive(Debug, Default)]
pub struct Tally {
    /// All came as it says.
    pub passed: usize,
    /// And what it says was changed for that.
    pub blessed: usize,
    /// Something came otherwise.
    pub failed: usize,
    /// Files without a test.
    pub no_test: usize,
    /// What cannot be read or understood, and named files without a test.
    pub unreadable: usize,
}

impl Tally {
    /// Files with a test that was run.
    pub fn tests(&self) -> usize {
        self.passed + self.blessed + self.failed
    }

    /// The exit status.
    pub fn status(&self) -> Status {
        match (self.unreadable, self.failed) {
            (0, 0) => Status::Fine,
            (0, _) => Status::Wrong,
            _ => Status::Unreadable,
        }
    }
}

/// Before the first.
///
/// # Errors
/// Those of the output.
pub fn begin(out: &mut Out<'_>) -> io::Result<()> {
    if out.json() { out.schema("test", &json!({})) } else { Ok(()) }
}

/// One file.
///
/// # Errors
/// Those of the output.
pub fn case(case: &Case, tally: &mut Tally, out: &mut Out<'_>) -> io::Result<()> {
    match &case.outcome {
        Outcome::NoTest if case.named => tally.unreadable += 1,
        Outcome::NoTest => tally.no_test += 1,
        Outcome::Passed(_) => tally.passed += 1,
        Outcome::Blessed(_) => tally.blessed += 1,
        Outcome::Failed(..) => tally.failed += 1,
        Outcome::Unreadable(_) => tally.unreadable += 1,
    }
    if out.json() {
        out.value(&as_json(case))?;
        return out.flush();
    }
    if matches!(case.outcome, Outcome::NoTest) && !case.named {
        return Ok(());
    }
    let word = match &case.outcome {
        Outcome::Passed(_) => "ok".to_owned(),
        Outcome::Blessed(_) => "blessed".to_owned(),
        Outcome::Failed(..) => out.styled(Style::Warn, "FAILED"),
        Outcome::NoTest | Outcome::Unreadable(_) => out.styled(Style::Warn, "ERROR"),
    };
    out.line(&format!("{} ... {word}", printable(&case.path)))?;
    for line in details(case) {
        out.line(&format!("    {line}"))?;
    }
    out.flush()
}

/// After the last.
///
/// # Errors
/// Those of the output.
pub fn end(tally: &Tally, out: &mut Out<'_>) -> io::Result<()> {
    let Tally { passed, blessed, failed, no_test, unreadable } = tally;
    if out.json() {
        return out.value(&json!({
            "tests": tally.tests(), "passed": passed, "blessed": blessed, "failed": failed,
            "no_test": no_test, "unreadable": unreadable, "status": tally.status().code(),
        }));
    }
    let s = |n: usize| if n == 1 { "" } else { "s" };
    let mut line = format!("{} test{}: {passed} passed", tally.tests(), s(tally.tests()));
    if *blessed > 0 {
        line.push_str(&format!(", {blessed} blessed"));
    }
    line.push_str(&format!(", {failed} failed"));
    if *unreadable > 0 {
        line.push_str(&format!(", {unreadable} in error"));
    }
    if *no_test > 0 {
        line.push_str(&format!("; {no_test} file{} without a test", s(*no_test)));
    }
    out.line(&line)
}

/// What is not as it should be, line by line; safe to show.
pub fn details(case: &Case) -> Vec<String> {
    match &case.outcome {
        Outcome::Passed(_) | Outcome::Blessed(_) => Vec::new(),
        Outcome::NoTest if case.named => {
            vec!["it holds no test: its header has no `test:` line".to_owned()]
        }
        Outcome::NoTest => Vec::new(),
        Outcome::Unreadable(report) => {
            let (shown, left) = report.shown(false);
            let texts = shown.into_iter().map(|d| render::text(d, None, false));
            let mut lines: Vec<String> =
                texts.flat_map(|t| t.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
            lines.extend(left.iter().map(|(code, n)| format!("... and {n} more of {code}")));
            lines
        }
        Outcome::Failed(tried, why) => {
            let mut lines = differences(tried);
            lines.extend(why.as_ref().map(|why| format!("not blessed: {why}")));
            lines
        }
    }
}

fn spot(spot: &Spot) -> String {
    match spot {
        Spot::Line(n) => format!("line {n}"),
        Spot::Elsewhere(Some(place)) => format!("at {}", printable(place)),
        Spot::Elsewhere(None) => "in the header".to_owned(),
    }
}

fn differences(t: &Tried) -> Vec<String> {
    /// Findings of either kind that are shown.
    const MOST: usize = 20;
    let mut out = Vec::new();
    let cut = |out: &mut Vec<String>, n: usize, what: &str| {
        if n > MOST {
            out.push(format!("... and {} more {what}", n - MOST));
        }
    };
    for i in t.verdict.missing.iter().take(MOST) {
        let Some(e) = t.test.expectations.get(*i) else { continue };
        let Expectation { severity, code, text, line, .. } = e;
        let said = if matches!(e.spot, Spot::Line(_)) { String::new() } else { spot(&e.spot) };
        let said = if said.is_empty() { said } else { format!(" {said}") };
        out.push(format!("line {line}: missing: {severity}[{code}]{said}: {}", printable(text)));
    }
    cut(&mut out, t.verdict.missing.len(), "missing");
    for Found { severity, code, text, spot: s, .. } in t.verdict.unexpected.iter().take(MOST) {
        out.push(format!("{}: not expected: {severity}[{code}]: {text}", spot(s)));
    }
    cut(&mut out, t.verdict.unexpected.len(), "not expected");
    for i in &t.verdict.statuses {
        let (Some(run), Some(actual)) = (t.test.runs.get(*i), t.runs.get(*i)) else { continue };
        let (line, kind) = (run.line, run.kind.name());
        let (was, is) = (run.status, actual.status);
        out.push(format!("line {line}: `{kind}` ended with status {is}, not {was}"));
    }
    for (run, diff) in output_differences(t) {
        out.push(format!("line {}: `{}` printed something else:", run.0, run.1));
        out.extend(diff.into_iter().map(|(sign, text)| format!("  {sign}{text}")));
    }
    out
}

/// A run's line and kind, and how its output differs from what was expected.
type Differing = ((u64, &'static str), Vec<(char, String)>);

fn output_differences(t: &Tried) -> Vec<Differing> {
    let of = |i: &usize| {
        let (run, actual) = (t.test.runs.get(*i)?, t.runs.get(*i)?);
        let diff = difference::lines(run.output.as_ref()?, &actual.output);
        Some(((run.line, run.kind.name()), diff))
    };
    t.verdict.outputs.iter().filter_map(of).collect()
}

fn as_json(case: &Case) -> Value {
    let word = match &case.outcome {
        Outcome::NoTest => "no_test",
        Outcome::Passed(_) => "passed",
        Outcome::Blessed(_) => "blessed",
        Outcome::Failed(..) => "failed",
        Outcome::Unreadable(_) => "unreadable",
    };
    let mut o = json!({ "file": case.path, "outcome": word });
    match &case.outcome {
        Outcome::NoTest => {}
        Outcome::Passed(t) | Outcome::Blessed(t) => o["runs"] = runs(t),
        Outcome::Failed(t, why) => {
            o["runs"] = runs(t);
            let expected = |i: &usize| {
                let e = t.test.expectations.get(*i)?;
                let mut f = finding(e.severity.name(), e.code, &e.text, &e.spot);
                f["written"] = json!(e.line);
                Some(f)
            };
            o["missing"] = t.verdict.missing.iter().filter_map(expected).collect();
            let found = |f: &Found| finding(f.severity.name(), f.code, &f.text, &f.spot);
            o["unexpected"] = t.verdict.unexpected.iter().map(found).collect();
            let diff = output_differences(t).into_iter().map(|((line, kind), diff)| {
                let lines: Vec<String> =
                    diff.into_iter().map(|(sign, text)| format!("{sign}{text}")).collect();
                json!({ "line": line, "kind": kind, "diff": lines })
            });
            o["outputs"] = diff.collect();
            if let Some(why) = why {
                o["not_blessed"] = json!(why);
            }
        }
        Outcome::Unreadable(report) => {
            o["findings"] = report.items.iter().map(render::to_json).collect();
        }
    }
    o
}

fn runs(t: &Tried) -> Value {
    let one = |(run, actual): (&crate::script::filetest::TestRun, &super::filetest::Actual)| {
        json!({
            "line": run.line, "kind": run.kind.name(), "args": run.args,
            "status": actual.status, "expected_status": run.status,
        })
    };
    t.test.runs.iter().zip(&t.runs).map(one).collect()
}

fn finding(severity: &str, code: &str, text: &str, spot: &Spot) -> Value {
    let mut f = json!({ "severity": severity, "code": code, "message": text });
    match spot {
        Spot::Line(n) => f["line"] = json!(n),
        Spot::Elsewhere(Some(place)) => f["at"] = json!(place),
        Spot::Elsewhere(None) => {}
    }
    f
}
