//! Whatever is written to a file is there whole or not at all: on a full disk, on one that may
//! not be written, with a limit to a file's size, when the program is killed, and for whoever
//! reads at the same time (`docs/hostile.md`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(unix)]

mod odd_support;

use odd_support::{BIN, Terminal, dmadbg, ended, told};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

const DMA: &str = "sample-programs/copy-4k.dma";
const BIR: &str = "sample-programs/copy.bir";

/// Everything that writes a file, and the name of that file in the folder; `{}` is the folder.
const WRITERS: &[(&[&str], &str)] = &[
    (&["asm", DMA, "-o", "{}/f.bin"], "f.bin"),
    (&["disasm", DMA, "-o", "{}/f.dma"], "f.dma"),
    (&["lower", BIR, "--emit", "image", "-o", "{}/f.bin"], "f.bin"),
    (&["lower", BIR, "--emit", "bir", "-o", "{}/f.bir"], "f.bir"),
    (&["gen", "--seed", "3", "-o", "{}/f.bir"], "f.bir"),
    (&["gen", "--seed", "3", "--memory-out", "{}/f.json"], "f.json"),
    (&["run", BIR, "--memory-out", "{}/f.json"], "f.json"),
    (&["run", DMA, "-e", "save! {}/f.dma"], "f.dma"),
    (&["run", DMA, "-e", "save! {}/f.bin"], "f.bin"),
    (&["run", DMA, "-e", "goto end", "-e", "export events {}/f.jsonl"], "f.jsonl"),
    (&["export", DMA, "-o", "{}/f.jsonl"], "f.jsonl"),
    (&["export", DMA, "--as", "events-csv", "-o", "{}/f.csv"], "f.csv"),
    (&["export", DMA, "--as", "perfetto", "-o", "{}/f.pb"], "f.pb"),
    (&["export", DMA, "--as", "descriptors", "-o", "{}/f.csv"], "f.csv"),
    (&["render", DMA, "-o", "{}/f.svg"], "f.svg"),
    (&["test", "sample-programs/errors", "--junit", "{}/f.xml"], "f.xml"),
];

/// What lies in a folder.
fn listing(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |e: fs::DirEntry| {
        (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap_or_default())
    };
    fs::read_dir(folder).unwrap().map(|e| read(e.unwrap())).collect()
}

fn args(of: &[&str], folder: &Path) -> Vec<String> {
    of.iter().map(|a| a.replace("{}", folder.to_str().unwrap())).collect()
}

/// A shell line in which `"$@"` is the program.
fn sh(line: &str, args: &[String], home: &Path) -> Output {
    let mut c = Command::new("sh");
    c.args(["-c", line, "sh", BIN]).args(args).current_dir(env!("CARGO_MANIFEST_DIR"));
    for folder in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        c.env(folder, home);
    }
    ended(&mut c)
}

/// Refused with status 2 and a word, and the folder is as it was.
fn refused(what: &str, out: &Output, before: &BTreeMap<String, Vec<u8>>, folder: &Path) {
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{what}: {}", told(out));
    assert!(said.contains("[D007]") && said.contains("cannot write"), "{what}: {said}");
    assert!(!said.contains("panicked"), "{what}: {said}");
    assert!(listing(folder) == *before, "{what}: the folder is not as it was");
}

