//! Rings whose host is not known, or made up, by the real binary: what is said of them, and what
//! is not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// What a run printed, both streams, and its exit status.
fn dmadbg(dir: &Path, args: &[&str], stdin: &str) -> (String, i32) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    let text = [done.stdout, done.stderr].concat();
    (String::from_utf8(text).unwrap(), done.status.code().unwrap())
}

const HOST: u64 = 0x4000_0000_0000;

fn slot(len_ctrl: u32, word1: u32, ptr: u64) -> Vec<u8> {
    let (a, b) = (len_ctrl.to_le_bytes(), word1.to_le_bytes());
    a.into_iter().chain(b).chain(ptr.to_le_bytes()).collect()
}

/// A Tx and an Rx ring of 32 slots: three copies of 4 KiB and a completion pair, no barrier.
fn rings() -> [Vec<u8>; 2] {
    let (mut tx, mut rx) = (Vec::new(), Vec::new());
    for i in 0..3u64 {
        tx.extend(slot(0x0d00_1000, 0x0108_0003, HOST | (0x400a_3000 + i * 4096)));
        rx.extend(slot(0x0100_1000, 0, 0x1000_0000 + i * 4096));
    }
    tx.extend(slot(0x0d00_0004, 0x0108_0003, HOST | 0x4006_1000));
    rx.extend(slot(0x0100_0004, 0, HOST | 0x4006_1004));
    [tx, rx].map(|mut r| {
        r.resize(32 * 16, 0);
        r
    })
}

fn folder() -> TempDir {
    let dir = TempDir::new().unwrap();
    let [tx, rx] = rings();
    std::fs::write(dir.path().join("tx.bin"), &tx).unwrap();
    std::fs::write(dir.path().join("rx.bin"), &rx).unwrap();
    std::fs::write(dir.path().join("rx16.bin"), &rx[..256]).unwrap();
    let mut short = rx;
    short[32..34].copy_from_slice(&2048u16.to_le_bytes());
    std::fs::write(dir.path().join("short.bin"), short).unwrap();
    let turned: Vec<u8> = tx.chunks(4).flat_map(|w| w.iter().rev().copied()).collect();
    std::fs::write(dir.path().join("turned.bin"), turned).unwrap();
    dir
}

#[test]
fn a_race_of_a_made_up_host_is_a_note_wherever_it_is_told() {
    let dir = folder();
    let (check, status) = dmadbg(dir.path(), &["check", "tx.bin", "rx.bin"], "");
    assert!(check.contains("note[R030]") && !check.contains("error[R030]"), "{check}");
    assert_eq!(status, 0);
    let script = ["run", "--no-init", "tx.bin", "rx.bin", "-e", "goto end", "-e", "info races"];
    let (told, status) = dmadbg(dir.path(), &script, "");
    assert!(told.contains("note[R030]") && !told.contains("error[R030]"), "{told}");
    assert_eq!(status, 0);
}

#[test]
fn no_free_slots_are_told_of_a_ring_that_the_driver_does_not_hand_out() {
    let dir = folder();
    let run = |e: &str| dmadbg(dir.path(), &["run", "--no-init", "tx.bin", "rx.bin", "-e", e], "");
    for e in ["print free", "print q0.free", "print q0.tx.free"] {
        let (told, status) = run(e);
        assert!(told.contains("the driver hands out none of its slots"), "{told}");
        assert_eq!(status, 2);
    }
    assert!(!run("info queue").0.contains("free"));
    let (rings, _) = run("info rings");
    assert!(rings.lines().any(|l| l.contains(" tx ") && l.contains("32        -")), "{rings}");
}

#[test]
fn a_short_packet_leaves_the_completion_pair_to_its_own() {
    let dir = folder();
    let (told, status) = dmadbg(dir.path(), &["check", "tx.bin", "short.bin"], "");
    assert!(!told.contains("R023") && !told.contains("PKT_LEN"), "{told}");
    assert!(told.contains("no Rx descriptor is left for the other 2044: the queue stalls (MODEL)"));
    assert!(told.contains("warning[R005]"), "{told}");
    assert_eq!(status, 1);
}

#[test]
fn only_the_ring_of_no_legal_size_is_said_to_be_of_none() {
    let dir = folder();
    let (told, _) = dmadbg(dir.path(), &["check", "tx.bin", "rx16.bin"], "");
    assert_eq!(told.matches("warning[D029]").count(), 1, "{told}");
    assert!(told.contains("D029]: 16 slots"), "{told}");
}

