//! The arguments of one command as they are taken from its line, and the kinds that several
//! verbs share: words of a list, places, queues (`docs/commands.md`, "Places").

use super::expr::{dir, expr, leftover, queue, slot_expr, slot_names};
use super::lex::{
    Fault, Res, did_you_mean, fault_of, is_name, name, number, quoted, shown, skip, stop,
};
use crate::diag::Diagnostic;
use crate::engine::command::{
    Bytes, CommandSpec, InjectAt, Loc, Pass, Subject, Watched, is_plain_name, is_word, nearest,
};
use crate::engine::expr::{Expr, QueueRef, SLOT_PROPERTIES, is_bare_place};
use crate::limits::MAX_SAME_CODE;
use crate::udma::Dir;
use nom::Parser;
use nom::character::complete::char;
use nom::combinator::opt;
use nom::sequence::terminated;

/// What is left of a command's line.
pub(super) struct Args<'a> {
    /// The rest, blanks in front included.
    pub rest: &'a str,
    /// The verb goes backwards.
    pub back: bool,
    /// The verb has a `!` behind it.
    pub bang: bool,
    /// The command.
    pub spec: &'static CommandSpec,
    /// What is wrong although parsing could go on.
    faults: Vec<Fault>,
}

impl<'a> Args<'a> {
    pub fn new(rest: &'a str, back: bool, spec: &'static CommandSpec) -> Args<'a> {
        Args { rest, back, bang: false, spec, faults: Vec::new() }
    }

    /// Keeps a fault and goes on; beyond a bound they are dropped.
    pub fn keep(&mut self, fault: Fault) {
        if self.faults.len() < MAX_SAME_CODE {
            self.faults.push(fault);
        }
    }

    /// Everything that was wrong, or nothing.
    pub fn into_faults(self) -> Vec<Fault> {
        self.faults
    }

    /// Whether nothing but blanks is left.
    pub fn at_end(&self) -> bool {
        skip(self.rest).is_empty()
    }

    /// The next argument up to a blank, not taken; empty at the end.
    pub fn peek(&self) -> &'a str {
        let rest = skip(self.rest);
        rest.split(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default()
    }

    /// Takes the next argument up to a blank.
    pub fn word(&mut self) -> Option<&'a str> {
        let word = self.peek();
        if word.is_empty() {
            return None;
        }
        self.rest = skip(self.rest).get(word.len()..).unwrap_or_default();
        Some(word)
    }

    /// Takes the next argument if it is this one.
    pub fn eat(&mut self, word: &str) -> bool {
        let hit = self.peek() == word;
        if hit {
            self.word();
        }
        hit
    }

    /// A fault about the next argument, all of it.
    pub fn wrong(&self, message: impl Into<String>) -> Fault {
        Fault::new("S003", skip(self.rest), message).wide(self.peek().len())
    }

    /// What the next argument should have been.
    pub fn missing(&self, what: &str) -> Fault {
        if self.at_end() {
            return Fault::new("S003", "", format!("{what} is missing"));
        }
        self.wrong(format!("{what} should stand here, not {}", shown(skip(self.rest))))
    }

    /// Takes what `parser` takes, blanks in front aside.
    pub fn take<T>(&mut self, mut parser: impl FnMut(&'a str) -> Res<'a, T>) -> Result<T, Fault> {
        match parser(skip(self.rest)) {
            Ok((rest, value)) => {
                self.rest = rest;
                Ok(value)
            }
            Err(e) => Err(fault_of(e, self.rest)),
        }
    }

    /// A number that ends with its word.
    pub fn number(&mut self, what: &str) -> Result<u64, Fault> {
        let digit = self.peek().starts_with(|c: char| c.is_ascii_digit());
        if !digit {
            return Err(self.missing(what));
        }
        let n = self.take(number)?;
        self.blank()?;
        Ok(n)
    }

    /// A number of at least 1, or 1 where no argument is left.
    pub fn count(&mut self) -> Result<u64, Fault> {
        if self.at_end() {
            return Ok(1);
        }
        let zero = self.wrong("0 times is not at all");
        match self.number("a number")? {
            0 => Err(zero.help("a count is at least 1")),
            n => Ok(n),
        }
    }

    /// An expression.
    pub fn expr(&mut self) -> Result<Expr, Fault> {
        if self.at_end() {
            return Err(self.missing("an expression"));
        }
        self.take(expr)
    }

    /// An expression about a slot, that ends the line.
    pub fn slot_expr(&mut self) -> Result<Expr, Fault> {
        if self.at_end() {
            return Err(self.missing("an expression"));
        }
        let e = self.take(slot_expr)?;
        leftover(self.rest).map_or(Ok(e), Err)
    }

    /// An expression that ends the line.
    pub fn last_expr(&mut self) -> Result<Expr, Fault> {
        let e = self.expr()?;
        leftover(self.rest).map_or(Ok(e), Err)
    }

    /// A text in quotes.
    pub fn quoted(&mut self) -> Result<String, Fault> {
        self.take(quoted)
    }

    /// A queue.
    pub fn queue(&mut self) -> Result<QueueRef, Fault> {
        let wrong = self.missing("a queue").help("a queue is written `q0` or `e5.q0`");
        let found = self.take(queue).map_err(|_| wrong)?;
        self.blank()?;
        Ok(found)
    }

    /// A place.
    pub fn loc(&mut self) -> Result<Loc, Fault> {
        if self.at_end() {
            return Err(self.missing("a place").help(PLACES));
        }
        let loc = self.take(loc)?;
        self.blank()?;
        Ok(loc)
    }

    /// Where a fault is injected: a slot, a ring, or a queue.
    pub fn inject_at(&mut self) -> Result<InjectAt, Fault> {
        const ADVICE: &str = "a slot (tx[3], q0.rx[17]), a ring (q0.rx) or a queue (q0)";
        if self.at_end() {
            return Err(self.missing("a slot, ring or queue").help(ADVICE));
        }
        let whole = self.wrong("only one slot can be named").help(ADVICE);
        let wrong = self.missing("a slot, ring or queue").help(ADVICE);
        if self.peek().contains('[') {
            return match self.loc()? {
                Loc::Slots { queue, dir, first, last } if first == last => {
                    Ok(InjectAt { queue, dir: Some(dir), slot: Some(first) })
                }
                _ => Err(whole),
            };
        }
        let Some(word) = self.word() else { return Err(wrong) };
        let (queue, ring) = match queue(word) {
            Ok(("", queue)) => (queue, None),
            Ok((rest, queue)) => (queue, Some(rest.strip_prefix('.').unwrap_or_default())),
            Err(_) => (QueueRef::Selected, Some(word)),
        };
        match ring.map(|r| Dir::BOTH.into_iter().find(|d| d.name() == r)) {
            None => Ok(InjectAt { queue, dir: None, slot: None }),
            Some(dir @ Some(_)) => Ok(InjectAt { queue, dir, slot: None }),
            Some(None) => Err(wrong),
        }
    }

    /// A file's name: a word, or a text in quotes.
    pub fn file(&mut self) -> Result<String, Fault> {
        let missing = self.missing("a file's name");
        let file = match self.peek().starts_with('"') {
            true => self.quoted()?,
            false => self.word().unwrap_or_default().to_owned(),
        };
        if file.is_empty() { Err(missing) } else { Ok(file) }
    }

    /// A range of slots, if one stands here: `tx[3:9]`.
    pub fn slots(&mut self) -> Option<Result<Watched, Fault>> {
        let start = skip(self.rest);
        let word = start.split(['\n', ',']).next().unwrap_or_default();
        let inside = word.split_once('[').and_then(|w| w.1.split_once(']')).map(|w| w.0)?;
        let ring = |w: &str| Dir::BOTH.iter().any(|d| w.ends_with(d.name()));
        if !inside.contains(':') || !word.split('[').next().is_some_and(ring) {
            return None;
        }
        Some(self.take(loc).map(|at| match at {
            Loc::Slots { queue, dir, first, last } => Watched::Slots { queue, dir, first, last },
            other => Watched::Name(other.to_string()),
        }))
    }

    /// Bytes of memory: `ADDR[,LEN]`, slots, or the marker's word.
    pub fn bytes(&mut self) -> Result<Bytes, Fault> {
        const ADVICE: &str = "an address and a length (0x1000, 16), a slot (tx[3]), or `marker`";
        if self.at_end() {
            return Err(self.missing("an address").help(ADVICE));
        }
        let start = skip(self.rest);
        // What goes on behind the slot is an expression: `tx[3].buf_ptr`.
        if let Ok((rest, place)) = loc(start)
            && skip(rest).is_empty()
        {
            let found = match place {
                Loc::Slots { queue, dir, first, last } => {
                    Some(Bytes::Slots { queue, dir, first, last })
                }
                Loc::Marker => Some(Bytes::Marker),
                _ => None,
            };
            if let Some(found) = found {
                self.rest = rest;
                return Ok(found);
            }
        }
        let addr = self.expr()?;
        self.rest = skip(self.rest);
        let len = match self.rest.strip_prefix(',') {
            Some(rest) => {
                self.rest = rest;
                Some(self.last_expr()?)
            }
            None => match leftover(self.rest) {
                Some(fault) => return Err(fault),
                None => None,
            },
        };
        Ok(Bytes::Span { addr, len })
    }

    /// Whose provenance is asked for: a slot, an address, `%NAME` of an instruction, or a name.
    pub fn subject(&mut self) -> Result<Subject, Fault> {
        const ADVICE: &str = "a slot (tx[3], q0.rx[17]), an address, %INSTRUCTION, or the name of a block, queue or location";
        if self.at_end() {
            return Err(self.missing("a slot, an address or a name").help(ADVICE));
        }
        let start = skip(self.rest);
        if start.starts_with('"') {
            let name = self.quoted()?;
            self.blank()?;
            return Ok(Subject::Name(name));
        }
        if let Some(after) = start.strip_prefix('%') {
            if after.starts_with('"') {
                self.rest = after;
                let name = self.quoted()?;
                self.blank()?;
                return Ok(Subject::Inst(name));
            }
            let missing = self.wrong("a name should stand after `%`").help(ADVICE);
            return match self.word().and_then(|w| w.strip_prefix('%')) {
                Some(name) if !name.is_empty() => Ok(Subject::Inst(name.to_owned())),
                _ => Err(missing),
            };
        }
        if !is_place(self.peek()) {
            return match self.word() {
                Some(word) => Ok(Subject::Name(word.to_owned())),
                None => Err(self.missing("a name")),
            };
        }
        let whole = self.wrong("only one slot can be asked for at a time");
        let (place, path) = self.slot_path()?;
        match place {
            Loc::Slots { queue, dir, first, last } if first == last => {
                Ok(Subject::Slot { queue, dir, index: first, path })
            }
            Loc::Addr(addr) => Ok(Subject::Addr(addr)),
            _ => Err(whole),
        }
    }

    /// A place, and behind a slot the names of a word and a field of it.
    fn slot_path(&mut self) -> Result<(Loc, Vec<String>), Fault> {
        let place = self.take(loc)?;
        let mut path: Vec<String> = Vec::new();
        while let (Loc::Slots { dir, .. }, Some(rest)) = (&place, self.rest.strip_prefix('.')) {
            let word = path.first().map(String::as_str);
            let known = match path.len() {
                0 => slot_names(*dir, None),
                1 => slot_names(*dir, word),
                _ => Vec::new(),
            };
            let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
            let part = rest.get(..end).unwrap_or_default();
            if SLOT_PROPERTIES.iter().any(|p| p.0 == part) && part != "phase" {
                let text = format!("`{part}` is no field of a descriptor");
                return Err(Fault::new("S005", rest, text).wide(end));
            }
            if !known.contains(&part) {
                let text = format!("`{part}` is no word or field of {}", dir.name());
                return Err(Fault::new("S005", rest, text).wide(end.max(1)).near(part, known));
            }
            path.push(if part == "phase" { "ring_id".to_owned() } else { part.to_owned() });
            self.rest = rest.get(end..).unwrap_or_default();
        }
        self.blank()?;
        Ok((place, path))
    }

    /// One of `words`, or an unambiguous beginning of one, by its index.
    pub fn choose(&mut self, what: &str, words: &[&str]) -> Result<usize, Fault> {
        match choose(self.peek(), words) {
            Ok(i) => {
                self.word();
                Ok(i)
            }
            Err(_) if self.at_end() => {
                Err(self.missing(what).help(format!("one of {}", words.join(", "))))
            }
            Err(Choice::Several(fit)) => {
                let text = format!("{} may be {}", shown(skip(self.rest)), fit.join(" or "));
                Err(self.wrong(text))
            }
            Err(Choice::None(near)) => {
                let help = match near.as_slice() {
                    [] => format!("one of {}", words.join(", ")),
                    near => did_you_mean(near),
                };
                Err(self.wrong(format!("{} is not {what}", shown(skip(self.rest)))).help(help))
            }
        }
    }

    /// Asks for a blank or the end.
    fn blank(&self) -> Result<(), Fault> {
        if self.rest.is_empty() || self.rest.starts_with(|c: char| c.is_ascii_whitespace()) {
            return Ok(());
        }
        Err(self.wrong(format!("{} is not expected here", shown(self.rest))))
    }
}

