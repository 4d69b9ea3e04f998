//! The palette over the screen: what is typed, what matches, which keys do the same.

use super::popup::{frame, wide};
use crate::ui::model::Model;
use crate::ui::palette::Palette;
use crate::ui::rows::{self, Row, clip, width};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

/// Rows of the list at most.
const MOST: usize = 20;

/// Draws it, if it is open; the place of the cursor.
pub fn draw(model: &Model, buf: &mut Buffer) -> Option<Position> {
    let p = model.palette.as_ref()?;
    let screen = buf.area;
    let inner = usize::from(screen.height.saturating_sub(4)).min(MOST) + 1;
    let w = wide(screen.width);
    let area = Rect {
        x: screen.x + (screen.width - w) / 2,
        y: screen.y + screen.height.saturating_sub(inner as u16 + 2) / 3,
        width: w,
        height: (inner as u16 + 2).min(screen.height),
    };
    let room = usize::from(w).saturating_sub(4);
    let t = model.theme;
    let shown = clip(p.input.value(), room.saturating_sub(3));
    let mut content = vec![Row::text("/ ", t.accent()).with(shown, t.text())];
    content.extend(list(model, p, room, inner.saturating_sub(1)));
    let rows = inner.saturating_sub(1);
    let hidden = p.found.len().saturating_sub(p.cursor.max(rows.saturating_sub(1)) + 1);
    let more = if hidden > 0 { format!("{hidden} more below, ") } else { String::new() };
    let below = format!(
        "{more}{} of {}, Enter does it, Tab writes it, Esc closes",
        p.found.len(),
        p.entries.len()
    );
    let lines = frame(t, area, "palette", &below, &content, 0);
    rows::clear(area, buf);
    rows::draw(&lines, area, buf);
    let x = area.x + 4 + (p.input.visual_cursor() as u16).min(w.saturating_sub(6));
    Some(Position::new(
        x.min(area.right().saturating_sub(1)),
        (area.y + 1).min(screen.bottom() - 1),
    ))
}

fn list(model: &Model, p: &Palette, room: usize, rows: usize) -> Vec<Row> {
    let t = model.theme;
    let top = (p.cursor + 1).saturating_sub(rows);
    let names = p.entries.iter().map(|e| width(&e.name)).max().unwrap_or(0).min(room / 2);
    let mut out = Vec::new();
    for (k, i) in p.found.iter().enumerate().skip(top).take(rows) {
        let Some(e) = p.entries.get(*i) else { continue };
        let selected = k == p.cursor;
        let mark = if selected { t.cursor() } else { ' ' };
        let mut row = Row::text(format!("{mark} "), t.accent());
        row.push(clip(&e.name, names), t.strong());
        row.pad_to(names + 4);
        let keys = width(&e.keys) + usize::from(!e.keys.is_empty()) * 2;
        row.push(clip(e.about, room.saturating_sub(row.width() + keys)), t.dim());
        row.pad_to(room.saturating_sub(width(&e.keys)));
        row.push(e.keys.clone(), t.accent());
        if selected {
            row.pad_to(room);
            row = row.restyled(|s| t.selected(s));
        }
        out.push(row);
    }
    if p.found.is_empty() {
        out.push(Row::text("nothing matches", t.dim()));
    }
    out
}
