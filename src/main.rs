//! The `dmadbg` program.

fn main() {}
