//! Reads of a marker word, or looks at whether an engine is idle: told of in one event for as
//! many as see the same (`docs/model.md`, "Events").

use super::device::{self, Action};
use super::event::EventKind;
use super::machine::{Machine, Polling};
use crate::engine::program::Program;
use crate::udma::profile::MARKER;

impl Machine {
    /// Lets the host read its marker word, or tells of the reads so far. Nothing (`None`) when
    /// the engine acts first.
    pub(super) fn poll(
        &mut self,
        p: &Program,
        mut poll: Polling,
        engine: Option<(usize, u64)>,
        others_at: u64,
    ) -> Option<EventKind> {
        let tell = |m: &mut Machine, mut poll: Polling, value| {
            let reads = poll.untold;
            poll.told += reads;
            poll.untold = 0;
            m.now_ns = m.now_ns.max(poll.next_ns);
            m.host.poll = Some(poll);
            match poll.idle_of {
                None => EventKind::Poll { addr: poll.addr, reads, value },
                Some(i) => {
                    let q = &m.queues[i];
                    EventKind::PollIdle { queue: q.id(), reads, idle: !q.has_work() }
                }
            }
        };
        let value = self.memory.read_u32(poll.addr);
        if let Some((i, t)) = engine
            && t <= poll.next_ns
        {
            // The engine goes first. Reads so far are told before it changes what they see;
            // with no speed set that is before its first event.
            let instant = p.speed == crate::engine::program::Speed::default();
            let tells = poll.untold > 0 && (instant || self.changes(p, i, poll.addr));
            return tells.then(|| tell(self, poll, value));
        }
        let seen = match poll.idle_of {
            None => value == MARKER,
            Some(i) => !self.queues[i].has_work(),
        };
        if seen {
            if poll.untold > 0 {
                return Some(tell(self, poll, value));
            }
            poll.untold = 1;
            let kind = tell(self, poll, value);
            self.host.poll_ended(poll.next_ns, Some(true));
            return Some(kind);
        }
        // Reads of the same value until the engine acts or the budget ends.
        let until = engine.map_or(u64::MAX, |e| e.1).min(others_at);
        let reads = if until == u64::MAX {
            poll.left
        } else {
            (until - poll.next_ns).div_ceil(1000).clamp(1, poll.left.max(1))
        };
        poll.untold += reads;
        poll.left = poll.left.saturating_sub(reads);
        poll.next_ns = poll.next_ns.saturating_add(reads.saturating_mul(1000));
        self.host.poll = Some(poll);
        if poll.left == 0 {
            let kind = tell(self, poll, value);
            self.host.poll_ended(poll.next_ns, Some(false));
            return Some(kind);
        }
        None
    }

    /// Whether queue `i`'s next act writes the word at `addr`.
    fn changes(&self, p: &Program, i: usize, addr: u64) -> bool {
        let q = &self.queues[i];
        if let Some(ahead) = q.flights.iter().find_map(super::loose::Flight::next_write) {
            let to = ahead.addr;
            return to < addr.saturating_add(4) && addr < to.saturating_add(ahead.len);
        }
        device::next_action(q) == Action::Visible
            && q.packet.rx.get(q.packet.visible).is_some_and(|x| {
                device::resolve(p, x.desc.ptr).is_ok_and(|to| {
                    to < addr.saturating_add(4) && addr < to.saturating_add(x.desc.length())
                })
            })
    }
}
