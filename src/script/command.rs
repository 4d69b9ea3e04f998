//! One line of text to one [`Command`]: names by [`find`], a small function per verb
//! (`docs/commands.md`, "Lines").

use super::args::{Args, is_queue};
use super::expr::{plain_names, variable};
use super::lex::{Fault, did_you_mean, is_name, shown, skip, without_comment};
use crate::diag::terms::term;
use crate::diag::{Diagnostic, lookup};
use crate::engine::command::{
    Command, CommandSpec, ExamineFormat, Expect, Explain, ExportForm, Form, Goto, Info, InjectAt,
    Loc, NameError, Pass, SaveFormat, Switch, Unit, Who, find, foreign, nearest,
};
use crate::engine::command::{PictureForm, picture_size};
use crate::engine::expr::Expr;
use crate::engine::lower::OPTIONS;
use crate::limits::{MAX_EXAMINE_BYTES, MAX_LINE_BYTES, MAX_NAME_BYTES, MAX_PICTURE_SIDE};
use crate::udma::cause::{CAUSES, by_name};
use crate::udma::{Dir, count_of, reg};

pub(super) mod stops;

/// What a verb makes of its arguments.
type Parse = fn(&mut Args<'_>) -> Result<Command, Fault>;

/// What stands before the name of a verb that goes backwards.
pub(super) const REVERSE: &str = "reverse-";
/// The mark that every run has.
pub(super) const END_MARK: &str = "end";

/// The parser of each verb; `reverse-` verbs have that of their forward form.
const VERBS: &[(&str, Parse)] = &[
    ("step", step),
    ("next", |a| Ok(Command::Next { count: a.count()?, back: a.back })),
    ("continue", |a| Ok(Command::Continue { back: a.back })),
    ("until", |a| Ok(Command::Until { expr: a.last_expr()?, back: a.back })),
    ("finish", |a| Ok(Command::Finish { back: a.back })),
    ("doorbell", doorbell),
    ("goto", goto),
    ("restart", |_| Ok(Command::Restart)),
    ("break", |a| stops::stop_at(a, false)),
    ("tbreak", |a| stops::stop_at(a, true)),
    ("watch", stops::watch),
    ("catch", stops::catch),
    ("commands", stops::commands),
    ("delete", |a| Ok(Command::Delete(stops::numbers(a, stops::STOP_NUMBER)))),
    ("enable", stops::enable),
    ("disable", |a| Ok(Command::Enable(stops::numbers(a, stops::STOP_NUMBER), Switch::Off))),
    ("print", print),
    ("display", stops::display),
    ("undisplay", |a| Ok(Command::Undisplay(stops::numbers(a, "a display's number")))),
    ("x", examine),
    ("find", find_slots),
    ("where", |_| Ok(Command::Where)),
    ("info", info),
    ("explain", explain),
    ("why", why),
    ("last-write", |a| Ok(Command::LastWrite(a.bytes()?))),
    ("next-read", |a| Ok(Command::NextRead(a.bytes()?))),
    ("origin", |a| Ok(Command::Origin(a.bytes()?))),
    ("provenance", |a| Ok(Command::Provenance(a.subject()?))),
    ("pass", pass),
    ("list", list),
    ("order", super::order::order),
    ("mark", mark),
    ("set", set),
    ("inject", inject),
    ("undo", |_| Ok(Command::Undo)),
    ("reload", |_| Ok(Command::Reload)),
    ("redo", |_| Ok(Command::Redo)),
    ("save", save),
    ("assert", assert),
    ("expect", expect),
    ("echo", echo),
    ("source", |a| Ok(Command::Source(a.file()?))),
    ("export", export),
    ("screenshot", screenshot),
    ("answer", answer),
    ("hint", |_| Ok(Command::Hint)),
    ("skip", |_| Ok(Command::Skip)),
    ("again", |_| Ok(Command::Again)),
    ("proceed", |_| Ok(Command::Proceed)),
    ("lesson", |_| Ok(Command::Lesson)),
    ("help", help),
    ("quit", |_| Ok(Command::Quit)),
];

/// Reads one line. `None` is a line with nothing but blanks or a comment.
///
/// # Errors
/// Everything that is wrong with the line (S001 to S005), each with column and width.
pub fn parse_command(line: &str) -> Result<Option<Command>, Vec<Diagnostic>> {
    if line.len() > MAX_LINE_BYTES {
        let text = format!("a line has at most {MAX_LINE_BYTES} bytes, this has {}", line.len());
        return Err(vec![Diagnostic::new("S003", text)]);
    }
    let text = without_comment(line);
    parse(text).map_err(|faults| faults.into_iter().map(|f| f.diagnostic(text)).collect())
}

fn parse(text: &str) -> Result<Option<Command>, Vec<Fault>> {
    let start = skip(text);
    if start.is_empty() {
        return Ok(None);
    }
    // A form may follow its verb at once: `x/8wx`.
    let end = start.find(|c: char| c.is_ascii_whitespace() || c == '/').unwrap_or(start.len());
    let (verb, rest) = start.split_at_checked(end).unwrap_or((start, ""));
    // Verbs that write a file of their own have a stronger form: `save!`.
    let (name, bang) = verb.strip_suffix('!').map_or((verb, false), |name| (name, true));
    let spec = named(name, start).map_err(|f| vec![f])?;
    if bang && !matches!(spec.name, "save" | "screenshot") {
        let text = format!("`{}` has no form with `!`", spec.name);
        return Err(vec![Fault::new("S001", start, text).wide(verb.len())]);
    }
    let (base, back) = match spec.name.strip_prefix(REVERSE) {
        Some(base) => (base, true),
        None => (spec.name, false),
    };
    let Some((_, parse)) = VERBS.iter().find(|v| v.0 == base) else {
        let text = format!("`{}` cannot be written in a script", spec.name);
        return Err(vec![Fault::new("S001", start, text).wide(verb.len())]);
    };
    let mut args = Args::new(rest, back, spec);
    args.bang = bang;
    let command = match parse(&mut args) {
        Ok(command) => Some(command),
        Err(fault) => {
            args.keep(fault);
            None
        }
    };
    if command.is_some() && !args.at_end() {
        let text = format!("{} is one argument too many", shown(skip(args.rest)));
        args.keep(args.wrong(text));
    }
    let faults = args.into_faults();
    match command {
        Some(command) if faults.is_empty() => Ok(Some(command)),
        _ => Err(faults.into_iter().map(|f| with_usage(f, spec)).collect()),
    }
}

/// The command of a name; `input` begins with it.
fn named(verb: &str, input: &str) -> Result<&'static CommandSpec, Fault> {
    let fault = |code, text: String| Fault::new(code, input, text).wide(verb.len());
    if verb.is_empty() {
        return Err(Fault::new("S001", input, "a command should stand here"));
    }
    if verb == stops::END || verb == stops::SILENT {
        let text = format!("`{verb}` belongs to the commands of a stop");
        return Err(fault("S001", text).help("`help commands` tells how they are written"));
    }
    find(verb).map_err(|e| match e {
        NameError::Unknown(near) => {
            let text = format!("no command is called {}", shown_verb(verb));
            let help = match (foreign(verb), did_you_mean(&near)) {
                (Some(here), _) => format!("here {here}"),
                (None, near) if near.is_empty() => "`help` lists the commands".to_owned(),
                (None, near) => near,
            };
            fault("S001", text).help(help)
        }
        NameError::Ambiguous(fit) => {
            let text = format!("{} may be {}", shown_verb(verb), fit.join(" or "));
            fault("S002", text)
        }
    })
}

