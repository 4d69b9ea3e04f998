//! `origin`: bytes back through descriptor copies, as a tree (`docs/causes.md`, "origin").
//!
//! One look back along the run does all of it. What is asked for is a list of stretches, each
//! with the place in the tree that it belongs to. A write takes its part out of a stretch; where
//! that was a copy, what it was copied from is asked for from the event of its read on.

use super::access::{self, Span, shared, without};
use super::initial::{self, Initial};
use super::stream::{self, Part, Stream};
use crate::engine::program::QueueId;
use crate::engine::ring::{Event, EventKind, Machine};
use crate::engine::session::{Session, Watch};
use crate::limits::{MAX_ORIGIN_HOPS, MAX_ORIGIN_STEPS};
use std::ops::ControlFlow;

use super::sweep::Swept;

/// Where bytes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    /// A copy made them visible; what it read follows below.
    Visible {
        /// The event.
        event: Event,
        /// What was done with what was read; nothing where it was copied as it is.
        computes: Option<String>,
    },
    /// A Tx descriptor read them; who wrote them follows below.
    Read {
        /// Queue.
        queue: QueueId,
        /// Slot.
        slot: u64,
        /// The event of the read.
        event: u64,
    },
    /// A CPU agent wrote them, by this event: the end of the path.
    Written(Event),
    /// They were there from the start.
    Initial(Initial),
    /// The path goes on, but is not followed.
    NotFollowed(&'static str),
}

/// A step of the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The bytes.
    pub span: (u64, u64),
    /// Where they come from.
    pub from: From,
    /// The steps behind it.
    pub below: Vec<usize>,
}

/// The path of a stretch of bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Path {
    /// All steps.
    pub steps: Vec<Step>,
    /// Those of the bytes that were asked for, in the order of addresses.
    pub roots: Vec<usize>,
    /// It was cancelled, or there are more steps than are followed.
    pub cut: Option<&'static str>,
}

/// What is still looked for.
enum Want {
    /// Who wrote these bytes.
    Bytes { span: Span, parent: Option<usize>, hops: u32 },
    /// When this descriptor was read; the bytes are those of the step.
    Read { queue: QueueId, part: Part, step: usize, hops: u32 },
}

/// What an event did.
enum Note {
    Read { queue: QueueId, k: u64, slot: u64, addr: u64 },
    Visible { event: Event, span: Span, stream: Stream, at: u64 },
    Wrote { event: Event, spans: Vec<Span> },
}

fn note(m: &Machine, e: &Event) -> Option<Note> {
    match e.kind {
        EventKind::Read { len: 0, .. } => None,
        EventKind::Read { slot, addr, .. } => {
            let q = m.queue(e.queue()?)?;
            let k = q.packet.tx.get(q.packet.read.checked_sub(1)?)?.k;
            Some(Note::Read { queue: q.id(), k, slot, addr })
        }
        EventKind::Visible { addr, len, .. } => {
            let (stream, at) = stream::delivered(m, m.index_of(e.queue()?)?, len);
            Some(Note::Visible { event: *e, span: (addr, len), stream, at })
        }
        _ => {
            let spans = access::writes(m, e);
            (!spans.is_empty()).then_some(Note::Wrote { event: *e, spans })
        }
    }
}

const TOO_LONG: &str = "more copies than are followed";
const TOO_MANY: &str = "more steps than are followed";

impl Path {
    fn push(&mut self, parent: Option<usize>, span: Span, from: From) -> Option<usize> {
        if self.steps.len() >= MAX_ORIGIN_STEPS {
            self.cut = Some(TOO_MANY);
            return None;
        }
        let at = self.steps.len();
        self.steps.push(Step { span, from, below: Vec::new() });
        match parent {
            Some(p) => self.steps[p].below.push(at),
            None => self.roots.push(at),
        }
        Some(at)
    }

    /// Takes an event into account.
    fn take(&mut self, wants: &mut Vec<Want>, n: u64, note: &Note) {
        let mut next = Vec::new();
        for want in wants.drain(..) {
            match (want, note) {
                (
                    Want::Read { queue, part, step, hops },
                    Note::Read { queue: by, k, slot, addr },
                ) if queue == *by && part.k == *k => {
                    let span = (addr.wrapping_add(part.at), part.len);
                    self.steps[step].span = span;
                    self.steps[step].from = From::Read { queue, slot: *slot, event: n };
                    next.push(Want::Bytes { span, parent: Some(step), hops });
                }
                (Want::Bytes { span, parent, hops }, Note::Wrote { event, spans }) => {
                    let mut left = vec![span];
                    for s in spans {
                        if let Some(hit) = shared(span, *s) {
                            self.push(parent, hit, From::Written(*event));
                            left = left.into_iter().flat_map(|l| without(l, *s)).collect();
                        }
                    }
                    next.extend(left.into_iter().map(|span| Want::Bytes { span, parent, hops }));
                }
                (
                    Want::Bytes { span, parent, hops },
                    Note::Visible { event, span: by, stream, at },
                ) => match shared(span, *by) {
                    None => next.push(Want::Bytes { span, parent, hops }),
                    Some(hit) => {
                        let from = At { event, stream, at: at + (hit.0 - by.0), hit };
                        self.copied(from, parent, hops, &mut next);
                        let left = without(span, *by);
                        next.extend(left.map(|span| Want::Bytes { span, parent, hops }));
                    }
                },
                (want, _) => next.push(want),
            }
        }
        *wants = next;
    }

