//! The validator is not asleep: every fault that lowering or the authoring of descriptors can
//! commit on purpose is found at its stage, for its instruction, with the first address and
//! both values; without the fault there is nothing to find (`docs/validation.md`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::bir::generate;
use dmadbg::bir::verify::verify;
use dmadbg::bir::{At, Inst, Module, Part, Pos, exec};
use dmadbg::diag::Place;
use dmadbg::engine::lower::{self, Lowered, Mutation, Stage};
use dmadbg::engine::module_run::{self, Initial, Options, RingFault};
use dmadbg::engine::validate::{Difference, Reference, Verdict, validate};
use dmadbg::load::bir::read_text;
use dmadbg::udma::Generation;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// Three instructions of one engine: an innocent one before, the one that is meant, and one that
/// hands on what it left.
fn module(x: u64, y: u64, dma: &str) -> Module {
    let blocks = if dma.contains("fires") { BLOCKS } else { "blocks=[]" };
    let text = format!(
        "bir 2 gen3
func main {{
  set x_set : uint8 ExternalInput {{
    location x DRAM [{x}] addr=0
  }}
  set i_set : int32 ExternalInput {{
    location i DRAM [20] addr=0
  }}
  set y_set : uint8 ExternalOutput {{
    location y DRAM [{y}] addr=0
  }}
  set w_set : uint8 ExternalOutput {{
    location w DRAM [8] addr=0
  }}
  set z_set : uint8 ExternalOutput {{
    location z DRAM [{y}] addr=0
  }}
  block Block1:
    %before = DMACopy Pool queue=qPoolDyn0 dge_type=SWDGE ins(x[[1, 8]] : uint8) outs(w[[1, 8]] : uint8)
    {dma}
    %after = DMACopy Pool queue=qPoolDyn0 dge_type=SWDGE ins(y[[1, {y}]] : uint8) outs(z[[1, {y}]] : uint8)
}}

queue qPoolDyn0 {blocks}
"
    );
    read_text("m", &text).unwrap_or_else(|d| panic!("{d:#?}\n{text}")).module
}

/// The block of the one that is lowered already: the second descriptor reads what the first
/// writes, and both stay apart as packets.
const BLOCKS: &str = "{
  block:
    %dma_block_0 = DMABlock DMA block_id=0 ins() outs() {
      block dma_block_0_0:
        %desc-0 = DMADescriptorCopy DMA ins(x[[1, 16]] +8 : uint8) outs(y[[1, 16]] : uint8)
        %desc-1 = DMADescriptorCopy DMA ins(y[[1, 16]] : uint8) outs(y[[1, 16]] +16 : uint8)
    }
}";

const GATHER: &str = "%meant = DMACopy Pool queue=qPoolDyn0 dge_type=SWDGE \
    ins(x_set[[4, 5], [1, 4]] at(arg(1)) : uint8, i[[1, 5]] : int32) outs(y[[4, 5], [1, 4]] : uint8)";
const WINDOW: &str = "%meant = DMACopy Pool queue=qPoolDyn0 dge_type=SWDGE \
    ins(x[[8, 4], [1, 4]] : uint8) outs(y[[1, 16]] : uint8)";
const ROWS: &str = "%meant = DMACopy Pool queue=qPoolDyn0 dge_type=SWDGE \
    ins(x[[2, 1021]] : uint8) outs(y[[1, 1021]] : uint8)";
const FIRED: &str = "%meant = DMATrigger Pool queue=qPoolDyn0 dge_type=SWDGE \
    ins() outs() fires(dma_block_0)";

/// What is in a byte of `x`.
fn x_at(k: u64) -> u8 {
    (k * 7 % 251) as u8
}

/// What is in `y` before anything is written.
const BEFORE: u8 = 0xee;
/// Rows that the gather picks.
const INDICES: [i32; 5] = [7, 2, 11, 0, 5];

fn initial(x: u64, y: u64) -> Initial {
    let given = BTreeMap::from([
        ("x".to_owned(), (0..x).map(x_at).collect()),
        ("y".to_owned(), vec![BEFORE; y as usize]),
        ("i".to_owned(), INDICES.iter().flat_map(|i| i.to_le_bytes()).collect()),
    ]);
    Initial { given, file: None }
}

