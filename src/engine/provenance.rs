//! From a source line to the bits in a ring, and from a slot back to its line
//! (`docs/provenance.md`).
//!
//! Up to the descriptors of a block nothing is recorded: every instruction of every stage knows
//! its position in the loaded module. From there to the slots the run tells: what a sequencer
//! copies into a ring carries its [`Origin`].

pub mod bits;
mod json;

use super::command::nearest;
use super::lower::{Stage, provenance as paths};
use super::module_run::{InstInfo, ModuleRun, Origin};
use super::program::QueueId;
use super::ring::Machine;
use crate::bir::{Body, Inst, Module, Name, Pos};
use crate::diag::{Place, render};
use crate::limits::MAX_NAMES_COMPARED;
use crate::udma::describe::FieldRow;
use crate::udma::{DESC_BYTES, Desc, Dir, Generation, count_of, describe};
use bits::BitCause;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Names of one stage that are written out in a line.
const NAMES_SHOWN: usize = 6;
/// Instructions whose whole chain is shown for a block or a location.
const CHAINS_SHOWN: usize = 8;
/// Runs of slots that are shown in a line.
const RUNS_SHOWN: usize = 8;

/// What an instruction of the loaded module has become after a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtStage {
    /// The stage.
    pub stage: Stage,
    /// Where its instructions are in the module after it.
    pub paths: Vec<paths::Path>,
}

/// A descriptor of a block.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DescriptorAt {
    /// Queue.
    pub queue: Name,
    /// Position of the block in its queue.
    pub position: u32,
    /// Name of the block.
    pub block: Name,
    /// Position of the descriptor in it.
    pub descriptor: u32,
}

/// A slot that holds a descriptor of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotAt {
    /// Queue.
    pub queue: QueueId,
    /// Ring.
    pub dir: Dir,
    /// Slot.
    pub slot: u64,
    /// Of what the descriptor is made.
    pub origin: Origin,
}

/// What a name or an address stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Instructions of the loaded module: that have the name, or one of whose clones has it.
    Insts(Vec<Pos>),
    /// A DMA block, after the last stage: queue and position in it.
    Block(Name, u32),
    /// A queue.
    Queue(Name),
    /// Bytes of a memory location: its name, the flat address.
    Bytes(Name, u64),
    /// A slot of a ring.
    Slot(QueueId, Dir, u64),
}

/// Where everything of a module came from and went to.
#[derive(Debug, Clone, Copy)]
pub struct Provenance<'a> {
    run: &'a ModuleRun,
}

