//! The bits of the selected descriptor: a ruler per 32-bit word, the selected bit with its
//! field, digit and byte, and what the field means. All of it comes from the field table.

use super::rings::address;
use super::{hex, human};
use crate::check::flip::{Bit, Flip};
use crate::diag::render::printable;
use crate::diag::{Diagnostic, Severity};
use crate::engine::ring::{Event, EventKind, Life};
use crate::engine::session::describe_event;
use crate::learn::lesson_of;
use crate::udma::field::{self, Kind};
use crate::udma::{Desc, Dir, Field, View, Word, class, payload};
use crate::ui::flip::Stands;
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::rows::{Hit, Row, clip, width, wrap};
use crate::ui::seams;
use crate::ui::ties::{has_slot, slots_of};
use ratatui::style::Style;

/// The slot and its sentence; where that has not the room the pane begins with the sentence.
pub fn title(model: &Model, room: usize) -> String {
    let whole = whole_title(model);
    if width(&whole) <= room { whole } else { heading(model) }
}

fn whole_title(model: &Model) -> String {
    format!("{}: {}", heading(model), sentence(model))
}

/// Columns of a pane that its title cannot have, at most.
const BESIDE_TITLE: usize = 5;
/// Rows that the sentence may take.
const SENTENCE: usize = 2;

/// The slot and what it is at.
pub fn heading(model: &Model) -> String {
    let s = model.selection;
    let life = model.desc().map_or(Life::NeverWritten, |d| d.1);
    let life = if life == Life::NeverWritten { "never written" } else { life.name() };
    format!("{}[{}] {life}", s.dir, s.slot)
}

/// The selected descriptor in words.
pub fn sentence(model: &Model) -> String {
    let Some((desc, _)) = model.desc() else { return "no such slot".to_owned() };
    printable(&seams::sentence(desc, model.selection.dir, model.session.program().arch))
}

/// Bytes, rulers, pointer, meaning, and what a flip of the selected bit does.
///
/// Where a flip is told and not all has room, words other than the selected bit's go without their
/// rulers, the last first, then what the operation is; where that does not do it is scrolled ([`Model::inspector_top`]), and
/// the last row says how much is below.
pub fn rows(model: &Model, room: usize, height: usize) -> Vec<Row> {
    let mut all = whole(model, room, height);
    if all.len() <= height || height == 0 || !scrolls(model) {
        return all;
    }
    let top = model.inspector_top.min(all.len() - height);
    let below = all.len() - height - top;
    all.drain(..top);
    if below > 0 {
        all.truncate(height - 1);
        // The row that says so takes the place of one more.
        let text = format!("{} below: PgDn", rows_more(below + 1));
        all.push(Row::text(clip(&text, room), model.theme.accent()));
    }
    all
}

fn rows_more(n: usize) -> String {
    if n == 1 { "1 more row".to_owned() } else { format!("{n} more rows") }
}

/// Whether what has no room is scrolled: while the bits are worked on.
fn scrolls(model: &Model) -> bool {
    model.focus == Pane::Inspector
}

/// How far it can be scrolled in an area of a size.
pub fn last_top(model: &Model, room: usize, height: usize) -> usize {
    match scrolls(model) {
        true => whole(model, room, height).len().saturating_sub(height),
        false => 0,
    }
}

