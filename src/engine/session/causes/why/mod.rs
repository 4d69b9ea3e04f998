//! `why`: the chain of unmet conditions that keeps a queue's marker from flipping, most specific
//! first (`docs/causes.md`, "why").
//!
//! A condition is looked for in the order in which one hangs on the other: the engine has
//! aborted, it stands, it has not begun, it was not told, nothing was staged; then what the CPU
//! agent does that waits. The first that is not met is the cause; what follows from it is told
//! behind it. What comes next is found by running on, on a copy.

mod ahead;
mod engine;
mod host;
mod module;
mod order;
#[cfg(test)]
mod tests;

use super::access::Span;
use crate::diag::Diagnostic;
use crate::engine::expr::QueueRef;
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::host::{Frame, Host};
use crate::engine::ring::queue::Queue;
use crate::engine::ring::{Machine, device};
use crate::engine::session::{EvalError, Outcome, Session, Watch, describe_event, queue_of};
use crate::limits::MAX_WHY_SLOTS;
use crate::udma::profile::MARKER;
use crate::udma::{DESC_BYTES, Desc, Dir};
use ahead::{Ahead, Past};

/// What is told.
#[derive(Debug, Default)]
struct Chain {
    /// The unmet conditions, the most specific first; what follows from one begins with `so`,
    /// what it hangs on with `because`.
    causes: Vec<String>,
    /// What was found too, but keeps nothing from going on.
    also: Vec<String>,
}

impl Chain {
    /// The cause, or what follows from what was told before.
    fn cause(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.causes.push(if self.causes.is_empty() { text } else { format!("  so: {text}") });
    }

    /// What the line before hangs on.
    fn because(&mut self, text: impl Into<String>) {
        self.causes.push(format!("  because: {}", text.into()));
    }
}

/// A queue and what is known of it, for the parts of the answer.
struct View<'a> {
    p: &'a Program,
    m: &'a Machine,
    q: &'a Queue,
    past: &'a Past,
    ahead: &'a Ahead,
}

/// A CPU agent that waits for the queue.
struct Waiter<'a> {
    /// `host`, or the sequencer.
    name: String,
    cpu: &'a Host,
}

impl View<'_> {
    fn id(&self) -> QueueId {
        self.q.id()
    }

    /// The polled word.
    fn word(&self) -> u64 {
        self.q.marker.wrapping_add(4)
    }

    /// The polled word by name.
    fn word_name(&self) -> String {
        self.p.name_addr(self.word())
    }

    /// Whether the polled word is the marker now.
    fn is_set(&self) -> bool {
        self.m.memory.outside(self.word(), 4).is_none()
            && self.m.memory.read_u32(self.word()) == MARKER
    }

    /// Who waits for the queue.
    fn waiter(&self) -> Option<Waiter<'_>> {
        let waits = |cpu: &Host| {
            let own = |f: &Frame| matches!(f, Frame::Wait { queue, .. } | Frame::Ack { queue, .. } if *queue == self.id());
            cpu.stack.iter().any(own)
        };
        let host = Some(Waiter { name: "host".to_owned(), cpu: &self.m.host });
        let seqs = self.m.seqs.iter();
        let seqs = seqs.map(|s| Waiter { name: format!("seq {}", s.engine), cpu: &s.host });
        host.into_iter().chain(seqs).find(|w| waits(w.cpu))
    }

    /// How many descriptors of a ring were written, as far as is known.
    fn written(&self, dir: Dir) -> u64 {
        self.q.sw(dir).staged.max(self.q.hw(dir).posted)
    }

    /// Descriptors that no doorbell told of.
    fn unposted(&self, dir: Dir) -> u64 {
        self.q.sw(dir).staged.saturating_sub(self.q.hw(dir).posted)
    }

    /// The descriptors of a ring that are not retired, each with its number since reset.
    fn pending(&self, dir: Dir) -> impl Iterator<Item = (u64, Desc)> + '_ {
        let hw = self.q.hw(dir);
        let end = self.written(dir).min(hw.retired.saturating_add(MAX_WHY_SLOTS));
        (hw.retired..end).map(move |k| (k, self.desc(dir, k)))
    }

    /// The `k`-th descriptor of a ring since reset.
    fn desc(&self, dir: Dir, k: u64) -> Desc {
        let (hw, ring) = (self.q.hw(dir), self.q.ring(dir));
        let mut bytes = [0; DESC_BYTES];
        self.m.memory.read(ring.slot_addr(hw.first.slot.wrapping_add(k)), &mut bytes);
        Desc::from_bytes(&bytes)
    }

    /// The Rx descriptor not yet retired that writes the polled word: that of a completion pair,
    /// of four bytes, before any other that reaches it.
    fn marker_rx(&self) -> Option<(u64, Desc)> {
        let word: Span = (self.word(), 4);
        let reaches = |d: &Desc| {
            let at = device::resolve(self.p, d.ptr);
            !d.is_zero() && at.is_ok_and(|a| super::shared((a, d.length()), word).is_some())
        };
        let own = |d: &Desc| d.length() == word.1 && reaches(d);
        let pair = self.pending(Dir::Rx).find(|(_, d)| own(d));
        pair.or_else(|| self.pending(Dir::Rx).find(|(_, d)| reaches(d)))
    }

    /// Descriptors by number as slots: `tx[3]`, `tx[3:9]`.
    fn slots(&self, dir: Dir, first: u64, count: u64) -> String {
        let size = self.q.ring(dir).size.max(1);
        let start = self.q.hw(dir).first.slot;
        let at = |k: u64| start.wrapping_add(k) % size;
        match count {
            0 => format!("no {dir}"),
            1 => format!("{dir}[{}]", at(first)),
            n if at(first) <= at(first + n - 1) => {
                format!("{dir}[{}:{}]", at(first), at(first + n - 1))
            }
            n => format!("{n} of {dir} from {dir}[{}] on, around its end", at(first)),
        }
    }
}

