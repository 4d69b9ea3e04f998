//! A question about slots, put to a block of them at once.
//!
//! What an expression says of a slot follows, for most that are asked, from the slot's sixteen
//! bytes and its number. Such a question is put together once ([`SlotQuestion::of`]) and answered
//! for [`BLOCK`] slots at a time, operation by operation. It has no answer where one slot of the
//! block may have an error in place of a value, or is seen otherwise (META between data): there
//! the plain twin, [`eval_at`](super::eval_at), is asked slot by slot. Tests compare them.

use super::eval::{SlotPart, binary, eval_at, part_of};
use super::sieve::Sieve;
use super::{EvalError, Session};
use crate::engine::expr::{BinOp, Expr, INDEX, UnOp};
use crate::engine::program::{QueueId, RingDecl};
use crate::limits::MAX_EXPR_DEPTH;
use crate::udma::desc::META;
use crate::udma::field::Word;
use crate::udma::{DESC_BYTES, Dir, View};

/// Slots that are asked at once.
pub(super) const BLOCK: usize = 256;

type Lanes = [u64; BLOCK];

/// What the words of a block of slots are.
pub(super) struct Block {
    /// Number of the first slot.
    first: u64,
    /// Slots.
    len: usize,
    /// Words 0 and 1.
    low: Lanes,
    /// The address, or words 2 and 3.
    ptr: Lanes,
    /// How many slots are not zero.
    pub(super) used: u64,
    /// Whether a slot has the bit of META, which Tx alone knows.
    meta: bool,
}

impl Block {
    pub(super) fn new() -> Block {
        let (low, ptr) = ([0; BLOCK], [0; BLOCK]);
        Block { first: 0, len: 0, low, ptr, used: 0, meta: false }
    }

    /// Takes the slots of these bytes, the first of them slot `first`.
    pub(super) fn take(&mut self, first: u64, bytes: &[u8]) {
        let slots = bytes.as_chunks::<DESC_BYTES>().0;
        (self.first, self.len) = (first, slots.len().min(BLOCK));
        let (mut empty, mut any) = (0u64, 0);
        let lanes = self.low.iter_mut().zip(&mut self.ptr);
        for (slot, (low, ptr)) in slots.iter().zip(lanes) {
            let both = u128::from_le_bytes(*slot);
            (*low, *ptr) = (both as u64, (both >> 64) as u64);
            empty += u64::from(both == 0);
            any |= both as u32;
        }
        self.used = self.len as u64 - empty;
        self.meta = any & META != 0;
    }

    fn is_used(&self, i: usize) -> bool {
        self.low.get(i).is_some_and(|w| *w != 0) || self.ptr.get(i).is_some_and(|w| *w != 0)
    }
}

/// A part of a slot, as bits of one of its two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bits {
    pub(super) high: bool,
    pub(super) mask: u64,
    shift: u32,
}

/// What gives a value for each slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Const(u64),
    /// This times the number of the slot, and this.
    Index(u64, u64),
    Length,
    Bits(Bits),
    /// Whether bits, in place, compare so with a value in place.
    Test(Bits, BinOp, u64),
    Unary(UnOp, Box<Node>),
    Binary(BinOp, Box<Node>, Box<Node>),
}

/// A question that can be put to blocks of a ring.
pub(super) struct SlotQuestion {
    root: Node,
    /// Only to blocks without META.
    data: bool,
    scratch: Vec<Lanes>,
}

/// No value for a block, or no such node.
struct No;

impl SlotQuestion {
    /// The question of an expression about slots of a ring; nothing where it needs more than
    /// their bytes, or may have no value.
    pub(super) fn of(s: &Session, e: &Expr, id: QueueId, dir: Dir) -> Option<SlotQuestion> {
        let ring = s.machine().queue(id)?.ring(dir);
        if depth(e) > MAX_EXPR_DEPTH {
            return None;
        }
        let view = if dir == Dir::Tx { View::Tx } else { View::Rx };
        let root = Compiler { s, ring, view, slot: (id, dir, 0) }.node(e).ok()?;
        Some(SlotQuestion { root, data: dir == Dir::Tx, scratch: Vec::new() })
    }

    /// The same question for many slots where they lie, if it is one of comparisons alone.
    pub(super) fn sieve(&self) -> Option<Sieve> {
        Sieve::of(&self.root, self.data)
    }

