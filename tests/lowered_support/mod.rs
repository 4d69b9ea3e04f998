//! Random modules that are lowered already when they are read, as another compiler or a hand
//! writes them: triggers in functions, blocks of descriptors in queues. They are made as JSON,
//! so that the reader is asked too, and hold what no pass of ours makes: blocks fired from
//! several places and engines, lists that wrap, waits that differ from block to block, ids and
//! names that are missing or repeat, descriptors with the axes of the loops around their
//! triggers, references, blocks that nothing fires.
//!
//! Whatever is made here can be executed in the order of its arrays, and its conflicting
//! transfers are ordered ([`Case::disordered`] takes that away).

mod descriptor;
mod order;

use descriptor::Axis;
use dmadbg::bir::generate::Rng;
use order::{Core, Order, Unit};
use serde_json::{Value, json};

/// The engines that fire.
const ENGINES: [&str; 5] = ["Pool", "Activation", "PE", "DVE", "SP"];
/// Names of element types of a width of their own, for copies.
const KINDS: [(&str, u64); 6] =
    [("uint8", 1), ("uint16", 2), ("float32", 4), ("int32", 4), ("bfloat16", 2), ("float16", 2)];

/// A memory location.
#[derive(Debug, Clone)]
struct Place {
    name: String,
    /// Bytes of a partition; of all of it in DRAM.
    pitch: u64,
    /// 0 in DRAM.
    partitions: u64,
    writable: bool,
}

impl Place {
    fn bytes(&self) -> u64 {
        self.pitch * self.partitions.max(1)
    }
}

/// Bytes of a location that are read or written.
#[derive(Debug, Clone)]
pub struct Access {
    place: usize,
    lo: u64,
    hi: u64,
    write: bool,
}

/// A block of descriptors.
#[derive(Debug, Clone)]
struct Block {
    queue: usize,
    name: String,
    descriptors: Vec<Value>,
    accesses: Vec<Access>,
    waits: Vec<Value>,
    updates: Vec<Value>,
    deps: Vec<Value>,
    /// It may be fired by others than who it was made for.
    free: bool,
    keys: Value,
}

/// A module and the first content of its memory.
#[derive(Debug, Clone)]
pub struct Case {
    /// The module.
    pub json: Value,
    /// Bytes by location.
    pub memory: Vec<(String, Vec<u8>)>,
}

struct Maker {
    rng: Rng,
    arch: &'static str,
    places: Vec<Place>,
    allocations: Vec<Value>,
    memory: Vec<(String, Vec<u8>)>,
    queues: Vec<String>,
    blocks: Vec<Block>,
    registers: u64,
    names: u64,
    loops: u64,
    repeat_names: bool,
    /// No two blocks have one name, whatever their queues.
    own_blocks: bool,
    /// Engines may come to one queue in any order.
    shared: bool,
    order: Order,
}

/// The module of a seed.
pub fn module(seed: u64) -> Case {
    let mut rng = Rng::new(seed ^ 0x10_3e4e_d000);
    let arch = *rng.pick(&["gen3", "gen3", "core_v4", "sunda"]);
    let repeat_names = rng.chance(15);
    let shared = rng.chance(25);
    let own_blocks = rng.chance(40);
    let mut m = Maker {
        rng,
        arch,
        places: Vec::new(),
        allocations: Vec::new(),
        memory: Vec::new(),
        queues: Vec::new(),
        blocks: Vec::new(),
        registers: 0,
        names: 0,
        loops: 0,
        repeat_names,
        own_blocks,
        shared,
        order: Order::default(),
    };
    m.storage();
    let queues = 1 + m.rng.below(4);
    m.queues = (0..queues).map(|k| format!("q{k}Data")).collect();
    for _ in 0..1 + m.rng.below(9) {
        m.unit();
    }
    if m.rng.chance(30) {
        m.idle_block();
    }
    m.finish()
}

