//! `dmadbg test`: the file tests of this project, and how the runner behaves with others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

struct Ran {
    status: i32,
    out: String,
    err: String,
}

fn test_in(dir: &Path, args: &[&str]) -> Ran {
    let out = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .arg("test")
        .args(args)
        .current_dir(dir)
        .env_remove("XDG_CONFIG_HOME")
        .env("HOME", "/nonexistent")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Ran {
        status: out.status.code().unwrap(),
        out: String::from_utf8(out.stdout).unwrap(),
        err: String::from_utf8(out.stderr).unwrap(),
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let f = Folder(tempfile::tempdir().unwrap());
        f.write("copy.dma", PROGRAM);
        f
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn test(&self, args: &[&str]) -> Ran {
        test_in(self.0.path(), args)
    }

    /// The only row of a file.
    fn row(&self, name: &str) -> Value {
        let r = self.test(&[name, "--format", "json"]);
        let lines: Vec<Value> = r.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(lines.len(), 3, "{}", r.out);
        assert_eq!(lines[0], serde_json::json!({"schema": "dmadbg.test/1"}));
        assert_eq!(lines[2]["status"], r.status);
        lines[1].clone()
    }
}

/// A program without a test.
const PROGRAM: &str = "dma 1
arch v3
profile dkms-2.26
queue e128.q0 tx=0x400040041000 tx_size=64 rx=0x400040021000 rx_size=64 marker=marker allocatable=yes
region hbm kind=device base=0x10000000 len=0x1000 fill=zero
region marker kind=host base=0x400040061000 len=24 fill=zero
region buffer kind=host base=0x4000400a3000 len=0x1000 fill=pattern:13
init e128.q0
copy e128.q0 src=buffer dst=hbm size=64
";

#[test]
fn the_tests_and_samples_of_this_project_pass() {
    let r = test_in(root(), &["tests/files", "sample-programs"]);
    assert_eq!(r.status, 0, "{}{}", r.out, r.err);
    let last = r.out.lines().last().unwrap();
    let tests: usize = last.split(' ').next().unwrap().parse().unwrap();
    assert!(tests >= 40, "{last}");
    assert!(last.ends_with(&format!("{tests} passed, 0 failed")), "{last}");
    // Wherever it is run from, and however many run at once.
    for jobs in ["1", "7"] {
        let again = test_in(&root().join("tests"), &["files", "--jobs", jobs]);
        assert_eq!(again.status, 0, "{}", again.out);
        let names: Vec<&str> = again.out.lines().map(|l| l.split(' ').next().unwrap()).collect();
        let mut sorted = names[..names.len() - 1].to_vec();
        sorted.sort_unstable();
        assert_eq!(names[..names.len() - 1], sorted, "the order of paths");
    }
}

#[test]
fn every_sample_is_a_test() {
    let r = test_in(root(), &["sample-programs"]);
    assert!(!r.out.contains("without a test"), "{}", r.out);
}

#[test]
fn what_is_missing_and_what_is_more_fails_and_is_told() {
    let f = Folder::new();
    f.write("a.dma", format!("; test: run\n; expect note[R015]: lost\n{PROGRAM}frobnicate\n"));
    let r = f.test(&["a.dma"]);
    assert_eq!(r.status, 1, "{}", r.out);
    for part in [
        "a.dma ... FAILED",
        "line 2: missing: note[R015] in the header: lost",
        "line 12: not expected: error[D050]: `frobnicate` is not a statement",
        "line 1: `run` ended with status 2, not 0",
        "1 test: 0 passed, 1 failed",
    ] {
        assert!(r.out.contains(part), "{part}\n{}", r.out);
    }
    let row = f.row("a.dma");
    assert_eq!((&row["outcome"], &row["missing"][0]["code"]), (&"failed".into(), &"R015".into()));
    assert_eq!(row["unexpected"][0]["line"], 12);
    assert_eq!(row["runs"][0]["status"], 2);
}

#[test]
fn a_difference_of_the_output_is_shown_line_by_line() {
    let f = Folder::new();
    f.write("a.dma", format!("; test: check\n{PROGRAM}; output:\n; a.dma: 1 error\n"));
    let r = f.test(&["a.dma"]);
    assert_eq!(r.status, 1);
    let diff = "      -a.dma: 1 error\n      +a.dma: 0 errors, 0 warnings, 0 notes\n";
    assert!(r.out.contains(diff), "{}", r.out);
    let row = f.row("a.dma");
    assert_eq!(row["outputs"][0]["diff"][0], "-a.dma: 1 error");
}

#[test]
fn blessing_makes_a_test_pass_and_blessing_again_changes_nothing() {
    let f = Folder::new();
    let text = format!("; prose\n; test: run\n; expect note[R015]: x\n{PROGRAM}; output:\n");
    f.write("a.dma", &text);
    f.write("plain.dma", PROGRAM);
    let r = f.test(&[".", "--bless"]);
    assert_eq!(r.status, 0, "{}", r.out);
    assert!(r.out.contains("./a.dma ... blessed"), "{}", r.out);
    let new = f.read("a.dma");
    let (head, block) = new.split_once("; output:\n").unwrap();
    assert_eq!(head, format!("; prose\n; test: run\n{PROGRAM}"), "nothing else changed");
    assert!(block.starts_with("; event 46 of 46"), "{block}");
    assert_eq!(f.read("plain.dma"), PROGRAM);
    let r = f.test(&[".", "--bless"]);
    assert!(r.status == 0 && r.out.contains("a.dma ... ok"), "{}", r.out);
    assert_eq!(f.read("a.dma"), new);
    assert_eq!(std::fs::read_dir(f.0.path()).unwrap().count(), 3, "no half file is left");
}

#[test]
fn what_cannot_be_read_is_not_blessed_unless_that_is_meant() {
    let f = Folder::new();
    let text = format!("; test: run\n{PROGRAM}frobnicate\n");
    f.write("a.dma", &text);
    let r = f.test(&["a.dma", "--bless"]);
    assert_eq!(r.status, 1, "{}", r.out);
    assert!(r.out.contains("not blessed: it cannot be read"), "{}", r.out);
    assert_eq!(f.read("a.dma"), text);
    f.write("a.dma", text.replace("run\n", "run\n; status: 2\n"));
    assert_eq!(f.test(&["a.dma", "--bless"]).status, 0);
    assert!(f.read("a.dma").contains("frobnicate  ; error[D050]: `frobnicate` is not a statement"));
    // Nor is what is no text.
    f.write("a.dma", [text.as_bytes(), b"\xff\n"].concat());
    let r = f.test(&["a.dma", "--bless"]);
    assert!(r.status == 2 && r.out.contains("error[D004]"), "{}", r.out);
    assert!(std::fs::read(f.path("a.dma")).unwrap().ends_with(b"\xff\n"));
}

#[test]
fn a_script_and_what_it_runs_are_blessed_together() {
    let f = Folder::new();
    f.write("z.dma", format!("; test: run\n{PROGRAM}; output:\n"));
    f.write("a.dbg", "# test: run\n# program: z.dma\ngoto end\nassert ret == 1\n# output:\n");
    assert_eq!(f.test(&[".", "--bless"]).status, 0);
    assert_eq!(f.test(&["."]).status, 0);
    let text = f.read("a.dbg");
    assert!(text.contains("# status: 1\n") && text.contains("assert ret == 1  # error[S007]: "));
}

#[test]
fn no_test_in_what_was_named_is_an_error() {
    let f = Folder::new();
    f.write("a.json", "{}");
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().to_str().unwrap();
    for (args, says) in [
        (&["copy.dma"][..], "it holds no test"),
        (&["a.json"], "is no .bir, .dma, .dbg or .hex file"),
        (&["nothing.bir"], "cannot read `nothing.bir`"),
        (&[empty], "there is no test"),
        (&["."], "there is no test"),
        (&[".", "--filter", "zzz"], "no file with a test has `zzz`"),
    ] {
        let r = f.test(args);
        assert_eq!(r.status, 2, "{args:?}: {}{}", r.out, r.err);
        assert!(format!("{}{}", r.out, r.err).contains(says), "{args:?}: {}{}", r.out, r.err);
    }
    // Beside a test it is only counted.
    f.write("b.dma", format!("; test: run\n{PROGRAM}"));
    let r = f.test(&["."]);
    assert_eq!(r.status, 0, "{}", r.out);
    assert!(r.out.ends_with("1 test: 1 passed, 0 failed; 1 file without a test\n"), "{}", r.out);
    // The filter is about paths.
    let r = f.test(&[".", "--filter", "b.dm"]);
    assert!(r.out.ends_with("1 test: 1 passed, 0 failed\n"), "{}", r.out);
}

#[test]
fn a_header_that_cannot_be_understood_is_2_and_told_at_its_place() {
    let f = Folder::new();
    for (head, says, at) in [
        ("; test: shrink", "a file test cannot run `shrink`", "a.dma:1:9"),
        ("; test: render --size 0x9", "a size is WxH", "a.dma:1"),
        ("; test: render --keys <Nix>", "`<Nix>` is no key", "a.dma:1"),
        ("; test: run --nothing", "may not use `--nothing`", "a.dma:1"),
        ("; test: run --stage", "a value is required for '--stage", "a.dma:1"),
        ("; test: run --arch v9", "invalid value 'v9'", "a.dma:1"),
        ("; test: run\n; status: 3", "a status is 0, 1 or 2", "a.dma:2:11"),
        ("; test: run\n; expect error[Z999]: x", "no finding has the code `Z999`", "a.dma:2:16"),
        ("; test: run\n; output 2:", "there is no test 2", "a.dma:2:3"),
    ] {
        f.write("a.dma", format!("{head}\n{PROGRAM}"));
        let r = f.test(&["a.dma"]);
        assert_eq!(r.status, 2, "{head}: {}", r.out);
        assert!(r.out.contains(says) && r.out.contains(at), "{head}: {}", r.out);
        assert_eq!(f.row("a.dma")["outcome"], "unreadable");
    }
}

#[test]
fn a_test_writes_nothing_and_runs_nothing_and_names_no_other_file() {
    let f = Folder::new();
    for args in [
        "run --memory-out stolen",
        "run --memory-out=stolen",
        "lower --emit image -o stolen",
        "asm --output stolen",
        "render --output stolen",
        "render --to svg",
        "render --script other.dbg",
        "render -e quit",
        "run -e quit",
        "run --script other.dbg",
        "run -- other.dma",
        "run other.dma",
        "run --tx other.bin",
        "check --help",
        "run --color always",
    ] {
        let name = if args.starts_with("lower") { "a.bir" } else { "a.dma" };
        f.write(name, format!("; test: {args}\n{PROGRAM}"));
        let r = f.test(&[name]);
        assert_eq!(r.status, 2, "{args}: {}", r.out);
        assert!(r.out.contains("error[S031]"), "{args}: {}", r.out);
        assert!(!f.path("stolen").exists(), "{args}");
    }
    // Commands that write files are no commands of a test, whether this build knows them or not.
    for command in [
        "save stolen",
        "save! stolen",
        "export events stolen",
        "screenshot stolen.txt",
        "screenshot! stolen.svg 9x9",
        "order explore 99 stolen",
        "break event 3\ncommands 1 { screenshot stolen.txt }\ncontinue",
        "break event 3\ncommands 1 { save! stolen }\ncontinue",
    ] {
        for kind in
            ["run", "render --keys cgc", "render --keys :screenshot<Space>stolen.txt<Enter>"]
        {
            f.write("a.dbg", format!("# test: {kind}\n# program: copy.dma\n{command}\n"));
            let r = f.test(&["a.dbg"]);
            assert_ne!(r.status, 0, "{kind}: {command}: {}", r.out);
            let kept = ["stolen", "stolen.txt", "stolen.svg"].map(|n| f.path(n).exists());
            assert_eq!(kept, [false; 3], "{kind}: {command}");
        }
    }
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_not_waited_for() {
    let f = Folder::new();
    let pipe = f.path("pipe.dma");
    if !Command::new("mkfifo").arg(&pipe).status().is_ok_and(|s| s.success()) {
        return;
    }
    let r = f.test(&["pipe.dma"]);
    assert!(r.status == 2 && r.out.contains("no regular file"), "{}", r.out);
    for script in [
        "# test: run\n# program: pipe.dma\n",
        "# test: run\n# program: /dev/zero\n",
        "# test: run\n# program: copy.dma\nsource pipe.dma\n",
        "# test: run\n# program: copy.dma\nsource /dev/zero\n",
    ] {
        f.write("a.dbg", script);
        let r = f.test(&["a.dbg"]);
        assert_ne!(r.status, 0, "{script}");
        assert!(r.out.contains("no regular file"), "{script}: {}", r.out);
    }
    // A walk passes them over.
    f.write("a.dbg", "# test: run\n# program: copy.dma\ngoto end\n");
    assert_eq!(f.test(&["."]).status, 0);
}

#[cfg(unix)]
#[test]
fn a_directory_that_may_not_be_read_is_told() {
    use std::os::unix::fs::PermissionsExt as _;
    let f = Folder::new();
    f.write("a.dma", format!("; test: run\n{PROGRAM}"));
    std::fs::create_dir(f.path("shut")).unwrap();
    std::fs::set_permissions(f.path("shut"), std::fs::Permissions::from_mode(0o000)).unwrap();
    let may = std::fs::read_dir(f.path("shut")).is_ok();
    let r = f.test(&["."]);
    std::fs::set_permissions(f.path("shut"), std::fs::Permissions::from_mode(0o700)).unwrap();
    if !may {
        assert_eq!(r.status, 2, "{}{}", r.out, r.err);
        assert!(r.err.contains("error[D007]") && r.out.contains("a.dma ... ok"));
    }
}

#[test]
fn junit_names_every_file_and_escapes_what_it_says() {
    let f = Folder::new();
    f.write("a&b.dma", format!("; test: check\n{PROGRAM}; output:\n; <\u{1b}\">\n"));
    f.write("ok.dma", format!("; test: check\n{PROGRAM}"));
    let r = f.test(&[".", "--junit", "r.xml"]);
    assert_eq!(r.status, 1);
    let xml = f.read("r.xml");
    assert!(
        xml.contains("<testsuites tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""),
        "{xml}"
    );
    assert!(xml.contains("name=\"a&amp;b.dma\"") && xml.contains("<failure message="), "{xml}");
    assert!(!xml.contains('\u{1b}') && xml.contains("-&lt;"), "{xml}");
    assert_eq!(f.test(&[".", "--junit", "no/r.xml"]).status, 2);
}
