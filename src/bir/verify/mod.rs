//! The verifier: every rule that is about a module rather than about one run of it. It runs on
//! a module as loaded and again after each pass (`docs/verify.md`; severities and fixes are in
//! `docs/codes.md`).
//!
//! All problems are found in one run, in time linear in the module: names are looked up in hash
//! maps, addresses are judged at the corners of their patterns and loops, and no element is
//! walked. A file for each family:
//!
//! | code | rule | file |
//! |---|---|---|
//! | B040 | the version is 1 or 2; an architecture is given (warning) | `place.rs` |
//! | B041 | a location fits its memory: bytes of a partition, PSUM banks, 128 partitions, the DRAM arena | `place.rs` |
//! | B042 | a location's name is given once (warning) | `place.rs` |
//! | B043 | an operand names one location that exists and is addressable | `access.rs` |
//! | B044 | every element, in every iteration of the loops around it, lies inside its location; in SB and PSUM inside its partition | `access.rs` |
//! | B045 | the partition step is a multiple of the pitch | `access.rs` |
//! | B046 | the element type of an operand is known | `access.rs` |
//! | B047 | what a DMA holds is understood: operand and expression kinds, keys of its opcode | `dma.rs`, `access.rs` |
//! | B048 | a DMA has as many operands as its family takes | `dma.rs` |
//! | B049 | both sides have the same number of elements | `dma.rs` |
//! | B050 | a transpose is 4-D on both sides, has a permutation, and the destination has the permuted shape | `dma.rs` |
//! | B051 | replicate is 2-D on both sides, rows are equally long, partitions divide | `dma.rs` |
//! | B052 | CCE has at most 16 sources | `dma.rs` |
//! | B053 | CCE adds or takes the maximum or minimum of floats, with one constant a source or none at all | `dma.rs` |
//! | B054 | types that differ can be cast | `dma.rs` |
//! | B055 | a dynamic address has a scalar or a vector offset, not both and not neither | `dynamic.rs` |
//! | B056 | at most one side is dynamic | `dynamic.rs` |
//! | B057 | a dynamic DMA has a DGE | `dynamic.rs` |
//! | B058 | an index operand exists, stands alone, is int32 or uint32, has one index for each outermost step | `dynamic.rs` |
//! | B059 | a register that is read is written somewhere (warning) | `dynamic.rs` |
//! | B060 | a queue's name has at most 31 bytes and is given once; there are at most 176 | `queue.rs` |
//! | B061 | the queue of a DMA or trigger exists | `queue.rs` |
//! | B062 | a DMABlock holds descriptors only | `queue.rs` |
//! | B063 | a trigger names blocks, all of them of its queue | `queue.rs` |
//! | B064 | names and ids of blocks are unique in their queue | `queue.rs` |
//! | B065 | descriptors are in blocks, blocks in queues, everything else in functions | `queue.rs` |
//! | B066 | a dependency names an instruction, and not one that waits for this one | `order.rs` |
//! | B067 | a loop has a stride that leads to its end and an axis name of its own; an axis is used inside its loop | `flow.rs`, `access.rs` |
//! | B068 | a branch goes to a block of its function, and the end can be reached | `flow.rs` |
//! | B069 | a semaphore that is waited for can reach the value | `order.rs` |
//! | L050 | a DMA and a trigger have an engine and a queue | `queue.rs` |
//! | L051 | HWDGE needs gen3 and the engine SP or Activation | `queue.rs` |
//! | L052 | a transpose can be lowered: DRAM to SB (error), permutation 11 or 12 (warning) | `dma.rs` |
//! | L053 | a descriptor has no dynamic access pattern; what is left is a reference | `dynamic.rs` |
//! | L054 | an index list has at most 4096 entries | `dynamic.rs` |
//! | L055 | a descriptor has at most 4 pairs | `dma.rs` |
//! | L056 | a CCE descriptor has at most 1024 (v2) or 2048 elements | `dma.rs` |
//! | L057 | replicate to several partitions needs v3 | `dma.rs` |
//! | L058 | the transfers of a queue take no more descriptors than a queue may have | `ring.rs` |

mod access;
mod dma;
mod dynamic;
mod explain;
mod flow;
mod order;
mod place;
mod queue;
mod ring;

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;

pub use explain::{access_grid, shape_text};

use super::blocks::Expected;
use super::quick::QuickMap;
use super::{Arch, Block, Finding, Inst, Layout, Module, Name, PlaceError};
use crate::diag::Severity;
use crate::limits::MAX_DIAGNOSTICS;
use flow::Scope;
use std::cell::OnceCell;
use std::collections::HashSet;

