//! Virtual rings: descriptors authored in host memory, edited, and dumped into a physical ring
//! (`docs/author.md`, "Virtual rings").

mod dump;
mod edit;

pub use dump::{Batch, phased};

use super::{CONCAT, FIRST, LAST, Packet, Target, final_barrier};
use crate::limits::MAX_RING_DESCS;
use crate::udma::builder::{BuildError, PairRequest, build_pair};
use crate::udma::profile::MAX_DESC_BYTES;
use crate::udma::{Desc, Dir};

/// Descriptors of one page.
pub const PAGE_SLOTS: u64 = 1 << PAGE_BITS;
const PAGE_BITS: u32 = 16;
/// Rings of one set.
pub const MAX_SET_RINGS: usize = 16;
/// Bytes of an event or of a semaphore's update.
pub const SIGNAL_BYTES: u64 = 4;

/// Why a virtual ring does not take what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VringError {
    /// A half is full.
    #[error("{have} descriptors and {more} more are above the {MAX_RING_DESCS} of one half")]
    Full {
        /// Descriptors that it has.
        have: u64,
        /// Descriptors to be added.
        more: u64,
    },
    /// A copy of nothing.
    #[error("a copy of 0 bytes")]
    Empty,
    /// A pair cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A window does not begin and end where packets do.
    #[error("the window {from}..{to} does not begin and end with packets")]
    Window {
        /// First Tx descriptor.
        from: u64,
        /// The one after the last.
        to: u64,
    },
    /// There is no packet to put something on.
    #[error("the ring has no packet yet")]
    NoPacket,
    /// A symbolic address names no variable.
    #[error("variable {0} is not known")]
    Variable(u32),
    /// The half does not fit the size that it is to be padded to.
    #[error(
        "{count} descriptors, the completion pair included, do not fit the padded size {padded_size}"
    )]
    Padding {
        /// Descriptors that there are.
        count: u64,
        /// Size asked for.
        padded_size: u64,
    },
    /// A packet is larger than a batch may be.
    #[error("a packet of {packet} descriptors does not fit a batch of {batch}")]
    Batch {
        /// Descriptors of the packet in its larger direction.
        packet: u64,
        /// Descriptors of a batch.
        batch: u64,
    },
    /// A set has as many rings as it can.
    #[error("a set has at most {MAX_SET_RINGS} rings")]
    Set,
}

impl VringError {
    /// Its code in the table of diagnostics.
    pub fn code(self) -> &'static str {
        match self {
            VringError::Full { .. } | VringError::Set => "D065",
            VringError::Padding { .. } | VringError::Batch { .. } => "D066",
            VringError::Variable(_) => "D067",
            VringError::Empty
            | VringError::Build(_)
            | VringError::Window { .. }
            | VringError::NoPacket => "D068",
        }
    }

    /// As a diagnostic, without a place.
    pub fn diagnostic(self) -> crate::diag::Diagnostic {
        crate::diag::Diagnostic::new(self.code(), self.to_string())
    }
}

/// One direction of a virtual ring: pages of [`PAGE_SLOTS`] descriptors. The index of a
/// descriptor is its page shifted left by 16, or-ed with its slot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Half {
    pages: Vec<Vec<Desc>>,
    len: u64,
    bytes: u64,
}

impl Half {
    /// Descriptors.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that its data descriptors stand for.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Pages in use.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// A descriptor by its index.
    pub fn get(&self, index: u64) -> Option<Desc> {
        let page = self.pages.get((index >> PAGE_BITS) as usize)?;
        page.get((index & (PAGE_SLOTS - 1)) as usize).copied()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Desc> + '_ {
        self.pages.iter().flatten().copied()
    }

    fn get_mut(&mut self, index: u64) -> Option<&mut Desc> {
        let page = self.pages.get_mut((index >> PAGE_BITS) as usize)?;
        page.get_mut((index & (PAGE_SLOTS - 1)) as usize)
    }

    fn room(&self, more: u64) -> Result<(), VringError> {
        match self.len.checked_add(more) {
            Some(n) if n <= MAX_RING_DESCS => Ok(()),
            _ => Err(VringError::Full { have: self.len, more }),
        }
    }

    /// Appends where [`Half::room`] found room.
    fn push(&mut self, dir: Dir, d: Desc) {
        match self.pages.last_mut() {
            Some(page) if (page.len() as u64) < PAGE_SLOTS => page.push(d),
            _ => self.pages.push(vec![d]),
        }
        self.len += 1;
        if dir == Dir::Rx || !d.is_meta() {
            self.bytes += d.length();
        }
    }
}

/// A virtual ring. `clone` is a deep copy: nothing is shared with the original.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Vring {
    halves: [Half; 2],
    /// Where both directions end what was appended together, (Tx, Rx): packets may be joined
    /// here, and must end at one of these.
    ends: Vec<(u32, u32)>,
}

impl Vring {
    /// An empty one.
    pub fn new() -> Vring {
        Vring::default()
    }

    /// One direction.
    pub fn half(&self, dir: Dir) -> &Half {
        &self.halves[ix(dir)]
    }

