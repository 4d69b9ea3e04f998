//! Whether an earlier instance of an instruction is complete (`docs/execution.md`,
//! "Dependencies").
//!
//! An engine is in order and each instruction ends before its next one begins, so that
//! "complete" is a comparison of two places: where the instance is, and where its engine is.

use super::Control;
use super::program::{Item, Program};
use super::stream::{Spot, Stream};
use std::cmp::Ordering;

/// Which visit of a block an instance lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    /// There is one in a round.
    Only,
    /// The block that was entered after so many others.
    Epoch(u64),
    /// Nobody knows: the round must be over.
    Unknown,
    /// Any visit of the block, later ones too.
    Ever(u32),
}

/// A place: rounds of the loops outside as those of who waits, then this.
#[derive(Debug, Clone, Copy)]
struct Instance {
    level: usize,
    iter: u64,
    visit: Visit,
}

/// Whether a dependency holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// It is complete, or there is nothing to wait for.
    No,
    /// It is not complete.
    Yes,
    /// It is the very instance that waits.
    Itself,
}

/// The nearest instance of `t` that lies before where `w` is; with `carried` one of an earlier
/// round.
fn earlier(p: &Program, w: &Stream, t: Item, carried: bool) -> Option<Instance> {
    let path = &p.entry(t).path;
    let level = common(p, w, path)?;
    let frame = &w.frames[level];
    let (mine, theirs) = (w.item(p, level), path[level]);
    if p.region(frame.region).branches {
        let block = p.entry(theirs).block;
        let epoch = if !carried && block == frame.block && theirs < mine {
            Some(frame.epoch)
        } else {
            frame.seen.get(&block).copied()
        };
        if let Some(e) = epoch {
            return Some(Instance { level, iter: frame.iter, visit: Visit::Epoch(e) });
        }
    } else if !carried && theirs < mine {
        return Some(Instance { level, iter: frame.iter, visit: Visit::Only });
    }
    let level = (1..=level).rev().find(|l| w.frames[*l].iter > 0)?;
    let frame = &w.frames[level];
    let unknown = p.region(frame.region).branches;
    let visit = if unknown { Visit::Unknown } else { Visit::Only };
    Some(Instance { level, iter: frame.iter - 1, visit })
}

/// The innermost level at which both are in one list of blocks.
fn common(p: &Program, w: &Stream, path: &[Item]) -> Option<usize> {
    let both = w.frames.len().min(path.len());
    let differ = (0..both).find(|k| w.item(p, *k) != path[*k]);
    differ.unwrap_or(both.checked_sub(1)?).into()
}

/// Whether an engine is past an instance.
fn passed(p: &Program, q: &Stream, w: &Stream, path: &[Item], at: Instance) -> bool {
    for k in 0..at.level {
        match q.compare_level(w, p, k) {
            Ordering::Equal => {}
            order => return q.is_done() || order == Ordering::Greater,
        }
    }
    let Some(frame) = q.frames.get(at.level) else { return q.is_done() };
    if frame.iter != at.iter {
        return frame.iter > at.iter;
    }
    match at.visit {
        Visit::Unknown => return false,
        Visit::Epoch(e) if frame.epoch != e => return frame.epoch > e,
        Visit::Ever(block) if frame.seen.contains_key(&block) => return true,
        Visit::Ever(block) if frame.block != block => return false,
        _ => {}
    }
    for (k, item) in (at.level..).zip(&path[at.level..]) {
        let Some(frame) = q.frames.get(k) else { return false };
        // Deeper loops: their last round is meant.
        let deeper = k > at.level;
        if deeper && (p.region(frame.region).branches || frame.iter.saturating_add(1) < frame.trips)
        {
            return false;
        }
        match q.item(p, k).cmp(item) {
            Ordering::Equal => {}
            order => return order == Ordering::Greater,
        }
    }
    false
}

impl Control {
    /// Whether `w` must wait for the nearest earlier instance of `t`.
    pub(super) fn held_by(&self, p: &Program, w: &Stream, t: Item, carried: bool) -> Held {
        let entry = p.entry(t);
        let path = &entry.path;
        let instance = match earlier(p, w, t, carried) {
            Some(i) => i,
            None if carried => return Held::No,
            None if w.spot(p) == Spot::Item(t) => return Held::Itself,
            None => {
                // Nothing earlier: the one that is still to come.
                let Some(level) = common(p, w, path) else { return Held::No };
                let frame = &w.frames[level];
                let visit = if p.region(frame.region).branches {
                    Visit::Ever(p.entry(path[level]).block)
                } else {
                    Visit::Only
                };
                Instance { level, iter: frame.iter, visit }
            }
        };
        let mut streams = self.streams.iter().filter(|s| entry.engines.has(s.engine));
        if streams.all(|q| passed(p, q, w, path, instance)) { Held::No } else { Held::Yes }
    }

    /// Whether `t` has an instance that lies before where `w` is.
    pub(super) fn lies_before(&self, p: &Program, w: &Stream, t: Item, carried: bool) -> bool {
        earlier(p, w, t, carried).is_some()
    }

    /// Whether `t` has an earlier instance that is not complete.
    pub(super) fn follows_open(&self, p: &Program, w: &Stream, t: Item) -> bool {
        earlier(p, w, t, false).is_some() && self.held_by(p, w, t, false) == Held::Yes
    }
}
