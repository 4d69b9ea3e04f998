//! What is done to a virtual ring before it is dumped.

use super::super::interval::Intervals;
use super::super::{DMB, WRITE_BARRIER};
use super::{CONCAT, FIRST, LAST, Target, Vring, VringError};
use crate::udma::template::Template;
use crate::udma::{Barrier, Desc, Dir, class};
use std::ops::Range;

/// A packet that is being put together.
#[derive(Default)]
struct Open {
    tx: u64,
    rx: u64,
    bytes: u64,
    written: Intervals,
    /// Nothing may join it.
    closed: bool,
}

impl Vring {
    /// Packs the Tx descriptors of a window: copies that follow each other become one packet as
    /// long as it keeps the byte cap and the target's descriptors per packet on both sides.
    /// Only FIRST, CONCAT and LAST of Tx descriptors change. Answers by how many packets there
    /// are more (fewer: below zero).
    ///
    /// MODEL: a packet ends with a descriptor that carries a barrier, whose effect begins with
    /// the next packet; none reads what it writes itself; packets that compute stay alone.
    ///
    /// # Errors
    /// The window does not begin and end where packets and pairs do.
    pub fn pack(&mut self, window: Range<u64>, target: &Target) -> Result<i64, VringError> {
        let bad = VringError::Window { from: window.start, to: window.end };
        let units = self.units(&window).ok_or(bad)?;
        let tx = self.half(Dir::Tx);
        // A packet that reaches over an edge of the window would lose a part of itself.
        let begins = |at: u64| {
            let mut data = (at..tx.len()).filter_map(|i| tx.get(i)).filter(|d| !d.is_meta());
            data.next().is_none_or(Desc::first)
        };
        if !begins(window.start) || !begins(window.end) {
            return Err(bad);
        }
        let before = self.count_first(&window);
        let limits = target.limits();
        let mut open: Option<Open> = None;
        for (tx, rx) in units {
            let unit = self.unit(&tx, &rx);
            let joins = open.as_ref().is_some_and(|o| {
                unit.joinable
                    && !o.closed
                    && o.tx + (tx.end - tx.start) <= limits.tx as u64
                    && o.rx + (rx.end - rx.start) <= limits.rx as u64
                    && o.bytes + unit.bytes <= limits.bytes
                    && !unit.reads.iter().any(|(at, len)| o.written.hits(*at, *len))
            });
            if joins {
                self.chain(tx.start);
            } else {
                self.split(&tx);
                open = Some(Open::default());
            }
            let o = open.get_or_insert_default();
            o.tx += tx.end - tx.start;
            o.rx += rx.end - rx.start;
            o.bytes += unit.bytes;
            o.closed = !unit.joinable || unit.barrier;
            for (at, len) in unit.writes {
                o.written.add(at, len);
            }
        }
        Ok(self.count_first(&window) as i64 - before as i64)
    }

    /// The stretches of Tx and Rx that were appended together and make up a window.
    fn units(&self, window: &Range<u64>) -> Option<Vec<(Range<u64>, Range<u64>)>> {
        if window.start > window.end {
            return None;
        }
        let from = self.ends.partition_point(|e| u64::from(e.0) <= window.start);
        let to = self.ends.partition_point(|e| u64::from(e.0) <= window.end);
        let before = |i: usize| i.checked_sub(1).map_or((0, 0), |i| self.ends[i]);
        if u64::from(before(from).0) != window.start || u64::from(before(to).0) != window.end {
            return None;
        }
        let unit = |i: usize| {
            let (a, b) = (before(i), self.ends[i]);
            (u64::from(a.0)..u64::from(b.0), u64::from(a.1)..u64::from(b.1))
        };
        Some((from..to).map(unit).collect())
    }

    fn unit(&self, tx: &Range<u64>, rx: &Range<u64>) -> Unit {
        let (t, r) = (self.half(Dir::Tx), self.half(Dir::Rx));
        let mut unit = Unit { joinable: true, ..Unit::default() };
        for d in tx.clone().filter_map(|i| t.get(i)) {
            if d.is_meta() || !class::is_copy(d.word1) {
                unit.joinable = false;
            }
            if !d.is_meta() {
                unit.reads.push((d.ptr, d.length()));
                unit.bytes += d.length();
                unit.barrier |= d.len_ctrl & DMB != 0 || d.word1 & WRITE_BARRIER != 0;
            }
        }
        unit.writes.extend(rx.clone().filter_map(|i| r.get(i)).map(|d| (d.ptr, d.length())));
        unit
    }

    /// Makes the Tx descriptors of a unit a packet of their own.
    fn split(&mut self, tx: &Range<u64>) {
        let half = self.half_mut(Dir::Tx);
        let mut last = None;
        let mut first = FIRST;
        for i in tx.clone() {
            if let Some(d) = half.get_mut(i).filter(|d| !d.is_meta()) {
                d.len_ctrl = d.len_ctrl & !(FIRST | LAST | CONCAT) | CONCAT | first;
                first = 0;
                last = Some(i);
            }
        }
        if let Some(d) = last.and_then(|i| half.get_mut(i)) {
            d.len_ctrl = d.len_ctrl & !CONCAT | LAST;
        }
    }

