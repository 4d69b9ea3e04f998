//! Each rule of order on a small ring: what a missing barrier leaves open, and that the right
//! one closes it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod brute;
mod explore;
mod oracle;
mod runs;

use super::*;
use crate::diag::Severity;
use crate::engine::fixture::*;
use crate::engine::program::{Blob, DeviceOp, HostOp, Program, QueueId, RingType, ScriptOp};
use crate::udma::profile::{MARKER as WORD, WaitKind};
use crate::udma::{Desc, reg};
use std::collections::BTreeSet;

const FIRST: u32 = 1 << 26;
const LAST: u32 = 1 << 27;
const CONCAT: u32 = 1 << 31;
const PHASE: u32 = 1 << 24;
const COPY: u32 = 0x0108_0003;
/// The other queue.
const B: QueueId = QueueId { engine: 128, queue: 1 };

/// A copy of `len` bytes within the device, addresses counted from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pair {
    src: u64,
    dst: u64,
    len: u32,
    dmb: bool,
    wb: bool,
    sow: bool,
}

fn pair(src: u64, dst: u64, len: u32) -> Pair {
    Pair { src: DEVICE + src, dst: DEVICE + dst, len, dmb: false, wb: false, sow: false }
}

/// The completion pair of marker `i`.
fn marker(i: u64) -> Pair {
    let at = MARKER + 8 * i;
    Pair { src: at, dst: at + 4, len: 4, dmb: false, wb: false, sow: false }
}

impl Pair {
    fn dmb(self) -> Pair {
        Pair { dmb: true, ..self }
    }
    fn wb(self) -> Pair {
        Pair { wb: true, ..self }
    }
    fn sow(self) -> Pair {
        Pair { sow: true, ..self }
    }
    fn descs(self) -> [Desc; 2] {
        let bit = |on, at: u32| if on { 1u32 << at } else { 0 };
        let tx = self.len | PHASE | FIRST | LAST | bit(self.dmb, 30);
        let rx = self.len | PHASE | bit(self.sow, 29);
        let word1 = COPY | bit(self.wb, 26);
        let tx = Desc { len_ctrl: tx, word1, ptr: self.src };
        [tx, Desc { len_ctrl: rx, word1: 0, ptr: self.dst }]
    }
}

fn copy_in(queue: QueueId, dir: Dir, at: u64, list: &[Desc]) -> HostOp {
    let descs = Blob::from_vec(list.iter().flat_map(|d| d.to_bytes()).collect());
    HostOp::CopyIn { queue, ring: RingType::Dir(dir), at, descs }
}

fn stage(queue: QueueId, at: u64, pairs: &[Pair]) -> Vec<HostOp> {
    let of = |i: usize| -> Vec<Desc> { pairs.iter().map(|p| p.descs()[i]).collect() };
    vec![copy_in(queue, Dir::Tx, at, &of(0)), copy_in(queue, Dir::Rx, at, &of(1))]
}

fn seed(i: u64) -> HostOp {
    let mut bytes = WORD.to_le_bytes().to_vec();
    bytes.extend([0; 4]);
    HostOp::Store { addr: MARKER + 8 * i, bytes: Blob::from_vec(bytes) }
}

fn start(queue: QueueId, n: u32) -> HostOp {
    HostOp::CopyStart { queue, m2s: n, s2m: n }
}

fn wait(queue: QueueId, i: u64, count: u32) -> HostOp {
    HostOp::Wait { queue, marker: MARKER + 8 * i, count, kind: WaitKind::Async }
}

/// The pairs as one batch in slots from `at` on, announced by marker `i`.
fn batch(queue: QueueId, at: u64, i: u64, pairs: &[Pair]) -> Vec<HostOp> {
    let mut ops = stage(queue, at, pairs);
    ops.extend([seed(i), start(queue, pairs.len() as u32)]);
    ops
}

