//! What people do with the screen, by keys and mouse, with the real program in a pseudo-terminal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(unix)]

use std::process::Command;
use terminal_support::*;

mod terminal_support;

fn open(file: &str, first: &str) -> Terminal {
    let t = Terminal::start(160, 45, &[], &[file, "--no-init"]);
    t.wait_for(first);
    t
}

fn leave(mut t: Terminal) {
    t.keys("q");
    assert!(t.end().success());
}

/// Where a text is on the screen, column and row from 1 as the mouse counts, the first from a
/// line on.
fn find(t: &Terminal, text: &str, from: usize) -> (usize, usize) {
    let screen = t.screen();
    let mut lines = screen.lines().enumerate().skip(from);
    let (row, line) = lines.find(|(_, l)| l.contains(text)).unwrap_or_else(|| panic!("{screen}"));
    (line[..line.find(text).unwrap()].chars().count() + 1, row + 1)
}

fn mouse(t: &mut Terminal, button: u8, (x, y): (usize, usize), up: bool) {
    t.keys(&format!("\x1b[<{button};{x};{y}{}", if up { 'm' } else { 'M' }));
}

fn click(t: &mut Terminal, at: (usize, usize)) {
    mouse(t, 0, at, false);
    mouse(t, 0, at, true);
}

/// The value of LAST in the ruler of the selected descriptor: where its digit is, and it.
fn last_bit(t: &Terminal) -> ((usize, usize), char) {
    let (_, y) = find(t, "31  30 29", 0);
    let screen = t.screen();
    let numbers = screen.lines().nth(y - 1).unwrap();
    let at = numbers.find("27").map(|b| numbers[..b].chars().count()).unwrap();
    let values: Vec<char> = screen.lines().nth(y).unwrap().chars().collect();
    // The digit stands under the number, at its right end or one before.
    let digit = (at..at + 2).find(|&i| values[i].is_ascii_digit()).unwrap();
    ((digit + 1, y + 1), values[digit])
}

#[test]
fn a_bit_is_clicked_flipped_judged_run_and_taken_back() {
    let mut t = open("sample-programs/copy-4k.dma", "event 0 of ");
    t.keys("d");
    t.wait_for("[doorbell]");
    t.wait("LAST is set", || last_bit(&t).1 == '1');
    let at = last_bit(&t).0;
    click(&mut t, at);
    t.wait_for("bit 27  last = yes");
    t.keys(" ");
    t.wait_for("edited");
    t.wait("LAST is not set", || last_bit(&t).1 == '0');
    // The checks are run again at once, on what lies in the ring now.
    t.wait_gone("nothing found up to here");
    // What runs from here is the edited ring: the batch does not come to its end as before.
    t.keys("G");
    t.wait_gone("[doorbell]");
    t.keys("u");
    t.wait_gone("edited");
    t.keys("g");
    t.wait("the start", || t.position() == 0);
    t.keys("G");
    t.wait_for("event 46 of 46");
    leave(t);
}

#[test]
fn a_stop_is_set_on_a_slot_met_listed_turned_off_and_removed() {
    let mut t = open("sample-programs/wrap.dma", "event 0 of ");
    t.keys("d");
    t.wait_for("[doorbell]");
    t.wait_for("tx[4] of 32");
    t.keys("kk");
    t.wait_for("tx[2] of 32");
    t.keys("b");
    t.wait_for("breakpoint 1: tx[2]");
    t.keys("c");
    t.wait_for("breakpoint 1, tx[2]");
    let first = t.position();
    t.keys(":disable 1\rc");
    t.wait_for("END");
    t.keys(":enable 1\rC");
    t.wait_for("breakpoint 1, tx[2]");
    assert!(t.position() >= first);
    t.keys("B");
    t.wait_for("tx[2]");
    t.wait_for("hits");
    t.keys("\x1b");
    t.wait_gone("Esc closes");
    t.keys(":delete 1\r");
    t.keys("gc");
    t.wait_for("END");
    leave(t);
}

#[test]
fn the_words_of_a_watch_change_and_their_cause_is_told() {
    let mut t = open("sample-programs/copy-4k.dma", "event 0 of ");
    t.keys(":watch marker\r");
    t.wait_for("watchpoint 1");
    // Its first value, then the one that the engine writes.
    t.keys("c");
    t.wait_for("new = 0x00000000");
    t.keys("c");
    t.wait_for("new = 0xabcdef01");
    let polled = t.position();
    t.keys(":last-write marker\r");
    t.wait_for("changed; `goto 36`");
    t.keys(":origin marker\r");
    t.wait_for("host at event 20");
    t.keys("\x1b");
    t.wait_gone("Esc closes");
    t.keys("C");
    t.wait("before", || t.position() < polled);
    leave(t);
}

