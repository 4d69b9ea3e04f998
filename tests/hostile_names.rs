//! Names, comments and texts of files, and names of files, that would steer a terminal: whatever
//! a verb prints about them is escaped, in every form of output (`docs/hostile.md`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(unix)]

mod odd_support;

use clap::CommandFactory;
use dmadbg::diag::render::is_unsafe;
use odd_support::{Terminal, dmadbg, ended, orderly, told};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Clears the screen, names the window, asks the terminal for its answerback, turns text round,
/// hides, overprints, and makes a line of its own.
const EVIL: &str =
    "\u{1b}[2J\u{1b}]0;own\u{7}\u{9b}31m\u{5}\u{202e}b\u{200b}\u{7f}\u{8}\r\nFORGED\u{2028}";

/// It, as text of JSON and of the languages that have its escapes.
fn json_escaped(text: &str) -> String {
    let plain = |c: char| c.is_ascii_graphic() || c == ' ';
    text.chars()
        .map(|c| if plain(c) { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) })
        .collect()
}

fn asm_escaped(text: &str) -> String {
    text.bytes().map(|b| format!("\\x{b:02x}")).collect()
}

/// Without what ends a line, for comments.
fn of_one_line() -> String {
    EVIL.replace(['\r', '\n'], "")
}

struct Inputs {
    folder: tempfile::TempDir,
}

impl Inputs {
    /// A file; its name is as bad as its content.
    fn file(&self, ending: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(format!("x{}{EVIL}.{ending}", ending.len()));
        std::fs::write(&path, text).unwrap();
        path
    }

    fn home(&self) -> &Path {
        self.folder.path()
    }
}

fn program() -> String {
    let (name, comment) = (asm_escaped("a\u{1b}[2J\u{9b}m\u{202e}\u{7f}\u{5}"), of_one_line());
    format!(
        "dma 1 ; {comment}\narch v3\nprofile dkms-2.26\n\
         region \"{name}\" kind=host base=0x1000 len=4096 fill=zero ; {comment}\n\
         region \"{name}2\" kind=device base=0x400000000000 len=4096 fill=pattern:1\n\
         variable \"{name}3\" id=5 addr=0x1000\n\
         queue e128.q0 tx=0x400040041000 tx_size=64 rx=0x400040021000 rx_size=64 marker=0x1800 allocatable=yes\n\
         init e128.q0 note=\"{name}4\"\n\
         copy e128.q0 src=0x400000000000 dst=0x1000 size=64 note=\"{name}5\"\n\
         wait e128.q0 marker=0x1800 count=2\n"
    )
}

fn module() -> String {
    let (name, comment) = (json_escaped(EVIL), of_one_line());
    // A queue's name has 31 bytes at most.
    let short = json_escaped("\u{1b}[2J\u{9b}m\u{202e}\u{7f}\nFORGED");
    format!(
        "bir 2 gen3 ; {comment}\n; {comment}\nfunc \"m{name}\" {{\n\
           set \"xs{name}\" : uint8 ExternalInput {{\n location \"x{name}\" DRAM [64] addr=0\n }}\n\
           set \"ys{name}\" : uint8 ExternalOutput {{\n location \"y{name}\" DRAM [64] addr=0\n }}\n\
           block \"b{name}\":\n\
             %\"I-1{name}\" = DMACopy SP queue=\"q{short}\" dge_type=None \
               ins(\"x{name}\"[[1, 64]] : uint8) outs(\"y{name}\"[[1, 64]] : uint8) \
               at \"src{name}.py\":7 (\"op{name}\") ; {comment}\n\
         }}\n\nqueue \"q{short}\" blocks=[]\n"
    )
}

/// What must not be there, with what is around it.
fn unsafe_in(text: &str) -> Option<String> {
    let (at, c) = text.char_indices().find(|&(_, c)| c != '\n' && is_unsafe(c))?;
    let around: String = text[at..].chars().take(60).collect();
    let line = text[..at].rfind('\n').map_or(0, |n| n + 1);
    Some(format!("{:?} in {:?} before {around:?}", c, &text[line..at]))
}

