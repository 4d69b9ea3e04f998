//! Causes: who wrote a byte, who reads it next, where it came from, why a marker does not flip,
//! what anything is in words (`docs/causes.md`).
//!
//! Nothing here moves the session. [`sweep`] looks along the run from checkpoints, [`access`]
//! knows which bytes an event touches, [`stream`] which bytes a packet's bytes are made of.

mod access;
mod explain;
mod initial;
mod origin;
mod staged;
mod stream;
mod sweep;
mod why;
mod words;

#[cfg(test)]
mod tests;

use super::{EvalError, Outcome, Session, Watch, describe_event, inst_words, queue_of};
use crate::bir::Pos;
use crate::bir::exec::{Control, Item};
use crate::diag::{Diagnostic, Place, render};
use crate::engine::command::Bytes;
use crate::engine::expr::Expr;
use crate::engine::program::QueueId;
use crate::engine::ring::{Agent, Event, EventKind, Machine};
use crate::limits::{MAX_RUN_EVENTS, MAX_TRACE_BYTES, MAX_TRACE_PARTS};
use crate::udma::profile::MARKER;
use crate::udma::{DESC_BYTES, Dir};
use access::{Span, shared, without};
use std::ops::ControlFlow;
use std::sync::Arc;
use sweep::Swept;

/// A writer of bytes: the part that is its own, and the event; none: it was so from the start.
type Writer = (Span, Option<Event>);

impl Session {
    /// The stretch of memory that is meant.
    fn span_of(&self, bytes: &Bytes) -> Result<Span, Diagnostic> {
        let (addr, len) = match bytes {
            Bytes::Span { addr, len } => {
                // A name alone is what is so called: of on-chip memory what a partition has of it.
                let own = match addr {
                    Expr::Place(name) => self.area_named(name),
                    _ => None,
                };
                let alone = own.map_or(1, |a| a.len.min(MAX_TRACE_BYTES));
                let len = len.as_ref().map_or(Ok(alone), |l| self.value(l))?;
                (self.value(addr)?, len)
            }
            Bytes::Slots { queue, dir, first, last } => {
                let id = queue_of(self, queue).map_err(EvalError::into_diagnostic)?;
                let ring = self.machine.queue(id).map(|q| q.ring(*dir));
                let size = ring.map_or(0, |r| r.size);
                let Some(ring) = ring.filter(|_| *last < size) else {
                    let text = format!("{id}.{dir}[{last}] is not in the ring, which has {size}");
                    return Err(Diagnostic::new("S005", text));
                };
                let slots = (last - first).saturating_add(1);
                (ring.slot_addr(*first), slots.saturating_mul(DESC_BYTES as u64))
            }
            Bytes::Marker => (self.marker_word()?, 4),
        };
        if len == 0 {
            return Err(Diagnostic::new("S003", "0 bytes are none to ask about"));
        }
        if len > MAX_TRACE_BYTES {
            let text = format!("{len} bytes are more than {MAX_TRACE_BYTES}");
            return Err(Diagnostic::new("S003", text).help("ask about a part of them"));
        }
        if addr.checked_add(len - 1).is_none() {
            let text = format!("{len} bytes at {addr:#x} go beyond the last address");
            return Err(Diagnostic::new("S003", text));
        }
        Ok((addr, len))
    }

    /// The word that the selected queue's newest batch polls.
    fn marker_word(&self) -> Result<u64, Diagnostic> {
        let none = || Diagnostic::new("S005", "the program has no queue");
        let q = self.selected().and_then(|id| self.machine.queue(id)).ok_or_else(none)?;
        Ok(q.marker.wrapping_add(4))
    }

    /// A stretch in words: where, and how long.
    fn span_words(&self, (addr, len): Span) -> String {
        let name = self.program().name_addr(addr);
        let hex = format!("{addr:#x}");
        let at = if name == hex { hex } else { format!("{name} ({hex})") };
        format!("{at}, {len} B")
    }

