//! The words of `.bir` text.

use nom::branch::alt;
use nom::bytes::complete::take_while1;
use nom::character::complete::{char, one_of};
use nom::combinator::{opt, recognize};
use nom::error::{Error, ErrorKind};
use nom::sequence::pair;
use nom::{IResult, Parser};

fn digits(i: &str) -> IResult<&str, &str> {
    take_while1(|c: char| c.is_ascii_digit()).parse(i)
}

/// A name or word without quotes: a letter or `_`, then letters, digits, `_`, `.` and `-`.
pub fn bare(i: &str) -> IResult<&str, &str> {
    let more = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    let mut bytes = i.bytes();
    match bytes.next() {
        Some(b) if b.is_ascii_alphabetic() || b == b'_' => {}
        _ => return Err(nom::Err::Error(Error::new(i, ErrorKind::Char))),
    }
    let end = 1 + bytes.take_while(more).count();
    let (word, rest) = i.split_at_checked(end).unwrap_or((i, ""));
    Ok((rest, word))
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
    match i.as_bytes().first() {
        Some(b'[' | b'{') => brackets(i),
        _ => alt((number, recognize(quoted), literal)).parse(i),
    }
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
    let (mut depth, mut at) = (0usize, 0);
    loop {
        // Nothing but ASCII means anything here.
        let b = *i.as_bytes().get(at).ok_or_else(wrong)?;
        if b == b'"' {
            let rest = i.get(at..).unwrap_or_default();
            at = i.len() - quoted(rest)?.0.len();
            continue;
        }
        at += 1;
        match b {
            b'[' | b'{' => depth += 1,
            b']' | b'}' if depth > 0 => depth -= 1,
            b'\n' => return Err(wrong()),
            _ if depth == 0 => return Err(wrong()),
            _ => {}
        }
        if depth == 0 {
            let (value, rest) = i.split_at_checked(at).unwrap_or((i, ""));
            return Ok((rest, value));
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
