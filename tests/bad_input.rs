//! Bad input: one clear diagnostic with its place, exit status 2, nothing on standard output.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::load::{asm, container};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn dmadbg(args: &[&str]) -> Output {
    with_input(args, b"")
}

fn with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .args(args)
        .env_remove("XDG_CONFIG_HOME")
        .env("HOME", "/nonexistent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program may leave without reading all of it.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// Commands that read a file as what it is.
const READERS: &[&str] = &["decode", "info", "check", "run", "disasm"];

/// Every reader refuses the file with this code, once, says where, and prints nothing else.
fn refused(path: &str, code: &str) {
    for reader in READERS {
        let out = dmadbg(&[reader, path]);
        let text = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{reader} {path}: {text}");
        assert!(out.stdout.is_empty(), "{reader} {path}");
        assert!(text.starts_with(&format!("error[{code}]: ")), "{reader} {path}: {text}");
        assert_eq!(text.matches("error[").count(), 1, "{reader}: one thing is wrong: {text}");
        assert!(text.contains("  --> "), "{reader}: no place: {text}");
        assert!(!text.contains("panicked"), "{text}");
        let out = dmadbg(&[reader, path, "--format", "json"]);
        assert_eq!(out.status.code(), Some(2));
        let text = String::from_utf8(out.stderr).unwrap();
        let d: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(d["code"], code);
        for key in ["severity", "message", "file", "labels"] {
            assert!(d.get(key).is_some(), "{reader}: no {key} in {d}");
        }
    }
}

fn sample() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-programs/authored-concat.dma");
    let text = std::fs::read_to_string(path).unwrap();
    container::write(&asm::assemble(&text).unwrap().program).unwrap()
}

#[test]
fn an_empty_file() {
    let f = Folder::new();
    refused(&f.file("empty.bin", b""), "D001");
}

#[test]
fn an_empty_directory() {
    let f = Folder::new();
    std::fs::create_dir(f.path("dump")).unwrap();
    refused(f.path("dump").to_str().unwrap(), "D008");
}

#[test]
fn a_path_that_does_not_exist_or_may_not_be_read() {
    let f = Folder::new();
    let file = f.file("ring.bin", &[0; 16]);
    refused(f.path("nothing.bin").to_str().unwrap(), "D007");
    refused(&format!("{file}/below"), "D007");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
        if std::fs::read(&file).is_err() {
            refused(&file, "D007");
        } else {
            let said = "no permission: not tested, this user may read everything\n";
            std::io::stderr().write_all(said.as_bytes()).unwrap();
        }
    }
}

#[test]
fn fifteen_and_seventeen_bytes() {
    let f = Folder::new();
    refused(&f.file("15.bin", &[0xd0; 15]), "D002");
    refused(&f.file("17.bin", &[0xd0; 17]), "D002");
}

#[test]
fn a_container_cut_anywhere() {
    let f = Folder::new();
    let whole = sample();
    for n in [17, 40, 64, whole.len() / 2, whole.len() - 16, whole.len() - 1] {
        let path = f.file("cut.bin", &whole[..n]);
        let out = dmadbg(&["info", &path]);
        assert_eq!(out.status.code(), Some(2), "{n}");
        let text = String::from_utf8(out.stderr).unwrap();
        assert!(text.contains("error[D03") && text.contains("byte 0x"), "{n}: {text}");
    }
    refused(&f.file("cut.bin", &whole[..whole.len() / 2]), "D031");
}

#[test]
fn any_flipped_byte_of_a_container() {
    let f = Folder::new();
    let whole = sample();
    for i in (8..whole.len()).step_by(61) {
        let mut bytes = whole.clone();
        bytes[i] ^= 0x10;
        let out = dmadbg(&["info", &f.file("flipped.bin", &bytes)]);
        let text = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "byte {i}: {text}");
        assert!(text.contains("error[D03"), "byte {i}: {text}");
    }
    let mut bytes = whole.clone();
    let last = bytes.len() - 20;
    bytes[last] ^= 1;
    refused(&f.file("flipped.bin", &bytes), "D032");
}

#[test]
fn lengths_and_counts_that_lie() {
    // Each 32-bit word of the header and table in turn becomes 4 GiB; the checksums are not
    // mended, so that the answer may be theirs, but nothing may be allocated or crash.
    let f = Folder::new();
    let whole = sample();
    for at in (8..200.min(whole.len() - 4)).step_by(4) {
        let mut bytes = whole.clone();
        bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        let out = dmadbg(&["info", &f.file("lies.bin", &bytes)]);
        assert_eq!(out.status.code(), Some(2), "word at {at}");
        assert!(String::from_utf8(out.stderr).unwrap().contains("error[D03"), "word at {at}");
    }
}

