//! A run on rings proved batch by batch, where nothing in it can be told of (`docs/validation.md`,
//! "Batch by batch").
//!
//! The calm order lets an engine do a batch whole between the doorbell and the next act of any
//! CPU agent, and a sequencer waits for each of its batches: so that the run is one of batches,
//! and what comes before a batch is what its sequencer knew when it rang. What the ring model and
//! the order check would look at event by event is looked at here once a batch. Whatever is not
//! exactly so, and whatever would be told of, leaves it to the plain run: [`proves`] answers
//! whether the plain run would find nothing, or that it does not know.

use super::bytes::{AGENTS, Access, Bytes, Known, Mark, Unsure};
use super::packets::{Floor, Packets, Rules, WORD};
use super::{Reference, first_difference};
use crate::bir::Engine;
use crate::bir::exec::{Choice, Control, Item, Why};
use crate::bir::memory::UNWRITTEN;
use crate::bir::quick::QuickMap;
use crate::diag::Severity;
use crate::engine::author::stamp;
use crate::engine::module_run::{Batch, ModuleRun, Part, Work};
use crate::engine::order::Readings;
use crate::engine::order::semaphores::{Semaphores, zeroed};
use crate::engine::program::{Fill, HostOp, Program, QueueId, Speed};
use crate::engine::ring::Machine;
use crate::limits::MAX_BIR_STEPS;
use crate::udma::profile::WaitKind;
use crate::udma::ring::{next_ring_id, ring_id_of_lap};
use crate::udma::{Desc, Dir};

/// Whether a run of `p` ends with the memory that the reference left, without an error and
/// without a race under `readings`. No: that is not shown this way.
pub(super) fn proves(p: &Program, reference: &Reference, readings: Readings) -> bool {
    let run = || -> Result<bool, Unsure> {
        let mut run = Run::new(p, readings)?;
        let compared = reference.layout().placed();
        if !compared.iter().flat_map(|l| l.runs()).all(|(at, len)| run.bytes.holds(at, len)) {
            return Err(Unsure);
        }
        while run.turn()? {}
        Ok(run.control.next_engine(&run.module.exec) == Choice::Done
            && first_difference(reference.layout(), &reference.end, &run.bytes).is_none())
    };
    run().unwrap_or(false)
}

/// A queue between two batches.
struct Queue {
    id: QueueId,
    marker: u64,
    slots: u64,
    /// Descriptors that each ring has taken so far, and the phase that is expected next.
    posted: [u64; 2],
    phase: [u8; 2],
    /// A sequencer has a batch in it.
    taken: bool,
}

/// A sequencer.
struct Seq {
    engine: Engine,
    ready_ns: u64,
    work: Work,
    part: usize,
    /// When it reads its marker.
    polls: Option<u64>,
    /// Batches and stores that it has begun.
    count: u32,
    known: Known,
}

struct Run<'a> {
    p: &'a Program,
    module: &'a ModuleRun,
    rules: Rules,
    control: Control,
    seqs: Vec<Seq>,
    queues: Vec<Queue>,
    bytes: Bytes,
    now_ns: u64,
    steps: u64,
    /// What is known to who goes on because of a semaphore, of an instruction that is complete,
    /// of an engine.
    semaphores: Semaphores<Known>,
    done: QuickMap<u32, Known>,
    engines: [Known; AGENTS],
    /// Instructions for which somebody waits.
    awaited: Vec<bool>,
    stream: Vec<u8>,
}

fn join(into: &mut Known, more: &Known) {
    into.iter_mut().zip(more).for_each(|(a, b)| *a = (*a).max(*b));
}

