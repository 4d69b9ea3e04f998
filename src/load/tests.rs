//! Bad input: each gives one clear finding with its place. And each good kind opens.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use proptest::prelude::*;

mod timeline;

fn one(path: &Path) -> Diagnostic {
    let r = open(&[path.to_owned()], &LoadOptions::default()).unwrap_err();
    assert_eq!(r.items.len(), 1, "{r:?}");
    assert!(r.items[0].place.file.is_some(), "{r:?}");
    r.items[0].clone()
}

fn bad(name: &str, bytes: &[u8]) -> Diagnostic {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    one(&path)
}

#[test]
fn load_bad_input_gives_one_clear_finding() {
    let random: Vec<u8> = (0..256u32).map(|i| (i * 167 + 13) as u8).collect();
    for (name, bytes, code) in [
        ("empty.bin", &b""[..], "D001"),
        ("a15.bin", &[7; 15], "D002"),
        ("a17.bin", &[0; 17], "D002"),
        ("random.bir", &random, "D004"),
        ("model.neff", &random, "D005"),
        ("x.bin", b"NEFF....", "D005"),
        ("bad.hex", b"0d001000 0508000g 400a3000 00001000\n", "D040"),
        ("module.json", b"{\"version\": 2}", "B006"),
        ("m.bir", b"bir 1\n", "B006"),
        ("cut.bin", b"\x89DMADBG\n\x01\x00", "D031"),
    ] {
        assert_eq!(bad(name, bytes).code, code, "{name}");
    }
    let d = bad("bad.hex", b"0d001000 0508000g 400a3000 00001000\n");
    assert_eq!((d.place.line, d.place.column), (Some(1), Some(17)));
    assert_eq!(bad("a17.bin", &[0; 17]).place.offset, Some(16));
}

#[test]
fn load_bad_containers_give_one_clear_finding() {
    let good = container::write(&arbitrary::sample()).unwrap();
    assert_eq!(bad("t.bin", &good[..good.len() - 1]).code, "D031");
    let mut flipped = good.clone();
    let last = flipped.len() - 20;
    flipped[last] ^= 4;
    assert_eq!(bad("f.bin", &flipped).code, "D032");
    let mut long = good.clone();
    long[16..24].copy_from_slice(&(4u64 << 30).to_le_bytes());
    let crc = crc32fast::hash(&long[..28]).to_le_bytes();
    long[28..32].copy_from_slice(&crc);
    assert_eq!(bad("l.bin", &long).code, "D031");
}

#[test]
fn load_bad_directories_and_permissions() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(one(dir.path()).code, "D008");
    assert_eq!(one(&dir.path().join("absent.bin")).code, "D007");
    let shut = dir.path().join("shut.bin");
    std::fs::write(&shut, [0; 16]).unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&shut, std::fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser may read everything.
    if std::fs::File::open(&shut).is_err() {
        assert_eq!(one(&shut).code, "D007");
    }
    std::fs::write(dir.path().join("a.tx.bin"), [0; 17]).unwrap();
    assert_eq!(one(dir.path()).code, "D002");
}

#[test]
fn load_all_ones_open_as_tx() {
    let l = load_bytes("x", Blob::from_vec(vec![0xff; 16]), &LoadOptions::default()).unwrap();
    assert_eq!((l.kind, l.images[0].slots()), (Kind::Raw, 1));
    assert!(l.images[0].tx.is_some() && l.program.is_none());
}

#[test]
fn load_assembly_and_its_image_give_the_same_program() {
    let p = arbitrary::sample();
    let text = disasm::disassemble(&p).unwrap();
    let a = load_bytes("a.dma", Blob::from_vec(text.text.into_bytes()), &LoadOptions::default());
    let bytes = container::write(&p).unwrap();
    let c = load_bytes("a.bin", Blob::from_vec(bytes), &LoadOptions::default()).unwrap();
    let a = a.unwrap();
    assert_eq!((a.kind, c.kind), (Kind::Assembly, Kind::Container));
    assert_eq!(a.program, c.program);
    assert_eq!(a.source.unwrap().lines, text.lines);
}

