//! Races of a module, told by its instructions: one finding for all the pairs of descriptors of
//! two instructions, with the places of both (`docs/order.md`, "Findings").

use super::race::{Act, Missing, Race, Side};
use crate::bir::Pos;
use crate::diag::{Diagnostic, Place};
use crate::engine::module_run::ModuleRun;
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::{Agent, Event, Machine, machine};
use crate::udma::count_of;
use std::collections::{BTreeMap, HashMap};
use std::mem::discriminant;

/// Of which instruction each of some events is, from a run of the program. An event of the host,
/// or one that is not in this run, has none.
fn instructions(p: &Program, races: &[Race]) -> HashMap<u64, Pos> {
    let sides: BTreeMap<u64, Side> =
        races.iter().flat_map(|r| [r.first, r.second]).map(|s| (s.event, s)).collect();
    let last = sides.last_key_value().map_or(0, |(n, _)| *n);
    let mut found = HashMap::new();
    machine::run(p, |m, e| {
        if let Some(pos) = sides.get(&e.n).and_then(|s| instruction(m, e, s)) {
            found.insert(e.n, pos);
        }
        e.n < last
    });
    found
}

fn instruction(m: &Machine, e: &Event, side: &Side) -> Option<Pos> {
    let at_work = |engine| {
        let seq = m.seqs.iter().find(|s| s.engine == engine)?;
        Some(seq.work.as_ref()?.inst?.0)
    };
    match e.agent {
        Agent::Seq(engine) => at_work(engine),
        Agent::Host => None,
        Agent::Engine(_) => {
            let slot = side.slot?;
            let (engine, queue) = slot.queue?;
            let q = m.queue(QueueId { engine, queue })?;
            let made = q.origin(slot.dir, slot.index).map(|o| o.inst);
            made.or_else(|| at_work(q.owner?))
        }
    }
}

/// A side in words: what it does for which instruction.
fn side(run: &ModuleRun, pos: Option<Pos>, s: &Side) -> String {
    let Some(pos) = pos else { return s.to_string() };
    let text = match run.inst(pos) {
        Some(i) => format!("`{}`", i.text),
        None => "an instruction that lowering added".to_owned(),
    };
    let act = match s.act {
        Act::Fetch => "the fetch of a descriptor of",
        Act::Read => "the read of",
        Act::Write => "the write of",
        Act::Store => "the store of",
        Act::Poll => "the end, awaited by its engine, of",
    };
    format!("{act} {text}")
}

fn place(run: &ModuleRun, pos: Option<Pos>, s: &Side) -> Place {
    let place = pos.and_then(|p| run.inst(p)).map(|i| i.place.clone()).unwrap_or_default();
    Place { slot: s.slot, event: Some(s.event), ..place }
}

/// The races of a module's run, those of two instructions in one finding.
pub(super) fn diagnostics(p: &Program, run: &ModuleRun, races: &[Race]) -> Vec<Diagnostic> {
    if races.is_empty() {
        return Vec::new();
    }
    let found = instructions(p, races);
    let of = |s: &Side| found.get(&s.event).copied();
    let mut groups: Vec<(&Race, u64, u64)> = Vec::new();
    let mut known = HashMap::new();
    for (n, r) in races.iter().enumerate() {
        let (a, b) = (of(&r.first), of(&r.second));
        let acts = (r.first.act == Act::Poll, r.second.act == Act::Poll);
        let key = (r.kind, r.severity(), discriminant(&r.missing), a, b, acts);
        // A side without an instruction is told by itself.
        let alone = (a.is_none() || b.is_none()).then_some(n);
        let at = *known.entry((key, alone)).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, pairs, bytes)) => {
                *pairs += 1;
                *bytes = bytes.saturating_add(r.bytes);
            }
            None => groups.push((r, 1, r.bytes)),
        }
    }
    let one = |(r, pairs, bytes): (&Race, u64, u64)| {
        let (a, b) = (of(&r.first), of(&r.second));
        if a.is_none() && b.is_none() {
            return r.diagnostic(p);
        }
        let from = p.name_addr(r.lo);
        let span = match (pairs, bytes) {
            (1, 1) => format!("1 byte at {from}"),
            (1, n) => format!("{n_bytes} from {from} on", n_bytes = count_of(n, "byte")),
            (pairs, n) => {
                format!(
                    "{n_bytes} in {pairs} of descriptors, from {from} on first",
                    n_bytes = count_of(n, "byte"),
                    pairs = count_of(pairs, "pair")
                )
            }
        };
        let (first, second) = (side(run, a, &r.first), side(run, b, &r.second));
        let text =
            format!("{}: nothing orders {first} and {second}: {span}, {}", r.kind, r.holds.words());
        let other = a
            .and_then(|p| run.inst(p))
            .map_or("the other access".to_owned(), |i| format!("the other one, `{}`", i.text));
        Diagnostic::new(r.kind.code(), text)
            .severity(r.severity())
            .at(place(run, b, &r.second))
            .label(place(run, a, &r.first), other)
            .help(advice(r, a, b))
    };
    groups.into_iter().map(one).collect()
}

/// What would order two instructions.
fn advice(r: &Race, a: Option<Pos>, b: Option<Pos>) -> String {
    match r.missing {
        Missing::QueueWait | Missing::BatchWait | Missing::Agents if a != b => {
            "one of the two must wait for the other: for a semaphore that it updates, or by a \
             dependency on it"
                .to_owned()
        }
        other => other.sentence(),
    }
}
