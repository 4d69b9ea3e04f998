//! The budget on the screen: what is worked out for it, and going to what an entry is about.

use super::model::Model;
use crate::engine::budget::Budget;
use crate::engine::session::{Share, ShareOf};
use std::sync::Arc;

impl Model {
    /// Works out the shares here; what a module takes once for each program, as soon as somebody
    /// looks.
    pub(super) fn prepare_budget(&mut self) {
        if self.derived.areas.pane(super::Pane::Budget).is_none() {
            self.derived.shares.clear();
            return;
        }
        let program = self.session.program();
        let known = self.derived.budget.as_ref();
        if known.is_none_or(|(of, _)| of.as_ptr() != Arc::as_ptr(program)) {
            let budget = program.module.as_ref().map(|run| Arc::new(Budget::of_run(run)));
            self.derived.budget = budget.map(|b| (Arc::downgrade(program), b));
        }
        let budget = self.derived.budget.as_ref().map(|b| Arc::clone(&b.1));
        self.derived.shares = self.session.shares(budget.as_deref());
        let last = self.derived.shares.len().saturating_sub(1);
        self.budget_cursor = self.budget_cursor.min(last);
    }

    /// What a share is about, in a few words.
    pub fn share_name(&self, share: &Share) -> String {
        match &share.of {
            ShareOf::Slots(id, dir) => {
                format!("{id} {dir} slots")
            }
            ShareOf::Posted(id, dir) => format!("{id} {dir} posted"),
            ShareOf::Polls(Some(id)) => format!("{id} poll reads"),
            ShareOf::Polls(None) => "poll reads".to_owned(),
            ShareOf::Batch(id) => format!("{id} batch"),
            ShareOf::Queue(_, name) => {
                format!("{name} blocks")
            }
            ShareOf::Block(_, name) => format!("block {name}"),
            ShareOf::Inst(_, text) => text.clone(),
        }
    }

    /// Selects what the entry with the cursor is about: its queue and ring, or its instruction.
    pub(super) fn budget_to_place(&mut self) {
        let Some(share) = self.derived.shares.get(self.budget_cursor).cloned() else { return };
        let name = self.share_name(&share);
        match share.of {
            ShareOf::Inst(pos, _) => self.select_inst(pos),
            ShareOf::Slots(id, dir) | ShareOf::Posted(id, dir) => {
                self.session.select(id);
                self.come_to_queue();
                self.look_at_ring(dir);
            }
            _ => {
                if let Some(id) = share.queue() {
                    self.session.select(id);
                    self.come_to_queue();
                }
            }
        }
        self.say(format!("{name}: {} of {}, {}", share.used, share.all, share.words), None);
    }
}
