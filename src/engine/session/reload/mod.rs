//! Going on with another program: the files were changed, and the session stays where it is, by
//! what things are and not by their numbers (`docs/reload.md`).
//!
//! What has no place in the new program is not given up. It waits together with the program that
//! it is of, and is looked for again whenever the program is another.

mod edits;
mod insts;
mod map;
mod stops;
mod trace;

pub use map::{EventIs, Map, SlotIs};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;

use super::search::Watch;
use super::stops::StopKind;
use super::{Session, describe_event};
use crate::bir::Pos;
use crate::engine::diff::Change;
use crate::engine::edit::Edit;
use crate::engine::expr::Expr;
use crate::engine::module_run;
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::Machine;
use crate::limits::MAX_RELOAD_MEMORY;
use crate::udma::Dir;
use std::collections::BTreeMap;
use std::sync::Arc;
use trace::Want;

/// What came of going on with another program.
#[derive(Debug)]
pub struct Carried {
    /// The program is the one that it was: nothing is different.
    pub same: bool,
    /// What was kept at another place, what waits, what came back, a line each.
    pub notes: Vec<String>,
    /// How many of those have no place now.
    pub lost: usize,
    map: Option<Map>,
    /// The event at which the session stood.
    from: u64,
}

impl Carried {
    /// Where the descriptor of a slot lies now, as the session stood; the slot of the same number
    /// where there was none. Nothing where it is gone.
    pub fn slot(&self, id: QueueId, dir: Dir, slot: u64) -> Option<(QueueId, u64)> {
        let Some(map) = &self.map else { return Some((id, slot)) };
        match map.slot(id, dir, slot, self.from) {
            SlotIs::Here(id, slot) => Some((id, slot)),
            SlotIs::Empty(id) => Some((id, slot)),
            SlotIs::Gone => None,
        }
    }

    /// The instruction that an instruction of the loaded module is now.
    pub fn inst(&self, pos: Pos) -> Option<Pos> {
        self.map.as_ref().map_or(Some(pos), |m| m.inst(pos))
    }

    /// The event that an event is now, or the nearest before it.
    pub fn event(&self, n: u64) -> u64 {
        self.map.as_ref().map_or(n, |m| m.nearest(n))
    }

    /// The program that was and the one that is, edits included; nothing where they are the same.
    pub fn programs(&self) -> Option<(&Arc<Program>, &Arc<Program>)> {
        self.map.as_ref().map(|m| (m.was(), m.is()))
    }
}

/// What became different by the newest reload, for showing it.
#[derive(Debug, Clone, Default)]
pub(super) struct News {
    /// The event at which the slots are told.
    at: u64,
    slots: BTreeMap<(QueueId, Dir, u64), Change>,
    insts: BTreeMap<Pos, Change>,
    /// What was said of the reload.
    notes: Vec<String>,
}

/// A stop as it was when its place was lost.
#[derive(Debug, Clone)]
struct LostStop {
    kind: StopKind,
    cond: Option<Expr>,
    /// The event at which the session stood, and the queue that was selected.
    at: u64,
    selected: Option<QueueId>,
}

/// A display as it was then.
#[derive(Debug, Clone)]
struct LostShown {
    expr: Expr,
    at: u64,
    selected: Option<QueueId>,
}

/// What of a program has no place in those that came after it.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    /// The program, with its edits.
    of: Arc<Program>,
    stops: BTreeMap<u64, LostStop>,
    displays: BTreeMap<u64, LostShown>,
    marks: BTreeMap<String, u64>,
    edits: Vec<Edit>,
    /// Where the session stood, and where it stands in place of that.
    position: Option<(u64, u64)>,
}

impl Waiting {
    fn new(of: Arc<Program>) -> Waiting {
        Waiting {
            of,
            stops: BTreeMap::new(),
            displays: BTreeMap::new(),
            marks: BTreeMap::new(),
            edits: Vec::new(),
            position: None,
        }
    }

    fn is_empty(&self) -> bool {
        self.stops.is_empty()
            && self.displays.is_empty()
            && self.marks.is_empty()
            && self.edits.is_empty()
            && self.position.is_none()
    }