/// All of it, with as many rulers as have room.
fn whole(model: &Model, room: usize, height: usize) -> Vec<Row> {
    let Some((desc, _)) = model.desc() else {
        return vec![Row::text("no slot is selected", model.theme.dim())];
    };
    let dir = model.selection.dir;
    let view = desc.view(dir);
    let words: Vec<Word> = Word::of(view).to_vec();
    let fields = |word: Word| -> Vec<&'static Field> { field::fields_of(view, word).collect() };
    // A word that is one field needs no ruler.
    let mut rulers: Vec<Vec<Row>> = words
        .iter()
        .map(|w| match fields(*w) {
            f if f.len() > 1 => ruler(model, desc, &f, room),
            _ => Vec::new(),
        })
        .collect();
    let mut below = if desc.is_zero() { coming(model, room) } else { Vec::new() };
    below.extend(notes(model, desc, room));
    below.extend(meaning(model, desc, view, room));
    below.extend(flipping(model, room));
    let told = below.len();
    let sentence = match width(&whole_title(model)) + BESIDE_TITLE > room {
        true => wrap(&sentence(model), room.saturating_sub(1)),
        false => Vec::new(),
    };
    let rows = sentence.iter().map(|l| Row::text(l, model.theme.strong()));
    let sentence = super::source::as_fits(rows.collect(), SENTENCE, room);
    if view == View::Tx || view == View::Meta {
        below.extend(overlay(model, desc, room));
    }
    let mut have =
        sentence.len() + 1 + words.len() + rulers.iter().map(Vec::len).sum::<usize>() + below.len();
    if scrolls(model) {
        let (selected, _) = model.bit();
        for (word, ruler) in words.iter().zip(&mut rulers).rev().filter(|(w, _)| **w != selected) {
            if have > height && !matches!(word, Word::BufPtr) {
                have -= ruler.len();
                ruler.clear();
            }
        }
        // What the operation is stands beside its word, too, unless it may be several.
        let clear = class::readings(desc.word1).len() < 2 && payload::words(desc).is_none();
        if have > height && selected != Word::MetaCtrl && clear {
            below.truncate(told);
        }
    }
    let mut out = sentence;
    out.push(bytes(model, desc));
    for (&word, ruler) in words.iter().zip(rulers) {
        let mut head = word_line(model, desc, word);
        if word == Word::BufPtr && !desc.is_zero() {
            head.push(format!("  {}", address(model, desc, dir, 40)), model.theme.strong());
            head.push(format!("  {}", human(desc.length())), model.theme.dim());
        }
        if fields(word).len() > 1 && !desc.is_zero() {
            head.push(
                format!("  {}", super::compact::words(model, desc, word)),
                model.theme.text(),
            );
        }
        out.push(head);
        out.extend(ruler);
    }
    out.extend(below);
    out
}

/// The sixteen bytes in memory order, the selected one lit.
fn bytes(model: &Model, desc: Desc) -> Row {
    let t = model.theme;
    let (word, bit) = model.bit();
    let lit = word.offset() + usize::from(bit / 8);
    let before = before(model);
    let old = before.map(Desc::to_bytes);
    let mut row = Row::text("bytes       ", t.dim());
    for (i, b) in desc.to_bytes().iter().enumerate() {
        if i > 0 {
            row.push(if i % 4 == 0 { "  " } else { " " }, t.text());
        }
        let mut style = t.text();
        if old.is_some_and(|o| o[i] != *b) {
            style = t.changed_value(style);
        }
        if i == lit {
            style = t.lit(style);
        }
        // The byte belongs to the word that covers it.
        let words = Word::of(desc.view(model.selection.dir));
        let at = words.iter().rev().find(|w| w.offset() <= i);
        let hit = at.map(|w| Hit::Bit(*w, ((i - w.offset()) * 8) as u8));
        row.push_hit(format!("{b:02x}"), style, hit);
    }
    row
}

/// What is the next to be put into the selected slot, of the events that were looked at.
pub fn coming(model: &Model, room: usize) -> Vec<Row> {
    let t = model.theme;
    let (here, s) = (model.session.position(), model.selection);
    let (ties, size) = (&model.derived.ties, model.ring_size(s.dir));
    let fills = |e: &Event| match e.kind {
        EventKind::Stage { .. } | EventKind::CopyIn { .. } => {
            e.queue() == model.queue()
                && slots_of(e).into_iter().any(|of| has_slot(of, size, (s.dir, s.slot)))
        }
        _ => false,
    };
    let next = ties.all.iter().map(|x| x.event).find(|e| e.n > here && fills(e));
    let (lead, text) = match next {
        Some(e) => {
            let words = describe_event(model.session.program(), &e);
            ("filled ", format!("at event {} by {}: {words}", e.n, e.agent))
        }
        None if !model.session.can_step() => return Vec::new(),
        None if ties.complete => ("filled ", "never, from here on".to_owned()),
        None => ("filled ", format!("not before event {}", ties.range.1)),
    };
    let lines = wrap(&printable(&text), room.saturating_sub(lead.len()).max(20));
    let row = |(i, l): (usize, String)| {
        let head = if i == 0 { lead.to_owned() } else { " ".repeat(lead.len()) };
        Row::text(head, t.dim()).with(l, t.text())
    };
    lines.into_iter().take(3).enumerate().map(row).collect()
}

