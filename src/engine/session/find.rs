//! `find`: the slots of a queue of which an expression is not 0 (`docs/commands.md`, "Finding
//! slots"). Nothing moves.

use super::{EvalError, Outcome, Progress, Session, eval, eval_at};
use crate::diag::Diagnostic;
use crate::engine::expr::Expr;
use crate::limits::MAX_FOUND;
use crate::udma::{DESC_BYTES, Desc, Dir};
use std::ops::ControlFlow;

/// Slots between two reports of progress.
const REPORT_EVERY: u64 = 1 << 14;
/// Slots that an answer names of each ring.
const SHOWN: usize = 32;

/// The slots that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Ring and slot, those of Tx first, each in order.
    pub slots: Vec<(Dir, u64)>,
    /// More than are kept ([`MAX_FOUND`]), or it was cancelled.
    pub cut: bool,
    /// Slots that were asked.
    pub asked: u64,
}

impl Session {
    /// The slots of the selected queue of which `expr` is not 0. Slots that are zero are left
    /// out, and those of which it has no value now (a field that META lacks).
    ///
    /// # Errors
    /// S005 for a name that stands for nothing in any slot, S006 for a division by zero.
    pub fn slots_found(
        &self,
        dir: Option<Dir>,
        expr: &Expr,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Found, Diagnostic> {
        let none = || Diagnostic::new("S005", "no queue is selected");
        let id = self.selected().ok_or_else(none)?;
        let q = self.machine().queue(id).ok_or_else(none)?;
        // What stands for nothing does so for every slot, and where there is none.
        let mut wrong = None;
        expr.each_place(&mut |e| {
            if let Err(e @ EvalError::Name(..)) = eval(self, self.machine(), e) {
                wrong = Some(e);
            }
        });
        if let Some(e) = wrong {
            return Err(e.into_diagnostic());
        }
        let mut out = Found::default();
        let mut refused: Option<EvalError> = None;
        let mut answered = false;
        for d in Dir::BOTH.into_iter().filter(|d| dir.is_none_or(|x| x == *d)) {
            let ring = q.ring(d);
            for index in 0..ring.size {
                let mut bytes = [0; DESC_BYTES];
                self.machine().memory.read(ring.slot_addr(index), &mut bytes);
                if Desc::from_bytes(&bytes).is_zero() {
                    continue;
                }
                out.asked += 1;
                match eval_at(self, self.machine(), expr, (id, d, index)) {
                    Ok(v) => {
                        answered = true;
                        if v != 0 && out.slots.len() < MAX_FOUND {
                            out.slots.push((d, index));
                        } else if v != 0 {
                            out.cut = true;
                        }
                    }
                    // Another slot may have what this one lacks.
                    Err(e @ EvalError::Name(..)) => refused = Some(e),
                    Err(e) if e.is_for_now() => {}
                    Err(e) => return Err(e.into_diagnostic()),
                }
                let here = Progress { event: index, from: 0 };
                if out.asked.is_multiple_of(REPORT_EVERY) && watch(here).is_break() {
                    out.cut = true;
                    return Ok(out);
                }
            }
        }
        match refused {
            Some(e) if !answered => Err(e.into_diagnostic()),
            _ => Ok(out),
        }
    }

    pub(super) fn find(
        &self,
        dir: Option<Dir>,
        expr: &Expr,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Outcome, Diagnostic> {
        let found = self.slots_found(dir, expr, watch)?;
        let many = |n: u64| if n == 1 { "" } else { "s" };
        let (n, asked) = (found.slots.len() as u64, found.asked);
        let least = if found.cut { "at least " } else { "" };
        let mut lines = vec![format!("{least}{n} of {asked} slot{}", many(asked))];
        for d in Dir::BOTH {
            let slots: Vec<u64> = found.slots.iter().filter(|s| s.0 == d).map(|s| s.1).collect();
            if slots.is_empty() {
                continue;
            }
            let names: Vec<String> =
                runs(&slots).into_iter().take(SHOWN).map(|r| name(d, r)).collect();
            let told: usize =
                runs(&slots).into_iter().take(SHOWN).map(|r| (r.1 - r.0 + 1) as usize).sum();
            let more = slots.len().saturating_sub(told);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            lines.push(format!("{}{rest}", names.join(" ")));
        }
        Ok(Outcome::list(lines))
    }
}

/// Slots that follow each other, as first and last.
fn runs(slots: &[u64]) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    for &s in slots {
        match out.last_mut() {
            Some(last) if last.1 + 1 == s => last.1 = s,
            _ => out.push((s, s)),
        }
    }
    out
}

fn name(dir: Dir, (first, last): (u64, u64)) -> String {
    if first == last { format!("{dir}[{first}]") } else { format!("{dir}[{first}:{last}]") }
}
