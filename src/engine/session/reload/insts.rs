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

fn all(p: &Program) -> Vec<Arc<Inst>> {
    let mut out = Vec::new();
    let loaded = p.module.as_ref().and_then(|run| run.lowered.snapshots.first());
    if let Some(s) = loaded {
        s.module.visit(&mut |i| out.push(i.clone()));
    }
    out.sort_by_key(|i| i.pos);
    out
}

/// An instruction without what hangs on where it stands, and without those that it holds.
fn bare(i: &Inst) -> Inst {
    let mut out = i.clone();
    (out.pos, out.debug) = (Pos(0), None);
    out.blocks_mut().into_iter().for_each(Vec::<Block>::clear);
    out
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

/// Keys of the instructions of a program by their positions.
pub(super) fn keys(p: &Program) -> Vec<u64> {
    let mut out = vec![0; p.module.as_ref().map_or(0, |run| run.inst_count())];
    for i in all(p) {
        if let Some(at) = out.get_mut(i.pos.0 as usize) {
            *at = key(&i);
        }
    }
    out
}

impl Insts {
    pub fn same(p: &Program) -> Insts {
        let n = p.module.as_ref().map_or(0, |run| run.inst_count()) as u32;
        Insts { to: (0..n).map(|i| Some(Pos(i))).collect(), ..Insts::default() }
    }

    pub fn new(a: &Program, b: &Program) -> Insts {
        let (x, y) = (all(a), all(b));
        let of = |all: &[Arc<Inst>]| all.iter().map(|i| key(i)).collect::<Vec<u64>>();
        let (ka, kb) = (of(&x), of(&y));
        let found = align(&ka, &kb, &mut { MAX_RELOAD_WORK });
        let mut pairs: Vec<(usize, usize)> =
            found.runs.iter().flat_map(|r| (0..r.len).map(|i| (r.a + i, r.b + i))).collect();
        let s = settle((&ka, &kb), &gaps(&found.runs, (x.len(), y.len())), &|_, _| None);
        pairs.extend(&s.moved);
        // What is left has another name: it is known by what it does, where that is told apart.
        let mut by_content: HashMap<u64, [Vec<usize>; 2]> = HashMap::new();
        for (side, list, of) in [(0, &s.removed, &x), (1, &s.added, &y)] {
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
            if bare(&x[*i]) == bare(&y[*j]) {
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
