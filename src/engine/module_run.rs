//! A lowered module as something to run: its queues on rings, its memory as regions, and what
//! each instruction needs of them (`docs/sequencer.md`).
//!
//! MODEL: every queue of the module is one queue of one engine, spread over the sixteen engines
//! in the order of the file; its two rings and its marker lie in device memory of their own.

mod build;
mod insts;

pub use insts::InstInfo;

use insts::Insts;

pub use build::{again, dump, program, record};

use super::author::{self, Packet, Target};
use super::lower::{self, Lowered, Stage};
use super::program::{
    Blob, Content, Fill, HostOp, Program, QueueDecl, QueueId, Region, RegionKind, RingDecl,
    RingType, ScriptOp, Start,
};
use super::ring::host::Counts;
use super::ring::{Agent, Event, EventKind, Machine, Memory, Phase, machine};
use crate::bir::exec::{self, Action, Control, Group, Item};
use crate::bir::layout::{PARTITIONS, PSUM_BASE, PSUM_STRIDE, SB_BASE, SB_STRIDE};
use crate::bir::memory::{Read, UNWRITTEN};
use crate::bir::{Body, Engine, Inst, Layout, Name, Pos, Space, Transfer, Walk};
use crate::diag::{Diagnostic, Place, Severity};
use crate::limits::{MAX_HOST_OPS, MAX_RING_DESCS};
use crate::udma::builder::{PairRequest, build_pair};
use crate::udma::field::find;
use crate::udma::ring::{GUARD_GAP, RING_ALIGN};
use crate::udma::{DESC_BYTES, Desc, Dir, Generation, Profile};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Address of the first ring; behind all external tensors.
pub const RINGS_BASE: u64 = 0x180_0000_0000;
/// Address of the first marker; each queue has 64 bytes.
pub const MARKERS_BASE: u64 = 0x170_0000_0000;
/// Bytes of a queue's marker area.
const MARKER_BYTES: u64 = 64;
/// Engines that carry the data of one core.
const DATA_ENGINES: u32 = 16;
/// Queues of an engine.
const QUEUES_PER_ENGINE: u32 = 16;
/// The least that a ring may have: the guard and one of the largest packets.
const MIN_RING_SLOTS: u64 = 256;
/// Address of memory for data on its way, behind all locations. Each queue has its own: blocks of
/// two engines may be in work at once.
const SCRATCH_BASE: u64 = 0x200_0000_0000;
/// Bytes of the largest location for which there is such memory.
const SCRATCH_BYTES: u64 = 1 << 30;
/// Slots of a ring (PARAM `ring_slots`): a block that needs more takes several batches.
pub const DEFAULT_RING_SLOTS: u64 = 1024;
/// What the number of slots of a ring is a multiple of: rings end where a cache line of the engine's
/// prefetch does (MODEL).
const RING_SLOTS_STEP: u64 = 16;

/// The rings of a module can have this many slots.
///
/// # Errors
/// In words what they can have.
pub fn check_ring_slots(n: u64) -> Result<u64, String> {
    if !(MIN_RING_SLOTS..=MAX_RING_DESCS).contains(&n) {
        return Err(format!("a ring has from {MIN_RING_SLOTS} to {MAX_RING_DESCS} slots"));
    }
    let below = n - n % RING_SLOTS_STEP;
    if below == n {
        return Ok(n);
    }
    let next = below + RING_SLOTS_STEP;
    Err(format!("a ring has a multiple of {RING_SLOTS_STEP} slots: {below} or {next}"))
}

/// Where a queue of the module lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueAt {
    /// Which queue of which engine.
    pub id: QueueId,
    /// First word of its marker.
    pub marker: u64,
    /// Slots of each of its rings.
    pub slots: u64,
}

/// A module with all that its sequencers look up.
#[derive(Debug)]
pub struct ModuleRun {
    /// The module as it is executed.
    pub exec: exec::Program,
    /// For what machine descriptors are made.
    pub target: Target,
    queues: HashMap<Name, QueueAt>,
    /// The module after each stage, the loaded one first.
    pub lowered: Lowered,
    /// Instructions of the loaded module by position: what each is called, and where it is.
    insts: Insts,
    /// How it was lowered and put on rings.
    pub options: Options,
}

/// A fault that is committed on purpose when descriptors are made, so that tests can show that
/// the checks behind it see it. No command line, script or screen reaches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingFault {
    /// No barrier stands anywhere.
    MissingBarrier,
    /// Packing loses the last packet of every block that has several.
    DroppedByPacking,
}

impl PartialEq for ModuleRun {
    fn eq(&self, other: &ModuleRun) -> bool {
        self.exec.module() == other.exec.module()
            && self.target == other.target
            && self.queues == other.queues
    }
}
impl Eq for ModuleRun {}

