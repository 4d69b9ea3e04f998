//! What the blocks of a module take of rings: descriptors by queue, against every limit that is
//! known; who spends most; how small the descriptors are (`docs/provenance.md`, "Budget").
//!
//! Every block is authored once, as it would be when it is fired. MODEL: a base that is known
//! only at run time counts as 0, or as the least that lies in its location, so that a descriptor
//! that crosses no border there may be cut in two elsewhere.

use super::author::{self, Target};
use super::lower::options::{SWDGE_DEPTH, ring_depth};
use super::module_run::ModuleRun;
use crate::bir::exec::{Env, resolve_descriptor, resolve_dma};
use crate::bir::layout::{PARTITIONS, SB_BASE, SB_STRIDE};
use crate::bir::memory::Read;
use crate::bir::{Body, DgeType, Inst, Layout, Module, Name, Pair, Pos, Transfer};
use crate::limits::{MAX_BUDGET_DESCS, MAX_RING_DESCS};
use crate::udma::profile::{MAX_BATCH_DATA, MAX_DESC_BYTES};
use crate::udma::{DESC_BYTES, Desc, count_of};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// Instructions that are listed as those that spend most.
pub const TOP: usize = 10;
/// Data pairs of the largest batch that the driver makes, with its marker.
pub const DRIVER_BATCH: u64 = MAX_BATCH_DATA + 1;
/// Lengths by which descriptors are told apart: below the first, below the second, ..
pub const SIZES: [u64; 4] = [64, 512, 4096, MAX_DESC_BYTES];

/// Descriptors by their length: below 64, 512, 4096, 65536 bytes, and of 65536.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Histogram(pub [u64; SIZES.len() + 1]);

impl Histogram {
    fn add(&mut self, bytes: u64) {
        self.0[SIZES.iter().position(|s| bytes < *s).unwrap_or(SIZES.len())] += 1;
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The buckets in words, each with how many there are.
    pub fn buckets(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        let names = SIZES.iter().map(|s| format!("<{s}")).chain([format!("={MAX_DESC_BYTES}")]);
        names.zip(self.0)
    }
}

/// Descriptors of both rings and the bytes that they move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Packets.
    pub packets: u64,
    /// Tx descriptors, META included.
    pub tx: u64,
    /// Rx descriptors.
    pub rx: u64,
    /// Bytes written.
    pub bytes: u64,
}

impl Spent {
    fn add(&mut self, packet: &author::Packet) {
        self.packets += 1;
        self.tx += packet.tx.len() as u64;
        self.rx += packet.rx.len() as u64;
        self.bytes += packet.writes().map(|w| w.1).sum::<u64>();
    }

    /// Slots that the longer ring needs.
    pub fn slots(&self) -> u64 {
        self.tx.max(self.rx)
    }

    /// Bytes of both rings.
    pub fn ring_bytes(&self) -> u64 {
        (self.tx + self.rx) * DESC_BYTES as u64
    }
}

/// A block, or a transfer that was not lowered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockBudget {
    /// Name.
    pub name: Name,
    /// Descriptors of the module.
    pub descriptors: u64,
    /// What they come to in rings, without the completion pair.
    pub spent: Spent,
    /// Who writes its descriptors.
    pub dge: DgeType,
}

/// A queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueBudget {
    /// Name.
    pub name: Name,
    /// Blocks, and transfers that were not lowered.
    pub blocks: u64,
    /// Descriptors of the module in them.
    pub descriptors: u64,
    /// What all of them come to, each once, with a completion pair each.
    pub spent: Spent,
    /// The block that needs the most slots.
    pub largest: Option<BlockBudget>,
    /// Blocks with more descriptors than the ring of their kind is deep (1020, 65520).
    pub too_deep: u64,
    /// Blocks larger than the largest batch of the driver.
    pub beyond_batch: u64,
}

/// What an instruction of the loaded module takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spender {
    /// The instruction.
    pub pos: Pos,
    /// In words.
    pub text: String,
    /// What it takes.
    pub spent: Spent,
}

/// What a module takes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Budget {
    /// By queue, in the order of the module.
    pub queues: Vec<QueueBudget>,
    /// Instructions that take most, at most [`TOP`].
    pub spenders: Vec<Spender>,
    /// Those that write most to SBUF.
    pub sbuf_spenders: Vec<Spender>,
    /// All together.
    pub all: Spent,
    /// What writes to SBUF: its packets, their Tx descriptors, Rx descriptors and bytes there.
    pub sbuf: Spent,
    /// Lengths of all data descriptors.
    pub sizes: Histogram,
    /// Lengths of Rx descriptors that lie in SBUF.
    pub sbuf_sizes: Histogram,
    /// Bytes of locations in device memory.
    pub dram_bytes: u64,
    /// Blocks that cannot be said in descriptors, and why; a few.
    pub refused: Vec<String>,
    /// How many there are.
    pub refused_count: u64,
    /// Whether everything was counted; false beyond `limits::MAX_BUDGET_DESCS`.
    pub complete: bool,
}

