//! Texts over the screen: the help, made from the keymap and the command table, and answers
//! of more than one line.

use crate::diag::render::printable;
use crate::engine::command::{COMMANDS, Group};
use crate::engine::ring::Life;
use crate::ui::keymap::{Keymap, When};
use crate::ui::layout::{Pane, Texts};
use crate::ui::model::{Model, Popup};
use crate::ui::rows::{self, Row, clip, width, wrap};
use crate::ui::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Widest popup.
const WIDEST: u16 = 110;

/// The outer area of a popup with so many lines.
fn area(screen: Rect, lines: usize, widest: usize) -> Rect {
    let w =
        screen.width.saturating_sub(4).min(WIDEST).min((widest as u16).saturating_add(4).max(40));
    let w = w.max(1).min(screen.width);
    let h = (lines.min(usize::from(u16::MAX) - 2) as u16 + 2)
        .min(screen.height.saturating_sub(2))
        .max(1)
        .min(screen.height);
    Rect {
        x: screen.x + (screen.width - w) / 2,
        y: screen.y + (screen.height - h) / 2,
        width: w,
        height: h,
    }
}

fn content(model: &Model, room: usize) -> Vec<Row> {
    match &model.popup {
        Some((Popup::Help, _)) => {
            help(model.theme, room, &model.keys, (model.texts(), model.lesson.is_some()))
        }
        Some((Popup::Jumps(at), _)) => jumps(model, *at, room),
        Some((Popup::Output(lines), _)) => {
            let lines: Vec<String> = lines.iter().map(|l| printable(l)).collect();
            squeeze(lines, room)
                .iter()
                .flat_map(|l| fit(l, room))
                .map(|l| Row::text(l, model.theme.text()))
                .collect()
        }
        None => Vec::new(),
    }
}

/// The places that were left and those ahead, with where the user is among them.
fn jumps(model: &Model, selected: usize, room: usize) -> Vec<Row> {
    let t = model.theme;
    let (all, here) = model.jumps.all(model.spot());
    let one = |(n, s): (usize, &crate::ui::jumps::Spot)| {
        let mark = if n == here { t.cursor() } else { ' ' };
        let mut row = Row::text(format!("{mark} "), t.accent());
        let text = printable(&model.spot_words(s));
        let style = if n == here { t.strong() } else { t.text() };
        row.push(rows::clip(&text, room.saturating_sub(2)), style);
        if n == selected {
            row.pad_to(room);
            row = row.restyled(|s| t.selected(s));
        }
        row
    };
    all.iter().enumerate().map(one).collect()
}

/// Takes blanks out of a table that is too wide: of neighbouring columns that are blank in all
/// lines one is kept.
fn squeeze(lines: Vec<String>, room: usize) -> Vec<String> {
    if lines.len() < 2 || lines.iter().all(|l| width(l) <= room) {
        return lines;
    }
    let chars: Vec<Vec<char>> = lines.iter().map(|l| l.chars().collect()).collect();
    let widest = chars.iter().map(Vec::len).max().unwrap_or(0);
    let blank = |i: usize| chars.iter().all(|l| l.get(i).is_none_or(|c| *c == ' '));
    let keep: Vec<bool> = (0..widest).map(|i| i == 0 || !(blank(i) && blank(i - 1))).collect();
    let line = |l: &Vec<char>| l.iter().zip(&keep).filter(|(_, k)| **k).map(|(c, _)| *c).collect();
    chars.iter().map(line).collect()
}

