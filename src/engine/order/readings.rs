//! The readings of the two barriers whose reach is not public (PARAM; `docs/order.md`,
//! "Readings").

use std::fmt;
use std::str::FromStr;

/// What a DMB on a Tx descriptor reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum DmbReading {
    /// Writes of earlier packets before its own read, and everything up to its packet before
    /// reads and writes of later packets.
    #[default]
    Full,
    /// Only the first half.
    Entry,
}

/// What a strongly ordered write reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum SowReading {
    /// Every earlier write before it, and it before every later one.
    #[default]
    Through,
    /// Only the first half.
    SelfOnly,
}

/// One reading of both barriers. The default one makes the vendor's own placements safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Readings {
    /// Of DMB.
    pub dmb: DmbReading,
    /// Of SOW.
    pub sow: SowReading,
}

impl Readings {
    /// The least that both barriers can mean: whatever races under any reading races here.
    pub const STRICT: Readings = Readings { dmb: DmbReading::Entry, sow: SowReading::SelfOnly };

    /// All four, the default first and the strictest last.
    pub const ALL: [Readings; 4] = [
        Readings { dmb: DmbReading::Full, sow: SowReading::Through },
        Readings { dmb: DmbReading::Entry, sow: SowReading::Through },
        Readings { dmb: DmbReading::Full, sow: SowReading::SelfOnly },
        Readings::STRICT,
    ];

    fn bit(self) -> u8 {
        let dmb = u8::from(self.dmb == DmbReading::Entry);
        let sow = u8::from(self.sow == SowReading::SelfOnly);
        1 << (dmb + 2 * sow)
    }
}

impl fmt::Display for DmbReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == DmbReading::Full { "dmb=full" } else { "dmb=entry" })
    }
}

impl fmt::Display for SowReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == SowReading::Through { "sow=through" } else { "sow=self" })
    }
}

impl fmt::Display for Readings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.dmb, self.sow)
    }
}

impl FromStr for Readings {
    type Err = String;

    /// Words as `dmb=entry sow=self`, with blanks or commas between; what is not named has its
    /// default.
    fn from_str(text: &str) -> Result<Readings, String> {
        let mut r = Readings::default();
        for word in text.split([' ', ',', '\t']).filter(|w| !w.is_empty()) {
            match word {
                "dmb=full" => r.dmb = DmbReading::Full,
                "dmb=entry" => r.dmb = DmbReading::Entry,
                "sow=through" => r.sow = SowReading::Through,
                "sow=self" => r.sow = SowReading::SelfOnly,
                other => {
                    let known = "dmb=full, dmb=entry, sow=through, sow=self";
                    return Err(format!("`{other}` is no reading: {known}"));
                }
            }
        }
        Ok(r)
    }
}

/// A set of readings: those under which a finding holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ReadingSet(u8);

impl ReadingSet {
    /// All four.
    pub const ALL: ReadingSet = ReadingSet(0b1111);

    /// Whether one is in it.
    pub fn contains(self, r: Readings) -> bool {
        self.0 & r.bit() != 0
    }

    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those of both.
    #[must_use]
    pub fn union(self, other: ReadingSet) -> ReadingSet {
        ReadingSet(self.0 | other.0)
    }

    /// With every reading that is at least as strict as a member: what races under one reading
    /// races under a stricter one.
    #[must_use]
    pub fn closed(self) -> ReadingSet {
        let stricter = |r: Readings| self.iter().any(|m| r.dmb >= m.dmb && r.sow >= m.sow);
        ReadingSet::ALL.split(stricter).0
    }

    /// The members that answer yes, and the others.
    pub fn split(self, yes: impl Fn(Readings) -> bool) -> (ReadingSet, ReadingSet) {
        let with: u8 = self.iter().filter(|r| yes(*r)).map(Readings::bit).sum();
        (ReadingSet(with), ReadingSet(self.0 & !with))
    }

    /// Its members, the most generous first.
    pub fn iter(self) -> impl Iterator<Item = Readings> {
        Readings::ALL.into_iter().filter(move |r| self.contains(*r))
    }

    /// When a finding holds, in words.
    pub fn words(self) -> &'static str {
        // A stricter reading orders less, so a set always holds the strictest member of all.
        match self.0 {
            0b1111 => "under every reading",
            0b1110 => "only under dmb=entry or sow=self",
            0b1010 => "only under dmb=entry",
            0b1100 => "only under sow=self",
            0b1000 => "only under dmb=entry with sow=self",
            _ => "under some readings",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_written_and_read_back() {
        for r in Readings::ALL {
            assert_eq!(r.to_string().parse(), Ok(r));
        }
        assert_eq!("".parse(), Ok(Readings::default()));
        assert!("dmb=half".parse::<Readings>().is_err());
    }

    #[test]
    fn a_set_is_split_by_what_a_barrier_means() {
        let (full, entry) = ReadingSet::ALL.split(|r| r.dmb == DmbReading::Full);
        assert_eq!(entry.words(), "only under dmb=entry");
        assert_eq!(full.union(entry), ReadingSet::ALL);
        assert!(entry.contains(Readings::STRICT) && !entry.contains(Readings::default()));
        assert_eq!((full.closed(), entry.closed()), (ReadingSet::ALL, entry));
        let both = entry.split(|r| r.sow == SowReading::Through).1;
        assert_eq!(both.words(), "only under dmb=entry with sow=self");
    }
}
