//! What the places of stops mean in a program, and which events match them (`docs/stops.md`).

use super::super::{EvalError, Happened, Interest, Prior, Session, queue_of};
use super::StopKind;
use super::watch::{self, Area, accesses};
use crate::bir::exec::Item;
use crate::bir::module::StorageKind;
use crate::bir::{Body, Module, Name, Pos};
use crate::diag::Diagnostic;
use crate::engine::command::{Access, Catch, Loc, Watch, Watched, nearest};
use crate::engine::expr::QueueRef;
use crate::engine::lower::Stage;
use crate::engine::module_run::{ModuleRun, Origin};
use crate::engine::program::QueueId;
use crate::engine::provenance::{Found, Provenance};
use crate::engine::ring::{Event, EventKind, Machine, Ret};
use crate::limits::MAX_NAMES_COMPARED;
use crate::udma::profile::MARKER;
use crate::udma::{Dir, cause, count_of, reg};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Instructions and blocks of a module, as events tell of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Insts {
    /// Positions in the loaded module.
    positions: BTreeSet<Pos>,
    /// Blocks with descriptors of these, or named blocks: queue, name.
    blocks: BTreeSet<(Name, Name)>,
    /// Named blocks: queue, position in the queue.
    whole: BTreeSet<(QueueId, u32)>,
}

/// What a stop means in a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// Slots of a ring.
    Slots { queue: QueueId, dir: Dir, first: u64, last: u64 },
    /// A batch's first event.
    Batch(u64),
    /// Accesses of bytes.
    Bytes(Area),
    /// The marker word becomes the marker.
    Marker,
    /// A doorbell, of a queue.
    Doorbell(Option<QueueId>),
    /// A fault, by the name of its cause.
    Fault(Option<&'static str>),
    /// An event.
    Event(u64),
    /// Every event that is about a queue.
    Queue(QueueId),
    /// Instructions and blocks of a module.
    Insts(Arc<Insts>),
    /// A stage of a module; no event of a run.
    Pass(Stage),
    /// Accesses of a kind of bytes.
    Watch { area: Area, on: Access },
    /// Accesses of a kind of a semaphore.
    Semaphore(u64, Access),
    /// An event that closes a race.
    Race,
    /// A batch is given up.
    Timeout,
    /// A call returns this, or anything but 0.
    Ret(Option<Ret>),
    /// A queue or a sequencer cannot go on.
    Stall,
    /// The program is loaded anew; no event of a run.
    Reload,
    /// Something that this program does not have.
    Gone,
}

/// Whether the event is a doorbell to stop after: the TX write, or the RX write where TX is
/// not rung.
pub(in crate::engine::session) fn is_doorbell(
    m: &Machine,
    e: &Event,
    queue: Option<QueueId>,
) -> bool {
    let EventKind::MmioWrite { engine, offset, .. } = e.kind else { return false };
    let Some(place) = reg::name_at(offset) else { return false };
    let Some((dir, q)) = place.queue else { return false };
    place.name == "drtp_inc"
        && queue.is_none_or(|id| id == QueueId { engine, queue: q })
        && (dir == Dir::Tx || !m.cpu().rings_tx_next())
}

/// Slots that an event touches: queue, direction, first, how many.
pub(in crate::engine::session) fn slots(e: &Event) -> [Option<(QueueId, Dir, u64, u64)>; 2] {
    let Some(id) = e.queue() else { return [None; 2] };
    let one = |dir, slot| [Some((id, dir, slot, 1)), None];
    match e.kind {
        EventKind::Stage { tx, rx, .. } => {
            [Some((id, Dir::Tx, tx.slot, 1)), Some((id, Dir::Rx, rx.slot, 1))]
        }
        EventKind::CopyIn { dir, slot, count, .. } => [Some((id, dir, slot, count)), None],
        EventKind::Patch { dir, slot, .. }
        | EventKind::Fetch { dir, slot, .. }
        | EventKind::Fault { dir, slot, .. }
        | EventKind::Stall { dir, slot, .. } => one(dir, slot),
        EventKind::Read { slot, .. } => one(Dir::Tx, slot),
        EventKind::Visible { slot, .. } => one(Dir::Rx, slot),
        EventKind::Retire { tx, rx, .. } => {
            [tx.map(|s| (id, Dir::Tx, s, 1)), rx.map(|s| (id, Dir::Rx, s, 1))]
        }
        _ => [None; 2],
    }
}

