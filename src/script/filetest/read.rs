//! Reading the comments of a file.

use super::super::lex::{self, did_you_mean};
use super::{Expectation, FileTest, Grammar, Kind, Spot, TestRun};
use crate::diag::codes::CODES;
use crate::diag::{Diagnostic, Place, Report, Severity, lookup};
use crate::engine::command::nearest;
use crate::limits::{MAX_TEST_EXPECTATIONS, MAX_TEST_RUNS};

/// The directive that makes a file a test.
const TEST: &str = "test";
/// The other words of a header that end with a colon.
const STATUS: &str = "status";
const PROGRAM: &str = "program";
/// The word of a finding without a line.
const EXPECT: &str = "expect";
/// The word before what is printed.
const OUTPUT: &str = "output";
const SEVERITIES: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Note];

/// What stands on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    /// What is in front of the comment, without blanks around it.
    pub code: &'a str,
    /// Byte at which the comment's sign stands; `None` where there is no comment.
    pub comment: Option<usize>,
    /// A quote is open at the end: what follows would belong to it.
    pub open: bool,
}

/// Splits a line into code and comment.
pub(super) fn parts(line: &str, grammar: Grammar) -> Parts<'_> {
    let sign = grammar.sign();
    if grammar == Grammar::Hex {
        // A comment has a line of its own: elsewhere the sign may be a byte's character.
        let comment = line.find(sign).filter(|at| line[..*at].trim().is_empty());
        let code = if comment.is_some() { "" } else { line.trim() };
        return Parts { code, comment, open: true };
    }
    let (mut inside, mut escaped) = (false, false);
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            c if c == sign && !inside => {
                let code = line.get(..at).unwrap_or_default().trim();
                return Parts { code, comment: Some(at), open: false };
            }
            _ => {}
        }
    }
    Parts { code: line.trim(), comment: None, open: inside }
}

/// A comment's text, without its sign and the blanks around, and the byte where it begins.
fn comment_text(line: &str, at: usize) -> (&str, usize) {
    let rest = line.get(at + 1..).unwrap_or_default();
    let text = rest.trim_start();
    (text.trim_end(), at + 1 + rest.len() - text.len())
}

/// Whether a line of code is the one with which a file of this grammar begins.
fn is_header(code: &str, grammar: Grammar) -> bool {
    grammar.header().is_some_and(|word| code.split_whitespace().next() == Some(word))
}

/// Whether the header of a text, or of its beginning, holds a test.
pub fn has_test(grammar: Grammar, text: &str) -> bool {
    for line in text.trim_start_matches('\u{feff}').lines() {
        let p = parts(line, grammar);
        if !p.code.is_empty() && !is_header(p.code, grammar) {
            return false;
        }
        let said = p.comment.filter(|_| p.code.is_empty()).map(|at| comment_text(line, at).0);
        if said.is_some_and(asks_for_a_test) {
            return true;
        }
    }
    false
}

/// Whether a comment says what to run, or is one that almost does: `tests: check`, which is
/// refused where it is read.
fn asks_for_a_test(text: &str) -> bool {
    let Some((word, rest)) = text.split_once(':') else { return false };
    let kind = rest.split_whitespace().next().unwrap_or_default();
    let almost = || {
        let lower = word.to_ascii_lowercase();
        let near = lower == TEST || !nearest(&lower, [TEST]).is_empty();
        near && Kind::ALL.iter().any(|k| k.name() == kind)
    };
    directive(text).is_some_and(|d| d.0 == TEST) || almost()
}

/// `word: rest`, the word in lower case letters.
fn directive(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text.split_once(':')?;
    let plain = !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase());
    plain.then_some((word, rest.trim()))
}

/// Reads what the comments of a file say; `None` where it is no test.
///
/// # Errors
/// S031 for everything that cannot be understood, each with its place.
pub fn parse(name: &str, grammar: Grammar, text: &str) -> Result<Option<FileTest>, Report> {
    if !has_test(grammar, text) {
        return Ok(None);
    }
    let mut r = Reader {
        test: FileTest {
            grammar,
            program: None,
            runs: Vec::new(),
            expectations: Vec::new(),
            homes: Vec::new(),
            last_said: 0,
            blocks: None,
        },
        report: Report::default(),
        header: true,
        home: None,
        block: None,
    };
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        r.line(number, line);
    }
    r.end();
    if r.report.has_errors() { Err(r.report.in_file(name)) } else { Ok(Some(r.test)) }
}

struct Reader {
    test: FileTest,
    report: Report,
    /// No code came yet, but for the line that every file of the grammar begins with.
    header: bool,
    /// The newest line with code.
    home: Option<u64>,
    /// The run whose output is being read.
    block: Option<usize>,
}

