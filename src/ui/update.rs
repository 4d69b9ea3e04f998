//! Messages to the model. Pure: what has to be done outside comes back as effects.

mod around;
mod line;
mod mouse;
mod over;

use super::arrange::{self, Edge};
use super::copy::CopyForm;
use super::keymap::{Action, Key, Meaning, Mode};
use super::layout::Pane;
use super::links::Subject;
use super::live::Fresh;
use super::model::{CommandLine, Model, Popup};
use super::palette::{Chosen, Palette};
use super::reload::{Comparison, Notice};
use super::stops::Replaces;
use super::{seams, view};
use crate::diag::Severity;
use crate::engine::command::Command;
use crate::script;
use around::{columns, focus, queue, rows, scroll_inspector};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, MouseEvent};
use line::{complete, edit, enter, files, history};
use mouse::mouse;
use tui_input::{Input, InputRequest};

/// What happens to the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// A key.
    Key(KeyEvent),
    /// The mouse.
    Mouse(MouseEvent),
    /// A new size: columns, rows.
    Resize(u16, u16),
    /// Text pasted.
    Paste(String),
    /// Names of files that begin as asked for ([`Effect::Names`]), folders with `/` behind them.
    Names(String, Vec<String>),
    /// What became of the files.
    Files(Notice),
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Run a command ([`Model::run`]); it may take long.
    Run(Command),
    /// Run a command after the one before, if that has set a stop anew.
    Then(Command, Replaces),
    /// Leave.
    Quit,
    /// Hand a text to the clipboard of the terminal.
    Copy(String),
    /// Name the files whose names begin so.
    Names(String),
    /// Stop the process until it is continued.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Go on with another program ([`Model::take_up`]); it may take long.
    TakeUp(Box<Fresh>),
    /// Tell how two programs differ, by [`Notice::Compared`].
    Compare(Comparison),
}

/// Characters of a pasted text that are taken.
const MAX_PASTE: usize = 4096;
/// Lines that the wheel moves.
const WHEEL: i64 = 3;

/// Changes the model by a message.
pub fn update(model: &mut Model, message: Message) -> Vec<Effect> {
    let looked = |m: &Model| (m.queue(), m.selection.dir, m.selection.slot);
    let before = (looked(model), model.source.selected);
    let warned = model.warned;
    // What the user does otherwise while the mouse drags ends that, and so does another program; not
    // what is only told.
    let goes_on = match &message {
        Message::Mouse(_) | Message::Resize(..) => true,
        Message::Files(notice) => !matches!(notice, Notice::Loaded { .. }),
        Message::Key(_) | Message::Paste(_) | Message::Names(..) => false,
    };
    if !goes_on {
        model.let_go();
    }
    let (from, event) = (model.spot(), model.event_cursor);
    let cursors = model.cursors_now();
    let over_before = model.over();
    (model.landing, model.jump_from) = (None, None);
    let effects = match message {
        Message::Key(e) if e.kind != KeyEventKind::Release => key(model, &e),
        Message::Key(_) => Vec::new(),
        Message::Mouse(e) => mouse(model, e),
        Message::Resize(w, h) => {
            model.size = (w, h);
            Vec::new()
        }
        Message::Files(notice) => model.notice(notice),
        Message::Paste(text) => {
            for c in text.chars().filter(|c| !c.is_control()).take(MAX_PASTE) {
                edit(model, InputRequest::InsertChar(c));
            }
            Vec::new()
        }
        Message::Names(begun, found) => {
            files(model, &begun, found);
            Vec::new()
        }
    };
    model.settle_sieve(over_before);
    // What was asked for is the next thing that comes, or it is not meant.
    model.warned &= !warned;
    model.take_subject(cursors);
    // Another slot is looked at, and no instruction was selected for it.
    let other = looked(model) != before.0 && model.source.selected == before.1;
    if other && !matches!(model.focus, Pane::Source | Pane::Passes) {
        model.slot_to_source();
        model.assembly.seek = Some(super::assembly::Seek::Slot);
    }
    if model.event_cursor != event && model.focus == Pane::Events {
        model.assembly.seek = Some(super::assembly::Seek::Event);
    }
    model.prepare();
    // A jump that a command is still to make ends with it.
    if effects.is_empty()
        && let Some(from) = model.jump_from.take()
    {
        model.leave(from);
    } else if model.jump_from.is_some() {
        model.jump_from = Some(from);
    }
    effects
}

