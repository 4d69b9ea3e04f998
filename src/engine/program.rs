//! A program: rings, memory, and what the host does with them.
//!
//! Loaders produce it, the model runs it, the container and the assembly write it
//! (`docs/container.md`, `docs/assembly.md`). It is plain data; nothing in it is derived.

pub use super::blob::Blob;
use super::edit::Edit;
use super::module_run::ModuleRun;
use super::schedule::Schedule;
use crate::udma::profile::{Platform, WaitKind};
use crate::udma::{Dir, Generation, Profile};
use std::fmt;
use std::sync::Arc;

/// Which queue of which engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId {
    /// Engine slot of the device, 0..=131.
    pub engine: u32,
    /// Queue of the engine, 0..=15.
    pub queue: u32,
}

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}.q{}", self.engine, self.queue)
    }
}

/// One ring in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RingDecl {
    /// Address of slot 0.
    pub base: u64,
    /// Slots.
    pub size: u64,
}

impl RingDecl {
    /// Address of a slot; the index is taken modulo the size.
    pub fn slot_addr(&self, index: u64) -> u64 {
        let index = if self.size == 0 { 0 } else { index % self.size };
        self.base.wrapping_add(index * crate::udma::DESC_BYTES as u64)
    }

    /// Bytes of the ring.
    pub fn bytes(&self) -> u64 {
        self.size * crate::udma::DESC_BYTES as u64
    }
}

/// A queue that the program uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QueueDecl {
    /// Which one.
    pub id: QueueId,
    /// Its Tx ring; absent where only the other direction is known.
    pub tx: Option<RingDecl>,
    /// Its Rx ring.
    pub rx: Option<RingDecl>,
    /// Whether the driver hands out its slots (host copies) or descriptors are authored
    /// elsewhere and copied in.
    pub allocatable: bool,
    /// Address of the completion marker area: handle h has its two words at `+8*h`.
    pub marker_area: u64,
    /// Where each direction begins, Tx then Rx: [`Start::FRESH`] after a queue init; a
    /// copied-out image begins at its oldest slot, with the phase that it carries.
    pub first: [Start; 2],
}

/// Where an engine begins in a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Start {
    /// Slot that is fetched first.
    pub slot: u64,
    /// Phase that it is expected to carry.
    pub ring_id: u8,
}

impl Start {
    /// What every queue init gives: slot 0, phase 1.
    pub const FRESH: Start = Start { slot: 0, ring_id: crate::udma::ring::INITIAL_RING_ID };
}

impl Default for Start {
    fn default() -> Start {
        Start::FRESH
    }
}

impl QueueDecl {
    /// The ring of a direction.
    pub fn ring(&self, dir: Dir) -> Option<RingDecl> {
        match dir {
            Dir::Tx => self.tx,
            Dir::Rx => self.rx,
        }
    }

    /// Where a direction begins.
    pub fn start(&self, dir: Dir) -> Start {
        match dir {
            Dir::Tx => self.first[0],
            Dir::Rx => self.first[1],
        }
    }
}

/// What a region is, for showing addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RegionKind {
    /// Host memory.
    Host,
    /// Device memory (HBM).
    Device,
    /// On-chip memory.
    OnChip,
    /// Registers reached by descriptor writes (semaphores).
    Register,
}

impl RegionKind {
    /// All kinds.
    pub const ALL: [RegionKind; 4] =
        [RegionKind::Host, RegionKind::Device, RegionKind::OnChip, RegionKind::Register];

    /// Name in assembly and on the screen.
    pub fn name(self) -> &'static str {
        match self {
            RegionKind::Host => "host",
            RegionKind::Device => "device",
            RegionKind::OnChip => "onchip",
            RegionKind::Register => "register",
        }
    }
}

/// What a region holds before the first event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fill {
    /// Nothing was ever written there.
    Never,
    /// Zeroes.
    Zero,
    /// One byte, repeated.
    Byte(u8),
    /// Byte i = (31*(i mod 65536) + 7*((i mod 65536) >> 8) + seed + 13*(i >> 16)) mod 256.
    Pattern(u8),
    /// Written, but the content is not known: a pattern made from the address stands for it.
    Unknown,
}

/// A named stretch of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Name, unique in the program.
    pub name: String,
    /// What it is.
    pub kind: RegionKind,
    /// First address.
    pub base: u64,
    /// Bytes.
    pub len: u64,
    /// What it holds at the start.
    pub fill: Fill,
}

