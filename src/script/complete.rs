//! Completion of a line that is being written: what may stand at the cursor, and the part of
//! the line that it replaces. From the table of commands and the tables of names, and from
//! what the caller knows of its session ([`Names`]).

use super::args::place_words;
use super::command::END_MARK;
use super::expr::{here_names, plain_names, queue, queue_names, slot_names};
use super::lex::{is_name, skip, without_comment};
use crate::diag::codes::CODES;
use crate::diag::terms::TERMS;
use crate::engine::command::{Arg, COMMANDS, CommandSpec, Pass, find, inst_text, name_text};
use crate::engine::expr::is_bare_place;
use crate::engine::program::QueueId;
use crate::udma::{Dir, cause::CAUSES, reg::register_names};
use std::collections::BTreeSet;
use std::ops::Range;

/// Names of a session that no table has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Marks.
    pub marks: Vec<String>,
    /// Variables, without `$`.
    pub vars: Vec<String>,
    /// Queues of the program.
    pub queues: Vec<QueueId>,
    /// Blocks, queues and locations of a module.
    pub named: Vec<String>,
    /// What is a value by its name: locations, regions, registers of a module.
    pub places: Vec<String>,
    /// Instructions of a module, of all stages.
    pub insts: Vec<String>,
}

/// One thing that may stand at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// What it would put there.
    pub text: String,
    /// A word on it; may be empty.
    pub note: &'static str,
}

/// What may stand at the cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    /// Bytes of the line to replace; it ends at the cursor.
    pub range: Range<usize>,
    /// Candidates, in the order of their table.
    pub candidates: Vec<Candidate>,
    /// A file's name may stand here: the caller lists files that begin with the range's text.
    pub file: bool,
}

/// What may stand at byte `cursor` of `line`; what is behind the cursor does not matter. A
/// cursor inside a character is taken for the one before it.
pub fn complete(line: &str, cursor: usize, names: &Names) -> Completion {
    let mut end = cursor.min(line.len());
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let text = line.get(..end).unwrap_or_default();
    let nothing = Completion { range: end..end, ..Completion::default() };
    if without_comment(text).len() < text.len() {
        return nothing;
    }
    let start = skip(text);
    let Some(gap) = start.find(|c: char| c.is_ascii_whitespace() || c == '/') else {
        let range = end - start.len()..end;
        return Completion { candidates: verbs(start), range, file: false };
    };
    let (verb, rest) = start.split_at_checked(gap).unwrap_or((start, ""));
    match find(verb.strip_suffix('!').unwrap_or(verb)) {
        Ok(spec) if spec.name == COMMANDS_OF_A_STOP => {
            let from = end - attached(rest).len();
            let inner = line.get(from..end).unwrap_or_default();
            let found = complete(inner, inner.len(), names);
            Completion { range: from + found.range.start..end, ..found }
        }
        Ok(spec) => arguments(spec, rest, end, names),
        Err(_) => nothing,
    }
}

/// The verb whose arguments are commands.
const COMMANDS_OF_A_STOP: &str = "commands";

/// The command that is being written among those of a stop: what stands behind its number, or
/// behind the last semicolon.
fn attached(rest: &str) -> &str {
    let last = super::command::stops::pieces(rest).last().copied().unwrap_or_default();
    let piece = rest.get(last.0..).unwrap_or_default();
    if last.0 > 0 {
        return piece;
    }
    let start = skip(piece);
    let behind = start.trim_start_matches(|c: char| c.is_ascii_digit());
    if behind.starts_with(|c: char| c.is_ascii_whitespace()) { behind } else { start }
}

/// Commands whose name or short name begins with a text.
fn verbs(begin: &str) -> Vec<Candidate> {
    let fits = |c: &&CommandSpec| {
        c.name.starts_with(begin) || (!begin.is_empty() && c.aliases.contains(&begin))
    };
    let of = |c: &CommandSpec| Candidate { text: c.name.to_owned(), note: c.summary };
    COMMANDS.iter().filter(fits).map(of).collect()
}

