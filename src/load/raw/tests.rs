#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::engine::program::{Fill, HostOp, Program, RegionKind};
use crate::load::LoadOptions;
use crate::load::container;
use proptest::prelude::*;

const HOST: u64 = 1 << 46;
const MARK: u64 = HOST + 0x9000;

fn tx(phase: u32, len: u32, ptr: u64) -> Desc {
    Desc { len_ctrl: 0x0c00_0000 | phase << 24 | (len & 0xffff), word1: 0x0108_0003, ptr }
}

fn rx(phase: u32, len: u32, ptr: u64) -> Desc {
    Desc { len_ctrl: phase << 24 | (len & 0xffff), word1: 0, ptr }
}

fn blob(d: &[Desc]) -> Blob {
    Blob::from_vec(d.iter().flat_map(|d| d.to_bytes()).collect())
}

fn read(d: &[Desc], choice: Option<RingChoice>) -> Result<RawImage, Diagnostic> {
    image(&Source::new("t", blob(d)), choice)
}

/// Slots of a ring of 32 in which `n` slots were written in all, every third a completion
/// pair, as they lie at the end.
fn written(n: u64, size: u64) -> RawImage {
    written_in(n, [size, size])
}

/// The same in rings of two sizes.
fn written_in(n: u64, sizes: [u64; 2]) -> RawImage {
    let [mut t, mut r] = sizes.map(|size| vec![Desc::default(); size as usize]);
    for i in 0..n {
        let [(tx_slot, tx_phase), (rx_slot, rx_phase)] =
            sizes.map(|size| ((i % size) as usize, (1 + i / size) as u32 & 3));
        (t[tx_slot], r[rx_slot]) = if i % 3 == 2 {
            (tx(tx_phase, 4, MARK), rx(rx_phase, 4, MARK + 4))
        } else {
            (tx(tx_phase, 256, HOST + i * 256), rx(rx_phase, 256, 0x10_0000 + i * 256))
        };
    }
    let rings =
        [Some(RingView::whole(Dir::Tx, blob(&t))), Some(RingView::whole(Dir::Rx, blob(&r)))];
    RawImage::new("t", "", rings)
}

fn program(i: &RawImage, opts: &LoadOptions) -> (Program, Vec<&'static str>) {
    let (p, r) = to_program(i, opts);
    let p = p.unwrap_or_else(|| panic!("{r:?}"));
    assert!(container::write(&p).is_ok(), "it can be saved: {:?}", container::write(&p));
    (p, r.items.iter().map(|d| d.code).collect())
}

fn starts(p: &Program) -> Vec<(u32, u32)> {
    let start = |o: &crate::engine::program::ScriptOp| match o.op {
        HostOp::CopyStart { m2s, s2m, .. } => Some((m2s, s2m)),
        _ => None,
    };
    p.script.iter().filter_map(start).collect()
}

#[test]
fn load_raw_direction_is_told_from_word_one() {
    let (t, r, z) = (tx(1, 4, 8), rx(1, 4, 8), Desc::default());
    let dirs = |d: &[Desc]| read(d, None).map(|i| i.dirs().collect::<Vec<_>>()).map_err(|d| d.code);
    assert_eq!(dirs(&[t, t, z, z]), Ok(vec![Dir::Tx]));
    assert_eq!(dirs(&[r, r, z]), Ok(vec![Dir::Rx]));
    assert_eq!(dirs(&[t, r, t, r, z, z]), Ok(vec![Dir::Tx, Dir::Rx]));
    assert_eq!(dirs(&[t, r, r, t]), Err("D006"));
    assert_eq!(dirs(&[r, t]), Err("D006"));
    assert_eq!(dirs(&[z, z]), Ok(vec![Dir::Tx]));
    let forced = read(&[r, t], Some(RingChoice::Rx)).unwrap();
    assert_eq!(forced.rx.unwrap().slots(), 2);
}