/// A changed image whose checksums are right again.
fn mended(mut bytes: Vec<u8>) -> Vec<u8> {
    let word = |b: &[u8], at: usize| u32::from_le_bytes(b[at..at + 4].try_into().unwrap()) as usize;
    let table = 32..32 + 32 * word(&bytes, 12);
    let Some(entries) = bytes.get(table.clone()).map(<[u8]>::to_vec) else {
        return with_own_checksum(bytes);
    };
    for (i, e) in entries.chunks(32).enumerate() {
        let (at, len) = (word(e, 8), word(e, 16));
        if let Some(section) = at.checked_add(len).and_then(|end| bytes.get(at..end)) {
            let crc = crc32fast::hash(section).to_le_bytes();
            bytes[32 + 32 * i + 24..][..4].copy_from_slice(&crc);
        }
    }
    let crc = crc32fast::hash(&bytes[table]).to_le_bytes();
    bytes[24..28].copy_from_slice(&crc);
    with_own_checksum(bytes)
}

fn with_own_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let crc = crc32fast::hash(&bytes[..28]).to_le_bytes();
    bytes[28..32].copy_from_slice(&crc);
    bytes
}

/// The table entry of a section, and where the section lies.
fn section(image: &[u8], kind: &[u8; 4]) -> (usize, usize) {
    let entry = (32..).step_by(32).find(|at| &image[*at..*at + 4] == kind).unwrap();
    let at = u64::from_le_bytes(image[entry + 8..entry + 16].try_into().unwrap());
    (entry, usize::try_from(at).unwrap())
}

#[test]
fn lengths_and_counts_that_lie_under_right_checksums() {
    let f = Folder::new();
    let whole = sample();
    assert_eq!(mended(whole.clone()), whole);
    let with = |at: usize, value: &[u8]| {
        let mut bytes = whole.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        f.file("lies.bin", &mended(bytes))
    };
    for n in [4106u32, u32::MAX] {
        refused(&with(12, &n.to_le_bytes()), "D025");
    }
    refused(&with(16, &(1u64 << 32).to_le_bytes()), "D031");
    for kind in [b"QUEU", b"REGN", b"CONT", b"REGS", b"VARS", b"SCRP"] {
        let (entry, at) = section(&whole, kind);
        let count = u32::from_le_bytes(whole[at..at + 4].try_into().unwrap());
        for n in [count + 1, i32::MAX as u32, u32::MAX] {
            refused(&with(at, &n.to_le_bytes()), "D033");
        }
        for n in [1u64 << 32, u64::MAX] {
            refused(&with(entry + 8, &n.to_le_bytes()), "D033");
            refused(&with(entry + 16, &n.to_le_bytes()), "D033");
        }
    }
    // A ring and a region of 4 GiB slots and more: said once, without what follows from it.
    let (_, queues) = section(&whole, b"QUEU");
    let (_, regions) = section(&whole, b"REGN");
    for n in [1u64 << 32, u64::MAX] {
        refused(&with(queues + 4 + 20, &n.to_le_bytes()), "D052");
    }
    refused(&with(regions + 4 + 12, &u64::MAX.to_le_bytes()), "D052");
    refused(&with(regions + 4 + 4, &u64::MAX.to_le_bytes()), "D052");
    // Another queue is declared than the one that every operation is for.
    refused(&with(queues + 8, &1u32.to_le_bytes()), "D051");
}

#[test]
fn hex_text_with_a_bad_digit() {
    let f = Folder::new();
    let text = "00000000: 0010 000d 0300 0805 0030 0a40 0010 0000  .........0.@....\n\
                00000010: 0400 00zd 0300 0801 0010 0640 0010 0000  ...........@....\n";
    let path = f.file("ring.hex", text.as_bytes());
    refused(&path, "D040");
    let out = dmadbg(&["decode", &path]);
    let shown = String::from_utf8(out.stderr).unwrap();
    assert!(shown.contains("ring.hex:2:") && shown.contains('^'), "{shown}");
    let out = with_input(&["decode", "-"], text.as_bytes());
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8(out.stderr).unwrap().contains("<stdin>:2:"));
}

