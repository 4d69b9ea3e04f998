//! Shapes, and access patterns of a shape inside a location.

use super::Rng;
use super::storage::{Storage, Store};
use crate::bir::{Dtype, Expr, Form, Name, Operand, OperandKind, Pair, Pattern};

/// The axis of a loop around.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    pub name: Name,
    pub lb: i64,
    pub stride: i64,
    pub trips: u64,
}

/// Flat bytes that an operand may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub lo: u64,
    pub hi: u64,
}

/// What is wanted of a pattern.
#[derive(Clone, Copy)]
pub(super) struct Want<'a> {
    pub dtype: Dtype,
    /// Counts, outermost first; the product is what matters unless `exact`.
    pub shape: &'a [u64],
    pub exact: bool,
    /// Whether an element may be visited more than once.
    pub repeats: bool,
    /// Loops around, outermost first.
    pub axes: &'a [Axis],
}

/// A pattern that was found: where it begins without any loop, and the factors of the axes.
pub(super) struct Found {
    pub store: Name,
    pub dtype: Dtype,
    pub pairs: Vec<Pair>,
    pub offset: i64,
    pub coefs: Vec<i64>,
    pub span: Span,
}

/// Counts with a product of at most `most`, at most `dims` of them.
pub(super) fn shape(rng: &mut Rng, dims: u64, most: u64) -> Vec<u64> {
    let mut left = most.max(1);
    let n = 1 + rng.below(dims);
    let mut out = Vec::new();
    for _ in 0..n {
        let wanted = *rng.pick(&[1, 2, 2, 3, 4, 5, 7, 8]);
        let num = left.min(wanted).max(1);
        left /= num;
        out.push(num);
    }
    out
}

/// Neighbours of a shape joined at random.
fn joined(rng: &mut Rng, shape: &[u64]) -> Vec<u64> {
    let mut out: Vec<u64> = Vec::new();
    for &n in shape {
        match out.last_mut() {
            Some(last) if rng.chance(30) => *last *= n,
            _ => out.push(n),
        }
    }
    out
}

/// Steps of `nums` inside `room` elements, and the first one's place. `None` where they do not
/// fit.
fn inner(rng: &mut Rng, nums: &[u64], room: u64, repeats: bool) -> Option<(Vec<Pair>, i64)> {
    let steps = |pads: &[u64]| {
        let mut unit = 1u64;
        let mut steps = vec![0u64; nums.len()];
        for k in (0..nums.len()).rev() {
            steps[k] = unit + pads[k];
            unit += steps[k] * (nums[k] - 1);
        }
        (steps, unit)
    };
    let pads: Vec<u64> =
        nums.iter().map(|_| if rng.chance(25) { rng.below(3) } else { 0 }).collect();
    let (mut found, mut extent) = steps(&pads);
    if extent > room {
        (found, extent) = steps(&vec![0; nums.len()]);
    }
    if extent > room {
        return None;
    }
    let mut pairs: Vec<Pair> =
        found.iter().zip(nums).map(|(s, n)| Pair { step: *s as i64, num: *n }).collect();
    for p in &mut pairs {
        if repeats && rng.chance(12) {
            p.step = if rng.chance(60) { 0 } else { p.step.min(1) };
        }
        if rng.chance(20) {
            p.step = -p.step;
        }
    }
    let reach = |p: &Pair| p.step * (p.num as i64 - 1);
    let down: i64 = pairs.iter().map(|p| reach(p).min(0)).sum();
    let up: i64 = pairs.iter().map(|p| reach(p).max(0)).sum();
    let last = room as i64 - 1 - up;
    let at = if rng.chance(50) { -down } else { rng.range(-down, last) };
    Some((pairs, at))
}

