//! Descriptors of two rings, side by side: aligned by what they say, not by where they lie.
//!
//! Rings are read front to back in windows, so that an image of any size takes time in
//! proportion and memory within a bound (`docs/diff.md`, "Rings").

use super::align::{self, Gap, Run};
use super::{Change, Diff, Entry, FieldChange, Part};
use crate::engine::ring::digest::mix;
use crate::limits::{DIFF_WINDOW, MAX_DIFF_ENTRIES, MAX_DIFF_WORK};
use crate::udma::field::{Field, Kind, Word, fields_of};
use crate::udma::ring::next_ring_id;
use crate::udma::{Desc, Dir, Generation, count_of, describe};
use std::collections::VecDeque;
use std::sync::Arc;

/// Descriptors read from a ring at a time.
const BLOCK: usize = 4096;
/// Parts by which descriptors are told to be alike, of each direction.
const PARTS: u32 = 4;

/// The descriptors of one ring in the order of time.
pub trait Slots {
    /// How many places there are, empty ones included.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads places from `first` on; returns how many were read.
    fn read(&self, first: u64, out: &mut [Desc]) -> usize;

    /// The slot of a place.
    fn slot(&self, place: u64) -> u64 {
        place
    }

    /// Of what the descriptor of a place is made, where that is known.
    fn made_of(&self, place: u64) -> Option<Arc<str>> {
        let _ = place;
        None
    }
}

impl Slots for [Desc] {
    fn len(&self) -> u64 {
        <[Desc]>::len(self) as u64
    }

    fn read(&self, first: u64, out: &mut [Desc]) -> usize {
        let rest = usize::try_from(first).ok().and_then(|f| self.get(f..)).unwrap_or_default();
        let n = rest.len().min(out.len());
        out[..n].copy_from_slice(&rest[..n]);
        n
    }
}

/// One ring.
pub type Ring<'a> = &'a dyn Slots;

/// The rings of one queue.
#[derive(Clone, Copy)]
pub struct RingPair<'a> {
    /// Tx ring.
    pub tx: Option<Ring<'a>>,
    /// Rx ring.
    pub rx: Option<Ring<'a>>,
}

impl<'a> RingPair<'a> {
    fn ring(&self, dir: Dir) -> Option<Ring<'a>> {
        match dir {
            Dir::Tx => self.tx,
            Dir::Rx => self.rx,
        }
    }
}

/// A descriptor where it is.
#[derive(Debug, Clone)]
struct At {
    slot: u64,
    desc: Desc,
    /// The phase is not the one that its place asks for.
    odd_phase: bool,
    made_of: Option<Arc<str>>,
}

/// What is aligned: one descriptor, or a Tx and an Rx descriptor that were used together.
type Unit = [Option<At>; 2];

fn carries_phase(desc: Desc, dir: Dir) -> bool {
    dir == Dir::Rx || !desc.is_meta()
}

/// The descriptor without its phase, which hangs on its place only.
pub(in crate::engine) fn without_phase(desc: Desc, dir: Dir) -> Desc {
    let mask = if carries_phase(desc, dir) { !(3 << 24) } else { !0 };
    Desc { len_ctrl: desc.len_ctrl & mask, ..desc }
}

fn key(unit: &Unit) -> u64 {
    let mut h = 0;
    for (at, dir) in unit.iter().zip(Dir::BOTH) {
        let Some(at) = at else { continue };
        let d = without_phase(at.desc, dir);
        h = mix(h, u64::from(d.len_ctrl) | u64::from(d.word1) << 32);
        h = mix(h, d.ptr);
        for byte in at.made_of.iter().flat_map(|m| m.bytes()) {
            h = mix(h, u64::from(byte));
        }
    }
    h
}