    /// How much waits, the position apart.
    fn len(&self) -> usize {
        self.stops.len() + self.displays.len() + self.marks.len() + self.edits.len()
    }

    /// How far its program has to be looked at.
    fn want(&self) -> Want {
        let position = self.position.iter().map(|p| p.0);
        let marks = self.marks.values().copied();
        let edits = self.edits.iter().map(|e| e.at);
        let stops = self.stops.values().map(|s| s.at);
        let stops = stops.chain(self.displays.values().map(|s| s.at));
        let event = position.chain(marks).chain(edits).chain(stops).max().unwrap_or(0);
        let mut want = Want { event, ..Want::default() };
        for stop in self.stops.values() {
            stops::want(&self.of, &stop.kind, stop.cond.as_ref(), &mut want);
        }
        self.displays.values().for_each(|d| stops::want_of(&self.of, &d.expr, &mut want));
        edits::want(&self.of, &self.edits, &mut want);
        want
    }
}

impl Session {
    /// Goes on with another program. The session stays at its event, and what the user set stays
    /// at what it was set at; what has no place waits. A program that is the one that was loaded
    /// before changes nothing. `watch` is told of progress; where it breaks off, things are kept
    /// by their numbers.
    pub fn reload(&mut self, loaded: Arc<Program>, watch: Watch<'_>) -> Carried {
        let from = self.machine.n;
        if *loaded == *self.loaded {
            return Carried { same: true, notes: Vec::new(), lost: 0, map: None, from };
        }
        let mut notes = Vec::new();
        let old = self.program().clone();
        let program = self.with_parameters(&loaded, &mut notes);
        let mut lost = Waiting::new(old.clone());
        let mut waiting = std::mem::take(&mut self.waiting);
        for w in &mut waiting {
            // Who moved on does not want to go back.
            w.position = w.position.filter(|p| p.1 == from);
            w.stops.retain(|number, _| self.stops.iter().any(|s| s.number == *number));
            w.displays.retain(|number, _| self.displays.iter().any(|d| d.number == *number));
        }
        let (program, history) =
            self.carry_edits(program, &mut waiting, (&mut lost, &mut notes), watch);
        let map = Map::new(&old, &program, &self.want(&old), watch);
        if map.cancelled() {
            notes.push("broken off: events and slots are kept by their numbers".to_owned());
        }
        let maps: Vec<Map> =
            waiting.iter().map(|w| Map::new(&w.of, &program, &w.want(), watch)).collect();
        if !old.schedule.is_calm() {
            self.found = Some(old.schedule.clone());
            notes.push("the run is calm again; `order replay` follows the order anew".to_owned());
        }
        let to = self.carry_position(from, (&map, &maps), &mut waiting, (&mut lost, &mut notes));
        let marks = self.carry_marks((&map, &maps), &mut waiting, (&mut lost, &mut notes));
        self.carry_displays(from, (&map, &maps), &mut waiting, (&mut lost, &mut notes));
        let stops = std::mem::take(&mut self.stops);
        let expected: Vec<(&'static str, String)> = {
            let found = &self.machine.findings;
            let of = |i: &usize| found.get(*i).map(|d| (d.code, d.message.clone()));
            self.expected.iter().filter_map(of).collect()
        };
        let aborts = std::mem::take(&mut self.expected_aborts);
        let was_selected = self.selected;
        let selected = was_selected.and_then(|id| map.queue(id));
        let stage = self.stage();
        let new = Session::new(program);
        *self = Session {
            selected: selected.or(new.selected),
            next_stop: self.next_stop,
            displays: std::mem::take(&mut self.displays),
            next_display: self.next_display,
            vars: std::mem::take(&mut self.vars),
            examine_next: self.examine_next,
            readings: self.readings,
            found: self.found.take(),
            bound: self.bound,
            params: self.params.take(),
            loaded,
            marks,
            history,
            ..new
        };
        let all = self.program().module.as_ref().map(|run| &run.lowered.snapshots);
        let place = stage.and_then(|s| all?.iter().position(|x| x.stage == s));
        self.stage = place.unwrap_or(0);
        if to > 0 {
            // A run that is shorter ends there.
            let said = self.goto(to, watch).unwrap_or_else(|d| d.message);
            notes.extend(Some(said).filter(|s| !s.is_empty()));
        }
        self.before = self.machine.clone();
        self.expected_aborts = aborts;
        let again = |d: &crate::diag::Diagnostic| {
            expected.iter().any(|(code, text)| d.code == *code && d.message == *text)
        };
        self.expect_those(again);
        let way = stops::Way { map: &map, maps: &maps, from, selected: was_selected };
        self.carry_stops(stops, &way, &mut waiting, (&mut lost, &mut notes), watch);
        let n = lost.len() + usize::from(lost.position.is_some());
        waiting.push(lost);
        waiting.retain(|w| !w.is_empty());
        while waiting.len() > MAX_RELOAD_MEMORY {
            waiting.remove(0);
            notes.push("what waited longest is given up".to_owned());
        }
        self.waiting = waiting;
        self.news = News {
            at: self.machine.n,
            slots: map.slot_news(self.machine.n),
            insts: map.inst_news().0.clone(),
            notes: notes.clone(),
        };
        Carried { same: false, notes, lost: n, map: Some(map), from }
    }

