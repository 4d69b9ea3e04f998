//! `check`: every lint over every ring of an input (`docs/json.md`, "diagnostics").

use super::inputs::{Input, Window};
use super::out::{Out, Status, counts};
use crate::bir::exec;
use crate::check::{self, RingPair, RingView, Survey};
use crate::diag::{Place, Policy, Report};
use crate::engine::lower::Stage;
use crate::engine::order::{self, Readings};
use crate::engine::validate::Verdict;
use crate::load::module::LoadedModule;
use crate::udma::Dir;
use serde_json::json;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Judges every ring of an input; `slots` and `start` as on the command line.
pub fn judge(input: &Input, opts: &super::args::RingOpts) -> Report {
    let mut report = Report::default();
    for set in &input.sets {
        let window = |dir| set.ring(dir).map(|r| Window::new(r, opts.slots));
        let (tx, rx) = (window(Dir::Tx), window(Dir::Rx));
        // A part of a ring is judged by what lies in it.
        let whole = opts.slots.is_none() && opts.start.is_none();
        let pair = RingPair {
            tx: tx.as_ref().map(|w| w as &dyn RingView),
            rx: rx.as_ref().map(|w| w as &dyn RingView),
            arch: input.arch,
            profile: input.profile,
            queue: set.queue,
            start: opts.start,
            cursors: if whole { set.cursors } else { [None; 2] },
        };
        let found = check::run_surveyed(pair, &survey(&pair));
        let first = opts.slots.map_or(0, |r| r.0);
        report.extend(moved(found, first).in_file(&set.name));
    }
    report
}

/// Chunks that a thread surveys before it asks for more.
const SHARE: u64 = 1 << 12;

/// Surveys rings with as many threads as the machine has; the answer does not depend on that.
pub fn survey(pair: &RingPair<'_>) -> Survey {
    let shares = Survey::chunks_of(pair).div_ceil(SHARE);
    let threads = thread::available_parallelism().map_or(1, usize::from).min(shares as usize);
    if threads < 2 {
        return Survey::of(pair);
    }
    let next = AtomicU64::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= shares {
                return done;
            }
            done.push((i, Survey::part(pair, i * SHARE, (i + 1) * SHARE)));
        }
    };
    let mut parts: Vec<(u64, Survey)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut parts = work();
        // A share that its thread did not live to tell of is missing below.
        parts.extend(others.into_iter().filter_map(|t| t.join().ok()).flatten());
        parts
    });
    parts.sort_unstable_by_key(|p| p.0);
    if parts.len() as u64 != shares {
        return Survey::default();
    }
    let mut whole = Survey::default();
    parts.into_iter().for_each(|(_, part)| whole.append(part));
    whole
}

/// Slot numbers of a window as numbers of the whole ring.
fn moved(mut report: Report, by: u64) -> Report {
    let shift = |p: &mut Place| {
        if let Some(slot) = &mut p.slot {
            slot.index += by;
        }
    };
    for d in &mut report.items {
        shift(&mut d.place);
        d.labels.iter_mut().for_each(|(p, _)| shift(p));
    }
    report
}

/// What the findings are about, for the first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFacts {
    /// Input's name.
    pub name: String,
    /// Generation.
    pub arch: String,
    /// Driver profile.
    pub profile: String,
}

/// Prints a report as the result of a command, and says how it ended: 1 where an error is
/// among the findings.
///
/// # Errors
/// Those of the output.
pub fn print(about: &CheckFacts, report: &Report, out: &mut Out<'_>) -> io::Result<Status> {
    let (errors, warnings, notes) = counts(report);
    let allowed: u64 = report.allowed.values().sum();
    if out.json() {
        let line = json!({
            "file": about.name, "arch": about.arch,
            "profile": about.profile, "errors": errors, "warnings": warnings, "notes": notes,
            "allowed": allowed,
        });
        out.schema("check", &line)?;
    }
    out.result(report)?;
    if !out.json() {
        let n = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let (e, w, i) = (n(errors, "error"), n(warnings, "warning"), n(notes, "note"));
        let name = crate::diag::render::printable(&about.name);
        let more = if allowed == 0 { String::new() } else { format!(", {allowed} allowed") };
        out.line(&format!("{name}: {e}, {w}, {i}{more}"))?;
    }
    out.flush()?;
    Ok(if report.has_errors() { Status::Wrong } else { Status::Fine })
}

/// What the command does: the findings of reading come first. `policy` is the command line's.
///
/// # Errors
/// Those of the output.
pub fn run(
    input: &Input,
    opts: &super::args::RingOpts,
    (policy, readings): (&Policy, Option<Readings>),
    out: &mut Out<'_>,
) -> io::Result<Status> {
    let mut report = findings(input, opts, readings);
    policy.over(&input.policy).apply(&mut report);
    print(&facts(input), &report, out)
}

/// Everything that is found in an input.
fn findings(input: &Input, opts: &super::args::RingOpts, readings: Option<Readings>) -> Report {
    let mut report = input.report.clone();
    if let Some(m) = &input.module {
        m.diagnostics().into_iter().for_each(|d| report.push(d));
        if m.is_wrong() {
            // What does not verify is not run.
            report.items.sort_by_key(|d| d.place.offset.unwrap_or(u64::MAX));
            return report;
        }
        report.extend(proof(m, input));
        // In the order of the file; what has no place in it comes last.
        report.items.sort_by_key(|d| d.place.offset.unwrap_or(u64::MAX));
    } else {
        // Slots of a module's rings are written lap over lap, each ring in its own time: at the
        // end they do not lie side by side as they were run.
        report.extend(judge(input, opts));
    }
    // What a calm run of the program finds.
    if let Some(end) = &input.end {
        for d in &end.findings {
            report.push(d.clone().in_file(&input.name));
        }
        // And what it leaves to chance, also where only a strict reading says so.
        if let Some(p) = &input.program {
            let found = order::check(p, readings.unwrap_or(Readings::STRICT));
            for d in found.diagnostics(p) {
                report.push(d.in_file(&input.name));
            }
        }
    }
    report
}

fn facts(input: &Input) -> CheckFacts {
    CheckFacts {
        name: input.name.clone(),
        arch: input.arch.name().to_owned(),
        profile: input.profile.name.to_owned(),
    }
}

/// Every stage and the rings against the module as loaded.
fn proof(m: &LoadedModule, input: &Input) -> Report {
    let mut report = Report::default();
    let options = exec::Options::default();
    let v = match m.validate(input.program.as_deref(), &options) {
        Ok(v) => v,
        Err(all) => return Report::from(all),
    };
    v.findings.iter().for_each(|f| report.push(m.place(f)));
    for (stage, verdict) in &v.stages {
        match verdict {
            Verdict::Same => {}
            Verdict::Differs(d) => {
                report.push(m.place(&d.finding(*stage)));
                d.races.iter().for_each(|r| report.push(r.clone()));
            }
            // As loaded it is among the findings.
            Verdict::Failed(_) if *stage == Stage::Loaded => {}
            Verdict::Failed(all) => all.iter().for_each(|f| report.push(m.place(f))),
            Verdict::Races(all) => all.iter().for_each(|d| report.push(d.clone())),
        }
    }
    report.in_file(&input.name)
}
