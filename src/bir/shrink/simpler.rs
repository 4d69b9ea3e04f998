//! Simpler forms of one instruction.

use crate::bir::{Body, DgeType, Dma, Dtype, Expr, Form, Inst, Mode, Name, Operand, Pair, Pattern};
use std::sync::Arc;

/// Simpler forms of an instruction, the simplest first; several stand for a loop's body.
pub(super) fn simpler(i: &Inst) -> Vec<Vec<Inst>> {
    let mut out: Vec<Vec<Inst>> = Vec::new();
    let mut change = |f: &dyn Fn(&mut Inst)| {
        let mut new = i.clone();
        f(&mut new);
        if new != *i {
            out.push(vec![new]);
        }
    };
    change(&|i| {
        i.deps.clear();
        i.loop_deps.clear();
        i.waits.clear();
        i.updates.clear();
    });
    change(&|i| (i.debug, i.extra) = (None, Vec::new()));
    for k in 0..i.deps.len() {
        change(&|i| drop(i.deps.remove(k)));
    }
    for k in 0..i.loop_deps.len() {
        change(&|i| drop(i.loop_deps.remove(k)));
    }
    for k in 0..i.waits.len() {
        change(&|i| drop(i.waits.remove(k)));
    }
    for k in 0..i.updates.len() {
        change(&|i| drop(i.updates.remove(k)));
    }
    match &i.body {
        Body::Dma(_) => {
            change(&|i| {
                keys(i, |d| (d.mode, d.constants, d.dge) = (Mode::Copy, None, DgeType::None))
            });
            change(&|i| keys(i, |d| d.constants = None));
            change(&|i| keys(i, |d| d.dge = DgeType::None));
        }
        Body::Trigger(t) => {
            for k in 0..t.dma_blocks.len() {
                change(&|i| {
                    if let Body::Trigger(t) = &mut i.body {
                        t.dma_blocks.remove(k);
                    }
                });
            }
        }
        Body::Loop(l) => {
            let trips = l.axis.trips().unwrap_or(0);
            for n in [1, trips / 2, trips.saturating_sub(1)].into_iter().filter(|n| *n > 0) {
                change(&|i| {
                    if let Body::Loop(l) = &mut i.body {
                        let last = l.axis.value(n - 1);
                        l.axis.ub = last.saturating_add(1);
                    }
                });
            }
            change(&|i| {
                if let Body::Loop(l) = &mut i.body {
                    let trips = l.axis.trips().unwrap_or(0).min(i64::MAX as u64) as i64;
                    (l.axis.lb, l.axis.ub, l.axis.stride) = (0, trips, 1);
                }
            });
        }
        _ => {}
    }
    for k in 1..i.ins.len() {
        change(&|i| without_source(i, k));
    }
    operands(i, &mut change);
    // The body of a loop once, at the axis's first value.
    let (axis, value) = match &i.body {
        Body::Loop(l) => (l.axis.name.clone(), Expr::Const(l.axis.lb)),
        Body::DynamicLoop(l) => (l.axis.clone(), l.lb.clone()),
        Body::DoWhile(_) => (Name::from(""), Expr::Const(0)),
        _ => return out,
    };
    let body = i.blocks().iter().flat_map(|b| &b.insts);
    out.insert(0, body.map(|b| at_value(b, &axis, &value)).collect());
    out
}

fn keys(i: &mut Inst, f: impl Fn(&mut Dma)) {
    if let Body::Dma(d) = &mut i.body {
        f(d);
    }
}

fn without_source(i: &mut Inst, k: usize) {
    i.ins.remove(k);
    let constants = match &mut i.body {
        Body::Dma(d) => d.constants.as_mut(),
        Body::Descriptor(d) => d.constants.as_mut(),
        _ => None,
    };
    if let Some(c) = constants.filter(|c| k < c.len()) {
        c.remove(k);
    }
}

/// An instruction with an axis at a value.
fn at_value(i: &Inst, axis: &Name, value: &Expr) -> Inst {
    let mut i = i.clone();
    for o in i.ins.iter_mut().chain(&mut i.outs) {
        if let Some(p) = o.as_pattern_mut()
            && let Some(e) = p.start.take()
        {
            p.start = Some(put(&e, axis, value));
        }
    }
    for b in i.blocks_mut().into_iter().flatten() {
        for inner in &mut b.insts {
            *inner = Arc::new(at_value(inner, axis, value));
        }
    }
    i
}

fn put(e: &Expr, axis: &Name, value: &Expr) -> Expr {
    let sub = |e: &Expr| put(e, axis, value);
    match e {
        Expr::Axis(n) if n == axis => value.clone(),
        Expr::Sum(terms) => Expr::Sum(terms.iter().map(sub).collect()),
        Expr::Mul(e, by) => Expr::Mul(Box::new(sub(e)), *by),
        Expr::FloorDiv(a, b) => Expr::FloorDiv(Box::new(sub(a)), Box::new(sub(b))),
        Expr::Mod(a, b) => Expr::Mod(Box::new(sub(a)), Box::new(sub(b))),
        _ => e.clone(),
    }
}

