//! Recorded ring runs against the ring model: every event, image, cursor, wait and hash.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod back_and_forth;
mod golden_replay;
mod golden_support;

use dmadbg::diag::Severity;
use dmadbg::engine::program::{HostOp, Program, QueueDecl, QueueId, RingDecl, Start};
use dmadbg::engine::ring::{EventKind, Machine, Ret, machine};
use dmadbg::udma::profile::{MARKER, WaitKind};
use dmadbg::udma::{Dir, Generation, Profile, reg};
use golden_replay::Replay;
use golden_support::{Compared, RING_SECTIONS, golden, load_json};
use serde_json::{Value, json};

#[test]
fn golden_ring_runs_are_reproduced_event_by_event() {
    let Some(dir) = golden() else { return };
    let index = load_json("rings/index.json").unwrap();
    let mut events = Compared::new();
    let mut runs = Compared::new();
    for run in index["runs"].as_array().unwrap() {
        let replay = Replay::new(run, &dir.join("rings"));
        let n = replay.compare();
        assert!(n > 0, "{}", run["name"]);
        events.add(n as usize);
        runs.one();
    }
    events.finish("events of ring runs");
    runs.finish("ring runs");
}

/// Back is exact: the digest at every event (at some of them on the two runs that move over
/// 100 MiB) is that of the way forward.
#[test]
fn golden_ring_runs_go_back_as_they_came() {
    let Some(dir) = golden() else { return };
    let index = load_json("rings/index.json").unwrap();
    let mut n = Compared::new();
    for run in index["runs"].as_array().unwrap() {
        let replay = Replay::new(run, &dir.join("rings"));
        n.add(back_and_forth::check(replay.program()) as usize);
    }
    n.finish("states on the way back");
}

/// What a calm run of a recorded program finds: only what it really does wrong.
#[test]
fn golden_ring_runs_raise_no_false_alarm() {
    let Some(dir) = golden() else { return };
    let index = load_json("rings/index.json").unwrap();
    let mut n = Compared::new();
    for run in index["runs"].as_array().unwrap() {
        let replay = Replay::new(run, &dir.join("rings"));
        let done = machine::run(replay.program(), |_, _| true);
        // A call that fails is an error, and so is a wait that ran out; nothing else is.
        let failed = done.rets.iter().any(|r| r.1 != Ret::OK) || done.machine.host.timeouts > 0;
        let told = |least| {
            let findings = done.machine.findings.iter();
            findings.filter(move |d| d.severity >= least).map(|d| (d.code, &d.message))
        };
        let errors: Vec<_> = told(Severity::Error).collect();
        assert!(failed || errors.is_empty(), "{}: {errors:?}", run["name"]);
        // Of what the driver itself stages nothing is remarkable, but a copy of nothing.
        let by_driver = replay.program().queues[0].allocatable;
        let remarks: Vec<_> = told(Severity::Note).filter(|f| f.0 != "R013").collect();
        assert!(failed || !by_driver || remarks.is_empty(), "{}: {remarks:?}", run["name"]);
        assert!(!failed || told(Severity::Warning).next().is_some(), "{}: silent", run["name"]);
        n.one();
    }
    n.finish("runs without false alarm");
}

const Q: QueueId = QueueId { engine: 0, queue: 3 };

/// A program with one queue of `size` slots and 1 GiB of memory on each side.
fn program(profile: &'static Profile, arch: Generation, size: u64) -> Program {
    let base = arch.host_base();
    let mut p = Program::new(arch, profile);
    p.queues.push(QueueDecl {
        id: Q,
        tx: Some(RingDecl { base: base + 0x1_0000_0000, size }),
        rx: Some(RingDecl { base: base + 0x2_0000_0000, size }),
        allocatable: true,
        marker_area: base + 0x3_0000_0000,
        first: [Start::FRESH; 2],
    });
    for (name, at) in [("host", base), ("marker", base + 0x3_0000_0000), ("device", 0x1000_0000)] {
        p.regions.push(dmadbg::engine::program::Region {
            name: name.into(),
            kind: dmadbg::engine::program::RegionKind::Host,
            base: at,
            len: 1 << 30,
            fill: dmadbg::engine::program::Fill::Zero,
        });
    }
    p.sort_regions();
    p.script.push(HostOp::InitQueue { queue: Q }.into());
    p
}

