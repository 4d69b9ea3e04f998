//! Tx against Rx: what each packet streams fills whole Rx descriptors, in order.
//!
//! MODEL: the stream of a packet fills Rx descriptors one after the other, each taking its
//! length; where the packet ends an Rx descriptor must end.

use super::packet::{Packet, TxPackets};
use super::packets::{carries_flags, descs_limit};
use super::survey::Chunk;
use super::view::Slots;
use super::{Check, Context, Sink, sentinels};
use crate::diag::{Diagnostic, Severity};
use crate::udma::profile::MAX_DESC_BYTES;
use crate::udma::{Desc, Dir, Generation, count_of};
use std::collections::VecDeque;

/// Bytes of a marker word.
pub const MARKER_BYTES: u64 = 4;

/// The check of a pair of rings.
pub struct Pairs;

impl Check for Pairs {
    fn name(&self) -> &'static str {
        "pairs"
    }

    fn doc(&self) -> &'static str {
        "The bytes that each Tx packet streams end where an Rx descriptor ends."
    }

    fn run(&self, ctx: &Context<'_>, sink: &mut Sink<'_>) {
        let (Some((_, tx)), Some((_, rx))) = (ctx.ring(Dir::Tx), ctx.ring(Dir::Rx)) else {
            return;
        };
        let (Some(tx_slots), Some(rx_slots)) = (ctx.slots(Dir::Tx), ctx.slots(Dir::Rx)) else {
            return;
        };
        let mut packets = TxPackets::new(tx_slots, tx.wrapped());
        let mut receivers = Receivers { slots: rx_slots, back: VecDeque::new() };
        if tx.lost_some(&rx) {
            line_up(ctx, &mut packets, &mut receivers);
        }
        loop {
            pass_paired(&mut packets, &mut receivers);
            let Some(packet) = packets.next() else { break };
            if !judge(ctx, &packet, &mut receivers, sink) {
                return;
            }
        }
        if let Some((index, _)) = receivers.next() {
            let more = receivers.count() + 1;
            let are = if more == 1 { "descriptor is" } else { "descriptors are" };
            let why = format!("{more} Rx {are} beyond what the Tx packets fill");
            sink.with(("D021", Severity::Warning), (Dir::Rx, index), why);
        }
    }
}

/// The Rx descriptors in order, with those that were taken in vain put back.
struct Receivers<'a> {
    slots: Slots<'a>,
    back: VecDeque<(u64, Desc)>,
}

impl Receivers<'_> {
    /// The calm chunk that comes next.
    fn calm(&mut self) -> Option<(u64, u64, Chunk)> {
        if self.back.is_empty() { self.slots.calm() } else { None }
    }
}

impl Iterator for Receivers<'_> {
    type Item = (u64, Desc);

    fn next(&mut self) -> Option<(u64, Desc)> {
        self.back.pop_front().or_else(|| self.slots.next())
    }
}

/// Passes over chunks of pairs as long as both rings stand at the same slot.
fn pass_paired(packets: &mut TxPackets<'_>, receivers: &mut Receivers<'_>) {
    while let (Some((tx, end, chunk)), Some((rx, rx_end, _))) = (packets.calm(), receivers.calm())
        && chunk.paired
        && tx == rx
    {
        let end = end.min(rx_end);
        packets.pass(end);
        receivers.slots.pass(end);
    }
}

/// Two rings that hold a cut older lap end at the same point, not begin at it: leaves out the
/// oldest of whichever holds more bytes.
fn line_up(ctx: &Context<'_>, packets: &mut TxPackets<'_>, receivers: &mut Receivers<'_>) {
    let (Some((_, tx)), Some(tx_slots)) = (ctx.ring(Dir::Tx), ctx.slots(Dir::Tx)) else { return };
    let Some(rx_slots) = ctx.slots(Dir::Rx) else { return };
    let sent = sent(TxPackets::new(tx_slots, tx.wrapped()));
    let taken = taken(rx_slots);
    let mut extra = sent.saturating_sub(taken);
    while extra > 0 {
        let Some(p) = packets.next() else { break };
        extra = extra.saturating_sub(p.moved());
    }
    let mut extra = taken.saturating_sub(sent);
    while extra > 0 {
        let Some((_, d)) = receivers.next() else { break };
        extra = extra.saturating_sub(d.length());
    }
}

/// Bytes that packets bring if lengths are kept.
fn sent(mut packets: TxPackets<'_>) -> u64 {
    let mut sum = 0;
    loop {
        while let Some(chunk) = packets.pass_calm() {
            sum += chunk.bytes;
        }
        let Some(p) = packets.next() else { return sum };
        sum += p.moved();
    }
}

/// Bytes that a ring takes.
fn taken(mut slots: Slots<'_>) -> u64 {
    let mut sum = 0;
    loop {
        while let Some((_, end, chunk)) = slots.calm() {
            sum += chunk.bytes;
            slots.pass(end);
        }
        let Some((_, d)) = slots.next() else { return sum };
        sum += d.length();
    }
}