/// What may stand at the end of a command's arguments; `end` is where that is in the line.
fn arguments(spec: &CommandSpec, rest: &str, end: usize, names: &Names) -> Completion {
    let word_start = rest.rfind(|c: char| c.is_ascii_whitespace()).map_or(0, |i| i + 1);
    let word = rest.get(word_start..).unwrap_or_default();
    let before = words(rest.get(..word_start).unwrap_or_default());
    let mut out = Completion { range: end - word.len()..end, ..Completion::default() };
    // A form (`/x`), unless it is the path of a file.
    if word.starts_with('/') && !kinds(spec, &before).into_iter().any(|a| matches!(a, Arg::File)) {
        return out;
    }
    if spec.args.first() == Some(&Arg::Loc) && in_place(&before, word, names, &mut out) {
        return out;
    }
    for arg in kinds(spec, &before) {
        match arg {
            Arg::Words(list) => {
                out.add(
                    list.iter().map(|w| (*w).to_owned()).filter(|w| !before.contains(&w.as_str())),
                    word,
                );
            }
            Arg::Fault => {
                let mut names: Vec<&str> = CAUSES.iter().map(|c| c.name).collect();
                names.sort_unstable();
                names.dedup();
                let word = word.to_ascii_uppercase();
                out.add(names.into_iter().map(str::to_owned), &word);
            }
            Arg::Command => {
                let has = verbs(word);
                out.candidates.extend(has);
            }
            Arg::Mark => {
                let marks = names.marks.iter().cloned().chain([END_MARK.to_owned()]);
                out.add(marks, word);
            }
            Arg::Queue => out.add(names.queues.iter().map(QueueId::to_string), word),
            Arg::File => out.file = true,
            Arg::Loc => {
                out.add(place_words(), word);
                out.add(names.queues.iter().map(|q| format!("{q}.")), word);
                out.add(module_names(names), word);
            }
            Arg::Watch => {
                out = expression(rest, end, names);
                if out.range.start == end - word.len() {
                    let own = names.named.iter().map(|n| name_text(n));
                    out.add(own.chain(["semaphore".to_owned()]), word);
                }
            }
            Arg::Catch => {
                match before.first() {
                    Some(&"fault") => {
                        let mut all: Vec<String> =
                            CAUSES.iter().map(|c| c.name.to_owned()).collect();
                        all.sort_unstable();
                        all.dedup();
                        out.add(all, word);
                    }
                    Some(&"doorbell") => {
                        out.add(names.queues.iter().map(QueueId::to_string), word);
                    }
                    Some(&"ret") => out.add(["BUG".to_owned()], word),
                    _ => {}
                }
                if let Some(Arg::Words(options)) = spec.args.last() {
                    out.add(options.iter().map(|w| (*w).to_owned()), word);
                }
            }
            Arg::Explained => {
                out.add(place_words(), word);
                out.add(names.queues.iter().map(QueueId::to_string), word);
                out.add(explained().map(str::to_owned), word);
            }
            Arg::Expr => return expression(rest, end, names),
            Arg::Field => {
                let mut all = expression(rest, end, names);
                let part = rest.get(rest.len() - all.range.len()..).unwrap_or_default();
                if dot_outside(chain(rest)).is_none() && !part.starts_with('$') {
                    all.add(here_names().into_iter().map(str::to_owned), part);
                }
                all.candidates.extend(out.candidates);
                return all;
            }
            Arg::Number | Arg::Text => {}
        }
    }
    out
}

/// Names of a module as places are written.
fn module_names(names: &Names) -> impl Iterator<Item = String> + '_ {
    let insts = names.insts.iter().map(|n| inst_text(n));
    names.named.iter().map(|n| name_text(n)).chain(insts)
}

/// What may stand after the first word of a place that has two; whether there is nothing else.
fn in_place(before: &[&str], word: &str, names: &Names, out: &mut Completion) -> bool {
    match before {
        ["doorbell"] => {
            out.add(names.queues.iter().map(QueueId::to_string), word);
            false
        }
        ["pass"] => {
            out.add(Pass::STAGES.map(|s| s.name().to_owned()), word);
            true
        }
        ["batch" | "event" | "line"] => true,
        _ => false,
    }
}

/// The finished words in front of the cursor; a form after the verb is none.
fn words(text: &str) -> Vec<&str> {
    text.split_ascii_whitespace().filter(|w| !w.starts_with('/')).collect()
}

/// What kinds of argument may stand after these words.
fn kinds(spec: &CommandSpec, before: &[&str]) -> Vec<Arg> {
    let all = spec.args;
    // Numbers may be left out, and stand anywhere among their neighbours.
    if all.contains(&Arg::Number) {
        return all.to_vec();
    }
    // The ring of a question may be left out.
    if all.contains(&Arg::Field) && before.is_empty() {
        return all.to_vec();
    }
    // A condition goes on until another option begins.
    let stop = [Arg::Loc, Arg::Watch, Arg::Catch].iter().any(|a| all.contains(a));
    if stop && before.contains(&"if") {
        return vec![Arg::Expr];
    }
    match (all.get(before.len()), all.last()) {
        (Some(arg), _) => vec![*arg],
        (None, Some(last @ (Arg::Expr | Arg::Field | Arg::Words(_)))) => vec![*last],
        _ => Vec::new(),
    }
}

