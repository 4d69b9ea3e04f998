//! One line of hex text, cut into offset and words, with nom.

use super::HexForm;
use crate::limits::MAX_LINE_BYTES;
use nom::bytes::complete::{tag, take_while, take_while_m_n, take_while1};
use nom::character::complete::{char, space0, space1};
use nom::combinator::{all_consuming, opt, recognize, verify};
use nom::multi::{many0, separated_list1};
use nom::sequence::{preceded, terminated};
use nom::{IResult, Parser};

/// A word and its column, from 1, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// The characters.
    pub text: &'a str,
    /// Where.
    pub column: u64,
}

/// A line, cut.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line<'a> {
    /// What stands in front.
    pub offset: Option<Word<'a>>,
    /// The data.
    pub words: Vec<Word<'a>>,
}

type Res<'a, T> = IResult<&'a str, T>;

/// An empty line or a comment (`#`, `;`, `//`).
pub fn is_comment(line: &str) -> bool {
    let t = line.trim();
    t.is_empty() || t.starts_with('#') || t.starts_with(';') || t.starts_with("//")
}

fn digits(least: usize, most: usize) -> impl FnMut(&str) -> Res<'_, &str> {
    move |i| take_while_m_n(least, most, |c: char| c.is_ascii_hexdigit()).parse(i)
}

/// Offset, colon, groups of two or more digits, and perhaps two blanks and the characters.
fn xxd(i: &str) -> Res<'_, (&str, usize)> {
    let (i, offset) = terminated(digits(4, 16), tag(":")).parse(i)?;
    let (i, groups) = preceded(space0, separated_list1(char(' '), even)).parse(i)?;
    let widest = groups.iter().map(|g| g.len()).max().unwrap_or(0);
    let (i, tail) = opt(preceded(tag("  "), take_while(|_| true))).parse(i)?;
    let (i, _) = all_consuming(space0).parse(i)?;
    // Words of a dump without characters belong to the kernel's form.
    if tail.is_none() && widest == 8 { fail(i) } else { Ok((i, (offset, widest))) }
}

fn fail<T>(i: &str) -> Res<'_, T> {
    Err(nom::Err::Error(nom::error::Error::new(i, nom::error::ErrorKind::Verify)))
}

fn even(i: &str) -> Res<'_, &str> {
    verify(digits(2, MAX_LINE_BYTES), |d: &str| d.len().is_multiple_of(2)).parse(i)
}

/// Offset, bytes, bars.
fn hexdump(i: &str) -> Res<'_, &str> {
    let (i, offset) = terminated(digits(6, 16), space1).parse(i)?;
    let (i, _) = separated_list1(space1, digits(2, 2)).parse(i)?;
    let (i, _) = (space0, char('|'), take_while(|_| true)).parse(i)?;
    Ok((i, offset))
}

/// Offset that is no word, then words.
fn od(i: &str) -> Res<'_, &str> {
    let offset = verify(digits(6, 16), |d: &str| d.len() != 8);
    let (i, offset) = terminated(offset, space1).parse(i)?;
    let (i, _) = separated_list1(space1, digits(8, 8)).parse(i)?;
    let (i, _) = all_consuming(space0).parse(i)?;
    Ok((i, offset))
}

fn word(i: &str) -> Res<'_, &str> {
    let bare = digits(8, 8);
    let prefixed = recognize((tag("0x"), digits(1, 8)));
    nom::branch::alt((prefixed, bare)).parse(i)
}

fn separator(i: &str) -> Res<'_, &str> {
    take_while1(|c: char| c.is_whitespace() || c == ',').parse(i)
}

fn words(i: &str) -> Res<'_, usize> {
    let (i, n) = preceded(space0, separated_list1(separator, word)).parse(i)?;
    let (i, _) = all_consuming(many0(separator)).parse(i)?;
    Ok((i, n.len()))
}

fn plain(i: &str) -> Res<'_, usize> {
    let (i, n) = preceded(space0, separated_list1(space1, even)).parse(i)?;
    let (i, _) = all_consuming(space0).parse(i)?;
    let alike = n.iter().all(|g| g.len() == 2) || n.len() == 1 && n.iter().all(|g| g.len() >= 16);
    if alike { Ok((i, n.len())) } else { fail(i) }
}

/// The form that a line has, if any.
pub fn form(line: &str) -> Option<HexForm> {
    let line = line.trim_end();
    let at = line.trim_start();
    if xxd(at).is_ok() {
        Some(HexForm::Xxd)
    } else if hexdump(at).is_ok() {
        Some(HexForm::HexdumpC)
    } else if od(at).is_ok() {
        Some(HexForm::Od)
    } else if words(at).is_ok() {
        Some(HexForm::Words)
    } else if plain(at).is_ok() {
        Some(HexForm::Plain)
    } else {
        let l = kernel(line);
        let all = l.words.iter().all(|w| is_data(w.text));
        (all && is_data_line(&l) && line.contains(": ")).then_some(HexForm::KernelLog)
    }
}

/// The form that a line would have if its wrong letters were digits, where most are.
pub fn form_but_for_digits(line: &str) -> Option<HexForm> {
    let letters = line.chars().filter(|c| c.is_alphanumeric());
    let (good, all) = letters.fold((0usize, 0usize), |(good, all), c| {
        (good + usize::from(c.is_ascii_hexdigit()), all + 1)
    });
    if good * 4 < all * 3 || all == 0 {
        return None;
    }
    // Only the data may be mended: the characters beside it are as they are.
    let end = line.find('|').or(line.find("   ")).unwrap_or(line.len());
    let (data, rest) = line.split_at_checked(end)?;
    let mended: String = data
        .chars()
        .map(|c| if c.is_alphanumeric() && !c.is_ascii_hexdigit() && c != 'x' { '0' } else { c })
        .chain(rest.chars())
        .collect();
    form(&mended)
}

