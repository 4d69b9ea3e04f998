//! Files that change under the screen: the real program in a pseudo-terminal, real files, every
//! way of saving.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(unix)]

mod terminal_support;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use terminal_support::Terminal;

const HEAD: &str = "dma 1
arch v3
profile dkms-2.26
queue e128.q0 tx=0x400040041000 tx_size=64 rx=0x400040021000 rx_size=64 marker=marker allocatable=yes
region hbm kind=device base=0x10000000 len=0x40000 fill=zero
region marker kind=host base=0x400040061000 len=24 fill=zero
region buffer kind=host base=0x4000400a3000 len=0x40000 fill=pattern:13
init e128.q0
";

/// A copy that no other is: of `n` times 16 bytes.
fn copy(n: u64) -> String {
    let at = n * 0x1000;
    format!("copy e128.q0 src=buffer+{at:#x} dst=hbm+{at:#x} size={} note=\"copy {n}\"\n", n * 16)
}

fn program(copies: &[u64]) -> String {
    HEAD.to_owned() + &copies.iter().map(|n| copy(*n)).collect::<String>()
}

struct Screen {
    dir: TempDir,
    t: Terminal,
}

impl Screen {
    /// Opens `p.dma` with two copies.
    fn new(args: &[&str]) -> Screen {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("p.dma"), program(&[1, 2])).unwrap();
        let file = dir.path().join("p.dma").to_string_lossy().into_owned();
        Screen::open(dir, [file.as_str()].iter().chain(args).map(|a| (*a).to_owned()).collect())
    }

    fn open(dir: TempDir, args: Vec<String>) -> Screen {
        let t = Terminal::start(150, 40, &[], &args);
        // Rings from raw images begin behind what puts them there.
        t.wait("the screen stands", || {
            t.screen().lines().next().is_some_and(|l| l.contains(" event "))
        });
        // Whatever is changed from here on is seen to change.
        std::thread::sleep(Duration::from_millis(300));
        Screen { dir, t }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The last copy is of so many times 16 bytes: its length is on the screen.
    fn at_end(&mut self) {
        self.t.keys("G");
        self.t.wait_for("END");
    }

    /// The screen shows a copy by its note somewhere.
    fn shows(&self, text: &str) {
        self.t.wait_for(text);
    }

    fn events(&self) -> String {
        let screen = self.t.screen();
        let line = screen.lines().next().unwrap_or_default().to_owned();
        line.split(" of ").nth(1).unwrap_or_default().split(' ').next().unwrap_or_default().into()
    }

    /// Another program is shown than the one of so many events.
    fn other_than(&self, events: &str) -> String {
        self.t.wait("another program", || {
            let now = self.events();
            !now.is_empty() && now != events
        });
        self.events()
    }

    fn save(&self, copies: &[u64]) {
        fs::write(self.path("p.dma"), program(copies)).unwrap();
    }
}

#[test]
fn every_way_of_saving_is_followed() {
    let s = Screen::new(&[]);
    let p = s.path("p.dma");
    let mut events = s.events();
    // Truncated and written anew.
    s.save(&[1, 2, 3]);
    events = s.other_than(&events);
    s.shows("reloaded: ");
    // Replaced by another of its name.
    fs::write(s.path("p.tmp"), program(&[1, 2, 3, 4])).unwrap();
    fs::rename(s.path("p.tmp"), &p).unwrap();
    events = s.other_than(&events);
    // Deleted, and made again.
    fs::remove_file(&p).unwrap();
    s.shows("BROKEN: 1 error in p.dma");
    assert_eq!(s.events(), events, "the last good one stays");
    s.save(&[1]);
    events = s.other_than(&events);
    s.t.wait_gone("BROKEN");
    // A pause amid the writing, longer than the quiet time: half of it is no program.
    let mut file = fs::File::create(&p).unwrap();
    let text = program(&[1, 5, 6, 7]);
    let (a, b) = text.split_at(text.len() - 30);
    file.write_all(a.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(400));
    assert!(!s.t.screen().contains("BROKEN"), "{}", s.t.screen());
    assert_eq!(s.events(), events);
    file.write_all(b.as_bytes()).unwrap();
    drop(file);
    s.other_than(&events);
    assert!(!s.t.screen().contains("BROKEN"));
}

