//! The producers: what cuts a transfer into pairs and batches (`docs/driver.md`, "Batches").

use super::{Ask, Counts, Frame, Next};
use crate::diag::Diagnostic;
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::event::{EventKind, Ret, Role};
use crate::engine::ring::machine::Machine;
use crate::engine::ring::queue::Pending;
use crate::udma::host::{MARKER_BYTES, next_async_handle};
use crate::udma::profile::{
    H2T_DESC_COUNT, MAX_DESC_BYTES, MEMSET_BUF_BYTES, SYNC_THRESHOLD, WaitKind,
};
use crate::udma::{Dir, Errno, count_of};

/// Where a producer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum At {
    /// Staging pairs.
    Chunk,
    /// The batch is staged; its marker is next.
    Marker,
    /// The marker was staged.
    Start,
    /// The doorbell was rung.
    Wait,
    /// The wait came back.
    Waited,
    /// The queue is being initialised again.
    Again,
}

/// A synchronous chunked copy.
#[derive(Debug, Clone, Copy, Hash)]
pub struct ChunkedCopy {
    queue: QueueId,
    marker: u64,
    src: u64,
    dst: u64,
    left: u64,
    fixed_src: bool,
    pending: u32,
    /// Where the current batch began: source, destination, bytes left.
    batch: (u64, u64, u64),
    at: At,
    retried: bool,
}

impl ChunkedCopy {
    /// A copy of `size` bytes that is announced by handle 0 of the queue's marker area.
    pub fn new(p: &Program, queue: QueueId, src: u64, dst: u64, size: u64) -> ChunkedCopy {
        ChunkedCopy {
            queue,
            marker: p.queue(queue).map_or(0, |q| q.marker_area),
            src,
            dst,
            left: size,
            fixed_src: false,
            pending: 0,
            batch: (src, dst, size),
            at: At::Chunk,
            retried: false,
        }
    }
}

impl ChunkedCopy {
    /// Whether its next event stages a pair.
    pub(in crate::engine::ring) fn is_staging(&self) -> bool {
        self.at == At::Chunk
    }

    /// Its queue, and how many of its next chunks are whole and not the last of their batch.
    pub(in crate::engine::ring) fn regular(&self) -> (QueueId, u64) {
        let whole = self.left.saturating_sub(1) / MAX_DESC_BYTES;
        (self.queue, whole.min(SYNC_THRESHOLD.saturating_sub(u64::from(self.pending))))
    }

    /// What it asks for the n-th of those.
    pub(in crate::engine::ring) fn ask(&self, p: &Program, n: u64) -> Ask {
        let mut c = *self;
        c.advance(n);
        let (src, dst) = (c.src, c.dst);
        let barrier_code = p.profile.chunk_barrier(false).code();
        let (size, role) = (MAX_DESC_BYTES, Role::Data);
        Ask { src, dst, size, barrier_code, set_dst_int: false, role }
    }

    /// The next `n` of those are staged.
    pub(in crate::engine::ring) fn advance(&mut self, n: u64) {
        let bytes = n * MAX_DESC_BYTES;
        self.pending += n as u32;
        self.left -= bytes;
        self.dst = self.dst.wrapping_add(bytes);
        if !self.fixed_src {
            self.src = self.src.wrapping_add(bytes);
        }
    }
}

/// Stages the next chunk of a transfer; the last of a batch carries the barrier.
struct Chunk {
    kind: Option<EventKind>,
    ret: Ret,
    size: u64,
    last: bool,
}

impl Machine {
    fn chunk(&mut self, p: &Program, queue: QueueId, from: (u64, u64, u64), pending: u32) -> Chunk {
        let (src, dst, left) = from;
        let size = left.min(MAX_DESC_BYTES);
        // The threshold is tested before the chunk is staged.
        let last = left == size || u64::from(pending) == SYNC_THRESHOLD;
        let barrier_code = p.profile.chunk_barrier(last).code();
        let ask = Ask { src, dst, size, barrier_code, set_dst_int: false, role: Role::Data };
        let (kind, ret) = self.stage(p, queue, ask);
        if ret == Ret::Code(Errno::NOMEM.0) {
            self.ring_is_full(
                queue,
                &format!("; {left_bytes} are left", left_bytes = count_of(left, "byte")),
            );
        }
        Chunk { kind, ret, size, last }
    }