/// Whether a word of a kernel log is data: eight digits, two digits, or `0x..`.
pub fn is_data(text: &str) -> bool {
    all_consuming(nom::branch::alt((word, digits(2, 2)))).parse(text).is_ok()
}

/// Whether a line of a kernel log has data at its end: at least a descriptor's half of it, and
/// nothing beside it. A word of the right size with a few wrong letters is data gone wrong;
/// any other text makes the line one that somebody else wrote.
pub fn is_data_line(l: &Line<'_>) -> bool {
    const LEAST: usize = 2;
    let good = l.words.iter().filter(|w| is_data(w.text)).count();
    let mostly = good * 4 >= l.words.len() * 3;
    good > 0 && l.words.len() >= LEAST && (mostly || l.words.iter().all(|w| is_nearly_data(w.text)))
}

fn is_nearly_data(text: &str) -> bool {
    let bare = text.strip_prefix("0x");
    let digits = bare.unwrap_or(text);
    let (all, hex) = digits
        .chars()
        .fold((0, 0), |(all, hex), c| (all + 1, hex + usize::from(c.is_ascii_hexdigit())));
    is_data(text) || (bare.is_some() || (7..=9).contains(&all)) && hex * 4 >= all * 3
}

/// Cuts a line by its form; nothing is checked.
pub fn split(form: HexForm, line: &str) -> Line<'_> {
    match form {
        HexForm::Plain | HexForm::Words => Line { offset: None, words: cut(line, 0) },
        HexForm::KernelLog => kernel(line),
        HexForm::Xxd => {
            let Some(colon) = line.find(':') else { return offset_first(line) };
            let (head, rest) = line.split_at(colon);
            let lead = head.len() - head.trim_start().len();
            let data = rest.get(1..).unwrap_or_default();
            let blanks = data.len() - data.trim_start().len();
            // The characters stand behind two blanks.
            let end = data.get(blanks..).and_then(|d| d.find("  ")).map(|e| e + blanks);
            let data = data.get(..end.unwrap_or(data.len())).unwrap_or_default();
            Line { offset: Some(at(line, lead, head.trim())), words: cut_at(line, data, colon + 1) }
        }
        HexForm::HexdumpC => {
            let end = line.find('|').unwrap_or(line.len());
            offset_first(line.get(..end).unwrap_or_default())
        }
        HexForm::Od => offset_first(line),
    }
}

fn offset_first(line: &str) -> Line<'_> {
    let mut words = cut(line, 0);
    if words.is_empty() {
        return Line::default();
    }
    let offset = words.remove(0);
    Line { offset: Some(offset), words }
}

/// Everything behind the last colon that is followed by a blank; before it, a dump's offset
/// where the text ends with one.
fn kernel(line: &str) -> Line<'_> {
    // The characters of a dump may hold a colon too: data must follow the one meant.
    let data_follows = |i: &usize| {
        line.get(i + 1..).and_then(|r| r.split_whitespace().next()).is_some_and(is_data)
    };
    let mut colons = line.rmatch_indices(": ").map(|(i, _)| i);
    let from = colons.find(data_follows).or(line.rfind(": ")).map_or(0, |i| i + 1);
    let (head, data) = line.split_at_checked(from).unwrap_or(("", line));
    let blanks = data.len() - data.trim_start().len();
    let body = data.get(blanks..).unwrap_or_default();
    // A dump's characters stand behind two blanks; more words may, too.
    let end = body.find("  ").filter(|e| {
        let rest = body.get(*e..).unwrap_or_default();
        !rest.split_whitespace().all(is_data)
    });
    let data = data.get(..blanks + end.unwrap_or(body.len())).unwrap_or_default();
    let last = head.trim_end_matches(':').split_whitespace().next_back();
    let offset = last.filter(|t| t.len() == 8 && t.chars().all(|c| c.is_ascii_hexdigit()));
    let offset = offset.map(|t| at(line, head.rfind(t).unwrap_or(0), t));
    Line { offset, words: cut_at(line, data, from) }
}

fn at<'a>(line: &str, byte: usize, text: &'a str) -> Word<'a> {
    let before = line.get(..byte).map_or(0, |b| b.chars().count());
    Word { text, column: before as u64 + 1 }
}

fn cut(line: &str, from: usize) -> Vec<Word<'_>> {
    cut_at(line, line, from)
}

/// The words of `part`, which begins at byte `from` of `line`.
fn cut_at<'a>(line: &str, part: &'a str, from: usize) -> Vec<Word<'a>> {
    let mut out = Vec::new();
    let mut column = line.get(..from).map_or(0, |b| b.chars().count() as u64) + 1;
    let mut rest = part;
    let blank = |c: char| c.is_whitespace() || c == ',';
    while !rest.is_empty() {
        let skip = rest.find(|c| !blank(c)).unwrap_or(rest.len());
        let (before, from) = rest.split_at_checked(skip).unwrap_or((rest, ""));
        column += before.chars().count() as u64;
        let len = from.find(blank).unwrap_or(from.len());
        let (text, after) = from.split_at_checked(len).unwrap_or((from, ""));
        if !text.is_empty() {
            out.push(Word { text, column });
        }
        column += text.chars().count() as u64;
        rest = after;
    }
    out
}
