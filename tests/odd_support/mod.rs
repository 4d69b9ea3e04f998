//! The real binary under odd circumstances: runs that must end in time, and the pseudo-terminal of
//! `terminal_support`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, dead_code)]

#[path = "../terminal_support/mod.rs"]
mod terminal_support;

use std::path::Path;
use std::process::{Command, Output, Stdio};
#[allow(unused_imports)]
pub use terminal_support::{PATIENCE, Terminal};

pub const BIN: &str = env!("CARGO_BIN_EXE_dmadbg");

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
