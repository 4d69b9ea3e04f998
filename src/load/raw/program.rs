//! A program from raw images: the ring copied in whole, then armed batch by batch.
//!
//! All of it is MODEL, since a copied-out ring says nothing of its host; each assumption is
//! a note in the report. `docs/formats.md`, "From a raw image to a program", has the rules.

use super::batch::{Batch, Cut, cut, older_than_the_other};
use super::memory::{Ranges, Touched};
use super::order::{Order, order};
use super::{Batching, RawImage, RingView};
use crate::diag::{Diagnostic, Place, Report, SlotRef};
use crate::engine::program::{
    Aside, Blob, Fill, HostOp, Program, QueueDecl, QueueId, Region, RegionKind, RingDecl, RingType,
    ScriptOp, Start,
};
use crate::limits::{MAX_HOST_OPS, MAX_QUEUES, MAX_RING_DESCS, MIN_RING_DESCS};
use crate::load::LoadOptions;
use crate::udma::profile::{ENGINE_SLOTS, MARKER, QUEUES_PER_ENGINE, WaitKind};
use crate::udma::ring::{RING_ALIGN, check_ring};
use crate::udma::{Dir, Generation, Profile, count_of};
use std::collections::HashSet;

/// The program of one image; none where a direction is missing or the ring is too large.
pub fn to_program(image: &RawImage, opts: &LoadOptions) -> (Option<Program>, Report) {
    to_program_many(&[image], opts)
}

/// One program of several images, a queue each, run one after the other. Images of another
/// generation than the first are left out, and said to be.
pub fn to_program_many(images: &[&RawImage], opts: &LoadOptions) -> (Option<Program>, Report) {
    let mut report = Report::default();
    let mut rings = Vec::new();
    let arch = arch(images, opts, &mut report);
    for image in images.iter().copied() {
        if opts.arch.is_none() && image.arch.is_some_and(|a| a != arch) {
            let why = format!("`{}` is of another generation than {arch}", image.name);
            report.push(Diagnostic::new("D029", why).in_file(&image.name));
        } else if let Some(pair) = pair(image, opts, &mut report) {
            rings.push(pair);
        }
    }
    if rings.is_empty() {
        return (None, report);
    }
    let profile = opts.profile.or_else(|| profile(&rings, &mut report));
    let mut b = Builder {
        p: Program {
            aside: Aside { made_up: true, ..Aside::default() },
            ..Program::new(arch, profile.unwrap_or_else(Profile::default_profile))
        },
        opts,
        touched: Touched::default(),
        taken: Ranges::default(),
        ids: HashSet::new(),
        left: rings.len(),
        report,
    };
    for pair in &rings {
        b.touched.ring(&pair.tx, &pair.tx_order);
        b.touched.ring(&pair.rx, &pair.rx_order);
    }
    b.taken = b.touched.all();
    let mut own = Ranges::default();
    for pair in &rings {
        b.queue(pair, &mut own);
    }
    own.merge(0);
    let markers = std::mem::take(&mut b.p.regions);
    b.p.regions = std::mem::take(&mut b.touched).regions(arch, &own);
    b.p.regions.extend(markers);
    b.p.sort_regions();
    let unknown = b.p.regions.iter().filter(|r| r.fill == Fill::Unknown).count();
    if unknown > 0 {
        let s = if unknown == 1 { "" } else { "s" };
        let why = format!("the bytes of {unknown} source region{s} are not in the image");
        b.report.push(Diagnostic::new("R012", why));
    }
    (Some(b.p), b.report)
}

/// Both directions of an image, windowed, with their order.
struct Pair<'a> {
    image: &'a RawImage,
    tx: RingView,
    rx: RingView,
    tx_order: Order,
    rx_order: Order,
    /// First slot of the window in the image.
    from: u64,
}

impl Pair<'_> {
    fn of(&self, dir: Dir) -> (&RingView, &Order) {
        match dir {
            Dir::Tx => (&self.tx, &self.tx_order),
            Dir::Rx => (&self.rx, &self.rx_order),
        }
    }
}

