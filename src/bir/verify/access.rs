//! Rules about where operands lie: every element inside its location, in every iteration.
//!
//! An address that is affine in the axes of static loops is judged at its extremes: each is the
//! address of some iteration, and between them nothing can be worse. In SB and PSUM an axis that
//! walks columns across partitions has no extreme; such a pattern is accepted where no column
//! that it can reach is too far, else up to [`MAX_LOOP_PROBES`] iterations are tried one by one
//! and the rest is left to the run (MODEL). The same holds for addresses with a quotient or
//! remainder in them.

use super::flow::{self, Range, Scope};
use super::{Cx, access_grid, dynamic, shape_text};
use crate::bir::{
    At, Dtype, Expr, Finding, Inst, Name, Opcode, Operand, Pair, Pattern, PlaceError, Placed,
    Reference,
};
use crate::diag::Severity;
use crate::limits::MAX_LOOP_PROBES;
use crate::udma::count_of;

/// Axes of an iteration that a message names.
const NAMED_AXES: usize = 8;

pub(super) fn check(cx: &mut Cx<'_>, inst: &Inst, scope: &Scope) {
    // Opaque instructions are judged by what they do to memory only: what else is strange about
    // their operands is theirs.
    let strict = inst.opcode.is_dma() || inst.opcode.is_descriptor();
    if !strict && !matches!(inst.opcode, Opcode::Other(_)) {
        return;
    }
    for (part, o) in dynamic::operands(inst) {
        let Some(p) = o.as_pattern() else { continue };
        let at = At::Inst(inst.pos, part);
        let known = scope_fits(cx, &at, scope, p);
        let Some(dtype) = o.dtype else {
            push(cx, strict, Finding::new("B046", at, "the element type is not known"));
            continue;
        };
        if !resolves(cx, strict, &at, p) || !known || scope.never_runs() {
            continue;
        }
        let probe = Probe { layout: cx.layout, pattern: p, dtype };
        if let Some(f) = probe.judge(&at, scope) {
            push(cx, strict || f.diag.code == "B044", f);
        }
    }
    for (part, o) in dynamic::operands(inst) {
        if let Some(Reference::Index { list, element, .. }) =
            o.as_pattern().and_then(|p| p.reference.as_ref())
        {
            reference(cx, &At::Inst(inst.pos, part), scope, list, *element);
        }
    }
}

/// The list that a reference takes its index from.
fn reference(cx: &mut Cx<'_>, at: &At, scope: &Scope, list: &Operand, element: u64) {
    let (Some(p), Some(dtype)) = (list.as_pattern(), list.dtype) else { return };
    if p.count().is_some_and(|n| element >= n) {
        let text = format!("a reference to entry {element} of a list of {}", shape_text(p));
        cx.push(Finding::new("B058", at.clone(), text));
    }
    if resolves(cx, true, at, p)
        && let Some(f) = (Probe { layout: cx.layout, pattern: p, dtype }).judge(at, scope)
    {
        cx.push(f);
    }
}

fn push(cx: &mut Cx<'_>, strict: bool, mut f: Finding) {
    if !strict {
        f.diag = f.diag.severity(Severity::Warning);
    }
    cx.push(f);
}

fn scope_fits(cx: &mut Cx<'_>, at: &At, scope: &Scope, p: &Pattern) -> bool {
    match &p.start {
        Some(e) => flow::expression(cx, at.clone(), scope, e),
        None => true,
    }
}

fn resolves(cx: &mut Cx<'_>, strict: bool, at: &At, p: &Pattern) -> bool {
    let key = p.location.as_ref().or(p.set.as_ref());
    let known = key.and_then(|k| cx.unresolved.get(k)).cloned();
    let error = match known {
        Some(e) => e,
        None => match cx.layout.of(p) {
            Ok(_) => return true,
            Err(e) => {
                if let Some(k) = key {
                    cx.unresolved.insert(k.clone(), e.clone());
                }
                e
            }
        },
    };
    // A location that does not fit its memory was reported itself.
    if !matches!(error, PlaceError::Misplaced(..)) {
        push(cx, strict, Finding::new("B043", at.clone(), error.to_string()));
    }
    false
}

