//! What the rules of one queue demand: for each event of the queue, how much of the queue must
//! have happened before it (`docs/order.md`, "Rules").
//!
//! Everything here follows from the descriptors in ring order and from the packets that they
//! form; the order in which a run let the events happen plays no part. So the same answers tell
//! whether two events of a finished run are ordered and whether an event may happen next.

use super::past::QueuePast;
use super::readings::{DmbReading, Readings, SowReading};
use crate::udma::{Desc, Dir, View};
use std::collections::VecDeque;

/// How a packet's stream runs from Tx to Rx; known when its last Tx descriptor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stream {
    /// Bytes that Rx takes.
    pub need: u64,
    /// Every Tx descriptor contributes to every Rx descriptor. In a plain copy one contributes
    /// to those that its bytes reach.
    pub whole: bool,
}

/// A fetched descriptor of a packet.
#[derive(Debug, Clone, Copy, Hash)]
struct Part {
    /// Which of its direction, counted from the run's start.
    k: u64,
    slot: u64,
    ptr: u64,
    len: u64,
    /// Where its bytes end in the packet's stream.
    end: u64,
    /// DMB of Tx, SOW of Rx.
    ordered: bool,
    done: bool,
}

#[derive(Debug, Clone, Default, Hash)]
struct Packet {
    tx: Vec<Part>,
    rx: Vec<Part>,
    stream: Option<Stream>,
    write_barrier: bool,
}

/// What earlier packets demand of all reads, and of all writes, that come later: writes below
/// this count come before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Floor {
    read: u64,
    write: u64,
}

/// Bytes of a padding self-copy.
const PADDING_BYTES: u64 = 4;

impl Packet {
    fn rx_is_full(&self) -> bool {
        let end = self.rx.last().map_or(0, |x| x.end);
        self.stream.is_some_and(|s| end >= s.need)
    }

    /// Whether it moves four bytes onto themselves (MODEL: only padding does).
    fn is_padding(&self) -> bool {
        match (self.tx.as_slice(), self.rx.as_slice()) {
            ([tx], [rx]) => {
                let four = tx.len == PADDING_BYTES && rx.len == PADDING_BYTES;
                four && tx.ptr == rx.ptr && self.stream.is_some_and(|s| !s.whole)
            }
            _ => false,
        }
    }

    /// Where its writes begin and end; nothing where none is fetched.
    fn writes(&self) -> Option<(u64, u64)> {
        Some((self.rx.first()?.k, self.rx.last()?.k + 1))
    }

    fn has_dmb(&self, upto: usize) -> bool {
        self.tx.iter().take(upto).any(|x| x.ordered)
    }

    /// What holds after it, where `floor` held before.
    fn after(&self, mut floor: Floor, r: Readings) -> Floor {
        let Some((first, end)) = self.writes() else { return floor };
        if self.has_dmb(self.tx.len()) {
            floor.read = floor.read.max(first);
            if r.dmb == DmbReading::Full {
                floor.read = floor.read.max(end);
                floor.write = floor.write.max(end);
            }
        }
        if self.write_barrier {
            floor.write = floor.write.max(end);
        }
        if r.sow == SowReading::Through
            && let Some(x) = self.rx.iter().rfind(|x| x.ordered)
        {
            floor.write = floor.write.max(x.k + 1);
        }
        floor
    }
}

/// An event of a queue, with what must have happened in the queue before it. The event itself
/// counts in its own chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Which descriptor of its direction, counted from the run's start.
    pub k: u64,
    /// What lies before it.
    pub past: QueuePast,
    /// It belongs to a padding self-copy: no access.
    pub padding: bool,
    /// All of it has happened.
    pub met: bool,
}

/// One queue's descriptors in flight and the barriers behind them.
#[derive(Debug, Clone, Default, Hash)]
pub struct QueueOrder {
    fetched: [u64; 2],
    packets: VecDeque<Packet>,
    /// Rx descriptors whose packet is not known yet.
    ahead: VecDeque<Part>,
    floor: Floor,
    retired: QueuePast,
}

fn ix(dir: Dir) -> usize {
    usize::from(dir == Dir::Rx)
}

impl QueueOrder {
    /// Descriptors of a direction fetched so far.
    pub fn fetched(&self, dir: Dir) -> u64 {
        self.fetched[ix(dir)]
    }

    /// The packets that are retired, and all that comes before them.
    pub fn retired(&self) -> QueuePast {
        self.retired
    }

