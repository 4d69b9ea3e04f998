//! Any bytes through detection and whatever loader they are for; a program that comes out runs.
#![no_main]

use dmadbg::engine::program::Blob;
use dmadbg::engine::ring::machine;
use dmadbg::load::{LoadOptions, load_bytes};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let blob = Blob::from_vec(bytes.to_vec());
    let Ok(loaded) = load_bytes("input", blob, &LoadOptions::default()) else { return };
    if let Some(p) = loaded.program {
        let mut events = 0;
        machine::run(&p, |_, _| {
            events += 1;
            events < 2000
        });
    }
});
