//! Sequencers of a module that stand: their waits come before anything of a queue.

use super::{Chain, View};
use crate::bir::Body;
use crate::bir::exec::Why;
use crate::diag::Place;
use crate::engine::ring::seq::Sequencer;
use crate::engine::session::inst_words;

/// Updaters of a semaphore that are named.
const NAMED: usize = 3;

/// A place as file, line and column.
fn line_of(place: &Place) -> String {
    crate::diag::render::place(&Place { offset: None, ..place.clone() })
}

impl View<'_> {
    /// Why the instructions that would use the queue do not begin.
    pub(super) fn module(&self, chain: &mut Chain) {
        let (Some(run), Some(control)) = (&self.p.module, &self.m.control) else { return };
        if self.q.has_work() {
            return;
        }
        // Those whose instruction goes through the queue come first.
        let of_queue = |s: &&Sequencer| {
            let item = control.current(&run.exec, s.engine);
            let named = match item.and_then(|i| run.exec.inst(i)).map(|i| &i.body) {
                Some(Body::Dma(d)) => d.queue.clone(),
                Some(Body::Trigger(t)) => t.queue.clone(),
                _ => None,
            };
            named.and_then(|n| run.queue(&n)).is_some_and(|at| at.id == self.id())
        };
        let (own, others): (Vec<&Sequencer>, Vec<&Sequencer>) =
            self.m.seqs.iter().partition(of_queue);
        for s in own.into_iter().chain(others) {
            if !s.host.stack.is_empty() {
                continue;
            }
            let Err(why) = control.ready(&run.exec, s.engine) else { continue };
            if matches!(why, Why::Done | Why::Busy) {
                continue;
            }
            let item = control.current(&run.exec, s.engine);
            let inst = item.and_then(|i| Some((run.exec.inst(i)?.pos, i)));
            let at = inst.map_or_else(
                || control.place(&run.exec, s.engine).to_string(),
                |(pos, item)| {
                    let place = run.inst(pos).map(|i| line_of(&i.place));
                    let place = place.filter(|p| !p.is_empty()).map(|p| format!(" ({p})"));
                    format!("{}{}", inst_words(self.p, pos, item), place.unwrap_or_default())
                },
            );
            chain.cause(format!("seq {} stands at {at}: it {why}", s.engine));
            if let Why::Semaphore { id, .. } = why {
                chain.cause(self.who_updates(id));
            }
            if s.failed {
                chain.cause(format!(
                    "seq {} stands for ever: nobody does what it waits for",
                    s.engine
                ));
            }
        }
        for d in self.m.findings.iter().filter(|d| matches!(d.code, "R025" | "B070")) {
            chain.cause(format!("a sequencer has failed: {}", d.message));
        }
    }

    /// Which instructions update a semaphore.
    fn who_updates(&self, id: u64) -> String {
        let Some(run) = &self.p.module else { return String::new() };
        let mut names = Vec::new();
        run.exec.module().visit(&mut |i| {
            if i.updates.iter().any(|u| u.id == id) {
                names.push(format!("%{} on {}", i.name, i.engine));
            }
        });
        match names.len() {
            0 => format!("no instruction of the module updates semaphore {id}"),
            n => {
                let more =
                    if n > NAMED { format!(", and {} more", n - NAMED) } else { String::new() };
                names.truncate(NAMED);
                format!("semaphore {id} is updated by {}{more}", names.join(", "))
            }
        }
    }
}
