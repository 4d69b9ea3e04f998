//! The timeline on every sample, on generated modules and on programs of any shape: leaps land
//! where single steps land, verbs stop where single steps say.

use crate::bir::{Layout, generate};
use crate::engine::lower::{self, Stage};
use crate::engine::module_run::{self, Initial, Options};
use crate::engine::program::Program;
use crate::engine::ring::leap::tests::twins;
use crate::engine::session::tests::twin;
use crate::load::module::{LoadedModule, ModuleOptions};
use crate::load::{LoadOptions, arbitrary};
use crate::udma::{Generation, Profile};
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
