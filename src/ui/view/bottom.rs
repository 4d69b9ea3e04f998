//! The lines at the bottom: the newest answer, the keys, the command line with its errors.

use super::{left_right, marker, popup};
use crate::diag::render::printable;
use crate::engine::command::{COMMANDS, Group};
use crate::engine::session::describe_event;
use crate::ui::keymap::{Action, Binding, Does, KEYMAP, Meaning, When};
use crate::ui::layout::{Class, Pane};
use crate::ui::model::{CommandLine, Model, Popup};
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

/// How to get on at all, on the right; on the left as many other keys as fit, the most used ones
/// in any case ([`Rank`]). Only keys that do that here, for this user.
pub fn hints(model: &Model, width: u16) -> Row {
    let t = model.theme;
    let room = usize::from(width);
    let one = |b: &Binding| {
        let key = b.keys.first().map(|k| k.name()).unwrap_or_default();
        // A key that is a command is written heavier than one that only looks.
        let style = if matches!(b.does, Does::Command(_)) { t.accent() } else { t.strong() };
        Row::text(format!(" {key}"), style).with(format!(" {} ", b.hint), t.dim())
    };
    let mode = crate::ui::update::mode(model);
    let lesson = model.lesson.is_some();
    let solved = model.lesson.as_ref().is_some_and(|play| play.is_solved());
    let idle = !model.session.can_step();
    let holds = |b: &&Binding| {
        let does = match b.does {
            Does::Command(c) => Meaning::Command(c),
            Does::Act(a) => Meaning::Act(a),
        };
        // The pane with the focus, a lesson or the user may have another use for the key.
        let means = b.keys.first().and_then(|k| model.keys.find(*k, mode, lesson)) == Some(does);
        let place = b.when.holds(mode) && (lesson || b.when != When::Lesson);
        // Where nothing is run there is nowhere to go, and what is not there cannot be chosen.
        let useless = match (b.does, b.when) {
            (Does::Command("proceed"), When::Lesson) => !solved,
            (Does::Command("hint") | Does::Act(Action::WriteLine(_)), When::Lesson) => solved,
            (Does::Act(Action::OpenSieve), _) => {
                matches!(model.popup, Some((Popup::Jumps(_), _)))
            }
            (Does::Act(Action::Page(_)), When::Popup) => popup::max_scroll(model) == 0,
            (Does::Command(c), _) => idle && runs(c),
            (_, When::In(Pane::Stops)) => model.listed_stops().is_empty(),
            (_, When::In(Pane::Budget)) => model.derived.shares.is_empty(),
            _ => false,
        };
        !b.hint.is_empty() && place && means && !useless
    };
    let pane = |b: &&Binding| matches!(b.when, When::In(_));
    let all = || KEYMAP.iter().filter(pane).chain(KEYMAP.iter().filter(|b| !pane(b)));
    let hinted: Vec<&Binding> = all().filter(holds).collect();
    let basic = |b: &&&Binding| Rank::of(b) == Rank::Basic;
    let right = Row(hinted.iter().filter(basic).flat_map(|b| one(b).0).collect());
    // Values that the user asked to see take the place of the keys.
    let shown = model.session.display_lines();
    if !shown.is_empty() {
        let values = Row::text(printable(&format!(" {}", shown.join("   "))), t.strong());
        let right = if values.width() + right.width() < room { right } else { Row::new() };
        return left_right(values, right, room);
    }
    let mut by_rank: Vec<usize> = (0..hinted.len()).collect();
    by_rank.sort_by_key(|n| Rank::of(hinted[*n]));
    let mut left = room.saturating_sub(right.width() + 1);
    let mut chosen = Vec::new();
    for n in by_rank.into_iter().filter(|n| !basic(&&hinted[*n])) {
        let w = one(hinted[n]).width();
        if w > left {
            continue;
        }
        left -= w;
        chosen.push(n);
    }
    chosen.sort_unstable();
    left_right(Row(chosen.into_iter().flat_map(|n| one(hinted[n]).0).collect()), right, room)
}

/// How much a key is missed where it is not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// How to get help, to leave, and to do all else.
    Basic,
    /// What is pressed most.
    Most,
    /// What the pane with the focus, or a lesson, has of its own.
    Own,
    /// What is pressed much.
    Much,
    /// The others.
    Other,
}

impl Rank {
    fn of(b: &Binding) -> Rank {
        match (b.does, b.when) {
            (Does::Act(Action::OpenLine) | Does::Command("help" | "quit"), _) => Rank::Basic,
            (Does::Command("step" | "continue" | "finish"), _) => Rank::Most,
            (_, When::In(_) | When::Lesson) => Rank::Own,
            (Does::Command("reverse-step" | "next"), _) => Rank::Much,
            _ => Rank::Other,
        }
    }
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