#[test]
fn load_raw_a_used_slot_far_in_is_found() {
    let mut d = vec![Desc::default(); 300_000];
    d[123_457] = rx(1, 4, 8);
    assert!(read(&d, None).unwrap().rx.is_some());
    d[123_459] = tx(1, 4, 8);
    assert_eq!(read(&d, None).unwrap_err().code, "D006");
}

#[test]
fn load_raw_pairs_are_seen_as_two_rings() {
    let d: Vec<Desc> =
        (0..40).flat_map(|i| [tx(1, 64, HOST + i * 64), rx(1, 64, i * 64)]).collect();
    let i = read(&d, None).unwrap();
    assert_eq!((i.slots(), i.get(Dir::Rx, 3)), (40, Some(d[7])));
    assert_eq!(i.get(Dir::Tx, 40), None);
    let r = i.rx.as_ref().unwrap();
    assert_eq!(r.offset(3), 7 * 16);
    assert_eq!(r.window(3, 5).get(0), Some(d[7]));
    assert_eq!(r.window(3, 5).bytes(9).bytes(), blob(&[d[7], d[9]]).bytes());
    assert_eq!(r.window(50, 60).slots(), 0);
}

#[test]
fn load_raw_batches_end_at_completion_pairs() {
    let i = written(8, 32);
    let (p, codes) = program(&i, &LoadOptions::default());
    assert_eq!(starts(&p), [(3, 3), (3, 3)]);
    assert_eq!(codes, ["D028", "R021", "R012"]);
    assert_eq!(p.arch, Generation::V3);
    assert_eq!(p.queues[0].id, QueueId { engine: 128, queue: 0 });
    assert_eq!((p.queues[0].marker_area, p.queues[0].first[0].ring_id), (MARK, 1));
    let verbs: Vec<_> = p.script.iter().map(|o| o.op.verb()).collect();
    assert_eq!(
        verbs,
        ["init", "copy_in", "copy_in", "store", "start", "wait", "store", "start", "wait"]
    );
    let HostOp::Store { addr, bytes } = &p.script[3].op else { panic!() };
    assert_eq!((*addr, bytes.bytes()), (MARK, &[0x01, 0xef, 0xcd, 0xab, 0, 0, 0, 0][..]));
    for (n, want) in [(Batching::All, vec![(8, 8)]), (Batching::Every(5), vec![(5, 5), (3, 3)])] {
        let (p, _) = program(&i, &LoadOptions { batch: Some(n), ..LoadOptions::default() });
        assert_eq!(starts(&p), want);
        assert_eq!(p.script.last().unwrap().op.verb(), "wait_idle");
    }
}

#[test]
fn load_raw_without_a_completion_pair_is_one_batch() {
    let i = written(2, 32);
    let (p, codes) = program(&i, &LoadOptions::default());
    assert_eq!((starts(&p), codes), (vec![(2, 2)], vec!["D028", "R023", "R012"]));
    assert!(p.region_at(p.queues[0].marker_area).is_some());
}

/// Where a lap ends right in front of a completion pair, that pair is a batch of its own: waiting
/// for it takes no longer than for others.
#[test]
fn load_raw_a_completion_pair_alone_is_waited_for_in_no_time() {
    for n in 33..99u64 {
        let (p, _) = program(&written(n, 32), &LoadOptions::default());
        let done = crate::engine::ring::machine::run(&p, |_, _| true);
        assert!(done.machine.now_ns < 1_000_000, "{n} written: {} ns", done.machine.now_ns);
        assert_eq!(done.machine.timeouts(), 0, "{n} written");
    }
}

