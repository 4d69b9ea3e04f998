#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::bir::generate::{self, Options};
use crate::bir::verify::{has_errors, verify};
use crate::bir::{Layout, Opcode};

fn sound(m: &Module) -> bool {
    !has_errors(&verify(m, &Layout::new(m)))
}

fn count(m: &Module, f: impl Fn(&Inst) -> bool) -> usize {
    let mut n = 0;
    m.visit(&mut |i| n += usize::from(f(i)));
    n
}

#[test]
fn what_is_left_holds_is_no_larger_and_is_the_same_again() {
    for seed in 0..60 {
        let m = generate::module(seed, &Options::default()).module;
        let cce = |i: &Inst| {
            i.opcode == Opcode::DescriptorCce || i.dma().is_some_and(|d| d.mode == Mode::Cce)
        };
        let wanted = count(&m, cce).min(1);
        let mut holds = |m: &Module| sound(m) && count(m, cce) >= wanted;
        let small = shrink(&m, &mut holds);
        assert!(holds(&small), "seed {seed}");
        assert!(weight(&small) <= weight(&m), "seed {seed}");
        assert_eq!(shrink(&m, &mut holds), small, "seed {seed}");
        let all = count(&small, |_| true);
        // One transfer, or a block with one descriptor.
        assert!(all <= 2 * wanted, "seed {seed}: {all} instructions left: {small:#?}");
        for o in small.functions.iter().flat_map(|f| &f.blocks).flat_map(|b| &b.insts) {
            let o = o.outs[0].as_pattern().unwrap();
            assert_eq!((o.count(), o.offset), (Some(1), 0), "seed {seed}: {o:?}");
        }
    }
}

#[test]
fn a_loop_shrinks_to_one_trip_or_to_its_body() {
    let looped = |m: &Module| count(m, |i| i.opcode == Opcode::Loop);
    let loads = |m: &Module| {
        count(m, |i| i.outs.iter().any(|o| o.as_pattern().is_some_and(|p| p.count() > Some(3))))
    };
    let mut seen = 0;
    for seed in 0..100 {
        let m = generate::module(seed, &Options::default()).module;
        if looped(&m) == 0 {
            continue;
        }
        seen += 1;
        let small = shrink(&m, &mut |m| sound(m) && looped(m) > 0);
        let mut trips = Vec::new();
        small.visit(&mut |i| {
            if let Body::Loop(l) = &i.body {
                trips.push(l.axis.trips());
            }
        });
        assert_eq!(trips, [Some(1)], "seed {seed}");
        if loads(&m) > 0 {
            let small = shrink(&m, &mut |m| sound(m) && loads(m) > 0);
            assert_eq!(looped(&small), 0, "seed {seed}");
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn a_predicate_that_does_not_hold_changes_nothing() {
    let m = generate::module(3, &Options::default()).module;
    assert_eq!(shrink(&m, &mut |_| false), m);
}

#[test]
fn the_search_is_bounded() {
    let m = generate::module(5, &Options { units: 60, ..Options::default() }).module;
    let mut asked = 0;
    shrink(&m, &mut |_| {
        asked += 1;
        asked % 3 == 1
    });
    assert!(asked <= MAX_SHRINK_STEPS + 1);
}
