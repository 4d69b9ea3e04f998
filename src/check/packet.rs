//! Packets: the Tx stream cut into packets by FIRST, CONCAT and LAST, and the flaws in that.
//!
//! The table: a single descriptor has FIRST and LAST; a chain FIRST with CONCAT, then CONCAT,
//! then LAST. META descriptors are transparent to it, but count in the packet's descriptors.

use super::survey::Chunk;
use super::view::Slots;
use crate::bir::Dtype;
use crate::engine::ring::device::rx_bytes;
use crate::udma::class::{self, Family, dtype_bytes};
use crate::udma::payload::{self, Payload};
use crate::udma::{Desc, Dir};

/// What is wrong with the flags of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// No packet is open and FIRST is missing.
    NotFirst,
    /// FIRST inside an open packet.
    FirstInside,
    /// Both of LAST and CONCAT, or neither: the packet neither ends nor goes on.
    Last,
    /// The slots end inside a packet.
    Open,
    /// META descriptors that no data descriptor follows.
    MetaAlone,
}

impl Flaw {
    /// What it is, in words; `dir` decides which cause the engine would raise.
    pub fn words(self, dir: Dir) -> String {
        let (first, last) = match dir {
            Dir::Tx => ("M2S PREFETCH_FIRST", "M2S PREFETCH_LAST"),
            Dir::Rx => ("S2M STRM_FIRST", "S2M STRM_LAST"),
        };
        match self {
            Flaw::NotFirst => format!("a packet begins here without FIRST ({first})"),
            Flaw::FirstInside => format!("FIRST inside an open packet ({first})"),
            Flaw::Last => {
                format!(
                    "needs exactly one of LAST (the packet ends) and CONCAT (it goes on) ({last})"
                )
            }
            Flaw::Open => format!("the packet that begins here has no LAST ({last})"),
            Flaw::MetaAlone => format!("META descriptors without a data descriptor ({last})"),
        }
    }
}

/// One packet of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Packet {
    /// Its first slot.
    pub first: u64,
    /// Its last data descriptor.
    pub data: Desc,
    /// Descriptors, META ones included.
    pub descs: u64,
    /// META descriptors.
    pub metas: u64,
    /// Bytes of its data descriptors.
    pub bytes: u64,
    /// The first of its META descriptors, as many as a packet can have sources.
    params: Vec<Desc>,
    /// Bytes that reach the Rx side if nothing computes on them.
    moved: u64,
    /// A compute descriptor of the packet.
    compute: Option<u32>,
    /// Whether every class in it is known.
    known: bool,
    /// Whether its beginning was lost where the ring was cut.
    pub cut: bool,
}

impl Packet {
    fn open(first: u64) -> Packet {
        Packet { first, known: true, ..Packet::default() }
    }

    fn add(&mut self, desc: Desc) {
        self.descs += 1;
        if desc.is_meta() {
            self.metas += 1;
            if self.params.len() <= payload::MAX_SOURCES {
                self.params.push(desc);
            }
            return;
        }
        self.data = desc;
        let length = desc.length();
        self.bytes += length;
        let readings = class::readings(desc.word1);
        match readings.first() {
            None => self.known = false,
            Some(c) if c.family == Family::Cce => self.compute = Some(desc.word1),
            Some(c) => {
                let times = c
                    .fields
                    .iter()
                    .find(|f| f.name == "replication")
                    .map_or(1, |f| f.get(u64::from(desc.word1)));
                self.moved = self.moved.saturating_add(length.saturating_mul(times));
                return;
            }
        }
        self.moved = self.moved.saturating_add(length);
    }

    /// The numbers of bytes that may arrive on the Rx side, any of which is right; `None`
    /// where that cannot be known.
    ///
    /// MODEL: copy, transpose and split keep the length; replicate multiplies it. Where META
    /// words are the model's own they say how many bytes come out; otherwise a compute packet
    /// brings as many sources as it has META descriptors, and a cast counts elements.
    /// Which nibbles of a compute word are source and destination types is inferred, so every
    /// pair of them is allowed.
    pub fn arrivals(&self) -> Option<Vec<u64>> {
        let Some(word) = self.compute else {
            return self.known.then(|| vec![self.moved]);
        };
        if self.metas == 0 || self.cut {
            return None;
        }
        if let Ok(payload) = payload::read(&self.params, word) {
            return Some(rx_bytes(&payload, self.bytes).into_iter().collect());
        }
        if !self.bytes.is_multiple_of(self.metas) {
            return Some(Vec::new());
        }
        let one = self.bytes / self.metas;
        let sizes: Vec<u64> = class::readings(word)
            .iter()
            .flat_map(|c| c.fields)
            .filter(|f| f.name.contains("dtype") && f.width == 4)
            .filter_map(|f| dtype_bytes(f.get(u64::from(word))))
            .collect();
        let mut out = vec![one];
        for &from in &sizes {
            for &to in &sizes {
                if one.is_multiple_of(from) {
                    out.push(one / from * to);
                }
            }
        }
        out.sort_unstable();
        out.dedup();
        Some(out)
    }

