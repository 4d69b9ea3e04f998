//! What commands ask of the world outside, pictures of the screen among it: for the screen itself
//! and for a script that has none (`docs/commands.md`, "Commands").

use super::model::{Model, Title};
use super::picture;
use super::theme::Theme;
use crate::diag::Diagnostic;
use crate::engine::command::{PICTURE_SIZE, PictureForm};
use crate::engine::session::{Effect, Session};
use crate::load::save;
use std::path::Path;

/// Does what a command on the screen asks; answers what was done.
///
/// # Errors
/// As [`save::carry_out`]; S022 where the file of a picture is there and is not to be written over.
pub fn of_screen(model: &mut Model, effect: &Effect) -> Result<String, Diagnostic> {
    match effect {
        Effect::Screenshot { file, form, size, over } => match size {
            None => write_picture(model, file, *form, *over),
            Some(size) => {
                let mut other = model.clone();
                other.size = *size;
                other.prepare();
                write_picture(&other, file, *form, *over)
            }
        },
        _ => {
            let file = model.title.file.clone();
            save::carry_out(&mut model.session, &file, effect)
        }
    }
}

/// The same of a session without a screen: a picture shows what a screen would that was opened
/// where the session stands.
///
/// # Errors
/// As [`of_screen`].
pub fn of_session(
    session: &mut Session,
    title: &Title,
    effect: &Effect,
) -> Result<String, Diagnostic> {
    let Effect::Screenshot { file: to, form, size, over } = effect else {
        return save::carry_out(session, &title.file, effect);
    };
    let size = size.unwrap_or(PICTURE_SIZE);
    let model = Model::new(session.clone(), title.clone(), Theme::default(), size);
    write_picture(&model, to, *form, *over)
}

fn write_picture(
    model: &Model,
    file: &str,
    form: PictureForm,
    over: bool,
) -> Result<String, Diagnostic> {
    let path = Path::new(file);
    if !over && std::fs::symlink_metadata(path).is_ok() {
        let d = Diagnostic::new("S022", format!("`{file}` is there already"));
        return Err(d.help("`screenshot!` writes over it"));
    }
    save::save(path, picture::of(model, form).as_bytes())?;
    let (w, h) = model.size;
    Ok(format!("the screen, {w}x{h}, written to `{file}`"))
}
