//! The small screen: both rings in one table, and the selected descriptor in a few lines.

use super::rings::{
    self, address, digits, finish, flags, fold, head, hidden, length, news_mark, phase,
};
use super::{human, inspector};
use crate::diag::render::printable;
use crate::udma::{Desc, Dir, View, Word, class, count_of, field};
use crate::ui::folding::RingLine;
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::rows::{Hit, Row, wrap};

/// Size, phases and free slots of both rings; where the other ring is if they are unlocked.
pub fn title(model: &Model) -> String {
    let Some(q) = model.queue().and_then(|id| model.session.machine().queue(id)) else {
        return "no queue".to_owned();
    };
    let one = |d| {
        let sw = q.sw(d);
        if sw.size == 0 {
            return format!("{} not known", d.name().to_uppercase());
        }
        let free = q.free(d).map_or(String::new(), |n| format!(" {n} free"));
        format!(
            "{} {} phase {}{free}",
            d.name().to_uppercase(),
            count_of(sw.size, "slot"),
            sw.desc_ring_id
        )
    };
    let other = model.selection.dir.other();
    let lock = match model.is_unlocked() {
        true => format!("unlocked, {other} at {}: ", model.cursor_of(other)),
        false => String::new(),
    };
    format!("{lock}{}, {}", one(Dir::Tx), one(Dir::Rx))
}

/// Fewest events that are shown below the rings.
const LEAST_EVENTS: usize = 3;

/// How many events there is room for below the rings in a pane of so many rows, where no pane
/// shows them: what the rings leave free.
pub fn events_below_rings(model: &Model, height: usize) -> usize {
    let areas = &model.derived.areas;
    if areas.pane(Pane::Events).is_some() || !areas.shared || !model.session.can_step() {
        return 0;
    }
    // The headings of the slots, and the line over the events.
    let left = height.saturating_sub(model.derived.ring.len() + 2);
    if left >= LEAST_EVENTS { left } else { 0 }
}

/// The rings, and below them the events where there is room.
pub fn table(model: &Model, width: usize, height: usize) -> Vec<Row> {
    let mut out = rings(model, width);
    let n = events_below_rings(model, height);
    if n > 0 {
        let t = model.theme;
        let (across, _) = t.lines();
        out.truncate(height - n - 1);
        let mut head = Row::text(format!("{across} events "), t.border());
        let rest = width.saturating_sub(head.width());
        head.push(across.to_string().repeat(rest), t.border());
        out.push(head);
        out.extend(super::events::rows(model, width).into_iter().take(n));
    }
    out
}

/// A line per slot with both directions.
fn rings(model: &Model, width: usize) -> Vec<Row> {
    let t = model.theme;
    let d = digits(model);
    let left = 3 + d + 3;
    let (tx_flags, rx_flags) =
        (rings::flag_fields(Dir::Tx).count(), rings::flag_fields(Dir::Rx).count());
    // tx: life, phase, flags, length, source; rx: glyph and life, flags, destination.
    let fixed = left + 8 + 3 + tx_flags + 1 + 7 + 1 + 1 + 10 + rx_flags + 1;
    let addresses = width.saturating_sub(fixed);
    // A ring without its other direction has the room of both.
    let (source, target) = match model.arrangement.lone {
        Some(Dir::Tx) => (addresses.saturating_sub(1), 1),
        Some(Dir::Rx) => (8, addresses.saturating_sub(8)),
        None => (addresses / 2, addresses - addresses / 2),
    };
    let headings = format!(
        "{:left$}{:<8} p {:<tx_flags$} {:>7} {:<source$}   {:<8} {:<rx_flags$} {}",
        "", "tx", "flags", "length", "source", "rx", "flags", "destination"
    );
    let mut out = vec![Row::text(headings, t.dim())];
    for line in &model.derived.ring {
        let slot = match *line {
            RingLine::Slot(slot) => slot,
            RingLine::Hidden(first, n) => {
                out.push(hidden(t, (Dir::Tx, first), n, d));
                continue;
            }
            RingLine::Fold(f) => {
                let mut row = fold(model, f, Dir::Tx, d);
                if f.alike.rx != f.alike.tx {
                    let what = rings::life_of_many(f.alike.rx);
                    row.push(format!("; rx {what}"), t.life(f.alike.rx));
                }
                out.push(row.hits(Hit::Slot(Dir::Tx, f.first)));
                continue;
            }
        };
        let changed = model.slot_changed(Dir::Tx, slot);
        let mut row = head(model, Dir::Tx, slot, d);
        if let Some((desc, life)) = model.slot(Dir::Tx, slot) {
            row.push(format!("{:<8} ", life.name()), t.life(life));
            if !desc.is_zero() {
                phase(&mut row, model, Dir::Tx, desc);
                row.push(" ", t.text());
                flags(&mut row, t, Dir::Tx, desc);
                row.push(format!("{:>7} ", length(desc, Dir::Tx)), t.text());
                row.push(address(model, desc, Dir::Tx, source), t.text());
            }
        }
        row.pad_to(left + 8 + 3 + tx_flags + 1 + 7 + 1 + source);
        let mut row = finish(row, model, Dir::Tx, slot, changed);
        let mut rx = Row::new();
        let rx_changed = model.slot_changed(Dir::Rx, slot);
        if let Some((desc, life)) = model.slot(Dir::Rx, slot) {
            rx.push(news_mark(model, Dir::Rx, slot), t.accent());
            rx.push(life.glyph(t.ascii).to_string(), t.life(life));
            rx.push(rings::link(model, Dir::Rx, slot).to_string(), t.accent());
            rx.push(format!("{:<8}", life.name()), t.life(life));
            if !desc.is_zero() {
                flags(&mut rx, t, Dir::Rx, desc);
                rx.push(address(model, desc, Dir::Rx, target), t.text());
            }
        }
        row.0.extend(finish(rx, model, Dir::Rx, slot, rx_changed).0);
        out.push(row);
    }
    out
}

