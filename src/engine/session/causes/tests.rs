//! Origins, writers and readers against a memory in which every byte carries where it came from.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::origin::{From, Path};
use super::*;
use crate::bir::{AluOp, Dtype, TransposeOp, compute};
use crate::engine::command::{Command, Goto};
use crate::engine::expr::Expr;
use crate::engine::fixture::{self, *};
use crate::engine::program::{Blob, Fill, HostOp, Program, Region, RegionKind, RingType};
use crate::engine::ring::device::Work;
use crate::limits::MAX_ORIGIN_HOPS;
use crate::udma::Desc;
use crate::udma::payload::{Payload, Source, SubOp};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const SIZE: u64 = 256;
/// Where random packets read and write.
const WINDOW: u64 = 96;

/// The end of a path: the event that wrote the byte (0: from the start), and its address then.
type Leaf = (u64, u64);
type Tag = BTreeSet<Leaf>;

fn leaves(path: &Path) -> Tag {
    assert_eq!(path.cut, None);
    let mut out = Tag::new();
    for s in &path.steps {
        let event = match &s.from {
            From::Written(e) => e.n,
            From::Initial(_) => 0,
            From::Visible { .. } | From::Read { .. } => continue,
            From::NotFollowed(why) => panic!("{why}"),
        };
        out.extend((s.span.0..s.span.0 + s.span.1).map(|a| (event, a)));
    }
    out
}

/// A run in which each byte carries its leaves along.
#[derive(Default)]
struct Twin {
    tags: BTreeMap<u64, Tag>,
    writer: BTreeMap<u64, u64>,
    /// What the packet in work has read, and what it makes of it.
    read: Vec<Tag>,
    made: Option<VecDeque<Tag>>,
}

impl Twin {
    fn tag(&self, addr: u64) -> Tag {
        self.tags.get(&addr).cloned().unwrap_or_else(|| Tag::from([(0, addr)]))
    }

    fn host(&mut self, n: u64, addr: u64, len: u64) {
        for a in addr..addr + len {
            self.tags.insert(a, Tag::from([(n, a)]));
            self.writer.insert(a, n);
        }
    }

    fn event(&mut self, m: &Machine, e: &Event) {
        match e.kind {
            EventKind::Stage { tx, rx, .. } => {
                for (dir, s) in [(Dir::Tx, tx), (Dir::Rx, rx)] {
                    if s.desc.is_some() {
                        self.host(e.n, m.queues[0].ring(dir).slot_addr(s.slot), 16);
                    }
                }
            }
            EventKind::CopyIn { dir, slot, count, .. } => {
                self.host(e.n, m.queues[0].ring(dir).slot_addr(slot), 16 * count);
            }
            EventKind::Store { addr, len } => self.host(e.n, addr, len),
            EventKind::MarkerWrite { addr, .. } => self.host(e.n, addr, 4),
            EventKind::Read { addr, len, .. } => {
                self.read.extend((addr..addr + len).map(|a| self.tag(a)).collect::<Vec<_>>());
            }
            EventKind::Visible { addr, len, .. } => {
                let work = m.queues[0].packet.work.clone();
                if matches!(work, Work::Copy | Work::Replicate(1)) {
                    let new: Vec<Tag> = self.read.drain(..len as usize).collect();
                    self.put(e.n, addr, new);
                    return;
                }
                let read = &self.read;
                let made = self.made.get_or_insert_with(|| make(&work, read).into());
                let new: Vec<Tag> = made.drain(..len as usize).collect();
                self.put(e.n, addr, new);
            }
            EventKind::Retire { packet_end: true, .. } => {
                self.read.clear();
                self.made = None;
            }
            _ => {}
        }
    }

    fn put(&mut self, n: u64, addr: u64, new: Vec<Tag>) {
        for (a, tag) in (addr..).zip(new) {
            self.tags.insert(a, tag);
            self.writer.insert(a, n);
        }
    }
}

fn union(tags: &[Tag]) -> Tag {
    tags.iter().flatten().copied().collect()
}

