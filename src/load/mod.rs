//! Bytes and text in and out.
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub mod arbitrary;
pub mod asm;
pub mod container;
pub mod disasm;
pub mod hex;
pub mod ops;
pub mod save;
pub mod source;
pub mod validate;
