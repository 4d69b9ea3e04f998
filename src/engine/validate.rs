//! Whether lowering kept a module's meaning: the module as loaded, after each stage, and on
//! rings, run from the same memory; byte by byte the same at the end (`docs/validation.md`).
//!
//! Equal bytes cannot show a missing barrier in a calm run, so that the run on rings also goes
//! through the order check.

mod batches;
mod bytes;
mod packets;

use super::lower::{Lowered, Stage};
use super::module_run::{self, Initial};
use super::order::{self, Readings};
use super::program::Program;
use super::ring::{Agent, Event, EventKind, Machine};
use crate::bir::exec::{self, Action, Choice, Control};
use crate::bir::memory::Read;
use crate::bir::{At, Finding, Layout, Memory, Module, Part, Pos, verify};
use crate::diag::{Diagnostic, Severity};
use crate::limits::MAX_BLAME_BYTES;
use crate::udma::count_of;
use std::collections::HashMap;
use std::sync::Arc;

/// What came of a stage.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The same memory as the module as loaded; for that one: it ran to its end.
    Same,
    /// It does not run to its end, or cannot be run.
    Failed(Vec<Finding>),
    /// Another memory.
    Differs(Difference),
    /// The same memory, but only by luck: accesses that nothing orders.
    Races(Vec<Diagnostic>),
}

impl Verdict {
    /// Whether the stage is as it should be.
    pub fn is_good(&self) -> bool {
        *self == Verdict::Same
    }

    /// In words, without place.
    pub fn words(&self) -> String {
        match self {
            Verdict::Same => "same memory".to_owned(),
            Verdict::Failed(f) => match worst(f) {
                Some(f) => format!("does not run: {}", f.diag.message),
                None => "does not run".to_owned(),
            },
            Verdict::Differs(d) => d.words(),
            Verdict::Races(r) => match r.as_slice() {
                [] => "races".to_owned(),
                [d] => format!("a race: {}", d.message),
                [d, ..] => format!("{}, the first: {}", count_of(r.len(), "race"), d.message),
            },
        }
    }
}

/// The first error; where there is none, the first finding.
pub fn worst(all: &[Finding]) -> Option<&Finding> {
    all.iter().find(|f| f.diag.severity == Severity::Error).or(all.first())
}

/// The first place at which two runs differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The first instruction of the loaded module, in the order of its run, that leaves other
    /// bytes behind; where none does, or too much is written to tell, the one that wrote the
    /// address last.
    pub inst: Option<Pos>,
    /// Flat address of the first byte.
    pub address: u64,
    /// The same as location and row-major byte.
    pub place: String,
    /// What the module as loaded leaves there.
    pub expected: u8,
    /// What the stage leaves there.
    pub found: u8,
    /// Accesses of the run on rings that nothing orders: most likely why.
    pub races: Vec<Diagnostic>,
}

impl Difference {
    /// In words.
    pub fn words(&self) -> String {
        let Difference { place, expected, found, .. } = self;
        format!("{place} is {found:#04x}, as loaded it is {expected:#04x}")
    }

    /// As a finding about a stage.
    pub fn finding(&self, stage: Stage) -> Finding {
        let at = self.inst.map_or(At::Module("functions"), |p| At::Inst(p, Part::Whole));
        let mut f = Finding::new("L080", at, format!("after {stage}: {}", self.words()));
        if !self.races.is_empty() {
            let why =
                "accesses that nothing orders (the races that are told of beside this) may be why";
            f.diag.help = Some(why.to_owned());
        }
        f
    }
}

/// The run of a module by the reference interpreter.
#[derive(Debug)]
pub struct Reference {
    program: exec::Program,
    start: Memory,
    end: Memory,
    verified: bool,
    /// What it found.
    pub findings: Vec<Finding>,
    /// Whether it came to its end.
    pub complete: bool,
}