/// Two queues that are authored elsewhere.
fn two_queues(ops: Vec<HostOp>) -> Program {
    let mut p = program(false, 64, Vec::new());
    p.queues.push(queue(B, TX + 0x8_0000, 64, false));
    p.script.push(HostOp::InitQueue { queue: B }.into());
    p.script.extend(ops.into_iter().map(ScriptOp::from));
    p
}

/// One batch of queue Q with marker 0, waited for.
fn one(pairs: &[Pair]) -> Program {
    let mut ops = batch(Q, 0, 0, pairs);
    ops.push(wait(Q, 0, pairs.len() as u32));
    two_queues(ops)
}

type Told = BTreeSet<(RaceKind, Option<u64>, Option<u64>)>;

/// Kinds and slots of what races under a reading.
fn under(p: &Program, readings: &str) -> Told {
    let done = check(p, readings.parse().unwrap());
    assert_eq!((done.more, &done.stopped, done.too_early), (0, &None, None));
    let slot = |s: &Side| s.slot.map(|s| s.index);
    done.races.iter().map(|r| (r.kind, slot(&r.first), slot(&r.second))).collect()
}

fn races(p: &Program) -> Told {
    under(p, "")
}

fn overtakes(slots: &[u64]) -> Told {
    slots.iter().map(|s| (RaceKind::MarkerOvertakes, Some(*s), None)).collect()
}

const A0: Pair =
    Pair { src: DEVICE, dst: DEVICE + 0x1000, len: 64, dmb: false, wb: false, sow: false };
const A1: Pair =
    Pair { src: DEVICE, dst: DEVICE + 0x2000, len: 64, dmb: false, wb: false, sow: false };

#[test]
fn without_a_barrier_the_marker_overtakes_all_of_its_batch() {
    let p = one(&[A0, A1, marker(0)]);
    assert_eq!(races(&p), overtakes(&[0, 1]));
    let done = check(&p, Readings::default());
    let r = &done.races[0];
    assert_eq!((r.bytes, r.lo, r.hi), (64, DEVICE + 0x1000, DEVICE + 0x1040));
    assert_eq!((r.missing, r.severity()), (Missing::MarkerBarrier, Severity::Error));
    let d = r.diagnostic(&p);
    assert_eq!(d.code, "R030");
    assert!(d.message.contains("the write of e128.q0.rx[0]"), "{}", d.message);
    assert!(d.message.contains("the poll for batch 1"), "{}", d.message);
    assert!(d.message.contains("under every reading"), "{}", d.message);
}

#[test]
fn a_write_barrier_orders_its_packet_and_all_before_it() {
    assert_eq!(under(&one(&[A0, A1.wb(), marker(0)]), "dmb=entry sow=self"), Told::new());
    // Earlier in the batch it covers only what lies up to it.
    assert_eq!(races(&one(&[A0.wb(), A1, marker(0)])), overtakes(&[1]));
    // On the marker it comes too late.
    assert_eq!(races(&one(&[A0, A1, marker(0).wb()])), overtakes(&[0, 1]));
}

#[test]
fn a_dmb_reaches_as_far_as_its_reading() {
    let p = one(&[A0, A1.dmb(), marker(0)]);
    assert_eq!(races(&p), Told::new());
    assert_eq!(under(&p, "sow=self"), Told::new());
    assert_eq!(under(&p, "dmb=entry"), overtakes(&[1]));
    let found = check(&p, Readings::STRICT).races;
    assert_eq!(found[0].holds.words(), "only under dmb=entry");
    assert_eq!(found[0].severity(), Severity::Note);
    // On the marker its first half is enough: the marker's read follows all writes.
    assert_eq!(under(&one(&[A0, A1, marker(0).dmb()]), "dmb=entry"), Told::new());
}

#[test]
fn a_strongly_ordered_write_reaches_as_far_as_its_reading() {
    assert_eq!(under(&one(&[A0, A1, marker(0).sow()]), "sow=self"), Told::new());
    let p = one(&[A0, A1.sow(), marker(0)]);
    assert_eq!(races(&p), Told::new());
    assert_eq!(under(&p, "dmb=entry"), Told::new());
    assert_eq!(under(&p, "sow=self"), overtakes(&[0, 1]));
}

