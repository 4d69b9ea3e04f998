//! What a transfer does to data: casts, permutation, scaled sums, repetition, on packed
//! little-endian elements (`docs/execution.md`, "Arithmetic").
//!
//! The reference interpreter and the device of the ring model both use these functions, so that
//! they cannot differ in arithmetic. All of it is MODEL: no public source proves the hardware's
//! rounding.

mod number;

#[cfg(test)]
mod tests;

use super::enums::{AluOp, Dtype, TransposeOp};
use number::{Class, Num, class, read, write};

/// Whether [`cast`] can turn one type into the other: types that can only be copied have no
/// other type to go to.
pub fn can_cast(from: Dtype, to: Dtype) -> bool {
    from == to || !(from.copy_only() || to.copy_only())
}

/// Whether an operation can be applied to several sources: `add`, `max` or `min`.
pub fn is_cce_op(op: AluOp) -> bool {
    matches!(op, AluOp::Add | AluOp::Max | AluOp::Min)
}

/// Whether elements of the type can be summed: floats that are one number each.
pub fn is_cce_dtype(dtype: Dtype) -> bool {
    matches!(class(dtype), Class::Float(_))
}

/// Every element as another type. Equal types, and `float32` with `float32r`, keep their bytes.
///
/// Float to narrower float and to integer rounds to nearest, ties to even; integers saturate;
/// a float too large becomes infinity (NaN in `float8_e4m3fn`, which has none); NaN becomes the
/// canonical quiet NaN, or 0 in an integer. Bytes after the last whole element are left out.
/// Where [`can_cast`] says no, which callers check before, the result is zeros.
pub fn cast(src: &[u8], from: Dtype, to: Dtype) -> Vec<u8> {
    let plain = |d| if d == Dtype::F32r { Dtype::F32 } else { d };
    let (from, to) = (plain(from), plain(to));
    if from == to {
        return src.to_vec();
    }
    let (a, b) = (from.bytes() as usize, to.bytes() as usize);
    let count = src.len() / a;
    let mut out = vec![0; count * b];
    let (source, target) = (class(from), class(to));
    if matches!(source, Class::Opaque) || matches!(target, Class::Opaque) {
        return out;
    }
    if a == 1 {
        // All 256 values once, then a look-up each.
        let table: Vec<u64> =
            (0..=255u8).map(|code| write(target, read(source, u64::from(code)))).collect();
        for (element, to) in src.iter().zip(out.chunks_exact_mut(b)) {
            to.copy_from_slice(&table[usize::from(*element)].to_le_bytes()[..b]);
        }
        return out;
    }
    for (element, to) in src.chunks_exact(a).zip(out.chunks_exact_mut(b)) {
        let value = write(target, read(source, word(element)));
        to.copy_from_slice(&value.to_le_bytes()[..b]);
    }
    out
}

/// Elements of `elem` bytes in the four dimensions `dims`, outermost first, with the dimensions
/// in the order of `op`. The result has dimension `op.order()[i]` of the source as its i-th.
/// A source that is not exactly that long gives an empty result.
pub fn transpose(src: &[u8], elem: u64, dims: [u64; 4], op: TransposeOp) -> Vec<u8> {
    let bytes = dims.iter().try_fold(elem, |n, d| n.checked_mul(*d));
    if bytes != Some(src.len() as u64) || src.is_empty() {
        return Vec::new();
    }
    let elem = elem as usize;
    let dims = dims.map(|d| d as usize);
    let steps = [dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1].map(|s| s * elem);
    let order = op.order();
    let [n0, n1, n2, n3] = order.map(|k| dims[k]);
    let [s0, s1, s2, s3] = order.map(|k| steps[k]);
    let mut out = Vec::with_capacity(src.len());
    for i in 0..n0 {
        for j in 0..n1 {
            for k in 0..n2 {
                let row = i * s0 + j * s1 + k * s2;
                if s3 == elem {
                    out.extend_from_slice(&src[row..row + n3 * elem]);
                    continue;
                }
                for l in 0..n3 {
                    let at = row + l * s3;
                    out.extend_from_slice(&src[at..at + elem]);
                }
            }
        }
    }
    out
}

/// `op` over the sources, each scaled by its constant, in f32 and in source order; the result
/// is cast once. Multiplication and addition are separate, each rounded. A sum starts from +0, a
/// maximum or minimum from the first scaled source. For `max` and `min` a NaN loses against a number and +0 is
/// greater than -0. NaN results are canonical.
///
/// Elements beyond the shortest source are left out. Operations and types that
/// [`is_cce_op`] and [`is_cce_dtype`] refuse, which callers check before, give zeros.
pub fn cce(op: AluOp, sources: &[(&[u8], Dtype, f32)], to: Dtype) -> Vec<u8> {
    let count = sources.iter().map(|(b, t, _)| b.len() / t.bytes() as usize).min().unwrap_or(0);
    let known = is_cce_op(op) && sources.iter().all(|s| is_cce_dtype(s.1)) && is_cce_dtype(to);
    if !known {
        return vec![0; count * to.bytes() as usize];
    }
    let mut sum: Vec<f32> = Vec::new();
    for (k, (bytes, dtype, scale)) in sources.iter().enumerate() {
        let (source, size) = (class(*dtype), dtype.bytes() as usize);
        let scaled = bytes[..count * size].chunks_exact(size).map(|e| {
            let value = match read(source, word(e)) {
                Num::Float(f) => f as f32,
                Num::Int(i) => i as f32,
            };
            value * scale
        });
        if k == 0 {
            let seed = op == AluOp::Add;
            sum.extend(scaled.map(|x| if seed { 0.0 + x } else { x }));
            continue;
        }
        for (acc, x) in sum.iter_mut().zip(scaled) {
            *acc = match op {
                AluOp::Max => greater(*acc, x),
                AluOp::Min => -greater(-*acc, -x),
                _ => *acc + x,
            };
        }
    }
    let (target, size) = (class(to), to.bytes() as usize);
    let mut out = vec![0; count * size];
    for (value, to) in sum.iter().zip(out.chunks_exact_mut(size)) {
        let code = write(target, Num::Float(f64::from(*value)));
        to.copy_from_slice(&code.to_le_bytes()[..size]);
    }
    out
}

/// The source over and over, `times` times.
pub fn replicate(src: &[u8], times: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..times {
        out.extend_from_slice(src);
        if src.is_empty() {
            break;
        }
    }
    out
}

/// The greater of two; a number beats NaN, +0 beats -0.
fn greater(a: f32, b: f32) -> f32 {
    if b.is_nan() {
        return a;
    }
    let takes_b = a.is_nan() || b > a || (a == b && a.is_sign_negative());
    if takes_b { b } else { a }
}

/// Up to eight bytes as a little-endian number.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}
