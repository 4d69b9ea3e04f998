//! Differences that are made on purpose are told exactly.

use super::*;
use crate::udma::field::find;
use crate::udma::ring::ring_id_of_lap;
use crate::udma::{Desc, Dir, Generation, PairRequest, Profile, build_pair};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Slots of the ring that the descriptors go around.
const SLOTS: u64 = 32;

/// A ring in the order of time, going around.
struct Around(Vec<Desc>);

impl Slots for Around {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
    fn read(&self, first: u64, out: &mut [Desc]) -> usize {
        self.0.as_slice().read(first, out)
    }
    fn slot(&self, place: u64) -> u64 {
        place % SLOTS
    }
}

/// A pair that no other number gives.
fn pair(n: u64) -> [Desc; 2] {
    let request = PairRequest {
        src: 0x4000_0000_0000 + n * 0x1_0000,
        dst: 0x1000_0000 + n * 0x1_0000,
        size: 64 + n,
        tx_ring_id: 0,
        rx_ring_id: 0,
        barrier_code: 0,
        set_dst_int: false,
    };
    let (tx, rx) = build_pair(Profile::default_profile(), Generation::V3, &request).unwrap();
    [tx, rx]
}

/// Rings of pairs, each with the phase of its place.
fn stamped(pairs: &[[Desc; 2]]) -> [Around; 2] {
    [Dir::Tx, Dir::Rx].map(|dir| {
        let side = usize::from(dir == Dir::Rx);
        let one = |(place, p): (u64, &[Desc; 2])| {
            let phase = find(p[side].view(dir), "ring_id").unwrap();
            p[side].with(phase, u64::from(ring_id_of_lap(place / SLOTS)))
        };
        Around((0..).zip(pairs).map(one).collect())
    })
}

fn compared(a: &[[Desc; 2]], b: &[[Desc; 2]]) -> Diff {
    let (x, y) = (stamped(a), stamped(b));
    let mut diff = Diff::default();
    let (l, r) = (
        RingPair { tx: Some(&x[0]), rx: Some(&x[1]) },
        RingPair { tx: Some(&y[0]), rx: Some(&y[1]) },
    );
    rings("", (l, r), Generation::V3, &mut diff);
    diff
}

#[derive(Debug, Clone, Copy)]
enum Edit {
    Keep,
    Remove,
    /// A new pair in front.
    Insert,
    /// Another value of a field of the Tx or the Rx descriptor.
    Field(bool, &'static str),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => Just(Edit::Keep),
        1 => Just(Edit::Remove),
        1 => Just(Edit::Insert),
        1 => prop::sample::select(vec!["length", "buf_ptr", "int_en", "dmb", "op_type"])
            .prop_map(|f| Edit::Field(false, f)),
        1 => prop::sample::select(vec!["length", "buf_ptr", "strong_order", "buf2_ptr_lo"])
            .prop_map(|f| Edit::Field(true, f)),
    ]
}

/// What was done: the change, where it is on either side, and the fields.
type Told = (Change, Option<u64>, Option<u64>, Vec<String>);

fn told(diff: &Diff) -> BTreeSet<Told> {
    let slot = |at: &Option<String>| {
        let text = at.as_ref()?;
        text.strip_prefix("tx[")?.split(']').next()?.parse().ok()
    };
    let one = |e: &Entry| {
        assert_eq!(e.part, Part::Descriptor);
        let fields = e.fields.iter().map(|f| f.name.clone()).collect();
        (e.change, slot(&e.at[0]), slot(&e.at[1]), fields)
    };
    diff.entries.iter().map(one).collect()
}

