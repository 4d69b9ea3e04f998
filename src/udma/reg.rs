//! The register map of one engine block, as tables: the registers of a queue, the registers
//! of the engine around them, and where the blocks lie in BAR0 (`docs/registers.md`).
//!
//! Offsets are bytes. An *engine offset* counts from the start of an engine's 256 KiB block,
//! a *queue offset* from the start of a queue's 4 KiB inside it. Every register is 32 bits.

use super::arch::Generation;
use super::desc::Dir;
use super::profile::QUEUES_PER_ENGINE;
use std::fmt;

/// Bytes of one engine's block.
pub const ENGINE_BLOCK_BYTES: u32 = 0x4_0000;
/// Bytes of one queue's block.
pub const QUEUE_BLOCK_BYTES: u32 = 0x1000;
/// Bits of a descriptor index in a head, tail or length register.
pub const INDEX_MASK: u32 = 0x00ff_ffff;
/// `cfg`: prefetch enable.
pub const CFG_PREFETCH: u32 = 1 << 16;
/// `cfg`: scheduling enable (M2S) or stream enable (S2M).
pub const CFG_STREAM: u32 = 1 << 17;
/// `q_sw_ctrl`: resets the queue.
pub const Q_SW_RESET: u32 = 1 << 8;
/// Bits of a ring base that `drbp_low` holds: the address is a multiple of 64 there (and of
/// 256 by the driver's own rule).
pub const DRBP_LOW_MASK: u32 = 0xffff_ffc0;

/// A named range of bits in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegField {
    /// Its name.
    pub name: &'static str,
    /// Highest bit.
    pub hi: u8,
    /// Lowest bit.
    pub lo: u8,
    /// What it says.
    pub meaning: &'static str,
    /// Names of its values from 0 on, where it is a code.
    pub codes: &'static [&'static str],
}

impl RegField {
    /// The field's value in a register's.
    pub const fn get(&self, value: u32) -> u32 {
        value >> self.lo & (u32::MAX >> (31 - (self.hi - self.lo)))
    }
}

const fn bits(name: &'static str, hi: u8, lo: u8, meaning: &'static str) -> RegField {
    RegField { name, hi, lo, meaning, codes: &[] }
}

const UNIT_STATES: &[&str] = &["idle", "active", "abort", "reserved"];

const fn unit(name: &'static str, lo: u8, meaning: &'static str) -> RegField {
    RegField { name, hi: lo + 1, lo, meaning, codes: UNIT_STATES }
}

/// Head and tail registers.
pub static POINTER_FIELDS: &[RegField] = &[
    RegField {
        name: "ring_id",
        hi: 31,
        lo: 30,
        meaning: "phase of the lap; the driver masks it off when it reports a queue",
        codes: &[],
    },
    bits("index", 23, 0, "descriptor index in the ring"),
];
/// `cfg` of a queue.
pub static CFG_FIELDS: &[RegField] = &[
    bits("stream_en", 17, 17, "scheduling enable (M2S) or stream enable (S2M)"),
    bits("prefetch_en", 16, 16, "descriptor prefetch enable"),
];
/// State register of either half of an engine.
pub static STATE_FIELDS: &[RegField] = &[
    unit("prefetch", 12, "descriptor prefetch"),
    unit("data", 8, "data read (M2S) or write (S2M)"),
    unit("stream", 4, "stream"),
    unit("completion", 0, "completion"),
];
static DESC_COUNT: &[RegField] = &[bits("count", 23, 0, "descriptors")];
static SW_CTRL_FIELDS: &[RegField] = &[bits("reset", 8, 8, "resets the queue")];
static BASE_LOW_FIELDS: &[RegField] = &[bits("base", 31, 6, "ring base [31:6]")];

/// A register of a queue's block.
#[derive(Debug, PartialEq, Eq)]
pub struct QueueReg {
    /// Name, as `mmio_write` events and commands give it.
    pub name: &'static str,
    /// Queue offset of its first byte.
    pub offset: u32,
    /// Bytes that it takes: 4, or more for a row of registers without single names.
    pub bytes: u32,
    /// Exists under this meaning in M2S (Tx) queues.
    pub tx: bool,
    /// Exists under this meaning in S2M (Rx) queues.
    pub rx: bool,
    /// User space may not write it.
    pub guarded: bool,
    /// One line for a reader.
    pub meaning: &'static str,
    /// Its bits, where they are known.
    pub fields: &'static [RegField],
}