/// How different two units are, from 0 to 1000.
fn unlike(a: &Unit, b: &Unit) -> u32 {
    let (mut parts, mut differ) = (0, 0);
    for ((a, b), dir) in a.iter().zip(b).zip(Dir::BOTH) {
        let (Some(a), Some(b)) = (a, b) else { continue };
        let (x, y) = (without_phase(a.desc, dir), without_phase(b.desc, dir));
        parts += PARTS;
        differ += u32::from(x.ptr != y.ptr)
            + u32::from(x.word1 != y.word1)
            + u32::from(x.length() != y.length())
            + u32::from(x.len_ctrl >> 16 != y.len_ctrl >> 16);
    }
    (differ * 1000).checked_div(parts).unwrap_or(1000)
}

/// Reads one ring from front to back, used slots only.
struct Feed<'a> {
    ring: Ring<'a>,
    dir: Dir,
    next: u64,
    block: Vec<Desc>,
    ready: VecDeque<(u64, Desc)>,
    before: Option<(u64, u8)>,
}

impl<'a> Feed<'a> {
    fn new(ring: Ring<'a>, dir: Dir) -> Feed<'a> {
        let block = vec![Desc::default(); BLOCK];
        Feed { ring, dir, next: 0, block, ready: VecDeque::new(), before: None }
    }

    fn next(&mut self) -> Option<At> {
        while self.ready.is_empty() {
            let n = self.ring.read(self.next, &mut self.block);
            if n == 0 {
                return None;
            }
            let used = self.block[..n].iter().zip(self.next..).filter(|(d, _)| !d.is_zero());
            self.ready.extend(used.map(|(d, place)| (place, *d)));
            self.next += n as u64;
        }
        let (place, desc) = self.ready.pop_front()?;
        let slot = self.ring.slot(place);
        let mut odd_phase = false;
        if carries_phase(desc, self.dir) {
            let phase = desc.ring_id();
            odd_phase = self
                .before
                .is_some_and(|(last, p)| phase != if slot <= last { next_ring_id(p) } else { p });
            self.before = Some((slot, phase));
        }
        Some(At { slot, desc, odd_phase, made_of: self.ring.made_of(place) })
    }
}

/// Both directions of a queue, or one of them, as units.
struct Units<'a> {
    feeds: [Option<Feed<'a>>; 2],
    ready: VecDeque<Unit>,
    keys: VecDeque<u64>,
    /// The first unit, for the phase with which the ring begins.
    first: Option<Unit>,
}

impl<'a> Units<'a> {
    fn new(rings: [Option<Ring<'a>>; 2]) -> Units<'a> {
        let [tx, rx] = rings;
        let feeds = [tx.map(|r| Feed::new(r, Dir::Tx)), rx.map(|r| Feed::new(r, Dir::Rx))];
        Units { feeds, ready: VecDeque::new(), keys: VecDeque::new(), first: None }
    }

    /// Has at least `n` units ready, or all that there are.
    fn fill(&mut self, n: usize) -> usize {
        while self.ready.len() < n {
            let [tx, rx] = &mut self.feeds;
            let unit = [tx.as_mut().and_then(Feed::next), rx.as_mut().and_then(Feed::next)];
            if unit.iter().all(Option::is_none) {
                break;
            }
            if self.first.is_none() {
                self.first = Some(unit.clone());
            }
            self.keys.push_back(key(&unit));
            self.ready.push_back(unit);
        }
        self.ready.len()
    }

    fn pop(&mut self) -> Option<Unit> {
        self.keys.pop_front();
        self.ready.pop_front()
    }
}

fn used(ring: Ring<'_>) -> u64 {
    let mut block = vec![Desc::default(); BLOCK];
    let (mut at, mut n) = (0, 0);
    loop {
        let got = ring.read(at, &mut block);
        if got == 0 {
            return n;
        }
        n += block[..got].iter().filter(|d| !d.is_zero()).count() as u64;
        at += got as u64;
    }
}

/// Compares the rings of one queue; `name` is what stands in front of `tx[3]`.
pub fn rings(name: &str, (a, b): (RingPair<'_>, RingPair<'_>), arch: Generation, diff: &mut Diff) {
    let both = |p: &RingPair<'_>| Some((used(p.tx?), used(p.rx?)));
    let paired = |p: &RingPair<'_>| both(p).is_some_and(|(tx, rx)| tx == rx);
    if paired(&a) && paired(&b) {
        let sides = [a, b].map(|p| Units::new([p.tx, p.rx]));
        return compare(name, sides, arch, diff);
    }
    for dir in Dir::BOTH {
        match (a.ring(dir), b.ring(dir)) {
            (Some(x), Some(y)) => {
                let only = |r| if dir == Dir::Tx { [Some(r), None] } else { [None, Some(r)] };
                compare(name, [Units::new(only(x)), Units::new(only(y))], arch, diff);
            }
            (None, None) => {}
            (x, y) => {
                let slots = |r: Option<Ring<'_>>| r.map(|r| count_of(r.len(), "slot"));
                diff.push(Entry {
                    part: Part::Ring,
                    change: if x.is_some() { Change::Removed } else { Change::Added },
                    name: format!("{name}{dir}"),
                    at: [slots(x), slots(y)],
                    fields: Vec::new(),
                });
            }
        }
    }
}

/// What lies in the gaps so far.
#[derive(Default)]
struct Rest {
    a: Vec<Unit>,
    b: Vec<Unit>,
    keys_a: Vec<u64>,
    keys_b: Vec<u64>,
    gaps: Vec<Gap>,
    /// Beyond what is kept: on the left, on the right.
    dropped: [u64; 2],
}

impl Rest {
    fn gap<'u>(&mut self, left: &mut Units<'u>, right: &mut Units<'u>, (n, m): (usize, usize)) {
        let full = self.a.len() + n > MAX_DIFF_ENTRIES || self.b.len() + m > MAX_DIFF_ENTRIES;
        let from = (self.a.len(), self.b.len());
        for (units, count, side) in [(left, n, 0), (right, m, 1)] {
            for _ in 0..count {
                let Some(k) = units.keys.front().copied() else { break };
                let Some(unit) = units.pop() else { break };
                if full {
                    self.dropped[side] += 1;
                } else if side == 0 {
                    self.a.push(unit);
                    self.keys_a.push(k);
                } else {
                    self.b.push(unit);
                    self.keys_b.push(k);
                }
            }
        }
        if !full && n + m > 0 {
            self.gaps.push(Gap { a: from.0..self.a.len(), b: from.1..self.b.len() });
        }
    }
}

fn compare<'u>(name: &str, sides: [Units<'u>; 2], arch: Generation, diff: &mut Diff) {
    let [mut a, mut b] = sides;
    let (mut work, mut rest) = (MAX_DIFF_WORK, Rest::default());
    let mut same_but: Vec<(Unit, Unit)> = Vec::new();
    loop {
        let (x, y) = (a.fill(1), b.fill(1));
        if x == 0 || y == 0 {
            break;
        }
        if a.keys[0] == b.keys[0] {
            matched(&mut a, &mut b, 1, &mut same_but, diff);
            continue;
        }
        window(&mut a, &mut b, (&mut work, name), &mut rest, &mut same_but, diff);
    }
    // What is left of the longer side.
    loop {
        let (n, m) = (a.fill(BLOCK), b.fill(BLOCK));
        if n + m == 0 {
            break;
        }
        rest.gap(&mut a, &mut b, (n, m));
    }
    first_phase(name, (&a, &b), diff);
    tell(name, rest, same_but, arch, diff);
}

