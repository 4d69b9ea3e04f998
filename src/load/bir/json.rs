//! JSON text out: strings, a value on one line, and a tree with as many lines as it needs.

use super::tape::{Json, Kind};
use super::write;
use crate::bir::{Inst, Name, Value};
use crate::diag::render::{is_unsafe, push_json_escape};
use std::fmt::Write as _;

/// Longest value that is written on one line although it could take several.
const INLINE: usize = 120;

/// A string in quotes; everything that is not ASCII stands as it is but for what is not seen.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (at, c) in text.char_indices() {
        let odd = is_unsafe(c) || matches!(c, '"' | '\\');
        if !odd {
            continue;
        }
        out.push_str(text.get(plain..at).unwrap_or_default());
        plain = at + c.len_utf8();
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => push_json_escape(out, c),
        }
    }
    out.push_str(text.get(plain..).unwrap_or_default());
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

/// A tree that is written: names and kept values are borrowed from where they are.
pub enum Tree<'m> {
    /// A number, as it will be spelled.
    Num(String),
    /// A whole number.
    Int(i128),
    /// `true`, `false`.
    Flag(bool),
    /// A string.
    Text(&'m str),
    /// An array.
    Arr(Vec<Tree<'m>>),
    /// An object.
    Obj(Vec<(&'m str, Tree<'m>)>),
    /// A value that was kept.
    Kept(&'m Value),
    /// An instruction, made when it is written: many of them are never there together.
    Inst(&'m Inst),
}

impl<'m> Tree<'m> {
    /// One level of a kept value; all else as it is.
    pub fn opened(&self) -> Opened<'_, 'm> {
        match self {
            Tree::Kept(Value::Arr(items)) => Opened::Kept(items),
            Tree::Kept(Value::Obj(members)) => Opened::KeptObj(members),
            Tree::Arr(items) => Opened::Arr(items),
            Tree::Obj(members) => Opened::Obj(members),
            other => Opened::Leaf(other),
        }
    }
}

/// One level of a tree.
pub enum Opened<'a, 'm> {
    /// No array and no object.
    Leaf(&'a Tree<'m>),
    /// An array.
    Arr(&'a [Tree<'m>]),
    /// An object.
    Obj(&'a [(&'m str, Tree<'m>)]),
    /// An array that was kept.
    Kept(&'m [Value]),
    /// An object that was kept.
    KeptObj(&'m [(Name, Value)]),
}

/// A tree as text, a line for whatever is too long for one.
pub fn pretty(v: &Tree<'_>) -> String {
    let mut out = String::new();
    tree(v, 0, &mut out);
    out.push('\n');
    out
}

fn tree(v: &Tree<'_>, depth: usize, out: &mut String) {
    if let Tree::Inst(i) = v {
        return tree(&write::inst(i), depth, out);
    }
    let from = out.len();
    if flat(v, from + INLINE, out) {
        return;
    }
    out.truncate(from);
    let mut inside = Lines { out, depth: depth + 1, first: true };
    match v.opened() {
        Opened::Leaf(_) => {
            flat(v, usize::MAX, out);
            return;
        }
        Opened::Arr(items) => {
            inside.out.push('[');
            items.iter().for_each(|v| inside.line(None, v));
        }
        Opened::Kept(items) => {
            inside.out.push('[');
            items.iter().for_each(|v| inside.line(None, &Tree::Kept(v)));
        }
        Opened::Obj(members) => {
            inside.out.push('{');
            members.iter().for_each(|(k, v)| inside.line(Some(k), v));
        }
        Opened::KeptObj(members) => {
            inside.out.push('{');
            members.iter().for_each(|(k, v)| inside.line(Some(k), &Tree::Kept(v)));
        }
    }
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', depth));
    let array = matches!(v.opened(), Opened::Arr(_) | Opened::Kept(_));
    out.push(if array { ']' } else { '}' });
}

struct Lines<'o> {
    out: &'o mut String,
    depth: usize,
    first: bool,
}

impl Lines<'_> {
    fn line(&mut self, key: Option<&str>, v: &Tree<'_>) {
        self.out.push_str(if self.first { "\n" } else { ",\n" });
        self.first = false;
        self.out.extend(std::iter::repeat_n(' ', self.depth));
        if let Some(key) = key {
            quote(key, self.out);
            self.out.push_str(": ");
        }
        tree(v, self.depth, self.out);
    }
}

/// A tree on one line.
pub fn line(v: &Tree<'_>) -> String {
    let mut out = String::new();
    push_line(v, &mut out);
    out
}

/// As [`line`], behind what is there.
pub fn push_line(v: &Tree<'_>, out: &mut String) {
    flat(v, usize::MAX, out);
}

/// Writes a value on one line; gives up, with something written, where `out` would become
/// longer than `most`.
fn flat(v: &Tree<'_>, most: usize, out: &mut String) -> bool {
    if let Tree::Inst(i) = v {
        return flat(&write::inst(i), most, out);
    }
    let comma = |n: usize| if n > 0 { ", " } else { "" };
    let member = |n: usize, key: &str, v: &Tree<'_>, out: &mut String| {
        out.push_str(comma(n));
        quote(key, out);
        out.push_str(": ");
        flat(v, most, out)
    };
    let item = |n: usize, v: &Tree<'_>, out: &mut String| {
        out.push_str(comma(n));
        flat(v, most, out)
    };
    let whole = match v.opened() {
        Opened::Arr(items) => {
            out.push('[');
            let whole = items.iter().enumerate().all(|(n, v)| item(n, v, out));
            out.push(']');
            whole
        }
        Opened::Kept(items) => {
            out.push('[');
            let whole = items.iter().enumerate().all(|(n, v)| item(n, &Tree::Kept(v), out));
            out.push(']');
            whole
        }
        Opened::Obj(members) => {
            out.push('{');
            let whole = members.iter().enumerate().all(|(n, (k, v))| member(n, k, v, out));
            out.push('}');
            whole
        }
        Opened::KeptObj(members) => {
            out.push('{');
            let mut all = members.iter().enumerate();
            let whole = all.all(|(n, (k, v))| member(n, k, &Tree::Kept(v), out));
            out.push('}');
            whole
        }
        Opened::Leaf(leaf) => {
            match leaf {
                Tree::Num(n) => out.push_str(n),
                Tree::Int(n) => {
                    let _ = write!(out, "{n}");
                }
                Tree::Flag(b) | Tree::Kept(Value::Bool(b)) => {
                    out.push_str(if *b { "true" } else { "false" });
                }
                Tree::Text(s) => quote(s, out),
                Tree::Kept(Value::Num(n)) => out.push_str(n),
                Tree::Kept(Value::Str(s)) => quote(s, out),
                _ => out.push_str("null"),
            }
            true
        }
    };
    whole && out.len() <= most
}