struct Case {
    x: u64,
    y: u64,
    dma: &'static str,
    max_desc_elems: Option<u64>,
}

const CASES: [Case; 5] = [
    Case { x: 64, y: 20, dma: GATHER, max_desc_elems: Some(8) },
    Case { x: 64, y: 16, dma: WINDOW, max_desc_elems: None },
    Case { x: 64, y: 16, dma: WINDOW, max_desc_elems: Some(8) },
    Case { x: 2048, y: 1021, dma: ROWS, max_desc_elems: Some(1) },
    Case { x: 64, y: 32, dma: FIRED, max_desc_elems: None },
];

/// All stages and rings; the first that is not as it should be.
fn judged(
    case: &Case,
    mutation: Option<Mutation>,
    fault: Option<RingFault>,
) -> (Lowered, Option<(Stage, Verdict)>) {
    let options =
        lower::Options { max_desc_elems: case.max_desc_elems, mutation, ..Default::default() };
    let lowered = lower::lower(&module(case.x, case.y, case.dma), &options, Stage::LowerDma);
    assert!(!lowered.has_errors(), "{:?}", lowered.findings().collect::<Vec<_>>());
    let initial = initial(case.x, case.y);
    let ring = Options { fault, ..Options::new(Generation::V3) };
    let p = module_run::program(&lowered, &|_| Place::default(), &initial, &ring).unwrap();
    let v = validate(&lowered, Some(&p), &initial, &exec::Options::default()).unwrap();
    assert_eq!(v.stages.len(), Stage::ALL.len());
    // The plain twin: no stage shares a module with another, so each is verified and run.
    let mut apart = lowered.clone();
    apart.snapshots.iter_mut().for_each(|s| s.module = Arc::new((*s.module).clone()));
    let plain = validate(&apart, Some(&p), &initial, &exec::Options::default()).unwrap();
    assert_eq!(v.stages, plain.stages);
    let bad = v.first_bad().cloned();
    (lowered, bad)
}

/// Byte `at` of `y` is blamed on an instruction.
fn blamed(lowered: &Lowered, d: &Difference, pos: Pos, at: u64, (expected, found): (u8, u8)) {
    let layout = dmadbg::bir::Layout::new(lowered.module().unwrap());
    let y = layout.location("y").unwrap().addr;
    assert_eq!(d.inst, Some(pos), "{d:?}");
    assert_eq!((d.address, d.expected, d.found), (y + at, expected, found), "{d:?}");
    let text = d.finding(Stage::Peel).diag.message;
    let values = [format!("{expected:#04x}"), format!("{found:#04x}"), "`y`".to_owned()];
    for v in &values {
        assert!(text.contains(v.trim_matches('`')), "{text} lacks {v}");
    }
    assert_eq!(d.finding(Stage::Peel).at, Some(At::Inst(pos, Part::Whole)));
}

#[test]
fn without_a_fault_every_stage_is_as_loaded() {
    for case in &CASES {
        let (_, bad) = judged(case, None, None);
        assert_eq!(bad, None, "{}", case.dma);
    }
}

#[test]
fn every_mutation_is_found_at_its_stage_for_its_instruction_with_both_values() {
    let row = |k: usize| x_at(INDICES[k] as u64 * 4);
    let found = [
        // Three chunks of 2, 2 and 1 rows, of which the last is not there.
        (Mutation::LostRemainder, 0, Stage::Peel, 16, row(4), BEFORE),
        // Index times 1, and four bytes between the columns.
        (Mutation::SwappedStrideUnroll, 0, Stage::Unroll, 0, row(0), x_at(INDICES[0] as u64)),
        // The second row of the first chunk has the index of the first.
        (Mutation::ForeignBase, 0, Stage::Unroll, 4, row(1), row(0)),
        (Mutation::OffByOneSplit, 3, Stage::Split, 1020, x_at(2040), x_at(2038)),
        (Mutation::SwappedStride, 1, Stage::LowerDma, 1, x_at(1), x_at(8)),
        (Mutation::DroppedDescriptor, 2, Stage::LowerDma, 8, x_at(16), BEFORE),
    ];
    for (mutation, k, stage, at, expected, was) in found {
        let case = &CASES[k];
        let (lowered, bad) = judged(case, Some(mutation), None);
        match bad {
            Some((s, Verdict::Differs(d))) => {
                assert_eq!(s, stage, "{mutation:?}: {d:?}");
                // Every block loses its last descriptor, that of the one before first.
                let first = if mutation == Mutation::DroppedDescriptor { 0 } else { 1 };
                blamed(&lowered, &d, Pos(first), at, (expected, was));
            }
            other => panic!("{mutation:?}: {other:?}"),
        }
    }
}

