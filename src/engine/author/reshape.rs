//! Transposes and replications.

use super::copy::{Stretches, streams};
use super::{Limits, Out, Why, desc, draft};
use crate::bir::walk::Dim;
use crate::bir::{Pos, Side, TransposeOp, Walk};
use crate::udma::Desc;
use crate::udma::class;
use crate::udma::payload::{MAX_TRANSPOSE_DIM, Payload, TRANSPOSE_METAS};
use crate::udma::profile::MAX_DESC_BYTES;

/// The source of a transpose with its dimensions in the destination's order: copied from there
/// element by element, it gives the same.
pub fn permuted(walk: &Walk, op: TransposeOp) -> Result<Walk, Why> {
    let [w, z, y, x] = walk.dims.as_slice() else { return Err(Why::Rank(walk.dims.len())) };
    let dims = [*w, *z, *y, *x];
    Ok(Walk { dims: op.order().map(|o| dims[o]).to_vec(), ..walk.clone() })
}

/// A part of the four dimensions of a transpose's source.
#[derive(Debug, Clone, Copy)]
struct Part {
    lo: [u64; 4],
    num: [u64; 4],
}

/// Cuts a transpose into boxes whose runs on both sides fit a packet. The destination has the
/// source's dimensions in the order of `op`.
pub fn transpose(
    op: TransposeOp,
    (s, d): (&Side, &Side),
    from: Pos,
    limits: Limits,
    out: &mut Out,
) -> Result<(), Why> {
    let order = op.order();
    let mut stack = vec![Part { lo: [0; 4], num: std::array::from_fn(|i| s.walk.dims[i].num) }];
    while let Some(part) = stack.pop() {
        if part.num.contains(&0) {
            continue;
        }
        let source = part_of(&s.walk, part);
        let turned = |v: [u64; 4]| order.map(|o| v[o]);
        let dest = part_of(&d.walk, Part { lo: turned(part.lo), num: turned(part.num) });
        let bytes = source.bytes();
        let largest = (0..4).max_by_key(|i| (part.num[*i], 3 - *i)).unwrap_or(0);
        let cut = if bytes > limits.bytes {
            Some((largest, bytes.div_ceil(limits.bytes)))
        } else if part.num[largest] > MAX_TRANSPOSE_DIM {
            Some((largest, part.num[largest].div_ceil(MAX_TRANSPOSE_DIM)))
        } else {
            let tx = pieces(&source).count();
            let rx = pieces(&dest).count();
            let most = limits.tx - TRANSPOSE_METAS;
            let outermost = |dims: [usize; 4]| dims.into_iter().find(|i| part.num[*i] > 1);
            if tx > most {
                outermost([0, 1, 2, 3]).map(|i| (i, tx.div_ceil(most) as u64))
            } else if rx > limits.rx {
                outermost(order).map(|i| (i, rx.div_ceil(limits.rx) as u64))
            } else {
                None
            }
        };
        if let Some((dim, parts)) = cut {
            let size = part.num[dim].div_ceil(parts);
            let count = part.num[dim].div_ceil(size);
            if count > out.budget {
                return Err(Why::TooMany);
            }
            // The last one first, so that they are taken in ascending order.
            for n in (0..count).rev() {
                let mut next = part;
                next.lo[dim] += n * size;
                next.num[dim] = size.min(part.num[dim] - n * size);
                stack.push(next);
            }
            continue;
        }
        let payload = Payload::Transpose {
            order: op.number() as u8,
            elem: s.walk.elem as u8,
            dims: part.num.map(|n| n as u16),
        };
        let word = payload.word();
        let mut tx = payload.metas();
        tx.extend(pieces(&source).map(|(at, len)| desc(at, len, word)));
        let rx = pieces(&dest).map(|(at, len)| desc(at, len, 0)).collect();
        out.push(draft(tx, rx, payload.class(), (s, d), from))?;
    }
    Ok(())
}

fn part_of(walk: &Walk, part: Part) -> Walk {
    let mut start = walk.start;
    let mut dims = Vec::with_capacity(4);
    for (d, (lo, num)) in walk.dims.iter().zip(part.lo.into_iter().zip(part.num)) {
        start = start.wrapping_add((d.step as u64).wrapping_mul(lo));
        dims.push(Dim { step: d.step, num });
    }
    Walk { start, dims, elem: walk.elem }
}

/// Runs of a walk, each cut to what one descriptor moves.
fn pieces(walk: &Walk) -> impl Iterator<Item = (u64, u64)> + '_ {
    walk.runs().flat_map(|(at, len)| {
        (0..len.div_ceil(MAX_DESC_BYTES)).map(move |n| {
            let off = n * MAX_DESC_BYTES;
            (at.wrapping_add(off), (len - off).min(MAX_DESC_BYTES))
        })
    })
}

