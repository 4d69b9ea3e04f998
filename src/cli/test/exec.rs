//! Running the test of one file (`docs/file-tests.md`).
//!
//! A test may come from anybody. It reads regular files only, writes nothing, runs no other
//! program, and is held to bounds. Each run is the subcommand itself, with a writer that keeps
//! the findings.

use crate::cli::args::{Cli, Cmd, Format};
use crate::cli::caught::Caught;
use crate::cli::inputs::{self, Depth};
use crate::cli::out::{Failure, Out, Status};
use crate::cli::{check, convert, lower, render, run, scripts};
use crate::diag::{Diagnostic, Place, Policy, Report};
use crate::engine::lower::OPTIONS;
use crate::limits::{MAX_TEST_BYTES, MAX_TEST_EVENTS, MAX_TEST_HEADER_BYTES};
use crate::load::container;
use crate::script::filetest::{self, Actual, FileTest, Grammar, Kind, TestRun, Verdict};
use crate::script::print;
use crate::script::runner::{Line, Lines};
use clap::Parser as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Commands that write a file, by name: a test may not use them.
const WRITERS: [&str; 3] = ["save", "export", "screenshot"];

/// A test that was run.
pub struct Tried {
    /// The file's text.
    pub text: String,
    /// What it says.
    pub test: FileTest,
    /// What came, run by run.
    pub runs: Vec<Actual>,
    /// What is not as it says.
    pub verdict: Verdict,
}

/// Runs the test of a file; `None` where there is none in it.
///
/// # Errors
/// Why it cannot be read or run.
pub fn try_file(path: &Path) -> Result<Option<Tried>, Report> {
    let full = path.to_string_lossy();
    let Some(grammar) = Grammar::of(&full) else {
        let why = format!("`{full}` is no .bir, .dma, .dbg or .hex file");
        let help = "modules as JSON and images cannot hold the comments of a test";
        return Err(Diagnostic::new("S032", why).help(help).in_file(&full).into());
    };
    let Some(text) = read_test(path, grammar).map_err(|d| d.in_file(&full))? else {
        return Ok(None);
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(test) = filetest::parse(&full, grammar, &text)? else { return Ok(None) };
    let case = Case { path, name: &name, text: &text, test: &test };
    let (mut runs, mut findings) = (Vec::new(), Vec::new());
    for run in &test.runs {
        let (actual, mut report) = case.run(run).map_err(|r| r.in_file(&full))?;
        if let Some((code, n)) = report.dropped.pop_first() {
            let why = format!("{n} more findings of {code} than a test can tell");
            let at = Place::text(run.line, 1, 1);
            return Err(Diagnostic::new("S033", why).at(at).in_file(&full).into());
        }
        runs.push(actual);
        findings.append(&mut report.items);
    }
    let verdict = test.judge(&name, &findings, &runs);
    Ok(Some(Tried { text, test, runs, verdict }))
}

/// Refuses what is no regular file: a pipe would be waited for, a device may not end.
fn regular(path: &Path) -> Result<(), Diagnostic> {
    let name = path.display();
    let meta = std::fs::metadata(path)
        .map_err(|e| Diagnostic::new("D007", format!("cannot read `{name}`: {e}")))?;
    if !meta.is_file() {
        return Err(Diagnostic::new("S033", format!("`{name}` is no regular file")));
    }
    if meta.len() > MAX_TEST_BYTES {
        let why = format!("`{name}` has {} bytes; a test has at most {MAX_TEST_BYTES}", meta.len());
        return Err(Diagnostic::new("S033", why));
    }
    Ok(())
}

/// The text of a file with a test in its header; of others only the beginning is read.
fn read_test(path: &Path, grammar: Grammar) -> Result<Option<String>, Diagnostic> {
    let cannot =
        |e: io::Error| Diagnostic::new("D007", format!("cannot read `{}`: {e}", path.display()));
    let meta = std::fs::metadata(path).map_err(cannot)?;
    if !meta.is_file() {
        return regular(path).map(|()| None);
    }
    let mut file = File::open(path).map_err(cannot)?;
    let mut bytes = Vec::new();
    let mut head = Read::by_ref(&mut file).take(MAX_TEST_HEADER_BYTES);
    head.read_to_end(&mut bytes).map_err(cannot)?;
    if !filetest::has_test(grammar, &String::from_utf8_lossy(&bytes)) {
        return Ok(None);
    }
    regular(path)?;
    file.take(MAX_TEST_BYTES).read_to_end(&mut bytes).map_err(cannot)?;
    String::from_utf8(bytes).map(Some).map_err(|e| {
        let at = Place::offset(e.utf8_error().valid_up_to() as u64);
        Diagnostic::new("D004", "text that is not UTF-8 throughout").at(at)
    })
}

struct Case<'a> {
    path: &'a Path,
    name: &'a str,
    text: &'a str,
    test: &'a FileTest,
}

