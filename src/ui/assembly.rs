//! The assembly of a program without a module on the screen: which operation of the host script
//! a line belongs to, what the run made of it, and what ties it to slots and events
//! (`docs/screen.md`, "An assembly").

use super::highlight::{Language, tones};
use super::layout::Pane;
use super::model::{LOOK_AHEAD, Model};
use super::source::Toned;
use crate::diag::render::printable;
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::{Event, EventKind};
use crate::load::SourceText;
use crate::udma::{Dir, count_of};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Weak};

/// Smallest pane with the line at the cursor in full below the text.
const WITH_DETAIL: usize = 10;

/// What is shown of an assembly.
#[derive(Debug, Clone, Default)]
pub struct Assembly {
    /// The line with the cursor, from 0.
    pub cursor: usize,
    /// First line shown.
    pub top: usize,
    /// Columns by which the text is moved to the left.
    pub shift: usize,
    /// Lines on the screen with their tones.
    pub toned: BTreeMap<usize, Toned>,
    /// The text; none where the program has none, or it is not that of the program.
    pub text: Option<Arc<Text>>,
    /// What the run makes of each operation.
    pub uses: Arc<Uses>,
    /// The operation that the host is at.
    pub here: Option<usize>,
    /// Operations that the host was at since the last stop.
    pub changed: Range<usize>,
    /// The operation that put there what lies in the selected slot, or that will; whether it
    /// has.
    pub of_slot: Option<(Staged, bool)>,
    /// The operation that the selected event belongs to.
    pub of_event: Option<usize>,
    /// The program for which `uses` was worked out.
    uses_of: Weak<Program>,
    /// The cursor is to go to the line of the operation that is meant.
    pub(super) seek: Option<Seek>,
}

/// Where the cursor is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seek {
    /// To the operation that the host is at.
    Host,
    /// To that of the selected slot.
    Slot,
    /// To that of the selected event.
    Event,
}

/// A text and which operations its lines belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Its lines.
    pub lines: Vec<String>,
    /// The first line, from 0, of each operation, ascending, and the line after its last.
    pub ops: Vec<Range<usize>>,
}

impl Text {
    /// Of a source.
    pub fn new(source: &SourceText) -> Text {
        let lines: Vec<String> = source.text.lines().map(str::to_owned).collect();
        let first: Vec<usize> = source.lines.iter().map(|l| *l as usize).collect();
        let end = |k: usize| first.get(k + 1).map_or(lines.len(), |n| n.saturating_sub(1));
        let ops = (0..first.len()).map(|k| {
            let from = first[k].saturating_sub(1);
            // A block goes on to its closing bracket.
            let opens = lines.get(from).is_some_and(|l| opens(l));
            let closes = |l: &String| l.trim_start().starts_with('}');
            let within = lines.get(from + 1..end(k)).unwrap_or_default();
            match opens {
                true => from..within.iter().position(closes).map_or(end(k), |n| from + n + 2),
                false => from..from + 1,
            }
        });
        Text { ops: ops.collect(), lines }
    }

    /// The operation that a line belongs to.
    pub fn op_at(&self, line: usize) -> Option<usize> {
        let at = self.ops.partition_point(|r| r.start <= line).checked_sub(1)?;
        self.ops[at].contains(&line).then_some(at)
    }

    /// The line of the `n`th descriptor of an operation that lists them one a line.
    pub fn line_of(&self, op: usize, n: u64) -> Option<usize> {
        let block = self.block(op)?;
        let at = block.start.checked_add(usize::try_from(n).ok()?)?;
        block.contains(&at).then_some(at)
    }

    /// Which descriptor of its operation a line is.
    pub fn nth_at(&self, line: usize) -> Option<u64> {
        let block = self.block(self.op_at(line)?)?;
        block.contains(&line).then(|| (line - block.start) as u64)
    }