impl Region {
    /// Whether `addr` lies inside.
    pub fn contains(&self, addr: u64) -> bool {
        addr >= self.base && addr - self.base < self.len
    }
}

/// Initial memory contents: bytes from an address on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// First address.
    pub addr: u64,
    /// The bytes.
    pub bytes: Blob,
}

/// A variable that symbolic addresses name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// 19-bit id.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Address that the id stands for.
    pub addr: u64,
}

/// What the device does that the driver cannot see. All of it is MODEL: a scenario, not a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceOp {
    /// Work starts this many microseconds after a TX doorbell (default 0: at once).
    Latency(u64),
    /// Doorbells are taken but start no work.
    Hold,
    /// They start work again: the next TX doorbell sets off all that is posted.
    Resume,
    /// What is posted is begun now.
    Kick,
    /// The next n doorbell writes are lost.
    LoseDoorbells(u32),
    /// Whether the driver believes itself inside a reset window (v2 retries a timed-out copy).
    ResetWindow(bool),
}

impl DeviceOp {
    /// The verb that assembly and events use.
    pub fn verb(self) -> &'static str {
        match self {
            DeviceOp::Latency(_) => "device_latency",
            DeviceOp::Hold => "device_hold",
            DeviceOp::Resume => "device_resume",
            DeviceOp::Kick => "device_kick",
            DeviceOp::LoseDoorbells(_) => "lose_doorbells",
            DeviceOp::ResetWindow(_) => "reset_window",
        }
    }
}

/// One thing that the host does: a call of the driver's interface, or a plain store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostOp {
    /// Initialise the queue as declared (15 register writes).
    InitQueue {
        /// Which.
        queue: QueueId,
    },
    /// Synchronous copy, cut into chunks and batches.
    Copy {
        /// Queue.
        queue: QueueId,
        /// Source.
        src: u64,
        /// Destination.
        dst: u64,
        /// Bytes.
        size: u64,
    },
    /// Asynchronous copy after an earlier one: handle -1 none yet, 1 and 2 alternate.
    CopyAsync {
        /// Queue.
        queue: QueueId,
        /// Source.
        src: u64,
        /// Destination.
        dst: u64,
        /// Bytes; must fit one batch.
        size: u64,
        /// Handle of the copy before.
        previous: i32,
    },
    /// Wait for an asynchronous copy.
    WaitAsync {
        /// Queue.
        queue: QueueId,
        /// Its handle.
        handle: i32,
    },
    /// Fill device memory: host buffer filled, one copy, then device to device.
    Memset {
        /// Queue.
        queue: QueueId,
        /// Address of the 64 KiB host buffer.
        buffer: u64,
        /// Destination.
        dst: u64,
        /// Bytes.
        size: u64,
        /// The byte.
        value: u8,
    },
    /// Copy from or to pinned user pages.
    ZeroCopy {
        /// Queue.
        queue: QueueId,
        /// Host address of the first byte (inside its page).
        host: u64,
        /// Device address.
        device: u64,
        /// Bytes.
        size: u64,
        /// Host to device (true) or back.
        to_device: bool,
        /// Marker addresses of the two contexts.
        markers: [u64; 2],
    },
    /// Stage one pair through the public staging call.
    Stage {
        /// Queue.
        queue: QueueId,
        /// Source.
        src: u64,
        /// Destination.
        dst: u64,
        /// Bytes.
        size: u64,
        /// Barrier code as passed.
        barrier_code: u32,
        /// Interrupt on the destination.
        set_dst_int: bool,
    },
    /// Seed a marker's two words and stage its completion pair.
    StageMarker {
        /// Queue.
        queue: QueueId,
        /// Address of the first word.
        marker: u64,
        /// Barrier code.
        barrier_code: u32,
    },
    /// Ring: RX first, then TX.
    CopyStart {
        /// Queue.
        queue: QueueId,
        /// TX count.
        m2s: u32,
        /// RX count.
        s2m: u32,
    },
    /// Poll a marker, then re-seed it and ack `count`.
    Wait {
        /// Queue.
        queue: QueueId,
        /// Address of the first marker word.
        marker: u64,
        /// Pending descriptors, marker included.
        count: u32,
        /// Timing.
        kind: WaitKind,
    },
    /// Poll a marker, re-seed it, then ack each ring by its own count: a batch authored
    /// elsewhere whose halves differ (MODEL: the driver's calls know one count).
    WaitRings {
        /// Queue.
        queue: QueueId,
        /// Address of the first marker word.
        marker: u64,
        /// Tx descriptors of the batch, marker included.
        m2s: u32,
        /// Rx descriptors.
        s2m: u32,
    },
    /// Advance the software completion cursors.
    Ack {
        /// Queue.
        queue: QueueId,
        /// By how much.
        count: u32,
    },
    /// Copy descriptors authored elsewhere into a ring.
    CopyIn {
        /// Queue.
        queue: QueueId,
        /// Which ring: 0 Tx, 1 Rx; anything else is refused.
        ring: RingType,
        /// First slot.
        at: u64,
        /// Descriptors, 16 bytes each.
        descs: Blob,
    },
    /// Store bytes to memory by the CPU.
    Store {
        /// Address.
        addr: u64,
        /// Bytes.
        bytes: Blob,
    },
    /// Wait until the engine has nothing left to do (for rings without a marker), then ack.
    WaitIdle {
        /// Queue.
        queue: QueueId,
        /// Acked when idle.
        count: u32,
    },
    /// A memory barrier of the CPU.
    Fence,
    /// Write a register of an engine block directly; under a user-space profile by the request
    /// that refuses ring bases and doorbells.
    RegWrite {
        /// Engine.
        engine: u32,
        /// Offset inside the engine block.
        offset: u32,
        /// Value.
        value: u32,
    },
    /// A change in how the device behaves (MODEL).
    Device(DeviceOp),
}

