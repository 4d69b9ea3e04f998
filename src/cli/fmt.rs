//! `fmt`: modules in their canonical form, and text turned into JSON and back (`docs/cli.md`).
//!
//! Nothing of the module is lost. Comments of a text stay beside the lines that they stood
//! beside; JSON has none, so that there they are told to be left out.

use super::args::{FmtArgs, Format};
use super::out::{Failure, Out, Status};
use crate::diag::render::{is_safe, printable};
use crate::diag::{Diagnostic, Place, Report, Severity};
use crate::limits::MAX_BIR_BYTES;
use crate::load::bir::{json_to_text, text_to_json};
use crate::load::{save, source};
use serde_json::json;
use std::path::Path;

/// What came of a file.
struct Printed {
    text: String,
    notes: Vec<Diagnostic>,
}

/// Whether bytes are JSON rather than text: by the first character.
fn is_json(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{')
}

/// The canonical form.
fn printed(file: &str, bytes: &[u8], to: Option<Format>) -> Result<Printed, Report> {
    let mut notes = Vec::new();
    if is_json(bytes) {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = json_to_text(file, bytes)?;
        let text = match to {
            Some(Format::Text) => text,
            _ => text_to_json(file, &text)?,
        };
        return Ok(Printed { text, notes });
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let at = Place::offset(e.valid_up_to() as u64);
        Diagnostic::new("D004", "text that is not UTF-8 throughout").at(at).in_file(file)
    })?;
    let text = text.trim_start_matches('\u{feff}');
    let json = text_to_json(file, text)?;
    let comments = text.lines().filter(|l| split(l).1.is_some()).count();
    if to == Some(Format::Json) {
        if comments > 0 {
            let why = format!("JSON has no comments: {comments} are left out");
            notes.push(Diagnostic::new("S011", why).severity(Severity::Warning).in_file(file));
        }
        return Ok(Printed { text: json, notes });
    }
    let plain = json_to_text(file, json.as_bytes())?;
    if comments == 0 {
        return Ok(Printed { text: plain, notes });
    }
    let text = with_comments(text, &plain).ok_or_else(|| {
        let why = "its lines stand in another order than in the canonical form, so that its comments have no place";
        Report::from(Diagnostic::new("S011", why).in_file(file))
    })?;
    Ok(Printed { text, notes })
}

/// A line without its comment, and the comment; `;` begins one, outside of quotes.
fn split(line: &str) -> (&str, Option<&str>) {
    let (mut inside, mut escaped) = (false, false);
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            ';' if !inside => {
                let (code, comment) = line.split_at(at);
                return (code.trim(), Some(comment.trim_end()));
            }
            _ => {}
        }
    }
    (line.trim(), None)
}

/// What stands beside one line of code.
#[derive(Default, Clone)]
struct Beside<'a> {
    before: Vec<&'a str>,
    trailing: Option<&'a str>,
    after: Vec<&'a str>,
}

/// Puts the comments of `old` into `plain`, the same lines in canonical form: whole lines of
/// comment before the line that they stand at, or after the one before where a blank line
/// follows. `None` where the lines of the two do not belong together.
fn with_comments(old: &str, plain: &str) -> Option<String> {
    // What stands in quotes may be escaped in another way.
    let ends = |c: char| c.is_whitespace() || matches!(c, '=' | '"');
    let first = |code: &str| code.split(ends).next().map(str::to_owned);
    let mut beside: Vec<Beside<'_>> = vec![Beside::default()];
    let mut codes = Vec::new();
    let mut waiting: Vec<&str> = Vec::new();
    for line in old.lines() {
        let (code, comment) = split(line);
        match (code.is_empty(), comment) {
            (true, Some(comment)) => waiting.push(comment),
            // A blank line parts comments from what follows.
            (true, None) => beside.last_mut()?.after.append(&mut waiting),
            (false, trailing) => {
                codes.push(first(code));
                let before = std::mem::take(&mut waiting);
                beside.push(Beside { before, trailing, after: Vec::new() });
            }
        }
    }
    beside.last_mut()?.after.append(&mut waiting);
    let mut out = String::with_capacity(plain.len() + old.len());
    let mut add = |indent: &str, comment: &str| {
        out.push_str(indent);
        out.push_str(comment);
        out.push('\n');
    };
    // Comments right below the header stand in place of the blank line there.
    let mut joined = joined(old);
    let top = std::mem::take(beside.first_mut()?);
    top.after.iter().for_each(|c| add("", c));
    let mut n = 0;
    for line in plain.lines() {
        let code = line.trim();
        if code.is_empty() {
            if !std::mem::take(&mut joined) || n != 1 {
                add("", "");
            }
            continue;
        }
        if codes.get(n) != Some(&first(code)) {
            return None;
        }
        n += 1;
        let b = beside.get(n)?;
        let indent = line.get(..line.len() - line.trim_start().len()).unwrap_or_default();
        b.before.iter().for_each(|c| add(indent, c));
        match b.trailing {
            Some(c) => add(line, &format!(" {c}")),
            None => add(line, ""),
        }
        b.after.iter().for_each(|c| add(indent, c));
    }
    (n == codes.len()).then_some(out)
}

