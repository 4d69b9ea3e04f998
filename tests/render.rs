//! Pictures of the screen: `dmadbg render`, and those that the documentation shows, which are
//! the real screen. `DMADBG_BLESS=1` draws them anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::path::PathBuf;
use std::process::{Command, Output};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn render(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .current_dir(root())
        .env_remove("NO_COLOR")
        .arg("render")
        .args(args)
        .output()
        .unwrap()
}

fn stdout(args: &[&str]) -> String {
    let out = render(args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// The pictures of the documentation: name, and what `render` is given.
const PICTURES: &[(&str, &[&str])] = &[
    ("wrap", &["sample-programs/wrap.dma", "--size", "160x45", "--keys", "dffdeeeeeeeeeeeeee"]),
    ("module", &["sample-programs/gather.bir", "--size", "200x60", "--keys", "dd"]),
    ("passes", &["sample-programs/gather.bir", "--size", "160x45", "--keys", "dd>>v"]),
    ("grid", &["sample-programs/strided-load.bir", "--size", "120x36", "--keys", "Gp"]),
    ("small", &["sample-programs/wrap.dma", "--size", "80x24", "--keys", "dd"]),
    (
        "light",
        &["sample-programs/copy-4k.dma", "--size", "120x36", "--keys", "d", "--theme", "light"],
    ),
    ("start", &["sample-programs/copy-4k.dma", "--size", "120x36"]),
    ("doorbell", &["sample-programs/copy-4k.dma", "--size", "120x36", "--keys", "d"]),
    ("stuck", &["sample-programs/no-doorbell.dma", "--size", "120x36", "--keys", "GW"]),
];

#[test]
fn the_pictures_of_the_documentation_are_the_real_screen() {
    let mut stale = Vec::new();
    for (name, args) in PICTURES {
        let path = root().join(format!("docs/pictures/{name}.svg"));
        let new = stdout(&[args, &["--to", "svg"][..]].concat());
        if std::env::var_os("DMADBG_BLESS").is_some() {
            std::fs::write(&path, &new).unwrap();
        } else if std::fs::read_to_string(&path).ok().as_deref() != Some(&*new) {
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "{stale:?} out of date: DMADBG_BLESS=1 cargo test --test render");
}

#[test]
fn every_picture_is_shown_somewhere_in_the_documentation() {
    let mut pages = std::fs::read_to_string(root().join("README.md")).unwrap();
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "md") {
            pages.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
    for (name, _) in PICTURES {
        assert!(pages.contains(&format!("pictures/{name}.svg")), "{name} is shown nowhere");
    }
    let kept = std::fs::read_dir(root().join("docs/pictures")).unwrap().count();
    // Where they are drawn anew, that goes on beside this test.
    let drawn = kept == PICTURES.len() || std::env::var_os("DMADBG_BLESS").is_some();
    assert!(drawn, "docs/pictures has files that nothing draws");
}

#[test]
fn a_picture_has_the_size_that_was_asked_for() {
    for (w, h) in [(1, 1), (7, 3), (80, 24), (200, 60), (250, 80)] {
        let text = stdout(&["sample-programs/copy-4k.dma", "--size", &format!("{w}x{h}")]);
        assert_eq!(text.lines().count(), h, "{w}x{h}");
        assert!(text.lines().all(|l| l.chars().count() <= w), "{w}x{h}");
    }
}

#[test]
fn a_script_and_keys_lead_to_what_is_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("s.dbg");
    std::fs::write(&script, "doorbell\ninfo rings\n").unwrap();
    let args = ["sample-programs/copy-4k.dma", "--script", script.to_str().unwrap()];
    let text = stdout(&args);
    assert!(text.contains("event 27 of"), "{text}");
    assert!(text.contains("free"), "{text}");
    let closed = stdout(&[&args[..], &["--keys", "<Esc>c"]].concat());
    assert!(closed.contains("event 46 of 46") && closed.contains("END"), "{closed}");
    // The same again is the same.
    assert_eq!(stdout(&args), text);
}

#[test]
fn the_form_is_that_of_the_option_else_of_the_name() {
    let dir = tempfile::tempdir().unwrap();
    for (name, begins) in [("a.svg", "<svg "), ("a.ansi", "\u{1b}["), ("a.txt", "dmadbg")] {
        let path = dir.path().join(name);
        stdout(&["sample-programs/copy-4k.dma", "-o", path.to_str().unwrap()]);
        assert!(std::fs::read_to_string(path).unwrap().starts_with(begins), "{name}");
    }
    let plain = stdout(&["sample-programs/copy-4k.dma", "--to", "ansi", "--theme", "none"]);
    assert!(!plain.contains("[3") && plain.contains("\u{1b}[1m"));
}

#[test]
fn what_cannot_be_drawn_is_refused_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    let bad = dir.path().join("bad.dbg");
    std::fs::write(&bad, "stpe\n").unwrap();
    let wrong = dir.path().join("wrong.dbg");
    std::fs::write(&wrong, "assert event == 5\n").unwrap();
    let sample = "sample-programs/copy-4k.dma";
    let cases: &[(&[&str], i32, &str)] = &[
        (&[sample, "--size", "0x5"], 2, "WxH"),
        (&[sample, "--size", "99999x5"], 2, "at most"),
        (&[sample, "--keys", "<Nokey>"], 2, "is no key"),
        (&[sample, "--to", "sgv"], 2, "did you mean `svg`"),
        (&[sample, "--theme", "drak"], 2, "did you mean `dark`"),
        (&[sample, "--script", bad.to_str().unwrap()], 2, "did you mean"),
        (&[sample, "--script", wrong.to_str().unwrap()], 1, "event == 5"),
        (&["no-such-file.dma"], 2, "no-such-file.dma"),
    ];
    for (args, status, says) in cases {
        let out = render(args);
        let told = String::from_utf8_lossy(&out.stderr).into_owned()
            + &String::from_utf8_lossy(&out.stdout);
        assert_eq!(out.status.code(), Some(*status), "{args:?}: {told}");
        assert!(told.contains(says), "{args:?}: {told}");
    }
}

#[test]
fn a_picture_holds_no_escape_of_a_file_s_own() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.dma");
    let text = std::fs::read_to_string(root().join("sample-programs/copy-4k.dma")).unwrap();
    let text = text.replace("region hbm", "region \"h\\x1b[31m<b>\"");
    std::fs::write(&path, text.replace("dst=hbm", "dst=0x10000000")).unwrap();
    let out = render(&[path.to_str().unwrap(), "--keys", "d", "--to", "svg"]);
    let svg = String::from_utf8(out.stdout).unwrap();
    assert!(svg.contains("&lt;b&gt;") && !svg.contains('\u{1b}'), "{svg}");
    let text = stdout(&[path.to_str().unwrap(), "--keys", "d"]);
    assert!(text.contains("<b>") && !text.contains('\u{1b}'), "{text}");
}

