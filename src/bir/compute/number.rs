//! Numbers of every element type: from their code and back, with one rounding.

use super::super::enums::Dtype;

/// A value on its way from one type to another. Both kinds are exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Num {
    /// Of an integer.
    Int(i128),
    /// Of a float: every one of at most 32 bits is an f64 exactly.
    Float(f64),
}

/// How a float type is laid out: sign, exponent, mantissa, from the high bits down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Float {
    exponent: u32,
    mantissa: u32,
    /// The largest exponent is for infinities and NaNs; otherwise only the code of all ones is
    /// a NaN, and there is no infinity.
    ieee: bool,
}

/// What a type is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Whole numbers of so many bits.
    Int { bits: u32, signed: bool },
    /// 0 and 1; any other code reads as 1.
    Bool,
    /// A float.
    Float(Float),
    /// Only to be copied.
    Opaque,
}

pub(super) const fn class(dtype: Dtype) -> Class {
    const fn int(bits: u32, signed: bool) -> Class {
        Class::Int { bits, signed }
    }
    const fn float(exponent: u32, mantissa: u32, ieee: bool) -> Class {
        Class::Float(Float { exponent, mantissa, ieee })
    }
    match dtype {
        Dtype::U8 => int(8, false),
        Dtype::I8 => int(8, true),
        Dtype::U16 => int(16, false),
        Dtype::I16 => int(16, true),
        Dtype::U32 => int(32, false),
        Dtype::I32 => int(32, true),
        Dtype::U64 => int(64, false),
        Dtype::I64 => int(64, true),
        Dtype::Bool => Class::Bool,
        Dtype::F8e3 => float(3, 4, true),
        Dtype::F8e4 => float(4, 3, true),
        Dtype::F8e4m3fn => float(4, 3, false),
        Dtype::F8e5 => float(5, 2, true),
        Dtype::Bf16 => float(8, 7, true),
        Dtype::F16 => float(5, 10, true),
        Dtype::F32 | Dtype::F32r => float(8, 23, true),
        Dtype::F4x4 | Dtype::F8e8m0 | Dtype::F8e4x4 | Dtype::F8e5x4 => Class::Opaque,
    }
}

/// The value of a code.
pub(super) fn read(class: Class, code: u64) -> Num {
    match class {
        Class::Int { bits, signed: true } => {
            let up = 64 - bits;
            Num::Int(i128::from(((code << up) as i64) >> up))
        }
        Class::Int { .. } => Num::Int(i128::from(code)),
        Class::Bool => Num::Int(i128::from(code != 0)),
        Class::Float(f) => Num::Float(f.read(code)),
        Class::Opaque => Num::Int(0),
    }
}

/// The code nearest to a value.
pub(super) fn write(class: Class, value: Num) -> u64 {
    match class {
        Class::Int { bits, signed: true } => {
            whole(value).clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) as u64
                & (u64::MAX >> (64 - bits))
        }
        Class::Int { bits, .. } => whole(value).clamp(0, (1 << bits) - 1) as u64,
        Class::Bool => whole(value).clamp(0, 1) as u64,
        Class::Float(f) => match value {
            Num::Float(x) => f.write(x),
            Num::Int(i) => f.write(sticky(i)),
        },
        Class::Opaque => 0,
    }
}

/// Nearest whole number, ties to even, NaN as 0; infinities at the ends of `i128`.
fn whole(value: Num) -> i128 {
    match value {
        Num::Int(i) => i,
        Num::Float(f) => f.round_ties_even() as i128,
    }
}

/// An integer as an f64 that is not exact only beyond 53 bits, where its lowest bit is then
/// set: rounding it once more to a narrower type gives what rounding the integer would.
fn sticky(value: i128) -> f64 {
    let size = value.unsigned_abs();
    let excess = (128 - size.leading_zeros()).saturating_sub(53);
    let kept = size >> excess;
    let lost = size != kept << excess;
    let magnitude = (kept | u128::from(lost)) as f64 * (2f64).powi(excess as i32);
    if value < 0 { -magnitude } else { magnitude }
}

impl Float {
    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// Code of the largest finite value, without the sign.
    fn largest(self) -> u64 {
        let all = (1u64 << (self.exponent + self.mantissa)) - 1;
        if self.ieee { (all >> self.mantissa << self.mantissa) - 1 } else { all - 1 }
    }

    /// Code of the canonical quiet NaN.
    fn nan(self) -> u64 {
        let all = (1u64 << (self.exponent + self.mantissa)) - 1;
        if self.ieee { all & !((1 << (self.mantissa - 1)) - 1) } else { all }
    }

    fn read(self, code: u64) -> f64 {
        let size = code & ((1 << (self.exponent + self.mantissa)) - 1);
        let negative = code >> (self.exponent + self.mantissa) & 1 == 1;
        let magnitude = if size > self.largest() {
            if self.ieee && size == self.largest() + 1 { f64::INFINITY } else { f64::NAN }
        } else {
            let fraction = (size & ((1 << self.mantissa) - 1)) as f64;
            let exponent = (size >> self.mantissa) as i32;
            let unit = scale(1 - self.bias() - self.mantissa as i32);
            if exponent == 0 {
                fraction * unit
            } else {
                (fraction + (1u64 << self.mantissa) as f64) * unit * scale(exponent - 1)
            }
        };
        if negative { -magnitude } else { magnitude }
    }

    fn write(self, value: f64) -> u64 {
        if value.is_nan() {
            return self.nan();
        }
        let sign = u64::from(value.is_sign_negative()) << (self.exponent + self.mantissa);
        let bits = value.abs().to_bits();
        let exponent = (bits >> 52) as i32 - 1023;
        // Every value of these types is far above the subnormals of f64.
        let fraction = (bits & ((1 << 52) - 1)) | 1 << 52;
        let least = 1 - self.bias();
        // Bits below the last one that is kept; more of them where the result is subnormal.
        let drop = 52 - self.mantissa + (least - exponent).max(0) as u32;
        let size = if exponent == 1024 || exponent > self.bias() + 1 {
            u64::MAX
        } else if drop > 54 {
            0
        } else {
            let kept = fraction >> drop;
            let rest = fraction & ((1 << drop) - 1);
            let half = 1u64 << (drop - 1);
            let up = rest > half || (rest == half && kept & 1 == 1);
            // The hidden bit counts one exponent; a carry out of the mantissa counts another.
            let base = (exponent.max(least) - least) as u64;
            (base << self.mantissa) + kept + u64::from(up)
        };
        match (size > self.largest(), self.ieee) {
            (false, _) => sign | size,
            (true, true) => sign | (self.largest() + 1),
            (true, false) => self.nan(),
        }
    }
}

/// 2^k as an f64, for the exponents that occur here (-149 ..= 254).
fn scale(k: i32) -> f64 {
    f64::from_bits(((k + 1023) as u64) << 52)
}
