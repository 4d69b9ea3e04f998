//! Recorded vectors: where they are, and a count of what was compared.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use std::path::{Path, PathBuf};

/// The folder named by `DMADBG_GOLDEN`. Unset: says that it skips. Set and missing or empty:
/// panics, since then something was meant to be compared.
pub fn golden() -> Option<PathBuf> {
    let Some(dir) = std::env::var_os("DMADBG_GOLDEN") else {
        println!("skipped: DMADBG_GOLDEN is not set");
        return None;
    };
    let dir = PathBuf::from(dir);
    let entries =
        std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("DMADBG_GOLDEN={}: {e}", dir.display()));
    assert!(entries.count() > 0, "DMADBG_GOLDEN={} is empty", dir.display());
    Some(dir)
}

/// A JSON file below the folder.
pub fn load_json(dir: &Path, name: &str) -> Value {
    let path = dir.join(name);
    let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Counts what was compared; a test that compared nothing fails.
#[derive(Default)]
pub struct Compared(u64);

impl Compared {
    /// Nothing yet.
    pub fn new() -> Compared {
        Compared::default()
    }

    /// One more.
    pub fn add(&mut self) {
        self.0 += 1;
    }

    /// Prints the count.
    pub fn finish(self, what: &str) {
        assert!(self.0 > 0, "no {what} was compared");
        println!("compared {} {what}", self.0);
    }
}