    /// A producer found no free slot; what it staged since the last doorbell is never rung.
    pub(super) fn ring_is_full(&mut self, queue: QueueId, more: &str) {
        self.host.explained = true;
        let lost = self.queue(queue).map_or(0, |q| {
            let (sw, hw) = (q.sw(Dir::Tx), q.hw(Dir::Tx));
            sw.staged.saturating_sub(hw.posted)
        });
        let text = format!(
            "no free slot after {lost_pairs} of this batch{more}",
            lost_pairs = count_of(lost, "pair")
        );
        self.find(Diagnostic::new("R017", text));
        if lost > 0 {
            let text = format!(
                "{} of each ring {} taken: the doorbell is never rung for them",
                count_of(lost, "slot"),
                super::start::stay(lost)
            );
            self.find(Diagnostic::new("R015", text));
        }
    }

    pub(super) fn copy(&mut self, p: &Program, mut c: ChunkedCopy) -> Next {
        let ret = self.host.result();
        match c.at {
            At::Chunk => {
                let chunk = self.chunk(p, c.queue, (c.src, c.dst, c.left), c.pending);
                let Some(kind) = chunk.kind else { return Next::End(chunk.ret) };
                if chunk.ret != Ret::OK {
                    return Next::Last(kind, chunk.ret);
                }
                c.pending += 1;
                c.left -= chunk.size;
                c.dst = c.dst.wrapping_add(chunk.size);
                if !c.fixed_src {
                    c.src = c.src.wrapping_add(chunk.size);
                }
                if chunk.last {
                    c.at = At::Marker;
                }
                Next::Event(kind, Frame::Copy(c))
            }
            At::Marker => {
                c.at = At::Start;
                let (queue, marker) = (c.queue, c.marker);
                Next::Call(
                    Frame::Copy(c),
                    Frame::StageMarker { queue, marker, barrier_code: 0, step: 0 },
                )
            }
            At::Start | At::Wait | At::Again if ret != Ret::OK => Next::End(ret),
            At::Start => {
                c.at = At::Wait;
                let n = c.pending + 1;
                Next::Call(Frame::Copy(c), Frame::Start { queue: c.queue, m2s: n, s2m: n, step: 0 })
            }
            At::Wait => {
                c.at = At::Waited;
                Next::Call(Frame::Copy(c), wait(c.queue, c.marker, c.pending + 1, WaitKind::Sync))
            }
            At::Waited if ret == Ret::OK => {
                if c.left == 0 {
                    return Next::End(Ret::OK);
                }
                c.pending = 0;
                c.batch = (c.src, c.dst, c.left);
                c.at = At::Chunk;
                Next::Again(Frame::Copy(c))
            }
            At::Waited if self.may_retry(p, ret) && !c.retried => {
                c.retried = true;
                c.pending = 0;
                (c.src, c.dst, c.left) = c.batch;
                c.at = At::Again;
                Next::Call(Frame::Copy(c), reinit(c.queue))
            }
            At::Waited => Next::End(ret),
            At::Again => {
                c.at = At::Chunk;
                Next::Again(Frame::Copy(c))
            }
        }
    }

    /// Whether the call that a wait belongs to is tried again when the wait times out.
    pub(super) fn tries_again(&self, p: &Program) -> bool {
        let first = match self.host.stack.last() {
            Some(Frame::Copy(c)) => !c.retried,
            Some(Frame::Async(c)) => !c.retried,
            _ => false,
        };
        first && self.may_retry(p, Ret::Code(p.profile.timeout_ret))
    }

    /// Whether a timed-out wait is tried again after initialising the queue.
    fn may_retry(&self, p: &Program, ret: Ret) -> bool {
        self.reset_window && p.arch.retries_in_reset() && ret == Ret::Code(p.profile.timeout_ret)
    }
}

pub(super) fn wait(queue: QueueId, marker: u64, count: u32, kind: WaitKind) -> Frame {
    Frame::Wait { queue, marker: Some(marker), counts: Counts::same(count), kind, step: 0 }
}

/// Initialises the host-copy queue at its production size.
fn reinit(queue: QueueId) -> Frame {
    let size = crate::udma::ring::round_count(H2T_DESC_COUNT as u32);
    Frame::Init { queue, size: Some(size), step: 0 }
}

/// An asynchronous copy, or the wait for one.
#[derive(Debug, Clone, Copy, Hash)]
pub struct AsyncCopy {
    queue: QueueId,
    /// The transfer being staged: source, destination, bytes left.
    now: (u64, u64, u64),
    whole: (u64, u64, u64),
    previous: i32,
    handle: i32,
    pending: u32,
    at: At,
    /// Only wait for `previous`.
    only_wait: bool,
    retried: bool,
}

