//! Diagnostics as values: a stable code, a severity, a place, a message, help.
//!
//! Rooms return them; only `cli` and `ui` print them. The codes and what each means are one
//! table ([`codes`]), from which `dmadbg explain` and `docs/codes.md` are made.

pub mod codes;
mod error;
pub mod examples;
pub mod policy;
pub mod render;
pub mod terms;

use crate::limits::{MAX_DIAGNOSTICS, MAX_SAME_CODE};
use crate::udma::Dir;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub use codes::{CodeInfo, lookup};
pub use policy::Policy;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Probably not meant.
    Warning,
    /// Wrong.
    Error,
}

impl Severity {
    /// `note`, `warning`, `error`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A slot of a ring, as a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotRef {
    /// Engine and queue, where more than one ring is about.
    pub queue: Option<(u32, u32)>,
    /// Direction.
    pub dir: Dir,
    /// Slot index.
    pub index: u64,
}

impl fmt::Display for SlotRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((engine, queue)) = self.queue {
            write!(f, "e{engine}.q{queue}.")?;
        }
        write!(f, "{}[{}]", self.dir, self.index)
    }
}

/// Where something is. Any part may be absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// File name as the user gave it; `<stdin>` for standard input.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<u64>,
    /// Column, from 1, in characters.
    pub column: Option<u64>,
    /// How many characters are meant, for the carets.
    pub width: Option<u64>,
    /// Byte offset in the file.
    pub offset: Option<u64>,
    /// Ring slot.
    pub slot: Option<SlotRef>,
    /// Event number of a run.
    pub event: Option<u64>,
}

impl Place {
    /// A byte offset.
    pub fn offset(offset: u64) -> Place {
        Place { offset: Some(offset), ..Place::default() }
    }

    /// A ring slot.
    pub fn slot(slot: SlotRef) -> Place {
        Place { slot: Some(slot), ..Place::default() }
    }

    /// A line and column of text (both from 1) and the width of what is meant.
    pub fn text(line: u64, column: u64, width: u64) -> Place {
        Place {
            line: Some(line),
            column: Some(column),
            width: Some(width.max(1)),
            ..Place::default()
        }
    }

    /// The same place in `file`.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Place {
        self.file = Some(file.to_owned());
        self
    }

    /// The same place, found at event `n`.
    #[must_use]
    pub fn at_event(mut self, n: u64) -> Place {
        self.event = Some(n);
        self
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code, such as `D010`; always one of [`codes::CODES`].
    pub code: &'static str,
    /// How bad.
    pub severity: Severity,
    /// What is the case, in one sentence without the place.
    pub message: String,
    /// Where.
    pub place: Place,
    /// What to do about it.
    pub help: Option<String>,
    /// Further places, each with a word on why it matters.
    pub labels: Vec<(Place, String)>,
}

impl Diagnostic {
    /// A finding with the severity that its code has in the table.
    pub fn new(code: &'static str, message: impl Into<String>) -> Diagnostic {
        let severity = lookup(code).map_or(Severity::Error, |c| c.severity);
        Diagnostic {
            code,
            severity,
            message: message.into(),
            place: Place::default(),
            help: None,
            labels: Vec::new(),
        }
    }

    /// At a place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Diagnostic {
        self.place = place;
        self
    }

    /// With advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into()).filter(|h: &String| !h.is_empty());
        self
    }

    /// With another severity than the table's.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Diagnostic {
        self.severity = severity;
        self
    }

    /// With a further place.
    #[must_use]
    pub fn label(mut self, place: Place, why: impl Into<String>) -> Diagnostic {
        self.labels.push((place, why.into()));
        self
    }

    /// The same finding in `file`, where it does not name one yet.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Diagnostic {
        for place in
            std::iter::once(&mut self.place).chain(self.labels.iter_mut().map(|l| &mut l.0))
        {
            place.file.get_or_insert_with(|| file.to_owned());
        }
        self
    }
}

