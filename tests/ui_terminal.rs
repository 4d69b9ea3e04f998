//! The real program in a pseudo-terminal: keys in, screen read back, the terminal restored.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(unix)]

use portable_pty::PtySize;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use terminal_support::*;

mod terminal_support;

#[test]
fn a_ring_is_opened_stepped_forwards_and_back_and_left() {
    let mut t = Terminal::open(160, 45);
    t.keys("d");
    t.wait_for("[doorbell]");
    let rung = t.position();
    t.keys("s");
    t.wait("a step", || t.position() > rung);
    let stepped = t.position();
    t.wait_for("retire tx[0] rx[0]");
    t.keys(":break marker\r");
    t.wait_for("breakpoint 1: marker");
    t.keys("c");
    t.wait_for("FLIPPED");
    t.keys("S");
    t.wait_gone("FLIPPED");
    t.keys(&format!(":goto {rung}\r"));
    t.wait("goto", || t.position() == rung);
    t.keys("s");
    t.wait("the same step", || t.position() == stepped);
    t.keys("b");
    t.wait_for("breakpoint 2: tx[0]");
    t.keys("?");
    t.wait_for("keys: everywhere");
    t.keys("\x1b");
    t.wait_gone("keys: everywhere");
    t.keys(":brek\r");
    t.wait_for("^^^^");
    t.wait_for("error[S001]");
    t.keys("\x1b");
    t.wait_gone("error[S001]");
    // A click on a slot of the Rx ring.
    t.keys("\x1b[<0;75;7M");
    t.wait_for("rx[2] ");
    t.keys("q");
    assert!(t.end().success());
}

#[test]
fn a_click_on_a_bit_names_its_field_and_the_history_comes_back() {
    let mut t = Terminal::open(160, 45);
    t.keys("d");
    t.wait_for("[doorbell]");
    let screen = t.screen();
    let numbers = screen.lines().position(|l| l.contains("31  30 29")).unwrap();
    let line = screen.lines().nth(numbers).unwrap();
    let column = line[..line.find("26").unwrap()].chars().count() + 2;
    t.keys(&format!("\x1b[<0;{column};{}M", numbers + 2));
    t.wait_for("first = yes");
    t.keys(":goto 19\r");
    t.wait("goto", || t.position() == 19);
    t.keys(":\x1b[A");
    t.wait("the line before", || t.screen().lines().rev().take(3).any(|l| l.contains("goto 19")));
}

#[test]
fn a_picture_is_what_the_terminal_shows() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let mut t = Terminal::open(120, 36);
    t.keys("d");
    // The status line, which is drawn last: all of the screen is there by then.
    t.wait_for(" host: doorbell tx 5");
    let lines = |text: &str| text.lines().map(|l| l.trim_end().to_owned()).collect::<Vec<_>>();
    let shown = lines(&t.screen());
    t.keys(&format!(":screenshot {}\r", file("a.txt")));
    t.wait_for("the screen, 120x36, written to");
    let taken = lines(&std::fs::read_to_string(file("a.txt")).unwrap());
    assert_eq!(taken, shown[..taken.len()]);
    assert_eq!(taken.len(), 36);
    t.keys(&format!(":screenshot {} 200x60\r", file("a.svg")));
    t.wait_for("the screen, 200x60, written to");
    assert!(std::fs::read_to_string(file("a.svg")).unwrap().starts_with("<svg "));
    // It is still the screen of before, and what is there is kept.
    assert_eq!(t.screen().lines().count(), shown.len());
    t.keys(&format!(":screenshot {}\r", file("a.txt")));
    t.wait_for("is there already");
    t.keys("q");
    assert!(t.end().success());
}

