//! Lints of a queue's rings as they lie in the memory of a state: what `check` says of a file,
//! at every stop (`docs/checks.md`, `docs/whatif.md`).

use crate::check::{self, RingPair, RingView};
use crate::diag::render::place;
use crate::diag::{Diagnostic, Report, Severity};
use crate::engine::command::{Command, Info};
use crate::engine::expr::QueueRef;
use crate::engine::program::{Program, QueueId, RingDecl};
use crate::engine::ring::{Machine, Memory};
use crate::engine::session::{Session, queue_of};
use crate::limits::MAX_LINTED_SLOTS;
use crate::udma::{DESC_BYTES, Desc, Dir};

/// A ring in the memory of a state.
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
        self.memory.read(self.ring.slot_addr(first), &mut bytes);
        for (d, b) in out.iter_mut().zip(bytes.as_chunks().0) {
            *d = Desc::from_bytes(b);
        }
        n
    }
}

/// Everything that the lints find in a queue's rings; of rings with more than `most` slots
/// nothing, and a note that says so.
pub fn of_queue(p: &Program, m: &Machine, id: QueueId, most: u64) -> Report {
    let Some(q) = m.queue(id) else { return Report::default() };
    let ring = |dir| q.decl.ring(dir).map(|_| InMemory { memory: &m.memory, ring: q.ring(dir) });
    let (tx, rx) = (ring(Dir::Tx), ring(Dir::Rx));
    let longest = [&tx, &rx].into_iter().flatten().map(|r| r.len()).max().unwrap_or(0);
    if longest > most {
        let text = format!("rings of {longest} slots are not linted at every stop");
        let d = Diagnostic::new("D025", text).severity(Severity::Note);
        return d.help("`info checks` lints them now").into();
    }
    check::run(RingPair {
        tx: tx.as_ref().map(|r| r as &dyn RingView),
        rx: rx.as_ref().map(|r| r as &dyn RingView),
        arch: p.arch,
        profile: p.profile,
        queue: Some((id.engine, id.queue)),
        start: None,
    })
}

/// Lints of the selected queue for the screen, which shows them at every stop.
pub fn at_stop(s: &Session) -> Vec<Diagnostic> {
    let of = |id| of_queue(s.program(), s.machine(), id, MAX_LINTED_SLOTS);
    s.selected().map(of).unwrap_or_default().items
}

/// The answer to `info checks`, which no session has.
pub fn answer(s: &Session, command: &Command) -> Option<Vec<String>> {
    let Command::Info { what: Info::Checks, queue } = command else { return None };
    let id = queue_of(s, &queue.unwrap_or(QueueRef::Selected)).ok()?;
    let report = of_queue(s.program(), s.machine(), id, u64::MAX);
    let line =
        |d: &Diagnostic| format!("{}[{}] {}: {}", d.severity, d.code, place(&d.place), d.message);
    let mut lines: Vec<String> = report.items.iter().map(line).collect();
    for (code, n) in &report.dropped {
        lines.push(format!("{n} more of {code}"));
    }
    if lines.is_empty() {
        lines.push(format!("no lint finds anything in the rings of {id}"));
    }
    Some(lines)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::engine::program::{Fill, QueueDecl, Region, RegionKind, Start};
    use crate::udma::{Generation, Profile};

    #[test]
    fn a_ring_is_linted_as_it_lies_in_memory_and_not_beyond_the_bound() {
        let mut p = Program::new(Generation::V3, Profile::default_profile());
        let id = QueueId { engine: 128, queue: 0 };
        let ring = |base| Some(RingDecl { base, size: 64 });
        let (tx, rx) = (ring(0x1000), ring(0x2000));
        let first = [Start::FRESH; 2];
        p.queues.push(QueueDecl { id, tx, rx, allocatable: true, marker_area: 0, first });
        let (name, kind) = ("memory".to_owned(), RegionKind::Device);
        p.regions.push(Region { name, kind, base: 0x8000, len: 64, fill: Fill::Zero });
        let mut m = Machine::new(&p);
        assert!(of_queue(&p, &m, id, 64).items.is_empty());
        // A reserved bit in the last slot.
        m.memory.write(0x1000 + 63 * 16 + 2, &[1]);
        let found = of_queue(&p, &m, id, 64).items;
        assert!(found.iter().any(|d| d.code == "D010" && d.place.slot.unwrap().index == 63));
        let bounded = of_queue(&p, &m, id, 63).items;
        assert_eq!((bounded.len(), bounded[0].severity), (1, Severity::Note));
        let other = QueueId { engine: 0, queue: 0 };
        assert!(of_queue(&p, &m, other, 64).items.is_empty());
    }
}
