//! `diff` through the binary: kinds of inputs, what is told, how it exits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::bir::generate;
use dmadbg::engine::diff::{Change, Diff, Part, Sides, modules, programs};
use dmadbg::load::bir::Keys;
use dmadbg::udma::{Desc, Generation, PairRequest, Profile, build_pair};
use proptest::prelude::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

struct Ran {
    status: i32,
    out: String,
    err: String,
}

fn run(args: &[&str]) -> Ran {
    let out = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .args(args)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    Ran {
        status: out.status.code().unwrap(),
        out: String::from_utf8(out.stdout).unwrap(),
        err: String::from_utf8(out.stderr).unwrap(),
    }
}

fn diff(a: &Path, b: &Path) -> Ran {
    run(&["diff", a.to_str().unwrap(), b.to_str().unwrap()])
}

fn sample(name: &str) -> PathBuf {
    Path::new("sample-programs").join(name)
}

/// A sample with a text replaced, which must be there.
fn edited(dir: &tempfile::TempDir, name: &str, from: &str, to: &str) -> PathBuf {
    let text = std::fs::read_to_string(sample(name)).unwrap();
    let new = text.replacen(from, to, 1);
    assert_ne!(text, new, "`{from}` is not in {name}");
    let path = dir.path().join(name);
    std::fs::write(&path, new).unwrap();
    path
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn every_sample_is_the_same_as_itself_and_as_what_is_made_of_it() {
    let dir = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir("sample-programs").unwrap() {
        let path = entry.unwrap().path();
        let ext = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if ext == "dma" || ext == "bir" {
            let r = diff(&path, &path);
            assert_eq!((r.status, r.out.as_str()), (0, "no difference\n"), "{path:?}");
        }
        let made = dir.path().join("made");
        let other = match ext {
            "dma" => run(&["asm", path.to_str().unwrap(), "-o", made.to_str().unwrap()]),
            "bir" => {
                let r = run(&["fmt", "--to", "json", path.to_str().unwrap()]);
                std::fs::write(&made, &r.out).unwrap();
                r
            }
            _ => continue,
        };
        assert_eq!(other.status, 0, "{}", other.err);
        let r = diff(&path, &made);
        assert_eq!((r.status, r.out.as_str()), (0, "no difference\n"), "{path:?}");
    }
}

#[test]
fn one_descriptor_more_is_one_descriptor_more() {
    let dir = tempfile::tempdir().unwrap();
    let from = "  tx copy concat ring_id=1 length=4096 buf_ptr=hbm+0x2000\n";
    let to = format!("{from}  tx copy concat ring_id=1 length=4096 buf_ptr=hbm+0x6000\n");
    let b = edited(&dir, "authored-concat.dma", from, &to);
    let r = run(&[
        "diff",
        sample("authored-concat.dma").to_str().unwrap(),
        b.to_str().unwrap(),
        "--format",
        "json",
    ]);
    assert_eq!(r.status, 1, "{}", r.err);
    let all = lines(&r.out);
    assert!(r.out.starts_with("{\"schema\":\"dmadbg.diff/1\""));
    assert_eq!(all[0]["same"], false);
    let descriptors: Vec<&Value> = all.iter().filter(|v| v["part"] == "descriptor").collect();
    assert_eq!(descriptors.len(), 1, "{descriptors:?}");
    assert_eq!(descriptors[0]["change"], "added");
    assert_eq!((&descriptors[0]["a"], &descriptors[0]["b"]), (&Value::Null, &"e5.q3 tx[2]".into()));
    let calls: Vec<&Value> = all.iter().filter(|v| v["part"] == "call").collect();
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(calls[0]["fields"][0]["name"], "descriptors");
    assert_eq!(
        (&calls[0]["fields"][0]["from"], &calls[0]["fields"][0]["to"]),
        (&"4".into(), &"5".into())
    );
    // Its marker is not rung any more: the batch times out.
    let outcome = all.iter().find(|v| v["outcome"] == "another").unwrap();
    let codes: Vec<&Value> =
        outcome["findings"].as_array().unwrap().iter().map(|f| &f["code"]).collect();
    assert!(!codes.is_empty(), "{outcome}");
}

#[test]
fn fields_are_told_by_name_with_both_values_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let b = edited(
        &dir,
        "authored-concat.dma",
        "rx ring_id=1 length=240",
        "rx strong_order ring_id=1 length=240",
    );
    let r = diff(&sample("authored-concat.dma"), &b);
    assert_eq!(r.status, 1);
    assert!(r.out.contains("\n      rx.strong_order: no -> yes\n"), "{}", r.out);
    assert!(r.out.ends_with("1 changed; same outcome\n"), "{}", r.out);
}