/// The same slot at the last stop.
fn before(model: &Model) -> Option<Desc> {
    let s = model.selection;
    let m = model.session.before();
    crate::ui::model::slot_in(model.session.program(), m, model.queue()?, s.dir, s.slot)
        .map(|d| d.0)
}

/// Name and value of a word, the digit of the selected bit lit.
fn word_line(model: &Model, desc: Desc, word: Word) -> Row {
    let t = model.theme;
    let (selected, bit) = model.bit();
    let name = if word == selected { t.accent() } else { t.strong() };
    let mut row = Row::new();
    row.push_hit(format!("{:<11} ", word.name()), name, Some(Hit::Bit(word, 0)));
    let digits = usize::from(word.bits() / 4);
    let text = hex(desc.word(word), digits);
    let mut at = digits;
    for (i, c) in text.chars().enumerate() {
        if i < 2 || c == '_' {
            row.push(c.to_string(), t.text());
            continue;
        }
        at -= 1;
        let lit = word == selected && usize::from(bit / 4) == at;
        let style = if lit { t.lit(t.text()) } else { t.text() };
        row.push_hit(c.to_string(), style, Some(Hit::Bit(word, (at * 4) as u8)));
    }
    row
}

/// A field's place on the ruler.
struct Cell {
    field: &'static Field,
    digits: Vec<(char, Option<u8>)>,
    width: usize,
}

impl Cell {
    fn new(field: &'static Field, value: u64) -> Cell {
        let mut digits = Vec::new();
        for bit in (0..field.width).rev() {
            let c = if value >> bit & 1 == 1 { '1' } else { '0' };
            digits.push((c, Some(field.lo + bit)));
            if bit > 0 && bit % 4 == 0 {
                digits.push((' ', None));
            }
        }
        let numbers = if field.width == 1 {
            field.lo.to_string().len()
        } else {
            field.hi().to_string().len() + 1 + field.lo.to_string().len()
        };
        let width = digits.len().max(field.label.len()).max(numbers);
        Cell { field, digits, width }
    }

    /// Bit numbers over its ends.
    fn numbers(&self) -> String {
        let hi = self.field.hi().to_string();
        if self.field.width == 1 {
            return format!("{hi:>w$}", w = self.width);
        }
        format!("{hi}{:>w$}", self.field.lo, w = self.width - hi.len())
    }
}

