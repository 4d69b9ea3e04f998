//! What a user changed in the run, made again in the run of another program: at the event that
//! is the same one, of the slot, register or bytes that are the same.

use super::super::Session;
use super::super::edit::{History, Made};
use super::super::search::Watch;
use super::map::{EventIs, Map};
use super::trace::Want;
use super::{Waiting, state_at};
use crate::engine::edit::{Change, Edit, slot_at};
use crate::engine::program::Program;
use crate::limits::MAX_RELOAD_ROUNDS;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Notes the slots that edits are about.
pub(super) fn want(p: &Program, edits: &[Edit], want: &mut Want) {
    for e in edits {
        match &e.change {
            Change::Store { addr, .. } => {
                want.slots.extend(slot_at(p, *addr).map(|(id, dir, slot, _)| (id, dir, slot)));
            }
            Change::Inject { queue, dir, slot: Some(slot), .. } => {
                want.slots.insert((*queue, *dir, *slot));
            }
            Change::Inject { .. } | Change::Register { .. } | Change::Cursor { .. } => {}
        }
    }
}

/// An edit that is to be made again: of which program, counted from the oldest that is
/// remembered; the last is the one that was.
struct Candidate {
    of: usize,
    edit: Edit,
}

impl Session {
    /// The new program with the session's edits, and what can be taken back of them.
    pub(super) fn carry_edits(
        &mut self,
        program: Arc<Program>,
        waiting: &mut [Waiting],
        (lost, notes): (&mut Waiting, &mut Vec<String>),
        watch: Watch<'_>,
    ) -> (Arc<Program>, History) {
        let old = self.program().clone();
        let own = self.history.own(&old);
        let mut all: Vec<Candidate> = Vec::new();
        for (of, w) in waiting.iter_mut().enumerate() {
            all.extend(std::mem::take(&mut w.edits).into_iter().map(|edit| Candidate { of, edit }));
        }
        let mine = waiting.len();
        let before = all.len();
        all.extend(old.edits[own..].iter().cloned().map(|edit| Candidate { of: mine, edit }));
        let undone = self.history.undone.len();
        if undone > 0 {
            let s = if undone == 1 { "" } else { "s" };
            notes.push(format!("{undone} edit{s} that could be made again cannot any more"));
        }
        if all.is_empty() {
            return (program, History::default());
        }
        let programs: Vec<Arc<Program>> =
            waiting.iter().map(|w| w.of.clone()).chain([old]).collect();
        let wants: Vec<Want> = (0..programs.len())
            .map(|of| {
                let edits: Vec<Edit> =
                    all.iter().filter(|c| c.of == of).map(|c| c.edit.clone()).collect();
                let event = edits.iter().map(|e| e.at).max().unwrap_or(0);
                let mut w = Want { event, ..Want::default() };
                want(&programs[of], &edits, &mut w);
                w
            })
            .collect();
        let mut compare = |program: &Arc<Program>| -> Vec<Option<Map>> {
            (0..programs.len())
                .map(|of| {
                    let needed = all.iter().any(|c| c.of == of);
                    needed.then(|| Map::new(&programs[of], program, &wants[of], watch))
                })
                .collect()
        };
        // In the order in which they come in the run that is.
        let mut maps = compare(&program);
        let place = |maps: &[Option<Map>], c: &Candidate| {
            let map = maps.get(c.of)?.as_ref()?;
            match map.event(c.edit.at) {
                EventIs::Here(n) => Some((n, map.change(&c.edit.change, c.edit.at)?)),
                EventIs::Gone(_) | EventIs::Beyond => None,
            }
        };
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|i| place(&maps, &all[*i]).map_or(u64::MAX, |p| p.0));
        let mut now = program;
        let mut history = History::default();
        let mut last = 0;
        for (round, i) in order.into_iter().enumerate() {
            if round > 0 && round < MAX_RELOAD_ROUNDS {
                maps = compare(&now);
            }
            let c = &all[i];
            let words = c.edit.change.words(&programs[c.of]);
            let Some((n, change)) = place(&maps, c).filter(|p| p.0 >= last) else {
                if c.of == mine {
                    notes.push(format!("edit waits: {words} at event {}", c.edit.at));
                    lost.edits.push(c.edit.clone());
                } else {
                    waiting[c.of].edits.push(c.edit.clone());
                }
                continue;
            };
            let kept = now.edits.partition_point(|e| e.at <= n);
            let dropped = now.edits[kept..].to_vec();
            let mut edits = now.edits[..kept].to_vec();
            if let Err(why) = state_at(&now, n).can_edit(&now, &change) {
                notes.push(format!("edit waits: {words}: {why}"));
                let to = if c.of == mine { &mut *lost } else { &mut waiting[c.of] };
                to.edits.push(c.edit.clone());
                continue;
            }
            let edit = Edit { at: n, change };
            edits.push(edit.clone());
            now = Arc::new(Program { edits, ..(*now).clone() });
            if i < before {
                notes.push(format!("edit is back: {words} at event {n}"));
            } else if edit != c.edit {
                let new = edit.change.words(&now);
                notes.push(format!("edit: {words} at event {} is {new} at event {n}", c.edit.at));
            }
            let marks = BTreeMap::new();
            history.done.push_back(Made { edit, before: kept, dropped, marks });
            last = n;
        }
        (now, history)
    }
}
