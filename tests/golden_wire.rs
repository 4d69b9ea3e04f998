//! The wire against recorded vectors: descriptors, ring arithmetic, queue initialisation,
//! registers and engine bring-up. See `golden_support` for where the vectors come from.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod golden_support;

use dmadbg::limits;
use dmadbg::udma::builder::{COPY_META_CTRL, PairRequest, build_pair, stage_pair};
use dmadbg::udma::desc::{DESC_BYTES, Desc, Dir, View};
use dmadbg::udma::engine_state::{self, EngineState};
use dmadbg::udma::profile::{self, Platform, WaitKind};
use dmadbg::udma::queue_init::{self, OuterQueueInit, QueueInit, QueueWrite, RingAt};
use dmadbg::udma::{Barrier, bring_up, host, reg, ring};
use golden_support::{Compared, desc_bytes, each_case, hex, load_json, pair, section};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn golden_every_section_of_ring_math_is_compared_by_some_test() {
    let Some(file) = load_json("ring-math.json") else { return };
    let sections = file["sections"].as_object().expect("sections");
    let known = [golden_support::WIRE_SECTIONS, golden_support::RING_SECTIONS].concat();
    let uncompared: Vec<_> =
        sections.keys().filter(|name| !known.contains(&name.as_str())).collect();
    assert!(uncompared.is_empty(), "sections that nothing compares: {uncompared:?}");
    let mut n = Compared::new();
    n.add(sections.len());
    n.finish("section names of ring-math.json");
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescCase {
    id: String,
    driver: String,
    arch: String,
    #[serde(rename = "category")]
    _category: String,
    src: String,
    dst: String,
    size: u64,
    tx_ring_id: u32,
    rx_ring_id: u32,
    barrier: String,
    barrier_code: i64,
    set_dst_int: bool,
    ret: i64,
    ret_builder: i64,
    tx: Option<String>,
    rx: Option<String>,
    error: Option<String>,
    tx_slots_consumed: Option<u32>,
    rx_slots_consumed: Option<u32>,
}

/// What a pair was asked to do, read back from its bits.
fn request_of(tx: Desc, rx: Desc) -> PairRequest {
    let barriers = [
        (tx.flag(View::Tx, "dmb"), Barrier::Dmb),
        (tx.flag(View::Tx, "write_barrier"), Barrier::WriteBarrier),
        (rx.flag(View::Rx, "strong_order"), Barrier::StrongOrderWrite),
    ];
    let barrier = barriers.iter().find(|b| b.0).map_or(Barrier::None, |b| b.1);
    PairRequest {
        src: tx.ptr,
        dst: rx.ptr,
        size: tx.length(),
        tx_ring_id: u32::from(tx.ring_id()),
        rx_ring_id: u32::from(rx.ring_id()),
        barrier_code: barrier.code(),
        set_dst_int: rx.flag(View::Rx, "int_en"),
    }
}

#[test]
fn golden_descriptors_encode_and_decode() {
    let Some(mut file) = load_json("descriptors.json") else { return };
    let cases: Vec<DescCase> = serde_json::from_value(file["cases"].take()).unwrap();
    let mut n = Compared::new();
    for case in &cases {
        check_descriptor(case);
        n.one();
    }
    n.finish("descriptor cases");
}

fn check_descriptor(case: &DescCase) {
    let id = &case.id;
    let (profile, arch) = pair(&case.driver, &case.arch);
    let request = PairRequest {
        src: hex(&case.src),
        dst: hex(&case.dst),
        size: case.size,
        tx_ring_id: case.tx_ring_id,
        rx_ring_id: case.rx_ring_id,
        barrier_code: case.barrier_code as u32,
        set_dst_int: case.set_dst_int,
    };
    let name = Barrier::from_code(request.barrier_code).map_or("invalid", Barrier::name);
    assert_eq!(name, case.barrier, "{id}");
    let staged = stage_pair(profile, arch, &request);
    let built = build_pair(profile, arch, &request);
    assert_eq!(staged.result.map_or_else(|e| e.errno().0, |_| 0), case.ret, "{id}: staging");
    assert_eq!(built.map_or_else(|e| e.errno().0, |_| 0), case.ret_builder, "{id}: builder");
    match staged.result {
        Ok((tx, rx)) => {
            let (tx_bytes, rx_bytes) = (case.tx.as_deref().unwrap(), case.rx.as_deref().unwrap());
            assert_eq!(tx.to_bytes(), desc_bytes(tx_bytes), "{id}: tx");
            assert_eq!(rx.to_bytes(), desc_bytes(rx_bytes), "{id}: rx");
            assert_eq!(built, Ok((tx, rx)), "{id}");
            assert_eq!((case.tx_slots_consumed.unwrap_or(1), staged.slots), (1, 1), "{id}");
            assert_eq!(case.error, None, "{id}");
            let tx = Desc::from_bytes(&desc_bytes(tx_bytes));
            let rx = Desc::from_bytes(&desc_bytes(rx_bytes));
            // On the wire size 0 cannot be told from 65536.
            let size = if request.size == 0 { 65_536 } else { request.size };
            assert_eq!(request_of(tx, rx), PairRequest { size, ..request }, "{id}: decoded");
            assert_eq!((tx.view(Dir::Tx), rx.length()), (View::Tx, size), "{id}: decoded");
            assert!(tx.first() && tx.last() && !rx.first() && !rx.last(), "{id}: decoded");
        }
        Err(e) => {
            assert_eq!((&case.tx, &case.rx), (&None, &None), "{id}");
            assert_eq!(Some(e.errno().name()), case.error, "{id}: error text");
            assert_eq!(Some(staged.slots), case.tx_slots_consumed, "{id}: tx slots");
            assert_eq!(Some(staged.slots), case.rx_slots_consumed, "{id}: rx slots");
        }
    }
}

#[test]
fn golden_constants() {
    let Some(groups) = section("constants") else { return };
    let known: BTreeMap<&str, u64> = [
        ("DMA_H2T_DESC_COUNT", profile::H2T_DESC_COUNT),
        ("guard_gap_descs", u64::from(ring::GUARD_GAP)),
        ("min_queue_size", limits::MIN_RING_DESCS),
        ("max_queue_size", limits::MAX_RING_DESCS),
        ("ring_addr_alignment_bytes", ring::RING_ALIGN),
        ("max_desc_transfer_bytes", profile::MAX_DESC_BYTES),
        ("configured_cdesc_size_bytes", profile::CDESC_BYTES),
        ("initial_ring_id", u64::from(ring::INITIAL_RING_ID)),
        ("ring_id_mask", u64::from(ring::RING_ID_MASK)),
        ("max_descs_per_packet_limit", profile::PACKET_LIMIT_RANGE.1),
        ("queues_per_engine", u64::from(profile::QUEUES_PER_ENGINE)),
        ("desc_size_bytes", DESC_BYTES as u64),
        ("cdesc_struct_size_bytes", profile::CDESC_STRUCT_BYTES),
        ("dummy_ring_desc_count", profile::DUMMY_RING_DESCS),
        ("memset_host_buf_bytes", profile::MEMSET_BUF_BYTES),
        ("dma_engine_slots_per_device", u64::from(profile::ENGINE_SLOTS)),
        ("sync_threshold", profile::SYNC_THRESHOLD),
        ("h2t_ctx_handle_count", u64::from(host::COPY_HANDLES)),
        ("ioctl_queue_copy_start", u64::from(host::COPY_START_CODE)),
        ("default_meta_ctrl", u64::from(COPY_META_CTRL)),
    ]
    .into();
    let mut n = Compared::new();
    for group in groups {
        for (name, value) in group.body["value"].as_object().expect("value") {
            assert_eq!(known.get(name.as_str()).copied(), value.as_u64(), "{name}");
            n.add(group.pairs.len());
        }
    }
    n.finish("constants");
}

#[test]
fn golden_desc_count_rounding() {
    each_case("desc_count_rounding", |_, _, &(asked, got): &(u32, u32)| {
        assert_eq!(ring::round_count(asked), got, "{asked}");
    });
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QueueInitCase {
    note: String,
    qid: u32,
    m2s_size: u32,
    s2m_size: u32,
    m2s_base: Option<String>,
    s2m_base: Option<String>,
    completion_ring: bool,
    ret: i64,
    mmio: Vec<(String, String, String, String)>,
}

#[test]
fn golden_queue_init() {
    let base = |text: &Option<String>| text.as_deref().map_or(0, hex);
    let row = |w: &QueueWrite| {
        (w.dir.name().to_owned(), w.name.to_owned(), u64::from(w.offset), u64::from(w.value))
    };
    each_case("queue_init", |_, _, case: &QueueInitCase| {
        let init = QueueInit {
            queue: case.qid,
            tx: RingAt { base: base(&case.m2s_base), size: case.m2s_size },
            rx: RingAt { base: base(&case.s2m_base), size: case.s2m_size },
            completion_ring: case.completion_ring,
        };
        let (answer, writes) = queue_init::queue_init(&init);
        let ret = answer.map_or_else(|e| e.errno().0, |()| 0);
        assert_eq!(ret, case.ret, "{}: {init:?}", case.note);
        let recorded: Vec<_> = case
            .mmio
            .iter()
            .map(|(dir, name, offset, value)| (dir.clone(), name.clone(), hex(offset), hex(value)))
            .collect();
        assert_eq!(writes.iter().map(row).collect::<Vec<_>>(), recorded, "{}", case.note);
    });
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OuterCase {
    note: String,
    eng_id: u32,
    qid: u32,
    tx_count: u32,
    rx_count: u32,
    completion_mc_bytes: Option<u64>,
    ret: i64,
}

#[test]
fn golden_ndmar_queue_init() {
    each_case("ndmar_queue_init", |_, arch, case: &OuterCase| {
        let ring = |size| RingAt { base: arch.host_base(), size };
        let inner = QueueInit {
            queue: case.qid,
            tx: ring(case.tx_count),
            rx: ring(case.rx_count),
            completion_ring: false,
        };
        let answer = queue_init::check_outer_queue_init(&OuterQueueInit {
            engine: case.eng_id,
            inner,
            completion_bytes: case.completion_mc_bytes,
        });
        let ret = answer.map_or_else(|e| e.errno().0, |()| 0);
        assert_eq!(ret, case.ret, "{}", case.note);
    });
}

#[derive(Deserialize, Debug, PartialEq)]
#[serde(untagged)]
enum Free {
    Slots(u32),
    Text(String),
}

#[test]
fn golden_available() {
    each_case("available", |profile, _, (size, next, acked, free): &(u32, u32, u32, Free)| {
        let got = match profile.reported_free(*size, *next, *acked) {
            Some(n) => Free::Slots(n),
            None => Free::Text("BUG".to_owned()),
        };
        assert_eq!(&got, free, "{profile} size {size} next {next} acked {acked}");
    });
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhaseCase {
    ring_size: u32,
    start_idx: u32,
    allocs: u64,
    columns: Vec<String>,
    rows: Vec<(u64, u32, u8, u32, u8)>,
}

#[test]
fn golden_phase_wrap() {
    let columns =
        ["k", "slot", "stamped_ring_id", "next_desc_idx_after", "desc_ring_id_after"].as_slice();
    each_case("phase_wrap", |_, _, case: &PhaseCase| {
        assert_eq!(case.columns, columns);
        let (mut next, mut id) = (case.start_idx, ring::INITIAL_RING_ID);
        let mut rows = case.rows.iter();
        let mut row = rows.next();
        for k in 0..case.allocs {
            let after = ring::take_slot(case.ring_size, next, id);
            if let Some(&(at, ..)) = row
                && at == k
            {
                assert_eq!(row, Some(&(k, next, id, after.0, after.1)), "size {}", case.ring_size);
                row = rows.next();
            }
            (next, id) = after;
        }
        assert_eq!(row, None, "rows past the last allocation");
    });
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnmaskedCase {
    ring_id: u32,
    ret: i64,
    tx: String,
    rx: String,
}

#[test]
fn golden_builder_does_not_mask_ring_ids() {
    each_case("builder_unmasked_ring_id", |profile, arch, case: &UnmaskedCase| {
        // Addresses, size and interrupt flag are not recorded beside the bytes.
        let tx = Desc::from_bytes(&desc_bytes(&case.tx));
        let rx = Desc::from_bytes(&desc_bytes(&case.rx));
        let request = PairRequest {
            src: tx.ptr,
            dst: rx.ptr,
            size: u64::from(tx.len_ctrl & 0xffff),
            tx_ring_id: case.ring_id,
            rx_ring_id: case.ring_id,
            barrier_code: 0,
            set_dst_int: false,
        };
        assert_eq!((build_pair(profile, arch, &request), case.ret), (Ok((tx, rx)), 0));
    });
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct WaitCase {
    platform: String,
    count: u64,
    asynchronous: bool,
    #[serde(default)]
    intra_device: bool,
    first_wait_us: Option<u64>,
    following_wait: Option<u64>,
    first_wait_us_hex: Option<String>,
    following_wait_hex: Option<String>,
    #[serde(rename = "loop")]
    looped: Option<u64>,
    max_polls: Option<u64>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

#[test]
fn golden_wait_budget() {
    each_case("wait_budget", |profile, arch, case: &WaitCase| {
        let platform = match case.platform.as_str() {
            "silicon" => Platform::Silicon,
            "qemu" => Platform::Qemu,
            "emu" => Platform::Emulator,
            other => panic!("unknown platform {other}"),
        };
        let kind = match (case.intra_device, case.asynchronous) {
            (true, false) => WaitKind::IntraDevice,
            (false, true) => WaitKind::Async,
            (false, false) => WaitKind::Sync,
            (true, true) => panic!("asynchronous inside the device: {case:?}"),
        };
        let budget = profile.wait_budget(arch, platform, case.count, kind);
        let read = |n: Option<u64>, text: &Option<String>| n.or_else(|| text.as_deref().map(hex));
        let first = read(case.first_wait_us, &case.first_wait_us_hex);
        assert_eq!(Some(budget.delay_us), first, "{profile} {arch} {case:?}");
        let following = read(case.following_wait, &case.following_wait_hex).unwrap();
        assert_eq!(budget.max_reads, following.wrapping_add(2), "{profile} {arch} {case:?}");
        if kind != WaitKind::IntraDevice {
            assert_eq!(budget.following, following, "{profile} {arch} {case:?}");
        }
        let looped = budget.max_reads.wrapping_sub(1);
        assert_eq!(case.looped.unwrap_or(looped), looped, "{case:?}");
        assert_eq!(case.max_polls.unwrap_or(budget.max_reads), budget.max_reads);
    });
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BarrierCase {
    arch: String,
    last_descriptor: bool,
    barrier_code: u32,
}

#[test]
fn golden_barrier_select() {
    each_case("barrier_select", |profile, arch, case: &BarrierCase| {
        assert_eq!(case.arch.parse(), Ok(arch));
        assert_eq!(profile.chunk_barrier(case.last_descriptor).code(), case.barrier_code);
    });
}

#[test]
fn golden_user_writes_blocked_in_an_engine_block() {
    let Some(groups) = section("bar0_blocked_engine_relative") else { return };
    let mut n = Compared::new();
    for group in groups {
        let recorded: BTreeSet<u32> = group.cases::<u32>().into_iter().collect();
        let blocked: BTreeSet<u32> = (0..reg::ENGINE_BLOCK_BYTES)
            .filter(|&offset| reg::user_write_blocked(offset))
            .collect();
        assert_eq!(blocked, recorded);
        n.add(recorded.len() * group.pairs.len());
    }
    n.finish("blocked offsets of an engine");
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockedCase {
    eng_id: u32,
    unit_bar0_offset: String,
    writes_blocked: BTreeMap<String, bool>,
}

/// The engine offset of `tx q0 drtp_inc` or `unit change_state`.
fn offset_of(name: &str) -> u32 {
    let words: Vec<&str> = name.split(' ').collect();
    match words[..] {
        ["unit", register] => reg::engine_reg(&format!("m2s_{register}")).expect(name).offset,
        [dir, queue, register] => {
            let dir = Dir::BOTH.into_iter().find(|d| d.name() == dir).expect(name);
            let queue = queue.strip_prefix('q').and_then(|q| q.parse().ok()).expect(name);
            reg::queue_reg_offset(dir, queue, register).expect(name)
        }
        _ => panic!("unknown register {name}"),
    }
}

#[test]
fn golden_user_writes_blocked_by_engine() {
    each_case("bar0_blocked_by_engine", |_, arch, case: &BlockedCase| {
        let base = reg::engine_base(arch, case.eng_id).expect("engine");
        assert_eq!(base, hex(&case.unit_bar0_offset), "{arch} engine {}", case.eng_id);
        assert!(!case.writes_blocked.is_empty());
        for (name, &blocked) in &case.writes_blocked {
            let (engine, offset) =
                reg::engine_at(arch, base + u64::from(offset_of(name))).expect(name);
            assert_eq!(engine, case.eng_id, "{arch}: {name}");
            assert_eq!(reg::user_write_blocked(offset), blocked, "{arch}: {name}");
        }
    });
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StateCase {
    note: String,
    m2s_state_reg: String,
    s2m_state_reg: String,
    s2m_stream_cfg: String,
    rx_queue_cfg: String,
    tx_state: i64,
    rx_state: i64,
}

#[test]
fn golden_engine_state_decode() {
    each_case("engine_state_decode", |_, _, case: &StateCase| {
        let value = |text: &String| hex(text) as u32;
        let off =
            engine_state::stream_off(value(&case.s2m_stream_cfg), [value(&case.rx_queue_cfg)]);
        let tx = EngineState::decode(value(&case.m2s_state_reg), false);
        let rx = EngineState::decode(value(&case.s2m_state_reg), off);
        assert_eq!((tx.code(), rx.code()), (case.tx_state, case.rx_state), "{}", case.note);
    });
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestCase {
    state: i64,
    ret: i64,
    writes: Vec<(String, String)>,
}

#[test]
fn golden_engine_state_set() {
    each_case("engine_state_set", |_, _, case: &RequestCase| {
        let answer = engine_state::request_writes(case.state);
        assert_eq!(answer.map_or_else(|e| e.0, |_| 0), case.ret, "state {}", case.state);
        let writes: Vec<_> =
            answer.iter().flatten().map(|&(_, offset, value)| (offset, value)).collect();
        let recorded: Vec<_> =
            case.writes.iter().map(|(o, v)| (hex(o) as u32, hex(v) as u32)).collect();
        assert_eq!(writes, recorded, "state {}", case.state);
    });
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HandleCase {
    previous: i64,
    ret: i64,
    next: Option<i64>,
}

#[test]
fn golden_async_next_handle() {
    each_case("async_next_handle", |_, _, case: &HandleCase| {
        let answer = host::next_async_handle(case.previous);
        assert_eq!(answer.map_or_else(|e| e.0, |_| 0), case.ret, "after {}", case.previous);
        assert_eq!(answer.ok(), case.next, "after {}", case.previous);
    });
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MappingCase {
    nc_id: u32,
    eng_id: u32,
    qid: u32,
}

#[test]
fn golden_h2t_mapping() {
    each_case("h2t_mapping", |_, arch, case: &MappingCase| {
        assert_eq!(arch.host_copy_queue(case.nc_id), (case.eng_id, case.qid), "{arch}");
    });
}

#[test]
fn golden_nx_reserved_queues() {
    let Some(groups) = section("nx_reserved_queues") else { return };
    let mut n = Compared::new();
    for group in groups {
        let recorded: BTreeSet<(u32, u32)> = group.cases().into_iter().collect();
        for &(_, arch) in &group.pairs {
            let reserved: BTreeSet<(u32, u32)> = (0..16)
                .flat_map(|engine| {
                    (0..profile::QUEUES_PER_ENGINE).map(move |queue| (engine, queue))
                })
                .filter(|&(engine, queue)| arch.is_reserved_queue(engine, queue))
                .collect();
            assert_eq!(reserved, recorded, "{arch}");
            n.add(recorded.len());
        }
    }
    n.finish("reserved queues");
}

#[test]
fn golden_pci_host_base() {
    let Some(groups) = section("pci_host_base") else { return };
    let mut n = Compared::new();
    for group in groups {
        let base = hex(group.body["value"].as_str().expect("value"));
        for &(_, arch) in &group.pairs {
            assert_eq!(arch.host_base(), base, "{arch}");
            n.one();
        }
    }
    n.finish("host bases");
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EngineInit {
    driver: String,
    arch: String,
    engine: u32,
    ret: i64,
    unit_bar0_offset: String,
    accesses: Vec<(String, String, String)>,
}

#[test]
fn golden_engine_init() {
    let Some(mut file) = load_json("engine-init.json") else { return };
    let records: Vec<EngineInit> = serde_json::from_value(file["engines"].take()).unwrap();
    let mut n = Compared::new();
    for record in &records {
        let (profile, arch) = pair(&record.driver, &record.arch);
        let what = format!("{profile} {arch} engine {}", record.engine);
        let base = reg::engine_base(arch, record.engine);
        assert_eq!(base, Some(hex(&record.unit_bar0_offset)), "{what}");
        let accesses = bring_up(profile, arch, record.engine).expect(&what);
        for (i, (got, (kind, offset, value))) in accesses.iter().zip(&record.accesses).enumerate() {
            let recorded = (kind == "w", hex(offset), hex(value));
            assert!(kind == "w" || kind == "r", "{what}: access {i} is `{kind}`");
            assert_eq!(
                (got.write, got.offset, u64::from(got.value)),
                recorded,
                "{what}: access {i}: got {got:x?}, recorded {kind} {offset} {value}"
            );
            n.one();
        }
        assert_eq!((accesses.len(), record.ret), (record.accesses.len(), 0), "{what}");
    }
    n.finish("register accesses of engine bring-up");
}
