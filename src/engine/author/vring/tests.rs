#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::udma::profile::MAX_PACKET_BYTES;
use crate::udma::template::Template;
use crate::udma::{Generation, Profile};
use proptest::prelude::*;

fn target(arch: Generation, profile: &str) -> Target {
    Target::new(arch, Profile::find(profile).unwrap())
}

fn nrt(arch: Generation) -> Target {
    target(arch, "nrt-2.31")
}

fn flags(d: Desc) -> (bool, bool, bool) {
    (d.first(), d.concat(), d.last())
}

const ALONE: (bool, bool, bool) = (true, false, true);

#[test]
fn a_copy_is_cut_at_65536_and_only_its_last_chunk_has_the_barrier() {
    for (t, tx, meta, rx) in [
        (nrt(Generation::V2), 1u32 << 30, 0u32, 0u32),
        (nrt(Generation::V3), 0, 0, 1 << 29),
        (nrt(Generation::V4), 0, 0, 1 << 29),
        (target(Generation::V3, "dkms-2.26"), 0, 1 << 26, 0),
        (target(Generation::V2, "dkms-2.24"), 0, 1 << 26, 0),
    ] {
        let mut v = Vring::new();
        assert_eq!(v.append_copy(0x1000, 0x9000_0000, 65_536 * 2 + 5, &t), Ok(3));
        for i in 0..3 {
            let a = v.half(Dir::Tx).get(i).unwrap();
            let b = v.half(Dir::Rx).get(i).unwrap();
            let on = |bits: u32| if i == 2 { bits } else { 0 };
            assert_eq!(flags(a), ALONE);
            assert_eq!((a.length(), b.length()), if i == 2 { (5, 5) } else { (65_536, 65_536) });
            assert_eq!((a.ptr, b.ptr), (0x1000 + i * 65_536, 0x9000_0000 + i * 65_536));
            assert_eq!(a.len_ctrl & 1 << 30, on(tx));
            assert_eq!(a.word1 & 1 << 26, on(meta));
            assert_eq!(b.len_ctrl & 1 << 29, on(rx));
        }
        assert_eq!(v.half(Dir::Tx).bytes(), 65_536 * 2 + 5);
        assert_eq!(v.append_copy(0, 0, 0, &t), Err(VringError::Empty));
    }
}

#[test]
fn an_index_is_page_and_slot() {
    let t = nrt(Generation::V3);
    let mut v = Vring::new();
    for i in 0..PAGE_SLOTS + 3 {
        v.append_event(i, 0x100, &t).unwrap();
    }
    let tx = v.half(Dir::Tx);
    assert_eq!((tx.pages(), tx.len(), tx.bytes()), (2, PAGE_SLOTS + 3, 4 * (PAGE_SLOTS + 3)));
    assert_eq!(tx.get(1 << 16 | 2).map(|d| d.ptr), Some(PAGE_SLOTS + 2));
    assert_eq!(tx.get(1 << 16 | 3), None);
    assert_eq!(tx.get(0xffff).map(|d| d.ptr), Some(0xffff));
    assert!(tx.iter().map(|d| d.ptr).eq(0..PAGE_SLOTS + 3));
}

#[test]
fn a_half_takes_16_777_200_and_not_one_more() {
    let t = nrt(Generation::V3);
    for dir in Dir::BOTH {
        let mut v = Vring::new();
        // As if so many were there already.
        v.halves[ix(dir)].len = 16_777_200 - 2;
        let before = v.clone();
        let full = |more| VringError::Full { have: 16_777_198, more };
        assert_eq!(v.append_copy(0, 0, 65_536 * 2 + 1, &t), Err(full(3)));
        assert_eq!(v, before, "nothing is appended");
        assert!(v.append_copy(0, 0, u64::MAX, &t).is_err());
        assert_eq!(v.append_copy(0, 0, 65_536 * 2, &t), Ok(2));
        assert!(v.append_event(0, 0, &t).is_err());
        assert_eq!(v.half(dir).len(), 16_777_200);
    }
}

#[test]
fn a_set_has_sixteen_rings_and_a_copy_shares_nothing() {
    let mut set = VringSet::new();
    for n in 0..16 {
        assert_eq!(set.add(Vring::new()), Ok(n));
    }
    assert_eq!(set.add(Vring::new()), Err(VringError::Set));
    let copy = set.clone();
    set.ring_mut(3).unwrap().append_copy(0, 0, 4, &nrt(Generation::V4)).unwrap();
    assert_eq!(copy.rings()[3], Vring::new());
    assert_eq!(set.rings()[3].half(Dir::Rx).len(), 1);
    assert!(set.ring_mut(16).is_none());
}

