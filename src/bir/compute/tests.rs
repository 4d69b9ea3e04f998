#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use proptest::prelude::*;

/// Type, exponent bits, mantissa bits, whether it has infinities, canonical NaN.
const SMALL: [(Dtype, u32, u32, bool, u64); 6] = [
    (Dtype::F8e3, 3, 4, true, 0x78),
    (Dtype::F8e4, 4, 3, true, 0x7c),
    (Dtype::F8e4m3fn, 4, 3, false, 0x7f),
    (Dtype::F8e5, 5, 2, true, 0x7e),
    (Dtype::F16, 5, 10, true, 0x7e00),
    (Dtype::Bf16, 8, 7, true, 0x7fc0),
];

/// The value of a code by the textbook formula, written apart from the code under test.
fn value(exponent: u32, mantissa: u32, ieee: bool, code: u64) -> f64 {
    let fraction = (code % (1 << mantissa)) as f64 / f64::from(1u32 << mantissa);
    let e = (code >> mantissa) % (1 << exponent);
    let sign = if code >> (mantissa + exponent) == 1 { -1.0 } else { 1.0 };
    let bias = (1 << (exponent - 1)) - 1;
    let top = (1 << exponent) - 1;
    if e == top && ieee {
        return if fraction == 0.0 { sign * f64::INFINITY } else { f64::NAN };
    }
    if e == top && code % (1 << mantissa) == (1 << mantissa) - 1 {
        return f64::NAN;
    }
    let (lead, e) = if e == 0 { (0.0, 1) } else { (1.0, e as i32) };
    sign * (lead + fraction) * 2f64.powi(e - bias)
}

fn bytes(dtype: Dtype, code: u64) -> Vec<u8> {
    code.to_le_bytes()[..dtype.bytes() as usize].to_vec()
}

fn from_f32(x: f32, to: Dtype) -> u64 {
    word(&cast(&x.to_le_bytes(), Dtype::F32, to))
}

fn to_f32(code: u64, from: Dtype) -> f32 {
    f32::from_le_bytes(cast(&bytes(from, code), from, Dtype::F32).try_into().unwrap())
}

#[test]
fn every_small_float_code_widens_to_its_value_and_comes_back() {
    for (dtype, exponent, mantissa, ieee, nan) in SMALL {
        for code in 0..1u64 << (8 * dtype.bytes()) {
            let want = value(exponent, mantissa, ieee, code);
            let wide = to_f32(code, dtype);
            if want.is_nan() {
                assert_eq!(wide.to_bits(), 0x7fc0_0000, "{dtype} {code:#x}");
                assert_eq!(from_f32(wide, dtype), nan, "{dtype}");
            } else {
                assert_eq!(f64::from(wide).to_bits(), want.to_bits(), "{dtype} {code:#x}");
                assert_eq!(from_f32(wide, dtype), code, "{dtype} {code:#x}");
            }
        }
    }
}

#[test]
fn between_two_codes_the_nearer_wins_and_a_tie_goes_to_the_even() {
    for (dtype, exponent, mantissa, ieee, _) in SMALL {
        let top = (1u64 << (exponent + mantissa)) - 1;
        for code in 0..top {
            let (low, high) =
                (value(exponent, mantissa, ieee, code), value(exponent, mantissa, ieee, code + 1));
            if !high.is_finite() {
                break;
            }
            // All midpoints and their neighbours are f32 values for these types.
            let mid = ((low + high) / 2.0) as f32;
            assert_eq!(f64::from(mid), (low + high) / 2.0);
            assert_eq!(from_f32(mid, dtype), code + (code & 1), "{dtype} {code:#x}");
            assert_eq!(from_f32(f32::from_bits(mid.to_bits() - 1), dtype), code);
            assert_eq!(from_f32(f32::from_bits(mid.to_bits() + 1), dtype), code + 1);
            let sign = 1 << (exponent + mantissa);
            assert_eq!(from_f32(-mid, dtype), sign | (code + (code & 1)));
        }
    }
}

