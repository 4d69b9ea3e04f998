//! The two lines on top: what is debugged and where the run stands; the five phases.

use super::{clip, left_right};
use crate::diag::Severity;
use crate::diag::render::printable;
use crate::engine::ring::{Event, Phase};
use crate::engine::session::{describe_event, inst_words};
use crate::udma::Dir;
use crate::ui::layout::Class;
use crate::ui::model::Model;
use crate::ui::rows::{Row, clip_front, width as width_of};

/// File, generation, profile, queue; event, next actor, state.
pub fn header(model: &Model, width: u16) -> Row {
    let room = usize::from(width);
    let t = model.theme;
    let s = &model.session;
    let p = s.program();
    let mut right = Row::new();
    let of = s.end().map(|e| format!(" of {e}")).unwrap_or_default();
    right.push("event ", t.dim());
    right.push(format!("{}{of}", s.position()), t.accent());
    let (state, style) = if model.running.is_some() {
        ("RUNNING", t.accent())
    } else if model.derived.next.is_none() {
        ("END", t.strong())
    } else {
        ("PAUSED", t.strong())
    };
    let mut left = Row::new();
    if room >= 110 {
        left.push("dmadbg  ", t.dim());
    }
    let file = printable(&model.title.file);
    // The way to it says less than what comes next.
    let file = if width_of(&file) <= room / 6 { file } else { short_name(&file) };
    left.push(format!("{}  ", clip_front(&file, room / 4)), t.strong());
    if let Some((text, severity)) = model.files.sign() {
        let text = printable(&text);
        // Where there is little room it is not said in which file.
        let short = text.split(" in ").next().unwrap_or_default();
        let text = if width_of(&text) <= room / 4 { &text } else { short };
        left.push(format!("{}  ", clip(text, room / 3)), t.severity(severity));
    }
    if !p.edits.is_empty() {
        left.push("edited  ", t.accent());
    }
    left.push(p.arch.name(), t.text());
    if room >= 130 {
        left.push(format!(" {}", p.arch.code_name()), t.text());
    }
    if room >= 110 {
        left.push(format!("  {}", p.profile.name), t.text());
    }
    if let Some(q) = model.queue() {
        left.push(format!("  {q}"), t.text());
    }
    // What comes next has the room that is left.
    let label = "  next: ";
    let left_over =
        room.saturating_sub(left.width() + right.width() + state.len() + label.len() + 4);
    if let Some(e) = model.derived.next
        && left_over >= 8
    {
        right.push(label, t.dim());
        right.push(clip(&next_words(model, &e), left_over), t.strong());
    }
    right.push("  ", t.text());
    right.push(state, style);
    left_right(left, right, room)
}

/// The names of files without the way to them, which says less; of a pair in two files what
/// they share is said once.
fn short_name(file: &str) -> String {
    let last = |path: &str| {
        path.rsplit('/').next().filter(|n| !n.is_empty()).map_or(path.to_owned(), str::to_owned)
    };
    let Some((a, b)) = file.split_once(" + ") else { return last(file) };
    let (a, b) = (last(a), last(b));
    // Both begin alike up to a dot or another mark between words.
    let same: usize =
        a.chars().zip(b.chars()).take_while(|(x, y)| x == y).map(|c| c.1.len_utf8()).sum();
    let cut = b[..same].rfind(['.', '_', '-']).map_or(0, |i| i + 1);
    format!("{a} + {}", &b[cut..])
}

/// An event as what somebody is about to do.
fn next_words(model: &Model, e: &Event) -> String {
    format!("{}: {}", e.agent, printable(&describe_event(model.session.program(), e)))
}

/// Of a module: whose phases these are, and what it is at.
fn at_work(model: &Model) -> Option<String> {
    let s = &model.session;
    if !model.has_module() {
        return None;
    }
    let m = s.machine();
    let Some(k) = m.active else { return Some("host".to_owned()) };
    let engine = m.seqs.get(k)?.engine;
    let name = match s.sequencers().into_iter().find(|s| s.acts) {
        Some(at) => printable(&inst_words(s.program(), at.pos, at.item)),
        None => "done".to_owned(),
    };
    Some(format!("{engine} {name}"))
}

/// The five phases, the current one lit, and the batch.
pub fn phases(model: &Model, width: u16) -> Row {
    let room = usize::from(width);
    let t = model.theme;
    let m = model.session.machine();
    let now = m.phase();
    let narrow = model.derived.areas.class < Class::Full;
    let mut left = Row::new();
    for (i, phase) in Phase::ALL.into_iter().enumerate() {
        if i > 0 {
            let track = t.track(now.is_some_and(|n| phase <= n));
            left.push(
                if narrow { track.chars().take(1).collect() } else { format!(" {track} ") },
                t.border(),
            );
        }
        if now == Some(phase) {
            left.push(format!("[{}]", phase.name()), t.lit(t.phase(phase)));
        } else {
            left.push(format!(" {} ", phase.name()), t.phase(phase));
        }
    }
    if let Some(text) = at_work(model) {
        left.push(format!("  {text}"), t.strong());
    }
    let mut right = Row::new();
    let fact = |row: &mut Row, name: &str, value: String, changed: bool| {
        row.push(format!("  {name} "), t.dim());
        row.push(value, if changed { t.changed_value(t.text()) } else { t.text() });
    };
    let before = model.session.before();
    if m.cpu().batch > 0 {
        fact(&mut right, "batch", m.cpu().batch.to_string(), m.cpu().batch != before.cpu().batch);
    }
    if let Some(id) = model.queue()
        && let (Some(q), Some(b)) = (m.queue(id), before.queue(id))
    {
        let (hw, old) = (q.hw(Dir::Tx), b.hw(Dir::Tx));
        let waiting = hw.posted.saturating_sub(hw.retired);
        fact(&mut right, "posted", waiting.to_string(), hw.posted != old.posted);
        let rx = (q.hw(Dir::Rx).visible, b.hw(Dir::Rx).visible);
        let visible = rx.0.saturating_sub(q.sw(Dir::Rx).acked);
        if !narrow || !model.has_module() {
            fact(&mut right, "visible", visible.to_string(), rx.0 != rx.1);
        }
        let free = (q.free(Dir::Tx), b.free(Dir::Tx));
        if let Some(n) = free.0.filter(|_| !narrow) {
            fact(&mut right, "free", n.to_string(), free.0 != free.1);
        }
    }
    // Where the checks have no place of their own, that something is wrong is said here.
    let errors = m.findings.iter().filter(|d| d.severity == Severity::Error).count();
    if narrow && errors > 0 {
        let style = t.severity(Severity::Error);
        let long =
            Row::text(format!(" {errors} error{}", if errors == 1 { "" } else { "s" }), style);
        let fits = left.width() + long.width() + right.width() < room;
        let mut all = if fits { long } else { Row::text(format!("  E{errors}"), style) };
        all.0.extend(right.0);
        right = all;
    }
    left_right(left, right, room)
}
