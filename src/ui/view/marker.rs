//! The completion marker: what it is now, what is waited for, what will change it.

use super::{hex, place};
use crate::engine::ring::host::Host;
use crate::engine::session::describe_event;
use crate::udma::count_of;
use crate::udma::profile::MARKER;
use crate::ui::derived::MarkerNews;
use crate::ui::model::Model;
use crate::ui::rows::{Row, clip, width, wrap};
use ratatui::style::Style;

/// The polled word: its address, its value, and how it looks.
fn word(model: &Model) -> Option<(u64, String, Style)> {
    let t = model.theme;
    let m = model.session.machine();
    let q = m.queue(model.queue()?)?;
    let addr = q.marker.wrapping_add(4);
    let known = m.memory.known(addr, 4);
    let value = m.memory.read_u32(addr);
    let before = model.session.before().memory.read_u32(addr);
    let (text, style) = if m.memory.outside(addr, 4).is_some() {
        ("outside every region".to_owned(), t.dim())
    } else if known.never_written.is_some() {
        ("-- never written".to_owned(), t.dim())
    } else if known.unknown.is_some() {
        ("?? unknown".to_owned(), t.dim())
    } else if value == MARKER {
        (format!("{} FLIPPED", hex(u64::from(value), 8)), t.good())
    } else {
        (hex(u64::from(value), 8), t.text())
    };
    let style = if before == value { style } else { t.changed_value(style) };
    Some((addr, text, style))
}

/// The CPU agent that waits for the marker of the selected queue: the sequencer to which the
/// queue belongs now; of a queue without one the agent that acted last, where there is no module.
fn waiting(model: &Model) -> Option<&Host> {
    let m = model.session.machine();
    if !model.has_module() {
        return Some(m.cpu());
    }
    let owner = m.queue(model.queue()?)?.owner?;
    m.seqs.iter().find(|s| s.engine == owner).map(|s| &s.host)
}

/// The newest batch, where none is open and none comes: its marker was seen, the driver has
/// cleared the word again, and nobody waits for it.
fn over(model: &Model) -> Option<u64> {
    let m = model.session.machine();
    let (q, host) = (m.queue(model.queue()?)?, waiting(model));
    let over = model.derived.marker.2 == MarkerNews::Never
        && host.is_none_or(|h| h.poll.is_none() && h.polled != Some(false))
        && q.batches > 0
        && q.ledger.done() == q.batches;
    over.then_some(q.batches)
}

/// Five or six lines.
pub fn rows(model: &Model, room: usize) -> Vec<Row> {
    let t = model.theme;
    let Some((addr, now, style)) = word(model) else {
        return vec![Row::text("no queue, no marker", t.dim())];
    };
    if !model.session.can_step() {
        return vec![Row::text("no marker: nothing is run", t.dim())];
    }
    let fact = |name: &str, value: String, style| {
        Row::text(format!("{name:<6}"), t.dim()).with(clip(&value, room.saturating_sub(6)), style)
    };
    let name = place(model, addr);
    let long = format!("{name} {}", hex(addr, 16));
    let at = if width(&long) + 6 <= room { long } else { name };
    let mut out = vec![
        fact("at", at, t.text()),
        fact("now", now, style),
        match over(model) {
            Some(n) => fact("want", format!("nothing: batch {n} is over"), t.dim()),
            None => fact("want", hex(u64::from(MARKER), 8), t.text()),
        },
    ];
    let program = model.session.program();
    let news = match model.derived.marker.2 {
        MarkerNews::By(e, flips) => {
            let what = if flips { "flips it" } else { "writes it" };
            format!("event {} {what}: {}: {}", e.n, e.agent, describe_event(program, &e))
        }
        MarkerNews::NotWithin(n) => {
            format!("not known yet: not within {n_events}", n_events = count_of(n, "event"))
        }
        MarkerNews::Never => "nothing changes it any more".to_owned(),
    };
    let news = wrap(&crate::diag::render::printable(&news), room.saturating_sub(6));
    for (i, line) in news.into_iter().take(2).enumerate() {
        out.push(fact(if i == 0 { "by" } else { "" }, line, t.text()));
    }
    let polls = match waiting(model).and_then(|h| h.poll) {
        Some(p) => {
            let made = p.told + p.untold;
            format!("{made} of {} made", count_of(made.saturating_add(p.left), "read"))
        }
        None => "not polled now".to_owned(),
    };
    out.push(fact("polls", polls, t.text()));
    out
}

/// The marker in a few words, for the status line of a small screen.
pub fn short(model: &Model) -> Row {
    let t = model.theme;
    if !model.session.can_step() {
        return Row::new();
    }
    match word(model) {
        Some((_, now, style)) => {
            let mut row = Row::text("marker ", t.dim()).with(now, style);
            if let MarkerNews::By(e, flips) = model.derived.marker.2 {
                let what = if flips { "flips" } else { "is written" };
                row.push(format!(", {what} at event {}", e.n), t.dim());
            } else if let Some(n) = over(model) {
                row.push(format!(", batch {n} is over"), t.dim());
            }
            row
        }
        None => Row::new(),
    }
}