    /// The lines of descriptors of an operation, where each of them is one descriptor.
    fn block(&self, op: usize) -> Option<Range<usize>> {
        let all = self.ops.get(op)?;
        let block = all.start + 1..all.end.saturating_sub(1);
        let one = |l: &String| {
            let mut words = l.split_whitespace();
            matches!(words.next(), Some("tx" | "rx" | "meta"))
                && !words.any(|w| w.starts_with("count=") || w.starts_with("repeat"))
        };
        let lines = self.lines.get(block.clone())?;
        (!lines.is_empty() && lines.iter().all(one)).then_some(block)
    }
}

/// Whether a block opens at the end of a line.
fn opens(line: &str) -> bool {
    let mut quoted = false;
    let code = line.find(|c| {
        quoted ^= c == '"';
        c == ';' && !quoted
    });
    line[..code.unwrap_or(line.len())].trim_end().ends_with('{')
}

/// Descriptors that an operation puts into a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staged {
    /// The event.
    pub event: u64,
    /// The operation.
    pub op: usize,
    /// Queue.
    pub queue: QueueId,
    /// Ring.
    pub dir: Dir,
    /// First slot; the ring goes round.
    pub slot: u64,
    /// How many slots.
    pub count: u64,
    /// Slots of the ring.
    size: u64,
    /// How many descriptors the operation put into this ring before.
    pub before: u64,
}

impl Staged {
    /// Which of them lies in a slot, from 0.
    pub fn nth(&self, slot: u64) -> Option<u64> {
        let at = (slot + self.size).checked_sub(self.slot)?.checked_rem(self.size)?;
        (at < self.count).then_some(at)
    }
}

/// What the run makes of each operation, as far as it was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// First and last event of each operation that began.
    pub events: BTreeMap<usize, (u64, u64)>,
    /// Descriptors put into rings, in the order of events.
    pub staged: Vec<Staged>,
    /// Events that were looked at.
    pub upto: u64,
    /// These are all.
    pub complete: bool,
}

impl Uses {
    /// Of a run's first events.
    pub fn of(events: &[Event], size: &dyn Fn(QueueId, Dir) -> u64, complete: bool) -> Uses {
        let mut out = Uses { complete, ..Uses::default() };
        let mut op = None;
        let mut counts: BTreeMap<(QueueId, bool), u64> = BTreeMap::new();
        for e in events {
            out.upto = e.n;
            if let EventKind::Call { op: k } = e.kind {
                op = Some(k as usize);
                out.events.insert(k as usize, (e.n, e.n));
                counts.clear();
            }
            let Some(k) = op else { continue };
            if let Some(all) = out.events.get_mut(&k) {
                all.1 = e.n;
            }
            let mut put = |queue, dir, slot, count| {
                let n = counts.entry((queue, dir == Dir::Tx)).or_default();
                let (before, size) = (*n, size(queue, dir).max(1));
                *n += count;
                let (event, op) = (e.n, k);
                out.staged.push(Staged { event, op, queue, dir, slot, count, size, before });
            };
            match e.kind {
                EventKind::Stage { queue, tx, rx, .. } => {
                    for (dir, taken) in [(Dir::Tx, tx), (Dir::Rx, rx)] {
                        if taken.desc.is_some() {
                            put(queue, dir, taken.slot, 1);
                        }
                    }
                }
                EventKind::CopyIn { queue, dir, slot, count } => put(queue, dir, slot, count),
                EventKind::CallReturn { .. } => op = None,
                _ => {}
            }
        }
        out
    }

    /// What put there what lies in a slot after an event; where nothing did, what will first, and
    /// false.
    pub fn of_slot(&self, (id, dir, slot): (QueueId, Dir, u64), at: u64) -> Option<(Staged, bool)> {
        let fits = |s: &&Staged| s.queue == id && s.dir == dir && s.nth(slot).is_some();
        let cut = self.staged.partition_point(|s| s.event <= at);
        let (past, coming) = self.staged.split_at(cut);
        let done = past.iter().rev().find(fits).map(|s| (*s, true));
        done.or_else(|| coming.iter().find(fits).map(|s| (*s, false)))
    }

