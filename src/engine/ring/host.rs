//! The host agent: the driver's calls as small state machines, one event a step
//! (`docs/driver.md`).
//!
//! Each call of the program's script becomes a frame on a stack; a frame that needs another
//! call pushes it and looks at the result when it comes back. The producers that cut
//! transfers into batches are in [`copy`].

pub mod copy;
mod start;
pub mod zero;

use super::device::resolve;
use super::event::{EventKind, MarkerWord, Phase, Ret, Role, SlotTaken};
use super::machine::{Machine, Polling};
use super::memory::mix;
use crate::diag::{Diagnostic, Place, SlotRef};
use crate::engine::program::{DeviceOp, HostOp, Program, QueueId, RingType};
use crate::udma::profile::{MARKER, WaitKind};
use crate::udma::{DESC_BYTES, Desc, Dir, Errno, PairRequest, desc, stage_pair};
use copy::{AsyncCopy, ChunkedCopy, Memset, Redo};
use zero::ZeroCopy;

/// A call in progress. `step` counts the events that it has made.
#[derive(Debug, Clone, Copy)]
pub enum Frame {
    /// Operation of the script.
    Op {
        /// Its index.
        op: u32,
        /// Begun.
        begun: bool,
    },
    /// Queue initialisation.
    Init {
        /// Which.
        queue: QueueId,
        /// Slots instead of the declared ones.
        size: Option<u32>,
        /// Register writes made.
        step: u32,
    },
    /// Seeding a marker and staging its pair.
    StageMarker {
        /// Queue.
        queue: QueueId,
        /// First word.
        marker: u64,
        /// Barrier code.
        barrier_code: u32,
        /// Events made.
        step: u8,
    },
    /// The doorbell call.
    Start {
        /// Queue.
        queue: QueueId,
        /// TX count.
        m2s: u32,
        /// RX count.
        s2m: u32,
        /// Events made.
        step: u8,
    },
    /// Waiting for a marker.
    Wait {
        /// Queue.
        queue: QueueId,
        /// First word; none: wait until the engine is idle.
        marker: Option<u64>,
        /// Descriptors, marker included.
        count: u32,
        /// Timing.
        kind: WaitKind,
        /// Events made.
        step: u8,
    },
    /// Acknowledging, RX then TX.
    Ack {
        /// Queue.
        queue: QueueId,
        /// By how much.
        count: u32,
        /// Events made.
        step: u8,
    },
    /// A chunked copy.
    Copy(ChunkedCopy),
    /// An asynchronous copy.
    Async(AsyncCopy),
    /// Restaging after a reset.
    Redo(Redo),
    /// A memset.
    Memset(Memset),
    /// A zero copy.
    Zero(ZeroCopy),
}

/// The host's state.
#[derive(Debug, Clone, Default)]
pub struct Host {
    /// The next operation of the script.
    pub pc: usize,
    /// Calls in progress, the innermost last.
    pub stack: Vec<Frame>,
    /// What the innermost call that ended returned.
    pub ret: Option<Ret>,
    /// When it acts next, nanoseconds.
    pub ready_ns: u64,
    /// The poll in progress.
    pub poll: Option<Polling>,
    /// How the last poll ended.
    pub polled: Option<bool>,
    /// Stores were made since the last fence.
    pub unfenced: bool,
    /// Its phase.
    pub phase: Option<Phase>,
    /// The batch that it works on; 0 before the first.
    pub batch: u64,
    /// The failure of the current operation was explained already.
    pub explained: bool,
    /// The result of the newest operation that ended.
    pub last_ret: Option<Ret>,
    /// Batches that timed out.
    pub timeouts: u64,
    /// The queue of the newest of them.
    pub timed_out: Option<QueueId>,
    /// The batch that the newest event is the first one of.
    pub opened: Option<u64>,
    /// Event at which the operation in progress began.
    pub call_at: u64,
    /// Event at which the newest operation that ended had begun.
    pub last_call: u64,
}

impl Host {
    /// Whether the script is at its end.
    pub fn is_done(&self, p: &Program) -> bool {
        self.stack.is_empty() && self.pc >= p.script.len()
    }

    /// The operation in progress, or the next one.
    pub fn op(&self, p: &Program) -> Option<usize> {
        match self.stack.first() {
            Some(Frame::Op { op, .. }) => Some(*op as usize),
            _ => (self.pc < p.script.len()).then_some(self.pc),
        }
    }

    /// The result of the call that just ended; success where none did.
    fn result(&self) -> Ret {
        self.ret.unwrap_or(Ret::OK)
    }