/// Whether nothing of a text steers a terminal or stands on a line that the input made.
fn clean(what: &str, bytes: &[u8]) -> Option<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Some(format!("{what}: no UTF-8")) };
    // What the program itself colours.
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        let end = rest[at + 2..].find(|c: char| !c.is_ascii_digit() && c != ';');
        match end {
            Some(n) if rest[at + 2 + n..].starts_with('m') && what.contains("ansi") => {
                plain.push_str(&rest[..at]);
                rest = &rest[at + 3 + n..];
            }
            _ => break,
        }
    }
    plain.push_str(rest);
    if let Some(bad) = unsafe_in(&plain) {
        return Some(format!("{what}: {bad}"));
    }
    plain.lines().find(|l| l.starts_with("FORGED")).map(|_| format!("{what}: a forged line"))
}

#[test]
fn every_verb_escapes_what_it_tells_of_files() {
    let inputs = Inputs { folder: tempfile::tempdir().unwrap() };
    let dma = inputs.file("dma", program());
    let bir = inputs.file("bir", module());
    let short = inputs.file("bin", [0xd0; 15]);
    let e = of_one_line();
    let script = inputs.file(
        "dbg",
        format!("dbg 1\n# {e}\nmark m\ninfo memory\ninfo rings\ninfo batches\ninfo races\nwhere\nwhy\nstep\ninfo regs\nexplain tx[0]\nx/4wx 0x1000\norigin 0x1000\nlast-write 0x1000\ncontinue\ninfo memory\ninfo files\n"),
    );
    let bad_script = inputs.file("dbgs", format!("st{e}p\nprint {e}\nsource {e}\nbreak if {e}\n"));
    let bad_dma = inputs.file("txt.dma", format!("dma 1\nregion {e}\n{e}\narch {e}\n"));
    let bad_bir = inputs.file("txt.bir", format!("bir 2 gen3\nfunc {e} {{\n %{e} = {e}\n"));
    let hex = inputs.file("hex", format!("0d001000 01080003 {e}\n"));
    let json =
        inputs.file("json", format!("{{\"module\": {{\"x{0}\": 1, {e}}}}}", json_escaped(EVIL)));
    let memory = inputs
        .file("mem.json", format!("{{\"x{0}\": \"00zz\", \"n{0}\": \"00\"}}", json_escaped(EVIL)));
    let config = inputs.file(
        "toml",
        format!("theme = \"{0}\"\n\"k{0}\" = 1\n[keys]\n\"{0}\" = \"st{0}\"\n", json_escaped(EVIL)),
    );
    let lesson = inputs.file(
        "lesson.toml",
        format!("lesson = 1\ntitle = \"t{0}\"\nsummary = \"s{0}\"\nsample = \"copy-4k.dma\"\nintro = \"i{0}\"\n[[fact]]\ntext = \"f{0}\"\nsource = \"docs/wire.md {0}\"\n[[task]]\ntext = \"w{0}\"\nanswer = \"0\"\n", json_escaped(EVIL)),
    );
    let bad_lesson = inputs.file(
        "bad.toml",
        format!(
            "lesson = 1\ntitle = \"t{0}\"\n\"u{0}\" = 1\nsample = \"{0}\"\n",
            json_escaped(EVIL)
        ),
    );
    let expects = inputs.file(
        "test.dma",
        program()
            + &format!(
                "; test: run\n; expect: error[D0{e}]: {e}\n; prints:\n; | {e}\n; test: {e}\n"
            ),
    );
    let events =
        inputs.file("wrong.jsonl", format!("{{\"{0}\": \"{0}\"}}\n{e}\n", json_escaped(EVIL)));
    let missing = inputs.folder.path().join(format!("no{EVIL}"));
    let evil: PathBuf = EVIL.into();
    let args = |list: &[&dyn AsRef<OsStr>]| -> Vec<std::ffi::OsString> {
        list.iter().map(|a| a.as_ref().to_owned()).collect()
    };
    let (dma, bir, script): (&dyn AsRef<OsStr>, &dyn AsRef<OsStr>, &dyn AsRef<OsStr>) =
        (&dma, &bir, &script);
    let mut calls = Vec::new();
    for form in ["text", "json"] {
        let mut call = |list: &[&dyn AsRef<OsStr>]| {
            let mut all = args(list);
            all.extend(args(&[&"--format", &form]));
            calls.push(all);
        };
        for file in [dma, bir, &short, &bad_dma, &bad_bir, &hex, &json, &missing, &evil] {
            call(&[&"decode", file]);
            call(&[&"info", file]);
            call(&[&"check", file]);
            call(&[&"disasm", file]);
            call(&[&"run", file]);
            call(&[&"asm", file, &"-o", &"/dev/null"]);
            call(&[&"lower", file, &"--no-times", &"--print-after-all", &"--verify"]);
            call(&[&"lower", file, &"--no-times", &"--bisect", &"--stop-after", &evil]);
            call(&[&"export", file]);
            call(&[&"export", file, &"--as", &"perfetto"]);
            call(&[&"fmt", file]);
            call(&[&"fmt", &"--check", file]);
            call(&[&"shrink", file]);
            call(&[&"shrink", file, &"--property", &evil]);
            call(&[&"test", file]);
            call(&[&"diff", file, dma]);
            call(&[&"diff", bir, file]);
            call(&[&"encode", file]);
            call(&[&"learn", &"--check", file]);
            call(&[&"provenance", file, &"--of", &"tx[0]", &"--of", &"0x1000", &"--of", &evil]);
            call(&[&"run", dma, &"--script", file]);
            call(&[&"run", bir, &"--memory-in", file]);
        }
        for s in [script, &bad_script, &missing, &evil] {
            call(&[&"run", dma, &"--script", s]);
            call(&[&"run", bir, &"--script", s]);
            call(&[&"run", bir, &"--stage", &"loaded", &"--script", s]);
        }
        call(&[&"run", dma, &"-e", &evil, &"-e", &format!("print {e}")]);
        call(&[&"run", dma, &"-e", &format!("source {e}"), &"-e", &format!("save {e}/x.dma")]);
        call(&[&"run", dma, &"-e", &format!("export events {e}/x"), &"-e", &"info files"]);
        call(&[&"run", bir, &"--memory-in", &memory]);
        call(&[&"encode", &events]);
        call(&[&"test", &expects]);
        call(&[&"test", &expects, &"--filter", &evil]);
        call(&[&"test", &inputs.folder.path()]);
        for f in ["csv", "descriptors", "events", "events-csv", "perfetto", EVIL] {
            call(&[&"export", dma, &"--as", &f]);
            call(&[&"export", bir, &"--as", &f]);
        }
        for l in [&lesson, &bad_lesson, &evil] {
            call(&[&"learn", &"--check", l]);
            call(&[&"learn", &"--check", l, &"--solve"]);
            call(&[&"learn", &"--check", l, &"--answers", script]);
        }
        call(&[&"learn", &evil]);
        call(&[&"explain", &evil]);
        call(&[&"decode", &"--as", &evil, &"0x1"]);
        call(&[&"gen", &"--seed", &evil]);
        call(&[&"gen", &"-o", &missing.join("x")]);
        call(&[&"asm", dma, &"-o", &missing.join("x")]);
        call(&[&evil, &evil]);
    }
    for to in ["text", "svg", "ansi"] {
        for file in [dma, bir, &bad_dma, &missing] {
            for keys in [
                "",
                "ss:info memory<Enter>",
                ":info files<Enter>?",
                "<Tab><Tab>:where<Enter>",
                ":source x\u{1b}<Enter>",
            ] {
                calls.push(args(&[&"render", file, &"--to", &to, &"--keys", &keys]));
            }
        }
        calls.push(args(&[&"render", dma, &"--to", &to, &"--script", script]));
        calls.push(args(&[&"render", dma, &"--to", &to, &"--script", &bad_script]));
        calls.push(args(&[&"render", dma, &"--theme", &evil]));
    }
    calls.push(args(&[&"config", &config]));
    calls.push(args(&[&"config", &evil]));
    calls.push(args(&[&"completions", &evil]));
    calls.push(args(&[&"man", &evil]));
    calls.push(args(&[&"man", &"-o", &missing.join("x")]));
    calls.push(args(&[&"sample", &"show", &evil]));
    calls.push(args(&[&"sample", &"open", &evil]));
    calls.push(args(&[&"sample", &"copy", &evil, &"-o", &missing]));
    calls.push(args(&[&"grammars", &"-o", dma]));
    calls.push(args(&[dma]));
    let cli = dmadbg::cli::Cli::command();
    let known: BTreeSet<&str> = cli.get_subcommands().map(|c| c.get_name()).collect();
    // It goes on for ever where its file can be read: see below.
    calls.push(args(&[&"watch"]));
    let tried: BTreeSet<&str> = calls.iter().filter_map(|c| c[0].to_str()).collect();
    assert!(known.is_subset(&tried), "add calls of {:?}", known.difference(&tried));

    let mut wrong = Vec::new();
    for call in &calls {
        let out = ended(dmadbg(inputs.home()).args(call));
        orderly(&out, &[0, 1, 2]);
        for (stream, bytes) in [("stdout", &out.stdout), ("stderr", &out.stderr)] {
            // A form that is not text is not written to a terminal, and comments are only
            // escaped there: the test below.
            let raw = call.iter().any(|a| a == "perfetto") || call[0] == "fmt";
            if raw && stream == "stdout" {
                continue;
            }
            wrong.extend(clean(&format!("{call:?} {stream}"), bytes));
        }
    }
    println!("{} calls", calls.len());
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), calls.len(), wrong.join("\n\n"));
    let out = ended(dmadbg(inputs.home()).args(["info"]).arg(dma));
    assert!(out.status.success(), "the program is read, names and all: {}", told(&out));
    let out = ended(dmadbg(inputs.home()).args(["check"]).arg(bir));
    assert!(out.status.success(), "and the module: {}", told(&out));
}

