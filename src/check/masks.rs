//! An index that used the other ring's mask: rings of one queue may differ in size, and a
//! cursor that is wrapped with the other's size leaves its traces in the larger of the two.

use super::order::phase_of;
use super::survey::Kind;
use super::view::Piece;
use super::{Check, Context, Order, Sink, Surveyed};
use crate::udma::ring::next_ring_id;
use crate::udma::{Dir, count_of};

/// The check of two rings' sizes.
pub struct Masks;

/// Slots of a lap that the evidence rests on, at least.
const ENOUGH: u64 = 4;

impl Check for Masks {
    fn name(&self) -> &'static str {
        "masks"
    }

    fn doc(&self) -> &'static str {
        "Where the rings of a queue differ in size, the larger one does not wrap where the smaller ends."
    }

    fn run(&self, ctx: &Context<'_>, sink: &mut Sink<'_>) {
        let (Some((tx, tx_order)), Some((rx, rx_order))) =
            (ctx.surveyed(Dir::Tx), ctx.surveyed(Dir::Rx))
        else {
            return;
        };
        let (large, small) = match tx.view.len().cmp(&rx.view.len()) {
            std::cmp::Ordering::Equal => return,
            std::cmp::Ordering::Less => ((Dir::Rx, rx, rx_order), tx.view.len()),
            std::cmp::Ordering::Greater => ((Dir::Tx, tx, tx_order), rx.view.len()),
        };
        let (dir, ring, order) = large;
        if let Some((at, why)) = traces(ring, dir, order, small) {
            let (n, other) = (ring.view.len(), dir_other(dir));
            sink.at("D072", (dir, at), || {
                format!(
                    "{why} {small}, the size of the {other} ring; this one has {n_slots}",
                    n_slots = count_of(n, "slot")
                )
            });
        }
    }
}

fn dir_other(dir: Dir) -> Dir {
    match dir {
        Dir::Tx => Dir::Rx,
        Dir::Rx => Dir::Tx,
    }
}

/// What the larger ring shows of the smaller one's size.
fn traces(ring: Surveyed<'_>, dir: Dir, order: Order, small: u64) -> Option<(u64, &'static str)> {
    if small < ENOUGH {
        return None;
    }
    // Laps within the first slots: where the phase steps down, and whether anything follows.
    let (mut before, mut down, mut full, mut beyond) = (None, None, true, false);
    // A phase that steps up at the other ring's end though the index goes on.
    let mut up = None;
    let mut slot = |index: u64, id: Option<Option<u8>>| {
        let Some(id) = id else {
            full &= index >= small;
            return index < small || beyond || index < small + ENOUGH;
        };
        beyond |= index >= small;
        let Some(id) = id else { return true };
        if let Some(last) = before.replace(id)
            && last != id
        {
            if last == next_ring_id(id) && index < small {
                down.get_or_insert(index);
            } else if id == next_ring_id(last) && index == small {
                up = Some(index);
            }
        }
        true
    };
    ring.pieces(order.len, |piece| match piece {
        Piece::Slot(index, desc) => slot(index, (!desc.is_zero()).then(|| phase_of(desc, dir))),
        Piece::Chunk(from, to, chunk) if chunk.kind == Kind::Empty => {
            (from..to).all(|index| slot(index, None))
        }
        // One phase: nothing changes after the first.
        Piece::Chunk(from, to, chunk) => {
            slot(from, Some(Some(chunk.phase))) && slot(to - 1, Some(Some(chunk.phase)))
        }
    });
    match (down, up) {
        (Some(at), _) if full && !beyond => Some((
            at,
            "a newer lap ends here and no slot is used from the end of the lap on: the index wraps at",
        )),
        (None, Some(at)) => {
            Some((at, "the phase advances here though the ring goes on: it advances at"))
        }
        _ => None,
    }
}
