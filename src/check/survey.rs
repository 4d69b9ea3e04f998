//! What a ring's slots are known to be without a look at each: a survey of an image in chunks.
//!
//! Most of a large image is regular: copies, one descriptor a packet, one phase over thousands
//! of slots. A chunk of which every slot is such is *calm*; one whose slots are all zero is
//! *empty*; every other is *odd*. A check passes over what is not odd as its own rules allow
//! and looks at the slots of an odd chunk one by one. The plain twin is the same run without a
//! survey: every chunk is odd. Tests compare the two.
//!
//! Whether a chunk is calm is asked twice. `regular` judges what all of its slots have in common
//! ([`wide`]) and may be wrong in one direction only: what it calls regular is calm. Where it does
//! not, each slot is asked by the rules of the checks themselves.

use super::pairs::{self, MARKER_BYTES};
use super::wide::{self, Beside, LENGTH, Seen, less_one};
use super::{RingPair, operations, ranges, sentinels};
use crate::limits::SURVEY_CHUNK;
use crate::udma::describe::named;
use crate::udma::lanes::desc;
use crate::udma::template::TEMPLATE_BIT;
use crate::udma::{Desc, Dir, Field, Generation, Rows, View, notes};

/// Slots of a chunk.
pub const CHUNK: u64 = SURVEY_CHUNK;

/// Chunks that are told of as one: few enough that to look for the end of them costs little, should
/// somebody go on by one chunk only.
const RUN: usize = 64;

/// What is known of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Nothing: look at its slots.
    #[default]
    Odd,
    /// Every slot is zero.
    Empty,
    /// No check has anything to say of any slot by itself.
    Calm,
}

/// A chunk of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Chunk {
    /// What it is. The rest is about calm ones.
    pub kind: Kind,
    /// The phase of each of its slots.
    pub phase: u8,
    /// Each slot carries FIRST and LAST; else (Rx only) none carries a flag of a packet.
    pub flags: bool,
    /// Tx: the chunk of the same slots of the Rx ring is calm too, each slot takes as many
    /// bytes as is sent from here, and no pair of four bytes is remarkable.
    pub paired: bool,
    /// Its first slot and the last one of the chunk before it do not overlap (Rx; always in Tx).
    pub follows: bool,
    /// Bytes of its descriptors.
    pub bytes: u64,
}

impl Chunk {
    /// What may be said of it and of the one behind it may be said of both as one.
    fn goes_on(&self, next: &Chunk) -> bool {
        (self.kind, self.phase, self.flags, self.paired)
            == (next.kind, next.phase, next.flags, next.paired)
            && (next.follows || next.kind == Kind::Empty)
    }
}

/// The first of some chunks together with those that go on with it, at most `RUN`: how many,
/// and what they are as one.
pub fn run(chunks: &[Chunk]) -> Option<(u64, Chunk)> {
    let (first, rest) = chunks.split_first()?;
    let mut run = *first;
    let rest = rest.iter().take(RUN - 1).take_while(|next| first.goes_on(next));
    let count = 1 + rest.map(|next| run.bytes += next.bytes).count();
    Some((count as u64, run))
}

/// The chunks of the rings of a queue, as far as they were looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    chunks: [Vec<Chunk>; 2],
}

impl Survey {
    /// Of how many chunks the longer ring consists.
    pub fn chunks_of(pair: &RingPair<'_>) -> u64 {
        let longest = Dir::BOTH.iter().filter_map(|d| pair.ring(*d)).map(|r| r.len()).max();
        longest.unwrap_or(0).div_ceil(CHUNK)
    }

    /// Surveys both rings.
    pub fn of(pair: &RingPair<'_>) -> Survey {
        Survey::part(pair, 0, Survey::chunks_of(pair))
    }

    /// Surveys the chunks from `from` up to `to`; parts that follow each other are put
    /// together with [`Survey::append`].
    pub fn part(pair: &RingPair<'_>, from: u64, to: u64) -> Survey {
        let mut out = Survey::default();
        let rows = |at: u64| {
            Dir::BOTH.map(|dir| {
                let ring = pair.ring(dir)?;
                let left = ring.len().saturating_sub(at * CHUNK).min(CHUNK);
                (left > 0).then(|| ring.rows(at * CHUNK, left).unwrap_or_default())
            })
        };
        let mut looks = Dir::BOTH.map(|dir| Look { dir, arch: pair.arch, known: None });
        let level = wide::level();
        for at in from..to {
            let [tx, rx] = rows(at);
            let (seen, beside) = wide::look(level, [tx, rx], pair.arch.host_base());
            let [tx_look, rx_look] = &mut looks;
            let mut t = tx.map(|rows| tx_look.chunk(rows, seen[0]));
            let mut r = rx.map(|rows| rx_look.chunk(rows, seen[1]));
            let calm = |c: &Option<Chunk>| c.is_some_and(|c| c.kind == Kind::Calm);
            if calm(&t)
                && calm(&r)
                && let (Some(t), Some((tx, rx))) = (&mut t, tx.zip(rx))
            {
                t.paired = paired(
                    tx,
                    rx,
                    beside.unwrap_or_else(|| wide::beside(level, tx, rx)),
                    seen[1],
                    pair.arch,
                );
            }
            if let (Some(r), Some(rows), Some(ring)) = (&mut r, rx, pair.rx)
                && r.kind == Kind::Calm
            {
                let before = (at * CHUNK).checked_sub(1).and_then(|i| ring.get(i));
                let first = rows.descs().next();
                r.follows = before.zip(first).is_some_and(|(p, d)| ranges::apart(p, d));
            }
            let [a, b] = &mut out.chunks;
            a.extend(t);
            b.extend(r);
        }
        out
    }

