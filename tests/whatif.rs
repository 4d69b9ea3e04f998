//! A run is changed, saved and read back: the file runs as the session did. From the real binary
//! too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod back_and_forth;

use dmadbg::engine::command::Command as Asked;
use dmadbg::engine::program::Program;
use dmadbg::engine::ring::machine;
use dmadbg::engine::session::Session;
use dmadbg::load::{self, LoadOptions, asm, container, disasm};
use dmadbg::script::parse_command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-programs").join(name)
}

fn open(name: &str) -> Program {
    let loaded = load::open(&[sample(name)], &LoadOptions::default()).unwrap();
    (**loaded.program.as_ref().unwrap()).clone()
}

fn read(line: &str) -> Asked {
    parse_command(line).unwrap().unwrap()
}

/// Changes of every kind, at several moments; what cannot be made at one is passed over there.
const CHANGES: &[&str] = &[
    "goto 12",
    "set tx[1].length = 100",
    "set rx[1].len_ctrl.length = 100",
    "set q0.tx.drl = 48",
    "goto 30",
    "set tx[0].dmb = 1",
    "set rx[0].strong_order = 1",
    "inject PREFETCH_RING_ID at tx[5]",
    "inject STRM_LAST at rx[60]",
    "set marker = 5",
    "goto 60",
    "set q0.rx.next_desc_idx = 7",
    "set q0.tx.tail = 9",
    "set tx.head = 1",
    "set reg[0x200] = 0x11",
    "set mem16[tx[0].addr + 12] = 0xfffe",
    "goto end",
    "set q0.rx.drtp_inc = 2",
    "set q0.tx.drtp_inc = 2",
];

const SAMPLES: &[&str] = &[
    "authored-concat.dma",
    "copy-1m.dma",
    "copy-4k.dma",
    "double-buffer.dma",
    "memset.dma",
    "ring-full.dma",
    "three-queues.dma",
    "timeout.dma",
    "wrap.dma",
];

#[test]
fn a_changed_program_goes_through_both_forms_and_runs_as_it_did() {
    for name in SAMPLES {
        let mut s = Session::new(Arc::new(open(name)));
        let mut made = 0;
        for line in CHANGES {
            made += usize::from(s.execute(&read(line)).is_ok() && !line.starts_with("goto"));
        }
        assert!(made >= 10, "{name}: {made}");
        s.execute(&read("goto end")).unwrap();
        let p = s.program();
        assert_eq!(p.edits.len(), made, "{name}");
        let text = disasm::disassemble(p).unwrap().text;
        let assembled = asm::assemble(&text).unwrap_or_else(|r| panic!("{name}: {r:?}\n{text}"));
        assert_eq!(assembled.program, **p, "{name}");
        assert_eq!(disasm::disassemble(&assembled.program).unwrap().text, text);
        let bytes = container::write(p).unwrap();
        let blob = dmadbg::engine::program::Blob::from_vec(bytes.clone());
        let (image, report) = container::read(&blob).unwrap();
        assert!(report.is_empty());
        assert_eq!(image, **p, "{name}");
        assert_eq!(container::write(&image).unwrap(), bytes);
        for p in [&assembled.program, &image] {
            let mut again = Session::new(Arc::new(p.clone()));
            again.execute(&read("goto end")).unwrap();
            assert_eq!(again.position(), s.position(), "{name}");
            assert_eq!(again.machine().digest(), s.machine().digest(), "{name}");
        }
        back_and_forth::check(&image);
    }
}

#[test]
fn a_changed_run_of_a_module_goes_back_too_and_is_undone() {
    for name in ["copy.bir", "gather.bir", "semaphores.bir"] {
        let mut s = Session::new(Arc::new(open(name)));
        s.execute(&read("goto end")).unwrap();
        let (end, digest) = (s.position(), s.machine().digest());
        s.execute(&read("goto 0")).unwrap();
        let mut made = 0;
        for line in
            ["doorbell", "set tx[1].dmb = 1", "step", "set marker = 0", "set rx[3].buf_ptr = 1"]
        {
            made += usize::from(s.execute(&read(line)).is_ok() && line.starts_with("set"));
        }
        assert_eq!((made, s.program().edits.len()), (3, 3), "{name}");
        back_and_forth::check(s.program());
        for _ in 0..made {
            s.execute(&read("undo")).unwrap();
        }
        s.execute(&read("goto end")).unwrap();
        assert_eq!((s.position(), s.machine().digest()), (end, digest), "{name}");
    }
}

#[test]
fn an_image_without_edits_is_as_it_always_was_and_one_with_them_says_so() {
    let mut p = open("copy-4k.dma");
    let minor = |p: &Program| container::write(p).unwrap()[10];
    assert_eq!(minor(&p), 0);
    let mut s = Session::new(Arc::new(p));
    s.execute(&read("set mem8[0x400040061000] = 1")).unwrap();
    p = (**s.program()).clone();
    assert_eq!(minor(&p), 1);
}

