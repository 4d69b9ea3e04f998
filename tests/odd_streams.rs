//! Every subcommand with streams that are closed, broken or full, and in environments that lack
//! what they usually have (`docs/cli.md`, "Streams and surroundings").
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(unix)]

mod odd_support;

use clap::CommandFactory;
use odd_support::{BIN, Terminal, dmadbg, ended, orderly, told};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A subcommand, how it is called, and how it ends.
struct Case {
    args: &'static [&'static str],
    status: i32,
}

const fn case(args: &'static [&'static str], status: i32) -> Case {
    Case { args, status }
}

const DMA: &str = "sample-programs/copy-4k.dma";
const BIR: &str = "sample-programs/copy.bir";

const CASES: &[Case] = &[
    case(&["decode", "0x0d001000"], 0),
    case(&["decode", "--format", "json", "0d001000010800030000000000400000"], 0),
    case(&["encode", "--src", "0x400000000000", "--dst", "0x1000000000", "--size", "64"], 0),
    case(&["asm", DMA, "-o", "-"], 0),
    case(&["disasm", DMA], 0),
    case(&["info", DMA], 0),
    case(&["check", DMA], 0),
    case(&["check", "sample-programs/race.dma", "--format", "json"], 1),
    case(&["check", "/nonexistent"], 2),
    case(&["lower", BIR, "--print-after-all", "--no-times"], 0),
    case(&["run", DMA, "-e", "step", "-e", "info rings"], 0),
    case(&["run", DMA, "-e", "assert event == 7"], 1),
    case(&["run", DMA, "-e", "stpe"], 2),
    case(&["test", "sample-programs/race.dma", "sample-programs/errors"], 0),
    // It would wait for what it watches to change.
    case(&["watch"], 2),
    case(&["gen", "--seed", "3"], 0),
    case(&["fmt", BIR], 0),
    case(&["shrink", BIR], 0),
    case(&["render", DMA, "--keys", "dss"], 0),
    case(&["render", DMA, "--to", "svg"], 0),
    case(&["learn"], 0),
    case(&["learn", "--check", "1", "--solve"], 0),
    case(&["config"], 0),
    case(&["explain", "D017"], 0),
    case(&["provenance", BIR, "--of", "tx[0]"], 0),
    case(&["diff", DMA, "sample-programs/wrap.dma"], 1),
    case(&["export", DMA], 0),
    case(&["export", DMA, "--as", "perfetto"], 0),
    case(&["completions", "bash"], 0),
    case(&["man"], 0),
    case(&["sample", "list"], 0),
    case(&["sample", "show", "copy-4k.dma"], 0),
    case(&["sample", "copy", "copy-4k.dma", "-o", "/dev/null/x"], 2),
    case(&["sample", "open", "copy-4k.dma"], 2),
    case(&["grammars", "-o", "/dev/null/x"], 2),
    case(&["--help"], 0),
    case(&["--version"], 0),
    case(&["run", "--help"], 0),
    case(&[], 2),
    case(&["nonsense"], 2),
    // The screen, where there is no terminal.
    case(&[DMA], 2),
];

#[test]
fn every_subcommand_is_among_the_cases() {
    let cli = dmadbg::cli::Cli::command();
    let known: BTreeSet<&str> = cli.get_subcommands().map(|c| c.get_name()).collect();
    let tried: BTreeSet<&str> = CASES.iter().filter_map(|c| c.args.first().copied()).collect();
    let missing: Vec<_> = known.difference(&tried).collect();
    assert!(missing.is_empty(), "add cases for {missing:?}");
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// As it is without anything odd.
fn plain(case: &Case, home: &Path) -> Output {
    let out = ended(dmadbg(home).args(case.args));
    assert_eq!(out.status.code(), Some(case.status), "{:?}: {}", case.args, told(&out));
    out
}

/// A line in which `"$@"` is the program with its arguments.
fn shell(line: &str, case: &Case, home: &Path) -> Output {
    let mut c = Command::new("sh");
    c.args(["-c", line, "sh", BIN]).args(case.args).current_dir(env!("CARGO_MANIFEST_DIR"));
    for folder in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        c.env(folder, home);
    }
    ended(&mut c)
}

