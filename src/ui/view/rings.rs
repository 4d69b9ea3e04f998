//! One ring: a line per slot, equal slots folded.

use super::{human, place};
use crate::engine::diff::Change;
use crate::engine::ring::Life;
use crate::engine::session::SlotStop;
use crate::udma::field::{self, Kind};
use crate::udma::{Desc, Dir, Field, View, Word, class, count_of};
use crate::ui::folding::{Fold, RingCursor, RingLine};
use crate::ui::layout::{Areas, Pane};
use crate::ui::links::Subject;
use crate::ui::model::Model;
use crate::ui::rows::{DOTS, Hit, Row, clip, clip_front, first_fitting, width as width_of};
use crate::ui::theme::Theme;
use ratatui::style::Modifier;

/// What the title of a ring says that moves alone.
const UNLOCKED: &str = "  unlocked";

/// Slots, phase and free slots of a ring.
pub fn title(model: &Model, dir: Dir, room: usize) -> String {
    let lock = if model.is_unlocked() { UNLOCKED } else { "" };
    let name = format!("{}{lock}", dir.name().to_uppercase());
    let Some(q) = model.queue().and_then(|id| model.session.machine().queue(id)) else {
        return format!("{name}  no queue");
    };
    let sw = q.sw(dir);
    if sw.size == 0 {
        return format!("{name}  not known");
    }
    let free = q.free(dir).map_or(String::new(), |n| format!("  {n} free"));
    let slots = count_of(sw.size, "slot");
    let whole = format!("{name}  {slots}  phase {}{free}", sw.desc_ring_id);
    // The phase stands in each line of the ring, too.
    let short = format!("{name}  {slots}{free}").replace("  ", " ");
    first_fitting([whole.clone(), whole.replace("  ", " "), short], room)
}

/// The lines of a ring, headings first.
pub fn rows(model: &Model, dir: Dir, width: usize) -> Vec<Row> {
    let cols = Columns::new(model, dir, width);
    let mut out = vec![Row::text(cols.headings(dir), model.theme.dim())];
    if model.ring_size(dir) == 0 {
        return out;
    }
    for line in model.lines_of(dir) {
        out.push(match *line {
            RingLine::Slot(slot) => cols.slot(model, dir, slot),
            RingLine::Fold(f) => fold(model, f, dir, cols.digits),
            RingLine::Hidden(first, n) => hidden(model.theme, (dir, first), n, cols.digits),
        });
    }
    out
}

/// A line for slots that a search did not find.
pub fn hidden(t: Theme, (dir, first): (Dir, u64), n: u64, digits: usize) -> Row {
    let dots = format!("   {:>digits$}   {n} not found", "..");
    Row::text(dots, t.dim()).hits(Hit::Slot(dir, first))
}

/// A line for equal slots.
pub fn fold(model: &Model, f: Fold, dir: Dir, digits: usize) -> Row {
    let t = model.theme;
    let (life, changed) = match dir {
        Dir::Tx => (f.alike.tx, f.alike.changed.0),
        Dir::Rx => (f.alike.rx, f.alike.changed.1),
    };
    let what = life_of_many(life);
    let star = if changed { '*' } else { ' ' };
    let tx = dir == Dir::Tx;
    let mut its = model.derived.links.slots.range((tx, f.first)..(tx, f.first + f.count));
    let partner = model.partner(dir).filter(|slot| (f.first..f.end()).contains(slot));
    let marked = partner.or(its.next().map(|its| its.1));
    let link = marked.map_or(' ', |slot| link(model, dir, slot));
    let text = format!("  {}{:>digits$}{star} ", life.glyph(t.ascii), "..");
    let mut row = Row::text(text, t.life(life)).with(link.to_string(), t.accent());
    row.push(format!("{} {what}, {} to {}", f.count, f.first, f.end() - 1), t.life(life));
    let row = row.hits(Hit::Slot(dir, f.first));
    if changed { row.restyled(|s| t.changed(s)) } else { row }
}

