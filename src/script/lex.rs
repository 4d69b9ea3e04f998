//! The small parts of the command language: blanks, words, numbers, names, quoted texts, and
//! where in a line something is wrong (`docs/commands.md`, "Lines").
//!
//! All inputs are the rest of one line, so that a place is known by how much of the line is
//! left there; it becomes a column when the line is at hand ([`Fault::diagnostic`]).

use crate::diag::{Diagnostic, Place};
use crate::engine::command::nearest;
use crate::limits::MAX_NAME_BYTES;
use nom::bytes::complete::{take_while, take_while1};
use nom::character::complete::satisfy;
use nom::combinator::recognize;
use nom::error::{ErrorKind, ParseError};
use nom::sequence::pair;
use nom::{IResult, Parser};

/// What a parser of the rest of a line answers.
pub(super) type Res<'a, T> = IResult<&'a str, T, Fault>;

/// What is wrong, and with how many bytes of the line left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault(Box<Wrong>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Wrong {
    code: &'static str,
    message: String,
    help: Option<String>,
    /// Bytes of the line from the offending word on.
    left: usize,
    /// Bytes of the offending word.
    bytes: usize,
}

impl Fault {
    /// About the word that `input` begins with.
    pub fn new(code: &'static str, input: &str, message: impl Into<String>) -> Fault {
        let (bytes, left) = (word_at(input).len(), input.len());
        Fault(Box::new(Wrong { code, message: message.into(), help: None, left, bytes }))
    }

    /// About this many bytes.
    pub fn wide(mut self, bytes: usize) -> Fault {
        self.0.bytes = bytes;
        self
    }

    /// In a longer line, with so many more bytes behind what was parsed.
    pub fn before(mut self, more: usize) -> Fault {
        self.0.left += more;
        self
    }

    /// With another message.
    pub fn says(mut self, message: impl Into<String>) -> Fault {
        self.0.message = message.into();
        self
    }

    /// With advice, unless it is empty.
    pub fn help(mut self, help: impl Into<String>) -> Fault {
        let help = help.into();
        if !help.is_empty() {
            self.0.help = Some(help);
        }
        self
    }

    /// With the nearest of the known names as advice.
    pub fn near<'k>(self, name: &str, known: impl IntoIterator<Item = &'k str>) -> Fault {
        self.help(did_you_mean(&nearest(name, known)))
    }

    /// Its code.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// More advice after what there is.
    pub fn also(mut self, help: &str) -> Fault {
        let all = match self.0.help.take() {
            Some(before) if before.ends_with(['.', '?', '!']) => format!("{before} {help}"),
            Some(before) => format!("{before}. {help}"),
            None => help.to_owned(),
        };
        self.0.help = Some(all);
        self
    }

    /// As a diagnostic with column and width; `line` is what was parsed.
    pub fn diagnostic(self, line: &str) -> Diagnostic {
        let Wrong { code, message, help, left, bytes } = *self.0;
        let start = line.len().saturating_sub(left);
        let count = |s: Option<&str>| s.map_or(0, |s| s.chars().count()) as u64;
        let width = count(line.get(start..start + bytes));
        let place = Place { line: None, ..Place::text(1, count(line.get(..start)) + 1, width) };
        let mut d = Diagnostic::new(code, message).at(place);
        d.help = help;
        d
    }
}

impl<'a> ParseError<&'a str> for Fault {
    fn from_error_kind(input: &'a str, _: ErrorKind) -> Fault {
        Fault::new("S004", input, format!("{} is not expected here", shown(input)))
    }

    fn append(_: &'a str, _: ErrorKind, other: Fault) -> Fault {
        other
    }
}

/// Ends parsing with this fault: nothing else is tried.
pub(super) fn stop<T>(fault: Fault) -> Result<T, nom::Err<Fault>> {
    Err(nom::Err::Failure(fault))
}

/// The fault inside a parser's error.
pub(super) fn fault_of(e: nom::Err<Fault>, rest: &str) -> Fault {
    match e {
        nom::Err::Error(f) | nom::Err::Failure(f) => f,
        nom::Err::Incomplete(_) => Fault::new("S004", rest, "the line ends too early"),
    }
}

/// `did you mean x or y?`; empty where nothing is near.
pub(super) fn did_you_mean(near: &[&str]) -> String {
    if near.is_empty() { String::new() } else { format!("did you mean `{}`?", near.join("` or `")) }
}

/// What `input` begins with, in backquotes, or that the line ends.
pub(super) fn shown(input: &str) -> String {
    const LONGEST: usize = 40;
    match word_at(input) {
        "" => "the end of the line".to_owned(),
        word if word.chars().count() > LONGEST => {
            format!("`{}..`", word.chars().take(LONGEST).collect::<String>())
        }
        word => format!("`{word}`"),
    }
}

/// The name, number or single character that `input` begins with.
fn word_at(input: &str) -> &str {
    let end = input.find(|c: char| !is_name(c)).unwrap_or(input.len());
    match input.chars().next() {
        Some(c) if end == 0 => input.get(..c.len_utf8()).unwrap_or(input),
        _ => input.get(..end).unwrap_or(input),
    }
}

/// Whether a name may go on with this character.
pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The rest after blanks.
pub(super) fn skip(input: &str) -> &str {
    input.trim_start_matches(|c: char| c.is_ascii_whitespace())
}

