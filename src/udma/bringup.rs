//! Bringing one engine up: every register access, in order (`docs/driver.md`, "Engine
//! bring-up").
//!
//! The sequence is a list of steps run against a register file that is zero until written,
//! so that a read-modify-write shows what the hardware would answer.

use super::arch::Generation;
use super::cause;
use super::desc::Dir;
use super::profile::{MAX_PACKET_BYTES, Profile, QUEUES_PER_ENGINE};
use super::reg::{self, CFG_PREFETCH, CFG_STREAM, IRQ_GROUP_BYTES, IRQ_PRIMARY, IRQ_SECONDARY};
use std::collections::BTreeMap;

/// One access of the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// A write (true) or a read.
    pub write: bool,
    /// Bytes from the start of the engine's block; at or past [`reg::ENGINE_BLOCK_BYTES`] it
    /// lies outside the block.
    pub offset: u64,
    /// What is written or read.
    pub value: u32,
}

/// Data engines in one group of v2.
const V2_GROUP: u32 = 16;
/// The wrapper around an engine, where it follows the engine's block.
const WRAPPER: u64 = reg::ENGINE_BLOCK_BYTES as u64;
/// The wrapper of a v2 group, counted from the group's first engine.
const V2_GROUP_WRAPPER: u64 = 0x40_0000;
/// Interrupt controller of the fabric that sums up a data engine's errors on v3 and v4,
/// counted from the engine. MODEL: seen on engine 0 only, taken to be as far from the others.
const FABRIC_IRQ: u64 = 0xa00_0000;
/// Longest wait on the bus during bring-up.
const AXI_TIMEOUT: u32 = 100_000_000;
/// Largest burst of 8, always broken at its boundary.
const BURST_8: u32 = 1 << 16 | 8;
/// `m2s_pkt_len`: a length of 0 means 64 KiB.
const ZERO_IS_64K: u32 = 1 << 24;
/// Completion descriptor size, in words, and the enable above it.
const COMP_CFG: u32 = 0x1004;
/// Prefetch threshold 65; bursts of at least 8 above it and 1 below.
const PREFETCH_THRESHOLD: u32 = 65 << 8 | 8 << 4 | 1;
/// Interrupt group control as bring-up sets it.
const IRQ_CONTROL: u32 = 0x28;

/// Groups of an interrupt controller.
#[derive(Clone, Copy)]
enum Group {
    A,
    B,
    C,
    D,
}

const fn group(controller: u32, group: Group) -> u32 {
    controller + group as u32 * IRQ_GROUP_BYTES
}

/// What one half's errors take in the interrupt controllers.
struct ErrorIrq {
    dir: Dir,
    /// Group of the half's own causes.
    own: Group,
    /// Causes of that group that stay masked.
    own_off: u32,
    /// Causes of secondary group C that stay masked by this half's set-up.
    shared_off: u32,
}

static ERROR_IRQS: [ErrorIrq; 2] = [
    ErrorIrq { dir: Dir::Tx, own: Group::A, own_off: 0xf000_0000, shared_off: !0x3f },
    ErrorIrq { dir: Dir::Rx, own: Group::B, own_off: 0x10f8, shared_off: !(0x3f << 6) },
];

/// Bit of primary group D that sums up secondary group C.
const SHARED_SUMMARY: u32 = 1 << 10;

/// The register file and the accesses so far.
#[derive(Default)]
struct Sequence {
    file: BTreeMap<u64, u32>,
    out: Vec<Access>,
}

impl Sequence {
    fn write_far(&mut self, offset: u64, value: u32) {
        self.file.insert(offset, value);
        self.out.push(Access { write: true, offset, value });
    }

    fn write(&mut self, offset: u32, value: u32) {
        self.write_far(u64::from(offset), value);
    }

    fn modify_far(&mut self, offset: u64, change: impl FnOnce(u32) -> u32) {
        let value = self.file.get(&offset).copied().unwrap_or(0);
        self.out.push(Access { write: false, offset, value });
        self.write_far(offset, change(value));
    }

    fn modify(&mut self, offset: u32, change: impl FnOnce(u32) -> u32) {
        self.modify_far(u64::from(offset), change);
    }
}

/// Every register access of bringing `engine` up, in order. `None` where the generation has
/// no such engine.
///
/// The packet limit is the profile's: kernel profiles program 65, and user space its own
/// Tx limit (MODEL: it does not bring engines up itself). v4 is given its extra register under
/// every profile, 2.24 included, which does not know v4.
pub fn bring_up(profile: &Profile, arch: Generation, engine: u32) -> Option<Vec<Access>> {
    reg::engine_base(arch, engine)?;
    let mut seq = Sequence::default();
    let s = &mut seq;
    if arch == Generation::V2 && engine == 0 {
        s.write_far(V2_GROUP_WRAPPER + 0x100, 0xffff);
        s.write_far(V2_GROUP_WRAPPER + 0x104, 0xffff);
    }
    enable_queues(s);
    data_path(s, arch);
    error_interrupts(s);
    s.write(reg::S2M_COMP_CFG, COMP_CFG);
    prefetch(s, profile.enforced_packet_limits(arch).0 as u32);
    wrapper(s, arch, engine);
    if arch == Generation::V2 {
        axi_errors(s);
    } else if !arch.ring_id_armed(engine) {
        mask_ring_id(s);
    }
    Some(seq.out)
}

