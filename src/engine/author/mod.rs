//! From concrete movements to descriptors: packets, and virtual rings that hold them
//! (`docs/author.md`).
//!
//! A [`Transfer`] becomes packets of Tx and Rx descriptors by the walks of its sides; the
//! packets of one block are ordered among each other by barriers. Nothing here knows a ring:
//! phases are stamped when a descriptor is staged ([`stamp`]).

mod barrier;
mod compute;
mod copy;
mod error;
mod interval;
mod overlap;
mod reshape;
pub mod vring;

pub use barrier::{batch_barrier, close_batch, final_barrier, order_batch};
pub use error::{AuthorError, Why};

use crate::bir::{Op, Pos, Side, Transfer, Walk};
use crate::limits::MAX_AUTHORED_DESCS;
use crate::udma::profile::{MAX_PACKET_BYTES, cce_max_elements};
use crate::udma::{DESC_BYTES, Desc, Dir, Generation, Profile};

/// What descriptors are authored for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Generation.
    pub arch: Generation,
    /// Profile: which barrier is used, how many descriptors a packet may have.
    pub profile: &'static Profile,
    /// Memory that nothing else uses, `(address, bytes)`: where data is put down on its way when
    /// source and destination overlap in such a manner that no order of pieces works.
    pub scratch: Option<(u64, u64)>,
}

impl Target {
    /// A target without scratch memory.
    pub fn new(arch: Generation, profile: &'static Profile) -> Target {
        Target { arch, profile, scratch: None }
    }

    /// What a packet may have.
    pub fn limits(&self) -> Limits {
        let (tx, rx) = Profile::authored_packet_limits(self.arch);
        let (tx_enforced, rx_enforced) = self.profile.enforced_packet_limits(self.arch);
        Limits {
            tx: tx.min(tx_enforced) as usize,
            rx: rx.min(rx_enforced) as usize,
            bytes: MAX_PACKET_BYTES,
        }
    }
}

/// What one packet may have at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Tx descriptors, META included.
    pub tx: usize,
    /// Rx descriptors.
    pub rx: usize,
    /// Tx bytes.
    pub bytes: u64,
}

/// One packet, complete but for its phases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Tx descriptors in order, META first. FIRST, CONCAT and LAST are set on data descriptors.
    pub tx: Vec<Desc>,
    /// Rx descriptors in order; they carry no packet flags.
    pub rx: Vec<Desc>,
    /// Name of its operation class (`udma::class`).
    pub class: &'static str,
    /// Positions in `tx` of descriptors whose address was looked up at run time, ascending.
    pub patched_tx: Vec<u32>,
    /// The addresses of `rx` were looked up at run time.
    pub patched_rx: bool,
    /// The instruction that it stems from.
    pub from: Pos,
}

impl Packet {
    /// Whether a descriptor's address was looked up at run time.
    pub fn is_patched(&self, dir: Dir, at: usize) -> bool {
        match dir {
            Dir::Tx => self.patched_tx.binary_search(&(at as u32)).is_ok(),
            Dir::Rx => self.patched_rx,
        }
    }

    /// What it reads, `(address, bytes)`.
    pub fn reads(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.tx.iter().filter(|d| !d.is_meta()).map(|d| (d.ptr, d.length()))
    }

    /// What it writes, `(address, bytes)`.
    pub fn writes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.rx.iter().map(|d| (d.ptr, d.length()))
    }

    /// Bytes that Tx streams.
    pub fn tx_bytes(&self) -> u64 {
        self.reads().map(|r| r.1).sum()
    }
}

/// How much a block came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets.
    pub packets: u64,
    /// Tx descriptors, META included.
    pub tx: u64,
    /// Rx descriptors.
    pub rx: u64,
}

impl Counts {
    /// Ring memory of both directions, bytes.
    pub fn ring_bytes(&self) -> u64 {
        (self.tx + self.rx) * DESC_BYTES as u64
    }
}

/// A block's packets, barriers placed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Authored {
    /// The packets in ring order.
    pub packets: Vec<Packet>,
    /// For each of them the group that it belongs to, by number.
    pub group_of: Vec<u32>,
    /// How many.
    pub counts: Counts,
}