/// Whether an event happens at a place. A batch is touched by each of its events, an instruction
/// by all that its sequencer and the engines do for it.
pub fn touches(s: &Session, m: &Machine, e: &Event, loc: &Loc) -> bool {
    match s.place(loc) {
        Ok(Target::Batch(n)) => e.batch == n,
        Ok(Target::Insts(insts)) => insts.touched(s, m, e),
        // What asks for the state before an event is no place.
        Ok(target) => target.stops(s, &Prior::of(m, false), m, e),
        Err(_) => false,
    }
}

impl Target {
    /// Whether the state before an event is needed.
    pub(super) fn asks_for_change(&self) -> bool {
        matches!(self, Target::Watch { on: Access::Change, .. })
    }

    /// The events that it may match (`docs/timeline.md`, "Footprints").
    pub(super) fn interest(&self) -> Interest {
        match *self {
            Target::Slots { queue, dir, first, last } => Interest::Slots(queue, dir, first, last),
            Target::Batch(n) => Interest::Opens(n),
            Target::Bytes(area) => Interest::Bytes { area, reads: true, writes: true },
            Target::Watch { area, on } => Interest::Bytes {
                area,
                reads: matches!(on, Access::Read | Access::Access),
                writes: on != Access::Read,
            },
            Target::Marker => Interest::Happened(Happened::WORD),
            Target::Doorbell(_) => Interest::Happened(Happened::BELL),
            Target::Fault(_) => Interest::Happened(Happened::FAULT),
            Target::Event(n) => Interest::Event(n),
            Target::Timeout => Interest::Timeout,
            Target::Ret(_) => Interest::Happened(Happened::RETURN),
            Target::Stall => Interest::Happened(Happened::ODD_SLOT | Happened::SEQ),
            // Of these nothing is known but by looking at each event.
            Target::Queue(_) | Target::Insts(_) | Target::Semaphore(..) | Target::Race => {
                Interest::Every
            }
            Target::Pass(_) | Target::Reload | Target::Gone => Interest::Never,
        }
    }

    /// Whether a session stops at an event.
    pub(super) fn stops(&self, s: &Session, before: &Prior, m: &Machine, e: &Event) -> bool {
        match *self {
            Target::Slots { queue, dir, first, last } => {
                slots(e).into_iter().flatten().any(|(q, d, slot, n)| {
                    q == queue && d == dir && slot <= last && slot.saturating_add(n) > first
                })
            }
            Target::Batch(n) => m.cpu().opened == Some(n),
            Target::Bytes(area) => accesses(m, e).any(|a| area.meets((a.addr, a.len))),
            Target::Marker => matches!(e.kind, EventKind::Visible { addr, len: 4, .. }
                if m.memory.read_u32(addr) == MARKER),
            Target::Doorbell(queue) => is_doorbell(m, e, queue),
            Target::Fault(name) => match e.kind {
                EventKind::Fault { dir, bit, .. } => {
                    name.is_none_or(|n| cause::by_bit(dir, bit).is_some_and(|c| c.name == n))
                }
                _ => false,
            },
            Target::Event(n) => e.n == n,
            Target::Queue(id) => e.queue() == Some(id),
            Target::Insts(ref insts) => insts.begins(s, m, e) || insts.taken_up(m, e),
            Target::Watch { area, on } => watch::counts(before, m, e, area, on),
            Target::Semaphore(id, on) => watch::semaphore(e, id, on),
            Target::Race => s.closes_race(e.n),
            Target::Timeout => m.timeouts() > before.timeouts,
            Target::Ret(want) => match e.kind {
                EventKind::CallReturn { ret, .. } => want.map_or(ret != Ret::OK, |w| ret == w),
                _ => false,
            },
            Target::Stall => {
                matches!(e.kind, EventKind::Stall { .. } | EventKind::Blocked { .. })
            }
            Target::Pass(_) | Target::Reload | Target::Gone => false,
        }
    }

    /// Whether it is about an instruction of the loaded module or about a block.
    pub(super) fn is_about(&self, pos: Option<Pos>, block: Option<(QueueId, u32)>) -> bool {
        let Target::Insts(insts) = self else { return false };
        pos.is_some_and(|p| insts.positions.contains(&p))
            || block.is_some_and(|b| insts.whole.contains(&b))
    }

