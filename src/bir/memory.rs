//! Memory of a module: bytes of the flat address space, and who of them was ever written
//! (`docs/execution.md`, "Memory").
//!
//! Sparse pages behind shared pointers: a clone costs nothing, and a page is copied when it is
//! first written after that.

use super::Layout;
use super::layout::Placed;
use crate::limits::{MAX_BIR_MEMORY_BYTES, MAX_BIR_TRANSFER_BYTES};
use crate::udma::count_of;
use imbl::OrdMap;
use std::fmt;
use std::sync::Arc;

/// MODEL: what a byte reads as that nobody wrote.
pub const UNWRITTEN: u8 = 0xa5;

const PAGE: u64 = 4096;

/// Bytes that can be read by flat address.
pub trait Read {
    /// Fills `out` with the bytes from `at` on. Returns the first address among them that nobody
    /// ever wrote, if there is one.
    fn read(&self, at: u64, out: &mut [u8]) -> Option<u64>;
}

/// Why memory could not take or give what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryError {
    /// No location has this name.
    Unknown(String),
    /// The bytes given are not as many as the location has.
    Length {
        /// Bytes that were given.
        given: u64,
        /// Bytes of the location.
        size: u64,
    },
    /// A location of so many bytes cannot be written out whole.
    Large(String, u64),
    /// More than `limits::MAX_BIR_MEMORY_BYTES` would be held.
    Full,
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryError::Unknown(name) => write!(f, "no memory location is named `{name}`"),
            MemoryError::Length { given, size } => {
                write!(
                    f,
                    "{given_bytes} for a location of {size}",
                    given_bytes = count_of(given, "byte")
                )
            }
            MemoryError::Large(name, size) => {
                write!(
                    f,
                    "`{name}` has {size_bytes}; at most {MAX_BIR_TRANSFER_BYTES} are shown",
                    size_bytes = count_of(size, "byte")
                )
            }
            MemoryError::Full => {
                write!(f, "the program needs more than {MAX_BIR_MEMORY_BYTES} bytes of memory")
            }
        }
    }
}

#[derive(Clone)]
struct Page {
    bytes: [u8; PAGE as usize],
    /// A bit for each byte that was written.
    written: [u64; PAGE as usize / 64],
}

impl Page {
    fn new() -> Page {
        Page { bytes: [UNWRITTEN; PAGE as usize], written: [0; PAGE as usize / 64] }
    }

    /// Marks `len` bytes from `from` on.
    fn mark(&mut self, from: usize, len: usize) {
        each_word(from, len, |word, mask| {
            self.written[word] |= mask;
            true
        });
    }

    /// The first of `len` bytes from `from` on that was never written.
    fn unwritten(&self, from: usize, len: usize) -> Option<usize> {
        let mut found = None;
        each_word(from, len, |word, mask| {
            let missing = mask & !self.written[word];
            if missing != 0 {
                found = Some(word * 64 + missing.trailing_zeros() as usize);
            }
            missing == 0
        });
        found
    }
}

/// Calls `f` with the words of a bit map, and the bits in each, that `len` bits from `from` on
/// take up, until it says no.
fn each_word(from: usize, len: usize, mut f: impl FnMut(usize, u64) -> bool) {
    let (mut at, end) = (from, from + len);
    while at < end {
        let (word, bit) = (at / 64, at % 64);
        let n = (64 - bit).min(end - at);
        if !f(word, (u64::MAX >> (64 - n)) << bit) {
            return;
        }
        at += n;
    }
}

/// Bytes by flat address. Two are equal where every byte reads the same.
#[derive(Clone, Default)]
pub struct Memory {
    pages: OrdMap<u64, Arc<Page>>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory of {} pages", self.pages.len())
    }
}

impl PartialEq for Memory {
    fn eq(&self, other: &Memory) -> bool {
        self.first_difference(other).is_none()
    }
}