/// What `watch` says of its files, and what goes to a terminal only in another form.
#[test]
fn what_goes_to_a_terminal_is_escaped_or_refused() {
    let inputs = Inputs { folder: tempfile::tempdir().unwrap() };
    let (dma, bir) = (inputs.file("dma", program()), inputs.file("bir", module()));
    let missing = inputs.folder.path().join(format!("no{EVIL}"));
    let arg = OsStr::new;
    let calls: [(&[&OsStr], &str); 5] = [
        (&[arg("fmt"), bir.as_os_str()], "func"),
        (&[arg("fmt"), dma.as_os_str()], "error[B034]"),
        (&[arg("export"), arg("--as"), arg("perfetto"), dma.as_os_str()], "is a terminal"),
        (&[arg("watch"), dma.as_os_str(), arg("--script"), missing.as_os_str()], "error[S009]"),
        (&[arg("watch"), bir.as_os_str(), arg("-e"), arg("info memory")], "x\\u{1b}"),
    ];
    for (args, shown) in calls {
        let t = Terminal::start(200, 60, &[], args);
        t.wait(&format!("{args:?}: {shown}"), || String::from_utf8_lossy(&t.raw()).contains(shown));
        std::thread::sleep(std::time::Duration::from_millis(200));
        let raw = String::from_utf8_lossy(&t.raw()).replace("\r\n", "\n");
        assert_eq!(clean(&format!("ansi {args:?}"), raw.as_bytes()), None);
    }
}