    /// The operation that an event belongs to.
    pub fn of_event(&self, n: u64) -> Option<usize> {
        self.events.iter().find(|(_, e)| (e.0..=e.1).contains(&n)).map(|(op, _)| *op)
    }

    /// What an operation puts into rings; the first `Staged` of a direction is the wanted one's.
    pub fn slots_of(&self, op: usize) -> impl Iterator<Item = &Staged> {
        self.staged.iter().filter(move |s| s.op == op)
    }
}

/// How many rows the text and the line in full have.
pub fn split(height: usize) -> (usize, usize) {
    let detail = if height >= WITH_DETAIL { 4 } else { 0 };
    (height - detail, detail)
}

impl Model {
    /// Whether the program has an assembly that is shown.
    pub fn has_assembly(&self) -> bool {
        self.assembly.text.is_some()
    }

    /// Takes a text as that of the program, if it is.
    pub(super) fn take_assembly(&mut self) {
        let ops = self.session.program().script.len();
        let source = self.title.source.as_ref().filter(|s| s.lines.len() == ops);
        let source = source.filter(|_| self.session.program().module.is_none());
        self.assembly = Assembly {
            text: source.map(|s| Arc::new(Text::new(s))),
            seek: Some(Seek::Host),
            ..Assembly::default()
        };
    }

    /// Works out what the pane of the assembly shows.
    pub(super) fn prepare_assembly(&mut self) {
        let Some(text) = self.assembly.text.clone() else { return };
        let p = self.session.program().clone();
        if p.script.len() != text.ops.len() || p.module.is_some() {
            // Another program than the text is of.
            self.assembly = Assembly::default();
            return;
        }
        if self.assembly.uses_of.as_ptr() != Arc::as_ptr(&p) {
            let events = self.session.events(0, LOOK_AHEAD + 1);
            let complete = self.session.end().is_some_and(|e| e <= LOOK_AHEAD);
            let m = self.session.machine();
            let size = |id, dir| m.queue(id).map_or(0, |q| q.ring(dir).size);
            self.assembly.uses = Arc::new(Uses::of(&events, &size, complete));
            self.assembly.uses_of = Arc::downgrade(&p);
        }
        let position = self.session.position();
        let m = self.session.machine();
        let uses = self.assembly.uses.clone();
        self.assembly.here = m.host.op(&p);
        let begun = |m: &crate::engine::ring::Machine| m.host.op(&p).unwrap_or(p.script.len());
        let (old, new) = (begun(self.session.before()), begun(m));
        self.assembly.changed = match old.cmp(&new) {
            std::cmp::Ordering::Less => old..new,
            _ => new..old,
        };
        let at = self.queue().map(|id| (id, self.selection.dir, self.selection.slot));
        self.assembly.of_slot = at.and_then(|at| uses.of_slot(at, position));
        self.assembly.of_event = uses.of_event(self.event_cursor);
        let line_of = |op: Option<usize>| op.and_then(|k| text.ops.get(k)).map(|r| r.start);
        let to = match self.assembly.seek.take() {
            Some(Seek::Host) => line_of(self.assembly.here),
            Some(Seek::Event) => line_of(self.assembly.of_event),
            Some(Seek::Slot) => self.slot_line(&text),
            None => None,
        };
        if let Some(line) = to {
            self.assembly.cursor = line;
        }
        let last = text.lines.len().saturating_sub(1);
        self.assembly.cursor = self.assembly.cursor.min(last);
        let rows = split(self.derived.areas.rows(Pane::Source)).0.max(1);
        let (cursor, top) = (self.assembly.cursor, self.assembly.top);
        if cursor < top || cursor >= top + rows {
            let near = cursor + 1 == top || cursor == top + rows;
            self.assembly.top = match (near, cursor < top) {
                (true, true) => cursor,
                (true, false) => cursor + 1 - rows,
                _ => cursor.saturating_sub(rows / 3),
            };
        }
        self.assembly.top = self.assembly.top.min((last + 1).saturating_sub(rows));
        let mut kept = std::mem::take(&mut self.assembly.toned);
        let from = self.assembly.top;
        for n in from..(from + rows).min(text.lines.len()) {
            let line = printable(&text.lines[n]);
            let toned = kept.remove(&n).filter(|t| t.text == line).unwrap_or_else(|| {
                let tones = tones(Language::Dma, &line);
                Toned { text: line, tones }
            });
            self.assembly.toned.insert(n, toned);
        }
    }

