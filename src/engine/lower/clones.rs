//! Several instructions in the place of one (`docs/lowering.md`, "Clones"): they are named after
//! it, the first waits and depends as it did, the last tells of the end.

use super::overlap::Staged;
use super::rewrite::{Names, Replacement};
use crate::bir::{AluOp, Body, Inst, Mode, Name, Opcode, TransposeOp};
use std::sync::Arc;

/// Instructions that replace one.
pub(super) struct Clones<'a> {
    names: &'a mut Names,
    of: Name,
    original: Inst,
    insts: Vec<Inst>,
}

impl<'a> Clones<'a> {
    /// None yet.
    pub(super) fn new(names: &'a mut Names, original: &Inst) -> Clones<'a> {
        Clones { names, of: original.name.clone(), original: original.clone(), insts: Vec::new() }
    }

    /// Adds instructions, in order. Their names, waits, updates and dependencies are set at the
    /// end.
    pub(super) fn extend(&mut self, insts: impl IntoIterator<Item = Inst>) {
        self.insts.extend(insts);
    }

    /// What replaces the original.
    pub(super) fn done(self) -> Replacement {
        let Clones { names, of, original, mut insts } = self;
        let last = insts.len().saturating_sub(1);
        for (k, i) in insts.iter_mut().enumerate() {
            i.name = names.clone_of(&of);
            if k > 0 {
                i.waits.clear();
                i.deps.clear();
                i.loop_deps.clear();
            } else {
                i.waits = original.waits.clone();
                i.deps = original.deps.clone();
                i.loop_deps = original.loop_deps.clone();
            }
            i.updates = if k == last { original.updates.clone() } else { Vec::new() };
            if let Body::Dma(d) = &mut i.body {
                let told = original.dma().filter(|_| k == last);
                d.remote_notification =
                    told.map(|d| d.remote_notification.clone()).unwrap_or_default();
            }
        }
        let last = insts.last().map_or(of, |i| i.name.clone());
        let insts = insts.into_iter().map(Arc::new).collect();
        Replacement { insts, from: last.clone(), last }
    }
}

/// The copy that takes what a transfer reads to scratch before it writes.
pub(super) fn copy_to_scratch(inst: &Inst, staged: &Staged) -> Inst {
    let mut copy = inst.clone();
    copy.opcode = Opcode::DmaCopy;
    copy.ins = [staged.from.clone()].into();
    copy.outs = [staged.to.clone()].into();
    if let Body::Dma(d) = &mut copy.body {
        d.mode = Mode::Copy;
        d.transpose = TransposeOp::None;
        d.cce_op = AluOp::Bypass;
        d.constants = None;
        // Of a whole location some bytes may never have been written, and are not used.
        d.can_read_uninit |= staged.whole;
    }
    copy
}