#[test]
fn a_finding_of_both_strict_readings_says_so() {
    // Only the entry half of DMB and only the self half of SOW leave slot 1 open.
    let p = one(&[A0, A1.dmb().sow(), marker(0)]);
    assert_eq!(under(&p, "dmb=entry"), Told::new());
    assert_eq!(under(&p, "sow=self"), Told::new());
    assert_eq!(under(&p, "dmb=entry sow=self"), overtakes(&[1]));
    let found = check(&p, Readings::STRICT).races;
    assert_eq!(found[0].holds.words(), "only under dmb=entry with sow=self");
}

#[test]
fn a_copy_from_what_the_one_before_writes_needs_a_dmb() {
    let second = pair(0x1020, 0x3000, 64);
    let raw: Told = [(RaceKind::ReadAfterWrite, Some(0), Some(1))].into();
    // A write barrier orders writes, not a read after them.
    assert_eq!(races(&one(&[A0.wb(), second.wb(), marker(0)])), raw);
    let p = one(&[A0, second.dmb(), marker(0)]);
    assert_eq!(races(&p), Told::new());
    assert_eq!(under(&p, "dmb=entry"), overtakes(&[1]));
    // On the one that writes: its second half.
    let p = one(&[A0.dmb(), second.wb(), marker(0)]);
    assert_eq!(races(&p), Told::new());
    assert_eq!(under(&p, "dmb=entry"), raw);
    let r = check(&p, Readings::STRICT).races[0];
    assert_eq!((r.bytes, r.missing), (32, Missing::Dmb));
    // The other way round, a write over what was read before, the queue itself keeps order.
    let over = pair(0x3000, 0, 64);
    assert_eq!(races(&one(&[A0, over.wb(), marker(0)])), Told::new());
}

#[test]
fn writes_of_one_queue_to_a_byte_keep_their_order() {
    let p = one(&[A0, A0, A1.wb(), marker(0)]);
    assert_eq!(races(&p), Told::new());
    // The marker's write lies over slot 1's: that one comes before the poll, with all that
    // comes before it.
    let wide = Pair { len: 8, ..marker(0) };
    let under_it = Pair { dst: MARKER + 8, len: 4, ..A1 };
    assert_eq!(races(&one(&[A0, under_it, wide])), overtakes(&[0]));
    assert_eq!(under(&one(&[A0, under_it.sow(), wide]), "sow=self"), Told::new());
}

#[test]
fn a_poll_follows_the_slots_and_the_sources_of_its_batch() {
    let mut ops = batch(Q, 0, 0, &[A0.wb(), marker(0)]);
    ops.push(wait(Q, 0, 2));
    // Source, destination and slots may be written again.
    for addr in [DEVICE, DEVICE + 0x1000] {
        ops.push(HostOp::Store { addr, bytes: Blob::from_vec(vec![0; 64]) });
    }
    ops.extend(stage(Q, 0, &[A0.wb(), marker(0)]));
    assert_eq!(races(&two_queues(ops.clone())), Told::new());
    ops.remove(4);
    use RaceKind::*;
    let found = races(&two_queues(ops));
    assert!(found.contains(&(WriteAfterRead, Some(0), None)), "{found:?}");
    assert!(found.contains(&(WriteAfterWrite, Some(0), None)), "{found:?}");
    assert!(found.contains(&(SlotReuse, Some(1), Some(0))), "{found:?}");
}

#[test]
fn a_slot_that_is_written_again_before_its_batch_is_seen_races_with_its_fetch() {
    let reuse = |held: bool| {
        let mut ops = Vec::new();
        if held {
            ops.push(HostOp::Device(DeviceOp::Hold));
        }
        ops.extend(batch(Q, 0, 0, &[A0.wb(), marker(0)]));
        // Acked unseen, and staged again.
        ops.push(HostOp::Ack { queue: Q, count: 2 });
        ops.extend(stage(Q, 0, &[A1]));
        if held {
            ops.push(HostOp::Device(DeviceOp::Kick));
        }
        ops
    };
    for held in [false, true] {
        let done = check(&two_queues(reuse(held)), Readings::default());
        // The whole of slot 0 is the same in both orders, whichever came first.
        let kinds: Vec<_> = done.races.iter().map(|r| (r.kind, r.missing)).collect();
        assert_eq!(kinds, [(RaceKind::SlotReuse, Missing::BatchWait); 2], "held {held}");
    }
}

