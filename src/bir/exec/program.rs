//! A module prepared for execution: its instructions numbered, names looked up, who runs what
//! (`docs/execution.md`, "Streams").
//!
//! Built once; streams refer to it by numbers and stay small.

use super::order;
use crate::bir::blocks::{BlockNo, Blocks, Expected};
use crate::bir::module::{At, Body, Finding, Inst, Module, Part};
use crate::bir::quick::{QuickMap, QuickSet};
use crate::bir::{Engine, Layout, Name, Opcode};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// Number of an instruction of the function that is run: in program order, an instruction
/// before those that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Item(pub u32);

/// Number of a list of blocks: the function's, or a loop body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct RegionId(pub u32);

/// A set of engines.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Engines(u8);

impl Engines {
    /// The engine is in it.
    pub fn has(self, engine: Engine) -> bool {
        self.0 & Engines::from(engine).0 != 0
    }

    /// No engine is.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those of either.
    #[must_use]
    pub fn and(self, other: Engines) -> Engines {
        Engines(self.0 | other.0)
    }

    /// All that are in it, by number.
    pub fn iter(self) -> impl Iterator<Item = Engine> {
        Engine::ALL.iter().copied().filter(move |e| self.has(*e))
    }
}

impl From<Engine> for Engines {
    fn from(engine: Engine) -> Engines {
        Engines(1 << engine.number())
    }
}

impl fmt::Debug for Engines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Engine::name)).finish()
    }
}

/// A dependency as it can be checked.
#[derive(Debug)]
pub(super) struct Edge {
    /// Instances to wait for.
    pub targets: Vec<Item>,
    /// The name, for telling.
    pub name: Name,
    /// Only earlier iterations count.
    pub carried: bool,
}

/// An instruction of the function.
#[derive(Debug)]
pub(super) struct Entry {
    pub inst: Arc<Inst>,
    pub region: RegionId,
    pub block: u32,
    /// Where its body is, of a loop.
    pub body: Option<RegionId>,
    /// The last item inside it; itself where it holds none.
    pub last: Item,
    /// Engines in whose streams it is.
    pub engines: Engines,
    /// It is done once, when all of `engines` have come to it.
    pub joined: bool,
    /// Steps that it takes at least: of a loop all rounds of all its instructions (one round
    /// where the bounds are not known).
    pub work: u64,
    pub edges: Vec<Edge>,
    /// Of a trigger: what those of its blocks depend on that depend on something.
    pub block_edges: Vec<(BlockNo, Vec<Edge>)>,
    /// Something depends on it, or keeps order with it.
    pub meant: bool,
    /// Earlier instructions with which it shares bytes, one of the two being opaque.
    pub after: Vec<Item>,
    /// The loops around it and the item itself, outermost first.
    pub path: SmallVec<[Item; 4]>,
    /// Of a branch: the blocks to which it may lead.
    pub on_true: Option<Target>,
    pub on_false: Option<Target>,
    /// Of a trigger: each block that it names, as far as there is one.
    pub fires: SmallVec<[Option<BlockNo>; 2]>,
    /// A trigger that fires once: how often it has, its engine's place tells.
    pub once: bool,
}

impl Entry {
    /// What it depends on where it would fire this block.
    pub fn edges(&self, block: Option<BlockNo>) -> impl Iterator<Item = &Edge> {
        let own = self.block_edges.iter().filter(move |b| Some(b.0) == block);
        self.edges.iter().chain(own.flat_map(|b| &b.1))
    }

    /// Whether it is a branch that one engine takes, others perhaps following it.
    pub fn branches(&self) -> bool {
        !self.joined && matches!(self.inst.body, Body::Branch(_) | Body::Jump(_))
    }
}

/// Where a branch leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Target {
    pub region: RegionId,
    pub block: u32,
}

/// A list of blocks.
#[derive(Debug, Default)]
pub(super) struct Region {
    /// The loop whose body it is.
    pub owner: Option<Item>,
    pub depth: u32,
    pub names: Vec<Option<Name>>,
    /// Some block may be left by a branch: it is walked block by block.
    pub branches: bool,
    /// Items of each engine.
    pub own: [Vec<Item>; 8],
    /// For each engine and block where the block's items begin in `own`; one more at the end.
    pub starts: [Vec<u32>; 8],
    /// For each block the engine of the first branch in it, and the engines that have one.
    pub leaders: Vec<Option<(Engine, Engines)>>,
    /// For each block the engines that have something to do once it is left.
    pub ahead: Vec<Engines>,
}