/// The selected descriptor: its sentence, and its words with the fields that are set.
pub fn summary(model: &Model, width: u16) -> Vec<Row> {
    if width == 0 {
        return Vec::new();
    }
    let t = model.theme;
    let room = usize::from(width).saturating_sub(1).max(1);
    let (across, _) = t.lines();
    let mut head = Row::text(format!("{across} "), t.border());
    head.push(inspector::heading(model), t.strong());
    head.push(" ", t.text());
    let rest = usize::from(width).saturating_sub(head.width());
    head.push(across.to_string().repeat(rest), t.border());
    let mut out = vec![head];
    let Some((desc, _)) = model.desc() else { return out };
    for line in wrap(&inspector::sentence(model), room).into_iter().take(2) {
        out.push(Row::text(format!(" {line}"), t.strong()));
    }
    // An empty slot has no words to show, but what will be put there.
    if desc.is_zero() {
        out.extend(
            inspector::coming(model, room).into_iter().map(|l| Row::text(" ", t.text()).joined(l)),
        );
    }
    let words_of = if desc.is_zero() { &[] } else { Word::of(desc.view(model.selection.dir)) };
    for &word in words_of {
        let digits = usize::from(word.bits() / 4);
        let mut row = Row::text(format!(" {:<11} ", word.name()), t.dim());
        row.push(super::hex(desc.word(word), digits), t.text());
        row.push(format!("  {}", words(model, desc, word)), t.text());
        out.push(row);
    }
    out
}

/// The set fields of a word by name.
pub fn words(model: &Model, desc: Desc, word: Word) -> String {
    let view: View = desc.view(model.selection.dir);
    if word == Word::BufPtr {
        return address(model, desc, model.selection.dir, usize::MAX);
    }
    // A class with fields of its own has the bits below the selector.
    let own =
        word == Word::MetaCtrl && class::readings(desc.word1).iter().any(|c| !c.fields.is_empty());
    let selector = field::find(view, "op_type").map_or(0, |f| f.lo);
    let set = field::fields_of(view, word).filter(|f| {
        // A length of 0 and phase 0 say something; but META moves no bytes.
        let zero_counts = matches!(f.kind, field::Kind::Length | field::Kind::Phase);
        let class_has_it = own && f.lo < selector;
        !class_has_it && (desc.get(f) != 0 || zero_counts && view != View::Meta)
    });
    let one = |f: &'static field::Field| match f.kind {
        field::Kind::Flag => f.label.to_owned(),
        field::Kind::Length => human(desc.length()),
        field::Kind::Phase => f.words(desc.get(f)),
        _ => format!("{} {}", f.label, f.words(desc.get(f))),
    };
    printable(&set.map(one).collect::<Vec<_>>().join("  "))
}
