//! Where memory locations lie in one flat address space, and where an access pattern's elements
//! lie in it (`docs/bir.md`, "Addresses").
//!
//! MODEL: the flat space is this project's. On-chip memory is partition times a stride; the
//! DRAM of internal tensors is one arena, their `addr` an offset in it; each external tensor is
//! an address space of its own and gets a stretch of addresses here.

use super::enums::{Dtype, Space, TensorKind};
use super::module::{Module, Operand, Pair, Pattern};
use super::quick::QuickMap;
use super::walk::{Dim, Walk};
use super::{Arch, Name};
use crate::udma::count_of;
use std::fmt;

/// Flat address of byte 0 of partition 0 of SB.
pub const SB_BASE: u64 = 0x08_0000_0000;
/// Bytes from one SB partition to the next.
pub const SB_STRIDE: u64 = 0x4_0000;
/// Flat address of byte 0 of partition 0 of PSUM.
pub const PSUM_BASE: u64 = 0x08_1000_0000;
/// Bytes from one PSUM partition to the next.
pub const PSUM_STRIDE: u64 = 0x8000;
/// Bytes of one PSUM bank in a partition.
pub const PSUM_BANK: u64 = 2048;
/// Banks of a PSUM partition.
pub const PSUM_BANKS: u64 = 8;
/// Partitions of on-chip memory.
pub const PARTITIONS: u64 = 128;
/// Flat address of byte 0 of the internal DRAM arena.
pub const DRAM_BASE: u64 = 0x10_0000_0000;
/// Bytes of the arena.
pub const DRAM_BYTES: u64 = 0x10_0000_0000;
/// Flat address of the first external tensor.
pub const EXTERNAL_BASE: u64 = 0x20_0000_0000;
/// External tensors begin at multiples of this.
pub const EXTERNAL_ALIGN: u64 = 0x1_0000;
/// Bytes that all external tensors may take together.
pub const EXTERNAL_BYTES: u64 = 0x100_0000_0000;

/// SB bytes per partition of a generation.
pub fn sb_partition_bytes(arch: Arch) -> u64 {
    match arch {
        Arch::Inferentia => 98_304,
        Arch::Sunda => 196_608,
        Arch::Gen3 => 229_376,
        Arch::CoreV4 | Arch::CoreV5 => 262_144,
    }
}

/// A location in the flat space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Name.
    pub name: Name,
    /// What it lies in.
    pub space: Space,
    /// Whether it is an address space of its own.
    pub external: bool,
    /// Flat address of its first byte.
    pub addr: u64,
    /// Bytes of one partition; of all of it in DRAM.
    pub pitch: u64,
    /// Partitions; 1 in DRAM.
    pub partitions: u64,
    /// Flat bytes from one partition to the next; the pitch in DRAM.
    pub stride: u64,
}

impl Placed {
    /// Bytes of all of it.
    pub fn bytes(&self) -> u64 {
        self.pitch * self.partitions
    }

    /// Its bytes as flat runs `(address, bytes)`: one per partition.
    pub fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0..self.partitions).map(|p| (self.addr + p * self.stride, self.pitch))
    }

    /// Row-major position of a flat address in it, if it lies inside.
    pub fn position(&self, flat: u64) -> Option<u64> {
        let at = flat.checked_sub(self.addr)?;
        let (partition, byte) = (at.checked_div(self.stride)?, at % self.stride);
        (partition < self.partitions && byte < self.pitch).then(|| partition * self.pitch + byte)
    }
}

