//! Packets of each ring by itself: flags, descriptors per packet, bytes per packet.
//!
//! Rx descriptors that carry none of FIRST, LAST and CONCAT are not checked for them; with a
//! Tx ring beside it, Rx is judged packet by packet in [`super::pairs`].

use super::packet::{Packet, Packetizer};
use super::{Check, Context, Sink};
use crate::udma::profile::MAX_PACKET_BYTES;
use crate::udma::{Desc, Dir, count_of};

/// The packet check.
pub struct Packets;

impl Check for Packets {
    fn name(&self) -> &'static str {
        "packets"
    }

    fn doc(&self) -> &'static str {
        "FIRST, CONCAT and LAST follow a packet's pattern; no packet has too many descriptors or bytes."
    }

    fn run(&self, ctx: &Context<'_>, sink: &mut Sink<'_>) {
        walk(ctx, Dir::Tx, sink, |_, _| true);
        if ctx.pair.tx.is_none() {
            walk(ctx, Dir::Rx, sink, |desc, inside| inside || carries_flags(desc));
        }
    }
}

/// Whether a descriptor carries any packet flag.
pub fn carries_flags(desc: Desc) -> bool {
    desc.first() || desc.last() || desc.concat()
}

/// Follows one ring; `judged` says which descriptors are looked at, given whether a packet
/// is open.
fn walk(ctx: &Context<'_>, dir: Dir, sink: &mut Sink<'_>, judged: impl Fn(Desc, bool) -> bool) {
    let Some((_, order)) = ctx.ring(dir) else { return };
    let Some(mut slots) = ctx.slots(dir) else { return };
    let mut cutter = Packetizer::new(dir, order.wrapped());
    loop {
        if !cutter.is_open()
            && let Some((_, end, chunk)) = slots.calm()
        {
            // Packets of one descriptor, or (Rx) nothing that is judged.
            if chunk.flags {
                cutter.pass();
            }
            slots.pass(end);
            continue;
        }
        let Some((index, desc)) = slots.next() else { break };
        if !judged(desc, cutter.is_inside()) {
            continue;
        }
        let packet = cutter.push(index, desc, |slot, flaw| {
            sink.at("D018", (dir, slot), || flaw.words(dir));
        });
        if let Some(p) = packet {
            limits(ctx, dir, &p, sink);
        }
    }
    let open = cutter.finish(|slot, flaw| sink.at("D018", (dir, slot), || flaw.words(dir)));
    if let Some(p) = open {
        limits(ctx, dir, &p, sink);
    }
}

/// Descriptors and bytes of one packet against the profile's limits.
fn limits(ctx: &Context<'_>, dir: Dir, p: &Packet, sink: &mut Sink<'_>) {
    descs_limit(ctx, dir, p.first, p.descs, sink);
    if dir == Dir::Tx && p.bytes > MAX_PACKET_BYTES {
        sink.at("D020", (dir, p.first), || {
            format!(
                "the packet has {}, at most {MAX_PACKET_BYTES} fit (M2S PKT_LEN)",
                count_of(p.bytes, "byte")
            )
        });
    }
}

/// Descriptors of one packet of a direction against what the engine is programmed to accept.
pub fn descs_limit(ctx: &Context<'_>, dir: Dir, first: u64, descs: u64, sink: &mut Sink<'_>) {
    let (tx, rx) = ctx.pair.profile.enforced_packet_limits(ctx.pair.arch);
    let limit = if dir == Dir::Tx { tx } else { rx };
    if descs > limit {
        sink.at("D019", (dir, first), || {
            let profile = ctx.pair.profile;
            // The engine's half that writes has no cause for it.
            let cause = if dir == Dir::Tx { "M2S PREFETCH_MAX_DESC" } else { "no cause tells of it" };
            format!("the packet has {descs_descriptors}, {profile} lets the engine accept {limit} ({cause})", descs_descriptors = count_of(descs, "descriptor"))
        });
    }
}
