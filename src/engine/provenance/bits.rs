//! Which rule set a field of a descriptor, after which stage, by which option
//! (`docs/provenance.md`, "From slots to bits").

use crate::engine::author;
use crate::engine::module_run::{ModuleRun, Origin};
use crate::engine::program::QueueId;
use crate::engine::ring::Machine;
use crate::engine::ring::device::{self, Packet, Work};
use crate::engine::ring::queue::{Held, Queue, ix};
use crate::udma::describe::FieldRow;
use crate::udma::{Barrier, DESC_BYTES, Desc, Dir, count_of, describe};
use std::sync::Arc;

/// Where a field's value is from.
#[derive(Debug, PartialEq, Eq)]
pub struct BitRule {
    /// The fields that it is about.
    pub fields: &'static [&'static str],
    /// The stage that decides the value; `rings` is the authoring of descriptors.
    pub stage: &'static str,
    /// Options of the lowering that change it.
    pub options: &'static [&'static str],
    /// Where it is from, in a few words.
    pub from: &'static str,
}

/// The rules by field.
pub const RULES: &[BitRule] = &[
    BitRule {
        fields: &["ring_id"],
        stage: "rings",
        options: &[],
        from: "the lap of the ring, stamped when it is staged",
    },
    BitRule {
        fields: &["first", "last", "concat"],
        stage: "rings",
        options: &[],
        from: "its place in the packet",
    },
    BitRule {
        fields: &["dmb", "strong_order", "write_barrier"],
        stage: "rings",
        options: &["reuse_block"],
        from: "the order among the packets of the block",
    },
    BitRule {
        fields: &["length"],
        stage: "lower_dma",
        options: &["max_desc_elems", "split"],
        from: "bytes in one piece of the access pattern",
    },
    BitRule {
        fields: &["buf_ptr"],
        stage: "lower_dma",
        options: &["max_desc_elems", "split"],
        from: "the access pattern of its operand",
    },
    BitRule {
        fields: &["meta"],
        stage: "rings",
        options: &[],
        from: "whether it carries data or what is done with it",
    },
    BitRule {
        fields: &["int_en", "notification"],
        stage: "rings",
        options: &[],
        from: "who is to be told; no block asks for it",
    },
];

/// The rule of every field that has none of its own.
const CLASS: BitRule =
    BitRule { fields: &[], stage: "rings", options: &[], from: "the class of operation" };

/// The rule of bits without a meaning.
const RESERVED: BitRule =
    BitRule { fields: &[], stage: "rings", options: &[], from: "nothing that is known" };

/// The rule of a field.
pub fn rule(field: &str) -> &'static BitRule {
    match RULES.iter().find(|r| r.fields.contains(&field)) {
        Some(r) => r,
        None if field.starts_with("reserved") || field == "unnamed" => &RESERVED,
        None => &CLASS,
    }
}

/// A batch as it lies in both rings now.
struct InRings {
    packets: Vec<(Vec<Held>, Vec<Held>)>,
    /// Of what the batch's last pair is made.
    own: Origin,
}

/// Numbers since reset of the batch that holds a slot: first, how many, of what it is made.
type Range = (u64, u64, Arc<[Origin]>);

/// The newest batch that put a descriptor into a slot, and which of the ring's it is from the
/// newest back.
fn batch_of(q: &Queue, dir: Dir, slot: u64) -> Option<(u64, usize)> {
    let size = q.ring(dir).size.max(1);
    for (n, (first, count, _)) in ranges(q, dir).into_iter().enumerate() {
        let last = (first + count).checked_sub(1)?;
        let k = last.checked_sub((last % size + size - slot % size) % size);
        if let Some(k) = k.filter(|k| *k >= first) {
            return Some((k, n));
        }
    }
    None
}

/// The batches of a ring, newest first.
fn ranges(q: &Queue, dir: Dir) -> Vec<Range> {
    let mut out: Vec<Range> = Vec::new();
    for r in q.origins[ix(dir)].iter().rev() {
        if out.last().is_some_and(|b| Arc::ptr_eq(&b.2, &r.batch)) {
            continue;
        }
        out.push((r.first.saturating_sub(r.skip), r.batch.len() as u64, r.batch.clone()));
    }
    out
}

fn held(m: &Machine, q: &Queue, dir: Dir, k: u64) -> Held {
    let mut bytes = [0; DESC_BYTES];
    m.memory.read(q.ring(dir).slot_addr(k), &mut bytes);
    Held { k, desc: Desc::from_bytes(&bytes) }
}

