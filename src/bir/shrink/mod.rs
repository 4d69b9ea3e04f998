//! A smaller module with the same fault (`docs/verify.md`, "Generated modules").
//!
//! Greedy: one change after the other is tried, coarse ones first, and kept where the predicate
//! still holds, until none helps. Every change makes the module lighter ([`weight`]), so that the
//! search ends; what it costs is bounded by [`MAX_SHRINK_STEPS`].

mod simpler;

#[cfg(test)]
mod tests;

use super::enums::{DgeType, Mode};
use super::expr::Expr;
use super::generate::number;
use super::module::{
    Block, Body, Form, Inst, Module, OperandKind, Pattern, Reference, StorageKind,
};
use super::{Name, Operand};
use crate::limits::MAX_SHRINK_STEPS;
use std::collections::HashSet;
use std::sync::Arc;

/// The lightest module found for which `holds` is true. `module` itself, with its instructions
/// numbered as a loader would, where nothing lighter is found or `holds` is false for it.
pub fn shrink(module: &Module, holds: &mut dyn FnMut(&Module) -> bool) -> Module {
    let mut best = module.clone();
    number(&mut best);
    let mut s = Search { weight: weight(&best), best, steps: 0, holds };
    if !(s.holds)(&s.best) {
        return s.best;
    }
    loop {
        let before = s.weight;
        s.instructions();
        s.tidy();
        s.details();
        if s.weight == before || s.spent() {
            return s.best;
        }
    }
}

/// How much there is of a module: what shrinking makes less of.
pub fn weight(module: &Module) -> u64 {
    let mut w = 64 * (module.functions.len() + module.queues.len()) as u64;
    let blocks = module.functions.iter().flat_map(|f| &f.blocks);
    w += blocks.chain(module.queues.iter().flat_map(|q| &q.blocks)).map(|_| 8).sum::<u64>();
    for f in &module.functions {
        w += f.allocations.iter().map(|a| 8 + 8 * a.locations.len() as u64).sum::<u64>();
    }
    module.visit(&mut |i| w += weigh(i));
    w
}

/// Bits of a number: what a smaller one is worth.
fn bits(n: i64) -> u64 {
    let n = n.unsigned_abs();
    u64::from(64 - n.leading_zeros()).saturating_mul(8) + n.min(7)
}

fn weigh(i: &Inst) -> u64 {
    let mut w = 512;
    let lists = i.deps.len() + i.loop_deps.len() + i.waits.len() + i.updates.len();
    w += 16 * (lists + i.extra.len()) as u64 + 16 * u64::from(i.debug.is_some());
    w += i.blocks().len() as u64 * 8;
    w += match &i.body {
        Body::Dma(d) => {
            let plain = matches!(d.mode, Mode::Copy) && d.dge == DgeType::None;
            16 * u64::from(!plain)
                + 4 * d.constants.as_ref().map_or(0, |c| 1 + c.len() as u64)
                + 8 * d.remote_notification.len() as u64
        }
        Body::Descriptor(d) => 4 * d.constants.as_ref().map_or(0, |c| 1 + c.len() as u64),
        Body::Trigger(t) => 16 * t.dma_blocks.len() as u64,
        Body::Loop(l) => {
            let trips = l.axis.trips().map_or(i64::MAX, |t| t.min(i64::MAX as u64) as i64);
            64 + 2 * bits(trips) + bits(l.axis.lb) + bits(l.axis.stride)
        }
        Body::DynamicLoop(_) | Body::DoWhile(_) => 64,
        _ => 0,
    };
    for o in i.ins.iter().chain(&i.outs) {
        w += 64 + 16 * o.extra.len() as u64 + o.dtype.map_or(0, |d| 2 * d.bytes());
        if let OperandKind::Pattern(p) = &o.kind {
            w += weigh_pattern(p);
        }
    }
    w
}

fn weigh_pattern(p: &Pattern) -> u64 {
    let mut w = bits(p.offset) + 32 * u64::from(p.reference.is_some());
    for pair in &p.pairs {
        w += 16 + 2 * bits(pair.num.min(i64::MAX as u64) as i64) + bits(pair.step);
        w += u64::from(pair.step < 0);
    }
    if let Some(e) = &p.start {
        e.visit(&mut |e| {
            w += 16
                + match e {
                    Expr::Const(c) | Expr::Mul(_, c) => bits(*c),
                    _ => 0,
                };
        });
    }
    w + 4 * u64::from(p.form != Form::Physical)
}

struct Search<'h> {
    best: Module,
    weight: u64,
    steps: u64,
    holds: &'h mut dyn FnMut(&Module) -> bool,
}

