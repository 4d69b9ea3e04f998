//! The passes of a module: a table of the stages, and below it the text before and after the
//! selected one, side by side or with marks where there is less room.

use super::source::{as_fits, snapshots, strip, verdict, words};
use crate::bir::Pos;
use crate::diag::render::printable;
use crate::engine::command::Pass;
use crate::engine::lower::Stage;
use crate::engine::validate::Verdict;
use crate::load::bir::listing::Listing;
use crate::udma::count_of;
use crate::ui::aligned::{Kind, Shown, changed_words};
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::passes::{BESIDE, Proof, View, split};
use crate::ui::rows::{Hit, Row, broken, clip};
use crate::ui::source::{Toned, short};
use ratatui::style::{Modifier, Style};
use std::ops::Range;

/// Columns of the mark of a sequencer.
const WHO: usize = 6;

/// The stages between which it is, and how many lines differ.
pub fn title(model: &Model) -> String {
    let Some(view) = &model.passes.view else { return "passes".to_owned() };
    let n = |kind| view.aligned.count(kind);
    if view.before.stage == view.after.stage {
        return format!("passes  {} as loaded", count_of(view.after.lines.len(), "line"));
    }
    let counts = [("changed", Kind::Changed), ("added", Kind::Added), ("removed", Kind::Removed)];
    let parts: Vec<String> = counts
        .into_iter()
        .filter(|(_, k)| n(*k) > 0)
        .map(|(name, k)| format!("{} {name}", n(k)))
        .collect();
    let what = if parts.is_empty() { "nothing changed".to_owned() } else { parts.join(", ") };
    let bounded = if view.aligned.bounded { ", compared in part" } else { "" };
    format!("passes  {} to {}: {what}{bounded}", view.before.stage, view.after.stage)
}

/// The table, and the texts.
pub fn rows(model: &Model, width: usize, height: usize) -> Vec<Row> {
    let Some(view) = &model.passes.view else {
        return vec![Row::text("the program is rings without a module", model.theme.dim())];
    };
    let parts = split(height, model.source_tells(view));
    let mut out = match parts.table {
        0 => Vec::new(),
        1 => vec![strip(model, width)],
        _ => stages(model, width),
    };
    let shown = model.passes.rows.iter().enumerate().skip(model.passes.top).take(parts.texts);
    out.extend(shown.map(|(n, s)| {
        let row = one(model, view, *s, width);
        let row = match n == model.passes.row {
            true => cursor(model, row, width),
            false => row,
        };
        row.hits(Hit::Pass(n))
    }));
    if parts.detail > 0 {
        out.resize(parts.table + parts.texts, Row::new());
        out.extend(as_fits(detail(model, view, width), parts.detail, width));
    }
    out
}

/// The lines at the cursor in full, with what differs between them.
fn detail(model: &Model, view: &View, width: usize) -> Vec<Row> {
    let t = model.theme;
    let pair = model.passes.rows.get(model.passes.row);
    let pair = pair.filter(|s| !matches!(s, Shown::Fold(..))).and_then(|s| view.pair(s.pair()));
    let text = |l: &Listing, n: Option<usize>| l.lines.get(n?).map(|l| printable(l.text.trim()));
    let (before, after) = match pair {
        Some(p) => (text(&view.before, p.left), text(&view.after, p.right)),
        None => (None, None),
    };
    let (across, _) = t.lines();
    let pos = pair.and_then(|p| match (p.right, p.left) {
        (Some(n), _) => view.after.inst_at(n),
        (None, Some(n)) => view.before.inst_at(n),
        _ => None,
    });
    let mut head = Row::text(format!("{across} "), t.border());
    // What stands in the text's own pane is not said twice: here is how it differs.
    let beside = model.source_stands();
    let name = match (&before, &after, pos) {
        (Some(a), Some(b), _) if beside && a == b => "as before".to_owned(),
        (Some(_), Some(_), _) if beside => "changed".to_owned(),
        (None, Some(_), _) if beside => format!("added by {}", view.after.stage),
        (Some(_), None, _) if beside => format!("gone after {}", view.after.stage),
        (_, _, Some(p)) => super::source::origin(model, &view.after, p),
        (_, _, None) => "no instruction".to_owned(),
    };
    head.push(clip(&name, width.saturating_sub(4)), t.strong());
    head.push(" ", t.text());
    let rest = width.saturating_sub(head.width());
    head.push(across.to_string().repeat(rest), t.border());
    let mut out = vec![head];
    match (before, after) {
        (Some(a), Some(b)) if beside && a == b => {}
        (None, Some(_)) if beside => {}
        (Some(a), Some(b)) if a != b => {
            let [x, y] = changed_words(&a, &b);
            out.extend(in_full(model, ("- ", t.error()), &a, &x, width));
            out.extend(in_full(model, ("+ ", t.good()), &b, &y, width));
        }
        (Some(a), None) => out.extend(in_full(model, ("- ", t.error()), &a, &[], width)),
        (None, Some(b)) => out.extend(in_full(model, ("+ ", t.good()), &b, &[], width)),
        (Some(a), _) => out.extend(in_full(model, ("  ", t.text()), &a, &[], width)),
        (None, None) => {}
    }
    out
}

