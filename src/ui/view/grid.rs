//! The access grid over the screen: the bytes of source and destination in rows, which
//! descriptor touches them, the current one lit.

use super::popup::{KEPT, frame};
use crate::diag::Severity;
use crate::diag::render::printable;
use crate::ui::grid::{Cell, Grid, Side, cells, order};
use crate::ui::model::Model;
use crate::ui::rows::{self, Row, clip, wrap};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Columns of what stands before a row of cells.
const LABEL: usize = 9;
/// Rows that a pattern in words may take.
const PATTERN: usize = 3;
/// Columns from which both sides stand beside each other.
const BESIDE: usize = 96;

/// Draws it, if it is open.
pub fn draw(model: &Model, buf: &mut Buffer) {
    let Some(grid) = &model.grid else { return };
    let screen = buf.area;
    let area = outer(screen);
    let (w, h) = (usize::from(area.width.saturating_sub(4)), usize::from(area.height));
    let content = content(model, grid, w.max(1), h.saturating_sub(2));
    let t = model.theme;
    let height = (content.len() as u16).saturating_add(2).min(area.height);
    let area = Rect { height, ..area };
    let below = "n N descriptor, o order, Tab side, arrows, + - scale, y copy, Esc closes";
    let name = clip(&name(grid), w);
    let lines = frame(t, area, &name, &clip(below, w), &content, 0);
    rows::clear(area, buf);
    rows::draw(&lines, area, buf);
}

/// The most that it may take of a screen.
fn outer(screen: Rect) -> Rect {
    let y = u16::from(screen.height > 4);
    Rect { y: screen.y + y, height: screen.height - y * (KEPT + 1), ..screen }
}

/// Of what it is, which descriptor is the current one, and when it was run.
fn name(grid: &Grid) -> String {
    let which = format!("descriptor {} of {}", grid.number(), grid.numbers.len());
    printable(&format!("{}, {which}, {}", grid.title, grid.when))
}

/// What it shows, its name first, a text for each row.
pub fn text(model: &Model, grid: &Grid) -> Vec<String> {
    let area = outer(Rect::new(0, 0, model.size.0, model.size.1));
    let (w, h) = (usize::from(area.width.saturating_sub(4)), usize::from(area.height));
    let content = content(model, grid, w.max(1), h.saturating_sub(2));
    let rows = content.iter().map(|r| r.to_text().trim_end().to_owned());
    std::iter::once(name(grid)).chain(rows).collect()
}

fn content(model: &Model, grid: &Grid, width: usize, height: usize) -> Vec<Row> {
    let t = model.theme;
    let sides = grid.sides();
    // The destination is always one of the two that are shown.
    let last = sides.len().saturating_sub(1);
    let shown: Vec<usize> = match last {
        0 => vec![0],
        _ => vec![grid.side.min(last - 1), last],
    };
    let legend = legend(model, grid, width);
    let room = height.saturating_sub(1 + legend.len());
    let mut out = Vec::new();
    if width >= BESIDE && shown.len() == 2 {
        let half = (width - 3) / 2;
        let words = shown.iter().map(|k| pattern(grid, *k, half).len()).max().unwrap_or(0);
        let a = side(model, grid, shown[0], half, (room, words));
        let b = side(model, grid, shown[1], half, (room, words));
        for k in 0..a.len().max(b.len()) {
            let mut row = a.get(k).cloned().unwrap_or_default();
            row.pad_to(half + 1);
            row.push(t.lines().1.to_string(), t.border());
            row.push(" ", t.text());
            row.0.extend(b.get(k).cloned().unwrap_or_default().0);
            out.push(row);
        }
    } else {
        let each = room / shown.len();
        for k in shown {
            let words = pattern(grid, k, width).len();
            out.extend(side(model, grid, k, width, (each, words)));
        }
    }
    out.truncate(height.saturating_sub(legend.len()));
    out.extend(legend);
    out
}

/// What the signs in the cells mean, on as many rows as it needs.
fn legend(model: &Model, grid: &Grid, width: usize) -> Vec<Row> {
    let t = model.theme;
    let own = digit(grid.number().saturating_sub(1)).to_string();
    let several = grid.numbers.len() > 1;
    let mut items = match grid.order {
        true => vec![("0..z".to_owned(), t.lit(t.strong()), "order within this descriptor")],
        false => vec![(own, t.lit(t.strong()), "this descriptor")],
    };
    if several {
        let another = digit(usize::from(grid.number() == 1)).to_string();
        items.push((another, t.text(), "another, by its number; of several the first"));
    }
    items.push(("#".to_owned(), t.severity(Severity::Warning), "touched more than once"));
    items.push((untouched(model).to_string(), t.dim(), "not touched"));
    let mut out = vec![Row::new()];
    for (sign, style, words) in items {
        let item = Row::text(sign, style).with(format!(" {words}"), t.dim());
        let gap = if out.last().is_some_and(|r| r.width() > 0) { 2 } else { 0 };
        if out.last().is_some_and(|r| r.width() + gap + item.width() > width) && gap > 0 {
            out.push(Row::new());
        }
        if let Some(row) = out.last_mut() {
            if row.width() > 0 {
                row.push("  ", t.text());
            }
            for p in item.0 {
                let left = width.saturating_sub(row.width());
                row.push(clip(&p.text, left), p.style);
            }
        }
    }
    out
}

