//! The verbs about a module on rings: `provenance`, `info budget`.

use super::eval::queue_of;
use super::{EvalError, Outcome, Session, Watch};
use crate::diag::Diagnostic;
use crate::engine::budget::Budget;
use crate::engine::command::Subject;
use crate::engine::expr::QueueRef;
use crate::engine::module_run::ModuleRun;
use crate::engine::program::QueueId;
use crate::engine::provenance::{Found, Provenance};
use crate::udma::Dir;
use crate::udma::describe::{self, FieldRow};

impl Session {
    fn module_run(&self) -> Result<&ModuleRun, Diagnostic> {
        let none = || Diagnostic::new("S005", "the program was not made of a module");
        self.program().module.as_deref().ok_or_else(none)
    }

    pub(super) fn provenance(
        &mut self,
        subject: &Subject,
        watch: Watch<'_>,
    ) -> Result<Outcome, Diagnostic> {
        if let Subject::Slot { queue, dir, index, path } = subject {
            let at = self.slot_named(queue, *dir, *index)?;
            if self.program().module.is_none() {
                return self.staged_provenance(at, path, watch);
            }
            if !path.is_empty() {
                self.has_field(at, path)?;
                let prov = Provenance::of(self.module_run()?);
                let keep = |r: &FieldRow| is_of(r, path);
                let arch = self.program().arch;
                return Ok(Outcome::list(prov.field_lines(self.machine(), at, arch, &keep)));
            }
        }
        let found = self.found(subject)?;
        let prov = Provenance::of(self.module_run()?);
        Ok(Outcome::list(prov.lines(self.machine(), &found, self.program().arch)))
    }

    /// The provenance of a subject as JSON objects (`docs/json.md`, "provenance").
    ///
    /// # Errors
    /// S005: the program was made of no module, or the subject stands for nothing.
    pub fn provenance_json(
        &mut self,
        subject: &Subject,
    ) -> Result<Vec<serde_json::Value>, Diagnostic> {
        if let Subject::Slot { queue, dir, index, path } = subject
            && self.program().module.is_none()
        {
            let at = self.slot_named(queue, *dir, *index)?;
            return self.staged_json(at, path);
        }
        let path = match subject {
            Subject::Slot { queue, dir, index, path } => {
                self.has_field(self.slot_named(queue, *dir, *index)?, path)?;
                path.as_slice()
            }
            _ => &[],
        };
        let found = self.found(subject)?;
        let prov = Provenance::of(self.module_run()?);
        let keep = |r: &FieldRow| is_of(r, path);
        Ok(prov.json(self.machine(), &found, self.program().arch, &keep))
    }

    /// A slot that there is.
    fn slot_named(
        &self,
        queue: &QueueRef,
        dir: Dir,
        index: u64,
    ) -> Result<(QueueId, Dir, u64), Diagnostic> {
        let id = queue_of(self, queue).map_err(EvalError::into_diagnostic)?;
        let size = self.machine().queue(id).map_or(0, |q| q.ring(dir).size);
        if index >= size {
            let text = format!("{id}.{dir}[{index}] is not in the ring, which has {size}");
            return Err(Diagnostic::new("S005", text));
        }
        Ok((id, dir, index))
    }

    /// Whether the descriptor that lies in a slot has a field: META has others than data.
    pub(super) fn has_field(
        &self,
        (id, dir, index): (QueueId, Dir, u64),
        path: &[String],
    ) -> Result<(), Diagnostic> {
        let Some((desc, _)) = self.slot(id, dir, index) else { return Ok(()) };
        let rows = describe::explain(desc, dir, self.program().arch);
        if rows.iter().any(|r| is_of(r, path)) {
            return Ok(());
        }
        let what = if desc.is_meta() && dir == Dir::Tx { "META" } else { dir.name() };
        let text = format!("the {what} descriptor in {dir}[{index}] has no `{}`", path.join("."));
        let names: Vec<&str> = rows.iter().map(|r| r.name).collect();
        Err(Diagnostic::new("S005", text).help(format!("it has {}", names.join(", "))))
    }

    fn found(&self, subject: &Subject) -> Result<Found, Diagnostic> {
        let prov = Provenance::of(self.module_run()?);
        let m = self.machine();
        Ok(match subject {
            Subject::Slot { queue, dir, index, .. } => {
                let (id, dir, index) = self.slot_named(queue, *dir, *index)?;
                Found::Slot(id, dir, index)
            }
            Subject::Addr(addr) => prov.find_address(m, *addr).ok_or_else(|| {
                let text = format!("{addr:#x} is in no ring and in no memory location");
                Diagnostic::new("S005", text)
            })?,
            Subject::Inst(name) => {
                prov.find(name, true).map_err(|near| unknown("instruction", name, &near))?
            }
            Subject::Name(name) => prov
                .find(name, false)
                .map_err(|near| unknown("block, queue, location or instruction", name, &near))?,
        })
    }

    /// Names that a module gives: blocks, queues and locations; and instructions of all stages.
    /// Both are bounded, sorted, and empty without a module.
    pub fn module_names(&self) -> (Vec<String>, Vec<String>) {
        match &self.program().module {
            Some(run) => Provenance::of(run).names(),
            None => (Vec::new(), Vec::new()),
        }
    }

    pub(super) fn info_budget(&self) -> Result<Vec<String>, Diagnostic> {
        Ok(Budget::of_run(self.module_run()?).lines())
    }
}

/// Whether a row is the field or of the word that a path names; every row is of an empty path.
pub(super) fn is_of(row: &FieldRow, path: &[String]) -> bool {
    match path {
        [] => true,
        [one] => row.word.name() == one || row.name == one,
        [word, field, ..] => row.word.name() == word && row.name == field,
    }
}

fn unknown(what: &str, name: &str, near: &[String]) -> Diagnostic {
    let d = Diagnostic::new("S005", format!("no {what} is named `{name}`"));
    match near {
        [] => d,
        near => {
            let near: Vec<String> = near.iter().map(|n| format!("`{n}`")).collect();
            d.help(format!("did you mean {}?", near.join(" or ")))
        }
    }
}
