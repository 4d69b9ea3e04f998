//! `info`: what was detected and why, rings, slots used, batches, bytes, markers
//! (`docs/json.md`, "info").

use super::inputs::{Input, RingSet};
use super::out::{Out, Style};
use super::rows::hex_string;
use crate::check::{Order, RingView, Slots};
use crate::diag::render::printable;
use crate::engine::budget::Budget;
use crate::engine::order::{self, Readings};
use crate::engine::program::Program;
use crate::engine::ring::Machine;
use crate::udma::{Dir, count_of};
use serde_json::json;
use std::io;

/// What `info` says of one ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingFacts {
    /// File or queue.
    pub name: String,
    /// Direction.
    pub dir: Dir,
    /// Slots.
    pub slots: u64,
    /// Slots that are not zero.
    pub used: u64,
    /// First slot in time.
    pub start: u64,
    /// Phase of the newest lap; absent where no slot carries one.
    pub phase: Option<u8>,
    /// Whether an older lap is still in it.
    pub two_laps: bool,
    /// Bytes of its data descriptors.
    pub bytes: u64,
}

/// What `info` says of a Tx and an Rx ring together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BatchFacts {
    /// Batches that end at a completion pair.
    pub batches: u64,
    /// Pairs after the last completion pair.
    pub tail: u64,
    /// Pairs of the largest batch, its marker included.
    pub largest: u64,
    /// Addresses of the markers' first words, in the order first seen; a few.
    pub markers: Vec<u64>,
    /// Of a module's queue: doorbell pairs of the run. Its batches end at no completion pairs.
    pub rung: Option<u64>,
}

/// Marker addresses that are listed.
const MARKERS: usize = 16;

/// Everything that `info` says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InfoFacts {
    /// Input's name.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// How that was recognised.
    pub why: String,
    /// Generation.
    pub arch: String,
    /// Where the generation is from.
    pub arch_why: String,
    /// Driver profile.
    pub profile: String,
    /// Rings.
    pub rings: Vec<RingFacts>,
    /// Batches of each pair of rings, by name.
    pub batches: Vec<(String, BatchFacts)>,
    /// Further facts, such as the queues or regions of a program: (name, value).
    pub more: Vec<(String, String)>,
    /// What a module takes of rings.
    pub budget: Option<Budget>,
}

/// Looks one ring over.
pub fn ring_facts(name: &str, dir: Dir, ring: &dyn RingView, start: Option<u64>) -> RingFacts {
    let order = Order::infer(ring, dir, start);
    let data = Slots::new(ring, order).filter(|(_, d)| dir == Dir::Rx || !d.is_meta());
    RingFacts {
        name: name.to_owned(),
        dir,
        slots: order.len,
        used: order.used,
        start: order.start,
        phase: order.phased.then_some(order.phase),
        two_laps: order.wrapped(),
        bytes: data.map(|(_, d)| d.length()).sum(),
    }
}

/// Finds the batches: each ends at a completion pair, a 4-byte copy to the next 4 bytes.
pub fn batch_facts(tx: &dyn RingView, rx: &dyn RingView, start: Option<u64>) -> BatchFacts {
    let slots = |ring, dir| Slots::new(ring, Order::infer(ring, dir, start));
    let mut out = BatchFacts::default();
    for ((_, t), (_, r)) in slots(tx, Dir::Tx).zip(slots(rx, Dir::Rx)) {
        out.tail += 1;
        let completes = t.length() == 4 && r.length() == 4 && r.ptr == t.ptr.wrapping_add(4);
        if completes && !t.is_meta() {
            out.batches += 1;
            out.largest = out.largest.max(out.tail);
            out.tail = 0;
            if out.markers.len() < MARKERS && !out.markers.contains(&t.ptr) {
                out.markers.push(t.ptr);
            }
        }
    }
    out.largest = out.largest.max(out.tail);
    out
}

/// Facts of a program besides its rings, which were taken from the end of a run where `ran`.
fn program_facts(p: &Program, ran: bool) -> Vec<(String, String)> {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let mut out = vec![fact("queues", p.queues.len().to_string())];
    if ran {
        out.insert(0, fact("rings", "as a calm run leaves them".to_owned()));
    }
    for q in &p.queues {
        let kind = if q.allocatable { "slots by the driver" } else { "authored elsewhere" };
        let size = |d| q.ring(d).map_or("none".to_owned(), |r| count_of(r.size, "slot"));
        out.push(fact(
            "queue",
            format!("{}: tx {}, rx {}, {kind}", q.id, size(Dir::Tx), size(Dir::Rx)),
        ));
    }
    out.push(fact("operations", p.script.len().to_string()));
    if !p.edits.is_empty() {
        out.push(fact("edits", p.edits.len().to_string()));
    }
    let bytes: u64 = p.regions.iter().map(|r| r.len).sum();
    out.push(fact(
        "memory",
        format!(
            "{}, {bytes}",
            count_of(p.regions.len(), "region"),
            bytes = count_of(bytes, "byte")
        ),
    ));
    if !p.variables.is_empty() {
        out.push(fact("variables", p.variables.len().to_string()));
    }
    out
}

/// Facts of an input's program; none where it has no program.
fn program(input: &Input) -> Vec<(String, String)> {
    let facts = |p: &Program| program_facts(p, input.end.is_some());
    input.program.as_deref().map(facts).unwrap_or_default()
}