#[test]
fn load_raw_two_laps_begin_where_the_older_one_lies() {
    for n in 33..64 {
        let i = written(n, 32);
        let (p, codes) = program(&i, &LoadOptions::default());
        let first = p.queues[0].first[0];
        assert_eq!((first.slot, first.ring_id), (n % 32, 1), "{n}");
        assert!(codes.contains(&"R020") && codes.contains(&"R022"), "{codes:?}");
        let rung: u32 = starts(&p).iter().map(|s| s.0).sum();
        assert_eq!(u64::from(rung), 32 - n % 3, "the tail after the last marker is not rung");
    }
    // Exactly one lap: no boundary, and no wrap is assumed.
    assert_eq!(program(&written(32, 32), &LoadOptions::default()).0.queues[0].first[0].slot, 0);
    // A start that is said goes around the end.
    let (p, _) =
        program(&written(40, 32), &LoadOptions { start: Some(20), ..LoadOptions::default() });
    assert_eq!(p.queues[0].first[1].slot, 20);
    assert!(starts(&p).iter().map(|s| s.0).sum::<u32>() > 12);
}

/// Rings of two sizes go around at different times; whatever is still in both of them meets its
/// own other side.
#[test]
fn load_raw_rings_of_two_sizes_are_lined_up_where_they_end() {
    use crate::engine::ring::EventKind;
    for sizes in [[64, 32], [32, 64], [32, 48], [128, 32], [48, 128]] {
        for n in [20, 32, 33, 47, 50, 64, 65, 90, 100, 129, 200, 331] {
            let (p, codes) = program(&written_in(n, sizes), &LoadOptions::default());
            let (mut from, mut moved) = (0, 0);
            let done = crate::engine::ring::machine::run(&p, |_, e| {
                match e.kind {
                    EventKind::Read { addr, .. } => from = addr,
                    EventKind::Visible { addr, len: 256, .. } => {
                        assert_eq!(addr - 0x10_0000, from - HOST, "{sizes:?}, {n} written");
                        moved += 1;
                    }
                    _ => {}
                }
                true
            });
            assert_eq!((done.machine.faults(), done.machine.timeouts()), (0, 0), "{sizes:?} {n}");
            let both = n.min(sizes[0]).min(sizes[1]);
            assert!(moved + 2 >= both * 2 / 3, "{sizes:?}, {n} written: {moved} moved");
            let cut = n > sizes[0].min(sizes[1]);
            assert_eq!(codes.contains(&"R020"), cut, "{sizes:?}, {n} written");
        }
    }
}

/// Rings of which none is full have lost nothing, whatever their phases say.
#[test]
fn load_raw_rings_that_are_not_full_are_not_lined_up() {
    for (sent, taken) in [(4, 6), (6, 4)] {
        let mut d = [[Desc::default(); 32]; 2];
        (0..sent).for_each(|i| d[0][i] = tx(1, 256, HOST + i as u64 * 256));
        (0..taken).for_each(|i| d[1][i] = rx(2, 256, 0x10_0000 + i as u64 * 256));
        let [t, r] = d.map(|d| blob(&d));
        let rings = [Some(RingView::whole(Dir::Tx, t)), Some(RingView::whole(Dir::Rx, r))];
        let (p, codes) = program(&RawImage::new("t", "", rings), &LoadOptions::default());
        assert_eq!(starts(&p), [(sent as u32, taken as u32)]);
        assert!(!codes.contains(&"R020"), "{codes:?}");
    }
}

/// A pair that the driver refused took a slot of each ring and left in it what the lap before put
/// there; wherever that is, the older lap begins where it begins.
#[test]
fn load_raw_a_slot_that_was_passed_over_is_no_older_lap() {
    for n in 36..60u64 {
        let end = n - 32;
        for odd in 1..end - 2 {
            let i = written(n, 32);
            let stale = |r: &Option<RingView>| {
                let view = r.as_ref().unwrap();
                let mut d: Vec<Desc> = (0..32).map(|s| view.get(s).unwrap()).collect();
                let phase = &mut d[odd as usize].len_ctrl;
                *phase = *phase & !(3 << 24) | 1 << 24;
                order(&RingView::whole(view.dir(), blob(&d)), None)
            };
            for ring in [&i.tx, &i.rx] {
                let o = stale(ring);
                assert_eq!((o.start, o.count, o.wrapped), (end, 32, true), "{n}: {odd}");
            }
        }
    }
}

