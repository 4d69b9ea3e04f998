//! Recorded modules on rings: the memory after the run is the recorded one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod golden_support;

use dmadbg::bir::Arch;
use dmadbg::bir::memory::{from_hex, to_hex};
use dmadbg::engine::module_run::{self, Initial, Options};
use dmadbg::engine::ring::machine;
use dmadbg::load::bir::read_json;
use dmadbg::udma::{Generation, Profile};
use golden_support::{Compared, golden};
use serde_json::Value;
use std::sync::Arc;

fn initial(case: &Value) -> Initial {
    let given = case["memory_in"].as_object().unwrap();
    let bytes = |v: &Value| from_hex(v.as_str().unwrap()).unwrap();
    Initial { given: given.iter().map(|(k, v)| (k.clone(), bytes(v))).collect() }
}

#[test]
fn golden_modules_on_rings_as_they_are_loaded() {
    let Some(dir) = golden() else { return };
    let mut n = Compared::new();
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(dir.join("bir")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let bytes = std::fs::read(&path).unwrap();
        let case: Value = serde_json::from_slice(&bytes).unwrap();
        if case["expect"] != "ok" {
            continue;
        }
        let loaded = read_json(&name, &bytes).unwrap();
        let module = Arc::new(loaded.module);
        for arch in [Generation::V2, Generation::V3, Generation::V4] {
            if module.arch.and_then(Arch::generation).is_some_and(|a| a != arch) {
                continue;
            }
            let options = Options { ring_slots: 1024, profile: Profile::default_profile(), arch };
            let p = match module_run::program(&module, module.clone(), &initial(&case), &options) {
                Ok(p) => p,
                Err(e) => {
                    wrong.push(format!("{name}: {e:?}"));
                    continue;
                }
            };
            let done = machine::run(&p, |_, _| true);
            if done.machine.has_errors() || !done.machine.module_done(&p) {
                wrong.push(format!("{name}: {:?}", done.machine.findings));
                continue;
            }
            let layout = p.module.as_ref().unwrap().exec.layout();
            for (loc, want) in case["memory_out"].as_object().unwrap() {
                let got = module_run::dump(layout, &done.machine.memory, loc).unwrap();
                if to_hex(&got) != want.as_str().unwrap() {
                    wrong.push(format!("{name}: {loc} differs"));
                }
            }
            n.one();
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    n.finish("modules on rings");
}
