//! The real binary under odd circumstances: a pseudo-terminal of any size and environment, and
//! runs that must end in time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, dead_code)]

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub const BIN: &str = env!("CARGO_BIN_EXE_dmadbg");

/// Longer than anything here takes on a busy machine, and no hang.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The program with nothing of the user's.
pub fn dmadbg(home: &Path) -> Command {
    let mut c = Command::new(BIN);
    c.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    for folder in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        c.env(folder, home);
    }
    c
}

/// What a shell line does; `$BIN` is the program.
pub fn sh(line: &str, home: &Path) -> Output {
    let mut c = Command::new("sh");
    c.arg("-c").arg(line).current_dir(env!("CARGO_MANIFEST_DIR")).env("BIN", BIN);
    for folder in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        c.env(folder, home);
    }
    ended(&mut c)
}

/// Runs to the end, which must come in time.
pub fn ended(command: &mut Command) -> Output {
    let what = format!("{command:?}");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    let (to, from) = std::sync::mpsc::channel();
    std::thread::spawn(move || to.send(child.wait_with_output()));
    match from.recv_timeout(PATIENCE) {
        Ok(out) => out.unwrap(),
        Err(_) => {
            let _ = Command::new("kill").args(["-9", &id.to_string()]).status();
            panic!("does not end: {what}");
        }
    }
}

/// Both streams as text and the exit status, for messages.
pub fn told(out: &Output) -> String {
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    format!("{:?}\n{}\n{}", out.status, text(&out.stdout), text(&out.stderr))
}

/// Neither a panic nor a signal.
pub fn orderly(out: &Output, statuses: &[i32]) {
    let code = out.status.code();
    assert!(code.is_some_and(|c| statuses.contains(&c)), "{}", told(out));
    assert!(!told(out).contains("panicked"), "{}", told(out));
}

/// Resident bytes of a process.
pub fn resident(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 4096
}

pub struct Terminal {
    pub master: Box<dyn MasterPty + Send>,
    pub writer: Box<dyn Write + Send>,
    pub child: Box<dyn Child + Send + Sync>,
    seen: Arc<Mutex<(vt100::Parser, Vec<u8>)>>,
    pub home: tempfile::TempDir,
}

impl Terminal {
    /// Starts the program with these arguments; an empty value takes a variable away.
    pub fn start(size: (u16, u16), env: &[(&str, &str)], args: &[&std::ffi::OsStr]) -> Terminal {
        Terminal::of(BIN, size, env, args)
    }

    /// The same with another program.
    pub fn of(
        program: &str,
        size: (u16, u16),
        env: &[(&str, &str)],
        args: &[&std::ffi::OsStr],
    ) -> Terminal {
        let (cols, rows) = size;
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
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
        drop(pair.slave);
        let cells = |n: u16| NonZero::new(n.max(1)).unwrap();
        let parser = vt100::Parser::new(cells(rows), cells(cols), 0);
        let seen = Arc::new(Mutex::new((parser, Vec::new())));
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

    pub fn resize(&mut self, cols: u16, rows: u16) {
        let cells = |n: u16| NonZero::new(n.max(1)).unwrap();
        self.seen.lock().unwrap().0.screen_mut().set_size(cells(rows), cells(cols));
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
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
                if let Some(status) = self.child.try_wait().unwrap() {
                    return status;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        panic!("it does not end:\n{}", self.screen());
    }

    /// How it ended.
    pub fn end(&mut self) -> portable_pty::ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}
