//! Addresses that come out of memory: index lists of gathers and scatters, and the single
//! index that a lowered clone reads when it is fired (`docs/execution.md`, "Index lists").

use super::apply::gather;
use super::resolve::{Access, Base, Ctx, Family, Resolved, at, counts_differ, whole};
use crate::bir::module::{Finding, Operand, Pair, Part, Reference};
use crate::bir::walk::Dim;
use crate::bir::{Dtype, Op, PlaceError, Side, Transfer, Walk};
use crate::limits::MAX_BIR_INDICES;
use crate::udma::count_of;

/// The transfers of an instruction one side of which has an index list.
pub(super) fn rows(
    ctx: &mut Ctx<'_>,
    family: &Family,
    sources: &[Access<'_>],
    dest: Access<'_>,
) -> Result<Resolved, Finding> {
    let inst = ctx.inst;
    let ([source], Family::Copy | Family::Accumulate(_)) = (sources, family) else {
        return Err(whole("B080", inst, "only a copy or an accumulation has a rule for indices"));
    };
    let gathers = source.pattern.index_arg().is_some();
    let (moving, fixed) = if gathers { (*source, dest) } else { (dest, *source) };
    let Base::List(arg) = ctx.base(moving)? else {
        let text = "an index operand stands inside another expression";
        return Err(at("B074", inst, moving.part, text));
    };
    let part = Part::In(arg);
    let list = inst.ins.get(arg as usize);
    let list = list.ok_or_else(|| at("B079", inst, moving.part, format!("no operand {arg}")))?;
    let Some((outer, inner)) = moving.pattern.pairs.split_first() else {
        return Err(at("B079", inst, moving.part, "it has no dimension that an index could move"));
    };
    let Some(other) = ctx.side(fixed)? else { return nothing() };
    let row: Option<u64> = inner.iter().try_fold(1u64, |n, p| n.checked_mul(p.num));
    let row = row.filter(|r| r.checked_mul(outer.num) == Some(other.walk.count()));
    let Some(row) = row else {
        let n = moving.pattern.count().unwrap_or(u64::MAX);
        let (from, to) = if gathers { (n, other.walk.count()) } else { (other.walk.count(), n) };
        return Err(counts_differ(inst, from, to));
    };
    let (indices, unwritten_index) = list_of(ctx, part, list, outer.num)?;
    let sides = |walk: Walk| Side { walk, dtype: moving.dtype, patched: true };
    let mut pairs = moving.pattern.pairs.clone();
    pairs[0].num = 1;
    let mut transfers = Vec::new();
    for (i, index) in (0u64..).zip(indices) {
        let Some(walk) = selected(ctx, moving, index, outer.step, &pairs)? else { continue };
        for (m, f) in pair_up(vec![walk], slice(&other.walk, i * row, row)) {
            let (m, f) = (sides(m), Side { walk: f, ..other.clone() });
            let (from, to) = if gathers { (m, f) } else { (f, m) };
            ctx.check_types(family, std::slice::from_ref(&from), &to)?;
            let (op, sources) = match family {
                Family::Accumulate(op) => {
                    (Op::Cce { op: *op, constants: vec![1.0; 2] }, vec![to.clone(), from])
                }
                _ => (Op::Copy, vec![from]),
            };
            let can_read_uninit = ctx.can_read_uninit;
            transfers.push(Transfer { op, sources, dest: to, can_read_uninit, from: inst.pos });
        }
    }
    let one_by_one = matches!(family, Family::Accumulate(_));
    Ok(Resolved { transfers, one_by_one, unwritten_index })
}

fn nothing() -> Result<Resolved, Finding> {
    Ok(Resolved { transfers: Vec::new(), one_by_one: false, unwritten_index: None })
}

/// The row that an index selects; `None` where it is out of range and skipped.
fn selected(
    ctx: &Ctx<'_>,
    a: Access<'_>,
    index: i64,
    step: i64,
    pairs: &[Pair],
) -> Result<Option<Walk>, Finding> {
    let limit = a.pattern.max_index;
    if index < 0 || limit.is_some_and(|m| index as u64 >= m) {
        return out_of_range(ctx, a.part, index, limit).map(|()| None);
    }
    let offset = i128::from(index) * i128::from(step) + i128::from(a.pattern.offset);
    let walk = match i64::try_from(offset) {
        Ok(offset) => ctx.walk(a, pairs, offset),
        Err(_) => Err(PlaceError::Overflow),
    };
    match walk {
        Ok(walk) => Ok(Some(walk)),
        Err(e) if limit.is_none() && is_outside(&e) => {
            out_of_range(ctx, a.part, index, limit).map(|()| None)
        }
        Err(e) => Err(ctx.misplaced(a.part, &e)),
    }
}

fn is_outside(e: &PlaceError) -> bool {
    use PlaceError::{Before, Beyond, Overflow, Partition};
    matches!(e, Before { .. } | Beyond { .. } | Partition { .. } | Overflow)
}

fn out_of_range(ctx: &Ctx<'_>, part: Part, index: i64, limit: Option<u64>) -> Result<(), Finding> {
    if !ctx.oob_is_err {
        return Ok(());
    }
    let of = limit.map_or_else(|| "its location".to_owned(), |m| format!("0 to {m}, exclusive"));
    Err(at("B078", ctx.inst, part, format!("index {index} is out of the range of {of}")))
}

/// Whether the row that a lowered clone's index selects may be accessed; `false` where it is
/// skipped.
pub(super) fn in_range(
    ctx: &Ctx<'_>,
    a: Access<'_>,
    index: i64,
    limit: Option<u64>,
    base: i128,
    scale: i64,
) -> Result<bool, Finding> {
    let inside = index >= 0 && limit.is_none_or(|m| (index as u64) < m);
    let fits = || {
        let offset = base + i128::from(index) * i128::from(scale);
        let walk = i64::try_from(offset).map(|o| ctx.walk(a, &a.pattern.pairs, o));
        !matches!(walk, Err(_) | Ok(Err(_))) || matches!(&walk, Ok(Err(e)) if !is_outside(e))
    };
    if inside && (limit.is_some() || fits()) {
        return Ok(true);
    }
    out_of_range(ctx, a.part, index, limit).map(|()| false)
}

/// The elements of an index list of `want` entries, and the first address of it that nobody
/// wrote.
fn list_of(
    ctx: &Ctx<'_>,
    part: Part,
    list: &Operand,
    want: u64,
) -> Result<(Vec<i64>, Option<u64>), Finding> {
    let (walk, dtype) = list_walk(ctx, part, list)?;
    let n = walk.count();
    if n != want {
        let text = format!(
            "{n_indices} for {want_steps} of the outermost dimension",
            n_indices = count_of(n, "index"),
            want_steps = count_of(want, "step")
        );
        return Err(at("B079", ctx.inst, part, text));
    }
    if n > MAX_BIR_INDICES {
        let text = format!(
            "{n_indices}; there may be {MAX_BIR_INDICES}",
            n_indices = count_of(n, "index")
        );
        return Err(at("B089", ctx.inst, part, text));
    }
    let (bytes, hole) = gather(ctx.mem, &walk);
    Ok((bytes.chunks_exact(4).map(|b| index_value(b, dtype)).collect(), hole))
}

fn list_walk(ctx: &Ctx<'_>, part: Part, list: &Operand) -> Result<(Walk, Dtype), Finding> {
    let a = ctx.access(part, list)?;
    if !matches!(a.dtype, Dtype::I32 | Dtype::U32) {
        let text = format!("indices are int32 or uint32, not {}", a.dtype);
        return Err(at("B079", ctx.inst, part, text));
    }
    let Base::At(offset, _) = ctx.base(a)? else {
        return Err(at("B079", ctx.inst, part, "an index list cannot have an index list"));
    };
    let walk = ctx.walk(a, &a.pattern.pairs, offset);
    let walk = walk.map_err(|e| ctx.misplaced(part, &e))?;
    Ok((walk, a.dtype))
}

fn index_value(bytes: &[u8], dtype: Dtype) -> i64 {
    let word = bytes.iter().rev().fold(0u32, |n, b| n << 8 | u32::from(*b));
    if dtype == Dtype::I32 { i64::from(word as i32) } else { i64::from(word) }
}

/// One element of an index list, by its number in element order.
pub(super) fn element(ctx: &Ctx<'_>, list: &Operand, number: u64) -> Result<i64, Finding> {
    let (walk, dtype) = list_walk(ctx, Part::Whole, list)?;
    if number >= walk.count() {
        let text = format!("index {number} of a list of {}", walk.count());
        return Err(whole("B079", ctx.inst, text));
    }
    let mut bytes = [0; 4];
    ctx.mem.read(walk.address(number), &mut bytes);
    Ok(index_value(&bytes, dtype))
}

/// The first address nobody wrote among the indices that lowered bases were read from.
pub(super) fn unwritten_reference(ctx: &Ctx<'_>) -> Option<u64> {
    let operands = ctx.inst.ins.iter().chain(&ctx.inst.outs);
    operands.filter_map(Operand::as_pattern).find_map(|p| match &p.reference {
        Some(Reference::Index { list, element, .. }) => {
            let (walk, _) = list_walk(ctx, Part::Whole, list).ok()?;
            ctx.mem.read(walk.address(*element), &mut [0; 4])
        }
        _ => None,
    })
}

/// Elements `from .. from + len` of a walk, as walks.
fn slice(w: &Walk, from: u64, len: u64) -> Vec<Walk> {
    let mut out = Vec::new();
    cut(w.start, &w.dims, w.elem, from, len, &mut out);
    out
}

fn cut(start: u64, dims: &[Dim], elem: u64, from: u64, len: u64, out: &mut Vec<Walk>) {
    if len == 0 {
        return;
    }
    let Some((first, rest)) = dims.split_first() else {
        out.push(Walk { start, dims: Vec::new(), elem });
        return;
    };
    let inner: u64 = rest.iter().map(|d| d.num).product();
    if inner == 0 {
        return;
    }
    let row = |k: u64| start.wrapping_add(first.step.wrapping_mul(k as i64) as u64);
    let (k, skip) = (from / inner, from % inner);
    if skip > 0 || len < inner {
        let n = (inner - skip).min(len);
        cut(row(k), rest, elem, skip, n, out);
        return cut(start, dims, elem, from + n, len - n, out);
    }
    let whole = len / inner;
    let mut kept = vec![Dim { step: first.step, num: whole }];
    kept.extend_from_slice(rest);
    if whole == 1 {
        kept.remove(0);
    }
    out.push(Walk { start: row(k), dims: kept, elem });
    cut(start, dims, elem, from + whole * inner, len % inner, out);
}

/// Cuts two lists of walks of equally many elements so that both have pieces of one size.
fn pair_up(mut a: Vec<Walk>, mut b: Vec<Walk>) -> Vec<(Walk, Walk)> {
    let mut out = Vec::new();
    a.reverse();
    b.reverse();
    while let (Some(x), Some(y)) = (a.pop(), b.pop()) {
        let (n, m) = (x.count(), y.count());
        if n == m {
            out.push((x, y));
            continue;
        }
        let k = n.min(m);
        for (walk, count, list) in [(x, n, &mut a), (y, m, &mut b)] {
            if count > k {
                list.extend(slice(&walk, k, count - k).into_iter().rev());
                list.extend(slice(&walk, 0, k).into_iter().rev());
            } else {
                list.push(walk);
            }
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn walks() -> impl Strategy<Value = Walk> {
        let dim = (-40i64..40, 1u64..6).prop_map(|(step, num)| Dim { step, num });
        prop::collection::vec(dim, 0..4).prop_map(|dims| Walk { start: 1000, dims, elem: 2 })
    }

    fn places<'a>(walks: impl IntoIterator<Item = &'a Walk>) -> Vec<u64> {
        walks.into_iter().flat_map(|w| w.addresses().collect::<Vec<_>>()).collect()
    }

    proptest! {
        #[test]
        fn a_slice_is_those_elements(w in walks(), from: prop::sample::Index, len: prop::sample::Index) {
            let all = places([&w]);
            let from = from.index(all.len());
            let len = len.index(all.len() - from + 1);
            let got = slice(&w, from as u64, len as u64);
            prop_assert_eq!(places(&got), &all[from..from + len]);
        }

        #[test]
        fn pieces_pair_up_in_order(a in walks(), b in walks()) {
            let n = a.count().min(b.count());
            let (a, b) = (slice(&a, 0, n), slice(&b, 0, n));
            let pairs = pair_up(a.clone(), b.clone());
            prop_assert!(pairs.iter().all(|(x, y)| x.count() == y.count()));
            prop_assert_eq!(places(pairs.iter().map(|p| &p.0)), places(&a));
            prop_assert_eq!(places(pairs.iter().map(|p| &p.1)), places(&b));
        }
    }
}
