//! One line to one command.

use super::expr::{direction, expr, queue_ref};
use super::lex::{Cursor, Kind, tokens, without_comment};
use crate::diag::{Diagnostic, Place};
use crate::engine::command::{
    Command, CommandSpec, ExamineFormat, Expect, Explain, Form, Goto, Info, Loc, NameError, Unit,
    Who, distance, find,
};
use crate::engine::expr::QueueRef;
use crate::limits::MAX_LINE_BYTES;

type Parsed<T> = Result<T, Diagnostic>;

/// Reads a line; `None` for a blank one or a comment.
///
/// # Errors
/// S001 .. S005, at the offending word (line 1, columns of the line), with advice.
pub fn parse_command(line: &str) -> Parsed<Option<Command>> {
    if line.len() > MAX_LINE_BYTES {
        let why = format!("the line is longer than {MAX_LINE_BYTES} bytes");
        return Err(Diagnostic::new("S003", why).at(Place::text(1, 1, 1)));
    }
    let text = without_comment(line);
    let start = text.len() - text.trim_start().len();
    let body = text.trim();
    if body.is_empty() {
        return Ok(None);
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '?';
    let end = body.find(|c| !is_name(c)).unwrap_or(body.len());
    let end = if end == 0 { body.chars().next().map_or(0, char::len_utf8) } else { end };
    let name = &body[..end];
    let first = text[..start].chars().count() as u64 + 1;
    let place = Place::text(1, first, name.chars().count() as u64);
    let spec = find(name).map_err(|e| name_error(name, e).at(place))?;
    let rest = &body[end..];
    let column = first + name.chars().count() as u64;
    let end_column = column + rest.chars().count() as u64;
    let raw = || rest.trim();
    // Verbs whose argument is free text.
    match spec.name {
        "echo" => return Ok(Some(Command::Echo(unquoted(raw())))),
        "source" | "mark" | "help" => {
            return text_argument(spec, raw(), column, end_column).map(Some);
        }
        _ => {}
    }
    let formatted = matches!(spec.name, "print" | "x");
    let format = cut_format(rest, column).filter(|_| formatted);
    let body = format.as_ref().map_or(rest, |f| f.2);
    let list = tokens(body, end_column - body.chars().count() as u64)?;
    let mut c = Cursor::new(&list, end_column);
    let format = format.map(|f| (f.0, f.1));
    let command = arguments(spec, &mut c, format).map_err(|d| with_usage(d, spec))?;
    if !c.done() {
        return Err(with_usage(c.error("S003", "this is superfluous"), spec));
    }
    Ok(Some(command))
}

fn name_error(name: &str, e: NameError) -> Diagnostic {
    match e {
        NameError::Unknown(near) => {
            let d = Diagnostic::new("S001", format!("no command `{name}`"));
            match near.as_slice() {
                [] => d.help("`help` lists the commands"),
                near => d.help(format!("did you mean {}?", near.join(" or "))),
            }
        }
        NameError::Ambiguous(many) => {
            Diagnostic::new("S002", format!("`{name}` may be {}", many.join(", ")))
        }
    }
}

fn with_usage(d: Diagnostic, spec: &CommandSpec) -> Diagnostic {
    if d.help.is_some() {
        return d;
    }
    let usage = format!("usage: {} {}", spec.name, spec.usage);
    d.help(usage.trim_end())
}

fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    inner.filter(|t| !t.contains('"')).unwrap_or(text).to_owned()
}

fn text_argument(spec: &CommandSpec, raw: &str, column: u64, end: u64) -> Parsed<Command> {
    let text = unquoted(raw);
    match (spec.name, text.is_empty()) {
        ("help", true) => Ok(Command::Help(None)),
        ("help", false) => match find(&text) {
            Ok(c) => Ok(Command::Help(Some(c.name.to_owned()))),
            Err(e) => {
                let place = Place::text(1, column + 1, text.chars().count() as u64);
                Err(name_error(&text, e).at(place))
            }
        },
        (_, true) => {
            let d = Diagnostic::new("S003", "an argument is missing");
            Err(with_usage(d.at(Place::text(1, end, 1)), spec))
        }
        ("mark", false) => {
            let ok = text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
            let begins = text.chars().next().is_some_and(char::is_alphabetic);
            if ok && begins && text != "end" {
                Ok(Command::Mark(text))
            } else {
                let place = Place::text(1, column + 1, text.chars().count() as u64);
                let why = "a mark is a letter, then letters, digits, `_` or `-`, and not `end`";
                Err(Diagnostic::new("S003", why).at(place))
            }
        }
        _ => Ok(Command::Source(text)),
    }
}

