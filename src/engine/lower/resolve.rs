//! Addresses in loops: what an operand is in one iteration of the loops around it
//! (`docs/lowering.md`, "Loops").

use super::rewrite::Enclosing;
use crate::bir::expr::ExprError;
use crate::bir::{Axis, Expr, Form, Layout, Name, Operand, OperandKind, PlaceError, Reference};
use crate::limits::MAX_LOWERED_INSTS;
use crate::udma::count_of;

/// Loops around a transfer as far as they are unrolled into blocks: the innermost ones whose
/// iterations are known, up to the first that is not.
#[derive(Debug)]
pub(super) struct Nest {
    /// Resolved axes, outermost first.
    axes: Vec<Axis>,
    /// Axes that stay in the addresses.
    pub(super) left: Vec<Name>,
    /// Iterations, all axes together.
    pub(super) iterations: u64,
}

/// Values of the resolved axes.
pub(super) type Env = Vec<(Name, i64)>;

impl Nest {
    /// The loops around a transfer. One that may not run in every iteration (`masked`) keeps
    /// all axes, since its fires do not follow the iterations.
    ///
    /// # Errors
    /// There are more iterations than may be unrolled.
    pub(super) fn new(loops: &[Enclosing], masked: bool) -> Result<Nest, String> {
        let known = |e: &&Enclosing| matches!(e, Enclosing::Static(_)) && !masked;
        let resolved = loops.iter().rev().take_while(known).count();
        let (outer, inner) = loops.split_at(loops.len() - resolved);
        let left = outer.iter().filter_map(|e| match e {
            Enclosing::Static(a) => Some(a.name.clone()),
            Enclosing::Dynamic(a) => a.clone(),
        });
        let axes: Vec<Axis> = inner
            .iter()
            .filter_map(|e| match e {
                Enclosing::Static(a) => Some(a.clone()),
                Enclosing::Dynamic(_) => None,
            })
            .collect();
        let trips = axes.iter().map(|a| a.trips().unwrap_or(0));
        let iterations = trips.fold(1u64, u64::saturating_mul);
        if iterations > MAX_LOWERED_INSTS {
            return Err(format!(
                "the loops around it have {iterations} together",
                iterations = count_of(iterations, "iteration")
            ));
        }
        Ok(Nest { left: left.collect(), axes, iterations })
    }

    /// Axis values of an iteration, the innermost fastest.
    pub(super) fn env(&self, mut iteration: u64) -> Env {
        let mut env = Vec::with_capacity(self.axes.len());
        for a in self.axes.iter().rev() {
            let trips = a.trips().unwrap_or(0).max(1);
            env.push((a.name.clone(), a.value(iteration % trips)));
            iteration /= trips;
        }
        env
    }
}

/// Why an operand has no place in an iteration.
#[derive(Debug)]
pub(super) enum Unresolved {
    /// Its expression is not understood; in words.
    Start(String),
    /// Its elements lie outside.
    Place(PlaceError),
}

/// The expression with the known axes put in.
fn fold(e: &Expr, env: &Env, left: &[Name]) -> Result<Expr, String> {
    let value = |n: &str| env.iter().find(|(a, _)| &**a == n).map(|(_, v)| *v);
    match e.eval(&value, &|_| None) {
        Ok(c) => return Ok(Expr::Const(c)),
        Err(ExprError::Arithmetic) => {
            return Err("it divides by zero or does not fit 64 bits".into());
        }
        Err(ExprError::Unknown(kind)) => return Err(format!("`{kind}` is not understood")),
        Err(ExprError::Axis(n)) if !left.contains(&n) => {
            return Err(format!("no loop around it has the axis `{n}`"));
        }
        Err(_) => {}
    }
    let sub = |e: &Expr| fold(e, env, left);
    let both = |a: &Expr, b: &Expr| Ok::<_, String>((Box::new(sub(a)?), Box::new(sub(b)?)));
    Ok(match e {
        Expr::Sum(terms) => Expr::Sum(terms.iter().map(sub).collect::<Result<_, _>>()?),
        Expr::Mul(e, by) => Expr::Mul(Box::new(sub(e)?), *by),
        Expr::FloorDiv(a, b) => both(a, b).map(|(a, b)| Expr::FloorDiv(a, b))?,
        Expr::Mod(a, b) => both(a, b).map(|(a, b)| Expr::Mod(a, b))?,
        other => other.clone(),
    })
}

/// An operand in one iteration, re-pointed to its final location: a physical pattern whose start
/// is a number, except where axes are left or a base is read at run time.
///
/// # Errors
/// As [`Unresolved`] lists.
pub(super) fn resolve(
    layout: &Layout,
    operand: &Operand,
    env: &Env,
    left: &[Name],
) -> Result<Operand, Unresolved> {
    let Some(p) = operand.as_pattern() else {
        return Err(Unresolved::Place(PlaceError::NoPattern));
    };
    if operand.dtype.is_none() {
        return Err(Unresolved::Place(PlaceError::NoDtype));
    }
    let mut new = p.clone();
    new.location = Some(layout.of(p).map_err(Unresolved::Place)?.name.clone());
    new.form = Form::Physical;
    if let Some(start) = &p.start {
        new.start = match fold(start, env, left).map_err(Unresolved::Start)? {
            Expr::Const(c) => {
                let sum = new.offset.checked_add(c);
                new.offset = sum.ok_or(Unresolved::Place(PlaceError::Overflow))?;
                None
            }
            e => Some(e),
        };
    }
    if let Some(Reference::Index { list, .. }) = &mut new.reference {
        **list = resolve(layout, list, env, left)?;
    }
    let known = new.start.is_none() && new.reference.is_none();
    let new = Operand { kind: OperandKind::Pattern(new), ..operand.clone() };
    if known {
        layout.walk_static(&new).map_err(Unresolved::Place)?;
    }
    Ok(new)
}

/// The first index that is out of range for a pattern whose rows are chosen at run time, from
/// what its location holds: from there on no row lies inside. `None` where that is no single
/// bound, or the start is not known.
pub(super) fn index_bound(layout: &Layout, operand: &Operand) -> Option<u64> {
    let p = operand.as_pattern()?;
    let Some(Reference::Index { scale, .. }) = &p.reference else { return None };
    if p.start.is_some() || *scale == 0 {
        return None;
    }
    let placed = layout.of(p).ok()?;
    let elem = operand.dtype?.bytes();
    let row = i64::try_from(placed.pitch / elem).ok()?;
    if placed.space.has_partitions() && (row == 0 || scale % row != 0) {
        return None;
    }
    let inside = |index: u64| {
        let delta = i128::from(*scale) * i128::from(index) + i128::from(p.offset);
        let offset = i64::try_from(delta).ok();
        offset.is_some_and(|o| {
            layout.walk(p, operand.dtype.unwrap_or(crate::bir::Dtype::U8), &p.pairs, o).is_ok()
        })
    };
    if !inside(0) {
        // Rows further on may still lie inside, unless there is none at all.
        return None;
    }
    // A location has less than 2^48 elements, and each index is another row.
    let (mut lo, mut hi) = (0u64, 1u64 << 48);
    while lo + 1 < hi {
        let mid = lo + (hi - lo) / 2;
        if inside(mid) { lo = mid } else { hi = mid }
    }
    Some(hi)
}