fn untouched(model: &Model) -> char {
    if model.theme.ascii { '.' } else { '·' }
}

/// The pattern of a side in words.
fn pattern(grid: &Grid, k: usize, width: usize) -> Vec<String> {
    let text = grid.sides().get(k).map_or("", |s| s.pattern.as_str());
    let mut all = wrap(text, width.saturating_sub(2).max(1));
    if all.len() > PATTERN {
        let rest = all.split_off(PATTERN - 1).join(" ");
        all.push(clip(&rest, width.saturating_sub(2)));
    }
    all
}

/// A side: what it is, how it goes in so many rows of words, and its cells.
fn side(
    model: &Model,
    grid: &Grid,
    k: usize,
    width: usize,
    (height, words): (usize, usize),
) -> Vec<Row> {
    let t = model.theme;
    let Some(s) = grid.sides().get(k) else { return Vec::new() };
    let segments = s.segments();
    let room = (height.saturating_sub(2 + words).max(1), width.saturating_sub(LABEL).max(1));
    let w = grid.window(k, &segments, room);
    let mark = if k == grid.side { t.cursor() } else { ' ' };
    let mut head = Row::text(format!("{mark} "), t.accent());
    head.push(format!("{}  ", s.name), t.strong());
    head.push(clip(&printable(&s.shape.name), width.saturating_sub(head.width())), t.accent());
    let mut out = vec![head];
    let lines = pattern(grid, k, width).into_iter();
    out.extend(lines.map(|l| Row::text(format!("  {l}"), t.text())));
    out.resize(1 + words, Row::new());
    let plural = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let elem = if s.shape.elem == 1 { "byte" } else { "element" };
    let cut = if s.cut { "; not all is drawn" } else { "" };
    let scale = format!(
        "  a cell: {} x {}, from {elem} {}{cut}",
        plural(w.scale.0, s.shape.row_name),
        plural(w.scale.1, elem),
        w.from.1
    );
    let warn = t.severity(Severity::Warning);
    out.push(Row::text(clip(&scale, width), if s.cut { warn } else { t.dim() }));
    let own = s.touches.iter().find(|t| t.number == s.current && grid.order);
    let order = own.map(|t| (order(&s.shape, t, w), t.runs.iter().map(|r| r.1).sum::<u64>()));
    for (r, line) in cells(&s.shape, &segments, w).into_iter().enumerate() {
        let order = order.as_ref().and_then(|(all, n)| Some((all.get(r)?.as_slice(), *n)));
        if line.iter().all(|c| !c.inside) {
            break;
        }
        out.push(cell_row(model, s, w.from.0 + r as u64 * w.scale.0, &line, order));
    }
    out
}

fn cell_row(
    model: &Model,
    s: &Side,
    row: u64,
    line: &[Cell],
    order: Option<(&[Option<u64>], u64)>,
) -> Row {
    let t = model.theme;
    let label = match s.shape.row_name {
        "partition" => format!("p{}", s.shape.first + row),
        _ => format!("+{:x}", s.shape.first.saturating_add(row * s.shape.stride)),
    };
    let mut out = Row::text(format!("{label:>w$} ", w = LABEL - 1), t.dim());
    let mut piece = String::new();
    let mut style = t.text();
    for (k, c) in line.iter().enumerate() {
        let nth = order.and_then(|(all, n)| Some(rank((*all.get(k)?)?, n)));
        let (glyph, now) = match c.first {
            None if c.inside => (untouched(model), t.dim()),
            None => (' ', t.text()),
            Some(_) if nth.is_some() => (nth.unwrap_or(' '), t.strong()),
            Some(_) if c.twice => ('#', t.severity(Severity::Warning)),
            Some(_) if c.lit => (digit(s.current), t.strong()),
            Some(n) => (digit(n), t.text()),
        };
        let now = if c.lit { t.lit(now) } else { now };
        if now != style {
            out.push(std::mem::take(&mut piece), style);
            style = now;
        }
        piece.push(glyph);
    }
    out.push(piece, style);
    out
}

/// How far along the bytes of a descriptor one is, from `0` for the first to `z` near the last.
fn rank(at: u64, of: u64) -> char {
    const RANKS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let n = u128::from(at) * RANKS.len() as u128 / u128::from(of.max(1));
    RANKS.get(n as usize).map_or('z', |d| char::from(*d))
}

/// The number of a descriptor in one character, from 1 on; beyond those there are, a plus.
fn digit(n: usize) -> char {
    const DIGITS: &[u8] = b"123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    DIGITS.get(n).map_or('+', |d| char::from(*d))
}
