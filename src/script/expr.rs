//! Expressions: precedence climbing over tokens, names checked against the tables.

use super::lex::{Cursor, Kind, tokens};
use crate::diag::{Diagnostic, Place};
use crate::engine::command::distance;
use crate::engine::expr::{BinOp, Expr, QueueRef, UnOp};
use crate::engine::program::QueueId;
use crate::engine::session::{PROPERTIES, RING_PROPERTIES};
use crate::limits::MAX_EXPR_DEPTH;
use crate::udma::Dir;
use crate::udma::field::FIELDS;

/// Properties of a queue besides those of its rings.
const QUEUE_PROPERTIES: &[&str] = &["marker", "batches"];

/// Reads a whole text as one expression.
///
/// # Errors
/// S004 where it is no expression, S005 for a name that cannot stand for anything.
pub fn parse_expr(text: &str) -> Result<Expr, Diagnostic> {
    let list = tokens(text, 1)?;
    let mut c = Cursor::new(&list, text.chars().count() as u64 + 1);
    let e = expr(&mut c)?;
    if c.done() { Ok(e) } else { Err(c.error("S004", "the expression ends before this")) }
}

/// Reads the longest expression at the cursor.
pub(super) fn expr(c: &mut Cursor<'_>) -> Result<Expr, Diagnostic> {
    level(c, 0, 0)
}

fn level(c: &mut Cursor<'_>, least: u8, depth: usize) -> Result<Expr, Diagnostic> {
    let mut left = unary(c, depth)?;
    // Each turn nests the tree one level deeper on its left side.
    let mut turns = depth;
    while let Some(Kind::Sym(s)) = c.peek() {
        let Some(&(_, op, precedence)) = BinOp::TABLE.iter().find(|r| r.0 == *s) else { break };
        if precedence < least {
            break;
        }
        turns += 1;
        if turns > MAX_EXPR_DEPTH {
            return Err(c.error("S004", format!("nested deeper than {MAX_EXPR_DEPTH}")));
        }
        c.next();
        let right = level(c, precedence + 1, depth + 1)?;
        left = Expr::Binary(op, Box::new(left), Box::new(right));
    }
    Ok(left)
}

fn unary(c: &mut Cursor<'_>, depth: usize) -> Result<Expr, Diagnostic> {
    if depth > MAX_EXPR_DEPTH {
        return Err(c.error("S004", format!("nested deeper than {MAX_EXPR_DEPTH}")));
    }
    for op in [UnOp::Not, UnOp::BitNot, UnOp::Neg] {
        if c.sym(op.text()) {
            return Ok(Expr::Unary(op, Box::new(unary(c, depth + 1)?)));
        }
    }
    primary(c, depth)
}

fn primary(c: &mut Cursor<'_>, depth: usize) -> Result<Expr, Diagnostic> {
    match c.peek() {
        Some(Kind::Num(Some(n))) => {
            c.next();
            Ok(Expr::Num(*n))
        }
        Some(Kind::Num(None)) => Err(c.error("S004", "no number of 64 bits")),
        Some(Kind::Dollar(name)) => {
            c.next();
            Ok(Expr::Var(name.clone()))
        }
        Some(Kind::Sym("(")) => {
            c.next();
            let e = level(c, 0, depth + 1)?;
            if c.sym(")") { Ok(e) } else { Err(c.error("S004", "`)` is missing here")) }
        }
        Some(Kind::Ident(name)) => named(c, name, depth),
        Some(Kind::Sym(s)) => Err(c.error("S004", format!("a value is missing before `{s}`"))),
        Some(Kind::Str(_)) => Err(c.error("S004", "a text has no value")),
        None => Err(c.error("S004", "a value is missing here")),
    }
}

/// `[expr]`.
fn index(c: &mut Cursor<'_>, depth: usize) -> Result<Box<Expr>, Diagnostic> {
    if !c.sym("[") {
        return Err(c.error("S004", "`[` is missing here"));
    }
    let e = level(c, 0, depth + 1)?;
    if c.sym("]") { Ok(Box::new(e)) } else { Err(c.error("S004", "`]` is missing here")) }
}

/// The direction of a name.
pub(super) fn direction(name: &str) -> Option<Dir> {
    Dir::BOTH.into_iter().find(|d| d.name() == name)
}

/// The number behind a letter, as in `q3`.
fn numbered(name: &str, letter: char) -> Option<u32> {
    let digits = name.strip_prefix(letter)?;
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
        .then(|| digits.parse().ok())?
}

