//! `render`: the screen to a file, drawn as it would be on a terminal (`docs/screen.md`,
//! "Pictures").

use super::args::RenderArgs;
use super::out::{Failure, Out, Status};
use super::scripts::Scripts;
use crate::diag::{Diagnostic, Policy, Report};
use crate::engine::command::{Command, nearest};
use crate::engine::session::{Effect, Session};
use crate::script::runner::{self, End, Lines, Reply, Target};
use crate::ui::picture::{self, Form};
use crate::ui::theme::{Palette, Theme};
use crate::ui::update::{Message, update_all};
use crate::ui::{Model, outside};
use crossterm::event::KeyEvent;
use std::ops::ControlFlow;

/// Runs `render`.
///
/// # Errors
/// [`Failure`] where the input, the script or an option cannot be understood.
pub fn run(args: &RenderArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let theme = theme(args).map_err(Report::from)?;
    let form = form(args).map_err(Report::from)?;
    let scripts = Scripts::read(true, &args.commands);
    let lines = scripts.lines?;
    let (model, status) = drawn(args, (&lines, &scripts.policy), theme, None, out)?;
    let picture = picture::of(&model, form);
    super::convert::emit(picture.as_bytes(), args.output.as_deref(), out)?;
    Ok(status)
}

/// The picture of a file test: text, after these lines and the keys of the options. Nothing is
/// written, and all of it may pass `events` events.
///
/// # Errors
/// As [`run`].
pub fn of_test(
    args: &RenderArgs,
    (lines, policy): (&Lines, &Policy),
    events: u64,
    out: &mut Out<'_>,
) -> Result<Status, Failure> {
    let theme = theme(args).map_err(Report::from)?;
    let (model, status) = drawn(args, (lines, policy), theme, Some(events), out)?;
    for line in picture::of(&model, Form::Text).lines() {
        out.line(line)?;
    }
    Ok(status)
}

/// The screen after the lines and the keys. In a test it may pass so many events, and writes
/// nothing.
fn drawn(
    args: &RenderArgs,
    (lines, policy): (&Lines, &Policy),
    theme: Theme,
    events: Option<u64>,
    out: &mut Out<'_>,
) -> Result<(Model, Status), Failure> {
    let (program, mut title) = super::browse(&args.files, &args.rings, &args.module, false)?;
    let mut session = Session::new(program);
    title.policy = policy.over(&title.policy);
    let keys: Vec<_> = args.keys.iter().flat_map(|k| &k.0).collect();
    if let Some(events) = events {
        // Each command has its part of them.
        session = session.bounded(events / (lines.len() + keys.len() + 1) as u64);
    }
    let beginning = if lines.is_empty() { super::as_it_lies(&mut session) } else { None };
    let model = Model::new(session, title, theme, args.size);
    let mut screen = Screen { model, writes: events.is_none() };
    let end = runner::run(&mut screen, beginning.into_iter().chain(lines.iter()), &mut |_| {});
    for key in keys {
        screen.press(*key)?;
    }
    let model = screen.model;
    let status = match end {
        End::Done => Status::Fine,
        End::Failed(d) => {
            out.findings(&Report::from(*d))?;
            Status::Wrong
        }
        End::Wrong(d) => return Err(Report::from(*d).into()),
    };
    Ok((model, status))
}

/// A model whose commands come from a script: each does what it would do on the screen.
struct Screen {
    model: Model,
    /// Whether files may be written.
    writes: bool,
}

impl Screen {
    /// Presses a key; what is refused stands on the screen.
    fn press(&mut self, key: KeyEvent) -> Result<(), Report> {
        update_all(&mut self.model, Message::Key(key));
        for effect in self.asked()? {
            match outside::of_screen(&mut self.model, &effect) {
                Ok(done) => self.model.say(done, None),
                Err(d) => self.model.refuse(d),
            }
        }
        Ok(())
    }

    /// What is asked of the world outside, where that may be done.
    fn asked(&mut self) -> Result<Vec<Effect>, Diagnostic> {
        let asked = std::mem::take(&mut self.model.asked);
        match asked.first().filter(|_| !self.writes) {
            Some(effect) => {
                let text = format!("`{}`: a file test writes nothing", effect.file());
                Err(Diagnostic::new("S033", text))
            }
            None => Ok(asked),
        }
    }
}

impl Target for Screen {
    fn run(&mut self, command: &Command) -> Result<Reply, Diagnostic> {
        let quit = self.model.run(command, &mut |_, _| ControlFlow::Continue(()))?;
        for effect in self.asked()? {
            outside::of_screen(&mut self.model, &effect)?;
        }
        // What the commands of stops do has been done on the screen.
        Ok(Reply { quit, ..Reply::default() })
    }

    fn event(&self) -> Option<u64> {
        Some(self.model.session.position())
    }
}

fn form(args: &RenderArgs) -> Result<Form, Diagnostic> {
    let Some(name) = &args.to else {
        let ext = args.output.as_ref().and_then(|p| p.extension()?.to_str());
        return Ok(ext.and_then(Form::of_extension).unwrap_or(Form::Text));
    };
    let found = Form::ALL.into_iter().find(|f| f.name() == name);
    found.ok_or_else(|| unknown("form of a picture", name, &Form::ALL.map(Form::name)))
}

fn theme(args: &RenderArgs) -> Result<Theme, Diagnostic> {
    let found = Palette::ALL.into_iter().find(|p| p.name() == args.theme);
    let names = Palette::ALL.map(Palette::name);
    let palette = found.ok_or_else(|| unknown("theme", &args.theme, &names))?;
    Ok(Theme { palette, ascii: args.ascii, ..Theme::default() })
}

/// A name that is none of those known.
fn unknown(what: &str, name: &str, known: &[&str]) -> Diagnostic {
    let d = Diagnostic::new("S011", format!("`{name}` is no {what}"));
    match nearest(name, known.iter().copied()).first() {
        Some(n) => d.help(format!("did you mean `{n}`?")),
        None => d.help(format!("known: {}", known.join(", "))),
    }
}
