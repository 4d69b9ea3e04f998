//! Help from the table of commands: the list, one command in full, and the generated part of
//! `docs/commands.md`.

use super::expr::{MEMORY, REGISTER};
use crate::engine::command::{COMMANDS, CommandSpec, Group, find};
use crate::engine::expr::{
    BinOp, PROPERTIES, QUEUE_PROPERTIES, RING_PROPERTIES, SLOT_PROPERTIES, UnOp,
};
use std::fmt::Write as _;

/// Lines of `help`: every command by group, or one in full.
pub fn help(name: Option<&str>) -> Vec<String> {
    match name.map(find) {
        Some(Ok(spec)) => one(spec),
        _ => list(),
    }
}

/// A command's usage: its name and arguments.
pub fn synopsis(spec: &CommandSpec) -> String {
    format!("{} {}", spec.name, spec.usage).trim_end().to_owned()
}

/// The usage as a sentence of advice.
pub(super) fn usage(spec: &CommandSpec) -> String {
    format!("usage: {}", synopsis(spec))
}

/// The commands of a group, in the order of the table.
pub fn group(group: Group) -> impl Iterator<Item = &'static CommandSpec> {
    COMMANDS.iter().filter(move |c| c.group == group)
}

/// All commands by group, a line each.
pub fn list() -> Vec<String> {
    let name = |c: &CommandSpec| match c.aliases {
        [] => c.name.to_owned(),
        aliases => format!("{} ({})", c.name, aliases.join(", ")),
    };
    let width = COMMANDS.iter().map(|c| name(c).len()).max().unwrap_or(0);
    let mut out = Vec::new();
    for g in Group::ALL {
        if !out.is_empty() {
            out.push(String::new());
        }
        out.push(g.title().to_owned());
        out.extend(group(g).map(|c| format!("  {:width$}  {}", name(c), c.summary)));
    }
    out
}

/// One command in full.
pub fn one(spec: &CommandSpec) -> Vec<String> {
    let mut out = vec![synopsis(spec), format!("  {}", spec.summary)];
    if !spec.detail.is_empty() {
        out.push(format!("  {}", spec.detail));
    }
    if !spec.aliases.is_empty() {
        out.push(format!("  short: {}", spec.aliases.join(", ")));
    }
    out
}

/// The generated part of `docs/commands.md`: commands, operators and names.
pub fn markdown() -> String {
    let mut out = String::from("## Commands\n");
    for g in Group::ALL {
        let _ = write!(
            out,
            "\n### {}\n\n| command | short | what it does |\n|---|---|---|\n",
            g.title()
        );
        for c in group(g) {
            let detail = if c.detail.is_empty() { String::new() } else { format!(" {}", c.detail) };
            let short: Vec<String> = c.aliases.iter().map(|a| format!("`{a}`")).collect();
            let what = cell(&format!("{}.{detail}", capital(c.summary)));
            let _ = writeln!(out, "| `{}` | {} | {what} |", cell(&synopsis(c)), short.join(" "));
        }
    }
    out.push_str("\n## Operators\n\nTightest first; those of a row bind alike, to the left.\n\n");
    let unary = UnOp::ALL.map(|op| format!("`{}`", op.text()));
    let _ = writeln!(out, "* {} (in front of a value)", unary.join(" "));
    let mut levels: Vec<u8> = BinOp::TABLE.iter().map(|r| r.2).collect();
    levels.sort_unstable();
    levels.dedup();
    for level in levels.into_iter().rev() {
        let of = BinOp::TABLE.iter().filter(|r| r.2 == level);
        let texts: Vec<String> = of.map(|r| format!("`{}`", r.0)).collect();
        let _ = writeln!(out, "* {}", texts.join(" "));
    }
    out.push_str("\n## Names\n");
    let memory = MEMORY.map(|(name, _)| format!("`{name}[..]`")).join(", ");
    let _ = writeln!(out, "\nMemory, little-endian: {memory}.");
    let _ = writeln!(
        out,
        "\nRegisters: `q0.tx.NAME` by the names of `docs/registers.md`, `{REGISTER}[OFFSET]` and `q0.{REGISTER}[OFFSET]` by the offset in the engine's block, as a read would give them."
    );
    names(&mut out, "Plain names", PROPERTIES);
    names(
        &mut out,
        "Of a ring: `q0.tx.NAME`; `q0.NAME` and `NAME` are the Tx ring's",
        RING_PROPERTIES,
    );
    names(&mut out, "Of a queue: `q0.NAME`", QUEUE_PROPERTIES);
    names(
        &mut out,
        "Of a slot: `tx[3].NAME`, beside the words and fields of `docs/wire.md`",
        SLOT_PROPERTIES,
    );
    out
}

fn names(out: &mut String, title: &str, table: &[(&str, &str)]) {
    let _ = write!(out, "\n{title}:\n\n| name | value |\n|---|---|\n");
    for (name, what) in table {
        let _ = writeln!(out, "| `{name}` | {} |", cell(what));
    }
}

/// Text inside a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(c) => c.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_listed_once_and_explained() {
        let list = list();
        for c in COMMANDS {
            assert_eq!(list.iter().filter(|l| l.ends_with(c.summary)).count(), 1, "{}", c.name);
            assert!(one(c).len() >= 2);
            assert_eq!(help(Some(c.name)), one(c));
        }
        assert_eq!(help(None), list);
    }
}
