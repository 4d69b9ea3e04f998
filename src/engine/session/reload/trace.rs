//! What happens in a run, as keys that say what an event or a descriptor is and not where it
//! lies: no slot, no number, no time (`docs/reload.md`, "Identity").

use super::super::Progress;
use super::super::search::Watch;
use crate::bir::Pos;
use crate::engine::diff::{call_key, without_phase};
use crate::engine::module_run::Origin;
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::digest::{digest, hash_bytes, mix};
use crate::engine::ring::event::{MarkerWord, Role, SlotTaken};
use crate::engine::ring::{Agent, Event, EventKind, Machine};
use crate::limits::{MAX_RELOAD_DESCS, MAX_RELOAD_EVENTS};
use crate::udma::profile::MARKER;
use crate::udma::{DESC_BYTES, Desc, Dir};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A ring of a program.
pub(super) type RingId = (QueueId, Dir);

/// A descriptor that was put on a ring.
#[derive(Debug, Clone, Copy)]
pub(super) struct Laid {
    /// In which slot.
    pub slot: u64,
    /// What it is.
    pub key: u64,
    /// Its words.
    pub desc: Desc,
    /// The event that put it there; 0 where it lay there from the start.
    pub at: u64,
}

/// The beginning of a run.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// What each event is: event `n` at `n - 1`.
    pub keys: Vec<u64>,
    /// What sort of event it is, for pairing those that are not the same.
    pub sorts: Vec<u64>,
    /// What was put on each ring, in the order of time.
    pub laid: BTreeMap<RingId, Vec<Laid>>,
    /// Batches that were opened, and the event that opened each.
    pub batches: Vec<(u64, u64)>,
    /// The user broke it off.
    pub cancelled: bool,
}

/// How far a run is to be looked at: to an event, and until something was put in these slots.
#[derive(Debug, Clone, Default)]
pub(super) struct Want {
    /// The last event that matters.
    pub event: u64,
    /// Slots.
    pub slots: BTreeSet<(QueueId, Dir, u64)>,
}

/// What things of a program are called, the same in the program that it is compared with.
pub(super) struct Names<'a> {
    pub program: &'a Program,
    /// Of each instruction of the loaded module, by its position.
    pub insts: Vec<u64>,
    queues: HashMap<QueueId, u64>,
}

impl<'a> Names<'a> {
    pub fn new(program: &'a Program, insts: Vec<u64>) -> Names<'a> {
        let name = |id: QueueId| hash_bytes(queue_name(program, id).as_bytes());
        let queues = program.queues.iter().map(|q| (q.id, name(q.id))).collect();
        Names { program, insts, queues }
    }

    fn inst(&self, pos: Pos) -> u64 {
        self.insts.get(pos.0 as usize).copied().unwrap_or(0)
    }

    fn queue(&self, id: QueueId) -> u64 {
        self.queues.get(&id).copied().unwrap_or_else(|| digest(&id))
    }
}

/// What a queue is known by: the module's name of it, else its number.
pub(super) fn queue_name(p: &Program, id: QueueId) -> String {
    let name = p.module.as_ref().and_then(|m| m.queue_name(id));
    name.map_or_else(|| id.to_string(), |n| n.to_string())
}

/// Events looked at behind the last one that matters: a sequence is told by what follows, too.
const MARGIN: u64 = 512;

struct Tracer<'a> {
    names: &'a Names<'a>,
    trace: Trace,
    calls: HashMap<u32, u64>,
    /// The newest descriptor of each slot.
    newest: HashMap<(QueueId, Dir, u64), u64>,
    wanted: BTreeSet<(QueueId, Dir, u64)>,
    room: usize,
    /// The operation or the instruction that each agent is at: a fence is one of it.
    at_work: HashMap<Agent, u64>,
}

/// Looks at the beginning of a run.
pub(super) fn trace(names: &Names<'_>, want: &Want, watch: Watch<'_>) -> Trace {
    let p = names.program;
    let mut t = Tracer {
        names,
        trace: Trace::default(),
        calls: HashMap::new(),
        newest: HashMap::new(),
        wanted: want.slots.clone(),
        room: MAX_RELOAD_DESCS,
        at_work: HashMap::new(),
    };
    let mut m = Machine::new(p);
    if p.module.is_none() {
        t.at_start(&m);
    }
    while m.n < MAX_RELOAD_EVENTS
        && (m.n < want.event.saturating_add(MARGIN) && want.event > 0 || !t.wanted.is_empty())
    {
        let Some(step) = m.step(p) else { break };
        t.event(&m, &step.event);
        if Progress::is_due(m.n) && watch(Progress { event: m.n, from: 0 }).is_break() {
            return Trace { cancelled: true, ..Trace::default() };
        }
    }
    t.trace
}

