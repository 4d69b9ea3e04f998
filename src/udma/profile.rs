//! Driver profiles: the limits and policies that moved between releases, as one table
//! (`docs/driver.md`, "Profiles").

use super::arch::{Generation, UnknownName};
use super::order::Barrier;
use std::fmt;
use std::str::FromStr;

/// Where a wait is made from; decides the first delay (`docs/driver.md`, "Waiting").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WaitKind {
    /// A synchronous copy.
    #[default]
    Sync,
    /// An asynchronous or zero copy.
    Async,
    /// The scrub path's synchronous wait inside the device.
    IntraDevice,
}

/// What the device is, for wait times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Platform {
    /// Real hardware.
    #[default]
    Silicon,
    /// The qemu model: following waits are 10 000 times longer.
    Qemu,
    /// An emulator: 100 000 times longer.
    Emulator,
}

/// How long a wait for a marker may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WaitBudget {
    /// The callback's first delay, microseconds.
    pub first_us: u64,
    /// The callback's following wait.
    pub following: u64,
    /// The delay really made before the first read, microseconds.
    pub delay_us: u64,
    /// Reads of the marker word at most, one microsecond apart.
    pub max_reads: u64,
}

/// How a zero copy is cut into pairs and batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ZeroCopyPolicy {
    /// 2.24: two pages merge at most, 64 pages a batch, DMB on the last data pair of each batch.
    TwoPages,
    /// 2.25: pages merge as in 2.24 or better, barrier on the last batch only (see `merge_full`).
    LastBatch {
        /// Contiguous pages merge up to 64 KiB (2.26); at most two otherwise.
        merge_full: bool,
    },
}

/// A named set of limits and policies.
#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    /// The name that commands take, such as `dkms-2.26`.
    pub name: &'static str,
    /// The version prefix by which recordings name it, such as `2.26`.
    pub version: &'static str,
    /// Kernel driver (true) or user-space library.
    pub kernel: bool,
    /// Accepts barrier code 3.
    pub knows_sow: bool,
    /// An empty RX doorbell or a ring that cannot be allocated from is an error return
    /// (true) rather than a kernel assertion.
    pub asserts_return: bool,
    /// Following waits of v3 and v4 use the factor 400 (2.25 and later) instead of 100.
    pub long_waits: bool,
    /// What a wait that runs out returns.
    pub timeout_ret: i64,
    /// Zero copy behaviour.
    pub zero_copy: ZeroCopyPolicy,
    /// What the profile is, in words.
    pub about: &'static str,
    /// Set where the profile rests on a source that nobody has run.
    pub unverified: bool,
}

/// Largest number of bytes that one descriptor moves.
pub const MAX_DESC_BYTES: u64 = 65_536;
/// Data pairs after which the chunked copy closes a batch: the threshold 2031 is tested
/// before a chunk is staged, so 2032 are.
pub const MAX_BATCH_DATA: u64 = SYNC_THRESHOLD + 1;
/// 4096/2 - 16 - 1, from the nominal descriptor count of the host-copy ring.
pub const SYNC_THRESHOLD: u64 = H2T_DESC_COUNT / 2 - super::ring::GUARD_GAP as u64 - 1;
/// Descriptors that the host-copy ring asks for (it gets 8192).
pub const H2T_DESC_COUNT: u64 = 4096;
/// The completion marker's value.
pub const MARKER: u32 = 0xabcd_ef01;
/// Bytes of the buffer from which memset copies first.
pub const MEMSET_BUF_BYTES: u64 = 65_536;
/// Queues of one engine.
pub const QUEUES_PER_ENGINE: u32 = 16;
/// Engine slots of one device.
pub const ENGINE_SLOTS: u32 = 132;
/// Page size of zero copies.
pub const PAGE_BYTES: u64 = 4096;
/// Largest packet, bytes.
pub const MAX_PACKET_BYTES: u64 = 0xf_ffff;

/// Elements that one compute descriptor works on at most.
pub fn cce_max_elements(arch: Generation) -> u64 {
    match arch {
        Generation::V2 => 1024,
        Generation::V3 | Generation::V4 => 2048,
    }
}

