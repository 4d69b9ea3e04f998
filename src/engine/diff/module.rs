//! Two modules: functions, locations, queues, blocks and instructions by their names; what has
//! none by what it says.

use super::align::{self, gaps, settle};
use super::program::fields_between;
use super::{Change, Diff, Entry, FieldChange, Part};
use crate::bir::{Allocation, Block, Function, Inst, Location, Module, Queue};
use crate::engine::ring::digest::{hash_bytes, mix};
use crate::limits::MAX_DIFF_WORK;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Names and values of what a part of a module says, without what it holds.
type Fields = Vec<(String, String)>;

/// Says in words what the parts of a module hold; the loaders, who know the keys of a file, do.
pub trait ModuleWords {
    /// Keys of the module itself.
    fn module(&self, m: &Module) -> Fields;
    /// Keys of a function.
    fn function(&self, f: &Function) -> Fields;
    /// Keys of an allocation.
    fn allocation(&self, a: &Allocation) -> Fields;
    /// Keys of a location.
    fn location(&self, l: &Location) -> Fields;
    /// Keys of a queue.
    fn queue(&self, q: &Queue) -> Fields;
    /// Keys of a block.
    fn block(&self, b: &Block) -> Fields;
    /// Keys of an instruction.
    fn inst(&self, i: &Inst) -> Fields;
}

/// Compares two modules.
pub fn modules(a: &Module, b: &Module, words: &dyn ModuleWords, diff: &mut Diff) {
    for f in fields_between(&words.module(a), &words.module(b)) {
        diff.push(Entry {
            part: Part::Setting,
            change: Change::Changed,
            name: f.name.clone(),
            at: [None, None],
            fields: vec![f],
        });
    }
    let mut c = Compare { words, diff, lone: [Vec::new(), Vec::new()], work: MAX_DIFF_WORK };
    let names = |m: &Module| m.functions.iter().map(|f| f.name.to_string()).collect::<Vec<_>>();
    let named = c.by_name(Part::Function, "", (&names(a), &names(b)));
    for (i, j) in named {
        c.function(&a.functions[i], &b.functions[j]);
    }
    let names = |m: &Module| m.queues.iter().map(|q| q.name.to_string()).collect::<Vec<_>>();
    let named = c.by_name(Part::Queue, "", (&names(a), &names(b)));
    for (i, j) in named {
        let (x, y) = (&a.queues[i], &b.queues[j]);
        let name = x.name.to_string();
        let fields = fields_between(&words.queue(x), &words.queue(y));
        c.changed(Part::Queue, &name, [None, None], fields);
        c.blocks(&name, &x.blocks, &y.blocks);
    }
    c.lone_ones();
}

/// An instruction that one side has at a place where the other has none.
struct Lone {
    path: String,
    inst: Arc<Inst>,
    /// It is inside of one that is told of already.
    inside: bool,
}

struct Compare<'a> {
    words: &'a dyn ModuleWords,
    diff: &'a mut Diff,
    lone: [Vec<Lone>; 2],
    work: u64,
}

