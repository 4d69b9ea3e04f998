//! Stops: breakpoints, watchpoints, catchpoints (`docs/stops.md`). They belong to the timeline:
//! an event matches or does not, whichever way the session comes to it.

mod attached;
mod races;
mod stop;
mod target;
mod watch;

pub(super) use races::RaceLine;
pub use stop::{SlotStop, Stop, StopKind, StopPlace, Then};
pub use target::touches;
pub(super) use target::{is_doorbell, slots};
pub use watch::Area;

use super::interest::Interest;
use super::search::{Ended, Pace, Question, Search, Watch as Watching};
use super::{EvalError, Outcome, Prior, Session, eval};
use crate::bir::Pos;
use crate::diag::Diagnostic;
use crate::engine::command::{BlockLine, Numbers, Switch};
use crate::engine::expr::Expr;
use crate::engine::program::QueueId;
use crate::engine::ring::{Event, Machine};
use crate::limits::MAX_STOPS;
use crate::udma::Dir;
use target::Target;

#[cfg(test)]
mod tests;

/// Why the session halts, other than that it came to what it was asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Halt {
    /// Commands of the stops that were hit.
    follow: Vec<BlockLine>,
    /// All of them are silent.
    silent: bool,
}

impl Halt {
    /// Gives an answer the commands to follow, and keeps it from saying anything where all of
    /// the stops are silent.
    pub(super) fn into_outcome(self, out: &mut Outcome) {
        if self.silent {
            out.lines.clear();
            out.halt = out.halt.take().map(|_| String::new());
        }
        out.follow = self.follow;
    }
}

impl Session {
    /// Whether stops need the memory before an event.
    pub fn stops_ask_for_change(&self) -> bool {
        self.stops.iter().any(|s| s.enabled && s.target.asks_for_change())
    }

    /// The events at which the session may stop because of a stop.
    pub(super) fn stops_interest(&self) -> Interest {
        let heeded = self.stops.iter().filter(|s| s.enabled);
        let of = |s: &Stop| Interest::All(vec![s.interest(), Interest::After(s.skip_to)]);
        Interest::Any(heeded.map(of).collect())
    }

    /// Whether a stop matches, leaving its count of hits aside.
    fn matches(
        &self,
        stop: &Stop,
        before: &Prior,
        m: &Machine,
        e: &Event,
    ) -> Result<bool, Diagnostic> {
        Ok(stop.target.stops(self, before, m, e) && self.holds(stop, m)?)
    }

    /// Whether the condition of a stop holds.
    fn holds(&self, stop: &Stop, m: &Machine) -> Result<bool, Diagnostic> {
        let Some(cond) = &stop.cond else { return Ok(true) };
        match eval(self, m, cond) {
            Ok(v) => Ok(v != 0),
            Err(e) if e.is_for_now() => Ok(false),
            Err(e) => {
                let mut d = e.into_diagnostic();
                d.message = format!("the condition of {}: {}", stop.title(), d.message);
                Err(d)
            }
        }
    }

    /// The numbers of the stops at which the session stops at this event.
    ///
    /// # Errors
    /// A stop's condition stands for nothing (S005) or has no value (S006).
    pub fn stops_hit(
        &self,
        before: &Prior,
        m: &Machine,
        e: &Event,
    ) -> Result<Vec<u64>, Diagnostic> {
        let mut hit = Vec::new();
        for stop in &self.stops {
            if stop.enabled && e.n > stop.skip_to && self.matches(stop, before, m, e)? {
                hit.push(stop.number);
            }
        }
        Ok(hit)
    }

    /// Takes the session as halted at the position because of these stops: counts their hits,
    /// and tells of them.
    pub(super) fn halt_at(&mut self, hit: &[u64]) -> String {
        let texts: Vec<String> = hit.iter().filter_map(|n| self.hit_text(*n)).collect();
        let mut halt = Halt { silent: true, ..Halt::default() };
        for n in hit {
            self.count_hit(*n, &mut halt);
        }
        self.halt = Some(halt);
        texts.join("; ")
    }

