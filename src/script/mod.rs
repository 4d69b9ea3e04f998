//! The command language as text: parsing, printing, completion, help, and running scripts.
//!
//! All names come from `engine::command::COMMANDS` and the field table; this room only knows
//! how they are written. Grammar: `docs/commands.md`.

mod command;
mod complete;
mod expr;
pub mod help;
mod lex;
mod print;
pub mod runner;

#[cfg(test)]
mod tests;

pub use command::parse_command;
pub use complete::{Completion, complete};
pub use expr::parse_expr;
pub use print::print;
