//! Files that are no plain files, and files that change while they are open: the right answer
//! or a diagnostic, in bounded time and memory (`docs/formats.md`, "Opening").
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(unix)]

mod odd_support;

use odd_support::{PATIENCE, Terminal, dmadbg, ended, orderly, sh, told};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Commands that read a file as what it is.
const READERS: &[&str] = &["decode", "info", "check", "run", "disasm"];

/// A Tx ring of so many slots: more than a mebibyte is mapped.
fn ring(path: &Path, slots: usize) {
    let mut bytes = Vec::with_capacity(slots * 16);
    for i in 0..slots as u64 {
        bytes.extend(0x0d00_1000u32.to_le_bytes());
        bytes.extend(0x0108_0003u32.to_le_bytes());
        bytes.extend((0x4000_0000_0000 + i * 4096).to_le_bytes());
    }
    fs::write(path, bytes).unwrap();
}

const SLOTS: usize = 1 << 18;

/// A command that is in the middle of a file: its first line is read, and its output waits.
struct Held {
    child: Child,
    out: ChildStdout,
}

impl Held {
    fn new(args: &[&str], home: &Path) -> Held {
        let mut c = dmadbg(home);
        let mut child = c.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let mut byte = [0];
        out.read_exact(&mut byte).unwrap();
        Held { child, out }
    }

    /// Lets it end: status, bytes of output, what it said.
    fn end(mut self) -> (Option<i32>, usize, String) {
        let mut rest = Vec::new();
        self.out.read_to_end(&mut rest).unwrap();
        let out = self.child.wait_with_output().unwrap();
        (out.status.code(), rest.len(), String::from_utf8(out.stderr).unwrap())
    }
}

#[test]
fn a_file_that_is_cut_written_to_or_grows_while_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.tx.bin");
    let name = path.to_str().unwrap();
    type Change = fn(&Path);
    let changes: [(&str, Change); 5] = [
        ("was cut from 4194304 to 1048576 bytes", |p| {
            OpenOptions::new().write(true).open(p).unwrap().set_len(1 << 20).unwrap();
        }),
        ("was cut from 4194304 to 0 bytes", |p| drop(File::create(p).unwrap())),
        ("grew from 4194304 to 4194320 bytes", |p| {
            OpenOptions::new().append(true).open(p).unwrap().write_all(&[0; 16]).unwrap();
        }),
        ("was written to", |p| {
            std::thread::sleep(Duration::from_millis(20));
            OpenOptions::new().write(true).open(p).unwrap().write_all(&[0; 16]).unwrap();
        }),
        ("", |p| {
            // Another file of the name: this one stays as it is.
            let other = p.with_extension("new");
            fs::write(&other, "dma 1\n").unwrap();
            fs::rename(&other, p).unwrap();
        }),
    ];
    for (said, change) in changes {
        for args in [&["decode", name][..], &["export", name, "--as", "descriptors"][..]] {
            ring(&path, SLOTS);
            let held = Held::new(args, dir.path());
            change(&path);
            let (status, bytes, text) = held.end();
            assert!(bytes > 1 << 16, "{args:?}: it goes on to the end: {bytes}");
            if said.is_empty() {
                assert_eq!((status, text.contains("D035")), (Some(0), false), "{args:?} {text}");
            } else {
                assert!(text.contains(said), "{args:?} {said}: {text}");
                assert!(text.contains("error[D035]"), "{text}");
                assert_eq!(status, Some(2), "{args:?} {said}: {text}");
            }
        }
    }
}

