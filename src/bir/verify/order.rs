//! Rules about what waits for what: dependencies and semaphores.

use super::Cx;
use crate::bir::blocks::{BlockNo, Blocks, Expected};
use crate::bir::quick::QuickMap;
use crate::bir::{At, Block, Body, Engine, Finding, Function, Inst, Name, Part};
use smallvec::SmallVec;
use std::collections::HashMap;

/// What of it there is in the module.
#[derive(Clone, Copy, Default)]
pub(super) struct Ordered {
    dependencies: bool,
    waits: bool,
}

impl Ordered {
    /// Perhaps all of it.
    pub fn unknown() -> Ordered {
        Ordered { dependencies: true, waits: true }
    }

    /// Notes what an instruction has.
    pub fn note(&mut self, inst: &Inst) {
        self.dependencies |= !inst.deps.is_empty() || !inst.loop_deps.is_empty();
        self.waits |= !inst.waits.is_empty();
    }
}

pub(super) fn check(cx: &mut Cx<'_>) {
    if cx.ordered.dependencies {
        let module = cx.module;
        // Names that are depended on, and whether somebody bears them: most names are not.
        let mut names: QuickMap<Name, bool> = QuickMap::default();
        module.visit(&mut |i| {
            names.extend(i.deps.iter().chain(&i.loop_deps).map(|d| (d.name.clone(), false)));
        });
        module.visit(&mut |i| {
            if let Some(borne) = names.get_mut(&i.name) {
                *borne = true;
            }
        });
        for f in &module.functions {
            dependencies(cx, f, &names);
        }
    }
    if cx.ordered.waits {
        semaphores(cx);
    }
}

/// An instruction of a function, in program order.
struct Item<'a> {
    inst: &'a Inst,
    /// The last instruction inside it, or itself.
    last: usize,
}

fn flatten<'a>(blocks: &'a [Block], out: &mut Vec<Item<'a>>) {
    for inst in blocks.iter().flat_map(|b| &b.insts) {
        let at = out.len();
        out.push(Item { inst, last: at });
        flatten(inst.blocks(), out);
        out[at].last = out.len() - 1;
    }
}

fn dependencies(cx: &mut Cx<'_>, f: &Function, names: &QuickMap<Name, bool>) {
    let borne = |name: &Name| names.get(name).copied().unwrap_or_default();
    let mut items = Vec::new();
    flatten(&f.blocks, &mut items);
    let branches = items.iter().any(|i| matches!(i.inst.body, Body::Jump(_) | Body::Branch(_)));
    // The first instance of each name.
    let mut first: QuickMap<&Name, usize> = QuickMap::default();
    for (at, i) in items.iter().enumerate().filter(|(_, i)| borne(&i.inst.name)) {
        first.entry(&i.inst.name).or_insert(at);
    }
    let mut earlier: QuickMap<&Name, usize> = QuickMap::default();
    // Dependencies on a later instruction: (who, on whom).
    let mut forward: Vec<(usize, usize)> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let inst = item.inst;
        for dep in &inst.deps {
            let text = match (earlier.get(&dep.name), first.get(&dep.name)) {
                (Some(&e), _) if items[e].last >= at => {
                    format!("`{}` depends on `{}`, which holds it", inst.name, dep.name)
                }
                (Some(_), _) => continue,
                (None, Some(&later)) if later == at => {
                    format!("cyclic dependency: `{}` depends on itself", inst.name)
                }
                (None, Some(&later)) => {
                    forward.push((at, later));
                    continue;
                }
                (None, None) if borne(&dep.name) => continue,
                (None, None) => {
                    format!("no instruction is named `{}`, which this depends on", dep.name)
                }
            };
            cx.push(Finding::new("B066", At::Inst(inst.pos, Part::Key("dependencies")), text));
        }
        for dep in &inst.loop_deps {
            if !borne(&dep.name) {
                let text = format!("no instruction is named `{}`, which this depends on", dep.name);
                let at = At::Inst(inst.pos, Part::Key("loop_carried_dependencies"));
                cx.push(Finding::new("B066", at, text));
            }
        }
        if borne(&inst.name) {
            earlier.insert(&inst.name, at);
        }
    }
    forward.sort_unstable();
    forward.dedup();
    cycles(cx, &items, &forward, branches);
}

/// Dependencies that point forward close a cycle with others, or with the order of an engine.
fn cycles(cx: &mut Cx<'_>, items: &[Item<'_>], forward: &[(usize, usize)], branches: bool) {
    if forward.is_empty() {
        return;
    }
    let first: QuickMap<&Name, Vec<usize>> =
        items.iter().enumerate().fold(QuickMap::default(), |mut map, (at, i)| {
            map.entry(&i.inst.name).or_default().push(at);
            map
        });
    // Nodes that are waited for by each: the one before on its engine (where there are no
    // branches, which change the order), and what it depends on.
    let mut on: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
    let mut engines: HashMap<Engine, usize> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        let e = item.inst.engine;
        if Engine::STREAMS.contains(&e)
            && let Some(before) = engines.insert(e, at)
            && !branches
        {
            on[at].push(before);
        }
        for dep in &item.inst.deps {
            let all = first.get(&dep.name).map_or(&[][..], Vec::as_slice);
            let earlier = all.partition_point(|k| *k < at);
            let target = if earlier > 0 { all.get(earlier - 1) } else { all.first() };
            // A holder is complete only after what it holds; that was reported.
            on[at].extend(target.filter(|t| **t != at && !(**t < at && items[**t].last >= at)));
        }
    }
    let mut waiting: Vec<usize> = on.iter().map(Vec::len).collect();
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
    for (at, targets) in on.iter().enumerate() {
        for t in targets {
            before[*t].push(at);
        }
    }
    let mut ready: Vec<usize> = (0..items.len()).filter(|k| waiting[*k] == 0).collect();
    while let Some(k) = ready.pop() {
        for &w in &before[k] {
            waiting[w] -= 1;
            if waiting[w] == 0 {
                ready.push(w);
            }
        }
    }
    for &(at, later) in forward.iter().filter(|(at, later)| waiting[*at] > 0 && waiting[*later] > 0)
    {
        let (a, b) = (items[at].inst, items[later].inst);
        let text = format!(
            "cyclic dependency: `{}` depends on `{}`, which comes later and waits for it",
            a.name, b.name
        );
        cx.push(Finding::new("B066", At::Inst(a.pos, Part::Key("dependencies")), text));
    }
}

