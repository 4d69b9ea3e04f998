//! Bad scripts, through the real program: an error with file, line, column and caret, the
//! nearest name that would do, and status 2; a failed assertion is status 1 and says why.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::limits::MAX_SCRIPT_COMMANDS;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

struct Ran {
    status: i32,
    out: String,
    err: String,
}

fn run(args: &[&str]) -> Ran {
    let begun = Instant::now();
    let out = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .args(["run", "sample-programs/copy-4k.dma"])
        .args(args)
        .env_remove("XDG_CONFIG_HOME")
        .env("HOME", "/nonexistent")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(begun.elapsed() < Duration::from_secs(60), "it takes too long");
    Ran {
        status: out.status.code().unwrap(),
        out: String::from_utf8(out.stdout).unwrap(),
        err: String::from_utf8(out.stderr).unwrap(),
    }
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Runs a script that is called `s.dbg`.
    fn script(&self, text: impl AsRef<[u8]>) -> Ran {
        run(&["--script", &self.write("s.dbg", text)])
    }
}

/// What the carets of the first finding stand under.
fn under_carets(err: &str) -> String {
    let lines: Vec<&str> = err.lines().collect();
    let at = lines.iter().position(|l| l.contains('^')).unwrap_or_else(|| panic!("{err}"));
    let (source, carets) = (lines[at - 1], lines[at]);
    let from = carets.find('^').unwrap();
    source.chars().skip(from).take(carets.matches('^').count()).collect()
}

#[test]
fn each_mistake_is_told_at_its_word_with_the_nearest_that_would_do() {
    // The script, the code, the line and column, the word, and what the help says.
    let cases: &[(&str, &str, &str, &str, &str)] = &[
        ("stpe", "S001", "1:1", "stpe", "did you mean `step`?"),
        ("step\n  revese-step", "S001", "2:3", "revese-step", "did you mean `reverse-step`?"),
        ("r", "S002", "1:1", "r", ""),
        ("step 1 2", "S003", "1:8", "2", "usage: step [N]"),
        ("finish 3", "S003", "1:8", "3", "usage: finish"),
        ("goto", "S003", "1:5", "", "usage: goto EVENT|MARK"),
        ("step foo", "S003", "1:6", "foo", "one of event, slot"),
        ("step 2 slto", "S003", "1:8", "slto", "did you mean `slot`?"),
        ("info regz", "S003", "1:6", "regz", "did you mean `regs`?"),
        ("info queue q7", "S005", "1:12", "q7", "queues: e128.q0"),
        ("print tx[0].dbm", "S005", "1:13", "dbm", "did you mean `dmb`?"),
        ("print makrer", "S005", "1:7", "makrer", "did you mean `marker`?"),
        ("print (1 + 2", "S004", "1:7", "(", ""),
        ("set $count = 1\nprint $cuont", "S005", "2:7", "$cuont", "did you mean `$count`?"),
        ("mark begin\ngoto begni", "S005", "2:6", "begni", "did you mean `begin`?"),
        ("expect fault PKT_LENN", "S003", "1:14", "PKT_LENN", "did you mean `PKT_LEN`?"),
        ("explain D9999", "S003", "1:9", "D9999", "usage:"),
        ("break tx[64]", "S005", "1:7", "tx[64]", ""),
        ("print tx[64].length", "S005", "1:7", "tx[64]", ""),
        ("print 8 / (event - event)", "S006", "1:12", "event - event", ""),
        ("echo \"open", "S003", "1:6", "\"", ""),
    ];
    let f = Folder::new();
    for (script, code, place, word, help) in cases {
        let r = f.script(script);
        assert_eq!(r.status, 2, "{script}: {}", r.err);
        assert!(r.err.starts_with(&format!("error[{code}]: ")), "{script}: {}", r.err);
        assert!(r.err.contains(&format!("s.dbg:{place}")), "{script}: {}", r.err);
        assert!(under_carets(&r.err).trim_end() == *word, "{script}: {}", r.err);
        assert!(r.err.contains(help), "{script}: {}", r.err);
    }
}

#[test]
fn a_command_of_the_command_line_is_told_the_same_way() {
    let r = run(&["-e", "goto 3", "-e", "print 1\nprint tx[0].dbm"]);
    assert_eq!(r.status, 2);
    assert!(r.out.is_empty(), "nothing runs");
    assert!(r.err.contains("<-e 2>:2:13") && under_carets(&r.err) == "dbm", "{}", r.err);
}

