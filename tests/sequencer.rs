//! Triggers and the blocks that they fire (`docs/sequencer.md`): what a block waits for and updates
//! is waited for and updated by the sequencer that fires it, as if it stood at the trigger; and
//! what is said of how often a trigger has fired is what was seen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::bir::exec::{self, Choice, Control};
use dmadbg::bir::generate::{self, Rng};
use dmadbg::bir::{Block, Body, Engine, Inst, Memory, Module, Name};
use dmadbg::diag::Place;
use dmadbg::engine::lower::{self, Stage};
use dmadbg::engine::module_run::{self, Initial, Options};
use dmadbg::engine::program::Program;
use dmadbg::engine::ring::{Event, EventKind};
use dmadbg::udma::Generation;
use std::collections::HashMap;
use std::sync::Arc;

/// Queue and name of a block.
type Key = (Name, Name);

fn each(blocks: &mut [Block], f: &mut dyn FnMut(&mut Inst)) {
    for inst in blocks.iter_mut().flat_map(|b| &mut b.insts) {
        let inst = Arc::make_mut(inst);
        f(inst);
        if let Some(inner) = inst.blocks_mut() {
            each(inner, f);
        }
    }
}

fn each_trigger(m: &mut Module, f: &mut dyn FnMut(&mut Inst, Vec<Key>)) {
    for function in &mut m.functions {
        each(&mut function.blocks, &mut |i| {
            let Body::Trigger(t) = &i.body else { return };
            let queue = t.queue.clone().unwrap();
            let named = t.dma_blocks.iter().map(|b| (queue.clone(), b.clone())).collect();
            f(i, named);
        });
    }
}

fn each_block(m: &mut Module, f: &mut dyn FnMut(&mut Inst, Key)) {
    for q in &mut m.queues {
        for inst in q.blocks.iter_mut().flat_map(|b| &mut b.insts) {
            let inst = Arc::make_mut(inst);
            let key = (q.name.clone(), inst.name.clone());
            f(inst, key);
        }
    }
}

/// Waits of triggers go to their block, and updates of blocks to their trigger, where one belongs
/// to the other alone. Returns how many waits and updates went.
fn swap_sides(m: &mut Module) -> (usize, usize) {
    let mut named: HashMap<Key, usize> = HashMap::new();
    each_trigger(m, &mut |_, all| all.into_iter().for_each(|k| *named.entry(k).or_default() += 1));
    let mut waits = HashMap::new();
    each_trigger(m, &mut |i, all| {
        if let [key] = all.as_slice()
            && named[key] == 1
        {
            waits.insert(key.clone(), std::mem::take(&mut i.waits));
        }
    });
    let mut updates = HashMap::new();
    each_block(m, &mut |b, key| {
        if let Some(waits) = waits.get(&key) {
            b.waits.extend(waits.iter().cloned());
            updates.insert(key, std::mem::take(&mut b.updates));
        }
    });
    each_trigger(m, &mut |i, all| {
        if let Some(mut first) = all.first().and_then(|key| updates.remove(key)) {
            updates.insert(all[0].clone(), first.clone());
            first.append(&mut i.updates);
            i.updates = first;
        }
    });
    (waits.values().map(Vec::len).sum(), updates.values().map(Vec::len).sum())
}

fn program(m: &Module, initial: &Initial) -> Program {
    let lowered = lower::lower(m, &lower::Options::default(), Stage::LowerDma);
    let options = Options::new(m.arch.and_then(|a| a.generation()).unwrap_or(Generation::V3));
    module_run::program(&lowered, &|_| Place::default(), initial, &options).unwrap()
}

fn events(p: &Program) -> Vec<Event> {
    let mut all = Vec::new();
    module_run::each_event(p, |_, e| all.push(*e));
    all
}

