//! Rules about queues, the blocks in them, the triggers that name those, and who may issue what.

use super::flow::Scope;
use super::{Cx, Home};
use crate::bir::blocks::{BlockNo, Blocks};
use crate::bir::quick::{QuickMap, QuickSet};
use crate::bir::{
    Arch, At, Body, DgeType, Engine, Finding, Inst, Mode, Module, Name, Opcode, Operand, Part,
    Queue,
};
use crate::diag::Severity;
use crate::limits::{MAX_BIR_QUEUES, MAX_QUEUE_NAME_BYTES};
use crate::udma::count_of;
use smallvec::SmallVec;
use std::collections::HashSet;
use std::sync::Arc;

/// The blocks of all queues by name.
pub(super) struct Index<'a> {
    pub blocks: Blocks<&'a str>,
    /// For each queue whether no two of its blocks have one name.
    apart: Vec<bool>,
}

/// Blocks that a trigger names, as far as there are such.
pub(super) type Fired = SmallVec<[BlockNo; 4]>;

impl<'a> Index<'a> {
    pub fn new(module: &'a Module) -> Index<'a> {
        let mut blocks = Blocks::default();
        let add = |q: &'a Queue| {
            let own = (0u32..).zip(q.dma_blocks());
            let own = own.filter(|(_, b)| matches!(b.body, Body::DmaBlock(_)));
            blocks.add(&q.name, q.dma_blocks().count(), own.map(|(k, b)| (k, &*b.name)))
        };
        let apart = module.queues.iter().map(add).collect();
        Index { blocks, apart }
    }
}

pub(super) fn check(cx: &mut Cx<'_>) {
    let module = cx.module;
    if let Some(first) = module.queues.get(MAX_BIR_QUEUES) {
        let text = format!(
            "{}; a program has at most {MAX_BIR_QUEUES}",
            count_of(module.queues.len(), "queue")
        );
        cx.push(Finding::new("B060", At::Queue(first.name.clone()), text));
    }
    let mut names = HashSet::new();
    for (k, q) in module.queues.iter().enumerate() {
        let at = At::Queue(q.name.clone());
        if q.name.len() > MAX_QUEUE_NAME_BYTES {
            let text = format!(
                "the name `{}` has {}; a queue's name has at most {MAX_QUEUE_NAME_BYTES}",
                q.name,
                count_of(q.name.len(), "byte")
            );
            cx.push(Finding::new("B060", at.clone(), text));
        }
        if !names.insert(&q.name) {
            cx.push(Finding::new("B060", at, format!("a second queue is named `{}`", q.name)));
        }
        if !cx.queues.apart.get(k).copied().unwrap_or_default() {
            unique_names(cx, q);
        }
        unique_ids(cx, q);
    }
}

fn unique_names(cx: &mut Cx<'_>, q: &Queue) {
    let mut names: QuickSet<&Name> = QuickSet::default();
    for inst in q.dma_blocks().filter(|b| matches!(b.body, Body::DmaBlock(_))) {
        if !names.insert(&inst.name) {
            let text = format!("queue `{}` has a block `{}` already", q.name, inst.name);
            cx.push(Finding::new("B064", At::Inst(inst.pos, Part::Whole), text));
        }
    }
}

fn unique_ids(cx: &mut Cx<'_>, q: &Queue) {
    let id = |(position, inst): (usize, &'_ Arc<Inst>)| match &inst.body {
        Body::DmaBlock(b) => Some(b.block_id.unwrap_or(position as u64)),
        _ => None,
    };
    // Those that grow are not the same.
    if q.dma_blocks().enumerate().filter_map(id).is_sorted_by(|a, b| a < b) {
        return;
    }
    let mut ids: QuickMap<u64, &Name> = QuickMap::default();
    for (position, inst) in q.dma_blocks().enumerate() {
        let Body::DmaBlock(b) = &inst.body else { continue };
        let id = b.block_id.unwrap_or(position as u64);
        if let Some(first) = ids.insert(id, &inst.name) {
            let given = if b.block_id.is_some() { "" } else { ", its position" };
            let text = format!(
                "duplicate block id: `{}` has {id}{given}, and so has `{first}` of the same queue",
                inst.name
            );
            cx.push(Finding::new("B064", At::Inst(inst.pos, Part::Key("block_id")), text));
        }
    }
}

/// Whether an instruction may stand where it stands.
pub(super) fn fits(cx: &mut Cx<'_>, inst: &Inst, home: Home) -> bool {
    let block = inst.opcode == Opcode::DmaBlock;
    let descriptor = inst.opcode.is_descriptor();
    let (code, text) = match home {
        Home::Function if block => ("B065", "a DMABlock outside a queue".to_owned()),
        Home::Function if descriptor => ("B065", "a descriptor outside a DMABlock".to_owned()),
        Home::Queue if !block => ("B065", format!("a {} among the blocks of a queue", inst.opcode)),
        Home::DmaBlock if !descriptor => {
            ("B062", format!("a DMABlock holds a {}, which is no descriptor", inst.opcode))
        }
        _ => return true,
    };
    cx.push(Finding::new(code, At::Inst(inst.pos, Part::Whole), text));
    false
}