/// The driver's cached configuration is still zero here, hence no resting bits.
fn enable_queues(s: &mut Sequence) {
    for queue in 0..QUEUES_PER_ENGINE {
        for dir in Dir::BOTH {
            if let Some(cfg) = reg::queue_reg_offset(dir, queue, "cfg") {
                s.write(cfg, CFG_PREFETCH | CFG_STREAM);
            }
        }
    }
}

fn data_path(s: &mut Sequence, arch: Generation) {
    let (beats, m2s_outstanding, s2m_reads) = match arch {
        Generation::V2 => (1024, 0x0000_086f, 0x0040_0008),
        Generation::V3 | Generation::V4 => (2296, 0x2080_8080, 0x0040_0080),
    };
    s.write(reg::M2S_DATA_CFG, 0x100 << 16 | beats);
    s.write(reg::M2S_OUTSTANDING, m2s_outstanding);
    s.write(reg::AXI_TIMEOUT, AXI_TIMEOUT);
    s.write(reg::M2S_ACK_TIMEOUT, 0);
    s.write(reg::M2S_PKT_LEN, ZERO_IS_64K | MAX_PACKET_BYTES as u32);
    s.write(reg::M2S_STREAM_CFG, 0x102);
    select_addresses(s, 0..1);
    s.write(reg::M2S_DATA_READ, BURST_8);
    s.write(reg::S2M_ACK_TIMEOUT, 0);
    select_addresses(s, 1..4);
    s.write(reg::S2M_OUTSTANDING_READ, s2m_reads);
    s.write(reg::S2M_OUTSTANDING_WRITE, 0x4080_4080);
    if arch == Generation::V4 {
        s.modify(reg::S2M_OUTSTANDING_WRITE_2, |v| v & !0x3ff | 256);
    }
    s.modify(reg::SPARE, |v| v & !1);
}

/// Address selectors of every queue, all ones: word 0 is Tx, words 1 to 3 are Rx.
fn select_addresses(s: &mut Sequence, words: std::ops::Range<u32>) {
    for queue in 0..QUEUES_PER_ENGINE {
        for word in words.clone() {
            s.write(reg::ADDR_SELECT + queue * reg::ADDR_SELECT_BYTES + word * 4, u32::MAX);
        }
    }
}

/// Errors abort and interrupt; completions never do. Unmasking writes the complement.
fn error_interrupts(s: &mut Sequence) {
    for irq in &ERROR_IRQS {
        let own = group(IRQ_SECONDARY, irq.own);
        let shared = group(IRQ_SECONDARY, Group::C);
        let primary = group(IRQ_PRIMARY, Group::D);
        s.write(own + reg::IRQ_CONTROL, IRQ_CONTROL);
        s.write(primary + reg::IRQ_CONTROL, IRQ_CONTROL);
        s.write(own + reg::IRQ_ABORT_MASK, irq.own_off);
        s.write(shared + reg::IRQ_ABORT_MASK, irq.shared_off);
        s.write(own + reg::IRQ_MASK_CLEAR, irq.own_off);
        s.write(shared + reg::IRQ_MASK_CLEAR, irq.shared_off);
        let summary = 1 << cause::summary_bit(irq.dir) | SHARED_SUMMARY;
        s.write(primary + reg::IRQ_MASK_CLEAR, !summary);
    }
}

fn prefetch(s: &mut Sequence, packet_limit: u32) {
    s.write(reg::M2S_PREFETCH_2, 1 << 16 | packet_limit);
    s.write(reg::M2S_PREFETCH_3, PREFETCH_THRESHOLD);
    s.write(reg::S2M_PREFETCH_3, PREFETCH_THRESHOLD);
    s.write(reg::M2S_DESC_READ_3, BURST_8);
    s.write(reg::S2M_DESC_READ_3, BURST_8);
}

/// Where an engine's wrapper lies, from the start of the engine's block. Recorded for v2
/// engines 0 and 32, and for v3 and v4. MODEL: the other v2 data engines share the
/// wrapper of their group of sixteen, which lies 4 MiB after the group's first engine (its
/// masks have sixteen bits, and there is no room for one such distance per engine).
fn wrapper_offset(arch: Generation, engine: u32) -> u64 {
    if arch != Generation::V2 || engine >= 2 * V2_GROUP {
        return WRAPPER;
    }
    let own = reg::engine_base(arch, engine).unwrap_or(0);
    let first = reg::engine_base(arch, engine - engine % V2_GROUP).unwrap_or(0);
    V2_GROUP_WRAPPER - (own - first)
}

