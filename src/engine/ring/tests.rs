//! What the model does at the edges of what a program can say.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::machine::{Finished, run};
use super::{Agent, Event, EventKind, Machine, Phase, Ret};
use crate::engine::program::{
    Blob, DeviceOp, Fill, HostOp, Program, QueueDecl, QueueId, Region, RegionKind, RingDecl,
    RingType, Speed, Start, Variable,
};
use crate::udma::profile::WaitKind;
use crate::udma::template::Template;
use crate::udma::{Desc, Dir, Generation, Profile, reg};

const Q: QueueId = QueueId { engine: 128, queue: 0 };
const HOST: u64 = 0x4000_0000_0000;
const MARKER: u64 = HOST + 0x30_0000;
const BUFFER: u64 = HOST + 0x40_0000;
const DEVICE: u64 = 0x1000_0000;

fn queue(id: QueueId, at: u64, size: u64, allocatable: bool) -> QueueDecl {
    let ring = |at| Some(RingDecl { base: HOST + at, size });
    QueueDecl {
        id,
        tx: ring(at),
        rx: ring(at + 0x4_0000),
        allocatable,
        marker_area: MARKER,
        first: [Start::FRESH; 2],
    }
}

fn program(allocatable: bool, size: u64, ops: Vec<HostOp>) -> Program {
    let mut p = Program::new(Generation::V3, Profile::default_profile());
    p.queues.push(queue(Q, 0x10_0000, size, allocatable));
    let region = |name: &str, base, len, fill| Region {
        name: name.into(),
        kind: RegionKind::Host,
        base,
        len,
        fill,
    };
    p.regions.push(region("device", DEVICE, 1 << 24, Fill::Zero));
    p.regions.push(region("marker", MARKER, 64, Fill::Zero));
    p.regions.push(region("buffer", BUFFER, 1 << 24, Fill::Pattern(1)));
    p.script.push(HostOp::InitQueue { queue: Q }.into());
    p.script.extend(ops.into_iter().map(Into::into));
    p
}

fn copy(size: u64) -> HostOp {
    HostOp::Copy { queue: Q, src: BUFFER, dst: DEVICE, size }
}

fn descs(list: &[(u32, u32, u64)]) -> Blob {
    let bytes = list
        .iter()
        .flat_map(|&(len_ctrl, word1, ptr)| Desc { len_ctrl, word1, ptr }.to_bytes())
        .collect();
    Blob::from_vec(bytes)
}

fn copy_in(dir: Dir, at: u64, list: &[(u32, u32, u64)]) -> HostOp {
    HostOp::CopyIn { queue: Q, ring: RingType::Dir(dir), at, descs: descs(list) }
}

const COPY: u32 = 0x0108_0003;
const FIRST: u32 = 1 << 26;
const LAST: u32 = 1 << 27;
const CONCAT: u32 = 1 << 31;
const ONE: u32 = FIRST | LAST | 1 << 24;

/// Runs to the end, with every event.
fn all(p: &Program) -> (Finished, Vec<Event>) {
    let mut events = Vec::new();
    let done = run(p, |_, e| {
        events.push(*e);
        assert!(events.len() < 100_000, "the run does not end");
        true
    });
    (done, events)
}

fn codes(m: &Machine) -> Vec<&str> {
    m.findings.iter().map(|d| d.code).collect()
}

#[test]
fn addresses_and_slots_at_the_end_of_64_bits_do_not_overflow() {
    let wait = HostOp::Wait { queue: Q, marker: u64::MAX - 7, count: 2, kind: WaitKind::Sync };
    let stage = HostOp::Stage {
        queue: Q,
        src: BUFFER,
        dst: u64::MAX - 3,
        size: 4,
        barrier_code: 0,
        set_dst_int: false,
    };
    let start = HostOp::CopyStart { queue: Q, m2s: 1, s2m: 1 };
    let mut p = program(
        true,
        64,
        vec![HostOp::Device(DeviceOp::Latency(5)), stage, start, wait],
    );
    p.queues[0].first = [Start { slot: u64::MAX, ring_id: 3 }; 2];
    let half = 1 << 63;
    p.regions.push(Region {
        name: "upper".into(),
        kind: RegionKind::Device,
        base: half,
        len: half,
        fill: Fill::Zero,
    });
    let (done, _) = all(&p);
    let q = &done.machine.queues[0];
    assert_eq!(q.hw(Dir::Tx).slot(1), 0);
    assert!(q.hw(Dir::Tx).tail_reg() < 1 << 24 | 3 << 30);
}

#[test]
fn one_fill_over_the_whole_address_space_is_kept_in_parts() {
    let mut p = Program::new(Generation::V3, Profile::default_profile());
    for (name, base) in [("low", 0), ("high", 1 << 63)] {
        p.regions.push(Region {
            name: name.into(),
            kind: RegionKind::Device,
            base,
            len: 1 << 63,
            fill: Fill::Zero,
        });
    }
    assert_eq!(Machine::new(&p).memory.outside(0, u64::MAX), None);
}

