//! Sequencers: one for each compute engine of a module, executing its instructions in order
//! (`docs/sequencer.md`).
//!
//! A sequencer is a CPU agent like the host: what a trigger or a transfer needs becomes
//! descriptors copied into a ring, patched addresses, a seeded marker, doorbells, a poll and an
//! ack, each a visible event. MODEL: a queue serves one trigger at a time; a sequencer waits
//! for the marker of its batch before anything else; its instructions between transfers take
//! no time.

use super::event::{EventKind, MarkerWord, Ret};
use super::host::{Counts, Frame, Host, Next};
use super::machine::Machine;
use super::queue::{StagedRun, ix};
use crate::bir::exec::{Choice, Control, Why};
use crate::bir::{Engine, Pos};
use crate::diag::Diagnostic;
use crate::engine::author::stamp;
use crate::engine::module_run::{Batch, ModuleRun, Part, Work};
use crate::engine::program::{Program, QueueId, RingType};
use crate::limits::MAX_BIR_STEPS;
use crate::udma::profile::{MARKER, WaitKind};
use crate::udma::{DESC_BYTES, Dir, ring};
use std::sync::Arc;

/// Offset of the pointer in a descriptor.
const PTR_OFFSET: u64 = 8;

/// A sequencer's state.
#[derive(Debug, Clone, Hash)]
pub struct Sequencer {
    /// Whose.
    pub engine: Engine,
    /// Its calls, poll and clock.
    pub host: Host,
    /// What the instruction in work needs.
    pub work: Option<Arc<Work>>,
    /// It cannot go on; that was told.
    pub failed: bool,
}

/// Where a sequencer is in its instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Telling of the semaphores that it waited for.
    Waits,
    /// Doing its parts.
    Parts,
    /// Telling of the semaphores that it updates.
    Updates,
}

impl Sequencer {
    /// One for each engine that the program's module uses.
    pub fn all(p: &Program) -> Vec<Sequencer> {
        let engines = p.module.as_ref().map(|m| m.engines()).unwrap_or_default();
        let new = |engine| Sequencer { engine, host: Host::default(), work: None, failed: false };
        engines.into_iter().map(new).collect()
    }

    /// When it acts next, and whether that is a read of its marker; nothing where it waits for
    /// another, has failed or is done.
    pub(super) fn next(&self, m: &Machine, p: &Program) -> Option<(u64, bool)> {
        if self.failed {
            return None;
        }
        if let Some(poll) = self.host.poll {
            return Some((poll.next_ns, true));
        }
        if self.host.stack.is_empty() {
            let started = m.host.poll.is_none() && m.host.is_done(p);
            if !started || !m.control_ready(p, self.engine) {
                return None;
            }
        } else if self.waits_for_queue(m).is_some() {
            return None;
        }
        Some((self.host.ready_ns.max(m.now_ns), false))
    }

    /// The queue into which it would fire with its next act while that serves another, and whom.
    fn waits_for_queue(&self, m: &Machine) -> Option<(QueueId, Engine)> {
        let queue = self.about_to_begin()?.queue;
        let owner = m.queues[m.index_of(queue)?].owner?;
        (owner != self.engine).then_some((queue, owner))
    }

    /// The batch that it would begin with its next act.
    fn about_to_begin(&self) -> Option<&Batch> {
        let part = match self.host.stack.last()? {
            Frame::Seq { stage: Stage::Parts, part, step: 0 } => part,
            // Behind the last wait it goes on to the first part.
            Frame::Seq { stage: Stage::Waits, part, .. }
                if *part as usize >= self.work.as_ref()?.waits.len() =>
            {
                &0
            }
            _ => return None,
        };
        match self.work.as_ref()?.parts.get(*part as usize)? {
            Part::Batch(b) => Some(b),
            Part::Store { .. } => None,
        }
    }
}

