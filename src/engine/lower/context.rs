//! What the stages share while they run: choices, findings, transfers that were refused, scratch
//! memory, and how much may be made.

use super::options::Options;
use crate::bir::{
    Allocation, Arch, At, Dtype, Finding, Function, Layout, Location, Module, Name, Operand, Part,
    Pos, Space, StorageKind, TensorKind,
};
use crate::diag::Severity;
use crate::limits::{MAX_DIAGNOSTICS, MAX_LOWERED_INSTS, MAX_OVERLAP_EFFORT};
use crate::udma::count_of;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Scratch locations begin at multiples of this.
const SCRATCH_ALIGN: u64 = 64;

/// Why a transfer is refused: code, part of it, message.
pub(super) type Refusal = (&'static str, Part, String);

/// What the stages share.
#[derive(Debug)]
pub(super) struct Context<'a> {
    /// Choices.
    pub(super) opts: &'a Options,
    /// Generation of the module.
    pub(super) arch: Option<Arch>,
    /// Findings of the stage that runs.
    findings: Vec<Finding>,
    /// What was said already: one thing about one transfer is said once, however often it is
    /// cloned.
    said: BTreeSet<(&'static str, Option<Pos>)>,
    /// Transfers that stay as they are.
    refused: BTreeSet<Pos>,
    /// New locations and registers of each function.
    added: BTreeMap<usize, Vec<Allocation>>,
    scratch_end: Option<u64>,
    scratch_next: u64,
    /// Names of the module's locations.
    taken: Option<BTreeSet<Name>>,
    made: u64,
    effort: Cell<u64>,
}

impl Context<'_> {
    /// Nothing done yet.
    pub(super) fn new(opts: &Options, arch: Option<Arch>) -> Context<'_> {
        Context {
            opts,
            arch,
            findings: Vec::new(),
            said: BTreeSet::new(),
            refused: BTreeSet::new(),
            added: BTreeMap::new(),
            scratch_end: None,
            scratch_next: 0,
            taken: None,
            made: 0,
            effort: Cell::new(MAX_OVERLAP_EFFORT),
        }
    }

    /// Findings since the last call.
    pub(super) fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// Reports something about an instruction; once for each code and position.
    pub(super) fn say(&mut self, code: &'static str, pos: Pos, part: Part, text: String) {
        if self.said.insert((code, Some(pos))) {
            self.push(Finding::new(code, At::Inst(pos, part), text));
        }
    }

    /// Reports something about the module.
    pub(super) fn say_module(&mut self, code: &'static str, key: &'static str, text: String) {
        if self.said.insert((code, None)) {
            self.push(Finding::new(code, At::Module(key), text));
        }
    }

    fn push(&mut self, finding: Finding) {
        // An error is never lost behind remarks.
        let error = finding.diag.severity == Severity::Error;
        if self.findings.len() < MAX_DIAGNOSTICS
            || (error && self.findings.len() < 2 * MAX_DIAGNOSTICS)
        {
            self.findings.push(finding);
        }
    }

    /// Reports why a transfer is refused; it stays as it is from now on, and so does whatever
    /// was made of it.
    pub(super) fn refuse(&mut self, pos: Pos, (code, part, text): Refusal) {
        self.refused.insert(pos);
        self.say(code, pos, part, text);
    }

    /// Leaves an instruction as it is, without a word.
    pub(super) fn leave(&mut self, pos: Pos) {
        self.refused.insert(pos);
    }

    /// Whether a transfer was refused, or is left alone.
    pub(super) fn is_refused(&self, pos: Pos) -> bool {
        self.refused.contains(&pos)
    }

    /// How many instructions may still be made.
    pub(super) fn room(&self) -> u64 {
        MAX_LOWERED_INSTS - self.made
    }

    /// Accounts for looking at `runs` stretches of memory; `false` once that was done for long
    /// enough.
    pub(super) fn spend(&self, runs: u64) -> bool {
        let left = self.effort.get().saturating_sub(runs);
        self.effort.set(left);
        left > 0
    }

    /// Whether so many new instructions may be made.
    ///
    /// # Errors
    /// There would be more than are allowed.
    pub(super) fn fits(&self, n: u64) -> Result<(), Refusal> {
        if n <= self.room() {
            return Ok(());
        }
        let text = format!("lowering it would make more than {MAX_LOWERED_INSTS} instructions");
        Err(("L024", Part::Whole, text))
    }

    /// Accounts for new instructions.
    ///
    /// # Errors
    /// There would be more than are allowed.
    pub(super) fn make(&mut self, n: u64) -> Result<(), Refusal> {
        self.fits(n)?;
        self.made += n;
        Ok(())
    }

    /// A scratch location of `bytes` in internal DRAM, behind everything that is there.
    ///
    /// # Errors
    /// The arena has no room for it.
    pub(super) fn scratch(
        &mut self,
        module: &Module,
        function: usize,
        pos: Pos,
        bytes: u64,
    ) -> Result<Name, Refusal> {
        let end = match self.scratch_end {
            Some(end) => end,
            None => arena_end(module),
        };
        let addr = end.checked_next_multiple_of(SCRATCH_ALIGN);
        let room = addr.and_then(|a| a.checked_add(bytes));
        let (Some(addr), Some(end)) = (addr, room.filter(|e| *e <= crate::bir::layout::DRAM_BYTES))
        else {
            let text = "its source and destination share bytes, no order of its pieces is safe, \
                        and internal DRAM has no room for a scratch location";
            return Err(("L022", Part::Whole, text.into()));
        };
        let all = || module.locations().map(|(_, l)| l.name.clone()).collect();
        let taken = self.taken.get_or_insert_with(all);
        let name = loop {
            let name = Name::from(format!("dmadbg_scratch_{}", self.scratch_next));
            self.scratch_next += 1;
            if !taken.contains(&name) {
                break name;
            }
        };
        self.scratch_end = Some(end);
        let location = Location {
            name: name.clone(),
            space: Space::Dram,
            addr,
            dims: vec![bytes],
            base: 0,
            bank: None,
            tensor_id: Some(0),
            extra: Vec::new(),
        };
        self.allocate(
            function,
            Allocation {
                storage: StorageKind::Memory,
                name: format!("{name}_set").into(),
                dtype: Some(Dtype::U8),
                kind: Some(TensorKind::Internal),
                shape: vec![bytes],
                locations: vec![location],
                extra: Vec::new(),
            },
        );
        let text = format!(
            "its data goes through `{name}` ({bytes}), added to the program",
            bytes = count_of(bytes, "byte")
        );
        self.say("L023", pos, Part::Whole, text);
        Ok(name)
    }

    /// Adds an allocation to a function.
    pub(super) fn allocate(&mut self, function: usize, allocation: Allocation) {
        self.added.entry(function).or_default().push(allocation);
    }

    /// Puts the allocations made since the last call into their functions.
    pub(super) fn add_allocations(&mut self, module: &mut Arc<Module>) {
        if self.added.is_empty() {
            return;
        }
        let module = Arc::make_mut(module);
        for (function, new) in std::mem::take(&mut self.added) {
            if let Some(f) = module.functions.get_mut(function) {
                f.allocations.extend(new);
            }
        }
    }

    /// The layout of a module with the allocations that are still to be added.
    pub(super) fn layout(&self, module: &Module) -> Layout {
        let functions = module.functions.iter().enumerate().map(|(k, f)| Function {
            name: f.name.clone(),
            allocations: {
                let mut all = f.allocations.clone();
                all.extend(self.added.get(&k).into_iter().flatten().cloned());
                all
            },
            blocks: Vec::new(),
            extra: Vec::new(),
        });
        Layout::new(&Module {
            version: module.version,
            arch: module.arch,
            functions: functions.collect(),
            queues: Vec::new(),
            extra: Vec::new(),
        })
    }
}