/// A verb in backquotes, cut where it is long.
fn shown_verb(verb: &str) -> String {
    const LONGEST: usize = 40;
    match verb.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("`{}..`", verb.get(..at).unwrap_or_default()),
        None => format!("`{verb}`"),
    }
}

/// Wrong arguments are told how the command is used.
fn with_usage(fault: Fault, spec: &CommandSpec) -> Fault {
    if fault.code() == "S003" { fault.also(&super::help::usage(spec)) } else { fault }
}

fn step(a: &mut Args<'_>) -> Result<Command, Fault> {
    let words: Vec<&str> =
        Unit::ALL.map(Unit::name).into_iter().chain(Who::ALL.map(Who::name)).collect();
    let (mut count, mut unit, mut who) = (None, None, None);
    while !a.at_end() {
        let again = a.wrong(format!("{} says again what was said", shown(skip(a.rest))));
        let known = if a.peek().starts_with(|c: char| c.is_ascii_digit()) {
            a.count().map(|n| count.replace(n).is_some())
        } else {
            a.choose("a number, unit or agent", &words).map(|i| match Unit::ALL.get(i) {
                Some(u) => unit.replace(*u).is_some(),
                None => who.replace(Who::ALL[i - Unit::ALL.len()]).is_some(),
            })
        };
        match known {
            Ok(false) => {}
            Ok(true) => a.keep(again),
            Err(fault) => {
                a.keep(fault);
                a.word();
            }
        }
    }
    let who = who.unwrap_or_default();
    let unit = unit.unwrap_or(unit_of(who));
    Ok(Command::Step { count: count.unwrap_or(1), unit, who, back: a.back })
}