impl<'a> Provenance<'a> {
    /// Of a module on rings.
    pub fn of(run: &'a ModuleRun) -> Provenance<'a> {
        Provenance { run }
    }

    /// The instruction of the loaded module at a position, and where it is in its file.
    pub fn source(&self, pos: Pos) -> Option<InstInfo> {
        self.run.inst(pos)
    }

    /// What became of an instruction of the loaded module in each stage, in order.
    pub fn stages(&self, pos: Pos) -> Vec<AtStage> {
        let snapshots = self.run.lowered.snapshots.iter();
        snapshots
            .map(|s| AtStage { stage: s.stage, paths: paths::derived(&s.module, pos) })
            .collect()
    }

    /// The descriptors that an instruction of the loaded module became, by queue and block.
    pub fn descriptors(&self, pos: Pos) -> Vec<DescriptorAt> {
        let mut out = Vec::new();
        for q in &self.module().queues {
            for (position, block) in (0u32..).zip(q.dma_blocks()) {
                let Body::DmaBlock(b) = &block.body else { continue };
                let all = (0u32..).zip(b.descriptors()).filter(|(_, d)| d.pos == pos);
                out.extend(all.map(|(descriptor, _)| DescriptorAt {
                    queue: q.name.clone(),
                    position,
                    block: block.name.clone(),
                    descriptor,
                }));
            }
        }
        out
    }

    /// The instructions after the last stage that fire a block.
    pub fn triggers(&self, queue: &str, block: &str) -> Vec<Arc<Inst>> {
        let mut out = Vec::new();
        self.module().visit(&mut |i| {
            if let Body::Trigger(t) = &i.body
                && t.queue.as_deref() == Some(queue)
                && t.dma_blocks.iter().any(|b| &**b == block)
            {
                out.push(i.clone());
            }
        });
        out
    }

    /// The slots that now hold descriptors of an instruction of the loaded module. Those of the
    /// completion pairs behind them are not among them.
    pub fn slots(&self, m: &Machine, pos: Pos) -> Vec<SlotAt> {
        self.slots_where(m, &|_, o| o.inst == pos && o.descriptor.is_some())
    }

    /// The slots that now hold descriptors of a block.
    pub fn slots_of_block(&self, m: &Machine, queue: &str, position: u32) -> Vec<SlotAt> {
        let Some(at) = self.run.queue(queue) else { return Vec::new() };
        self.slots_where(m, &|id, o| id == at.id && o.block.is_some_and(|b| b.0 == position))
    }

    fn slots_where(&self, m: &Machine, fits: &dyn Fn(QueueId, &Origin) -> bool) -> Vec<SlotAt> {
        let mut out = Vec::new();
        for q in &m.queues {
            for dir in Dir::BOTH {
                let all = q.origins(dir).filter(|(_, o)| fits(q.id(), o));
                out.extend(all.map(|(slot, origin)| SlotAt { queue: q.id(), dir, slot, origin }));
            }
        }
        out
    }

    /// Of what the descriptor is made that lies in a slot now.
    pub fn of_slot(&self, m: &Machine, queue: QueueId, dir: Dir, slot: u64) -> Option<Origin> {
        m.queue(queue)?.origin(dir, slot)
    }

    /// What a name stands for: an instruction of any stage, a block, a queue, a location, in
    /// this order. With `insts` only instructions are looked at.
    ///
    /// # Errors
    /// It stands for nothing; the names that are nearest.
    pub fn find(&self, name: &str, insts: bool) -> Result<Found, Vec<String>> {
        let mut found = BTreeSet::new();
        let mut block = None;
        for s in &self.run.lowered.snapshots {
            s.module.visit(&mut |i| {
                if &*i.name == name && !name.is_empty() && i.pos != Pos::ADDED {
                    found.insert(i.pos);
                }
            });
        }
        for q in &self.module().queues {
            let at = (0u32..).zip(q.dma_blocks()).find(|(_, b)| &*b.name == name);
            block = block.or(at.map(|(k, _)| Found::Block(q.name.clone(), k)));
        }
        if let Some(block) = block.filter(|_| !insts) {
            return Ok(block);
        }
        if !found.is_empty() {
            return Ok(Found::Insts(found.into_iter().collect()));
        }
        if !insts && let Some(q) = self.module().queue(name) {
            return Ok(Found::Queue(q.name.clone()));
        }
        let layout = self.run.exec.layout();
        if !insts && let Some(l) = layout.location(name) {
            return Ok(Found::Bytes(l.name.clone(), l.addr));
        }
        Err(self.near(name, insts))
    }

    /// Names of blocks, queues and locations, and names of instructions of all stages.
    pub fn names(&self) -> (Vec<String>, Vec<String>) {
        let mut insts = BTreeSet::new();
        for s in &self.run.lowered.snapshots {
            s.module.visit(&mut |i| {
                if insts.len() < MAX_NAMES_COMPARED && !i.name.is_empty() {
                    insts.insert(i.name.to_string());
                }
            });
        }
        let queues = &self.module().queues;
        let blocks = queues.iter().flat_map(|q| q.dma_blocks().map(|b| b.name.to_string()));
        let places = self.run.exec.layout().placed().iter().map(|l| l.name.to_string());
        let all = queues.iter().map(|q| q.name.to_string()).chain(blocks).chain(places);
        let named: BTreeSet<String> = all.take(MAX_NAMES_COMPARED).collect();
        (named.into_iter().collect(), insts.into_iter().collect())
    }

    fn near(&self, name: &str, insts: bool) -> Vec<String> {
        let mut known = BTreeSet::new();
        for s in &self.run.lowered.snapshots {
            s.module.visit(&mut |i| {
                if known.len() < MAX_NAMES_COMPARED && !i.name.is_empty() {
                    known.insert(i.name.clone());
                }
            });
        }
        if !insts {
            known.extend(self.module().queues.iter().map(|q| q.name.clone()));
            known.extend(self.run.exec.layout().placed().iter().map(|l| l.name.clone()));
        }
        nearest(name, known.iter().map(|n| &**n)).into_iter().map(str::to_owned).collect()
    }

    /// What lies at an address: a slot of a ring, or a byte of a location.
    pub fn find_address(&self, m: &Machine, addr: u64) -> Option<Found> {
        for q in &m.queues {
            for dir in Dir::BOTH {
                let ring = q.ring(dir);
                let at = addr.checked_sub(ring.base).filter(|at| *at < ring.bytes());
                if let Some(at) = at {
                    return Some(Found::Slot(q.id(), dir, at / DESC_BYTES as u64));
                }
            }
        }
        let l = self.run.exec.layout().at(addr)?;
        Some(Found::Bytes(l.name.clone(), addr))
    }

    fn module(&self) -> &'a Arc<Module> {
        self.run.exec.module()
    }

