//! Two transfers of different engines that touch the same bytes are ordered: held against a
//! walk over every execution of every instruction with vector clocks, which knows nothing of how
//! the module was made.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::bir::*;
use std::collections::HashMap;

type Clock = HashMap<Engine, usize>;

#[derive(Default)]
struct Walker {
    axes: HashMap<Name, i64>,
    registers: HashMap<Name, i64>,
    clocks: HashMap<Engine, Clock>,
    /// By semaphore: the sum after each update, and what was known then.
    updates: HashMap<u64, Vec<(u64, Clock)>>,
    done: HashMap<Name, Clock>,
    fires: HashMap<Pos, usize>,
    /// Engine, number on it, what was known, runs that are read and written.
    events: Vec<(Engine, usize, Clock, Runs, Runs)>,
    waits: usize,
}

type Runs = Vec<(u64, u64)>;

fn join(a: &mut Clock, b: &Clock) {
    for (e, n) in b {
        let mine = a.entry(*e).or_insert(0);
        *mine = (*mine).max(*n);
    }
}

struct Program<'a> {
    module: &'a Module,
    layout: &'a Layout,
}

impl Walker {
    fn blocks(&mut self, p: &Program<'_>, blocks: &[Block]) {
        for i in blocks.iter().flat_map(|b| &b.insts) {
            self.inst(p, i);
        }
    }

    fn value(&self, e: &Expr) -> i64 {
        let axis = |n: &str| self.axes.get(n).copied();
        e.eval(&axis, &|n| self.registers.get(n).copied()).unwrap()
    }

    fn inst(&mut self, p: &Program<'_>, i: &Inst) {
        let range = match &i.body {
            Body::Loop(l) => Some((l.axis.name.clone(), l.axis.lb, l.axis.ub, l.axis.stride)),
            Body::DynamicLoop(l) => {
                let [lb, ub, stride] = [&l.lb, &l.ub, &l.stride].map(|e| self.value(e));
                Some((l.axis.clone(), lb, ub, stride))
            }
            _ => None,
        };
        if let Some((name, lb, ub, stride)) = range {
            let mut at = lb;
            while at < ub {
                self.axes.insert(name.clone(), at);
                self.blocks(p, i.blocks());
                at += stride;
            }
            return;
        }
        if i.opcode == Opcode::AllEngineBarrier {
            let mut all = Clock::new();
            self.clocks.values().for_each(|c| join(&mut all, c));
            for e in Engine::STREAMS {
                self.clocks.insert(e, all.clone());
            }
            return;
        }
        let mut clock = self.clocks.remove(&i.engine).unwrap_or_default();
        for w in &i.waits {
            let updates = &self.updates[&w.id];
            join(&mut clock, &updates.iter().find(|u| u.0 >= w.value).unwrap().1);
            self.waits += 1;
        }
        for d in &i.deps {
            join(&mut clock, &self.done[&d.name]);
            self.waits += 1;
        }
        let number = clock.get(&i.engine).copied().unwrap_or(0) + 1;
        clock.insert(i.engine, number);
        self.execute(p, i, &clock, number);
        for u in &i.updates {
            let all = self.updates.entry(u.id).or_default();
            let sum = all.last().map_or(0, |u| u.0) + u.value;
            all.push((sum, clock.clone()));
        }
        self.done.insert(i.name.clone(), clock.clone());
        self.clocks.insert(i.engine, clock);
    }

    fn execute(&mut self, p: &Program<'_>, i: &Inst, clock: &Clock, number: usize) {
        let read = |o: &Operand, me: &Walker| match &o.kind {
            OperandKind::Register(n) => me.registers[n],
            OperandKind::Imm(v) => v.as_int().unwrap(),
            other => panic!("{other:?}"),
        };
        if matches!(i.opcode, Opcode::RegisterMove | Opcode::RegisterAlu) {
            let sum = i.ins.iter().map(|o| read(o, self)).sum();
            let OperandKind::Register(to) = &i.outs[0].kind else { panic!() };
            self.registers.insert(to.clone(), sum);
            return;
        }
        let mut parts = vec![i.clone()];
        if let Body::Trigger(t) = &i.body {
            let fire = self.fires.entry(i.pos).or_insert(0);
            let name = &t.dma_blocks[*fire % t.dma_blocks.len()];
            *fire += 1;
            let queue = p.module.queue(t.queue.as_ref().unwrap()).unwrap();
            let block = queue.dma_blocks().find(|b| b.name == *name).unwrap();
            parts = block.blocks()[0].insts.iter().map(|d| (**d).clone()).collect();
        }
        let runs = |list: &[Operand]| -> Runs {
            list.iter().flat_map(|o| self.runs(p.layout, o)).collect()
        };
        let (ins, outs): (Vec<_>, Vec<_>) =
            parts.into_iter().map(|i| (i.ins.to_vec(), i.outs.to_vec())).unzip();
        let event = (runs(&ins.concat()), runs(&outs.concat()));
        self.events.push((i.engine, number, clock.clone(), event.0, event.1));
    }

    fn runs(&self, layout: &Layout, o: &Operand) -> Runs {
        let p = o.as_pattern().unwrap();
        if p.index_arg().is_some() {
            return layout.of(p).unwrap().runs().collect();
        }
        let start = p.start.as_ref().map_or(0, |e| self.value(e));
        let walk = layout.walk(p, o.dtype.unwrap(), &p.pairs, p.offset + start).unwrap();
        walk.runs().collect()
    }
}

fn share(a: &Runs, b: &Runs) -> bool {
    a.iter().any(|x| b.iter().any(|y| x.0 < y.0 + y.1 && y.0 < x.0 + x.1))
}

#[test]
fn transfers_that_share_bytes_are_ordered() {
    let (mut waits, mut beside) = (0, 0);
    let options = Options { units: 14, large: false, ..Options::default() };
    for seed in 0..600 {
        let g = module(seed, &options);
        let layout = Layout::new(&g.module);
        let mut w = Walker::default();
        w.blocks(&Program { module: &g.module, layout: &layout }, &g.module.functions[0].blocks);
        waits += w.waits;
        for (k, (engine, number, _, reads, writes)) in w.events.iter().enumerate() {
            for (other, _, clock, r, v) in &w.events[k + 1..] {
                if engine == other || clock.get(engine).is_some_and(|n| n >= number) {
                    continue;
                }
                beside += 1;
                let race = share(writes, r) || share(writes, v) || share(reads, v);
                assert!(!race, "seed {seed}: {engine} {number} and {other}");
            }
        }
    }
    assert!(waits > 300 && beside > 1000, "{waits} waits, {beside} pairs side by side");
}
