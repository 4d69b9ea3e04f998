//! The passes of a module on the screen: the stages in numbers, and the module before and after
//! the selected one, row by row (`docs/screen.md`, "Passes").

use super::aligned::{self, Aligned, Choice, Kind, Line, Pair, Shown};
use super::highlight::{Language, tones};
use super::layout::Pane;
use super::model::Model;
use super::source::Toned;
use crate::bir::{Layout, Pos, exec};
use crate::diag::Severity;
use crate::diag::render::printable;
use crate::engine::lower::Stage;
use crate::engine::module_run::{Initial, ModuleRun};
use crate::engine::program::{Content, Program};
use crate::engine::ring::{EventKind, Machine};
use crate::engine::validate::{Verdict, validate};
use crate::limits::{MAX_BIR_TRANSFER_BYTES, MAX_PROVED_BYTES, MAX_PROVED_EVENTS};
use crate::load::bir::listing::Listing;
use crate::udma::DESC_BYTES;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Weak};

/// Columns of a pane from which both texts stand side by side.
pub const BESIDE: usize = 100;
/// Rows of a pane from which every stage has a row of the table.
const TALL: usize = 24;
/// Smallest pane with the lines at the cursor in full below the texts.
const WITH_DETAIL: usize = 12;

/// What is shown of the passes.
#[derive(Debug, Clone)]
pub struct Passes {
    /// The row with the cursor.
    pub row: usize,
    /// First row shown.
    pub top: usize,
    /// Equal lines are folded.
    pub fold: bool,
    /// The rows.
    pub rows: Vec<Shown>,
    /// Both texts aligned; none before anything was looked at.
    pub view: Option<Arc<View>>,
    /// What validation said of each stage; none where it was not run.
    pub proof: Option<Proof>,
    /// Descriptors that the run puts on rings, and their bytes; none while its end is not known.
    pub on_rings: Option<(u64, u64)>,
    /// For which run that was counted.
    counted: Option<(Weak<Program>, Option<u64>)>,
    /// Folds that are opened, by their first pair.
    opened: BTreeSet<usize>,
    /// Lines of both texts that are in sight, with their tones.
    pub toned: [BTreeMap<usize, Toned>; 2],
    /// For what the rows were chosen: fold, side by side, what the cursor's line was.
    chosen: Option<Chosen>,
}

/// What the choice of rows depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chosen {
    fold: bool,
    beside: bool,
    opened: usize,
    selected: Option<Pos>,
    standing: Vec<usize>,
}

impl Default for Passes {
    fn default() -> Passes {
        Passes {
            row: 0,
            top: 0,
            fold: true,
            rows: Vec::new(),
            view: None,
            proof: None,
            on_rings: None,
            counted: None,
            opened: BTreeSet::new(),
            toned: Default::default(),
            chosen: None,
        }
    }
}

impl Passes {
    /// Of a module that nobody looked at yet.
    pub(super) fn folding(fold: bool) -> Passes {
        Passes { fold, ..Passes::default() }
    }
}

/// Two texts of a module, aligned.
#[derive(Debug, Clone)]
pub struct View {
    /// The text before the stage; of the loaded module the text itself.
    pub before: Arc<Listing>,
    /// The text after it.
    pub after: Arc<Listing>,
    /// The rows.
    pub aligned: Aligned,
    /// The row of every line of the text after.
    row_of: Vec<usize>,
    /// Instructions of which the text after has several lines: which one of how many a line is.
    pub clones: HashMap<usize, (usize, usize)>,
    /// The first line of an instruction in the text before.
    pub origins: HashMap<Pos, usize>,
}

impl View {
    fn new(before: Arc<Listing>, after: Arc<Listing>) -> View {
        fn lines(l: &Listing) -> Vec<Line<'_>> {
            let owners = l.owners();
            let all = l.lines.iter().zip(owners);
            all.map(|(l, owner)| Line { text: &l.text, pos: l.pos, owner }).collect()
        }
        let aligned = aligned::align(&lines(&before), &lines(&after));
        let mut row_of = vec![0; after.lines.len()];
        for (n, p) in aligned.pairs.iter().enumerate() {
            if let Some(row) = p.right.and_then(|r| row_of.get_mut(r)) {
                *row = n;
            }
        }
        let mut origins = HashMap::new();
        for (n, l) in before.lines.iter().enumerate() {
            if let Some(pos) = l.pos {
                origins.entry(pos).or_insert(n);
            }
        }
        let mut of: HashMap<Pos, Vec<usize>> = HashMap::new();
        for (n, l) in after.lines.iter().enumerate() {
            if let Some(pos) = l.pos {
                of.entry(pos).or_default().push(n);
            }
        }
        let mut clones = HashMap::new();
        for lines in of.values().filter(|l| l.len() > 1) {
            clones.extend(lines.iter().enumerate().map(|(k, n)| (*n, (k + 1, lines.len()))));
        }
        View { before, after, aligned, row_of, clones, origins }
    }

    /// The pair at a place.
    pub fn pair(&self, n: usize) -> Option<&Pair> {
        self.aligned.pairs.get(n)
    }

    /// Of a line that the text before does not have: the line of the text before that it stems
    /// from.
    pub fn origin(&self, pair: &Pair) -> Option<usize> {
        let line = self.after.lines.get(pair.right.filter(|_| pair.kind == Kind::Added)?)?;
        self.origins.get(&line.pos?).copied()
    }
}

