//! What a user says about codes: which are accepted, which count as errors (`docs/checks.md`,
//! "Allow and deny").
//!
//! On the command line by `--allow` and `--deny`; in a file by a comment of its own line,
//! `allow D070` or `deny R016: why`. Where the two say different things about a code, the
//! command line wins.

use super::codes::CODES;
use super::{Diagnostic, Place, Report, Severity, lookup};
use std::collections::BTreeMap;

/// What is to be done with the findings of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// They are left out and counted.
    Allow,
    /// They are errors.
    Deny,
}

/// A verdict for each code that one was given for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy(BTreeMap<&'static str, Verdict>);

/// The code of a name.
///
/// # Errors
/// Why it is none, with the nearest one.
pub fn code(name: &str) -> Result<&'static str, String> {
    if let Some(known) = lookup(name.trim()) {
        return Ok(known.code);
    }
    let upper = name.trim().to_ascii_uppercase();
    let differs = |c: &str| {
        let unlike = c.chars().zip(upper.chars()).filter(|(a, b)| a != b).count();
        unlike + c.len().abs_diff(upper.chars().count())
    };
    let near = CODES.iter().map(|c| (differs(c.code), c.code)).min();
    Err(match near {
        Some((n, c)) if n <= 2 => format!("there is no code `{name}`; the nearest is {c}"),
        _ => {
            format!("there is no code `{name}`; a code is a letter and three digits, such as D017")
        }
    })
}

impl Policy {
    /// Sets the verdict of a code.
    ///
    /// # Errors
    /// The code has the other verdict already.
    pub fn set(&mut self, code: &'static str, verdict: Verdict) -> Result<(), String> {
        match self.0.insert(code, verdict) {
            Some(old) if old != verdict => Err(format!("{code} is both allowed and denied")),
            _ => Ok(()),
        }
    }

    /// Whether no code has a verdict.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the findings of a code are left out.
    pub fn allows(&self, code: &str) -> bool {
        self.0.get(code) == Some(&Verdict::Allow)
    }

    /// This policy, and for codes of which it says nothing what `below` says.
    #[must_use]
    pub fn over(&self, below: &Policy) -> Policy {
        let mut all = below.0.clone();
        all.extend(&self.0);
        Policy(all)
    }

    /// The directives of a text: lines that are a comment and nothing else.
    ///
    /// # Errors
    /// S013 at each one that cannot be followed.
    pub fn of_text(text: &str, marks: &[&str]) -> Result<Policy, Report> {
        let (mut policy, mut report) = (Policy::default(), Report::default());
        for (line, n) in text.lines().zip(1u64..) {
            let Some((verdict, names)) = directive(line, marks) else { continue };
            for name in names {
                if let Err(why) = code(name).and_then(|c| policy.set(c, verdict)) {
                    let column = column_of(line, name);
                    let place = Place::text(n, column, name.chars().count() as u64);
                    report.push(Diagnostic::new("S013", why).at(place));
                }
            }
        }
        if report.is_empty() { Ok(policy) } else { Err(report) }
    }

    /// The lines of a text that say something about codes, without their comment's mark.
    pub fn lines(text: &str, marks: &[&str]) -> Vec<String> {
        let own = text.lines().filter(|l| directive(l, marks).is_some()).map(str::trim);
        let bare =
            |l: &str| marks.iter().find_map(|m| l.strip_prefix(m)).map(|l| l.trim().to_owned());
        own.filter_map(bare).collect()
    }

    /// Leaves out what is allowed, counted in the report, and raises what is denied.
    pub fn apply(&self, report: &mut Report) {
        if self.is_empty() {
            return;
        }
        let verdict = |c: &str| self.0.get(c).copied();
        let allowed = &mut report.allowed;
        report.items.retain_mut(|d| match verdict(d.code) {
            Some(Verdict::Allow) => {
                *allowed.entry(d.code).or_default() += 1;
                false
            }
            Some(Verdict::Deny) => {
                d.severity = Severity::Error;
                true
            }
            None => true,
        });
        report.dropped.retain(|c, n| {
            let keep = verdict(c) != Some(Verdict::Allow);
            if !keep {
                *allowed.entry(c).or_default() += *n;
            }
            keep
        });
        let denied = self.0.iter().filter(|(_, v)| **v == Verdict::Deny);
        report.raised.extend(denied.map(|(c, _)| *c));
    }
}