impl Session {
    pub(in crate::engine::session) fn why(
        &mut self,
        queue: Option<&QueueRef>,
        watch: Watch<'_>,
    ) -> Result<Outcome, Diagnostic> {
        let id = match queue {
            Some(q) => Some(queue_of(self, q).map_err(EvalError::into_diagnostic)?),
            None => self.selected(),
        };
        let Some(id) = id else {
            let why = "the program has no queue: nothing of it can wait for a marker";
            return Err(Diagnostic::new("S005", why));
        };
        if !self.can_step() {
            let d = Diagnostic::new("S010", "the program has nothing to run, so nothing waits");
            return Err(d.help("`explain tx[0]` tells what lies in its slots"));
        }
        let mut cancelled = false;
        let watch: Watch<'_> = &mut |p| {
            let go_on = watch(p);
            cancelled |= go_on.is_break();
            go_on
        };
        let past = self.past_of(id, watch);
        let ahead = self.ahead_of(id, watch);
        // Half of what is known would be a lie.
        if cancelled {
            return Ok(Outcome::say("cancelled"));
        }
        let m = self.machine.clone();
        let program = self.program().clone();
        let Some(q) = m.queue(id) else { return Ok(Outcome::default()) };
        let view = View { p: &program, m: &m, q, past: &past, ahead: &ahead };
        let mut chain = Chain::default();
        view.engine(&mut chain);
        view.host(&mut chain);
        view.remarks(&mut chain);
        let mut lines = chain.causes;
        lines.extend(chain.also.into_iter().map(|t| format!("also: {t}")));
        lines.extend(self.what_comes(&ahead));
        Ok(Outcome::list(lines))
    }

    /// What happens next, and whether the marker flips.
    fn what_comes(&self, a: &Ahead) -> Vec<String> {
        let p = self.program();
        let mut out = Vec::new();
        let at = |e: &crate::engine::ring::Event| {
            let text = describe_event(p, e);
            format!("event {}, {} us, {}: {text}", e.n, e.t_us(), e.agent)
        };
        match &a.next {
            Some(e) => out.push(format!("next: {}", at(e))),
            None => {
                out.push(format!("next: nothing, the run is at its end, event {}", self.position()))
            }
        }
        if let Some(e) = a.trouble.as_ref().filter(|t| a.flip.is_none_or(|f| t.n < f.n)) {
            out.push(format!("before the marker flips: {} (`goto {}`)", at(e), e.n));
        }
        if let Some(e) = a.gave_up.as_ref().filter(|g| a.flip.is_none_or(|f| g.n < f.n)) {
            out.push(format!(
                "the wait gives up at event {}, {} us (`goto {}`)",
                e.n,
                e.t_us(),
                e.n
            ));
        }
        match (&a.flip, &a.seen) {
            (Some(f), Some(s)) => out.push(format!(
                "the marker flips at event {}, {} us, and is seen at event {} (`goto {}`)",
                f.n,
                f.t_us(),
                s.n,
                f.n
            )),
            (Some(f), None) => out.push(format!(
                "the marker flips at event {}, {} us, and nobody sees it (`goto {}`)",
                f.n,
                f.t_us(),
                f.n
            )),
            (None, Some(s)) => {
                out.push(format!("a poll sees the marker at event {} (`goto {}`)", s.n, s.n));
            }
            (None, None) if a.next.is_some() => out.push(match a.complete {
                true => format!("the marker never flips: the run ends at event {}", a.last),
                false => {
                    format!("the marker does not flip up to event {}; looked no further", a.last)
                }
            }),
            (None, None) => {}
        }
        out
    }
}