fn pair<'a>(image: &'a RawImage, opts: &LoadOptions, report: &mut Report) -> Option<Pair<'a>> {
    let mut note = |d: Diagnostic| report.push(d.in_file(&image.name));
    let (Some(tx), Some(rx)) = (&image.tx, &image.rx) else {
        let have = image.dirs().next().map_or("no", Dir::name);
        note(
            Diagnostic::new("D022", format!("only the {have} ring is here"))
                .help("for stepping give both: --tx A --rx B"),
        );
        return None;
    };
    let (from, to) = opts.slots.unwrap_or((0, u64::MAX));
    let (tx, rx) = (tx.window(from, to), rx.window(from, to));
    let slots = tx.slots().max(rx.slots());
    if slots > MAX_RING_DESCS {
        note(
            Diagnostic::new(
                "D009",
                format!(
                    "{slots}; a ring has at most {MAX_RING_DESCS}",
                    slots = count_of(slots, "slot")
                ),
            )
            .help("for stepping give a window: --slots A:B"),
        );
        return None;
    }
    if let Some(most) = opts.run_slots.filter(|most| slots > *most && opts.slots.is_none()) {
        note(
            Diagnostic::new(
                "D009",
                format!(
                    "{slots}; more than {most} are not run unasked",
                    slots = count_of(slots, "slot")
                ),
            )
            .help("for stepping give a window: --slots A:B, or --slots : for all of them"),
        );
        return None;
    }
    if tx.slots() == 0 || rx.slots() == 0 {
        note(Diagnostic::new("S011", format!("--slots {from}:{to} leaves no slot of a ring")));
        return None;
    }
    if opts.start.is_some_and(|s| s >= slots) {
        note(Diagnostic::new("S011", format!("--start is beyond the last slot, {}", slots - 1)));
        return None;
    }
    let (tx_order, rx_order) = (order(&tx, opts.start), order(&rx, opts.start));
    Some(Pair { image, tx, rx, tx_order, rx_order, from })
}

