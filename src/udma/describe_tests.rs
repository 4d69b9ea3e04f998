#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
use super::*;
use crate::udma::field::fields_of;
use proptest::prelude::*;

fn desc(len_ctrl: u32, word1: u32, ptr: u64) -> Desc {
    Desc { len_ctrl, word1, ptr }
}

fn codes(d: Desc, dir: Dir, arch: Generation) -> Vec<&'static str> {
    notes(d, dir, arch).into_iter().map(|n| n.code).collect()
}

#[test]
fn a_barrier_copy_reads_as_a_sentence() {
    let d = desc(0x0d00_1000, 0x0508_0003, 0x4000_0100_2000);
    assert_eq!(
        sentence(d, Dir::Tx, Generation::V3),
        "4096 bytes from host 0x0100_2000, a packet of its own, ordered by a write barrier, phase 1"
    );
    assert_eq!(
        flags(d, Dir::Tx),
        ["last", "first", "write_barrier", "copy_source_data", "is_first_block", "is_last_block"]
    );
    let rx = desc(0x0100_0000, 0, 0x10_1000_0000);
    assert_eq!(sentence(rx, Dir::Rx, Generation::V3), "65536 bytes to 0x0010_1000_0000, phase 1");
}

#[test]
fn a_payload_of_the_model_is_said_and_marked() {
    let d = payload::Payload::Cast { from: 16, to: 12 }.metas()[0];
    let text = sentence(d, Dir::Tx, Generation::V3);
    assert!(text.ends_with("; MODEL: a cast from float32 to bfloat16"), "{text}");
    let rows = explain(d, Dir::Tx, Generation::V3);
    let inside: Vec<_> = rows.iter().filter(|r| r.class == Some(PAYLOAD)).collect();
    assert_eq!(inside.len(), 7);
    assert!(inside.iter().any(|r| (r.name, &*r.words) == ("to", "bfloat16")));
    assert!(inside.iter().all(|r| r.meaning.starts_with("MODEL")));
    let other = Desc::new_meta(0, d.word1, 0, 0);
    assert!(!sentence(other, Dir::Tx, Generation::V3).contains("MODEL"));
}

#[test]
fn each_note_arises_from_its_bit() {
    let plain = desc(0x0d00_1000, 0x0108_0003, 0x1000);
    assert_eq!(codes(plain, Dir::Tx, Generation::V2), [""; 0]);
    assert_eq!(codes(desc(0x0d01_1000, 0x0108_0003, 0), Dir::Tx, Generation::V3), ["D010"]);
    assert_eq!(codes(desc(0x2d00_1000, 0x0108_0003, 0), Dir::Tx, Generation::V3), ["D010"]);
    assert_eq!(codes(desc(0x0d00_1000, 0x0108_0007, 0), Dir::Tx, Generation::V3), ["D010"]);
    assert_eq!(codes(desc(0x0d00_0000, 0x0108_0003, 0), Dir::Tx, Generation::V3), ["D011"]);
    assert_eq!(codes(Desc::new_meta(9, 0, 1, 2), Dir::Tx, Generation::V3), ["D012"]);
    let text = |d: Desc| notes(d, Dir::Tx, Generation::V3).remove(0).text;
    assert_eq!(text(Desc::new_meta(9, 0, 1, 2)), "META index is 9 or 13");
    // Nothing lies over bit 2 of the index where FIRST is clear.
    let clear = "META index is 9, and FIRST, which META has set, is clear";
    assert_eq!(text(desc(0x0980_0000, 0, 0)), clear);
    assert_eq!(codes(desc(0x0d00_1000, 0x0200_0000, 0), Dir::Tx, Generation::V3), ["D013"]);
    assert_eq!(codes(desc(0x0d00_1000, 0x0300_0000, 0), Dir::Tx, Generation::V3), ["D014"]);
    assert_eq!(codes(desc(0x0100_1000, 0, 1 << 61), Dir::Rx, Generation::V3), ["D015"]);
    assert_eq!(codes(desc(0x0100_1000, 5, 0), Dir::Rx, Generation::V3), ["D016"]);
    let notify = desc(0x0d00_1000, 0x1108_0003, 0);
    assert_eq!(codes(notify, Dir::Tx, Generation::V3), ["D023"]);
    assert_eq!(codes(notify, Dir::Tx, Generation::V4), [""; 0]);
    let sow = desc(0x2100_1000, 0, 0);
    assert_eq!(codes(sow, Dir::Rx, Generation::V2), ["D024"]);
    assert_eq!(codes(sow, Dir::Rx, Generation::V3), [""; 0]);
}

