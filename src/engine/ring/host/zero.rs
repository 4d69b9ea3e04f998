//! Zero copy: pinned user pages, merged into pairs, two batches in flight (`docs/driver.md`,
//! "Zero copy").

use super::copy::wait;
use super::{Ask, Frame, Next};
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::event::{Ret, Role};
use crate::engine::ring::machine::Machine;
use crate::udma::profile::{MAX_DESC_BYTES, PAGE_BYTES, WaitKind, ZeroCopyPolicy};
use crate::udma::{Barrier, Errno, Generation, count_of};

/// A zero copy in progress.
#[derive(Debug, Clone, Copy, Hash)]
pub struct ZeroCopy {
    queue: QueueId,
    host: u64,
    device: u64,
    left: u64,
    to_device: bool,
    markers: [u64; 2],
    /// Pages of a batch.
    batch_pages: u64,
    /// Bytes left of the batch being staged.
    batch_left: u64,
    /// Pairs staged of it.
    pending: u32,
    /// Batches begun.
    begun: u64,
    /// Batches waited for.
    waited: u64,
    /// Descriptors of the two batches in flight.
    counts: [u32; 2],
    at: At,
}

/// Where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum At {
    Begin,
    Pairs,
    Marker,
    Start,
    Started,
    Waited,
}

/// Pages that one batch takes: 64 in 2.24 and for large transfers; from 2.25 on up to 64 pages
/// at once, and half of what lies between, rounded up.
fn pages_per_batch(policy: ZeroCopyPolicy, pages: u64) -> u64 {
    match policy {
        ZeroCopyPolicy::LastBatch { .. } if pages <= 64 => pages.max(1),
        ZeroCopyPolicy::LastBatch { .. } if pages <= 128 => pages.div_ceil(2),
        _ => 64,
    }
}

/// Bytes of the next pair at host address `at` with `left` bytes left of its batch.
fn pair_bytes(policy: ZeroCopyPolicy, at: u64, left: u64) -> u64 {
    let merged = match policy {
        ZeroCopyPolicy::LastBatch { merge_full: true } => MAX_DESC_BYTES,
        // Two contiguous pages at most.
        _ => 2 * PAGE_BYTES - at % PAGE_BYTES,
    };
    merged.min(left)
}

impl ZeroCopy {
    /// A copy of `(host, device, size)` that is announced by two markers in turn.
    pub fn new(
        p: &Program,
        queue: QueueId,
        (host, device, size): (u64, u64, u64),
        to_device: bool,
        markers: [u64; 2],
    ) -> ZeroCopy {
        let pages = (host % PAGE_BYTES).saturating_add(size).div_ceil(PAGE_BYTES);
        ZeroCopy {
            queue,
            host,
            device,
            left: size,
            to_device,
            markers,
            batch_pages: pages_per_batch(p.profile.zero_copy, pages),
            batch_left: 0,
            pending: 0,
            begun: 0,
            waited: 0,
            counts: [0; 2],
            at: At::Begin,
        }
    }

    fn context(n: u64) -> usize {
        usize::from(n % 2 == 1)
    }

    /// The barrier of a data pair and of the marker, when `last` pair and batch.
    fn barriers(&self, p: &Program) -> (Barrier, Barrier) {
        let last_batch = self.left == 0;
        match p.profile.zero_copy {
            // 2.24 hands over "is last" as the code, which is DMB's.
            ZeroCopyPolicy::TwoPages => (Barrier::Dmb, Barrier::None),
            ZeroCopyPolicy::LastBatch { .. } if !self.to_device || !last_batch => {
                (Barrier::None, Barrier::None)
            }
            ZeroCopyPolicy::LastBatch { .. } if p.arch == Generation::V2 => {
                (Barrier::WriteBarrier, Barrier::None)
            }
            ZeroCopyPolicy::LastBatch { .. } => (Barrier::None, Barrier::StrongOrderWrite),
        }
    }