    /// The whole way of what was found, line by line, source first; for a slot the way back,
    /// with where its bits are from.
    pub fn lines(&self, m: &Machine, found: &Found, arch: Generation) -> Vec<String> {
        match found {
            Found::Insts(all) => {
                let mut out = Vec::new();
                for (k, pos) in all.iter().take(CHAINS_SHOWN).enumerate() {
                    if k > 0 {
                        out.push(String::new());
                    }
                    self.chain(m, *pos, &mut out);
                }
                more(all.len(), CHAINS_SHOWN, "instructions of this name", &mut out);
                out
            }
            Found::Block(queue, position) => self.block_lines(m, queue, *position),
            Found::Queue(name) => self.queue_lines(name),
            Found::Bytes(name, addr) => self.byte_lines(m, name, *addr),
            Found::Slot(id, dir, slot) => self.slot_lines(m, *id, *dir, *slot, arch),
        }
    }

    fn chain(&self, m: &Machine, pos: Pos, out: &mut Vec<String>) {
        self.source_lines(pos, out);
        self.stage_lines(pos, out);
        let descriptors = self.descriptors(pos);
        let (mut at, mut blocks) = (0, 0);
        while let Some(d) = descriptors.get(at) {
            let same = descriptors[at..]
                .iter()
                .take_while(|x| (&x.queue, x.position) == (&d.queue, d.position));
            let numbers: Vec<u64> = same.map(|x| u64::from(x.descriptor)).collect();
            at += numbers.len();
            blocks += 1;
            if blocks > CHAINS_SHOWN {
                continue;
            }
            for t in self.triggers(&d.queue, &d.block).iter().take(NAMES_SHOWN) {
                out.push(row("trigger", &format!("{} on {}", inst_text(t), t.engine)));
            }
            let runs = runs_text(&numbers);
            out.push(row("block", &format!("{} {}, descriptor {runs}", d.queue, d.block)));
        }
        more(blocks, CHAINS_SHOWN, "blocks", out);
        slots_row(&self.slots(m, pos), out);
    }

    fn source_lines(&self, pos: Pos, out: &mut Vec<String>) {
        let Some(info) = self.source(pos) else {
            out.push(row("source", "none: lowering added it of its own accord"));
            return;
        };
        let place = line_text(&info.place);
        let place = if place.is_empty() { "no file".to_owned() } else { place };
        out.push(row("source", &format!("{place}: {}", info.text)));
        let loaded = self.run.lowered.snapshots.first();
        let inst = loaded.and_then(|s| {
            let path = paths::derived(&s.module, pos).into_iter().next()?;
            paths::at(&s.module, &path).cloned()
        });
        if let Some(d) = inst.and_then(|i| i.debug.clone()) {
            let line = d.lineno.map(|n| format!(":{n}")).unwrap_or_default();
            let op = d.op_name.as_ref().map(|n| format!(" ({n})")).unwrap_or_default();
            let file = d.filename.as_deref().unwrap_or("");
            if !format!("{file}{line}{op}").is_empty() {
                out.push(row("model", &format!("{file}{line}{op}")));
            }
        }
    }

