//! Words of the assembly as values: numbers, addresses by name, nearest names.

use super::lex::{Arg, Args, Kind, Token};
use crate::diag::Diagnostic;
use crate::engine::program::QueueId;
use crate::limits::MAX_SUGGESTIONS;
use crate::udma::template::Template;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::u32 as decimal;
use nom::combinator::all_consuming;
use nom::sequence::{preceded, separated_pair};
use nom::{IResult, Parser};
use std::cell::Cell;
use std::collections::HashMap;

/// Names that addresses may use.
#[derive(Debug, Default)]
pub struct Symbols {
    /// Region name to its base.
    pub regions: HashMap<String, u64>,
    /// Variable name to its id.
    pub variables: HashMap<String, u32>,
    /// Suggestions made so far: each compares with every name.
    suggested: Cell<u32>,
}

/// Operands of one statement or item; each is taken once, what is left over is an error.
pub struct Operands<'s, 'a> {
    at: &'s Token<'a>,
    args: Vec<Option<&'s Arg<'a>>>,
}

impl<'s, 'a> Operands<'s, 'a> {
    /// The operands that follow `at`.
    pub fn new(at: &'s Token<'a>, args: &'s [Arg<'a>]) -> Operands<'s, 'a> {
        Operands { at, args: args.iter().map(Some).collect() }
    }

    /// The next operand without a name.
    pub fn bare(&mut self, what: &str) -> Result<&'s Token<'a>, Diagnostic> {
        for slot in &mut self.args {
            if let Some(Arg::Bare(t)) = slot {
                *slot = None;
                return Ok(t);
            }
        }
        Err(self.at.error("D050", format!("{what} is missing")))
    }

    /// The value of a named operand, if it is there.
    pub fn named(&mut self, name: &str) -> Option<&'s Token<'a>> {
        for slot in &mut self.args {
            if let Some(Arg::Pair(n, v)) = slot
                && n.word() == Some(name)
            {
                *slot = None;
                return Some(v);
            }
        }
        None
    }

    /// The value of a named operand that must be there.
    pub fn need(&mut self, name: &str) -> Result<&'s Token<'a>, Diagnostic> {
        self.named(name)
            .ok_or_else(|| self.at.error("D050", format!("operand `{name}=` is missing")))
    }

    /// A finding for each operand that nobody took; `known` are the names that would do.
    pub fn finish(self, known: &[&str]) -> Vec<Diagnostic> {
        let left = self.args.into_iter().flatten();
        left.map(|a| {
            let t = a.token();
            let d = t.error("D050", format!("{} is not expected here", shown(t)));
            match (a, t.word().and_then(|w| nearest(w, known.iter().copied()))) {
                (Arg::Pair(..), Some(n)) => d.help(format!("did you mean `{n}`?")),
                _ => d,
            }
        })
        .collect()
    }
}

/// A token in a message.
pub fn shown(t: &Token<'_>) -> String {
    match &t.kind {
        Kind::Word(w) => format!("`{w}`"),
        Kind::Str(_) => "the string".to_owned(),
        Kind::Eq => "`=`".to_owned(),
        Kind::Comma => "`,`".to_owned(),
        Kind::Open => "`{`".to_owned(),
        Kind::Close => "`}`".to_owned(),
    }
}

/// The known name that is at most two edits away, the nearest first.
pub fn nearest<'n>(word: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    const FARTHEST: usize = 2;
    const LONGEST: usize = 64;
    known
        .filter(|k| k.len() <= LONGEST && word.len() <= LONGEST)
        .filter(|k| k.chars().count().abs_diff(word.chars().count()) <= FARTHEST)
        .map(|k| (distance(word, k), k))
        .filter(|(d, k)| *d <= FARTHEST && *d < k.len())
        .min()
        .map(|(_, k)| k)
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut left = i + 1;
        let mut diagonal = i;
        for (cb, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let up = *cell;
            let here = (diagonal + usize::from(ca != *cb)).min(up + 1).min(left + 1);
            diagonal = up;
            left = here;
            *cell = here;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

/// An error with the nearest of some names as help.
pub fn unknown<'n>(
    t: &Token<'_>,
    code: &'static str,
    what: &str,
    known: impl Iterator<Item = &'n str> + Clone,
) -> Diagnostic {
    const LISTED: usize = 12;
    let d = t.error(code, format!("{} is not a {what}", shown(t)));
    match t.word().and_then(|w| nearest(w, known.clone())) {
        Some(n) => d.help(format!("did you mean `{n}`?")),
        None => {
            let list: Vec<&str> = known.take(LISTED + 1).collect();
            if list.is_empty() || list.len() > LISTED {
                d
            } else {
                d.help(format!("known: {}", list.join(", ")))
            }
        }
    }
}

/// Digits in either base; `_` may stand between them. `None`: no number; `Some(None)`: too
/// large for 64 bits.
fn number(text: &str) -> Option<Option<u64>> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None => (text, 10),
    };
    let ok = digits.chars().all(|c| c == '_' || c.is_digit(radix))
        && digits.chars().any(|c| c != '_')
        && !digits.starts_with('_');
    ok.then(|| u64::from_str_radix(&digits.replace('_', ""), radix).ok())
}

