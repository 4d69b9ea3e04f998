//! The screen used at random for long: it stays up, answers, and needs no more memory than at
//! first (`docs/hostile.md`, "Long runs").
//!
//! `DMADBG_LONG_SECONDS=3600 cargo test --test long_run -- --nocapture` does so for an hour.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(target_os = "linux")]

mod odd_support;

use odd_support::{Terminal, resident};
use std::time::{Duration, Instant};

/// What memory may grow by between the time at which everything was used once and the end:
/// what is kept of a run is bounded (`docs/limits.md`), but it takes a while to reach the bounds.
const GROWTH: u64 = 48 << 20;

/// The same choices every time.
struct Choices(u64);

impl Choices {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Keys that move, look, arrange and change; none of them leaves.
const KEYS: [&str; 64] = [
    "s",
    "S",
    "n",
    "e",
    "d",
    "f",
    "c",
    "G",
    "g",
    "j",
    "k",
    "h",
    "l",
    "\t",
    "\x1b[Z",
    "\x1b[5~",
    "\x1b[6~",
    "\x1b[A",
    "\x1b[B",
    "\x1b[C",
    "\x1b[D",
    "\x1b",
    "?\x1b",
    "/4\r",
    "u",
    "\x12",
    "z",
    "\x1b[1;5C",
    "\x1b[1;5D",
    "\x1b[1;5A",
    "\x10step\r\x1b",
    " ",
    "0",
    "3s",
    "O",
    ">",
    "<",
    "P",
    "=",
    "v",
    "V",
    "N",
    "E",
    "D",
    "F",
    "C",
    "b",
    "w",
    "B",
    "W",
    "R",
    "Z",
    "i",
    "o",
    "m",
    "y",
    "x",
    "t",
    "r",
    "p",
    "]",
    "[",
    "}",
    "{",
];

const LINES: [&str; 24] = [
    "step 5 event",
    "reverse-step 3 event",
    "reverse-continue",
    "restart",
    "goto end",
    "goto 7",
    "info rings",
    "info memory",
    "info checks",
    "info races",
    "break marker",
    "delete",
    "set tx[0].length = 64",
    "undo",
    "redo",
    "where",
    "why",
    "find tx length > 4",
    "x/16wx 0x10000000",
    "mark a",
    "origin 0x10000000",
    "explain tx[0]",
    "stpe",
    "help continue",
];

/// Types a command from wherever it is. An escape and a key at once would be the key with Alt.
fn command(t: &mut Terminal, line: &str) {
    for _ in 0..2 {
        t.keys("\x1b");
        std::thread::sleep(Duration::from_millis(15));
    }
    t.keys(&format!(":{line}\r"));
}

/// Not faster than it can draw: the answer to a line is waited for.
fn answers(t: &mut Terminal, n: u64) {
    for _ in 0..20 {
        command(t, &format!("print {n}"));
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_secs(3) {
            let text = t.screen();
            if text.contains(&format!("= {n}")) || text.contains(&format!("{n} = ")) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    panic!("`print {n}` is not answered:\n{}", t.screen());
}

#[test]
fn random_use_for_long_needs_no_more_memory() {
    let asked = std::env::var("DMADBG_LONG_SECONDS").ok().map(|s| s.parse().unwrap());
    let time = Duration::from_secs(asked.unwrap_or(6));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("copy.dma");
    let texts: Vec<String> = ["copy-4k.dma", "double-buffer.dma", "three-queues.dma"]
        .iter()
        .map(|n| std::fs::read_to_string(format!("sample-programs/{n}")).unwrap())
        .collect();
    std::fs::write(&file, &texts[0]).unwrap();
    let mut t = Terminal::start(120, 36, &[], &[file.as_os_str()]);
    t.wait_for("event 0");
    let pid = t.child.process_id().unwrap();
    let mut r = Choices(0x9e37_79b9_7f4a_7c15);
    let begun = Instant::now();
    let warm = time / 4;
    let (mut n, mut at_first, mut most, mut next) = (0u64, None, 0, Duration::ZERO);
    while begun.elapsed() < time {
        match r.below(100) {
            0..60 => t.keys(r.of(&KEYS)),
            60..90 => {
                let line = r.of(&LINES);
                command(&mut t, line);
            }
            90..97 => t.resize(1 + r.below(200) as u16, 1 + r.below(60) as u16),
            97..98 => t.keys("\x1b[200~step\nstep\n\u{202e}\x1b[201~\x1b"),
            // The file is written anew under the screen.
            _ => std::fs::write(&file, &texts[r.below(texts.len())]).unwrap(),
        }
        n += 1;
        // Not faster than it can draw: the answer to a known line is waited for.
        if n % 50 == 0 {
            t.resize(120, 36);
            answers(&mut t, n);
        }
        if begun.elapsed() >= next {
            next += Duration::from_secs(1).max(time / 60);
            let now = resident(pid);
            assert!(now > 0, "it is still there\n{}", t.screen());
            if begun.elapsed() >= warm && at_first.is_none() {
                at_first = Some(now);
                println!(
                    "{:?}: {n} inputs, {} KiB, from here on compared",
                    begun.elapsed(),
                    now >> 10
                );
            }
            most = most.max(now);
        }
    }
    let (first, last) = (at_first.unwrap(), resident(pid));
    println!(
        "{n} inputs in {:?}: {} KiB after a quarter, {} KiB at the end, {} KiB at most",
        begun.elapsed(),
        first >> 10,
        last >> 10,
        most >> 10
    );
    assert!(last <= first + GROWTH, "{first} bytes at first, {last} at the end");
    assert!(t.leave().success(), "{}", t.screen());
}
