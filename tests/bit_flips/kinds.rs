//! The kinds of descriptors, each in a small complete program whose order hangs on its barriers.

use dmadbg::engine::program::{
    Blob, Content, Fill, HostOp, Program, QueueDecl, QueueId, Region, RegionKind, RingDecl,
    RingType, Start,
};
use dmadbg::udma::payload::{ONE, Payload, Source, SubOp};
use dmadbg::udma::{Desc, Dir, Generation, Profile};

const FIRST: u32 = 1 << 26;
const LAST: u32 = 1 << 27;
const CONCAT: u32 = 1 << 31;
const DMB: u32 = 1 << 30;
const SOW: u32 = 1 << 29;
const INT: u32 = 1 << 28;
const PHASE: u32 = 1 << 24;
const COPY: u32 = 0x0108_0003;
const BARRIER: u32 = 1 << 26;

const SRC: u64 = 0x1000_0000;
const DST: u64 = 0x10_1000_0000;

/// A kind, in a program.
pub struct Kind {
    pub name: &'static str,
    /// What the program is, in a sentence.
    pub words: &'static str,
    pub program: Program,
    pub tx: Vec<Desc>,
    pub rx: Vec<Desc>,
    /// The descriptor that is flipped.
    pub flipped: (Dir, usize),
    /// The bit of its sixteen bytes on which the order of the program hangs.
    pub barrier: Option<usize>,
}

fn tx(flags: u32, word1: u32, len: u32, ptr: u64) -> Desc {
    Desc { len_ctrl: flags | PHASE | len, word1, ptr }
}

fn rx(flags: u32, len: u32, ptr: u64) -> Desc {
    Desc { len_ctrl: flags | PHASE | len, word1: 0, ptr }
}

fn marker(arch: Generation) -> u64 {
    arch.host_base() + 0x4006_1000
}

fn region(name: &str, kind: RegionKind, base: u64, len: u64, fill: Fill) -> Region {
    Region { name: name.to_owned(), kind, base, len, fill }
}

/// A queue whose rings hold `tx` and `rx`, armed as one batch and awaited by its marker.
fn program(arch: Generation, tx: &[Desc], rx: &[Desc]) -> Program {
    let mut p = Program::new(arch, Profile::default_profile());
    let queue = QueueId { engine: 5, queue: 3 };
    let host = arch.host_base();
    p.queues.push(QueueDecl {
        id: queue,
        tx: Some(RingDecl { base: host + 0x4004_1000, size: 64 }),
        rx: Some(RingDecl { base: host + 0x4002_1000, size: 64 }),
        allocatable: false,
        marker_area: marker(arch),
        first: [Start::FRESH; 2],
    });
    p.regions = vec![
        region("source", RegionKind::Device, SRC, 0x2_0000, Fill::Pattern(15)),
        region("out", RegionKind::Device, DST, 0x2_0000, Fill::Zero),
        region("marker", RegionKind::Host, marker(arch), 24, Fill::Zero),
    ];
    // Small floats, so that what is computed on them differs from one to the next.
    let floats = (0..64u32).flat_map(|i| (i as f32 + 1.5).to_le_bytes()).collect();
    p.contents.push(Content { addr: SRC, bytes: Blob::from_vec(floats) });
    p.sort_regions();
    p.script.push(HostOp::InitQueue { queue }.into());
    for (dir, list) in [(Dir::Tx, tx), (Dir::Rx, rx)] {
        let descs = Blob::from_vec(list.iter().flat_map(|d| d.to_bytes()).collect());
        p.script.push(HostOp::CopyIn { queue, ring: RingType::Dir(dir), at: 0, descs }.into());
    }
    let seed = Blob::from_vec(vec![0x01, 0xef, 0xcd, 0xab, 0, 0, 0, 0]);
    p.script.push(HostOp::Store { addr: marker(arch), bytes: seed }.into());
    let (m2s, s2m) = (tx.len() as u32, rx.len() as u32);
    p.script.push(HostOp::CopyStart { queue, m2s, s2m }.into());
    p.script.push(HostOp::WaitRings { queue, marker: marker(arch), m2s, s2m }.into());
    p
}

/// What surrounds a descriptor: the completion pair, and who keeps it behind the data.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// DMB on the marker's Tx.
    Marker,
    /// The data itself carries it.
    Data,
    /// SOW on the marker's Rx.
    Sow,
}

