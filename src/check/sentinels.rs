//! Sentinel values taken as numbers: words that stand for "none", "freed" or "failed" where an
//! address or a whole word of a descriptor should be.
//!
//! Every finding is a guess and names what it rests on: the value and what writes it.

use super::{Check, Context, Sink};
use crate::udma::profile::MARKER;
use crate::udma::template::Template;
use crate::udma::{Desc, Dir, Generation};

/// The sentinel check.
pub struct Sentinels;

/// Values of 32 bits and where they come from.
pub const SENTINELS: &[(u32, &str)] = &[
    (u32::MAX, "-1, or a read from a device that is gone"),
    (MARKER, "the completion marker"),
    (0xdead_beef, "a value that marks memory as not set"),
    (0xbaad_f00d, "a value that marks memory as not set"),
    (0xfeed_face, "a value that marks memory as not set"),
    (0xcafe_babe, "a value that marks memory as not set"),
    (0xdead_c0de, "a value that marks memory as not set"),
    (0xcccc_cccc, "a fill of memory that nobody wrote"),
    (0xcdcd_cdcd, "a fill of memory that nobody wrote"),
    (0x5a5a_5a5a, "the kernel's fill of memory in use that nobody wrote"),
    (0x6b6b_6b6b, "the kernel's fill of freed memory"),
    (0xa5a5_a5a5, "a fill of memory that nobody wrote"),
];

/// Addresses of 64 bits that are no repetition of 32.
const POISON: &[(u64, &str)] = &[
    (0xdead_0000_0000_0100, "the kernel's mark of a list entry that was removed"),
    (0xdead_0000_0000_0122, "the kernel's mark of a list entry that was removed"),
];

impl Check for Sentinels {
    fn name(&self) -> &'static str {
        "sentinels"
    }

    fn doc(&self) -> &'static str {
        "No address or word is a value that stands for none, freed or failed (0xffffffff, 0xdeadbeef, the marker, ..)."
    }

    fn run(&self, ctx: &Context<'_>, sink: &mut Sink<'_>) {
        for dir in Dir::BOTH {
            let Some((ring, order)) = ctx.surveyed(dir) else { continue };
            ring.odd(order.len, |index, desc| {
                if let Some(why) = judge(desc, dir, ctx.pair.arch) {
                    sink.at("D071", (dir, index), || why);
                }
            });
        }
    }
}

/// Whether a sentinel ends in this byte: most words are told from all of them at one look.
const ENDS: [bool; 256] = {
    let mut ends = [false; 256];
    let mut i = 0;
    while i < SENTINELS.len() {
        ends[(SENTINELS[i].0 & 0xff) as usize] = true;
        i += 1;
    }
    ends
};

/// What a value of 32 bits stands for, if it is a sentinel.
#[inline]
pub fn word(value: u32) -> Option<&'static str> {
    if !ENDS[(value & 0xff) as usize] {
        return None;
    }
    SENTINELS.iter().find(|(v, _)| *v == value).map(|(_, why)| *why)
}

/// What an address stands for, if it is a sentinel: alone, repeated, or with the host window's
/// bit laid over it.
pub fn address(ptr: u64, arch: Generation) -> Option<&'static str> {
    let (hi, lo) = ((ptr >> 32) as u32, ptr as u32);
    if hi == lo || hi == 0 {
        return word(lo);
    }
    if let Some((_, why)) = POISON.iter().find(|(v, _)| *v == ptr) {
        return Some(why);
    }
    let bare = ptr & !arch.host_base();
    if !arch.is_host(ptr) {
        return None;
    }
    match bare {
        0 => Some("a null pointer that was given the host window"),
        _ if bare >> 32 == 0 => word(bare as u32),
        _ => None,
    }
}

/// What a length of a descriptor may stem from: the low half of a sentinel.
pub fn length(len: u64) -> Option<&'static str> {
    let half = [u32::MAX, 0xdead_beef, MARKER];
    let is = |v: &&u32| u64::from(**v & 0xffff) == len;
    half.iter().find(is).and_then(|v| word(*v))
}

/// What of a used slot is a sentinel, in words.
pub fn judge(desc: Desc, dir: Dir, arch: Generation) -> Option<String> {
    if desc.is_zero() {
        return None;
    }
    for (value, name) in [(desc.len_ctrl, "first"), (desc.word1, "second")] {
        if let Some(why) = word(value) {
            return Some(format!("the {name} word is {value:#010x}: {why}"));
        }
    }
    if dir == Dir::Tx && desc.is_meta() {
        return None;
    }
    // All ones and the like have bit 61 set as well.
    if let Some(why) = address(desc.ptr, arch) {
        return Some(format!("the address is {:#x}: {why}", desc.ptr));
    }
    let t = Template::parse(desc.ptr)?;
    let why = word(t.offset as u32).filter(|_| t.offset >> 32 == 0)?;
    Some(format!("the offset of a symbolic address is {:#x}: {why}", t.offset))
}