/// A ring type as passed to the descriptor copy-in call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RingType {
    /// One of the two rings.
    Dir(Dir),
    /// A code that names neither.
    Other(u32),
}

impl HostOp {
    /// The queue that it works on.
    pub fn queue(&self) -> Option<QueueId> {
        match self {
            HostOp::InitQueue { queue }
            | HostOp::Copy { queue, .. }
            | HostOp::CopyAsync { queue, .. }
            | HostOp::WaitAsync { queue, .. }
            | HostOp::Memset { queue, .. }
            | HostOp::ZeroCopy { queue, .. }
            | HostOp::Stage { queue, .. }
            | HostOp::StageMarker { queue, .. }
            | HostOp::CopyStart { queue, .. }
            | HostOp::Wait { queue, .. }
            | HostOp::WaitRings { queue, .. }
            | HostOp::Ack { queue, .. }
            | HostOp::CopyIn { queue, .. }
            | HostOp::WaitIdle { queue, .. } => Some(*queue),
            HostOp::Store { .. } | HostOp::Fence | HostOp::RegWrite { .. } | HostOp::Device(_) => {
                None
            }
        }
    }

    /// The verb that assembly and events use.
    pub fn verb(&self) -> &'static str {
        match self {
            HostOp::InitQueue { .. } => "init",
            HostOp::Copy { .. } => "copy",
            HostOp::CopyAsync { .. } => "copy_async",
            HostOp::WaitAsync { .. } => "wait_async",
            HostOp::Memset { .. } => "memset",
            HostOp::ZeroCopy { .. } => "zero_copy",
            HostOp::Stage { .. } => "stage",
            HostOp::StageMarker { .. } => "marker",
            HostOp::CopyStart { .. } => "start",
            HostOp::Wait { .. } => "wait",
            HostOp::WaitRings { .. } => "wait_rings",
            HostOp::Ack { .. } => "ack",
            HostOp::CopyIn { .. } => "copy_in",
            HostOp::Store { .. } => "store",
            HostOp::WaitIdle { .. } => "wait_idle",
            HostOp::Fence => "fence",
            HostOp::RegWrite { .. } => "reg_write",
            HostOp::Device(d) => d.verb(),
        }
    }
}

/// An operation of the host script and the line it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptOp {
    /// What.
    pub op: HostOp,
    /// A remark that the program carries along; empty if none.
    pub note: String,
}

impl From<HostOp> for ScriptOp {
    fn from(op: HostOp) -> ScriptOp {
        ScriptOp { op, note: String::new() }
    }
}

