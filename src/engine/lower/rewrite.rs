//! One walk over a module's functions that replaces transfers by others, keeps what depends on
//! them right, and gives names that are used nowhere else (`docs/lowering.md`, "Names").

use crate::bir::quick::{QuickMap, QuickSet};
use crate::bir::{Axis, Block, Body, Dep, Function, Inst, Module, Name, Opcode};
use std::collections::VecDeque;
use std::sync::Arc;

/// A container around an instruction.
#[derive(Debug, Clone)]
pub(super) enum Enclosing {
    /// A loop whose iterations are known before the program runs.
    Static(Axis),
    /// A loop whose are not, with its axis where it has one.
    Dynamic(Option<Name>),
}

/// Where an instruction stands.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    /// Function.
    pub(super) function: usize,
    /// Block of the function.
    pub(super) block: usize,
    /// Containers around it, outermost first.
    pub(super) loops: &'a [Enclosing],
    /// Number of the instruction in program order.
    pub(super) order: usize,
    /// The instruction directly before it in its block.
    pub(super) before: Option<usize>,
}

/// What stands in an instruction's place.
#[derive(Debug)]
pub(super) struct Replacement {
    /// Instructions, in order.
    pub(super) insts: Vec<Arc<Inst>>,
    /// What others that depend on the old one depend on now: the last to be complete.
    pub(super) last: Name,
    /// Whom a wait for it names as the one that updates its semaphore.
    pub(super) from: Name,
}

/// Names of instructions, so that new ones are used nowhere else. They are gathered when the
/// first new one is asked for: most passes over most modules make none.
#[derive(Debug)]
pub(super) struct Names {
    module: Arc<Module>,
    of: fn(&Module) -> QuickSet<Name>,
    taken: Option<QuickSet<Name>>,
    next: QuickMap<Name, u64>,
}

impl Names {
    /// All names of a module's instructions.
    pub(super) fn of(module: &Arc<Module>) -> Names {
        let of = |module: &Module| {
            let mut taken = QuickSet::default();
            module.visit(&mut |i| {
                taken.insert(i.name.clone());
            });
            taken
        };
        Names { module: module.clone(), of, taken: None, next: QuickMap::default() }
    }

    /// All names of a module's registers, locations and sets.
    pub(super) fn registers(module: &Arc<Module>) -> Names {
        let of = |module: &Module| {
            let mut taken = QuickSet::default();
            for a in module.functions.iter().flat_map(|f| &f.allocations) {
                taken.insert(a.name.clone());
                taken.extend(a.locations.iter().map(|l| l.name.clone()));
            }
            taken
        };
        Names { module: module.clone(), of, taken: None, next: QuickMap::default() }
    }

    /// Takes a name; false where it is taken.
    fn take(&mut self, name: &Name) -> bool {
        self.taken.get_or_insert_with(|| (self.of)(&self.module)).insert(name.clone())
    }

    /// This name, or the first `<name>_<k>` that is not taken.
    pub(super) fn unique(&mut self, name: &str) -> Name {
        let name = Name::from(name);
        if self.take(&name) { name } else { self.clone_of(&name) }
    }

    /// `<name>_<k>`, k from 0 on, past those that are taken.
    pub(super) fn clone_of(&mut self, name: &Name) -> Name {
        let mut next = self.next.get(name).copied().unwrap_or_default();
        loop {
            let candidate: Name = format!("{name}_{next}").into();
            next += 1;
            if self.take(&candidate) {
                self.next.insert(name.clone(), next);
                return candidate;
            }
        }
    }
}

