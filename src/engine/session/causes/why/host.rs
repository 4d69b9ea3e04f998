//! The part of the CPU agent: polls, sleeps, has given up, stages, is done.

use super::{Chain, View};
use crate::diag::Diagnostic;
use crate::engine::ring::host::Frame;
use crate::udma::{Dir, count_of};

/// A moment of virtual time.
pub(super) fn time(ns: u64) -> String {
    match ns % 1000 {
        0 => format!("{} us", ns / 1000),
        part => format!("{}.{part:03} us", ns / 1000),
    }
}

impl View<'_> {
    /// The wait ends before the engine is done.
    pub(super) fn budget(&self, chain: &mut Chain) {
        let (Some(gave_up), Some(waiter)) = (self.ahead.gave_up, self.waiter()) else { return };
        if self.ahead.flip.is_some_and(|f| f.n < gave_up.n) || self.ahead.trouble.is_some() {
            return;
        }
        let left = waiter.cpu.poll.map(|p| format!(", {} left", count_of(p.left, "read")));
        let flip = match self.ahead.flip {
            Some(f) => format!("the marker flips at {}, event {}", time(f.t_ns), f.n),
            None => "the marker does not flip at all".to_owned(),
        };
        chain.cause(format!(
            "the poll budget runs out first: {} gives up at {}, event {}{}; {flip}",
            waiter.name,
            time(gave_up.t_ns),
            gave_up.n,
            left.unwrap_or_default()
        ));
    }

    /// What is done about the queue by who waits for it, or would.
    pub(super) fn host(&self, chain: &mut Chain) {
        if let Some(w) = self.waiter() {
            chain.cause(self.waiting(&w));
            return;
        }
        self.given_up(chain);
        if chain.causes.is_empty() {
            self.module(chain);
        }
        if chain.causes.is_empty() {
            self.calm(chain);
        }
    }

    fn waiting(&self, w: &super::Waiter<'_>) -> String {
        let idle = w.cpu.stack.iter().any(|f| matches!(f, Frame::Wait { marker: None, .. }));
        let what = match idle {
            true => format!("{} to be idle", self.id()),
            false => self.word_name(),
        };
        let ret = self.p.profile.timeout_ret;
        match w.cpu.poll {
            Some(poll) => {
                let end = poll.next_ns.saturating_add(poll.left.saturating_mul(1000));
                format!(
                    "{} polls {what} for batch {}: {} made, {} left, until {}; then it returns {ret}",
                    w.name,
                    w.cpu.batch,
                    count_of(poll.told + poll.untold, "read"),
                    poll.left,
                    time(end)
                )
            }
            None if w.cpu.polled.is_some() => {
                format!("{} has polled {what} for batch {}: its wait ends", w.name, w.cpu.batch)
            }
            None if w.cpu.ready_ns > self.m.now_ns => format!(
                "{} waits for {what}, batch {}: its first read comes at {}",
                w.name,
                w.cpu.batch,
                time(w.cpu.ready_ns)
            ),
            None => format!(
                "{} waits for {what}, batch {}: its first read is still to come",
                w.name, w.cpu.batch
            ),
        }
    }

    /// The newest batch of the queue that a wait has timed out for.
    pub(super) fn gave_up(&self) -> Option<u64> {
        let cpus = std::iter::once(&self.m.host).chain(self.m.seqs.iter().map(|s| &s.host));
        let own = cpus.filter_map(|c| c.timed_out.filter(|t| t.0 == self.id()));
        own.map(|t| t.1).max()
    }

    /// Somebody waits for the newest batch of the queue, is about to, or has given it up.
    pub(super) fn is_awaited(&self) -> bool {
        let given_up = self.gave_up().is_some_and(|b| b >= self.q.begun);
        self.waiter().is_some() || self.ahead.gave_up.is_some() || given_up
    }

    /// Batches that nobody waits for any more.
    fn given_up(&self, chain: &mut Chain) {
        let Some(batch) = self.gave_up() else { return };
        let head = format!("batch {batch} timed out");
        let own = |d: &&Diagnostic| d.code == "R002" && d.message.starts_with(&head);
        let Some(d) = self.m.findings.iter().rev().find(own) else { return };
        let event = d.place.event.map(|n| format!(", event {n}")).unwrap_or_default();
        chain.cause(format!("{}{event}: nobody waits for it any more", d.message));
        let lost = Dir::BOTH.map(|dir| {
            let (sw, hw) = (self.q.sw(dir), self.q.hw(dir));
            // What was staged for it and never rung is lost with it.
            let taken = if batch >= self.q.begun { sw.staged } else { hw.posted.min(sw.staged) };
            taken.saturating_sub(sw.acked)
        });
        if lost.iter().any(|n| *n > 0) {
            chain.cause(format!(
                "a batch that times out is never acked: {} tx and {} rx slots stay taken until the queue is initialised again",
                lost[0], lost[1]
            ));
        }
    }

    /// Nothing is wrong with the queue.
    fn calm(&self, chain: &mut Chain) {
        let id = self.id();
        let (batches, done) = (self.q.batches, self.q.ledger.done());
        let acked = match batches {
            0 => format!("nothing was rung on {id}"),
            1 if done == 1 => format!("the batch of {id} is acked"),
            n if done >= n => format!("all {n} batches of {id} are acked"),
            1 => format!("nobody waits for the one batch of {id}, and it is not acked"),
            n => {
                format!("{done} of {n} batches of {id} are acked, nobody waits for the others")
            }
        };
        if self.ahead.next.is_none() {
            chain.cause(format!("nothing waits: the run is at its end, {acked}"));
        } else if self.ahead.bells[0].is_some() || self.ahead.flip.is_some() {
            chain.cause(format!("nothing is wrong: no batch is on its way yet, {acked}"));
        } else {
            chain.cause(format!("nothing waits: {acked}; nothing more comes for the queue"));
        }
    }
}
