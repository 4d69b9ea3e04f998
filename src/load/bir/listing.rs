//! The text of a module after each stage, line by line with the instruction that a line stems
//! from, and how it differs from the stage before: what `list`, `pass diff` and the source pane
//! of the screen show (`docs/screen.md`, "A module").

use super::write_text;
use crate::bir::exec::Item;
use crate::bir::{Body, Inst, Module, Name, Pos};
use crate::diag::Diagnostic;
use crate::engine::command::{Command, Pass};
use crate::engine::lower::{Snapshot, Stage};
use crate::engine::module_run::ModuleRun;
use crate::engine::session::{SeqAt, Session};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Cells of the table with which two texts are compared exactly; beyond it equal lines are
/// matched in order.
const MAX_DIFF_CELLS: usize = 1 << 22;
/// Lines of an answer.
const MAX_ANSWER: usize = 4096;
/// Lines that `list` shows before and after the one that is meant.
const AROUND: usize = 5;
/// Equal lines shown around those that differ.
const CONTEXT: usize = 2;

/// How a line relates to the text of the stage before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It stands there too.
    Same,
    /// Another line stood there for the same.
    Changed,
    /// Nothing stood there for it.
    Added,
}

impl Change {
    /// Its mark.
    pub fn mark(self) -> char {
        match self {
            Change::Same => ' ',
            Change::Changed => '~',
            Change::Added => '+',
        }
    }
}

/// A line of a module's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its text.
    pub text: String,
    /// The instruction of the loaded module that the one which begins here is or stems from.
    pub pos: Option<Pos>,
    /// How it came here.
    pub change: Change,
}

/// A module after a stage, as text.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The stage.
    pub stage: Stage,
    /// Its lines.
    pub lines: Vec<Line>,
    /// Of the stage that is run: the line on which an instruction begins, from 0.
    items: HashMap<Item, usize>,
    /// Of the stage that is run: the line on which a queue's block of descriptors begins.
    blocks: HashMap<(Name, Name), usize>,
    /// Of the stage that is run: the part of a queue that begins on a line.
    parts: BTreeMap<usize, QueuePart>,
}

/// A block of descriptors, or one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuePart {
    /// Queue.
    pub queue: Name,
    /// Position of the block in it.
    pub block: u32,
    /// Position of the descriptor in the block; the whole block where there is none.
    pub descriptor: Option<u32>,
}

impl Listing {
    /// The text after a stage, compared with that of the stage before; nothing where the module
    /// was not lowered so far. Costs a few passes over both texts.
    pub fn new(run: &ModuleRun, stage: Stage) -> Option<Listing> {
        let all = &run.lowered.snapshots;
        let at = all.iter().position(|s| s.stage == stage)?;
        let (mut lines, begins) = numbered(&all[at].module);
        if let Some(before) = at.checked_sub(1).and_then(|i| all.get(i)) {
            compare(&lines_of(before), &mut lines);
        }
        let (items, blocks, parts) = match at + 1 == all.len() {
            true => places(run, &all[at], &begins),
            false => Default::default(),
        };
        Some(Listing { stage, lines, items, blocks, parts })
    }

    /// The line of an instruction of the module that is run, from 0, where this is its text.
    pub fn line_of(&self, item: Item) -> Option<usize> {
        self.items.get(&item).copied()
    }

    /// The instruction of the module that is run which begins on a line.
    pub fn item_at(&self, line: usize) -> Option<Item> {
        self.items.iter().find(|(_, l)| **l == line).map(|(item, _)| *item)
    }

    /// The block or descriptor that begins on a line.
    pub fn part_at(&self, line: usize) -> Option<&QueuePart> {
        self.parts.get(&line)
    }

    /// The line of a block or descriptor.
    pub fn line_of_part(&self, part: &QueuePart) -> Option<usize> {
        self.parts.iter().find(|(_, p)| *p == part).map(|(line, _)| *line)
    }