    /// The line of the descriptor in the selected slot, else of its operation.
    fn slot_line(&self, text: &Text) -> Option<usize> {
        let (s, _) = self.assembly.of_slot?;
        let nth = s.before + s.nth(self.selection.slot)?;
        text.line_of(s.op, nth).or_else(|| text.ops.get(s.op).map(|r| r.start))
    }

    /// Moves the cursor of the text by lines.
    pub(super) fn assembly_rows(&mut self, n: i64) {
        let last = self.assembly.text.as_ref().map_or(0, |t| t.lines.len().saturating_sub(1));
        let at = (self.assembly.cursor as u64).saturating_add_signed(n).min(last as u64);
        self.assembly.cursor = at as usize;
    }

    /// Moves the text sideways.
    pub(super) fn assembly_columns(&mut self, n: i64) {
        const STEP: i64 = 8;
        let widest = |t: &Arc<Text>| t.lines.iter().map(String::len).max().unwrap_or(0);
        let widest = self.assembly.text.as_ref().map_or(0, widest);
        let at = (self.assembly.shift as u64).saturating_add_signed(n.saturating_mul(STEP));
        self.assembly.shift = at.min(widest.saturating_sub(1) as u64) as usize;
    }

    /// Selects the slot and the event of the line with the cursor.
    pub(super) fn assembly_enter(&mut self) {
        let Some(text) = self.assembly.text.clone() else { return };
        let Some(op) = text.op_at(self.assembly.cursor) else {
            self.say("no operation of the host stands on this line", None);
            return;
        };
        let uses = self.assembly.uses.clone();
        let mut said = self.op_words(op);
        if let Some((first, _)) = uses.events.get(&op) {
            self.event_cursor = *first;
        }
        let nth = text.nth_at(self.assembly.cursor);
        let holds = |s: &&Staged| nth.is_none_or(|n| (s.before..s.before + s.count).contains(&n));
        let mut all: Vec<&Staged> = uses.slots_of(op).filter(holds).collect();
        // The ring that is looked at, if the operation puts anything there.
        all.sort_by_key(|s| (s.dir != self.selection.dir, s.event));
        match all.first() {
            Some(s) => {
                let slot = (s.slot + nth.map_or(0, |n| n - s.before)) % s.size;
                self.session.select(s.queue);
                self.select_slot(Some(s.dir), slot);
            }
            None => said.push_str("; no slot is of it"),
        }
        self.say(said, None);
    }

    /// An operation and what the run makes of it, in a line.
    pub fn op_words(&self, op: usize) -> String {
        let p = self.session.program();
        let verb = p.script.get(op).map_or("", |s| s.op.verb());
        let mut out = format!("operation {} of {}, {verb}", op + 1, p.script.len());
        let uses = &self.assembly.uses;
        match uses.events.get(&op) {
            Some((a, b)) => out.push_str(&format!(", events {a} to {b}")),
            None if uses.complete => out.push_str(", never begun"),
            None => out.push_str(&format!(", not begun within {}", count_of(uses.upto, "event"))),
        }
        for dir in Dir::BOTH {
            let all: Vec<&Staged> = uses.slots_of(op).filter(|s| s.dir == dir).collect();
            let n: u64 = all.iter().map(|s| s.count).sum();
            if let Some(first) = all.first() {
                let more = if n > 1 { format!(" and {} more", n - 1) } else { String::new() };
                out.push_str(&format!(", {} {dir}[{}]{more}", first.queue, first.slot));
            }
        }
        out
    }

