//! Orders other than the calm one: the reading of the barriers, the explorer, schedules, and the
//! races of the run so far (`docs/order.md`).

use super::{Effect, EvalError, Outcome, Progress, Session, queue_of};
use crate::diag::render::place;
use crate::diag::{Diagnostic, Place};
use crate::engine::command::{Loc, Order};
use crate::engine::expr::QueueRef;
use crate::engine::order::explore::{Bound, Verdict, explore};
use crate::engine::order::{Act, Checked, Checker, Race, Readings, Side};
use crate::engine::program::{Program, QueueId};
use crate::engine::schedule::{BarrierEdit, Hold, Schedule};
use crate::limits::{MAX_HOLD_LOOK_AHEAD, MAX_SCHEDULE_LINES};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What a run finds that cannot keep to a hold.
const HELD_IN_VAIN: &str = "R045";

impl Session {
    /// How the barriers are read.
    pub fn readings(&self) -> Readings {
        self.readings.unwrap_or_default()
    }

    /// Reads the barriers in this way from here on, as `order reading` does.
    pub fn read_barriers(&mut self, r: Readings) {
        self.readings = Some(r);
        let mut schedule = self.program().schedule.clone();
        if !schedule.is_calm() && schedule.readings != r {
            schedule.readings = r;
            self.run_in(schedule);
        }
    }

    /// Begins anew with the same program in another order.
    fn run_in(&mut self, schedule: Schedule) {
        let mut program = Program::clone(self.program());
        program.schedule = schedule;
        self.begin_anew(Arc::new(program));
    }

