//! Whether every name in a module names something, and no name two things of one kind
//! (`docs/bir.md`, "Names"). Names of instructions may repeat.

use super::names::Quick;
use super::spans::{Named, Spans};
use crate::bir::{
    At, Block, Body, Expr, Finding, Function, Inst, Module, Name, Operand, OperandKind, Part,
    Pattern, Queue, Reference, StorageKind, Trigger,
};
use crate::diag::Diagnostic;
use crate::limits::MAX_DIAGNOSTICS;
use std::collections::{HashMap, HashSet};

/// Everything that is wrong with the names of a module, with places: B020 to B030.
pub fn resolve(module: &Module, spans: &Spans) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    repeated(module, spans, &mut out);
    out.extend(unresolved(module).iter().map(|f| spans.diagnostic(f)));
    out
}

/// Names that name nothing: B020 to B027. Needs no file, so that it also holds for a module
/// that a pass made.
pub fn unresolved(module: &Module) -> Vec<Finding> {
    let mut names = Names::default();
    for f in &module.functions {
        for a in &f.allocations {
            match a.storage {
                StorageKind::Register => {
                    names.registers.insert(&a.name);
                }
                _ => {
                    names.sets.insert(&a.name, a.locations.len());
                }
            }
            names.locations.extend(a.locations.iter().map(|l| &*l.name));
        }
    }
    for q in &module.queues {
        let blocks = q.dma_blocks().map(|b| &*b.name).collect();
        names.queues.insert(&q.name, blocks);
    }
    // Those that are depended on; most are by nobody.
    let mut meant: HashSet<&str, Quick> = HashSet::default();
    for b in blocks_of(module) {
        insts_of(b, &mut |i| {
            meant.extend(i.deps.iter().chain(&i.loop_deps).map(|d| &*d.name));
        });
    }
    for b in blocks_of(module).filter(|_| !meant.is_empty()) {
        insts_of(b, &mut |i| {
            if meant.contains(&*i.name) {
                names.insts.insert(&i.name);
            }
        });
    }
    let mut c = Checker {
        names,
        axes: Vec::new(),
        fired: HashMap::default(),
        targets: HashSet::default(),
        out: Vec::new(),
    };
    for f in &module.functions {
        c.function(f);
    }
    c.targets.clear();
    for q in &module.queues {
        for i in q.blocks.iter().flat_map(|b| &b.insts) {
            // Descriptors may depend on the axes around their triggers.
            c.axes = c.fired.get(&(&*q.name, &*i.name)).cloned().unwrap_or_default();
            c.inst(i);
        }
    }
    c.out
}

fn blocks_of(m: &Module) -> impl Iterator<Item = &Block> {
    let own = m.functions.iter().flat_map(|f| &f.blocks);
    own.chain(m.queues.iter().flat_map(|q| &q.blocks))
}

fn insts_of<'m>(b: &'m Block, f: &mut dyn FnMut(&'m Inst)) {
    for i in &b.insts {
        f(i);
        for b in i.blocks() {
            insts_of(b, f);
        }
    }
}

#[derive(Default)]
struct Names<'m> {
    locations: HashSet<&'m str, Quick>,
    /// Sets, and how many locations each has.
    sets: HashMap<&'m str, usize, Quick>,
    registers: HashSet<&'m str, Quick>,
    queues: HashMap<&'m str, HashSet<&'m str, Quick>, Quick>,
    insts: HashSet<&'m str, Quick>,
}

struct Checker<'m> {
    names: Names<'m>,
    /// Axes of the loops around, outermost first.
    axes: Vec<&'m str>,
    /// Axes that all triggers of a block have around them, by queue and block.
    fired: HashMap<(&'m str, &'m str), Vec<&'m str>, Quick>,
    /// Blocks of the function.
    targets: HashSet<&'m str, Quick>,
    out: Vec<Finding>,
}

impl<'m> Checker<'m> {
    fn say(&mut self, code: &'static str, i: &Inst, part: Part, message: String) {
        if self.out.len() < MAX_DIAGNOSTICS {
            self.out.push(Finding::new(code, At::Inst(i.pos, part), message));
        }
    }

    fn function(&mut self, f: &'m Function) {
        self.targets = f.blocks.iter().filter_map(|b| b.name.as_deref()).collect();
        self.blocks(&f.blocks);
    }