#[test]
fn load_raw_memory_map_holds_what_the_descriptors_touch() {
    let (p, _) = program(&written(6, 32), &LoadOptions::default());
    let at = |a| p.region_at(a).map(|r| (r.name.as_str(), r.kind, r.fill));
    assert_eq!(at(HOST), Some(("host0", RegionKind::Host, Fill::Unknown)));
    assert_eq!(at(MARK + 7).unwrap().2, Fill::Never);
    assert_eq!(at(0x10_0000 + 4 * 256 + 255), Some(("hbm0", RegionKind::Device, Fill::Never)));
    assert_eq!(at(0x10_0000 + 5 * 256), None);
    for d in Dir::BOTH {
        let ring = p.queues[0].ring(d).unwrap();
        assert!(at(ring.base).is_none() && p.arch.is_host(ring.base));
    }
}

#[test]
fn load_raw_a_window_is_a_ring_of_its_own() {
    let i = written(24, 48);
    let opts = LoadOptions { slots: Some((3, 9)), ..LoadOptions::default() };
    let (p, codes) = program(&i, &opts);
    assert_eq!(starts(&p), [(3, 3), (3, 3)]);
    assert_eq!(p.queues[0].tx.unwrap().size, 32);
    assert!(codes.contains(&"D029"));
    let opts = LoadOptions { slots: Some((90, 99)), ..LoadOptions::default() };
    assert!(to_program(&i, &opts).0.is_none());
}

#[test]
fn load_raw_one_direction_or_too_many_slots_give_no_program() {
    let i = read(&[tx(1, 4, 8)], None).unwrap();
    let (p, r) = to_program(&i, &LoadOptions::default());
    assert!(p.is_none() && !r.has_errors());
    assert!(r.items.iter().any(|d| d.code == "D022"));
    let large = vec![0u8; (crate::limits::MAX_RING_DESCS as usize + 16) * 16];
    let b = Blob::from_vec(large);
    let rings = Dir::BOTH.map(|d| Some(RingView::whole(d, b.clone())));
    let i = RawImage::new("big", "", rings);
    let (p, r) = to_program(&i, &LoadOptions::default());
    assert!(p.is_none() && r.items.iter().any(|d| d.code == "D009"));
}

#[test]
fn load_raw_of_more_slots_than_are_run_unasked_gives_no_program_but_a_window_does() {
    let i = written(24, 48);
    let of = |run_slots, slots| LoadOptions { run_slots, slots, ..LoadOptions::default() };
    let (p, r) = to_program(&i, &of(Some(47), None));
    assert!(p.is_none() && r.items.iter().any(|d| d.code == "D009"));
    let whole = to_program(&i, &of(None, None)).0.unwrap();
    assert_eq!(to_program(&i, &of(Some(48), None)).0.unwrap(), whole);
    let asked = to_program(&i, &of(Some(47), Some((0, u64::MAX)))).0.unwrap();
    assert_eq!(asked.script.len(), whole.script.len());
}

#[test]
fn load_raw_chains_pair_by_their_bytes() {
    // A chain of three Tx into one Rx, then a completion pair.
    let chain = |flags: u32, len| Desc { len_ctrl: flags | 1 << 24 | len, ..tx(1, 0, HOST) };
    let t =
        [chain(0x8400_0000, 16), chain(0x8000_0000, 16), chain(0x0800_0000, 32), tx(1, 4, MARK)];
    let r = [rx(1, 64, 0x1000), rx(1, 4, MARK + 4)];
    let rings =
        [Some(RingView::whole(Dir::Tx, blob(&t))), Some(RingView::whole(Dir::Rx, blob(&r)))];
    let (p, _) = program(&RawImage::new("c", "", rings), &LoadOptions::default());
    assert_eq!(starts(&p), [(4, 2)]);
    assert_eq!(p.script.last().unwrap().op.verb(), "wait");
}