    /// Counts a hit and does what then becomes of the stop.
    fn count_hit(&mut self, number: u64, halt: &mut Halt) {
        let Some(i) = self.index_of(number) else { return };
        let stop = &mut self.stops[i];
        stop.hits += 1;
        let block = stop.block.as_ref();
        halt.silent &= block.is_some_and(|b| b.silent);
        halt.follow.extend(block.into_iter().flat_map(|b| b.lines.iter().cloned()));
        match stop.then {
            Then::Keep => {}
            Then::Disable => (stop.enabled, stop.then) = (false, Then::Keep),
            Then::Delete => {
                self.stops.remove(i);
            }
        }
    }

    /// A hit of a stop at the position in words.
    fn hit_text(&mut self, number: u64) -> Option<String> {
        let stop = self.stops.get(self.index_of(number)?)?.clone();
        let detail = self.hit_detail(&stop).map(|d| format!(": {d}")).unwrap_or_default();
        Some(format!("{}, {}{detail}", stop.title(), stop.text()))
    }

    /// What else is to be said of a hit.
    fn hit_detail(&mut self, stop: &Stop) -> Option<String> {
        match &stop.target {
            Target::Watch { area, on } => self.values_told(*area, *on),
            Target::Race => self.race_told(),
            _ => None,
        }
    }

    /// The answer of a command that moved: with what its stops say, and their commands.
    pub(super) fn after_move(&mut self, why: String, lines: Vec<String>) -> Outcome {
        let mut out = Outcome { lines, halt: Some(why), ..Outcome::default() };
        out.lines.extend(self.display_lines());
        if let Some(halt) = self.halt.take() {
            halt.into_outcome(&mut out);
        }
        out
    }

    /// Works out what stops need of the whole run up to the position; no where the user breaks
    /// it off.
    pub(super) fn prepare_stops(&mut self, watching: Watching<'_>) -> bool {
        let races = |s: &Stop| s.enabled && s.target == Target::Race;
        !self.stops.iter().any(races) || self.races_up_to(self.machine.n, watching)
    }

    /// Sets a stop.
    pub(super) fn add_stop(
        &mut self,
        kind: StopKind,
        cond: Option<&Expr>,
        (once, after): (bool, u64),
        watching: Watching<'_>,
    ) -> Result<Outcome, Diagnostic> {
        if self.stops.len() >= MAX_STOPS {
            return Err(Diagnostic::new("S003", format!("there are {MAX_STOPS} stops already")));
        }
        let kind = self.pinned(kind);
        let target = self.target(&kind)?;
        if let Some(cond) = cond
            && let Err(e) = eval(self, &self.machine, cond)
            && !e.is_for_now()
        {
            return Err(e.into_diagnostic());
        }
        let given_up = || Ok(Outcome::say("cancelled: no stop was set"));
        if target == Target::Race && !self.races_up_to(self.machine.n, watching) {
            return given_up();
        }
        let mut stop = Stop {
            number: self.next_stop,
            kind,
            cond: cond.cloned(),
            then: if once { Then::Delete } else { Then::Keep },
            after,
            enabled: true,
            hits: 0,
            block: None,
            note: None,
            by_number: false,
            target,
            skip_to: 0,
            passed: 0,
        };
        match self.nth_hit(&stop, watching)? {
            Some(n) => stop.skip_to = n,
            None => return given_up(),
        }
        self.next_stop += 1;
        let place = stop.target.place(self).map(|p| format!(" ({p})")).unwrap_or_default();
        let text = format!("{}: {}{place}", stop.title(), stop.text());
        self.stops.push(stop);
        Ok(Outcome::say(text))
    }

    /// The event of the last hit that is passed over, counted from the start of the run; beyond
    /// the end where there are fewer. Nothing where the user breaks it off.
    fn nth_hit(&mut self, stop: &Stop, watching: Watching<'_>) -> Result<Option<u64>, Diagnostic> {
        let mut left = stop.after;
        if matches!(stop.target, Target::Pass(_) | Target::Reload) {
            return Ok(Some(0));
        }
        let mut m = self.timeline.start().clone();
        let interest = stop.interest();
        let ask: Question<'_, ()> =
            &mut |s, before, m, e| Ok(s.matches(stop, before, m, e)?.then_some(()));
        let (memory, pace) = (stop.target.asks_for_change(), Pace::new(watching, 0));
        let mut search = Search { interest: &interest, ask, memory, pace };
        while left > 0 {
            match self.first_hit(&mut m, u64::MAX, &mut search) {
                Ok(Some(_)) => left -= 1,
                Ok(None) => return Ok(Some(u64::MAX)),
                Err(Ended::Failed(d)) => return Err(*d),
                Err(Ended::Cancelled(_)) => return Ok(None),
            }
        }
        Ok(Some(m.n))
    }