/// The unit that is meant where none is named: with an agent its events.
pub(super) fn unit_of(who: Who) -> Unit {
    if who == Who::Any { Unit::default() } else { Unit::Event }
}

fn doorbell(a: &mut Args<'_>) -> Result<Command, Fault> {
    let queue = if a.at_end() { None } else { Some(a.queue()?) };
    Ok(Command::Doorbell { queue, back: a.back })
}

/// A mark, where all there is is the name of one; an expression else.
fn goto(a: &mut Args<'_>) -> Result<Command, Fault> {
    if a.at_end() {
        return Err(a.missing("an event's number or a mark"));
    }
    if !is_mark(skip(a.rest).trim_ascii_end()) {
        return Ok(Command::Goto(Goto::Event(a.last_expr()?)));
    }
    let name = a.word().unwrap_or_default().to_owned();
    Ok(Command::Goto(Goto::Mark(name)))
}

/// Whether a word is a mark's name: letters, digits, `_` and `-`, no digit in front, and not
/// what reads as an expression, such as `event-1`. `end` is the mark that every run has.
pub(super) fn is_mark(word: &str) -> bool {
    let begins = word.starts_with(|c: char| is_name(c) && !c.is_ascii_digit());
    let known = plain_names();
    let has_value = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_digit()) || known.iter().any(|k| k == part)
    };
    begins
        && word.len() <= MAX_NAME_BYTES
        && word.chars().all(|c| is_name(c) || c == '-')
        && (word == END_MARK || !word.split('-').all(has_value))
}

/// A form in front of the arguments: `/x`, without the slash.
fn slashed<'a>(a: &mut Args<'a>) -> Option<(Fault, &'a str)> {
    let whole = a.wrong("");
    let form = a.peek().strip_prefix('/')?;
    a.word();
    Some((whole, form))
}

/// The form of a value in front of the arguments, if one is there; what is none is kept as a
/// fault.
fn form_of(a: &mut Args<'_>) -> Option<Form> {
    let (at, text) = slashed(a)?;
    let known = Form::LETTERS
        .iter()
        .find(|(c, f)| *f != Form::Desc && text.len() == 1 && text.starts_with(*c));
    if known.is_none() {
        a.keep(at.says(format!("{} is no form of a value", shown_verb(text))));
    }
    known.map(|k| k.1)
}

fn print(a: &mut Args<'_>) -> Result<Command, Fault> {
    let form = form_of(a);
    Ok(Command::Print { expr: a.last_expr()?, form })
}

fn examine(a: &mut Args<'_>) -> Result<Command, Fault> {
    let mut format = ExamineFormat::default();
    if let Some((at, text)) = slashed(a) {
        match examine_format(text) {
            Ok(f) => format = f,
            Err(message) => a.keep(at.says(message)),
        }
    }
    let addr = if a.at_end() { None } else { Some(a.last_expr()?) };
    Ok(Command::Examine { format, addr })
}

/// `8wx`: a count, then a width and a form in any order.
fn examine_format(text: &str) -> Result<ExamineFormat, String> {
    let letters = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.get(..text.len() - letters.len()).unwrap_or_default();
    let (mut width, mut form) = (None, None);
    for c in letters.chars() {
        let as_width = ExamineFormat::WIDTHS.iter().find(|w| w.0 == c).map(|w| w.1);
        let as_form = Form::LETTERS.iter().find(|f| f.0 == c).map(|f| f.1);
        let twice = match (as_width, as_form) {
            (Some(w), _) => width.replace(w).is_some(),
            (None, Some(f)) => form.replace(f).is_some(),
            (None, None) => {
                return Err(format!("`{}` is neither width nor form", c.escape_debug()));
            }
        };
        if twice {
            return Err(format!("`{c}` says a second time what was said"));
        }
    }
    let default = ExamineFormat::default();
    let form = form.unwrap_or(default.form);
    let width = match (form, width) {
        (Form::Desc, Some(_)) => return Err("descriptors have no other width".to_owned()),
        (Form::Desc, None) => crate::udma::DESC_BYTES as u8,
        (Form::Char, None) => 1,
        (_, width) => width.unwrap_or(default.width),
    };
    let most = MAX_EXAMINE_BYTES / u64::from(width);
    let count = match digits {
        "" => default.count,
        digits => digits.parse().unwrap_or(u64::MAX),
    };
    if !(1..=most).contains(&count) {
        return Err(format!(
            "the count must be from 1 to {most} at {width_bytes} each",
            width_bytes = count_of(width, "byte")
        ));
    }
    Ok(ExamineFormat { count, width, form })
}

