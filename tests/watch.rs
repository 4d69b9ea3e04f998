//! `dmadbg watch`: real files, the real program, its output through a pipe.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(unix)]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PROGRAM: &str = "dma 1
arch v3
profile dkms-2.26
queue e128.q0 tx=0x400040041000 tx_size=64 rx=0x400040021000 rx_size=64 marker=marker allocatable=yes
region hbm kind=device base=0x10000000 len=0x1000 fill=zero
region marker kind=host base=0x400040061000 len=24 fill=zero
region buffer kind=host base=0x4000400a3000 len=0x1000 fill=pattern:13
init e128.q0
copy e128.q0 src=buffer dst=hbm size=64
";

struct Watch {
    dir: TempDir,
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    /// Watches `p.dma` with these scripts and options.
    fn new(scripts: &[(&str, &str)], args: &[&str]) -> Watch {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("p.dma"), PROGRAM).unwrap();
        for (name, text) in scripts {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let mut child = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
            .args(["watch", "p.dma"])
            .args(args)
            .current_dir(dir.path())
            .env_remove("XDG_CONFIG_HOME")
            .env("HOME", "/nonexistent")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (to, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if to.send(line).is_err() {
                    break;
                }
            }
        });
        Watch { dir, child, lines }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// All lines up to the one that holds `end`.
    fn until(&self, end: &str) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(Duration::from_secs(30)) {
                Ok(line) => {
                    seen.push(line);
                    if seen.last().unwrap().contains(end) {
                        return seen;
                    }
                }
                Err(_) => panic!("no `{end}` in {seen:#?}"),
            }
        }
    }

    fn quiet(&self) {
        let more = self.lines.recv_timeout(Duration::from_millis(500));
        assert!(more.is_err(), "{more:?}");
    }

    fn signal(&mut self, name: &str) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn has(lines: &[String], part: &str) -> bool {
    lines.iter().any(|l| l.contains(part))
}

#[test]
fn a_change_of_the_program_or_the_script_shows_what_is_different() {
    let mut w = Watch::new(
        &[("s.dbg", "source t.dbg\nprint tx[0].length\n"), ("t.dbg", "goto end\n")],
        &["--script", "s.dbg"],
    );
    let first = w.until("status 0");
    assert!(first[0].contains("watching p.dma, s.dbg, t.dbg"), "{first:?}");
    assert!(has(&first, "tx[0].length = 64 (0x40)"), "{first:?}");
    // The program, truncated and written.
    w.write("p.dma", &PROGRAM.replace("size=64\n", "size=128\n"));
    let told = w.until("status 0");
    assert_eq!(told[0], "-- p.dma changed");
    assert!(has(&told, "-tx[0].length = 64 (0x40)"), "{told:?}");
    assert!(has(&told, "+tx[0].length = 128 (0x80)"), "{told:?}");
    // What the script sources, replaced by a rename.
    w.write("t.tmp", "goto end\nassert ret == 1\n");
    std::fs::rename(w.path("t.tmp"), w.path("t.dbg")).unwrap();
    let told = w.until("status 0 -> 1");
    assert_eq!(told[0], "-- t.dbg changed");
    assert!(has(&told, "appeared:") && has(&told, "error[S007]: ret == 1 is 0"), "{told:?}");
    // The script itself, deleted and made again: it sources nothing any more.
    std::fs::remove_file(w.path("s.dbg")).unwrap();
    let told = w.until("not run");
    assert!(has(&told, "error[S009]") && has(&told, "the last outcome stays"), "{told:?}");
    w.write("s.dbg", "goto end\n");
    let told = w.until("status 1 -> 0");
    assert!(has(&told, "gone:") && has(&told, "error[S007]"), "{told:?}");
    w.write("t.dbg", "nonsense\n");
    w.quiet();
    assert_eq!(w.signal("-INT"), Some(0));
}

#[test]
fn a_broken_file_is_shown_and_the_last_good_outcome_stays_to_compare_with() {
    let mut w = Watch::new(&[], &["-e", "goto end", "-e", "print tx[0].length"]);
    w.until("status 0");
    // Cut in the middle of a statement.
    w.write("p.dma", PROGRAM.strip_suffix("e=64\n").unwrap());
    let told = w.until("not run");
    assert!(has(&told, "error[D050]") && has(&told, "p.dma:9:"), "{told:?}");
    w.write("p.dma", PROGRAM);
    let told = w.until("the same");
    assert_eq!(told[1], "the outcome is the same: status 0");
    w.write("p.dma", &PROGRAM.replace("size=64\n", "size=128\n"));
    assert!(has(&w.until("status 0"), "+tx[0].length = 128 (0x80)"));
    assert_eq!(w.signal("-TERM"), Some(0));
}

#[test]
fn changes_as_json_are_a_line_for_each_run() {
    let mut w = Watch::new(&[], &["--format", "json", "-e", "print tx[0].length"]);
    let line = |w: &Watch| -> serde_json::Value {
        serde_json::from_str(&w.lines.recv_timeout(Duration::from_secs(30)).unwrap()).unwrap()
    };
    assert_eq!(line(&w)["schema"], "dmadbg.watch/1");
    let first = line(&w);
    assert_eq!((&first["run"], &first["status"]), (&1.into(), &0.into()));
    w.write("p.dma", &PROGRAM.replace("dst=hbm", "dst=0xdead0000"));
    let second = line(&w);
    assert_eq!((&second["run"], &second["changed"][0]), (&2.into(), &"p.dma".into()));
    assert_eq!(w.signal("-TERM"), Some(0));
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let out = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .args(["watch", "-"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8(out.stderr).unwrap().contains("cannot be watched"));
}

/// Processor time of a process so far, in ticks.
fn ticks(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut after = text.rsplit(')').next()?.split_whitespace().skip(11);
    Some(after.next()?.parse::<u64>().ok()? + after.next()?.parse::<u64>().ok()?)
}

#[test]
fn while_nothing_changes_nothing_runs() {
    if !Path::new("/proc/self/stat").exists() {
        return;
    }
    let w = Watch::new(&[], &[]);
    w.until("status 0");
    w.quiet();
    let before = ticks(w.child.id()).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(ticks(w.child.id()).unwrap(), before);
}
