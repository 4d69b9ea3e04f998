//! The state of all instruction streams, apart from memory.

use super::action::Fired;
use super::edges::Held;
use super::program::{Engines, Item, Program, RegionId};
use super::resolve::Env;
use super::stream::{END, Next, Spot, Stream};
use crate::bir::blocks::BlockNo;
use crate::bir::module::{Body, Inst, Pos, Update, Wait};
use crate::bir::{Engine, Expr, Name};
use imbl::OrdMap;
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// The streams of a program: where each engine is, registers, semaphores, how often each trigger
/// has fired. A small value: two that are equal go on equally from equal memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Control {
    pub(super) streams: Vec<Stream>,
    /// Semaphores that are not 0.
    pub(super) semaphores: OrdMap<u64, u64>,
    pub(super) registers: OrdMap<Name, i64>,
    /// Fires of each trigger instruction that may fire again.
    pub(super) fires: OrdMap<u32, u64>,
    /// How often each opaque instruction of the loaded module was executed.
    pub(super) visits: OrdMap<u32, u64>,
}

/// Who acts next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// This engine: of those that are ready the one that is least far in the program.
    Run(Engine),
    /// None can, each for its reason.
    Blocked(Vec<(Engine, Why)>),
    /// All have come to the end.
    Done,
}

/// Why an engine cannot act.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Why {
    /// It has come to the end, or has no stream.
    Done,
    /// What it has begun is not complete.
    Busy,
    /// A semaphore is too low.
    Semaphore {
        /// Which.
        id: u64,
        /// What it must be.
        wanted: u64,
        /// What it is.
        value: u64,
    },
    /// A dependency is not complete.
    Dependency(Name),
    /// It depends on itself.
    Itself(Name),
    /// These have not come to where all go on together.
    Join(Engines),
    /// It has no branch of its own here and goes where this engine goes.
    Follows(Engine),
    /// An earlier instruction with which it shares bytes is not complete. Where nothing else can
    /// act this is not waited for.
    Order(Name),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Done => f.write_str("has come to the end"),
            Why::Busy => f.write_str("waits for what it has begun"),
            Why::Semaphore { id, wanted, value } => {
                write!(f, "waits for semaphore {id} to be {wanted}; it is {value}")
            }
            Why::Dependency(name) => write!(f, "waits for `{name}`, on which it depends"),
            Why::Itself(name) => {
                write!(f, "depends on `{name}`, which is itself: a cyclic dependency")
            }
            Why::Join(engines) => {
                let names: Vec<&str> = engines.iter().map(Engine::name).collect();
                write!(f, "waits for {} to come there", names.join(", "))
            }
            Why::Follows(engine) => write!(f, "waits for the branch of {engine}"),
            Why::Order(name) => write!(f, "waits for `{name}`, with which it shares bytes"),
        }
    }
}

/// What an engine sees at the place where it is.
pub(super) struct View<'a> {
    pub p: &'a Program,
    pub control: &'a Control,
    pub stream: &'a Stream,
}

impl Env for View<'_> {
    fn axis(&self, name: &str) -> Option<i64> {
        self.stream.frames.iter().rev().find_map(|f| {
            let owner = self.p.region(f.region).owner?;
            let axis = match &self.p.entry(owner).inst.body {
                Body::Loop(l) => &l.axis.name,
                Body::DynamicLoop(l) => &l.axis,
                _ => return None,
            };
            (**axis == *name).then_some(f.value)
        })
    }

    fn register(&self, name: &str) -> Option<i64> {
        self.control.registers.get(name).copied()
    }
}

impl Control {
    /// All engines at the begin of the program.
    pub fn new(p: &Program) -> Control {
        Control {
            streams: p.engines().iter().map(|e| Stream::new(p, e)).collect(),
            semaphores: OrdMap::new(),
            registers: OrdMap::new(),
            fires: OrdMap::new(),
            visits: OrdMap::new(),
        }
    }

    /// The value of a semaphore.
    pub fn semaphore(&self, id: u64) -> u64 {
        self.semaphores.get(&id).copied().unwrap_or(0)
    }

    /// Semaphores that are not 0, by id.
    pub fn semaphores(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.semaphores.iter().map(|(k, v)| (*k, *v))
    }

    /// The value of a register; `None` where nothing was written to it.
    pub fn register(&self, name: &str) -> Option<i64> {
        self.registers.get(name).copied()
    }

