//! Writing descriptors: the staging call, the completion pair, and copying in what was
//! authored elsewhere.

use super::{Frame, Next};
use crate::diag::{Diagnostic, Place, SlotRef};
use crate::engine::program::{Program, QueueId, RingType};
use crate::engine::ring::device::resolve;
use crate::engine::ring::event::{EventKind, MarkerWord, Ret, Role, SlotTaken};
use crate::engine::ring::lint;
use crate::engine::ring::machine::Machine;
use crate::engine::ring::queue::ix;
use crate::udma::profile::MARKER;
use crate::udma::{DESC_BYTES, Desc, Dir, Errno, PairRequest, desc, stage_pair};

/// A slot taken: its index, its phase, and what was written there, if anything.
type Taken = (u32, u8, Option<Desc>);

/// A pair to stage.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine::ring) struct Ask {
    pub src: u64,
    pub dst: u64,
    pub size: u64,
    pub barrier_code: u32,
    pub set_dst_int: bool,
    pub role: Role,
}

impl Machine {
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
            self.find(d);
        }
        let Ask { src, dst, size, barrier_code, role, .. } = ask;
        let [tx, rx] = taken;
        (Some(EventKind::Stage { queue, role, src, dst, size, barrier_code, ret, tx, rx }), ret)
    }

    /// The checks in the driver's order: size, free slots, whether slots may be taken at all,
    /// then (with the slots taken) the barrier.
    fn try_stage(
        &mut self,
        p: &Program,
        i: usize,
        ask: &Ask,
    ) -> Result<(Ret, [Option<Taken>; 2]), Ret> {
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
        let staged = stage_pair(p.profile, p.arch, &self.request(i, ask));
        if staged.slots == 0 {
            return Err(staged.result.map_or_else(|e| Ret::Code(e.errno().0), |_| Ret::OK));
        }
        let taken = Dir::BOTH.map(|d| self.queues[i].sw[ix(d)].take());
        if staged.result.is_ok() {
            for (dir, (slot, _)) in Dir::BOTH.into_iter().zip(taken) {
                if self.queues[i].overruns(dir) {
                    self.overrun(i, dir, u64::from(slot));
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

    /// What the builder is asked for where a pair takes the next slots of queue `i`.
    pub(in crate::engine::ring) fn request(&self, i: usize, ask: &Ask) -> PairRequest {
        let ring_id = |dir| u32::from(self.queues[i].sw(dir).desc_ring_id);
        PairRequest {
            src: ask.src,
            dst: ask.dst,
            size: ask.size,
            tx_ring_id: ring_id(Dir::Tx),
            rx_ring_id: ring_id(Dir::Rx),
            barrier_code: ask.barrier_code,
            set_dst_int: ask.set_dst_int,
        }
    }

    /// A slot was written that the engine had not retired.
    fn overrun(&mut self, i: usize, dir: Dir, slot: u64) {
        let at = SlotRef {
            queue: Some((self.queues[i].id().engine, self.queues[i].id().queue)),
            dir,
            index: slot,
        };
        let text = "a slot is written that the engine has not retired yet";
        self.find(Diagnostic::new("R007", text).at(Place::slot(at)));
    }

    pub(in crate::engine::ring) fn copy_in(
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
        // region of the program, or one of its rings.
        let owned = |d: Desc| {
            let host = resolve(p, d.ptr).ok().filter(|a| p.arch.is_host(*a));
            let meta = dir == Dir::Tx && d.is_meta();
            d.is_zero() || meta || host.is_none_or(|a| self.memory.region_at(a).is_some())
        };
        if !desc::iter_image(bytes).all(owned) {
            return Err(Errno::INVAL);
        }
        self.memory.write(decl.slot_addr(at), &bytes[..bytes.len() / DESC_BYTES * DESC_BYTES]);
        self.host.unfenced = true;
        self.host.polled = None;
        let mask = lint::other_mask(&self.queues[i], dir, at);
        mask.into_iter().for_each(|d| self.find(d));
        if self.queues[i].copied_in(dir, at, count) {
            self.overrun(i, dir, at);
        }
        self.open_batch(i);
        Ok(EventKind::CopyIn { queue, dir, slot: at, count })
    }

    pub(super) fn stage_marker(
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
                    self.ring_is_full(queue, ": the completion pair does not fit");
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

    pub(in crate::engine::ring) fn marker_write(
        &mut self,
        word: MarkerWord,
        addr: u64,
        value: u32,
    ) -> EventKind {
        self.memory.write(addr, &value.to_le_bytes());
        self.host.unfenced = true;
        EventKind::MarkerWrite { word, addr, value }
    }
}
