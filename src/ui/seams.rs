//! What other rooms do for the screen: reading a command, completing one, saying a descriptor
//! in a sentence.

use crate::check::live;
use crate::diag::{Diagnostic, Place};
use crate::engine::command::Command;
use crate::engine::session::Session;
use crate::load::bir::listing;
use crate::script;
use crate::script::runner::{self, Source};
use crate::udma::{Desc, Dir, Generation, describe};
use std::path::Path;

/// Reads one command; the place of a diagnostic is column and width in the line.
///
/// # Errors
/// As [`script::parse_command`]; an empty line is refused too.
pub fn parse(line: &str) -> Result<Command, Diagnostic> {
    let none = || Diagnostic::new("S001", "there is no command").at(Place::text(1, 1, 1));
    match script::parse_command(line) {
        Ok(command) => command.ok_or_else(none),
        // The line has room for one; the next shows when this one is mended.
        Err(all) => Err(all.into_iter().next().unwrap_or_else(none)),
    }
}

/// What the end of an unfinished line could become, from which byte on, and whether the name of a
/// file may stand there.
pub fn complete(session: &Session, line: &str) -> (usize, Vec<String>, bool) {
    let (named, insts) = session.module_names();
    let names = script::Names {
        named,
        insts,
        places: session.place_names(),
        marks: session.marks().keys().cloned().collect(),
        vars: session.vars().keys().cloned().collect(),
        queues: session.program().queues.iter().map(|q| q.id).collect(),
    };
    let found = script::complete(line, line.len(), &names);
    (found.range.start, found.candidates.into_iter().map(|c| c.text).collect(), found.file)
}

/// The commands that `order replay` of a file stands for; a name is relative to the folder that
/// the program was started in.
///
/// # Errors
/// The first thing that is wrong with the file.
pub fn replayed(command: &Command) -> Result<Vec<Command>, Diagnostic> {
    let line = script::print(command);
    let lines = runner::parse("<line>", &line, &mut |_, file| {
        let source = crate::load::source::open(Path::new(file))
            .map_err(|d| Diagnostic::new("S009", d.message))?;
        let text = String::from_utf8(source.blob.bytes().to_vec())
            .map_err(|_| Diagnostic::new("S009", format!("`{file}` is not UTF-8 text")))?;
        Ok(Source { name: file.to_owned(), text })
    });
    let none = || Diagnostic::new("S009", "the file cannot be read");
    match lines {
        Ok(lines) => Ok(lines.iter().map(|l| l.command).collect()),
        // The screen has room for one; where it is stands in front.
        Err(report) => Err(report.items.into_iter().next().map_or_else(none, |mut d| {
            if let (Some(file), Some(line)) = (&d.place.file, d.place.line)
                && &**file != "<line>"
            {
                let column = d.place.column.unwrap_or(1);
                d.message = format!("{file}:{line}:{column}: {}", d.message);
            }
            d.place = Place::text(1, 1, 1);
            d
        })),
    }
}

/// What a command answers whose text no session has: of a module's text, and lints. Help is apart.
///
/// # Errors
/// As [`listing::answer`].
pub fn answer(session: &Session, command: &Command) -> Option<Result<Vec<String>, Diagnostic>> {
    live::answer(session, command).map(Ok).or_else(|| listing::answer(session, command))
}

/// A descriptor in one sentence.
pub fn sentence(desc: Desc, dir: Dir, arch: Generation) -> String {
    describe::sentence(desc, dir, arch)
}

/// What is remarkable about a descriptor: code and words.
pub fn notes(desc: Desc, dir: Dir, arch: Generation) -> Vec<(&'static str, String)> {
    describe::notes(desc, dir, arch).into_iter().map(|n| (n.code, n.text.into_owned())).collect()
}
