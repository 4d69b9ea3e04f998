//! Recorded rings as images: `check` finds in them what they really do wrong, and nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod golden_support;

use golden_support::{Compared, golden, load_json, races};
use serde_json::Value;
use std::process::Command;

/// What a copied-out ring lets nobody know, told with every one of them.
const OF_IMAGES: &[&str] = &["D026", "D028", "R012", "R020", "R021", "R022", "R023"];

/// The slots whose races an image shows: those of every reading, as the image's host is made up.
/// Nothing where the image does not show the batches of its run: an older lap under the newest,
/// an empty slot in the middle.
fn raced(run: &Value) -> Option<Vec<u64>> {
    let events = run["events"].as_array().unwrap();
    let hole = events.iter().any(|e| e["k"] == "stage" && e["ret"] == -22);
    let whole = run["ring"]["desc_count"] == run["tx_image"]["nonzero_entries"];
    let strict = races::Reading { dmb_entry: true, sow_self: true };
    let slots: Vec<u64> = races::batches(run).iter().flat_map(|b| b.overtaken(strict)).collect();
    (!hole && (!whole || slots.is_empty())).then_some(slots)
}

#[test]
fn golden_images_raise_no_false_alarm() {
    let Some(dir) = golden() else { return };
    let index = load_json("rings/index.json").unwrap();
    let mut n = Compared::new();
    for run in index["runs"].as_array().unwrap() {
        let name = run["name"].as_str().unwrap();
        let Some(slots) = raced(run) else { continue };
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
        let engine = if run["arch"] == "v2" { 32 } else { 128 };
        let race = |s| ("R030".to_owned(), "note".to_owned(), format!("e{engine}.q0.rx[{s}]"));
        let expected: Vec<(String, String, String)> = slots.into_iter().map(race).collect();
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
