//! Pages of the documentation, and the commands that stand in their sentences.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, dead_code)]

use clap::Parser;
use clap::error::ErrorKind;
use dmadbg::cli::Cli;
use dmadbg::cli::args::{Cmd, SampleCmd};
use dmadbg::engine::ring::machine;
use dmadbg::learn::bundled::{LESSONS, Sample};
use dmadbg::load::{LoadOptions, open};
use dmadbg::udma::Dir;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The pages, by their path from the root: those of `docs/`, and the README.
pub fn pages() -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") {
            let path = format!("docs/{name}");
            let text = std::fs::read_to_string(root().join(&path)).unwrap();
            out.insert(path, text);
        }
    }
    out.insert("README.md".into(), std::fs::read_to_string(root().join("README.md")).unwrap());
    out
}

/// A fenced block: where it begins, what it is said to be, its lines.
#[derive(Debug)]
pub struct Block {
    /// Line of the fence, from 0.
    pub at: usize,
    pub says: String,
    pub lines: Vec<String>,
}

pub fn blocks(page: &str) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::new();
    let mut open = false;
    for (at, line) in page.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(says) => {
                open = true;
                out.push(Block { at, says: says.trim().to_owned(), lines: Vec::new() });
            }
            None if open => out.last_mut().unwrap().lines.push(line.to_owned()),
            None => {}
        }
    }
    assert!(!open, "a block is not closed");
    out
}

/// A page without its blocks, a line for a line.
pub fn prose(page: &str) -> Vec<&str> {
    let mut open = false;
    let mut outside = |line: &str| {
        let fence = line.starts_with("```");
        open ^= fence;
        !open && !fence
    };
    page.lines().map(|l| if outside(l) { l } else { "" }).collect()
}

/// The parts of a line between single backticks.
pub fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// What a reader is to fill in, and something of [`fixtures`] that fits. What a sentence calls
/// FILE is a module where only a module will do.
const PLACES: &[(&str, &str)] = &[
    ("FILE", "prog.dma"),
    ("FILE..", "prog.dma"),
    ("PATH..", "samples"),
    ("DIR", "samples"),
    ("A", "prog.dma"),
    ("B", "other.dma"),
    ("F", "memory.json"),
    ("S", "t.dbg"),
    ("S.dbg", "t.dbg"),
    ("OUT", "out"),
    ("VERB", "decode"),
    ("SUBJECT", "tx[0]"),
    ("FORM", "events"),
    ("STAGE", "split"),
    ("SHELL", "bash"),
    ("CODE", "D001"),
    ("NAME", "copy-4k"),
    ("LESSON", "words"),
    ("PROGRAM", "true"),
    ("N", "1"),
];

/// Verbs that do something without arguments.
const ALONE: &[&str] = &["learn", "man", "config", "grammars"];

/// A word of a command as it is run: what is to be filled in depends on the verb and on the option
/// before it.
fn filled(verb: &str, before: &str, word: &str) -> String {
    let fits = match (verb, before, word) {
        (_, "--answers", "FILE") => "answers.dbg",
        ("learn", _, "FILE") => "mine.toml",
        ("lower" | "shrink" | "fmt", _, "FILE" | "FILE..") => "prog.bir",
        ("config", _, "FILE") => "config.toml",
        ("explain", _, "NAME") => "PREFETCH_RING_ID",
        // What is written is not what is read, and a record is a new file.
        (_, "--memory-out", "F") => "memory-out.json",
        (_, "--record", _) => "record.dbg",
        _ => PLACES.iter().find(|p| p.0 == word).map_or(word, |p| p.1),
    };
    fits.to_owned()
}

/// A command in the middle of a sentence.
pub struct Inline {
    /// Page and line.
    pub at: String,
    /// As it stands there.
    pub span: String,
    /// With everything filled in, without the program's name.
    pub args: Vec<String>,
    /// Whether it opens the screen.
    pub screen: bool,
}