#[test]
fn a_link_that_moves_and_a_directory_that_vanishes_are_followed() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("out")).unwrap();
    fs::write(at("out/one.dma"), program(&[1])).unwrap();
    fs::write(at("out/two.dma"), program(&[1, 2])).unwrap();
    std::os::unix::fs::symlink("out/one.dma", at("p.dma")).unwrap();
    let args = vec![at("p.dma").to_string_lossy().into_owned()];
    let s = Screen::open(dir, args);
    let mut events = s.events();
    // Turned to another file.
    std::os::unix::fs::symlink("out/two.dma", s.path("p.tmp")).unwrap();
    fs::rename(s.path("p.tmp"), s.path("p.dma")).unwrap();
    events = s.other_than(&events);
    // The file that it leads to now.
    fs::write(s.path("out/two.dma"), program(&[1, 2, 3])).unwrap();
    events = s.other_than(&events);
    // A clean build: all of it goes, and comes back.
    fs::remove_dir_all(s.path("out")).unwrap();
    s.shows("BROKEN");
    assert_eq!(s.events(), events);
    fs::create_dir(s.path("out")).unwrap();
    std::thread::sleep(Duration::from_millis(250));
    fs::write(s.path("out/two.dma"), program(&[4])).unwrap();
    s.other_than(&events);
    s.t.wait_gone("BROKEN");
}

#[test]
fn a_flood_of_saves_ends_with_the_last_and_is_read_few_times() {
    let mut s = Screen::new(&[]);
    let events = s.events();
    for n in 0..100u64 {
        s.save(&(1..=1 + n % 9).collect::<Vec<u64>>());
        std::thread::sleep(Duration::from_millis(3));
    }
    s.save(&(1..=12).collect::<Vec<u64>>());
    s.other_than(&events);
    s.at_end();
    // Twelve copies of a known length of run.
    s.t.keys(":info reload\r");
    s.t.wait_for("the files are watched; they changed");
    let screen = s.t.screen();
    let times = screen.split("they changed ").nth(1).unwrap().split_whitespace().next().unwrap();
    let times: u64 = if times == "once" { 1 } else { times.parse().unwrap() };
    assert!(times <= 4, "read {times} times");
    s.t.keys("\x1b");
    s.t.wait_gone("Esc closes");
    s.t.keys(":goto end\r");
    s.t.keys(":print batch\r");
    s.t.wait_for("batch = 12");
}

#[test]
fn two_inputs_that_change_together_are_one_change() {
    let dir = tempfile::tempdir().unwrap();
    let ring = |n: u64, slots: usize| -> (Vec<u8>, Vec<u8>) {
        let (mut tx, mut rx) = (Vec::new(), Vec::new());
        for i in 0..slots as u64 {
            let word = |v: u32| v.to_le_bytes();
            tx.extend(word(0x0d00_0000 | (n * 16) as u32));
            tx.extend(word(0x0108_0003));
            tx.extend((0x4000_0010_0000u64 + i * 0x1000).to_le_bytes());
            rx.extend(word(0x0100_0000 | (n * 16) as u32));
            rx.extend(word(0));
            rx.extend((0x10_0000_0000u64 + i * 0x1000).to_le_bytes());
        }
        (tx, rx)
    };
    let write = |dir: &Path, n: u64, slots: usize| {
        let (tx, rx) = ring(n, slots);
        fs::write(dir.join("a.bin"), tx).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        fs::write(dir.join("b.bin"), rx).unwrap();
    };
    write(dir.path(), 1, 32);
    let file = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let args = vec!["--tx".into(), file("a.bin"), "--rx".into(), file("b.bin")];
    let mut s = Screen::open(dir, args);
    let at = s.t.position();
    assert_ne!(at, 0);
    write(s.dir.path(), 3, 64);
    s.shows("reloaded: ");
    s.t.keys(":info reload\r");
    s.t.wait_for("they changed once");
    assert_eq!(s.t.position(), at, "where they lie in their rings");
    s.t.keys("\x1b");
    // A raw image whose size is no number of descriptors is none.
    fs::write(s.path("a.bin"), [1u8; 40]).unwrap();
    s.shows("BROKEN");
    fs::write(s.path("a.bin"), ring(3, 64).0).unwrap();
    s.t.wait_gone("BROKEN");
}

