//! The generated parts of the documentation are what the tables say. `DMADBG_BLESS=1`
//! rewrites them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::check::CHECKS;
use dmadbg::diag::codes::CODES;
use dmadbg::diag::terms::{TERMS, term};
use dmadbg::engine::lower::Stage;
use dmadbg::engine::ring::{Life, Phase};
use dmadbg::udma::cause::CAUSES;
use dmadbg::udma::class::{CLASSES, OpType, dtype_bytes};
use dmadbg::udma::field::{CCE_SUB_OPS, DTYPES, fields_of};
use dmadbg::udma::reg::{ENGINE_REGS, QUEUE_REGS, RegField};
use dmadbg::udma::{Dir, Field, View, Word, payload};
use std::fmt::Write;
use std::path::PathBuf;

fn page(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)
}

/// Replaces what stands between `<!-- generated: NAME -->` and `<!-- end -->`.
fn check(file: &str, parts: &[(&str, String)]) {
    let old = std::fs::read_to_string(page(file)).unwrap();
    let mut new = old.clone();
    for (name, text) in parts {
        let open = format!("<!-- generated: {name} -->\n");
        let from = new.find(&open).unwrap_or_else(|| panic!("{file}: no {open}")) + open.len();
        let to = from + new[from..].find("<!-- end -->").unwrap();
        new.replace_range(from..to, text);
    }
    if std::env::var_os("DMADBG_BLESS").is_some() {
        std::fs::write(page(file), new).unwrap();
    } else {
        assert!(
            old == new,
            "docs/{file} is out of date: run DMADBG_BLESS=1 cargo test --test docs"
        );
    }
}

fn bits(f: &Field) -> String {
    if f.width == 1 { f.lo.to_string() } else { format!("{}:{}", f.hi(), f.lo) }
}

fn fields(view: View) -> String {
    let mut out = "| word | bits | name | mask | meaning |\n|---|---|---|---|---|\n".to_owned();
    for &word in Word::of(view) {
        let digits = usize::from(word.bits()) / 4;
        for f in fields_of(view, word) {
            let (name, mask) = (f.name, f.mask());
            let _ = writeln!(
                out,
                "| `{}` | {} | `{name}` | 0x{mask:0digits$x} | {} |",
                word.name(),
                bits(f),
                f.meaning
            );
        }
    }
    out
}

fn classes() -> String {
    let mut out = "| class | word | `ssmae_op`, `op_type` | bits of the class | meaning |\n|---|---|---|---|---|\n".to_owned();
    for c in CLASSES {
        let op_type = match c.op_type {
            OpType::Is(n) => n.to_string(),
            OpType::Dtype => "a data type".to_owned(),
        };
        let fields: Vec<String> =
            c.fields.iter().map(|f| format!("{} `{}`", bits(f), f.name)).collect();
        let fields =
            if fields.is_empty() { "as in the Tx table".into() } else { fields.join(", ") };
        let _ = writeln!(
            out,
            "| `{}` | {:#010x} | {}, {op_type} | {fields} | {} |",
            c.name, c.word, c.ssmae_op, c.meaning
        );
    }
    let subs: Vec<String> = CCE_SUB_OPS.iter().map(|(v, n)| format!("{v} {n}")).collect();
    let _ = writeln!(out, "\nSub-operations: {}.", subs.join(", "));
    out
}

fn dtypes() -> String {
    let mut out = "| tag | type | bytes |\n|---|---|---|\n".to_owned();
    for (tag, name) in DTYPES {
        let bytes = dtype_bytes(u64::from(*tag)).unwrap();
        let _ = writeln!(out, "| {tag} | {name} | {bytes} |");
    }
    out
}

fn known() -> String {
    let mut out = "| word | meaning |\n|---|---|\n".to_owned();
    for k in dmadbg::udma::known::KNOWN {
        let _ = writeln!(out, "| {:#010x} | {} |", k.value, k.meaning);
    }
    out
}

fn payload_table(table: &[Field]) -> String {
    let mut out = "| word | bits | name | meaning |\n|---|---|---|---|\n".to_owned();
    for f in table {
        let (word, name) = (f.word.name(), f.name);
        let meaning = f.meaning.trim_start_matches("MODEL: ");
        let _ = writeln!(out, "| `{word}` | {} | `{name}` | {meaning} |", bits(f));
    }
    out
}

#[test]
fn payload_tables_are_those_of_the_code() {
    check(
        "author.md",
        &[
            ("compute", payload_table(payload::COMPUTE)),
            ("transpose", payload_table(payload::TRANSPOSE)),
        ],
    );
}

#[test]
fn wire_tables_are_those_of_the_code() {
    check(
        "wire.md",
        &[
            ("tx", fields(View::Tx)),
            ("rx", fields(View::Rx)),
            ("meta", fields(View::Meta)),
            ("classes", classes()),
            ("dtypes", dtypes()),
            ("known", known()),
        ],
    );
}

#[test]
fn codes_are_those_of_the_table() {
    let mut out = String::new();
    for c in CODES {
        let _ = writeln!(out, "## {} ({}): {}\n", c.code, c.severity, c.title);
        let _ = writeln!(out, "{} Arises from: {}\n", c.meaning, c.cause);
        let _ = writeln!(out, "Example: {} Fix: {}\n", c.example(), c.fix);
    }
    check("codes.md", &[("codes", out)]);
}