/// What slots of a life are, in words.
pub fn life_of_many(life: Life) -> &'static str {
    match life {
        Life::Guard => "guard, stay free",
        Life::NeverWritten => "never written",
        Life::Acked => "acked, free again",
        life => life.name(),
    }
}

/// Which columns there is room for.
struct Columns {
    digits: usize,
    /// Columns of the life in words; none where an address would not be told from another. The
    /// glyph says it too.
    life: usize,
    op: bool,
    length: usize,
    addr: usize,
}

/// Digits of the largest slot number.
pub fn digits(model: &Model) -> usize {
    model.slots().saturating_sub(1).to_string().len().max(2)
}

impl Columns {
    fn new(model: &Model, dir: Dir, width: usize) -> Columns {
        let digits = digits(model);
        let op = dir == Dir::Tx && width >= 56;
        let flags = flag_fields(dir).count() + 1;
        let left = MARKS + digits + 3 + 3 + flags + if op { OP + 1 } else { 0 };
        let length = length_column(model, dir);
        let life = if op || lives_fit(model, (dir, width), digits) { LIFE } else { 0 };
        Columns { digits, life, op, length, addr: width.saturating_sub(left + life + length + 1) }
    }

    fn headings(&self, dir: Dir) -> String {
        let d = self.digits;
        let flags = flag_fields(dir).count();
        let op = if self.op { format!("{:<OP$} ", "op") } else { String::new() };
        let at = if dir == Dir::Tx { "source" } else { "destination" };
        let at = if at.len() <= self.addr { at } else { "dest" };
        format!(
            "{:w$}{:<life$} p {:<flags$} {op}{:>l$} {at}",
            "",
            if self.life > 0 { "life" } else { "" },
            "flags",
            "length",
            life = self.life,
            w = MARKS + d + 3,
            l = self.length,
        )
    }

    fn slot(&self, model: &Model, dir: Dir, slot: u64) -> Row {
        let t = model.theme;
        let Some((desc, life)) = model.slot(dir, slot) else { return Row::new() };
        let changed = model.slot_changed(dir, slot);
        let mut row = head(model, dir, slot, self.digits);
        if self.life > 0 || desc.is_zero() {
            row.push(format!("{:<LIFE$}", life.name()), t.life(life));
        }
        if !desc.is_zero() {
            row.push(" ", t.text());
            phase(&mut row, model, dir, desc);
            row.push(" ", t.text());
            flags(&mut row, t, dir, desc);
            if self.op {
                row.push(format!("{:<OP$} ", clip(&op(desc, dir), OP)), t.text());
            }
            row.push(format!("{:>l$} ", length(desc, dir), l = self.length), t.text());
            row.push(address(model, desc, dir, self.addr), t.text());
        }
        finish(row, model, dir, slot, changed)
    }
}

/// Columns of the lengths: no more than what is in sight takes, so that addresses have the room.
pub fn length_column(model: &Model, dir: Dir) -> usize {
    let lengths = shown(model, dir).map(|d| width_of(&length(d, dir)));
    lengths.max().unwrap_or(0).max("length".len())
}

/// The descriptors in sight.
pub fn shown(model: &Model, dir: Dir) -> impl Iterator<Item = Desc> {
    let slots = model.lines_of(dir).iter().filter_map(move |line| match line {
        RingLine::Slot(slot) => model.slot(dir, *slot),
        _ => None,
    });
    slots.map(|s| s.0).filter(|d| !d.is_zero())
}

/// Whether the life has room in words beside addresses that can be told from each other: in both
/// rings, or in none.
fn lives_fit(model: &Model, (dir, width): (Dir, usize), digits: usize) -> bool {
    let needs = model.derived.address_needs.1;
    let fits = |dir: Dir, width: usize| {
        let fixed = MARKS + digits + 3 + LIFE + 3 + flag_fields(dir).count() + 2;
        width >= fixed + length_column(model, dir) + needs
    };
    let other = dir.other();
    let beside =
        model.derived.areas.pane(Pane::of_ring(other)).map(|a| usize::from(Areas::inner(a).width));
    fits(dir, width) && beside.is_none_or(|w| fits(other, w))
}