impl Maker {
    fn storage(&mut self) {
        let mut at = 4096;
        let mut dram = |m: &mut Maker, name: &str, kind: &str, bytes: u64| {
            m.add(name, kind, "DRAM", at, &[bytes]);
            at += bytes.next_multiple_of(64) + 64;
            m.place(name, bytes, 0, kind != "ExternalInput");
        };
        dram(self, "x0", "ExternalInput", 512);
        dram(self, "m0", "Internal", 512);
        dram(self, "m1", "Internal", 256);
        dram(self, "y0", "ExternalOutput", 512);
        if self.rng.chance(50) {
            dram(self, "y1", "ExternalOutput", 320);
        }
        if self.rng.chance(4) {
            dram(self, "big0", "ExternalInput", 140_000);
            dram(self, "big1", "ExternalOutput", 140_000);
        }
        // Read by references only.
        dram(self, "index", "ExternalInput", 32);
        self.places.pop();
        let entries: Vec<u8> = (0..8i32)
            .map(|k| if self.rng.chance(20) { 1000 - 2000 * (k % 2) } else { k % 4 })
            .flat_map(i32::to_le_bytes)
            .collect();
        if let Some(last) = self.memory.last_mut() {
            last.1 = entries;
        }
        let tiles = 1 + self.rng.below(3);
        let mut sb = 64;
        for k in 0..tiles {
            let (partitions, pitch) = (1 << self.rng.range(1, 4), 16 * self.rng.range(1, 6) as u64);
            let name = format!("t{k}");
            self.add(&name, "Internal", "SB", sb, &[partitions, pitch]);
            sb += pitch.next_multiple_of(64);
            self.place(&name, pitch, partitions, true);
        }
        if self.rng.chance(30) {
            self.add("p0", "Internal", "PSUM", 0, &[8, 64]);
            self.place("p0", 64, 8, true);
        }
    }

    fn add(&mut self, name: &str, kind: &str, space: &str, addr: u64, dims: &[u64]) {
        let mut l = json!({"name": name, "type": space, "addr": addr, "dims": dims});
        if space == "SB" {
            l["base"] = json!(32 * self.rng.below(3));
        } else if space == "PSUM" {
            l["bank"] = json!(self.rng.below(8));
        }
        self.allocations.push(json!({
            "Skind": "memory_location_set", "name": format!("{name}_set"), "dtype": "uint8",
            "kind": kind, "tensor_shape": dims, "memorylocations": [l],
        }));
        let bytes = (0..dims.iter().product::<u64>()).map(|_| self.rng.bits() as u8).collect();
        self.memory.push((name.to_owned(), bytes));
    }

    fn place(&mut self, name: &str, pitch: u64, partitions: u64, writable: bool) {
        self.places.push(Place { name: name.to_owned(), pitch, partitions, writable });
    }

    fn name(&mut self) -> String {
        self.names += 1;
        let n = if self.repeat_names { self.rng.below(3) } else { self.names };
        format!("I-{n}")
    }

    /// A name that nothing else has.
    fn own_name(&mut self) -> String {
        self.names += 1;
        format!("E-{}", self.names)
    }

    fn engine(&mut self) -> usize {
        self.rng.below(ENGINES.len() as u64) as usize
    }

    fn queue(&mut self) -> usize {
        self.rng.below(self.queues.len() as u64) as usize
    }

    /// A new block with up to `most` descriptors.
    fn block(&mut self, queue: usize, axes: &[Axis], most: u64) -> usize {
        let own = self.blocks.iter().filter(|b| b.queue == queue).count();
        let (mut descriptors, mut accesses) = (Vec::new(), Vec::new());
        for k in 0..most {
            let Some((mut d, all)) = self.descriptor(axes) else { continue };
            if !self.rng.chance(10) {
                d["name"] = json!(format!("desc-{k}"));
            }
            descriptors.push(d);
            accesses.extend(all);
        }
        let mut keys = json!({});
        if self.rng.chance(30) {
            keys["block_id"] = json!(own);
        }
        if self.rng.chance(20) {
            keys["section_start"] = json!(true);
        }
        if self.rng.chance(10) {
            keys["remote_notifications"] = json!([3, 1]);
        }
        if self.rng.chance(15) {
            keys["dma_trigger"] = json!("I-1");
        }
        let free = axes.is_empty();
        // Names are of their queue, or of all.
        let n = if self.own_blocks { self.blocks.len() } else { own };
        let name = if self.own_blocks { format!("block.{n}.") } else { format!("dma_block_{n}") };
        self.blocks.push(Block {
            queue,
            name,
            descriptors,
            accesses,
            waits: Vec::new(),
            updates: Vec::new(),
            deps: Vec::new(),
            free,
            keys,
        });
        self.blocks.len() - 1
    }

    /// Up to `most` new blocks for one list, some of them twice in it.
    fn list(&mut self, queue: usize, axes: &[Axis], most: u64) -> Vec<usize> {
        let mut list = Vec::new();
        for _ in 0..1 + self.rng.below(most) {
            let again = !list.is_empty() && self.rng.chance(15);
            let block = if again {
                *self.rng.pick(&list)
            } else {
                let most = if self.rng.chance(8) { 0 } else { 1 + self.rng.below(3) };
                self.block(queue, axes, most)
            };
            list.push(block);
        }
        list
    }

