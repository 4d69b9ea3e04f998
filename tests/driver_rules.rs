//! The driver's rules written a second time, as small as they can be, and records made with them
//! in the form of the recorded runs: other ring sizes, lengths, offsets, cores, latencies. The
//! model is held to each of them event by event, as it is to what was recorded.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[allow(dead_code)]
mod golden_replay;

use golden_replay::Replay;
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const MARKER: u32 = 0xabcd_ef01;
const CHUNK: u64 = 65_536;
const PAGE: u64 = 4096;
const NAMES: [&str; 2] = ["tx", "rx"];
const BARRIERS: [&str; 4] = ["none", "dmb", "write_barrier", "sow"];
const HBM: u64 = 0x1000_0000;

fn hex(n: u64) -> String {
    format!("{n:#x}")
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// What a driver of these releases is like.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Setting {
    v2: bool,
    /// 24, 25, 26.
    release: u32,
    v4: bool,
    core: u64,
    size: u64,
    latency: u64,
    seed: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sw {
    next: u64,
    acked: u64,
    id: u64,
}

struct Buffer {
    label: &'static str,
    addr: u64,
    fill: String,
    before: Vec<u8>,
    now: Vec<u8>,
}

struct Driver {
    set: Setting,
    sw: [Sw; 2],
    image: [Vec<u8>; 2],
    tail: [u64; 2],
    head: u64,
    due: Option<u64>,
    t: u64,
    buffers: Vec<Buffer>,
    words: BTreeMap<u64, u8>,
    markers: Vec<u64>,
    events: Vec<Value>,
    bells: Vec<Value>,
    starts: Vec<u64>,
    stages: u64,
    reads: u64,
    acks: u64,
}

impl Driver {
    fn new(set: Setting) -> Driver {
        let ring = vec![0; 16 * set.size as usize];
        Driver {
            set,
            sw: [Sw { id: 1, ..Sw::default() }; 2],
            image: [ring.clone(), ring],
            tail: [0; 2],
            head: 0,
            due: None,
            t: 0,
            buffers: Vec::new(),
            words: BTreeMap::new(),
            markers: Vec::new(),
            events: Vec::new(),
            bells: Vec::new(),
            starts: Vec::new(),
            stages: 0,
            reads: 0,
            acks: 0,
        }
    }

    fn window(&self) -> u64 {
        if self.set.v2 { 1 << 44 } else { 1 << 46 }
    }

    fn area(&self) -> u64 {
        self.window() + 0x4006_1000
    }

    fn host(&self) -> u64 {
        self.window() + 0x400a_3000
    }

    /// Engine, queue, and the engine's place in BAR0.
    fn place(&self) -> (u64, u64, u64) {
        let core = self.set.core;
        if self.set.v2 {
            return (32 + core, 0, [0x3060_0000, 0x30d0_0000][core as usize]);
        }
        let at = [0x680_0000, 0x690_0000, 0x4680_0000, 0x4690_0000][(core / 2) as usize];
        (128 + core / 2, core % 2, at)
    }

    fn buffer(&mut self, label: &'static str, addr: u64, len: u64, seed: Option<u64>) {
        let byte = |i: u64| {
            let (low, s) = (i % 65_536, seed.unwrap_or(0));
            (31 * low + 7 * (low >> 8) + s + 13 * (i >> 16)) as u8
        };
        let before: Vec<u8> = (0..len).map(|i| if seed.is_some() { byte(i) } else { 0 }).collect();
        let fill = seed.map_or("zero".into(), |s| format!("pattern seed {s}"));
        self.buffers.push(Buffer { label, addr, fill, now: before.clone(), before });
    }

    fn event(&mut self, k: &str, mut more: Value) {
        let o = more.as_object_mut().unwrap();
        o.insert("k".into(), k.into());
        o.insert("t_us".into(), self.t.into());
        self.events.push(more);
    }

    fn at(&self, addr: u64) -> Option<(usize, usize)> {
        let inside = |b: &Buffer| (addr - b.addr) as usize;
        let i = self.buffers.iter().position(|b| addr >= b.addr && inside(b) < b.now.len())?;
        Some((i, inside(&self.buffers[i])))
    }

    fn read(&self, addr: u64, len: u64) -> Vec<u8> {
        match self.at(addr) {
            Some((i, at)) => self.buffers[i].now[at..at + len as usize].to_vec(),
            None => (addr..addr + len).map(|a| *self.words.get(&a).unwrap_or(&0)).collect(),
        }
    }

    fn write(&mut self, addr: u64, bytes: &[u8]) {
        match self.at(addr) {
            Some((i, at)) => self.buffers[i].now[at..at + bytes.len()].copy_from_slice(bytes),
            None => self.words.extend((addr..).zip(bytes.iter().copied())),
        }
    }

    fn free(&self, ring: usize) -> u64 {
        let sw = self.sw[ring];
        sw.acked.wrapping_sub(sw.next + 16) % self.set.size
    }

    fn state(&self) -> Value {
        let of = |r: usize| {
            json!({"next_desc_idx": self.sw[r].next, "next_cdesc_idx": self.sw[r].acked,
                "desc_ring_id": self.sw[r].id, "available": self.free(r)})
        };
        json!({"tx": of(0), "rx": of(1)})
    }

    fn mmio(&self, ring: usize, reg: &str, offset: u64, value: u64) -> Value {
        let (_, queue, bar0) = self.place();
        let unit = [0x1000, 0x2_1000][ring] + 0x1000 * queue + offset;
        json!({"k": "mmio_write", "queue": NAMES[ring], "reg": reg, "q_off": hex(offset),
            "unit_off": hex(unit), "bar0_off": hex(bar0 + unit), "value": hex(value)})
    }

    fn init(&self) -> Vec<Value> {
        let mut out = vec![self.mmio(0, "rlimit_mask", 0x74, 3)];
        for (ring, control, completion) in [(0, 0xb0, 0xa0), (1, 0x64, 0x54)] {
            let base = self.base(ring);
            for (reg, offset, value) in [
                ("cfg", 0x20, 0x0300_0000),
                ("q_sw_ctrl", control, 0x100),
                ("drbp_low", 0x28, base & 0xffff_ffff),
                ("drbp_high", 0x2c, base >> 32),
                ("drl", 0x30, self.set.size),
                ("comp_cfg", completion, 0),
                ("cfg", 0x20, 0x0303_0000),
            ] {
                out.push(self.mmio(ring, reg, offset, value));
            }
        }
        out
    }

    fn base(&self, ring: usize) -> u64 {
        self.window() + [0x4004_1000, 0x4002_1000][ring]
    }

    fn stage(&mut self, role: &str, (src, dst, size): (u64, u64, u64), barrier: usize) -> i64 {
        self.stages += 1;
        let before = [0, 1].map(|r| self.free(r));
        let ret = if before.contains(&0) { -12 } else { 0 };
        let mut rings = Vec::new();
        for ring in [0, 1] {
            let (slot, id) = (self.sw[ring].next, self.sw[ring].id);
            let mut desc = None;
            if ret == 0 {
                self.sw[ring].next = (slot + 1) % self.set.size;
                if self.sw[ring].next == 0 {
                    self.sw[ring].id = (id + 1) % 4;
                }
                let flags = [[0xc00, 0xc00 | 0x4000, 0xc00, 0xc00], [0, 0, 0, 0x2000]];
                let len_ctrl = (size % CHUNK) | id << 24 | flags[ring][barrier] << 16;
                let second = [0x0108_0003 | u64::from(barrier == 2) << 26, 0][ring];
                let words =
                    u128::from(len_ctrl | second << 32) | u128::from([src, dst][ring]) << 64;
                let at = 16 * slot as usize;
                self.image[ring][at..at + 16].copy_from_slice(&words.to_le_bytes());
                desc = Some(digits(&words.to_le_bytes()));
            }
            let sw = self.sw[ring];
            let mut o = json!({"slot": slot, "ring_id": id, "avail_before": before[ring],
                "next_desc_idx": sw.next, "desc_ring_id": sw.id, "avail_after": self.free(ring)});
            if let Some(d) = desc {
                o["desc"] = d.into();
            }
            rings.push(o);
        }
        self.event(
            "stage",
            json!({"role": role, "src": hex(src), "dst": hex(dst), "size": size,
                "barrier": BARRIERS[barrier], "set_dst_int": false, "ret": ret,
                "tx": rings[0], "rx": rings[1]}),
        );
        ret
    }

    fn word(&mut self, word: &str, addr: u64, value: u32) {
        self.write(addr, &value.to_le_bytes());
        let value = hex(value.into());
        self.event("marker_write", json!({"word": word, "addr": hex(addr), "value": value}));
    }

    fn marker(&mut self, at: u64, barrier: usize) -> i64 {
        if !self.markers.contains(&at) {
            self.markers.push(at);
        }
        self.word("src", at, MARKER);
        self.word("dst", at + 4, 0);
        if self.stage("marker", (at, at + 4, 4), barrier) == 0 { 0 } else { -1 }
    }

    fn start(&mut self, n: u64) {
        self.starts.push(n);
        self.event("copy_start", json!({"m2s_count": n, "s2m_count": n, "state": self.state()}));
        for ring in [1, 0] {
            self.event("cpu_fence", json!({}));
            let mut bell = self.mmio(ring, "drtp_inc", 0x38, n);
            bell["t_us"] = self.t.into();
            self.events.push(bell);
            self.bells.push(json!({"queue": NAMES[ring], "value": n}));
            self.tail[ring] += n;
        }
        self.due = Some(self.due.unwrap_or(self.t + self.set.latency));
        self.device();
        self.event("copy_start_return", json!({"ret": 0, "state": self.state()}));
    }

    /// The device, if its time has come: all pairs that are posted, in order.
    fn device(&mut self) {
        if self.due.is_none_or(|due| due > self.t) {
            return;
        }
        self.due = None;
        let from = self.head;
        while self.head < self.tail[0] {
            let slot = self.head % self.set.size;
            let at = 16 * slot as usize;
            let [tx, rx] =
                [0, 1].map(|r| u128::from_le_bytes(self.image[r][at..at + 16].try_into().unwrap()));
            let len = match tx as u64 % CHUNK {
                0 => CHUNK,
                n => n,
            };
            let (src, dst) = ((tx >> 64) as u64, (rx >> 64) as u64);
            let bytes = self.read(src, len);
            self.write(dst, &bytes);
            let id = |d: u128| (d >> 24) as u64 % 4;
            self.event(
                "hw_copy",
                json!({"tx_slot": slot, "rx_slot": slot, "src": hex(src), "dst": hex(dst),
                    "bytes": len, "tx_ring_id": id(tx), "rx_ring_id": id(rx)}),
            );
            self.head += 1;
        }
        let heads = [from % self.set.size, self.head % self.set.size];
        self.event(
            "hw_retire",
            json!({"pairs": self.head - from, "tx_head": heads, "rx_head": heads}),
        );
    }

    fn polled(&mut self, at: u64, reads: u64, value: u32) {
        self.reads += reads;
        let value = hex(value.into());
        self.event("poll", json!({"reads": reads, "addr": hex(at + 4), "last_value": value}));
    }

    fn wait(&mut self, at: u64, count: u64, asynchronous: bool) -> i64 {
        let (k, start, factor) = match (self.set.v2, self.set.release) {
            (true, _) => (4, 3, 100),
            (false, 24) => (2, 1, 100),
            (false, _) => (2, 1, 400),
        };
        let est = k * (count - 1);
        let first = if asynchronous { 1 } else { est - start };
        let following = (factor * est - first) * 100;
        self.event(
            "wait_budget",
            json!({"count": count, "asynchronous": asynchronous, "first_wait_us": first,
                "following_wait": following}),
        );
        self.event("delay", json!({"us": first}));
        let end = self.t + first;
        if let Some(due) = self.due.filter(|due| *due <= end) {
            self.t = due;
            self.device();
        }
        self.t = end;
        // The device acts in front of a read of the same moment.
        while self.read(at + 4, 4) != MARKER.to_le_bytes() {
            let due = self.due.expect("somebody writes the marker");
            let reads = due - self.t;
            self.t = due;
            self.polled(at, reads, 0);
            self.device();
        }
        self.polled(at, 1, MARKER);
        self.word("dst", at + 4, 0);
        self.word("src", at, MARKER);
        for ring in [1, 0] {
            self.acks += 1;
            let before = self.sw[ring].acked;
            self.sw[ring].acked = (before + count) % self.set.size;
            self.event(
                "ack",
                json!({"queue": NAMES[ring], "next_cdesc_idx_before": before,
                    "next_cdesc_idx_after": self.sw[ring].acked, "count": count,
                    "available_after": self.free(ring)}),
            );
        }
        0
    }

    /// The pairs of one batch; what is left of the transfer.
    fn chunks(&mut self, from: &mut (u64, u64, u64), fixed: bool) -> Result<u64, i64> {
        let mut n = 0;
        loop {
            let size = from.2.min(CHUNK);
            let last = size == from.2 || n == 2031;
            match self.stage("data", (from.0, from.1, size), if last { 2 } else { 0 }) {
                0 => n += 1,
                e => return Err(e),
            }
            *from = (from.0 + if fixed { 0 } else { size }, from.1 + size, from.2 - size);
            if last {
                return Ok(n);
            }
        }
    }

    fn copy(&mut self, mut from: (u64, u64, u64), fixed: bool) -> i64 {
        let at = self.area();
        loop {
            let n = match self.chunks(&mut from, fixed) {
                Ok(n) => n + 1,
                Err(e) => return e,
            };
            if self.marker(at, 0) != 0 {
                return -1;
            }
            self.start(n);
            self.wait(at, n, false);
            if from.2 == 0 {
                return 0;
            }
        }
    }

    fn copy_async(&mut self, mut from: (u64, u64, u64), before: Option<(u64, u64)>) -> (i64, u64) {
        let handle = before.map_or(1, |(h, _)| 3 - h);
        let n = self.chunks(&mut from, false).unwrap() + 1;
        self.marker(self.area() + 8 * handle, 0);
        self.start(n);
        if let Some((h, count)) = before {
            self.wait(self.area() + 8 * h, count, true);
        }
        (handle as i64, n)
    }

    fn zero_copy(&mut self, mut host: u64, mut device: u64, mut left: u64, write: bool) -> i64 {
        let release = self.set.release;
        let pages = (host % PAGE + left).div_ceil(PAGE);
        let per_batch = match pages {
            _ if release == 24 => 64,
            0..=64 => pages,
            65..=128 => pages.div_ceil(2),
            _ => 64,
        };
        let marks = [0x100, 0x240].map(|at| self.area() + at);
        let (mut begun, mut waited, mut counts) = (0, 0, [0; 2]);
        loop {
            if left > 0 && begun - waited < 2 {
                let mut batch = (per_batch * PAGE - host % PAGE).min(left);
                left -= batch;
                let closes = left == 0 && write;
                let mut n = 1;
                while batch > 0 {
                    let most = if release == 26 { CHUNK } else { 2 * PAGE - host % PAGE };
                    let size = most.min(batch);
                    batch -= size;
                    let barrier = match (batch == 0, release) {
                        (true, 24) => 1,
                        (true, _) if closes && self.set.v2 => 2,
                        _ => 0,
                    };
                    let pair = if write { (host, device, size) } else { (device, host, size) };
                    if self.stage("data", pair, barrier) != 0 {
                        return -12;
                    }
                    (host, device, n) = (host + size, device + size, n + 1);
                }
                let strong = closes && release > 24 && !self.set.v2;
                if self.marker(marks[begun % 2], if strong { 3 } else { 0 }) != 0 {
                    return -1;
                }
                counts[begun % 2] = n;
                begun += 1;
                self.start(n);
            } else if waited < begun {
                self.wait(marks[waited % 2], counts[waited % 2], true);
                waited += 1;
            } else {
                return 0;
            }
        }
    }

    fn call(&mut self, what: String) {
        self.event("call", json!({ "what": what }));
    }

    fn done(&mut self, ret: i64) {
        self.event("call_return", json!({"ret": ret, "state": self.state()}));
    }

    fn record(&self, first: &Value, dir: &std::path::Path) -> Value {
        let (engine, queue, bar0) = self.place();
        let arch = ["v3", "v4", "v2"][usize::from(self.set.v2) * 2 + usize::from(self.set.v4)];
        let size = self.set.size;
        let pointer = |n: u64| (n % size) | (((1 + n / size) % 4) << 30);
        let mut run = json!({
            "name": "made", "driver": format!("2.{}.0.0", self.set.release), "arch": arch,
            "ring": {"requested_descs": size, "desc_count": size, "entry_bytes": 16,
                "image_bytes": 16 * size, "sizing": "host-to-device queue, made small"},
            "engine": {"id": engine, "unit_bar0_offset": hex(bar0)}, "qid": queue,
            "nc_id": self.set.core, "pci_host_base": hex(self.window()),
            "tx_ring_base": hex(self.base(0)), "rx_ring_base": hex(self.base(1)),
            "state_after_init": first, "state_final": self.state(),
            "marker_memory": [{"when": "end", "base": hex(self.area()),
                "bytes": digits(&self.read(self.area(), 24))}],
            "marker_words": self.markers.iter().map(|m| json!({"src": hex(*m),
                "dst": hex(m + 4), "value": hex(MARKER.into())})).collect::<Vec<_>>(),
            "doorbells": self.bells, "pending_per_copy_start": self.starts,
            "counts": {"stage_calls": self.stages, "doorbell_writes": self.bells.len(),
                "polls": self.reads, "acks": self.acks},
            "init_writes": self.init(), "events": self.events,
            "hw_registers_final_model": {},
        });
        for ring in [0, 1] {
            let name = NAMES[ring];
            let image = &self.image[ring];
            let file = format!("made.{name}.bin");
            std::fs::write(dir.join(&file), image).unwrap();
            let used = image.chunks(16).filter(|d| d.iter().any(|b| *b != 0)).count();
            run[format!("{name}_image")] = json!({"file": file, "bytes": image.len(),
                "nonzero_entries": used, "sha256": digits(&Sha256::digest(image))});
            let base = self.base(ring);
            run["hw_registers_final_model"][name] = json!({"cfg": "0x3030000",
                "drbp_low": hex(base & 0xffff_ffff), "drbp_high": hex(base >> 32),
                "drl": hex(size), "drhp": hex(pointer(self.head)),
                "drtp": hex(pointer(self.tail[ring]))});
        }
        let memory = self.buffers.iter().map(|b| {
            json!({"label": b.label, "addr": hex(b.addr), "bytes": b.now.len(), "fill": b.fill,
                "first32_before": digits(&b.before[..32]), "first32_after": digits(&b.now[..32]),
                "sha256_before": digits(&Sha256::digest(&b.before)),
                "sha256_after": digits(&Sha256::digest(&b.now))})
        });
        run["memory"] = memory.collect();
        run
    }
}

/// Makes a record and holds the model to it.
fn compare(set: Setting, script: impl FnOnce(&mut Driver)) {
    let mut d = Driver::new(set);
    let first = d.state();
    script(&mut d);
    let dir = tempfile::tempdir().unwrap();
    let run = d.record(&first, dir.path());
    assert!(Replay::new(&run, dir.path()).compare() > 15);
}

fn setting() -> impl Strategy<Value = Setting> {
    let generation = prop_oneof![Just((true, false)), Just((false, false)), Just((false, true))];
    let latency = prop_oneof![Just(0), 1..200u64];
    (generation, 24..=26u32, 0..8u64, 5..9u32, latency, 0..200u64).prop_map(
        |((v2, v4), release, core, size, latency, seed)| Setting {
            v2,
            release: if v4 { release.max(25) } else { release },
            v4,
            core: if v2 { core % 2 } else { core },
            size: 1 << size,
            latency,
            seed,
        },
    )
}

/// Lengths around the chunk's, and others.
fn length(most: u64) -> impl Strategy<Value = u64> {
    prop_oneof![0..=most, Just(0), Just(1), Just(CHUNK), Just(CHUNK + 1), Just(2 * CHUNK - 1)]
        .prop_map(move |n| n.min(most))
}

/// Room behind every buffer for a copy of nothing, which moves 64 KiB.
const SLACK: u64 = CHUNK + 8192;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn chunked_copies_are_those_of_the_rules(
        set in setting(),
        lengths in prop::collection::vec(length(17 * CHUNK), 1..20),
        out in any::<bool>(),
    ) {
        compare(set, |d| {
            let most = 17 * CHUNK + SLACK;
            let (host, seed) = (d.host(), set.seed);
            d.buffer("host", host, most, (!out).then_some(seed));
            d.buffer("device", HBM, most, out.then_some(seed));
            for n in lengths {
                d.call(format!("memcpy {n}"));
                let (src, dst) = if out { (HBM, host) } else { (host, HBM) };
                let ret = d.copy((src + n % 7, dst + n % 5, n), false);
                d.done(ret);
                // Nothing goes on behind a batch that was left in the middle.
                if ret != 0 {
                    break;
                }
            }
        });
    }

    #[test]
    fn asynchronous_copies_are_those_of_the_rules(
        set in setting(),
        lengths in prop::collection::vec(length(3 * CHUNK), 2..12),
    ) {
        // Two batches of four pairs and their markers are in flight at most.
        let set = Setting { size: set.size.max(64), ..set };
        compare(set, |d| {
            let (host, most) = (d.host(), 4 * CHUNK + SLACK);
            d.buffer("host", host, most, Some(set.seed));
            d.buffer("device", HBM, most, None);
            let mut before = None;
            for (i, n) in lengths.into_iter().enumerate() {
                let previous = before.map_or(-1, |(h, _): (u64, u64)| h as i64);
                d.call(format!("async copy {i}: {n} bytes, previous handle {previous}"));
                let (handle, count) = d.copy_async((host + 3, HBM, n), before);
                d.done(0);
                d.event("note", json!({"text": format!("returned handle {handle}")}));
                before = Some((handle as u64, count));
            }
            let (handle, count) = before.unwrap();
            d.call(format!("wait on handle {handle}"));
            d.wait(d.area() + 8 * handle, count, false);
            d.done(0);
        });
    }

    #[test]
    fn zero_copies_are_those_of_the_rules(
        set in setting(),
        length in prop_oneof![1..200 * PAGE, (1..200u64).prop_map(|p| p * PAGE)],
        offset in prop_oneof![Just(0), 0..PAGE],
        write in any::<bool>(),
    ) {
        compare(Setting { size: 256, ..set }, |d| {
            let (host, most) = (d.host(), length + SLACK);
            d.buffer("host", host, most, write.then_some(set.seed));
            d.buffer("device", HBM, most, (!write).then_some(set.seed));
            d.call(format!("zero-copy {length}"));
            let ret = d.zero_copy(host + offset, HBM, length, write);
            d.done(ret);
        });
    }

    /// Four batches, two in flight: the last is rung while the one before waits for the device.
    #[test]
    fn late_zero_copies_are_those_of_the_rules(latency in 1..9u64, pages in 190..260u64) {
        let (release, size) = (24, 256);
        let set = Setting { v2: true, release, v4: false, core: 0, size, latency, seed: 0 };
        compare(set, |d| {
            let (host, length) = (d.host(), pages * PAGE - 5000);
            d.buffer("host", host, length + SLACK, None);
            d.buffer("device", HBM, length + SLACK, Some(1));
            d.call(format!("zero-copy {length}"));
            let ret = d.zero_copy(host + 2915, HBM, length, false);
            d.done(ret);
        });
    }

    #[test]
    fn memsets_are_those_of_the_rules(
        set in setting(),
        length in prop_oneof![1..2 * CHUNK, Just(CHUNK), 1..12 * CHUNK],
        offset in 0..300u64,
        value in 1..=255u8,
    ) {
        let set = Setting { size: set.size.max(64), ..set };
        compare(set, |d| {
            let staging = d.window() + 0x4001_1000;
            d.buffer("device", HBM, length + SLACK, Some(set.seed));
            d.buffer("memset staging buffer", staging, CHUNK, None);
            d.call(format!("memset value {value:#04x} size {length}"));
            let first = length.min(CHUNK);
            d.write(staging, &vec![value; first as usize]);
            let at = HBM + offset;
            let mut ret = d.copy((staging, at, first), false);
            if ret == 0 && length > first {
                ret = d.copy((at, at + first, length - first), true);
            }
            d.done(ret);
        });
    }
}
