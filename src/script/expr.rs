//! Expressions from text, by precedence climbing over [`BinOp::TABLE`] (`docs/commands.md`,
//! "Expressions").
//!
//! Two bounds keep the stack: how deeply brackets and unary operators nest, and how high the
//! tree becomes, which a chain `1 + 1 + ..` makes grow without nesting. Both are
//! [`MAX_EXPR_DEPTH`]. Names that can never have a value are refused here, with the nearest
//! ones that have; whether a queue, a slot or what a name is of exists is the session's to say.

use super::lex::{Fault, Res, fault_of, is_name, name, number, quoted, shown, skip, stop};
use crate::diag::Diagnostic;
use crate::engine::command::nearest;
use crate::engine::expr::{
    BinOp, Expr, INDEX, PROPERTIES, QUEUE_PROPERTIES, QueueRef, RING_PROPERTIES, SLOT_PROPERTIES,
    UnOp, is_bare_place,
};
use crate::engine::program::QueueId;
use crate::limits::MAX_EXPR_DEPTH;
use crate::udma::field::FIELDS;
use crate::udma::reg::QUEUE_REGS;
use crate::udma::{Dir, View, Word};
use nom::Parser;
use nom::character::complete::{char, digit1, satisfy};
use nom::combinator::{not, opt, peek};
use nom::sequence::{delimited, preceded, terminated};

/// Reads a whole text as an expression.
///
/// # Errors
/// S004 or S005 with column and width.
pub fn parse_expr(text: &str) -> Result<Expr, Diagnostic> {
    let fault = match expr(text) {
        Ok((rest, e)) => match leftover(rest) {
            None => return Ok(e),
            Some(fault) => fault,
        },
        Err(e) => fault_of(e, text),
    };
    Err(fault.diagnostic(text))
}

/// What is wrong with text that follows an expression and should not.
pub(super) fn leftover(rest: &str) -> Option<Fault> {
    let rest = skip(rest);
    if rest.is_empty() {
        return None;
    }
    let fault = Fault::new("S004", rest, format!("{} does not go on the expression", shown(rest)));
    Some(match rest.split(|c: char| !is_name(c)).next() {
        _ if rest.starts_with('=') => fault.help("values are compared with `==`"),
        Some("and") => fault.help("write `&&`"),
        Some("or") => fault.help("write `||`"),
        Some("not") => fault.help("write `!`"),
        _ => fault,
    })
}

/// An expression at the start of `input`; what follows it is left.
pub(super) fn expr(input: &str) -> Res<'_, Expr> {
    binary(input, Depth::default(), 0).map(|(rest, tree)| (rest, tree.expr))
}

/// An expression in which bare names are words and fields of a slot.
pub(super) fn slot_expr(input: &str) -> Res<'_, Expr> {
    let depth = Depth { here: true, ..Depth::default() };
    binary(input, depth, 0).map(|(rest, tree)| (rest, tree.expr))
}

/// How deep a part lies.
#[derive(Debug, Clone, Copy, Default)]
struct Depth {
    /// Bare names are those of a slot.
    here: bool,
    /// Operators and brackets of memory or slots above it.
    tree: usize,
    /// Brackets and unary operators around it.
    nest: usize,
}

impl Depth {
    /// One bracket further in.
    fn bracket(self, at: &str) -> Result<Depth, nom::Err<Fault>> {
        bounded(self.nest + 1, at)?;
        Ok(Depth { nest: self.nest + 1, ..self })
    }

    /// The right operand of an operator.
    fn operand(self, at: &str) -> Result<Depth, nom::Err<Fault>> {
        bounded(self.tree + 1, at)?;
        Ok(Depth { tree: self.tree + 1, ..self })
    }
}

fn bounded(depth: usize, at: &str) -> Result<(), nom::Err<Fault>> {
    if depth <= MAX_EXPR_DEPTH {
        return Ok(());
    }
    let text = format!("the expression is nested deeper than {MAX_EXPR_DEPTH}");
    stop(Fault::new("S004", at, text).help("split it with `set $name = ..`"))
}

