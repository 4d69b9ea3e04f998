//! A lesson's file (TOML) to a [`Lesson`]: everything that is wrong with it, each with line and
//! column (`docs/learn.md`, "The file").

use super::allowed::{judges, may_use};
use super::model::{Fact, Goal, Lesson, Line, ProgramRef, Races, State, Task, Wrong, WrongWay};
use crate::diag::{Diagnostic, Place, Report};
use crate::engine::command::nearest;
use crate::engine::expr::Expr;
use crate::limits::{MAX_LESSON_BYTES, MAX_LESSON_LIST, MAX_LESSON_TASKS, MAX_SAME_CODE};
use crate::script::{parse_command, parse_expr};
use std::borrow::Cow;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The version of the format that this build reads.
const VERSION: &str = "1";
/// Keys of a lesson.
const LESSON_KEYS: &[&str] =
    &["lesson", "title", "summary", "intro", "sample", "file", "program", "fact", "task"];
/// Keys of a fact.
const FACT_KEYS: &[&str] = &["text", "source"];
/// Keys of a task.
const TASK_KEYS: &[&str] = &[
    "text", "sample", "file", "program", "before", "answer", "then", "choices", "right", "words",
    "check", "races", "hints", "wrong", "after", "solution", "proof",
];
/// Keys of a wrong answer.
const WRONG_KEYS: &[&str] = &["answer", "choice", "word", "check", "races", "lines", "hint"];

type Table<'t> = DeTable<'t>;
type Value<'t> = Spanned<DeValue<'t>>;

/// Reads a lesson. `name` is what its progress is kept under, `file` what messages call it.
///
/// # Errors
/// All that is wrong with it: S060, and S001 to S005 for commands and expressions in it.
pub fn read(name: &str, file: &str, text: &str) -> Result<Lesson, Report> {
    if text.len() as u64 > MAX_LESSON_BYTES {
        let why = format!("a lesson has at most {MAX_LESSON_BYTES} bytes, this has {}", text.len());
        return Err(Diagnostic::new("S060", why).in_file(file).into());
    }
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1));
    let mut r = Reader { text, starts: starts.collect(), file, report: Report::default() };
    let (table, errors) = DeTable::parse_recoverable(text);
    for e in errors.into_iter().take(MAX_SAME_CODE) {
        let span = e.span().unwrap_or(0..0);
        r.wrong(span, e.message().trim().replace('\n', ", "));
    }
    // What a broken text lacks is not told: it may stand where it broke.
    let broken = r.report.has_errors();
    let lesson = r.lesson(name, table.get_ref());
    if broken {
        r.report.items.retain(|d| !d.message.starts_with(MISSING));
    }
    r.report.items.sort_by_key(|d| (d.place.line, d.place.column));
    if r.report.has_errors() { Err(r.report.in_file(file)) } else { Ok(lesson) }
}

/// Findings of one lesson after which unknown keys are no longer told.
const MAX_FINDINGS: usize = 1000;
/// How the messages about what is missing begin.
const MISSING: &str = "missing: ";

struct Reader<'t> {
    text: &'t str,
    /// Where lines begin, in bytes.
    starts: Vec<usize>,
    file: &'t str,
    report: Report,
}

impl<'t> Reader<'t> {
    /// Line, column and width of a stretch of the text, in characters.
    fn place(&self, span: Range<usize>) -> Place {
        let line = self.starts.partition_point(|s| *s <= span.start);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.text.get(start..span.start).unwrap_or("").chars().count() as u64 + 1;
        let what = self.text.get(span).unwrap_or("").lines().next().unwrap_or("");
        Place::text(line as u64, column, what.chars().count() as u64).in_file(self.file)
    }

    fn wrong(&mut self, span: Range<usize>, message: impl Into<String>) {
        let d = Diagnostic::new("S060", message).at(self.place(span));
        self.report.push(d);
    }

    /// Whether more findings are worth their time.
    fn is_full(&self) -> bool {
        self.report.items.len() >= MAX_FINDINGS
    }

    fn missing(&mut self, span: Range<usize>, what: &str) {
        // The head of a table, not all of it.
        self.wrong(span.start..span.start + 1, format!("{MISSING}{what}"));
    }