/// Puts the phase into a descriptor that is about to be staged. META carries an index there
/// and stays as it is.
#[must_use]
pub fn stamp(desc: Desc, dir: Dir, ring_id: u8) -> Desc {
    if dir == Dir::Tx && desc.is_meta() {
        return desc;
    }
    let phase = u32::from(ring_id & crate::udma::ring::RING_ID_MASK) << 24;
    Desc { len_ctrl: desc.len_ctrl & !(3 << 24) | phase, ..desc }
}

/// The packets of one movement, which reads all of its sources before it writes. Those of a
/// batch together go through [`order_batch`] and [`close_batch`], which place the barriers.
///
/// # Errors
/// It cannot be said in descriptors of the target; [`AuthorError`] says why.
pub fn packets(transfer: &Transfer, target: &Target) -> Result<Vec<Packet>, AuthorError> {
    group(std::slice::from_ref(transfer), target, MAX_AUTHORED_DESCS)
}

/// The packets of a block. A group is what one descriptor of the block moves: all of it is read
/// before any of it is written. Groups follow each other.
///
/// Packets that read what earlier ones write carry DMB, and the last data descriptor carries
/// the barrier that keeps the marker behind the data.
///
/// # Errors
/// As [`packets`]; also where the block needs more descriptors than a ring may hold.
pub fn author_block(groups: &[Vec<Transfer>], target: &Target) -> Result<Authored, AuthorError> {
    let mut out = Authored::default();
    for (number, g) in groups.iter().enumerate() {
        let left = MAX_AUTHORED_DESCS - out.counts.tx.max(out.counts.rx);
        for p in group(g, target, left)? {
            out.counts.packets += 1;
            out.counts.tx += p.tx.len() as u64;
            out.counts.rx += p.rx.len() as u64;
            out.packets.push(p);
            out.group_of.push(number as u32);
        }
    }
    order_batch(&mut out.packets);
    close_batch(&mut out.packets, target);
    Ok(out)
}

/// The packets of transfers that together read before they write, without barriers.
fn group(transfers: &[Transfer], target: &Target, budget: u64) -> Result<Vec<Packet>, AuthorError> {
    let packets = if overlap::apart(transfers) {
        cut_all(transfers, target, budget, false)?
    } else {
        overlap::buffered(transfers, target, budget)?
    };
    Ok(packets.into_iter().map(finish).collect())
}

/// Cuts transfers one after the other. With `single` every packet that can has one Rx
/// descriptor only, so that it may share bytes with its own source.
fn cut_all(
    transfers: &[Transfer],
    target: &Target,
    budget: u64,
    single: bool,
) -> Result<Vec<Packet>, AuthorError> {
    let mut out = Out { packets: Vec::new(), tx: 0, rx: 0, budget };
    for t in transfers {
        cut(t, target, single, &mut out).map_err(|why| AuthorError { from: t.from, why })?;
    }
    Ok(out.packets)
}

fn cut(t: &Transfer, target: &Target, single: bool, out: &mut Out) -> Result<(), Why> {
    let mut limits = target.limits();
    if single {
        limits.rx = 1;
    }
    let d = &t.dest;
    match (&t.op, t.sources.as_slice()) {
        (Op::Copy, [s]) => copy_or_cast(s, d, t.from, (target, limits), out),
        (Op::Transpose(op), [s]) => {
            let turned = Side { walk: reshape::permuted(&s.walk, *op)?, ..s.clone() };
            let shape = |w: &Walk| w.dims.iter().map(|d| d.num).collect::<Vec<_>>();
            // Between other shapes or types, and where the order of writes matters, it is a copy
            // of single elements (MODEL).
            let same_shape = shape(&turned.walk) == shape(&d.walk);
            if single || s.dtype != d.dtype || !same_shape || !overlap::writes_once(&d.walk) {
                return copy_or_cast(&turned, d, t.from, (target, limits), out);
            }
            reshape::transpose(*op, (s, d), t.from, limits, out)
        }
        (Op::Replicate, [s]) => {
            let (source, dest) = (s.walk.count(), d.walk.count());
            let times = match dest.checked_div(source) {
                Some(times) if dest.is_multiple_of(source) => times,
                None if dest == 0 => return Ok(()),
                _ => return Err(Why::Replication { read: source, written: dest }),
            };
            if times > 1 && target.arch == Generation::V2 {
                return Err(Why::ReplicationOnV2);
            }
            if s.dtype != d.dtype {
                let all = Side { walk: reshape::repeated(&s.walk, times), ..s.clone() };
                return copy_or_cast(&all, d, t.from, (target, limits), out);
            }
            if single || !overlap::writes_once(&d.walk) {
                return reshape::replicate_singly(times, (s, d), t.from, limits, out);
            }
            reshape::replicate(times, (s, d), t.from, limits, out)
        }
        (Op::Cce { op, constants }, sources) => {
            let most = cce_max_elements(target.arch);
            compute::sum((*op, constants), sources, d, t.from, most, out)
        }
        (_, sources) => Err(Why::Sources(sources.len())),
    }
}

