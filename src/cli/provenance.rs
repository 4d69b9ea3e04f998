//! `provenance`: from a slot, a bit, an address or a name to the source line, and back
//! (`docs/provenance.md`).

use super::args::ProvenanceArgs;
use super::inputs::{Depth, load};
use super::out::{Failure, Out, Status};
use crate::diag::{Diagnostic, Report};
use crate::engine::command::{Command, Goto, Subject};
use crate::engine::expr::Expr;
use crate::engine::session::Session;
use crate::script::parse_command;
use serde_json::json;

/// Runs `provenance`.
///
/// # Errors
/// [`Failure`] where the input or a subject cannot be understood.
pub fn run(args: &ProvenanceArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let subjects = subjects(&args.subjects)?;
    let loaded = load(&args.files, &args.rings, &args.module.options()?, Depth::Program)?;
    let mut report = loaded.report;
    if let Some(m) = &loaded.module {
        m.diagnostics().into_iter().for_each(|d| report.push(d));
        if report.has_errors() {
            out.findings(&report)?;
            return Ok(Status::Wrong);
        }
    }
    let Some(program) = loaded.program else {
        let why = "there is nothing to run in this input";
        report.push(Diagnostic::new("S010", why).in_file(&loaded.name));
        return Err(report.into());
    };
    let mut session = Session::new(program);
    let to = match args.at {
        Some(n) => Goto::Event(Expr::Num(n)),
        None => Goto::Mark("end".to_owned()),
    };
    session.execute(&Command::Goto(to)).map_err(Report::from)?;
    let answers = answer(&mut session, &subjects, out.json())?;
    if out.json() {
        let event = session.position();
        out.schema("provenance", &json!({ "file": loaded.name, "event": event }))?;
    }
    for line in answers {
        match line {
            Line::Text(text) => out.line(&crate::diag::render::printable(&text))?,
            Line::Json(value) => out.value(&value)?,
        }
    }
    out.findings(&report)?;
    Ok(Status::Fine)
}

enum Line {
    Text(String),
    Json(serde_json::Value),
}

/// The answers to all subjects.
///
/// # Errors
/// Every subject that stands for nothing.
fn answer(
    session: &mut Session,
    subjects: &[(String, Subject)],
    json: bool,
) -> Result<Vec<Line>, Report> {
    let mut lines = Vec::new();
    let mut wrong = Report::default();
    for (n, (text, subject)) in subjects.iter().enumerate() {
        let told = if json {
            session.provenance_json(subject).map(|all| {
                let with = |mut v: serde_json::Value| {
                    if let Some(o) = v.as_object_mut() {
                        o.insert("of".to_owned(), json!(text));
                    }
                    Line::Json(v)
                };
                all.into_iter().map(with).collect::<Vec<_>>()
            })
        } else {
            session.execute(&Command::Provenance(subject.clone())).map(|o| {
                let gap = (n > 0).then(String::new);
                gap.into_iter().chain(o.lines).map(Line::Text).collect()
            })
        };
        match told {
            Ok(told) => lines.extend(told),
            Err(d) => wrong.push(d),
        }
    }
    if wrong.is_empty() { Ok(lines) } else { Err(wrong) }
}

/// The subjects as the command language reads them.
///
/// # Errors
/// All that is wrong with them.
fn subjects(texts: &[String]) -> Result<Vec<(String, Subject)>, Report> {
    let mut out = Vec::new();
    let mut wrong = Report::default();
    for text in texts {
        match parse_command(&format!("provenance {text}")) {
            Ok(Some(Command::Provenance(subject))) => out.push((text.clone(), subject)),
            Ok(_) => wrong.push(Diagnostic::new("S011", format!("`{text}` is no subject"))),
            Err(all) => all.into_iter().for_each(|mut d| {
                // The place would count the verb that stands in front.
                d.place = crate::diag::Place::default();
                wrong.push(d);
            }),
        }
    }
    if wrong.is_empty() { Ok(out) } else { Err(wrong) }
}
