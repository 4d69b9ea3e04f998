#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
use super::super::Found;
use super::*;
use crate::engine::expr::QueueRef;
use crate::engine::program::{Blob, Content, Program, QueueDecl, Start};
use crate::udma::{Generation, Profile};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;

const ID: QueueId = QueueId { engine: 5, queue: 2 };

/// A queue whose rings hold these slots.
fn session(tx: &[[u8; 16]], rx: &[[u8; 16]]) -> Session {
    let mut p = Program::new(Generation::V3, Profile::default_profile());
    let mut lay = |base: u64, slots: &[[u8; 16]]| {
        let bytes = Blob::from_vec(slots.as_flattened().to_vec());
        p.contents.push(Content { addr: base, bytes });
        Some(RingDecl { base, size: slots.len() as u64 })
    };
    let (tx, rx) = (lay(0x4000_4000_0000, tx), lay(0x4000_8000_0000, rx));
    let first = [Start::FRESH; 2];
    p.queues.push(QueueDecl { id: ID, tx, rx, allocatable: false, marker_area: 0, first });
    Session::new(Arc::new(p))
}

/// The same with both in turn in one image, as far as the shorter goes.
fn session_in_turn(tx: &[[u8; 16]], rx: &[[u8; 16]]) -> Session {
    let n = tx.len().min(rx.len());
    let both: Vec<u8> =
        tx.iter().zip(rx).flat_map(|(t, r)| [*t, *r]).collect::<Vec<_>>().as_flattened().to_vec();
    let both = Blob::from_vec(both);
    let mut p = Program::new(Generation::V3, Profile::default_profile());
    let mut lay = |base: u64, first: usize| {
        p.contents.push(Content { addr: base, bytes: Blob::turns(both.clone(), first, 2, n) });
        Some(RingDecl { base, size: n as u64 })
    };
    let (tx, rx) = (lay(0x4000_4000_0000, 0), lay(0x4000_8000_0000, 1));
    let first = [Start::FRESH; 2];
    p.queues.push(QueueDecl { id: ID, tx, rx, allocatable: false, marker_area: 0, first });
    Session::new(Arc::new(p))
}

/// The same with a slot of the Tx ring written by itself.
fn rewritten(s: &Session, at: u64) -> Session {
    let mut p = (**s.program()).clone();
    let ring = p.queues[0].tx.unwrap();
    let at = at % ring.size;
    let bytes = Blob::from_vec(vec![0x11; 16]);
    p.contents.push(Content { addr: ring.slot_addr(at), bytes });
    Session::new(Arc::new(p))
}

fn here(path: &str) -> Expr {
    Expr::Here(path.split('.').map(str::to_owned).collect())
}

fn binary(a: Expr, op: BinOp, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

fn of_slot(index: Expr) -> Expr {
    let (queue, path) = (QueueRef::Selected, vec!["length".to_owned()]);
    Expr::Slot { queue, dir: Dir::Tx, index: Box::new(index), path }
}

fn slot() -> impl Strategy<Value = [u8; 16]> {
    let like = |bits: u128| {
        let copy = 0x0000_1000_0000_2000_0108_0003_0d00_1000u128;
        (copy ^ bits).to_le_bytes()
    };
    prop_oneof![
        6 => (0u32..128).prop_map(move |b| like(1 << b)),
        4 => Just(like(0)),
        2 => Just([0; 16]),
        2 => any::<[u8; 16]>(),
    ]
}

fn leaf() -> impl Strategy<Value = Expr> {
    const NAMES: &[&str] = &[
        "length",
        "index",
        "addr",
        "phase",
        "len_ctrl",
        "buf_ptr",
        "meta_ctrl",
        "first",
        "last",
        "len_ctrl.length",
        "meta_ctrl.write_barrier",
        "dmb",
        "buf2_ptr_lo",
        "life",
        "meta1",
        "ring_id",
    ];
    let queue = QueueRef::Selected;
    let size = Expr::Queue { queue, path: vec!["tx".to_owned(), "size".to_owned()] };
    let one = [Expr::Name("event".to_owned()), of_slot(Expr::Num(3)), size];
    let number =
        prop_oneof![Just(0u64), Just(1), Just(4096), Just(0x0d00_1000), 0..70_000u64, any::<u64>()];
    prop_oneof![
        8 => prop::sample::select(NAMES).prop_map(here),
        3 => number.prop_map(Expr::Num),
        1 => prop::sample::select(one.to_vec()),
    ]
}

fn expr() -> impl Strategy<Value = Expr> {
    leaf().prop_recursive(3, 12, 2, |inner| {
        let ops: Vec<BinOp> = BinOp::TABLE.iter().map(|r| r.1).collect();
        prop_oneof![
            5 => (inner.clone(), prop::sample::select(ops), inner.clone())
                .prop_map(|(a, op, b)| binary(a, op, b)),
            1 => (prop::sample::select(&UnOp::ALL[..]), inner)
                .prop_map(|(op, a)| Expr::Unary(op, Box::new(a))),
        ]
    })
}

fn asked(s: &Session, e: &Expr, plainly: bool) -> Result<Found, &'static str> {
    let go_on = &mut |_| ControlFlow::Continue(());
    let found =
        if plainly { s.slots_found_plainly(None, e, go_on) } else { s.slots_found(None, e, go_on) };
    found.map_err(|d| d.code)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn blocks_answer_as_the_evaluator_does(
        tx in prop::collection::vec(slot(), 1..600), rx in prop::collection::vec(slot(), 1..40),
        e in expr(),
    ) {
        let s = session(&tx, &rx);
        prop_assert_eq!(asked(&s, &e, false), asked(&s, &e, true), "{}", e);
    }
}

