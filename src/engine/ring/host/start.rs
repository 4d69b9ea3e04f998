//! The calls around a batch: queue initialisation, doorbell, wait, ack.

use super::{Counts, Frame, Host, Next};
use crate::diag::{Diagnostic, Severity, SlotRef};
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::event::{EventKind, MarkerWord, Ret};
use crate::engine::ring::lint;
use crate::engine::ring::machine::{Machine, Polling};
use crate::engine::ring::queue::{SwRing, ix};
use crate::udma::profile::{MARKER, WaitKind};
use crate::udma::queue_init::{
    OuterQueueInit, QueueInit, RingAt, check_outer_queue_init, queue_init,
};
use crate::udma::{Dir, count_of, reg};

/// Step of a doorbell call at which Rx is rung and Tx is about to be.
const RX_IS_RUNG: u8 = 3;

impl Host {
    /// Whether a doorbell call has rung Rx and goes on to ring Tx.
    pub fn rings_tx_next(&self) -> bool {
        matches!(self.stack.last(), Some(Frame::Start { step: RX_IS_RUNG, .. }))
    }
}

impl Machine {
    /// Initialises a queue: Tx parameters are checked and programmed before the Rx size is
    /// looked at, so a late failure leaves Tx programmed.
    pub(super) fn init(&mut self, queue: QueueId, size: Option<u32>, step: u32) -> Next {
        let Some(i) = self.index_of(queue) else { return Next::End(Ret::Code(-22)) };
        let decl = self.queues[i].decl;
        let ring = |dir| {
            let r = decl.ring(dir);
            let declared = || r.map_or(0, |r| r.size) as u32;
            RingAt { base: r.map_or(0, |r| r.base), size: size.unwrap_or_else(declared) }
        };
        let (tx, rx) = (ring(Dir::Tx), ring(Dir::Rx));
        let inner = QueueInit { queue: queue.queue, tx, rx, completion_ring: false };
        let outer = OuterQueueInit { engine: queue.engine, inner, completion_bytes: None };
        let (answer, writes) = match check_outer_queue_init(&outer) {
            Err(e) if !e.tx_programmed() => (Err(e), Vec::new()),
            _ => queue_init(&inner),
        };
        if let Some(w) = writes.get(step as usize) {
            let offset = reg::queue_block(w.dir, queue.queue) + w.offset;
            let lost = self.mmio_write(queue.engine, offset, w.value);
            let kind = EventKind::MmioWrite { engine: queue.engine, offset, value: w.value, lost };
            return Next::Event(kind, Frame::Init { queue, size, step: step + 1 });
        }
        if let Err(e) = answer {
            let text = format!("init returned {}: {e}", e.errno().0);
            self.host.explained = true;
            self.find(Diagnostic::new("R003", text));
            return Next::End(Ret::Code(e.errno().0));
        }
        let q = &mut self.queues[i];
        q.ready = true;
        q.sw[ix(Dir::Tx)] = SwRing::new(u64::from(tx.size));
        q.sw[ix(Dir::Rx)] = SwRing::new(u64::from(rx.size));
        // A re-initialisation inside a copy keeps what it is about to restage.
        if size.is_none() {
            q.handles = [None; 3];
        }
        Next::End(Ret::OK)
    }

    /// The doorbell call: checks, then RX and TX, each a fence and a write.
    pub(super) fn start(
        &mut self,
        p: &Program,
        queue: QueueId,
        m2s: u32,
        s2m: u32,
        step: u8,
    ) -> Next {
        let Some(i) = self.index_of(queue) else { return Next::End(Ret::Code(-1)) };
        let again = |step| Frame::Start { queue, m2s, s2m, step };
        let bell = |m: &mut Machine, dir, value| {
            let offset = reg::queue_block(dir, queue.queue)
                + reg::queue_reg(dir, "drtp_inc").map_or(0, |r| r.offset);
            let lost = m.mmio_write(queue.engine, offset, value);
            EventKind::MmioWrite { engine: queue.engine, offset, value, lost }
        };
        let refused = |m: &Machine| {
            let size = |d| if m.queues[i].ready { m.queues[i].sw(d).size } else { 0 };
            m2s > size(Dir::Tx) || s2m > size(Dir::Rx)
        };
        match step {
            0 => {
                let next = if refused(self) {
                    9
                } else if s2m == 0 {
                    8
                } else {
                    1
                };
                self.open_batch(i);
                Next::Event(EventKind::CopyStart { queue, m2s, s2m }, again(next))
            }
            1 | RX_IS_RUNG => {
                self.host.unfenced = false;
                Next::Event(EventKind::CpuFence, again(step + 1))
            }
            2 => {
                let kind = bell(self, Dir::Rx, s2m);
                Next::Event(kind, again(if m2s == 0 { 5 } else { RX_IS_RUNG }))
            }
            4 => Next::Event(bell(self, Dir::Tx, m2s), again(5)),
            // An empty RX count: the assertion never returns.
            8 if !p.profile.asserts_return => Next::End(Ret::Bug),
            8 | 9 => {
                let ret = Ret::Code(-1);
                Next::Last(EventKind::CopyStartReturn { queue, ret }, ret)
            }
            _ => Next::Last(EventKind::CopyStartReturn { queue, ret: Ret::OK }, Ret::OK),
        }
    }

