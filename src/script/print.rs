//! A command as the line that means it: what a key did, recorded for a script. Reading the
//! line gives the command back (`docs/commands.md`, "Lines").

use super::args::is_bare_name;
use super::command::stops::SILENT;
use super::command::{REVERSE, is_mark, unit_of};
use super::lex::quote;
use crate::engine::command::{
    Attached, Block, Command, ExamineFormat, Expect, Explain, Form, Goto, InjectAt, Loc, Pass,
    Subject, Switch, Who,
};
use crate::engine::expr::{Expr, QueueRef};
use crate::udma::Dir;
use std::fmt::Write as _;

/// A command as one line, from which [`parse_command`](super::parse_command) reads it back.
pub fn print(command: &Command) -> String {
    match command {
        Command::Step { count, unit, who, back } => {
            let mut out = counted(*back, "step", *count);
            if *unit != unit_of(*who) {
                let _ = write!(out, " {}", unit.name());
            }
            if *who != Who::default() {
                let _ = write!(out, " {}", who.name());
            }
            out
        }
        Command::Next { count, back } => counted(*back, "next", *count),
        Command::Continue { back } => verb(*back, "continue"),
        Command::Until { expr, back } => format!("{} {expr}", verb(*back, "until")),
        Command::Finish { back } => verb(*back, "finish"),
        Command::Doorbell { queue, back } => with_queue(verb(*back, "doorbell"), *queue),
        Command::Goto(Goto::Mark(name)) => format!("goto {name}"),
        Command::Goto(Goto::Event(e)) => {
            let text = e.to_string();
            // In brackets it is no mark's name.
            if is_mark(&text) { format!("goto ({text})") } else { format!("goto {text}") }
        }
        Command::Restart => "restart".to_owned(),
        Command::Break { loc, cond, once, after } => {
            stop(format!("break {loc}"), cond.as_ref(), *once, *after)
        }
        Command::Watch { watch, cond, once, after } => {
            stop(format!("watch {watch}"), cond.as_ref(), *once, *after)
        }
        Command::Catch { what, cond, once, after } => {
            stop(format!("catch {what}"), cond.as_ref(), *once, *after)
        }
        Command::Commands { stop, what } => {
            let mut out = "commands".to_owned();
            if let Some(n) = stop {
                let _ = write!(out, " {n}");
            }
            match what {
                Attached::Show => {}
                Attached::Clear => out.push_str(" end"),
                Attached::Set(block) => {
                    let _ = write!(out, " {}", block_text(block));
                }
            }
            out
        }
        Command::Delete(numbers) => numbered("delete", numbers),
        Command::Enable(numbers, Switch::On) => numbered("enable", numbers),
        Command::Enable(numbers, Switch::Once) => numbered("enable once", numbers),
        Command::Enable(numbers, Switch::Delete) => numbered("enable delete", numbers),
        Command::Enable(numbers, Switch::Off) => numbered("disable", numbers),
        Command::Display { expr: None, .. } => "display".to_owned(),
        Command::Display { expr: Some(expr), form: None } => format!("display {expr}"),
        Command::Display { expr: Some(expr), form: Some(form) } => {
            format!("display/{} {expr}", letter(*form))
        }
        Command::Undisplay(numbers) => numbered("undisplay", numbers),
        Command::Print { expr, form } => match form {
            Some(form) => format!("print/{} {expr}", letter(*form)),
            None => format!("print {expr}"),
        },
        Command::Examine { format, addr } => {
            let mut out = format!("x/{}", examine_format(*format));
            if let Some(addr) = addr {
                let _ = write!(out, " {addr}");
            }
            out
        }
        Command::Where => "where".to_owned(),
        Command::Info { what, queue } => with_queue(format!("info {}", what.name()), *queue),
        Command::Explain(Explain::Code(code)) => format!("explain {code}"),
        Command::Explain(Explain::Loc(loc)) => format!("explain {loc}"),
        Command::Explain(Explain::Register(name)) => format!("explain {name}"),
        Command::Explain(Explain::Queue(queue)) => format!("explain {queue}"),
        Command::LastWrite(bytes) => format!("last-write {bytes}"),
        Command::NextRead(bytes) => format!("next-read {bytes}"),
        Command::Origin(bytes) => format!("origin {bytes}"),
        Command::Why(queue) => with_queue("why".to_owned(), *queue),
        Command::Provenance(s) => format!("provenance {}", subject(s)),
        Command::Pass(Pass::Show) => "pass".to_owned(),
        Command::Pass(Pass::Select(stage)) => format!("pass {stage}"),
        Command::Pass(Pass::Next) => "pass next".to_owned(),
        Command::Pass(Pass::Prev) => "pass prev".to_owned(),
        Command::Pass(Pass::Params) => "pass set".to_owned(),
        Command::Pass(Pass::Set(name, value)) => format!("pass set {name} {value}"),
        Command::Pass(Pass::Diff(None)) => "pass diff".to_owned(),
        Command::Pass(Pass::Diff(Some((a, b)))) => format!("pass diff {a} {b}"),
        Command::Find { dir: None, expr } => {
            let text = expr.to_string();
            // A direction that stands alone would be the ring to search.
            let first = text.split(' ').next();
            let alone = Dir::BOTH.iter().any(|d| first == Some(d.name()));
            if alone { format!("find ({text})") } else { format!("find {text}") }
        }
        Command::Find { dir: Some(dir), expr } => format!("find {dir} {expr}"),
        Command::Order(o) => super::order::print(o),
        Command::List(None) => "list".to_owned(),
        Command::List(Some(line)) => format!("list {line}"),
        Command::Mark(name) => format!("mark {name}"),
        Command::SetVar(name, e) => format!("set ${name} = {e}"),
        Command::Set { what, value } => format!("set {what} = {value}"),
        Command::Inject { fault, at } if *at == InjectAt::default() => format!("inject {fault}"),
        Command::Inject { fault, at } => format!("inject {fault} at {at}"),
        Command::Undo => "undo".to_owned(),
        Command::Reload => "reload".to_owned(),
        Command::Redo => "redo".to_owned(),
        Command::Save { file, over, .. } => {
            let bang = if *over { "!" } else { "" };
            format!("save{bang} {}", bare_or_quoted(file, false))
        }
        Command::Assert { expr, text: None } => format!("assert {expr}"),
        Command::Assert { expr, text: Some(text) } => format!("assert {expr}, {}", quote(text)),
        Command::Expect(e) => format!("expect {}", expectation(e)),
        Command::Echo(text) if text.is_empty() => "echo".to_owned(),
        Command::Echo(text) => format!("echo {}", bare_or_quoted(text, true)),
        Command::Export { form, file } => {
            format!("export {} {}", form.name(), bare_or_quoted(file, false))
        }
        Command::Screenshot { file, size, over, .. } => {
            let bang = if *over { "!" } else { "" };
            let size = size.map(|(w, h)| format!(" {w}x{h}")).unwrap_or_default();
            format!("screenshot{bang} {}{size}", bare_or_quoted(file, false))
        }
        Command::Source(file) => format!("source {}", bare_or_quoted(file, false)),
        Command::Answer(text) => format!("answer {text}"),
        Command::Hint => "hint".to_owned(),
        Command::Skip => "skip".to_owned(),
        Command::Again => "again".to_owned(),
        Command::Proceed => "proceed".to_owned(),
        Command::Lesson => "lesson".to_owned(),
        Command::Help(None) => "help".to_owned(),
        Command::Help(Some(name)) => format!("help {name}"),
        Command::Quit => "quit".to_owned(),
    }
}