#[test]
fn load_directory_makes_a_queue_of_every_ring() {
    let dir = tempfile::tempdir().unwrap();
    let tx = [0u32.to_le_bytes(), [1; 4], [0; 4], [0; 4]].concat();
    for name in ["a.tx.bin", "a.rx.bin", "b.tx.bin", "b.rx.bin", "other.txt"] {
        let mut ring = vec![0; 32 * 16];
        ring[..16].copy_from_slice(&tx);
        std::fs::write(dir.path().join(name), ring).unwrap();
    }
    let index = r#"{"runs":[{"name":"first","arch":"v2","driver":"2.25.4.0","engine":{"id":5},
        "qid":3,"tx_ring_base":"0x100040021000","rx_ring_base":"0x100040022000",
        "tx_image":{"file":"a.tx.bin"}}, 7, {"tx_image":{"file":"../../b.tx.bin"}}]}"#;
    std::fs::write(dir.path().join("index.json"), index).unwrap();
    std::fs::write(dir.path().join("c.tx.bin"), [0; 17]).unwrap();
    let l = open(&[dir.path().to_owned()], &LoadOptions::default()).unwrap();
    assert!(l.report.items.iter().any(|d| d.code == "D002"));
    assert_eq!(l.images.iter().map(|i| i.name.as_str()).collect::<Vec<_>>(), ["first", "b"]);
    let p = l.program.unwrap();
    assert_eq!(p.queues.len(), 2);
    assert_eq!(p.queues[0].tx.unwrap().base, 0x1000_4002_1000);
    assert_eq!((p.arch, p.profile.name), (Generation::V2, "dkms-2.25"));
    assert_eq!(p.queues[0].id.to_string(), "e5.q3");
}

/// A program has one driver: where a dump's rings name several, it is said whose is taken.
#[test]
fn load_directory_says_whose_driver_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let drivers = ["2.24.7.0", "2.26.5.0", "2.24.7.0", "2.25.4.0"];
    let names = ["a", "b", "c", "d"];
    let mut runs = Vec::new();
    for (name, driver) in names.into_iter().zip(drivers) {
        for (ring, word1) in [("tx", 0x0108_0003u32), ("rx", 0)] {
            let mut slots = vec![0; 32 * 16];
            let words = [0x0d00_0004, word1, 0x1000, 0].map(u32::to_le_bytes).concat();
            slots[..16].copy_from_slice(&words);
            std::fs::write(dir.path().join(format!("{name}.{ring}.bin")), slots).unwrap();
        }
        let file = serde_json::json!({"file": format!("{name}.tx.bin")});
        runs.push(serde_json::json!({"driver": driver, "arch": "v3", "tx_image": file}));
    }
    let told = |runs: &[serde_json::Value], opts: &LoadOptions| {
        let index = serde_json::json!({ "runs": runs }).to_string();
        std::fs::write(dir.path().join("index.json"), index).unwrap();
        let l = open(&[dir.path().to_owned()], opts).unwrap();
        let of_driver = l.report.items.iter().filter(|d| d.message.starts_with("run under"));
        let said: Vec<_> = of_driver.map(|d| (d.code, d.message.clone())).collect();
        (l.program.unwrap().profile.name, said)
    };
    let text =
        "run under dkms-2.24, the first ring's driver: `b` names dkms-2.26, 1 more another as well";
    let said = vec![("D028", text.to_owned())];
    assert_eq!(told(&runs, &LoadOptions::default()), ("dkms-2.24", said));
    let asked =
        LoadOptions { profile: Some(&crate::udma::profile::PROFILES[1]), ..LoadOptions::default() };
    assert_eq!(told(&runs, &asked), ("dkms-2.25", vec![]));
    let same = [runs[0].clone(), runs[2].clone()];
    assert_eq!(told(&same, &LoadOptions::default()), ("dkms-2.24", vec![]));
}

#[test]
fn load_two_files_become_one_queue() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.bin"), dir.path().join("b.bin"));
    let slot = |word1: u32| [0x0d00_0004u32, word1, 0x1000, 0].map(u32::to_le_bytes).concat();
    std::fs::write(&a, slot(0)).unwrap();
    std::fs::write(&b, slot(0x0108_0003)).unwrap();
    let l = open(&[a.clone(), b.clone()], &LoadOptions::default()).unwrap();
    assert_eq!(l.images.len(), 1);
    assert!(l.program.is_some());
    let opts = LoadOptions { tx: Some(b), rx: Some(a), browse: true, ..LoadOptions::default() };
    let l = open(&[], &opts).unwrap();
    assert!(l.program.is_none() && l.images[0].tx.is_some() && l.images[0].rx.is_some());
    assert!(open(&[], &LoadOptions::default()).is_err());
}

#[test]
fn load_windows_are_half_open() {
    assert_eq!(parse_window("3:9").unwrap(), (3, 9));
    assert_eq!(parse_window(":9").unwrap(), (0, 9));
    assert_eq!(parse_window("3:").unwrap(), (3, u64::MAX));
    for t in ["", "3", "9:3", "a:b"] {
        assert_eq!(parse_window(t).unwrap_err().code, "S011");
    }
}

proptest! {
    #[test]
    fn load_survives_random_bytes_under_any_name(
        b in proptest::collection::vec(any::<u8>(), 0..300),
        name in prop::sample::select(vec!["a", "a.bin", "a.dma", "a.hex", "a.bir", "a.json", "a.neff"]),
        ring in prop::sample::select(vec![None, Some(RingChoice::Tx), Some(RingChoice::Pairs)]),
    ) {
        let opts = LoadOptions { ring, ..LoadOptions::default() };
        let _ = load_bytes(name, Blob::from_vec(b), &opts);
    }
}
