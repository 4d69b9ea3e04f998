//! The host operations as data: for each verb its code, a blank operation and its operands.
//!
//! One walk over the operands ([`walk`]) serves the container's reader and writer and the
//! assembly's parser and printer, so that the four agree by construction. Codes and operands
//! are listed in `docs/container.md` and `docs/assembly.md`.

use super::program::{Blob, DeviceOp, HostOp, QueueId, RingType};
use crate::udma::Dir;
use crate::udma::profile::WaitKind;

/// What visits the operands of an operation, in order. A reader overwrites them, a writer
/// looks at them.
pub trait Operands {
    /// What stops it.
    type Err;
    /// The queue.
    fn queue(&mut self, value: &mut QueueId) -> Result<(), Self::Err>;
    /// A number without a special reading.
    fn u64(&mut self, name: &'static str, value: &mut u64) -> Result<(), Self::Err>;
    /// A memory address.
    fn addr(&mut self, name: &'static str, value: &mut u64) -> Result<(), Self::Err>;
    /// A 32-bit number.
    fn u32(&mut self, name: &'static str, value: &mut u32) -> Result<(), Self::Err>;
    /// A signed 32-bit number.
    fn i32(&mut self, name: &'static str, value: &mut i32) -> Result<(), Self::Err>;
    /// A byte.
    fn u8(&mut self, name: &'static str, value: &mut u8) -> Result<(), Self::Err>;
    /// Yes or no.
    fn flag(&mut self, name: &'static str, value: &mut bool) -> Result<(), Self::Err>;
    /// What a wait is for.
    fn wait_kind(&mut self, name: &'static str, value: &mut WaitKind) -> Result<(), Self::Err>;
    /// A ring type code.
    fn ring_type(&mut self, name: &'static str, value: &mut RingType) -> Result<(), Self::Err>;
    /// Plain bytes.
    fn bytes(&mut self, value: &mut Blob) -> Result<(), Self::Err>;
    /// Descriptors of the ring type visited before.
    fn descs(&mut self, value: &mut Blob) -> Result<(), Self::Err>;
}

/// Names of wait kinds; the index is the code.
pub const WAIT_KINDS: [(WaitKind, &str); 3] =
    [(WaitKind::Sync, "sync"), (WaitKind::Async, "async"), (WaitKind::IntraDevice, "intra_device")];

/// The number of a ring type: 0 Tx, 1 Rx, others as they are.
pub fn ring_type_code(t: RingType) -> u32 {
    match t {
        RingType::Dir(Dir::Tx) => 0,
        RingType::Dir(Dir::Rx) => 1,
        RingType::Other(n) => n,
    }
}

/// The ring type of a number.
pub fn ring_type_of_code(code: u32) -> RingType {
    match code {
        0 => RingType::Dir(Dir::Tx),
        1 => RingType::Dir(Dir::Rx),
        n => RingType::Other(n),
    }
}

/// Verbs, in the order of their container codes 1, 2, .. ; a code, once given, stays.
pub const VERBS: [&str; 23] = [
    "init",
    "copy",
    "copy_async",
    "wait_async",
    "memset",
    "zero_copy",
    "stage",
    "marker",
    "start",
    "wait",
    "ack",
    "copy_in",
    "store",
    "wait_idle",
    "fence",
    "reg_write",
    "device_latency",
    "device_hold",
    "device_resume",
    "lose_doorbells",
    "reset_window",
    "device_kick",
    "wait_rings",
];

/// The container's code of an operation.
pub fn code(op: &HostOp) -> u16 {
    let verb = op.verb();
    VERBS.iter().position(|v| *v == verb).map_or(0, |i| i as u16 + 1)
}

/// The verb of a container code.
pub fn verb_of_code(code: u16) -> Option<&'static str> {
    VERBS.get(usize::from(code).checked_sub(1)?).copied()
}

/// An operation of this verb with every operand zero or empty.
pub fn blank(verb: &str) -> Option<HostOp> {
    let queue = QueueId { engine: 0, queue: 0 };
    let empty = || Blob::from_vec(Vec::new());
    Some(match verb {
        "init" => HostOp::InitQueue { queue },
        "copy" => HostOp::Copy { queue, src: 0, dst: 0, size: 0 },
        "copy_async" => HostOp::CopyAsync { queue, src: 0, dst: 0, size: 0, previous: 0 },
        "wait_async" => HostOp::WaitAsync { queue, handle: 0 },
        "memset" => HostOp::Memset { queue, buffer: 0, dst: 0, size: 0, value: 0 },
        "zero_copy" => HostOp::ZeroCopy {
            queue,
            host: 0,
            device: 0,
            size: 0,
            to_device: false,
            markers: [0; 2],
        },
        "stage" => {
            HostOp::Stage { queue, src: 0, dst: 0, size: 0, barrier_code: 0, set_dst_int: false }
        }
        "marker" => HostOp::StageMarker { queue, marker: 0, barrier_code: 0 },
        "start" => HostOp::CopyStart { queue, m2s: 0, s2m: 0 },
        "wait" => HostOp::Wait { queue, marker: 0, count: 0, kind: WaitKind::Sync },
        "wait_rings" => HostOp::WaitRings { queue, marker: 0, m2s: 0, s2m: 0 },
        "ack" => HostOp::Ack { queue, count: 0 },
        "copy_in" => HostOp::CopyIn { queue, ring: RingType::Dir(Dir::Tx), at: 0, descs: empty() },
        "store" => HostOp::Store { addr: 0, bytes: empty() },
        "wait_idle" => HostOp::WaitIdle { queue, count: 0 },
        "fence" => HostOp::Fence,
        "reg_write" => HostOp::RegWrite { engine: 0, offset: 0, value: 0 },
        "device_latency" => HostOp::Device(DeviceOp::Latency(0)),
        "device_hold" => HostOp::Device(DeviceOp::Hold),
        "device_resume" => HostOp::Device(DeviceOp::Resume),
        "device_kick" => HostOp::Device(DeviceOp::Kick),
        "lose_doorbells" => HostOp::Device(DeviceOp::LoseDoorbells(0)),
        "reset_window" => HostOp::Device(DeviceOp::ResetWindow(false)),
        _ => return None,
    })
}

/// Visits every operand of `op` once, in the order of the formats.
///
/// # Errors
/// The first that the visitor returns.
pub fn walk<V: Operands>(op: &mut HostOp, v: &mut V) -> Result<(), V::Err> {
    match op {
        HostOp::InitQueue { queue } => v.queue(queue),
        HostOp::Copy { queue, src, dst, size } => {
            v.queue(queue)?;
            transfer(v, src, dst, size)
        }
        HostOp::CopyAsync { queue, src, dst, size, previous } => {
            v.queue(queue)?;
            transfer(v, src, dst, size)?;
            v.i32("previous", previous)
        }
        HostOp::WaitAsync { queue, handle } => {
            v.queue(queue)?;
            v.i32("handle", handle)
        }
        HostOp::Memset { queue, buffer, dst, size, value } => {
            v.queue(queue)?;
            v.addr("buffer", buffer)?;
            v.addr("dst", dst)?;
            v.u64("size", size)?;
            v.u8("value", value)
        }
        HostOp::ZeroCopy { queue, host, device, size, to_device, markers: [first, second] } => {
            v.queue(queue)?;
            v.addr("host", host)?;
            v.addr("device", device)?;
            v.u64("size", size)?;
            v.flag("to_device", to_device)?;
            v.addr("marker0", first)?;
            v.addr("marker1", second)
        }
        HostOp::Stage { queue, src, dst, size, barrier_code, set_dst_int } => {
            v.queue(queue)?;
            transfer(v, src, dst, size)?;
            v.u32("barrier", barrier_code)?;
            v.flag("dst_int", set_dst_int)
        }
        HostOp::StageMarker { queue, marker, barrier_code } => {
            v.queue(queue)?;
            v.addr("marker", marker)?;
            v.u32("barrier", barrier_code)
        }
        HostOp::CopyStart { queue, m2s, s2m } => {
            v.queue(queue)?;
            v.u32("m2s", m2s)?;
            v.u32("s2m", s2m)
        }
        HostOp::Wait { queue, marker, count, kind } => {
            v.queue(queue)?;
            v.addr("marker", marker)?;
            v.u32("count", count)?;
            v.wait_kind("kind", kind)
        }
        HostOp::WaitRings { queue, marker, m2s, s2m } => {
            v.queue(queue)?;
            v.addr("marker", marker)?;
            v.u32("m2s", m2s)?;
            v.u32("s2m", s2m)
        }
        HostOp::Ack { queue, count } | HostOp::WaitIdle { queue, count } => {
            v.queue(queue)?;
            v.u32("count", count)
        }
        HostOp::CopyIn { queue, ring, at, descs } => {
            v.queue(queue)?;
            v.ring_type("ring", ring)?;
            v.u64("at", at)?;
            v.descs(descs)
        }
        HostOp::Store { addr, bytes } => {
            v.addr("addr", addr)?;
            v.bytes(bytes)
        }
        HostOp::RegWrite { engine, offset, value } => {
            v.u32("engine", engine)?;
            v.u32("offset", offset)?;
            v.u32("value", value)
        }
        HostOp::Fence => Ok(()),
        HostOp::Device(d) => match d {
            DeviceOp::Latency(us) => v.u64("us", us),
            DeviceOp::LoseDoorbells(n) => v.u32("n", n),
            DeviceOp::ResetWindow(on) => v.flag("on", on),
            DeviceOp::Hold | DeviceOp::Resume | DeviceOp::Kick => Ok(()),
        },
    }
}

fn transfer<V: Operands>(
    v: &mut V,
    src: &mut u64,
    dst: &mut u64,
    size: &mut u64,
) -> Result<(), V::Err> {
    v.addr("src", src)?;
    v.addr("dst", dst)?;
    v.u64("size", size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_its_blank_operation_and_code() {
        for (i, name) in VERBS.iter().enumerate() {
            let op = blank(name);
            assert_eq!(op.as_ref().map(HostOp::verb), Some(*name));
            assert_eq!(op.as_ref().map(code), Some(i as u16 + 1));
            assert_eq!(verb_of_code(i as u16 + 1), Some(*name));
        }
        assert_eq!(verb_of_code(0), None);
        assert_eq!(blank("nothing"), None);
    }
}
