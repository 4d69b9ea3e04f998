//! Random modules whose transfers are ordered wherever they share bytes: every legal order of
//! the engines gives the memory that the order of the arrays gives.

use super::fixture::*;
use crate::bir::exec::*;
use crate::bir::module::*;
use crate::bir::*;
use proptest::prelude::*;
use std::sync::Arc;

const ENGINES: [Engine; 4] = [Engine::Pool, Engine::Sp, Engine::Dve, Engine::Activation];

/// A transfer of 4 bytes within 32, or a loop.
#[derive(Debug, Clone)]
enum Node {
    Copy { engine: usize, from: i64, to: i64, opaque: bool },
    Loop { rounds: i64, body: Vec<Node> },
}

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let copy = (0usize..4, 0i64..8, 0i64..8, 0u8..5).prop_map(|(engine, from, to, o)| Node::Copy {
        engine,
        from,
        to,
        opaque: o == 0,
    });
    let node = copy.prop_recursive(2, 12, 5, |inner| {
        (0i64..4, prop::collection::vec(inner, 1..5))
            .prop_map(|(rounds, body)| Node::Loop { rounds, body })
    });
    prop::collection::vec(node, 1..7)
}

/// An instruction as it was placed.
struct Placed {
    name: String,
    engine: usize,
    /// Slots that it touches, and whether each is written.
    touched: [(i64, bool); 2],
    opaque: bool,
    /// Loops around.
    around: Vec<u32>,
}

impl Placed {
    /// Whether only a dependency orders the two: they share bytes, and neither is opaque, which
    /// would order them by itself.
    fn needs(&self, other: &Placed) -> bool {
        let clash = |a: &(i64, bool)| other.touched.iter().any(|b| a.0 == b.0 && (a.1 || b.1));
        let apart = self.engine != other.engine && !self.opaque && !other.opaque;
        apart && self.touched.iter().any(clash)
    }
}

struct Build {
    m: Make,
    placed: Vec<Placed>,
    loops: u32,
}

impl Build {
    fn build(&mut self, nodes: &[Node], around: &[u32]) -> Vec<Inst> {
        nodes.iter().map(|n| self.one(n, around)).collect()
    }

    fn one(&mut self, node: &Node, around: &[u32]) -> Inst {
        match node {
            Node::Copy { engine, from, to, opaque } => {
                let name = format!("c{}", self.placed.len());
                let e = ENGINES[*engine];
                // What only one loop level deep would hide: the place moves with the innermost
                // axis, within its slot of 4 bytes.
                let part = |slot: i64| {
                    let o = bytes("m", slot * 4, 3);
                    match around.last() {
                        Some(l) => {
                            let axis = Box::new(axis(&format!("l{l}")));
                            starting(o, Expr::Mod(axis, Box::new(Expr::Const(2))))
                        }
                        None => o,
                    }
                };
                let mut i = if *opaque {
                    let mut i = self.m.inst(&name, "Activation", e);
                    (i.ins, i.outs) = ([part(*from)].into(), [part(*to)].into());
                    i
                } else {
                    self.m.copy(&name, e, part(*from), part(*to))
                };
                let me = Placed {
                    name,
                    engine: *engine,
                    touched: [(*from, false), (*to, true)],
                    opaque: *opaque,
                    around: around.to_vec(),
                };
                for earlier in self.placed.iter().filter(|p| me.needs(p)) {
                    let name = earlier.name.as_str().into();
                    i.deps.push(Dep { name, kind: EdgeKind::Flow });
                }
                self.placed.push(me);
                i
            }
            Node::Loop { rounds, body } => {
                self.loops += 1;
                let name = format!("l{}", self.loops);
                let mut around = around.to_vec();
                around.push(self.loops);
                let body = self.build(body, &around);
                self.m.rounds(&name, (3, 3 + 2 * rounds, 2), body)
            }
        }
    }
}

/// Every pair that shares bytes and a loop is also ordered from round to round.
fn carried(block: &mut Block, placed: &[Placed]) {
    for inst in &mut block.insts {
        let inst = Arc::make_mut(inst);
        for b in inst.blocks_mut().into_iter().flatten() {
            carried(b, placed);
        }
        let Some(at) = placed.iter().position(|p| p.name == *inst.name) else { continue };
        let me = &placed[at];
        for later in &placed[at + 1..] {
            let share = !me.around.is_empty() && me.around.first() == later.around.first();
            if share && me.needs(later) {
                let name = later.name.as_str().into();
                inst.loop_deps.push(Dep { name, kind: EdgeKind::Anti });
            }
        }
    }
}