impl QueueReg {
    /// Whether queues of direction `dir` have it.
    pub const fn has(&self, dir: Dir) -> bool {
        match dir {
            Dir::Tx => self.tx,
            Dir::Rx => self.rx,
        }
    }

    const fn new(name: &'static str, offset: u32, meaning: &'static str) -> QueueReg {
        let (bytes, tx, rx, guarded) = (4, true, true, false);
        QueueReg { name, offset, bytes, tx, rx, guarded, meaning, fields: &[] }
    }

    const fn tx_only(self) -> QueueReg {
        QueueReg { rx: false, ..self }
    }

    const fn rx_only(self) -> QueueReg {
        QueueReg { tx: false, ..self }
    }

    const fn guarded(self) -> QueueReg {
        QueueReg { guarded: true, ..self }
    }

    const fn fields(self, fields: &'static [RegField]) -> QueueReg {
        QueueReg { fields, ..self }
    }
}

/// The registers of a queue, by offset. Where one offset means two things, each direction
/// has its own row.
pub static QUEUE_REGS: &[QueueReg] = &[
    QueueReg::new("desc_pref_cfg", 0x00, "descriptor prefetch; the driver leaves it alone")
        .tx_only(),
    QueueReg::new("cfg", 0x20, "queue configuration; 0x03000000 at rest").fields(CFG_FIELDS),
    QueueReg::new("status", 0x24, "queue status; handed to user space undecoded"),
    QueueReg::new("drbp_low", 0x28, "ring base, low word").guarded().fields(BASE_LOW_FIELDS),
    QueueReg::new("drbp_high", 0x2c, "ring base, high word").guarded(),
    QueueReg::new("drl", 0x30, "ring length in descriptors").fields(DESC_COUNT),
    QueueReg::new("drhp", 0x34, "head: moved by the hardware").fields(POINTER_FIELDS),
    QueueReg::new("drtp_inc", 0x38, "doorbell: adds to the tail").guarded().fields(DESC_COUNT),
    QueueReg::new("drtp", 0x3c, "tail").fields(POINTER_FIELDS),
    QueueReg::new("dcp", 0x40, "current descriptor pointer; never touched"),
    QueueReg::new("crbp_low", 0x44, "completion ring base, low word; not used").guarded(),
    QueueReg::new("crbp_high", 0x48, "completion ring base, high word; not used").guarded(),
    QueueReg::new("crhp", 0x4c, "completion ring head; not used").fields(POINTER_FIELDS),
    QueueReg::new("comp_cfg", 0x54, "completion configuration: 0, no completion ring").rx_only(),
    QueueReg {
        bytes: 0x14,
        ..QueueReg::new("rlimit", 0x60, "rate limiter; its registers have no names here").tx_only()
    },
    QueueReg::new("q_sw_ctrl", 0x64, "software control").rx_only().fields(SW_CTRL_FIELDS),
    QueueReg::new("rlimit_mask", 0x74, "rate limiter mask: 3, DMB pause enabled").tx_only(),
    QueueReg::new("comp_cfg", 0xa0, "completion configuration: 0, no completion ring").tx_only(),
    QueueReg::new("q_sw_ctrl", 0xb0, "software control").tx_only().fields(SW_CTRL_FIELDS),
];

/// A register of an engine's block outside its queues, possibly repeated.
#[derive(Debug, PartialEq, Eq)]
pub struct EngineReg {
    /// Name.
    pub name: &'static str,
    /// Engine offset of the first.
    pub offset: u32,
    /// Bytes from one to the next, where there are several.
    pub stride: u32,
    /// How many there are.
    pub count: u32,
    /// One line for a reader.
    pub meaning: &'static str,
    /// Its bits, where they are known.
    pub fields: &'static [RegField],
}

const fn one(name: &'static str, offset: u32, meaning: &'static str) -> EngineReg {
    EngineReg { name, offset, stride: 4, count: 1, meaning, fields: &[] }
}

const fn many(
    name: &'static str,
    offset: u32,
    (stride, count): (u32, u32),
    meaning: &'static str,
) -> EngineReg {
    EngineReg { name, offset, stride, count, meaning, fields: &[] }
}

const fn state(name: &'static str, offset: u32, meaning: &'static str) -> EngineReg {
    EngineReg { fields: STATE_FIELDS, ..one(name, offset, meaning) }
}

