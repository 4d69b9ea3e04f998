//! The lines at the bottom: the newest answer, the keys, the command line with its errors.

use super::{left_right, marker};
use crate::diag::render::printable;
use crate::engine::command::{COMMANDS, Group};
use crate::engine::session::describe_event;
use crate::ui::keymap::{Action, Binding, Does, KEYMAP, When};
use crate::ui::layout::Class;
use crate::ui::model::{CommandLine, Model};
use crate::ui::rows::{self, Row, clip, width, wrap};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

/// The newest answer; else why nothing moves; else the newest event, or on a small screen
/// the marker.
pub fn status(model: &Model, width: u16) -> Row {
    let t = model.theme;
    let room = usize::from(width);
    let mut left = Row::new();
    if let Some(p) = model.running {
        left.push(
            format!("running, event {} (from {}); Esc or Ctrl-c cancels", p.event, p.from),
            t.accent(),
        );
        return left;
    }
    let m = model.session.machine();
    let queue = model.queue().and_then(|id| m.queue(id));
    let stall = queue.and_then(|q| q.stalled);
    let aborted = queue.is_some_and(|q| m.aborted.contains(&q.id().engine));
    if let Some(said) = &model.said {
        let style = said.severity.map_or(t.strong(), |s| t.severity(s));
        left.push(format!(" {}", printable(&said.text)), style);
    } else if aborted {
        left.push(" the engine has aborted (MODEL: what comes after a fault)", t.error());
    } else if let Some(stall) = stall {
        left.push(
            format!(" stalled (MODEL): {}", stall.words()),
            t.severity(crate::diag::Severity::Warning),
        );
    } else if let Some(e) = m.last {
        let text = printable(&describe_event(model.session.program(), &e));
        left.push(format!(" {}: ", e.agent), t.dim());
        left.push(text, t.text());
    } else if !model.session.can_step() {
        left.push(" opened to be read, nothing is run: Up and Down select a slot", t.dim());
    } else {
        left.push(" the start: s steps, ? helps", t.dim());
    }
    let right = if model.derived.areas.class >= Class::Stacked {
        let s = model.selection;
        let of = model.ring_size(s.dir);
        Row::text(format!("{}[{}] of {of} ", s.dir, s.slot), t.dim())
    } else {
        marker::short(model)
    };
    // An answer that needs the room has it.
    if model.said.is_some() && left.width() + right.width() > room {
        return left_right(left, Row::new(), room);
    }
    left_right(left, right, room)
}

/// How to get on at all, on the right; on the left as many other keys as fit.
pub fn hints(model: &Model, width: u16) -> Row {
    let t = model.theme;
    let room = usize::from(width);
    // Values that the user asked to see take the place of the keys.
    let shown = model.session.display_lines();
    if !shown.is_empty() {
        let text = printable(&format!(" {}", shown.join("   ")));
        return Row::text(clip(&text, room), t.strong());
    }
    let one = |b: &Binding| {
        let key = b.keys.first().map(|k| k.name()).unwrap_or_default();
        // A key that is a command is written heavier than one that only looks.
        let style = if matches!(b.does, Does::Command(_)) { t.accent() } else { t.strong() };
        Row::text(format!(" {key}"), style).with(format!(" {} ", b.hint), t.dim())
    };
    let basic = |b: &&Binding| {
        matches!(
            b.does,
            Does::Act(Action::OpenLine) | Does::Command("help") | Does::Command("quit")
        )
    };
    let module = model.has_module();
    let lesson = model.lesson.is_some();
    let idle = !model.session.can_step();
    let here = When::In(model.focus);
    let own = || KEYMAP.iter().filter(move |b| b.when == here);
    let holds = move |b: &&Binding| {
        let has_place = match b.when {
            When::Module => module,
            When::Lesson => lesson,
            When::In(_) => false,
            _ => true,
        };
        // The pane with the focus may have another use for the key.
        let taken = || own().any(|o| o.keys.first() == b.keys.first());
        // Where nothing is run there is nowhere to go.
        let useless = idle && matches!(b.does, Does::Command(c) if runs(c));
        !b.hint.is_empty() && has_place && !taken() && !useless
    };
    let hinted = || own().filter(|b| !b.hint.is_empty()).chain(KEYMAP.iter().filter(holds));
    let right = Row(hinted().filter(basic).flat_map(|b| one(b).0).collect());
    let mut left = Row::new();
    for b in hinted().filter(|b| !basic(b)) {
        let more = one(b);
        if left.width() + more.width() + right.width() >= room {
            break;
        }
        left.0.extend(more.0);
    }
    left_right(left, right, room)
}

/// Whether a command moves through the run.
fn runs(command: &str) -> bool {
    let verb = command.split_whitespace().next();
    COMMANDS.iter().any(|c| Some(c.name) == verb && c.group == Group::Run)
}

/// Draws the open command line over the bottom of the screen; the place of the cursor.
pub fn command_line(model: &Model, buf: &mut Buffer) -> Option<Position> {
    let line = model.line.as_ref()?;
    let screen = buf.area;
    let room = usize::from(screen.width).saturating_sub(3);
    let scroll = line.input.visual_scroll(room.max(1));
    let text: String = line.input.value().chars().skip(scroll).take(room).collect();
    let t = model.theme;
    let mut lines = vec![Row::text(": ", t.accent()).with(text, t.text())];
    lines.extend(below(model, line, scroll, room));
    let n = (lines.len() as u16).min(screen.height);
    // The line itself stays where it would not all fit.
    lines.truncate(usize::from(n));
    let area = Rect { y: screen.y + screen.height - n, height: n, ..screen };
    rows::clear(area, buf);
    rows::draw(&lines, area, buf);
    let x = 2 + line.input.visual_cursor().saturating_sub(scroll) as u16;
    Some(Position::new((area.x + x).min(area.right().saturating_sub(1)), area.y))
}

/// What stands below the line: carets and the error, candidates, or how to leave.
fn below(model: &Model, line: &CommandLine, scroll: usize, room: usize) -> Vec<Row> {
    let t = model.theme;
    let Some(d) = &line.error else {
        if line.candidates.is_empty() {
            let text = "  Enter executes, Tab completes, Up recalls, Esc closes";
            return vec![Row::text(clip(text, room + 2), t.dim())];
        }
        let text = printable(&line.candidates.join("  "));
        return wrap(&text, room)
            .into_iter()
            .take(4)
            .map(|l| Row::text(format!("  {l}"), t.text()))
            .collect();
    };
    let style = t.severity(d.severity);
    let mut out = Vec::new();
    if let Some(column) = d.place.column {
        let at = (column.saturating_sub(1) as usize).saturating_sub(scroll).min(room);
        let carets = (d.place.width.unwrap_or(1).max(1) as usize).min(room - at + 1);
        let text = format!("{}{}", " ".repeat(2 + at), "^".repeat(carets));
        out.push(Row::text(text, style));
    }
    let message = format!("{}[{}]: {}", d.severity, d.code, printable(&d.message));
    let lines = wrap(&message, room).into_iter().map(|l| Row::text(format!("  {l}"), style));
    out.extend(lines.take(3));
    if let Some(help) = &d.help {
        let text = format!("help: {}", printable(help));
        let lines = wrap(&text, room).into_iter().map(|l| Row::text(format!("  {l}"), t.text()));
        out.extend(lines.take(2));
    }
    debug_assert!(out.iter().all(|r| width(&r.to_text()) <= room + 4));
    out
}
