#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
use super::*;
use crate::check::sentinels::SENTINELS;
use crate::check::{Cursors, ImageView, RingView, run_surveyed};
use crate::diag::Report;
use crate::udma::{DESC_BYTES, PairRequest, Profile, build_pair};
use proptest::prelude::*;

/// Pairs over `n` slots; what is not said of them by `seed` is regular.
fn pairs(n: u64, seed: u64, arch: Generation, at: (u64, u64)) -> Vec<[Desc; 2]> {
    let host = arch.host_base();
    let mix = |i: u64| (seed ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (from, id) = at;
    (0..n)
        .map(|i| {
            let r = mix(i);
            let marker = r % 97 == 0;
            let size = if marker { 4 } else { 1 + r % 65_536 };
            let src = if marker { host + 0x4000 } else { host + 0x10_0000 + i * 65_536 };
            let dst = if marker { host + 0x4004 } else { 0x1_0000_0000 + i * 65_536 };
            let id = if i < from { id } else { (id + 3) % 4 };
            let req = PairRequest {
                src,
                dst,
                size,
                tx_ring_id: id as u32,
                rx_ring_id: id as u32,
                barrier_code: (r >> 32) as u32 % 50 % 3,
                set_dst_int: false,
            };
            let (t, r) = build_pair(Profile::default_profile(), arch, &req).unwrap();
            [t, r]
        })
        .collect()
}

/// What is made wrong: a slot, a direction, and how.
type Harm = (usize, bool, u8, u8);

fn harm(slots: &mut [[Desc; 2]], (at, rx, how, bit): Harm) {
    let n = slots.len();
    let Some(pair) = slots.get_mut(at % n.max(1)) else { return };
    let before = *pair;
    let d = &mut pair[usize::from(rx)];
    let sentinel = SENTINELS[usize::from(bit) % SENTINELS.len()].0;
    match how % 12 {
        0..=4 => {
            let all = u128::from_le_bytes(d.to_bytes()) ^ 1 << (bit % 128);
            *d = Desc::from_bytes(&all.to_le_bytes());
        }
        5 => *d = Desc::default(),
        6 => *pair = [Desc::default(); 2],
        7 => d.ptr = sentinel.into(),
        8 => d.len_ctrl = sentinel,
        9 => d.ptr = Generation::V3.host_base() | u64::from(sentinel),
        10 => d.ptr = d.ptr.wrapping_sub(u64::from(bit)),
        // Wrong way round, where it is a marker.
        _ => (pair[0].ptr, pair[1].ptr) = (before[1].ptr, before[0].ptr),
    }
}

fn image(slots: &[Desc]) -> Vec<u8> {
    slots.iter().flat_map(|d| d.to_bytes()).collect()
}

/// How the rings lie: each alone, both, in turn in one image, of another length.
fn with_rings<T>(
    slots: &[[Desc; 2]],
    how: u8,
    f: impl FnOnce(Option<&dyn RingView>, Option<&dyn RingView>) -> T,
) -> T {
    let side = |i: usize| image(&slots.iter().map(|p| p[i]).collect::<Vec<_>>());
    let (t, r) = (side(0), side(1));
    let both = image(slots.as_flattened());
    let short = &r[..r.len() - r.len().min(DESC_BYTES * 3)];
    let view = ImageView::new;
    match how % 5 {
        0 => f(Some(&view(&t)), Some(&view(&r))),
        1 => f(
            Some(&ImageView::interleaved(&both, false)),
            Some(&ImageView::interleaved(&both, true)),
        ),
        2 => f(Some(&view(&t)), None),
        3 => f(None, Some(&view(&r))),
        _ => f(Some(&view(&t)), Some(&view(short))),
    }
}

/// The report with a survey and the plain twin's.
fn both(
    slots: &[[Desc; 2]],
    how: u8,
    arch: Generation,
    start: Option<u64>,
) -> (Report, Report, u64) {
    with_rings(slots, how, |tx, rx| {
        // A run may know the cursors of one ring, of both, or of none.
        let known = |bit: u8| {
            let written = u64::from(how) * 7 % (slots.len() as u64 + 1);
            let first = start.unwrap_or(0) % (slots.len() as u64).max(1);
            (how & bit != 0).then_some(Cursors { first, ring_id: how >> 6, written })
        };
        let cursors = [known(0x20), known(0x10)];
        let profile = Profile::default_profile();
        let pair = RingPair { tx, rx, arch, profile, queue: None, start, cursors };
        let survey = Survey::of(&pair);
        let calm =
            Dir::BOTH.map(|d| survey.chunks(d).iter().filter(|c| c.kind == Kind::Calm).count());
        let plain = run_surveyed(pair, &Survey::default());
        (crate::check::run(pair), plain, calm.iter().sum::<usize>() as u64)
    })
}

const ARCHS: [Generation; 3] = [Generation::V2, Generation::V3, Generation::V4];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn a_surveyed_check_says_what_the_plain_one_says(
        n in 0u64..1500, used in 0u64..1500, seed in any::<u64>(), how in any::<u8>(),
        arch in 0usize..3, lap in prop::option::of((0u64..1500, 0u64..4)),
        start in prop::option::of(0u64..1500),
        harms in prop::collection::vec((0usize..1500, any::<bool>(), any::<u8>(), any::<u8>()), 0..6),
    ) {
        let mut slots = pairs(n, seed, ARCHS[arch], lap.unwrap_or((u64::MAX, 1)));
        for s in slots.iter_mut().skip(used as usize) {
            *s = [Desc::default(); 2];
        }
        harms.into_iter().for_each(|h| harm(&mut slots, h));
        let (fast, plain, _) = both(&slots, how, ARCHS[arch], start);
        prop_assert_eq!(fast.items, plain.items);
        prop_assert_eq!(fast.dropped, plain.dropped);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn chunks_are_told_alike_alone_and_one_after_the_other(
        n in 0u64..1500, seed in any::<u64>(), how in any::<u8>(), arch in 0usize..3,
        lap in 0u64..1500,
        harms in prop::collection::vec((0usize..1500, any::<bool>(), any::<u8>(), any::<u8>()), 0..9),
    ) {
        let mut slots = pairs(n, seed, ARCHS[arch], (lap, 1));
        harms.into_iter().for_each(|h| harm(&mut slots, h));
        let (whole, parts) = with_rings(&slots, how, |tx, rx| {
            let (profile, cursors) = (Profile::default_profile(), [None; 2]);
            let arch = ARCHS[arch];
            let pair = RingPair { tx, rx, arch, profile, queue: None, start: None, cursors };
            let mut parts = Survey::default();
            (0..Survey::chunks_of(&pair)).for_each(|at| parts.append(Survey::part(&pair, at, at + 1)));
            (Survey::of(&pair), parts)
        });
        prop_assert_eq!(whole, parts);
    }
}

/// Chunks that are told of as one, over the end of a lap and over what breaks them.
#[test]
fn long_rings_are_checked_alike() {
    let n = (RUN as u64 + 9) * CHUNK + 77;
    let mut all = pairs(n, 5, Generation::V3, (50 * CHUNK + 13, 1));
    for (start, harms) in [
        (None, vec![]),
        (Some(20 * CHUNK), vec![(12_000, true, 0, 2)]),
        (Some(CHUNK + 3), vec![(3 * CHUNK as usize, true, 10, 9), (14_000, false, 6, 0)]),
        (None, vec![(RUN * CHUNK as usize, true, 10, 70), (100, false, 0, 24)]),
    ] {
        harms.into_iter().for_each(|h| harm(&mut all, h));
        for how in [1, 4] {
            let (fast, plain, _) = both(&all, how, Generation::V3, start);
            assert_eq!(fast.items, plain.items, "{start:?} {how}");
            assert_eq!(fast.dropped, plain.dropped);
        }
    }
}

#[test]
fn chunks_go_on_as_far_as_they_are_alike() {
    let calm =
        Chunk { kind: Kind::Calm, phase: 1, flags: true, paired: true, follows: true, bytes: 3 };
    let other = [
        Chunk { phase: 2, ..calm },
        Chunk { flags: false, ..calm },
        Chunk { paired: false, ..calm },
        Chunk { follows: false, ..calm },
        Chunk { kind: Kind::Empty, ..calm },
        Chunk::default(),
    ];
    for odd in other {
        let all = [calm, calm, odd, calm];
        assert_eq!(run(&all), Some((2, Chunk { bytes: 6, ..calm })), "{odd:?}");
    }
    let first = Chunk { follows: false, ..calm };
    assert_eq!(run(&[first, calm]), Some((2, Chunk { bytes: 6, ..first })));
    let empty = Chunk { kind: Kind::Empty, ..Chunk::default() };
    assert_eq!(run(&[empty; 3]).map(|r| r.0), Some(3));
    assert_eq!(run(&[calm; 2 * RUN]).map(|r| r.0), Some(RUN as u64));
    assert_eq!(run(&[]), None);
}

/// The rule by which the fast look goes is one-sided: whatever it calls regular is calm, and on
/// what is staged it does answer.
#[test]
fn regular_chunks_are_calm_by_the_rules() {
    for arch in ARCHS {
        let slots = pairs(CHUNK, 7, arch, (u64::MAX, 2));
        let (mut told, mut asked) = (0, 0);
        let bits = (0..128u8).map(|bit| (3, false, 0, bit));
        let other = (5..12u8).flat_map(|how| (0..12u8).map(move |bit| (200, false, how, bit)));
        let sides = |(at, _, how, bit): Harm| [(at, false, how, bit), (at, true, how, bit)];
        for h in bits.chain(other).flat_map(sides).map(Some).chain([None]) {
            let mut slots = slots.clone();
            h.into_iter().for_each(|h| harm(&mut slots, h));
            let sides = [0, 1].map(|i| image(&slots.iter().map(|p| p[i]).collect::<Vec<_>>()));
            for (dir, bytes) in Dir::BOTH.into_iter().zip(&sides) {
                let rows = Rows::new(bytes.as_chunks().0, 1);
                let fast = regular(rows, Seen::plainly(rows, arch.host_base()), dir, arch);
                let first = rows.descs().next().unwrap();
                let plain = by_rules(rows, dir, arch);
                asked += 1;
                if let Some(bytes) = fast.filter(|_| calm(first, dir, arch)) {
                    told += 1;
                    assert_eq!(plain, Some(bytes), "{arch} {dir} {h:?}");
                }
            }
        }
        // Length, order bits and most bits of addresses harm nothing.
        assert!(told * 2 > asked, "{told} of {asked}");
    }
}

#[test]
fn staged_rings_are_calm_but_for_where_a_lap_ends() {
    for how in 0..4 {
        let slots = pairs(4 * CHUNK, 3, Generation::V3, (2 * CHUNK, 1));
        let (report, _, calm) = both(&slots, how, Generation::V3, None);
        assert_eq!(report.items, []);
        assert_eq!(calm, if how < 2 { 8 } else { 4 });
        let slots = pairs(4 * CHUNK, 3, Generation::V3, (2 * CHUNK + 1, 1));
        assert_eq!(both(&slots, how, Generation::V3, None).2, if how < 2 { 6 } else { 3 });
    }
}

#[test]
fn a_survey_in_parts_is_the_survey() {
    let slots = pairs(9 * CHUNK + 5, 3, Generation::V3, (300, 1));
    with_rings(&slots, 1, |tx, rx| {
        let pair = RingPair {
            tx,
            rx,
            arch: Generation::V3,
            profile: Profile::default_profile(),
            queue: None,
            start: None,
            cursors: [None; 2],
        };
        // Chunk by chunk, none is judged by what was known of another.
        for by in [4, 1] {
            let mut parts = Survey::default();
            for at in (0..12).step_by(by) {
                parts.append(Survey::part(&pair, at, at + by as u64));
            }
            assert_eq!(parts, Survey::of(&pair));
        }
        let parts = Survey::of(&pair);
        assert_eq!(parts.chunks(Dir::Tx).len(), 10);
        assert_eq!(parts.chunks(Dir::Rx).iter().filter(|c| c.follows).count(), 8);
        assert!(parts.chunks(Dir::Tx).iter().filter(|c| c.paired).count() >= 8);
    });
}

#[test]
fn every_sentinel_has_one_of_the_bits_that_the_fast_look_asks_for() {
    for (value, _) in SENTINELS {
        let told = *value == EVEN_SENTINEL || u64::from(*value) & SENTINEL_BITS != 0;
        assert!(told, "{value:#x}");
    }
}

/// What is told of a chunk's addresses from the bits that they share is what each by itself says.
#[test]
fn addresses_are_judged_together_as_one_by_one() {
    let alone = |ptr: u64, host: u64| {
        ptr & STRANGE == 0
            && ptr & !host != 0
            && (ptr ^ ptr.wrapping_add(LENGTH)) & WINDOW == 0
            && sentinels::word(ptr as u32).is_none()
    };
    let end = 1u64 << 40;
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut told = [0; 2];
    for arch in ARCHS {
        let host = arch.host_base();
        let odd = [
            0,
            4,
            8,
            host,
            host + 4,
            end - 4,
            end - 0xffff,
            end - 0x1_0000,
            end - 0x1_0004,
            end,
            host + end - 8,
            0xcccc_cccc,
            0x1_cccc_cccc,
            0xcccc_cccc << 4,
            0xdead_beef,
            host + 0xcccc_cccc,
            TEMPLATE_BIT,
            1 << 56,
            0x0fff_ffff_0000,
            0x4444_4444,
            0x8888_8888,
        ];
        for n in 0..20_000u64 {
            let mut next = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(n | 1);
                seed >> 33
            };
            let base = [0x1000, 0x1_0000_0000, host, host + 0x1000_0000][next() as usize % 4];
            let mut slots: Vec<Desc> = (0..1 + next() % 5)
                .map(|i| Desc { ptr: base + (i + n % 9) * 0x1000, ..Desc::default() })
                .collect();
            if next() % 2 == 0 {
                let at = next() as usize % slots.len();
                slots[at].ptr = odd[next() as usize % odd.len()];
            }
            let bytes = image(&slots);
            let rows = Rows::new(bytes.as_chunks().0, 1);
            let seen = Seen::plainly(rows, host);
            let plain = slots.iter().all(|d| alone(d.ptr, host));
            assert_eq!(plain_addresses(rows, seen), plain, "{arch} {slots:?}");
            told[usize::from(plain)] += 1;
        }
    }
    assert!(told.iter().all(|n| *n > 10_000), "{told:?}");
}