/// Aligns the next window of both sides and takes what that settles.
fn window<'u>(
    a: &mut Units<'u>,
    b: &mut Units<'u>,
    (work, name): (&mut u64, &str),
    rest: &mut Rest,
    same_but: &mut Vec<(Unit, Unit)>,
    diff: &mut Diff,
) {
    let (n, m) = (a.fill(DIFF_WINDOW + 1), b.fill(DIFF_WINDOW + 1));
    let last = n <= DIFF_WINDOW && m <= DIFF_WINDOW;
    let (n, m) = (n.min(DIFF_WINDOW), m.min(DIFF_WINDOW));
    let found = {
        let left: &[u64] = &a.keys.make_contiguous()[..n];
        let right: &[u64] = &b.keys.make_contiguous()[..m];
        align::align(left, right, work)
    };
    if found.bounded {
        diff.bound(format!(
            "{name}: the bound on work is reached; some slots are compared place by place"
        ));
    }
    let (mut at_a, mut at_b) = (0, 0);
    for Run { a: i, b: j, len } in found.runs.iter().copied() {
        rest.gap(a, b, (i - at_a, j - at_b));
        matched(a, b, len, same_but, diff);
        (at_a, at_b) = (i + len, j + len);
    }
    if last {
        rest.gap(a, b, (n - at_a, m - at_b));
    } else if found.runs.is_empty() {
        diff.bound(format!(
            "{name}: {DIFF_WINDOW} slots in a row have nothing in common; a descriptor that is \
             further away than that is not found again"
        ));
        rest.gap(a, b, (n, m));
    }
}

