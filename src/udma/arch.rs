//! Hardware generations. They differ in policy, never in a bit position (`docs/wire.md`).

use std::fmt;
use std::str::FromStr;

/// A generation of the engine, by the name users know the device under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// SUNDA: Trn1 and Inf2.
    V2,
    /// CAYMAN: Trn2.
    V3,
    /// MARIANA: Trn3. The driver gives it the callbacks of v3.
    V4,
}

impl Generation {
    /// All generations, oldest first.
    pub const ALL: [Generation; 3] = [Generation::V2, Generation::V3, Generation::V4];

    /// The short name that commands take: `v2`, `v3`, `v4`.
    pub fn name(self) -> &'static str {
        match self {
            Generation::V2 => "v2",
            Generation::V3 => "v3",
            Generation::V4 => "v4",
        }
    }

    /// The vendor's code name.
    pub fn code_name(self) -> &'static str {
        match self {
            Generation::V2 => "SUNDA",
            Generation::V3 => "CAYMAN",
            Generation::V4 => "MARIANA",
        }
    }

    /// What is OR-ed into a host physical address: bit 44 on v2, bit 46 after it.
    pub fn host_base(self) -> u64 {
        match self {
            Generation::V2 => 1 << 44,
            Generation::V3 | Generation::V4 => 1 << 46,
        }
    }

    /// Whether `addr` lies in the host window, by the driver's own test: v2 compares bits
    /// 48:44 with the base, later generations only ask for the base bit.
    #[inline]
    pub fn is_host(self, addr: u64) -> bool {
        let base = self.host_base();
        match self {
            Generation::V2 => addr & 0x1f00_0000_0000 == base,
            Generation::V3 | Generation::V4 => addr & base == base,
        }
    }

    /// The engine that host copies of core `core` use, and its queue.
    pub fn host_copy_queue(self, core: u32) -> (u32, u32) {
        match self {
            Generation::V2 => (32 + core, 0),
            Generation::V3 | Generation::V4 => (128 + core / 2, core & 1),
        }
    }

    /// Whether a wrong ring id aborts `engine` of this generation (true) or only sets its
    /// cause bit: the driver masks it on v3 and v4 engines 0..=127.
    pub fn ring_id_armed(self, engine: u32) -> bool {
        self == Generation::V2 || engine >= 128
    }

    /// Whether queue `queue` of `engine` is kept for the firmware (user requests leave it
    /// alone): queue 14 of the first engines of each group of sixteen.
    pub fn is_reserved_queue(self, engine: u32, queue: u32) -> bool {
        let in_group = engine % 16;
        queue == 14
            && match self {
                Generation::V2 => engine < 32 && in_group <= 10,
                Generation::V3 | Generation::V4 => {
                    engine < 128 && matches!(in_group, 0..=4 | 7 | 8)
                }
            }
    }

    /// Whether the driver re-initialises the host-copy queue and retries when a wait times
    /// out inside a reset window.
    pub fn retries_in_reset(self) -> bool {
        self == Generation::V2
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that stands for no generation or profile; carries what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a {what}; known: {known}")]
pub struct UnknownName {
    /// What was written.
    pub given: String,
    /// What it should have named.
    pub what: &'static str,
    /// The names that would do.
    pub known: String,
}

impl FromStr for Generation {
    type Err = UnknownName;
    fn from_str(s: &str) -> Result<Self, UnknownName> {
        let lower = s.to_ascii_lowercase();
        Generation::ALL
            .into_iter()
            .find(|g| lower == g.name() || lower == g.code_name().to_ascii_lowercase())
            .ok_or_else(|| UnknownName {
                given: s.to_owned(),
                what: "generation",
                known: "v2 (sunda), v3 (cayman), v4 (mariana)".to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for g in Generation::ALL {
            assert_eq!(g.name().parse(), Ok(g));
            assert_eq!(g.code_name().parse(), Ok(g));
        }
        assert!("v5".parse::<Generation>().is_err());
    }

    #[test]
    fn host_window_test_is_the_drivers() {
        assert!(Generation::V2.is_host(0x1000_4000_1000));
        assert!(!Generation::V2.is_host(0x1f00_4000_1000));
        assert!(Generation::V2.is_host(0x3000_0000_0000), "bits above 48:44 are not looked at");
        assert!(Generation::V3.is_host(0x4000_0000_0000));
        assert!(Generation::V3.is_host(0xc000_0000_0000));
        assert!(!Generation::V3.is_host(0x10_1000_0000));
    }

    #[test]
    fn ring_id_checks_are_masked_on_late_data_engines_only() {
        assert!(Generation::V2.ring_id_armed(0));
        assert!(!Generation::V3.ring_id_armed(127));
        assert!(Generation::V4.ring_id_armed(128));
    }
}
