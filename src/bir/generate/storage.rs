//! Memory locations and their first content.

use super::{Options, Rng};
use crate::bir::{
    Allocation, Arch, Dtype, Function, Layout, Location, Module, Name, Space, StorageKind,
    TensorKind,
};

/// Bytes of one entry of an index list.
const INDEX_BYTES: u64 = 4;

/// A location that shares the bytes of another.
const ALIAS: &str = "view";

/// A location as the generator sees it.
#[derive(Debug, Clone)]
pub(super) struct Store {
    pub name: Name,
    pub space: Space,
    /// Bytes of a partition; of all of it in DRAM.
    pub pitch: u64,
    pub partitions: u64,
    /// Whether transfers may write it.
    pub writable: bool,
}

/// An index list that no transfer has taken yet.
#[derive(Debug, Clone)]
pub(super) struct List {
    pub name: Name,
    pub space: Space,
    pub entries: u64,
}

pub(super) struct Storage {
    pub module: Module,
    pub layout: Layout,
    pub stores: Vec<Store>,
    pub lists: Vec<List>,
    pub memory: Vec<(Name, Vec<u8>)>,
}

struct Maker<'r> {
    rng: &'r mut Rng,
    allocations: Vec<Allocation>,
    stores: Vec<Store>,
    dram: u64,
    sb: u64,
}

impl Maker<'_> {
    fn add(&mut self, kind: TensorKind, l: Location) {
        let mut l = l;
        l.tensor_id = Some(0);
        self.allocations.push(Allocation {
            storage: StorageKind::Memory,
            name: format!("{}_set", l.name).into(),
            dtype: Some(Dtype::U8),
            kind: Some(kind),
            shape: l.dims.clone(),
            locations: vec![l],
            extra: Vec::new(),
        });
    }

    fn at(name: &str, space: Space, addr: u64, dims: &[u64]) -> Location {
        Location {
            name: name.into(),
            space,
            addr,
            dims: dims.to_vec(),
            base: 0,
            bank: None,
            tensor_id: None,
            extra: Vec::new(),
        }
    }

    fn dram(&mut self, name: &str, kind: TensorKind, bytes: u64) {
        let l = Self::at(name, Space::Dram, self.dram, &[bytes]);
        self.dram = (self.dram + bytes).next_multiple_of(64) + 64 * self.rng.below(2);
        self.add(kind, l);
        let writable = kind != TensorKind::ExternalInput;
        let (name, space) = (name.into(), Space::Dram);
        self.stores.push(Store { name, space, pitch: bytes, partitions: 1, writable });
    }

    fn tile(&mut self, name: &str, space: Space, partitions: u64, pitch: u64) {
        let mut l = Self::at(name, space, self.sb, &[partitions, pitch]);
        l.base = if partitions > 32 { 0 } else { 32 * self.rng.below(4) };
        if space == Space::Psum {
            l.addr = 0;
            l.bank = Some(self.rng.below(8));
        } else {
            self.sb += pitch.next_multiple_of(64);
        }
        self.add(TensorKind::Internal, l);
        let name = name.into();
        self.stores.push(Store { name, space, pitch, partitions, writable: true });
    }
}

impl Storage {
    pub fn new(rng: &mut Rng, arch: Arch, options: &Options) -> Storage {
        let large = options.large && rng.chance(4);
        let mut m = Maker { rng, allocations: Vec::new(), stores: Vec::new(), dram: 4096, sb: 64 };
        let size = |rng: &mut Rng| 8 * rng.range(8, 80) as u64;
        for k in 0..2 {
            let bytes = size(m.rng);
            m.dram(&format!("x{k}"), TensorKind::ExternalInput, bytes);
        }
        for k in 0..2 {
            let bytes = size(m.rng);
            m.dram(&format!("m{k}"), TensorKind::Internal, bytes);
        }
        for k in 0..2 {
            let bytes = size(m.rng);
            m.dram(&format!("y{k}"), TensorKind::ExternalOutput, bytes);
        }
        if large {
            m.dram("big", TensorKind::ExternalOutput, 70_000);
        }
        for k in 0..3 {
            let partitions = if m.rng.chance(10) { 128 } else { 1 << m.rng.range(1, 5) };
            let pitch = 8 * m.rng.range(2, 12) as u64;
            m.tile(&format!("t{k}"), Space::Sb, partitions, pitch);
        }
        if m.rng.chance(40) {
            m.tile("p0", Space::Psum, 8, 64);
        }
        if m.rng.chance(30) {
            m.alias();
        }
        let lists = if options.vector { m.lists() } else { Vec::new() };
        let Maker { allocations, stores, .. } = m;
        let function =
            Function { name: "sg0000".into(), allocations, blocks: Vec::new(), extra: Vec::new() };
        let module = Module {
            version: 2,
            arch: Some(arch),
            functions: vec![function],
            queues: Vec::new(),
            extra: Vec::new(),
        };
        let layout = Layout::new(&module);
        let mut memory = Vec::new();
        for p in layout.placed().iter().filter(|p| &*p.name != ALIAS) {
            let mut bytes = vec![0u8; p.bytes() as usize];
            for word in bytes.chunks_mut(8) {
                let bits = rng.bits().to_le_bytes();
                let n = word.len();
                word.copy_from_slice(&bits[..n]);
            }
            memory.push((p.name.clone(), bytes));
        }
        Storage { module, layout, stores, lists, memory }
    }

    /// Makes a list's content known.
    pub fn fill(&mut self, list: &Name, indices: &[u32]) {
        if let Some((_, bytes)) = self.memory.iter_mut().find(|(n, _)| n == list) {
            for (word, index) in bytes.chunks_mut(INDEX_BYTES as usize).zip(indices) {
                word.copy_from_slice(&index.to_le_bytes()[..word.len()]);
            }
        }
    }
}

impl Maker<'_> {
    /// A second name for the bytes of the first tile or the first internal tensor.
    fn alias(&mut self) {
        let of = if self.rng.chance(50) { "t0" } else { "m0" };
        let Some(a) = self.allocations.iter().find(|a| &*a.locations[0].name == of) else { return };
        let mut l = a.locations[0].clone();
        l.name = ALIAS.into();
        if let [_, pitch] = l.dims.as_mut_slice() {
            *pitch = (*pitch / 2).next_multiple_of(8);
        }
        let tile = l.space == Space::Sb;
        let last = l.dims.last().copied().unwrap_or(0);
        let partitions = if tile { l.dims[0] } else { 1 };
        let (name, space) = (l.name.clone(), l.space);
        self.stores.push(Store { name, space, pitch: last, partitions, writable: true });
        self.add(TensorKind::Internal, l);
    }

    fn lists(&mut self) -> Vec<List> {
        let mut lists = Vec::new();
        for k in 0..3 {
            let name = format!("i{k}");
            let entries = self.rng.range(3, 10) as u64;
            let space = if self.rng.chance(40) { Space::Sb } else { Space::Dram };
            if space == Space::Sb {
                self.tile(&name, space, entries, INDEX_BYTES);
            } else {
                self.dram(&name, TensorKind::ExternalInput, entries * INDEX_BYTES);
            }
            // Lists are only read by the transfer that takes them.
            self.stores.pop();
            lists.push(List { name: name.into(), space, entries });
        }
        lists
    }
}