fn copy_or_cast(
    s: &Side,
    d: &Side,
    from: Pos,
    (target, limits): (&Target, Limits),
    out: &mut Out,
) -> Result<(), Why> {
    same_count(s.walk.count(), d.walk.count())?;
    if s.dtype == d.dtype {
        copy::copy(s, d, from, limits, out)
    } else {
        compute::cast(s, d, from, cce_max_elements(target.arch), out)
    }
}

fn same_count(source: u64, dest: u64) -> Result<(), Why> {
    if source == dest { Ok(()) } else { Err(Why::Counts { read: source, written: dest }) }
}

/// Packets as they are made, counted.
struct Out {
    packets: Vec<Packet>,
    tx: u64,
    rx: u64,
    budget: u64,
}

impl Out {
    fn push(&mut self, p: Packet) -> Result<(), Why> {
        self.tx += p.tx.len() as u64;
        self.rx += p.rx.len() as u64;
        if self.tx.max(self.rx) > self.budget {
            return Err(Why::TooMany);
        }
        self.packets.push(p);
        Ok(())
    }
}

/// `length` of a descriptor word: 65536 is written as 0.
fn length_bits(bytes: u64) -> u32 {
    (bytes & 0xffff) as u32
}

/// A descriptor without flags.
fn desc(ptr: u64, bytes: u64, word1: u32) -> Desc {
    Desc { len_ctrl: length_bits(bytes), word1, ptr }
}

/// Sets FIRST, CONCAT and LAST on the data descriptors of a packet.
fn finish(mut p: Packet) -> Packet {
    set_packet_flags(&mut p.tx);
    p
}

/// The Tx truth table: `FIRST|LAST` alone, else `FIRST|CONCAT`, `CONCAT`, .., `LAST`. META
/// descriptors stay as they are.
fn set_packet_flags(tx: &mut [Desc]) {
    const FLAGS: u32 = CONCAT | LAST | FIRST;
    let data = tx.iter().filter(|d| !d.is_meta()).count();
    for (n, d) in tx.iter_mut().filter(|d| !d.is_meta()).enumerate() {
        let first = if n == 0 { FIRST } else { 0 };
        let end = if n + 1 == data { LAST } else { CONCAT };
        d.len_ctrl = d.len_ctrl & !FLAGS | first | end;
    }
}

const CONCAT: u32 = 1 << 31;
const DMB: u32 = 1 << 30;
const STRONG_ORDER: u32 = 1 << 29;
const LAST: u32 = 1 << 27;
const FIRST: u32 = 1 << 26;
const WRITE_BARRIER: u32 = 1 << 26;

/// A packet without flags whose Tx descriptors all come from one source.
fn draft(
    tx: Vec<Desc>,
    rx: Vec<Desc>,
    class: &'static str,
    (s, d): (&Side, &Side),
    from: Pos,
) -> Packet {
    let mut patched_tx = Vec::new();
    if s.patched {
        let data = tx.iter().enumerate().filter(|(_, d)| !d.is_meta());
        patched_tx.extend(data.map(|(i, _)| i as u32));
    }
    Packet { tx, rx, class, patched_tx, patched_rx: d.patched, from }
}