/// The first byte of the arena of internal DRAM behind all locations in it.
fn arena_end(module: &Module) -> u64 {
    let internal = module
        .locations()
        .filter(|(set, l)| l.space.is_dram() && !set.kind.is_some_and(TensorKind::is_external));
    let end = |l: &Location| {
        let bytes = l.dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
        bytes.and_then(|b| b.checked_add(l.addr)).unwrap_or(u64::MAX)
    };
    internal.map(|(_, l)| end(l)).max().unwrap_or(0)
}

/// Whether an operand's location has partitions.
pub(super) fn on_chip(layout: &Layout, operand: &Operand) -> bool {
    let placed = operand.as_pattern().and_then(|p| layout.of(p).ok());
    placed.is_some_and(|p| p.space.has_partitions())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_instructions_as_are_allowed_may_be_made_and_no_more() {
        let opts = Options::default();
        let mut cx = Context::new(&opts, None);
        assert!(cx.make(MAX_LOWERED_INSTS - 1).is_ok());
        assert!(cx.fits(2).is_err() && cx.make(2).is_err() && cx.make(u64::MAX).is_err());
        // What was refused is not counted.
        assert_eq!(cx.room(), 1);
        assert!(cx.fits(1).is_ok() && cx.make(1).is_ok());
        assert!(cx.make(0).is_ok() && cx.make(1).is_err());
    }
}