/// Runs a script without a screen; its status, output and errors.
fn run(script: &str, dir: &std::path::Path) -> (i32, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .current_dir(dir)
        .args(["run", "--no-init", "copy.dma"])
        .args(script.lines().flat_map(|l| ["-e", l]))
        .output()
        .unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    (out.status.code().unwrap(), text(out.stdout), text(out.stderr))
}

#[test]
fn a_script_takes_a_picture_of_the_screen_that_would_open_there() {
    let dir = tempfile::tempdir().unwrap();
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let program = root().join("sample-programs/copy-4k.dma");
    std::fs::copy(program, dir.path().join("copy.dma")).unwrap();
    let script = "doorbell\nscreenshot a.txt\nscreenshot a.svg 90x30\nscreenshot \"a b.ansi\" 7x3\n\
                  screenshot! a.svg 80x24\ngoto 0";
    let (status, out, err) = run(script, dir.path());
    assert_eq!((status, &*err), (0, ""), "{out}");
    assert!(out.contains("the screen, 160x45, written to `a.txt`"), "{out}");
    assert!(out.contains("the screen, 7x3, written to `a b.ansi`"), "{out}");
    // It is what `render` draws there.
    let file = dir.path().join("copy.dma");
    let drawn = |size: &str, to: &str| {
        let out = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
            .current_dir(dir.path())
            .args(["render", "copy.dma", "-e", "doorbell", "--size", size, "--to", to])
            .args(["--keys", "<Esc>"])
            .output()
            .unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    assert!(file.exists());
    let said = |text: &str| {
        let all: Vec<&str> = text.lines().collect();
        // What the command answered stands on the last line but one of a screen.
        [&all[..all.len() - 2], &all[all.len() - 1..]].concat().join("\n")
    };
    assert_eq!(said(&read("a.txt")), said(&drawn("160x45", "text")));
    assert_eq!(read("a.txt").lines().count(), 45);
    assert!(read("a.svg").starts_with("<svg ") && read("a b.ansi").contains("\u{1b}["));
    assert_eq!(read("a b.ansi").lines().count(), 3);
    // What is there is kept, a wrong size or ending is told at its place.
    let kept = read("a.txt");
    for (line, code, says) in [
        ("screenshot a.txt", "S022", "`a.txt` is there already"),
        ("screenshot no/such/a.txt", "D007", "no/such/a.txt"),
        ("screenshot b.png", "S003", "says no form of a picture"),
        ("screenshot b", "S003", "says no form of a picture"),
        ("screenshot", "S003", "a file's name is missing"),
        ("screenshot b.txt 9", "S003", "a size is WxH"),
        ("screenshot b.txt 0x9", "S003", "a size is WxH"),
        ("screenshot b.txt 9x99999", "S003", "a size is WxH"),
        ("screenshot b.txt 9x9 9", "S003", "one argument too many"),
        ("export! events b.txt", "S001", "`export` has no form with `!`"),
    ] {
        let (status, out, err) = run(line, dir.path());
        assert_eq!(status, 2, "{line}: {out}{err}");
        assert!(err.contains(code) && err.contains(says), "{line}: {err}");
    }
    assert_eq!(read("a.txt"), kept);
    assert!(!dir.path().join("b.txt").exists());
}

#[test]
fn keys_may_take_pictures_on_the_way() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (a, b) = (path("a.txt"), path("b.txt"));
    let file = "sample-programs/copy-4k.dma";
    let keys = format!("d:screenshot {a}<Enter>?:<Esc>ss:screenshot {b} 80x24<Enter>");
    let end = stdout(&[file, "--size", "120x36", "--keys", &keys]);
    assert!(end.contains("the screen, 80x24, written to"), "{end}");
    let a = std::fs::read_to_string(a).unwrap();
    // Neither the line that it was typed on nor an answer stands on it.
    assert_eq!(a, stdout(&[file, "--size", "120x36", "--keys", "d"]));
    assert_eq!(std::fs::read_to_string(b).unwrap().lines().count(), 24);
    // What is refused is said.
    let again = stdout(&[file, "--keys", &format!(":screenshot {}<Enter>", path("a.txt"))]);
    assert!(again.contains("is there already"), "{again}");
}
