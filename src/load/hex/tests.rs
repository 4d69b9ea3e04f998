#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use proptest::prelude::*;
use std::fmt::Write as _;

/// Two descriptors of a 4 KiB copy.
const BYTES: [u8; 32] = [
    0x00, 0x10, 0x00, 0x0d, 0x03, 0x00, 0x08, 0x05, 0x00, 0x30, 0x0a, 0x40, 0x00, 0x10, 0x00, 0x00,
    0x04, 0x00, 0x00, 0x0d, 0x03, 0x00, 0x08, 0x01, 0x00, 0x10, 0x06, 0x40, 0x00, 0x10, 0x00, 0x00,
];

fn read(text: &str, form: HexForm) -> Vec<u8> {
    let d = parse(text).unwrap_or_else(|r| panic!("{r:?}\n{text}"));
    assert_eq!(d.form, form, "{text}");
    d.bytes
}

#[test]
fn load_hex_reads_every_form() {
    let xxd = "00000000: 0010 000d 0300 0805 0030 0a40 0010 0000  .........0.@....\n\
               00000010: 0400 000d 0300 0801 0010 0640 0010 0000  ...........@....\n";
    assert_eq!(read(xxd, HexForm::Xxd), BYTES);
    let plain = "0010000d030008050030 0a4000100000\n".replace(' ', "")
        + "0400000d03000801001006400010 0000\n".replace(' ', "").as_str();
    assert_eq!(read(&plain, HexForm::Plain), BYTES);
    let c = "00000000  00 10 00 0d 03 00 08 05  00 30 0a 40 00 10 00 00  |.........0.@....|\n\
             00000010  04 00 00 0d 03 00 08 01  00 10 06 40 00 10 00 00  |...........@....|\n00000020\n";
    assert_eq!(read(c, HexForm::HexdumpC), BYTES);
    let od = "0000000 0d001000 05080003 400a3000 00001000\n\
              0000020 0d000004 01080003 40061000 00001000\n0000040\n";
    assert_eq!(read(od, HexForm::Od), BYTES);
    let od_hex = "000000 0d001000 05080003 400a3000 00001000\n\
                  000010 0d000004 01080003 40061000 00001000\n000020\n";
    assert_eq!(read(od_hex, HexForm::Od), BYTES);
    let log = "[   12.345678] neuron: ring dump follows\n\
               [   12.345679] neuron: desc 0: 0d001000 05080003 400a3000 00001000\n\
               [   12.345680] neuron: desc 1: 0d000004 01080003 40061000 00001000\n";
    assert_eq!(read(log, HexForm::KernelLog), BYTES);
    assert_eq!(parse(log).unwrap().skipped, 1);
    let dump = "tx 00000000: 0d001000 05080003 400a3000 00001000  .........0.@....\n\
                tx 00000010: 0d000004 01080003 40061000 00001000  ...........@....\n";
    assert_eq!(read(dump, HexForm::KernelLog), BYTES);
    let bytes = "[ 1.0] tx 00000000: 00 10 00 0d 03 00 08 05 00 30 0a 40 00 10 00 00\n\
                 [ 1.0] tx 00000010: 04 00 00 0d 03 00 08 01 00 10 06 40 00 10 00 00\n";
    assert_eq!(read(bytes, HexForm::KernelLog), BYTES);
    let words = "# pasted\n0x0d001000, 0x05080003, 0x400a3000, 0x1000,\n\
                 0d000004 01080003 40061000 00001000\n";
    assert_eq!(read(words, HexForm::Words), BYTES);
}

#[test]
fn load_hex_a_whole_ring_on_one_line_is_plain() {
    let text: String =
        std::iter::repeat_n(BYTES, 64).flatten().map(|b| format!("{b:02x}")).collect();
    assert_eq!(read(&text, HexForm::Plain).len(), 64 * 32);
}

#[test]
fn load_hex_a_repeat_mark_needs_an_offset() {
    let words = "0d000004 01080003 40001000 00001000\n*\n";
    let r = parse(words).unwrap_err();
    assert_eq!((r.items.len(), r.items[0].code, r.items[0].place.line), (1, "D041", Some(2)));
    let xxd = "00000000: 0000 0000 0000 0000 0000 0000 0000 0000  ................\n*\n\
               00000020: 0400 000d 0300 0801 0010 0640 0010 0000  ...........@....\n";
    assert_eq!(parse(xxd).unwrap().bytes.len(), 48);
}