/// `meta_ctrl` of a packet that is written so often.
fn replicate_word(times: u64) -> u32 {
    let class = class::CLASSES.iter().find(|c| c.name == REPLICATE);
    class.map_or(0, |c| match c.fields.first() {
        Some(f) => f.set(u64::from(c.word), times) as u32,
        None => c.word,
    })
}

const REPLICATE: &str = "replicate";

/// The source over and over, as one walk.
pub fn repeated(walk: &Walk, times: u64) -> Walk {
    let mut dims = vec![Dim { step: 0, num: times }];
    dims.extend_from_slice(&walk.dims);
    Walk { dims, ..walk.clone() }
}

/// Replication in packets of one destination descriptor each, the source read for each.
pub fn replicate_singly(
    times: u64,
    (s, d): (&Side, &Side),
    from: Pos,
    limits: Limits,
    out: &mut Out,
) -> Result<(), Why> {
    let word = replicate_word(1);
    let source = repeated(&s.walk, times);
    streams(source.runs(), d.walk.runs(), limits, |tx, rx| {
        out.push(draft(descs(&tx, word), descs(&rx, 0), REPLICATE, (s, d), from))
    })
}

fn descs(stretches: &Stretches, word1: u32) -> Vec<Desc> {
    stretches.iter().map(|(at, len)| desc(*at, *len, word1)).collect()
}

/// Replication: a stretch of the source is read once and written to as many of its places as
/// fit a packet. A stretch ends where a run of its first place ends.
pub fn replicate(
    times: u64,
    (s, d): (&Side, &Side),
    from: Pos,
    limits: Limits,
    out: &mut Out,
) -> Result<(), Why> {
    let size = s.walk.bytes();
    let (source, dest) = (Runs::of(&s.walk, out)?, Runs::of(&d.walk, out)?);
    let mut at = 0;
    while at < size {
        let mut end = at + MAX_DESC_BYTES.min(size - at).min(dest.left(at));
        let places = |end| (0..times).map(move |k| (k * size + at, k * size + end));
        while places(end).any(|(a, b)| dest.count(a, b) > limits.rx) {
            end = at + ((end - at) / s.walk.elem).div_ceil(2) * s.walk.elem;
        }
        let mut tx = source.stretch(at, end);
        tx.truncate(limits.tx);
        let end = at + tx.iter().map(|t| t.1).sum::<u64>();
        let mut left = places(end).peekable();
        while left.peek().is_some() {
            let (mut rx, mut copies) = (Vec::new(), 0);
            while let Some((a, b)) = left.peek()
                && rx.len() + dest.count(*a, *b) <= limits.rx
                && (copies + 1) * (end - at) <= limits.bytes
            {
                rx.extend(dest.stretch(*a, *b));
                copies += 1;
                left.next();
            }
            let word = replicate_word(copies);
            out.push(draft(descs(&tx, word), descs(&rx, 0), REPLICATE, (s, d), from))?;
        }
        at = end;
    }
    Ok(())
}

/// All runs of a walk, found by their place in the stream.
struct Runs {
    runs: Stretches,
    /// Where each ends.
    ends: Vec<u64>,
}

impl Runs {
    fn of(walk: &Walk, out: &Out) -> Result<Runs, Why> {
        let (mut runs, mut ends, mut end) = (Vec::new(), Vec::new(), 0);
        for (at, len) in walk.runs() {
            if runs.len() as u64 >= out.budget {
                return Err(Why::TooMany);
            }
            end += len;
            runs.push((at, len));
            ends.push(end);
        }
        Ok(Runs { runs, ends })
    }

    /// The run that holds a byte of the stream.
    fn index(&self, at: u64) -> usize {
        self.ends.partition_point(|e| *e <= at)
    }

    /// Bytes from there to the end of its run.
    fn left(&self, at: u64) -> u64 {
        self.ends.get(self.index(at)).map_or(0, |e| e - at)
    }

    /// How many runs a stretch of the stream touches.
    fn count(&self, from: u64, to: u64) -> usize {
        if to > from { self.index(to - 1) + 1 - self.index(from) } else { 0 }
    }

    /// The runs of a stretch.
    fn stretch(&self, mut from: u64, to: u64) -> Stretches {
        let mut out = Vec::new();
        for i in self.index(from)..self.runs.len() {
            if from >= to {
                break;
            }
            let ((at, len), end) = (self.runs[i], self.ends[i]);
            let off = from - (end - len);
            let n = (end - from).min(to - from);
            out.push((at.wrapping_add(off), n));
            from += n;
        }
        out
    }
}
