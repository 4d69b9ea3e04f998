//! Hashing names, which a module says millions of times.

use super::Name;
use std::fmt::{self, Write};
use std::hash::{BuildHasher, Hasher, RandomState};

/// Hashes texts and small numbers quickly, with a seed of its own in every table, so that no
/// file can be made to be slow.
#[derive(Debug, Clone)]
pub struct Quick(u64);

/// A map by such hashes.
pub type QuickMap<K, V> = std::collections::HashMap<K, V, Quick>;
/// A set by such hashes.
pub type QuickSet<K> = std::collections::HashSet<K, Quick>;

/// A text that is put together in place while it is short.
struct Short {
    bytes: [u8; 96],
    len: usize,
    long: String,
}

impl Write for Short {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let end = self.len + s.len();
        match self.bytes.get_mut(self.len..end) {
            Some(room) if self.long.is_empty() => {
                room.copy_from_slice(s.as_bytes());
                self.len = end;
            }
            _ => self.long.push_str(s),
        }
        Ok(())
    }
}

/// A name that is put together, as `format!` would: `made(format_args!("{a}_{n}"))`.
pub fn made(text: fmt::Arguments<'_>) -> Name {
    let mut out = Short { bytes: [0; 96], len: 0, long: String::new() };
    // Writing into memory fails only where a part of the text says so itself, which none does.
    let _ = out.write_fmt(text);
    let begin = out.bytes.get(..out.len).map(std::str::from_utf8);
    match begin {
        Some(Ok(begin)) if out.long.is_empty() => begin.into(),
        Some(Ok(begin)) => [begin, &out.long].concat().into(),
        _ => text.to_string().into(),
    }
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Eight bytes at a time; the high bits are the mixed ones.
#[inline]
pub fn mix(seed: u64, bytes: &[u8]) -> u64 {
    let mut h = seed ^ bytes.len() as u64;
    let (chunks, rest) = bytes.as_chunks::<8>();
    for c in chunks {
        h = (h.rotate_left(5) ^ u64::from_le_bytes(*c)).wrapping_mul(ODD);
    }
    let rest = rest.iter().fold(0u64, |x, b| x << 8 | u64::from(*b));
    (h.rotate_left(5) ^ rest).wrapping_mul(ODD)
}

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
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.0 = mix(self.0, bytes);
    }

    #[inline]
    fn write_u8(&mut self, _: u8) {
        // The end of a string; its length is mixed in already.
    }

    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(ODD);
    }

    #[inline]
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_name_put_together_is_the_formatted_one(parts in prop::collection::vec(".{0,60}", 3), n: u64) {
            let [a, b, c] = [&parts[0], &parts[1], &parts[2]];
            prop_assert_eq!(&*made(format_args!("{a}_{n}{b}")), format!("{a}_{n}{b}"));
            prop_assert_eq!(&*made(format_args!("{a}{b}{c}")), format!("{a}{b}{c}"));
        }
    }
}
