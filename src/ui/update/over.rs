//! What lies over the screen: searching in a text, going from part to part of it.

use crate::ui::model::Model;
use crate::ui::view;
use tui_input::InputRequest;

/// Types into the search, where one is typed; whether it was.
pub(super) fn edit(model: &mut Model, request: InputRequest) -> bool {
    if model.popup.is_none() || !model.sieve.typing {
        return false;
    }
    if model.sieve.input.handle(request).is_some_and(|c| c.value) {
        model.sieved();
    }
    true
}

/// Deletes before the cursor of the search; where nothing is typed, ends it. False where none is
/// typed.
pub(super) fn backspace(model: &mut Model) -> bool {
    if model.popup.is_none() || !model.sieve.typing {
        return false;
    }
    if model.sieve.input.value().is_empty() {
        model.drop_sieve();
        return true;
    }
    edit(model, InputRequest::DeletePrevChar)
}

/// Shows all of a text again, or closes it where nothing is left out.
pub(super) fn back(model: &mut Model) {
    if !model.drop_sieve() {
        model.popup = None;
    }
}

/// Scrolls to the next heading (1) or the one before (-1).
pub(super) fn part(model: &mut Model, by: i64) {
    let to = view::popup::heading(model, by);
    if let Some((_, scroll)) = &mut model.popup {
        *scroll = to;
    }
}
