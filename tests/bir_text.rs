//! Modules of the IR as JSON and as text.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod golden_support;

use dmadbg::bir::{self, Value};
use dmadbg::load::bir::tape::Tape;
use dmadbg::load::bir::{
    json_to_text, read_any, read_json, read_text, text_to_json, write_json, write_text,
};
use golden_support::{Compared, golden};
use std::fmt::Write as _;
use std::path::PathBuf;

fn files() -> Option<Vec<PathBuf>> {
    let dir = golden()?.join("bir");
    let all = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut all: Vec<PathBuf> = all
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    all.sort();
    Some(all)
}

fn stem(p: &std::path::Path) -> String {
    p.file_stem().unwrap().to_string_lossy().into_owned()
}

/// Golden modules that loading itself refuses, and the code.
const REFUSED: [(&str, &str); 5] = [
    ("error_trigger_missing_block", "B023"),
    ("error_unknown_axis", "B026"),
    ("error_unknown_memory_location", "B020"),
    ("error_unknown_queue", "B022"),
    ("error_version_3", "B007"),
];

#[test]
fn golden_modules_load_and_those_with_broken_names_do_not() {
    let Some(files) = files() else { return };
    let mut n = Compared::new();
    for f in files {
        let bytes = std::fs::read(&f).unwrap();
        let name = stem(&f);
        let refused = REFUSED.iter().find(|(n, _)| *n == name);
        match (read_json(&name, &bytes), refused) {
            (Ok(l), None) => {
                assert!(l.warnings.is_empty(), "{name}: {:?}", l.warnings);
                assert!(l.beside.iter().any(|(k, _)| &**k == "memory_in"), "{name}");
            }
            (Err(d), Some((_, code))) => {
                assert_eq!(d.len(), 1, "{name}: {d:?}");
                assert_eq!(d[0].code, *code, "{name}");
                assert!(d[0].place.line > Some(1) && d[0].place.column.is_some(), "{name}: {d:?}");
            }
            (Ok(_), Some(_)) => panic!("{name} loads"),
            (Err(d), None) => panic!("{name}: {d:?}"),
        }
        n.one();
    }
    n.finish("modules loaded");
}

/// A tree with the keys of its objects in order.
fn sorted(v: Value) -> Value {
    match v {
        Value::Arr(items) => Value::Arr(items.into_iter().map(sorted).collect()),
        Value::Obj(members) => {
            let mut members: Vec<_> = members.into_iter().map(|(k, v)| (k, sorted(v))).collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Obj(members)
        }
        other => other,
    }
}

fn tree(json: &str) -> Value {
    let tape = Tape::read(json.as_bytes()).unwrap_or_else(|f| panic!("{f:?}\n{json}"));
    sorted(tape.root().to_value())
}

#[test]
fn golden_modules_are_the_same_as_text() {
    let Some(files) = files() else { return };
    let mut n = Compared::new();
    for f in files {
        let json = std::fs::read_to_string(&f).unwrap();
        let name = stem(&f);
        let text = json_to_text(&name, json.as_bytes()).unwrap();
        let back = text_to_json(&name, &text).unwrap_or_else(|d| panic!("{name}: {d:?}\n{text}"));
        assert_eq!(tree(&json), tree(&back), "{name}\n{text}");
        let again = json_to_text(&name, back.as_bytes()).unwrap();
        assert_eq!(text, again, "{name}: printing is no fixpoint");
        assert!(!text.contains("={\"kind\""), "{name}: an operand without syntax\n{text}");
        match (read_json(&name, json.as_bytes()), read_text(&name, &text)) {
            (Ok(a), Ok(b)) => assert_eq!(a.module, b.module, "{name}"),
            (Err(a), Err(b)) => {
                let codes = |d: &[dmadbg::diag::Diagnostic]| {
                    d.iter().map(|d| (d.code, d.message.clone())).collect::<Vec<_>>()
                };
                assert_eq!(codes(&a), codes(&b), "{name}");
                let place = &b[0].place;
                let line = text.lines().nth(place.line.unwrap() as usize - 1).unwrap();
                let width = place.width.unwrap() as usize;
                let column = place.column.unwrap() as usize;
                assert!(column - 1 + width <= line.chars().count(), "{name}: {place:?}\n{line}");
            }
            (a, b) => panic!("{name}: JSON {:?}, text {:?}", a.err(), b.err()),
        }
        n.one();
    }
    n.finish("modules as text");
}