/// A module that can be executed.
#[derive(Debug)]
pub struct Program {
    module: Arc<Module>,
    layout: Layout,
    pub(super) entries: Vec<Entry>,
    pub(super) regions: Vec<Region>,
    active: Engines,
    blocks: Blocks<Arc<Inst>>,
    findings: Vec<Finding>,
}

impl Program {
    /// Prepares a module. MODEL: its first function is the program; others are not run.
    pub fn new(module: Arc<Module>) -> Program {
        let layout = Layout::new(&module);
        let mut build = Build::default();
        build.regions.push(Region::default());
        if let Some(f) = module.functions.first() {
            build.region(RegionId(0), &f.blocks);
        }
        build.branches();
        build.engines();
        build.lists();
        let mut blocks = Blocks::default();
        for q in &module.queues {
            let own = q.dma_blocks().cloned();
            blocks.add(&q.name, q.dma_blocks().count(), (0u32..).zip(own));
        }
        let Build { mut entries, regions, active, findings } = build;
        let straight = regions.first().is_some_and(|r| !r.branches);
        let mut expected = Expected::default();
        for e in &mut entries {
            let Body::Trigger(t) = &e.inst.body else { continue };
            let queue = t.queue.as_ref();
            let mut find = |name: &Name| blocks.find(queue?, name, &mut expected);
            e.fires = t.dma_blocks.iter().map(&mut find).collect();
            e.once = straight && e.region == RegionId(0);
        }
        let mut p = Program { module, layout, entries, regions, active, blocks, findings };
        p.edges();
        order::conflicts(&mut p);
        let after: Vec<Item> = p.entries.iter().flat_map(|e| &e.after).copied().collect();
        for t in after {
            p.entries[t.0 as usize].meant = true;
        }
        p.remarks();
        p
    }

    /// The module.
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// Where its locations lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What cannot be taken at its word, found while preparing (warnings).
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Engines that have a stream.
    pub fn engines(&self) -> Engines {
        self.active
    }

    /// How many instructions the function has, those in loops included.
    pub fn items(&self) -> u32 {
        self.entries.len() as u32
    }

    /// An instruction of the function.
    pub fn inst(&self, item: Item) -> Option<&Arc<Inst>> {
        self.entries.get(item.0 as usize).map(|e| &e.inst)
    }

