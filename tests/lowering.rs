//! Lowering keeps the meaning: every recorded module is executed after every stage, under many
//! options, and its memory is what it should be.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod golden_support;

use dmadbg::bir::exec::{self, Program};
use dmadbg::bir::memory::{Memory, from_hex, to_hex};
use dmadbg::bir::{Body, Finding, Layout, Module, Opcode, Pos, generate, verify};
use dmadbg::diag::Severity;
use dmadbg::engine::lower::{
    Lowered, Materialise, Mutation, Options, SplitRule, Stage, derived, lower, origin, provenance,
};
use dmadbg::load::bir::read_json;
use golden_support::{Compared, golden};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;

struct Case {
    name: String,
    text: Vec<u8>,
    json: Value,
}

impl Case {
    fn memory(&self, key: &str) -> BTreeMap<String, Vec<u8>> {
        let map = self.json[key].as_object().expect("an object of locations");
        let bytes = |v: &Value| from_hex(v.as_str().expect("hex")).expect("hex");
        map.iter().map(|(k, v)| (k.clone(), bytes(v))).collect()
    }

    /// To be judged when lowered, not only as loaded.
    fn is_ok(&self) -> bool {
        self.json["expect"] == "ok" && self.json["scope"].is_null()
    }

    fn module(&self) -> Option<Module> {
        read_json(&self.name, &self.text).ok().map(|l| l.module)
    }

    /// What is wrong with the memory after running this module.
    fn judge(&self, module: &Arc<Module>) -> Result<(), String> {
        let p = Program::new(module.clone());
        let mut memory = Memory::new();
        for (name, bytes) in self.memory("memory_in") {
            memory.load(p.layout(), &name, &bytes).map_err(|e| format!("{name}: {e}"))?;
        }
        let outcome = exec::run(&p, &mut memory, &exec::Options::default());
        if let Some(f) = outcome.error() {
            return Err(f.diag.message.clone());
        }
        if let Some(f) = outcome.findings.first() {
            return Err(format!("{}: {}", f.diag.code, f.diag.message));
        }
        let out = self.memory("memory_out");
        let before = self.memory("memory_in");
        for (name, want) in before.iter().filter(|b| !out.contains_key(b.0)).chain(&out) {
            let got = memory.dump(p.layout(), name).map_err(|e| e.to_string())?;
            if let Some(at) = (0..want.len()).find(|i| got[*i] != want[*i]) {
                let end = (at + 16).min(want.len());
                let (got, want) = (to_hex(&got[at..end]), to_hex(&want[at..end]));
                return Err(format!("`{name}` from byte {at}: {got}, wanted {want}"));
            }
        }
        Ok(())
    }
}

fn cases() -> Option<Vec<Case>> {
    let folder = golden()?.join("bir");
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "json"));
    paths.sort();
    let case = |p: &std::path::PathBuf| {
        let text = fs::read(p).unwrap();
        let json = serde_json::from_slice(&text).unwrap();
        Case { name: p.file_stem().unwrap().to_str().unwrap().to_owned(), text, json }
    };
    Some(paths.iter().map(case).collect())
}

fn errors(lowered: &Lowered) -> Vec<String> {
    let all = lowered.findings().filter(|f| f.diag.severity == Severity::Error);
    all.map(|f| format!("{}: {}", f.diag.code, f.diag.message)).collect()
}

/// The verifier finds no error.
fn is_accepted(about: &str, module: &Module) {
    let found = verify::verify(module, &Layout::new(module));
    // A descriptor may use an axis of a dynamic loop around its trigger: it is patched when fired.
    let patched = |f: &&Finding| f.diag.code != "B067";
    let bad = found.iter().filter(|f| f.diag.severity == Severity::Error).filter(patched);
    let bad: Vec<_> = bad.map(|f| format!("{}: {}", f.diag.code, f.diag.message)).collect();
    assert_eq!(bad, [""; 0], "{about}");
}