    /// A copy wrote some of the bytes: what it read is wanted now.
    fn copied(&mut self, c: At<'_>, parent: Option<usize>, hops: u32, next: &mut Vec<Want>) {
        let computes = c.stream.computes();
        let from = From::Visible { event: *c.event, computes };
        let Some(step) = self.push(parent, c.hit, from) else { return };
        if hops >= MAX_ORIGIN_HOPS {
            self.push(Some(step), c.hit, From::NotFollowed(TOO_LONG));
            return;
        }
        let Some(queue) = c.event.queue() else { return };
        for part in c.stream.sources(c.at, c.hit.1, MAX_ORIGIN_STEPS) {
            // Where it was read is told when the look back comes to it.
            let waiting = From::NotFollowed("the read lies before what was looked at");
            let Some(step) = self.push(Some(step), (part.ptr, part.len), waiting) else { return };
            next.push(Want::Read { queue, part, step, hops: hops + 1 });
        }
    }

    /// In order: by address, what a copy was made of in the order of its stream.
    fn sort(&mut self) {
        let at: Vec<u64> = self.steps.iter().map(|s| s.span.0).collect();
        self.roots.sort_by_key(|s| at[*s]);
        for step in &mut self.steps {
            if matches!(step.from, From::Read { .. }) {
                step.below.sort_by_key(|s| at[*s]);
            }
        }
    }
}

/// A part of what a copy wrote.
struct At<'a> {
    event: &'a Event,
    stream: &'a Stream,
    /// Where it begins in what the packet delivers.
    at: u64,
    hit: Span,
}

impl Session {
    /// The path of bytes as they are after event `n`.
    pub(in crate::engine::session) fn path_of(
        &mut self,
        n: u64,
        span: Span,
        watch: Watch<'_>,
    ) -> Path {
        let mut path = Path::default();
        let mut wants = vec![Want::Bytes { span, parent: None, hops: 0 }];
        let swept = self.find_back(n, watch, &mut note, &mut |n, note: Note| {
            path.take(&mut wants, n, &note);
            let done = wants.is_empty() || path.cut.is_some();
            if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if swept == Swept::Cancelled {
            path.cut = Some("cancelled");
        }
        if path.cut.is_none() {
            let memory = self.timeline.start().memory.clone();
            for want in wants {
                let Want::Bytes { span, parent, .. } = want else { continue };
                for (part, from) in initial::of(self.program(), &memory, span) {
                    path.push(parent, part, From::Initial(from));
                }
            }
        }
        path.sort();
        path
    }

    /// The path line by line, each step indented below what it made.
    pub(in crate::engine::session) fn path_lines(&self, path: &Path) -> Vec<String> {
        let mut out = Vec::new();
        let mut todo: Vec<(usize, usize)> = path.roots.iter().rev().map(|r| (*r, 0)).collect();
        while let Some((at, depth)) = todo.pop() {
            let Some(step) = path.steps.get(at) else { continue };
            let text = self.step_text(step);
            let what = match (&step.from, depth) {
                // What a read covers its own line says.
                (From::Read { .. }, _) => text,
                _ => format!("{}: {text}", self.span_words(step.span)),
            };
            out.push(format!("{:1$}{what}", "", 2 * depth));
            todo.extend(step.below.iter().rev().map(|s| (*s, depth + 1)));
        }
        out.extend(path.cut.map(|why| format!(".. and further: {why}")));
        out
    }

    fn step_text(&self, step: &Step) -> String {
        let p = self.program();
        match &step.from {
            From::Visible { event, computes } => {
                let how = computes.as_deref().unwrap_or("copied");
                let slot = match event.kind {
                    EventKind::Visible { slot, .. } => format!("rx[{slot}]"),
                    _ => String::new(),
                };
                format!(
                    "{how} by {}.{slot}, batch {}, visible at event {}",
                    event.agent, event.batch, event.n
                )
            }
            From::Read { queue, slot, event } => {
                let bytes = self.span_words(step.span);
                format!("from {bytes}, read by {queue}.tx[{slot}] at event {event}")
            }
            From::Written(e) => {
                let text = crate::engine::session::describe_event(p, e);
                format!("{} at event {}: {text}", e.agent, e.n)
            }
            From::Initial(i) => {
                let memory = &self.timeline.start().memory;
                i.words(p, memory, step.span.0)
            }
            From::NotFollowed(why) => (*why).to_owned(),
        }
    }
}