/// A number up to `most`.
pub fn uint(t: &Token<'_>, most: u64) -> Result<u64, Diagnostic> {
    match t.word().and_then(number) {
        Some(Some(n)) if n <= most => Ok(n),
        Some(_) => Err(t.error("D052", format!("{} is above {most}", shown(t)))),
        None => Err(t.error("D050", format!("{} is not a number", shown(t)))),
    }
}

/// A signed 32-bit number.
pub fn int(t: &Token<'_>) -> Result<i32, Diagnostic> {
    t.word()
        .and_then(|w| w.parse().ok())
        .ok_or_else(|| t.error("D052", format!("{} is not a 32-bit number", shown(t))))
}

/// `yes` or `no`.
pub fn yes_no(t: &Token<'_>) -> Result<bool, Diagnostic> {
    match t.word() {
        Some("yes") => Ok(true),
        Some("no") => Ok(false),
        _ => Err(t.error("D050", format!("{} is neither `yes` nor `no`", shown(t)))),
    }
}

/// `e32.q0`
pub fn queue_id(t: &Token<'_>) -> Result<QueueId, Diagnostic> {
    fn parse(i: &str) -> IResult<&str, (u32, u32)> {
        all_consuming(separated_pair(
            preceded(tag("e"), decimal),
            tag("."),
            preceded(tag("q"), decimal),
        ))
        .parse(i)
    }
    match t.word().map(parse) {
        Some(Ok((_, (engine, queue)))) => Ok(QueueId { engine, queue }),
        _ => Err(t.error("D050", format!("{} is no queue such as `e32.q0`", shown(t)))),
    }
}

/// Whether a name can be written without quotes and used in addresses.
pub fn is_bare_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// A declared name: a word or a string.
pub fn name(t: &Token<'_>) -> Result<String, Diagnostic> {
    match &t.kind {
        Kind::Word(w) if is_bare_name(w) => Ok((*w).to_owned()),
        Kind::Str(s) => string(t, s),
        _ => Err(t
            .error("D050", format!("{} is not a name", shown(t)))
            .help("letters, digits, `_`, `.` and `-`, not a digit first; anything else in quotes")),
    }
}

/// The text of a string token.
pub fn text(t: &Token<'_>) -> Result<String, Diagnostic> {
    match &t.kind {
        Kind::Str(s) => string(t, s),
        _ => Err(t.error("D050", format!("{} is not a string in quotes", shown(t)))),
    }
}

fn string(t: &Token<'_>, bytes: &[u8]) -> Result<String, Diagnostic> {
    String::from_utf8(bytes.to_vec()).map_err(|_| t.error("D050", "the string is not UTF-8"))
}

impl Symbols {
    /// A number, `region`, `region+N`, or `$variable`, `$variable+N`.
    pub fn address(&self, t: &Token<'_>) -> Result<u64, Diagnostic> {
        let Some(word) = t.word() else {
            return Err(t.error("D050", format!("{} is not an address", shown(t))));
        };
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return uint(t, u64::MAX);
        }
        let (base, offset) = match split(word) {
            Some((base, offset)) => (base, number(offset).flatten()),
            None => (word, Some(0)),
        };
        let Some(offset) = offset else {
            return Err(t.error("D050", format!("{} is not an address", shown(t))));
        };
        if let Some(variable) = base.strip_prefix('$') {
            return match self.variables.get(variable) {
                Some(&var) if offset < 1 << 36 => Ok(Template { var, offset }.to_ptr()),
                Some(_) => Err(t.error("D052", "an offset from a variable has 36 bits")),
                None => {
                    let names = self.variables.keys().map(String::as_str);
                    Err(self.lost(t, variable, "variable", names))
                }
            };
        }
        match self.regions.get(base).map(|b| b.checked_add(offset)) {
            Some(Some(addr)) => Ok(addr),
            Some(None) => Err(t.error("D052", "the address goes beyond 64 bits")),
            None => Err(self.lost(t, base, "region", self.regions.keys().map(String::as_str))),
        }
    }

    fn lost<'n>(
        &self,
        t: &Token<'_>,
        name: &str,
        what: &str,
        known: impl Iterator<Item = &'n str>,
    ) -> Diagnostic {
        let d = t.error("D051", format!("no {what} `{name}` is declared"));
        if self.suggested.get() >= MAX_SUGGESTIONS {
            return d;
        }
        self.suggested.set(self.suggested.get() + 1);
        match nearest(name, known) {
            Some(n) => d.help(format!("did you mean `{n}`?")),
            None => d,
        }
    }
}

fn split(word: &str) -> Option<(&str, &str)> {
    fn base(i: &str) -> IResult<&str, &str> {
        nom::sequence::terminated(take_while1(|c| c != '+'), tag("+")).parse(i)
    }
    base(word).ok().map(|(offset, base)| (base, offset))
}

/// A whole item as operands, with its first token as the verb.
pub fn verb<'s, 'a>(args: &'s Args<'a>) -> Option<(&'s Token<'a>, &'s [Arg<'a>])> {
    match args.split_first() {
        Some((Arg::Bare(t), rest)) => Some((t, rest)),
        _ => None,
    }
}