/// Everything that holds of any lowered module.
fn is_sound(name: &str, module: &Module, lowered: &Lowered) {
    let done = lowered.module().unwrap();
    let mut dmas = BTreeSet::new();
    module.visit(&mut |i| {
        if i.opcode.is_dma() {
            dmas.insert(i.pos);
        }
    });
    let mut old = BTreeSet::new();
    module.visit(&mut |i| {
        old.insert(i.pos);
    });
    let mut names = BTreeSet::new();
    let mut triggered: BTreeSet<Pos> = BTreeSet::new();
    let mut blocks = 0;
    let fresh = |p: &Pos| !dmas.contains(p);
    for q in &done.queues {
        let mut seen = BTreeSet::new();
        for (at, b) in q.dma_blocks().enumerate() {
            let Body::DmaBlock(k) = &b.body else { panic!("{name}: no block") };
            assert!(seen.insert(b.name.clone()), "{name}: {} twice", b.name);
            if fresh(&b.pos) {
                continue;
            }
            blocks += 1;
            assert_eq!(*b.name, *format!("dma_block_{}", k.block_id.unwrap()), "{name}");
            assert!(k.block_id.unwrap() >= at as u64, "{name}");
            for d in k.descriptors() {
                assert!(dmas.contains(&d.pos), "{name}: {} stems from no transfer", d.name);
                for p in d.ins.iter().chain(&d.outs).map(|o| o.as_pattern().unwrap()) {
                    assert!(p.pairs.len() <= 4, "{name}: {} pairs", p.pairs.len());
                    assert!(!p.is_dynamic(), "{name}: {} is dynamic", d.name);
                }
            }
        }
    }
    let mut bound = 0;
    done.visit(&mut |i| {
        if let Body::Trigger(t) = &i.body
            && dmas.contains(&i.pos)
        {
            triggered.insert(i.pos);
            bound += t.dma_blocks.len();
            assert!(names.insert(i.name.clone()) || module_repeats(module, &i.name));
        }
        assert!(i.pos == Pos::ADDED || old.contains(&i.pos), "{name}: {}", i.name);
    });
    assert_eq!(bound, blocks, "{name}: each new block is bound to one trigger");
    assert_eq!(triggered, dmas, "{name}: each transfer has a trigger");
    for pos in &dmas {
        let paths = derived(done, *pos);
        assert!(paths.iter().all(|p| origin(done, p) == Some(*pos)), "{name}");
        let found: Vec<_> = paths.iter().map(|p| provenance::at(done, p).unwrap()).collect();
        assert!(found.iter().any(|i| i.opcode == Opcode::DmaTrigger), "{name}");
    }
}

fn module_repeats(module: &Module, name: &str) -> bool {
    let mut n = 0;
    module.visit(&mut |i| n += usize::from(&*i.name == name));
    n > 1
}

#[test]
fn memory_is_the_same_after_every_stage() {
    let Some(cases) = cases() else { return };
    let mut n = Compared::new();
    for case in cases.iter().filter(|c| c.is_ok()) {
        let module = case.module().unwrap_or_else(|| panic!("{} cannot be read", case.name));
        for max_desc_elems in [None, Some(1), Some(3), Some(7)] {
            for split in [SplitRule::Factor, SplitRule::Greedy, SplitRule::Equal] {
                // Only where something is split does the rule matter.
                if split != SplitRule::Factor && !case.name.starts_with("size_") {
                    continue;
                }
                let opts = Options { max_desc_elems, split, ..Options::default() };
                judge_all(case, &module, &opts, &mut n);
            }
        }
        for opts in [
            Options { reuse_block: true, ..Options::default() },
            Options { reuse_block: true, max_desc_elems: Some(3), ..Options::default() },
            Options { max_block_descs: Some(2), max_desc_elems: Some(5), ..Options::default() },
            Options { max_block_descs: Some(1), ..Options::default() },
            Options { materialise: Materialise::Static, ..Options::default() },
        ] {
            judge_all(case, &module, &opts, &mut n);
        }
    }
    n.finish("modules after a stage");
}