/// Bit numbers, values, names; in as many bands as the width asks for.
fn ruler(model: &Model, desc: Desc, fields: &[&'static Field], room: usize) -> Vec<Row> {
    let cells: Vec<Cell> = fields.iter().map(|f| Cell::new(f, desc.get(f))).collect();
    let total: usize = cells.iter().map(|c| c.width + 1).sum();
    // Bands of about the same width.
    let bands = total.div_ceil(room.max(1));
    let fair = total.div_ceil(bands.max(1)) + bands.saturating_sub(1) * 3;
    let limit = if bands > 1 { fair.min(room) } else { room };
    let mut out = Vec::new();
    let mut band: Vec<&Cell> = Vec::new();
    let mut used = 0;
    for cell in &cells {
        if !band.is_empty() && used + cell.width + 1 > limit {
            out.extend(draw_band(model, desc, &band));
            band.clear();
            used = 0;
        }
        used += cell.width + 1;
        band.push(cell);
    }
    out.extend(draw_band(model, desc, &band));
    out
}

fn draw_band(model: &Model, desc: Desc, band: &[&Cell]) -> [Row; 3] {
    let t = model.theme;
    let (word, bit) = model.bit();
    let old = before(model);
    let mut rows = [Row::new(), Row::new(), Row::new()];
    for cell in band {
        let f = cell.field;
        let here = f.word == word && (f.lo..=f.hi()).contains(&bit);
        let value = desc.get(f);
        let changed = old.is_some_and(|o| o.get(f) != value);
        let reserved = f.kind == Kind::Reserved;
        let mut base = match (reserved, value) {
            (true, 0) | (false, 0) => t.dim(),
            (true, _) => t.error(),
            (false, _) => t.strong(),
        };
        if f.kind == Kind::Length {
            base = t.strong();
        }
        if changed {
            base = t.changed_value(base);
        }
        let field_style = if here { t.accent() } else { t.dim() };
        let hit = Some(Hit::Bit(f.word, f.lo));
        rows[0].push(" ", t.text());
        rows[0].push_hit(cell.numbers(), field_style, hit);
        rows[1].push(" ".repeat(1 + cell.width - cell.digits.len()), t.text());
        for (c, at) in &cell.digits {
            let lit = here && *at == Some(bit);
            let style = if at.is_none() { t.text() } else { base };
            let style = if lit { t.lit(style) } else { style };
            rows[1].push_hit(c.to_string(), style, at.map(|b| Hit::Bit(f.word, b)));
        }
        let label = format!("{:>w$}", f.label, w = cell.width);
        let label_style = match (here, value) {
            (true, _) => t.lit(t.accent()),
            (false, 0) if f.kind != Kind::Length => t.dim(),
            _ => t.text(),
        };
        rows[2].push(" ", t.text());
        let pad = cell.width - width(f.label);
        rows[2].push(label[..pad].to_owned(), t.text());
        rows[2].push_hit(f.label, label_style, hit);
    }
    rows
}

/// What is remarkable about the descriptor; its class's readings are shown apart.
fn notes(model: &Model, desc: Desc, room: usize) -> Vec<Row> {
    let t = model.theme;
    let arch = model.session.program().arch;
    let mut out = Vec::new();
    for (code, text) in seams::notes(desc, model.selection.dir, arch) {
        let severity = crate::diag::lookup(code).map_or(Severity::Note, |c| c.severity);
        for (i, line) in wrap(&printable(&text), room.saturating_sub(6)).into_iter().enumerate() {
            let head = if i == 0 { code } else { "" };
            out.push(Row::text(format!("{head:<6}"), t.severity(severity)).with(line, t.text()));
        }
    }
    out
}

/// The selected field: bits, name, value, and what it is for.
fn meaning(model: &Model, desc: Desc, view: View, room: usize) -> Vec<Row> {
    let t = model.theme;
    let (word, bit) = model.bit();
    let Some(f) = field::at_bit(view, word, bit) else { return Vec::new() };
    let bits =
        if f.width == 1 { format!("bit {}", f.lo) } else { format!("bits {}:{}", f.hi(), f.lo) };
    let since = f.since.map(|g| format!(", since {g}")).unwrap_or_default();
    let mut head = Row::text(format!("{bits}{since}  "), t.dim());
    head.push(f.name, t.accent());
    // Where there is no descriptor, a length of 0 does not stand for 65536.
    let unused = view == View::Meta && f.kind == Kind::Length;
    if unused {
        head.push(format!(" = {}", desc.get(f)), t.strong());
    } else if !(desc.is_zero() && f.kind == Kind::Length) {
        head.push(format!(" = {}", f.words(desc.get(f))), t.strong());
    }
    if let Some((n, name)) = lesson_of(f.name) {
        let text = format!("  lesson {n}: {name}");
        if head.width() + width(&text) <= room {
            head.push(text, t.dim());
        }
    }
    let mut out = vec![head];
    let words = if unused { "META moves no data: it has no length." } else { f.meaning };
    out.extend(wrap(words, room).into_iter().map(|l| Row::text(l, t.text())));
    // What the bit is in the operation's class, where that lays a field of its own over it.
    if word == Word::MetaCtrl {
        for c in class::readings(desc.word1) {
            for f in c.fields.iter().filter(|f| (f.lo..=f.hi()).contains(&bit)) {
                let text =
                    format!("in {}: {} = {}. {}", c.name, f.name, f.words(desc.get(f)), f.meaning);
                out.push(Row::text(clip(&text, room), t.accent()));
            }
        }
    }
    // What it is in the model's payload.
    if view == View::Meta {
        let fields = payload::fields(desc).unwrap_or_default();
        let here = |f: &&Field| f.word == word && (f.lo..=f.hi()).contains(&bit);
        if let Some(f) = fields.iter().find(here) {
            let text = format!("payload: {} = {}. {}", f.name, f.words(desc.get(f)), f.meaning);
            out.push(Row::text(clip(&text, room), t.accent()));
        }
    }
    out
}

/// What a flip of the selected bit does: to the field, to the checks, to the run.
fn flipping(model: &Model, room: usize) -> Vec<Row> {
    let t = model.theme;
    let Some(f) = &model.derived.flipping else { return Vec::new() };
    let (bit, lead) = (f.bit, if f.stands == Stands::Done { "flipped" } else { "a flip" });
    let mut out = Vec::new();
    let mut line = |head: &str, text: &str, style: Style, most: usize| {
        let lines = wrap(&printable(text), room.saturating_sub(9).max(1));
        for (i, l) in lines.into_iter().take(most).enumerate() {
            let head = if i == 0 { head } else { "" };
            out.push(Row::text(format!("{head:<8} "), t.accent()).with(l, style));
        }
    };
    let flip = match &f.flip {
        Ok(flip) => flip,
        Err(why) => {
            line(lead, &format!("cannot be made: {why}"), t.text(), 2);
            return out;
        }
    };
    line(lead, &flipped_words(flip, bit), t.strong(), 2);
    if flip.fetched {
        let text = "the engine has fetched it and works with what it got (MODEL)";
        line("", text, t.text(), 2);
    }
    let told = |d: &Diagnostic| format!("{}[{}] {}", d.severity, d.code, d.message);
    let more = |n: usize| if n > 1 { format!(" (and {} more)", n - 1) } else { String::new() };
    let (found, gone) = (flip.found.first(), flip.gone.first());
    let kind = |d: &Diagnostic| t.severity(d.severity);
    if let Some(d) = found {
        line("checks", &format!("find {}{}", told(d), more(flip.found.len())), kind(d), 3);
    }
    if let Some(d) = gone {
        let head = if found.is_some() { "" } else { "checks" };
        line(head, &format!("no more: {}{}", told(d), more(flip.gone.len())), t.good(), 2);
    }
    if found.is_none() && gone.is_none() {
        line("checks", "say the same", t.dim(), 1);
    }
    match &flip.run {
        None => line("run", "there is no script of a host, so nothing runs", t.dim(), 2),
        Some(ahead) => {
            let style = match ahead.found.first() {
                Some(d) => kind(d),
                None if ahead.is_same() => t.dim(),
                None => t.text(),
            };
            for (i, words) in ahead.words().iter().enumerate() {
                line(if i == 0 { "run" } else { "" }, words, style, 3);
            }
        }
    }
    out
}

/// What the bit becomes: of its field where it has one.
fn flipped_words(flip: &Flip, bit: Bit) -> String {
    let (from, to) = (flip.from, flip.to);
    let view = from.view(bit.dir);
    let mut out = match field::at_bit(view, bit.word, bit.bit) {
        Some(f) => format!("{}: {} -> {}", f.name, f.words(from.get(f)), f.words(to.get(f))),
        None => format!("{} bit {}", bit.word.name(), bit.bit),
    };
    if to.view(bit.dir) != view {
        let kind = if to.view(bit.dir) == View::Meta { "META" } else { "data" };
        out.push_str(&format!("; it becomes a {kind} descriptor"));
    }
    out
}

/// What the operation's class lays over `meta_ctrl`; every reading where several fit.
fn overlay(model: &Model, desc: Desc, room: usize) -> Vec<Row> {
    let t = model.theme;
    let readings = class::readings(desc.word1);
    if desc.is_zero() {
        return Vec::new();
    }
    let mut out = Vec::new();
    if desc.is_meta()
        && let Some(words) = payload::words(desc)
    {
        for line in wrap(&format!("payload (MODEL): {words}"), room) {
            out.push(Row::text(line, t.accent()));
        }
    }
    if readings.is_empty() {
        let text = format!("operation {}: no known class", class::name(desc.word1));
        out.push(Row::text(text, t.text()));
    }
    // That several fit is among the notes; here is what each would mean.
    let lead = if readings.len() > 1 { "may be" } else { "operation" };
    for c in readings {
        let fields: Vec<String> =
            c.fields.iter().map(|f| format!("{} {}", f.name, f.words(desc.get(f)))).collect();
        let head = format!("{lead} {}", c.name);
        let text = format!("{} {}", c.meaning, fields.join(", "));
        let indent = width(&head) + 2;
        for (i, line) in wrap(&text, room.saturating_sub(indent).max(20)).into_iter().enumerate() {
            let head = if i == 0 { format!("{head}: ") } else { " ".repeat(indent) };
            out.push(Row::text(head, t.accent()).with(line, t.text()));
        }
    }
    out
}

/// Which direction of descriptor a view stands for, in a word, for the title of other panes.
pub fn side(dir: Dir) -> &'static str {
    match dir {
        Dir::Tx => "source",
        Dir::Rx => "destination",
    }
}