/// A verb in its direction.
fn verb(back: bool, name: &str) -> String {
    if back { format!("{REVERSE}{name}") } else { name.to_owned() }
}

fn counted(back: bool, name: &str, count: u64) -> String {
    let mut out = verb(back, name);
    if count != 1 {
        let _ = write!(out, " {count}");
    }
    out
}

/// A stop with its options.
fn stop(mut out: String, cond: Option<&Expr>, once: bool, after: u64) -> String {
    if let Some(cond) = cond {
        let _ = write!(out, " if {cond}");
    }
    if once {
        out.push_str(" once");
    }
    if after > 0 {
        let _ = write!(out, " after {after}");
    }
    out
}

/// The commands of a stop on one line. An empty block is one semicolon.
pub fn block_text(block: &Block) -> String {
    let silent = block.silent.then(|| SILENT.to_owned());
    let all: Vec<String> =
        silent.into_iter().chain(block.lines.iter().map(|l| print(&l.command))).collect();
    if all.is_empty() { ";".to_owned() } else { all.join("; ") }
}

fn numbered(name: &str, numbers: &[(u64, u64)]) -> String {
    numbers.iter().fold(name.to_owned(), |out, (first, last)| match first == last {
        true => format!("{out} {first}"),
        false => format!("{out} {first}-{last}"),
    })
}

