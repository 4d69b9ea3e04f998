//! Text of a module: whatever can be read goes through every stage, and a sound module keeps its
//! meaning.
#![no_main]

use dmadbg::bir::{Layout, exec, verify};
use dmadbg::engine::lower::{self, Stage};
use dmadbg::engine::module_run::Initial;
use dmadbg::engine::validate::Reference;
use dmadbg::load::bir::read_text;
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|text: &str| {
    let Ok(loaded) = read_text("m", text) else { return };
    let module = Arc::new(loaded.module);
    let sound = !verify::has_errors(&verify::verify(&module, &Layout::new(&module)));
    let lowered = lower::lower(&module, &lower::Options::default(), Stage::LowerDma);
    let run = exec::Options { max_steps: 10_000, max_bytes: 1 << 22 };
    let Ok(reference) = Reference::new(module, &Initial::default(), &run) else { return };
    if !sound || !reference.complete || lowered.has_errors() {
        return;
    }
    // Lowering makes more instructions of one, each of which is a step.
    let more = exec::Options { max_steps: 1 << 20, max_bytes: 1 << 26 };
    for s in &lowered.snapshots {
        let v = reference.judge(&s.module, &more);
        assert!(v.is_good(), "{}: {}", s.stage, v.words());
    }
});