    /// What an instruction comes after where it fires this block: those that one of both depends
    /// on, and those with which an opaque instruction shares bytes.
    pub fn comes_after(
        &self,
        item: Item,
        block: Option<BlockNo>,
    ) -> impl Iterator<Item = Item> + '_ {
        let entry = self.inst(item).map(|_| self.entry(item));
        entry
            .into_iter()
            .flat_map(move |e| e.edges(block).flat_map(|x| &x.targets).chain(&e.after).copied())
    }

    /// Whether an instruction is one that another comes after.
    pub fn is_meant(&self, item: Item) -> bool {
        self.inst(item).is_some() && self.entry(item).meant
    }

    /// What there is more of when an instruction is complete: itself, and the loops around it on
    /// which something depends, each of which is complete with the last of what it holds.
    pub fn completes(&self, item: Item) -> impl Iterator<Item = Item> + '_ {
        let path = self.inst(item).map_or(&[][..], |_| &self.entry(item).path);
        let around = path.split_last().map_or(&[][..], |(_, around)| around);
        let meant = around.iter().copied().filter(|l| self.entry(*l).meant);
        std::iter::once(item).chain(meant)
    }

    /// Engines that come to an instruction together; one where nobody else does.
    pub fn joined(&self, item: Item) -> Engines {
        let entry = self.inst(item).map(|_| self.entry(item));
        entry.filter(|e| e.joined).map_or(Engines::default(), |e| e.engines)
    }

    /// The DMA blocks of its queues.
    pub fn blocks(&self) -> &Blocks<Arc<Inst>> {
        &self.blocks
    }

    pub(super) fn remark(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    pub(super) fn entry(&self, item: Item) -> &Entry {
        &self.entries[item.0 as usize]
    }

    pub(super) fn region(&self, id: RegionId) -> &Region {
        &self.regions[id.0 as usize]
    }

    /// Looks up what dependencies name. A name that repeats keeps the nearest before, and for
    /// each loop (or list of blocks with branches) around the last one in it: one of those is
    /// the nearest earlier instance.
    fn edges(&mut self) {
        // Most names are depended on by nobody.
        let mut by_name: QuickMap<Name, Vec<Item>> = QuickMap::default();
        let blocks = (0..self.blocks.len() as u32).filter_map(|n| self.blocks.get(BlockNo(n)));
        let blocks = blocks.map(|b| b.2).filter(|b| depends(b));
        let insts = self.entries.iter().map(|e| &e.inst).chain(blocks);
        let deps = insts.flat_map(|i| i.deps.iter().chain(&i.loop_deps));
        by_name.extend(deps.map(|d| (d.name.clone(), Vec::new())));
        if by_name.is_empty() {
            return;
        }
        for (k, e) in (0u32..).zip(&self.entries) {
            if let Some(all) = by_name.get_mut(&e.inst.name) {
                all.push(Item(k));
            }
        }
        self.fired_by_name(&mut by_name);
        let blocks = (0..self.blocks.len() as u32).map(BlockNo);
        let depends = |n: &BlockNo| self.blocks.get(*n).is_some_and(|b| depends(b.2));
        let blocks: QuickSet<BlockNo> = blocks.filter(depends).collect();
        for k in 0..self.entries.len() {
            let me = Item(k as u32);
            let inst = self.entries[k].inst.clone();
            let edges = self.edges_of(me, &inst, &by_name);
            let fired = self.entries[k].fires.iter().flatten().copied();
            let mut numbers: Vec<BlockNo> = fired.filter(|n| blocks.contains(n)).collect();
            numbers.sort_unstable();
            numbers.dedup();
            let mut block_edges = Vec::new();
            for n in numbers {
                let Some((_, _, block)) = self.blocks.get(n) else { continue };
                let block = block.clone();
                let mut own = self.edges_of(me, &block, &by_name);
                // Its trigger has begun when the block is fired.
                own.iter_mut().for_each(|e| e.targets.retain(|t| *t != me));
                own.retain(|e| !e.targets.is_empty());
                block_edges.push((n, own));
            }
            let all = edges.iter().chain(block_edges.iter().flat_map(|b| &b.1));
            let meant: Vec<Item> = all.flat_map(|e| &e.targets).copied().collect();
            for t in meant {
                self.entries[t.0 as usize].meant = true;
            }
            (self.entries[k].edges, self.entries[k].block_edges) = (edges, block_edges);
        }
    }

    /// MODEL: where no instruction has a name, but a block or descriptor, those are meant that
    /// fire it.
    fn fired_by_name(&self, by_name: &mut QuickMap<Name, Vec<Item>>) {
        if by_name.values().all(|all| !all.is_empty()) {
            return;
        }
        let mut found: Vec<(Name, Item)> = Vec::new();
        for (k, e) in (0u32..).zip(&self.entries) {
            for (_, _, block) in e.fires.iter().flatten().filter_map(|n| self.blocks.get(*n)) {
                let inside = block.blocks().iter().flat_map(|b| &b.insts);
                let names = std::iter::once(&block.name).chain(inside.map(|d| &d.name));
                let open = names.filter(|n| by_name.get(*n).is_some_and(Vec::is_empty));
                found.extend(open.map(|n| (n.clone(), Item(k))));
            }
        }
        for (name, item) in found {
            if let Some(all) = by_name.get_mut(&name)
                && all.last() != Some(&item)
            {
                all.push(item);
            }
        }
    }

    /// What an instruction, or the block that it fires, depends on.
    fn edges_of(
        &mut self,
        me: Item,
        inst: &Inst,
        by_name: &QuickMap<Name, Vec<Item>>,
    ) -> Vec<Edge> {
        let deps = inst.deps.iter().map(|d| (d, false));
        let mut edges = Vec::new();
        for (dep, carried) in deps.chain(inst.loop_deps.iter().map(|d| (d, true))) {
            let Some(all) = by_name.get(&dep.name).filter(|all| !all.is_empty()) else {
                let text = format!("`{}` depends on `{}`, which is nowhere", inst.name, dep.name);
                let at = At::Inst(inst.pos, Part::Key("dependencies"));
                let finding = Finding::new("B092", at, text);
                // A block that several triggers fire says it once.
                if self.findings.last() != Some(&finding) {
                    self.findings.push(finding);
                }
                continue;
            };
            let targets = self.nearest(me, all);
            edges.push(Edge { targets, name: dep.name.clone(), carried });
        }
        edges
    }

    fn nearest(&self, me: Item, all: &[Item]) -> Vec<Item> {
        if let [only] = all {
            return vec![*only];
        }
        let before = all.partition_point(|t| *t < me);
        let mut out: Vec<Item> = all[..before].last().copied().into_iter().collect();
        for end in self.rounds(me) {
            let within = all.partition_point(|t| *t <= end);
            out.extend(all[before..within].last());
        }
        if out.is_empty() {
            out.extend(all.get(before));
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The last item of each list of blocks around this one that can run more than once.
    pub(super) fn rounds(&self, me: Item) -> Vec<Item> {
        let (mut out, mut at) = (Vec::new(), me);
        loop {
            let region = self.region(self.entry(at).region);
            match region.owner {
                Some(owner) => {
                    out.push(self.entry(owner).last);
                    at = owner;
                }
                None => {
                    if region.branches {
                        out.push(Item(u32::MAX));
                    }
                    return out;
                }
            }
        }
    }

    /// Says what is not taken at its word.
    fn remarks(&mut self) {
        let mut said = Vec::new();
        for e in &self.entries {
            let inst = &e.inst;
            let key = |k| At::Inst(inst.pos, Part::Key(k));
            if e.body.is_some() && !inst.updates.is_empty() {
                let text =
                    format!("`{}`: a loop has no rule for its updates; none is made", inst.name);
                said.push(Finding::new("B090", key("sync_info"), text));
            }
            if matches!(inst.opcode, Opcode::IndirectSaveAccumulate | Opcode::GenericIndirectSave) {
                let text = format!(
                    "`{}`: no public rule says what `{}` accumulates; it is taken to apply its \
                     operation (add where none is given) to what the destination holds",
                    inst.name, inst.opcode
                );
                said.push(Finding::new("B090", At::Inst(inst.pos, Part::Whole), text));
            }
            let masked = inst.extra.iter().find(|(k, _)| &**k == "predicates");
            if masked.is_some_and(|(_, v)| !matches!(v, crate::bir::Value::Arr(a) if a.is_empty()))
            {
                let text = format!("`{}`: its predicates are not evaluated; it is run", inst.name);
                said.push(Finding::new("B090", key("predicates"), text));
            }
        }
        self.findings.append(&mut said);
    }
}

/// Whether an instruction depends on something.
fn depends(inst: &Inst) -> bool {
    !inst.deps.is_empty() || !inst.loop_deps.is_empty()
}

#[derive(Default)]
struct Build {
    entries: Vec<Entry>,
    regions: Vec<Region>,
    active: Engines,
    findings: Vec<Finding>,
}

impl Build {
    fn region(&mut self, id: RegionId, blocks: &[crate::bir::Block]) -> u64 {
        let mut work = 0u64;
        let names = blocks.iter().map(|b| b.name.clone()).collect();
        self.regions[id.0 as usize].names = names;
        for (block, b) in (0u32..).zip(blocks) {
            for inst in &b.insts {
                work = work.saturating_add(self.item(id, block, inst));
            }
        }
        work
    }

    fn item(&mut self, region: RegionId, block: u32, inst: &Arc<Inst>) -> u64 {
        let me = self.entries.len();
        let looping = matches!(inst.body, Body::Loop(_) | Body::DynamicLoop(_) | Body::DoWhile(_));
        let item = Item(me as u32);
        let mut path = SmallVec::new();
        if let Some(owner) = self.regions[region.0 as usize].owner {
            path.extend_from_slice(&self.entries[owner.0 as usize].path);
        }
        path.push(item);
        self.entries.push(Entry {
            inst: inst.clone(),
            region,
            block,
            body: None,
            last: item,
            engines: Engines::default(),
            joined: false,
            work: 1,
            edges: Vec::new(),
            block_edges: Vec::new(),
            meant: false,
            after: Vec::new(),
            path,
            on_true: None,
            on_false: None,
            fires: SmallVec::new(),
            once: false,
        });
        if looping {
            let id = RegionId(self.regions.len() as u32);
            let depth = self.regions[region.0 as usize].depth + 1;
            self.regions.push(Region { owner: Some(item), depth, ..Region::default() });
            self.entries[me].body = Some(id);
            let body = self.region(id, inst.blocks());
            let trips = match &inst.body {
                Body::Loop(l) => l.axis.trips().unwrap_or(1),
                _ => 1,
            };
            // Where a branch may lead out nobody knows how many rounds there will be.
            let mut inside = self.entries[me + 1..].iter().map(|e| &e.inst.body);
            if !inside.any(|b| matches!(b, Body::Branch(_) | Body::Jump(_))) {
                self.entries[me].work = trips.saturating_mul(body.max(1)).saturating_add(1);
            }
        }
        self.entries[me].last = Item(self.entries.len() as u32 - 1);
        self.entries[me].work
    }

    /// Looks up branch targets, from the innermost list of blocks outwards.
    fn branches(&mut self) {
        for k in 0..self.entries.len() {
            let inst = self.entries[k].inst.clone();
            let (on_true, on_false) = match &inst.body {
                Body::Branch(b) => (b.on_true.clone(), b.on_false.clone()),
                Body::Jump(to) => (Some(to.clone()), None),
                _ => continue,
            };
            let home = self.entries[k].region;
            self.regions[home.0 as usize].branches = true;
            let mut find = |name: Option<Name>| {
                let name = name?;
                let mut region = home;
                loop {
                    let r = &self.regions[region.0 as usize];
                    let found = r.names.iter().position(|n| n.as_ref() == Some(&name));
                    if let Some(block) = found {
                        self.regions[region.0 as usize].branches = true;
                        return Some(Target { region, block: block as u32 });
                    }
                    region = self.entries[r.owner?.0 as usize].region;
                }
            };
            let (on_true, on_false) = (find(on_true), find(on_false));
            self.entries[k].on_true = on_true;
            self.entries[k].on_false = on_false;
        }
    }

    /// Who runs what: an instruction is in its engine's stream, one of all engines in every
    /// stream, a loop in the streams of what it holds.
    fn engines(&mut self) {
        let own = |e: &Entry| e.inst.engine;
        for (k, e) in (0u32..).zip(&self.entries) {
            // An empty loop is somebody's too, so that its length is seen.
            if e.last == Item(k) && own(e) != Engine::All {
                self.active = self.active.and(own(e).into());
            }
        }
        if self.active.is_empty() && !self.entries.is_empty() {
            self.active = Engine::Sp.into();
        }
        for k in (0..self.entries.len()).rev() {
            let e = &self.entries[k];
            let engines = if e.body.is_some() && e.last != Item(k as u32) {
                let inside = &self.entries[k + 1..=e.last.0 as usize];
                // Only direct members: deeper ones are in those already.
                let direct = inside.iter().filter(|i| Some(i.region) == e.body);
                direct.fold(Engines::default(), |s, i| s.and(i.engines))
            } else if own(e) == Engine::All || e.inst.opcode == Opcode::AllEngineBarrier {
                self.active
            } else {
                own(e).into()
            };
            let joined = e.body.is_none()
                && (own(e) == Engine::All || e.inst.opcode == Opcode::AllEngineBarrier);
            self.entries[k].engines = engines;
            self.entries[k].joined = joined;
        }
    }

    /// Lists of own items for each engine, leaders, what lies ahead.
    fn lists(&mut self) {
        let mut edges: Vec<Vec<Vec<u32>>> = Vec::new();
        for r in &mut self.regions {
            let n = r.names.len();
            r.starts = std::array::from_fn(|_| vec![0; n + 1]);
            r.leaders = vec![None; n];
            r.ahead = vec![Engines::default(); n];
            edges.push((0..n as u32).map(|b| vec![b + 1]).collect());
        }
        for (k, e) in (0u32..).zip(&self.entries) {
            let (at, block) = (e.region.0 as usize, e.block as usize);
            let r = &mut self.regions[at];
            for engine in e.engines.iter() {
                let lane = engine.number() as usize;
                r.own[lane].push(Item(k));
                r.starts[lane][block + 1] = r.own[lane].len() as u32;
            }
            if matches!(e.inst.body, Body::Branch(_) | Body::Jump(_)) {
                let set = e.engines;
                let first = set.iter().next().unwrap_or(Engine::Unassigned);
                let (leader, with) = r.leaders[block].unwrap_or((first, set));
                r.leaders[block] = Some((leader, with.and(set)));
                let targets = [e.on_true, e.on_false].into_iter().flatten();
                let here = targets.filter(|t| t.region == e.region);
                edges[at][block].extend(here.map(|t| t.block));
            }
            r.ahead[block] = r.ahead[block].and(e.engines);
        }
        for (r, edges) in self.regions.iter_mut().zip(&edges) {
            for starts in &mut r.starts {
                for b in 1..starts.len() {
                    starts[b] = starts[b].max(starts[b - 1]);
                }
            }
            reach(&mut r.ahead, edges);
        }
    }
}

/// Turns "what is in a block" into "what is in the blocks that can follow it".
fn reach(ahead: &mut [Engines], edges: &[Vec<u32>]) {
    let inside = ahead.to_vec();
    ahead.fill(Engines::default());
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); ahead.len()];
    for (b, next) in edges.iter().enumerate() {
        for n in next {
            if let Some(list) = before.get_mut(*n as usize) {
                list.push(b);
            }
        }
    }
    // A block is looked at again only when what lies ahead of it has grown.
    let mut work: Vec<usize> = (0..ahead.len()).collect();
    while let Some(n) = work.pop() {
        let from = inside[n].and(ahead[n]);
        for &b in &before[n] {
            let all = ahead[b].and(from);
            if all != ahead[b] {
                ahead[b] = all;
                work.push(b);
            }
        }
    }
}