/// A message without the numbers of events that it has in brackets, ` (event 34)`: what is left is
/// the same for the same finding of another run.
pub fn without_events(message: &str) -> Cow<'_, str> {
    const OPEN: &str = " (event ";
    if !message.contains(OPEN) {
        return Cow::Borrowed(message);
    }
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find(OPEN) {
        let (before, from) = rest.split_at(at);
        let inside = from.get(OPEN.len()..).unwrap_or_default();
        let digits = inside.bytes().take_while(u8::is_ascii_digit).count();
        out.push_str(before);
        match inside.get(digits..).and_then(|after| after.strip_prefix(')')) {
            Some(after) if digits > 0 => rest = after,
            _ => {
                out.push_str(OPEN);
                rest = inside;
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// A list of findings that keeps within its bound and counts what it drops.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The findings, in the order found.
    pub items: Vec<Diagnostic>,
    /// Findings beyond the bound, per code.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Findings that a [`Policy`] left out, per code.
    pub allowed: BTreeMap<&'static str, u64>,
    /// Codes whose findings a [`Policy`] counts as errors.
    pub raised: BTreeSet<&'static str>,
}

impl Report {
    /// Adds one; beyond [`MAX_DIAGNOSTICS`] it is only counted.
    pub fn push(&mut self, d: Diagnostic) {
        if self.items.len() < MAX_DIAGNOSTICS {
            self.items.push(d);
        } else {
            *self.dropped.entry(d.code).or_default() += 1;
        }
    }

    /// Adds all of another report.
    pub fn extend(&mut self, other: Report) {
        for d in other.items {
            self.push(d);
        }
        for (code, n) in other.dropped {
            *self.dropped.entry(code).or_default() += n;
        }
        for (code, n) in other.allowed {
            *self.allowed.entry(code).or_default() += n;
        }
        self.raised.extend(other.raised);
    }

    /// How bad the findings are that are only counted under a code.
    pub fn severity_of_dropped(&self, code: &str) -> Severity {
        let usual = lookup(code).map_or(Severity::Error, |c| c.severity);
        if self.raised.contains(code) { Severity::Error } else { usual }
    }

    /// Whether an error is among them.
    pub fn has_errors(&self) -> bool {
        self.items.iter().any(|d| d.severity == Severity::Error)
            || self.dropped.keys().any(|c| self.severity_of_dropped(c) == Severity::Error)
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.dropped.is_empty()
    }

    /// Names the file in every finding that has none.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Report {
        self.items = self.items.into_iter().map(|d| d.in_file(file)).collect();
        self
    }

    /// The findings to show: all, or at most [`MAX_SAME_CODE`] of each code, and how many of
    /// each code are left out.
    pub fn shown(&self, all: bool) -> (Vec<&Diagnostic>, BTreeMap<&'static str, u64>) {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let mut left = self.dropped.clone();
        let mut out = Vec::new();
        for d in &self.items {
            let n = seen.entry(d.code).or_default();
            *n += 1;
            if all || *n <= MAX_SAME_CODE {
                out.push(d);
            } else {
                *left.entry(d.code).or_default() += 1;
            }
        }
        (out, left)
    }
}

impl From<Diagnostic> for Report {
    fn from(d: Diagnostic) -> Report {
        let mut r = Report::default();
        r.push(d);
        r
    }
}

impl From<Vec<Diagnostic>> for Report {
    fn from(all: Vec<Diagnostic>) -> Report {
        let mut r = Report::default();
        all.into_iter().for_each(|d| r.push(d));
        r
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_code_over_and_over_is_cut_with_a_count() {
        let mut r = Report::default();
        for i in 0..30 {
            r.push(Diagnostic::new("D010", format!("slot {i}")));
        }
        r.push(Diagnostic::new("D001", "other"));
        let (shown, left) = r.shown(false);
        assert_eq!(shown.len(), MAX_SAME_CODE + 1);
        assert_eq!(left.get("D010"), Some(&(30 - MAX_SAME_CODE as u64)));
        assert_eq!(r.shown(true).0.len(), 31);
    }

    #[test]
    fn a_report_is_bounded_and_counts_the_rest() {
        let mut r = Report::default();
        for _ in 0..MAX_DIAGNOSTICS + 5 {
            r.push(Diagnostic::new("D001", "x"));
        }
        assert_eq!(r.items.len(), MAX_DIAGNOSTICS);
        assert_eq!(r.dropped.get("D001"), Some(&5));
        assert!(r.has_errors());
    }
}
