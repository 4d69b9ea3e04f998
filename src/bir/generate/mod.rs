//! Modules out of a number: sound, free of races, small, with the first content of their
//! memory. Whatever runs modules is held against itself on thousands of them
//! (`docs/verify.md`, "Generated modules").
//!
//! The same seed and options give the same module, on every machine. A module is a row of
//! *units*: a few instructions of one engine that stand together (a transfer with the registers
//! that it needs, a loop nest, a trigger). An engine runs its units in order; of two units of
//! different engines that touch the same bytes, one of them writing, the later one waits for the
//! earlier, by semaphore or dependency, unless it is ordered after it already. That is what makes
//! the module free of races.

mod pattern;
mod storage;
mod sync;
mod transfer;
mod unit;

#[cfg(test)]
mod race_tests;
#[cfg(test)]
mod tests;

use super::{Arch, Inst, Module, Name, Pos};
use std::sync::Arc;

/// What a generated module may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Generation; `None`: one of those that have rings, by the seed.
    pub arch: Option<Arch>,
    /// Most units.
    pub units: u64,
    /// More than one engine.
    pub engines: bool,
    /// Loops with static bounds, and affine addresses.
    pub loops: bool,
    /// Loops whose bound is in a register.
    pub dynamic_loops: bool,
    /// Offsets in registers.
    pub scalar: bool,
    /// Gathers and scatters.
    pub vector: bool,
    /// Indices out of range that are skipped.
    pub skipped: bool,
    /// Transposes.
    pub transpose: bool,
    /// CCE.
    pub cce: bool,
    /// Replicate.
    pub replicate: bool,
    /// Casts.
    pub casts: bool,
    /// Transfers whose source and destination share bytes, and destinations that are written
    /// twice.
    pub overlap: bool,
    /// Patterns of five pairs.
    pub five: bool,
    /// Triggers and blocks.
    pub lowered: bool,
    /// Opaque instructions.
    pub opaque: bool,
    /// Barriers of all engines.
    pub barriers: bool,
    /// Now and then a transfer of more than 65536 bytes or of more than 1020 rows.
    pub large: bool,
}

impl Default for Options {
    /// Everything, in at most 8 units.
    fn default() -> Options {
        Options {
            arch: None,
            units: 8,
            engines: true,
            loops: true,
            dynamic_loops: true,
            scalar: true,
            vector: true,
            skipped: true,
            transpose: true,
            cce: true,
            replicate: true,
            casts: true,
            overlap: true,
            five: true,
            lowered: true,
            opaque: true,
            barriers: true,
            large: true,
        }
    }
}

impl Options {
    /// Static copies without casts on one engine: switch on what is wanted.
    pub fn plain() -> Options {
        Options {
            arch: Some(Arch::Gen3),
            units: 4,
            engines: false,
            loops: false,
            dynamic_loops: false,
            scalar: false,
            vector: false,
            skipped: false,
            transpose: false,
            cce: false,
            replicate: false,
            casts: false,
            overlap: false,
            five: false,
            lowered: false,
            opaque: false,
            barriers: false,
            large: false,
        }
    }
}

/// A module and what is in its memory before it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The module.
    pub module: Module,
    /// For every location its bytes, row-major, partition by partition. A location whose bytes
    /// are all another's is left out.
    pub memory: Vec<(Name, Vec<u8>)>,
}

/// The module of a seed.
pub fn module(seed: u64, options: &Options) -> Generated {
    let mut rng = Rng::new(seed);
    let arch = options.arch.unwrap_or_else(|| *rng.pick(&[Arch::Sunda, Arch::Gen3, Arch::CoreV4]));
    let storage = storage::Storage::new(&mut rng, arch, options);
    let mut b = unit::Builder::new(rng, options, storage);
    b.build();
    let (mut module, memory) = b.finish();
    number(&mut module);
    Generated { module, memory }
}

/// Gives every instruction its position, as a loader would.
pub fn number(module: &mut Module) {
    fn inst(i: &mut Arc<Inst>, next: &mut u32) {
        let i = Arc::make_mut(i);
        i.pos = Pos(*next);
        *next += 1;
        for b in i.blocks_mut().into_iter().flatten() {
            b.insts.iter_mut().for_each(|i| inst(i, next));
        }
    }
    let mut next = 0;
    let functions = module.functions.iter_mut().flat_map(|f| &mut f.blocks);
    for b in functions.chain(module.queues.iter_mut().flat_map(|q| &mut q.blocks)) {
        b.insts.iter_mut().for_each(|i| inst(i, &mut next));
    }
}

/// A splitmix64 generator: the same numbers everywhere.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// Begins at a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// Sixty-four bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 where `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.bits().checked_rem(n).unwrap_or(0)
    }

    /// A number of `lo ..= hi`; `lo` where the range is empty.
    pub fn range(&mut self, lo: i64, hi: i64) -> i64 {
        let n = if hi < lo { 1 } else { hi.abs_diff(lo).saturating_add(1) };
        lo.wrapping_add(self.below(n) as i64)
    }

    /// True in `percent` of all cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of a list, which must not be empty.
    pub fn pick<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.below(list.len() as u64) as usize]
    }
}