    pub(super) fn poll_ended(&mut self, next_ns: u64, seen: Option<bool>) {
        self.poll = None;
        self.polled = seen;
        self.ready_ns = self.ready_ns.max(next_ns);
    }

    /// A digest of its state.
    pub fn digest(&self, h: u64) -> u64 {
        // Frames are plain data; their debug form names every field.
        let frames = format!("{:?}{:?}{:?}{:?}", self.stack, self.ret, self.poll, self.last_ret);
        let h = mix(h, super::memory::hash_bytes(frames.as_bytes()));
        let h = mix(mix(h, self.pc as u64), self.ready_ns);
        mix(
            mix(h, self.batch),
            u64::from(self.unfenced) | self.phase.map_or(0, |p| p as u64 + 1) << 1,
        )
    }
}

/// The outcome of one look at the innermost frame.
pub(super) enum Next {
    /// An event, and the frame goes on.
    Event(EventKind, Frame),
    /// An event, and the frame has ended with this result.
    Last(EventKind, Ret),
    /// Another call first; the frame goes on when it returns.
    Call(Frame, Frame),
    /// The frame changed without an event.
    Again(Frame),
    /// The frame has ended with this result, without an event.
    End(Ret),
}

impl Machine {
    /// Makes the host's next event; `None` when it only changed its mind (a poll begins, a
    /// frame ends) or is at its end.
    pub(super) fn host_step(&mut self, p: &Program) -> Option<EventKind> {
        loop {
            if self.host.poll.is_some() {
                return None;
            }
            let Some(frame) = self.host.stack.pop() else {
                let op = self.host.pc;
                p.script.get(op)?;
                self.host.pc += 1;
                self.host.explained = false;
                self.host.call_at = self.n;
                self.host.stack.push(Frame::Op { op: op as u32, begun: true });
                return Some(EventKind::Call { op: op as u32 });
            };
            let next = self.advance(p, frame);
            match next {
                Next::Event(kind, frame) => {
                    self.host.stack.push(frame);
                    return Some(self.told(kind));
                }
                Next::Last(kind, ret) => {
                    self.host.ret = Some(ret);
                    return Some(self.told(kind));
                }
                Next::Call(frame, inner) => {
                    self.host.ret = None;
                    self.host.stack.push(frame);
                    self.host.stack.push(inner);
                }
                Next::Again(frame) => self.host.stack.push(frame),
                Next::End(ret) => self.host.ret = Some(ret),
            }
        }
    }

    /// Notes the phase that an event belongs to.
    fn told(&mut self, kind: EventKind) -> EventKind {
        let acking = self.host.polled == Some(true);
        let phase = match kind {
            EventKind::Stage { .. } | EventKind::CopyIn { .. } | EventKind::Store { .. } => {
                Some(Phase::Stage)
            }
            EventKind::MarkerWrite { .. } if acking => Some(Phase::Ack),
            EventKind::MarkerWrite { .. } => Some(Phase::Stage),
            EventKind::CopyStartReturn { ret: Ret::OK, .. } => Some(Phase::Doorbell),
            EventKind::CopyStart { .. } | EventKind::CopyStartReturn { .. } => Some(Phase::Trigger),
            EventKind::CpuFence => {
                let ringing = matches!(self.host.stack.last(), Some(Frame::Start { .. }));
                ringing.then_some(Phase::Doorbell)
            }
            EventKind::MmioWrite { offset, .. } => {
                let bell = crate::udma::reg::name_at(offset).is_some_and(|r| r.name == "drtp_inc");
                bell.then_some(Phase::Doorbell)
            }
            EventKind::WaitBudget { .. }
            | EventKind::Delay { .. }
            | EventKind::Poll { .. }
            | EventKind::PollIdle { .. } => Some(Phase::Poll),
            EventKind::Ack { .. } => Some(Phase::Ack),
            _ => None,
        };
        self.host.phase = phase.or(self.host.phase);
        kind
    }

