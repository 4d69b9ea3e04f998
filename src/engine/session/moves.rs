//! Moving in time: every verb is a question "is this event a place to stop?", asked forwards
//! or backwards.

use super::stops::is_doorbell;
use super::{Outcome, Session, describe_event, eval};
use crate::diag::Diagnostic;
use crate::engine::command::{Command, Goto, Unit, Who, nearest};
use crate::engine::ring::{Agent, Event, EventKind, Machine, Phase};
use crate::udma::Dir;
use std::ops::ControlFlow;

/// How far a long run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The event that it has reached.
    pub event: u64,
    /// Where it began.
    pub from: u64,
}

/// Events between two reports of progress.
const REPORT_EVERY: u64 = 1 << 14;

impl Progress {
    /// Whether it is reported at this event.
    pub(super) fn is_due(n: u64) -> bool {
        n.is_multiple_of(REPORT_EVERY)
    }
}

/// Who is told of the progress of a long run and can cancel it.
pub(super) type Watch<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// The state before an event, as far as a question may need it.
#[derive(Clone, Copy)]
pub(super) struct Prior {
    pub phase: Option<Phase>,
    pub timeouts: u64,
}

impl Prior {
    fn of(m: &Machine) -> Prior {
        Prior { phase: m.phase(), timeouts: m.timeouts() }
    }
}

/// The answer of a question about an event.
type Answer = Result<bool, Diagnostic>;
/// A question about an event: the session, what was before, the state after it, the event.
type Question<'a> = &'a mut dyn FnMut(&Session, Prior, &Machine, &Event) -> Answer;

impl Session {
    pub(super) fn travel(
        &mut self,
        command: &Command,
        watch: Watch<'_>,
    ) -> Result<Outcome, Diagnostic> {
        if !self.can_step() && !matches!(command, Command::Goto(_) | Command::Restart) {
            return Err(Diagnostic::new("S010", "the program has nothing to run"));
        }
        if !self.prepare_stops(watch) {
            return Ok(self.after_move("cancelled".to_owned(), self.where_lines()));
        }
        let before = self.machine.clone();
        let result = self.travel_inner(command, watch);
        if result.is_ok() {
            self.before = before;
        }
        let halt = result?;
        Ok(self.after_move(halt, self.where_lines()))
    }

    fn travel_inner(&mut self, command: &Command, watch: Watch<'_>) -> Result<String, Diagnostic> {
        match command {
            Command::Step { count, unit, who, back } => {
                let (unit, who) = (*unit, *who);
                self.go(*count, *back, watch, &mut |s, prior, m, e| {
                    Ok(is_unit(s, prior, m, e, unit) && acts(e, who))
                })
            }
            Command::Next { count, back } => {
                self.go(*count, *back, watch, &mut |s, prior, m, e| {
                    Ok(is_unit(s, prior, m, e, Unit::Phase))
                })
            }
            Command::Finish { back } => self.go(1, *back, watch, &mut |s, prior, m, e| {
                Ok(is_unit(s, prior, m, e, Unit::Batch))
            }),
            Command::Doorbell { queue, back } => {
                let id = match queue {
                    Some(q) => {
                        Some(super::queue_of(self, q).map_err(super::EvalError::into_diagnostic)?)
                    }
                    None => None,
                };
                self.go(1, *back, watch, &mut |_, _, m, e| Ok(is_doorbell(m, e, id)))
            }
            Command::Until { expr, back } => {
                self.go(1, *back, watch, &mut |s, _, m, _| match eval(s, m, expr) {
                    Ok(v) => Ok(v != 0),
                    Err(e) if e.is_for_now() => Ok(false),
                    Err(e) => Err(e.into_diagnostic()),
                })
            }
            Command::Continue { back } => self.go(1, *back, watch, &mut |_, _, _, _| Ok(false)),
            Command::Goto(Goto::Event(expr)) => {
                let n = self.value(expr)?;
                self.goto(n, watch)
            }
            Command::Goto(Goto::Mark(name)) if name == "end" => self.goto(u64::MAX, watch),
            Command::Goto(Goto::Mark(name)) => match self.marks.get(name) {
                Some(&n) => self.goto(n, watch),
                None => {
                    let d = Diagnostic::new("S005", format!("no mark `{name}`"));
                    Err(d.help(self.marks_near(name)))
                }
            },
            _ => self.goto(0, watch),
        }
    }

    /// To event `n`, or to the end where there are fewer.
    pub(super) fn goto(&mut self, asked: u64, watch: Watch<'_>) -> Result<String, Diagnostic> {
        let (n, from) = (asked, self.machine.n);
        let n = n.min(self.end().unwrap_or(u64::MAX));
        let mut m = self.timeline.base(n, &self.machine);
        while m.n < n {
            if self.timeline.step(&mut m).is_none() {
                break;
            }
            if m.n.is_multiple_of(REPORT_EVERY) && watch(Progress { event: m.n, from }).is_break() {
                // Forwards the session stays where it got to; on the way back it has not moved.
                if m.n > from {
                    self.machine = m;
                }
                return Ok("cancelled".to_owned());
            }
            if m.n < n {
                self.in_bound(m.n, from)?;
            }
        }
        self.machine = m;
        if self.machine.n < asked && asked != u64::MAX {
            return Ok(format!("the run ends at event {}", self.machine.n));
        }
        Ok(String::new())
    }

    /// Refuses to go on where a command has come farther than it may.
    fn in_bound(&self, n: u64, from: u64) -> Result<(), Diagnostic> {
        if n.saturating_sub(from) < self.bound {
            return Ok(());
        }
        let text = format!("given up after {} events: the run goes on", self.bound);
        Err(Diagnostic::new("S030", text).help("go there in smaller steps"))
    }

