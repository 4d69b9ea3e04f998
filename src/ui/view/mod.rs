//! Drawing: the model into a buffer, pane by pane. Nothing here changes the model.

mod assembly;
mod bottom;
mod budget;
mod checks;
mod compact;
mod events;
pub mod grid;
mod header;
mod help;
mod inspector;
pub mod lesson;
mod marker;
mod memory;
mod palette;
pub mod popup;
mod rings;
mod source;
mod stages;
mod stops;
pub mod timeline;

pub use compact::events_below_rings;
pub use inspector::last_top;
pub use memory::{shape as memory_shape, target as memory_target};
pub use rings::address_needs;

use super::layout::{Areas, Pane};
use super::model::Model;
use super::rows::{self, Hit, Row, clip, width};
use crate::diag::render::printable;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

/// Draws the whole screen; the place of the text cursor, where there is one.
pub fn draw(model: &Model, buf: &mut Buffer) -> Option<Position> {
    // A terminal that does not know its size says that it has none.
    if buf.area.is_empty() {
        return None;
    }
    let areas = &model.derived.areas;
    rows::draw(&[header::header(model, areas.header.width)], areas.header, buf);
    rows::draw(&[header::phases(model, areas.phases.width)], areas.phases, buf);
    rows::draw(&lesson::rows(model, areas.lesson.width, areas.lesson.height), areas.lesson, buf);
    for (pane, area) in &areas.panes {
        draw_pane(model, *pane, *area, buf);
    }
    rows::draw(&[timeline::scrubber(model, areas.scrubber.width)], areas.scrubber, buf);
    rows::draw(&compact::summary(model, areas.summary.width), areas.summary, buf);
    rows::draw(&[bottom::status(model, areas.status.width)], areas.status, buf);
    rows::draw(&[bottom::hints(model, areas.hints.width)], areas.hints, buf);
    grid::draw(model, buf);
    let searched = popup::draw(model, buf);
    palette::draw(model, buf).or(searched).or_else(|| bottom::command_line(model, buf))
}

/// Draws one pane with its title.
pub fn draw_pane(model: &Model, pane: Pane, area: Rect, buf: &mut Buffer) {
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    let (across, down) = model.theme.lines();
    let inner = Areas::inner(area);
    let mut shown = pane_rows(model, pane, inner.width, inner.height);
    shown.truncate(inner.height.into());
    if area.height > 1 {
        let focused = model.focus == pane;
        let mark = if focused { model.theme.cursor() } else { across };
        let mut row = Row::text(mark.to_string(), model.theme.border());
        if pane.is_tab() {
            tabs(model, pane, focused, &mut row);
        }
        let room = usize::from(area.width).saturating_sub(3 + row.width());
        let title = format!(" {} ", clip(&pane_title(model, pane, room), room));
        let style = if pane.is_tab() { model.theme.text() } else { model.theme.title(focused) };
        row.push(title, style);
        let rest = usize::from(area.width).saturating_sub(row.width());
        let more = beyond(model, pane, &shown);
        let more = if more.is_empty() { more } else { format!(" {more} ") };
        let line = rest.checked_sub(width(&more) + 1).filter(|_| !more.is_empty());
        row.push(across.to_string().repeat(line.unwrap_or(rest)), model.theme.border());
        if line.is_some() {
            row.push(more, model.theme.dim());
            row.push(across.to_string(), model.theme.border());
        }
        rows::draw(&[row], area, buf);
    }
    if area.x > 0 && area.width > 1 {
        for y in inner.top()..inner.bottom() {
            buf.set_stringn(area.x, y, down.to_string(), 1, model.theme.border());
        }
    }
    rows::draw(&shown, inner, buf);
}

/// How many of a pane's entries there are above those that are shown, and below, where its title
/// and its rows do not tell it.
fn beyond(model: &Model, pane: Pane, shown: &[Row]) -> String {
    let of_ring = |dir| {
        let lines = model.lines_of(dir);
        let (first, last) = (lines.first(), lines.last());
        let end = last.map_or(0, |l| l.end());
        let size = if shares(model) { model.slots() } else { model.ring_size(dir) };
        (first.map_or(0, |l| l.first()), size.saturating_sub(end))
    };
    let of_entries = |all: usize, place: fn(Hit) -> Option<usize>| {
        let pieces = shown.iter().flat_map(|r| &r.0);
        let places = || pieces.clone().filter_map(|p| place(p.hit?));
        let below = places().max().map_or(0, |last| all.saturating_sub(last + 1));
        (places().min().unwrap_or(0) as u64, below as u64)
    };
    let (above, below) = match pane {
        Pane::Tx => of_ring(crate::udma::Dir::Tx),
        Pane::Rx => of_ring(crate::udma::Dir::Rx),
        Pane::Budget => of_entries(model.derived.shares.len(), |h| match h {
            Hit::Budget(k) => Some(k),
            _ => None,
        }),
        Pane::Stops => of_entries(model.listed_stops().len(), |h| match h {
            Hit::Stop(k) => Some(k),
            _ => None,
        }),
        Pane::Passes => of_entries(model.passes.rows.len(), |h| match h {
            Hit::Pass(k) => Some(k),
            _ => None,
        }),
        // What is below is told in the last row.
        Pane::Checks => of_entries(0, |h| match h {
            Hit::Finding(k) => Some(k),
            _ => None,
        }),
        _ => (0, 0),
    };
    model.theme.scrolled(above, below)
}

