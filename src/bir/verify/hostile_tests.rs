//! Whatever a module holds, the verifier answers: generated modules with random damage.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::verify;
use crate::bir::generate::{self, Options, Rng};
use crate::bir::*;
use std::sync::Arc;

const NUMBERS: &[i64] = &[0, 1, -1, 2, 7, 63, 65_536, i64::MAX, i64::MIN, i64::MAX - 1, 1 << 62];

fn number(rng: &mut Rng) -> i64 {
    *rng.pick(NUMBERS)
}

fn expression(rng: &mut Rng, depth: u64) -> Expr {
    let sub = |rng: &mut Rng| Box::new(expression(rng, depth + 1));
    match rng.below(if depth > 3 { 5 } else { 9 }) {
        0 => Expr::Const(number(rng)),
        1 => Expr::Axis("i3".into()),
        2 => Expr::Register("r0".into()),
        3 => Expr::Index(rng.below(3) as u32),
        4 => Expr::Unknown("x".into()),
        5 => Expr::Sum((0..rng.below(4)).map(|_| expression(rng, depth + 1)).collect()),
        6 => Expr::Mul(sub(rng), number(rng)),
        7 => Expr::FloorDiv(sub(rng), sub(rng)),
        _ => Expr::Mod(sub(rng), sub(rng)),
    }
}

fn operand(rng: &mut Rng, o: &mut Operand) {
    if rng.chance(10) {
        o.dtype = if rng.chance(30) { None } else { Some(*rng.pick(Dtype::ALL)) };
    }
    if rng.chance(3) {
        o.kind = OperandKind::Other("strange".into());
    }
    let Some(p) = o.as_pattern_mut() else { return };
    match rng.below(9) {
        0 => p.offset = number(rng),
        1 if !p.pairs.is_empty() => {
            let k = rng.below(p.pairs.len() as u64) as usize;
            p.pairs[k].step = number(rng);
        }
        2 if !p.pairs.is_empty() => {
            let k = rng.below(p.pairs.len() as u64) as usize;
            p.pairs[k].num = number(rng) as u64;
        }
        3 => p.pairs.truncate(rng.below(3) as usize),
        4 => p.pairs.push(Pair { step: number(rng), num: number(rng) as u64 }),
        5 => p.start = Some(expression(rng, 0)),
        6 => p.location = rng.chance(50).then(|| "nowhere".into()),
        7 => p.set = None,
        _ => {
            let list = Operand::pattern(Dtype::I32, Pattern::new("i0", number(rng), &[(1, 3)]));
            let (element, scale) = (number(rng) as u64, number(rng));
            let list = Box::new(list);
            p.reference = Some(Reference::Index { list, element, scale, max_index: None });
        }
    }
}

fn damage(rng: &mut Rng, i: &mut Inst) {
    if rng.chance(15) {
        match rng.below(9) {
            0 => i.outs.clear(),
            1 => i.ins.clear(),
            2 => i.engine = *rng.pick(Engine::ALL),
            3 => i.body = Body::None,
            4 => i.opcode = Opcode::by_number(60 + rng.below(50) as u32).unwrap_or(Opcode::NoOp),
            5 => i
                .deps
                .push(Dep { name: format!("I-{}", rng.below(20)).into(), kind: EdgeKind::Flow }),
            6 => i.name = "I-3".into(),
            7 => i.body = Body::Jump(format!("Block{}", rng.below(3)).into()),
            _ => {
                let (id, value) = (rng.below(4), number(rng) as u64);
                i.waits.push(Wait { from: None, id, value, extra: Vec::new() });
                i.updates.push(Update { id, value, extra: Vec::new() });
            }
        }
    }
    if let Body::Loop(l) = &mut i.body
        && rng.chance(40)
    {
        l.axis.lb = number(rng);
        l.axis.ub = number(rng);
        l.axis.stride = number(rng);
    }
    if let Body::DynamicLoop(l) = &mut i.body
        && rng.chance(40)
    {
        l.ub = expression(rng, 0);
    }
    if let Body::Trigger(t) = &mut i.body
        && rng.chance(20)
    {
        t.dma_blocks = (0..rng.below(3)).map(|k| format!("dma_block_{k}").into()).collect();
    }
    for o in i.ins.iter_mut().chain(&mut i.outs) {
        if rng.chance(15) {
            operand(rng, o);
        }
    }
    for b in i.blocks_mut().into_iter().flatten() {
        block(rng, b);
    }
}

fn block(rng: &mut Rng, b: &mut Block) {
    b.insts.iter_mut().for_each(|i| damage(rng, Arc::make_mut(i)));
    if rng.chance(5)
        && let Some(first) = b.insts.first().cloned()
    {
        b.insts.push(first);
    }
}

#[test]
fn a_damaged_module_is_judged_like_any_other() {
    let mut wrong = 0;
    for seed in 0..6000 {
        let mut m = generate::module(seed, &Options::default()).module;
        let mut rng = Rng::new(seed ^ 0xdead_beef);
        for a in &mut m.functions[0].allocations {
            if rng.chance(8)
                && let Some(l) = a.locations.first_mut()
            {
                match rng.below(5) {
                    0 => l.addr = number(&mut rng) as u64,
                    1 => l.base = number(&mut rng) as u64,
                    2 => l.bank = Some(number(&mut rng) as u64),
                    3 => l.dims = vec![number(&mut rng) as u64, number(&mut rng) as u64],
                    _ => l.space = *rng.pick(Space::ALL),
                }
            }
        }
        let functions = m.functions.iter_mut().flat_map(|f| &mut f.blocks);
        for b in functions.chain(m.queues.iter_mut().flat_map(|q| &mut q.blocks)) {
            block(&mut rng, b);
        }
        wrong += usize::from(!verify(&m, &Layout::new(&m)).is_empty());
    }
    assert!(wrong > 2000, "{wrong}");
}
