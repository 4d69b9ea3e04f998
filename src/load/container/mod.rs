//! The program image: a versioned, checksummed, sectioned binary form of a
//! [`Program`](crate::engine::program::Program).
//!
//! `docs/container.md` specifies every byte. This module holds the layout that reader and
//! writer share; [`read()`] bounds every count and offset before it uses it and leaves the
//! contents where they are, [`write()`] is deterministic.

mod edits;
mod read;
mod write;

pub use read::read;
pub use write::write;

/// First bytes of every program image: a byte that no text has, the name, a newline that a
/// text-mode transfer would damage.
pub const MAGIC: [u8; 8] = *b"\x89DMADBG\n";
/// Version that this build knows. A reader refuses another major number; a higher minor one only
/// adds sections. Written is the lowest version that has the sections that are written.
pub const VERSION: ProgramVersion = ProgramVersion { major: 1, minor: 1 };
/// Bytes of the header.
pub const HEADER_BYTES: usize = 32;
/// Bytes of one entry of the section table.
pub const ENTRY_BYTES: usize = 32;
/// Sections start at multiples of this; the bytes between are zero.
pub const SECTION_ALIGN: usize = 16;
/// Sections that one image may have.
const MAX_SECTIONS: usize = kind::ALL.len() + crate::limits::MAX_UNKNOWN_SECTIONS;

/// Version of a program image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProgramVersion {
    /// Changes where old readers would misread.
    pub major: u16,
    /// Grows where sections are added that old readers may carry along.
    pub minor: u16,
}

/// Section kinds, four letters in memory order.
pub(crate) mod kind {
    const fn of(letters: &[u8; 4]) -> u32 {
        u32::from_le_bytes(*letters)
    }
    /// Generation, profile, platform, speed.
    pub const HEAD: u32 = of(b"HEAD");
    /// Queues.
    pub const QUEUES: u32 = of(b"QUEU");
    /// Regions.
    pub const REGIONS: u32 = of(b"REGN");
    /// Contents: addresses and references into DATA.
    pub const CONTENTS: u32 = of(b"CONT");
    /// Registers.
    pub const REGISTERS: u32 = of(b"REGS");
    /// Variables.
    pub const VARIABLES: u32 = of(b"VARS");
    /// Host script.
    pub const SCRIPT: u32 = of(b"SCRP");
    /// Edits of the run; from version 1.1 on, where there are any.
    pub const EDITS: u32 = of(b"EDIT");
    /// Bytes that contents, script and edits refer to.
    pub const DATA: u32 = of(b"DATA");
    /// The known ones, in the order written.
    pub const ALL: [u32; 9] =
        [HEAD, QUEUES, REGIONS, CONTENTS, REGISTERS, VARIABLES, SCRIPT, EDITS, DATA];

    /// A kind as text, for messages.
    pub fn name(kind: u32) -> String {
        kind.to_le_bytes().iter().map(|b| char::from(*b).escape_default().to_string()).collect()
    }
}

/// Code of a fill and its argument.
pub(crate) mod fill {
    use crate::engine::program::Fill;

    /// (code, argument).
    pub fn code(fill: Fill) -> (u8, u8) {
        match fill {
            Fill::Never => (0, 0),
            Fill::Zero => (1, 0),
            Fill::Byte(b) => (2, b),
            Fill::Pattern(seed) => (3, seed),
            Fill::Unknown => (4, 0),
        }
    }

    /// The fill of a code; `None` for an unknown code or a superfluous argument.
    pub fn of_code(code: u8, arg: u8) -> Option<Fill> {
        Some(match (code, arg) {
            (0, 0) => Fill::Never,
            (1, 0) => Fill::Zero,
            (2, b) => Fill::Byte(b),
            (3, seed) => Fill::Pattern(seed),
            (4, 0) => Fill::Unknown,
            _ => return None,
        })
    }
}

