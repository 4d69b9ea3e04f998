//! Rules about loops and branches, and the loops that are around an instruction.

use super::Cx;
use crate::bir::blocks::BlockNo;
use crate::bir::{At, Block, Body, Branch, Engine, Expr, Finding, Function, Inst, Name, Part};
use std::collections::{HashMap, HashSet};

/// An axis in scope.
#[derive(Clone)]
pub(super) struct Range {
    pub name: Name,
    /// First value, stride and trips, where they are known before the run.
    pub values: Option<(i64, i64, u64)>,
}

/// The loops around an instruction, outermost first, and the names that a branch may go to.
#[derive(Default)]
pub(super) struct Scope {
    pub axes: Vec<Range>,
    targets: HashSet<Name>,
}

impl Scope {
    pub fn of_function(f: &Function) -> Scope {
        Scope {
            axes: Vec::new(),
            targets: f.blocks.iter().filter_map(|b| b.name.clone()).collect(),
        }
    }

    /// A DMA block's, whose descriptors may depend on the axes around its triggers.
    pub fn of_block(axes: Option<&Vec<Range>>) -> Scope {
        Scope { axes: axes.cloned().unwrap_or_default(), targets: HashSet::new() }
    }

    /// The innermost axis of this name.
    pub fn axis(&self, name: &str) -> Option<&Range> {
        self.axes.iter().rev().find(|a| &*a.name == name)
    }

    /// Whether a loop around is never entered.
    pub fn never_runs(&self) -> bool {
        self.axes.iter().any(|a| matches!(a.values, Some((_, _, 0))))
    }

    pub fn leave(&mut self, depth: usize) {
        self.axes.truncate(depth);
    }
}

/// Notes the loops around a trigger for the blocks that it names. An axis counts where every trigger of the
/// block has it; its values where they all agree on them, and the block is fired in every round.
pub(super) fn fires(cx: &mut Cx<'_>, blocks: &[BlockNo], scope: &Scope) {
    for block in blocks {
        let Some(axes) = cx.fired.get_mut(block.0 as usize) else { continue };
        let axes = axes.get_or_insert_with(|| scope.axes.clone());
        if blocks.len() > 1 && !scope.never_runs() {
            // In which rounds its turn comes is left to the run.
            axes.iter_mut().for_each(|a| a.values = None);
        }
        axes.retain_mut(|a| match scope.axis(&a.name) {
            Some(other) => {
                if other.values != a.values {
                    a.values = None;
                }
                true
            }
            None => false,
        });
    }
}

/// Checks what an instruction says about control flow and opens the scope of its axis. Returns
/// the depth to go back to.
pub(super) fn enter(cx: &mut Cx<'_>, inst: &Inst, scope: &mut Scope) -> usize {
    let depth = scope.axes.len();
    match &inst.body {
        Body::Loop(l) => {
            let values = l.axis.trips().map(|trips| (l.axis.lb, l.axis.stride, trips));
            if values.is_none() {
                stride(cx, inst, l.axis.lb, l.axis.ub, l.axis.stride);
            }
            open(cx, inst, scope, &l.axis.name, values);
        }
        Body::DynamicLoop(l) => {
            for e in [&l.lb, &l.ub, &l.stride] {
                bound(cx, inst, scope, e);
            }
            let known = (l.lb.as_const(), l.ub.as_const(), l.stride.as_const());
            let values = match known {
                (Some(lb), Some(ub), Some(stride)) => {
                    let axis = crate::bir::Axis { name: l.axis.clone(), lb, ub, stride };
                    axis.trips().map(|trips| (lb, stride, trips))
                }
                _ => None,
            };
            if let ((Some(lb), Some(ub), Some(s)), None) = (known, values) {
                stride(cx, inst, lb, ub, s);
            }
            open(cx, inst, scope, &l.axis, values);
        }
        Body::DoWhile(l) => bound(cx, inst, scope, &l.cond),
        Body::Jump(target) => goes_to(cx, inst, scope, target, "target"),
        Body::Branch(b) => {
            for (target, key) in [(&b.on_true, "on_true"), (&b.on_false, "on_false")] {
                if let Some(target) = target {
                    goes_to(cx, inst, scope, target, key);
                }
            }
        }
        _ => {}
    }
    depth
}

fn stride(cx: &mut Cx<'_>, inst: &Inst, lb: i64, ub: i64, stride: i64) {
    let text = format!("a stride of {stride} does not lead from {lb} to {ub}");
    cx.push(Finding::new("B067", At::Inst(inst.pos, Part::Whole), text));
}

