//! Where descriptors point: ranges that cross a boundary they may not, that overlap their
//! neighbour's, and lengths of 0 whose 64 KiB do.

use super::{Check, Context, Sink};
use crate::udma::template::Template;
use crate::udma::{Desc, Dir, Generation, count_of};

/// The range check.
pub struct Ranges;

/// Bytes that the offset of a symbolic address can reach.
const TEMPLATE_SPAN: u64 = 1 << 36;

/// Transfers up to this many bytes write words that are meant to be written again: markers,
/// semaphores, padding.
const WORD_BYTES: u64 = 8;

impl Check for Ranges {
    fn name(&self) -> &'static str {
        "ranges"
    }

    fn doc(&self) -> &'static str {
        "No range leaves the host window or a symbolic offset; neighbours do not write each other's bytes; length 0 is not meant as nothing."
    }

    fn run(&self, ctx: &Context<'_>, sink: &mut Sink<'_>) {
        for dir in Dir::BOTH {
            let Some((ring, order)) = ctx.surveyed(dir) else { continue };
            ring.odd(order.len, |index, desc| {
                let data = !desc.is_zero() && (dir == Dir::Rx || !desc.is_meta());
                if let Some(why) = crossing(desc, ctx.pair.arch).filter(|_| data) {
                    sink.at("D073", (dir, index), || why);
                }
            });
        }
        overlaps(ctx, sink);
    }
}

/// Which boundary the range of a data descriptor crosses, in words.
pub fn crossing(desc: Desc, arch: Generation) -> Option<String> {
    let len = desc.length();
    let range = format_args!("{len_bytes} from {:#x}", desc.ptr, len_bytes = count_of(len, "byte"));
    if let Some(t) = Template::parse(desc.ptr) {
        return (t.offset + len > TEMPLATE_SPAN)
            .then(|| format!("{range}: they leave the 36 bits of a symbolic address's offset"));
    }
    // Without bit 61 no address is so high that it could go beyond 64 bits.
    let last = desc.ptr.saturating_add(len - 1);
    let window = arch.host_base().trailing_zeros();
    match (arch.is_host(desc.ptr), arch.is_host(last)) {
        (false, true) => Some(format!("{range}: they run into the host window (bit {window})")),
        (true, false) => Some(format!("{range}: they run out of the host window (bit {window})")),
        _ => None,
    }
}

/// Whether two ranges share bytes without beginning at the same one.
fn overlap(a: Desc, b: Desc) -> bool {
    let end = |d: Desc| d.ptr.saturating_add(d.length());
    a.ptr != b.ptr && a.ptr < end(b) && b.ptr < end(a)
}

/// Whether two destinations may follow each other: they do not overlap, or are meant to.
pub fn apart(p: Desc, d: Desc) -> bool {
    let words = |d: Desc| d.length() <= WORD_BYTES;
    words(p)
        || words(d)
        || Template::parse(p.ptr).is_some()
        || Template::parse(d.ptr).is_some()
        || !overlap(p, d)
}

/// Destinations of neighbours in time. What is written whole again, and single words, is meant
/// so.
fn overlaps(ctx: &Context<'_>, sink: &mut Sink<'_>) {
    let Some(mut slots) = ctx.slots(Dir::Rx) else { return };
    // The slot before; which descriptor it holds is asked where that matters.
    let mut before: Option<(u64, Option<Desc>)> = None;
    loop {
        // Inside of a calm chunk all are apart: what is left is its first against the one before.
        if let Some((first, end, chunk)) = slots.calm() {
            let follows = match before {
                None => true,
                Some((at, _)) if at + 1 == first && chunk.follows => true,
                Some((at, held)) => held
                    .or_else(|| slots.get(at))
                    .zip(slots.get(first))
                    .is_some_and(|(p, d)| apart(p, d)),
            };
            if follows {
                slots.pass(end);
                before = Some((end - 1, None));
                continue;
            }
        }
        let Some((index, desc)) = slots.next() else { return };
        if let Some((prev, held)) = before.replace((index, Some(desc)))
            && let Some(p) = held.or_else(|| slots.get(prev))
            && !apart(p, desc)
        {
            let zero = |d: Desc| d.length() == u64::from(u16::MAX) + 1;
            // Where the length field is 0 and the other is a smaller piece, 0 is the odd one.
            match (zero(p), zero(desc)) {
                (true, false) => sink.at("D074", (Dir::Rx, prev), || zero_words(p, index, desc)),
                (false, true) => sink.at("D074", (Dir::Rx, index), || zero_words(desc, prev, p)),
                _ => sink.at("D027", (Dir::Rx, index), || {
                    let (len, at) = (desc.length(), desc.ptr);
                    format!(
                        "{len_bytes} to {at:#x} overlap the {} to {:#x} of rx[{prev}]",
                        count_of(p.length(), "byte"),
                        p.ptr,
                        len_bytes = count_of(len, "byte")
                    )
                }),
            }
        }
    }
}

fn zero_words(d: Desc, index: u64, other: Desc) -> String {
    format!(
        "length 0 moves 65536 bytes to {:#x}, over the {} to {:#x} of rx[{index}]: \
         was nothing meant?",
        d.ptr,
        count_of(other.length(), "byte"),
        other.ptr
    )
}