fn arguments(
    spec: &CommandSpec,
    c: &mut Cursor<'_>,
    format: Option<(&str, Place)>,
) -> Parsed<Command> {
    let (name, back) = match spec.name.strip_prefix("reverse-") {
        Some(name) => (name, true),
        None => (spec.name, false),
    };
    Ok(match name {
        "step" => step(c, back)?,
        "next" => Command::Next { count: count(c)?.unwrap_or(1), back },
        "continue" => Command::Continue { back },
        "until" => Command::Until { expr: expr(c)?, back },
        "finish" => Command::Finish { back },
        "doorbell" => Command::Doorbell { queue: queue_ref(c), back },
        "goto" => Command::Goto(goto(c)?),
        "restart" => Command::Restart,
        "break" => stop(c, false)?,
        "tbreak" => stop(c, true)?,
        "delete" => Command::Delete(numbers(c)?),
        "enable" => Command::Enable(numbers(c)?, true),
        "disable" => Command::Enable(numbers(c)?, false),
        "print" => {
            let form = format.map(|(f, at)| form_of(f, at)).transpose()?;
            Command::Print { form, expr: expr(c)? }
        }
        "x" => {
            let format = format.map(|(f, at)| examine(f, &at)).transpose()?.unwrap_or_default();
            Command::Examine { format, addr: if c.done() { None } else { Some(expr(c)?) } }
        }
        "where" => Command::Where,
        "info" => {
            let what = choice(c, "subject", Info::ALL.map(|i| (i.name(), i)).as_slice())?;
            Command::Info { what, queue: queue_ref(c) }
        }
        "explain" => Command::Explain(explain(c)?),
        "set" => {
            let Some(Kind::Dollar(name)) = c.peek() else {
                return Err(c.error("S003", "a variable such as $x is missing here"));
            };
            c.next();
            if !c.sym("=") {
                return Err(c.error("S003", "`=` is missing here"));
            }
            Command::SetVar(name.clone(), expr(c)?)
        }
        "assert" => {
            let expr = expr(c)?;
            let text = match c.sym(",") {
                false => None,
                true => match c.next().map(|t| &t.kind) {
                    Some(Kind::Str(t)) => Some(t.clone()),
                    _ => return Err(c.error("S003", "a quoted text is missing after `,`")),
                },
            };
            Command::Assert { expr, text }
        }
        "expect" => Command::Expect(expect(c)?),
        "quit" => Command::Quit,
        other => return Err(c.error("S001", format!("`{other}` cannot be used here"))),
    })
}

/// A plain number, if one is next.
fn count(c: &mut Cursor<'_>) -> Parsed<Option<u64>> {
    match c.peek() {
        Some(Kind::Num(Some(n))) => {
            c.next();
            Ok(Some(*n))
        }
        Some(Kind::Num(None)) => Err(c.error("S003", "no number of 64 bits")),
        _ => Ok(None),
    }
}

fn number(c: &mut Cursor<'_>, what: &str) -> Parsed<u64> {
    let here = c.error("S003", format!("{what} is missing here"));
    count(c)?.ok_or(here)
}

fn numbers(c: &mut Cursor<'_>) -> Parsed<Vec<u64>> {
    let mut out = Vec::new();
    while !c.done() {
        out.push(number(c, "a breakpoint's number")?);
        c.sym(",");
    }
    Ok(out)
}

/// One of a list of words, or an unambiguous prefix of one.
fn choice<T: Copy>(c: &mut Cursor<'_>, what: &str, list: &[(&str, T)]) -> Parsed<T> {
    let all = || list.iter().map(|l| l.0).collect::<Vec<_>>().join(", ");
    let Some(Kind::Ident(word)) = c.peek() else {
        return Err(c.error("S003", format!("a {what} is missing here")).help(all()));
    };
    let exact = list.iter().find(|l| l.0 == word);
    let mut prefix = list.iter().filter(|l| l.0.starts_with(word.as_str()));
    let found = exact.or_else(|| prefix.next().filter(|_| prefix.next().is_none()));
    match found {
        Some(l) => {
            c.next();
            Ok(l.1)
        }
        None => {
            let near = list.iter().map(|l| (distance(word, l.0), l.0)).min();
            let help = match near {
                Some((d, n)) if d <= 2 => format!("did you mean {n}?"),
                _ => all(),
            };
            Err(c.error("S003", format!("`{word}` is no {what}")).help(help))
        }
    }
}

