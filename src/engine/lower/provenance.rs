//! From an instruction of the loaded module to what the passes made of it, and back
//! (`docs/lowering.md`, "Provenance"). Nothing is recorded: every instruction knows the position
//! that it stems from.

use crate::bir::{Block, Inst, Module, Pos};
use std::sync::Arc;

/// In which list of blocks a path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Root {
    /// A function, by its number.
    Function(usize),
    /// A queue, by its number.
    Queue(usize),
}

/// Where an instruction is in a module: block and instruction in it, then the same in what that
/// one holds, and so on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path {
    /// Where it begins.
    pub root: Root,
    /// Block and instruction, outermost first; never empty.
    pub steps: Vec<(usize, usize)>,
}

/// All instructions that stem from the one at `pos` in the loaded module, in module order:
/// functions first, then queues.
pub fn derived(module: &Module, pos: Pos) -> Vec<Path> {
    let mut out = Vec::new();
    each(module, &mut |path, inst| {
        if inst.pos == pos {
            out.push(path.clone());
        }
    });
    out
}

/// The instruction at a path.
pub fn at<'a>(module: &'a Module, path: &Path) -> Option<&'a Arc<Inst>> {
    let mut blocks: &[Block] = match path.root {
        Root::Function(k) => &module.functions.get(k)?.blocks,
        Root::Queue(k) => &module.queues.get(k)?.blocks,
    };
    let mut found = None;
    for &(block, inst) in &path.steps {
        let inst = blocks.get(block)?.insts.get(inst)?;
        blocks = inst.blocks();
        found = Some(inst);
    }
    found
}

/// The instruction of the loaded module that the one at a path stems from; `None` where there is
/// nothing, or lowering added it of its own accord.
pub fn origin(module: &Module, path: &Path) -> Option<Pos> {
    at(module, path).map(|i| i.pos).filter(|p| *p != Pos::ADDED)
}

/// Calls `f` for every instruction with its path, functions first, then queues.
pub fn each(module: &Module, f: &mut dyn FnMut(&Path, &Arc<Inst>)) {
    let functions = module.functions.iter().enumerate();
    let functions = functions.map(|(k, x)| (Root::Function(k), &x.blocks));
    let queues = module.queues.iter().enumerate().map(|(k, q)| (Root::Queue(k), &q.blocks));
    for (root, blocks) in functions.chain(queues) {
        walk(blocks, &mut Path { root, steps: Vec::new() }, f);
    }
}

fn walk(blocks: &[Block], path: &mut Path, f: &mut dyn FnMut(&Path, &Arc<Inst>)) {
    for (b, block) in blocks.iter().enumerate() {
        for (k, inst) in block.insts.iter().enumerate() {
            path.steps.push((b, k));
            f(path, inst);
            walk(inst.blocks(), path, f);
            path.steps.pop();
        }
    }
}