    /// Calls `f` with each used slot of the block of which the answer is not 0; false where the
    /// block must be asked plainly. Then `f` was not called.
    pub(super) fn each(&mut self, block: &Block, mut f: impl FnMut(u64)) -> bool {
        if self.data && block.meta {
            return false;
        }
        let mut out = self.scratch.pop().unwrap_or([0; BLOCK]);
        let answered = fill(&self.root, block, &mut out, &mut self.scratch).is_ok();
        let lanes = out.get(..block.len).unwrap_or_default();
        if answered && lanes.iter().fold(0, |any, v| any | v) != 0 {
            for (i, v) in lanes.iter().enumerate() {
                if *v != 0 && block.is_used(i) {
                    f(block.first + i as u64);
                }
            }
        }
        self.scratch.push(out);
        answered
    }
}

/// How deep an expression is, counted as the evaluator does.
fn depth(e: &Expr) -> usize {
    match e {
        Expr::Unary(_, a) | Expr::Mem { addr: a, .. } | Expr::Reg { offset: a, .. } => 1 + depth(a),
        Expr::Slot { index, .. } => 1 + depth(index),
        Expr::Binary(_, a, b) => 1 + depth(a).max(depth(b)),
        _ => 0,
    }
}

/// Whether a value depends on the slot that is asked about.
fn is_of_slot(e: &Expr) -> bool {
    match e {
        Expr::Here(_) => true,
        Expr::Unary(_, a) | Expr::Mem { addr: a, .. } | Expr::Reg { offset: a, .. } => {
            is_of_slot(a)
        }
        Expr::Slot { index, .. } => is_of_slot(index),
        Expr::Binary(_, a, b) => is_of_slot(a) || is_of_slot(b),
        _ => false,
    }
}

struct Compiler<'a> {
    s: &'a Session,
    ring: RingDecl,
    view: View,
    slot: (QueueId, Dir, u64),
}

impl Compiler<'_> {
    fn node(&self, e: &Expr) -> Result<Node, No> {
        if !is_of_slot(e) {
            // The same for every slot. An error is left to the twin to tell.
            let value: Result<u64, EvalError> = eval_at(self.s, self.s.machine(), e, self.slot);
            return value.map(Node::Const).map_err(|_| No);
        }
        match e {
            Expr::Here(path) if path.len() == 1 && path[0] == INDEX => Ok(Node::Index(1, 0)),
            Expr::Here(path) => self.part(path),
            Expr::Unary(op, a) => Ok(Node::Unary(*op, Box::new(self.node(a)?))),
            Expr::Binary(op, a, b) => Ok(test(*op, self.node(a)?, self.node(b)?)),
            _ => Err(No),
        }
    }

    fn part(&self, path: &[String]) -> Result<Node, No> {
        let bits = |word: Word, mask: u64, shift: u32| {
            let at = (word.offset() % 8 * 8) as u32;
            Node::Bits(Bits { high: word.offset() >= 8, mask: mask << at, shift: shift + at })
        };
        let all = |word: Word| u64::MAX >> (64 - u32::from(word.bits()));
        match part_of(self.view, path).map_err(|_| No)? {
            SlotPart::Addr => Ok(Node::Index(DESC_BYTES as u64, self.ring.base)),
            SlotPart::Length => Ok(Node::Length),
            SlotPart::Phase => self.part(&["ring_id".to_owned()]),
            SlotPart::Word(w) => Ok(bits(w, all(w), 0)),
            SlotPart::Field(f) => Ok(bits(f.word, f.mask(), f.lo.into())),
            SlotPart::Life => Err(No),
        }
    }
}

/// An operation; a comparison of bits with a value is done where the bits lie.
fn test(op: BinOp, a: Node, b: Node) -> Node {
    let compares =
        matches!(op, BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge);
    match (&a, &b) {
        (Node::Bits(bits), Node::Const(v)) if compares && v << bits.shift >> bits.shift == *v => {
            Node::Test(*bits, op, v << bits.shift)
        }
        _ => Node::Binary(op, Box::new(a), Box::new(b)),
    }
}

