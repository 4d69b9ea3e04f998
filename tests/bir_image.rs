//! Images recorded from modules: they run by themselves to the same memory, and their text
//! assembles to the same bytes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::bir::Layout;
use dmadbg::engine::module_run::{dump, record};
use dmadbg::engine::program::{Blob, Program};
use dmadbg::engine::ring::machine::run;
use dmadbg::load::{LoadOptions, asm, container, disasm, load_bytes};
use std::path::Path;

fn samples() -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-programs");
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "bir") {
            out.push((path.to_string_lossy().into_owned(), std::fs::read(&path).unwrap()));
        }
    }
    assert!(out.len() >= 10, "{}", out.len());
    out
}

/// The module's program, and the layout of the module as loaded.
fn open(name: &str, bytes: Vec<u8>) -> (Program, Layout) {
    let loaded = load_bytes(name, Blob::from_vec(bytes), &LoadOptions::default()).unwrap();
    let layout = Layout::new(&loaded.module.unwrap().module);
    ((*loaded.program.unwrap()).clone(), layout)
}

#[test]
fn an_image_of_a_module_runs_by_itself_to_the_same_memory() {
    for (name, bytes) in samples() {
        let (p, layout) = open(&name, bytes);
        let image = record(&p).unwrap();
        assert!(image.module.is_none());
        let (with, without) = (run(&p, |_, _| true).machine, run(&image, |_, _| true).machine);
        assert!(!without.has_errors(), "{name}: {:?}", without.findings);
        for loc in layout.placed() {
            let of = |m| dump(&layout, m, &loc.name).unwrap();
            assert_eq!(of(&with.memory), of(&without.memory), "{name}: {}", loc.name);
        }
    }
}

#[test]
fn an_image_of_a_module_is_the_same_as_text() {
    for (name, bytes) in samples() {
        let (p, _) = open(&name, bytes);
        let image = container::write(&record(&p).unwrap()).unwrap();
        let (read, report) = container::read(&Blob::from_vec(image.clone())).unwrap();
        assert!(!report.has_errors(), "{name}");
        let text = disasm::disassemble(&read).unwrap().text;
        let again = container::write(&asm::assemble(&text).unwrap().program).unwrap();
        assert_eq!(image, again, "{name}");
    }
}
