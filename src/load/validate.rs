//! What every program that leaves or enters a file must keep: limits, unique names, names
//! that resolve, regions in order and apart. Both formats ask here, so neither accepts what
//! the other refuses.

use crate::diag::{Diagnostic, Report};
use crate::engine::edit::Change;
use crate::engine::program::{HostOp, Program, QueueId, Region, RingDecl, RingType};
use crate::limits::{
    MAX_CONTENTS, MAX_EDIT_BYTES, MAX_EDITS, MAX_HOST_OPS, MAX_NAME_BYTES, MAX_QUEUES, MAX_REGIONS,
    MAX_REGISTERS, MAX_TRANSFER_BYTES, MAX_UNKNOWN_SECTIONS, MAX_VARIABLES,
};
use crate::udma::cause::by_bit;
use crate::udma::count_of;
use crate::udma::profile::{ENGINE_SLOTS, QUEUES_PER_ENGINE};
use std::collections::HashSet;

/// Which part of a program a finding is about, so that a format can say where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// The program as a whole.
    Whole,
    /// Queue by index.
    Queue(usize),
    /// Region by index.
    Region(usize),
    /// Content by index.
    Content(usize),
    /// Register by index.
    Register(usize),
    /// Variable by index.
    Variable(usize),
    /// Script operation by index.
    Op(usize),
    /// Edit by index.
    Edit(usize),
}

/// Everything that is wrong with a program, each with its part; sound programs give nothing.
pub fn check(p: &Program) -> Vec<(Part, Diagnostic)> {
    let mut out = Vec::new();
    counts(p, &mut out);
    queues(p, &mut out);
    regions(p, &mut out);
    variables(p, &mut out);
    rest(p, &mut out);
    edits(p, &mut out);
    out
}

/// The findings of [`check`] without places.
pub fn report(p: &Program) -> Report {
    let mut r = Report::default();
    for (_, d) in check(p) {
        r.push(d);
    }
    r
}

type Found = Vec<(Part, Diagnostic)>;

fn counts(p: &Program, out: &mut Found) {
    for (what, n, most) in [
        ("queues", p.queues.len(), MAX_QUEUES),
        ("regions", p.regions.len(), MAX_REGIONS),
        ("contents", p.contents.len(), MAX_CONTENTS),
        ("registers", p.registers.len(), MAX_REGISTERS),
        ("variables", p.variables.len(), MAX_VARIABLES),
        ("host operations", p.script.len(), MAX_HOST_OPS),
        ("edits", p.edits.len(), MAX_EDITS),
        ("unknown sections", p.unknown.len(), MAX_UNKNOWN_SECTIONS),
    ] {
        if n > most {
            out.push((Part::Whole, Diagnostic::new("D025", format!("{n} {what}; at most {most}"))));
        }
    }
}

fn name(part: Part, what: &str, name: &str, out: &mut Found) {
    if name.is_empty() {
        out.push((part, Diagnostic::new("D052", format!("a {what} needs a name"))));
    } else if name.len() > MAX_NAME_BYTES {
        out.push((
            part,
            Diagnostic::new(
                "D025",
                format!(
                    "a {what}'s name has {}; at most {MAX_NAME_BYTES}",
                    count_of(name.len(), "byte")
                ),
            ),
        ));
    }
}

/// The last address of a range (its base where it is empty), unless it goes beyond 2^64.
fn end(base: u64, len: u64) -> Option<u64> {
    len.checked_sub(1).map_or(Some(base), |l| base.checked_add(l))
}

fn queues(p: &Program, out: &mut Found) {
    let mut seen = HashSet::new();
    for (i, q) in p.queues.iter().enumerate() {
        let part = Part::Queue(i);
        if !seen.insert(q.id) {
            out.push((part, Diagnostic::new("D053", format!("queue {} is declared twice", q.id))));
        }
        if q.id.engine >= ENGINE_SLOTS || q.id.queue >= QUEUES_PER_ENGINE {
            out.push((
                part,
                Diagnostic::new(
                    "D052",
                    format!(
                        "queue {}: engines are 0..={}, queues 0..={}",
                        q.id,
                        ENGINE_SLOTS - 1,
                        QUEUES_PER_ENGINE - 1
                    ),
                ),
            ));
        }
        for ring in [q.tx, q.rx].into_iter().flatten() {
            ring_range(part, q.id, ring, out);
        }
        if q.first.iter().any(|f| f.ring_id > 3) {
            out.push((part, Diagnostic::new("D052", "a phase is 0..=3")));
        }
    }
}