    fn trigger(&mut self, engine: usize, queue: usize, list: &[usize]) -> Value {
        let names: Vec<&str> = list.iter().map(|b| &*self.blocks[*b].name).collect();
        let blocks = match names.as_slice() {
            [one] if self.rng.chance(20) => json!(one),
            all => json!(all),
        };
        let name = self.name();
        let mut t = json!({
            "name": name, "opcode": "DMATrigger", "engine": ENGINES[engine], "ins": [],
            "outs": [], "queue": self.queues[queue], "dma_blocks": blocks,
        });
        match self.rng.below(4) {
            0 => t["dge_type"] = json!("None"),
            1 => t["dge_type"] = json!("SWDGE"),
            2 => t["dge_type"] = json!(0),
            _ => {}
        }
        t
    }

    fn accesses(&self, list: &[usize]) -> Vec<Access> {
        let mut all: Vec<Access> =
            list.iter().flat_map(|b| self.blocks[*b].accesses.clone()).collect();
        all.extend(list.iter().flat_map(|b| self.queue_access(self.blocks[*b].queue)));
        all
    }

    /// What lets those wait for each other that use one queue.
    fn queue_access(&self, queue: usize) -> Option<Access> {
        let place = self.places.len() + queue;
        (!self.shared).then_some(Access { place, lo: 0, hi: 1, write: true })
    }

    fn unit(&mut self) {
        match self.rng.below(20) {
            0..=6 => self.single(),
            7..=10 => self.nest(),
            11..=12 => self.again(),
            13..=14 => self.pipeline(),
            15 => self.barrier(),
            16 => self.reset(),
            17..=18 => self.referring(),
            _ => self.plain(),
        }
    }

    /// A trigger outside of loops: the first of its list is fired.
    fn single(&mut self) {
        let (engine, queue) = (self.engine(), self.queue());
        let list = self.list(queue, &[], 3);
        let core = self.trigger(engine, queue, &list);
        let accesses = self.accesses(&list[..1]);
        self.put(Unit::new(engine, Core::Plain(core), accesses, list.first().copied()));
    }

    /// Blocks that are there are fired once more, by whomever.
    fn again(&mut self) {
        let engine = self.engine();
        let free: Vec<usize> = (0..self.blocks.len()).filter(|b| self.blocks[*b].free).collect();
        if free.is_empty() {
            return;
        }
        let first = *self.rng.pick(&free);
        let queue = self.blocks[first].queue;
        let mut list = vec![first];
        for _ in 0..self.rng.below(3) {
            let b = *self.rng.pick(&free);
            if self.blocks[b].queue == queue {
                list.push(b);
            }
        }
        let core = self.trigger(engine, queue, &list);
        if self.rng.chance(40) {
            let accesses = self.accesses(&list);
            let (core, _) = self.looped(core, 1 + self.rng.clone().below(6));
            self.put(Unit::new(engine, Core::Loop(core), accesses, None));
        } else {
            let accesses = self.accesses(&list[..1]);
            self.put(Unit::new(engine, Core::Plain(core), accesses, None));
        }
    }

    fn axis(&mut self, trips: u64) -> Axis {
        self.loops += 1;
        let (lb, stride) = (self.rng.range(-2, 4), self.rng.range(1, 3));
        Axis { name: format!("i{}", self.loops), lb, stride, trips }
    }

    fn around(&mut self, axis: &Axis, body: Vec<Value>) -> Value {
        let end = axis.lb + axis.stride * (axis.trips as i64 - 1) + self.rng.range(1, axis.stride);
        json!({
            "opcode": "Loop", "name": format!("Loop-{}", axis.name), "engine": "Unassigned",
            "ins": [], "outs": [],
            "LoopAxis": {"name": axis.name, "lb": axis.lb, "ub": end, "stride": axis.stride},
            "blocks": [{"name": format!("{}_body", axis.name), "instructions": body}],
        })
    }

    fn looped(&mut self, core: Value, trips: u64) -> (Value, Axis) {
        let axis = self.axis(trips);
        (self.around(&axis, vec![core]), axis)
    }

    /// One or two loops around one or two triggers of an engine.
    fn nest(&mut self) {
        let (engine, queue) = (self.engine(), self.queue());
        let axes: Vec<Axis> = (0..1 + self.rng.below(2))
            .map(|_| {
                let trips = 1 + self.rng.below(4);
                self.axis(trips)
            })
            .collect();
        let seen: &[Axis] = if self.rng.chance(40) { &axes } else { &[] };
        let (mut body, mut accesses, mut first) = (Vec::new(), Vec::new(), None);
        for _ in 0..1 + self.rng.below(2) {
            let queue = if self.rng.chance(70) { queue } else { self.queue() };
            let list = self.list(queue, seen, 4);
            first = first.or(list.first().copied());
            body.push(self.trigger(engine, queue, &list));
            accesses.extend(self.accesses(&list));
        }
        for axis in axes.iter().rev() {
            body = vec![self.around(axis, body)];
        }
        let core = body.remove(0);
        self.put(Unit::new(engine, Core::Loop(core), accesses, first));
    }