fn with_queue(mut out: String, queue: Option<QueueRef>) -> String {
    if let Some(queue) = queue.filter(|q| *q != QueueRef::Selected) {
        let _ = write!(out, " {queue}");
    }
    out
}

/// Whose provenance is asked for.
fn subject(s: &Subject) -> String {
    let named = |name: &str, percent: bool| {
        if is_bare_name(name, percent) { name.to_owned() } else { quote(name) }
    };
    match s {
        Subject::Slot { queue, dir, index, path } => {
            let (queue, dir, first) = (*queue, *dir, *index);
            let slot = Loc::Slots { queue, dir, first, last: first }.to_string();
            path.iter().fold(slot, |out, name| format!("{out}.{name}"))
        }
        Subject::Addr(addr) => format!("{addr:#x}"),
        Subject::Inst(name) => format!("%{}", named(name, true)),
        Subject::Name(name) => named(name, false),
    }
}

/// How many characters a subject has as it is written.
pub(super) fn subject_width(s: &Subject) -> u64 {
    subject(s).chars().count() as u64
}

fn letter(form: Form) -> char {
    Form::LETTERS.iter().find(|f| f.1 == form).map_or('x', |f| f.0)
}

fn examine_format(f: ExamineFormat) -> String {
    let width = ExamineFormat::WIDTHS.iter().find(|w| w.1 == f.width && f.form != Form::Desc);
    let width = width.map(|w| w.0.to_string()).unwrap_or_default();
    format!("{}{width}{}", f.count, letter(f.form))
}

fn expectation(e: &Expect) -> String {
    match e {
        Expect::Fault(name, None) => format!("fault {name}"),
        Expect::Fault(name, Some(loc)) => format!("fault {name} at {loc}"),
        Expect::Timeout(None) => "timeout".to_owned(),
        Expect::Timeout(Some(batch)) => format!("timeout {batch}"),
        Expect::Ret(code) => format!("ret {code}"),
        Expect::Bug => "ret BUG".to_owned(),
        Expect::Stop(loc) => format!("stop {loc}"),
        Expect::Race(None) => "race".to_owned(),
        Expect::Race(Some((a, b))) => format!("race {a} {b}"),
    }
}

/// A text as it is where it reads back as it is, else in quotes.
pub(super) fn bare_or_quoted(text: &str, blanks: bool) -> String {
    let special = |c: char| {
        c.is_control() || matches!(c, '"' | '#' | ';') || (c.is_ascii_whitespace() && !blanks)
    };
    let bare = !text.contains(special) && text.trim_ascii() == text && !text.is_empty();
    if bare { text.to_owned() } else { quote(text) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::super::{parse_command, samples};
    use super::*;
    use crate::engine::command::{Unit, Who};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_printed_command_reads_back(c in samples::command()) {
            let text = print(&c);
            prop_assert!(!text.contains('\n'));
            prop_assert_eq!(parse_command(&text), Ok(Some(c)), "{}", text);
        }
    }

    #[test]
    fn a_record_of_keys_is_short() {
        let step = Command::Step { count: 1, unit: Unit::Slot, who: Who::Any, back: true };
        assert_eq!(print(&step), "reverse-step");
        let all = Command::Examine { format: ExamineFormat::default(), addr: None };
        assert_eq!(print(&all), "x/16wx");
    }
}
