//! Where an engine is in the program: block, instruction, and the round of each loop around it
//! (`docs/execution.md`, "Streams").

use super::program::{Item, Program, RegionId, Target};
use crate::bir::module::Body;
use crate::bir::{Engine, Name};
use imbl::OrdMap;
use std::cmp::Ordering;

/// One level of nesting: the function's blocks, or the body of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub region: RegionId,
    pub block: u32,
    /// Which of its own items of the region the engine is at.
    pub at: u32,
    /// How many blocks were entered before; only counted where branches are.
    pub epoch: u64,
    /// Round of the loop.
    pub iter: u64,
    /// Rounds of it; the largest number where nobody knows.
    pub trips: u64,
    /// Value of the axis, and by how much it grows.
    pub value: i64,
    pub stride: i64,
    /// Where branches are: when each block was last gone through.
    pub seen: OrdMap<u32, u64>,
}

/// What happens when an instruction completes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Next {
    /// The following instruction.
    On,
    /// The same, and a register has a new value.
    Set(Name, i64),
    /// Into a loop.
    Enter { trips: u64, value: i64, stride: i64 },
    /// To a block.
    Goto(Target),
    /// To the block after this one.
    BlockOn,
    /// Another round of the loop.
    Round,
    /// Out of the loop.
    Leave,
    /// Nothing that is still to come concerns this engine.
    Quit,
}

/// What an engine is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    Item(Item),
    /// The end of a block that can be left by a branch.
    BlockEnd,
    /// The end of a round of a loop with a condition.
    RoundEnd,
    Done,
}

/// An engine's way through the program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Stream {
    pub engine: Engine,
    /// Empty where the engine has come to the end.
    pub frames: Vec<Frame>,
    /// What was begun and is not complete.
    pub next: Option<Next>,
}

/// Comes after every item.
pub(super) const END: Item = Item(u32::MAX);

impl Frame {
    fn new(region: RegionId) -> Frame {
        Frame {
            region,
            block: 0,
            at: 0,
            epoch: 0,
            iter: 0,
            trips: 1,
            value: 0,
            stride: 0,
            seen: OrdMap::new(),
        }
    }

    /// The item it is at, [`END`] at the end of its block (or of the region where there are no
    /// branches).
    pub fn item(&self, p: &Program, lane: usize) -> Item {
        let r = p.region(self.region);
        let own = &r.own[lane];
        let end = if r.branches {
            r.starts[lane].get(self.block as usize + 1).copied().unwrap_or(0)
        } else {
            own.len() as u32
        };
        if self.at < end { own[self.at as usize] } else { END }
    }

    /// Whether all blocks of the region are behind it.
    fn is_over(&self, p: &Program, lane: usize) -> bool {
        let r = p.region(self.region);
        if r.branches { self.block as usize >= r.names.len() } else { self.item(p, lane) == END }
    }

    fn enter_block(&mut self, p: &Program, lane: usize, block: u32) {
        self.seen.insert(self.block, self.epoch);
        self.epoch += 1;
        self.block = block;
        let starts = &p.region(self.region).starts[lane];
        self.at = starts.get(block as usize).copied().unwrap_or(0);
    }

    fn next_round(&mut self) {
        self.iter += 1;
        self.value = self.value.wrapping_add(self.stride);
        (self.block, self.at, self.epoch) = (0, 0, 0);
        self.seen = OrdMap::new();
    }
}

impl Stream {
    pub fn new(p: &Program, engine: Engine) -> Stream {
        let mut s = Stream { engine, frames: vec![Frame::new(RegionId(0))], next: None };
        s.settle(p);
        s
    }

    fn lane(&self) -> usize {
        self.engine.number() as usize
    }

    pub fn is_done(&self) -> bool {
        self.frames.is_empty()
    }

    /// The item at a level of nesting.
    pub fn item(&self, p: &Program, level: usize) -> Item {
        self.frames.get(level).map_or(END, |f| f.item(p, self.lane()))
    }

