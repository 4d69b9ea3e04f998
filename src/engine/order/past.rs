//! What lies before an event, as counts.
//!
//! The fetches of a direction, the reads of a queue and the steps of a CPU agent are chains:
//! how many of a chain lie before an event says which. The writes of a queue are no chain; of
//! them a count stands for all below it, and single ones are marked in their own records.

use imbl::OrdMap;

/// How much of one queue lies before an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct QueuePast {
    /// Fetches of Tx and of Rx.
    pub fetched: [u64; 2],
    /// Reads of Tx descriptors' bytes.
    pub read: u64,
    /// All writes of Rx descriptors below this one.
    pub visible: u64,
}

impl QueuePast {
    /// Both of them.
    pub fn join(&mut self, other: QueuePast) {
        self.fetched[0] = self.fetched[0].max(other.fetched[0]);
        self.fetched[1] = self.fetched[1].max(other.fetched[1]);
        self.read = self.read.max(other.read);
        self.visible = self.visible.max(other.visible);
    }
}

/// How much of one CPU agent lies before an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuPast {
    /// Stores. A fence is what lets them count.
    pub stores: u64,
    /// Polls, doorbells and other steps that others can follow.
    pub steps: u64,
}

/// What lies before an event, outside the queue or agent whose event it is.
#[derive(Debug, Clone, Default)]
pub struct Past {
    queues: OrdMap<u32, QueuePast>,
    cpus: OrdMap<u32, CpuPast>,
}

impl Past {
    /// Of a queue.
    pub fn queue(&self, queue: u32) -> QueuePast {
        self.queues.get(&queue).copied().unwrap_or_default()
    }

    /// Of a CPU agent.
    pub fn cpu(&self, cpu: u32) -> CpuPast {
        self.cpus.get(&cpu).copied().unwrap_or_default()
    }

    /// This much of a queue as well.
    pub fn join_queue(&mut self, queue: u32, more: QueuePast) {
        let mut all = self.queue(queue);
        all.join(more);
        self.queues.insert(queue, all);
    }

    /// This much of a CPU agent as well.
    pub fn join_cpu(&mut self, cpu: u32, more: CpuPast) {
        let old = self.cpu(cpu);
        let all = CpuPast { stores: old.stores.max(more.stores), steps: old.steps.max(more.steps) };
        self.cpus.insert(cpu, all);
    }

    /// All of another past as well.
    pub fn join(&mut self, other: &Past) {
        for (queue, more) in &other.queues {
            self.join_queue(*queue, *more);
        }
        for (cpu, more) in &other.cpus {
            self.join_cpu(*cpu, *more);
        }
    }
}
