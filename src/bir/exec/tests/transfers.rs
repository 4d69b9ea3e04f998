use super::fixture::*;
use crate::bir::memory::UNWRITTEN;
use crate::bir::module::*;
use crate::bir::*;
use Engine::Pool;

/// One transfer from `x` (16 bytes counting from 1) to `y` (32 zeros), changed as `f` likes.
fn one(from: Operand, to: Operand, f: impl FnOnce(&mut Inst, &mut Dma)) -> Ran {
    let mut m = Make::new(&[
        ("x", &[16]),
        ("y", &[32]),
        ("s", &[4, 8]),
        ("list", &[16]),
        ("wide", &[1 << 20]),
    ]);
    let mut i = m.copy("i", Pool, from, to);
    let mut d = i.dma().unwrap().clone();
    f(&mut i, &mut d);
    i.body = Body::Dma(d);
    m.add(i);
    m.run(&[("x", count(16)), ("y", vec![0; 32]), ("list", LIST.to_vec())])
}

/// Indices 3, 0, -1, 3 as int32.
const LIST: [u8; 16] = [3, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 3, 0, 0, 0];

fn same(_: &mut Inst, _: &mut Dma) {}

#[test]
fn ranks_differ_and_five_dimensions_and_more_are_walked() {
    let from = ap(Dtype::U8, "x", 15, &[(-8, 2), (-4, 2), (-2, 2), (-1, 2), (0, 1), (5, 1)]);
    let got = one(from, bytes("y", 0, 16), same).ok().dump("y");
    let want: Vec<u8> = (0..16).map(|i| 16 - i).collect();
    assert_eq!(got[..16], want);
}

#[test]
fn the_source_is_read_before_anything_is_written_and_casts_happen_at_the_write() {
    let got = one(bytes("x", 0, 15), bytes("x", 1, 15), same).ok().dump("x");
    assert_eq!(got[..4], [1, 1, 2, 3]);
    let to = ap(Dtype::U16, "y", 0, &[(1, 4)]);
    let got = one(bytes("x", 0, 4), to, same).ok().dump("y");
    assert_eq!(got[..8], [1, 0, 2, 0, 3, 0, 4, 0]);
    // A place that is written twice keeps what came last.
    let got = one(bytes("x", 0, 4), ap(Dtype::U8, "y", 3, &[(0, 4)]), same).ok().dump("y");
    assert_eq!(got[..5], [0, 0, 0, 4, 0]);
}

#[test]
fn tiles_are_walked_partition_by_partition() {
    let tile = ap(Dtype::U8, "s", 2, &[(8, 4), (1, 4)]);
    let got = one(bytes("x", 0, 16), tile, same).ok().dump("s");
    let row = |k: u8| [UNWRITTEN, UNWRITTEN, k, k + 1, k + 2, k + 3, UNWRITTEN, UNWRITTEN];
    assert_eq!(got, [row(1), row(5), row(9), row(13)].concat());
}

#[test]
fn unwritten_bytes_are_a_pattern_and_a_warning() {
    let got = one(bytes("wide", 5, 2), bytes("y", 0, 2), same);
    let f = &got.outcome.findings;
    assert_eq!((f.len(), f[0].diag.code), (1, "B088"));
    assert!(f[0].diag.message.contains("`wide` byte 5"), "{}", f[0].diag.message);
    assert_eq!(got.dump("y")[..3], [UNWRITTEN, UNWRITTEN, 0]);
    one(bytes("wide", 5, 2), bytes("y", 0, 2), |_, d| d.can_read_uninit = true).ok();
}

