//! Words, numbers and symbols of a line, each with its place.

use crate::diag::{Diagnostic, Place};
use nom::branch::alt;
use nom::bytes::complete::{is_not, tag, take_while, take_while1};
use nom::character::complete::{char, satisfy};
use nom::combinator::{opt, recognize};
use nom::sequence::{delimited, pair, preceded};
use nom::{IResult, Parser};

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number; `None` where it does not fit 64 bits or has a digit that its base lacks.
    Num(Option<u64>),
    /// A name.
    Ident(String),
    /// `$name`.
    Dollar(String),
    /// A quoted text.
    Str(String),
    /// An operator or bracket.
    Sym(&'static str),
}

/// A token and its place: column from 1 and width, in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: Kind,
    pub column: u64,
    pub width: u64,
}

/// Symbols, longest first where one begins with another.
const SYMBOLS: &[&str] = &[
    "&&", "||", "==", "!=", "<<", ">>", "<=", ">=", "<", ">", "!", "~", "+", "-", "*", "/", "%",
    "&", "^", "|", "(", ")", "[", "]", ".", ",", ":", "=",
];

fn ident(s: &str) -> IResult<&str, &str> {
    let first = satisfy(|c: char| c.is_ascii_alphabetic() || c == '_');
    recognize(pair(first, take_while(|c: char| c.is_ascii_alphanumeric() || c == '_'))).parse(s)
}

fn number(s: &str) -> IResult<&str, Option<u64>> {
    let (rest, text) = recognize(pair(
        satisfy(|c: char| c.is_ascii_digit()),
        take_while(|c: char| c.is_ascii_alphanumeric() || c == '_'),
    ))
    .parse(s)?;
    let clean: String = text.chars().filter(|c| *c != '_').collect::<String>().to_ascii_lowercase();
    let (digits, base) = match clean.get(..2) {
        Some("0x") => (&clean[2..], 16),
        Some("0b") => (&clean[2..], 2),
        Some("0o") => (&clean[2..], 8),
        _ => (clean.as_str(), 10),
    };
    Ok((rest, u64::from_str_radix(digits, base).ok()))
}

fn symbol(s: &str) -> IResult<&str, Kind> {
    for sym in SYMBOLS {
        if let Ok((rest, _)) = tag::<_, _, nom::error::Error<&str>>(*sym)(s) {
            return Ok((rest, Kind::Sym(sym)));
        }
    }
    Err(nom::Err::Error(nom::error::Error::new(s, nom::error::ErrorKind::Tag)))
}

fn token(s: &str) -> IResult<&str, Kind> {
    let text = delimited(char('"'), opt(is_not("\"")), char('"'));
    alt((
        number.map(Kind::Num),
        ident.map(|i| Kind::Ident(i.to_owned())),
        preceded(char('$'), ident).map(|i| Kind::Dollar(i.to_owned())),
        text.map(|t: Option<&str>| Kind::Str(t.unwrap_or_default().to_owned())),
        symbol,
    ))
    .parse(s)
}

fn blank(s: &str) -> IResult<&str, &str> {
    take_while1(|c: char| c.is_whitespace())(s)
}

/// Splits a text into tokens; `column` is where it begins in its line.
///
/// # Errors
/// S004 at a character that begins no token.
pub(super) fn tokens(text: &str, column: u64) -> Result<Vec<Token>, Diagnostic> {
    let mut out = Vec::new();
    let mut rest = text;
    let mut at = column;
    while !rest.is_empty() {
        if let Ok((after, skipped)) = blank(rest) {
            at += skipped.chars().count() as u64;
            rest = after;
            continue;
        }
        let Ok((after, kind)) = token(rest) else {
            let c = rest.chars().next().unwrap_or(' ');
            let why = if c == '"' {
                "the quotation mark is not closed".to_owned()
            } else {
                format!("`{c}` begins nothing")
            };
            return Err(Diagnostic::new("S004", why).at(Place::text(1, at, 1)));
        };
        let width = rest[..rest.len() - after.len()].chars().count() as u64;
        out.push(Token { kind, column: at, width });
        at += width;
        rest = after;
    }
    Ok(out)
}

/// The line without its comment: `#` begins one, but not inside quotation marks.
pub(super) fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    for (i, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return &line[..i],
            _ => {}
        }
    }
    line
}

/// Reads tokens one after the other.
pub(super) struct Cursor<'a> {
    tokens: &'a [Token],
    at: usize,
    end: u64,
}

impl<'a> Cursor<'a> {
    /// `end` is the column behind the text.
    pub fn new(tokens: &'a [Token], end: u64) -> Cursor<'a> {
        Cursor { tokens, at: 0, end }
    }

    pub fn peek(&self) -> Option<&'a Kind> {
        self.tokens.get(self.at).map(|t| &t.kind)
    }

    pub fn peek_at(&self, ahead: usize) -> Option<&'a Kind> {
        self.tokens.get(self.at + ahead).map(|t| &t.kind)
    }

    pub fn next(&mut self) -> Option<&'a Token> {
        let t = self.tokens.get(self.at);
        self.at += usize::from(t.is_some());
        t
    }

    pub fn done(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// Takes a symbol if it is next.
    pub fn sym(&mut self, s: &str) -> bool {
        let yes = matches!(self.peek(), Some(Kind::Sym(t)) if *t == s);
        self.at += usize::from(yes);
        yes
    }

    /// Takes a word if it is next.
    pub fn word(&mut self, w: &str) -> bool {
        let yes = matches!(self.peek(), Some(Kind::Ident(t)) if t == w);
        self.at += usize::from(yes);
        yes
    }

    /// The place of the next token, or of the end.
    pub fn place(&self) -> Place {
        match self.tokens.get(self.at) {
            Some(t) => Place::text(1, t.column, t.width),
            None => Place::text(1, self.end, 1),
        }
    }

    /// An error at the next token.
    pub fn error(&self, code: &'static str, why: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, why).at(self.place())
    }

    pub fn position(&self) -> usize {
        self.at
    }

    pub fn back_to(&mut self, at: usize) {
        self.at = at;
    }
}