#[test]
fn the_place_is_kept_and_what_is_broken_is_told_and_mended() {
    let mut s = Screen::new(&[]);
    s.t.keys("ff");
    s.t.wait_for("batch 2");
    let was = s.t.position();
    s.t.keys(":break tx[2]\r");
    s.t.wait_for("breakpoint 1: tx[2]");
    s.t.keys(":mark here\r");
    s.t.wait_for("mark here");
    // A copy in front of everything: the ring shifts by two.
    s.save(&[9, 1, 2]);
    s.shows("reloaded: ");
    s.t.wait_for("batch 3");
    let is = s.t.position();
    assert!(is > was, "{was} {is}");
    s.t.keys(":info breakpoints\r");
    s.t.wait_for("breakpoint yes     0  tx[4]");
    s.t.keys("\x1b");
    s.t.wait_gone("Esc closes");
    // Broken: said in the header, told in the checks; everything else is as it was.
    let text = program(&[9, 1, 2]) + "nonsense\n";
    fs::write(s.path("p.dma"), text).unwrap();
    s.shows("BROKEN: 1 error in p.dma");
    s.shows("E D050");
    assert_eq!(s.t.position(), is);
    s.t.keys("E");
    s.t.wait("a step back", || s.t.position() == is - 1);
    s.t.keys("e");
    s.t.wait("a step", || s.t.position() == is);
    // Mended, and back to what it was at first.
    s.save(&[1, 2]);
    s.t.wait_gone("BROKEN");
    s.t.wait("back", || s.t.position() == was);
    s.t.keys(":info breakpoints\r");
    s.t.wait_for("breakpoint yes     0  tx[2]");
    s.t.keys("\x1b");
    s.t.wait_gone("Esc closes");
    s.t.keys(":goto 0\r");
    s.t.wait("the start", || s.t.position() == 0);
    s.t.keys(":goto here\r");
    s.t.wait("the mark", || s.t.position() == was);
    s.t.keys("q");
    assert!(s.t.end().success());
}

#[test]
fn a_command_comes_first_and_its_failure_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("p.dma"), program(&[1])).unwrap();
    fs::write(dir.path().join("source"), "1").unwrap();
    // A build that takes a while, writes what it does, and counts how often it ran.
    let script = "echo run >> runs; sleep 1; read n < source || exit 3; \
        if [ \"$n\" = bad ]; then echo 'source:1: this is bad' >&2; exit 2; fi; \
        cp p.$n p.dma.tmp && mv p.dma.tmp p.dma";
    for n in 1..4u64 {
        let all: Vec<u64> = (1..=n + 1).collect();
        fs::write(dir.path().join(format!("p.{n}")), program(&all)).unwrap();
    }
    let file = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let script = format!("cd '{}'; {script}", dir.path().display());
    let args = vec![
        file("p.dma"),
        "--on-change".to_owned(),
        script,
        "--on-change-watch".to_owned(),
        file("source"),
    ];
    let mut s = Screen::open(dir, args);
    let runs = |s: &Screen| fs::read_to_string(s.path("runs")).unwrap_or_default().lines().count();
    let mut events = s.events();
    assert_eq!(runs(&s), 0, "nothing has changed yet");
    fs::write(s.path("source"), "1\n").unwrap();
    s.shows("BUILDING");
    // Keys are answered while it runs.
    let begun = Instant::now();
    s.t.keys("e");
    s.t.wait("a step", || s.t.position() == 1);
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    events = s.other_than(&events);
    s.t.wait_gone("BUILDING");
    assert_eq!(runs(&s), 1);
    // It fails: its output is shown, the program stays.
    fs::write(s.path("source"), "bad\n").unwrap();
    s.shows("source:1: this is bad");
    s.shows("exit status 2");
    s.shows("BUILD FAILED");
    assert_eq!(s.events(), events);
    s.t.keys("\x1b");
    // Changed again while it runs: run once more, and the last is what is shown.
    let before = runs(&s);
    fs::write(s.path("source"), "2\n").unwrap();
    s.shows("BUILDING");
    std::thread::sleep(Duration::from_millis(300));
    fs::write(s.path("source"), "3\n").unwrap();
    s.t.wait("both runs", || runs(&s) == before + 2);
    s.t.wait_gone("BUILDING");
    s.at_end();
    s.t.keys(":print batch\r");
    s.t.wait_for("batch = 4");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(runs(&s), before + 2);
}