    /// What is not said by how it was asked for: addresses, or that there is no such thing.
    pub(super) fn place(&self, s: &Session) -> Option<String> {
        match self {
            Target::Watch { area, .. } => Some(bytes_words(s, area)),
            Target::Bytes(area) if area.bytes() > 1 => Some(bytes_words(s, area)),
            Target::Insts(insts) => insts.words(s),
            Target::Reload => Some("on the screen, whenever its files changed".to_owned()),
            Target::Gone => Some("this program has no such thing".to_owned()),
            _ => None,
        }
    }
}

impl Insts {
    /// The first of them.
    pub(super) fn first(&self) -> Option<Pos> {
        self.positions.first().copied()
    }

    /// Whether an origin is of these; those of completion pairs are not.
    fn holds(&self, queue: QueueId, o: &Origin) -> bool {
        let whole = || o.block.is_some_and(|b| self.whole.contains(&(queue, b.0)));
        o.descriptor.is_some() && (self.positions.contains(&o.inst) || whole())
    }

    /// Whether a sequencer begins one of them, or a trigger that fires descriptors of them.
    fn begins(&self, s: &Session, m: &Machine, e: &Event) -> bool {
        matches!(e.kind, EventKind::Inst { pos, item } if self.is(s, m, pos, item))
    }

    fn is(&self, s: &Session, m: &Machine, pos: Pos, item: Item) -> bool {
        self.positions.contains(&pos) && pos != Pos::ADDED || self.fires(s, m, item)
    }

    /// Whether an instruction fires one of the blocks now.
    fn fires(&self, s: &Session, m: &Machine, item: Item) -> bool {
        let fired = || {
            let run = s.program().module.as_ref()?;
            let Body::Trigger(t) = &run.exec.inst(item)?.body else { return None };
            let n =
                m.control.as_ref()?.fires(&run.exec, item).checked_rem(t.dma_blocks.len() as u64)?;
            Some((t.queue.clone()?, t.dma_blocks.get(n as usize)?.clone()))
        };
        !self.blocks.is_empty() && fired().is_some_and(|b| self.blocks.contains(&b))
    }

    /// Whether an engine takes up the first Tx descriptor of a row of them.
    fn taken_up(&self, m: &Machine, e: &Event) -> bool {
        let EventKind::Fetch { dir: Dir::Tx, slot, .. } = e.kind else { return false };
        let Some(q) = e.queue().and_then(|id| m.queue(id)) else { return false };
        let Some(o) = q.origin(Dir::Tx, slot).filter(|o| self.holds(q.id(), o)) else {
            return false;
        };
        let size = q.ring(Dir::Tx).size.max(1);
        let same = |b: Origin| self.holds(q.id(), &b) && (b.item, b.block) == (o.item, o.block);
        !q.origin(Dir::Tx, (slot + size - 1) % size).is_some_and(same)
    }

    /// Whether an event is about them.
    fn touched(&self, s: &Session, m: &Machine, e: &Event) -> bool {
        let own = match e.kind {
            EventKind::Inst { pos, item } | EventKind::InstDone { pos, item } => {
                self.is(s, m, pos, item)
            }
            EventKind::Blocked { pos } => self.positions.contains(&pos),
            _ => false,
        };
        own || slots(e).into_iter().flatten().any(|(id, dir, slot, n)| {
            let Some(q) = m.queue(id) else { return false };
            (slot..slot.saturating_add(n))
                .any(|s| q.origin(dir, s).is_some_and(|o| self.holds(id, &o)))
        })
    }

    /// The instructions with their lines in the module's file, and the blocks.
    fn words(&self, s: &Session) -> Option<String> {
        const SHOWN: usize = 3;
        let run = s.program().module.as_ref()?;
        let inst = |p: &Pos| {
            let info = run.inst(*p)?;
            let line = info.place.line.map(|l| format!(" in line {l}")).unwrap_or_default();
            Some(format!("{}{line}", info.text))
        };
        let mut out: Vec<String> = self.positions.iter().take(SHOWN).filter_map(inst).collect();
        out.extend(self.blocks.iter().take(SHOWN).map(|b| format!("block {} of {}", b.1, b.0)));
        if self.positions.len().max(self.blocks.len()) > SHOWN {
            out.push("..".to_owned());
        }
        (!out.is_empty()).then(|| out.join(", "))
    }
}

/// The registers of a module.
fn registers(m: &Module) -> impl Iterator<Item = &str> {
    let all = m.functions.iter().flat_map(|f| &f.allocations);
    all.filter(|a| a.storage == StorageKind::Register).map(|a| &*a.name)
}

