//! `gen`: modules out of a number, with what their memory holds at the start (`docs/verify.md`,
//! "Generated modules").

use super::args::GenArgs;
use super::convert::emit;
use super::out::{Failure, Out, Status};
use crate::bir::generate::{self, Generated};
use crate::bir::memory::to_hex;
use crate::bir::{Arch, Name};
use crate::diag::{Diagnostic, Report};
use crate::load::bir::{write_json, write_text};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is generated.
fn options(args: &GenArgs) -> generate::Options {
    let base = if args.plain { generate::Options::plain() } else { generate::Options::default() };
    let named =
        args.arch.and_then(|g| Arch::ALL.iter().copied().find(|a| a.generation() == Some(g)));
    generate::Options { arch: named.or(base.arch), ..base }
}

/// The first memory of a module, as `--memory-in` takes it.
pub fn memory_json(memory: &[(Name, Vec<u8>)]) -> String {
    let by_name: BTreeMap<&str, String> = memory.iter().map(|(n, b)| (&**n, to_hex(b))).collect();
    let mut out = serde_json::json!(by_name).to_string();
    out.push('\n');
    out
}

/// A file for one module: the path itself, or a file in it where it is a directory.
fn place(path: &Path, many: bool, seed: u64, extension: &str) -> PathBuf {
    if many || path.is_dir() {
        path.join(format!("module-{seed}.{extension}"))
    } else {
        path.to_owned()
    }
}

/// Makes the directory for several files.
fn directory(path: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(path).map_err(|e| {
        let name = path.to_string_lossy();
        let why = format!("cannot make the directory `{name}`: {e}");
        Report::from(Diagnostic::new("D007", why).in_file(&name)).into()
    })
}

/// Runs `gen`.
///
/// # Errors
/// [`Failure`]: several modules without a directory (S011), or a file that cannot be written.
pub fn run(args: &GenArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let many = args.count > 1;
    let is_stream = |p: &Path| p.as_os_str() == "-";
    if many {
        let stream = args.output.as_deref().is_none_or(is_stream)
            || args.memory_out.as_deref().is_some_and(is_stream);
        if stream {
            let why = format!("{} modules need a directory", args.count);
            let d = Diagnostic::new("S011", why).help("-o DIR, and --memory-out DIR");
            return Err(Report::from(d).into());
        }
        args.output.iter().chain(&args.memory_out).try_for_each(|p| directory(p))?;
    }
    let options = options(args);
    for k in 0..args.count {
        let seed = args.seed.wrapping_add(k);
        let Generated { module, memory } = generate::module(seed, &options);
        let (text, extension) = match out.json() {
            true => (write_json(&module), "json"),
            false => (write_text(&module).text, "bir"),
        };
        let to = args.output.as_deref().filter(|p| !is_stream(p));
        let to = to.map(|p| place(p, many, seed, extension));
        emit(text.as_bytes(), to.as_deref(), out)?;
        if let Some(path) = &args.memory_out {
            let path = match is_stream(path) {
                true => path.clone(),
                false => place(path, many, seed, "memory.json"),
            };
            emit(memory_json(&memory).as_bytes(), Some(&path), out)?;
        }
    }
    if args.output.as_deref().is_some_and(|p| !is_stream(p)) && args.memory_out.is_none() {
        let why = "what memory holds at the start is not written: `--memory-out` does, for \
                   `--memory-in`; without it lists of indices may be out of range";
        out.aside(&[why.to_owned()])?;
    }
    Ok(Status::Fine)
}
