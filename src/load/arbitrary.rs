//! Random programs for the round-trip tests: every operation, every field, names that need
//! quotes, addresses inside and outside of regions.

use super::ops;
use crate::engine::edit::{Change, Cursor, Edit};
use crate::engine::program::{
    Blob, Content, Fill, HostOp, Program, QueueDecl, QueueId, Region, RegionKind, RingDecl,
    RingType, ScriptOp, Speed, Start, UnknownSection, Variable,
};
use crate::limits::MAX_TRANSFER_BYTES;
use crate::udma::cause::CAUSES;
use crate::udma::profile::{PROFILES, Platform, WaitKind};
use crate::udma::{Desc, Dir, Generation, Profile};
use proptest::collection::vec;
use proptest::prelude::*;

/// Any bytes, runs and text among them.
pub fn blob() -> impl Strategy<Value = Blob> {
    prop_oneof![
        vec(any::<u8>(), 0..48),
        (any::<u8>(), 0..200usize).prop_map(|(b, n)| vec![b; n]),
        "[ -~]{0,20}".prop_map(String::into_bytes),
        vec(prop_oneof![Just(vec![0; 40]), vec(any::<u8>(), 1..9)], 0..6).prop_map(|v| v.concat()),
    ]
    .prop_map(Blob::from_vec)
}

fn descs() -> impl Strategy<Value = Blob> {
    let desc = prop_oneof![
        any::<[u8; 16]>(),
        Just([0; 16]),
        (any::<u16>(), 0..4u32, 0..16u32, any::<u32>()).prop_map(|(len, id, flags, addr)| {
            let len_ctrl = u32::from(len) | id << 24 | flags << 26;
            let ptr = u64::from(addr % 0x9000);
            Desc { len_ctrl, word1: 0x0108_0003 | (flags & 1) << 26, ptr }.to_bytes()
        }),
        any::<[u32; 3]>().prop_map(|[a, b, c]| {
            let d = Desc { len_ctrl: a & 0xff80_ffff, word1: b & 0x17ff_fffb, ptr: c.into() };
            d.to_bytes()
        }),
    ];
    (vec((desc, 1..4usize), 0..6), vec(any::<u8>(), 0..3)).prop_map(|(runs, tail)| {
        let mut out = Vec::new();
        for (d, n) in runs {
            out.extend(d.repeat(n));
        }
        out.extend(tail);
        Blob::from_vec(out)
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_][a-z0-9_.-]{0,8}", "\\PC{1,6}", "[ -~]{1,6}"]
}

/// Fills the operands of a blank operation from a pool of random values.
struct Filler {
    queue: QueueId,
    pool: Vec<u64>,
    bytes: Blob,
    descs: Blob,
}

impl Filler {
    fn next(&mut self) -> u64 {
        self.pool.pop().unwrap_or(7)
    }
}

type Done = Result<(), std::convert::Infallible>;

impl ops::Operands for Filler {
    type Err = std::convert::Infallible;
    fn queue(&mut self, v: &mut QueueId) -> Done {
        *v = self.queue;
        Ok(())
    }
    fn u64(&mut self, _: &'static str, v: &mut u64) -> Done {
        *v = self.next();
        Ok(())
    }
    fn addr(&mut self, _: &'static str, v: &mut u64) -> Done {
        *v = self.next();
        Ok(())
    }
    fn u32(&mut self, _: &'static str, v: &mut u32) -> Done {
        *v = self.next() as u32;
        Ok(())
    }
    fn i32(&mut self, _: &'static str, v: &mut i32) -> Done {
        *v = self.next() as i32;
        Ok(())
    }
    fn u8(&mut self, _: &'static str, v: &mut u8) -> Done {
        *v = self.next() as u8;
        Ok(())
    }
    fn flag(&mut self, _: &'static str, v: &mut bool) -> Done {
        *v = self.next() % 2 == 1;
        Ok(())
    }
    fn wait_kind(&mut self, _: &'static str, v: &mut WaitKind) -> Done {
        *v = ops::WAIT_KINDS[(self.next() % 3) as usize].0;
        Ok(())
    }
    fn ring_type(&mut self, _: &'static str, v: &mut RingType) -> Done {
        *v = ops::ring_type_of_code((self.next() % 4) as u32);
        Ok(())
    }
    fn bytes(&mut self, v: &mut Blob) -> Done {
        *v = self.bytes.clone();
        Ok(())
    }
    fn descs(&mut self, v: &mut Blob) -> Done {
        *v = self.descs.clone();
        Ok(())
    }
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..10u64, 0..0x9000u64, any::<u64>(), (0..8u64).prop_map(|v| 1 << 61 | v << 36)]
}

