//! A module whose instructions are ordered by less than they were: of `proof.rs`, and of the test
//! that knows how much of such is proved.

use dmadbg::bir::generate::Rng;
use dmadbg::bir::{Block, Inst, Module};
use std::sync::Arc;

/// Every instruction of some blocks, those in loops too.
fn each(blocks: &mut [Block], f: &mut dyn FnMut(&mut Inst)) {
    for inst in blocks.iter_mut().flat_map(|b| &mut b.insts) {
        let inst = Arc::make_mut(inst);
        f(inst);
        if let Some(inner) = inst.blocks_mut() {
            each(inner, f);
        }
    }
}

/// Takes away some of what orders the instructions of a module.
pub fn disorder(m: &mut Module, rng: &mut Rng, percent: u64) {
    for function in &mut m.functions {
        each(&mut function.blocks, &mut |i| {
            if rng.chance(percent) {
                i.deps.clear();
                i.loop_deps.clear();
            }
            if rng.chance(percent) {
                i.waits.clear();
            }
        });
    }
}
