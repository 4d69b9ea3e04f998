//! The verbs about a module on rings: `provenance`, `info budget`.

use super::eval::queue_of;
use super::{EvalError, Outcome, Session, Watch};
use crate::diag::Diagnostic;
use crate::engine::budget::Budget;
use crate::engine::command::Subject;
use crate::engine::module_run::ModuleRun;
use crate::engine::provenance::{Found, Provenance};

impl Session {
    fn module_run(&self) -> Result<&ModuleRun, Diagnostic> {
        let none = || Diagnostic::new("S005", "the program was not made of a module");
        self.program().module.as_deref().ok_or_else(none)
    }

    pub(super) fn provenance(
        &mut self,
        subject: &Subject,
        _watch: Watch<'_>,
    ) -> Result<Outcome, Diagnostic> {
        let run = self.module_run()?;
        let prov = Provenance::of(run);
        let m = self.machine();
        let found = match subject {
            Subject::Slot { queue, dir, index, .. } => {
                let id = queue_of(self, queue).map_err(EvalError::into_diagnostic)?;
                let size = m.queue(id).map_or(0, |q| q.ring(*dir).size);
                if *index >= size {
                    let text = format!("{id}.{dir}[{index}] is not in the ring, which has {size}");
                    return Err(Diagnostic::new("S005", text));
                }
                Found::Slot(id, *dir, *index)
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
        };
        Ok(Outcome::list(prov.lines(m, &found, self.program().arch)))
    }

    pub(super) fn info_budget(&self) -> Result<Vec<String>, Diagnostic> {
        Ok(Budget::of_run(self.module_run()?).lines())
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
