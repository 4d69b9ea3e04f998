//! `run`: a program and a script without the screen; here is how its outcome is printed
//! (`docs/json.md`, "events").

use super::out::{Failure, Out, Status};
use crate::diag::Report;
use serde_json::{Value, json};

/// What a headless run brings.
pub struct Outcome<'a> {
    /// Program's name.
    pub name: &'a str,
    /// What the commands printed, for text.
    pub transcript: &'a mut dyn Iterator<Item = String>,
    /// Every event, for JSON.
    pub events: &'a mut dyn Iterator<Item = Value>,
    /// What went wrong.
    pub report: &'a Report,
    /// Where the run ended, in one line.
    pub ended: String,
    /// Whether the script itself cannot be understood (2); else findings decide.
    pub unreadable: bool,
}

/// Prints an outcome and says how it ended: 2 where the script is wrong, 1 where an error is
/// among the findings, else 0.
///
/// # Errors
/// Those of the output.
pub fn print(outcome: Outcome<'_>, out: &mut Out<'_>) -> Result<Status, Failure> {
    if out.json() {
        out.schema("events", &json!({ "file": outcome.name }))?;
        for event in outcome.events {
            out.value(&event)?;
        }
    } else {
        for line in outcome.transcript {
            out.line(&line)?;
        }
        out.line(&outcome.ended)?;
    }
    out.findings(outcome.report)?;
    Ok(match outcome.report.has_errors() {
        _ if outcome.unreadable => Status::Unreadable,
        true => Status::Wrong,
        false => Status::Fine,
    })
}
