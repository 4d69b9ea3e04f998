//! The whole state of a run, and the step that makes the next event happen.
//!
//! The order is fixed: the engine acts as soon as its work is due, otherwise the host, but for
//! what the program's schedule holds back (`loose`). A run is therefore a function of the program
//! alone, and an event number names a moment.

use super::device::LaterFault;
use super::digest::digest;
use super::event::{Agent, Event, EventKind, Phase, Ret};
use super::host::Host;
use super::inject::Injected;
use super::lint;
use super::loose::Loose;
use super::memory::Memory;
use super::queue::Queue;
use super::seq::Sequencer;
use crate::bir::exec::Control;
use crate::diag::{Diagnostic, Severity};
use crate::engine::program::{Program, QueueId};
use crate::limits::MAX_RUN_SAME_CODE;
use crate::udma::{Dir, count_of, reg};
use imbl::{OrdMap, OrdSet, Vector};
use std::cmp::Ordering::{Greater, Less};
use std::collections::VecDeque;
use std::sync::Arc;

/// A finding and the event at which it was made.
pub type Finding = Diagnostic;

/// The answer of [`Machine::step`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What happened.
    pub event: Event,
    /// How many findings were made by it; the newest of [`Machine::findings`].
    pub findings: usize,
}

/// What a wait polls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Polling {
    /// The word that is read.
    pub addr: u64,
    /// When the next read is made, nanoseconds.
    pub next_ns: u64,
    /// Reads that the budget still allows.
    pub left: u64,
    /// Reads made, not yet told as an event.
    pub untold: u64,
    /// Reads told.
    pub told: u64,
    /// Wait for an idle engine rather than a marker: index of its queue.
    pub idle_of: Option<usize>,
}

/// The state of a run between two events.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Events so far: the number of the newest one.
    pub n: u64,
    /// Virtual time, nanoseconds.
    pub now_ns: u64,
    /// Memory.
    pub memory: Memory,
    /// Queues, in the program's order.
    pub queues: Vec<Queue>,
    /// Registers as last written: (engine, offset in its block) to value.
    pub regs: OrdMap<(u32, u32), u32>,
    /// Engines that aborted.
    pub aborted: OrdSet<u32>,
    /// Causes recorded, up to a bound for each: queue, direction, bit, slot.
    pub causes: Vector<(QueueId, Dir, u8, u64)>,
    /// How often each cause was recorded.
    pub cause_counts: OrdMap<(Dir, u8), u64>,
    /// The host; while a sequencer acts, that sequencer's state stands here instead.
    pub host: Host,
    /// Sequencers of the module's engines, in the order of [`crate::bir::Engine::STREAMS`].
    pub seqs: Vec<Sequencer>,
    /// Where the module's instruction streams stand.
    pub control: Option<Arc<Control>>,
    /// Steps that the sequencers took.
    pub seq_steps: u64,
    /// The sequencer that acts, or acted last among the CPU agents; none: the host.
    pub active: Option<usize>,
    /// Microseconds between a TX doorbell and the start of work (a scenario's).
    pub latency_us: u64,
    /// Doorbells start no work (a scenario's).
    pub held: bool,
    /// Doorbell writes still to be lost (a scenario's).
    pub lose: u32,
    /// The driver believes itself in a reset window (a scenario's).
    pub reset_window: bool,
    /// Findings so far, up to a bound for each code.
    pub findings: Vector<Finding>,
    /// How often each code was found.
    pub finding_counts: OrdMap<&'static str, u64>,
    /// Queues for which unknown source bytes were told.
    pub told_unknown: OrdSet<QueueId>,
    /// What an order that is not the calm one keeps; nothing in the calm one.
    pub loose: Option<Box<Loose>>,
    /// Faults of the descriptor just fetched, each the next event.
    pub queued: VecDeque<LaterFault>,
    /// Faults that a user injected and that have not been found yet, in the order made.
    pub injected: Vector<Injected>,
    /// The newest event.
    pub last: Option<Event>,
    /// The newest event is the last, and the findings tell what that shows: those before.
    pub closed: Option<Box<super::end::Closed>>,
}

/// A CPU agent whose turn it may be.
pub(super) struct NextCpu {
    /// The sequencer; none: the host.
    pub who: Option<usize>,
    /// When it acts, nanoseconds.
    pub at: u64,
    /// Its act is a read of its marker.
    pub polls: bool,
    /// When the next of the others acts.
    pub others_at: u64,
}