    /// The program with the parameters of its lowering that the user set.
    fn with_parameters(&self, loaded: &Arc<Program>, notes: &mut Vec<String>) -> Arc<Program> {
        let Some(params) = self.params.as_ref().filter(|_| loaded.module.is_some()) else {
            return loaded.clone();
        };
        match module_run::again(loaded, params) {
            Ok(p) => Arc::new(p),
            Err(d) => {
                notes.push(format!("lowered as the command line says: {}", d.message));
                loaded.clone()
            }
        }
    }

    /// How far the program has to be looked at for all that is kept.
    fn want(&self, old: &Program) -> Want {
        let marks = self.marks.values().copied();
        let event = marks.chain([self.machine.n]).max().unwrap_or(0);
        let mut want = Want { event, ..Want::default() };
        for stop in &self.stops {
            stops::want(old, &stop.kind, stop.cond.as_ref(), &mut want);
        }
        self.displays.iter().for_each(|d| stops::want_of(old, &d.expr, &mut want));
        want
    }

    fn carry_position(
        &self,
        from: u64,
        (map, maps): (&Map, &[Map]),
        waiting: &mut [Waiting],
        (lost, notes): (&mut Waiting, &mut Vec<String>),
    ) -> u64 {
        for (w, m) in waiting.iter_mut().zip(maps) {
            let Some((was, _)) = w.position else { continue };
            if let EventIs::Here(n) = m.event(was) {
                w.position = None;
                notes.push(format!("back at the event that the session stood at, now {n}"));
                return n;
            }
        }
        let to = match map.event(from) {
            EventIs::Here(n) => n,
            EventIs::Gone(n) => {
                let what = self.machine.last.map(|e| describe_event(map.was(), &e));
                let what = what.map(|w| format!(" ({w})")).unwrap_or_default();
                notes.push(format!(
                    "event {from}{what} is gone: at event {n}, the nearest before it that is left"
                ));
                n
            }
            EventIs::Beyond => {
                notes.push(format!("event {from} is kept by its number: the run is too long"));
                from
            }
        };
        if matches!(map.event(from), EventIs::Gone(_)) {
            lost.position = Some((from, to));
        }
        // Whoever waits to go back farther goes on waiting, from here.
        for w in waiting {
            w.position = w.position.map(|p| (p.0, to));
        }
        to
    }

    fn carry_marks(
        &self,
        (map, maps): (&Map, &[Map]),
        waiting: &mut [Waiting],
        (lost, notes): (&mut Waiting, &mut Vec<String>),
    ) -> BTreeMap<String, u64> {
        let mut out = BTreeMap::new();
        for (name, n) in &self.marks {
            match map.event(*n) {
                EventIs::Here(to) => drop(out.insert(name.clone(), to)),
                EventIs::Beyond => {
                    notes.push(format!("mark {name} is kept by its number, event {n}"));
                    out.insert(name.clone(), *n);
                }
                EventIs::Gone(_) => {
                    notes.push(format!("mark {name} waits: its event {n} is gone"));
                    lost.marks.insert(name.clone(), *n);
                }
            }
        }
        for (w, m) in waiting.iter_mut().zip(maps) {
            w.marks.retain(|name, n| {
                // One that was set anew has its place.
                if self.marks.contains_key(name) || out.contains_key(name) {
                    return false;
                }
                let EventIs::Here(to) = m.event(*n) else { return true };
                notes.push(format!("mark {name} is back, at event {to}"));
                out.insert(name.clone(), to);
                false
            });
        }
        out
    }

