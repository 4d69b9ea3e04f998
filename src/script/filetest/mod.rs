//! File tests: what the comments of a `.bir`, `.dma`, `.dbg` or `.hex` file say that must come of it
//! (`docs/file-tests.md`).
//!
//! A header comment says what to run. Comments on lines say what is found there, `expect`
//! lines of the header what is found elsewhere, and a block at the end what is printed. This
//! room reads them ([`parse`]), compares them with what came ([`FileTest::judge`]), and writes
//! what came in their place ([`rewrite`]). It runs nothing and reads no file.

mod matching;
mod read;
mod rewrite;

pub use matching::{Actual, Found, Verdict};
pub use read::{has_test, parse};
pub use rewrite::rewrite;

use crate::diag::Severity;

/// How a file is written: its comments, and what its first line may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grammar {
    /// A module as text.
    Bir,
    /// DMA assembly.
    Dma,
    /// A script.
    Dbg,
    /// A ring image in hex digits.
    Hex,
}

impl Grammar {
    /// The grammar of a file by the extension of its name.
    pub fn of(name: &str) -> Option<Grammar> {
        match name.rsplit_once('.')?.1 {
            "bir" => Some(Grammar::Bir),
            "dma" => Some(Grammar::Dma),
            "dbg" => Some(Grammar::Dbg),
            "hex" => Some(Grammar::Hex),
            _ => None,
        }
    }

    /// The sign that begins a comment.
    pub fn sign(self) -> char {
        match self {
            Grammar::Bir | Grammar::Dma => ';',
            Grammar::Dbg | Grammar::Hex => '#',
        }
    }

    /// The word that its first line begins with, where there is one.
    fn header(self) -> Option<&'static str> {
        match self {
            Grammar::Bir => Some("bir"),
            Grammar::Dma => Some("dma"),
            Grammar::Dbg => Some(super::runner::HEADER),
            Grammar::Hex => None,
        }
    }
}

/// What a test does with its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Judges it.
    Check,
    /// Lowers it, stage by stage.
    Lower,
    /// Runs it.
    Run,
    /// Assembles it to an image.
    Asm,
    /// Writes it as assembly.
    Disasm,
    /// Draws the screen.
    Render,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] =
        [Kind::Check, Kind::Lower, Kind::Run, Kind::Asm, Kind::Disasm, Kind::Render];

    /// The subcommand of this name does it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Check => "check",
            Kind::Lower => "lower",
            Kind::Run => "run",
            Kind::Asm => "asm",
            Kind::Disasm => "disasm",
            Kind::Render => "render",
        }
    }

    /// Options of the subcommand that a test may use: they choose how something is done or
    /// shown, and none writes a file or runs a program. Parameters of the lowering come in
    /// addition.
    pub fn options(self) -> impl Iterator<Item = &'static str> {
        const RINGS: &[&str] =
            &["arch", "profile", "engine", "queue", "ring", "start", "batch", "slots"];
        const MODULES: &[&str] = &["ring-slots", "memory-in"];
        const JUDGED: &[&str] = &["format", "allow", "deny", "reading"];
        const LOWER: &[&str] = &[
            "stop-after",
            "print-before",
            "print-after",
            "print-after-all",
            "verify",
            "bisect",
            "emit",
            "arch",
            "profile",
            "format",
        ];
        let groups: &[&[&str]] = match self {
            Kind::Check => &[RINGS, MODULES, JUDGED],
            Kind::Lower => &[LOWER, MODULES],
            Kind::Run => &[&["stage"], RINGS, MODULES, JUDGED],
            Kind::Asm | Kind::Disasm => &[RINGS],
            Kind::Render => &[&["size", "keys", "ascii"], RINGS, MODULES],
        };
        groups.iter().copied().flatten().copied()
    }
}

/// One `test:` line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestRun {
    /// What is done.
    pub kind: Kind,
    /// Options, word by word.
    pub args: Vec<String>,
    /// The line that says so.
    pub line: u64,
    /// The exit status that must come.
    pub status: u8,
    /// The line that says that, where one does.
    status_line: Option<u64>,
    /// What must be printed, line by line without blanks at their ends; `None` where the file
    /// does not say.
    pub output: Option<Vec<String>>,
}

/// Where something is found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spot {
    /// On a line of the file.
    Line(u64),
    /// Elsewhere: a place as findings write it, or anywhere.
    Elsewhere(Option<String>),
}

/// A finding that must come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// How bad.
    pub severity: Severity,
    /// Its code.
    pub code: &'static str,
    /// What its message holds.
    pub text: String,
    /// Where it is found.
    pub spot: Spot,
    /// The line on which this is written.
    pub line: u64,
}

/// What the comments of a file say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTest {
    /// How the file is written.
    pub grammar: Grammar,
    /// The file that a script runs, as its header names it.
    pub program: Option<(String, u64)>,
    /// What is to be run.
    pub runs: Vec<TestRun>,
    /// What is to be found.
    pub expectations: Vec<Expectation>,
    /// For each line of the file (the first is at 0) the line of the nearest code at or above.
    homes: Vec<Option<u64>>,
    /// The last line of the header that says something.
    last_said: u64,
    /// The first line of the output blocks.
    blocks: Option<u64>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