    /// Adds the part that follows.
    pub fn append(&mut self, mut next: Survey) {
        for (own, more) in self.chunks.iter_mut().zip(&mut next.chunks) {
            own.append(more);
        }
    }

    /// The chunks of a direction, from slot 0 on.
    pub fn chunks(&self, dir: Dir) -> &[Chunk] {
        let [tx, rx] = &self.chunks;
        if dir == Dir::Tx { tx } else { rx }
    }
}

/// A mask of fields in the first 64 bits of a descriptor.
const fn low(f: &Field) -> u64 {
    f.mask()
}

/// The same of a field of the second word.
const fn high(f: &Field) -> u64 {
    f.mask() << 32
}

/// What may differ from slot to slot of a calm chunk, in the first 64 bits.
const TX_FREE: u64 = LENGTH
    | low(named(View::Tx, "dmb"))
    | low(named(View::Tx, "int_en"))
    | high(named(View::Tx, "write_barrier"));
const NOTIFICATION: u64 = high(named(View::Tx, "notification"));
const RX_FREE: u64 = LENGTH | low(named(View::Rx, "int_en"));
const STRONG_ORDER: u64 = low(named(View::Rx, "strong_order"));

const fn tx_free(arch: Generation) -> u64 {
    match arch {
        Generation::V4 => TX_FREE | NOTIFICATION,
        _ => TX_FREE,
    }
}

const fn rx_free(arch: Generation) -> u64 {
    match arch {
        Generation::V2 => RX_FREE,
        _ => RX_FREE | STRONG_ORDER,
    }
}

/// Address bits of which one means a closer look: symbolic, a kernel's poison.
const STRANGE: u64 = 0xff << 56 | TEMPLATE_BIT;
/// Bits that an address may not change from a range's first to its last byte: those from which
/// on the host window is told, see [`Generation::is_host`].
const WINDOW: u64 = !((1 << 40) - 1);
/// The only sentinel of 32 bits that has these bits clear is [`EVEN_SENTINEL`]; a test holds it.
const SENTINEL_BITS: u64 = 3;
const EVEN_SENTINEL: u32 = 0xcccc_cccc;

/// Bits of an address that are all set where it lies less than the longest descriptor before an
/// end of a window.
const BEFORE_END: u64 = !(WINDOW | LENGTH);

/// Bits of an address that a slot of a chunk has whose first one is this and whose others differ
/// from it in these bits.
fn had(first: u64, differ: u64) -> u64 {
    first | differ
}

/// Whether nothing is to be said of the addresses of a chunk. Mostly the bits that one of them has
/// answer that; where they do not, each address is asked.
fn plain_addresses(rows: Rows<'_>, seen: Seen) -> bool {
    let any = had(rows.first_words().map_or(0, |(_, ptr)| ptr), seen.differ[1]);
    let has = |bits: u64| any & bits == bits;
    any & STRANGE == 0
        && !seen.null
        && (!has(BEFORE_END) || every(rows, |p| (p ^ p.wrapping_add(LENGTH)) & WINDOW == 0))
        && match any & SENTINEL_BITS {
            0 => !has(EVEN_SENTINEL.into()) || every(rows, |p| p as u32 != EVEN_SENTINEL),
            _ => rows.descs().all(|d| sentinels::word(d.ptr as u32).is_none()),
        }
}

/// Whether it is so of every address.
fn every(rows: Rows<'_>, ok: impl Fn(u64) -> bool) -> bool {
    let mut all = true;
    rows.each(|_, ptr| all &= ok(ptr));
    all
}

/// What may differ from slot to slot of a calm chunk.
const fn free(dir: Dir, arch: Generation) -> u64 {
    match dir {
        Dir::Tx => tx_free(arch),
        Dir::Rx => rx_free(arch),
    }
}

