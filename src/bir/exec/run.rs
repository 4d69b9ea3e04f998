//! The reference execution of a module, at any stage: transfers, triggers with their blocks, or
//! both.

use super::action::Action;
use super::apply::apply;
use super::control::{Choice, Control, Why};
use super::program::Program;
use crate::bir::enums::Engine;
use crate::bir::module::{At, Body, Finding, Part};
use crate::bir::{Memory, Transfer, Walk};
use crate::diag::Severity;
use crate::limits::{
    BIR_RUN_PRICE, BIR_TRANSFER_PRICE, MAX_BIR_MOVED_BYTES, MAX_BIR_STEPS, MAX_RUN_SAME_CODE,
};
use crate::udma::count_of;
use std::collections::{HashMap, HashSet};

/// Bounds of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Steps: instructions, and decisions of loops and branches, of all engines together.
    pub max_steps: u64,
    /// Bytes moved. A transfer counts as at least 1024 of them, and a stretch of contiguous bytes
    /// as at least 32 (`limits::BIR_TRANSFER_PRICE`, `limits::BIR_RUN_PRICE`).
    pub max_bytes: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { max_steps: MAX_BIR_STEPS, max_bytes: MAX_BIR_MOVED_BYTES }
    }
}

/// What came of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// What was found: at most one error, which ended it, and warnings. One warning of a kind
    /// for each instruction.
    pub findings: Vec<Finding>,
    /// Whether all engines came to their ends.
    pub finished: bool,
    /// Steps taken.
    pub steps: u64,
    /// Instructions executed that move data themselves (not by a block).
    pub transfers: u64,
    /// Blocks fired.
    pub fired: u64,
    /// Descriptors executed in those.
    pub descriptors: u64,
    /// Bytes written.
    pub bytes: u64,
}

impl Outcome {
    /// The error that ended it.
    pub fn error(&self) -> Option<&Finding> {
        self.findings.iter().find(|f| f.diag.severity == Severity::Error)
    }
}

/// Runs a program from its begin to its end, in the order of its arrays wherever nothing asks
/// for another one. Ends at the first error.
pub fn run(p: &Program, memory: &mut Memory, options: &Options) -> Outcome {
    let mut control = Control::new(p);
    run_from(p, &mut control, memory, options, &mut |c| match c.next_engine(p) {
        Choice::Run(engine) => Some(engine),
        _ => None,
    })
}

/// Runs on from a state; `choose` says who acts next. It is asked for one of the engines that
/// [`Control::ready_engines`] lists, and says `None` where there is none.
pub fn run_from(
    p: &Program,
    control: &mut Control,
    memory: &mut Memory,
    options: &Options,
    choose: &mut dyn FnMut(&Control) -> Option<Engine>,
) -> Outcome {
    let mut out = Outcome { findings: p.findings().to_vec(), ..Outcome::default() };
    let (mut seen, mut spent) = (Seen::default(), 0u64);
    loop {
        let Some(engine) = choose(control) else {
            match control.next_engine(p) {
                Choice::Blocked(all) => out.findings.push(blocked(p, control, &all)),
                _ => out.finished = true,
            }
            return out;
        };
        if out.steps >= options.max_steps {
            let place = control.place(p, engine);
            let text = format!(
                "more than {}; {engine} is at {place}",
                count_of(options.max_steps, "step")
            );
            out.findings.push(Finding::new("B070", at(p, control, engine), text));
            return out;
        }
        if let Some(finding) = control.exceeds(p, engine, options.max_steps) {
            out.findings.push(finding);
            return out;
        }
        out.steps += 1;
        let at_work = control.current(p, engine).and_then(|i| p.inst(i));
        let fires = at_work.is_some_and(|i| matches!(i.body, Body::Trigger(_)));
        let done = control.fetch(p, memory, engine).and_then(|action| {
            out.count(&action, fires);
            spent = spent.saturating_add(price(&action));
            if spent > options.max_bytes {
                let text = format!("more than {} are moved", count_of(options.max_bytes, "byte"));
                return Err(Finding::new("B089", at(p, control, engine), text));
            }
            let note = &mut |f: Finding| seen.add(f, &mut out.findings);
            apply(memory, p.layout(), &action, note)
        });
        match done {
            Ok(bytes) => out.bytes = out.bytes.saturating_add(bytes),
            Err(finding) => {
                out.findings.push(finding);
                return out;
            }
        }
        control.complete(p, engine);
    }
}

/// What an action costs, in bytes that are moved in one stretch.
fn price(action: &Action) -> u64 {
    let walks = |t: &Transfer| {
        let sides = t.sources.iter().chain([&t.dest]);
        let all = sides.map(|s| stretches(&s.walk)).max().unwrap_or(0);
        all.max(BIR_TRANSFER_PRICE)
    };
    match action {
        Action::Nothing | Action::Store { .. } => 0,
        Action::Transfers(groups) => {
            groups.iter().flat_map(|g| &g.transfers).map(walks).fold(0, u64::saturating_add)
        }
        Action::Opaque { writes, .. } => {
            writes.iter().map(|w| stretches(&w.0)).fold(0, u64::saturating_add)
        }
    }
}

/// Bytes of a walk, each of its stretches with its least price.
fn stretches(walk: &Walk) -> u64 {
    let bytes = walk.bytes();
    let unit = walk.dims.iter().rev().filter(|d| d.num != 1).try_fold(walk.elem, |unit, d| {
        if d.step == unit as i64 { Ok(unit.saturating_mul(d.num)) } else { Err(unit) }
    });
    let (Ok(unit) | Err(unit)) = unit;
    bytes.max((bytes / unit.max(1)).saturating_mul(BIR_RUN_PRICE))
}

impl Outcome {
    fn count(&mut self, action: &Action, fires: bool) {
        let Action::Transfers(groups) = action else { return };
        if fires {
            self.fired += 1;
            self.descriptors += groups.len() as u64;
        } else {
            self.transfers += 1;
        }
    }
}

/// Warnings of one kind are said once for an instruction, and only so many in all.
#[derive(Default)]
struct Seen {
    places: HashSet<(&'static str, Option<At>)>,
    counts: HashMap<&'static str, u64>,
}

impl Seen {
    fn add(&mut self, f: Finding, out: &mut Vec<Finding>) {
        let code = f.diag.code;
        let n = self.counts.entry(code).or_default();
        if *n < MAX_RUN_SAME_CODE && self.places.insert((code, f.at.clone())) {
            *n += 1;
            out.push(f);
        }
    }
}

fn at(p: &Program, control: &Control, engine: Engine) -> At {
    let inst = control.current(p, engine).and_then(|i| p.inst(i));
    inst.map_or(At::Module("functions"), |i| At::Inst(i.pos, Part::Whole))
}

/// A wait that nobody can satisfy: who waits, where, for what.
fn blocked(p: &Program, control: &Control, all: &[(Engine, Why)]) -> Finding {
    let itself = all.iter().find(|(_, why)| matches!(why, Why::Itself(_)));
    let told = all.iter().map(|(engine, why)| {
        let place = control.place(p, *engine);
        format!("{engine} at {place} {why}")
    });
    let list = told.collect::<Vec<_>>().join("; ");
    let first = itself.or(all.first()).map_or(Engine::Unassigned, |(e, _)| *e);
    let place = at(p, control, first);
    match itself {
        Some(_) => Finding::new("B072", place, format!("cyclic dependency: {list}")),
        None => Finding::new("B071", place, format!("nobody can go on: {list}")),
    }
}
