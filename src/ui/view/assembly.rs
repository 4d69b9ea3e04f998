//! The assembly of a program: its lines with what the host, the selected slot and the selected
//! event have to do with them.

use super::source::{as_fits, words};
use crate::diag::render::printable;
use crate::engine::command::Loc;
use crate::engine::session::StopKind;
use crate::udma::count_of;
use crate::ui::assembly::{Text, split};
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::rows::{Hit, Row, clip, wrap};
use ratatui::style::Modifier;

/// Which line of how many.
pub fn title(model: &Model) -> String {
    let Some(text) = &model.assembly.text else { return "source".to_owned() };
    let ops = model.session.program().script.len();
    let at = match model.assembly.here {
        Some(k) => format!("at operation {} of {ops}", k + 1),
        None => format!("past its {ops_operations}", ops_operations = count_of(ops, "operation")),
    };
    format!("source  line {} of {}, host {at}", model.assembly.cursor + 1, text.lines.len())
}

/// The text, and the line with the cursor in full.
pub fn rows(model: &Model, width: usize, height: usize) -> Vec<Row> {
    let Some(text) = &model.assembly.text else {
        return vec![Row::text("the program has no text", model.theme.dim())];
    };
    let (lines, detail) = split(height);
    let shown = (model.assembly.top..text.lines.len()).take(lines);
    let mut out: Vec<Row> = shown.map(|n| line(model, text, n, width)).collect();
    if detail > 0 {
        out.resize(lines, Row::new());
        out.extend(as_fits(in_full(model, text, width), detail, width));
    }
    out
}

/// Whether a stop is about an operation: at its first event, or at a slot that it fills.
fn stop(model: &Model, op: usize) -> Option<bool> {
    let uses = &model.assembly.uses;
    let first = uses.events.get(&op)?.0;
    let at = StopKind::Break(Loc::Event(first));
    let of_event = model.session.stops().iter().find(|s| s.kind == at).map(|s| s.enabled);
    of_event.or_else(|| {
        let mut slots = uses.slots_of(op).flat_map(|s| (0..s.count.min(64)).map(move |n| (s, n)));
        slots.find_map(|(s, n)| {
            let at = model.session.stop_on_slot(s.queue, s.dir, s.slot + n)?;
            Some(at.enabled).filter(|_| !at.watches)
        })
    })
}

fn line(model: &Model, text: &Text, n: usize, width: usize) -> Row {
    let t = model.theme;
    let a = &model.assembly;
    let op = text.op_at(n);
    let first = op.filter(|k| text.ops[*k].start == n);
    let mut row = Row::new();
    match first.and_then(|k| stop(model, k)) {
        Some(true) => row.push("B", t.error()),
        Some(false) => row.push("b", t.dim()),
        None if first.is_some_and(|k| a.changed.contains(&k)) => row.push("*", t.accent()),
        None => row.push(" ", t.text()),
    }
    let staged = a.of_slot.filter(|s| op == Some(s.0.op));
    // Of several descriptors the very line, where there is one.
    let exact =
        staged.and_then(|(s, _)| text.line_of(s.op, s.before + s.nth(model.selection.slot)?));
    let linked = match &model.derived.links.ops {
        Some(all) => first.is_some_and(|k| all.contains(&k)),
        None => staged.is_some_and(|_| exact.map_or(first.is_some(), |l| l == n)),
    };
    let done = model.derived.links.ops.is_some() || staged.is_some_and(|s| s.1);
    let link = match (linked, done, t.ascii) {
        (false, ..) => " ",
        (true, true, false) => "◆",
        (true, false, false) => "◇",
        (true, true, true) => "*",
        (true, false, true) => "o",
    };
    row.push(link, t.accent());
    let here = first.is_some() && first == a.here;
    row.push(if here { t.cursor() } else { ' ' }.to_string(), t.accent());
    let event = first.is_some() && first == a.of_event;
    row.push(if event { "e " } else { "  " }, t.accent());
    let digits = text.lines.len().to_string().len().max(3);
    row.push(format!("{:>digits$} ", n + 1), t.dim());
    let base = if here || linked { t.strong() } else { t.text() };
    let room = width.saturating_sub(row.width());
    if let Some(toned) = a.toned.get(&n) {
        words(model, toned, a.shift, &[], base, room, &mut row);
    }
    if n == a.cursor {
        row.pad_to(width);
        row = row.restyled(|s| match model.focus == Pane::Source {
            true => t.selected(s),
            false => s.add_modifier(Modifier::UNDERLINED),
        });
    }
    row.hits(Hit::Line(n))
}

fn in_full(model: &Model, text: &Text, width: usize) -> Vec<Row> {
    let t = model.theme;
    let (across, _) = t.lines();
    let op = text.op_at(model.assembly.cursor);
    let head = op.map_or("no operation of the host".to_owned(), |k| model.op_words(k));
    let mut row = Row::text(format!("{across} "), t.border());
    row.push(clip(&head, width.saturating_sub(4)), t.strong());
    row.push(" ", t.text());
    let rest = width.saturating_sub(row.width());
    row.push(across.to_string().repeat(rest), t.border());
    let line = text.lines.get(model.assembly.cursor).map_or("", |l| l.trim());
    let mut out = vec![row];
    let lines = wrap(&printable(line), width.saturating_sub(1));
    out.extend(lines.into_iter().map(|l| Row::text(format!(" {l}"), t.text())));
    out
}