impl NextCpu {
    fn new(who: Option<usize>, at: u64, polls: bool) -> NextCpu {
        NextCpu { who, at, polls, others_at: u64::MAX }
    }
}

impl Machine {
    /// The state before the first event, edits of event 0 made.
    pub fn new(program: &Program) -> Machine {
        let mut machine = Machine {
            n: 0,
            now_ns: 0,
            memory: Memory::new(program),
            queues: program.queues.iter().map(Queue::new).collect(),
            regs: program.registers.iter().map(|&(e, o, v)| ((e, o), v)).collect(),
            aborted: OrdSet::new(),
            causes: Vector::new(),
            cause_counts: OrdMap::new(),
            host: Host::default(),
            seqs: Sequencer::all(program),
            control: program.module.as_ref().map(|m| Arc::new(m.control())),
            seq_steps: 0,
            active: None,
            latency_us: 0,
            held: false,
            lose: 0,
            reset_window: false,
            findings: Vector::new(),
            finding_counts: OrdMap::new(),
            told_unknown: OrdSet::new(),
            loose: (!program.schedule.holds.is_empty()).then(|| Box::new(Loose::new(program))),
            queued: VecDeque::new(),
            injected: Vector::new(),
            last: None,
            closed: None,
        };
        machine.edit_here(program);
        machine
    }

    /// Makes the next event happen; `None` at the end of the run.
    pub fn step(&mut self, p: &Program) -> Option<Step> {
        if self.closed.is_some() {
            return None;
        }
        let before = self.findings.len();
        self.nothing_opened();
        self.n += 1;
        let next = match self.loose {
            None => self.next(p).map(|(agent, kind)| (agent, kind, None)),
            Some(_) => self.next_loose(p),
        };
        let Some(next) = next else {
            self.nothing_came(before);
            return None;
        };
        Some(self.told_of(p, next, before))
    }

    /// Makes an event of what happened; its batch is told where it does not follow from the state.
    pub(super) fn told_of(
        &mut self,
        p: &Program,
        (agent, kind, batch): (Agent, EventKind, Option<u64>),
        findings_before: usize,
    ) -> Step {
        let batch = batch.unwrap_or_else(|| self.batch_of(agent, &kind));
        if !p.schedule.barriers.is_empty() {
            self.edit_barriers(p, &kind);
        }
        if let Agent::Engine(id) = agent
            && let Some(i) = self.index_of(id)
        {
            self.queues[i].count(&kind);
        }
        let event = Event { n: self.n, t_ns: self.now_ns, agent, batch, kind };
        self.last = Some(event);
        self.edit_here(p);
        Step { event, findings: self.findings.len() - findings_before }
    }

    /// No batch was opened by an event that is about to happen.
    pub(super) fn nothing_opened(&mut self) {
        self.host.opened = None;
        for seq in &mut self.seqs {
            seq.host.opened = None;
        }
    }

    /// Whether nothing more can happen. Costs a step on a copy of the state.
    pub fn at_end(&self, p: &Program) -> bool {
        self.clone().step(p).is_none()
    }

    /// What the next event will be, without making it happen.
    pub fn peek(&self, p: &Program) -> Option<Event> {
        self.clone().step(p).map(|s| s.event)
    }

    /// The index of a queue.
    pub fn index_of(&self, id: QueueId) -> Option<usize> {
        self.queues.iter().position(|q| q.id() == id)
    }

    /// A queue.
    pub fn queue(&self, id: QueueId) -> Option<&Queue> {
        self.queues.iter().find(|q| q.id() == id)
    }

    /// The CPU agent that acted last: the host, or a sequencer in its place.
    pub fn cpu(&self) -> &Host {
        self.active.and_then(|k| self.seqs.get(k)).map_or(&self.host, |s| &s.host)
    }

    /// Batches that timed out so far.
    pub fn timeouts(&self) -> u64 {
        self.host.timeouts + self.seqs.iter().map(|s| s.host.timeouts).sum::<u64>()
    }

    /// Which of the five phases the CPU agent that acted last is in, by its newest event.
    pub fn phase(&self) -> Option<Phase> {
        self.cpu().phase
    }

