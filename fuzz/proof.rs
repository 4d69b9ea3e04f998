//! The proof of a run on rings batch by batch against the run event by event: of modules that are
//! read, and of such as the generator makes.

use super::blown::{ARCHS, Feed};
use super::disorder::disorder;
use super::text;
use dmadbg::bir::generate::{self, Rng};
use dmadbg::bir::{Layout, Module, exec, verify};
use dmadbg::diag::Place;
use dmadbg::engine::lower::{self, Materialise, Mutation, Stage};
use dmadbg::engine::module_run::{self, Initial, Options, RingFault};
use dmadbg::engine::order::Readings;
use dmadbg::engine::validate::{Reference, Verdict};
use dmadbg::load::bir::{json_to_text, read_text, write_json, write_text};
use std::sync::Arc;

/// Bytes that a module that is read may move, so that an input takes milliseconds.
const BYTES: u64 = 1 << 12;

/// A module by the bytes: read, or made by switches and a seed.
fn module(f: &mut Feed<'_>) -> Option<(Module, Initial)> {
    if f.byte() & 1 == 0 {
        let t = text(f.0)?;
        f.0 = &[];
        return Some((read_text("m", t).ok()?.module, Initial::default()));
    }
    let on = f.num(2);
    let is = |bit: u32| on >> bit & 1 != 0;
    let options = generate::Options {
        arch: None,
        units: 1 + f.below(3),
        engines: is(0),
        loops: is(1),
        dynamic_loops: is(2),
        scalar: is(3),
        vector: is(4),
        skipped: is(5),
        transpose: is(6),
        cce: is(7),
        replicate: is(8),
        casts: is(9),
        overlap: is(10),
        five: is(11),
        lowered: is(12),
        opaque: is(13),
        barriers: is(14),
        large: false,
    };
    let made = generate::module(f.num(2), &options);
    let given = made.memory.iter().map(|(n, b)| (n.to_string(), b.clone())).collect();
    Some((made.module, Initial { given, file: None }))
}

/// Whatever is proved, the plain run finds good; and printing of a tree that is made says what
/// printing of its JSON says.
pub fn batches(bytes: &[u8]) {
    let mut f = Feed(bytes);
    let (how, readings, slots) = (f.byte(), f.byte(), f.byte());
    let Some((mut module, initial)) = module(&mut f) else { return };
    let json = write_json(&module);
    assert_eq!(json_to_text("m", json.as_bytes()).ok(), Some(write_text(&module).text), "{json}");
    if verify::has_errors(&verify::verify(&module, &Layout::new(&module))) {
        return;
    }
    let run = exec::Options { max_steps: 2000, max_bytes: BYTES };
    let loaded = Arc::new(module.clone());
    let Ok(reference) = Reference::new(loaded, &initial, &run) else { return };
    if !reference.complete {
        return;
    }
    let arch = ARCHS[usize::from(how) % 3];
    let said = module.arch.and_then(dmadbg::bir::Arch::generation);
    let mut ring = Options::new(said.unwrap_or(arch));
    ring.ring_slots = [256, 256, 272, 1024][usize::from(slots) % 4];
    let mut by = lower::Options {
        max_desc_elems: [None, Some(3), Some(64)][usize::from(slots >> 2) % 3],
        reuse_block: slots & 0x80 != 0,
        max_block_descs: [None, Some(2), Some(17)][usize::from(slots >> 4) % 3],
        materialise: [Materialise::All, Materialise::Static][usize::from(how >> 7)],
        ..lower::Options::default()
    };
    match how >> 3 & 7 {
        0..=2 => {}
        3 | 4 => {
            let percent = [10, 30, 100][usize::from(readings >> 2) % 3];
            disorder(&mut module, &mut Rng::new(readings.into()), percent);
        }
        5 => ring.fault = Some(RingFault::MissingBarrier),
        6 => ring.fault = Some(RingFault::DroppedByPacking),
        _ => {
            let all = [Mutation::DroppedDescriptor, Mutation::SwappedStride];
            by.mutation = Some(all[usize::from(readings >> 2) % 2]);
        }
    }
    let lowered = lower::lower(&module, &by, Stage::LowerDma);
    let place = |_| Place::default();
    let Ok(p) = module_run::program(&lowered, &place, &initial, &ring) else { return };
    let readings = Readings::ALL[usize::from(readings) % Readings::ALL.len()];
    if reference.proves_rings(&p, readings) {
        let plain = reference.judge_rings_plainly(&p, readings);
        assert!(plain == Verdict::Same, "{readings}: it is proved, but {}", plain.words());
    }
}