#[test]
fn what_is_wrong_with_edits_of_a_text_is_told_at_its_line() {
    let head = "dma 1\nqueue e0.q0 tx=0x1000 tx_size=32 rx=0x2000 rx_size=32\n";
    for (line, code, says) in [
        ("edit store at=1 addr=0x1000", "D050", "a block"),
        ("edit store addr=0x1000 { hex 00 }", "D050", "`at=` is missing"),
        ("edit shuffle at=1", "D050", "kind of edit"),
        ("edit inject e0.q0 at=1 ring=tx fault=STRM_LAST", "D051", "no cause of tx"),
        ("edit inject e0.q0 at=1 ring=rx fault=STRM_LATS", "D051", "is not a fault"),
        ("edit cursor e0.q0 at=1 ring=tx name=haed value=1", "D051", "is not a cursor"),
        ("edit cursor e0.q1 at=1 ring=tx name=head value=1", "D051", "queue e0.q1"),
        ("edit cursor e0.q0 at=1 ring=ty name=head value=1", "D051", "is not a ring"),
        ("edit reg_write at=1 engine=900 offset=0 value=1", "D052", "no register"),
        ("edit reg_write at=1 engine=0 offset=0 value=1 slot=2", "D050", "slot"),
        ("edit reg_write at=1 engine=0 offset=0 value=1 { }", "D050", "takes no block"),
        ("edit store at=1 addr=0xffffffffffffffff { hex 0000 }", "D052", "2 bytes"),
    ] {
        let all = asm::assemble(&format!("{head}{line}\n")).unwrap_err();
        let d = &all.items[0];
        assert_eq!((all.items.len(), d.code, d.place.line), (1, code, Some(3)), "{line}: {all:?}");
        assert!(d.message.contains(says), "{line}: {}", d.message);
    }
    // Written in any order, made in the order of events.
    let lines = "edit cursor e0.q0 at=9 ring=tx name=head value=1\nedit reg_write at=2 engine=0 offset=0 value=1\n";
    let p = asm::assemble(&format!("{head}{lines}")).unwrap().program;
    assert_eq!(p.edits.iter().map(|e| e.at).collect::<Vec<_>>(), [2, 9]);
}

struct Ran {
    status: i32,
    out: String,
    err: String,
}

/// The binary in a folder, with a script in it.
fn run(dir: &Path, file: &Path, script: &str, more: &[&str]) -> Ran {
    std::fs::write(dir.join("s.dbg"), script).unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .current_dir(dir)
        .args(["run", "--no-init"])
        .arg(file)
        .args(["--script", "s.dbg"])
        .args(more)
        .output()
        .unwrap();
    Ran {
        status: out.status.code().unwrap(),
        out: String::from_utf8(out.stdout).unwrap(),
        err: String::from_utf8(out.stderr).unwrap(),
    }
}

#[test]
fn a_script_changes_a_run_saves_it_and_the_file_does_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let script = "until tx[0].len_ctrl != 0\nset tx[0].ring_id = 3\nsave a.dma\nsave a.bin\ngoto end\nexpect fault PREFETCH_RING_ID at tx[0]\n";
    let r = run(dir.path(), &sample("copy-4k.dma"), script, &["--format", "json"]);
    assert_eq!(r.status, 0, "{}", r.err);
    assert!(r.err.contains("saved `a.dma`") && r.err.contains("1 edit"), "{}", r.err);
    let body = |out: &str| out.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let edits: Vec<Value> = r
        .out
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap())
        .filter(|v| v["kind"] == "edit")
        .collect();
    assert_eq!(edits.len(), 1);
    assert_eq!(edits[0]["agent"], "user");
    assert_eq!(edits[0]["edit"], "store");
    assert_eq!(edits[0]["text"], "set e128.q0.tx[0].len_ctrl = 0xf001000");
    assert_eq!(edits[0]["bytes"], "0010000f");
    // Other numbers are as they are without it.
    let mut n = 0;
    for line in r.out.lines().skip(1) {
        let v: Value = serde_json::from_str(line).unwrap();
        n += u64::from(v["kind"] != "edit");
        assert_eq!(v["n"], n);
    }
    let end = "goto end\nexpect fault PREFETCH_RING_ID at tx[0]\n";
    for file in ["a.dma", "a.bin"] {
        let again = run(dir.path(), &dir.path().join(file), end, &["--format", "json"]);
        assert_eq!(again.status, 0, "{}", again.err);
        assert_eq!(body(&again.out), body(&r.out), "{file}");
    }
    let info = Command::new(env!("CARGO_BIN_EXE_dmadbg"));
    let said = { info }.args(["info"]).arg(dir.path().join("a.bin")).output().unwrap().stdout;
    let said = String::from_utf8(said).unwrap();
    assert!(said.lines().any(|l| l.contains("edits") && l.ends_with('1')), "{said}");
    // Unexpected, the fault is what it always is.
    assert_eq!(run(dir.path(), &dir.path().join("a.bin"), "goto end\n", &[]).status, 1);
}

