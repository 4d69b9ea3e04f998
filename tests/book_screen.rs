//! Every command of an `sh` block of the documentation, and every one of its sentences that does so, opens the screen, draws it and leaves on
//! `q`, once more where a text stands over it. (Those of the README are run by `.ci/readme`: they build the program first.)
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(unix)]

mod book_support;

use book_support::{Inline, blocks, fixtures, inline, pages};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The commands of `sh` blocks of `docs/`.
fn commands() -> Vec<String> {
    let pages = pages().into_iter().filter(|(path, _)| path != "README.md");
    let blocks = pages.flat_map(|(_, text)| blocks(&text)).filter(|b| b.says == "sh");
    let lines = blocks.flat_map(|b| b.lines);
    lines.map(|l| l.split(" #").next().unwrap().trim().to_owned()).collect()
}

fn opens(command: &str) -> Result<(), String> {
    let home = tempfile::tempdir().unwrap();
    fixtures(home.path());
    let size = PtySize { rows: 36, cols: 120, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_dmadbg")).parent().unwrap();
    let mut shell = CommandBuilder::new("sh");
    shell.args(["-c", command]);
    shell.cwd(home.path());
    let path = std::env::var("PATH").unwrap_or_default();
    shell.env("PATH", format!("{}:{path}", bin.display()));
    shell.env("TERM", "xterm-256color");
    shell.env("LC_ALL", "C.UTF-8");
    for folder in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        shell.env(folder, home.path());
    }
    let mut child = pair.slave.spawn_command(shell).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut keys = pair.master.take_writer().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = seen.clone();
    let pump = std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = reader.read(&mut buffer) {
            sink.lock().unwrap().extend_from_slice(&buffer[..n]);
        }
    });
    let drawn = || String::from_utf8_lossy(&seen.lock().unwrap()).contains("trigger");
    let begin = Instant::now();
    let mut last = None;
    let ended = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if begin.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        if drawn() && last.is_none_or(|l: Instant| l.elapsed() > Duration::from_millis(300)) {
            last = Some(Instant::now());
            // It may have ended just now.
            let _ = keys.write_all(b"q");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    drop(keys);
    drop(pair.master);
    pump.join().unwrap();
    let text = String::from_utf8_lossy(&seen.lock().unwrap()).into_owned();
    match ended {
        Some(status) if status.success() && last.is_some() => Ok(()),
        Some(status) => Err(format!("`{command}` ends with {status:?}: {text:?}")),
        None => Err(format!("`{command}` does not end: {text:?}")),
    }
}

#[test]
fn every_command_that_opens_the_screen_opens_it() {
    let mut all = commands();
    assert!(all.len() >= 4, "{all:?}");
    let quoted = |c: &Inline| {
        let words = c.args.iter().map(|w| format!(" '{w}'"));
        format!("dmadbg{}", words.collect::<String>())
    };
    let sentences = inline().0;
    let codes = |c: &&Inline| c.screen && !c.at.starts_with("docs/codes.md");
    all.extend(sentences.iter().filter(codes).map(quoted));
    all.sort();
    all.dedup();
    assert!(all.len() >= 10, "{all:?}");
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let tasks: Vec<_> = all.iter().map(|c| scope.spawn(|| opens(c))).collect();
        tasks.into_iter().filter_map(|t| t.join().unwrap().err()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Something that does not open it is found out.
    assert!(opens("true").is_err() && opens("dmadbg no-such-file").is_err());
}
