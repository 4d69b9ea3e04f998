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
        cursors: [None; 2],
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

    /// Rings of two sizes go around at different times: what the smaller one lost is no fault.
    #[test]
    fn whatever_is_staged_in_rings_of_two_sizes_is_clean(
        len in prop::sample::subsequence(vec![32usize, 48, 64, 128], 2),
        turned in any::<bool>(),
        n in prop_oneof![0usize..200, (1usize..6).prop_map(|k| 32 * k)],
        seed in any::<u64>(),
    ) {
        let [a, b] = if turned { [len[1], len[0]] } else { [len[0], len[1]] };
        let sizes = |i| 1 + seed.wrapping_mul(i + 1) % 65_536;
        let (t, _) = staged(a, (0..n as u64).map(sizes));
        let (_, r) = staged(b, (0..n as u64).map(sizes));
        prop_assert_eq!(findings(Some(&t), Some(&r)), [], "{} and {}, {} staged", a, b, n);
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
                profile: Profile::default_profile(), queue: None, start: start.map(u64::from), cursors: [None; 2],
            });
        }
    }
}

proptest! {
    /// Whoever keeps a ring's cursors knows its order, whatever lies in the slots.
    #[test]
    fn cursors_say_the_order_that_staging_took(len in 2usize..80, n in 1usize..300, bad in 0usize..80) {
        let (mut t, r) = staged(len, (0..n as u64).map(|_| 64));
        let by = Cursors { first: 0, ring_id: 1, written: n as u64 };
        let known = |t: &[Desc]| Order::infer(&DescView(t), Dir::Tx, None).known(by);
        prop_assert_eq!(known(&t), Order::infer(&DescView(&t), Dir::Tx, None));
        // A changed phase changes nothing of it.
        let (used, bad) = (n.min(len), bad % len);
        prop_assume!(bad < used);
        let before = known(&t);
        t[bad].len_ctrl ^= 0x0300_0000;
        prop_assert_eq!((0..used as u64).map(|i| known(&t).expected(i)).collect::<Vec<_>>(),
            (0..used as u64).map(|i| before.expected(i)).collect::<Vec<_>>());
        let (t, r) = (DescView(&t), DescView(&r));
        let report = run(RingPair {
            tx: Some(&t), rx: Some(&r), arch: Generation::V3,
            profile: Profile::default_profile(), queue: None, start: None, cursors: [Some(by); 2],
        });
        let wrong: Vec<_> = report.items.iter().filter(|d| d.code == "D017").collect();
        prop_assert_eq!(wrong.len(), 1);
        prop_assert_eq!(wrong[0].place.slot.map(|s| s.index), Some(bad as u64));
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
            cursors: [None; 2],
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

fn codes_of(tx: Option<&[Desc]>, rx: Option<&[Desc]>) -> Vec<&'static str> {
    findings(tx, rx).into_iter().map(|f| f.0).collect()
}

/// Slots of one ring that `n` descriptors went through, each with a cursor of its own.
fn laps(len: u64, n: u64, make: impl Fn(u64) -> Desc) -> Vec<Desc> {
    let mut ring = vec![Desc::default(); len as usize];
    for k in 0..n {
        let id = (u32::from(INITIAL_RING_ID) + (k / len) as u32) & 3;
        let d = make(k);
        ring[(k % len) as usize] = Desc { len_ctrl: d.len_ctrl & !0x0300_0000 | id << 24, ..d };
    }
    ring
}

proptest! {
    #[test]
    fn rings_of_two_sizes_are_clean_with_their_own_cursors(a in 8u64..80, b in 8u64..80, n in 1u64..200) {
        let t = laps(a, n, |k| Desc { ptr: 0x1000 + k * 64, ..tx(FIRST | LAST, 64) });
        let r = laps(b, n, |k| Desc { ptr: 0x10_0000 + k * 64, ..rx(0, 64) });
        let ours = ["D070", "D071", "D072", "D073", "D074", "D027"];
        let found = codes_of(Some(&t), Some(&r));
        prop_assert!(!found.iter().any(|c| ours.contains(c)), "{found:?}");
    }

    #[test]
    fn a_cursor_with_the_other_mask_is_told(small in 8u64..40, more in 4u64..40, lap in 1u64..40) {
        prop_assume!(lap < small);
        let large = small + more;
        let n = small + lap;
        let mut t = laps(small, n, |k| Desc { ptr: 0x1000 + k * 64, ..tx(FIRST | LAST, 64) });
        t.resize(large as usize, Desc::default());
        let r = laps(small, n, |k| Desc { ptr: 0x10_0000 + k * 64, ..rx(0, 64) });
        let found = findings(Some(&t), Some(&r));
        prop_assert!(found.contains(&at("D072", &format!("tx[{lap}]"))), "{found:?}");
    }

    #[test]
    fn another_stride_is_told_whatever_lies_between(step in 2usize..5, n in 4usize..20) {
        let mut t = vec![Desc::default(); step * n];
        for i in 0..n {
            t[i * step] = Desc { ptr: 0x1000 + i as u64 * 64, ..tx(FIRST | LAST, 64) };
        }
        prop_assert!(codes_of(Some(&t), None).contains(&"D070"));
        let r: Vec<Desc> = t.iter().map(|d| Desc { word1: 0, ..*d }).collect();
        prop_assert!(codes_of(None, Some(&r)).contains(&"D070"));
    }
}

#[test]
fn three_entries_or_uneven_gaps_are_no_stride() {
    let used = Desc { ptr: 0x1000, ..tx(FIRST | LAST, 64) };
    for places in [&[0, 2, 4][..], &[0, 2, 4, 7, 9], &[0, 1, 2, 3, 8]] {
        let mut t = vec![Desc::default(); 16];
        places.iter().for_each(|i| t[*i] = used);
        assert!(!codes_of(Some(&t), None).contains(&"D070"), "{places:?}");
    }
    // META before each copy: copies lie 32 bytes apart, and that is how it is meant.
    let meta = Desc::new_meta(0, 0x0108_0003, 1, 2);
    let t: Vec<Desc> = (0..12).map(|i| if i % 2 == 0 { meta } else { used }).collect();
    assert!(!codes_of(Some(&t), None).contains(&"D070"));
}

#[test]
fn sentinels_are_those_of_the_table_with_and_without_the_host_window() {
    use sentinels::{SENTINELS, address, length};
    let v3 = Generation::V3;
    for (value, _) in SENTINELS {
        let v = u64::from(*value);
        for ptr in [v, v | v << 32, v | v3.host_base()] {
            assert!(address(ptr, v3).is_some(), "{ptr:#x}");
        }
        assert!(address(v + (1 << 33), v3).is_none());
    }
    assert!(address(v3.host_base(), v3).is_some());
    assert!(address(0x1000_0000, v3).is_none() && address(0, v3).is_none());
    assert!(length(0xffff).is_some() && length(0xfffe).is_none());
}

#[test]
fn a_range_may_end_where_a_boundary_is() {
    let edge = Generation::V3.host_base();
    let with = |ptr, len| [Desc { ptr, ..rx(0, len) }];
    assert_eq!(codes_of(None, Some(&with(edge - 64, 64))), [""; 0]);
    assert_eq!(codes_of(None, Some(&with(edge - 63, 64))), ["D073"]);
    let symbol = |offset: u64| 1 << 61 | 7 << 36 | offset;
    assert_eq!(codes_of(None, Some(&with(symbol((1 << 36) - 64), 64))), ["D015"]);
    assert_eq!(codes_of(None, Some(&with(symbol((1 << 36) - 63), 64))), ["D015", "D073"]);
}

#[test]
fn words_and_whole_buffers_may_be_written_again() {
    let to = |ptr, len| Desc { ptr, ..rx(0, len) };
    assert_eq!(codes_of(None, Some(&[to(0x1000, 64), to(0x1000, 64)])), [""; 0]);
    assert_eq!(codes_of(None, Some(&[to(0x1000, 4), to(0x1002, 4)])), [""; 0]);
    assert_eq!(codes_of(None, Some(&[to(0x1000, 64), to(0x1020, 64)])), ["D027"]);
    assert_eq!(codes_of(None, Some(&[to(0x1000, 0), to(0x1020, 64)])), ["D074"]);
    assert_eq!(codes_of(None, Some(&[to(0x1000, 0), to(0x1_1000, 0)])), [""; 0]);
}

#[test]
fn operations_have_limits_by_generation() {
    use crate::udma::payload::{ONE, Payload, Source, SubOp};
    let word = |word1| [Desc { word1, ..tx(FIRST | LAST, 64) }];
    let on = |arch, d: &[Desc]| -> Vec<_> {
        checked(Some(d), None, arch, None).into_iter().map(|f| f.0).collect()
    };
    assert_eq!(on(Generation::V3, &word(0x00a0_0002)), [""; 0]);
    assert_eq!(on(Generation::V2, &word(0x00a0_0002)), ["D075"]);
    assert_eq!(on(Generation::V2, &word(0x00a0_0001)), [""; 0]);
    assert_eq!(on(Generation::V3, &word(0x00a0_0000)), ["D075"]);
    assert_eq!(on(Generation::V3, &word(0x0090_0008)), [""; 0]);
    assert_eq!(on(Generation::V3, &word(0x0090_0009)), ["D075"]);
    assert_eq!(on(Generation::V3, &word(0x0108_4003)), ["D077"]);
    assert_eq!(on(Generation::V3, &word(0x00a1_0002)), ["D077"]);
    let s = Source { dtype: 16, scale: ONE };
    let sum = Payload::Sum { op: SubOp::Add, sources: vec![s, s], to: 16 };
    for (elements, arch, code) in [
        (1024, Generation::V2, false),
        (1025, Generation::V2, true),
        (2048, Generation::V3, false),
        (2049, Generation::V3, true),
    ] {
        let mut t = sum.metas();
        t.push(Desc { word1: sum.word(), ..tx(FIRST | CONCAT, elements * 4) });
        t.push(Desc { word1: sum.word(), ..tx(LAST, elements * 4) });
        assert_eq!(on(arch, &t).contains(&"D075"), code, "{elements} on {arch}");
    }
}
