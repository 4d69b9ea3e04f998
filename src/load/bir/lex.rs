//! The words of `.bir` text.

use nom::branch::alt;
use nom::bytes::complete::{take_while, take_while1};
use nom::character::complete::{char, one_of, satisfy};
use nom::combinator::{opt, recognize};
use nom::error::{Error, ErrorKind};
use nom::sequence::pair;
use nom::{IResult, Parser};

fn digits(i: &str) -> IResult<&str, &str> {
    take_while1(|c: char| c.is_ascii_digit()).parse(i)
}

/// A name or word without quotes: a letter or `_`, then letters, digits, `_`, `.` and `-`.
pub fn bare(i: &str) -> IResult<&str, &str> {
    let first = satisfy(|c| c.is_ascii_alphabetic() || c == '_');
    let more = take_while(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
    recognize(pair(first, more)).parse(i)
}

/// A number as JSON has it, leading zeros besides.
pub fn number(i: &str) -> IResult<&str, &str> {
    let fraction = pair(char('.'), digits);
    let exponent = (one_of("eE"), opt(one_of("+-")), digits);
    recognize((opt(char('-')), digits, opt(fraction), opt(exponent))).parse(i)
}

/// A string in quotes on one line; the result is what stands inside, escapes as they are.
pub fn quoted(i: &str) -> IResult<&str, &str> {
    let wrong = || nom::Err::Error(Error::new(i, ErrorKind::Char));
    let inside = i.strip_prefix('"').ok_or_else(wrong)?;
    let mut bytes = inside.bytes().enumerate();
    while let Some((n, b)) = bytes.next() {
        match b {
            b'"' => {
                let rest = inside.get(n + 1..).unwrap_or_default();
                return Ok((rest, inside.get(..n).unwrap_or_default()));
            }
            b'\n' => break,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
    Err(wrong())
}

/// A JSON value on one line, up to where its brackets close; what is inside is judged later.
pub fn json(i: &str) -> IResult<&str, &str> {
    alt((number, recognize(quoted), brackets, literal)).parse(i)
}

fn literal(i: &str) -> IResult<&str, &str> {
    let (rest, word) = bare(i)?;
    if super::print::LITERALS.contains(&word) {
        return Ok((rest, word));
    }
    Err(nom::Err::Error(Error::new(i, ErrorKind::Tag)))
}

fn brackets(i: &str) -> IResult<&str, &str> {
    let wrong = || nom::Err::Error(Error::new(i, ErrorKind::Char));
    let mut depth = 0usize;
    let mut rest = i;
    loop {
        let c = rest.chars().next().ok_or_else(wrong)?;
        if c == '"' {
            rest = quoted(rest)?.0;
            continue;
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' if depth > 0 => depth -= 1,
            '\n' => return Err(wrong()),
            _ if depth == 0 => return Err(wrong()),
            _ => {}
        }
        if depth == 0 {
            let len = i.len() - rest.len();
            return Ok((rest, i.get(..len).unwrap_or_default()));
        }
    }
}

/// What a reader would call the word here, for messages.
pub fn word_at(rest: &str) -> &str {
    const SHOWN: usize = 24;
    let stop = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '{' | '}' | ',' | ';');
    let end = match rest.char_indices().find(|(_, c)| stop(*c)) {
        Some((0, c)) if !c.is_whitespace() => c.len_utf8(),
        Some((n, _)) => n,
        None => rest.len(),
    };
    let end = rest.char_indices().map(|(n, _)| n).nth(SHOWN).map_or(end, |n| n.min(end));
    rest.get(..end).unwrap_or_default()
}