    /// Names every key that there is not.
    fn keys(&mut self, table: &Table<'_>, known: &[&str], of: &str) {
        for (key, _) in table {
            let name = key.get_ref();
            if known.contains(&&**name) || self.is_full() {
                continue;
            }
            let near = nearest(name, known.iter().copied());
            let help = match near.first() {
                Some(n) => format!("did you mean `{n}`?"),
                None => format!("known: {}", known.join(", ")),
            };
            let d = Diagnostic::new("S060", format!("{of} has no `{}`", name.escape_debug()));
            self.report.push(d.at(self.place(key.span())).help(help));
        }
    }

    fn lesson(&mut self, name: &str, table: &Table<'_>) -> Lesson {
        self.keys(table, LESSON_KEYS, "a lesson");
        match table.get("lesson").map(|v| (v.span(), v.get_ref())) {
            Some((_, DeValue::Integer(i))) if i.as_str() == VERSION => {}
            Some((span, _)) => {
                self.wrong(span, format!("this build reads `lesson = {VERSION}`"));
            }
            None => self.missing(0..0, "`lesson = 1`, the version of the format"),
        }
        let here = 0..0;
        let program = self.program(table);
        if program.is_none() && !PROGRAM_KEYS.iter().any(|k| table.contains_key(*k)) {
            self.missing(here.clone(), "a program: `sample`, `file` or `program`");
        }
        Lesson {
            name: name.to_owned(),
            file: self.file.to_owned(),
            title: self.line_of(table, "title", Some(here.clone())),
            summary: self.line_of(table, "summary", Some(here.clone())),
            intro: self.prose(table, "intro", None),
            facts: self.tables(table, "fact").into_iter().map(|(s, t)| self.fact(s, t)).collect(),
            program: program.unwrap_or(ProgramRef::Text(String::new())),
            tasks: self.tasks(table, here),
        }
    }

    fn tasks(&mut self, table: &Table<'_>, here: Range<usize>) -> Vec<Task> {
        let all = self.tables(table, "task");
        if all.is_empty() {
            self.missing(here, "a `[[task]]`");
        }
        if let Some((span, _)) = all.get(MAX_LESSON_TASKS) {
            self.wrong(span.clone(), format!("a lesson has at most {MAX_LESSON_TASKS} tasks"));
        }
        let some = all.into_iter().take(MAX_LESSON_TASKS);
        some.map(|(span, t)| self.task(span, t)).collect()
    }

    fn fact(&mut self, span: Range<usize>, table: &Table<'_>) -> Fact {
        self.keys(table, FACT_KEYS, "a fact");
        let text = self.prose(table, "text", Some(span.clone())).join(" ");
        Fact { text, source: self.line_of(table, "source", Some(span)) }
    }

    fn task(&mut self, span: Range<usize>, table: &Table<'_>) -> Task {
        self.keys(table, TASK_KEYS, "a task");
        let goal = self.goal(span.clone(), table);
        let wrong = self.tables(table, "wrong");
        let wrong = wrong.into_iter().map(|(s, t)| self.wrong_answer(s, t, &goal)).collect();
        let asks = !matches!(goal, Goal::State(_));
        let solution = self.lines(table, "solution");
        match table.get("solution") {
            Some(v) if asks => {
                self.wrong(v.span(), "a question is solved by its answer and needs no `solution`");
            }
            None if !asks => self.missing(span.clone(), "`solution`, commands that solve the task"),
            _ => {}
        }
        for (key, fits) in [("proof", asks), ("then", matches!(goal, Goal::Value { .. }))] {
            if let (Some(v), false) = (table.get(key), fits) {
                let of = if key == "proof" { "a question" } else { "an `answer`" };
                self.wrong(v.span(), format!("`{key}` belongs to {of}"));
            }
        }
        Task {
            place: self.place(span.start..span.start + 1),
            text: self.prose(table, "text", Some(span)),
            program: self.program(table),
            before: self.lines(table, "before"),
            hints: self.texts(table, "hints"),
            after: self.prose(table, "after", None),
            proof: self.lines(table, "proof"),
            goal,
            wrong,
            solution,
        }
    }

