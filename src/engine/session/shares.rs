//! What is used up of what there is: slots of rings, reads of a poll, descriptors of a batch, and
//! what the blocks of a module take (`docs/screen.md`, "The budget").

use super::Session;
use crate::bir::Pos;
use crate::engine::budget::{Budget, DRIVER_BATCH};
use crate::engine::program::QueueId;
use crate::engine::ring::queue::Queue;
use crate::limits::MAX_RING_DESCS;
use crate::udma::ring::GUARD_GAP;
use crate::udma::{Dir, count_of};

/// What a share is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShareOf {
    /// Slots of a ring that are not free, of those that are ever handed out.
    Slots(QueueId, Dir),
    /// Descriptors that are posted and not retired, of the slots of a ring that the driver does
    /// not hand out.
    Posted(QueueId, Dir),
    /// Reads that a poll has made, of those that it may make: of a queue, where it is known.
    Polls(Option<QueueId>),
    /// Descriptors of the pending batch of a queue, of the largest that the driver makes.
    Batch(QueueId),
    /// Slots that all blocks of a module's queue take, of the largest ring.
    Queue(QueueId, String),
    /// The slots of the largest block of a module's queue, of the driver's largest batch.
    Block(QueueId, String),
    /// Descriptors that an instruction comes to, of those of the module.
    Inst(Pos, String),
}

/// So much of so much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// What.
    pub of: ShareOf,
    /// How much is used.
    pub used: u64,
    /// How much there is; never 0.
    pub all: u64,
    /// More than there is cannot be.
    pub bound: bool,
    /// What else is to be said.
    pub words: String,
}

impl Share {
    fn new(of: ShareOf, (used, all): (u64, u64), words: String) -> Share {
        Share { of, used, all: all.max(1), bound: true, words }
    }

    /// In thousandths, more than 1000 where more is used than there is.
    pub fn thousandths(&self) -> u64 {
        let n = u128::from(self.used) * 1000 / u128::from(self.all);
        u64::try_from(n).unwrap_or(u64::MAX)
    }

    /// The queue that it is about.
    pub fn queue(&self) -> Option<QueueId> {
        match &self.of {
            ShareOf::Slots(id, _)
            | ShareOf::Posted(id, _)
            | ShareOf::Batch(id)
            | ShareOf::Queue(id, _)
            | ShareOf::Block(id, _) => Some(*id),
            ShareOf::Polls(id) => *id,
            ShareOf::Inst(..) => None,
        }
    }
}

/// Slots of a ring that are handed out at most.
fn handed_out(size: u64) -> u64 {
    size.saturating_sub(u64::from(GUARD_GAP))
}

impl Session {
    /// The shares, worst first; those of the module, where its budget is given.
    pub fn shares(&self, budget: Option<&Budget>) -> Vec<Share> {
        let mut out: Vec<Share> = Vec::new();
        for q in &self.machine().queues {
            rings(q, &mut out);
        }
        self.polls(&mut out);
        if let Some(budget) = budget {
            self.module_shares(budget, &mut out);
        }
        // What is bounded comes before what only tells who spends most.
        out.sort_by_key(|s| (!s.bound, std::cmp::Reverse(s.thousandths())));
        out
    }

    fn polls(&self, out: &mut Vec<Share>) {
        let m = self.machine();
        // The host's state stands apart from that of the sequencers.
        let all = m.seqs.iter().map(|s| (Some(s.engine), &s.host)).chain([(None, &m.host)]);
        for (engine, host) in all {
            let Some(poll) = host.poll else { continue };
            let made = poll.told + poll.untold;
            let mut queues = m.queues.iter();
            let queue = match poll.idle_of {
                Some(k) => m.queues.get(k).map(Queue::id),
                None => queues.find(|q| q.marker.wrapping_add(4) == poll.addr).map(Queue::id),
            };
            let who = engine.map_or_else(|| "the host".to_owned(), |e| e.to_string());
            let words = format!("{who} waits; the batch is given up after the last read");
            let all = made.saturating_add(poll.left);
            out.push(Share::new(ShareOf::Polls(queue), (made, all), words));
        }
    }

    fn module_shares(&self, budget: &Budget, out: &mut Vec<Share>) {
        let Some(run) = &self.program().module else { return };
        for q in &budget.queues {
            let Some(id) = run.queue(&q.name).map(|d| d.id) else { continue };
            let mut words = format!(
                "{}, {} tx, {} rx, {} of rings",
                count_of(q.blocks, "block"),
                q.spent.tx,
                q.spent.rx,
                count_of(q.spent.ring_bytes(), "byte")
            );
            if q.too_deep > 0 {
                words.push_str(&format!("; {} deeper than the ring of their kind", q.too_deep));
            }
            let of = ShareOf::Queue(id, q.name.to_string());
            out.push(Share::new(of, (q.spent.slots(), MAX_RING_DESCS), words));
            if let Some(b) = &q.largest {
                let words = format!("{} beyond it; with the completion pair", q.beyond_batch);
                let of = ShareOf::Block(id, format!("{} {}", q.name, b.name));
                out.push(Share::new(of, (b.spent.slots() + 1, DRIVER_BATCH), words));
            }
        }
        let all = budget.all.tx + budget.all.rx;
        for s in &budget.spenders {
            let words = format!(
                "{} tx, {} rx, {}",
                s.spent.tx,
                s.spent.rx,
                count_of(s.spent.bytes, "byte")
            );
            let used = s.spent.tx + s.spent.rx;
            let of = ShareOf::Inst(s.pos, s.text.clone());
            out.push(Share { bound: false, ..Share::new(of, (used, all), words) });
        }
    }
}

fn rings(q: &Queue, out: &mut Vec<Share>) {
    let id = q.id();
    for dir in Dir::BOTH {
        let (sw, hw) = (q.sw(dir), q.hw(dir));
        if q.ring(dir).size == 0 {
            continue;
        }
        let size = q.ring(dir).size;
        let waiting = hw.posted.saturating_sub(hw.retired);
        let visible = hw.visible.saturating_sub(sw.acked);
        if q.decl.allocatable && sw.size.is_power_of_two() {
            let free = u64::from(sw.free());
            let most = handed_out(size);
            let words = format!(
                "{free} free, {waiting} posted, {visible} visible, {} guard of {size}",
                size - most
            );
            out.push(Share::new(ShareOf::Slots(id, dir), (most.saturating_sub(free), most), words));
        } else {
            let words = format!("{waiting} posted, {visible} visible; the driver hands none out");
            out.push(Share::new(ShareOf::Posted(id, dir), (waiting, size), words));
        }
    }
    let posted = q.hw(Dir::Tx).posted.saturating_sub(q.hw(Dir::Tx).retired);
    let staged = q.sw(Dir::Tx).staged.saturating_sub(q.hw(Dir::Tx).posted);
    if q.decl.allocatable && (posted > 0 || staged > 0) {
        let words = format!("{staged} staged, {posted} posted; the driver's largest batch");
        out.push(Share::new(ShareOf::Batch(id), (staged.max(posted), DRIVER_BATCH), words));
    }
}
