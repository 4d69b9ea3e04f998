//! The packets of a batch: whether the engine takes them without a fault, what they move, and
//! whether the completion pair comes after all of it.

use super::bytes::{Access, Bytes, Known, Mark, Unsure};
use crate::engine::module_run::Batch;
use crate::engine::order::{DmbReading, Readings, SowReading};
use crate::engine::program::Program;
use crate::engine::ring::device::{self, Packet, Work as Does};
use crate::engine::ring::memory::Content;
use crate::engine::ring::queue::Held;
use crate::udma::field::{Field, find};
use crate::udma::profile::MAX_PACKET_BYTES;
use crate::udma::{Desc, View};

/// Bytes of a marker word.
pub(super) const WORD: u64 = 4;

/// The fields of barriers, and what they mean.
pub(super) struct Rules {
    readings: Readings,
    dmb: &'static Field,
    write_barrier: &'static Field,
    strong_order: &'static Field,
    /// Tx descriptors that a packet may have.
    limit: u64,
    /// Words that make a packet a plain copy, as far as they were asked for.
    copies: Vec<(u32, bool)>,
}

impl Rules {
    pub fn new(p: &Program, readings: Readings) -> Result<Rules, Unsure> {
        let field = |view, name| find(view, name).ok_or(Unsure);
        Ok(Rules {
            readings,
            dmb: field(View::Tx, "dmb")?,
            write_barrier: field(View::Tx, "write_barrier")?,
            strong_order: field(View::Rx, "strong_order")?,
            limit: p.profile.enforced_packet_limits(p.arch).0,
            copies: Vec::new(),
        })
    }

    /// Whether the packet of one data descriptor with this word is a plain copy.
    fn copies(&mut self, desc: Desc) -> bool {
        if let Some((_, yes)) = self.copies.iter().find(|c| c.0 == desc.word1) {
            return *yes;
        }
        let mut packet = Packet { tx_bytes: 1, ..Packet::default() };
        packet.tx.push_back(Held { k: 0, desc });
        let yes = device::judge(&packet).0 == Does::Copy;
        if self.copies.len() < 64 {
            self.copies.push((desc.word1, yes));
        }
        yes
    }
}

/// Rx descriptors of a batch before which no later read, and no later write, may come.
#[derive(Clone, Copy, Default)]
pub(super) struct Floor {
    read: u32,
    write: u32,
}

/// The packets of a batch, as a queue does them: one whole after the other.
pub(super) struct Packets<'a> {
    pub rules: &'a mut Rules,
    /// What it moves lies here.
    pub bytes: &'a mut Bytes,
    /// Room for bytes on their way.
    pub stream: &'a mut Vec<u8>,
    /// The batch, and what comes before it.
    pub mark: Mark,
    pub known: &'a Known,
    /// First word of its marker.
    pub marker: u64,
    /// What the packets before demand of those behind.
    pub floor: Floor,
    /// Rx descriptors of the packets before.
    pub written: u32,
}