#[test]
fn what_a_block_waits_for_and_updates_is_as_if_its_trigger_did() {
    let (mut waited, mut updated, mut emptied) = (0, 0, 0);
    for seed in 0..60 {
        let g = generate::module(seed, &generate::Options { units: 8, ..Default::default() });
        let given = g.memory.iter().map(|(n, b)| (n.to_string(), b.clone())).collect();
        let initial = Initial { given, file: None };
        let lowered = lower::lower(&g.module, &lower::Options::default(), Stage::LowerDma);
        let Some(last) = lowered.snapshots.last().filter(|_| !lowered.has_errors()) else {
            continue;
        };
        let mut at_triggers = (*last.module).clone();
        // Some have nothing to move.
        let mut rng = Rng::new(seed);
        each_block(&mut at_triggers, &mut |b, _| {
            if rng.chance(20) {
                b.blocks_mut().unwrap().iter_mut().for_each(|b| b.insts.clear());
                emptied += 1;
            }
        });
        let mut at_blocks = at_triggers.clone();
        let (waits, updates) = swap_sides(&mut at_blocks);
        let (a, b) =
            (events(&program(&at_triggers, &initial)), events(&program(&at_blocks, &initial)));
        let kind = |e: &Event| e.kind;
        let differ = (0..a.len().max(b.len())).find(|k| a.get(*k).map(kind) != b.get(*k).map(kind));
        assert_eq!(
            differ,
            None,
            "seed {seed}: {:?}, {:?}",
            differ.map(|k| a.get(k)),
            differ.map(|k| b.get(k))
        );
        let of = |f: fn(&EventKind) -> bool| a.iter().filter(|e| f(&e.kind)).count();
        waited += waits.min(of(|k| matches!(k, EventKind::SemWait { .. })));
        updated += updates.min(of(|k| matches!(k, EventKind::SemUpdate { .. })));
    }
    assert!(waited > 20 && updated > 20 && emptied > 20, "{waited}, {updated}, {emptied}");
}

#[test]
fn how_often_a_trigger_has_fired_is_how_often_it_was_complete() {
    let (mut once, mut often) = (0, 0);
    for seed in 0..60 {
        let g = generate::module(seed, &generate::Options { units: 6, ..Default::default() });
        let lowered = lower::lower(&g.module, &lower::Options::default(), Stage::LowerDma);
        let Some(last) = lowered.snapshots.last().filter(|_| !lowered.has_errors()) else {
            continue;
        };
        let (mut m, mut rng) = ((*last.module).clone(), Rng::new(seed));
        // Some are fired by all engines together.
        each_trigger(&mut m, &mut |i, _| {
            if rng.chance(10) {
                i.engine = Engine::All;
            }
        });
        let p = exec::Program::new(Arc::new(m));
        let (mut control, mut memory) = (Control::new(&p), Memory::new());
        for (name, bytes) in &g.memory {
            memory.load(p.layout(), name, bytes).unwrap();
        }
        let mut seen: HashMap<exec::Item, u64> = HashMap::new();
        while let Choice::Run(engine) = control.next_engine(&p) {
            let item = control.current(&p, engine);
            // Another order of the engines may make an index one that is out of range.
            let Ok(action) = control.fetch(&p, &memory, engine) else { break };
            exec::apply(&mut memory, p.layout(), &action, &mut |_| {}).unwrap();
            control.complete(&p, engine);
            let trigger = |i: &exec::Item| matches!(p.inst(*i).unwrap().body, Body::Trigger(_));
            if let Some(item) = item.filter(trigger) {
                *seen.entry(item).or_default() += 1;
            }
            let all = (0..p.items()).map(exec::Item).filter(trigger);
            let counts = all.map(|i| (i, control.fires(&p, i))).filter(|(_, n)| *n > 0);
            assert_eq!(counts.collect::<HashMap<_, _>>(), seen, "seed {seed}");
        }
        once += seen.values().filter(|n| **n == 1).count();
        often += seen.values().filter(|n| **n > 1).count();
    }
    assert!(once > 20 && often > 5, "{once}, {often}");
}