fn kind(
    (name, words): (&'static str, &'static str),
    arch: Generation,
    (mut tx_list, mut rx_list): (Vec<Desc>, Vec<Desc>),
    order: Order,
    flipped: (Dir, usize),
) -> Kind {
    let m = marker(arch);
    let flags = if order == Order::Marker { DMB } else { 0 };
    tx_list.push(tx(FIRST | LAST | flags, COPY, 4, m));
    rx_list.push(rx(if order == Order::Sow { SOW } else { 0 }, 4, m + 4));
    let program = program(arch, &tx_list, &rx_list);
    Kind { name, words, program, tx: tx_list, rx: rx_list, flipped, barrier: None }
}

/// A packet that computes: its META words, its sources, its destination.
fn compute(payload: &Payload, sources: &[u32], rx_len: u32) -> (Vec<Desc>, Vec<Desc>) {
    let mut list: Vec<Desc> = payload.metas();
    let (mut at, last) = (SRC, sources.len() - 1);
    for (i, len) in sources.iter().enumerate() {
        let first = if i == 0 { FIRST } else { 0 };
        let end = if i == last { LAST } else { CONCAT };
        list.push(tx(first | end, payload.word(), *len, at));
        at += u64::from(*len);
    }
    (list, vec![rx(0, rx_len, DST)])
}

fn f32_source() -> Source {
    Source { dtype: 16, scale: ONE }
}