fn wrapper(s: &mut Sequence, arch: Generation, engine: u32) {
    let base = wrapper_offset(arch, engine);
    for register in [0x1c, 0x20, 0x0] {
        s.write_far(base + register, 1);
    }
    if arch != Generation::V2 {
        s.write_far(base + 0x800, 0x26);
    }
}

/// v2 reports bus errors through tables of its own.
fn axi_errors(s: &mut Sequence) {
    for row in 0..12 {
        for column in 1..4 {
            s.write(reg::AXI_ERR_ENABLE + row * 0x20 + column * 4, 0xf);
        }
    }
    for port in 0..6 {
        for entry in 0..16 {
            s.write(reg::AXI_ERR_TABLE + port * 8, entry * 8 + 7);
            s.write(reg::AXI_ERR_TABLE + port * 8 + 4, 0x10);
        }
    }
    for queue in 0..6 {
        let base = reg::AXI_QUEUE_IRQ + queue * reg::AXI_QUEUE_IRQ_BYTES;
        s.write(base + reg::IRQ_CONTROL, IRQ_CONTROL);
        s.write(base + reg::IRQ_ABORT_MASK, 0);
        s.write(base + reg::IRQ_MASK_CLEAR, 0);
    }
    s.write(reg::AXI_TIMEOUT, u32::MAX);
}

/// Data engines of v3 and v4 let a wrong phase pass: its interrupt, its abort, its summary in
/// the fabric and its log entry are masked, in this order.
fn mask_ring_id(s: &mut Sequence) {
    for irq in &ERROR_IRQS {
        let own = group(IRQ_SECONDARY, irq.own);
        let bit = cause::ring_id_mask(irq.dir);
        s.modify(own + reg::IRQ_MASK, |v| v | bit);
        s.write(own + reg::IRQ_ABORT_MASK, bit);
    }
    let fabric = |g, bit: u32| (FABRIC_IRQ + u64::from(group(0, g) + reg::IRQ_MASK), 1u32 << bit);
    for (offset, bit) in [fabric(Group::C, 11), fabric(Group::D, 2)] {
        s.modify_far(offset, |v| v | bit);
    }
    s.modify(reg::M2S_ERR_LOG_MASK, |v| v | cause::ring_id_mask(Dir::Tx));
    s.modify(reg::S2M_ERR_LOG_MASK, |v| v | cause::ring_id_mask(Dir::Rx));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accesses(arch: Generation, engine: u32) -> Vec<Access> {
        bring_up(Profile::default_profile(), arch, engine).unwrap_or_default()
    }

    #[test]
    fn lengths_per_kind_of_engine() {
        assert_eq!(accesses(Generation::V2, 0).len(), 380);
        assert_eq!(accesses(Generation::V2, 32).len(), 378);
        assert_eq!(accesses(Generation::V3, 0).len(), 146);
        assert_eq!(accesses(Generation::V3, 128).len(), 132);
        assert_eq!(accesses(Generation::V4, 128).len(), 134);
        assert_eq!(bring_up(Profile::default_profile(), Generation::V2, 34), None);
    }

    #[test]
    fn every_access_inside_the_block_is_of_a_named_register() {
        for (arch, engine) in [(Generation::V2, 0), (Generation::V3, 5), (Generation::V4, 131)] {
            for a in accesses(arch, engine) {
                if let Ok(offset) = u32::try_from(a.offset)
                    && offset < reg::ENGINE_BLOCK_BYTES
                {
                    assert!(reg::name_at(offset).is_some(), "{offset:#x}");
                }
            }
        }
    }

    #[test]
    fn ring_id_stays_armed_exactly_where_the_cause_table_says() {
        for (arch, engine) in
            [(Generation::V2, 5), (Generation::V3, 127), (Generation::V4, 3), (Generation::V4, 128)]
        {
            let masked = accesses(arch, engine)
                .iter()
                .any(|a| a.write && a.offset == u64::from(reg::M2S_ERR_LOG_MASK));
            assert_eq!(masked, !arch.ring_id_armed(engine), "{arch} {engine}");
        }
    }

    #[test]
    fn a_user_space_profile_programs_its_own_packet_limit() {
        let nrt = Profile::find("nrt-2.31").unwrap_or(Profile::default_profile());
        let limit = |p, arch| {
            bring_up(p, arch, 0)
                .into_iter()
                .flatten()
                .find(|a| a.offset == u64::from(reg::M2S_PREFETCH_2))
                .map(|a| a.value & 0xff)
        };
        assert_eq!(limit(nrt, Generation::V2), Some(128));
        assert_eq!(limit(Profile::default_profile(), Generation::V2), Some(65));
    }
}
