//! Whole words that mean something of their own (`docs/wire.md`, "Operation classes").
//!
//! A word copied from somewhere does not say which one it is; `decode` and `explain` name it as
//! one of these beside what its bits would say in a descriptor.

use super::host::COPY_START_CODE;
use super::profile::MARKER;

/// A word with a meaning of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The word.
    pub value: u32,
    /// What it is.
    pub meaning: &'static str,
}

/// All of them. The three constants of operations belong to a word after `meta_ctrl`.
pub static KNOWN: &[Known] = &[
    Known { value: MARKER, meaning: "completion marker, which a poll waits for" },
    Known { value: COPY_START_CODE, meaning: "code of the copy-start request" },
    Known { value: 0x0600_0000, meaning: "seed initialisation, in word 2 or 3 of a descriptor" },
    Known { value: 0x0650_0001, meaning: "high part of a gradient, in word 2 or 3" },
    Known { value: 0x04a0_0000, meaning: "extra of a replication, in word 2 or 3" },
];

/// What a word is beside its bits, if anything.
pub fn known(value: u32) -> Option<&'static Known> {
    KNOWN.iter().find(|k| k.value == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_word_alone() {
        for k in KNOWN {
            assert_eq!(known(k.value), Some(k));
            assert_eq!(known(k.value ^ 2), None);
        }
    }
}