fn op(queue: QueueId) -> impl Strategy<Value = ScriptOp> {
    let note = prop_oneof![Just(String::new()), "\\PC{0,12}", "[\\n\"\\\\;{}]{1,4}"];
    (prop::sample::select(ops::VERBS.to_vec()), vec(number(), 8), blob(), descs(), note).prop_map(
        move |(verb, pool, bytes, descs, note)| {
            let mut op = ops::blank(verb).unwrap();
            let Ok(()) = ops::walk(&mut op, &mut Filler { queue, pool, bytes, descs });
            if let HostOp::Copy { size, .. }
            | HostOp::CopyAsync { size, .. }
            | HostOp::Memset { size, .. }
            | HostOp::ZeroCopy { size, .. } = &mut op
            {
                *size = (*size).min(MAX_TRANSFER_BYTES);
            }
            ScriptOp { op, note }
        },
    )
}

fn start() -> impl Strategy<Value = Start> {
    prop_oneof![
        Just(Start::FRESH),
        (0..100u64, 0..4u8).prop_map(|(slot, ring_id)| Start { slot, ring_id })
    ]
}

fn queues() -> impl Strategy<Value = Vec<QueueDecl>> {
    let ring = |i: u64, d: u64| {
        prop::option::of((0..70u64).prop_map(move |size| RingDecl {
            base: 0x1_0000_0000 + i * 0x10_0000 + d * 0x8_0000,
            size,
        }))
    };
    (1..4u64).prop_flat_map(move |n| {
        let one = move |i: u64| {
            (ring(i, 0), ring(i, 1), any::<bool>(), number(), [start(), start()]).prop_map(
                move |(tx, rx, allocatable, marker_area, first)| {
                    let id = QueueId { engine: 131 - i as u32, queue: i as u32 };
                    QueueDecl { id, tx, rx, allocatable, marker_area, first }
                },
            )
        };
        (0..n).map(one).collect::<Vec<_>>()
    })
}

fn regions() -> impl Strategy<Value = Vec<Region>> {
    let fill = prop_oneof![
        Just(Fill::Never),
        Just(Fill::Zero),
        any::<u8>().prop_map(Fill::Byte),
        any::<u8>().prop_map(Fill::Pattern),
        Just(Fill::Unknown),
    ];
    vec((name(), 0..4usize, 1..0x1000u64, fill), 0..6).prop_map(|v| {
        let mut seen = std::collections::HashSet::new();
        let kept = v.into_iter().filter(|(n, ..)| seen.insert(n.clone()));
        kept.enumerate()
            .map(|(i, (name, kind, len, fill))| Region {
                name,
                kind: RegionKind::ALL[kind],
                base: i as u64 * 0x1000,
                len,
                fill,
            })
            .collect()
    })
}

/// Edits of a queue and of memory, in order of their events.
pub fn edits(queue: QueueId) -> impl Strategy<Value = Vec<Edit>> {
    let dir = || prop::sample::select(Dir::BOTH.to_vec());
    let change = prop_oneof![
        (0..u64::MAX / 2, blob()).prop_map(|(addr, bytes)| Change::Store { addr, bytes }),
        (number().prop_map(|n| n % 0x9000), blob())
            .prop_map(|(addr, bytes)| Change::Store { addr, bytes }),
        (0..132u32, 0..0x40000u32, any::<u32>()).prop_map(|(engine, offset, value)| {
            Change::Register { engine, offset: offset & !3, value }
        }),
        (dir(), prop::sample::select(Cursor::ALL.to_vec()), number())
            .prop_map(move |(dir, cursor, value)| Change::Cursor { queue, dir, cursor, value }),
        (prop::sample::select(CAUSES.iter().collect::<Vec<_>>()), prop::option::of(number()))
            .prop_map(move |(c, slot)| {
                let (dir, bit) = (c.dir, c.bit);
                Change::Inject { queue, dir, bit, slot }
            }),
    ];
    vec((number(), change), 0..5).prop_map(|all| {
        let mut edits: Vec<Edit> =
            all.into_iter().map(|(at, change)| Edit { at, change }).collect();
        edits.sort_by_key(|e| e.at);
        edits
    })
}