/// Everything that is known only at run time is 0.
struct Zero;

impl Env for Zero {
    fn axis(&self, _: &str) -> Option<i64> {
        Some(0)
    }

    fn register(&self, _: &str) -> Option<i64> {
        Some(0)
    }
}

impl Read for Zero {
    fn read(&self, _: u64, out: &mut [u8]) -> Option<u64> {
        out.fill(0);
        None
    }
}

/// What a transfer or descriptor does where every base that is looked up is 0; where that is
/// outside of its location, at the first place that is not.
fn at_zero(inst: &Inst, layout: &Layout) -> Result<Vec<Transfer>, String> {
    let resolve = |i: &Inst| {
        let done = match &i.body {
            Body::Dma(_) => resolve_dma(i, &Zero, layout, &Zero),
            _ => resolve_descriptor(i, &Zero, layout, &Zero),
        };
        done.map_err(|f| f.diag.message)
    };
    resolve(inst).or_else(|why| resolve(&at_begin(inst).ok_or(why)?))
}

/// With the sides whose base is looked up moved to the begin of their locations; nothing where
/// there is none.
fn at_begin(inst: &Inst) -> Option<Inst> {
    let mut out = inst.clone();
    let mut moved = false;
    let sides = out.ins.iter_mut().chain(&mut out.outs);
    for p in sides.filter_map(|o| o.as_pattern_mut()) {
        let listed = p.index_arg().is_some();
        if listed || (p.reference.is_none() && p.start.is_none()) {
            continue;
        }
        (p.reference, p.start, moved) = (None, None, true);
        let back = |p: &Pair| p.step.min(0).saturating_mul(p.num.saturating_sub(1) as i64);
        p.offset = p.pairs.iter().map(back).fold(0i64, i64::saturating_sub);
    }
    moved.then_some(out)
}

/// Refused blocks that are told one by one.
const REFUSED_SHOWN: usize = 8;

struct Count<'a> {
    target: &'a Target,
    out: Budget,
    by_inst: BTreeMap<Pos, (Spent, Spent)>,
    left: u64,
}

impl Budget {
    /// Of a lowered module. What is not lowered counts as one block.
    pub fn of(
        module: &Module,
        layout: &Layout,
        target: &Target,
        text: &dyn Fn(Pos) -> String,
    ) -> Budget {
        let out = Budget { complete: true, ..Budget::default() };
        let mut c = Count { target, out, by_inst: BTreeMap::new(), left: MAX_BUDGET_DESCS };
        c.out.dram_bytes =
            layout.placed().iter().filter(|l| l.space.is_dram()).map(|l| l.bytes()).sum();
        let mut dge: HashMap<(&str, &str), DgeType> = HashMap::new();
        let mut unlowered: HashMap<Name, Vec<&Inst>> = HashMap::new();
        each(module, &mut |i| match &i.body {
            Body::Trigger(t) => {
                for b in &t.dma_blocks {
                    dge.insert((t.queue.as_deref().unwrap_or(""), b), t.dge);
                }
            }
            Body::Dma(d) => {
                if let Some(q) = &d.queue {
                    unlowered.entry(q.clone()).or_default().push(i);
                }
            }
            _ => {}
        });
        for q in &module.queues {
            let mut queue = QueueBudget {
                name: q.name.clone(),
                blocks: 0,
                descriptors: 0,
                spent: Spent::default(),
                largest: None,
                too_deep: 0,
                beyond_batch: 0,
            };
            for b in q.dma_blocks() {
                let Body::DmaBlock(block) = &b.body else { continue };
                let groups = block.descriptors().map(|d| at_zero(d, layout)).collect();
                let n = block.descriptors().count() as u64;
                let kind = dge.get(&(&*q.name, &*b.name)).copied().unwrap_or(DgeType::Unassigned);
                c.block(&mut queue, (&b.name, n, kind), groups);
            }
            for i in unlowered.remove(&q.name).unwrap_or_default() {
                let kind = i.dma().map_or(DgeType::Unassigned, |d| d.dge);
                let group = at_zero(i, layout);
                c.block(&mut queue, (&i.name, 1, kind), vec![group]);
            }
            c.out.queues.push(queue);
        }
        let top = |which: &dyn Fn(&(Spent, Spent)) -> Spent| {
            let mut all: Vec<(Pos, Spent)> =
                c.by_inst.iter().map(|(p, s)| (*p, which(s))).filter(|s| s.1.rx > 0).collect();
            all.sort_by_key(|(p, s)| (std::cmp::Reverse(s.tx + s.rx), *p));
            let spender = |(pos, spent)| Spender { pos, text: text(pos), spent };
            all.into_iter().take(TOP).map(spender).collect::<Vec<_>>()
        };
        let (spenders, sbuf_spenders) = (top(&|s| s.0), top(&|s| s.1));
        Budget { spenders, sbuf_spenders, ..c.out }
    }