proptest! {
    #[test]
    fn edits_of_a_ring_are_told_exactly(
        edits in prop::collection::vec(edit(), 4..60),
        to_move in prop::option::of((any::<prop::sample::Index>(), any::<prop::sample::Index>())),
    ) {
        // An untouched pair between any two edits, so that none hides another.
        let edits: Vec<Edit> = edits.iter().flat_map(|e| [Edit::Keep, *e, Edit::Keep]).collect();
        let a: Vec<[Desc; 2]> = (0..edits.len() as u64).map(pair).collect();
        let mut b: Vec<[Desc; 2]> = Vec::new();
        // Place on the left of each pair on the right, and the edit that made it.
        let mut from: Vec<(Option<usize>, Edit)> = Vec::new();
        for (i, e) in edits.iter().enumerate() {
            match e {
                Edit::Remove => continue,
                Edit::Insert => {
                    b.push(pair(10_000 + i as u64));
                    from.push((None, *e));
                    b.push(a[i]);
                    from.push((Some(i), Edit::Keep));
                    continue;
                }
                Edit::Keep => b.push(a[i]),
                Edit::Field(rx, name) => {
                    let dir = if *rx { Dir::Rx } else { Dir::Tx };
                    let mut p = a[i];
                    let d = &mut p[usize::from(*rx)];
                    let f = find(d.view(dir), name).unwrap();
                    *d = d.with(f, d.get(f) ^ 1);
                    b.push(p);
                }
            }
            from.push((Some(i), *e));
        }
        let mut moved = None;
        if let Some((source, target)) = to_move {
            // Only what is untouched, together with its neighbours, and far enough.
            let still = |k: usize| {
                (k.saturating_sub(1)..=k + 1).all(|k| {
                    from.get(k).is_some_and(|(_, e)| matches!(e, Edit::Keep))
                })
            };
            let (s, t) = (source.index(b.len()), target.index(b.len()));
            if still(s) && s > 0 && s.abs_diff(t) > 3 && still(t) && t > 0 {
                let (p, f) = (b.remove(s), from.remove(s));
                b.insert(t, p);
                from.insert(t, f);
                moved = f.0;
            }
        }
        let mut want: BTreeSet<Told> = BTreeSet::new();
        for (j, (i, e)) in from.iter().enumerate() {
            let (left, right) = (i.map(|i| i as u64 % SLOTS), Some(j as u64 % SLOTS));
            match e {
                Edit::Insert => {
                    want.insert((Change::Added, None, right, Vec::new()));
                }
                Edit::Field(rx, name) => {
                    let dir = if *rx { Dir::Rx } else { Dir::Tx };
                    want.insert((Change::Changed, left, right, vec![format!("{dir}.{name}")]));
                }
                _ if i.is_some() && *i == moved => {
                    want.insert((Change::Moved, left, right, Vec::new()));
                }
                _ => {}
            }
        }
        for (i, _) in edits.iter().enumerate().filter(|(_, e)| matches!(e, Edit::Remove)) {
            want.insert((Change::Removed, Some(i as u64 % SLOTS), None, Vec::new()));
        }
        let diff = compared(&a, &b);
        prop_assert_eq!(told(&diff), want);
        let mut there = diff.entries;
        let mut back: Vec<Entry> =
            compared(&b, &a).entries.into_iter().map(Entry::inverse).collect();
        // What a thing is called is said from the left.
        for e in there.iter_mut().chain(&mut back).filter(|e| e.at.iter().all(Option::is_some)) {
            e.name.clear();
        }
        there.sort_unstable();
        back.sort_unstable();
        prop_assert_eq!(there, back);
        prop_assert!(compared(&b, &b).is_same());
    }
}

#[test]
fn one_pair_in_front_of_a_full_ring_is_one_insertion() {
    let a: Vec<[Desc; 2]> = (0..200).map(pair).collect();
    let mut b = a.clone();
    b.insert(0, pair(9999));
    let diff = compared(&a, &b);
    assert_eq!(told(&diff), BTreeSet::from([(Change::Added, None, Some(0), Vec::new())]));
}

#[test]
fn a_pair_that_stands_elsewhere_has_moved_and_nothing_else() {
    let a: Vec<[Desc; 2]> = (0..30).map(pair).collect();
    let mut b = a.clone();
    let p = b.remove(3);
    b.insert(20, p);
    let want = (Change::Moved, Some(3), Some(20), Vec::new());
    assert_eq!(told(&compared(&a, &b)), BTreeSet::from([want]));
}

#[test]
fn a_phase_that_its_place_does_not_explain_is_told() {
    let a: Vec<[Desc; 2]> = (0..80).map(pair).collect();
    let (x, mut y) = (stamped(&a), stamped(&a));
    let d = &mut y[0].0[5];
    *d = d.with(find(d.view(Dir::Tx), "ring_id").unwrap(), 3);
    let mut diff = Diff::default();
    let (l, r) = (
        RingPair { tx: Some(&x[0]), rx: Some(&x[1]) },
        RingPair { tx: Some(&y[0]), rx: Some(&y[1]) },
    );
    rings("", (l, r), Generation::V3, &mut diff);
    let fields = vec!["tx.ring_id".to_owned()];
    assert_eq!(told(&diff), BTreeSet::from([(Change::Changed, Some(5), Some(5), fields)]));
    let f = &diff.entries[0].fields[0];
    assert_eq!((f.from.as_deref(), f.to.as_deref()), (Some("phase 1"), Some("phase 3")));
}

#[test]
fn rings_without_anything_in_common_take_bounded_work() {
    let n = crate::limits::DIFF_WINDOW * 2 + 5;
    let ring = |salt: u64| -> Vec<Desc> {
        let one = |i: u64| Desc { len_ctrl: 64, word1: 1, ptr: i * 2 + salt };
        (0..n as u64).map(one).collect()
    };
    let (x, y) = (ring(0), ring(1));
    let mut diff = Diff::default();
    let (x, y): (&dyn Slots, &dyn Slots) = (&Around(x), &Around(y));
    let one = |r| RingPair { tx: Some(r), rx: None };
    rings("", (one(x), one(y)), Generation::V3, &mut diff);
    assert!(!diff.bounds.is_empty());
    let told: u64 = diff.counts().values().sum();
    assert!(told >= n as u64, "{told} of {n}");
}