#[test]
fn a_stuck_program_says_why() {
    let mut t = open("sample-programs/no-doorbell.dma", "event 0 of ");
    t.keys("G");
    t.wait_for("END");
    t.keys("W");
    t.wait_for("no TX doorbell");
    t.keys("\x1b");
    t.wait_gone("no TX doorbell: RX was rung");
    leave(t);
}

#[test]
fn slots_are_searched_counted_and_filtered() {
    let mut t = open("sample-programs/wrap.dma", "event 0 of ");
    t.keys("G");
    t.wait_for("END");
    t.keys("/length == 4\r");
    t.wait_for("find length == 4");
    let before = last_line(&t);
    t.keys("m");
    t.wait("another one", || last_line(&t) != before);
    t.keys("x");
    t.wait_gone("4 KiB");
    t.keys("x");
    t.keys("/lenght == 4\r");
    t.wait_for("error[");
    t.wait_for("length");
    t.keys("\x1b");
    t.wait_gone("error[");
    leave(t);
}

#[test]
fn the_palette_finds_and_does_and_the_line_completes() {
    let mut t = open("sample-programs/wrap.dma", "event 0 of ");
    t.keys("\x10doorbell");
    t.wait_for("palette");
    t.wait_for("of ");
    t.keys("\r");
    t.wait_for("[doorbell]");
    t.keys(":info bre\t");
    t.wait_for(": info breakpoints");
    t.keys("\r");
    t.wait_for("no breakpoints, watchpoints or catchpoints");
    t.keys(":break ter[1]\r");
    t.wait_for("^^^");
    t.keys("\x1b");
    t.wait_gone("^^^");
    t.keys(":\x1b[A");
    t.wait_for(": break ter[1]");
    t.keys("\x1b");
    t.wait_gone(": break ter[1]");
    leave(t);
}

#[test]
fn the_mouse_scrolls_selects_and_moves_borders() {
    let mut t = open("sample-programs/wrap.dma", "event 0 of ");
    t.keys("G");
    t.wait_for("END");
    t.keys("z");
    t.wait_for("every slot is shown");
    // A click on a slot of the Tx ring that is in sight.
    let (x, y) = find(&t, "64 KiB", 3);
    let before = last_line(&t);
    click(&mut t, (x, y + 1));
    t.wait("another slot", || last_line(&t) != before);
    let before = last_line(&t);
    mouse(&mut t, 65, (x, y), false);
    t.wait("scrolled", || last_line(&t) != before);
    mouse(&mut t, 64, (x, y), false);
    t.wait("scrolled back", || last_line(&t) == before);
    // The border between the rings and what is right of them.
    let (column, row) = find(&t, " marker ", 2);
    let border = (column - 1, row + 4);
    mouse(&mut t, 0, border, false);
    mouse(&mut t, 32, (border.0 - 10, border.1), false);
    mouse(&mut t, 0, (border.0 - 10, border.1), true);
    t.wait("a wider right side", || find(&t, " marker ", 2).0 == column - 10);
    leave(t);
}

/// What was said, and the selected slot.
fn last_line(t: &Terminal) -> String {
    t.screen().lines().nth(43).unwrap_or_default().to_owned()
}

#[test]
fn what_if_is_saved_and_the_file_does_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("changed.dma");
    let name = file.to_str().unwrap();
    let mut t = open("sample-programs/copy-4k.dma", "event 0 of ");
    t.keys("d");
    t.wait_for("[doorbell]");
    t.keys(":set tx[0].length = 16\r");
    t.wait_for("edited");
    t.keys(&format!(":save {name}\r"));
    t.wait("saved", || file.exists());
    t.keys("G");
    t.wait("the end", || !t.screen().contains("PAUSED"));
    let end = t.screen().lines().next().unwrap().split("event ").nth(1).unwrap().to_owned();
    t.keys("q");
    t.end();
    let out = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .args(["run", name, "-e", "goto end", "-e", "where"])
        .output()
        .unwrap();
    let said = String::from_utf8(out.stdout).unwrap();
    let position = end.split_whitespace().next().unwrap();
    assert!(said.contains(&format!("event {position} ")), "{said}\n{end}");
}

#[test]
fn an_order_that_breaks_a_program_is_found_and_walked() {
    let mut t = open("sample-programs/race.dma", "event 0 of ");
    t.keys(":order explore\r");
    t.wait_for("order replay");
    t.keys("\x1b");
    t.wait_gone("Esc closes");
    t.keys(":order replay\r");
    t.wait_for("the order is calm, but for");
    t.keys("\x1b");
    t.wait_gone("Esc closes");
    t.keys("G");
    t.wait("the end", || !t.screen().contains("PAUSED"));
    t.keys("g");
    t.wait("back", || t.position() == 0);
    leave(t);
}

