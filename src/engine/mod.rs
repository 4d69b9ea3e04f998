//! What is run and what can be asked of it: the program, the ring model, the session.
//!
//! Pure: no file, clock, thread, terminal or randomness below this module. The model's rules
//! are in `docs/model.md`.

pub mod author;
pub mod blob;
pub mod budget;
pub mod command;
pub mod diff;
pub mod edit;
pub mod expr;
#[cfg(test)]
mod fixture;
pub mod lower;
pub mod module_run;
pub mod ops;
pub mod order;
pub mod program;
pub mod provenance;
pub mod ring;
pub mod schedule;
pub mod session;
pub mod validate;