/// Judges one packet; false where nothing after it can be judged.
fn judge(
    ctx: &Context<'_>,
    packet: &Packet,
    receivers: &mut Receivers<'_>,
    sink: &mut Sink<'_>,
) -> bool {
    let Some(right) = packet.arrivals() else {
        sink.with(
            ("D021", Severity::Note),
            (Dir::Tx, packet.first),
            "how much this packet sends is not known: from here on Tx and Rx are not compared"
                .to_owned(),
        );
        return false;
    };
    let most = right.last().copied().unwrap_or(0);
    let mut taken: Vec<(u64, Desc)> = Vec::new();
    let mut bytes = 0u64;
    while taken.is_empty() || (bytes < most && !right.contains(&bytes)) {
        let Some((index, desc)) = receivers.next() else { break };
        bytes += desc.length();
        taken.push((index, desc));
    }
    let Some(&(first, _)) = taken.first() else {
        let why = format!(
            "{}, and no Rx descriptor is left for them: the queue stalls (MODEL)",
            stream_words(&right)
        );
        sink.at("D021", (Dir::Tx, packet.first), || why);
        return false;
    };
    if right.contains(&bytes) {
        if let (1, [(index, rx)]) = (packet.descs, taken.as_slice()) {
            completion(ctx, packet, (*index, *rx), sink);
        }
        descs_limit(ctx, Dir::Rx, first, taken.len() as u64, sink);
        flags(&taken, sink);
        return true;
    }
    let n = taken.len();
    let what = match n {
        1 => format!("the Rx descriptor it reaches takes {bytes}", bytes = count_of(bytes, "byte")),
        n => format!(
            "the {n} Rx descriptors it reaches take {bytes}",
            bytes = count_of(bytes, "byte")
        ),
    };
    // What is lacking is waited for; what is too much is a fault.
    let end = match most.checked_sub(bytes) {
        Some(0) | None => {
            "an Rx descriptor must end where the packet does (MODEL: S2M PKT_LEN)".to_owned()
        }
        Some(n) => format!("no Rx descriptor is left for the other {n}: the queue stalls (MODEL)"),
    };
    let message = format!("{}, {what}; {end}", stream_words(&right));
    let mut d = Diagnostic::new("D021", message)
        .at(sink.place(Dir::Tx, packet.first))
        .label(sink.place(Dir::Rx, first), "the first descriptor that it fills");
    let odd = [(Dir::Tx, packet.first, packet.data), (Dir::Rx, first, taken[0].1)];
    if odd.iter().any(|(_, _, x)| x.length() == MAX_DESC_BYTES) {
        d = d.help("length 0 stands for 65536 bytes: what is to move nothing is not staged");
    }
    sink.push(d);
    if packet.descs == 1 {
        sentinel_lengths(&odd, sink);
    }
    // One packet against one descriptor is how rings are mostly built: go on with the next of
    // each rather than shifted by what was taken too much.
    if packet.descs == 1 {
        for again in taken.drain(1..).rev() {
            receivers.back.push_front(again);
        }
    }
    true
}

/// Whether a pair of four bytes looks like a completion pair, but the wrong way round (true),
/// or is one that can be read torn (false).
fn odd_completion(tx: Desc, rx: Desc, arch: Generation) -> Option<bool> {
    let (src, dst) = (tx.ptr, rx.ptr);
    let host = arch.is_host(src) && arch.is_host(dst);
    if rx.length() != MARKER_BYTES || tx.length() != MARKER_BYTES || !host {
        None
    } else if dst.checked_add(MARKER_BYTES) == Some(src) {
        Some(true)
    } else {
        let torn = src.checked_add(MARKER_BYTES) == Some(dst) && !dst.is_multiple_of(MARKER_BYTES);
        torn.then_some(false)
    }
}

/// Whether there is something to say of a pair of equal lengths.
pub fn remarkable(tx: Desc, rx: Desc, arch: Generation) -> bool {
    odd_completion(tx, rx, arch).is_some()
}

/// Says of a pair of four bytes what is odd about it. `packet` is one descriptor.
fn completion(ctx: &Context<'_>, packet: &Packet, (index, rx): (u64, Desc), sink: &mut Sink<'_>) {
    let (src, dst) = (packet.data.ptr, rx.ptr);
    match odd_completion(packet.data, rx, ctx.pair.arch) {
        Some(true) => sink.at("D076", (Dir::Tx, packet.first), || {
            format!(
                "four bytes from {src:#x} to {dst:#x}: a completion pair copies from +0 to +4, \
                 this one from +4 to +0"
            )
        }),
        Some(false) => {
            let why = format!("the marker word at {dst:#x} is not aligned to its four bytes");
            sink.with(("D073", Severity::Warning), (Dir::Rx, index), why);
        }
        None => {}
    }
}

/// Lengths that disagree with the other side's and are what a sentinel leaves in sixteen bits.
fn sentinel_lengths(pair: &[(Dir, u64, Desc)], sink: &mut Sink<'_>) {
    for (dir, index, desc) in pair {
        if let Some(why) = sentinels::length(desc.length()) {
            let len = desc.length();
            sink.at("D071", (*dir, *index), || {
                format!("the length is {len:#x}, the low half of {why}")
            });
        }
    }
}

fn stream_words(right: &[u64]) -> String {
    match right {
        [] => "the packet's bytes do not divide by its sources".to_owned(),
        [one] => format!("the packet streams {one_bytes}", one_bytes = count_of(one, "byte")),
        many => {
            let list: Vec<String> = many.iter().map(u64::to_string).collect();
            format!("the packet streams {}", count_of(list.join(" or "), "byte"))
        }
    }
}

/// The packet flags of the Rx descriptors that one packet fills, if any of them carries one.
fn flags(taken: &[(u64, Desc)], sink: &mut Sink<'_>) {
    if !taken.iter().any(|(_, d)| carries_flags(*d)) {
        return;
    }
    let end = taken.len() - 1;
    for (i, (index, d)) in taken.iter().enumerate() {
        let cause = if d.first() != (i == 0) {
            "STRM_FIRST"
        } else if d.last() != (i == end) || d.concat() != (i < end) {
            "STRM_LAST"
        } else {
            continue;
        };
        sink.at("D018", (Dir::Rx, *index), || {
            let at = i + 1;
            format!("descriptor {at} of {} of its packet has other packet flags than that (S2M {cause})", end + 1)
        });
    }
}
