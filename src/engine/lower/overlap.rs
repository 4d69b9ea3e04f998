//! Transfers whose source and destination share bytes (`docs/lowering.md`, "Overlap").
//!
//! A transfer reads everything before it writes anything; its pieces run one after the other.
//! They must be in an order in which none reads what an earlier one wrote, and of two that write
//! the same byte the later one must still be the later one.

use super::context::{Context, Refusal, on_chip};
use super::pieces::Piece;
use crate::bir::walk::Dim;
use crate::bir::{
    Dtype, Form, Layout, Module, Operand, Pair, Pairs, Part, Pattern, Placed, Pos, Reference, Walk,
};

/// Pieces up to which an order is looked for; beyond, a scratch location is used.
const MAX_ORDERED_PIECES: usize = 1024;
/// Runs of a pattern up to which an overlap is decided exactly.
const MAX_OVERLAP_RUNS: usize = 4096;

/// In which order pieces may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// As they are.
    Ascending,
    /// In this order of their indices.
    Given(Vec<usize>),
    /// There is none, or none that can be shown to be right.
    Impossible,
}

/// A location as a walk over its partitions.
fn whole(p: &Placed) -> Walk {
    let dims = vec![Dim { step: p.stride as i64, num: p.partitions }];
    Walk { start: p.addr, dims, elem: p.pitch }
}

/// Whether an operand's elements are known before the program runs.
fn is_known(o: &Operand) -> bool {
    o.as_pattern().is_some_and(|p| p.start.is_none() && p.reference.is_none())
}

/// All bytes that an operand can touch: its elements where they are known, otherwise its
/// location.
fn reach(layout: &Layout, o: &Operand) -> Option<Walk> {
    if is_known(o) {
        return layout.walk_static(o).ok();
    }
    layout.of(o.as_pattern()?).ok().map(whole)
}

/// Whether two walks may share bytes.
fn meet(cx: &Context<'_>, a: &Walk, b: &Walk) -> bool {
    let runs = |w: &Walk| w.count().min(MAX_OVERLAP_RUNS as u64);
    let (x, y) = (a.span(), b.span());
    if x.0 >= y.1 || y.0 >= x.1 {
        return false;
    }
    let limit = if cx.spend(runs(a) + runs(b)) { MAX_OVERLAP_RUNS } else { 0 };
    a.overlaps(b, limit)
}

/// Whether two operands may share bytes.
pub(super) fn share(cx: &Context<'_>, layout: &Layout, a: &Operand, b: &Operand) -> bool {
    match (reach(layout, a), reach(layout, b)) {
        (Some(a), Some(b)) => meet(cx, &a, &b),
        // What has no place is refused elsewhere.
        _ => false,
    }
}

/// Whether the destination may be written twice in one byte.
fn repeats(o: &Operand) -> bool {
    let Some(p) = o.as_pattern() else { return false };
    // Sorted by step, each must leave behind what the smaller ones cover.
    let mut dims: Vec<_> = p.pairs.iter().filter(|p| p.num > 1).collect();
    dims.sort_by_key(|p| p.step.unsigned_abs());
    let mut covered = 1u128;
    for p in dims {
        if u128::from(p.step.unsigned_abs()) < covered {
            return true;
        }
        covered = covered.saturating_add(u128::from(p.step.unsigned_abs()) * u128::from(p.num - 1));
    }
    false
}

/// The order in which the pieces of a transfer with these operands may run.
pub(super) fn order(
    cx: &Context<'_>,
    layout: &Layout,
    ins: &[&Operand],
    out: &Operand,
    pieces: &[Piece],
) -> Order {
    if pieces.len() < 2 || !ins.iter().any(|i| share(cx, layout, i, out)) {
        return Order::Ascending;
    }
    if pieces.len() > MAX_ORDERED_PIECES || !ins.iter().chain([&out]).all(|o| is_known(o)) {
        return Order::Impossible;
    }
    let walk = |o: &Operand| layout.walk_static(o).ok();
    let reads: Option<Vec<Vec<Walk>>> =
        pieces.iter().map(|p| p.ins.iter().map(walk).collect()).collect();
    let writes: Option<Vec<Walk>> = pieces.iter().map(|p| walk(&p.out)).collect();
    let (Some(reads), Some(writes)) = (reads, writes) else { return Order::Ascending };
    let twice = repeats(out);
    let n = pieces.len();
    // `after[i]`: those that must come after piece i, which reads what they write.
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); n];
    let mut missing = vec![0usize; n];
    let mut ascending = true;
    for reader in 0..n {
        for writer in 0..n {
            if reader == writer {
                continue;
            }
            if !cx.spend(1) {
                return Order::Impossible;
            }
            let reads_it = reads[reader].iter().any(|r| meet(cx, r, &writes[writer]));
            let writes_it = twice && reader < writer && meet(cx, &writes[reader], &writes[writer]);
            if reads_it || writes_it {
                ascending &= reader < writer;
                after[reader].push(writer);
                missing[writer] += 1;
            }
        }
    }
    if ascending {
        return Order::Ascending;
    }
    let mut ready: std::collections::BTreeSet<usize> =
        (0..n).filter(|&i| missing[i] == 0).collect();
    let mut given = Vec::with_capacity(n);
    while let Some(i) = ready.pop_first() {
        given.push(i);
        for &j in &after[i] {
            missing[j] -= 1;
            if missing[j] == 0 {
                ready.insert(j);
            }
        }
    }
    if given.len() == n { Order::Given(given) } else { Order::Impossible }
}

