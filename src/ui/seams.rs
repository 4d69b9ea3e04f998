//! What other rooms do for the screen: reading a command, completing one, saying a descriptor
//! in a sentence.

use crate::diag::{Diagnostic, Place};
use crate::engine::command::Command;
use crate::engine::session::Session;
use crate::script;
use crate::udma::{Desc, Dir, Generation, describe};

/// Reads one command; the place of a diagnostic is column and width in the line.
///
/// # Errors
/// As [`script::parse_command`]; an empty line is refused too.
pub fn parse(line: &str) -> Result<Command, Diagnostic> {
    script::parse_command(line)?
        .ok_or_else(|| Diagnostic::new("S001", "there is no command").at(Place::text(1, 1, 1)))
}

/// What the end of an unfinished line could become, and from which byte on.
pub fn complete(session: &Session, line: &str) -> script::Completion {
    let marks: Vec<String> = session.marks().keys().cloned().collect();
    let queues: Vec<String> = session.program().queues.iter().map(|q| q.id.to_string()).collect();
    script::complete(line, &marks, &queues)
}

/// A descriptor in one sentence.
pub fn sentence(desc: Desc, dir: Dir, arch: Generation) -> String {
    describe::sentence(desc, dir, arch)
}

/// What is remarkable about a descriptor: code and words.
pub fn notes(desc: Desc, dir: Dir, arch: Generation) -> Vec<(&'static str, String)> {
    describe::notes(desc, dir, arch).into_iter().map(|n| (n.code, n.text.into_owned())).collect()
}