/// Why a location cannot be placed, or a pattern does not lie where it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceError {
    /// The operand is no access pattern.
    NoPattern,
    /// It names neither location nor set.
    NoLocation,
    /// The location or set does not exist.
    Unknown(Name),
    /// The set does not have exactly one location.
    NotOne(Name, usize),
    /// The element type is absent or not known.
    NoDtype,
    /// The location is not in memory that can be addressed.
    NotMemory(Name, Space),
    /// The location is in DRAM and says no dims, so that nobody knows how large it is.
    NoSize(Name),
    /// The location itself does not fit its space.
    Misplaced(Name, String),
    /// The partition step is no multiple of the pitch.
    Step {
        /// Step of the first pair, elements.
        step: i64,
        /// Elements of a partition.
        pitch: u64,
    },
    /// An element lies before its location.
    Before {
        /// The location.
        name: Name,
        /// Bytes before its first one (before the partition's where it has any).
        by: u64,
    },
    /// An element lies beyond its location. Offsets are row-major bytes of the location; in
    /// SB and PSUM bytes of the partition.
    Beyond {
        /// The location.
        name: Name,
        /// Offset of the first offending element.
        offset: u64,
        /// Its bytes.
        len: u64,
        /// Bytes that there are.
        size: u64,
    },
    /// A partition beyond the location's last.
    Partition {
        /// The location.
        name: Name,
        /// Partition, counted from the location's first.
        partition: i64,
        /// How many there are.
        partitions: u64,
    },
    /// A step, count or offset so large that the address does not exist.
    Overflow,
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlaceError::NoPattern => f.write_str("the operand is no access pattern"),
            PlaceError::NoLocation => f.write_str("the operand names no memory location"),
            PlaceError::Unknown(n) => write!(f, "no memory location is named `{n}`"),
            PlaceError::NotOne(n, k) => write!(
                f,
                "`{n}` has {k_locations}; one is needed",
                k_locations = count_of(k, "location")
            ),
            PlaceError::NoDtype => f.write_str("the element type is not known"),
            PlaceError::NotMemory(n, s) => write!(f, "`{n}` is {s}, not addressable memory"),
            PlaceError::NoSize(n) => {
                write!(f, "`{n}` has no `dims`: how many bytes it has is not known")
            }
            PlaceError::Misplaced(n, why) => write!(f, "`{n}` {why}"),
            PlaceError::Step { step, pitch } => write!(
                f,
                "the partition step {step} is no multiple of the {pitch_elements} of a partition",
                pitch_elements = count_of(pitch, "element")
            ),
            PlaceError::Before { name, by } => {
                write!(
                    f,
                    "an element lies {by_bytes} before the begin of `{name}`",
                    by_bytes = count_of(by, "byte")
                )
            }
            PlaceError::Beyond { name, offset, len, size } => {
                write!(f, "invalid offset in `{name}`: {size} < ({offset} + {len})")
            }
            PlaceError::Partition { name, partition, partitions } => {
                write!(f, "partition {partition} of `{name}`, which has {partitions}")
            }
            PlaceError::Overflow => f.write_str("the address does not fit 64 bits"),
        }
    }
}

/// All locations of a module, placed.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    placed: Vec<Placed>,
    locations: QuickMap<Name, usize>,
    sets: QuickMap<Name, Vec<usize>>,
    errors: Vec<(Name, PlaceError)>,
}

impl Layout {
    /// Places every location of the module. Of two locations with one name the first counts.
    pub fn new(module: &Module) -> Layout {
        let mut layout = Layout::default();
        let mut next = EXTERNAL_BASE;
        for (set, loc) in module.locations() {
            let external = loc.space.is_dram() && set.kind.is_some_and(TensorKind::is_external);
            match place(module.arch.unwrap_or(Arch::Gen3), loc, external.then_some(next)) {
                Ok(p) => {
                    if external {
                        next = (next + p.bytes()).next_multiple_of(EXTERNAL_ALIGN) + EXTERNAL_ALIGN;
                    }
                    let at = layout.placed.len();
                    layout.locations.entry(loc.name.clone()).or_insert(at);
                    layout.sets.entry(set.name.clone()).or_default().push(at);
                    layout.placed.push(p);
                }
                Err(e) => layout.errors.push((loc.name.clone(), e)),
            }
        }
        layout
    }

    /// Locations that could not be placed.
    pub fn errors(&self) -> &[(Name, PlaceError)] {
        &self.errors
    }