    /// Lines, from 0, of an instruction of the module that is run, which stems from `pos`: its
    /// own where this is the text of that module; before, that of the same name where the stage
    /// has it, else all that stem from `pos`.
    pub fn lines_for(&self, run: &ModuleRun, item: Item, pos: Pos) -> Vec<usize> {
        if let Some(line) = self.line_of(item) {
            return vec![line];
        }
        let name = run.exec.inst(item).map_or("", |i| &*i.name);
        let head = format!("%{name} =");
        let all = self.lines.iter().enumerate().filter(|(_, l)| l.pos == Some(pos));
        let own = all.clone().find(|(_, l)| l.text.trim_start().starts_with(&head));
        match own {
            Some((n, _)) => vec![n],
            None => all.map(|(n, _)| n).collect(),
        }
    }

    /// For every line what [`Listing::inst_at`] says of it.
    pub fn owners(&self) -> Vec<Option<Pos>> {
        owners(&self.lines)
    }

    /// The first line that stems from an instruction, from 0.
    pub fn first_of(&self, pos: Pos) -> Option<usize> {
        self.lines.iter().position(|l| l.pos == Some(pos))
    }

    /// The instruction that a line belongs to: that of the line itself, or the nearest one above
    /// that holds it; none outside of all.
    pub fn inst_at(&self, line: usize) -> Option<Pos> {
        let indent = |text: &str| text.len() - text.trim_start().len();
        let here = self.lines.get(line)?;
        if here.pos.is_some() || here.text.trim().is_empty() {
            return here.pos;
        }
        let mut within = indent(&here.text) + usize::from(here.text.trim_start().starts_with('}'));
        for above in self.lines.get(..line)?.iter().rev() {
            let depth = indent(&above.text);
            if above.text.trim().is_empty() || depth >= within {
                continue;
            }
            if above.pos.is_some() {
                return above.pos;
            }
            within = depth;
        }
        None
    }
}

/// A line of a text, the instruction that begins on it, and the one that it belongs to.
pub type OwnedLine = (String, Option<Pos>, Option<Pos>);

/// The text of a module, each line with the instruction that begins on it, and with the one that
/// it belongs to.
pub fn owned_lines(module: &Module) -> Vec<OwnedLine> {
    let lines = lines_of_module(module);
    let owners = owners(&lines);
    lines.into_iter().zip(owners).map(|(l, owner)| (l.text, l.pos, owner)).collect()
}

/// For every line what [`Listing::inst_at`] says of it, in one pass.
fn owners(lines: &[Line]) -> Vec<Option<Pos>> {
    // What is open: how far each is set in, and whose it is.
    let mut open: Vec<(usize, Option<Pos>)> = Vec::new();
    let mut out = Vec::with_capacity(lines.len());
    for l in lines {
        let text = l.text.trim_start();
        let indent = l.text.len() - text.len();
        if text.is_empty() {
            out.push(l.pos);
            continue;
        }
        let within = if l.pos.is_none() && text.starts_with('}') { indent + 1 } else { indent };
        while open.last().is_some_and(|o| o.0 >= within) {
            open.pop();
        }
        let owner = l.pos.or_else(|| open.last().and_then(|o| o.1));
        while open.last().is_some_and(|o| o.0 >= indent) {
            open.pop();
        }
        open.push((indent, owner));
        out.push(owner);
    }
    out
}

fn lines_of(snapshot: &Snapshot) -> Vec<Line> {
    lines_of_module(&snapshot.module)
}

fn lines_of_module(module: &Module) -> Vec<Line> {
    numbered(module).0
}

/// The lines, and on which of them, from 0, the instructions begin; among the latter are those that
/// lowering added, which stem from none.
fn numbered(module: &Module) -> (Vec<Line>, Vec<usize>) {
    let printed = write_text(module);
    let line = |text: &str| Line { text: text.to_owned(), pos: None, change: Change::Same };
    let mut lines: Vec<Line> = printed.text.lines().map(line).collect();
    let mut begins = Vec::new();
    for (number, pos) in printed.lines {
        let Some(n) = number.checked_sub(1).filter(|n| *n < lines.len()) else { continue };
        begins.push(n);
        if pos != Pos::ADDED {
            lines[n].pos = Some(pos);
        }
    }
    (lines, begins)
}

