//! The engine agent: fetch, read, visible, retire, one event at a time.
//!
//! MODEL: what silicon does between the doorbell and the bytes in memory is not public. This
//! is the calm order: a packet's Tx descriptors are fetched, then as many Rx descriptors as
//! its stream fills, each source is read just before it is needed, each destination becomes
//! visible as soon as its bytes are there, and pairs retire in ring order. Faults are detected
//! where the rules of `docs/model.md`, "Faults", say.

use super::event::{EventKind, Stall};
use super::few::Few;
use super::inject::Point;
use super::lint;
use super::machine::Machine;
use super::memory::Content;
use super::queue::{Held, Queue};
use crate::diag::{Diagnostic, Place, SlotRef};
use crate::engine::program::Program;
use crate::udma::profile::MAX_PACKET_BYTES;
use crate::udma::template::Template;
use crate::udma::{DESC_BYTES, Desc, Dir, cause, class};
pub use work::{Refusal, Work, compute, judge, rx_bytes};

mod work;

/// The packet that an engine queue works on. Its lists are shared between copies of the state.
#[derive(Debug, Clone, Default, Hash)]
pub struct Packet {
    /// Its Tx descriptors so far, META included.
    pub tx: Few<Held>,
    /// Its Rx descriptors so far.
    pub rx: Few<Held>,
    /// The last Tx descriptor is there.
    pub complete: bool,
    /// The packet's flags and lengths were found good.
    pub judged: bool,
    /// Tx bytes so far.
    pub tx_bytes: u64,
    /// Rx bytes so far.
    pub rx_bytes: u64,
    /// Bytes that Rx must take; known when complete.
    pub need: u64,
    /// What is done with the stream; known when complete.
    pub work: Work,
    /// Tx descriptors read.
    pub read: usize,
    /// Rx descriptors visible.
    pub visible: usize,
    /// Pairs retired.
    pub retired: usize,
    /// Bytes made visible.
    pub delivered: u64,
    /// Bytes read and not yet written.
    pub stream: Content,
    /// Everything read, kept where it is written more than once or computed on as a whole.
    pub whole: Content,
}

impl Packet {
    /// Whether no packet is in work.
    pub fn is_empty(&self) -> bool {
        self.tx.is_empty() && self.rx.is_empty()
    }

    /// Whether each byte read is written once, as it is.
    pub(super) fn is_straight(&self) -> bool {
        matches!(self.work, Work::Copy | Work::Replicate(1))
    }

    /// Data descriptors among its Tx descriptors.
    fn data(&self) -> impl Iterator<Item = &Held> {
        self.tx.iter().filter(|x| !x.desc.is_meta())
    }
}

/// Bytes on their way to memory.
#[derive(Debug, Clone, Hash)]
pub struct Outgoing {
    /// Which Rx descriptor since reset.
    pub k: u64,
    /// Its slot.
    pub slot: u64,
    /// Where they go.
    pub addr: u64,
    /// How many.
    pub len: u64,
    /// They.
    pub content: Content,
}

/// A fault that was found while its descriptor was fetched; it is told as the next event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LaterFault {
    /// Index of the queue.
    pub queue: usize,
    /// Whose cause group.
    pub dir: Dir,
    /// The cause.
    pub name: &'static str,
    /// A user injected it.
    pub injected: bool,
    /// The slot concerned.
    pub slot: u64,
    /// The address concerned.
    pub addr: u64,
}

/// A cause that is found, and whether a user injected it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    name: &'static str,
    injected: bool,
}

impl From<&'static str> for Found {
    fn from(name: &'static str) -> Found {
        Found { name, injected: false }
    }
}

impl From<(&'static str, bool)> for Found {
    fn from((name, injected): (&'static str, bool)) -> Found {
        Found { name, injected }
    }
}

/// What comes next for a queue; found without changing anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Fetch the next descriptor of a ring.
    Fetch(Dir),
    /// Judge the packet's Rx side.
    Judge,
    /// Read the next source.
    Read,
    /// Write the next destination.
    Visible,
    /// Retire the next pair.
    Retire,
    /// Cannot go on.
    Stall(Stall),
    /// Nothing to do.
    Idle,
}

