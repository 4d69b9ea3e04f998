//! The program as it is after `cargo install`: alone, in an empty folder, with no repository
//! around it. All that comes with it can be reached.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::learn::bundled::{LESSONS, Sample, stem};
use dmadbg::ui::highlight::Language;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

struct Ran {
    status: i32,
    out: String,
    err: String,
}

/// Runs the program in `dir`, which is the home of its user as well.
fn run(dir: &Path, args: &[&str]) -> Ran {
    run_with(dir, args, None)
}

fn run_with(dir: &Path, args: &[&str], stdin: Option<&Path>) -> Ran {
    let input = stdin.map_or(Stdio::null(), |p| std::fs::File::open(p).unwrap().into());
    let out = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("HOME", dir)
        .stdin(input)
        .output()
        .unwrap();
    Ran {
        status: out.status.code().unwrap(),
        out: String::from_utf8_lossy(&out.stdout).into_owned(),
        err: String::from_utf8(out.stderr).unwrap(),
    }
}

fn fine(dir: &Path, args: &[&str]) -> String {
    let r = run(dir, args);
    assert_eq!((r.status, r.err.as_str()), (0, ""), "{args:?}: {}", r.out);
    r.out
}

/// Files below a folder, by their path in it.
fn files(dir: &Path) -> BTreeSet<String> {
    fn walk(dir: &Path, root: &Path, out: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => walk(&path, root, out),
                false => {
                    out.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
    }
    let mut out = BTreeSet::new();
    walk(dir, dir, &mut out);
    out
}

/// A line that a program would run lies in the repository of its source: the binary must not
/// look there.
#[test]
fn nothing_outside_tests_reads_the_folder_of_the_source() {
    fn walk(dir: &Path, wrong: &mut Vec<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, wrong);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let name = path.to_string_lossy().into_owned();
            let test = name.ends_with("tests.rs") || name.contains("/tests/");
            if !test && code.contains("CARGO_MANIFEST_DIR") {
                wrong.push(name);
            }
        }
    }
    let mut wrong = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut wrong);
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn samples_are_listed_each_once_with_what_it_teaches() {
    let dir = TempDir::new().unwrap();
    let text = fine(dir.path(), &["sample", "list"]);
    for s in Sample::all() {
        let line = text.lines().find(|l| l.split_whitespace().next() == Some(s.name));
        assert!(line.unwrap().ends_with(&s.summary()), "{}", s.name);
    }
    let json = fine(dir.path(), &["sample", "list", "--format", "json"]);
    let lines: Vec<serde_json::Value> =
        json.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let n = Sample::all().count();
    assert_eq!((&lines[0]["schema"], &lines[0]["count"]), (&"dmadbg.samples/1".into(), &n.into()));
    let names: Vec<&str> = lines[1..].iter().map(|l| l["name"].as_str().unwrap()).collect();
    assert_eq!(names, Sample::all().map(|s| s.name).collect::<Vec<_>>());
    for line in &lines[1..] {
        let (name, part) = (line["name"].as_str().unwrap(), line["part"].as_str().unwrap());
        let want = match name {
            n if n.starts_with("errors/") => "errors",
            n if n.ends_with(".dbg") => "scripts",
            n if n.ends_with(".bir") => "modules",
            _ => "rings",
        };
        assert_eq!(part, want, "{name}");
        assert!(!line["teaches"][0].as_str().unwrap().is_empty());
    }
}

#[test]
fn a_sample_is_shown_as_it_is_and_read_by_every_reader_from_a_pipe() {
    let dir = TempDir::new().unwrap();
    for s in Sample::all() {
        assert_eq!(fine(dir.path(), &["sample", "show", s.name]), s.text);
    }
    assert_eq!(fine(dir.path(), &["sample", "show", "wrap"]), Sample::find("wrap").unwrap().text);
    let file = dir.path().join("piped");
    for (name, verbs) in [
        ("copy-4k", &["info", "check", "run", "decode", "asm", "disasm", "export"][..]),
        ("gather", &["info", "check", "run", "lower", "fmt", "export"][..]),
    ] {
        std::fs::write(&file, fine(dir.path(), &["sample", "show", name])).unwrap();
        for verb in verbs {
            let r = run_with(dir.path(), &[verb, "-"], Some(&file));
            assert_eq!(r.status, 0, "{verb} {name}: {}", r.err);
        }
    }
}