fn build(nodes: &[Node]) -> Make {
    let mut b = Build { m: Make::new(&[("m", &[32])]), placed: vec![], loops: 0 };
    let all = b.build(nodes, &[]);
    for i in all {
        b.m.add(i);
    }
    carried(&mut b.m.module.functions[0].blocks[0], &b.placed);
    b.m
}

/// What the arrays say, one instruction after the other: written apart from the streams.
fn plain(p: &Program, memory: &mut Memory) {
    struct Axes(Vec<(Name, i64)>);
    impl Env for Axes {
        fn axis(&self, name: &str) -> Option<i64> {
            self.0.iter().rev().find(|a| *a.0 == *name).map(|a| a.1)
        }
        fn register(&self, _: &str) -> Option<i64> {
            None
        }
    }
    fn go(p: &Program, b: &Block, axes: &mut Axes, memory: &mut Memory) {
        for inst in &b.insts {
            if let Body::Loop(l) = &inst.body {
                let mut value = l.axis.lb;
                while value < l.axis.ub {
                    axes.0.push((l.axis.name.clone(), value));
                    for b in &l.blocks {
                        go(p, b, axes, memory);
                    }
                    axes.0.pop();
                    value += l.axis.stride;
                }
                continue;
            }
            let all = resolve_dma(inst, axes, p.layout(), memory).unwrap();
            for t in all {
                let (bytes, _) = result(memory, &t);
                scatter(memory, &t.dest.walk, &bytes).unwrap();
            }
        }
    }
    for b in &p.module().functions[0].blocks {
        go(p, b, &mut Axes(vec![]), memory);
    }
}

fn has_opaque(nodes: &[Node]) -> bool {
    nodes.iter().any(|n| match n {
        Node::Copy { opaque, .. } => *opaque,
        Node::Loop { body, .. } => has_opaque(body),
    })
}

proptest! {
    #[test]
    fn every_legal_order_gives_one_memory(nodes in nodes(), picks in prop::collection::vec(0usize..1000, 64)) {
        let m = build(&nodes);
        let p = m.program();
        let start = filled(&p, &[("m", count(32))]);
        let in_order = run_on(m.program(), start.clone()).ok().memory;
        if !has_opaque(&nodes) {
            let mut other = start.clone();
            plain(&p, &mut other);
            prop_assert_eq!(in_order.first_difference(&other), None);
        }
        let (mut c, mut mem) = (Control::new(&p), start);
        let mut k = 0;
        let out = run_from(&p, &mut c, &mut mem, &Options::default(), &mut |c| {
            let ready = c.ready_engines(&p);
            k += 1;
            (!ready.is_empty()).then(|| ready[picks[k % picks.len()] % ready.len()])
        });
        prop_assert!(out.finished, "{:?}", out.findings);
        prop_assert_eq!(in_order.first_difference(&mem), None);
    }

    #[test]
    fn a_copy_of_a_state_goes_on_as_the_state_does(nodes in nodes(), stop in 0usize..40) {
        let m = build(&nodes);
        let p = m.program();
        let start = filled(&p, &[("m", count(32))]);
        let whole = run_on(m.program(), start.clone()).ok();
        let (mut c, mut mem, mut left) = (Control::new(&p), start, stop);
        let next = |c: &Control| match c.next_engine(&p) {
            Choice::Run(e) => Some(e),
            _ => None,
        };
        run_from(&p, &mut c, &mut mem, &Options::default(), &mut |c| {
            left = left.checked_sub(1)?;
            next(c)
        });
        for _ in 0..2 {
            let (mut c, mut mem) = (c.clone(), mem.clone());
            let out = run_from(&p, &mut c, &mut mem, &Options::default(), &mut |c| next(c));
            prop_assert!(out.finished);
            prop_assert_eq!(whole.memory.first_difference(&mem), None);
            prop_assert_eq!(c.next_engine(&p), Choice::Done);
        }
    }
}