impl Case<'_> {
    /// Does what a `test:` line says: what came, and what was found.
    fn run(&self, run: &TestRun) -> Result<(Actual, Report), Report> {
        let command = self.command(run)?;
        let lines = match self.test.grammar {
            Grammar::Dbg => self.lines(),
            // What is drawn is where the file opens; keys go on from there.
            _ if run.kind == Kind::Render => Ok(Lines::default()),
            _ => Ok(Lines::from(run::to_the_end())),
        };
        let form = format_of(&command);
        let policy = match self.test.grammar {
            Grammar::Dbg => scripts::policy_of(self.text).map_err(|r| r.in_file(self.name))?,
            _ => Policy::default(),
        };
        let caught = Caught::of(form, |out| perform(run.kind, &command, (&lines?, &policy), out));
        let Caught { status, text, mut report, .. } =
            caught.map_err(|why| self.refuse(run, "S033", why))?;
        self.shorten(&mut report);
        Ok((Actual::new(status.code(), &text), report))
    }

    fn refuse(&self, run: &TestRun, code: &'static str, why: String) -> Report {
        Diagnostic::new(code, why).at(Place::text(run.line, 1, 1)).into()
    }

    fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Files beside the test are called without the way to them.
    fn shorten(&self, report: &mut Report) {
        for d in &mut report.items {
            for place in std::iter::once(&mut d.place).chain(d.labels.iter_mut().map(|l| &mut l.0))
            {
                let Some(file) = &mut place.file else { continue };
                if let Ok(short) = Path::new(file.as_str()).strip_prefix(self.dir()) {
                    *file = short.to_string_lossy().into_owned();
                }
            }
        }
    }

    /// The subcommand, with what it is called here and its bounds.
    fn command(&self, run: &TestRun) -> Result<Cmd, Report> {
        self.allowed(run)?;
        let (file, name) = match &self.test.program {
            Some((program, line)) => {
                let path = self.dir().join(program);
                regular(&path).map_err(|d| {
                    let d = Diagnostic::new("S031", d.message).at(Place::text(*line, 1, 1));
                    Report::from(d)
                })?;
                (path, program.as_str())
            }
            None => (self.path.to_owned(), self.name),
        };
        let mut words: Vec<PathBuf> = vec!["dmadbg".into(), run.kind.name().into()];
        words.extend(run.args.iter().map(PathBuf::from));
        words.extend(["--".into(), file.clone()]);
        let cli = Cli::try_parse_from(words).map_err(|e| {
            let text = e.render().to_string();
            let first = text.lines().next().unwrap_or_default();
            self.refuse(run, "S031", first.trim_start_matches("error: ").to_owned())
        })?;
        let Some(mut command) = cli.command else {
            return Err(self.refuse(run, "S031", "this names no subcommand".to_owned()));
        };
        let (files, rings, module): (&[PathBuf], _, _) = match &mut command {
            Cmd::Check(a) => (&a.files, &mut a.rings, Some(&mut a.module)),
            Cmd::Lower(a) => {
                a.no_times = true;
                (std::slice::from_ref(&a.file), &mut a.rings, Some(&mut a.module))
            }
            Cmd::Run(a) => (&a.files, &mut a.rings, Some(&mut a.module)),
            Cmd::Render(a) => (&a.files, &mut a.rings, Some(&mut a.module)),
            Cmd::Asm(a) | Cmd::Disasm(a) => (&a.files, &mut a.rings, None),
            _ => return Err(self.refuse(run, "S031", "this is no test".to_owned())),
        };
        if files != [file] {
            let why = "a test is about its own file; no other can be named";
            return Err(self.refuse(run, "S031", why.to_owned()));
        }
        rings.name = Some(name.to_owned());
        rings.max_events = Some(MAX_TEST_EVENTS);
        if let Some(memory) = module.and_then(|m| m.memory_in.as_mut()) {
            *memory = self.dir().join(&*memory);
            regular(memory).map_err(|d| self.refuse(run, "S031", d.message))?;
        }
        Ok(command)
    }

    /// Refuses options that a test may not use.
    fn allowed(&self, run: &TestRun) -> Result<(), Report> {
        let known = run.kind.options().collect::<Vec<_>>();
        let lowering = !matches!(run.kind, Kind::Asm | Kind::Disasm);
        let params: Vec<String> =
            OPTIONS.iter().filter(|_| lowering).map(|o| o.name.replace('_', "-")).collect();
        for word in run.args.iter().filter(|w| w.starts_with('-')) {
            let name = word.strip_prefix("--").map(|n| n.split('=').next().unwrap_or(n));
            let ok = name.is_some_and(|n| known.contains(&n) || params.iter().any(|p| p == n));
            if !ok {
                let all = known.iter().copied().chain(params.iter().map(String::as_str));
                let all: Vec<String> = all.map(|n| format!("--{n}")).collect();
                let why = format!("a test of `{}` may not use `{word}`", run.kind.name());
                let d = Diagnostic::new("S031", why).at(Place::text(run.line, 1, 1));
                return Err(d.help(format!("it may use {}", all.join(", "))).into());
            }
        }
        Ok(())
    }

    /// The commands of a script; they may not write.
    fn lines(&self) -> Result<Lines, Report> {
        let read = |path: &Path| -> Result<String, Diagnostic> {
            if path.exists() {
                regular(path)?;
            }
            scripts::read(path)
        };
        let lines = scripts::of_test(self.name, self.text, self.dir(), &read)?;
        let writes = |l: &Line| {
            let text = print(&l.command);
            let verb = text.split(' ').next().unwrap_or_default();
            WRITERS.contains(&verb.trim_end_matches('!'))
        };
        let wrong: Vec<Diagnostic> = lines
            .iter()
            .filter(writes)
            .map(|l| Diagnostic::new("S033", "a test writes no file").at(l.place()))
            .collect();
        if wrong.is_empty() { Ok(lines) } else { Err(wrong.into()) }
    }
}