/// Lines of instructions, and of blocks of descriptors by queue and name.
type Places = (HashMap<Item, usize>, HashMap<(Name, Name), usize>, BTreeMap<usize, QueuePart>);

/// On which line each instruction of the module that is run begins. Lines and visit are in the
/// same order; where they do not agree nothing is said.
fn places(run: &ModuleRun, snapshot: &Snapshot, begins: &[usize]) -> Places {
    let mut lines_by_inst: HashMap<*const Inst, usize> = HashMap::new();
    let mut n = 0;
    snapshot.module.visit(&mut |i| {
        if let Some(line) = begins.get(n) {
            lines_by_inst.insert(Arc::as_ptr(i), *line);
        }
        n += 1;
    });
    if n != begins.len() {
        return Default::default();
    }
    let mut blocks = HashMap::new();
    let mut parts = BTreeMap::new();
    for q in &snapshot.module.queues {
        for (block, i) in (0u32..).zip(q.dma_blocks()) {
            let line = |i: &Arc<Inst>| lines_by_inst.get(&Arc::as_ptr(i)).copied();
            let part = |descriptor| QueuePart { queue: q.name.clone(), block, descriptor };
            if let Some(line) = line(i) {
                blocks.insert((q.name.clone(), i.name.clone()), line);
                parts.insert(line, part(None));
            }
            let Body::DmaBlock(b) = &i.body else { continue };
            for (n, d) in (0u32..).zip(b.descriptors()) {
                if let Some(line) = line(d) {
                    parts.insert(line, part(Some(n)));
                }
            }
        }
    }
    let line = |k| {
        let item = Item(k);
        Some((item, *lines_by_inst.get(&Arc::as_ptr(run.exec.inst(item)?))?))
    };
    ((0..run.exec.items()).filter_map(line).collect(), blocks, parts)
}

/// Pairs of equal lines of two texts, ascending in both.
fn equal_lines(old: &[Line], new: &[Line]) -> Vec<(usize, usize)> {
    let same = |a: usize, b: usize| old[a].text == new[b].text;
    let short = old.len().min(new.len());
    let head = (0..short).take_while(|k| same(*k, *k)).count();
    let tail = (1..=short - head).take_while(|k| same(old.len() - k, new.len() - k)).count();
    let (rows, columns) = (old.len() - head - tail, new.len() - head - tail);
    let mut out: Vec<(usize, usize)> = (0..head).map(|k| (k, k)).collect();
    if rows.saturating_mul(columns) <= MAX_DIFF_CELLS {
        longest(rows, columns, &|a, b| same(head + a, head + b), &mut |a, b| {
            out.push((head + a, head + b));
        });
    } else {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (k, l) in old.iter().enumerate().take(head + rows).skip(head) {
            places.entry(&l.text).or_default().push(k);
        }
        let mut from = head;
        for (k, l) in new.iter().enumerate().take(head + columns).skip(head) {
            let Some(at) = places.get(l.text.as_str()) else { continue };
            if let Some(hit) = at.get(at.partition_point(|p| *p < from)) {
                out.push((*hit, k));
                from = hit + 1;
            }
        }
    }
    out.extend((0..tail).rev().map(|k| (old.len() - 1 - k, new.len() - 1 - k)));
    out
}

/// The longest common subsequence of two sequences.
fn longest(
    rows: usize,
    columns: usize,
    same: &dyn Fn(usize, usize) -> bool,
    take: &mut dyn FnMut(usize, usize),
) {
    let wide = columns + 1;
    let mut best = vec![0u32; (rows + 1) * wide];
    for a in (0..rows).rev() {
        for b in (0..columns).rev() {
            best[a * wide + b] = if same(a, b) {
                best[(a + 1) * wide + b + 1] + 1
            } else {
                best[(a + 1) * wide + b].max(best[a * wide + b + 1])
            };
        }
    }
    let (mut a, mut b) = (0, 0);
    while a < rows && b < columns {
        if same(a, b) {
            take(a, b);
            (a, b) = (a + 1, b + 1);
        } else if best[(a + 1) * wide + b] >= best[a * wide + b + 1] {
            a += 1;
        } else {
            b += 1;
        }
    }
}

