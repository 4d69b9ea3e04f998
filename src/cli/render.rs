//! `render`: the screen to a file, drawn as it would be on a terminal (`docs/screen.md`,
//! "Pictures").

use super::args::RenderArgs;
use super::out::{Failure, Out, Status};
use super::scripts::Scripts;
use crate::diag::{Diagnostic, Report};
use crate::engine::command::{Command, nearest};
use crate::load::save::carry_out;
use crate::script::runner::{self, End, Reply, Target};
use crate::ui::Model;
use crate::ui::picture::{self, Form};
use crate::ui::theme::{Palette, Theme};
use crate::ui::update::{Message, update_all};
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
    let (session, mut title) = super::browse(&args.files, &args.rings, &args.module)?;
    title.policy = scripts.policy.over(&title.policy);
    let mut screen = Screen(Model::new(session, title, theme, args.size));
    let end = runner::run(&mut screen, lines.iter(), &mut |_| {});
    let mut model = screen.0;
    for key in args.keys.iter().flat_map(|k| &k.0) {
        update_all(&mut model, Message::Key(*key));
    }
    let status = match end {
        End::Done => Status::Fine,
        End::Failed(d) => {
            out.findings(&Report::from(*d))?;
            Status::Wrong
        }
        End::Wrong(d) => return Err(Report::from(*d).into()),
    };
    let picture = picture::of(&model, form);
    super::convert::emit(picture.as_bytes(), args.output.as_deref(), out)?;
    Ok(status)
}

/// A model whose commands come from a script: each does what it would do on the screen.
struct Screen(Model);

impl Target for Screen {
    fn run(&mut self, command: &Command) -> Result<Reply, Diagnostic> {
        let quit = self.0.run(command, &mut |_, _| ControlFlow::Continue(()))?;
        for effect in std::mem::take(&mut self.0.asked) {
            let file = self.0.title.file.clone();
            carry_out(&mut self.0.session, &file, &effect)?;
        }
        // What the commands of stops do has been done on the screen.
        Ok(Reply { quit, ..Reply::default() })
    }

    fn event(&self) -> Option<u64> {
        Some(self.0.session.position())
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