/// Names that `explain` has pages on: registers, codes, faults.
fn explained() -> impl Iterator<Item = &'static str> {
    let mut faults: Vec<&str> = CAUSES.iter().map(|c| c.name).collect();
    faults.sort_unstable();
    faults.dedup();
    let terms = TERMS.iter().map(|t| t.name);
    register_names().chain(CODES.iter().map(|c| c.code)).chain(faults).chain(terms)
}

impl Completion {
    /// Adds those that begin with `begin`.
    fn add(&mut self, all: impl IntoIterator<Item = String>, begin: &str) {
        // A name of two tables is still one name.
        let mut known: BTreeSet<String> = self.candidates.iter().map(|c| c.text.clone()).collect();
        for text in all.into_iter().filter(|t| t.starts_with(begin)) {
            if known.insert(text.clone()) {
                self.candidates.push(Candidate { text, note: "" });
            }
        }
    }
}

/// What may stand at the end of an expression.
fn expression(text: &str, end: usize, names: &Names) -> Completion {
    let chain = chain(text);
    let part_start = dot_outside(chain).map_or(0, |i| i + 1);
    let (head, part) = chain.split_at_checked(part_start).unwrap_or(("", chain));
    let mut out = Completion { range: end - part.len()..end, ..Completion::default() };
    if let Some(var) = part.strip_prefix('$') {
        out.range.start += 1;
        out.add(names.vars.iter().cloned(), var);
    } else if head.is_empty() {
        let vars = names.vars.iter().map(|v| format!("${v}"));
        out.add(plain_names().into_iter().chain(vars), part);
        out.add(names.queues.iter().map(|q| format!("{q}.")), part);
        out.add(names.places.iter().filter(|n| is_bare_place(n)).cloned(), part);
    } else {
        let head = head.strip_suffix('.').unwrap_or(head);
        out.add(after(head, names), part);
    }
    out
}

/// The names, dots and closed brackets at the end of a text: what is being written.
fn chain(text: &str) -> &str {
    let mut depth = 0usize;
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        match c {
            ']' => depth += 1,
            '[' if depth > 0 => depth -= 1,
            _ if depth > 0 => continue,
            c if is_name(c) || c == '.' || c == '$' => {}
            _ => break,
        }
        start = at;
    }
    text.get(start..).unwrap_or_default()
}

/// The last dot that no bracket encloses.
fn dot_outside(chain: &str) -> Option<usize> {
    let tail = chain.rfind(']').map_or(0, |i| i + 1);
    chain.get(tail..)?.rfind('.').map(|i| i + tail)
}

