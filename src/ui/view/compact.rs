//! The small screen: both rings in one table, and the selected descriptor in a few lines.

use super::rings::{
    self, LIFE, address, digits, finish, flags, fold, head, hidden, length, news_mark, phase,
};
use super::{human, inspector};
use crate::diag::render::printable;
use crate::engine::ring::Life;
use crate::udma::{Desc, Dir, View, Word, class, count_of, field};
use crate::ui::folding::RingLine;
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::rows::{Hit, Row, first_fitting, width, wrap};

/// Size, phases and free slots of both rings; where the other ring is if they are unlocked.
pub fn title(model: &Model, room: usize) -> String {
    let Some(q) = model.queue().and_then(|id| model.session.machine().queue(id)) else {
        return "no queue".to_owned();
    };
    let one = |d: Dir, phase: bool| {
        let sw = q.sw(d);
        let name = d.name().to_uppercase();
        if sw.size == 0 {
            return format!("{name} not known");
        }
        let free = q.free(d).map_or(String::new(), |n| format!(" {n} free"));
        let phase = if phase { format!(" phase {}", sw.desc_ring_id) } else { String::new() };
        format!("{name} {}{phase}{free}", count_of(sw.size, "slot"))
    };
    let other = model.selection.dir.other();
    let lock = match model.is_unlocked() {
        true => format!("unlocked, {other} at {}: ", model.cursor_of(other)),
        false => String::new(),
    };
    // The phase stands in each line, too.
    let both = |phase| format!("{lock}{}, {}", one(Dir::Tx, phase), one(Dir::Rx, phase));
    first_fitting([both(true), both(false)], room)
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

/// Which columns the table has.
struct Columns {
    digits: usize,
    /// Columns of a life in words with the blank behind it; none where addresses would not be
    /// told from each other. The glyph says it too.
    life: usize,
    length: usize,
    source: usize,
    target: usize,
}

impl Columns {
    fn new(model: &Model, width: usize) -> Columns {
        let digits = digits(model);
        let length = rings::length_column(model, Dir::Tx);
        // Tx: life, phase, flags, length, source; Rx: its marks and life, flags, destination.
        let fixed = head_width(digits)
            + 2
            + flags_width(Dir::Tx)
            + length
            + 1
            + 1
            + RX_MARKS
            + flags_width(Dir::Rx);
        let lone = model.arrangement.lone;
        let life = LIFE + 1;
        let needs = model.derived.address_needs.1 * 2;
        let life = if lone.is_some() || width >= fixed + 2 * life + needs { life } else { 0 };
        let room = width.saturating_sub(fixed + 2 * life);
        // A ring without its other direction has the room of both.
        let (source, target) = match lone {
            Some(Dir::Tx) => (room.saturating_sub(1), 1),
            Some(Dir::Rx) => ("source".len() + 2, room.saturating_sub("source".len() + 2)),
            None => shares(model, room),
        };
        Columns { digits, life, length, source, target }
    }

    fn headings(&self) -> String {
        let name = |text: &str| format!("{text:<w$}", w = self.life);
        let at = if self.target < "destination".len() { "dest" } else { "destination" };
        format!(
            "{:h$}{}p {:<tf$}{:>l$} {:<s$} {:m$}{}{:<rf$}{at}",
            "",
            name(if self.life > 0 { "tx" } else { "" }),
            "flags",
            "length",
            "source",
            "",
            name(if self.life > 0 { "rx" } else { "" }),
            "flags",
            h = head_width(self.digits),
            tf = flags_width(Dir::Tx),
            l = self.length,
            s = self.source,
            m = RX_MARKS,
            rf = flags_width(Dir::Rx),
        )
    }
}

impl Columns {
    /// The column in which the Rx half begins.
    fn rx(&self) -> usize {
        let tx = head_width(self.digits) + self.life + 2 + flags_width(Dir::Tx);
        tx + self.length + 1 + self.source + 1
    }

    /// A life in words where it has room; of an empty slot in any case.
    fn life(&self, life: Life, desc: Desc) -> String {
        match self.life {
            0 if desc.is_zero() => life.name().to_owned(),
            w => format!("{:<w$}", if w > 0 { life.name() } else { "" }),
        }
    }
}

/// Columns of the marks, the glyph and the link before an Rx life.
const RX_MARKS: usize = 3;

fn head_width(digits: usize) -> usize {
    rings::MARKS + digits + 3
}

fn flags_width(dir: Dir) -> usize {
    rings::flag_fields(dir).count() + 1
}

/// The room of both addresses: a half each, unless what is in sight fits otherwise.
fn shares(model: &Model, room: usize) -> (usize, usize) {
    let need = |dir| {
        let all = rings::shown(model, dir).map(|d| width(&address(model, d, dir, usize::MAX)));
        all.max().unwrap_or(0)
    };
    let half = room / 2;
    let source = match (need(Dir::Tx), need(Dir::Rx)) {
        (tx, rx) if tx <= half && rx <= room - half => half,
        // The one that needs less has what it needs.
        (tx, rx) if tx < rx => tx.max("source".len()).min(half),
        (_, rx) => (room - rx.max("dest".len()).min(room - half)).max(half),
    };
    (source, room - source)
}

/// A line per slot with both directions.
fn rings(model: &Model, width: usize) -> Vec<Row> {
    let t = model.theme;
    let cols = Columns::new(model, width);
    let d = cols.digits;
    let headings = cols.headings();
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
            row.push(cols.life(life, desc), t.life(life));
            if !desc.is_zero() {
                phase(&mut row, model, Dir::Tx, desc);
                row.push(" ", t.text());
                flags(&mut row, t, Dir::Tx, desc);
                row.push(format!("{:>l$} ", length(desc, Dir::Tx), l = cols.length), t.text());
                row.push(address(model, desc, Dir::Tx, cols.source), t.text());
            }
        }
        row.pad_to(cols.rx());
        let mut row = finish(row, model, Dir::Tx, slot, changed);
        let mut rx = Row::new();
        let rx_changed = model.slot_changed(Dir::Rx, slot);
        if let Some((desc, life)) = model.slot(Dir::Rx, slot) {
            rx.push(news_mark(model, Dir::Rx, slot), t.accent());
            rx.push(life.glyph(t.ascii).to_string(), t.life(life));
            rx.push(rings::link(model, Dir::Rx, slot).to_string(), t.accent());
            rx.push(cols.life(life, desc), t.life(life));
            if !desc.is_zero() {
                flags(&mut rx, t, Dir::Rx, desc);
                rx.push(address(model, desc, Dir::Rx, cols.target), t.text());
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
