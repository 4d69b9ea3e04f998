//! What came against what was said: each finding must be told by one comment of its own, and
//! each comment must tell one finding.

use super::{Expectation, FileTest, Spot};
use crate::diag::render::printable;
use crate::diag::{Diagnostic, Place, Severity, without_events};
use crate::limits::MAX_TEST_EXPECTATIONS;

/// What came of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Actual {
    /// Exit status.
    pub status: u8,
    /// What was printed, line by line, safe to show, without blanks at the ends of lines or
    /// empty lines at the end.
    pub output: Vec<String>,
}

impl Actual {
    /// A run that printed this text.
    pub fn new(status: u8, text: &str) -> Actual {
        let mut output: Vec<String> =
            text.lines().map(|l| printable(l).trim_end().to_owned()).collect();
        while output.last().is_some_and(String::is_empty) {
            output.pop();
        }
        Actual { status, output }
    }
}

/// A finding as a comment would tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// How bad.
    pub severity: Severity,
    /// Its code.
    pub code: &'static str,
    /// Its message, safe to show.
    pub text: String,
    /// Where it is.
    pub spot: Spot,
    /// Every way to write a place that is not a line of the file.
    places: Vec<String>,
}

/// What is not as the file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Expectations that nothing came of, by their index.
    pub missing: Vec<usize>,
    /// Findings that nothing tells.
    pub unexpected: Vec<Found>,
    /// Runs that ended with another status, by their index.
    pub statuses: Vec<usize>,
    /// Runs that printed something else, by their index.
    pub outputs: Vec<usize>,
}

impl Verdict {
    /// Whether all came as the file says.
    pub fn is_good(&self) -> bool {
        *self == Verdict::default()
    }
}

impl FileTest {
    /// Compares what came of all runs with what the file says. `name` is how findings call
    /// the file; `runs` has an entry for each of [`FileTest::runs`].
    pub fn judge(&self, name: &str, findings: &[Diagnostic], runs: &[Actual]) -> Verdict {
        let mut found: Vec<Found> = Vec::new();
        for d in findings {
            let f = self.found(name, d);
            // Several runs of one file find the same again.
            if !found.contains(&f) {
                found.push(f);
            }
        }
        let mut verdict = Verdict::default();
        let mut told = vec![false; found.len()];
        let mut spots: Vec<&Spot> = Vec::new();
        for e in &self.expectations {
            if !spots.iter().any(|s| s.is_beside(&e.spot)) {
                spots.push(&e.spot);
            }
        }
        for spot in spots {
            let here = |s: &Spot| s.is_beside(spot);
            let wanted = (0..self.expectations.len()).filter(|i| here(&self.expectations[*i].spot));
            let came = (0..found.len()).filter(|i| here(&found[*i].spot));
            let (wanted, came): (Vec<usize>, Vec<usize>) =
                (wanted.collect(), came.take(MAX_TEST_EXPECTATIONS * 2).collect());
            let fits = |w: usize, c: usize| self.expectations[wanted[w]].fits(&found[came[c]]);
            let pairs = pairs(wanted.len(), came.len(), &fits);
            for (w, pair) in pairs.iter().enumerate() {
                match pair {
                    Some(c) => told[came[*c]] = true,
                    None => verdict.missing.push(wanted[w]),
                }
            }
        }
        verdict.missing.sort_unstable();
        verdict.unexpected =
            found.into_iter().zip(told).filter(|(_, told)| !told).map(|(f, _)| f).collect();
        for (i, (run, actual)) in self.runs.iter().zip(runs).enumerate() {
            if run.status != actual.status {
                verdict.statuses.push(i);
            }
            if run.output.as_ref().is_some_and(|o| *o != actual.output) {
                verdict.outputs.push(i);
            }
        }
        verdict
    }

    fn found(&self, name: &str, d: &Diagnostic) -> Found {
        let mine = d.place.file.as_deref().is_none_or(|f| f == name);
        let home = d.place.line.filter(|_| mine).and_then(|line| {
            let last = self.homes.len() as u64;
            let at = usize::try_from(line.clamp(1, last.max(1)) - 1).ok()?;
            *self.homes.get(at)?
        });
        let places = places(&d.place, mine);
        Found {
            severity: d.severity,
            code: d.code,
            text: printable(&d.message).trim().to_owned(),
            spot: match home {
                Some(line) => Spot::Line(line),
                None => Spot::Elsewhere(places.first().cloned()),
            },
            places,
        }
    }
}

/// A place in every way that an `expect` line may write it, the one that is written first.
fn places(p: &Place, mine: bool) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(slot) = p.slot {
        out.push(slot.to_string());
        out.push(crate::diag::SlotRef { queue: None, ..slot }.to_string());
    }
    if let (Some(file), Some(line), false) = (&p.file, p.line, mine) {
        out.push(format!("{}:{line}", printable(file)));
    }
    if let Some(n) = p.event {
        out.push(format!("event {n}"));
    }
    if let Some(n) = p.offset {
        out.push(format!("byte {n:#x}"));
    }
    out
}

impl Expectation {
    /// Whether it tells this finding, which is on the same line.
    fn fits(&self, found: &Found) -> bool {
        let here = match &self.spot {
            Spot::Elsewhere(Some(place)) => found.places.contains(place),
            Spot::Elsewhere(None) | Spot::Line(_) => true,
        };
        here && self.severity == found.severity
            && self.code == found.code
            && (found.text.contains(&self.text)
                || without_events(&found.text).contains(&*without_events(&self.text)))
    }
}

/// As many pairs as there can be of a left and a right that fit: for each left its right.
fn pairs(left: usize, right: usize, fits: &dyn Fn(usize, usize) -> bool) -> Vec<Option<usize>> {
    /// Finds a right for `l`, moving others to another right where that helps.
    fn seek(
        l: usize,
        edges: &[Vec<usize>],
        taken: &mut [Option<usize>],
        seen: &mut [bool],
    ) -> bool {
        for &r in &edges[l] {
            if std::mem::replace(&mut seen[r], true) {
                continue;
            }
            let free = match taken[r] {
                None => true,
                Some(other) => seek(other, edges, taken, seen),
            };
            if free {
                taken[r] = Some(l);
                return true;
            }
        }
        false
    }
    let edges: Vec<Vec<usize>> =
        (0..left).map(|l| (0..right).filter(|r| fits(l, *r)).collect()).collect();
    let mut taken = vec![None; right];
    for l in 0..left {
        seek(l, &edges, &mut taken, &mut vec![false; right]);
    }
    let mut out = vec![None; left];
    for (r, l) in taken.into_iter().enumerate() {
        if let Some(l) = l {
            out[l] = Some(r);
        }
    }
    out
}