/// Flags of a queue record.
pub(crate) const QUEUE_TX: u8 = 1;
/// The queue has an Rx ring.
pub(crate) const QUEUE_RX: u8 = 2;
/// The driver hands out its slots.
pub(crate) const QUEUE_ALLOCATABLE: u8 = 4;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::engine::program::{Blob, Program, UnknownSection};
    use crate::load::arbitrary::program;
    use proptest::prelude::*;

    fn sample() -> (Program, Vec<u8>) {
        let p = crate::load::arbitrary::sample();
        let bytes = write(&p).unwrap();
        (p, bytes)
    }

    proptest! {
        #[test]
        fn load_container_reads_back_what_it_wrote(p in program()) {
            let bytes = write(&p).unwrap();
            let (q, report) = read(&Blob::from_vec(bytes.clone())).unwrap();
            prop_assert_eq!(&q, &p);
            prop_assert_eq!(report.items.len(), p.unknown.len());
            prop_assert_eq!(write(&q).unwrap(), bytes);
        }

        #[test]
        fn load_container_survives_random_bytes(mut b in proptest::collection::vec(any::<u8>(), 0..400), magic in any::<bool>()) {
            if magic && b.len() > 8 { b[..8].copy_from_slice(&MAGIC); }
            prop_assert!(read(&Blob::from_vec(b)).is_err());
        }

        #[test]
        fn load_container_survives_mutation(p in program(), edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>(), mend in any::<bool>()) {
            let mut b = write(&p).unwrap();
            for (at, v) in edits { let i = at.index(b.len()); b[i] = v; }
            if cut.index(4) == 0 { let n = cut.index(b.len()); b.truncate(n); }
            if mend { mend_checksums(&mut b); }
            // Either a diagnostic or a program that can be written again.
            if let Ok((q, _)) = read(&Blob::from_vec(b)) { prop_assert!(write(&q).is_ok()); }
        }
    }

    /// Recomputes every checksum, so that mutations reach what lies behind them.
    fn mend_checksums(b: &mut [u8]) {
        let word = |b: &[u8], at: usize| {
            b.get(at..at + 4).map(|w| u32::from_le_bytes(w.try_into().unwrap()))
        };
        let Some(n) = word(b, 12) else { return };
        for i in 0..(n as usize).min(64) {
            let e = HEADER_BYTES + i * ENTRY_BYTES;
            let (Some(off), Some(len)) = (word(b, e + 8), word(b, e + 16)) else { return };
            let range = off as usize..(off as usize).saturating_add(len as usize);
            if let Some(s) = b.get(range) {
                let crc = crc32fast::hash(s).to_le_bytes();
                b[e + 24..e + 28].copy_from_slice(&crc);
            }
        }
        let Some(table) = b.get(HEADER_BYTES..HEADER_BYTES + (n as usize).min(64) * ENTRY_BYTES)
        else {
            return;
        };
        let crc = crc32fast::hash(table).to_le_bytes();
        b[24..28].copy_from_slice(&crc);
        let crc = crc32fast::hash(&b[..28]).to_le_bytes();
        b[28..32].copy_from_slice(&crc);
    }

    fn code_of(bytes: Vec<u8>) -> &'static str {
        let r = read(&Blob::from_vec(bytes)).unwrap_err();
        assert_eq!(r.items.len(), 1, "one clear diagnostic: {r:?}");
        assert!(r.items[0].place.offset.is_some(), "{r:?}");
        r.items[0].code
    }

    #[test]
    fn load_container_truncated_anywhere_is_said_so() {
        let (_, bytes) = sample();
        for n in [8, 31, 32, 60, 200, bytes.len() - 1] {
            assert_eq!(code_of(bytes[..n].to_vec()), "D031", "cut at {n}");
        }
    }

    #[test]
    fn load_container_a_flipped_bit_anywhere_is_found() {
        let (_, bytes) = sample();
        for at in 8..bytes.len() {
            let mut b = bytes.clone();
            b[at] ^= 1;
            let code = code_of(b);
            assert!(matches!(code, "D030" | "D031" | "D032" | "D033"), "byte {at}: {code}");
        }
        let mut b = bytes.clone();
        *b.last_mut().unwrap() ^= 1;
        assert!(matches!(code_of(b), "D032" | "D033"));
    }

    #[test]
    fn load_container_counts_that_lie_are_found_before_they_are_believed() {
        let (_, bytes) = sample();
        // The number of regions, and the length of a section, each 4 GiB.
        let regions = HEADER_BYTES + 2 * ENTRY_BYTES;
        let at = u32::from_le_bytes(bytes[regions + 8..regions + 12].try_into().unwrap()) as usize;
        let mut b = bytes.clone();
        b[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        mend_checksums(&mut b);
        assert!(matches!(code_of(b), "D025" | "D033"));
        let mut b = bytes.clone();
        b[regions + 16..regions + 24].copy_from_slice(&(1u64 << 32).to_le_bytes());
        mend_checksums(&mut b);
        assert!(matches!(code_of(b), "D031" | "D033"));
        let mut b = bytes;
        b[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        mend_checksums(&mut b);
        assert!(matches!(code_of(b), "D025" | "D031" | "D032" | "D033"));
    }

    #[test]
    fn load_container_of_another_version_is_not_guessed_at() {
        let (_, mut bytes) = sample();
        bytes[8] = 2;
        assert_eq!(code_of(bytes), "D030");
    }

    #[test]
    fn load_container_keeps_unknown_sections() {
        let (mut p, _) = sample();
        p.unknown = vec![UnknownSection {
            kind: u32::from_le_bytes(*b"BIRM"),
            bytes: Blob::from_vec(vec![1, 2, 3]),
        }];
        let (q, report) = read(&Blob::from_vec(write(&p).unwrap())).unwrap();
        assert_eq!(q.unknown, p.unknown);
        assert_eq!(report.items[0].code, "D034");
    }
}
