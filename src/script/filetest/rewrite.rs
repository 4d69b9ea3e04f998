//! Writing what came in place of what was said.

use super::read::{block_head, escaped, expect_text, expectation_text, parts, status_text};
use super::{Actual, FileTest, Found, Grammar, Spot, Verdict};
use crate::diag::without_events;
use std::collections::BTreeMap;

/// The text of a file with its expectations changed to what came, and nothing else changed:
/// comments that tell what did not come go, findings that nothing tells get one, statuses and
/// output blocks become what they were.
pub fn rewrite(text: &str, test: &FileTest, verdict: &Verdict, runs: &[Actual]) -> String {
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let end =
        if body.split('\n').next().is_some_and(|l| l.ends_with('\r')) { "\r\n" } else { "\n" };
    let lines: Vec<&str> = body.lines().collect();
    let mut edit = Edit {
        grammar: test.grammar,
        lines: lines.iter().map(|l| Some((*l).to_owned())).collect(),
        after: BTreeMap::new(),
    };
    for i in &verdict.missing {
        if let Some(e) = test.expectations.get(*i) {
            edit.take_away(e.line);
        }
    }
    for i in &verdict.statuses {
        let (Some(run), Some(actual)) = (test.runs.get(*i), runs.get(*i)) else { continue };
        let line = run.status_line.unwrap_or(run.line);
        if run.status_line.is_some() {
            edit.take_away(line);
        }
        if actual.status != 0 {
            edit.comment_after(line, &status_text(actual.status), "");
        }
    }
    for found in &verdict.unexpected {
        edit.tell(found, test.last_said);
    }
    let changed = verdict.outputs.iter().any(|i| test.runs[*i].output.is_some());
    // Blocks that came as they are stay as they are written.
    let cut = test.blocks.filter(|_| changed);
    let mut out = edit.text(cut, end);
    if cut.is_some() {
        for (i, (run, actual)) in test.runs.iter().zip(runs).enumerate() {
            if run.output.is_some() {
                block(&mut out, test.grammar.sign(), i, &actual.output, end);
            }
        }
    } else if !text.ends_with('\n') && out.ends_with(end) {
        out.truncate(out.len() - end.len());
    }
    format!("{mark}{out}")
}

/// Whether a place says only when a finding is made.
fn is_event(place: &str) -> bool {
    place.strip_prefix("event ").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
}

/// An output block.
fn block(out: &mut String, sign: char, run: usize, lines: &[String], end: &str) {
    let mut comment = |text: &str| {
        out.push(sign);
        if !text.is_empty() {
            out.push(' ');
            out.push_str(text);
        }
        out.push_str(end);
    };
    comment(&block_head(run));
    lines.iter().for_each(|l| comment(&escaped(l)));
}

/// Changes to the lines of a file.
struct Edit {
    grammar: Grammar,
    /// Each line as it becomes; `None` where it goes.
    lines: Vec<Option<String>>,
    /// Lines that come after one, by its number.
    after: BTreeMap<u64, Vec<String>>,
}

impl Edit {
    fn line(&mut self, number: u64) -> Option<&mut Option<String>> {
        self.lines.get_mut(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// Takes the comment of a line away, and the line with it where nothing else is on it.
    fn take_away(&mut self, number: u64) {
        let grammar = self.grammar;
        let Some(slot) = self.line(number) else { return };
        let Some(line) = slot else { return };
        let p = parts(line, grammar);
        let kept = p.comment.map_or(line.as_str(), |at| &line[..at]).trim_end();
        *slot = if p.code.is_empty() { None } else { Some(kept.to_owned()) };
    }

    fn comment_after(&mut self, number: u64, text: &str, indent: &str) {
        let line = format!("{indent}{} {text}", self.grammar.sign());
        self.after.entry(number).or_default().push(line);
    }

    /// Writes a comment that tells a finding: on its line where there is room, else below it.
    fn tell(&mut self, found: &Found, header: u64) {
        let Found { severity, code, text, spot, .. } = found;
        let number = match spot {
            Spot::Elsewhere(place) => {
                // When it happens is what any change moves.
                let place = place.as_deref().filter(|p| !is_event(p));
                let finding = expectation_text(*severity, code, place, &without_events(text));
                return self.comment_after(header, &expect_text(&finding), "");
            }
            Spot::Line(number) => *number,
        };
        let comment = expectation_text(*severity, code, None, &without_events(text));
        let (grammar, sign) = (self.grammar, self.grammar.sign());
        let Some(Some(line)) = self.line(number) else { return };
        let p = parts(line, grammar);
        if p.comment.is_none() && !p.open {
            line.truncate(line.trim_end().len());
            line.push_str(&format!("  {sign} {comment}"));
            return;
        }
        let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
        self.comment_after(number, &comment, &indent);
    }

    /// All lines, those before `cut` where it is given.
    fn text(self, cut: Option<u64>, end: &str) -> String {
        let mut out = String::new();
        let mut put = |line: &str| {
            out.push_str(line);
            out.push_str(end);
        };
        for (number, line) in (1..).zip(self.lines) {
            if cut.is_some_and(|cut| number >= cut) {
                break;
            }
            line.as_deref().into_iter().for_each(&mut put);
            self.after.get(&number).into_iter().flatten().for_each(|l| put(l));
        }
        out
    }
}
