//! The stops: breakpoints, watchpoints, catchpoints and displays, a line each.

use crate::diag::render::printable;
use crate::engine::session::{Stop, StopKind, Then};
use crate::udma::count_of;
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::rows::{Hit, Row, clip, wrap};
use crate::ui::stops::Listed;

/// How many there are.
pub fn title(model: &Model) -> String {
    let s = &model.session;
    let off = s.stops().iter().filter(|s| !s.enabled).count();
    let hits: u64 = s.stops().iter().map(|s| s.hits).sum();
    let mut out = match s.stops().len() {
        0 => "none set".to_owned(),
        n => format!("{n} set, {off} disabled, {hits}", hits = count_of(hits, "hit")),
    };
    let shown = s.displays().len();
    if shown > 0 {
        out.push_str(&format!("; {shown} displayed"));
    }
    out
}

/// The command that a stop was set by.
fn verb(stop: &Stop) -> &'static str {
    match (&stop.kind, stop.then) {
        (StopKind::Break(_), Then::Delete) => "tbreak",
        (StopKind::Break(_), _) => "break",
        (StopKind::Watch(_), _) => "watch",
        (StopKind::Catch(_), _) => "catch",
    }
}

/// A row for each stop, its commands below it, then the displays.
pub fn rows(model: &Model, width: usize, height: usize) -> Vec<Row> {
    let t = model.theme;
    let listed = model.listed_stops();
    if listed.is_empty() {
        let text = [
            "no breakpoints, watchpoints, catchpoints or displays",
            "b sets a breakpoint at the selected slot or line, w watches its bytes",
            ": opens the command line, for `break`, `watch`, `catch` and `display`",
        ];
        let lines = text.into_iter().flat_map(|l| wrap(l, width));
        return lines.map(|l| Row::text(l, t.dim())).collect();
    }
    let head = format!("{:>5}  {:<3}  {:<7} {:>5}  {}", "num", "on", "kind", "hits", "where, when");
    let mut out = vec![Row::text(clip(&head, width), t.dim())];
    let mut all: Vec<(usize, Row)> = Vec::new();
    // Only those that can be seen are written out: there may be many.
    let first = (model.stop_cursor + 1).saturating_sub(height.saturating_sub(1).max(1));
    for (k, one) in listed.iter().enumerate().skip(first).take(height) {
        let selected = model.focus == Pane::Stops && k == model.stop_cursor;
        for row in entry(model, k, one, width) {
            let row = if selected { row.restyled(|s| t.selected(s)) } else { row };
            all.push((k, row.hits(Hit::Stop(k))));
        }
    }
    // The selected one stays in sight whatever commands stand above it.
    let room = height.saturating_sub(1);
    let end = all.iter().rposition(|(k, _)| *k <= model.stop_cursor).map_or(0, |i| i + 1);
    let skip = end.saturating_sub(room);
    out.extend(all.into_iter().skip(skip).take(room).map(|r| r.1));
    out
}

fn entry(model: &Model, k: usize, one: &Listed<'_>, width: usize) -> Vec<Row> {
    let t = model.theme;
    let (on, off) = if t.ascii { ("*", "o") } else { ("●", "○") };
    let stop = match one {
        Listed::Stop(stop) => stop,
        Listed::Display(d) => {
            let mut row = Row::text(format!("{:>5}  {:<3}  ", d.number, "-"), t.text());
            row.push(format!("{:<7} {:>5}  ", "display", ""), t.dim());
            let room = width.saturating_sub(row.width());
            let value = d.value.split_once(": ").map_or(d.value.as_str(), |v| v.1);
            row.push(clip(&printable(value), room), t.text());
            return vec![row];
        }
    };
    let style = if stop.enabled { t.text() } else { t.dim() };
    let mut row = Row::new();
    let glyph = if stop.enabled { on } else { off };
    let switch = Some(Hit::Switch(k));
    row.push_hit(format!("{glyph} "), if stop.enabled { t.error() } else { t.dim() }, switch);
    row.push(format!("{:>3}  ", stop.number), style);
    row.push_hit(if stop.enabled { "on " } else { "off" }, style, switch);
    row.push("  ", style);
    row.push(format!("{:<7} ", verb(stop)), if stop.enabled { t.strong() } else { t.dim() });
    row.push(format!("{:>5}  ", stop.hits), style);
    let words = model.session.stop_words(stop).map(|p| format!(" ({p})")).unwrap_or_default();
    let room = width.saturating_sub(row.width());
    row.push(clip(&printable(&format!("{}{words}", stop.text())), room), style);
    let mut out = vec![row];
    for line in stop.commands() {
        let text = format!("{:26}{line}", "");
        out.push(Row::text(clip(&printable(&text), width), t.dim()));
    }
    out
}