/// M2S outstanding transactions.
pub const M2S_OUTSTANDING: u32 = 0x124;
/// M2S data-read configuration.
pub const M2S_DATA_READ: u32 = 0x118;
/// M2S descriptor-read configuration 3.
pub const M2S_DESC_READ_3: u32 = 0x11c;
/// M2S state.
pub const M2S_STATE: u32 = 0x200;
/// M2S change-state.
pub const M2S_CHANGE_STATE: u32 = 0x204;
/// M2S error-log mask.
pub const M2S_ERR_LOG_MASK: u32 = 0x20c;
/// M2S packet length.
pub const M2S_PKT_LEN: u32 = 0x254;
/// M2S stream configuration.
pub const M2S_STREAM_CFG: u32 = 0x258;
/// M2S prefetch configuration 2.
pub const M2S_PREFETCH_2: u32 = 0x304;
/// M2S prefetch configuration 3.
pub const M2S_PREFETCH_3: u32 = 0x308;
/// M2S data configuration.
pub const M2S_DATA_CFG: u32 = 0x310;
/// M2S completion acknowledge timeout.
pub const M2S_ACK_TIMEOUT: u32 = 0x408;
/// S2M descriptor-read configuration 3.
pub const S2M_DESC_READ_3: u32 = 0x2_011c;
/// S2M outstanding reads.
pub const S2M_OUTSTANDING_READ: u32 = 0x2_0124;
/// S2M outstanding writes.
pub const S2M_OUTSTANDING_WRITE: u32 = 0x2_0128;
/// S2M outstanding writes 2.
pub const S2M_OUTSTANDING_WRITE_2: u32 = 0x2_012c;
/// S2M state.
pub const S2M_STATE: u32 = 0x2_0200;
/// S2M change-state.
pub const S2M_CHANGE_STATE: u32 = 0x2_0204;
/// S2M error-log mask.
pub const S2M_ERR_LOG_MASK: u32 = 0x2_020c;
/// S2M stream configuration.
pub const S2M_STREAM_CFG: u32 = 0x2_0250;
/// S2M prefetch configuration 3.
pub const S2M_PREFETCH_3: u32 = 0x2_0308;
/// S2M completion configuration.
pub const S2M_COMP_CFG: u32 = 0x2_0380;
/// S2M completion acknowledge timeout.
pub const S2M_ACK_TIMEOUT: u32 = 0x2_038c;
/// Primary interrupt controller.
pub const IRQ_PRIMARY: u32 = 0x3_8000;
/// Secondary interrupt controller.
pub const IRQ_SECONDARY: u32 = 0x3_a000;
/// Bytes from one group (A, B, C, D) of an interrupt controller to the next.
pub const IRQ_GROUP_BYTES: u32 = 0x40;
/// Mask register inside a group.
pub const IRQ_MASK: u32 = 0x10;
/// Mask-clear register inside a group: a zero bit unmasks.
pub const IRQ_MASK_CLEAR: u32 = 0x18;
/// Control register inside a group.
pub const IRQ_CONTROL: u32 = 0x28;
/// Abort mask inside a group: a zero bit arms the abort.
pub const IRQ_ABORT_MASK: u32 = 0x30;
/// AXI timeout.
pub const AXI_TIMEOUT: u32 = 0x3_a300;
/// First AXI error enable, of twelve rows of three.
pub const AXI_ERR_ENABLE: u32 = 0x3_a900;
/// First AXI error table port, of six pairs.
pub const AXI_ERR_TABLE: u32 = 0x3_ab00;
/// Interrupt groups of the AXI queues, six, 256 bytes apart.
pub const AXI_QUEUE_IRQ: u32 = 0x3_ad00;
/// Bytes from one of them to the next.
pub const AXI_QUEUE_IRQ_BYTES: u32 = 0x100;
/// Spare register, whose bit 0 is cleared at bring-up.
pub const SPARE: u32 = 0x3_b460;
/// Address selectors of queue 0.
pub const ADDR_SELECT: u32 = 0x3_c400;
/// Bytes from one queue's address selectors to the next.
pub const ADDR_SELECT_BYTES: u32 = 0x40;

