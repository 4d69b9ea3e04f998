#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
use super::*;
use crate::udma::ring::{INITIAL_RING_ID, next_ring_id};
use crate::udma::{Desc, PairRequest, build_pair};
use proptest::prelude::*;

/// A ring of `len` into which `n` pairs of the given sizes were staged, from slot 0 on.
fn staged(len: usize, sizes: impl Iterator<Item = u64>) -> (Vec<Desc>, Vec<Desc>) {
    let mut tx = vec![Desc::default(); len];
    let mut rx = tx.clone();
    let (mut at, mut id) = (0, INITIAL_RING_ID);
    for size in sizes {
        let req = PairRequest {
            src: 0x1000_0000_1000,
            dst: 0x2000,
            size,
            tx_ring_id: id.into(),
            rx_ring_id: id.into(),
            barrier_code: 0,
            set_dst_int: false,
        };
        (tx[at], rx[at]) = build_pair(Profile::default_profile(), Generation::V2, &req).unwrap();
        at += 1;
        if at == len {
            (at, id) = (0, next_ring_id(id));
        }
    }
    (tx, rx)
}

fn findings(tx: Option<&[Desc]>, rx: Option<&[Desc]>) -> Vec<(&'static str, String)> {
    checked(tx, rx, Generation::V3, None)
}

fn checked(
    tx: Option<&[Desc]>,
    rx: Option<&[Desc]>,
    arch: Generation,
    start: Option<u64>,
) -> Vec<(&'static str, String)> {
    let (tx, rx) = (tx.map(DescView), rx.map(DescView));
    let report = run(RingPair {
        tx: tx.as_ref().map(|v| v as &dyn RingView),
        rx: rx.as_ref().map(|v| v as &dyn RingView),
        arch,
        profile: Profile::default_profile(),
        queue: None,
        start,
    });
    let slot = |d: &Diagnostic| d.place.slot.map(|s| s.to_string()).unwrap_or_default();
    report.items.iter().map(|d| (d.code, slot(d))).collect()
}

fn tx(flags: u32, len: u32) -> Desc {
    Desc { len_ctrl: flags | 0x0100_0000 | len, word1: 0x0108_0003, ptr: 0x1000 }
}

fn rx(flags: u32, len: u32) -> Desc {
    Desc { len_ctrl: flags | 0x0100_0000 | len, word1: 0, ptr: 0x2000 }
}

const FIRST: u32 = 1 << 26;
const LAST: u32 = 1 << 27;
const CONCAT: u32 = 1 << 31;

fn at(code: &'static str, slot: &str) -> (&'static str, String) {
    (code, slot.to_owned())
}

proptest! {
    #[test]
    fn whatever_the_driver_stages_is_clean(len in 1usize..100, n in 0usize..300, seed in any::<u64>()) {
        let sizes = (0..n as u64).map(|i| 1 + seed.wrapping_mul(i + 1) % 65_536);
        let (t, r) = staged(len, sizes);
        prop_assert_eq!(findings(Some(&t), Some(&r)), []);
        let order = Order::infer(&DescView(&t), Dir::Tx, None);
        if n > len {
            prop_assert_eq!(order.start, (n % len) as u64);
        }
        prop_assert_eq!(order.used, n.min(len) as u64);
    }

    #[test]
    fn one_wrong_phase_is_found_where_it_is(n in 10usize..64, slot in 0usize..64, by in 1u32..4) {
        prop_assume!(slot + 1 < n);
        let (mut t, r) = staged(64, (0..n as u64).map(|_| 64));
        let id = (u32::from(t[slot].ring_id()) + by) & 3;
        t[slot].len_ctrl = t[slot].len_ctrl & !0x0300_0000 | id << 24;
        prop_assert_eq!(findings(Some(&t), Some(&r)), [at("D017", &format!("tx[{slot}]"))]);
    }

    #[test]
    fn any_bytes_are_judged_without_end(bytes in prop::collection::vec(any::<u8>(), 0..2048), start in any::<Option<u8>>()) {
        let view = ImageView::new(&bytes);
        let other = ImageView::interleaved(&bytes, true);
        for arch in Generation::ALL {
            run(RingPair {
                tx: Some(&view), rx: Some(&other), arch,
                profile: Profile::default_profile(), queue: None, start: start.map(u64::from),
            });
        }
    }
}

