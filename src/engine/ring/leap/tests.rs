//! A leap lands where single steps land.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::machine::Step;
use super::*;
use crate::engine::fixture::{self, *};
use crate::engine::program::HostOp;
use crate::engine::program::{Fill, Region, RegionKind};
use crate::engine::session::tests::edited_program;
use proptest::prelude::*;

/// Runs with leaps of at most the lengths that `lengths` tells, and without, and compares the
/// states where both stand. Answers how many events the leaps passed over.
pub(crate) fn twins(p: &Program, mut lengths: impl Iterator<Item = u64>) -> u64 {
    let mut fast = Machine::new(p);
    let mut plain = fast.clone();
    let mut leapt = 0;
    loop {
        let (from, limit) = (fast.n, fast.n + lengths.next().unwrap_or(u64::MAX / 2));
        let leap = fast.leap(p, limit);
        if leap.is_none() {
            assert_eq!(fast.digest(), plain.digest(), "refused, but changed at {from}");
            let (a, b) = (fast.step(p), plain.step(p));
            assert_eq!(a, b);
            if a.is_none() {
                assert_eq!(fast.digest(), plain.digest(), "at the end");
                return leapt;
            }
        } else {
            assert!(fast.n > from && fast.n <= limit, "{from}..{} {limit}", fast.n);
            leapt += fast.n - from;
            let mut last: Option<Step> = None;
            while plain.n < fast.n {
                last = plain.step(p);
                assert!(last.as_ref().is_some_and(|s| s.findings == 0), "{last:?}");
            }
            assert_eq!(fast.last, last.map(|s| s.event));
        }
        assert_eq!(fast.digest(), plain.digest(), "from {from} to {}: {leap:?}", fast.n);
        assert_eq!(fast.memory.extents(), plain.memory.extents());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_leap_lands_where_single_steps_land(
        p in edited_program(),
        lengths in prop::collection::vec(prop_oneof![1u64..12, 1u64..400, Just(1 << 40)], 1..20),
    ) {
        twins(&p, lengths.into_iter().cycle());
    }
}

fn leapt(p: &Program) -> (u64, u64) {
    let events = super::super::machine::run(p, |_, _| true).machine.n;
    (twins(p, std::iter::empty()), events)
}

#[test]
fn most_of_a_long_copy_is_leapt_over() {
    let (leapt, events) = leapt(&fixture::program(true, 256, vec![copy(200 << 16)]));
    assert!(leapt * 100 > events * 95, "{leapt} of {events}");
    let memset =
        HostOp::Memset { queue: Q, buffer: BUFFER, dst: DEVICE, size: 200 << 16, value: 7 };
    let (leapt, events) = leapt_of(memset);
    assert!(leapt * 100 > events * 90, "{leapt} of {events}");
}

fn leapt_of(op: HostOp) -> (u64, u64) {
    leapt(&fixture::program(true, 256, vec![op]))
}

/// Chunks that overwrite what later chunks read, and what says where they go, are read in turn.
#[test]
fn a_copy_onto_itself_and_onto_its_ring_is_done_in_turn() {
    for (src, dst) in [
        (BUFFER, BUFFER + 0x1_0000),
        (BUFFER, BUFFER + 0x8000),
        (BUFFER + 0x4_0000, BUFFER),
        (BUFFER, TX - 0x4_0000),
        (TX, DEVICE),
    ] {
        let op = HostOp::Copy { queue: Q, src, dst, size: 40 << 16 };
        let (_, events) = leapt_of(op);
        assert!(events > 40);
    }
}

fn codes(p: &Program) -> Vec<&'static str> {
    let m = super::super::machine::run(p, |_, _| true).machine;
    m.findings.iter().map(|d| d.code).collect()
}

/// Bytes that begin in one region and end in the next are told of where they are moved.
#[test]
fn a_copy_across_two_regions_is_told_of_as_by_single_steps() {
    for cut in [0, 0x8000, 0x1_8000, 0x5_0000, 0x5_0001] {
        let mut p = fixture::program(true, 64, vec![copy(12 << 16)]);
        for base in [DEVICE, BUFFER] {
            let Some(r) = p.regions.iter_mut().find(|r| r.base == base) else { continue };
            let rest = Region {
                name: format!("{} beyond", r.name),
                kind: RegionKind::Host,
                base: base + cut,
                len: r.len - cut,
                fill: Fill::Zero,
            };
            r.len = cut;
            p.regions.push(rest);
        }
        p.regions.retain(|r| r.len > 0);
        p.regions.sort_by_key(|r| r.base);
        assert!(twins(&p, std::iter::empty()) > 30);
        assert_eq!(codes(&p).contains(&"R053"), cut % 0x1_0000 != 0, "{cut:#x}");
    }
}

/// A completion pair whose word holds the marker before it is executed is told of, and a slot
/// that nobody wrote.
#[test]
fn markers_that_are_set_and_slots_of_another_lap_are_told_of_as_by_single_steps() {
    let pair = |src, dst| HostOp::Stage {
        queue: Q,
        src,
        dst,
        size: 4,
        barrier_code: 0,
        set_dst_int: false,
    };
    let again = vec![pair(fixture::MARKER, fixture::MARKER + 4); 3];
    let ring = |n| HostOp::CopyStart { queue: Q, m2s: n, s2m: n };
    let p = fixture::program(true, 32, [vec![copy(64)], again, vec![ring(3), ring(4)]].concat());
    twins(&p, std::iter::empty());
    let found = codes(&p);
    assert!(found.contains(&"R016") && found.contains(&"R050"), "{found:?}");
}

/// An edit is made in a plain step, and a leap goes up to it.
#[test]
fn a_leap_ends_before_an_edit() {
    use crate::engine::edit::{Change, Edit};
    let mut p = fixture::program(true, 256, vec![copy(200 << 16)]);
    let bytes = crate::engine::program::Blob::from_vec(vec![7; 4]);
    let edit =
        |at| Edit { at, change: Change::Store { addr: BUFFER + at * 0x100, bytes: bytes.clone() } };
    p.edits = [50, 51, 300, 777].map(edit).to_vec();
    assert!(twins(&p, std::iter::empty()) > 300);
}

/// Where the host stages, the slot's next write is where it was guessed; so is the marker's where
/// an engine works.
#[test]
fn the_next_write_of_a_place_is_where_it_was_guessed() {
    let ops = [10, 30, 20].map(|chunks| copy(chunks << 16));
    let p = fixture::program(true, 64, ops.to_vec());
    let slot = TX + 7 * DESC_BYTES as u64;
    let (mut m, mut guesses) = (Machine::new(&p), [0, 0]);
    loop {
        for (k, at) in [slot, fixture::MARKER + WORD].into_iter().enumerate() {
            let Some(to) = m.untouched_to(at).filter(|_| m.may_leap(&p)) else { continue };
            let mut ahead = m.clone();
            let before = |m: &Machine| {
                let mut bytes = [0; DESC_BYTES];
                m.memory.read(at, &mut bytes[..4]);
                bytes
            };
            let was = before(&ahead);
            while ahead.n < to && ahead.step(&p).is_some() {
                assert_eq!(before(&ahead), was, "{at:#x} from {} up to {to}", m.n);
            }
            guesses[k] += 1;
        }
        if m.step(&p).is_none() {
            break;
        }
    }
    assert!(guesses[0] > 20 && guesses[1] > 20, "{guesses:?}");
}