/// A word of `step`.
#[derive(Clone, Copy)]
enum StepWord {
    Unit(Unit),
    Who(Who),
}

/// Count, unit and agent, in any order, each at most once.
fn step(c: &mut Cursor<'_>, back: bool) -> Parsed<Command> {
    let (mut n, mut unit, mut who) = (None, None, None);
    let units = Unit::ALL.map(|u| (u.name(), StepWord::Unit(u)));
    let agents = Who::ALL.map(|w| (w.name(), StepWord::Who(w)));
    let words: Vec<(&str, StepWord)> = units.into_iter().chain(agents).collect();
    while !c.done() {
        if n.is_none()
            && let Some(k) = count(c)?
        {
            n = Some(k);
            continue;
        }
        let here = c.error("S003", "this is said twice");
        match choice(c, "unit or agent", &words)? {
            StepWord::Unit(u) if unit.is_none() => unit = Some(u),
            StepWord::Who(w) if who.is_none() => who = Some(w),
            _ => return Err(here),
        }
    }
    // With an agent alone, its events are meant.
    let default = if who.is_some_and(|w| w != Who::Any) { Unit::Event } else { Unit::Slot };
    let unit = unit.unwrap_or(default);
    Ok(Command::Step { count: n.unwrap_or(1), unit, who: who.unwrap_or_default(), back })
}

fn goto(c: &mut Cursor<'_>) -> Parsed<Goto> {
    // A mark's name may hold hyphens, which are operators elsewhere.
    let from = c.position();
    let mut name = String::new();
    while let Some(t) = c.next() {
        match &t.kind {
            Kind::Ident(i) => name.push_str(i),
            Kind::Sym("-") => name.push('-'),
            Kind::Num(Some(n)) if name.ends_with('-') => name.push_str(&n.to_string()),
            _ => {
                name.clear();
                break;
            }
        }
    }
    let property = crate::engine::session::PROPERTIES.iter().any(|p| p.0 == name && p.0 != "end");
    if !name.is_empty() && !name.starts_with('-') && !property {
        return Ok(Goto::Mark(name));
    }
    c.back_to(from);
    Ok(Goto::Event(expr(c)?))
}

fn stop(c: &mut Cursor<'_>, once: bool) -> Parsed<Command> {
    let loc = loc(c)?;
    let (mut cond, mut once, mut after) = (None, once, 0);
    while !c.done() {
        if c.word("if") {
            cond = Some(expr(c)?);
        } else if c.word("once") {
            once = true;
        } else if c.word("after") {
            after = number(c, "a number of hits")?;
        } else {
            return Err(c.error("S003", "`if`, `once` or `after` may stand here"));
        }
    }
    Ok(Command::Break { loc, cond, once, after })
}

/// A place.
fn loc(c: &mut Cursor<'_>) -> Parsed<Loc> {
    for (word, loc) in [("marker", Loc::Marker), ("doorbell", Loc::Doorbell), ("fault", Loc::Fault)]
    {
        if c.word(word) {
            return Ok(loc);
        }
    }
    if c.word("batch") {
        return Ok(Loc::Batch(number(c, "a batch's number")?));
    }
    if c.word("event") {
        return Ok(Loc::Event(number(c, "an event's number")?));
    }
    if let Some(addr) = count(c)? {
        return Ok(Loc::Addr(addr));
    }
    let queue = queue_ref(c);
    if queue.is_some() && !c.sym(".") {
        return Err(c.error("S003", "`.tx[N]` or `.rx[N]` is missing here"));
    }
    slots(c, queue.unwrap_or_default())
}

fn slots(c: &mut Cursor<'_>, queue: QueueRef) -> Parsed<Loc> {
    let missing = "a place such as tx[3], rx[3:9], batch 2, 0x1000, marker, doorbell or fault";
    let Some(Kind::Ident(name)) = c.peek() else {
        return Err(c.error("S003", format!("{missing} is missing here")));
    };
    let Some(dir) = direction(name) else {
        return Err(c.error("S003", format!("`{name}` is no place")).help(missing));
    };
    c.next();
    if !c.sym("[") {
        return Err(c.error("S003", "`[` is missing here"));
    }
    let first = number(c, "a slot's number")?;
    let last = if c.sym(":") { number(c, "a slot's number")? } else { first };
    if !c.sym("]") {
        return Err(c.error("S003", "`]` is missing here"));
    }
    Ok(Loc::Slots { queue, dir, first, last })
}