/// What a computation makes of tagged bytes, by other means than the code under test.
fn make(work: &Work, read: &[Tag]) -> Vec<Tag> {
    let payload = match work {
        Work::Replicate(n) => {
            return read.iter().cycle().take(read.len() * *n as usize).cloned().collect();
        }
        Work::Compute(payload) => payload,
        other => panic!("{other:?}"),
    };
    let size = |n: u8| Dtype::by_number(n.into()).unwrap().bytes() as usize;
    match &**payload {
        Payload::Transpose { order, elem, dims } => {
            let op = TransposeOp::by_number((*order).into()).unwrap();
            let count = read.len() / usize::from(*elem);
            let numbers: Vec<u8> = (0..count as u64).flat_map(u64::to_le_bytes).collect();
            let turned = compute::transpose(&numbers, 8, dims.map(u64::from), op);
            turned
                .chunks(8)
                .flat_map(|c| {
                    let at =
                        u64::from_le_bytes(c.try_into().unwrap()) as usize * usize::from(*elem);
                    read[at..at + usize::from(*elem)].to_vec()
                })
                .collect()
        }
        Payload::Cast { from, to } => {
            let all = read.chunks(size(*from)).map(union);
            all.flat_map(|t| vec![t; size(*to)]).collect()
        }
        Payload::Sum { sources, to, .. } => {
            let unit: usize = sources.iter().map(|s| size(s.dtype)).sum();
            let count = read.len() / unit;
            let mut out = vec![Tag::new(); count];
            let mut rest = read;
            for s in sources {
                let (part, after) = rest.split_at(count * size(s.dtype));
                for (o, element) in out.iter_mut().zip(part.chunks(size(s.dtype))) {
                    o.extend(union(element));
                }
                rest = after;
            }
            out.into_iter().flat_map(|t| vec![t; size(*to)]).collect()
        }
    }
}

/// A packet to be made: what it does, how the stream is cut, where it reads and writes.
#[derive(Debug, Clone)]
struct Plan {
    what: What,
    tx_cuts: Vec<u64>,
    rx_cuts: Vec<u64>,
    places: Vec<u64>,
}

#[derive(Debug, Clone)]
enum What {
    Copy(u64),
    Replicate(u64, u64),
    Transpose(u8, u8, [u16; 4]),
    Sum(usize, u64),
    Cast(u64),
}

const F32: u8 = 16;
const F16: u8 = 13;

impl What {
    /// Descriptors in front, the class word, bytes that Tx streams and that Rx takes.
    fn shape(&self) -> (Vec<Desc>, u32, u64, u64) {
        let of = |p: Payload, tx: u64, rx: u64| (p.metas(), p.word(), tx, rx);
        match *self {
            What::Copy(n) => (Vec::new(), 0x0108_0003, n, n),
            What::Replicate(n, times) => (Vec::new(), 0x00a0_0000 | times as u32, n, n * times),
            What::Transpose(order, elem, dims) => {
                let n = dims.iter().map(|d| u64::from(*d)).product::<u64>() * u64::from(elem);
                of(Payload::Transpose { order, elem, dims }, n, n)
            }
            What::Sum(sources, count) => {
                let scale = 1f32.to_bits();
                let types = (0..sources).map(|k| if k % 2 == 0 { F32 } else { F16 });
                let sources: Vec<Source> = types.map(|dtype| Source { dtype, scale }).collect();
                let unit: u64 = sources.iter().map(|s| if s.dtype == F32 { 4 } else { 2 }).sum();
                of(Payload::Sum { op: SubOp::Add, sources, to: F32 }, unit * count, 4 * count)
            }
            What::Cast(count) => of(Payload::Cast { from: F16, to: F32 }, 2 * count, 4 * count),
        }
    }
}

/// Lengths that add up to `total`.
fn cut(total: u64, cuts: &[u64]) -> Vec<u64> {
    let mut left = total;
    let mut out = Vec::new();
    for c in cuts {
        let n = 1 + c % left;
        if n < left {
            out.push(n);
            left -= n;
        }
    }
    out.push(left);
    out
}

/// Addresses of the window, of slots that were used, and of slots that never will be.
fn place(n: u64, written: bool) -> u64 {
    match n % 8 {
        0 if !written => TX + n % 128,
        0 | 1 => TX + 16 * 200 + n % WINDOW,
        _ => DEVICE + n % WINDOW,
    }
}

