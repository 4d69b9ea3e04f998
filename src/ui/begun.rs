//! Breakpoints at an event at which an instruction begins: where in a module's text they stand.
//! What lowering added has no name in the file, and is stopped at by such an event
//! (`docs/stops.md`, "On the screen").

use super::model::{LOOK_AHEAD, Model};
use crate::bir::Pos;
use crate::bir::exec::Item;
use crate::engine::command::Loc;
use crate::engine::program::Program;
use crate::engine::ring::EventKind;
use crate::engine::session::{Stop, StopKind};
use crate::load::bir::listing::Listing;
use std::sync::{Arc, Weak};

/// Breakpoints that are looked at.
const MOST: usize = 256;

/// Instructions at whose beginning there is a breakpoint.
#[derive(Debug, Clone, Default)]
pub struct Begun {
    /// The program, and the breakpoints at events, whether each is heeded.
    asked: (Weak<Program>, Vec<(u64, bool)>),
    /// Those at which an instruction begins: of the loaded module, of the one that is run.
    at: Vec<(Pos, Item, bool)>,
}

impl Model {
    /// Finds what begins at the events at which there are breakpoints, where these are others.
    pub(super) fn note_begins(&mut self) {
        let event = |s: &Stop| match s.kind {
            StopKind::Break(Loc::Event(n)) if n <= LOOK_AHEAD => Some((n, s.enabled)),
            _ => None,
        };
        let asked: Vec<_> = self.session.stops().iter().filter_map(event).take(MOST).collect();
        let program = self.session.program().clone();
        let known = &self.source.begun.asked;
        if known.1 == asked && (asked.is_empty() || known.0.as_ptr() == Arc::as_ptr(&program)) {
            return;
        }
        let begins = |&(n, on): &(u64, bool)| {
            let event = self.session.events(n, n + 1).into_iter().next()?;
            match event.kind {
                EventKind::Inst { pos, item } => Some((pos, item, on)),
                _ => None,
            }
        };
        let at = asked.iter().filter_map(begins).collect();
        self.source.begun = Begun { asked: (Arc::downgrade(&program), asked), at };
    }

    /// Whether there is a breakpoint where the instruction on a line begins, and whether it is
    /// heeded.
    pub fn break_at_begin(&self, listing: &Listing, line: usize) -> Option<bool> {
        let stands = |(pos, item, on): &(Pos, Item, bool)| {
            let own = listing.line_of(*item);
            // Before a stage has made it, what it stems from stands for it.
            let of = || listing.first_of(*pos).filter(|_| *pos != Pos::ADDED);
            (own.or_else(of) == Some(line)).then_some(*on)
        };
        self.source.begun.at.iter().filter_map(stands).max()
    }
}
