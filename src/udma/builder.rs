//! Building one pair, and what the public staging call answers (`docs/driver.md`,
//! "Building a pair").

use super::arch::Generation;
use super::desc::Desc;
use super::order::Barrier;
use super::profile::{MAX_DESC_BYTES, Profile};

/// Error numbers of the driver interface, as the calls return them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Errno(pub i64);

impl Errno {
    /// The driver's own generic failure (not EPERM).
    pub const FAIL: Errno = Errno(-1);
    /// -ENOMEM: no free slot.
    pub const NOMEM: Errno = Errno(-12);
    /// -EINVAL.
    pub const INVAL: Errno = Errno(-22);
    /// -EFBIG.
    pub const FBIG: Errno = Errno(-27);
    /// -ETIMEDOUT.
    pub const TIMEDOUT: Errno = Errno(-110);

    /// `EINVAL`, `ENOMEM`, .. or the bare number.
    pub fn name(self) -> String {
        match self {
            Errno::NOMEM => "ENOMEM".to_owned(),
            Errno::INVAL => "EINVAL".to_owned(),
            Errno::FBIG => "EFBIG".to_owned(),
            Errno::TIMEDOUT => "ETIMEDOUT".to_owned(),
            Errno(n) => n.to_string(),
        }
    }
}

/// What a pair is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairRequest {
    /// Source address, as it goes on the wire.
    pub src: u64,
    /// Destination address.
    pub dst: u64,
    /// Bytes, 0..=65536 (0 moves 64 KiB).
    pub size: u64,
    /// Phase stamped on the Tx descriptor; not masked, as the driver's builder does not.
    pub tx_ring_id: u32,
    /// Phase stamped on the Rx descriptor.
    pub rx_ring_id: u32,
    /// Barrier code as passed, valid or not.
    pub barrier_code: u32,
    /// Interrupt on the destination's completion.
    pub set_dst_int: bool,
}

/// Why a pair was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// No such barrier in this profile, or not on this generation.
    #[error("barrier code {code} is refused by {profile}{}", arch.map(|a| format!(" on {a}")).unwrap_or_default())]
    Barrier {
        /// The code passed.
        code: u32,
        /// The profile that refuses it.
        profile: &'static str,
        /// The generation, where the refusal depends on it.
        arch: Option<Generation>,
        /// What the call returns.
        errno: Errno,
    },
    /// Above 65536 bytes, or 0 where the profile refuses nothing.
    #[error("size {0} is outside what one descriptor moves (at most 65536 bytes)")]
    Size(u64),
}

impl BuildError {
    /// What the call returns.
    pub fn errno(self) -> Errno {
        match self {
            BuildError::Barrier { errno, .. } => errno,
            BuildError::Size(_) => Errno::FAIL,
        }
    }
}

/// `len_ctrl` flags of every Tx that the kernel builds: FIRST and LAST.
const TX_FLAGS: u32 = 1 << 26 | 1 << 27;
/// `meta_ctrl` of a plain copy.
pub const COPY_META_CTRL: u32 = 0x0108_0003;

fn check_barrier(profile: &Profile, arch: Generation, code: u32) -> Result<Barrier, BuildError> {
    match Barrier::from_code(code) {
        Some(b) if profile.accepts(b, arch) => Ok(b),
        known => Err(BuildError::Barrier {
            code,
            profile: profile.name,
            arch: known.filter(|_| !profile.kernel).map(|_| arch),
            errno: if profile.kernel { Errno::INVAL } else { Errno::FAIL },
        }),
    }
}

fn check_size(profile: &Profile, size: u64) -> Result<(), BuildError> {
    if size > MAX_DESC_BYTES || (size == 0 && !profile.kernel) {
        return Err(BuildError::Size(size));
    }
    Ok(())
}