/// A copy into scratch, and the operand that reads it from there.
#[derive(Debug, Clone)]
pub(super) struct Staged {
    /// What is copied.
    pub(super) from: Operand,
    /// Where to.
    pub(super) to: Operand,
    /// What stands for the old operand behind the copy.
    pub(super) operand: Operand,
    /// The whole location is copied.
    pub(super) whole: bool,
}

/// Lets an operand read from a scratch location. A pattern whose rows are chosen by indices takes
/// its whole location along, so that an index means the same there and one out of range is
/// skipped as before; any other is packed.
///
/// # Errors
/// No scratch location can be had, or the pattern cannot be carried over.
pub(super) fn stage(
    cx: &mut Context<'_>,
    layout: &Layout,
    module: &Module,
    function: usize,
    pos: Pos,
    operand: &Operand,
) -> Result<Staged, Refusal> {
    let cannot = |why: &str| {
        let text = format!("its source and destination share bytes, and {why}");
        Err(("L022", Part::Whole, text))
    };
    let (Some(pattern), Some(dtype)) = (operand.as_pattern(), operand.dtype) else {
        return cannot("one of them is no access pattern");
    };
    let placed = match layout.of(pattern) {
        Ok(p) => p.clone(),
        Err(e) => return Err(("L021", Part::Whole, e.to_string())),
    };
    let by_index = matches!(pattern.reference, Some(Reference::Index { .. }));
    let runtime = by_index || pattern.index_arg().is_some();
    let from = if runtime { whole_location(&placed, dtype) } else { Some(operand.clone()) };
    let Some(from) = from else {
        return cannot("its location does not hold whole elements in each partition");
    };
    let count = from.as_pattern().and_then(Pattern::count);
    let Some(bytes) = count.and_then(|n| n.checked_mul(dtype.bytes())) else {
        return cannot("they have more bytes than can be counted");
    };
    let name = cx.scratch(module, function, pos, bytes.max(1))?;
    let packed = Pattern::new(&name, 0, &[(1, count.unwrap_or(0))]);
    let to = Operand::pattern(dtype, packed);
    let mut new = pattern.clone();
    new.form = Form::Physical;
    new.location = Some(name.clone());
    new.set = Some(format!("{name}_set").into());
    if runtime {
        if on_chip(layout, operand) && !flat(pattern, &placed, dtype) {
            return cannot("its rows do not begin at whole partitions");
        }
    } else {
        let (mut below, mut pairs) = (1u64, Pairs::new());
        for p in pattern.pairs.iter().rev() {
            let Ok(step) = i64::try_from(below) else { return cannot("they are too large") };
            pairs.insert(0, Pair { step, num: p.num });
            below = below.saturating_mul(p.num);
        }
        (new.pairs, new.offset, new.start) = (pairs, 0, None);
        (new.dynamic_info, new.reference) = (false, None);
    }
    let operand = Operand { kind: crate::bir::OperandKind::Pattern(new), ..operand.clone() };
    Ok(Staged { from, to, operand, whole: runtime })
}

/// All of a location, row-major.
fn whole_location(p: &Placed, dtype: Dtype) -> Option<Operand> {
    let elem = dtype.bytes();
    if !p.pitch.is_multiple_of(elem) {
        return None;
    }
    let row = i64::try_from(p.pitch / elem).ok()?;
    let pairs = if p.space.has_partitions() {
        vec![(row, p.partitions), (1, row.unsigned_abs())]
    } else {
        vec![(1, row.unsigned_abs())]
    };
    Some(Operand::pattern(dtype, Pattern::new(&p.name, 0, &pairs)))
}

/// Whether a pattern with partitions means the same elements in a flat copy of its location:
/// each index begins the same column of some partition.
fn flat(pattern: &Pattern, placed: &Placed, dtype: Dtype) -> bool {
    let row = (placed.pitch / dtype.bytes()) as i64;
    let whole = |step: i64| row > 0 && step % row == 0;
    let chosen = match &pattern.reference {
        Some(Reference::Index { scale, .. }) => whole(*scale),
        _ => true,
    };
    chosen && pattern.pairs.first().is_none_or(|p| p.num == 1 || whole(p.step))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_that_repeats_is_seen() {
        let out = |p: &[(i64, u64)]| Operand::pattern(Dtype::U8, Pattern::new("x", 0, p));
        assert!(repeats(&out(&[(0, 2), (1, 4)])));
        assert!(repeats(&out(&[(3, 2), (1, 4)])));
        assert!(!repeats(&out(&[(4, 2), (1, 4)])));
        assert!(!repeats(&out(&[(1, 4), (-4, 2)])));
        assert!(!repeats(&out(&[(0, 1), (1, 4)])));
    }
}
