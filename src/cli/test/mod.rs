//! `test`: runs the tests that files hold in their comments (`docs/file-tests.md`).
//!
//! `find` chooses the files, `exec` runs one, `report` says what came. Several run side
//! by side; what is said keeps the order of the paths.

mod exec;
mod find;
mod junit;
mod report;

use super::args::TestArgs;
use super::out::{Failure, Out, Status};
use crate::diag::{Diagnostic, Report};
use crate::load::save;
use crate::script::filetest::{self, Grammar};
use exec::Tried;
use find::Candidate;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Bytes of stack of a thread that runs tests: as the main thread has.
const STACK: usize = 16 << 20;
/// How often a file is blessed until it stays as it is.
const BLESSINGS: usize = 3;

/// What came of a file.
enum Outcome {
    /// It holds no test.
    NoTest,
    /// All came as it says.
    Passed(Tried),
    /// All came as it says, after what it says was changed.
    Blessed(Tried),
    /// Something came otherwise; why it was not blessed, where that was wanted.
    Failed(Tried, Option<String>),
    /// It cannot be read, or what it says cannot be understood.
    Unreadable(Report),
}

/// A file and what came of it.
struct Case {
    /// Its path.
    path: String,
    named: bool,
    outcome: Outcome,
    took: Duration,
}

/// Runs `test`.
///
/// # Errors
/// Those of the output.
pub fn run(args: &TestArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let mut search = find::find(&args.paths);
    let found = search.files.len();
    if let Some(text) = &args.filter {
        search.files.retain(|c| c.path.to_string_lossy().contains(text.as_str()));
    }
    let mut tally = report::Tally::default();
    report::begin(out)?;
    let mut cases = Vec::new();
    // What a script runs may be blessed itself, and is so first.
    let (scripts, others): (Vec<Candidate>, Vec<Candidate>) = search
        .files
        .drain(..)
        .partition(|c| args.bless && Grammar::of(&c.path.to_string_lossy()) == Some(Grammar::Dbg));
    for group in [others, scripts] {
        run_all(&group, args, &mut |case| {
            report::case(&case, &mut tally, out)?;
            if args.junit.is_some() {
                cases.push(junit::Row::of(&case));
            }
            Ok(())
        })?;
    }
    if tally.tests() == 0 && tally.unreadable == 0 && search.report.is_empty() {
        let why = match &args.filter {
            Some(text) if found > 0 => format!("no file with a test has `{text}` in its path"),
            _ => "there is no test in what was named".to_owned(),
        };
        search.report.push(Diagnostic::new("S032", why));
    }
    tally.unreadable += search.report.items.len();
    report::end(&tally, out)?;
    out.findings(&search.report)?;
    if let Some(path) = &args.junit {
        cases.sort_by(|a, b| a.path.cmp(&b.path));
        save::save(path, junit::text(&cases).as_bytes()).map_err(Report::from)?;
    }
    Ok(tally.status())
}

/// Runs files side by side and hands them over in their order.
fn run_all(
    files: &[Candidate],
    args: &TestArgs,
    each: &mut dyn FnMut(Case) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
    let jobs = args.jobs.map_or(processors, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..jobs.min(files.len()) {
            let (to, next, stop) = (sender.clone(), &next, &stop);
            std::thread::Builder::new().name("test".into()).stack_size(STACK).spawn_scoped(
                scope,
                move || {
                    while !stop.load(Ordering::Relaxed) {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(file) = files.get(at) else { break };
                        if to.send((at, one(file, args.bless))).is_err() {
                            break;
                        }
                    }
                },
            )?;
        }
        drop(sender);
        let mut ready: BTreeMap<usize, Case> = BTreeMap::new();
        let mut told = 0;
        for (at, case) in receiver {
            ready.insert(at, case);
            while let Some(case) = ready.remove(&told) {
                told += 1;
                if let Err(e) = each(case) {
                    // The reader of the output has gone: nothing more is begun.
                    stop.store(true, Ordering::Relaxed);
                    return Err(e);
                }
            }
        }
        Ok(())
    })
}

/// One file.
fn one(file: &Candidate, bless: bool) -> Case {
    let begun = Instant::now();
    let tried = exec::try_file(&file.path);
    let outcome = match tried {
        Err(report) => Outcome::Unreadable(report),
        Ok(None) => Outcome::NoTest,
        Ok(Some(t)) if t.verdict.is_good() => Outcome::Passed(t),
        Ok(Some(t)) if bless => blessed(file, t),
        Ok(Some(t)) => Outcome::Failed(t, None),
    };
    let path = file.path.to_string_lossy().into_owned();
    Case { path, named: file.named, outcome, took: begun.elapsed() }
}

/// Writes what came into a file until it is as the file says.
fn blessed(file: &Candidate, mut tried: Tried) -> Outcome {
    for _ in 0..BLESSINGS {
        if let Some(why) = not_to_be_blessed(&tried) {
            return Outcome::Failed(tried, Some(why));
        }
        let text = filetest::rewrite(&tried.text, &tried.test, &tried.verdict, &tried.runs);
        if let Err(d) = save::save(&file.path, text.as_bytes()) {
            return Outcome::Unreadable(d.into());
        }
        tried = match exec::try_file(&file.path) {
            Ok(Some(t)) if t.verdict.is_good() => return Outcome::Blessed(t),
            Ok(Some(t)) => t,
            Ok(None) => return Outcome::NoTest,
            Err(report) => return Outcome::Unreadable(report),
        };
    }
    let why = "it does not settle: what is found changes with the comments that tell it";
    Outcome::Failed(tried, Some(why.to_owned()))
}

/// Why a file stays as it is: what cannot be read is more often a mistake than meant.
fn not_to_be_blessed(t: &Tried) -> Option<String> {
    let unreadable = |(run, actual): (&filetest::TestRun, &filetest::Actual)| {
        actual.status == Status::Unreadable.code() && run.status != actual.status
    };
    if t.test.runs.iter().zip(&t.runs).any(unreadable) {
        let sign = t.test.grammar.sign();
        return Some(format!(
            "it cannot be read; where that is meant, write `{sign} status: 2` into the header"
        ));
    }
    let most = crate::limits::MAX_TEST_EXPECTATIONS;
    (t.verdict.unexpected.len() > most)
        .then(|| format!("more than {most} findings are more than a file can tell"))
}