    /// Joins the packet that begins at a Tx descriptor to the one before it.
    fn chain(&mut self, at: u64) {
        let half = self.half_mut(Dir::Tx);
        // A unit that joins holds no META, and neither does the one before it.
        if let Some(d) = at.checked_sub(1).and_then(|i| half.get_mut(i)) {
            d.len_ctrl = d.len_ctrl & !LAST | CONCAT;
        }
        // The joined unit's own end becomes the packet's.
        let end = self.ends.partition_point(|e| u64::from(e.0) <= at);
        let end = self.ends.get(end).map_or(at + 1, |e| u64::from(e.0));
        self.flag_chain(at, end);
    }

    /// Flags of the second and later parts of a packet.
    fn flag_chain(&mut self, from: u64, end: u64) {
        let half = self.half_mut(Dir::Tx);
        for i in from..end {
            if let Some(d) = half.get_mut(i) {
                let flag = if i + 1 == end { LAST } else { CONCAT };
                d.len_ctrl = d.len_ctrl & !(FIRST | LAST | CONCAT) | flag;
            }
        }
    }

    fn count_first(&self, window: &Range<u64>) -> u64 {
        let tx = self.half(Dir::Tx);
        let data = window.clone().filter_map(|i| tx.get(i)).filter(|d| !d.is_meta());
        data.filter(|d| d.first()).count() as u64
    }

    /// Puts DMB on the first data descriptor of the last packet. Where the target takes SOW
    /// nothing is done: its copies carry that.
    ///
    /// # Errors
    /// There is no packet.
    pub fn barrier_last_packet(&mut self, target: &Target) -> Result<(), VringError> {
        if target.profile.accepts(Barrier::StrongOrderWrite, target.arch) {
            return Ok(());
        }
        let half = self.half_mut(Dir::Tx);
        for i in (0..half.len()).rev() {
            if let Some(d) = half.get_mut(i).filter(|d| !d.is_meta() && d.first()) {
                d.len_ctrl |= DMB;
                return Ok(());
            }
        }
        Err(VringError::NoPacket)
    }

    /// Embeds a semaphore into the last Rx descriptor. MODEL: where the hardware keeps it is
    /// not public; here it is the low half of the semaphore's register address in
    /// `buf2_ptr_lo`, which is zero otherwise. It is shown, not executed.
    ///
    /// # Errors
    /// There is no packet.
    pub fn embed_semaphore(&mut self, register: u64) -> Result<(), VringError> {
        let half = self.half_mut(Dir::Rx);
        let last = half.len().checked_sub(1).ok_or(VringError::NoPacket)?;
        let d = half.get_mut(last).ok_or(VringError::NoPacket)?;
        d.word1 = register as u32;
        Ok(())
    }

    /// Moves Tx addresses in `[base, base + size]`, the end included, by `new_base - base`;
    /// symbolic ones stay. Answers how many were moved.
    pub fn rewrite(&mut self, base: u64, size: u64, new_base: u64) -> u64 {
        let mut moved = 0;
        for d in self.half_mut(Dir::Tx).pages.iter_mut().flatten() {
            let inside = d.ptr >= base && d.ptr - base <= size;
            if !d.is_meta() && Template::parse(d.ptr).is_none() && inside {
                d.ptr = d.ptr.wrapping_sub(base).wrapping_add(new_base);
                moved += 1;
            }
        }
        moved
    }

    /// Replaces symbolic addresses of both directions by what `variable` says their variable's
    /// address is. Answers how many there were.
    ///
    /// # Errors
    /// A variable is not known; the ring is left as it was.
    pub fn resolve(&mut self, variable: impl Fn(u32) -> Option<u64>) -> Result<u64, VringError> {
        let symbolic = |dir: Dir, d: &Desc| {
            let meta = dir == Dir::Tx && d.is_meta();
            Template::parse(d.ptr).filter(|_| !meta)
        };
        for dir in Dir::BOTH {
            for t in self.half(dir).iter().filter_map(|d| symbolic(dir, &d)) {
                variable(t.var).ok_or(VringError::Variable(t.var))?;
            }
        }
        let mut count = 0;
        for dir in Dir::BOTH {
            for d in self.half_mut(dir).pages.iter_mut().flatten() {
                if let Some(t) = symbolic(dir, d)
                    && let Some(addr) = variable(t.var)
                {
                    d.ptr = addr.wrapping_add(t.offset);
                    count += 1;
                }
            }
        }
        Ok(count)
    }
}

/// What was appended together.
#[derive(Default)]
struct Unit {
    /// Only plain copies.
    joinable: bool,
    barrier: bool,
    bytes: u64,
    reads: Vec<(u64, u64)>,
    writes: Vec<(u64, u64)>,
}