fn patterns(i: &mut Inst) -> impl Iterator<Item = &mut Pattern> {
    i.ins.iter_mut().chain(&mut i.outs).filter_map(Operand::as_pattern_mut)
}

/// Takes a change of an instruction as a candidate.
type Change<'c> = &'c mut dyn FnMut(&dyn Fn(&mut Inst));

/// Simpler operands: all of them together first, so that their counts stay equal.
fn operands(i: &Inst, change: Change<'_>) {
    change(&|i| patterns(i).for_each(|p| p.pairs.iter_mut().for_each(|p| p.num = p.num.min(1))));
    let shapes: Vec<&Pattern> =
        i.ins.iter().chain(&i.outs).filter_map(Operand::as_pattern).collect();
    let most = shapes.iter().map(|p| p.pairs.len()).max().unwrap_or(0);
    for k in 0..most {
        let num = |p: &Pattern| p.pairs.get(k).map_or(0, |p| p.num);
        let n = shapes.iter().map(|p| num(p)).max().unwrap_or(0);
        for less in [1, n / 2, n.saturating_sub(1)] {
            change(&|i| {
                let alike = patterns(i).filter_map(|p| p.pairs.get_mut(k)).filter(|p| p.num == n);
                alike.for_each(|p| p.num = less.max(1));
            });
        }
    }
    for prime in [2, 3, 5, 7, 11, 13] {
        for outer in [true, false] {
            change(&|i| patterns(i).for_each(|p| divide(p, prime, outer)));
        }
    }
    change(&|i| {
        patterns(i).for_each(|p| {
            let mut k = 0;
            p.pairs.retain(|p| {
                k += 1;
                k == 1 || p.num != 1
            });
        });
    });
    change(&|i| {
        for o in i.ins.iter_mut().chain(&mut i.outs) {
            o.dtype = o.dtype.map(|_| Dtype::U8);
            o.extra.clear();
        }
    });
    let ins = i.ins.len();
    for k in 0..ins + i.outs.len() {
        let mut one = |f: &dyn Fn(&mut Pattern)| {
            change(&|i| {
                let o = if k < ins { i.ins.get_mut(k) } else { i.outs.get_mut(k - ins) };
                if let Some(p) = o.and_then(Operand::as_pattern_mut) {
                    f(p);
                }
            });
        };
        one(&|p| {
            *p = Pattern {
                start: None,
                reference: None,
                dynamic_info: false,
                form: Form::Physical,
                location: located(p),
                ..p.clone()
            }
        });
        one(&|p| p.offset = 0);
        one(&|p| p.offset /= 2);
        one(&|p| dense(&mut p.pairs));
        one(&|p| p.pairs.iter_mut().for_each(|p| p.step = p.step.saturating_abs()));
        one(&|p| p.start = p.start.as_ref().map(folded));
        one(&|p| {
            // A start that is a constant becomes an offset.
            if let Some(c) = p.start.as_ref().and_then(Expr::as_const)
                && let Some(offset) = p.offset.checked_add(c)
            {
                let location = located(p);
                (p.start, p.offset, p.form, p.location) = (None, offset, Form::Physical, location);
            }
        });
    }
}

/// The location that a pattern names; by convention that of its set where it names none.
fn located(p: &Pattern) -> Option<Name> {
    let of_set = || p.set.as_deref().and_then(|s| s.strip_suffix("_set")).map(Name::from);
    p.location.clone().or_else(of_set)
}

fn divide(p: &mut Pattern, prime: u64, outer: bool) {
    let fits = |p: &&mut Pair| p.num.is_multiple_of(prime) && p.num > 0;
    let pair =
        if outer { p.pairs.iter_mut().find(fits) } else { p.pairs.iter_mut().rev().find(fits) };
    if let Some(pair) = pair {
        pair.num /= prime;
    }
}

/// Row-major steps without gaps.
fn dense(pairs: &mut [Pair]) {
    let mut unit = 1i64;
    for p in pairs.iter_mut().rev() {
        p.step = unit;
        unit = unit.saturating_mul(p.num.max(1).min(i64::MAX as u64) as i64);
    }
}

/// An expression without terms that are nothing.
fn folded(e: &Expr) -> Expr {
    match e {
        Expr::Sum(terms) => {
            let terms: Vec<Expr> =
                terms.iter().map(folded).filter(|t| *t != Expr::Const(0)).collect();
            match terms.as_slice() {
                [] => Expr::Const(0),
                [one] => one.clone(),
                _ => Expr::Sum(terms),
            }
        }
        Expr::Mul(_, 0) => Expr::Const(0),
        Expr::Mul(e, 1) => folded(e),
        Expr::Mul(e, by) => match (folded(e), by) {
            (Expr::Const(c), by) if c.checked_mul(*by).is_some() => Expr::Const(c * by),
            (e, by) => Expr::Mul(Box::new(e), *by),
        },
        _ => e.clone(),
    }
}