/// What the queue does next.
pub fn next_action(q: &Queue) -> Action {
    let p = &q.packet;
    let (tx, rx) = (q.hw(Dir::Tx), q.hw(Dir::Rx));
    if !p.complete {
        return if tx.fetched < tx.posted {
            Action::Fetch(Dir::Tx)
        } else if p.tx.is_empty() {
            Action::Idle
        } else {
            Action::Stall(Stall::PacketIncomplete)
        };
    }
    if matches!(p.work, Work::Refused(_)) {
        return Action::Stall(Stall::NotExecuted);
    }
    if p.rx_bytes < p.need {
        return if rx.fetched < rx.posted {
            Action::Fetch(Dir::Rx)
        } else {
            Action::Stall(Stall::RxNotArmed)
        };
    }
    if !p.judged {
        return Action::Judge;
    }
    match p.rx.get(p.visible) {
        Some(x) if p.stream.len() >= x.desc.length() => Action::Visible,
        _ if p.read < p.tx.len() => Action::Read,
        Some(_) => Action::Visible,
        None if p.retired < p.tx.len().max(p.rx.len()) => Action::Retire,
        None => Action::Idle,
    }
}

/// What the packet of one Tx descriptor does, where its flags and its length are good.
pub fn single_work(desc: &Desc) -> Option<Work> {
    let good = desc.first() && desc.last() && !desc.concat() && !desc.is_meta();
    if !good || desc.length() > MAX_PACKET_BYTES {
        return None;
    }
    if class::is_copy(desc.word1) {
        return Some(Work::Copy);
    }
    let mut packet = Packet { tx_bytes: desc.length(), ..Packet::default() };
    packet.tx.push_back(Held { k: 0, desc: *desc });
    let (work, need) = work::judge(&packet);
    (need == desc.length()).then_some(work)
}

/// Whether the flags of the one Rx descriptor of a packet are good.
pub fn rx_is_plain(desc: &Desc) -> bool {
    !desc.concat() && desc.first() == desc.last()
}

/// What is wrong with the flags of the Rx descriptors of a packet, and at which of them: either
/// none is set, or FIRST, CONCAT and LAST as on Tx.
pub fn rx_flags(count: usize, desc: impl Fn(usize) -> Desc) -> Option<(&'static str, usize)> {
    let flagged = |d: Desc| d.first() || d.last() || d.concat();
    if !(0..count).any(|n| flagged(desc(n))) {
        return None;
    }
    let ends = |n| n + 1 == count;
    let bad_first = (0..count).find(|n| desc(*n).first() != (*n == 0));
    let bad_last =
        || (0..count).find(|n| desc(*n).last() != ends(*n) || desc(*n).concat() == ends(*n));
    match bad_first {
        Some(n) => Some(("STRM_FIRST", n)),
        None => Some(("STRM_LAST", bad_last()?)),
    }
}

/// The address that a descriptor names, a symbolic one resolved.
///
/// # Errors
/// The id of a variable that the program does not have.
pub fn resolve(program: &Program, ptr: u64) -> Result<u64, u32> {
    match Template::parse(ptr) {
        None => Ok(ptr),
        Some(t) => program
            .variables
            .iter()
            .find(|v| v.id == t.var)
            .map(|v| v.addr.wrapping_add(t.offset))
            .ok_or(t.var),
    }
}

/// Nanoseconds that a descriptor of `len` bytes takes (PARAM, default 0).
pub(super) fn duration(p: &Program, len: u64) -> u64 {
    let data = len.checked_div(p.speed.bytes_per_ns).unwrap_or(0);
    p.speed.ns_per_desc.saturating_add(data)
}

impl Machine {
    /// Lets queue `i` do its next thing. Nothing happens (and `None` is returned) when it
    /// turns out idle.
    pub(super) fn engine_step(&mut self, p: &Program, i: usize) -> Option<EventKind> {
        let action = next_action(&self.queues[i]);
        match action {
            Action::Idle => {
                self.queues[i].due = None;
                None
            }
            Action::Stall(why) => Some(self.stall(i, why)),
            Action::Fetch(dir) => Some(self.fetch(p, i, dir)),
            Action::Judge => {
                self.queues[i].packet.judged = true;
                self.judge(p, i)
            }
            Action::Read => Some(self.read(p, i)),
            Action::Visible => Some(self.visible(p, i)),
            Action::Retire => Some(self.retire(i)),
        }
    }

    fn slot_ref(&self, i: usize, dir: Dir, slot: u64) -> SlotRef {
        let id = self.queues[i].id();
        SlotRef { queue: Some((id.engine, id.queue)), dir, index: slot }
    }