/// Runs a program to its end; the result of each operation after the initialisation.
fn rets(p: &Program) -> (Machine, Vec<Ret>) {
    let done = machine::run(p, |_, _| true);
    (done.machine, done.rets.into_iter().skip(1).map(|r| r.1).collect())
}

fn ret_json(r: Ret) -> Value {
    match r {
        Ret::Code(c) => json!(c),
        Ret::Bug => json!("BUG"),
    }
}

fn stage(size: u64, barrier_code: u32) -> HostOp {
    HostOp::Stage {
        queue: Q,
        src: 0x1000_0000,
        dst: 0x1000_0000,
        size,
        barrier_code,
        set_dst_int: false,
    }
}

fn section(name: &str, mut each: impl FnMut(&'static Profile, Generation, &Value)) {
    assert!(RING_SECTIONS.contains(&name));
    let Some(groups) = golden_support::section(name) else { return };
    let mut n = Compared::new();
    for group in groups {
        for &(profile, arch) in &group.pairs {
            for case in group.cases::<Value>() {
                each(profile, arch, &case);
                n.one();
            }
        }
    }
    n.finish(&format!("cases of ring-math {name}"));
}

#[test]
fn golden_copy_start_rings_rx_first_and_refuses_as_the_driver_does() {
    section("copy_start", |profile, arch, case| {
        let mut p = program(profile, arch, 64);
        let queue = QueueId { engine: 0, queue: case["qid"].as_u64().unwrap() as u32 };
        let n = |k: &str| case[k].as_u64().unwrap() as u32;
        let (m2s, s2m) = (n("m2s_count"), n("s2m_count"));
        p.script.push(HostOp::CopyStart { queue, m2s, s2m }.into());
        let mut sequence = Vec::new();
        let done = machine::run(&p, |m, e| {
            if m.host.pc == 2 {
                match e.kind {
                    EventKind::CpuFence => sequence.push(json!("mb")),
                    EventKind::MmioWrite { offset, value, .. } => {
                        let place = reg::name_at(offset).unwrap();
                        let (dir, _) = place.queue.unwrap();
                        sequence.push(json!(format!("{dir}.{}={value}", place.name)));
                    }
                    _ => {}
                }
            }
            true
        });
        assert_eq!(Value::Array(sequence), case["sequence"], "{case}");
        assert_eq!(ret_json(done.rets[1].1), case["ret"], "{case}");
    });
}

#[test]
fn golden_ack_moves_the_cursor() {
    section("ack", |profile, arch, case| {
        let n = |k: &str| case[k].as_u64().unwrap();
        let mut p = program(profile, arch, n("ring_size"));
        let before = n("next_cdesc_idx") as u32;
        let pow2 = n("ring_size").is_power_of_two();
        if pow2 {
            p.script.push(HostOp::Ack { queue: Q, count: before }.into());
        }
        p.script.push(HostOp::Ack { queue: Q, count: n("num") as u32 }.into());
        let (m, rets) = rets(&p);
        assert_eq!(ret_json(*rets.last().unwrap()), case["ret"], "{case}");
        if pow2 {
            for dir in Dir::BOTH {
                assert_eq!(u64::from(m.queues[0].sw(dir).next_cdesc_idx), n("after"), "{case}");
            }
        }
    });
}

#[test]
fn golden_ack_request_checks_engine_and_queue() {
    section("ndmar_ack_completed", |profile, arch, case| {
        let n = |k: &str| case[k].as_u64().unwrap() as u32;
        let mut p = program(profile, arch, 64);
        let queue = QueueId { engine: n("eng_id"), queue: n("qid") };
        p.script.push(HostOp::Ack { queue, count: n("count") }.into());
        assert_eq!(ret_json(rets(&p).1[0]), case["ret"], "{case}");
    });
}

#[test]
fn golden_staging_errors_leave_the_ring_as_the_driver_does() {
    section("prepare_one_errors", |profile, arch, case| {
        let note = case["note"].as_str().unwrap();
        let n = |k: &str| case[k].as_u64().unwrap();
        let pos = |k: &str| -> Vec<u64> {
            case[k].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect()
        };
        let (before, after) =
            (pos("tx_rx_next_and_ring_id_before"), pos("tx_rx_next_and_ring_id_after"));
        let said = note
            .split("ring of ")
            .nth(1)
            .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
        let size = said.unwrap_or(64);
        let mut p = program(profile, arch, size);
        p.queues[0].allocatable = !note.contains("not allocatable");
        // Bring the cursors to where the record has them: stage and ack.
        let laps = (before[1] + 3) % 4;
        for _ in 0..laps * size + before[0] {
            p.script.push(stage(4, 0).into());
            p.script.push(HostOp::Ack { queue: Q, count: 1 }.into());
        }
        let mut last = stage(n("size"), n("barrier_code") as u32);
        if let HostOp::Stage { queue, .. } = &mut last {
            queue.queue = n("qid") as u32;
        }
        p.script.push(last.into());
        let (m, rets) = rets(&p);
        assert_eq!(ret_json(*rets.last().unwrap()), case["ret"], "{case}");
        let q = &m.queues[0];
        let got: Vec<u64> = Dir::BOTH
            .iter()
            .flat_map(|d| [u64::from(q.sw(*d).next_desc_idx), u64::from(q.sw(*d).desc_ring_id)])
            .collect();
        assert_eq!(got, after, "{case}");
    });
}

#[test]
fn golden_a_full_ring_refuses_and_goes_on_after_an_ack() {
    section("full_ring", |profile, arch, case| {
        let size = case["ring_size"].as_u64().unwrap();
        let mut p = program(profile, arch, size);
        if let Some(note) = case["note"].as_str() {
            // One ring full, the other empty: filled through the model's own cursors.
            let mut m = Machine::new(&p);
            while m.step(&p).is_some() {}
            let full = if note.starts_with("tx exactly full") { Dir::Tx } else { Dir::Rx };
            let q = &mut m.queues[0];
            for _ in 0..size - 16 {
                q.sw[usize::from(full == Dir::Rx)].take();
            }
            p.script.push(stage(4, 0).into());
            let mut ret = None;
            while let Some(s) = m.step(&p) {
                if let EventKind::CallReturn { ret: r, .. } = s.event.kind {
                    ret = Some(r);
                }
            }
            assert_eq!(ret.map(ret_json), Some(case["ret"].clone()), "{case}");
            assert_eq!(json!(m.queues[0].sw(Dir::Tx).next_desc_idx), case["tx_next"], "{case}");
            assert_eq!(json!(m.queues[0].sw(Dir::Rx).next_desc_idx), case["rx_next"], "{case}");
            return;
        }
        let state = |m: &Machine| {
            let sw = m.queues[0].sw(Dir::Tx);
            json!({"next_desc_idx": sw.next_desc_idx, "next_cdesc_idx": sw.next_cdesc_idx,
                   "desc_ring_id": sw.desc_ring_id, "available": sw.free()})
        };
        // Fill, then for each recorded ack: RX only (still refused), TX, fill again.
        let mut m = Machine::new(&p);
        let fill = |m: &mut Machine, p: &mut Program| {
            let mut accepted = 0u64;
            loop {
                p.script.push(stage(4, 0).into());
                let mut ret = Ret::OK;
                while let Some(s) = m.step(p) {
                    if let EventKind::CallReturn { ret: r, .. } = s.event.kind {
                        ret = r;
                    }
                }
                if ret != Ret::OK {
                    return (accepted, ret);
                }
                accepted += 1;
            }
        };
        let (accepted, ret) = fill(&mut m, &mut p);
        assert_eq!(json!(accepted), case["accepted_before_full"]);
        assert_eq!(ret_json(ret), case["error"]);
        assert_eq!(state(&m), case["state_at_full"]);
        for a in case["after_ack"].as_array().unwrap() {
            let n = a["ack"].as_u64().unwrap() as u32;
            m.queues[0].sw[1].ack(n, profile).unwrap();
            let (none, ret) = fill(&mut m, &mut p);
            assert_eq!((none, ret_json(ret)), (0, a["ret_with_only_rx_acked"].clone()));
            m.queues[0].sw[0].ack(n, profile).unwrap();
            let (accepted, _) = fill(&mut m, &mut p);
            let mut want = a.clone();
            let o = want.as_object_mut().unwrap();
            assert_eq!(Some(json!(accepted)), o.remove("then_accepted"));
            o.remove("ack");
            o.remove("ret_with_only_rx_acked");
            assert_eq!(state(&m), want);
        }
    });
}

#[test]
fn golden_waits_run_out_after_the_measured_reads() {
    section("measured_timeouts", |profile, arch, case| {
        let flag = |k: &str| case[k].as_bool().unwrap();
        let kind = match (flag("asynchronous"), flag("intra_device")) {
            (true, _) => WaitKind::Async,
            (false, true) => WaitKind::IntraDevice,
            (false, false) => WaitKind::Sync,
        };
        let mut p = program(profile, arch, 8192);
        let marker = p.queues[0].marker_area;
        let count = case["count"].as_u64().unwrap() as u32;
        p.script.push(HostOp::Wait { queue: Q, marker, count, kind }.into());
        let (mut delay, mut polls, mut acks, mut begun) = (0, 0, 0, None);
        let done = machine::run(&p, |_, e| {
            match e.kind {
                EventKind::WaitBudget { .. } => begun = Some(e.t_us()),
                EventKind::Delay { us } => delay = us,
                EventKind::Poll { reads, value, .. } => {
                    assert_ne!(value, MARKER);
                    polls += reads;
                }
                EventKind::Ack { .. } => acks += 1,
                _ => {}
            }
            true
        });
        assert_eq!(ret_json(done.rets[1].1), case["ret"], "{case}");
        assert_eq!(json!(delay), case["first_delay_us"], "{case}");
        assert_eq!(json!(polls), case["polls"], "{case}");
        let total = done.machine.now_ns / 1000 - begun.unwrap();
        assert_eq!(json!(total), case["total_delay_us"], "{case}");
        assert_eq!(acks > 0, flag("acked"), "{case}");
    });
}

#[test]
fn golden_chunked_copies_are_cut_as_recorded() {
    section("chunking", |profile, arch, case| {
        let size = case["size"].as_u64().unwrap();
        let mut p = program(profile, arch, 8192);
        let long = p.regions.iter_mut().filter(|r| r.name != "marker");
        long.for_each(|r| r.len = 1 << 32);
        let (src, dst) = (arch.host_base(), 0x1000_0000);
        let copy = match case.get("previous_handle") {
            Some(h) => {
                let previous = h.as_i64().unwrap() as i32;
                HostOp::CopyAsync { queue: Q, src, dst, size, previous }
            }
            None => HostOp::Copy { queue: Q, src, dst, size },
        };
        p.script.push(copy.into());
        let mut batches: Vec<Value> = Vec::new();
        let mut waits = Vec::new();
        let mut data: Vec<(u64, u32, u64)> = Vec::new();
        let mut marker_barrier = 0;
        let done = machine::run(&p, |_, e| {
            match e.kind {
                EventKind::Stage { role, size, barrier_code, tx, .. } => {
                    if role == dmadbg::engine::ring::Role::Marker {
                        marker_barrier = barrier_code;
                    } else {
                        let wire = tx.desc.unwrap().len_ctrl & 0xffff;
                        data.push((size, barrier_code, u64::from(wire)));
                    }
                }
                EventKind::CopyStart { m2s, .. } => {
                    let last = *data.last().unwrap();
                    let elsewhere: std::collections::BTreeSet<u32> =
                        data[..data.len() - 1].iter().map(|d| d.1).collect();
                    batches.push(json!({
                        "data_descs": data.len(), "pending": m2s, "first_size": data[0].0,
                        "last_size": last.0, "barrier_on_last": last.1,
                        "barriers_elsewhere": elsewhere, "marker_barrier": marker_barrier,
                        "wire_len_of_last": last.2,
                    }));
                    data.clear();
                }
                EventKind::WaitBudget { count, first_us, following, .. } => waits
                    .push(json!({"count": count, "first_us": first_us, "following": following})),
                _ => {}
            }
            true
        });
        assert_eq!(ret_json(done.rets[1].1), case["ret"], "{size}");
        // Asynchronous cases record less of each batch.
        let want = case["batches"].as_array().unwrap();
        assert_eq!(batches.len(), want.len(), "{size}");
        for (got, want) in batches.iter().zip(want) {
            for (key, value) in want.as_object().unwrap() {
                assert_eq!(&got[key], value, "{size} {key}");
            }
        }
        if let Some(want) = case.get("waits") {
            assert_eq!(&Value::Array(waits), want, "{size}");
        }
    });
}
