//! Memory at the selected descriptor's address, byte by byte; one of them has the cursor, and below
//! it stands who writes and reads it.

use super::inspector::side;
use super::place;
use crate::engine::ring::{Agent, Memory};
use crate::ui::layout::Pane;
use crate::ui::links::Subject;
use crate::ui::model::Model;
use crate::ui::rows::{Hit, Row, clip};
use crate::ui::ties::{Tie, slots_of, touches};

/// Columns of the offset.
const OFFSET: usize = 8;
/// Rows for who touches the byte with the cursor.
const DETAIL: usize = 3;
/// Smallest pane with these.
const WITH_DETAIL: usize = 6;

/// The address that the selected descriptor names, and how many bytes.
pub fn target(model: &Model) -> Option<(u64, u64)> {
    model.target_of(model.selection.dir, model.selection.slot)
}

/// Whose address it is.
pub fn title(model: &Model) -> String {
    match target(model) {
        Some((addr, _)) => format!("memory, {} {}", side(model.selection.dir), place(model, addr)),
        None => "memory".to_owned(),
    }
}

/// Whether the byte at the cursor is told about.
fn tells(model: &Model) -> bool {
    model.focus == Pane::Memory || matches!(model.subject, Subject::Byte(_))
}

/// Bytes of a row, and rows, in a pane of a size.
pub fn shape(model: &Model, width: u16, height: u16) -> (i64, i64) {
    let (width, height) = (usize::from(width), usize::from(height));
    // Offset, bytes and characters of a line.
    let per = if width >= room(16) { 16 } else { 8 };
    let detail = if tells(model) && height >= WITH_DETAIL { DETAIL } else { 0 };
    (per, height.saturating_sub(detail).max(1) as i64)
}

fn room(n: usize) -> usize {
    OFFSET + n * 3 + 1 + n
}

/// A line per 8 or 16 bytes.
pub fn rows(model: &Model, width: usize, height: usize) -> Vec<Row> {
    let t = model.theme;
    let Some((addr, len)) = target(model) else {
        return vec![Row::text("the selected slot has no address", t.dim())];
    };
    let (per, lines) = shape(model, width.min(1000) as u16, height.min(1000) as u16);
    let offset = width >= room(per as usize);
    let shift = model.memory_rows.saturating_mul(per);
    let (m, old) = (&model.session.machine().memory, &model.session.before().memory);
    let mut out = Vec::new();
    for line in 0..lines {
        let skip = shift.saturating_add(line.saturating_mul(per));
        let mut row = Row::new();
        let mut chars = Row::text(if offset { " " } else { "" }, t.text());
        if offset {
            let sign = if skip < 0 { '-' } else { '+' };
            let text = format!("{sign}{:x}", skip.unsigned_abs());
            row.push(format!("{text:<w$}", w = OFFSET - 1), t.dim());
        }
        let mut before = false;
        for i in 0..per {
            let at = addr.wrapping_add_signed(skip + i);
            let inside = skip + i >= 0 && ((skip + i) as u64) < len;
            let (text, c) = byte(m, at);
            let mut style = if inside { t.text() } else { t.dim() };
            if byte(old, at) != (text.clone(), c) {
                style = t.changed_value(style);
            }
            let cursor = tells(model) && skip + i == model.memory_at;
            if cursor {
                style = t.lit(style);
            }
            // Bytes that belong to what is selected stand in brackets, over all rows.
            let linked = belongs(model, at);
            let between = match (before, linked) {
                (false, true) => "[",
                (true, false) => "]",
                _ => " ",
            };
            row.push(between, t.accent());
            before = linked;
            let hit = Some(Hit::Byte(skip + i));
            row.push_hit(text, style, hit);
            chars.push_hit(c.to_string(), style, hit);
        }
        row.push(if before { "]" } else { " " }, t.accent());
        if !offset && row.width() + chars.width() < width {
            row.push(" ", t.text());
        }
        row.0.extend(chars.0);
        out.push(row);
    }
    if lines < height as i64 && tells(model) {
        out.extend(detail(model, width));
    }
    out
}

fn belongs(model: &Model, addr: u64) -> bool {
    let its = &model.derived.links.bytes;
    its.iter().any(|(at, len)| touches(Some((*at, *len, false)), addr))
}

/// Who writes and who reads the byte with the cursor, in the events that are known: the newest
/// up to here, then those to come.
fn detail(model: &Model, width: usize) -> Vec<Row> {
    let t = model.theme;
    let (across, _) = t.lines();
    let Some(addr) = model.byte() else { return Vec::new() };
    let mut head = Row::text(format!("{across} "), t.border());
    let (text, _) = byte(&model.session.machine().memory, addr);
    head.push(clip(&format!("{} = {text}", place(model, addr)), width.max(8) - 4), t.strong());
    head.push(" ", t.text());
    let rest = width.saturating_sub(head.width());
    head.push(across.to_string().repeat(rest), t.border());
    let mut out = vec![head];
    if !matches!(model.subject, Subject::Byte(_)) {
        out.push(Row::text(clip(" arrows select a byte, Enter who wrote it", width), t.dim()));
        return out;
    }
    let here = model.session.position();
    let (from, to) = model.derived.ties.range;
    for (written, word) in [(true, "written"), (false, "read")] {
        let fits = |x: &&Tie| x.access.is_some_and(|a| a.2 == written);
        let all: Vec<&Tie> = model.derived.ties.of_byte(addr).filter(fits).collect();
        let cut = all.partition_point(|x| x.event.n <= here);
        let mut words: Vec<String> = Vec::new();
        words.extend(all[..cut].last().map(|x| who(x)));
        words.extend(all[cut..].first().map(|x| format!("next {}", who(x))));
        let more = all.len() - words.len();
        if more > 0 {
            words.push(format!("{more} more"));
        }
        let whole = model.derived.ties.complete && from <= 1;
        let none = match whole {
            true => "by nobody".to_owned(),
            false => format!("by nobody in events {from} to {}", to.saturating_sub(1)),
        };
        let text = if words.is_empty() { none } else { words.join("; ") };
        let row = Row::text(format!(" {word:<8}"), t.dim());
        let room = width.saturating_sub(row.width());
        out.push(row.with(clip(&text, room), t.text()));
    }
    out
}

/// The event, and whose doing it is.
fn who(x: &Tie) -> String {
    let e = x.event;
    match (e.agent, slots_of(&e).first()) {
        (Agent::Engine(id), Some((dir, slot, _))) => format!("event {}: {id} {dir}[{slot}]", e.n),
        _ => format!("event {}: {}", e.n, e.agent),
    }
}

/// A byte as two digits and as a character: `..` outside every region, `--` never written,
/// `??` not known.
fn byte(m: &Memory, addr: u64) -> (String, char) {
    if m.outside(addr, 1).is_some() {
        return ("..".to_owned(), ' ');
    }
    let mut b = [0];
    let known = m.read(addr, &mut b);
    if known.never_written.is_some() {
        return ("--".to_owned(), ' ');
    }
    if known.unknown.is_some() {
        return ("??".to_owned(), '?');
    }
    let c = if b[0].is_ascii_graphic() || b[0] == b' ' { char::from(b[0]) } else { '.' };
    (format!("{:02x}", b[0]), c)
}