    fn advance(&mut self, p: &Program, frame: Frame) -> Next {
        match frame {
            Frame::Op { op, begun: true } => self.begin(p, op),
            Frame::Op { op, begun: false } => self.end_op(p, op),
            Frame::Init { queue, size, step } => self.init(p, queue, size, step),
            Frame::StageMarker { queue, marker, barrier_code, step } => {
                self.stage_marker(p, queue, marker, barrier_code, step)
            }
            Frame::Start { queue, m2s, s2m, step } => self.start(p, queue, m2s, s2m, step),
            Frame::Wait { queue, marker, count, kind, step } => {
                self.wait(p, queue, marker, (count, kind), step)
            }
            Frame::Ack { queue, count, step } => self.ack(p, queue, count, step),
            Frame::Copy(c) => self.copy(p, c),
            Frame::Async(c) => self.copy_async(p, c),
            Frame::Redo(c) => self.redo(p, c),
            Frame::Memset(c) => self.memset(p, c),
            Frame::Zero(c) => self.zero_copy(p, c),
        }
    }

    /// Turns operation `op` of the script into frames and events.
    fn begin(&mut self, p: &Program, op: u32) -> Next {
        let done = Frame::Op { op, begun: false };
        let Some(script) = p.script.get(op as usize) else { return Next::End(Ret::OK) };
        let call = |inner| Next::Call(done, inner);
        match &script.op {
            &HostOp::InitQueue { queue } => call(Frame::Init { queue, size: None, step: 0 }),
            &HostOp::Copy { queue, src, dst, size } => {
                call(Frame::Copy(ChunkedCopy::new(p, queue, src, dst, size)))
            }
            &HostOp::CopyAsync { queue, src, dst, size, previous } => {
                call(Frame::Async(AsyncCopy::new(queue, src, dst, size, previous)))
            }
            &HostOp::WaitAsync { queue, handle } => {
                call(Frame::Async(AsyncCopy::wait(queue, handle)))
            }
            &HostOp::Memset { queue, buffer, dst, size, value } => {
                call(Frame::Memset(Memset::new(queue, buffer, dst, size, value)))
            }
            &HostOp::ZeroCopy { queue, host, device, size, to_device, markers } => {
                call(Frame::Zero(ZeroCopy::new(p, queue, (host, device, size), to_device, markers)))
            }
            &HostOp::Stage { queue, src, dst, size, barrier_code, set_dst_int } => {
                let ask = Ask { src, dst, size, barrier_code, set_dst_int, role: Role::Data };
                match self.stage(p, queue, ask) {
                    (Some(kind), ret) => {
                        self.host.ret = Some(ret);
                        Next::Event(kind, done)
                    }
                    (None, ret) => self.end_with(done, ret),
                }
            }
            &HostOp::StageMarker { queue, marker, barrier_code } => {
                call(Frame::StageMarker { queue, marker, barrier_code, step: 0 })
            }
            &HostOp::CopyStart { queue, m2s, s2m } => {
                call(Frame::Start { queue, m2s, s2m, step: 0 })
            }
            &HostOp::Wait { queue, marker, count, kind } => {
                call(Frame::Wait { queue, marker: Some(marker), count, kind, step: 0 })
            }
            &HostOp::WaitIdle { queue, count } => {
                let kind = WaitKind::Sync;
                call(Frame::Wait { queue, marker: None, count, kind, step: 0 })
            }
            &HostOp::Ack { queue, count } => call(Frame::Ack { queue, count, step: 0 }),
            HostOp::CopyIn { queue, ring, at, descs } => {
                match self.copy_in(p, *queue, *ring, *at, descs.bytes()) {
                    Ok(kind) => Next::Event(kind, done),
                    Err(e) => self.end_with(done, Ret::Code(e.0)),
                }
            }
            HostOp::Store { addr, bytes } => {
                self.memory.write_blob(*addr, bytes.clone());
                self.host.unfenced = true;
                self.host.polled = None;
                Next::Event(EventKind::Store { addr: *addr, len: bytes.len() as u64 }, done)
            }
            HostOp::Fence => {
                self.host.unfenced = false;
                Next::Event(EventKind::CpuFence, done)
            }
            &HostOp::RegWrite { engine, offset, value } => {
                let lost = self.mmio_write(p, engine, offset, value);
                Next::Event(EventKind::MmioWrite { engine, offset, value, lost }, done)
            }
            &HostOp::Device(d) => {
                self.device_op(d);
                Next::Event(EventKind::Device(d), done)
            }
        }
    }

    fn end_with(&mut self, done: Frame, ret: Ret) -> Next {
        self.host.ret = Some(ret);
        Next::Again(done)
    }