#[test]
fn scripts_and_commands_run_in_their_order() {
    let f = Folder::new();
    let (a, b) = (f.write("a.dbg", "echo two\n"), f.write("b.dbg", "echo four\n"));
    let r = run(&["-e", "echo one", "--script", &a, "-e", "echo three", "--script", &b]);
    assert_eq!((r.status, r.out.as_str()), (0, "one\ntwo\nthree\nfour\n"), "{}", r.err);
}

#[test]
fn the_init_file_is_that_of_the_user_and_comes_first() {
    let f = Folder::new();
    let root = f.0.path();
    std::fs::create_dir_all(root.join("config/dmadbg")).unwrap();
    std::fs::create_dir_all(root.join(".config/dmadbg")).unwrap();
    f.write("config/dmadbg/init.dbg", "echo of the configuration\n");
    f.write(".config/dmadbg/init.dbg", "echo of the home\n");
    // Files of the folder that it is run in come from anybody.
    for name in ["init.dbg", ".dmadbginit", ".dmadbg", ".gdbinit"] {
        f.write(name, "echo of a stranger\n");
    }
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-programs/copy-4k.dma");
    let run = |config: Option<&str>, more: &[&str]| {
        let mut c = Command::new(env!("CARGO_BIN_EXE_dmadbg"));
        c.arg("run").arg(&sample).args(["-e", "echo given"]).args(more).current_dir(root);
        c.env("HOME", root).env_remove("XDG_CONFIG_HOME");
        if let Some(dir) = config {
            c.env("XDG_CONFIG_HOME", root.join(dir));
        }
        String::from_utf8(c.output().unwrap().stdout).unwrap()
    };
    assert_eq!(run(Some("config"), &[]), "of the configuration\ngiven\n");
    assert_eq!(run(None, &[]), "of the home\ngiven\n");
    assert_eq!(run(None, &["--no-init"]), "given\n");
}

#[test]
fn an_until_that_never_comes_true_ends_with_the_run() {
    let r = run(&["-e", "until 0", "-e", "reverse-until 0"]);
    assert_eq!(r.status, 0, "{}", r.err);
    assert!(r.out.contains("the run is at its end") && r.out.contains("the run is at its start"));
}

#[test]
fn a_script_that_sources_itself_is_told_where() {
    let f = Folder::new();
    let r = f.script("step\n  source s.dbg\n");
    assert_eq!(r.status, 2);
    assert!(r.err.contains("s.dbg:2:10") && r.err.contains("sources itself"), "{}", r.err);
    assert_eq!(under_carets(&r.err), "s.dbg");
    // By way of another.
    f.write("t.dbg", "echo t\nsource s.dbg # round\n");
    let r = f.script("source t.dbg\n");
    assert_eq!(r.status, 2);
    assert!(r.err.contains("t.dbg:2:8") && r.err.contains("sources itself"), "{}", r.err);
    assert_eq!(under_carets(&r.err), "s.dbg");
}

#[test]
fn a_file_that_is_not_there_has_the_nearest_name_beside_it() {
    let f = Folder::new();
    f.write("setup.dbg", "step\n");
    let r = f.script("source stup.dbg\n");
    assert_eq!(r.status, 2);
    assert!(r.err.contains("s.dbg:1:8") && r.err.contains("/setup.dbg`?"), "{}", r.err);
    assert_eq!(under_carets(&r.err), "stup.dbg");
    let missing = f.0.path().join("sett.dbg");
    let r = run(&["--script", missing.to_str().unwrap()]);
    assert!(r.status == 2 && r.err.contains("--> ") && r.err.contains("sett.dbg"), "{}", r.err);
}

#[test]
fn a_line_of_ten_megabytes_is_one_mistake_at_its_place() {
    let f = Folder::new();
    let r = f.script(format!("step\necho {}\n", "x".repeat(10 << 20)));
    assert_eq!(r.status, 2);
    assert!(r.err.contains("error[S003]") && r.err.contains("s.dbg:2:1"), "{:.400}", r.err);
    assert!(r.err.contains('^') && r.err.len() < 2000, "{}", r.err.len());
    // Deep brackets on a line that is not too long.
    let r = f.script(format!("print {}\n", "(".repeat(1 << 19)));
    assert!(r.status == 2 && r.err.contains("nested deeper") && r.err.len() < 2000);
}