/// The registers of an engine outside its queues, by offset. Interrupt groups count A, B, C, D.
pub static ENGINE_REGS: &[EngineReg] = &[
    one("m2s_data_read", M2S_DATA_READ, "M2S AXI data read: breaks at 256-byte boundaries"),
    one("m2s_desc_read_3", M2S_DESC_READ_3, "M2S AXI descriptor read 3: largest burst"),
    one("m2s_outstanding", M2S_OUTSTANDING, "M2S AXI outstanding transactions"),
    state("m2s_state", M2S_STATE, "M2S state"),
    one("m2s_change_state", M2S_CHANGE_STATE, "M2S state request: 1 normal, 2 disable, 4 abort"),
    one("m2s_err_log_mask", M2S_ERR_LOG_MASK, "M2S causes that are not logged"),
    one("m2s_pkt_len", M2S_PKT_LEN, "M2S largest packet; bit 24: length 0 means 64 KiB"),
    one("m2s_stream_cfg", M2S_STREAM_CFG, "M2S stream configuration"),
    one("m2s_prefetch_1", 0x300, "M2S prefetch 1; the driver leaves it alone"),
    one("m2s_prefetch_2", M2S_PREFETCH_2, "M2S prefetch 2: most descriptors in a packet"),
    one("m2s_prefetch_3", M2S_PREFETCH_3, "M2S prefetch 3: threshold and smallest bursts"),
    one("m2s_data_cfg", M2S_DATA_CFG, "M2S data FIFO, in beats"),
    one("m2s_ack_timeout", M2S_ACK_TIMEOUT, "M2S completion acknowledge timeout"),
    one("s2m_desc_read_3", S2M_DESC_READ_3, "S2M AXI descriptor read 3: largest burst"),
    one("s2m_outstanding_read", S2M_OUTSTANDING_READ, "S2M AXI outstanding reads"),
    one("s2m_outstanding_write", S2M_OUTSTANDING_WRITE, "S2M AXI outstanding writes"),
    one("s2m_outstanding_write_2", S2M_OUTSTANDING_WRITE_2, "S2M AXI outstanding writes, more"),
    state("s2m_state", S2M_STATE, "S2M state"),
    one("s2m_change_state", S2M_CHANGE_STATE, "S2M state request: 1 normal, 2 disable, 4 abort"),
    one("s2m_err_log_mask", S2M_ERR_LOG_MASK, "S2M causes that are not logged"),
    one("s2m_stream_cfg", S2M_STREAM_CFG, "S2M stream; bits 0, 4 and 8: disabled, flushing"),
    one("s2m_prefetch_3", S2M_PREFETCH_3, "S2M prefetch 3: threshold and smallest bursts"),
    one("s2m_comp_cfg", S2M_COMP_CFG, "S2M completions; size in words in the low bits"),
    one("s2m_ack_timeout", S2M_ACK_TIMEOUT, "S2M completion acknowledge timeout"),
    many("irq1_mask", IRQ_PRIMARY + IRQ_MASK, (IRQ_GROUP_BYTES, 4), "primary mask"),
    many(
        "irq1_mask_clear",
        IRQ_PRIMARY + IRQ_MASK_CLEAR,
        (IRQ_GROUP_BYTES, 4),
        "primary unmask; write the complement",
    ),
    many("irq1_control", IRQ_PRIMARY + IRQ_CONTROL, (IRQ_GROUP_BYTES, 4), "primary control"),
    many(
        "irq1_abort_mask",
        IRQ_PRIMARY + IRQ_ABORT_MASK,
        (IRQ_GROUP_BYTES, 4),
        "primary causes that do not abort",
    ),
    many("irq2_mask", IRQ_SECONDARY + IRQ_MASK, (IRQ_GROUP_BYTES, 4), "secondary mask"),
    many(
        "irq2_mask_clear",
        IRQ_SECONDARY + IRQ_MASK_CLEAR,
        (IRQ_GROUP_BYTES, 4),
        "secondary unmask; write the complement",
    ),
    many("irq2_control", IRQ_SECONDARY + IRQ_CONTROL, (IRQ_GROUP_BYTES, 4), "secondary control"),
    many(
        "irq2_abort_mask",
        IRQ_SECONDARY + IRQ_ABORT_MASK,
        (IRQ_GROUP_BYTES, 4),
        "secondary causes that do not abort",
    ),
    one("axi_timeout", AXI_TIMEOUT, "AXI timeout"),
    many("axi_err_enable_1", AXI_ERR_ENABLE + 4, (0x20, 12), "AXI error enable, v2"),
    many("axi_err_enable_2", AXI_ERR_ENABLE + 8, (0x20, 12), "AXI error enable, v2"),
    many("axi_err_enable_3", AXI_ERR_ENABLE + 12, (0x20, 12), "AXI error enable, v2"),
    many("axi_err_index", AXI_ERR_TABLE, (8, 6), "AXI error table: entry to write, v2"),
    many("axi_err_data", AXI_ERR_TABLE + 4, (8, 6), "AXI error table: what to write, v2"),
    many(
        "axiq_mask_clear",
        AXI_QUEUE_IRQ + IRQ_MASK_CLEAR,
        (AXI_QUEUE_IRQ_BYTES, 6),
        "AXI queue unmask",
    ),
    many(
        "axiq_control",
        AXI_QUEUE_IRQ + IRQ_CONTROL,
        (AXI_QUEUE_IRQ_BYTES, 6),
        "AXI queue control",
    ),
    many(
        "axiq_abort_mask",
        AXI_QUEUE_IRQ + IRQ_ABORT_MASK,
        (AXI_QUEUE_IRQ_BYTES, 6),
        "AXI queue causes that do not abort",
    ),
    one("spare", SPARE, "spare register; bit 0 is cleared at bring-up"),
    many("tx_addr_select", ADDR_SELECT, (ADDR_SELECT_BYTES, 16), "address selector of a Tx queue"),
    many(
        "rx_addr_select_1",
        ADDR_SELECT + 4,
        (ADDR_SELECT_BYTES, 16),
        "address selector, Rx queue",
    ),
    many(
        "rx_addr_select_2",
        ADDR_SELECT + 8,
        (ADDR_SELECT_BYTES, 16),
        "address selector, Rx queue",
    ),
    many(
        "rx_addr_select_3",
        ADDR_SELECT + 12,
        (ADDR_SELECT_BYTES, 16),
        "address selector, Rx queue",
    ),
];