/// The driver that an index names. A program has one; where its rings name several, it is the
/// first's, and said to be.
fn profile(rings: &[Pair<'_>], report: &mut Report) -> Option<&'static Profile> {
    let first = rings.iter().find_map(|r| r.image.profile)?;
    let other = |r: &&Pair<'_>| r.image.profile.is_some_and(|p| p.name != first.name);
    let mut others = rings.iter().filter(other);
    if let Some((one, named)) = others.next().and_then(|r| Some((r, r.image.profile?))) {
        let more = match others.count() {
            0 => String::new(),
            n => format!(", {n} more another as well"),
        };
        let name = &one.image.name;
        let why =
            format!("run under {first}, the first ring's driver: `{name}` names {named}{more}");
        report.push(Diagnostic::new("D028", why).help("--profile chooses").in_file(name));
    }
    Some(first)
}

/// The generation: given, named by an index, told by the host window, or v3.
fn arch(images: &[&RawImage], opts: &LoadOptions, report: &mut Report) -> Generation {
    if let Some(a) = opts.arch.or_else(|| images.iter().find_map(|i| i.arch)) {
        return a;
    }
    let (arch, why) = images
        .iter()
        .find_map(|i| infer_arch(i))
        .map(|a| {
            let bit = a.host_base().trailing_zeros();
            (a, format!("taken as {a}: an address has host window bit {bit}"))
        })
        .unwrap_or_else(|| {
            (Generation::V3, "taken as v3: no address lies in a host window".to_owned())
        });
    report.push(Diagnostic::new("D028", why).help("--arch v2|v3|v4 says another"));
    arch
}

/// The generation whose host window an address of the image lies in (v3 and v4 share one).
/// Looks at a bounded number of slots from both ends.
pub fn infer_arch(image: &RawImage) -> Option<Generation> {
    let edge = crate::limits::SAMPLE_EDGE_SLOTS;
    for dir in image.dirs() {
        let Some(ring) = image.ring(dir) else { continue };
        let tail = ring.slots().saturating_sub(edge).max(edge.min(ring.slots()));
        for i in (0..edge.min(ring.slots())).chain(tail..ring.slots()) {
            let Some(d) = ring.get(i).filter(|d| !d.is_zero()) else { continue };
            if dir == Dir::Tx && d.is_meta() || d.ptr >> 48 != 0 {
                continue;
            }
            let hit = [Generation::V3, Generation::V2].into_iter().find(|g| g.is_host(d.ptr));
            if hit.is_some() {
                return hit;
            }
        }
    }
    None
}

struct Builder<'a> {
    p: Program,
    opts: &'a LoadOptions,
    touched: Touched,
    /// What the descriptors touch and what was given out, merged.
    taken: Ranges,
    ids: HashSet<QueueId>,
    /// Images that are not yet in the program, this one included.
    left: usize,
    report: Report,
}

/// Operations of a batch beside its seeds: doorbells and wait.
const OPS_PER_BATCH: usize = 2;
/// Operations of a queue beside its batches: init and two copy-ins.
const OPS_PER_QUEUE: usize = 3;

impl Builder<'_> {
    fn note(&mut self, pair: &Pair<'_>, dir: Dir, slot: u64, d: Diagnostic) {
        let at = SlotRef { queue: None, dir, index: pair.from + slot };
        self.report.push(d.at(Place::slot(at)).in_file(&pair.image.name));
    }

    fn queue(&mut self, pair: &Pair<'_>, own: &mut Ranges) {
        if self.p.queues.len() >= MAX_QUEUES {
            return;
        }
        let Some(id) = self.id(pair.image) else {
            let d = Diagnostic::new("D029", "every queue of the device is taken");
            return self.report.push(d.in_file(&pair.image.name));
        };
        let padded = Dir::BOTH.map(|d| legal_size(pair.of(d).0.slots()));
        let whole = Dir::BOTH.map(|d| pair.of(d).0.slots()) == padded;
        self.order_notes(pair, whole);
        let orders = if whole {
            [pair.tx_order, pair.rx_order]
        } else {
            // A padded ring cannot go around at the image's end: its newest lap is taken.
            [newest_lap(&pair.tx, pair.tx_order), newest_lap(&pair.rx, pair.rx_order)]
        };
        let orders = self.lined_up(pair, orders);
        let [tx_order, rx_order] = &orders;
        // An equal share of the script for each image that is left.
        let room = (MAX_HOST_OPS - self.p.script.len()) / self.left.max(1);
        self.left = self.left.saturating_sub(1);
        let rings = [(&pair.tx, tx_order), (&pair.rx, rx_order)];
        let mut cut = cut(rings, self.opts.batch.unwrap_or_default(), room / OPS_PER_BATCH);
        fit(&mut cut, room.saturating_sub(OPS_PER_QUEUE));
        self.batch_notes(pair, &cut, &orders);
        let [tx_size, rx_size] = padded;
        let rx = self.ring(pair, Dir::Rx, rx_size, own);
        let tx = self.ring(pair, Dir::Tx, tx_size, own);
        let marker = cut.batches.iter().find_map(|b| b.markers.first().copied());
        let marker_area = marker.unwrap_or_else(|| self.marker_area());
        let start = |o: &Order| Start { slot: o.start, ring_id: o.phase };
        self.p.queues.push(QueueDecl {
            id,
            tx: Some(tx),
            rx: Some(rx),
            allocatable: false,
            marker_area,
            first: [start(tx_order), start(rx_order)],
        });
        self.script(id, pair, &cut, tx_order.wrapped || rx_order.wrapped);
    }

    /// The queue that was asked for or that an index names; where it is taken, the next free
    /// one.
    fn id(&mut self, image: &RawImage) -> Option<QueueId> {
        let (engine, queue) = self.p.arch.host_copy_queue(0);
        let named = image.queue.unwrap_or(QueueId { engine, queue });
        let want = QueueId {
            engine: self.opts.engine.unwrap_or(named.engine),
            queue: self.opts.queue.unwrap_or(named.queue),
        };
        let all = ENGINE_SLOTS * QUEUES_PER_ENGINE;
        let first = want.engine.wrapping_mul(QUEUES_PER_ENGINE).wrapping_add(want.queue) % all;
        let id = (0..all)
            .map(|i| (first + i) % all)
            .map(|n| QueueId { engine: n / QUEUES_PER_ENGINE, queue: n % QUEUES_PER_ENGINE })
            .find(|id| !self.ids.contains(id))?;
        if id != want {
            let why = format!("shown as queue {id}: {want} is taken or does not exist");
            let d = Diagnostic::new("D028", why).help("--engine and --queue choose");
            self.report.push(d.in_file(&image.name));
        }
        self.ids.insert(id);
        Some(id)
    }

    /// The ring's place: where the index says, else a free one in the host window.
    fn ring(&mut self, pair: &Pair<'_>, dir: Dir, size: u64, own: &mut Ranges) -> RingDecl {
        let [tx, rx] = pair.image.bases;
        let (given, asked) = match dir {
            Dir::Tx => (tx, self.opts.tx_base),
            Dir::Rx => (rx, self.opts.rx_base),
        };
        let bytes = size * crate::udma::DESC_BYTES as u64;
        own.merge(0);
        let free = |b: &u64| {
            check_ring(*b, size).is_ok()
                && b.checked_add(bytes).is_some_and(|e| own.overlap(*b, e - 1).is_none())
        };
        let base = asked.or(given).filter(free).unwrap_or_else(|| self.free(bytes));
        own.add(base, bytes);
        self.taken.add(base, bytes);
        self.taken.merge(0);
        RingDecl { base, size }
    }

    /// A free place in the host window (MODEL): the lowest from 1 GiB on.
    fn free(&self, bytes: u64) -> u64 {
        const FROM: u64 = 1 << 30;
        let mut at = self.p.arch.host_base() + FROM;
        while let Some((_, last)) = self.taken.overlap(at, at.saturating_add(bytes - 1)) {
            match last.checked_next_multiple_of(RING_ALIGN) {
                // `last` itself may be a multiple.
                Some(next) if next > last => at = next,
                Some(next) if next < u64::MAX - RING_ALIGN => at = next + RING_ALIGN,
                _ => break,
            }
        }
        at
    }

    /// A marker area for a ring that has no completion pair.
    fn marker_area(&mut self) -> u64 {
        const BYTES: u64 = 64;
        let base = self.free(BYTES);
        self.taken.add(base, BYTES);
        self.taken.merge(0);
        let name = format!("marker{}", self.p.queues.len());
        let kind = RegionKind::Host;
        self.p.regions.push(Region { name, kind, base, len: BYTES, fill: Fill::Zero });
        base
    }

    fn order_notes(&mut self, pair: &Pair<'_>, whole: bool) {
        for dir in Dir::BOTH {
            let (ring, o) = pair.of(dir);
            let (start, count, slots) = (o.start, o.count, ring.slots());
            let start_at = pair.from + start;
            if legal_size(slots) != slots {
                let why = format!(
                    "{slots}: no queue has a ring of that size; stepped as one of {}",
                    legal_size(slots),
                    slots = count_of(slots, "slot")
                );
                self.note(pair, dir, 0, Diagnostic::new("D029", why));
            }
            if o.wrapped && whole {
                let why =
                    format!("two laps: the older begins at slot {start_at} with phase {}", o.phase);
                self.note(pair, dir, start, Diagnostic::new("R020", why));
            } else if o.wrapped {
                let why = "two laps, and a ring of the pair has no legal size: only the newest is stepped";
                self.note(pair, dir, start, Diagnostic::new("R020", why));
            } else if start != 0 && self.opts.start.is_none() {
                let why = format!("the first used slot is {start_at}");
                self.note(pair, dir, start, Diagnostic::new("D026", why));
            }
            if let Some(b) = o.beyond {
                let why = format!(
                    "slot {} lies behind an empty one: after {count_slots} it is not rung",
                    pair.from + b,
                    count_slots = count_of(count, "slot")
                );
                self.note(pair, dir, b, Diagnostic::new("R020", why));
            }
        }
    }

    /// The orders without what is older than the other ring reaches back, where the two do not
    /// begin alike: the engine would pair what was never meant for each other.
    fn lined_up(&mut self, pair: &Pair<'_>, orders: [Order; 2]) -> [Order; 2] {
        let [tx, rx] = orders;
        let alike = (tx.start, tx.count) == (rx.start, rx.count);
        // Only a full ring has lost anything; where both are in the same lap, Rx that reaches
        // further was armed early.
        let full = pair.tx.slots() == tx.count || pair.rx.slots() == rx.count;
        let laps_differ = tx.wrapped || rx.wrapped || (full && tx.phase != rx.phase);
        if alike || !laps_differ || self.opts.start.is_some() {
            return orders;
        }
        let (from_tx, from_rx) = older_than_the_other([(&pair.tx, &tx), (&pair.rx, &rx)]);
        for (dir, o, n) in [(Dir::Tx, tx, from_tx), (Dir::Rx, rx, from_rx)] {
            if n > 0 {
                let other = dir.other();
                let why = format!(
                    "the oldest {slots} of {dir} belong to what {other} no longer holds: left out",
                    slots = count_of(n, "slot")
                );
                self.note(pair, dir, o.start, Diagnostic::new("R020", why));
            }
        }
        let slots = |dir| pair.of(dir).0.slots();
        [tx.without_oldest(slots(Dir::Tx), from_tx), rx.without_oldest(slots(Dir::Rx), from_rx)]
    }

    fn batch_notes(&mut self, pair: &Pair<'_>, cut: &Cut, orders: &[Order; 2]) {
        let [tx, _] = orders;
        let marker = self.opts.batch.unwrap_or_default() == Batching::Marker;
        if marker && !cut.completes {
            let why = format!("none of {} used slots is a completion pair: one batch", tx.count);
            self.note(pair, Dir::Tx, tx.start, Diagnostic::new("R023", why));
        }
        if cut.bounded {
            let why =
                format!("only the first {} can be stepped", count_of(cut.batches.len(), "batch"));
            let d = Diagnostic::new("D029", why).help("give a window: --slots A:B");
            self.note(pair, Dir::Tx, tx.start, d);
        } else if cut.tail != (0, 0) {
            let (t, r) = cut.tail;
            let why =
                format!("{t} Tx and {r} Rx slots after the last completion pair are not rung");
            let at = tx.start + tx.count.saturating_sub(t);
            let at = at % pair.tx.slots().max(1);
            self.note(pair, Dir::Tx, at, Diagnostic::new("R021", why));
        }
        if tx.wrapped && !cut.batches.is_empty() {
            let why = "the ring had wrapped: its first batch may be the tail of a cut one";
            self.note(pair, Dir::Tx, tx.start, Diagnostic::new("R022", why));
        }
    }

    fn script(&mut self, queue: QueueId, pair: &Pair<'_>, cut: &Cut, wrapped: bool) {
        let script = &mut self.p.script;
        let named = |op, note: String| ScriptOp { op, note };
        script.push(named(HostOp::InitQueue { queue }, pair.image.name.clone()));
        for dir in Dir::BOTH {
            let ring = pair.of(dir).0;
            let descs = ring.bytes(ring.slots());
            script.push(HostOp::CopyIn { queue, ring: RingType::Dir(dir), at: 0, descs }.into());
        }
        let mut words = MARKER.to_le_bytes().to_vec();
        words.extend([0; 4]);
        let words = Blob::from_vec(words);
        for (i, batch) in cut.batches.iter().enumerate() {
            for &addr in &batch.markers {
                script.push(HostOp::Store { addr, bytes: words.clone() }.into());
            }
            let note = if i == 0 && wrapped { "may be the tail of a cut batch" } else { "" };
            let (m2s, s2m) = (count(batch.tx), count(batch.rx));
            script.push(named(HostOp::CopyStart { queue, m2s, s2m }, note.to_owned()));
            script.push(end(queue, batch).into());
        }
    }
}