impl Session {
    /// What a stop means in this program.
    ///
    /// # Errors
    /// S005: something that it names does not exist, with the nearest names; S006: an address
    /// has no value.
    pub(super) fn target(&self, kind: &StopKind) -> Result<Target, Diagnostic> {
        match kind {
            StopKind::Break(loc) => self.place(loc),
            StopKind::Watch(watch) => self.watched(watch),
            StopKind::Catch(what) => Ok(match what {
                Catch::Fault(name) => Target::Fault(match name {
                    Some(name) => Some(cause_name(name)?),
                    None => None,
                }),
                Catch::Race => Target::Race,
                Catch::Doorbell(queue) => Target::Doorbell(self.some_queue(queue)?),
                Catch::Marker => Target::Marker,
                Catch::Timeout => Target::Timeout,
                Catch::Ret(code) => Target::Ret(code.map(Ret::Code)),
                Catch::Bug => Target::Ret(Some(Ret::Bug)),
                Catch::Stall => Target::Stall,
                Catch::Reload => Target::Reload,
            }),
        }
    }

    fn queue_id(&self, q: &QueueRef) -> Result<QueueId, Diagnostic> {
        queue_of(self, q).map_err(EvalError::into_diagnostic)
    }

    fn some_queue(&self, q: &Option<QueueRef>) -> Result<Option<QueueId>, Diagnostic> {
        q.as_ref().map(|q| self.queue_id(q)).transpose()
    }

    /// What a place means in this program.
    fn place(&self, loc: &Loc) -> Result<Target, Diagnostic> {
        Ok(match loc {
            Loc::Slots { queue, dir, first, last } => {
                let (queue, dir, first, last) = (self.queue_id(queue)?, *dir, *first, *last);
                self.check_slots(queue, dir, last)?;
                Target::Slots { queue, dir, first, last }
            }
            Loc::Batch(0) | Loc::Event(0) => {
                let text = format!("there is no `{loc}`: both are counted from 1");
                return Err(Diagnostic::new("S005", text));
            }
            Loc::Batch(n) => Target::Batch(*n),
            Loc::Addr(a) => Target::Bytes(Area::new(*a, 1)),
            Loc::Marker => Target::Marker,
            Loc::Doorbell(queue) => Target::Doorbell(self.some_queue(queue)?),
            Loc::Fault => Target::Fault(None),
            Loc::Event(n) => Target::Event(*n),
            Loc::Queue(queue) => Target::Queue(self.queue_id(queue)?),
            Loc::Inst(name) => {
                let run = self.of_module(&format!("%{name}"))?;
                let found = Provenance::of(run).find(name, true);
                let found = found.map_err(|near| unknown("instruction", name, &near))?;
                named(run, name, &found, &self.machine)?
            }
            Loc::Within(name, offset) => {
                let none = || {
                    let near = self.place_names();
                    let near = nearest(name, near.iter().map(String::as_str));
                    let near: Vec<String> = near.into_iter().map(str::to_owned).collect();
                    unknown("memory location or region", name, &near)
                };
                let area = self.area_named(name).ok_or_else(none)?;
                Target::Bytes(Area::new(area.addr.wrapping_add(*offset), 1))
            }
            Loc::Name(name)
                if self.program().regions.iter().any(|r| r.name == *name)
                    && self
                        .program()
                        .module
                        .as_ref()
                        .is_none_or(|run| Provenance::of(run).find(name, false).is_err()) =>
            {
                Target::Bytes(self.location(name)?)
            }
            Loc::Name(name) => {
                let run = self.of_module(name)?;
                let found = Provenance::of(run).find(name, false).map_err(|near| {
                    unknown("block, queue, location or instruction", name, &near)
                })?;
                named(run, name, &found, &self.machine)?
            }
            Loc::Line(n) => line(self.of_module(&format!("line {n}"))?, *n)?,
            Loc::Pass(stage) => {
                let run = self.of_module(&format!("pass {stage}"))?;
                let all = &run.lowered.snapshots;
                if !all.iter().any(|s| s.stage == *stage) {
                    let text = format!("the module was not lowered as far as `{stage}`");
                    return Err(Diagnostic::new("S005", text));
                }
                Target::Pass(*stage)
            }
        })
    }

