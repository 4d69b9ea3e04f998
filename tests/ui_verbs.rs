//! Every verb of the command language, typed on the real screen in a pseudo-terminal: what it says
//! or shows there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(unix)]

use dmadbg::engine::command::COMMANDS;
use std::collections::BTreeSet;
use terminal_support::*;

mod terminal_support;

/// A line that is typed, and what is on the screen then. `DIR` is a folder to write to.
type Line = (&'static str, &'static str);

const RINGS: &[Line] = &[
    ("step", "event 1 of 46"),
    ("step 3 event", "event 4 of 46"),
    ("reverse-step event", "event 3 of 46"),
    ("next", "[ stage ]"),
    ("reverse-next", "event 0 of 46"),
    ("doorbell", "event 27 of 46"),
    ("reverse-doorbell", "event 25 of 46"),
    ("finish", "event 46 of 46"),
    ("reverse-finish", "event 0 of 46"),
    ("until event == 30", "event 30 of 46"),
    ("reverse-until event == 20", "event 20 of 46"),
    ("goto 27", "event 27 of 46"),
    ("mark here", "mark `here`"),
    ("goto 3", "event 3 of 46"),
    ("goto here", "event 27 of 46"),
    ("restart", "event 0 of 46"),
    ("break tx[1]", "breakpoint 1: tx[1]"),
    ("tbreak event 25", "breakpoint 2"),
    ("watch marker", "watchpoint 3"),
    ("catch doorbell", "catchpoint 4"),
    ("commands 1 { print event }", "commands"),
    ("continue", "event 22 of 46"),
    ("reverse-continue", "event "),
    ("disable 4", "disabled 4"),
    ("enable 4", "enabled 4"),
    ("info breakpoints", "hits"),
    ("delete", "deleted"),
    ("goto 27", "event 27 of 46"),
    ("print tx[0].length", "4096 (0x1000)"),
    ("display event", "1: event = 27"),
    ("undisplay 1", "the start: s steps|undisplay|host"),
    ("x/2wx 0x400040061000", "0x400040061000"),
    ("find length == 4", "1 of"),
    ("where", "event 27"),
    ("explain tx[0]", "tx[0], posted"),
    ("explain gather", "rows are chosen by a list"),
    ("why", "event 36"),
    ("last-write marker", "event 21"),
    ("next-read marker", "event "),
    ("origin marker", "event 20"),
    ("provenance tx[0]", "tx[0]"),
    ("list", "queue"),
    ("set tx[0].length = 16", "edited"),
    ("undo", "undone|taken back|tx[0]"),
    ("redo", "edited"),
    ("undo", "event 27 of 46"),
    ("inject PKT_LEN at tx[0]", "edited"),
    ("goto end", "aborted"),
    ("undo", "event "),
    ("goto 27", "event 27 of 46"),
    ("order", "calm"),
    ("assert tx[0].length == 4096", "event 27 of 46"),
    ("assert tx[0].length == 5, \"five\"", "five"),
    ("expect ret 0", "event 27 of 46"),
    ("echo \"said aloud\"", "said aloud"),
    ("save DIR/saved.dma", "saved `"),
    ("export events DIR/events.jsonl", "46 events"),
    ("screenshot DIR/picture.txt", "picture.txt"),
    ("source DIR/script.dbg", "event 40 of 46"),
    ("info queue", "next_desc_idx"),
    ("help step", "one descriptor pair forward|step"),
    ("reload", "files"),
];

const MODULE: &[Line] = &[
    ("pass unroll", "[unroll]"),
    ("pass next", "[split]"),
    ("pass prev", "[unroll]"),
    ("pass diff", "peel -> unroll"),
    ("pass set split equal", "equal"),
    ("provenance %I-1", "%I-1"),
    ("break %I-2", "breakpoint 1"),
    ("continue", "breakpoint 1"),
];

const LESSON: &[Line] = &[
    ("lesson", "Task 1 of 5"),
    ("hint", "Hint: "),
    ("answer rx[0].buf_ptr", "The source stands in the other ring."),
    ("answer tx[0].buf_ptr", "solved: T goes on"),
    ("proceed", "task 2 of 5"),
    ("skip", "task 3 of 5"),
    ("again", "task 3 of 5"),
];

fn take(args: &[&str], first: &str, lines: &[Line], dir: &str) {
    let mut t = Terminal::start(160, 45, &[], args);
    t.wait_for(first);
    t.keys("\x1b");
    for (line, shown) in lines {
        let line = line.replace("DIR", dir);
        t.keys(&format!(":{line}"));
        t.wait_for(&format!(": {line}"));
        t.keys("\r");
        t.wait(&format!("`{line}` shows `{shown}`"), || {
            let screen = t.screen();
            // Not the line itself, while it is still open.
            let rest: String =
                screen.lines().filter(|l| !l.starts_with(": ")).collect::<Vec<_>>().join("\n");
            shown.split('|').any(|s| rest.contains(s))
        });
        // An answer is closed; a line that was refused, too.
        t.keys("\x1b");
        t.wait(&format!("`{line}` is over"), || {
            let screen = t.screen();
            !screen.contains("Esc closes") && !screen.lines().any(|l| l.starts_with(": "))
        });
    }
    t.keys("q");
    // Edits are asked about.
    t.keys("q");
    assert!(t.end().success());
}

#[test]
fn every_verb_is_typed_on_the_screen() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("script.dbg"), "dbg 1\ngoto 40\n").unwrap();
    let dir = folder.path().to_str().unwrap();
    let sample = |name: &str| {
        let to = folder.path().join(name);
        std::fs::copy(format!("sample-programs/{name}"), &to).unwrap();
        to.to_str().unwrap().to_owned()
    };
    let (rings, module) = (sample("copy-4k.dma"), sample("gather.bir"));
    take(&[&rings, "--no-init"], "event 0 of 46", RINGS, dir);
    take(&[&module, "--no-init"], "event 0 of 299", MODULE, dir);
    take(&["learn", "pair", "--no-init"], "One copy takes two descriptors.", LESSON, dir);
    for made in ["saved.dma", "events.jsonl", "picture.txt"] {
        assert!(folder.path().join(made).metadata().unwrap().len() > 100, "{made}");
    }
    let all = [RINGS, MODULE, LESSON].concat();
    let typed: BTreeSet<&str> =
        all.iter().map(|(l, _)| l.split([' ', '/']).next().unwrap()).chain(["quit"]).collect();
    let missing: Vec<&str> =
        COMMANDS.iter().map(|c| c.name).filter(|n| !typed.contains(n)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