impl Tracer<'_> {
    /// What lies on rings before the first event.
    fn at_start(&mut self, m: &Machine) {
        for q in &m.queues {
            for dir in Dir::BOTH {
                let Some(ring) = q.decl.ring(dir) else { continue };
                let bytes = ring.bytes().min((self.room * DESC_BYTES) as u64) as usize;
                let mut all = vec![0; bytes];
                let known = m.memory.read(ring.base, &mut all);
                if known.never_written == Some(ring.base) || known.unknown == Some(ring.base) {
                    continue;
                }
                for (slot, bytes) in (0..).zip(all.chunks_exact(DESC_BYTES)) {
                    let mut one = [0; DESC_BYTES];
                    one.copy_from_slice(bytes);
                    let desc = Desc::from_bytes(&one);
                    if !desc.is_zero() {
                        self.lay((q.id(), dir), slot, (desc, None), (0, 0));
                    }
                }
            }
        }
    }

    /// Notes a descriptor; `of` is what it was put there for: completion pairs say all the same.
    fn lay(&mut self, ring: RingId, slot: u64, what: (Desc, Option<Origin>), (of, at): (u64, u64)) {
        let Some(room) = self.room.checked_sub(1) else { return };
        self.room = room;
        let (desc, origin) = what;
        let key = mix(self.desc_key(ring.1, desc, origin), of);
        self.newest.insert((ring.0, ring.1, slot), key);
        self.wanted.remove(&(ring.0, ring.1, slot));
        self.trace.laid.entry(ring).or_default().push(Laid { slot, key, desc, at });
    }

    /// What a descriptor is: part of an instruction, or what it says.
    fn desc_key(&self, dir: Dir, desc: Desc, origin: Option<Origin>) -> u64 {
        match origin.filter(|o| o.inst != Pos::ADDED) {
            Some(o) => {
                let part = o.descriptor.map_or(u64::MAX, u64::from);
                mix(mix(1, self.names.inst(o.inst)), part)
            }
            None => {
                let d = without_phase(desc, dir);
                let words = u64::from(d.len_ctrl) | u64::from(d.word1) << 32;
                mix(mix(2, words), d.ptr)
            }
        }
    }

    /// The descriptor that lies in a slot.
    fn in_slot(&self, m: &Machine, id: QueueId, dir: Dir, slot: u64) -> u64 {
        if let Some(key) = self.newest.get(&(id, dir, slot)) {
            return *key;
        }
        let Some(q) = m.queue(id) else { return 0 };
        let mut bytes = [0; DESC_BYTES];
        m.memory.read(q.ring(dir).slot_addr(slot), &mut bytes);
        self.desc_key(dir, Desc::from_bytes(&bytes), q.origin(dir, slot))
    }

    fn event(&mut self, m: &Machine, e: &Event) {
        self.laid_by(m, e);
        let agent = match e.agent {
            Agent::Host => 1,
            Agent::Seq(engine) => hash_bytes(engine.name().as_bytes()),
            Agent::Engine(id) => self.names.queue(id),
        };
        let sort = mix(hash_bytes(e.kind.name().as_bytes()), agent);
        self.trace.sorts.push(sort);
        let what = self.what(m, e);
        if let EventKind::Call { .. } | EventKind::Inst { .. } = e.kind {
            self.at_work.insert(e.agent, what);
        }
        let of = self.at_work.get(&e.agent).copied().unwrap_or(0);
        self.trace.keys.push(mix(mix(sort, what), of));
        if let Some(batch) = m.cpu().opened {
            self.trace.batches.push((batch, e.n));
        }
    }

    /// Descriptors that an event puts on rings.
    fn laid_by(&mut self, m: &Machine, e: &Event) {
        let of = self.at_work.get(&e.agent).copied().unwrap_or(0);
        match e.kind {
            EventKind::Stage { queue, tx, rx, .. } => {
                let mut one = |dir, t: SlotTaken| {
                    if let Some(d) = t.desc {
                        self.lay((queue, dir), t.slot, (d, None), (of, e.n));
                    }
                };
                one(Dir::Tx, tx);
                one(Dir::Rx, rx);
            }
            EventKind::CopyIn { queue, dir, slot, count } => {
                let Some(q) = m.queue(queue) else { return };
                let ring = q.ring(dir);
                if ring.size == 0 {
                    return;
                }
                for i in 0..count.min(self.room as u64) {
                    let at = (slot + i) % ring.size;
                    let mut bytes = [0; DESC_BYTES];
                    m.memory.read(ring.slot_addr(at), &mut bytes);
                    let desc = Desc::from_bytes(&bytes);
                    if !desc.is_zero() {
                        self.lay((queue, dir), at, (desc, q.origin(dir, at)), (of, e.n));
                    }
                }
            }
            _ => {}
        }
    }

    /// What an event is about.
    fn what(&mut self, m: &Machine, e: &Event) -> u64 {
        let of_slot = |dir, slot| e.queue().map_or(0, |id| self.in_slot(m, id, dir, slot));
        match e.kind {
            EventKind::Call { op } | EventKind::CallReturn { op, .. } => {
                let p = self.names.program;
                let key = || p.script.get(op as usize).map_or(0, |s| call_key(p, s));
                *self.calls.entry(op).or_insert_with(key)
            }
            EventKind::Stage { queue, role, src, dst, size, .. } => {
                let of = mix(self.names.queue(queue), u64::from(role == Role::Marker));
                mix(mix(mix(of, src), dst), size)
            }
            EventKind::CopyIn { queue, dir, slot, .. } => {
                let module = self.names.program.module.is_some();
                let of = if module { of_slot(dir, slot) } else { digest(&dir) };
                mix(self.names.queue(queue), of)
            }
            EventKind::Inst { pos, .. }
            | EventKind::InstDone { pos, .. }
            | EventKind::Blocked { pos } => self.names.inst(pos),
            EventKind::SemWait { id, value } => mix(id, value),
            EventKind::SemUpdate { id, add } => mix(id, add),
            EventKind::MarkerWrite { word, .. } => u64::from(word == MarkerWord::Dst),
            // Where a location of a module lies hangs on those before it.
            EventKind::Store { addr, len } | EventKind::Land { addr, len } => {
                mix(len, if self.names.program.module.is_some() { 0 } else { addr })
            }
            EventKind::CopyStart { queue, .. }
            | EventKind::CopyStartReturn { queue, .. }
            | EventKind::WaitBudget { queue, .. } => self.names.queue(queue),
            EventKind::Ack { queue, dir, .. } => mix(self.names.queue(queue), digest(&dir)),
            EventKind::MmioWrite { engine, offset, .. } => match e.queue() {
                Some(id) => {
                    let name = crate::udma::reg::name_at(offset);
                    let of = name.map_or(0, |r| hash_bytes(r.to_string().as_bytes()));
                    mix(self.names.queue(id), of)
                }
                None => mix(u64::from(engine), u64::from(offset)),
            },
            EventKind::Poll { value, .. } => u64::from(value == MARKER),
            EventKind::PollIdle { idle, .. } => u64::from(idle),
            EventKind::Device(op) => hash_bytes(op.verb().as_bytes()),
            EventKind::Patch { dir, slot, .. }
            | EventKind::Fetch { dir, slot, .. }
            | EventKind::Stall { dir, slot, .. } => of_slot(dir, slot),
            EventKind::Fault { dir, bit, slot, .. } => mix(of_slot(dir, slot), u64::from(bit)),
            EventKind::Read { slot, .. } => of_slot(Dir::Tx, slot),
            EventKind::Visible { slot, .. } => of_slot(Dir::Rx, slot),
            EventKind::Retire { tx, rx, .. } => match (tx, rx) {
                (Some(slot), _) => of_slot(Dir::Tx, slot),
                (None, Some(slot)) => of_slot(Dir::Rx, slot),
                (None, None) => 0,
            },
            EventKind::CpuFence | EventKind::Delay { .. } => 0,
        }
    }
}