/// What came of proving the stages.
#[derive(Debug, Clone)]
pub enum Proof {
    /// The verdict on each stage that was run.
    Done(Vec<(Stage, Verdict)>),
    /// Why it could not be run.
    Not(String),
}

impl Proof {
    /// The verdict on a stage.
    pub fn of(&self, stage: Stage) -> Option<&Verdict> {
        match self {
            Proof::Done(all) => all.iter().find(|s| s.0 == stage).map(|s| &s.1),
            Proof::Not(_) => None,
        }
    }
}

/// How the rows of the pane are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// Rows for the table of stages.
    pub table: usize,
    /// Rows of the texts.
    pub texts: usize,
    /// Rows for the lines at the cursor in full.
    pub detail: usize,
}

/// How a pane of so many rows is used; `told`: the line at the cursor stands in full elsewhere.
pub fn split(height: usize, told: bool) -> Split {
    let (table, detail) = match height {
        // A head, a row for each stage and for the rings, a line below.
        TALL.. => (Stage::ALL.len() + 2, if told { 0 } else { 7 }),
        WITH_DETAIL.. if told => (1, 0),
        WITH_DETAIL.. => (1, 5),
        _ => (height.min(1), 0),
    };
    Split { table, texts: height - table - detail, detail }
}

impl Model {
    /// Works out what the pane of the passes shows.
    pub(super) fn prepare_passes(&mut self) {
        let Some(area) = self.derived.areas.pane(Pane::Passes) else { return };
        let Some(run) = self.session.program().module.clone() else { return };
        let inner = super::layout::Areas::inner(area);
        self.count_rings();
        self.prove_small(&run);
        let Some(view) = self.pass_view(&run) else { return };
        self.choose_rows(&view, usize::from(inner.width) >= BESIDE);
        let rows = split(usize::from(inner.height), self.source_tells(&view)).texts.max(1);
        self.keep_pass_cursor(&view, rows);
        self.tone_passes(&view, rows);
    }

    /// Whether the pane of the text is there too: it has the line with the cursor in full.
    pub fn source_stands(&self) -> bool {
        self.derived.areas.pane(Pane::Source).is_some()
    }

    /// Whether that pane says all that there is to say of a line: nothing was before it.
    pub fn source_tells(&self, view: &View) -> bool {
        self.source_stands() && view.before.stage == view.after.stage
    }

    /// Both texts of the stage that is shown.
    fn pass_view(&mut self, run: &Arc<ModuleRun>) -> Option<Arc<View>> {
        let stage = self.session.stage()?;
        let all = &run.lowered.snapshots;
        let at = all.iter().position(|s| s.stage == stage)?;
        let before = self.listing_after(run, all[at.saturating_sub(1)].stage)?;
        let after = self.listing_after(run, stage)?;
        if let Some(view) = &self.passes.view
            && Arc::ptr_eq(&view.before, &before)
            && Arc::ptr_eq(&view.after, &after)
        {
            return Some(view.clone());
        }
        let view = Arc::new(View::new(before, after));
        self.passes.view = Some(view.clone());
        self.passes.opened.clear();
        self.passes.chosen = None;
        self.passes.toned = Default::default();
        Some(view)
    }

