//! The text of a module on the screen: which lines are shown, where the sequencers stand in it,
//! and what ties an instruction to slots of the rings (`docs/screen.md`, "A module").

use super::highlight::{Language, Tone, tones};
use super::layout::Pane;
use super::model::{LOOK_BACK, Model};
use super::passes::Passes;
use crate::bir::exec::Item;
use crate::bir::{Engine, Pos};
use crate::diag::render::printable;
use crate::engine::lower::Stage;
use crate::engine::module_run::{ModuleRun, Origin};
use crate::engine::program::QueueId;
use crate::engine::ring::{Agent, EventKind};
use crate::load::bir::listing::{Listing, QueuePart, Standing, standing};
use crate::udma::Dir;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Smallest pane with a line for each stage.
const TALL: usize = 24;
/// Smallest pane with a row more for the selected line.
const WITH_MORE: usize = 16;
/// Smallest pane with the selected line in full below the text.
const WITH_DETAIL: usize = 9;

/// What is shown of a module's text.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The line with the cursor, from 0.
    pub cursor: usize,
    /// First line shown.
    pub top: usize,
    /// Columns by which the text is moved to the left.
    pub shift: usize,
    /// The selected instruction of the loaded module.
    pub selected: Option<Pos>,
    /// Lines at which sequencers stand.
    pub standing: Vec<Standing>,
    /// Texts that were looked at, each made once.
    listings: Vec<Arc<Listing>>,
    /// The module that they are of.
    made_of: Option<Arc<ModuleRun>>,
    /// The stage whose text the cursor is in.
    stage: Option<Stage>,
    /// The cursor is to go to the selected instruction.
    seek: bool,
    /// The instruction of the module that is run which the cursor is to go to, where its text
    /// is shown.
    pub(super) item: Option<Item>,
    /// The descriptor that the cursor is to go to, where its text is shown.
    part: Option<QueuePart>,
    /// The slots that hold what the line with the cursor shows.
    pub held: Vec<Held>,
    /// Lines on the screen with their tones: of the text as it is shown.
    pub toned: BTreeMap<usize, Toned>,
    /// Instructions of the module that is run at whose first event there is a breakpoint, and
    /// whether it is heeded.
    pub(super) begun: super::begun::Begun,
}

/// A line as it is shown, and which of its words are what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toned {
    /// Its text, made printable.
    pub text: String,
    /// Stretches by the byte after each.
    pub tones: Vec<(usize, Tone)>,
}

impl Source {
    /// The cursor is to go to an instruction.
    pub(super) fn seek_inst(&mut self, pos: Pos, item: Option<Item>) {
        (self.selected, self.item, self.part, self.seek) = (Some(pos), item, None, true);
    }

    /// The cursor stands on a line of a stage's text and is not to go elsewhere.
    pub(super) fn stay(&mut self, line: usize, stage: Option<Stage>) {
        (self.cursor, self.stage, self.seek) = (line, stage, false);
    }
}

/// How the rows of the pane are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// Rows for the stages.
    pub stages: usize,
    /// Rows of text.
    pub text: usize,
    /// Rows for the line with the cursor in full.
    pub detail: usize,
}

/// How a pane of so many rows is used; the stages have a row each where there is room and they
/// do not stand in the pane of the passes.
pub fn split(height: usize, passes: bool) -> Split {
    let (stages, detail) = match height {
        TALL.. if passes => (1, 5),
        TALL.. => (crate::engine::command::Pass::STAGES.len() + 1, 7),
        WITH_MORE.. => (1, 4),
        WITH_DETAIL.. => (1, 3),
        _ => (1.min(height), 0),
    };
    Split { stages, text: height.saturating_sub(stages + detail), detail }
}

/// Slots that hold descriptors of an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Queue.
    pub queue: QueueId,
    /// Ring.
    pub dir: Dir,
    /// The slots, in the order in which they were staged.
    pub slots: Vec<u64>,
}

impl Model {
    /// Whether the program is a module.
    pub fn has_module(&self) -> bool {
        self.session.program().module.is_some()
    }