/// A program that the formats accept, of any shape.
pub fn program() -> impl Strategy<Value = Program> {
    let head = (0..3usize, 0..PROFILES.len(), 0..3usize, any::<[u64; 2]>());
    let variables = vec((name(), number()), 0..4);
    let registers = vec((0..132u32, 0..0x40000u32, any::<u32>()), 0..3);
    let contents = vec((0..u64::MAX / 2, blob()), 0..4);
    let unknown = vec((0..4u32, blob()), 0..2);
    (head, queues(), regions(), variables, registers, contents, unknown).prop_flat_map(
        |(head, queues, regions, variables, registers, contents, unknown)| {
            let queue = queues[0].id;
            (vec(op(queue), 0..8), edits(queue)).prop_map(move |(script, edits)| {
                let mut p = Program::new(Generation::ALL[head.0], &PROFILES[head.1]);
                p.platform = [Platform::Silicon, Platform::Qemu, Platform::Emulator][head.2];
                p.speed = Speed { ns_per_desc: head.3[0], bytes_per_ns: head.3[1] };
                p.queues = queues.clone();
                p.regions = regions.clone();
                let mut seen = std::collections::HashSet::new();
                p.variables = variables
                    .iter()
                    .filter(|(n, _)| seen.insert(n.clone()))
                    .enumerate()
                    .map(|(i, (name, addr))| Variable {
                        id: i as u32 * 3,
                        name: name.clone(),
                        addr: *addr,
                    })
                    .collect();
                p.registers = registers.iter().map(|(e, o, v)| (*e, o & !3, *v)).collect();
                p.contents = contents
                    .iter()
                    .map(|(addr, bytes)| Content { addr: *addr, bytes: bytes.clone() })
                    .collect();
                p.script = script;
                p.edits = edits;
                p.unknown = unknown
                    .iter()
                    .map(|(kind, bytes)| UnknownSection { kind: *kind, bytes: bytes.clone() })
                    .collect();
                p
            })
        },
    )
}

/// A small program with one of most things.
pub fn sample() -> Program {
    let queue = QueueId { engine: 32, queue: 0 };
    let mut p = Program::new(Generation::V2, Profile::default_profile());
    p.queues.push(QueueDecl {
        id: queue,
        tx: Some(RingDecl { base: 0x1000_0001_0000, size: 64 }),
        rx: Some(RingDecl { base: 0x1000_0002_0000, size: 64 }),
        allocatable: false,
        marker_area: 0x1000_0003_0000,
        first: [Start::FRESH; 2],
    });
    p.regions.push(Region {
        name: "host0".into(),
        kind: RegionKind::Host,
        base: 0x1000_0003_0000,
        len: 0x2000,
        fill: Fill::Pattern(1),
    });
    let bytes = Blob::from_vec((0..40).collect());
    p.contents.push(Content { addr: 0x1000_0003_0010, bytes });
    let descs = Desc { len_ctrl: 0x0d00_1000, word1: 0x0108_0003, ptr: 0x1000_0003_0000 };
    p.script.push(crate::engine::program::HostOp::InitQueue { queue }.into());
    p.script.push(
        crate::engine::program::HostOp::CopyIn {
            queue,
            ring: RingType::Dir(Dir::Tx),
            at: 0,
            descs: Blob::from_vec(descs.to_bytes().to_vec()),
        }
        .into(),
    );
    p.script.push(crate::engine::program::HostOp::CopyStart { queue, m2s: 1, s2m: 1 }.into());
    let bytes = Blob::from_vec(vec![0, 0, 0, 4]);
    p.edits.push(Edit { at: 3, change: Change::Store { addr: 0x1000_0001_0000, bytes } });
    let (dir, cursor) = (Dir::Rx, Cursor::Head);
    p.edits.push(Edit { at: 3, change: Change::Cursor { queue, dir, cursor, value: 1 } });
    let register = Change::Register { engine: 32, offset: 0x1038, value: 1 };
    p.edits.push(Edit { at: 4, change: register });
    p.edits.push(Edit { at: 9, change: Change::Inject { queue, dir, bit: 24, slot: Some(2) } });
    p
}