fn format_of(command: &Cmd) -> Format {
    match command {
        Cmd::Check(a) => a.out.format,
        Cmd::Lower(a) => a.out.format,
        Cmd::Run(a) => a.out.format,
        _ => Format::Text,
    }
}

fn perform(
    kind: Kind,
    command: &Cmd,
    (lines, policy): (&Lines, &Policy),
    out: &mut Out<'_>,
) -> Result<Status, Failure> {
    match command {
        Cmd::Check(a) => {
            let input = inputs::open(&a.files, &a.rings, &a.module.options()?, Depth::Run)?;
            let policy = a.lints.policy().map_err(Report::from)?;
            Ok(check::run(&input, &a.rings, (&policy, a.reading), out)?)
        }
        Cmd::Lower(a) => lower::run(a, out),
        Cmd::Run(a) => run::run_lines(a, lines, policy, out),
        Cmd::Asm(a) => {
            let p = convert::program(a, out)?;
            digits(&container::write(&p)?, out)?;
            Ok(Status::Fine)
        }
        Cmd::Disasm(a) => convert::disassemble(a, out),
        Cmd::Render(a) => render::of_test(a, (lines, policy), MAX_TEST_EVENTS, out),
        _ => {
            let why = format!("a file test cannot run `{}`", kind.name());
            Err(Report::from(Diagnostic::new("S031", why)).into())
        }
    }
}

/// Bytes as `xxd` shows them: sixteen on a line, in pairs.
fn digits(bytes: &[u8], out: &mut Out<'_>) -> io::Result<()> {
    for (n, row) in bytes.chunks(16).enumerate() {
        let mut line = format!("{:08x}:", n * 16);
        for pair in row.chunks(2) {
            line.push(' ');
            pair.iter().for_each(|b| line.push_str(&format!("{b:02x}")));
        }
        out.line(&line)?;
    }
    Ok(())
}