    /// Waits for the oldest batch in flight. All zero-copy waits have asynchronous timing.
    fn wait_oldest(mut self) -> Next {
        let c = ZeroCopy::context(self.waited);
        self.at = At::Waited;
        let frame = wait(self.queue, self.markers[c], self.counts[c], WaitKind::Async);
        Next::Call(Frame::Zero(self), frame)
    }
}

impl Machine {
    pub(super) fn zero_copy(&mut self, p: &Program, mut c: ZeroCopy) -> Next {
        let ret = self.host.result();
        if c.at != At::Begin && c.at != At::Pairs && ret != Ret::OK {
            return Next::End(ret);
        }
        let queue = c.queue;
        match c.at {
            At::Begin if c.left == 0 && c.waited == c.begun => Next::End(Ret::OK),
            // Both contexts are busy, or nothing is left to stage.
            At::Begin if c.left == 0 || c.begun - c.waited == 2 => c.wait_oldest(),
            At::Begin => {
                let first_page = PAGE_BYTES - c.host % PAGE_BYTES;
                let room =
                    (c.batch_pages - 1).saturating_mul(PAGE_BYTES).saturating_add(first_page);
                c.batch_left = room.min(c.left);
                c.left -= c.batch_left;
                c.pending = 0;
                c.at = At::Pairs;
                Next::Again(Frame::Zero(c))
            }
            At::Pairs => {
                let size = pair_bytes(p.profile.zero_copy, c.host, c.batch_left);
                c.batch_left -= size;
                let last = c.batch_left == 0;
                let barrier_code = if last { c.barriers(p).0.code() } else { 0 };
                let (src, dst) = if c.to_device { (c.host, c.device) } else { (c.device, c.host) };
                let ask =
                    Ask { src, dst, size, barrier_code, set_dst_int: false, role: Role::Data };
                let (kind, ret) = self.stage(p, queue, ask);
                let Some(kind) = kind else { return Next::End(ret) };
                if ret != Ret::OK {
                    if ret == Ret::Code(Errno::NOMEM.0) {
                        let left = c.left + c.batch_left + size;
                        self.ring_is_full(
                            queue,
                            &format!(
                                "; {left_bytes} are left",
                                left_bytes = count_of(left, "byte")
                            ),
                        );
                    }
                    return Next::Last(kind, ret);
                }
                c.pending += 1;
                c.host = c.host.wrapping_add(size);
                c.device = c.device.wrapping_add(size);
                if last {
                    c.at = At::Marker;
                }
                Next::Event(kind, Frame::Zero(c))
            }
            At::Marker => {
                c.at = At::Start;
                let marker = c.markers[ZeroCopy::context(c.begun)];
                let barrier_code = c.barriers(p).1.code();
                Next::Call(
                    Frame::Zero(c),
                    Frame::StageMarker { queue, marker, barrier_code, step: 0 },
                )
            }
            At::Start => {
                c.at = At::Started;
                let n = c.pending + 1;
                c.counts[ZeroCopy::context(c.begun)] = n;
                c.begun += 1;
                Next::Call(Frame::Zero(c), Frame::Start { queue, m2s: n, s2m: n, step: 0 })
            }
            At::Started => {
                c.at = At::Begin;
                Next::Again(Frame::Zero(c))
            }
            At::Waited => {
                c.waited += 1;
                c.at = At::Begin;
                Next::Again(Frame::Zero(c))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seventy_four_pages_are_cut_as_each_release_does() {
        let full = ZeroCopyPolicy::LastBatch { merge_full: true };
        assert_eq!(pages_per_batch(full, 74), 37);
        assert_eq!(pages_per_batch(full, 64), 64);
        assert_eq!(pages_per_batch(full, 129), 64);
        assert_eq!(pages_per_batch(ZeroCopyPolicy::TwoPages, 74), 64);
        assert_eq!(pair_bytes(ZeroCopyPolicy::TwoPages, 0x123, 300_000), 7901);
        assert_eq!(pair_bytes(full, 0x123, 151_261), 65_536);
    }
}