    /// Records a finding, placed at the current event. Of one code only so many are kept, so
    /// that remarks made over and over leave room for the error that follows them.
    pub(super) fn find(&mut self, mut d: Diagnostic) {
        d.place.event = Some(self.n);
        let n = self.finding_counts.get(d.code).map_or(1, |n| n + 1);
        self.finding_counts.insert(d.code, n);
        if n <= MAX_RUN_SAME_CODE {
            self.findings.push_back(d);
        }
    }

    /// Records a cause, bounded in the same way.
    pub(super) fn record(&mut self, id: QueueId, dir: Dir, bit: u8, slot: u64) {
        let n = self.cause_counts.get(&(dir, bit)).map_or(1, |n| n + 1);
        self.cause_counts.insert((dir, bit), n);
        if n <= MAX_RUN_SAME_CODE {
            self.causes.push_back((id, dir, bit, slot));
        }
    }

    /// Causes recorded so far, those beyond the bound included.
    pub fn faults(&self) -> u64 {
        self.cause_counts.values().sum()
    }

    /// Findings made so far, those beyond the bound included.
    pub fn found(&self) -> u64 {
        self.finding_counts.values().sum()
    }

    /// Whether an error was found so far.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|d| d.severity == Severity::Error)
    }

    /// The engine queue that acts next, and when.
    pub(super) fn due(&self) -> Option<(usize, u64)> {
        self.queues
            .iter()
            .enumerate()
            .filter(|(_, q)| q.stalled.is_none() && !self.aborted.contains(&q.id().engine))
            .filter_map(|(i, q)| Some((i, q.due?.max(self.now_ns))))
            .min_by_key(|&(i, t)| (t, i))
    }

    fn next(&mut self, p: &Program) -> Option<(Agent, EventKind)> {
        loop {
            if let Some(f) = self.queued.pop_front() {
                let id = self.queues[f.queue].id();
                let kind = self.fault(p, f.queue, f.dir, (f.name, f.injected), (f.slot, f.addr));
                return Some((Agent::Engine(id), kind));
            }
            let engine = self.due();
            let Some(cpu) = self.next_cpu(p, |_, _| false) else {
                let Some((i, t)) = engine else {
                    let (k, kind) = self.seq_blocked(p)?;
                    self.active = Some(k);
                    return Some((self.agent(Some(k)), kind));
                };
                if let Some(next) = self.act(p, i, t) {
                    return Some(next);
                }
                continue;
            };
            if cpu.polls {
                let kind = self.with_cpu(cpu.who, |m| {
                    let poll = m.host.poll?;
                    m.poll(p, poll, engine, cpu.others_at)
                });
                if let Some(kind) = kind {
                    return Some((self.agent(cpu.who), kind));
                }
                // Either reads were made without telling of them yet, or the engine acts first.
                let acts = engine.filter(|&(_, t)| t <= cpu.at);
                if let Some((i, t)) = acts
                    && let Some(next) = self.act(p, i, t)
                {
                    return Some(next);
                }
                continue;
            }
            match engine {
                Some((i, t)) if t <= cpu.at => {
                    if let Some(next) = self.act(p, i, t) {
                        return Some(next);
                    }
                }
                _ => {
                    self.now_ns = self.now_ns.max(cpu.at);
                    let kind = self.with_cpu(cpu.who, |m| m.host_step(p));
                    if let Some(kind) = kind {
                        return Some((self.agent(cpu.who), kind));
                    }
                }
            }
        }
    }

    /// The agent of a CPU.
    pub(super) fn agent(&self, who: Option<usize>) -> Agent {
        who.and_then(|k| self.seqs.get(k)).map_or(Agent::Host, |s| Agent::Seq(s.engine))
    }

    /// Does something as a CPU agent: the host, or a sequencer put in its place.
    pub(super) fn with_cpu<T>(
        &mut self,
        who: Option<usize>,
        f: impl FnOnce(&mut Machine) -> T,
    ) -> T {
        self.active = who;
        let Some(k) = who else { return f(self) };
        std::mem::swap(&mut self.host, &mut self.seqs[k].host);
        let out = f(self);
        std::mem::swap(&mut self.host, &mut self.seqs[k].host);
        out
    }

    /// The CPU agent that acts next: the one whose time comes first, the host before the
    /// sequencers. Those that wait are passed over.
    pub(super) fn next_cpu(
        &self,
        p: &Program,
        waits: impl Fn(&Machine, Option<usize>) -> bool,
    ) -> Option<NextCpu> {
        let host = match self.host.poll {
            Some(poll) => Some((poll.next_ns, true)),
            None => (!self.host.is_done(p)).then_some((self.host.ready_ns, false)),
        };
        let host = host.filter(|_| !waits(self, None));
        let mut best: Option<NextCpu> = host.map(|(at, polls)| NextCpu::new(None, at, polls));
        for (k, seq) in self.seqs.iter().enumerate() {
            let Some((at, polls)) = seq.next(self, p).filter(|_| !waits(self, Some(k))) else {
                continue;
            };
            best = Some(match best {
                Some(b) if b.at <= at => NextCpu { others_at: b.others_at.min(at), ..b },
                Some(b) => NextCpu { others_at: b.at, ..NextCpu::new(Some(k), at, polls) },
                None => NextCpu::new(Some(k), at, polls),
            });
        }
        best
    }

    fn act(&mut self, p: &Program, i: usize, t: u64) -> Option<(Agent, EventKind)> {
        self.now_ns = self.now_ns.max(t);
        let id = self.queues[i].id();
        self.engine_step(p, i).map(|kind| (Agent::Engine(id), kind))
    }

    /// A 32-bit write to an engine's register block. Doorbells and queue resets act on the
    /// queue that they belong to; every other value is only kept.
    pub(super) fn mmio_write(&mut self, engine: u32, offset: u32, value: u32) -> bool {
        let Some((name, (dir, queue))) =
            reg::name_at(offset).and_then(|r| Some((r.name, r.queue?)))
        else {
            self.regs.insert((engine, offset), value);
            return false;
        };
        let Some(i) = self.index_of(QueueId { engine, queue }) else {
            self.regs.insert((engine, offset), value);
            return false;
        };
        if name == "drtp_inc" && self.lose > 0 {
            self.lose -= 1;
            // The host has rung: the batch counts, though the engine never hears of it.
            self.queues[i].rung(dir, u64::from(value & reg::INDEX_MASK));
            return true;
        }
        self.regs.insert((engine, offset), value);
        match name {
            "drtp_inc" => self.doorbell(i, dir, u64::from(value & reg::INDEX_MASK)),
            "q_sw_ctrl" if value & 0x100 != 0 => self.queues[i].reset(dir),
            "drbp_low" => {
                lint::base(&self.queues[i], dir, value).into_iter().for_each(|d| self.find(d));
                let base = &mut self.queues[i].hw_mut(dir).ring.base;
                *base = (*base & !0xffff_ffff) | u64::from(value & 0xffff_ffc0);
            }
            "drbp_high" => {
                let base = &mut self.queues[i].hw_mut(dir).ring.base;
                *base = (*base & 0xffff_ffff) | u64::from(value) << 32;
            }
            "drl" => self.queues[i].hw_mut(dir).ring.size = u64::from(value & reg::INDEX_MASK),
            _ => {}
        }
        false
    }

    fn doorbell(&mut self, i: usize, dir: Dir, n: u64) {
        if self.host.unfenced {
            let d =
                Diagnostic::new("R008", "descriptor writes are not ordered before this doorbell");
            self.find(d);
        }
        let due = self.now_ns.saturating_add(self.latency_us.saturating_mul(1000));
        let held = self.held;
        if dir == Dir::Rx && self.queues[i].begun <= self.queues[i].batches {
            self.open_batch(i);
        }
        let q = &mut self.queues[i];
        let hw = q.hw_mut(dir);
        hw.posted += n;
        let (posted, retired, size) = (hw.posted, hw.retired, hw.ring.size);
        let staged = q.sw(dir).staged;
        q.stalled = None;
        q.rung(dir, n);
        if dir == Dir::Tx {
            q.bounds.push_back((posted, q.batches));
            q.due = match q.due {
                // What is in work takes the time that it takes.
                Some(busy) if !q.packet.is_empty() => Some(busy),
                now if held => now,
                now => Some(now.map_or(due, |d| d.min(due))),
            };
        } else {
            // An engine that stood for want of Rx goes on.
            if q.due.is_none() && !held && !q.packet.is_empty() {
                q.due = Some(due);
            }
        }
        let place = crate::diag::Place::slot(crate::diag::SlotRef {
            queue: Some((q.id().engine, q.id().queue)),
            dir,
            index: q.hw(dir).slot(posted.saturating_sub(1)),
        });
        if posted > staged {
            let text = format!("{} posted, {staged} written", count_of(posted, "descriptor"));
            self.find(Diagnostic::new("R006", text).at(place.clone()));
        }
        if posted - retired > size {
            let text = format!(
                "{} outstanding in a ring of {size}",
                count_of(posted - retired, "descriptor")
            );
            self.find(Diagnostic::new("R007", text).at(place));
        }
        let full = lint::full(&self.queues[i], dir).filter(|_| n > 0);
        full.into_iter().for_each(|d| self.find(d));
    }

    /// The host works on the next batch of queue `i`; notes where that is the first of it.
    pub(super) fn open_batch(&mut self, i: usize) {
        let q = &mut self.queues[i];
        let n = q.batches + 1;
        self.host.batch = n;
        if q.begun < n {
            q.begun = n;
            self.host.opened = Some(n);
        }
    }

    /// The value of a queue register as a read would give it: head and tail from the engine's
    /// counters, the rest as last written.
    pub fn queue_reg(&self, id: QueueId, dir: Dir, name: &str) -> Option<u32> {
        let q = self.queue(id)?;
        match name {
            "drhp" => Some(q.hw(dir).head_reg()),
            "drtp" => Some(q.hw(dir).tail_reg()),
            _ => {
                let r = reg::queue_reg(dir, name)?;
                self.regs.get(&(id.engine, reg::queue_block(dir, id.queue) + r.offset)).copied()
            }
        }
    }

    pub(super) fn batch_of(&self, agent: Agent, kind: &EventKind) -> u64 {
        match agent {
            Agent::Host => self.host.batch,
            Agent::Seq(_) => self.cpu().batch,
            Agent::Engine(id) => {
                let Some(q) = self.queue(id) else { return 0 };
                let hw = q.hw(Dir::Tx);
                // The descriptor in work: the first of the packet, or the one just retired.
                let k = match kind {
                    EventKind::Retire { .. } => hw.retired.saturating_sub(1),
                    _ => q.packet.tx.front().map_or(hw.fetched, |x| x.k),
                };
                self.batch_at(id, k)
            }
        }
    }

    /// The batch that the k-th Tx descriptor of a queue belongs to.
    pub(super) fn batch_at(&self, id: QueueId, k: u64) -> u64 {
        let Some(q) = self.queue(id) else { return 0 };
        let at = q.bounds.binary_search_by(|b| if b.0 <= k { Less } else { Greater });
        let within = q.bounds.get(at.unwrap_or_else(|at| at));
        within.map_or(q.batches, |b| b.1)
    }

    /// A digest of the whole state: equal states have equal digests.
    pub fn digest(&self) -> u64 {
        // Every field by name, so that a new one cannot be forgotten here.
        let Machine {
            n,
            now_ns,
            memory,
            queues,
            regs,
            aborted,
            causes,
            cause_counts,
            host,
            seqs,
            control,
            seq_steps,
            active,
            latency_us,
            held,
            lose,
            reset_window,
            findings,
            finding_counts,
            told_unknown,
            loose,
            queued,
            injected,
            last,
            closed: _,
        } = self;
        let run = (n, now_ns, memory, queues, regs, aborted, causes, cause_counts);
        let cpus = (host, seqs, control, seq_steps, active);
        let agents =
            (cpus, latency_us, held, lose, reset_window, told_unknown, (queued, injected), last);
        let agents = (agents, loose);
        // What a finding says follows from the rest, and so does what is found at the end.
        let found =
            self.closed.as_ref().map_or((findings, finding_counts), |c| (&c.findings, &c.counts));
        digest(&(run, agents, found.1, found.0.len()))
    }
}

/// The result of a run that was let go to its end.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The state at the end.
    pub machine: Machine,
    /// Results of the host's operations, in order.
    pub rets: Vec<(u32, Ret)>,
}

/// Runs a program to its end, giving each event to `each`; stops early where that says so.
pub fn run(program: &Program, mut each: impl FnMut(&Machine, &Event) -> bool) -> Finished {
    let mut machine = Machine::new(program);
    let mut rets = Vec::new();
    while let Some(step) = machine.step(program) {
        if let EventKind::CallReturn { op, ret } = step.event.kind {
            rets.push((op, ret));
        }
        if !each(&machine, &step.event) {
            break;
        }
    }
    Finished { machine, rets }
}
