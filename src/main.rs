//! The `dmadbg` program: the command line over the process's own streams.

use anyhow::Context as _;
use clap::Parser as _;
use dmadbg::cli::{self, Cli, Status, Streams};
use dmadbg::diag::render::{is_unsafe, printable};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(said) => return told(said),
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

/// The error of a command line whose arguments are shown escaped: they may be names of files
/// that somebody else chose.
fn escaped(said: clap::Error) -> clap::Error {
    let plain = |a: &OsString| a.to_str().is_some_and(|a| !a.chars().any(is_unsafe));
    let args: Vec<OsString> = std::env::args_os().collect();
    if args.iter().all(plain) {
        return said;
    }
    let safe = |a: &OsString| OsString::from(printable(&a.to_string_lossy()));
    match Cli::try_parse_from(args.iter().map(safe)) {
        Err(again) => again,
        // Escaped, nothing is wrong with them any more.
        Ok(_) => clap::Error::raw(said.kind(), printable(&said.render().to_string()) + "\n"),
    }
}

/// Prints a help, a version, or what is wrong with the command line.
fn told(said: clap::Error) -> ExitCode {
    let status = u8::try_from(said.exit_code()).unwrap_or(Status::Unreadable.code());
    let said = escaped(said);
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
