//! The text of a module on the screen: which lines are shown, where the sequencers stand in it,
//! and what ties an instruction to slots of the rings (`docs/screen.md`, "A module").

use super::layout::Pane;
use super::model::{LOOK_BACK, Model};
use crate::bir::exec::Item;
use crate::bir::{Engine, Pos};
use crate::engine::lower::Stage;
use crate::engine::program::QueueId;
use crate::engine::ring::{Agent, Event, EventKind};
use crate::load::bir::listing::{Listing, Standing, standing};
use crate::udma::Dir;
use std::collections::VecDeque;
use std::sync::Arc;

/// Events read in search of copies; before them nothing is known of where a slot came from.
const MAX_SCAN: u64 = 1 << 16;
/// Events read at once.
const CHUNK: u64 = 1 << 12;
/// Copies remembered.
const MAX_COPIES: usize = 1 << 18;
/// Smallest pane with a line for each stage.
const TALL: usize = 24;
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
    /// The stage whose text the cursor is in.
    stage: Option<Stage>,
    /// The cursor is to go to the selected instruction.
    seek: bool,
    /// The instruction of the module that is run which the cursor is to go to, where its text
    /// is shown.
    item: Option<Item>,
    copies: Copies,
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

/// How a pane of so many rows is used.
pub fn split(height: usize) -> Split {
    let (stages, detail) = match height {
        TALL.. => (crate::engine::command::Pass::STAGES.len() + 1, 7),
        WITH_DETAIL.. => (1, 3),
        _ => (1.min(height), 0),
    };
    Split { stages, text: height.saturating_sub(stages + detail), detail }
}

/// Descriptors that a sequencer copied into a ring, and for which instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// The event.
    pub event: u64,
    /// Queue.
    pub queue: QueueId,
    /// Ring.
    pub dir: Dir,
    /// First slot.
    pub slot: u64,
    /// How many.
    pub count: u64,
    /// The instruction of the loaded module.
    pub pos: Pos,
    /// The instruction of the module that is run.
    pub item: Item,
}

/// What was copied into rings, as far as the run was read.
#[derive(Debug, Clone, Default)]
struct Copies {
    /// The first event that was read, less one, and the last.
    read: (u64, u64),
    /// What each sequencer was at when reading stopped.
    at: Vec<(Engine, Pos, Item)>,
    all: Arc<VecDeque<Copied>>,
}

impl Copies {
    fn take(&mut self, events: &[Event]) {
        let all = Arc::make_mut(&mut self.all);
        for e in events {
            let Agent::Seq(engine) = e.agent else { continue };
            match e.kind {
                EventKind::Inst { pos, item } => {
                    self.at.retain(|a| a.0 != engine);
                    self.at.push((engine, pos, item));
                }
                EventKind::CopyIn { queue, dir, slot, count } => {
                    let Some(&(_, pos, item)) = self.at.iter().find(|a| a.0 == engine) else {
                        continue;
                    };
                    all.push_back(Copied { event: e.n, queue, dir, slot, count, pos, item });
                    if all.len() > MAX_COPIES {
                        all.pop_front();
                    }
                }
                _ => {}
            }
        }
    }

    fn newest(&self, upto: u64, fits: impl Fn(&Copied) -> bool) -> Option<Copied> {
        let n = self.all.partition_point(|c| c.event <= upto);
        self.all.iter().take(n).rev().find(|c| fits(c)).copied()
    }
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