/// What an instruction needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Work {
    /// The instruction of the loaded module, and that of the one that is run; none where a block
    /// ends.
    pub inst: Option<(Pos, Item)>,
    /// Semaphores waited for: id and value.
    pub waits: Vec<(u64, u64)>,
    /// What is done, in order.
    pub parts: Vec<Part>,
    /// Semaphores updated: id and what is added.
    pub updates: Vec<(u64, u64)>,
}

/// A piece of it.
#[derive(Debug, Clone)]
pub enum Part {
    /// Descriptors through a ring.
    Batch(Batch),
    /// Bytes that an instruction writes by itself.
    Store {
        /// Where.
        addr: u64,
        /// What.
        bytes: Blob,
    },
}

impl PartialEq for Part {
    fn eq(&self, other: &Part) -> bool {
        match (self, other) {
            (Part::Batch(a), Part::Batch(b)) => a == b,
            (Part::Store { addr: a, bytes: x }, Part::Store { addr: b, bytes: y }) => {
                a == b && x == y
            }
            _ => false,
        }
    }
}
impl Eq for Part {}

impl std::hash::Hash for Part {
    fn hash<H: std::hash::Hasher>(&self, h: &mut H) {
        match self {
            Part::Batch(b) => b.hash(h),
            Part::Store { addr, bytes } => (addr, bytes.bytes()).hash(h),
        }
    }
}

/// Of what a ring descriptor is made (`docs/provenance.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The instruction of the loaded module that it stems from; of a completion pair the
    /// instruction that waits for it.
    pub inst: Pos,
    /// The instruction that is run: a trigger, or a transfer that was not lowered.
    pub item: Item,
    /// The block that was fired, by its position in its queue, and how often its trigger had
    /// fired before; nothing of a transfer that was not lowered.
    pub block: Option<(u32, u64)>,
    /// Position of the descriptor in its block; 0 where there is no block, nothing of a
    /// completion pair.
    pub descriptor: Option<u32>,
}

/// One pair of doorbells: whole packets and the completion pair behind them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Batch {
    /// Queue.
    pub queue: QueueId,
    /// First word of the marker.
    pub marker: u64,
    /// Tx descriptors, phases not stamped.
    pub tx: Vec<Desc>,
    /// Rx descriptors.
    pub rx: Vec<Desc>,
    /// Descriptors whose address is resolved at run time, Tx before Rx, ascending.
    pub patches: Vec<(Dir, u32)>,
    /// Of what each descriptor is made, Tx then Rx.
    pub origins: [Arc<[Origin]>; 2],
}

impl Batch {
    /// Descriptors of a direction.
    pub fn descs(&self, dir: Dir) -> &[Desc] {
        match dir {
            Dir::Tx => &self.tx,
            Dir::Rx => &self.rx,
        }
    }

    /// How many each ring takes.
    pub fn counts(&self) -> Counts {
        Counts { m2s: self.tx.len() as u32, s2m: self.rx.len() as u32 }
    }

    /// Packets, each with its origin, and the completion pair behind them, which is of `own`.
    fn new(
        target: &Target,
        at: QueueAt,
        (packets, from): (&[Packet], &[Origin]),
        own: Origin,
    ) -> Result<Batch, Diagnostic> {
        let (mut tx, mut rx, mut patches) = (Vec::new(), Vec::new(), Vec::new());
        let mut patched_rx = Vec::new();
        let (mut tx_from, mut rx_from) = (Vec::new(), Vec::new());
        for (p, from) in packets.iter().zip(from) {
            tx_from.extend(std::iter::repeat_n(*from, p.tx.len()));
            rx_from.extend(std::iter::repeat_n(*from, p.rx.len()));
            let base = tx.len() as u32;
            patches.extend(p.patched_tx.iter().map(|n| (Dir::Tx, base + n)));
            if p.patched_rx {
                let base = rx.len() as u32;
                patched_rx.extend((0..p.rx.len() as u32).map(|n| (Dir::Rx, base + n)));
            }
            tx.extend(&p.tx);
            rx.extend(&p.rx);
        }
        patches.extend(patched_rx);
        let (pair_tx, pair_rx) = completion_pair(target, at.marker)?;
        tx.push(pair_tx);
        rx.push(pair_rx);
        tx_from.push(own);
        rx_from.push(own);
        let origins = [tx_from.into(), rx_from.into()];
        Ok(Batch { queue: at.id, marker: at.marker, tx, rx, patches, origins })
    }
}

