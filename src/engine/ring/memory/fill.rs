//! Bytes that follow a rule, made a block at a time.

use super::super::digest::mix;

/// Bytes of a block: what a byte is depends on the number of its block and its place in it.
const BLOCK: usize = 256;

/// Byte `i` of a pattern fill.
pub fn pattern_byte(seed: u8, i: u64) -> u8 {
    let low = i & 0xffff;
    (31 * low + 7 * (low >> 8) + u64::from(seed) + 13 * (i >> 16)) as u8
}

/// The byte that stands for unknown content at an address.
pub fn unknown_byte(addr: u64) -> u8 {
    let k = (addr % BLOCK as u64) as usize;
    UNLIKE[k].wrapping_add(unknown_key(addr)[k % 8])
}

/// What makes the unknown bytes of one block other than those of another.
fn unknown_key(addr: u64) -> [u8; 8] {
    mix(0x756e_6b6e, addr / BLOCK as u64).to_le_bytes()
}

/// By how much the bytes of a pattern go up in a block.
const STEPS: [u8; BLOCK] = {
    let mut all = [0u8; BLOCK];
    let mut k = 0;
    while k < BLOCK {
        all[k] = (31 * k) as u8;
        k += 1;
    }
    all
};

/// Bytes without a pattern.
const UNLIKE: [u8; BLOCK] = {
    let mut all = [0u8; BLOCK];
    let mut z = 0x9e37_79b9_7f4a_7c15u64;
    let mut k = 0;
    while k < BLOCK {
        z ^= z << 13;
        z ^= z >> 7;
        z ^= z << 17;
        all[k] = (z >> 32) as u8;
        k += 1;
    }
    all
};

/// Gives the parts of `out` that lie in one block each to `f`, with the place of the first byte.
fn blocks(at: u64, out: &mut [u8], mut f: impl FnMut(u64, &mut [u8])) {
    let first = (BLOCK - (at % BLOCK as u64) as usize).min(out.len());
    let (front, rest) = out.split_at_mut(first);
    if !front.is_empty() {
        f(at, front);
    }
    let mut at = at.wrapping_add(first as u64);
    for block in rest.chunks_mut(BLOCK) {
        f(at, block);
        at = at.wrapping_add(BLOCK as u64);
    }
}

/// The sums of the bytes of two words, each for itself.
fn sums(a: u64, b: u64) -> u64 {
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    ((a & !HIGH) + (b & !HIGH)) ^ (a ^ b) & HIGH
}

/// Writes a block: the bytes of `bytes`, each with one of `key` added, the eight of which follow
/// each other. Word by word, so that it is fast however it is compiled.
fn add(bytes: &[u8; BLOCK], key: [u8; 8], out: &mut [u8; BLOCK]) {
    let key = u64::from_ne_bytes(key);
    let words = bytes.as_chunks::<8>().0;
    for (o, word) in out.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *o = sums(u64::from_ne_bytes(*word), key).to_ne_bytes();
    }
}

/// Writes what of a block ([`add`]) begins at its byte `from`, as much as there is room for.
fn add_from(bytes: &[u8; BLOCK], key: [u8; 8], from: usize, out: &mut [u8]) {
    if let Ok(whole) = <&mut [u8; BLOCK]>::try_from(&mut *out) {
        return add(bytes, key, whole);
    }
    let mut whole = [0; BLOCK];
    add(bytes, key, &mut whole);
    if let Some(part) = whole.get(from..).and_then(|rest| rest.get(..out.len())) {
        out.copy_from_slice(part);
    }
}

/// Bytes `off ..` of a pattern fill.
pub(super) fn pattern(seed: u8, off: u64, out: &mut [u8]) {
    blocks(off, out, |at, out| {
        add_from(&STEPS, [pattern_byte(seed, at); 8], 0, out);
    });
}

/// The bytes that stand for unknown content from an address on.
pub(super) fn unknown(addr: u64, out: &mut [u8]) {
    blocks(addr, out, |at, out| {
        add_from(&UNLIKE, unknown_key(at), (at % BLOCK as u64) as usize, out);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Made in blocks they are the bytes that they are one by one.
        #[test]
        fn blocks_are_their_bytes(
            at in prop_oneof![0u64..2000, 60_000u64..140_000, any::<u64>()],
            len in 0usize..1500,
            seed in any::<u8>(),
        ) {
            let mut out = vec![0; len];
            unknown(at, &mut out);
            let plain: Vec<u8> = (0..len as u64).map(|i| unknown_byte(at.wrapping_add(i))).collect();
            prop_assert_eq!(&out, &plain);
            let at = at % (u64::MAX >> 8);
            pattern(seed, at, &mut out);
            let plain: Vec<u8> = (0..len as u64).map(|i| pattern_byte(seed, at + i)).collect();
            prop_assert_eq!(&out, &plain);
        }
    }

    #[test]
    fn unknown_bytes_are_unlike_those_nearby() {
        let at = |a: u64| (0..64).map(|i| unknown_byte(a + i)).collect::<Vec<_>>();
        for shift in 1..4096 {
            assert_ne!(at(0x1000), at(0x1000 + shift));
        }
    }
}
