//! Per-descriptor notes: reserved bits, unknown or ambiguous classes, bits of another
//! generation.
//!
//! What is remarkable but regular (64 KiB lengths, META indices, ambiguous classes, symbolic
//! addresses) is said once per ring with a count; what is suspicious is said per slot.

use super::{Check, Context, Sink};
use crate::diag::{Severity, lookup};
use crate::udma::{Dir, count_of, notes};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The check of single descriptors.
pub struct Bits;

/// A regular remark: where it was first made, what it said, and how often.
struct Seen {
    first: u64,
    text: Cow<'static, str>,
    count: u64,
}

impl Check for Bits {
    fn name(&self) -> &'static str {
        "bits"
    }

    fn doc(&self) -> &'static str {
        "Each descriptor by itself: reserved bits, classes, symbolic addresses, bits of another generation."
    }

    fn run(&self, ctx: &Context<'_>, sink: &mut Sink<'_>) {
        for dir in Dir::BOTH {
            let Some((ring, order)) = ctx.surveyed(dir) else { continue };
            let mut regular: BTreeMap<&'static str, Seen> = BTreeMap::new();
            ring.odd(order.len, |index, desc| {
                for note in notes(desc, dir, ctx.pair.arch) {
                    // 64 KiB is the normal chunk of a large copy.
                    if note.code == "D011" {
                        continue;
                    }
                    if lookup(note.code).is_some_and(|c| c.severity == Severity::Note) {
                        let new = Seen { first: index, text: note.text, count: 0 };
                        regular.entry(note.code).or_insert(new).count += 1;
                    } else {
                        sink.at(note.code, (dir, index), || note.text.into_owned());
                    }
                }
            });
            for (code, seen) in regular {
                sink.at(code, (dir, seen.first), || match seen.count {
                    1 => seen.text.into_owned(),
                    n => format!(
                        "{}; {n_descriptors} of this ring are such",
                        seen.text,
                        n_descriptors = count_of(n, "descriptor")
                    ),
                });
            }
        }
    }
}