/// Whether the header is followed by lines of comment, and those by code, with no blank line.
fn joined(old: &str) -> bool {
    let mut lines = old.lines().map(split).skip_while(|(code, _)| code.is_empty()).skip(1);
    let comments = lines.by_ref().take_while(|(code, c)| code.is_empty() && c.is_some());
    let n = comments.count();
    // The line that ended them was taken as well.
    let next = old.lines().map(split).skip_while(|(code, _)| code.is_empty()).nth(n + 1);
    n > 0 && next.is_some_and(|(code, _)| !code.is_empty())
}

/// Runs `fmt`.
///
/// # Errors
/// [`Failure`]: a file cannot be read as what it is (status 2), or not be written.
pub fn run(args: &FmtArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let mut status = Status::Fine;
    if args.check && out.json() {
        out.schema("fmt", &json!({}))?;
    }
    for path in &args.files {
        match one(path, args, out) {
            Ok(s) => status = status.max(s),
            Err(Failure::Report(r)) => {
                out.findings(&r)?;
                status = Status::Unreadable;
            }
            Err(e) => return Err(e),
        }
    }
    Ok(status)
}

/// Refuses to put one form into a file whose name and content are of the other.
fn keeps_its_form(path: &Path, bytes: &[u8], to: Format) -> Result<(), Diagnostic> {
    let (is, word, extension) = match to {
        Format::Json => (is_json(bytes), "json", "json"),
        Format::Text => (!is_json(bytes), "text", "bir"),
    };
    if is || path.extension().is_some_and(|e| e == extension) {
        return Ok(());
    }
    let name = path.display();
    let why = format!("--write keeps a file's form, and `--to {word}` is the other one");
    let other = path.with_extension(extension);
    let help = format!("`dmadbg fmt --to {word} {name} > {}`", other.display());
    Err(Diagnostic::new("S011", why).help(help))
}

fn one(path: &Path, args: &FmtArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    if args.write && path.as_os_str() == "-" {
        let why = "standard input has no place to write to";
        return Err(Report::from(Diagnostic::new("S011", why)).into());
    }
    let file = source::open(path).map_err(Report::from)?;
    let bytes = file.blob.bytes();
    if bytes.len() as u64 > MAX_BIR_BYTES {
        let why = format!("a module has at most {MAX_BIR_BYTES} bytes");
        return Err(Report::from(Diagnostic::new("S011", why).in_file(&file.name)).into());
    }
    if let Some(to) = args.to.filter(|_| args.write) {
        keeps_its_form(path, bytes, to).map_err(|d| Report::from(d.in_file(&file.name)))?;
    }
    let Printed { text, notes } = printed(&file.name, bytes, args.to)?;
    if !notes.is_empty() {
        out.findings(&Report::from(notes))?;
    }
    let changes = text.as_bytes() != bytes;
    if args.check {
        if out.json() {
            out.value(&json!({ "file": file.name, "changes": changes }))?;
        } else if changes {
            out.line(&format!("{} would change", crate::diag::render::printable(&file.name)))?;
        }
        return Ok(if changes { Status::Wrong } else { Status::Fine });
    }
    if !args.write {
        // Comments stand as they were written, but a terminal is not to be steered by them.
        let shown = out.on_terminal && !is_safe(&text);
        let text = if shown { text.lines().map(|l| printable(l) + "\n").collect() } else { text };
        out.bytes(text.as_bytes())?;
    } else if changes {
        save::save(path, text.as_bytes()).map_err(Report::from)?;
    }
    Ok(Status::Fine)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn comments_stay_beside_their_lines_and_printing_again_changes_nothing() {
        for entry in std::fs::read_dir("sample-programs").unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "bir") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let once = printed("m", &bytes, None).unwrap().text;
            assert_eq!(printed("m", once.as_bytes(), None).unwrap().text, once, "{path:?}");
            assert_eq!(once.as_bytes(), bytes, "{path:?} is not in its canonical form");
            let comments = |t: &str| {
                t.lines().filter_map(|l| split(l).1.map(str::to_owned)).collect::<Vec<_>>()
            };
            let old = String::from_utf8(bytes.clone()).unwrap();
            assert_eq!(comments(&once), comments(&old), "{path:?}");
            let a = crate::load::bir::read_text("m", &once).unwrap().module;
            assert_eq!(a, crate::load::bir::read_text("m", &old).unwrap().module, "{path:?}");
        }
    }

    #[test]
    fn comments_stay_beside_names_whose_escapes_are_spelt_in_another_way() {
        let text = "bir 2 gen3\n; a\nfunc \"a\\u000d\" { ; b\n  block x:\n}\n";
        let once = printed("m", text.as_bytes(), None).unwrap().text;
        assert!(once.contains("; a\nfunc \"a\\r\" { ; b\n"), "{once}");
    }

    #[test]
    fn a_semicolon_in_quotes_begins_no_comment() {
        assert_eq!(split(r#"  a "x;\";" ; c "#), (r#"a "x;\";""#, Some("; c")));
        assert_eq!(split("x"), ("x", None));
    }
}