fn info(a: &mut Args<'_>) -> Result<Command, Fault> {
    // As in gdb, where these are the same.
    let alias = ["b", "watchpoints"].into_iter().any(|w| a.eat(w));
    let all = Info::ALL.map(Info::name);
    let what = if alias { Info::Breakpoints as usize } else { a.choose("a subject", &all)? };
    let queue = if a.at_end() { None } else { Some(a.queue()?) };
    Ok(Command::Info { what: Info::ALL[what], queue })
}

fn why(a: &mut Args<'_>) -> Result<Command, Fault> {
    let queue = if a.at_end() { None } else { Some(a.queue()?) };
    Ok(Command::Why(queue))
}

fn explain(a: &mut Args<'_>) -> Result<Command, Fault> {
    let word = a.peek();
    if let Some(name) = reg::register(word) {
        a.word();
        return Ok(Command::Explain(Explain::Register(name.to_owned())));
    }
    if is_queue(word) {
        return Ok(Command::Explain(Explain::Queue(a.queue()?)));
    }
    let code = lookup(word).map(|c| c.code);
    let cause = CAUSES.iter().map(|c| c.name).find(|c| c.eq_ignore_ascii_case(word));
    if let Some(name) = code.or(cause) {
        a.word();
        return Ok(Command::Explain(Explain::Code(name.to_owned())));
    }
    let upper = word.to_ascii_uppercase();
    let lower = word.to_ascii_lowercase();
    let near: Vec<&str> = nearest(&upper, CAUSES.iter().map(|c| c.name))
        .into_iter()
        .chain(nearest(&lower, reg::register_names()))
        .collect();
    let code_like = word.len() == 4 && word.bytes().skip(1).all(|b| b.is_ascii_digit());
    let no_slot = a.wrong(format!("{} is no code, fault or place", shown(skip(a.rest))));
    // A name may stand for what a module has; one that is nearly a register's or a fault's is
    // taken for a misspelling of it.
    let quoted = word.starts_with('"');
    let rest = a.rest;
    let found = a.loc();
    // A word of the field where it is no place: `tx`, but not `tx[0]`.
    if let (Err(_), Some(term)) = (&found, term(word)) {
        a.rest = rest;
        a.word();
        return Ok(Command::Explain(Explain::Code(term.name.to_owned())));
    }
    let loc = match found {
        Ok(Loc::Name(_)) if !quoted && (code_like || !near.is_empty()) => Err(no_slot),
        other => other,
    };
    loc.map(|loc| Command::Explain(Explain::Loc(loc))).map_err(|fault| match near.as_slice() {
        _ if code_like => fault.says(format!("no diagnostic has the code `{upper}`")),
        [] => fault,
        near => fault
            .says(format!("{} is no code, fault, register or place", shown_verb(word)))
            .help(did_you_mean(near)),
    })
}

fn pass(a: &mut Args<'_>) -> Result<Command, Fault> {
    const WHAT: &str = "a stage";
    let stages = Pass::STAGES;
    if a.at_end() {
        return Ok(Command::Pass(Pass::Show));
    }
    let i = a.choose(WHAT, &Pass::words())?;
    Ok(Command::Pass(match (stages.get(i), i - i.min(stages.len())) {
        (Some(stage), _) => Pass::Select(*stage),
        (None, 0) => Pass::Next,
        (None, 1) => Pass::Prev,
        (None, 3) if a.at_end() => Pass::Params,
        (None, 3) => {
            let names: Vec<&'static str> = OPTIONS.iter().map(|o| o.name).collect();
            let name = names[a.choose("a parameter", &names)?];
            let value = a.peek();
            let tried = crate::engine::lower::Options::default().set(name, value);
            if let Err(why) = tried {
                return Err(a.wrong(why));
            }
            a.word();
            Pass::Set(name, value.to_owned())
        }
        (None, _) if a.at_end() => Pass::Diff(None),
        (None, _) => {
            let names = stages.map(crate::engine::lower::Stage::name);
            let from = stages[a.choose(WHAT, &names)?];
            Pass::Diff(Some((from, stages[a.choose(WHAT, &names)?])))
        }
    }))
}