impl Storage {
    /// A pattern in a location.
    pub fn pattern(&self, rng: &mut Rng, store: &Store, want: Want<'_>) -> Option<Found> {
        let room = store.pitch / want.dtype.bytes();
        let nums = if want.exact { want.shape.to_vec() } else { joined(rng, want.shape) };
        let (pairs, offset) = if store.space.has_partitions() {
            self.in_tile(rng, store, room, nums, want)?
        } else {
            inner(rng, &nums, room, want.repeats)?
        };
        let mut found = Found {
            store: store.name.clone(),
            dtype: want.dtype,
            pairs,
            offset,
            coefs: vec![0; want.axes.len()],
            span: Span { lo: 0, hi: 0 },
        };
        for _ in 0..4 {
            let unit = if store.space.has_partitions() && rng.chance(60) { room } else { 1 };
            for c in &mut found.coefs {
                *c = unit as i64 * rng.range(-2, 5);
            }
            // An address is never below the first one that the file can hold.
            let base: i64 = want.axes.iter().zip(&found.coefs).map(|(a, c)| a.lb * c).sum();
            found.offset = offset - base + rng.range(0, 2);
            if let Some(span) = self.span(&found, want.axes) {
                found.span = span;
                return Some(found);
            }
        }
        found.coefs.fill(0);
        found.offset = offset;
        found.span = self.span(&found, want.axes)?;
        Some(found)
    }

    fn in_tile(
        &self,
        rng: &mut Rng,
        store: &Store,
        room: u64,
        nums: Vec<u64>,
        want: Want<'_>,
    ) -> Option<(Vec<Pair>, i64)> {
        let mut nums = nums;
        let fits =
            |nums: &[u64]| nums[0] <= store.partitions && nums[1..].iter().product::<u64>() <= room;
        let as_is = want.exact || (fits(&nums) && rng.chance(80));
        if !as_is {
            nums.insert(0, 1);
        }
        if nums.is_empty() || !fits(&nums) {
            return None;
        }
        let (pairs, column) = inner(rng, &nums[1..], room, want.repeats)?;
        let n = nums[0];
        let widest = if n > 1 { (store.partitions - 1) / (n - 1) } else { 1 };
        let mut step = if rng.chance(70) { 1 } else { rng.range(1, widest.min(3) as i64) };
        if want.repeats && rng.chance(10) {
            step = 0;
        }
        let reach = step * (n as i64 - 1);
        let mut first = rng.range(0, store.partitions as i64 - 1 - reach);
        if rng.chance(20) {
            first += reach;
            step = -step;
        }
        let mut all = vec![Pair { step: step * room as i64, num: n }];
        all.extend(pairs);
        Some((all, first * room as i64 + column))
    }

    /// The bytes of a pattern over all iterations; `None` where one leaves its location.
    pub fn span(&self, found: &Found, axes: &[Axis]) -> Option<Span> {
        let p = Pattern::new(&found.store, 0, &[]);
        let mut out = Span { lo: u64::MAX, hi: 0 };
        let total: u64 = axes.iter().map(|a| a.trips).product();
        for k in 0..total {
            let mut rest = k;
            let mut offset = found.offset;
            for (a, c) in axes.iter().zip(&found.coefs).rev() {
                offset += c * (a.lb + a.stride * (rest % a.trips) as i64);
                rest /= a.trips;
            }
            let walk = self.layout.walk(&p, found.dtype, &found.pairs, offset).ok()?;
            let (lo, hi) = walk.span();
            out = Span { lo: out.lo.min(lo), hi: out.hi.max(hi) };
        }
        Some(out)
    }

    /// All bytes of a location.
    pub fn whole(&self, store: &Name) -> Span {
        let Some(p) = self.layout.location(store) else { return Span { lo: 0, hi: u64::MAX } };
        let reach = p.stride * (p.partitions - 1) + p.pitch;
        Span { lo: p.addr, hi: p.addr + reach }
    }
}

impl Found {
    /// As an operand; symbolic where it depends on an axis.
    pub fn operand(&self, axes: &[Axis]) -> Operand {
        let mut p = Pattern::new(&self.store, self.offset, &[]);
        p.pairs = self.pairs.as_slice().into();
        if self.coefs.iter().any(|c| *c != 0) {
            let used = axes.iter().zip(&self.coefs).filter(|(_, c)| **c != 0);
            let mut terms: Vec<Expr> =
                used.map(|(a, c)| Expr::Mul(Box::new(Expr::Axis(a.name.clone())), *c)).collect();
            terms.push(Expr::Const(self.offset));
            symbolic(&mut p, Expr::Sum(terms));
        }
        let kind = OperandKind::Pattern(p);
        Operand { dtype: Some(self.dtype), kind, extra: Vec::new() }
    }
}

/// Makes a pattern one that is written with an expression.
pub(super) fn symbolic(p: &mut Pattern, start: Expr) {
    p.form = Form::Symbolic;
    p.location = None;
    p.offset = 0;
    p.start = Some(start);
}
