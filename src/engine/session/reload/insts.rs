//! Which instructions of two loaded modules are the same one: by their names, and where a name is
//! gone by what they do.

use crate::bir::{Block, Inst, Name, Pos};
use crate::engine::diff::Change;
use crate::engine::diff::align::{align, gaps, settle};
use crate::engine::program::Program;
use crate::engine::ring::digest::{hash_bytes, mix};
use crate::limits::MAX_RELOAD_WORK;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The instructions of two modules, side by side.
#[derive(Debug, Default)]
pub(super) struct Insts {
    /// By the position on the left: the position on the right.
    pub to: Vec<Option<Pos>>,
    /// Instructions of the right that the left has not, or has otherwise.
    pub news: BTreeMap<Pos, Change>,
    /// How many of the left the right has not.
    pub removed: usize,
}

/// The instructions of a loaded module by their positions, and their keys.
#[derive(Debug, Default)]
pub(super) struct Side {
    insts: Vec<Arc<Inst>>,
    keys: Vec<u64>,
    /// How many positions the module has.
    positions: usize,
}

impl Side {
    pub fn of(p: &Program) -> Side {
        let mut insts = Vec::new();
        let Some(run) = &p.module else { return Side::default() };
        if let Some(s) = run.lowered.snapshots.first() {
            s.module.visit(&mut |i| insts.push(i.clone()));
        }
        insts.sort_by_key(|i| i.pos);
        let keys = insts.iter().map(|i| key(i)).collect();
        Side { insts, keys, positions: run.inst_count() }
    }

    /// The keys by the positions.
    pub fn keys(&self) -> Vec<u64> {
        let mut out = vec![0; self.positions];
        for (i, key) in self.insts.iter().zip(&self.keys) {
            if let Some(at) = out.get_mut(i.pos.0 as usize) {
                *at = *key;
            }
        }
        out
    }
}

/// An instruction without what hangs on where it stands, and without those that it holds.
fn bare(i: &Inst) -> Inst {
    let mut out = i.clone();
    (out.pos, out.debug) = (Pos(0), None);
    out.blocks_mut().into_iter().for_each(Vec::<Block>::clear);
    out
}

/// Whether two are the same, without what hangs on where they stand and those that they hold.
fn alike(a: &Inst, b: &Inst) -> bool {
    let leaves = a.blocks().is_empty() && b.blocks().is_empty();
    if !leaves {
        return bare(a) == bare(b);
    }
    let Inst {
        pos: _,
        name,
        opcode,
        engine,
        ins,
        outs,
        deps,
        loop_deps,
        waits,
        updates,
        debug: _,
        body,
        extra,
    } = a;
    name == &b.name
        && (opcode, engine) == (&b.opcode, &b.engine)
        && (ins, outs) == (&b.ins, &b.outs)
        && (deps, loop_deps) == (&b.deps, &b.loop_deps)
        && (waits, updates) == (&b.waits, &b.updates)
        && body == &b.body
        && extra == &b.extra
}

/// What an instruction does, whatever it is called.
fn content(i: &Inst) -> u64 {
    let nameless = Inst { name: Name::from(""), ..bare(i) };
    hash_bytes(format!("{nameless:?}").as_bytes())
}

fn key(i: &Inst) -> u64 {
    match i.name.is_empty() {
        true => mix(1, content(i)),
        false => mix(2, hash_bytes(i.name.as_bytes())),
    }
}

impl Insts {
    pub fn same(p: &Program) -> Insts {
        let n = p.module.as_ref().map_or(0, |run| run.inst_count()) as u32;
        Insts { to: (0..n).map(|i| Some(Pos(i))).collect(), ..Insts::default() }
    }

    pub fn new(a: &Side, b: &Side) -> Insts {
        let (x, y, ka, kb) = (&a.insts, &b.insts, &a.keys, &b.keys);
        let found = align(ka, kb, &mut { MAX_RELOAD_WORK });
        let mut pairs: Vec<(usize, usize)> =
            found.runs.iter().flat_map(|r| (0..r.len).map(|i| (r.a + i, r.b + i))).collect();
        let s = settle((ka, kb), &gaps(&found.runs, (x.len(), y.len())), &|_, _| None);
        pairs.extend(&s.moved);
        // What is left has another name: it is known by what it does, where that is told apart.
        let mut by_content: HashMap<u64, [Vec<usize>; 2]> = HashMap::new();
        for (side, list, of) in [(0, &s.removed, x), (1, &s.added, y)] {
            for i in list {
                by_content.entry(content(&of[*i])).or_default()[side].push(*i);
            }
        }
        for [left, right] in by_content.into_values() {
            if left.len() == right.len() {
                pairs.extend(left.into_iter().zip(right));
            }
        }
        let mut out = Insts { to: vec![None; ka.len()], ..Insts::default() };
        out.news = y.iter().map(|i| (i.pos, Change::Added)).collect();
        for (i, j) in &pairs {
            let (from, to) = (x[*i].pos, y[*j].pos);
            if let Some(at) = out.to.get_mut(from.0 as usize) {
                *at = Some(to);
            }
            if alike(&x[*i], &y[*j]) {
                out.news.remove(&to);
            } else {
                out.news.insert(to, Change::Changed);
            }
        }
        out.removed = ka.len() - pairs.len();
        out
    }

    /// The instruction of the right that an instruction of the left is.
    pub fn of(&self, pos: Pos) -> Option<Pos> {
        if pos == Pos::ADDED {
            return Some(pos);
        }
        self.to.get(pos.0 as usize).copied().flatten()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn alike_are_those_whose_bare_instructions_are_equal() {
        let mut all = Vec::new();
        for seed in 0..12 {
            let m = crate::bir::generate::module(seed, &Default::default()).module;
            m.visit(&mut |i| all.push(i.clone()));
        }
        let mut of_another_line = all.clone();
        for i in of_another_line.iter_mut().map(Arc::make_mut) {
            (i.pos, i.debug) = (Pos(i.pos.0 + 7), None);
        }
        let mut equal = 0;
        for a in &all {
            for b in all.iter().chain(&of_another_line) {
                assert_eq!(alike(a, b), bare(a) == bare(b), "{a:?} {b:?}");
                equal += usize::from(alike(a, b));
            }
        }
        assert!(equal >= 2 * all.len() && equal < all.len() * all.len());
    }
}
