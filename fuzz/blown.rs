//! Few bytes blown up to as many slots as the fast ways need: stretches of pairs that go on by a
//! step, repeated, written over in places.

use dmadbg::check::sentinels::SENTINELS;
use dmadbg::engine::program::{Blob, Content, Program, QueueDecl, QueueId, RingDecl, Start};
use dmadbg::udma::{DESC_BYTES, Desc, Dir, Generation, PairRequest, Profile, build_pair};

/// Bytes that are taken one after the other; zeros after the last.
pub struct Feed<'a>(pub &'a [u8]);

impl<'a> Feed<'a> {
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number of so many bytes, at most eight.
    pub fn num(&mut self, bytes: u32) -> u64 {
        (0..bytes).fold(0, |all, i| all | u64::from(self.byte()) << (8 * i))
    }

    /// A number below `n`; zero where that is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        let bytes = if n <= 1 << 8 { 1 } else { 2 };
        self.num(bytes) % n.max(1)
    }

    /// Bytes up to the next zero, without it.
    pub fn line(&mut self) -> &'a [u8] {
        let all = self.0;
        let end = all.iter().position(|b| *b == 0).unwrap_or(all.len());
        self.0 = all.get(end + 1..).unwrap_or_default();
        &all[..end]
    }
}

pub const ARCHS: [Generation; 3] = [Generation::V2, Generation::V3, Generation::V4];

/// An address: near one of those at which something ends, or any.
fn address(f: &mut Feed<'_>, arch: Generation) -> u64 {
    let host = arch.host_base();
    let near = match f.byte() % 12 {
        0..=2 => 0x1000_0000 + (f.num(2) << 6),
        3..=5 => host + 0x10_0000 + (f.num(2) << 6),
        6 => return f.num(8),
        7 => 1 << 40,
        8 => host + (1 << 40),
        9 => 1 << 63,
        10 => 0,
        _ => 0x1_0000_0000,
    };
    // Some of them before it.
    near.wrapping_add(f.num(2)).wrapping_sub(u64::from(f.byte() & 1) << 16)
}

/// From one address to the next: mostly as far as the pair is long.
fn step(f: &mut Feed<'_>, len: u64) -> u64 {
    match f.byte() % 8 {
        0..=3 => len,
        4 => 0,
        5 => len.wrapping_neg(),
        6 => f.num(2),
        _ => len.wrapping_add(f.num(1)).wrapping_sub(128),
    }
}

/// A pair that is like most, or any.
fn pair(f: &mut Feed<'_>, arch: Generation) -> [Desc; 2] {
    let how = f.byte();
    if how & 0x30 == 0x30 {
        let mut raw = || {
            let (low, ptr) = (f.num(8), f.num(8));
            Desc { len_ctrl: low as u32, word1: (low >> 32) as u32, ptr }
        };
        return [raw(), raw()];
    }
    let size = match how & 7 {
        0..=3 => 64 << (how & 7),
        4 => 4,
        5 => 0,
        _ => f.num(2),
    };
    let (src, dst) = (address(f, arch), address(f, arch));
    // A completion pair lies so.
    let src = if how & 8 != 0 { dst.wrapping_sub(4) } else { src };
    let id = u32::from(how >> 6);
    let req = PairRequest {
        src,
        dst,
        size,
        tx_ring_id: id,
        rx_ring_id: id,
        barrier_code: u32::from(how & 0x30 == 0x10),
        set_dst_int: how & 0x30 == 0x20,
    };
    build_pair(Profile::default_profile(), arch, &req).map_or([Desc::default(); 2], |(t, r)| [t, r])
}