fn judge_all(case: &Case, module: &Module, opts: &Options, n: &mut Compared) {
    let lowered = lower(module, opts, Stage::LowerDma);
    let about = format!("{} {opts:?}", case.name);
    assert_eq!(errors(&lowered), [""; 0], "{about}");
    let mut last: Option<Arc<Module>> = None;
    for s in &lowered.snapshots {
        if last.as_ref().is_some_and(|l| **l == *s.module) {
            continue;
        }
        if let Err(why) = case.judge(&s.module) {
            panic!("{about} after {}: {why}", s.stage);
        }
        is_accepted(&format!("{about} after {}", s.stage), &s.module);
        last = Some(s.module.clone());
        n.one();
    }
    if opts.materialise == Materialise::All && !opts.reuse_block {
        is_sound(&about, module, &lowered);
        let again = lower(lowered.module().unwrap(), opts, Stage::LowerDma);
        assert!(**again.module().unwrap() == **lowered.module().unwrap(), "{about}: not again");
    }
}

/// Error cases, and the code with which lowering itself refuses them. The others are seen when
/// they are read, verified or executed.
const REFUSED: &[(&str, &str)] = &[
    ("error_cce_seventeen_sources", "L017"),
    ("error_dynamic_both_kinds", "L005"),
    ("error_dynamic_neither_kind", "L005"),
    ("error_dynamic_on_both_sides", "L004"),
    ("error_dynamic_with_dge_none", "L003"),
    ("error_element_counts_differ", "L012"),
    ("error_hwdge_on_pe", "L015"),
    ("error_last_row_beyond_variable", "L021"),
    ("error_loop_last_iteration_beyond", "L021"),
    ("error_negative_step_below_zero", "L021"),
    ("error_offset_beyond_variable", "L021"),
    ("error_replicate_does_not_divide", "L018"),
    ("error_sb_columns_beyond_pitch", "L021"),
    ("error_sb_partitions_beyond_tile", "L021"),
    ("error_transpose_sb_to_sb", "L013"),
    ("error_transpose_source_3d", "L013"),
];

#[test]
fn what_cannot_be_lowered_is_refused_for_its_reason() {
    let Some(cases) = cases() else { return };
    let mut n = Compared::new();
    let mut seen = BTreeMap::new();
    for case in cases.iter().filter(|c| c.json["expect"] == "error") {
        let Some(module) = case.module() else { continue };
        let lowered = lower(&module, &Options::default(), Stage::LowerDma);
        let all = lowered.findings().filter(|f| f.diag.severity == Severity::Error);
        let codes: BTreeSet<_> = all.map(|f| f.diag.code).collect();
        if !codes.is_empty() {
            assert_eq!(codes.len(), 1, "{}: {codes:?}", case.name);
            seen.insert(case.name.as_str(), *codes.first().unwrap());
        }
        n.one();
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), REFUSED);
    n.finish("modules with a fault");
}

#[test]
fn every_fault_of_a_pass_shows_in_memory_or_as_an_error() {
    let Some(cases) = cases() else { return };
    let mut n = Compared::new();
    for (mutation, elems, stage) in [
        (Mutation::LostRemainder, Some(7), Stage::Peel),
        (Mutation::SwappedStrideUnroll, None, Stage::Unroll),
        (Mutation::ForeignBase, None, Stage::Unroll),
        (Mutation::OffByOneSplit, Some(1), Stage::Split),
        (Mutation::SwappedStride, None, Stage::LowerDma),
        (Mutation::DroppedDescriptor, None, Stage::LowerDma),
    ] {
        let mut found = 0;
        for case in cases.iter().filter(|c| c.is_ok()) {
            let module = case.module().unwrap();
            let good = Options { max_desc_elems: elems, ..Options::default() };
            let bad = Options { mutation: Some(mutation), ..good.clone() };
            let (good, bad) = (lower(&module, &good, stage), lower(&module, &bad, stage));
            if good.module() == bad.module() && errors(&bad).is_empty() {
                continue;
            }
            let seen = !errors(&bad).is_empty() || case.judge(bad.module().unwrap()).is_err();
            found += usize::from(seen);
            n.one();
        }
        assert!(found > 0, "{mutation:?} is never seen");
    }
    n.finish("faulty modules");
}