impl Read for Memory {
    fn read(&self, at: u64, out: &mut [u8]) -> Option<u64> {
        let (mut at, mut out, mut missing) = (at, out, None);
        while !out.is_empty() {
            let (page, from) = (at / PAGE, (at % PAGE) as usize);
            let n = out.len().min(PAGE as usize - from);
            let (now, rest) = out.split_at_mut(n);
            let hole = match self.pages.get(&page) {
                Some(p) => {
                    now.copy_from_slice(&p.bytes[from..from + n]);
                    if missing.is_none() { p.unwritten(from, n) } else { None }
                }
                None => {
                    now.fill(UNWRITTEN);
                    Some(from)
                }
            };
            missing = missing.or(hole.map(|h| page * PAGE + h as u64));
            at = at.wrapping_add(n as u64);
            out = rest;
        }
        missing
    }
}

impl Memory {
    /// Nothing was written yet.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Writes bytes from `at` on.
    ///
    /// # Errors
    /// [`MemoryError::Full`]; some of the bytes may have been written by then.
    pub fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let (mut at, mut bytes) = (at, bytes);
        while !bytes.is_empty() {
            let (page, from) = (at / PAGE, (at % PAGE) as usize);
            let (now, rest) = bytes.split_at(bytes.len().min(PAGE as usize - from));
            if !self.pages.contains_key(&page) {
                if self.pages.len() as u64 >= MAX_BIR_MEMORY_BYTES / PAGE {
                    return Err(MemoryError::Full);
                }
                self.pages.insert(page, Arc::new(Page::new()));
            }
            if let Some(p) = self.pages.get_mut(&page) {
                let p = Arc::make_mut(p);
                p.bytes[from..from + now.len()].copy_from_slice(now);
                p.mark(from, now.len());
            }
            at = at.wrapping_add(now.len() as u64);
            bytes = rest;
        }
        Ok(())
    }

    /// The lowest address at which the two read differently, and both bytes.
    pub fn first_difference(&self, other: &Memory) -> Option<(u64, u8, u8)> {
        let empty = Page::new();
        let in_page = |number: u64, a: &Page, b: &Page| {
            let at = a.bytes.iter().zip(&b.bytes).position(|(x, y)| x != y)?;
            Some((number * PAGE + at as u64, a.bytes[at], b.bytes[at]))
        };
        let (mut left, mut right) = (self.pages.iter().peekable(), other.pages.iter().peekable());
        loop {
            let (a, b) = (left.peek().copied(), right.peek().copied());
            let number = match (a, b) {
                (None, None) => return None,
                (Some((n, _)), None) | (None, Some((n, _))) => *n,
                (Some((n, _)), Some((m, _))) => *n.min(m),
            };
            let a = left.next_if(|(n, _)| **n == number).map(|(_, p)| p);
            let b = right.next_if(|(n, _)| **n == number).map(|(_, p)| p);
            if let (Some(a), Some(b)) = (a, b)
                && Arc::ptr_eq(a, b)
            {
                continue;
            }
            let a = a.map_or(&empty, |p| p);
            let b = b.map_or(&empty, |p| p);
            let found = in_page(number, a, b);
            if found.is_some() {
                return found;
            }
        }
    }

    /// Fills a location with its bytes in row-major order: all of one partition, then the next.
    ///
    /// # Errors
    /// The location is not known, or there are not exactly as many bytes as it has.
    pub fn load(&mut self, layout: &Layout, name: &str, bytes: &[u8]) -> Result<(), MemoryError> {
        let loc = find(layout, name)?;
        if bytes.len() as u64 != loc.bytes() {
            return Err(MemoryError::Length { given: bytes.len() as u64, size: loc.bytes() });
        }
        let mut rest = bytes;
        for (at, len) in loc.runs() {
            let (now, after) = rest.split_at(len as usize);
            self.write(at, now)?;
            rest = after;
        }
        Ok(())
    }

    /// The bytes of a location in row-major order, [`UNWRITTEN`] where nobody wrote.
    ///
    /// # Errors
    /// The location is not known, or has more than `limits::MAX_BIR_TRANSFER_BYTES`.
    pub fn dump(&self, layout: &Layout, name: &str) -> Result<Vec<u8>, MemoryError> {
        let loc = find(layout, name)?;
        if loc.bytes() > MAX_BIR_TRANSFER_BYTES {
            return Err(MemoryError::Large(name.to_owned(), loc.bytes()));
        }
        let mut out = vec![0; loc.bytes() as usize];
        let mut at = 0;
        for (from, len) in loc.runs() {
            self.read(from, &mut out[at..at + len as usize]);
            at += len as usize;
        }
        Ok(out)
    }

    /// Whether any byte of a location was ever written. Names no location: no.
    pub fn touched(&self, layout: &Layout, name: &str) -> bool {
        let Some(loc) = layout.location(name) else { return false };
        loc.runs().any(|(at, len)| {
            let last = at.saturating_add(len).saturating_sub(1);
            len > 0
                && self.pages.range(at / PAGE..=last / PAGE).any(|(number, page)| {
                    let base = number * PAGE;
                    let from = at.max(base) - base;
                    let to = last.min(base + PAGE - 1) - base;
                    (from..=to).any(|b| page.unwritten(b as usize, 1).is_none())
                })
        })
    }
}