    fn stage_lines(&self, pos: Pos, out: &mut Vec<String>) {
        for (s, at) in self.run.lowered.snapshots.iter().zip(self.stages(pos)) {
            let mut names = Vec::new();
            for path in at.paths.iter().take(NAMES_SHOWN) {
                names.extend(paths::at(&s.module, path).map(|i| inst_text(i)));
            }
            let text = match at.paths.len() {
                0 => "nothing is left of it".to_owned(),
                n if n > NAMES_SHOWN => format!("{}, .. ({n})", names.join(", ")),
                _ => names.join(", "),
            };
            out.push(row(&s.stage.to_string(), &text));
        }
    }

    fn block_lines(&self, m: &Machine, queue: &Name, position: u32) -> Vec<String> {
        let of_queue = self.module().queue(queue);
        let Some(block) = of_queue.and_then(|q| q.dma_blocks().nth(position as usize)) else {
            return Vec::new();
        };
        let Body::DmaBlock(b) = &block.body else { return Vec::new() };
        let n = b.descriptors().count();
        let mut out = vec![row(
            "block",
            &format!(
                "{queue} {}, {n_descriptors}",
                block.name,
                n_descriptors = count_of(n, "descriptor")
            ),
        )];
        let triggers = self.triggers(queue, &block.name);
        for t in triggers.iter().take(CHAINS_SHOWN) {
            out.push(row("trigger", &format!("{} on {}", inst_text(t), t.engine)));
        }
        more(triggers.len(), CHAINS_SHOWN, "triggers", &mut out);
        slots_row(&self.slots_of_block(m, queue, position), &mut out);
        let from: BTreeSet<Pos> = b.descriptors().map(|d| d.pos).collect();
        for pos in from.iter().take(CHAINS_SHOWN) {
            self.source_lines(*pos, &mut out);
            self.stage_lines(*pos, &mut out);
        }
        more(from.len(), CHAINS_SHOWN, "instructions", &mut out);
        out
    }

    fn queue_lines(&self, name: &Name) -> Vec<String> {
        let at = self.run.queue(name).map(|q| q.id.to_string()).unwrap_or_default();
        let mut out = vec![row("queue", &format!("{name} is {at}"))];
        let Some(q) = self.module().queue(name) else { return out };
        let blocks: Vec<&Arc<Inst>> = q.dma_blocks().collect();
        for block in blocks.iter().take(CHAINS_SHOWN) {
            let Body::DmaBlock(b) = &block.body else { continue };
            let from: BTreeSet<Pos> = b.descriptors().map(|d| d.pos).collect();
            let text = |p: &Pos| self.source(*p).map_or_else(|| "nothing".to_owned(), |i| i.text);
            let from: Vec<String> = from.iter().take(NAMES_SHOWN).map(text).collect();
            let n = b.descriptors().count();
            let text =
                format!("{}, {} of {}", block.name, count_of(n, "descriptor"), from.join(", "));
            out.push(row("block", &text));
        }
        more(blocks.len(), CHAINS_SHOWN, "blocks", &mut out);
        out
    }