/// The memory before the first instruction.
///
/// # Errors
/// A location that the module does not have, or another number of bytes than it has (S012).
pub fn initial_memory(layout: &Layout, initial: &Initial) -> Result<Memory, Vec<Diagnostic>> {
    let mut memory = Memory::new();
    let mut wrong = Vec::new();
    for (name, bytes) in &initial.given {
        if let Err(e) = memory.load(layout, name, bytes) {
            let d = Diagnostic::new("S012", format!("`{name}`: {e}"));
            wrong.push(match &initial.file {
                Some(file) => d.in_file(file),
                None => d,
            });
        }
    }
    if wrong.is_empty() { Ok(memory) } else { Err(wrong) }
}

impl Reference {
    /// Runs a module.
    ///
    /// # Errors
    /// The memory does not fit the module (S012).
    pub fn new(
        module: Arc<Module>,
        initial: &Initial,
        options: &exec::Options,
    ) -> Result<Reference, Vec<Diagnostic>> {
        let program = exec::Program::new(module);
        let start = initial_memory(program.layout(), initial)?;
        let mut end = start.clone();
        let outcome = exec::run(&program, &mut end, options);
        let complete = outcome.error().is_none();
        let (verified, findings) = (false, outcome.findings);
        Ok(Reference { program, start, end, verified, findings, complete })
    }

    /// Says whether the verifier was asked about the module and had no error to tell.
    #[must_use]
    pub fn verified(self, verified: bool) -> Reference {
        Reference { verified, ..self }
    }

    /// The memory at its end.
    pub fn memory(&self) -> &Memory {
        &self.end
    }

    /// Where its locations lie.
    pub fn layout(&self) -> &Layout {
        self.program.layout()
    }

    /// As [`Reference::judge`], for a form that the verifier accepts. The module itself is not
    /// run again; where the verifier is known to accept it, it is not asked either.
    pub fn judge_sound(&self, module: &Arc<Module>, options: &exec::Options) -> Verdict {
        if self.complete && Arc::ptr_eq(self.program.module(), module) {
            let found = if self.verified { None } else { unsound(module, self.layout()) };
            return found.unwrap_or(Verdict::Same);
        }
        unsound(module, &Layout::new(module)).unwrap_or_else(|| self.judge(module, options))
    }

    fn judge_sound_of(&self, program: &exec::Program, options: &exec::Options) -> Verdict {
        unsound(program.module(), program.layout())
            .unwrap_or_else(|| self.judge_of(program, options))
    }

    /// Compares a later form of the same module, run from the same memory.
    pub fn judge(&self, module: &Arc<Module>, options: &exec::Options) -> Verdict {
        self.judge_of(&exec::Program::new(module.clone()), options)
    }

    fn judge_of(&self, program: &exec::Program, options: &exec::Options) -> Verdict {
        let mut end = self.start.clone();
        let outcome = exec::run(program, &mut end, options);
        if outcome.error().is_some() {
            let errors = |f: &&Finding| f.diag.severity == Severity::Error;
            return Verdict::Failed(outcome.findings.iter().filter(errors).cloned().collect());
        }
        match first_difference(self.layout(), &self.end, &end) {
            None => Verdict::Same,
            Some(at) => {
                let mut other = Trace::new(at.0);
                other.module(program, self.layout(), self.start.clone(), options);
                Verdict::Differs(self.explain(at, other))
            }
        }
    }

    /// Compares a run on rings from the same memory, and looks for races in it.
    pub fn judge_rings(&self, p: &Program, readings: Readings) -> Verdict {
        if self.proves_rings(p, readings) {
            return Verdict::Same;
        }
        self.judge_rings_plainly(p, readings)
    }

    /// Whether a run on rings is shown batch by batch to leave the same memory, without a race.
    /// No says nothing: the plain run must be made.
    pub fn proves_rings(&self, p: &Program, readings: Readings) -> bool {
        self.complete && batches::proves(p, self, readings)
    }