    /// The text of the module after the selected stage.
    pub fn listing(&self) -> Option<&Listing> {
        let stage = self.session.stage()?;
        self.source.listings.iter().find(|l| l.stage == stage).map(|l| &**l)
    }

    /// Whether the pane of the passes is on the screen too.
    pub fn passes_stand(&self) -> bool {
        self.derived.areas.pane(Pane::Passes).is_some()
    }

    /// The text after a stage, made if it was not made yet.
    pub(super) fn listing_after(
        &mut self,
        run: &Arc<ModuleRun>,
        stage: Stage,
    ) -> Option<Arc<Listing>> {
        let known = |m: &Model| m.source.listings.iter().find(|l| l.stage == stage).cloned();
        known(self).or_else(|| {
            let listing = Arc::new(Listing::new(run, stage)?);
            self.source.listings.push(listing.clone());
            Some(listing)
        })
    }

    /// Makes the text if it was not made yet, keeps the cursor on it and in sight, and looks
    /// where the sequencers stand.
    pub(super) fn prepare_source(&mut self) {
        let Some(run) = self.session.program().module.clone() else { return };
        // A module that was lowered anew has other texts and another run.
        if !self.source.made_of.as_ref().is_some_and(|m| Arc::ptr_eq(m, &run)) {
            let selected = self.source.selected;
            let made_of = Some(run.clone());
            self.source =
                Source { selected, made_of, seek: selected.is_some(), ..Source::default() };
            self.passes = Passes::folding(self.passes.fold);
        }
        let Some(stage) = self.session.stage() else { return };
        let Some(listing) = self.listing_after(&run, stage) else { return };
        self.source.standing = standing(&self.session, &listing);
        if self.source.stage != Some(stage) || self.source.seek {
            let item = self.source.selected.zip(self.source.item);
            let item = item.and_then(|(pos, i)| listing.lines_for(&run, i, pos).first().copied());
            let pos = || self.source.selected.and_then(|p| listing.first_of(p));
            let first = || listing.lines.iter().position(|l| l.pos.is_some());
            // An instruction is told from where it begins, with what is around it.
            let part = self.source.part.as_ref().and_then(|p| listing.line_of_part(p));
            self.source.cursor = part.or(item).or_else(pos).or_else(first).unwrap_or(0);
            self.source.stage = Some(stage);
            self.source.seek = false;
        }
        let last = listing.lines.len().saturating_sub(1);
        self.source.cursor = self.source.cursor.min(last);
        let cursor = self.source.cursor;
        let pos = listing.inst_at(cursor);
        let held = |dir| self.held(pos?, Some(cursor), dir);
        self.source.held = Dir::BOTH.into_iter().filter_map(held).collect();
        let rows = split(self.derived.areas.rows(Pane::Source), self.passes_stand()).text.max(1);
        let (cursor, top) = (self.source.cursor, self.source.top);
        // Where the text moves at all it moves so that what comes can be seen.
        if cursor < top || cursor >= top + rows {
            let near = cursor + 1 == top || cursor == top + rows;
            self.source.top = match (near, cursor < top) {
                (true, true) => cursor,
                (true, false) => cursor + 1 - rows,
                _ => cursor.saturating_sub(rows / 3),
            };
        }
        self.source.top = self.source.top.min((last + 1).saturating_sub(rows));
        self.tone_lines(&listing, rows);
        self.note_begins();
    }

    /// Finds the tones of the lines in sight; those that were in sight before are kept.
    fn tone_lines(&mut self, listing: &Listing, rows: usize) {
        let from = self.source.top;
        let mut kept = std::mem::take(&mut self.source.toned);
        for n in from..from.saturating_add(rows).min(listing.lines.len()) {
            let text = printable(&listing.lines[n].text);
            let toned = kept.remove(&n).filter(|t| t.text == text).unwrap_or_else(|| {
                let tones = tones(Language::Bir, &text);
                Toned { text, tones }
            });
            self.source.toned.insert(n, toned);
        }
    }

