//! The stages of a module and where its sequencers stand in it (`docs/screen.md`, "A module").

use super::{Outcome, Session};
use crate::bir::exec::Item;
use crate::bir::{Body, Engine, Pos};
use crate::diag::Diagnostic;
use crate::engine::command::Pass;
use crate::engine::lower::{OPTIONS, OptionInfo, Snapshot, Stage, Stats};
use crate::engine::module_run::{self, ModuleRun};
use crate::engine::ring::Machine;
use crate::engine::ring::seq::Sequencer;
use crate::udma::count_of;
use std::sync::Arc;

/// Where a sequencer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeqAt {
    /// Whose.
    pub engine: Engine,
    /// The instruction of the loaded module that it executes or comes to next.
    pub pos: Pos,
    /// The instruction of the module that is run.
    pub item: Item,
    /// It has begun it.
    pub begun: bool,
    /// It acted last among the host and the sequencers.
    pub acts: bool,
    /// Of a trigger that has begun: which of its blocks it fires.
    pub block: Option<usize>,
}

/// What a module holds, in words: what there is none of is left out.
pub fn counts(stats: &Stats) -> String {
    let parts = [
        (stats.dmas, "DMA"),
        (stats.clones, "clone"),
        (stats.triggers, "trigger"),
        (stats.blocks, "block"),
        (stats.descriptors, "descriptor"),
        (stats.patched, "run-time address"),
    ];
    let word = |(n, name): (u64, &str)| {
        let end = match (n, name.ends_with('s')) {
            (1, _) => "",
            (_, true) => "es",
            _ => "s",
        };
        format!("{n} {name}{end}")
    };
    let all: Vec<String> = parts.into_iter().filter(|p| p.0 > 0).map(word).collect();
    if all.is_empty() { "no transfers".to_owned() } else { all.join(", ") }
}

impl Session {
    /// The module that is run.
    ///
    /// # Errors
    /// S010: the program has none.
    pub fn module(&self) -> Result<Arc<ModuleRun>, Diagnostic> {
        let none = || {
            let d = Diagnostic::new("S010", "the program is rings without a module");
            d.help("a module is opened from `.bir` text or from JSON")
        };
        self.program().module.clone().ok_or_else(none)
    }

    /// The stage after which the module is shown.
    pub fn stage(&self) -> Option<Stage> {
        let module = self.program().module.as_ref()?;
        Some(module.lowered.snapshots.get(self.stage)?.stage)
    }

    /// Where each sequencer stands; those that are done are left out.
    pub fn sequencers(&self) -> Vec<SeqAt> {
        let m = self.machine();
        (0..m.seqs.len()).filter_map(|k| self.stands(m, k)).collect()
    }

    fn stands(&self, m: &Machine, k: usize) -> Option<SeqAt> {
        let run = self.program().module.as_ref()?;
        let Sequencer { engine, work, .. } = m.seqs.get(k)?;
        let begun = work.is_some();
        let (pos, item) = match work {
            Some(work) => work.inst?,
            None => {
                let item = m.control.as_ref()?.current(&run.exec, *engine)?;
                (run.exec.inst(item)?.pos, item)
            }
        };
        let acts = m.active == Some(k);
        // A fire is counted when it is complete: until then the count is the number of the block.
        let fired = |n: usize| m.control.as_ref()?.fires(&run.exec, item).checked_rem(n as u64);
        let block = match run.exec.inst(item).map(|i| &i.body) {
            Some(Body::Trigger(t)) if begun => fired(t.dma_blocks.len()).map(|n| n as usize),
            _ => None,
        };
        Some(SeqAt { engine: *engine, pos, item, begun, acts, block })
    }

    pub(super) fn pass(&mut self, what: Pass) -> Result<Outcome, Diagnostic> {
        let run = self.module()?;
        let all = &run.lowered.snapshots;
        let at = match what {
            Pass::Show => {
                let one = |(k, s): (usize, &Snapshot)| {
                    let mark = if k == self.stage { "=>" } else { "  " };
                    format!("{mark} {}", stage_line(s))
                };
                return Ok(Outcome::list(all.iter().enumerate().map(one).collect()));
            }
            Pass::Next => (self.stage + 1).min(all.len().saturating_sub(1)),
            Pass::Prev => self.stage.saturating_sub(1),
            Pass::Select(stage) => index(all, stage)?,
            Pass::Params => {
                let value = |o: &OptionInfo| run.options.lower.get(o.name).unwrap_or_default();
                let one =
                    |o: &OptionInfo| format!("{} = {} ({}): {}", o.name, value(o), o.values, o.doc);
                return Ok(Outcome::list(OPTIONS.iter().map(one).collect()));
            }
            Pass::Set(name, value) => {
                let mut params = run.options.lower.clone();
                params.set(name, &value).map_err(|e| Diagnostic::new("S004", e))?;
                let new = module_run::again(self.program(), &params)?;
                let lost = match self.program().edits.len() {
                    0 => String::new(),
                    1 => "; the edit of the run that was is gone".to_owned(),
                    n => format!(
                        "; {n_edits} of the run that was are gone",
                        n_edits = count_of(n, "edit")
                    ),
                };
                self.params = Some(params);
                self.begin_anew(Arc::new(new));
                let said = format!("{name} = {value}: lowered anew, at event 0{lost}");
                // All stages up to the one that is shown were gone through again.
                let Some((at, why)) = self.stage_stop(0..=self.stage)? else {
                    return Ok(Outcome::say(said));
                };
                self.stage = at;
                return Ok(self.at_stage(vec![said, why]));
            }
            // Text that the caller makes, of stages that there must be.
            Pass::Diff(stages) => {
                for stage in stages.iter().flat_map(|s| [s.0, s.1]) {
                    index(all, stage)?;
                }
                return Ok(Outcome::default());
            }
        };
        let from = self.stage;
        let way: Vec<usize> =
            if at >= from { (from + 1..=at).collect() } else { (at..from).rev().collect() };
        let stopped = self.stage_stop(way.into_iter())?;
        self.stage = stopped.as_ref().map_or(at, |s| s.0);
        Ok(self.at_stage(stopped.map(|s| s.1).into_iter().collect()))
    }

    /// The stage that is shown now, after what was said of the way there.
    fn at_stage(&mut self, mut lines: Vec<String>) -> Outcome {
        let run = self.program().module.clone();
        let shown = run.as_ref().and_then(|r| r.lowered.snapshots.get(self.stage));
        lines.extend(shown.map(stage_line));
        let mut out = Outcome::list(lines);
        if let Some(halt) = self.halt.take() {
            halt.into_outcome(&mut out);
        }
        out
    }
}

/// A stage and what there is after it.
fn stage_line(s: &Snapshot) -> String {
    format!("{}: {}", s.stage, counts(&s.stats))
}

fn index(all: &[Snapshot], stage: Stage) -> Result<usize, Diagnostic> {
    all.iter().position(|s| s.stage == stage).ok_or_else(|| {
        Diagnostic::new("S005", format!("the module was not lowered as far as `{stage}`"))
    })
}
