//! The verbs that set and change stops: `break`, `watch`, `catch`, `commands`, `delete` and
//! their kin (`docs/stops.md`).

use super::super::args::Args;
use super::super::lex::{Fault, shown, skip};
use super::{fault_name, form_of, parse};
use crate::diag::Diagnostic;
use crate::engine::command::{
    Access, Attached, Block, BlockLine, Catch, Command, Form, Numbers, Switch, Watch, Watched,
    Written, is_plain_name, misspelt,
};
use crate::engine::expr::Expr;
use crate::limits::{MAX_BLOCK_COMMANDS, MAX_STOPS};
use std::sync::Arc;

/// The word that ends a block of commands.
pub(in crate::script) const END: &str = "end";
/// The word that keeps a stop from being told of.
pub(in crate::script) const SILENT: &str = "silent";

/// What may follow the place of a stop.
#[derive(Default)]
struct Options {
    on: Option<Access>,
    cond: Option<Expr>,
    once: bool,
    after: Option<u64>,
}

/// Words of options, in any order; those of a watchpoint begin with its accesses.
fn options(a: &mut Args<'_>, once: bool, watch: bool) -> Result<Options, Fault> {
    let accesses = if watch { &Access::ALL[..] } else { &[] };
    let words: Vec<&str> =
        accesses.iter().map(|m| m.name()).chain(["if", "once", "after"]).collect();
    let mut o = Options { once, ..Options::default() };
    while !a.at_end() {
        let again = a.wrong(format!("{} stands here twice", shown(skip(a.rest))));
        let i = a.choose("an option", &words)?;
        let twice = match (accesses.get(i), i - i.min(accesses.len())) {
            (Some(on), _) => o.on.replace(*on).is_some(),
            (None, 0) => o.cond.replace(a.expr()?).is_some(),
            (None, 1) => std::mem::replace(&mut o.once, true) && a.spec.name != "tbreak",
            (None, _) => o.after.replace(a.number("the number of hits to pass over")?).is_some(),
        };
        if twice {
            return Err(again);
        }
    }
    Ok(o)
}

pub(super) fn stop_at(a: &mut Args<'_>, once: bool) -> Result<Command, Fault> {
    let loc = a.loc()?;
    let Options { cond, once, after, .. } = options(a, once, false)?;
    Ok(Command::Break { loc, cond, once, after: after.unwrap_or(0) })
}

pub(super) fn watch(a: &mut Args<'_>) -> Result<Command, Fault> {
    let what = watched(a)?;
    a.rest = skip(a.rest);
    let len = match a.rest.strip_prefix(',') {
        Some(rest) => {
            let semaphore = matches!(what, Watched::Semaphore(_));
            if semaphore {
                return Err(a.wrong("a semaphore has no length"));
            }
            a.rest = rest;
            Some(a.expr()?)
        }
        None => None,
    };
    let Options { on, cond, once, after } = options(a, false, true)?;
    let watch = Watch { what, len, on: on.unwrap_or_default() };
    Ok(Command::Watch { watch, cond, once, after: after.unwrap_or(0) })
}

/// What is watched: slots, a semaphore, a location, or an expression.
fn watched(a: &mut Args<'_>) -> Result<Watched, Fault> {
    const ADVICE: &str = "what can be watched: an address, `marker`, tx[3], tx[3:9], mem32[0x10], the name of a location, semaphore 3.";
    if a.at_end() {
        return Err(a.missing("an address").help(ADVICE));
    }
    if a.peek() == "semaphore" {
        a.word();
        return Ok(Watched::Semaphore(a.number("a semaphore's number")?));
    }
    let start = skip(a.rest);
    if start.starts_with('"') {
        return Ok(Watched::Name(a.quoted()?));
    }
    if let Some(range) = a.slots() {
        return range;
    }
    let word = start.split(|c: char| c.is_ascii_whitespace() || c == ',').next().unwrap_or("");
    if is_plain_name(word) {
        a.rest = start.get(word.len()..).unwrap_or_default();
        return Ok(Watched::Name(word.to_owned()));
    }
    if let Some(near) = misspelt(word) {
        let fault = a.wrong(format!("{} cannot be watched", shown(start)));
        let help = format!("did you mean `{near}`? The name of a location stands in quotes then.");
        return Err(fault.wide(word.len()).help(help));
    }
    Ok(Watched::Expr(a.expr()?))
}

pub(super) fn catch(a: &mut Args<'_>) -> Result<Command, Fault> {
    const OPTIONS: [&str; 3] = ["if", "once", "after"];
    let named = |a: &Args<'_>| !a.at_end() && !OPTIONS.contains(&a.peek());
    let what = match a.choose("something to catch", &Catch::WORDS)? {
        0 if named(a) => Catch::Fault(Some(fault_name(a)?)),
        0 => Catch::Fault(None),
        1 => Catch::Race,
        2 if named(a) => Catch::Doorbell(Some(a.queue()?)),
        2 => Catch::Doorbell(None),
        3 => Catch::Marker,
        4 => Catch::Timeout,
        5 if a.eat("BUG") => Catch::Bug,
        5 if named(a) => {
            let wrong = a.missing("a return code or `BUG`");
            match a.word().and_then(|w| w.parse().ok()) {
                Some(code) => Catch::Ret(Some(code)),
                None => return Err(wrong),
            }
        }
        5 => Catch::Ret(None),
        6 => Catch::Stall,
        _ => Catch::Reload,
    };
    let Options { cond, once, after, .. } = options(a, false, false)?;
    Ok(Command::Catch { what, cond, once, after: after.unwrap_or(0) })
}