impl AsyncCopy {
    /// A copy after the one with handle `previous` (-1: none).
    pub fn new(queue: QueueId, src: u64, dst: u64, size: u64, previous: i32) -> AsyncCopy {
        let whole = (src, dst, size);
        AsyncCopy {
            queue,
            now: whole,
            whole,
            previous,
            handle: next_async_handle(i64::from(previous)).map_or(-1, |h| h as i32),
            pending: 0,
            at: At::Chunk,
            only_wait: false,
            retried: false,
        }
    }

    /// The wait for a handle.
    pub fn wait(queue: QueueId, handle: i32) -> AsyncCopy {
        AsyncCopy { only_wait: true, at: At::Wait, ..AsyncCopy::new(queue, 0, 0, 0, handle) }
    }
}

impl Machine {
    fn pending(&mut self, queue: QueueId, handle: i32) -> Option<&mut Option<Pending>> {
        let i = self.index_of(queue)?;
        self.queues[i].handles.get_mut(usize::try_from(handle).ok()?)
    }

    fn handle_marker(&self, p: &Program, queue: QueueId, handle: i32) -> u64 {
        let area = p.queue(queue).map_or(0, |q| q.marker_area);
        area.wrapping_add(MARKER_BYTES * u64::from(handle.unsigned_abs()))
    }

    pub(super) fn copy_async(&mut self, p: &Program, mut c: AsyncCopy) -> Next {
        const INVALID: Ret = Ret::Code(-22);
        let ret = self.host.result();
        match c.at {
            At::Chunk => {
                // The handle before must be none, or in use: looked at before anything is staged.
                let in_use = self.pending(c.queue, c.previous).is_some_and(|p| p.is_some());
                if c.handle < 0 || (c.previous > 0 && !in_use) {
                    return Next::End(INVALID);
                }
                let chunk = self.chunk(p, c.queue, c.now, c.pending);
                let Some(kind) = chunk.kind else { return Next::End(chunk.ret) };
                if chunk.ret != Ret::OK {
                    return Next::Last(kind, chunk.ret);
                }
                c.pending += 1;
                c.now.0 = c.now.0.wrapping_add(chunk.size);
                c.now.1 = c.now.1.wrapping_add(chunk.size);
                c.now.2 -= chunk.size;
                if chunk.last {
                    c.at = At::Marker;
                }
                Next::Event(kind, Frame::Async(c))
            }
            At::Marker => {
                c.at = At::Start;
                let marker = self.handle_marker(p, c.queue, c.handle);
                let queue = c.queue;
                Next::Call(
                    Frame::Async(c),
                    Frame::StageMarker { queue, marker, barrier_code: 0, step: 0 },
                )
            }
            At::Start if ret != Ret::OK => Next::End(ret),
            At::Start => {
                c.at = At::Wait;
                let n = c.pending + 1;
                Next::Call(
                    Frame::Async(c),
                    Frame::Start { queue: c.queue, m2s: n, s2m: n, step: 0 },
                )
            }
            At::Wait if ret != Ret::OK => Next::End(ret),
            At::Wait => self.async_wait(p, c),
            At::Waited if !c.retried && self.may_retry(p, ret) => {
                c.retried = true;
                c.at = At::Again;
                let mut again = Redo::new(c.queue);
                let newest = (!c.only_wait).then_some(c.handle);
                for handle in [Some(c.previous), newest].into_iter().flatten() {
                    let pending = self.pending(c.queue, handle).and_then(|p| *p);
                    again.add(handle, pending);
                }
                Next::Call(Frame::Async(c), Frame::Redo(again))
            }
            At::Waited => {
                if ret == Ret::OK
                    && let Some(slot) = self.pending(c.queue, c.previous)
                {
                    *slot = None;
                }
                Next::End(ret)
            }
            At::Again if ret != Ret::OK => Next::End(ret),
            At::Again => {
                // After a reset the wait has synchronous timing, whoever waits.
                c.only_wait = true;
                self.async_wait(p, c)
            }
        }
    }

    fn async_wait(&mut self, p: &Program, mut c: AsyncCopy) -> Next {
        const INVALID: Ret = Ret::Code(-22);
        if !c.only_wait {
            if c.now.2 > 0 {
                // Too large for one batch: the first batch is already rung.
                return Next::End(INVALID);
            }
            let (src, dst, size) = c.whole;
            let count = c.pending + 1;
            if let Some(slot) = self.pending(c.queue, c.handle) {
                *slot = Some(Pending { src, dst, size, count });
            }
            if c.previous <= 0 {
                return Next::End(Ret::OK);
            }
        }
        let Some(before) = self.pending(c.queue, c.previous).and_then(|p| *p) else {
            return Next::End(INVALID);
        };
        c.at = At::Waited;
        let marker = self.handle_marker(p, c.queue, c.previous);
        let kind = if c.only_wait { WaitKind::Sync } else { WaitKind::Async };
        Next::Call(Frame::Async(c), wait(c.queue, marker, before.count, kind))
    }
}