/// Calls `f` for every transfer in the functions, in program order, and puts what it returns in
/// its place; `None` leaves it. Dependencies and the `from` of waits follow. The same module
/// where nothing is replaced.
pub(super) fn rewrite(
    module: &Arc<Module>,
    f: &mut dyn FnMut(&Arc<Inst>, &Scope<'_>) -> Option<Replacement>,
) -> Arc<Module> {
    let (replaced, names) = (VecDeque::new(), QuickMap::default());
    let mut plan = Plan { replaced, renamed: false, names, order: 0 };
    for (function, x) in module.functions.iter().enumerate() {
        for (block, b) in x.blocks.iter().enumerate() {
            plan.decide(b, function, block, &mut Vec::new(), f);
        }
    }
    if plan.replaced.is_empty() {
        return module.clone();
    }
    if plan.renamed {
        let blocks = || module.functions.iter().flat_map(|x| &x.blocks);
        blocks().for_each(|b| b.visit(&mut |i| plan.meant(i)));
        let mut replaced = std::mem::take(&mut plan.replaced);
        replaced.iter().flat_map(|r| &r.1.insts).for_each(|i| plan.meant(i));
        if !plan.names.is_empty() {
            plan.order = 0;
            let mut left = replaced.make_contiguous() as &[_];
            blocks().for_each(|b| plan.bearers(b, &mut left));
        }
        plan.replaced = replaced;
    }
    plan.order = 0;
    let functions = module.functions.iter().map(|function| Function {
        name: function.name.clone(),
        allocations: function.allocations.clone(),
        blocks: function.blocks.iter().map(|b| plan.build(b)).collect(),
        extra: function.extra.clone(),
    });
    Arc::new(Module {
        version: module.version,
        arch: module.arch,
        functions: functions.collect(),
        queues: module.queues.clone(),
        extra: module.extra.clone(),
    })
}

struct Known {
    order: usize,
    last: Option<(Name, Name)>,
}

struct Plan {
    /// What was replaced, by its number in program order, in that order.
    replaced: VecDeque<(usize, Replacement)>,
    /// Some instruction goes by another name now.
    renamed: bool,
    /// Names that an instruction depends on or waits for; all bearers of each, in order. Most
    /// names are meant by nobody.
    names: QuickMap<Name, Vec<Known>>,
    order: usize,
}

impl Plan {
    fn decide(
        &mut self,
        b: &Block,
        function: usize,
        block: usize,
        loops: &mut Vec<Enclosing>,
        f: &mut dyn FnMut(&Arc<Inst>, &Scope<'_>) -> Option<Replacement>,
    ) {
        let mut before = None;
        for i in &b.insts {
            let order = self.order;
            self.order += 1;
            if i.opcode.is_dma() {
                let scope = Scope { function, block, loops, order, before };
                if let Some(r) = f(i, &scope) {
                    self.renamed |= r.last != i.name || r.from != i.name;
                    self.replaced.push_back((order, r));
                }
            }
            before = Some(order);
            if let Some(e) = enclosing(i) {
                loops.push(e);
                for inner in i.blocks() {
                    self.decide(inner, function, block, loops, f);
                }
                loops.pop();
            }
        }
    }

    /// Notes the names by which an instruction means others.
    fn meant(&mut self, i: &Inst) {
        let deps = i.deps.iter().chain(&i.loop_deps).map(|d| &d.name);
        for name in deps.chain(i.waits.iter().filter_map(|w| w.from.as_ref())) {
            if !self.names.contains_key(name) {
                self.names.insert(name.clone(), Vec::new());
            }
        }
    }

    /// Adds the bearers of names that are meant; `left` are the replacements from here on.
    fn bearers(&mut self, b: &Block, left: &mut &[(usize, Replacement)]) {
        for i in &b.insts {
            let order = self.order;
            self.order += 1;
            let mut last = None;
            if let [(at, r), rest @ ..] = *left
                && *at == order
            {
                *left = rest;
                if r.last != i.name || r.from != i.name {
                    last = Some((r.last.clone(), r.from.clone()));
                }
            }
            if let Some(known) = self.names.get_mut(&i.name) {
                known.push(Known { order, last });
            }
            if enclosing(i).is_some() {
                i.blocks().iter().for_each(|inner| self.bearers(inner, left));
            }
        }
    }

    fn build(&mut self, b: &Block) -> Block {
        let mut insts = Vec::with_capacity(b.insts.len());
        for i in &b.insts {
            let order = self.order;
            self.order += 1;
            if enclosing(i).is_some() {
                let mut new = Inst::clone(i);
                if let Some(blocks) = new.blocks_mut() {
                    for inner in blocks {
                        *inner = self.build(inner);
                    }
                }
                let new = Arc::new(new);
                insts.push(self.rename(&new, order).unwrap_or(new));
                continue;
            }
            let replaced = self.replaced.front().is_some_and(|r| r.0 == order);
            match replaced.then(|| self.replaced.pop_front()).flatten() {
                Some((_, r)) => {
                    for new in r.insts {
                        insts.push(self.rename(&new, order).unwrap_or(new));
                    }
                }
                None => insts.push(self.rename(i, order).unwrap_or_else(|| i.clone())),
            }
        }
        Block { name: b.name.clone(), insts, extra: b.extra.clone() }
    }

    /// What the instruction that `name` meant at `order` goes by now: the nearest earlier one of
    /// that name, or the first later one where there is none earlier.
    fn now(&self, name: &Name, order: usize) -> Option<&(Name, Name)> {
        let known = self.names.get(name)?;
        let after = known.partition_point(|k| k.order < order);
        let meant = after.checked_sub(1).map(|k| &known[k]).or_else(|| known.get(after))?;
        meant.last.as_ref().filter(|_| meant.order != order)
    }

    fn rename(&self, i: &Arc<Inst>, order: usize) -> Option<Arc<Inst>> {
        let dep = |d: &Dep| self.now(&d.name, order).is_some_and(|n| n.0 != d.name);
        let from = |n: &Name| self.now(n, order).is_some_and(|m| m.1 != *n);
        let changes = i.deps.iter().chain(&i.loop_deps).any(dep)
            || i.waits.iter().any(|w| w.from.as_ref().is_some_and(from));
        if !changes {
            return None;
        }
        let mut new = Inst::clone(i);
        for d in new.deps.iter_mut().chain(&mut new.loop_deps) {
            if let Some(n) = self.now(&d.name, order) {
                d.name = n.0.clone();
            }
        }
        for from in new.waits.iter_mut().filter_map(|w| w.from.as_mut()) {
            if let Some(n) = self.now(from, order) {
                *from = n.1.clone();
            }
        }
        Some(Arc::new(new))
    }
}

/// What an instruction is to those that it holds; `None` where it is no loop.
fn enclosing(i: &Inst) -> Option<Enclosing> {
    match &i.body {
        Body::Loop(l) if l.axis.trips().is_none() || l.blocks.iter().any(branches) => {
            Some(Enclosing::Dynamic(Some(l.axis.name.clone())))
        }
        Body::Loop(l) => Some(Enclosing::Static(l.axis.clone())),
        Body::DynamicLoop(l) => Some(Enclosing::Dynamic(Some(l.axis.clone()))),
        Body::DoWhile(_) => Some(Enclosing::Dynamic(None)),
        _ => None,
    }
}

/// Whether a block can be left before its end.
fn branches(b: &Block) -> bool {
    let mut found = false;
    b.visit(&mut |i| {
        found |= matches!(i.opcode, Opcode::CompareAndBranch | Opcode::UnconditionalBranch);
    });
    found
}
