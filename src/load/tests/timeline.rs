//! The timeline on every sample, on generated modules and on programs of any shape: leaps land
//! where single steps land, verbs stop where single steps say.

use crate::bir::{Layout, generate};
use crate::engine::lower::{self, Stage};
use crate::engine::module_run::{self, Initial, Options};
use crate::engine::program::{Blob, Content, Fill, HostOp, Program, Region, RingType};
use crate::engine::ring::leap::tests::twins;
use crate::engine::session::tests::twin;
use crate::load::module::{LoadedModule, ModuleOptions};
use crate::load::raw::to_program;
use crate::load::{LoadOptions, RawImage, RingView, arbitrary};
use crate::udma::{Desc, Dir, Generation, Profile};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn samples() -> Vec<(String, Program)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-programs");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let program = match path.extension().and_then(|e| e.to_str()) {
            Some("dma") => {
                let loaded = crate::load::open(&[path], &LoadOptions::default()).unwrap();
                (*loaded.program.unwrap()).clone()
            }
            Some("bir") => {
                let options = ModuleOptions::default();
                let bytes = std::fs::read(&path).unwrap();
                let (m, _) = LoadedModule::read("m", &bytes, false, &options, None).unwrap();
                m.program(&options, Profile::default_profile()).unwrap()
            }
            _ => continue,
        };
        all.push((name, program));
    }
    assert!(all.len() > 15);
    all
}

/// Rounds of random stops and conditions on a program.
fn rounds(p: &Program, count: usize) {
    let mut runner = TestRunner::deterministic();
    let any = (
        prop::collection::vec(twin::stop(), 0..3),
        prop::collection::vec(twin::condition(), 3),
        prop::collection::vec(any::<u64>(), 4),
    );
    for _ in 0..count {
        let (stops, untils, places) = any.new_tree(&mut runner).unwrap().current();
        twin::check(p, &stops, &twin::untils(untils), &places);
    }
}

#[test]
fn every_sample_is_leapt_through_and_searched_as_by_single_steps() {
    let mut leapt = 0;
    for (_, p) in samples() {
        leapt += twins(&p, std::iter::empty());
        twins(&p, (1..).map(|n| n * 7 % 61));
        rounds(&p, 1);
    }
    assert!(leapt > 500, "{leapt}");
}

#[test]
fn generated_modules_are_leapt_through_and_searched_as_by_single_steps() {
    let mut leapt = 0;
    for seed in 0..12 {
        let options = generate::Options { units: 1 + seed % 4, ..generate::Options::default() };
        let g = generate::module(seed, &options);
        let layout = Layout::new(&g.module);
        let fits =
            |name: &str, len: usize| layout.location(name).is_some_and(|l| l.bytes() == len as u64);
        let given = g.memory.iter().filter(|(n, b)| fits(n, b.len()));
        let initial =
            Initial { given: given.map(|(n, b)| (n.to_string(), b.clone())).collect(), file: None };
        let lowered = lower::lower(&g.module, &lower::Options::default(), Stage::LowerDma);
        let ring = Options::new(Generation::V3);
        let place = |_: crate::bir::Pos| crate::diag::Place::default();
        let Ok(p) = module_run::program(&lowered, &place, &initial, &ring) else { continue };
        leapt += twins(&p, (1..).map(|n| n * 13 % 97));
        rounds(&p, 1);
    }
    assert!(leapt > 100, "{leapt}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn programs_of_any_shape_are_leapt_through_as_by_single_steps(
        p in arbitrary::program(),
        lengths in prop::collection::vec(1u64..200, 1..9),
    ) {
        if ends(&p) {
            twins(&p, lengths.into_iter().cycle());
        }
    }

    #[test]
    fn programs_of_any_shape_are_searched_as_by_single_steps(
        p in arbitrary::program(),
        stops in prop::collection::vec(twin::stop(), 0..3),
        untils in prop::collection::vec(twin::condition(), 2..4),
        places in prop::collection::vec(any::<u64>(), 4),
    ) {
        if ends(&p) {
            twin::check(&p, &stops, &twin::untils(untils), &places);
        }
    }
}