/// Whether a word is a queue and nothing more.
pub(super) fn is_queue(word: &str) -> bool {
    queue(word).is_ok_and(|(rest, _)| rest.is_empty())
}

/// Whether a word is meant as a slot or an address, well written or not.
fn is_place(word: &str) -> bool {
    let ring = |w: &str| {
        Dir::BOTH
            .iter()
            .any(|d| w.strip_prefix(d.name()).is_some_and(|r| r.starts_with('[') || r.is_empty()))
    };
    let after_queue = || {
        let (rest, _) = queue(word).ok()?;
        rest.strip_prefix('.')
    };
    word.starts_with(|c: char| c.is_ascii_digit()) || ring(word) || after_queue().is_some_and(ring)
}

/// Whether a name can be written as it is, without quotes, after `%` or bare.
pub(super) fn is_bare_name(name: &str, after_percent: bool) -> bool {
    let special = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '#' | ';');
    let begins = after_percent || !(name.starts_with('%') || is_place(name));
    !name.is_empty() && begins && !name.contains(special)
}

/// Why a word chooses nothing.
enum Choice<'k> {
    Several(Vec<&'k str>),
    None(Vec<&'k str>),
}

fn choose<'k>(word: &str, words: &[&'k str]) -> Result<usize, Choice<'k>> {
    if let Some(i) = words.iter().position(|w| *w == word) {
        return Ok(i);
    }
    let fit: Vec<usize> = (0..words.len())
        .filter(|i| !word.is_empty() && words.get(*i).is_some_and(|w| w.starts_with(word)))
        .collect();
    match fit.as_slice() {
        [one] => Ok(*one),
        [] => Err(Choice::None(nearest(word, words.iter().copied()))),
        many => Err(Choice::Several(many.iter().filter_map(|i| words.get(*i).copied()).collect())),
    }
}