#[test]
fn a_script_of_ten_megabytes_is_read_and_one_of_too_many_commands_refused() {
    let f = Folder::new();
    let r = f.script(format!("{}echo done\n", "# a comment\n".repeat((10 << 20) / 12)));
    assert_eq!((r.status, r.out.as_str()), (0, "done\n"), "{}", r.err);
    // A `source` counts too: these are 2^16 each time, and 2^24 in all before the last line.
    f.write("many.dbg", "echo\n".repeat((1 << 16) - 1));
    let r = f.script(format!("{}echo\n", "source many.dbg\n".repeat(MAX_SCRIPT_COMMANDS >> 16)));
    assert_eq!((r.status, r.out.as_str()), (2, ""), "nothing runs: {}", r.err);
    assert!(r.err.contains("error[S009]") && r.err.contains("commands"), "{}", r.err);
    assert!(r.err.contains("s.dbg:257:1"), "{}", r.err);
    // Mistakes without end are counted.
    let r = f.script("x1\n".repeat(200_000));
    assert!(r.status == 2 && r.err.contains("more of S001") && r.err.len() < 10_000);
}

#[test]
fn bytes_that_are_no_text_are_told_with_their_place() {
    let f = Folder::new();
    let r = f.script(b"echo one\necho a\xffb\n");
    assert_eq!(r.status, 2);
    assert!(r.err.contains("error[S009]") && r.err.contains("not UTF-8"), "{}", r.err);
    assert!(r.err.contains("s.dbg:2:7") && r.err.contains('^'), "{}", r.err);
    assert!(r.out.is_empty(), "nothing runs");
    f.write("t.dbg", b"\xfe\n");
    let r = f.script("source t.dbg\n");
    assert!(r.status == 2 && r.err.contains("t.dbg:1:1"), "{}", r.err);
}

#[test]
fn a_nul_is_a_mistake_and_reaches_no_terminal() {
    let f = Folder::new();
    let r = f.script(b"step\0\nstep \0 2\nprint 1\x1b[2J\n");
    assert_eq!(r.status, 2);
    for place in ["s.dbg:1:1", "s.dbg:2:6", "s.dbg:3:8"] {
        assert!(r.err.contains(place), "{place}: {}", r.err);
    }
    assert!(!r.err.contains('\0') && !r.err.contains('\x1b'), "{:?}", r.err);
}

#[test]
fn ends_of_lines_of_either_kind_are_the_same() {
    let f = Folder::new();
    let text = "dbg 1\ndoorbell\nprint tx[0].length # a comment\nmark a\ngoto a\n";
    let (unix, dos) = (f.script(text), f.script(text.replace('\n', "\r\n")));
    assert_eq!((unix.status, dos.status), (0, 0), "{}", dos.err);
    assert_eq!(unix.out, dos.out);
    let r = f.script("step\r\nstep foo\r\n");
    assert!(r.status == 2 && r.err.contains("s.dbg:2:6"), "{}", r.err);
    assert_eq!(under_carets(&r.err), "foo");
}

#[test]
fn a_failed_assertion_tells_the_values_of_both_sides() {
    let f = Folder::new();
    let r = f.script("doorbell\nassert tx[1].length == 5, \"the completion pair\"\necho no\n");
    assert_eq!(r.status, 1, "{}", r.err);
    assert!(!r.out.contains("no\n"), "it ends there");
    for part in [
        "error[S007]: tx[1].length == 5 is 0 at event 27: the completion pair",
        "s.dbg:2:1",
        "left 4 (0x4), right 5 (0x5)",
    ] {
        assert!(r.err.contains(part), "{part}: {}", r.err);
    }
}

#[test]
fn a_failed_chain_tells_which_part_is_false() {
    let f = Folder::new();
    let r = f.script("doorbell\nassert tx[0].first && free == 3 && event == 27 && !tx[0].last\n");
    assert_eq!(r.status, 1);
    let help = "help: free == 3 is 0: left 46 (0x2e), right 3 (0x3)\n        \
                !tx[0].last is 0: tx[0].last is 1 (0x1)\n";
    assert!(r.err.contains(help), "{}", r.err);
    let r = f.script("assert event == 1 || event > 5\n");
    let help = "help: event == 1 is 0: left 0 (0x0), right 1 (0x1)\n        \
                event > 5 is 0: left 0 (0x0), right 5 (0x5)\n";
    assert!(r.status == 1 && r.err.contains(help), "{}", r.err);
    let many = (0..20).map(|n| format!("event == {}", n + 1)).collect::<Vec<_>>().join(" || ");
    let r = f.script(format!("assert {many}\n"));
    assert!(r.status == 1 && r.err.contains("and 12 more parts"), "{}", r.err);
}

#[test]
fn a_script_prints_the_same_every_time() {
    let f = Folder::new();
    let text =
        "info rings\ndoorbell\ninfo queue\ngoto end\ninfo faults\ninfo races\ninfo batches\n";
    let first = f.script(text);
    for _ in 0..3 {
        assert_eq!(f.script(text).out, first.out);
    }
}
