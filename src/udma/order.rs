//! Ordering modes: the four barrier codes, the bit each sets, and who accepts it
//! (`docs/wire.md`, "Ordering").

use super::arch::UnknownName;
use std::fmt;
use std::str::FromStr;

/// A barrier as the staging call takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Barrier {
    /// Code 0: nothing.
    #[default]
    None,
    /// Code 1: data memory barrier, bit 30 of a Tx `len_ctrl`.
    Dmb,
    /// Code 2: write barrier, bit 26 of `meta_ctrl`.
    WriteBarrier,
    /// Code 3: strongly ordered write, bit 29 of an Rx `len_ctrl`. From driver 2.25 on.
    StrongOrderWrite,
}

impl Barrier {
    /// All modes, by code.
    pub const ALL: [Barrier; 4] =
        [Barrier::None, Barrier::Dmb, Barrier::WriteBarrier, Barrier::StrongOrderWrite];

    /// The code that the staging call takes.
    pub fn code(self) -> u32 {
        match self {
            Barrier::None => 0,
            Barrier::Dmb => 1,
            Barrier::WriteBarrier => 2,
            Barrier::StrongOrderWrite => 3,
        }
    }

    /// The mode of a code, or `None` for a code that no release knows.
    pub fn from_code(code: u32) -> Option<Barrier> {
        Barrier::ALL.into_iter().find(|b| b.code() == code)
    }

    /// The name that assembly, scripts and JSON use.
    pub fn name(self) -> &'static str {
        match self {
            Barrier::None => "none",
            Barrier::Dmb => "dmb",
            Barrier::WriteBarrier => "write_barrier",
            Barrier::StrongOrderWrite => "sow",
        }
    }
}

impl fmt::Display for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Barrier {
    type Err = UnknownName;
    fn from_str(s: &str) -> Result<Self, UnknownName> {
        Barrier::ALL.into_iter().find(|b| b.name() == s).ok_or_else(|| UnknownName {
            given: s.to_owned(),
            what: "barrier",
            known: Barrier::ALL.map(Barrier::name).join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_one_to_one() {
        for b in Barrier::ALL {
            assert_eq!(Barrier::from_code(b.code()), Some(b));
            assert_eq!(b.name().parse(), Ok(b));
        }
        assert_eq!(Barrier::from_code(4), None);
    }
}
