//! `find`: the slots of a queue of which an expression is not 0 (`docs/commands.md`, "Finding
//! slots"). Nothing moves.

use super::question::{BLOCK, Block, SlotQuestion};
use super::sieve::SIEVE;
use super::{EvalError, Outcome, Progress, Session, eval, eval_at};
use crate::diag::Diagnostic;
use crate::engine::expr::Expr;
use crate::engine::program::RingDecl;
use crate::limits::MAX_FOUND;
use crate::udma::lanes::{LINE, lines};
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

impl Found {
    fn matches(&mut self, dir: Dir, index: u64) {
        if self.slots.len() < MAX_FOUND {
            self.slots.push((dir, index));
        } else {
            self.cut = true;
        }
    }
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
        self.ask(dir, expr, watch, true)
    }

    /// The same, slot by slot: the plain twin.
    ///
    /// # Errors
    /// As [`Session::slots_found`].
    pub fn slots_found_plainly(
        &self,
        dir: Option<Dir>,
        expr: &Expr,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Found, Diagnostic> {
        self.ask(dir, expr, watch, false)
    }

    /// Asks every slot, blocks of them at once where `fast` and that has an answer.
    fn ask(
        &self,
        dir: Option<Dir>,
        expr: &Expr,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
        fast: bool,
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
        let mut block = Block::new();
        let mut bytes = [0; BLOCK * DESC_BYTES];
        for d in Dir::BOTH.into_iter().filter(|d| dir.is_none_or(|x| x == *d)) {
            let ring = q.ring(d);
            let mut question = if fast { SlotQuestion::of(self, expr, id, d) } else { None };
            let mut sieve = question.as_ref().and_then(SlotQuestion::sieve);
            let mut lying = Lying::default();
            // Up to here it must be asked otherwise.
            let (mut first, mut otherwise) = (0, 0);
            while first < ring.size {
                if first >= otherwise
                    && let Some(sieve) = &mut sieve
                    && let Some((lines, step)) = lying.lines(self, ring, first)
                {
                    let before = out.asked;
                    let n = sieve.slots(lines, step);
                    match sieve.each(lines, step, |i| out.matches(d, first + i)) {
                        Some(used) => {
                            out.asked += used;
                            answered |= used > 0;
                            first += n;
                            let here = Progress { event: first, from: 0 };
                            if reports(before, out.asked) && watch(here).is_break() {
                                out.cut = true;
                                return Ok(out);
                            }
                            continue;
                        }
                        None => otherwise = first + n,
                    }
                }
                let n = (ring.size - first).min(BLOCK as u64);
                let bytes = &mut bytes[..n as usize * DESC_BYTES];
                self.machine().memory.read(ring.slot_addr(first), bytes);
                block.take(first, bytes);
                let before = out.asked;
                let at_once = question
                    .as_mut()
                    .is_some_and(|q| q.each(&block, |index| out.matches(d, index)));
                if at_once {
                    out.asked += block.used;
                    answered |= block.used > 0;
                } else {
                    let used = bytes.as_chunks().0.iter().zip(first..);
                    for (_, index) in used.filter(|(b, _)| !Desc::from_bytes(b).is_zero()) {
                        out.asked += 1;
                        match eval_at(self, self.machine(), expr, (id, d, index)) {
                            Ok(v) => {
                                answered = true;
                                if v != 0 {
                                    out.matches(d, index);
                                }
                            }
                            // Another slot may have what this one lacks.
                            Err(e @ EvalError::Name(..)) => refused = Some(e),
                            Err(e) if e.is_for_now() => {}
                            Err(e) => return Err(e.into_diagnostic()),
                        }
                    }
                }
                first += n;
                let here = Progress { event: first, from: 0 };
                if reports(before, out.asked) && watch(here).is_break() {
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

/// Whether it is time to tell how far it is.
fn reports(before: u64, now: u64) -> bool {
    before / REPORT_EVERY != now / REPORT_EVERY
}

/// A stretch of a ring's slots where they lie.
#[derive(Default)]
struct Lying<'a> {
    bytes: &'a [u8],
    step: usize,
    from: u64,
    to: u64,
}

impl<'a> Lying<'a> {
    /// The lines that a sieve takes at once, `first` the first of their slots, and how many apart
    /// those of the ring are.
    fn lines(
        &mut self,
        s: &'a Session,
        ring: RingDecl,
        first: u64,
    ) -> Option<(&'a [[u8; LINE]], usize)> {
        if !(self.from..self.to).contains(&first) {
            let (bytes, step, slots) = s.machine().memory.lying(ring.slot_addr(first))?;
            let to = first.saturating_add(slots).min(ring.size);
            *self = Lying { bytes, step, from: first, to };
        }
        let each = DESC_BYTES * self.step;
        let at = usize::try_from(first - self.from).ok()?.checked_mul(each)?;
        let most = usize::try_from(self.to - first).ok()?.saturating_mul(each);
        let bytes = self.bytes.get(at..)?;
        let (lines, _) = lines(bytes.get(..most.min(SIEVE * LINE)).unwrap_or(bytes))?;
        let lines = lines.get(..lines.len().min(SIEVE))?;
        (!lines.is_empty() && LINE.is_multiple_of(each)).then_some((lines, self.step))
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
