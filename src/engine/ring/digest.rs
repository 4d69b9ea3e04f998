//! A digest of state, for telling whether two states are equal: everything that derives `Hash`
//! feeds one mixer, so that no field can be left out by oversight. Not cryptographic.

use std::hash::{Hash, Hasher};

/// Mixes a word into a hash (the finaliser of splitmix64).
pub fn mix(hash: u64, word: u64) -> u64 {
    let mut z = hash.rotate_left(25).wrapping_add(word).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A hash of bytes.
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let (chunks, tail) = bytes.as_chunks::<8>();
    let mut h = mix(0, bytes.len() as u64);
    for c in chunks {
        h = mix(h, u64::from_le_bytes(*c));
    }
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    mix(h, u64::from_le_bytes(last))
}

/// The digest of a value: the same on every machine and in every run.
pub fn digest(value: &impl Hash) -> u64 {
    let mut m = Mixer(0);
    value.hash(&mut m);
    m.finish()
}

/// A hasher without a seed.
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.write_u64(hash_bytes(bytes));
    }
    fn write_u8(&mut self, v: u8) {
        self.write_u64(v.into());
    }
    fn write_u16(&mut self, v: u16) {
        self.write_u64(v.into());
    }
    fn write_u32(&mut self, v: u32) {
        self.write_u64(v.into());
    }
    fn write_u64(&mut self, v: u64) {
        self.0 = mix(self.0, v);
    }
    fn write_usize(&mut self, v: usize) {
        self.write_u64(v as u64);
    }
}