    pub fn spot(&self, p: &Program) -> Spot {
        let Some(top) = self.frames.last() else { return Spot::Done };
        match top.item(p, self.lane()) {
            END if top.is_over(p, self.lane()) => Spot::RoundEnd,
            END => Spot::BlockEnd,
            item => Spot::Item(item),
        }
    }

    /// Order of two places at one level.
    pub fn compare_level(&self, other: &Stream, p: &Program, level: usize) -> Ordering {
        let key = |s: &Stream| {
            let f = s.frames.get(level);
            f.map(|f| (f.iter, f.epoch, f.item(p, s.lane())))
        };
        key(self).cmp(&key(other))
    }

    /// Order of two places in the program: who is further in the outermost loop in which they
    /// differ is further.
    pub fn compare(&self, other: &Stream, p: &Program) -> Ordering {
        let levels = self.frames.len().max(other.frames.len());
        let all = (0..levels).map(|k| self.compare_level(other, p, k));
        all.fold(Ordering::Equal, Ordering::then)
    }

    /// Whether both are in one visit of one block.
    pub fn same_visit(&self, other: &Stream, p: &Program) -> bool {
        let n = self.frames.len();
        let (Some(a), Some(b)) = (self.frames.last(), other.frames.get(n.wrapping_sub(1))) else {
            return false;
        };
        let outer = (0..n - 1).all(|k| self.compare_level(other, p, k) == Ordering::Equal);
        outer && (a.region, a.iter, a.epoch, a.block) == (b.region, b.iter, b.epoch, b.block)
    }

    /// Moves on.
    pub fn apply(&mut self, p: &Program, next: &Next) {
        let lane = self.lane();
        let spot = self.spot(p);
        let Some(top) = self.frames.last_mut() else { return };
        match next {
            Next::On | Next::Set(..) => top.at += 1,
            Next::Enter { trips, value, stride } => {
                let Spot::Item(item) = spot else { return };
                let entry = p.entry(item);
                let asks = matches!(entry.inst.body, Body::DoWhile(_));
                // A counted loop without anything of this engine is passed by.
                let body = entry
                    .body
                    .filter(|b| *trips > 0 && (asks || !p.region(*b).own[lane].is_empty()));
                match body {
                    Some(body) => {
                        let (trips, value, stride) = (*trips, *value, *stride);
                        self.frames.push(Frame { trips, value, stride, ..Frame::new(body) });
                    }
                    None => top.at += 1,
                }
            }
            Next::Goto(target) => {
                self.frames.truncate(p.region(target.region).depth as usize + 1);
                if let Some(top) = self.frames.last_mut() {
                    top.enter_block(p, lane, target.block);
                }
            }
            Next::BlockOn => {
                let block = top.block + 1;
                top.enter_block(p, lane, block);
            }
            Next::Round => top.next_round(),
            Next::Leave => self.leave(),
            Next::Quit => self.frames.clear(),
        }
        self.settle(p);
    }

    fn leave(&mut self) {
        self.frames.pop();
        if let Some(outer) = self.frames.last_mut() {
            outer.at += 1;
        }
    }

    /// Goes on to the next thing that takes a step: through ends of blocks that cannot be left
    /// otherwise and of rounds that are counted. Each round of a counted loop has an item, so
    /// that this ends.
    fn settle(&mut self, p: &Program) {
        let lane = self.lane();
        while let Some(top) = self.frames.last_mut() {
            if !top.is_over(p, lane) {
                return;
            }
            let Some(owner) = p.region(top.region).owner else {
                self.frames.clear();
                return;
            };
            if matches!(p.entry(owner).inst.body, Body::DoWhile(_)) {
                return;
            }
            if top.iter.saturating_add(1) < top.trips {
                top.next_round();
            } else {
                self.leave();
            }
        }
    }
}