/// The values of a node for a block.
fn fill(node: &Node, block: &Block, out: &mut Lanes, scratch: &mut Vec<Lanes>) -> Result<(), No> {
    match node {
        Node::Const(v) => out.fill(*v),
        Node::Index(by, from) => {
            let slots = (block.first..).zip(out.iter_mut());
            slots.for_each(|(i, o)| *o = i.wrapping_mul(*by).wrapping_add(*from));
        }
        Node::Length => {
            map(&block.low, out, |w| (w.wrapping_sub(1) & 0xffff) + 1);
        }
        Node::Bits(b) => {
            let from = if b.high { &block.ptr } else { &block.low };
            let (mask, shift) = (b.mask, b.shift);
            map(from, out, |w| (w & mask) >> shift);
        }
        Node::Test(b, op, v) => {
            let from = if b.high { &block.ptr } else { &block.low };
            let (mask, v) = (b.mask, *v);
            compare(*op, from, out, mask, v);
        }
        Node::Unary(op, a) => {
            fill(a, block, out, scratch)?;
            for v in out {
                *v = match op {
                    UnOp::Not => u64::from(*v == 0),
                    UnOp::BitNot => !*v,
                    UnOp::Neg => v.wrapping_neg(),
                };
            }
        }
        Node::Binary(op, a, b) => {
            fill(a, block, out, scratch)?;
            let mut second = scratch.pop().unwrap_or([0; BLOCK]);
            let done = fill(b, block, &mut second, scratch)
                .and_then(|()| operate(*op, block, out, &second));
            scratch.push(second);
            done?;
        }
    }
    Ok(())
}

#[inline(always)]
fn map(from: &Lanes, out: &mut Lanes, f: impl Fn(u64) -> u64) {
    from.iter().zip(out).for_each(|(w, o)| *o = f(*w));
}

/// Whether masked words compare so with a value: a loop for each comparison.
fn compare(op: BinOp, from: &Lanes, out: &mut Lanes, mask: u64, v: u64) {
    match op {
        BinOp::Eq => map(from, out, |w| u64::from(w & mask == v)),
        BinOp::Ne => map(from, out, |w| u64::from(w & mask != v)),
        BinOp::Lt => map(from, out, |w| u64::from(w & mask < v)),
        BinOp::Le => map(from, out, |w| u64::from(w & mask <= v)),
        BinOp::Gt => map(from, out, |w| u64::from(w & mask > v)),
        _ => map(from, out, |w| u64::from(w & mask >= v)),
    }
}

/// The values of an operation. The frequent ones have loops of their own; all mean what
/// [`binary`] says.
fn operate(op: BinOp, block: &Block, a: &mut Lanes, b: &Lanes) -> Result<(), No> {
    let each = |a: &mut Lanes, f: fn(u64, u64) -> u64| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a = f(*a, *b));
    };
    match op {
        BinOp::And => a.iter_mut().zip(b).for_each(|(a, b)| *a &= b),
        BinOp::Or => a.iter_mut().zip(b).for_each(|(a, b)| *a |= b),
        BinOp::Xor => a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b),
        BinOp::Add => a.iter_mut().zip(b).for_each(|(a, b)| *a = a.wrapping_add(*b)),
        BinOp::Sub => a.iter_mut().zip(b).for_each(|(a, b)| *a = a.wrapping_sub(*b)),
        BinOp::Eq => each(a, |a, b| u64::from(a == b)),
        BinOp::Ne => each(a, |a, b| u64::from(a != b)),
        BinOp::Lt => each(a, |a, b| u64::from(a < b)),
        BinOp::Le => each(a, |a, b| u64::from(a <= b)),
        BinOp::Gt => each(a, |a, b| u64::from(a > b)),
        BinOp::Ge => each(a, |a, b| u64::from(a >= b)),
        BinOp::LogAnd => each(a, |a, b| u64::from(a != 0 && b != 0)),
        BinOp::LogOr => each(a, |a, b| u64::from(a != 0 || b != 0)),
        BinOp::Mul | BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr => {
            for (i, (a, b)) in a.iter_mut().zip(b).enumerate().take(block.len) {
                *a = match binary(op, *a, *b) {
                    Some(v) => v,
                    // A division by zero is an error of a slot that is asked.
                    None if block.is_used(i) => return Err(No),
                    None => 0,
                };
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