#[test]
fn a_command_that_changes_what_it_is_run_for_does_not_run_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("p.dma"), program(&[1])).unwrap();
    let here = dir.path().display().to_string();
    // A formatter settles; something that writes another text each time never does.
    let script = format!("cd '{here}'; echo run >> runs; echo \"; $(date +%N)\" >> p.dma");
    let args = vec![format!("{here}/p.dma"), "--on-change".to_owned(), script];
    let s = Screen::open(dir, args);
    fs::write(s.path("p.dma"), program(&[1, 2])).unwrap();
    let runs = || fs::read_to_string(s.path("runs")).unwrap_or_default().lines().count();
    s.t.wait("a run", || runs() > 0);
    std::thread::sleep(Duration::from_millis(2500));
    let n = runs();
    assert!(n <= 5, "{n} runs");
    std::thread::sleep(Duration::from_millis(1000));
    assert_eq!(runs(), n, "it is over");
}

#[test]
fn a_command_that_runs_ends_with_the_screen() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("p.dma"), program(&[1])).unwrap();
    let here = dir.path().display().to_string();
    let script = format!("cd '{here}'; (echo $BASHPID; exec sleep 600) & echo $! > pid; wait");
    let args = vec![format!("{here}/p.dma"), "--on-change".to_owned(), script];
    let mut s = Screen::open(dir, args);
    s.save(&[1, 2]);
    s.t.wait("it runs", || fs::read_to_string(s.path("pid")).is_ok_and(|t| t.ends_with('\n')));
    let pid = fs::read_to_string(s.path("pid")).unwrap().trim().to_owned();
    s.t.keys("q");
    assert!(s.t.end().success());
    let lives = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    let begun = Instant::now();
    while lives() && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!lives(), "process {pid} is left");
}

#[test]
fn a_reload_can_be_asked_for_and_caught() {
    let mut s = Screen::new(&["--no-watch"]);
    let events = s.events();
    s.save(&[1, 2, 3]);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(s.events(), events, "nobody looks");
    s.t.keys(":catch reload\r");
    s.t.wait_for("catchpoint 1: reload");
    // What moves ends the commands of a stop.
    s.t.keys(":commands 1 print 40 + 2; goto end\r");
    s.t.wait_for("has 2 commands");
    s.t.keys("R");
    s.other_than(&events);
    s.t.wait_for("40 + 2 = 42");
    s.t.wait_for("catchpoint 1, reload");
    s.t.wait_for("END");
    s.t.wait_for("Esc closes");
    s.t.keys("\x1b");
    s.t.wait_gone("Esc closes");
    s.t.keys("R");
    s.t.wait_for("the files are what they were");
}

#[test]
fn a_run_that_goes_on_for_long_is_stopped_by_a_reload() {
    let dir = tempfile::tempdir().unwrap();
    // Millions of events in copies of one descriptor each.
    let many = |n: u64| {
        let mut text = HEAD.to_owned();
        for i in 0..n {
            text.push_str(&format!("copy e128.q0 src=buffer dst=hbm+{:#x} size=16\n", i % 64 * 16));
        }
        text
    };
    fs::write(dir.path().join("p.dma"), many(60_000)).unwrap();
    let args = vec![dir.path().join("p.dma").to_string_lossy().into_owned()];
    let mut s = Screen::open(dir, args);
    s.t.keys(":catch reload\r");
    s.t.wait_for("catchpoint 1");
    s.t.keys(":until mem32[0x10000000] == 1\r");
    s.t.wait_for("RUNNING");
    s.save(&[1, 2]);
    s.t.wait_for("catchpoint 1, reload");
    s.t.wait_for("event 75 of 75  END");
}

