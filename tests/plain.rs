//! The reference interpreter against a plain one that was written for tests (`plain_support`).
//!
//! Generated modules are free of races, so that the order of the arrays gives what every legal
//! order gives. `DMADBG_SEEDS` is how many there are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod plain_support;

use dmadbg::bir::exec::{self, Program};
use dmadbg::bir::generate;
use dmadbg::bir::memory::Memory;
use plain_support::Plain;
use std::sync::Arc;

/// Nothing that hangs on registers, on opaque values or on who comes first.
fn options() -> generate::Options {
    generate::Options {
        dynamic_loops: false,
        scalar: false,
        opaque: false,
        large: false,
        ..generate::Options::default()
    }
}

#[test]
fn the_interpreter_does_what_a_plain_one_does() {
    let seeds = std::env::var("DMADBG_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(400);
    let mut transfers = 0u64;
    for seed in 50_000..50_000 + seeds {
        let g = generate::module(seed, &options());
        let module = Arc::new(g.module);
        let p = Program::new(module.clone());
        let mut memory = Memory::new();
        let mut plain = Plain::new(&module);
        for (name, bytes) in &g.memory {
            memory.load(p.layout(), name, bytes).unwrap();
            plain.load(name, bytes);
        }
        let outcome = exec::run(&p, &mut memory, &exec::Options::default());
        assert!(outcome.finished, "seed {seed}: {:?}", outcome.findings);
        plain.execute();
        module
            .visit(&mut |i| transfers += u64::from(i.opcode.is_dma() || i.opcode.is_descriptor()));
        for (_, l) in module.locations() {
            let got = memory.dump(p.layout(), &l.name).unwrap();
            let want = plain.dump(&l.name);
            let differs = got.iter().zip(&want).position(|(a, b)| a != b);
            assert_eq!(differs, None, "seed {seed}: `{}`: {got:x?}, not {want:x?}", l.name);
        }
    }
    assert!(transfers > 3 * seeds, "{transfers}");
}