#[test]
fn load_hex_squeezed_lines_come_back() {
    let c = "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n\
             00000030  04 00 00 0d 03 00 08 01  00 10 06 40 00 10 00 00  |...........@....|\n*\n00000050\n";
    let d = read(c, HexForm::HexdumpC);
    assert_eq!(d.len(), 0x50);
    assert_eq!(d[0x40..], BYTES[16..]);
    let od = "0000000 00000000 00000000 00000000 00000000\n*\n0020000\n";
    assert_eq!(read(od, HexForm::Od).len(), 8192);
}

fn codes(text: &str) -> Vec<(&'static str, u64, u64)> {
    let r = parse(text).unwrap_err();
    r.items.iter().map(|d| (d.code, d.place.line.unwrap(), d.place.column.unwrap())).collect()
}

#[test]
fn load_hex_every_bad_line_is_reported_with_its_place() {
    let text = "0d001000 05080003 400a3000 00001000\n0d00zz04 01080003 4006100 00001000\n";
    assert_eq!(codes(text), [("D040", 2, 5), ("D042", 2, 19)]);
    assert_eq!(codes("0d00100g 05080003 400a3000 00001000\n"), [("D040", 1, 8)]);
    let gap = "00000000: 0010 000d 0300 0805 0030 0a40 0010 0000  ....\n\
               00000020: 0400 000d 0300 0801 0010 0640 0010 0000  ....\n";
    assert_eq!(codes(gap), [("D041", 2, 1)]);
    let huge = "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |...|\n*\nffffffff0\n";
    assert_eq!(codes(huge)[0].0, "D025");
    let odd = "0010000d0300080500300a40001000000\n0010000d0300080500300a4000100000\n";
    assert_eq!(codes(odd), [("D042", 1, 1)]);
}

#[test]
fn load_hex_prose_is_no_hex() {
    for t in ["hello world", "fn main() {}", "dma 1\n", "the quick brown fox", ""] {
        assert_eq!(recognise(t), None, "{t}");
    }
}

proptest! {
    #[test]
    fn load_hex_survives_random_text(s in "\\PC{0,80}", lines in proptest::collection::vec("[0-9a-f:|* x,]{0,40}", 0..6)) {
        let _ = parse(&s);
        let _ = parse(&lines.join("\n"));
        for l in lines { let _ = parse(&format!("00000000: 00\n{l}\n")); }
    }

    #[test]
    fn load_hex_any_bytes_come_back_from_every_form(slots in proptest::collection::vec(any::<[u32; 4]>(), 1..9)) {
        let bytes: Vec<u8> = slots.iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
        let (mut xxd, mut c, mut od, mut log, mut words) = Default::default();
        let mut plain = String::new();
        for (i, s) in slots.iter().enumerate() {
            let b = &bytes[i * 16..][..16];
            let group = |n: usize| b.chunks(n).map(|g| g.iter().map(|x| format!("{x:02x}")).collect::<String>()).collect::<Vec<_>>().join(" ");
            let w = s.map(|w| format!("{w:08x}")).join(" ");
            let chars: String = b.iter().map(|&b| if (0x20..0x7f).contains(&b) { b as char } else { '.' }).collect();
            let _ = writeln!(&mut xxd as &mut String, "{:08x}: {}  {chars}", i * 16, group(2));
            let _ = writeln!(&mut c as &mut String, "{:08x}  {}  |{chars}|", i * 16, group(1));
            let _ = writeln!(&mut od as &mut String, "{:07o} {w}", i * 16);
            let _ = writeln!(&mut log as &mut String, "[ 0.1] neuron: desc {i}: {w}");
            let _ = writeln!(&mut words as &mut String, "{w}");
            let _ = writeln!(plain, "{}", group(16));
        }
        for (text, form) in [(xxd, HexForm::Xxd), (c, HexForm::HexdumpC), (od, HexForm::Od), (log, HexForm::KernelLog), (words, HexForm::Words), (plain, HexForm::Plain)] {
            prop_assert_eq!(read(&text, form), bytes.clone());
        }
    }
}
