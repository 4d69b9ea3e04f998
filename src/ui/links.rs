//! What belongs to what is selected: slots, events, lines, bytes, findings. The panes mark it
//! (`docs/screen.md`, "What belongs together").

use super::folding::RingLine;
use super::layout::Pane;
use super::model::Model;
use super::ties::{Slots, has_slot, slots_of, touches};
use crate::bir::Pos;
use crate::engine::module_run::Origin;
use crate::engine::ring::device::resolve;
use crate::engine::ring::{EventKind, Life};
use crate::limits::MAX_LINKED_SLOTS;
use crate::load::bir::listing::QueuePart;
use crate::udma::{Dir, View};
use std::collections::BTreeSet;

/// A slot in sight: ring, number, and the bytes that its descriptor names.
type Shown = (Dir, u64, Option<(u64, u64)>);

/// Both slots of a pair that nobody wrote.
const NEVER: (Life, Life) = (Life::NeverWritten, Life::NeverWritten);

/// What is selected: the thing at the cursor that was moved last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subject {
    /// The selected slot of the inspected ring.
    #[default]
    Slot,
    /// The line with the cursor: an instruction, a block, a descriptor, an operation.
    Line,
    /// A byte of memory, by its address.
    Byte(u64),
    /// An event, by its number.
    Event(u64),
}

/// What belongs to it, as far as it is in sight.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// Slots of the selected queue.
    pub slots: BTreeSet<(bool, u64)>,
    /// Events.
    pub events: BTreeSet<u64>,
    /// Instructions of the loaded module; nothing where the selected one is meant.
    pub insts: Option<BTreeSet<Pos>>,
    /// Operations of the host script; nothing where that of the selected slot is meant.
    pub ops: Option<BTreeSet<usize>>,
    /// Stretches of bytes.
    pub bytes: Vec<(u64, u64)>,
    /// Findings, by their number on the screen.
    pub findings: BTreeSet<usize>,
}

/// A row of the table: what is selected, and what each pane then shows of it.
#[derive(Debug, Clone, Copy)]
pub struct LinkRow {
    /// What is selected.
    pub selected: &'static str,
    /// By pane, in the order of [`LINK_PANES`].
    pub shows: [&'static str; 6],
}

/// The columns of the table.
pub const LINK_PANES: [&str; 6] = ["rings", "descriptor", "memory", "events", "text", "checks"];

/// What each pane shows of what is selected. A test holds every cell.
pub const LINKS: &[LinkRow] = &[
    LinkRow {
        selected: "a slot",
        shows: [
            "its line is lit, the other one of the pair underlined",
            "its bits",
            "the bytes that it names",
            "those that stage, copy, patch, fetch, read, write, retire or fault it",
            "its instruction, or the operation that put it there",
            "those at it",
        ],
    },
    LinkRow {
        selected: "an instruction (a line of a module)",
        shows: [
            "the slots that hold its descriptors; Enter selects the first",
            "that of the slot, after Enter",
            "the bytes that these slots name",
            "its beginning, its end and what its engines did between",
            "its line and all that stem from it, after Enter",
            "those at its slots or events",
        ],
    },
    LinkRow {
        selected: "a block or a descriptor of one (a line after `lower_dma`)",
        shows: [
            "the slots of that part; Enter selects the first",
            "that of the slot, after Enter",
            "the bytes that these slots name",
            "those about descriptors of that part",
            "its line, and those of its instruction after Enter",
            "those at its slots or events",
        ],
    },
    LinkRow {
        selected: "an operation (a line of an assembly)",
        shows: [
            "the slots that hold what it put there; Enter selects the first",
            "that of the slot, after Enter",
            "the bytes that these slots name",
            "those while the host is at it, and those about its slots",
            "its line",
            "those at its slots or events",
        ],
    },
    LinkRow {
        selected: "a byte",
        shows: [
            "the slots that name it now; Enter goes through those that wrote or read it",
            "that of the slot, after Enter",
            "the byte, and below it who writes and reads it",
            "those that write or read it",
            "the instructions, or the operations, whose events touch it",
            "those at its slots or events",
        ],
    },
    LinkRow {
        selected: "an event",
        shows: [
            "the slots that it is about; the first is selected",
            "that of this slot",
            "the bytes that it reads or writes",
            "the event",
            "the instruction, or the operation, to which it belongs",
            "those at it",
        ],
    },
];

/// The table as it stands in the documentation.
pub fn markdown() -> String {
    let mut out = format!("| selected | {} |\n|---", LINK_PANES.join(" | "));
    out.push_str(&"|---".repeat(LINK_PANES.len()));
    out.push_str("|\n");
    for row in LINKS {
        out.push_str(&format!("| {} | {} |\n", row.selected, row.shows.join(" | ")));
    }
    out
}

/// What was selected before a message, to know what it moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cursors {
    slot: (Option<crate::engine::program::QueueId>, Dir, u64),
    event: u64,
    byte: i64,
    line: (usize, usize),
    position: u64,
}

