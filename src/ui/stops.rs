//! Stops by keys: the command that a key stands for, where the user looks
//! (`docs/stops.md`, "On the screen").

use super::layout::Pane;
use super::model::Model;
use super::view::memory_target;
use crate::engine::command::{Loc, Watched};
use crate::engine::expr::Expr;
use crate::engine::session::StopKind;

impl Model {
    /// Sets or deletes a breakpoint: in a module's text at the instruction of the line, else at
    /// the selected slot. Nothing where no instruction stands.
    pub(super) fn break_toggle(&self) -> Option<String> {
        if matches!(self.focus, Pane::Source | Pane::Passes) {
            return if self.has_assembly() { self.break_op() } else { self.break_inst() };
        }
        let (dir, slot) = (self.selection.dir, self.selection.slot);
        Some(match self.session.break_on_slot(self.queue()?, dir, slot) {
            Some(number) => format!("delete {number}"),
            None => format!("break {dir}[{slot}]"),
        })
    }

    /// At the event at which the operation of the line begins.
    fn break_op(&self) -> Option<String> {
        let place = Loc::Event(self.op_event()?);
        let here = StopKind::Break(place.clone());
        Some(match self.session.stops().iter().find(|s| s.kind == here) {
            Some(stop) => format!("delete {}", stop.number),
            None => format!("break {place}"),
        })
    }

    fn break_inst(&self) -> Option<String> {
        let pos = self.listing()?.inst_at(self.source.cursor)?;
        let run = self.session.program().module.as_ref()?;
        let mut name = None;
        run.lowered.snapshots.first()?.module.visit(&mut |i| {
            if i.pos == pos {
                name = Some(i.name.to_string());
            }
        });
        let place = Loc::Inst(name.filter(|n| !n.is_empty())?);
        let stops = self.session.stops();
        let here = stops.iter().find(|s| s.kind == StopKind::Break(place.clone()));
        Some(match here {
            Some(stop) => format!("delete {}", stop.number),
            None => format!("break {place}"),
        })
    }

    /// Sets or deletes a watchpoint: in the memory pane on the bytes that the selected descriptor
    /// names, else on those of the selected slot. Nothing where it names none.
    pub(super) fn watch_toggle(&self) -> Option<String> {
        if self.focus == Pane::Memory {
            let (addr, len) = memory_target(self)?;
            let here = self.session.stops().iter().find(|s| match &s.kind {
                StopKind::Watch(w) => {
                    w.what == Watched::Expr(Expr::Num(addr)) && w.len == Some(Expr::Num(len))
                }
                _ => false,
            });
            return Some(match here {
                Some(stop) => format!("delete {}", stop.number),
                None => format!("watch {addr:#x},{len}"),
            });
        }
        let (dir, slot) = (self.selection.dir, self.selection.slot);
        Some(match self.session.watch_on_slot(self.queue()?, dir, slot) {
            Some(number) => format!("delete {number}"),
            None => format!("watch {dir}[{slot}]"),
        })
    }
}
