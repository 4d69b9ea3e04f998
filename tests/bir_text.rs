//! Modules of the IR as JSON and as text.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod golden_support;

use dmadbg::load::bir::read_json;
use golden_support::{Compared, golden};
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