#[test]
fn all_ones_fail_in_either_direction() {
    let ones = vec![Desc { len_ctrl: u32::MAX, word1: u32::MAX, ptr: u64::MAX }; 32];
    for (t, r) in
        [(Some(&ones[..]), None), (None, Some(&ones[..])), (Some(&ones[..]), Some(&ones[..]))]
    {
        let (t, r) = (t.map(DescView), r.map(DescView));
        let report = run(RingPair {
            tx: t.as_ref().map(|v| v as &dyn RingView),
            rx: r.as_ref().map(|v| v as &dyn RingView),
            arch: Generation::V3,
            profile: Profile::default_profile(),
            queue: None,
            start: None,
        });
        assert!(report.has_errors());
    }
}

#[test]
fn a_cut_packet_at_the_oldest_end_is_no_flaw() {
    // Two laps: slots 0 and 1 newest, slot 2 the tail of a chain whose head was overwritten.
    let older = |d: Desc| Desc { len_ctrl: d.len_ctrl & !0x0300_0000, ..d };
    let t =
        [tx(FIRST | LAST, 8), tx(FIRST | LAST, 8), older(tx(LAST, 8)), older(tx(FIRST | LAST, 8))];
    assert_eq!(findings(Some(&t), None), []);
    assert_eq!(Order::infer(&DescView(&t), Dir::Tx, None).start, 2);
}

#[test]
fn the_packet_table() {
    let chain = [tx(FIRST | CONCAT, 4), tx(CONCAT, 4), tx(LAST, 4)];
    assert_eq!(findings(Some(&chain), None), []);
    let cases: [(&[Desc], &[&str]); 6] = [
        (&[tx(LAST, 4)], &["tx[0]"]),
        (&[tx(FIRST, 4)], &["tx[0]"]),
        (&[tx(FIRST | LAST | CONCAT, 4)], &["tx[0]"]),
        (&[tx(FIRST | CONCAT, 4), tx(FIRST | LAST, 4)], &["tx[1]"]),
        (&[tx(FIRST | CONCAT, 4), tx(CONCAT, 4)], &["tx[0]"]),
        (&[Desc::new_meta(0, 0, 0, 0)], &["tx[0]"]),
    ];
    for (ring, slots) in cases {
        let got: Vec<_> =
            findings(Some(ring), None).into_iter().filter(|f| f.0 == "D018").collect();
        assert_eq!(got, slots.iter().map(|s| at("D018", s)).collect::<Vec<_>>(), "{ring:x?}");
    }
}

#[test]
fn packets_have_limits() {
    let chain = |n: usize, len: u32| {
        let mut v = vec![tx(CONCAT, len); n];
        v[0] = tx(FIRST | CONCAT, len);
        v[n - 1] = tx(LAST, len);
        v
    };
    assert_eq!(findings(Some(&chain(65, 4)), None), []);
    assert_eq!(findings(Some(&chain(66, 4)), None), [at("D019", "tx[0]")]);
    assert_eq!(findings(Some(&chain(15, 0)), None), []);
    assert_eq!(findings(Some(&chain(16, 0)), None), [at("D020", "tx[0]")]);
}

