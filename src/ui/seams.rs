//! What other rooms do for the screen, as plain functions: reading a command, completing one,
//! saying a descriptor in a sentence. The only place where the screen is joined to them.

use crate::diag::{Diagnostic, Place};
use crate::engine::command::{
    self, COMMANDS, Command, ExamineFormat, Explain, Goto, Info, Loc, NameError, Unit, Who,
};
use crate::engine::expr::{Expr, QueueRef};
use crate::engine::program::QueueId;
use crate::engine::session::Session;
use crate::udma::{Desc, Dir, Generation, class};

/// The functions.
#[derive(Debug, Clone, Copy)]
pub struct Seams {
    /// Reads one command; the place of a diagnostic is column and width in the line.
    pub parse: fn(&str) -> Result<Command, Diagnostic>,
    /// What the last word of an unfinished line could become.
    pub complete: fn(&Session, &str) -> Vec<String>,
    /// A descriptor in one sentence.
    pub sentence: fn(Desc, Dir, Generation) -> String,
}

impl Default for Seams {
    fn default() -> Seams {
        Seams { parse, complete, sentence }
    }
}

/// A word and where it stands, from 1.
type At<'a> = (u64, &'a str);

fn words(line: &str) -> Vec<At<'_>> {
    let mut out: Vec<At<'_>> = Vec::new();
    let mut start = None;
    for (i, c) in line.char_indices().chain([(line.len(), ' ')]) {
        match (c.is_whitespace(), start) {
            (false, None) => start = Some(i),
            (true, Some(s)) => {
                out.push((line[..s].chars().count() as u64 + 1, &line[s..i]));
                start = None;
            }
            _ => {}
        }
    }
    out
}

fn error(code: &'static str, message: String, (column, word): At<'_>) -> Diagnostic {
    let width = word.chars().count() as u64;
    Diagnostic::new(code, message).at(Place::text(1, column, width))
}

