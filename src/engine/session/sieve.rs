//! A question of comparisons, put to many slots where they lie, a line of the cache at a time.
//!
//! Where all that is asked is how bits of a slot's two words compare with values, the answer of a
//! slot is a bit, those of a line are a byte, and what joins comparisons joins bytes. A line is
//! compared as a whole, its words side by side in registers as wide as the processor has. It has
//! no answer where one of the slots is empty but not all of them, or is META: there the same is
//! asked block by block ([`super::question`]), which is the plain twin; tests compare both with
//! the evaluator.

use super::question::Node;
use crate::engine::expr::{BinOp, UnOp};
use crate::udma::DESC_BYTES;
use crate::udma::desc::META;
use crate::udma::lanes::{LINE, load};
use fearless_simd::{Level, Simd, dispatch, prelude::*, u64x8};

/// Lines that are asked at once.
pub(super) const SIEVE: usize = 256;

/// A bit of every even word of a line: the slots of a ring alone, of two in turn.
const ALONE: u8 = 0b0101_0101;
const IN_TURN: u8 = 0b0001_0001;

/// A byte a line: a bit of each of its slots, where its first word lies.
type Row = [u8; SIEVE];

/// How bits compare with a value; each other way is one of these or not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Than {
    Equal,
    Less,
    Greater,
}

/// A comparison: `(word - less) & mask` with a value, or not so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Test {
    high: bool,
    less: u64,
    mask: u64,
    than: Than,
    value: u64,
    not: bool,
}

/// What is done, one after the other, with rows on a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Test(Test),
    Not,
    And,
    Or,
}

/// A question of comparisons.
pub(super) struct Sieve {
    steps: Vec<Step>,
    /// Only to slots without META.
    data: bool,
    rows: Vec<Row>,
    level: Level,
}

/// What lines have in common.
struct State {
    /// Bits that a slot has, of its first 64 and of its address.
    any: [u64; 2],
    /// The first 64 bits of a slot are all zero.
    zero: bool,
}

impl Sieve {
    /// The sieve of a question; nothing where it asks for more than comparisons.
    pub(super) fn of(root: &Node, data: bool) -> Option<Sieve> {
        let mut steps = Vec::new();
        truth(root, &mut steps)?;
        Some(Sieve { steps, data, rows: Vec::new(), level: Level::new() })
    }

    /// How many slots of a ring lie in lines if they lie so many apart.
    pub(super) fn slots(&self, lines: &[[u8; LINE]], step: usize) -> u64 {
        (lines.len() * LINE / DESC_BYTES / step.max(1)) as u64
    }

    /// Calls `f` with the number of each slot of at most [`SIEVE`] lines of which the answer is
    /// not 0, counted from the first; answers how many are used. Nothing where they must be asked
    /// otherwise; then `f` was not called. `step` is 1 or 2.
    pub(super) fn each(
        &mut self,
        lines: &[[u8; LINE]],
        step: usize,
        mut f: impl FnMut(u64),
    ) -> Option<u64> {
        let keep = if step == 1 { ALONE } else { IN_TURN };
        let (mut depth, mut state) = (0, None);
        for &step in &self.steps {
            match step {
                Step::Test(test) => {
                    if self.rows.len() == depth {
                        self.rows.push([0; SIEVE]);
                    }
                    let row = self.rows.get_mut(depth)?;
                    if state.is_none() {
                        let seen =
                            dispatch!(self.level, s => compare::<_, true>(s, lines, test, row));
                        let seen = State::of(seen, keep);
                        if seen.any == [0; 2] {
                            return Some(0);
                        }
                        if seen.zero || self.data && seen.any[0] & u64::from(META) != 0 {
                            return None;
                        }
                        state = Some(seen);
                    } else {
                        dispatch!(self.level, s => compare::<_, false>(s, lines, test, row));
                    }
                    tidy(row, test, keep);
                    depth += 1;
                }
                Step::Not => {
                    let flip = bytes(keep);
                    each_word(self.rows.get_mut(depth.checked_sub(1)?)?, |w| w ^ flip);
                }
                Step::And | Step::Or => {
                    depth = depth.checked_sub(1)?;
                    let (below, top) = self.rows.split_at_mut_checked(depth)?;
                    let (a, b) = (below.last_mut()?, top.first()?);
                    match step {
                        Step::And => join(a, b, |a, b| a & b),
                        _ => join(a, b, |a, b| a | b),
                    }
                }
            }
        }
        let row = self.rows.first()?.get(..lines.len())?;
        let each = LINE / DESC_BYTES / step.max(1);
        let (words, rest) = row.as_chunks::<8>();
        let none = words.iter().fold(0, |any, w| any | u64::from_ne_bytes(*w)) == 0;
        if !none || rest.iter().any(|b| *b != 0) {
            for (line, bits) in row.iter().enumerate().filter(|(_, b)| **b != 0) {
                let own = (0..each).filter(|i| bits >> (2 * step * i) & 1 != 0);
                own.for_each(|i| f((line * each + i) as u64));
            }
        }
        Some(self.slots(lines, step))
    }
}