impl Machine {
    fn control_ready(&self, p: &Program, engine: Engine) -> bool {
        let (Some(run), Some(control)) = (&p.module, &self.control) else { return false };
        match control.ready(&run.exec, engine) {
            Ok(()) => true,
            // Program order with an opaque instruction is kept only while others can act.
            Err(Why::Order(_)) => control.next_engine(&run.exec) == Choice::Run(engine),
            Err(_) => false,
        }
    }

    /// Begins the next instruction of the sequencer that acts.
    pub(super) fn seq_begin(&mut self, p: &Program, k: usize) -> Option<EventKind> {
        let run = p.module.clone()?;
        let mut control = self.control.clone()?;
        let engine = self.seqs[k].engine;
        let work = match self.too_many_steps(&run, &control, engine) {
            Some(d) => Err(d),
            None => run.work(Arc::make_mut(&mut control), &self.memory, engine),
        };
        self.seq_steps += 1;
        self.control = Some(control);
        match work {
            Ok((work, remarks)) => {
                for d in remarks {
                    self.find(d);
                }
                let inst = work.inst;
                self.seqs[k].work = Some(Arc::new(work));
                self.host.stack.push(Frame::Seq { stage: Stage::Waits, part: 0, step: 0 });
                inst.map(|(pos, item)| EventKind::Inst { pos, item })
            }
            Err(mut d) => {
                self.seqs[k].failed = true;
                let at = self.control.as_ref().and_then(|c| c.current(&run.exec, engine));
                let pos = at.and_then(|i| run.exec.inst(i)).map_or(Pos::ADDED, |i| i.pos);
                if let Some(info) = run.inst(pos) {
                    d.place = info.place;
                }
                self.find(d);
                Some(EventKind::Blocked { pos })
            }
        }
    }

    /// The bound of an execution (`docs/execution.md`, "Limits") holds here too.
    fn too_many_steps(
        &self,
        run: &ModuleRun,
        control: &Control,
        engine: Engine,
    ) -> Option<Diagnostic> {
        if let Some(f) = control.exceeds(&run.exec, engine, MAX_BIR_STEPS) {
            return Some(f.diag);
        }
        let text = || {
            let place = control.place(&run.exec, engine);
            format!("more than {MAX_BIR_STEPS} steps; {engine} is at {place}")
        };
        (self.seq_steps >= MAX_BIR_STEPS).then(|| Diagnostic::new("B070", text()))
    }

    /// Tells of a sequencer that waits for what nobody will do; each one once.
    pub(super) fn seq_blocked(&mut self, p: &Program) -> Option<(usize, EventKind)> {
        let run = p.module.as_ref()?;
        let control = self.control.as_ref()?;
        let stuck = self.seqs.iter().enumerate().filter(|(_, s)| !s.failed).find_map(|(k, s)| {
            if let Some((queue, owner)) = s.waits_for_queue(self) {
                let name = run.queue_name(queue).map_or(queue.to_string(), |n| n.to_string());
                return Some((k, format!("waits for {name}, which serves {owner} for ever")));
            }
            let why = control.ready(&run.exec, s.engine).err()?;
            (why != Why::Done).then(|| (k, why.to_string()))
        });
        let (k, why) = stuck?;
        self.seqs[k].failed = true;
        let engine = self.seqs[k].engine;
        let at = control.current(&run.exec, engine).and_then(|i| run.exec.inst(i));
        let pos = at.map_or(crate::bir::Pos(0), |i| i.pos);
        let place = control.place(&run.exec, engine);
        let text = format!("{engine} stands for ever at {place}: it {why}");
        self.find(Diagnostic::new("R024", text));
        Some((k, EventKind::Blocked { pos }))
    }

