//! Pairing Tx with Rx and cutting the slots into batches (MODEL; `docs/formats.md`,
//! "Batches").

use super::{Order, RingView};
use crate::limits::MAX_BATCH_MARKERS;
use crate::udma::{Desc, class};
use std::str::FromStr;

/// Where batches end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Batching {
    /// At completion pairs.
    #[default]
    Marker,
    /// After so many Tx slots.
    Every(u64),
    /// One batch.
    All,
}

impl FromStr for Batching {
    type Err = crate::udma::arch::UnknownName;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        match (s, s.parse()) {
            ("marker", _) => Ok(Batching::Marker),
            ("all", _) => Ok(Batching::All),
            (_, Ok(n)) if n > 0 => Ok(Batching::Every(n)),
            _ => Err(crate::udma::arch::UnknownName {
                given: s.to_owned(),
                what: "batching",
                known: "marker, all, a number above 0".to_owned(),
            }),
        }
    }
}

/// Slots that one doorbell pair covers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    /// Tx slots.
    pub tx: u64,
    /// Rx slots.
    pub rx: u64,
    /// Addresses of the marker words that its completion pairs copy from, each once.
    pub markers: Vec<u64>,
    /// The marker that shows its end: its last pair is its only completion pair.
    pub end: Option<u64>,
}

/// A packet of Tx and the Rx slots that its bytes reach.
struct Packet {
    tx: u64,
    rx: u64,
    /// First marker word, where it is a completion pair.
    marker: Option<u64>,
}

/// The slots of one ring in order.
struct Cursor<'a> {
    ring: &'a RingView,
    at: u64,
    left: u64,
}

impl<'a> Cursor<'a> {
    fn new(ring: &'a RingView, order: &Order) -> Cursor<'a> {
        Cursor { ring, at: order.start, left: order.count }
    }

    fn peek(&self) -> Option<Desc> {
        if self.left == 0 { None } else { self.ring.get(self.at) }
    }

    fn next(&mut self) -> Option<Desc> {
        let d = self.peek()?;
        self.left -= 1;
        self.at = (self.at + 1) % self.ring.slots().max(1);
        Some(d)
    }
}

/// The Tx side of a packet.
struct Sent {
    /// Its slots.
    tx: u64,
    /// Its data descriptors.
    data: Vec<Desc>,
    /// Bytes that it puts out.
    bytes: u64,
}

impl Cursor<'_> {
    /// The next packet, up to LAST or to where its chain breaks.
    fn packet(&mut self) -> Option<Sent> {
        let mut d = self.next()?;
        let (mut tx, mut data, mut metas) = (1u64, Vec::new(), 0u64);
        loop {
            if d.is_meta() {
                metas += 1
            } else {
                data.push(d)
            }
            let more = d.is_meta() || (d.concat() && !d.last());
            let Some(next) = self.peek().filter(|_| more) else { break };
            self.next();
            tx += 1;
            d = next;
        }
        let bytes = stream(&data, metas);
        Some(Sent { tx, data, bytes })
    }
}

/// How many of the oldest slots of each ring, (Tx, Rx), the other ring no longer holds the
/// other side of. Two rings of which one holds an older lap than the other were written last at
/// the same time, not first: by their bytes, counted from their newest ends.
pub fn older_than_the_other(rings: [(&RingView, &Order); 2]) -> (u64, u64) {
    let [(tx, tx_order), (rx, rx_order)] = rings;
    let sum = |all: &mut dyn Iterator<Item = u64>| all.fold(0, u64::saturating_add);
    let mut packets = Cursor::new(tx, tx_order);
    let sent = sum(&mut std::iter::from_fn(|| packets.packet().map(|p| p.bytes)));
    let mut slots = Cursor::new(rx, rx_order);
    let taken = sum(&mut std::iter::from_fn(|| slots.next().map(|d| d.length())));
    let (mut from_tx, mut from_rx) = (0, 0);
    let mut extra = sent.saturating_sub(taken);
    let mut packets = Cursor::new(tx, tx_order);
    while extra > 0
        && let Some(p) = packets.packet()
    {
        extra = extra.saturating_sub(p.bytes);
        from_tx += p.tx;
    }
    let mut extra = taken.saturating_sub(sent);
    let mut slots = Cursor::new(rx, rx_order);
    while extra > 0
        && let Some(d) = slots.next()
    {
        extra = extra.saturating_sub(d.length());
        from_rx += 1;
    }
    (from_tx, from_rx)
}