    pub(super) fn order(
        &mut self,
        what: &Order,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Outcome, Diagnostic> {
        match what {
            Order::Show => Ok(Outcome::list(self.order_lines())),
            Order::Explore { bound, file } => self.explore(*bound, file.as_deref(), watch),
            Order::Reading { dmb, sow } => {
                let now = self.readings();
                let r = Readings { dmb: dmb.unwrap_or(now.dmb), sow: sow.unwrap_or(now.sow) };
                self.read_barriers(r);
                Ok(Outcome::say(format!("the barriers are read as {r}")))
            }
            Order::Hold(h) => {
                let hold = Hold { what: self.moment(h.what)?, until: self.moment(h.until)? };
                self.change(|s| {
                    if !s.holds.contains(&hold) {
                        s.holds.push(hold);
                    }
                })
            }
            Order::Barrier(b) => {
                let queue = self.queue_named(b.queue)?;
                let BarrierEdit { k, barrier, on, .. } = *b;
                let edit = BarrierEdit { queue, k, barrier, on };
                self.change(|s| {
                    let same = |o: &BarrierEdit| {
                        (o.queue, o.k, o.barrier) == (edit.queue, edit.k, edit.barrier)
                    };
                    s.barriers.retain(|o| !same(o));
                    s.barriers.push(edit);
                })
            }
            Order::Replay(None) => match self.found.clone() {
                Some(found) => {
                    self.run_in(found);
                    Ok(Outcome::list(self.order_lines()))
                }
                None => {
                    let text = match self.program().schedule.is_calm() {
                        true => "no order was found that could be run in",
                        false => {
                            "`order explore` found none; the order that was set by hand applies already"
                        }
                    };
                    Err(Diagnostic::new("S040", text).help("`order explore` looks for one"))
                }
            },
            // A file is for the caller to read.
            Order::Replay(Some(file)) => {
                let text = format!("`{file}` is read by scripts and by the screen");
                Err(Diagnostic::new("S040", text))
            }
            Order::Calm => {
                let readings = self.readings();
                if !self.program().schedule.is_calm() {
                    self.run_in(Schedule { readings, ..Schedule::default() });
                }
                Ok(Outcome::say("the order is the calm one"))
            }
        }
    }

    fn queue_named(&self, queue: QueueRef) -> Result<QueueId, Diagnostic> {
        queue_of(self, &queue).map_err(EvalError::into_diagnostic)
    }

    fn moment(
        &self,
        x: crate::engine::schedule::Moment<QueueRef>,
    ) -> Result<crate::engine::schedule::Moment, Diagnostic> {
        x.named(|q| self.queue_named(q))
    }

    /// Changes the order; the run begins anew.
    fn change(&mut self, change: impl FnOnce(&mut Schedule)) -> Result<Outcome, Diagnostic> {
        let mut schedule = self.program().schedule.clone();
        schedule.readings = self.readings();
        change(&mut schedule);
        if schedule.holds.len() + schedule.barriers.len() > MAX_SCHEDULE_LINES {
            let text = format!("an order has at most {MAX_SCHEDULE_LINES} lines");
            return Err(Diagnostic::new("S003", text));
        }
        self.run_in(schedule);
        let mut lines = self.order_lines();
        lines.extend(self.hold_trouble());
        Ok(Outcome::list(lines))
    }

    /// Holds that the run cannot keep to, where that shows before long: it is found by running.
    fn hold_trouble(&self) -> Option<String> {
        let p = self.program();
        let mut m = self.timeline.start().clone();
        while m.n < MAX_HOLD_LOOK_AHEAD && m.step(p).is_some() {
            let trouble = m.findings.iter().find(|d| d.code == HELD_IN_VAIN);
            if let Some(d) = trouble {
                return Some(format!("{}[{}] at event {}: {}", d.severity, d.code, m.n, d.message));
            }
        }
        None
    }

    /// The order that the session runs in.
    fn order_lines(&self) -> Vec<String> {
        let schedule = &self.program().schedule;
        let mut out = vec![format!("barriers are read as {}", self.readings())];
        if schedule.is_calm() {
            out.push("the order is the calm one".to_owned());
            return out;
        }
        out.push("the order is calm, but for".to_owned());
        let plain = Schedule { readings: Readings::default(), ..schedule.clone() };
        out.extend(plain.lines().into_iter().map(|l| format!("  order {l}")));
        out
    }

    fn explore(
        &mut self,
        bound: Option<u64>,
        file: Option<&str>,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Outcome, Diagnostic> {
        if !self.can_step() {
            return Err(Diagnostic::new("S010", "the program has nothing to run"));
        }
        let bound = bound.map_or(Bound::default(), |steps| Bound { steps });
        let p = self.program().clone();
        let found =
            explore(&p, self.readings(), bound, &mut |event| watch(Progress { event, from: 0 }));
        let mut out = Outcome::list(found.lines(&p));
        let written = match &found.verdict {
            Verdict::Broken(f) => {
                self.found = Some(f.schedule.clone());
                file.map(|name| (name.to_owned(), f.script(&p)))
            }
            _ => {
                if let Some(file) = file {
                    out.lines.push(format!("`{file}` is not written: there is no order to save"));
                }
                None
            }
        };
        out.effect = written.map(|(file, text)| Effect::Write { file, text });
        Ok(out)
    }

    /// The races of the run up to here, those that hold under a reading.
    pub fn races(&self, readings: Readings) -> Checked {
        let p = self.program();
        let mut checker = Checker::new(p, readings);
        let mut m = self.timeline.start().clone();
        while m.n < self.machine.n && !checker.has_stopped() {
            let Some(step) = m.step(p) else { break };
            checker.event(&m, &step.event);
        }
        checker.finish()
    }

    /// The reading that was asked for, whose races alone are told then.
    pub(super) fn told_readings(&self) -> Option<Readings> {
        self.readings
    }

    /// Whether an `expect` named a race.
    pub(super) fn expects_race(&self, r: &Race) -> bool {
        self.expected_races.contains(&key(r))
    }

    /// The same without those that an `expect` named.
    pub fn races_left(&self) -> Checked {
        let mut checked = self.races(self.readings.unwrap_or(Readings::STRICT));
        checked.races.retain(|r| !self.expects_race(r));
        checked
    }

    /// All races up to here, in words: those of every reading, or those of the one that was
    /// asked for.
    pub(super) fn info_races(&self) -> Vec<String> {
        let found = self.races(self.readings.unwrap_or(Readings::STRICT));
        let found = found.diagnostics(self.program());
        if found.is_empty() {
            let under = match self.readings {
                None => "under every reading".to_owned(),
                Some(r) => format!("under {r}"),
            };
            return vec![format!("every access up to here is ordered, {under}")];
        }
        let mut lines = Vec::new();
        for d in found {
            let at = place(&d.place);
            lines.push(format!("{}[{}] {at}: {}", d.severity, d.code, d.message));
            lines.extend(d.help.map(|h| format!("  {h}")));
        }
        lines
    }

    pub(super) fn expect_race(
        &mut self,
        between: Option<&(Loc, Loc)>,
    ) -> Result<Outcome, Diagnostic> {
        let checked = self.races(self.readings());
        let mut hits = Vec::new();
        for r in &checked.races {
            let hit = match between {
                None => true,
                Some((a, b)) => {
                    let (x, y) = (&r.first, &r.second);
                    self.at(x, a)? && self.at(y, b)? || self.at(x, b)? && self.at(y, a)?
                }
            };
            hits.extend(hit.then(|| key(r)));
        }
        if hits.is_empty() {
            let of = between.map(|(a, b)| format!(" between {a} and {b}")).unwrap_or_default();
            let text = format!("no race{of} up to event {} ({})", self.machine.n, self.readings());
            return Err(Diagnostic::new("S008", text));
        }
        self.expected_races.extend(hits);
        Ok(Outcome::default())
    }

    /// Whether a side of a race is at a place.
    fn at(&self, side: &Side, loc: &Loc) -> Result<bool, Diagnostic> {
        Ok(match loc {
            Loc::Slots { queue, dir, first, last } => {
                let id = queue_of(self, queue).map_err(EvalError::into_diagnostic)?;
                side.slot.is_some_and(|s| {
                    s.queue == Some((id.engine, id.queue))
                        && s.dir == *dir
                        && (*first..=*last).contains(&s.index)
                })
            }
            Loc::Batch(n) => side.batch == *n,
            Loc::Addr(a) => *a >= side.addr && *a - side.addr < side.len,
            Loc::Event(n) => side.event == *n,
            Loc::Marker => side.act == Act::Poll,
            _ => {
                let text = format!("nothing that races is at `{loc}`");
                let d = Diagnostic::new("S003", text).at(Place::default());
                return Err(d.help("a slot, `batch N`, an address, `event N` or `marker`"));
            }
        })
    }
}

fn key(r: &Race) -> (u64, u64) {
    (r.first.event, r.second.event)
}