/// How much a semaphore can be raised: `None` where a loop without known trips does it.
type Bound = Option<u128>;

fn add(map: &mut HashMap<u64, Bound>, id: u64, n: Bound) {
    let sum = map.entry(id).or_insert(Some(0));
    *sum = sum.zip(n).and_then(|(a, b)| a.checked_add(b));
}

/// How often blocks are fired, by block.
struct Fires<'a> {
    blocks: &'a Blocks<&'a str>,
    expected: Expected,
    counts: Vec<Bound>,
}

impl<'a> Fires<'a> {
    fn new(blocks: &'a Blocks<&'a str>) -> Fires<'a> {
        Fires { blocks, expected: Expected::default(), counts: vec![Some(0); blocks.len()] }
    }

    fn of(&mut self, queue: &str, block: &str, expected: &mut Expected) -> Option<&mut Bound> {
        let n = self.blocks.find(queue, block, expected)?;
        self.counts.get_mut(n.0 as usize)
    }

    /// A trigger that fires so often. Of several blocks each counts as often: more than it can
    /// be, never less.
    fn add(&mut self, queue: &str, blocks: &[Name], runs: Bound) {
        let mut numbers: SmallVec<[BlockNo; 4]> =
            blocks.iter().filter_map(|b| self.blocks.find(queue, b, &mut self.expected)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        for n in numbers {
            if let Some(sum) = self.counts.get_mut(n.0 as usize) {
                *sum = sum.zip(runs).and_then(|(a, b)| a.checked_add(b));
            }
        }
    }
}

/// Every wait against the most that all updates together can add.
fn semaphores(cx: &mut Cx<'_>) {
    let module = cx.module;
    let mut raised: HashMap<u64, Bound> = HashMap::new();
    let mut fires = Fires::new(&cx.queues.blocks);
    let mut waits: Vec<&Inst> = Vec::new();
    for f in &module.functions {
        let jumps = f.blocks.iter().flat_map(|b| &b.insts);
        let jumps = jumps.clone().any(|i| matches!(i.body, Body::Jump(_) | Body::Branch(_)));
        let runs = if jumps { None } else { Some(1) };
        count(&f.blocks, runs, &mut raised, &mut fires, &mut waits);
    }
    let mut visited = Expected::default();
    for q in &module.queues {
        for b in q.dma_blocks() {
            let n = fires.of(&q.name, &b.name, &mut visited).map_or(Some(0), |n| *n);
            for u in &b.updates {
                add(&mut raised, u.id, n.and_then(|n| n.checked_mul(u128::from(u.value))));
            }
            // A block that nothing fires waits for nothing.
            if n != Some(0) {
                waits.push(b);
            }
        }
    }
    for inst in waits {
        for w in inst.waits.iter().filter(|w| w.value > 0) {
            let text = match raised.get(&w.id) {
                None => format!("semaphore {} is waited for, but nobody updates it", w.id),
                Some(Some(most)) if *most < u128::from(w.value) => format!(
                    "semaphore {} is waited for until {}, but all updates together add {most}",
                    w.id, w.value
                ),
                _ => continue,
            };
            cx.push(Finding::new("B069", At::Inst(inst.pos, Part::Key("sync_info")), text));
        }
    }
}

fn count<'a>(
    blocks: &'a [Block],
    runs: Bound,
    raised: &mut HashMap<u64, Bound>,
    fires: &mut Fires<'_>,
    waits: &mut Vec<&'a Inst>,
) {
    for inst in blocks.iter().flat_map(|b| &b.insts) {
        for u in &inst.updates {
            add(raised, u.id, runs.and_then(|n| n.checked_mul(u128::from(u.value))));
        }
        if runs != Some(0) && !inst.waits.is_empty() {
            waits.push(inst);
        }
        if let Body::Trigger(t) = &inst.body
            && let Some(queue) = &t.queue
        {
            fires.add(queue, &t.dma_blocks, runs);
        }
        let inner = match &inst.body {
            Body::Loop(l) => {
                runs.zip(l.axis.trips()).and_then(|(n, t)| n.checked_mul(u128::from(t)))
            }
            Body::DynamicLoop(_) | Body::DoWhile(_) => None,
            _ => runs,
        };
        count(inst.blocks(), inner, raised, fires, waits);
    }
}
