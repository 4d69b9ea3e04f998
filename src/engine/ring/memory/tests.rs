//! Extents behave as plain bytes would.

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
        let sum = m.map.iter().fold(0u64, |h, (s, e)| h.wrapping_add(Memory::extent_hash(*s, e)));
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