    /// The next descriptor of a direction was fetched. `stream` is given with the one that ends
    /// a packet's Tx side.
    pub fn fetch(&mut self, dir: Dir, slot: u64, desc: Desc, stream: Option<Stream>) -> Needs {
        let k = self.fetched[ix(dir)];
        self.fetched[ix(dir)] += 1;
        let data = dir == Dir::Rx || !desc.is_meta();
        let len = if data { desc.length() } else { 0 };
        let ordered = match dir {
            Dir::Tx => data && desc.flag(View::Tx, "dmb"),
            Dir::Rx => desc.flag(View::Rx, "strong_order"),
        };
        let part = Part { k, slot, ptr: desc.ptr, len, end: 0, ordered, done: false };
        match dir {
            Dir::Rx => self.ahead.push_back(part),
            Dir::Tx => {
                if self.packets.back().is_none_or(|p| p.stream.is_some()) {
                    self.packets.push_back(Packet::default());
                }
                if let Some(p) = self.packets.back_mut() {
                    let end = p.tx.last().map_or(0, |x| x.end).saturating_add(len);
                    p.tx.push(Part { end, ..part });
                    p.write_barrier |= data && desc.flag(View::Tx, "write_barrier");
                    p.stream = stream;
                }
            }
        }
        self.assign();
        let mut past = QueuePast::default();
        past.fetched[ix(dir)] = k + 1;
        Needs { k, past, padding: false, met: true }
    }

    /// Rx descriptors fill the packets in order.
    fn assign(&mut self) {
        while let Some(x) = self.ahead.front().copied() {
            let open = self.packets.iter_mut().find(|p| !p.rx_is_full());
            let Some(p) = open.filter(|p| p.stream.is_some()) else { return };
            let end = p.rx.last().map_or(0, |x| x.end).saturating_add(x.len);
            p.rx.push(Part { end, ..x });
            self.ahead.pop_front();
        }
    }

    /// What holds before packet `n` in flight.
    fn floor(&self, n: usize, r: Readings) -> Floor {
        self.packets.iter().take(n).fold(self.floor, |f, p| p.after(f, r))
    }

    /// The writes that come before the read of Tx part `i` of packet `n`.
    fn before_read(&self, n: usize, i: usize, floor: Floor) -> u64 {
        let p = &self.packets[n];
        match p.writes() {
            Some((first, _)) if p.has_dmb(i + 1) => floor.read.max(first),
            _ => floor.read,
        }
    }

    /// The oldest descriptor in flight in `slot` that is not done: packet and part.
    fn find(&self, dir: Dir, slot: u64) -> Option<(usize, usize)> {
        let parts = |p: &Packet| match dir {
            Dir::Tx => p.tx.iter().position(|x| !x.done && x.slot == slot),
            Dir::Rx => p.rx.iter().position(|x| !x.done && x.slot == slot),
        };
        self.packets.iter().enumerate().find_map(|(n, p)| Some((n, parts(p)?)))
    }

    /// Whether all writes below `upto` are done.
    fn visible(&self, upto: u64) -> bool {
        let rx = self.packets.iter().flat_map(|p| &p.rx).chain(&self.ahead);
        rx.take_while(|x| x.k < upto).all(|x| x.done)
    }

    /// The bytes of the Tx descriptor in `slot` are read; `None` where none is in flight there.
    pub fn read(&mut self, slot: u64, r: Readings) -> Option<Needs> {
        let at = self.find(Dir::Tx, slot)?;
        let needs = self.read_needs(at, r);
        self.packets[at.0].tx[at.1].done = true;
        Some(needs)
    }

    /// What [`QueueOrder::read`] would answer.
    pub fn may_read(&self, slot: u64, r: Readings) -> Option<Needs> {
        Some(self.read_needs(self.find(Dir::Tx, slot)?, r))
    }

    fn read_needs(&self, (n, i): (usize, usize), r: Readings) -> Needs {
        let visible = self.before_read(n, i, self.floor(n, r));
        let x = self.packets[n].tx[i];
        let chain = i == 0 || self.packets[n].tx[i - 1].done;
        let met = chain && self.visible(visible);
        let k = x.k;
        // A write that comes before brings the fetch of its own descriptor with it.
        let past = QueuePast { fetched: [k + 1, visible], read: k + 1, visible };
        Needs { k, past, padding: self.packets[n].is_padding(), met }
    }

    /// The bytes of the Rx descriptor in `slot` become visible; `None` where none is in flight
    /// there.
    pub fn write(&mut self, slot: u64, r: Readings) -> Option<Needs> {
        let at = self.find(Dir::Rx, slot)?;
        let needs = self.write_needs(at, r);
        self.packets[at.0].rx[at.1].done = true;
        Some(needs)
    }

    /// What [`QueueOrder::write`] would answer.
    pub fn may_write(&self, slot: u64, r: Readings) -> Option<Needs> {
        Some(self.write_needs(self.find(Dir::Rx, slot)?, r))
    }