    /// Two engines hand data on round after round: each block waits for a value of its own.
    fn pipeline(&mut self) {
        let (a, b) = (self.engine(), self.engine());
        if a == b {
            return self.nest();
        }
        let trips = 2 + self.rng.below(3);
        let (full, empty) = (self.order.semaphore(), self.order.semaphore());
        let (qa, qb) = (self.queue(), self.queue());
        if qa == qb && !self.shared {
            return self.nest();
        }
        let one_loop = self.rng.chance(60);
        let (mut put, mut take) = (Vec::new(), Vec::new());
        // Two slots of `m1` where both go round in one loop, else one for each round.
        let slots = if one_loop { 2 } else { trips };
        for k in 0..trips {
            let slot = 16 * (k % slots);
            let from = 16 * self.rng.below(30);
            let copy = |from: &str, at: u64, to: &str, there: u64| {
                let side = |name: &str, at: u64| {
                    json!({"kind": "physical_ap", "ap": [[1, 16]], "dtype": "uint8",
                        "memref": name, "memsetref": format!("{name}_set"), "offset": at})
                };
                json!({"opcode": "DMADescriptorCopy", "engine": "DMA", "name": "hand",
                    "ins": [side(from, at)], "outs": [side(to, there)]})
            };
            for (list, queue, d) in [
                (&mut put, qa, copy("x0", from, "m1", slot)),
                (&mut take, qb, copy("m1", slot, "y0", 16 * k)),
            ] {
                let block = self.block(queue, &[], 0);
                self.blocks[block].descriptors.push(d);
                self.blocks[block].free = false;
                list.push(block);
            }
            let of = |id: u64, value: u64| json!({"id": id, "wait_value": value});
            self.blocks[take[k as usize]].waits.push(of(full, k + 1));
            if k >= slots {
                self.blocks[put[k as usize]].waits.push(of(empty, k + 1 - slots));
            }
        }
        let (mut p, mut t) = (self.trigger(a, qa, &put), self.trigger(b, qb, &take));
        let update = |id: u64| json!({"id": id, "update_value": 1});
        for (trigger, list, id) in [(&mut p, &put, full), (&mut t, &take, empty)] {
            if self.rng.chance(50) {
                trigger["sync_info"] = json!({"on_update": [update(id)]});
            } else {
                list.iter().for_each(|b| self.blocks[*b].updates.push(update(id)));
            }
        }
        let find = |m: &Maker, name: &str| m.places.iter().position(|p| p.name == name);
        let (Some(x), Some(y)) = (find(self, "x0"), find(self, "y0")) else { return };
        let Some(between) = find(self, "m1") else { return };
        let access = |place, write| Access { place, lo: 0, hi: 512, write };
        let mut gives = vec![access(x, false), access(between, true)];
        let mut takes = vec![access(between, false), access(y, true)];
        gives.extend(self.queue_access(qa));
        takes.extend(self.queue_access(qb));
        if one_loop {
            let axis = self.axis(trips);
            let core = self.around(&axis, vec![p, t]);
            self.put_both([a, b], core, [gives, takes]);
        } else {
            let (p, _) = self.looped(p, trips);
            let (t, _) = self.looped(t, trips);
            self.put(Unit::new(a, Core::Loop(p), gives, None));
            // Whoever takes last knows that all was given.
            let mut unit = Unit::new(b, Core::Loop(t), takes, None);
            unit.beside = Some(self.order.units.len() - 1);
            self.put(unit);
        }
    }

    fn barrier(&mut self) {
        let name = self.name();
        self.order.barrier(json!({"name": name, "opcode": "AllEngineBarrier", "engine": "ALL",
            "ins": [], "outs": []}));
    }

    /// Between two barriers semaphores are given back, for others to take.
    fn reset(&mut self) {
        self.barrier();
        let ids = self.order.give_back();
        let engine = self.engine();
        let name = self.name();
        let core = json!({"name": name, "opcode": "GroupResetSemaphores",
            "engine": ENGINES[engine], "ins": [], "outs": [], "sema_group": ids});
        self.put(Unit::new(engine, Core::Plain(core), Vec::new(), None));
        self.barrier();
    }