/// The places there are, as advice.
const PLACES: &str = "places: tx[3], q0.rx[17], tx[3:9], batch 2, event 40, an address, marker, doorbell [q0], fault, q0; of a module %I-34, dma_block_2, line 12, pass split";

/// Places that are one word.
pub(super) const PLACE_WORDS: [Loc; 3] = [Loc::Marker, Loc::Doorbell(None), Loc::Fault];

/// A place that is a word and a number.
type Numbered = (&'static str, fn(u64) -> Loc);

/// Places that are a word and a number.
pub(super) const NUMBERED_PLACES: [Numbered; 3] =
    [("batch", Loc::Batch), ("event", Loc::Event), ("line", Loc::Line)];

/// The word in front of a stage.
const PASS: &str = "pass";

/// Reads a whole text as a place.
///
/// # Errors
/// S003 with column and width.
pub fn parse_loc(text: &str) -> Result<Loc, Diagnostic> {
    let fault = match loc(skip(text)) {
        Ok((rest, loc)) if skip(rest).is_empty() => return Ok(loc),
        Ok((rest, _)) => {
            let rest = skip(rest);
            Fault::new("S003", rest, format!("{} does not belong to the place", shown(rest)))
        }
        Err(e) => fault_of(e, text),
    };
    Err(fault.diagnostic(text))
}

/// A place at the start of `input`.
pub(super) fn loc(input: &str) -> Res<'_, Loc> {
    if input.starts_with(|c: char| c.is_ascii_digit()) {
        return number(input).map(|(rest, n)| (rest, Loc::Addr(n)));
    }
    if input.starts_with('"') {
        return quoted(input).and_then(|(rest, name)| match rest.strip_prefix('+') {
            Some(at) => number(at).map(|(rest, at)| (rest, Loc::Within(name, at))),
            None => Ok((rest, Loc::Name(name))),
        });
    }
    if let Some(after) = input.strip_prefix('%') {
        return inst(after);
    }
    if let Ok((rest, queue)) = queue(input)
        && (rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_whitespace()))
    {
        return Ok((rest, Loc::Queue(queue)));
    }
    let (rest, queue) = opt(terminated(queue, char('.'))).parse(input)?;
    if let Ok((after, dir)) = dir(rest) {
        let (rest, (first, last)) = range(after)?;
        let queue = queue.unwrap_or_default();
        return Ok((rest, Loc::Slots { queue, dir, first, last }));
    }
    if queue.is_some() {
        let text = format!("`tx[..]` or `rx[..]` should stand here, not {}", shown(rest));
        return stop(Fault::new("S003", rest, text));
    }
    let unknown = || Fault::new("S003", input, format!("{} is no place", shown(input)));
    let word = input.split(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default();
    if is_plain_name(word) {
        let rest = input.get(word.len()..).unwrap_or_default();
        return Ok((rest, Loc::Name(word.to_owned())));
    }
    let Ok((rest, word)) = name(input) else { return stop(unknown().help(PLACES)) };
    if is_bare_place(word)
        && let Some(at) = rest.strip_prefix('+')
    {
        return number(at).map(|(rest, at)| (rest, Loc::Within(word.to_owned(), at)));
    }
    if let Some(place) = PLACE_WORDS.into_iter().find(|p| p.to_string() == word) {
        return Ok(of_queue(rest, place));
    }
    if word == PASS {
        return stage(skip(rest));
    }
    if let Some((_, make)) = NUMBERED_PLACES.into_iter().find(|p| p.0 == word) {
        let rest = skip(rest);
        if !rest.starts_with(|c: char| c.is_ascii_digit()) {
            let text = format!("a number should stand after `{word}`, not {}", shown(rest));
            return stop(Fault::new("S003", rest, text));
        }
        return number(rest).map(|(rest, n)| (rest, make(n)));
    }
    let near = place_words();
    let near = nearest(word, near.iter().map(String::as_str));
    let help = if near.is_empty() { PLACES.to_owned() } else { did_you_mean(&near) };
    stop(unknown().help(help))
}

