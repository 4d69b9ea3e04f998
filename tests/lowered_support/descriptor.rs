//! Random descriptors of every family, with the bytes that each reads and writes.

use super::{Access, KINDS, Maker, Place};
use serde_json::{Value, json};

/// The axis of a loop.
#[derive(Debug, Clone)]
pub struct Axis {
    pub name: String,
    pub lb: i64,
    pub stride: i64,
    pub trips: u64,
}

/// A pattern in a location: offset and pairs in elements, and the bytes between its first and
/// last.
struct Spot {
    place: usize,
    offset: i64,
    pairs: Vec<(i64, u64)>,
    lo: u64,
    hi: u64,
}

/// What a pattern must be.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    nums: &'a [u64],
    size: u64,
    write: bool,
    /// An element may be named several times.
    repeats: bool,
    chip: Option<bool>,
}

impl Maker {
    /// A descriptor, without a name, and what it touches in all rounds of the loops.
    pub(super) fn descriptor(&mut self, axes: &[Axis]) -> Option<(Value, Vec<Access>)> {
        for _ in 0..8 {
            let made = match self.rng.below(10) {
                0..=4 => self.copy(axes),
                5..=6 => self.sum(axes),
                7..=8 => self.replicate(axes),
                _ => self.transpose(axes),
            };
            if made.is_some() {
                return made;
            }
        }
        None
    }

    fn spot(&mut self, w: Wanted<'_>) -> Option<Spot> {
        let fits = |p: &Place| {
            (!w.write || p.writable)
                && w.chip.is_none_or(|c| c == (p.partitions > 0))
                && (p.pitch.is_multiple_of(w.size))
        };
        let all: Vec<usize> = (0..self.places.len()).filter(|k| fits(&self.places[*k])).collect();
        if all.is_empty() {
            return None;
        }
        let place = *self.rng.pick(&all);
        let p = self.places[place].clone();
        let room = (p.pitch / w.size) as i64;
        let chip = p.partitions > 0;
        let free = if chip { w.nums.get(1..)? } else { w.nums };
        // From the innermost dimension outwards, each beyond the reach of those in it.
        let (mut pairs, mut reach, mut back) = (Vec::new(), 1i64, 0i64);
        for n in free.iter().rev() {
            let mut step = reach + if self.rng.chance(30) { self.rng.range(0, 3) } else { 0 };
            if w.repeats && self.rng.chance(10) {
                step = 0;
            }
            let span = step * (*n as i64 - 1);
            reach += span;
            if self.rng.chance(15) {
                back += span;
                step = -step;
            }
            pairs.insert(0, (step, *n));
        }
        if reach > room {
            return None;
        }
        let column = self.rng.range(0, room - reach);
        let mut offset = column + back;
        if chip {
            let n = w.nums[0];
            let apart = if self.rng.chance(20) { 2 } else { 1 };
            let apart = if w.repeats && self.rng.chance(10) { 0 } else { apart };
            let span = apart * (n - 1);
            if span >= p.partitions {
                return None;
            }
            let first = self.rng.range(0, (p.partitions - 1 - span) as i64);
            let (start, step) = if self.rng.chance(15) {
                (first + span as i64, -(apart as i64))
            } else {
                (first, apart as i64)
            };
            offset += start * room;
            pairs.insert(0, (step * room, n));
            return Some(Spot { place, offset, pairs, lo: 0, hi: p.bytes() });
        }
        let lo = column as u64 * w.size;
        Some(Spot { place, offset, pairs, lo, hi: lo + reach as u64 * w.size })
    }