/// The packets of a batch, as the engine would take them.
fn in_rings(m: &Machine, q: &Queue, dir: Dir, slot: u64) -> Option<InRings> {
    let (_, n) = batch_of(q, dir, slot)?;
    let tx = ranges(q, Dir::Tx).into_iter().nth(n)?;
    let rx = ranges(q, Dir::Rx).into_iter().nth(n)?;
    let own = *tx.2.last()?;
    // A batch is copied in Tx first; between the two the newest of each are not one batch.
    if rx.2.last() != Some(&own) {
        return None;
    }
    let mut out = InRings { packets: Vec::new(), own };
    let mut next_rx = rx.0;
    let rx_end = rx.0 + rx.1;
    let mut packet = Packet::default();
    for k in tx.0..tx.0 + tx.1 {
        let x = held(m, q, Dir::Tx, k);
        packet.tx.push_back(x);
        if x.desc.is_meta() {
            continue;
        }
        packet.tx_bytes += x.desc.length();
        if x.desc.concat() && !x.desc.last() {
            continue;
        }
        let (_, need): (Work, u64) = device::judge(&packet);
        let mut has = 0;
        let mut taken = Vec::new();
        while has < need && next_rx < rx_end {
            let r = held(m, q, Dir::Rx, next_rx);
            has += r.desc.length();
            taken.push(r);
            next_rx += 1;
        }
        let done = std::mem::take(&mut packet);
        out.packets.push((done.tx.iter().copied().collect(), taken));
    }
    Some(out)
}

fn overlaps(a: Desc, b: Desc) -> bool {
    a.ptr < b.ptr.saturating_add(b.length()) && b.ptr < a.ptr.saturating_add(a.length())
}

/// What is known of a field of a slot of a module.
pub struct BitCause<'a> {
    /// The module.
    pub run: &'a ModuleRun,
    /// The state.
    pub machine: &'a Machine,
    /// The queue.
    pub queue: QueueId,
    /// The ring.
    pub dir: Dir,
    /// The slot.
    pub slot: u64,
}