    /// Of a module on rings.
    pub fn of_run(run: &ModuleRun) -> Budget {
        let text = |pos| {
            run.inst(pos).map_or_else(String::new, |i| {
                let place = super::provenance::line_text(&i.place);
                if place.is_empty() { i.text.clone() } else { format!("{} ({place})", i.text) }
            })
        };
        Budget::of(run.exec.module(), run.exec.layout(), &run.target, &text)
    }
}

/// Calls `f` for every instruction of the functions.
fn each<'m>(module: &'m Module, f: &mut dyn FnMut(&'m Inst)) {
    fn walk<'m>(blocks: &'m [crate::bir::Block], f: &mut dyn FnMut(&'m Inst)) {
        // Nesting is bounded when a module is read (`limits::MAX_BIR_DEPTH`).
        for i in blocks.iter().flat_map(|b| &b.insts) {
            f(i);
            walk(i.blocks(), f);
        }
    }
    module.functions.iter().for_each(|x| walk(&x.blocks, f));
}

impl Count<'_> {
    fn block(
        &mut self,
        queue: &mut QueueBudget,
        (name, descriptors, dge): (&Name, u64, DgeType),
        groups: Vec<Result<Vec<Transfer>, String>>,
    ) {
        queue.blocks += 1;
        queue.descriptors += descriptors;
        if ring_depth(dge).is_some_and(|depth| descriptors > depth) {
            queue.too_deep += 1;
        }
        if self.left == 0 {
            self.out.complete = false;
            return;
        }
        let groups: Result<Vec<_>, _> = groups.into_iter().collect();
        let authored =
            groups.and_then(|g| author::author_block(&g, self.target).map_err(|e| e.to_string()));
        let authored = match authored {
            Ok(a) => a,
            Err(why) => {
                self.out.refused_count += 1;
                if self.out.refused.len() < REFUSED_SHOWN {
                    self.out.refused.push(format!("{} {name}: {why}", queue.name));
                }
                return;
            }
        };
        let mut spent = Spent::default();
        for p in &authored.packets {
            spent.add(p);
            let mut here = Spent::default();
            here.add(p);
            let data = p.tx.iter().filter(|d| !d.is_meta()).chain(&p.rx);
            data.for_each(|d| self.out.sizes.add(d.length()));
            let mut sbuf = Spent::default();
            for d in p.rx.iter().filter(|d| in_sbuf(d)) {
                sbuf.rx += 1;
                sbuf.bytes += d.length();
                self.out.sbuf_sizes.add(d.length());
            }
            if sbuf.rx > 0 {
                (sbuf.packets, sbuf.tx) = (1, p.tx.len() as u64);
            }
            let of = self.by_inst.entry(p.from).or_default();
            sum(&mut of.0, &here);
            sum(&mut of.1, &sbuf);
            sum(&mut self.out.sbuf, &sbuf);
        }
        self.left = self.left.saturating_sub(spent.tx + spent.rx);
        // The completion pair.
        let whole =
            Spent { packets: spent.packets + 1, tx: spent.tx + 1, rx: spent.rx + 1, ..spent };
        sum(&mut queue.spent, &whole);
        sum(&mut self.out.all, &whole);
        if whole.slots() > DRIVER_BATCH {
            queue.beyond_batch += 1;
        }
        if queue.largest.as_ref().is_none_or(|l| l.spent.slots() < spent.slots()) {
            queue.largest = Some(BlockBudget { name: name.clone(), descriptors, spent, dge });
        }
    }
}

fn sum(to: &mut Spent, more: &Spent) {
    to.packets += more.packets;
    to.tx += more.tx;
    to.rx += more.rx;
    to.bytes += more.bytes;
}

fn in_sbuf(d: &Desc) -> bool {
    (SB_BASE..SB_BASE + PARTITIONS * SB_STRIDE).contains(&d.ptr)
}

