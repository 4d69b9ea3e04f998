//! Memory at the selected descriptor's address, byte by byte.

use super::inspector::side;
use super::place;
use crate::engine::ring::device::resolve;
use crate::udma::View;
use crate::ui::model::Model;
use crate::ui::rows::Row;

/// The address that the selected descriptor names, and how many bytes.
pub fn target(model: &Model) -> Option<(u64, u64)> {
    let (desc, _) = model.desc()?;
    if desc.is_zero() || desc.view(model.selection.dir) == View::Meta {
        return None;
    }
    let addr = resolve(model.session.program(), desc.ptr).ok()?;
    Some((addr, desc.length()))
}

/// Whose address it is.
pub fn title(model: &Model) -> String {
    match target(model) {
        Some((addr, _)) => format!("memory, {} {}", side(model.selection.dir), place(model, addr)),
        None => "memory".to_owned(),
    }
}

/// A line per 8 or 16 bytes.
pub fn rows(model: &Model, width: usize, height: usize) -> Vec<Row> {
    let t = model.theme;
    let Some((addr, len)) = target(model) else {
        return vec![Row::text("the selected slot has no address", t.dim())];
    };
    // Offset, bytes and characters of a line.
    let room = |n: usize| 8 + n * 3 + 1 + n;
    let per = if width >= room(16) { 16 } else { 8 };
    let offset = width >= room(per);
    let shift = model.memory_rows.saturating_mul(per as i64);
    let (m, old) = (&model.session.machine().memory, &model.session.before().memory);
    let mut out = Vec::new();
    for line in 0..height as i64 {
        let skip = shift.saturating_add(line * per as i64);
        let mut row = Row::new();
        let mut chars = Row::text(" ", t.text());
        if offset {
            let sign = if skip < 0 { '-' } else { '+' };
            row.push(format!("{:<8}", format!("{sign}{:x}", skip.unsigned_abs())), t.dim());
        }
        for i in 0..per as i64 {
            let at = addr.wrapping_add_signed(skip + i);
            let inside = skip + i >= 0 && ((skip + i) as u64) < len;
            let (text, c) = byte(m, at);
            let mut style = if inside { t.text() } else { t.dim() };
            if byte(old, at) != (text.clone(), c) {
                style = t.changed_value(style);
            }
            row.push(text, style);
            row.push(" ", t.text());
            chars.push(c.to_string(), style);
        }
        row.0.extend(chars.0);
        out.push(row);
    }
    out
}

/// A byte as two digits and as a character: `..` outside every region, `--` never written,
/// `??` not known.
fn byte(m: &crate::engine::ring::Memory, addr: u64) -> (String, char) {
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