    fn byte_lines(&self, m: &Machine, name: &Name, addr: u64) -> Vec<String> {
        let layout = self.run.exec.layout();
        let byte = layout.at(addr).and_then(|l| l.position(addr)).unwrap_or(0);
        let mut out = vec![row("address", &format!("{addr:#x} is {name}, byte {byte}"))];
        let Some(loaded) = self.run.lowered.snapshots.first() else { return out };
        let (mut hits, mut total) = (Vec::new(), 0);
        loaded.module.visit(&mut |i| {
            let touches = |o: &crate::bir::Operand| {
                o.as_pattern().is_some_and(|p| layout.of(p).is_ok_and(|l| l.name == *name))
            };
            let reads = i.ins.iter().any(touches);
            let writes = i.outs.iter().any(touches);
            let verb = match (reads, writes) {
                (true, true) => "used by",
                (true, false) => "read by",
                (false, true) => "written by",
                (false, false) => return,
            };
            total += 1;
            if hits.len() < CHAINS_SHOWN {
                let place = self.source(i.pos).map(|s| line_text(&s.place));
                let place = place.filter(|p| !p.is_empty()).map(|p| format!(", {p}"));
                hits.push(row(verb, &format!("{}{}", inst_text(i), place.unwrap_or_default())));
            }
        });
        out.append(&mut hits);
        more(total, CHAINS_SHOWN, "instructions", &mut out);
        let covers = |s: &SlotAt| {
            let desc =
                desc_in(m, s.queue, s.dir, s.slot).filter(|d| !(s.dir == Dir::Tx && d.is_meta()));
            desc.is_some_and(|d| d.ptr <= addr && addr - d.ptr < d.length())
        };
        let slots: Vec<SlotAt> = self
            .slots_where(m, &|_, o| o.descriptor.is_some())
            .into_iter()
            .filter(covers)
            .collect();
        slots_row(&slots, &mut out);
        out
    }

    /// One field, or the fields of one word, of the descriptor in a slot: the value, the rule that
    /// set it and why.
    pub fn field_lines(
        &self,
        m: &Machine,
        (id, dir, slot): (QueueId, Dir, u64),
        arch: Generation,
        keep: &dyn Fn(&FieldRow) -> bool,
    ) -> Vec<String> {
        let mut out = vec![row("slot", &format!("{id}.{dir}[{slot}]"))];
        let Some(desc) = desc_in(m, id, dir, slot) else { return out };
        let Some(o) = self.of_slot(m, id, dir, slot) else {
            out.push(row("origin", "no instruction has put a descriptor there yet"));
            return out;
        };
        let cause = BitCause { run: self.run, machine: m, queue: id, dir, slot };
        for r in describe::explain(desc, dir, arch).iter().filter(|r| keep(r)) {
            field_row(r, &mut out);
            let rule = bits::rule(r.name);
            out.push(row("rule", &format!("{} (stage {})", rule.from, rule.stage)));
            out.extend(cause.why(r).iter().map(|t| row("because", t)));
            for name in rule.options {
                let value = self.run.options.lower.get(name).unwrap_or_default();
                out.push(row("option", &format!("{name} = {value} has a say in it")));
            }
        }
        self.source_lines(o.inst, &mut out);
        out
    }

    fn slot_lines(
        &self,
        m: &Machine,
        id: QueueId,
        dir: Dir,
        slot: u64,
        arch: Generation,
    ) -> Vec<String> {
        let name = self.run.queue_name(id).map(|n| format!(" ({n})")).unwrap_or_default();
        let mut out = vec![row("slot", &format!("{id}.{dir}[{slot}]{name}"))];
        let Some(desc) = desc_in(m, id, dir, slot) else { return out };
        let Some(o) = self.of_slot(m, id, dir, slot) else {
            out.push(row("origin", "no instruction has put a descriptor there yet"));
            return out;
        };
        out.push(row("bits", &describe::sentence(desc, dir, arch)));
        let queue = self.run.queue_name(id).and_then(|n| self.module().queue(n));
        if let Some((position, fire)) = o.block {
            let block = queue.and_then(|q| q.dma_blocks().nth(position as usize));
            let name = block.map_or("", |b| &*b.name);
            let n = match block.map(|b| &b.body) {
                Some(Body::DmaBlock(b)) => b.descriptors().count(),
                _ => 0,
            };
            let text = match o.descriptor {
                Some(d) => format!("{name}, descriptor {d} of {n}, fire {fire}"),
                None => format!("{name}, its completion pair, fire {fire}"),
            };
            out.push(row("block", &text));
        } else if o.descriptor.is_none() {
            out.push(row("block", "none; the completion pair of the transfer"));
        }
        if let Some(i) = self.run.exec.inst(o.item) {
            out.push(row("run as", &format!("{} on {}", inst_text(i), i.engine)));
        }
        let mut stages = Vec::new();
        self.stage_lines(o.inst, &mut stages);
        stages.reverse();
        out.append(&mut stages);
        self.source_lines(o.inst, &mut out);
        if let (Some(l), false) =
            (self.run.exec.layout().at(desc.ptr), dir == Dir::Tx && desc.is_meta())
        {
            let byte = l.position(desc.ptr).unwrap_or(0);
            out.push(row("buf_ptr", &format!("{:#x} is {}, byte {byte}", desc.ptr, l.name)));
        }
        for r in describe::explain(desc, dir, arch) {
            out.push(row(
                "",
                &format!("{:<8} {:<16} {}: {}", r.bits(), r.name, r.words, bit_source(r.name)),
            ));
        }
        out
    }
}