#[test]
fn golden_modules_are_written_and_read_as_the_same() {
    let Some(files) = files() else { return };
    let mut n = Compared::new();
    for f in files {
        let name = stem(&f);
        let Ok(l) = read_json(&name, &std::fs::read(&f).unwrap()) else { continue };
        let json = write_json(&l.module);
        let back = read_any(&name, json.as_bytes()).unwrap_or_else(|d| panic!("{name}: {d:?}"));
        assert_eq!(back.module, l.module, "{name}\n{json}");
        let printed = write_text(&l.module);
        let back = read_any(&name, printed.text.as_bytes());
        let back = back.unwrap_or_else(|d| panic!("{name}: {d:?}\n{}", printed.text));
        assert_eq!(back.module, l.module, "{name}\n{}", printed.text);
        assert!(printed.lines.windows(2).all(|w| w[0].0 < w[1].0), "{name}");
        for (line, pos) in printed.lines {
            let at = bir::At::Inst(pos, bir::Part::Whole);
            assert_eq!(back.spans.place(&at).line, Some(line as u64), "{name}");
        }
        n.one();
    }
    n.finish("modules written");
}

/// Lines of a text, cut to a width that a reader sees at once.
fn cut(text: &str) -> String {
    let line = |l: &str| l.chars().take(230).collect::<String>();
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn text_reads_like_this() {
    let Some(dir) = golden() else { return };
    for name in
        ["forms_unknown_keys", "loop_nested_two", "lowered_all_families", "scatter_rows_from_sb"]
    {
        let json = std::fs::read(dir.join("bir").join(format!("{name}.json"))).unwrap();
        insta::assert_snapshot!(name, cut(&json_to_text(name, &json).unwrap()));
    }
    let json = std::fs::read(dir.join("bir/opaque_between.json")).unwrap();
    let module = read_json("m", &json).unwrap().module;
    insta::assert_snapshot!("written_text", cut(&write_text(&module).text));
    insta::assert_snapshot!("written_json", cut(&write_json(&module)));
}

fn page(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)
}

/// The example of the page is a module, and printed as it stands there.
#[test]
fn the_example_of_the_page_is_read() {
    let page = std::fs::read_to_string(page("bir-text.md")).unwrap();
    let (_, rest) = page.split_once("```bir\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let l = read_text("m", example).unwrap_or_else(|d| panic!("{d:#?}"));
    assert!(l.warnings.is_empty());
    let json = text_to_json("m", example).unwrap();
    let printed = json_to_text("m", json.as_bytes()).unwrap();
    let (_, code) = example.split_once('\n').unwrap();
    assert_eq!(printed, code);
}

macro_rules! rows {
    ($out:ident, $($what:literal $type:ty,)*) => {
        $({
            let all: Vec<String> =
                <$type>::ALL.iter().map(|v| format!("{} {}", v.number(), v.name())).collect();
            let _ = writeln!($out, "| {} | {} |", $what, all.join(", "));
        })*
    };
}

#[test]
fn names_and_numbers_are_those_of_the_code() {
    let mut out = "| what | values |\n|---|---|\n".to_owned();
    rows!(out,
        "engine" bir::Engine, "`dge_type`" bir::DgeType, "`mode`" bir::Mode,
        "`transpose_op`" bir::TransposeOp, "operation (`cce_op`, `op`)" bir::AluOp,
        "`comp_op`" bir::BranchOp, "dependency" bir::EdgeKind, "`dma_qos`" bir::QosClass,
        "tensor `kind`" bir::TensorKind, "location `type`" bir::Space, "`arch`" bir::Arch,
    );
    let opcodes: Vec<String> = (0..200)
        .filter_map(|n| Some(format!("{n} {}", bir::Opcode::by_number(n)?.name())))
        .collect();
    let _ = writeln!(out, "| `opcode` (any other is opaque) | {} |", opcodes.join(", "));
    let dtypes: Vec<String> = bir::Dtype::ALL
        .iter()
        .map(|d| format!("{} {} ({})", d.number(), d.name(), d.bytes()))
        .collect();
    let _ = writeln!(out, "| `dtype` (bytes) | {} |", dtypes.join(", "));
    let old = std::fs::read_to_string(page("bir.md")).unwrap();
    let open = "<!-- generated: names -->\n";
    let from = old.find(open).unwrap() + open.len();
    let to = from + old[from..].find("<!-- end -->").unwrap();
    let mut new = old.clone();
    new.replace_range(from..to, &out);
    if std::env::var_os("DMADBG_BLESS").is_some() {
        std::fs::write(page("bir.md"), new).unwrap();
    } else {
        assert!(
            old == new,
            "docs/bir.md is out of date: DMADBG_BLESS=1 cargo test --test bir_text"
        );
    }
}
