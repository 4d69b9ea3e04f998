//! A line of the command language: what is read is printed and read back to the same command.
#![no_main]

use dmadbg::script::{parse_command, parse_expr, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &str| {
    let _ = parse_expr(line);
    if let Ok(Some(c)) = parse_command(line) {
        assert_eq!(parse_command(&print(&c)), Ok(Some(c)));
    }
});