#[test]
fn every_writer_writes_the_whole_file_in_place_of_the_old_one() {
    let dir = tempfile::tempdir().unwrap();
    for (call, file) in WRITERS {
        let folder = dir.path().join("w");
        fs::create_dir(&folder).unwrap();
        let path = folder.join(file);
        fs::write(&path, "old").unwrap();
        let out = ended(dmadbg(dir.path()).args(args(call, &folder)));
        assert_eq!(out.status.code(), Some(0), "{call:?}: {}", told(&out));
        let names: Vec<String> = listing(&folder).into_keys().collect();
        assert_eq!(names, [*file], "{call:?}: nothing else is left behind");
        let new = fs::read(&path).unwrap();
        assert!(new != b"old" && new.len() > 20, "{call:?}");
        // Through a link the file that it names is written, and the link stays.
        let link = folder.join(format!("link-{file}"));
        fs::rename(&path, folder.join("real")).unwrap();
        fs::write(folder.join("real"), "old").unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        let linked =
            args(call, &folder).iter().map(|a| a.replace("/f.", "/link-f.")).collect::<Vec<_>>();
        let out = ended(dmadbg(dir.path()).args(linked));
        assert_eq!(out.status.code(), Some(0), "{call:?}: {}", told(&out));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{call:?}");
        assert_ne!(fs::read(folder.join("real")).unwrap(), b"old", "{call:?}");
        fs::remove_dir_all(&folder).unwrap();
    }
}

/// A file that may have no bytes: every write fails, as on a full disk.
#[test]
fn a_limit_to_the_size_of_files_leaves_the_old_one() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("w");
    fs::create_dir(&folder).unwrap();
    for (call, file) in WRITERS {
        fs::write(folder.join(file), "old").unwrap();
        let before = listing(&folder);
        // Where the signal is not ignored it ends the program, as it ends every other.
        let out = sh("trap '' XFSZ; ulimit -f 0; exec \"$@\"", &args(call, &folder), dir.path());
        refused(&format!("{call:?}"), &out, &before, &folder);
    }
}

/// What writes several files into a folder.
#[test]
fn a_folder_gets_whole_files_or_none() {
    let dir = tempfile::tempdir().unwrap();
    for call in [
        &["man", "-o", "{}"][..],
        &["sample", "copy", "copy-4k.dma", "-o", "{}"],
        &["grammars", "-o", "{}"],
        &["gen", "--count", "3", "-o", "{}"],
    ] {
        let folder = dir.path().join("w");
        fs::create_dir(&folder).unwrap();
        let out = sh("trap '' XFSZ; ulimit -f 0; exec \"$@\"", &args(call, &folder), dir.path());
        refused(&format!("{call:?}"), &out, &BTreeMap::new(), &folder);
        let out = ended(dmadbg(dir.path()).args(args(call, &folder)));
        assert_eq!(out.status.code(), Some(0), "{call:?}: {}", told(&out));
        let files = listing(&folder);
        assert!(!files.is_empty() && files.keys().all(|n| !n.starts_with('.')), "{call:?}");
        fs::remove_dir_all(&folder).unwrap();
    }
}

