//! What orders the units of a module that touch the same bytes: semaphores of triggers, blocks,
//! loops and events, dependencies, barriers.

use super::{Access, Block, ENGINES, Maker, Rng};
use serde_json::{Value, json};

/// What a unit does.
#[derive(Debug, Clone)]
pub enum Core {
    /// One instruction.
    Plain(Value),
    /// A loop.
    Loop(Value),
}

/// Instructions of one engine that stand together.
#[derive(Debug, Clone)]
pub struct Unit {
    engine: usize,
    /// What stands before its core.
    pub before: Vec<Value>,
    core: Core,
    after: Vec<Value>,
    accesses: Vec<Access>,
    /// The block that it fires first, if waits and updates may stand there.
    block: Option<usize>,
    /// For each engine how many of its units are complete when this one is.
    known: [usize; 5],
    /// Its number among those of its engine, from 1.
    number: usize,
    barrier: bool,
    /// A unit with which it shares bytes and is in order already.
    pub beside: Option<usize>,
}

impl Unit {
    pub fn new(engine: usize, core: Core, accesses: Vec<Access>, block: Option<usize>) -> Unit {
        Unit {
            engine,
            before: Vec::new(),
            core,
            after: Vec::new(),
            accesses,
            block,
            known: [0; 5],
            number: 0,
            barrier: false,
            beside: None,
        }
    }

    pub fn instructions(self) -> Vec<Value> {
        let (Core::Plain(core) | Core::Loop(core)) = self.core;
        self.before.into_iter().chain([core]).chain(self.after).collect()
    }

    fn core(&mut self) -> &mut Value {
        let (Core::Plain(v) | Core::Loop(v)) = &mut self.core;
        v
    }

    fn name(&self) -> Option<&str> {
        let (Core::Plain(v) | Core::Loop(v)) = &self.core;
        v["name"].as_str()
    }
}

/// All units so far.
#[derive(Debug, Clone, Default)]
pub struct Order {
    pub units: Vec<Unit>,
    /// For each engine what is complete before its next unit.
    known: [[usize; 5]; 5],
    counts: [usize; 5],
    semaphores: u64,
    /// Those that were raised by instructions only, since they were given back.
    plain: Vec<u64>,
    spare: Vec<u64>,
}

impl Order {
    pub fn semaphore(&mut self) -> u64 {
        self.semaphores += 1;
        self.semaphores
    }

    pub fn barrier(&mut self, inst: Value) {
        let mut u = Unit::new(0, Core::Plain(inst), Vec::new(), None);
        u.barrier = true;
        self.units.push(u);
        self.known = [self.counts; 5];
    }

    /// Semaphores that nobody waits for any more once all engines are here.
    pub fn give_back(&mut self) -> Vec<u64> {
        self.spare.append(&mut self.plain.clone());
        std::mem::take(&mut self.plain)
    }
}

fn join(a: &mut [usize; 5], b: &[usize; 5]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a = (*a).max(*b));
}

fn push(inst: &mut Value, key: &str, what: Value) {
    let list = &mut inst["sync_info"][key];
    match list.as_array_mut() {
        Some(all) => all.push(what),
        None => *list = json!([what]),
    }
}

impl Maker {
    /// Puts a unit behind the others.
    pub(super) fn put(&mut self, mut unit: Unit) {
        let e = unit.engine;
        let mut known = self.order.known[e];
        if let Some(v) = unit.beside {
            // By semaphores of its own.
            let v = &self.order.units[v];
            join(&mut known, &v.known);
        }
        for at in self.earlier(&unit) {
            let v = &self.order.units[at];
            if v.number <= known[v.engine] {
                continue;
            }
            let theirs = v.known;
            self.edge(at, &mut unit);
            join(&mut known, &theirs);
        }
        self.order.counts[e] += 1;
        unit.number = self.order.counts[e];
        known[e] = unit.number;
        unit.known = known;
        self.order.known[e] = known;
        self.order.units.push(unit);
    }

    /// A loop of two engines, which hand data to each other in it.
    pub(super) fn put_both(&mut self, engines: [usize; 2], core: Value, all: [Vec<Access>; 2]) {
        // Each comes there by an event that waits, and leaves by one that others wait for.
        for (e, accesses) in engines.into_iter().zip(&all) {
            let event = self.event(e);
            self.put(Unit::new(e, Core::Plain(event), accesses.clone(), None));
        }
        let n = self.order.units.len();
        self.order.units[n - 2..].iter_mut().for_each(|u| u.accesses.clear());
        let both = Unit::new(0, Core::Plain(core), Vec::new(), None);
        self.order.units.push(Unit { barrier: true, ..both });
        for (e, accesses) in engines.into_iter().zip(all) {
            let event = self.event(e);
            self.put(Unit::new(e, Core::Plain(event), Vec::new(), None));
            if let Some(u) = self.order.units.last_mut() {
                u.accesses = accesses;
            }
        }
    }

    fn event(&mut self, e: usize) -> Value {
        let name = self.own_name();
        json!({"name": name, "opcode": "EventSemaphore", "engine": ENGINES[e], "ins": [],
            "outs": []})
    }

    /// Earlier units of other engines with which it shares bytes, the last first.
    fn earlier(&self, unit: &Unit) -> Vec<usize> {
        let meets = |v: &Unit| {
            v.accesses.iter().any(|a| {
                unit.accesses.iter().any(|b| {
                    a.place == b.place && (a.write || b.write) && a.lo < b.hi && b.lo < a.hi
                })
            })
        };
        let all = self.order.units.iter().enumerate().rev();
        let all = all.filter(|(k, v)| {
            v.engine != unit.engine && !v.barrier && unit.beside != Some(*k) && meets(v)
        });
        all.map(|(k, _)| k).collect()
    }

