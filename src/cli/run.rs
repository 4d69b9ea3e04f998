//! `run`: a program and a script without the screen (`docs/json.md`, "events").

use super::args::RunArgs;
use super::inputs::{Depth, load};
use super::out::{Failure, Out, Status};
use super::texts::WithTexts;
use crate::bir::memory::to_hex;
use crate::bir::{Layout, exec};
use crate::diag::{Diagnostic, Policy, Report};
use crate::engine::command::{Command, Goto};
use crate::engine::lower::Stage;
use crate::engine::ring::json::{edit_json, event_json};
use crate::engine::session::Session;
use crate::engine::{module_run, validate};
use crate::limits::MAX_RUN_SAME_CODE;
use crate::limits::MAX_TEXT_BYTES;
use crate::load::module::LoadedModule;
use crate::script::runner::{self, End, Line, Source};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Events that are read from the session at a time.
const BLOCK: u64 = 4096;

/// Runs `run`.
///
/// # Errors
/// [`Failure`] where the input or the script cannot be understood.
pub fn run(args: &RunArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    // The script is read first: its mistakes are reported before anything runs.
    let mut lines = init_lines(args.no_init)?;
    let mut policy = Policy::default();
    match &args.script {
        Some(path) => lines.extend(script_lines(path, &mut policy)?),
        None => lines.push(to_the_end()),
    }
    let mut options = args.module.options()?;
    let stage = args.stage.as_deref().map(super::lower::stage).transpose().map_err(Report::from)?;
    options.upto = stage.unwrap_or(options.upto);
    let loaded = load(&args.files, &args.rings, &options, Depth::Program)?;
    // The command line wins over the script, the script over the program.
    let policy = args.lints.policy().map_err(Report::from)?.over(&policy).over(&loaded.policy);
    let mut report = loaded.report;
    let module = loaded.module.clone();
    if let Some(m) = &module {
        m.diagnostics().into_iter().for_each(|d| report.push(d));
        if report.has_errors() {
            policy.apply(&mut report);
            out.findings(&report)?;
            return Ok(Status::Wrong);
        }
        if let Some(stage) = stage.filter(|s| *s != Stage::Rings) {
            return interpret(args, m, stage, (report, &policy), out);
        }
    } else if let Some(what) =
        stage.map(|_| "--stage").or(args.memory_out.as_ref().map(|_| "--memory-out"))
    {
        let why = format!("{what} is for modules; this is {}", loaded.kind.name());
        return Err(Report::from(Diagnostic::new("S011", why)).into());
    }
    let Some(program) = loaded.program else {
        report.push(
            Diagnostic::new("S010", "there is nothing to run in this input").in_file(&loaded.name),
        );
        return Err(report.into());
    };
    let mut session = Session::new(program);
    if let Some(r) = args.reading {
        session.read_barriers(r);
    }
    let json = out.json();
    if json {
        out.schema("events", &json!({ "file": loaded.name }))?;
    }
    // In JSON the output is the events; what the script says goes beside them.
    let mut said = Vec::new();
    let mut broken = Ok(());
    let end = runner::run(&mut WithTexts(&mut session), &lines, &mut |line| {
        if json {
            said.push(line.to_owned());
        } else if broken.is_ok() {
            broken = out.line(&crate::diag::render::printable(line));
        }
    });
    broken?;
    if json {
        events(&mut session, out)?;
        out.aside(&said)?;
    }
    session.findings_left().for_each(|d| report.push(d.clone().in_file(&loaded.name)));
    for (code, n) in &session.machine().finding_counts {
        let more = n.saturating_sub(MAX_RUN_SAME_CODE);
        if more > 0 {
            *report.dropped.entry(*code).or_default() += more;
        }
    }
    for d in session.races_left().diagnostics(session.program()) {
        report.push(d.in_file(&loaded.name));
    }
    policy.apply(&mut report);
    let mut status = if report.has_errors() { Status::Wrong } else { Status::Fine };
    if let Some(m) = &module {
        let layout = Layout::new(&m.module);
        let memory = &session.machine().memory;
        write_memory(args, &layout, &|name| module_run::dump(&layout, memory, name), out)?;
    }
    match end {
        End::Done => {}
        End::Failed(d) => {
            report.push(*d);
            status = status.max(Status::Wrong);
        }
        End::Wrong(d) => {
            report.push(*d);
            status = Status::Unreadable;
        }
    }
    out.findings(&report)?;
    Ok(status)
}

