//! Extents behave as plain bytes would.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::engine::program::RegionKind;
use crate::udma::{Generation, Profile};
use proptest::prelude::*;

const BASE: u64 = 0x1000;

fn memory(fill: Fill) -> Memory {
    let mut p = Program::new(Generation::V3, Profile::default_profile());
    p.regions.push(Region {
        name: "r".into(),
        kind: RegionKind::Device,
        base: BASE,
        len: 256,
        fill,
    });
    Memory::new(&p)
}

#[derive(Debug, Clone)]
enum Op {
    Write(u64, Vec<u8>),
    Fill(u64, u64, u8),
    Copy(u64, u64, u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        (0u64..256, prop::collection::vec(any::<u8>(), 1..32)).prop_map(|(a, b)| Op::Write(a, b)),
        (0u64..256, 1u64..64, any::<u8>()).prop_map(|(a, n, b)| Op::Fill(a, n, b)),
        (0u64..256, 0u64..256, 1u64..96).prop_map(|(s, d, n)| Op::Copy(s, d, n)),
    ]
}

proptest! {
    /// Extents behave as plain bytes would, a copy as if it read everything first, and the
    /// digest depends on the history's outcome only through the extents.
    #[test]
    fn extents_are_bytes(ops in prop::collection::vec(op(), 0..40), pattern in any::<bool>()) {
        let mut m = memory(if pattern { Fill::Pattern(9) } else { Fill::Zero });
        let mut plain = vec![0u8; 512];
        m.read(BASE, &mut plain[..256]);
        m.fill(BASE + 256, 256, 0);
        for op in ops {
            match op {
                Op::Write(a, b) => {
                    m.write(BASE + a, &b);
                    plain[a as usize..a as usize + b.len()].copy_from_slice(&b);
                }
                Op::Fill(a, n, b) => {
                    m.fill(BASE + a, n, b);
                    plain[a as usize..(a + n) as usize].fill(b);
                }
                Op::Copy(s, d, n) => {
                    let c = m.take(BASE + s, n);
                    m.put_content(BASE + d, c);
                    plain.copy_within(s as usize..(s + n) as usize, d as usize);
                }
            }
            let mut now = vec![0; 512];
            prop_assert_eq!(m.read(BASE, &mut now), Known::default());
            prop_assert_eq!(&now, &plain);
        }
        let mut sum = 0u64;
        m.map.each(0, u64::MAX, |s, e| {
            sum = sum.wrapping_add(Memory::extent_hash(s, e));
            true
        });
        prop_assert_eq!(sum, m.digest());
    }
}

#[test]
fn unwritten_bytes_stay_known_as_such_through_a_copy() {
    let mut m = memory(Fill::Never);
    assert_eq!(m.known(BASE, 4).never_written, Some(BASE));
    m.write(BASE, &[1, 2]);
    let c = m.take(BASE, 4);
    m.put_content(BASE + 0x80, c);
    assert_eq!(m.known(BASE + 0x80, 4).never_written, Some(BASE + 0x82));
    assert_eq!(m.known(BASE + 0x80, 2), Known::default());
}

#[test]
fn a_chunked_copy_of_a_pattern_is_one_extent() {
    let mut m = memory(Fill::Pattern(3));
    for i in 0..4 {
        let c = m.take(BASE + i * 16, 16);
        m.put_content(BASE + 0x1000 + i * 16, c);
    }
    assert_eq!(m.extents(), 2);
}

#[test]
fn a_stretch_that_leaves_its_region_names_the_first_address_outside() {
    let m = memory(Fill::Zero);
    assert_eq!(m.outside(BASE, 256), None);
    assert_eq!(m.outside(BASE, 257), Some(BASE + 256));
    assert_eq!(m.outside(u64::MAX, 4), Some(u64::MAX));
}

#[test]
fn a_stream_is_cut_where_asked() {
    let mut m = memory(Fill::Zero);
    m.write(BASE, &[1, 2, 3, 4, 5]);
    let mut c = m.take(BASE, 8);
    let front = c.split_front(3);
    m.put_content(BASE + 64, c);
    m.put_content(BASE + 96, front);
    let mut b = [0; 5];
    m.read(BASE + 64, &mut b);
    assert_eq!(b, [4, 5, 0, 0, 0]);
    m.read(BASE + 96, &mut b[..3]);
    assert_eq!(b[..3], [1, 2, 3]);
}

/// Every extent: where it begins, how long it is, what it holds.
fn extents(m: &Memory) -> Vec<(u64, u64, u64)> {
    let mut all = Vec::new();
    m.map.each(0, u64::MAX, |s, e| {
        all.push((s, e.len, e.source.hash()));
        true
    });
    all
}

/// Descriptors, of few shapes so that neighbours are often alike.
fn desc() -> impl Strategy<Value = crate::udma::Desc> {
    (0u32..2, 0u64..6).prop_map(|(len_ctrl, ptr)| crate::udma::Desc {
        len_ctrl,
        word1: 0,
        ptr: ptr * 0x10,
    })
}