#[test]
fn a_sample_that_is_not_there_is_told_with_its_nearest() {
    let dir = TempDir::new().unwrap();
    for (name, help) in [
        ("copy-4x", "did you mean `copy-4k`?"),
        ("wrap.dna", "did you mean `wrap.dma`?"),
        ("errors/transpose-4d", "did you mean `errors/transpose-3d`?"),
        ("\u{1b}[31m", "`dmadbg sample list` lists them"),
        ("quite-something-else", "`dmadbg sample list` lists them"),
    ] {
        for verb in ["show", "copy"] {
            let r = run(dir.path(), &["sample", verb, name]);
            assert_eq!((r.status, r.out.as_str()), (2, ""), "{name}");
            assert!(r.err.starts_with("error[S070]") && r.err.contains(help), "{}", r.err);
            assert!(!r.err.contains('\u{1b}'), "{}", r.err);
        }
    }
    assert!(files(dir.path()).is_empty());
    // Without a terminal the screen is refused before anything else.
    let r = run(dir.path(), &["sample", "open", "wrap"]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("S011"), "{}", r.err);
    assert_eq!(run(dir.path(), &["sample"]).status, 2);
}

/// What a newcomer types after having read of a sample somewhere.
#[test]
fn the_name_of_a_sample_where_a_file_is_expected_leads_to_it() {
    let dir = TempDir::new().unwrap();
    for (args, sample) in [
        (&["info", "copy-4k"][..], "copy-4k.dma"),
        (&["check", "sample-programs/wrap.dma"], "wrap.dma"),
        (&["run", "copy.bir"], "copy.bir"),
        (&["lower", "gather"], "gather.bir"),
        (&["render", "chain"], "chain.dma"),
    ] {
        let r = run(dir.path(), args);
        assert_eq!(r.status, 2, "{args:?}");
        let help = format!("`dmadbg sample open {sample}` opens it");
        assert!(r.err.contains("D007") && r.err.contains(&help), "{args:?}: {}", r.err);
    }
    let r = run(dir.path(), &["info", "no-such-thing"]);
    assert!(r.status == 2 && !r.err.contains("sample"), "{}", r.err);
    // A file of that name is a file.
    std::fs::write(dir.path().join("wrap"), "").unwrap();
    let r = run(dir.path(), &["info", "wrap"]);
    assert!(r.status == 2 && !r.err.contains("sample"), "{}", r.err);
}

#[test]
fn samples_are_copied_and_nothing_is_written_over() {
    let dir = TempDir::new().unwrap();
    fine(dir.path(), &["sample", "copy", "-o", "a/b"]);
    let all: BTreeSet<String> = Sample::all().map(|s| s.name.to_owned()).collect();
    assert_eq!(files(&dir.path().join("a/b")), all);
    // They are tests of themselves, wherever they lie.
    let r = run(dir.path(), &["test", "a/b"]);
    assert_eq!(r.status, 0, "{}{}", r.out, r.err);
    // Again is fine; over another file is not, and then nothing is written.
    fine(dir.path(), &["sample", "copy", "-o", "a/b"]);
    let other = dir.path().join("wrap.dma");
    std::fs::write(&other, "mine").unwrap();
    let r = run(dir.path(), &["sample", "copy", "copy-4k", "wrap"]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("S022") && r.err.contains("wrap.dma"), "{}", r.err);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "mine");
    assert!(!dir.path().join("copy-4k.dma").exists());
    // A folder of that name, and one that cannot be made.
    std::fs::create_dir(dir.path().join("copy.bir")).unwrap();
    assert_eq!(run(dir.path(), &["sample", "copy", "copy.bir"]).status, 2);
    let r = run(dir.path(), &["sample", "copy", "chain", "-o", "wrap.dma/x"]);
    assert!(r.status == 2 && r.err.contains("D007"), "{}", r.err);
}

