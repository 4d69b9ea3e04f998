//! One queue with rings, a marker and two buffers, for the tests of the engine.

use super::program::{
    Fill, HostOp, Program, QueueDecl, QueueId, Region, RegionKind, RingDecl, Start,
};
use crate::udma::{Generation, Profile};

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