/// All kinds.
pub fn all() -> Vec<Kind> {
    let v3 = Generation::V3;
    let one = || (vec![tx(FIRST | LAST, COPY, 64, SRC)], vec![rx(0, 64, DST)]);
    let two = |flags, word1| {
        let list =
            vec![tx(FIRST | LAST, COPY, 64, SRC), tx(FIRST | LAST | flags, word1, 64, SRC + 64)];
        (list, vec![rx(0, 64, DST), rx(0, 64, DST + 64)])
    };
    let chain = || {
        let list = vec![
            tx(FIRST | CONCAT, COPY, 64, SRC),
            tx(CONCAT, COPY, 64, SRC + 64),
            tx(LAST, COPY, 64, SRC + 128),
        ];
        (list, vec![rx(0, 100, DST), rx(0, 92, DST + 100)])
    };
    let flagged = || {
        let list = vec![rx(FIRST | CONCAT, 32, DST), rx(LAST, 32, DST + 32)];
        (vec![tx(FIRST | LAST, COPY, 64, SRC)], list)
    };
    let add = Payload::Sum { op: SubOp::Add, sources: vec![f32_source(), f32_source()], to: 16 };
    let fma = Payload::Sum {
        op: SubOp::Add,
        sources: vec![f32_source(), Source { dtype: 16, scale: 2.0f32.to_bits() }],
        to: 16,
    };
    let max = Payload::Sum { op: SubOp::Max, sources: vec![f32_source(), f32_source()], to: 16 };
    let cast = Payload::Cast { from: 16, to: 12 };
    let turn = Payload::Transpose {
        order: dmadbg::bir::TransposeOp::by_number(11).map_or(0, |_| 11),
        elem: 4,
        dims: [2, 2, 2, 2],
    };
    let sums = |p: &Payload| compute(p, &[32, 32], 32);
    let copies = (vec![tx(FIRST | LAST, 0x00a0_0003, 64, SRC)], vec![rx(0, 192, DST)]);
    let int = || (vec![tx(FIRST | LAST, COPY, 64, SRC)], vec![rx(INT, 64, DST)]);
    let sow_int = || (vec![tx(FIRST | LAST, COPY, 64, SRC)], vec![rx(INT | SOW, 64, DST)]);
    let mut out = vec![
        kind(
            ("Tx, plain", "A copy; its marker carries the DMB."),
            v3,
            one(),
            Order::Marker,
            (Dir::Tx, 0),
        ),
        kind(("Rx, plain", "The destination of the same."), v3, one(), Order::Marker, (Dir::Rx, 0)),
        kind(
            ("Tx, plain, on v4", "The same copy on v4, which has notifications."),
            Generation::V4,
            one(),
            Order::Marker,
            (Dir::Tx, 0),
        ),
        kind(
            ("Tx, DMB", "The last of two copies carries the DMB, the marker nothing."),
            v3,
            two(DMB, COPY),
            Order::Data,
            (Dir::Tx, 1),
        ),
        kind(
            (
                "Tx, write barrier",
                "The last of two copies carries the write barrier, the marker nothing.",
            ),
            v3,
            two(0, COPY | BARRIER),
            Order::Data,
            (Dir::Tx, 1),
        ),
        kind(
            (
                "Rx, SOW on the marker",
                "The marker's Rx is strongly ordered, the data carries nothing.",
            ),
            v3,
            one(),
            Order::Sow,
            (Dir::Rx, 1),
        ),
        kind(
            ("Rx, interrupt", "A copy whose destination interrupts."),
            v3,
            int(),
            Order::Marker,
            (Dir::Rx, 0),
        ),
        kind(
            ("Rx, SOW and interrupt", "Both, beside a marker that carries the DMB."),
            v3,
            sow_int(),
            Order::Marker,
            (Dir::Rx, 0),
        ),
        kind(
            (
                "Tx of the completion pair",
                "The marker, with the DMB that keeps it behind the data.",
            ),
            v3,
            one(),
            Order::Marker,
            (Dir::Tx, 1),
        ),
        kind(
            ("Rx of the completion pair", "Where the host polls."),
            v3,
            one(),
            Order::Marker,
            (Dir::Rx, 1),
        ),
        kind(
            ("Tx, first of a chain", "Three descriptors stream into two."),
            v3,
            chain(),
            Order::Marker,
            (Dir::Tx, 0),
        ),
        kind(
            ("Tx, inside a chain", "The second of the same."),
            v3,
            chain(),
            Order::Marker,
            (Dir::Tx, 1),
        ),
        kind(
            ("Tx, last of a chain", "The third of the same."),
            v3,
            chain(),
            Order::Marker,
            (Dir::Tx, 2),
        ),
        kind(
            (
                "Rx with packet flags",
                "One copy into two descriptors that carry FIRST, CONCAT and LAST.",
            ),
            v3,
            flagged(),
            Order::Marker,
            (Dir::Rx, 0),
        ),
        kind(
            ("Tx, replicate", "64 bytes, written three times."),
            v3,
            copies,
            Order::Marker,
            (Dir::Tx, 0),
        ),
        kind(
            ("META of an addition", "The parameters of the first of two sources (MODEL)."),
            v3,
            sums(&add),
            Order::Marker,
            (Dir::Tx, 0),
        ),
        kind(
            ("Tx, add", "The first source of the addition."),
            v3,
            sums(&add),
            Order::Marker,
            (Dir::Tx, 2),
        ),
        kind(
            (
                "META of a scaled sum",
                "The parameters of the second source, whose scale is 2 (MODEL).",
            ),
            v3,
            sums(&fma),
            Order::Marker,
            (Dir::Tx, 1),
        ),
        kind(
            ("Tx, fma", "The last source of the scaled sum."),
            v3,
            sums(&fma),
            Order::Marker,
            (Dir::Tx, 3),
        ),
        kind(
            ("Tx, min_max", "The second source of a maximum, whose elements are the larger ones."),
            v3,
            sums(&max),
            Order::Marker,
            (Dir::Tx, 3),
        ),
        kind(
            ("META of a cast", "float32 becomes bfloat16 (MODEL)."),
            v3,
            compute(&cast, &[64], 32),
            Order::Marker,
            (Dir::Tx, 0),
        ),
        kind(
            ("Tx, cce_ext", "The source of the cast."),
            v3,
            compute(&cast, &[64], 32),
            Order::Marker,
            (Dir::Tx, 1),
        ),
        kind(
            ("META of a transpose", "The outer half of its dimensions (MODEL)."),
            v3,
            compute(&turn, &[64], 64),
            Order::Marker,
            (Dir::Tx, 0),
        ),
        kind(
            ("Tx, transpose", "The source of the transpose."),
            v3,
            compute(&turn, &[64], 64),
            Order::Marker,
            (Dir::Tx, 2),
        ),
    ];
    for k in &mut out {
        k.barrier = match k.name {
            "Tx, DMB" => Some(30),
            "Tx, write barrier" => Some(32 + 26),
            "Rx, SOW on the marker" => Some(29),
            _ => None,
        };
    }
    out
}
