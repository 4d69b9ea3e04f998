//! The life of a slot, derived from the cursors (`docs/model.md`, "Life of a slot").

use super::event::Phase;
use super::queue::Queue;
use crate::engine::program::Program;
use crate::udma::Dir;
use crate::udma::ring::is_guard;

/// What a slot is at. Where several apply the first of this list is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Life {
    /// The engine faulted on it.
    Faulted,
    /// One of the sixteen just before `next_cdesc_idx`, never handed out.
    Guard,
    /// Its completion was acknowledged: free again.
    Acked,
    /// The engine is done with it.
    Retired,
    /// Its bytes are visible in memory.
    Visible,
    /// The engine holds it.
    Fetched,
    /// The engine was told of it.
    Posted,
    /// It was written, the doorbell not rung.
    Staged,
    /// It holds a descriptor of an earlier lap, or of before the initialisation.
    Stale,
    /// Nothing was ever put there.
    NeverWritten,
    /// It holds a descriptor, in a program of which nothing is run: nothing is known of its life.
    NotRun,
}

impl Life {
    /// All of them, in order of precedence.
    pub const ALL: [Life; 11] = [
        Life::Faulted,
        Life::Guard,
        Life::Acked,
        Life::Retired,
        Life::Visible,
        Life::Fetched,
        Life::Posted,
        Life::Staged,
        Life::Stale,
        Life::NeverWritten,
        Life::NotRun,
    ];

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Life::Faulted => "faulted",
            Life::Guard => "guard",
            Life::Acked => "acked",
            Life::Retired => "retired",
            Life::Visible => "visible",
            Life::Fetched => "fetched",
            Life::Posted => "posted",
            Life::Staged => "staged",
            Life::Stale => "stale",
            Life::NeverWritten => "-",
            Life::NotRun => "not run",
        }
    }

    /// A glyph, so that colour is never the only carrier.
    pub fn glyph(self, ascii: bool) -> char {
        match (self, ascii) {
            (Life::Faulted, false) => '✗',
            (Life::Faulted, true) => 'X',
            (Life::Guard, false) => '░',
            (Life::Guard, true) => '#',
            (Life::Acked, false) => '✓',
            (Life::Acked, true) => 'v',
            (Life::Retired, false) => '●',
            (Life::Retired, true) => '@',
            (Life::Visible, false) => '◉',
            (Life::Visible, true) => 'O',
            (Life::Fetched, false) => '◐',
            (Life::Fetched, true) => 'c',
            (Life::Posted, false) => '◦',
            (Life::Posted, true) => 'o',
            (Life::Staged, false) => '▪',
            (Life::Staged, true) => '+',
            (Life::Stale | Life::NeverWritten | Life::NotRun, false) => '·',
            (Life::Stale | Life::NeverWritten | Life::NotRun, true) => '.',
        }
    }

    /// The phase of the host's cycle to which it belongs, for colour.
    pub fn phase(self) -> Option<Phase> {
        match self {
            Life::Staged => Some(Phase::Stage),
            Life::Posted | Life::Fetched => Some(Phase::Doorbell),
            Life::Visible | Life::Retired => Some(Phase::Poll),
            Life::Acked => Some(Phase::Ack),
            Life::Faulted | Life::Guard | Life::Stale | Life::NeverWritten | Life::NotRun => None,
        }
    }
}

/// The life of slot `slot` in a run of `program`; [`Life::NotRun`] where there is none.
pub fn of_program(program: &Program, queue: &Queue, dir: Dir, slot: u64, written: bool) -> Life {
    match of(queue, dir, slot, written) {
        Life::Stale if !program.is_run() => Life::NotRun,
        life => life,
    }
}

/// The life of slot `slot`; `written` says whether its memory holds anything but zeroes.
pub fn of(queue: &Queue, dir: Dir, slot: u64, written: bool) -> Life {
    let sw = queue.sw(dir);
    let hw = queue.hw(dir);
    if queue.faulted == Some((dir, slot)) {
        return Life::Faulted;
    }
    let size = u64::from(sw.size);
    if size == 0 || !queue.ready {
        return if written { Life::Stale } else { Life::NeverWritten };
    }
    // The newest use of the slot: the largest k below the total whose slot it is.
    let nth = (slot + size - queue.decl.start(dir).slot % size) % size;
    let newest = |total: u64| {
        let lap = total.checked_sub(nth + 1)? / size;
        Some(lap * size + nth)
    };
    let k = newest(sw.staged.max(hw.posted));
    // Slots of a ring authored elsewhere are never handed out, so they have no guard.
    if queue.decl.allocatable && is_guard(size, u64::from(sw.next_cdesc_idx), slot) {
        return Life::Guard;
    }
    match k {
        None if written => Life::Stale,
        None => Life::NeverWritten,
        Some(k) if k < sw.acked => Life::Acked,
        Some(k) if k < hw.retired => Life::Retired,
        Some(k) if queue.is_visible(dir, k) => Life::Visible,
        Some(k) if k < hw.fetched => Life::Fetched,
        Some(k) if k < hw.posted => Life::Posted,
        // Copied in as part of a ring, but empty there.
        Some(_) if !written => Life::NeverWritten,
        Some(_) => Life::Staged,
    }
}