#[test]
fn images_that_are_mixed_up_say_so_before_all_else() {
    let dir = folder();
    let first = |args: &[&str]| {
        let (told, _) = dmadbg(dir.path(), args, "");
        (told.lines().next().unwrap_or_default().to_owned(), told)
    };
    let (line, _) = first(&["check", "--tx", "rx.bin", "--rx", "tx.bin"]);
    assert!(line.starts_with("warning[D022]: the images look swapped"), "{line}");
    let (line, told) = first(&["check", "tx.bin", "tx.bin"]);
    assert!(line.starts_with("warning[D022]: both images are tx rings"), "{line}");
    assert_eq!(told.matches("D022").count(), 1, "{told}");
    let (line, told) = first(&["check", "turned.bin"]);
    assert!(line.starts_with("warning[D006]: the bytes of each 32-bit word"), "{line}");
    assert!(told.contains("--endian=big"), "{told}");
    let (line, told) = first(&["check", "--tx", "tx.bin", "--rx", "rx.bin"]);
    assert!(!line.contains("D022") && !told.contains("D006"), "{told}");
}

#[test]
fn a_kernel_log_may_hold_lines_of_others() {
    let dir = folder();
    let log = "[12.0] neuron: desc 0: 0d001000 05080003 400a3000 00004000\n\
               [12.1] other: unrelated message with deadbeef\n\
               [12.2] irq: 00000021\n\
               [12.3] neuron: desc 1: 0d000004 01080003 40061000 00004000\n";
    let (told, status) = dmadbg(dir.path(), &["decode", "-"], log);
    assert_eq!(status, 0, "{told}");
    assert!(told.contains("tx, 2 slots"), "{told}");
    assert!(dmadbg(dir.path(), &["info", "-"], log).0.contains("; 2 other lines passed over"));
    // A wrong letter in data is told, not passed over.
    let typo = log.replace("05080003", "0508000g");
    let (told, status) = dmadbg(dir.path(), &["decode", "-"], &typo);
    assert!(told.contains("error[D040]") && told.contains(":1:"), "{told}");
    assert_eq!(status, 2);
}

#[test]
fn what_a_file_allows_goes_with_what_is_saved_of_it() {
    let dir = TempDir::new().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sample = root.join("sample-programs/timeout.dma");
    let sample = sample.to_str().unwrap();
    let save = |file: &str| {
        let e = format!("save {file}");
        dmadbg(dir.path(), &["run", "--no-init", sample, "-e", &e], "").0
    };
    save("a.dma");
    let last = |file: &str| {
        let (told, _) = dmadbg(dir.path(), &["check", file], "");
        let line = told.lines().last().unwrap_or_default().to_owned();
        line.split_once(": ").map(|l| l.1.to_owned()).unwrap_or_default()
    };
    assert_eq!(last("a.dma"), last(sample));
    assert!(last("a.dma").ends_with("5 allowed"), "{}", last("a.dma"));
    assert!(save("a.bin").contains("an image has no comments"));
}

#[test]
fn the_marker_is_a_place_for_x_and_an_empty_slot_has_no_length() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sample = "sample-programs/copy-4k.dma";
    for e in ["x/1wx marker", "x/1wx q0.marker"] {
        let (told, _) = dmadbg(root, &["run", "--no-init", sample, "-e", e], "");
        assert!(told.contains("0x400040061004 marker"), "{told}");
    }
    let (csv, _) = dmadbg(root, &["export", sample, "--as", "descriptors"], "");
    let lengths = csv.lines().skip(1).filter_map(|l| l.split(',').nth(9)?.parse::<u64>().ok());
    assert_eq!(lengths.sum::<u64>(), 2 * 4100);
    let (told, _) = dmadbg(root, &["run", "--no-init", sample, "-e", "print tx[99].dmb"], "");
    assert!(!told.contains("help:"), "{told}");
    let (told, _) = dmadbg(root, &["info", "sample-programs/gather.bir"], "");
    assert!(told.contains("batches     9, rung by its triggers"), "{told}");
}

#[test]
fn a_wrong_phase_is_blamed_on_the_slot_that_the_engine_will_refuse() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let args = ["run", "--no-init", "sample-programs/copy-4k.dma", "-e", "doorbell"];
    let rest = ["-e", "set tx[0].ring_id = 2", "-e", "info checks", "-e", "goto end"];
    let (told, _) = dmadbg(root, &[&args[..], &rest[..]].concat(), "");
    assert!(told.contains("D017] e128.q0.tx[0]: slot 0 carries phase 2"), "{told}");
    assert!(told.contains("PREFETCH_RING_ID") && !told.contains("tx[1]: slot 1"), "{told}");
}