#[test]
fn a_file_that_is_cut_below_the_screen() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.tx.bin");
    let cut = |to| OpenOptions::new().write(true).open(&path).unwrap().set_len(to).unwrap();
    // One that is watched is held whole: what it was stays, and the first line says so.
    ring(&path, SLOTS);
    let mut t = Terminal::start(120, 36, &[], &[path.as_os_str()]);
    t.wait_for("262144 slots");
    t.keys(":info reload\r");
    t.wait_for("the files are watched");
    t.keys("\x1b");
    t.wait_gone("the files are watched");
    cut(0);
    t.wait_for("BROKEN");
    // To the last slot, which was not looked at before.
    t.keys("\x1b[F");
    t.wait_for("0x0000_4000_3fff_f000");
    assert!(!t.screen().contains("D035"), "{}", t.screen());
    ring(&path, 64);
    t.wait_for("64 slots");
    assert!(!t.screen().contains("BROKEN"), "{}", t.screen());
    assert!(t.leave().success());
    // One that is not is mapped: what is no longer there is told of when it is looked at.
    ring(&path, SLOTS);
    let args = ["--no-watch".as_ref(), path.as_os_str()];
    let mut t = Terminal::start(120, 36, &[], &args);
    t.wait_for("262144 slots");
    cut(0);
    t.keys("G");
    t.wait_for("D035");
    assert!(t.screen().contains("was cut from"), "{}", t.screen());
    t.keys("\x1b");
    t.keys("gGgG");
    t.keys("q");
    assert!(t.end().success());
}

/// A small file is read at once: what changes meanwhile is not taken for what it was.
#[test]
fn a_small_file_that_is_being_written_is_whole_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.tx.bin");
    let (stop, writer) =
        (std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)), { path.clone() });
    let done = stop.clone();
    ring(&path, 64);
    let thread = std::thread::spawn(move || {
        while !done.load(std::sync::atomic::Ordering::Relaxed) {
            ring(&writer, 64);
        }
    });
    for _ in 0..30 {
        let out = ended(dmadbg(dir.path()).args(["check"]).arg(&path));
        orderly(&out, &[0, 1, 2]);
        if out.status.code() == Some(2) {
            let text = told(&out);
            // Caught between the cut and the write, or in the middle of it.
            assert!(["D035", "D001", "D002"].iter().any(|c| text.contains(c)), "{text}");
        }
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    thread.join().unwrap();
}

fn mkfifo(path: &Path) -> bool {
    Command::new("mkfifo").arg(path).status().is_ok_and(|s| s.success())
}

#[test]
fn a_fifo_is_read_to_its_end_and_not_waited_for_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    if !mkfifo(&path) {
        println!("skipped: no mkfifo");
        return;
    }
    let words = "0d001000 01080003 00000000 00004000\n";
    // A writer that comes late, and one that writes in pieces.
    let to = path.clone();
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        let mut f = OpenOptions::new().write(true).open(to).unwrap();
        for part in words.as_bytes().chunks(9) {
            f.write_all(part).unwrap();
            std::thread::sleep(Duration::from_millis(60));
        }
    });
    let out = ended(dmadbg(dir.path()).arg("decode").arg(&path));
    writer.join().unwrap();
    assert_eq!(out.status.code(), Some(0), "{}", told(&out));
    // One that says nothing at all, and none.
    let begun = Instant::now();
    let out = ended(dmadbg(dir.path()).arg("decode").arg(&path));
    assert_eq!(out.status.code(), Some(2), "{}", told(&out));
    assert!(told(&out).contains("nobody wrote to it in 10 seconds"), "{}", told(&out));
    assert!(begun.elapsed() < PATIENCE / 2);
}

#[test]
fn what_is_no_file_is_refused_with_a_word_or_read() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let below = dir.path().join("s/x");
    for (path, said) in [
        (socket.as_path(), "is a socket"),
        (below.as_path(), "cannot read"),
        (Path::new("/dev/null"), "is empty"),
        (Path::new("/dev/zero"), "goes on beyond 1073741824 bytes"),
        (Path::new("/proc/self/mem"), "cannot read"),
        (Path::new("/proc/self/cmdline"), "error[D0"),
        (Path::new("/proc/version"), "error[D003]"),
        (Path::new("/proc/self/task"), "no file named"),
        (Path::new("/dev/stdin"), "is empty"),
        (Path::new("-"), "is empty"),
    ] {
        if path.starts_with("/proc") && !Path::new("/proc/version").exists() {
            continue;
        }
        // The endless one takes its time.
        let readers = if path.ends_with("zero") { &READERS[..1] } else { READERS };
        for reader in readers {
            let out = ended(dmadbg(dir.path()).arg(reader).arg(path));
            assert_eq!(out.status.code(), Some(2), "{reader}: {}", told(&out));
            assert!(told(&out).contains(said), "{reader} {}: {}", path.display(), told(&out));
            assert!(out.stdout.is_empty(), "{reader}: {}", told(&out));
        }
    }
    // A script, a memory file and a configuration that are none.
    for args in [
        &["run", "sample-programs/copy-4k.dma", "--script", "/dev/zero"][..],
        &["lower", "sample-programs/copy.bir", "--memory-in", "/proc/self/mem"],
        &["test", "/proc/self/mem"],
        &["fmt", "/dev/null"],
        &["diff", "/dev/null", "/dev/null"],
        &["encode", "--lines", "/proc/self/mem"],
    ] {
        let out = ended(dmadbg(dir.path()).args(args));
        orderly(&out, &[2]);
    }
}

