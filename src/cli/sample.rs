//! `sample`: the programs that come with dmadbg (`docs/samples.md`).

use super::args::{OutOpts, SampleCmd, SampleCopyArgs, SampleOpenArgs, When};
use super::out::{Failure, Out, Status, Style};
use super::scripts::Scripts;
use super::{config, run_first, state};
use crate::diag::{Diagnostic, Report};
use crate::engine::command::nearest;
use crate::engine::program::Blob;
use crate::engine::session::Session;
use crate::learn::bundled::{ERRORS, SCRIPTS, Sample};
use crate::load::{LoadOptions, load_bytes, save};
use crate::ui::{self, Opening, Options, ScreenError, Title};
use serde_json::json;
use std::io::ErrorKind;
use std::path::Path;

/// How the output of `sample` looks, or only when it has colour.
///
/// # Errors
/// The colour, where there is no other option.
pub fn out_opts(cmd: &SampleCmd) -> Result<OutOpts, When> {
    match cmd {
        SampleCmd::List(a) => Ok(a.out.clone()),
        SampleCmd::Open(a) => Err(a.color),
        SampleCmd::Show(_) | SampleCmd::Copy(_) => Err(When::Auto),
    }
}

/// Runs `sample`.
///
/// # Errors
/// [`Failure`]: an unknown name (S070), or what opening or writing says.
pub fn run(cmd: &SampleCmd, out: &mut Out<'_>) -> Result<Status, Failure> {
    match cmd {
        SampleCmd::List(_) => list(out),
        SampleCmd::Show(a) => {
            out.bytes(find(&a.name)?.text.as_bytes())?;
            Ok(Status::Fine)
        }
        SampleCmd::Open(a) => open(a, out),
        SampleCmd::Copy(a) => copy(a, out),
    }
}

/// The sample of a name.
fn find(name: &str) -> Result<Sample, Report> {
    Sample::find(name).ok_or_else(|| {
        let d = Diagnostic::new("S070", format!("there is no sample `{name}`"));
        let known = Sample::all().flat_map(|s| [s.name, s.stem()]);
        let help = match nearest(name, known).as_slice() {
            [] => "`dmadbg sample list` lists them".to_owned(),
            near => {
                let near = near.join("` or `");
                format!("did you mean `{near}`? `dmadbg sample list` lists them")
            }
        };
        d.help(help).into()
    })
}

/// Tells of a sample where a file of its name is missing.
pub(super) fn hinted(failure: Failure) -> Failure {
    let mut report = match failure {
        Failure::Report(report) => report,
        other => return other,
    };
    for d in report.items.iter_mut().filter(|d| d.code == "D007" && d.help.is_none()) {
        let Some(file) = d.place.file.as_deref().filter(|f| !Path::new(f).exists()) else {
            continue;
        };
        let name = file.strip_prefix("sample-programs/").unwrap_or(file);
        if let Some(s) = Sample::find(name) {
            let n = s.name;
            d.help = Some(format!(
                "a sample has this name: `dmadbg sample open {n}` opens it, `dmadbg sample copy {n}` \
                 writes it to a file"
            ));
        }
    }
    report.into()
}

/// What the parts of the list are called: rings and modules that run, and the rest.
fn part(s: &Sample) -> &'static str {
    let among = |list: &[(&str, &str)]| list.iter().any(|l| l.0 == s.name);
    match s.name.rsplit_once('.') {
        _ if among(ERRORS) => "errors",
        _ if among(SCRIPTS) => "scripts",
        Some((_, "bir")) => "modules",
        _ => "rings",
    }
}

fn list(out: &mut Out<'_>) -> Result<Status, Failure> {
    let all: Vec<Sample> = Sample::all().collect();
    if out.json() {
        out.schema("samples", &json!({ "count": all.len() }))?;
        for s in &all {
            out.value(&json!({ "name": s.name, "part": part(s), "teaches": s.teaches() }))?;
        }
        return Ok(Status::Fine);
    }
    let widest = all.iter().map(|s| s.name.len()).max().unwrap_or(0);
    for name in ["rings", "modules", "errors", "scripts"] {
        let head = out.styled(Style::Bold, name);
        out.line(&head)?;
        for s in all.iter().filter(|s| part(s) == name) {
            out.line(&format!("  {:<widest$}  {}", s.name, s.summary()))?;
        }
    }
    out.line("")?;
    out.line("`dmadbg sample open NAME` opens one, `show` prints it, `copy` writes it to a file.")?;
    Ok(Status::Fine)
}

