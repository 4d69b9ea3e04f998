//! Equal names shared: a file says the same names over and over.

use crate::bir::Name;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A table of names seen lately, each at the place that its text says. Where two fight for a
/// place the later one has it, so that no input makes a look-up slow; a name that was pushed
/// out is simply made once more.
pub(super) struct Names {
    slots: Vec<Option<Name>>,
}

const SLOTS: usize = 1 << 12;

impl Names {
    pub fn new() -> Names {
        Names { slots: vec![None; SLOTS] }
    }

    /// The name of a text.
    pub fn get(&mut self, text: &str) -> Name {
        let slot = (mix(0, text.as_bytes()) >> 52) as usize & (SLOTS - 1);
        match self.slots.get_mut(slot) {
            Some(Some(name)) if **name == *text => name.clone(),
            Some(slot) => slot.insert(text.into()).clone(),
            None => text.into(),
        }
    }
}

/// Eight bytes at a time; the high bits are the mixed ones.
fn mix(seed: u64, bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut h = seed ^ bytes.len() as u64;
    let mut chunks = bytes.chunks_exact(8);
    for c in &mut chunks {
        let x = c.first_chunk::<8>().map_or(0, |c| u64::from_le_bytes(*c));
        h = (h.rotate_left(5) ^ x).wrapping_mul(ODD);
    }
    let rest = chunks.remainder().iter().fold(0u64, |x, b| x << 8 | u64::from(*b));
    (h.rotate_left(5) ^ rest).wrapping_mul(ODD)
}

/// Hashes names quickly, with a seed of its own in every table, so that no file can be made to
/// be slow.
#[derive(Clone)]
pub(super) struct Quick(u64);

impl Default for Quick {
    fn default() -> Quick {
        Quick(RandomState::new().build_hasher().finish())
    }
}

impl BuildHasher for Quick {
    type Hasher = Quick;

    fn build_hasher(&self) -> Quick {
        self.clone()
    }
}

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = mix(self.0, bytes);
    }

    fn write_u8(&mut self, _: u8) {
        // The end of a string; its length is mixed in already.
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