#[test]
fn binary_content_under_a_text_name_and_formats_of_others() {
    let f = Folder::new();
    let noise: Vec<u8> =
        (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    refused(&f.file("module.bir", &noise), "D004");
    refused(&f.file("prog.dma", &noise), "D004");
    let mut neff = b"NEFF".to_vec();
    neff.extend([0; 60]);
    refused(&f.file("model.neff", &neff), "D005");
    refused(&f.file("module.json", b"{\"version\": 2}"), "B006");
    refused(&f.file("script.dbg", b"dbg 1\nstep\n"), "D003");
}

#[test]
fn all_mistakes_of_an_assembly_at_once() {
    let f = Folder::new();
    let text = "dma 1\narch v9\nqueue e128.q0 tx=0x400040041000 tx_size=63 rx=0x400040021000 rx_size=64 marker=0 allocatable=yes\n\
                init e128.q0\ncopy e128.q1 src=0 dst=0 size=4\nfrobnicate e128.q0\n";
    let out = dmadbg(&["asm", &f.file("bad.dma", text.as_bytes()), "-o", "/dev/null"]);
    let shown = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2));
    for line in ["bad.dma:2:", "bad.dma:5:", "bad.dma:6:"] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    assert!(shown.contains('^'));
}

#[test]
fn all_mistakes_of_a_script_at_once_and_nothing_runs() {
    let f = Folder::new();
    let script = f.file("bad.dbg", b"echo first\nstpe\nbreak tx[\nprint tx[0].dbm\n");
    let out = dmadbg(&["run", "sample-programs/copy-4k.dma", "--script", &script]);
    let shown = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(out.stdout.is_empty(), "nothing runs");
    for line in ["bad.dbg:2:1", "bad.dbg:3:", "bad.dbg:4:13"] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
}

#[test]
fn a_failed_assertion_is_1_and_a_wrong_command_is_2() {
    let f = Folder::new();
    let run = |text: &str| {
        let script = f.file("t.dbg", text.as_bytes());
        dmadbg(&["run", "sample-programs/copy-4k.dma", "--script", &script]).status.code()
    };
    assert_eq!(run("goto end\nexpect ret 0\n"), Some(0));
    assert_eq!(run("assert event == 7\n"), Some(1));
    assert_eq!(run("expect fault PKT_LEN\n"), Some(1));
    assert_eq!(run("print mem32[0]\n"), Some(2));
    assert_eq!(run("break tx[64]\n"), Some(2));
}

#[test]
fn a_run_that_ends_badly_is_1_unless_it_was_expected() {
    let f = Folder::new();
    let run = |args: &[&str]| {
        let mut all = vec!["run", "sample-programs/timeout.dma"];
        all.extend(args);
        dmadbg(&all).status.code()
    };
    assert_eq!(run(&[]), Some(1));
    let script = f.file("t.dbg", b"goto end\nexpect timeout 1\nexpect race\n");
    assert_eq!(run(&["--script", &script]), Some(0));
}

#[test]
fn all_ones_decodes_with_notes_and_fails_the_check() {
    let f = Folder::new();
    let path = f.file("ones.bin", &[0xff; 64]);
    let out = dmadbg(&["decode", &path, "--ring", "tx", "--format", "json"]);
    assert_eq!(out.status.code(), Some(0));
    let text = String::from_utf8(out.stdout).unwrap();
    assert_eq!(text.lines().count(), 4);
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(!row["notes"].as_array().unwrap().is_empty());
    }
    let out = dmadbg(&["check", &path, "--ring", "rx"]);
    assert_eq!(out.status.code(), Some(1), "{}", String::from_utf8_lossy(&out.stdout));
}

#[test]
fn options_that_make_no_sense() {
    let refused = |args: &[&str]| {
        let out = dmadbg(args);
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(!out.stderr.is_empty(), "{args:?}");
    };
    for args in [
        &["decode", "--arch", "v9", "0x1"][..],
        &["decode", "--as", "nothing", "0x1"],
        &["check", "sample-programs/copy-4k.dma", "--profile", "dkms-9"],
        &["check", "sample-programs/copy-4k.dma", "--slots", "9:3"],
        &["run"],
        &["no-such-command-and-no-such-file"],
        &["run", "sample-programs/copy-4k.dma", "--script", "nothing.dbg"],
    ] {
        refused(args);
    }
}

#[test]
fn slots_that_no_ring_has() {
    let f = Folder::new();
    let ring = f.file("ring.bin", &[0xff; 64]);
    for option in [["--slots", "4:9"], ["--start", "4"], ["--start", "18446744073709551615"]] {
        for reader in ["decode", "info", "check"] {
            let out = dmadbg(&[reader, &ring, option[0], option[1]]);
            let text = String::from_utf8(out.stderr).unwrap();
            assert_eq!(out.status.code(), Some(2), "{reader} {option:?}: {text}");
            assert!(out.stdout.is_empty(), "{reader} {option:?}");
            assert!(text.contains("error[S011]") && text.contains("  --> "), "{text}");
        }
    }
    assert_eq!(dmadbg(&["decode", &ring, "--slots", "3:9", "--start", "0"]).status.code(), Some(0));
}