impl Packets<'_> {
    /// Does all of them; the last is the completion pair.
    pub fn all(&mut self, batch: &Batch) -> Result<(), Unsure> {
        let (mut tx, mut rx) = (&batch.tx[..], &batch.rx[..]);
        while !tx.is_empty() {
            let (sends, later) = tx.split_at(self.tx_side(tx)?);
            let data = sends.iter().find(|d| !d.is_meta()).copied().ok_or(Unsure)?;
            let tx_bytes: u64 = sends.iter().filter(|d| !d.is_meta()).map(|d| d.length()).sum();
            let work = if self.rules.copies(data) {
                None
            } else {
                let mut packet = Packet { tx_bytes, ..Packet::default() };
                packet.tx = (0..).zip(sends).map(|(k, d)| Held { k, desc: *d }).collect();
                Some(device::judge(&packet))
            };
            let need = work.as_ref().map_or(tx_bytes, |w| w.1);
            let mut taken = 0;
            let mut count = 0;
            while taken < need {
                taken += rx.get(count).ok_or(Unsure)?.length();
                count += 1;
            }
            let (takes, rest) = rx.split_at(count);
            if taken != need || device::rx_flags(takes.len(), |n| takes[n]).is_some() {
                return Err(Unsure);
            }
            if later.is_empty() {
                // The completion pair: it comes after all that the batch writes and reads.
                if !rest.is_empty() || work.is_some() {
                    return Err(Unsure);
                }
                return self.marker(sends, takes);
            }
            match work {
                None | Some((Does::Replicate(1), _)) => self.copy(sends, takes)?,
                Some((Does::Copy, _)) => return Err(Unsure),
                Some((does, _)) => self.compute(&does, sends, takes)?,
            }
            self.after(sends, takes);
            (tx, rx) = (later, rest);
        }
        Err(Unsure)
    }

    /// How many Tx descriptors the next packet has.
    fn tx_side(&self, tx: &[Desc]) -> Result<usize, Unsure> {
        let (mut bytes, mut opens) = (0, true);
        for (n, d) in tx.iter().enumerate() {
            if n as u64 >= self.rules.limit {
                return Err(Unsure);
            }
            if d.is_meta() {
                continue;
            }
            bytes += d.length();
            if d.first() != opens || d.last() == d.concat() || bytes > MAX_PACKET_BYTES {
                return Err(Unsure);
            }
            opens = false;
            if d.last() || !d.concat() {
                return Ok(n + 1);
            }
        }
        Err(Unsure)
    }

    fn has_dmb(&self, d: &Desc) -> bool {
        !d.is_meta() && d.get(self.rules.dmb) != 0
    }

    /// Writes of the batch that come before the read of the last of these Tx descriptors.
    fn before_read(&self, tx: &[Desc]) -> u32 {
        let entry = tx.iter().any(|d| self.has_dmb(d));
        if entry { self.floor.read.max(self.written) } else { self.floor.read }
    }

    /// What holds after a packet (`docs/order.md`, "Rules").
    fn after(&mut self, tx: &[Desc], rx: &[Desc]) {
        let (first, end) = (self.written, self.written + rx.len() as u32);
        let Readings { dmb, sow } = self.rules.readings;
        let floor = &mut self.floor;
        self.written = end;
        if rx.is_empty() {
            return;
        }
        if tx.iter().any(|d| !d.is_meta() && d.get(self.rules.dmb) != 0) {
            floor.read = floor.read.max(first);
            if dmb == DmbReading::Full {
                (floor.read, floor.write) = (floor.read.max(end), floor.write.max(end));
            }
        }
        if tx.iter().any(|d| !d.is_meta() && d.get(self.rules.write_barrier) != 0) {
            floor.write = floor.write.max(end);
        }
        let strong = rx.iter().rposition(|d| d.get(self.rules.strong_order) != 0);
        if let Some(n) = strong.filter(|_| sow == SowReading::Through) {
            floor.write = floor.write.max(first + n as u32 + 1);
        }
    }

    fn read(&mut self, d: &Desc, rank: u32) -> Result<(), Unsure> {
        let access = Access { mark: self.mark, known: self.known, rank };
        self.bytes.read_by(d.ptr, d.length(), &access, self.stream)
    }

    /// Bytes are written as soon as they are there, sources read as soon as they are needed.
    fn copy(&mut self, tx: &[Desc], rx: &[Desc]) -> Result<(), Unsure> {
        self.stream.clear();
        let (mut at, mut n) = (0, 0);
        for (j, d) in (0u32..).zip(rx) {
            let len = d.length() as usize;
            while self.stream.len() - at < len {
                let source = tx.get(n).ok_or(Unsure)?;
                n += 1;
                if !source.is_meta() {
                    self.read(source, self.before_read(&tx[..n]))?;
                }
            }
            let rank = self.written + j;
            let access = Access { mark: self.mark, known: self.known, rank };
            self.bytes.write_by(d.ptr, &self.stream[at..at + len], &access)?;
            at += len;
        }
        Ok(())
    }

    /// All is read before anything is written.
    fn compute(&mut self, does: &Does, tx: &[Desc], rx: &[Desc]) -> Result<(), Unsure> {
        self.stream.clear();
        for (n, d) in tx.iter().enumerate().filter(|(_, d)| !d.is_meta()) {
            self.read(d, self.before_read(&tx[..=n]))?;
        }
        let out = match does {
            Does::Compute(payload) => {
                let stream = Content::of(std::mem::take(self.stream), None);
                match device::compute(payload, &stream).flatten() {
                    (bytes, None) => bytes,
                    _ => return Err(Unsure),
                }
            }
            Does::Replicate(times) => self.stream.repeat(*times as usize),
            Does::Copy | Does::Refused(_) => return Err(Unsure),
        };
        let mut at = 0;
        for (j, d) in (0u32..).zip(rx) {
            let end = at + d.length() as usize;
            let rank = self.written + j;
            let access = Access { mark: self.mark, known: self.known, rank };
            self.bytes.write_by(d.ptr, out.get(at..end).ok_or(Unsure)?, &access)?;
            at = end;
        }
        Ok(())
    }

    /// Whether who sees the marker knows that all of the batch is done.
    fn marker(&mut self, tx: &[Desc], rx: &[Desc]) -> Result<(), Unsure> {
        let ([sends], [takes]) = (tx, rx) else { return Err(Unsure) };
        let pair = (sends.ptr, sends.length()) == (self.marker, WORD)
            && (takes.ptr, takes.length()) == (self.marker.wrapping_add(WORD), WORD);
        let strong = takes.get(self.rules.strong_order) != 0;
        let before = self.floor.write.max(self.before_read(tx));
        if pair && (strong || before >= self.written) { Ok(()) } else { Err(Unsure) }
    }
}