    fn half_mut(&mut self, dir: Dir) -> &mut Half {
        &mut self.halves[ix(dir)]
    }

    /// How many packets Tx has, by the flags as they are.
    pub fn packets(&self) -> u64 {
        self.half(Dir::Tx).iter().filter(|d| !d.is_meta() && d.first()).count() as u64
    }

    fn room(&self, tx: u64, rx: u64) -> Result<(), VringError> {
        self.half(Dir::Tx).room(tx)?;
        self.half(Dir::Rx).room(rx)
    }

    /// Notes that both directions end here.
    fn end(&mut self) {
        let [tx, rx] = &self.halves;
        self.ends.push((tx.len as u32, rx.len as u32));
    }

    /// Appends a copy in chunks of at most 65536 bytes, each a packet of its own; the last
    /// carries the barrier of the target ([`final_barrier`]). Answers how many chunks.
    ///
    /// # Errors
    /// Nothing to copy, or no room; nothing is appended then.
    pub fn append_copy(
        &mut self,
        src: u64,
        dst: u64,
        bytes: u64,
        target: &Target,
    ) -> Result<u64, VringError> {
        if bytes == 0 {
            return Err(VringError::Empty);
        }
        let chunks = bytes.div_ceil(MAX_DESC_BYTES);
        self.room(chunks, chunks)?;
        let last = final_barrier(target.profile, target.arch).code();
        let pair = |n: u64| {
            let off = n * MAX_DESC_BYTES;
            let request = PairRequest {
                src: src.wrapping_add(off),
                dst: dst.wrapping_add(off),
                size: (bytes - off).min(MAX_DESC_BYTES),
                tx_ring_id: 0,
                rx_ring_id: 0,
                barrier_code: if n + 1 == chunks { last } else { 0 },
                set_dst_int: false,
            };
            build_pair(target.profile, target.arch, &request)
        };
        // The last one first: it alone may be refused.
        pair(chunks - 1)?;
        for n in 0..chunks {
            let (tx, rx) = pair(n)?;
            self.half_mut(Dir::Tx).push(Dir::Tx, tx);
            self.half_mut(Dir::Rx).push(Dir::Rx, rx);
            self.end();
        }
        Ok(chunks)
    }

    /// Appends an event: four bytes are copied from `value` onto a register.
    ///
    /// # Errors
    /// No room.
    pub fn append_event(
        &mut self,
        value: u64,
        register: u64,
        target: &Target,
    ) -> Result<(), VringError> {
        self.room(1, 1)?;
        let (tx, rx) = signal(value, register, target)?;
        self.half_mut(Dir::Tx).push(Dir::Tx, tx);
        self.half_mut(Dir::Rx).push(Dir::Rx, rx);
        self.end();
        Ok(())
    }

    /// Appends the update of a semaphore: as an event, onto the semaphore's register.
    ///
    /// # Errors
    /// No room.
    pub fn append_semaphore(
        &mut self,
        value: u64,
        register: u64,
        target: &Target,
    ) -> Result<(), VringError> {
        self.append_event(value, register, target)
    }

    /// Appends an authored packet as it is.
    ///
    /// # Errors
    /// No room; nothing is appended then.
    pub fn append_packet(&mut self, packet: &Packet) -> Result<(), VringError> {
        self.room(packet.tx.len() as u64, packet.rx.len() as u64)?;
        for (dir, list) in [(Dir::Tx, &packet.tx), (Dir::Rx, &packet.rx)] {
            for d in list {
                self.half_mut(dir).push(dir, *d);
            }
        }
        self.end();
        Ok(())
    }
}

/// A copy of four bytes without a barrier.
fn signal(src: u64, dst: u64, target: &Target) -> Result<(Desc, Desc), BuildError> {
    let request = PairRequest {
        src,
        dst,
        size: SIGNAL_BYTES,
        tx_ring_id: 0,
        rx_ring_id: 0,
        barrier_code: 0,
        set_dst_int: false,
    };
    build_pair(target.profile, target.arch, &request)
}

fn ix(dir: Dir) -> usize {
    usize::from(dir == Dir::Rx)
}

/// Up to sixteen virtual rings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VringSet {
    rings: Vec<Vring>,
}

impl VringSet {
    /// An empty set.
    pub fn new() -> VringSet {
        VringSet::default()
    }

    /// Adds a ring and answers its number.
    ///
    /// # Errors
    /// The set has sixteen.
    pub fn add(&mut self, ring: Vring) -> Result<usize, VringError> {
        if self.rings.len() >= MAX_SET_RINGS {
            return Err(VringError::Set);
        }
        self.rings.push(ring);
        Ok(self.rings.len() - 1)
    }

    /// The rings, by number.
    pub fn rings(&self) -> &[Vring] {
        &self.rings
    }

    /// A ring, to be changed.
    pub fn ring_mut(&mut self, n: usize) -> Option<&mut Vring> {
        self.rings.get_mut(n)
    }
}

#[cfg(test)]
mod tests;