impl Compare<'_> {
    fn changed(
        &mut self,
        part: Part,
        name: &str,
        at: [Option<String>; 2],
        fields: Vec<FieldChange>,
    ) {
        if !fields.is_empty() {
            let name = name.to_owned();
            self.diff.push(Entry { part, change: Change::Changed, name, at, fields });
        }
    }

    /// Things with names, in an order that means something: tells of those on one side only and
    /// of those that moved; returns the pairs.
    fn by_name(
        &mut self,
        part: Part,
        path: &str,
        (a, b): (&[String], &[String]),
    ) -> Vec<(usize, usize)> {
        let keys =
            |all: &[String]| -> Vec<u64> { all.iter().map(|n| hash_bytes(n.as_bytes())).collect() };
        let (ka, kb) = (keys(a), keys(b));
        let found = align::align(&ka, &kb, &mut self.work);
        let s = settle((&ka, &kb), &gaps(&found.runs, (a.len(), b.len())), &|_, _| None);
        let place =
            |n: &str| Some(if path.is_empty() { n.to_owned() } else { format!("{path}/{n}") });
        for i in &s.removed {
            let at = [place(&a[*i]), None];
            let (change, name) = (Change::Removed, a[*i].clone());
            self.diff.push(Entry { part, change, name, at, fields: Vec::new() });
        }
        for j in &s.added {
            let at = [None, place(&b[*j])];
            let (change, name) = (Change::Added, b[*j].clone());
            self.diff.push(Entry { part, change, name, at, fields: Vec::new() });
        }
        for (i, j) in &s.moved {
            let nth = |n: usize| Some(format!("{} number {}", part.name(), n + 1));
            let (change, name) = (Change::Moved, a[*i].clone());
            self.diff.push(Entry {
                part,
                change,
                name,
                at: [nth(*i), nth(*j)],
                fields: Vec::new(),
            });
        }
        let runs = found.runs.iter().flat_map(|r| (0..r.len).map(|k| (r.a + k, r.b + k)));
        let mut pairs: Vec<(usize, usize)> = runs.chain(s.moved).collect();
        pairs.sort_unstable();
        pairs
    }

    fn function(&mut self, a: &Function, b: &Function) {
        let name = a.name.to_string();
        let fields = fields_between(&self.words.function(a), &self.words.function(b));
        self.changed(Part::Function, &name, [None, None], fields);
        let all = |f: &Function| f.allocations.iter().map(|a| a.name.to_string()).collect();
        let (x, y): (Vec<String>, Vec<String>) = (all(a), all(b));
        for (i, j) in self.unordered(Part::Allocation, &name, (&x, &y)) {
            let (x, y) = (&a.allocations[i], &b.allocations[j]);
            let fields = fields_between(&self.words.allocation(x), &self.words.allocation(y));
            self.changed(Part::Allocation, &x.name, [None, None], fields);
        }
        let all = |f: &'_ Function| -> Vec<(String, Location)> {
            let all = f.allocations.iter().flat_map(|a| &a.locations);
            all.map(|l| (l.name.to_string(), l.clone())).collect()
        };
        let (x, y) = (all(a), all(b));
        let names = |all: &[(String, Location)]| all.iter().map(|l| l.0.clone()).collect();
        let (p, q): (Vec<String>, Vec<String>) = (names(&x), names(&y));
        for (i, j) in self.unordered(Part::Location, &name, (&p, &q)) {
            let fields =
                fields_between(&self.words.location(&x[i].1), &self.words.location(&y[j].1));
            self.changed(Part::Location, &p[i], [None, None], fields);
        }
        self.blocks(&name, &a.blocks, &b.blocks);
    }

    /// Things with names whose order means nothing.
    fn unordered(
        &mut self,
        part: Part,
        path: &str,
        (a, b): (&[String], &[String]),
    ) -> Vec<(usize, usize)> {
        let mut right: HashMap<&str, VecDeque<usize>> = HashMap::new();
        for (j, n) in b.iter().enumerate() {
            right.entry(n).or_default().push_back(j);
        }
        let mut pairs = Vec::new();
        let lone = |change, name: &String, side: usize| {
            let mut at = [None, None];
            at[side] = Some(format!("{path}/{name}"));
            Entry { part, change, name: name.clone(), at, fields: Vec::new() }
        };
        for (i, n) in a.iter().enumerate() {
            match right.get_mut(n.as_str()).and_then(VecDeque::pop_front) {
                Some(j) => pairs.push((i, j)),
                None => self.diff.push(lone(Change::Removed, n, 0)),
            }
        }
        let mut rest: Vec<usize> = right.into_values().flatten().collect();
        rest.sort_unstable();
        for j in rest {
            self.diff.push(lone(Change::Added, &b[j], 1));
        }
        pairs
    }

    fn blocks(&mut self, path: &str, a: &[Block], b: &[Block]) {
        let names = |all: &[Block]| -> Vec<String> {
            let name = |(n, b): (usize, &Block)| {
                b.name.as_ref().map_or_else(|| format!("block {n}"), |n| n.to_string())
            };
            all.iter().enumerate().map(name).collect()
        };
        let (x, y) = (names(a), names(b));
        for (i, j) in self.by_name(Part::Block, path, (&x, &y)) {
            let at = format!("{path}/{}", x[i]);
            let fields = fields_between(&self.words.block(&a[i]), &self.words.block(&b[j]));
            self.changed(Part::Block, &x[i], [Some(at.clone()), Some(at.clone())], fields);
            self.insts(&at, &a[i].insts, &b[j].insts);
        }
        // What a block holds that one side does not have may have gone elsewhere.
        for (side, blocks, own, theirs) in [(0, a, &x, &y), (1, b, &y, &x)] {
            for (block, name) in blocks.iter().zip(own).filter(|(_, n)| !theirs.contains(n)) {
                self.hold(side, &format!("{path}/{name}"), std::slice::from_ref(block));
            }
        }
    }

    /// Remembers what blocks hold of which it is told that they are only on one side.
    fn hold(&mut self, side: usize, path: &str, blocks: &[Block]) {
        for b in blocks {
            for inst in &b.insts {
                let path = path.to_owned();
                self.lone[side].push(Lone { path: path.clone(), inst: inst.clone(), inside: true });
                self.hold(side, &format!("{path}/{}", inst.name), inst.blocks());
            }
        }
    }

    /// A digest of an instruction and all that it holds.
    fn key(&self, inst: &Inst) -> u64 {
        let mut h = 0;
        for (name, value) in self.words.inst(inst) {
            h = mix(mix(h, hash_bytes(name.as_bytes())), hash_bytes(value.as_bytes()));
        }
        for b in inst.blocks() {
            h = mix(h, hash_bytes(b.name.as_deref().unwrap_or_default().as_bytes()));
            for (name, value) in self.words.block(b) {
                h = mix(mix(h, hash_bytes(name.as_bytes())), hash_bytes(value.as_bytes()));
            }
            for i in &b.insts {
                h = mix(h, self.key(i));
            }
        }
        h
    }

    fn insts(&mut self, path: &str, a: &[Arc<Inst>], b: &[Arc<Inst>]) {
        let keys = |all: &[Arc<Inst>]| all.iter().map(|i| self.key(i)).collect::<Vec<u64>>();
        let (ka, kb) = (keys(a), keys(b));
        let found = align::align(&ka, &kb, &mut self.work);
        if found.bounded {
            self.diff.bound(format!(
                "{path}: the bound on work is reached; some instructions are compared by place"
            ));
        }
        let words = self.words;
        let unlike = |i: usize, j: usize| unlike(words, &a[i], &b[j]);
        let s = settle((&ka, &kb), &gaps(&found.runs, (a.len(), b.len())), &unlike);
        for (side, all, which) in [(0, a, &s.removed), (1, b, &s.added)] {
            for n in which {
                let (path, inst) = (path.to_owned(), all[*n].clone());
                self.lone[side].push(Lone { path, inst, inside: false });
            }
        }
        for (i, j) in &s.moved {
            let at = |n: usize| Some(format!("{path} number {}", n + 1));
            self.pair(Change::Moved, (&a[*i], &b[*j]), [at(*i), at(*j)]);
        }
        for (i, j) in &s.changed {
            let at = Some(path.to_owned());
            self.pair(Change::Changed, (&a[*i], &b[*j]), [at.clone(), at]);
        }
    }

    /// Tells of an instruction that both sides have, and goes into it.
    fn pair(&mut self, change: Change, (a, b): (&Arc<Inst>, &Arc<Inst>), at: [Option<String>; 2]) {
        let fields = fields_between(&self.words.inst(a), &self.words.inst(b));
        let path = format!("{}/{}", at[0].as_deref().unwrap_or_default(), title(a));
        if change == Change::Moved || !fields.is_empty() {
            let (part, name) = (Part::Instruction, title(a));
            self.diff.push(Entry { part, change, name, at, fields });
        }
        self.blocks(&path, a.blocks(), b.blocks());
    }

    /// What is left on both sides under one name went from one block to another.
    fn lone_ones(&mut self) {
        // Going into what moved can leave more of them.
        for _ in 0..crate::limits::MAX_BIR_DEPTH {
            let [a, b] = std::mem::take(&mut self.lone);
            let mut right: HashMap<(String, String), VecDeque<usize>> = HashMap::new();
            for (j, l) in b.iter().enumerate().filter(|(_, l)| !l.inst.name.is_empty()) {
                right.entry(known_as(&l.inst)).or_default().push_back(j);
            }
            let mut gone = vec![false; b.len()];
            let mut pairs = Vec::new();
            for l in a {
                let to = right.get_mut(&known_as(&l.inst)).and_then(VecDeque::pop_front);
                match to {
                    Some(j) => {
                        gone[j] = true;
                        pairs.push((l, j));
                    }
                    None => self.only(Change::Removed, &l),
                }
            }
            for (l, gone) in b.iter().zip(&gone) {
                if !gone {
                    self.only(Change::Added, l);
                }
            }
            if pairs.is_empty() {
                return;
            }
            for (l, j) in pairs {
                let at = [Some(l.path.clone()), Some(b[j].path.clone())];
                self.pair(Change::Moved, (&l.inst, &b[j].inst), at);
            }
        }
    }

    fn only(&mut self, change: Change, l: &Lone) {
        if l.inside {
            return;
        }
        let mut inside = 0u64;
        for b in l.inst.blocks() {
            b.visit(&mut |_| inside += 1);
        }
        let name = match inside {
            0 => title(&l.inst),
            n => format!("{} with {n} inside", title(&l.inst)),
        };
        let path = Some(l.path.clone());
        let at = if change == Change::Removed { [path, None] } else { [None, path] };
        self.diff.push(Entry { part: Part::Instruction, change, name, at, fields: Vec::new() });
    }
}

fn known_as(i: &Inst) -> (String, String) {
    (i.name.to_string(), i.opcode.to_string())
}

/// Name and opcode.
fn title(i: &Inst) -> String {
    if i.name.is_empty() { i.opcode.to_string() } else { format!("%{} {}", i.name, i.opcode) }
}

fn unlike(words: &dyn ModuleWords, a: &Inst, b: &Inst) -> Option<u32> {
    let same_name = a.name == b.name;
    if a.opcode != b.opcode && (!same_name || a.name.is_empty()) {
        return None;
    }
    let (x, y) = (words.inst(a), words.inst(b));
    let differ = fields_between(&x, &y).len();
    // Another name and all else the same is a new name.
    if !same_name && differ > 1 {
        return None;
    }
    Some((differ * 1000 / x.len().max(y.len()).max(1)).min(999) as u32)
}
