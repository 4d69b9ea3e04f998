//! A NoOp ends the stream of each data-path engine (`docs/lowering.md`, "Terminators").
//! MODEL: at the end of the last block of a function in which something was lowered, before a
//! branch that ends it, and only where the engine's stream does not end with one already; so
//! that lowering a lowered module adds nothing.

use super::rewrite::Names;
use crate::bir::{Engine, Function, Inst, Opcode, Pos};
use std::sync::Arc;

/// Adds what is missing.
pub(super) fn add(function: &mut Function, names: &mut Names) {
    let Some(block) = function.blocks.last_mut() else { return };
    let branches =
        |i: &Inst| matches!(i.opcode, Opcode::CompareAndBranch | Opcode::UnconditionalBranch);
    let tail = block.insts.iter().rev().take_while(|i| branches(i)).count();
    let end = block.insts.len() - tail;
    let before = block.insts[..end].iter().rev().take_while(|i| i.opcode == Opcode::NoOp);
    let ended: Vec<Engine> = before.map(|i| i.engine).collect();
    let missing = Engine::STREAMS.into_iter().filter(|e| !ended.contains(e));
    let new: Vec<_> = missing
        .map(|e| {
            let name = names.unique(&format!("terminator_{e}"));
            Arc::new(Inst::new(Pos::ADDED, &name, Opcode::NoOp, e))
        })
        .collect();
    block.insts.splice(end..end, new);
}