    /// Who wrote the bytes last, as seen after event `n`, in the order of addresses. False
    /// where that is not all, because there are too many or it was cancelled.
    pub(super) fn writers(
        &mut self,
        n: u64,
        span: Span,
        watch: Watch<'_>,
    ) -> (Vec<Writer>, Swept<()>) {
        let mut left = vec![span];
        let mut found: Vec<Writer> = Vec::new();
        let note = &mut |m: &Machine, e: &Event| {
            let spans = access::writes(m, e);
            spans.iter().any(|s| shared(*s, span).is_some()).then_some((*e, spans))
        };
        let swept = self.find_back(n, watch, note, &mut |_, (e, spans)| {
            for s in spans {
                found.extend(left.iter().filter_map(|l| Some((shared(*l, s)?, Some(e)))));
                left = left.iter().flat_map(|l| without(*l, s)).collect();
            }
            let enough = left.is_empty() || found.len() >= MAX_TRACE_PARTS;
            if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if matches!(swept, Swept::End(_)) {
            found.extend(left.iter().map(|l| (*l, None)));
        }
        found.sort_by_key(|w| w.0.0);
        (found, swept)
    }

    pub(super) fn last_write(
        &mut self,
        bytes: &Bytes,
        watch: Watch<'_>,
    ) -> Result<Outcome, Diagnostic> {
        let span = self.span_of(bytes)?;
        let (writers, swept) = self.writers(self.position(), span, watch);
        let mut lines = Vec::new();
        for (part, event) in &writers {
            match event {
                Some(e) => lines.extend(self.writer_lines(*part, e)),
                None => {
                    let memory = self.timeline.start().memory.clone();
                    for (s, from) in initial::of(self.program(), &memory, *part) {
                        let words = from.words(self.program(), &memory, s.0);
                        lines.push(format!("{}: no event wrote it; {words}", self.span_words(s)));
                    }
                }
            }
        }
        match swept {
            Swept::Cancelled => lines.push("cancelled: what is older was not looked at".to_owned()),
            _ => {
                let told: u64 = writers.iter().map(|w| w.0.1).sum();
                if told < span.1 {
                    let rest = span.1 - told;
                    lines.push(format!("{rest} more bytes, by more writers than are told"));
                }
            }
        }
        Ok(Outcome::list(lines))
    }

    /// A writer: event, agent, slot, batch, whether it changed anything, instruction.
    fn writer_lines(&mut self, part: Span, e: &Event) -> Vec<String> {
        let after = self.state_at(e.n);
        let before = self.state_at(e.n - 1);
        let batch = if e.batch == 0 { String::new() } else { format!(", batch {}", e.batch) };
        let slot = self.slot_written(&after, e, part).map(|s| format!(", {s}")).unwrap_or_default();
        let changed = if bytes_of(&before, part) == bytes_of(&after, part) {
            "unchanged by it"
        } else {
            "changed"
        };
        let mut out = vec![format!(
            "{}: event {}, {}{slot}{batch}: {}; {changed}; `goto {}`",
            self.span_words(part),
            e.n,
            e.agent,
            describe_event(self.program(), e),
            e.n
        )];
        out.extend(self.inst_line(&after, e).map(|i| format!("  instruction {i}")));
        out
    }

    /// The slot that holds the descriptor that was written, or by which it was written.
    fn slot_written(&self, m: &Machine, e: &Event, part: Span) -> Option<String> {
        if let EventKind::Visible { slot, .. } = e.kind {
            return Some(format!("rx[{slot}]"));
        }
        self.slot_at(m, part.0).map(|(id, dir, slot)| format!("{id}.{dir}[{slot}]"))
    }

    /// The slot whose memory holds an address.
    fn slot_at(&self, m: &Machine, addr: u64) -> Option<(QueueId, Dir, u64)> {
        m.queues.iter().find_map(|q| {
            Dir::BOTH.into_iter().find_map(|dir| {
                let ring = q.ring(dir);
                let at = addr.checked_sub(ring.base).filter(|at| *at < ring.bytes())?;
                Some((q.id(), dir, at / DESC_BYTES as u64))
            })
        })
    }

    /// The instruction of the module that an event is of, with its place in the file.
    fn inst_line(&self, m: &Machine, e: &Event) -> Option<String> {
        let run = self.program().module.as_ref()?;
        let (pos, item) = inst_of(m, e)?;
        let line = |p: &Place| render::place(&Place { offset: None, ..p.clone() });
        let place = run.inst(pos).map(|i| line(&i.place));
        let place = place.filter(|p| !p.is_empty()).map(|p| format!(", {p}")).unwrap_or_default();
        Some(format!("{}{place}", inst_words(self.program(), pos, item)))
    }

    pub(super) fn origin(
        &mut self,
        bytes: &Bytes,
        watch: Watch<'_>,
    ) -> Result<Outcome, Diagnostic> {
        let span = self.span_of(bytes)?;
        let path = self.path_of(self.position(), span, watch);
        Ok(Outcome::list(self.path_lines(&path)))
    }

    pub(super) fn next_read(
        &mut self,
        bytes: &Bytes,
        watch: Watch<'_>,
    ) -> Result<Outcome, Diagnostic> {
        let span = self.span_of(bytes)?;
        let program = self.program().clone();
        let mut control: Option<Arc<Control>> = self.machine.control.clone();
        let mut written: Option<Event> = None;
        // A successful poll is the host's read of what its batch wrote.
        let (writers, swept) = self.writers(self.position(), span, watch);
        if swept == Swept::Cancelled {
            return Ok(Outcome::say("cancelled"));
        }
        let visible = |e: &Event| matches!(e.kind, EventKind::Visible { .. });
        let mut by_batch = writers.iter().filter_map(|w| w.1).filter(visible).max_by_key(|e| e.n);
        let from = self.position();
        let swept = self.find_forward(from, MAX_RUN_EVENTS, watch, &mut |m, e| {
            let hits = |s: &Vec<Span>| s.iter().find_map(|s| shared(*s, span));
            let read = hits(&access::reads(&program, control.as_deref(), m, e));
            let wrote = hits(&access::writes(m, e));
            control.clone_from(&m.control);
            if let Some(part) = read {
                return Some((*e, part, written, false));
            }
            // The batches of a poll are those that are not acked yet, up to the awaited one.
            let done = |q| m.queue(q).map_or(0, |q| q.ledger.done());
            if polled_for(m, e).is_some_and(|q| {
                let of = |w: Event| w.queue() == Some(q) && w.batch > done(q) && w.batch <= e.batch;
                by_batch.is_some_and(of)
            }) {
                return Some((*e, span, written, true));
            }
            if wrote.is_some() {
                written = Some(*e);
                by_batch = Some(*e).filter(visible);
            }
            None
        });
        Ok(Outcome::list(match swept {
            Swept::Found((e, part, written, by_poll), _) => {
                self.read_lines(&e, part, written, by_poll)
            }
            Swept::End(n) => {
                vec![format!(
                    "nothing reads {} until the run ends at event {n}",
                    self.span_words(span)
                )]
            }
            Swept::Limit(n) => vec![format!("nothing reads it up to event {n}; given up there")],
            Swept::Cancelled => vec!["cancelled".to_owned()],
        }))
    }

    fn read_lines(
        &mut self,
        e: &Event,
        part: Span,
        written: Option<Event>,
        by_poll: bool,
    ) -> Vec<String> {
        let p = self.program();
        let batch = if e.batch == 0 { String::new() } else { format!(", batch {}", e.batch) };
        let mut out = vec![format!(
            "{}: event {}, {}{batch}: {}; `goto {}`",
            self.span_words(part),
            e.n,
            e.agent,
            describe_event(p, e),
            e.n
        )];
        if by_poll {
            out.push("  a successful poll counts as a read of all that its batch wrote".to_owned());
        }
        if let Some(w) = written {
            let text = describe_event(p, &w);
            out.push(format!("  written before that: event {}, {}: {text}", w.n, w.agent));
        }
        let after = self.state_at(e.n);
        out.extend(self.inst_line(&after, e).map(|i| format!("  instruction {i}")));
        out
    }
}

/// The queue whose marker a poll has just seen.
fn polled_for(m: &Machine, e: &Event) -> Option<QueueId> {
    use crate::engine::ring::host::Frame;
    let EventKind::Poll { value: MARKER, .. } = e.kind else { return None };
    m.cpu().stack.iter().rev().find_map(|f| match f {
        Frame::Wait { queue, .. } => Some(*queue),
        _ => None,
    })
}

/// The instruction that an event is of: the loaded module's, and the one that is run.
fn inst_of(m: &Machine, e: &Event) -> Option<(Pos, Item)> {
    match (e.agent, e.kind) {
        (_, EventKind::Inst { pos, item } | EventKind::InstDone { pos, item }) => Some((pos, item)),
        (Agent::Engine(id), kind) => {
            let q = m.queue(id)?;
            let origin = match kind {
                EventKind::Visible { slot, .. } => q.origin(Dir::Rx, slot),
                EventKind::Read { slot, .. } => q.origin(Dir::Tx, slot),
                EventKind::Fetch { dir, slot, .. } => q.origin(dir, slot),
                _ => None,
            }?;
            Some((origin.inst, origin.item))
        }
        (Agent::Seq(engine), _) => m.seqs.iter().find(|s| s.engine == engine)?.work.as_ref()?.inst,
        (Agent::Host, _) => None,
    }
}

/// Bytes and what is known of them.
fn bytes_of(m: &Machine, (addr, len): Span) -> (Vec<u8>, crate::engine::ring::memory::Known) {
    let mut bytes = vec![0; len as usize];
    let known = m.memory.read(addr, &mut bytes);
    (bytes, known)
}