fn explain(c: &mut Cursor<'_>) -> Parsed<Explain> {
    if let Some(Kind::Ident(name)) = c.peek() {
        let code = name.len() > 1 && name.chars().any(|ch| ch.is_ascii_uppercase());
        let known = crate::diag::lookup(name).is_some()
            || crate::udma::cause::CAUSES.iter().any(|k| k.name.eq_ignore_ascii_case(name));
        if code || known {
            c.next();
            return Ok(Explain::Code(name.clone()));
        }
    }
    Ok(Explain::Loc(loc(c)?))
}

fn expect(c: &mut Cursor<'_>) -> Parsed<Expect> {
    if c.word("fault") {
        let Some(Kind::Ident(name)) = c.peek() else {
            return Err(c.error("S003", "a fault's name is missing here"));
        };
        if !crate::udma::cause::CAUSES.iter().any(|k| k.name == name) {
            let near =
                crate::udma::cause::CAUSES.iter().map(|k| (distance(name, k.name), k.name)).min();
            let help = near.map_or(String::new(), |n| format!("did you mean {}?", n.1));
            return Err(c.error("S005", format!("`{name}` is no fault")).help(help));
        }
        c.next();
        let at = if c.word("at") { Some(loc(c)?) } else { None };
        return Ok(Expect::Fault(name.clone(), at));
    }
    if c.word("timeout") {
        return Ok(Expect::Timeout(count(c)?));
    }
    if c.word("stop") {
        return Ok(Expect::Stop(loc(c)?));
    }
    if c.word("ret") {
        if c.word("BUG") {
            return Ok(Expect::Bug);
        }
        let minus = c.sym("-");
        let n = number(c, "a return code")?;
        let n = i64::try_from(n).map_err(|_| c.error("S003", "no return code"))?;
        return Ok(Expect::Ret(if minus { -n } else { n }));
    }
    Err(c.error("S003", "`fault`, `timeout`, `ret` or `stop` must stand here"))
}

/// The `/8wx` at the front of `rest`, its place, and what follows it. It is cut off before the
/// rest is read as tokens, for which it would be a division by a malformed number.
fn cut_format(rest: &str, column: u64) -> Option<(&str, Place, &str)> {
    let body = rest.trim_start();
    let skipped = (rest.len() - body.len()) as u64;
    let text = body.strip_prefix('/')?;
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let width = text[..end].chars().count() as u64 + 1;
    Some((&text[..end], Place::text(1, column + skipped, width), &text[end..]))
}

fn form_letter(ch: char) -> Option<Form> {
    Some(match ch {
        'x' => Form::Hex,
        'd' | 'u' => Form::Decimal,
        't' => Form::Binary,
        'c' | 's' => Form::Char,
        'i' => Form::Desc,
        _ => return None,
    })
}

fn form_of(text: &str, at: Place) -> Parsed<Form> {
    let mut chars = text.chars();
    match (chars.next().and_then(form_letter), chars.next()) {
        (Some(form), None) if form != Form::Desc => Ok(form),
        _ => Err(Diagnostic::new("S003", format!("`/{text}` is no form: /x /d /t /c")).at(at)),
    }
}

fn examine(text: &str, at: &Place) -> Parsed<ExamineFormat> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let mut f = ExamineFormat::default();
    let bad = |why: &str| Diagnostic::new("S003", format!("`/{text}`: {why}")).at(at.clone());
    if digits > 0 {
        f.count = text[..digits].parse().map_err(|_| bad("no number of 64 bits"))?;
    }
    for ch in text[digits..].chars() {
        match (ch, form_letter(ch)) {
            ('b', _) => f.width = 1,
            ('h', _) => f.width = 2,
            ('w', _) => f.width = 4,
            ('g', _) => f.width = 8,
            (_, Some(Form::Desc)) => {
                f.form = Form::Desc;
                f.width = 16;
            }
            (_, Some(form)) => f.form = form,
            _ => return Err(bad("a count, a width b h w g and a form x d t c i")),
        }
    }
    if f.form == Form::Desc && f.width != 16 {
        return Err(bad("a descriptor has 16 bytes"));
    }
    Ok(f)
}
