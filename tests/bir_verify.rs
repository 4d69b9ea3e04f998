//! The verifier on recorded modules: the sound ones have no error, and each wrong one whose
//! fault is a matter of the module has the error that names it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod golden_support;

use dmadbg::bir::Layout;
use dmadbg::bir::verify::{has_errors, verify};
use dmadbg::load::bir::read_json;
use golden_support::{Compared, golden};
use std::collections::BTreeMap;

/// What is found in each wrong module: codes of the verifier; `load` where it cannot be read,
/// `run` where only its run is wrong, `lower` where only its lowering is refused.
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
    ("error_transpose_sb_to_sb", &["lower"]),
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
            Some(codes) => codes.first().filter(|c| !["run", "lower"].contains(*c)),
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