/// Marks the lines of a text that the one before does not have: changed, as often as lines of
/// the same instruction went away; added, where there are more.
fn compare(old: &[Line], new: &mut [Line]) {
    let pairs = equal_lines(old, new);
    let mut kept = vec![false; old.len()];
    let mut stays = vec![false; new.len()];
    for (a, b) in pairs {
        (kept[a], stays[b]) = (true, true);
    }
    let mut gone: HashMap<Pos, usize> = HashMap::new();
    for (l, _) in old.iter().zip(&kept).filter(|(_, k)| !**k) {
        if let Some(pos) = l.pos {
            *gone.entry(pos).or_default() += 1;
        }
    }
    for (l, _) in new.iter_mut().zip(&stays).filter(|(_, k)| !**k) {
        l.change = match l.pos.and_then(|p| gone.get_mut(&p)) {
            Some(n) if *n > 0 => {
                *n -= 1;
                Change::Changed
            }
            _ => Change::Added,
        };
    }
}

/// The answer to `list` and `pass diff`, whose text no session has; nothing for other commands.
///
/// # Errors
/// S003 for a line that the text does not have. Without a module `list` shows the host script.
pub fn answer(session: &Session, command: &Command) -> Option<Result<Vec<String>, Diagnostic>> {
    let Some(run) = session.program().module.as_ref() else {
        let Command::List(line) = command else { return None };
        return Some(crate::load::operations::list(session, *line));
    };
    match command {
        Command::List(line) => Some(list(session, run, *line)),
        Command::Pass(Pass::Diff(stages)) => {
            let all = &run.lowered.snapshots;
            let find = |stage| all.iter().find(|s| s.stage == stage);
            let (from, to) = match stages {
                Some((a, b)) => (find(*a)?, find(*b)?),
                None => {
                    let here = session.stage()?;
                    let at = all.iter().position(|s| s.stage == here)?;
                    (all.get(at.saturating_sub(1))?, all.get(at)?)
                }
            };
            Some(Ok(diff(from, to)))
        }
        _ => None,
    }
}

fn list(session: &Session, run: &ModuleRun, line: Option<u64>) -> Result<Vec<String>, Diagnostic> {
    let Some(listing) = session.stage().and_then(|s| Listing::new(run, s)) else {
        return Ok(Vec::new());
    };
    let marks = standing(session, &listing);
    let last = listing.lines.len();
    let at = match line {
        Some(n) if n == 0 || n > last as u64 => {
            let text = format!("the text has lines 1 to {last}");
            return Err(Diagnostic::new("S003", text));
        }
        Some(n) => n as usize - 1,
        None => marks.iter().max_by_key(|m| m.acts).map_or(0, |m| m.line),
    };
    let near = at.saturating_sub(AROUND)..(at + AROUND + 1).min(last);
    let mark = |n: usize| {
        let here = marks.iter().filter(|m| m.line == n).map(|m| m.engine.to_string());
        let here: Vec<String> = here.collect();
        if here.is_empty() { String::new() } else { format!("=> {}", here.join(" ")) }
    };
    let wide = near.clone().map(|n| mark(n).len()).max().unwrap_or(0).max(8);
    let lines = listing.lines.iter().enumerate().take(near.end).skip(near.start);
    let out = lines
        .map(|(n, l)| format!("{}{:>5} {:<wide$} {}", l.change.mark(), n + 1, mark(n), l.text))
        .collect();
    Ok(out)
}

/// A line at which a sequencer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Line, from 0.
    pub line: usize,
    /// Whose sequencer.
    pub engine: crate::bir::Engine,
    /// It has begun what stands there.
    pub begun: bool,
    /// It acted last.
    pub acts: bool,
}

/// Where the sequencers stand in a text: [`Listing::lines_for`], and in that of the module that
/// is run the block that a trigger fires.
pub fn standing(session: &Session, listing: &Listing) -> Vec<Standing> {
    let mut out = Vec::new();
    let Some(run) = &session.program().module else { return out };
    for s in session.sequencers() {
        let mut put = |line| {
            out.push(Standing { line, engine: s.engine, begun: s.begun, acts: s.acts });
        };
        match listing.line_of(s.item) {
            Some(line) => {
                put(line);
                if let Some(block) = fired(session, &s).and_then(|b| listing.blocks.get(&b)) {
                    put(*block);
                }
            }
            None => listing.lines_for(run, s.item, s.pos).into_iter().for_each(put),
        }
    }
    out
}