    /// An operand; in loops now and then one that moves with their axes.
    fn operand(
        &mut self,
        s: &Spot,
        kind: &str,
        size: u64,
        axes: &[Axis],
        write: bool,
    ) -> (Value, Access) {
        let p = self.places[s.place].clone();
        let pairs: Vec<Value> = s.pairs.iter().map(|(step, n)| json!([step, n])).collect();
        let mut access = Access { place: s.place, lo: s.lo, hi: s.hi, write };
        let mut o = json!({"kind": "physical_ap", "ap": pairs, "dtype": kind, "memref": p.name,
            "memsetref": format!("{}_set", p.name), "offset": s.offset});
        if let Some(axis) = axes.last().filter(|_| p.partitions == 0)
            && self.rng.chance(60)
        {
            // As far as there is room.
            let reach = (s.hi - s.lo) / size;
            let room = (p.pitch / size).saturating_sub(reach);
            let most = axis.stride as u64 * (axis.trips - 1);
            let by = room.checked_div(most).map_or(1, |n| n.min(8) as i64);
            let by = if write { by } else { self.rng.range(0, by) };
            let backwards = self.rng.chance(20);
            let first = s.offset - (s.lo / size) as i64;
            let (coeff, c) = if backwards {
                (-by, first + by * (axis.lb + most as i64))
            } else {
                (by, first - by * axis.lb)
            };
            let idx = json!({"kind": "AffIVKind", "axis": axis.name});
            o = json!({"kind": "symbolic_ap", "ap": o["ap"], "dtype": kind,
                "memsetref": o["memsetref"],
                "addrs": [{"kind": "AffExprKind", "c": c, "terms": [{"idx": idx, "coeff": coeff}]}]});
            (access.lo, access.hi) = (0, p.bytes());
        } else if self.rng.chance(10) {
            o = json!({"kind": "symbolic_ap", "ap": o["ap"], "dtype": kind,
                "memsetref": o["memsetref"], "addrs": [s.offset]});
        } else if s.offset == 0 && self.rng.chance(50) {
            o["offset"] = Value::Null;
        }
        (o, access)
    }

    fn shape(&mut self, most: u64) -> Vec<u64> {
        (0..1 + self.rng.below(most)).map(|_| 1 + self.rng.below(6)).collect()
    }

    /// The same number of elements in another shape.
    fn reshaped(&mut self, nums: &[u64]) -> Vec<u64> {
        let n: u64 = nums.iter().product();
        match self.rng.below(4) {
            0 => vec![n],
            1 => vec![1, n],
            2 if nums.len() > 1 => {
                let mut all = nums.to_vec();
                let last = all.pop().unwrap_or(1);
                if let Some(l) = all.last_mut() {
                    *l *= last;
                }
                all
            }
            _ => nums.to_vec(),
        }
    }

    pub(super) fn copy(&mut self, axes: &[Axis]) -> Option<(Value, Vec<Access>)> {
        let mut nums = self.shape(4);
        let big = self.places.iter().any(|p| p.pitch > 100_000) && self.rng.chance(30);
        if big {
            // Beyond what one descriptor of a ring holds.
            nums = vec![self.rng.range(65_530, 140_000) as u64];
        }
        let other = self.reshaped(&nums);
        let (from, size) = *self.rng.pick(&KINDS);
        let (from, size) = if big { ("uint8", 1) } else { (from, size) };
        let (to, to_size) =
            if self.rng.chance(20) && !big { *self.rng.pick(&KINDS) } else { (from, size) };
        let wanted = Wanted { nums: &nums, size, write: false, repeats: true, chip: None };
        let s = self.spot(wanted)?;
        let wanted =
            Wanted { nums: &other, size: to_size, write: true, repeats: false, chip: None };
        let d = self.spot(wanted)?;
        let (i, read) = self.operand(&s, from, size, axes, false);
        let (o, written) = self.operand(&d, to, to_size, axes, true);
        let mut v =
            json!({"opcode": "DMADescriptorCopy", "engine": "DMA", "ins": [i], "outs": [o]});
        if self.rng.chance(10) {
            v["can_read_uninit"] = json!(true);
        }
        Some((v, vec![read, written]))
    }

    fn sum(&mut self, axes: &[Axis]) -> Option<(Value, Vec<Access>)> {
        const FLOATS: [(&str, u64); 3] = [("float32", 4), ("bfloat16", 2), ("float16", 2)];
        let nums = self.shape(3);
        let sources = 1 + self.rng.below(4);
        let (mut ins, mut all) = (Vec::new(), Vec::new());
        for _ in 0..sources {
            let (kind, size) = *self.rng.pick(&FLOATS);
            let nums = self.reshaped(&nums);
            let w = Wanted { nums: &nums, size, write: false, repeats: true, chip: None };
            let s = self.spot(w)?;
            let (i, read) = self.operand(&s, kind, size, axes, false);
            ins.push(i);
            all.push(read);
        }
        let (kind, size) = *self.rng.pick(&FLOATS);
        let w = Wanted { nums: &nums, size, write: true, repeats: false, chip: None };
        let d = self.spot(w)?;
        let (o, written) = self.operand(&d, kind, size, axes, true);
        all.push(written);
        let op = *self.rng.pick(&["add", "max", "min"]);
        let mut v = json!({"opcode": "DMADescriptorCCE", "engine": "DMA", "op": op, "ins": ins,
            "outs": [o]});
        if self.rng.chance(60) {
            let c: Vec<f64> =
                (0..sources).map(|_| *self.rng.pick(&[1.0, -0.5, 0.25, 2.0, 3.0])).collect();
            v["constants"] = json!(c);
        }
        Some((v, all))
    }

