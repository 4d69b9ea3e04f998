//! `run`: a program and a script without the screen (`docs/json.md`, "events").

use super::args::RunArgs;
use super::inputs::{Depth, load};
use super::out::{Failure, Out, Status};
use super::scripts::Scripts;
use super::texts::WithTexts;
use crate::bir::memory::to_hex;
use crate::bir::{Layout, exec};
use crate::diag::{Diagnostic, Policy, Report};
use crate::engine::command::{Command, Goto};
use crate::engine::lower::Stage;
use crate::engine::ring::json::{push_edit, push_event};
use crate::engine::session::Session;
use crate::engine::{module_run, validate};
use crate::limits::{MAX_RUN_EVENTS, MAX_RUN_SAME_CODE};
use crate::load::module::LoadedModule;
use crate::script::runner::{self, Line, Lines, Reply, Target};
use crate::udma::count_of;
use crate::ui::model::Title;
use serde_json::json;

/// Events that are read from the session at a time.
const BLOCK: u64 = 4096;

/// Runs `run`.
///
/// # Errors
/// [`Failure`] where the input or the script cannot be understood.
pub fn run(args: &RunArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    // Scripts are read first: their mistakes are reported before anything runs.
    args.commands.inline().for_each(|(name, text)| out.know(name, text));
    let scripts = Scripts::read(args.no_init, &args.commands);
    let mut lines = scripts.lines?;
    if args.commands.is_empty() {
        lines.push(to_the_end());
    }
    run_lines(args, &lines, &scripts.policy, out)
}

/// Runs `run` with these lines in place of what the command line gives.
///
/// # Errors
/// [`Failure`] where the input cannot be understood.
pub fn run_lines(
    args: &RunArgs,
    lines: &Lines,
    policy: &Policy,
    out: &mut Out<'_>,
) -> Result<Status, Failure> {
    let mut options = args.module.options()?;
    let stage = args.stage.as_deref().map(super::lower::stage).transpose().map_err(Report::from)?;
    options.upto = stage.unwrap_or(options.upto);
    let loaded = load(&args.files, &args.rings, &options, Depth::Program)?;
    // The command line wins over the script, the script over the program.
    let policy = args.lints.policy().map_err(Report::from)?.over(policy).over(&loaded.policy);
    let mut report = loaded.report;
    let module = loaded.module.clone();
    if let Some(m) = &module {
        m.diagnostics().into_iter().for_each(|d| report.push(d));
        report.items.sort_by_key(|d| d.place.offset.unwrap_or(u64::MAX));
        // What the verifier says against it keeps no module from its rings: it is run as it is, and
        // the status is that of what is wrong.
        if report.has_errors() && (loaded.program.is_none() || stage.is_some()) {
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
    let bound = args.rings.max_events.unwrap_or(MAX_RUN_EVENTS);
    let mut session = Session::new(program).bounded(bound);
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
    let title = Title {
        file: loaded.name.clone(),
        notes: report.items.clone(),
        policy: policy.clone(),
        source: loaded.source.or_else(|| super::disassembled(session.program())),
    };
    let mut target = Bounded { session: &mut session, title: &title, left: args.rings.max_events };
    let end = runner::run(&mut target, lines.iter(), &mut |line| {
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
    status = status.and_then(end, &mut report);
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
    if !args.commands.is_empty() {
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
            "{stage}: {}, {}, {} fired with {}, {} written",
            count_of(done.steps, "step"),
            count_of(done.transfers, "transfer"),
            count_of(done.fired, "block"),
            count_of(done.descriptors, "descriptor"),
            count_of(done.bytes, "byte")
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
    let text = crate::diag::render::json_safe(&text);
    super::convert::emit(text.as_bytes(), Some(path), out)
}

/// Every event up to the position, as JSON lines.
fn events(session: &mut Session, out: &mut Out<'_>) -> Result<(), Failure> {
    let last = session.position();
    let (mut from, mut lines) = (1, Vec::new());
    for edit in session.program().edits_at(0) {
        push_edit(&mut lines, session.program(), edit, 0);
    }
    out.bytes(&lines)?;
    while from <= last {
        let to = (from + BLOCK).min(last + 1);
        lines.clear();
        let events = session.events(from, to);
        let p = session.program();
        for e in events {
            push_event(&mut lines, p, &e);
            for edit in p.edits_at(e.n) {
                push_edit(&mut lines, p, edit, e.t_ns);
            }
        }
        out.bytes(&lines)?;
        from = to;
    }
    Ok(out.flush()?)
}

/// A session whose commands may pass so many events in all, where there is a bound.
struct Bounded<'a> {
    session: &'a mut Session,
    title: &'a Title,
    left: Option<u64>,
}

impl Target for Bounded<'_> {
    fn run(&mut self, command: &Command) -> Result<Reply, Diagnostic> {
        let from = self.session.position();
        // Only what a file test does is bounded in all, and it writes nothing.
        let writes = self.left.is_none();
        let reply = WithTexts { session: self.session, title: self.title, writes }.run(command)?;
        let Some(left) = &mut self.left else { return Ok(reply) };
        match left.checked_sub(self.session.position().abs_diff(from)) {
            Some(rest) => *left = rest,
            None => {
                let why = "given up: the commands up to here passed as many events as they may";
                return Err(Diagnostic::new("S030", why));
            }
        }
        Ok(reply)
    }

    fn event(&self) -> Option<u64> {
        Some(self.session.position())
    }
}

/// Without a script the program runs to its end.
pub(super) fn to_the_end() -> Line {
    Line::new("<end>", Command::Goto(Goto::Mark("end".to_owned())))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::script::parse_command;

    /// What becomes of commands that may pass so many events in all.
    fn within(left: u64, commands: &[&str]) -> Result<u64, Diagnostic> {
        let text = include_str!("../../sample-programs/copy-4k.dma");
        let program = crate::load::asm::assemble(text).unwrap().program;
        let mut session = Session::new(std::sync::Arc::new(program)).bounded(40);
        let title = Title::default();
        let mut target = Bounded { session: &mut session, title: &title, left: Some(left) };
        for c in commands {
            target.run(&parse_command(c).unwrap().unwrap())?;
        }
        Ok(session.position())
    }

    #[test]
    fn commands_pass_as_many_events_as_they_may_one_by_one_and_in_all() {
        assert_eq!(within(40, &["goto 30", "goto 20"]), Ok(20));
        let d = within(39, &["goto 30", "goto 20"]).unwrap_err();
        assert_eq!(d.code, "S030");
        // One command alone stays where it was.
        for long in ["goto end", "continue", "until 0", "goto 45", "step 41 event"] {
            let d = within(1000, &["goto 3", long]).unwrap_err();
            assert!(d.code == "S030" && d.message.contains("given up after 40 events"), "{long}");
        }
        assert_eq!(within(1000, &["goto 40", "reverse-until 0"]), Ok(0));
    }
}