    /// After the run changed behind event `from`: finds its races anew, and counts anew the hits
    /// that stops pass over, where they lie behind it. A condition without a value says so where
    /// it is met.
    pub(super) fn recount(&mut self, from: u64) {
        self.race_line = RaceLine::default();
        for i in 0..self.stops.len() {
            if self.stops[i].after > 0 && self.stops[i].skip_to >= from {
                let stop = self.stops[i].clone();
                let go_on = &mut |_| std::ops::ControlFlow::Continue(());
                self.stops[i].skip_to = self.nth_hit(&stop, go_on).ok().flatten().unwrap_or(0);
            }
        }
    }

    /// Takes up the stops of a session whose program was another.
    pub(super) fn adopt_stops(&mut self, stops: Vec<Stop>) {
        for mut stop in stops {
            stop.target = self.target(&stop.kind).unwrap_or(Target::Gone);
            stop.note = None;
            let go_on = &mut |_| std::ops::ControlFlow::Continue(());
            stop.skip_to = self.nth_hit(&stop, go_on).ok().flatten().unwrap_or(0);
            self.stops.push(stop);
        }
    }

    /// Why something that stops are set at is not in this program; nothing where it is.
    pub(super) fn has_no_place(&self, kind: &StopKind, cond: Option<&Expr>) -> Option<String> {
        if let Err(d) = self.target(kind) {
            return Some(d.message);
        }
        match eval(self, &self.machine, cond?) {
            Err(e) if !e.is_for_now() => {
                Some(format!("its condition: {}", e.into_diagnostic().message))
            }
            _ => None,
        }
    }

    /// Takes up a stop of a session whose program was another; of one that watches bytes whose
    /// address was worked out, these bytes. Where it has no place it waits.
    pub(super) fn take_up(&mut self, mut stop: Stop, area: Option<Area>, watching: Watching<'_>) {
        stop.skip_to = 0;
        stop.target = match self.target(&stop.kind) {
            Ok(Target::Watch { area: own, on }) => Target::Watch { area: area.unwrap_or(own), on },
            Ok(target) => target,
            Err(d) => {
                stop.note.get_or_insert_with(|| format!("pending: {}", d.message));
                Target::Gone
            }
        };
        if stop.note.as_ref().is_some_and(|n| n.starts_with("pending")) {
            stop.target = Target::Gone;
        }
        if stop.target != Target::Gone {
            stop.skip_to = self.nth_hit(&stop, watching).ok().flatten().unwrap_or(0);
        }
        let at = self.stops.partition_point(|s| s.number < stop.number);
        self.stops.insert(at, stop);
    }

    fn index_of(&self, number: u64) -> Option<usize> {
        self.stops.binary_search_by_key(&number, |s| s.number).ok()
    }

    /// Indices of the stops with these numbers, ascending; of all where none is given.
    fn numbered(&self, numbers: &Numbers) -> Result<Vec<usize>, Diagnostic> {
        if numbers.is_empty() {
            return Ok((0..self.stops.len()).collect());
        }
        let mut out = Vec::new();
        for &(first, last) in numbers {
            let from = self.stops.partition_point(|s| s.number < first);
            let to = self.stops.partition_point(|s| s.number <= last);
            if from == to {
                return Err(self.no_stop(first, last));
            }
            out.extend(from..to);
        }
        out.sort_unstable();
        out.dedup();
        Ok(out)
    }