    /// The event at which the operation of the line with the cursor begins.
    pub(super) fn op_event(&self) -> Option<u64> {
        let op = self.assembly.text.as_ref()?.op_at(self.assembly.cursor)?;
        self.assembly.uses.events.get(&op).map(|e| e.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::engine::session::Session;
    use crate::load::asm::assemble;
    use crate::load::disasm::disassemble;

    fn source(text: &str) -> (SourceText, Program) {
        let a = assemble(text).unwrap();
        (SourceText { text: text.into(), lines: a.lines }, a.program)
    }

    #[test]
    fn every_operation_of_every_sample_has_its_lines() {
        for file in std::fs::read_dir("sample-programs").unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|e| e != "dma") {
                continue;
            }
            let (s, p) = source(&std::fs::read_to_string(&path).unwrap());
            let text = Text::new(&s);
            assert_eq!(text.ops.len(), p.script.len());
            for (k, r) in text.ops.iter().enumerate() {
                assert!(text.lines[r.start].starts_with(p.script[k].op.verb()), "{path:?} {r:?}");
                assert!(r.clone().all(|l| text.op_at(l) == Some(k)));
                if opens(&text.lines[r.start]) {
                    assert!(text.lines[r.end - 1].starts_with('}'), "{path:?} {r:?}");
                }
            }
            // Of the disassembly it is the same.
            let listing = disassemble(&p).unwrap();
            let text = Text::new(&SourceText { text: listing.text.into(), lines: listing.lines });
            assert_eq!(text.ops.len(), p.script.len());
        }
    }

    /// What the index says of a slot is what the run says who wrote it last.
    #[test]
    fn the_operation_of_a_slot_is_the_one_in_which_it_was_written() {
        for file in ["wrap.dma", "chain.dma", "three-queues.dma", "memset.dma"] {
            let (_, p) =
                source(&std::fs::read_to_string(format!("sample-programs/{file}")).unwrap());
            let mut s = Session::new(Arc::new(p.clone()));
            let events = s.events(0, 5000);
            let m = s.machine();
            let size = |id, dir| m.queue(id).map_or(0, |q| q.ring(dir).size);
            let uses = Uses::of(&events, &size, true);
            let mut seen = 0;
            for e in &events {
                let EventKind::Fetch { dir, slot, .. } = e.kind else { continue };
                let queue = e.queue().unwrap();
                let (staged, done) = uses.of_slot((queue, dir, slot), e.n).unwrap();
                assert!(done && staged.event < e.n);
                // The host was in that operation then.
                let then = s.state_at(staged.event);
                assert_eq!(then.host.op(&p), Some(staged.op));
                assert_eq!(uses.of_event(staged.event), Some(staged.op));
                seen += 1;
            }
            assert!(seen > 4, "{file}");
        }
    }

    #[test]
    fn descriptors_that_stand_one_a_line_are_told_apart() {
        let (s, _) = source(include_str!("../../sample-programs/chain.dma"));
        let text = Text::new(&s);
        let op = text.lines.iter().position(|l| l.starts_with("copy_in e5.q0 ring=tx")).unwrap();
        let k = text.op_at(op).unwrap();
        assert_eq!(text.line_of(k, 2), Some(op + 3));
        assert_eq!(text.line_of(k, 3), None);
        assert_eq!(text.nth_at(op + 2), Some(1));
        assert_eq!((text.nth_at(op), text.op_at(op + 4)), (None, Some(k)));
        let store = text.lines.iter().position(|l| l.starts_with("store addr=marker")).unwrap();
        assert_eq!(text.line_of(text.op_at(store).unwrap(), 0), None);
    }
}