impl Budget {
    /// In words, line by line.
    pub fn lines(&self) -> Vec<String> {
        let mut out = vec![format!(
            "{:<16} {:>7} {:>9} {:>9} {:>9} {:>9} {:>12} {:>11}  largest block",
            "queue", "blocks", "module", "packets", "tx", "rx", "ring bytes", "of 2^24-16"
        )];
        for q in &self.queues {
            let s = &q.spent;
            let largest = q.largest.as_ref().map_or_else(
                || "none".to_owned(),
                |b| {
                    let depth = match ring_depth(b.dge) {
                        Some(depth) => format!(", {} of depth {depth}", b.dge.name()),
                        None => String::new(),
                    };
                    format!(
                        "{}: {}, {}{depth}",
                        b.name,
                        count_of(b.descriptors, "descriptor"),
                        count_of(b.spent.slots(), "slot")
                    )
                },
            );
            out.push(format!(
                "{:<16} {:>7} {:>9} {:>9} {:>9} {:>9} {:>12} {:>11}  {largest}",
                crate::diag::render::printable(&q.name),
                q.blocks,
                q.descriptors,
                s.packets,
                s.tx,
                s.rx,
                s.ring_bytes(),
                share(s.slots(), MAX_RING_DESCS)
            ));
            if s.slots() > MAX_RING_DESCS {
                out.push(format!("  over: {} do not fit one queue", count_of(s.slots(), "slot")));
            }
            if q.too_deep > 0 {
                out.push(format!(
                    "  over: {} deeper than the ring of that kind",
                    count_of(q.too_deep, "block")
                ));
            }
            if q.beyond_batch > 0 {
                let text = "blocks are larger than the driver's largest batch of";
                out.push(format!("  note: {} {text} {DRIVER_BATCH} pairs", q.beyond_batch));
            }
        }
        let a = &self.all;
        let (rings, dram) = (a.ring_bytes(), self.dram_bytes);
        out.push(format!(
            "all: {} tx, {} rx, {rings_bytes} of rings beside {dram_bytes} of locations in device memory",
            a.tx, a.rx, rings_bytes = count_of(rings, "byte"), dram_bytes = count_of(dram, "byte")));
        out.push(format!("lengths: {}", histogram(&self.sizes)));
        spenders("spent by", &self.spenders, &mut out);
        let s = &self.sbuf;
        out.push(format!(
            "to SBUF: {}, {} rx, {}",
            count_of(s.packets, "packet"),
            s.rx,
            count_of(s.bytes, "byte")
        ));
        if s.rx > 0 {
            out.push(format!("lengths in SBUF: {}", histogram(&self.sbuf_sizes)));
            spenders("spent on SBUF by", &self.sbuf_spenders, &mut out);
        }
        for r in &self.refused {
            out.push(format!("not counted: {r}"));
        }
        if let more @ 1.. = self.refused_count - self.refused.len() as u64 {
            out.push(format!("and {more} more that are not counted"));
        }
        if !self.complete {
            out.push(format!("counting ended after {MAX_BUDGET_DESCS} descriptors"));
        }
        out
    }

    /// As JSON (`docs/json.md`, "budget").
    pub fn to_json(&self) -> Value {
        let spent = |s: &Spent| {
            json!({ "packets": s.packets, "tx": s.tx, "rx": s.rx, "bytes": s.bytes,
                "slots": s.slots(), "ring_bytes": s.ring_bytes() })
        };
        let histogram = |h: &Histogram| {
            h.buckets().map(|(k, n)| (k, n.into())).collect::<serde_json::Map<_, _>>()
        };
        let spender =
            |s: &Spender| json!({ "inst": s.text, "pos": s.pos.0, "spent": spent(&s.spent) });
        let queue = |q: &QueueBudget| {
            let largest = q.largest.as_ref().map(|b| {
                json!({ "name": &*b.name, "descriptors": b.descriptors, "dge_type": b.dge.name(),
                    "depth": ring_depth(b.dge), "spent": spent(&b.spent) })
            });
            json!({ "name": &*q.name, "blocks": q.blocks, "descriptors": q.descriptors,
                "spent": spent(&q.spent), "largest": largest, "too_deep": q.too_deep,
                "beyond_batch": q.beyond_batch })
        };
        json!({
            "queues": self.queues.iter().map(queue).collect::<Vec<_>>(),
            "limits": { "queue": MAX_RING_DESCS, "driver_batch": DRIVER_BATCH,
                "swdge": SWDGE_DEPTH, "hwdge": super::lower::options::HWDGE_DEPTH },
            "all": spent(&self.all),
            "lengths": histogram(&self.sizes),
            "spenders": self.spenders.iter().map(spender).collect::<Vec<_>>(),
            "sbuf": { "spent": spent(&self.sbuf), "lengths": histogram(&self.sbuf_sizes),
                "spenders": self.sbuf_spenders.iter().map(spender).collect::<Vec<_>>() },
            "dram_bytes": self.dram_bytes,
            "refused": self.refused_count,
            "complete": self.complete,
        })
    }
}