    /// That there is no stop with a number, or none in a range.
    fn no_stop(&self, first: u64, last: u64) -> Diagnostic {
        let text = match first == last {
            true => format!("no stop has the number `{first}`"),
            false => format!("no stop has a number in `{first}-{last}`"),
        };
        Diagnostic::new("S005", text).help(match self.stops.as_slice() {
            [] => "there are no stops".to_owned(),
            _ => "`info breakpoints` lists them".to_owned(),
        })
    }

    /// What was done with the stops at these indices, by their numbers.
    fn named(&self, which: &[usize], done: &str) -> Outcome {
        let all: Vec<&Stop> = which.iter().filter_map(|i| self.stops.get(*i)).collect();
        Outcome::say(match all.as_slice() {
            [] => "there are no stops".to_owned(),
            [one] => format!("{} {done}", one.title()),
            many => {
                let numbers: Vec<String> = many.iter().map(|s| s.number.to_string()).collect();
                format!("stops {} {done}", numbers.join(", "))
            }
        })
    }

    pub(super) fn delete_stops(&mut self, numbers: &Numbers) -> Result<Outcome, Diagnostic> {
        let which = self.numbered(numbers)?;
        let said = self.named(&which, "deleted");
        for i in which.iter().rev() {
            self.stops.remove(*i);
        }
        Ok(said)
    }

    pub(super) fn enable_stops(
        &mut self,
        numbers: &Numbers,
        switch: Switch,
    ) -> Result<Outcome, Diagnostic> {
        let which = self.numbered(numbers)?;
        for i in &which {
            let stop = &mut self.stops[*i];
            stop.enabled = switch != Switch::Off;
            match switch {
                Switch::On | Switch::Off => {}
                Switch::Once => stop.then = Then::Disable,
                Switch::Delete => stop.then = Then::Delete,
            }
        }
        Ok(self.named(
            &which,
            match switch {
                Switch::On => "enabled",
                Switch::Off => "disabled",
                Switch::Once => "enabled until the next hit",
                Switch::Delete => "enabled, and deleted at the next hit",
            },
        ))
    }

    /// The stop that the slot of a ring is marked with: a breakpoint before a watchpoint.
    pub fn stop_on_slot(&self, id: QueueId, dir: Dir, slot: u64) -> Option<SlotStop> {
        let at = |s: &Stop| {
            let watches = s.of_slot(self, id, dir, slot)?;
            Some(SlotStop { number: s.number, watches, enabled: s.enabled })
        };
        let mut all = self.stops.iter().filter_map(at);
        let first = all.next()?;
        Some(if first.watches { all.find(|s| !s.watches).unwrap_or(first) } else { first })
    }

    /// Whether a breakpoint is about an instruction of the loaded module, or about a block by its
    /// queue and its position there; and whether it is heeded.
    pub fn break_on_inst(&self, pos: Option<Pos>, block: Option<(&str, u32)>) -> Option<bool> {
        let run = self.program().module.as_ref()?;
        let block = block.and_then(|(queue, k)| Some((run.queue(queue)?.id, k)));
        let here = self.stops.iter().filter(|s| s.target.is_about(pos, block));
        here.map(|s| s.enabled).max()
    }

    /// The number of the breakpoint at a slot.
    pub fn break_on_slot(&self, id: QueueId, dir: Dir, slot: u64) -> Option<u64> {
        self.stop_on_slot(id, dir, slot).filter(|s| !s.watches).map(|s| s.number)
    }

    /// The number of the watchpoint on the bytes of a slot.
    pub fn watch_on_slot(&self, id: QueueId, dir: Dir, slot: u64) -> Option<u64> {
        let watches = |s: &&Stop| s.of_slot(self, id, dir, slot) == Some(true);
        self.stops.iter().find(watches).map(|s| s.number)
    }

    /// What is not said by how a stop was asked for: addresses, or that there is no such thing.
    pub fn stop_words(&self, stop: &Stop) -> Option<String> {
        stop.target.place(self)
    }