/// Columns in which every address can be told from others: as much of a region's name as no other
/// of the program begins with, with the dots for the rest, and the longest offset.
pub fn address_needs(model: &Model) -> usize {
    let mut names: Vec<&str> = model.session.program().regions.iter().map(|r| &*r.name).collect();
    names.sort_unstable();
    let alike = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let most = names.windows(2).map(|w| alike(w[0], w[1])).max().unwrap_or(0);
    let letters = (most + 1).max(NAME) + DOTS.len();
    let needs = |r: &crate::engine::program::Region| {
        let offset = format!("+{:#x}", r.len.saturating_sub(1)).len();
        width_of(&r.name).min(letters) + offset
    };
    model.session.machine().memory.regions().iter().map(needs).max().unwrap_or(0)
}

/// Fewest letters of a region's name.
const NAME: usize = 2;
/// Cursor marks and the glyph.
pub const MARKS: usize = 3;
/// Columns of a life in words.
pub const LIFE: usize = 7;
const OP: usize = 9;

/// The mark of a slot that is new since the files changed, or changed since the last stop.
pub fn news_mark(model: &Model, dir: Dir, slot: u64) -> &'static str {
    match (model.slot_news(dir, slot), model.slot_changed(dir, slot)) {
        (Some(Change::Added), _) => "+",
        (Some(_), _) => "~",
        (None, true) => "*",
        (None, false) => " ",
    }
}

/// Marks, glyph, number, change and breakpoint of a slot.
pub fn head(model: &Model, dir: Dir, slot: u64, digits: usize) -> Row {
    let t = model.theme;
    let cursors = model.cursors(dir, slot);
    let has = |c| cursors.contains(&c);
    let mut row = Row::new();
    let first = match (has(RingCursor::Head), has(RingCursor::Tail)) {
        (true, _) => t.cursor(),
        (false, true) => 't',
        _ => ' ',
    };
    row.push(first.to_string(), t.accent());
    row.push(if has(RingCursor::Next) { "n" } else { " " }, t.accent());
    let life = model.slot(dir, slot).map_or(Life::NeverWritten, |s| s.1);
    row.push(life.glyph(t.ascii).to_string(), t.life(life));
    row.push(format!("{slot:>digits$}"), t.text());
    row.push(news_mark(model, dir, slot), t.accent());
    match model.stop_at(dir, slot) {
        Some(SlotStop { watches, enabled, .. }) => {
            let mark = match (watches, enabled) {
                (false, true) => "B",
                (false, false) => "b",
                (true, true) => "W",
                (true, false) => "w",
            };
            row.push(mark, if enabled { t.error() } else { t.dim() });
        }
        None => row.push(" ", t.text()),
    }
    row.push(link(model, dir, slot).to_string(), t.accent());
    row
}

/// The mark of a slot that belongs to what is selected, where that is not a slot, or one of a
/// ring that moves alone.
pub fn link(model: &Model, dir: Dir, slot: u64) -> char {
    let its = model.derived.links.slots.contains(&(dir == Dir::Tx, slot));
    let marked = its && model.subject != Subject::Slot || model.partner(dir) == Some(slot);
    if marked { model.theme.linked() } else { ' ' }
}

/// Lights a slot's line where it is selected or changed, and makes it clickable.
pub fn finish(row: Row, model: &Model, dir: Dir, slot: u64, changed: bool) -> Row {
    let t = model.theme;
    let selected = model.cursor_of(dir) == slot;
    let row = if changed { row.restyled(|s| t.changed(s)) } else { row };
    let row = match (selected, model.selection.dir == dir) {
        (true, true) => row.restyled(|s| t.selected(s)),
        (true, false) => row.restyled(|s| s.add_modifier(Modifier::UNDERLINED)),
        _ => row,
    };
    row.hits(Hit::Slot(dir, slot))
}

