//! From transfers to triggers and blocks of descriptors: Peel, Unroll, Split and Check
//! (`lower_dynamic_dma`), then `lower_dma`. Rules and decisions: `docs/lowering.md`.
//!
//! Each stage is a walk over the whole module that ends before the next begins, a function from
//! module to module. A snapshot follows each one; who calls [`lower_with`] can verify it, run it
//! or take the time. A transfer that breaks a rule is refused with an error and stays as it is,
//! so that the rest can still be shown lowered.

mod blocks;
mod check;
mod clones;
mod context;
mod cut;
pub mod family;
mod lower_dma;
pub mod options;
mod overlap;
mod peel;
mod pieces;
pub mod provenance;
mod resolve;
mod rewire;
mod rewrite;
mod route;
mod split;
mod terminators;
mod unroll;

pub use cut::contiguous;
pub use options::{Materialise, Mutation, OPTIONS, OptionInfo, Options, SplitRule};
pub use provenance::{Path, derived, origin};
pub use rewire::rewire;
pub use split::{largest_factor, split_sizes};
pub use unroll::offsets;

use crate::bir::{Body, Finding, Module, Opcode, Pos};
use crate::diag::Severity;
use context::Context;
use std::fmt;
use std::sync::Arc;

/// How far a module is lowered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// As it was read.
    Loaded,
    /// Dynamic transfers are in chunks that fit a descriptor.
    Peel,
    /// No address depends on more than one base.
    Unroll,
    /// No transfer needs more descriptors than its ring holds.
    Split,
    /// Every transfer that is left may become descriptors.
    Check,
    /// Triggers and blocks of descriptors.
    LowerDma,
    /// Rings of descriptors; made from the module by those who write rings, not by a pass.
    Rings,
}

impl Stage {
    /// All, in order.
    pub const ALL: [Stage; 7] = [
        Stage::Loaded,
        Stage::Peel,
        Stage::Unroll,
        Stage::Split,
        Stage::Check,
        Stage::LowerDma,
        Stage::Rings,
    ];

    /// Its name, as command line and scripts write it.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Loaded => "loaded",
            Stage::Peel => "peel",
            Stage::Unroll => "unroll",
            Stage::Split => "split",
            Stage::Check => "check",
            Stage::LowerDma => "lower_dma",
            Stage::Rings => "rings",
        }
    }

    /// By name.
    pub fn by_name(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|s| s.name() == name)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a module holds, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Stats {
    /// Instructions of all functions, those in loops included.
    pub instructions: u64,
    /// Transfers that are not lowered yet.
    pub dmas: u64,
    /// Transfers and triggers beyond the first that stem from one instruction.
    pub clones: u64,
    /// Triggers.
    pub triggers: u64,
    /// Blocks of descriptors in all queues.
    pub blocks: u64,
    /// Descriptors in all blocks.
    pub descriptors: u64,
    /// Operands of transfers and descriptors whose address is looked up when they run.
    pub patched: u64,
    /// Queues.
    pub queues: u64,
}

impl Stats {
    /// Of a module.
    pub fn of(module: &Module) -> Stats {
        let mut stats = Stats { queues: module.queues.len() as u64, ..Stats::default() };
        let mut origins: Vec<Pos> = Vec::new();
        let mut movers = 0u64;
        module.visit(&mut |i| {
            let dma = i.opcode.is_dma();
            let descriptor = i.opcode.is_descriptor();
            stats.instructions += u64::from(!descriptor && i.opcode != Opcode::DmaBlock);
            stats.dmas += u64::from(dma);
            stats.triggers += u64::from(i.opcode == Opcode::DmaTrigger);
            stats.blocks += u64::from(matches!(i.body, Body::DmaBlock(_)));
            stats.descriptors += u64::from(descriptor);
            if dma || i.opcode == Opcode::DmaTrigger {
                movers += 1;
                origins.push(i.pos);
            }
            if dma || descriptor {
                let operands = i.ins.iter().chain(&i.outs).filter_map(|o| o.as_pattern());
                let patched = |p: &&crate::bir::Pattern| p.is_dynamic() || p.reference.is_some();
                stats.patched += operands.filter(patched).count() as u64;
            }
        });
        origins.sort_unstable();
        origins.dedup();
        stats.clones = movers - origins.len() as u64;
        stats
    }
}

/// A module after a stage.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The stage.
    pub stage: Stage,
    /// The module.
    pub module: Arc<Module>,
    /// What it holds.
    pub stats: Stats,
    /// What the stage found.
    pub findings: Vec<Finding>,
}

/// A module with all that became of it.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// One for each stage, the loaded module first.
    pub snapshots: Vec<Snapshot>,
}

impl Lowered {
    /// The module after the last stage that was run.
    pub fn module(&self) -> Option<&Arc<Module>> {
        self.snapshots.last().map(|s| &s.module)
    }

    /// The snapshot of a stage, if it was run.
    pub fn stage(&self, stage: Stage) -> Option<&Snapshot> {
        self.snapshots.iter().find(|s| s.stage == stage)
    }

    /// What all stages found, in order.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.snapshots.iter().flat_map(|s| &s.findings)
    }

    /// Whether a transfer was refused, or the module cannot be used as it is.
    pub fn has_errors(&self) -> bool {
        self.findings().any(|f| f.diag.severity == Severity::Error)
    }
}

/// Lowers a module up to and including `stop` (`rings` as far as `lower_dma`).
pub fn lower(module: &Module, opts: &Options, stop: Stage) -> Lowered {
    lower_with(module, opts, stop, &mut |_| {})
}

/// As [`lower`]; `seen` is called with each snapshot as soon as there is one, the loaded module
/// first.
pub fn lower_with(
    module: &Module,
    opts: &Options,
    stop: Stage,
    seen: &mut dyn FnMut(&Snapshot),
) -> Lowered {
    lower_shared(Arc::new(module.clone()), opts, stop, seen)
}

/// As [`lower_with`], of a module that is shared: the first snapshot is it.
pub fn lower_shared(
    mut module: Arc<Module>,
    opts: &Options,
    stop: Stage,
    seen: &mut dyn FnMut(&Snapshot),
) -> Lowered {
    let mut cx = Context::new(opts, module.arch);
    let mut lowered = Lowered { snapshots: Vec::new() };
    for stage in Stage::ALL {
        let run = match stage {
            Stage::Loaded => None,
            Stage::Peel => Some(peel::run as fn(&Arc<Module>, &mut Context<'_>) -> Arc<Module>),
            Stage::Unroll => Some(unroll::run as _),
            Stage::Split => Some(split::run as _),
            Stage::Check => Some(check::run as _),
            Stage::LowerDma => Some(lower_dma::run as _),
            Stage::Rings => break,
        };
        if stage > stop {
            break;
        }
        if let Some(run) = run {
            module = run(&module, &mut cx);
        }
        let stats = match lowered.snapshots.last() {
            Some(s) if Arc::ptr_eq(&s.module, &module) => s.stats,
            _ => Stats::of(&module),
        };
        let findings = cx.take_findings();
        let snapshot = Snapshot { stage, module: module.clone(), stats, findings };
        seen(&snapshot);
        lowered.snapshots.push(snapshot);
    }
    lowered
}

#[cfg(test)]
mod tests;
