//! What came of running two programs: memory at the end, findings, waits and returns.

use super::memory;
use super::record::Record;
use super::{Diff, FieldChange};
use crate::engine::program::Program;
use crate::engine::ring::Ret;
use crate::engine::ring::memory::Cell;
use std::collections::BTreeMap;

/// How one run went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ran {
    /// Events.
    pub events: u64,
    /// Virtual time at the end, nanoseconds.
    pub t_ns: u64,
    /// Reads of markers, and looks at idle engines.
    pub polls: u64,
    /// Batches that timed out.
    pub timeouts: u64,
    /// It came to its end within the bound.
    pub finished: bool,
}

/// A stretch of memory that ends up with another content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryChange {
    /// Region or location.
    pub name: String,
    /// Offset of the first byte that differs.
    pub offset: u64,
    /// What that byte is, left and right.
    pub cells: [Cell; 2],
    /// How many bytes differ.
    pub count: u64,
    /// Only one side has this memory: what it wrote there.
    pub only: Option<usize>,
}

/// Findings of one kind that one side has more of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingChange {
    /// Code.
    pub code: &'static str,
    /// An example.
    pub message: String,
    /// How many, left and right.
    pub count: [u64; 2],
}

/// What came of both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// How they ran.
    pub ran: [Ran; 2],
    /// Memory that differs at the end; rings and markers are not among it.
    pub memory: Vec<MemoryChange>,
    /// Findings that appear or go.
    pub findings: Vec<FindingChange>,
    /// Calls that did not return 0, by what they returned: how often, left and right.
    pub returns: Vec<(String, [u64; 2])>,
}

impl Outcome {
    /// Whether nothing differs that the program was run for. The number of events, the time and
    /// the reads of a marker may.
    pub fn is_same(&self) -> bool {
        let [a, b] = self.ran;
        self.memory.is_empty()
            && self.findings.is_empty()
            && self.returns.is_empty()
            && a.timeouts == b.timeouts
            && (a.finished, b.finished) == (true, true)
    }

    /// How the runs differ in numbers, whether or not their outcome does.
    pub fn numbers(&self) -> Vec<FieldChange> {
        let [a, b] = self.ran;
        let rows = [
            ("events", a.events, b.events),
            ("virtual time, ns", a.t_ns, b.t_ns),
            ("reads while waiting", a.polls, b.polls),
            ("timeouts", a.timeouts, b.timeouts),
        ];
        let differ = rows.into_iter().filter(|(_, x, y)| x != y);
        differ.map(|(n, x, y)| FieldChange::new(n, x.to_string(), y.to_string())).collect()
    }

    /// The same, seen from the right.
    #[must_use]
    pub fn inverse(mut self) -> Outcome {
        self.ran.reverse();
        for m in &mut self.memory {
            m.cells.reverse();
            m.only = m.only.map(|side| 1 - side);
        }
        self.findings.iter_mut().for_each(|f| f.count.reverse());
        self.returns.iter_mut().for_each(|r| r.1.reverse());
        self
    }
}

/// Compares how two runs ended.
pub(super) fn compare(
    a: (&Program, &Record),
    b: (&Program, &Record),
    by_name: bool,
    diff: &mut Diff,
) {
    let of = |r: &Record| Ran {
        events: r.machine.n,
        t_ns: r.machine.now_ns,
        polls: r.polls,
        timeouts: r.machine.timeouts(),
        finished: r.finished,
    };
    let outcome = Outcome {
        ran: [of(a.1), of(b.1)],
        findings: findings(a.1, b.1),
        returns: returns(a.1, b.1),
        memory: memory::compare(a, b, by_name, diff),
    };
    if outcome.ran.iter().any(|r| !r.finished) {
        diff.bound("outcome: a run was stopped at the bound on events; its end is not known");
    }
    diff.outcome = Some(outcome);
}

/// Findings by code and by what they say apart from numbers: those shift with the places.
fn findings(a: &Record, b: &Record) -> Vec<FindingChange> {
    let mut all: BTreeMap<(&'static str, String), FindingChange> = BTreeMap::new();
    for (side, r) in [a, b].into_iter().enumerate() {
        for d in r.machine.findings.iter().chain(&r.races) {
            let e = all.entry((d.code, without_numbers(&d.message))).or_insert_with(|| {
                FindingChange { code: d.code, message: d.message.clone(), count: [0; 2] }
            });
            e.count[side] += 1;
            // One example for both ways around.
            if d.message < e.message {
                e.message.clone_from(&d.message);
            }
        }
    }
    all.into_values().filter(|f| f.count[0] != f.count[1]).collect()
}

fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut number = false;
    for c in text.chars() {
        let inside = number && (c.is_ascii_hexdigit() || c == 'x');
        number = c.is_ascii_digit() || inside;
        if !number {
            out.push(c);
        }
    }
    out
}

fn returns(a: &Record, b: &Record) -> Vec<(String, [u64; 2])> {
    let mut all: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (side, r) in [a, b].into_iter().enumerate() {
        for ret in r.rets.iter().filter(|r| **r != Ret::OK && !is_count(r)) {
            all.entry(ret.to_string()).or_default()[side] += 1;
        }
    }
    all.into_iter().filter(|(_, n)| n[0] != n[1]).collect()
}

/// Handles and counts are above 0 and no failure.
fn is_count(r: &Ret) -> bool {
    matches!(r, Ret::Code(n) if *n > 0)
}
