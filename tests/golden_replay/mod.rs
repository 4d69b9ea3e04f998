//! A recorded run as a program, and the comparison of what the model does with the record.

use dmadbg::engine::program::*;
use dmadbg::engine::ring::event::MarkerWord;
use dmadbg::engine::ring::{Event, EventKind, Machine, Ret, Role};
use dmadbg::udma::host::next_async_handle;
use dmadbg::udma::profile::WaitKind;
use dmadbg::udma::{Barrier, Desc, Dir, Generation, Profile, View, reg, ring};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn hex_u64(v: &Value) -> u64 {
    let s = v.as_str().unwrap_or_else(|| panic!("not a hex string: {v}"));
    u64::from_str_radix(s.strip_prefix("0x").unwrap(), 16).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// A call of the record: its text, its events, its result.
struct Call {
    what: String,
    events: Vec<Value>,
    /// Events of the device after it returned.
    after: Vec<Value>,
    ret: Value,
}

fn kind(e: &Value) -> &str {
    e["k"].as_str().unwrap()
}

fn calls(run: &Value) -> Vec<Call> {
    let mut out: Vec<Call> = Vec::new();
    let mut open = false;
    for e in run["events"].as_array().unwrap() {
        match kind(e) {
            "call" => {
                let what = e["what"].as_str().unwrap().to_owned();
                out.push(Call { what, events: Vec::new(), after: Vec::new(), ret: Value::Null });
                open = true;
            }
            "call_return" => {
                out.last_mut().unwrap().ret = e["ret"].clone();
                open = false;
            }
            _ if open => out.last_mut().unwrap().events.push(e.clone()),
            _ => out.last_mut().unwrap().after.push(e.clone()),
        }
    }
    out
}

/// How long after its doorbell the device began, by call: told by the first bell of a call that
/// finds nothing else waiting for the device. What is rung while another bell waits is done with
/// that.
fn latencies(run: &Value) -> BTreeMap<usize, u64> {
    let events = run["events"].as_array().unwrap();
    let (mut call, mut waiting, mut out) = (0, None, BTreeMap::new());
    for (n, e) in events.iter().enumerate() {
        let t = e["t_us"].as_u64().unwrap();
        let lost = || events.get(n + 1).is_some_and(|next| kind(next) == "hw_note");
        match kind(e) {
            "call" => call += 1,
            "mmio_write" if e["queue"] == "tx" && e["reg"] == "drtp_inc" && !lost() => {
                waiting.get_or_insert((call, t));
            }
            "hw_retire" => {
                if let Some((call, rung)) = waiting.take() {
                    out.entry(call - 1).or_insert(t - rung);
                }
            }
            _ => {}
        }
    }
    out
}

/// One staged pair of the record.
#[derive(Clone, Copy, Debug)]
struct Staged {
    src: u64,
    dst: u64,
    size: u64,
    marker: bool,
    barrier: u32,
    int: bool,
    ok: bool,
}

fn barrier_code(name: &str) -> u32 {
    name.parse::<Barrier>().map_or(9, Barrier::code)
}

impl Call {
    fn stages(&self) -> Vec<Staged> {
        let mut out = Vec::new();
        for e in &self.events {
            match kind(e) {
                "stage" => out.push(Staged {
                    src: hex_u64(&e["src"]),
                    dst: hex_u64(&e["dst"]),
                    size: e["size"].as_u64().unwrap(),
                    marker: e["role"] == "marker",
                    barrier: barrier_code(e["barrier"].as_str().unwrap()),
                    int: e["set_dst_int"].as_bool().unwrap(),
                    ok: e["ret"] == 0,
                }),
                "stage_range" => {
                    let n = e["n"].as_u64().unwrap();
                    let step = |first: &str, last: &str| {
                        let (a, b) = (hex_u64(&e[first]), hex_u64(&e[last]));
                        (a, if n > 1 { (b - a) / (n - 1) } else { 0 })
                    };
                    let (src, ds) = step("first_src", "last_src");
                    let (dst, dd) = step("first_dst", "last_dst");
                    for i in 0..n {
                        out.push(Staged {
                            src: src + i * ds,
                            dst: dst + i * dd,
                            size: e["size"].as_u64().unwrap(),
                            marker: e["role"] == "marker",
                            barrier: barrier_code(e["barrier"].as_str().unwrap()),
                            int: false,
                            ok: true,
                        });
                    }
                }
                _ => {}
            }
        }
        out
    }

    fn of<'a>(&'a self, k: &'a str) -> impl Iterator<Item = &'a Value> + 'a {
        self.events.iter().filter(move |e| kind(e) == k)
    }

    fn number_after(&self, word: &str) -> Option<i64> {
        let at = self.what.find(word)? + word.len();
        let rest = self.what[at..].trim_start();
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
        rest[..end].parse().ok()
    }
}