impl Model {
    /// Where all cursors are.
    pub(super) fn cursors_now(&self) -> Cursors {
        let s = self.selection;
        Cursors {
            slot: (self.queue(), s.dir, s.slot),
            event: self.event_cursor,
            byte: self.memory_at,
            line: (self.source.cursor, self.assembly.cursor),
            position: self.session.position(),
        }
    }

    /// What was moved is what is selected now.
    pub(super) fn take_subject(&mut self, before: Cursors) {
        let now = self.cursors_now();
        if now.position != before.position {
            return;
        }
        match self.focus {
            Pane::Events if now.event != before.event => {
                self.subject = Subject::Event(now.event);
                self.look_at_event(now.event);
            }
            Pane::Memory if now.byte != before.byte => self.subject = self.byte_subject(),
            Pane::Source | Pane::Passes if now.line != before.line => self.subject = Subject::Line,
            Pane::Tx | Pane::Rx | Pane::Inspector | Pane::Checks if now.slot != before.slot => {
                self.subject = Subject::Slot;
            }
            _ => {}
        }
    }

    /// After the run went on: what the screen follows is selected.
    pub(super) fn subject_follows(&mut self) {
        self.subject = match self.focus {
            Pane::Source | Pane::Passes => Subject::Line,
            _ => Subject::Slot,
        };
    }

    /// Selects the slot that an event is about.
    fn look_at_event(&mut self, n: u64) {
        let Some(e) = self.session.events(n, n + 1).pop().filter(|e| e.n == n) else { return };
        let all = slots_of(&e);
        // The ring that is looked at, if the event is about it.
        let first = all.iter().find(|s| s.0 == self.selection.dir).or(all.first());
        if let (Some(id), Some((dir, slot, _))) = (e.queue(), first) {
            self.session.select(id);
            self.select_slot(Some(*dir), *slot);
            return;
        }
        // Of what is about no slot the instruction is gone to.
        if self.has_module() {
            self.prepare_ties();
            let inst = self.derived.ties.of_event(n).and_then(|t| t.inst);
            let item = match e.kind {
                EventKind::Inst { item, .. } | EventKind::InstDone { item, .. } => Some(item),
                _ => None,
            };
            if let Some(pos) = inst {
                self.source.seek_inst(pos, item);
            }
        }
    }

    /// The byte at the cursor of the memory pane.
    pub fn byte(&self) -> Option<u64> {
        let (addr, _) = super::view::memory_target(self)?;
        Some(addr.wrapping_add_signed(self.memory_at))
    }

    pub(super) fn byte_subject(&self) -> Subject {
        self.byte().map_or(Subject::Slot, Subject::Byte)
    }

    /// Whether a line of a module's text, by its instruction, belongs to what is selected.
    pub fn inst_linked(&self, pos: Option<Pos>) -> bool {
        let Some(pos) = pos else { return false };
        match &self.derived.links.insts {
            Some(all) => all.contains(&pos),
            None => self.source.selected == Some(pos),
        }
    }

    /// Works out what belongs to what is selected.
    pub(super) fn prepare_links(&mut self) {
        if let Subject::Byte(_) = self.subject {
            self.subject = self.byte_subject();
        }
        let asks = match self.subject {
            Subject::Slot => false,
            Subject::Byte(_) => true,
            Subject::Line | Subject::Event(_) => self.has_module(),
        };
        // Of an empty slot it is told what will fill it.
        let empty = self.desc().is_some_and(|d| d.0.is_zero()) && self.session.can_step();
        if asks || empty {
            self.prepare_ties();
        }
        let shown = match self.subject {
            Subject::Line | Subject::Byte(_) => self.shown_slots(),
            Subject::Slot | Subject::Event(_) => Vec::new(),
        };
        let mut links = match self.subject {
            Subject::Slot => self.links_of_slot(),
            Subject::Line => self.links_of_line(&shown),
            Subject::Byte(addr) => self.links_of_byte(addr, &shown),
            Subject::Event(n) => self.links_of_event(n),
        };
        links.findings = self.linked_findings(&links);
        self.derived.links = links;
    }