    /// All placed locations, in file order.
    pub fn placed(&self) -> &[Placed] {
        &self.placed
    }

    /// A location by name.
    pub fn location(&self, name: &str) -> Option<&Placed> {
        self.locations.get(name).map(|&i| &self.placed[i])
    }

    /// The location at a flat address; the first where several share it.
    pub fn at(&self, flat: u64) -> Option<&Placed> {
        self.placed.iter().find(|p| p.position(flat).is_some())
    }

    /// The location that a pattern is about.
    ///
    /// # Errors
    /// It is not named, does not exist, or is not the only one of its set.
    pub fn of(&self, pattern: &Pattern) -> Result<&Placed, PlaceError> {
        let failed = |name: &Name| {
            let known = self.errors.iter().find(|e| e.0 == *name);
            known.map_or_else(|| PlaceError::Unknown(name.clone()), |e| e.1.clone())
        };
        if let Some(name) = &pattern.location {
            return self.location(name).ok_or_else(|| failed(name));
        }
        let set = pattern.set.as_ref().ok_or(PlaceError::NoLocation)?;
        match self.sets.get(set).map(Vec::as_slice) {
            Some([one]) => Ok(&self.placed[*one]),
            Some(several) => Err(PlaceError::NotOne(set.clone(), several.len())),
            None => {
                let stem = set.strip_suffix("_set").map(Name::from);
                let by_stem = stem.as_deref().and_then(|s| self.location(s));
                by_stem.ok_or_else(|| failed(set))
            }
        }
    }

    /// The elements of a static operand; whatever is dynamic about its start is left out.
    ///
    /// # Errors
    /// As [`Layout::walk`].
    pub fn walk_static(&self, operand: &Operand) -> Result<Walk, PlaceError> {
        let pattern = operand.as_pattern().ok_or(PlaceError::NoPattern)?;
        let dtype = operand.dtype.ok_or(PlaceError::NoDtype)?;
        self.walk(pattern, dtype, &pattern.pairs, pattern.offset)
    }

    /// Whether a static operand lies in its location: as [`Layout::walk_static`], without the
    /// elements.
    pub fn holds(&self, operand: &Operand) -> bool {
        match operand.as_pattern().zip(operand.dtype) {
            Some((p, dtype)) => self.lies(p, dtype, &p.pairs, p.offset),
            None => false,
        }
    }

    /// Whether there are the elements of `pairs` from element `offset` on: as [`Layout::walk`],
    /// without them.
    pub fn lies(&self, pattern: &Pattern, dtype: Dtype, pairs: &[Pair], offset: i64) -> bool {
        let Ok(loc) = self.of(pattern) else { return false };
        if loc.space.has_partitions() {
            return walk_partitions(loc, dtype.bytes(), pairs, offset).is_ok();
        }
        // Counts and steps as small as nearly all are do not overflow anywhere.
        const SMALL: u64 = 1 << 31;
        let elem = dtype.bytes() as i64;
        let (mut count, mut down, mut up) = (1u64, 0i64, 0i64);
        for p in pairs {
            count = count.saturating_mul(p.num);
            if count == 0 || count >= SMALL || p.step.unsigned_abs() >= SMALL / 16 {
                return walk_dram(loc, dtype.bytes(), pairs, offset).is_ok();
            }
            let reach = p.step * elem * (p.num - 1) as i64;
            if reach < 0 { down += reach } else { up += reach }
        }
        let at = i128::from(offset) * i128::from(elem);
        at + i128::from(down) >= 0
            && at + i128::from(up) + i128::from(elem) <= i128::from(loc.pitch)
    }

    /// The elements of `pairs` from element `offset` on in the pattern's location. In SB and
    /// PSUM the first pair walks partitions, so that it must be kept when inner ones are cut.
    ///
    /// # Errors
    /// The location is not known, or an element does not lie in it; the first offending one in
    /// element order is named.
    pub fn walk(
        &self,
        pattern: &Pattern,
        dtype: Dtype,
        pairs: &[Pair],
        offset: i64,
    ) -> Result<Walk, PlaceError> {
        let loc = self.of(pattern)?;
        let elem = dtype.bytes();
        if loc.space.has_partitions() {
            walk_partitions(loc, elem, pairs, offset)
        } else {
            walk_dram(loc, elem, pairs, offset)
        }
    }
}

