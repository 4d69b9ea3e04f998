//! Recorded rings as images: `check` finds in them what they really do wrong, and nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod golden_support;

use golden_support::{Compared, golden, load_json};
use std::process::Command;

/// What a copied-out ring lets nobody know, told with every one of them.
const OF_IMAGES: &[&str] = &["D026", "D028", "R012", "R020", "R021", "R022", "R023"];

/// Races of the recorded runs (`docs/order.md`), as far as images show them: (run, severity,
/// Rx slots). The driver orders the markers of zero copies in the last batch only.
const RACES: &[(&str, &str, &[u64])] = &[
    ("v2_zero_copy_wb", "note", &[0, 1, 2]),
    ("v3_zero_copy_sow", "note", &[0, 1, 2]),
    ("v2_dmb_chain", "note", &[3]),
    ("v2_zero_copy", "note", &[31, 37]),
];

#[test]
fn golden_images_raise_no_false_alarm() {
    let Some(dir) = golden() else { return };
    let index = load_json("rings/index.json").unwrap();
    let mut n = Compared::new();
    for run in index["runs"].as_array().unwrap() {
        let name = run["name"].as_str().unwrap();
        let image = |d| dir.join("rings").join(format!("{name}.{d}.bin"));
        let done = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
            .args(["check", "--format", "json", "--all"])
            .args(["--allow", &OF_IMAGES.join(",")])
            .arg("--tx")
            .arg(image("tx"))
            .arg("--rx")
            .arg(image("rx"))
            .output()
            .unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        let found: Vec<(String, String, String)> = text
            .lines()
            .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap())
            .filter(|v| v["severity"].is_string())
            .map(|v| {
                let text = |k: &str| v[k].as_str().unwrap_or_default().to_owned();
                (text("code"), text("severity"), text("slot"))
            })
            .collect();
        let expected: Vec<(String, String, String)> = RACES
            .iter()
            .filter(|r| r.0 == name)
            .flat_map(|(_, severity, slots)| {
                let queue = if name.starts_with("v2") { "e32.q0" } else { "e128.q0" };
                let one = move |s: &u64| {
                    ("R030".to_owned(), (*severity).to_owned(), format!("{queue}.rx[{s}]"))
                };
                slots.iter().map(one)
            })
            .collect();
        assert_eq!(found, expected, "{name}");
        assert_eq!(done.status.code(), Some(0), "{name}");
        let ran = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
            .args(["run", "--no-init", "--tx"])
            .arg(image("tx"))
            .arg("--rx")
            .arg(image("rx"))
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(0), "{name}");
        n.one();
    }
    n.finish("images without false alarm");
}