    /// Slots that the ring panes show, folded ones too, with what their descriptors name now.
    fn shown_slots(&self) -> Vec<Shown> {
        let mut out = Vec::new();
        let slots = |dir| {
            let lines = self.lines_of(dir).iter().flat_map(|line| match *line {
                RingLine::Slot(slot) => slot..slot + 1,
                RingLine::Fold(f) if (f.alike.tx, f.alike.rx) != NEVER => f.first..f.end(),
                RingLine::Fold(_) | RingLine::Hidden(..) => 0..0,
            });
            lines.take(MAX_LINKED_SLOTS)
        };
        for dir in Dir::BOTH {
            for slot in slots(dir) {
                if self.slot(dir, slot).is_some() {
                    out.push((dir, slot, self.target_of(dir, slot)));
                }
            }
        }
        // Pair by pair.
        out.sort_by_key(|s| (s.1, s.0));
        out
    }

    /// The address that the descriptor in a slot names, and how many bytes.
    pub fn target_of(&self, dir: Dir, slot: u64) -> Option<(u64, u64)> {
        let (desc, life) = self.slot(dir, slot)?;
        if desc.is_zero() || life == Life::NeverWritten || desc.view(dir) == View::Meta {
            return None;
        }
        let addr = resolve(self.session.program(), desc.ptr).ok()?;
        Some((addr, desc.length()))
    }

    fn links_of_slot(&self) -> Links {
        let (s, id) = (self.selection, self.queue());
        let size = self.ring_size(s.dir);
        let about = |e: &&crate::engine::ring::Event| {
            e.queue() == id && slots_of(e).iter().any(|x| has_slot(*x, size, (s.dir, s.slot)))
        };
        let events = self.derived.events.iter().filter(about).map(|e| e.n).collect();
        Links { events, slots: [(s.dir == Dir::Tx, s.slot)].into(), ..Links::default() }
    }

    fn links_of_line(&self, shown: &[Shown]) -> Links {
        let mut out = Links::default();
        let fits: Box<dyn Fn(Dir, u64) -> bool> = match self.has_assembly() {
            true => {
                let text = self.assembly.text.as_ref();
                let Some(op) = text.and_then(|t| t.op_at(self.assembly.cursor)) else { return out };
                let uses = &self.assembly.uses;
                let of = move |id, dir, slot, n| {
                    uses.of_slot((id, dir, slot), n).is_some_and(|s| s.1 && s.0.op == op)
                };
                for e in &self.derived.events {
                    let slot = e.queue().zip(slots_of(e).first().copied());
                    let its = slot.is_some_and(|(id, (dir, slot, _))| of(id, dir, slot, e.n));
                    if its || uses.of_event(e.n) == Some(op) {
                        out.events.insert(e.n);
                    }
                }
                let (id, here) = (self.queue(), self.session.position());
                Box::new(move |dir, slot| id.is_some_and(|id| of(id, dir, slot, here)))
            }
            false => {
                let Some(listing) = self.listing() else { return out };
                let Some(pos) = listing.inst_at(self.source.cursor) else { return out };
                let part = listing.part_at(self.source.cursor);
                for t in &self.derived.ties.all {
                    let its = match part {
                        None => t.inst == Some(pos),
                        Some(p) => self.is_part(t.origin, t.event.queue(), p),
                    };
                    if its {
                        out.events.insert(t.event.n);
                    }
                }
                let held = |dir: Dir, slot: u64| {
                    let of =
                        |h: &&super::source::Held| h.dir == dir && Some(h.queue) == self.queue();
                    self.source.held.iter().filter(of).any(|h| h.slots.contains(&slot))
                };
                Box::new(held)
            }
        };
        for (dir, slot, target) in shown.iter().filter(|s| fits(s.0, s.1)) {
            out.slots.insert((*dir == Dir::Tx, *slot));
            out.bytes.extend(target);
        }
        out
    }

    /// Whether a descriptor is of a block, or that very descriptor of it.
    fn is_part(
        &self,
        origin: Option<Origin>,
        queue: Option<crate::engine::program::QueueId>,
        part: &QueuePart,
    ) -> bool {
        let run = self.session.program().module.as_ref();
        let name = queue.and_then(|id| run?.queue_name(id));
        origin.is_some_and(|o| {
            name == Some(&part.queue)
                && o.block.is_some_and(|b| b.0 == part.block)
                && (part.descriptor.is_none() || part.descriptor == o.descriptor)
        })
    }

    fn links_of_byte(&self, addr: u64, shown: &[Shown]) -> Links {
        let names = |t: &Option<(u64, u64)>| {
            t.is_some_and(|(at, len)| addr.checked_sub(at).is_some_and(|n| n < len))
        };
        let slots = shown.iter().filter(|s| names(&s.2)).map(|s| (s.0 == Dir::Tx, s.1)).collect();
        let its: Vec<_> = self.derived.ties.of_byte(addr).collect();
        Links {
            slots,
            events: its.iter().map(|t| t.event.n).collect(),
            insts: Some(its.iter().filter_map(|t| t.inst).collect()),
            ops: Some(its.iter().filter_map(|t| t.op).collect()),
            ..Links::default()
        }
    }

