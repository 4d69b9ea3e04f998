//! `dmadbg learn` as a process: the list, lessons without the screen, teachers' files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::path::Path;
use std::process::{Command, Output};

fn learn_in(state: &Path, args: &[&str]) -> Output {
    let mut c = Command::new(env!("CARGO_BIN_EXE_dmadbg"));
    c.arg("learn").args(args).current_dir(env!("CARGO_MANIFEST_DIR"));
    c.env("XDG_STATE_HOME", state).env("XDG_CONFIG_HOME", state).env("HOME", state);
    c.output().unwrap()
}

fn learn(args: &[&str]) -> (i32, String, String) {
    let home = tempfile::tempdir().unwrap();
    let o = learn_in(home.path(), args);
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    (o.status.code().unwrap(), text(o.stdout), text(o.stderr))
}

fn lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn the_list_has_every_lesson_with_the_progress() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("dmadbg")).unwrap();
    std::fs::write(home.path().join("dmadbg/lessons"), "lesson words 1 3\nunknown\n").unwrap();
    let o = learn_in(home.path(), &[]);
    let out = String::from_utf8(o.stdout).unwrap();
    assert!(o.status.success());
    assert!(out.lines().next().unwrap().contains("2/5"), "{out}");
    assert!(out.lines().nth(1).unwrap().contains("0/5"), "{out}");
    let o = learn_in(home.path(), &["--format", "json"]);
    let all = lines(std::str::from_utf8(&o.stdout).unwrap());
    assert_eq!(all[0]["schema"], "dmadbg.lessons/1");
    assert_eq!(all[0]["count"], all.len() - 1);
    assert!(all.len() > 12);
    assert_eq!((&all[1]["name"], &all[1]["solved"]), (&"words".into(), &2.into()));
}

#[test]
fn every_lesson_is_solved_by_its_solutions() {
    let (_, out, _) = learn(&["--format", "json"]);
    for l in &lines(&out)[1..] {
        let n = l["number"].to_string();
        let (status, out, err) = learn(&["--check", &n, "--solve", "--format", "json"]);
        assert_eq!((status, err.as_str()), (0, ""), "{n}: {out}");
        let told = &lines(&out)[1];
        assert_eq!((&told["holds"], &told["tasks"]), (&true.into(), &l["tasks"]));
        assert!(told["wrong_answers"].as_u64().unwrap() >= l["tasks"].as_u64().unwrap());
    }
}

/// Takes a lesson with these lines.
fn take(lesson: &str, answers: &str, more: &[&str]) -> (i32, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("answers.dbg");
    std::fs::write(&path, answers).unwrap();
    let args = [&["--check", lesson, "--answers", path.to_str().unwrap()], more].concat();
    learn(&args)
}

const PAIR: &str = "answer tx[0].buf_ptr\nanswer rx[0].buf_ptr\nanswer 3\nanswer 0x0c000000\n";