/// The 4-byte copy from the marker's first word to its second, as the driver stages it.
fn completion_pair(target: &Target, marker: u64) -> Result<(Desc, Desc), Diagnostic> {
    let request = PairRequest {
        src: marker,
        dst: marker.wrapping_add(4),
        size: 4,
        tx_ring_id: 0,
        rx_ring_id: 0,
        barrier_code: 0,
        set_dst_int: false,
    };
    build_pair(target.profile, target.arch, &request)
        .map_err(|e| Diagnostic::new("R025", e.to_string()))
}

/// What becomes of a module when it is put on rings.
#[derive(Debug, Clone)]
pub struct Options {
    /// Slots of each ring.
    pub ring_slots: u64,
    /// Driver profile.
    pub profile: &'static Profile,
    /// Generation.
    pub arch: Generation,
    /// How the module was lowered; for telling, and for lowering it again.
    pub lower: lower::Options,
    /// For tests only.
    pub fault: Option<RingFault>,
}

impl Options {
    /// For a generation under the default profile.
    pub fn new(arch: Generation) -> Options {
        let profile = Profile::default_profile();
        let lower = lower::Options::default();
        Options { ring_slots: DEFAULT_RING_SLOTS, profile, arch, lower, fault: None }
    }
}

impl ModuleRun {
    /// Engines that have instructions.
    pub fn engines(&self) -> Vec<Engine> {
        self.exec.engines().iter().collect()
    }

    /// The streams before the first instruction.
    pub fn control(&self) -> Control {
        Control::new(&self.exec)
    }

    /// Where a queue lies.
    pub fn queue(&self, name: &str) -> Option<QueueAt> {
        self.queues.get(name).copied()
    }

    /// The module's name of a queue.
    pub fn queue_name(&self, id: QueueId) -> Option<&Name> {
        self.queues.iter().find(|(_, at)| at.id == id).map(|(name, _)| name)
    }

    /// An instruction of the loaded module.
    pub fn inst(&self, pos: Pos) -> Option<InstInfo> {
        self.insts.get(pos)
    }

    /// Line of the module's file that an instruction of the loaded module is on.
    pub fn line(&self, pos: Pos) -> Option<u64> {
        self.insts.line(pos)
    }

    /// How many instructions the loaded module has.
    pub fn inst_count(&self) -> usize {
        self.insts.len()
    }

    /// Begins the next instruction of an engine; returns what it needs, and remarks.
    ///
    /// # Errors
    /// What is wrong with the instruction, or why it cannot be said in descriptors.
    pub fn work(
        &self,
        control: &mut Control,
        memory: &dyn Read,
        engine: Engine,
    ) -> Result<(Work, Vec<Diagnostic>), Diagnostic> {
        let item = control.current(&self.exec, engine);
        let inst = item.and_then(|i| self.exec.inst(i)).cloned();
        // What the block waits for and updates counts even where it has no descriptors.
        let block = item.and_then(|i| control.block(&self.exec, i));
        let block = block.and_then(|b| self.exec.blocks().get(b));
        let action = control.fetch(&self.exec, memory, engine).map_err(|f| f.diag)?;
        let mut remarks = Vec::new();
        let mut work = Work {
            inst: inst.as_ref().map(|i| i.pos).zip(item),
            waits: Vec::new(),
            parts: Vec::new(),
            updates: Vec::new(),
        };
        if let Some(i) = &inst {
            let waits = i.waits.iter().chain(block.map_or(&[][..], |b| &b.2.waits));
            work.waits = waits.map(|w| (w.id, w.value)).collect();
        }
        match action {
            Action::Nothing => {}
            Action::Store { walk, bytes, .. } => store(&walk, bytes, &mut work.parts),
            Action::Opaque { writes, .. } => {
                for (walk, bytes) in writes {
                    store(&walk, bytes, &mut work.parts);
                }
            }
            Action::Transfers(groups) => {
                let block = block.map(|b| (b.0, b.1));
                self.batches(inst.as_deref(), block, groups, &mut work, &mut remarks)?;
            }
        }
        if let Some(i) = &inst {
            let updates = block.map_or(&[][..], |b| &b.2.updates).iter().chain(&i.updates);
            work.updates = updates.map(|u| (u.id, u.value)).collect();
        }
        Ok((work, remarks))
    }