/// The commands of sentences, and those that the command line does not take. The name of a verb
/// alone is a word for it, no command.
pub fn inline() -> (Vec<Inline>, Vec<String>) {
    let (mut out, mut wrong) = (Vec::new(), Vec::new());
    for (path, text) in pages() {
        for (n, line) in prose(&text).into_iter().enumerate() {
            for span in spans(line).filter(|s| s.starts_with("dmadbg ")) {
                let at = format!("{path}:{}", n + 1);
                // Optional parts are taken, of a pipe the first command.
                let plain = span.split(" | ").next().unwrap().replace(['[', ']'], "");
                let mut words = words(&plain);
                let verb = words[1].clone();
                for i in 1..words.len() {
                    words[i] = filled(&verb, &words[i - 1], &words[i]);
                }
                let parsed = Cli::try_parse_from(&words);
                let screen = match parsed.as_ref().map(|c| &c.command) {
                    Ok(None) => true,
                    Ok(Some(Cmd::Learn(a))) => a.lesson.is_some(),
                    Ok(Some(Cmd::Sample(a))) => matches!(a, SampleCmd::Open(_)),
                    _ => false,
                };
                let verb = |c: Cli| c.command.map(|_| words[1].as_str());
                match parsed.map(verb).map_err(|e| e.kind()) {
                    // The others wait for input.
                    Ok(Some(verb)) if words.len() == 2 && !ALONE.contains(&verb) => {}
                    Ok(_) | Err(ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
                        let (span, args) = (span.to_owned(), words.split_off(1));
                        out.push(Inline { at, span, args, screen });
                    }
                    Err(
                        ErrorKind::MissingRequiredArgument
                        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
                    ) if words.len() == 2 => {}
                    Err(kind) => wrong.push(format!("{at}: `{span}`: {kind:?}")),
                }
            }
        }
    }
    (out, wrong)
}

/// The words of a command as a shell makes them, in so far as sentences have such.
fn words(span: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (i, part) in span.split('\'').enumerate() {
        match i % 2 {
            0 => out.extend(part.split_whitespace().map(str::to_owned)),
            _ => out.push(part.to_owned()),
        }
    }
    out
}

/// The files that sentences speak of.
pub fn fixtures(dir: &Path) {
    let text = |name: &str| Sample::find(name).unwrap().text;
    let write = |name: &str, bytes: &[u8]| std::fs::write(dir.join(name), bytes).unwrap();
    for (name, sample) in [
        ("prog.dma", "copy-4k"),
        ("other.dma", "wrap"),
        ("notes.dma", "memset"),
        ("prog.bir", "copy"),
        ("t.dbg", "copy-4k.dbg"),
    ] {
        write(name, text(sample).as_bytes());
    }
    write("memory.json", b"{}");
    write("config.toml", b"theme = \"light\"\n");
    write("answers.dbg", b"answer 0x400040041030\n");
    write("mine.toml", LESSONS[0].1.as_bytes());
    std::fs::create_dir(dir.join("samples")).unwrap();
    std::fs::create_dir(dir.join("compiler")).unwrap();
    write("samples/copy-4k.dma", text("copy-4k").as_bytes());
    // The rings of a copy as a driver's copy-out has them.
    let loaded = open(&[dir.join("prog.dma")], &LoadOptions::default()).unwrap();
    let program = loaded.program.unwrap();
    let end = machine::run(&program, |_, _| true).machine;
    for (name, dir) in [("tx.bin", Dir::Tx), ("rx.bin", Dir::Rx)] {
        let ring = program.queues[0].ring(dir).unwrap();
        let mut bytes = vec![0; ring.bytes() as usize];
        end.memory.read(ring.base, &mut bytes);
        write(name, &bytes);
        write(&format!("ring.{name}"), &bytes);
        write(&format!("samples/ring.{name}"), &bytes);
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        if dir == Dir::Tx {
            write("ring.hex", hex.as_bytes());
        }
    }
}
