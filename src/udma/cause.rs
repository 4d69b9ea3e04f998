//! Fault causes: the error bits of an engine's secondary interrupt groups, by name
//! (`docs/registers.md`, "Fault causes").
//!
//! Group A belongs to M2S (Tx), group B to S2M (Rx); each is summarised by one bit of primary
//! group D. An armed cause aborts the engine, a masked one only sets its bit.

use super::arch::Generation;
use super::desc::Dir;
use super::reg::FieldRow;

/// One named cause.
#[derive(Debug, PartialEq, Eq)]
pub struct Cause {
    /// Direction whose group has it.
    pub dir: Dir,
    /// Its bit there.
    pub bit: u8,
    /// Its name.
    pub name: &'static str,
    /// One line for a reader.
    pub meaning: &'static str,
}

const fn tx(bit: u8, name: &'static str, meaning: &'static str) -> Cause {
    Cause { dir: Dir::Tx, bit, name, meaning }
}

const fn rx(bit: u8, name: &'static str, meaning: &'static str) -> Cause {
    Cause { dir: Dir::Rx, bit, name, meaning }
}

const RING_ID: &str = "PREFETCH_RING_ID";

/// Every named cause, highest bit first, M2S before S2M.
pub static CAUSES: &[Cause] = &[
    tx(17, RING_ID, "a descriptor's phase is not the one expected"),
    tx(16, "PREFETCH_LAST", "LAST is missing or where it should not be"),
    tx(15, "PREFETCH_FIRST", "FIRST is missing or where it should not be"),
    tx(14, "PREFETCH_MAX_DESC", "a packet has more descriptors than allowed"),
    tx(13, "PKT_LEN", "a packet is longer than allowed"),
    tx(12, "PREFETCH_AXI_TO", "a descriptor read timed out on the bus"),
    tx(11, "PREFETCH_AXI_RESP", "a descriptor read was answered with an error"),
    tx(9, "DATA_AXI_TO", "a source read timed out on the bus"),
    tx(8, "DATA_AXI_RESP", "a source read was answered with an error"),
    rx(24, "PKT_LEN", "the data and the buffers of a packet differ in length"),
    rx(23, "STRM_LAST", "LAST disagrees with the end of the packet"),
    rx(22, "STRM_FIRST", "FIRST disagrees with the start of the packet"),
    rx(11, RING_ID, "a descriptor's phase is not the one expected"),
    rx(10, "PREFETCH_AXI_TO", "a descriptor read timed out on the bus"),
    rx(9, "PREFETCH_AXI_RESP", "a descriptor read was answered with an error"),
    rx(2, "DATA_AXI_TO", "a destination write timed out on the bus"),
    rx(1, "DATA_AXI_RESP", "a destination write was answered with an error"),
];

/// Bits known to be bus errors of a group without a name of their own here.
static UNNAMED: &[(Dir, u8, &str)] = &[
    (Dir::Tx, 10, "one more bus error of the descriptor prefetch"),
    (Dir::Tx, 7, "one more bus error of the data read"),
    (Dir::Rx, 8, "one more bus error of the descriptor prefetch"),
    (Dir::Rx, 0, "one more bus error of the data write"),
];

impl Cause {
    /// The cause as a mask.
    pub const fn mask(&self) -> u32 {
        1 << self.bit
    }

    /// Whether it is about a wrong phase.
    pub fn is_ring_id(&self) -> bool {
        self.name == RING_ID
    }
}

/// The cause of a bit.
pub fn by_bit(dir: Dir, bit: u8) -> Option<&'static Cause> {
    CAUSES.iter().find(|c| c.dir == dir && c.bit == bit)
}

/// The cause of a name.
pub fn by_name(dir: Dir, name: &str) -> Option<&'static Cause> {
    CAUSES.iter().find(|c| c.dir == dir && c.name == name)
}

/// The ring-id cause of a direction, as a mask: bit 17 on M2S, bit 11 on S2M.
pub const fn ring_id_mask(dir: Dir) -> u32 {
    match dir {
        Dir::Tx => 1 << 17,
        Dir::Rx => 1 << 11,
    }
}

/// The bit of primary group D that summarises a direction's causes.
pub const fn summary_bit(dir: Dir) -> u8 {
    match dir {
        Dir::Tx => 8,
        Dir::Rx => 9,
    }
}

/// Whether a cause aborts an engine as bring-up leaves it: all do, except that the phase is
/// not enforced on data engines (0..=127) of v3 and v4.
pub fn armed(arch: Generation, engine: u32, cause: &Cause) -> bool {
    !cause.is_ring_id() || arch.ring_id_armed(engine)
}

/// The set bits of a cause register, highest first. Bits without a name are called `-`.
pub fn describe(dir: Dir, value: u32) -> Vec<FieldRow> {
    (0..32u8)
        .rev()
        .filter(|bit| value & 1 << bit != 0)
        .map(|bit| {
            let unnamed = UNNAMED.iter().find(|u| (u.0, u.1) == (dir, bit));
            let (name, words) = match by_bit(dir, bit) {
                Some(c) => (c.name, c.meaning),
                None => ("-", unnamed.map_or("no known cause", |u| u.2)),
            };
            FieldRow { name, hi: bit, lo: bit, value: 1, words: words.to_owned() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_names_are_unique_per_direction() {
        for c in CAUSES {
            assert_eq!(by_bit(c.dir, c.bit), Some(c));
            assert_eq!(by_name(c.dir, c.name), Some(c));
            assert!(!UNNAMED.iter().any(|u| (u.0, u.1) == (c.dir, c.bit)));
        }
        for dir in Dir::BOTH {
            assert_eq!(by_name(dir, RING_ID).map(Cause::mask), Some(ring_id_mask(dir)));
        }
    }

    #[test]
    fn only_ring_id_is_masked_and_only_on_late_data_engines() {
        for c in CAUSES {
            assert!(armed(Generation::V2, 0, c));
            assert!(armed(Generation::V3, 128, c));
            assert_eq!(armed(Generation::V4, 127, c), !c.is_ring_id());
        }
    }

    #[test]
    fn a_register_reads_as_its_set_bits() {
        let names: Vec<_> =
            describe(Dir::Tx, 1 << 17 | 1 << 8 | 1).iter().map(|r| r.name).collect();
        assert_eq!(names, ["PREFETCH_RING_ID", "DATA_AXI_RESP", "-"]);
        assert!(describe(Dir::Rx, 0).is_empty());
    }
}