fn find_slots(a: &mut Args<'_>) -> Result<Command, Fault> {
    // `tx` and `rx` alone are the ring; before a bracket or a point they begin an expression.
    let dir = Dir::BOTH.into_iter().find(|d| a.peek() == d.name());
    if dir.is_some() {
        a.word();
    }
    Ok(Command::Find { dir, expr: a.slot_expr()? })
}

fn list(a: &mut Args<'_>) -> Result<Command, Fault> {
    if a.at_end() {
        return Ok(Command::List(None));
    }
    Ok(Command::List(Some(a.number("a line's number")?)))
}

fn mark(a: &mut Args<'_>) -> Result<Command, Fault> {
    let word = a.peek();
    if word == END_MARK {
        return Err(a.wrong(format!("`{END_MARK}` is the end of the run already")));
    }
    if !is_mark(word) {
        let help = format!(
            "a mark has letters, digits, `_` and `-`, at most {MAX_NAME_BYTES}, and no meaning in an expression."
        );
        return Err(a.missing("a mark's name").help(help));
    }
    a.word();
    Ok(Command::Mark(word.to_owned()))
}

/// A variable, or anything that an expression names.
fn set(a: &mut Args<'_>) -> Result<Command, Fault> {
    if a.peek().starts_with('$') {
        let name = a.take(variable)?;
        equals(a)?;
        return Ok(Command::SetVar(name, a.last_expr()?));
    }
    if a.at_end() {
        return Err(a.missing("what to set").help(SETTABLE));
    }
    let whole = a.wrong(format!("{} cannot be set", shown(skip(a.rest))));
    let what = a.expr()?;
    use Expr::{Mem, Name, Queue, Reg, Slot};
    let named = matches!(what, Slot { .. } | Queue { .. } | Mem { .. } | Reg { .. } | Name(_));
    if !named {
        return Err(whole.help(SETTABLE));
    }
    equals(a)?;
    Ok(Command::Set { what, value: a.last_expr()? })
}

/// What may be set, as advice.
const SETTABLE: &str = "a field or word of a slot (tx[3].dmb), memory (mem32[0x10]), `marker`, a register or cursor of a ring (q0.tx.drtp_inc), a register of an engine (reg[0x200]), or a variable (`$name`)";

fn equals(a: &mut Args<'_>) -> Result<(), Fault> {
    a.rest = skip(a.rest);
    match a.rest.strip_prefix('=') {
        Some(rest) => {
            a.rest = rest;
            Ok(())
        }
        None => Err(a.missing("`=`")),
    }
}

fn inject(a: &mut Args<'_>) -> Result<Command, Fault> {
    let fault = fault_name(a)?;
    if a.at_end() {
        return Ok(Command::Inject { fault, at: InjectAt::default() });
    }
    if !a.eat("at") {
        return Err(a.missing("`at` and a slot, ring or queue"));
    }
    let place = a.wrong("");
    let at = a.inject_at()?;
    match at.dir.filter(|d| by_name(*d, &fault).is_none()) {
        Some(dir) => {
            let other = if dir == Dir::Tx { "rx (S2M)" } else { "tx (M2S)" };
            Err(place.says(format!("{fault} is a cause of {other} only, not of {dir}")))
        }
        None => Ok(Command::Inject { fault, at }),
    }
}

fn save(a: &mut Args<'_>) -> Result<Command, Fault> {
    let place = a.wrong("");
    let file = a.file()?;
    match SaveFormat::of(&file) {
        Some(format) => Ok(Command::Save { file, format, over: a.bang }),
        None => {
            let text = "the end of the name says neither assembly (.dma) nor program image (.bin)";
            Err(place.says(text))
        }
    }
}

