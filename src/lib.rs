//! `dmadbg`: a debugger for DMA descriptor rings.
//!
//! The crate is a house of rooms whose imports point one way: `udma` and `diag` at the
//! bottom, then `engine`, `check`, `load`, `script` and `watch`, and `ui` and `cli` on top.
//! `docs/house.md` draws it; `tests/house.rs` enforces it.

pub mod bir;
pub mod check;
pub mod cli;
pub mod diag;
pub mod engine;
pub mod learn;
pub mod limits;
pub mod load;
pub mod script;
pub mod udma;
pub mod ui;
pub mod watch;