    /// Makes the text if it was not made yet, keeps the cursor on it and in sight, and looks
    /// where the sequencers stand.
    pub(super) fn prepare_source(&mut self) {
        let Some(run) = self.session.program().module.clone() else { return };
        self.read_copies();
        let Some(stage) = self.session.stage() else { return };
        if self.listing().is_none()
            && let Some(listing) = Listing::new(&run, stage)
        {
            self.source.listings.push(Arc::new(listing));
        }
        let Some(listing) = self.source.listings.iter().find(|l| l.stage == stage).cloned() else {
            return;
        };
        self.source.standing = standing(&self.session, &listing);
        if self.source.stage != Some(stage) || self.source.seek {
            let item = self.source.selected.zip(self.source.item);
            let item = item.and_then(|(pos, i)| listing.lines_for(&run, i, pos).first().copied());
            let pos = || self.source.selected.and_then(|p| listing.first_of(p));
            let first = || listing.lines.iter().position(|l| l.pos.is_some());
            // An instruction is told from where it begins, with what is around it.
            self.source.cursor = item.or_else(pos).or_else(first).unwrap_or(0);
            self.source.stage = Some(stage);
            self.source.seek = false;
        }
        let last = listing.lines.len().saturating_sub(1);
        self.source.cursor = self.source.cursor.min(last);
        let rows = split(self.derived.areas.rows(Pane::Source)).text.max(1);
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
    }

    /// Reads what was copied into rings up to the position.
    fn read_copies(&mut self) {
        let here = self.session.position();
        let (from, upto) = self.source.copies.read;
        if (from..=upto).contains(&here) {
            return;
        }
        if here < from || here - upto > MAX_SCAN {
            let from = here.saturating_sub(MAX_SCAN);
            self.source.copies = Copies { read: (from, from), ..Copies::default() };
        }
        while self.source.copies.read.1 < here {
            let from = self.source.copies.read.1 + 1;
            let to = (from + CHUNK).min(here + 1);
            let events = self.session.events(from, to);
            self.source.copies.take(&events);
            self.source.copies.read.1 = to - 1;
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
            self.source.seek = true;
        }
    }

    /// From which copy the selected slot is, if one is known.
    pub fn slot_origin(&self) -> Option<Copied> {
        let (queue, s) = (self.queue()?, self.selection);
        self.source.copies.newest(self.session.position(), |c| {
            c.queue == queue
                && c.dir == s.dir
                && (c.slot..c.slot.saturating_add(c.count)).contains(&s.slot)
        })
    }

    /// The newest copy of descriptors that stem from an instruction.
    pub fn copied_for(&self, pos: Pos, dir: Dir) -> Option<Copied> {
        self.source.copies.newest(self.session.position(), |c| c.pos == pos && c.dir == dir)
    }

    /// Selects the instruction that the selected slot came from.
    pub(super) fn slot_to_source(&mut self) {
        if let Some(c) = self.slot_origin() {
            self.source.selected = Some(c.pos);
            self.source.item = Some(c.item);
            self.source.seek = true;
        }
    }

    /// Selects the instruction of the line with the cursor, and the slots that its descriptors
    /// were copied to last.
    pub(super) fn source_to_slot(&mut self) {
        let Some(pos) = self.listing().and_then(|l| l.inst_at(self.source.cursor)) else {
            self.say("no instruction stands on this line", None);
            return;
        };
        self.source.selected = Some(pos);
        self.source.item = None;
        let name = self.session.program().inst_text(pos);
        let dir = self.selection.dir;
        match self.copied_for(pos, dir).or_else(|| self.copied_for(pos, other(dir))) {
            Some(c) => {
                self.session.select(c.queue);
                self.select_slot(Some(c.dir), c.slot);
                let last = c.slot + c.count.saturating_sub(1);
                let text = format!(
                    "{name}: {}[{}:{last}] of {}, copied by event {}",
                    c.dir, c.slot, c.queue, c.event
                );
                self.say(text, None);
            }
            None => self.say(format!("{name}: none of it is in a ring yet"), None),
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

/// The other ring.
fn other(dir: Dir) -> Dir {
    if dir == Dir::Tx { Dir::Rx } else { Dir::Tx }
}

/// The name of an engine in at most four letters.
pub fn short(engine: Engine) -> &'static str {
    match engine {
        Engine::Activation => "Act",
        Engine::Unassigned => "none",
        other => other.name(),
    }
}
