//! The command line: what is typed, completed, recalled and entered.

use super::{Effect, command, over};
use crate::engine::command::Command;
use crate::ui::model::Model;
use crate::ui::seams;
use tui_input::{Input, InputRequest};

pub(super) fn edit(model: &mut Model, request: InputRequest) {
    if let Some(p) = &mut model.palette {
        if p.input.handle(request).is_some_and(|c| c.value) {
            p.search();
        }
        return;
    }
    if over::edit(model, request) {
        return;
    }
    if let Some(line) = &mut model.line {
        line.input.handle(request);
        line.error = None;
        line.candidates.clear();
        line.back = 0;
    }
}

pub(super) fn enter(model: &mut Model) -> Vec<Effect> {
    let Some(line) = model.line.clone() else { return Vec::new() };
    // Carets point into the line as it stands.
    let raw = line.input.value().to_owned();
    let text = raw.trim().to_owned();
    if text.is_empty() {
        model.line = None;
        return Vec::new();
    }
    model.remember(&text);
    let replaces = line.replaces.clone();
    let mut effects = command(model, &raw);
    // Something else than a stop was entered: the old one stays.
    let sets = |e: &Effect| matches!(e, Effect::Run(c) if sets_a_stop(c));
    if let Some(by) = replaces.filter(|_| effects.iter().any(sets)) {
        effects.extend(by.then.iter().map(|c| Effect::Then(c.clone(), by.clone())));
    }
    effects
}

/// Whether a command sets a stop or a display.
fn sets_a_stop(c: &Command) -> bool {
    matches!(
        c,
        Command::Break { .. }
            | Command::Watch { .. }
            | Command::Catch { .. }
            | Command::Display { expr: Some(_), .. }
    )
}

pub(super) fn history(model: &mut Model, n: i64) {
    let Some(line) = &mut model.line else { return };
    if line.back == 0 {
        line.kept = line.input.value().to_owned();
    }
    let back = (line.back as i64 + n).clamp(0, model.history.len() as i64) as usize;
    if back == line.back {
        return;
    }
    line.back = back;
    let text = match back {
        0 => line.kept.clone(),
        _ => model.history[model.history.len() - back].clone(),
    };
    line.input = Input::new(text);
    line.error = None;
    line.candidates.clear();
}

pub(super) fn complete(model: &mut Model) -> Vec<Effect> {
    let Some(line) = &model.line else { return Vec::new() };
    let text = line.input.value().to_owned();
    let (start, found, file) = seams::complete(&model.session, &text);
    if file && found.is_empty() {
        return vec![Effect::Names(text[start..].to_owned())];
    }
    offer(model, start, found);
    Vec::new()
}

/// Files that may stand at the end of the line, if that still is what was asked for.
pub(super) fn files(model: &mut Model, begun: &str, found: Vec<String>) {
    let Some(line) = &model.line else { return };
    let text = line.input.value();
    if text.ends_with(begun) {
        offer(model, text.len() - begun.len(), found);
    }
}

/// Completes the line as far as all candidates agree, and shows them.
fn offer(model: &mut Model, start: usize, found: Vec<String>) {
    let Some(line) = &mut model.line else { return };
    let text = line.input.value().to_owned();
    let common = found.iter().skip(1).fold(found.first().cloned().unwrap_or_default(), |c, f| {
        c.chars().zip(f.chars()).take_while(|(a, b)| a == b).map(|p| p.0).collect()
    });
    if common.starts_with(&text[start..]) && !common.is_empty() {
        let whole = found.len() == 1 && !common.ends_with('/');
        let blank = if whole { " " } else { "" };
        line.input = Input::new(format!("{}{common}{blank}", &text[..start]));
    }
    line.error = None;
    line.candidates = if found.len() > 1 { found } else { Vec::new() };
}
