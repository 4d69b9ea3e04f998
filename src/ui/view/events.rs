//! The events around the position: what happened, what comes.

use crate::diag::render::printable;
use crate::engine::ring::{Agent, Event, EventKind};
use crate::engine::session::describe_event;
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::rows::{Hit, Row, clip, width as width_of};
use crate::ui::source::short;

/// A line per event; those still to come are less weighty.
pub fn rows(model: &Model, width: usize) -> Vec<Row> {
    let t = model.theme;
    let here = model.session.position();
    let last = model.derived.events.last().map_or(0, |e| e.n);
    let digits = last.to_string().len().max(3);
    // The selected queue is meant where no other is named.
    let agent = |e: &Event| match e.agent {
        Agent::Engine(id) if Some(id) == model.queue() => "eng".to_owned(),
        Agent::Seq(engine) => short(engine).to_owned(),
        other => other.to_string(),
    };
    let agents = model.derived.events.iter().map(|e| width_of(&agent(e))).max().unwrap_or(0);
    let agents = agents.max(if model.has_module() { 5 } else { 4 });
    let mut out = Vec::new();
    if model.derived.events.is_empty() {
        out.push(Row::text("nothing happens", t.dim()));
    }
    let findings = &model.session.machine().findings;
    for e in &model.derived.events {
        let base = if e.n > here { t.dim() } else { t.text() };
        let mut row = Row::new();
        let linked = model.derived.links.events.contains(&e.n);
        let mark = match (e.n == here, linked) {
            (true, _) => t.cursor(),
            (false, true) => t.linked(),
            (false, false) => ' ',
        }
        .to_string();
        row.push(mark, t.accent());
        row.push(format!("{:>digits$}", e.n), base);
        let found = findings.iter().rev().find(|d| d.place.event == Some(e.n));
        match found {
            Some(d) => row.push("!", t.severity(d.severity)),
            None => row.push(" ", t.text()),
        }
        let edits = model.session.program().edits_at(e.n);
        match edits {
            [] => row.push(" ", t.text()),
            _ => row.push("*", t.accent()),
        }
        row.push(format!("{:<agents$} ", agent(e)), if e.n == here { t.strong() } else { t.dim() });
        let room = width.saturating_sub(row.width());
        let begins = if matches!(e.kind, EventKind::Inst { .. }) { "begins " } else { "" };
        let p = model.session.program();
        let edited = if edits.is_empty() { "" } else { "; then edited: " };
        let words: Vec<String> = edits.iter().map(|e| e.change.words(p)).collect();
        let text = format!("{begins}{}{edited}{}", describe_event(p, e), words.join(", "));
        let text = printable(&text);
        row.push(clip(&text, room), if e.n == here { t.strong() } else { base });
        if e.n > here && e.n == here + 1 {
            row = row.restyled(|s| s.add_modifier(ratatui::style::Modifier::ITALIC));
        }
        if model.focus == Pane::Events && e.n == model.event_cursor {
            row = row.restyled(|s| t.selected(s));
        }
        out.push(row.hits(Hit::Event(e.n)));
    }
    out
}