    /// As [`Reference::judge_rings`], event by event.
    pub fn judge_rings_plainly(&self, p: &Program, readings: Readings) -> Verdict {
        // What has no end here has none on rings.
        if !self.complete {
            return Verdict::Failed(self.findings.clone());
        }
        let mut machine = Machine::new(p);
        let mut checker = order::Checker::new(p, readings);
        while let Some(step) = machine.step(p) {
            checker.event(&machine, &step.event);
        }
        let errors = |d: &&Diagnostic| d.severity == Severity::Error;
        let failed: Vec<Finding> = machine
            .findings
            .iter()
            .filter(errors)
            .map(|d| Finding { diag: d.clone(), at: None })
            .collect();
        if !failed.is_empty() || !machine.module_done(p) {
            return Verdict::Failed(failed);
        }
        let races = checker.finish().diagnostics(p);
        let races: Vec<_> = races.into_iter().filter(|d| d.severity == Severity::Error).collect();
        if let Some(at) = first_difference(self.layout(), &self.end, &machine.memory) {
            let mut other = Trace::new(at.0);
            other.rings(p, self.layout());
            return Verdict::Differs(Difference { races, ..self.explain(at, other) });
        }
        if races.is_empty() { Verdict::Same } else { Verdict::Races(races) }
    }

    fn explain(&self, (address, expected, found): (u64, u8, u8), other: Trace) -> Difference {
        let mut own = Trace::new(address);
        let options = exec::Options::default();
        own.module(&self.program, self.layout(), self.start.clone(), &options);
        Difference {
            inst: own.first_unlike(&other).or(own.last).or(other.last),
            address,
            place: exec::locate(self.layout(), address),
            expected,
            found,
            races: Vec::new(),
        }
    }
}

/// What the verifier refuses a form for. What lacks a queue has been told of; a stage may not have
/// come to it yet.
fn unsound(module: &Module, layout: &Layout) -> Option<Verdict> {
    let rules = verify::Options { unqueued: Severity::Warning };
    let mut found = verify::verify_with(module, layout, &rules);
    found.retain(|f| f.diag.severity == Severity::Error);
    (!found.is_empty()).then_some(Verdict::Failed(found))
}

/// The first byte of the locations that two memories do not agree on, in the order of the file:
/// address and both values.
pub fn first_difference(layout: &Layout, a: &dyn Read, b: &dyn Read) -> Option<(u64, u8, u8)> {
    const CHUNK: u64 = 1 << 16;
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for (from, len) in layout.placed().iter().flat_map(|l| l.runs().collect::<Vec<_>>()) {
        let mut at = from;
        while at < from + len {
            let n = CHUNK.min(from + len - at) as usize;
            x.resize(n, 0);
            y.resize(n, 0);
            a.read(at, &mut x);
            b.read(at, &mut y);
            if x != y
                && let Some(k) = x.iter().zip(&y).position(|(p, q)| p != q)
            {
                return Some((at + k as u64, x[k], y[k]));
            }
            at += n as u64;
        }
    }
    None
}

/// What each instruction of the loaded module has left behind, time and again in a run: a sum
/// over the bytes that it wrote so far, each as it wrote it last, whatever the pieces.
struct Trace {
    bytes: HashMap<(Pos, u64), u8>,
    /// The sums, oldest first.
    left: HashMap<Pos, Vec<u64>>,
    /// Whose sum came when.
    order: Vec<Pos>,
    /// An address, and who wrote it last.
    watched: u64,
    last: Option<Pos>,
    noted: u64,
}

impl Trace {
    fn new(watched: u64) -> Trace {
        let (bytes, left, order) = (HashMap::new(), HashMap::new(), Vec::new());
        Trace { bytes, left, order, watched, last: None, noted: 0 }
    }

    /// Bytes of one instruction, run by run; they are one sum.
    fn note(&mut self, pos: Pos, runs: impl Iterator<Item = (u64, u64)>, memory: &dyn Read) {
        let sums = self.left.entry(pos).or_default();
        let mut sum = sums.last().copied().unwrap_or(0);
        let mut bytes = Vec::new();
        for (at, len) in runs {
            if (at..at.saturating_add(len)).contains(&self.watched) {
                self.last = Some(pos);
            }
            self.noted = self.noted.saturating_add(len);
            if self.noted > MAX_BLAME_BYTES {
                continue;
            }
            bytes.resize(len as usize, 0);
            memory.read(at, &mut bytes);
            for (k, b) in bytes.iter().enumerate() {
                let at = at + k as u64;
                let word = |b: u8| super::ring::digest::mix(at, u64::from(b));
                if let Some(old) = self.bytes.insert((pos, at), *b) {
                    sum = sum.wrapping_sub(word(old));
                }
                sum = sum.wrapping_add(word(*b));
            }
        }
        sums.push(sum);
        self.order.push(pos);
    }

