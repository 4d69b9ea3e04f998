//! What is copied of that which lies over the screen: a text, the help, the access grid.

use super::CopyForm;
use crate::ui::grid::Grid;
use crate::ui::model::{Model, Popup};
use crate::ui::{seams, view};
use serde_json::{Value, json};

impl Model {
    /// The text that lies over the screen, as far as a search does not leave it out; and the
    /// command that it answers.
    pub(super) fn copied_popup(&self, form: CopyForm) -> Option<String> {
        let (popup, _) = self.popup.as_ref()?;
        let lines = match popup {
            // As it was said, not as it was broken to fit.
            Popup::Output(lines) => lines.iter().filter(|l| self.sieve.keeps(l)).cloned().collect(),
            Popup::Help | Popup::Jumps(_) => view::popup::lines(self),
        };
        match form {
            CopyForm::Text => Some(lines.join("\n")),
            CopyForm::Json => serde_json::to_string(&lines).ok(),
            CopyForm::Script => match popup {
                // Not every text answers a command.
                Popup::Output(_) => seams::parse(&self.answers).ok().map(|_| self.answers.clone()),
                Popup::Help => Some("help".to_owned()),
                Popup::Jumps(_) => None,
            },
            CopyForm::Hex => None,
        }
    }

    /// The access grid: as it is drawn, or what it is drawn from.
    pub(super) fn copied_grid(&self, grid: &Grid, form: CopyForm) -> Option<String> {
        match form {
            CopyForm::Text => Some(view::grid::text(self, grid).join("\n")),
            CopyForm::Json => Some(grid_json(grid).to_string()),
            CopyForm::Hex | CopyForm::Script => None,
        }
    }
}

/// Of each side its location, its pattern in words, and the bytes that the current descriptor
/// touches, in the order in which it does.
fn grid_json(grid: &Grid) -> Value {
    let runs = |s: &crate::ui::grid::Side| -> Vec<Value> {
        let own = s.touches.iter().filter(|t| t.number == s.current).flat_map(|t| &t.runs);
        own.map(|(at, len)| json!({ "addr": format!("0x{at:016x}"), "len": len })).collect()
    };
    let side = |s: &crate::ui::grid::Side| {
        json!({ "side": s.name, "location": s.shape.name, "element_bytes": s.shape.elem,
            "pattern": s.pattern, "runs": runs(s), "complete": !s.cut })
    };
    let sides: Vec<Value> = grid.sides().iter().map(side).collect();
    json!({ "of": grid.title, "when": grid.when, "descriptor": grid.number(),
        "descriptors": grid.numbers.len(), "sides": sides })
}
