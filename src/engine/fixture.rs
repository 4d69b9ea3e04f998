//! One queue with rings, a marker and two buffers, for the tests of the engine.

use super::edit::{Change, Cursor, Edit};
use super::program::Blob;
use super::program::{
    Fill, HostOp, Program, QueueDecl, QueueId, Region, RegionKind, RingDecl, Start,
};
use crate::udma::cause::CAUSES;
use crate::udma::{Dir, Generation, Profile, reg};
use proptest::prelude::*;

/// The queue.
pub const Q: QueueId = QueueId { engine: 128, queue: 0 };
/// The host window.
pub const HOST: u64 = 0x4000_0000_0000;
/// Its Tx ring.
pub const TX: u64 = HOST + 0x10_0000;
/// Its marker area.
pub const MARKER: u64 = HOST + 0x30_0000;
/// 16 MiB of host memory with a pattern.
pub const BUFFER: u64 = HOST + 0x40_0000;
/// 16 MiB of device memory, zero.
pub const DEVICE: u64 = 0x1000_0000;

/// Bytes from a Tx ring to its Rx ring.
pub const RX_AFTER: u64 = 0x4_0000;

/// A queue with its Tx ring at `tx`.
pub fn queue(id: QueueId, tx: u64, size: u64, allocatable: bool) -> QueueDecl {
    let ring = |base| Some(RingDecl { base, size });
    QueueDecl {
        id,
        tx: ring(tx),
        rx: ring(tx + RX_AFTER),
        allocatable,
        marker_area: MARKER,
        first: [Start::FRESH; 2],
    }
}

/// The queue is initialised, then the operations follow.
pub fn program(allocatable: bool, size: u64, ops: Vec<HostOp>) -> Program {
    let mut p = Program::new(Generation::V3, Profile::default_profile());
    p.queues.push(queue(Q, TX, size, allocatable));
    let region = |name: &str, base, len, fill| Region {
        name: name.into(),
        kind: RegionKind::Host,
        base,
        len,
        fill,
    };
    p.regions.push(region("device", DEVICE, 1 << 24, Fill::Zero));
    p.regions.push(region("marker", MARKER, 64, Fill::Zero));
    p.regions.push(region("buffer", BUFFER, 1 << 24, Fill::Pattern(1)));
    p.script.push(HostOp::InitQueue { queue: Q }.into());
    p.script.extend(ops.into_iter().map(Into::into));
    p
}

/// A copy from the buffer to the device.
pub fn copy(size: u64) -> HostOp {
    HostOp::Copy { queue: Q, src: BUFFER, dst: DEVICE, size }
}

/// One pair that does the same.
pub fn stage(size: u64) -> HostOp {
    HostOp::Stage { queue: Q, src: BUFFER, dst: DEVICE, size, barrier_code: 0, set_dst_int: false }
}

/// A change of the queue, its rings, its marker or its buffers.
pub fn change(size: u64) -> impl Strategy<Value = Change> {
    let dir = || prop::sample::select(Dir::BOTH.to_vec());
    let word = |w: u32| Blob::from_vec(w.to_le_bytes().to_vec());
    let words = prop_oneof![any::<u32>(), 0..5u32, (0..32u32).prop_map(|b| 0x0d00_1000 ^ 1 << b)];
    let slot = (dir(), 0..size * 4, words).prop_map(move |(dir, at, w)| {
        let ring = if dir == Dir::Tx { TX } else { TX + RX_AFTER };
        Change::Store { addr: ring + at * 4, bytes: word(w) }
    });
    let mark = prop_oneof![Just(crate::udma::profile::MARKER), Just(0)];
    let marker = (0..4u64, mark)
        .prop_map(move |(n, w)| Change::Store { addr: MARKER + 4 * n, bytes: word(w) });
    let data = (0..1u64 << 24, prop::collection::vec(any::<u8>(), 1..40))
        .prop_map(|(n, b)| Change::Store { addr: BUFFER + n, bytes: Blob::from_vec(b) });
    let names = vec!["drtp_inc", "drtp_inc", "drtp_inc", "drl", "q_sw_ctrl", "drbp_low"];
    let register = (dir(), prop::sample::select(names), 0..20u32).prop_map(|(dir, name, n)| {
        let offset = reg::queue_reg_offset(dir, Q.queue, name).unwrap_or(0);
        let value = if name == "q_sw_ctrl" { reg::Q_SW_RESET } else { n };
        Change::Register { engine: Q.engine, offset, value }
    });
    let cursor = (dir(), prop::sample::select(Cursor::ALL.to_vec()), 0..size + 2)
        .prop_map(|(dir, cursor, value)| Change::Cursor { queue: Q, dir, cursor, value });
    let inject =
        (prop::sample::select(CAUSES.iter().collect::<Vec<_>>()), 0..size + 2, any::<bool>())
            .prop_map(|(c, slot, any)| {
                let slot = (!any).then_some(slot);
                Change::Inject { queue: Q, dir: c.dir, bit: c.bit, slot }
            });
    prop_oneof![3 => slot, 1 => marker, 1 => data, 3 => register, 4 => cursor, 2 => inject]
}

/// No edits, or some at the events of a short run.
pub fn edits(size: u64) -> impl Strategy<Value = Vec<Edit>> {
    let some = prop::collection::vec((0..160u64, change(size)), 1..8).prop_map(|all| {
        let mut edits: Vec<Edit> =
            all.into_iter().map(|(at, change)| Edit { at, change }).collect();
        edits.sort_by_key(|e| e.at);
        edits
    });
    prop_oneof![Just(Vec::new()), some]
}