    fn carry_displays(
        &mut self,
        from: u64,
        (map, maps): (&Map, &[Map]),
        waiting: &mut [Waiting],
        (lost, notes): (&mut Waiting, &mut Vec<String>),
    ) {
        let selected = self.selected;
        for d in self.displays.iter_mut().filter(|d| !d.by_number) {
            let again = waiting.iter_mut().zip(maps).find_map(|(w, m)| {
                let l = w.displays.get(&d.number)?;
                let mut expr = l.expr.clone();
                let way = stops::Follow { map: m, from: l.at, selected: l.selected };
                let found = stops::follow(&mut expr, way, &mut d.by_number);
                found.then(|| w.displays.remove(&d.number)).map(|_| expr)
            });
            if let Some(expr) = again {
                notes.push(format!("display {} is back: {expr}", d.number));
                d.expr = expr;
                continue;
            }
            if waiting.iter().any(|w| w.displays.contains_key(&d.number)) {
                continue;
            }
            let mut now = d.expr.clone();
            if !stops::follow(&mut now, stops::Follow { map, from, selected }, &mut d.by_number) {
                let text = "stays at its number: the descriptor that it was set at is gone";
                notes.push(format!("display {}, {}: it {text}", d.number, d.expr));
                let shown = LostShown { expr: d.expr.clone(), at: from, selected };
                lost.displays.insert(d.number, shown);
            } else if d.expr != now {
                notes.push(format!("display {}: {} is {now} now", d.number, d.expr));
                d.expr = now;
            }
        }
    }

    /// What of a slot's descriptor is new since the newest reload, as long as the session has not
    /// moved.
    pub fn slot_news(&self, id: QueueId, dir: Dir, slot: u64) -> Option<Change> {
        let here = self.news.at == self.machine.n;
        here.then(|| self.news.slots.get(&(id, dir, slot)).copied()).flatten()
    }

    /// What of an instruction of the loaded module is new since the newest reload.
    pub fn inst_news(&self, pos: Pos) -> Option<Change> {
        self.news.insts.get(&pos).copied()
    }

    /// How many things wait for a place.
    pub fn pending(&self) -> usize {
        let of = |w: &Waiting| {
            let moved = w.position.is_some_and(|p| p.1 == self.machine.n);
            w.len() + usize::from(moved)
        };
        self.waiting.iter().map(of).sum()
    }

    /// What was said of the newest reload, and what waits.
    pub(super) fn info_reload(&self) -> Vec<String> {
        let mut out = self.news.notes.clone();
        if out.is_empty() {
            out.push("everything that was set is where it was".to_owned());
        }
        for w in &self.waiting {
            for (number, s) in &w.stops {
                out.push(format!("pending: stop {number}, {}", s.kind));
            }
            for (number, d) in &w.displays {
                out.push(format!("pending: display {number}, {}", d.expr));
            }
            for (name, n) in &w.marks {
                out.push(format!("pending: mark {name}, once event {n}"));
            }
            for e in &w.edits {
                out.push(format!("pending: {}, once at event {}", e.change.words(&w.of), e.at));
            }
            if let Some((was, now)) = w.position.filter(|p| p.1 == self.machine.n) {
                out.push(format!("pending: the position, once event {was}, at {now} for now"));
            }
        }
        out
    }
}

/// The state of a program after event `n`, or at its end.
fn state_at(p: &Arc<Program>, n: u64) -> Machine {
    let mut line = super::Timeline::new(p.clone());
    let start = line.start().clone();
    line.state_at(n, &start)
}