proptest! {
    /// Descriptors that are written in a row leave the extents that single writes leave, whatever
    /// lay there before.
    #[test]
    fn a_row_is_its_descriptors_one_by_one(
        before in prop::collection::vec((0u64..16, desc()), 0..24),
        odd in prop::collection::vec(op(), 0..3),
        first in desc(),
        step in prop_oneof![Just(0u64), Just(0x10), Just(0x20), any::<u64>()],
        at in 0u64..16,
        count in 1u64..12,
        cut in 0u64..200,
    ) {
        let mut m = memory(Fill::Zero);
        m.fill(BASE + 256, 512, 0);
        for op in odd {
            if let Op::Write(a, b) = op {
                m.write(BASE + a, &b);
            }
        }
        for (slot, d) in before {
            m.write(BASE + slot * 16, &d.to_bytes());
        }
        let mut plain = m.clone();
        let row = Row { first, step, count };
        m.write_row(BASE + at * 16, row);
        for n in 0..count {
            plain.write(BASE + (at + n) * 16, &row.desc(n).to_bytes());
        }
        prop_assert_eq!(extents(&m), extents(&plain));
        prop_assert_eq!(m.digest(), plain.digest());
        // What lies there reads as what was written, and is found again.
        let mut slot = 0;
        while slot < count {
            let found = m.row(BASE + (at + slot) * 16, count);
            for n in 0..found.count.min(count - slot) {
                prop_assert_eq!(found.desc(n), row.desc(slot + n));
            }
            slot += found.count;
        }
        // A part of it, taken and put elsewhere, is the same bytes.
        let from = BASE + cut;
        let c = m.take(from, 100);
        m.put_content(0x9000, c);
        let mut was = [0; 100];
        let mut is = [0; 100];
        m.read(from, &mut was);
        m.read(0x9000, &mut is);
        prop_assert_eq!(was, is);
    }

    /// Bytes of one extent, moved at once, are its pieces moved one after the other.
    #[test]
    fn a_solid_stretch_is_its_pieces_one_by_one(
        fill in prop::sample::select(vec![Fill::Zero, Fill::Pattern(3), Fill::Unknown]),
        before in prop::collection::vec(op(), 0..6),
        src in 0u64..100,
        dst in 0u64..200,
        piece in 1u64..24,
        count in 1u64..6,
    ) {
        let mut m = memory(fill);
        for op in before {
            match op {
                Op::Write(a, b) => m.write(0x4000 + a, &b),
                Op::Fill(a, n, b) => m.fill(0x4000 + a, n, b),
                Op::Copy(s, d, n) => {
                    let c = m.take(BASE + s, n);
                    m.put_content(0x4000 + d, c);
                }
            }
        }
        let (src, dst) = (BASE + src, 0x4000 + dst);
        let solid = m.solid(src).unwrap();
        prop_assert!(solid.len >= piece * count);
        let mut plain = m.clone();
        m.move_solid(src, dst, piece * count);
        for n in 0..count {
            let c = plain.take(src + n * piece, piece);
            plain.put_content(dst + n * piece, c);
        }
        prop_assert_eq!(m.digest(), plain.digest());
        prop_assert_eq!(m.extents(), plain.extents());
    }
}

proptest! {
    /// What is put in by one look at what lies there leaves the extents that it leaves when all is
    /// cleared first and joined after.
    #[test]
    fn a_put_by_one_look_is_a_plain_put(
        ops in prop::collection::vec((0u64..256, prop_oneof![Just(16u64), 1u64..64], 0u8..4, any::<bool>()), 0..60),
        fill in prop_oneof![Just(Fill::Zero), Just(Fill::Pattern(9)), Just(Fill::Never), Just(Fill::Unknown)],
    ) {
        let mut m = memory(fill);
        let mut plain = m.clone();
        for (at, len, b, moves) in ops {
            let at = BASE + if len == 16 { at & !15 } else { at };
            let source = match (moves, b) {
                // Some of it from where it lies or nearby.
                (true, b) => {
                    let from = BASE + (at - BASE + u64::from(b) * 8) % 200;
                    match m.take(from, len).pieces().next() {
                        Some((0, e)) if e.len == len => e.source.clone(),
                        _ => continue,
                    }
                }
                (false, 0) => Source::Unwritten,
                (false, 1) if len == 16 => {
                    let desc = crate::udma::Desc { len_ctrl: 1, word1: 2, ptr: at / 16 % 3 };
                    Source::Inline(desc.to_bytes(), 0)
                }
                (false, b) => Source::Byte(b),
            };
            m.put_source(at, len, source.clone());
            plain.put_plainly(at, Extent { len, source });
            prop_assert_eq!(extents(&m), extents(&plain));
            prop_assert_eq!(m.digest(), plain.digest());
        }
    }
}

/// What changes make anew is counted: nothing where no copy shares it, of a copy what was changed
/// of it and no more than there is.
#[test]
fn what_changes_cost_is_counted() {
    let mut m = memory(Fill::Zero);
    m.fill(0, 1 << 20, 0);
    let before = m.clone();
    m.write(0, &[1; 16]);
    let one = m.weight_since(&before);
    assert!(one > 0);
    for k in 0..1000u64 {
        m.write(k * 64, &[k as u8; 16]);
    }
    // What there was is shared once, what came to it by nobody.
    assert!(m.weight_since(&before) < 2 * one);
    let before = m.clone();
    for k in 0..100u64 {
        m.write(k * 7919 % 1000 * 64, &[0xff; 16]);
    }
    // Far apart nearly each change makes nodes of its own, up to all that there are.
    let scattered = m.weight_since(&before);
    assert!(scattered > 50 * 16 * map::ENTRY_BYTES, "{scattered}");
    assert!(scattered < 2 * m.extents() as u64 * map::ENTRY_BYTES, "{scattered}");
    // What an estimate by what was written says is no less, or it is all of it.
    assert_eq!(before.replaced_by(&m, &[(0, 1 << 20)]), scattered);
    assert!(before.replaced_by(&m, &[(0, 64)]) < scattered);
    assert_eq!(before.replaced_by(&before, &[(0, 1 << 20)]), 0);
}
