//! `grammars`: the grammars for editors (`docs/screen.md`, "Texts").

use super::args::GrammarsArgs;
use super::out::{Failure, Out, Status};
use super::sample::write_all;
use crate::ui::highlight::Language;
use serde_json::json;

/// Runs `grammars`: lists them, or writes them below a directory.
///
/// # Errors
/// [`Failure`]: another file of the name is there (S022), or it cannot be written (D007).
pub fn run(args: &GrammarsArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let name = |l: &Language| format!("{}.sublime-syntax", l.extension());
    let names: Vec<String> = Language::ALL.iter().map(name).collect();
    let row = |name: &str, l: Language, file: Option<&str>| {
        let extension = format!(".{}", l.extension());
        json!({ "name": name, "colours": extension, "file": file })
    };
    if out.json() {
        out.schema("grammars", &json!({ "count": names.len() }))?;
    }
    let Some(dir) = &args.output else {
        if out.json() {
            for (name, language) in names.iter().zip(Language::ALL) {
                out.value(&row(name, language, None))?;
            }
            return Ok(Status::Fine);
        }
        for (name, language) in names.iter().zip(Language::ALL) {
            out.line(&format!("{name}  colours .{}", language.extension()))?;
        }
        out.line("")?;
        out.line("`dmadbg grammars -o DIR` writes them where an editor looks for syntax files.")?;
        return Ok(Status::Fine);
    };
    let files: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(Language::ALL.map(Language::grammar)).collect();
    write_all(dir, &files)?;
    for (name, language) in names.iter().zip(Language::ALL) {
        let file = dir.join(name);
        let file = file.to_string_lossy();
        if out.json() {
            out.value(&row(name, language, Some(&file)))?;
        } else {
            out.line(&crate::diag::render::printable(&file))?;
        }
    }
    Ok(Status::Fine)
}