/// Numbers and ranges of them, all that are right; the others are kept as faults.
pub(super) fn numbers(a: &mut Args<'_>, what: &str) -> Numbers {
    let mut out = Vec::new();
    while !a.at_end() {
        let whole = a.wrong("");
        match range(a, what) {
            Ok((first, last)) if first <= last => out.push((first, last)),
            Ok((first, last)) => {
                a.keep(whole.says(format!("the range ends at {last}, before its start {first}")));
            }
            Err(fault) => {
                a.keep(fault);
                a.word();
            }
        }
    }
    // More than there can be stops are as good as all of them.
    out.truncate(MAX_STOPS);
    out
}

/// `3` or `3-5`.
fn range(a: &mut Args<'_>, what: &str) -> Result<(u64, u64), Fault> {
    let word = a.peek();
    let Some((from, to)) = word.split_once('-') else {
        let n = a.number(what)?;
        return Ok((n, n));
    };
    let (Ok(first), Ok(last)) = (from.parse(), to.parse()) else {
        return Err(a.missing(what));
    };
    a.word();
    Ok((first, last))
}

pub(super) fn enable(a: &mut Args<'_>) -> Result<Command, Fault> {
    let switch = if a.eat("once") {
        Switch::Once
    } else if a.eat("delete") {
        Switch::Delete
    } else {
        Switch::On
    };
    let word = a.peek();
    if !a.at_end() && !word.starts_with(|c: char| c.is_ascii_digit()) {
        a.choose("`once`, `delete` or a stop's number", &["once", "delete"])?;
    }
    Ok(Command::Enable(numbers(a, STOP_NUMBER), switch))
}

/// What a number of a stop is called.
pub(super) const STOP_NUMBER: &str = "a stop's number";

pub(super) fn display(a: &mut Args<'_>) -> Result<Command, Fault> {
    let form: Option<Form> = form_of(a);
    let expr = if a.at_end() && form.is_none() { None } else { Some(a.last_expr()?) };
    Ok(Command::Display { expr, form })
}

/// `commands [N] [end | CMD; CMD]`.
pub(super) fn commands(a: &mut Args<'_>) -> Result<Command, Fault> {
    let numbered = a.peek().starts_with(|c: char| c.is_ascii_digit());
    let stop = if numbered { Some(a.number(STOP_NUMBER)?) } else { None };
    if a.at_end() {
        return Ok(Command::Commands { stop, what: Attached::Show });
    }
    if skip(a.rest).trim_ascii_end() == END {
        a.rest = "";
        return Ok(Command::Commands { stop, what: Attached::Clear });
    }
    let mut block = Block::default();
    let rest = std::mem::take(&mut a.rest);
    for (from, to) in pieces(rest) {
        let piece = rest.get(from..to).unwrap_or_default();
        if let Err(all) = add(&mut block, piece) {
            all.into_iter().for_each(|f| a.keep(f.before(rest.len() - to)));
        }
    }
    Ok(Command::Commands { stop, what: Attached::Set(block) })
}

/// Adds a line to a block.
fn add(block: &mut Block, text: &str) -> Result<(), Vec<Fault>> {
    let word = skip(text).trim_ascii_end();
    let at = |message: &str| vec![Fault::new("S003", skip(text), message)];
    if word == SILENT {
        if !block.lines.is_empty() || block.silent {
            return Err(at("`silent` stands before all other commands, once"));
        }
        block.silent = true;
        return Ok(());
    }
    if word == END {
        return Err(at("`end` stands alone, or closes the lines of a block in a script"));
    }
    let Some(command) = parse(text)? else { return Ok(()) };
    let refused = match command {
        Command::Commands { .. } => Some("commands have no commands of their own"),
        Command::Source(_) => Some("a script is not read at a stop"),
        _ if block.lines.len() >= MAX_BLOCK_COMMANDS => Some("a stop has too many commands"),
        _ => None,
    };
    if let Some(why) = refused {
        return Err(at(why));
    }
    let written = Written { text: word.to_owned(), place: None };
    block.lines.push(BlockLine { command, written });
    Ok(())
}

/// Adds a line of a script to a block; `place` is where it stands.
///
/// # Errors
/// What is wrong with it, each with column and width.
pub(in crate::script) fn add_line(
    block: &mut Block,
    line: &str,
    place: crate::diag::Place,
) -> Result<(), Vec<Diagnostic>> {
    let text = super::without_comment(line);
    let before = block.lines.len();
    add(block, text)
        .map_err(|all| all.into_iter().map(|f| f.diagnostic(text)).collect::<Vec<_>>())?;
    if let Some(new) = block.lines.get_mut(before) {
        new.written.place = Some(Arc::new(place));
    }
    Ok(())
}

/// The stretches between semicolons outside of quotes.
pub(in crate::script) fn pieces(text: &str) -> Vec<(usize, usize)> {
    let (mut inside, mut escaped) = (false, false);
    let mut out = Vec::new();
    let mut from = 0;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            ';' if !inside => {
                out.push((from, at));
                from = at + 1;
            }
            _ => {}
        }
    }
    out.push((from, text.len()));
    out
}
