//! The real program in a pseudo-terminal, for tests: keys in, the screen read back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, dead_code)]

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZero;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What is opened: its first copy fits one batch, its ring goes round.
pub const ARGS: &[&str] = &["sample-programs/wrap.dma"];

/// Longer than anything here takes on a busy machine, and no hang.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What entering and leaving the alternate screen send.
pub const ENTER: &[u8] = b"\x1b[?1049h";
pub const LEAVE: &[u8] = b"\x1b[?1049l";

pub fn cells(n: u16) -> NonZero<u16> {
    NonZero::new(n).unwrap()
}

pub struct Terminal {
    pub master: Box<dyn MasterPty + Send>,
    pub writer: Box<dyn Write + Send>,
    pub child: Box<dyn Child + Send + Sync>,
    pub seen: Arc<Mutex<(vt100::Parser, Vec<u8>)>>,
    /// What the program keeps, and reads, of a user: nobody else's.
    pub home: tempfile::TempDir,
}

impl Terminal {
    pub fn open(columns: u16, rows: u16) -> Terminal {
        Terminal::open_with(columns, rows, &[])
    }

    pub fn open_with(columns: u16, rows: u16, env: &[(&str, &str)]) -> Terminal {
        let t = Terminal::start(columns, rows, env, ARGS);
        t.wait_for("event 0 of ");
        t
    }

    /// Starts the program with these arguments; an empty value takes a variable away.
    pub fn start(
        columns: u16,
        rows: u16,
        env: &[(&str, &str)],
        args: &[impl AsRef<std::ffi::OsStr>],
    ) -> Terminal {
        Terminal::start_program(env!("CARGO_BIN_EXE_dmadbg"), columns, rows, env, args)
    }

    pub fn start_program(
        program: &str,
        columns: u16,
        rows: u16,
        env: &[(&str, &str)],
        args: &[impl AsRef<std::ffi::OsStr>],
    ) -> Terminal {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(env!("CARGO_MANIFEST_DIR"));
        command.env("LC_ALL", "C.UTF-8");
        command.env("TERM", "xterm-256color");
        command.env_remove("NO_COLOR");
        let home = tempfile::tempdir().unwrap();
        for folder in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
            command.env(folder, home.path());
        }
        for (name, value) in env {
            if value.is_empty() { command.env_remove(name) } else { command.env(name, value) }
        }
        let child = pair.slave.spawn_command(command).unwrap();
        let seen =
            Arc::new(Mutex::new((vt100::Parser::new(cells(rows), cells(columns), 0), Vec::new())));
        let (to, mut reader) = (seen.clone(), pair.master.try_clone_reader().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                let mut seen = to.lock().unwrap();
                seen.0.process(&bytes[..n]);
                let raw = &mut seen.1;
                raw.extend_from_slice(&bytes[..n]);
                // The newest is enough, and a long run is no reason to keep more.
                if raw.len() > 4 << 20 {
                    raw.drain(..2 << 20);
                }
            }
        });
        let writer = pair.master.take_writer().unwrap();
        Terminal { master: pair.master, writer, child, seen, home }
    }

    pub fn screen(&self) -> String {
        self.seen.lock().unwrap().0.screen().contents()
    }

    pub fn raw(&self) -> Vec<u8> {
        self.seen.lock().unwrap().1.clone()
    }

    pub fn keys(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    pub fn resize(&mut self, columns: u16, rows: u16) {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let mut seen = self.seen.lock().unwrap();
        seen.0.screen_mut().set_size(cells(rows.max(1)), cells(columns.max(1)));
        drop(seen);
        self.master.resize(size).unwrap();
    }

    pub fn wait(&self, what: &str, mut done: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !done() {
            assert!(begun.elapsed() < PATIENCE, "{what}:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn wait_for(&self, text: &str) {
        self.wait(text, || self.screen().contains(text));
    }

    pub fn wait_gone(&self, text: &str) {
        self.wait(text, || !self.screen().contains(text));
    }

    /// The event number in the first line.
    pub fn position(&self) -> u64 {
        let screen = self.screen();
        let line = screen.lines().next().unwrap_or_default();
        let at = line.find("event ").unwrap() + 6;
        line[at..].split_whitespace().next().unwrap().parse().unwrap()
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.process_id().unwrap().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// How it ended; where it took the screen it must have given it back.
    pub fn end(&mut self) -> portable_pty::ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.wait("leave the alternate screen", || self.last_switch() != Some(ENTER));
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What was sent last of entering and leaving the alternate screen.
    fn last_switch(&self) -> Option<&'static [u8]> {
        let raw = self.raw();
        raw.windows(ENTER.len()).rev().find_map(|w| [ENTER, LEAVE].into_iter().find(|s| *s == w))
    }

    /// Leaves from wherever it is, and how it ended. An escape that is read together with the
    /// next key is that key with Alt, so it is tried again.
    pub fn leave(&mut self) -> portable_pty::ExitStatus {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            for keys in ["\x1b", ":quit\r"] {
                // It may have ended meanwhile.
                let _ = self.writer.write_all(keys.as_bytes());
                let _ = self.writer.flush();
                std::thread::sleep(Duration::from_millis(100));
            }
            let asked = Instant::now();
            while asked.elapsed() < Duration::from_secs(3) {
                if self.child.try_wait().unwrap().is_some() {
                    return self.end();
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        panic!("it does not end:\n{}", self.screen());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}