/// A doorbell with the queue behind it, if one is named.
fn of_queue(rest: &str, place: Loc) -> (&str, Loc) {
    match queue(skip(rest)) {
        Ok((after, q)) if place == Loc::Doorbell(None) && rest != skip(rest) => {
            (after, Loc::Doorbell(Some(q)))
        }
        _ => (rest, place),
    }
}

/// The name of an instruction after `%`.
fn inst(input: &str) -> Res<'_, Loc> {
    if input.starts_with('"') {
        return quoted(input).map(|(rest, name)| (rest, Loc::Inst(name)));
    }
    let word = input.split(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default();
    if !is_word(word) {
        let text = "a name should stand after `%`";
        return stop(Fault::new("S003", input, text).help("as in %I-34, or %\"a b\" in quotes"));
    }
    Ok((input.get(word.len()..).unwrap_or_default(), Loc::Inst(word.to_owned())))
}

/// A stage of the lowering.
fn stage(input: &str) -> Res<'_, Loc> {
    let all = Pass::STAGES;
    let word = input.split(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default();
    let names = all.map(crate::engine::lower::Stage::name);
    if let Ok(i) = choose(word, &names) {
        return Ok((input.get(word.len()..).unwrap_or_default(), Loc::Pass(all[i])));
    }
    let text = format!("a stage should stand after `pass`, not {}", shown(input));
    let near = nearest(word, names);
    let help =
        if near.is_empty() { format!("one of {}", names.join(", ")) } else { did_you_mean(&near) };
    stop(Fault::new("S003", input, text).wide(word.len()).help(help))
}

