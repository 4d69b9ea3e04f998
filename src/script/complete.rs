//! Completion of a line being typed, from the command table.

use super::expr::slot_names;
use crate::engine::command::{Arg, COMMANDS, find};
use crate::engine::session::{PROPERTIES, RING_PROPERTIES};
use std::collections::BTreeSet;

/// What may stand at the end of the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// Byte offset in the line from which a candidate replaces the rest.
    pub from: usize,
    /// Candidates, sorted.
    pub candidates: Vec<String>,
}

/// Completes the last word of `line`; `marks` and `queues` are the session's names.
pub fn complete(line: &str, marks: &[String], queues: &[String]) -> Completion {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '?');
    let from = line
        .rfind(|c| !is_word(c))
        .map_or(0, |i| i + line[i..].chars().next().map_or(1, char::len_utf8));
    let word = &line[from..];
    let before = &line[..from];
    let mut words = before.split_whitespace();
    let mut all: BTreeSet<String> = BTreeSet::new();
    let Some(first) = words.next() else {
        all.extend(COMMANDS.iter().map(|c| c.name.to_owned()));
        return finish(from, word, all);
    };
    if before.ends_with('.') {
        all.extend(slot_names().map(str::to_owned));
        all.extend(RING_PROPERTIES.iter().map(|p| p.0.to_owned()));
        return finish(from, word, all);
    }
    let Ok(spec) = find(first) else { return finish(from, word, all) };
    for arg in spec.args {
        match arg {
            Arg::Words(list) => all.extend(list.iter().map(|w| (*w).to_owned())),
            Arg::Expr => {
                all.extend(PROPERTIES.iter().chain(RING_PROPERTIES).map(|p| p.0.to_owned()));
                all.extend(["tx[", "rx[", "mem32["].map(str::to_owned));
            }
            Arg::Loc => {
                let places = ["tx[", "rx[", "batch", "event", "marker", "doorbell", "fault"];
                all.extend(places.map(str::to_owned));
                all.extend(queues.iter().map(|q| format!("{q}.")));
            }
            Arg::Queue => all.extend(queues.iter().cloned()),
            Arg::Mark => {
                all.extend(marks.iter().cloned());
                all.insert("end".to_owned());
            }
            Arg::Command => all.extend(COMMANDS.iter().map(|c| c.name.to_owned())),
            Arg::Number | Arg::File | Arg::Text => {}
        }
    }
    finish(from, word, all)
}

fn finish(from: usize, word: &str, all: BTreeSet<String>) -> Completion {
    let candidates = all.into_iter().filter(|c| c.starts_with(word)).collect();
    Completion { from, candidates }
}