/// Builds the pair `(tx, rx)`. Looks at the barrier first, then at the size.
///
/// # Errors
/// [`BuildError`] for a barrier that the profile does not take or a size out of range.
pub fn build_pair(
    profile: &Profile,
    arch: Generation,
    req: &PairRequest,
) -> Result<(Desc, Desc), BuildError> {
    let barrier = check_barrier(profile, arch, req.barrier_code)?;
    check_size(profile, req.size)?;
    let length = (req.size & 0xffff) as u32;
    let mut tx = Desc {
        len_ctrl: length | req.tx_ring_id << 24 | TX_FLAGS,
        word1: COPY_META_CTRL,
        ptr: req.src,
    };
    let mut rx = Desc { len_ctrl: length | req.rx_ring_id << 24, word1: 0, ptr: req.dst };
    match barrier {
        Barrier::None => {}
        Barrier::Dmb => tx.len_ctrl |= 1 << 30,
        Barrier::WriteBarrier => tx.word1 |= 1 << 26,
        Barrier::StrongOrderWrite => rx.len_ctrl |= 1 << 29,
    }
    if req.set_dst_int {
        rx.len_ctrl |= 1 << 28;
    }
    Ok((tx, rx))
}

/// What the public staging call answers for a pair on a queue with room: the size is looked
/// at before the barrier, and a bad barrier is only seen after a slot was taken on both rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staged {
    /// The pair, or why not.
    pub result: Result<(Desc, Desc), BuildError>,
    /// Slots taken on each ring.
    pub slots: u32,
}

/// Stages one pair (queue id and free slots assumed good). Order of checks: size, then the
/// builder's barrier check with the slots already taken. User space checks everything first.
pub fn stage_pair(profile: &Profile, arch: Generation, req: &PairRequest) -> Staged {
    if let Err(e) = check_size(profile, req.size) {
        return Staged { result: Err(e), slots: 0 };
    }
    let result = build_pair(profile, arch, req);
    let slots = u32::from(result.is_ok() || profile.kernel);
    Staged { result, slots }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udma::profile::PROFILES;
    use proptest::prelude::*;

    fn request() -> impl Strategy<Value = PairRequest> {
        (any::<u64>(), any::<u64>(), 0u64..=70_000, 0u32..4, 0u32..4, 0u32..6, any::<bool>())
            .prop_map(|(src, dst, size, tx_ring_id, rx_ring_id, barrier_code, set_dst_int)| {
                PairRequest { src, dst, size, tx_ring_id, rx_ring_id, barrier_code, set_dst_int }
            })
    }

    proptest! {
        /// Kernel and user-space profiles encode the same bits wherever both accept, under
        /// every generation.
        #[test]
        fn all_profiles_and_generations_encode_the_same_bits(req in request()) {
            let built: Vec<_> = PROFILES
                .iter()
                .flat_map(|p| Generation::ALL.map(|g| build_pair(p, g, &req)))
                .filter_map(Result::ok)
                .collect();
            prop_assert!(built.windows(2).all(|w| w[0] == w[1]));
            let ok = req.size <= 65_536 && req.barrier_code < 4;
            prop_assert_eq!(built.is_empty(), !ok);
        }
    }

    fn plain(size: u64, barrier_code: u32) -> PairRequest {
        PairRequest {
            src: 0x1000,
            dst: 0x2000,
            size,
            tx_ring_id: 1,
            rx_ring_id: 1,
            barrier_code,
            set_dst_int: false,
        }
    }

    #[test]
    fn user_space_refuses_size_zero_and_strong_order_on_v2() {
        let nrt = Profile::find("nrt-2.31").unwrap_or(Profile::default_profile());
        assert!(build_pair(nrt, Generation::V3, &plain(0, 0)).is_err());
        assert_eq!(
            build_pair(nrt, Generation::V2, &plain(4, 3)).map_err(BuildError::errno),
            Err(Errno::FAIL)
        );
        assert!(build_pair(nrt, Generation::V3, &plain(4, 3)).is_ok());
    }

    #[test]
    fn the_staging_call_looks_at_the_size_first_and_the_builder_at_the_barrier() {
        let p = Profile::default_profile();
        let both_bad = plain(65_537, 9);
        assert_eq!(
            build_pair(p, Generation::V2, &both_bad).map_err(BuildError::errno),
            Err(Errno::INVAL)
        );
        let staged = stage_pair(p, Generation::V2, &both_bad);
        assert_eq!((staged.result.map_err(BuildError::errno), staged.slots), (Err(Errno::FAIL), 0));
        let staged = stage_pair(p, Generation::V2, &plain(64, 9));
        assert_eq!(
            (staged.result.map_err(BuildError::errno), staged.slots),
            (Err(Errno::INVAL), 1)
        );
    }
}