    pub(super) fn seq_step(&mut self, p: &Program, stage: Stage, part: u32, step: u32) -> Next {
        let Some(k) = self.active else { return Next::End(Ret::OK) };
        let Some(work) = self.seqs[k].work.clone() else { return Next::End(Ret::OK) };
        let at = |stage, part, step| Frame::Seq { stage, part, step };
        match stage {
            Stage::Waits => match work.waits.get(part as usize) {
                Some(&(id, value)) => {
                    Next::Event(EventKind::SemWait { id, value }, at(stage, part + 1, 0))
                }
                None => Next::Again(at(Stage::Parts, 0, 0)),
            },
            Stage::Parts => match work.parts.get(part as usize) {
                Some(Part::Store { addr, bytes }) => {
                    self.memory.write_blob(*addr, bytes.clone());
                    self.host.unfenced = true;
                    self.host.polled = None;
                    let len = bytes.len() as u64;
                    Next::Event(EventKind::Store { addr: *addr, len }, at(stage, part + 1, 0))
                }
                Some(Part::Batch(batch)) => self.batch(p, k, batch, (part, step)),
                None => Next::Again(at(Stage::Updates, 0, 0)),
            },
            Stage::Updates => match work.updates.get(part as usize) {
                Some(&(id, add)) => {
                    Next::Event(EventKind::SemUpdate { id, add }, at(stage, part + 1, 0))
                }
                None => self.seq_end(p, k),
            },
        }
    }

    /// The instruction is complete.
    fn seq_end(&mut self, p: &Program, k: usize) -> Next {
        let engine = self.seqs[k].engine;
        let inst = self.seqs[k].work.take().and_then(|w| w.inst);
        if let (Some(run), Some(control)) = (&p.module, &mut self.control) {
            Arc::make_mut(control).complete(&run.exec, engine);
        }
        match inst {
            Some((pos, item)) => Next::Last(EventKind::InstDone { pos, item }, Ret::OK),
            None => Next::End(Ret::OK),
        }
    }

    /// One step of a batch: both rings, the marker, patched addresses, doorbells, the wait.
    fn batch(&mut self, p: &Program, k: usize, batch: &Batch, (part, step): (u32, u32)) -> Next {
        let again = |step| Frame::Seq { stage: Stage::Parts, part, step };
        let Some(i) = self.index_of(batch.queue) else { return self.give_up(k) };
        let patches = batch.patches.len() as u32;
        match step {
            0 => {
                self.queues[i].owner = Some(self.seqs[k].engine);
                self.queues[i].marker = batch.marker;
                Next::Again(again(1))
            }
            1..=4 => {
                let dir = if step <= 2 { Dir::Tx } else { Dir::Rx };
                match self.put_in(p, i, batch, dir, step % 2 == 0) {
                    None => Next::Again(again(step + 1)),
                    Some(Ok(kind)) => Next::Event(kind, again(step + 1)),
                    Some(Err(e)) => {
                        let text = format!("copying descriptors into the ring returned {}", e.0);
                        self.find(Diagnostic::new("R003", text));
                        self.give_up(k)
                    }
                }
            }
            5 => {
                let kind = self.marker_write(MarkerWord::Src, batch.marker, MARKER);
                Next::Event(kind, again(6))
            }
            6 => {
                let kind = self.marker_write(MarkerWord::Dst, batch.marker.wrapping_add(4), 0);
                Next::Event(kind, again(7))
            }
            n if n - 7 < patches => {
                let (dir, index) = batch.patches[(n - 7) as usize];
                Next::Event(self.patch(i, batch, dir, index), again(n + 1))
            }
            n if n - 7 == patches => {
                let Counts { m2s, s2m } = batch.counts();
                let start = Frame::Start { queue: batch.queue, m2s, s2m, step: 0 };
                Next::Call(again(n + 1), start)
            }
            n if n - 7 == patches + 1 => {
                if self.host.result() != Ret::OK {
                    let text = format!("the doorbell call returned {}", self.host.result());
                    self.find(Diagnostic::new("R003", text));
                    return self.give_up(k);
                }
                let (queue, marker) = (batch.queue, Some(batch.marker));
                let (counts, kind) = (batch.counts(), WaitKind::Sync);
                Next::Call(again(n + 1), Frame::Wait { queue, marker, counts, kind, step: 0 })
            }
            _ => {
                // A batch that timed out has been told of.
                if self.host.result() != Ret::OK {
                    return self.give_up(k);
                }
                self.queues[i].owner = None;
                Next::Again(Frame::Seq { stage: Stage::Parts, part: part + 1, step: 0 })
            }
        }
    }