/// Opens the screen. There is no file behind it that could change or be written.
fn open(args: &SampleOpenArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let sample = find(&args.name)?;
    ui::check_terminal().map_err(Report::from)?;
    let config = config::load(args.no_init)?;
    args.commands.inline().for_each(|(name, text)| out.know(name, text));
    let scripts = Scripts::read(args.no_init, &args.commands);
    let lines = scripts.lines?;
    let blob = Blob::from_vec(sample.text.as_bytes().to_vec());
    let loaded = load_bytes(sample.name, blob, &LoadOptions::default())?;
    let policy = scripts.policy.over(&loaded.policy);
    let (source, notes) = (loaded.source, loaded.report.items);
    let mut title = Title { file: loaded.name, notes, policy, source };
    if let Some(m) = &loaded.module {
        title.notes.extend(m.diagnostics());
    }
    let Some(program) = loaded.program else {
        let d = Diagnostic::new("S010", "there is no program in this input");
        return Err(Report::from(d.in_file(sample.name)).into());
    };
    let mut session = Session::new(program);
    let refused = run_first(&mut session, &title, &lines, None)?;
    title.notes.extend(refused.clone());
    let mut options = Options::new(config);
    match args.color {
        When::Auto => {}
        When::Always => options.theme = options.theme.coloured(true),
        When::Never => options.theme = options.theme.coloured(false),
    }
    options.kept = state::load(args.no_init);
    let opening = Opening { refused, ..Opening::default() };
    match ui::run(session, title, options, opening, state::keep) {
        Ok(()) => Ok(Status::Fine),
        Err(ScreenError::Refused(d)) => Err(Report::from(*d).into()),
        Err(ScreenError::Io(e)) => Err(Failure::Io(e)),
    }
}

/// Writes samples below a directory. What is there already is left as it is where it says the
/// same, and never written over.
fn copy(args: &SampleCopyArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let chosen = match args.names.as_slice() {
        [] => Sample::all().collect(),
        names => names.iter().map(|n| find(n)).collect::<Result<Vec<_>, _>>()?,
    };
    let files: Vec<(&str, &str)> = chosen.iter().map(|s| (s.name, s.text)).collect();
    write_all(&args.output, &files)?;
    for (name, _) in &files {
        out.line(&crate::diag::render::printable(&args.output.join(name).to_string_lossy()))?;
    }
    Ok(Status::Fine)
}

/// Writes texts below a directory, which is made where it is missing. Nothing is written where
/// one of them would replace a file that says something else.
pub(super) fn write_all(dir: &Path, files: &[(&str, &str)]) -> Result<(), Report> {
    let mut report = Report::default();
    let mut missing = Vec::new();
    for (name, text) in files {
        let path = dir.join(name);
        match std::fs::read(&path) {
            Ok(old) if old == text.as_bytes() => {}
            Ok(_) => {
                let why = format!("`{}` is there already and says something else", path.display());
                let d = Diagnostic::new("S022", why).help("-o DIR writes elsewhere");
                report.push(d);
            }
            Err(e) if e.kind() == ErrorKind::NotFound => missing.push((path, text)),
            Err(e) => {
                let why = format!("cannot look at `{}`: {e}", path.display());
                report.push(Diagnostic::new("D007", why).in_file(&path.to_string_lossy()));
            }
        }
    }
    if report.has_errors() {
        return Err(report);
    }
    for (path, text) in missing {
        let parent = path.parent().unwrap_or(dir);
        std::fs::create_dir_all(parent).map_err(|e| {
            let name = parent.to_string_lossy();
            let why = format!("cannot make the directory `{name}`: {e}");
            Diagnostic::new("D007", why).in_file(&name)
        })?;
        save::save(&path, text.as_bytes())?;
    }
    Ok(())
}