    /// Lets the queue stand, at the slot that it misses or cannot execute.
    fn stall(&mut self, i: usize, why: Stall) -> EventKind {
        let q = &self.queues[i];
        let (dir, k) = match why {
            Stall::RxNotArmed => (Dir::Rx, q.hw(Dir::Rx).fetched),
            Stall::PacketIncomplete | Stall::Unresolved => (Dir::Tx, q.hw(Dir::Tx).fetched),
            Stall::NotExecuted => (Dir::Tx, q.packet.tx.front().map_or(0, |x| x.k)),
        };
        self.stall_at(i, (dir, k), why)
    }

    fn stall_at(&mut self, i: usize, (dir, k): (Dir, u64), why: Stall) -> EventKind {
        let q = &mut self.queues[i];
        q.stalled = Some(why);
        q.due = None;
        let slot = q.hw(dir).slot(k);
        let code = match why {
            Stall::RxNotArmed | Stall::PacketIncomplete => "R005",
            Stall::NotExecuted => "R011",
            Stall::Unresolved => "R019",
        };
        let message = match &self.queues[i].packet.work {
            Work::Refused(more) if why == Stall::NotExecuted => {
                format!("{}: {}", why.words(), more.words())
            }
            _ => why.words().to_owned(),
        };
        let place = Place::slot(self.slot_ref(i, dir, slot));
        self.find(Diagnostic::new(code, message).at(place));
        EventKind::Stall { dir, slot, why }
    }

    /// Records a cause. An armed one aborts the engine.
    pub(super) fn fault(
        &mut self,
        p: &Program,
        i: usize,
        dir: Dir,
        what: impl Into<Found>,
        at: (u64, u64),
    ) -> EventKind {
        let Found { name, injected } = what.into();
        let (slot, addr) = at;
        let engine = self.queues[i].id().engine;
        let known = cause::by_name(dir, name);
        let bit = known.map_or(0, |c| c.bit);
        let aborted = known.is_none_or(|c| cause::armed(p.arch, engine, c));
        let place = Place::slot(self.slot_ref(i, dir, slot));
        let text = known.map_or("", |c| c.meaning);
        let by = if injected { ", injected (MODEL)" } else { "" };
        let message = format!("{name}: {text} (address {addr:#x}{by})");
        if aborted {
            self.aborted.insert(engine);
            self.queues[i].faulted = Some((dir, slot));
            self.find(Diagnostic::new("R001", message).at(place));
        } else {
            self.find(Diagnostic::new("R018", message).at(place));
        }
        self.record(self.queues[i].id(), dir, bit, slot);
        EventKind::Fault { dir, bit, slot, addr, aborted, injected }
    }

    fn fault_later(&mut self, queue: usize, dir: Dir, found: Found, at: (u64, u64)) {
        let (slot, addr) = at;
        let Found { name, injected } = found;
        self.queued.push_back(LaterFault { queue, dir, name, injected, slot, addr });
    }

    fn fetch(&mut self, p: &Program, i: usize, dir: Dir) -> EventKind {
        let hw = *self.queues[i].hw(dir);
        let slot = hw.slot(hw.fetched);
        let addr = hw.ring.slot_addr(slot);
        if let Some(c) = self.take_injected(i, dir, Point::Prefetch, slot) {
            return self.fault(p, i, dir, (c.name, true), (slot, addr));
        }
        if hw.ring.size == 0 || self.memory.outside(addr, DESC_BYTES as u64).is_some() {
            return self.fault(p, i, dir, "PREFETCH_AXI_RESP", (slot, addr));
        }
        let mut bytes = [0; DESC_BYTES];
        self.memory.read(addr, &mut bytes);
        let desc = Desc::from_bytes(&bytes);
        let expected = hw.ring_id;
        let held = Held { k: hw.fetched, desc };
        let q = &mut self.queues[i];
        let hw = q.hw_mut(dir);
        hw.fetched += 1;
        if hw.slot(hw.fetched) == 0 {
            hw.ring_id = crate::udma::ring::next_ring_id(hw.ring_id);
        }
        let stale = lint::stale(q, dir, held.k, slot, desc);
        match dir {
            Dir::Tx => {
                q.packet.tx.push_back(held);
                self.judge_tx(p, i, slot, addr, expected);
            }
            Dir::Rx => {
                q.packet.rx.push_back(held);
                q.packet.rx_bytes += desc.length();
                let set = self.marker_is_set(i, slot, desc);
                set.into_iter().for_each(|d| self.find(d));
                let wrong =
                    if desc.ring_id() != expected { vec!["PREFETCH_RING_ID"] } else { vec![] };
                self.faults_later(i, dir, wrong, (slot, addr));
            }
        }
        stale.into_iter().for_each(|d| self.find(d));
        EventKind::Fetch { dir, slot, desc }
    }