#[test]
fn the_scrubber_is_dragged_with_the_mouse() {
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("r.dbg");
    let args = ["sample-programs/wrap.dma", "--no-init", "--record", record.to_str().unwrap()];
    let mut t = Terminal::start(160, 45, &[], &args);
    t.wait_for("event 0 of ");
    t.wait_for("bell ↑flag");
    let row = t.screen().lines().position(|l| l.contains("bell ↑flag")).unwrap() + 1;
    // Pressed, dragged over many cells at once, let go.
    t.keys(&format!("\x1b[<0;60;{row}M"));
    t.wait("a click", || t.position() > 0);
    let clicked = t.position();
    let moves: String = (61..=120).map(|x| format!("\x1b[<32;{x};{row}M")).collect();
    t.keys(&moves);
    t.wait("a drag", || t.position() > clicked * 2);
    t.keys(&format!("\x1b[<32;30;{row}M"));
    t.wait("a drag back", || t.position() < clicked);
    let here = t.position();
    assert!(!std::fs::read_to_string(&record).unwrap().contains("goto"));
    t.keys(&format!("\x1b[<0;30;{row}m"));
    let read = || std::fs::read_to_string(&record).unwrap();
    t.wait("the record", || read().ends_with(&format!("\ngoto {here}\n")));
    assert_eq!(read().matches("goto").count(), 1);
    assert_eq!(t.position(), here);
    // A tab is clicked.
    let bar = t.screen().lines().position(|l| l.contains("[timeline]")).unwrap() + 1;
    t.keys(&format!("\x1b[<0;17;{bar}M\x1b[<0;17;{bar}m"));
    t.wait_for("[budget]");
    t.keys("q");
    assert!(t.end().success());
}

#[test]
fn no_colour_is_sent_where_none_is_wanted() {
    let mut t = Terminal::open_with(120, 36, &[("NO_COLOR", "1")]);
    t.keys("d");
    t.wait_for("[doorbell]");
    let raw = String::from_utf8_lossy(&t.raw()).into_owned();
    let colours = raw.split("\x1b[").skip(1).any(|s| {
        let digits: String = s.chars().take_while(|c| c.is_ascii_digit() || *c == ';').collect();
        let colour = |n: u32| matches!(n, 30..=38 | 40..=48 | 90..=107);
        s[digits.len()..].starts_with('m')
            && digits.split(';').filter_map(|n| n.parse().ok()).any(colour)
    });
    assert!(!colours, "a colour was sent");
}