#[test]
fn lessons_grammars_and_explanations_are_inside() {
    let dir = TempDir::new().unwrap();
    let list = fine(dir.path(), &["learn", "--format", "json"]);
    assert_eq!(list.lines().count(), LESSONS.len() + 1);
    for (file, _) in LESSONS {
        fine(dir.path(), &["learn", "--check", stem(file)]);
    }
    assert_eq!(fine(dir.path(), &["grammars"]).lines().count(), Language::ALL.len() + 2);
    fine(dir.path(), &["grammars", "-o", "syntaxes"]);
    for l in Language::ALL {
        let file = dir.path().join(format!("syntaxes/{}.sublime-syntax", l.extension()));
        assert_eq!(std::fs::read_to_string(file).unwrap(), l.grammar());
    }
    for what in ["D021", "PREFETCH_RING_ID", "0x0d001000", "write_barrier", "step"] {
        assert!(!fine(dir.path(), &["explain", what]).is_empty());
    }
}

/// The verbs, as the help lists them.
fn verbs(dir: &Path) -> Vec<String> {
    let help = fine(dir, &["--help"]);
    let from = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let name = |l: &str| l.strip_prefix("  ")?.split(' ').next().map(str::to_owned);
    from.lines().filter_map(name).filter(|n| !n.is_empty() && n != "help").collect()
}

#[test]
fn every_verb_has_a_page_of_the_manual() {
    let dir = TempDir::new().unwrap();
    let verbs = verbs(dir.path());
    assert!(verbs.len() > 20 && verbs.contains(&"sample".to_owned()), "{verbs:?}");
    fine(dir.path(), &["man", "-o", "man1"]);
    let there = files(&dir.path().join("man1"));
    for verb in &verbs {
        assert!(there.contains(&format!("dmadbg-{verb}.1")), "{verb}: {there:?}");
        let page = fine(dir.path(), &["man", verb]);
        assert!(page.contains(".TH") && page.contains(".SH SYNOPSIS"), "{verb}: {page}");
        assert!(page.contains(&format!("dmadbg {verb}").replace('-', "\\-")), "{verb}: {page}");
    }
    for more in ["dmadbg.1", "dmadbg-sample-list.1", "dmadbg-sample-copy.1"] {
        assert!(there.contains(more), "{more}: {there:?}");
    }
    // The formatter has nothing against them, where there is one.
    for name in &there {
        let file = dir.path().join("man1").join(name);
        match Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]).arg(file).output() {
            Ok(done) => {
                let told = String::from_utf8_lossy(&done.stderr).into_owned();
                assert!(done.status.success() && told.is_empty(), "{name}: {told}");
            }
            Err(e) => println!("groff is not here: {e}"),
        }
    }
    assert_eq!(
        fine(dir.path(), &["man", "sample copy"]),
        fine(dir.path(), &["man", "sample-copy"])
    );
    let r = run(dir.path(), &["man", "decoed"]);
    assert!(r.status == 2 && r.err.contains("did you mean `decode`?"), "{}", r.err);
    // Written anew at the next release.
    fine(dir.path(), &["man", "-o", "man1"]);
}

#[test]
fn completions_know_every_verb_and_every_sample() {
    let dir = TempDir::new().unwrap();
    let verbs = verbs(dir.path());
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = fine(dir.path(), &["completions", shell]);
        assert!(verbs.iter().all(|v| text.contains(v.as_str())), "{shell}: {verbs:?}");
        // What can be said of a shell's other arguments differs; these three are told names.
        let named = ["bash", "zsh", "fish"].contains(&shell);
        assert!(!named || Sample::all().all(|s| text.contains(s.name)), "{shell}");
        // The shell itself reads the script, where it is on this machine.
        let file = dir.path().join("script");
        std::fs::write(&file, &text).unwrap();
        if named {
            match Command::new(shell).arg("-n").arg(&file).output() {
                Ok(done) => assert!(done.status.success(), "{shell}: {done:?}"),
                Err(e) => println!("{shell} is not here: {e}"),
            }
        }
    }
}

/// The words that bash offers where a line ends.
#[test]
fn bash_completes_the_name_of_a_sample() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("complete.bash");
    std::fs::write(&file, fine(dir.path(), &["completions", "bash"])).unwrap();
    let ask = "source \"$1\"; COMP_WORDS=(dmadbg sample show wr); COMP_CWORD=3; \
               _dmadbg dmadbg wr show; printf '%s\\n' \"${COMPREPLY[@]}\"";
    match Command::new("bash").args(["-c", ask, "bash"]).arg(&file).output() {
        Ok(done) => assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "wrap.dma"),
        Err(e) => println!("bash is not here: {e}"),
    }
}
