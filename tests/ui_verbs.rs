//! Every verb of the command language, typed on the real screen in a pseudo-terminal: what it says
//! or shows there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(unix)]

use dmadbg::engine::command::COMMANDS;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use terminal_support::*;

mod terminal_support;

/// A line that is typed, and what is on the screen then. `DIR` is a folder to write to.
type Line = (&'static str, &'static str);

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(15);

const RINGS: &[Line] = &[
    ("step", "event 32 of 46"),
    ("step 3 event", "event 35 of 46"),
    ("reverse-step event", "event 34 of 46"),
    ("next", "event 39 of 46"),
    ("reverse-next", "event 24 of 46"),
    ("doorbell", "event 27 of 46"),
    ("reverse-doorbell", "event 0 of 46"),
    ("finish", "event 45 of 46"),
    ("reverse-finish", "event 0 of 46"),
    ("until event == 30", "event 30 of 46"),
    ("reverse-until event == 20", "event 20 of 46"),
    ("goto 27", "event 27 of 46"),
    ("mark here", "mark here is event 27"),
    ("goto 3", "event 3 of 46"),
    ("goto here", "event 27 of 46"),
    ("restart", "event 0 of 46"),
    ("break tx[1]", "breakpoint 1: tx[1]"),
    ("tbreak event 25", "breakpoint 2: event 25 once"),
    ("watch marker", "watchpoint 3: marker (4 bytes"),
    ("catch doorbell", "catchpoint 4: doorbell"),
    ("commands 1 print event", "event 0 of 46"),
    ("continue", "event 21 of 46"),
    ("reverse-continue", "event 0 of 46"),
    ("disable 4", "catchpoint 4 disabled"),
    ("enable 4", "catchpoint 4 enabled"),
    ("info breakpoints", "print event"),
    ("delete", "stops 1, 2, 3, 4 deleted"),
    ("goto 27", "event 27 of 46"),
    ("print tx[0].length", "tx[0].length = 4096 (0x1000)"),
    ("display event", "1: event = 27 (0x1b)"),
    ("undisplay 1", "no values are shown any more"),
    ("x/2wx 0x400040061000", "0xabcdef01 0x00000000"),
    ("find length == 4", "1 of 2|1 of 1|2 of 4"),
    ("where", "next: e128.q0: fetch tx[0]"),
    ("explain tx[0]", "posted: the doorbell told of it"),
    ("explain gather", "rows are chosen by a list"),
    ("why", "nothing is wrong, it is simply not done"),
    ("last-write marker", "unchanged by it; `goto 21`"),
    ("next-read marker", "written before that: event 36"),
    ("origin marker", "host at event 21: marker polled word"),
    ("provenance tx[0]", "written    event|event 19, host: stage pair"),
    ("list", "2 => copy e128.q0"),
    ("set tx[0].length = 16", "4096 -> 16"),
    ("undo", "undone: set e128.q0.tx[0].len_ctrl"),
    ("redo", "redone: set e128.q0.tx[0].len_ctrl"),
    ("undo", "undone: set e128.q0.tx[0].len_ctrl"),
    ("inject PKT_LEN at tx[0]", "PKT_LEN waits for e128.q0.tx[0]"),
    ("goto end", "event 34 of 34"),
    ("undo", "undone: inject PKT_LEN"),
    ("goto 27", "event 27 of 46"),
    ("order", "the order is the calm one"),
    ("assert tx[0].length == 4096", "event 27 of 46"),
    ("assert tx[0].length == 5, \"five\"", "S006|five"),
    ("expect ret 0", "event 27 of 46"),
    ("echo \"said aloud\"", "said aloud"),
    ("save DIR/saved.dma", "saved `"),
    ("export events DIR/events.jsonl", "27 events"),
    ("screenshot DIR/picture.txt", "picture.txt"),
    ("source DIR/script.dbg", "event 40 of 46"),
    ("info queue", "next_desc_idx"),
    ("help step", "go forward by N units"),
    ("reload", "nothing has changed|the same|reloaded|files"),
];

const MODULE: &[Line] = &[
    ("pass unroll", "[unroll]"),
    ("pass next", "[split]"),
    ("pass prev", "[unroll]"),
    ("pass diff", "peel -> unroll"),
    ("pass set split equal", "split = equal: lowered anew"),
    ("provenance %I-1", "gather.bir:23:5: %I-1 DMACopy"),
    ("break %I-2", "breakpoint 1: %I-2"),
    ("continue", "event 58 of 299"),
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
    let mut wrong: Vec<String> = Vec::new();
    for (line, shown) in lines {
        let line = line.replace("DIR", dir);
        t.keys(&format!(":{line}"));
        t.wait_for(&format!(": {line}"));
        t.keys("\r");
        let shows = || {
            let screen = t.screen();
            // Not the line itself, while it is still open.
            let rest: Vec<&str> = screen.lines().filter(|l| !l.starts_with(": ")).collect();
            let rest = rest.join("\n");
            shown.split('|').any(|s| rest.contains(s))
        };
        let begun = Instant::now();
        while !shows() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        if !shows() {
            wrong.push(format!("`{line}` does not show `{shown}`:\n{}", t.screen()));
        }
        // An answer is closed; a line that was refused, too.
        t.keys("\x1b");
        t.wait(&format!("`{line}` is over"), || {
            let screen = t.screen();
            !screen.contains("Esc closes") && !screen.lines().any(|l| l.starts_with(": "))
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