#[test]
fn a_change_of_size_is_followed_down_to_nothing_and_back() {
    let t = Terminal::open(120, 36);
    for (cols, rows) in [(80, 24), (20, 5), (1, 1), (200, 60)] {
        t.seen.lock().unwrap().0.screen_mut().set_size(cells(rows), cells(cols));
        t.master.resize(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
    t.wait_for("event 0 of ");
    t.wait_for("checks");
}

#[test]
fn signals_end_it_with_the_terminal_restored() {
    for name in ["-TERM", "-HUP", "-INT"] {
        let mut t = Terminal::open(80, 24);
        t.signal(name);
        assert!(!t.end().success(), "{name}");
    }
}

/// Not a test of its own: the program of the next one.
#[test]
#[ignore = "needs a terminal: a_panic_restores_the_terminal_before_it_speaks runs it"]
fn panics_on_the_screen() {
    let _guard = dmadbg::ui::shell::Guard::new(true).unwrap();
    panic!("of all things");
}

#[test]
fn a_panic_restores_the_terminal_before_it_speaks() {
    let this = std::env::current_exe().unwrap();
    let args = ["--ignored", "--exact", "--nocapture", "panics_on_the_screen"];
    let mut t = Terminal::start_program(this.to_str().unwrap(), 80, 24, &[], &args);
    assert!(!t.end().success());
    let at = |what: &[u8]| t.raw().windows(what.len()).position(|w| w == what);
    t.wait("the message", || at(b"of all things").is_some());
    let raw = t.raw();
    let (entered, left) = (at(b"\x1b[?1049h").unwrap(), at(LEAVE).unwrap());
    let (mouse, said) = (at(b"\x1b[?1000l").unwrap(), at(b"of all things").unwrap());
    assert!(entered < mouse && mouse < left && left < said, "{}", t.screen());
    // Lines end as a terminal in its usual mode ends them.
    assert!(raw[said..].windows(2).any(|w| w == b"\r\n"), "still raw");
}

#[cfg(target_os = "linux")]
fn stat(t: &Terminal) -> Vec<String> {
    let pid = t.child.process_id().unwrap();
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // Fields from the state on; the name before may hold blanks.
    text[text.rfind(')').unwrap() + 2..].split(' ').map(str::to_owned).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn it_suspends_with_the_terminal_restored_and_resumes() {
    let mut t = Terminal::open(80, 24);
    t.keys("\x1a");
    t.wait("stopped", || stat(&t)[0] == "T");
    t.wait("leave", || t.raw().windows(LEAVE.len()).any(|w| w == LEAVE));
    t.signal("-CONT");
    t.keys("d");
    t.wait_for("[doorbell]");
    t.keys("q");
    assert!(t.end().success());
}

/// Reports that a terminal must not send, and pieces of such.
#[test]
fn input_that_means_nothing_is_passed_over() {
    let mut t = Terminal::open(120, 36);
    let odd = [
        "\x1b[<0;0;0M",
        "\x1b[<0;0;5M",
        "\x1b[<0;70000;5M",
        "\x1b[<999;1;1m",
        "\x1b[M   ",
        "\x1b[0;0R",
        "\x1b[?0;0c",
        "\x1b[200~",
        "\x1b[201~",
        "\x1b[999999999999u",
        "\x1b[",
        "\x1bO",
        "\x00",
        "\u{7f}",
        "\u{ffff}",
    ];
    for report in odd {
        t.keys(report);
        t.keys("\x1b[B");
    }
    t.keys(":goto 30\r");
    t.wait("a key after them", || t.position() == 30);
    t.keys("q");
    assert!(t.end().success());
}

#[cfg(target_os = "linux")]
#[test]
fn idling_costs_no_time() {
    // In a directory of its own: the system tells of files beside the input that others read or
    // write meanwhile, and that is no idling.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("wrap.dma");
    std::fs::copy("sample-programs/wrap.dma", &file).unwrap();
    let mut t = Terminal::start(160, 45, &[], &[file.to_str().unwrap(), "--no-init"]);
    t.wait_for("event 0 of ");
    t.keys("d");
    t.wait_for("[doorbell]");
    let spent = || stat(&t)[11..13].iter().map(|s| s.parse::<u64>().unwrap()).sum::<u64>();
    // How often any of its threads was put to sleep: each time it was woken before.
    let woken = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", t.child.process_id().unwrap()));
        let count = |task: std::io::Result<std::fs::DirEntry>| {
            let text = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
            let line = text.lines().find(|l| l.starts_with("voluntary_ctxt_switches")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        tasks.unwrap().map(count).sum::<u64>()
    };
    // What the key began is over once nothing happens for a while, however loaded the machine.
    let mut last = None;
    t.wait("a pause", || {
        std::thread::sleep(Duration::from_millis(200));
        let now = Some((spent(), woken()));
        std::mem::replace(&mut last, now) == now
    });
    let before = (spent(), woken());
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!((spent(), woken()), before, "clock ticks, and wake-ups, while idle");
}

#[test]
fn a_program_image_is_not_written_to_a_terminal() {
    let t = Terminal::start(80, 24, &[], &["asm", "sample-programs/copy-4k.dma"]);
    t.wait_for("-o FILE");
    assert!(!t.screen().contains("QUEU"), "{}", t.screen());
}

#[test]
fn without_a_terminal_it_is_refused_with_advice() {
    let out = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .args(ARGS)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(2));
    let text = String::from_utf8_lossy(&out.stderr);
    assert!(text.contains("S011") && text.contains("run"), "{text}");
    assert!(out.stdout.is_empty());
}

#[test]
fn lines_and_the_arrangement_are_found_again_the_next_time() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().to_str().unwrap();
    let env = [("XDG_STATE_HOME", state)];
    let mut t = Terminal::open_with(160, 45, &env);
    t.keys(":step 3\r");
    t.wait("a step", || t.position() > 0);
    let narrow = t.screen();
    // Ctrl-Right makes the ring wider.
    t.keys("\x1b[1;5C\x1b[1;5C\x1b[1;5C");
    t.wait("a wider pane", || t.screen() != narrow);
    let wide = t.screen().lines().nth(2).unwrap().to_owned();
    t.keys("q");
    t.end();
    let mut t = Terminal::open_with(160, 45, &env);
    let column = |line: &str| line.find(" RX ");
    assert_eq!(column(t.screen().lines().nth(2).unwrap()), column(&wide));
    t.keys(":\x1b[A");
    t.wait_for(": step 3");
    t.keys("\x1b");
    t.wait_gone(": step 3");
    t.keys("q");
    t.end();
    // Asked not to, it does not look.
    let args = ["sample-programs/wrap.dma", "--no-init"];
    let mut t = Terminal::start(160, 45, &env, &args);
    t.wait_for("event 0 of ");
    assert_ne!(column(t.screen().lines().nth(2).unwrap()), column(&wide));
    t.keys("q");
    t.end();
}

#[test]
fn settings_hold_on_the_screen_and_wrong_ones_keep_it_shut() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().to_str().unwrap();
    std::fs::create_dir(home.path().join("dmadbg")).unwrap();
    let file = home.path().join("dmadbg/config.toml");
    std::fs::write(&file, "glyphs = \"ascii\"\n[keys]\nX = \"goto 41\"\n").unwrap();
    let env = [("XDG_CONFIG_HOME", config)];
    let mut t = Terminal::open_with(160, 45, &env);
    t.keys("X");
    t.wait("the user's key", || t.position() == 41);
    assert!(t.screen().is_ascii(), "{}", t.screen());
    t.keys("q");
    t.end();
    std::fs::write(&file, "glyphs = \"asci\"\n").unwrap();
    let mut t = Terminal::start(160, 45, &env, ARGS);
    t.wait_for("S029");
    let begun = Instant::now();
    let status = loop {
        if let Some(s) = t.child.try_wait().unwrap() {
            break s;
        }
        assert!(begun.elapsed() < Duration::from_secs(60));
    };
    assert_eq!(status.exit_code(), 2);
}

#[test]
fn a_copy_reaches_the_terminal_s_clipboard() {
    let mut t = Terminal::open_with(160, 45, &[("TMUX", "")]);
    t.keys("d");
    t.wait_for("[doorbell]");
    t.keys("Y");
    t.wait_for("copied as hex");
    let raw = t.raw();
    assert!(raw.windows(7).any(|w| w == b"\x1b]52;c;"), "no OSC 52");
    t.keys("q");
    t.end();
}

#[test]
fn a_lesson_is_taken_and_its_progress_kept() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().to_str().unwrap();
    let env = [("XDG_STATE_HOME", state)];
    let file = home.path().join("dmadbg/lessons");
    std::fs::create_dir(home.path().join("dmadbg")).unwrap();
    std::fs::write(&file, "of another version\n").unwrap();
    let mut t = Terminal::start(80, 24, &env, &["learn", "pair"]);
    t.wait_for("One copy takes two descriptors.");
    t.keys("\x1b");
    t.wait_for("task 1 of 5 >....");
    t.keys("Arx[0].buf_ptr\r");
    t.wait_for("The source stands in the other ring.");
    t.keys("Atx[0].buf_ptr\r");
    t.wait_for("solved: T goes on");
    t.keys("T");
    t.wait_for("task 2 of 5 +>...");
    t.keys(":skip\r");
    t.wait_for("task 3 of 5 +->..");
    t.keys("A3\r");
    t.wait_for("task 3 of 5 +-+..");
    t.keys("q");
    assert!(t.end().success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "of another version\nlesson pair 1 3\n");
    // The next time it begins with the first that is open.
    let mut t = Terminal::start(80, 24, &env, &["learn", "2"]);
    t.wait_for("task 2 of 5 +>+..");
    t.keys("Arx[0].buf_ptr\r");
    t.wait_for("task 2 of 5 +++..");
    t.signal("-TERM");
    t.end();
    assert!(std::fs::read_to_string(&file).unwrap().contains("lesson pair 1 2 3\n"));
}