#[test]
fn checks_are_those_that_run() {
    let mut out = "| check | looks for |\n|---|---|\n".to_owned();
    for c in CHECKS {
        let _ = writeln!(out, "| `{}` | {} |", c.name(), c.doc());
    }
    check("checks.md", &[("checks", out)]);
}

#[test]
fn commands_are_those_of_the_table() {
    check("commands.md", &[("commands", dmadbg::script::help::markdown())]);
}

#[test]
fn settings_are_those_of_the_table() {
    let parts =
        [("settings", dmadbg::ui::config::markdown()), ("vi", dmadbg::ui::keymap::vi_markdown())];
    check("config.md", &parts);
}

/// Bits of a register: `31:30 name`.
fn register_bits(fields: &[RegField]) -> String {
    let one = |f: &RegField| match f.hi == f.lo {
        true => format!("{} `{}`", f.lo, f.name),
        false => format!("{}:{} `{}`", f.hi, f.lo, f.name),
    };
    match fields {
        [] => String::new(),
        [f] if f.hi == f.lo => format!("; bit {}", one(f)),
        all => format!("; bits {}", all.iter().map(one).collect::<Vec<_>>().join(", ")),
    }
}

#[test]
fn registers_and_causes_are_those_of_the_tables() {
    let mut queue = "| offset | name | Tx | Rx | meaning |\n|---|---|---|---|---|\n".to_owned();
    for r in QUEUE_REGS {
        let at = match r.bytes {
            4 => format!("{:#04x}", r.offset),
            n => format!("{:#04x} .. {:#04x}", r.offset, r.offset + n - 1),
        };
        let has = |yes| if yes { "yes" } else { "-" };
        let guarded = if r.guarded { "; **guarded**" } else { "" };
        let bits = register_bits(r.fields);
        let (tx, rx) = (has(r.tx), has(r.rx));
        let _ =
            writeln!(queue, "| {at} | {} | {tx} | {rx} | {}{bits}{guarded} |", r.name, r.meaning);
    }
    let mut engine = "| engine offset | name | meaning |\n|---|---|---|\n".to_owned();
    for r in ENGINE_REGS {
        let at = match r.count {
            1 => format!("{:#07x}", r.offset),
            n => format!("{:#07x} + n * {:#x}, {n} of them", r.offset, r.stride),
        };
        let bits = register_bits(r.fields);
        let _ = writeln!(engine, "| {at} | {} | {}{bits} |", r.name, r.meaning);
    }
    let mut causes = "| half | bit | name | meaning |\n|---|---|---|---|\n".to_owned();
    for c in CAUSES {
        let half = if c.dir == Dir::Tx { "M2S" } else { "S2M" };
        let _ = writeln!(causes, "| {half} | {} | {} | {} |", c.bit, c.name, c.meaning);
    }
    check("registers.md", &[("engine", engine), ("queue", queue), ("causes", causes)]);
}

/// `src/limits.rs` is all constants, each with a comment.
#[test]
fn limits_are_those_of_the_source() {
    let source = include_str!("../src/limits.rs");
    let mut out = "| constant | value | bounds |\n|---|---|---|\n".to_owned();
    let (mut doc, mut known) = (String::new(), 0);
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("/// ") {
            doc.push_str(if doc.is_empty() { "" } else { " " });
            doc.push_str(text);
        } else if let Some(first) = line.strip_prefix("pub const ") {
            let mut whole = first.to_owned();
            while !whole.ends_with(';') {
                whole.push_str(lines.next().unwrap().trim());
            }
            let (name, rest) = whole.trim_end_matches(';').split_once(':').unwrap();
            let (_, value) = rest.split_once(" = ").unwrap();
            assert!(!doc.is_empty(), "{name} says what it bounds");
            let text = doc.replace("[`", "`").replace("`]", "`").replace('|', "\\|");
            let _ = writeln!(out, "| `{name}` | `{value}` | {text} |");
            (doc, known) = (String::new(), known + 1);
        } else {
            doc.clear();
        }
    }
    assert!(known > 100, "{known}");
    check("limits.md", &[("limits", out)]);
}

fn terms() -> String {
    let mut out = "| term | is | means | more |\n|---|---|---|---|\n".to_owned();
    for t in TERMS {
        let names: Vec<String> = [t.name].iter().chain(t.also).map(|n| format!("`{n}`")).collect();
        let (names, page) = (names.join(", "), t.page.trim_end_matches(".md"));
        let _ = writeln!(out, "| {names} | {} | {} | [{page}]({}) |", t.kind, t.meaning, t.page);
    }
    out
}

#[test]
fn terms_are_those_of_the_table() {
    check("terms.md", &[("terms", terms())]);
}

/// What the screen and the reference write everywhere is explained.
#[test]
fn what_a_slot_a_phase_or_a_stage_is_called_is_a_term() {
    let lives = Life::ALL.map(|l| if l == Life::NeverWritten { "never written" } else { l.name() });
    let phases = Phase::ALL.map(Phase::name);
    let stages = Stage::ALL.map(Stage::name);
    for name in lives.iter().chain(&phases).chain(&stages) {
        assert!(term(name).is_some(), "{name}");
    }
}