/// Changes the model and carries out what needs no outside, to the end. False means leave.
/// For tests and for programs without a terminal.
pub fn update_all(model: &mut Model, message: Message) -> bool {
    let mut goes_on = true;
    for effect in update(model, message) {
        match effect {
            Effect::Run(command) => {
                goes_on &=
                    !finish(model, &command, &mut |_, _| std::ops::ControlFlow::Continue(()));
            }
            Effect::Then(command, by) if model.is_replaced(&by) => {
                finish(model, &command, &mut |_, _| std::ops::ControlFlow::Continue(()));
            }
            Effect::Then(..) => {}
            Effect::Quit => goes_on = false,
            Effect::TakeUp(fresh) => {
                let (quits, compare) =
                    take_up(model, *fresh, &mut |_, _| std::ops::ControlFlow::Continue(()));
                goes_on &= !quits;
                if let Some(Effect::Compare(asked)) = compare {
                    model.notice(asked.answer());
                }
            }
            Effect::Compare(_)
            | Effect::Copy(_)
            | Effect::Names(_)
            | Effect::Suspend
            | Effect::Redraw => {}
        }
    }
    goes_on
}

/// Goes on with another program and shows what came of it: whether to leave, and what is to be
/// done further.
pub fn take_up(
    model: &mut Model,
    fresh: Fresh,
    watch: &mut dyn FnMut(&Model, crate::engine::session::Progress) -> std::ops::ControlFlow<()>,
) -> (bool, Option<Effect>) {
    match model.take_up(fresh, watch) {
        Ok(done) => done,
        Err(d) => {
            model.refuse(d);
            model.prepare();
            (false, None)
        }
    }
}

/// Runs a command and shows what came of it; true means leave.
pub fn finish(
    model: &mut Model,
    command: &Command,
    watch: &mut dyn FnMut(&Model, crate::engine::session::Progress) -> std::ops::ControlFlow<()>,
) -> bool {
    let from = model.spot();
    match model.run(command, watch) {
        Ok(quit) => {
            // The line has done its work.
            model.line = None;
            model.prepare();
            model.after_command(command, from);
            quit
        }
        Err(d) => {
            model.stay_put();
            // Carets point into the line as it stands.
            let typed = model.line.as_ref().map(|l| l.input.value().to_owned());
            model.refuse(typed.map_or(d.clone(), |text| script::pinned(d, &text)));
            model.prepare();
            false
        }
    }
}

/// What has the keys.
pub fn mode(model: &Model) -> Mode {
    if model.palette.is_some() {
        Mode::Palette
    } else if model.popup.is_some() && model.sieve.typing {
        Mode::Sieve
    } else if shows_help(model) {
        Mode::Help
    } else if model.popup.is_some() {
        Mode::Popup
    } else if model.grid.is_some() {
        Mode::Grid
    } else if model.line.is_some() {
        Mode::Line
    } else {
        match model.has_module() {
            true => Mode::Module(model.focus),
            false => Mode::Panes(model.focus),
        }
    }
}

fn key(model: &mut Model, e: &KeyEvent) -> Vec<Effect> {
    let key = Key::of(e);
    let mode = mode(model);
    let keys = std::sync::Arc::clone(&model.keys);
    match keys.find(key, mode, model.lesson.is_some()) {
        Some(Meaning::Command(text)) => {
            let effects = command(model, text);
            if effects == [Effect::Run(Command::Quit)] && model.keeps_back() {
                return Vec::new();
            }
            effects
        }
        Some(Meaning::Act(action)) => act(model, action),
        // What an answer does not know closes it, and does what it does without one.
        None if matches!(mode, Mode::Popup | Mode::Help) => {
            let closed = model.popup.take();
            if keys.find(key, self::mode(model), model.lesson.is_some()).is_some() {
                return self::key(model, e);
            }
            model.popup = closed;
            Vec::new()
        }
        None => {
            if let (Mode::Line | Mode::Palette | Mode::Sieve, KeyCode::Char(c), false) =
                (mode, key.code, key.ctrl)
            {
                edit(model, InputRequest::InsertChar(c));
            }
            Vec::new()
        }
    }
}