#[test]
fn a_packet_that_packing_loses_is_found_on_rings() {
    // Two packets, the second of which writes bytes 16..32 of `y`: the descriptor is blamed,
    // not the trigger that fires it.
    let (lowered, bad) = judged(&CASES[4], None, Some(RingFault::DroppedByPacking));
    let Some((Stage::Rings, Verdict::Differs(d))) = bad else { panic!("{bad:?}") };
    blamed(&lowered, &d, Pos(5), 16, (x_at(8), BEFORE));
}

#[test]
fn a_missing_barrier_is_a_race_on_rings_though_the_bytes_are_right() {
    for case in &CASES {
        let (_, bad) = judged(case, None, Some(RingFault::MissingBarrier));
        let Some((Stage::Rings, Verdict::Races(r))) = bad else { panic!("{}: {bad:?}", case.dma) };
        assert!(!r.is_empty());
    }
}

/// Instructions of the loaded module of which a stage makes one thing with a fault and another
/// without.
fn changed(a: &Module, b: &Module) -> HashSet<Pos> {
    fn of(m: &Module) -> BTreeMap<Pos, Vec<Arc<Inst>>> {
        let mut out: BTreeMap<Pos, Vec<Arc<Inst>>> = BTreeMap::new();
        m.visit(&mut |i| out.entry(i.pos).or_default().push(i.clone()));
        out
    }
    let (a, b) = (of(a), of(b));
    let all = a.keys().chain(b.keys());
    all.filter(|p| a.get(p) != b.get(p)).copied().collect()
}

/// Over generated modules: a stage before the fault is as it should be, and where the stage of
/// the fault leaves other bytes, one of those instructions is blamed that the fault changed.
#[test]
fn a_fault_in_a_generated_module_is_blamed_on_an_instruction_that_it_changed() {
    let run = exec::Options::default();
    for (mutation, stage) in [
        (Mutation::LostRemainder, Stage::Peel),
        (Mutation::SwappedStrideUnroll, Stage::Unroll),
        (Mutation::ForeignBase, Stage::Unroll),
        (Mutation::OffByOneSplit, Stage::Split),
        (Mutation::SwappedStride, Stage::LowerDma),
        (Mutation::DroppedDescriptor, Stage::LowerDma),
    ] {
        let (mut seen, mut named) = (0, 0);
        for seed in 0..6000 {
            if named >= 15 {
                break;
            }
            let options = generate::Options {
                large: mutation == Mutation::OffByOneSplit,
                units: 5,
                ..generate::Options::default()
            };
            let g = generate::module(seed, &options);
            let elems = match mutation {
                // Whole rows stay together where one must take the index of another.
                Mutation::ForeignBase => None,
                // More descriptors than a ring holds.
                Mutation::OffByOneSplit => Some(1),
                _ => Some(3),
            };
            let sound = lower::Options { max_desc_elems: elems, ..Default::default() };
            let faulty = lower::Options { mutation: Some(mutation), ..sound.clone() };
            let good = lower::lower(&g.module, &sound, stage);
            let bad = lower::lower(&g.module, &faulty, stage);
            let changed = changed(good.module().unwrap(), bad.module().unwrap());
            if changed.is_empty() {
                continue;
            }
            seen += 1;
            let given = g.memory.iter().map(|(n, b)| (n.to_string(), b.clone())).collect();
            let initial = Initial { given, file: None };
            let reference = Reference::new(Arc::new(g.module), &initial, &run).unwrap();
            for s in &bad.snapshots {
                match reference.judge(&s.module, &run) {
                    Verdict::Same => {}
                    Verdict::Differs(d) => {
                        assert_eq!(s.stage, stage, "{mutation:?} {seed}: {d:?}");
                        assert!(
                            d.inst.is_some_and(|i| changed.contains(&i)),
                            "{mutation:?} {seed}: {d:?}, but it changed {changed:?}"
                        );
                        assert_ne!(d.expected, d.found);
                        named += 1;
                    }
                    // An address that leaves its location.
                    Verdict::Failed(f) => {
                        assert_eq!(s.stage, stage, "{mutation:?} {seed}: {f:?}");
                    }
                    Verdict::Races(r) => panic!("{r:?}"),
                }
            }
        }
        println!("{mutation:?}: {seen} modules, {named} named");
        assert!(seen >= 5 && named >= 2, "{mutation:?}: {named} of {seen}");
    }
}