fn misplaced(name: &Name, why: String) -> PlaceError {
    PlaceError::Misplaced(name.clone(), why)
}

fn place(
    arch: Arch,
    loc: &super::module::Location,
    external: Option<u64>,
) -> Result<Placed, PlaceError> {
    let name = &loc.name;
    if loc.space.has_partitions() {
        let &[partitions, pitch] = loc.dims.as_slice() else {
            let n = loc.dims.len();
            return Err(misplaced(name, format!("has {n} dims; partitions and bytes are needed")));
        };
        let psum = loc.space == Space::Psum;
        let (base, stride) = if psum { (PSUM_BASE, PSUM_STRIDE) } else { (SB_BASE, SB_STRIDE) };
        let room = if psum { PSUM_BANK * PSUM_BANKS } else { sb_partition_bytes(arch) };
        let byte = match loc.bank {
            Some(bank) if psum && bank >= PSUM_BANKS => {
                return Err(misplaced(name, format!("is in bank {bank} of {PSUM_BANKS}")));
            }
            Some(bank) if psum && loc.addr < PSUM_BANK => bank * PSUM_BANK + loc.addr,
            _ => loc.addr,
        };
        if byte.checked_add(pitch).is_none_or(|end| end > room) {
            let text = format!("ends beyond the partition: {byte} + {pitch} > {room}");
            return Err(misplaced(name, text));
        }
        if loc.base.checked_add(partitions).is_none_or(|end| end > PARTITIONS) {
            let text = format!("has partitions {} to {} + {partitions}", loc.base, loc.base);
            return Err(misplaced(name, format!("{text}; there are {PARTITIONS}")));
        }
        let addr = base + loc.base * stride + byte;
        let (name, space) = (name.clone(), loc.space);
        return Ok(Placed { name, space, external: false, addr, pitch, partitions, stride });
    }
    if !loc.space.is_dram() {
        return Err(PlaceError::NotMemory(name.clone(), loc.space));
    }
    if loc.dims.is_empty() {
        return Err(PlaceError::NoSize(name.clone()));
    }
    let bytes = loc.dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
    let room = if external.is_some() { EXTERNAL_BYTES } else { DRAM_BYTES };
    let fits = |bytes: u64| match external {
        Some(at) => (at - EXTERNAL_BASE).checked_add(bytes).is_some_and(|end| end <= room),
        None => loc.addr.checked_add(bytes).is_some_and(|end| end <= room),
    };
    let Some(bytes) = bytes.filter(|b| fits(*b)) else {
        return Err(misplaced(name, format!("ends beyond the {room:#x} bytes of its memory")));
    };
    let addr = external.unwrap_or_else(|| DRAM_BASE + loc.addr);
    Ok(Placed {
        name: name.clone(),
        space: loc.space,
        external: external.is_some(),
        addr,
        pitch: bytes,
        partitions: 1,
        stride: bytes.max(1),
    })
}

/// Bytes of each dimension, and how far they reach down and up from the first element.
fn spread(elem: u64, pairs: &[Pair]) -> Result<(Vec<Dim>, i128, i128), PlaceError> {
    let count = pairs.iter().try_fold(1u64, |n, p| n.checked_mul(p.num));
    if count.and_then(|n| n.checked_mul(elem)).is_none_or(|n| n > i64::MAX as u64) {
        return Err(PlaceError::Overflow);
    }
    let (mut down, mut up) = (0i128, 0i128);
    let mut dims = Vec::with_capacity(pairs.len());
    let none = pairs.iter().any(|p| p.num == 0);
    for p in pairs {
        let step = p.step.checked_mul(elem as i64).ok_or(PlaceError::Overflow)?;
        if none {
            // Nothing is reached, and the other counts have no bound.
            dims.push(Dim { step, num: p.num.min(1) });
            continue;
        }
        let reach = i128::from(step) * i128::from(p.num.saturating_sub(1));
        if reach < 0 {
            down += reach
        } else {
            up += reach
        }
        dims.push(Dim { step, num: p.num });
    }
    Ok((dims, down, up))
}

