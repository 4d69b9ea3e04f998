#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::engine::program::HostOp;
use crate::load::arbitrary;
use crate::load::disasm::disassemble;
use proptest::prelude::*;

proptest! {
    #[test]
    fn load_asm_and_disassembly_are_exact_inverses(p in arbitrary::program()) {
        let listing = disassemble(&p).unwrap();
        let again = match assemble(&listing.text) {
            Ok(a) => a,
            Err(r) => panic!("{r:?}\n{}", listing.text),
        };
        prop_assert_eq!(&again.program, &p, "{}", listing.text);
        prop_assert_eq!(&again.lines, &listing.lines);
        prop_assert_eq!(disassemble(&again.program).unwrap(), listing);
    }

    #[test]
    fn load_asm_survives_random_text(s in "\\PC{0,200}") {
        let _ = assemble(&s);
        let _ = assemble(&format!("dma 1\n{s}"));
    }

    #[test]
    fn load_asm_survives_shuffled_tokens(words in proptest::collection::vec(prop::sample::select(vec![
        "dma", "1", "queue", "e1.q2", "tx", "=", "{", "}", "hex", "zero", "repeat", "99999999999999",
        "copy_in", "ring", "\n", ",", "\"x\"", "region", "base", "len", "0x", "$v", "a+", "empty", "meta",
    ]), 0..60)) {
        let _ = assemble(&format!("dma 1\n{}", words.join(" ")));
    }
}

fn codes(text: &str) -> Vec<(&'static str, u64, u64)> {
    let r = assemble(text).unwrap_err();
    r.items.iter().map(|d| (d.code, d.place.line.unwrap(), d.place.column.unwrap_or(0))).collect()
}

#[test]
fn load_asm_reads_descriptors_by_field() {
    let a = assemble(
        "; a comment first\ndma 1\narch v2\nqueue e32.q0 tx=0x1000 tx_size=64\n\
         region buf kind=host base=0x100000001000 len=0x1000\nvariable v id=5 addr=buf\n\
         copy_in e32.q0 ring=tx {\n\
           tx copy first last ring_id=1 length=65536 buf_ptr=buf+0x10\n\
           tx copy write_barrier length=4 buf_ptr=$v+8, raw 1 2 3\n  empty 2\n}\nfence ; end\n",
    )
    .unwrap();
    assert_eq!(a.lines, [7, 12]);
    let HostOp::CopyIn { descs, .. } = &a.program.script[0].op else { panic!() };
    let d: Vec<_> = crate::udma::desc::iter_image(descs.bytes()).collect();
    assert_eq!(d.len(), 5);
    assert_eq!((d[0].len_ctrl, d[0].word1, d[0].ptr), (0x0d00_0000, 0x0108_0003, 0x1000_0000_1010));
    assert_eq!((d[1].word1, d[1].ptr), (0x0508_0003, 1 << 61 | 5 << 36 | 8));
    assert_eq!(d[2], crate::udma::Desc { len_ctrl: 1, word1: 2, ptr: 3 });
}

#[test]
fn load_asm_reports_every_error_with_its_place() {
    let text = "dma 1\nqueu e0.q0\nregion a kind=host base=0x1000 len=0x10000000000000000\n\
                init e0.q0\nstore addr=aa { hex 0g }\n";
    assert_eq!(
        codes(text),
        [("D050", 2, 1), ("D052", 3, 36), ("D051", 4, 1), ("D051", 5, 12), ("D040", 5, 22)]
    );
    assert_eq!(codes("dma 1\nstore addr=1 { hex 0g }"), [("D040", 2, 21)]);
    assert_eq!(codes("dma 1\nstore addr=1 { hex 000 }"), [("D042", 2, 20)]);
    assert_eq!(codes("dma 1\nstore addr=1 { zero 0x7fffffff }"), [("D052", 2, 21)]);
    assert_eq!(codes("dma 2\n"), [("D030", 1, 5)]);
}

#[test]
fn load_asm_suggests_the_nearest_name() {
    let r =
        assemble("dma 1\nregion host0 kind=hots base=1 len=1\nstore addr=hots0 { }\n").unwrap_err();
    let help: Vec<_> = r.items.iter().map(|d| d.help.clone().unwrap_or_default()).collect();
    assert_eq!(help, ["did you mean `host`?", "did you mean `host0`?"]);
}

#[test]
fn load_asm_finds_double_names_and_overlaps() {
    let text = "dma 1\nregion a kind=host base=0x1000 len=0x1000\n\
                region b kind=host base=0x1800 len=0x1000\nregion a kind=host base=0x9000 len=1\n\
                queue e0.q0 tx=0x9000 tx_size=32\nqueue e0.q0\n";
    let mut c: Vec<_> = codes(text).iter().map(|(c, l, _)| (*c, *l)).collect();
    c.sort_unstable();
    assert_eq!(c, [("D053", 4), ("D053", 6), ("D054", 3), ("D054", 5)]);
}

#[test]
fn load_asm_repeats_cannot_unfold_without_bound() {
    use crate::limits::MAX_EXPANDED_BYTES as MOST;
    let text = |n: u64| format!("dma 1\nstore addr=1 {{ repeat {n} hex 00112233 }}\n");
    assert_eq!(codes(&text(MOST / 4 + 1)), [("D025", 2, 33)]);
    assert_eq!(codes(&text(MOST)), [("D025", 2, 33)]);
    // More than that of anything is no number here.
    assert_eq!(codes(&text(MOST + 1)), [("D052", 2, 23)]);
}

#[test]
fn load_asm_the_documented_example_is_a_program() {
    let doc = include_str!("../../../docs/assembly.md");
    let text = doc.split("```dma\n").nth(1).and_then(|t| t.split("```").next()).unwrap();
    let a = assemble(text).unwrap_or_else(|r| panic!("{r:?}"));
    let listing = disassemble(&a.program).unwrap();
    assert_eq!(assemble(&listing.text).unwrap().program, a.program);
    assert_eq!(a.program.script.len(), 7);
    println!("{}", listing.text);
}

#[test]
fn load_asm_every_operand_of_a_statement_is_judged() {
    let text = "dma 1\nqueue e0.q0\ncopy e0.q0 src=q dst=1 size=x sise=4\n";
    assert_eq!(codes(text), [("D051", 3, 16), ("D050", 3, 29), ("D050", 3, 31)]);
}

#[test]
fn load_asm_long_lines_and_many_wrong_names_take_linear_time() {
    use std::fmt::Write as _;
    let mut text = String::from("dma 1\nstore addr=1 { hex");
    text.push_str(&" 00".repeat(300_000));
    text.push_str(" \u{e9} }\n");
    for i in 0..20_000 {
        let _ = writeln!(text, "region region_{i} kind=host base={} len=1", i * 2);
    }
    for i in 0..20_000 {
        let _ = writeln!(text, "store addr=regoin_{i} {{ }}");
    }
    let begin = std::time::Instant::now();
    assert!(assemble(&text).is_err());
    assert!(begin.elapsed().as_secs() < 120, "{:?}", begin.elapsed());
}