/// Engine offset of a queue's block. `queue` below 16 stays inside its half.
pub const fn queue_block(dir: Dir, queue: u32) -> u32 {
    let first = match dir {
        Dir::Tx => 0x1000,
        Dir::Rx => 0x2_1000,
    };
    first + queue * QUEUE_BLOCK_BYTES
}

/// The register that queues of `dir` have under `name`.
pub fn queue_reg(dir: Dir, name: &str) -> Option<&'static QueueReg> {
    QUEUE_REGS.iter().find(|r| r.has(dir) && r.name == name)
}

/// Engine offset of a queue's register.
pub fn queue_reg_offset(dir: Dir, queue: u32, name: &str) -> Option<u32> {
    queue_reg(dir, name).map(|r| queue_block(dir, queue) + r.offset)
}

/// The register of an engine, outside its queues, under `name`.
pub fn engine_reg(name: &str) -> Option<&'static EngineReg> {
    ENGINE_REGS.iter().find(|r| r.name == name)
}

/// Names of all registers, those of the queues first, each once.
pub fn register_names() -> impl Iterator<Item = &'static str> {
    let once = |at: usize| !QUEUE_REGS.iter().take(at).any(|r| r.name == QUEUE_REGS[at].name);
    let queue = (0..QUEUE_REGS.len()).filter(move |at| once(*at)).map(|at| QUEUE_REGS[at].name);
    let engine = ENGINE_REGS.iter().map(|r| r.name);
    queue.chain(engine.filter(|name| QUEUE_REGS.iter().all(|r| r.name != *name)))
}

/// The register that has a name, in any letter case.
pub fn register(name: &str) -> Option<&'static str> {
    register_names().find(|n| n.eq_ignore_ascii_case(name))
}

/// The queue whose block holds an engine offset, and the queue offset.
pub fn queue_at(engine_offset: u32) -> Option<(Dir, u32, u32)> {
    Dir::BOTH.into_iter().find_map(|dir| {
        let inside = engine_offset.checked_sub(queue_block(dir, 0))?;
        let queue = inside / QUEUE_BLOCK_BYTES;
        (queue < QUEUES_PER_ENGINE).then_some((dir, queue, inside % QUEUE_BLOCK_BYTES))
    })
}

/// What an engine offset lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Direction and number of the queue, inside a queue's block.
    pub queue: Option<(Dir, u32)>,
    /// The register's name.
    pub name: &'static str,
    /// Which one, where an engine register is repeated.
    pub index: Option<u32>,
    /// Byte inside the register (0 for an aligned access).
    pub byte: u32,
    /// The register's one line.
    pub meaning: &'static str,
    /// The register's known bits.
    pub fields: &'static [RegField],
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((dir, queue)) = self.queue {
            write!(f, "{dir} q{queue} ")?;
        }
        f.write_str(self.name)?;
        if let Some(i) = self.index {
            write!(f, "[{i}]")?;
        }
        if self.byte != 0 {
            write!(f, "+{:#x}", self.byte)?;
        }
        Ok(())
    }
}