/// Whether a chunk is calm if its first slot is, and its bytes; `None` says nothing.
fn regular(rows: Rows<'_>, seen: Seen, dir: Dir, arch: Generation) -> Option<u64> {
    let alike = seen.differ[0] & !free(dir, arch) == 0
        && (dir == Dir::Tx || seen.apart || !overlap(rows))
        && plain_addresses(rows, seen);
    alike.then_some(seen.bytes)
}

/// Whether neighbours overlap.
fn overlap(rows: Rows<'_>) -> bool {
    let Some((first, mut last)) = rows.first_words() else { return false };
    // The first slot does not overlap itself: it has the same address.
    let (mut length, mut overlap) = (less_one(first), false);
    rows.each(|w, ptr| {
        let now = less_one(w);
        // One begins inside of the other, less than its length behind it, not at its start.
        let behind = ptr.wrapping_sub(last);
        overlap |= (behind.wrapping_sub(1) < length) | (!behind < now);
        (last, length) = (ptr, now);
    });
    overlap
}

/// A look at the chunks of a ring, one after the other.
struct Look {
    dir: Dir,
    arch: Generation,
    /// What must not differ of a slot's first 64 bits, as it was in one that is calm.
    known: Option<u64>,
}

impl Look {
    /// What a chunk is. No slots make an odd one.
    fn chunk(&mut self, rows: Rows<'_>, seen: Seen) -> Chunk {
        let (dir, arch) = (self.dir, self.arch);
        let Some(first) = rows.descs().next() else { return Chunk::default() };
        if first.is_zero() {
            let kind = if seen.differ == [0; 2] { Kind::Empty } else { Kind::Odd };
            return Chunk { kind, ..Chunk::default() };
        }
        let word = rows.first_words().map(|(w, _)| w & !free(dir, arch));
        // As the first slot of a regular chunk, one of another chunk stands for all that are
        // like it.
        if self.known != word {
            if !calm(first, dir, arch) {
                return Chunk::default();
            }
            self.known = word;
        }
        let bytes = regular(rows, seen, dir, arch).or_else(|| by_rules(rows, dir, arch));
        let Some(bytes) = bytes else { return Chunk::default() };
        let (phase, flags) = (first.ring_id(), first.first());
        let follows = dir == Dir::Tx;
        Chunk { kind: Kind::Calm, phase, flags, paired: false, follows, bytes }
    }
}

/// Whether no check has anything to say of a used slot by itself.
fn calm(d: Desc, dir: Dir, arch: Generation) -> bool {
    let alone = d.first() && d.last() && !d.concat();
    let bare = dir == Dir::Rx && !(d.first() || d.last() || d.concat());
    let copy = dir == Dir::Rx || operations::is_plain_copy(d.word1);
    !d.is_zero()
        && d.view(dir) != View::Meta
        && (alone || bare)
        && copy
        // That length 0 stands for 65536 is the one note that nobody is told of.
        && notes(d, dir, arch).iter().all(|n| n.code == "D011")
        && sentinels::judge(d, dir, arch).is_none()
        && ranges::crossing(d, arch).is_none()
}

/// The same answer as the regular ones', by the rules of the checks.
fn by_rules(rows: Rows<'_>, dir: Dir, arch: Generation) -> Option<u64> {
    let first = rows.descs().next()?;
    let (mut bytes, mut before) = (0, first);
    for d in rows.descs() {
        let same = d.ring_id() == first.ring_id() && d.first() == first.first();
        let apart = dir == Dir::Tx || ranges::apart(before, d);
        if !(same && apart && calm(d, dir, arch)) {
            return None;
        }
        bytes += d.length();
        before = d;
    }
    Some(bytes)
}

/// Whether two calm chunks of the same slots are pairs of one Tx and one Rx descriptor, and none
/// of four bytes is remarkable. `seen` is of the Rx chunk.
fn paired(tx: Rows<'_>, rx: Rows<'_>, beside: Beside, seen: Seen, arch: Generation) -> bool {
    if tx.len() != rx.len() || beside.lengths != 0 {
        return false;
    }
    // Only a pair of which the source lies a marker behind the destination is the wrong way
    // round; only one whose destination is not aligned can be torn.
    let first = rx.first_words().map_or(0, |(_, ptr)| ptr);
    let aligned = had(first, seen.differ[1]) & (MARKER_BYTES - 1) == 0;
    if aligned && !beside.swapped {
        return true;
    }
    let mut remarkable = false;
    tx.zip(rx, |(a, src), (b, dst)| {
        if less_one(a) == MARKER_BYTES - 1 {
            remarkable |= pairs::remarkable(desc(a, src), desc(b, dst), arch);
        }
    });
    !remarkable
}

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;