impl Search<'_> {
    fn spent(&self) -> bool {
        self.steps >= MAX_SHRINK_STEPS
    }

    /// Keeps a module if it is lighter and the predicate holds.
    fn attempt(&mut self, mut m: Module) -> bool {
        if self.spent() {
            return false;
        }
        self.steps += 1;
        let w = weight(&m);
        if w >= self.weight {
            return false;
        }
        number(&mut m);
        if !(self.holds)(&m) {
            return false;
        }
        (self.best, self.weight) = (m, w);
        true
    }

    fn count(&self) -> usize {
        let mut n = 0;
        self.best.visit(&mut |_| n += 1);
        n
    }

    /// Leaves out runs of instructions: half of them, a quarter, .. one.
    fn instructions(&mut self) {
        let mut len = self.count();
        while len > 0 && !self.spent() {
            let mut from = 0;
            while from < self.count() && !self.spent() {
                if !self.attempt(without(&self.best, from, from + len)) {
                    from += len;
                }
            }
            len /= 2;
        }
    }

    /// Leaves out what nothing needs any more: queues, blocks, storage, keys.
    fn tidy(&mut self) {
        let mut m = self.best.clone();
        unused(&mut m);
        self.attempt(m);
        for k in (0..self.best.queues.len()).rev() {
            let mut m = self.best.clone();
            m.queues.remove(k);
            self.attempt(m);
        }
        for f in (0..self.best.functions.len()).rev() {
            if self.best.functions.len() > 1 {
                let mut m = self.best.clone();
                m.functions.remove(f);
                if self.attempt(m) {
                    continue;
                }
            }
            let mut m = self.best.clone();
            let blocks = std::mem::take(&mut m.functions[f].blocks);
            let name = blocks.first().and_then(|b| b.name.clone());
            let insts = blocks.into_iter().flat_map(|b| b.insts).collect();
            m.functions[f].blocks = vec![Block { name, insts, extra: Vec::new() }];
            self.attempt(m);
            for b in (0..self.best.functions[f].blocks.len()).rev() {
                if self.best.functions[f].blocks[b].insts.is_empty() {
                    let mut m = self.best.clone();
                    m.functions[f].blocks.remove(b);
                    self.attempt(m);
                }
            }
            for a in (0..self.best.functions[f].allocations.len()).rev() {
                let mut m = self.best.clone();
                m.functions[f].allocations.remove(a);
                self.attempt(m);
            }
        }
    }

    /// Makes each instruction simpler.
    fn details(&mut self) {
        let mut k = 0;
        while k < self.count() && !self.spent() {
            let Some(inst) = nth(&self.best, k) else { return };
            let mut changed = false;
            for new in simpler::simpler(&inst) {
                // A loop may give way to what it holds.
                if self.attempt(replaced(&self.best, k, &new)) {
                    changed = true;
                    break;
                }
            }
            if !changed {
                k += 1;
            }
        }
    }
}

/// The instruction at a position of the visiting order.
fn nth(m: &Module, k: usize) -> Option<Arc<Inst>> {
    let (mut at, mut found) = (0, None);
    m.visit(&mut |i| {
        if at == k {
            found = Some(i.clone());
        }
        at += 1;
    });
    found
}

/// What stands in place of an instruction, given its number; `None`: itself.
type Instead<'f> = &'f mut dyn FnMut(usize) -> Option<Vec<Arc<Inst>>>;

/// Rebuilds all blocks.
fn rebuilt(m: &Module, f: Instead<'_>) -> Module {
    fn size(i: &Inst) -> usize {
        let blocks = i.blocks().iter().flat_map(|b| &b.insts);
        1 + blocks.map(|i| size(i)).sum::<usize>()
    }
    fn walk(b: &mut Block, at: &mut usize, f: Instead<'_>) {
        let mut out = Vec::with_capacity(b.insts.len());
        for i in &b.insts {
            let k = *at;
            if let Some(new) = f(k) {
                *at += size(i);
                out.extend(new);
                continue;
            }
            *at += 1;
            if i.blocks().is_empty() {
                out.push(i.clone());
                continue;
            }
            let mut i = (**i).clone();
            for b in i.blocks_mut().into_iter().flatten() {
                walk(b, at, f);
            }
            out.push(Arc::new(i));
        }
        b.insts = out;
    }
    let mut m = m.clone();
    let mut at = 0;
    for b in m.functions.iter_mut().flat_map(|f| &mut f.blocks) {
        walk(b, &mut at, f);
    }
    for b in m.queues.iter_mut().flat_map(|q| &mut q.blocks) {
        walk(b, &mut at, f);
    }
    m
}

/// Without the instructions `from .. to`, and without what those that fall away hold.
fn without(m: &Module, from: usize, to: usize) -> Module {
    rebuilt(m, &mut |k| (from..to).contains(&k).then(Vec::new))
}

fn replaced(m: &Module, at: usize, new: &[Inst]) -> Module {
    rebuilt(m, &mut |k| (k == at).then(|| new.iter().cloned().map(Arc::new).collect()))
}

/// Drops queues, storage and keys that no instruction mentions.
fn unused(m: &mut Module) {
    let mut names: HashSet<Name> = HashSet::new();
    let mut queues: HashSet<Name> = HashSet::new();
    m.visit(&mut |i| {
        match &i.body {
            Body::Dma(d) => queues.extend(d.queue.clone()),
            Body::Trigger(t) => queues.extend(t.queue.clone()),
            Body::DynamicLoop(l) => {
                names.extend([&l.lb, &l.ub, &l.stride].into_iter().flat_map(Expr::registers));
            }
            Body::DoWhile(l) => names.extend(l.cond.registers()),
            _ => {}
        }
        i.ins.iter().chain(&i.outs).for_each(|o| mentioned(o, &mut names));
    });
    m.queues.retain(|q| queues.contains(&q.name) || q.dma_blocks().next().is_some());
    for f in &mut m.functions {
        f.allocations.retain(|a| match a.storage {
            StorageKind::Register => names.contains(&a.name),
            _ => names.contains(&a.name) || a.locations.iter().any(|l| names.contains(&l.name)),
        });
        f.extra.clear();
        for a in &mut f.allocations {
            a.extra.clear();
            a.locations.iter_mut().for_each(|l| l.extra.clear());
        }
    }
    m.extra.clear();
}

fn mentioned(o: &Operand, names: &mut HashSet<Name>) {
    match &o.kind {
        OperandKind::Register(n) => {
            names.insert(n.clone());
        }
        OperandKind::Pattern(p) => {
            names.extend(p.location.clone());
            names.extend(p.set.clone());
            names.extend(p.registers());
            match &p.reference {
                Some(Reference::Register { register, .. }) => {
                    names.insert(register.clone());
                }
                Some(Reference::Index { list, .. }) => mentioned(list, names),
                None => {}
            }
        }
        _ => {}
    }
}
