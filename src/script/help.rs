//! Help, made from the command table: on the screen, in the manual, in `docs/commands.md`.

use crate::engine::command::{COMMANDS, CommandSpec, Group, find};
use crate::engine::session::{PROPERTIES, RING_PROPERTIES};
use std::fmt::Write as _;

/// Lines of `help`: every command by group, or one in full.
pub fn help(name: Option<&str>) -> Vec<String> {
    match name.map(find) {
        Some(Ok(spec)) => one(spec),
        _ => all(),
    }
}

fn head(c: &CommandSpec) -> String {
    format!("{} {}", c.name, c.usage).trim_end().to_owned()
}

fn one(c: &CommandSpec) -> Vec<String> {
    let mut lines = vec![head(c), format!("  {}", c.summary)];
    if !c.aliases.is_empty() {
        lines.push(format!("  short: {}", c.aliases.join(", ")));
    }
    if !c.detail.is_empty() {
        lines.push(format!("  {}", c.detail));
    }
    lines
}

fn all() -> Vec<String> {
    let mut lines = Vec::new();
    for group in Group::ALL {
        lines.push(group.title().to_owned());
        for c in COMMANDS.iter().filter(|c| c.group == group) {
            lines.push(format!("  {:<18} {}", c.name, c.summary));
        }
    }
    lines
}

/// The generated part of `docs/commands.md`.
pub fn markdown() -> String {
    let mut out = String::new();
    for group in Group::ALL {
        let _ = writeln!(
            out,
            "### {}\n\n| command | short | what it does |\n|---|---|---|",
            group.title()
        );
        for c in COMMANDS.iter().filter(|c| c.group == group) {
            let short = c.aliases.iter().map(|a| format!("`{a}`")).collect::<Vec<_>>().join(", ");
            let text = format!("{}. {}", c.summary, c.detail);
            let _ = writeln!(
                out,
                "| `{}` | {short} | {} |",
                head(c).replace('|', "\\|"),
                text.trim_end().replace('|', "\\|")
            );
        }
        out.push('\n');
    }
    for (title, table) in
        [("Names", PROPERTIES), ("Properties of a queue or ring", RING_PROPERTIES)]
    {
        let _ = writeln!(out, "### {title}\n\n| name | value |\n|---|---|");
        for (name, what) in table {
            let _ = writeln!(out, "| `{name}` | {what} |");
        }
        out.push('\n');
    }
    out
}