    /// The instruction that the newest event is about, and that of the module that is run where
    /// it can be told.
    fn acting(&self) -> Option<(Pos, Option<Item>)> {
        let all = self.session.sequencers();
        let of = |engine| all.iter().find(|s| s.engine == engine).map(|s| (s.pos, Some(s.item)));
        let Some(e) = self.session.last_event() else {
            let first = all.iter().find(|s| s.pos != Pos::ADDED);
            return first.map(|s| (s.pos, Some(s.item)));
        };
        match (e.kind, e.agent) {
            (EventKind::Inst { pos, item } | EventKind::InstDone { pos, item }, _) => {
                Some((pos, Some(item)))
            }
            (EventKind::Blocked { pos }, _) => Some((pos, None)),
            (_, Agent::Seq(engine)) => of(engine),
            (_, Agent::Engine(q)) => of(self.session.machine().queue(q)?.owner?),
            (_, Agent::Host) => None,
        }
    }

    /// The newest instruction that was completed, not too far back.
    fn newest_done(&mut self) -> Option<(Pos, Option<Item>)> {
        let here = self.session.position();
        let recent = self.session.events(here.saturating_sub(LOOK_BACK), here + 1);
        recent.iter().rev().find_map(|e| match e.kind {
            EventKind::InstDone { pos, item } if pos != Pos::ADDED => Some((pos, Some(item))),
            _ => None,
        })
    }

    /// The selection follows the newest event.
    pub(super) fn follow_source(&mut self) {
        if !self.has_module() {
            return;
        }
        // What lowering added stems from nothing that could be selected.
        let acting = self.acting().filter(|a| a.0 != Pos::ADDED);
        if let Some((pos, item)) = acting.or_else(|| self.newest_done()) {
            self.source.selected = Some(pos);
            self.source.item = item;
            self.source.part = None;
            self.source.seek = true;
            // An event of no queue leaves the rings to those that hold what is selected.
            let of_none = self.session.last_event().is_some_and(|e| e.queue().is_none());
            let held = Dir::BOTH.into_iter().find_map(|d| self.held(pos, None, d));
            if let Some(h) = held.filter(|_| of_none) {
                self.session.select(h.queue);
            }
        }
    }

    /// Of what the descriptor in the selected slot is made.
    pub fn slot_origin(&self) -> Option<Origin> {
        let q = self.session.machine().queue(self.queue()?)?;
        q.origin(self.selection.dir, self.selection.slot)
    }

    /// The slots of a ring that hold descriptors of an instruction, and of the part of it that
    /// a line shows. Where it was run several times, those of the newest run.
    fn held(&self, pos: Pos, line: Option<usize>, dir: Dir) -> Option<Held> {
        let listing = self.listing()?;
        let item = line.and_then(|l| listing.item_at(l));
        let part = line.and_then(|l| listing.part_at(l));
        let fits = |o: &Origin| {
            let part_fits = part.is_none_or(|p| {
                o.block.is_some_and(|b| b.0 == p.block)
                    && (p.descriptor.is_none() || p.descriptor == o.descriptor)
            });
            o.inst == pos && o.descriptor.is_some() && item.is_none_or(|i| i == o.item) && part_fits
        };
        let m = self.session.machine();
        let mut best: Option<(u64, Held)> = None;
        for q in &m.queues {
            for (slot, o) in q.origins(dir).filter(|(_, o)| fits(o)) {
                let run = o.block.map_or(0, |b| b.1);
                match &mut best {
                    Some((n, held)) if *n == run && held.queue == q.id() => held.slots.push(slot),
                    Some((n, _)) if *n >= run => {}
                    _ => best = Some((run, Held { queue: q.id(), dir, slots: vec![slot] })),
                }
            }
        }
        best.map(|(_, held)| held)
    }

    /// Selects the instruction that the descriptor in the selected slot stems from; the cursor
    /// goes to that descriptor where the text has it.
    pub(super) fn slot_to_source(&mut self) {
        let Some(o) = self.slot_origin().filter(|o| o.inst != Pos::ADDED) else { return };
        let run = self.session.program().module.clone();
        let name = self.queue().and_then(|id| run.as_ref()?.queue_name(id).cloned());
        self.source.selected = Some(o.inst);
        self.source.item = Some(o.item);
        self.source.part = name.zip(o.block).map(|(queue, (block, _))| QueuePart {
            queue,
            block,
            descriptor: o.descriptor,
        });
        self.source.seek = true;
    }