/// Runs a module at a stage by the reference interpreter.
fn interpret(
    args: &RunArgs,
    m: &LoadedModule,
    stage: Stage,
    (mut report, policy): (Report, &Policy),
    out: &mut Out<'_>,
) -> Result<Status, Failure> {
    if args.script.is_some() {
        let why = "a script moves about in a run on rings; it has no place at another stage";
        return Err(Report::from(Diagnostic::new("S011", why)).into());
    }
    let Some(snapshot) = m.lowered.stage(stage) else {
        return Err(Report::from(Diagnostic::new("S011", "that stage was not reached")).into());
    };
    let program = exec::Program::new(snapshot.module.clone());
    let layout = Layout::new(&m.module);
    let mut memory = validate::initial_memory(&layout, &m.memory).map_err(Report::from)?;
    let done = exec::run(&program, &mut memory, &exec::Options::default());
    done.findings.iter().for_each(|f| report.push(m.place(f)));
    if out.json() {
        out.schema(
            "run",
            &json!({
                "stage": stage.name(), "finished": done.finished, "steps": done.steps,
                "transfers": done.transfers, "fired": done.fired,
                "descriptors": done.descriptors, "bytes": done.bytes,
            }),
        )?;
    } else {
        out.line(&format!(
            "{stage}: {} steps, {} transfers, {} blocks fired with {} descriptors, {} bytes written",
            done.steps, done.transfers, done.fired, done.descriptors, done.bytes
        ))?;
    }
    write_memory(args, &layout, &|name| memory.dump(&layout, name).ok(), out)?;
    policy.apply(&mut report);
    out.findings(&report)?;
    Ok(if report.has_errors() { Status::Wrong } else { Status::Fine })
}

/// `--memory-out`: every location, row-major.
fn write_memory(
    args: &RunArgs,
    layout: &Layout,
    dump: &dyn Fn(&str) -> Option<Vec<u8>>,
    out: &mut Out<'_>,
) -> Result<(), Failure> {
    let Some(path) = &args.memory_out else { return Ok(()) };
    let mut file = serde_json::Map::new();
    for loc in layout.placed() {
        if let Some(bytes) = dump(&loc.name) {
            file.insert(loc.name.to_string(), json!(to_hex(&bytes)));
        }
    }
    let text = serde_json::Value::Object(file).to_string() + "\n";
    super::convert::emit(text.as_bytes(), Some(path), out)
}

/// Every event up to the position, as JSON lines.
fn events(session: &mut Session, out: &mut Out<'_>) -> Result<(), Failure> {
    let last = session.position();
    let mut from = 1;
    let p = session.program();
    for edit in p.edits_at(0) {
        out.value(&edit_json(p, edit, 0))?;
    }
    while from <= last {
        let to = (from + BLOCK).min(last + 1);
        let events = session.events(from, to);
        let p = session.program();
        for e in events {
            out.value(&event_json(&e))?;
            for edit in p.edits_at(e.n) {
                out.value(&edit_json(p, edit, e.t_us()))?;
            }
        }
        from = to;
    }
    Ok(out.flush()?)
}

/// Without a script the program runs to its end.
fn to_the_end() -> Line {
    Line::new("<end>", Command::Goto(Goto::Mark("end".to_owned())))
}

/// The lines of a script file; what its comments say about findings goes into `policy`.
///
/// # Errors
/// S009 where a file cannot be read, and every mistake in it.
pub fn script_lines(path: &Path, policy: &mut Policy) -> Result<Vec<Line>, Report> {
    let name = path.to_string_lossy().into_owned();
    let text = read(path)?;
    *policy = Policy::of_text(&text, &["#"]).map_err(|r| r.in_file(&name))?;
    runner::parse(&name, &text, &mut |from, named| {
        // A sourced file lies beside the script that names it.
        let dir = Path::new(from).parent().unwrap_or(Path::new(""));
        let path = dir.join(named);
        Ok(Source { name: path.to_string_lossy().into_owned(), text: read(&path)? })
    })
}

pub(super) fn read(path: &Path) -> Result<String, Diagnostic> {
    let name = path.to_string_lossy();
    let source = crate::load::source::open(path).map_err(|d| {
        // The message has the name and the reason.
        Diagnostic::new("S009", d.message)
    })?;
    if source.blob.len() as u64 > MAX_TEXT_BYTES {
        let text = format!("`{name}` is larger than {MAX_TEXT_BYTES} bytes");
        return Err(Diagnostic::new("S009", text));
    }
    String::from_utf8(source.blob.bytes().to_vec())
        .map_err(|_| Diagnostic::new("S009", format!("`{name}` is not UTF-8 text")))
}

/// The init file: `dmadbg/init.dbg` in the user's configuration folder, if there is one.
///
/// # Errors
/// Every mistake in it.
pub fn init_lines(skip: bool) -> Result<Vec<Line>, Report> {
    let path = if skip { None } else { init_file() };
    match path.filter(|p| p.is_file()) {
        Some(path) => script_lines(&path, &mut Policy::default()),
        None => Ok(Vec::new()),
    }
}

fn init_file() -> Option<PathBuf> {
    Some(super::config::folder()?.join("init.dbg"))
}
