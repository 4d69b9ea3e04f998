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
    /// How it arises. MODEL: what silicon looks at is not public.
    pub arises: &'static str,
    /// What to do about it.
    pub fix: &'static str,
}

type Text = &'static str;

const fn tx(bit: u8, name: Text, meaning: Text, arises: Text, fix: Text) -> Cause {
    Cause { dir: Dir::Tx, bit, name, meaning, arises, fix }
}

const fn rx(bit: u8, name: Text, meaning: Text, arises: Text, fix: Text) -> Cause {
    Cause { dir: Dir::Rx, bit, name, meaning, arises, fix }
}

const RING_ID: &str = "PREFETCH_RING_ID";

/// Found by no rule of the model; hardware may.
const TIMEOUT: &str =
    "memory did not answer in time. The model never finds it: its memory always answers.";
const TIMEOUT_FIX: &str = "Look at the memory behind the address: powered, mapped, not hung.";

/// Every named cause, highest bit first, M2S before S2M.
pub static CAUSES: &[Cause] = &[
    tx(
        17,
        RING_ID,
        "a descriptor's phase is not the one expected",
        "a Tx slot is fetched that carries another ring id than its lap: a doorbell beyond what was staged, a slot written once more or not at all on this lap, a ring that begins elsewhere.",
        "Stage with the phase of the lap (it advances when slot 0 is taken again), and ring only what was staged.",
    ),
    tx(
        16,
        "PREFETCH_LAST",
        "LAST is missing or where it should not be",
        "a Tx data descriptor has neither LAST nor CONCAT, or both.",
        "Set CONCAT on every data descriptor of a packet but its last, LAST on the last only.",
    ),
    tx(
        15,
        "PREFETCH_FIRST",
        "FIRST is missing or where it should not be",
        "the first Tx data descriptor of a packet has no FIRST, or a later one has it.",
        "Set FIRST on the first data descriptor of each packet only.",
    ),
    tx(
        14,
        "PREFETCH_MAX_DESC",
        "a packet has more descriptors than allowed",
        "a packet has more Tx descriptors, META included, than the driver programmed.",
        "End the packet earlier: LAST in place of CONCAT; the profile says how many there may be.",
    ),
    tx(
        13,
        "PKT_LEN",
        "a packet is longer than allowed",
        "the Tx descriptors of a packet have more than 0xfffff bytes together.",
        "Cut the transfer into more packets.",
    ),
    tx(12, "PREFETCH_AXI_TO", "a descriptor read timed out on the bus", TIMEOUT, TIMEOUT_FIX),
    tx(
        11,
        "PREFETCH_AXI_RESP",
        "a descriptor read was answered with an error",
        "the memory of a Tx slot is in no region: a ring base or length that the driver did not allocate.",
        "Look at drbp_low, drbp_high and drl of the queue.",
    ),
    tx(9, "DATA_AXI_TO", "a source read timed out on the bus", TIMEOUT, TIMEOUT_FIX),
    tx(
        8,
        "DATA_AXI_RESP",
        "a source read was answered with an error",
        "the source of a Tx descriptor lies in no region of memory, in whole or in part.",
        "Look at buf_ptr and length: a host address needs the host window's bit, an end may lie beyond its buffer.",
    ),
    rx(
        24,
        "PKT_LEN",
        "the data and the buffers of a packet differ in length",
        "where a packet's bytes end no Rx descriptor ends: the Rx lengths are too short or too long together.",
        "Let the lengths of the packet's Rx descriptors add up to what it streams (replicate and casts change that).",
    ),
    rx(
        23,
        "STRM_LAST",
        "LAST disagrees with the end of the packet",
        "Rx descriptors carry packet flags, and LAST is not exactly on the packet's last one or CONCAT not on all others.",
        "Leave the packet flags off Rx, or let them agree with the packet.",
    ),
    rx(
        22,
        "STRM_FIRST",
        "FIRST disagrees with the start of the packet",
        "Rx descriptors carry packet flags, and FIRST is not exactly on the packet's first one.",
        "Leave the packet flags off Rx, or let them agree with the packet.",
    ),
    rx(
        11,
        RING_ID,
        "a descriptor's phase is not the one expected",
        "an Rx slot is fetched that carries another ring id than its lap: a doorbell beyond what was staged, a slot written once more or not at all on this lap, a ring that begins elsewhere.",
        "Stage with the phase of the lap (it advances when slot 0 is taken again), and ring only what was staged.",
    ),
    rx(10, "PREFETCH_AXI_TO", "a descriptor read timed out on the bus", TIMEOUT, TIMEOUT_FIX),
    rx(
        9,
        "PREFETCH_AXI_RESP",
        "a descriptor read was answered with an error",
        "the memory of an Rx slot is in no region: a ring base or length that the driver did not allocate.",
        "Look at drbp_low, drbp_high and drl of the queue.",
    ),
    rx(2, "DATA_AXI_TO", "a destination write timed out on the bus", TIMEOUT, TIMEOUT_FIX),
    rx(
        1,
        "DATA_AXI_RESP",
        "a destination write was answered with an error",
        "the destination of an Rx descriptor lies in no region of memory, in whole or in part.",
        "Look at buf_ptr and length: a host address needs the host window's bit, an end may lie beyond its buffer.",
    ),
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

    /// The half of the engine that it is of: M2S or S2M.
    pub const fn group(&self) -> &'static str {
        match self.dir {
            Dir::Tx => "M2S",
            Dir::Rx => "S2M",
        }
    }

    /// What it does on engines of a generation, as bring-up leaves them.
    pub fn effect(&self, arch: Generation) -> String {
        let aborts = "aborts the engine: its marker never flips, and the poll times out (MODEL)";
        let (first, last) = (armed(arch, 0, self), armed(arch, 128, self));
        match (first, last) {
            (true, true) => format!("armed on every engine of {arch}: it {aborts}"),
            _ => format!(
                "masked on engines 0 to 127 of {arch}, where the descriptor executes; armed on 128 to 131, where it {aborts}"
            ),
        }
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
