//! The command line: what it takes, and a file per subcommand (`docs/cli.md`).
//!
//! Every command prints through [`out::Out`] and answers a [`Status`]; what it cannot read
//! comes back as a [`Failure`] and is printed here, once.

pub mod args;
pub mod check;
pub mod convert;
pub mod decode;
pub mod encode;
pub mod explain;
pub mod info;
pub mod inputs;
pub mod numbers;
pub mod out;
pub mod rows;
pub mod run;
pub mod shell;
pub mod words;

pub use args::Cli;
pub use out::{Failure, Status};

use crate::diag::{Diagnostic, Report};
use args::{Cmd, Format, OpenArgs, OutOpts, When};
use inputs::Depth;
use out::Out;
use std::io::{Read, Write};

/// The streams of the process, or of a test.
pub struct Streams<'a> {
    /// Standard input.
    pub stdin: &'a mut dyn Read,
    /// Standard output.
    pub stdout: &'a mut dyn Write,
    /// Standard error.
    pub stderr: &'a mut dyn Write,
}

/// Does what the command line says.
///
/// # Errors
/// Only what the streams themselves say; input that cannot be read is printed and answered
/// with [`Status::Unreadable`]. A broken pipe is no error.
pub fn main(cli: &Cli, streams: Streams<'_>) -> std::io::Result<Status> {
    let opts = out_opts(cli);
    let Streams { stdin, stdout, stderr } = streams;
    let mut out = Out::new(stdout, stderr, &opts);
    let ended = match &cli.command {
        Some(command) => dispatch(command, stdin, &mut out),
        None => open_screen(&cli.open),
    };
    let told = match ended {
        Ok(status) => out.flush().map(|()| status).map_err(Failure::Io),
        Err(Failure::Report(r)) => {
            out.findings(&r).map(|()| Status::Unreadable).map_err(Failure::Io)
        }
        Err(Failure::Io(e)) => Err(Failure::Io(e)),
    };
    match told {
        Ok(status) => Ok(status),
        Err(e) if e.is_broken_pipe() => Ok(Status::Fine),
        Err(Failure::Io(e)) => Err(e),
        Err(Failure::Report(_)) => Ok(Status::Unreadable),
    }
}

/// How this command's output looks.
fn out_opts(cli: &Cli) -> OutOpts {
    let text = |color| OutOpts { format: Format::Text, color, all: false };
    match &cli.command {
        None => text(cli.open.color),
        Some(Cmd::Decode(a)) => a.out.clone(),
        Some(Cmd::Encode(a)) => a.out.clone(),
        Some(Cmd::Asm(a) | Cmd::Disasm(a)) => a.out.clone(),
        Some(Cmd::Info(a) | Cmd::Check(a)) => a.out.clone(),
        Some(Cmd::Run(a)) => a.out.clone(),
        Some(Cmd::Explain(a)) => a.out.clone(),
        Some(Cmd::Completions(_) | Cmd::Man) => text(When::Never),
    }
}

fn dispatch(command: &Cmd, stdin: &mut dyn Read, out: &mut Out<'_>) -> Result<Status, Failure> {
    match command {
        Cmd::Decode(a) => decode::run(a, out),
        Cmd::Encode(a) => encode::run(a, stdin, out),
        Cmd::Asm(a) => convert::assemble(a, out),
        Cmd::Disasm(a) => convert::disassemble(a, out),
        Cmd::Info(a) => {
            let input = inputs::open(&a.files, &a.rings, Depth::Program)?;
            info::print(&info::facts(&input, a.rings.start), out)?;
            out.findings(&input.report)?;
            Ok(Status::Fine)
        }
        Cmd::Check(a) => {
            let input = inputs::open(&a.files, &a.rings, Depth::Run)?;
            Ok(check::run(&input, &a.rings, out)?)
        }
        Cmd::Run(a) => run::run(a, out),
        Cmd::Explain(a) => explain::run(a, out),
        Cmd::Completions(a) => shell::completions(a, out),
        Cmd::Man => shell::man(out),
    }
}

/// Opens the screen on a program.
fn open_screen(args: &OpenArgs) -> Result<Status, Failure> {
    let _ = args;
    Err(Report::from(Diagnostic::new("S010", "the screen is not part of this build")).into())
}