/// Whether the run has few enough events to be compared at each of them.
fn ends(p: &Program) -> bool {
    let mut n = 0;
    crate::engine::ring::machine::run(p, |_, _| {
        n += 1;
        n < 5000
    });
    n < 5000
}

/// Some pairs of a raw image that go on from one to the next, by their own steps or not at all.
#[derive(Debug, Clone)]
struct Pairs {
    count: u64,
    len: u64,
    from: (u64, u64),
    to: (u64, u64),
    odd: Option<(u64, u32)>,
}

/// Bytes that lie at hand; the two sides may meet.
const AT_HAND: u64 = 0x1000_0000;

/// Where the rings of an image lie, Tx and Rx, whatever the image names.
const RINGS: [u64; 2] = [0x4000_4000_0000, 0x4000_4010_0000];

fn some() -> impl Strategy<Value = Pairs> {
    let step = || prop_oneof![4 => Just(0u64), 2 => 1u64..3, 1 => Just(4)];
    let len = prop_oneof![6 => Just(64u64), 2 => Just(4096), 1 => Just(4), 1 => Just(0)];
    let place = || 0u64..4000;
    let odd = prop::option::weighted(0.2, (0u64..200, 0u32..32));
    (prop_oneof![1u64..4, 1u64..200], len, (place(), step()), (place(), step()), odd).prop_map(
        |(count, len, from, to, odd)| {
            // Mostly as far as they are long; else by other steps.
            let step = |s| if s == 0 { len } else { (s - 1) * 48 };
            let from = (AT_HAND + from.0 * 64, step(from.1));
            let to = (AT_HAND + 0x4_0000 + to.0 * 64, step(to.1));
            Pairs { count, len, from, to, odd }
        },
    )
}

fn raw_image(all: &[Pairs]) -> Option<Program> {
    let profile = Profile::default_profile();
    let mut bytes = [Vec::new(), Vec::new()];
    for s in all {
        for k in 0..s.count {
            let req = crate::udma::PairRequest {
                src: s.from.0 + k * s.from.1,
                dst: s.to.0 + k * s.to.1,
                size: s.len,
                tx_ring_id: 1,
                rx_ring_id: 1,
                barrier_code: 0,
                set_dst_int: false,
            };
            let (mut tx, rx) = crate::udma::build_pair(profile, Generation::V3, &req).ok()?;
            if s.odd.is_some_and(|o| o.0 == k) {
                tx.len_ctrl ^= 1 << s.odd?.1;
            }
            bytes[0].extend(tx.to_bytes());
            bytes[1].extend(rx.to_bytes());
        }
    }
    program_of(bytes)
}

/// The program of an image of a Tx ring and an Rx ring.
fn program_of([tx, rx]: [Vec<u8>; 2]) -> Option<Program> {
    let ring = |dir, bytes| Some(RingView::whole(dir, Blob::from_vec(bytes)));
    let image = RawImage::new("image", "", [ring(Dir::Tx, tx), ring(Dir::Rx, rx)]);
    let [tx_base, rx_base] = RINGS.map(Some);
    to_program(&image, &LoadOptions { tx_base, rx_base, ..LoadOptions::default() }).0
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Descriptors of a raw image that lie in a row are leapt over together, and the others as
    /// single steps do them; whatever is known of what they read.
    #[test]
    fn raw_images_are_leapt_through_as_by_single_steps(
        all in prop::collection::vec(some(), 1..8),
        known in prop::collection::vec((0u64..0x4_0000, 1usize..20_000), 0..4),
        cuts in prop::collection::vec((any::<bool>(), 0u64..2000, 1usize..40), 0..3),
        lengths in prop::collection::vec(prop_oneof![1u64..40, 1u64..4000, Just(1 << 40)], 1..12),
    ) {
        if let Some(mut p) = raw_image(&all) {
            for (at, len) in known {
                let bytes = (0..len).map(|i| i as u8).collect();
                p.contents.push(Content { addr: AT_HAND + at, bytes: Blob::from_vec(bytes) });
            }
            for (rx, at, len) in cuts {
                write_over(&mut p, rx, at, len);
            }
            twins(&p, lengths.into_iter().cycle());
            twins(&p, std::iter::empty());
        }
    }
}