/// Rings by writing the doorbell registers.
fn ring_bare(n: u32) -> [HostOp; 2] {
    [Dir::Rx, Dir::Tx].map(|dir| {
        let offset = reg::queue_block(dir, 0) + reg::queue_reg(dir, "drtp_inc").unwrap().offset;
        HostOp::RegWrite { engine: 128, offset, value: n }
    })
}

#[test]
fn without_a_fence_a_fetch_may_see_the_old_slot_and_a_read_the_old_bytes() {
    let ops = |fence: bool| {
        let mut ops = vec![HostOp::Store { addr: DEVICE, bytes: Blob::from_vec(vec![1; 8]) }];
        ops.extend(stage(Q, 0, &[A0.wb(), marker(0)]));
        ops.push(seed(0));
        ops.extend(fence.then_some(HostOp::Fence));
        ops.extend(ring_bare(2));
        ops.push(wait(Q, 0, 2));
        two_queues(ops)
    };
    assert_eq!(races(&ops(true)), Told::new());
    let done = check(&ops(false), Readings::default());
    let kinds: BTreeSet<_> = done.races.iter().map(|r| r.kind).collect();
    use RaceKind::*;
    // The seed of the polled word against the marker's write is one as well.
    assert_eq!(kinds, [ReadAfterWrite, WriteAfterWrite, OldSlot].into());
    assert!(done.races.iter().all(|r| r.missing == Missing::Fence || r.kind == WriteAfterWrite));
    assert_eq!(done.races.iter().filter(|r| r.kind == OldSlot).count(), 4);
}

#[test]
fn queues_meet_only_where_the_host_waits() {
    let ops = |waits: bool, second: Pair| {
        let mut ops = batch(Q, 0, 0, &[A0.wb(), marker(0)]);
        ops.extend(waits.then_some(wait(Q, 0, 2)));
        ops.extend(batch(B, 0, 1, &[second.wb(), marker(1)]));
        if !waits {
            ops.push(wait(Q, 0, 2));
        }
        ops.push(wait(B, 1, 2));
        two_queues(ops)
    };
    use RaceKind::*;
    let both = A1;
    let same = Pair { dst: A0.dst, ..A1 };
    let from = pair(0x1000, 0x3000, 8);
    let onto = pair(0x3000, 0, 8);
    assert_eq!(races(&ops(false, both)), Told::new());
    for (second, kind) in [(same, WriteAfterWrite), (from, ReadAfterWrite), (onto, WriteAfterRead)]
    {
        assert_eq!(races(&ops(true, second)), Told::new());
        let done = check(&ops(false, second), Readings::default()).races;
        let of_queues: Vec<_> = done.iter().filter(|r| r.missing == Missing::QueueWait).collect();
        assert_eq!((of_queues.len(), of_queues[0].kind), (1, kind));
        assert!(of_queues[0].diagnostic(&ops(false, second)).help.unwrap().contains("two queues"));
    }
}