    /// The instruction that is the first to leave bytes behind which it never does in the other
    /// run; none where there is too much to compare.
    fn first_unlike(&self, other: &Trace) -> Option<Pos> {
        if self.noted.max(other.noted) > MAX_BLAME_BYTES {
            return None;
        }
        // How many sums of each instruction were gone through: here, and in the other run.
        let mut gone: HashMap<Pos, (usize, usize)> = HashMap::new();
        self.order.iter().copied().find(|pos| {
            let (mine, theirs) = gone.entry(*pos).or_default();
            let sum = self.left.get(pos).and_then(|s| s.get(*mine)).copied().unwrap_or(0);
            *mine += 1;
            let rest = other.left.get(pos).and_then(|s| s.get(*theirs..)).unwrap_or(&[]);
            match rest.iter().position(|s| *s == sum) {
                Some(k) => *theirs += k,
                // Nothing was written yet.
                None if sum == 0 => {}
                None => return true,
            }
            false
        })
    }

    /// Of a run of a module, of which the locations in `layout` count: what is put down on its
    /// way is nobody's business.
    fn module(
        &mut self,
        p: &exec::Program,
        layout: &Layout,
        mut memory: Memory,
        options: &exec::Options,
    ) {
        let counts = |run: &(u64, u64)| layout.at(run.0).is_some();
        let mut control = Control::new(p);
        for _ in 0..options.max_steps {
            let Choice::Run(engine) = control.next_engine(p) else { break };
            let Ok(action) = control.fetch(p, &memory, engine) else { break };
            // One descriptor of a block after the other: each may write over the one before.
            let parts = match action {
                Action::Transfers(groups) => {
                    groups.into_iter().map(|g| Action::Transfers(vec![g])).collect()
                }
                other => vec![other],
            };
            for action in parts {
                if exec::apply(&mut memory, p.layout(), &action, &mut |_| {}).is_err() {
                    return;
                }
                match &action {
                    Action::Nothing => {}
                    Action::Transfers(groups) => {
                        for g in groups {
                            let runs = g.transfers.iter().flat_map(|t| t.dest.walk.runs());
                            self.note(g.pos, runs.filter(counts), &memory);
                        }
                    }
                    Action::Opaque { pos, writes } => {
                        let runs = writes.iter().flat_map(|w| w.0.runs());
                        self.note(*pos, runs, &memory);
                    }
                    Action::Store { pos, walk, .. } => {
                        self.note(*pos, walk.runs(), &memory);
                    }
                }
            }
            control.complete(p, engine);
        }
    }

    /// Of a run on rings, of which the locations in `layout` count.
    fn rings(&mut self, p: &Program, layout: &Layout) {
        module_run::each_event(p, |m, e| {
            if let Some((pos, at, len)) = written(m, e)
                && layout.at(at).is_some()
            {
                self.note(pos, std::iter::once((at, len)), &m.memory);
            }
        });
    }
}

/// What an event of a run on rings writes for an instruction: its position, address, bytes.
pub fn written(m: &Machine, e: &Event) -> Option<(Pos, u64, u64)> {
    let (at, len) = match e.kind {
        EventKind::Visible { addr, len, .. } | EventKind::Store { addr, len } => (addr, len),
        _ => return None,
    };
    let engine = match e.agent {
        Agent::Seq(engine) => engine,
        Agent::Engine(id) => m.queue(id)?.owner?,
        Agent::Host => return None,
    };
    let seq = m.seqs.iter().find(|s| s.engine == engine)?;
    let origin = match (e.agent, e.kind) {
        (Agent::Engine(id), EventKind::Visible { slot, .. }) => m.rx_origin(id, slot),
        _ => None,
    };
    Some((origin.or_else(|| Some(seq.work.as_ref()?.inst?.0))?, at, len))
}

/// The verdicts on every stage of a lowering, in order.
#[derive(Debug, Clone)]
pub struct Validation {
    /// One for each stage that was run; for `rings` where a program was given.
    pub stages: Vec<(Stage, Verdict)>,
    /// What the module as loaded made of it: warnings, or why there is nothing to compare.
    pub findings: Vec<Finding>,
}

