#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::bir::verify::verify;
use crate::bir::{Body, DgeType, Layout, Mode};
use std::collections::BTreeSet;

const SEEDS: u64 = 4000;

#[test]
fn generated_modules_are_sound() {
    for seed in 0..SEEDS {
        let g = module(seed, &Options::default());
        let layout = Layout::new(&g.module);
        assert_eq!(verify(&g.module, &layout), [], "seed {seed}");
    }
}

#[test]
fn every_byte_of_memory_has_a_content() {
    for seed in 0..300 {
        let g = module(seed, &Options::default());
        let layout = Layout::new(&g.module);
        let named: BTreeSet<&str> = g.memory.iter().map(|m| &*m.0).collect();
        for p in layout.placed() {
            let size = g.memory.iter().find(|m| m.0 == p.name).map(|m| m.1.len() as u64);
            if size.is_none() {
                let first = layout.at(p.addr).unwrap();
                assert!(named.contains(&*first.name), "seed {seed}: {}", p.name);
                assert!(p.pitch <= first.pitch && p.partitions <= first.partitions);
            } else {
                assert_eq!(size, Some(p.bytes()));
            }
        }
    }
}

#[test]
fn a_seed_is_a_module() {
    for seed in [0, 1, 77, u64::MAX] {
        let o = Options::default();
        assert_eq!(module(seed, &o), module(seed, &o));
    }
    assert_ne!(module(1, &Options::default()), module(2, &Options::default()));
}

/// What the seeds reach, so that no feature is switched off unseen.
#[test]
fn all_features_are_reached_and_can_be_switched_off() {
    fn seen(o: &Options) -> BTreeSet<String> {
        let mut out = BTreeSet::new();
        for seed in 0..SEEDS {
            let g = module(seed, o);
            let mut engines = BTreeSet::new();
            g.module.visit(&mut |i| {
                let mut say = |s: &str| out.insert(s.to_owned());
                say(i.opcode.name());
                if i.opcode.is_dma() {
                    engines.insert(i.engine);
                }
                if let Body::Dma(d) = &i.body {
                    say(d.mode.name());
                    if d.mode == Mode::Copy && d.dge == DgeType::Hwdge {
                        say("hwdge");
                    }
                    if !d.oob_is_err {
                        say("skipped");
                    }
                }
                for o in i.ins.iter().chain(&i.outs) {
                    let Some(p) = o.as_pattern() else { continue };
                    for (yes, text) in [
                        (!p.registers().is_empty(), "scalar"),
                        (p.index_arg().is_some(), "vector"),
                        (p.pairs.len() == 5, "five"),
                        (p.count() > Some(65_536), "large"),
                        (p.pairs.iter().any(|p| p.step < 0), "negative"),
                        (p.pairs.iter().any(|p| p.step == 0 && p.num > 1), "zero"),
                        (p.start.is_some() && !p.is_dynamic(), "affine"),
                    ] {
                        if yes {
                            say(text);
                        }
                    }
                }
                if !i.waits.is_empty() {
                    say("wait");
                }
                if !i.deps.is_empty() {
                    say("dependency");
                }
            });
            if engines.len() > 1 {
                out.insert("engines".to_owned());
            }
        }
        out
    }
    let all = seen(&Options::default());
    for name in [
        "DMACopy",
        "Load",
        "Save",
        "DMATrigger",
        "DMABlock",
        "DMADescriptorCopy",
        "DMADescriptorCCE",
        "DMADescriptorTranspose",
        "DMADescriptorReplicate",
        "Loop",
        "DynamicForLoop",
        "RegisterMove",
        "RegisterAlu",
        "EventSemaphore",
        "AllEngineBarrier",
        "Matmult",
        "Copy",
        "CCE",
        "Transpose",
        "Replicate",
        "hwdge",
        "skipped",
        "scalar",
        "vector",
        "five",
        "large",
        "negative",
        "zero",
        "affine",
        "wait",
        "dependency",
        "engines",
    ] {
        assert!(all.contains(name), "{name} is not in {all:?}");
    }
    let plain = seen(&Options::plain());
    let left = ["DMACopy", "Load", "Save", "Copy", "hwdge", "negative", "zero"];
    assert_eq!(plain, left.iter().map(|s| s.to_string()).collect());
}