#[test]
fn packing_joins_the_chunks_of_a_copy_up_to_the_byte_cap() {
    let t = nrt(Generation::V3);
    let mut v = Vring::new();
    v.append_copy(0, 1 << 40, 65_536 * 40, &t).unwrap();
    let rx = v.half(Dir::Rx).clone();
    // Fifteen full chunks are the most below the cap.
    assert_eq!(v.pack(0..40, &t), Ok(-37));
    assert_eq!((v.packets(), v.half(Dir::Rx)), (3, &rx));
    let tx: Vec<_> = v.half(Dir::Tx).iter().map(flags).collect();
    for (i, f) in tx.iter().enumerate() {
        let (n, end) = (i % 15, i == 39 || i % 15 == 14);
        assert_eq!(*f, (n == 0, !end, end), "{i}");
    }
    assert_eq!(v.pack(0..40, &t), Ok(0), "again it is the same");
    assert_eq!(v.pack(0..7, &t), Err(VringError::Window { from: 0, to: 7 }));
    assert_eq!(v.pack(15..40, &t), Ok(0));
    assert_eq!(v.pack(0..41, &t), Err(VringError::Window { from: 0, to: 41 }));
}

#[test]
fn packing_keeps_the_descriptors_per_packet_of_both_sides() {
    for (arch, most) in [(Generation::V2, 128), (Generation::V3, 60), (Generation::V4, 60)] {
        let t = nrt(arch);
        let mut v = Vring::new();
        for i in 0..most + 1 {
            v.append_event(i * 4, 1 << 40, &t).unwrap();
        }
        assert_eq!(v.pack(0..most, &t), Ok(1 - most as i64));
        assert_eq!(v.packets(), 2);
        assert_eq!(v.pack(0..most + 1, &t), Ok(0));
        assert_eq!(v.packets(), 2);
    }
}

#[test]
fn a_packet_ends_with_a_barrier_and_before_it_would_read_its_own_writes() {
    let t = nrt(Generation::V2);
    let mut v = Vring::new();
    v.append_copy(0, 0x1_0000_0000, 65_536 * 2, &t).unwrap();
    v.append_event(0x1_0000_0004, 0x2_0000_0000, &t).unwrap();
    v.append_event(0x2_0000_0000, 0x3_0000_0000, &t).unwrap();
    v.append_event(0x40, 0x4_0000_0000, &t).unwrap();
    assert_eq!(v.pack(0..5, &t), Ok(-2));
    let first: Vec<bool> = v.half(Dir::Tx).iter().map(Desc::first).collect();
    assert_eq!(first, [true, false, true, true, false]);
    v.barrier_last_packet(&t).unwrap();
    let dmb: Vec<bool> = v.half(Dir::Tx).iter().map(|d| d.len_ctrl >> 30 & 1 == 1).collect();
    assert_eq!(dmb, [false, true, false, true, false]);
}

#[test]
fn the_last_packets_barrier_is_only_put_where_sow_is_not_supported() {
    let mut v = Vring::new();
    assert_eq!(v.barrier_last_packet(&nrt(Generation::V2)), Err(VringError::NoPacket));
    v.append_event(0, 4, &nrt(Generation::V3)).unwrap();
    let before = v.clone();
    v.barrier_last_packet(&nrt(Generation::V3)).unwrap();
    assert_eq!(v, before);
    v.barrier_last_packet(&target(Generation::V3, "dkms-2.24")).unwrap();
    assert_ne!(v, before);
}

#[test]
fn a_semaphore_goes_into_the_last_rx() {
    let mut v = Vring::new();
    assert_eq!(v.embed_semaphore(8), Err(VringError::NoPacket));
    v.append_copy(0, 0, 70_000, &nrt(Generation::V3)).unwrap();
    v.embed_semaphore(0x1_2345_6780).unwrap();
    let words: Vec<u32> = v.half(Dir::Rx).iter().map(|d| d.word1).collect();
    assert_eq!(words, [0, 0x2345_6780]);
}

#[test]
fn rewriting_moves_tx_addresses_and_both_ends_of_the_range_belong_to_it() {
    let t = nrt(Generation::V3);
    let mut v = Vring::new();
    for at in [0xfff, 0x1000, 0x1800, 0x2000, 0x2001] {
        v.append_event(at, 0x1800, &t).unwrap();
    }
    v.append_event(Template { var: 0, offset: 0x1800 }.to_ptr(), 0x1800, &t).unwrap();
    assert_eq!(v.rewrite(0x1000, 0x1000, 0x8000), 3);
    let at: Vec<u64> = v.half(Dir::Tx).iter().map(|d| d.ptr).collect();
    assert_eq!(at[..5], [0xfff, 0x8000, 0x8800, 0x9000, 0x2001]);
    assert!(v.half(Dir::Rx).iter().all(|d| d.ptr == 0x1800));
    assert_eq!(v.rewrite(0x8000, 0, 0), 1);
}