    fn replicate(&mut self, axes: &[Axis]) -> Option<(Value, Vec<Access>)> {
        let (kind, size) = *self.rng.pick(&KINDS);
        let (rows, columns) = (1 + self.rng.below(2), 1 + self.rng.below(8));
        // Sunda has no way to write several.
        let times = if self.arch == "sunda" { 1 } else { 1 + self.rng.below(4) };
        let from = [rows, columns];
        let w = Wanted { nums: &from, size, write: false, repeats: true, chip: None };
        let s = self.spot(w)?;
        let to = [rows * times, columns];
        let w = Wanted { nums: &to, size, write: true, repeats: false, chip: None };
        let d = self.spot(w)?;
        let (i, read) = self.operand(&s, kind, size, axes, false);
        let (o, written) = self.operand(&d, kind, size, axes, true);
        let v =
            json!({"opcode": "DMADescriptorReplicate", "engine": "DMA", "ins": [i], "outs": [o]});
        Some((v, vec![read, written]))
    }

    fn transpose(&mut self, axes: &[Axis]) -> Option<(Value, Vec<Access>)> {
        let (kind, size) = *self.rng.pick(&KINDS);
        let n: Vec<u64> = (0..4).map(|_| 1 + self.rng.below(3)).collect();
        // Letters of the source in the order of the destination.
        let (op, order) = *self.rng.pick(&[("XZYW", [3, 1, 2, 0]), ("XYZW", [3, 2, 1, 0])]);
        let m: Vec<u64> = order.iter().map(|k: &usize| n[*k]).collect();
        let w = Wanted { nums: &n, size, write: false, repeats: true, chip: Some(false) };
        let s = self.spot(w)?;
        let w = Wanted { nums: &m, size, write: true, repeats: false, chip: Some(true) };
        let d = self.spot(w)?;
        // Transposes go to SB.
        if self.places[d.place].name == "p0" {
            return None;
        }
        let (i, read) = self.operand(&s, kind, size, axes, false);
        let (o, written) = self.operand(&d, kind, size, axes, true);
        let v = json!({"opcode": "DMADescriptorTranspose", "engine": "DMA", "ins": [i],
            "outs": [o], "transpose_op": op});
        Some((v, vec![read, written]))
    }

    /// A copy whose base is looked up when it is fired: in a register, of which the value is
    /// returned too, or in the index list.
    pub(super) fn reference(
        &mut self,
        register: Option<&str>,
    ) -> Option<(Value, Vec<Access>, i64)> {
        let n = 1 + self.rng.below(6);
        let nums = [n];
        let source =
            Wanted { nums: &nums, size: 1, write: false, repeats: false, chip: Some(false) };
        let s = self.spot(source)?;
        let d = self.spot(Wanted { write: true, ..source })?;
        let (mut i, mut read) = self.operand(&s, "uint8", 1, &[], false);
        let (mut o, mut written) = self.operand(&d, "uint8", 1, &[], true);
        let scale = 1 + self.rng.below(16) as i64;
        let (side, access, spot) =
            if self.rng.chance(50) { (&mut i, &mut read, &s) } else { (&mut o, &mut written, &d) };
        let room = self.places[spot.place].bytes();
        let (step, _) = spot.pairs[0];
        let back = if step < 0 { (n - 1) * step.unsigned_abs() } else { 0 };
        *side = json!({"kind": "physical_ap", "ap": side["ap"], "dtype": "uint8",
            "memref": self.places[spot.place].name, "offset": back});
        (access.lo, access.hi) = (0, room);
        let reach = spot.hi - spot.lo;
        let mut set = 0;
        match register {
            Some(register) => {
                set = self.rng.range(0, (room - reach) as i64 / scale);
                side["reference"] = json!({"register": register, "scale": scale});
            }
            None => {
                let list = json!({"kind": "physical_ap", "ap": [[1, 8]], "dtype": "int32",
                    "memref": "index", "memsetref": "index_set", "offset": 0});
                side["reference"] =
                    json!({"list": list, "element": self.rng.below(8), "scale": scale});
                if self.rng.chance(50) {
                    side["reference"]["max_index"] = json!(3);
                }
            }
        }
        let mut v = json!({"opcode": "DMADescriptorCopy", "engine": "DMA", "ins": [i], "outs": [o],
            "name": "looked-up"});
        v["oob_is_err"] = json!(false);
        Some((v, vec![read, written], set))
    }
}