/// Where a text stands: its line, that line's number, and the byte at which it begins.
#[derive(Clone, Copy)]
struct At<'a> {
    line: &'a str,
    number: u64,
    byte: usize,
}

impl At<'_> {
    /// The place of `word`, which is part of the line.
    fn place(self, word: &str) -> Place {
        let text = self.line.get(self.byte..).unwrap_or_default();
        // A part of the line is where it is, a copy of one where it is first found.
        let inside = (word.as_ptr() as usize).checked_sub(self.line.as_ptr() as usize);
        let inside = inside.filter(|at| self.line.get(*at..at + word.len()) == Some(word));
        let byte = inside.unwrap_or_else(|| self.byte + text.find(word).unwrap_or(0));
        let column = self.line.get(..byte).map_or(0, |s| s.chars().count()) as u64 + 1;
        Place::text(self.number, column, word.chars().count() as u64)
    }
}

impl Reader {
    fn wrong(&mut self, place: Place, message: impl Into<String>, help: &str) {
        let d = Diagnostic::new("S031", message).at(place);
        self.report.push(if help.is_empty() { d } else { d.help(help) });
    }

    fn line(&mut self, number: u64, line: &str) {
        let p = parts(line, self.test.grammar);
        if !p.code.is_empty() {
            if let Some(first) = self.test.blocks.filter(|_| self.block.take().is_some()) {
                let at = Place::text(number, 1, 1);
                let text = format!("what is printed (line {first}) must stand at the end");
                self.wrong(at, text, "move it below the last line of the file");
            }
            self.home = Some(number);
            self.header &= is_header(p.code, self.test.grammar);
        }
        self.test.homes.push(self.home);
        let Some(at) = p.comment else { return };
        let (text, byte) = comment_text(line, at);
        let place = At { line, number, byte };
        if p.code.is_empty() && self.output(text, place, line.get(at + 1..).unwrap_or_default()) {
            return;
        }
        if self.header && p.code.is_empty() && self.directive(text, place) {
            self.test.last_said = number;
            return;
        }
        self.annotation(text, place);
    }

    /// A line of an output block, or the one that begins it.
    fn output(&mut self, text: &str, at: At<'_>, raw: &str) -> bool {
        if let Some(n) = block_of(text) {
            self.test.blocks.get_or_insert(at.number);
            let run = usize::try_from(n - 1).unwrap_or(usize::MAX);
            match self.test.runs.get_mut(run) {
                Some(r) if r.output.is_none() => r.output = Some(Vec::new()),
                Some(_) => {
                    let text = format!("the output of test {n} stands here twice");
                    self.wrong(at.place(OUTPUT), text, "");
                }
                None => {
                    let text = format!("there is no test {n}");
                    let help = format!("the header has {} `test:` lines", self.test.runs.len());
                    self.wrong(at.place(OUTPUT), text, &help);
                }
            }
            self.block = Some(run);
            return true;
        }
        let Some(run) = self.block else { return false };
        if let Some(lines) = self.test.runs.get_mut(run).and_then(|r| r.output.as_mut()) {
            let raw = raw.strip_prefix(' ').unwrap_or(raw).trim_end();
            lines.push(unescaped(raw).to_owned());
        }
        true
    }

    /// A line of the header that says something; false where it is prose.
    fn directive(&mut self, text: &str, at: At<'_>) -> bool {
        if let Some(rest) = text.strip_prefix(EXPECT).and_then(|r| r.strip_prefix(' ')) {
            let finding = rest.trim_start();
            if finding
                .split(|c: char| !c.is_ascii_alphabetic())
                .next()
                .is_some_and(|word| !word.is_empty() && finding[word.len()..].starts_with('['))
            {
                self.expectation(finding, at, None);
                return true;
            }
        }
        let Some((word, rest)) = directive(text) else {
            if asks_for_a_test(text) {
                let word = text.split(':').next().unwrap_or_default();
                let help = did_you_mean(&[TEST]);
                self.wrong(at.place(word), format!("`{word}:` says nothing here"), &help);
                return true;
            }
            return false;
        };
        match word {
            TEST => self.test(rest, at),
            STATUS => self.status(rest, at),
            PROGRAM => self.program(rest, at),
            _ => {
                let near = nearest(word, [TEST, STATUS, PROGRAM, EXPECT, OUTPUT]);
                // A word of prose is no misspelling of a longer one.
                if near.is_empty() || word.len() < 4 {
                    return false;
                }
                let help = did_you_mean(&near);
                self.wrong(at.place(word), format!("`{word}:` says nothing here"), &help);
            }
        }
        true
    }