/// The facts of an input.
pub fn facts(input: &Input, start: Option<u64>) -> InfoFacts {
    let of_set = |set: &RingSet| -> Vec<RingFacts> {
        let one = |dir| set.ring(dir).map(|r| ring_facts(&set.name, dir, r, start));
        Dir::BOTH.into_iter().filter_map(one).collect()
    };
    let batches = input.sets.iter().filter_map(|set| {
        let (tx, rx) = (set.ring(Dir::Tx)?, set.ring(Dir::Rx)?);
        let end = input.end.as_ref().filter(|_| input.module.is_some());
        let own = |m: &Machine| {
            let q = m.queues.iter().find(|q| Some((q.id().engine, q.id().queue)) == set.queue)?;
            Some(BatchFacts { rung: Some(q.batches), ..BatchFacts::default() })
        };
        let facts = end.and_then(own).unwrap_or_else(|| batch_facts(tx, rx, start));
        Some((set.name.clone(), facts))
    });
    InfoFacts {
        name: input.name.clone(),
        kind: input.kind.clone(),
        why: input.why.clone(),
        arch: input.arch.name().to_owned(),
        arch_why: input.arch_why.clone(),
        profile: input.profile.name.to_owned(),
        rings: input.sets.iter().flat_map(of_set).collect(),
        batches: batches.collect(),
        more: program(input),
        budget: input.program.as_deref().and_then(|p| p.module.as_deref()).map(Budget::of_run),
    }
}

/// What races in a calm run of a program, where it was asked for under a reading.
pub fn races(input: &Input, readings: Option<Readings>) -> Option<(String, String)> {
    let (r, p) = (readings?, input.program.as_deref()?);
    let found = order::check(p, r);
    let upto = found.stopped.as_ref().and_then(|d| d.place.event);
    let more = upto
        .map_or(String::new(), |n| format!(" up to event {n}; what comes after is not checked"));
    let n = found.races.len() as u64 + found.more;
    Some(("races".to_owned(), format!("{n} ({r}){more}")))
}

/// Prints the facts.
///
/// # Errors
/// Those of the output.
pub fn print(facts: &InfoFacts, out: &mut Out<'_>) -> io::Result<()> {
    if out.json() {
        print_json(facts, out)?
    } else {
        print_text(facts, out)?
    }
    out.flush()
}

fn print_json(f: &InfoFacts, out: &mut Out<'_>) -> io::Result<()> {
    let about = json!({
        "file": f.name, "kind": f.kind, "why": f.why,
        "arch": f.arch, "arch_why": f.arch_why, "profile": f.profile,
    });
    out.schema("info", &about)?;
    for r in &f.rings {
        out.value(&json!({
            "name": r.name, "ring": r.dir.name(), "slots": r.slots, "used": r.used,
            "start": r.start, "phase": r.phase, "two_laps": r.two_laps, "bytes": r.bytes,
        }))?;
    }
    for (name, b) in &f.batches {
        let markers: Vec<String> = b.markers.iter().map(|m| hex_string(*m, 16)).collect();
        out.value(&json!({
            "name": name, "batches": b.batches, "tail": b.tail, "largest": b.largest,
            "markers": markers, "rung": b.rung,
        }))?;
    }
    for (name, value) in &f.more {
        out.value(&json!({ "fact": name, "value": value }))?;
    }
    if let Some(b) = &f.budget {
        out.value(&json!({ "budget": b.to_json() }))?;
    }
    Ok(())
}

/// Whose fact it is, where the input has more than one name.
fn named(f: &InfoFacts, name: &str) -> String {
    if name == f.name { String::new() } else { format!("  ({})", printable(name)) }
}

fn print_text(f: &InfoFacts, out: &mut Out<'_>) -> io::Result<()> {
    let title = out.styled(Style::Bold, &printable(&f.name));
    out.line(&title)?;
    out.line(&format!("  kind        {} ({})", f.kind, f.why))?;
    out.line(&format!("  generation  {} ({})", f.arch, f.arch_why))?;
    out.line(&format!("  profile     {}", f.profile))?;
    for r in &f.rings {
        let phase = match (r.phase, r.two_laps) {
            (None, _) => "no phase".to_owned(),
            (Some(p), false) => format!("phase {p}"),
            (Some(p), true) => format!("phase {p} over the lap before"),
        };
        let empty = r.slots - r.used;
        out.line(&format!(
            "  {}          {}, {} used, {empty} empty, from slot {} on, {phase}, {}{}",
            r.dir,
            count_of(r.slots, "slot"),
            r.used,
            r.start,
            count_of(r.bytes, "byte"),
            named(f, &r.name)
        ))?;
    }
    for (name, b) in &f.batches {
        if let Some(n) = b.rung {
            let text = format!("  batches     {n}, rung by its triggers{}", named(f, name));
            out.line(&text)?;
            continue;
        }
        let tail = match b.tail {
            0 => String::new(),
            n => {
                format!(", then {n_pairs} without a completion pair", n_pairs = count_of(n, "pair"))
            }
        };
        out.line(&format!(
            "  batches     {}, the largest of {}{tail}{}",
            b.batches,
            count_of(b.largest, "pair"),
            named(f, name)
        ))?;
        for m in &b.markers {
            out.line(&format!("  marker      {}", hex_string(*m, 16)))?;
        }
    }
    for (name, value) in &f.more {
        out.line(&format!("  {name:<10}  {}", printable(value)))?;
    }
    if let Some(b) = &f.budget {
        out.line("  budget")?;
        for line in b.lines() {
            out.line(&format!("    {}", printable(&line)))?;
        }
    }
    Ok(())
}