    /// Where a stop can be looked at, if somewhere.
    pub fn stop_place(&self, stop: &Stop) -> Option<StopPlace> {
        match &stop.target {
            Target::Slots { queue, dir, first, .. } => Some(StopPlace::Slot(*queue, *dir, *first)),
            Target::Event(n) => Some(StopPlace::Event(*n)),
            Target::Queue(id) | Target::Doorbell(Some(id)) => Some(StopPlace::Queue(*id)),
            Target::Insts(insts) => insts.first().map(StopPlace::Inst),
            Target::Watch { area, .. } | Target::Bytes(area) => self.slot_of_bytes(*area),
            _ => None,
        }
    }

    /// The slot of a ring in which bytes begin.
    fn slot_of_bytes(&self, area: Area) -> Option<StopPlace> {
        let bytes = crate::udma::DESC_BYTES as u64;
        let rings = self.machine.queues.iter().flat_map(|q| Dir::BOTH.map(|d| (q, d)));
        rings.into_iter().find_map(|(q, dir)| {
            let ring = q.ring(dir);
            let slot = area.addr.checked_sub(ring.base)? / bytes;
            (slot < ring.size).then_some(StopPlace::Slot(q.id(), dir, slot))
        })
    }

    /// The stops, a line each below a heading, their commands below them.
    pub(super) fn info_breakpoints(&self) -> Vec<String> {
        if self.stops.is_empty() {
            return vec!["no breakpoints, watchpoints or catchpoints".to_owned()];
        }
        let mut out = vec![format!("{:<4} {:<10} {:<3} {:>5}  what", "num", "kind", "on", "hits")];
        for s in &self.stops {
            let on = if s.enabled { "yes" } else { "no" };
            let place = s.note.clone().or_else(|| s.target.place(self));
            let place = place.map(|p| format!(" ({p})")).unwrap_or_default();
            out.push(format!(
                "{:<4} {:<10} {on:<3} {:>5}  {}{place}",
                s.number,
                s.kind.name(),
                s.hits,
                s.text()
            ));
            out.extend(s.block.iter().flat_map(attached::lines).map(|l| format!("       {l}")));
        }
        out
    }

    /// The catchpoints of reloads, at one: what is said of those that are hit, and their
    /// commands. A hit that is passed over is counted.
    pub fn reload_caught(&mut self) -> Option<Outcome> {
        let mut hit = Vec::new();
        for i in 0..self.stops.len() {
            let stop = &self.stops[i];
            let here = stop.enabled && stop.target == Target::Reload;
            if !here || !self.holds(stop, &self.machine).unwrap_or(false) {
                continue;
            }
            let stop = &mut self.stops[i];
            if stop.passed < stop.after {
                stop.passed += 1;
            } else {
                hit.push(stop.number);
            }
        }
        if hit.is_empty() {
            return None;
        }
        let why = self.halt_at(&hit);
        Some(self.after_move(why, Vec::new()))
    }

    /// The breakpoints of stages that are passed on the way to a stage: where the way ends, and
    /// why there.
    pub(super) fn stage_stop(
        &mut self,
        way: impl Iterator<Item = usize>,
    ) -> Result<Option<(usize, String)>, Diagnostic> {
        let stages: Vec<(usize, crate::engine::lower::Stage)> = match &self.program().module {
            Some(run) => {
                way.filter_map(|k| Some((k, run.lowered.snapshots.get(k)?.stage))).collect()
            }
            None => return Ok(None),
        };
        for (k, stage) in stages {
            let mut hit = Vec::new();
            for i in 0..self.stops.len() {
                let stop = &self.stops[i];
                let here = stop.enabled && stop.target == Target::Pass(stage);
                if !here || !self.holds(stop, &self.machine)? {
                    continue;
                }
                let stop = &mut self.stops[i];
                if stop.passed < stop.after {
                    stop.passed += 1;
                } else {
                    hit.push(stop.number);
                }
            }
            if !hit.is_empty() {
                return Ok(Some((k, self.halt_at(&hit))));
            }
        }
        Ok(None)
    }

    /// Where an expression that names the marker of a queue says that it lies.
    fn marker_of(&self, q: &crate::engine::expr::QueueRef) -> Result<u64, Diagnostic> {
        let id = super::queue_of(self, q).map_err(EvalError::into_diagnostic)?;
        let queue = self.machine.queue(id);
        Ok(queue.map_or(0, |q| q.marker).wrapping_add(4))
    }
}