/// The host writes over bytes of a ring before it rings for the first time.
fn write_over(p: &mut Program, rx: bool, at: u64, len: usize) {
    let ring = p.queues[0].ring(if rx { Dir::Rx } else { Dir::Tx }).unwrap();
    let at = at % ring.bytes();
    let bytes = Blob::from_vec(vec![0x40; len.min((ring.bytes() - at) as usize)]);
    let store = HostOp::Store { addr: ring.base + at, bytes };
    let rung = p.script.iter().position(|o| matches!(o.op, HostOp::CopyStart { .. }));
    p.script.insert(rung.unwrap_or(p.script.len()), store.into());
}

/// What of strewn pairs is not as the others are.
#[derive(Debug, Clone)]
enum Odd {
    /// A bit of the first 64 of one, of the Tx ring or the Rx ring.
    Bit(u64, bool, u32),
    /// The same of all from one on.
    Rest(u64, bool, u32),
    /// Where one writes.
    To(u64, Spot),
    /// Where one reads.
    From(u64, Spot),
}

#[derive(Debug, Clone)]
enum Spot {
    /// So many bytes from where another one writes, or reads.
    Written(u64, u64),
    Read(u64, u64),
    /// So many descriptors ahead in the Tx ring or the Rx ring.
    Ahead(bool, u64),
    At(u64),
}

fn spot() -> impl Strategy<Value = Spot> {
    let by = || prop_oneof![Just(0u64), Just(32), Just(47), Just(63)];
    prop_oneof![
        3 => (0u64..1024, by()).prop_map(|(k, by)| Spot::Written(k, by)),
        3 => (0u64..1024, by()).prop_map(|(k, by)| Spot::Read(k, by)),
        3 => (any::<bool>(), 0u64..100).prop_map(|(rx, by)| Spot::Ahead(rx, by)),
        1 => Just(Spot::At(0x7777_0000)),
        1 => Just(Spot::At(crate::udma::template::TEMPLATE_BIT | 3 << 36)),
    ]
}

fn odd() -> impl Strategy<Value = Odd> {
    // The first and the second that are tried together begin here.
    let from = || prop_oneof![1 => 0u64..100, 2 => Just(4), 2 => Just(68)];
    prop_oneof![
        1 => (0u64..1024, any::<bool>(), 0u32..64).prop_map(|(k, rx, bit)| Odd::Bit(k, rx, bit)),
        1 => (from(), any::<bool>(), 0u32..64).prop_map(|(k, rx, bit)| Odd::Rest(k, rx, bit)),
        2 => (0u64..1024, spot()).prop_map(|(k, at)| Odd::To(k, at)),
        2 => (0u64..1024, spot()).prop_map(|(k, at)| Odd::From(k, at)),
    ]
}

/// An image of strewn pairs.
#[derive(Debug, Clone, Default)]
struct Strewn {
    count: u64,
    /// Bytes of each.
    len: u64,
    /// Their places, 64 bytes apart, are those of this, an odd number.
    turn: u64,
    /// The places from which they read are, else those to which they write.
    read: bool,
    odds: Vec<Odd>,
    /// So many slots are of the second lap: the ring begins behind them.
    lap: u64,
}

