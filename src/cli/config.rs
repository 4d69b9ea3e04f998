//! The configuration file: where it lies, reading it, and `config`, which prints what is in
//! effect (`docs/config.md`).

use super::args::ConfigArgs;
use super::out::{Failure, Out, Status};
use crate::diag::{Diagnostic, Report};
use crate::limits::MAX_CONFIG_BYTES;
use crate::ui::Config;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The folder of the user's settings: `dmadbg` in `$XDG_CONFIG_HOME`, else in `~/.config`;
/// none where neither is known.
pub fn folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(config.join("dmadbg"))
}

/// What the user has set; the defaults where there is no file, or where it is to be skipped.
///
/// # Errors
/// Everything that is wrong with the file.
pub fn load(skip: bool) -> Result<Config, Report> {
    let file = if skip { None } else { folder().map(|f| f.join("config.toml")) };
    match file.filter(|f| f.is_file()) {
        Some(file) => read(&file),
        None => Ok(Config::default()),
    }
}

fn read(file: &Path) -> Result<Config, Report> {
    let name = file.to_string_lossy();
    let wrong = |text: String| Report::from(Diagnostic::new("S029", text).in_file(&name));
    let source = crate::load::source::open(file).map_err(|d| wrong(d.message))?;
    if source.blob.len() as u64 > MAX_CONFIG_BYTES {
        return Err(wrong(format!("the file is larger than {MAX_CONFIG_BYTES} bytes")));
    }
    let text = String::from_utf8(source.blob.bytes().to_vec());
    let text = text.map_err(|_| wrong("the file is not UTF-8 text".to_owned()))?;
    Config::parse(&text).map_err(|r| r.in_file(&name))
}

/// Runs `config`.
///
/// # Errors
/// [`Failure`] where the file is wrong.
pub fn run(args: &ConfigArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let own = folder().map(|f| f.join("config.toml"));
    let config = match &args.file {
        Some(file) => read(file)?,
        None => load(false)?,
    };
    let said = match (&args.file, &own) {
        (Some(file), _) => file.to_string_lossy().into_owned(),
        (None, Some(file)) if file.is_file() => file.to_string_lossy().into_owned(),
        (None, Some(file)) => {
            format!("{} (it is not there: these are the defaults)", file.display())
        }
        (None, None) => {
            "neither XDG_CONFIG_HOME nor HOME is set: these are the defaults".to_owned()
        }
    };
    if out.json() {
        let file = args.file.as_ref().or(own.as_ref()).map(|f| f.to_string_lossy().into_owned());
        let read = args.file.is_some() || own.as_ref().is_some_and(|f| f.is_file());
        out.schema("config", &json!({ "file": file, "read": read }))?;
        for value in config.to_json() {
            out.value(&value)?;
        }
        return Ok(Status::Fine);
    }
    out.line(&format!("# {}", crate::diag::render::printable(&said)))?;
    for line in config.to_toml().lines() {
        out.line(line)?;
    }
    Ok(Status::Fine)
}
