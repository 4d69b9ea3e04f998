//! The text of a module after a stage: the stages on top, marks in the gutter, the line with
//! the cursor in full below.

use crate::bir::Pos;
use crate::diag::Severity;
use crate::diag::render::printable;
use crate::engine::command::Pass;
use crate::engine::diff;
use crate::engine::lower::Snapshot;
use crate::engine::session::counts;
use crate::load::bir::listing::{Change, Listing};
use crate::udma::count_of;
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::rows::{DOTS, Hit, Row, clip, width as width_of, wrap};
use crate::ui::source::{Toned, short, slots, split};
use ratatui::style::{Modifier, Style};
use std::ops::Range;

/// Columns of the mark of a sequencer.
const WHO: usize = 6;
/// Smallest width with line numbers.
const NUMBERED: usize = 64;

/// Stage, and which row of how many.
pub fn title(model: &Model) -> String {
    let Some(listing) = model.listing() else { return "source".to_owned() };
    format!(
        "source  after {}  row {} of {}",
        listing.stage,
        model.source.cursor + 1,
        listing.lines.len()
    )
}

/// Stages, text, and the line with the cursor.
pub fn rows(model: &Model, width: usize, height: usize) -> Vec<Row> {
    let Some(listing) = model.listing() else {
        return vec![Row::text("the program is rings without a module", model.theme.dim())];
    };
    let parts = split(height, model.passes_stand());
    let mut out = match parts.stages {
        0 => Vec::new(),
        1 => vec![strip(model, width)],
        _ => stack(model, width),
    };
    let top = model.source.top;
    let shown = listing.lines.iter().enumerate().skip(top).take(parts.text);
    out.extend(shown.map(|(n, _)| line(model, listing, n, width)));
    if parts.detail > 0 {
        out.resize(parts.stages + parts.text, Row::new());
        out.extend(as_fits(detail(model, listing, width), parts.detail, width));
    }
    out
}

pub fn snapshots(model: &Model) -> &[Snapshot] {
    model.session.program().module.as_ref().map_or(&[], |m| &m.lowered.snapshots)
}

/// Errors and warnings of a stage, or that there are none.
pub fn verdict(s: &Snapshot) -> (Option<Severity>, String) {
    let count = |x| s.findings.iter().filter(|f| f.diag.severity == x).count();
    for severity in [Severity::Error, Severity::Warning] {
        let n = count(severity);
        if n > 0 {
            let end = if n == 1 { "" } else { "s" };
            return (Some(severity), format!("{n} {}{end}", severity.name()));
        }
    }
    (None, "ok".to_owned())
}

/// The stages on one line, the selected one in brackets, and what it holds.
pub fn strip(model: &Model, width: usize) -> Row {
    let t = model.theme;
    let here = model.session.stage();
    let mut row = Row::new();
    for (k, s) in snapshots(model).iter().enumerate() {
        let name = s.stage.name();
        if k > 0 {
            row.push(
                t.track(Some(s.stage) <= here).chars().take(1).collect::<String>(),
                t.border(),
            );
        }
        let bad = verdict(s).0 == Some(Severity::Error);
        let mark = if bad { "!" } else { "" };
        if Some(s.stage) == here {
            row.push(format!("[{name}{mark}]"), t.lit(t.strong()));
        } else {
            let style = if bad { t.error() } else { t.text() };
            row.push(format!(" {name}{mark} "), style);
        }
    }
    let stats = snapshots(model).iter().find(|s| Some(s.stage) == here).map(|s| counts(&s.stats));
    let room = width.saturating_sub(row.width() + 2);
    row.push(format!("  {}", clip(&stats.unwrap_or_default(), room)), t.dim());
    row
}