impl BitCause<'_> {
    /// Why the field has its value, in sentences, the most specific first.
    pub fn why(&self, row: &FieldRow) -> Vec<String> {
        let Some(q) = self.machine.queue(self.queue) else { return Vec::new() };
        let Some(origin) = q.origin(self.dir, self.slot) else { return Vec::new() };
        let Some((k, _)) = batch_of(q, self.dir, self.slot) else { return Vec::new() };
        let place = in_rings(self.machine, q, self.dir, self.slot).and_then(|batch| {
            let own = |p: &(Vec<Held>, Vec<Held>)| {
                let list = if self.dir == Dir::Tx { &p.0 } else { &p.1 };
                list.iter().any(|x| x.k == k)
            };
            let at = batch.packets.iter().position(own)?;
            Some((batch, at))
        });
        match row.name {
            "ring_id" => {
                let size = q.ring(self.dir).size.max(1);
                vec![format!(
                    "it is descriptor {k} of the ring since its reset, lap {} of {size_slots}; phase 1 is the first lap's",
                    k / size,
                    size_slots = count_of(size, "slot")
                )]
            }
            "first" | "last" | "concat" => self.in_packet(k, place.as_ref()),
            "dmb" | "strong_order" | "write_barrier" => match &place {
                Some((batch, at)) => self.barrier(q, row, k, batch, *at),
                None => vec!["the other ring's half of its batch is not staged yet".to_owned()],
            },
            "length" => self.length(row, origin),
            "buf_ptr" => self.address(row, origin),
            name if rule(name) == &CLASS => {
                let inst = self.run.exec.inst(origin.item);
                let opcode = inst.map_or("?", |i| i.opcode.name());
                let class = place.as_ref().and_then(|(b, at)| {
                    let d = b.packets[*at].0.iter().find(|x| !x.desc.is_meta())?;
                    Some(describe::op_names(d.desc.word1).join(" or "))
                });
                let class = class.map(|c| format!(" of class {c}")).unwrap_or_default();
                vec![format!("it is in a packet{class}, run as {opcode}")]
            }
            _ => Vec::new(),
        }
    }

    fn in_packet(&self, k: u64, place: Option<&(InRings, usize)>) -> Vec<String> {
        if self.dir == Dir::Rx {
            return vec!["no authored Rx descriptor carries a packet flag".to_owned()];
        }
        let Some((batch, at)) = place else { return Vec::new() };
        let tx = &batch.packets[*at].0;
        let data: Vec<&Held> = tx.iter().filter(|x| !x.desc.is_meta()).collect();
        let n = data.iter().position(|x| x.k == k);
        let of = |n: usize| {
            format!("data descriptor {} of {} in packet {at} of its batch", n + 1, data.len())
        };
        vec![n.map_or_else(|| "META carries no packet flags".to_owned(), of)]
    }

    fn length(&self, row: &FieldRow, origin: Origin) -> Vec<String> {
        let options = &self.run.options.lower;
        let value = if row.value == 0 { 65536 } else { row.value };
        if origin.descriptor.is_none() {
            return vec!["a completion pair copies 4 bytes".to_owned()];
        }
        let given = |name| options.get(name).unwrap_or_default();
        vec![format!(
            "{value} contiguous bytes; at most 65536, and no more than max_desc_elems = {}",
            count_of(given("max_desc_elems"), "element")
        )]
    }

    fn address(&self, row: &FieldRow, origin: Origin) -> Vec<String> {
        let mut out = Vec::new();
        if origin.descriptor.is_none() {
            let word = if self.dir == Dir::Tx { "source" } else { "polled" };
            return vec![format!("the {word} word of the marker of its queue")];
        }
        if let Some(l) = self.run.exec.layout().at(row.value) {
            let byte = l.position(row.value).unwrap_or(0);
            out.push(format!("it is byte {byte} of `{}`", l.name));
        }
        out
    }

    /// Which rule has put a barrier here, or why none has.
    fn barrier(
        &self,
        q: &Queue,
        row: &FieldRow,
        k: u64,
        batch: &InRings,
        at: usize,
    ) -> Vec<String> {
        let options = &self.run.options;
        let last = batch.packets.len().saturating_sub(2);
        let closing = author::final_barrier(options.profile, options.arch);
        let name = match closing {
            Barrier::None => "nothing",
            Barrier::Dmb => "dmb",
            Barrier::WriteBarrier => "write_barrier",
            Barrier::StrongOrderWrite => "strong_order",
        };
        let (tx, rx) = &batch.packets[at];
        let end = if self.dir == Dir::Tx { tx.last() } else { rx.last() };
        let is_end = at == last && batch.packets.len() > 1 && end.is_some_and(|x| x.k == k);
        let first = tx.iter().find(|x| !x.desc.is_meta()).is_some_and(|x| x.k == k);
        let mut out = Vec::new();
        if row.value == 1 {
            if row.name == "dmb" && self.dir == Dir::Tx && first {
                match self.reads_after_write(q, batch, at) {
                    Some(text) => out.push(format!("rule read after write: {text}")),
                    None if batch.own.block.is_some() && !(is_end && name == "dmb") => out.push(
                        "rule read after write: it reads what an earlier packet of its block wrote, in a batch before"
                            .to_owned(),
                    ),
                    None => {}
                }
            }
            if row.name == name && is_end {
                out.push(format!(
                    "rule end of batch: the last data descriptor carries {closing} so that the marker stays behind the data (profile {}, {})",
                    options.profile.name, options.arch
                ));
            }
            if out.is_empty() {
                out.push(
                    "no rule of the authoring sets it here: it was changed by hand".to_owned(),
                );
            }
            return out;
        }
        if row.name == "dmb" && self.dir == Dir::Tx {
            out.push(match (first, self.reads_after_write(q, batch, at)) {
                (false, _) => "only the first data descriptor of a packet gets it by the rule read after write".to_owned(),
                (true, None) => "it reads nothing that an earlier packet of its batch writes".to_owned(),
                (true, Some(text)) => format!("{text}, and an earlier DMB orders that already"),
            });
        }
        if !is_end {
            out.push(format!("it is not the end of its batch, which {closing} closes"));
        } else if row.name != name {
            out.push(format!(
                "the batch is closed by {closing} (profile {}, {})",
                options.profile.name, options.arch
            ));
        } else {
            out.push("the rule end of batch would set it: it was changed by hand".to_owned());
        }
        out
    }

    /// What of an earlier packet's writes a packet reads.
    fn reads_after_write(&self, q: &Queue, batch: &InRings, at: usize) -> Option<String> {
        let slot = |dir, k: u64| k % q.ring(dir).size.max(1);
        let reads = batch.packets[at].0.iter().filter(|x| !x.desc.is_meta());
        for r in reads {
            for (n, p) in batch.packets[..at].iter().enumerate().rev() {
                if let Some(w) = p.1.iter().find(|w| overlaps(w.desc, r.desc)) {
                    return Some(format!(
                        "tx[{}] reads bytes that rx[{}] of packet {n} writes",
                        slot(Dir::Tx, r.k),
                        slot(Dir::Rx, w.k)
                    ));
                }
            }
        }
        None
    }
}