    /// Waits for a marker, re-seeds both of its words, acks. Without a marker: until the
    /// engine is idle.
    pub(super) fn wait(
        &mut self,
        p: &Program,
        queue: QueueId,
        marker: Option<u64>,
        (counts, kind): (Counts, WaitKind),
        step: u8,
    ) -> Next {
        let Some(i) = self.index_of(queue) else { return Next::End(Ret::Code(-1)) };
        let again = |step| Frame::Wait { queue, marker, counts, kind, step };
        let count = counts.m2s;
        // MODEL: waiting for an idle engine is no call of the driver's; it does not underflow at
        // a count below 2 as the driver's wait does.
        let pending = if marker.is_some() { count } else { count.max(2) };
        let budget = p.profile.wait_budget(p.arch, p.platform, u64::from(pending), kind);
        let polled = marker.map_or(0, |m| m.wrapping_add(4));
        match step {
            0 => {
                self.host.batch = self.awaited(i, count);
                self.host.polled = None;
                self.queues[i].marker = marker.unwrap_or(self.queues[i].marker);
                let wraps = marker.and_then(|_| lint::wait_wraps(count, kind, budget));
                wraps.into_iter().for_each(|d| self.find(d));
                let asynchronous = kind == WaitKind::Async;
                let kind = EventKind::WaitBudget {
                    queue,
                    count,
                    asynchronous,
                    first_us: budget.first_us,
                    following: budget.following,
                };
                Next::Event(kind, again(1))
            }
            1 => {
                let ns = budget.delay_us.saturating_mul(1000);
                self.host.ready_ns = self.now_ns.saturating_add(ns);
                Next::Event(EventKind::Delay { us: budget.delay_us }, again(2))
            }
            2 => {
                self.host.poll = Some(Polling {
                    addr: polled,
                    next_ns: self.now_ns.max(self.host.ready_ns),
                    left: budget.max_reads.max(1),
                    untold: 0,
                    told: 0,
                    idle_of: marker.is_none().then_some(i),
                });
                Next::Again(again(3))
            }
            3 if self.host.polled == Some(true) => {
                self.marker_too_early(i, counts.s2m);
                Next::Again(again(if marker.is_some() { 4 } else { 6 }))
            }
            3 => {
                let seen = marker.and_then(|_| self.never_seen(i, polled));
                self.timed_out(p, i, counts);
                seen.into_iter().for_each(|d| self.find(d));
                Next::End(Ret::Code(p.profile.timeout_ret))
            }
            4 => Next::Event(self.marker_write(MarkerWord::Dst, polled, 0), again(5)),
            5 => {
                let src = marker.unwrap_or(0);
                Next::Event(self.marker_write(MarkerWord::Src, src, MARKER), again(6))
            }
            _ => Next::Call(
                Frame::Ack { queue, counts, step: 9 },
                Frame::Ack { queue, counts, step: 0 },
            ),
        }
    }

    /// The batch that a wait for `count` descriptors is about: the one that they end in. Where
    /// fewer were rung: the newest one if only its RX was rung, else the next one.
    fn awaited(&self, i: usize, count: u32) -> u64 {
        let q = &self.queues[i];
        let rung_by_half = q.ledger.newest() < q.batches;
        let known = q.ledger.batch_of_next(count);
        known.unwrap_or(if rung_by_half { q.batches } else { q.batches + 1 })
    }