    /// What solves a task: one of four kinds.
    fn goal(&mut self, span: Range<usize>, table: &Table<'_>) -> Goal {
        let kinds: Vec<&str> =
            GOAL_KEYS.iter().copied().filter(|k| table.contains_key(*k)).collect();
        let none = Goal::State(State::default());
        let one = match kinds.as_slice() {
            [one] => *one,
            [] if table.contains_key("races") => "check",
            [] => {
                self.missing(span, "`answer`, `choices`, `words` or `check`: when it is solved");
                return none;
            }
            many => {
                let text = format!("a task has one of {}, not both", many.join(" and "));
                self.wrong(span.start..span.start + 1, text);
                return none;
            }
        };
        if let (Some(v), false) = (table.get("races"), one == "check") {
            self.wrong(v.span(), "`races` belongs to a `check`");
        }
        if let (Some(v), false) = (table.get("right"), one == "choices") {
            self.wrong(v.span(), "`right` belongs to `choices`");
        }
        match one {
            "answer" => {
                let expr = self.expr(table, "answer").unwrap_or(Expr::Num(0));
                Goal::Value { expr, then: self.lines(table, "then") }
            }
            "choices" => self.choices(span, table),
            "words" => {
                let words = self.texts(table, "words");
                if let (true, Some(v)) = (words.is_empty(), table.get("words")) {
                    self.wrong(v.span(), "at least one word is right");
                }
                Goal::Word(words)
            }
            _ => Goal::State(self.state(table)),
        }
    }

    fn choices(&mut self, span: Range<usize>, table: &Table<'_>) -> Goal {
        let choices = self.texts(table, "choices");
        let n = choices.len() as u64;
        let right = match table.get("right").map(|v| (v.span(), number(v))) {
            Some((_, Some(right))) if (1..=n).contains(&right) => right,
            Some((span, _)) => {
                self.wrong(span, format!("`right` is the number of a choice, 1 to {n}"));
                1
            }
            None => {
                self.missing(span, "`right`, the number of the right choice");
                1
            }
        };
        Goal::Choice { choices, right }
    }

    fn state(&mut self, table: &Table<'_>) -> State {
        let races = match table.get("races").map(|v| (v.span(), v.get_ref())) {
            None => None,
            Some((_, DeValue::String(s))) if &**s == "none" => Some(Races::None),
            Some((_, DeValue::String(s))) if &**s == "never" => Some(Races::Never),
            Some((_, DeValue::String(s))) if &**s == "some" => Some(Races::Some),
            Some((_, DeValue::String(s))) if RACE_CODES.contains(&&**s) => {
                Some(Races::Code(s.to_string()))
            }
            Some((span, _)) => {
                let codes = RACE_CODES.join(", ");
                self.wrong(span, format!("`races` is none, never, some, or one of {codes}"));
                None
            }
        };
        State { check: self.checks(table), races }
    }

    fn wrong_answer(&mut self, span: Range<usize>, table: &Table<'_>, goal: &Goal) -> Wrong {
        self.keys(table, WRONG_KEYS, "a wrong answer");
        let key = match goal {
            Goal::Value { .. } => "answer",
            Goal::Choice { .. } => "choice",
            Goal::Word(_) => "word",
            Goal::State(_) => "check",
        };
        for other in ["answer", "choice", "word", "check", "races", "lines"] {
            let fits = other == key || key == "check" && matches!(other, "races" | "lines");
            if let (Some(v), false) = (table.get(other), fits) {
                let text = format!("a wrong answer to this task is told by `{key}`");
                self.wrong(v.span(), text);
            }
        }
        let is_told = table.contains_key(key) || key == "check" && table.contains_key("races");
        if !is_told {
            self.missing(span.clone(), &format!("`{key}`: what the wrong answer is"));
        }
        let lines = self.lines(table, "lines");
        let way = match goal {
            Goal::Value { .. } => {
                WrongWay::Value(self.expr(table, "answer").unwrap_or(Expr::Num(0)))
            }
            Goal::Choice { choices, right } => {
                let n = choices.len() as u64;
                let given = table.get("choice").map(|v| (v.span(), number(v)));
                match given {
                    Some((_, Some(c))) if (1..=n).contains(&c) && c != *right => {
                        WrongWay::Choice(c)
                    }
                    Some((span, _)) => {
                        let text = format!("`choice` is the number of a wrong one, 1 to {n}");
                        self.wrong(span, text);
                        WrongWay::Choice(0)
                    }
                    None => WrongWay::Choice(0),
                }
            }
            Goal::Word(words) => {
                let word = self.line_of(table, "word", None);
                if let (Some(v), true) =
                    (table.get("word"), words.iter().any(|w| w.eq_ignore_ascii_case(&word)))
                {
                    self.wrong(v.span(), "this word is right");
                }
                WrongWay::Word(word)
            }
            Goal::State(_) => {
                if lines.is_empty() {
                    self.missing(span.clone(), "`lines`, commands that do it wrong in this way");
                }
                WrongWay::State(self.state(table))
            }
        };
        let hint = self.prose(table, "hint", Some(span.clone())).join(" ");
        Wrong { place: self.place(span.start..span.start + 1), way, hint, lines }
    }

