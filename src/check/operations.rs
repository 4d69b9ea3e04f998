//! What an operation may ask for: replication by generation, element sizes of a transpose,
//! elements of a compute packet (`docs/lowering.md` has the same limits of the IR).

use super::packet::TxPackets;
use super::{Check, Context, Sink, Surveyed};
use crate::udma::class::{self, Class};
use crate::udma::describe::reserved_bits;
use crate::udma::field::fields_of;
use crate::udma::profile::cce_max_elements;
use crate::udma::{Desc, Dir, Field, Generation, View, Word, count_of};

/// The check of operations.
pub struct Operations;

/// The second word of a plain copy, and the bits in it that say nothing about what is done: the
/// write barrier and v4's notification.
const COPY: u32 = 0x0108_0003;
const ORDER_BITS: u32 = 1 << 26 | 1 << 28;
/// `ssmae_op` and `op_type`, which select the class.
const SELECTOR: u32 = 0x03f0_0000;

/// Bytes of an element that a transpose can move.
const MAX_TRANSPOSE_ELEMENT: u64 = 8;

impl Check for Operations {
    fn name(&self) -> &'static str {
        "operations"
    }

    fn doc(&self) -> &'static str {
        "Replication, transposes and compute packets stay within what the generation can do."
    }

    fn run(&self, ctx: &Context<'_>, sink: &mut Sink<'_>) {
        let Some((ring, order)) = ctx.surveyed(Dir::Tx) else { return };
        let arch = ctx.pair.arch;
        ring.odd(order.len, |index, desc| {
            if desc.is_zero() || desc.is_meta() {
                return;
            }
            let readings = class::readings(desc.word1);
            let [only] = readings.as_slice() else { return };
            if let Some(why) = judge(only, desc.word1, arch) {
                sink.at("D075", (Dir::Tx, index), || why);
            }
        });
        controls(ring, order.len, sink);
        let Some(slots) = ctx.slots(Dir::Tx) else { return };
        let most = cce_max_elements(arch);
        let mut packets = TxPackets::new(slots, order.wrapped());
        loop {
            // Copies compute nothing.
            while packets.pass_calm().is_some() {}
            let Some(packet) = packets.next() else { return };
            if let Some(n) = packet.elements().filter(|n| *n > most) {
                sink.at("D075", (Dir::Tx, packet.first), || {
                    format!(
                        "the packet computes {n_elements}, at most {most} on {arch}",
                        n_elements = count_of(n, "element")
                    )
                });
            }
        }
    }
}

/// Whether a word is that of a plain copy, but for its order.
pub fn is_plain_copy(word: u32) -> bool {
    class::is_copy(word) && (word ^ COPY) & !ORDER_BITS == 0
}

/// Bits of a word that its class leaves open: against the plain copy's word, or outside of the
/// fields of every class that fits. Reserved bits are told by themselves.
fn odd_bits(word: u32) -> u32 {
    let reserved = reserved_bits(Desc { word1: word, ..Desc::default() }, Dir::Tx).1;
    if class::is_copy(word) {
        return (word ^ COPY) & !ORDER_BITS & !reserved;
    }
    let readings = class::readings(word);
    if readings.is_empty() {
        return 0;
    }
    let named = readings.iter().flat_map(|c| c.fields).fold(0, |m, f| m | f.mask() as u32);
    word & !(named | SELECTOR | ORDER_BITS | reserved)
}

/// Words that ask for more, or for less, than their class is known for: said once for a ring.
fn controls(ring: Surveyed<'_>, len: u64, sink: &mut Sink<'_>) {
    let (mut first, mut count) = (None, 0u64);
    ring.odd(len, |index, desc| {
        let odd = if desc.is_zero() || desc.is_meta() { 0 } else { odd_bits(desc.word1) };
        if odd != 0 {
            first.get_or_insert((index, desc.word1, odd));
            count += 1;
        }
    });
    let Some((index, word, odd)) = first else { return };
    sink.at("D077", (Dir::Tx, index), || {
        let more = if count > 1 {
            format!(
                "; {count_descriptors} of this ring are such",
                count_descriptors = count_of(count, "descriptor")
            )
        } else {
            String::new()
        };
        if !class::is_copy(word) {
            let name = class::name(word);
            return format!("{word:#010x} has bits that {name} does not name: {odd:#010x}{more}");
        }
        let differ = |f: &&Field| u64::from(odd) & f.mask() != 0;
        let names: Vec<&str> =
            fields_of(View::Tx, Word::MetaCtrl).filter(differ).map(|f| f.name).collect();
        format!("{word:#010x} is no plain copy ({COPY:#010x}): {} differ{more}", names.join(", "))
    });
}

fn judge(class: &Class, word: u32, arch: Generation) -> Option<String> {
    let field = |name| class.fields.iter().find(|f| f.name == name).map(|f| f.get(word.into()));
    match class.name {
        "replicate" => {
            let n = field("replication")?;
            if n == 0 {
                return Some("the replication count is 0: nothing would be written".to_owned());
            }
            (n > 1 && arch == Generation::V2)
                .then(|| format!("replication to {n} destinations, which v2 does not have"))
        }
        "transpose" => {
            let bytes = field("element_bytes")?;
            (!(1..=MAX_TRANSPOSE_ELEMENT).contains(&bytes)).then(|| {
                format!(
                    "a transpose of {bytes}-byte elements; they have 1 to {MAX_TRANSPOSE_ELEMENT}"
                )
            })
        }
        _ => None,
    }
}
