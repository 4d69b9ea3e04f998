//! The command line: what it takes, and a file per subcommand (`docs/cli.md`).
//!
//! Every command prints through [`out::Out`] and answers a [`Status`]; what it cannot read
//! comes back as a [`Failure`] and is printed here, once.

pub mod args;
pub mod caught;
pub mod check;
pub mod config;
pub mod convert;
pub mod decode;
pub mod diff;
mod difference;
pub mod encode;
pub mod explain;
pub mod export;
pub mod fmt;
pub mod r#gen;
pub mod given;
pub mod grammars;
pub mod info;
pub mod inputs;
pub mod learn;
pub mod lower;
mod named;
pub mod numbers;
pub mod out;
pub mod provenance;
pub mod render;
pub use crate::udma::rows;
pub mod run;
pub mod sample;
pub mod scripts;
pub mod shell;
pub mod shrink;
mod state;
mod stdin;
pub mod test;
mod texts;
pub mod watch;
pub mod words;

pub use args::Cli;
pub use out::{Failure, Status};

use crate::diag::{Diagnostic, Report};
use crate::engine::command::{Command, Goto};
use crate::engine::expr::Expr;
use crate::engine::program::{HostOp, Program};
use crate::engine::ring::EventKind;
use crate::engine::session::Session;
use crate::limits::{MAX_SHOWN_BYTES, MAX_SHOWN_OPS, OPENING_EVENTS};
use crate::load::{LoadOptions, SourceText, mapped};
use crate::script::print;
use crate::script::runner::{self, End, Line};
use crate::ui::{
    self, Config, Fresh, Live, OnChange, Opening, Options, Recorder, ScreenError, Title,
};
use args::{Cmd, Format, ModuleOpts, OpenArgs, OutOpts, RingOpts, When};
use inputs::Depth;
use out::Out;
use scripts::Scripts;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use texts::WithTexts;

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
    let ended = match (stdin::check(cli), &cli.command) {
        (Err(d), _) => Err(Report::from(d).into()),
        (_, Some(command)) => dispatch(command, stdin, &mut out).map_err(sample::hinted),
        (_, None) => open_screen(&cli.open, &mut out)
            .map_err(|e| shell::not_a_verb(&cli.open.files, sample::hinted(e))),
    };
    // What a file that changed was read as may be anything.
    let ended = match (ended, mapped::all_disturbed()) {
        (ended, none) if none.is_empty() => ended,
        (Ok(_), all) => Err(Failure::Report(all.into())),
        (Err(Failure::Report(mut r)), all) => {
            r.extend(Report::from(all));
            Err(Failure::Report(r))
        }
        (Err(e), _) => Err(e),
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
        Some(Cmd::Lower(a)) => a.out.clone(),
        Some(Cmd::Run(a)) => a.out.clone(),
        Some(Cmd::Test(a)) => a.out.clone(),
        Some(Cmd::Watch(a)) => a.out.clone(),
        Some(Cmd::Gen(a)) => a.out.clone(),
        Some(Cmd::Fmt(a)) => a.out.clone(),
        Some(Cmd::Shrink(a)) => a.out.clone(),
        Some(Cmd::Diff(a)) => a.out.clone(),
        Some(Cmd::Export(a)) => a.out.clone(),
        Some(Cmd::Explain(a)) => a.out.clone(),
        Some(Cmd::Learn(a)) => a.out.clone(),
        Some(Cmd::Render(a)) => text(a.color),
        Some(Cmd::Config(a)) => a.out.clone(),
        Some(Cmd::Provenance(a)) => a.out.clone(),
        Some(Cmd::Sample(a)) => sample::out_opts(a).unwrap_or_else(text),
        Some(Cmd::Grammars(a)) => a.out.clone(),
        Some(Cmd::Completions(_) | Cmd::Man(_)) => text(When::Never),
    }
}

