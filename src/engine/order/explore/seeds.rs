//! Polled words that hold a part of the marker before anything of the engine wrote it.
//!
//! The check of order takes it that a successful poll follows a write of the engine, whatever
//! the word held before. Where a byte of the word already is what the marker has there, a poll
//! may succeed without that write: nothing is proved then by there being no race.

use super::observe::Named;
use crate::engine::order::step::{Step, Teller, WORD_BYTES};
use crate::engine::program::Program;
use crate::engine::ring::{Machine, machine};
use crate::engine::schedule::Moment;
use crate::udma::profile::MARKER;
use std::collections::BTreeMap;

/// Polls that may succeed because of what a CPU agent, or nobody, put into their word: the poll,
/// its queue by index, the last batch that it is about.
pub(super) fn doubts(p: &Program) -> Vec<(Moment, u32, u64)> {
    let mut words: BTreeMap<u64, u32> = BTreeMap::new();
    let start = Machine::new(p);
    // Which words are polled is known at the end of a run.
    let teller = Teller::new(p);
    machine::run(p, |m, e| {
        teller.steps(m, e, &mut |step| {
            if let Step::Seen { wait, .. } = step
                && let Some(word) = wait.word
            {
                words.entry(word).or_insert_with(|| start.memory.read_u32(word));
            }
        });
        true
    });
    if words.is_empty() {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut names = super::observe::Names::new(p, p.schedule.readings);
    machine::run(p, |m, e| {
        for Named { moment, step, .. } in names.take(m, e) {
            match step {
                Step::Store { addr, len, .. } => {
                    let from = addr.saturating_sub(WORD_BYTES - 1);
                    for (word, value) in words.range_mut(from..addr.saturating_add(len)) {
                        *value = m.memory.read_u32(*word);
                    }
                }
                Step::Seen { wait, .. } => {
                    let held = wait.word.and_then(|w| words.get(&w)).is_some_and(|v| {
                        v.to_le_bytes().iter().zip(MARKER.to_le_bytes()).any(|(a, b)| *a == b)
                    });
                    if held && let Some(poll) = moment {
                        out.push((poll, wait.queue, wait.batches.1));
                    }
                }
                _ => {}
            }
        }
        true
    });
    out
}
