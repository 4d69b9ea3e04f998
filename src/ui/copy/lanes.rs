//! What is copied of the timeline: its lanes as they are drawn, or how many events each agent has in
//! each column.

use super::CopyForm;
use crate::engine::session::{Looked, Signs};
use crate::ui::model::Model;
use crate::ui::view;
use serde_json::{Value, json};

impl Model {
    /// Of the part of the run that is shown every lane, also those for which the pane has no row.
    pub(super) fn copied_lanes(&self, form: CopyForm) -> Option<String> {
        match form {
            CopyForm::Text => Some(view::timeline::text(self)?.join("\n")),
            CopyForm::Json => self.lanes_json().map(|v| v.to_string()),
            CopyForm::Script => Some(format!("goto {}", self.session.position())),
            CopyForm::Hex => None,
        }
    }

    /// A column is the events behind `after` up to `to`; `complete` says that each of them was
    /// looked at. Of a column that is not, the counts are those of the events that were.
    fn lanes_json(&self) -> Option<Value> {
        let (strip, lanes) = (self.derived.strip?, self.derived.lanes.as_ref()?);
        let signs = |s: Signs| -> Vec<&str> {
            let all = [
                (Signs::FLIP, "marker flips"),
                (Signs::FAULT, "fault"),
                (Signs::BATCH, "batch ends"),
                (Signs::STOP, "stop"),
            ];
            all.into_iter().filter(|(sign, _)| s.contains(*sign)).map(|s| s.1).collect()
        };
        let names: Vec<String> = lanes.lanes.iter().map(|l| view::timeline::name(*l)).collect();
        let of =
            |ids: &[usize]| -> Vec<&String> { ids.iter().filter_map(|k| names.get(*k)).collect() };
        let column = |(k, c): (usize, &crate::engine::session::Column)| {
            let (after, to) = strip.view.bounds(k as u64);
            json!({ "after": after, "to": to, "signs": signs(c.signs), "doorbells": of(&c.rung),
                "marker_by": of(&c.flipped),
                "complete": c.looked == Looked::Each && c.known >= to })
        };
        let columns: Vec<Value> = lanes.columns.iter().enumerate().map(column).collect();
        let lane = |(k, name): (usize, &String)| {
            let counts = lanes.columns.iter().map(|c| c.cells.get(k).map_or(0, |c| c.count));
            json!({ "lane": name, "events": counts.collect::<Vec<u64>>() })
        };
        let all: Vec<Value> = names.iter().enumerate().map(lane).collect();
        Some(json!({ "event": self.session.position(), "columns": columns, "lanes": all }))
    }
}
