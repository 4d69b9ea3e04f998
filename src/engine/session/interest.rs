//! Which events may matter to a question: the footprint by which a search skips stretches and
//! leaps (`docs/timeline.md`, "Footprints").
//!
//! An answer of "no" is a promise: no event of the stretch answers the question with yes or with
//! an error. "Yes" promises nothing. Where nothing better is known, [`Interest::Every`].

use super::Session;
use super::eval::queue_of;
use super::range::{Over, Value};
use super::span::{Happened, Span, Touched};
use super::stops::Area;
use crate::engine::command::{Command, Unit, Who};
use crate::engine::expr::{Expr, QueueRef};
use crate::engine::program::QueueId;
use crate::engine::ring::Machine;
use crate::engine::ring::queue::Queue;
use crate::udma::Dir;

/// So many addresses are looked for ahead of a leap.
const MAX_PLACES: usize = 8;

/// The events that may matter.
#[derive(Debug, Clone)]
pub enum Interest {
    /// Any.
    Every,
    /// None.
    Never,
    /// Those that matter to one of them.
    Any(Vec<Interest>),
    /// Those that matter to each of them.
    All(Vec<Interest>),
    /// Those among which something of this happened.
    Happened(Happened),
    /// Pairs that retire; of one queue, or of any.
    Retires(Option<QueueId>),
    /// The phase changes.
    Phase,
    /// A batch times out.
    Timeout,
    /// A slot is touched: queue, ring, first and last.
    Slots(QueueId, Dir, u64, u64),
    /// Bytes are accessed: which, and whether reads or writes of them matter.
    Bytes {
        /// The bytes.
        area: Area,
        /// Reads do.
        reads: bool,
        /// Writes do.
        writes: bool,
    },
    /// The first event of this batch, of any queue.
    Opens(u64),
    /// This event.
    Event(u64),
    /// Events after this one.
    After(u64),
    /// The expression is not zero afterwards.
    Holds(Expr),
}

/// A stretch of events as a question sees it.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The session that asks.
    pub session: &'a Session,
    /// The state before its first event.
    pub start: &'a Machine,
    /// The state after its last.
    pub end: &'a Machine,
    /// What is known of it.
    pub span: &'a Span,
}

/// Whether slots `first..=last` meet those of the descriptors `from..to` of a ring of `size`.
fn meets(size: u64, (from, to): (u64, u64), (first, last): (u64, u64)) -> bool {
    if to <= from || size == 0 {
        return false;
    }
    if to - from >= size {
        return true;
    }
    let (a, b) = (from % size, (to - 1) % size);
    if a <= b { first <= b && a <= last } else { a <= last || first <= b }
}

fn touches(start: &Queue, end: &Queue, dir: Dir, slots: (u64, u64)) -> bool {
    let (sw, hw) = (start.sw(dir), start.hw(dir));
    if sw.size == 0 || hw.ring != end.hw(dir).ring || end.sw(dir).staged < sw.staged {
        return true;
    }
    // A refused pair names the slot that it would have taken.
    let next = u64::from(sw.next_desc_idx);
    let staged = (next, next + (end.sw(dir).staged - sw.staged) + 1);
    let first = hw.first.slot.checked_rem(hw.ring.size).unwrap_or(0);
    let worked = (first + hw.retired, first.saturating_add(end.hw(dir).fetched));
    meets(u64::from(sw.size), staged, slots) || meets(hw.ring.size, worked, slots)
}

fn accessed(of: &Touched, area: Area) -> bool {
    // A stretch ends before its last address can.
    area.reaches(u64::MAX) || of.list().iter().any(|(from, to)| area.meets((*from, to - from)))
}