    /// Lets a unit wait for an earlier one.
    fn edge(&mut self, at: usize, unit: &mut Unit) {
        if self.rng.chance(35) && self.depend(at, unit) {
            return;
        }
        let id = match self.order.spare.pop() {
            Some(id) if self.rng.chance(80) => id,
            _ => self.order.semaphore(),
        };
        // A value above 1 needs as many updates.
        let value = if self.rng.chance(15) { 2 } else { 1 };
        let mut v = self.order.units[at].clone();
        let update = json!({"id": id, "update_value": value});
        let shared = |b: &Block| b.descriptors.is_empty();
        match (v.block, &v.core) {
            (Some(b), Core::Plain(_)) if self.rng.chance(50) && !shared(&self.blocks[b]) => {
                self.blocks[b].updates.push(update);
            }
            (_, Core::Plain(_)) => {
                push(v.core(), "on_update", update);
                self.order.plain.push(id);
            }
            _ => {
                let mut event = self.event(v.engine);
                push(&mut event, "on_update", update);
                v.after.push(event);
                self.order.plain.push(id);
            }
        }
        let from = v.name().map(str::to_owned);
        self.order.units[at] = v;
        let mut wait = json!({"id": id, "wait_value": value});
        if let Some(from) = from.filter(|_| self.rng.chance(50)) {
            wait["from"] = json!(from);
        }
        let alone = self.rng.chance(25);
        match unit.block {
            // Those that fire it again come later.
            Some(b) if self.rng.chance(50) => self.blocks[b].waits.push(wait),
            _ if alone => {
                let mut event = self.event(unit.engine);
                push(&mut event, "on_wait", wait);
                unit.before.insert(0, event);
            }
            _ => push(unit.core(), "on_wait", wait),
        }
    }

    /// By a dependency, where the name means that unit.
    fn depend(&mut self, at: usize, unit: &mut Unit) -> bool {
        let v = &self.order.units[at];
        let mut name = v.name().map(str::to_owned);
        if let Core::Loop(l) = &v.core
            && self.rng.chance(40)
        {
            // The last round of what is last in it is meant.
            name = last_inside(l).map(str::to_owned);
        }
        if let (Some(b), Core::Plain(_)) = (v.block, &v.core)
            && self.own_blocks
            && self.rng.chance(40)
            && self.by_block(at, b, unit)
        {
            return true;
        }
        let Some(name) = name else { return false };
        let between = self.order.units[at + 1..].iter().flat_map(|u| {
            let (Core::Plain(core) | Core::Loop(core)) = &u.core;
            u.before.iter().chain([core]).chain(&u.after)
        });
        if between.map(|i| bearers(i, &name)).sum::<usize>() > 0 {
            return false;
        }
        self.add_dependency(&name, unit);
        true
    }

    /// By the name of the block that an earlier unit fires, or of a descriptor in it.
    fn by_block(&mut self, at: usize, block: usize, unit: &mut Unit) -> bool {
        let mut name = self.blocks[block].name.clone();
        let fires = |u: &Unit| {
            let (Core::Plain(core) | Core::Loop(core)) = &u.core;
            core.to_string().contains(&name)
        };
        if self.order.units[at + 1..].iter().any(fires) || fires(unit) {
            return false;
        }
        if self.rng.chance(30)
            && let Some(d) = self.blocks[block].descriptors.first_mut()
        {
            name = format!("first of {name}");
            d["name"] = json!(name);
        }
        self.blocks[block].free = false;
        self.add_dependency(&name, unit);
        true
    }

    /// At the unit, or at the block that it fires.
    fn add_dependency(&mut self, name: &str, unit: &mut Unit) {
        let one = if self.rng.chance(50) { json!(name) } else { json!([name, "Flow"]) };
        match unit.block {
            Some(b) if self.rng.chance(40) => return self.blocks[b].deps.push(one),
            _ => {}
        }
        let core = unit.core();
        match core["dependencies"].as_array_mut() {
            Some(all) => all.push(one),
            None => core["dependencies"] = json!([one]),
        }
    }
}

fn inside(i: &Value) -> impl Iterator<Item = &Value> {
    let blocks = i["blocks"].as_array().into_iter().flatten();
    blocks.flat_map(|b| b["instructions"].as_array().into_iter().flatten())
}

fn last_inside(i: &Value) -> Option<&str> {
    match inside(i).last() {
        Some(last) => last_inside(last),
        None => i["name"].as_str(),
    }
}

fn bearers(i: &Value, name: &str) -> usize {
    let own = usize::from(i["name"].as_str() == Some(name));
    own + inside(i).map(|i| bearers(i, name)).sum::<usize>()
}

/// Takes waits and dependencies away.
pub(super) fn disorder(v: &mut Value, rng: &mut Rng, percent: u64) {
    match v {
        Value::Object(o) => {
            // One that waits for less goes on too early only where another is ahead of it.
            if let Some(value) = o.get("wait_value").and_then(Value::as_u64)
                && value > 1
                && rng.chance(percent)
            {
                o.insert("wait_value".to_owned(), json!(value - 1));
            }
            for key in ["on_wait", "dependencies"] {
                if o.contains_key(key) && rng.chance(percent) {
                    o.remove(key);
                }
            }
            o.values_mut().for_each(|v| disorder(v, rng, percent));
        }
        Value::Array(all) => all.iter_mut().for_each(|v| disorder(v, rng, percent)),
        _ => {}
    }
}