/// The driver decides which sizes and bases are legal; here only what has no address at all
/// is refused.
fn ring_fits(ring: RingDecl) -> bool {
    ring.size <= u64::from(u32::MAX)
        && ring.base.checked_add(ring.size.saturating_mul(16)).is_some()
}

/// Whether a region has bytes, and addresses for all of them.
fn region_fits(r: &Region) -> bool {
    r.len > 0 && end(r.base, r.len).is_some()
}

fn ring_range(part: Part, id: QueueId, ring: RingDecl, out: &mut Found) {
    if !ring_fits(ring) {
        out.push((
            part,
            Diagnostic::new(
                "D052",
                format!(
                    "ring of {id}: {} from {:#x} do not fit",
                    count_of(ring.size, "slot"),
                    ring.base
                ),
            ),
        ));
    }
}

fn regions(p: &Program, out: &mut Found) {
    let mut seen = HashSet::new();
    for (i, r) in p.regions.iter().enumerate() {
        let part = Part::Region(i);
        name(part, "region", &r.name, out);
        if !seen.insert(r.name.as_str()) {
            out.push((
                part,
                Diagnostic::new("D053", format!("region `{}` is declared twice", r.name)),
            ));
        }
        if !region_fits(r) {
            out.push((
                part,
                Diagnostic::new(
                    "D052",
                    format!("region `{}`: {:#x} bytes from {:#x}", r.name, r.len, r.base),
                ),
            ));
        }
    }
    // What does not fit is said above; that its place is wrong as well says nothing more.
    let fitting = || p.regions.iter().enumerate().filter(|(_, r)| region_fits(r));
    let key = |r: &Region| (r.base, r.name.clone());
    if let Some(((i, _), _)) =
        fitting().skip(1).zip(fitting()).find(|((_, b), (_, a))| key(b) < key(a))
    {
        out.push((Part::Region(i), Diagnostic::new("D033", "regions are not in order of bases")));
    }
    overlaps(p, out);
}

fn overlaps(p: &Program, out: &mut Found) {
    let mut spans: Vec<(u64, u64, Part, String)> = Vec::new();
    for (i, r) in p.regions.iter().enumerate() {
        if let (Some(last), true) = (end(r.base, r.len), r.len > 0) {
            spans.push((r.base, last, Part::Region(i), format!("region `{}`", r.name)));
        }
    }
    for (i, q) in p.queues.iter().enumerate() {
        for (dir, ring) in [("tx", q.tx), ("rx", q.rx)] {
            if let Some(ring) = ring.filter(|r| r.size > 0 && ring_fits(*r))
                && let Some(last) = end(ring.base, ring.size.saturating_mul(16))
            {
                let what = format!("the {dir} ring of {}", q.id);
                spans.push((ring.base, last, Part::Queue(i), what));
            }
        }
    }
    spans.sort_by_key(|s| (s.0, s.1));
    for pair in spans.windows(2) {
        if let [a, b] = pair
            && b.0 <= a.1
        {
            out.push((
                b.2,
                Diagnostic::new("D054", format!("{} and {} share {:#x}", a.3, b.3, b.0)),
            ));
        }
    }
}

fn variables(p: &Program, out: &mut Found) {
    let (mut ids, mut names) = (HashSet::new(), HashSet::new());
    for (i, v) in p.variables.iter().enumerate() {
        let part = Part::Variable(i);
        name(part, "variable", &v.name, out);
        if v.id as usize >= MAX_VARIABLES {
            out.push((
                part,
                Diagnostic::new("D052", format!("variable id {} has more than 19 bits", v.id)),
            ));
        }
        if !ids.insert(v.id) || !names.insert(v.name.as_str()) {
            out.push((
                part,
                Diagnostic::new(
                    "D053",
                    format!("variable {} `{}` is declared twice", v.id, v.name),
                ),
            ));
        }
    }
}