/// The names that may follow `head` and a dot.
fn after(head: &str, names: &Names) -> Vec<String> {
    let owned = |names: Vec<&'static str>| names.into_iter().map(str::to_owned).collect();
    if head.starts_with('e') && !head.contains(['.', '[']) {
        // `e5.`: the queues of that engine.
        let full = names.queues.iter().map(QueueId::to_string);
        let own = full.filter_map(|q| q.strip_prefix(head)?.strip_prefix('.').map(str::to_owned));
        return own.collect();
    }
    let rest = match queue(head) {
        Ok(("", _)) => return owned(queue_names(None)),
        Ok((rest, _)) => rest.trim_start_matches('.'),
        Err(_) => head,
    };
    let Some(dir) = Dir::BOTH.into_iter().find(|d| rest.starts_with(d.name())) else {
        return Vec::new();
    };
    let rest = rest.get(dir.name().len()..).unwrap_or_default();
    match (rest.is_empty(), rest.rsplit_once(']')) {
        (true, _) => owned(queue_names(Some(dir))),
        (false, Some((_, ""))) => owned(slot_names(dir, None)),
        (false, Some((_, path))) => match path.strip_prefix('.') {
            Some(word) if !word.contains('.') => owned(slot_names(dir, Some(word))),
            _ => Vec::new(),
        },
        (false, None) => Vec::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names() -> Names {
        Names {
            places: vec!["y".into(), "SB".into(), "a.b".into()],
            marks: vec!["start".into()],
            vars: vec!["base".into()],
            queues: vec![QueueId { engine: 5, queue: 0 }],
            named: vec!["dma_block_0".into(), "rows".into()],
            insts: vec!["I-34".into(), "a b".into()],
        }
    }

    /// The line with each candidate in place.
    fn lines(text: &str) -> Vec<String> {
        let c = complete(text, text.len(), &names());
        let put = |k: Candidate| format!("{}{}", &text[..c.range.start], k.text);
        c.candidates.into_iter().map(put).collect()
    }

    #[test]
    fn verbs_complete_from_the_table() {
        assert_eq!(lines("cont"), ["continue"]);
        assert_eq!(lines("  reverse-st"), ["  reverse-step"]);
        assert_eq!(complete("", 0, &names()).candidates.len(), COMMANDS.len());
        assert_eq!(lines("help res"), ["help restart"]);
    }

    #[test]
    fn words_of_an_argument_complete_in_any_order() {
        assert_eq!(lines("step pa"), ["step pa".replace("pa", "packet")]);
        assert_eq!(lines("step 3 packet e"), ["step 3 packet event", "step 3 packet engine"]);
        assert_eq!(lines("info rin"), ["info rings"]);
        assert_eq!(lines("info queue "), ["info queue e5.q0"]);
        assert_eq!(lines("why "), ["why e5.q0"]);
        assert_eq!(lines("explain drt"), ["explain drtp_inc", "explain drtp"]);
        assert_eq!(lines("explain STRM"), ["explain STRM_FIRST", "explain STRM_LAST"]);
        assert_eq!(lines("explain R01").len(), 10);
        assert_eq!(lines("explain e5"), ["explain e5.q0"]);
        assert_eq!(lines("last-write tx[1].buf"), ["last-write tx[1].buf_ptr"]);
        assert_eq!(lines("goto s"), ["goto start"]);
        assert_eq!(lines("goto e"), ["goto end"]);
        assert_eq!(lines("break ma"), ["break marker"]);
        assert_eq!(lines("break marker o"), ["break marker once"]);
        assert!(complete("source x", 8, &names()).file);
    }

    #[test]
    fn stops_complete_places_names_of_the_module_and_what_may_be_caught() {
        assert_eq!(lines("break dma"), ["break dma_block_0"]);
        assert_eq!(lines("break %"), ["break %I-34", "break %\"a b\""]);
        assert_eq!(lines("break pass sp"), ["break pass split"]);
        assert_eq!(
            lines("tbreak doorbell "),
            [
                "tbreak doorbell e5.q0",
                "tbreak doorbell if",
                "tbreak doorbell once",
                "tbreak doorbell after",
            ]
        );
        assert_eq!(lines("watch ro"), ["watch rows"]);
        assert_eq!(lines("watch mark"), ["watch marker"]);
        assert_eq!(lines("watch 0x10 ch"), ["watch 0x10 change"]);
        assert_eq!(lines("watch 0x10 if ev"), ["watch 0x10 if event"]);
        assert_eq!(lines("catch ra"), ["catch race"]);
        assert_eq!(lines("catch fault PKT"), ["catch fault PKT_LEN"]);
        assert_eq!(lines("catch doorbell e"), ["catch doorbell e5.q0"]);
        assert_eq!(lines("catch race o"), ["catch race once"]);
        assert_eq!(lines("enable o"), ["enable once"]);
        assert_eq!(lines("commands 1 pri"), ["commands 1 print"]);
        assert_eq!(lines("commands 1 silent; print ev"), ["commands 1 silent; print event"]);
    }

    #[test]
    fn expressions_complete_names_fields_and_properties() {
        assert_eq!(lines("print ev"), ["print event"]);
        assert_eq!(lines("print 1+$b"), ["print 1+$base"]);
        assert_eq!(lines("p tx[q0.head + 1].len_ctrl.dm"), ["p tx[q0.head + 1].len_ctrl.dmb"]);
        assert_eq!(lines("p tx[1].len_"), ["p tx[1].len_ctrl"]);
        assert_eq!(lines("p e5.q0.rx.next_d"), ["p e5.q0.rx.next_desc_idx"]);
        assert_eq!(lines("p e5."), ["p e5.q0"]);
        assert_eq!(lines("break tx[3] if tx[3].str"), Vec::<String>::new());
        assert_eq!(lines("break tx[3] if rx[3].str"), ["break tx[3] if rx[3].strong_order"]);
        assert_eq!(lines("print # ev"), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn any_line_and_cursor_complete_within_the_line(line in ".{0,40}", cursor in 0usize..60) {
            let c = complete(&line, cursor, &names());
            prop_assert!(line.get(c.range.clone()).is_some());
        }

        #[test]
        fn a_beginning_of_a_command_completes(
            head in "(print|break|step|x|info|until) ",
            tail in "[a-z0-9$.\\[\\]( ]{0,20}",
        ) {
            let line = head + &tail;
            let c = complete(&line, line.len(), &names());
            for k in c.candidates {
                prop_assert!(k.text.starts_with(&line[c.range.clone()]));
            }
        }
    }
}
