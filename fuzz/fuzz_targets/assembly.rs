//! Assembly: what is read is printed and read back to the same program.
#![no_main]

use dmadbg::load::{asm, disasm};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(a) = asm::assemble(text) {
        if let Ok(listing) = disasm::disassemble(&a.program) {
            let back = asm::assemble(&listing.text).map(|b| b.program);
            assert!(back.is_ok_and(|b| b == a.program));
        }
    }
});