fn rest(p: &Program, out: &mut Found) {
    for (i, c) in p.contents.iter().enumerate() {
        if end(c.addr, c.bytes.len() as u64).is_none() {
            out.push((
                Part::Content(i),
                Diagnostic::new(
                    "D052",
                    format!("{} from {:#x}", count_of(c.bytes.len(), "byte"), c.addr),
                ),
            ));
        }
    }
    for (i, (engine, offset, _)) in p.registers.iter().enumerate() {
        if *engine >= ENGINE_SLOTS || offset % 4 != 0 {
            out.push((
                Part::Register(i),
                Diagnostic::new("D052", format!("no register at engine {engine}, {offset:#x}")),
            ));
        }
    }
    let declared: HashSet<QueueId> = p.queues.iter().map(|q| q.id).collect();
    for (i, op) in p.script.iter().enumerate() {
        if let HostOp::Copy { size, .. }
        | HostOp::CopyAsync { size, .. }
        | HostOp::Memset { size, .. }
        | HostOp::ZeroCopy { size, .. } = op.op
            && size > MAX_TRANSFER_BYTES
        {
            let why = format!(
                "a transfer of {size_bytes}; at most {MAX_TRANSFER_BYTES}",
                size_bytes = count_of(size, "byte")
            );
            out.push((Part::Op(i), Diagnostic::new("D025", why)));
        }
        if let HostOp::CopyIn { ring: RingType::Other(n @ 0..=1), .. } = op.op {
            let why = format!("ring type {n} is a direction, not another code");
            out.push((Part::Op(i), Diagnostic::new("D033", why)));
        }
        if let Some(id) = op.op.queue()
            && !declared.contains(&id)
        {
            out.push((
                Part::Op(i),
                Diagnostic::new("D051", format!("queue {id} is not declared"))
                    .help(nearest_queue(p)),
            ));
        }
    }
}

/// What no run could make of an edit, whatever its state; the rest is told by the run.
fn edits(p: &Program, out: &mut Found) {
    let mut bytes: u64 = 0;
    for (i, e) in p.edits.iter().enumerate() {
        let mut wrong = |code, why: String| out.push((Part::Edit(i), Diagnostic::new(code, why)));
        if i > 0 && p.edits.get(i - 1).is_some_and(|before| before.at > e.at) {
            wrong("D033", "edits are not in order of events".to_owned());
        }
        if let Some(id) = e.change.queue().filter(|id| p.queue(*id).is_none()) {
            wrong("D051", format!("queue {id} is not declared"));
        }
        match &e.change {
            Change::Store { addr, bytes: b } => {
                bytes = bytes.saturating_add(b.len() as u64);
                if end(*addr, b.len() as u64).is_none() {
                    wrong("D052", format!("{} from {addr:#x}", count_of(b.len(), "byte")));
                }
                if bytes > MAX_EDIT_BYTES {
                    wrong(
                        "D025",
                        format!(
                            "edits store {bytes}; at most {MAX_EDIT_BYTES}",
                            bytes = count_of(bytes, "byte")
                        ),
                    );
                }
            }
            Change::Register { engine, offset, .. } => {
                if *engine >= ENGINE_SLOTS || offset % 4 != 0 {
                    wrong("D052", format!("no register at engine {engine}, {offset:#x}"));
                }
            }
            Change::Inject { dir, bit, .. } if by_bit(*dir, *bit).is_none() => {
                wrong("D052", format!("{dir} has no cause with bit {bit}"));
            }
            Change::Cursor { .. } | Change::Inject { .. } => {}
        }
    }
}

fn nearest_queue(p: &Program) -> String {
    const SHOWN: usize = 4;
    let known: Vec<String> = p.queues.iter().take(SHOWN).map(|q| q.id.to_string()).collect();
    if known.is_empty() {
        "the program declares no queue".to_owned()
    } else {
        format!("declared: {}", known.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::program::QueueDecl;
    use crate::udma::{Generation, Profile};

    #[test]
    fn a_transfer_is_held_to_its_bound() {
        let queue = QueueId { engine: 0, queue: 0 };
        let mut p = Program::new(Generation::V3, Profile::default_profile());
        let first = [crate::engine::program::Start::FRESH; 2];
        let (tx, rx) = (None, None);
        p.queues.push(QueueDecl { id: queue, tx, rx, allocatable: true, marker_area: 0, first });
        for (size, wrong) in [(MAX_TRANSFER_BYTES, 0), (MAX_TRANSFER_BYTES + 1, 1)] {
            p.script = vec![HostOp::Copy { queue, src: 0, dst: 0, size }.into()];
            assert_eq!(check(&p).len(), wrong);
        }
    }
}
