//! Stops in another program: a slot's follows its descriptor, an instruction's its instruction,
//! an address what lies there. What is gone waits, and says so.

use super::super::Session;
use super::super::search::Watch;
use super::super::stops::{Area, Stop, StopKind};
use super::map::{EventIs, Map, SlotIs};
use super::trace::Want;
use super::{LostStop, Waiting};
use crate::bir::Pos;
use crate::engine::command::{Catch, Loc, Watch as Watchpoint, Watched};
use crate::engine::expr::{Expr, QueueRef};
use crate::engine::module_run::ModuleRun;
use crate::engine::program::{Program, QueueId};
use crate::udma::Dir;

/// The queue that is meant where nothing else is known of a session.
fn meant(p: &Program, q: &QueueRef, selected: Option<QueueId>) -> Option<QueueId> {
    match *q {
        QueueRef::Exact(id) => Some(id),
        QueueRef::Selected => selected.or(p.queues.first().map(|q| q.id)),
        QueueRef::Queue(n) => p.queues.iter().map(|q| q.id).find(|id| id.queue == n),
    }
}

/// Notes the slots that a stop is about, and how far its events lie.
pub(super) fn want(p: &Program, kind: &StopKind, cond: Option<&Expr>, want: &mut Want) {
    cond.into_iter().for_each(|e| want_of(p, e, want));
    match kind {
        StopKind::Watch(Watchpoint { what: Watched::Expr(e), .. }) => want_of(p, e, want),
        StopKind::Break(Loc::Slots { queue, dir, first, last })
        | StopKind::Watch(Watchpoint {
            what: Watched::Slots { queue, dir, first, last }, ..
        }) => {
            let ends = [*first, *last].map(|s| meant(p, queue, None).map(|id| (id, *dir, s)));
            want.slots.extend(ends.into_iter().flatten());
        }
        StopKind::Break(Loc::Event(n)) => want.event = want.event.max(*n),
        // Some event opens the batch; how far away is not known.
        StopKind::Break(Loc::Batch(_)) => want.event = want.event.max(1 << 12),
        _ => {}
    }
}

/// Notes the slots that an expression names.
pub(super) fn want_of(p: &Program, e: &Expr, want: &mut Want) {
    each(e, &mut |e| {
        if let Expr::Slot { queue, dir, index, .. } = e
            && let Expr::Num(slot) = **index
        {
            want.slots.extend(meant(p, queue, None).map(|id| (id, *dir, slot)));
        }
    });
}

/// Shows each part of an expression.
fn each(e: &Expr, see: &mut dyn FnMut(&Expr)) {
    see(e);
    match e {
        Expr::Slot { index, .. } => each(index, see),
        Expr::Mem { addr, .. } => each(addr, see),
        Expr::Reg { offset, .. } => each(offset, see),
        Expr::Unary(_, a) => each(a, see),
        Expr::Binary(_, a, b) => {
            each(a, see);
            each(b, see);
        }
        Expr::Num(_)
        | Expr::Var(_)
        | Expr::Name(_)
        | Expr::Place(_)
        | Expr::Here(_)
        | Expr::Queue { .. } => {}
    }
}

/// Lets the slots of an expression that are named by a number follow their descriptors, and the
/// queues that are named in full follow theirs. False where one of them is gone. `by_number` is
/// set where a slot held nothing that could be followed.
pub(super) fn follow(e: &mut Expr, way: Follow<'_>, by_number: &mut bool) -> bool {
    let queue = |q: &mut QueueRef| way.queue(q).is_ok();
    match e {
        Expr::Slot { queue: q, dir, index, .. } => {
            if let Expr::Num(n) = **index
                && let Some(id) = meant(way.map.was(), q, way.selected)
            {
                match way.map.slot(id, *dir, n, way.from) {
                    SlotIs::Here(_, to) => **index = Expr::Num(to),
                    SlotIs::Empty(_) => *by_number = true,
                    SlotIs::Gone => return false,
                }
                return queue(q);
            }
            queue(q) && follow(index, way, by_number)
        }
        Expr::Queue { queue: q, .. } => queue(q),
        Expr::Reg { queue: q, offset } => queue(q) && follow(offset, way, by_number),
        Expr::Mem { addr, .. } => follow(addr, way, by_number),
        Expr::Unary(_, a) => follow(a, way, by_number),
        Expr::Binary(_, a, b) => {
            let left = follow(a, way, by_number);
            follow(b, way, by_number) && left
        }
        // What has a name keeps it.
        Expr::Num(_) | Expr::Var(_) | Expr::Name(_) | Expr::Place(_) | Expr::Here(_) => true,
    }
}

/// The instruction of a name, where one instruction alone has it.
fn inst_named(run: &ModuleRun, name: &str) -> Option<Pos> {
    let mut found = Vec::new();
    run.lowered.snapshots.first()?.module.visit(&mut |i| {
        if &*i.name == name {
            found.push(i.pos);
        }
    });
    match found.as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}