/// Takes units that are the same; only a phase that its place does not explain is a difference.
fn matched(
    a: &mut Units<'_>,
    b: &mut Units<'_>,
    len: usize,
    same_but: &mut Vec<(Unit, Unit)>,
    diff: &mut Diff,
) {
    for _ in 0..len {
        let (Some(x), Some(y)) = (a.pop(), b.pop()) else { return };
        let plain = x.iter().zip(&y).zip(Dir::BOTH).all(|((x, y), dir)| match (x, y) {
            (Some(x), Some(y)) => {
                !phase_differs(x, y) && without_phase(x.desc, dir) == without_phase(y.desc, dir)
            }
            (x, y) => x.is_none() == y.is_none(),
        });
        if plain {
            continue;
        }
        if same_but.len() < MAX_DIFF_ENTRIES {
            same_but.push((x, y));
        } else {
            diff.count(Part::Descriptor, Change::Changed, 1);
        }
    }
}

/// Whether the phases differ although the places do not explain it.
fn phase_differs(x: &At, y: &At) -> bool {
    (x.odd_phase || y.odd_phase) && x.desc.ring_id() != y.desc.ring_id()
}

/// A ring that begins with another phase.
fn first_phase(name: &str, (a, b): (&Units<'_>, &Units<'_>), diff: &mut Diff) {
    let (Some(x), Some(y)) = (&a.first, &b.first) else { return };
    for ((x, y), dir) in x.iter().zip(y).zip(Dir::BOTH) {
        let (Some(x), Some(y)) = (x, y) else { continue };
        let (p, q) = (x.desc.ring_id(), y.desc.ring_id());
        let carried = carries_phase(x.desc, dir) && carries_phase(y.desc, dir);
        if carried && p != q {
            let at = |at: &At| Some(format!("{name}{dir}[{}]", at.slot));
            diff.push(Entry {
                part: Part::Ring,
                change: Change::Changed,
                name: format!("{name}{dir}"),
                at: [at(x), at(y)],
                fields: vec![FieldChange::new(
                    "first phase",
                    format!("phase {p}"),
                    format!("phase {q}"),
                )],
            });
        }
    }
}