#[test]
fn a_file_that_is_there_is_written_over_only_when_told() {
    let dir = tempfile::tempdir().unwrap();
    let there = dir.path().join("there.dma");
    std::fs::write(&there, "mine").unwrap();
    let r = run(dir.path(), &sample("copy-4k.dma"), "step\nsave there.dma\n", &[]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("error[S022]: `there.dma` is there already"), "{}", r.err);
    assert!(r.err.contains("s.dbg:2:6") && r.err.contains("`save!` writes over it"), "{}", r.err);
    assert_eq!(std::fs::read(&there).unwrap(), b"mine");
    let r = run(dir.path(), &sample("copy-4k.dma"), "save! there.dma\n", &[]);
    assert_eq!(r.status, 0, "{}", r.err);
    assert!(std::fs::read_to_string(&there).unwrap().starts_with("dma 1\n"));
    let r = run(dir.path(), &sample("copy-4k.dma"), "save nowhere/a.bin\n", &[]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("error[D007]") && r.err.contains("s.dbg:1:6"), "{}", r.err);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "nothing half written is left");
}

#[test]
fn a_module_is_saved_as_the_record_of_its_run_and_not_with_edits() {
    let dir = tempfile::tempdir().unwrap();
    let r = run(dir.path(), &sample("copy.bir"), "save a.bin\n", &[]);
    assert_eq!(r.status, 0, "{}", r.err);
    let r = run(dir.path(), &dir.path().join("a.bin"), "goto end\n", &[]);
    assert_eq!(r.status, 0, "{}", r.err);
    let script = "doorbell\nset tx[0].dmb = 1\nsave b.bin\n";
    let r = run(dir.path(), &sample("copy.bir"), script, &[]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("error[S022]") && r.err.contains("take the edits back"), "{}", r.err);
    let again = "doorbell\nset tx[0].dmb = 1\npass set split equal\ninfo edits\n";
    let r = run(dir.path(), &sample("copy.bir"), again, &[]);
    assert!(r.out.contains("at event 0; the edit of the run that was is gone"), "{}", r.out);
    assert!(r.out.contains("no edits"), "{}", r.out);
}

#[test]
fn an_order_that_no_file_holds_is_not_saved_silently() {
    let dir = tempfile::tempdir().unwrap();
    for order in
        ["order hold rx 0 visible until host poll 1", "order barrier tx 0 write_barrier off"]
    {
        let script = format!("{order}\nsave a.dma\n");
        let r = run(dir.path(), &sample("copy-4k.dma"), &script, &[]);
        assert_eq!(r.status, 2, "{}", r.out);
        assert!(r.err.contains("error[S022]") && r.err.contains("`order calm` first"), "{}", r.err);
    }
    assert_eq!(
        std::fs::read_dir(dir.path())
            .unwrap()
            .filter(|e| { e.as_ref().unwrap().path().extension().is_some_and(|e| e == "dma") })
            .count(),
        0
    );
    let script = "order hold rx 0 visible until host poll 1\norder calm\nsave a.dma\n";
    assert_eq!(run(dir.path(), &sample("copy-4k.dma"), script, &[]).status, 0);
}

#[test]
fn the_lints_see_what_was_changed() {
    let dir = tempfile::tempdir().unwrap();
    let script = "finish\ninfo checks\nset tx[0].last = 0\ninfo checks\nundo\ninfo checks q0\n";
    let r = run(dir.path(), &sample("copy-4k.dma"), script, &[]);
    assert_eq!(r.status, 0, "{}", r.err);
    let clean = "no check finds anything in the rings of e128.q0";
    assert_eq!(r.out.matches(clean).count(), 2, "{}", r.out);
    let found = r.out.lines().find(|l| l.starts_with("error[D0")).unwrap();
    assert!(found.contains("e128.q0.tx[0]"), "{found}");
}

#[test]
fn edits_in_an_image_that_nobody_vouches_for_change_nothing_they_may_not() {
    let mut p = open("copy-4k.dma");
    let head = disasm::disassemble(&p).unwrap().text;
    let hostile = "\nedit cursor e128.q0 at=0 ring=tx name=tail value=18446744073709551615\nedit cursor e128.q0 at=25 ring=rx name=next_desc_idx value=4294967296\nedit inject e128.q0 at=3 ring=rx fault=PKT_LEN slot=99\nedit store at=7 addr=0x10 { hex 00 }\n";
    let mut q = asm::assemble(&format!("{head}{hostile}")).unwrap().program;
    let done = machine::run(&q, |_, _| true).machine;
    let found: Vec<_> = done.findings.iter().map(|d| (d.code, d.place.event)).collect();
    assert_eq!(
        found,
        [("R040", Some(0)), ("R040", Some(3)), ("R040", Some(7)), ("R040", Some(25))]
    );
    let plain = machine::run(&p, |_, _| true).machine;
    assert_eq!((done.n, done.memory.digest()), (plain.n, plain.memory.digest()));
    // Out of order, only a broken writer makes them.
    q.edits.reverse();
    assert_eq!(container::write(&q).unwrap_err().items[0].code, "D033");
    p.edits = q.edits;
    p.edits.truncate(1);
    assert!(container::write(&p).is_ok());
}