/// Steps that leave a row of the slots of which a node is not 0.
fn truth(node: &Node, steps: &mut Vec<Step>) -> Option<()> {
    match node {
        Node::Bits(b) => steps.push(Step::Test(Test::of(BinOp::Ne, b.high, b.mask, 0)?)),
        Node::Test(b, op, v) => steps.push(Step::Test(Test::of(*op, b.high, b.mask, *v)?)),
        Node::Binary(op, a, b) => match (op, a.as_ref(), b.as_ref()) {
            (BinOp::LogAnd | BinOp::LogOr, a, b) => {
                truth(a, steps)?;
                truth(b, steps)?;
                steps.push(if *op == BinOp::LogAnd { Step::And } else { Step::Or });
            }
            // A length is one more than what is left of the field less one.
            (op, Node::Length, Node::Const(v)) => {
                let test = Test::of(*op, false, u64::from(u16::MAX), v.checked_sub(1)?)?;
                steps.push(Step::Test(Test { less: 1, ..test }));
            }
            _ => return None,
        },
        Node::Unary(UnOp::Not, a) => {
            truth(a, steps)?;
            steps.push(Step::Not);
        }
        _ => return None,
    }
    Some(())
}

impl Test {
    fn of(op: BinOp, high: bool, mask: u64, value: u64) -> Option<Test> {
        let (than, not) = match op {
            BinOp::Eq => (Than::Equal, false),
            BinOp::Ne => (Than::Equal, true),
            BinOp::Lt => (Than::Less, false),
            BinOp::Ge => (Than::Less, true),
            BinOp::Gt => (Than::Greater, false),
            BinOp::Le => (Than::Greater, true),
            _ => return None,
        };
        Some(Test { high, less: 0, mask, than, value, not })
    }
}

impl State {
    /// Of words of lines; the slots of the ring begin at those of `keep`.
    fn of((any, zero): ([u64; 8], [u64; 8]), keep: u8) -> State {
        let mut state = State { any: [0; 2], zero: false };
        for i in (0..7).filter(|i| keep >> i & 1 != 0) {
            state.any[0] |= any[i];
            state.any[1] |= any[i + 1];
            state.zero |= zero[i] >> 63 != 0;
        }
        state
    }
}

/// Compares each word of each line: a bit a word. With `STATE` answers also the bits that each
/// word has, and (bit 63) whether it was ever zero.
#[inline(always)]
fn compare<S: Simd, const STATE: bool>(
    s: S,
    lines: &[[u8; LINE]],
    test: Test,
    row: &mut Row,
) -> ([u64; 8], [u64; 8]) {
    let value = u64x8::splat(s, test.value);
    match test.than {
        Than::Equal => over::<S, STATE>(
            s,
            lines,
            test,
            row,
            #[inline(always)]
            |w| w.simd_eq(value).to_bitmask(),
        ),
        Than::Less => over::<S, STATE>(
            s,
            lines,
            test,
            row,
            #[inline(always)]
            |w| w.simd_lt(value).to_bitmask(),
        ),
        Than::Greater => over::<S, STATE>(
            s,
            lines,
            test,
            row,
            #[inline(always)]
            |w| w.simd_gt(value).to_bitmask(),
        ),
    }
}

#[inline(always)]
fn over<S: Simd, const STATE: bool>(
    s: S,
    lines: &[[u8; LINE]],
    test: Test,
    row: &mut Row,
    is: impl Fn(u64x8<S>) -> u64,
) -> ([u64; 8], [u64; 8]) {
    let (less, mask) = (u64x8::splat(s, test.less), u64x8::splat(s, test.mask));
    let one = u64x8::splat(s, 1);
    let (mut any, mut zero) = (u64x8::splat(s, 0), u64x8::splat(s, 0));
    for (line, bits) in lines.iter().zip(row) {
        let w = load(s, line);
        if STATE {
            any |= w;
            // Of all numbers only 0 has no bit 63 and one less that has.
            zero |= (w - one) & !w;
        }
        *bits = is((w - less) & mask) as u8;
    }
    (any.into(), zero.into())
}

/// A byte in each byte of a word.
fn bytes(b: u8) -> u64 {
    u64::from_ne_bytes([b; 8])
}

/// Changes a row, eight bytes at a time however it is compiled.
fn each_word(row: &mut Row, f: impl Fn(u64) -> u64) {
    for part in row.as_chunks_mut::<8>().0 {
        *part = f(u64::from_ne_bytes(*part)).to_ne_bytes();
    }
}

/// Joins a row to another, as [`each_word`] changes one.
fn join(to: &mut Row, with: &Row, f: impl Fn(u64, u64) -> u64) {
    for (part, with) in to.as_chunks_mut::<8>().0.iter_mut().zip(with.as_chunks::<8>().0) {
        *part = f(u64::from_ne_bytes(*part), u64::from_ne_bytes(*with)).to_ne_bytes();
    }
}

/// Leaves of a comparison of words the bits that stand for slots.
fn tidy(row: &mut Row, test: Test, keep: u8) {
    // No bit of another byte comes in: none of `keep` is the highest.
    let (flip, keep) = (if test.not { bytes(keep) } else { 0 }, bytes(keep));
    match test.high {
        true => each_word(row, |w| (w >> 1 & keep) ^ flip),
        false => each_word(row, |w| (w & keep) ^ flip),
    }
}