/// A text over as many rows as it takes, what changed of it marked.
fn in_full(
    model: &Model,
    (sign, sign_style): (&str, Style),
    text: &str,
    changed: &[Range<usize>],
    width: usize,
) -> Vec<Row> {
    let t = model.theme;
    let room = width.saturating_sub(sign.len() + 1).max(1);
    let line = |(k, line): (usize, Range<usize>)| {
        let mut row = match k {
            0 => Row::text(sign, sign_style),
            _ => Row::text(" ".repeat(sign.len()), t.text()),
        };
        let mut at = line.start;
        while at < line.end {
            let within = changed.iter().find(|r| r.contains(&at));
            let next = || changed.iter().map(|r| r.start).filter(|s| *s > at).min();
            let end = within.map(|r| r.end).or_else(next).unwrap_or(line.end).min(line.end);
            let style = if within.is_some() { t.changed_value(t.text()) } else { t.text() };
            row.push(text.get(at..end).unwrap_or_default(), style);
            at = end;
        }
        row
    };
    broken(text, room).into_iter().enumerate().map(line).collect()
}

fn cursor(model: &Model, mut row: Row, width: usize) -> Row {
    let t = model.theme;
    row.pad_to(width);
    row.restyled(|s| match model.focus == Pane::Passes {
        true => t.selected(s),
        false => s.add_modifier(Modifier::UNDERLINED),
    })
}

/// The numbers of the table by name, and the columns that each takes in a narrow pane.
const NUMBERS: [(&str, usize); 7] = [
    ("DMAs", 5),
    ("clones", 7),
    ("trigs", 6),
    ("blocks", 7),
    ("descs", 6),
    ("udma", 5),
    ("bytes", 6),
];