    /// Where the program is; at most one key says so.
    fn program(&mut self, table: &Table<'_>) -> Option<ProgramRef> {
        let mut found = None;
        for key in PROGRAM_KEYS {
            let Some(v) = table.get(*key) else { continue };
            let DeValue::String(s) = v.get_ref() else {
                self.wrong(v.span(), format!("`{key}` is a text in quotes"));
                continue;
            };
            let named = match *key {
                "sample" if super::bundled::sample(s).is_none() => {
                    let all = super::bundled::SAMPLES.iter().map(|s| s.0);
                    let near = nearest(s, all.clone());
                    let known = if near.is_empty() { all.collect() } else { near };
                    let text = format!("there is no sample `{}`", s.escape_debug());
                    let d = Diagnostic::new("S060", text).at(self.place(v.span()));
                    self.report.push(d.help(format!("samples: {}", known.join(", "))));
                    continue;
                }
                "sample" => ProgramRef::Sample(s.to_string()),
                "file" if !is_plain(s) => {
                    self.wrong(v.span(), "`file` is the bare name of a file beside the lesson");
                    continue;
                }
                "file" => ProgramRef::File(s.to_string()),
                _ => ProgramRef::Text(s.to_string()),
            };
            if found.replace(named).is_some() {
                self.wrong(v.span(), "one of `sample`, `file` and `program`, not two");
            }
        }
        found
    }

    /// An array of tables.
    fn tables<'v, 'd>(
        &mut self,
        table: &'v Table<'d>,
        key: &str,
    ) -> Vec<(Range<usize>, &'v Table<'d>)> {
        let Some(value) = table.get(key) else { return Vec::new() };
        let DeValue::Array(all) = value.get_ref() else {
            self.wrong(value.span(), format!("`{key}` is written `[[{key}]]`"));
            return Vec::new();
        };
        let mut out = Vec::new();
        for v in self.bounded(value, all) {
            match v.get_ref() {
                DeValue::Table(t) => out.push((v.span(), t)),
                _ => self.wrong(v.span(), format!("`{key}` is written `[[{key}]]`")),
            }
        }
        out
    }