    fn choose_rows(&mut self, view: &View, beside: bool) {
        let mut standing: Vec<usize> = self.source.standing.iter().map(|s| s.line).collect();
        standing.sort_unstable();
        let chosen = Chosen {
            fold: self.passes.fold,
            beside,
            opened: self.passes.opened.len(),
            selected: self.source.selected,
            standing,
        };
        if self.passes.chosen.as_ref() == Some(&chosen) {
            return;
        }
        // What is selected is in sight, and where the sequencers stand.
        let keep = |p: &Pair| {
            let line = p.right.and_then(|r| view.after.lines.get(r));
            let selected = line.is_some_and(|l| l.pos.is_some() && l.pos == chosen.selected);
            selected || p.right.is_some_and(|r| chosen.standing.binary_search(&r).is_ok())
        };
        let how = Choice { fold: chosen.fold, opened: &self.passes.opened, beside };
        self.passes.rows = aligned::shown(&view.aligned, how, &keep);
        self.passes.chosen = Some(chosen);
        // What the cursor was on may stand elsewhere now.
        self.passes.row = usize::MAX;
    }

    /// The cursor is on the line on which that of the text is, and in sight.
    fn keep_pass_cursor(&mut self, view: &View, rows: usize) {
        let last = self.passes.rows.len().saturating_sub(1);
        let here = self.passes.rows.get(self.passes.row).copied();
        let pair = view.row_of.get(self.source.cursor).copied().unwrap_or(0);
        let stays = here
            .is_some_and(|s| s.has(pair) || view.pair(s.pair()).is_some_and(|p| p.right.is_none()));
        if !stays {
            let rows = &self.passes.rows;
            let at = rows.partition_point(|s| s.pair() <= pair).saturating_sub(1);
            // The line after stands below the line before.
            self.passes.row = at.min(last);
        }
        let (row, top) = (self.passes.row, self.passes.top);
        if row < top || row >= top + rows {
            let near = row + 1 == top || row == top + rows;
            self.passes.top = match (near, row < top) {
                (true, true) => row,
                (true, false) => row + 1 - rows,
                _ => row.saturating_sub(rows / 3),
            };
        }
        self.passes.top = self.passes.top.min((last + 1).saturating_sub(rows));
    }

    /// Finds the tones of the lines in sight.
    fn tone_passes(&mut self, view: &View, rows: usize) {
        let mut kept = std::mem::take(&mut self.passes.toned);
        let shown = self.passes.rows.iter().skip(self.passes.top).take(rows);
        let mut toned: [BTreeMap<usize, Toned>; 2] = Default::default();
        for s in shown.filter(|s| !matches!(s, Shown::Fold(..))) {
            let Some(p) = view.pair(s.pair()) else { continue };
            let sides = [(p.left, &view.before), (p.right, &view.after)];
            for (k, (n, listing)) in sides.into_iter().enumerate() {
                let Some(n) = n else { continue };
                let Some(line) = listing.lines.get(n) else { continue };
                let text = printable(&line.text);
                let one = kept[k].remove(&n).filter(|t| t.text == text).unwrap_or_else(|| {
                    let tones = tones(Language::Bir, &text);
                    Toned { text, tones }
                });
                toned[k].insert(n, one);
            }
        }
        self.passes.toned = toned;
    }

    /// Moves the cursor of the passes by rows; that of the text goes with it.
    pub(super) fn pass_rows(&mut self, n: i64) {
        let last = self.passes.rows.len().saturating_sub(1) as u64;
        self.passes.row =
            (self.passes.row.min(last as usize) as u64).saturating_add_signed(n).min(last) as usize;
        self.pass_to_text();
    }

    /// The cursor of the text goes where that of the passes is.
    pub(super) fn pass_to_text(&mut self) {
        let Some(view) = self.passes.view.clone() else { return };
        let pair = self.passes.rows.get(self.passes.row).and_then(|s| view.pair(s.pair()));
        if let Some(line) = pair.and_then(|p| p.right) {
            self.source.cursor = line;
        }
    }

    /// Opens a fold, or selects the instruction of the row and its slots.
    pub(super) fn pass_enter(&mut self) {
        let Some(view) = self.passes.view.clone() else { return };
        match self.passes.rows.get(self.passes.row).copied() {
            Some(Shown::Fold(from, _)) => {
                self.passes.opened.insert(from);
                self.passes.chosen = None;
            }
            Some(s) => match view.pair(s.pair()) {
                Some(Pair { right: Some(_), .. }) => self.source_to_slot(),
                // Of what went away the instruction is still known.
                Some(Pair { left: Some(n), .. }) => match view.before.inst_at(*n) {
                    Some(pos) => {
                        self.source.selected = Some(pos);
                        let name = self.session.program().inst_text(pos);
                        let stage = view.after.stage;
                        self.say(format!("{name}: this line is gone after {stage}"), None);
                    }
                    None => self.say("no instruction stands on this line", None),
                },
                _ => {}
            },
            None => {}
        }
    }

