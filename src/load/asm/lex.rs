//! Lines of assembly to tokens, and tokens to statements (`docs/assembly.md`, "Lines").

use crate::diag::{Diagnostic, Place, Report};
use crate::limits::MAX_LINE_BYTES;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while_m_n, take_while1};
use nom::character::complete::{anychar, char, none_of};
use nom::combinator::{map, map_opt, recognize, value};
use nom::multi::fold_many0;
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A run of characters without blanks and punctuation.
    Word(&'a str),
    /// A quoted string, its escapes resolved to bytes.
    Str(Vec<u8>),
    /// `=`
    Eq,
    /// `,`
    Comma,
    /// `{`
    Open,
    /// `}`
    Close,
}

/// A token and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token<'a> {
    /// What.
    pub kind: Kind<'a>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, in characters.
    pub column: u32,
    /// Characters.
    pub width: u32,
}

impl Token<'_> {
    /// As a place for a finding.
    pub fn place(&self) -> Place {
        Place::text(u64::from(self.line), u64::from(self.column), u64::from(self.width))
    }

    /// The word, if it is one.
    pub fn word(&self) -> Option<&str> {
        if let Kind::Word(w) = self.kind { Some(w) } else { None }
    }

    /// A finding at this token.
    pub fn error(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, message).at(self.place())
    }
}

/// `name=value` with both tokens, or a bare token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arg<'a> {
    /// A bare word or string.
    Bare(Token<'a>),
    /// `name=value`.
    Pair(Token<'a>, Token<'a>),
}

impl<'a> Arg<'a> {
    /// The token that it starts with.
    pub fn token(&self) -> &Token<'a> {
        match self {
            Arg::Bare(t) | Arg::Pair(t, _) => t,
        }
    }
}

/// A line of a block, or the head of a statement.
pub type Args<'a> = Vec<Arg<'a>>;

/// One statement: a word, its operands, a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The first word.
    pub head: Token<'a>,
    /// What follows it.
    pub args: Args<'a>,
    /// The items between braces.
    pub block: Option<Vec<Args<'a>>>,
}

type Res<'a, T> = IResult<&'a str, T>;

fn is_word(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !matches!(c, '=' | ',' | '{' | '}' | '"' | ';')
}

fn hex_escape(i: &str) -> Res<'_, u8> {
    map_opt(preceded(char('x'), take_while_m_n(2, 2, |c: char| c.is_ascii_hexdigit())), |h| {
        u8::from_str_radix(h, 16).ok()
    })
    .parse(i)
}

fn escape(i: &str) -> Res<'_, u8> {
    alt((
        value(b'\n', char('n')),
        value(b'\t', char('t')),
        value(b'\r', char('r')),
        value(b'\\', char('\\')),
        value(b'"', char('"')),
        hex_escape,
    ))
    .parse(i)
}

fn string(i: &str) -> Res<'_, Vec<u8>> {
    let plain = |i| recognize(none_of("\\\"")).parse(i);
    let piece = alt((
        map(plain, |s: &str| s.as_bytes().to_vec()),
        map(preceded(char('\\'), escape), |b| vec![b]),
    ));
    let body = fold_many0(piece, Vec::new, |mut all: Vec<u8>, p| {
        all.extend(p);
        all
    });
    delimited(char('"'), body, char('"')).parse(i)
}

fn token(i: &str) -> Res<'_, Kind<'_>> {
    alt((
        value(Kind::Eq, tag("=")),
        value(Kind::Comma, tag(",")),
        value(Kind::Open, tag("{")),
        value(Kind::Close, tag("}")),
        map(string, Kind::Str),
        map(take_while1(is_word), Kind::Word),
    ))
    .parse(i)
}

/// The tokens of a line, up to a comment (`;`).
fn tokens(text: &str, line: u32) -> Result<Vec<Token<'_>>, Diagnostic> {
    if text.len() > MAX_LINE_BYTES {
        let why = format!("a line of {} bytes; at most {MAX_LINE_BYTES}", text.len());
        return Err(Diagnostic::new("D025", why).at(Place::text(u64::from(line), 1, 1)));
    }
    let (mut rest, mut column, mut out) = (text, 1u32, Vec::new());
    loop {
        let trimmed = rest.trim_start();
        column += front(rest, trimmed);
        if trimmed.is_empty() || trimmed.starts_with(';') {
            return Ok(out);
        }
        match token(trimmed) {
            Ok((after, kind)) => {
                let width = front(trimmed, after);
                out.push(Token { kind, line, column, width });
                column += width;
                rest = after;
            }
            Err(_) => {
                let what = match anychar::<_, nom::error::Error<&str>>(trimmed) {
                    Ok((_, '"')) => "the string does not end, or has an unknown escape".to_owned(),
                    Ok((_, c)) => format!("`{}` stands for nothing here", c.escape_default()),
                    Err(_) => "the line is cut".to_owned(),
                };
                return Err(Diagnostic::new("D050", what).at(Place::text(
                    u64::from(line),
                    u64::from(column),
                    1,
                )));
            }
        }
    }
}