/// The words that a place may begin with, queues aside.
pub(super) fn place_words() -> Vec<String> {
    let rings = crate::udma::Dir::BOTH.map(|d| d.name().to_owned());
    let words = PLACE_WORDS.map(|p| p.to_string());
    let numbered = NUMBERED_PLACES.map(|p| p.0.to_owned());
    rings.into_iter().chain(words).chain(numbered).chain([PASS.to_owned()]).collect()
}

/// `[3]` or `[3:9]`, both ends included.
fn range(input: &str) -> Res<'_, (u64, u64)> {
    let expected = |what: &str, rest| {
        Fault::new("S003", rest, format!("{what} should stand here, not {}", shown(rest)))
    };
    let index = |input| {
        let input = skip(input);
        match number(input) {
            Err(nom::Err::Error(_)) => stop(expected("a slot's number", input)),
            other => other.map(|(rest, n)| (skip(rest), n)),
        }
    };
    let Some(after) = input.strip_prefix('[') else { return stop(expected("`[`", input)) };
    let (rest, first) = index(after)?;
    let (rest, last) = match rest.strip_prefix(':') {
        Some(rest) => index(rest)?,
        None => (rest, first),
    };
    let Some(end) = rest.strip_prefix(']') else { return stop(expected("`]`", rest)) };
    if last < first {
        let text = format!("the range ends at {last}, before its start {first}");
        return stop(Fault::new("S003", after, text).wide(after.len() - rest.len()));
    }
    Ok((end, (first, last)))
}