/// The command of a text; a text that is none is shown as refused.
fn command(model: &mut Model, text: &str) -> Vec<Effect> {
    match seams::parse(text) {
        Ok(c) => vec![Effect::Run(c)],
        Err(d) => {
            model.refuse(d);
            Vec::new()
        }
    }
}

fn act(model: &mut Model, action: Action) -> Vec<Effect> {
    if super::jumps::action_jumps(action) {
        model.jump_from = Some(model.spot());
    }
    if action == Action::SelectInst {
        model.subject = Subject::Line;
    }
    match action {
        Action::OpenGrid => match model.make_grid() {
            Ok(grid) => model.grid = Some(grid),
            Err(why) => model.say(why, Some(Severity::Note)),
        },
        Action::GridStep(by) => model.grid.iter_mut().for_each(|g| g.step(by)),
        Action::GridTurn(by) => model.grid.iter_mut().for_each(|g| g.turn(by)),
        Action::GridOrder => model.grid.iter_mut().for_each(|g| g.order = !g.order),
        Action::GridScale(by) => {
            model.grid.iter_mut().for_each(|g| g.zoom = (g.zoom + by).clamp(-32, 32));
        }
        Action::Jump(by) => {
            let way = model.jump(by);
            return way.iter().flat_map(|text| command(model, text)).collect();
        }
        Action::Jumps => {
            let at = model.jumps.len().0;
            model.popup = Some((Popup::Jumps(at), 0));
        }
        Action::Choose => {
            if let Some((Popup::Jumps(at), _)) = model.popup.take() {
                let way = model.jump_to(at);
                return way.iter().flat_map(|text| command(model, text)).collect();
            }
        }
        Action::Rows(n) => rows(model, n),
        Action::Page(n) if model.focus == Pane::Timeline && mode(model).is_panes() => {
            model.page_time(n);
        }
        Action::Edge(n) if model.focus == Pane::Timeline && mode(model).is_panes() => {
            let text = model.edge_of_time(n);
            return command(model, &text);
        }
        Action::SwitchStop => return of_stop(model, model.switch_stop()),
        Action::DeleteStop => return of_stop(model, model.delete_stop()),
        Action::EditStop => match model.edit_stop() {
            Some((text, replaces)) => {
                write_line(model, &text);
                if let Some(line) = &mut model.line {
                    line.replaces = Some(replaces);
                }
            }
            None => model.say("there are no stops", None),
        },
        Action::TimeZoom(n) => model.zoom_time(n),
        Action::TimeColumns(n) => {
            let text = model.columns_of_time(n);
            return text.map_or_else(Vec::new, |text| command(model, &text));
        }
        Action::Page(n) if model.focus == Pane::Inspector && mode(model).is_panes() => {
            scroll_inspector(model, n * page(model));
        }
        Action::Page(n) => rows(model, n * page(model)),
        Action::HalfPage(n) => rows(model, n * (page(model) / 2).max(1)),
        Action::Edge(n) if model.focus == Pane::Memory && mode(model).is_panes() => {
            let len = view::memory_target(model).map_or(1, |t| t.1);
            model.memory_at = if n < 0 { 0 } else { len.saturating_sub(1) as i64 };
        }
        Action::Edge(n) => rows(model, n.saturating_mul(i64::MAX / 2)),
        Action::Columns(n) => columns(model, n),
        Action::WordEdge(n) => {
            let (word, _) = model.bit();
            model.selection.bit = if n < 0 { word.bits() - 1 } else { 0 };
        }
        Action::Focus(n) => {
            let ring = Pane::of_ring(model.selection.dir);
            focus(model, model.focus.step(n as isize, ring, model.texts()));
        }
        Action::Queue(n) => return queue(model, n),
        Action::ToggleBreak => {
            return match model.break_toggle() {
                Some(text) => command(model, &text),
                None => {
                    model.say(model.no_break_here(), None);
                    Vec::new()
                }
            };
        }
        Action::ToggleWatch => {
            return match model.watch_toggle() {
                Some(text) => command(model, &text),
                None => {
                    model.say("the selected slot has no address to watch", None);
                    Vec::new()
                }
            };
        }
        Action::FollowByte => model.follow_byte(),
        Action::FieldLesson => model.field_lesson(),
        Action::FlipBit => return flip_bit(model),
        Action::SelectInst if model.focus == Pane::Passes => model.pass_enter(),
        Action::SelectInst if model.has_assembly() => model.assembly_enter(),
        Action::SelectInst => model.source_to_slot(),
        Action::TogglePasses => model.toggle_passes(),
        Action::Prove => model.prove(),
        Action::GotoSelected => {
            let event = match model.focus {
                Pane::Budget => {
                    model.budget_to_place();
                    None
                }
                Pane::Stops => {
                    let text = model.stop_to_place();
                    return text.map_or_else(Vec::new, |text| command(model, &text));
                }
                Pane::Checks => {
                    let place = model.findings().nth(model.check_cursor).map(|d| d.place.clone());
                    if let Some(slot) = place.as_ref().and_then(|p| p.slot) {
                        model.select_slot(Some(slot.dir), slot.index);
                    }
                    place.and_then(|p| p.event)
                }
                _ => Some(model.event_cursor),
            };
            if let Some(n) = event {
                return command(model, &format!("goto {n}"));
            }
        }
        Action::OtherRing => {
            let other = model.selection.dir.other();
            model.select_slot(Some(other), model.selection.slot);
        }
        Action::ToggleLock => model.toggle_lock(),
        Action::ToggleFold if model.focus == Pane::Passes => model.fold_passes(),
        Action::ToggleFold => model.toggle_fold(),
        Action::ToggleFollow => {
            model.follow = !model.follow;
            let text = if model.follow {
                "the selection follows the newest event"
            } else {
                "the selection stays"
            };
            model.say(text, None);
        }
        Action::NextPalette => {
            model.theme.palette = model.theme.palette.next();
            model.say(format!("colours: {}", model.theme.palette.name()), None);
        }
        Action::OpenLine => model.line = Some(CommandLine::default()),
        Action::WriteLine(text) => write_line(model, text),
        Action::Match(n) => model.go_to_match(n),
        Action::ToggleOnly => model.toggle_only(),
        Action::Zoom => model.arrangement.zoom = !model.arrangement.zoom,
        Action::Grow(w, h) => grow(model, w, h),
        Action::Preset(i) => preset(model, i),
        Action::Copy(form) => return copy(model, form),
        Action::OpenPalette => {
            model.palette = Some(Palette::new(model.has_module(), model.lesson.is_some()));
        }
        Action::WriteChosen => write_chosen(model),
        Action::Close => {
            let closed = model.palette.take().is_some()
                || model.popup.take().is_some()
                || model.grid.take().is_some()
                || model.line.take().is_some();
            if !closed {
                model.said = None;
            }
        }
        Action::OpenSieve => model.open_sieve(),
        Action::KeepSieve => model.sieve.typing = false,
        Action::DropSieve => over::back(model),
        Action::Heading(by) => over::part(model, by),
        Action::Suspend => return vec![Effect::Suspend],
        Action::Redraw => return vec![Effect::Redraw],
        Action::Enter if model.palette.is_some() => return choose(model),
        Action::Enter => return enter(model),
        Action::History(n) => history(model, n),
        Action::Complete => return complete(model),
        Action::Cursor(n) => {
            edit(model, if n < 0 { InputRequest::GoToPrevChar } else { InputRequest::GoToNextChar })
        }
        Action::CursorEdge(n) => {
            edit(model, if n < 0 { InputRequest::GoToStart } else { InputRequest::GoToEnd });
        }
        Action::Backspace if over::backspace(model) => {}
        Action::Backspace => {
            let empty = |i: &Input| i.value().is_empty();
            if model.palette.as_ref().is_some_and(|p| empty(&p.input)) {
                model.palette = None;
            } else if model.palette.is_none()
                && model.line.as_ref().is_some_and(|l| empty(&l.input))
            {
                model.line = None;
            } else {
                edit(model, InputRequest::DeletePrevChar);
            }
        }
        Action::DeleteChar => edit(model, InputRequest::DeleteNextChar),
        Action::DeleteWord => edit(model, InputRequest::DeletePrevWord),
        Action::DeleteToStart => edit(model, InputRequest::DeleteFromStart),
    }
    Vec::new()
}