/// Column of a part of a line, from 1, in characters.
fn column_of(line: &str, part: &str) -> u64 {
    let before = part.as_ptr() as usize - line.as_ptr() as usize;
    line.get(..before).map_or(1, |b| b.chars().count() as u64 + 1)
}

/// What a comment line asks for, if its first words are a directive. Prose that begins with
/// `allow` is none: what follows has to look like a code.
fn directive<'a>(line: &'a str, marks: &[&str]) -> Option<(Verdict, Vec<&'a str>)> {
    let text = line.trim_start();
    let text = marks.iter().find_map(|m| text.strip_prefix(m))?.trim_start();
    let (word, rest) = text.split_once(char::is_whitespace)?;
    let verdict = match word {
        "allow" => Verdict::Allow,
        "deny" => Verdict::Deny,
        _ => return None,
    };
    // A remark may follow after a colon.
    let list = rest.split_once(':').map_or(rest, |(list, _)| list);
    let names: Vec<&str> =
        list.split([',', ' ', '\t']).map(str::trim).filter(|n| !n.is_empty()).collect();
    let coded = |n: &&str| {
        let mut chars = n.chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic())
            && n.len() > 1
            && chars.all(|c| c.is_ascii_digit())
    };
    names.first().filter(|n| coded(n))?;
    Some((verdict, names))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut r = Report::default();
        for code in ["D010", "D013", "R001", "D010"] {
            r.push(Diagnostic::new(code, "x"));
        }
        r.dropped.insert("D014", 3);
        r
    }

    fn policy(text: &str) -> Policy {
        Policy::of_text(text, &[";"]).unwrap_or_default()
    }

    #[test]
    fn what_is_allowed_is_counted_and_what_is_denied_is_an_error() {
        let mut r = report();
        policy("; allow D010, R001\n  ; deny D013 : a remark").apply(&mut r);
        let left: Vec<_> = r.items.iter().map(|d| (d.code, d.severity)).collect();
        assert_eq!(left, [("D013", Severity::Error)]);
        assert_eq!(r.allowed, BTreeMap::from([("D010", 2), ("R001", 1)]));
        assert!(r.has_errors());
    }

    #[test]
    fn the_verdict_holds_for_what_the_report_only_counts() {
        let mut r = report();
        r.items.clear();
        assert!(!r.has_errors());
        policy("; deny D014").apply(&mut r);
        assert!(r.has_errors());
        let mut r = report();
        policy("; allow D014").apply(&mut r);
        assert!(r.dropped.is_empty());
        assert_eq!(r.allowed["D014"], 3);
    }

    #[test]
    fn prose_is_no_directive() {
        for text in ["; allow the engine to stall", "allow D010", "; allowed D010", "; deny", ";"] {
            assert!(policy(text).is_empty(), "{text}");
        }
        assert_eq!(policy(";allow d010").0.len(), 1);
    }

    #[test]
    fn a_code_that_does_not_exist_is_told_with_the_nearest() {
        let r = Policy::of_text("a\n; allow D010 D999", &[";"]);
        let r = r.err().unwrap_or_default();
        let d = &r.items[0];
        assert_eq!((d.code, d.place.line, d.place.column), ("S013", Some(2), Some(14)));
        assert!(code("D071x").is_err() && code("D01").is_err_and(|e| e.contains("nearest is D01")));
        assert!(code("nonsense").is_err_and(|e| e.contains("such as")));
    }

    #[test]
    fn the_command_line_wins_over_the_file() {
        let (file, line) = (policy("; allow D010\n; deny D013"), policy("; deny D010"));
        let both = line.over(&file);
        assert_eq!(both.0.get("D010"), Some(&Verdict::Deny));
        assert_eq!(both.0.get("D013"), Some(&Verdict::Deny));
        assert!(Policy::of_text("; allow D010\n; deny D010", &[";"]).is_err());
    }
}