fn name_of(run: &ModuleRun, pos: Pos) -> Option<String> {
    let mut name = None;
    run.lowered.snapshots.first()?.module.visit(&mut |i| {
        if i.pos == pos && !i.name.is_empty() {
            name = Some(i.name.to_string());
        }
    });
    name
}

/// The name that an instruction has now.
fn renamed(map: &Map, name: &str) -> Option<String> {
    let was = map.was().module.as_ref()?;
    let to = map.inst(inst_named(was, name)?)?;
    name_of(map.is().module.as_ref()?, to)
}

/// The line in which the instructions of a line stand now.
fn line_now(map: &Map, line: u64) -> Option<u64> {
    let (was, is) = (map.was().module.as_ref()?, map.is().module.as_ref()?);
    let of = |run: &ModuleRun, p: Pos| run.line(p);
    let all = (0..was.inst_count() as u32).map(Pos);
    all.filter(|p| of(was, *p) == Some(line)).find_map(|p| of(is, map.inst(p)?))
}

/// A stop at its new place.
struct Placed {
    kind: StopKind,
    cond: Option<Expr>,
    /// What is to be said of the place.
    note: Option<String>,
    /// A slot of it held nothing: it is meant by its number, then and later.
    by_number: bool,
}

/// Why a stop has no place.
type Why = String;

/// By what things are followed: a comparison, and how the session stood.
#[derive(Clone, Copy)]
pub(super) struct Follow<'m> {
    pub map: &'m Map,
    /// The event at which the session stood.
    pub from: u64,
    /// The queue that was selected.
    pub selected: Option<QueueId>,
}

impl Follow<'_> {
    fn queue(&self, q: &mut QueueRef) -> Result<(), Why> {
        if let QueueRef::Exact(id) = q {
            let gone = || format!("queue {id} is gone");
            *id = self.map.queue(*id).ok_or_else(gone)?;
        }
        Ok(())
    }

    /// Slots follow their descriptors; where those are gone they stay, with a note.
    fn slots(
        &self,
        queue: &mut QueueRef,
        dir: Dir,
        (first, last): (&mut u64, &mut u64),
        by_number: &mut bool,
    ) -> Result<Option<String>, Why> {
        let Some(id) = meant(self.map.was(), queue, self.selected) else { return Ok(None) };
        let ends = [*first, *last].map(|s| self.map.slot(id, dir, s, self.from));
        self.queue(queue)?;
        *by_number |= ends.iter().any(|e| matches!(e, SlotIs::Empty(_)));
        let at = |is: SlotIs, slot: u64| match is {
            SlotIs::Here(_, to) => Some(to),
            SlotIs::Empty(_) => Some(slot),
            SlotIs::Gone => None,
        };
        match (at(ends[0], *first), at(ends[1], *last)) {
            (Some(a), Some(b)) if a <= b => {
                (*first, *last) = (a, b);
                Ok(None)
            }
            _ => {
                let text = "it stays at its number: the descriptor that it was set at is gone";
                Ok(Some(text.to_owned()))
            }
        }
    }

    fn loc(&self, loc: &mut Loc, by_number: &mut bool) -> Result<Option<String>, Why> {
        match loc {
            Loc::Slots { queue, dir, first, last } => {
                return self.slots(queue, *dir, (first, last), by_number);
            }
            Loc::Queue(queue) | Loc::Doorbell(Some(queue)) => self.queue(queue)?,
            Loc::Batch(n) => {
                let gone = || format!("batch {n} is gone");
                *n = self.map.batch(*n).ok_or_else(gone)?;
            }
            Loc::Event(n) => match self.map.event(*n) {
                EventIs::Here(to) => *n = to,
                EventIs::Gone(_) => return Err(format!("event {n} is gone")),
                EventIs::Beyond => {}
            },
            Loc::Addr(a) => {
                let gone = || format!("what lay at {a:#x} is gone");
                *a = self.map.address(*a, self.from).ok_or_else(gone)?;
            }
            Loc::Inst(name) | Loc::Name(name) => {
                *name = renamed(self.map, name).unwrap_or_else(|| name.clone());
            }
            Loc::Line(n) if self.map.was().module.is_some() => {
                let gone = || format!("the instruction of line {n} is gone");
                *n = line_now(self.map, *n).ok_or_else(gone)?;
            }
            // A name, and what is so far behind it, stay.
            Loc::Within(..) => {}
            Loc::Line(_) | Loc::Marker | Loc::Doorbell(None) | Loc::Fault | Loc::Pass(_) => {}
        }
        Ok(None)
    }

    fn kind(&self, kind: &mut StopKind, by_number: &mut bool) -> Result<Option<String>, Why> {
        match kind {
            StopKind::Break(loc) => self.loc(loc, by_number),
            StopKind::Catch(Catch::Doorbell(Some(queue))) => self.queue(queue).map(|()| None),
            StopKind::Catch(_) => Ok(None),
            StopKind::Watch(w) => match &mut w.what {
                Watched::Slots { queue, dir, first, last } => {
                    self.slots(queue, *dir, (first, last), by_number)
                }
                Watched::Expr(Expr::Num(a)) => {
                    let gone = || format!("what lay at {a:#x} is gone");
                    *a = self.map.address(*a, self.from).ok_or_else(gone)?;
                    Ok(None)
                }
                Watched::Expr(Expr::Mem { addr, .. }) => {
                    if let Expr::Num(a) = &mut **addr {
                        let gone = || format!("what lay at {a:#x} is gone");
                        *a = self.map.address(*a, self.from).ok_or_else(gone)?;
                    }
                    Ok(None)
                }
                Watched::Expr(Expr::Slot { queue, dir, index, path }) if path.is_empty() => {
                    let Expr::Num(n) = &mut **index else { return Ok(None) };
                    let mut last = *n;
                    self.slots(queue, *dir, (n, &mut last), by_number)
                }
                Watched::Expr(e) => {
                    let all = follow(e, *self, by_number);
                    let gone = || "what it is worked out from is gone".to_owned();
                    if all { Ok(None) } else { Err(gone()) }
                }
                Watched::Name(_) | Watched::Semaphore(_) => Ok(None),
            },
        }
    }

    fn place(&self, kind: &StopKind, cond: Option<&Expr>) -> Result<Placed, Why> {
        let (kind, cond) = (kind.clone(), cond.cloned());
        let mut out = Placed { kind, cond, note: None, by_number: false };
        out.note = self.kind(&mut out.kind, &mut out.by_number)?;
        if let Some(cond) = &mut out.cond
            && !follow(cond, *self, &mut out.by_number)
        {
            return Err("a descriptor that its condition asks about is gone".to_owned());
        }
        Ok(out)
    }
}