fn histogram(h: &Histogram) -> String {
    h.buckets().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
}

/// A share as a percentage with two digits.
fn share(part: u64, of: u64) -> String {
    let hundredths = part.saturating_mul(10_000) / of.max(1);
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

fn spenders(title: &str, list: &[Spender], out: &mut Vec<String>) {
    for s in list {
        let spent = &s.spent;
        out.push(format!(
            "  {title} {}: {} tx, {} rx, {}",
            s.text,
            spent.tx,
            spent.rx,
            count_of(spent.bytes, "byte")
        ));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::bir::generate;
    use crate::diag::Place;
    use crate::engine::lower::{Options, Stage, lower};
    use crate::engine::module_run::{self, Initial, Part};
    use crate::engine::ring::{Machine, machine};
    use crate::udma::Generation;

    /// Without bases that are known only at run time the count is what the run stages.
    #[test]
    fn a_block_counts_what_a_run_stages_for_it() {
        let mut compared = 0;
        for seed in 0..20 {
            let g = generate::module(seed, &generate::Options::plain());
            let lowered = lower(&g.module, &Options::default(), Stage::LowerDma);
            let given = g.memory.iter().map(|(n, b)| (n.to_string(), b.clone())).collect();
            let mut options = module_run::Options::new(Generation::V3);
            options.ring_slots = 1 << 20;
            let p = module_run::program(
                &lowered,
                &|_| Place::default(),
                &Initial { given, file: None },
                &options,
            );
            let p = p.unwrap();
            let budget = Budget::of_run(p.module.as_ref().unwrap());
            assert!(budget.complete && budget.refused.is_empty());
            let (mut tx, mut rx, mut last) = (0, 0, Vec::new());
            machine::run(&p, |m: &Machine, _| {
                let works: Vec<_> = m.seqs.iter().filter_map(|s| s.work.clone()).collect();
                for w in works.iter().filter(|w| !last.iter().any(|l| std::sync::Arc::ptr_eq(l, w)))
                {
                    for part in &w.parts {
                        if let Part::Batch(b) = part {
                            (tx, rx) = (tx + b.tx.len() as u64, rx + b.rx.len() as u64);
                        }
                    }
                }
                last = works;
                true
            });
            assert_eq!((budget.all.tx, budget.all.rx), (tx, rx), "{seed}");
            let by_queue: u64 = budget.queues.iter().map(|q| q.spent.tx).sum();
            assert_eq!(by_queue, tx);
            compared += tx;
        }
        assert!(compared > 100);
    }

    #[test]
    fn a_length_falls_into_one_bucket() {
        let mut h = Histogram::default();
        for n in [1, 63, 64, 511, 512, 4096, 65_535, 65_536] {
            h.add(n);
        }
        assert_eq!((h.0, h.total()), ([2, 2, 1, 2, 1], 8));
        assert_eq!(share(MAX_RING_DESCS, MAX_RING_DESCS), "100.00%");
    }

    #[test]
    fn text_and_json_say_the_same_of_every_generated_module() {
        let mut sbuf = 0;
        for seed in 0..30 {
            let g = generate::module(seed, &generate::Options::default());
            let lowered = lower(&g.module, &Options::default(), Stage::LowerDma);
            let module = lowered.module().unwrap();
            let arch = g.module.arch.and_then(crate::bir::Arch::generation).unwrap();
            let target = Target::new(arch, crate::udma::Profile::default_profile());
            let b = Budget::of(module, &Layout::new(module), &target, &|p| format!("#{}", p.0));
            let json = b.to_json();
            assert_eq!(json["queues"].as_array().unwrap().len(), module.queues.len());
            let lengths: u64 =
                json["lengths"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
            assert_eq!(lengths, b.sizes.total());
            assert!(b.lines().iter().any(|l| l.starts_with("all: ")));
            assert!(b.spenders.len() <= TOP);
            sbuf += b.sbuf.bytes;
            assert_eq!(b.refused, Vec::<String>::new(), "{seed}");
        }
        assert!(sbuf > 0);
    }
}