#[test]
fn what_memory_holds_at_the_end_is_compared() {
    let dir = tempfile::tempdir().unwrap();
    let b = edited(&dir, "copy-4k.dma", "fill=pattern:", "fill=pattern:1");
    let r = diff(&sample("copy-4k.dma"), &b);
    assert_eq!(r.status, 1);
    assert!(r.out.contains("regions\n  ~ buffer\n      holds: pattern"), "{}", r.out);
    assert!(r.out.contains("  ~ memory hbm+0x0: 0x"), "{}", r.out);
    assert!(r.out.contains("; another outcome\n"), "{}", r.out);
}

#[test]
fn settings_that_change_nothing_have_the_same_outcome() {
    let dir = tempfile::tempdir().unwrap();
    let b =
        edited(&dir, "copy-4k.dma", "\nqueue ", "\nspeed ns_per_desc=700 bytes_per_ns=0\nqueue ");
    let r = diff(&sample("copy-4k.dma"), &b);
    assert_eq!(r.status, 1);
    assert!(
        r.out.contains("settings\n  ~ speed, nanoseconds for each descriptor: 0 -> 700"),
        "{}",
        r.out
    );
    assert!(r.out.ends_with("1 changed; same outcome\n"), "{}", r.out);
}

#[test]
fn modules_are_compared_by_names() {
    let dir = tempfile::tempdir().unwrap();
    let b = edited(
        &dir,
        "gather.bir",
        "%I-2 =",
        "%I-9 = DMACopy SP ins(table[[1, 4]] : float32) outs(y[[1, 4]] : float32)\n    %I-2 =",
    );
    let r = diff(&sample("gather.bir"), &b);
    assert_eq!(r.status, 1, "{}{}", r.out, r.err);
    assert!(r.out.contains("instructions\n  + main/Block1: %I-9 DMACopy\n"), "{}", r.out);
    assert!(!r.out.contains("%I-2"), "{}", r.out);
    // What lowering makes of it, too.
    let a = sample("gather.bir");
    let r = run(&["diff", a.to_str().unwrap(), b.to_str().unwrap(), "--stage", "peel"]);
    assert!(r.out.contains("+ main/Block1: %I-9 DMACopy"), "{}", r.out);
}

#[test]
fn the_lowered_rings_of_modules_are_compared_where_that_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let b = edited(&dir, "copy.bir", "ins(x[[1, 64]]", "ins(x[[1, 32]]");
    let text = std::fs::read_to_string(&b).unwrap().replace("outs(y[[1, 64]]", "outs(y[[1, 32]]");
    std::fs::write(&b, text).unwrap();
    let (a, b) = (sample("copy.bir"), b.to_str().unwrap().to_owned());
    let plain = run(&["diff", a.to_str().unwrap(), &b]);
    assert!(plain.out.contains("ins[0].ap: [[1, 64]] -> [[1, 32]]"), "{}", plain.out);
    assert!(!plain.out.contains("descriptors\n"), "{}", plain.out);
    assert!(plain.out.contains("  ~ memory y+0x20: "), "{}", plain.out);
    let rings = run(&["diff", a.to_str().unwrap(), &b, "--stage", "rings"]);
    assert!(rings.out.contains("tx.length: 64 bytes -> 32 bytes"), "{}", rings.out);
    assert!(rings.out.contains("qSyncData0 tx[0] rx[0]"), "{}", rings.out);
}

