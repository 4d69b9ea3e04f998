//! The blocks of descriptors that `lower_dma` adds to queues (`docs/lowering.md`, "Blocks"):
//! how they are named and numbered, where a section begins, where too long a block is cut.

use crate::bir::quick::{QuickMap, QuickSet, made};
use crate::bir::{Block, Body, DmaBlock, Engine, Inst, Module, Name, Opcode, Pos, Update};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Which queue's and which of the new blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockRef {
    queue: usize,
    block: usize,
}

#[derive(Debug)]
struct NewBlock {
    pos: Pos,
    name: Name,
    id: u64,
    section_start: bool,
    trigger: Name,
    descriptors: Vec<Arc<Inst>>,
    updates: Vec<Update>,
    remote: Vec<u64>,
}

#[derive(Debug, Default)]
struct Known {
    /// Names of the blocks that are there already; those of new ones differ by their ids.
    names: QuickSet<Name>,
    next: u64,
    sections: BTreeSet<(usize, usize)>,
    new: Vec<NewBlock>,
}

/// The queues of a module and what is added to them.
#[derive(Debug)]
pub(super) struct Queues {
    by_name: QuickMap<Name, usize>,
    known: Vec<Known>,
}

impl Queues {
    /// As the module has them: its blocks keep names and ids, new ones are numbered behind them.
    pub(super) fn of(module: &Module) -> Queues {
        let mut queues = Queues { by_name: QuickMap::default(), known: Vec::new() };
        for (at, q) in module.queues.iter().enumerate() {
            let mut known = Known::default();
            for (position, inst) in (0u64..).zip(q.dma_blocks()) {
                known.names.insert(inst.name.clone());
                let id = match &inst.body {
                    Body::DmaBlock(b) => b.block_id.unwrap_or(position),
                    _ => position,
                };
                known.next = known.next.max(id.saturating_add(1)).max(position + 1);
            }
            queues.by_name.entry(q.name.clone()).or_insert(at);
            queues.known.push(known);
        }
        queues
    }

    /// Adds a block to a queue; `None` where there is no such queue, or no number left.
    pub(super) fn add(
        &mut self,
        queue: &str,
        section: (usize, usize),
        pos: Pos,
        trigger: &Name,
        descriptors: impl IntoIterator<Item = Inst>,
    ) -> Option<BlockRef> {
        let queue = *self.by_name.get(queue)?;
        let known = self.known.get_mut(queue)?;
        let (name, id) = loop {
            let id = known.next;
            known.next = id.checked_add(1)?;
            let name = made(format_args!("dma_block_{id}"));
            if !known.names.contains(&name) {
                break (name, id);
            }
        };
        let section_start = known.sections.insert(section);
        let mut new = NewBlock {
            pos,
            name,
            id,
            section_start,
            trigger: trigger.clone(),
            descriptors: Vec::new(),
            updates: Vec::new(),
            remote: Vec::new(),
        };
        new.extend(descriptors);
        known.new.push(new);
        Some(BlockRef { queue, block: known.new.len() - 1 })
    }

    fn get(&mut self, at: BlockRef) -> Option<&mut NewBlock> {
        self.known.get_mut(at.queue)?.new.get_mut(at.block)
    }

    /// The name of a new block.
    pub(super) fn name(&mut self, at: BlockRef) -> Option<Name> {
        self.get(at).map(|b| b.name.clone())
    }

    /// Descriptors of a new block so far.
    pub(super) fn len(&mut self, at: BlockRef) -> u64 {
        self.get(at).map_or(0, |b| b.descriptors.len() as u64)
    }

    /// Adds descriptors to a new block.
    pub(super) fn extend(&mut self, at: BlockRef, descriptors: impl IntoIterator<Item = Inst>) {
        if let Some(b) = self.get(at) {
            b.extend(descriptors);
        }
    }

    /// Adds what is told when a new block is complete.
    pub(super) fn tell(&mut self, at: BlockRef, updates: &[Update], remote: &[u64]) {
        if let Some(b) = self.get(at) {
            b.updates.extend(updates.iter().cloned());
            b.remote.extend(remote);
        }
    }

    /// Puts the new blocks into the module, behind those of the queue's last holder.
    pub(super) fn add_to(self, module: &mut Module) {
        for (queue, known) in module.queues.iter_mut().zip(self.known) {
            if known.new.is_empty() {
                continue;
            }
            if queue.blocks.is_empty() {
                let name = format!("{}_blocks", queue.name);
                queue.blocks.push(Block::new(&name, Vec::new()));
            }
            if let Some(holder) = queue.blocks.last_mut() {
                holder.insts.extend(known.new.into_iter().map(NewBlock::build));
            }
        }
    }
}

impl NewBlock {
    /// Adds descriptors, named after the block and their position in it.
    fn extend(&mut self, descriptors: impl IntoIterator<Item = Inst>) {
        let descriptors = descriptors.into_iter();
        self.descriptors.reserve_exact(descriptors.size_hint().0);
        for mut d in descriptors {
            d.name = made(format_args!("{}_desc_{}", self.name, self.descriptors.len()));
            self.descriptors.push(Arc::new(d));
        }
    }

    fn build(self) -> Arc<Inst> {
        let holder = made(format_args!("{}_Block0", self.name));
        let mut inst = Inst::named(self.pos, self.name, Opcode::DmaBlock, Engine::Dma);
        inst.updates = self.updates;
        inst.body = Body::DmaBlock(DmaBlock {
            block_id: Some(self.id),
            section_start: self.section_start,
            trigger: Some(self.trigger),
            remote_notifications: self.remote,
            blocks: vec![Block::named(holder, self.descriptors)],
        });
        Arc::new(inst)
    }
}

/// Lengths of the blocks that descriptors go to, none above `budget`; `may_begin` tells which
/// descriptors may be the first of a block. Whether a cut had to be made elsewhere. At least one
/// block.
pub(super) fn groups(may_begin: &[bool], budget: u64) -> (Vec<usize>, bool) {
    let budget = usize::try_from(budget).unwrap_or(usize::MAX).max(1);
    let (mut out, mut at, mut forced) = (Vec::new(), 0, false);
    while may_begin.len() - at > budget {
        let found = (at + 1..=at + budget).rev().find(|&k| may_begin[k]);
        forced |= found.is_none();
        let end = found.unwrap_or(at + budget);
        out.push(end - at);
        at = end;
    }
    out.push(may_begin.len() - at);
    (out, forced)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_cut_where_a_descriptor_may_begin_one() {
        let yes = [true; 7];
        assert_eq!(groups(&yes, 3), (vec![3, 3, 1], false));
        assert_eq!(groups(&yes, 7), (vec![7], false));
        let runs = [true, false, true, false, true, false, true];
        assert_eq!(groups(&runs, 3), (vec![2, 2, 3], false));
        assert_eq!(groups(&[true, false, false, true], 2), (vec![2, 2], true));
        assert_eq!(groups(&[], 2), (vec![0], false));
    }
}