    fn test(&mut self, rest: &str, at: At<'_>) {
        let words = match words(rest) {
            Ok(words) => words,
            Err(message) => return self.wrong(at.place(rest), message, ""),
        };
        let names = Kind::ALL.map(Kind::name);
        let list = format!("one of {}", names.join(", "));
        let Some(word) = words.first() else {
            return self.wrong(at.place(TEST), "what to run is missing", &list);
        };
        let Some(kind) = Kind::ALL.into_iter().find(|k| k.name() == word) else {
            let near = nearest(word, names);
            let help = if near.is_empty() { list } else { did_you_mean(&near) };
            let text = format!("a file test cannot run `{word}`");
            return self.wrong(at.place(word), text, &help);
        };
        if self.test.grammar == Grammar::Dbg && !matches!(kind, Kind::Run | Kind::Render) {
            let text = format!("`{word}` is not for scripts");
            return self.wrong(
                at.place(word),
                text,
                "a script is `run`, or what it leads to `render`",
            );
        }
        if kind == Kind::Lower && self.test.grammar != Grammar::Bir {
            return self.wrong(at.place(word), "only a module is lowered", "");
        }
        if self.test.runs.len() >= MAX_TEST_RUNS {
            let text = format!("a file has at most {MAX_TEST_RUNS} tests");
            return self.wrong(at.place(TEST), text, "");
        }
        self.test.runs.push(TestRun {
            kind,
            args: words.into_iter().skip(1).collect(),
            line: at.number,
            status: 0,
            status_line: None,
            output: None,
        });
    }

    fn status(&mut self, rest: &str, at: At<'_>) {
        let wrong = match (rest.parse::<u8>(), self.test.runs.last_mut()) {
            (Ok(status @ 0..=2), Some(run)) if run.status_line.is_none() => {
                (run.status, run.status_line) = (status, Some(at.number));
                return;
            }
            (Ok(0..=2), Some(_)) => "the status of this test is said twice",
            (Ok(0..=2), None) => "a status belongs to the `test:` line above it",
            _ => "a status is 0, 1 or 2",
        };
        self.wrong(at.place(if rest.is_empty() { STATUS } else { rest }), wrong, "");
    }

    fn program(&mut self, rest: &str, at: At<'_>) {
        let text = match words(rest) {
            Ok(words) if words.len() == 1 && self.test.grammar == Grammar::Dbg => {
                if self.test.program.is_none() {
                    self.test.program = words.into_iter().next().map(|w| (w, at.number));
                    return;
                }
                "the program is named twice".to_owned()
            }
            Ok(_) if self.test.grammar != Grammar::Dbg => {
                "only a script names a program: this file is one".to_owned()
            }
            Ok(_) => "one file should be named here".to_owned(),
            Err(message) => message,
        };
        self.wrong(at.place(if rest.is_empty() { PROGRAM } else { rest }), text, "");
    }

    /// A comment that says what is found on its line, or on the one above.
    fn annotation(&mut self, text: &str, at: At<'_>) {
        let word = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let Some(code) = text[word.len()..].strip_prefix('[') else { return };
        let code = code.split(']').next().unwrap_or_default();
        let like_a_code = code.len() == 4
            && code.starts_with(|c: char| c.is_ascii_uppercase())
            && code.bytes().skip(1).all(|b| b.is_ascii_digit());
        let known = SEVERITIES.iter().any(|s| s.name() == word);
        // Anything else in brackets is prose.
        if !(known || like_a_code && !word.is_empty()) {
            return;
        }
        match self.home {
            Some(home) => self.expectation(text, at, Some(home)),
            None => {
                let help = "without a line it is `expect SEVERITY[CODE]: ..`";
                self.wrong(at.place(word), "there is no line above that this is about", help);
            }
        }
    }