    /// A trigger whose block has an address that is looked up when it fires.
    fn referring(&mut self) {
        let (engine, queue) = (self.engine(), self.queue());
        let by_list = self.rng.chance(50);
        let register = (!by_list).then(|| format!("r{}", self.registers));
        let Some((d, accesses, set)) = self.reference(register.as_deref()) else { return };
        let block = self.block(queue, &[], 0);
        self.blocks[block].descriptors.push(d);
        self.blocks[block].accesses.extend(accesses);
        self.blocks[block].free = by_list;
        let core = self.trigger(engine, queue, &[block]);
        let mut unit = Unit::new(engine, Core::Plain(core), self.accesses(&[block]), Some(block));
        if let Some(register) = register {
            self.registers += 1;
            let name = self.own_name();
            unit.before.push(json!({"name": name, "opcode": "RegisterMove",
                "engine": ENGINES[engine],
                "ins": [{"kind": "imm_value", "dtype": "int32", "value": set}],
                "outs": [{"kind": "register_access", "dtype": "int32", "regref": register}]}));
            self.allocations.push(json!({"Skind": "register", "name": register, "dtype": "int32"}));
        }
        self.put(unit);
    }

    /// A transfer that was not lowered, on one of the queues.
    fn plain(&mut self) {
        let (engine, queue) = (self.engine(), self.queue());
        let Some((mut d, mut accesses)) = self.copy(&[]) else { return };
        accesses.extend(self.queue_access(queue));
        d["opcode"] = json!("DMACopy");
        d["engine"] = json!(ENGINES[engine]);
        d["name"] = json!(self.name());
        d["queue"] = json!(self.queues[queue]);
        d["dge_type"] = json!("None");
        self.put(Unit::new(engine, Core::Plain(d), accesses, None));
    }

    /// A block that nothing fires may hold what would never go well.
    fn idle_block(&mut self) {
        let queue = self.queue();
        let block = self.block(queue, &[], 1);
        let b = &mut self.blocks[block];
        b.free = false;
        b.waits.push(json!({"id": 900, "wait_value": 3}));
        b.updates.push(json!({"id": 1, "update_value": 1}));
    }

    fn finish(mut self) -> Case {
        let mut blocks = vec![Vec::new()];
        for unit in std::mem::take(&mut self.order.units) {
            if self.rng.chance(20) {
                blocks.push(Vec::new());
            }
            if let Some(b) = blocks.last_mut() {
                b.extend(unit.instructions());
            }
        }
        let blocks: Vec<Value> = (0..)
            .zip(blocks)
            .map(|(k, all): (u64, _)| json!({"name": format!("Block{k}"), "instructions": all}))
            .collect();
        let mut queues = Vec::new();
        for (k, name) in self.queues.iter().enumerate() {
            let own = self.blocks.iter().filter(|b| b.queue == k);
            let own: Vec<Value> = own.map(Block::json).collect();
            // Several holders are one list.
            let cut = if self.rng.chance(25) { own.len() / 2 } else { own.len() };
            let (first, rest) = own.split_at(cut);
            let mut holders = vec![json!({"instructions": first})];
            if !rest.is_empty() {
                holders.push(json!({"instructions": rest}));
            }
            queues.push(json!({"name": name, "blocks": holders}));
        }
        let json = json!({
            "version": 2, "arch": self.arch,
            "functions": [{"name": "sg0000", "allocations": self.allocations, "blocks": blocks}],
            "queues": queues,
        });
        Case { json, memory: self.memory }
    }
}

impl Block {
    fn json(&self) -> Value {
        let mut b = json!({
            "name": self.name, "opcode": "DMABlock", "engine": "DMA", "ins": [], "outs": [],
            "blocks": [{"name": format!("{}_Block0", self.name), "instructions": self.descriptors}],
        });
        for (key, all) in [("on_wait", &self.waits), ("on_update", &self.updates)] {
            if !all.is_empty() {
                b["sync_info"][key] = json!(all);
            }
        }
        if !self.deps.is_empty() {
            b["dependencies"] = json!(self.deps);
        }
        if let (Some(into), Some(keys)) = (b.as_object_mut(), self.keys.as_object()) {
            into.extend(keys.clone());
        }
        b
    }
}

impl Case {
    /// Bytes of a file with the module.
    pub fn bytes(&self) -> Vec<u8> {
        self.json.to_string().into_bytes()
    }

    /// The same without some of what orders its instructions: each wait and each list of
    /// dependencies goes with so many percent.
    pub fn disordered(&self, seed: u64, percent: u64) -> Case {
        let mut out = self.clone();
        order::disorder(&mut out.json, &mut Rng::new(seed ^ 0xd150_4de4), percent);
        out
    }
}