/// A walk without elements: as many dimensions, none longer than 1, so that no product of some
/// of them overflows.
fn empty(loc: &Placed, mut dims: Vec<Dim>, elem: u64) -> Walk {
    for d in &mut dims {
        *d = Dim { step: 0, num: d.num.min(1) };
    }
    Walk { start: loc.addr, dims, elem }
}

fn walk_dram(loc: &Placed, elem: u64, pairs: &[Pair], offset: i64) -> Result<Walk, PlaceError> {
    let (dims, down, up) = spread(elem, pairs)?;
    let at = i128::from(offset) * i128::from(elem);
    let size = i128::from(loc.pitch);
    if dims.iter().any(|d| d.num == 0) {
        return Ok(empty(loc, dims, elem));
    }
    if at + down < 0 || at + up + i128::from(elem) > size {
        let bad = first_outside(&dims, at, i128::from(elem), size);
        return Err(outside(loc, bad, elem, loc.pitch));
    }
    Ok(Walk { start: loc.addr + at as u64, dims, elem })
}

fn walk_partitions(
    loc: &Placed,
    elem: u64,
    pairs: &[Pair],
    offset: i64,
) -> Result<Walk, PlaceError> {
    let pitch = loc.pitch / elem;
    let (first, inner) = match pairs.split_first() {
        Some((first, inner)) => (*first, inner),
        None => (Pair { step: 0, num: 1 }, pairs),
    };
    let (mut dims, down, up) = spread(elem, inner)?;
    let all = dims.iter().try_fold(first.num, |n, d| n.checked_mul(d.num));
    if all.and_then(|n| n.checked_mul(elem)).is_none_or(|n| n > i64::MAX as u64) {
        return Err(PlaceError::Overflow);
    }
    if first.num == 0 || dims.iter().any(|d| d.num == 0) {
        dims.insert(0, Dim { step: 0, num: first.num });
        return Ok(empty(loc, dims, elem));
    }
    if pitch == 0 {
        return Err(outside(loc, 0, elem, loc.pitch));
    }
    // Where there is one partition its step says nothing.
    let step = if first.num == 1 { 0 } else { first.step };
    if step % pitch as i64 != 0 {
        return Err(PlaceError::Step { step, pitch });
    }
    let (partition, column) = (offset.div_euclid(pitch as i64), offset.rem_euclid(pitch as i64));
    let stride = step / pitch as i64;
    let last = i128::from(partition) + i128::from(stride) * i128::from(first.num - 1);
    for p in [i128::from(partition), last] {
        if p < 0 || p >= i128::from(loc.partitions) {
            return Err(PlaceError::Partition {
                name: loc.name.clone(),
                partition: p.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
                partitions: loc.partitions,
            });
        }
    }
    let at = i128::from(column) * i128::from(elem);
    let size = i128::from(loc.pitch);
    if at + down < 0 || at + up + i128::from(elem) > size {
        let bad = first_outside(&dims, at, i128::from(elem), size);
        return Err(outside(loc, bad, elem, loc.pitch));
    }
    dims.insert(0, Dim { step: stride * loc.stride as i64, num: first.num });
    let start = loc.addr + partition as u64 * loc.stride + at as u64;
    Ok(Walk { start, dims, elem })
}

fn outside(loc: &Placed, at: i128, len: u64, size: u64) -> PlaceError {
    let name = loc.name.clone();
    if at < 0 {
        return PlaceError::Before { name, by: at.unsigned_abs().min(u64::MAX.into()) as u64 };
    }
    PlaceError::Beyond { name, offset: at.min(u64::MAX.into()) as u64, len, size }
}