impl Validation {
    /// The first stage that does not do what the module as loaded does.
    pub fn first_bad(&self) -> Option<&(Stage, Verdict)> {
        self.stages.iter().find(|s| !s.1.is_good())
    }
}

/// The verdicts on one stage after the other. A stage that left the module as it was has the
/// verdict of the stage before: it is not verified and run again.
#[derive(Debug)]
pub struct Stages<'a> {
    reference: &'a Reference,
    prepared: Option<&'a exec::Program>,
    before: Option<(Arc<Module>, Verdict)>,
}

impl<'a> Stages<'a> {
    /// Before the first stage.
    pub fn new(reference: &'a Reference) -> Stages<'a> {
        Stages { reference, prepared: None, before: None }
    }

    /// One of the stages was prepared for its execution already.
    #[must_use]
    pub fn prepared(self, prepared: Option<&'a exec::Program>) -> Stages<'a> {
        Stages { prepared, ..self }
    }

    /// The verdict on the next stage, which made this of the module.
    pub fn judge(&mut self, module: &Arc<Module>, options: &exec::Options) -> Verdict {
        let verdict = match &self.before {
            Some((m, verdict)) if Arc::ptr_eq(m, module) => return verdict.clone(),
            _ => match self.prepared.filter(|p| Arc::ptr_eq(p.module(), module)) {
                // The module as loaded is asked about in its own way.
                Some(p) if !Arc::ptr_eq(self.reference.program.module(), module) => {
                    self.reference.judge_sound_of(p, options)
                }
                _ => self.reference.judge_sound(module, options),
            },
        };
        self.before = Some((module.clone(), verdict.clone()));
        verdict
    }
}

/// Something to do; what comes of it stays where it was put.
pub type Task<'a> = &'a mut (dyn FnMut() + Send);

/// How a validation goes about it.
pub struct How<'a> {
    /// The verifier had no error to tell of the module as loaded.
    pub verified: bool,
    /// Does both, one beside the other where whoever asks has threads.
    pub both: &'a dyn Fn(Task<'_>, Task<'_>),
}

impl Default for How<'_> {
    /// Nothing is known, and one is done after the other.
    fn default() -> Self {
        How {
            verified: false,
            both: &|a, b| {
                a();
                b();
            },
        }
    }
}

/// Runs every snapshot, and the program on rings, against the module as loaded.
///
/// # Errors
/// The memory does not fit the module (S012).
pub fn validate(
    lowered: &Lowered,
    rings: Option<&Program>,
    initial: &Initial,
    options: &exec::Options,
) -> Result<Validation, Vec<Diagnostic>> {
    validate_so(lowered, rings, initial, options, &How::default())
}

/// As [`validate`], in this manner.
///
/// # Errors
/// As [`validate`].
pub fn validate_so(
    lowered: &Lowered,
    rings: Option<&Program>,
    initial: &Initial,
    options: &exec::Options,
    how: &How<'_>,
) -> Result<Validation, Vec<Diagnostic>> {
    let mut out = Validation { stages: Vec::new(), findings: Vec::new() };
    let Some(first) = lowered.snapshots.first() else { return Ok(out) };
    let reference = Reference::new(first.module.clone(), initial, options)?;
    let reference = reference.verified(how.verified);
    out.findings.clone_from(&reference.findings);
    if !reference.complete {
        out.stages.push((first.stage, Verdict::Failed(reference.findings)));
        return Ok(out);
    }
    out.stages.push((first.stage, Verdict::Same));
    let mut on_rings = None;
    let mut judge_stages = || {
        let exec = rings.and_then(|p| p.module.as_ref()).map(|m| &m.exec);
        let mut stages = Stages::new(&reference).prepared(exec);
        let later = lowered.snapshots[1..].iter();
        out.stages.extend(later.map(|s| (s.stage, stages.judge(&s.module, options))));
    };
    let mut judge_rings =
        || on_rings = rings.map(|p| reference.judge_rings(p, Readings::default()));
    (how.both)(&mut judge_rings, &mut judge_stages);
    out.stages.extend(on_rings.map(|v| (Stage::Rings, v)));
    Ok(out)
}