/// Tx packet by packet with the Rx slots they fill.
struct Packets<'a> {
    tx: Cursor<'a>,
    rx: Cursor<'a>,
}

impl Iterator for Packets<'_> {
    type Item = Packet;

    fn next(&mut self) -> Option<Packet> {
        let Sent { tx, data, bytes: want } = self.tx.packet()?;
        let (mut rx, mut got, mut last) = (0u64, 0u64, None);
        while got < want
            && let Some(d) = self.rx.peek()
        {
            // Lengths that do not fit: slot by slot, so that one bad packet stays one.
            if got + d.length() > want && rx >= data.len().max(1) as u64 {
                break;
            }
            // Bytes that are missing are not looked for in the next packet's completion pair.
            if rx > 0 && self.tx.peek().is_some_and(|t| is_completion(t, d)) {
                break;
            }
            self.rx.next();
            got += d.length();
            rx += 1;
            last = Some(d);
        }
        let marker = match (data.as_slice(), last) {
            ([src], Some(dst)) if tx == 1 && rx == 1 && is_completion(*src, dst) => Some(src.ptr),
            _ => None,
        };
        Some(Packet { tx, rx, marker })
    }
}

/// Whether a packet of one descriptor and its Rx descriptor are a completion pair.
fn is_completion(tx: Desc, rx: Desc) -> bool {
    tx.length() == 4 && rx.length() == 4 && tx.ptr.checked_add(4) == Some(rx.ptr) && !tx.is_meta()
}

/// Bytes that a packet puts out: replicated as often as the word says, and one source's worth
/// where a compute packet has several (MODEL: one META each).
fn stream(data: &[Desc], metas: u64) -> u64 {
    let bytes: u64 = data.iter().map(|d| d.length()).sum();
    let word = data.first().map_or(0, |d| d.word1);
    match class::name(word) {
        "replicate" => bytes * u64::from(word & 0xffff).max(1),
        _ if metas > 1 && bytes.is_multiple_of(metas) => bytes / metas,
        _ => bytes,
    }
}

/// How the slots fall into batches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cut {
    /// In order.
    pub batches: Vec<Batch>,
    /// (Tx, Rx) slots after the last batch: staged, not rung.
    pub tail: (u64, u64),
    /// Whether there is any completion pair.
    pub completes: bool,
    /// Whether it stopped at the bound on batches.
    pub bounded: bool,
}

/// Cuts the used slots into at most `most` batches.
pub fn cut(rings: [(&RingView, &Order); 2], how: Batching, most: usize) -> Cut {
    let [(tx, tx_order), (rx, rx_order)] = rings;
    let mut packets = Packets { tx: Cursor::new(tx, tx_order), rx: Cursor::new(rx, rx_order) };
    let mut out = Cut::default();
    let mut now = Batch::default();
    let mut pairs = 0;
    for p in packets.by_ref() {
        now.tx += p.tx;
        now.rx += p.rx;
        now.end = None;
        if let Some(m) = p.marker {
            out.completes = true;
            pairs += 1;
            if !now.markers.contains(&m) && now.markers.len() < MAX_BATCH_MARKERS {
                now.markers.push(m);
            }
            now.end = Some(m).filter(|_| pairs == 1);
        }
        let ends = match how {
            Batching::Marker => p.marker.is_some(),
            Batching::Every(n) => now.tx >= n,
            Batching::All => false,
        };
        if ends {
            if out.batches.len() == most {
                out.bounded = true;
                break;
            }
            out.batches.push(std::mem::take(&mut now));
            pairs = 0;
        }
    }
    // Rx slots that no Tx packet reaches belong to what comes last.
    now.tx += packets.tx.left;
    now.rx += packets.rx.left;
    let whole = how != Batching::Marker || !out.completes;
    if !out.bounded && whole && (now.tx > 0 || now.rx > 0) && out.batches.len() < most {
        out.batches.push(now);
    } else {
        out.tail = (now.tx, now.rx);
    }
    out
}