proptest! {
    #[test]
    fn load_raw_any_bytes_make_a_program_that_can_be_saved(
        slots in proptest::collection::vec(any::<[[u8; 16]; 2]>(), 1..80),
        start in proptest::option::of(0..80u64),
        every in proptest::option::of(1..9u64),
    ) {
        let d: Vec<Desc> = slots.iter().flatten().map(Desc::from_bytes).collect();
        let i = read(&d, Some(RingChoice::Pairs)).unwrap();
        let start = start.filter(|s| *s < i.slots());
        let opts = LoadOptions { start, batch: every.map(Batching::Every), ..LoadOptions::default() };
        let (p, r) = to_program(&i, &opts);
        let p = p.unwrap_or_else(|| panic!("{r:?}"));
        prop_assert!(container::write(&p).is_ok(), "{:?}", container::write(&p));
    }

    /// A slot that the driver took for a pair which it then refused stays empty in the middle of
    /// a ring (`docs/driver.md`, "Building a pair"): whatever lies around it is copied in whole.
    #[test]
    fn load_raw_a_ring_with_holes_is_copied_in_whole(
        n in 1..64u64,
        holes in proptest::collection::vec((0..32usize, any::<bool>(), any::<bool>()), 0..6),
    ) {
        let mut i = written(n, 32);
        for (dir, ring) in Dir::BOTH.into_iter().zip([&mut i.tx, &mut i.rx]) {
            let view = ring.as_mut().unwrap();
            let mut d: Vec<Desc> = (0..32).map(|s| view.get(s).unwrap()).collect();
            for (at, tx, rx) in &holes {
                if if dir == Dir::Tx { *tx } else { *rx } {
                    d[*at] = Desc::default();
                }
            }
            *view = RingView::whole(dir, blob(&d));
        }
        let (p, _) = program(&i, &LoadOptions::default());
        let copy_in = |o: &u32| matches!(p.script[*o as usize].op, HostOp::CopyIn { .. });
        let done = crate::engine::ring::machine::run(&p, |_, _| true);
        let rets: Vec<_> = done.rets.iter().filter(|r| copy_in(&r.0)).map(|r| r.1).collect();
        prop_assert_eq!(rets, [crate::engine::ring::Ret::OK; 2]);
    }

    #[test]
    fn load_raw_any_pair_lies_inside_a_region(n in 1..64u64) {
        let i = written(n, 32);
        let (p, _) = program(&i, &LoadOptions::default());
        for dir in Dir::BOTH {
            for slot in 0..32 {
                let d = i.get(dir, slot).unwrap();
                if !d.is_zero() {
                    prop_assert!(p.region_at(d.ptr).is_some() && p.region_at(d.ptr + d.length() - 1).is_some());
                }
            }
        }
    }
}

#[test]
fn load_raw_more_batches_than_a_script_holds_are_left_out_and_said() {
    let n = 1_200_000u64;
    let t: Vec<Desc> = (0..n).map(|_| tx(1, 4, MARK)).collect();
    let r: Vec<Desc> = (0..n).map(|_| rx(1, 4, MARK + 4)).collect();
    let rings =
        [Some(RingView::whole(Dir::Tx, blob(&t))), Some(RingView::whole(Dir::Rx, blob(&r)))];
    let (p, rep) = to_program(&RawImage::new("many", "", rings), &LoadOptions::default());
    let p = p.unwrap();
    assert!(p.script.len() <= crate::limits::MAX_HOST_OPS);
    assert!(rep.items.iter().any(|d| d.code == "D029"));
    assert!(crate::load::validate::check(&p).is_empty());
}