#[test]
fn templates_resolve_all_or_none() {
    let t = nrt(Generation::V3);
    let at = |var, offset| Template { var, offset }.to_ptr();
    let mut v = Vring::new();
    v.append_event(at(3, 0x10), at(4, 0), &t).unwrap();
    let before = v.clone();
    assert_eq!(v.resolve(|n| (n == 3).then_some(0x1000)), Err(VringError::Variable(4)));
    assert_eq!(v, before);
    assert_eq!(v.resolve(|n| Some(u64::from(n) << 12)), Ok(2));
    assert_eq!(v.half(Dir::Tx).get(0).map(|d| d.ptr), Some(0x3010));
    assert_eq!(v.half(Dir::Rx).get(0).map(|d| d.ptr), Some(0x4000));
}

#[test]
fn a_dump_is_padded_before_its_completion_pair() {
    let t = nrt(Generation::V3);
    let mut v = Vring::new();
    v.append_copy(0x100, 0x200, 65_536 * 2, &t).unwrap();
    const MARKER: u64 = 0x4000_0000_1000;
    let too_small = VringError::Padding { count: 3, padded_size: 2 };
    assert_eq!(v.dump(Dir::Tx, 2, MARKER, &t), Err(too_small));
    assert!(too_small.to_string().contains('3') && too_small.to_string().contains('2'));
    assert!(v.dump(Dir::Tx, 16_777_201, MARKER, &t).is_err());
    assert_eq!(v.dump(Dir::Tx, 3, MARKER, &t).unwrap().len(), 3);
    let (tx, rx) = (v.dump(Dir::Tx, 6, MARKER, &t), v.dump(Dir::Rx, 6, MARKER, &t));
    let (tx, rx) = (tx.unwrap(), rx.unwrap());
    let at = |list: &[Desc]| list.iter().map(|d| d.ptr).collect::<Vec<_>>();
    assert_eq!(at(&tx), [0x100, 0x10100, MARKER, MARKER, MARKER, MARKER]);
    assert_eq!(at(&rx), [0x200, 0x10200, MARKER, MARKER, MARKER, MARKER + 4]);
    assert!(tx[2..].iter().all(|d| d.length() == 4 && flags(*d) == ALONE));
    let phases: Vec<u8> = phased(&tx, Dir::Tx, 8, 5, 3).map(Desc::ring_id).collect();
    assert_eq!(phases, [3, 3, 3, 0, 0, 0]);
}

proptest! {
    /// Whatever is packed in whatever windows: limits hold, Rx and lengths are untouched,
    /// packets end where pairs do, and the change is the one that is told. Batches hold whole
    /// packets and all of them.
    #[test]
    fn packing_keeps_every_limit(
        sizes in prop::collection::vec(1u64..200_000, 1..60),
        windows in prop::collection::vec((0usize..80, 0usize..80), 0..5),
        arch in prop::sample::select(Generation::ALL.to_vec()),
        kernel in any::<bool>(),
        most in 1u64..200,
    ) {
        let t = if kernel { target(arch, "dkms-2.26") } else { nrt(arch) };
        let mut v = Vring::new();
        for (i, n) in sizes.iter().enumerate() {
            v.append_copy((i as u64) << 20, 1 << 40 | (i as u64) << 20, *n, &t).unwrap();
        }
        let end = v.half(Dir::Tx).len();
        let before = v.clone();
        for (a, b) in windows {
            let old = v.packets();
            match v.pack(a as u64..b as u64, &t) {
                Ok(change) => prop_assert_eq!(v.packets() as i64, old as i64 + change),
                Err(_) => prop_assert_eq!(v.packets(), old),
            }
        }
        v.pack(0..end, &t).unwrap();
        prop_assert_eq!(v.half(Dir::Rx), before.half(Dir::Rx));
        let (limits, mut count, mut bytes) = (t.limits(), 0, 0);
        for (d, old) in v.half(Dir::Tx).iter().zip(before.half(Dir::Tx).iter()) {
            let free = FIRST | LAST | CONCAT;
            prop_assert_eq!((d.len_ctrl | free, d.word1, d.ptr), (old.len_ctrl | free, old.word1, old.ptr));
            prop_assert_eq!(d.first(), count == 0);
            prop_assert!(d.last() != d.concat());
            count += 1;
            bytes += d.length();
            prop_assert!(count <= limits.tx.min(limits.rx) && bytes <= MAX_PACKET_BYTES);
            if d.last() {
                (count, bytes) = (0, 0);
            }
        }
        prop_assert_eq!(count, 0);
        match v.batches(most) {
            Ok(all) => {
                let mut at = (0, 0);
                for b in &all {
                    prop_assert_eq!((b.tx.start, b.rx.start), at);
                    prop_assert!(b.tx.end - b.tx.start <= most && b.tx.end > b.tx.start);
                    prop_assert!(v.half(Dir::Tx).get(b.tx.start).unwrap().first());
                    at = (b.tx.end, b.rx.end);
                }
                prop_assert_eq!(at, (end, end));
            }
            Err(e) => {
                let too_large = matches!(e, VringError::Batch { packet, batch } if packet > batch);
                prop_assert!(too_large, "{e}");
            }
        }
    }
}