/// Files from a stranger that ask for more than to be read: a test, a lesson, a program, a
/// module, whose scripts and options would write, and start, what they name.
#[test]
fn files_of_strangers_write_nothing_and_start_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, home) = (dir.path().join("theirs"), dir.path().join("mine"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(&home).unwrap();
    let mine = home.display().to_string();
    let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    put("p.dma", &std::fs::read_to_string("sample-programs/copy-4k.dma").unwrap());
    let wishes = [
        format!("save {mine}/a.dma"),
        format!("save! {mine}/precious"),
        format!("export events {mine}/b"),
        format!("export events {mine}/precious"),
        format!("screenshot {mine}/c.svg"),
        format!("source {mine}/d"),
        "!touch e".to_owned(),
        "shell touch e".to_owned(),
        "pipe info rings | tee e".to_owned(),
    ];
    for (n, wish) in wishes.iter().enumerate() {
        put(&format!("t{n}.dbg"), &format!("dbg 1\n# program: p.dma\n# test: run\nstep\n{wish}\n"));
        put(
            &format!("l{n}.toml"),
            &format!(
                "lesson = 1\ntitle = \"t\"\nsummary = \"s\"\nfile = \"p.dma\"\nintro = \"i\"\n\
                 [[task]]\ntext = \"w\"\nbefore = ['{wish}']\nanswer = \"0\"\nsolution = ['{wish}']\n"
            ),
        );
    }
    let options = [
        format!("run --memory-out {mine}/f"),
        format!("run -o {mine}/f"),
        format!("run --record {mine}/f"),
        format!("run -e 'save {mine}/f.dma'"),
        format!("lower --emit image -o {mine}/f"),
        format!("export -o {mine}/f"),
        format!("asm -o {mine}/f"),
        format!("shrink --property {mine}/program"),
        format!("test --junit {mine}/f"),
        "fmt --write".to_owned(),
    ];
    let module = std::fs::read_to_string("sample-programs/copy.bir").unwrap();
    for (n, option) in options.iter().enumerate() {
        put(&format!("o{n}.bir"), &format!("; test: {option}\n{module}"));
        put(&format!("o{n}.dbg"), &format!("dbg 1\n# program: p.dma\n# test: {option}\nstep\n"));
    }
    // What a file of the folder in which one stands could say.
    put("init.dbg", &format!("save! {mine}/precious\n"));
    put("config.toml", &format!("[keys]\ns = \"save! {mine}/precious\"\n"));
    put("dmadbg.toml", &format!("[keys]\ns = \"save! {mine}/precious\"\n"));
    std::fs::write(home.join("precious"), "precious").unwrap();
    let program = home.join("program");
    std::fs::write(&program, format!("#!/bin/sh\ntouch {mine}/started\n")).unwrap();
    let chmod = std::process::Command::new("chmod").arg("755").arg(&program).status();
    assert!(chmod.unwrap().success());
    let state = |folder: &Path| -> Vec<(PathBuf, Vec<u8>)> {
        let mut all: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| p.is_file())
            .map(|p| (p.clone(), std::fs::read(p).unwrap()))
            .collect();
        all.sort();
        all
    };
    let before = (state(&folder), state(&home));
    let keeps = tempfile::tempdir().unwrap();
    let run = |args: &[&OsStr]| {
        let mut c = dmadbg(keeps.path());
        let out = ended(c.current_dir(&folder).args(args));
        orderly(&out, &[0, 1, 2]);
        assert!((state(&folder), state(&home)) == before, "{args:?}: {}", told(&out));
        out
    };
    let arg = OsStr::new;
    let out = run(&[arg("test"), arg(".")]);
    let said = told(&out);
    assert_eq!(out.status.code(), Some(2), "{said}");
    let refused = said.matches("ERROR").count() + said.matches("FAILED").count();
    assert!(refused >= wishes.len() - 1 + options.len(), "{refused}: {said}");
    for (path, _) in state(&folder) {
        for verb in ["info", "check", "run", "decode", "disasm", "export", "fmt", "shrink", "test"]
        {
            run(&[arg(verb), path.as_os_str()]);
        }
        for more in [&["--solve"][..], &[]] {
            let mut args = vec![arg("learn"), arg("--check"), path.as_os_str()];
            args.extend(more.iter().map(OsStr::new));
            let out = run(&args);
            if path.extension().is_some_and(|e| e == "toml") {
                assert_eq!(out.status.code(), Some(2), "{args:?}: {}", told(&out));
            }
        }
        run(&[arg("render"), path.as_os_str(), arg("--keys"), arg("sss:info memory<Enter>")]);
    }
}

/// On the screen nothing but what the screen itself says to the terminal.
#[test]
fn the_screen_escapes_what_it_shows_of_files() {
    let inputs = Inputs { folder: tempfile::tempdir().unwrap() };
    for file in [inputs.file("dma", program()), inputs.file("bir", module())] {
        let mut t = Terminal::start(160, 50, &[], &[file.as_os_str()]);
        t.wait_for("event");
        t.keys(":info memory\r\x1bss\t\t\t:info files\r\x1b?\x1b");
        t.keys(":print \"\u{202e}\u{9b}2J\"\r\x1b\x1b");
        t.resize(100, 30);
        t.wait_for("event");
        assert!(t.leave().success(), "{}", t.screen());
        let raw = t.raw();
        let text = String::from_utf8_lossy(&raw);
        for c in EVIL.chars().filter(|c| !"\u{1b}[]0;own31mb2J\r\n\u{8}FORGED".contains(*c)) {
            assert!(!text.contains(c), "{c:?} from a file is on the terminal");
        }
        assert!(!text.contains("\u{1b}]0;own"), "the window is named by a file");
    }
}