    /// Judges the Tx descriptor just fetched and finds whether it ends its packet.
    fn judge_tx(&mut self, p: &Program, i: usize, slot: u64, addr: u64, expected: u8) {
        let limit = p.profile.enforced_packet_limits(p.arch).0;
        let packet = &mut self.queues[i].packet;
        let Some(desc) = packet.tx.last().map(|x| x.desc) else { return };
        let mut wrong = Vec::new();
        if packet.tx.len() as u64 > limit {
            wrong.push("PREFETCH_MAX_DESC");
        }
        if !desc.is_meta() {
            let opens = packet.data().take(2).count() == 1;
            packet.tx_bytes += desc.length();
            if desc.ring_id() != expected {
                wrong.push("PREFETCH_RING_ID");
            }
            if desc.first() != opens {
                wrong.push("PREFETCH_FIRST");
            }
            if desc.last() == desc.concat() {
                wrong.push("PREFETCH_LAST");
            }
            if packet.tx_bytes > MAX_PACKET_BYTES {
                wrong.push("PKT_LEN");
            }
            if desc.last() || !desc.concat() {
                packet.complete = true;
                (packet.work, packet.need) = work::judge(packet);
            }
        }
        self.faults_later(i, Dir::Tx, wrong, (slot, addr));
    }

    /// What is wrong with a descriptor that was fetched, and what is injected there; a cause that
    /// is found anyway is found once.
    fn faults_later(&mut self, i: usize, dir: Dir, wrong: Vec<&'static str>, at: (u64, u64)) {
        let injected = self.take_injected(i, dir, Point::Descriptor, at.0);
        let more = injected.map(|c| c.name).filter(|name| !wrong.contains(name));
        for name in wrong {
            self.fault_later(i, dir, name.into(), at);
        }
        if let Some(name) = more {
            self.fault_later(i, dir, (name, true).into(), at);
        }
    }

    /// Judges the Rx side of a packet once all of it is fetched.
    pub(super) fn judge(&mut self, p: &Program, i: usize) -> Option<EventKind> {
        if let Some((c, at)) = self.take_injected_packet(i) {
            return Some(self.fault(p, i, Dir::Rx, (c.name, true), at));
        }
        let q = &self.queues[i];
        let packet = &q.packet;
        let place = |x: &Held| {
            let slot = q.hw(Dir::Rx).slot(x.k);
            (slot, q.hw(Dir::Rx).ring.slot_addr(slot))
        };
        if packet.rx_bytes != packet.need {
            let at = packet.rx.last().map_or((0, 0), place);
            return Some(self.fault(p, i, Dir::Rx, "PKT_LEN", at));
        }
        let (name, n) = rx_flags(packet.rx.len(), |n| packet.rx[n].desc)?;
        let at = place(&packet.rx[n]);
        Some(self.fault(p, i, Dir::Rx, name, at))
    }

    fn read(&mut self, p: &Program, i: usize) -> EventKind {
        let q = &self.queues[i];
        let n = q.packet.read;
        let held = q.packet.tx[n];
        let slot = q.hw(Dir::Tx).slot(held.k);
        self.queues[i].packet.read += 1;
        if held.desc.is_meta() {
            return EventKind::Read { slot, addr: 0, len: 0 };
        }
        let len = held.desc.length();
        let Ok(addr) = resolve(p, held.desc.ptr) else {
            self.queues[i].packet.read -= 1;
            return self.stall_at(i, (Dir::Tx, held.k), Stall::Unresolved);
        };
        if let Some(c) = self.take_injected(i, Dir::Tx, Point::Data, slot) {
            self.queues[i].packet.read -= 1;
            return self.fault(p, i, Dir::Tx, (c.name, true), (slot, addr));
        }
        if let Some(bad) = self.memory.outside(addr, len) {
            self.outside(i, Dir::Tx, slot, bad);
            return self.fault(p, i, Dir::Tx, "DATA_AXI_RESP", (slot, bad));
        }
        let known = self.memory.known(addr, len);
        let place = Place::slot(self.slot_ref(i, Dir::Tx, slot));
        if let Some(at) = known.never_written {
            let text = format!("nobody wrote the bytes from {} on", p.name_addr(at));
            self.find(Diagnostic::new("R009", text).at(place));
        } else if let Some(at) = known.unknown
            && self.told_unknown.insert(self.queues[i].id()).is_none()
        {
            let text = format!("the bytes at {} are unknown", p.name_addr(at));
            self.find(Diagnostic::new("R012", text).at(place));
        }
        let crosses = lint::crosses(p, &self.queues[i], (Dir::Tx, slot), addr, len);
        crosses.into_iter().for_each(|d| self.find(d));
        let content = self.memory.take(addr, len);
        let packet = &mut self.queues[i].packet;
        if packet.is_straight() {
            packet.stream.append(&content);
        } else {
            packet.whole.append(&content);
        }
        if let Work::Compute(payload) = &packet.work
            && packet.read == packet.tx.len()
        {
            packet.stream = work::compute(payload, &std::mem::take(&mut packet.whole));
        }
        EventKind::Read { slot, addr, len }
    }