fn strewn_image(s: &Strewn) -> Option<Program> {
    let Strewn { count: n, len, turn, read, ref odds, lap } = *s;
    let places = n.next_power_of_two();
    let (mut all, mut bytes) = (Vec::new(), [Vec::new(), Vec::new()]);
    for k in 0..n {
        let phase = 1 + u32::from(k < lap);
        let page = k.wrapping_mul(turn) % places;
        let req = crate::udma::PairRequest {
            src: AT_HAND + if read { page } else { k } * 64,
            // In the region of what is read, which ends there.
            dst: AT_HAND + (places + if read { k } else { page }) * 64,
            size: len,
            tx_ring_id: phase,
            rx_ring_id: phase,
            barrier_code: 0,
            set_dst_int: false,
        };
        let profile = Profile::default_profile();
        all.push(crate::udma::build_pair(profile, Generation::V3, &req).ok()?);
    }
    let plain = all.clone();
    let spot = |own: &u64, spot: &Spot| match spot {
        Spot::Written(k, by) => plain[(k % n) as usize].1.ptr + by,
        Spot::Read(k, by) => plain[(k % n) as usize].0.ptr + by,
        Spot::Ahead(rx, by) => RINGS[usize::from(*rx)] + (own + by) % n * 16,
        Spot::At(at) => *at,
    };
    let flip = |(tx, rx): &mut (Desc, Desc), is_rx: bool, bit: u32| {
        let desc = if is_rx { rx } else { tx };
        let word = if bit < 32 { &mut desc.len_ctrl } else { &mut desc.word1 };
        *word ^= 1 << (bit % 32);
    };
    for odd in odds {
        match odd {
            Odd::Bit(k, rx, bit) => flip(&mut all[(k % n) as usize], *rx, *bit),
            Odd::Rest(k, rx, bit) => {
                all[(k % n) as usize..].iter_mut().for_each(|pair| flip(pair, *rx, *bit));
            }
            Odd::To(k, at) => all[(k % n) as usize].1.ptr = spot(k, at),
            Odd::From(k, at) => all[(k % n) as usize].0.ptr = spot(k, at),
        }
    }
    for (tx, rx) in all {
        bytes[0].extend(tx.to_bytes());
        bytes[1].extend(rx.to_bytes());
    }
    program_of(bytes)
}

/// How the memory of such an image is cut into regions.
#[derive(Debug, Clone, Copy)]
enum Map {
    /// What is read, what is written.
    AsMade,
    /// All data.
    Data,
    /// All data and the rings.
    All,
    /// All data, twice, cut after so many bytes; nothing in it is unknown.
    Cut(u64),
}

fn map() -> impl Strategy<Value = Map> {
    prop_oneof![
        1 => Just(Map::AsMade),
        1 => Just(Map::Data),
        2 => Just(Map::All),
        1 => (1u64..0x2_0000).prop_map(Map::Cut),
    ]
}

