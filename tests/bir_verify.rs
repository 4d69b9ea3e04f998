//! The verifier on recorded modules: the sound ones have no error, and each wrong one whose
//! fault is a matter of the module has the error that names it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod golden_support;

use dmadbg::bir::Layout;
use dmadbg::bir::generate::{Options, module};
use dmadbg::bir::verify::{has_errors, verify};
use dmadbg::load::bir::{json_to_text, read_json, read_text, text_to_json, write_json, write_text};
use golden_support::{Compared, golden};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is found in each wrong module: codes of the verifier; `load` where it cannot be read,
/// `run` where only its run is wrong.
const WRONG: &[(&str, &[&str])] = &[
    ("error_block_triggers_itself", &["B062"]),
    ("error_cce_seventeen_sources", &["B052"]),
    ("error_duplicate_block_id", &["B064"]),
    ("error_dynamic_both_kinds", &["B055"]),
    ("error_dynamic_neither_kind", &["B055"]),
    ("error_dynamic_on_both_sides", &["B056"]),
    ("error_dynamic_with_dge_none", &["B057"]),
    ("error_element_counts_differ", &["B049"]),
    ("error_hwdge_on_pe", &["L051"]),
    ("error_index_out_of_range", &["run"]),
    ("error_last_row_beyond_variable", &["B044"]),
    ("error_loop_last_iteration_beyond", &["B044"]),
    ("error_negative_step_below_zero", &["B044"]),
    ("error_offset_beyond_variable", &["B044"]),
    ("error_replicate_does_not_divide", &["B051"]),
    ("error_sb_columns_beyond_pitch", &["B044"]),
    ("error_sb_partitions_beyond_tile", &["B044"]),
    ("error_self_dependency_in_loop", &["B066"]),
    ("error_transpose_sb_to_sb", &["L052"]),
    ("error_transpose_source_3d", &["B050"]),
    ("error_trigger_missing_block", &["B063", "load"]),
    ("error_unknown_axis", &["B067", "load"]),
    ("error_unknown_memory_location", &["B043", "load"]),
    ("error_unknown_queue", &["B061", "load"]),
    ("error_version_3", &["B040", "load"]),
];