/// An expression and how many levels it has below its root.
struct Tree {
    expr: Expr,
    height: usize,
}

impl Tree {
    fn leaf(expr: Expr) -> Tree {
        Tree { expr, height: 0 }
    }
}

/// Operands joined by operators that bind at least as tightly as `min`.
fn binary<'a>(input: &'a str, depth: Depth, min: u8) -> Res<'a, Tree> {
    let (mut rest, mut left) = unary(input, depth)?;
    loop {
        let at = skip(rest);
        let found = BinOp::TABLE.iter().find(|(text, ..)| at.starts_with(text));
        let Some(&(text, op, level)) = found.filter(|r| r.2 >= min) else {
            return Ok((rest, left));
        };
        let after = at.get(text.len()..).unwrap_or_default();
        let (next, right) = binary(after, depth.operand(at)?, level + 1)?;
        let height = left.height.max(right.height) + 1;
        bounded(height, at)?;
        left = Tree { expr: Expr::Binary(op, Box::new(left.expr), Box::new(right.expr)), height };
        rest = next;
    }
}

fn unary(input: &str, depth: Depth) -> Res<'_, Tree> {
    let at = skip(input);
    let Some(op) = UnOp::ALL.into_iter().find(|op| at.starts_with(op.text())) else {
        return primary(at, depth);
    };
    let after = at.get(op.text().len()..).unwrap_or_default();
    let (rest, operand) = unary(after, depth.bracket(at)?.operand(at)?)?;
    let height = operand.height + 1;
    bounded(height, at)?;
    Ok((rest, Tree { expr: Expr::Unary(op, Box::new(operand.expr)), height }))
}

fn primary(input: &str, depth: Depth) -> Res<'_, Tree> {
    match input.chars().next() {
        Some(c) if c.is_ascii_digit() => {
            number(input).map(|(rest, n)| (rest, Tree::leaf(Expr::Num(n))))
        }
        Some('$') => variable(input).map(|(rest, v)| (rest, Tree::leaf(Expr::Var(v)))),
        Some('"') => quoted(input).map(|(rest, n)| (rest, Tree::leaf(Expr::Place(n)))),
        Some('(') => enclosed(input, depth.bracket(input)?, ('(', ')')),
        Some(c) if is_name(c) => named(input, depth),
        Some(_) => {
            let text = format!("a value should stand here, not {}", shown(input));
            stop(Fault::new("S004", input, text))
        }
        None => stop(Fault::new("S004", input, "a value is missing")),
    }
}

/// `$name`.
pub(super) fn variable(input: &str) -> Res<'_, String> {
    let (after, _) = char('$').parse(input)?;
    match name(after) {
        Ok((rest, name)) => Ok((rest, name.to_owned())),
        Err(nom::Err::Error(_)) => {
            stop(Fault::new("S004", input, "a variable's name is missing after `$`"))
        }
        Err(e) => Err(e),
    }
}

/// An expression between brackets; `depth` is the one inside.
fn enclosed(input: &str, depth: Depth, (open, close): (char, char)) -> Res<'_, Tree> {
    let (after, _) = char(open).parse(input)?;
    let (rest, tree) = binary(after, depth, 0)?;
    let rest = skip(rest);
    match rest.strip_prefix(close) {
        Some(rest) => Ok((rest, tree)),
        None if rest.is_empty() => stop(Fault::new(
            "S004",
            input,
            format!("the bracket is not closed: `{close}` is missing"),
        )),
        None => {
            let text = format!("`{close}` should stand here, not {}", shown(rest));
            stop(Fault::new("S004", rest, text))
        }
    }
}

