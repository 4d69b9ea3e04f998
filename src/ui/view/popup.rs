//! Texts over the screen: the help, answers of more than one line, places; what is searched for
//! in them.

use super::help::{self, Part};
use crate::diag::render::printable;
use crate::ui::model::{Model, Popup};
use crate::ui::rows::{self, Row, broken, clip, clip_front, width, wrap};
use crate::ui::sieve::Sieve;
use crate::ui::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

/// Widest popup.
const WIDEST: u16 = 110;

/// Rows at the bottom of the screen that nothing lies over, where there are more: the newest
/// answer and the keys.
pub const KEPT: u16 = 2;

/// The outer area of a popup with so many lines.
fn area(screen: Rect, lines: usize, widest: usize) -> Rect {
    let w =
        screen.width.saturating_sub(4).min(WIDEST).min((widest as u16).saturating_add(4).max(40));
    let w = no_slivers(w.max(1).min(screen.width), screen.width);
    let h = (lines.min(usize::from(u16::MAX) - 2) as u16 + 2)
        .min(screen.height.saturating_sub(KEPT + 1))
        .max(1)
        .min(screen.height);
    let lowest = screen.height.saturating_sub(h + KEPT);
    Rect {
        x: screen.x + (screen.width - w) / 2,
        y: screen.y + ((screen.height - h) / 2).min(lowest),
        width: w,
        height: h,
    }
}

/// What is shown of a text.
struct Shown {
    rows: Vec<Row>,
    /// Rows that are headings.
    heads: Vec<usize>,
    /// Pieces that are shown, and how many there are.
    kept: (usize, usize),
}

/// The parts of what lies over the screen.
fn parts(model: &Model, room: usize) -> Vec<Part> {
    let whole = |pieces| vec![Part { title: String::new(), pieces }];
    match &model.popup {
        Some((Popup::Help, _)) => help::parts(model, room),
        Some((Popup::Jumps(at), _)) => {
            whole(jumps(model, *at, room).into_iter().map(|r| vec![r]).collect())
        }
        Some((Popup::Output(lines), _)) => {
            let lines: Vec<String> = lines.iter().map(|l| printable(l)).collect();
            let piece = |l: &String| {
                fit(l, room).iter().map(|l| Row::text(l, model.theme.text())).collect()
            };
            whole(squeeze(lines, room).iter().map(piece).collect())
        }
        None => Vec::new(),
    }
}

/// The pieces that are not left out, below the headings of their parts. A word may stand in the
/// heading, and the others in the piece.
fn shown(t: Theme, parts: &[Part], sieve: &Sieve) -> Shown {
    let mut out = Shown { rows: Vec::new(), heads: Vec::new(), kept: (0, 0) };
    for part in parts {
        out.kept.1 += part.pieces.len();
        let has = |piece: &&Vec<Row>| {
            let text: Vec<String> = piece.iter().map(Row::to_text).collect();
            !sieve.narrows() || sieve.keeps(&format!("{} {}", part.title, text.join(" ")))
        };
        let kept: Vec<&Vec<Row>> = part.pieces.iter().filter(has).collect();
        out.kept.0 += kept.len();
        if !kept.is_empty() && !part.title.is_empty() {
            if !out.rows.is_empty() {
                out.rows.push(Row::new());
            }
            out.heads.push(out.rows.len());
            out.rows.push(Row::text(&part.title, t.strong()));
        }
        out.rows.extend(kept.into_iter().flatten().cloned());
    }
    if out.rows.is_empty() && sieve.narrows() {
        out.rows.push(Row::text("nothing has that", t.dim()));
    }
    out
}

/// Every line of what is shown over the screen, as far as it is not left out.
pub fn lines(model: &Model) -> Vec<String> {
    let rows = shown(model.theme, &parts(model, usize::from(WIDEST) - 4), &model.sieve).rows;
    rows.iter().map(|r| r.to_text().trim_end().to_owned()).collect()
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
    let text = line.get(indent..).unwrap_or_default();
    let parts = broken(text, room.saturating_sub(indent + 2)).into_iter();
    let set = |(i, part): (usize, std::ops::Range<usize>)| {
        let l = text.get(part).unwrap_or_default();
        format!("{:w$}{l}", "", w = indent + if i == 0 { 0 } else { 2 })
    };
    parts.enumerate().map(set).collect()
}

/// Where it lies, which does not change while something is searched for, and what it shows.
fn measured(model: &Model, screen: Rect) -> (Rect, Shown) {
    let room = usize::from(wide(screen.width).saturating_sub(4));
    let parts = parts(model, room);
    let all = shown(model.theme, &parts, &Sieve::default());
    let widest = all.rows.iter().map(Row::width).max().unwrap_or(0);
    let area = area(screen, all.rows.len(), widest);
    let shown = if model.sieve.narrows() { shown(model.theme, &parts, &model.sieve) } else { all };
    (area, shown)
}

