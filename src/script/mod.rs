//! The command language: text to [`Command`](crate::engine::command::Command) and back, help
//! and completion from the table of commands, and scripts (`docs/commands.md`).
//!
//! Nothing here reads a file: a caller of the runner hands in the text of what a script
//! sources.

mod args;
mod command;
mod complete;
mod expr;
pub mod filetest;
pub mod help;
mod lex;
mod lines;
mod one;
mod order;
mod pin;
mod print;
pub mod runner;
#[cfg(test)]
mod samples;

pub use args::parse_loc;
pub use command::parse_command;
pub use complete::{Candidate, Completion, Names, complete};
pub use expr::parse_expr;
pub use one::{evaluate, execute};
pub use pin::pinned;
pub use print::{block_text, print};