/// Descriptors that a kernel profile may be told to allow in one packet, smallest and largest;
/// others fail the engine's bring-up with -1.
pub const PACKET_LIMIT_RANGE: (u64, u64) = (8, 128);
/// Bytes of a completion descriptor as the engine is configured; the structure itself has
/// [`CDESC_STRUCT_BYTES`].
pub const CDESC_BYTES: u64 = 16;
/// Bytes of the completion descriptor's structure (bit 27 LAST, bit 26 FIRST).
pub const CDESC_STRUCT_BYTES: u64 = 4;
/// Descriptors of the ring that queues of a dead process are pointed at.
pub const DUMMY_RING_DESCS: u64 = 64;

/// Every profile, oldest first; the default is [`Profile::default_profile`].
pub static PROFILES: &[Profile] = &[
    Profile {
        name: "dkms-2.24",
        version: "2.24",
        kernel: true,
        knows_sow: false,
        asserts_return: false,
        long_waits: false,
        timeout_ret: -1,
        zero_copy: ZeroCopyPolicy::TwoPages,
        about: "kernel driver 2.24: no strong-ordered write, kernel assertions on bad counts",
        unverified: false,
    },
    Profile {
        name: "dkms-2.25",
        version: "2.25",
        kernel: true,
        knows_sow: true,
        asserts_return: false,
        long_waits: true,
        timeout_ret: -1,
        zero_copy: ZeroCopyPolicy::LastBatch { merge_full: false },
        about: "kernel driver 2.25: strong-ordered write, v4, longer waits",
        unverified: false,
    },
    Profile {
        name: "dkms-2.26",
        version: "2.26",
        kernel: true,
        knows_sow: true,
        asserts_return: true,
        long_waits: true,
        timeout_ret: -1,
        zero_copy: ZeroCopyPolicy::LastBatch { merge_full: true },
        about: "kernel driver 2.26: as 2.25, most assertions became error returns",
        unverified: false,
    },
    Profile {
        name: "dkms-2.27",
        version: "2.27",
        kernel: true,
        knows_sow: true,
        asserts_return: true,
        long_waits: true,
        timeout_ret: -110,
        zero_copy: ZeroCopyPolicy::LastBatch { merge_full: true },
        about: "later kernel driver: a timeout returns -ETIMEDOUT (read in source, never run)",
        unverified: true,
    },
    Profile {
        name: "nrt-2.31",
        version: "nrt-2.31",
        kernel: false,
        knows_sow: true,
        asserts_return: true,
        long_waits: true,
        timeout_ret: -1,
        zero_copy: ZeroCopyPolicy::LastBatch { merge_full: true },
        about: "user-space runtime 2.31: refuses size 0, and strong-ordered write on v2",
        unverified: false,
    },
];