/// Runs a module; the bytes of each location afterwards.
fn run(module: &Arc<Module>, memory: &[(dmadbg::bir::Name, Vec<u8>)]) -> Result<Memory, String> {
    let p = Program::new(module.clone());
    let mut m = Memory::new();
    for (name, bytes) in memory {
        m.load(p.layout(), name, bytes).map_err(|e| format!("{name}: {e}"))?;
    }
    let outcome = exec::run(&p, &mut m, &exec::Options::default());
    match outcome.error() {
        Some(f) => Err(format!("{}: {}", f.diag.code, f.diag.message)),
        None => Ok(m),
    }
}

fn same(a: &Memory, b: &Memory, module: &Module) -> Result<(), String> {
    let layout = Layout::new(module);
    for p in layout.placed() {
        let dump = |m: &Memory| m.dump(&layout, &p.name).unwrap();
        if let Some(at) = dump(a).iter().zip(dump(b)).position(|(x, y)| *x != y) {
            return Err(format!("`{}` differs at byte {at}", p.name));
        }
    }
    Ok(())
}

/// Choices, by a number.
fn choices(k: u64) -> Options {
    let pick = |n: u64, of: &[Option<u64>]| of[(k / n) as usize % of.len()];
    Options {
        max_desc_elems: pick(1, &[None, Some(1), Some(3), Some(7), Some(40)]),
        split: [SplitRule::Factor, SplitRule::Greedy, SplitRule::Equal][(k / 5 % 3) as usize],
        reuse_block: k % 4 == 3,
        max_block_descs: pick(7, &[None, Some(1), Some(5), Some(17)]),
        materialise: if k % 11 == 10 { Materialise::Static } else { Materialise::All },
        mutation: None,
    }
}