/// The command about the selected stop, or why there is none.
fn of_stop(model: &mut Model, text: Result<String, &'static str>) -> Vec<Effect> {
    match text {
        Ok(text) => command(model, &text),
        Err(why) => {
            model.say(why, None);
            Vec::new()
        }
    }
}

/// Changes the selected bit of the selected descriptor in the run.
fn flip_bit(model: &mut Model) -> Vec<Effect> {
    let (Some((desc, _)), (word, bit)) = (model.desc(), model.bit()) else { return Vec::new() };
    let (dir, slot) = (model.selection.dir, model.selection.slot);
    let value = desc.word(word) ^ 1 << bit;
    model.about_to_flip();
    command(model, &format!("set {dir}[{slot}].{} = {value:#x}", word.name()))
}

/// Rows of a page of what has the focus.
fn page(model: &Model) -> i64 {
    let rows = match mode(model) {
        Mode::Popup | Mode::Help | Mode::Sieve | Mode::Grid => i64::from(model.size.1) - 7,
        _ => model.derived.areas.rows(model.focus) as i64 - 2,
    };
    rows.max(1)
}

/// Copies what is selected, and says how much that was.
fn copy(model: &mut Model, form: CopyForm) -> Vec<Effect> {
    let Some(text) = model.copied(form) else {
        let text = format!("what is selected here is not copied as {}", form.name());
        model.say(text, Some(Severity::Note));
        return Vec::new();
    };
    let said = match (text.lines().next(), text.lines().count()) {
        (Some(first), n @ 2..) => format!("copied as {}, {n} lines: {first}", form.name()),
        _ => format!("copied as {}: {text}", form.name()),
    };
    model.say(said, None);
    vec![Effect::Copy(text)]
}