/// What orders a block stands at the block: its descriptors run in order.
pub(super) fn check_descriptor(cx: &mut Cx<'_>, inst: &Inst) {
    let own = [&inst.deps, &inst.loop_deps].iter().any(|d| !d.is_empty());
    if own || !inst.waits.is_empty() || !inst.updates.is_empty() {
        let text = format!(
            "`{}`: a descriptor's own waits, updates and dependencies are not kept; those of its \
             block are",
            inst.name
        );
        cx.push(Finding::new("B090", At::Inst(inst.pos, Part::Whole), text));
    }
}

/// Engine, queue, blocks and DGE of what issues transfers. Returns the blocks that it fires.
pub(super) fn check_use(cx: &mut Cx<'_>, inst: &Inst, scope: &Scope) -> Fired {
    let (queue, dge) = match &inst.body {
        Body::Dma(d) => (&d.queue, d.dge),
        Body::Trigger(t) => (&t.queue, t.dge),
        _ => return Fired::new(),
    };
    // What leaves HWDGE anyway, with a warning of the pass (L002), is not judged by it.
    if dge == DgeType::Hwdge && !is_rerouted(inst) {
        hwdge(cx, inst);
    }
    if !Engine::STREAMS.contains(&inst.engine) {
        let has = if inst.engine == Engine::Unassigned {
            "no engine".to_owned()
        } else {
            format!("the engine {}, which has no instruction stream", inst.engine)
        };
        missing(cx, inst, "engine", format!("a {} has {has}", inst.opcode));
    }
    let Some(queue) = queue else {
        missing(cx, inst, "queue", format!("a {} has no queue", inst.opcode));
        return Fired::new();
    };
    let at = At::Inst(inst.pos, Part::Key("queue"));
    if !cx.queues.blocks.has_queue(queue) {
        cx.push(Finding::new("B061", at, format!("no queue is named `{queue}`")));
        return Fired::new();
    }
    match &inst.body {
        Body::Trigger(t) => trigger(cx, inst, queue, &t.dma_blocks, scope.never_runs()),
        _ => Fired::new(),
    }
}

fn missing(cx: &mut Cx<'_>, inst: &Inst, key: &'static str, text: String) {
    let mut f = Finding::new("L050", At::Inst(inst.pos, Part::Key(key)), text);
    // Nobody chooses for a trigger: its blocks are those of one queue.
    let dma = matches!(inst.body, Body::Dma(_));
    f.diag = f.diag.severity(if dma { cx.options.unqueued } else { Severity::Error });
    cx.push(f);
}

/// Whether lowering makes a transfer SWDGE whatever it says: a transpose, or an address with a
/// register in it.
fn is_rerouted(inst: &Inst) -> bool {
    let Some(dma) = inst.dma() else { return false };
    let patterns = || inst.ins.iter().chain(&inst.outs).filter_map(Operand::as_pattern);
    dma.mode == Mode::Transpose || patterns().any(|p| !p.registers().is_empty())
}

fn hwdge(cx: &mut Cx<'_>, inst: &Inst) {
    let at = At::Inst(inst.pos, Part::Key("dge_type"));
    if cx.arch.number() < Arch::Gen3.number() {
        let text = format!("HWDGE on {}; it needs {} or later", cx.arch, Arch::Gen3);
        cx.push(Finding::new("L051", at, text));
    } else if !matches!(inst.engine, Engine::Sp | Engine::Activation | Engine::Unassigned) {
        let text = format!("HWDGE on engine {}; it needs SP or Activation", inst.engine);
        cx.push(Finding::new("L051", at, text));
    }
}

fn trigger(cx: &mut Cx<'_>, inst: &Inst, queue: &Name, blocks: &[Name], idle: bool) -> Fired {
    let at = At::Inst(inst.pos, Part::Key("dma_blocks"));
    if blocks.is_empty() {
        // In a loop without iterations it never fires.
        if !idle {
            cx.push(Finding::new("B063", at, "a trigger without blocks"));
        }
        return Fired::new();
    }
    let (mut fired, mut unknown) = (Fired::new(), Vec::new());
    for b in blocks {
        let found = cx.queues.blocks.find(queue, b, &mut cx.expected);
        fired.extend(found);
        // Of two queues with one name the first counts.
        if found.is_none_or(|n| !cx.queues.blocks.is_of_the_first(n)) {
            unknown.push(b);
        }
    }
    unknown.dedup();
    for b in unknown {
        let text = format!("a trigger names the block `{b}`, which queue `{queue}` does not have");
        cx.push(Finding::new("B063", at.clone(), text));
    }
    fired
}
