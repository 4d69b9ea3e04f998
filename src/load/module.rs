//! A module as an input: read, verified, lowered, put on rings (`docs/bir.md`,
//! `docs/lowering.md`).

mod memory;

pub use memory::{default_memory, read_memory};

use super::bir::{Spans, read_json, read_text};
use crate::bir::exec;
use crate::bir::{Arch, At, Finding, Layout, Module, Part, Pos, verify};
use crate::diag::{Diagnostic, Report, Severity};
use crate::engine::lower::{self, Lowered, Stage};
use crate::engine::module_run::{self, Initial};
use crate::engine::program::Program;
use crate::engine::validate::{How, Task, Validation, validate_so};
use crate::udma::{Generation, Profile};
use std::collections::HashSet;
use std::sync::Arc;
use std::thread;

/// What can be chosen about a module.
#[derive(Debug, Clone)]
pub struct ModuleOptions {
    /// How it is lowered.
    pub lower: lower::Options,
    /// The last stage that is wanted; below `rings` no program is made.
    pub upto: Stage,
    /// What memory holds at the start; absent: [`default_memory`].
    pub memory: Option<Initial>,
    /// Slots of each ring.
    pub ring_slots: u64,
    /// How bad a transfer without engine or queue is.
    pub unqueued: Severity,
}

impl Default for ModuleOptions {
    fn default() -> ModuleOptions {
        ModuleOptions {
            lower: lower::Options::default(),
            upto: Stage::Rings,
            memory: None,
            ring_slots: module_run::DEFAULT_RING_SLOTS,
            unqueued: Severity::Error,
        }
    }
}

/// A module that was read.
#[derive(Debug, Clone)]
pub struct LoadedModule {
    /// The module.
    pub module: Arc<Module>,
    /// Where its parts are in the file.
    pub spans: Arc<Spans>,
    /// What the verifier says of it.
    pub findings: Vec<Finding>,
    /// It after every stage.
    pub lowered: Lowered,
    /// What its memory holds at the start.
    pub memory: Initial,
    /// Generation, and where it is from.
    pub arch: (Generation, &'static str),
}

impl LoadedModule {
    /// Reads a module, as JSON or as text.
    ///
    /// # Errors
    /// Whatever keeps it from being read as one, each finding with its place.
    pub fn read(
        name: &str,
        bytes: &[u8],
        json: bool,
        opts: &ModuleOptions,
        arch: Option<Generation>,
    ) -> Result<(LoadedModule, Report), Report> {
        let read = if json {
            read_json(name, bytes)
        } else {
            let text = std::str::from_utf8(bytes).map_err(|e| {
                let at = crate::diag::Place::offset(e.valid_up_to() as u64);
                Report::from(Diagnostic::new("D004", "text that is not UTF-8 throughout").at(at))
            })?;
            read_text(name, text)
        };
        let loaded = read.map_err(Report::from)?;
        let report = Report::from(loaded.warnings);
        let mut module = loaded.module;
        let arch = match (arch, module.arch.map(Arch::generation)) {
            (Some(g), _) => (g, "given with --arch"),
            (None, Some(Some(g))) => (g, "said by the module"),
            (None, Some(None)) => (Generation::V3, "the module's own has no UDMA form"),
            (None, None) => (Generation::V3, "the default"),
        };
        if module.arch.is_none_or(|a| a.generation() != Some(arch.0)) {
            module.arch = Arch::ALL.iter().copied().find(|a| a.generation() == Some(arch.0));
        }
        let module = Arc::new(module);
        let layout = Layout::new(&module);
        let rules = verify::Options { unqueued: opts.unqueued };
        // Neither needs what the other finds.
        let (findings, memory, lowered) = thread::scope(|s| {
            let judge = || verify::verify_with(&module, &layout, &rules);
            let judged = s.spawn(judge);
            let memory = opts.memory.clone().unwrap_or_else(|| default_memory(&module, &layout));
            let lowered = lower::lower_shared(module.clone(), &opts.lower, opts.upto, &mut |_| {});
            (judged.join().unwrap_or_else(|_| judge()), memory, lowered)
        });
        let spans = Arc::new(loaded.spans);
        Ok((LoadedModule { module, spans, findings, lowered, memory, arch }, report))
    }

    /// A finding with its place in the file.
    pub fn place(&self, f: &Finding) -> Diagnostic {
        let mut d = f.diag.clone();
        if let Some(at) = &f.at {
            d.place = self.spans.place(at);
        }
        d
    }

    /// What verifier and passes say, with places. Of an instruction that the verifier refuses
    /// the passes say nothing more.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let of = |f: &Finding| match &f.at {
            Some(At::Inst(pos, _)) => Some(*pos),
            _ => None,
        };
        let refused: HashSet<Option<Pos>> =
            self.findings.iter().filter(|f| f.diag.severity == Severity::Error).map(of).collect();
        let later = self.lowered.findings().filter(|f| !refused.contains(&of(f)));
        let mut seen = HashSet::new();
        let all = self.findings.iter().chain(later);
        all.filter(|f| seen.insert((f.diag.code, f.at.clone(), &f.diag.message)))
            .map(|f| self.place(f))
            .collect()
    }

    /// Whether the verifier found an error.
    pub fn is_wrong(&self) -> bool {
        self.findings.iter().any(|f| f.diag.severity == Severity::Error)
    }

    /// Every stage, and the program on rings, against the module as loaded: those beside this.
    ///
    /// # Errors
    /// The memory does not fit the module (S012).
    pub fn validate(
        &self,
        rings: Option<&Program>,
        options: &exec::Options,
    ) -> Result<Validation, Vec<Diagnostic>> {
        let verified = !self.is_wrong();
        let how = How { verified, both: &beside };
        validate_so(&self.lowered, rings, &self.memory, options, &how)
    }

    /// The module on rings.
    ///
    /// # Errors
    /// It has no form there, or the memory does not fit it.
    pub fn program(
        &self,
        opts: &ModuleOptions,
        profile: &'static Profile,
    ) -> Result<Program, Vec<Diagnostic>> {
        let mut ring = module_run::Options::new(self.arch.0);
        ring.profile = profile;
        ring.lower = opts.lower.clone();
        ring.ring_slots = opts.ring_slots;
        let place = |pos: Pos| self.spans.place(&At::Inst(pos, Part::Whole));
        module_run::program(&self.lowered, &place, &self.memory, &ring)
    }
}

fn beside(one: Task<'_>, other: Task<'_>) {
    thread::scope(|s| {
        s.spawn(one);
        other();
    });
}
