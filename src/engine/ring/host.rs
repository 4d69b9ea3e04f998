//! The host agent: the driver's calls as small state machines, one event a step
//! (`docs/driver.md`).
//!
//! Each call of the program's script becomes a frame on a stack; a frame that needs another
//! call pushes it and looks at the result when it comes back. The producers that cut
//! transfers into batches are in [`copy`].

pub mod copy;
pub(in crate::engine::ring) mod stage;
mod start;
pub mod zero;

use super::event::{EventKind, Phase, Ret, Role};
use super::machine::{Machine, Polling};
use super::seq::Stage;
use crate::diag::Diagnostic;
use crate::engine::program::{DeviceOp, HostOp, Program, QueueId};
use crate::udma::profile::WaitKind;
use crate::udma::{Dir, Errno, reg};
use copy::{AsyncCopy, ChunkedCopy, Memset, Redo};
use stage::Ask;
use zero::ZeroCopy;

/// Descriptors of the two rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Counts {
    /// Of Tx.
    pub m2s: u32,
    /// Of Rx.
    pub s2m: u32,
}

impl Counts {
    /// As many of each: what the driver's calls know.
    pub fn same(count: u32) -> Counts {
        Counts { m2s: count, s2m: count }
    }

    /// Of a direction.
    pub fn of(self, dir: Dir) -> u32 {
        match dir {
            Dir::Tx => self.m2s,
            Dir::Rx => self.s2m,
        }
    }
}

/// A call in progress. `step` counts the events that it has made.
#[derive(Debug, Clone, Copy, Hash)]
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
        /// Descriptors of either ring, marker included.
        counts: Counts,
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
        counts: Counts,
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
    /// An instruction of a sequencer.
    Seq {
        /// What it does now.
        stage: Stage,
        /// Which of the stage's parts.
        part: u32,
        /// Steps of the part made.
        step: u32,
    },
}

/// The host's state.
#[derive(Debug, Clone, Default, Hash)]
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
    /// The newest of them: its queue, and its number there.
    pub timed_out: Option<(QueueId, u64)>,
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
    pub(super) fn result(&self) -> Ret {
        self.ret.unwrap_or(Ret::OK)
    }

    pub(super) fn poll_ended(&mut self, next_ns: u64, seen: Option<bool>) {
        self.poll = None;
        self.polled = seen;
        self.ready_ns = self.ready_ns.max(next_ns);
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
                if let Some(k) = self.active {
                    return self.seq_begin(p, k);
                }
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
                Next::End(ret) => {
                    self.host.ret = Some(ret);
                    // Whether a sequencer's next instruction can begin is asked anew.
                    if self.active.is_some() && self.host.stack.is_empty() {
                        return None;
                    }
                }
            }
        }
    }

    /// Notes the phase that an event belongs to.
    fn told(&mut self, kind: EventKind) -> EventKind {
        let acking = self.host.polled == Some(true);
        let phase = match kind {
            EventKind::Stage { .. }
            | EventKind::CopyIn { .. }
            | EventKind::Store { .. }
            | EventKind::Patch { .. } => Some(Phase::Stage),
            EventKind::MarkerWrite { .. } if acking => Some(Phase::Ack),
            EventKind::MarkerWrite { .. } => Some(Phase::Stage),
            EventKind::CopyStartReturn { ret: Ret::OK, .. } => Some(Phase::Doorbell),
            EventKind::CopyStart { .. } | EventKind::CopyStartReturn { .. } => Some(Phase::Trigger),
            EventKind::CpuFence => {
                let ringing = matches!(self.host.stack.last(), Some(Frame::Start { .. }));
                ringing.then_some(Phase::Doorbell)
            }
            EventKind::MmioWrite { offset, .. } => {
                let bell = reg::name_at(offset).is_some_and(|r| r.name == "drtp_inc");
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
            Frame::Init { queue, size, step } => self.init(queue, size, step),
            Frame::StageMarker { queue, marker, barrier_code, step } => {
                self.stage_marker(p, queue, marker, barrier_code, step)
            }
            Frame::Start { queue, m2s, s2m, step } => self.start(p, queue, m2s, s2m, step),
            Frame::Wait { queue, marker, counts, kind, step } => {
                self.wait(p, queue, marker, (counts, kind), step)
            }
            Frame::Ack { queue, counts, step } => self.ack(p, queue, counts, step),
            Frame::Copy(c) => self.copy(p, c),
            Frame::Async(c) => self.copy_async(p, c),
            Frame::Redo(c) => self.redo(p, c),
            Frame::Memset(c) => self.memset(p, c),
            Frame::Zero(c) => self.zero_copy(p, c),
            Frame::Seq { stage, part, step } => self.seq_step(p, stage, part, step),
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
                let counts = Counts::same(count);
                call(Frame::Wait { queue, marker: Some(marker), counts, kind, step: 0 })
            }
            &HostOp::WaitIdle { queue, count } => {
                let kind = WaitKind::Sync;
                let counts = Counts::same(count);
                call(Frame::Wait { queue, marker: None, counts, kind, step: 0 })
            }
            &HostOp::WaitRings { queue, marker, m2s, s2m } => {
                let (counts, kind) = (Counts { m2s, s2m }, WaitKind::Sync);
                call(Frame::Wait { queue, marker: Some(marker), counts, kind, step: 0 })
            }
            &HostOp::Ack { queue, count } => {
                call(Frame::Ack { queue, counts: Counts::same(count), step: 0 })
            }
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
            // User space writes registers by a request, which refuses those that launch work.
            HostOp::RegWrite { offset, .. }
                if !p.profile.kernel && reg::user_write_blocked(*offset) =>
            {
                self.end_with(done, Ret::Code(Errno::INVAL.0))
            }
            &HostOp::RegWrite { engine, offset, value } => {
                let lost = self.mmio_write(engine, offset, value);
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
            self.find(Diagnostic::new(code, text));
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
}