/// What begins with a name: memory, a slot, a queue, or a plain name.
fn named(input: &str, depth: Depth) -> Res<'_, Tree> {
    if let Ok((rest, queue)) = queue(input) {
        if let Some(at) = rest.strip_prefix('.').and_then(register) {
            return register_at(at, depth, queue);
        }
        let ring = opt(preceded(char('.'), terminated(dir, peek(char('['))))).parse(rest)?;
        return match ring {
            (rest, Some(dir)) => slot(rest, depth, queue, dir),
            (rest, None) => of_queue(rest, queue),
        };
    }
    let (rest, word) = name(input)?;
    if let Some(width) = memory_width(word) {
        if !rest.starts_with('[') {
            let text = format!("`{word}` needs an address in `[ ]`, not {}", shown(rest));
            return stop(Fault::new("S004", rest, text));
        }
        let (rest, tree) = index(rest, depth)?;
        let (height, addr) = (tree.height + 1, Box::new(tree.expr));
        return Ok((rest, Tree { expr: Expr::Mem { width, addr }, height }));
    }
    if let Some(at) = register(input) {
        return register_at(at, depth, QueueRef::Selected);
    }
    if let Ok((rest, dir)) = dir(input) {
        return match rest.starts_with('[') {
            true => slot(rest, depth, QueueRef::Selected, dir),
            false => {
                let (rest, path) = path(rest)?;
                let head = std::iter::once((input, dir.name())).chain(path);
                queue_path(rest, QueueRef::Selected, head.collect())
            }
        };
    }
    if depth.here
        && let Some(found) = here(input)?
    {
        return Ok(found);
    }
    let has = |table: &[(&str, &str)]| table.iter().any(|p| p.0 == word);
    let queue = QueueRef::Selected;
    match () {
        () if has(PROPERTIES) => Ok((rest, Tree::leaf(Expr::Name(word.to_owned())))),
        // A plain name of a queue's property means the selected queue's.
        () if has(RING_PROPERTIES) || has(QUEUE_PROPERTIES) => {
            Ok((rest, Tree::leaf(Expr::Queue { queue, path: vec![word.to_owned()] })))
        }
        // What is nearly a word of a slot is no name of the program.
        () if depth.here && word.len() > 3 && !nearest(word, here_names()).is_empty() => {
            let text = format!("{} stands for nothing", shown(input));
            stop(Fault::new("S005", input, text).near(word, here_names()))
        }
        // Whether the program has it is the session's to say.
        () if is_bare_place(word) => Ok((rest, Tree::leaf(Expr::Place(word.to_owned())))),
        () => {
            let fault = Fault::new("S005", input, format!("{} stands for nothing", shown(input)));
            stop(match word.strip_prefix(['e', 'q']) {
                Some(n) if !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()) => {
                    fault.help("a queue is written `q0`, or `e5.q0` with its engine")
                }
                _ => fault.near(word, plain_names().iter().map(String::as_str)),
            })
        }
    }
}

/// The word in front of the offset of a register.
pub(super) const REGISTER: &str = "reg";

/// What follows the word for a register, where its bracket opens.
fn register(input: &str) -> Option<&str> {
    input.strip_prefix(REGISTER).filter(|rest| rest.starts_with('['))
}

/// A register of a queue's engine; `input` begins with its bracket.
fn register_at(input: &str, depth: Depth, queue: QueueRef) -> Res<'_, Tree> {
    let (rest, tree) = index(input, depth)?;
    let (height, offset) = (tree.height + 1, Box::new(tree.expr));
    Ok((rest, Tree { expr: Expr::Reg { queue, offset }, height }))
}

/// A word or field of the slot that is asked about, if the name is one of either ring.
fn here(input: &str) -> Result<Option<(&str, Tree)>, nom::Err<Fault>> {
    let (rest, word) = name(input)?;
    let known = |first: Option<&str>, name: &str| {
        Dir::BOTH.into_iter().any(|d| slot_names(d, first).contains(&name))
    };
    if word == INDEX {
        return Ok(Some((rest, Tree::leaf(Expr::Here(vec![word.to_owned()])))));
    }
    if !known(None, word) {
        return Ok(None);
    }
    let (rest, path) = path(rest)?;
    let mut names = vec![word.to_owned()];
    for (at, part) in path {
        if names.len() > 1 || !known(Some(word), part) {
            let text = format!("`{word}` has no `{part}`");
            let all = Dir::BOTH.into_iter().flat_map(|d| slot_names(d, Some(word)));
            return stop(Fault::new("S005", at, text).near(part, all));
        }
        names.push(part.to_owned());
    }
    Ok(Some((rest, Tree::leaf(Expr::Here(names)))))
}

