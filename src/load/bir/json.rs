//! JSON text out: strings, a value on one line, and a tree with as many lines as it needs.

use super::tape::{Json, Kind};
use crate::bir::Value;
use std::fmt::Write as _;

/// Longest value that is written on one line although it could take several.
const INLINE: usize = 120;

/// A string in quotes; everything that is not printable ASCII stands as it is but for control
/// characters.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A value of a tape on one line, with a space after `,` and `:`.
pub fn inline(v: Json<'_>, out: &mut String) {
    match v.kind() {
        Kind::Obj => {
            out.push('{');
            for (n, (key, v)) in v.members().enumerate() {
                out.push_str(if n > 0 { ", " } else { "" });
                quote(&key.as_str().unwrap_or_default(), out);
                out.push_str(": ");
                inline(v, out);
            }
            out.push('}');
        }
        Kind::Arr => {
            out.push('[');
            for (n, v) in v.elements().enumerate() {
                out.push_str(if n > 0 { ", " } else { "" });
                inline(v, out);
            }
            out.push(']');
        }
        Kind::Str | Kind::Escaped => quote(&v.as_str().unwrap_or_default(), out),
        _ => out.push_str(v.raw()),
    }
}

/// A tree as text, a line for whatever is too long for one.
pub fn pretty(v: &Value) -> String {
    let mut out = String::new();
    tree(v, 0, &mut out);
    out.push('\n');
    out
}

fn tree(v: &Value, depth: usize, out: &mut String) {
    if width(v, INLINE).is_some() {
        return flat(v, out);
    }
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', depth));
    };
    match v {
        Value::Arr(items) => {
            out.push('[');
            for (n, v) in items.iter().enumerate() {
                out.push_str(if n > 0 { "," } else { "" });
                line(out, depth + 1);
                tree(v, depth + 1, out);
            }
            line(out, depth);
            out.push(']');
        }
        Value::Obj(members) => {
            out.push('{');
            for (n, (key, v)) in members.iter().enumerate() {
                out.push_str(if n > 0 { "," } else { "" });
                line(out, depth + 1);
                quote(key, out);
                out.push_str(": ");
                tree(v, depth + 1, out);
            }
            line(out, depth);
            out.push('}');
        }
        _ => flat(v, out),
    }
}

/// A value on one line.
pub fn flat(v: &Value, out: &mut String) {
    match v {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Num(n) => out.push_str(n),
        Value::Str(s) => quote(s, out),
        Value::Arr(items) => {
            out.push('[');
            for (n, v) in items.iter().enumerate() {
                out.push_str(if n > 0 { ", " } else { "" });
                flat(v, out);
            }
            out.push(']');
        }
        Value::Obj(members) => {
            out.push('{');
            for (n, (key, v)) in members.iter().enumerate() {
                out.push_str(if n > 0 { ", " } else { "" });
                quote(key, out);
                out.push_str(": ");
                flat(v, out);
            }
            out.push('}');
        }
    }
}

/// What is left of `budget` after writing it on one line.
fn width(v: &Value, budget: usize) -> Option<usize> {
    match v {
        Value::Null | Value::Bool(_) => budget.checked_sub(5),
        Value::Num(n) => budget.checked_sub(n.len()),
        Value::Str(s) => budget.checked_sub(s.len() + 2),
        Value::Arr(items) => {
            items.iter().try_fold(budget.checked_sub(2)?, |b, v| width(v, b.checked_sub(2)?))
        }
        Value::Obj(members) => members
            .iter()
            .try_fold(budget.checked_sub(2)?, |b, (k, v)| width(v, b.checked_sub(k.len() + 6)?)),
    }
}