/// The names of the panes that share a place; each can be clicked.
fn tabs(model: &Model, shown: Pane, focused: bool, row: &mut Row) {
    let t = model.theme;
    for pane in Pane::TABS {
        let style = match (pane == shown, focused) {
            (true, focused) => t.title(focused),
            (false, _) => t.dim(),
        };
        let name = if pane == shown { format!("[{}]", pane.name()) } else { pane.name().into() };
        row.push_hit(format!(" {name} "), style, Some(Hit::Tab(pane)));
    }
    row.push(model.theme.lines().0.to_string(), t.border());
}

/// The tab whose name lies at a column of the title of a pane.
pub fn tab_at(model: &Model, pane: Pane, column: u16) -> Option<Pane> {
    let mut row = Row::text(" ", model.theme.border());
    tabs(model, pane, false, &mut row);
    match row.hit_at(usize::from(column)) {
        Some(Hit::Tab(pane)) => Some(pane),
        _ => None,
    }
}

/// What a pane shows inside an area of a size.
pub fn pane_rows(model: &Model, pane: Pane, width: u16, height: u16) -> Vec<Row> {
    let w = usize::from(width);
    match pane {
        Pane::Tx | Pane::Rx if shares(model) => compact::table(model, w, usize::from(height)),
        Pane::Tx => rings::rows(model, crate::udma::Dir::Tx, w),
        Pane::Rx => rings::rows(model, crate::udma::Dir::Rx, w),
        Pane::Inspector => inspector::rows(model, w, usize::from(height)),
        Pane::Marker => marker::rows(model, w),
        Pane::Memory => memory::rows(model, w, usize::from(height)),
        Pane::Events => events::rows(model, w),
        Pane::Checks => checks::rows(model, w, usize::from(height)),
        Pane::Source if model.has_assembly() => assembly::rows(model, w, usize::from(height)),
        Pane::Source => source::rows(model, w, usize::from(height)),
        Pane::Timeline => timeline::rows(model, w, usize::from(height)),
        Pane::Budget => budget::rows(model, w, usize::from(height)),
        Pane::Stops => stops::rows(model, w, usize::from(height)),
        Pane::Passes => stages::rows(model, w, usize::from(height)),
    }
}

/// Whether both rings are in one table.
fn shares(model: &Model) -> bool {
    model.derived.areas.shared
}

fn pane_title(model: &Model, pane: Pane, room: usize) -> String {
    match pane {
        Pane::Tx | Pane::Rx if shares(model) => compact::title(model, room),
        Pane::Tx => rings::title(model, crate::udma::Dir::Tx, room),
        Pane::Rx => rings::title(model, crate::udma::Dir::Rx, room),
        Pane::Inspector => inspector::title(model, room),
        Pane::Memory => memory::title(model),
        Pane::Checks => checks::title(model),
        Pane::Source if model.has_assembly() => assembly::title(model),
        Pane::Source => source::title(model),
        Pane::Timeline => timeline::title(model),
        Pane::Budget => budget::title(model),
        Pane::Stops => stops::title(model),
        Pane::Passes => stages::title(model),
        Pane::Events => format!("events, {} {}", model.theme.linked(), model.subject_words()),
        Pane::Marker => pane.name().to_owned(),
    }
}

/// An address by its region: `name+0xoffset`, or the bare number outside all of them.
fn place(model: &Model, addr: u64) -> String {
    match model.session.machine().memory.region_at(addr) {
        Some(r) if r.base == addr => printable(&r.name),
        Some(r) => format!("{}+{:#x}", printable(&r.name), addr - r.base),
        None => format!("{addr:#x}"),
    }
}

/// Bytes with the largest unit in which they are a whole number.
fn human(bytes: u64) -> String {
    for (unit, name) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{} {name}", bytes / unit);
        }
    }
    format!("{bytes} B")
}

/// A number in hexadecimal, in groups of four digits.
fn hex(value: u64, digits: usize) -> String {
    let plain = format!("{value:0digits$x}");
    let n = plain.len();
    let mut out = String::from("0x");
    for (i, c) in plain.chars().enumerate() {
        if i > 0 && (n - i) % 4 == 0 {
            out.push('_');
        }
        out.push(c);
    }
    out
}

/// Pieces on the left and the right of a line, blanks between; the left is clipped.
fn left_right(left: Row, right: Row, room: usize) -> Row {
    let right_width = right.width();
    let mut out = Row::new();
    let mut have = 0;
    let left_room = room.saturating_sub(right_width + 1);
    for mut p in left.0 {
        let w = width(&p.text);
        if have + w > left_room {
            p.text = clip(&p.text, left_room.saturating_sub(have));
            out.0.push(p);
            break;
        }
        have += w;
        out.0.push(p);
    }
    out.pad_to(room.saturating_sub(right_width));
    out.0.extend(right.0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_numbers_are_written_for_people() {
        assert_eq!(human(65_536), "64 KiB");
        assert_eq!(human(1500), "1500 B");
        assert_eq!(human(0), "0 B");
        assert_eq!(hex(0x0d00_1000, 8), "0x0d00_1000");
        assert_eq!(hex(0x4000_0100_2000, 16), "0x0000_4000_0100_2000");
    }
}