fn find<'a>(layout: &'a Layout, name: &str) -> Result<&'a Placed, MemoryError> {
    layout.location(name).ok_or_else(|| MemoryError::Unknown(name.to_owned()))
}

/// Bytes as hexadecimal digits, two each, as memory files hold them.
pub fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|b| [b >> 4, b & 15]);
    digits.map(|d| char::from(DIGITS[usize::from(d)])).collect()
}

/// Bytes from hexadecimal digits of either case; `None` where there is anything else, or half a
/// byte.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: &u8| char::from(*c).to_digit(16).map(|d| d as u8);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|p| Some(digit(p.first()?)? << 4 | digit(p.get(1)?)?)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map_of_bytes(
            writes in prop::collection::vec((2000u64..6000, 1usize..3000, any::<u8>()), 0..4),
            reads in prop::collection::vec((2000u64..6000, 0usize..5000), 1..4),
        ) {
            let (mut memory, mut map) = (Memory::new(), BTreeMap::new());
            for (at, len, b) in writes {
                let before = memory.clone();
                let bytes: Vec<u8> = (0..len).map(|i| b.wrapping_add(i as u8)).collect();
                memory.write(at, &bytes).unwrap();
                let changed = bytes.iter().enumerate().find(|(i, b)| {
                    **b != map.get(&(at + *i as u64)).copied().unwrap_or(UNWRITTEN)
                });
                let want = changed.map(|(i, b)| {
                    let a = at + i as u64;
                    (a, map.get(&a).copied().unwrap_or(UNWRITTEN), *b)
                });
                prop_assert_eq!(before.first_difference(&memory), want);
                map.extend(bytes.iter().enumerate().map(|(i, b)| (at + i as u64, *b)));
            }
            for (at, len) in reads {
                let mut out = vec![0; len];
                let hole = memory.read(at, &mut out);
                let places = at..at + len as u64;
                prop_assert_eq!(hole, places.clone().find(|a| !map.contains_key(a)));
                let want: Vec<u8> =
                    places.map(|a| map.get(&a).copied().unwrap_or(UNWRITTEN)).collect();
                prop_assert_eq!(out, want);
            }
        }

        #[test]
        fn hex_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let text = to_hex(&bytes);
            prop_assert_eq!(from_hex(&text.to_uppercase()), Some(bytes));
            prop_assert_eq!(from_hex(&(text + "a")), None);
        }
    }

    #[test]
    fn equality_is_about_what_is_read() {
        let (mut a, mut b) = (Memory::new(), Memory::new());
        a.write(10_000, &[UNWRITTEN; 3]).unwrap();
        assert_eq!(a, b);
        b.write(9_999, &[1]).unwrap();
        assert_eq!(a.first_difference(&b), Some((9_999, UNWRITTEN, 1)));
    }
}
