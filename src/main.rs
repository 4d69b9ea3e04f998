//! The `dmadbg` program: the command line over the process's own streams.

use anyhow::Context as _;
use clap::Parser as _;
use dmadbg::cli::{self, Cli, Status, Streams};
use std::io::{self, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(said) => return told(&said),
    };
    match run(&cli) {
        Ok(status) => ExitCode::from(status.code()),
        Err(e) => {
            // Standard error may be closed too; then there is nobody to tell.
            let _ = writeln!(io::stderr(), "error: {e:#}");
            ExitCode::from(Status::Unreadable.code())
        }
    }
}

/// Prints a help, a version, or what is wrong with the command line.
fn told(said: &clap::Error) -> ExitCode {
    let status = u8::try_from(said.exit_code()).unwrap_or(Status::Unreadable.code());
    match said.print().and_then(|()| io::stdout().flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "error: writing failed: {e}");
            ExitCode::from(Status::Unreadable.code())
        }
        _ => ExitCode::from(status),
    }
}

fn run(cli: &Cli) -> anyhow::Result<Status> {
    // None is locked here: a loader that is given `-` reads standard input itself, and a thread
    // that panics while the screen is open must be able to restore the terminal.
    let (mut stdin, mut stdout, mut stderr) = (io::stdin(), io::stdout(), io::stderr());
    let streams = Streams { stdin: &mut stdin, stdout: &mut stdout, stderr: &mut stderr };
    cli::main(cli, streams).context("reading or writing failed")
}