    fn outside(&mut self, i: usize, dir: Dir, slot: u64, bad: u64) {
        let text = format!("no memory is known at {bad:#x}");
        let place = Place::slot(self.slot_ref(i, dir, slot));
        self.find(Diagnostic::new("R010", text).at(place));
    }

    /// Takes the bytes of the packet's next Rx descriptor out of its stream.
    ///
    /// # Errors
    /// The fault or stall that happens instead.
    pub(super) fn take_write(&mut self, p: &Program, i: usize) -> Result<Outgoing, EventKind> {
        let q = &self.queues[i];
        let held = q.packet.rx[q.packet.visible];
        let slot = q.hw(Dir::Rx).slot(held.k);
        let len = held.desc.length();
        let Ok(addr) = resolve(p, held.desc.ptr) else {
            return Err(self.stall_at(i, (Dir::Rx, held.k), Stall::Unresolved));
        };
        if let Some(c) = self.take_injected(i, Dir::Rx, Point::Data, slot) {
            return Err(self.fault(p, i, Dir::Rx, (c.name, true), (slot, addr)));
        }
        if let Some(bad) = self.memory.outside(addr, len) {
            self.outside(i, Dir::Rx, slot, bad);
            return Err(self.fault(p, i, Dir::Rx, "DATA_AXI_RESP", (slot, bad)));
        }
        let crosses = lint::crosses(p, &self.queues[i], (Dir::Rx, slot), addr, len);
        crosses.into_iter().for_each(|d| self.find(d));
        let packet = &mut self.queues[i].packet;
        // What is written several times is laid out as far as this descriptor takes it.
        while packet.stream.len() < len && !packet.whole.is_empty() {
            packet.stream.append(&packet.whole);
        }
        let content = packet.stream.split_front(len);
        packet.visible += 1;
        packet.delivered += len;
        Ok(Outgoing { k: held.k, slot, addr, len, content })
    }

    fn visible(&mut self, p: &Program, i: usize) -> EventKind {
        let Outgoing { slot, addr, len, content, .. } = match self.take_write(p, i) {
            Ok(out) => out,
            Err(kind) => return kind,
        };
        self.memory.put_content(addr, content);
        let due = self.now_ns.saturating_add(duration(p, len));
        let q = &mut self.queues[i];
        q.hw_mut(Dir::Rx).visible += 1;
        // A Tx descriptor is visible when every Rx descriptor that its bytes reached is.
        let all = q.packet.delivered >= q.packet.need;
        let mut end = 0;
        let done = q
            .packet
            .tx
            .iter()
            .take_while(|x| {
                end += if x.desc.is_meta() { 0 } else { x.desc.length() };
                all || (q.packet.is_straight() && end <= q.packet.delivered)
            })
            .count() as u64;
        let retired = q.packet.retired.min(q.packet.tx.len()) as u64;
        let tx = q.hw_mut(Dir::Tx);
        tx.visible = tx.retired + done - retired;
        q.due = Some(due);
        EventKind::Visible { slot, addr, len }
    }

    fn retire(&mut self, i: usize) -> EventKind {
        let q = &mut self.queues[i];
        let n = q.packet.retired;
        let slot = |q: &Queue, dir, list: &Few<Held>| list.get(n).map(|x| q.hw(dir).slot(x.k));
        let tx = slot(q, Dir::Tx, &q.packet.tx);
        let rx = slot(q, Dir::Rx, &q.packet.rx);
        q.hw_mut(Dir::Tx).retired += u64::from(tx.is_some());
        q.hw_mut(Dir::Rx).retired += u64::from(rx.is_some());
        q.packet.retired += 1;
        let packet_end = q.packet.retired >= q.packet.tx.len().max(q.packet.rx.len());
        if packet_end {
            q.packet = Packet::default();
        }
        // The batch that this retirement ends is still told of it.
        while q.bounds.front().is_some_and(|b| b.0 < q.hw[0].retired) {
            q.bounds.pop_front();
        }
        EventKind::Retire { tx, rx, packet_end }
    }
}