    /// The sequencer stands for good; its queue stays taken.
    fn give_up(&mut self, k: usize) -> Next {
        self.seqs[k].failed = true;
        self.seqs[k].work = None;
        Next::End(Ret::Code(-1))
    }

    /// Copies the descriptors of one direction in: up to the ring's end, or what goes round it.
    /// Run-time addresses are left zero until they are patched.
    fn put_in(
        &mut self,
        p: &Program,
        i: usize,
        batch: &Batch,
        dir: Dir,
        around: bool,
    ) -> Option<Result<EventKind, crate::udma::Errno>> {
        let descs = batch.descs(dir);
        let hw = *self.queues[i].hw(dir);
        let size = self.queues[i].ring(dir).size.max(1);
        let from = hw.posted % size;
        let first = (size - from).min(descs.len() as u64);
        let (range, at) = if around { (first..descs.len() as u64, 0) } else { (0..first, from) };
        if range.is_empty() {
            return None;
        }
        let run = StagedRun {
            first: hw.posted + range.start,
            count: range.end - range.start,
            skip: range.start,
            batch: batch.origins[ix(dir)].clone(),
        };
        let mut bytes = Vec::with_capacity((range.end - range.start) as usize * DESC_BYTES);
        for n in range {
            let mut desc =
                stamp(descs[n as usize], dir, ring::ring_id_of_lap((hw.posted + n) / size));
            if batch.patches.binary_search(&(dir, n as u32)).is_ok() {
                desc.ptr = 0;
            }
            bytes.extend(desc.to_bytes());
        }
        let done = self.copy_in(p, batch.queue, RingType::Dir(dir), at, &bytes);
        if done.is_ok() {
            self.queues[i].staged_from(dir, run);
        }
        Some(done)
    }

    /// Writes a resolved address into a staged descriptor.
    fn patch(&mut self, i: usize, batch: &Batch, dir: Dir, index: u32) -> EventKind {
        let q = &self.queues[i];
        let slot = (q.hw(dir).posted + u64::from(index)) % q.ring(dir).size.max(1);
        let at = q.ring(dir).slot_addr(slot).wrapping_add(PTR_OFFSET);
        let addr = batch.descs(dir).get(index as usize).map_or(0, |d| d.ptr);
        self.memory.write(at, &addr.to_le_bytes());
        self.host.unfenced = true;
        EventKind::Patch { queue: batch.queue, dir, slot, at, addr }
    }

    /// The instruction of the loaded module from which an Rx descriptor of the batch in work
    /// stems, by its slot. A block may hold descriptors of several instructions. `None` for the
    /// completion pair, and where no sequencer has a batch in this queue.
    pub fn rx_origin(&self, queue: QueueId, slot: u64) -> Option<Pos> {
        let q = self.queue(queue)?;
        let seq = self.seqs.iter().find(|s| Some(s.engine) == q.owner)?;
        let part = seq.host.stack.iter().rev().find_map(|f| match f {
            Frame::Seq { part, .. } => Some(*part),
            _ => None,
        })?;
        let Part::Batch(batch) = seq.work.as_ref()?.parts.get(part as usize)? else { return None };
        let size = q.ring(Dir::Rx).size.max(1);
        let first = q.hw(Dir::Rx).posted.wrapping_sub(batch.rx.len() as u64) % size;
        let at = (slot + size - first) % size;
        batch.origins[ix(Dir::Rx)]
            .get(at as usize)
            .filter(|o| o.descriptor.is_some())
            .map(|o| o.inst)
    }

    /// Whether nothing of the module is left to do.
    pub fn module_done(&self, p: &Program) -> bool {
        let Some(control) = &self.control else { return p.module.is_none() };
        self.seqs.iter().all(|s| s.host.stack.is_empty() && control.is_done(s.engine))
    }
}