#[test]
fn what_is_too_large_becomes_infinity_or_nan() {
    // The first value that does not round to the largest finite one.
    let first = [
        (Dtype::F8e3, 15.75f32, 0x70),
        (Dtype::F8e4, 248.0, 0x78),
        (Dtype::F8e5, 61440.0, 0x7c),
        (Dtype::F16, 65520.0, 0x7c00),
    ];
    for (dtype, x, infinity) in first {
        assert_eq!(from_f32(x, dtype), infinity);
        assert_eq!(from_f32(f32::MAX, dtype), infinity);
        assert_eq!(from_f32(f32::INFINITY, dtype), infinity);
        assert_eq!(from_f32(-x, dtype), infinity | 1 << (8 * dtype.bytes() - 1));
        assert_eq!(from_f32(f32::from_bits(x.to_bits() - 1), dtype), infinity - 1);
    }
    assert_eq!(from_f32(f32::MAX, Dtype::Bf16), 0x7f80);
    let fn8 = Dtype::F8e4m3fn;
    assert_eq!(from_f32(464.0, fn8), 0x7e, "a tie goes to 448, whose code is even");
    for x in [464.1, 480.0, 1e30, f32::INFINITY, -465.0, f32::NEG_INFINITY] {
        assert_eq!(from_f32(x, fn8), 0x7f, "{x}");
    }
}

#[test]
fn subnormals_and_signed_zeros_stay() {
    assert_eq!(from_f32(-0.0, Dtype::Bf16), 0x8000);
    assert_eq!(from_f32(2f32.powi(-24), Dtype::F16), 1);
    assert_eq!(from_f32(2f32.powi(-25), Dtype::F16), 0);
    assert_eq!(from_f32(-(2f32.powi(-25)) * 1.0001, Dtype::F16), 0x8001);
    assert_eq!(from_f32(f32::from_bits(1), Dtype::F16), 0);
    assert_eq!(from_f32(f32::from_bits(0x8000), Dtype::Bf16), 0);
    assert_eq!(from_f32(f32::from_bits(0x8001), Dtype::Bf16), 1);
    assert_eq!(to_f32(1, Dtype::Bf16).to_bits(), 0x1_0000);
}

#[test]
fn equal_types_keep_every_bit_and_a_cast_does_not() {
    let loud = 0xffa0_0001u32.to_le_bytes();
    assert_eq!(cast(&loud, Dtype::F32, Dtype::F32), loud);
    assert_eq!(cast(&loud, Dtype::F32, Dtype::F32r), loud);
    assert_eq!(cast(&loud, Dtype::F32r, Dtype::F32), loud);
    assert_eq!(cast(&loud, Dtype::F32, Dtype::F16), [0x00, 0x7e]);
    assert_eq!(cast(&[1, 2, 3], Dtype::F8e8m0, Dtype::F8e8m0), [1, 2, 3]);
    assert!(!can_cast(Dtype::F8e8m0, Dtype::U8) && !can_cast(Dtype::F32, Dtype::F8e4x4));
    assert!(can_cast(Dtype::F4x4, Dtype::F4x4) && can_cast(Dtype::Bool, Dtype::F8e3));
    assert_eq!(cast(&[7; 4], Dtype::F8e4x4, Dtype::U16), [0, 0]);
}

/// Bits, whether it is signed, of each integer type.
fn integers() -> [(Dtype, u32, bool); 8] {
    use Dtype::*;
    [
        (U8, 8, false),
        (I8, 8, true),
        (U16, 16, false),
        (I16, 16, true),
        (U32, 32, false),
        (I32, 32, true),
        (U64, 64, false),
        (I64, 64, true),
    ]
}