    /// The module, of which something is named.
    fn of_module(&self, name: &str) -> Result<&ModuleRun, Diagnostic> {
        const WORDS: [&str; 8] =
            ["tx", "rx", "marker", "doorbell", "fault", "batch", "event", "q0"];
        self.program().module.as_deref().ok_or_else(|| {
            let text = format!("`{name}` is no place here: the program is rings without a module");
            let near = nearest(name, WORDS);
            Diagnostic::new("S005", text).help(match near.as_slice() {
                [] => "places: tx[3], rx[3:9], q0, batch 2, event 40, an address, marker, doorbell, fault".to_owned(),
                near => format!("did you mean `{}`?", near.join("` or `")),
            })
        })
    }

    /// Refuses slots that do not exist.
    pub(super) fn check_slots(&self, id: QueueId, dir: Dir, last: u64) -> Result<(), Diagnostic> {
        let size = self.program().queue(id).and_then(|q| q.ring(dir)).map_or(0, |r| r.size);
        if last < size {
            return Ok(());
        }
        let text = format!(
            "`{dir}[{last}]` is not in a ring of {size_slots}",
            size_slots = count_of(size, "slot")
        );
        Err(Diagnostic::new("S005", text))
    }

    /// What a watchpoint means.
    fn watched(&self, w: &Watch) -> Result<Target, Diagnostic> {
        if let Watched::Semaphore(id) = w.what {
            if self.program().module.is_none() {
                let text = "only a module has semaphores: the program is rings without one";
                return Err(Diagnostic::new("S010", text));
            }
            return Ok(Target::Semaphore(id, w.on));
        }
        let own = self.watched_bytes(&w.what)?;
        let area = match &w.len {
            Some(len) => Area::new(own.addr, self.value(len)?),
            None => own,
        };
        watch::check_area(area, w.on)?;
        Ok(Target::Watch { area, on: w.on })
    }

    /// The bytes of a location of the module, or of a region of memory.
    pub(in crate::engine::session) fn area_named(&self, name: &str) -> Option<Area> {
        let p = self.program();
        let location = p.module.as_ref().and_then(|m| m.exec.layout().location(name));
        let region = || p.regions.iter().find(|r| r.name == name);
        location.map(Area::of).or_else(|| region().map(|r| Area::new(r.base, r.len)))
    }

    /// Whether the module has a register of this name.
    pub(in crate::engine::session) fn has_register(&self, name: &str) -> bool {
        let run = self.program().module.as_ref();
        run.is_some_and(|m| registers(m.exec.module()).any(|r| r == name))
    }

    /// Names of places that have a value: locations, regions, registers of a module.
    pub fn place_names(&self) -> Vec<String> {
        let p = self.program();
        let module = p.module.as_ref().map(|m| (m.exec.layout(), m.exec.module()));
        let locations = module.into_iter().flat_map(|(l, _)| l.placed()).map(|l| &*l.name);
        let registers = module.into_iter().flat_map(|(_, m)| registers(m));
        let regions = p.regions.iter().map(|r| r.name.as_str());
        let all: BTreeSet<&str> =
            locations.chain(regions).chain(registers).take(MAX_NAMES_COMPARED).collect();
        all.into_iter().map(str::to_owned).collect()
    }

    /// The bytes of what is watched by its name.
    pub(super) fn location(&self, name: &str) -> Result<Area, Diagnostic> {
        if let Some(area) = self.area_named(name) {
            return Ok(area);
        }
        let run = self.of_module(name)?;
        let layout = run.exec.layout();
        let near = nearest(name, layout.placed().iter().map(|l| &*l.name));
        let near: Vec<String> = near.into_iter().map(str::to_owned).collect();
        Err(unknown("memory location", name, &near))
    }

    /// A kind of stop with the queues named that it means, where the program has several: the
    /// selected one may be another later.
    pub(super) fn pinned(&self, mut kind: StopKind) -> StopKind {
        let pin = |q: &mut QueueRef| {
            if self.program().queues.len() > 1
                && let Ok(id) = queue_of(self, q)
            {
                *q = QueueRef::Exact(id);
            }
        };
        match &mut kind {
            StopKind::Break(Loc::Slots { queue, .. } | Loc::Queue(queue))
            | StopKind::Break(Loc::Doorbell(Some(queue)))
            | StopKind::Catch(Catch::Doorbell(Some(queue)))
            | StopKind::Watch(Watch { what: Watched::Slots { queue, .. }, .. }) => pin(queue),
            StopKind::Watch(Watch { what: Watched::Expr(e), .. }) => watch::pin(e, &pin),
            _ => {}
        }
        kind
    }
}