    /// A marker that is seen while bytes of its batch are still on their way. The marker's own
    /// pair may not have retired yet where the engine has a speed.
    fn marker_too_early(&mut self, i: usize, count: u32) {
        let q = &self.queues[i];
        let (sw, hw) = (q.sw(Dir::Rx), q.hw(Dir::Rx));
        let acked = sw.acked.saturating_add(u64::from(count));
        if hw.visible < acked.min(hw.posted) {
            let text = "the marker is seen before the engine is done with its batch";
            self.find(Diagnostic::new("R016", text));
        }
    }

    fn timed_out(&mut self, p: &Program, i: usize, counts: Counts) {
        // A copy inside a reset window is tried again; only its end says whether it failed.
        let again = self.tries_again(p);
        self.host.explained = !again;
        self.host.timeouts += 1;
        let batch = self.awaited(i, counts.m2s);
        self.host.timed_out = Some((self.queues[i].id(), batch));
        self.queues[i].ledger.settle(counts.m2s);
        let q = &self.queues[i];
        // A fault on any queue of an engine stops them all.
        let engine = q.id().engine;
        let faulted = self
            .queues
            .iter()
            .filter(|o| o.id().engine == engine)
            .find_map(|o| o.faulted.map(|(dir, index)| (o.id(), dir, index)))
            .map(|(id, dir, index)| SlotRef { queue: Some((id.engine, id.queue)), dir, index });
        let aborted = self.aborted.contains(&engine);
        let why = match (&faulted, q.stalled) {
            (Some(_), _) if aborted => "the engine faulted".to_owned(),
            (_, _) if aborted => "the engine has aborted".to_owned(),
            (_, Some(stall)) => format!("the engine stands: {}", stall.words()),
            _ if q.has_work() => "the engine has not done what is posted".to_owned(),
            _ => "nothing is posted that would write the marker".to_owned(),
        };
        let text = format!("batch {batch} timed out: {why}");
        let mut late = Diagnostic::new("R002", text);
        late.place.slot = faulted.filter(|_| aborted);
        if again {
            late.message.push_str("; the queue is initialised again and the batch staged anew");
            self.find(late.severity(Severity::Warning));
            return;
        }
        self.find(late);
        let Counts { m2s, s2m } = counts;
        let slots = if m2s == s2m {
            format!("{} of each ring {}", count_of(m2s, "slot"), stay(m2s))
        } else {
            format!("{m2s} Tx and {s2m} Rx slots stay")
        };
        let text = format!("{slots} taken: a batch that times out is never acked");
        self.find(Diagnostic::new("R015", text));
    }

    /// Acks both rings, RX first.
    pub(super) fn ack(&mut self, p: &Program, queue: QueueId, counts: Counts, step: u8) -> Next {
        let Some(i) = self.index_of(queue).filter(|_| step < 2) else {
            // Step 9: the end of a wait, with what its ack returned.
            return Next::End(if step == 9 { self.host.result() } else { Ret::Code(-22) });
        };
        let dir = if step == 0 { Dir::Rx } else { Dir::Tx };
        let count = counts.of(dir);
        let q = &mut self.queues[i];
        let authored = !q.decl.allocatable;
        let outstanding = q.hw(dir).posted.saturating_sub(q.sw(dir).acked);
        let sw = &mut q.sw[ix(dir)];
        let before = sw.next_cdesc_idx;
        if let Err(ret) = sw.ack(count, p.profile) {
            if !authored {
                return Next::End(ret);
            }
            // MODEL: a ring authored elsewhere counts modulo its size, whatever that is.
            sw.acked += u64::from(count);
            sw.next_cdesc_idx = (sw.acked % u64::from(sw.size.max(1))) as u32;
        }
        let (after, available) = (sw.next_cdesc_idx, sw.free());
        let moved = lint::acked_all(&self.queues[i], dir, count);
        moved.into_iter().for_each(|d| self.find(d));
        let kind = EventKind::Ack { queue, dir, count, before, after, available };
        if u64::from(count) > outstanding {
            let text =
                format!("{count} descriptors of {dir} are acked, {outstanding} are outstanding");
            self.find(Diagnostic::new("R014", text));
        }
        if step == 0 {
            Next::Event(kind, Frame::Ack { queue, counts, step: 1 })
        } else {
            self.queues[i].ledger.settle(count);
            Next::Last(kind, Ret::OK)
        }
    }
}

/// What so many slots do that are not freed.
pub(super) fn stay(slots: impl Into<u64>) -> &'static str {
    if slots.into() == 1 { "stays" } else { "stay" }
}