fn open(
    cx: &mut Cx<'_>,
    inst: &Inst,
    scope: &mut Scope,
    name: &Name,
    values: Option<(i64, i64, u64)>,
) {
    if scope.axis(name).is_some() {
        let text = format!("a loop around this one has the axis `{name}` already");
        cx.push(Finding::new("B067", At::Inst(inst.pos, Part::Whole), text));
    }
    scope.axes.push(Range { name: name.clone(), values });
}

/// A bound or condition: what is in it must have a meaning here.
fn bound(cx: &mut Cx<'_>, inst: &Inst, scope: &Scope, e: &Expr) {
    expression(cx, At::Inst(inst.pos, Part::Whole), scope, e);
    if !e.indices().is_empty() {
        let at = At::Inst(inst.pos, Part::Whole);
        cx.push(Finding::new("B058", at, "an index operand in a bound of a loop"));
    }
}

/// Unknown kinds and axes of an expression. Returns whether there were none.
pub(super) fn expression(cx: &mut Cx<'_>, at: At, scope: &Scope, e: &Expr) -> bool {
    let mut wrong = Vec::new();
    e.visit(&mut |e| match e {
        Expr::Unknown(kind) => {
            wrong.push(("B047", format!("an expression of the unknown kind `{kind}`")));
        }
        Expr::Axis(name) if scope.axis(name).is_none() => {
            wrong.push(("B067", format!("no loop around this has the axis `{name}`")));
        }
        _ => {}
    });
    let fine = wrong.is_empty();
    for (code, text) in wrong {
        cx.push(Finding::new(code, at.clone(), text));
    }
    fine
}

fn goes_to(cx: &mut Cx<'_>, inst: &Inst, scope: &Scope, target: &Name, key: &'static str) {
    if !scope.targets.contains(target) {
        let text = format!("no block of the function is named `{target}`");
        cx.push(Finding::new("B068", At::Inst(inst.pos, Part::Key(key)), text));
    }
}

/// Whether the end of a function can be reached from its first block, for each engine that
/// branches in it. Branches inside loops are left to the run.
pub(super) fn check_branches(cx: &mut Cx<'_>, f: &Function) {
    let branches = |i: &Inst| matches!(i.body, Body::Jump(_) | Body::Branch(_));
    if !f.blocks.iter().flat_map(|b| &b.insts).any(|i| branches(i)) {
        return;
    }
    let mut names: HashMap<&str, usize> = HashMap::new();
    for (at, b) in f.blocks.iter().enumerate() {
        if let Some(n) = &b.name {
            names.entry(n).or_insert(at);
        }
    }
    for engine in Engine::STREAMS {
        let edges: Vec<Vec<usize>> =
            f.blocks.iter().enumerate().map(|(at, b)| leads_to(b, at, engine, &names)).collect();
        if !reaches_end(&edges) {
            let at = f.blocks.first().and_then(|b| b.name.clone());
            let at = at.map_or(At::Module("functions"), At::Block);
            let text =
                format!("{engine} cannot reach the end of `{}`: its jumps have no way out", f.name);
            cx.push(Finding::new("B068", at, text));
            return;
        }
    }
}

/// Blocks that may follow a block for an engine; `usize::MAX` where a target is unknown, which
/// counts as a way out.
fn leads_to(b: &Block, at: usize, engine: Engine, names: &HashMap<&str, usize>) -> Vec<usize> {
    let to = |n: &Name| names.get(&**n).copied().unwrap_or(usize::MAX);
    let mut out = Vec::new();
    for i in &b.insts {
        if i.engine != engine && matches!(i.engine, e if Engine::STREAMS.contains(&e)) {
            continue;
        }
        match &i.body {
            Body::Jump(target) => {
                out.push(to(target));
                return out;
            }
            Body::Branch(Branch { on_true, on_false, .. }) => {
                out.extend(on_true.iter().chain(on_false).map(to));
                if on_true.is_some() && on_false.is_some() {
                    return out;
                }
            }
            _ => {}
        }
    }
    out.push(at + 1);
    out
}

fn reaches_end(edges: &[Vec<usize>]) -> bool {
    let mut seen = vec![false; edges.len()];
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        match seen.get_mut(at) {
            None => return true,
            Some(true) => continue,
            Some(s) => *s = true,
        }
        open.extend(&edges[at]);
    }
    false
}
