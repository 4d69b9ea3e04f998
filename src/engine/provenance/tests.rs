use super::*;
use crate::bir::generate;
use crate::diag::Place;
use crate::engine::lower::{Options, lower};
use crate::engine::module_run::{self, Initial};
use crate::engine::program::Program;
use crate::engine::ring::EventKind;

fn program(seed: u64, elems: Option<u64>) -> Program {
    let arch = Some(crate::bir::Arch::Gen3);
    let g = generate::module(seed, &generate::Options { arch, ..generate::Options::default() });
    let options = Options { max_desc_elems: elems, ..Options::default() };
    let lowered = lower(&g.module, &options, Stage::LowerDma);
    assert!(!lowered.has_errors(), "{seed}");
    let given = g.memory.iter().map(|(n, b)| (n.to_string(), b.clone())).collect();
    let place = |p: Pos| Place::text(u64::from(p.0) + 1, 5, 1).in_file("m.bir");
    let options = module_run::Options::new(Generation::V3);
    module_run::program(&lowered, &place, &Initial { given, file: None }, &options).unwrap()
}

/// At every moment: what a slot says of itself is what the instruction says of its slots, the
/// block has that descriptor, and the descriptor stems from that instruction.
#[test]
fn both_directions_agree_at_every_copy_into_a_ring() {
    let mut seen = 0;
    for seed in 0..12 {
        let p = program(seed, (seed % 2 == 0).then_some(3));
        let run = p.module.clone().unwrap();
        let prov = Provenance::of(&run);
        let mut copies = 0;
        module_run::each_event(&p, |m, e| {
            if !matches!(e.kind, EventKind::CopyIn { .. }) {
                return;
            }
            copies += 1;
            if copies % 7 != 1 {
                return;
            }
            for q in &m.queues {
                for dir in Dir::BOTH {
                    for (slot, o) in q.origins(dir) {
                        assert_eq!(prov.of_slot(m, q.id(), dir, slot), Some(o));
                        let inst = prov.slots(m, o.inst);
                        let has =
                            inst.iter().any(|s| (s.queue, s.dir, s.slot) == (q.id(), dir, slot));
                        assert_eq!(has, o.descriptor.is_some());
                        let (Some((position, _)), Some(d)) = (o.block, o.descriptor) else {
                            continue;
                        };
                        let name = run.queue_name(q.id()).unwrap();
                        let made = prov.descriptors(o.inst);
                        let fits = |x: &&DescriptorAt| {
                            (&x.queue, x.position, x.descriptor) == (name, position, d)
                        };
                        assert_eq!(made.iter().filter(fits).count(), 1, "{seed}: {o:?}");
                        seen += 1;
                    }
                }
            }
        });
    }
    assert!(seen > 200, "{seen}");
}

#[test]
fn the_chain_begins_at_the_line_and_ends_in_slots() {
    let p = program(3, None);
    let run = p.module.clone().unwrap();
    let prov = Provenance::of(&run);
    let m = module_run::each_event(&p, |_, _| {});
    let mut checked = 0;
    for n in 0..run.inst_count() as u32 {
        if prov.descriptors(Pos(n)).is_empty() || prov.slots(&m, Pos(n)).is_empty() {
            continue;
        }
        let lines = prov.lines(&m, &Found::Insts(vec![Pos(n)]), p.arch);
        assert!(lines[0].starts_with(&format!("source     m.bir:{}:5: ", n + 1)), "{lines:?}");
        for label in ["loaded", "peel", "unroll", "split", "check", "lower_dma", "trigger", "block"]
        {
            assert!(lines.iter().any(|l| l.starts_with(label)), "{label}: {lines:?}");
        }
        let s = prov.slots(&m, Pos(n))[0];
        let back = prov.lines(&m, &Found::Slot(s.queue, s.dir, s.slot), p.arch);
        assert!(back.iter().any(|l| l == &lines[0]), "{back:?}");
        checked += 1;
    }
    assert!(checked > 0);
}

#[test]
fn names_are_found_and_near_ones_are_suggested() {
    let p = program(3, None);
    let run = p.module.clone().unwrap();
    let prov = Provenance::of(&run);
    let mut names = Vec::new();
    run.exec.module().visit(&mut |i| {
        if matches!(i.body, Body::DmaBlock(_)) {
            names.push(i.name.clone());
        }
    });
    let name = &names[0];
    assert!(matches!(prov.find(name, false), Ok(Found::Block(..))));
    let wrong = format!("{name}x");
    assert!(prov.find(&wrong, false).unwrap_err().iter().any(|n| **n == **name));
    let loc = run.exec.layout().placed()[0].clone();
    assert_eq!(prov.find(&loc.name, false), Ok(Found::Bytes(loc.name.clone(), loc.addr)));
    assert!(prov.find(&loc.name, true).is_err());
    let m = Machine::new(&p);
    let ring = m.queues[0].ring(Dir::Rx);
    let at = prov.find_address(&m, ring.base + 33);
    assert_eq!(at, Some(Found::Slot(m.queues[0].id(), Dir::Rx, 2)));
    assert_eq!(prov.find_address(&m, 1), None);
}