    /// As many entries of a list as it may have.
    fn bounded<'v, 'd>(&mut self, value: &Value<'d>, all: &'v [Value<'d>]) -> &'v [Value<'d>] {
        if all.len() > MAX_LESSON_LIST {
            self.wrong(value.span(), format!("a list has at most {MAX_LESSON_LIST} entries"));
        }
        all.get(..MAX_LESSON_LIST).unwrap_or(all)
    }

    /// A list of texts.
    fn strings<'v, 'd>(
        &mut self,
        table: &'v Table<'d>,
        key: &str,
    ) -> Vec<(Range<usize>, &'v Cow<'d, str>)> {
        let Some(value) = table.get(key) else { return Vec::new() };
        let all = match value.get_ref() {
            DeValue::Array(all) => self.bounded(value, all),
            // One alone needs no brackets.
            DeValue::String(_) => std::slice::from_ref(value),
            _ => {
                self.wrong(value.span(), format!("`{key}` is a list of texts in quotes"));
                return Vec::new();
            }
        };
        let mut out = Vec::new();
        for v in all {
            match v.get_ref() {
                DeValue::String(s) if is_clean(s) => out.push((v.span(), s)),
                DeValue::String(_) => self.wrong(v.span(), CONTROL),
                _ => self.wrong(v.span(), format!("`{key}` has a text in quotes here")),
            }
        }
        out
    }

    /// Texts of one paragraph each.
    fn texts(&mut self, table: &Table<'_>, key: &str) -> Vec<String> {
        let all = self.strings(table, key);
        all.into_iter().map(|(_, s)| paragraphs(s).join(" ")).collect()
    }

    /// Commands.
    fn lines(&mut self, table: &Table<'_>, key: &str) -> Vec<Line> {
        let all = self.strings(table, key);
        all.into_iter().filter_map(|(span, s)| self.line(span, s)).collect()
    }

    /// Commands that are run again and again to see whether a task is solved.
    fn checks(&mut self, table: &Table<'_>) -> Vec<Line> {
        let mut all = self.lines(table, "check");
        for line in all.iter().filter(|l| !judges(&l.command)) {
            let d =
                Diagnostic::new("S060", "a check does nothing by looking").at(line.place.clone());
            self.report.push(d.help("a check moves, changes and asserts"));
        }
        all.retain(|l| judges(&l.command));
        all
    }

    fn line(&mut self, span: Range<usize>, text: &str) -> Option<Line> {
        let whole = self.place(span.clone());
        match parse_command(text) {
            Ok(Some(command)) if may_use(&command) => {
                Some(Line { place: whole, text: text.trim().to_owned(), command })
            }
            Ok(Some(_)) => {
                let d = Diagnostic::new("S060", "a lesson must not use this command").at(whole);
                self.report.push(d.help("it moves in the run, looks and changes; no more"));
                None
            }
            Ok(None) => {
                self.wrong(span, "there is no command");
                None
            }
            Err(all) => {
                all.into_iter().for_each(|d| self.inside(&whole, d));
                None
            }
        }
    }

    /// A finding in a text of this file: its own columns count from behind the quote.
    fn inside(&mut self, whole: &Place, mut d: Diagnostic) {
        let column = whole.column.unwrap_or(1) + d.place.column.unwrap_or(1);
        let width = d.place.width.unwrap_or(1);
        d.place = Place::text(whole.line.unwrap_or(1), column, width).in_file(self.file);
        self.report.push(d);
    }

    fn expr(&mut self, table: &Table<'_>, key: &str) -> Option<Expr> {
        let value = table.get(key)?;
        let text = match value.get_ref() {
            DeValue::String(s) => s.to_string(),
            // A plain number needs no quotes; as it was written it may not be ours.
            DeValue::Integer(_) => match number(value) {
                Some(n) => return Some(Expr::Num(n)),
                None => {
                    self.wrong(value.span(), "a number from 0 to 2^64 - 1");
                    return None;
                }
            },
            _ => {
                self.wrong(value.span(), format!("`{key}` is an expression in quotes"));
                return None;
            }
        };
        match parse_expr(&text) {
            Ok(e) => Some(e),
            Err(d) => {
                let whole = self.place(value.span());
                self.inside(&whole, d);
                None
            }
        }
    }

    /// A text of one line. Where it must stand, `needed` is the place that lacks it.
    fn line_of(&mut self, table: &Table<'_>, key: &str, needed: Option<Range<usize>>) -> String {
        self.prose(table, key, needed).join(" ")
    }

    /// Paragraphs.
    fn prose(&mut self, table: &Table<'_>, key: &str, needed: Option<Range<usize>>) -> Vec<String> {
        let Some(value) = table.get(key) else {
            if let Some(span) = needed {
                self.missing(span, &format!("`{key}`"));
            }
            return Vec::new();
        };
        match value.get_ref() {
            DeValue::String(s) if !is_clean(s) => self.wrong(value.span(), CONTROL),
            DeValue::String(s) => {
                let out = paragraphs(s);
                if out.is_empty() && needed.is_some() {
                    self.wrong(value.span(), format!("`{key}` is empty"));
                }
                return out;
            }
            _ => self.wrong(value.span(), format!("`{key}` is a text in quotes")),
        }
        Vec::new()
    }
}

/// Keys that say where a program is.
const PROGRAM_KEYS: &[&str] = &["sample", "file", "program"];
/// Keys that say when a task is solved.
const GOAL_KEYS: &[&str] = &["answer", "choices", "words", "check"];
/// Codes of races (`docs/order.md`).
const RACE_CODES: &[&str] = &["R030", "R031", "R032", "R033", "R034", "R035"];
const CONTROL: &str = "a text has no control characters but ends of lines and tabs";

/// Whether a text can be shown as it is.
fn is_clean(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
}

/// Whether a name stays beside the lesson.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && !name.contains(['/', '\\', ':'])
        && !name.contains(char::is_control)
}

fn number(value: &Value<'_>) -> Option<u64> {
    match value.get_ref() {
        DeValue::Integer(i) => u64::from_str_radix(i.as_str(), i.radix()).ok(),
        _ => None,
    }
}

/// Paragraphs of a text: blank lines part them, and inside of one, ends of lines are blanks.
/// Lines that begin with four blanks stay as they are.
fn paragraphs(text: &str) -> Vec<String> {
    const AS_IT_IS: &str = "    ";
    let mut out: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if line.trim().is_empty() {
            open = false;
        } else if line.starts_with(AS_IT_IS) {
            out.push(line.trim_end().replace('\t', " "));
            open = false;
        } else {
            let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
            match out.last_mut().filter(|_| open) {
                Some(last) => *last = format!("{last} {words}"),
                None => out.push(words),
            }
            open = true;
        }
    }
    out
}
