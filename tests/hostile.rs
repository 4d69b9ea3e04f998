//! No bytes can break it: every parser, and the run of whatever comes out, bounded.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::check::{self, RingPair, RingView};
use dmadbg::engine::program::{Blob, Program};
use dmadbg::engine::ring::machine;
use dmadbg::engine::session::Session;
use dmadbg::load::{self, LoadOptions, asm, container, disasm};
use dmadbg::script::parse_command;
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

/// Events of a run that are looked at.
const EVENTS: u64 = 3000;

fn samples() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-programs");
    let mut all: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    all.retain(|p| p.extension().is_some_and(|e| e == "dma"));
    all.sort();
    let text = |p: &std::path::PathBuf| std::fs::read_to_string(p).unwrap();
    let image = |t: &str| container::write(&asm::assemble(t).unwrap().program).unwrap();
    let texts = all.iter().map(|p| ("x.dma".to_owned(), text(p).into_bytes()));
    let images = all.iter().map(|p| ("x.bin".to_owned(), image(&text(p))));
    texts.chain(images).collect()
}

/// Whatever is a program runs, goes back, and is written down again.
fn exercise(p: &Program) {
    let mut seen = 0;
    machine::run(p, |m, _| {
        seen += 1;
        assert!(m.findings.len() <= dmadbg::limits::MAX_DIAGNOSTICS);
        seen < EVENTS
    });
    let mut s = Session::new(Arc::new(p.clone()));
    for line in [
        "step 5 event",
        "next",
        "info rings",
        "info queue",
        "info regs",
        "info marker",
        "x/4wx 0",
        "explain tx[0]",
        "step 3 packet",
        "reverse-next",
        "print tx[0].length",
        "break fault",
        "where",
        "reverse-step 2 event",
        "info faults",
        "goto 0",
    ] {
        let command = parse_command(line).unwrap().unwrap();
        let mut left = 50;
        let _ = s.execute_with(&command, &mut |_| {
            left -= 1;
            if left == 0 {
                std::ops::ControlFlow::Break(())
            } else {
                std::ops::ControlFlow::Continue(())
            }
        });
    }
    if let Ok(listing) = disasm::disassemble(p) {
        assert_eq!(asm::assemble(&listing.text).unwrap().program, *p);
    }
}

fn feed(name: &str, bytes: Vec<u8>) {
    let Ok(loaded) = load::load_bytes(name, Blob::from_vec(bytes), &LoadOptions::default()) else {
        return;
    };
    for image in &loaded.images {
        struct View<'a>(&'a load::raw::RingView);
        impl RingView for View<'_> {
            fn len(&self) -> u64 {
                self.0.slots()
            }
            fn get(&self, i: u64) -> Option<dmadbg::udma::Desc> {
                self.0.get(i)
            }
        }
        let (tx, rx) = (image.tx.as_ref().map(View), image.rx.as_ref().map(View));
        check::run(RingPair {
            tx: tx.as_ref().map(|v| v as &dyn RingView),
            rx: rx.as_ref().map(|v| v as &dyn RingView),
            arch: dmadbg::udma::Generation::V3,
            profile: dmadbg::udma::Profile::default_profile(),
            queue: None,
            start: None,
            cursors: [None; 2],
        });
    }
    if let Some(p) = &loaded.program {
        exercise(p);
    }
}

/// Numbers that stand in the way of arithmetic.
const EDGES: &[&str] = &[
    "0",
    "1",
    "15",
    "16",
    "63",
    "65535",
    "65536",
    "65537",
    "0xffffffff",
    "0x100000000",
    "0x7fffffffffffffff",
    "0xffffffffffffffff",
    "0xfffffffffffffff0",
    "-1",
    "yes",
    "x",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2048), name in "[a-z]{1,3}\\.(bin|dma|hex|bir|dbg|json)") {
        feed(&name, bytes);
    }

    #[test]
    fn random_descriptors(words in prop::collection::vec((0u32..16, any::<u32>(), any::<u32>(), any::<u64>()), 1..96)) {
        // Mostly plausible pairs, some of them not.
        let mut bytes = Vec::new();
        for (i, (kind, a, b, ptr)) in words.into_iter().enumerate() {
            let (len, meta) = match kind {
                0 => (a, b),
                1 => (0x0d00_0004, 0x0108_0003),
                2 => (0x8500_0000 | a & 0xffff, 0x0108_0003),
                3 => (0x0480_0000 | a & 0xff00_0000, b),
                4 => (0x0d00_0000 | a & 0xffff, 0x00a0_0000 | b & 0xffff),
                _ => (0x0d00_0000 | a & 0xffff, 0x0108_0003),
            };
            let rx = i % 2 == 1;
            bytes.extend((if rx { len & 0x0300_ffff } else { len }).to_le_bytes());
            bytes.extend((if rx { 0 } else { meta }).to_le_bytes());
            let ptr = if kind < 8 { ptr } else { 0x4000_0000_0000 | ptr & 0xffff };
            bytes.extend(ptr.to_le_bytes());
        }
        feed("ring.bin", bytes);
    }

    #[test]
    fn samples_with_a_number_changed(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), edge in prop::sample::select(EDGES)) {
        let all = samples();
        let texts: Vec<_> = all.iter().filter(|s| s.0 == "x.dma").collect();
        let text = String::from_utf8(which.get(&texts).1.clone()).unwrap();
        let places: Vec<usize> = text.match_indices('=').map(|m| m.0 + 1).collect();
        let from = *at.get(&places);
        let to = text[from..].find(char::is_whitespace).map_or(text.len(), |n| from + n);
        feed("x.dma", format!("{}{edge}{}", &text[..from], &text[to..]).into_bytes());
    }

    #[test]
    fn samples_with_bytes_changed(which in any::<prop::sample::Index>(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>(), cuts in any::<bool>()) {
        let all = samples();
        let (name, bytes) = which.get(&all);
        let mut bytes = bytes.clone();
        for (at, b) in changes {
            let i = at.index(bytes.len());
            bytes[i] = b;
        }
        if cuts {
            bytes.truncate(cut.index(bytes.len()));
        }
        feed(name, bytes);
    }
}
