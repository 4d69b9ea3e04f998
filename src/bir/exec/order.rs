//! Which instructions share bytes with an opaque one: those keep program order
//! (`docs/execution.md`, "Opaque instructions").
//!
//! An engine is in order, so that of each other engine only the last earlier instruction
//! matters, and, in a loop, the last one of its body. Locations that overlap in memory count as
//! one (MODEL: coarser than bytes; the order that it adds is that of the program).

use super::program::{Engines, Entry, Item, Program};
use crate::bir::blocks::BlockNo;
use crate::bir::layout::{PSUM_BASE, PSUM_STRIDE, Placed, SB_BASE, SB_STRIDE};
use crate::bir::module::{At, Body, Finding, Inst, Operand, Pattern, Reference};
use crate::bir::{Engine, Layout, Name, Space};
use crate::limits::MAX_BIR_ORDER;
use std::collections::{BTreeSet, HashMap};

/// The last items that touched something.
#[derive(Debug, Clone, Copy, Default)]
struct Last {
    read: Option<Item>,
    write: Option<Item>,
    opaque_read: Option<Item>,
    opaque_write: Option<Item>,
}

/// What one instruction touches: class of locations, and whether it is written.
type Touched = BTreeSet<(u32, bool)>;

type Lasts = HashMap<(u32, Engine), Last>;

/// Fills [`Entry::after`].
pub(super) fn conflicts(p: &mut Program) {
    if !p.entries.iter().any(|e| e.inst.is_opaque()) {
        return;
    }
    let classes = classes(p.layout());
    let mut blocks = HashMap::new();
    let mut left = MAX_BIR_ORDER;
    let mut touched: Vec<Touched> = Vec::with_capacity(p.entries.len());
    for e in &p.entries {
        let all = if left > 0 { touches(p, &classes, &mut blocks, e) } else { Touched::new() };
        left = left.saturating_sub(all.len() * e.path.len());
        touched.push(all);
    }
    // What each loop, and a function with branches, touched last.
    let mut finals: HashMap<Item, Lasts> = HashMap::new();
    for (k, e) in (0u32..).zip(&p.entries) {
        for end in p.rounds(Item(k)) {
            note(finals.entry(end).or_default(), Item(k), e, &touched[k as usize]);
        }
    }
    let mut lasts = Lasts::new();
    let mut after: Vec<Vec<Item>> = Vec::with_capacity(p.entries.len());
    for (k, e) in (0u32..).zip(&p.entries) {
        let (me, touched) = (Item(k), &touched[k as usize]);
        let mut found = BTreeSet::new();
        if !e.joined {
            clashes(&lasts, p.engines(), e, touched, &mut |t| {
                found.insert(t);
            });
            for last in p.rounds(me).iter().filter_map(|end| finals.get(end)) {
                clashes(last, p.engines(), e, touched, &mut |t| {
                    if t > me {
                        found.insert(t);
                    }
                });
            }
        }
        after.push(found.into_iter().collect());
        note(&mut lasts, me, e, touched);
    }
    for (e, after) in p.entries.iter_mut().zip(after) {
        e.after = after;
    }
    if left == 0 {
        let text =
            format!("opaque instructions keep no order beyond the first {MAX_BIR_ORDER} operands");
        p.remark(Finding::new("B090", At::Module("functions"), text));
    }
}

fn note(lasts: &mut Lasts, item: Item, e: &Entry, touched: &Touched) {
    // What all engines do together is past for each of them when it is past for one.
    if e.joined {
        return;
    }
    let opaque = e.inst.is_opaque();
    for &(class, write) in touched {
        let last = lasts.entry((class, e.inst.engine)).or_default();
        let slots = if write {
            [&mut last.write, &mut last.opaque_write]
        } else {
            [&mut last.read, &mut last.opaque_read]
        };
        let [any, only_opaque] = slots;
        *any = Some(item);
        if opaque {
            *only_opaque = Some(item);
        }
    }
}

fn clashes(
    lasts: &Lasts,
    engines: Engines,
    e: &Entry,
    touched: &Touched,
    found: &mut dyn FnMut(Item),
) {
    for &(class, write) in touched {
        for engine in engines.iter().filter(|x| *x != e.inst.engine) {
            let Some(last) = lasts.get(&(class, engine)) else { continue };
            let (read, written) = if e.inst.is_opaque() {
                (last.read, last.write)
            } else {
                (last.opaque_read, last.opaque_write)
            };
            let read = read.filter(|_| write);
            [read, written].into_iter().flatten().for_each(&mut *found);
        }
    }
}

fn touches(
    p: &Program,
    classes: &HashMap<Name, u32>,
    blocks: &mut HashMap<BlockNo, Touched>,
    e: &Entry,
) -> Touched {
    let mut out = Touched::new();
    if e.body.is_some() {
        return out;
    }
    operands(p.layout(), classes, &e.inst, &mut out);
    for block in e.fires.iter().flatten() {
        let of_block = blocks.entry(*block).or_insert_with(|| {
            let mut of_block = Touched::new();
            if let Some((_, _, inst)) = p.blocks().get(*block)
                && let Body::DmaBlock(b) = &inst.body
            {
                for d in b.descriptors() {
                    operands(p.layout(), classes, d, &mut of_block);
                }
            }
            of_block
        });
        out.extend(&*of_block);
    }
    out
}

fn operands(layout: &Layout, classes: &HashMap<Name, u32>, inst: &Inst, out: &mut Touched) {
    let class = |p: &Pattern| classes.get(&layout.of(p).ok()?.name).copied();
    for (list, write) in [(&inst.ins, false), (&inst.outs, true)] {
        for p in list.iter().filter_map(Operand::as_pattern) {
            out.extend(class(p).map(|c| (c, write)));
            if let Some(Reference::Index { list, .. }) = &p.reference {
                out.extend(list.as_pattern().and_then(class).map(|c| (c, false)));
            }
        }
    }
}

/// Locations that share bytes have one number. On chip only the bytes in the partition are
/// compared.
fn classes(layout: &Layout) -> HashMap<Name, u32> {
    let stretch = |p: &Placed| match p.space {
        Space::Sb => (1, (p.addr - SB_BASE) % SB_STRIDE, p.pitch),
        Space::Psum => (2, (p.addr - PSUM_BASE) % PSUM_STRIDE, p.pitch),
        _ => (0, p.addr, p.pitch),
    };
    let mut all: Vec<_> = layout.placed().iter().map(|p| (stretch(p), &p.name)).collect();
    all.sort();
    let (mut out, mut class, mut reach) = (HashMap::new(), 0, (0, 0));
    for ((space, at, len), name) in all {
        if space != reach.0 || at >= reach.1 {
            class += 1;
            reach = (space, at + len);
        }
        reach.1 = reach.1.max(at + len);
        out.entry(name.clone()).or_insert(class);
    }
    out
}