    /// The instruction of the line with the cursor where lowering added it.
    pub fn added_here(&self) -> Option<Item> {
        let item = self.listing()?.item_at(self.source.cursor)?;
        let inst = self.session.program().module.as_ref()?.exec.inst(item)?;
        (inst.pos == Pos::ADDED).then_some(item)
    }

    /// Selects the instruction of the line with the cursor, and the slots that hold its
    /// descriptors.
    pub(super) fn source_to_slot(&mut self) {
        let cursor = self.source.cursor;
        let Some(pos) = self.listing().and_then(|l| l.inst_at(cursor)) else {
            let why = match self.added_here().is_some() {
                true => {
                    "lowering added this instruction: it has none in the file, and no descriptors"
                }
                false => "no instruction stands on this line",
            };
            self.say(why, None);
            return;
        };
        self.source.selected = Some(pos);
        self.source.item = self.listing().and_then(|l| l.item_at(cursor));
        self.source.part = None;
        let name = self.session.program().inst_text(pos);
        let dir = self.selection.dir;
        let held = [dir, dir.other()].into_iter().find_map(|d| self.held(pos, Some(cursor), d));
        match held {
            Some(h) => {
                let first = h.slots.first().copied().unwrap_or(0);
                self.session.select(h.queue);
                self.select_slot(Some(h.dir), first);
                self.say(format!("{name}: {} {}", h.queue, slots(&h)), None);
            }
            None => self.say(format!("{name}: none of it is in a ring"), None),
        }
    }

    /// Selects an instruction of the loaded module, and the slots that hold its descriptors.
    pub(super) fn select_inst(&mut self, pos: Pos) {
        (self.source.selected, self.source.item, self.source.part) = (Some(pos), None, None);
        self.source.seek = true;
        let name = self.session.program().inst_text(pos);
        let dir = self.selection.dir;
        match [dir, dir.other()].into_iter().find_map(|d| self.held(pos, None, d)) {
            Some(h) => {
                let first = h.slots.first().copied().unwrap_or(0);
                self.session.select(h.queue);
                self.select_slot(Some(h.dir), first);
                self.say(format!("{name}: {} {}", h.queue, slots(&h)), None);
            }
            None => self.say(format!("{name} is selected: none of it is in a ring"), None),
        }
    }

    /// Moves the cursor of the text by lines.
    pub(super) fn source_rows(&mut self, n: i64) {
        let last = self.listing().map_or(0, |l| l.lines.len().saturating_sub(1)) as u64;
        let at = (self.source.cursor as u64).saturating_add_signed(n).min(last);
        self.source.cursor = at as usize;
    }

    /// Moves the text sideways.
    pub(super) fn source_columns(&mut self, n: i64) {
        const STEP: i64 = 8;
        let widest =
            self.listing().map_or(0, |l| l.lines.iter().map(|l| l.text.len()).max().unwrap_or(0));
        let at = (self.source.shift as u64).saturating_add_signed(n.saturating_mul(STEP));
        self.source.shift = at.min(widest.saturating_sub(1) as u64) as usize;
    }
}

/// Slots in short: `tx[3:9]`, or the first of them and how many.
pub fn slots(held: &Held) -> String {
    match held.slots.as_slice() {
        [] => String::new(),
        [one] => format!("{}[{one}]", held.dir),
        [first, .., last] if last.checked_sub(*first) == Some(held.slots.len() as u64 - 1) => {
            format!("{}[{first}:{last}]", held.dir)
        }
        [first, ..] => format!("{}[{first}] and {} more", held.dir, held.slots.len() - 1),
    }
}

/// The name of an engine in at most four letters.
pub fn short(engine: Engine) -> &'static str {
    match engine {
        Engine::Activation => "Act",
        Engine::Unassigned => "none",
        other => other.name(),
    }
}
