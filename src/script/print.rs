//! A command as the text that reads back as it: keys are recorded as script lines.

use crate::engine::command::{Command, Expect, Explain, Form, Goto, Unit, Who};
use crate::engine::session::loc_text;

/// The line of a command.
pub fn print(c: &Command) -> String {
    let reverse = |back: bool, name: &str| format!("{}{name}", if back { "reverse-" } else { "" });
    let many = |n: u64| if n == 1 { String::new() } else { format!(" {n}") };
    let list =
        |name: &str, n: &[u64]| n.iter().fold(name.to_owned(), |text, n| format!("{text} {n}"));
    match c {
        Command::Step { count, unit, who, back } => {
            let mut t = format!("{}{}", reverse(*back, "step"), many(*count));
            let default = if *who == Who::Any { Unit::Slot } else { Unit::Event };
            if *unit != default {
                t = format!("{t} {}", unit.name());
            }
            if *who != Who::Any {
                t = format!("{t} {}", who.name());
            }
            t
        }
        Command::Next { count, back } => format!("{}{}", reverse(*back, "next"), many(*count)),
        Command::Continue { back } => reverse(*back, "continue"),
        Command::Until { expr, back } => format!("{} {expr}", reverse(*back, "until")),
        Command::Finish { back } => reverse(*back, "finish"),
        Command::Doorbell { queue, back } => {
            let q = queue.map(|q| format!(" {q}")).unwrap_or_default();
            format!("{}{q}", reverse(*back, "doorbell"))
        }
        Command::Goto(Goto::Event(e)) => format!("goto {e}"),
        Command::Goto(Goto::Mark(m)) => format!("goto {m}"),
        Command::Restart => "restart".to_owned(),
        Command::Break { loc, cond, once, after } => {
            let mut t = format!("break {}", loc_text(loc));
            if *once {
                t.push_str(" once");
            }
            if *after > 0 {
                t = format!("{t} after {after}");
            }
            // The condition stands last: it takes all that follows.
            cond.as_ref().map_or(t.clone(), |c| format!("{t} if {c}"))
        }
        Command::Delete(n) => list("delete", n),
        Command::Enable(n, on) => list(if *on { "enable" } else { "disable" }, n),
        Command::Print { expr, form } => match form {
            None => format!("print {expr}"),
            Some(f) => format!("print/{} {expr}", form_letter(*f)),
        },
        Command::Examine { format, addr } => {
            let width = match format.width {
                1 => "b",
                2 => "h",
                4 => "w",
                8 => "g",
                _ => "",
            };
            let addr = addr.as_ref().map(|a| format!(" {a}")).unwrap_or_default();
            format!("x/{}{width}{}{addr}", format.count, form_letter(format.form))
        }
        Command::Where => "where".to_owned(),
        Command::Info { what, queue } => {
            let q = queue.map(|q| format!(" {q}")).unwrap_or_default();
            format!("info {}{q}", what.name())
        }
        Command::Explain(Explain::Loc(l)) => format!("explain {}", loc_text(l)),
        Command::Explain(Explain::Code(c)) => format!("explain {c}"),
        Command::Mark(m) => format!("mark {m}"),
        Command::SetVar(name, e) => format!("set ${name} = {e}"),
        Command::Assert { expr, text } => match text {
            None => format!("assert {expr}"),
            Some(t) => format!("assert {expr}, \"{t}\""),
        },
        Command::Expect(e) => format!("expect {}", expectation(e)),
        Command::Echo(t) => format!("echo \"{t}\""),
        Command::Source(f) => format!("source {f}"),
        Command::Help(None) => "help".to_owned(),
        Command::Help(Some(c)) => format!("help {c}"),
        Command::Quit => "quit".to_owned(),
    }
}

fn form_letter(f: Form) -> char {
    match f {
        Form::Hex => 'x',
        Form::Decimal => 'd',
        Form::Binary => 't',
        Form::Char => 'c',
        Form::Desc => 'i',
    }
}

fn expectation(e: &Expect) -> String {
    match e {
        Expect::Fault(name, None) => format!("fault {name}"),
        Expect::Fault(name, Some(l)) => format!("fault {name} at {}", loc_text(l)),
        Expect::Timeout(None) => "timeout".to_owned(),
        Expect::Timeout(Some(b)) => format!("timeout {b}"),
        Expect::Ret(n) => format!("ret {n}"),
        Expect::Bug => "ret BUG".to_owned(),
        Expect::Stop(l) => format!("stop {}", loc_text(l)),
    }
}