/// Restaging of asynchronous copies after the queue was initialised again.
#[derive(Debug, Clone, Copy, Hash)]
pub struct Redo {
    queue: QueueId,
    todo: [Option<(i32, Pending)>; 2],
    now: (u64, u64, u64),
    pending: u32,
    at: At,
}

impl Redo {
    fn new(queue: QueueId) -> Redo {
        Redo { queue, todo: [None; 2], now: (0, 0, 0), pending: 0, at: At::Again }
    }

    fn add(&mut self, handle: i32, pending: Option<Pending>) {
        if let Some(free) = self.todo.iter_mut().find(|t| t.is_none()) {
            *free = pending.map(|p| (handle, p));
        }
    }

    /// Begins with the oldest one left.
    fn next(&mut self) -> bool {
        self.pending = 0;
        self.at = At::Chunk;
        let Some((_, p)) = self.todo[0] else { return false };
        self.now = (p.src, p.dst, p.size);
        true
    }
}

impl Machine {
    pub(super) fn redo(&mut self, p: &Program, mut c: Redo) -> Next {
        let ret = self.host.result();
        let queue = c.queue;
        match c.at {
            At::Again => {
                let more = c.next();
                if more { Next::Call(Frame::Redo(c), reinit(queue)) } else { Next::End(ret) }
            }
            _ if ret != Ret::OK => Next::End(ret),
            At::Chunk => {
                let chunk = self.chunk(p, queue, c.now, c.pending);
                let Some(kind) = chunk.kind else { return Next::End(chunk.ret) };
                if chunk.ret != Ret::OK {
                    return Next::Last(kind, chunk.ret);
                }
                c.pending += 1;
                let (src, dst, left) = c.now;
                c.now =
                    (src.wrapping_add(chunk.size), dst.wrapping_add(chunk.size), left - chunk.size);
                if chunk.last {
                    c.at = At::Marker;
                }
                Next::Event(kind, Frame::Redo(c))
            }
            At::Marker => {
                c.at = At::Start;
                let handle = c.todo[0].map_or(0, |t| t.0);
                let marker = self.handle_marker(p, queue, handle);
                Next::Call(
                    Frame::Redo(c),
                    Frame::StageMarker { queue, marker, barrier_code: 0, step: 0 },
                )
            }
            At::Start => {
                c.at = At::Wait;
                let n = c.pending + 1;
                Next::Call(Frame::Redo(c), Frame::Start { queue, m2s: n, s2m: n, step: 0 })
            }
            At::Wait | At::Waited => {
                c.todo = [c.todo[1], None];
                if c.next() { Next::Again(Frame::Redo(c)) } else { Next::End(Ret::OK) }
            }
        }
    }
}

/// A memset: host buffer, one copy, then device to device from a fixed source.
#[derive(Debug, Clone, Copy, Hash)]
pub struct Memset {
    queue: QueueId,
    buffer: u64,
    dst: u64,
    size: u64,
    value: u8,
    step: u8,
}

impl Memset {
    /// `size` bytes of `value` at `dst`.
    pub fn new(queue: QueueId, buffer: u64, dst: u64, size: u64, value: u8) -> Memset {
        Memset { queue, buffer, dst, size, value, step: 0 }
    }
}

impl Machine {
    pub(super) fn memset(&mut self, p: &Program, mut c: Memset) -> Next {
        let ret = self.host.result();
        let first = c.size.min(MEMSET_BUF_BYTES);
        c.step += 1;
        match c.step {
            1 => {
                self.memory.fill(c.buffer, first, c.value);
                self.host.unfenced = true;
                self.host.polled = None;
                Next::Event(EventKind::Store { addr: c.buffer, len: first }, Frame::Memset(c))
            }
            2 => {
                let copy = ChunkedCopy::new(p, c.queue, c.buffer, c.dst, first);
                Next::Call(Frame::Memset(c), Frame::Copy(copy))
            }
            3 if ret == Ret::OK && c.size > first => {
                let dst = c.dst.wrapping_add(first);
                let rest = ChunkedCopy::new(p, c.queue, c.dst, dst, c.size - first);
                Next::Call(Frame::Memset(c), Frame::Copy(ChunkedCopy { fixed_src: true, ..rest }))
            }
            _ => Next::End(ret),
        }
    }
}
