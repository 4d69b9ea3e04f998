//! The mouse: clicks, the wheel, borders that are dragged.

use super::around::{focus, rows, scroll_inspector};
use super::{Effect, WHEEL, act, command, flip_bit, move_border};
use crate::ui::keymap::Action;
use crate::ui::layout::{Areas, Pane};
use crate::ui::links::Subject;
use crate::ui::model::Model;
use crate::ui::rows::Hit;
use crate::ui::view;
use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

/// Does what a press, a drag or the wheel asks for.
pub(super) fn mouse(model: &mut Model, e: MouseEvent) -> Vec<Effect> {
    let (x, y) = (e.column, e.row);
    let wheel = match e.kind {
        MouseEventKind::ScrollUp => Some(-WHEEL),
        MouseEventKind::ScrollDown => Some(WHEEL),
        _ => None,
    };
    if matches!(e.kind, MouseEventKind::Down(_)) {
        model.drag = None;
    }
    if model.palette.is_some() || model.popup.is_some() || model.grid.is_some() {
        model.let_go();
        match (wheel, e.kind) {
            (Some(n), _) => rows(model, n),
            (_, MouseEventKind::Down(_)) if model.palette.is_some() => model.palette = None,
            (_, MouseEventKind::Down(_)) if model.popup.is_some() => model.popup = None,
            (_, MouseEventKind::Down(_)) => model.grid = None,
            _ => {}
        }
        return Vec::new();
    }
    if model.drag.is_some() && matches!(e.kind, MouseEventKind::Drag(_) | MouseEventKind::Up(_)) {
        match e.kind {
            MouseEventKind::Drag(_) => drag(model, (x, y)),
            _ => model.drag = None,
        }
        return Vec::new();
    }
    if let Some(effects) = model.scrub_by_mouse(e) {
        return effects;
    }
    let Some(pane) = model.derived.areas.at(x, y) else { return Vec::new() };
    if let Some(n) = wheel {
        // The wheel scrolls what is under it; the focus stays.
        if model.scroll_aside(pane, n) {
            return Vec::new();
        }
        let kept = model.focus;
        model.focus = pane;
        match pane {
            // The words are selected by the keys; the wheel moves what is told of them.
            Pane::Inspector if kept == pane => scroll_inspector(model, n),
            _ => rows(model, n),
        }
        model.focus = kept;
        return Vec::new();
    }
    if e.kind != MouseEventKind::Down(MouseButton::Left) {
        return Vec::new();
    }
    // A border that is pressed can be moved, as long as the button is held.
    let borders = &model.derived.areas.borders;
    let pressed = borders.iter().filter(|b| b.area.contains((x, y).into()));
    // Where two meet the one with a title is meant.
    let pressed = pressed.max_by_key(|b| b.level).copied();
    model.drag = pressed.map(|b| (b, model.arrangement.moved(b.edge), (x, y)));
    let whole = model.derived.areas.pane(pane).unwrap_or_default();
    if pane.is_tab()
        && y == whole.y
        && let Some(tab) = view::tab_at(model, pane, x - whole.x)
    {
        focus(model, tab);
        return Vec::new();
    }
    let area = Areas::inner(whole);
    let hit = area.contains((x, y).into()).then(|| {
        let rows = view::pane_rows(model, pane, area.width, area.height);
        rows.get(usize::from(y - area.y)).and_then(|r| r.hit_at(usize::from(x - area.x)))
    });
    let again = model.focus == pane;
    focus(model, pane);
    if hit.is_some() {
        model.jump_from = Some(model.spot());
    }
    match hit.flatten() {
        Some(Hit::Slot(dir, slot)) => {
            model.subject = Subject::Slot;
            model.select_slot(Some(dir), slot);
        }
        Some(Hit::Bit(word, bit)) if model.bit() == (word, bit) => return flip_bit(model),
        Some(Hit::Bit(word, bit)) => {
            model.selection.word = model.words().iter().position(|w| *w == word).unwrap_or(0);
            model.selection.bit = bit;
        }
        Some(Hit::Event(n)) if model.event_cursor == n => {
            return command(model, &format!("goto {n}"));
        }
        Some(Hit::Event(n)) => model.event_cursor = n,
        Some(Hit::Finding(i)) => model.check_cursor = i,
        Some(Hit::Byte(at)) => {
            model.memory_at = at;
            model.subject = model.byte_subject();
        }
        Some(Hit::Line(n)) => {
            model.subject = Subject::Line;
            if model.has_assembly() {
                model.assembly.cursor = n;
                model.assembly_enter();
            } else {
                model.source.cursor = n;
                model.source_to_slot();
            }
        }
        Some(Hit::Pass(n)) => {
            model.subject = Subject::Line;
            model.passes.row = n;
            model.pass_to_text();
            model.pass_enter();
        }
        Some(Hit::Stage(n)) => {
            if let Some(stage) = crate::engine::command::Pass::STAGES.get(n) {
                return command(model, &format!("pass {stage}"));
            }
        }
        Some(Hit::Stop(i)) if again && model.stop_cursor == i => {
            return act(model, Action::GotoSelected);
        }
        Some(Hit::Stop(i)) => model.stop_cursor = i,
        Some(Hit::Switch(i)) => {
            model.stop_cursor = i;
            return act(model, Action::SwitchStop);
        }
        Some(Hit::Budget(i)) if again && model.budget_cursor == i => {
            return act(model, Action::GotoSelected);
        }
        Some(Hit::Budget(i)) => model.budget_cursor = i,
        Some(Hit::Tab(_)) | None => {}
    }
    Vec::new()
}

/// Moves the border that was pressed to where the mouse is.
fn drag(model: &mut Model, to: (u16, u16)) {
    let Some((border, start, from)) = model.drag else { return };
    let along = |p: (u16, u16)| i32::from(if border.level { p.1 } else { p.0 });
    let by = i16::try_from(along(to) - along(from)).unwrap_or(0);
    move_border(model, border.edge, start.saturating_add(border.grows * by));
}