/// How fast the engine is (PARAM; MODEL). Zero: everything is visible before the first poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Speed {
    /// Nanoseconds per descriptor.
    pub ns_per_desc: u64,
    /// Bytes per nanosecond; 0 stands for no limit.
    pub bytes_per_ns: u64,
}

/// A section of a container that this build does not know; kept as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownSection {
    /// Four-byte kind.
    pub kind: u32,
    /// Its bytes.
    pub bytes: Blob,
}

/// Everything that is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Generation.
    pub arch: Generation,
    /// Driver profile.
    pub profile: &'static Profile,
    /// What the device is, for wait times.
    pub platform: Platform,
    /// Engine speed.
    pub speed: Speed,
    /// Queues, each id once.
    pub queues: Vec<QueueDecl>,
    /// Memory regions, sorted by base, not overlapping.
    pub regions: Vec<Region>,
    /// Initial contents, applied in order over the regions' fills.
    pub contents: Vec<Content>,
    /// Register values set before the first event: (engine, offset in the engine block, value).
    pub registers: Vec<(u32, u32, u32)>,
    /// Variables of symbolic addresses.
    pub variables: Vec<Variable>,
    /// What the host does.
    pub script: Vec<ScriptOp>,
    /// What a user changed in its run, sorted by event; of one event in the order made.
    pub edits: Vec<Edit>,
    /// Sections of other kinds, kept.
    pub unknown: Vec<UnknownSection>,
    /// The module whose instructions its sequencers execute.
    pub module: Option<Arc<ModuleRun>>,
    /// In which order it is run; the calm one by default. No file format carries it.
    pub schedule: Schedule,
    /// What is known of it beside what it does.
    pub aside: Aside,
}

/// What is known of a program beside what it does. Two programs that do the same are the same
/// program, whatever is known of them: this is equal to any other.
#[derive(Debug, Clone, Default)]
pub struct Aside {
    /// What the host does was made up for rings without a host (MODEL): what races with it is a
    /// hint, no error. No file format carries it.
    pub made_up: bool,
    /// Comment lines of the text it was read from that say what is accepted of it, without the
    /// comment's mark (`allow R030: why`). Only the assembly carries them, as comments.
    pub directives: Vec<String>,
}

impl PartialEq for Aside {
    fn eq(&self, _: &Aside) -> bool {
        true
    }
}

impl Eq for Aside {}

impl Program {
    /// Whether anything of it can be run: it has a script of a host, or sequencers.
    pub fn is_run(&self) -> bool {
        !self.script.is_empty() || self.module.is_some()
    }

    /// An empty program of a generation under a profile.
    pub fn new(arch: Generation, profile: &'static Profile) -> Program {
        Program {
            arch,
            profile,
            platform: Platform::Silicon,
            speed: Speed::default(),
            queues: Vec::new(),
            regions: Vec::new(),
            contents: Vec::new(),
            registers: Vec::new(),
            variables: Vec::new(),
            script: Vec::new(),
            edits: Vec::new(),
            unknown: Vec::new(),
            module: None,
            schedule: Schedule::default(),
            aside: Aside::default(),
        }
    }

    /// The declaration of a queue.
    pub fn queue(&self, id: QueueId) -> Option<&QueueDecl> {
        self.queues.iter().find(|q| q.id == id)
    }

    /// The region that holds `addr`.
    pub fn region_at(&self, addr: u64) -> Option<&Region> {
        let i = self.regions.partition_point(|r| r.base <= addr);
        self.regions[..i].last().filter(|r| r.contains(addr))
    }

    /// `name+0xoffset` where a region holds the address, else the bare number.
    pub fn name_addr(&self, addr: u64) -> String {
        match self.region_at(addr) {
            Some(r) if addr == r.base => r.name.clone(),
            Some(r) => format!("{}+{:#x}", r.name, addr - r.base),
            None => format!("{addr:#x}"),
        }
    }

    /// The edits that are made right after event `n`, in order.
    pub fn edits_at(&self, n: u64) -> &[Edit] {
        let from = self.edits.partition_point(|e| e.at < n);
        let to = self.edits.partition_point(|e| e.at <= n);
        self.edits.get(from..to).unwrap_or_default()
    }

    /// Puts the regions in order of their bases.
    pub fn sort_regions(&mut self) {
        self.regions.sort_by(|a, b| (a.base, &a.name).cmp(&(b.base, &b.name)));
    }
}
