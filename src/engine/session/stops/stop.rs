//! What a stop is: where, under which condition, how often it was hit, what follows it.

use super::target::Target;
use super::{Area, attached, watch};
use crate::bir::Pos;
use crate::engine::command::{Block, Catch, Command, Loc, Watch, Watched};
use crate::engine::expr::Expr;
use crate::engine::program::QueueId;
use crate::engine::session::Session;
use crate::engine::session::interest::Interest;
use crate::udma::Dir;
use std::fmt;

/// What a session stops at, as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopKind {
    /// A breakpoint at a place.
    Break(Loc),
    /// A watchpoint.
    Watch(Watch),
    /// A catchpoint.
    Catch(Catch),
}

impl StopKind {
    /// What a stop of the kind is called.
    pub fn name(&self) -> &'static str {
        match self {
            StopKind::Break(_) => "breakpoint",
            StopKind::Watch(_) => "watchpoint",
            StopKind::Catch(_) => "catchpoint",
        }
    }
}

impl fmt::Display for StopKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopKind::Break(loc) => write!(f, "{loc}"),
            StopKind::Watch(watch) => write!(f, "{watch}"),
            StopKind::Catch(what) => write!(f, "{what}"),
        }
    }
}

/// What becomes of a stop at its hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Then {
    /// It stays.
    #[default]
    Keep,
    /// It is disabled.
    Disable,
    /// It is deleted.
    Delete,
}

/// A breakpoint, watchpoint or catchpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// Its number; no other stop of the session ever has it.
    pub number: u64,
    /// What it stops at.
    pub kind: StopKind,
    /// Condition.
    pub cond: Option<Expr>,
    /// What becomes of it at its hit.
    pub then: Then,
    /// Hits that are passed over, counted from the start of the run.
    pub after: u64,
    /// Heeded.
    pub enabled: bool,
    /// How often the session stopped at it, whichever way it came.
    pub hits: u64,
    /// Commands that are executed at its hit.
    pub block: Option<Block>,
    /// What is to be said of its place since the program was loaded anew: that it waits for one,
    /// and why.
    pub note: Option<String>,
    /// It is at a slot that held nothing when the program was loaded anew: by its number.
    pub by_number: bool,
    /// What the kind means in this program.
    pub(super) target: Target,
    /// Hits up to this event are passed over.
    pub(super) skip_to: u64,
    /// Of a stage's breakpoint and of a reload's: hits that were passed over.
    pub(super) passed: u64,
}

impl Stop {
    /// What it stops at in words, with its options.
    pub fn text(&self) -> String {
        let mut t = self.kind.to_string();
        if let Some(c) = &self.cond {
            t.push_str(&format!(" if {c}"));
        }
        match self.then {
            Then::Keep => {}
            Then::Disable => t.push_str(", disabled at its hit"),
            Then::Delete => t.push_str(" once"),
        }
        if self.after > 0 {
            t.push_str(&format!(" after {}", self.after));
        }
        t
    }

    /// The command that sets one like it, commands left aside.
    pub fn command(&self) -> Command {
        let (cond, once, after) = (self.cond.clone(), self.then == Then::Delete, self.after);
        match self.kind.clone() {
            StopKind::Break(loc) => Command::Break { loc, cond, once, after },
            StopKind::Watch(watch) => Command::Watch { watch, cond, once, after },
            StopKind::Catch(what) => Command::Catch { what, cond, once, after },
        }
    }

    /// Its commands, a line each.
    pub fn commands(&self) -> Vec<String> {
        self.block.iter().flat_map(attached::lines).collect()
    }

    /// `breakpoint 3`.
    pub fn title(&self) -> String {
        format!("{} {}", self.kind.name(), self.number)
    }

    /// The bytes of a watchpoint whose address was worked out when it was set.
    pub(in crate::engine::session) fn bytes(&self) -> Option<Area> {
        let worked_out = match &self.kind {
            StopKind::Watch(Watch { what: Watched::Expr(e), .. }) => match e {
                Expr::Name(_) | Expr::Queue { .. } | Expr::Num(_) => false,
                Expr::Slot { path, .. } => watch::is_pointer(path),
                _ => true,
            },
            _ => false,
        };
        match self.target {
            Target::Watch { area, .. } if worked_out => Some(area),
            _ => None,
        }
    }

    /// The events that it may match.
    pub(super) fn interest(&self) -> Interest {
        let mut all = vec![self.target.interest()];
        all.extend(self.cond.clone().map(Interest::Holds));
        Interest::All(all)
    }

    /// Whether it is about the slot, and whether it watches it.
    pub(super) fn of_slot(&self, s: &Session, id: QueueId, dir: Dir, slot: u64) -> Option<bool> {
        match self.target {
            Target::Slots { queue, dir: d, first, last } => {
                let here = queue == id && d == dir && (first..=last).contains(&slot);
                here.then_some(false)
            }
            Target::Watch { area, .. } => {
                let ring = s.machine().queue(id)?.ring(dir);
                let at = ring.slot_addr(slot);
                let bytes = crate::udma::DESC_BYTES as u64;
                (slot < ring.size && area.meets((at, bytes))).then_some(true)
            }
            _ => None,
        }
    }
}

/// A stop at a slot, for marking it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotStop {
    /// Its number.
    pub number: u64,
    /// It watches the slot's bytes rather than what happens to the slot.
    pub watches: bool,
    /// Heeded.
    pub enabled: bool,
}

/// Where a stop can be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopPlace {
    /// A slot.
    Slot(QueueId, Dir, u64),
    /// An instruction of the loaded module.
    Inst(Pos),
    /// An event.
    Event(u64),
    /// A queue.
    Queue(QueueId),
}
