//! Stops by keys: the command that a key stands for, where the user looks
//! (`docs/stops.md`, "On the screen").

use super::layout::Pane;
use super::model::{LOOK_AHEAD, Model};
use super::view::memory_target;
use crate::bir::exec::Item;
use crate::engine::command::{Attached, Command, Loc, Switch, Watched};
use crate::engine::expr::Expr;
use crate::engine::ring::{Event, EventKind};
use crate::engine::session::{Display, Stop, StopKind, StopPlace};
use crate::script;

impl Model {
    /// Sets or deletes a breakpoint: in a module's text at the instruction of the line, else at
    /// the selected slot. Nothing where no instruction stands.
    pub(super) fn break_toggle(&mut self) -> Option<String> {
        if matches!(self.focus, Pane::Source | Pane::Passes) {
            return match (self.has_assembly(), self.added_here()) {
                (true, _) => self.break_at(self.op_event()?),
                // What lowering added has no name in the file; it is known by when it begins.
                (false, Some(item)) => {
                    let n = self.begins(item)?;
                    self.break_at(n)
                }
                (false, None) => self.break_inst(),
            };
        }
        let (dir, slot) = (self.selection.dir, self.selection.slot);
        Some(match self.session.break_on_slot(self.queue()?, dir, slot) {
            Some(number) => format!("delete {number}"),
            None => format!("break {dir}[{slot}]"),
        })
    }

    /// The first event at which a sequencer begins an instruction, of those that are looked at.
    fn begins(&mut self, item: Item) -> Option<u64> {
        let events = self.session.events(1, LOOK_AHEAD);
        let begins = |e: &&Event| matches!(e.kind, EventKind::Inst { item: i, .. } if i == item);
        events.iter().find(begins).map(|e| e.n)
    }

    /// At the event at which something begins.
    fn break_at(&self, event: u64) -> Option<String> {
        let place = Loc::Event(event);
        let here = StopKind::Break(place.clone());
        Some(match self.session.stops().iter().find(|s| s.kind == here) {
            Some(stop) => format!("delete {}", stop.number),
            None => format!("break {place}"),
        })
    }

    /// Why no breakpoint can be set where the cursor of the text is.
    pub(super) fn no_break_here(&self) -> &'static str {
        if self.has_assembly() {
            return "no operation that the run is known to come to stands on this line";
        }
        match self.added_here() {
            Some(_) => "lowering added this instruction, and the run is not known to come to it",
            None => "no instruction stands on this line; on one `b` stops where it begins",
        }
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

/// A line of the stops pane.
#[derive(Debug, Clone)]
pub enum Listed<'a> {
    /// A breakpoint, watchpoint or catchpoint.
    Stop(&'a Stop),
    /// A value that is shown at every stop.
    Display(Display),
}

/// What is to be done once an edited stop is set anew.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Replaces {
    /// The newest stop and the newest display before.
    newest: (u64, u64),
    /// The commands.
    pub then: Vec<Command>,
}

impl Model {
    /// The lines of the stops pane.
    pub fn listed_stops(&self) -> Vec<Listed<'_>> {
        let stops = self.session.stops().iter().map(Listed::Stop);
        stops.chain(self.session.displays().into_iter().map(Listed::Display)).collect()
    }

    /// The newest stop and the newest display.
    fn newest_stops(&self) -> (u64, u64) {
        let stop = self.session.stops().last().map_or(0, |s| s.number);
        (stop, self.session.displays().last().map_or(0, |d| d.number))
    }

    /// Moves the cursor of the stops pane.
    pub(super) fn stop_rows(&mut self, n: i64) {
        let last = self.listed_stops().len().saturating_sub(1);
        let at = (self.stop_cursor.min(last) as u64).saturating_add_signed(n);
        self.stop_cursor = at.min(last as u64) as usize;
    }

    /// The command that enables or disables the selected stop.
    pub(super) fn switch_stop(&self) -> Result<String, &'static str> {
        match self.listed_stops().get(self.stop_cursor) {
            Some(Listed::Stop(s)) if s.enabled => Ok(format!("disable {}", s.number)),
            Some(Listed::Stop(s)) => Ok(format!("enable {}", s.number)),
            Some(Listed::Display(_)) => Err("a display is shown until it is deleted"),
            None => Err("there are no stops"),
        }
    }

    /// The command that deletes the selected stop.
    pub(super) fn delete_stop(&self) -> Result<String, &'static str> {
        match self.listed_stops().get(self.stop_cursor) {
            Some(Listed::Stop(s)) => Ok(format!("delete {}", s.number)),
            Some(Listed::Display(d)) => Ok(format!("undisplay {}", d.number)),
            None => Err("there are no stops"),
        }
    }

    /// The command that sets the selected stop, and what is to follow it when it is entered
    /// changed: its commands go with it, and the old one goes.
    pub(super) fn edit_stop(&self) -> Option<(String, Replaces)> {
        let newest = self.newest_stops();
        Some(match self.listed_stops().get(self.stop_cursor)? {
            Listed::Stop(s) => {
                let block = s.block.clone().map(Attached::Set);
                let block = block.map(|what| Command::Commands { stop: None, what });
                let off = (!s.enabled).then_some(Switch::Off);
                let mut then: Vec<Command> = block.into_iter().collect();
                then.push(Command::Delete(vec![(s.number, s.number)]));
                // It becomes the next number.
                let next = self.session.next_stop_number();
                then.extend(off.map(|switch| Command::Enable(vec![(next, next)], switch)));
                (script::print(&s.command()), Replaces { newest, then })
            }
            Listed::Display(d) => {
                let then = vec![Command::Undisplay(vec![(d.number, d.number)])];
                (script::print(&d.command), Replaces { newest, then })
            }
        })
    }

    /// Whether a stop or a display was set since an edit of one began.
    pub(super) fn is_replaced(&self, by: &Replaces) -> bool {
        let now = self.newest_stops();
        now.0 > by.newest.0 || now.1 > by.newest.1
    }

    /// Goes to what the selected stop is about: selects its slot, queue or instruction; the
    /// command that goes to its event.
    pub(super) fn stop_to_place(&mut self) -> Option<String> {
        let place = match self.listed_stops().get(self.stop_cursor)? {
            Listed::Stop(s) => self.session.stop_place(s),
            Listed::Display(_) => None,
        };
        match place {
            Some(StopPlace::Event(n)) => return Some(format!("goto {n}")),
            Some(StopPlace::Slot(id, dir, slot)) => {
                self.session.select(id);
                self.select_slot(Some(dir), slot);
                self.say(format!("{id} {dir}[{slot}] is selected"), None);
            }
            Some(StopPlace::Queue(id)) => {
                self.session.select(id);
                self.say(format!("{id} is selected"), None);
            }
            Some(StopPlace::Inst(pos)) => self.select_inst(pos),
            None => self.say("it is about no one place that could be shown", None),
        }
        None
    }
}