/// An axis that an address depends on: elements a trip, and trips.
#[derive(Clone)]
struct Axis {
    name: Name,
    lb: i64,
    stride: i64,
    step: i128,
    trips: u64,
}

/// A pattern whose elements are looked for.
struct Probe<'a> {
    layout: &'a crate::bir::Layout,
    pattern: &'a Pattern,
    dtype: Dtype,
}

/// Constant and coefficients of an affine expression.
fn affine(e: &Expr, scale: i128, c: &mut i128, axes: &mut Vec<(Name, i128)>) -> Option<()> {
    match e {
        Expr::Const(n) => *c = c.checked_add(scale.checked_mul(i128::from(*n))?)?,
        Expr::Axis(n) => match axes.iter_mut().find(|a| a.0 == *n) {
            Some(a) => a.1 = a.1.checked_add(scale)?,
            None => axes.push((n.clone(), scale)),
        },
        Expr::Sum(terms) => terms.iter().try_for_each(|t| affine(t, scale, c, axes))?,
        Expr::Mul(e, by) => affine(e, scale.checked_mul(i128::from(*by))?, c, axes)?,
        _ => return None,
    }
    Some(())
}

impl Probe<'_> {
    fn walk(&self, pairs: &[Pair], offset: i128) -> Result<(), PlaceError> {
        let offset = i64::try_from(offset).map_err(|_| PlaceError::Overflow)?;
        self.layout.walk(self.pattern, self.dtype, pairs, offset).map(|_| ())
    }

    fn judge(&self, at: &At, scope: &Scope) -> Option<Finding> {
        let p = self.pattern;
        if p.pairs.iter().any(|p| p.num == 0) {
            return None;
        }
        if p.is_dynamic() && p.start.is_some() || p.reference.is_some() {
            return self.judge_dynamic(at);
        }
        let base = i128::from(p.offset);
        let Some(e) = &p.start else {
            if self.layout.lies(p, self.dtype, &p.pairs, p.offset) {
                return None;
            }
            let e = self.walk(&p.pairs, base).err()?;
            return Some(self.report(at, base, e, &[]));
        };
        let (mut c, mut coefs) = (base, Vec::new());
        let small = |n: &i128| i64::try_from(*n).is_ok();
        let fits = affine(e, 1, &mut c, &mut coefs).is_some();
        if !fits || !small(&c) || !coefs.iter().all(|a| small(&a.1)) {
            return self.judge_computed(at, scope, e);
        }
        // In the order of the loops, outermost first, so that the first iteration is found.
        let mut axes = Vec::new();
        for range in &scope.axes {
            let Some((name, coef)) = coefs.iter().find(|a| a.0 == range.name) else { continue };
            // A bound that is known only at run time: so is the address.
            let (lb, stride, trips) = range.values?;
            c = c.saturating_add(coef * i128::from(lb));
            let step = coef * i128::from(stride);
            axes.push(Axis { name: name.clone(), lb, stride, step, trips });
        }
        let (counters, error) = self.first_iteration(&axes, c)?;
        let offset = shifted(c, &axes, &counters);
        let values: Vec<(Name, i64)> = axes
            .iter()
            .zip(&counters)
            .map(|(a, k)| (a.name.clone(), a.lb.wrapping_add(a.stride.wrapping_mul(*k as i64))))
            .collect();
        Some(self.report(at, offset, error, &values))
    }

    /// An address that is known only at run time: the pattern must fit somewhere.
    fn judge_dynamic(&self, at: &At) -> Option<Finding> {
        let p = self.pattern;
        let loc = self.layout.of(p).ok()?;
        let vector =
            p.index_arg().is_some() || matches!(p.reference, Some(Reference::Index { .. }));
        let first = p.pairs.first().filter(|f| f.num > 1 && loc.space.has_partitions());
        let pitch = loc.pitch / self.dtype.bytes();
        if let Some(first) = first
            && pitch > 0
            && first.step % pitch as i64 != 0
        {
            let e = PlaceError::Step { step: first.step, pitch };
            return Some(Finding::new("B045", at.clone(), e.to_string()));
        }
        if loc.space.has_partitions() || vector {
            return None;
        }
        let reach = p.pairs.iter().map(|p| i128::from(p.step) * i128::from(p.num - 1));
        let down = reach.fold(0i128, |down, r| down.saturating_add(r.min(0)));
        let e = self.walk(&p.pairs, down.saturating_neg()).err()?;
        let text = format!("no offset keeps {} inside `{}`: {e}", shape_text(p), loc.name);
        Some(Finding::new("B044", at.clone(), text))
    }

    /// An address with a quotient or a remainder.
    fn judge_computed(&self, at: &At, scope: &Scope, e: &Expr) -> Option<Finding> {
        let mut used: Vec<&Range> = Vec::new();
        for range in &scope.axes {
            let mut found = false;
            e.visit(&mut |e| found |= matches!(e, Expr::Axis(n) if *n == range.name));
            if found {
                range.values?;
                used.push(range);
            }
        }
        let trips = used.iter().map(|r| r.values.map_or(0, |v| v.2));
        let total = trips.clone().try_fold(1u64, u64::checked_mul)?;
        let trips: Vec<u64> = trips.collect();
        for k in 0..total.min(MAX_LOOP_PROBES) {
            let counters = split(k, &trips);
            let value = |n: &str| {
                let i = used.iter().position(|r| &*r.name == n)?;
                let (lb, stride, _) = used[i].values?;
                Some(lb.wrapping_add(stride.wrapping_mul(counters[i] as i64)))
            };
            let values = || {
                used.iter()
                    .filter_map(|r| Some((r.name.clone(), value(&r.name)?)))
                    .collect::<Vec<_>>()
            };
            let Ok(start) = e.eval(&value, &|_| None) else {
                let text = "the address divides by zero or does not fit 64 bits";
                return Some(self.in_iteration(Finding::new("B044", at.clone(), text), &values()));
            };
            let offset = i128::from(self.pattern.offset) + i128::from(start);
            if let Err(e) = self.walk(&self.pattern.pairs, offset) {
                return Some(self.report(at, offset, e, &values()));
            }
        }
        None
    }

    /// Counters of the first iteration with an element outside.
    fn first_iteration(&self, axes: &[Axis], base: i128) -> Option<(Vec<u64>, PlaceError)> {
        let loc = self.layout.of(self.pattern).ok()?;
        let pairs = &self.pattern.pairs;
        let full: Vec<u64> = axes.iter().map(|a| a.trips).collect();
        if self.wraps(loc, axes, base) {
            let total = full.iter().try_fold(1u64, |n, t| n.checked_mul(*t)).unwrap_or(u64::MAX);
            for k in 0..total.min(MAX_LOOP_PROBES) {
                let counters = split(k, &full);
                if let Err(e) = self.walk(pairs, shifted(base, axes, &counters)) {
                    return Some((counters, e));
                }
            }
            if total <= MAX_LOOP_PROBES {
                return None;
            }
        }
        self.outside(loc, axes, &full, base)?;
        // The fewest trips of each axis, outermost first, that lead outside.
        let mut trips = full;
        let mut fixed = vec![0; axes.len()];
        for k in 0..axes.len() {
            let (mut lo, mut hi) = (0, trips[k]);
            while lo + 1 < hi {
                let mid = lo + (hi - lo) / 2;
                trips[k] = mid;
                let out = self.outside(loc, axes, &trips, shifted(base, axes, &fixed)).is_some();
                *(if out { &mut hi } else { &mut lo }) = mid;
            }
            fixed[k] = hi - 1;
            trips[k] = 1;
        }
        let e = self.walk(pairs, shifted(base, axes, &fixed)).err()?;
        Some((fixed, e))
    }

    /// Whether an extreme iteration leads outside.
    fn outside(&self, loc: &Placed, axes: &[Axis], trips: &[u64], base: i128) -> Option<()> {
        let pitch = pitch_of(loc, self.dtype);
        // What an extreme is one of: the address, and the column where there is one.
        let whole = |a: &Axis| a.step;
        let column = |a: &Axis| near(a.step, pitch).1;
        let partition = |a: &Axis| near(a.step, pitch).0;
        let by: [&dyn Fn(&Axis) -> i128; 3] = [&whole, &column, &partition];
        let by = if loc.space.has_partitions() { &by[..] } else { &by[..1] };
        let corners = by.iter().flat_map(|step| [(step, true), (step, false)]);
        for (step, up) in corners {
            let last = |(a, t): (&Axis, &u64)| if (step(a) > 0) == up { t - 1 } else { 0 };
            let counters: Vec<u64> = axes.iter().zip(trips).map(last).collect();
            if self.walk(&self.pattern.pairs, shifted(base, axes, &counters)).is_err() {
                return Some(());
            }
        }
        None
    }

    /// Whether iterations leave one partition for the next, so that the extremes do not tell
    /// all, and a column that they may reach is too far.
    fn wraps(&self, loc: &Placed, axes: &[Axis], base: i128) -> bool {
        if !loc.space.has_partitions() {
            return false;
        }
        let pitch = pitch_of(loc, self.dtype);
        let at = base.rem_euclid(pitch);
        let (mut lo, mut hi, mut unit) = (at, at, pitch);
        for a in axes.iter().filter(|a| a.trips > 1) {
            let step = near(a.step, pitch).1;
            let reach = step.saturating_mul(i128::from(a.trips - 1));
            lo = lo.saturating_add(reach.min(0));
            hi = hi.saturating_add(reach.max(0));
            unit = gcd(unit, step.abs());
        }
        if lo >= 0 && hi < pitch {
            return false;
        }
        // Every column that can be reached is one of these.
        let (first, last) = (at % unit, pitch - unit + at % unit);
        let inner = self.pattern.pairs.iter().skip(1);
        let reach = inner.map(|p| i128::from(p.step) * i128::from(p.num - 1));
        let (down, up) = reach.fold((0i128, 0i128), |(d, u), r: i128| {
            (d.saturating_add(r.min(0)), u.saturating_add(r.max(0)))
        });
        first.saturating_add(down) < 0 || last.saturating_add(up) >= pitch
    }

    /// Counters of the first element outside, and why it is.
    fn first_element(&self, offset: i128) -> Option<(Vec<u64>, PlaceError)> {
        let mut pairs = self.pattern.pairs.clone();
        let mut counters = Vec::new();
        for k in 0..pairs.len() {
            // The fewest of this dimension that lead outside.
            let (mut lo, mut hi) = (0, pairs[k].num);
            while lo + 1 < hi {
                let mid = lo + (hi - lo) / 2;
                pairs[k].num = mid;
                *(if self.walk(&pairs, offset).is_err() { &mut hi } else { &mut lo }) = mid;
            }
            // Only the first, which is inside where it is not the one, and the one.
            let step = pairs[k].step.checked_mul(i64::try_from(hi - 1).ok()?)?;
            pairs[k] = Pair { step, num: if hi > 1 { 2 } else { 1 } };
            counters.push(hi - 1);
        }
        let e = self.walk(&pairs, offset).err()?;
        Some((counters, e))
    }

    fn in_iteration(&self, mut f: Finding, values: &[(Name, i64)]) -> Finding {
        if !values.is_empty() {
            let shown = values.iter().take(NAMED_AXES).map(|(n, v)| format!("{n} = {v}"));
            let text = shown.collect::<Vec<_>>().join(", ");
            let more = if values.len() > NAMED_AXES { ", .." } else { "" };
            f.diag.message += &format!(" (first in the iteration {text}{more})");
        }
        f
    }

    fn report(&self, at: &At, offset: i128, error: PlaceError, values: &[(Name, i64)]) -> Finding {
        let code = if matches!(error, PlaceError::Step { .. }) { "B045" } else { "B044" };
        let first = match error {
            PlaceError::Before { .. }
            | PlaceError::Beyond { .. }
            | PlaceError::Partition { .. } => self.first_element(offset),
            _ => None,
        };
        let Some((counters, error)) = first else {
            let f = Finding::new(code, at.clone(), error.to_string());
            return self.in_iteration(f, values);
        };
        let text = self.fault(&counters, &error);
        let mut f = Finding::new(code, at.clone(), text);
        f.diag = f.diag.help(self.explain(&counters, &error).join("\n"));
        self.in_iteration(f, values)
    }

    /// The fault in the words that a loader of programs uses: the contiguous run that the first
    /// element outside belongs to, and the size.
    fn fault(&self, counters: &[u64], error: &PlaceError) -> String {
        let PlaceError::Beyond { name, offset, len, size } = error else {
            return format!("invalid offset: {error}");
        };
        let (mut run, mut start) = (1u64, *offset);
        let partitions = self.layout.of(self.pattern).is_ok_and(|l| l.space.has_partitions());
        let inner = self.pattern.pairs.iter().zip(counters).skip(usize::from(partitions));
        for (p, i) in inner.rev() {
            if p.num != 1 && p.step != run as i64 {
                break;
            }
            start = start.saturating_sub(i * run * len);
            run *= p.num;
        }
        format!("invalid offset in {name}, {size} < ({start} + {})", run * len)
    }

    /// What is accessed, what there is, and where the first element outside stands.
    fn explain(&self, counters: &[u64], error: &PlaceError) -> Vec<String> {
        let p = self.pattern;
        let mut out = Vec::new();
        if let (Ok(loc), Some(n)) = (self.layout.of(p), p.count()) {
            let has = if loc.space.has_partitions() {
                format!(
                    "{} of {}",
                    count_of(loc.partitions, "partition"),
                    count_of(loc.pitch, "byte")
                )
            } else {
                count_of(loc.pitch, "byte")
            };
            let bytes = u128::from(n) * u128::from(self.dtype.bytes());
            out.push(format!(
                "the pattern is {} of {}, {bytes}; `{}` is {has} of {}",
                shape_text(p),
                self.dtype,
                loc.name,
                loc.space,
                bytes = count_of(bytes, "byte")
            ));
        }
        let which = match error {
            PlaceError::Beyond { offset, .. } => format!("at byte {offset}"),
            PlaceError::Before { by, .. } => {
                format!("{by_bytes} before the begin", by_bytes = count_of(by, "byte"))
            }
            PlaceError::Partition { partition, .. } => format!("in partition {partition}"),
            _ => String::new(),
        };
        out.push(format!("X marks the first element outside, {which}:"));
        let shape: Vec<u64> = p.pairs.iter().map(|p| p.num).collect();
        out.extend(access_grid(&shape, counters));
        out
    }
}

/// The start of an iteration.
fn shifted(base: i128, axes: &[Axis], counters: &[u64]) -> i128 {
    let steps = axes.iter().zip(counters).map(|(a, k)| a.step.saturating_mul(i128::from(*k)));
    steps.fold(base, i128::saturating_add)
}

/// Counters of iteration `k`, the last axis fastest.
fn split(mut k: u64, trips: &[u64]) -> Vec<u64> {
    let mut out = vec![0; trips.len()];
    for (o, t) in out.iter_mut().zip(trips).rev() {
        *o = k % (*t).max(1);
        k /= (*t).max(1);
    }
    out
}

fn pitch_of(loc: &Placed, dtype: Dtype) -> i128 {
    i128::from((loc.pitch / dtype.bytes()).max(1))
}

/// A step as partitions and columns, the columns as few as possible.
fn near(step: i128, pitch: i128) -> (i128, i128) {
    let column = step.rem_euclid(pitch);
    let column = if column * 2 > pitch { column - pitch } else { column };
    ((step - column) / pitch, column)
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
