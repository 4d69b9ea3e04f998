//! Every recorded module, executed as it was loaded: the memory afterwards, or the error.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod golden_support;

use dmadbg::bir::exec::{Choice, Control, Options, Program, run, run_from};
use dmadbg::bir::memory::{Memory, from_hex, to_hex};
use dmadbg::load::bir::read_json;
use golden_support::{Compared, golden};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

/// Error cases that an execution does not judge, and why. Whoever reads, verifies or lowers the
/// module does.
const NOT_EXECUTION: &[(&str, &str)] = &[
    ("error_duplicate_block_id", "ids play no part in an execution: blocks are named"),
    ("error_dynamic_with_dge_none", "who writes the descriptors plays no part in what is moved"),
    ("error_hwdge_on_pe", "which engine may issue what plays no part in what is moved"),
    ("error_transpose_sb_to_sb", "a transpose has a meaning between any two places"),
];

/// Error cases that no execution sees, since they cannot be read, and why.
const NOT_READ: &[(&str, &str)] = &[
    ("error_trigger_missing_block", "a block's name that names nothing"),
    ("error_unknown_axis", "an axis that belongs to no loop around"),
    ("error_unknown_memory_location", "a location's name that names nothing"),
    ("error_unknown_queue", "a queue's name that names nothing"),
    ("error_version_3", "a version that nobody knows"),
];

struct Case {
    name: String,
    text: Vec<u8>,
    json: Value,
}

impl Case {
    fn memory(&self, key: &str) -> BTreeMap<String, Vec<u8>> {
        let map = self.json[key].as_object().expect("an object of locations");
        let bytes = |v: &Value| from_hex(v.as_str().expect("hex")).expect("hex");
        map.iter().map(|(k, v)| (k.clone(), bytes(v))).collect()
    }

    fn is_ok(&self) -> bool {
        self.json["expect"] == "ok"
    }

    /// Prepared, with its memory filled; `None` where it cannot be read.
    fn program(&self) -> Result<(Program, Memory), String> {
        let loaded = read_json(&self.name, &self.text);
        let loaded = loaded.map_err(|all| all[0].message.clone())?;
        let p = Program::new(Arc::new(loaded.module));
        let mut memory = Memory::new();
        for (name, bytes) in self.memory("memory_in") {
            memory.load(p.layout(), &name, &bytes).map_err(|e| format!("{name}: {e}"))?;
        }
        Ok((p, memory))
    }

    /// Every location that is told of is as it should be.
    fn compare(&self, p: &Program, memory: &Memory) {
        let want = self.memory("memory_out");
        for (name, before) in self.memory("memory_in") {
            let after = want.get(&name).unwrap_or(&before);
            self.same(p, memory, &name, after);
        }
        for (name, after) in &want {
            self.same(p, memory, name, after);
        }
    }

    fn same(&self, p: &Program, memory: &Memory, name: &str, want: &[u8]) {
        let got = memory.dump(p.layout(), name).expect("a location");
        if let Some(at) = (0..want.len()).find(|i| got[*i] != want[*i]) {
            let end = (at + 16).min(want.len());
            let (got, want) = (to_hex(&got[at..end]), to_hex(&want[at..end]));
            panic!("{}: `{name}` from byte {at}: {got}, wanted {want}", self.name);
        }
        assert_eq!(got.len(), want.len(), "{}: `{name}`", self.name);
    }
}

fn cases() -> Option<Vec<Case>> {
    let folder = golden()?.join("bir");
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "json"));
    paths.sort();
    let case = |p: &std::path::PathBuf| {
        let text = fs::read(p).unwrap();
        let json = serde_json::from_slice(&text).unwrap();
        Case { name: p.file_stem().unwrap().to_str().unwrap().to_owned(), text, json }
    };
    Some(paths.iter().map(case).collect())
}

#[test]
fn memory_is_what_it_should_be() {
    let Some(cases) = cases() else { return };
    let mut n = Compared::new();
    for case in cases.iter().filter(|c| c.is_ok()) {
        let (p, mut memory) = case.program().unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let outcome = run(&p, &mut memory, &Options::default());
        assert!(outcome.finished, "{}: {:#?}", case.name, outcome.findings);
        assert_eq!(outcome.findings, [], "{}", case.name);
        case.compare(&p, &memory);
        n.one();
    }
    n.finish("modules");
}

#[test]
fn any_legal_order_gives_the_same_memory() {
    let Some(cases) = cases() else { return };
    let mut n = Compared::new();
    for case in cases.iter().filter(|c| c.is_ok()) {
        let (p, start) = case.program().unwrap_or_else(|e| panic!("{}: {e}", case.name));
        if p.engines().iter().count() < 2 {
            continue;
        }
        for mut seed in 1..20u64 {
            let (mut control, mut memory) = (Control::new(&p), start.clone());
            let options = Options::default();
            let outcome = run_from(&p, &mut control, &mut memory, &options, &mut |c| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                let ready = c.ready_engines(&p);
                let pick = (seed >> 33) as usize % ready.len().max(1);
                ready.get(pick).copied()
            });
            assert!(outcome.finished, "{}: {:#?}", case.name, outcome.findings);
            assert_eq!(control.next_engine(&p), Choice::Done);
            case.compare(&p, &memory);
            n.one();
        }
    }
    n.finish("runs in another order");
}

#[test]
fn what_is_wrong_is_an_error() {
    let Some(cases) = cases() else { return };
    let mut n = Compared::new();
    for case in cases.iter().filter(|c| !c.is_ok()) {
        let named = |list: &[(&str, &str)]| list.iter().any(|(name, _)| *name == case.name);
        let (p, mut memory) = match case.program() {
            Ok(read) => read,
            Err(e) => {
                assert!(named(NOT_READ), "{} cannot be read: {e}", case.name);
                n.one();
                continue;
            }
        };
        assert!(!named(NOT_READ), "{} can be read after all", case.name);
        let outcome = run(&p, &mut memory, &Options::default());
        let listed = named(NOT_EXECUTION);
        let about = &case.json["error_about"];
        match outcome.error() {
            Some(e) => {
                assert!(!listed, "{} is listed as none of an execution's: {e:?}", case.name);
                assert!(!outcome.finished);
            }
            None => assert!(listed, "{}: no error about {about}", case.name),
        }
        n.one();
    }
    n.finish("errors");
}
