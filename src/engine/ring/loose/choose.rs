//! What may happen next at all, and making it happen: for whoever looks at every order
//! (`docs/order.md`, "The explorer").

use super::*;

/// What may happen next in some order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Choice {
    /// Queue by index: it retires, fetches or reads.
    Next(usize),
    /// Queue by index: it writes the Rx descriptor of this count from the run's start.
    Write(usize, u64),
    /// The host's store of this number reaches memory.
    Land(u64),
    /// The host goes on.
    Host,
}

impl Machine {
    /// The state before the first event, for whoever chooses what happens: stores of the host
    /// with these numbers land when they are chosen.
    pub fn to_choose(p: &Program, keep: impl IntoIterator<Item = u64>) -> Machine {
        let mut m = Machine::new(p);
        let loose = Loose { keep: keep.into_iter().collect(), ..Loose::new(p) };
        m.loose = Some(Box::new(loose));
        m
    }

    /// All that may happen next in some order, whatever its time, but for what changes nothing
    /// that others see: that has happened already. `timed_out` answers whether the next wait of
    /// the host is one that does not end well.
    pub fn choices(&mut self, p: &Program, timed_out: bool) -> Vec<Choice> {
        let mut out = Vec::new();
        for i in 0..self.queues.len() {
            if self.settle(p, i).is_some() {
                return Vec::new();
            }
            let (acts, _) = self.acts(p, i);
            for act in acts {
                match act {
                    Act::Write(f, j) => {
                        let q = &self.queues[i];
                        let k = q.flights.get(f).and_then(|f| f.rx.get(j)).map_or(0, |w| w.k);
                        out.push(Choice::Write(i, q.earlier[ix(Dir::Rx)] + k));
                    }
                    Act::Retire | Act::Calm(Action::Fetch(_) | Action::Read) => {
                        out.push(Choice::Next(i));
                    }
                    Act::Calm(_) => {}
                }
            }
        }
        out.dedup();
        let Some(loose) = &self.loose else { return out };
        for (at, w) in loose.pending.iter().enumerate() {
            let len = w.content.len();
            if !loose.pending.iter().take(at).any(|o| o.overlaps(w.addr, len)) {
                out.push(Choice::Land(w.n));
            }
        }
        let goes_on = match self.host.poll {
            Some(poll) => self.sees(Agent::Host, poll.addr, poll.idle_of) != timed_out,
            None => !self.host.is_done(p) && !self.cpu_waits(p, None),
        };
        if goes_on {
            out.push(Choice::Host);
        }
        out
    }

    /// Makes a choice of [`Machine::choices`] happen; nothing (`None`) where it told of nothing.
    pub fn choose(&mut self, p: &Program, choice: Choice) -> Option<Told> {
        let before = self.findings.len();
        self.n += 1;
        let next = match choice {
            Choice::Write(i, k) => {
                let k = k - self.queues[i].earlier[ix(Dir::Rx)];
                let at =
                    self.queues[i].flights.iter().enumerate().find_map(|(f, flight)| {
                        Some((f, flight.rx.iter().position(|w| w.k == k)?))
                    });
                at.and_then(|(f, j)| self.do_act(p, i, Act::Write(f, j)))
            }
            Choice::Next(i) => {
                let acts = self.acts(p, i).0;
                let act = acts.into_iter().find(|a| !matches!(a, Act::Write(..)));
                act.and_then(|act| self.do_act(p, i, act))
            }
            Choice::Land(n) => self.land(|_, w| w.n == n),
            Choice::Host => match self.host.poll {
                Some(poll) => {
                    let seen = self.sees(Agent::Host, poll.addr, poll.idle_of);
                    let kind = self.end_poll(poll, seen);
                    let memory = self.memory.clone();
                    self.note_cpu(p, Agent::Host, &kind, &memory);
                    Some((Agent::Host, kind, None))
                }
                None => self.cpu_event(p, None),
            },
        };
        let Some(next) = next else {
            self.n -= 1;
            return None;
        };
        Some(self.told_of(p, next, before))
    }

    /// The name of what queue `i` fetches or reads next; nothing where it retires, or has nothing
    /// to do.
    pub fn next_access(&self, i: usize) -> Option<Moment> {
        let q = self.queues.get(i)?;
        if q.flights.front().is_some_and(Flight::is_done) {
            return None;
        }
        match device::next_action(q) {
            Action::Fetch(dir) => Some(self.moment(i, dir, q.hw(dir).fetched, EngineAct::Fetch)),
            Action::Read => {
                let k = q.packet.tx.get(q.packet.read)?.k;
                Some(self.moment(i, Dir::Tx, k, EngineAct::Read))
            }
            _ => None,
        }
    }

    /// The name of the host's next poll that ends its wait.
    pub fn next_poll(&self) -> Moment {
        let n = self.loose.as_ref().map_or(0, |l| l.count(Agent::Host, CpuAct::Poll)) + 1;
        Moment::Cpu { agent: Agent::Host, act: CpuAct::Poll, n }
    }

    fn end_poll(
        &mut self,
        mut poll: crate::engine::ring::machine::Polling,
        seen: bool,
    ) -> EventKind {
        poll.told += 1;
        let value = self.with_own(Agent::Host).read_u32(poll.addr);
        self.active = None;
        self.host.poll_ended(poll.next_ns, Some(seen));
        match poll.idle_of {
            None => EventKind::Poll { addr: poll.addr, reads: 1, value },
            Some(i) => EventKind::PollIdle { queue: self.queues[i].id(), reads: 1, idle: seen },
        }
    }
}