    fn end_op(&mut self, p: &Program, op: u32) -> Next {
        let ret = self.host.result();
        if ret != Ret::OK && !self.host.explained {
            let verb = p.script.get(op as usize).map_or("call", |s| s.op.verb());
            let (code, text) = match ret {
                Ret::Bug => ("R004", format!("{verb} stops at a kernel assertion")),
                Ret::Code(c) => ("R003", format!("{verb} returned {c} ({})", Errno(c).name())),
            };
            self.find(Diagnostic::new(code, text), p);
        }
        self.host.last_ret = Some(ret);
        self.host.last_call = self.host.call_at;
        self.host.ret = None;
        Next::Last(EventKind::CallReturn { op, ret }, Ret::OK)
    }

    fn device_op(&mut self, d: DeviceOp) {
        match d {
            DeviceOp::Latency(us) => self.latency_us = us,
            DeviceOp::Hold => self.held = true,
            DeviceOp::Resume => self.held = false,
            DeviceOp::Kick => {
                for q in &mut self.queues {
                    if q.has_work() {
                        q.due = Some(self.now_ns);
                    }
                }
            }
            DeviceOp::LoseDoorbells(n) => self.lose = n,
            DeviceOp::ResetWindow(on) => self.reset_window = on,
        }
    }

    /// Stages one pair. The event is absent where the queue does not exist.
    pub(super) fn stage(
        &mut self,
        p: &Program,
        queue: QueueId,
        ask: Ask,
    ) -> (Option<EventKind>, Ret) {
        let Some(i) = self.index_of(queue) else { return (None, Ret::Code(-1)) };
        let before = Dir::BOTH.map(|d| self.queues[i].sw(d).free());
        let ret = self.try_stage(p, i, &ask);
        let (ret, taken) = match ret {
            Ok(t) => t,
            Err(ret) => (ret, [None, None]),
        };
        let taken = [0, 1].map(|k| {
            let sw = &self.queues[i].sw[k];
            let (slot, ring_id, desc) =
                taken[k].unwrap_or((sw.next_desc_idx, sw.desc_ring_id, None));
            SlotTaken {
                slot: u64::from(slot),
                ring_id,
                avail_before: before[k],
                avail_after: sw.free(),
                next_desc_idx: sw.next_desc_idx,
                desc_ring_id: sw.desc_ring_id,
                desc,
            }
        });
        self.open_batch(i);
        self.host.polled = None;
        if ask.size == 0 && ret == Ret::OK {
            let d = Diagnostic::new("R013", "a pair of size 0 moves 65536 bytes");
            self.find(d, p);
        }
        let Ask { src, dst, size, barrier_code, role, .. } = ask;
        let [tx, rx] = taken;
        (Some(EventKind::Stage { queue, role, src, dst, size, barrier_code, ret, tx, rx }), ret)
    }

    /// The checks in the driver's order: size, free slots, whether slots may be taken at all,
    /// then (with the slots taken) the barrier.
    #[allow(clippy::type_complexity)]
    fn try_stage(
        &mut self,
        p: &Program,
        i: usize,
        ask: &Ask,
    ) -> Result<(Ret, [Option<(u32, u8, Option<Desc>)>; 2]), Ret> {
        let q = &self.queues[i];
        if ask.size > crate::udma::profile::MAX_DESC_BYTES {
            return Err(Ret::Code(Errno::FAIL.0));
        }
        for dir in Dir::BOTH {
            if q.sw(dir).available(p.profile)? == 0 {
                return Err(Ret::Code(Errno::NOMEM.0));
            }
        }
        if !q.decl.allocatable || !q.ready {
            // 2.24 and 2.25 would write through a null pointer here.
            return Err(if p.profile.asserts_return {
                Ret::Code(Errno::INVAL.0)
            } else {
                Ret::Bug
            });
        }
        let request = PairRequest {
            src: ask.src,
            dst: ask.dst,
            size: ask.size,
            tx_ring_id: u32::from(q.sw(Dir::Tx).desc_ring_id),
            rx_ring_id: u32::from(q.sw(Dir::Rx).desc_ring_id),
            barrier_code: ask.barrier_code,
            set_dst_int: ask.set_dst_int,
        };
        let staged = stage_pair(p.profile, p.arch, &request);
        if staged.slots == 0 {
            return Err(staged.result.map_or_else(|e| Ret::Code(e.errno().0), |_| Ret::OK));
        }
        let taken = Dir::BOTH.map(|d| self.queues[i].sw[super::queue::ix(d)].take());
        if staged.result.is_ok() {
            for (dir, (slot, _)) in Dir::BOTH.into_iter().zip(taken) {
                if self.queues[i].overruns(dir) {
                    self.overrun(p, i, dir, u64::from(slot));
                }
            }
        }
        match staged.result {
            Err(e) => Ok((Ret::Code(e.errno().0), taken.map(|(slot, id)| Some((slot, id, None))))),
            Ok((tx, rx)) => {
                for (dir, desc, (slot, _)) in [(Dir::Rx, rx, taken[1]), (Dir::Tx, tx, taken[0])] {
                    let addr = self.queues[i].ring(dir).slot_addr(u64::from(slot));
                    self.memory.write(addr, &desc.to_bytes());
                }
                self.host.unfenced = true;
                let with = |t: (u32, u8), d| Some((t.0, t.1, Some(d)));
                Ok((Ret::OK, [with(taken[0], tx), with(taken[1], rx)]))
            }
        }
    }