#[test]
fn a_chain_fills_whole_rx_descriptors() {
    let t = [tx(FIRST | CONCAT, 4), tx(LAST, 8), tx(FIRST | LAST, 2)];
    assert_eq!(findings(Some(&t), Some(&[rx(0, 12), rx(0, 2)])), []);
    assert_eq!(findings(Some(&t), Some(&[rx(0, 5), rx(0, 7), rx(0, 2)])), []);
    assert_eq!(findings(Some(&t), Some(&[rx(0, 13), rx(0, 2)])), [at("D021", "tx[0]")]);
    assert_eq!(findings(Some(&t), Some(&[rx(0, 12)])), [at("D021", "tx[2]")]);
    assert_eq!(findings(Some(&t), Some(&[rx(0, 12), rx(0, 2), rx(0, 1)])), [at("D021", "rx[2]")]);
    // Flags on Rx, where there are any, follow the packet.
    let flagged = [rx(FIRST | CONCAT, 5), rx(LAST, 7), rx(FIRST | LAST, 2)];
    assert_eq!(findings(Some(&t), Some(&flagged)), []);
    let wrong = [rx(FIRST | CONCAT, 5), rx(CONCAT, 7), rx(0, 2)];
    assert_eq!(findings(Some(&t), Some(&wrong)), [at("D018", "rx[1]")]);
}

#[test]
fn one_short_rx_does_not_shift_the_rest() {
    let t = [tx(FIRST | LAST, 64); 5];
    let mut r = [rx(0, 64); 5];
    r[2] = rx(0, 32);
    assert_eq!(findings(Some(&t), Some(&r)), [at("D021", "tx[2]")]);
    r[2] = rx(0, 128);
    assert_eq!(findings(Some(&t), Some(&r)), [at("D021", "tx[2]")]);
}

#[test]
fn lengths_follow_the_class() {
    let with = |word1, len| Desc { word1, ..tx(FIRST | LAST, len) };
    assert_eq!(findings(Some(&[with(0x00a0_0003, 8)]), Some(&[rx(0, 24)])), []);
    assert_eq!(findings(Some(&[with(0x00a0_0003, 8)]), Some(&[rx(0, 8)])), [at("D021", "tx[0]")]);
    // Two f32 sources added into one destination; META counts the sources.
    let add = 0x020a_a000;
    let cce = [
        Desc::new_meta(0, add, 0, 0),
        Desc::new_meta(1, add, 0, 0),
        Desc { word1: add, ..tx(FIRST | CONCAT, 16) },
        Desc { word1: add, ..tx(LAST, 16) },
    ];
    let errors = |r: &[Desc]| {
        let all = findings(Some(&cce), Some(r));
        all.into_iter().filter(|f| f.0 == "D021").collect::<Vec<_>>()
    };
    assert_eq!(errors(&[rx(0, 16)]), []);
    assert_eq!(errors(&[rx(0, 32)]), [at("D021", "tx[0]")]);
}

#[test]
fn meta_words_of_the_model_say_how_long_the_other_side_is() {
    use crate::udma::payload::{ONE, Payload, Source, SubOp};
    // float8_e4m3fn has no tag in the class word; two sources of unlike size become bfloat16.
    let from = |dtype| Source { dtype, scale: ONE };
    let sum = Payload::Sum { op: SubOp::Add, sources: vec![from(5), from(16)], to: 12 };
    let cast = Payload::Cast { from: 20, to: 5 };
    for (p, lens, good) in [(sum, &[8, 32][..], 16), (cast, &[8], 8)] {
        let mut t = p.metas();
        for (i, len) in lens.iter().enumerate() {
            let first = if i == 0 { FIRST } else { 0 };
            let end = if i + 1 == lens.len() { LAST } else { CONCAT };
            t.push(Desc { word1: p.word(), ..tx(first | end, *len) });
        }
        let errors = |len| {
            let all = findings(Some(&t), Some(&[rx(0, len)]));
            all.into_iter().filter(|f| f.0 == "D021").count()
        };
        assert_eq!((errors(good), errors(good + 4)), (0, 1));
    }
}

#[test]
fn a_given_start_says_where_the_phase_changes() {
    let (t, r) = staged(8, (0..11).map(|_| 4));
    assert_eq!(checked(Some(&t), Some(&r), Generation::V3, Some(3)), []);
    assert!(!checked(Some(&t), Some(&r), Generation::V3, Some(5)).is_empty());
}

#[test]
fn each_check_has_a_name_and_a_sentence() {
    for c in CHECKS {
        assert!(!c.name().is_empty() && c.doc().ends_with('.'), "{}", c.name());
    }
}