#[test]
fn recorded_modules_are_judged_as_they_should_be() {
    let Some(folder) = golden().map(|f| f.join("bir")) else { return };
    let wrong: BTreeMap<&str, &[&str]> = WRONG.iter().copied().collect();
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter_map(|n| n.strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    let mut compared = Compared::new();
    let mut failed = Vec::new();
    for name in &names {
        let bytes = std::fs::read(folder.join(format!("{name}.json"))).unwrap();
        let file: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let ok = file["expect"] == "ok";
        compared.one();
        let loaded = match read_json(name, &bytes) {
            Ok(loaded) => loaded,
            Err(_) if wrong.get(name.as_str()).is_some_and(|c| c.contains(&"load")) => continue,
            Err(e) => {
                failed.push(format!("{name}: cannot be read: {e:?}"));
                continue;
            }
        };
        let layout = Layout::new(&loaded.module);
        let found = verify(&loaded.module, &layout);
        let errors: Vec<(&str, &str)> = found
            .iter()
            .filter(|f| has_errors(std::slice::from_ref(f)))
            .map(|f| (f.diag.code, f.diag.message.as_str()))
            .collect();
        let want = match wrong.get(name.as_str()) {
            None if ok => None,
            None => {
                failed.push(format!("{name} is wrong but not in the table"));
                continue;
            }
            Some(codes) => codes.first().filter(|c| **c != "run"),
        };
        let good = match want {
            None => errors.is_empty(),
            Some(code) => !errors.is_empty() && errors.iter().all(|e| e.0 == *code),
        };
        if !good {
            failed.push(format!("{name}: wanted {want:?}, found {errors:?}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(WRONG.iter().all(|w| names.iter().any(|n| n == w.0)), "a file of the table is gone");
    compared.finish("modules with the verifier");
}

/// Samples that are sound, and those with an error that users make.
const SAMPLES: [(&str, &[&str]); 2] = [
    (
        "sample-programs",
        &[
            "cce-add",
            "copy",
            "gather",
            "loop",
            "lowered-loop",
            "replicate",
            "ring-depth",
            "scalar-offset",
            "semaphores",
            "strided-load",
            "transpose",
        ],
    ),
    (
        "sample-programs/errors",
        &[
            "cce-sources",
            "dge-disabled",
            "element-counts",
            "invalid-offset",
            "last-iteration",
            "ring-too-large",
            "too-many-queues",
            "transpose-3d",
            "transpose-sb-to-sb",
        ],
    ),
];

fn samples(folder: &str) -> Vec<(String, String)> {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut all: Vec<(String, String)> = std::fs::read_dir(root)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "bir"))
        .map(|p| {
            let name = p.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(p).unwrap())
        })
        .collect();
    all.sort();
    all
}

/// Line, severity with code, and message of everything that is found in a text.
fn findings(name: &str, text: &str) -> Vec<(u64, String, String)> {
    let loaded = read_text(name, text).unwrap_or_else(|e| panic!("{name}: {e:?}"));
    assert_eq!(loaded.warnings, [], "{name}");
    let found = verify(&loaded.module, &Layout::new(&loaded.module));
    let mut all: Vec<(u64, String, String)> = found
        .into_iter()
        .map(|f| {
            let line = loaded.spans.place(&f.at.unwrap()).line.unwrap();
            (line, format!("{}[{}]", f.diag.severity, f.diag.code), f.diag.message)
        })
        .collect();
    all.sort();
    all
}

/// What comments say must be found on their line.
fn expected(text: &str) -> Vec<(u64, String, String)> {
    let mut all = Vec::new();
    for (n, line) in text.lines().enumerate() {
        for what in ["error[", "warning["] {
            if let Some((_, rest)) = line.split_once(&format!("; {what}")) {
                let (code, message) = rest.split_once("]: ").unwrap();
                all.push((n as u64 + 1, format!("{what}{code}]"), message.to_owned()));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn samples_say_what_they_teach_and_get_what_they_say() {
    for (folder, names) in SAMPLES {
        let all = samples(folder);
        assert_eq!(all.iter().map(|s| s.0.as_str()).collect::<Vec<_>>(), names);
        for (name, text) in all {
            let second = text.lines().nth(1).unwrap();
            assert!(second.starts_with("; "), "{name} says what it teaches");
            let want = expected(&text);
            assert_eq!(want.is_empty(), folder == "sample-programs", "{name}");
            assert_eq!(findings(&name, &text), want, "{name}");
        }
    }
}

#[test]
fn samples_are_the_same_as_json_and_as_text() {
    for (name, text) in SAMPLES.iter().flat_map(|s| samples(s.0)) {
        let json = text_to_json(&name, &text).unwrap();
        let again = json_to_text(&name, json.as_bytes()).unwrap();
        assert_eq!(text_to_json(&name, &again).unwrap(), json, "{name}");
        let module = |m: Result<dmadbg::load::bir::Loaded, _>| m.unwrap().module;
        let from_json = module(read_json(&name, json.as_bytes()));
        assert_eq!(from_json, module(read_text(&name, &text)), "{name}");
        assert_eq!(from_json, module(read_text(&name, &again)), "{name}");
    }
}

#[test]
fn generated_modules_are_written_and_read_as_they_are() {
    for seed in 0..300 {
        let m = module(seed, &Options::default()).module;
        let json = read_json("m.json", write_json(&m).as_bytes()).unwrap();
        assert_eq!((json.module, json.warnings), (m.clone(), vec![]), "seed {seed}");
        let text = read_text("m.bir", &write_text(&m).text).unwrap();
        assert_eq!((text.module, text.warnings), (m, vec![]), "seed {seed}");
    }
}