/// A line as it is, or broken where it does not fit, further lines set in.
fn fit(line: &str, room: usize) -> Vec<String> {
    if width(line) <= room {
        return vec![line.to_owned()];
    }
    let indent = line.chars().take_while(|c| *c == ' ').count().min(room / 2);
    // The last of several columns goes below the others, which stay as they are.
    if let Some((head, last)) = line.rsplit_once("  ")
        && head.trim_end().contains("  ")
        && !head.trim().is_empty()
        && width(head.trim_end()) <= room
    {
        // The same for all lines of an explanation, whose first column is set to the right.
        let set_in = indent.min(4) + 6;
        let below = wrap(last, room.saturating_sub(set_in));
        return std::iter::once(head.trim_end().to_owned())
            .chain(below.into_iter().map(|l| format!("{:set_in$}{l}", "")))
            .collect();
    }
    let broken = wrap(line, room.saturating_sub(indent + 2));
    let set =
        |(i, l): (usize, String)| format!("{:w$}{l}", "", w = indent + if i == 0 { 0 } else { 2 });
    broken.into_iter().enumerate().map(set).collect()
}

fn measured(model: &Model, screen: Rect) -> (Rect, Vec<Row>) {
    let room = usize::from(screen.width.saturating_sub(8).min(WIDEST - 4));
    let rows = content(model, room);
    let widest = rows.iter().map(Row::width).max().unwrap_or(0);
    (area(screen, rows.len(), widest), rows)
}

/// How far the popup can be scrolled.
pub fn max_scroll(model: &Model) -> usize {
    let (area, rows) = measured(model, Rect::new(0, 0, model.size.0, model.size.1));
    rows.len().saturating_sub(usize::from(area.height.saturating_sub(2)))
}

/// Draws the popup, if one is open.
pub fn draw(model: &Model, buf: &mut Buffer) {
    let Some((popup, scroll)) = &model.popup else { return };
    let (area, content) = measured(model, buf.area);
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    rows::clear(area, buf);
    let t = model.theme;
    let inner = usize::from(area.height.saturating_sub(2));
    let scroll = (*scroll).min(content.len().saturating_sub(inner));
    let answers = printable(&model.answers);
    let name = match popup {
        Popup::Help => "help",
        Popup::Output(_) => &clip(&answers, usize::from(area.width).saturating_sub(8)),
        Popup::Jumps(_) => "places",
    };
    let more = match content.len().saturating_sub(scroll + inner) {
        0 if matches!(popup, Popup::Jumps(_)) => "Enter goes there, Esc closes".to_owned(),
        0 => "Esc closes".to_owned(),
        n => format!("{n} more lines below, Esc closes"),
    };
    let lines = frame(t, area, name, &more, &content, scroll);
    rows::draw(&lines, area, buf);
}

/// Columns of a popup that is as wide as there is room for.
pub fn wide(screen: u16) -> u16 {
    screen.saturating_sub(4).clamp(1, WIDEST).min(screen.max(1))
}

/// The rows of a popup: its name above, how to leave below, the content between from a row on.
pub fn frame(
    t: Theme,
    area: Rect,
    name: &str,
    below: &str,
    content: &[Row],
    top: usize,
) -> Vec<Row> {
    let mut lines = vec![edge(t, area.width, name)];
    for i in 0..usize::from(area.height.saturating_sub(2)) {
        lines.push(side(t, area.width, content.get(top + i)));
    }
    lines.push(edge(t, area.width, below));
    lines
}

fn edge(t: Theme, w: u16, text: &str) -> Row {
    let (across, _) = t.lines();
    let mut row = Row::text(across.to_string().repeat(2), t.accent());
    row.push(format!(" {text} "), t.accent());
    let rest = usize::from(w).saturating_sub(row.width());
    row.push(across.to_string().repeat(rest), t.accent());
    row
}

fn side(t: Theme, w: u16, content: Option<&Row>) -> Row {
    let (_, down) = t.lines();
    let room = usize::from(w).saturating_sub(2);
    let mut row = Row::text(format!("{down} "), t.accent());
    for p in content.into_iter().flat_map(|r| &r.0) {
        let left = (room + 1).saturating_sub(row.width());
        row.push(rows::clip(&p.text, left.saturating_sub(1)), p.style);
    }
    row.pad_to(usize::from(w).saturating_sub(1));
    row.push(down.to_string(), t.accent());
    row
}