fn dispatch(command: &Cmd, stdin: &mut dyn Read, out: &mut Out<'_>) -> Result<Status, Failure> {
    match command {
        Cmd::Decode(a) => decode::run(a, out),
        Cmd::Encode(a) => encode::run(a, stdin, out),
        Cmd::Asm(a) => convert::assemble(a, out),
        Cmd::Disasm(a) => convert::disassemble(a, out),
        Cmd::Info(a) => {
            let policy = a.lints.policy().map_err(Report::from)?;
            let mut input = inputs::open(&a.files, &a.rings, &a.module.options()?, Depth::Look)?;
            let mut facts = info::facts(&input, a.rings.start);
            facts.more.extend(info::races(&input, a.reading));
            info::print(&facts, out)?;
            policy.over(&input.policy).apply(&mut input.report);
            out.findings(&input.report)?;
            Ok(if input.report.has_errors() { Status::Wrong } else { Status::Fine })
        }
        Cmd::Check(a) => {
            let policy = a.lints.policy().map_err(Report::from)?;
            let input = inputs::open(&a.files, &a.rings, &a.module.options()?, Depth::Run)?;
            Ok(check::run(&input, &a.rings, (&policy, a.reading), out)?)
        }
        Cmd::Lower(a) => lower::run(a, out),
        Cmd::Run(a) => run::run(a, out),
        Cmd::Test(a) => test::run(a, out),
        Cmd::Watch(a) => watch::run(a, out),
        Cmd::Gen(a) => r#gen::run(a, out),
        Cmd::Fmt(a) => fmt::run(a, out),
        Cmd::Shrink(a) => shrink::run(a, out),
        Cmd::Diff(a) => diff::run(a, out),
        Cmd::Export(a) => export::run(a, out),
        Cmd::Explain(a) => explain::run(a, out),
        Cmd::Render(a) => render::run(a, out),
        Cmd::Learn(a) => learn::run(a, out),
        Cmd::Config(a) => config::run(a, out),
        Cmd::Provenance(a) => provenance::run(a, out),
        Cmd::Completions(a) => shell::completions(a, out),
        Cmd::Sample(a) => sample::run(a, out),
        Cmd::Man(a) => shell::man(a, out),
        Cmd::Grammars(a) => grammars::run(a, out),
    }
}

/// What the screen shows of files: a session at its start, and what was found on the way.
///
/// # Errors
/// [`Failure`] where the files cannot be read as what they are.
pub fn browse(
    files: &[PathBuf],
    rings: &RingOpts,
    module: &ModuleOpts,
    watched: bool,
) -> Result<(Arc<Program>, Title), Failure> {
    let options = module.options()?;
    let told = inputs::load_options(rings, &options, Depth::Look);
    let told = LoadOptions { watched, ..told };
    let loaded = inputs::load_as(files, rings, &told)?;
    // One direction alone, or an image larger than a ring, can still be browsed.
    let browse = || {
        let opts = inputs::load_options(rings, &options, Depth::Browse);
        Arc::new(crate::load::raw::browse_program(&loaded.images, &opts))
    };
    let program = loaded.program.clone().unwrap_or_else(browse);
    let source = loaded.source.or_else(|| disassembled(&program));
    let (notes, policy) = (loaded.report.items, loaded.policy);
    let mut title = Title { file: loaded.name, notes, policy, source };
    if let Some(m) = &loaded.module {
        title.notes.extend(m.diagnostics());
    }
    Ok((program, title))
}

/// The files of the screen, how they are read again, and what is run first.
pub fn live(args: &OpenArgs, config: &Config) -> Live {
    let mut all = args.files.clone();
    let more = [&args.rings.tx, &args.rings.rx, &args.module.memory_in];
    all.extend(more.into_iter().flatten().cloned());
    let mut seen = BTreeSet::new();
    all.retain(|path| seen.insert(path.clone()));
    let (files, rings, module) = (args.files.clone(), args.rings.clone(), args.module.clone());
    let (no_init, commands) = (args.no_init, args.commands.clone());
    let load = move || -> Result<Fresh, Report> {
        let read = browse(&files, &rings, &module, true).map_err(|f| match f {
            Failure::Report(report) => report,
            Failure::Io(e) => Diagnostic::new("D007", e.to_string()).into(),
        })?;
        let (program, mut title) = read;
        // What scripts accept is accepted still; they are not run again.
        title.policy = Scripts::read(no_init, &commands).policy.over(&title.policy);
        Ok(Fresh { program, title })
    };
    let mut live = Live::new(all, Arc::new(load));
    live.watch = config.watch && !args.no_watch;
    live.quiet = Duration::from_millis(config.quiet_ms);
    live.on_change = args
        .on_change
        .clone()
        .map(|command| OnChange { command, watch: args.on_change_watch.clone() });
    live
}