/// Every bare name of a slot, of both rings.
pub(super) fn here_names() -> Vec<&'static str> {
    let mut out: Vec<&str> = Dir::BOTH.into_iter().flat_map(|d| slot_names(d, None)).collect();
    out.push(INDEX);
    out.sort_unstable();
    out.dedup();
    out
}

/// The width of `mem8` and its kin, in bytes.
fn memory_width(word: &str) -> Option<u8> {
    MEMORY.iter().find(|m| m.0 == word).map(|m| m.1)
}

/// The names of memory by width, and the width in bytes.
pub(super) const MEMORY: [(&str, u8); 4] = [("mem8", 1), ("mem16", 2), ("mem32", 4), ("mem64", 8)];

/// Every word that an expression may begin with, queues and variables aside.
pub(super) fn plain_names() -> Vec<String> {
    let tables = [PROPERTIES, RING_PROPERTIES, QUEUE_PROPERTIES];
    let mut names: Vec<String> = tables.into_iter().flatten().map(|p| p.0.to_owned()).collect();
    names.extend(Dir::BOTH.map(|d| d.name().to_owned()));
    names.extend(MEMORY.map(|m| m.0.to_owned()));
    names.push(REGISTER.to_owned());
    names
}

/// `[ expr ]`, one level down.
fn index(input: &str, depth: Depth) -> Res<'_, Tree> {
    let inside = depth.bracket(input)?.operand(input)?;
    let (rest, tree) = enclosed(input, inside, ('[', ']'))?;
    bounded(tree.height + 1, input)?;
    Ok((rest, tree))
}

/// A ring's direction.
pub(super) fn dir(input: &str) -> Res<'_, Dir> {
    let (rest, word) = name(input)?;
    match Dir::BOTH.into_iter().find(|d| d.name() == word) {
        Some(dir) => Ok((rest, dir)),
        None => Err(nom::Err::Error(Fault::new("S005", input, "no ring"))),
    }
}

/// `q3` or `e5.q3`.
pub(super) fn queue(input: &str) -> Res<'_, QueueRef> {
    let engine = opt(delimited(char('e'), small, char('.')));
    let queue = delimited(char('q'), small, not(satisfy(is_name)));
    let (rest, (engine, queue)) = (engine, queue).parse(input)?;
    let queue = match engine {
        Some(engine) => QueueRef::Exact(QueueId { engine, queue }),
        None => QueueRef::Queue(queue),
    };
    Ok((rest, queue))
}

/// The decimal number of an engine or queue.
fn small(input: &str) -> Res<'_, u32> {
    let (rest, digits) = digit1(input)?;
    match digits.parse() {
        Ok(n) => Ok((rest, n)),
        Err(_) => Err(nom::Err::Error(Fault::new("S005", input, "the number is too large"))),
    }
}

/// Names after a queue or slot, each with the input that begins there.
type Path<'a> = Vec<(&'a str, &'a str)>;

/// `.name` as often as it comes.
fn path(input: &str) -> Res<'_, Path<'_>> {
    /// More than any path has: what is beyond is reported, not collected.
    const LONGEST: usize = 4;
    let (mut rest, mut out) = (input, Path::new());
    while out.len() < LONGEST
        && let Some(at) = rest.strip_prefix('.')
    {
        let Ok((next, name)) = name(at) else {
            let text = format!("a name should stand after `.`, not {}", shown(at));
            return stop(Fault::new("S004", at, text));
        };
        out.push((at, name));
        rest = next;
    }
    Ok((rest, out))
}