fn assert(a: &mut Args<'_>) -> Result<Command, Fault> {
    let expr = a.expr()?;
    a.rest = skip(a.rest);
    let text = match a.rest.strip_prefix(',') {
        Some(rest) => {
            a.rest = rest;
            Some(a.quoted()?)
        }
        None => match super::expr::leftover(a.rest) {
            Some(fault) => return Err(fault),
            None => None,
        },
    };
    Ok(Command::Assert { expr, text })
}

fn expect(a: &mut Args<'_>) -> Result<Command, Fault> {
    const BUG: &str = "BUG";
    let what = a.choose("something to expect", &["fault", "timeout", "ret", "stop", "race"])?;
    Ok(Command::Expect(match what {
        0 => {
            let name = fault_name(a)?;
            let loc = if a.eat("at") { Some(a.loc()?) } else { None };
            Expect::Fault(name, loc)
        }
        1 if a.at_end() => Expect::Timeout(None),
        1 => Expect::Timeout(Some(a.number("a batch's number")?)),
        2 if a.eat(BUG) => Expect::Bug,
        2 => {
            let wrong = a.missing("a return code or `BUG`");
            match a.word().and_then(|w| w.parse().ok()) {
                Some(code) => Expect::Ret(code),
                None => return Err(wrong),
            }
        }
        3 => Expect::Stop(a.loc()?),
        _ if a.at_end() => Expect::Race(None),
        _ => {
            let first = a.loc()?;
            Expect::Race(Some((first, a.loc()?)))
        }
    }))
}

/// The name of a fault, in any letter case.
fn fault_name(a: &mut Args<'_>) -> Result<String, Fault> {
    let names = || CAUSES.iter().map(|c| c.name);
    let word = a.peek();
    let known = names().find(|n| n.eq_ignore_ascii_case(word));
    let Some(name) = known else {
        let fault = a.missing("a fault's name");
        let near = nearest(&word.to_ascii_uppercase(), names());
        return Err(fault.help(if near.is_empty() {
            let mut all: Vec<&str> = names().collect();
            all.sort_unstable();
            all.dedup();
            format!("faults: {}.", all.join(", "))
        } else {
            did_you_mean(&near)
        }));
    };
    a.word();
    Ok(name.to_owned())
}

/// The rest of the line, or a text in quotes.
fn echo(a: &mut Args<'_>) -> Result<Command, Fault> {
    let rest = skip(a.rest).trim_ascii_end();
    if rest.starts_with('"') {
        return Ok(Command::Echo(a.quoted()?));
    }
    a.rest = "";
    Ok(Command::Echo(rest.to_owned()))
}

/// A form and a file.
fn export(a: &mut Args<'_>) -> Result<Command, Fault> {
    let form = ExportForm::ALL[a.choose("a form", &ExportForm::ALL.map(ExportForm::name))?];
    let place = a.wrong("");
    let file = a.file()?;
    if file == "-" {
        let text = "`-` is no file: a script's own output goes to standard output";
        return Err(place
            .says(text)
            .help("`dmadbg export FILE --as FORM` prints; `./-` is a file of that name"));
    }
    Ok(Command::Export { form, file })
}

/// A file whose end says the form, and a size.
fn screenshot(a: &mut Args<'_>) -> Result<Command, Fault> {
    let place = a.wrong("");
    let file = a.file()?;
    let Some(form) = PictureForm::of(&file) else {
        let text = "the end of the name says no form of a picture: .svg, .ansi or .txt";
        return Err(place.says(text));
    };
    let size = match a.at_end() {
        true => None,
        false => {
            let text = format!("a size is WxH, such as 160x45, at most {MAX_PICTURE_SIDE} each");
            let wrong = a.wrong(text);
            let word = a.word().unwrap_or_default();
            Some(picture_size(word).ok_or(wrong)?)
        }
    };
    Ok(Command::Screenshot { file, form, size, over: a.bang })
}

/// The rest of the line as it stands: what it means is the lesson's to say.
fn answer(a: &mut Args<'_>) -> Result<Command, Fault> {
    let text = skip(a.rest).trim_ascii_end();
    if text.is_empty() {
        return Err(a.missing("an answer"));
    }
    a.rest = "";
    Ok(Command::Answer(text.to_owned()))
}

fn help(a: &mut Args<'_>) -> Result<Command, Fault> {
    let start = skip(a.rest);
    match a.word() {
        None => Ok(Command::Help(None)),
        Some(word) => Ok(Command::Help(Some(named(word, start)?.name.to_owned()))),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