/// The stages in numbers, what each found, and what validation said of it.
fn stages(model: &Model, width: usize) -> Vec<Row> {
    let t = model.theme;
    let here = model.session.stage();
    let more = if width >= BESIDE { 2 } else { 0 };
    let mut head = Row::text(format!("  {:<9}", "stage"), t.dim());
    for (name, columns) in NUMBERS {
        head.push(format!("{name:>w$}", w = columns + more), t.dim());
    }
    let found = head.width() + 1 + more;
    let memory = found + if more > 0 { 10 } else { 6 };
    head.pad_to(found);
    head.push("found", t.dim());
    head.pad_to(memory);
    let name = if width >= memory + "memory".len() { "memory" } else { "mem" };
    head.push(name, t.dim());
    let mut out = vec![head];
    let done = snapshots(model);
    for (k, stage) in Stage::ALL.into_iter().enumerate() {
        let snapshot = done.iter().find(|s| s.stage == stage);
        let selected = Some(stage) == here;
        let style = if selected { t.strong() } else { t.text() };
        let mark = if selected { t.cursor() } else { ' ' };
        let mut row = Row::text(format!("{mark} "), t.accent());
        row.push(format!("{:<9}", stage.name()), style);
        let rings = model.passes.on_rings.filter(|_| stage == Stage::Rings);
        let stats = snapshot.map(|s| s.stats);
        let numbers = [
            stats.map(|s| s.dmas),
            stats.map(|s| s.clones),
            stats.map(|s| s.triggers),
            stats.map(|s| s.blocks),
            stats.map(|s| s.descriptors),
            rings.map(|r| r.0),
            rings.map(|r| r.1),
        ];
        for (n, (_, columns)) in numbers.into_iter().zip(NUMBERS) {
            let text = match n {
                None => "-".to_owned(),
                Some(0) => ".".to_owned(),
                Some(n) => n.to_string(),
            };
            row.push(format!("{text:>w$}", w = columns + more), style);
        }
        row.pad_to(found);
        if let Some(s) = snapshot {
            let (severity, words) = verdict(s);
            // Where it is narrow the first letter stands for the severity.
            let words = match (severity, words.split_once(' ')) {
                (Some(s), Some((n, _))) if more == 0 => {
                    format!("{}{n}", &s.name()[..1].to_uppercase())
                }
                _ => words,
            };
            row.push(
                clip(&words, memory - found - 1),
                severity.map_or(t.good(), |s| t.severity(s)),
            );
        }
        row.pad_to(memory);
        let room = width.saturating_sub(row.width());
        let (words, style) = proof(model, stage);
        row.push(clip(&words, room), style);
        let row = if selected { row.restyled(|s| t.selected(s)) } else { row };
        out.push(if Pass::STAGES.contains(&stage) { row.hits(Hit::Stage(k)) } else { row });
    }
    out.push(Row::text(t.lines().0.to_string().repeat(width), t.border()));
    out
}

/// What validation said of a stage, in one or a few words.
fn proof(model: &Model, stage: Stage) -> (String, Style) {
    let t = model.theme;
    match &model.passes.proof {
        None => ("not run".to_owned(), t.dim()),
        Some(Proof::Not(why)) => (format!("cannot: {}", printable(why)), t.dim()),
        Some(p) => match p.of(stage) {
            None => ("not run".to_owned(), t.dim()),
            Some(Verdict::Same) => ("same".to_owned(), t.good()),
            Some(v) => (format!("WRONG {}", printable(&v.words())), t.error()),
        },
    }
}

/// A row of the texts.
fn one(model: &Model, view: &View, shown: Shown, width: usize) -> Row {
    let t = model.theme;
    if let Shown::Fold(_, n) = shown {
        let (across, _) = t.lines();
        let text = format!(" {n} equal lines ");
        let mut row = Row::text(across.to_string().repeat(2), t.border());
        row.push(text, t.dim());
        let rest = width.saturating_sub(row.width());
        row.push(across.to_string().repeat(rest), t.border());
        return row;
    }
    let Some(p) = view.pair(shown.pair()) else { return Row::new() };
    let texts = p.left.zip(p.right).and_then(|(a, b)| {
        let line = |l: &Listing, n: usize| l.lines.get(n).map(|l| printable(&l.text));
        Some((line(&view.before, a)?, line(&view.after, b)?))
    });
    let changed = match (p.kind, texts) {
        (Kind::Changed, Some((a, b))) => changed_words(&a, &b),
        _ => Default::default(),
    };
    let beside = width >= BESIDE;
    let half = if beside { (width - 1) / 2 } else { width };
    let left = |room| {
        let n = p.left?;
        Some(side(model, view, (false, n), (p.kind, beside), &changed[0], room))
    };
    let right = |room| {
        let n = p.right?;
        Some(side(model, view, (true, n), (p.kind, beside), &changed[1], room))
    };
    if !beside {
        let row = match shown {
            Shown::Before(_) => left(half),
            Shown::After(_) => right(half),
            _ => right(half).or_else(|| left(half)),
        };
        return row.unwrap_or_default();
    }
    let mut row = left(half).unwrap_or_else(|| from_where(model, view, shown.pair(), half));
    row.pad_to(half);
    row.push(t.lines().1.to_string(), t.border());
    row.0.extend(right(width - half - 1).unwrap_or_default().0);
    row
}