fn packet(plan: &Plan) -> (Vec<Desc>, Vec<Desc>) {
    let (metas, word, tx_bytes, rx_bytes) = plan.what.shape();
    let mut places = plan.places.iter().cycle().copied();
    let mut next = |written| place(places.next().unwrap(), written);
    let lengths = cut(tx_bytes, &plan.tx_cuts);
    let end = lengths.len() - 1;
    let mut tx = metas;
    tx.extend(lengths.iter().enumerate().map(|(n, len)| {
        let first = u32::from(n == 0) << 26;
        let last = if n == end { 1 << 27 } else { 1 << 31 };
        Desc { len_ctrl: *len as u32 | 1 << 24 | first | last, word1: word, ptr: next(false) }
    }));
    let lengths = cut(rx_bytes, &plan.rx_cuts);
    let rx = lengths.iter().map(|len| Desc {
        len_ctrl: *len as u32 | 1 << 24,
        word1: 0,
        ptr: next(true),
    });
    (tx, rx.collect())
}

fn copy_in(dir: Dir, at: u64, descs: &[Desc]) -> HostOp {
    let bytes: Vec<u8> = descs.iter().flat_map(|d| d.to_bytes()).collect();
    HostOp::CopyIn { queue: Q, ring: RingType::Dir(dir), at, descs: Blob::from_vec(bytes) }
}

/// One batch after another, each copied in, rung and waited for, with stores in between.
fn authored(batches: &[Vec<Plan>], stores: &[(u64, Vec<u8>)]) -> Program {
    let mut ops = Vec::new();
    let (mut tx_at, mut rx_at) = (0, 0);
    for (n, batch) in batches.iter().enumerate() {
        let (mut tx, mut rx) = (Vec::new(), Vec::new());
        for plan in batch {
            let p = packet(plan);
            tx.extend(p.0);
            rx.extend(p.1);
        }
        ops.push(copy_in(Dir::Tx, tx_at, &tx));
        ops.push(copy_in(Dir::Rx, rx_at, &rx));
        let (m2s, s2m) = (tx.len() as u32, rx.len() as u32);
        ops.push(HostOp::CopyStart { queue: Q, m2s, s2m });
        ops.push(HostOp::WaitIdle { queue: Q, count: m2s.min(s2m) });
        tx_at += u64::from(m2s);
        rx_at += u64::from(s2m);
        if let Some((at, bytes)) = stores.get(n) {
            let addr = DEVICE + at % WINDOW;
            ops.push(HostOp::Store { addr, bytes: Blob::from_vec(bytes.clone()) });
        }
    }
    let mut p = fixture::program(false, SIZE, ops);
    p.regions[0].fill = Fill::Pattern(3);
    // The rings are memory that descriptors may name.
    p.regions.push(Region {
        name: "rings".into(),
        kind: RegionKind::Host,
        base: TX,
        len: 2 * RX_AFTER,
        fill: Fill::Zero,
    });
    p.sort_regions();
    p
}

