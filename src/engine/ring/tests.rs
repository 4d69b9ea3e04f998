//! What the model does at the edges of what a program can say.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::machine::{Finished, run};
use super::{Event, EventKind, Machine, Phase, Ret};
use crate::engine::fixture::*;
use crate::engine::program::{
    Blob, DeviceOp, Fill, HostOp, Program, QueueId, Region, RegionKind, RingType, Speed, Start,
    Variable,
};
use crate::udma::profile::{PROFILES, WaitKind};
use crate::udma::template::Template;
use crate::udma::{Desc, Dir, Generation, Profile, reg};
use proptest::prelude::*;

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
    let mut p = program(true, 64, vec![HostOp::Device(DeviceOp::Latency(5)), stage, start, wait]);
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
    let bell = |dir| {
        let offset = reg::queue_reg_offset(dir, 0, "drtp_inc").unwrap();
        HostOp::RegWrite { engine: Q.engine, offset, value: 1 }
    };
    let hold = HostOp::Device(DeviceOp::Hold);
    let p = program(true, 64, vec![stage(64), HostOp::Fence, bell(Dir::Tx), hold, bell(Dir::Rx)]);
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
    let (done, events) = all(&program(false, 64, ops));
    assert!(!events.iter().any(|e| e.kind.access().is_some_and(|a| a.0 == 0)), "no word is read");
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
fn a_wait_is_about_the_batch_that_its_count_ends_in() {
    let start = |n| HostOp::CopyStart { queue: Q, m2s: n, s2m: n };
    let idle = |count| HostOp::WaitIdle { queue: Q, count };
    let mut ops = vec![stage(64); 6];
    // Batches 1 to 4 of 1, 2, 1, 2 descriptors: one wait over two, an ack, a wait too many.
    ops.extend([start(1), start(2), start(1), start(2), idle(3)]);
    ops.push(HostOp::Ack { queue: Q, count: 1 });
    ops.extend([idle(2), idle(1)]);
    let p = program(true, 64, ops);
    let mut done = Vec::new();
    let mut waits = Vec::new();
    run(&p, |m, e| {
        match e.kind {
            EventKind::WaitBudget { .. } => waits.push(e.batch),
            EventKind::Ack { dir: Dir::Tx, .. } => done.push(m.queues[0].ledger.done()),
            _ => {}
        }
        true
    });
    assert_eq!((waits, done), (vec![2, 4, 5], vec![2, 3, 4, 4]));
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

fn armed(tx: &[(u32, u32, u64)], rx: &[(u32, u32, u64)]) -> Vec<HostOp> {
    let (m2s, s2m) = (tx.len() as u32, rx.len() as u32);
    let start = HostOp::CopyStart { queue: Q, m2s, s2m };
    vec![copy_in(Dir::Tx, 0, tx), copy_in(Dir::Rx, 0, rx), start]
}

#[test]
fn a_symbolic_address_is_no_host_address_and_an_unknown_one_is_named_where_it_is() {
    // The variable's id lies over the bit of the host window.
    let at = |var| Template { var, offset: 0 }.to_ptr();
    let rx = [(1 << 24 | 64, 0, DEVICE), (1 << 24 | 64, 0, at(0x401))];
    let mut p = program(false, 64, armed(&[(ONE | 128, COPY, at(0x400))], &rx));
    p.variables.push(Variable { id: 0x400, name: "source".into(), addr: BUFFER });
    let (done, events) = all(&p);
    assert!(done.rets.iter().all(|r| r.1 == Ret::OK), "{:?}", done.rets);
    let stall = events.iter().find_map(|e| match e.kind {
        EventKind::Stall { dir, slot, .. } => Some((dir, slot)),
        _ => None,
    });
    assert_eq!(stall, Some((Dir::Rx, 1)));
    let place = done.machine.findings.iter().find(|d| d.code == "R019").unwrap().place.slot;
    assert_eq!(place.map(|s| (s.dir, s.index)), Some((Dir::Rx, 1)));
    p.variables.push(Variable { id: 0x401, name: "host".into(), addr: HOST });
    assert!(all(&p).0.rets.iter().any(|r| r.1 == Ret::Code(-22)), "no region holds it");
}

#[test]
fn a_source_written_many_times_is_not_held_many_times() {
    const TIMES: u32 = 0xffff;
    let tx = [(ONE | 16, 0x00a0_0000 | TIMES, BUFFER)];
    let whole = u64::from(TIMES) * 16;
    let rx: Vec<_> = (0..whole.div_ceil(65_536))
        .map(|i| {
            (1 << 24 | (whole - i * 65_536).min(65_536) as u32 & 0xffff, 0, DEVICE + (i << 16))
        })
        .collect();
    let mut ops = armed(&tx, &rx);
    ops.insert(0, HostOp::Store { addr: BUFFER, bytes: Blob::from_vec((0..16).collect()) });
    let p = program(false, 64, ops);
    let mut most = 0;
    let done = run(&p, |m, _| {
        most = most.max(m.queues[0].packet.stream.len());
        true
    });
    assert!(most < 2 * 65_536, "{most}");
    let mut end = [0; 4];
    done.machine.memory.read(DEVICE + whole - 4, &mut end);
    assert_eq!((end, done.machine.queues[0].hw(Dir::Tx).retired), ([12, 13, 14, 15], 1));
}

#[test]
fn rx_flags_are_those_of_a_packet_or_none() {
    let cause = |first: u32, second: u32| {
        let rx = [(first | 1 << 24 | 64, 0, DEVICE), (second | 1 << 24 | 64, 0, DEVICE + 64)];
        let done = all(&program(false, 64, armed(&[(ONE | 128, COPY, BUFFER)], &rx))).0;
        done.machine.causes.front().map(|c| c.2)
    };
    assert_eq!(cause(0, 0), None);
    assert_eq!(cause(FIRST | CONCAT, LAST), None);
    assert_eq!(cause(FIRST, LAST), Some(23), "the packet goes on without CONCAT");
    assert_eq!(cause(CONCAT, LAST), Some(22));
    assert_eq!(cause(FIRST | CONCAT, 0), Some(23));
}

#[test]
fn a_fault_is_found_at_its_own_event() {
    let ops = armed(&[(LAST | 1 << 24 | 64, COPY, BUFFER)], &[(1 << 24 | 64, 0, DEVICE)]);
    let mut before = 0;
    let mut fault = None;
    let done = run(&program(false, 64, ops), |m, e| {
        match e.kind {
            EventKind::Fetch { .. } => before += m.causes.len() + m.findings.len(),
            EventKind::Fault { bit: 15, .. } => fault = Some(e.n),
            _ => {}
        }
        true
    });
    let found = done.machine.findings.front().unwrap();
    assert_eq!((before, found.code), (0, "R001"));
    assert!(fault.is_some() && found.place.event == fault);
}

#[test]
fn ten_thousand_remarks_do_not_hide_an_error_and_are_counted() {
    // Engine 0 of v3 masks ring id causes: each descriptor is remarked upon, none faults.
    let id = QueueId { engine: 0, queue: 0 };
    let n = 12_000u32;
    let slot = |len_ctrl: u32, word1, ptr| vec![(len_ctrl, word1, ptr); n as usize];
    let mut tx = slot(FIRST | LAST | 4, COPY, BUFFER);
    tx.last_mut().unwrap().2 = 0x10;
    let rx = slot(2 << 24 | 4, 0, DEVICE);
    let mut p = program(false, 12_800, armed(&tx, &rx));
    p.queues[0] = queue(id, TX, 12_800, false);
    for op in &mut p.script {
        match &mut op.op {
            HostOp::InitQueue { queue }
            | HostOp::CopyIn { queue, .. }
            | HostOp::CopyStart { queue, .. } => *queue = id,
            _ => {}
        }
    }
    let m = run(&p, |_, _| true).machine;
    assert!(m.has_errors(), "the bad source address is lost");
    assert_eq!(m.faults(), 2 * u64::from(n) + 1);
    assert!(m.causes.len() < 20_000 && m.findings.len() < 20_000);
    assert!(m.causes.iter().any(|c| c.2 == 8));
}

#[test]
fn an_ack_of_the_whole_ring_acks_nothing() {
    use super::Life;
    let ack = |count| HostOp::Ack { queue: Q, count };
    let p = program(true, 64, vec![stage(64), ack(64), ack(65), stage(64)]);
    let q = &all(&p).0.machine.queues[0];
    let life = |slot| super::life::of(q, Dir::Tx, slot, true);
    // Slot 0 was acked and lies in the gap before the cursor now.
    assert_eq!((life(0), life(1)), (Life::Guard, Life::Staged));
    assert_eq!(u64::from(q.sw(Dir::Tx).next_cdesc_idx), q.sw(Dir::Tx).acked);
}

#[test]
fn a_slot_handed_out_while_the_engine_still_needs_it_is_an_overrun() {
    let hold = HostOp::Device(DeviceOp::Hold);
    let pair = |n| vec![stage(64); n];
    let mut ops = vec![hold];
    ops.extend(pair(16));
    ops.push(HostOp::CopyStart { queue: Q, m2s: 16, s2m: 16 });
    // Nothing of it is done; the ack makes room all the same.
    ops.push(HostOp::Ack { queue: Q, count: 16 });
    ops.extend(pair(16));
    assert_eq!(codes(&all(&program(true, 32, ops.clone())).0.machine), [""; 0]);
    ops.push(HostOp::Ack { queue: Q, count: 16 });
    ops.extend(pair(1));
    assert_eq!(codes(&all(&program(true, 32, ops)).0.machine), ["R014", "R014", "R007", "R007"]);
}

#[test]
fn copying_in_again_before_the_doorbell_is_no_new_lap() {
    let one = (ONE | 64, COPY, BUFFER);
    let staged =
        |ops: Vec<HostOp>| all(&program(false, 64, ops)).0.machine.queues[0].sw(Dir::Tx).staged;
    assert_eq!(staged(vec![copy_in(Dir::Tx, 0, &[one; 2]), copy_in(Dir::Tx, 0, &[one])]), 2);
    assert_eq!(staged(vec![copy_in(Dir::Tx, 0, &[one; 2]), copy_in(Dir::Tx, 0, &[])]), 2);
    let ring = |n| HostOp::CopyStart { queue: Q, m2s: n, s2m: n };
    let lap = vec![copy_in(Dir::Tx, 0, &[one; 64]), ring(64), copy_in(Dir::Tx, 0, &[one; 3])];
    assert_eq!(staged(lap), 67);
    let part = vec![copy_in(Dir::Tx, 0, &[one; 64]), ring(2), copy_in(Dir::Tx, 0, &[one; 64])];
    assert_eq!(staged(part), 66);
}

#[test]
fn an_empty_slot_of_a_ring_copied_in_whole_is_not_staged() {
    let one = (ONE | 64, COPY, BUFFER);
    let p = program(false, 64, vec![copy_in(Dir::Tx, 0, &[one, (0, 0, 0)])]);
    let q = &all(&p).0.machine.queues[0];
    let life = |slot, written| super::life::of(q, Dir::Tx, slot, written);
    assert_eq!((life(0, true), life(1, false)), (super::Life::Staged, super::Life::NeverWritten));
}

#[test]
fn a_queue_that_was_never_initialised_cannot_be_rung() {
    let mut p = program(true, 64, vec![HostOp::CopyStart { queue: Q, m2s: 1, s2m: 1 }]);
    p.script.remove(0);
    let (done, events) = all(&p);
    assert_eq!(done.rets.last().map(|r| r.1), Some(Ret::Code(-1)));
    assert!(!events.iter().any(|e| matches!(e.kind, EventKind::MmioWrite { .. })));
}

/// Numbers at which arithmetic goes wrong.
fn edge() -> impl Strategy<Value = u64> {
    prop_oneof![
        prop::sample::select(vec![0, 1, 4, 15, 16, 63, 64, 65, 4095, 65_535, 65_536, 65_537]),
        prop::sample::select(vec![DEVICE, BUFFER, MARKER, HOST, 1 << 61, 1 << 63, u64::MAX >> 1]),
        (0u64..20).prop_map(|n| u64::MAX - n),
        (0u64..1 << 20),
    ]
}

fn any_desc() -> impl Strategy<Value = (u32, u32, u64)> {
    let flags = prop::sample::select(vec![0, FIRST, LAST, CONCAT, FIRST | LAST, FIRST | CONCAT]);
    let word = prop::sample::select(vec![COPY, 0x00a0_0000, 0x00a0_ffff, 0x0200_0000, 0]);
    (flags, 0u32..4, any::<u16>(), word, edge(), any::<bool>()).prop_map(
        |(flags, phase, len, word, ptr, meta)| {
            let meta = if meta && flags == FIRST { 1 << 23 } else { 0 };
            (flags | phase << 24 | u32::from(len) | meta, word, ptr)
        },
    )
}

fn any_op() -> impl Strategy<Value = HostOp> {
    let small = || prop_oneof![0u32..70, Just(u32::MAX), Just(1 << 24)];
    let dir = prop::sample::select(vec![Dir::Tx, Dir::Rx]);
    let kind = prop::sample::select(vec![WaitKind::Sync, WaitKind::Async, WaitKind::IntraDevice]);
    prop_oneof![
        (edge(), edge(), edge()).prop_map(|(src, dst, size)| HostOp::Copy {
            queue: Q,
            src,
            dst,
            size: size % (1 << 23)
        }),
        (edge(), edge(), edge(), -2i32..4).prop_map(|(src, dst, size, previous)| {
            HostOp::CopyAsync { queue: Q, src, dst, size: size % (1 << 23), previous }
        }),
        (edge(), edge(), edge()).prop_map(|(buffer, dst, size)| HostOp::Memset {
            queue: Q,
            buffer,
            dst,
            size: size % (1 << 20),
            value: 7
        }),
        (edge(), edge(), edge(), any::<bool>(), edge(), edge()).prop_map(
            |(host, device, size, to_device, a, b)| HostOp::ZeroCopy {
                queue: Q,
                host,
                device,
                size: size % (1 << 20),
                to_device,
                markers: [a, b]
            }
        ),
        (edge(), edge(), edge(), small()).prop_map(|(src, dst, size, barrier_code)| {
            HostOp::Stage { queue: Q, src, dst, size, barrier_code, set_dst_int: true }
        }),
        (edge(), small()).prop_map(|(marker, barrier_code)| HostOp::StageMarker {
            queue: Q,
            marker,
            barrier_code
        }),
        (small(), small()).prop_map(|(m2s, s2m)| HostOp::CopyStart { queue: Q, m2s, s2m }),
        (edge(), small(), kind).prop_map(|(marker, count, kind)| HostOp::Wait {
            queue: Q,
            marker,
            count,
            kind
        }),
        small().prop_map(|count| HostOp::WaitIdle { queue: Q, count }),
        small().prop_map(|count| HostOp::Ack { queue: Q, count }),
        (dir, edge(), prop::collection::vec(any_desc(), 0..9))
            .prop_map(|(dir, at, list)| { copy_in(dir, at, &list) }),
        (edge(), 0usize..40)
            .prop_map(|(addr, n)| HostOp::Store { addr, bytes: Blob::from_vec(vec![9; n]) }),
        (0x1000u32..0x1100, edge()).prop_map(|(offset, v)| HostOp::RegWrite {
            engine: Q.engine,
            offset: offset & !3,
            value: v as u32
        }),
        (0x2_1000u32..0x2_1100, edge()).prop_map(|(offset, v)| HostOp::RegWrite {
            engine: Q.engine,
            offset: offset & !3,
            value: v as u32
        }),
        edge().prop_map(|us| HostOp::Device(DeviceOp::Latency(us))),
        (0u32..4).prop_map(|n| HostOp::Device(DeviceOp::LoseDoorbells(n))),
        Just(HostOp::Device(DeviceOp::Kick)),
        any::<bool>().prop_map(|on| HostOp::Device(DeviceOp::ResetWindow(on))),
        Just(HostOp::InitQueue { queue: Q }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Whatever numbers a program has, a run goes on or ends, and never breaks off.
    #[test]
    fn no_number_breaks_a_run(
        ops in prop::collection::vec(any_op(), 1..14),
        size in prop::sample::select(vec![0u64, 16, 32, 48, 64, 96, 1008, 4096]),
        (first, phase) in (edge(), 0u8..4),
        (ns, bytes) in (edge(), edge()),
        (arch, profile) in (0usize..3, 0usize..PROFILES.len()),
        allocatable: bool,
    ) {
        let mut p = program(allocatable, size, ops);
        p.arch = Generation::ALL[arch];
        p.profile = &PROFILES[profile];
        p.speed = Speed { ns_per_desc: ns, bytes_per_ns: bytes };
        p.queues[0].first = [Start { slot: first, ring_id: phase }; 2];
        let mut events = 0;
        run(&p, |m, e| {
            events += 1;
            let q = &m.queues[0];
            for dir in Dir::BOTH {
                let hw = q.hw(dir);
                assert!(hw.retired <= hw.fetched && hw.fetched <= hw.posted, "{e:?}");
                for slot in 0..q.ring(dir).size.min(20) {
                    super::life::of(q, dir, slot, true);
                }
                let _ = (hw.head_reg(), hw.tail_reg());
            }
            super::json::event_json(&p, e);
            m.digest();
            events < 3000
        });
    }
}

#[test]
fn every_producer_says_that_the_ring_was_full() {
    let zero = HostOp::ZeroCopy {
        queue: Q,
        host: BUFFER,
        device: DEVICE,
        size: 20 << 16,
        to_device: true,
        markers: [MARKER, MARKER + 8],
    };
    let mut p = program(true, 32, vec![zero]);
    // Two pages a pair: 32 pairs a batch.
    p.profile = Profile::find("dkms-2.24").unwrap();
    let m = all(&p).0;
    assert_eq!((codes(&m.machine), m.rets[1].1), (vec!["R017", "R015"], Ret::Code(-12)));
    // Room for the data, none for the marker: the call answers -1.
    let m = all(&program(true, 32, vec![copy(16 << 16)])).0;
    assert_eq!((codes(&m.machine), m.rets[1].1), (vec!["R017", "R015"], Ret::Code(-1)));
}

#[test]
fn a_packet_of_two_operations_is_not_executed() {
    let replicate = |n: u32| 0x00a0_0000 | n;
    let barrier = 1 << 26;
    let phase = 1 << 24;
    for (words, out) in [
        ([COPY, COPY | barrier], Some(16)),
        ([COPY, replicate(2)], None),
        ([replicate(2), COPY], None),
        ([replicate(2), replicate(3)], None),
        ([replicate(2), replicate(2) | barrier], Some(32)),
    ] {
        let tx = [
            (FIRST | CONCAT | phase | 8, words[0], BUFFER),
            (LAST | phase | 8, words[1], BUFFER + 8),
        ];
        let rx = [(phase | 16, 0, DEVICE), (phase | 16, 0, DEVICE + 16)];
        let arms = out.unwrap_or(16) / 16;
        let start = HostOp::CopyStart { queue: Q, m2s: 2, s2m: arms };
        let script = vec![copy_in(Dir::Tx, 0, &tx), copy_in(Dir::Rx, 0, &rx), start];
        let (done, events) = all(&program(false, 64, script));
        let written: u64 = events
            .iter()
            .filter_map(|e| match e.kind {
                EventKind::Visible { len, .. } => Some(len),
                _ => None,
            })
            .sum();
        assert_eq!(written, u64::from(out.unwrap_or(0)), "{words:x?}");
        let stalls: Vec<_> = done
            .machine
            .findings
            .iter()
            .filter(|d| d.code == "R011")
            .map(|d| &*d.message)
            .collect();
        assert_eq!(stalls.len(), usize::from(out.is_none()), "{words:x?}");
        assert!(stalls.iter().all(|m| m.contains("more than one operation")), "{stalls:?}");
    }
}

/// Memory of a program are its regions and its rings; on Rx no bit makes a descriptor META.
#[test]
fn copied_in_descriptors_name_memory_of_the_program() {
    let elsewhere = HOST + 0x7_0000_0000;
    let meta = 1 << 23;
    for (dir, word, addr, ret) in [
        (Dir::Tx, ONE, BUFFER, 0),
        (Dir::Rx, ONE, TX, 0),
        (Dir::Tx, ONE, TX + RX_AFTER + 16, 0),
        (Dir::Tx, ONE, elsewhere, -22),
        (Dir::Rx, ONE, elsewhere, -22),
        (Dir::Tx, FIRST | meta, elsewhere, 0),
        (Dir::Rx, ONE | meta, elsewhere, -22),
        (Dir::Rx, ONE, DEVICE - 1, 0),
    ] {
        let p = program(false, 64, vec![copy_in(dir, 0, &[(word | 4, 0, addr)])]);
        let done = run(&p, |_, _| true);
        assert_eq!(done.rets[1].1, Ret::Code(ret), "{dir} {word:#x} {addr:#x}");
    }
}
