//! What came of a run, and how it differs from what came before.

use crate::cli::caught::Caught;
use crate::cli::difference;
use crate::cli::out::{Out, Status, Style};
use crate::diag::render::{self, printable};
use crate::diag::{Diagnostic, Report, Severity, SlotRef, without_events};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// What came of a run.
pub struct Outcome {
    output: Vec<String>,
    report: Report,
    status: Status,
    /// Whether the inputs could be read, so that there was a run.
    pub ran: bool,
}

impl Outcome {
    /// Of what was caught; that it could not be caught is a finding.
    pub fn new(caught: Result<Caught, String>) -> Outcome {
        match caught {
            Ok(Caught { status, text, report, ran }) => {
                let output = text.lines().map(str::to_owned).collect();
                Outcome { output, report, status, ran }
            }
            Err(why) => Outcome {
                output: Vec::new(),
                report: Diagnostic::new("S033", why).into(),
                status: Status::Unreadable,
                ran: false,
            },
        }
    }
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|p| p.to_string_lossy().into_owned()).collect()
}

/// Before the first run.
///
/// # Errors
/// Those of the output.
pub fn begin(inputs: &[PathBuf], out: &mut Out<'_>) -> io::Result<()> {
    if out.json() {
        out.schema("watch", &json!({ "inputs": names(inputs) }))?;
    } else {
        let text = format!("watching {}; Ctrl-C ends", names(inputs).join(", "));
        out.line(&out.styled(Style::Dim, &printable(&text)))?;
    }
    out.flush()
}

/// What a run came to: the first all of it, any other what is different from `base`, the last
/// that could be run.
///
/// # Errors
/// Those of the output.
pub fn tell(
    run: u64,
    changed: &[PathBuf],
    base: Option<&Outcome>,
    new: &Outcome,
    out: &mut Out<'_>,
) -> io::Result<()> {
    if out.json() {
        out.value(&as_json(run, changed, base, new))?;
        return out.flush();
    }
    if !changed.is_empty() {
        let text = format!("-- {} changed", printable(&names(changed).join(", ")));
        out.line(&out.styled(Style::Bold, &text))?;
    }
    match base {
        _ if !new.ran => {
            out.result(&new.report)?;
            let kept = if base.is_some() { "; the last outcome stays" } else { "" };
            out.line(&format!("not run: the input cannot be read{kept}"))?;
        }
        None => {
            for line in &new.output {
                out.line(line)?;
            }
            out.result(&new.report)?;
            out.line(&format!("status {}", new.status.code()))?;
        }
        Some(base) => tell_changes(base, new, out)?,
    }
    out.flush()
}

fn tell_changes(base: &Outcome, new: &Outcome, out: &mut Out<'_>) -> io::Result<()> {
    let diff = difference::lines(&base.output, &new.output);
    let (appeared, gone) = changes(&base.report, &new.report);
    let (was, is) = (base.status.code(), new.status.code());
    if diff.is_empty() && appeared.items.is_empty() && gone.items.is_empty() && was == is {
        return out.line(&format!("the outcome is the same: status {is}"));
    }
    for (sign, text) in diff {
        let line = format!("{sign}{text}");
        let style = match sign {
            '+' => Style::Rx,
            '-' => Style::Tx,
            _ => Style::Dim,
        };
        out.line(&out.styled(style, &line))?;
    }
    if !appeared.items.is_empty() {
        out.line("appeared:")?;
        out.result(&appeared)?;
    }
    if !gone.items.is_empty() {
        out.line("gone:")?;
        for d in &gone.items {
            out.line(&format!("{}[{}]: {}", d.severity, d.code, printable(&d.message)))?;
        }
    }
    if was == is {
        out.line(&format!("status {is}"))
    } else {
        out.line(&format!("status {was} -> {is}"))
    }
}

/// What makes two findings of different runs the same one: not where it stands in a text, or
/// when it happens, which any change moves.
fn identity(d: &Diagnostic) -> (&'static str, Severity, Cow<'_, str>, Option<SlotRef>) {
    (d.code, d.severity, without_events(&d.message), d.place.slot)
}

/// The findings that only the new run has, and those that only the old one had.
fn changes(old: &Report, new: &Report) -> (Report, Report) {
    (only(new, old), only(old, new))
}

/// The findings of `of` that `other` has not as often.
fn only(of: &Report, other: &Report) -> Report {
    let mut had: BTreeMap<_, usize> = BTreeMap::new();
    for d in &other.items {
        *had.entry(identity(d)).or_default() += 1;
    }
    let mut left = Report::default();
    for d in &of.items {
        match had.get_mut(&identity(d)) {
            Some(n @ 1..) => *n -= 1,
            _ => left.push(d.clone()),
        }
    }
    left
}

fn as_json(run: u64, changed: &[PathBuf], base: Option<&Outcome>, new: &Outcome) -> Value {
    let list = |r: &Report| -> Vec<Value> { r.items.iter().map(render::to_json).collect() };
    let mut o = json!({
        "run": run, "changed": names(changed), "ran": new.ran, "status": new.status.code(),
    });
    match base {
        _ if !new.ran => o["findings"] = json!(list(&new.report)),
        None => {
            o["output"] = json!(new.output);
            o["findings"] = json!(list(&new.report));
        }
        Some(base) => {
            let diff = difference::lines(&base.output, &new.output);
            let diff: Vec<String> = diff.into_iter().map(|(s, t)| format!("{s}{t}")).collect();
            let (appeared, gone) = changes(&base.report, &new.report);
            o["diff"] = json!(diff);
            o["appeared"] = json!(list(&appeared));
            o["gone"] = json!(list(&gone));
            o["status_before"] = json!(base.status.code());
        }
    }
    o
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Place;

    #[test]
    fn a_finding_that_only_moved_neither_appeared_nor_went() {
        let at = |line, text: &str| Diagnostic::new("D050", text).at(Place::text(line, 1, 1));
        let old = Report::from(vec![at(1, "a"), at(2, "a"), at(3, "b")]);
        let new = Report::from(vec![at(7, "a"), at(8, "c")]);
        let (appeared, gone) = changes(&old, &new);
        let texts = |r: &Report| r.items.iter().map(|d| d.message.clone()).collect::<Vec<_>>();
        assert_eq!(
            (texts(&appeared), texts(&gone)),
            (vec!["c".to_owned()], vec!["a".into(), "b".into()])
        );
    }

    #[test]
    fn a_finding_is_the_same_one_where_it_only_happens_later() {
        let race = |n, m| {
            let text =
                format!("nothing orders the read of tx[0] (event {n}) and a store (event {m})");
            Diagnostic::new("R031", text)
        };
        let old = Report::from(vec![race(3, 40), race(5, 60)]);
        let new = Report::from(vec![race(4, 41), race(6, 61), race(7, 62)]);
        let (appeared, gone) = changes(&old, &new);
        assert_eq!((appeared.items.len(), gone.items.len()), (1, 0));
    }
}
