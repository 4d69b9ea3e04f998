//! The real binary, run to its end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, dead_code)]

use std::path::Path;
use std::process::Command;

pub struct Ran {
    pub status: i32,
    pub out: String,
    pub err: String,
}

pub fn run(args: &[&str]) -> Ran {
    let mut c = Command::new(env!("CARGO_BIN_EXE_dmadbg"));
    let out = c.args(args).env("NO_COLOR", "1").output().unwrap();
    Ran {
        status: out.status.code().unwrap(),
        out: String::from_utf8(out.stdout).unwrap(),
        err: String::from_utf8(out.stderr).unwrap(),
    }
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