#[test]
fn generated_modules_mean_the_same_after_every_stage() {
    let seeds = std::env::var("DMADBG_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(300);
    let mut lowered_whole = 0;
    let mut codes = BTreeMap::new();
    for seed in 0..seeds {
        let g = generate::module(seed, &generate::Options::default());
        let module = Arc::new(g.module);
        let want = run(&module, &g.memory).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let opts = choices(seed);
        let lowered = lower(&module, &opts, Stage::LowerDma);
        let errors = errors(&lowered);
        if !errors.is_empty() {
            println!("seed {seed}: {errors:?}");
        }
        lowered_whole += u64::from(errors.is_empty());
        for f in lowered.findings() {
            *codes.entry(f.diag.code).or_insert(0u64) += 1;
        }
        for s in &lowered.snapshots[1..] {
            let about = format!("seed {seed} {opts:?} after {}", s.stage);
            is_accepted(&about, &s.module);
            let got = run(&s.module, &g.memory).unwrap_or_else(|e| panic!("{about}: {e}"));
            same(&want, &got, &module).unwrap_or_else(|e| panic!("{about}: {e}"));
        }
        if errors.is_empty() && opts.materialise == Materialise::All && !opts.reuse_block {
            is_sound(&format!("seed {seed}"), &module, &lowered);
            let again = lower(lowered.module().unwrap(), &opts, Stage::LowerDma);
            assert!(**again.module().unwrap() == **lowered.module().unwrap(), "seed {seed}");
        }
    }
    println!("{codes:?}");
    assert!(lowered_whole > seeds / 2, "only {lowered_whole} of {seeds} were lowered");
}

/// A number that is still allowed nearly everywhere.
const MANY: i64 = 1 << 20;

/// Spoils a module here and there.
fn spoil(module: &mut Module, rng: &mut generate::Rng) {
    fn block(b: &mut dmadbg::bir::Block, rng: &mut generate::Rng) {
        for i in &mut b.insts {
            let i = Arc::make_mut(i);
            for inner in i.blocks_mut().into_iter().flatten() {
                block(inner, rng);
            }
            if rng.chance(80) {
                continue;
            }
            let number = |rng: &mut generate::Rng| {
                *rng.pick(&[0, 1, -1, 3, 5, MANY, i64::MAX, i64::MIN, 1 << 40, i64::MAX - 1])
            };
            let operands = i.ins.iter_mut().chain(&mut i.outs);
            for p in operands.filter_map(|o| o.as_pattern_mut()) {
                match rng.below(6) {
                    0 => p.offset = number(rng),
                    1 => p.pairs.iter_mut().for_each(|q| q.step = number(rng)),
                    2 => p.pairs.iter_mut().for_each(|q| q.num = number(rng) as u64),
                    3 => drop(p.pairs.pop()),
                    4 => p.max_index = Some(number(rng) as u64),
                    _ => p.start = Some(dmadbg::bir::Expr::Const(number(rng))),
                }
            }
            if let Body::Dma(d) = &mut i.body {
                match rng.below(5) {
                    0 => d.mode = *rng.pick(dmadbg::bir::Mode::ALL),
                    1 => d.dge = *rng.pick(dmadbg::bir::DgeType::ALL),
                    2 => d.queue = None,
                    3 => i.engine = *rng.pick(dmadbg::bir::Engine::ALL),
                    _ => d.transpose = *rng.pick(dmadbg::bir::TransposeOp::ALL),
                }
            }
            if let Body::Loop(l) = &mut i.body {
                // As many rounds as can be lowered take long: `tests/bir_bounds.rs` counts those.
                l.axis.ub = match number(rng) {
                    MANY => 1 << 12,
                    n => n,
                };
            }
        }
    }
    for b in module.functions.iter_mut().flat_map(|f| &mut f.blocks) {
        block(b, rng);
    }
}

#[test]
fn whatever_a_module_holds_it_is_lowered_or_refused() {
    let mut refused = 0;
    for seed in 0..600 {
        let mut module = generate::module(seed, &generate::Options::default()).module;
        spoil(&mut module, &mut generate::Rng::new(seed));
        let lowered = lower(&module, &choices(seed), Stage::LowerDma);
        refused += u64::from(lowered.has_errors());
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn the_page_has_every_option() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/lowering.md");
    let page = fs::read_to_string(path).unwrap();
    for o in dmadbg::engine::lower::OPTIONS {
        let row = format!("| `{}` | {} | {} |", o.name, o.values.replace(" | ", ", "), o.default);
        assert!(page.contains(&row), "docs/lowering.md lacks {row}");
    }
}

#[test]
fn any_legal_order_of_a_lowered_module_gives_the_same_memory() {
    for seed in 1000..1200 {
        let g = generate::module(seed, &generate::Options::default());
        let module = Arc::new(g.module);
        let want = run(&module, &g.memory).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let lowered = lower(&module, &choices(seed), Stage::LowerDma);
        let p = Program::new(lowered.module().unwrap().clone());
        let mut rng = generate::Rng::new(seed);
        for _ in 0..4 {
            let mut memory = Memory::new();
            for (name, bytes) in &g.memory {
                memory.load(p.layout(), name, bytes).unwrap();
            }
            let mut control = exec::Control::new(&p);
            let options = exec::Options::default();
            let outcome = exec::run_from(&p, &mut control, &mut memory, &options, &mut |c| {
                let ready = c.ready_engines(&p);
                (!ready.is_empty()).then(|| *rng.pick(&ready))
            });
            assert!(outcome.finished, "seed {seed}: {:?}", outcome.findings);
            same(&want, &memory, &module).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        }
    }
}