    fn batches(
        &self,
        inst: Option<&Inst>,
        block: Option<(&Name, u32)>,
        mut groups: Vec<Group>,
        work: &mut Work,
        remarks: &mut Vec<Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let named = match (block, inst.map(|i| &i.body)) {
            (Some((queue, _)), _) => Some(queue),
            (None, Some(Body::Dma(d))) => d.queue.as_ref(),
            (None, Some(Body::Trigger(t))) => t.queue.as_ref(),
            _ => None,
        };
        for g in &groups {
            if let Some(at) = g.unwritten_index {
                let text = format!("an index at {at:#x} is read that nobody wrote");
                remarks.push(Diagnostic::new("R009", text).severity(Severity::Warning));
            }
        }
        let moved: Vec<Vec<Transfer>> =
            groups.iter_mut().map(|g| std::mem::take(&mut g.transfers)).collect();
        if moved.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let Some(at) = named.and_then(|n| self.queue(n)) else {
            let name = inst.map_or("", |i| &*i.name);
            let text = match named {
                Some(queue) => format!(
                    "`{name}` goes through the queue `{queue}`, which the module does not list"
                ),
                None => format!("`{name}` names no queue to go through"),
            };
            return Err(Diagnostic::new("R025", text));
        };
        let authored =
            author::author_block(&moved, &self.target_of(at.id)).map_err(|e| e.diagnostic())?;
        // The guard's worth of slots stays free, as in every ring.
        let room = (at.slots - u64::from(GUARD_GAP) - 1) as usize;
        let item = work.inst.map_or(Item(0), |i| i.1);
        let count = groups.iter().find_map(|g| g.fired).map(|f| f.count);
        let block = block.map(|b| b.1).zip(count);
        let origin =
            |g: &Group| Origin { inst: g.pos, item, block, descriptor: Some(g.descriptor) };
        let of_group = |k: &u32| groups.get(*k as usize).map(origin);
        let own = work.inst.map_or(Pos::ADDED, |i| i.0);
        let own = Origin { inst: own, item, block, descriptor: None };
        let mut from: Vec<Origin> = authored.group_of.iter().filter_map(of_group).collect();
        let mut rest = authored.packets;
        self.commit_fault(&mut rest);
        while !rest.is_empty() {
            let (mut tx, mut rx) = (0, 0);
            let fits = rest.iter().take_while(|p| {
                tx += p.tx.len();
                rx += p.rx.len();
                tx.max(rx) <= room
            });
            let n = fits.count().max(1);
            let later = rest.split_off(n);
            if self.options.fault != Some(RingFault::MissingBarrier) {
                author::close_batch(&mut rest, &self.target);
            }
            let later_from = from.split_off(n.min(from.len()));
            work.parts.push(Part::Batch(Batch::new(&self.target, at, (&rest, &from), own)?));
            (rest, from) = (later, later_from);
        }
        Ok(())
    }
}

impl ModuleRun {
    /// What the descriptors of a queue are made for: as [`ModuleRun::target`], with the queue's
    /// part of the memory for data on its way.
    fn target_of(&self, id: QueueId) -> Target {
        let own = |(base, len): (u64, u64)| (base + number(id) * len, len);
        Target { scratch: self.target.scratch.map(own), ..self.target }
    }

    fn commit_fault(&self, packets: &mut Vec<Packet>) {
        match self.options.fault {
            None => {}
            Some(RingFault::MissingBarrier) => {
                for p in packets {
                    for d in &mut p.tx {
                        *d = without_barriers(*d, Dir::Tx);
                    }
                    for d in &mut p.rx {
                        *d = without_barriers(*d, Dir::Rx);
                    }
                }
            }
            Some(RingFault::DroppedByPacking) if packets.len() > 1 => drop(packets.pop()),
            Some(RingFault::DroppedByPacking) => {}
        }
    }
}

/// Which of the module's queues it is, in the order of the file.
fn number(id: QueueId) -> u64 {
    u64::from(id.queue * DATA_ENGINES + id.engine)
}

fn without_barriers(desc: Desc, dir: Dir) -> Desc {
    if desc.is_meta() {
        return desc;
    }
    ["dmb", "strong_order", "write_barrier"]
        .iter()
        .fold(desc, |d, name| find(d.view(dir), name).map_or(d, |f| d.with(f, 0)))
}

/// Runs a program to its end and shows each event with the state after it.
pub fn each_event(p: &Program, mut see: impl FnMut(&Machine, &Event)) -> Machine {
    machine::run(p, |m, e| {
        see(m, e);
        true
    })
    .machine
}

/// Bytes that go to the elements of a walk, run by run.
fn store(walk: &Walk, bytes: Vec<u8>, parts: &mut Vec<Part>) {
    let all = Blob::from_vec(bytes);
    let mut at = 0;
    for (addr, len) in walk.runs() {
        parts.push(Part::Store { addr, bytes: all.slice(at, len as usize) });
        at += len as usize;
    }
}

/// What memory holds before the first instruction.
#[derive(Debug, Clone, Default)]
pub struct Initial {
    /// The file that says so, if one does.
    pub file: Option<Arc<str>>,
    /// Bytes by location, row-major, as many as the location has.
    pub given: BTreeMap<String, Vec<u8>>,
}