/// The assembly of a program that came without one, where that is not long.
fn disassembled(p: &Program) -> Option<SourceText> {
    let contents: u64 = p.contents.iter().map(|c| c.bytes.len() as u64).sum();
    let copied = p.script.iter().map(|s| match &s.op {
        HostOp::CopyIn { descs, .. } => descs.len() as u64,
        HostOp::Store { bytes, .. } => bytes.len() as u64,
        _ => 0,
    });
    let bytes = contents.saturating_add(copied.fold(0, u64::saturating_add));
    if p.module.is_some() || p.script.len() > MAX_SHOWN_OPS || bytes > MAX_SHOWN_BYTES {
        return None;
    }
    let listing = crate::load::disasm::disassemble(p).ok()?;
    Some(SourceText { text: listing.text.into(), lines: listing.lines })
}

/// Rings whose host is made up (MODEL) are shown as they lie in their file: behind the operations
/// that put them there, before the first that does something with them. A script begins at event 0.
fn as_it_lies(session: &mut Session) -> Option<Line> {
    let program = session.program().clone();
    if !program.aside.made_up {
        return None;
    }
    let puts = |op: u32| {
        let op = program.script.get(op as usize).map(|s| &s.op);
        matches!(op, Some(HostOp::InitQueue { .. } | HostOp::CopyIn { .. }))
    };
    let first = session.events(1, OPENING_EVENTS).into_iter().find_map(|e| match e.kind {
        EventKind::Call { op } if !puts(op) => Some(e.n),
        _ => None,
    })?;
    let goto = Command::Goto(Goto::Event(Expr::Num(first - 1)));
    Some(Line::new("<opened>", goto))
}

/// Opens the screen on a program.
fn open_screen(args: &OpenArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    if let Err(d) = ui::check_terminal() {
        // That there is no such verb or file is worth more than that there is no terminal.
        let missing = |f: &PathBuf| f.as_os_str() != "-" && !f.exists();
        if args.files.iter().any(missing) {
            browse(&args.files, &args.rings, &args.module, false)?;
        }
        return Err(Report::from(d).into());
    }
    let config = config::load(args.no_init)?;
    args.commands.inline().for_each(|(name, text)| out.know(name, text));
    let scripts = Scripts::read(args.no_init, &args.commands);
    let lines = scripts.lines?;
    let live = live(args, &config);
    let (program, mut title) = browse(&args.files, &args.rings, &args.module, live.watch)?;
    let mut session = Session::new(program);
    title.policy = scripts.policy.over(&title.policy);
    let record = args.record.as_ref().map(|path| Recorder::create(path, &title.file));
    let mut opening = Opening { record: record.transpose().map_err(Report::from)?, refused: None };
    let beginning = if lines.is_empty() { as_it_lies(&mut session) } else { None };
    let mut lines = beginning.into_iter().chain(lines.iter());
    let init = lines.by_ref().take(scripts.init);
    opening.refused = run_first(&mut session, &title, init, None)?;
    if opening.refused.is_none() {
        opening.refused = run_first(&mut session, &title, lines, opening.record.as_mut())?;
    }
    title.notes.extend(opening.refused.clone());
    let mut options = Options::new(config);
    match args.color {
        When::Auto => {}
        When::Always => options.theme = options.theme.coloured(true),
        When::Never => options.theme = options.theme.coloured(false),
    }
    options.kept = state::load(args.no_init);
    // What is read once and gone cannot be read again.
    options.live = live.refused().is_none().then_some(live);
    let shown = ui::run(session, title, options, opening, state::keep);
    // The screen has told it.
    mapped::all_disturbed();
    match shown {
        Ok(()) => Ok(Status::Fine),
        Err(ScreenError::Refused(d)) => Err(Report::from(*d).into()),
        Err(ScreenError::Io(e)) => Err(Failure::Io(e)),
    }
}

/// Runs lines before the screen is shown, and records them; what ended them, if anything did.
fn run_first(
    session: &mut Session,
    title: &Title,
    lines: impl IntoIterator<Item = Line>,
    mut record: Option<&mut Recorder>,
) -> Result<Option<Diagnostic>, Failure> {
    for line in lines {
        let one = [line.clone()];
        if let End::Failed(d) | End::Wrong(d) =
            runner::run(&mut WithTexts { session, title, writes: true }, one, &mut |_| {})
        {
            return Ok(Some(*d));
        }
        match (&line.command, &mut record) {
            (Command::Quit, _) => break,
            // What is sourced follows; help asks nothing of the session.
            (Command::Source(_) | Command::Help(_), _) | (_, None) => {}
            (command, Some(record)) => record.write(&[print(command)])?,
        }
    }
    Ok(None)
}