#[test]
fn bits_that_a_class_uses_are_not_called_reserved() {
    // Replication count 7 covers bit 2, which plain copies keep at zero.
    assert_eq!(codes(desc(0x0d00_0040, 0x00a0_0007, 0), Dir::Tx, Generation::V3), [""; 0]);
}

#[test]
fn numbers_are_grouped_by_four_digits() {
    assert_eq!(grouped_hex(0), "0x0000_0000");
    assert_eq!(grouped_hex(0x100_2000), "0x0100_2000");
    assert_eq!(grouped_hex(1 << 32), "0x0001_0000_0000");
    assert_eq!(grouped_hex(u64::MAX), "0xffff_ffff_ffff_ffff");
}

proptest! {
    #[test]
    fn a_plain_descriptor_is_one_without_notes(b in any::<[u8; 16]>(), rx in any::<bool>(), tame in any::<bool>()) {
        let mut d = Desc::from_bytes(&b);
        if tame {
            d.len_ctrl &= !TX_LEN_RESERVED & !named(View::Tx, "meta").mask() as u32;
            d.word1 = if rx { 0 } else { 0x0108_0003 };
        }
        let dir = if rx { Dir::Rx } else { Dir::Tx };
        for arch in Generation::ALL {
            prop_assert_eq!(is_plain(d, dir, arch), notes(d, dir, arch).is_empty());
        }
    }

    /// Under every reading each bit of each word is named exactly once.
    #[test]
    fn explain_names_every_bit_once_per_reading(b in any::<[u8; 16]>(), rx in any::<bool>()) {
        let d = Desc::from_bytes(&b);
        let dir = if rx { Dir::Rx } else { Dir::Tx };
        let view = d.view(dir);
        // A payload of the model is listed beside its words, each bit once as well.
        let (inside, rows): (Vec<_>, Vec<_>) =
            explain(d, dir, Generation::V3).into_iter().partition(|r| r.class == Some(PAYLOAD));
        let covered: u32 = inside.iter().map(|r| u32::from(r.hi - r.lo + 1)).sum();
        prop_assert_eq!(covered, if payload::fields(d).is_some() && !rx { 64 } else { 0 });
        let mut classes: Vec<_> = rows.iter().filter_map(|r| r.class).collect();
        classes.dedup();
        if classes.is_empty() {
            classes.push("");
        }
        for class in classes {
            for &word in Word::of(view) {
                for bit in 0..word.bits() {
                    let n = rows
                        .iter()
                        .filter(|r| r.word == word && (r.lo..=r.hi).contains(&bit))
                        .filter(|r| r.class.is_none_or(|c| c == class))
                        .count();
                    // min_max lays a data type over op_type, which is listed for itself too.
                    let twice = class == "min_max" && word == Word::MetaCtrl && (20..23).contains(&bit);
                    prop_assert_eq!(n, 1 + usize::from(twice), "{} {:?} {}", class, word, bit);
                }
            }
        }
        for f in fields_of(view, Word::LenCtrl) {
            prop_assert!(rows.iter().any(|r| r.name == f.name && r.value == d.get(f)));
        }
        prop_assert!(!sentence(d, dir, Generation::V2).is_empty());
    }
}