#[test]
fn what_cannot_be_read_or_compared_is_status_two() {
    let r = run(&["diff", "no-such-a", "no-such-b"]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("no-such-a") && r.err.contains("no-such-b"), "{}", r.err);
    let (a, b) = (sample("copy-4k.dma"), sample("wrap.dma"));
    let r = run(&["diff", a.to_str().unwrap(), b.to_str().unwrap(), "--stage", "peel"]);
    assert_eq!(r.status, 2);
}

#[test]
fn names_from_files_cannot_act_on_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let b = edited(
        &dir,
        "copy-4k.dma",
        "\ninit ",
        "\nregion \"a\\x1b[2Jb\" kind=host base=0x7000 len=0x10 fill=zero\ninit ",
    );
    let r = diff(&sample("copy-4k.dma"), &b);
    assert_eq!(r.status, 1, "{}", r.err);
    assert!(!r.out.contains('\x1b') && r.out.contains("\\u{1b}[2J"), "{}", r.out);
}

fn pair(n: u64) -> [Desc; 2] {
    let request = PairRequest {
        src: 0x4000_0000_0000 + n * 0x1000,
        dst: 0x1000_0000 + n * 0x1000,
        size: 64,
        tx_ring_id: 1,
        rx_ring_id: 1,
        barrier_code: 0,
        set_dst_int: false,
    };
    let (tx, rx) = build_pair(Profile::default_profile(), Generation::V3, &request).unwrap();
    [tx, rx]
}

/// An image of pairs in turn.
fn image(pairs: impl Iterator<Item = u64>) -> Vec<u8> {
    pairs.flat_map(pair).flat_map(Desc::to_bytes).collect()
}

#[test]
fn raw_images_are_aligned_and_not_compared_by_slot() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.bin"), dir.path().join("b.bin"));
    std::fs::write(&a, image(0..100)).unwrap();
    std::fs::write(&b, image((0..100).map(|n| n + u64::from(n >= 40)))).unwrap();
    let args =
        ["diff", a.to_str().unwrap(), b.to_str().unwrap(), "--ring", "pairs", "--format", "json"];
    let r = run(&args);
    assert_eq!(r.status, 1, "{}", r.err);
    let all = lines(&r.out);
    let told: Vec<(String, Value)> = all
        .iter()
        .filter(|v| v["part"].is_string())
        .map(|v| {
            (
                format!("{} {}", v["part"].as_str().unwrap(), v["change"].as_str().unwrap()),
                v["a"].clone(),
            )
        })
        .collect();
    assert_eq!(told[0], ("descriptor removed".to_owned(), "tx[40] rx[40]".into()));
    assert_eq!(told[1].0, "descriptor added");
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(all.iter().any(|v| v["outcome"] == "another"));
    // The same rings as hexadecimal text, and as what they are as a program.
    let hex = dir.path().join("a.hex");
    let text: String = image(0..100)
        .chunks(16)
        .map(|l| l.iter().map(|b| format!("{b:02x}")).collect::<String>() + "\n")
        .collect();
    std::fs::write(&hex, text).unwrap();
    let r = run(&["diff", a.to_str().unwrap(), hex.to_str().unwrap(), "--ring", "pairs"]);
    assert_eq!((r.status, r.out.as_str()), (0, "no difference; same outcome\n"), "{}", r.err);
    let asm = dir.path().join("a.dma");
    let r = run(&["disasm", a.to_str().unwrap(), "--ring", "pairs", "-o", asm.to_str().unwrap()]);
    assert_eq!(r.status, 0, "{}", r.err);
    let r = run(&["diff", a.to_str().unwrap(), asm.to_str().unwrap(), "--ring", "pairs"]);
    assert_eq!((r.status, r.out.as_str()), (0, "no difference\n"), "{}", r.err);
}