#[cfg(target_os = "linux")]
#[test]
fn watching_costs_nothing_while_nothing_changes() {
    let s = Screen::new(&[]);
    let ticks = || -> u64 {
        let pid = s.t.child.process_id().unwrap();
        let mut switches = 0;
        for task in fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
            let text = fs::read_to_string(task.path().join("status")).unwrap_or_default();
            let line = text.lines().find(|l| l.starts_with("voluntary_ctxt_switches"));
            switches += line.map_or(0, |l| l.rsplit('\t').next().unwrap().parse::<u64>().unwrap());
        }
        switches
    };
    std::thread::sleep(Duration::from_millis(500));
    let before = ticks();
    std::thread::sleep(Duration::from_millis(2000));
    assert_eq!(ticks(), before, "threads woke up while idle");
}

/// Others read the files, and list the directory: nobody is woken up by that.
#[cfg(target_os = "linux")]
#[test]
fn who_only_reads_wakes_nothing_up() {
    let s = Screen::new(&[]);
    let pid = s.t.child.process_id().unwrap();
    let switches = || -> u64 {
        let of = |task: fs::DirEntry| {
            let text = fs::read_to_string(task.path().join("status")).unwrap_or_default();
            let line = text.lines().find(|l| l.starts_with("voluntary_ctxt_switches")).unwrap();
            line.rsplit('\t').next().unwrap().parse::<u64>().unwrap()
        };
        fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten().map(of).sum()
    };
    std::thread::sleep(Duration::from_millis(500));
    let before = switches();
    for _ in 0..500 {
        fs::read(s.path("p.dma")).unwrap();
        assert_eq!(fs::read_dir(s.dir.path()).unwrap().count(), 1);
    }
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(switches(), before, "readers woke it up");
    // And a change is seen as before.
    let events = s.events();
    s.save(&[1, 2, 3]);
    s.other_than(&events);
}

/// An editor that empties, cuts or deletes the file, closes it, and writes it a moment later:
/// nothing of that is shown. What stays so is told.
#[test]
fn what_is_broken_for_a_moment_does_not_flash() {
    let s = Screen::new(&[]);
    let p = s.path("p.dma");
    let mut events = s.events();
    let text = program(&[1, 2]);
    let half = text.len() - 30;
    let ways: [(&str, &dyn Fn()); 3] = [
        ("empty", &|| drop(fs::File::create(&p).unwrap())),
        ("half", &|| fs::write(&p, &text[..half]).unwrap()),
        ("gone", &|| fs::remove_file(&p).unwrap()),
    ];
    for (n, (what, way)) in ways.iter().enumerate() {
        let begun = Instant::now();
        way();
        // Longer than the quiet time; what is drawn meanwhile is looked at all the time.
        while begun.elapsed() < Duration::from_millis(250) {
            assert!(!s.t.screen().contains("BROKEN"), "{what}: {}", s.t.screen());
            std::thread::sleep(Duration::from_millis(5));
        }
        let copies: Vec<u64> = (1..=3 + n as u64).collect();
        s.save(&copies);
        // On a machine that is too busy to write in time nothing is shown by this.
        let in_time = begun.elapsed() < Duration::from_millis(350);
        let raw = s.t.raw();
        events = s.other_than(&events);
        let flashed =
            s.t.raw()[raw.len().min(s.t.raw().len())..].windows(6).any(|w| w == b"BROKEN");
        assert!(!in_time || !flashed, "{what}");
        way();
        s.shows("BROKEN");
        assert_eq!(s.events(), events, "{what}: the last good one stays");
        s.save(&copies);
        s.t.wait_gone("BROKEN");
    }
}

#[test]
fn half_of_a_container_is_never_shown() {
    let dir = tempfile::tempdir().unwrap();
    let image = |copies: &[u64]| -> Vec<u8> {
        let text = dir.path().join("source.dma");
        fs::write(&text, program(copies)).unwrap();
        let out = dir.path().join("made");
        let made = std::process::Command::new(env!("CARGO_BIN_EXE_dmadbg"))
            .args(["asm".as_ref(), text.as_os_str(), "-o".as_ref(), out.as_os_str()])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let bytes = fs::read(&out).unwrap();
        fs::remove_file(&out).unwrap();
        bytes
    };
    let (one, other) = (image(&[1, 2]), image(&[1, 2, 3]));
    let path = dir.path().join("p.dmap");
    fs::write(&path, &one).unwrap();
    let s = Screen::open(dir, vec![path.to_string_lossy().into_owned()]);
    let events = s.events();
    // Closed in between, and quiet for long: its parts and its checksum tell that it is not whole.
    for cut in [64, other.len() / 2, other.len() - 1] {
        fs::write(&path, &other[..cut]).unwrap();
        s.shows("BROKEN: 1 error in p.dmap");
        assert_eq!(s.events(), events, "{cut}");
        fs::write(&path, &one).unwrap();
        s.t.wait_gone("BROKEN");
    }
    // As long as the whole, and the old bytes at its end.
    let mut mixed = other.clone();
    let half = mixed.len() / 2;
    mixed[half..].iter_mut().for_each(|b| *b = 0);
    fs::write(&path, &mixed).unwrap();
    s.shows("BROKEN: 1 error in p.dmap");
    assert_eq!(s.events(), events);
    fs::write(&path, &other).unwrap();
    s.other_than(&events);
    s.t.wait_gone("BROKEN");
}