    fn links_of_event(&self, n: u64) -> Links {
        let mut out = Links { events: [n].into(), ..Links::default() };
        let Some(e) = self.derived.events.iter().find(|e| e.n == n) else { return out };
        if e.queue() == self.queue() {
            for (dir, first, count) in slots_of(e) {
                let size = self.ring_size(dir).max(1);
                let all = (0..count.min(size)).map(|k| (dir == Dir::Tx, (first + k) % size));
                out.slots.extend(all);
            }
        }
        out.bytes.extend(e.kind.access().map(|(at, len, _)| (at, len)));
        out.insts = Some(self.derived.ties.of_event(n).and_then(|t| t.inst).into_iter().collect());
        out.ops = Some(self.assembly.uses.of_event(n).into_iter().collect());
        out
    }

    /// Findings at slots or events that belong to it.
    fn linked_findings(&self, links: &Links) -> BTreeSet<usize> {
        let id = self.queue().map(|q| (q.engine, q.queue));
        let alone = self.session.program().queues.len() < 2;
        let at_slot = |d: &crate::diag::Diagnostic| {
            d.place.slot.as_ref().is_some_and(|s| {
                let here = s.queue.is_none() && alone || s.queue.is_some() && s.queue == id;
                here && links.slots.contains(&(s.dir == Dir::Tx, s.index))
            })
        };
        let at_event = |d: &crate::diag::Diagnostic| {
            !matches!(self.subject, Subject::Slot)
                && d.place.event.is_some_and(|n| links.events.contains(&n))
        };
        // Of an event only what was found there.
        let by_slot = !matches!(self.subject, Subject::Event(_));
        let all = self.findings().enumerate();
        let its = all.filter(|(_, d)| by_slot && at_slot(d) || at_event(d));
        its.map(|(i, _)| i).collect()
    }

    /// To the next slot that wrote or reads the selected byte: the newest write up to here first, or
    /// the newest read of what nobody wrote, then the others in the order of their events, going
    /// round.
    pub(super) fn follow_byte(&mut self) {
        let Some(addr) = self.byte() else {
            self.say("the selected slot has no address", None);
            return;
        };
        self.subject = Subject::Byte(addr);
        self.prepare_ties();
        let here = self.session.position();
        let mut all: Vec<(bool, u64, crate::engine::program::QueueId, Slots, bool)> = Vec::new();
        for t in self.derived.ties.of_byte(addr) {
            let slot = slots_of(&t.event).first().copied().zip(t.event.queue());
            if let (Some((slot, id)), Some((.., written))) = (slot, t.access) {
                all.push((t.event.n > here, t.event.n, id, slot, written));
            }
        }
        let past = |written: bool| all.iter().rposition(|a| !a.0 && (a.4 || !written));
        let newest = past(true).or_else(|| past(false));
        let at = all.iter().position(|a| {
            a.1 == self.event_cursor
                && Some(a.2) == self.queue()
                && (a.3.0, a.3.1) == (self.selection.dir, self.selection.slot)
        });
        let next = at.map_or_else(|| newest.unwrap_or(0), |k| (k + 1) % all.len().max(1));
        let Some((_, n, id, (dir, slot, _), written)) = all.get(next).copied() else {
            self.say("no descriptor of these events writes or reads this byte", None);
            return;
        };
        self.session.select(id);
        self.select_slot(Some(dir), slot);
        self.event_cursor = n;
        // The byte stays the selected one where the slot still names it.
        let target = super::view::memory_target(self);
        if let Some((at, len)) = target
            && touches(Some((at, len, written)), addr)
        {
            self.memory_at = (addr - at) as i64;
        }
        let what = if written { "written" } else { "read" };
        let number = format!("{} of {}", next + 1, all.len());
        self.say(format!("{what} at event {n} by {id} {dir}[{slot}] ({number})"), None);
    }

    /// What is selected, in short.
    pub fn subject_words(&self) -> String {
        match self.subject {
            Subject::Slot => format!("{}[{}]", self.selection.dir, self.selection.slot),
            Subject::Line if self.has_assembly() => format!("line {}", self.assembly.cursor + 1),
            Subject::Line => format!("line {}", self.source.cursor + 1),
            Subject::Byte(addr) => format!("byte {}", self.session.program().name_addr(addr)),
            Subject::Event(n) => format!("event {n}"),
        }
    }
}