fn what() -> impl Strategy<Value = What> {
    let dims = [1u16..4, 1u16..4, 1u16..4, 1u16..4];
    prop_oneof![
        4 => (1u64..40).prop_map(What::Copy),
        1 => (1u64..10, 1u64..5).prop_map(|(n, times)| What::Replicate(n, times)),
        2 => (1u8..14, prop_oneof![Just(1u8), Just(2), Just(4)], dims)
            .prop_map(|(order, elem, dims)| What::Transpose(order, elem, dims)),
        1 => (1usize..4, 1u64..5).prop_map(|(sources, count)| What::Sum(sources, count)),
        1 => (1u64..8).prop_map(What::Cast),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let cuts = || prop::collection::vec(any::<u64>(), 0..3);
    (what(), cuts(), cuts(), prop::collection::vec(0u64..4096, 8))
        .prop_map(|(what, tx_cuts, rx_cuts, places)| Plan { what, tx_cuts, rx_cuts, places })
}

fn go_on(_: super::super::Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn session(p: Program) -> Session {
    let mut s = Session::new(Arc::new(p));
    s.execute(&Command::Goto(Goto::Mark("end".into()))).unwrap();
    s
}

/// The twin after event `n`.
fn twin(p: &Program, n: u64) -> Twin {
    let mut t = Twin::default();
    crate::engine::ring::machine::run(p, |m, e| {
        if e.n <= n {
            t.event(m, e);
        }
        e.n < n
    });
    t
}

fn at(addr: u64, len: u64) -> Bytes {
    Bytes::Span { addr: Expr::Num(addr), len: Some(Expr::Num(len)) }
}

fn lines(s: &mut Session, c: Command) -> Vec<String> {
    s.execute(&c).unwrap().lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn origins_and_writers_are_those_of_tagged_bytes(
        batches in prop::collection::vec(prop::collection::vec(plan(), 1..4), 1..4),
        stores in prop::collection::vec((0u64..1000, prop::collection::vec(any::<u8>(), 1..24)), 0..4),
        asked in prop::collection::vec((any::<u64>(), 0u64..4096), 12),
        part in (0u64..4096, 1u64..40),
    ) {
        let p = authored(&batches, &stores);
        let mut s = session(p.clone());
        let end = s.position();
        prop_assert!(s.machine().findings.iter().all(|d| d.code != "R001"), "{:?}", s.machine().findings);
        for (when, which) in asked {
            let n = when % (end + 1);
            let t = twin(&p, n);
            let addr = place(which, false);
            let path = s.path_of(n, (addr, 1), &mut go_on);
            prop_assert_eq!(leaves(&path), t.tag(addr), "{:#x} at event {}", addr, n);
            let (writers, _) = s.writers(n, (addr, 1), &mut go_on);
            let by = writers[0].1.map(|e| e.n);
            prop_assert_eq!(by, t.writer.get(&addr).copied());
        }
        let (addr, len) = (place(part.0, false), part.1);
        let t = twin(&p, end);
        let all = union(&(addr..addr + len).map(|a| t.tag(a)).collect::<Vec<_>>());
        prop_assert_eq!(leaves(&s.path_of(end, (addr, len), &mut go_on)), all);
        let (writers, _) = s.writers(end, (addr, len), &mut go_on);
        let covered: u64 = writers.iter().map(|w| w.0.1).sum();
        prop_assert_eq!(covered, len);
        for ((from, n), e) in writers {
            for a in from..from + n {
                prop_assert_eq!(e.map(|e| e.n), t.writer.get(&a).copied());
            }
        }
    }

    #[test]
    fn the_next_read_is_the_first_event_that_reads_the_byte(
        batch in prop::collection::vec(plan(), 1..4),
        which in 0u64..4096,
        when in any::<u64>(),
    ) {
        let p = authored(&[batch], &[]);
        let mut s = session(p.clone());
        let n = when % s.position();
        let addr = place(which, false);
        let mut first = None;
        crate::engine::ring::machine::run(&p, |m, e| {
            let span = match e.kind {
                EventKind::Fetch { dir, slot, .. } => (m.queues[0].ring(dir).slot_addr(slot), 16),
                EventKind::Read { addr, len, .. } => (addr, len),
                _ => (0, 0),
            };
            if e.n > n && span.0 <= addr && addr < span.0 + span.1 {
                first.get_or_insert(e.n);
            }
            true
        });
        s.execute(&Command::Goto(Goto::Event(Expr::Num(n)))).unwrap();
        let before = s.machine().digest();
        let told = lines(&mut s, Command::NextRead(at(addr, 1)));
        match first {
            Some(e) => prop_assert!(told[0].contains(&format!(": event {e}, ")), "{:?}", told),
            None => prop_assert!(told[0].starts_with("nothing reads "), "{:?}", told),
        }
        prop_assert_eq!(s.machine().digest(), before);
    }
}

fn hop(from: u64, to: u64, size: u64) -> HostOp {
    HostOp::Copy { queue: Q, src: from, dst: to, size }
}

#[test]
fn a_chain_of_copies_is_followed_to_the_store_at_its_end() {
    let bytes = Blob::from_vec(b"here".to_vec());
    let (a, b, c) = (DEVICE, DEVICE + 0x100, DEVICE + 0x203);
    let p = fixture::program(
        true,
        64,
        vec![
            HostOp::Store { addr: a, bytes },
            hop(a, b, 8),
            hop(b, c, 8),
            hop(c, DEVICE + 0x400, 8),
            // What was copied from is written over: the path does not see it.
            HostOp::Store { addr: a, bytes: Blob::from_vec(vec![0; 8]) },
            hop(BUFFER, b, 8),
        ],
    );
    let mut s = session(p);
    let end = s.position();
    let path = s.path_of(end, (DEVICE + 0x400, 8), &mut go_on);
    let copies = path.steps.iter().filter(|s| matches!(s.from, From::Visible { .. })).count();
    assert_eq!(copies, 3);
    let store = s.timeline.events(1, end, &s.machine.clone());
    let store = store.iter().find(|e| matches!(e.kind, EventKind::Store { .. })).unwrap().n;
    let want: Tag = (a..a + 4).map(|x| (store, x)).chain((a + 4..a + 8).map(|x| (0, x))).collect();
    assert_eq!(leaves(&path), want);
    let told = lines(&mut s, Command::Origin(at(DEVICE + 0x400, 8)));
    assert!(
        told[0].starts_with("device+0x400 (0x10000400), 8 B: copied by e128.q0.rx[4], batch 3")
    );
    assert!(told[1].starts_with("  from device+0x203"), "{told:?}");
    let last = told.iter().rev().find(|l| l.contains("store 4 B")).unwrap();
    assert!(last.starts_with(&" ".repeat(12)), "{told:?}");
    assert_eq!(s.position(), end);
}

#[test]
fn a_chain_longer_than_is_followed_says_so() {
    let there_and_back = |n: u32| {
        let (a, b) = (DEVICE, DEVICE + 8);
        if n.is_multiple_of(2) { hop(a, b, 8) } else { hop(b, a, 8) }
    };
    let p = fixture::program(true, 64, (0..MAX_ORIGIN_HOPS + 4).map(there_and_back).collect());
    let mut s = session(p);
    let told = lines(&mut s, Command::Origin(at(DEVICE, 1)));
    assert!(told.last().unwrap().ends_with("more copies than are followed"), "{told:?}");
    // A step for each copy and for each of its reads, and the last word.
    assert_eq!(told.len() as u32, 2 * MAX_ORIGIN_HOPS + 2);
}

#[test]
fn descriptor_bytes_are_followed_like_any_others() {
    let ring = DEVICE + 0x1000;
    let p = fixture::program(true, 64, vec![hop(TX, ring, 16), hop(ring + 8, DEVICE, 8)]);
    let mut s = session(p);
    let told = lines(&mut s, Command::Origin(at(DEVICE, 8)));
    assert!(told.last().unwrap().contains("stage pair tx[0] rx[0] 16 B"), "{told:?}");
    let told = lines(
        &mut s,
        Command::Origin(Bytes::Slots {
            queue: Default::default(),
            dir: Dir::Rx,
            first: 0,
            last: 1,
        }),
    );
    assert_eq!(told.len(), 2, "{told:?}");
}

#[test]
fn a_range_tells_each_writer_with_its_part_and_whether_it_changed_anything() {
    let zero = |addr| HostOp::Store { addr, bytes: Blob::from_vec(vec![0; 4]) };
    let p = fixture::program(
        true,
        64,
        vec![hop(BUFFER, DEVICE, 16), zero(DEVICE + 4), zero(DEVICE + 4)],
    );
    let mut s = session(p);
    let told = lines(&mut s, Command::LastWrite(at(DEVICE, 24)));
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[0].starts_with("device (0x10000000), 4 B: event ") && told[0].contains("changed"));
    assert!(told[0].contains("rx[0], batch 1"));
    assert!(told[1].contains("4 B: event ") && told[1].contains("unchanged by it"), "{told:?}");
    assert!(told[3].ends_with("8 B: no event wrote it; zeroes from the start (`device`)"));
    let told = lines(&mut s, Command::LastWrite(at(0x10, 1)));
    assert!(told[0].ends_with("no memory is known there"), "{told:?}");
    for (addr, len) in [(DEVICE, 0), (DEVICE, MAX_TRACE_BYTES + 1), (u64::MAX, 2)] {
        assert_eq!(s.execute(&Command::LastWrite(at(addr, len))).unwrap_err().code, "S003");
    }
    assert!(s.execute(&Command::LastWrite(at(u64::MAX, 1))).is_ok());
}

#[test]
fn more_writers_than_are_told_are_counted() {
    let one = |n: u64| HostOp::Store { addr: DEVICE + n, bytes: Blob::from_vec(vec![1]) };
    let p = fixture::program(true, 64, (0..100).map(one).collect());
    let mut s = session(p);
    let told = lines(&mut s, Command::LastWrite(at(DEVICE, 100)));
    assert_eq!(told.len(), MAX_TRACE_PARTS + 1);
    assert_eq!(told.last().unwrap(), "36 more bytes, by more writers than are told");
}

#[test]
fn a_successful_poll_reads_what_its_batch_wrote() {
    let mut s = session(fixture::program(true, 64, vec![copy(64)]));
    s.execute(&Command::Restart).unwrap();
    let told = lines(&mut s, Command::NextRead(at(DEVICE, 1)));
    assert!(told[0].contains("poll "), "{told:?}");
    assert_eq!(told[1], "  a successful poll counts as a read of all that its batch wrote");
    assert!(told[2].starts_with("  written before that: event "), "{told:?}");
    // A later batch's poll does not read what an acked one wrote.
    let mut s = session(fixture::program(true, 64, vec![copy(64), hop(BUFFER, DEVICE + 64, 64)]));
    s.execute(&Command::Restart).unwrap();
    s.execute(&Command::Finish { back: false }).unwrap();
    let told = lines(&mut s, Command::NextRead(at(DEVICE, 1)));
    assert!(told[0].starts_with("nothing reads "), "{told:?}");
}

#[test]
fn a_look_back_can_be_cancelled_and_then_says_so() {
    let mut s = session(fixture::program(true, 4096, vec![copy(1 << 20)]));
    let stop = &mut |_| ControlFlow::Break(());
    let told = s.execute_with(&Command::LastWrite(at(0x10, 1)), stop).unwrap().lines;
    assert_eq!(told, ["cancelled: what is older was not looked at"]);
    let told = s.execute_with(&Command::Origin(at(0x10, 1)), stop).unwrap().lines;
    assert_eq!(told, [".. and further: cancelled"]);
}

/// Only that the operation of the table is one that the model executes.
#[test]
fn the_sum_of_the_property_is_executed() {
    assert!(compute::is_cce_op(AluOp::Add));
    let plan = Plan {
        what: What::Sum(2, 3),
        tx_cuts: vec![1],
        rx_cuts: vec![2],
        places: vec![2, 99, 54, 3],
    };
    let s = session(authored(&[vec![plan]], &[]));
    assert!(s.machine().findings.is_empty(), "{:?}", s.machine().findings);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Of any program at any event: an answer, nothing moved, and what is foretold happens.
    #[test]
    fn why_and_explain_answer_everywhere_and_move_nothing(
        p in super::super::tests::random_program(),
        when in prop::collection::vec(any::<u64>(), 4),
    ) {
        let mut s = session(p);
        let end = s.position();
        for n in when {
            s.execute(&Command::Goto(Goto::Event(Expr::Num(n % (end + 1))))).unwrap();
            let before = s.machine().digest();
            let told = lines(&mut s, Command::Why(None));
            prop_assert!(told.len() >= 2, "{:?}", told);
            prop_assert!(!told[0].starts_with("next:") && !told[0].starts_with("also:"), "{:?}", told);
            let flip = told.iter().find_map(|l| l.strip_prefix("the marker flips at event "));
            if let Some(rest) = flip {
                let at: u64 = rest.split(',').next().unwrap().parse().unwrap();
                let m = s.state_at(at);
                let word = m.queues[0].marker + 4;
                prop_assert_eq!(m.memory.read_u32(word), 0xabcd_ef01, "{:?}", told);
            }
            for what in ["marker", "event 7", "batch 1", "tx[0:3]", "q0", "drtp_inc", "fault"] {
                let what = explained(what);
                match s.execute(&Command::Explain(what)) {
                    Ok(o) => prop_assert!(!o.lines.is_empty()),
                    Err(d) => prop_assert_eq!(d.code, "S005"),
                }
            }
            prop_assert_eq!(s.machine().digest(), before);
        }
    }
}

fn explained(text: &str) -> crate::engine::command::Explain {
    use crate::engine::command::{Explain, Loc};
    use crate::engine::expr::QueueRef;
    match text {
        "marker" => Explain::Loc(Loc::Marker),
        "event 7" => Explain::Loc(Loc::Event(7)),
        "batch 1" => Explain::Loc(Loc::Batch(1)),
        "q0" => Explain::Queue(QueueRef::Queue(0)),
        "fault" => Explain::Loc(Loc::Fault),
        "drtp_inc" => Explain::Register(text.to_owned()),
        _ => {
            let (queue, dir) = (QueueRef::Selected, Dir::Tx);
            Explain::Loc(Loc::Slots { queue, dir, first: 0, last: 3 })
        }
    }
}