    /// `error[D012] at PLACE: text`.
    fn expectation(&mut self, text: &str, at: At<'_>, home: Option<u64>) {
        let word = text.split('[').next().unwrap_or_default();
        let Some(severity) = SEVERITIES.into_iter().find(|s| s.name() == word) else {
            let near = nearest(word, SEVERITIES.map(Severity::name));
            let help = if near.is_empty() {
                "error, warning or note".to_owned()
            } else {
                did_you_mean(&near)
            };
            return self.wrong(at.place(word), format!("`{word}` is no severity"), &help);
        };
        let after = text.get(word.len() + 1..).unwrap_or_default();
        let Some((code, rest)) = after.split_once(']') else {
            return self.wrong(at.place(text), "`]` is missing after the code", "");
        };
        let Some(known) = lookup(code) else {
            let near = nearest(code, CODES.iter().map(|c| c.code));
            let text = format!("no finding has the code `{code}`");
            return self.wrong(at.place(code), text, &did_you_mean(&near));
        };
        let (place, said) = match rest.strip_prefix(" at ") {
            Some(rest) => {
                match rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, ""))) {
                    Some((place, said)) => (Some(place.trim()), said),
                    None => (Some(rest.trim()), ""),
                }
            }
            None => (None, rest.strip_prefix(':').unwrap_or(rest)),
        };
        if place.is_none() && !rest.is_empty() && !rest.starts_with(':') {
            let help = "SEVERITY[CODE]: a part of the message";
            return self.wrong(at.place(rest.trim()), "`:` should stand after the code", help);
        }
        let spot = match (home, place) {
            (Some(_), Some(place)) => {
                let help =
                    "a finding with a place of another kind is an `expect` line of the header";
                return self.wrong(at.place(place), "a line is this finding's place already", help);
            }
            (Some(line), None) => Spot::Line(line),
            (None, place) => Spot::Elsewhere(place.map(str::to_owned)),
        };
        let same = self.test.expectations.iter().filter(|e| e.spot.is_beside(&spot)).count();
        if same >= MAX_TEST_EXPECTATIONS {
            let text = format!("a line has at most {MAX_TEST_EXPECTATIONS} findings that are told");
            return self.wrong(at.place(word), text, "");
        }
        self.test.expectations.push(Expectation {
            severity,
            code: known.code,
            text: said.trim().to_owned(),
            spot,
            line: at.number,
        });
    }

    fn end(&mut self) {
        for run in &mut self.test.runs {
            if let Some(lines) = &mut run.output {
                while lines.last().is_some_and(String::is_empty) {
                    lines.pop();
                }
            }
        }
        if self.test.grammar == Grammar::Dbg && self.test.program.is_none() {
            let line = self.test.runs.first().map_or(1, |r| r.line);
            let help = "name it in the header: `# program: FILE`, from where the script lies";
            self.wrong(Place::text(line, 1, 1), "the script has no program to run", help);
        }
    }
}

impl Spot {
    /// Whether both are on one line, or both elsewhere.
    pub(super) fn is_beside(&self, other: &Spot) -> bool {
        match (self, other) {
            (Spot::Line(a), Spot::Line(b)) => a == b,
            (Spot::Elsewhere(_), Spot::Elsewhere(_)) => true,
            _ => false,
        }
    }
}

/// Which run's output begins with this line: 1 of `output:`, 2 of `output 2:`.
pub(super) fn block_of(text: &str) -> Option<u64> {
    let rest = text.trim().strip_prefix(OUTPUT)?.strip_suffix(':')?;
    if rest.is_empty() {
        return Some(1);
    }
    rest.strip_prefix(' ')?.parse().ok().filter(|n| *n >= 1)
}

/// Whether a line of output would begin a block, backslashes in front of it aside.
fn is_like_a_head(line: &str) -> bool {
    block_of(line.trim_start_matches(|c: char| c == '\\' || c.is_whitespace())).is_some()
}

/// A line of output as a block holds it: one that would begin a block has a backslash more.
pub(super) fn escaped(line: &str) -> String {
    if is_like_a_head(line) { format!("\\{line}") } else { line.to_owned() }
}

fn unescaped(line: &str) -> &str {
    line.strip_prefix('\\').filter(|rest| is_like_a_head(rest)).unwrap_or(line)
}

/// The line that begins a block.
pub(super) fn block_head(run: usize) -> String {
    match run {
        0 => format!("{OUTPUT}:"),
        n => format!("{OUTPUT} {}:", n + 1),
    }
}

/// The line that says a status.
pub(super) fn status_text(status: u8) -> String {
    format!("{STATUS}: {status}")
}

/// A finding as a comment says it.
pub(super) fn expectation_text(
    severity: Severity,
    code: &str,
    place: Option<&str>,
    text: &str,
) -> String {
    let at = place.map(|p| format!(" at {p}")).unwrap_or_default();
    format!("{severity}[{code}]{at}: {text}").trim_end().to_owned()
}

/// An `expect` line of the header.
pub(super) fn expect_text(finding: &str) -> String {
    format!("{EXPECT} {finding}")
}

/// Words with blanks between; one with blanks in it stands in quotes.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (word, after) = if rest.starts_with('"') {
            let (after, word) = lex::quoted(rest).map_err(|_| "the quote is not closed")?;
            (word, after)
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            (rest[..end].to_owned(), &rest[end..])
        };
        out.push(word);
        rest = after.trim_start();
    }
    Ok(out)
}