impl Profile {
    /// The profile used when nothing names another: `dkms-2.26`.
    pub fn default_profile() -> &'static Profile {
        &PROFILES[2]
    }

    /// Finds a profile by its name, or by a driver version such as `2.24.7.0`.
    ///
    /// # Errors
    /// [`UnknownName`] with the known names.
    pub fn find(name: &str) -> Result<&'static Profile, UnknownName> {
        PROFILES
            .iter()
            .find(|p| p.name == name || p.version == name)
            .or_else(|| {
                PROFILES.iter().find(|p| {
                    name.strip_prefix(p.version).is_some_and(|rest| rest.starts_with('.'))
                })
            })
            .ok_or_else(|| UnknownName {
                given: name.to_owned(),
                what: "profile",
                known: PROFILES.iter().map(|p| p.name).collect::<Vec<_>>().join(", "),
            })
    }

    /// Whether this profile accepts `barrier` on `arch`. Kernel releases from 2.25 take code
    /// 3 on every generation; user space refuses it on v2.
    pub fn accepts(&self, barrier: Barrier, arch: Generation) -> bool {
        barrier != Barrier::StrongOrderWrite
            || (self.knows_sow && (self.kernel || arch != Generation::V2))
    }

    /// The barrier that the chunked copy puts on a data pair: a write barrier on the last
    /// one of every batch, on all three generations.
    pub fn chunk_barrier(&self, last_of_batch: bool) -> Barrier {
        if last_of_batch { Barrier::WriteBarrier } else { Barrier::None }
    }

    /// Free slots as this profile's driver reports them for a ring of `size` with these
    /// cursors. A size that is no power of two cannot be allocated from: an assertion
    /// (`None`) up to 2.25, nothing free after it.
    pub fn reported_free(&self, size: u32, next_desc_idx: u32, next_cdesc_idx: u32) -> Option<u32> {
        if size.is_power_of_two() {
            Some(super::ring::free_slots(size, next_desc_idx, next_cdesc_idx))
        } else {
            self.asserts_return.then_some(0)
        }
    }

    /// Descriptors that one packet may have when authored in user space, (Tx, Rx).
    pub fn authored_packet_limits(arch: Generation) -> (u64, u64) {
        match arch {
            Generation::V2 => (128, 128),
            Generation::V3 | Generation::V4 => (65, 60),
        }
    }

    /// Descriptors that the engine lets one packet have, (Tx, Rx), as this profile programs
    /// it: kernel profiles 65, user space its own limits.
    pub fn enforced_packet_limits(&self, arch: Generation) -> (u64, u64) {
        if self.kernel { (65, 65) } else { Profile::authored_packet_limits(arch) }
    }

    /// The wait budget for `count` descriptors (the marker included), in the driver's own
    /// 64-bit arithmetic; it underflows at a count of 1 as the driver's does.
    pub fn wait_budget(
        &self,
        arch: Generation,
        platform: Platform,
        count: u64,
        kind: WaitKind,
    ) -> WaitBudget {
        let (per_desc, head_start) = match arch {
            Generation::V2 => (4u64, 3u64),
            Generation::V3 | Generation::V4 => (2, 1),
        };
        let factor = match arch {
            Generation::V2 => 100u64,
            Generation::V3 | Generation::V4 if !self.long_waits => 100,
            Generation::V3 | Generation::V4 => 400,
        };
        let est = per_desc.wrapping_mul(count.wrapping_sub(1));
        let first = if kind == WaitKind::Async { 1 } else { est.wrapping_sub(head_start) };
        let scale = match platform {
            Platform::Silicon => 1u64,
            Platform::Qemu => 10_000,
            Platform::Emulator => 100_000,
        };
        let following =
            factor.wrapping_mul(est).wrapping_sub(first).wrapping_mul(100).wrapping_mul(scale);
        let (delay, following_used) = match kind {
            WaitKind::IntraDevice => (10, following / 200),
            WaitKind::Sync | WaitKind::Async => (first, following),
        };
        WaitBudget {
            first_us: first,
            following,
            delay_us: delay,
            max_reads: following_used.wrapping_add(2),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A profile by reference, parsed from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfileRef(pub &'static Profile);

impl FromStr for ProfileRef {
    type Err = UnknownName;
    fn from_str(s: &str) -> Result<Self, UnknownName> {
        Profile::find(s).map(ProfileRef)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_versions_find_their_profile() {
        for p in PROFILES {
            assert_eq!(Profile::find(p.name).map(|q| q.name), Ok(p.name));
        }
        assert_eq!(Profile::find("2.24.7.0").map(|p| p.name), Ok("dkms-2.24"));
        assert!(Profile::find("2.2").is_err());
        assert_eq!(Profile::default_profile().name, "dkms-2.26");
    }

    #[test]
    fn the_largest_batch_is_2033_with_its_marker() {
        assert_eq!(SYNC_THRESHOLD, 2031);
        assert_eq!(MAX_BATCH_DATA + 1, 2033);
    }

    #[test]
    fn a_ring_of_48_has_nothing_free_or_fails_an_assertion() {
        let free = |name: &str| Profile::find(name).ok().and_then(|p| p.reported_free(48, 0, 0));
        assert_eq!((free("dkms-2.25"), free("dkms-2.26")), (None, Some(0)));
        assert_eq!(Profile::default_profile().reported_free(64, 0, 0), Some(48));
    }

    #[test]
    fn wait_budget_of_one_copy() {
        let p = Profile::default_profile();
        let b = p.wait_budget(Generation::V2, Platform::Silicon, 2, WaitKind::Sync);
        assert_eq!((b.first_us, b.following, b.max_reads), (1, 39_900, 39_902));
        let b = p.wait_budget(Generation::V3, Platform::Silicon, 2, WaitKind::Sync);
        assert_eq!((b.first_us, b.following, b.max_reads), (1, 79_900, 79_902));
        let b = p.wait_budget(Generation::V2, Platform::Silicon, 2, WaitKind::IntraDevice);
        assert_eq!((b.delay_us, b.max_reads), (10, 201));
    }
}