    /// A slot was written that the engine had not retired.
    fn overrun(&mut self, p: &Program, i: usize, dir: Dir, slot: u64) {
        let at = SlotRef {
            queue: Some((self.queues[i].id().engine, self.queues[i].id().queue)),
            dir,
            index: slot,
        };
        let text = "a slot is written that the engine has not retired yet";
        self.find(Diagnostic::new("R007", text).at(Place::slot(at)), p);
    }

    fn copy_in(
        &mut self,
        p: &Program,
        queue: QueueId,
        ring: RingType,
        at: u64,
        bytes: &[u8],
    ) -> Result<EventKind, Errno> {
        let RingType::Dir(dir) = ring else { return Err(Errno::FAIL) };
        let i = self.index_of(queue).ok_or(Errno::INVAL)?;
        let decl = self.queues[i].ring(dir);
        let count = (bytes.len() / DESC_BYTES) as u64;
        // MODEL: the copy-in request is held to the ring's end; the driver's own bound is on
        // the copy-out request.
        if decl.size == 0 || at.saturating_add(count) > decl.size {
            return Err(Errno::FBIG);
        }
        // Every descriptor that names host memory must name memory of the process: here, a
        // region of the program.
        let owned = |d: Desc| {
            let host = resolve(p, d.ptr).ok().filter(|a| p.arch.is_host(*a));
            d.is_zero() || d.is_meta() || host.is_none_or(|a| p.region_at(a).is_some())
        };
        if !desc::iter_image(bytes).all(owned) {
            return Err(Errno::INVAL);
        }
        self.memory.write(decl.slot_addr(at), &bytes[..bytes.len() / DESC_BYTES * DESC_BYTES]);
        self.host.unfenced = true;
        self.host.polled = None;
        if self.queues[i].copied_in(dir, at, count) {
            self.overrun(p, i, dir, at);
        }
        self.open_batch(i);
        Ok(EventKind::CopyIn { queue, dir, slot: at, count })
    }

    fn stage_marker(
        &mut self,
        p: &Program,
        queue: QueueId,
        marker: u64,
        barrier_code: u32,
        step: u8,
    ) -> Next {
        let again = |step| Frame::StageMarker { queue, marker, barrier_code, step };
        let dst = marker.wrapping_add(4);
        match step {
            0 => {
                self.host.polled = None;
                if let Some(i) = self.index_of(queue) {
                    self.queues[i].marker = marker;
                }
                Next::Event(self.marker_write(MarkerWord::Src, marker, MARKER), again(1))
            }
            1 => Next::Event(self.marker_write(MarkerWord::Dst, dst, 0), again(2)),
            _ => {
                let role = Role::Marker;
                let ask = Ask { src: marker, dst, size: 4, barrier_code, set_dst_int: false, role };
                let answer = self.stage(p, queue, ask);
                if answer.1 == Ret::Code(Errno::NOMEM.0) {
                    self.ring_is_full(p, queue, ": the completion pair does not fit");
                }
                // The original code of a failure is lost: the call answers -1.
                match answer {
                    (Some(kind), Ret::Code(0)) => Next::Last(kind, Ret::OK),
                    (Some(kind), Ret::Bug) => Next::Last(kind, Ret::Bug),
                    (Some(kind), Ret::Code(_)) => Next::Last(kind, Ret::Code(-1)),
                    (None, _) => Next::End(Ret::Code(-1)),
                }
            }
        }
    }

    pub(super) fn marker_write(&mut self, word: MarkerWord, addr: u64, value: u32) -> EventKind {
        self.memory.write(addr, &value.to_le_bytes());
        self.host.unfenced = true;
        EventKind::MarkerWrite { word, addr, value }
    }
}

/// A pair to stage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask {
    pub src: u64,
    pub dst: u64,
    pub size: u64,
    pub barrier_code: u32,
    pub set_dst_int: bool,
    pub role: Role,
}
