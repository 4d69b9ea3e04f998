//! CPU agents in an order that is not the calm one: what they see, stores that wait, and the
//! barriers that are edited at their doorbells (`docs/order.md`, "Schedules").

use super::*;
use crate::engine::ring::memory::Memory;

impl Machine {
    /// Whether a CPU agent waits for its stores before its next event, or its poll is held.
    pub(super) fn cpu_waits(&self, p: &Program, who: Option<usize>) -> bool {
        let Some(loose) = &self.loose else { return false };
        let agent = self.agent(who);
        let cpu = who.and_then(|k| self.seqs.get(k)).map_or(&self.host, |s| &s.host);
        if let Some(poll) = cpu.poll {
            let n = loose.count(agent, CpuAct::Poll) + 1;
            let held = self.is_held(p, Moment::Cpu { agent, act: CpuAct::Poll, n });
            return held && self.sees(agent, poll.addr, poll.idle_of);
        }
        if loose.pending.iter().all(|w| w.agent != agent) {
            return false;
        }
        // What it does next is known by trying it on a copy.
        let mut copy = self.clone();
        let kind = copy.with_cpu(who, |m| m.host_step(p));
        matches!(
            kind,
            Some(EventKind::CpuFence | EventKind::SemUpdate { .. } | EventKind::InstDone { .. })
        )
    }

    /// Whether a poll made now would end its wait. An agent sees its own stores.
    pub(super) fn sees(&self, agent: Agent, addr: u64, idle_of: Option<usize>) -> bool {
        match idle_of {
            Some(i) => !self.queues[i].has_work(),
            None => {
                let memory = self.with_own(agent);
                memory.read_u32(addr) == MARKER
            }
        }
    }

    /// Memory as an agent sees it.
    pub fn with_own(&self, agent: Agent) -> Memory {
        let mut memory = self.memory.clone();
        let pending = self.loose.iter().flat_map(|l| &l.pending);
        for w in pending.filter(|w| w.agent == agent) {
            memory.put_content(w.addr, w.content.clone());
        }
        memory
    }

    /// A store whose hold is over reaches memory. Those of an agent to the same bytes keep their
    /// order.
    pub(super) fn land(&mut self, free: impl Fn(&Machine, &Pending) -> bool) -> Option<Next> {
        let loose = self.loose.as_ref()?;
        let at = loose.pending.iter().enumerate().position(|(at, w)| {
            let mut before = loose.pending.iter().take(at);
            free(self, w)
                && !before.any(|o| o.agent == w.agent && o.overlaps(w.addr, w.content.len()))
        })?;
        let loose = self.loose.as_mut()?;
        let Pending { agent, addr, content, .. } = loose.pending.remove(at);
        let len = content.len();
        self.memory.put_content(addr, content);
        Some((agent, EventKind::Land { addr, len }, None))
    }

    /// Lets a CPU agent make its next event, and keeps its stores back that are held.
    pub(super) fn cpu_event(&mut self, p: &Program, who: Option<usize>) -> Option<Next> {
        let before = self.memory.clone();
        let kind = self.with_cpu(who, |m| m.host_step(p))?;
        let agent = self.agent(who);
        self.note_cpu(p, agent, &kind, &before);
        Some((agent, kind, None))
    }

    pub(super) fn note_cpu(
        &mut self,
        p: &Program,
        agent: Agent,
        kind: &EventKind,
        before: &Memory,
    ) {
        match *kind {
            EventKind::MmioWrite { engine, offset, value, lost } => {
                let Some((name, (dir, queue))) =
                    reg::name_at(offset).and_then(|r| Some((r.name, r.queue?)))
                else {
                    return;
                };
                let id = crate::engine::program::QueueId { engine, queue };
                let i = self.index_of(id);
                let Some(loose) = &mut self.loose else { return };
                match name {
                    "drtp_inc" if !lost => {
                        loose.add(agent, CpuAct::Doorbell);
                    }
                    "q_sw_ctrl" if value & 0x100 != 0 => {
                        let _ = dir;
                        if let Some(i) = i {
                            loose.rules[i].reset(p.schedule.readings);
                        }
                    }
                    _ => {}
                }
            }
            EventKind::Poll { .. } | EventKind::PollIdle { .. }
                if self.cpu().polled == Some(true) && self.cpu().poll.is_none() =>
            {
                if let Some(loose) = &mut self.loose {
                    loose.add(agent, CpuAct::Poll);
                }
            }
            _ => self.keep_back(p, agent, kind, before),
        }
    }