    fn write_needs(&self, (n, j): (usize, usize), r: Readings) -> Needs {
        let floor = self.floor(n, r);
        let p = &self.packets[n];
        let x = p.rx[j];
        let whole = p.stream.is_none_or(|s| s.whole);
        let reached = p.tx.iter().position(|t| !whole && t.end >= x.end);
        let last = reached.or(p.tx.len().checked_sub(1));
        let mut visible = floor.write;
        let mut read = 0;
        if let Some(last) = last {
            visible = visible.max(self.before_read(n, last, floor));
            read = p.tx[last].k + 1;
        }
        if x.ordered {
            visible = x.k;
        }
        if r.sow == SowReading::Through
            && let Some(before) = p.rx[..j].iter().rfind(|x| x.ordered)
        {
            visible = visible.max(before.k + 1);
        }
        let met = last.is_none_or(|i| p.tx[i].done) && self.visible(visible);
        let padding = p.is_padding();
        let past = QueuePast { fetched: [read, x.k + 1], read, visible };
        Needs { k: x.k, past, padding, met }
    }

    /// The oldest packet is retired.
    pub fn retire(&mut self, r: Readings) {
        let Some(p) = self.packets.pop_front() else { return };
        self.floor = p.after(self.floor, r);
        let next = |list: &[Part]| list.last().map_or(0, |x| x.k + 1);
        let (tx, rx) = (next(&p.tx), next(&p.rx));
        self.retired.join(QueuePast { fetched: [tx, rx], read: tx, visible: rx });
    }

    /// The queue is reset: what is in flight will not go on.
    pub fn reset(&mut self, r: Readings) {
        for p in std::mem::take(&mut self.packets) {
            self.floor = p.after(self.floor, r);
        }
        self.ahead.clear();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    const STRICT: Readings = Readings::STRICT;

    fn desc(len: u32, len_ctrl: u32, word1: u32) -> Desc {
        Desc { len_ctrl: len | len_ctrl, word1, ptr: 0x1000 }
    }

    /// A packet of `tx` and `rx` lengths.
    fn packet(q: &mut QueueOrder, tx: &[u32], rx: &[u32], whole: bool) {
        let need = rx.iter().map(|x| u64::from(*x)).sum();
        let first = [Dir::Tx, Dir::Rx].map(|d| q.fetched(d));
        for (i, len) in tx.iter().enumerate() {
            let stream = (i + 1 == tx.len()).then_some(Stream { need, whole });
            q.fetch(Dir::Tx, first[0] + i as u64, desc(*len, 0, 0), stream);
        }
        for (j, len) in rx.iter().enumerate() {
            q.fetch(Dir::Rx, first[1] + j as u64, desc(*len, 0, 0), None);
        }
    }

    #[test]
    fn a_write_needs_the_reads_that_contribute() {
        let mut q = QueueOrder::default();
        packet(&mut q, &[8, 8, 8], &[4, 12, 8], false);
        let needs: Vec<_> = (0..3).map(|s| q.write(s, STRICT).unwrap().past.read).collect();
        assert_eq!(needs, [1, 2, 3]);
        let mut q = QueueOrder::default();
        packet(&mut q, &[8, 8], &[8, 8, 8, 8], true);
        assert!((0..4).all(|s| q.write(s, STRICT).unwrap().past.read == 2));
    }

    #[test]
    fn an_event_before_what_it_needs_is_told() {
        let mut q = QueueOrder::default();
        packet(&mut q, &[8, 8], &[16], false);
        assert!(!q.read(1, STRICT).unwrap().met);
        let mut q = QueueOrder::default();
        packet(&mut q, &[8], &[8], false);
        assert!(!q.write(0, STRICT).unwrap().met);
        let mut q = QueueOrder::default();
        packet(&mut q, &[8], &[8], false);
        assert!(q.read(0, STRICT).unwrap().met);
        assert!(q.write(0, STRICT).unwrap().met);
    }

    #[test]
    fn descriptors_fetched_ahead_fall_into_their_packets() {
        let mut q = QueueOrder::default();
        for k in 0..3 {
            q.fetch(Dir::Rx, k, desc(8, 0, 0), None);
        }
        for k in 0..3 {
            let wb = if k == 0 { 1 << 26 } else { 0 };
            let stream = Some(Stream { need: 8, whole: false });
            q.fetch(Dir::Tx, k, desc(8, 0, wb), stream);
        }
        assert_eq!(q.packets.len(), 3);
        let needs = q.write(2, STRICT).unwrap();
        assert_eq!((needs.past.visible, needs.past.read, needs.met), (1, 3, false));
    }
}