fn remap(p: &mut Program, map: Map) {
    let data = |r: &Region| (AT_HAND..AT_HAND << 1).contains(&r.base);
    let Some(k) = p.regions.iter().position(data) else { return };
    let ends = |r: &Region| r.base + r.len;
    let end = p.regions.iter().filter(|r| data(r)).map(ends).max().unwrap();
    let rings = Dir::BOTH.map(|dir| p.queues[0].ring(dir).unwrap());
    let last = rings.iter().map(|r| r.base + r.bytes()).max().unwrap();
    let whole = Region { len: end - p.regions[k].base, ..p.regions[k].clone() };
    let len = whole.len;
    let new = match map {
        Map::AsMade => return,
        Map::Data => vec![whole],
        Map::All => vec![Region { len: last - whole.base, ..whole }],
        Map::Cut(at) => {
            let at = at % (len - 1) + 1;
            let zero = Region { fill: Fill::Zero, ..whole };
            let (name, base) = (format!("{} beyond", zero.name), zero.base + at);
            vec![Region { len: at, ..zero.clone() }, Region { name, base, len: len - at, ..zero }]
        }
    };
    p.regions.retain(|r| !data(r) && !new.iter().any(|n| n.contains(r.base)));
    p.regions.extend(new);
    p.regions.sort_by_key(|r| r.base);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 384, ..ProptestConfig::default() })]

    /// Pairs that are strewn are moved together, and land where single steps land, whatever one
    /// of them does to the others and whatever is known of what they read.
    #[test]
    fn strewn_raw_images_are_leapt_through_as_by_single_steps(
        // Those of other numbers leave gaps.
        n in prop_oneof![1 => 60u64..1500, 2 => Just(128u64), 2 => Just(512), 1 => Just(1024)],
        len in prop_oneof![4 => Just(64u64), 2 => Just(48), 1 => Just(4)],
        lap in prop_oneof![2 => Just(0u64), 1 => 1u64..128],
        map in map(),
        turn in prop_oneof![Just(0x9e37_79b9u64), (0u64..400).prop_map(|t| 2 * t + 1)],
        read in any::<bool>(),
        // Of many that are odd one is met before the others show.
        odds in prop_oneof![
            1 => prop::collection::vec(odd(), 0..3),
            3 => prop::collection::vec(odd(), 1),
        ],
        known in prop_oneof![
            2 => Just(Vec::new()).boxed(),
            3 => Just(vec![(0, 0x4_0000)]).boxed(),
            // The bytes of the first few pairs alone.
            2 => (1usize..12).prop_map(|k| vec![(0, k * 64)]).boxed(),
            1 => prop::collection::vec((0u64..0x6_0000, 1usize..40_000), 1..4).boxed(),
        ],
        // Bytes of the rings that the host writes over once they are there.
        over in prop::collection::vec((any::<bool>(), 0u64..1024, 8u64..16), 0..2),
        // Nobody staged what is in the rings.
        stored in prop::bool::weighted(0.05),
        lengths in prop::collection::vec(prop_oneof![1u64..900, 1u64..9000, Just(1 << 40)], 1..6),
    ) {
        let strewn = Strewn { count: n, len, turn, read, odds, lap };
        if let Some(mut p) = strewn_image(&strewn) {
            for (at, len) in known {
                let bytes = (0..len).map(|i| i as u8).collect();
                p.contents.push(Content { addr: AT_HAND + at, bytes: Blob::from_vec(bytes) });
            }
            for (rx, slot, byte) in over {
                write_over(&mut p, rx, slot % n * 16 + byte, 1);
            }
            for op in p.script.iter_mut().filter(|_| stored) {
                if let HostOp::CopyIn { ring: RingType::Dir(dir), descs, .. } = &op.op {
                    let addr = RINGS[usize::from(*dir == Dir::Rx)];
                    op.op = HostOp::Store { addr, bytes: descs.clone() };
                }
            }
            remap(&mut p, map);
            twins(&p, lengths.into_iter().cycle());
            twins(&p, std::iter::empty());
        }
    }
}

#[test]
fn a_strewn_raw_image_is_leapt_over_in_few_pieces() {
    let s = Strewn { count: 4096, len: 64, turn: 0x9e37_79b9, ..Strewn::default() };
    let p = strewn_image(&s).unwrap();
    assert!(twins(&p, std::iter::empty()) >= 5 * 4095);
    let mut m = crate::engine::ring::Machine::new(&p);
    let mut cost = 0;
    loop {
        match m.leap(&p, u64::MAX) {
            Some(leap) => cost += leap.cost,
            None if m.step(&p).is_some() => cost += 1,
            None => break,
        }
    }
    // Half a step a pair, and a few pairs by themselves.
    assert!(cost < 4096 / 2 + 200, "{cost}");
}

#[test]
fn a_regular_raw_image_is_leapt_over() {
    let one =
        Pairs { count: 3000, len: 64, from: (AT_HAND, 64), to: (AT_HAND << 4, 64), odd: None };
    let p = raw_image(&[one]).unwrap();
    let leapt = twins(&p, std::iter::empty());
    assert!(leapt >= 5 * 2999, "{leapt}");
}