/// Writes over a slot.
fn spoil(f: &mut Feed<'_>, pair: &mut [Desc; 2]) {
    let (how, bit) = (f.byte(), f.byte());
    let before = *pair;
    let d = &mut pair[usize::from(how & 1)];
    let sentinel = SENTINELS[usize::from(bit) % SENTINELS.len()].0;
    match how >> 1 & 7 {
        0 | 1 => {
            let all = u128::from_le_bytes(d.to_bytes()) ^ 1 << (bit % 128);
            *d = Desc::from_bytes(&all.to_le_bytes());
        }
        2 => *d = Desc::default(),
        3 => d.ptr = sentinel.into(),
        4 => d.len_ctrl = sentinel,
        5 => d.ptr = d.ptr.wrapping_sub(u64::from(bit)),
        6 => d.ptr = d.ptr.wrapping_add(u64::from(bit)),
        _ => (pair[0].ptr, pair[1].ptr) = (before[1].ptr, before[0].ptr),
    }
}

/// Pairs out of what is left, at most `most` of them.
pub fn pairs(f: &mut Feed<'_>, arch: Generation, most: usize) -> Vec<[Desc; 2]> {
    let mut all: Vec<[Desc; 2]> = Vec::new();
    // Each costs a byte at least, but what is repeated could be made many times.
    while !f.is_over() && all.len() < most {
        match f.byte() % 8 {
            0..=2 => {
                let first = pair(f, arch);
                let len = first[0].length();
                let by = [step(f, len), step(f, len)];
                let n = 1 + f.below(1200);
                all.extend((0..n).map(|i| {
                    let at = |k: usize| first[k].ptr.wrapping_add(by[k].wrapping_mul(i));
                    [Desc { ptr: at(0), ..first[0] }, Desc { ptr: at(1), ..first[1] }]
                }));
            }
            3 => all.push(pair(f, arch)),
            4 => {
                let n = 1 + f.below(600) as usize;
                all.extend(std::iter::repeat_n([Desc::default(); 2], n));
            }
            5 => {
                // The newest once more, so many times.
                let (back, times) = (f.below(40) as usize, f.below(64));
                let part = all[all.len() - back.min(all.len())..].to_vec();
                for _ in 0..times {
                    if all.len() < most {
                        all.extend_from_slice(&part);
                    }
                }
            }
            _ => {
                let at = f.num(2) as usize % all.len().max(1);
                if let Some(pair) = all.get_mut(at) {
                    spoil(f, pair);
                }
            }
        }
    }
    all.truncate(most);
    all
}

/// The bytes of slots.
pub fn image(slots: impl Iterator<Item = Desc>) -> Vec<u8> {
    slots.flat_map(|d| d.to_bytes()).collect()
}

/// A program of a queue whose rings hold these slots, one by itself or both in turn.
pub fn program(slots: &[[Desc; 2]], arch: Generation, turns: bool) -> Program {
    let both = Blob::from_vec(image(slots.iter().flatten().copied()));
    let mut p = Program::new(arch, Profile::default_profile());
    let mut lay = |base: u64, side: usize| {
        let bytes = match turns {
            true => Blob::turns(both.clone(), side, 2, slots.len()),
            false => Blob::from_vec(image(slots.iter().map(|s| s[side]))),
        };
        p.contents.push(Content { addr: base, bytes });
        Some(RingDecl { base, size: slots.len() as u64 })
    };
    let (tx, rx) = (lay(arch.host_base() + 0x4000_0000, 0), lay(arch.host_base() + 0x8000_0000, 1));
    let (id, first) = (QueueId { engine: 5, queue: 2 }, [Start::FRESH; 2]);
    p.queues.push(QueueDecl { id, tx, rx, allocatable: false, marker_area: 0, first });
    p
}

/// Some bytes that are to be written over a ring of the program, and where.
pub fn cut(f: &mut Feed<'_>, p: &Program) -> Option<(u64, Blob)> {
    let dir = if f.byte() & 1 == 0 { Dir::Tx } else { Dir::Rx };
    let ring = p.queues.first()?.ring(dir).filter(|r| r.size > 0)?;
    let at = f.num(2) % ring.bytes();
    let len = (1 + f.below(3 * DESC_BYTES as u64)).min(ring.bytes() - at);
    Some((ring.base + at, Blob::from_vec(vec![f.byte(); len as usize])))
}
