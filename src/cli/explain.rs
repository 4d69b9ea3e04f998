//! `explain`: a diagnostic code, an engine fault, a word, a field, an operation class, a register,
//! a command or a term of the field, in words.

use super::args::ExplainArgs;
use super::numbers::token;
use super::out::{Failure, Out, Status, Style};
use super::{named, rows, words};
use crate::diag::terms::{TERMS, Term, term};
use crate::diag::{CodeInfo, Diagnostic, Report, codes, lookup};
use crate::engine::command::{COMMANDS, CommandSpec, distance};
use crate::udma::cause::CAUSES;
use crate::udma::class::CLASSES;
use crate::udma::{Cause, Class, Dir, Field, Generation, reg};
use serde_json::json;
use std::io;

/// Runs `explain`.
///
/// # Errors
/// [`Failure`] for a name that stands for nothing.
pub fn run(args: &ExplainArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let tokens: Vec<_> = args.what.iter().filter_map(|t| token(t)).collect();
    if tokens.len() == args.what.len() {
        return words::run(&tokens, None, (None, Generation::V3), out);
    }
    let mut unknown = Report::default();
    for name in &args.what {
        if !explain(name, out)? {
            unknown.push(not_found(name));
        }
    }
    out.flush()?;
    if unknown.is_empty() { Ok(Status::Fine) } else { Err(unknown.into()) }
}

/// Explains whatever the name stands for; false where nothing has it.
fn explain(name: &str, out: &mut Out<'_>) -> io::Result<bool> {
    if let Some(code) = lookup(name) {
        code_info(code, out)?;
        return Ok(true);
    }
    let causes: Vec<&Cause> = causes(name);
    for cause in &causes {
        cause_info(cause, out)?;
    }
    let class = CLASSES.iter().find(|c| c.name.eq_ignore_ascii_case(name));
    if let Some(class) = class {
        class_info(class, out)?;
    }
    let field = rows::find_field(&name.to_ascii_lowercase()).map(|f| f.0);
    let field = field.or_else(|| named::labelled(name));
    if let Some(field) = field {
        field_info(field, out)?;
    }
    let command = COMMANDS.iter().find(|c| c.name == name || c.aliases.contains(&name));
    if let Some(command) = command {
        command_info(command, out)?;
    }
    let register = reg::register(name);
    if let Some(register) = register {
        register_info(register, out)?;
    }
    let term = term(name);
    if let Some(term) = term {
        term_info(term, out)?;
    }
    // A term tells more of a thing than the value that expressions have of it.
    let named = term.is_none() && command.is_none() && named::explain(name, out)?;
    let found = term.is_some()
        || named
        || class.is_some()
        || field.is_some()
        || command.is_some()
        || register.is_some();
    Ok(found || !causes.is_empty())
}

/// The causes of a name, with or without `M2S` or `S2M` in front.
fn causes(name: &str) -> Vec<&'static Cause> {
    let upper = name.to_ascii_uppercase().replace(['-', ' '], "_");
    let fits = |c: &&Cause| {
        upper == c.name || upper.strip_prefix(c.group()) == Some(&format!("_{}", c.name))
    };
    CAUSES.iter().filter(fits).collect()
}

fn code_info(c: &CodeInfo, out: &mut Out<'_>) -> io::Result<()> {
    if out.json() {
        return out.value(&json!({
            "code": c.code, "severity": c.severity.name(), "title": c.title,
            "meaning": c.meaning, "cause": c.cause, "example": c.example(), "fix": c.fix,
        }));
    }
    let title = out.styled(Style::Bold, &format!("{} ({}): {}", c.code, c.severity, c.title));
    out.line(&title)?;
    let example = c.example();
    let lines = [("means", c.meaning), ("arises", c.cause), ("example", example), ("fix", c.fix)];
    for (head, text) in lines {
        out.line(&format!("  {head:<7}  {text}"))?;
    }
    Ok(())
}

fn cause_info(c: &Cause, out: &mut Out<'_>) -> io::Result<()> {
    let group = c.group();
    if out.json() {
        return out.value(&json!({
            "fault": c.name, "group": group, "ring": c.dir.name(), "bit": c.bit,
            "meaning": c.meaning, "cause": c.arises, "fix": c.fix,
        }));
    }
    let title = out.styled(Style::Bold, &format!("{group} {} (fault, bit {})", c.name, c.bit));
    out.line(&title)?;
    out.line(&format!("  means   {}", c.meaning))?;
    out.line(&format!("  arises  {} (MODEL)", c.arises))?;
    let armed = if c.is_ring_id() {
        "aborts every v2 engine and engines 128 to 131 of v3 and v4; masked on the others"
    } else {
        "aborts the engine: its marker never flips, and the poll times out"
    };
    out.line(&format!("  effect  {armed} (MODEL)"))?;
    out.line(&format!("  fix     {}", c.fix))
}

