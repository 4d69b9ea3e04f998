//! What an operation may ask for: replication by generation, element sizes of a transpose,
//! elements of a compute packet (`docs/lowering.md` has the same limits of the IR).

use super::packet::TxPackets;
use super::view::scan;
use super::{Check, Context, Sink};
use crate::udma::class::{self, Class};
use crate::udma::profile::cce_max_elements;
use crate::udma::{Dir, Generation};

/// The check of operations.
pub struct Operations;

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
        let Some((view, order)) = ctx.ring(Dir::Tx) else { return };
        let arch = ctx.pair.arch;
        scan(view, 0, order.len, |index, desc| {
            if desc.is_zero() || desc.is_meta() {
                return true;
            }
            let readings = class::readings(desc.word1);
            let [only] = readings.as_slice() else { return true };
            if let Some(why) = judge(only, desc.word1, arch) {
                sink.at("D075", (Dir::Tx, index), || why);
            }
            true
        });
        let Some(slots) = ctx.slots(Dir::Tx) else { return };
        let most = cce_max_elements(arch);
        for packet in TxPackets::new(slots, order.wrapped()) {
            if let Some(n) = packet.elements().filter(|n| *n > most) {
                sink.at("D075", (Dir::Tx, packet.first), || {
                    format!("the packet computes {n} elements, at most {most} on {arch}")
                });
            }
        }
    }
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