#[test]
fn a_directory_where_a_ring_is_expected() {
    let f = Folder::new();
    let ring = f.file("ring.bin", &[0xff; 64]);
    for reader in READERS {
        let out = dmadbg(&[reader, "--tx", f.path("").to_str().unwrap(), "--rx", &ring]);
        let text = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{reader}: {text}");
        assert!(text.starts_with("error[D007]: ") && text.contains("  --> "), "{text}");
    }
}

#[test]
fn every_finding_names_its_input() {
    let out = dmadbg(&["run", "sample-programs/timeout.dma", "--format", "json"]);
    let f = Folder::new();
    let ring = f.file("ring.bin", &[0xff; 64]);
    let raw = dmadbg(&["decode", &ring, "--format", "json"]);
    let info = dmadbg(&["info", &ring, "--format", "json"]);
    for out in [out, raw, info] {
        let text = String::from_utf8(out.stderr).unwrap();
        let lines = text.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok());
        for d in lines.filter(|d| d.get("severity").is_some()) {
            assert!(d["file"].is_string(), "{d}");
        }
    }
}

#[test]
fn nothing_from_a_file_reaches_the_terminal_raw() {
    let f = Folder::new();
    let name = "evil\u{1b}[2J.bin";
    let path = f.file(name, &[0xd0; 15]);
    let out = dmadbg(&["check", &path]);
    assert!(!out.stderr.contains(&0x1b), "{}", String::from_utf8_lossy(&out.stderr));
    let text = "dma 1\narch v3\nprofile dkms-2.26\n\
                region \"a\\x1b[2J\" kind=host base=0x1000 len=16 fill=zero\n\
                queue e128.q0 tx=0x400040041000 tx_size=64 rx=0x400040021000 rx_size=64 marker=0x1000 allocatable=yes\n\
                init e128.q0 note=\"x\\x1b[2J\"\nwait e128.q0 marker=0x1000 count=2\n";
    let path = f.file("names.dma", text.as_bytes());
    let script = f.file("look.dbg", b"goto end\ninfo memory\nx/4wx 0x1000\ninfo batches\nwhere\n");
    for args in [&["info"][..], &["check"], &["disasm"], &["run"], &["run", "--script", &script]] {
        for form in ["text", "json"] {
            let out = dmadbg(&[args, &[&path, "--format", form]].concat());
            let said = String::from_utf8_lossy(&out.stderr);
            assert_ne!(out.status.code(), Some(2), "{args:?}: read as what it is: {said}");
            assert!(!out.stderr.contains(&0x1b) && !out.stdout.contains(&0x1b), "{args:?}");
        }
    }
}

/// Runs it with 256 MiB of address space.
fn in_little_room(args: &[&str]) -> Output {
    Command::new("sh")
        .args(["-c", "ulimit -v 262144; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_dmadbg")])
        .args(args)
        .env_remove("XDG_CONFIG_HOME")
        .env("HOME", "/nonexistent")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// What the engine holds is shared between checkpoints, however much a packet or the doorbells
/// of a held engine make it hold.
#[test]
fn a_run_that_holds_much_needs_little_memory() {
    let f = Folder::new();
    let slots = 65_520;
    let desc = |len_ctrl: u32, word1: u32, ptr: u64| {
        let mut b = [len_ctrl.to_le_bytes(), word1.to_le_bytes()].concat();
        b.extend(ptr.to_le_bytes());
        b
    };
    // One source of as many bytes as there are destinations of one byte.
    let mut tx = desc(0x0d00_0000 | slots, 0x0108_0003, 0x1000);
    tx.resize(16 * slots as usize, 0);
    let rx = (0..slots).flat_map(|i| desc(0x0100_0001, 0, 0x100_0000 + u64::from(i)));
    let (tx, rx) = (f.file("tx.bin", &tx), f.file("rx.bin", &rx.collect::<Vec<u8>>()));
    let pair = ["run", "--batch", "all", "--tx", &tx, "--rx", &rx];

    let head = std::fs::read_to_string("sample-programs/copy-4k.dma").unwrap();
    let head = head.split("\ncopy ").next().unwrap();
    let bell = "start e128.q0 m2s=1 s2m=1\n".repeat(60_000);
    let held = f.file("held.dma", format!("{head}\ndevice_hold\n{bell}").as_bytes());

    for args in [&pair[..], &["run", &held]] {
        let out = in_little_room(args);
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(matches!(out.status.code(), Some(0 | 1)), "{args:?}: {:?} {text}", out.status);
        let said = String::from_utf8(out.stdout).unwrap();
        let event = said.strip_prefix("event ").and_then(|s| s.split_once(' ')).unwrap().0;
        assert!(event.parse::<u32>().unwrap() > 3 * slots - 100, "{args:?}: {said}");
    }
}