/// A register of a queue or of an engine: where it is, what its bits say.
fn register_info(name: &str, out: &mut Out<'_>) -> io::Result<()> {
    let bits = |fields: &[reg::RegField]| -> Vec<serde_json::Value> {
        let one = |f: &reg::RegField| json!({ "name": f.name, "hi": f.hi, "lo": f.lo, "meaning": f.meaning });
        fields.iter().map(one).collect()
    };
    let queue = Dir::BOTH.iter().filter_map(|d| {
        let r = reg::queue_reg(*d, name)?;
        let of = format!("a {} queue", d.name());
        Some((of, r.offset, 1, r.guarded, r.meaning, r.fields))
    });
    let engine = reg::engine_reg(name)
        .map(|r| ("an engine".to_owned(), r.offset, r.count, false, r.meaning, r.fields));
    for (of, offset, count, guarded, meaning, fields) in queue.chain(engine) {
        if out.json() {
            out.value(&json!({
                "register": name, "of": of, "offset": rows::hex_string(offset.into(), 8),
                "count": count, "guarded": guarded, "meaning": meaning, "fields": bits(fields),
            }))?;
            continue;
        }
        let title = out.styled(Style::Bold, &format!("{name} (register of {of}, {offset:#x})"));
        out.line(&title)?;
        let many = if count > 1 { format!("; there are {count}") } else { String::new() };
        let guard = if guarded { "; user space may not write it" } else { "" };
        out.line(&format!("  means   {meaning}{many}{guard}"))?;
        for f in fields {
            let at = if f.hi == f.lo { f.hi.to_string() } else { format!("{}:{}", f.hi, f.lo) };
            out.line(&format!("  {at:>6}  {}: {}", f.name, f.meaning))?;
        }
    }
    Ok(())
}

fn class_info(c: &Class, out: &mut Out<'_>) -> io::Result<()> {
    if out.json() {
        return out.value(&json!({
            "class": c.name, "word": rows::hex_string(c.word.into(), 8), "meaning": c.meaning,
        }));
    }
    let title = out.styled(Style::Bold, &format!("{} (operation class)", c.name));
    out.line(&title)?;
    out.line(&format!("  means   {}", c.meaning))?;
    out.line(&format!("  word    {}", rows::hex_string(c.word.into(), 8)))
}

fn field_info(f: &Field, out: &mut Out<'_>) -> io::Result<()> {
    let bits = if f.width == 1 { f.lo.to_string() } else { format!("{}:{}", f.hi(), f.lo) };
    if out.json() {
        return out.value(&json!({
            "field": f.name, "word": f.word.name(), "bits": bits, "meaning": f.meaning,
        }));
    }
    let title = out.styled(Style::Bold, &format!("{} (field, {} {bits})", f.name, f.word.name()));
    out.line(&title)?;
    out.line(&format!("  means   {}", f.meaning))
}

fn command_info(c: &CommandSpec, out: &mut Out<'_>) -> io::Result<()> {
    if out.json() {
        return out.value(&json!({
            "command": c.name, "usage": c.usage, "summary": c.summary, "detail": c.detail,
        }));
    }
    let title = out.styled(Style::Bold, format!("{} {}", c.name, c.usage).trim_end());
    out.line(&title)?;
    out.line(&format!("  {}", c.summary))?;
    if c.detail.is_empty() { Ok(()) } else { out.line(&format!("  {}", c.detail)) }
}

fn term_info(t: &Term, out: &mut Out<'_>) -> io::Result<()> {
    if out.json() {
        return out.value(&json!({
            "term": t.name, "also": t.also, "kind": t.kind, "meaning": t.meaning,
            "page": format!("docs/{}", t.page),
        }));
    }
    out.line(&out.styled(Style::Bold, &t.heading()))?;
    out.line(&format!("  means   {}", t.meaning))?;
    out.line(&format!("  page    docs/{}", t.page))
}

fn not_found(name: &str) -> Diagnostic {
    let upper = name.to_ascii_uppercase();
    let known = codes::CODES.iter().map(|c| c.code).chain(CAUSES.iter().map(|c| c.name));
    let near = known.map(|k| (distance(&upper, k), k)).min().filter(|(d, _)| *d <= 2);
    let lower = name.to_ascii_lowercase();
    let term = TERMS.iter().map(|t| (distance(&lower, t.name), t.name)).min();
    // Of a short word almost every other one is two letters away.
    let term = term.filter(|(d, _)| *d * 3 <= lower.len());
    let near = near.into_iter().chain(term).min();
    let d = Diagnostic::new("S011", format!("nothing is called `{name}`"));
    match near {
        Some((_, k)) => d.help(format!("the nearest is {k}")),
        None => d.help("a code (D017), a fault (PREFETCH_LAST), a word (0x0d001000), a field, a class, a register, a command, a value of an expression (free), a profile or a term (docs/terms.md)"),
    }
}