/// The help.
fn help(t: Theme, room: usize, keys: &Keymap, (texts, lesson): (Texts, bool)) -> Vec<Row> {
    let module = texts == Texts::Module;
    let mut out = Vec::new();
    let places = [When::Lesson, When::Panes, When::Module, When::Ring]
        .into_iter()
        .filter(|w| (module || *w != When::Module) && (lesson || *w != When::Lesson))
        .chain(Pane::all(texts).map(When::In))
        .chain([When::Popup, When::Grid, When::Line]);
    for when in places {
        let lines = keys.lines(when);
        if lines.is_empty() {
            continue;
        }
        heading(&mut out, t, &format!("keys: {}", when.name()));
        let column = lines.iter().map(|l| width(&l.0)).max().unwrap_or(0);
        for (keys, what, command) in lines {
            let command = command.map(|c| format!(" :{c}")).unwrap_or_default();
            out.push(
                Row::text(format!("  {keys:<column$}  "), t.accent())
                    .with(format!("{what:<42}"), t.text())
                    .with(printable(&command), t.dim()),
            );
        }
    }
    heading(&mut out, t, "mouse");
    for line in [
        "click a slot, a bit, an event or a finding to select it; a selected event again to go there",
        "the wheel scrolls what is under it",
    ] {
        out.extend(
            wrap(line, room.saturating_sub(2))
                .iter()
                .map(|l| Row::text(format!("  {l}"), t.text())),
        );
    }
    heading(&mut out, t, "a slot's line");
    for life in Life::ALL {
        let name = if life == Life::NeverWritten { "never written" } else { life.name() };
        out.push(
            Row::text(format!("  {}  ", life.glyph(t.ascii)), t.life(life))
                .with(name, t.life(life)),
        );
    }
    for (mark, text) in [
        (t.cursor(), "the engine's head: it retires this slot next"),
        ('t', "the tail: doorbells have posted up to here"),
        ('n', "next_desc_idx: the slot handed out next"),
        ('*', "changed since the last stop"),
        ('B', "a breakpoint (b: disabled)"),
        ('W', "a watchpoint on its bytes (w: disabled)"),
    ] {
        out.push(Row::text(format!("  {mark}  "), t.accent()).with(text, t.text()));
    }
    if module {
        source_marks(&mut out, t);
    }
    for group in Group::ALL
        .into_iter()
        .filter(|g| (module || *g != Group::Module) && (lesson || *g != Group::Learn))
    {
        heading(&mut out, t, &format!("commands: {}", group.title()));
        for c in COMMANDS.iter().filter(|c| c.group == group) {
            let mut row = Row::text(format!("  {}", c.name), t.accent());
            row.push(format!(" {}", c.usage), t.dim());
            let column = 40;
            if row.width() + 1 > column || room < column + width(c.summary) {
                out.push(row);
                for l in wrap(c.summary, room.saturating_sub(8)) {
                    out.push(Row::text(format!("        {l}"), t.text()));
                }
                continue;
            }
            row.pad_to(column);
            row.push(c.summary, t.text());
            out.push(row);
        }
    }
    out
}

/// What stands before a line of a module's text.
fn source_marks(out: &mut Vec<Row>, t: Theme) {
    heading(out, t, "a line of a module's text");
    let link = if t.ascii { '*' } else { '◆' };
    for (mark, text) in [
        ('+', "the stage before has nothing for it"),
        ('~', "another line stood there for the same"),
        ('B', "a breakpoint is about it (b: disabled)"),
        (link, "it stems from the selected instruction"),
        (t.cursor(), "the sequencer of this name is at it"),
        (t.waits(), "the sequencer of this name comes to it next"),
    ] {
        out.push(Row::text(format!("  {mark}  "), t.accent()).with(text, t.text()));
    }
}

fn heading(out: &mut Vec<Row>, t: Theme, text: &str) {
    if !out.is_empty() {
        out.push(Row::new());
    }
    out.push(Row::text(text, t.strong()));
}
