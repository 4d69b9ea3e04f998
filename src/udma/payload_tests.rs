#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
use super::*;
use proptest::prelude::*;

fn payloads() -> impl Strategy<Value = Payload> {
    let dtype = || (0..IR_DTYPES.len()).prop_map(|i| IR_DTYPES[i].0);
    let scale = prop_oneof![Just(ONE), any::<u32>()];
    let source = (dtype(), scale).prop_map(|(dtype, scale)| Source { dtype, scale });
    let op = prop_oneof![Just(SubOp::Add), Just(SubOp::Max), Just(SubOp::Min)];
    let sources = prop::collection::vec(source, 1..=MAX_SOURCES);
    prop_oneof![
        (op, sources, dtype()).prop_map(|(op, sources, to)| Payload::Sum { op, sources, to }),
        (dtype(), dtype()).prop_map(|(from, to)| Payload::Cast { from, to }),
        (0u8..14, 1u8..=8, any::<[u16; 4]>()).prop_map(|(order, elem, dims)| Payload::Transpose {
            order,
            elem,
            dims
        }),
    ]
}

proptest! {
    #[test]
    fn read_after_write_gives_back_the_payload(p in payloads(), barrier in any::<bool>()) {
        let word = p.word() | if barrier { BARRIER } else { 0 };
        prop_assert_eq!(read(&p.metas(), word), Ok(p.clone()));
        prop_assert!(class::readings(word).iter().any(|c| c.name == p.class()));
        prop_assert!(p.metas().iter().all(|d| words(*d).is_some()));
    }

    /// No bit of a META descriptor or of the word may be another: what is not ours is not read
    /// as something else.
    #[test]
    fn a_changed_bit_is_another_payload_or_none(p in payloads(), at in any::<prop::sample::Index>(), bit in 0usize..128) {
        let mut metas = p.metas();
        let n = at.index(metas.len());
        let mut bytes = metas[n].to_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        metas[n] = Desc::from_bytes(&bytes);
        let again = read(&metas, p.word());
        prop_assert!(again.is_err() || again != Ok(p));
    }
}

#[test]
fn every_bit_of_the_payload_words_belongs_to_exactly_one_field() {
    for table in [COMPUTE, TRANSPOSE] {
        for word in [Word::Meta1, Word::Meta2] {
            for bit in 0..32 {
                let over = |f: &&Field| f.word == word && (f.lo..=f.hi()).contains(&bit);
                assert_eq!(table.iter().filter(over).count(), 1, "{word:?} bit {bit}");
            }
        }
        assert_eq!(table[0].name, "payload_kind");
    }
}

#[test]
fn words_are_those_of_the_class_table() {
    let s = |dtype, scale: f32| Source { dtype, scale: scale.to_bits() };
    let sum = |op, sources, to| Payload::Sum { op, sources, to };
    let add = sum(SubOp::Add, vec![s(16, 1.0); 2], 12);
    assert_eq!((add.class(), add.word()), ("add", 0x0206_a000));
    let fma = sum(SubOp::Add, vec![s(16, 1.0), s(16, 0.5)], 12);
    assert_eq!((fma.class(), fma.word()), ("fma", 0x0216_aa01));
    let max = sum(SubOp::Max, vec![s(16, 1.0); 2], 16);
    assert_eq!((max.class(), max.word()), ("min_max", 0x020a_a022));
    let min = sum(SubOp::Min, vec![s(16, 2.0); 2], 16);
    assert_eq!((min.class(), min.word()), ("min_max", 0x022a_a003));
    let cast = Payload::Cast { from: 16, to: 12 };
    assert_eq!((cast.class(), cast.word()), ("cce_ext", 0x0246_a000));
    let turn = Payload::Transpose { order: 12, elem: 2, dims: [1, 1, 8, 8] };
    assert_eq!((turn.class(), turn.word()), ("transpose", 0x0090_0002));
}

#[test]
fn what_is_not_known_says_why() {
    assert_eq!(read(&[], 0x0090_0004), Err(NotKnown::Absent));
    assert_eq!(read(&[], 0x0080_0000), Err(NotKnown::Class("striding_split")));
    // Its selector also fits a minimum with a 16-bit constant.
    assert_eq!(read(&[], 0x0250_0000), Err(NotKnown::Absent));
    let foreign = Desc::new_meta(0, 0x0246_a000, 0, 0);
    assert_eq!(read(&[foreign], 0x0246_a000), Err(NotKnown::Foreign));
}