/// The writing end of a pipe that nobody reads.
fn unread() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// Ends in time, with both of its streams elsewhere.
fn status_of(command: &mut Command) -> Option<i32> {
    let what = format!("{command:?}");
    let mut child = command.spawn().unwrap();
    let begun = std::time::Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if begun.elapsed() > odd_support::PATIENCE {
            let _ = child.kill();
            panic!("does not end: {what}");
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_reader_that_is_gone_is_no_error_and_nothing_is_said() {
    let home = home();
    for case in CASES {
        let log = home.path().join("stderr");
        let mut c = dmadbg(home.path());
        c.args(case.args).stdout(unread()).stderr(File::create(&log).unwrap());
        let status = status_of(&mut c);
        let said = std::fs::read_to_string(&log).unwrap();
        // What ended it before it printed anything still counts; what it found is cut off.
        let fine = if case.status == 2 { 2 } else { 0 };
        let allowed = [fine, case.status];
        assert!(status.is_some_and(|s| allowed.contains(&s)), "{:?}: {status:?} {said}", case.args);
        assert!(!said.contains("panicked") && !said.contains("ipe"), "{:?}: {said}", case.args);
        // Nobody reads either stream.
        let mut c = dmadbg(home.path());
        c.args(case.args).stdout(unread()).stderr(unread());
        let status = status_of(&mut c);
        assert!(status.is_some_and(|s| (0..=2).contains(&s)), "{:?}: {status:?}", case.args);
        // Nobody reads what it says about errors.
        let mut c = dmadbg(home.path());
        c.args(case.args).stdout(Stdio::null()).stderr(unread());
        let status = status_of(&mut c);
        assert!(status.is_some_and(|s| (0..=2).contains(&s)), "{:?}: {status:?}", case.args);
    }
}

#[test]
fn closed_streams_are_as_good_as_empty_ones() {
    let home = home();
    for case in CASES {
        let usual = plain(case, home.path());
        let out = shell("\"$@\" <&-", case, home.path());
        assert_eq!(out.status.code(), Some(case.status), "{:?}: {}", case.args, told(&out));
        assert_eq!(told(&out).contains("panicked"), told(&usual).contains("panicked"));
        for line in ["\"$@\" >&-", "\"$@\" 2>&-", "\"$@\" <&- >&- 2>&-"] {
            let out = shell(line, case, home.path());
            assert_eq!(out.status.code(), Some(case.status), "{line} {:?}", case.args);
            assert!(!told(&out).contains("panicked"), "{line} {:?}: {}", case.args, told(&out));
        }
    }
}

#[test]
fn what_cannot_be_written_is_said_once_and_is_status_2() {
    if !Path::new("/dev/full").exists() {
        println!("skipped: no /dev/full");
        return;
    }
    let home = home();
    for case in CASES {
        let usual = plain(case, home.path());
        let out = shell("\"$@\" >/dev/full", case, home.path());
        if usual.stdout.is_empty() {
            assert_eq!(out.status.code(), Some(case.status), "{:?}", case.args);
            continue;
        }
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{:?}: {text}", case.args);
        assert_eq!(text.matches("No space left").count(), 1, "{:?}: {text}", case.args);
        assert!(!text.contains("panicked"), "{text}");
        // Nor can it be said.
        let out = shell("\"$@\" >/dev/full 2>/dev/full", case, home.path());
        assert_eq!(out.status.code(), Some(2), "{:?}", case.args);
    }
}

#[test]
fn surroundings_that_lack_something_change_nothing() {
    let home = home();
    let file = home.path().join("file");
    std::fs::write(&file, "x").unwrap();
    type Change<'a> = Box<dyn Fn(&mut Command) + 'a>;
    let set = |name: &'static str, value: &'static str| -> Change<'_> {
        Box::new(move |c| {
            c.env(name, value);
        })
    };
    let changes: Vec<(&str, Change<'_>)> = vec![
        (
            "nothing",
            Box::new(|c| {
                c.env_clear();
            }),
        ),
        ("TERM=dumb", set("TERM", "dumb")),
        ("TERM=", set("TERM", "")),
        ("LC_ALL=C", set("LC_ALL", "C")),
        ("LC_ALL=POSIX", set("LC_ALL", "POSIX")),
        ("LC_ALL=de_DE.ISO-8859-1", set("LC_ALL", "de_DE.ISO-8859-1")),
        ("NO_COLOR=1", set("NO_COLOR", "1")),
        (
            "HOME=/nonexistent",
            Box::new(|c| {
                c.env_clear().env("HOME", "/nonexistent");
            }),
        ),
        (
            "HOME=",
            Box::new(|c| {
                c.env_clear().env("HOME", "");
            }),
        ),
        ("homes that are files", {
            let file = &file;
            Box::new(move |c| {
                for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
                    c.env(name, file);
                }
            })
        }),
        ("COLUMNS", set("COLUMNS", "1")),
        ("TMUX", set("TMUX", "")),
        ("RUST_BACKTRACE", set("RUST_BACKTRACE", "full")),
    ];
    for case in CASES {
        let usual = plain(case, home.path());
        for (name, change) in &changes {
            let mut c = dmadbg(home.path());
            change(&mut c);
            let out = ended(c.args(case.args));
            orderly(&out, &[case.status]);
            // The help is as wide as COLUMNS says; where a file is looked for, it is named.
            let by_surroundings = *name == "COLUMNS" || case.args == ["config"];
            if !by_surroundings {
                assert!(out.stdout == usual.stdout, "{name} {:?}: {}", case.args, told(&out));
            }
        }
    }
}

