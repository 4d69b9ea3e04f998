//! A program run for a comparison: what it staged on each ring, in the order of time, what each
//! pair of doorbells handed over, and how it ended.

use super::descs::Slots;
use crate::diag::Diagnostic;
use crate::engine::order::{Checker, Readings};
use crate::engine::program::{HostOp, Program, QueueId};
use crate::engine::ring::event::SlotTaken;
use crate::engine::ring::machine::run;
use crate::engine::ring::queue::ix;
use crate::engine::ring::{Agent, Event, EventKind, Machine, Ret};
use crate::limits::MAX_DIFF_DESCS;
use crate::udma::desc::iter_image;
use crate::udma::{DESC_BYTES, Desc, Dir};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What was put on one ring, in the order of time.
#[derive(Debug, Default)]
pub struct Staged {
    slots: Vec<u64>,
    descs: Vec<Desc>,
    made_of: Vec<Option<Arc<str>>>,
    newest: HashMap<u64, usize>,
}

impl Slots for Staged {
    fn len(&self) -> u64 {
        self.descs.len() as u64
    }

    fn read(&self, first: u64, out: &mut [Desc]) -> usize {
        self.descs.as_slice().read(first, out)
    }

    fn slot(&self, place: u64) -> u64 {
        self.slots.get(place as usize).copied().unwrap_or(place)
    }

    fn made_of(&self, place: u64) -> Option<Arc<str>> {
        self.made_of.get(place as usize).cloned().flatten()
    }
}

/// One queue during a run.
#[derive(Debug, Default)]
pub struct QueueRecord {
    /// What was staged, Tx then Rx.
    pub staged: [Staged; 2],
    /// Counts of each pair of doorbells, Tx then Rx.
    pub batches: Vec<(u32, u32)>,
}

/// A run.
#[derive(Debug)]
pub struct Record {
    /// The end, or the state at the bound.
    pub machine: Machine,
    /// Queues that took part.
    pub queues: BTreeMap<QueueId, QueueRecord>,
    /// What each call of the host script returned, in order.
    pub rets: Vec<Ret>,
    /// Reads of markers, and looks at idle engines.
    pub polls: u64,
    /// What nothing orders in the run of a module.
    pub races: Vec<Diagnostic>,
    /// The run came to its end.
    pub finished: bool,
    /// All that was staged is noted.
    pub complete: bool,
}

struct Recorder<'p> {
    program: &'p Program,
    queues: BTreeMap<QueueId, QueueRecord>,
    texts: HashMap<u32, Arc<str>>,
    op: Option<u32>,
    polls: u64,
    left: usize,
}

/// Runs a program to its end, or for so many events.
pub fn record(program: &Program, events: u64) -> Record {
    let mut r = Recorder {
        program,
        queues: BTreeMap::new(),
        texts: HashMap::new(),
        op: None,
        polls: 0,
        left: MAX_DIFF_DESCS,
    };
    let mut complete = true;
    // When a host of an image waits is not known; a module says it.
    let mut checker = program.module.as_ref().map(|_| Checker::new(program, Readings::default()));
    let done = run(program, |m, e| {
        complete &= r.event(m, e).is_some();
        if let Some(c) = &mut checker {
            c.event(m, e);
        }
        e.n < events
    });
    let finished = done.machine.n < events || done.machine.at_end(program);
    Record {
        machine: done.machine,
        queues: r.queues,
        rets: done.rets.into_iter().map(|(_, ret)| ret).collect(),
        polls: r.polls,
        races: checker.map_or_else(Vec::new, |c| c.finish().diagnostics(program)),
        finished,
        complete,
    }
}

impl Recorder<'_> {
    /// Notes an event; nothing where there is no room for it.
    fn event(&mut self, m: &Machine, e: &Event) -> Option<()> {
        match e.kind {
            EventKind::Call { op } => self.op = Some(op),
            EventKind::Stage { queue, tx, rx, .. } => {
                self.one(queue, Dir::Tx, tx)?;
                self.one(queue, Dir::Rx, rx)?;
            }
            EventKind::CopyIn { queue, dir, slot, count } => {
                self.many(m, e, (queue, dir), (slot, count))?;
            }
            EventKind::Patch { queue, dir, slot, addr, .. } => {
                let staged = &mut self.queues.get_mut(&queue)?.staged[ix(dir)];
                let at = *staged.newest.get(&slot)?;
                staged.descs.get_mut(at)?.ptr = addr;
            }
            EventKind::CopyStart { queue, m2s, s2m } => {
                self.queues.entry(queue).or_default().batches.push((m2s, s2m));
            }
            EventKind::Poll { reads, .. } | EventKind::PollIdle { reads, .. } => {
                self.polls = self.polls.saturating_add(reads);
            }
            _ => {}
        }
        Some(())
    }

    fn one(&mut self, queue: QueueId, dir: Dir, taken: SlotTaken) -> Option<()> {
        let Some(desc) = taken.desc else { return Some(()) };
        self.push(queue, dir, taken.slot, desc, None)
    }

    fn push(
        &mut self,
        queue: QueueId,
        dir: Dir,
        slot: u64,
        desc: Desc,
        made_of: Option<Arc<str>>,
    ) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        let staged = &mut self.queues.entry(queue).or_default().staged[ix(dir)];
        staged.newest.insert(slot, staged.descs.len());
        staged.slots.push(slot);
        staged.descs.push(desc);
        staged.made_of.push(made_of);
        Some(())
    }

    fn many(
        &mut self,
        m: &Machine,
        e: &Event,
        (queue, dir): (QueueId, Dir),
        (slot, count): (u64, u64),
    ) -> Option<()> {
        let q = m.queue(queue)?;
        let ring = q.ring(dir);
        // What the host's script holds need not be read from memory.
        let script = self.op.and_then(|op| self.program.script.get(op as usize));
        if let (Agent::Host, Some(HostOp::CopyIn { descs, .. })) = (e.agent, script.map(|s| &s.op))
        {
            for (i, d) in iter_image(descs.bytes()).take(count as usize).enumerate() {
                if !d.is_zero() {
                    self.push(queue, dir, slot + i as u64, d, None)?;
                }
            }
            return Some(());
        }
        for i in 0..count {
            let at = (slot + i).checked_rem(ring.size)?;
            let mut bytes = [0; DESC_BYTES];
            m.memory.read(ring.slot_addr(at), &mut bytes);
            let made_of = q.origin(dir, at).and_then(|o| self.text(o.inst));
            self.push(queue, dir, at, Desc::from_bytes(&bytes), made_of)?;
        }
        Some(())
    }

    /// What an instruction of the module is called.
    fn text(&mut self, pos: crate::bir::Pos) -> Option<Arc<str>> {
        let run = self.program.module.as_ref()?;
        let known = self.texts.entry(pos.0);
        let text = || run.inst(pos).map(|i| i.text).unwrap_or_default().into();
        Some(known.or_insert_with(text).clone()).filter(|t: &Arc<str>| !t.is_empty())
    }
}