/// `first` writes `y`, `last` writes it again, on other engines; `between` stands between them.
fn ordered_by(between: &str) -> Verdict {
    let text = format!(
        "bir 2 gen3
func main {{
  set x_set : uint8 ExternalInput {{
    location x DRAM [64] addr=0
  }}
  set y_set : uint8 ExternalOutput {{
    location y DRAM [64] addr=0
  }}
  set z_set : uint8 ExternalOutput {{
    location z DRAM [64] addr=0
  }}
  block Block1:
    %other = DMACopy Activation queue=q2 dge_type=None ins(x[[1, 64]] : uint8) outs(z[[1, 64]] : uint8)
    %first = DMACopy SP queue=q0 dge_type=None ins(x[[1, 64]] : uint8) outs(y[[1, 64]] : uint8)
    {between}
    %last = DMACopy Pool queue=q1 dge_type=None ins(x[[-1, 64]] +63 : uint8) outs(y[[1, 64]] : uint8)
}}

queue q0 blocks=[]
queue q1 blocks=[]
queue q2 blocks=[]
"
    );
    let m = Arc::new(read_text("m", &text).unwrap_or_else(|d| panic!("{d:#?}")).module);
    let initial =
        Initial { given: BTreeMap::from([("x".to_owned(), (0..64).collect())]), file: None };
    let run = exec::Options::default();
    let reference = Reference::new(m.clone(), &initial, &run).unwrap();
    let lowered = lower::lower(&m, &lower::Options::default(), Stage::LowerDma);
    let ring = Options::new(Generation::V3);
    let p = module_run::program(&lowered, &|_| Place::default(), &initial, &ring).unwrap();
    reference.judge_rings(&p, dmadbg::engine::order::Readings::default())
}

/// Whichever engine does what stands for all of them, each of the others goes on with what all
/// did before.
#[test]
fn a_barrier_of_all_engines_orders_each_with_every_other() {
    assert_eq!(ordered_by("%b = AllEngineBarrier ALL ins() outs()"), Verdict::Same);
    let free = ordered_by("%n = NoOp SP ins() outs()");
    assert!(!free.is_good(), "{free:?}");
}

/// A descriptor in a block of `q`, whose destination begins at `axis`; `triggers` fire it.
fn fired(axis: &str, triggers: &str) -> Result<Module, BTreeSet<&'static str>> {
    let text = format!(
        "bir 2 gen3
func main {{
  set x_set : uint8 ExternalInput {{
    location x DRAM [64] addr=0
  }}
  set y_set : uint8 ExternalOutput {{
    location y DRAM [64] addr=0
  }}
  register r
  block Block1:
    %set = RegisterMove SP ins(imm 3 : int32) outs(reg r : int32)
    {triggers}
}}

queue q {{
  block:
    %dma_block_0 = DMABlock DMA block_id=0 ins() outs() {{
      block dma_block_0_0:
        %desc-0 = DMADescriptorCopy DMA ins(x[[1, 8]] : uint8) outs(y_set[[1, 8]] at(${axis}) : uint8)
    }}
}}
"
    );
    let m = read_text("m", &text).map_err(|e| e.iter().map(|d| d.code).collect::<BTreeSet<_>>())?;
    let found = verify(&m.module, &dmadbg::bir::Layout::new(&m.module));
    let errors = found.iter().filter(|f| f.diag.severity == dmadbg::diag::Severity::Error);
    let errors: BTreeSet<_> = errors.map(|f| f.diag.code).collect();
    if errors.is_empty() { Ok(m.module) } else { Err(errors) }
}