/// Reads the commands that keys stand for and the plain forms of the others.
fn parse(line: &str) -> Result<Command, Diagnostic> {
    let all = words(line);
    let Some((&verb, args)) = all.split_first() else {
        return Err(Diagnostic::new("S001", "there is no command"));
    };
    let spec = command::find(verb.1).map_err(|e| match e {
        NameError::Unknown(near) => {
            let d = error("S001", format!("no command `{}`", verb.1), verb);
            if near.is_empty() { d } else { d.help(format!("did you mean {}?", near.join(", "))) }
        }
        NameError::Ambiguous(names) => {
            error("S002", format!("`{}` begins several", verb.1), verb).help(names.join(", "))
        }
    })?;
    let back = spec.name.starts_with("reverse-");
    let usage = |at: At<'_>| {
        error("S003", format!("`{}` is not expected here", at.1), at)
            .help(format!("{} {}", spec.name, spec.usage))
    };
    let missing = || {
        Diagnostic::new("S003", "an argument is missing")
            .help(format!("{} {}", spec.name, spec.usage))
    };
    let rest = || args.iter().map(|a| a.1).collect::<Vec<_>>().join(" ");
    let numbers = || -> Result<Vec<u64>, Diagnostic> {
        args.iter().map(|a| number(a.1).ok_or_else(|| usage(*a))).collect()
    };
    match spec.name.trim_start_matches("reverse-") {
        "step" => {
            let (mut count, mut unit, mut who) = (1, Unit::default(), Who::default());
            for a in args {
                if let Some(n) = number(a.1) {
                    count = n;
                } else if let Some(u) = Unit::ALL.into_iter().find(|u| u.name() == a.1) {
                    unit = u;
                } else if let Some(w) = Who::ALL.into_iter().find(|w| w.name() == a.1) {
                    who = w;
                } else {
                    return Err(usage(*a));
                }
            }
            Ok(Command::Step { count, unit, who, back })
        }
        "next" => {
            let count = args.first().map_or(Ok(1), |a| number(a.1).ok_or_else(|| usage(*a)))?;
            Ok(Command::Next { count, back })
        }
        "continue" => Ok(Command::Continue { back }),
        "finish" => Ok(Command::Finish { back }),
        "doorbell" => Ok(Command::Doorbell { queue: None, back }),
        "goto" => match args.first() {
            Some(a) => Ok(Command::Goto(match number(a.1) {
                Some(n) => Goto::Event(Expr::Num(n)),
                None => Goto::Mark(a.1.to_owned()),
            })),
            None => Err(missing()),
        },
        "restart" => Ok(Command::Restart),
        "break" | "tbreak" => {
            let a = *args.first().ok_or_else(missing)?;
            let loc = loc(a.1, args.get(1).map(|a| a.1)).ok_or_else(|| usage(a))?;
            Ok(Command::Break { loc, cond: None, once: spec.name == "tbreak", after: 0 })
        }
        "delete" => Ok(Command::Delete(numbers()?)),
        "enable" => Ok(Command::Enable(numbers()?, true)),
        "disable" => Ok(Command::Enable(numbers()?, false)),
        "where" => Ok(Command::Where),
        "info" => {
            let a = *args.first().ok_or_else(missing)?;
            let what = Info::ALL.into_iter().find(|i| i.name() == a.1).ok_or_else(|| usage(a))?;
            let queue = args.get(1).map(|a| queue(a.1).ok_or_else(|| usage(*a))).transpose()?;
            Ok(Command::Info { what, queue })
        }
        "print" => {
            let a = *args.first().ok_or_else(missing)?;
            Ok(Command::Print { expr: expr(a.1), form: None })
        }
        "x" => Ok(Command::Examine {
            format: ExamineFormat::default(),
            addr: args.first().map(|a| expr(a.1)),
        }),
        "explain" => {
            let a = *args.first().ok_or_else(missing)?;
            Ok(Command::Explain(match loc(a.1, None) {
                Some(l @ Loc::Slots { .. }) => Explain::Loc(l),
                _ => Explain::Code(a.1.to_owned()),
            }))
        }
        "mark" => Ok(Command::Mark(args.first().ok_or_else(missing)?.1.to_owned())),
        "echo" => Ok(Command::Echo(rest())),
        "help" => Ok(Command::Help(args.first().map(|a| a.1.to_owned()))),
        "quit" => Ok(Command::Quit),
        _ => Err(error("S003", format!("`{}` is not read here yet", spec.name), verb)),
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn expr(text: &str) -> Expr {
    number(text).map_or_else(|| Expr::Name(text.to_owned()), Expr::Num)
}

fn queue(text: &str) -> Option<QueueRef> {
    match text.split_once('.') {
        Some((e, q)) => Some(QueueRef::Exact(QueueId {
            engine: e.strip_prefix('e')?.parse().ok()?,
            queue: q.strip_prefix('q')?.parse().ok()?,
        })),
        None => Some(QueueRef::Queue(text.strip_prefix('q')?.parse().ok()?)),
    }
}

fn loc(text: &str, next: Option<&str>) -> Option<Loc> {
    match text {
        "marker" => return Some(Loc::Marker),
        "doorbell" => return Some(Loc::Doorbell),
        "fault" => return Some(Loc::Fault),
        "batch" => return Some(Loc::Batch(number(next?)?)),
        "event" => return Some(Loc::Event(number(next?)?)),
        _ => {}
    }
    if let Some(a) = number(text) {
        return Some(Loc::Addr(a));
    }
    let (dir, slots) = text.strip_suffix(']')?.split_once('[')?;
    let dir = Dir::BOTH.into_iter().find(|d| d.name() == dir)?;
    let (first, last) = slots.split_once(':').unwrap_or((slots, slots));
    Some(Loc::Slots { queue: QueueRef::Selected, dir, first: number(first)?, last: number(last)? })
}

fn complete(_: &Session, line: &str) -> Vec<String> {
    if line.contains(char::is_whitespace) {
        return Vec::new();
    }
    let names = COMMANDS.iter().map(|c| c.name).filter(|n| n.starts_with(line));
    names.map(str::to_owned).collect()
}

fn sentence(desc: Desc, dir: Dir, _: Generation) -> String {
    if desc.is_zero() {
        return "an empty slot".to_owned();
    }
    if desc.view(dir) == crate::udma::View::Meta {
        return format!("META descriptor, index {}", desc.meta_index());
    }
    let what = match dir {
        Dir::Tx => {
            format!("{} {} bytes from {:#x}", class::name(desc.word1), desc.length(), desc.ptr)
        }
        Dir::Rx => format!("write {} bytes to {:#x}", desc.length(), desc.ptr),
    };
    let last = if desc.last() { ", last of its packet" } else { "" };
    format!("{what}{last}")
}
