//! Findings up to the position, newest first, and those made while the file was read.

use crate::diag::render::{place, printable};
use crate::diag::{Diagnostic, Severity};
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::rows::{Hit, Row, wrap};

/// How many of each severity.
pub fn title(model: &Model) -> String {
    let count = |s| model.findings().filter(|d| d.severity == s).count();
    let words: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .map(|s| (s, count(s)))
        .filter(|(_, n)| *n > 0)
        .map(|(s, n)| format!("{n} {}{}", s.name(), if n == 1 { "" } else { "s" }))
        .collect();
    if words.is_empty() { "checks".to_owned() } else { format!("checks: {}", words.join(", ")) }
}

/// A paragraph per finding, the selected one on top where it would not fit.
pub fn rows(model: &Model, width: usize, height: usize) -> Vec<Row> {
    let t = model.theme;
    let mut out = Vec::new();
    // How many rows there are behind each.
    let mut shown = Vec::new();
    let first = if model.focus == Pane::Checks { model.check_cursor } else { 0 };
    // One above the selected one stays in sight.
    let skip = first.saturating_sub(1);
    let all = model.findings().count();
    for (i, d) in model.findings().enumerate().skip(skip) {
        if out.len() > height {
            break;
        }
        let selected = model.focus == Pane::Checks && i == first;
        let linked = model.derived.links.findings.contains(&i);
        for row in finding(model, d, width, linked) {
            let row = if selected { row.restyled(|s| t.selected(s)) } else { row };
            out.push(row.hits(Hit::Finding(i)));
        }
        shown.push(out.len());
    }
    // The last row tells how many are not there whole, if it is not the only one.
    let left = all.saturating_sub(skip);
    if (out.len() > height || shown.len() < left) && height > 1 {
        out.truncate(height - 1);
        let whole = shown.iter().take_while(|end| **end < height).count();
        out.push(Row::text(format!("       {} more below", left - whole), t.dim()));
    }
    if out.is_empty() {
        out.push(Row::text("ok  ", t.good()).with("nothing found up to here", t.text()));
    }
    out
}

fn finding(model: &Model, d: &Diagnostic, width: usize, linked: bool) -> Vec<Row> {
    let t = model.theme;
    let sign = match d.severity {
        Severity::Error => "E",
        Severity::Warning => "W",
        Severity::Note => "i",
    };
    let mark = if linked { t.linked() } else { ' ' };
    let at = place(&d.place);
    let at = if at.is_empty() { String::new() } else { format!(" ({at})") };
    let text = format!("{}{at}", printable(&d.message));
    let indent = 7;
    let mut out = Vec::new();
    for (i, line) in wrap(&text, width.saturating_sub(indent)).into_iter().enumerate() {
        let head = if i == 0 { format!("{sign}{mark}{} ", d.code) } else { String::new() };
        out.push(
            Row::text(format!("{head:<indent$}"), t.severity(d.severity)).with(line, t.text()),
        );
    }
    out
}