/// A queue reference, `q3` or `e5.q3`, if one is next.
pub(super) fn queue_ref(c: &mut Cursor<'_>) -> Option<QueueRef> {
    let Some(Kind::Ident(name)) = c.peek() else { return None };
    if let Some(q) = numbered(name, 'q') {
        c.next();
        return Some(QueueRef::Queue(q));
    }
    let engine = numbered(name, 'e')?;
    match (c.peek_at(1), c.peek_at(2)) {
        (Some(Kind::Sym(".")), Some(Kind::Ident(q))) => {
            let queue = numbered(q, 'q')?;
            c.next();
            c.next();
            c.next();
            Some(QueueRef::Exact(QueueId { engine, queue }))
        }
        _ => None,
    }
}

fn named(c: &mut Cursor<'_>, name: &str, depth: usize) -> Result<Expr, Diagnostic> {
    if let Some(bits) = name.strip_prefix("mem") {
        let width = match bits {
            "8" => 1,
            "16" => 2,
            "32" => 4,
            "64" => 8,
            _ => 0,
        };
        if width > 0 {
            c.next();
            return Ok(Expr::Mem { width, addr: index(c, depth)? });
        }
    }
    let queue = queue_ref(c);
    if queue.is_some() && !c.sym(".") {
        return Err(c.error("S004", "a queue has no value: name a property, such as `.free`"));
    }
    let explicit = queue.is_some();
    let queue = queue.unwrap_or_default();
    let Some(Kind::Ident(name)) = c.peek() else {
        return Err(c.error("S004", "a name is missing after `.`"));
    };
    let place = c.place();
    c.next();
    if let Some(dir) = direction(name) {
        if matches!(c.peek(), Some(Kind::Sym("["))) {
            let index = index(c, depth)?;
            return Ok(Expr::Slot { queue, dir, index, path: slot_path(c)? });
        }
        if !c.sym(".") {
            return Err(
                c.error("S004", format!("`{name}` needs a slot, as in {name}[3], or a property"))
            );
        }
        let place = c.place();
        let Some(Kind::Ident(property)) = c.peek() else {
            return Err(c.error("S004", "a name is missing after `.`"));
        };
        c.next();
        known(property, &place, RING_PROPERTIES.iter().map(|p| p.0))?;
        return Ok(Expr::Queue { queue, path: vec![name.clone(), property.clone()] });
    }
    let ring = RING_PROPERTIES.iter().map(|p| p.0);
    if explicit {
        known(name, &place, ring.chain(QUEUE_PROPERTIES.iter().copied()))?;
        return Ok(Expr::Queue { queue, path: vec![name.clone()] });
    }
    if PROPERTIES.iter().any(|p| p.0 == name) {
        return Ok(Expr::Name(name.clone()));
    }
    known(name, &place, ring.chain(PROPERTIES.iter().map(|p| p.0)))?;
    Ok(Expr::Queue { queue, path: vec![name.clone()] })
}

/// Names of the things that a slot has.
pub(super) fn slot_names() -> impl Iterator<Item = &'static str> {
    let words = FIELDS.iter().map(|f| f.word.name());
    words.chain(FIELDS.iter().map(|f| f.name)).chain(["addr", "life"])
}

fn slot_path(c: &mut Cursor<'_>) -> Result<Vec<String>, Diagnostic> {
    let mut path = Vec::new();
    while c.sym(".") {
        let place = c.place();
        let Some(Kind::Ident(name)) = c.peek() else {
            return Err(c.error("S004", "a field's name is missing after `.`"));
        };
        c.next();
        known(name, &place, slot_names())?;
        path.push(name.clone());
    }
    if path.is_empty() {
        return Err(
            c.error("S004", "a slot has no value: name a word or a field, such as `.len_ctrl`")
        );
    }
    Ok(path)
}

/// Refuses a name that is none of these, naming the nearest.
fn known(
    name: &str,
    place: &Place,
    names: impl Iterator<Item = &'static str>,
) -> Result<(), Diagnostic> {
    let mut near: Vec<(usize, &str)> = Vec::new();
    for n in names {
        if n == name {
            return Ok(());
        }
        near.push((distance(name, n), n));
    }
    near.sort_unstable();
    near.dedup();
    let close: Vec<&str> = near.iter().filter(|n| n.0 <= 2).map(|n| n.1).take(3).collect();
    let help = match close.as_slice() {
        [] => format!("known: {}", near.iter().map(|n| n.1).collect::<Vec<_>>().join(", ")),
        close => format!("did you mean {}?", close.join(" or ")),
    };
    let why = format!("`{name}` stands for nothing");
    Err(Diagnostic::new("S005", why).at(place.clone()).help(help))
}
