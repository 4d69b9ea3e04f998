//! The lesson above the panes: which task, what it asks, what was said about what was tried.

use crate::diag::render::printable;
use crate::learn::{Play, TaskState, ToldKind};
use crate::ui::layout::{COMPACT, FULL};
use crate::ui::model::Model;
use crate::ui::rows::{Row, clip, wrap};
use ratatui::style::Style;

/// Rows that the lesson may have at most: on a small screen, and on a large one.
const MOST: (u16, u16) = (7, 10);

/// Rows that the lesson wants on a screen of the model's size, its title line included.
pub fn height(model: &Model) -> u16 {
    let Some(play) = &model.lesson else { return 0 };
    let (width, height) = model.size;
    let most = match (width >= FULL.0 && height >= FULL.1 + MOST.1, height >= COMPACT.1) {
        (true, _) => MOST.1,
        (false, true) => MOST.0,
        (false, false) => 4,
    };
    (body(model, play, usize::from(width)).len() as u16 + 1).min(most)
}

/// The lesson in an area of a size; what does not fit is left to `lesson`.
pub fn rows(model: &Model, width: u16, height: u16) -> Vec<Row> {
    let (Some(play), true) = (&model.lesson, height > 0) else { return Vec::new() };
    let width = usize::from(width);
    let mut out = vec![title(model, play, width)];
    let all = body(model, play, width);
    let room = usize::from(height) - 1;
    let cut = all.len() > room;
    let shown = if cut { room.saturating_sub(1) } else { room };
    out.extend(all.into_iter().take(shown));
    if cut {
        let text = " .. L shows all of it";
        out.push(Row::text(clip(text, width), model.theme.dim()));
    }
    out.truncate(usize::from(height));
    out
}

/// The line above: the lesson, the task, a mark for each task, how to answer.
fn title(model: &Model, play: &Play, width: usize) -> Row {
    let t = model.theme;
    let (across, _) = t.lines();
    let n = play.states().len();
    let mut row = Row::text(across.to_string(), t.border());
    let how = match (play.is_done(), play.is_solved()) {
        (true, _) => match model.lesson_next {
            Some(n) => &format!(" every task is solved: T goes on to lesson {} ", n + 1),
            None => " every task is solved ",
        },
        (_, true) => " solved: T goes on ",
        _ => &format!(" {} ", play.how()),
    };
    let name = printable(&play.lesson().title);
    let task = format!(" task {} of {n} ", play.at() + 1);
    let room = width.saturating_sub(task.len() + n.min(MARKS) + how.len() + 5);
    row.push(format!(" {} ", clip(&name, room)), t.title(true));
    row.push(across.to_string(), t.border());
    row.push(task, t.strong());
    for (i, state) in play.states().iter().enumerate().take(MARKS) {
        let (mark, style) = match state {
            TaskState::Solved => ("+", t.accent()),
            TaskState::Skipped => ("-", t.dim()),
            TaskState::Open if i == play.at() => (">", t.strong()),
            TaskState::Open => (".", t.dim()),
        };
        row.push(mark, style);
    }
    let rest = width.saturating_sub(row.width() + how.len() + 1);
    row.push(format!(" {}", across.to_string().repeat(rest)), t.border());
    let style = if play.is_solved() { t.accent() } else { t.dim() };
    row.push(how, style);
    row
}

/// Tasks that have a mark of their own.
const MARKS: usize = 20;

/// What was said, then the task; of a solved task only what was said.
fn body(model: &Model, play: &Play, width: usize) -> Vec<Row> {
    let t = model.theme;
    let mut out = Vec::new();
    if let Some(told) = play.told() {
        let (head, style) = match told.kind {
            ToldKind::Right => ("", t.accent()),
            ToldKind::Wrong => ("", t.severity(crate::diag::Severity::Warning)),
            ToldKind::Hint => ("Hint: ", t.accent()),
            ToldKind::Note => ("", t.dim()),
        };
        let mut text = told.text.clone();
        if let Some(first) = text.first_mut() {
            first.insert_str(0, head);
        }
        text.iter().for_each(|p| paragraph(&mut out, p, style, width));
        if told.kind == ToldKind::Right {
            return out;
        }
    }
    let lines = play.task_lines();
    lines.iter().for_each(|p| paragraph(&mut out, p, t.text(), width));
    out
}

fn paragraph(out: &mut Vec<Row>, text: &str, style: Style, width: usize) {
    let text = printable(text);
    let room = width.saturating_sub(2);
    // A line that is set in stays as it is.
    let lines = if text.starts_with("    ") { vec![clip(&text, room)] } else { wrap(&text, room) };
    out.extend(lines.into_iter().map(|l| Row::text(format!(" {l}"), style)));
}
