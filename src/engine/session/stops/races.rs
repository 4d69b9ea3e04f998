//! Where races close along a run, for `catch race` (`docs/stops.md`, "Catchpoints"). That an
//! event closes a race is a fact of the run: it is worked out once, from the start on, and
//! looked up whichever way the session moves.

use super::super::{Progress, Session, Watch as Watching};
use crate::diag::{Diagnostic, Severity};
use crate::engine::order::{Checker, Readings};
use crate::engine::program::Program;
use crate::engine::ring::Machine;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The part of a run whose races are known. Clones of a session share it: it is a function of
/// the program and the readings.
#[derive(Debug, Clone, Default)]
pub(in crate::engine::session) struct RaceLine(Arc<Mutex<Option<Known>>>);

/// Up to where, and what.
#[derive(Debug)]
struct Known {
    readings: Readings,
    m: Machine,
    checker: Checker,
    /// Races so far.
    found: u64,
    /// Events that close one.
    events: BTreeSet<u64>,
    /// The event at which a bound was met, and what then is no longer known.
    stopped: Option<u64>,
    /// The run ends here.
    ended: bool,
}

impl Known {
    fn new(p: &Program, start: &Machine, readings: Readings) -> Known {
        Known {
            readings,
            m: start.clone(),
            checker: Checker::new(p, readings),
            found: 0,
            events: BTreeSet::new(),
            stopped: None,
            ended: false,
        }
    }

    /// Looks at the events up to `to`. No where it was broken off.
    fn up_to(&mut self, p: &Program, to: u64, watching: Watching<'_>) -> bool {
        let from = self.m.n;
        while self.m.n < to && self.stopped.is_none() && !self.ended {
            let Some(step) = self.m.step(p) else {
                self.ended = true;
                break;
            };
            self.checker.event(&self.m, &step.event);
            let found = self.checker.found(self.readings);
            if found > self.found {
                self.found = found;
                self.events.insert(step.event.n);
            }
            if self.checker.has_stopped() {
                self.stopped = Some(step.event.n);
            }
            let n = self.m.n;
            if Progress::is_due(n) && watching(Progress { event: n, from }).is_break() {
                return false;
            }
        }
        true
    }
}

impl Session {
    /// The reading of the barriers under which races are caught.
    pub(in crate::engine::session) fn race_readings(&self) -> Readings {
        self.readings()
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        // What another thread left there is a prefix of the truth as well.
        self.race_line.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_races<T>(
        &self,
        to: u64,
        watching: Watching<'_>,
        f: impl FnOnce(&Known, bool) -> T,
    ) -> T {
        let readings = self.race_readings();
        let mut line = self.known();
        if line.as_ref().is_some_and(|k| k.readings != readings) {
            *line = None;
        }
        let p = self.program();
        let known = line.get_or_insert_with(|| Known::new(p, self.timeline.start(), readings));
        let done = known.up_to(p, to, watching);
        f(known, done)
    }

    /// Works out the races up to an event; no where the user breaks it off.
    pub(super) fn races_up_to(&self, to: u64, watching: Watching<'_>) -> bool {
        self.with_races(to, watching, |_, done| done)
    }

    /// Whether an event closes a race, or is the one from which on that is no longer known.
    pub(super) fn closes_race(&self, n: u64) -> bool {
        let go_on = &mut |_| std::ops::ControlFlow::Continue(());
        self.with_races(n, go_on, |k, _| k.events.contains(&n) || k.stopped == Some(n))
    }

    /// What decides which races are told ([`Session::races_here`]), beside program and position.
    pub fn races_asked(&self) -> (Option<Readings>, usize) {
        (self.told_readings(), self.expected_races.len())
    }

    /// The races of the run up to the position that no `expect` named, as the end of a run tells
    /// them. At most `most` events are looked at that were not looked at before; a remark says so
    /// where that does not suffice.
    pub fn races_here(&self, most: u64) -> Vec<Diagnostic> {
        let here = self.machine.n;
        let readings = self.told_readings().unwrap_or(Readings::STRICT);
        let go_on = &mut |_| std::ops::ControlFlow::Continue(());
        let known = self.known().as_ref().map_or(0, |k| k.m.n);
        let to = here.min(known.saturating_add(most));
        self.with_races(to, go_on, |k, _| {
            let mut found = k.checker.so_far(readings);
            // Where the session went back, later ones are known already.
            let all_listed = found.races.last().is_some_and(|r| r.second.event > here);
            found.races.retain(|r| r.second.event <= here);
            found.races.retain(|r| !self.expects_race(r));
            if all_listed || k.m.n > here {
                found.more = 0;
            }
            found.stopped = found.stopped.filter(|d| d.place.event.is_some_and(|n| n <= here));
            let mut out = found.diagnostics(self.program());
            if k.m.n < here && k.stopped.is_none() && !k.ended {
                let n = k.m.n;
                let text = format!("races are looked for up to event {n} only");
                let d = Diagnostic::new("R036", text).severity(Severity::Note);
                out.push(d.help("`info races` looks for all of them up to here"));
            }
            out
        })
    }

    /// The races that the position's event closes, in words.
    pub(super) fn race_told(&self) -> Option<String> {
        let n = self.machine.n;
        let go_on = &mut |_| std::ops::ControlFlow::Continue(());
        self.with_races(n, go_on, |k, _| {
            if k.stopped == Some(n) {
                let why = "a bound of the check is met here: later races are not caught";
                return Some(format!("R036: {why}"));
            }
            let all = k.checker.closed_at(n, k.readings);
            let first = all.first()?;
            let more = match all.len() {
                1 => String::new(),
                n => format!(", and {} more", n - 1),
            };
            let code = first.kind.code();
            Some(format!("{code} {}: {} and {}{more}", first.kind, first.first, first.second))
        })
    }
}