    /// The marks that a name may have meant, as advice.
    fn marks_near(&self, name: &str) -> String {
        let known: Vec<&str> = self.marks.keys().map(String::as_str).collect();
        let end = "`end` is the end of the run";
        match nearest(name, known.iter().copied().chain(["end"])).as_slice() {
            [] if known.is_empty() => format!("marks: none; {end}"),
            [] => format!("marks: {}; {end}", known.join(", ")),
            near => format!("did you mean `{}`?", near.join("` or `")),
        }
    }

    /// Runs until the question is answered yes `count` times or a stop is hit.
    fn go(
        &mut self,
        count: u64,
        back: bool,
        watch: Watch<'_>,
        ask: Question<'_>,
    ) -> Result<String, Diagnostic> {
        if back { self.go_back(count, watch, ask) } else { self.go_on(count, watch, ask) }
    }

    fn go_on(
        &mut self,
        count: u64,
        watch: Watch<'_>,
        ask: Question<'_>,
    ) -> Result<String, Diagnostic> {
        let from = self.machine.n;
        let mut m = self.machine.clone();
        let mut left = count;
        loop {
            if left == 0 {
                self.machine = m;
                return Ok(String::new());
            }
            let (prior, before) = (Prior::of(&m), self.before_event(&m));
            let Some(step) = self.timeline.step(&mut m) else {
                self.machine = m;
                return Ok("the run is at its end".to_owned());
            };
            let hit = self.stops_hit(&before, &m, &step.event)?;
            if !hit.is_empty() {
                self.machine = m;
                return Ok(self.halt_at(&hit));
            }
            left -= u64::from(ask(self, prior, &m, &step.event)?);
            if m.n.is_multiple_of(REPORT_EVERY) && watch(Progress { event: m.n, from }).is_break() {
                self.machine = m;
                return Ok("cancelled".to_owned());
            }
            if left > 0 {
                self.in_bound(m.n, from)?;
            }
        }
    }

    /// Stops where going forward would have: at the newest event before this one that answers
    /// yes (the `count`-th newest) or that a stop matches; at event 0 where there is none.
    fn go_back(
        &mut self,
        count: u64,
        watch: Watch<'_>,
        ask: Question<'_>,
    ) -> Result<String, Diagnostic> {
        let from = self.machine.n;
        let mut left = count.max(1);
        let mut end = from;
        for start in self.timeline.stretches_before(from) {
            // Events start+1 .. end-1 of this stretch, in order; answers are taken newest first.
            let mut m = self.timeline.state_at(start, &self.machine);
            // With each the stops that match it; none where it is what was asked for.
            let mut hits: Vec<(u64, Vec<u64>)> = Vec::new();
            while m.n + 1 < end {
                let (prior, before) = (Prior::of(&m), self.before_event(&m));
                let Some(step) = self.timeline.step(&mut m) else { break };
                let hit = self.stops_hit(&before, &m, &step.event)?;
                if !hit.is_empty() || ask(self, prior, &m, &step.event)? {
                    hits.push((m.n, hit));
                }
            }
            for (n, hit) in hits.into_iter().rev() {
                left -= 1;
                if !hit.is_empty() || left == 0 {
                    self.machine = self.timeline.state_at(n, &self.machine);
                    return Ok(if hit.is_empty() { String::new() } else { self.halt_at(&hit) });
                }
            }
            end = start + 1;
            if watch(Progress { event: start, from }).is_break() {
                return Ok("cancelled".to_owned());
            }
        }
        self.machine = self.timeline.start().clone();
        Ok("the run is at its start".to_owned())
    }

    /// Where the session stands, in words.
    pub(super) fn where_lines(&self) -> Vec<String> {
        let m = &self.machine;
        let phase = m.phase().map_or("", Phase::name);
        let of = self.end().map(|e| format!(" of {e}")).unwrap_or_default();
        let edited = self.edited_here();
        let mut lines = vec![match m.last {
            Some(e) => format!(
                "event {}{of}, {} us, batch {}{}{phase}: {}: {}",
                e.n,
                e.t_us(),
                e.batch,
                if phase.is_empty() { "" } else { ", " },
                e.agent,
                describe_event(self.program(), &e)
            ),
            None => format!("event 0{of}: nothing has happened yet"),
        }];
        lines.extend(edited);
        if let Some(next) = self.next_event() {
            let text = describe_event(self.program(), &next);
            lines.push(format!("next: {}: {text}", next.agent));
        } else {
            lines.push("next: nothing, the run is at its end".to_owned());
        }
        lines
    }
}

fn acts(e: &Event, who: Who) -> bool {
    match who {
        Who::Any => true,
        Who::Host => e.agent == Agent::Host,
        Who::Engine => matches!(e.agent, Agent::Engine(_)),
        Who::Seq => matches!(e.agent, Agent::Seq(_)),
    }
}

/// Whether an event ends a unit of the selected queue.
fn is_unit(s: &Session, prior: Prior, m: &Machine, e: &Event, unit: Unit) -> bool {
    let mine = s.selected().is_none_or(|q| e.agent == Agent::Engine(q));
    match (unit, e.kind) {
        (Unit::Event, _) => true,
        (Unit::Slot, EventKind::Retire { .. }) => mine,
        (Unit::Packet, EventKind::Retire { packet_end, .. }) => mine && packet_end,
        (Unit::Phase, _) => m.phase() != prior.phase,
        (Unit::Batch, EventKind::Ack { dir: Dir::Tx, queue, .. }) => {
            s.selected().is_none_or(|q| q == queue)
        }
        // A batch that times out has no ack.
        (Unit::Batch, _) => {
            let mine = s.selected().is_none_or(|q| m.cpu().timed_out == Some(q));
            m.timeouts() > prior.timeouts && mine
        }
        _ => false,
    }
}