impl Interest {
    /// Whether an event of the stretch may matter.
    pub fn may(&self, look: Look<'_>) -> bool {
        let Look { start, end, span, .. } = look;
        let happened = |what| span.happened.intersects(what);
        match self {
            Interest::Every => true,
            Interest::Never => false,
            Interest::Any(of) => of.iter().any(|i| i.may(look)),
            Interest::All(of) => of.iter().all(|i| i.may(look)),
            Interest::Event(n) => start.n < *n && *n <= end.n,
            Interest::After(n) => end.n > *n,
            // Where edits or another order had a hand in it, not all is told of a stretch.
            _ if !look.session.program().schedule.is_calm() => true,
            _ if happened(Happened::ODD) && !look.session.program().edits.is_empty() => true,
            Interest::Happened(what) => happened(*what),
            Interest::Bytes { area, reads, writes } => {
                *reads && accessed(&span.reads, *area) || *writes && accessed(&span.writes, *area)
            }
            Interest::Opens(n) => {
                let begun = start.queues.iter().zip(&end.queues);
                begun.into_iter().any(|(a, b)| a.begun < *n && *n <= b.begun)
            }
            Interest::Timeout => start.timeouts() != end.timeouts(),
            // Cursors and what hangs on them may have been set anew.
            _ if happened(Happened::ODD) => true,
            Interest::Retires(queue) => {
                let retired = |m: &Machine, id| m.queue(id).map(|q| q.hw(Dir::Tx).retired);
                let rx = |m: &Machine, id| m.queue(id).map(|q| q.hw(Dir::Rx).retired);
                happened(Happened::RETIRE)
                    && queue.is_none_or(|id| {
                        retired(start, id) != retired(end, id) || rx(start, id) != rx(end, id)
                    })
            }
            Interest::Phase if span.one_leap => start.phase() != end.phase(),
            Interest::Phase => happened(Happened::HOST | Happened::SEQ) || !end.seqs.is_empty(),
            Interest::Slots(id, dir, first, last) => {
                let of = |m: &Machine| m.index_of(*id);
                match (of(start), of(end)) {
                    (Some(a), Some(b)) => {
                        happened(Happened::ODD_SLOT)
                            || touches(&start.queues[a], &end.queues[b], *dir, (*first, *last))
                    }
                    _ => false,
                }
            }
            Interest::Holds(e) => match Over::new(look).value(e) {
                Value::Of(_, greatest) => greatest > 0,
                Value::None => false,
                Value::Unsure => true,
            },
        }
    }

    /// Addresses that a search comes to sooner when it knows where they are written next: those
    /// of single slots, markers and words. Only for guessing how far a leap may go.
    pub(super) fn places(&self, s: &Session) -> Vec<u64> {
        let mut out = Vec::new();
        self.add_places(s, &mut out);
        // Where many are asked about one of them is always near.
        if out.len() > MAX_PLACES { Vec::new() } else { out }
    }

    fn add_places(&self, s: &Session, out: &mut Vec<u64>) {
        let slot = |id, dir: Dir, slot| s.machine.queue(id).map(|q| q.ring(dir).slot_addr(slot));
        match self {
            Interest::Any(of) | Interest::All(of) => of.iter().for_each(|i| i.add_places(s, out)),
            Interest::Slots(id, dir, first, last) if first == last => {
                out.extend(slot(*id, *dir, *first));
            }
            Interest::Bytes { area, writes: true, .. } => out.push(area.addr),
            Interest::Holds(e) => e.each(&mut |e| {
                let queue = |q: &QueueRef| queue_of(s, q).ok();
                let marker = |id| s.machine.queue(id).map(|q| q.marker.saturating_add(4));
                out.extend(match e {
                    Expr::Slot { queue: q, dir, index, .. } => match **index {
                        Expr::Num(index) => queue(q).and_then(|id| slot(id, *dir, index)),
                        _ => None,
                    },
                    Expr::Mem { addr, .. } => match **addr {
                        Expr::Num(addr) => Some(addr),
                        _ => None,
                    },
                    Expr::Name(name) if name == "marker" => s.selected().and_then(marker),
                    Expr::Queue { queue: q, path } if *path == ["marker"] => {
                        queue(q).and_then(marker)
                    }
                    _ => None,
                });
            }),
            _ => {}
        }
    }

    /// Whether it can never say no.
    pub fn is_every(&self) -> bool {
        match self {
            Interest::Every => true,
            Interest::Any(of) => of.iter().any(Interest::is_every),
            Interest::All(of) => of.iter().all(Interest::is_every),
            _ => false,
        }
    }

    /// Of a verb that moves.
    pub(super) fn of_verb(s: &Session, command: &Command) -> Interest {
        let mine = s.selected();
        match command {
            Command::Step { unit, who, .. } => {
                let who = match who {
                    Who::Any => Interest::Every,
                    Who::Host => Interest::Happened(Happened::HOST),
                    Who::Engine => Interest::Happened(Happened::ENGINE),
                    Who::Seq => Interest::Happened(Happened::SEQ),
                };
                let unit = match unit {
                    Unit::Event => Interest::Every,
                    Unit::Slot | Unit::Packet => Interest::Retires(mine),
                    Unit::Phase => Interest::Phase,
                    Unit::Batch => Interest::of_batch(),
                };
                Interest::All(vec![who, unit])
            }
            Command::Next { .. } => Interest::Phase,
            Command::Finish { .. } => Interest::of_batch(),
            Command::Doorbell { .. } => Interest::Happened(Happened::BELL),
            Command::Until { expr, .. } => Interest::Holds(expr.clone()),
            Command::Continue { .. } => Interest::Never,
            _ => Interest::Every,
        }
    }

    /// The end of a batch: its ack, or its timeout.
    fn of_batch() -> Interest {
        Interest::Any(vec![Interest::Happened(Happened::ACK), Interest::Timeout])
    }
}
