//! A program image: what is read is written back to the same program.
#![no_main]

use dmadbg::engine::program::Blob;
use dmadbg::load::container;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((p, _)) = container::read(&Blob::from_vec(bytes.to_vec())) {
        if let Ok(again) = container::write(&p) {
            let back = container::read(&Blob::from_vec(again)).map(|r| r.0);
            assert!(back.is_ok_and(|b| b == p));
        }
    }
});