/// Leaves out the batches whose operations do not fit.
fn fit(cut: &mut Cut, mut room: usize) {
    let mut kept = 0;
    for b in &cut.batches {
        let Some(left) = room.checked_sub(b.markers.len() + OPS_PER_BATCH) else { break };
        room = left;
        kept += 1;
    }
    if kept < cut.batches.len() {
        cut.batches.truncate(kept);
        cut.bounded = true;
    }
}

fn count(n: u64) -> u32 {
    // At most a legal ring.
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Acks what both directions have, so that never more is acked than is outstanding.
fn end(queue: QueueId, batch: &Batch) -> HostOp {
    let count = count(batch.tx.min(batch.rx));
    // A completion pair alone, as where a lap ends in front of it: with the timing of any other
    // wait the driver's arithmetic would wrap and time stand at its end.
    let kind = if count < 2 { WaitKind::IntraDevice } else { WaitKind::Sync };
    match batch.end {
        Some(marker) => HostOp::Wait { queue, marker, count, kind },
        None => HostOp::WaitIdle { queue, count },
    }
}

/// The smallest size that a queue may have for so many slots.
pub(super) fn legal_size(slots: u64) -> u64 {
    slots.max(MIN_RING_DESCS).next_multiple_of(16)
}

/// The order without its older lap: what lies in front of the place where it begins.
fn newest_lap(ring: &RingView, o: Order) -> Order {
    if o.wrapped {
        let phase = ring.get(0).map_or(o.phase, |d| d.ring_id());
        return Order { start: 0, count: o.start, phase, wrapped: false, beyond: None };
    }
    // A start in the middle runs up to the image's end.
    Order { count: o.count.min(ring.slots().saturating_sub(o.start)), ..o }
}