/// The phase, weighted by whether it is the one handed out now.
pub fn phase(row: &mut Row, model: &Model, dir: Dir, desc: Desc) {
    let t = model.theme;
    if desc.view(dir) == View::Meta {
        row.push("-", t.dim());
        return;
    }
    let current = model
        .queue()
        .and_then(|id| model.session.machine().queue(id))
        .is_some_and(|q| q.sw(dir).desc_ring_id == desc.ring_id());
    row.push(desc.ring_id().to_string(), if current { t.text() } else { t.dim() });
}

/// Fields shown as letters: the flags of `len_ctrl`, and on Tx the write barrier.
pub fn flag_fields(dir: Dir) -> impl Iterator<Item = &'static Field> {
    let view = if dir == Dir::Tx { View::Tx } else { View::Rx };
    field::fields_of(view, Word::LenCtrl)
        .filter(|f| f.kind == Kind::Flag)
        .chain(field::find(view, "write_barrier"))
}

/// A letter for each flag that is set, a dot for each that is not, and a blank.
pub fn flags(row: &mut Row, t: Theme, dir: Dir, desc: Desc) {
    let n = flag_fields(dir).count();
    if desc.view(dir) == View::Meta {
        row.push(format!("{:<n$} ", format!("META {}", desc.meta_index())), t.accent());
        return;
    }
    let none = if t.ascii { '.' } else { '·' };
    for f in flag_fields(dir) {
        if desc.get(f) == 0 {
            row.push(none.to_string(), t.dim());
        } else {
            row.push(f.label.chars().take(1).collect::<String>(), t.strong());
        }
    }
    row.push(" ", t.text());
}

/// The operation; a question mark where several readings fit.
pub fn op(desc: Desc, dir: Dir) -> String {
    if desc.view(dir) != View::Tx {
        return String::new();
    }
    let more = if class::readings(desc.word1).len() > 1 { "?" } else { "" };
    format!("{}{more}", class::name(desc.word1))
}

/// Bytes of a data descriptor.
pub fn length(desc: Desc, dir: Dir) -> String {
    if desc.view(dir) == View::Meta { String::new() } else { human(desc.length()) }
}

/// The address by its region, a symbolic one by its variable, in at most `room` columns. The
/// offset tells more than the name, so the name is cut first.
pub fn address(model: &Model, desc: Desc, dir: Dir, room: usize) -> String {
    if desc.view(dir) == View::Meta {
        return String::new();
    }
    let long = match crate::udma::template::Template::parse(desc.ptr) {
        Some(v) => {
            let known = &model.session.program().variables;
            let name = known.iter().find(|k| k.id == v.var).map(|k| k.name.as_str());
            let name = name.map_or_else(|| format!("?{}", v.var), crate::diag::render::printable);
            format!("${name}+{:#x}", v.offset)
        }
        None => place(model, desc.ptr),
    };
    if width_of(&long) <= room {
        return long;
    }
    shortened(&long, room)
}

/// An address in at most `room` columns: of its name only the beginning is left, with dots for the
/// rest; its offset stays whole, or only its end is left behind dots.
fn shortened(long: &str, room: usize) -> String {
    match long.rsplit_once("+0x") {
        Some((name, offset)) => {
            let offset = format!("+0x{offset}");
            match room.checked_sub(width_of(&offset)).filter(|left| *left >= DOTS.len()) {
                Some(left) => clip(name, left) + &offset,
                None => clip_front(long, room),
            }
        }
        None => clip(long, room),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However little room there is: what is left out shows, and an offset with its `0x` is
        /// the whole one.
        #[test]
        fn an_offset_is_whole_or_shows_that_it_is_not(
            name in "[a-z_0-9]{1,20}",
            offset in 0u64..,
            room in 2usize..50,
        ) {
            let digits = format!("+{offset:#x}");
            let long = format!("{name}{digits}");
            let short = shortened(&long, room);
            prop_assert!(width_of(&short) <= room, "{short}");
            match short.split_once(DOTS) {
                None => prop_assert_eq!(&short, &long),
                Some((head, tail)) => {
                    prop_assert!(name.starts_with(head) && long.ends_with(tail), "{short}");
                    prop_assert!(head.is_empty() || tail == digits, "{short}");
                }
            }
        }
    }
}