#[test]
fn what_is_done_is_recorded_as_it_is_done_and_replayed() {
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("r.dbg");
    let name = record.to_str().unwrap();
    let read = || std::fs::read_to_string(&record).unwrap_or_default();
    let args = ["sample-programs/wrap.dma", "--record", name, "-e", "mark begin", "--no-init"];
    let mut t = Terminal::start(160, 45, &[], &args);
    t.wait_for("event 0 of ");
    t.keys("d");
    t.wait_for("[doorbell]");
    t.keys("s");
    t.wait_for("retire tx[0] rx[0]");
    let here = t.position();
    let lines = "mark begin\ndoorbell\nstep\n";
    t.wait("the record", || read().ends_with(lines));
    assert!(read().starts_with("dbg 1\n# Recorded on the screen of sample-programs/wrap.dma.\n"));
    // Nothing is lost where the program is killed.
    t.signal("-KILL");
    assert!(read().ends_with(lines));

    let out = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .args(["run", "sample-programs/wrap.dma", "--no-init", "--script", name])
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(0));
    let said = String::from_utf8(out.stdout).unwrap();
    assert!(said.contains(&format!("event {here},")), "{said}");

    // On the screen, with a script after it that fails.
    let args = ["sample-programs/wrap.dma", "--no-init", "--script", name, "-e", "goto nowhere"];
    let mut t = Terminal::start(160, 45, &[], &args);
    t.wait_for("no mark `nowhere`");
    assert_eq!(t.position(), here);
    t.keys("q");
    assert!(t.end().success());

    // A record that is there is not written over.
    let args = ["sample-programs/wrap.dma", "--record", name];
    let t = Terminal::start(160, 45, &[], &args);
    t.wait_for("is there already");
    assert!(read().ends_with(lines));
}

