//! The real binary against the recorded descriptors and rings.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod golden_support;

use dmadbg::udma::{Desc, Dir};
use golden_support::{Compared, golden, load_json};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn dmadbg(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let out = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    out
}

fn lines(out: &Output) -> Vec<Value> {
    let text = std::str::from_utf8(&out.stdout).unwrap();
    text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn golden_encode_answers_every_recorded_case() {
    let Some(file) = load_json("descriptors.json") else { return };
    let cases = file["cases"].as_array().unwrap();
    let input: String = cases.iter().map(|c| format!("{c}\n")).collect();
    let out = dmadbg(&["encode"], input.as_bytes());
    assert_eq!(out.status.code(), Some(0));
    let answers = lines(&out);
    assert_eq!(answers.len(), cases.len());
    let mut n = Compared::new();
    for (case, answer) in cases.iter().zip(&answers) {
        for key in ["id", "ret", "tx", "rx", "error"] {
            assert_eq!(answer.get(key), case.get(key), "{key} of {case}");
        }
        for key in ["tx_slots_consumed", "rx_slots_consumed"] {
            let recorded = case.get(key).cloned().unwrap_or_else(|| 1.into());
            assert_eq!(answer[key], recorded, "{key} of {case}");
        }
        n.one();
    }
    n.finish("descriptor cases through `encode`");
}

#[test]
fn golden_decode_gives_back_what_was_encoded() {
    let Some(file) = load_json("descriptors.json") else { return };
    let cases = file["cases"].as_array().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pairs.bin");
    let mut image = Vec::new();
    let good: Vec<&Value> = cases.iter().filter(|c| c["ret"] == 0).collect();
    for case in &good {
        for ring in ["tx", "rx"] {
            image.extend(golden_support::desc_bytes(case[ring].as_str().unwrap()));
        }
    }
    std::fs::write(&path, image).unwrap();
    let out =
        dmadbg(&["decode", "--ring", "pairs", "--format", "json", path.to_str().unwrap()], b"");
    assert_eq!(out.status.code(), Some(0));
    let rows = lines(&out);
    assert_eq!(rows.len(), 2 * good.len());
    let mut n = Compared::new();
    for (i, (case, pair)) in good.iter().zip(rows.as_chunks::<2>().0).enumerate() {
        let [tx, rx] = pair;
        let size = case["size"].as_u64().unwrap();
        for (row, ring, address) in [(tx, "tx", "src"), (rx, "rx", "dst")] {
            assert_eq!(row["index"], i);
            assert_eq!(row["ring"], ring);
            assert_eq!(row["buf_ptr"], case[address], "{case}");
            assert_eq!(row["length"], if size == 0 { 65_536 } else { size }, "{case}");
            assert_eq!(row["ring_id"], case[format!("{ring}_ring_id")], "{case}");
            let flags = ring == "tx";
            assert_eq!((&row["first"], &row["last"]), (&flags.into(), &flags.into()));
        }
        let barrier = case["barrier"].as_str().unwrap();
        assert_eq!(tx["op"], "copy");
        assert_eq!(tx["dmb"], barrier == "dmb", "{case}");
        assert_eq!(tx["write_barrier"], barrier == "write_barrier", "{case}");
        assert_eq!(rx["strong_order"], barrier == "sow", "{case}");
        assert_eq!(rx["int_en"], case["set_dst_int"], "{case}");
        n.one();
    }
    n.finish("descriptor cases through `decode`");
}

fn rings(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut tx: Vec<PathBuf> = std::fs::read_dir(folder.join("rings"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.to_str().is_some_and(|p| p.ends_with(".tx.bin")))
        .collect();
    tx.sort();
    let rx = |p: &Path| PathBuf::from(p.to_str().unwrap().replace(".tx.bin", ".rx.bin"));
    tx.into_iter().map(|p| (p.clone(), rx(&p))).collect()
}

#[test]
fn golden_rings_are_clean() {
    let Some(folder) = golden() else { return };
    let mut n = Compared::new();
    for (tx, rx) in rings(&folder) {
        let args = ["check", "--tx", tx.to_str().unwrap(), "--rx", rx.to_str().unwrap()];
        // The races of two recordings are their own (`tests/golden_checks.rs`).
        let out = dmadbg(&[&args[..], &["--allow", "R030", "--format", "json"]].concat(), b"");
        let found = lines(&out);
        assert_eq!(out.status.code(), Some(0), "{tx:?} {found:?}");
        assert_eq!(found[0]["schema"], "dmadbg.check/1");
        assert_eq!((&found[0]["errors"], &found[0]["warnings"]), (&0.into(), &0.into()));
        for one in [&tx, &rx] {
            let out = dmadbg(&["check", one.to_str().unwrap()], b"");
            assert_eq!(out.status.code(), Some(0), "{one:?}");
        }
        n.one();
    }
    n.finish("pairs of ring images through `check`");
}

#[test]
fn golden_rings_decode_row_by_row() {
    let Some(folder) = golden() else { return };
    let mut n = Compared::new();
    for (tx, rx) in rings(&folder) {
        for (path, dir) in [(tx, Dir::Tx), (rx, Dir::Rx)] {
            let out = dmadbg(&["decode", "--format", "json", path.to_str().unwrap()], b"");
            let rows = lines(&out);
            let image = std::fs::read(&path).unwrap();
            let descs: Vec<Desc> = image.as_chunks::<16>().0.iter().map(Desc::from_bytes).collect();
            assert_eq!(rows.len(), descs.len(), "a row for every slot, empty ones too");
            for (row, d) in rows.iter().zip(&descs) {
                assert_eq!(row["ring"], dir.name());
                assert_eq!(row["len_ctrl"], format!("{:#010x}", d.len_ctrl));
                assert_eq!(row["buf_ptr"], format!("{:#018x}", d.ptr));
            }
            n.add(rows.len());
        }
    }
    n.finish("slots through `decode`");
}