/// How stops find their places: the comparison with the program that was, those with programs
/// that are remembered, and how the session stood.
pub(super) struct Way<'m> {
    pub map: &'m Map,
    pub maps: &'m [Map],
    pub from: u64,
    pub selected: Option<QueueId>,
}

impl Session {
    /// Takes up the stops of the session as it was.
    pub(super) fn carry_stops(
        &mut self,
        stops: Vec<Stop>,
        way: &Way<'_>,
        waiting: &mut [Waiting],
        (lost, notes): (&mut Waiting, &mut Vec<String>),
        watch: Watch<'_>,
    ) {
        for mut stop in stops {
            let number = stop.number;
            // One that waits is looked for where it was last.
            let again = waiting.iter_mut().zip(way.maps).find_map(|(w, m)| {
                let l = w.stops.get(&number)?;
                let f = Follow { map: m, from: l.at, selected: l.selected };
                let placed = f.place(&l.kind, l.cond.as_ref()).ok().filter(|p| p.note.is_none())?;
                if self.has_no_place(&placed.kind, placed.cond.as_ref()).is_some() {
                    return None;
                }
                w.stops.remove(&number);
                Some(placed)
            });
            let waits = waiting.iter().any(|w| w.stops.contains_key(&number));
            if let Some(placed) = again {
                (stop.kind, stop.cond, stop.note) = (placed.kind, placed.cond, None);
                notes.push(format!("{} is back: {}", stop.title(), stop.text()));
                self.take_up(stop, None, watch);
            } else if waits || stop.by_number {
                self.take_up(stop, None, watch);
            } else if let Some(l) = self.carry_stop(stop, way, notes, watch) {
                lost.stops.insert(number, l);
            }
        }
    }

    /// Takes up one stop; as it was, where its place is lost.
    fn carry_stop(
        &mut self,
        mut stop: Stop,
        way: &Way<'_>,
        notes: &mut Vec<String>,
        watch: Watch<'_>,
    ) -> Option<LostStop> {
        let before = stop.text();
        let Way { map, from, selected, .. } = *way;
        let was = LostStop { kind: stop.kind.clone(), cond: stop.cond.clone(), at: from, selected };
        let bytes = stop.bytes();
        let placed = Follow { map, from, selected }.place(&stop.kind, stop.cond.as_ref());
        let placed =
            placed.and_then(|p| self.has_no_place(&p.kind, p.cond.as_ref()).map_or(Ok(p), Err));
        match placed {
            Ok(p) => {
                (stop.kind, stop.cond, stop.note) = (p.kind, p.cond, p.note);
                stop.by_number = p.by_number;
                let lost = stop.note.as_ref().map(|note| {
                    notes.push(format!("{}, {before}: {note}", stop.title()));
                    was
                });
                if lost.is_none() && stop.text() != before {
                    notes.push(format!("{}: {before} is {} now", stop.title(), stop.text()));
                }
                let area = bytes.and_then(|a| Some(Area { addr: map.address(a.addr, from)?, ..a }));
                self.take_up(stop, area, watch);
                lost
            }
            Err(why) => {
                notes.push(format!("{} waits: {before}: {why}", stop.title()));
                stop.note = Some(format!("pending: {why}"));
                self.take_up(stop, None, watch);
                Some(was)
            }
        }
    }
}
