#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
use super::*;
use crate::udma::Desc;
use proptest::prelude::*;

const HOST: u64 = 1 << 47;

/// An address near another one, or any.
fn address() -> impl Strategy<Value = u64> {
    let near = [0u64, 0x1000, 1 << 47, 1 << 63, u64::MAX - 8, (1 << 63) - 0x8000];
    prop_oneof![
        6 => (prop::sample::select(near.to_vec()), 0u64..0x2_0010).prop_map(|(a, b)| a.wrapping_add(b)),
        2 => (0u64..64).prop_map(|i| 0x1_0000_0000 + i * 0x1000),
        1 => any::<u64>(),
    ]
}

fn slot() -> impl Strategy<Value = Desc> {
    let length = prop_oneof![Just(4096u32), Just(4), Just(0), Just(1), Just(0xffff), any::<u32>()];
    (length, prop_oneof![3 => Just(0x0108_0003u32), 1 => any::<u32>()], address())
        .prop_map(|(length, word1, ptr)| Desc { len_ctrl: 0x0d00_0000 ^ length, word1, ptr })
}

/// Pairs; in some the source lies around the destination.
fn pairs() -> impl Strategy<Value = Vec<[Desc; 2]>> {
    let one = (slot(), slot(), any::<bool>(), 0u64..12).prop_map(|(t, r, like, by)| match like {
        true => {
            [t, Desc { ptr: t.ptr.wrapping_add(6).wrapping_sub(by), len_ctrl: t.len_ctrl, ..r }]
        }
        false => [t, r],
    });
    prop_oneof![
        prop::collection::vec(one, 0..70),
        // A series: neighbours apart, or nearly.
        (0u64..70, address(), 0u64..0x2_0000, any::<u16>(), 0usize..70, slot()).prop_map(
            |(n, from, step, length, at, odd)| {
                let mut all: Vec<[Desc; 2]> = (0..n)
                    .map(|i| {
                        let ptr = from.wrapping_add(i.wrapping_mul(step));
                        let d = Desc { len_ctrl: 0x0d00_0000 | u32::from(length), word1: 3, ptr };
                        [d, Desc { ptr: !ptr, ..d }]
                    })
                    .collect();
                if let Some(p) = all.get_mut(at) {
                    p[at % 2] = odd;
                }
                all
            }
        ),
    ]
}

fn bytes(slots: &[Desc]) -> Vec<u8> {
    slots.iter().flat_map(|d| d.to_bytes()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn lines_tell_what_slots_tell(pairs in pairs()) {
        let side = |i: usize| bytes(&pairs.iter().map(|p| p[i]).collect::<Vec<_>>());
        let (t, r, both) = (side(0), side(1), bytes(pairs.as_flattened()));
        let (t, r) = (Rows::new(t.as_chunks().0, 1), Rows::new(r.as_chunks().0, 1));
        let both = both.as_chunks().0;
        let turns = [Rows::new(both, 2), Rows::new(both.get(1..).unwrap_or_default(), 2)];
        let seen = [t, r].map(|rows| Seen::plainly(rows, HOST));
        let pair = Beside::plainly(t, r);
        prop_assert_eq!(turns.map(|rows| Seen::plainly(rows, HOST)), seen);
        prop_assert_eq!(Beside::plainly(turns[0], turns[1]), pair);
        for level in levels() {
            prop_assert_eq!(look(level, [Some(t), Some(r)], HOST), (seen, None), "{:?}", level);
            prop_assert_eq!(look(level, [None, Some(r)], HOST).0, [Seen::NONE, seen[1]]);
            prop_assert_eq!(beside(level, t, r), pair, "{:?}", level);
            let (in_turn, at_once) = look(level, turns.map(Some), HOST);
            prop_assert_eq!(in_turn, seen, "{:?}", level);
            let whole = !pairs.is_empty() && pairs.len().is_multiple_of(2);
            prop_assert_eq!(at_once, whole.then_some(pair), "{:?}", level);
        }
    }
}

/// What the proptest compares is not all of one kind.
#[test]
fn neighbours_that_touch_are_apart_and_those_that_share_a_byte_are_not() {
    for level in levels() {
        for base in
            [0x1000u64, 1 << 47, (1 << 63) - 0x2000, u64::MAX - 0x3000, 0xffff_ffff_ffff_e000]
        {
            for (by, apart) in [
                (0x1000i64, true),
                (0xfff, false),
                (1, false),
                (0, false),
                (-1, false),
                (-0x7ff, false),
                (-0x800, true),
                (-0x801, true),
                (i64::MIN, true),
                (i64::MAX, true),
            ] {
                for at in 1..8 {
                    // All apart, but for the two at `at`.
                    let far = |i: u64| base.wrapping_add((i + 1) << 50);
                    let mut all: Vec<Desc> =
                        (0..8).map(|i| Desc { len_ctrl: 0x800, word1: 0, ptr: far(i) }).collect();
                    all[at - 1] = Desc { len_ctrl: 0x1000, word1: 0, ptr: base };
                    all[at].ptr = base.wrapping_add_signed(by);
                    let bytes = bytes(&all);
                    let rows = Rows::new(bytes.as_chunks().0, 1);
                    assert_eq!(
                        seen(level, rows, HOST).apart,
                        apart,
                        "{level:?} {base:#x} {by:#x} {at}"
                    );
                    assert_eq!(Seen::plainly(rows, HOST).apart, apart);
                }
            }
        }
    }
}