/// The first element, in element order, that does not lie in `0 .. size`; found dimension by
/// dimension, not by walking.
fn first_outside(dims: &[Dim], mut at: i128, elem: i128, size: i128) -> i128 {
    let bad = |at: i128| at < 0 || at + elem > size;
    // The reach of the dimensions from k on.
    let reach = |k: usize| {
        dims[k..].iter().fold((0i128, 0i128), |(down, up), d| {
            let r = i128::from(d.step) * i128::from(d.num - 1);
            if r < 0 { (down + r, up) } else { (down, up + r) }
        })
    };
    for (k, d) in dims.iter().enumerate() {
        let (down, up) = reach(k + 1);
        let step = i128::from(d.step);
        // The least i for which something of the inner dimensions lies outside.
        let leaves = |i: i128| {
            let base = at + step * i;
            base + down < 0 || base + up + elem > size
        };
        let (mut lo, mut hi) = (0i128, i128::from(d.num) - 1);
        if !leaves(0) {
            // Moves away from the valid window monotonically once it has left it.
            while lo + 1 < hi {
                let mid = lo + (hi - lo) / 2;
                if leaves(mid) { hi = mid } else { lo = mid }
            }
            at += step * hi;
        }
    }
    debug_assert!(bad(at));
    at
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::bir::module::{Allocation, Function, Location, StorageKind};
    use proptest::prelude::*;

    type Row = (&'static str, Space, TensorKind, u64, &'static [u64], u64);

    fn module(locations: &[Row]) -> Module {
        let allocation = |&(name, space, kind, addr, dims, base): &Row| Allocation {
            storage: StorageKind::Memory,
            name: format!("{name}_set").into(),
            dtype: None,
            kind: Some(kind),
            shape: Vec::new(),
            locations: vec![Location {
                name: name.into(),
                space,
                addr,
                dims: dims.to_vec(),
                base,
                bank: None,
                tensor_id: None,
                extra: Vec::new(),
            }],
            extra: Vec::new(),
        };
        Module {
            version: 2,
            arch: Some(Arch::Gen3),
            functions: vec![Function {
                name: "f".into(),
                allocations: locations.iter().map(allocation).collect(),
                blocks: Vec::new(),
                extra: Vec::new(),
            }],
            queues: Vec::new(),
            extra: Vec::new(),
        }
    }

    const TWO: &[Row] = &[
        ("d", Space::Dram, TensorKind::Internal, 0x1000, &[64], 0),
        ("s", Space::Sb, TensorKind::Internal, 256, &[4, 32], 96),
        ("x", Space::Dram, TensorKind::ExternalInput, 0x1000, &[2, 8], 0),
        ("n", Space::Dram, TensorKind::Internal, 0x2000, &[], 0),
    ];

    fn walk(
        name: &str,
        dtype: Dtype,
        offset: i64,
        pairs: &[(i64, u64)],
    ) -> Result<Walk, PlaceError> {
        let layout = Layout::new(&module(TWO));
        layout.walk_static(&Operand::pattern(dtype, Pattern::new(name, offset, pairs)))
    }

    #[test]
    fn a_tile_walks_partitions_first() {
        let w = walk("s", Dtype::U32, 0, &[(8, 4), (1, 8)]).unwrap();
        assert_eq!(w.start, SB_BASE + 96 * SB_STRIDE + 256);
        let rows: Vec<_> = w.runs().collect();
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[1], (w.start + SB_STRIDE, 32));
        let w = walk("s", Dtype::U16, 37, &[(-16, 3), (2, 3)]).unwrap();
        assert_eq!(w.start, SB_BASE + 98 * SB_STRIDE + 256 + 10);
    }

    #[test]
    fn externals_are_spaces_of_their_own() {
        let w = walk("x", Dtype::U8, 3, &[(1, 4)]).unwrap();
        assert_eq!(w.runs().collect::<Vec<_>>(), [(EXTERNAL_BASE + 3, 4)]);
        let w = walk("d", Dtype::U8, 3, &[(1, 4)]).unwrap();
        assert_eq!(w.start, DRAM_BASE + 0x1003);
    }

    #[test]
    fn what_leaves_a_location_is_named() {
        use PlaceError::*;
        let err = |n, t, o, p: &[(i64, u64)]| walk(n, t, o, p).unwrap_err();
        let beyond = Beyond { name: "d".into(), offset: 64, len: 4, size: 64 };
        assert_eq!(err("d", Dtype::U32, 8, &[(4, 4), (1, 2)]), beyond);
        assert_eq!(err("d", Dtype::U8, 2, &[(-1, 4)]), Before { name: "d".into(), by: 1 });
        assert_eq!(err("s", Dtype::U8, 0, &[(31, 2)]), Step { step: 31, pitch: 32 });
        let partition = Partition { name: "s".into(), partition: 4, partitions: 4 };
        assert_eq!(err("s", Dtype::U8, 0, &[(32, 5)]), partition);
        assert!(matches!(err("s", Dtype::U8, 30, &[(32, 1), (1, 3)]), Beyond { offset: 32, .. }));
        let before = Before { name: "d".into(), by: 1 << 63 };
        assert_eq!(err("d", Dtype::U8, 0, &[(i64::MAX, 3), (i64::MIN, 2)]), before);
        assert_eq!(err("d", Dtype::U8, 0, &[(0, u64::MAX), (0, 2)]), Overflow);
        let none = walk("s", Dtype::U8, 0, &[(0, 2), (i64::MIN, u64::MAX), (9, 0)]).unwrap();
        assert_eq!((none.count(), none.dims.len()), (0, 3));
        assert_eq!(err("s", Dtype::U8, 0, &[(0, 1 << 40), (0, 1 << 40)]), Overflow);
        assert_eq!(err("nothing", Dtype::U8, 0, &[]), Unknown("nothing".into()));
        assert_eq!(err("n", Dtype::U8, 0, &[]), NoSize("n".into()));
    }

    proptest! {
        #[test]
        fn what_lies_inside_has_a_walk(
            pairs in prop::collection::vec(
                (prop_oneof![-9i64..9, any::<i64>()], prop_oneof![0u64..5, any::<u64>()]), 0..4),
            offset in prop_oneof![-10i64..80, any::<i64>()],
            name in prop::sample::select(vec!["d", "s", "x", "nothing"]),
            dtype in prop::sample::select(vec![Dtype::U8, Dtype::U32]),
        ) {
            let operand = Operand::pattern(dtype, Pattern::new(name, offset, &pairs));
            let holds = Layout::new(&module(TWO)).holds(&operand);
            prop_assert_eq!(holds, walk(name, dtype, offset, &pairs).is_ok());
        }

        #[test]
        fn the_first_offending_element_is_the_first(
            pairs in prop::collection::vec((-9i64..9, 1u64..5), 0..4),
            offset in -10i64..80,
        ) {
            let w = walk("d", Dtype::U8, offset, &pairs);
            let operand = Operand::pattern(Dtype::U8, Pattern::new("d", offset, &pairs));
            prop_assert_eq!(Layout::new(&module(TWO)).holds(&operand), w.is_ok());
            let dims = pairs.iter().map(|&(step, num)| Dim { step, num }).collect();
            let free = Walk { start: 1 << 20, dims, elem: 1 };
            let places = free.addresses().map(|a| a as i64 - (1 << 20) + offset);
            let mut places = places;
            let bad = places.find(|a| !(0..64).contains(a));
            match (w, bad) {
                (Ok(w), None) => prop_assert_eq!(w.count(), free.count()),
                (Err(PlaceError::Before { by, .. }), Some(at)) => prop_assert_eq!(-(by as i64), at),
                (Err(PlaceError::Beyond { offset, .. }), Some(at)) => {
                    prop_assert_eq!(offset as i64, at);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