/// Queue and name of the block that a sequencer fires.
fn fired(session: &Session, s: &SeqAt) -> Option<(Name, Name)> {
    let inst = session.program().module.as_ref()?.exec.inst(s.item)?;
    let Body::Trigger(t) = &inst.body else { return None };
    Some((t.queue.clone()?, t.dma_blocks.get(s.block?)?.clone()))
}

/// Lines that two texts do not share, with a few around them.
fn diff(from: &Snapshot, to: &Snapshot) -> Vec<String> {
    let (old, new) = (lines_of(from), lines_of(to));
    let mut pairs = equal_lines(&old, &new);
    pairs.push((old.len(), new.len()));
    // Every line of the whole, and whether it is shown for its own sake.
    let mut all: Vec<(char, usize, &str)> = Vec::new();
    let (mut a, mut b) = (0, 0);
    for (to_a, to_b) in pairs {
        all.extend(old[a..to_a].iter().map(|l| ('-', b, l.text.as_str())));
        all.extend(new.iter().enumerate().take(to_b).skip(b).map(|(n, l)| ('+', n, &*l.text)));
        if let Some(l) = new.get(to_b) {
            all.push((' ', to_b, &l.text));
        }
        (a, b) = (to_a + 1, to_b + 1);
    }
    let mut near = vec![false; all.len()];
    for (k, _) in all.iter().enumerate().filter(|(_, l)| l.0 != ' ') {
        let end = (k + CONTEXT + 1).min(all.len());
        near[k.saturating_sub(CONTEXT)..end].iter_mut().for_each(|n| *n = true);
    }
    let mut out = vec![format!("{} -> {}", from.stage, to.stage)];
    let mut skipped = true;
    for ((sign, n, text), near) in all.into_iter().zip(near) {
        if !near {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) {
            out.push(format!("@ line {}", n + 1));
        }
        out.push(format!("{sign} {text}"));
        if out.len() >= MAX_ANSWER {
            out.push(".. and more".to_owned());
            break;
        }
    }
    if out.len() == 1 {
        out.push("the two texts are the same".to_owned());
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(lines: &[u8]) -> Vec<Line> {
        let line = |n: &u8| Line {
            text: n.to_string(),
            pos: Some(Pos(u32::from(*n) / 2)),
            change: Change::Same,
        };
        lines.iter().map(line).collect()
    }

    #[test]
    fn whose_every_line_is_is_found_in_one_pass() {
        for seed in 0..30 {
            let m = crate::bir::generate::module(seed, &Default::default()).module;
            let listing = Listing {
                stage: Stage::Loaded,
                lines: lines_of_module(&m),
                items: HashMap::new(),
                blocks: HashMap::new(),
                parts: BTreeMap::new(),
            };
            for (n, owner) in listing.owners().into_iter().enumerate() {
                assert_eq!(owner, listing.inst_at(n), "{}", listing.lines[n].text);
            }
        }
    }

    #[test]
    fn a_line_is_changed_as_often_as_one_of_its_instruction_went_away() {
        let mut new = text(&[9, 3, 3, 3, 8]);
        compare(&text(&[9, 2, 8]), &mut new);
        let marks: String = new.iter().map(|l| l.change.mark()).collect();
        assert_eq!(marks, " ~++ ");
    }

    proptest! {
        #[test]
        fn equal_lines_are_equal_and_ascend(
            old in proptest::collection::vec(0u8..6, 0..20),
            new in proptest::collection::vec(0u8..6, 0..20),
        ) {
            let (a, b) = (text(&old), text(&new));
            let pairs = equal_lines(&a, &b);
            prop_assert!(pairs.iter().all(|(x, y)| old[*x] == new[*y]));
            prop_assert!(pairs.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
            prop_assert_eq!(equal_lines(&a, &a).len(), a.len());
        }
    }
}