#[test]
fn a_module_is_followed_from_its_text_to_its_slots() {
    let mut t = open("sample-programs/gather.bir", "event 0 of ");
    t.keys(">>");
    t.wait_for("[unroll]");
    t.wait_for("%I-2_0");
    t.keys("=");
    t.wait_for("peel -> unroll");
    t.keys("\x1b");
    t.wait_gone("peel -> unroll");
    t.keys("d");
    t.wait_for("[doorbell]");
    t.keys("<<");
    t.wait_for("[loaded]");
    leave(t);
}

/// A raw ring, as it is copied out of a driver: bytes and nothing else.
#[test]
fn a_raw_image_is_stepped_by_doorbells() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prog.bin");
    // tx[0]: 4 KiB; rx[0]: its destination, by the words of the format.
    let slot = |len: u32, word1: u32, ptr: u64| {
        let mut b = Vec::from(len.to_le_bytes());
        b.extend(word1.to_le_bytes());
        b.extend(ptr.to_le_bytes());
        b
    };
    let mut tx = slot(0x0d00_1000, 0x0108_0003, 0x4000_0100_0000);
    tx.resize(16 * 64, 0);
    let mut rx = slot(0x0100_1000, 0, 0x10_0000_4000);
    rx.resize(16 * 64, 0);
    std::fs::write(&file, &tx).unwrap();
    let other = folder.path().join("rx.bin");
    std::fs::write(&other, &rx).unwrap();
    let args = [file.to_str().unwrap(), other.to_str().unwrap(), "--no-init"];
    let mut t = Terminal::start(160, 45, &[], &args);
    // As it lies in the file, before anything is made of it.
    t.wait_for("4 KiB");
    t.wait_for("staged");
    let opened = t.position();
    assert!(opened > 0);
    t.keys("d");
    t.wait("a doorbell", || t.position() > opened);
    let rung = t.position();
    t.keys("s");
    t.wait("a pair", || t.position() > rung);
    t.wait_for("retired");
    t.keys("D");
    t.wait("back to the doorbell", || t.position() == rung);
    leave(t);
}

/// `xxd ring.bin | dmadbg -`: the program from a pipe, the keys from the terminal.
#[test]
fn a_program_from_a_pipe_is_shown_with_keys_from_the_terminal() {
    let line =
        format!("cat sample-programs/copy-4k.dma | {} - --no-init", env!("CARGO_BIN_EXE_dmadbg"));
    let mut t = Terminal::start_program("sh", 160, 45, &[], &["-c", &line]);
    t.wait_for("event 0 of ");
    t.keys("d");
    t.wait_for("[doorbell]");
    leave(t);
}

#[test]
fn names_of_files_are_completed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::create_dir(path.join("scripts")).unwrap();
    for name in ["scripts/one.dbg", "scripts/other.dbg", "with blank", ".hidden", "screen"] {
        std::fs::write(path.join(name), "dbg 1\ngoto 30\n").unwrap();
    }
    let mut t = open("sample-programs/wrap.dma", "event 0 of ");
    let base = path.to_str().unwrap();
    t.keys(&format!(":source {base}/\t"));
    t.wait_for("/screen");
    t.wait_for("/scripts/");
    assert!(!t.screen().contains("blank") && !t.screen().contains("hidden"), "{}", t.screen());
    t.keys("scr\t");
    t.keys("on\t");
    t.keys("\x15");
    t.keys(&format!("source {base}/scripts/on\t"));
    t.wait_for("/scripts/one.dbg");
    t.keys("\r");
    t.wait("the script", || t.position() == 30);
    leave(t);
}

/// Ctrl-Z in a shell, something else there, and `fg`: the screen is as it was, and so is the shell's
/// terminal in between.
#[test]
fn suspended_in_a_shell_it_comes_back_by_fg() {
    let mut t = Terminal::start_program("bash", 100, 30, &[], &["--norc", "--noprofile", "-i"]);
    let program = env!("CARGO_BIN_EXE_dmadbg");
    t.keys(&format!("PS1='ready> '; {program} sample-programs/copy-4k.dma --no-init\r"));
    t.wait_for("event 0 of ");
    t.keys("d");
    t.wait_for("[doorbell]");
    let before = t.position();
    t.keys("\x1a");
    t.wait_for("Stopped");
    t.wait_gone("[doorbell]");
    t.keys("echo in between $((6 * 7))\r");
    t.wait_for("in between 42");
    t.keys("fg\r");
    t.wait_for("[doorbell]");
    assert_eq!(t.position(), before);
    t.keys("e");
    t.wait("a step", || t.position() == before + 1);
    t.keys("q");
    t.wait_gone("[doorbell]");
    t.keys("echo status $?\r");
    t.wait_for("status 0");
    t.keys("exit\r");
}