fn screen(model: &Model) -> Rect {
    Rect::new(0, 0, model.size.0, model.size.1)
}

/// How far the popup can be scrolled.
pub fn max_scroll(model: &Model) -> usize {
    let (area, shown) = measured(model, screen(model));
    shown.rows.len().saturating_sub(usize::from(area.height.saturating_sub(2)))
}

/// How far it is scrolled where the next heading (1), or the one before (-1), is on top.
pub fn heading(model: &Model, by: i64) -> usize {
    let scroll = model.popup.as_ref().map_or(0, |p| p.1);
    let heads = measured(model, screen(model)).1.heads;
    let to = match by < 0 {
        true => heads.iter().rev().find(|h| **h < scroll),
        false => heads.iter().find(|h| **h > scroll),
    };
    to.copied().unwrap_or(scroll).min(max_scroll(model))
}

/// Draws the popup, if one is open; the place of the cursor, where something is typed.
pub fn draw(model: &Model, buf: &mut Buffer) -> Option<Position> {
    let (popup, scroll) = model.popup.as_ref()?;
    let (area, shown) = measured(model, buf.area);
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return None;
    }
    rows::clear(area, buf);
    let t = model.theme;
    let content = shown.rows;
    let inner = usize::from(area.height.saturating_sub(2));
    let scroll = (*scroll).min(content.len().saturating_sub(inner));
    let answers = printable(&model.answers);
    let room = usize::from(area.width).saturating_sub(8);
    let name = match popup {
        Popup::Help => "help",
        Popup::Output(_) => &clip(&answers, room),
        Popup::Jumps(_) => "places",
    };
    let below = content.len().saturating_sub(scroll + inner);
    let longer = content.len() > inner;
    let mut ways = Vec::new();
    if below > 0 {
        ways.push(format!("{below} more line{} below", if below == 1 { "" } else { "s" }));
    }
    let searched = model.sieve.is_open();
    match popup {
        Popup::Jumps(_) if below == 0 => ways.push("Enter goes there, Esc closes".to_owned()),
        _ if model.sieve.typing => ways.push("Enter keeps this, Esc shows all".to_owned()),
        _ if searched => ways.push("/ searches on, Esc shows all".to_owned()),
        Popup::Help => ways.push("/ searches, Tab next part, Esc closes".to_owned()),
        Popup::Output(_) if longer => ways.push("/ searches, Esc closes".to_owned()),
        _ => ways.push("Esc closes".to_owned()),
    }
    let (title, cursor) = match searched {
        false => (name.to_owned(), None),
        true => searching(model, name, shown.kept, room),
    };
    // How to leave is told in any case.
    let all = ways.join(", ");
    let ways = if width(&all) <= room { all } else { ways.pop().unwrap_or_default() };
    let lines = frame(t, area, &title, &clip(&ways, room), &content, scroll);
    rows::draw(&lines, area, buf);
    let x = area.x + 3 + cursor.filter(|_| model.sieve.typing)?;
    Some(Position::new(x.min(area.right().saturating_sub(1)), area.y))
}

/// The name of a text with what is searched for in it and how much has that; the column of the
/// cursor.
fn searching(
    model: &Model,
    name: &str,
    (kept, all): (usize, usize),
    room: usize,
) -> (String, Option<u16>) {
    let count = format!("  {kept} of {all}");
    let name = clip(name, room / 3);
    let typed = printable(model.sieve.input.value());
    let left = room.saturating_sub(width(&name) + width(&count) + 4).max(1);
    let scroll = model.sieve.input.visual_scroll(left);
    let text = clip_front(&typed, left);
    let at = width(&name) + 3 + model.sieve.input.visual_cursor().saturating_sub(scroll).min(left);
    (format!("{name}  /{text}{count}"), u16::try_from(at).ok())
}

/// Columns of a popup that is as wide as there is room for.
pub fn wide(screen: u16) -> u16 {
    no_slivers(screen.saturating_sub(4).clamp(1, WIDEST).min(screen.max(1)), screen)
}

/// So many columns of a screen, or all of it where beside them only words would be left that say
/// nothing.
pub fn no_slivers(w: u16, screen: u16) -> u16 {
    if screen.saturating_sub(w) < 2 * SLIVER { screen } else { w }
}

/// Fewest columns that are left on either side of what lies over the screen.
const SLIVER: u16 = 8;

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