/// A name: letters, digits and `_`, no digit in front.
pub(super) fn name(input: &str) -> Res<'_, &str> {
    let start = satisfy(|c: char| c.is_ascii_alphabetic() || c == '_');
    let (rest, name) = recognize(pair(start, take_while(is_name))).parse(input)?;
    if name.len() > MAX_NAME_BYTES {
        let text = format!("a name has at most {MAX_NAME_BYTES} bytes, this has {}", name.len());
        return stop(Fault::new("S005", input, text));
    }
    Ok((rest, name))
}

/// A number: decimal, `0x`, `0b`, `0o`, with `_` between digits.
pub(super) fn number(input: &str) -> Res<'_, u64> {
    let (rest, word) = take_while1(is_name).parse(input)?;
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        let text = format!("{} is no number", shown(input));
        return Err(nom::Err::Error(Fault::new("S003", input, text)));
    }
    let (radix, digits) = match word.get(..2) {
        Some("0x" | "0X") => (16, word.get(2..)),
        Some("0b" | "0B") => (2, word.get(2..)),
        Some("0o" | "0O") => (8, word.get(2..)),
        _ => (10, Some(word)),
    };
    let digits = digits.unwrap_or_default().replace('_', "");
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        let text = format!("{} is no number", shown(input));
        return stop(Fault::new("S004", input, text).help("decimal, or 0x.., 0b.., 0o.."));
    }
    match u64::from_str_radix(&digits, radix) {
        Ok(n) => Ok((rest, n)),
        Err(_) => {
            let text = format!("{} does not fit in 64 bits", shown(input));
            stop(Fault::new("S004", input, text))
        }
    }
}

/// A text in double quotes: `\"`, `\\`, `\n`, `\r`, `\t` and `\u{..}` stand for characters.
pub(super) fn quoted(input: &str) -> Res<'_, String> {
    let open = || Fault::new("S003", input, "the quote is not closed");
    let Some(body) = input.strip_prefix('"') else {
        let text = format!("a text in quotes should stand here, not {}", shown(input));
        return Err(nom::Err::Error(Fault::new("S003", input, text)));
    };
    let mut out = String::new();
    let mut rest = body.chars();
    loop {
        let at = rest.as_str();
        match rest.next() {
            None => return stop(open()),
            Some('"') => return Ok((rest.as_str(), out)),
            Some('\\') => {
                let c = escape(&mut rest);
                let Some(c) = c else {
                    let text = "this escape is not known";
                    let fault = Fault::new("S003", at, text).wide(2.min(at.len()));
                    return stop(fault.help(r#"known: \" \\ \n \r \t \u{..}"#));
                };
                out.push(c);
            }
            Some(c) => out.push(c),
        }
    }
}

/// The character that an escape stands for; what follows the backslash is taken.
fn escape(rest: &mut std::str::Chars<'_>) -> Option<char> {
    match rest.next()? {
        c @ ('"' | '\\') => Some(c),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'u' => {
            let body = rest.as_str().strip_prefix('{')?;
            let (digits, after) = body.split_once('}')?;
            *rest = after.chars();
            // A sign would be taken for a number's.
            let hex = digits.chars().all(|c| c.is_ascii_hexdigit()) && digits.len() <= 6;
            if hex { char::from_u32(u32::from_str_radix(digits, 16).ok()?) } else { None }
        }
        _ => None,
    }
}

/// A text in double quotes from which [`quoted`] reads it back.
pub(super) use crate::engine::command::quote;

/// The line without its comment: `#` begins one, outside of quotes.
pub(super) fn without_comment(line: &str) -> &str {
    let (mut inside, mut escaped) = (false, false);
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            '#' if !inside => return line.get(..at).unwrap_or(line),
            _ => {}
        }
    }
    line
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_have_four_radixes_and_underscores() {
        for (text, value) in [
            ("0", 0),
            ("1_000", 1000),
            ("0x10", 16),
            ("0b101", 5),
            ("0o17", 15),
            ("0XfF_fF", 65535),
        ] {
            assert_eq!(number(text), Ok(("", value)), "{text}");
        }
        for bad in ["0x", "0b2", "12ab", "18446744073709551616", "0x_"] {
            assert!(number(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_comment_begins_outside_of_quotes_only() {
        assert_eq!(without_comment("step # two"), "step ");
        assert_eq!(without_comment(r##"echo "a # b" # c"##), r##"echo "a # b" "##);
        assert_eq!(without_comment(r##"echo "a \" # b""##), r##"echo "a \" # b""##);
    }

    #[test]
    fn a_fault_counts_characters_not_bytes() {
        let line = "echo äö \"x";
        let at = line.find('"').unwrap();
        let fault = fault_of(quoted(&line[at..]).unwrap_err(), "");
        let d = fault.diagnostic(line);
        assert_eq!((d.place.column, d.place.width), (Some(9), Some(1)));
    }

    proptest! {
        #[test]
        fn a_quoted_text_reads_back(text in any::<String>()) {
            let q = quote(&text);
            prop_assert!(!q.chars().any(char::is_control));
            prop_assert_eq!(without_comment(&q), q.as_str());
            let read = quoted(&q).map(|r| (r.0.len(), r.1));
            prop_assert_eq!(read, Ok((0, text)));
        }
    }
}