/// In the place of a line that the text before does not have: what it stems from there.
fn from_where(model: &Model, view: &View, pair: usize, room: usize) -> Row {
    let t = model.theme;
    let Some(p) = view.pair(pair) else { return Row::new() };
    let Some(origin) = view.origin(p) else { return Row::new() };
    let pos = view.before.lines.get(origin).and_then(|l| l.pos);
    let name = pos.map(|p| name_of(model, p)).unwrap_or_default();
    let which = p.right.and_then(|r| view.clones.get(&r));
    let arrow = if t.ascii { "`-" } else { "└─" };
    let many = which.map(|(k, n)| format!("{k} of {n} of ")).unwrap_or_default();
    Row::text(clip(&format!("      {arrow} {many}{name}, line {}", origin + 1), room), t.dim())
}

fn name_of(model: &Model, pos: Pos) -> String {
    printable(&model.session.program().inst_text(pos))
}

/// A line of either text: its marks, its number, its words.
fn side(
    model: &Model,
    view: &View,
    (after, n): (bool, usize),
    (kind, beside): (Kind, bool),
    changed: &[Range<usize>],
    width: usize,
) -> Row {
    let t = model.theme;
    let listing = if after { &view.after } else { &view.before };
    let Some(l) = listing.lines.get(n) else { return Row::new() };
    let (mark, style) = match (kind, after, beside) {
        (Kind::Same, ..) => (" ", t.dim()),
        (Kind::Changed, _, true) => ("~", t.severity(crate::diag::Severity::Warning)),
        (Kind::Changed, false, false) | (Kind::Removed, ..) => ("-", t.error()),
        (Kind::Changed, true, false) | (Kind::Added, ..) => ("+", t.good()),
    };
    let part = listing.part_at(n).filter(|p| p.descriptor.is_none());
    let at_begin = || model.break_at_begin(listing, n);
    let on_inst = || model.session.break_on_inst(l.pos, part.map(|p| (&*p.queue, p.block)));
    let stop = after.then(|| on_inst().or_else(at_begin));
    let (mark, style) = match stop.flatten() {
        Some(true) => ("B", t.error()),
        Some(false) => ("b", t.dim()),
        None => (mark, style),
    };
    let mut row = Row::text(mark, style);
    let linked = model.inst_linked(l.pos);
    row.push(if linked { t.linked() } else { ' ' }.to_string(), t.accent());
    // In one column both texts have their numbers in the same place.
    if (after || !beside) && !model.source.standing.is_empty() {
        let text = if after { who(model, n) } else { String::new() };
        row.push(format!("{text:<WHO$}"), t.strong());
    }
    let digits = view.before.lines.len().max(view.after.lines.len()).to_string().len().max(3);
    row.push(format!("{:>digits$} ", n + 1), t.dim());
    let base = match (linked, l.pos.is_some()) {
        (true, _) => t.strong(),
        (false, true) => t.text(),
        (false, false) => t.dim(),
    };
    let room = width.saturating_sub(row.width());
    let toned = model.passes.toned[usize::from(after)].get(&n);
    let plain;
    let toned = match toned {
        Some(toned) => toned,
        None => {
            plain = Toned { text: printable(&l.text), tones: Vec::new() };
            &plain
        }
    };
    words(model, toned, model.source.shift, changed, base, room, &mut row);
    row
}

/// Who stands at a line of the text after.
fn who(model: &Model, n: usize) -> String {
    let mut all: Vec<_> = model.source.standing.iter().filter(|s| s.line == n).collect();
    all.sort_by_key(|s| !s.acts);
    let Some(first) = all.first() else { return String::new() };
    let mark = if first.begun { model.theme.cursor() } else { model.theme.waits() };
    let names: Vec<&str> = all.iter().map(|s| short(s.engine)).collect();
    clip(&format!("{mark}{}", names.join(",")), WHO - 1)
}
