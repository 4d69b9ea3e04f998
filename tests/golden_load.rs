//! Recorded ring images through the loaders.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod golden_support;

use dmadbg::engine::program::{Blob, HostOp, RingType, ScriptOp};
use dmadbg::load::{self, LoadOptions, RawImage, asm, container, disasm, raw};
use dmadbg::udma::Dir;
use golden_support::{Compared, golden, load_json};
use std::path::{Path, PathBuf};

fn runs() -> Vec<serde_json::Value> {
    load_json("rings/index.json").expect("a folder is named")["runs"]
        .as_array()
        .expect("runs")
        .clone()
}

fn file(dir: &Path, run: &serde_json::Value, d: Dir) -> PathBuf {
    dir.join("rings").join(run[format!("{d}_image")]["file"].as_str().expect("file"))
}

fn open(paths: &[PathBuf]) -> load::Loaded {
    load::open(paths, &LoadOptions::default()).unwrap_or_else(|r| panic!("{paths:?}: {r:?}"))
}

fn pair(dir: &Path, run: &serde_json::Value) -> RawImage {
    let l = open(&[file(dir, run, Dir::Rx), file(dir, run, Dir::Tx)]);
    assert_eq!(l.images.len(), 1, "{}", run["name"]);
    l.images.into_iter().next().unwrap()
}

#[test]
fn golden_load_images_open_with_their_direction() {
    let Some(dir) = golden() else { return };
    let mut n = Compared::new();
    for run in runs() {
        for d in Dir::BOTH {
            let l = open(&[file(&dir, &run, d)]);
            let image = &l.images[0];
            assert_eq!(image.dirs().collect::<Vec<_>>(), [d], "{}: {}", run["name"], image.why);
            assert_eq!(Some(image.slots()), run["ring"]["desc_count"].as_u64());
            n.one();
        }
    }
    n.finish("ring image directions");
}

#[test]
fn golden_load_images_disassemble_and_assemble_to_the_same_bytes() {
    let Some(dir) = golden() else { return };
    let mut n = Compared::new();
    for run in runs() {
        let l = open(&[file(&dir, &run, Dir::Tx), file(&dir, &run, Dir::Rx)]);
        let p = l.program.expect("a pair builds a program");
        let listing = disasm::disassemble(&p).unwrap();
        let again = asm::assemble(&listing.text).unwrap_or_else(|r| panic!("{r:?}"));
        let known = (p.aside.made_up, again.program.aside.made_up);
        assert_eq!(known, (true, false), "no file says that its host was made up");
        assert_eq!(again.program, *p, "{}", run["name"]);
        assert_eq!(again.lines, listing.lines);
        let descs = |s: &ScriptOp| match &s.op {
            HostOp::CopyIn { ring: RingType::Dir(d), descs, .. } => Some((*d, descs.clone())),
            _ => None,
        };
        let rings: Vec<(Dir, Blob)> = again.program.script.iter().filter_map(descs).collect();
        assert_eq!(rings.len(), 2);
        for (d, bytes) in rings {
            let file = std::fs::read(file(&dir, &run, d)).unwrap();
            assert!(bytes.bytes() == file, "{} {d}", run["name"]);
            n.one();
        }
        let bytes = container::write(&p).unwrap();
        let (back, _) = container::read(&Blob::from_vec(bytes)).unwrap();
        assert_eq!(back, *p);
    }
    n.finish("ring images through assembly and container");
}

#[test]
fn golden_load_programs_ring_the_recorded_batches() {
    let Some(dir) = golden() else { return };
    let mut n = Compared::new();
    for run in runs() {
        let image = pair(&dir, &run);
        let (p, report) = raw::to_program(&image, &LoadOptions::default());
        let p = p.unwrap_or_else(|| panic!("{report:?}"));
        let name = run["name"].as_str().unwrap();
        let arch = run["arch"].as_str().unwrap();
        // v3 and v4 share their host window; a ring between device addresses shows none.
        let shown = raw::infer_arch(&image).is_some();
        let expected = if arch == "v4" || !shown { "v3" } else { arch };
        assert_eq!(p.arch.name(), expected, "{name}");
        let wrapped = run["ring"]["desc_count"] == run["tx_image"]["nonzero_entries"];
        let q = p.queues[0];
        if wrapped {
            let next = &run["state_final"]["tx"]["next_desc_idx"];
            assert_eq!(Some(q.first[0].slot), next.as_u64(), "{name}");
            assert_eq!(q.first[0], q.first[1]);
        } else {
            assert_eq!((q.first[0].slot, q.first[0].ring_id), (0, 1), "{name}");
            let rung: Vec<u64> = p
                .script
                .iter()
                .filter_map(|s| match s.op {
                    HostOp::CopyStart { m2s, .. } => Some(u64::from(m2s)),
                    _ => None,
                })
                .collect();
            let recorded: Vec<u64> = run["pending_per_copy_start"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|v| v.as_u64())
                .collect();
            // A run that rang nothing, or rang slots twice, does not show in its image.
            if Some(recorded.iter().sum()) == run["tx_image"]["nonzero_entries"].as_u64() {
                assert_eq!(rung, recorded, "{name}");
                n.one();
            }
        }
        let markers: Vec<u64> = run["marker_words"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|m| u64::from_str_radix(m["src"].as_str()?.strip_prefix("0x")?, 16).ok())
            .collect();
        for s in &p.script {
            if let HostOp::Wait { marker, .. } = s.op {
                assert!(markers.contains(&marker), "{name}: {marker:#x}");
                n.one();
            }
        }
    }
    n.finish("batches with their marker");
}

#[test]
fn golden_load_directory_opens_every_ring() {
    let Some(dir) = golden() else { return };
    let mut n = Compared::new();
    let l = open(&[dir.join("rings")]);
    let runs = runs();
    assert_eq!(l.images.len(), runs.len());
    for run in &runs {
        let image = l.images.iter().find(|i| run["name"] == i.name.as_str()).expect("by name");
        assert_eq!(image.arch.map(|a| a.name()), run["arch"].as_str());
        assert_eq!(image.queue.map(|q| u64::from(q.queue)), run["qid"].as_u64());
        let (p, r) = raw::to_program(image, &LoadOptions::default());
        let p = p.unwrap_or_else(|| panic!("{r:?}"));
        assert_eq!(Some(p.arch.name()), run["arch"].as_str());
        let base = format!("{:#x}", p.queues[0].tx.unwrap().base);
        assert_eq!(run["tx_ring_base"].as_str(), Some(base.as_str()));
        n.one();
    }
    assert!(l.program.is_some());
    n.finish("rings of the dump directory");
}
