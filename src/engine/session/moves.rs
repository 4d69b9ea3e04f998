//! Moving in time: every verb is a question "is this event a place to stop?", asked forwards
//! or backwards.

use super::interest::Interest;
use super::search::{Ended, Hit, Pace, Prior, Question, Search, Watch};
use super::stops::is_doorbell;
use super::{Outcome, Session, describe_event, eval};
use crate::diag::Diagnostic;
use crate::engine::command::{Command, Goto, Unit, Who, nearest};
use crate::engine::ring::{Agent, Event, EventKind, Machine, Phase};
use crate::udma::{Dir, count_of};
use std::ops::ControlFlow;

/// How far a long run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The event that it has reached.
    pub event: u64,
    /// Where it began.
    pub from: u64,
}

/// Events between two reports of progress, where every event is a step.
const REPORT_EVERY: u64 = 1 << 14;

impl Progress {
    /// Whether it is reported at this event.
    pub(super) fn is_due(n: u64) -> bool {
        n.is_multiple_of(REPORT_EVERY)
    }
}

/// A question that is answered by yes or no.
type YesNo<'a> = &'a mut dyn FnMut(&Session, &Prior, &Machine, &Event) -> Result<bool, Diagnostic>;

/// The last event that there can be: an expression beyond it went below 0.
const LAST_EVENT: u64 = u64::MAX >> 1;

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
            Command::Step { count, unit: Unit::Event, who: Who::Any, back } => {
                self.by_events(*count, *back, watch)
            }
            Command::Step { count, back, .. } | Command::Next { count, back } => {
                self.go(*count, *back, watch, command)
            }
            Command::Finish { back }
            | Command::Doorbell { back, .. }
            | Command::Until { back, .. }
            | Command::Continue { back } => self.go(1, *back, watch, command),
            Command::Goto(Goto::Event(expr)) => {
                let n = self.value(expr)?;
                if n > LAST_EVENT {
                    let before = n.wrapping_neg();
                    let text = format!("there is no event -{before}: event 0 is the start");
                    return Err(Diagnostic::new("S006", text));
                }
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

    /// Whether a verb that moves would count an event, stops left aside. Verbs that name an event
    /// count none.
    ///
    /// # Errors
    /// The verb's queue or expression stands for nothing (S005), or has no value (S006).
    pub fn counts_event(
        &self,
        command: &Command,
        prior: &Prior,
        m: &Machine,
        e: &Event,
    ) -> Result<bool, Diagnostic> {
        let unit = |unit| is_unit(self, prior, m, e, unit);
        Ok(match command {
            Command::Step { unit: u, who, .. } => unit(*u) && acts(e, *who),
            Command::Next { .. } => unit(Unit::Phase),
            Command::Finish { .. } => unit(Unit::Batch),
            Command::Doorbell { queue, .. } => {
                let id = queue.as_ref().map(|q| super::queue_of(self, q)).transpose();
                is_doorbell(m, e, id.map_err(super::EvalError::into_diagnostic)?)
            }
            Command::Until { expr, .. } => match eval(self, m, expr) {
                Ok(v) => v != 0,
                Err(e) if e.is_for_now() => false,
                Err(e) => return Err(e.into_diagnostic()),
            },
            _ => false,
        })
    }

    /// To event `n`, or to the end where there are fewer.
    pub(super) fn goto(&mut self, asked: u64, watch: Watch<'_>) -> Result<String, Diagnostic> {
        let (n, from) = (asked, self.machine.n);
        let n = n.min(self.end().unwrap_or(u64::MAX));
        let end = from.saturating_add(self.bound);
        let mut m = self.timeline.base(n, &self.machine);
        let mut pace = Pace::new(watch, from);
        let ran = self.timeline.run_to(&mut m, n.min(end), &mut |m, work| pace.worked(m.n, work));
        if ran.is_break() {
            // Forwards the session stays where it got to; on the way back it has not moved.
            if m.n > from {
                self.stand(m);
            }
            return Ok("cancelled".to_owned());
        }
        if m.n >= end && m.n < n {
            return Err(self.given_up());
        }
        self.stand(m);
        if self.machine.n < asked && asked != u64::MAX {
            return Ok(format!("the run ends at event {}", self.machine.n));
        }
        Ok(String::new())
    }

    /// Runs to the end without moving, so that it is known; as far as a command may go.
    pub(super) fn look_for_end(&mut self, watch: Watch<'_>) {
        let from = self.machine.n;
        let mut m = self.timeline.base(LAST_EVENT, &self.machine);
        let most = from.saturating_add(self.bound);
        let mut pace = Pace::new(watch, from);
        // Broken off, or too far away: it stays unknown, and whoever asks is told so.
        let _ = self.timeline.run_to(&mut m, most, &mut |m, work| pace.worked(m.n, work));
    }

    /// A command has come as far as it may, and the run goes on.
    fn given_up(&self) -> Diagnostic {
        let text = format!("given up after {}: the run goes on", count_of(self.bound, "event"));
        Diagnostic::new("S030", text).help("go there in smaller steps")
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

    /// By `count` events, where no stop says otherwise on the way.
    fn by_events(
        &mut self,
        count: u64,
        back: bool,
        watch: Watch<'_>,
    ) -> Result<String, Diagnostic> {
        let here = self.machine.n;
        let to = match back {
            false => here.saturating_add(count),
            true => here.saturating_sub(count.max(1)),
        };
        if to == here && !back {
            return Ok(String::new());
        }
        self.seek(1, back, watch, Interest::Event(to), &mut |_, _, _, e| Ok(e.n == to))
    }

    /// Until the verb counted `count` events or a stop is hit.
    fn go(
        &mut self,
        count: u64,
        back: bool,
        watch: Watch<'_>,
        verb: &Command,
    ) -> Result<String, Diagnostic> {
        if count == 0 && !back {
            return Ok(String::new());
        }
        let interest = Interest::of_verb(self, verb);
        self.seek(count, back, watch, interest, &mut |s, prior, m, e| {
            s.counts_event(verb, prior, m, e)
        })
    }

    /// Moves until the question is answered yes `count` times or a stop is hit.
    fn seek(
        &mut self,
        count: u64,
        back: bool,
        watch: Watch<'_>,
        interest: Interest,
        ask: YesNo<'_>,
    ) -> Result<String, Diagnostic> {
        let interest = Interest::Any(vec![interest, self.stops_interest()]);
        // The stops that are hit; none where it is what was asked for.
        let ask: Question<'_, Vec<u64>> = &mut |s, prior, m, e| {
            let hit = s.stops_hit(prior, m, e)?;
            if !hit.is_empty() {
                return Ok(Some(hit));
            }
            Ok(ask(s, prior, m, e)?.then_some(Vec::new()))
        };
        let (memory, pace) = (self.stops_ask_for_change(), Pace::new(watch, self.machine.n));
        let mut search = Search { interest: &interest, ask, memory, pace };
        if back { self.go_back(count, &mut search) } else { self.go_on(count, &mut search) }
    }

    fn go_on(
        &mut self,
        count: u64,
        search: &mut Search<'_, Vec<u64>>,
    ) -> Result<String, Diagnostic> {
        let end = self.machine.n.saturating_add(self.bound);
        let mut m = self.machine.clone();
        let mut left = count;
        loop {
            match self.first_hit(&mut m, end, search) {
                Ok(Some(hit)) => {
                    left -= 1;
                    if !hit.answer.is_empty() || left == 0 {
                        return Ok(self.arrive(hit));
                    }
                }
                Ok(None) if m.n >= end => return Err(self.given_up()),
                Ok(None) => {
                    self.stand(m);
                    return Ok("the run is at its end".to_owned());
                }
                Err(Ended::Cancelled(at)) => {
                    self.stand(*at);
                    return Ok("cancelled".to_owned());
                }
                Err(Ended::Failed(d)) => return Err(*d),
            }
        }
    }

    /// Stops where going forward would have: at the newest event before this one that answers
    /// yes (the `count`-th newest) or that a stop matches; at event 0 where there is none.
    fn go_back(
        &mut self,
        count: u64,
        search: &mut Search<'_, Vec<u64>>,
    ) -> Result<String, Diagnostic> {
        let mut left = count.max(1);
        let mut found = None;
        let ended = self.each_back(search, &mut |hit| {
            left -= 1;
            if !hit.answer.is_empty() || left == 0 {
                found = Some(hit);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        match (ended, found) {
            (Err(Ended::Failed(d)), _) => Err(*d),
            (Err(Ended::Cancelled(_)), _) => Ok("cancelled".to_owned()),
            (Ok(_), Some(hit)) => Ok(self.arrive(hit)),
            (Ok(_), None) => {
                self.stand(self.timeline.start().clone());
                Ok("the run is at its start".to_owned())
            }
        }
    }

    /// The position is where an answer was found; in words, where a stop was.
    fn arrive(&mut self, hit: Hit<Vec<u64>>) -> String {
        self.stand(hit.machine);
        if hit.answer.is_empty() { String::new() } else { self.halt_at(&hit.answer) }
    }

    /// The position is where `m` is the state.
    fn stand(&mut self, mut m: Machine) {
        self.timeline.close(&mut m);
        self.machine = m;
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
fn is_unit(s: &Session, prior: &Prior, m: &Machine, e: &Event, unit: Unit) -> bool {
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
            let mine = s.selected().is_none_or(|q| m.cpu().timed_out.is_some_and(|t| t.0 == q));
            m.timeouts() > prior.timeouts && mine
        }
        _ => false,
    }
}
