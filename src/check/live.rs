//! The checks over the rings of a run, at whatever event it stands: for the screen.
//!
//! A ring is judged where nothing in it is half done, that is where all that was written is
//! posted too; between staging and doorbell half of a pair or of a chain may be missing. Rings
//! of a module are not judged (`docs/checks.md`): each of them is written lap over lap in its
//! own time.

use super::{Cursors, RingPair, RingView, run};
use crate::diag::render::place;
use crate::diag::{Diagnostic, Report};
use crate::engine::command::{Command, Info};
use crate::engine::edit::Change;
use crate::engine::expr::QueueRef;
use crate::engine::program::{Program, RingDecl};
use crate::engine::ring::queue::Queue;
use crate::engine::ring::{Machine, Memory};
use crate::engine::session::{Session, queue_of};
use crate::limits::MAX_LIVE_CHECK_SLOTS;
use crate::udma::{DESC_BYTES, Desc, Dir};

/// A ring as it lies in memory.
struct InMemory<'a> {
    memory: &'a Memory,
    ring: RingDecl,
}

impl RingView for InMemory<'_> {
    fn len(&self) -> u64 {
        self.ring.size
    }

    fn get(&self, index: u64) -> Option<Desc> {
        let mut one = [Desc::default()];
        (self.read(index, &mut one) == 1).then_some(one[0])
    }

    fn read(&self, first: u64, out: &mut [Desc]) -> usize {
        let left = usize::try_from(self.ring.size.saturating_sub(first)).unwrap_or(usize::MAX);
        let n = out.len().min(left);
        let mut bytes = vec![0; n * DESC_BYTES];
        if n > 0 {
            self.memory.read(self.ring.slot_addr(first), &mut bytes);
        }
        for (slot, b) in out.iter_mut().zip(bytes.as_chunks().0) {
            *slot = Desc::from_bytes(b);
        }
        n
    }
}

/// Whether nothing of a queue's rings is written and not posted.
fn at_rest(q: &Queue) -> bool {
    Dir::BOTH.into_iter().all(|d| q.sw(d).staged <= q.hw(d).posted)
}

/// Whether the user changed something in a queue's rings up to the present event: then what is
/// half done is judged too.
fn is_edited(p: &Program, m: &Machine, q: &Queue) -> bool {
    let ring = |d| (q.ring(d).base, q.ring(d).bytes());
    let in_ring = |addr: u64| {
        Dir::BOTH.into_iter().map(ring).any(|(base, len)| addr >= base && addr - base < len)
    };
    let done = p.edits.iter().take_while(|e| e.at <= m.n);
    done.into_iter().any(|e| matches!(e.change, Change::Store { addr, .. } if in_ring(addr)))
}

/// The findings of all checks in the rings of a run; none where they are too many slots to look
/// at after each step.
pub fn live(p: &Program, m: &Machine) -> Report {
    let mut report = Report::default();
    let slots = |q: &Queue| Dir::BOTH.into_iter().map(|d| q.ring(d).size).sum::<u64>();
    let total: u64 = m.queues.iter().map(slots).fold(0, u64::saturating_add);
    if p.module.is_some() || total > MAX_LIVE_CHECK_SLOTS {
        return report;
    }
    for q in &m.queues {
        // A program without a script is an image that is only looked at.
        if p.script.is_empty() || q.ready && at_rest(q) || is_edited(p, m, q) {
            report.extend(of_queue(p, m, q));
        }
    }
    report
}

/// The cursors of a queue's rings; none before it is initialised. What is copied in and not rung
/// may lie in any lap: of such a ring they say nothing.
pub fn cursors(q: &Queue) -> [Option<Cursors>; 2] {
    Dir::BOTH.map(|dir| {
        let (sw, first) = (q.sw(dir), q.hw(dir).first);
        let sure = q.decl.allocatable || sw.staged == q.hw(dir).posted;
        (q.ready && sure).then_some(Cursors {
            first: first.slot,
            ring_id: first.ring_id,
            written: sw.staged,
        })
    })
}

/// The findings of all checks in a queue's rings as they lie in memory.
fn of_queue(p: &Program, m: &Machine, q: &Queue) -> Report {
    let view = |d| q.decl.ring(d).map(|_| InMemory { memory: &m.memory, ring: q.ring(d) });
    let (tx, rx) = (view(Dir::Tx), view(Dir::Rx));
    run(RingPair {
        tx: tx.as_ref().map(|v| v as &dyn RingView),
        rx: rx.as_ref().map(|v| v as &dyn RingView),
        arch: p.arch,
        profile: p.profile,
        queue: Some((q.id().engine, q.id().queue)),
        start: None,
        cursors: cursors(q),
    })
}

fn line(d: &Diagnostic) -> String {
    format!("{}[{}] {}: {}", d.severity, d.code, place(&d.place), d.message)
}

/// The answer to `info checks`, which no session has: a queue's rings as they lie, at rest or not,
/// however large.
pub fn answer(s: &Session, command: &Command) -> Option<Vec<String>> {
    let Command::Info { what: Info::Checks, queue } = command else { return None };
    let id = queue_of(s, &queue.unwrap_or(QueueRef::Selected)).ok()?;
    let report = of_queue(s.program(), s.machine(), s.machine().queue(id)?);
    let mut lines: Vec<String> = report.items.iter().map(line).collect();
    for (code, n) in &report.dropped {
        lines.push(format!("{n} more of {code}"));
    }
    if lines.is_empty() {
        lines.push(format!("no check finds anything in the rings of {id}"));
    }
    Some(lines)
}

/// The answer to a command with what the checks say of the rings as they lie: `info faults`
/// lists that too, which no session knows.
pub fn with_checks(session: &Session, command: &Command, lines: Vec<String>) -> Vec<String> {
    if !matches!(command, Command::Info { what: Info::Faults, .. }) {
        return lines;
    }
    let found = live(session.program(), session.machine());
    if found.is_empty() {
        return lines;
    }
    let of_run = if session.machine().findings.is_empty() { Vec::new() } else { lines };
    of_run.into_iter().chain(found.items.iter().map(line)).collect()
}
