//! What keeps units of different engines in order.

use super::pattern::Span;
use crate::bir::{Dep, EdgeKind, Engine, Inst, Name, Opcode, Pos, Update, Wait};
use std::collections::HashMap;

/// A unit that was placed.
pub(super) struct Unit {
    pub engine: Engine,
    pub insts: Vec<Inst>,
    pub accesses: Vec<(Span, bool)>,
    /// For each engine the last unit that is complete before this one is.
    known: HashMap<Engine, usize>,
    /// Semaphore that it raises at its end, and its value then.
    signal: Option<(u64, u64)>,
}

/// How a unit waits for another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// A semaphore of its own, or the counting one of its engine.
    Semaphore,
    /// Its last instruction's name.
    Dependency,
}

/// All units so far.
pub(super) struct Order {
    pub units: Vec<Unit>,
    /// One semaphore for each engine, raised by every unit of it.
    counting: bool,
    next: u64,
    counts: HashMap<Engine, u64>,
    last: HashMap<Engine, usize>,
    /// Units before this one are complete before any later one begins.
    barrier: usize,
}

impl Order {
    pub fn new(counting: bool) -> Order {
        Order {
            units: Vec::new(),
            counting,
            next: 1,
            counts: HashMap::new(),
            last: HashMap::new(),
            barrier: 0,
        }
    }

    /// Everything before is complete before anything after.
    pub fn barrier(&mut self, inst: Inst) {
        self.units.push(Unit {
            engine: Engine::All,
            insts: vec![inst],
            accesses: Vec::new(),
            known: HashMap::new(),
            signal: None,
        });
        self.barrier = self.units.len();
    }

    /// Adds a unit after all earlier ones that it must not run beside.
    pub fn add(
        &mut self,
        engine: Engine,
        insts: Vec<Inst>,
        accesses: Vec<(Span, bool)>,
        name: &mut dyn FnMut() -> Name,
        by: &mut dyn FnMut() -> By,
    ) {
        let mut unit = Unit { engine, insts, accesses, known: HashMap::new(), signal: None };
        if let Some(before) = self.last.get(&engine) {
            unit.known.clone_from(&self.units[*before].known);
            unit.known.insert(engine, *before);
        }
        // The last one of each engine is enough: it runs its own in order.
        for at in (self.barrier..self.units.len()).rev() {
            let other = &self.units[at];
            let known = unit.known.get(&other.engine).is_some_and(|k| *k >= at);
            if other.engine == engine || known || !meet(&unit.accesses, &other.accesses) {
                continue;
            }
            let from = other.engine;
            let further: Vec<(Engine, usize)> =
                other.known.iter().map(|(e, k)| (*e, *k)).chain([(from, at)]).collect();
            self.wait(&mut unit, at, name, by());
            for (e, k) in further {
                let known = unit.known.entry(e).or_insert(k);
                *known = k.max(*known);
            }
        }
        if self.counting {
            self.signal(&mut unit, name);
        }
        self.last.insert(engine, self.units.len());
        self.units.push(unit);
    }

    fn wait(&mut self, unit: &mut Unit, on: usize, name: &mut dyn FnMut() -> Name, by: By) {
        let plain = unit.insts.first().is_some_and(|i| i.engine == unit.engine);
        if !plain {
            // A loop waits through what stands before it.
            unit.insts.insert(0, event(unit.engine, name()));
        }
        let last = self.units[on].insts.last();
        let named = last.filter(|i| i.engine == self.units[on].engine).map(|i| i.name.clone());
        if let (By::Dependency, Some(name)) = (by, named) {
            unit.insts[0].deps.push(Dep { name, kind: EdgeKind::Flow });
            return;
        }
        if self.units[on].signal.is_none() {
            // Out and in again: the unit cannot be changed while the counters are.
            let mut other = std::mem::replace(&mut self.units[on], Unit::nothing());
            self.signal(&mut other, name);
            self.units[on] = other;
        }
        let from = self.units[on].insts.last().map(|i| i.name.clone());
        if let Some((id, value)) = self.units[on].signal {
            unit.insts[0].waits.push(Wait { from, id, value, extra: Vec::new() });
        }
    }

    /// Gives a unit an update at its end.
    fn signal(&mut self, unit: &mut Unit, name: &mut dyn FnMut() -> Name) {
        let (id, value) = if self.counting {
            let n = self.counts.entry(unit.engine).or_insert(0);
            *n += 1;
            (200 + u64::from(unit.engine.number()), *n)
        } else {
            self.next += 1;
            (self.next - 1, 1)
        };
        let plain = unit.insts.last().is_some_and(|i| i.engine == unit.engine);
        if !plain {
            unit.insts.push(event(unit.engine, name()));
        }
        if let Some(last) = unit.insts.last_mut() {
            last.updates.push(Update { id, value: 1, extra: Vec::new() });
        }
        unit.signal = Some((id, value));
    }
}

impl Unit {
    fn nothing() -> Unit {
        Unit {
            engine: Engine::Unassigned,
            insts: Vec::new(),
            accesses: Vec::new(),
            known: HashMap::new(),
            signal: None,
        }
    }
}

fn event(engine: Engine, name: Name) -> Inst {
    Inst::new(Pos(0), &name, Opcode::EventSemaphore, engine)
}

fn meet(a: &[(Span, bool)], b: &[(Span, bool)]) -> bool {
    a.iter().any(|(x, w)| b.iter().any(|(y, v)| (*w || *v) && x.lo < y.hi && y.lo < x.hi))
}