    /// Folds equal lines, or shows each.
    pub(super) fn fold_passes(&mut self) {
        self.passes.fold = !self.passes.fold;
        self.passes.opened.clear();
        self.passes.chosen = None;
        let text = if self.passes.fold { "equal lines are folded" } else { "every line is shown" };
        self.say(text, None);
    }

    /// The text of the module, or its passes, where there is room for one of them.
    pub(super) fn toggle_passes(&mut self) {
        let to = if self.focus == Pane::Passes { Pane::Source } else { Pane::Passes };
        self.focus = to;
        self.arrangement.passes = to == Pane::Passes;
    }

    /// Counts what the run puts on rings, once its end is known.
    fn count_rings(&mut self) {
        let now = (Arc::downgrade(self.session.program()), self.session.end());
        let same = |c: &(Weak<Program>, Option<u64>)| c.0.ptr_eq(&now.0) && c.1 == now.1;
        if self.passes.counted.as_ref().is_some_and(same) {
            return;
        }
        let end = now.1.filter(|e| *e <= super::model::LOOK_AHEAD);
        self.passes.on_rings = end.map(|end| {
            let events = self.session.events(0, end + 1);
            let count = events.iter().map(|e| match e.kind {
                EventKind::CopyIn { count, .. } => count,
                _ => 0,
            });
            let n: u64 = count.sum();
            (n, n * DESC_BYTES as u64)
        });
        self.passes.counted = Some(now);
    }

    /// Proves the stages where that takes no time that anybody would notice.
    fn prove_small(&mut self, run: &ModuleRun) {
        if self.passes.proof.is_some() {
            return;
        }
        let Some(end) = self.session.end().filter(|e| *e <= MAX_PROVED_EVENTS) else { return };
        let bytes: u64 = self
            .session
            .events(0, end + 1)
            .iter()
            .filter_map(|e| e.kind.access())
            .map(|(_, len, _)| len)
            .fold(0, u64::saturating_add);
        let placed = run.exec.layout().placed().iter().map(crate::bir::Placed::bytes);
        if bytes.saturating_add(placed.fold(0, u64::saturating_add)) <= MAX_PROVED_BYTES {
            self.passes.proof = Some(prove(self.session.program(), run));
        }
    }

    /// Proves the stages, however long it takes.
    pub(super) fn prove(&mut self) {
        let Some(run) = self.session.program().module.clone() else { return };
        let proof = prove(self.session.program(), &run);
        let text = match &proof {
            Proof::Not(why) => why.clone(),
            Proof::Done(all) => match all.iter().find(|s| !s.1.is_good()) {
                None => "every stage leaves the same memory".to_owned(),
                Some((stage, v)) => format!("first wrong stage {stage}: {}", v.words()),
            },
        };
        let bad = !matches!(&proof, Proof::Done(all) if all.iter().all(|s| s.1.is_good()));
        self.passes.proof = Some(proof);
        self.say(text, bad.then_some(Severity::Error));
    }
}

/// Every stage and the rings against the module as loaded, from the memory of the program.
fn prove(program: &Arc<Program>, run: &ModuleRun) -> Proof {
    // Edits change the run, not what lowering made.
    let mut calm = (**program).clone();
    calm.edits.clear();
    let initial = match initial(&calm, run.exec.layout()) {
        Ok(initial) => initial,
        Err(why) => return Proof::Not(why),
    };
    match validate(&run.lowered, Some(&calm), &initial, &exec::Options::default()) {
        Ok(v) => Proof::Done(v.stages),
        Err(all) => Proof::Not(all.first().map(|d| d.message.clone()).unwrap_or_default()),
    }
}

/// The locations that a program fills before its first event.
fn initial(program: &Program, layout: &Layout) -> Result<Initial, String> {
    let machine = Machine::new(program);
    let mut out = Initial::default();
    for l in layout.placed() {
        let filled = |(at, len): (u64, u64)| {
            let has = |c: &Content| c.addr < at + len && at < c.addr + c.bytes.len() as u64;
            program.contents.iter().any(has)
        };
        if !l.runs().any(filled) {
            continue;
        }
        if l.bytes() > MAX_BIR_TRANSFER_BYTES {
            return Err(format!("`{}` is too large to be compared", l.name));
        }
        let mut bytes = vec![0; l.bytes() as usize];
        let mut from = 0;
        for (at, len) in l.runs() {
            machine.memory.read(at, &mut bytes[from..from + len as usize]);
            from += len as usize;
        }
        out.given.insert(l.name.to_string(), bytes);
    }
    Ok(out)
}