#[test]
fn answers_are_checked_without_the_screen() {
    let (status, out, err) = take("pair", &format!("{PAIR}step\n"), &[]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(out.ends_with("Two descriptors for one copy: solved\n"), "{out}");
    // The same with what a screen would have recorded.
    let noted = format!("{}hint\nstep\n", PAIR.replace('\n', "\nproceed\n"));
    assert_eq!(take("pair", &noted, &[]).0, 0);
    // Too little.
    let (status, out, err) = take("2", PAIR, &["--format", "json"]);
    assert_eq!(status, 1);
    let all = lines(&out);
    assert_eq!(all[0]["schema"], "dmadbg.lesson/1");
    let solved: Vec<bool> = all[1..].iter().map(|t| t["solved"].as_bool().unwrap()).collect();
    assert_eq!(solved, [true, true, true, true, false]);
    assert!(err.contains("\"S062\"") && err.contains("task 5 is not solved"), "{err}");
    // A wrong answer is met by its hint.
    let (status, out, _) = take("pair", "answer rx[0].buf_ptr\n", &[]);
    assert_eq!(status, 1);
    assert!(out.contains("task 1: wrong: That is where the bytes go."), "{out}");
    // One task more than there are.
    let (status, _, err) = take("pair", &format!("{PAIR}step\nanswer 1\n"), &[]);
    assert_eq!(status, 2);
    assert!(err.contains("S061"), "{err}");
}

#[test]
fn what_cannot_be_read_has_status_2() {
    for (args, code) in [
        (vec!["99"], "S061"),
        (vec!["--check", "nothing"], "S061"),
        (vec!["--check", "no/such.toml"], "S009"),
        (vec!["1"], "S011"), // no terminal
        (vec!["--check", "1", "--answers", "no/such.dbg"], "S009"),
    ] {
        let (status, _, err) = learn(&args);
        assert_eq!(status, 2, "{args:?}");
        assert!(err.contains(code), "{args:?}: {err}");
    }
    let (status, _, err) = take("words", "answr 1\n", &[]);
    assert_eq!(status, 2);
    assert!(err.contains("S001") && err.contains("answers.dbg:1:1"), "{err}");
    // Options that need another one.
    assert_eq!(learn(&["--solve"]).0, 2);
    assert_eq!(learn(&["1", "--check", "1"]).0, 2);
}

/// The example of the page, with the program beside it.
fn example(dir: &Path) -> String {
    let page = include_str!("../docs/learn.md");
    let block = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    std::fs::write(dir.join("mine.toml"), block).unwrap();
    std::fs::copy("sample-programs/copy-4k.dma", dir.join("ring.dma")).unwrap();
    dir.join("mine.toml").to_str().unwrap().to_owned()
}

#[test]
fn the_example_of_the_page_is_a_lesson_that_holds() {
    let dir = tempfile::tempdir().unwrap();
    let file = example(dir.path());
    assert_eq!(learn(&["--check", &file]).0, 0);
    let (status, out, err) = learn(&["--check", &file, "--solve"]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(
        out.contains("4 tasks solved by the solutions, 4 wrong answers met by the hints"),
        "{out}"
    );
    // It shows each key of the format.
    let text = std::fs::read_to_string(&file).unwrap();
    for key in [
        "lesson", "title", "summary", "intro", "file", "program", "sample", "source", "text",
        "before", "answer", "then", "choices", "right", "words", "check", "races", "hints",
        "after", "solution", "proof", "choice", "word", "lines", "hint",
    ] {
        assert!(text.lines().any(|l| l.starts_with(&format!("{key} ="))), "{key}");
    }
    // Without its program it cannot be taken.
    std::fs::remove_file(dir.path().join("ring.dma")).unwrap();
    let (status, _, err) = learn(&["--check", &file]);
    assert_eq!(status, 2);
    assert!(err.contains("ring.dma"), "{err}");
}

#[test]
fn all_errors_of_a_teacher_s_file_are_told_with_their_places() {
    let dir = tempfile::tempdir().unwrap();
    let file = example(dir.path());
    let text = std::fs::read_to_string(&file).unwrap();
    let broken = text.replace("title =", "titel =").replace("\"doorbell\"", "\"dorbell\"");
    std::fs::write(&file, broken).unwrap();
    let (status, _, err) = learn(&["--check", &file, "--solve"]);
    assert_eq!(status, 2);
    for what in ["did you mean `title`?", "missing: `title`", "no command is called `dorbell`"] {
        assert!(err.contains(what), "{what}: {err}");
    }
    assert!(err.contains(&format!("{file}:3:1")), "{err}");
    let (_, _, err) = learn(&["--check", &file, "--format", "json"]);
    assert!(lines(&err).iter().all(|d| d["line"].as_u64().unwrap() > 0), "{err}");
    // One that can be read and does not hold.
    std::fs::write(&file, text.replace("solution = [\"step\"]", "solution = [\"step event\"]"))
        .unwrap();
    assert_eq!(learn(&["--check", &file]).0, 0);
    let (status, _, err) = learn(&["--check", &file, "--solve"]);
    assert_eq!(status, 1);
    assert!(err.contains("S063") && err.contains("does not solve it"), "{err}");
}
