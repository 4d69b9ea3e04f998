//! The `dmadbg` program: the command line over the process's own streams.

use anyhow::Context as _;
use clap::Parser as _;
use dmadbg::cli::{self, Cli, Status, Streams};
use std::io::{self, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(status) => ExitCode::from(status.code()),
        Err(e) => {
            // Standard error may be closed too; then there is nobody to tell.
            let _ = writeln!(io::stderr(), "error: {e:#}");
            ExitCode::from(Status::Unreadable.code())
        }
    }
}

fn run() -> anyhow::Result<Status> {
    let cli = Cli::parse();
    // None is locked here: a loader that is given `-` reads standard input itself, and a thread
    // that panics while the screen is open must be able to restore the terminal.
    let (mut stdin, mut stdout, mut stderr) = (io::stdin(), io::stdout(), io::stderr());
    let streams = Streams { stdin: &mut stdin, stdout: &mut stdout, stderr: &mut stderr };
    cli::main(&cli, streams).context("reading or writing failed")
}