/// Where a field's value is from.
pub fn bit_source(field: &str) -> &'static str {
    bits::rule(field).from
}

/// A field and its value.
pub(super) fn field_row(r: &FieldRow, out: &mut Vec<String>) {
    let class = r.class.map(|c| format!(", read as {c}")).unwrap_or_default();
    let text = format!("{} {} {}: {}{class}", r.word.name(), r.bits(), r.name, r.words);
    out.push(row("field", &text));
}

/// The descriptor that lies in a slot.
fn desc_in(m: &Machine, id: QueueId, dir: Dir, slot: u64) -> Option<Desc> {
    let ring = m.queue(id)?.ring(dir);
    if slot >= ring.size {
        return None;
    }
    let mut bytes = [0; DESC_BYTES];
    m.memory.read(ring.slot_addr(slot), &mut bytes);
    Some(Desc::from_bytes(&bytes))
}

/// A place as file, line and column.
pub(super) fn line_text(place: &Place) -> String {
    render::place(&Place { offset: None, ..place.clone() })
}

fn row(label: &str, text: &str) -> String {
    format!("{label:<10} {text}")
}

fn more(all: usize, shown: usize, what: &str, out: &mut Vec<String>) {
    if all > shown {
        out.push(row("", &format!("and {} more {what}", all - shown)));
    }
}

/// An instruction in words: name and opcode.
fn inst_text(i: &Inst) -> String {
    if i.name.is_empty() { i.opcode.to_string() } else { format!("%{} {}", i.name, i.opcode) }
}

/// Numbers in ascending order as runs: `0:7, 9`.
fn runs_text(numbers: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &n in numbers {
        match runs.last_mut() {
            Some(r) if r.1.checked_add(1) == Some(n) => r.1 = n,
            _ => runs.push((n, n)),
        }
    }
    let text =
        |r: &(u64, u64)| if r.0 == r.1 { r.0.to_string() } else { format!("{}:{}", r.0, r.1) };
    let shown: Vec<String> = runs.iter().take(RUNS_SHOWN).map(text).collect();
    let rest = if runs.len() > RUNS_SHOWN { ", .." } else { "" };
    format!("{}{rest}", shown.join(", "))
}

/// Slots by queue and ring.
fn slots_row(slots: &[SlotAt], out: &mut Vec<String>) {
    if slots.is_empty() {
        out.push(row("slots", "none now"));
        return;
    }
    let mut at = 0;
    while let Some(s) = slots.get(at) {
        let same = slots[at..].iter().take_while(|x| (x.queue, x.dir) == (s.queue, s.dir));
        let mut numbers: Vec<u64> = same.map(|x| x.slot).collect();
        at += numbers.len();
        numbers.sort_unstable();
        out.push(row("slots", &format!("{}.{}[{}]", s.queue, s.dir, runs_text(&numbers))));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