#[test]
fn a_transpose_has_the_source_dimensions_in_the_order_of_its_name() {
    let t = |op| {
        move |_: &mut Inst, d: &mut Dma| {
            d.mode = Mode::Transpose;
            d.transpose = op;
        }
    };
    let from = ap(Dtype::U8, "x", 0, &[(8, 2), (4, 2), (2, 2), (1, 2)]);
    let to = || ap(Dtype::U8, "y", 0, &[(8, 2), (4, 2), (2, 2), (1, 2)]);
    // WZXY: the two inner dimensions change places.
    let got = one(from.clone(), to(), t(TransposeOp::Wzxy)).ok().dump("y");
    assert_eq!(got[..8], [1, 3, 2, 4, 5, 7, 6, 8]);
    // XYZW: all of them do, the other way round.
    let got = one(from.clone(), to(), t(TransposeOp::Xyzw)).ok().dump("y");
    assert_eq!(got[..4], [1, 9, 5, 13]);
    assert_eq!(one(from, to(), t(TransposeOp::None)).error().0, "B082");
    let flat = one(bytes("x", 0, 16), to(), t(TransposeOp::Xyzw));
    assert_eq!(flat.error().0, "B082");
}

#[test]
fn rows_are_replicated_in_turn() {
    let mode = |_: &mut Inst, d: &mut Dma| d.mode = Mode::Replicate;
    let from = || ap(Dtype::U8, "x", 0, &[(4, 2), (1, 4)]);
    let got = one(from(), ap(Dtype::U8, "y", 0, &[(4, 4), (1, 4)]), mode).ok().dump("y");
    assert_eq!(got[..16], [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
    let odd = one(from(), ap(Dtype::U8, "y", 0, &[(4, 3), (1, 4)]), mode);
    assert_eq!(odd.error().0, "B083");
    let other = one(from(), ap(Dtype::U8, "y", 0, &[(8, 2), (1, 8)]), mode);
    assert_eq!(other.error().0, "B083");
}

#[test]
fn sums_are_scaled_and_their_rules_are_kept() {
    let sum = |extra: usize, constants: Option<Vec<f32>>, op| {
        move |i: &mut Inst, d: &mut Dma| {
            d.mode = Mode::Cce;
            d.cce_op = op;
            d.constants = constants;
            for _ in 0..extra {
                i.ins.push(i.ins[0].clone());
            }
        }
    };
    let f8 = || ap(Dtype::F8e5, "x", 0, &[(1, 4)]);
    let to = || ap(Dtype::F8e5, "y", 0, &[(1, 4)]);
    let got = one(f8(), to(), sum(1, None, AluOp::Add)).ok().dump("y");
    // Codes 1 and 2 are the first subnormals: twice as much has twice the code.
    assert_eq!(got[..2], [2, 4]);
    let got = one(f8(), to(), sum(1, Some(vec![1.0, 3.0]), AluOp::Max)).ok().dump("y");
    assert_eq!(got[0], 3);
    for (extra, constants, op) in [
        (16, None, AluOp::Add),
        (1, Some(vec![1.0]), AluOp::Add),
        (1, None, AluOp::Bypass),
        (1, None, AluOp::Mult),
    ] {
        assert_eq!(one(f8(), to(), sum(extra, constants, op)).error().0, "B081");
    }
    let whole = one(bytes("x", 0, 4), to(), sum(0, None, AluOp::Add));
    assert_eq!(whole.error().0, "B081");
    let short = one(f8(), to(), |i, d| {
        sum(1, None, AluOp::Add)(i, d);
        i.ins[1] = ap(Dtype::F8e5, "x", 0, &[(1, 3)]);
    });
    assert_eq!(short.error().0, "B077");
}

/// An operand whose rows an index list selects.
fn listed(mut o: Operand, max: Option<u64>) -> Operand {
    let p = o.as_pattern_mut().unwrap();
    p.start = Some(Expr::Index(1));
    p.max_index = max;
    o
}

fn list() -> Operand {
    ap(Dtype::I32, "list", 0, &[(1, 4)])
}

#[test]
fn a_gather_takes_rows_and_skips_what_is_out_of_range() {
    let gather = |oob, max, dtype| {
        let from = listed(ap(Dtype::U8, "x", 0, &[(4, 4), (1, 4)]), max);
        one(from, bytes("y", 0, 16), |i, d| {
            i.ins.push(Operand { dtype: Some(dtype), ..list() });
            d.oob_is_err = oob;
        })
    };
    let got = gather(false, None, Dtype::I32).ok().dump("y");
    assert_eq!(got[..16], [13, 14, 15, 16, 1, 2, 3, 4, 0, 0, 0, 0, 13, 14, 15, 16]);
    let got = gather(false, Some(3), Dtype::U32).ok().dump("y");
    assert_eq!(got[..8], [0, 0, 0, 0, 1, 2, 3, 4]);
    let (code, text) = gather(true, None, Dtype::I32).error();
    assert_eq!(code, "B078");
    assert!(text.contains("-1"), "{text}");
    assert_eq!(gather(true, None, Dtype::U16).error().0, "B079");
}

#[test]
fn a_scatter_puts_rows_and_the_last_of_two_stays() {
    let to = listed(ap(Dtype::U8, "y", 0, &[(2, 4), (1, 2)]), None);
    let got = one(ap(Dtype::U8, "x", 0, &[(1, 8)]), to, |i, d| {
        i.ins.push(list());
        d.oob_is_err = false;
    });
    assert_eq!(got.ok().dump("y")[..8], [3, 4, 0, 0, 0, 0, 7, 8]);
    // Rows that the other side has not as rows: two of three elements and one of two.
    let to = listed(ap(Dtype::U8, "y", 0, &[(8, 4), (1, 3)]), None);
    let from = ap(Dtype::U8, "x", 0, &[(4, 3), (1, 4)]);
    let got = one(from, to, |i, d| {
        i.ins.push(ap(Dtype::I32, "list", 0, &[(0, 2), (1, 2)]));
        d.oob_is_err = false;
    });
    // Indices 3, 0, 3, 0: rows of three, each later one over the earlier.
    let y = got.ok().dump("y");
    assert_eq!((&y[..4], &y[24..27]), (&[10, 11, 12, 0][..], &[7, 8, 9][..]));
}

#[test]
fn rows_of_a_tile_are_partitions() {
    let from = listed(ap(Dtype::U8, "s", 0, &[(8, 4), (1, 4)]), None);
    let mut m = Make::new(&[("s", &[4, 8]), ("y", &[16]), ("list", &[16])]);
    let mut i = m.copy("i", Pool, from, bytes("y", 0, 16));
    i.ins.push(list());
    i.body = Body::Dma(Dma { oob_is_err: false, ..Dma::default() });
    m.add(i);
    let fill = [("s", count(32)), ("y", vec![0; 16]), ("list", LIST.to_vec())];
    let got = m.run(&fill).ok().dump("y");
    assert_eq!(got, [25, 26, 27, 28, 1, 2, 3, 4, 0, 0, 0, 0, 25, 26, 27, 28]);
}

#[test]
fn index_lists_have_one_entry_for_each_step_and_one_place() {
    let from = || listed(ap(Dtype::U8, "x", 0, &[(4, 4), (1, 4)]), None);
    let with = |from: Operand, to: Operand, list: Operand, mode| {
        one(from, to, move |i, d| {
            i.ins.push(list);
            d.oob_is_err = false;
            d.mode = mode;
        })
    };
    let three = ap(Dtype::I32, "list", 0, &[(1, 3)]);
    assert_eq!(with(from(), bytes("y", 0, 16), three, Mode::Copy).error().0, "B079");
    assert_eq!(with(from(), bytes("y", 0, 15), list(), Mode::Copy).error().0, "B077");
    let both = listed(ap(Dtype::U8, "y", 0, &[(4, 4), (1, 4)]), None);
    assert_eq!(with(from(), both, list(), Mode::Copy).error().0, "B080");
    assert_eq!(with(from(), bytes("y", 0, 16), list(), Mode::Replicate).error().0, "B080");
    let inside = starting(
        ap(Dtype::U8, "x", 0, &[(4, 4), (1, 4)]),
        Expr::Sum(vec![Expr::Const(1), Expr::Index(1)]),
    );
    assert_eq!(with(inside, bytes("y", 0, 16), list(), Mode::Copy).error().0, "B074");
    let mixed = starting(
        ap(Dtype::U8, "x", 0, &[(4, 4), (1, 4)]),
        Expr::Sum(vec![Expr::Register("r".into()), Expr::Index(1)]),
    );
    assert_eq!(with(mixed, bytes("y", 0, 16), list(), Mode::Copy).error().0, "B080");
}

#[test]
fn a_list_that_nobody_wrote_is_told() {
    let mut m = Make::new(&[("x", &[8]), ("y", &[8]), ("list", &[8])]);
    let from = listed(ap(Dtype::U8, "x", 0, &[(4, 2), (1, 4)]), None);
    let mut i = m.copy("i", Pool, from, bytes("y", 0, 8));
    i.ins.push(ap(Dtype::I32, "list", 0, &[(1, 2)]));
    i.body = Body::Dma(Dma { oob_is_err: false, ..Dma::default() });
    m.add(i);
    let got = m.run(&[("x", count(8))]);
    assert_eq!(got.outcome.findings[0].diag.code, "B088");
    assert!(got.outcome.findings[0].diag.message.contains("an index"));
    assert!(!got.memory.touched(got.p.layout(), "y"));
}

#[test]
fn a_repeated_index_accumulates_twice() {
    let mut m = Make::new(&[("x", &[4]), ("y", &[4]), ("list", &[16])]);
    for opcode in ["IndirectSaveAccumulate", "GenericIndirectSave"] {
        let mut i = m.inst("i", opcode, Pool);
        i.ins = [ap(Dtype::F8e5, "x", 0, &[(1, 4)]), ap(Dtype::U32, "list", 0, &[(1, 4)])].into();
        i.outs = [listed(ap(Dtype::F8e5, "y", 0, &[(1, 4)]), None)].into();
        i.body = Body::Dma(Dma { oob_is_err: false, ..Dma::default() });
        m.add(i);
    }
    let fill = [("x", vec![1, 2, 0, 1]), ("y", vec![1; 4]), ("list", LIST.to_vec())];
    let got = m.run(&fill);
    assert!(got.outcome.finished);
    // Small codes of e5m2 add like numbers: place 3 takes 1 and 1, place 0 takes 2; twice.
    assert_eq!(got.dump("y"), [5, 1, 1, 4 + 1]);
    let codes: Vec<_> = got.outcome.findings.iter().map(|f| f.diag.code).collect();
    assert_eq!(codes, ["B090", "B090"]);
}

#[test]
fn a_lowered_base_is_read_when_its_time_comes() {
    let reference = |element, max_index| Reference::Index {
        list: Box::new(list()),
        element,
        scale: 4,
        max_index,
    };
    let with = |r: Reference, oob: bool| {
        let mut from = bytes("x", 0, 4);
        from.as_pattern_mut().unwrap().reference = Some(r);
        one(from, bytes("y", 0, 4), |_, d| d.oob_is_err = oob)
    };
    assert_eq!(with(reference(0, None), true).ok().dump("y")[..4], [13, 14, 15, 16]);
    assert_eq!(with(reference(1, None), true).ok().dump("y")[..4], [1, 2, 3, 4]);
    assert_eq!(with(reference(2, None), false).ok().dump("y")[..4], [0; 4]);
    assert_eq!(with(reference(3, Some(3)), false).ok().dump("y")[..4], [0; 4]);
    assert_eq!(with(reference(2, None), true).error().0, "B078");
    assert_eq!(with(reference(4, None), true).error().0, "B079");
    let r = Reference::Register { register: "r".into(), scale: 2 };
    assert_eq!(with(r.clone(), true).error().0, "B074");
    let mut m = Make::new(&[("x", &[16]), ("y", &[4])]);
    let set = m.set("r", imm(3), Pool);
    let mut from = bytes("x", 1, 4);
    from.as_pattern_mut().unwrap().reference = Some(r);
    let copy = m.copy("i", Pool, from, bytes("y", 0, 4));
    m.add(set).add(copy);
    assert_eq!(m.run(&[("x", count(16))]).ok().dump("y"), [8, 9, 10, 11]);
}

#[test]
fn what_is_wrong_with_a_transfer_is_said() {
    let to = || bytes("y", 0, 4);
    let code = |from, to, f: fn(&mut Inst, &mut Dma)| one(from, to, f).error().0;
    assert_eq!(code(bytes("x", 0, 5), to(), same), "B077");
    assert_eq!(code(bytes("x", 14, 4), to(), same), "B076");
    assert_eq!(code(bytes("nothing", 0, 4), to(), same), "B076");
    assert_eq!(code(ap(Dtype::F8e8m0, "x", 0, &[(1, 4)]), to(), same), "B084");
    assert_eq!(code(imm(3), to(), same), "B075");
    assert_eq!(code(bytes("x", 0, 4), to(), |i, _| i.ins.clear()), "B075");
    assert_eq!(code(bytes("x", 0, 4), to(), |i, _| i.outs.push(i.outs[0].clone())), "B075");
    assert_eq!(code(bytes("x", 0, 4), to(), |i, _| i.ins[0].dtype = None), "B075");
    assert_eq!(code(starting(bytes("x", 0, 4), axis("k")), to(), same), "B074");
    let r = Expr::Register("r".into());
    assert_eq!(code(starting(bytes("x", 0, 4), r.clone()), to(), same), "B074");
    assert_eq!(code(starting(bytes("x", 0, 4), r.clone()), starting(to(), r), same), "B080");
    let huge = starting(bytes("x", 1, 4), Expr::Const(i64::MAX));
    assert_eq!(code(huge, to(), same), "B074");
    let mut says = bytes("x", 0, 4);
    says.as_pattern_mut().unwrap().dynamic_info = true;
    assert_eq!(code(says, to(), same), "B080");
    let wide = ap(Dtype::U8, "x", 0, &[(0, 1 << 31)]);
    assert_eq!(code(wide.clone(), wide, same), "B089");
    assert_eq!(code(bytes("x", 0, 4), to(), |i, _| i.opcode = Opcode::Descriptor), "B085");
}

#[test]
fn nothing_is_moved_where_a_dimension_is_empty() {
    let none = |l| ap(Dtype::U8, l, 0, &[(1, 4), (1, 0)]);
    one(none("x"), none("y"), same).ok();
}

mod junk {
    use super::*;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = i64> {
        prop_oneof![
            4 => -20i64..40,
            1 => any::<i64>(),
            1 => Just(i64::MIN),
            1 => Just(i64::MAX),
            1 => Just(1 << 31),
        ]
    }

    fn operand() -> impl Strategy<Value = Operand> {
        let pairs = prop::collection::vec((number(), number().prop_map(|n| n as u64)), 0..5);
        let small = prop::collection::vec((-4i64..9, 0u64..5), 0..5);
        let start = prop_oneof![
            6 => Just(None),
            1 => number().prop_map(|n| Some(Expr::Const(n))),
            2 => (0u32..3).prop_map(|n| Some(Expr::Index(n))),
        ];
        let name = prop::sample::select(vec!["x", "y", "s", "list", "wide"]);
        let dtype = prop::sample::select(Dtype::ALL.to_vec());
        (name, dtype, number(), prop_oneof![pairs, small], start, any::<bool>()).prop_map(
            |(name, dtype, offset, pairs, start, refers)| {
                let mut o = ap(dtype, name, offset, &pairs);
                let p = o.as_pattern_mut().unwrap();
                p.start = start;
                p.reference = refers.then(|| Reference::Index {
                    list: Box::new(list()),
                    element: offset as u64 % 5,
                    scale: offset,
                    max_index: None,
                });
                o
            },
        )
    }

    proptest! {
        #[test]
        fn whatever_a_transfer_holds_it_ends(
            ins in prop::collection::vec(operand(), 0..4),
            out in operand(),
            mode in prop::sample::select(Mode::ALL.to_vec()),
            transpose in prop::sample::select(TransposeOp::ALL.to_vec()),
            cce_op in prop::sample::select(vec![AluOp::Add, AluOp::Max, AluOp::Bypass]),
            oob_is_err: bool,
            opaque: bool,
        ) {
            let got = one(imm(0), out, |i, d| {
                i.ins = ins.into();
                if opaque {
                    i.opcode = Opcode::by_name("Anything");
                }
                (d.mode, d.transpose, d.cce_op, d.oob_is_err) = (mode, transpose, cce_op, oob_is_err);
            });
            prop_assert!(got.outcome.finished != got.outcome.error().is_some());
        }
    }
}