/// Whether file systems can be mounted here, by whoever runs this.
fn can_mount() -> bool {
    let tried = Command::new("unshare")
        .args(["-rm", "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"])
        .output();
    let can = tried.is_ok_and(|o| o.status.success());
    if !can {
        println!("skipped: file systems cannot be mounted here");
    }
    can
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    if !can_mount() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("disk");
    fs::create_dir(&folder).unwrap();
    // The disk is filled but for what lies there; afterwards there must be the same, and not one
    // file more. What it held is told by its checksums.
    let line = "\
        disk=$1; file=$2; shift 2
        mount -t tmpfs -o size=64k tmpfs \"$disk\" || exit 77
        echo old > \"$disk/$file\"
        dd if=/dev/zero of=\"$disk/fill\" bs=1k count=100 2>/dev/null
        before=$(cd \"$disk\"; ls -A; cksum *)
        \"$@\"; status=$?
        after=$(cd \"$disk\"; ls -A; cksum *)
        [ \"$before\" = \"$after\" ] || { echo \"$after\" >&2; exit 78; }
        exit $status";
    for (call, file) in WRITERS {
        let mut c = Command::new("unshare");
        c.args(["-rm", "sh", "-c", line, "sh"]).arg(&folder).arg(file).arg(BIN);
        c.args(args(call, &folder)).current_dir(env!("CARGO_MANIFEST_DIR")).env("HOME", dir.path());
        let out = ended(&mut c);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{call:?}: {}", told(&out));
        assert!(said.contains("[D007]") && said.contains("No space left"), "{call:?}: {said}");
    }
}

#[test]
fn a_disk_that_may_only_be_read_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("disk");
    fs::create_dir(&folder).unwrap();
    let mounts = can_mount();
    let line = "\
        disk=$1; file=$2; shift 2
        mount -t tmpfs -o size=64k tmpfs \"$disk\" && echo old > \"$disk/$file\" || exit 77
        mount -o remount,ro \"$disk\" || exit 77
        \"$@\"; status=$?
        [ \"$(ls -A \"$disk\")\" = \"$file\" ] && [ \"$(cat \"$disk/$file\")\" = old ] || exit 78
        exit $status";
    for (call, file) in WRITERS {
        if mounts {
            let mut c = Command::new("unshare");
            c.args(["-rm", "sh", "-c", line, "sh"]).arg(&folder).arg(file).arg(BIN);
            c.args(args(call, &folder)).current_dir(env!("CARGO_MANIFEST_DIR"));
            let out = ended(c.env("HOME", dir.path()));
            refused(&format!("{call:?}"), &out, &BTreeMap::new(), &folder);
        }
        // No file can be made there by anybody.
        let out = ended(dmadbg(dir.path()).args(args(call, Path::new("/proc"))));
        refused(&format!("{call:?}"), &out, &BTreeMap::new(), &folder);
        let out = ended(dmadbg(dir.path()).args(args(call, &dir.path().join("no/such"))));
        refused(&format!("{call:?}"), &out, &BTreeMap::new(), &folder);
    }
}

/// What is written over its own input.
#[test]
fn files_that_are_written_in_place_stay_where_they_cannot_be() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("w");
    fs::create_dir(&folder).unwrap();
    let module = "bir 2 gen3\n\n\n\nfunc m {\n  block a:\n}\n";
    fs::write(folder.join("m.bir"), module).unwrap();
    let test = fs::read_to_string("sample-programs/errors/cce-sources.bir").unwrap();
    fs::write(folder.join("t.bir"), test.replace("status: 1", "status: 0")).unwrap();
    let before = listing(&folder);
    for (call, status) in
        [(["fmt", "--write", "{}/m.bir"], 2), (["test", "--bless", "{}/t.bir"], 2)]
    {
        let line = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
        let out = sh(line, &args(&call, &folder), dir.path());
        assert_eq!(out.status.code(), Some(status), "{}", told(&out));
        assert!(told(&out).contains("cannot write"), "{}", told(&out));
        assert!(listing(&folder) == before, "{call:?}");
    }
    for (call, status) in
        [(["fmt", "--write", "{}/m.bir"], 0), (["test", "--bless", "{}/t.bir"], 0)]
    {
        let out = ended(dmadbg(dir.path()).args(args(&call, &folder)));
        assert_eq!(out.status.code(), Some(status), "{}", told(&out));
    }
    let after = listing(&folder);
    assert!(
        after.len() == 2 && after["m.bir"] != before["m.bir"] && after["t.bir"] != before["t.bir"]
    );
}

/// A program of some megabytes, as assembly, and the image of it.
fn large(folder: &Path, fill: u8) -> (std::path::PathBuf, Vec<u8>) {
    let text = fs::read_to_string(DMA).unwrap();
    let bytes: String = (0..4000).map(|n| format!("{:02x}", (n as u8) ^ fill)).collect();
    let more = (0..200)
        .map(|n| {
            let base = 0x5000_0000_0000u64 + n * 0x1000;
            format!("region r{n} kind=host base={base:#x} len=4000 fill=zero\ncontent addr={base:#x} {{ hex {bytes} }}\n")
        })
        .collect::<String>();
    let path = folder.join(format!("{fill}.dma"));
    fs::write(&path, text + &more).unwrap();
    let image = folder.join(format!("{fill}.bin"));
    let out = ended(dmadbg(folder).args(["asm"]).arg(&path).arg("-o").arg(&image));
    assert!(out.status.success(), "{}", told(&out));
    let bytes = fs::read(&image).unwrap();
    assert!(bytes.len() > 700_000);
    (path, bytes)
}

#[test]
fn killed_while_it_writes_or_read_while_it_is_written_a_file_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (large(dir.path(), 1), large(dir.path(), 2));
    let folder = dir.path().join("w");
    fs::create_dir(&folder).unwrap();
    let target = folder.join("f.bin");
    fs::write(&target, &a.1).unwrap();
    let save = |from: &Path| {
        let mut c = dmadbg(dir.path());
        c.arg("asm").arg(from).arg("-o").arg(&target);
        c
    };
    let begun = Instant::now();
    assert!(ended(&mut save(&b.0)).status.success());
    let whole = begun.elapsed();
    let stop = AtomicBool::new(false);
    let (mut news, mut cut) = (0, 0);
    std::thread::scope(|s| {
        let reader = s.spawn(|| {
            let mut seen = 0;
            while !stop.load(Relaxed) {
                let bytes = fs::read(&target).unwrap();
                assert!(bytes == a.1 || bytes == b.1, "a half is seen: {} bytes", bytes.len());
                seen += 1;
            }
            seen
        });
        for n in 0..40u32 {
            let from = if n % 2 == 0 { &a } else { &b };
            let mut child = save(&from.0).spawn().unwrap();
            // Most are killed about the time at which they write, some are not.
            std::thread::sleep(whole * (n + 8) / 40);
            let killed = child.kill().is_ok();
            let status = child.wait().unwrap();
            cut += usize::from(killed && !status.success());
            let now = fs::read(&target).unwrap();
            assert!(now == a.1 || now == b.1, "{} bytes after being killed", now.len());
            news += usize::from(now == from.1);
        }
        stop.store(true, Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
    assert!(cut > 0 && news > 0, "{cut} killed, {news} written");
    // What a killed one leaves behind is hidden and in nobody's way.
    for name in listing(&folder).into_keys() {
        assert!(
            name == "f.bin" || (name.starts_with(".f.bin.") && name.ends_with(".tmp")),
            "{name}"
        );
    }
    assert!(ended(&mut save(&a.0)).status.success());
    assert_eq!(fs::read(&target).unwrap(), a.1);
}

/// What the screen keeps: the lines typed, the panes, lessons; and what it records.
#[test]
fn what_the_screen_keeps_is_whole_and_never_a_reason_to_fail() {
    let record = |t: &Terminal| t.home.path().join("r.dbg");
    let mut t = Terminal::start(100, 30, &[], &[OsStr::new(DMA)]);
    t.wait_for("event 0");
    t.keys(":step\r");
    t.wait_for("event 32");
    t.keys("q");
    assert!(t.end().success());
    let kept = t.home.path().join("dmadbg/history");
    assert_eq!(fs::read_to_string(&kept).unwrap(), "step\n");
    assert!(!record(&t).exists());
    let names = listing(&t.home.path().join("dmadbg"));
    assert!(names.keys().all(|n| !n.ends_with(".tmp")), "{:?}", names.keys());

    // A folder in which nothing can be kept: the work goes on, the file that is there stays.
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("dmadbg");
    fs::create_dir(&state).unwrap();
    fs::write(state.join("history"), "where\n").unwrap();
    let line = format!("trap '' XFSZ; ulimit -f 0; exec {BIN} {DMA}");
    let state_home = [("XDG_STATE_HOME", home.path().to_str().unwrap())];
    let mut t =
        Terminal::start_program("sh", 100, 30, &state_home, &[OsStr::new("-c"), OsStr::new(&line)]);
    t.wait_for("event 0");
    t.keys(":step\r");
    t.wait_for("event 32");
    t.keys("q");
    let status = t.end();
    assert!(status.success(), "{status:?}");
    // What takes no bytes fits anywhere.
    let mut names = listing(&state);
    assert_eq!(names.remove("history").unwrap(), b"where\n");
    assert!(names.iter().all(|(name, bytes)| name == "panes" && bytes.is_empty()), "{names:?}");
}