/// Resolves an engine offset to its register; `None` where no register is known.
pub fn name_at(engine_offset: u32) -> Option<Place> {
    if let Some((dir, queue, inside)) = queue_at(engine_offset) {
        let r = QUEUE_REGS
            .iter()
            .find(|r| r.has(dir) && (r.offset..r.offset + r.bytes).contains(&inside))?;
        return Some(Place {
            queue: Some((dir, queue)),
            name: r.name,
            index: None,
            byte: inside - r.offset,
            meaning: r.meaning,
            fields: r.fields,
        });
    }
    ENGINE_REGS.iter().find_map(|r| {
        let inside = engine_offset.checked_sub(r.offset)?;
        let (index, byte) = (inside / r.stride, inside % r.stride);
        (index < r.count && byte < 4).then_some(Place {
            queue: None,
            name: r.name,
            index: (r.count > 1).then_some(index),
            byte,
            meaning: r.meaning,
            fields: r.fields,
        })
    })
}

/// Whether a user-space write to this engine offset is refused: exactly the guarded queue
/// registers, 160 offsets of an engine. An offset in between is not caught.
pub fn user_write_blocked(engine_offset: u32) -> bool {
    queue_at(engine_offset).is_some_and(|(dir, _, inside)| {
        QUEUE_REGS.iter().any(|r| r.guarded && r.has(dir) && r.offset == inside)
    })
}

/// Runs of engine blocks in BAR0: (first engine, engines, first base, stride).
type BaseRun = (u32, u32, u64, u64);

static BASES_V2: &[BaseRun] = &[
    (0, 16, 0x3000_0000, 0x4_0000),
    (16, 16, 0x3070_0000, 0x4_0000),
    (32, 1, 0x3060_0000, 0),
    (33, 1, 0x30d0_0000, 0),
];
static BASES_V3: &[BaseRun] = &[
    (0, 32, 0x8200_0000, 0x10_0000),
    (32, 32, 0x9400_0000, 0x10_0000),
    (64, 32, 0xa200_0000, 0x10_0000),
    (96, 32, 0xb400_0000, 0x10_0000),
    (128, 2, 0x680_0000, 0x10_0000),
    (130, 2, 0x4680_0000, 0x10_0000),
];

fn bases(arch: Generation) -> &'static [BaseRun] {
    match arch {
        Generation::V2 => BASES_V2,
        Generation::V3 | Generation::V4 => BASES_V3,
    }
}

/// BAR0 offset of an engine's block; `None` where the generation has no such engine.
pub fn engine_base(arch: Generation, engine: u32) -> Option<u64> {
    bases(arch).iter().find_map(|&(first, count, base, stride)| {
        let nth = engine.checked_sub(first)?;
        (nth < count).then(|| base + u64::from(nth) * stride)
    })
}

/// The engine whose block holds a BAR0 offset, and the engine offset.
pub fn engine_at(arch: Generation, bar0_offset: u64) -> Option<(u32, u32)> {
    let engines = bases(arch).iter().flat_map(|&(first, count, ..)| first..first + count);
    engines.into_iter().find_map(|engine| {
        let inside = bar0_offset.checked_sub(engine_base(arch, engine)?)?;
        let inside = u32::try_from(inside).ok()?;
        (inside < ENGINE_BLOCK_BYTES).then_some((engine, inside))
    })
}

/// One field of a register value, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRow {
    /// The field's name.
    pub name: &'static str,
    /// Highest bit.
    pub hi: u8,
    /// Lowest bit.
    pub lo: u8,
    /// Its value.
    pub value: u32,
    /// The value in words.
    pub words: String,
}

/// A value taken apart by a table of fields, in the table's order.
pub fn describe(fields: &[RegField], value: u32) -> Vec<FieldRow> {
    let row = |f: &RegField| {
        let v = f.get(value);
        let words = match f.codes.get(v as usize) {
            Some(code) => format!("{}: {code}", f.meaning),
            None => f.meaning.to_owned(),
        };
        FieldRow { name: f.name, hi: f.hi, lo: f.lo, value: v, words }
    };
    fields.iter().map(row).collect()
}

/// A state register's fields in words.
pub fn describe_state(value: u32) -> Vec<FieldRow> {
    describe(STATE_FIELDS, value)
}

/// A head or tail register's fields in words.
pub fn describe_pointer(value: u32) -> Vec<FieldRow> {
    describe(POINTER_FIELDS, value)
}

#[cfg(test)]
#[path = "reg_tests.rs"]
mod tests;