/// Characters of `all` in front of its tail `rest`; a line has at most [`MAX_LINE_BYTES`].
fn front(all: &str, rest: &str) -> u32 {
    let front = all.get(..all.len() - rest.len()).unwrap_or_default();
    front.chars().count() as u32
}

/// All statements of a text. Lines with errors are reported and left out.
pub fn statements<'a>(text: &'a str, report: &mut Report) -> Vec<Statement<'a>> {
    let mut out: Vec<Statement<'a>> = Vec::new();
    // Whether the last statement's block is still open.
    let mut open = false;
    for (i, line) in text.lines().enumerate() {
        let Ok(number) = u32::try_from(i + 1) else { break };
        match tokens(line, number) {
            Ok(tokens) => line_of(tokens, &mut out, &mut open, report),
            Err(d) => report.push(d),
        }
    }
    if let (true, Some(s)) = (open, out.last()) {
        report.push(s.head.error("D050", "the block `{` of this statement is not closed"));
    }
    out
}

fn line_of<'a>(
    tokens: Vec<Token<'a>>,
    out: &mut Vec<Statement<'a>>,
    open: &mut bool,
    report: &mut Report,
) {
    let mut tokens = tokens.into_iter().peekable();
    let mut args: Args<'a> = Vec::new();
    let mut head = None;
    if !*open {
        match tokens.next() {
            None => return,
            Some(t) if t.word().is_some() => head = Some(t),
            Some(t) => return report.push(t.error("D050", "a statement begins with a word")),
        }
    }
    while let Some(t) = tokens.next() {
        match t.kind {
            Kind::Word(_) if tokens.peek().is_some_and(|n| n.kind == Kind::Eq) => {
                tokens.next();
                match tokens.next() {
                    Some(v) if matches!(v.kind, Kind::Word(_) | Kind::Str(_)) => {
                        args.push(Arg::Pair(t, v));
                    }
                    _ => report.push(t.error("D050", "a value is missing after `=`")),
                }
            }
            Kind::Word(_) | Kind::Str(_) => args.push(Arg::Bare(t)),
            Kind::Eq => report.push(t.error("D050", "a name is missing before `=`")),
            Kind::Comma if *open => item(&mut args, out),
            Kind::Comma => report.push(t.error("D050", "`,` separates items of a block only")),
            Kind::Open if !*open && head.is_some() => {
                if let Some(head) = head.take() {
                    let args = std::mem::take(&mut args);
                    out.push(Statement { head, args, block: Some(Vec::new()) });
                    *open = true;
                }
            }
            Kind::Open => report.push(t.error("D050", "blocks do not nest")),
            Kind::Close if *open => {
                item(&mut args, out);
                *open = false;
            }
            Kind::Close => report.push(t.error("D050", "`}` closes nothing")),
        }
    }
    if *open {
        item(&mut args, out);
    } else if let Some(head) = head {
        out.push(Statement { head, args, block: None });
    } else if let Some(a) = args.first() {
        report.push(a.token().error("D050", "nothing may follow `}` on its line"));
    }
}

/// Closes an item of the last statement's block.
fn item<'a>(args: &mut Args<'a>, out: &mut [Statement<'a>]) {
    if let (false, Some(block)) = (args.is_empty(), out.last_mut().and_then(|s| s.block.as_mut())) {
        block.push(std::mem::take(args));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn load_asm_tokens_carry_their_columns() {
        let t = tokens("  a=\"\u{e9}\\x41\\n\" {  ; rest", 7).unwrap();
        let at: Vec<(u32, u32)> = t.iter().map(|t| (t.column, t.width)).collect();
        assert_eq!(at, [(3, 1), (4, 1), (5, 9), (15, 1)]);
        assert_eq!(t[2].kind, Kind::Str(vec![0xc3, 0xa9, b'A', b'\n']));
    }

    #[test]
    fn load_asm_blocks_split_into_items() {
        let mut r = Report::default();
        let s =
            statements("store addr=1 { hex 00, zero 4 }\ncopy_in e0.q0 {\n hex 01\n\n}\n", &mut r);
        assert!(r.is_empty(), "{r:?}");
        let n: Vec<usize> = s.iter().map(|s| s.block.as_ref().unwrap().len()).collect();
        assert_eq!(n, [2, 1]);
    }

    #[test]
    fn load_asm_every_bad_line_is_reported() {
        let mut r = Report::default();
        statements("= a\nb {\n}\n}\n\"x\nc }\n", &mut r);
        assert_eq!(r.items.len(), 4, "{r:?}");
    }
}
