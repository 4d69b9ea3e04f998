//! Entries that look like another stride: an image whose descriptors do not lie sixteen bytes
//! apart, or do not begin at its first byte.
//!
//! Two kinds of evidence, either of which needs four entries: used slots at every second, third,
//! .. slot only, and (Tx) the word of a plain copy at another distance or another offset than
//! that of the second word.

use super::view::scan;
use super::{Check, Context, RingView, Sink};
use crate::udma::class;
use crate::udma::{DESC_BYTES, Dir, count_of};

/// The stride check.
pub struct Stride;

/// Entries that make a pattern.
const ENOUGH: usize = 4;
/// Entries that are looked at.
const LOOKED_AT: usize = 64;
/// Slots in which they are looked for.
const SLOTS: u64 = 4096;
/// The second word of a plain copy, and the bit in it that a barrier sets.
const COPY: u32 = 0x0108_0003;
const BARRIER: u32 = 1 << 26;

impl Check for Stride {
    fn name(&self) -> &'static str {
        "stride"
    }

    fn doc(&self) -> &'static str {
        "Entries lie sixteen bytes apart and begin where slots begin."
    }

    fn run(&self, ctx: &Context<'_>, sink: &mut Sink<'_>) {
        for dir in Dir::BOTH {
            let Some((view, order)) = ctx.ring(dir) else { continue };
            let found = match dir {
                Dir::Tx => copies(view).or_else(|| gaps(view)),
                Dir::Rx => gaps(view),
            };
            if let Some((at, why)) = found.filter(|_| order.used > 0) {
                sink.at("D070", (dir, at), || why);
            }
        }
    }
}

/// The common distance of neighbours, if it is one.
fn step(places: &[u64]) -> Option<u64> {
    let (first, second) = (places.first()?, places.get(1)?);
    let step = second - first;
    let even = places.windows(2).all(|w| w[1] - w[0] == step);
    (even && places.len() >= ENOUGH).then_some(step)
}

/// Used slots with equally many empty ones between them.
fn gaps(view: &dyn RingView) -> Option<(u64, String)> {
    let mut used = Vec::new();
    scan(view, 0, view.len().min(SLOTS), |index, desc| {
        if !desc.is_zero() {
            used.push(index);
        }
        used.len() < LOOKED_AT
    });
    let step = step(&used).filter(|s| *s > 1)?;
    let n = used.len();
    let bytes = step * DESC_BYTES as u64;
    let text = format!(
        "only every {step}th slot is used ({n} of them from here on): entries look {bytes} \
         apart, not {DESC_BYTES}",
        bytes = count_of(bytes, "byte")
    );
    used.first().map(|first| (*first, text))
}

/// The word of a plain copy at a constant distance that is not a slot's, or beside its place.
fn copies(view: &dyn RingView) -> Option<(u64, String)> {
    let mut places = Vec::new();
    let mut between = false;
    scan(view, 0, view.len().min(SLOTS), |index, desc| {
        let words = [desc.len_ctrl, desc.word1, desc.ptr as u32, (desc.ptr >> 32) as u32];
        let before = places.len();
        for (k, word) in words.into_iter().enumerate() {
            if word & !BARRIER == COPY {
                places.push(index * DESC_BYTES as u64 + 4 * k as u64);
            }
        }
        // Slots of another kind between those of copies make a ring, not a stride.
        let known = desc.is_meta() || !class::readings(desc.word1).is_empty();
        between |= places.len() == before && !desc.is_zero() && known && !places.is_empty();
        places.len() < LOOKED_AT
    });
    let step = step(&places)?;
    let first = *places.first()?;
    let slot = DESC_BYTES as u64;
    let aligned = step.is_multiple_of(slot) && first % slot == 4;
    let wrong = if aligned { step > slot && !between } else { step <= 8 * slot };
    if !wrong {
        return None;
    }
    let (n, offset) = (places.len(), (first + slot - 4) % slot);
    let mut text = format!(
        "{n_times} the word of a plain copy ({COPY:#010x}) stands {step_bytes} apart, first at \
         byte {first:#x}: ",
        n_times = count_of(n, "time"),
        step_bytes = count_of(step, "byte")
    );
    if step == slot {
        text.push_str(&format!("entries begin at byte {offset} of a slot, not at its first"));
    } else {
        text.push_str(&format!(
            "entries look {step_bytes} long, not {slot}",
            step_bytes = count_of(step, "byte")
        ));
    }
    Some((first / slot, text))
}