    /// Registers that were written, by name.
    pub fn registers(&self) -> impl Iterator<Item = (&Name, i64)> + '_ {
        self.registers.iter().map(|(k, v)| (k, *v))
    }

    /// The instruction that an engine is at; `None` at its end, and at the end of a block or
    /// round where it has a decision to take.
    pub fn current(&self, p: &Program, engine: Engine) -> Option<Item> {
        match self.stream(engine)?.spot(p) {
            Spot::Item(item) => Some(item),
            _ => None,
        }
    }

    /// Values of the axes of the loops around an engine's place, outermost first.
    pub fn axes(&self, p: &Program, engine: Engine) -> Vec<(Name, i64)> {
        let frames = self.stream(engine).map_or(&[][..], |s| &s.frames);
        let named = frames.iter().filter_map(|f| {
            let owner = p.region(f.region).owner?;
            match &p.entry(owner).inst.body {
                Body::Loop(l) => Some((l.axis.name.clone(), f.value)),
                Body::DynamicLoop(l) => Some((l.axis.clone(), f.value)),
                _ => None,
            }
        });
        named.collect()
    }

    /// How often a trigger has fired.
    pub fn fires(&self, p: &Program, trigger: Item) -> u64 {
        let entry = p.entry(trigger);
        if !entry.once {
            return self.fires.get(&trigger.0).copied().unwrap_or(0);
        }
        // All that go on with it are behind it then.
        let its = self.streams.iter().find(|s| entry.engines.has(s.engine));
        its.map_or(0, |s| u64::from(s.item(p, 0) > trigger))
    }

    /// Whether an engine has come to the end (or has no stream).
    pub fn is_done(&self, engine: Engine) -> bool {
        self.stream(engine).is_none_or(Stream::is_done)
    }

    pub(super) fn stream(&self, engine: Engine) -> Option<&Stream> {
        self.streams.iter().find(|s| s.engine == engine)
    }

    pub(super) fn view<'a>(&'a self, p: &'a Program, stream: &'a Stream) -> View<'a> {
        View { p, control: self, stream }
    }

    /// Who acts next: the ready engine with the least place in the program, so that a module
    /// without waits runs in the order of its arrays. Where nobody is ready, and somebody only
    /// keeps program order with an opaque instruction, the first of those.
    pub fn next_engine(&self, p: &Program) -> Choice {
        let mut order: Vec<&Stream> = self.streams.iter().filter(|s| !s.is_done()).collect();
        order.sort_by(|a, b| a.compare(b, p));
        let (mut blocked, mut late, mut busy) = (Vec::new(), None, false);
        for s in order {
            match self.ready(p, s.engine) {
                Ok(()) => return Choice::Run(s.engine),
                Err(why) => {
                    busy |= why == Why::Busy;
                    if matches!(why, Why::Order(_)) && late.is_none() {
                        late = Some(s.engine);
                    }
                    blocked.push((s.engine, why));
                }
            }
        }
        match late.filter(|_| !busy) {
            Some(engine) => Choice::Run(engine),
            None if blocked.is_empty() => Choice::Done,
            None => Choice::Blocked(blocked),
        }
    }

    /// All engines that could act now, by number.
    pub fn ready_engines(&self, p: &Program) -> Vec<Engine> {
        let all = self.streams.iter().map(|s| s.engine);
        let mut ready: Vec<Engine> = all.filter(|e| self.ready(p, *e).is_ok()).collect();
        if ready.is_empty()
            && let Choice::Run(engine) = self.next_engine(p)
        {
            ready.push(engine);
        }
        ready
    }

    /// Whether an engine can act now.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn ready(&self, p: &Program, engine: Engine) -> Result<(), Why> {
        let s = self.stream(engine).ok_or(Why::Done)?;
        if s.next.is_some() {
            return Err(Why::Busy);
        }
        let item = match s.spot(p) {
            Spot::Done => return Err(Why::Done),
            Spot::BlockEnd => return self.ready_at_block_end(p, s),
            Spot::RoundEnd => return self.arrived(p, s, self.companions(p, s)),
            Spot::Item(item) => item,
        };
        let entry = p.entry(item);
        for w in self.waits(p, item) {
            let value = self.semaphore(w.id);
            if value < w.value {
                return Err(Why::Semaphore { id: w.id, wanted: w.value, value });
            }
        }
        for edge in entry.edges(self.block(p, item)) {
            // Of several instances those that lie before matter, if any does.
            let before = |t: &&Item| self.lies_before(p, s, **t, edge.carried);
            let any = edge.targets.len() > 1 && edge.targets.iter().any(|t| before(&t));
            let meant = edge.targets.iter().filter(|t| !any || before(t));
            let states: SmallVec<[Held; 2]> =
                meant.map(|t| self.held_by(p, s, *t, edge.carried)).collect();
            if states.contains(&Held::Itself) && states.len() == 1 {
                return Err(Why::Itself(edge.name.clone()));
            }
            if states.contains(&Held::Yes) {
                return Err(Why::Dependency(edge.name.clone()));
            }
        }
        self.arrived(p, s, self.companions(p, s))?;
        if let Some(t) = entry.after.iter().find(|t| self.follows_open(p, s, **t)) {
            return Err(Why::Order(p.entry(*t).inst.name.clone()));
        }
        Ok(())
    }

    fn ready_at_block_end(&self, p: &Program, s: &Stream) -> Result<(), Why> {
        let Some((leader, _)) = self.leader(p, s) else { return Ok(()) };
        if leader == s.engine {
            return self.arrived(p, s, self.companions(p, s));
        }
        if self.follows(p, s).is_none() || self.nothing_ahead(p, s) {
            return Ok(());
        }
        Err(Why::Follows(leader))
    }

    fn leader(&self, p: &Program, s: &Stream) -> Option<(Engine, Engines)> {
        let top = s.frames.last()?;
        p.region(top.region).leaders.get(top.block as usize).copied().flatten()
    }

    /// The engine that this one follows out of the block it is in: where it has no branch of
    /// its own, and others have, the first of those, as long as that one has not gone.
    fn follows(&self, p: &Program, s: &Stream) -> Option<Engine> {
        let (leader, with) = self.leader(p, s)?;
        if with.has(s.engine) {
            return None;
        }
        let gone = self.stream(leader).is_none_or(|l| {
            l.is_done() || (l.compare(s, p) == Ordering::Greater && !l.same_visit(s, p))
        });
        (!gone).then_some(leader)
    }

    /// Whether an engine at the end of a block has nothing to do in any block that may follow.
    pub(super) fn nothing_ahead(&self, p: &Program, s: &Stream) -> bool {
        s.frames.last().is_some_and(|top| {
            let ahead = p.region(top.region).ahead.get(top.block as usize);
            top.region == RegionId(0) && ahead.is_some_and(|a| !a.has(s.engine))
        })
    }

    /// Engines that must have come to where this one is, and go on with it.
    fn companions(&self, p: &Program, s: &Stream) -> Engines {
        let registers = |e: &Expr| !e.registers().is_empty();
        match s.spot(p) {
            Spot::Done => Engines::default(),
            Spot::RoundEnd => {
                let owner = s.frames.last().and_then(|f| p.region(f.region).owner);
                let owner = owner.map(|o| p.entry(o));
                match owner.map(|o| (&o.inst.body, o.engines)) {
                    Some((Body::DoWhile(l), all)) if registers(&l.cond) => all,
                    _ => Engines::default(),
                }
            }
            Spot::BlockEnd => self.followers(p, s),
            Spot::Item(item) => {
                let e = p.entry(item);
                match &e.inst.body {
                    _ if e.joined => e.engines,
                    Body::Branch(_) | Body::Jump(_) => self.followers(p, s),
                    Body::DynamicLoop(l) => {
                        let any = [&l.lb, &l.ub, &l.stride].into_iter().any(registers);
                        if any { e.engines } else { Engines::default() }
                    }
                    _ => Engines::default(),
                }
            }
        }
    }

    /// Engines that leave the block with this one.
    fn followers(&self, p: &Program, s: &Stream) -> Engines {
        if self.leader(p, s).is_none_or(|(leader, _)| leader != s.engine) {
            return Engines::default();
        }
        let region = s.frames.last().map_or(RegionId(0), |f| f.region);
        let all = p.region(region).owner.map_or(p.engines(), |o| p.entry(o).engines);
        let (_, with) = self.leader(p, s).unwrap_or((s.engine, all));
        let follow = self.streams.iter().filter(|q| {
            let behind = q.compare(s, p) != Ordering::Greater || q.same_visit(s, p);
            let there = q.same_visit(s, p) && q.spot(p) == Spot::BlockEnd;
            all.has(q.engine)
                && !with.has(q.engine)
                && !q.is_done()
                && behind
                && !(there && self.nothing_ahead(p, q))
        });
        follow.fold(Engines::default(), |set, q| set.and(q.engine.into()))
    }

    /// Whether all of these are where `s` is (followers: at the end of its block), and none has
    /// begun what they do together.
    fn arrived(&self, p: &Program, s: &Stream, with: Engines) -> Result<(), Why> {
        let mut missing = Engines::default();
        let spot = s.spot(p);
        let leaves = match spot {
            Spot::BlockEnd => true,
            Spot::Item(i) => p.entry(i).branches(),
            _ => false,
        };
        for q in self.streams.iter().filter(|q| with.has(q.engine) && q.engine != s.engine) {
            let there = if leaves {
                q.same_visit(s, p) && q.spot(p) == Spot::BlockEnd
            } else {
                q.is_done() || (q.spot(p) == spot && q.compare(s, p) == Ordering::Equal)
            };
            if !there {
                missing = missing.and(q.engine.into());
            } else if q.next.is_some() {
                return Err(Why::Busy);
            }
        }
        if missing.is_empty() { Ok(()) } else { Err(Why::Join(missing)) }
    }

    /// The block that a trigger would fire now.
    pub(super) fn armed<'a>(&self, p: &'a Program, item: Item) -> Option<(Fired, &'a Arc<Inst>)> {
        let block = self.block(p, item)?;
        let (_, _, inst) = p.blocks().get(block)?;
        let (trigger, count) = (p.entry(item).inst.pos, self.fires(p, item));
        Some((Fired { trigger, block, count }, inst))
    }

    /// The number of that block.
    pub fn block(&self, p: &Program, item: Item) -> Option<BlockNo> {
        match p.entry(item).fires.as_slice() {
            [only] => *only,
            all => *all.get(self.fires(p, item).checked_rem(all.len() as u64)? as usize)?,
        }
    }

    /// Waits of an instruction, and of the block that it fires.
    fn waits<'a>(&self, p: &'a Program, item: Item) -> impl Iterator<Item = &'a Wait> {
        let block = self.block(p, item).and_then(|b| p.blocks().get(b));
        let waits = block.map_or(&[][..], |b| &b.2.waits);
        p.entry(item).inst.waits.iter().chain(waits)
    }

    /// Ends what an engine has begun with [`Control::fetch`]: semaphores are updated, counts
    /// go up, the engine (and who goes with it) moves on. Nothing happens where nothing was
    /// begun.
    pub fn complete(&mut self, p: &Program, engine: Engine) {
        let Some(at) = self.streams.iter().position(|s| s.engine == engine) else { return };
        let Some(next) = self.streams[at].next.take() else { return };
        let s = &self.streams[at];
        let spot = s.spot(p);
        let mut movers = Engines::from(engine);
        // Where a branch is not taken the followers stay at the end of the block.
        let stays = next == Next::On && matches!(spot, Spot::Item(i) if p.entry(i).branches());
        if !stays {
            movers = movers.and(self.companions(p, s));
        }
        if let Spot::Item(item) = spot {
            self.finish(p, item);
        }
        if let Next::Set(name, value) = &next {
            self.registers.insert(name.clone(), *value);
        }
        for s in self.streams.iter_mut().filter(|s| movers.has(s.engine)) {
            s.apply(p, &next);
        }
    }

    /// Counts and semaphores at the end of an instruction.
    fn finish(&mut self, p: &Program, item: Item) {
        let entry = p.entry(item);
        if entry.body.is_some() {
            return;
        }
        let inst = &entry.inst;
        let block = self.block(p, item).and_then(|b| p.blocks().get(b));
        match &inst.body {
            Body::Trigger(_) if !entry.once => {
                let n = self.fires(p, item);
                self.fires.insert(item.0, n + 1);
            }
            Body::ResetSemaphores(ids) => {
                for id in ids {
                    self.semaphores.remove(id);
                }
            }
            _ => {}
        }
        if inst.is_opaque() {
            let n = self.visit(inst.pos);
            self.visits.insert(inst.pos.0, n + 1);
        }
        let updates = inst.updates.iter().chain(block.map_or(&[][..], |b| &b.2.updates));
        for Update { id, value, .. } in updates {
            let sum = self.semaphore(*id).saturating_add(*value);
            if sum > 0 {
                self.semaphores.insert(*id, sum);
            }
        }
    }

    /// How often an opaque instruction was executed.
    pub(super) fn visit(&self, pos: Pos) -> u64 {
        self.visits.get(&pos.0).copied().unwrap_or(0)
    }

    /// The name of what an engine is at, for telling.
    pub fn place(&self, p: &Program, engine: Engine) -> String {
        match self.stream(engine).map(|s| (s.spot(p), s)) {
            None | Some((Spot::Done, _)) => "its end".to_owned(),
            Some((Spot::Item(item), _)) => format!("`{}`", p.entry(item).inst.name),
            Some((_, s)) => {
                let level = s.frames.len().wrapping_sub(2);
                match s.item(p, level) {
                    END => "the end of a block".to_owned(),
                    owner => format!("the end of a round of `{}`", p.entry(owner).inst.name),
                }
            }
        }
    }
}