#[test]
fn an_instruction_above_the_selected_one_moves_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("copy.bir");
    let text = fs::read_to_string("sample-programs/copy.bir").unwrap();
    fs::write(&path, &text).unwrap();
    let mut s = Screen::open(dir, vec![path.to_string_lossy().into_owned()]);
    s.t.keys(":goto 40\r");
    s.t.wait_for("event 40 of");
    s.t.keys(":break I-1\r");
    s.t.wait_for("breakpoint 1: I-1");
    s.t.keys(">>");
    s.t.wait_for("after unroll");
    let (was, events) = (s.t.position(), s.events());
    let more = text.replace(
        "    %I-1 = DMACopy",
        "    %I-0 = DMACopy SP queue=qSyncData0 dge_type=None ins(x[[1, 32]] : uint8) outs(y[[1, 32]] +32 : uint8)\n    %I-1 = DMACopy",
    );
    fs::write(&path, more).unwrap();
    s.other_than(&events);
    s.shows("reloaded: +1 instruction, +2 descriptors");
    let screen = s.t.screen();
    let line = |id: &str| screen.lines().find(|l| l.contains(&format!("{id} = "))).unwrap();
    assert!(line("%I-1").contains('B') && line("%I-1").contains('◆'), "{screen}");
    assert!(line("%I-0").trim_start().starts_with('+'), "{screen}");
    assert!(screen.contains("after unroll"), "{screen}");
    let is = s.t.position();
    assert!(is > was, "{was} {is}");
    // And back.
    fs::write(&path, &text).unwrap();
    s.t.wait("back", || s.events() == events && s.t.position() == was);
}

#[test]
fn a_directory_of_rings_is_followed_file_by_file() {
    let dir = tempfile::tempdir().unwrap();
    let dump = dir.path().join("dump");
    fs::create_dir(&dump).unwrap();
    let ring = |n: u32| {
        let word = |v: u32| v.to_le_bytes();
        let one = [word(0x0d00_0000 | n), word(0x0108_0003), word(0x10_0000), word(0x4000)];
        one.concat().repeat(32)
    };
    fs::write(dump.join("e128.q0.tx.bin"), ring(64)).unwrap();
    let s = Screen::open(dir, vec![dump.to_string_lossy().into_owned()]);
    s.shows("64 B");
    fs::write(dump.join("e128.q0.tx.bin"), ring(80)).unwrap();
    s.shows("80 B");
    s.t.wait_gone("64 B");
    // All of it goes, and comes back.
    fs::rename(&dump, s.path("old")).unwrap();
    s.shows("BROKEN");
    s.shows("80 B");
    fs::create_dir(&dump).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    fs::write(dump.join("e128.q0.tx.bin"), ring(96)).unwrap();
    s.shows("96 B");
    s.t.wait_gone("BROKEN");
}

#[test]
fn watching_is_a_setting() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("dmadbg")).unwrap();
    fs::write(dir.path().join("dmadbg/config.toml"), "watch = false\nquiet_ms = 10\n").unwrap();
    let file = dir.path().join("p.dma");
    fs::write(&file, program(&[1])).unwrap();
    let config = dir.path().to_string_lossy().into_owned();
    let mut t = Terminal::start(150, 40, &[("XDG_CONFIG_HOME", &config)], &[&file]);
    t.wait_for("event 0");
    fs::write(&file, program(&[1, 2])).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    t.keys(":info reload\r");
    t.wait_for("the files are not watched");
}