/// Where a block is patched at each fire its descriptors hold axes of the loops around their
/// triggers; all of the triggers, or there is none for one of them.
#[test]
fn a_descriptor_may_use_an_axis_that_all_its_triggers_have() {
    let fire =
        |n| format!("%t{n} = DMATrigger SP queue=q dge_type=None ins() outs() fires(dma_block_0)");
    let around = |axis: &str, n: u32| {
        format!("%l{n} = Loop for {axis} in 0..3 step 1 {{\n block b:\n {}\n }}\n", fire(n))
    };
    assert!(fired("i", &around("i", 1)).is_ok());
    assert!(fired("i", &(around("i", 1) + &around("i", 2))).is_ok());
    for triggers in [
        around("k", 1),
        fire(1),
        around("i", 1) + &fire(2),
        fire(1) + "\n" + &around("i", 2),
        around("i", 1) + &around("k", 2),
        String::new(),
    ] {
        let said = fired("i", &triggers).unwrap_err();
        assert!(said.contains("B026") || said.contains("B067"), "{triggers}: {said:?}");
    }
    // Its extremes are those of the loops: 56 is the last start at which eight bytes fit.
    let far = |end: u32| around("i", 1).replace("0..3", &format!("0..{end}"));
    assert!(fired("i", &far(57)).is_ok());
    assert_eq!(fired("i", &far(58)).unwrap_err(), BTreeSet::from(["B044"]));
}

/// Two engines turn bytes of their own round in place, which no order of pieces can: each puts
/// them down in memory that is not the other's.
#[test]
fn what_two_queues_put_down_on_its_way_does_not_meet() {
    let text = "bir 2 gen3
func main {
  set x_set : uint8 ExternalOutput {
    location x DRAM [64] addr=0
  }
  set y_set : uint8 ExternalOutput {
    location y DRAM [64] addr=0
  }
  block Block1:
    %t = DMATrigger SP queue=q0 dge_type=None ins() outs() fires(dma_block_0)
    %u = DMATrigger Pool queue=q1 dge_type=None ins() outs() fires(dma_block_0)
}

queue q0 {
  block:
    %dma_block_0 = DMABlock DMA ins() outs() {
      block b:
        %desc-0 = DMADescriptorCopy DMA ins(x[[2, 32]] : uint8) outs(x[[-2, 32]] +62 : uint8)
    }
}
queue q1 {
  block:
    %dma_block_0 = DMABlock DMA ins() outs() {
      block b:
        %desc-0 = DMADescriptorCopy DMA ins(y[[2, 32]] : uint8) outs(y[[-2, 32]] +62 : uint8)
    }
}
";
    let m = Arc::new(read_text("m", text).unwrap_or_else(|d| panic!("{d:#?}")).module);
    let bytes = |from: u8| (from..from + 64).collect();
    let given = BTreeMap::from([("x".to_owned(), bytes(0)), ("y".to_owned(), bytes(100))]);
    let initial = Initial { given, file: None };
    let run = exec::Options::default();
    let reference = Reference::new(m.clone(), &initial, &run).unwrap();
    let lowered = lower::lower(&m, &lower::Options::default(), Stage::LowerDma);
    let ring = Options::new(Generation::V3);
    let p = module_run::program(&lowered, &|_| Place::default(), &initial, &ring).unwrap();
    // It goes by way of that memory at all.
    let scratch = p.regions.iter().find(|r| r.name == "scratch").unwrap();
    let mut put_down = 0;
    module_run::each_event(&p, |_, e| {
        let there = e.kind.access().filter(|a| a.2);
        let inside =
            |a: (u64, u64, bool)| (scratch.base..scratch.base + scratch.len).contains(&a.0);
        put_down += u32::from(there.is_some_and(inside));
    });
    assert!(put_down > 1);
    assert_eq!(
        reference.judge_rings(&p, dmadbg::engine::order::Readings::default()),
        Verdict::Same
    );
}