/// Questions of comparisons.
fn comparisons() -> impl Strategy<Value = Expr> {
    const NAMES: &[&str] =
        &["length", "phase", "len_ctrl", "buf_ptr", "meta_ctrl", "first", "dmb", "ring_id"];
    let value = prop_oneof![
        Just(0u64),
        Just(1),
        Just(4096),
        Just(65_536),
        Just(0x1000_0000_2000),
        0..70_000u64,
        any::<u64>()
    ];
    let ops = [BinOp::Eq, BinOp::Ne, BinOp::Lt, BinOp::Le, BinOp::Gt, BinOp::Ge];
    let one = (prop::sample::select(NAMES), prop::sample::select(ops.to_vec()), value)
        .prop_map(|(name, op, v)| binary(here(name), op, Expr::Num(v)));
    let leaf =
        prop_oneof![6 => one, 1 => prop::sample::select(&["first", "len_ctrl"][..]).prop_map(here)];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let ops = [BinOp::LogAnd, BinOp::LogOr];
        prop_oneof![
            4 => (inner.clone(), prop::sample::select(ops.to_vec()), inner.clone())
                .prop_map(|(a, op, b)| binary(a, op, b)),
            1 => inner.prop_map(|a| Expr::Unary(UnOp::Not, Box::new(a))),
        ]
    })
}

/// Slots most of which are alike; some others, some stretches without any.
fn ring() -> impl Strategy<Value = Vec<[u8; 16]>> {
    let odd = prop::collection::vec((0usize..6000, slot()), 0..8);
    (1usize..6000, 0usize..9000, 0usize..3000, odd).prop_map(|(n, from, len, odd)| {
        let copy = |i: usize| {
            let all = 0x0000_1000_0000_2000_0108_0003_0d00_1000u128 + ((i as u128) << 76);
            all.to_le_bytes()
        };
        let mut all: Vec<[u8; 16]> = (0..n).map(copy).collect();
        all.iter_mut().skip(from).take(len).for_each(|s| *s = [0; 16]);
        for (at, slot) in odd {
            all[at % n] = slot;
        }
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn many_slots_at_once_answer_as_the_evaluator_does(
        tx in ring(), rx in ring(), turns in any::<bool>(), written in prop::option::of(0u64..6000),
        e in comparisons(),
    ) {
        let mut s = if turns { session_in_turn(&tx, &rx) } else { session(&tx, &rx) };
        if let Some(at) = written {
            // What is written by itself cuts a ring into stretches.
            s = rewritten(&s, at % tx.len() as u64);
        }
        prop_assert_eq!(asked(&s, &e, false), asked(&s, &e, true), "{}", e);
    }
}

#[test]
fn comparisons_are_put_to_lines() {
    let s = session(&[[1; 16]; 4], &[[2; 16]; 4]);
    let n = Expr::Num;
    let short = || binary(here("length"), BinOp::Le, n(64));
    let far = || binary(here("buf_ptr"), BinOp::Gt, n(1 << 40));
    let sieve = |e: &Expr| SlotQuestion::of(&s, e, ID, Dir::Tx).and_then(|q| q.sieve());
    for e in [
        short(),
        binary(here("phase"), BinOp::Ne, n(1)),
        binary(short(), BinOp::LogAnd, binary(far(), BinOp::LogOr, here("dmb"))),
        Expr::Unary(UnOp::Not, Box::new(far())),
    ] {
        assert!(sieve(&e).is_some(), "{e}");
    }
    for e in [
        binary(here("index"), BinOp::Lt, n(3)),
        binary(here("length"), BinOp::Lt, n(0)),
        binary(here("length"), BinOp::Lt, here("buf_ptr")),
        binary(short(), BinOp::LogAnd, binary(here("index"), BinOp::Rem, n(3))),
    ] {
        assert!(sieve(&e).is_none(), "{e}");
    }
}

#[test]
fn what_is_mostly_asked_is_put_to_blocks() {
    let s = session(&[[1; 16]; 4], &[[2; 16]; 4]);
    let n = Expr::Num;
    let small = || binary(here("length"), BinOp::Lt, n(64));
    let newest = binary(here("phase"), BinOp::Eq, n(1));
    let third = binary(binary(here("index"), BinOp::Rem, n(3)), BinOp::Eq, n(1));
    for e in [
        small(),
        binary(small(), BinOp::LogAnd, newest),
        binary(here("len_ctrl"), BinOp::And, n(0x800_0000)),
        binary(here("buf_ptr"), BinOp::Ge, of_slot(n(0))),
        third,
        binary(here("addr"), BinOp::Gt, n(0x4000)),
        here("len_ctrl.dmb"),
    ] {
        assert!(SlotQuestion::of(&s, &e, ID, Dir::Tx).is_some(), "{e}");
    }
    let by_none = binary(here("index"), BinOp::Div, binary(n(1), BinOp::Rem, n(0)));
    for e in [here("life"), here("nothing"), by_none, of_slot(here("index"))] {
        assert!(SlotQuestion::of(&s, &e, ID, Dir::Tx).is_none(), "{e}");
    }
}

#[test]
fn what_a_field_cannot_hold_is_compared_as_a_number() {
    let s = session(&[[0x7f; 16]; 4], &[[0; 16]; 4]);
    for (name, op, value, n) in [
        ("first", BinOp::Eq, 4, 0),
        ("first", BinOp::Lt, 4, 4),
        ("len_ctrl.length", BinOp::Gt, 0x1_0000, 0),
        ("first", BinOp::Ne, 7, 4),
    ] {
        let e = binary(here(name), op, Expr::Num(value));
        let found = asked(&s, &e, false);
        assert_eq!(found.as_ref().map(|f| f.slots.len()), Ok(n), "{e}");
        assert_eq!(found, asked(&s, &e, true));
    }
}
