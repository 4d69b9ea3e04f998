//! What flipping one bit of a descriptor would do: what the checks would say of the rings, and what
//! the run would do from here on (`docs/screen.md`, "A bit flipped").
//!
//! Nothing is changed. The run goes on twice on copies, with the bit flipped and without, for a
//! bounded number of events; what differs is told.

use super::live;
use crate::diag::Diagnostic;
use crate::engine::diff::{MemoryChange, between};
use crate::engine::edit::{Change, Edit};
use crate::engine::program::{Blob, Program, QueueId};
use crate::engine::ring::Machine;
use crate::engine::session::Session;
use crate::limits::{MAX_FLIP_BYTES, MAX_FLIP_EVENTS};
use crate::udma::{DESC_BYTES, Desc, Dir, Word, count_of};

/// Which bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bit {
    /// Queue.
    pub queue: QueueId,
    /// Ring.
    pub dir: Dir,
    /// Slot.
    pub slot: u64,
    /// Word.
    pub word: Word,
    /// Bit of the word.
    pub bit: u8,
}

/// What flipping a bit would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Flip {
    /// The descriptor as it is.
    pub from: Desc,
    /// As it would be.
    pub to: Desc,
    /// Findings of the checks that would come.
    pub found: Vec<Diagnostic>,
    /// Findings of the checks that would go.
    pub gone: Vec<Diagnostic>,
    /// The engine works with a copy that it has fetched (MODEL).
    pub fetched: bool,
    /// What the run would do; nothing where the program cannot be run.
    pub run: Option<Ahead>,
}

/// Two runs from the same event on, without the flip and with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ahead {
    /// Findings that only the run without the flip makes.
    pub gone: Vec<Diagnostic>,
    /// Findings that only the run with the flip makes.
    pub found: Vec<Diagnostic>,
    /// The number of the last event of each, where it came to its end within the bound.
    pub ends: [Option<u64>; 2],
    /// Batches whose marker was waited for in vain.
    pub timeouts: [u64; 2],
    /// Events up to which both were run.
    pub upto: u64,
    /// Memory that is another then, rings and markers left out.
    pub memory: Vec<MemoryChange>,
    /// Not all memory was compared.
    pub bounded: bool,
}

impl Ahead {
    /// Nothing differs that the program is run for, as far as both were run.
    pub fn is_same(&self) -> bool {
        self.gone.is_empty()
            && self.found.is_empty()
            && self.ends[0].is_some() == self.ends[1].is_some()
            && self.timeouts[0] == self.timeouts[1]
            && self.memory.is_empty()
            && !self.bounded
    }

    /// In words, a clause each: the weightiest first.
    pub fn words(&self) -> Vec<String> {
        let mut out = Vec::new();
        let told = |d: &Diagnostic| {
            let at = d.place.event.map(|n| format!("event {n}: ")).unwrap_or_default();
            format!("{at}{}[{}] {}", d.severity, d.code, d.message)
        };
        let more = |n: usize| if n > 1 { format!(" (and {} more)", n - 1) } else { String::new() };
        if let Some(d) = self.found.first() {
            out.push(format!("found at {}{}", told(d), more(self.found.len())));
        }
        if let Some(d) = self.gone.first() {
            out.push(format!("no more found: {}{}", told(d), more(self.gone.len())));
        }
        let [a, b] = self.timeouts;
        if a != b {
            out.push(format!("waits that run out: {b} instead of {a}"));
        }
        match self.ends {
            [Some(a), Some(b)] if a != b => out.push(format!("ends at event {b} instead of {a}")),
            [Some(a), None] => {
                out.push(format!("is not over by event {}, where it ended at {a}", self.upto));
            }
            [None, Some(b)] => {
                out.push(format!("ends at event {b}, where it goes on past {}", self.upto));
            }
            _ => {}
        }
        let bytes: u64 = self.memory.iter().map(|m| m.count).sum();
        if let Some(m) = self.memory.first() {
            let s = if bytes == 1 { "" } else { "s" };
            let at = format!("{}+{:#x}", m.name, m.offset);
            let [was, is] = m.cells;
            let places = match self.memory.len() {
                1 => String::new(),
                n => format!(" in {n_regions}", n_regions = count_of(n, "region")),
            };
            out.push(format!(
                "{bytes} byte{s} of memory differ{places}, the first at {at}: {is} instead of {was}"
            ));
        }
        if out.is_empty() {
            let upto = match self.ends {
                [Some(_), Some(_)] => "up to its end".to_owned(),
                _ => format!("up to event {}", self.upto),
            };
            out.push(format!("goes on as without the flip, {upto}"));
        } else if self.ends == [None, None] {
            out.push(format!("looked at up to event {}", self.upto));
        }
        if self.bounded {
            out.push("not all memory was compared".to_owned());
        }
        out
    }
}