/// The stages side by side, a fold opened, a stage clicked, the proof, the way from a line to its
/// slots and to the grid, and back by the list of places.
#[test]
fn the_passes_of_a_module_are_gone_through() {
    let mut t = Terminal::start(200, 60, &[], &["sample-programs/gather.bir"]);
    t.wait_for("event 0 of ");
    t.keys(">>");
    t.wait_for("after unroll");
    t.wait_for("peel to unroll: 1 changed, 7 added");
    t.keys("v");
    t.wait_for("passes  peel to unroll");
    // The first row is a fold, which Enter opens and `z` closes again.
    t.keys("\x1b[H");
    assert!(t.screen().contains("14 equal lines"), "{}", t.screen());
    t.keys("\r");
    t.wait_gone("14 equal lines");
    t.keys("zz");
    t.wait_for("14 equal lines");
    t.keys("V");
    t.wait_for("the same memory");
    // A click on a stage of the table.
    let row = t.screen().lines().position(|l| l.starts_with("   lower_dma")).unwrap();
    t.keys(&format!("\x1b[<0;5;{}M", row + 1));
    t.wait_for("check to lower_dma");
    t.keys("=");
    t.wait_for("Esc closes");
    t.wait_for("dma_block_0_desc_0");
    t.keys("\x1b");
    t.wait_gone("Esc closes");
    t.keys("G");
    t.wait_for("event 299 of 299");
    // The line of a transfer: its slots, and where it reads and writes.
    t.keys(":pass loaded\r");
    t.wait_for("after loaded");
    t.keys("v\x1b[F\x1b[A\x1b[A\x1b[A\r");
    t.wait_for("tx[3] and 7 more");
    t.wait_for("TX  1024 slots");
    t.keys("p");
    t.wait_for("descriptor 1 of");
    t.wait_for("y in DRAM");
    t.keys("\x1b");
    t.wait_gone("y in DRAM");
    t.keys("J");
    t.wait_for("lower_dma line");
    t.keys("\x1b");
    t.wait_gone("lower_dma line");
    t.keys("((");
    t.wait_for("after lower_dma");
    t.keys("q");
    assert!(t.end().success());
}