#[test]
fn a_marker_seen_while_its_own_pair_takes_time_is_not_too_early() {
    let mut p = program(true, 64, vec![copy(4096)]);
    p.speed = Speed { ns_per_desc: 5000, bytes_per_ns: 1 };
    assert_eq!(codes(&all(&p).0.machine), [""; 0]);
}

#[test]
fn a_doorbell_does_not_hurry_an_engine_that_is_busy() {
    let stage = |dst| HostOp::Stage {
        queue: Q,
        src: BUFFER,
        dst,
        size: 4096,
        barrier_code: 0,
        set_dst_int: false,
    };
    let start = || HostOp::CopyStart { queue: Q, m2s: 1, s2m: 1 };
    let idle = HostOp::WaitIdle { queue: Q, count: 2 };
    let ops = vec![stage(DEVICE), start(), stage(DEVICE + 4096), start(), idle];
    let mut p = program(true, 64, ops);
    p.speed = Speed { ns_per_desc: 5000, bytes_per_ns: 0 };
    let seen: Vec<u64> = all(&p)
        .1
        .iter()
        .filter(|e| matches!(e.kind, EventKind::Visible { .. }))
        .map(|e| e.t_ns)
        .collect();
    assert!(seen[1] - seen[0] >= 5000, "{seen:?}");
}

#[test]
fn an_rx_doorbell_does_not_wake_a_device_that_is_held() {
    let stage = HostOp::Stage {
        queue: Q,
        src: BUFFER,
        dst: DEVICE,
        size: 64,
        barrier_code: 0,
        set_dst_int: false,
    };
    let bell = |dir| {
        let offset = reg::queue_reg_offset(dir, 0, "drtp_inc").unwrap();
        HostOp::RegWrite { engine: Q.engine, offset, value: 1 }
    };
    let hold = HostOp::Device(DeviceOp::Hold);
    let p = program(true, 64, vec![stage, HostOp::Fence, bell(Dir::Tx), hold, bell(Dir::Rx)]);
    let done = all(&p).0;
    assert_eq!(done.machine.queues[0].hw(Dir::Rx).fetched, 0);
    let mut p = p;
    p.script.push(HostOp::Device(DeviceOp::Kick).into());
    assert_eq!(all(&p).0.machine.queues[0].hw(Dir::Rx).retired, 1);
}

#[test]
fn the_last_retirement_of_a_batch_belongs_to_it() {
    let a = |previous| HostOp::CopyAsync { queue: Q, src: BUFFER, dst: DEVICE, size: 64, previous };
    let hold = |d| HostOp::Device(d);
    let ops = vec![hold(DeviceOp::Hold), a(-1), hold(DeviceOp::Resume), a(1)];
    let (_, events) = all(&program(true, 64, ops));
    let batches: Vec<u64> = events
        .iter()
        .filter(|e| matches!(e.kind, EventKind::Retire { .. }))
        .map(|e| e.batch)
        .collect();
    assert_eq!(batches, [1, 1, 2, 2]);
}

#[test]
fn waiting_for_one_descriptor_to_be_idle_takes_no_eternity() {
    let ops = vec![
        copy_in(Dir::Tx, 0, &[(ONE | 64, COPY, BUFFER)]),
        copy_in(Dir::Rx, 0, &[(1 << 24 | 64, 0, DEVICE)]),
        HostOp::CopyStart { queue: Q, m2s: 1, s2m: 1 },
        HostOp::WaitIdle { queue: Q, count: 1 },
    ];
    let (done, _) = all(&program(false, 64, ops));
    assert!(done.machine.now_ns < 1_000_000_000, "{}", done.machine.now_ns);
    assert!(done.rets.iter().all(|r| r.1 == Ret::OK));
}

#[test]
fn a_batch_whose_doorbells_were_lost_is_counted_all_the_same() {
    let lose = HostOp::Device(DeviceOp::LoseDoorbells(2));
    let (done, events) = all(&program(true, 64, vec![lose, copy(64), copy(64)]));
    assert_eq!(done.machine.queues[0].batches, 2);
    let of = |want: fn(&EventKind) -> bool| {
        events.iter().filter(|e| want(&e.kind)).map(|e| e.batch).collect::<Vec<_>>()
    };
    let waits = of(|k| matches!(k, EventKind::WaitBudget { .. }));
    let starts = of(|k| matches!(k, EventKind::CopyStart { .. }));
    assert_eq!((waits, starts), (vec![1, 2], vec![1, 2]));
}

#[test]
fn a_plain_fence_is_no_doorbell_and_a_refused_trigger_rings_none() {
    let ops = vec![HostOp::Fence, HostOp::CopyStart { queue: Q, m2s: 65, s2m: 1 }];
    let mut phases = Vec::new();
    run(&program(true, 64, ops), |m, e| {
        if matches!(e.kind, EventKind::CpuFence | EventKind::CopyStartReturn { .. }) {
            phases.push(m.phase());
        }
        true
    });
    assert_eq!(phases, [None, Some(Phase::Trigger)]);
}