/// Does what the selected entry of the palette says.
fn choose(model: &mut Model) -> Vec<Effect> {
    let Some(p) = model.palette.take() else { return Vec::new() };
    let Some(entry) = p.selected() else { return Vec::new() };
    match entry.chosen {
        Chosen::Run(text) => command(model, text),
        Chosen::Write(name) => {
            write_line(model, &format!("{name} "));
            Vec::new()
        }
        Chosen::Act(action) => act(model, action),
    }
}

/// Writes the selected command of the palette into the command line.
fn write_chosen(model: &mut Model) {
    let Some(p) = &model.palette else { return };
    let text = match p.selected().map(|e| e.chosen) {
        Some(Chosen::Run(text) | Chosen::Write(text)) => format!("{text} "),
        Some(Chosen::Act(_)) | None => return,
    };
    model.palette = None;
    write_line(model, &text);
}

/// Opens the command line with a text in it.
fn write_line(model: &mut Model, text: &str) {
    let input = Input::new(text.to_owned());
    model.line = Some(CommandLine { input, ..CommandLine::default() });
}

/// Moves the borders of the pane with the focus.
fn grow(model: &mut Model, w: i16, h: i16) {
    let edges = arrange::edges(model.focus, model.has_module());
    for ((edge, sign), by) in edges.into_iter().zip([w, h]).filter(|e| e.1 != 0) {
        let moved = model.arrangement.moved(edge);
        move_border(model, edge, moved.saturating_add(sign * by));
    }
}

/// Moves a border so far from where it is by itself, or as far as it goes.
fn move_border(model: &mut Model, edge: Edge, moved: i16) {
    model.arrangement.set(edge, moved);
    model.prepare();
    if let Some(border) = model.derived.areas.borders.iter().find(|b| b.edge == edge) {
        model.arrangement.settle(border);
    }
}

fn preset(model: &mut Model, i: usize) {
    if let Some((name, arrangement)) = arrange::PRESETS.get(i) {
        model.arrangement = *arrangement;
        model.say(format!("panes: {name}"), None);
    }
}

/// Whether the popup is the help.
pub fn shows_help(model: &Model) -> bool {
    matches!(model.popup, Some((Popup::Help, _)))
}