/// A line for each stage.
fn stack(model: &Model, width: usize) -> Vec<Row> {
    let t = model.theme;
    let here = model.session.stage();
    let names = Pass::STAGES.iter().map(|s| s.name().len()).max().unwrap_or(0);
    let mut out = Vec::new();
    for s in snapshots(model) {
        let selected = Some(s.stage) == here;
        let mark = if selected { t.cursor() } else { ' ' };
        let mut row = Row::text(format!("{mark} "), t.accent());
        let style = if selected { t.strong() } else { t.text() };
        row.push(format!("{:<names$}  ", s.stage.name()), style);
        let (severity, words) = verdict(s);
        let room = width.saturating_sub(row.width() + width_of(&words) + 2);
        row.push(clip(&counts(&s.stats), room), if selected { t.text() } else { t.dim() });
        row.pad_to(width.saturating_sub(width_of(&words) + 1));
        row.push(words, severity.map_or(t.good(), |s| t.severity(s)));
        out.push(if selected { row.restyled(|s| t.selected(s)) } else { row });
    }
    let (across, _) = t.lines();
    out.resize(Pass::STAGES.len(), Row::new());
    out.push(Row::text(across.to_string().repeat(width), t.border()));
    out
}

/// A line: how it changed, whether it stems from the selected instruction, who stands there.
fn line(model: &Model, listing: &Listing, n: usize, width: usize) -> Row {
    let t = model.theme;
    let Some(l) = listing.lines.get(n) else { return Row::new() };
    let mut row = Row::new();
    let change = match l.change {
        Change::Same => t.dim(),
        Change::Changed => t.severity(Severity::Warning),
        Change::Added => t.good(),
    };
    let part = listing.part_at(n).filter(|p| p.descriptor.is_none());
    let block = part.map(|p| (&*p.queue, p.block));
    let stop =
        model.session.break_on_inst(l.pos, block).or_else(|| model.break_at_begin(listing, n));
    match stop {
        Some(true) => row.push("B", t.error()),
        Some(false) => row.push("b", t.dim()),
        None => row.push(l.change.mark().to_string(), change),
    }
    let linked = model.inst_linked(l.pos);
    let link = if linked { t.linked() } else { ' ' }.to_string();
    // What the files say otherwise than before.
    let news = l.pos.and_then(|p| model.session.inst_news(p));
    let news = news.map(|c| if c == diff::Change::Added { "+" } else { "~" });
    row.push(news.map_or(link, str::to_owned), t.accent());
    let mut who: Vec<_> = model.source.standing.iter().filter(|s| s.line == n).collect();
    who.sort_by_key(|s| !s.acts);
    let text = match who.first() {
        None => String::new(),
        Some(s) => {
            let mark = if s.begun { t.cursor() } else { t.waits() };
            let names: Vec<&str> = who.iter().map(|s| short(s.engine)).collect();
            clip(&format!("{mark}{}", names.join(",")), WHO - 1)
        }
    };
    let acts = who.first().is_some_and(|s| s.acts);
    row.push(format!("{text:<WHO$}"), if acts { t.accent() } else { t.strong() });
    if width >= NUMBERED {
        let digits = listing.lines.len().to_string().len().max(3);
        // The file's line of the instruction: what `break line` takes.
        let run = model.session.program().module.as_ref();
        let info = l.pos.zip(run).and_then(|(pos, run)| run.inst(pos));
        let of_file = info.and_then(|i| i.place.line).map(|n| n.to_string()).unwrap_or_default();
        row.push(format!("{of_file:>digits$} "), t.dim());
    }
    let style = match (linked || acts, l.pos.is_some()) {
        (true, _) => t.strong(),
        (false, true) => t.text(),
        (false, false) => t.dim(),
    };
    let room = width.saturating_sub(row.width());
    match model.source.toned.get(&n) {
        Some(toned) => words(model, toned, model.source.shift, &[], style, room, &mut row),
        None => row.push(clip(&shifted(&printable(&l.text), model.source.shift), room), style),
    }
    if n == model.source.cursor {
        let focused = model.focus == Pane::Source;
        row.pad_to(width);
        row = row.restyled(|s| match focused {
            true => t.selected(s),
            false => s.add_modifier(Modifier::UNDERLINED),
        });
    }
    row.hits(Hit::Line(n))
}

fn shifted(text: &str, shift: usize) -> String {
    text.chars().skip(shift).collect()
}

