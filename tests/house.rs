//! Imports point one way, and the core never touches the terminal, files, clocks or threads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

/// Rooms from the bottom to the top. A room may use itself and the rooms before it.
const ROOMS: &[&str] = &[
    "limits", "udma", "diag", "bir", "engine", "check", "load", "script", "watch", "learn", "ui",
    "cli",
];

/// Rooms that a room must not use although they are below it.
const FORBIDDEN: &[(&str, &str)] = &[("load", "check"), ("script", "load"), ("script", "check")];

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// Every source file below `src`, its room and its text without comments.
fn files() -> Vec<(PathBuf, String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    sources(&root, &mut paths);
    let room = |p: &Path| {
        let first = p.strip_prefix(&root).unwrap().iter().next().unwrap().to_str().unwrap();
        first.trim_end_matches(".rs").to_owned()
    };
    let code = |p: &Path| {
        let text = fs::read_to_string(p).unwrap();
        let lines = text.lines().filter(|l| !l.trim_start().starts_with("//"));
        lines.collect::<Vec<_>>().join("\n")
    };
    paths.into_iter().map(|p| (p.clone(), room(&p), code(&p))).collect()
}

fn level(room: &str) -> Option<usize> {
    ROOMS.iter().position(|r| *r == room)
}

/// Names of rooms used as `crate::room` or inside `crate::{room, ..}`.
fn used(code: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap().split(',').collect(),
            None => vec![rest],
        };
        for name in names {
            let name = name.trim();
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            out.push(name[..end].to_owned());
        }
    }
    out
}

#[test]
fn imports_point_from_the_top_to_the_bottom() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (path, room, code) in files() {
        if room == "lib" || room == "main" {
            continue;
        }
        let mine = level(&room).unwrap_or_else(|| panic!("{} is in no room", path.display()));
        for other in used(&code) {
            let Some(theirs) = level(&other) else { continue };
            seen += 1;
            let forbidden = FORBIDDEN.contains(&(room.as_str(), other.as_str()));
            if theirs > mine || forbidden {
                wrong.push(format!("{}: {room} uses {other}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 50, "the test found only {seen} imports: does it still look right?");
}

#[test]
fn the_core_touches_no_terminal_file_clock_or_thread() {
    const NEVER: &[&str] = &[
        "ratatui",
        "crossterm",
        "clap::",
        "std::fs",
        "std::io",
        "std::thread",
        "std::time",
        "std::process",
        "std::net",
        "println!",
        "eprintln!",
        "memmap2",
        "SystemTime",
        "Instant::now",
    ];
    let mut wrong = Vec::new();
    for (path, room, code) in files() {
        let pure = ["limits", "udma", "diag", "bir", "engine", "check", "script", "learn"];
        if !pure.contains(&room.as_str()) {
            continue;
        }
        // Unit tests below a core file may print and read.
        let code = code.split("#[cfg(test)]").next().unwrap();
        for word in NEVER.iter().filter(|w| code.contains(*w)) {
            if !path.ends_with("tests.rs") {
                wrong.push(format!("{}: {word}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn unsafe_code_is_only_where_files_are_mapped() {
    // The compiler refuses `unsafe` where nothing allows it; here is who may allow it.
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    assert!(fs::read_to_string(manifest).unwrap().contains("\nunsafe_code = \"deny\"\n"));
    let mut allowed = 0;
    for (path, _, code) in files() {
        let flat: String = code.split_whitespace().collect();
        let uses = flat.contains("unsafe{") || flat.contains("unsafe_code");
        let others = ["unsafefn", "unsafeimpl", "unsafetrait", "unsafeextern"];
        assert!(!others.iter().any(|w| flat.contains(w)), "{}", path.display());
        if path.ends_with("load/mapped.rs") {
            allowed += usize::from(uses);
        } else {
            assert!(!uses, "{}", path.display());
        }
    }
    assert_eq!(allowed, 1, "does the test still look right?");
}

/// A file is written in one place, where the old one stays until the new one is whole; and
/// nothing is started but the program that `shrink` is told to ask, and the command that is run
/// before the screen reads its files again.
#[test]
fn files_are_written_and_programs_started_in_one_place_each() {
    // The record of a screen is a new file that grows line by line.
    const WRITERS: [&str; 2] = ["load/save.rs", "ui/record.rs"];
    const WRITING: [&str; 8] = [
        "fs::write(",
        "File::create",
        "OpenOptions",
        "fs::rename",
        "fs::copy",
        "fs::remove",
        "hard_link",
        "symlink(",
    ];
    // What a program is asked about, in a folder of its own; and a file that is opened to be read.
    const OTHERS: [(&str, &str); 3] = [
        ("cli/shrink.rs", "fs::write("),
        ("cli/shrink.rs", "fs::remove"),
        ("load/source.rs", "OpenOptions"),
    ];
    // What `shrink` asks, and what `--on-change` of the command line runs.
    const STARTERS: [&str; 2] = ["cli/shrink.rs", "ui/build.rs"];
    const STARTING: [&str; 4] = ["process::Command", "process::{", "libc::exec", "libc::fork"];
    let mut wrong = Vec::new();
    let mut found = 0;
    for (path, _, code) in files() {
        let code = code.split("#[cfg(test)]").next().unwrap();
        let is = |name: &&str| path.ends_with(name);
        if path.ends_with("tests.rs") {
            continue;
        }
        for word in WRITING.iter().filter(|w| code.contains(*w)) {
            if WRITERS.iter().any(is) {
                found += 1;
            } else if !OTHERS.iter().any(|(file, what)| is(file) && what == word) {
                wrong.push(format!("{}: {word}", path.display()));
            }
        }
        for word in STARTING.iter().filter(|w| code.contains(*w)) {
            if STARTERS.iter().any(is) {
                found += 1;
            } else {
                wrong.push(format!("{}: {word}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(found >= 5, "does the test still look right?");
}