#[test]
fn one_direction_alone_is_compared_too() {
    let dir = tempfile::tempdir().unwrap();
    let tx =
        |n: std::ops::Range<u64>| -> Vec<u8> { n.flat_map(|n| pair(n)[0].to_bytes()).collect() };
    let (a, b) = (dir.path().join("a.tx.bin"), dir.path().join("b.tx.bin"));
    std::fs::write(&a, tx(0..64)).unwrap();
    std::fs::write(&b, tx(3..67)).unwrap();
    let r = diff(&a, &b);
    assert_eq!(r.status, 1, "{}", r.err);
    assert!(r.out.ends_with("3 added, 3 removed\n"), "{}", r.out);
}

/// What a program of a module is.
fn lowered(module: &dmadbg::bir::Module) -> dmadbg::engine::program::Program {
    use dmadbg::engine::lower::{self, Stage};
    use dmadbg::engine::module_run::{self, Initial, Options};
    let lowered = lower::lower(module, &lower::Options::default(), Stage::LowerDma);
    let options = Options::new(Generation::V3);
    let place = |_| dmadbg::diag::Place::default();
    module_run::program(&lowered, &place, &Initial::default(), &options).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn edits_of_a_module_are_told_exactly(seed in 0u64..500, which in any::<prop::sample::Index>(), what in 0..4) {
        let a = generate::module(seed, &generate::Options::default()).module;
        let mut same = Diff::default();
        modules(&a, &a, &Keys, &mut same);
        prop_assert!(same.is_same());
        let mut b = a.clone();
        let Some(block) = b.functions[0].blocks.iter_mut().find(|b| b.insts.len() > 1) else {
            return Ok(());
        };
        let at = which.index(block.insts.len());
        let name = block.insts[at].name.to_string();
        let change = match what {
            0 => {
                block.insts.remove(at);
                Change::Removed
            }
            1 => {
                let mut new = (*block.insts[at]).clone();
                new.name = "I-brand-new".into();
                new.updates.push(dmadbg::bir::Update { id: 250, value: 3, extra: Vec::new() });
                block.insts.insert(at, Arc::new(new));
                Change::Added
            }
            2 => {
                let i = Arc::make_mut(&mut block.insts[at]);
                i.updates.push(dmadbg::bir::Update { id: 251, value: 7, extra: Vec::new() });
                Change::Changed
            }
            _ => {
                let last = block.insts.len() - 1;
                prop_assume!(at + 2 < last);
                let i = block.insts.remove(at);
                block.insts.insert(last, i);
                Change::Moved
            }
        };
        let mut found = Diff::default();
        modules(&a, &b, &Keys, &mut found);
        prop_assert_eq!(found.entries.len(), 1, "{:?}", found.entries);
        let e = &found.entries[0];
        prop_assert_eq!((e.part, e.change), (Part::Instruction, change));
        let want = if change == Change::Added { "I-brand-new" } else { &name };
        prop_assert!(e.name.starts_with(&format!("%{want} ")), "{}", e.name);
        let mut back = Diff::default();
        modules(&b, &a, &Keys, &mut back);
        prop_assert_eq!(back.entries.len(), 1);
        prop_assert_eq!(back.entries[0].change, change.inverse());
    }

    #[test]
    fn a_program_is_the_same_as_itself_and_mirrors(seeds in (0u64..200, 0u64..200)) {
        let program = |seed| {
            let options = generate::Options::plain();
            lowered(&generate::module(seed, &options).module)
        };
        let (p, q) = (program(seeds.0), program(seeds.1));
        let told = |a, b| {
            let mut d = Diff::default();
            programs(a, b, Sides::Whole, &mut d);
            d
        };
        prop_assert!(told(&p, &p).is_same());
        let (mut there, mut back) = (told(&p, &q), told(&q, &p).inverse());
        for d in [&mut there, &mut back] {
            // What both have is called as the left calls it.
            d.entries.iter_mut().filter(|e| e.at.iter().all(Option::is_some)).for_each(|e| e.name.clear());
            d.entries.sort_unstable();
            d.bounds.sort_unstable();
        }
        prop_assert_eq!(there, back);
    }
}
