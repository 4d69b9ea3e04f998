//! Copies between equal types: the two run lists as one stream.

use super::{Limits, Out, Packet, Why, desc, draft};
use crate::bir::{Pos, Side};
use crate::udma::builder::COPY_META_CTRL;
use crate::udma::profile::MAX_DESC_BYTES;
use std::collections::VecDeque;

/// Runs of a side, cut to what one descriptor moves, with as many looked ahead at as a packet
/// may have.
pub struct Pieces<I> {
    runs: I,
    rest: (u64, u64),
    ahead: VecDeque<(u64, u64)>,
}

impl<I: Iterator<Item = (u64, u64)>> Pieces<I> {
    /// Of these runs `(address, bytes)`.
    pub fn new(runs: I) -> Pieces<I> {
        Pieces { runs, rest: (0, 0), ahead: VecDeque::new() }
    }

    /// Looks ahead at `n` pieces, or as many as there are.
    fn look(&mut self, n: usize) {
        while self.ahead.len() < n {
            if self.rest.1 == 0 {
                match self.runs.next() {
                    Some(run) => self.rest = run,
                    None => return,
                }
            }
            let len = self.rest.1.min(MAX_DESC_BYTES);
            self.ahead.push_back((self.rest.0, len));
            self.rest = (self.rest.0.wrapping_add(len), self.rest.1 - len);
        }
    }

    /// Stream positions at which the first `n` pieces end.
    fn ends(&self, n: usize) -> impl DoubleEndedIterator<Item = u64> + '_ {
        let mut ends = Vec::with_capacity(n);
        let mut at = 0;
        for (_, len) in self.ahead.iter().take(n) {
            at += len;
            ends.push(at);
        }
        ends.into_iter()
    }

    /// Takes the first `bytes` of what lies ahead, the last piece cut where they end.
    fn take(&mut self, mut bytes: u64, mut f: impl FnMut(u64, u64)) {
        while bytes > 0
            && let Some((at, len)) = self.ahead.pop_front()
        {
            let n = len.min(bytes);
            f(at, n);
            if n < len {
                self.ahead.push_front((at.wrapping_add(n), len - n));
            }
            bytes -= n;
        }
    }
}

/// Where the next packet ends, in bytes from here: at the last position at which both sides end
/// a piece, unless that leaves more than half of what would fit; then where the side that
/// reaches its limit first ends one, and the other side's piece is cut.
fn packet_end(tx: &[u64], rx: &[u64], cap: u64) -> u64 {
    let last = |ends: &[u64]| ends.last().copied().unwrap_or(0);
    let most = last(tx).min(last(rx)).min(cap);
    let below = |ends: &[u64]| ends.partition_point(|e| *e <= most);
    let (mut i, mut j) = (below(tx), below(rx));
    let either = last(&tx[..i]).max(last(&rx[..j]));
    while i > 0 && j > 0 {
        let (a, b) = (tx[i - 1], rx[j - 1]);
        if a == b {
            return if a >= either / 2 { a } else { either };
        }
        if a > b { i -= 1 } else { j -= 1 }
    }
    either
}

/// Cuts a copy into packets.
pub fn copy(s: &Side, d: &Side, from: Pos, limits: Limits, out: &mut Out) -> Result<(), Why> {
    streams(s.walk.runs(), d.walk.runs(), limits, |tx, rx| {
        let tx = tx.into_iter().map(|(at, len)| desc(at, len, COPY_META_CTRL)).collect();
        let rx = rx.into_iter().map(|(at, len)| desc(at, len, 0)).collect();
        out.push(draft(tx, rx, "copy", (s, d), from))
    })
}

/// Pieces `(address, bytes)` of one direction of a packet.
pub type Stretches = Vec<(u64, u64)>;

/// Cuts two streams of equal length into packets at whose ends both sides end.
pub fn streams(
    tx: impl Iterator<Item = (u64, u64)>,
    rx: impl Iterator<Item = (u64, u64)>,
    limits: Limits,
    mut packet: impl FnMut(Stretches, Stretches) -> Result<(), Why>,
) -> Result<(), Why> {
    let (mut tx, mut rx) = (Pieces::new(tx), Pieces::new(rx));
    loop {
        tx.look(limits.tx);
        rx.look(limits.rx);
        let tx_ends: Vec<u64> = tx.ends(limits.tx).collect();
        let rx_ends: Vec<u64> = rx.ends(limits.rx).collect();
        let bytes = packet_end(&tx_ends, &rx_ends, limits.bytes);
        if bytes == 0 {
            return Ok(());
        }
        let (mut a, mut b) = (Vec::new(), Vec::new());
        tx.take(bytes, |at, len| a.push((at, len)));
        rx.take(bytes, |at, len| b.push((at, len)));
        packet(a, b)?;
    }
}

/// Joins copies that follow each other in one packet as far as the limits allow.
pub fn join(packets: Vec<Packet>, limits: Limits) -> Vec<Packet> {
    let mut out: Vec<Packet> = Vec::new();
    let mut bytes = 0;
    for p in packets {
        let more = p.tx_bytes();
        if let Some(last) = out.last_mut()
            && (last.class, p.class) == ("copy", "copy")
            && last.from == p.from
            && last.patched_rx == p.patched_rx
            && last.tx.len() + p.tx.len() <= limits.tx
            && last.rx.len() + p.rx.len() <= limits.rx
            && bytes + more <= limits.bytes
        {
            let at = last.tx.len() as u32;
            last.patched_tx.extend(p.patched_tx.iter().map(|i| i + at));
            last.tx.extend(p.tx);
            last.rx.extend(p.rx);
            bytes += more;
        } else {
            out.push(p);
            bytes = more;
        }
    }
    out
}
