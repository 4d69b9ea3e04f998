//! The command line: what it takes, and a file per subcommand (`docs/cli.md`).

pub mod args;
pub mod numbers;
pub mod out;
pub mod rows;