/// The words of a line, each in its tone, from the first column that is shown on; some of them
/// marked as changed. Where they do not fit, and the text is not moved, those that tell least are
/// left out first.
pub fn words(
    model: &Model,
    toned: &Toned,
    shift: usize,
    changed: &[Range<usize>],
    base: Style,
    room: usize,
    row: &mut Row,
) {
    let t = model.theme;
    let shorter = if shift == 0 { toned.abridged(room, changed) } else { None };
    let changed: Vec<Range<usize>> = match &shorter {
        Some(s) => changed.iter().map(|r| s.stretch(r)).collect(),
        None => changed.to_vec(),
    };
    let toned = shorter.as_ref().map_or(toned, |s| &s.line);
    let start = toned.text.chars().take(shift).map(char::len_utf8).sum::<usize>();
    // Where a tone ends, or a changed stretch begins or ends.
    let mut ends: Vec<usize> = toned.tones.iter().map(|t| t.0).collect();
    ends.extend(changed.iter().flat_map(|r| [r.start, r.end]));
    ends.push(toned.text.len());
    ends.sort_unstable();
    let mut all = Row::new();
    let mut at = start;
    for end in ends {
        let Some(word) = toned.text.get(at..end).filter(|w| !w.is_empty()) else { continue };
        let tone = toned.tones.iter().find(|t| t.0 > at).map(|t| t.1).unwrap_or_default();
        let style = t.tone(tone, base);
        let new = changed.iter().any(|r| r.contains(&at));
        all.push(word, if new { t.changed_value(style) } else { style });
        at = end;
    }
    row.0.extend(all.clipped(room).0);
}

/// The line with the cursor: what it stems from, and its text in full.
fn detail(model: &Model, listing: &Listing, width: usize) -> Vec<Row> {
    let t = model.theme;
    let (across, _) = t.lines();
    let pos = listing.inst_at(model.source.cursor);
    let mut head = Row::text(format!("{across} "), t.border());
    let words = pos.map_or("no instruction".to_owned(), |p| origin(model, listing, p));
    head.push(clip(&words, width.saturating_sub(4)), t.strong());
    head.push(" ", t.text());
    let rest = width.saturating_sub(head.width());
    head.push(across.to_string().repeat(rest), t.border());
    let text = listing.lines.get(model.source.cursor).map_or("", |l| l.text.trim());
    let lines = wrap(&printable(text), width.saturating_sub(1));
    let mut out = vec![head];
    out.extend(lines.into_iter().map(|l| Row::text(format!(" {l}"), t.text())));
    out
}

/// As many rows as fit; where they are not all, the last one says so.
pub fn as_fits(mut rows: Vec<Row>, fit: usize, width: usize) -> Vec<Row> {
    let more = rows.len() > fit;
    rows.truncate(fit);
    if let Some(last) = rows.last_mut().filter(|_| more && fit > 1) {
        let style = last.0.last().map(|p| p.style).unwrap_or_default();
        *last = std::mem::take(last).with(" ", style).with(DOTS, style).clipped(width);
    }
    rows
}

/// Which instruction of the loaded module it is, how many lines stem from it, and where its
/// descriptors were put last.
pub fn origin(model: &Model, listing: &Listing, pos: Pos) -> String {
    let program = model.session.program();
    let mut out = printable(&program.inst_text(pos));
    let info = program.module.as_ref().and_then(|m| m.inst(pos));
    // The file itself is named on top of the screen.
    if let Some(line) = info.and_then(|i| i.place.line) {
        out.push_str(&format!(", line {line} of the file"));
    }
    if let Some(h) = model.source.held.first() {
        out.push_str(&format!(", in {}", h.queue));
    }
    let held: Vec<String> = model.source.held.iter().map(slots).collect();
    if !held.is_empty() {
        out.push_str(&format!(" {}", held.join(", ")));
    }
    // Where it stands for more than the line with the cursor.
    let n = listing.lines.iter().filter(|l| l.pos == Some(pos)).count();
    if n > 1 {
        out.push_str(&format!("; {} after {}", count_of(n, "line"), listing.stage));
    }
    out
}