/// Works out what flipping a bit of a descriptor in a ring would do.
///
/// # Errors
/// Why the bit cannot be flipped, in words.
pub fn flip(session: &Session, at: Bit) -> Result<Flip, String> {
    let p = session.program();
    let m = session.machine();
    let q = m.queue(at.queue).ok_or("there is no such queue")?;
    let ring = q.ring(at.dir);
    if at.slot >= ring.size || at.bit >= at.word.bits() {
        return Err("there is no such bit".to_owned());
    }
    let addr = ring.slot_addr(at.slot);
    let mut bytes = [0; DESC_BYTES];
    m.memory.read(addr, &mut bytes);
    let from = Desc::from_bytes(&bytes);
    let to = from.with_word(at.word, from.word(at.word) ^ 1 << at.bit);
    let (start, n) = (at.word.offset(), at.word.bytes());
    let stored = to.to_bytes()[start..start + n].to_vec();
    let change = Change::Store { addr: addr + start as u64, bytes: Blob::from_vec(stored) };
    m.can_edit(p, &change)?;
    let mut edits = p.edits[..p.edits.partition_point(|e| e.at <= m.n)].to_vec();
    edits.push(Edit { at: m.n, change: change.clone() });
    let edited = Program { edits, ..(**p).clone() };
    let mut flipped = m.clone();
    flipped.edit(&edited, &change);
    let (gone, found) = apart(live(p, m).items, live(&edited, &flipped).items);
    let held = match at.dir {
        Dir::Tx => &q.packet.tx,
        Dir::Rx => &q.packet.rx,
    };
    let fetched = held.iter().any(|x| q.hw(at.dir).slot(x.k) == at.slot);
    let run = session.can_step().then(|| ahead((p, m.clone()), (&edited, flipped)));
    Ok(Flip { from, to, found, gone, fetched, run })
}

fn ahead((p, mut a): (&Program, Machine), (q, mut b): (&Program, Machine)) -> Ahead {
    let (n, known) = (a.n, [a.findings.len(), b.findings.len()]);
    let upto = n.saturating_add(MAX_FLIP_EVENTS);
    let to_end = |p: &Program, m: &mut Machine| {
        while m.n < upto {
            if m.step(p).is_none() {
                return Some(m.n);
            }
        }
        m.at_end(p).then_some(m.n)
    };
    let ends = [to_end(p, &mut a), to_end(q, &mut b)];
    let made = |m: &Machine, known: usize| m.findings.iter().skip(known).cloned().collect();
    let (gone, found) = apart(made(&a, known[0]), made(&b, known[1]));
    let (memory, bounded) = between(p, &a.memory, &b.memory, MAX_FLIP_BYTES);
    let timeouts = [a.timeouts(), b.timeouts()];
    Ahead { gone, found, ends, timeouts, upto, memory, bounded }
}

/// What only the first holds, and what only the second; the same thing found at another event is
/// the same.
fn apart(a: Vec<Diagnostic>, b: Vec<Diagnostic>) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let key = |d: &Diagnostic| (d.code, d.place.slot, d.message.clone());
    let mut rest: Vec<Option<Diagnostic>> = b.into_iter().map(Some).collect();
    let mut only = Vec::new();
    for d in a {
        let twin = rest.iter_mut().find(|x| x.as_ref().is_some_and(|x| key(x) == key(&d)));
        match twin {
            Some(x) => *x = None,
            None => only.push(d),
        }
    }
    (only, rest.into_iter().flatten().collect())
}