/// On a terminal that never answers: nothing here does.
#[test]
fn the_screen_of_any_size_and_surroundings_is_shown_and_left() {
    let file = std::ffi::OsStr::new(DMA);
    let sizes = [(1, 1), (1, 40), (200, 1), (2, 2), (9, 3), (20, 5), (80, 24), (500, 200)];
    for size in sizes {
        let mut t = Terminal::start(size.0, size.1, &[], &[file]);
        t.wait("the alternate screen", || t.raw().windows(8).any(|w| w == b"\x1b[?1049h"));
        t.keys("dss?\x1b\t\tcG:info rings\r\x1bgg");
        t.resize(3, 2);
        t.keys("jk");
        t.resize(120, 40);
        t.wait_for("event ");
        t.resize(size.0, size.1);
        assert!(t.leave().success(), "{size:?}: {}", t.screen());
    }
    let surroundings: [&[(&str, &str)]; 9] = [
        &[("TERM", "dumb")],
        &[("TERM", "")],
        &[("TERM", "nothing-of-the-kind")],
        &[("LC_ALL", "C")],
        &[("LC_ALL", ""), ("LANG", ""), ("LC_CTYPE", "")],
        &[("LC_ALL", "de_DE.ISO-8859-1")],
        &[("NO_COLOR", "1")],
        &[("HOME", ""), ("XDG_CONFIG_HOME", ""), ("XDG_STATE_HOME", "")],
        &[("HOME", "/dev/null"), ("XDG_CONFIG_HOME", "/dev/null/x"), ("XDG_STATE_HOME", "/proc")],
    ];
    for env in surroundings {
        let mut t = Terminal::start(100, 30, env, &[file]);
        t.wait_for("event 0");
        t.keys("ds");
        t.wait_for("event ");
        let utf8 = !t.screen().is_ascii();
        if env.iter().any(|(n, v)| *n == "LC_ALL" && !v.contains("UTF")) {
            assert!(!utf8, "{env:?}: a locale without UTF-8 gets ASCII\n{}", t.screen());
        }
        if env[0].0 == "NO_COLOR" {
            let raw = String::from_utf8_lossy(&t.raw()).into_owned();
            assert!(!raw.contains("\x1b[38;") && !raw.contains("\x1b[31"), "no colours");
        }
        t.keys("q");
        assert!(t.end().success(), "{env:?}: {}", t.screen());
        assert!(!t.screen().contains("panicked"));
    }
}
