//! The run on rings that is proved batch by batch, against its plain twin, event by event
//! (`docs/validation.md`, "Batch by batch"): of generated modules as they are, of those in which
//! what orders or moves was spoilt, under every reading and generation. Whatever is proved, the
//! plain run finds good; and nearly all that the plain run finds good is proved.
//!
//! `DMADBG_CASES` is how many modules there are, `DMADBG_SEED` the first seed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "../fuzz/disorder.rs"]
mod disorder;

use disorder::disorder;
use dmadbg::bir::exec;
use dmadbg::bir::generate::{self, Rng};
use dmadbg::diag::Place;
use dmadbg::engine::lower::{self, Materialise, Mutation, Stage};
use dmadbg::engine::module_run::{self, Initial, Options, RingFault};
use dmadbg::engine::order::Readings;
use dmadbg::engine::validate::{Reference, Verdict};
use dmadbg::udma::Generation;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Modules of a plain test run.
const CASES: u64 = 250;

fn from_env(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(n) => n.parse().unwrap_or_else(|_| panic!("{name}={n} is not a number")),
        Err(_) => otherwise,
    }
}

#[derive(Debug, Default)]
struct Counts {
    good: u64,
    proved: u64,
    races: u64,
    failed: u64,
    differ: u64,
}

fn one(seed: u64, counts: &mut BTreeMap<&'static str, Counts>) {
    let mut rng = Rng::new(seed ^ 0x00ba_7c4e);
    let options = generate::Options {
        units: 1 + rng.below(10),
        engines: rng.chance(85),
        large: rng.chance(5),
        ..generate::Options::default()
    };
    let mut g = generate::module(seed, &options);
    let run = exec::Options::default();
    let given = g.memory.iter().map(|(n, b)| (n.to_string(), b.clone())).collect();
    let initial = Initial { given, file: None };
    let Ok(reference) = Reference::new(Arc::new(g.module.clone()), &initial, &run) else { return };
    let arch = *rng.pick(&[Generation::V2, Generation::V3, Generation::V4]);
    let said = g.module.arch.and_then(dmadbg::bir::Arch::generation);
    let mut ring = Options::new(said.unwrap_or(arch));
    ring.ring_slots = *rng.pick(&[256, 256, 272, 1024]);
    let mut by = lower::Options {
        max_desc_elems: *rng.pick(&[None, Some(3), Some(64)]),
        reuse_block: rng.chance(30),
        max_block_descs: *rng.pick(&[None, Some(2), Some(17)]),
        materialise: *rng.pick(&[Materialise::All, Materialise::Static]),
        ..lower::Options::default()
    };
    let what = match rng.below(10) {
        0..4 => "as it is",
        4..8 => {
            let percent = *rng.pick(&[10, 30, 100]);
            disorder(&mut g.module, &mut rng, percent);
            "disordered"
        }
        8 => {
            let faults = [RingFault::MissingBarrier, RingFault::DroppedByPacking];
            ring.fault = Some(*rng.pick(&faults));
            "ring fault"
        }
        _ => {
            let all = [Mutation::DroppedDescriptor, Mutation::SwappedStride];
            by.mutation = Some(*rng.pick(&all));
            "lowering fault"
        }
    };
    let lowered = lower::lower(&g.module, &by, Stage::LowerDma);
    let place = |_| Place::default();
    let Ok(p) = module_run::program(&lowered, &place, &initial, &ring) else { return };
    let all = if rng.chance(70) { &Readings::ALL[..1] } else { &Readings::ALL[..] };
    for readings in all {
        let proved = reference.proves_rings(&p, *readings);
        let plain = reference.judge_rings_plainly(&p, *readings);
        let c = counts.entry(what).or_default();
        match &plain {
            Verdict::Same => c.good += 1,
            Verdict::Races(_) => c.races += 1,
            Verdict::Failed(_) => c.failed += 1,
            Verdict::Differs(_) => c.differ += 1,
        }
        c.proved += u64::from(proved);
        assert!(
            !proved || plain == Verdict::Same,
            "seed {seed}, {what}, {readings}: it is proved, but {}",
            plain.words()
        );
        if !proved && plain == Verdict::Same {
            println!("seed {seed}, {what}, {readings}: good, not proved");
        }
    }
}

#[test]
fn what_is_proved_batch_by_batch_is_what_the_plain_run_finds_good() {
    let first = from_env("DMADBG_SEED", 0);
    let cases = from_env("DMADBG_CASES", CASES);
    let mut counts = BTreeMap::new();
    (first..first + cases).for_each(|seed| one(seed, &mut counts));
    println!("{counts:#?}");
    if cases < CASES {
        return;
    }
    let sum = |f: fn(&Counts) -> u64| counts.values().map(f).sum::<u64>();
    let (good, proved) = (sum(|c| c.good), sum(|c| c.proved));
    assert!(proved * 10 >= good * 9, "{proved} of {good}");
    assert!(sum(|c| c.races) * 20 >= cases && sum(|c| c.differ) > 0 && sum(|c| c.failed) > 0);
}
