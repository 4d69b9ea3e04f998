//! Going about: from pane to pane, from queue to queue, by rows and columns in what has the focus.

use super::Effect;
use crate::diag::Severity;
use crate::udma::Dir;
use crate::ui::layout::{Areas, Pane};
use crate::ui::model::{LOOK_AHEAD, Model, Popup};
use crate::ui::{seams, view};

/// Gives a pane the keys.
pub(super) fn focus(model: &mut Model, pane: Pane) {
    model.focus = pane;
    if pane.is_tab() {
        model.arrangement.tab = pane;
    }
    match pane {
        Pane::Tx => model.look_at_ring(Dir::Tx),
        Pane::Rx => model.look_at_ring(Dir::Rx),
        _ => {}
    }
}

/// Goes to the queue so many places on.
pub(super) fn queue(model: &mut Model, by: i64) -> Vec<Effect> {
    let ids: Vec<_> = model.session.program().queues.iter().map(|q| q.id).collect();
    if ids.len() < 2 {
        model.say("the program has one queue", Some(Severity::Note));
        return Vec::new();
    }
    let at = model.queue().and_then(|q| ids.iter().position(|i| *i == q)).unwrap_or(0) as i64;
    let id = ids[(at + by).rem_euclid(ids.len() as i64) as usize];
    model.ring_top = 0;
    let told = seams::parse(&format!("info queue {id}"))
        .and_then(|c| model.run(&c, &mut |_, _| std::ops::ControlFlow::Continue(())));
    match told {
        // Its first line is enough here, and leaves the keys to go on.
        Ok(_) => {
            if let Some((Popup::Output(lines), _)) = model.popup.take() {
                model.say(lines.first().cloned().unwrap_or_default(), None);
            }
        }
        Err(d) => model.refuse(d),
    }
    Vec::new()
}

/// Moves by rows in what has the focus.
pub(super) fn rows(model: &mut Model, n: i64) {
    let shift = |at: u64, max: u64| at.saturating_add_signed(n).min(max);
    if let Some(p) = &mut model.palette {
        let last = (p.found.len() as u64).saturating_sub(1);
        p.cursor = shift(p.cursor as u64, last) as usize;
        return;
    }
    if let Some((Popup::Jumps(at), _)) = &model.popup {
        let (behind, ahead) = model.jumps.len();
        let at = shift(*at as u64, (behind + ahead) as u64) as usize;
        model.popup = Some((Popup::Jumps(at), at.saturating_sub(2)));
        return;
    }
    if let Some((_, scroll)) = &mut model.popup {
        *scroll = (*scroll as u64).saturating_add_signed(n).min(1 << 20) as usize;
        let max = view::popup::max_scroll(model);
        if let Some((_, scroll)) = &mut model.popup {
            *scroll = (*scroll).min(max);
        }
        return;
    }
    if let Some(g) = &mut model.grid {
        g.scroll.0 = g.scroll.0.saturating_add(n).clamp(-(1 << 32), 1 << 32);
        return;
    }
    match model.focus {
        Pane::Tx | Pane::Rx => {
            let slot = shift(model.selection.slot, model.last_slot(model.selection.dir));
            model.select_slot(None, slot);
        }
        Pane::Inspector => {
            let last = model.words().len() as u64 - 1;
            model.selection.word = shift((model.selection.word as u64).min(last), last) as usize;
        }
        Pane::Events => {
            let end = model.session.end().unwrap_or(u64::MAX);
            // Not farther ahead than what is cheaply known.
            let end = end.min(model.session.position() + LOOK_AHEAD);
            model.event_cursor = shift(model.event_cursor, end);
        }
        Pane::Memory => {
            let area = model.derived.areas.pane(Pane::Memory).map(Areas::inner).unwrap_or_default();
            let (per, _) = view::memory_shape(model, area.width, area.height);
            memory_to(model, n.saturating_mul(per));
        }
        Pane::Checks => {
            let last = (model.findings().count() as u64).saturating_sub(1);
            model.check_cursor = shift(model.check_cursor as u64, last) as usize;
        }
        Pane::Source if model.has_assembly() => model.assembly_rows(n),
        Pane::Source => model.source_rows(n),
        Pane::Timeline => {
            let (lines, fit) =
                view::timeline::scroll(model, model.derived.areas.rows(Pane::Timeline));
            let last = lines.saturating_sub(fit) as u64;
            model.scrub.top = shift((model.scrub.top as u64).min(last), last) as usize;
        }
        Pane::Budget => {
            let last = model.derived.shares.len().saturating_sub(1) as u64;
            model.budget_cursor = shift(model.budget_cursor as u64, last) as usize;
        }
        Pane::Stops => model.stop_rows(n),
        Pane::Passes => model.pass_rows(n),
        Pane::Marker => {}
    }
}

/// Scrolls what is told of the descriptor, where it has not room for all.
pub(super) fn scroll_inspector(model: &mut Model, n: i64) {
    let area = model.derived.areas.pane(Pane::Inspector).map(Areas::inner).unwrap_or_default();
    let last = view::last_top(model, area.width.into(), area.height.into());
    let top = (model.inspector_top as u64).saturating_add_signed(n);
    model.inspector_top = (top as usize).min(last);
}

/// Moves by columns in what has the focus.
pub(super) fn columns(model: &mut Model, n: i64) {
    if let Some(g) = &mut model.grid {
        g.scroll.1 = g.scroll.1.saturating_add(n).clamp(-(1 << 32), 1 << 32);
        return;
    }
    if model.focus == Pane::Inspector {
        // Higher bits are to the left; past the edge the walk goes on in the next word.
        let (word, bit) = model.bit();
        let (words, at) = (model.words(), model.selection.word.min(model.words().len() - 1));
        let bit = i64::from(bit) - n;
        if bit < 0 && at + 1 < words.len() {
            model.selection.word = at + 1;
            model.selection.bit = words[at + 1].bits() - 1;
        } else if bit >= i64::from(word.bits()) && at > 0 {
            model.selection.word = at - 1;
            model.selection.bit = 0;
        } else {
            model.selection.word = at;
            model.selection.bit = bit.clamp(0, i64::from(word.bits()) - 1) as u8;
        }
        return;
    }
    if model.focus == Pane::Source && model.has_assembly() {
        model.assembly_columns(n);
        return;
    }
    if matches!(model.focus, Pane::Source | Pane::Passes) {
        model.source_columns(n);
        return;
    }
    if model.focus == Pane::Memory {
        memory_to(model, n);
        return;
    }
    let dir = if n < 0 { Dir::Tx } else { Dir::Rx };
    model.look_at_ring(dir);
}

/// Moves the cursor of the memory pane by bytes.
fn memory_to(model: &mut Model, by: i64) {
    const FAR: i64 = 1 << 40;
    model.memory_at = model.memory_at.saturating_add(by).clamp(-FAR, FAR);
}
