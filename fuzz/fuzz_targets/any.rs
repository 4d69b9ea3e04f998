//! All targets in one program, which takes as long to build as one of them: `DMADBG_TARGET` says
//! which it is.
#![no_main]

#[path = "../targets.rs"]
mod targets;

use std::sync::OnceLock;

static NAME: OnceLock<String> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let name = NAME.get_or_init(|| std::env::var("DMADBG_TARGET").unwrap_or_default());
    targets::run_named(name, bytes);
});