fn tell(name: &str, rest: Rest, same_but: Vec<(Unit, Unit)>, arch: Generation, diff: &mut Diff) {
    let alike = |i: usize, j: usize| Some(unlike(&rest.a[i], &rest.b[j]));
    let settled = align::settle((&rest.keys_a, &rest.keys_b), &rest.gaps, &alike);
    let mut found: Vec<(Change, Option<&Unit>, Option<&Unit>)> = Vec::new();
    let (a, b) = (&rest.a, &rest.b);
    found.extend(settled.removed.iter().map(|i| (Change::Removed, Some(&a[*i]), None)));
    found.extend(settled.added.iter().map(|j| (Change::Added, None, Some(&b[*j]))));
    found.extend(settled.moved.iter().map(|(i, j)| (Change::Moved, Some(&a[*i]), Some(&b[*j]))));
    let changed = settled.changed.iter().map(|(i, j)| (&a[*i], &b[*j]));
    let changed = changed.chain(same_but.iter().map(|(x, y)| (x, y)));
    found.extend(changed.map(|(x, y)| (Change::Changed, Some(x), Some(y))));
    for (change, x, y) in found {
        let fields = match (x, y) {
            (Some(x), Some(y)) => fields(x, y),
            _ => Vec::new(),
        };
        // Made of another instruction, and the same descriptor.
        if change == Change::Changed && fields.is_empty() {
            continue;
        }
        let shown = if change == Change::Added { y } else { x.or(y) };
        diff.push(Entry {
            part: Part::Descriptor,
            change,
            name: shown.map(|u| words(u, arch)).unwrap_or_default(),
            at: [x.map(|u| place(name, u)), y.map(|u| place(name, u))],
            fields,
        });
    }
    let [left, right] = rest.dropped;
    diff.count(Part::Descriptor, Change::Removed, left);
    diff.count(Part::Descriptor, Change::Added, right);
    if left + right > 0 {
        diff.bound(format!(
            "{name}: more than {MAX_DIFF_ENTRIES} descriptors differ; what moved or changed \
             beyond them is counted as removed and added"
        ));
    }
}

/// `tx[3] rx[3]`
fn place(name: &str, unit: &Unit) -> String {
    let one = |(at, dir): (&Option<At>, Dir)| Some(format!("{dir}[{}]", at.as_ref()?.slot));
    let all: Vec<String> = unit.iter().zip(Dir::BOTH).filter_map(one).collect();
    format!("{name}{}", all.join(" "))
}

/// What a unit does, in words.
fn words(unit: &Unit, arch: Generation) -> String {
    let one = |(at, dir): (&Option<At>, Dir)| {
        let at = at.as_ref()?;
        Some(format!("{dir}: {}", describe::sentence(at.desc, dir, arch)))
    };
    let mut all: Vec<String> = unit.iter().zip(Dir::BOTH).filter_map(one).collect();
    let made_of = unit.iter().flatten().find_map(|at| at.made_of.as_deref());
    all.extend(made_of.map(|m| format!("of {m}")));
    all.join("; ")
}

/// The fields in which two units differ.
fn fields(a: &Unit, b: &Unit) -> Vec<FieldChange> {
    let mut out = Vec::new();
    for ((a, b), dir) in a.iter().zip(b).zip(Dir::BOTH) {
        let (Some(a), Some(b)) = (a, b) else { continue };
        let (view, other) = (a.desc.view(dir), b.desc.view(dir));
        if view != other {
            // Two views have no fields in common; the words are.
            for (n, x, y) in [
                ("len_ctrl", u64::from(a.desc.len_ctrl), u64::from(b.desc.len_ctrl)),
                ("meta_ctrl", u64::from(a.desc.word1), u64::from(b.desc.word1)),
                ("buf_ptr", a.desc.ptr, b.desc.ptr),
            ] {
                if x != y {
                    let digits = if n == "buf_ptr" { 18 } else { 10 };
                    let text = |v: u64| format!("{v:#0digits$x}");
                    out.push(FieldChange::new(format!("{dir}.{n}"), text(x), text(y)));
                }
            }
            continue;
        }
        for word in Word::of(view) {
            for f in fields_of(view, *word) {
                let (x, y) = (a.desc.get(f), b.desc.get(f));
                let place_only = f.kind == Kind::Phase && !phase_differs(a, b);
                if x != y && !place_only {
                    out.push(FieldChange::new(format!("{dir}.{}", f.name), say(f, x), say(f, y)));
                }
            }
        }
    }
    out
}

fn say(f: &Field, value: u64) -> String {
    match f.kind {
        Kind::Number if f.width > 16 => format!("{value:#x}"),
        Kind::Reserved => format!("{value:#x}"),
        _ => f.words(value),
    }
}