/// Bytes and where they lie.
fn bytes_words(s: &Session, area: &Area) -> String {
    let name = s.program().name_addr(area.addr);
    let hex = format!("{:#x}", area.addr);
    let name = if name == hex { hex } else { format!("{name}, {hex}") };
    let nowhere = match s.machine().memory.outside(area.addr, area.len) {
        Some(at) => format!(", no memory is known at {at:#x}"),
        None => String::new(),
    };
    match area.bytes() {
        1 => format!("1 byte at {name}{nowhere}"),
        n => format!("{n_bytes} at {name}{nowhere}", n_bytes = count_of(n, "byte")),
    }
}

/// The name of a cause, as the table has it.
fn cause_name(name: &str) -> Result<&'static str, Diagnostic> {
    let names = || cause::CAUSES.iter().map(|c| c.name);
    names().find(|n| n.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let near: Vec<String> = nearest(name, names()).into_iter().map(str::to_owned).collect();
        unknown("fault", name, &near)
    })
}

/// What a name of a module means as a place.
fn named(run: &ModuleRun, name: &str, found: &Found, m: &Machine) -> Result<Target, Diagnostic> {
    Ok(match found {
        Found::Insts(all) => {
            let mut insts = Insts { positions: all.iter().copied().collect(), ..Insts::default() };
            insts.blocks_of(run);
            insts.named_blocks(run, &|_, _, block| block == name);
            Target::Insts(Arc::new(insts))
        }
        Found::Block(queue, position) => {
            let mut insts = Insts::default();
            insts.named_blocks(run, &|q, k, _| q == &**queue && k == *position);
            Target::Insts(Arc::new(insts))
        }
        Found::Queue(name) => match run.queue(name) {
            Some(at) if m.queue(at.id).is_some() => Target::Queue(at.id),
            _ => return Err(unknown("queue", name, &[])),
        },
        Found::Bytes(name, addr) => {
            let area = run.exec.layout().location(name).map(Area::of);
            Target::Bytes(area.unwrap_or(Area::new(*addr, 1)))
        }
        Found::Slot(queue, dir, slot) => {
            Target::Slots { queue: *queue, dir: *dir, first: *slot, last: *slot }
        }
    })
}

impl Insts {
    /// Adds the blocks that hold descriptors of the instructions.
    fn blocks_of(&mut self, run: &ModuleRun) {
        for q in &run.exec.module().queues {
            for block in q.dma_blocks() {
                let Body::DmaBlock(b) = &block.body else { continue };
                if b.descriptors().any(|d| self.positions.contains(&d.pos)) {
                    self.blocks.insert((q.name.clone(), block.name.clone()));
                }
            }
        }
    }

    /// Adds blocks by queue, position and name.
    fn named_blocks(&mut self, run: &ModuleRun, fits: &dyn Fn(&str, u32, &str) -> bool) {
        for q in &run.exec.module().queues {
            for (position, block) in (0u32..).zip(q.dma_blocks()) {
                if !fits(&q.name, position, &block.name) {
                    continue;
                }
                self.blocks.insert((q.name.clone(), block.name.clone()));
                self.whole.extend(run.queue(&q.name).map(|at| (at.id, position)));
            }
        }
    }
}

/// The instructions of a line of the module's file.
fn line(run: &ModuleRun, n: u64) -> Result<Target, Diagnostic> {
    const SHOWN: usize = 3;
    let at = |p: Pos| run.line(p);
    let all = || (0..run.inst_count() as u32).map(Pos);
    let positions: BTreeSet<Pos> = all().filter(|p| at(*p) == Some(n)).collect();
    if !positions.is_empty() {
        let mut insts = Insts { positions, ..Insts::default() };
        insts.blocks_of(run);
        return Ok(Target::Insts(Arc::new(insts)));
    }
    let mut lines: Vec<u64> = all().filter_map(at).collect();
    lines.sort_by_key(|l| (l.abs_diff(n), *l));
    lines.dedup();
    lines.truncate(SHOWN);
    let d = Diagnostic::new("S005", format!("no instruction begins in `line {n}`"));
    Err(d.help(if lines.is_empty() {
        "the module's file has no lines".to_owned()
    } else {
        let near: Vec<String> = lines.iter().map(u64::to_string).collect();
        format!("the nearest lines with one: {}", near.join(", "))
    }))
}

fn unknown(what: &str, name: &str, near: &[String]) -> Diagnostic {
    let d = Diagnostic::new("S005", format!("no {what} is named `{name}`"));
    match near {
        [] => d,
        near => d.help(format!("did you mean `{}`?", near.join("` or `"))),
    }
}