fn names(path: Path<'_>) -> Vec<String> {
    path.into_iter().map(|p| p.1.to_owned()).collect()
}

/// A queue's property.
fn of_queue(input: &str, queue: QueueRef) -> Res<'_, Tree> {
    let (rest, path) = path(input)?;
    queue_path(rest, queue, path)
}

fn queue_path<'a>(rest: &'a str, queue: QueueRef, path: Path<'a>) -> Res<'a, Tree> {
    let ring = path.first().and_then(|p| Dir::BOTH.into_iter().find(|d| d.name() == p.1));
    let skipped = usize::from(ring.is_some());
    for (i, &(at, word)) in path.iter().enumerate().skip(skipped) {
        if i > skipped {
            return stop(too_deep(at));
        }
        let known = queue_names(ring);
        if !known.contains(&word) {
            let what = if ring.is_some() { "ring" } else { "queue" };
            let text = format!("a {what} has no {}", shown(at));
            return stop(Fault::new("S005", at, text).near(word, known));
        }
    }
    Ok((rest, Tree::leaf(Expr::Queue { queue, path: names(path) })))
}

/// The names that may follow a queue, or a ring of one: its registers too.
pub(super) fn queue_names(ring: Option<Dir>) -> Vec<&'static str> {
    let of_ring = RING_PROPERTIES.iter().map(|p| p.0);
    if let Some(dir) = ring {
        let regs = QUEUE_REGS.iter().filter(|r| r.has(dir)).map(|r| r.name);
        return of_ring.chain(regs).collect();
    }
    let own = QUEUE_PROPERTIES.iter().map(|p| p.0);
    of_ring.chain(own).chain(Dir::BOTH.map(Dir::name)).collect()
}

fn too_deep(at: &str) -> Fault {
    Fault::new("S005", at, format!("nothing can follow here, not even {}", shown(at)))
}

/// A slot and the names after it; `input` begins with its bracket.
fn slot(input: &str, depth: Depth, queue: QueueRef, dir: Dir) -> Res<'_, Tree> {
    let (rest, tree) = index(input, depth)?;
    let (rest, path) = path(rest)?;
    let mut word = None;
    for (i, &(at, name)) in path.iter().enumerate() {
        if i > 0 && word.is_none() || i > 1 {
            return stop(too_deep(at));
        }
        let known = slot_names(dir, word);
        if !known.contains(&name) {
            let what = match word {
                Some(w) => format!("`{w}` of a {dir} slot"),
                None => format!("a {dir} slot"),
            };
            let text = format!("{what} has no {}", shown(at));
            return stop(Fault::new("S005", at, text).near(name, known));
        }
        word = words(dir).find(|w| *w == name);
    }
    let height = tree.height + 1;
    let index = Box::new(tree.expr);
    Ok((rest, Tree { expr: Expr::Slot { queue, dir, index, path: names(path) }, height }))
}

/// How a slot of a ring may be read.
fn views(dir: Dir) -> &'static [View] {
    match dir {
        Dir::Tx => &[View::Tx, View::Meta],
        Dir::Rx => &[View::Rx],
    }
}

fn words(dir: Dir) -> impl Iterator<Item = &'static str> {
    views(dir).iter().flat_map(|v| Word::of(*v)).map(|w| w.name())
}

/// The names that may follow a slot of a ring, or a word of one.
pub(super) fn slot_names(dir: Dir, word: Option<&str>) -> Vec<&'static str> {
    let fits = |f: &&crate::udma::Field| {
        views(dir).iter().any(|v| f.views.has(*v)) && word.is_none_or(|w| f.word.name() == w)
    };
    let mut names: Vec<&str> = FIELDS.iter().filter(fits).map(|f| f.name).collect();
    if word.is_none() {
        names.extend(words(dir));
        names.extend(SLOT_PROPERTIES.iter().map(|p| p.0));
    }
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
