//! The help, made from the keymap and the command table, in parts.

use super::timeline;
use crate::diag::render::printable;
use crate::engine::command::{COMMANDS, Group};
use crate::engine::ring::Life;
use crate::ui::keymap::When;
use crate::ui::layout::{Pane, Texts};
use crate::ui::model::Model;
use crate::ui::rows::{Row, width, wrap};

/// A part of a text: its heading, and pieces that stand below it, each of which is shown whole or
/// not at all.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// The heading; empty where the text has none.
    pub title: String,
    /// The pieces.
    pub pieces: Vec<Vec<Row>>,
}

impl Part {
    fn new(title: impl Into<String>) -> Part {
        Part { title: title.into(), pieces: Vec::new() }
    }
}

/// Columns of the commands before what they do.
const COMMAND: usize = 40;

/// All of it, no wider than `room`.
pub fn parts(model: &Model, room: usize) -> Vec<Part> {
    let (texts, lesson) = (model.texts(), model.lesson.is_some());
    let module = texts == Texts::Module;
    let mut out = Vec::new();
    let places = [When::Lesson, When::Panes, When::Module, When::Ring]
        .into_iter()
        .filter(|w| (module || *w != When::Module) && (lesson || *w != When::Lesson))
        .chain(Pane::all(texts).map(When::In))
        .chain([When::Popup, When::Help, When::Sieve, When::Grid, When::Line, When::Palette]);
    out.extend(places.map(|when| keys(model, when, room)).filter(|p| !p.pieces.is_empty()));
    out.push(mouse(model, room));
    out.push(slot_line(model));
    if module {
        out.push(source_marks(model));
    }
    out.push(letters(model));
    let groups = Group::ALL
        .into_iter()
        .filter(|g| (module || *g != Group::Module) && (lesson || *g != Group::Learn));
    out.extend(groups.map(|g| commands(model, g, room)));
    out
}

/// The keys of a place: which, what they do, and the command that one stands for.
fn keys(model: &Model, when: When, room: usize) -> Part {
    let t = model.theme;
    let mut out = Part::new(format!("keys: {}", when.name()));
    let lines: Vec<(String, &str, String)> = model
        .keys
        .lines(when)
        .into_iter()
        .map(|(keys, what, c)| {
            (keys, what, c.map_or(String::new(), |c| printable(&format!(":{c}"))))
        })
        .collect();
    let first = 4 + lines.iter().map(|l| width(&l.0)).max().unwrap_or(0);
    let third = lines.iter().map(|l| width(&l.2)).max().unwrap_or(0);
    let with = lines.iter().filter(|l| !l.2.is_empty());
    // The commands stand below each other where both have room.
    let what_room = room.saturating_sub(first).max(8);
    let second = with.map(|l| width(l.1)).max().unwrap_or(0);
    let second = second.min(what_room.saturating_sub(third + 2));
    for (keys, what, command) in lines {
        let mut row = Row::text(format!("  {keys}"), t.accent());
        row.pad_to(first);
        let mut piece = Vec::new();
        let beside = !command.is_empty() && width(what) <= second;
        for (k, line) in wrap(what, what_room).into_iter().enumerate() {
            if k > 0 {
                piece.push(std::mem::replace(&mut row, Row::text(" ".repeat(first), t.text())));
            }
            row.push(line, t.text());
        }
        if beside {
            row.pad_to(first + second + 2);
        } else if !command.is_empty() {
            piece.push(std::mem::replace(&mut row, Row::text(" ".repeat(first + 2), t.text())));
        }
        row.push(command, t.dim());
        piece.push(row);
        out.pieces.push(piece);
    }
    out
}

fn mouse(model: &Model, room: usize) -> Part {
    let t = model.theme;
    let mut out = Part::new("mouse");
    for line in [
        "click a slot, a bit, an event or a finding to select it; a selected event again to go there",
        "the wheel scrolls what is under it",
    ] {
        let lines = wrap(line, room.saturating_sub(2));
        out.pieces.push(lines.iter().map(|l| Row::text(format!("  {l}"), t.text())).collect());
    }
    out
}

fn slot_line(model: &Model) -> Part {
    let t = model.theme;
    let mut out = Part::new("a slot's line");
    for life in Life::ALL {
        let name = if life == Life::NeverWritten { "never written" } else { life.name() };
        let row = Row::text(format!("  {}  ", life.glyph(t.ascii)), t.life(life));
        out.pieces.push(vec![row.with(name, t.life(life))]);
    }
    marks(
        model,
        &mut out,
        &[
            (t.cursor(), "the engine's head: it retires this slot next"),
            ('t', "the tail: doorbells have posted up to here"),
            ('n', "next_desc_idx: the slot handed out next"),
            ('*', "changed since the last stop"),
            ('B', "a breakpoint (b: disabled)"),
            ('W', "a watchpoint on its bytes (w: disabled)"),
        ],
    );
    out
}

/// What stands before a line of a module's text.
fn source_marks(model: &Model) -> Part {
    let t = model.theme;
    let mut out = Part::new("a line of a module's text");
    marks(
        model,
        &mut out,
        &[
            ('+', "the stage before has nothing for it"),
            ('~', "another line stood there for the same"),
            ('B', "a breakpoint is about it (b: disabled)"),
            (if t.ascii { '*' } else { '◆' }, "it stems from the selected instruction"),
            (t.cursor(), "the sequencer of this name is at it"),
            (t.waits(), "the sequencer of this name comes to it next"),
        ],
    );
    out
}

fn marks(model: &Model, out: &mut Part, all: &[(char, &str)]) {
    let t = model.theme;
    let one = |(mark, text): &(char, &str)| {
        vec![Row::text(format!("  {mark}  "), t.accent()).with(*text, t.text())]
    };
    out.pieces.extend(all.iter().map(one));
}

/// The letters in the lanes of the timeline.
fn letters(model: &Model) -> Part {
    let mut out = Part::new("a column of the timeline that is one event");
    let all: Vec<(char, &str)> = timeline::letters().collect();
    marks(model, &mut out, &all);
    out
}

fn commands(model: &Model, group: Group, room: usize) -> Part {
    let t = model.theme;
    let mut out = Part::new(format!("commands: {}", group.title()));
    for c in COMMANDS.iter().filter(|c| c.group == group) {
        let mut row = Row::text(format!("  {}", c.name), t.accent());
        // The arguments of some are longer than a line.
        let name = row.width() + 1;
        let mut usage = wrap(c.usage, room.saturating_sub(name).max(8)).into_iter();
        row.push(format!(" {}", usage.next().unwrap_or_default()), t.dim());
        let mut piece = Vec::new();
        for more in usage {
            piece.push(std::mem::replace(&mut row, Row::text(" ".repeat(name), t.dim())));
            row.push(more, t.dim());
        }
        if !piece.is_empty() || row.width() + 1 > COMMAND || room < COMMAND + width(c.summary) {
            piece.push(row);
            for l in wrap(c.summary, room.saturating_sub(8)) {
                piece.push(Row::text(format!("        {l}"), t.text()));
            }
        } else {
            row.pad_to(COMMAND);
            row.push(c.summary, t.text());
            piece.push(row);
        }
        out.pieces.push(piece);
    }
    out
}