/// The fields of a recorded run. All of them are compared, but for its name and title.
const FIELDS: &[&str] = &[
    "name",
    "title",
    "driver",
    "arch",
    "ring",
    "engine",
    "qid",
    "nc_id",
    "pci_host_base",
    "tx_ring_base",
    "rx_ring_base",
    "state_after_init",
    "marker_memory",
    "tx_image",
    "rx_image",
    "memory",
    "state_final",
    "hw_registers_final_model",
    "marker_words",
    "doorbells",
    "pending_per_copy_start",
    "counts",
    "init_writes",
    "events",
];

pub struct Replay {
    run: Value,
    dir: PathBuf,
    program: Program,
    queue: QueueId,
    name: String,
}

impl Replay {
    pub fn new(run: &Value, dir: &Path) -> Replay {
        let arch: Generation = run["arch"].as_str().unwrap().parse().unwrap();
        let profile = Profile::find(run["driver"].as_str().unwrap()).unwrap();
        let mut p = Program::new(arch, profile);
        let queue = QueueId {
            engine: run["engine"]["id"].as_u64().unwrap() as u32,
            queue: run["qid"].as_u64().unwrap() as u32,
        };
        let size = run["ring"]["desc_count"].as_u64().unwrap();
        let calls = calls(run);
        let authored = calls.iter().any(|c| c.what.contains("descriptors into the ring"));
        let markers: Vec<u64> =
            run["marker_words"].as_array().unwrap().iter().map(|w| hex_u64(&w["src"])).collect();
        let recorded = run.get("marker_memory").map(|m| hex_u64(&m[0]["base"]));
        let marker_area = recorded.or(markers.iter().copied().min()).unwrap_or(0);
        p.queues.push(QueueDecl {
            id: queue,
            tx: Some(RingDecl { base: hex_u64(&run["tx_ring_base"]), size }),
            rx: Some(RingDecl { base: hex_u64(&run["rx_ring_base"]), size }),
            allocatable: !authored,
            marker_area,
            first: [Start::FRESH; 2],
        });
        for m in run["memory"].as_array().unwrap() {
            let base = hex_u64(&m["addr"]);
            let fill = m["fill"].as_str().unwrap();
            let fill = match fill.strip_prefix("pattern seed ") {
                Some(seed) => Fill::Pattern(seed.parse().unwrap()),
                None if fill == "zero" => Fill::Zero,
                None => panic!("unknown fill {fill}"),
            };
            let kind = if arch.is_host(base) { RegionKind::Host } else { RegionKind::Device };
            let name = m["label"].as_str().unwrap().to_owned();
            p.regions.push(Region { name, kind, base, len: m["bytes"].as_u64().unwrap(), fill });
        }
        let mut more = markers.clone();
        more.push(marker_area);
        more.sort_unstable();
        for (i, base) in more.into_iter().enumerate() {
            if p.regions.iter().all(|r| !r.contains(base)) && base != 0 {
                let name = format!("marker {i}");
                p.regions.push(Region {
                    name,
                    kind: RegionKind::Host,
                    base,
                    len: 24,
                    fill: Fill::Zero,
                });
            }
        }
        p.sort_regions();
        let mut me = Replay {
            run: run.clone(),
            dir: dir.to_owned(),
            program: p,
            queue,
            name: run["name"].as_str().unwrap().to_owned(),
        };
        me.script(&calls);
        me
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    fn push(&mut self, op: HostOp) {
        self.program.script.push(op.into());
    }

    /// Turns the record's calls into host operations.
    fn script(&mut self, calls: &[Call]) {
        let queue = self.queue;
        self.push(HostOp::InitQueue { queue });
        let mut held = false;
        let mut latency = 0;
        let mut pending_async = false;
        let begins = latencies(&self.run);
        for (i, call) in calls.iter().enumerate() {
            let lost = call
                .of("hw_note")
                .filter(|e| e["note"].as_str().unwrap().contains("swallowed"))
                .count();
            if lost > 0 {
                self.push(HostOp::Device(DeviceOp::LoseDoorbells(lost as u32)));
            }
            if call
                .events
                .iter()
                .filter(|e| kind(e) == "mmio_write" && e["reg"] == "drbp_low")
                .count()
                > 0
            {
                self.push(HostOp::Device(DeviceOp::ResetWindow(true)));
            }
            // When does the device begin what this call rings?
            let bell =
                call.events.iter().rev().find(|e| {
                    kind(e) == "mmio_write" && e["queue"] == "tx" && e["reg"] == "drtp_inc"
                });
            let mut kick = false;
            if let Some(bell) = bell {
                let rung = bell["t_us"].as_u64().unwrap();
                let done = call.events.iter().rposition(|e| kind(e) == "hw_retire");
                let bell_at = call.events.iter().position(|e| e == bell).unwrap();
                let later = calls[i + 1..].iter().find_map(|c| c.of("hw_retire").next());
                match done {
                    Some(at) => {
                        if held {
                            held = false;
                            self.push(HostOp::Device(DeviceOp::Resume));
                        }
                        let t = call.events[at]["t_us"].as_u64().unwrap();
                        // An earlier bell's work that ends inside this call says nothing of
                        // this one's: both have the same latency.
                        let l = match begins.get(&i) {
                            Some(l) => *l,
                            None if at > bell_at => t - rung,
                            None => 0,
                        };
                        if l != latency {
                            latency = l;
                            self.push(HostOp::Device(DeviceOp::Latency(l)));
                        }
                    }
                    None if !call.after.is_empty() && kind(&call.after[0]) == "hw_copy" => {
                        self.push(HostOp::Device(DeviceOp::Hold));
                        held = true;
                        kick = true;
                    }
                    None => match later {
                        Some(e) if call.ret == 0 => {
                            let l = e["t_us"].as_u64().unwrap() - rung;
                            if l != latency {
                                latency = l;
                                self.push(HostOp::Device(DeviceOp::Latency(l)));
                            }
                        }
                        _ => {
                            if !held {
                                self.push(HostOp::Device(DeviceOp::Hold));
                                held = true;
                            }
                        }
                    },
                }
            }
            let op = self.op(call, &mut pending_async);
            self.push(op);
            if kick {
                self.push(HostOp::Device(DeviceOp::Kick));
                self.push(HostOp::Device(DeviceOp::Resume));
                held = false;
            }
        }
    }

    fn op(&self, call: &Call, pending_async: &mut bool) -> HostOp {
        let queue = self.queue;
        let stages = call.stages();
        let data: Vec<Staged> = stages.iter().copied().filter(|s| !s.marker).collect();
        let starts: Vec<&Value> = call.of("copy_start").collect();
        let budget = call.of("wait_budget").next();
        let failed = stages.iter().any(|s| !s.ok);
        if stages.is_empty() {
            if let Some(s) = starts.first() {
                let n = |k: &str| s[k].as_u64().unwrap() as u32;
                return HostOp::CopyStart { queue, m2s: n("m2s_count"), s2m: n("s2m_count") };
            }
            if let Some(b) = budget {
                if *pending_async {
                    let handle = call.number_after("handle").unwrap() as i32;
                    return HostOp::WaitAsync { queue, handle };
                }
                let delay = call.of("delay").next().unwrap()["us"].as_u64().unwrap();
                let kind = match b["asynchronous"].as_bool().unwrap() {
                    true => WaitKind::Async,
                    false if json!(delay) != b["first_wait_us"] => WaitKind::IntraDevice,
                    false => WaitKind::Sync,
                };
                let marker = hex_u64(&call.of("poll").next().unwrap()["addr"]) - 4;
                return HostOp::Wait {
                    queue,
                    marker,
                    count: b["count"].as_u64().unwrap() as u32,
                    kind,
                };
            }
            if let Some(a) = call.of("ack").next() {
                return HostOp::Ack { queue, count: a["count"].as_u64().unwrap() as u32 };
            }
            return self.copy_in(call);
        }
        if starts.is_empty() && stages.len() == 1 && !call.what.contains("mem") {
            let s = stages[0];
            return match s.marker {
                true => HostOp::StageMarker { queue, marker: s.src, barrier_code: s.barrier },
                false => HostOp::Stage {
                    queue,
                    src: s.src,
                    dst: s.dst,
                    size: s.size,
                    barrier_code: s.barrier,
                    set_dst_int: s.int,
                },
            };
        }
        let first = data[0];
        let again =
            call.events.iter().position(|e| kind(e) == "mmio_write" && e["reg"] == "drbp_low");
        let total = match again {
            Some(at) => {
                let before = Call {
                    what: String::new(),
                    events: call.events[..at].to_vec(),
                    after: vec![],
                    ret: Value::Null,
                };
                before.stages().iter().filter(|s| !s.marker).map(|s| s.size).sum()
            }
            None => data.iter().map(|s| s.size).sum::<u64>(),
        };
        let (src, dst) = (first.src, first.dst);
        if call.what.contains("async") {
            *pending_async = true;
            let previous = call.number_after("previous handle").unwrap() as i32;
            return HostOp::CopyAsync { queue, src, dst, size: total, previous };
        }
        if call.what.contains("zero-copy") {
            let to_device = self.program.arch.is_host(src);
            let (host, device) = if to_device { (src, dst) } else { (dst, src) };
            let words: Vec<u64> =
                call.stages().iter().filter(|s| s.marker).map(|s| s.src).collect();
            let markers = [words[0], *words.get(1).unwrap_or(&words[0])];
            return HostOp::ZeroCopy { queue, host, device, size: total, to_device, markers };
        }
        if call.what.contains("memset") {
            let memory = self.run["memory"].as_array().unwrap();
            let staging = memory.iter().find(|m| m["label"].as_str().unwrap().contains("memset"));
            let said = call.what.split("value 0x").nth(1).map(|t| t[..2].trim().to_owned());
            let value = staging
                .map(|m| m["first32_after"].as_str().unwrap()[..2].to_owned())
                .or(said)
                .unwrap_or_else(|| panic!("{}: which byte does {} set?", self.name, call.what));
            let value = u8::from_str_radix(&value, 16).unwrap();
            return HostOp::Memset { queue, buffer: src, dst, size: total, value };
        }
        // A copy that failed in the middle had more to do when its last pair had no barrier.
        let more = failed && data.last().is_some_and(|s| s.barrier == 0);
        HostOp::Copy { queue, src, dst, size: total + if more { 65_536 } else { 0 } }
    }

    fn image(&self, dir: Dir) -> Vec<u8> {
        let file = self.run[format!("{dir}_image")]["file"].as_str().unwrap();
        std::fs::read(self.dir.join(file)).unwrap()
    }

    fn copy_in(&self, call: &Call) -> HostOp {
        let queue = self.queue;
        let take = |dir: Dir, n: usize| Blob::from_vec(self.image(dir)[..16 * n].to_vec());
        if call.what.contains("bad queue type") {
            return HostOp::CopyIn {
                queue,
                ring: RingType::Other(2),
                at: 0,
                descs: take(Dir::Tx, 1),
            };
        }
        if call.what.contains("unowned") {
            let mut bytes = take(Dir::Tx, 1).bytes().to_vec();
            bytes[8..]
                .copy_from_slice(&(self.program.arch.host_base() | 0x7_0000_0000).to_le_bytes());
            let descs = Blob::from_vec(bytes);
            return HostOp::CopyIn { queue, ring: RingType::Dir(Dir::Tx), at: 0, descs };
        }
        let n = call.number_after("copy").unwrap_or_else(|| panic!("{}: {}", self.name, call.what));
        let dir = if call.what.contains(" TX ") { Dir::Tx } else { Dir::Rx };
        HostOp::CopyIn { queue, ring: RingType::Dir(dir), at: 0, descs: take(dir, n as usize) }
    }

    fn state(&self, m: &Machine) -> Value {
        let q = m.queue(self.queue).unwrap();
        let one = |d| {
            let sw = q.sw(d);
            json!({"next_desc_idx": sw.next_desc_idx, "next_cdesc_idx": sw.next_cdesc_idx,
                   "desc_ring_id": sw.desc_ring_id, "available": sw.free()})
        };
        json!({"tx": one(Dir::Tx), "rx": one(Dir::Rx)})
    }

    fn mmio(&self, offset: u32, value: u32) -> Map<String, Value> {
        let place = reg::name_at(offset).unwrap();
        let (dir, q) = place.queue.unwrap();
        let bar0 =
            reg::engine_base(self.program.arch, self.queue.engine).unwrap() + u64::from(offset);
        let inside = offset - reg::queue_block(dir, q);
        let v = json!({"k": "mmio_write", "queue": dir.name(), "reg": place.name,
            "q_off": format!("{inside:#x}"), "unit_off": format!("{offset:#x}"),
            "bar0_off": format!("{bar0:#x}"), "value": format!("{value:#x}")});
        v.as_object().unwrap().clone()
    }

    /// The model's event in the record's form; nothing for kinds that it does not have.
    fn told(&self, m: &Machine, e: &Event) -> Option<Value> {
        let mut o = match e.kind {
            EventKind::Stage { role, src, dst, size, barrier_code, ret, tx, rx, .. } => {
                let slot = |s: dmadbg::engine::ring::event::SlotTaken| {
                    let mut o = json!({"slot": s.slot, "ring_id": s.ring_id,
                        "avail_before": s.avail_before, "next_desc_idx": s.next_desc_idx,
                        "desc_ring_id": s.desc_ring_id, "avail_after": s.avail_after});
                    if let Some(d) = s.desc {
                        o["desc"] = json!(hex(&d.to_bytes()));
                    }
                    o
                };
                let barrier = Barrier::from_code(barrier_code).map_or("invalid", Barrier::name);
                // What was asked of a pair that was refused is nowhere on the wire.
                let int = rx.desc.map(|d| d.flag(View::Rx, "int_en"));
                json!({"k": "stage", "set_dst_int": int, "role": if role == Role::Marker { "marker" } else { "data" },
                    "src": format!("{src:#x}"), "dst": format!("{dst:#x}"), "size": size,
                    "barrier": barrier, "ret": ret_json(ret), "tx": slot(tx), "rx": slot(rx)})
            }
            EventKind::MarkerWrite { word, addr, value } => json!({"k": "marker_write",
                "word": if word == MarkerWord::Src { "src" } else { "dst" },
                "addr": format!("{addr:#x}"), "value": format!("{value:#x}")}),
            EventKind::CopyStart { m2s, s2m, .. } => json!({"k": "copy_start", "m2s_count": m2s,
                "s2m_count": s2m, "state": self.state(m)}),
            EventKind::CopyStartReturn { ret, .. } => json!({"k": "copy_start_return",
                "ret": ret_json(ret), "state": self.state(m)}),
            EventKind::CpuFence => json!({"k": "cpu_fence"}),
            EventKind::MmioWrite { offset, value, .. } => Value::Object(self.mmio(offset, value)),
            EventKind::WaitBudget { count, asynchronous, first_us, following, .. } => json!({
                "k": "wait_budget", "count": count, "asynchronous": asynchronous,
                "first_wait_us": first_us, "following_wait": following}),
            EventKind::Delay { us } => json!({"k": "delay", "us": us}),
            EventKind::Poll { addr, reads, value } => json!({"k": "poll", "reads": reads,
                "addr": format!("{addr:#x}"), "last_value": format!("{value:#x}")}),
            EventKind::Ack { dir, count, before, after, available, .. } => json!({"k": "ack",
                "queue": dir.name(), "next_cdesc_idx_before": before,
                "next_cdesc_idx_after": after, "count": count, "available_after": available}),
            EventKind::CallReturn { ret, .. } => {
                json!({"k": "call_return", "ret": ret_json(ret), "state": self.state(m)})
            }
            _ => return None,
        };
        o["t_us"] = json!(e.t_us());
        Some(o)
    }

    /// Runs the program and compares everything that the record has. Returns how many events
    /// were compared.
    pub fn compare(&self) -> u64 {
        let p = &self.program;
        let mut m = Machine::new(p);
        let mut mine: Vec<Value> = Vec::new();
        let mut init: Vec<Value> = Vec::new();
        let marker_area = p.queues[0].marker_area;
        let moments: Vec<&Value> =
            self.run.get("marker_memory").and_then(Value::as_array).into_iter().flatten().collect();
        let mut seen = 0;
        let check_moment = |m: &Machine, seen: &mut usize| {
            while let Some(moment) = moments.get(*seen) {
                let want = moment["bytes"].as_str().unwrap();
                let mut now = vec![0; want.len() / 2];
                m.memory.read(marker_area, &mut now);
                if hex(&now) != want {
                    break;
                }
                *seen += 1;
            }
        };
        check_moment(&m, &mut seen);
        let mut source = (0, Desc::default());
        let mut target = Desc::default();
        let (mut heads, mut pairs): (Option<(u64, u64)>, u64) = (None, 0);
        let mut retired_at = 0;
        let mut skip_op = None;
        self.compare_setting(&m);
        while let Some(step) = m.step(p) {
            let e = step.event;
            check_moment(&m, &mut seen);
            let q = m.queue(self.queue).unwrap();
            let engine = e.agent != dmadbg::engine::ring::Agent::Host;
            if !engine && pairs > 0 {
                let (tx, rx) = heads.take().unwrap();
                let now = (
                    q.hw(Dir::Tx).slot(q.hw(Dir::Tx).retired),
                    q.hw(Dir::Rx).slot(q.hw(Dir::Rx).retired),
                );
                mine.push(json!({"k": "hw_retire", "pairs": pairs, "tx_head": [tx, now.0],
                    "rx_head": [rx, now.1], "t_us": retired_at}));
                pairs = 0;
            }
            match e.kind {
                EventKind::Call { op } => {
                    let op = &p.script[op as usize].op;
                    skip_op = matches!(op, HostOp::Device(_) | HostOp::InitQueue { .. })
                        .then_some(op.verb());
                    if skip_op.is_none() {
                        mine.push(json!({"k": "call", "t_us": e.t_us()}));
                    }
                }
                EventKind::CallReturn { .. } if skip_op == Some("init") => {
                    assert_eq!(self.state(&m), self.run["state_after_init"], "{}", self.name);
                    skip_op = Some("");
                }
                EventKind::CallReturn { .. } if skip_op.is_some() => {}
                EventKind::MmioWrite { offset, value, .. } if skip_op == Some("init") => {
                    init.push(Value::Object(self.mmio(offset, value)));
                }
                EventKind::Fetch { dir: Dir::Tx, slot, desc } => source = (slot, desc),
                EventKind::Fetch { dir: Dir::Rx, desc, .. } => target = desc,
                EventKind::Visible { slot, addr, len } => mine.push(json!({"k": "hw_copy",
                    "tx_slot": source.0, "rx_slot": slot, "src": format!("{:#x}", source.1.ptr),
                    "dst": format!("{addr:#x}"), "bytes": len,
                    "tx_ring_id": source.1.ring_id(), "rx_ring_id": target.ring_id(),
                    "t_us": e.t_us()})),
                EventKind::Retire { .. } => {
                    retired_at = e.t_us();
                    let before = |d| {
                        let hw = q.hw(d);
                        hw.slot(hw.retired - 1)
                    };
                    heads.get_or_insert((before(Dir::Tx), before(Dir::Rx)));
                    pairs += 1;
                }
                _ => mine.extend(self.told(&m, &e)),
            }
        }
        assert_eq!(seen, moments.len(), "{}: marker memory at {:?}", self.name, moments.get(seen));
        let want_init = self.run["init_writes"].as_array().unwrap();
        assert_eq!(&init, want_init, "{}: init writes", self.name);
        let n = self.compare_events(&mine);
        self.compare_end(&m, &mine);
        n + init.len() as u64
    }

    /// Walks both lists side by side.
    fn compare_events(&self, mine: &[Value]) -> u64 {
        let mut at = 0;
        let mut n = 0;
        let mut handle = -1;
        let mut copies_told = false;
        let events = self.run["events"].as_array().unwrap();
        let next = |at: &mut usize, want: &Value| -> Value {
            let got = mine
                .get(*at)
                .unwrap_or_else(|| panic!("{}: the model ends before {want}", self.name));
            *at += 1;
            got.clone()
        };
        for e in events {
            match kind(e) {
                "note" => self.compare_note(&mut handle, e),
                "hw_note" => continue,
                "stage_range" => {
                    n += self.compare_range(&mine[at.min(mine.len())..], e);
                    at += e["n"].as_u64().unwrap() as usize;
                }
                "hw_copy_range" => {
                    copies_told = true;
                    for i in 0..e["n"].as_u64().unwrap() {
                        let got = next(&mut at, e);
                        for (key, want) in [("bytes", &e["bytes"]), ("t_us", &e["t_us"])] {
                            assert_eq!(&got[key], want, "{}: {key} of {e}", self.name);
                        }
                        assert_eq!(got["k"], "hw_copy", "{}: {e}", self.name);
                        assert_eq!(got["tx_slot"], self.slot_of_range(e, "tx_slots", i));
                        n += 1;
                    }
                }
                "hw_retire" => {
                    // Long runs are recorded without their single copies.
                    while !copies_told && mine.get(at).is_some_and(|g| g["k"] == "hw_copy") {
                        at += 1;
                    }
                    copies_told = false;
                    let got = next(&mut at, e);
                    self.same(&got, e);
                    n += 1;
                }
                k => {
                    copies_told |= k == "hw_copy";
                    let got = next(&mut at, e);
                    self.same(&got, e);
                    n += 1;
                }
            }
        }
        assert_eq!(at, mine.len(), "{}: the model does more: {:?}", self.name, mine.get(at));
        n
    }

    /// Slot `i` of a run of them that is recorded by its first and last.
    fn slot_of_range(&self, e: &Value, slots: &str, i: u64) -> u64 {
        let ring = self.run["ring"]["desc_count"].as_u64().unwrap();
        let slot = |i| (e[slots][0].as_u64().unwrap() + i) % ring;
        let n = e["n"].as_u64().unwrap();
        assert_eq!(Some(slot(n - 1)), e[slots][1].as_u64(), "{}: {e}", self.name);
        slot(i)
    }

    /// A run of pairs that the record tells in one event; how many they are.
    fn compare_range(&self, mine: &[Value], e: &Value) -> u64 {
        let n = e["n"].as_u64().unwrap();
        let mut ring_ids = Vec::new();
        for (i, got) in (0..n).zip(mine) {
            for key in ["size", "role", "barrier", "t_us"] {
                assert_eq!(got[key], e[key], "{}: {key} of {e}", self.name);
            }
            // Evenly stepping from the first to the last.
            for (key, first, last) in
                [("src", "first_src", "last_src"), ("dst", "first_dst", "last_dst")]
            {
                let (a, b) = (hex_u64(&e[first]), hex_u64(&e[last]));
                let step = (b - a).checked_div(n - 1).unwrap_or(0);
                assert_eq!(hex_u64(&got[key]), a + i * step, "{}: {key} {i} of {e}", self.name);
            }
            assert_eq!((&got["ret"], &got["set_dst_int"]), (&json!(0), &json!(false)));
            for (ring, slots) in [("tx", "tx_slots"), ("rx", "rx_slots")] {
                assert_eq!(got[ring]["slot"], self.slot_of_range(e, slots, i), "{}", self.name);
                let id = &got[ring]["ring_id"];
                assert!(e["ring_ids"].as_array().unwrap().contains(id), "{}: {e}", self.name);
                ring_ids.push(id.as_u64());
            }
        }
        assert_eq!(mine.len().min(n as usize) as u64, n, "{}: the model ends in {e}", self.name);
        for id in e["ring_ids"].as_array().unwrap() {
            assert!(ring_ids.contains(&id.as_u64()), "{}: no phase {id} in {e}", self.name);
        }
        n
    }

    /// A remark of the record; of those that say a handle, the handles go round.
    fn compare_note(&self, handle: &mut i64, e: &Value) {
        let text = e["text"].as_str().unwrap();
        if let Some(said) = text.strip_prefix("returned handle ") {
            *handle = next_async_handle(*handle).unwrap();
            assert_eq!(said.parse(), Ok(*handle), "{}", self.name);
        }
    }

    /// Everything that the record has must be told as it is, but for what was asked of a pair
    /// that was refused, and the words in which a call is told.
    fn same(&self, got: &Value, want: &Value) {
        let (g, w) = (got.as_object().unwrap(), want.as_object().unwrap());
        for (k, v) in w {
            let untold = (k == "set_dst_int" && w["ret"] != 0) || (w["k"] == "call" && k == "what");
            if untold {
                continue;
            }
            assert_eq!(g.get(k), Some(v), "{}: {k} of\n got {got}\nwant {want}", self.name);
        }
    }

    /// What stands in the record around the events, and memory as it is before them.
    fn compare_setting(&self, m: &Machine) {
        let (run, name, arch) = (&self.run, &self.name, self.program.arch);
        for key in run.as_object().unwrap().keys() {
            assert!(FIELDS.contains(&key.as_str()), "{name}: nothing compares `{key}`");
        }
        let number = |v: &Value| v.as_u64().unwrap();
        assert_eq!(hex_u64(&run["pci_host_base"]), arch.host_base(), "{name}");
        let unit = reg::engine_base(arch, self.queue.engine);
        assert_eq!(Some(hex_u64(&run["engine"]["unit_bar0_offset"])), unit, "{name}");
        let sizes = &run["ring"];
        let sizing = sizes["sizing"].as_str().unwrap();
        if sizing.contains("driver rounds") || sizing.contains("host-to-device") {
            let of_core = arch.host_copy_queue(number(&run["nc_id"]) as u32);
            assert_eq!((self.queue.engine, self.queue.queue), of_core, "{name}");
        }
        let asked = number(&sizes["requested_descs"]);
        let count = if sizing.contains("driver rounds") {
            u64::from(ring::round_count(asked as u32))
        } else {
            asked
        };
        assert_eq!(number(&sizes["desc_count"]), count, "{name}");
        assert_eq!(number(&sizes["image_bytes"]), count * number(&sizes["entry_bytes"]), "{name}");
        for mem in run["memory"].as_array().unwrap() {
            self.compare_memory(m, mem, "before");
        }
    }

    fn compare_memory(&self, m: &Machine, mem: &Value, when: &str) {
        let mut bytes = vec![0; mem["bytes"].as_u64().unwrap() as usize];
        m.memory.read(hex_u64(&mem["addr"]), &mut bytes);
        let at = |key: &str| mem[format!("{key}_{when}")].as_str().unwrap();
        let first = &bytes[..bytes.len().min(32)];
        assert_eq!(hex(first), at("first32"), "{}: {} {when}", self.name, mem["label"]);
        let sha = hex(&Sha256::digest(&bytes));
        assert_eq!(sha, at("sha256"), "{}: {} {when}", self.name, mem["label"]);
    }

    fn compare_end(&self, m: &Machine, mine: &[Value]) {
        assert_eq!(self.state(m), self.run["state_final"], "{}", self.name);
        for dir in Dir::BOTH {
            let want = self.image(dir);
            let mut got = vec![0; want.len()];
            m.memory.read(p_ring(&self.program, dir).base, &mut got);
            assert!(got == want, "{}: {dir} image", self.name);
            let about = &self.run[format!("{dir}_image")];
            let used = got.chunks(16).filter(|d| d.iter().any(|b| *b != 0)).count();
            assert_eq!(
                (json!(got.len()), json!(used), json!(hex(&Sha256::digest(&got)))),
                (about["bytes"].clone(), about["nonzero_entries"].clone(), about["sha256"].clone()),
                "{}: {dir} image",
                self.name
            );
            for (name, value) in
                self.run["hw_registers_final_model"][dir.name()].as_object().unwrap()
            {
                let got = m.queue_reg(self.queue, dir, name);
                assert_eq!(got.map(u64::from), Some(hex_u64(value)), "{}: {dir} {name}", self.name);
            }
        }
        for mem in self.run["memory"].as_array().unwrap() {
            self.compare_memory(m, mem, "after");
        }
        // Each completion pair that was seeded, once, in the order in which it came.
        let mut words: Vec<Value> = Vec::new();
        for pair in mine.windows(2) {
            let [src, dst] = pair else { continue };
            if (&src["word"], &dst["word"]) == (&json!("src"), &json!("dst")) {
                let word = json!({"src": src["addr"], "dst": dst["addr"], "value": src["value"]});
                if !words.contains(&word) {
                    words.push(word);
                }
            }
        }
        let recorded = self.run["marker_words"].as_array().unwrap();
        assert_eq!(&words, recorded, "{}", self.name);
        let bells: Vec<Value> = mine
            .iter()
            .filter(|e| e["reg"] == "drtp_inc")
            .map(|e| json!({"queue": e["queue"], "value": hex_u64(&e["value"])}))
            .collect();
        assert_eq!(Value::Array(bells), self.run["doorbells"], "{}", self.name);
        let count = |k: &str| mine.iter().filter(|e| e["k"] == k).count();
        assert_eq!(json!(count("stage")), self.run["counts"]["stage_calls"], "{}", self.name);
        assert_eq!(json!(count("ack")), self.run["counts"]["acks"], "{}", self.name);
        let rung = json!(self.run["doorbells"].as_array().unwrap().len());
        assert_eq!(rung, self.run["counts"]["doorbell_writes"], "{}", self.name);
        let polls = mine.iter().filter(|e| e["k"] == "poll");
        let reads: u64 = polls.map(|e| e["reads"].as_u64().unwrap()).sum();
        assert_eq!(json!(reads), self.run["counts"]["polls"], "{}", self.name);
        let starts = mine.iter().filter(|e| e["k"] == "copy_start");
        let pending: Vec<&Value> = starts.map(|e| &e["m2s_count"]).collect();
        let want: Vec<&Value> =
            self.run["pending_per_copy_start"].as_array().unwrap().iter().collect();
        assert_eq!(pending, want, "{}", self.name);
    }
}

fn p_ring(p: &Program, dir: Dir) -> RingDecl {
    p.queues[0].ring(dir).unwrap()
}

fn ret_json(r: Ret) -> Value {
    match r {
        Ret::Code(c) => json!(c),
        Ret::Bug => json!("BUG"),
    }
}
