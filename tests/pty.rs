//! The real program in a pseudo-terminal: keys in, screen read back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long anything may take to appear: generous, since the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

struct Screen {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    seen: Arc<Mutex<(vt100::Parser, Vec<u8>)>>,
}

fn some(n: u16) -> std::num::NonZeroU16 {
    std::num::NonZeroU16::new(n).unwrap()
}

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-programs").join(name)
}

impl Screen {
    fn open(args: &[&str], (cols, rows): (u16, u16), env: &[(&str, &str)]) -> Screen {
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut cmd = CommandBuilder::new(env!("CARGO_BIN_EXE_dmadbg"));
        cmd.args(args);
        cmd.cwd(env!("CARGO_MANIFEST_DIR"));
        cmd.env("TERM", "xterm-256color");
        cmd.env("LANG", "C.UTF-8");
        cmd.env_remove("NO_COLOR");
        cmd.env_remove("LC_ALL");
        for (name, value) in env {
            cmd.env(name, value);
        }
        let child = pair.slave.spawn_command(cmd).unwrap();
        drop(pair.slave);
        let seen =
            Arc::new(Mutex::new((vt100::Parser::new(some(rows), some(cols), 0), Vec::new())));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let sink = seen.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n) = reader.read(&mut buffer) {
                if n == 0 {
                    break;
                }
                let mut sink = sink.lock().unwrap();
                sink.0.process(&buffer[..n]);
                sink.1.extend_from_slice(&buffer[..n]);
            }
        });
        let keys = pair.master.take_writer().unwrap();
        Screen { master: pair.master, keys, child, seen }
    }

    fn text(&self) -> String {
        self.seen.lock().unwrap().0.screen().contents()
    }

    fn raw(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap().1).into_owned()
    }

    /// Waits until the screen holds all of these.
    fn shows(&self, wanted: &[&str]) -> String {
        let begin = Instant::now();
        loop {
            let text = self.text();
            if wanted.iter().all(|w| text.contains(w)) {
                return text;
            }
            assert!(begin.elapsed() < PATIENCE, "{wanted:?} did not appear in\n{text}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn keys(&mut self, keys: &str) -> &mut Screen {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
        self
    }

    /// The escape key, by itself: a key right behind it would make it Alt.
    fn escape(&mut self) -> &mut Screen {
        self.keys("\x1b");
        std::thread::sleep(Duration::from_millis(200));
        self
    }

    fn ended(&mut self) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // What it wrote last may still be on its way.
                std::thread::sleep(Duration::from_millis(100));
                return status;
            }
            assert!(begin.elapsed() < PATIENCE, "it does not end:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The terminal is as it was: no alternate screen, the cursor seen, no mouse.
    fn is_restored(&self) {
        let seen = self.seen.lock().unwrap();
        let screen = seen.0.screen();
        assert!(!screen.alternate_screen(), "the alternate screen is left");
        assert!(!screen.hide_cursor(), "the cursor is shown");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    }

    #[cfg(unix)]
    fn signal(&self, name: &str) {
        let pid = self.child.process_id().unwrap().to_string();
        let sent = std::process::Command::new("kill").args([&format!("-{name}"), &pid]).status();
        assert!(sent.unwrap().success());
    }
}

fn copy_4k(size: (u16, u16)) -> Screen {
    Screen::open(&["sample-programs/copy-4k.dma", "--no-init"], size, &[])
}

#[test]
fn opens_steps_rings_flips_the_marker_goes_back_and_quits() {
    let mut s = copy_4k((160, 45));
    s.shows(&["copy-4k.dma", "v3", "CAYMAN", "event 0", "stage", "doorbell", "poll"]);
    // The doorbell: everything is posted, the marker has not flipped.
    s.keys("d");
    s.shows(&["event 27", "posted", "0x0000_0000"]);
    // To the marker's flip, by a breakpoint on the command line.
    s.keys(":break marker\r").shows(&["breakpoint 1"]);
    s.keys("c").shows(&["event 36", "now   0xabcd_ef01"]);
    // Back to the doorbell, where it has not.
    s.keys("D").shows(&["event 27", "now   0x0000_0000"]);
    s.keys("g").shows(&["event 0"]);
    s.keys("G").shows(&["event 46", "[ack]"]);
    s.keys("q");
    assert!(s.ended().success());
    s.is_restored();
}

#[test]
fn help_and_inline_errors() {
    let mut s = copy_4k((120, 36));
    s.shows(&["event 0"]);
    s.keys("?").shows(&["reverse-step"]);
    s.escape();
    s.keys(":stpe 3\r").shows(&["S001", "step"]);
    s.escape();
    s.keys(":goto 19\r").shows(&["event 19"]);
    // History: the line before comes back.
    s.keys(":\x1b[A").shows(&["goto 19"]);
    s.escape();
    s.keys("q");
    assert!(s.ended().success());
    s.is_restored();
}

#[test]
fn adapts_to_the_size_and_survives_a_resize_down_to_nothing() {
    let mut s = copy_4k((80, 24));
    s.shows(&["event 0", "copy-4k"]);
    for (cols, rows) in [(40, 10), (1, 1), (3, 2), (200, 60), (120, 36)] {
        s.master.resize(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).unwrap();
        s.seen.lock().unwrap().0.screen_mut().set_size(some(rows), some(cols));
        std::thread::sleep(Duration::from_millis(60));
        s.keys("e");
    }
    s.shows(&["event 5"]);
    s.keys("q");
    assert!(s.ended().success());
    s.is_restored();
}

#[test]
fn the_mouse_selects_a_slot_and_a_bit() {
    let mut s = copy_4k((160, 45));
    s.keys("G");
    let text = s.shows(&["event 46"]);
    // The row of slot 1, its completion pair: a click has it explained.
    let ring_row = text.lines().position(|l| l.contains(" 1*")).unwrap() + 1;
    s.keys(&format!("\x1b[<0;10;{ring_row}M\x1b[<0;10;{ring_row}m"));
    let text = s.shows(&["tx[1]", "4 bytes from"]);
    // The digit under FIRST's bit number, 26: a click names the field.
    let numbers = text.lines().position(|l| l.contains("31  30 29")).unwrap();
    let line = text.lines().nth(numbers).unwrap();
    let column = line[..line.find("26").unwrap()].chars().count() + 2;
    let row = numbers + 2;
    s.keys(&format!("\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m"));
    s.shows(&["first = yes"]);
    s.keys("q");
    assert!(s.ended().success());
    s.is_restored();
}

#[test]
fn no_colour_is_sent_where_none_is_wanted() {
    let path = sample("copy-4k.dma");
    let mut s = Screen::open(&[path.to_str().unwrap()], (120, 36), &[("NO_COLOR", "1")]);
    s.keys("d").shows(&["event 27"]);
    s.keys("q");
    assert!(s.ended().success());
    let raw = s.raw();
    let coloured = raw.match_indices("\x1b[").any(|(i, _)| {
        let seq: String =
            raw[i + 2..].chars().take_while(|c| c.is_ascii_digit() || *c == ';').collect();
        let ends = raw[i + 2 + seq.len()..].starts_with('m');
        ends && seq.split(';').any(|n| matches!(n.parse::<u32>(), Ok(30..=38 | 40..=48 | 90..=107)))
    });
    assert!(!coloured, "a colour was sent");
}

#[cfg(unix)]
#[test]
fn the_terminal_is_restored_after_signals() {
    for name in ["TERM", "HUP", "INT"] {
        let mut s = copy_4k((100, 30));
        s.shows(&["event 0"]);
        s.signal(name);
        s.ended();
        s.is_restored();
    }
}

#[test]
fn output_to_a_pipe_is_refused_with_advice() {
    let path = sample("copy-4k.dma");
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .arg(path)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(2));
    let text = String::from_utf8(out.stderr).unwrap();
    assert!(text.contains("terminal") && text.contains("run"), "{text}");
    assert!(out.stdout.is_empty());
}