    fn blocks(&mut self, blocks: &'m [Block]) {
        // Nesting is bounded where a module is read.
        for i in blocks.iter().flat_map(|b| &b.insts) {
            self.inst(i);
        }
    }

    fn inst(&mut self, i: &'m Inst) {
        for (key, deps) in [("dependencies", &i.deps), ("loop_carried_dependencies", &i.loop_deps)]
        {
            for d in deps.iter().filter(|d| !self.names.insts.contains(&*d.name)) {
                let why = format!("no instruction `{}` to depend on", d.name);
                if self.out.len() < MAX_DIAGNOSTICS {
                    self.out.push(Finding::new("B027", At::Inst(i.pos, Part::Key(key)), why));
                }
            }
        }
        for (n, o) in i.ins.iter().enumerate() {
            self.operand(i, o, Part::In(n as u32));
        }
        for (n, o) in i.outs.iter().enumerate() {
            self.operand(i, o, Part::Out(n as u32));
        }
        match &i.body {
            Body::Dma(d) => {
                self.queue(i, d.queue.as_deref());
            }
            Body::Trigger(t) => self.trigger(i, t),
            Body::Branch(b) => {
                let targets = [("on_true", &b.on_true), ("on_false", &b.on_false)];
                for (key, target) in targets {
                    if let Some(name) = target {
                        self.target(i, key, name);
                    }
                }
            }
            Body::Jump(name) => self.target(i, "target", name),
            Body::Loop(l) => return self.body(&l.axis.name, &l.blocks),
            Body::DynamicLoop(l) => {
                for (key, e) in [("lb", &l.lb), ("ub", &l.ub), ("stride", &l.stride)] {
                    self.expr(i, Part::Key(key), e);
                }
                return self.body(&l.axis, &l.blocks);
            }
            Body::DoWhile(l) => self.expr(i, Part::Key("cond"), &l.cond),
            _ => {}
        }
        self.blocks(i.blocks());
    }

    fn body(&mut self, axis: &'m str, blocks: &'m [Block]) {
        self.axes.push(axis);
        self.blocks(blocks);
        self.axes.pop();
    }

    fn trigger(&mut self, i: &Inst, t: &'m Trigger) {
        if let Some(queue) = t.queue.as_deref()
            && let Some(known) = self.names.queues.get(queue)
        {
            for name in t.dma_blocks.iter().filter(|b| known.contains(&***b)) {
                let axes = self.fired.entry((queue, name)).or_insert_with(|| self.axes.clone());
                axes.retain(|a| self.axes.contains(a));
            }
        }
        if self.queue(i, t.queue.as_deref()) {
            for name in &t.dma_blocks {
                self.dma_block(i, t.queue.as_deref(), name);
            }
        }
    }

    /// Whether the queue is one whose blocks are known.
    fn queue(&mut self, i: &Inst, name: Option<&str>) -> bool {
        // Files of the front end list no queues.
        let (Some(name), false) = (name, self.names.queues.is_empty()) else {
            return name.is_none();
        };
        let known = self.names.queues.contains_key(name);
        if !known {
            let why = format!("`{}` uses the queue `{name}`, which is not listed", i.name);
            self.say("B022", i, Part::Key("queue"), why);
        }
        known
    }

    fn dma_block(&mut self, i: &Inst, queue: Option<&str>, name: &str) {
        let found = match queue.and_then(|q| self.names.queues.get(q)) {
            Some(blocks) => blocks.contains(name),
            None => self.names.queues.values().any(|b| b.contains(name)),
        };
        if !found {
            let who = match queue {
                Some(q) => format!("the queue `{q}` does not have"),
                None => "no queue has".to_owned(),
            };
            let why = format!("`{}` triggers the block `{name}`, which {who}", i.name);
            self.say("B023", i, Part::Key("dma_blocks"), why);
        }
    }

    fn target(&mut self, i: &Inst, key: &'static str, name: &str) {
        if !self.targets.contains(name) {
            let why = format!("`{}` goes to the block `{name}`, which does not exist", i.name);
            self.say("B024", i, Part::Key(key), why);
        }
    }

