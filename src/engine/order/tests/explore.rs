//! The explorer on small rings: what it finds, that it is allowed, that it breaks, and that the
//! fix fixes it.

use super::*;
use crate::engine::order::explore::{Bound, Break, Explored, Found, Proof, Verdict, explore};
use crate::engine::ring::Machine;
use crate::engine::schedule::Hold;
use std::ops::ControlFlow;

fn look(p: &Program, readings: &str) -> Explored {
    explore(p, readings.parse().unwrap(), Bound::default(), &mut |_| ControlFlow::Continue(()))
}

fn broken(p: &Program) -> Found {
    match look(p, "").verdict {
        Verdict::Broken(found) => *found,
        other => panic!("{other:?}"),
    }
}

/// Every event of a program's run.
fn events(p: &Program) -> Vec<crate::engine::ring::Event> {
    let mut m = Machine::new(p);
    std::iter::from_fn(|| m.step(p).map(|s| s.event)).collect()
}

#[test]
fn a_hold_that_is_met_already_leaves_the_calm_order() {
    let p = one(&[A0, A1.wb(), marker(0)]);
    let mut held = p.clone();
    held.schedule.holds = vec!["host store 3|host store 1"].into_iter().map(hold).collect();
    assert_eq!(events(&p), events(&held));
}

/// `WHAT|UNTIL`, host events only.
fn hold(text: &str) -> Hold {
    let one = |t: &str| {
        let words: Vec<&str> = t.split(' ').collect();
        let act = crate::engine::schedule::CpuAct::ALL
            .into_iter()
            .find(|a| a.name() == words[1])
            .unwrap();
        crate::engine::schedule::Moment::Cpu {
            agent: crate::engine::ring::Agent::Host,
            act,
            n: words[2].parse().unwrap(),
        }
    };
    let (what, until) = text.split_once('|').unwrap();
    Hold { what: one(what), until: one(until) }
}

#[test]
fn without_a_barrier_the_marker_is_seen_before_the_data() {
    let p = one(&[A0, A1, marker(0)]);
    let found = broken(&p);
    assert!(matches!(found.broken, Break::Overtaken { batch: 1, .. }), "{:?}", found.broken);
    assert_eq!(found.schedule.holds.len(), 1);
    println!("{}", look(&p, "").lines(&p).join("\n"));
    println!("{}", found.script(&p));
    assert!(matches!(
        look(&one(&[A0, A1.wb(), marker(0)]), "").verdict,
        Verdict::Proved(Proof::NoRace)
    ));
}