#[test]
fn of_a_shared_marker_only_the_earliest_write_is_certain() {
    let ops = |markers: [u64; 2], again: bool| {
        let mut ops = batch(Q, 0, markers[0], &[A0.wb(), marker(markers[0])]);
        ops.extend(again.then_some(wait(Q, markers[0], 2)));
        ops.extend(batch(Q, 2, markers[1], &[A1.wb(), marker(markers[1])]));
        ops.push(wait(Q, markers[0], 2));
        if markers[0] != markers[1] {
            ops.push(wait(Q, markers[1], 2));
        }
        two_queues(ops)
    };
    assert_eq!(races(&ops([0, 1], false)), Told::new());
    assert_eq!(races(&ops([0, 0], true)), Told::new());
    let found = races(&ops([0, 0], false));
    use RaceKind::*;
    // The second seed against the first marker, the re-arm against the second one.
    for told in [
        (WriteAfterRead, Some(1), None),
        (WriteAfterWrite, Some(1), None),
        (WriteAfterRead, Some(3), None),
        (WriteAfterWrite, Some(3), None),
    ] {
        assert!(found.contains(&told), "{told:?} {found:?}");
    }
    // A wait for both at once is about both.
    let mut ops = batch(Q, 0, 0, &[A0.wb(), marker(0)]);
    ops.extend(stage(Q, 2, &[A1.wb(), marker(0)]));
    ops.extend([start(Q, 2), wait(Q, 0, 4)]);
    let done = check(&two_queues(ops), Readings::default()).races;
    let own = done.iter().find(|r| r.kind == MarkerOvertakes).unwrap();
    assert_eq!(own.slots().collect::<Vec<_>>(), [(Dir::Rx, 2)]);
    assert!(matches!(own.missing, Missing::OwnMarker(s) if s.index == 1));
}

#[test]
fn a_marker_that_nobody_wrote_orders_nothing() {
    // The word holds the marker before the batch begins.
    let mut ops = batch(Q, 0, 0, &[A0.wb(), marker(0)]);
    ops.insert(
        3,
        HostOp::Store { addr: MARKER + 4, bytes: Blob::from_vec(WORD.to_le_bytes().to_vec()) },
    );
    ops.push(wait(Q, 0, 2));
    ops.insert(0, HostOp::Device(DeviceOp::Latency(1000)));
    let p = two_queues(ops);
    let done = check(&p, Readings::default());
    let r = done.races.iter().find(|r| r.kind == RaceKind::MarkerOvertakes).unwrap();
    // The write came after the poll that should have followed it.
    assert_eq!((r.first.act, r.second.act, r.missing), (Act::Poll, Act::Write, Missing::Marker));
    assert_eq!(done.too_early, None);
}

#[test]
fn an_idle_engine_is_done_with_all() {
    let mut ops = batch(Q, 0, 0, &[A0, A1]);
    ops.push(HostOp::WaitIdle { queue: Q, count: 2 });
    ops.push(HostOp::Store { addr: DEVICE + 0x1000, bytes: Blob::from_vec(vec![0; 8]) });
    ops.extend(stage(Q, 0, &[A0]));
    assert_eq!(races(&two_queues(ops.clone())), Told::new());
    ops.remove(4);
    assert!(!races(&two_queues(ops)).is_empty());
}

#[test]
fn padding_is_no_access() {
    let pad = Pair { dst: MARKER, ..marker(0) };
    assert_eq!(races(&one(&[A0, pad, pad.wb(), marker(0)])), Told::new());
    // More than four bytes onto themselves are a copy.
    let big = Pair { src: MARKER, dst: MARKER, len: 8, ..marker(0) };
    assert!(!races(&one(&[A0, big.wb(), marker(0)])).is_empty());
}

#[test]
fn a_barrier_inside_a_packet_counts_for_the_packet() {
    // A packet of two, the DMB on its first descriptor.
    let chain = |dmb: bool| {
        let [mut a, ra] = if dmb { A0.dmb() } else { A0 }.descs();
        let [mut b, rb] = A1.descs();
        a.len_ctrl = a.len_ctrl & !LAST | CONCAT;
        b.len_ctrl &= !FIRST;
        let [m, rm] = marker(0).descs();
        let ops = vec![
            copy_in(Q, Dir::Tx, 0, &[a, b, m]),
            copy_in(Q, Dir::Rx, 0, &[ra, rb, rm]),
            seed(0),
            start(Q, 3),
            wait(Q, 0, 3),
        ];
        two_queues(ops)
    };
    assert_eq!(races(&chain(false)), overtakes(&[0, 1]));
    assert_eq!(races(&chain(true)), Told::new());
    assert_eq!(under(&chain(true), "dmb=entry"), overtakes(&[0, 1]));
}