    fn register(&mut self, i: &Inst, part: Part, name: &str) {
        if !self.names.registers.contains(name) {
            self.say("B025", i, part, format!("no register `{name}`"));
        }
    }

    fn operand(&mut self, i: &Inst, o: &'m Operand, part: Part) {
        match &o.kind {
            OperandKind::Register(name) => self.register(i, part, name),
            OperandKind::Pattern(p) => self.pattern(i, p, part),
            OperandKind::Imm(_) | OperandKind::Other(_) => {}
        }
    }

    fn pattern(&mut self, i: &Inst, p: &'m Pattern, part: Part) {
        match (&p.location, &p.set) {
            (Some(l), _) if !self.names.locations.contains(&**l) => {
                self.say("B020", i, part, format!("no memory location `{l}`"));
            }
            (None, Some(s)) => match self.names.sets.get(&**s) {
                // Some files name only the location of a set, by its set's usual name.
                None if s
                    .strip_suffix("_set")
                    .is_some_and(|l| self.names.locations.contains(l)) => {}
                None => self.say("B021", i, part, format!("no set `{s}`")),
                Some(0) if !i.is_opaque() => {
                    self.say("B021", i, part, format!("the set `{s}` has no location"));
                }
                Some(_) => {}
            },
            _ => {}
        }
        if let Some(e) = &p.start {
            self.expr(i, part, e);
        }
        match &p.reference {
            Some(Reference::Register { register, .. }) => self.register(i, part, register),
            Some(Reference::Index { list, .. }) => self.operand(i, list, part),
            None => {}
        }
    }

    fn expr(&mut self, i: &Inst, part: Part, e: &'m Expr) {
        let mut axes = Vec::new();
        let mut registers = Vec::new();
        e.visit(&mut |e| match e {
            Expr::Axis(n) => axes.push(n.clone()),
            Expr::Register(n) => registers.push(n.clone()),
            _ => {}
        });
        for n in axes {
            if !self.axes.contains(&&*n) {
                self.say("B026", i, part, format!("no loop with the axis `{n}` around here"));
            }
        }
        for n in registers {
            self.register(i, part, &n);
        }
    }
}

/// Names given twice: B030 at the second, with the first as a label.
fn repeated(m: &Module, spans: &Spans, out: &mut Vec<Diagnostic>) {
    let mut check = |kind, what: &str, names: &mut dyn Iterator<Item = &Name>| {
        let mut seen: HashMap<&Name, usize> = HashMap::new();
        for name in names.filter(|n| !n.is_empty()) {
            let times = seen.entry(name).or_default();
            *times += 1;
            if *times > 1 && out.len() < MAX_DIAGNOSTICS {
                let places = spans.all(kind, name);
                let at = |n: usize| places.get(n).copied().map(|s| spans.origin.place(s));
                let mut d = Diagnostic::new("B030", format!("a second {what} named `{name}`"));
                d.place = at(*times - 1).or_else(|| at(0)).unwrap_or_default();
                if let Some(first) = at(0) {
                    d = d.label(first, "the first one");
                }
                out.push(d);
            }
        }
    };
    let allocations = || m.functions.iter().flat_map(|f| &f.allocations);
    check(Named::Set, "set or register", &mut allocations().map(|a| &a.name));
    check(Named::Location, "memory location", &mut m.locations().map(|(_, l)| &l.name));
    check(Named::Queue, "queue", &mut m.queues.iter().map(|q| &q.name));
    for q in &m.queues {
        dma_blocks(q, spans, out);
    }
}

fn twice(place: crate::diag::Place, what: &str, name: &str) -> Diagnostic {
    Diagnostic::new("B030", format!("a second {what} named `{name}`")).at(place)
}

/// DMA blocks are named within their queue.
fn dma_blocks(q: &Queue, spans: &Spans, out: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<&str, &Inst, Quick> = HashMap::default();
    for b in q.dma_blocks().filter(|b| matches!(b.body, Body::DmaBlock(_))) {
        if let Some(first) = seen.insert(&b.name, b)
            && out.len() < MAX_DIAGNOSTICS
        {
            let at = |i: &Inst| spans.place(&At::Inst(i.pos, Part::Whole));
            let d = twice(at(b), &format!("block of the queue `{}`", q.name), &b.name);
            out.push(d.label(at(first), "the first one"));
        }
    }
}