/// What a caller may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Severity of a DMA without engine or queue (L050): an error for `check` and `run`, a
    /// warning for `lower`, which then chooses them.
    pub unqueued: Severity,
}

impl Default for Options {
    fn default() -> Options {
        Options { unqueued: Severity::Error }
    }
}

/// Everything that is wrong with a module, functions first, then queues. `layout` is the
/// module's own. At most [`MAX_DIAGNOSTICS`] findings; an error is among them if there is one.
pub fn verify(module: &Module, layout: &Layout) -> Vec<Finding> {
    verify_with(module, layout, &Options::default())
}

/// As [`verify`], with options.
pub fn verify_with(module: &Module, layout: &Layout, options: &Options) -> Vec<Finding> {
    let mut cx = Cx {
        module,
        layout,
        options,
        arch: module.arch.unwrap_or(Arch::Gen3),
        queues: queue::Index::new(module),
        expected: Expected::default(),
        written: OnceCell::new(),
        ring: ring::Counts::default(),
        unresolved: QuickMap::default(),
        fired: Vec::new(),
        ordered: order::Ordered::default(),
        found: Vec::new(),
        errors: false,
    };
    cx.fired.resize_with(cx.queues.blocks.len(), || None);
    place::check(&mut cx);
    queue::check(&mut cx);
    for f in &module.functions {
        flow::check_branches(&mut cx, f);
        let mut scope = Scope::of_function(f);
        cx.blocks(&f.blocks, &mut scope, Home::Function);
    }
    let mut visited = Expected::default();
    for q in &module.queues {
        for inst in q.blocks.iter().flat_map(|b| &b.insts) {
            let block = cx.queues.blocks.find(&q.name, &inst.name, &mut visited);
            let axes = block.and_then(|b| cx.fired.get(b.0 as usize)?.as_ref());
            let mut scope = Scope::of_block(axes);
            for d in inst.blocks().iter().flat_map(|b| &b.insts) {
                ring::count(&mut cx, d, &Scope::default(), Some(&q.name));
            }
            cx.inst(inst, &mut scope, Home::Queue);
        }
    }
    ring::check(&mut cx);
    order::check(&mut cx);
    cx.found
}

/// Whether an error is among the findings.
pub fn has_errors(findings: &[Finding]) -> bool {
    findings.iter().any(|f| f.diag.severity == Severity::Error)
}

/// What holds an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    Function,
    Queue,
    DmaBlock,
}

/// What the families share.
struct Cx<'a> {
    module: &'a Module,
    layout: &'a Layout,
    options: &'a Options,
    arch: Arch,
    queues: queue::Index<'a>,
    /// The blocks that the next triggers are expected to name.
    expected: Expected,
    ring: ring::Counts,
    /// Registers that some instruction writes; looked for when one is read.
    written: OnceCell<HashSet<Name>>,
    /// Names that were looked up in vain.
    unresolved: QuickMap<Name, PlaceError>,
    /// Axes that all triggers of a block have around them, by block; nothing where there is none.
    fired: Vec<Option<Vec<flow::Range>>>,
    ordered: order::Ordered,
    found: Vec<Finding>,
    errors: bool,
}

impl<'a> Cx<'a> {
    fn push(&mut self, finding: Finding) {
        let error = finding.diag.severity == Severity::Error;
        if self.found.len() < MAX_DIAGNOSTICS {
            self.found.push(finding);
        } else if error && !self.errors {
            // The list is full of lesser findings: the first error takes the place of one.
            self.found.pop();
            self.found.push(finding);
        }
        self.errors |= error;
    }

    fn blocks(&mut self, blocks: &'a [Block], scope: &mut Scope, home: Home) {
        for block in blocks {
            for inst in &block.insts {
                self.inst(inst, scope, home);
            }
        }
    }

    fn inst(&mut self, inst: &'a Inst, scope: &mut Scope, home: Home) {
        self.ordered.note(inst);
        if !queue::fits(self, inst, home) {
            // What it holds is not looked at.
            self.ordered = order::Ordered::unknown();
            return;
        }
        if home == Home::DmaBlock {
            queue::check_descriptor(self, inst);
        }
        let fired = queue::check_use(self, inst, scope);
        dma::check(self, inst);
        dynamic::check(self, inst);
        access::check(self, inst, scope);
        flow::fires(self, &fired, scope);
        if home == Home::Function {
            ring::count(self, inst, scope, None);
        }
        let inner = if home == Home::Queue { Home::DmaBlock } else { home };
        let depth = flow::enter(self, inst, scope);
        self.blocks(inst.blocks(), scope, inner);
        scope.leave(depth);
    }
}