impl<'a> Run<'a> {
    /// After the host has initialised the queues.
    fn new(p: &'a Program, readings: Readings) -> Result<Run<'a>, Unsure> {
        let module = p.module.as_deref().ok_or(Unsure)?;
        let plain = p.edits.is_empty()
            && p.schedule.is_calm()
            && p.speed == Speed::default()
            && p.registers.is_empty()
            && p.variables.is_empty()
            && p.script.iter().all(|s| matches!(s.op, HostOp::InitQueue { .. }));
        if !plain {
            return Err(Unsure);
        }
        let mut machine = Machine::new(p);
        while !machine.host.is_done(p) {
            machine.step(p).ok_or(Unsure)?;
        }
        if machine.has_errors() || machine.host.poll.is_some() || !machine.injected.is_empty() {
            return Err(Unsure);
        }
        let mut bytes = Bytes::new(regions(p));
        let mut apart = Vec::new();
        let mut queues = Vec::new();
        for q in &machine.queues {
            let rings = Dir::BOTH.map(|d| *q.hw(d));
            let sizes = rings.map(|r| r.ring.size);
            let fresh = q.ready
                && !q.decl.allocatable
                && rings
                    .iter()
                    .all(|r| r.posted == 0 && r.first == crate::engine::program::Start::FRESH)
                && sizes[0] == sizes[1]
                && sizes[0] > 0
                && Dir::BOTH.iter().all(|d| q.ring(*d) == q.hw(*d).ring);
            if !fresh {
                return Err(Unsure);
            }
            apart.extend(rings.map(|r| (r.ring.base, r.ring.bytes())));
            apart.push((q.decl.marker_area, 2 * WORD));
            queues.push(Queue {
                id: q.id(),
                marker: q.decl.marker_area,
                slots: sizes[0],
                posted: [0; 2],
                phase: rings.map(|r| r.ring_id),
                taken: false,
            });
        }
        // Rings, markers and data do not touch each other; all of them are memory.
        let outside = |&(at, len): &(u64, u64)| machine.memory.outside(at, len).is_some();
        if apart.iter().any(outside) {
            return Err(Unsure);
        }
        apart.extend(bytes.regions().iter().map(|r| (r.0, r.1 - r.0)));
        apart.sort_unstable();
        if apart.windows(2).any(|w| w[0].0.saturating_add(w[0].1) > w[1].0) {
            return Err(Unsure);
        }
        for c in &p.contents {
            bytes.load(c.addr, c.bytes.bytes())?;
        }
        let located = |l: &&crate::bir::Placed| l.runs().all(|(at, len)| bytes.holds(at, len));
        if !module.exec.layout().placed().iter().all(|l| located(&l)) {
            return Err(Unsure);
        }
        let exec = &module.exec;
        let is_awaited = |item| exec.is_meant(item) || !exec.joined(item).is_empty();
        let awaited = (0..exec.items()).map(|k| is_awaited(Item(k))).collect();
        let none = || Work { inst: None, waits: vec![], parts: vec![], updates: vec![] };
        let new = |engine| Seq {
            engine,
            ready_ns: 0,
            work: none(),
            part: 0,
            polls: None,
            count: 0,
            known: [0; AGENTS],
        };
        let seqs: Vec<Seq> = module.engines().into_iter().map(new).collect();
        if seqs.len() > AGENTS {
            return Err(Unsure);
        }
        Ok(Run {
            p,
            module,
            rules: Rules::new(p, readings)?,
            control: module.control(),
            seqs,
            queues,
            bytes,
            now_ns: machine.now_ns,
            steps: 0,
            semaphores: Semaphores::of(exec),
            done: QuickMap::default(),
            engines: [[0; AGENTS]; AGENTS],
            awaited,
            stream: Vec::new(),
        })
    }

    fn is_ready(&self, engine: Engine) -> bool {
        let exec = &self.module.exec;
        match self.control.ready(exec, engine) {
            Ok(()) => true,
            Err(Why::Order(_)) => self.control.next_engine(exec) == Choice::Run(engine),
            Err(_) => false,
        }
    }

    /// Lets the sequencer act whose time comes first, up to where others may come before its
    /// next act. No where none can.
    fn turn(&mut self) -> Result<bool, Unsure> {
        let mut best: Option<(u64, usize)> = None;
        for (k, s) in self.seqs.iter().enumerate() {
            let at = match s.polls {
                Some(at) => at,
                None => s.ready_ns.max(self.now_ns),
            };
            if best.is_none_or(|b| at < b.0) && (s.polls.is_some() || self.is_ready(s.engine)) {
                best = Some((at, k));
            }
        }
        let Some((at, k)) = best else { return Ok(false) };
        self.now_ns = self.now_ns.max(at);
        match self.seqs[k].polls.take() {
            None => self.begin(k)?,
            Some(_) => self.seen(k)?,
        }
        self.go_on(k)?;
        Ok(true)
    }

    /// Begins the next instruction of a sequencer.
    fn begin(&mut self, k: usize) -> Result<(), Unsure> {
        let Run { control, module, bytes, seqs, .. } = self;
        let engine = seqs[k].engine;
        if self.steps >= MAX_BIR_STEPS
            || control.exceeds(&module.exec, engine, MAX_BIR_STEPS).is_some()
        {
            return Err(Unsure);
        }
        let block = control.current(&module.exec, engine);
        let block = block.and_then(|item| control.block(&module.exec, item));
        let (work, remarks) = module.work(control, &*bytes, engine).map_err(|_| Unsure)?;
        if remarks.iter().any(|d| d.severity == Severity::Error) {
            return Err(Unsure);
        }
        self.steps += 1;
        let known = &mut seqs[k].known;
        if let Some((_, item)) = work.inst {
            for before in module.exec.comes_after(item, block) {
                self.done.get(&before.0).into_iter().for_each(|p| join(known, p));
            }
            for e in module.exec.joined(item).iter() {
                join(known, &self.engines[e.number() as usize % AGENTS]);
            }
        }
        let inst = work.inst.and_then(|(_, item)| module.exec.inst(item));
        for id in inst.into_iter().flat_map(|i| zeroed(i)) {
            self.semaphores.zero(*id);
        }
        for (id, value) in &work.waits {
            self.semaphores.reached(*id, *value).into_iter().for_each(|p| join(known, p));
        }
        (seqs[k].work, seqs[k].part) = (work, 0);
        Ok(())
    }

    /// Its marker is there: the batch is over.
    fn seen(&mut self, k: usize) -> Result<(), Unsure> {
        let s = &mut self.seqs[k];
        s.ready_ns = self.now_ns;
        s.known[k] = s.count;
        let Some(Part::Batch(b)) = s.work.parts.get(s.part) else { return Err(Unsure) };
        let q = self.queues.iter_mut().find(|q| q.id == b.queue).ok_or(Unsure)?;
        q.taken = false;
        s.part += 1;
        Ok(())
    }

    /// What is left of an instruction, as far as the next wait for a marker.
    fn go_on(&mut self, k: usize) -> Result<(), Unsure> {
        let work = &self.seqs[k].work;
        let mut part = self.seqs[k].part;
        if work.parts.is_empty() {
            return self.end(k);
        }
        let work = std::mem::replace(
            &mut self.seqs[k].work,
            Work { inst: None, waits: Vec::new(), parts: Vec::new(), updates: Vec::new() },
        );
        let mut waits = false;
        while let Some(next) = work.parts.get(part) {
            match next {
                Part::Store { addr, bytes } => {
                    let s = &mut self.seqs[k];
                    s.count = s.count.checked_add(1).ok_or(Unsure)?;
                    let mark = Mark { agent: k as u8, count: s.count };
                    let access = Access { mark, known: &s.known, rank: 0 };
                    self.bytes.write_by(*addr, bytes.bytes(), &access)?;
                    s.known[k] = s.count;
                    part += 1;
                }
                Part::Batch(batch) => {
                    self.batch(k, batch)?;
                    waits = true;
                    break;
                }
            }
        }
        (self.seqs[k].work, self.seqs[k].part) = (work, part);
        if waits { Ok(()) } else { self.end(k) }
    }

    /// The instruction is complete.
    fn end(&mut self, k: usize) -> Result<(), Unsure> {
        let s = &mut self.seqs[k];
        for (id, by) in &s.work.updates {
            self.semaphores.raise(*id, *by, |known| join(known, &s.known));
        }
        self.control.complete(&self.module.exec, s.engine);
        let Some((_, item)) = s.work.inst else { return Ok(()) };
        let known = s.known;
        join(&mut self.engines[s.engine.number() as usize % AGENTS], &known);
        for item in self.module.exec.completes(item) {
            if self.awaited.get(item.0 as usize).copied().unwrap_or(true) {
                join(self.done.entry(item.0).or_default(), &known);
            }
        }
        let joined = self.module.exec.joined(item);
        if !joined.is_empty() {
            let done = self.done.get(&item.0).copied().unwrap_or_default();
            for s in self.seqs.iter_mut().filter(|s| joined.has(s.engine)) {
                join(&mut s.known, &done);
            }
        }
        Ok(())
    }

    /// A batch of sequencer `k`, from its first store into the rings to the wait for its marker.
    fn batch(&mut self, k: usize, batch: &Batch) -> Result<(), Unsure> {
        let at = self.queues.iter().position(|q| q.id == batch.queue).ok_or(Unsure)?;
        let s = &mut self.seqs[k];
        let q = &mut self.queues[at];
        let fits = |n: usize| n > 0 && n as u64 <= q.slots;
        // Its slots and words are handed on from one sequencer to the next.
        let good =
            !q.taken && batch.marker == q.marker && fits(batch.tx.len()) && fits(batch.rx.len());
        if !good {
            return Err(Unsure);
        }
        s.count = s.count.checked_add(1).ok_or(Unsure)?;
        let mark = Mark { agent: k as u8, count: s.count };
        q.taken = true;
        for (dir, n) in [(Dir::Tx, batch.tx.len()), (Dir::Rx, batch.rx.len())] {
            q.take(dir, n as u64)?;
        }
        let mut does = Packets {
            rules: &mut self.rules,
            bytes: &mut self.bytes,
            stream: &mut self.stream,
            mark,
            known: &s.known,
            marker: batch.marker,
            floor: Floor::default(),
            written: 0,
        };
        does.all(batch)?;
        let pending = u64::from(batch.counts().m2s);
        let p = self.p;
        let budget = p.profile.wait_budget(p.arch, p.platform, pending, WaitKind::Sync);
        let ready_ns = self.now_ns.saturating_add(budget.delay_us.saturating_mul(1000));
        (s.ready_ns, s.polls) = (ready_ns, Some(ready_ns.max(self.now_ns)));
        Ok(())
    }
}

/// Regions of data: what nobody wrote reads there as in the reference.
fn regions(p: &Program) -> Vec<(u64, u64)> {
    let data = p.regions.iter().filter(|r| r.fill == Fill::Byte(UNWRITTEN));
    data.map(|r| (r.base, r.base.saturating_add(r.len))).collect()
}

impl Queue {
    /// `n` more descriptors: they are stamped with the phase that the engine expects.
    fn take(&mut self, dir: Dir, n: u64) -> Result<(), Unsure> {
        let d = usize::from(dir == Dir::Rx);
        let (mut at, end) = (self.posted[d], self.posted[d] + n);
        while at < end {
            let put =
                stamp(Desc { len_ctrl: 0, word1: 0, ptr: 0 }, dir, ring_id_of_lap(at / self.slots));
            if put.ring_id() != self.phase[d] {
                return Err(Unsure);
            }
            let wraps = (at / self.slots + 1) * self.slots;
            at = wraps.min(end);
            if at == wraps {
                self.phase[d] = next_ring_id(self.phase[d]);
            }
        }
        self.posted[d] = end;
        Ok(())
    }
}