#[test]
fn streams_by_their_device_names() {
    let dir = tempfile::tempdir().unwrap();
    let words = "printf '0d001000 01080003 00000000 00004000\\n'";
    for line in [
        format!("{words} | $BIN decode /dev/stdin"),
        format!("{words} | $BIN decode -"),
        format!("{words} >$HOME/w.hex; $BIN decode /dev/stdin <$HOME/w.hex"),
        format!("(sleep 0.3; {words}) | $BIN decode /dev/stdin"),
        format!("(sleep 0.3; {words}) | $BIN decode /proc/self/fd/0"),
    ] {
        let out = sh(&line, dir.path());
        assert_eq!(out.status.code(), Some(0), "{line}: {}", told(&out));
        assert!(told(&out).contains("0x0000400000000000"), "{line}: {}", told(&out));
    }
}

#[test]
fn names_that_are_no_utf_8_are_names() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(OsStr::from_bytes(b"a\xff\x1b[31m\xfe.tx.bin"));
    if fs::write(&path, []).is_err() {
        println!("skipped: this file system has no such names");
        return;
    }
    ring(&path, 64);
    for reader in ["decode", "info", "check"] {
        let out = ended(dmadbg(dir.path()).arg(reader).arg(&path));
        assert_eq!(out.status.code(), Some(0), "{reader} {}", told(&out));
        assert!(!told(&out).contains('\x1b'), "{reader} {}", told(&out));
    }
    let gone = dir.path().join(OsStr::from_bytes(b"b\xff"));
    let out = ended(dmadbg(dir.path()).arg("check").arg(&gone));
    assert!(told(&out).contains("error[D007]"), "{}", told(&out));
    // Saved under such a name, byte for byte.
    let to = dir.path().join(OsStr::from_bytes(b"c\xff.csv"));
    let out = ended(
        dmadbg(dir.path()).arg("export").arg(&path).args(["--as", "descriptors", "-o"]).arg(&to),
    );
    assert_eq!(out.status.code(), Some(0), "{}", told(&out));
    assert!(fs::metadata(&to).unwrap().len() > 64);
    // And on the screen.
    let mut t = Terminal::start(120, 36, &[], &[path.as_os_str()]);
    t.wait_for("tx");
    t.keys("q");
    assert!(t.end().success());
    assert!(!t.raw().windows(5).any(|w| w == b"\x1b[31m"), "the name is shown escaped");
}

#[test]
fn a_file_that_may_not_be_read_and_a_directory() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.tx.bin");
    ring(&path, 64);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if File::open(&path).is_err() {
        let out = ended(dmadbg(dir.path()).arg("check").arg(&path));
        assert!(told(&out).contains("error[D007]"), "{}", told(&out));
    } else {
        println!("no permission: not tested, this user may read everything");
    }
    let empty = dir.path().join("d");
    fs::create_dir(&empty).unwrap();
    for args in [
        &["check"][..],
        &["run", "sample-programs/copy-4k.dma", "--script"],
        &["lower", "sample-programs/copy.bir", "--memory-in"],
        &["decode", "--tx"],
    ] {
        let out = ended(dmadbg(dir.path()).args(args).arg(&empty));
        assert_eq!(out.status.code(), Some(2), "{}", told(&out));
        assert!(told(&out).contains("error["), "{}", told(&out));
    }
}
