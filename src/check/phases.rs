//! Phases: each used slot carries the one that its place in the ring asks for.

use super::order::phase_of;
use super::survey::Kind;
use super::view::Piece;
use super::{Check, Context, Sink};
use crate::udma::Dir;

/// The phase check.
pub struct Phases;

/// Neighbouring slots with the same wrong phase.
struct Run {
    first: u64,
    last: u64,
    found: u8,
    expected: u8,
}

impl Check for Phases {
    fn name(&self) -> &'static str {
        "phases"
    }

    fn doc(&self) -> &'static str {
        "Slots carry phase p up to where the newest lap ends and p - 1 after it; empty slots carry none."
    }

    fn run(&self, ctx: &Context<'_>, sink: &mut Sink<'_>) {
        for dir in Dir::BOTH {
            let Some((ring, order)) = ctx.surveyed(dir) else { continue };
            let mut run: Option<Run> = None;
            let mut slot = |index, id: Option<u8>| {
                let expected = order.expected(index);
                match (&mut run, id) {
                    // Neither an empty slot nor a META descriptor ends a run.
                    (_, None) => {}
                    (Some(r), Some(id)) if id == r.found && expected == r.expected => {
                        r.last = index;
                    }
                    (_, Some(id)) => {
                        report(run.take(), dir, sink);
                        run = (id != expected).then_some(Run {
                            first: index,
                            last: index,
                            found: id,
                            expected,
                        });
                    }
                }
            };
            ring.pieces(order.len, |piece| {
                match piece {
                    Piece::Slot(index, desc) => {
                        slot(index, phase_of(desc, dir).filter(|_| !desc.is_zero()));
                    }
                    Piece::Chunk(_, _, chunk) if chunk.kind == Kind::Empty => {}
                    // A lap may end inside of it; before and after that all are expected alike.
                    Piece::Chunk(from, to, chunk) => {
                        let end = order.boundary.clamp(from, to);
                        for (from, to) in [(from, end), (end, to)] {
                            if from < to {
                                slot(from, Some(chunk.phase));
                                slot(to - 1, Some(chunk.phase));
                            }
                        }
                    }
                }
                true
            });
            report(run, dir, sink);
        }
    }
}

fn report(run: Option<Run>, dir: Dir, sink: &mut Sink<'_>) {
    let Some(r) = run else { return };
    sink.at("D017", (dir, r.first), || {
        let what = format!("carries phase {}, its place asks for {}", r.found, r.expected);
        let cause = match dir {
            Dir::Tx => "M2S",
            Dir::Rx => "S2M",
        };
        if r.first == r.last {
            format!("slot {} {what} ({cause} PREFETCH_RING_ID)", r.first)
        } else {
            format!(
                "each used slot from {} to {} {what} ({cause} PREFETCH_RING_ID)",
                r.first, r.last
            )
        }
    });
}