fn range(bits: u32, signed: bool) -> (i128, i128) {
    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

#[test]
fn integers_saturate_whatever_their_widths_and_signs() {
    for (from, bits, signed) in integers() {
        let (lo, hi) = range(bits, signed);
        let mut values = vec![lo, lo + 1, hi, hi - 1, 0, 1, hi / 2];
        for k in 0..bits {
            values.extend([1 << k, (1 << k) - 1, -(1 << k), -(1 << k) - 1]);
        }
        for v in values.into_iter().filter(|v| (lo..=hi).contains(v)) {
            for (to, bits, signed) in integers() {
                let (lo, hi) = range(bits, signed);
                let got = cast(&bytes(from, v as u64), from, to);
                assert_eq!(got, bytes(to, v.clamp(lo, hi) as u64), "{v} {from} {to}");
            }
            assert_eq!(cast(&bytes(from, v as u64), from, Dtype::Bool), [u8::from(v > 0)]);
        }
    }
}

#[test]
fn floats_round_to_even_integers_and_saturate() {
    let rows = [
        (0.5, 0),
        (1.5, 2),
        (2.5, 2),
        (-0.5, 0),
        (-1.5, -2),
        (-2.5, -2),
        (126.5, 126),
        (127.5, 127),
        (128.0, 127),
        (1e30, 127),
        (-128.5, -128),
        (-129.0, -128),
    ];
    for (x, want) in rows {
        assert_eq!(from_f32(x, Dtype::I8), u64::from(want as i8 as u8), "{x}");
    }
    for (x, want) in [(-0.5, 0), (-3.0, 0), (254.5, 254), (255.5, 255), (1e9, 255)] {
        assert_eq!(from_f32(x, Dtype::U8), want, "{x}");
    }
    for (to, bits, signed) in integers() {
        let (lo, hi) = range(bits, signed);
        assert_eq!(cast(&f32::NAN.to_le_bytes(), Dtype::F32, to), bytes(to, 0));
        assert_eq!(cast(&f32::INFINITY.to_le_bytes(), Dtype::F32, to), bytes(to, hi as u64));
        assert_eq!(cast(&f32::NEG_INFINITY.to_le_bytes(), Dtype::F32, to), bytes(to, lo as u64));
    }
}

#[test]
fn integers_become_floats_with_one_rounding() {
    // Just above the tie between two bf16 values: rounding to 53 bits on the way would tie.
    let v = (1u64 << 62) + (1 << 54) + 1;
    assert_eq!(cast(&v.to_le_bytes(), Dtype::U64, Dtype::Bf16), 0x5e81u16.to_le_bytes());
    let v = (1u64 << 62) + (1 << 54);
    assert_eq!(cast(&v.to_le_bytes(), Dtype::U64, Dtype::Bf16), 0x5e80u16.to_le_bytes());
    assert_eq!(cast(&[0xff], Dtype::I8, Dtype::F16), 0xbc00u16.to_le_bytes());
    assert_eq!(cast(&[0xff], Dtype::U8, Dtype::F8e4m3fn), [0x78]);
    assert_eq!(cast(&[3], Dtype::Bool, Dtype::F16), 0x3c00u16.to_le_bytes());
}

proptest! {
    #[test]
    fn wide_integers_round_as_the_processor_does(v: u64, shift in 0u32..64) {
        let v = v >> shift;
        let got = cast(&v.to_le_bytes(), Dtype::U64, Dtype::F32);
        prop_assert_eq!(got, (v as f32).to_le_bytes());
        let got = cast(&v.to_le_bytes(), Dtype::I64, Dtype::F32);
        prop_assert_eq!(got, (v as i64 as f32).to_le_bytes());
    }

    #[test]
    fn a_float_of_64_bits_narrows_as_the_processor_does(code: u64) {
        let x = f64::from_bits(code);
        prop_assume!(!x.is_nan());
        prop_assert_eq!(
            write(class(Dtype::F32), Num::Float(x)),
            u64::from((x as f32).to_bits())
        );
    }

    #[test]
    fn casts_go_element_by_element(
        data in prop::collection::vec(any::<u8>(), 0..64),
        from in 0usize..21,
        to in 0usize..21,
    ) {
        let (from, to) = (Dtype::ALL[from], Dtype::ALL[to]);
        let size = from.bytes() as usize;
        let data = &data[..data.len() / size * size];
        let each: Vec<u8> = data.chunks(size).flat_map(|e| cast(e, from, to)).collect();
        prop_assert_eq!(cast(data, from, to), each);
    }

    #[test]
    fn a_transposed_element_lies_where_its_permuted_place_says(
        dims in prop::array::uniform4(1u64..5),
        op in 0usize..14,
        elem in 1u64..5,
    ) {
        let op = TransposeOp::ALL[op];
        let count: u64 = dims.iter().product();
        let src: Vec<u8> = (0..count * elem).map(|b| b as u8).collect();
        let out = transpose(&src, elem, dims, op);
        let order = op.order();
        for n in 0..count {
            let (mut rest, mut at) = (n, [0; 4]);
            for k in (0..4).rev() {
                at[k] = rest % dims[k];
                rest /= dims[k];
            }
            let place = (0..4).fold(0, |p, k| p * dims[order[k]] + at[order[k]]);
            let (n, place, elem) = (n as usize, place as usize, elem as usize);
            prop_assert_eq!(
                &src[n * elem..][..elem],
                &out[place * elem..][..elem]
            );
        }
        prop_assert!(transpose(&src[1..], elem, dims, op).is_empty());
    }
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn a_sum_rounds_after_each_product_and_each_addition() {
    let (a, b) = (f32s(&[1.0, 16_777_216.0]), f32s(&[2.0, 1.0]));
    let src = [(&a[..], Dtype::F32, 1.0), (&b[..], Dtype::F32, 1.0), (&b[..], Dtype::F32, 1.0)];
    // 2^24 + 1 rounds back to 2^24, twice; the other order would give 2^24 + 2.
    assert_eq!(cce(AluOp::Add, &src, Dtype::F32), f32s(&[5.0, 16_777_216.0]));
    // (1 + e) * (1 - e) rounds to 1, so that 1 is left of the difference to 0; a fused
    // operation would keep -e^2.
    let e = 2f32.powi(-13);
    let (x, one) = (f32s(&[1.0 + e]), f32s(&[-1.0]));
    let src = [(&one[..], Dtype::F32, 1.0), (&x[..], Dtype::F32, 1.0 - e)];
    assert_eq!(cce(AluOp::Add, &src, Dtype::F32), f32s(&[0.0]));
}

#[test]
fn sources_widen_and_the_result_is_cast_once() {
    let a = 0x3c00u16.to_le_bytes(); // 1 as f16
    let b = [0x38]; // 1 as e4m3
    let src = [(&a[..], Dtype::F16, 2.0), (&b[..], Dtype::F8e4, 0.5)];
    assert_eq!(cce(AluOp::Add, &src, Dtype::Bf16), 0x4020u16.to_le_bytes());
    assert_eq!(cce(AluOp::Max, &src, Dtype::F8e4), [0x40]);
    assert_eq!(cce(AluOp::Min, &src, Dtype::F32), f32s(&[0.5]));
    assert_eq!(cce(AluOp::Mult, &src, Dtype::F32), [0; 4]);
    assert!(!is_cce_dtype(Dtype::I32) && !is_cce_dtype(Dtype::F8e8m0) && is_cce_dtype(Dtype::F32r));
}

#[test]
fn maximum_and_minimum_prefer_numbers_and_order_zeros() {
    let nan = f32::from_bits(0xff80_0001);
    let rows = [
        (AluOp::Max, [nan, -3.0], -3.0),
        (AluOp::Max, [-3.0, nan], -3.0),
        (AluOp::Min, [nan, 3.0], 3.0),
        (AluOp::Max, [-0.0, 0.0], 0.0),
        (AluOp::Max, [0.0, -0.0], 0.0),
        (AluOp::Min, [-0.0, 0.0], -0.0),
        (AluOp::Min, [0.0, -0.0], -0.0),
        (AluOp::Max, [-7.0, -5.0], -5.0),
        (AluOp::Min, [7.0, f32::NEG_INFINITY], f32::NEG_INFINITY),
    ];
    for (op, [a, b], want) in rows {
        let (a, b) = (f32s(&[a]), f32s(&[b]));
        let src = [(&a[..], Dtype::F32, 1.0), (&b[..], Dtype::F32, 1.0)];
        assert_eq!(cce(op, &src, Dtype::F32), f32s(&[want]), "{op} {want}");
    }
    let zero = f32s(&[0.0]);
    let negative = [(&zero[..], Dtype::F32, -1.0)];
    assert_eq!(cce(AluOp::Add, &negative, Dtype::F32), f32s(&[0.0]), "a sum starts from +0");
    assert_eq!(cce(AluOp::Max, &negative, Dtype::F32), f32s(&[-0.0]));
    let n = f32s(&[nan]);
    let both = [(&n[..], Dtype::F32, 1.0), (&n[..], Dtype::F32, -1.0)];
    assert_eq!(cce(AluOp::Max, &both, Dtype::F32), 0x7fc0_0000u32.to_le_bytes());
    let inf = f32s(&[f32::INFINITY]);
    let lost = [(&inf[..], Dtype::F32, 1.0), (&inf[..], Dtype::F32, -1.0)];
    assert_eq!(cce(AluOp::Add, &lost, Dtype::F32), 0x7fc0_0000u32.to_le_bytes());
}

#[test]
fn a_source_is_repeated_whole() {
    assert_eq!(replicate(&[1, 2], 3), [1, 2, 1, 2, 1, 2]);
    assert!(replicate(&[], u64::MAX).is_empty() && replicate(&[1], 0).is_empty());
}