    /// Elements that a sum, a maximum or a minimum of this packet comes to; nothing where its
    /// META words do not say it.
    pub fn elements(&self) -> Option<u64> {
        let payload = payload::read(&self.params, self.compute.filter(|_| !self.cut)?).ok()?;
        let Payload::Sum { to, .. } = &payload else { return None };
        let size = Dtype::by_number((*to).into())?.bytes();
        rx_bytes(&payload, self.bytes).ok()?.checked_div(size)
    }

    /// What arrives if lengths are kept; for lining two cut rings up.
    pub fn moved(&self) -> u64 {
        self.moved
    }
}

/// Cuts a stream of used slots into packets.
#[derive(Debug)]
pub struct Packetizer {
    dir: Dir,
    /// META descriptors that stand before a packet, and the open packet.
    open: Option<Packet>,
    /// Whether a data descriptor of the open packet was seen.
    inside: bool,
    /// The ring was cut: a beginning without FIRST is no flaw.
    cut: bool,
}

impl Packetizer {
    /// A fresh one; `cut` where the oldest packet may have lost its beginning.
    pub fn new(dir: Dir, cut: bool) -> Packetizer {
        Packetizer { dir, open: None, inside: false, cut }
    }

    /// Whether a packet is open.
    pub fn is_inside(&self) -> bool {
        self.inside
    }

    /// Whether anything is open, META descriptors included.
    pub fn is_open(&self) -> bool {
        self.inside || self.open.is_some()
    }

    /// Takes packets of one descriptor each that are as they should be; nothing is open.
    pub fn pass(&mut self) {
        self.cut = false;
    }

    /// Takes the next used slot; answers the packet that it ends. Flaws are given to `flaw`.
    pub fn push(
        &mut self,
        index: u64,
        desc: Desc,
        mut flaw: impl FnMut(u64, Flaw),
    ) -> Option<Packet> {
        if self.dir == Dir::Tx && desc.is_meta() {
            self.open.get_or_insert_with(|| Packet::open(index)).add(desc);
            return None;
        }
        let mut broken = None;
        match (self.inside, desc.first()) {
            (false, false) if self.cut => {
                self.open.get_or_insert_with(|| Packet::open(index)).cut = true;
            }
            (false, false) => flaw(index, Flaw::NotFirst),
            (true, true) => {
                flaw(index, Flaw::FirstInside);
                broken = self.open.take();
            }
            _ => {}
        }
        self.cut = false;
        if desc.last() == desc.concat() {
            flaw(index, Flaw::Last);
        }
        self.open.get_or_insert_with(|| Packet::open(index)).add(desc);
        // A descriptor that says neither, or both, is taken to end its packet.
        self.inside = desc.concat() && !desc.last();
        if self.inside { broken } else { self.open.take() }
    }

    /// The end of the slots: what is still open.
    pub fn finish(&mut self, mut flaw: impl FnMut(u64, Flaw)) -> Option<Packet> {
        let open = self.open.take()?;
        flaw(open.first, if self.inside { Flaw::Open } else { Flaw::MetaAlone });
        self.inside.then_some(open)
    }
}

/// The packets of a Tx ring, flaws passed over.
pub struct TxPackets<'a> {
    slots: Slots<'a>,
    cutter: Packetizer,
    ended: bool,
}

impl<'a> TxPackets<'a> {
    /// The packets of these slots.
    pub fn new(slots: Slots<'a>, cut: bool) -> TxPackets<'a> {
        TxPackets { slots, cutter: Packetizer::new(Dir::Tx, cut), ended: false }
    }

    /// The calm chunk whose packets come next, if nothing is open.
    pub fn calm(&mut self) -> Option<(u64, u64, Chunk)> {
        if self.cutter.is_open() { None } else { self.slots.calm() }
    }

    /// Passes over the chunk that [`TxPackets::calm`] has told of, up to its end.
    pub fn pass(&mut self, end: u64) {
        self.cutter.pass();
        self.slots.pass(end);
    }

    /// Passes over a calm chunk that comes next.
    pub fn pass_calm(&mut self) -> Option<Chunk> {
        let (_, end, chunk) = self.calm()?;
        self.pass(end);
        Some(chunk)
    }
}

impl Iterator for TxPackets<'_> {
    type Item = Packet;

    fn next(&mut self) -> Option<Packet> {
        for (index, desc) in self.slots.by_ref() {
            if let Some(p) = self.cutter.push(index, desc, |_, _| {}) {
                return Some(p);
            }
        }
        if std::mem::replace(&mut self.ended, true) {
            return None;
        }
        self.cutter.finish(|_, _| {})
    }
}