    pub(super) fn keep_back(
        &mut self,
        p: &Program,
        agent: Agent,
        kind: &EventKind,
        before: &Memory,
    ) {
        let stores = self.stores(kind);
        let mut kept = Vec::new();
        for (addr, len) in &stores {
            let Some(loose) = &mut self.loose else { return };
            let n = loose.add(agent, CpuAct::Store);
            let own = loose
                .pending
                .iter()
                .chain(&kept)
                .any(|w: &Pending| w.agent == agent && w.overlaps(*addr, *len));
            let chosen = agent == Agent::Host && loose.keep.contains(&n);
            let held = self.is_held(p, Moment::Cpu { agent, act: CpuAct::Store, n });
            if own || chosen || held {
                let content = self.memory.take(*addr, *len);
                kept.push(Pending { agent, n, addr: *addr, content });
            }
        }
        for w in &kept {
            let old = before.take(w.addr, w.content.len());
            self.memory.put_content(w.addr, old);
        }
        if let Some(loose) = &mut self.loose {
            loose.pending.extend(kept);
        }
    }

    /// The stretches of memory that an event of a CPU agent stores to, in order.
    pub(super) fn stores(&self, kind: &EventKind) -> Vec<(u64, u64)> {
        let bytes = DESC_BYTES as u64;
        let at =
            |id, dir, slot| self.index_of(id).map(|i| self.queues[i].ring(dir).slot_addr(slot));
        match *kind {
            EventKind::Stage { queue, tx, rx, .. } => [(Dir::Rx, rx), (Dir::Tx, tx)]
                .into_iter()
                .filter(|(_, taken)| taken.desc.is_some())
                .filter_map(|(dir, taken)| Some((at(queue, dir, taken.slot)?, bytes)))
                .collect(),
            EventKind::CopyIn { queue, dir, slot, count } => {
                at(queue, dir, slot).map(|a| (a, count.saturating_mul(bytes))).into_iter().collect()
            }
            EventKind::MarkerWrite { addr, .. } => vec![(addr, 4)],
            EventKind::Store { addr, len } => vec![(addr, len)],
            EventKind::Patch { at, .. } => vec![(at, 8)],
            _ => Vec::new(),
        }
    }

    /// Sets or clears the barriers of a schedule that a doorbell covers.
    pub(in crate::engine::ring) fn edit_barriers(&mut self, p: &Program, kind: &EventKind) {
        let EventKind::MmioWrite { engine, offset, value, lost: false } = *kind else { return };
        let Some((dir, queue)) =
            reg::name_at(offset).filter(|r| r.name == "drtp_inc").and_then(|r| r.queue)
        else {
            return;
        };
        let id = crate::engine::program::QueueId { engine, queue };
        let Some(i) = self.index_of(id) else { return };
        let q = &self.queues[i];
        let hw = *q.hw(dir);
        let end = q.earlier[ix(dir)] + hw.posted;
        let first = end - u64::from(value & crate::udma::reg::INDEX_MASK).min(hw.posted);
        for edit in &p.schedule.barriers {
            if edit.queue != id || edit.barrier.dir() != dir || !(first..end).contains(&edit.k) {
                continue;
            }
            let slot = hw.slot(edit.k - self.queues[i].earlier[ix(dir)]);
            let addr = hw.ring.slot_addr(slot);
            let mut bytes = [0; DESC_BYTES];
            self.memory.read(addr, &mut bytes);
            let desc = edit.barrier.put(Desc::from_bytes(&bytes), edit.on);
            self.memory.write(addr, &desc.to_bytes());
        }
    }
}
