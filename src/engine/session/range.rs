//! The value of an expression over a whole stretch of events: between which bounds it stays.
//! What cannot be bounded, or may be an error, is unsure. Every value after an event of the
//! stretch lies inside; so does that of its start, mostly.

use super::eval::eval;
use super::interest::Look;
use super::queue_of;
use super::span::{Bounds, Happened};
use crate::engine::expr::{BinOp, Expr, QueueRef, UnOp};
use crate::engine::program::QueueId;
use crate::engine::ring::queue::{HwRing, Queue};
use crate::engine::ring::{Machine, Ret};
use crate::limits::MAX_EXPR_DEPTH;
use crate::udma::{DESC_BYTES, Dir, reg};

/// What is known of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// It lies between these, both included.
    Of(u64, u64),
    /// It has none at any of the events, and no error that is more than "not known".
    None,
    /// Anything, errors included.
    Unsure,
}

/// An expression is asked over a stretch.
pub struct Over<'a> {
    look: Look<'a>,
}

fn both(a: u64, b: u64) -> Value {
    Value::Of(a.min(b), a.max(b))
}

/// The slots of descriptors `from..=to` of a ring of `size`, whose first one lies `first` in.
fn slots(size: u64, (from, to): (u64, u64)) -> Value {
    match size {
        0 => Value::Of(0, 0),
        _ if to < from || to - from >= size || to % size < from % size => Value::Of(0, size - 1),
        _ => Value::Of(from % size, to % size),
    }
}

impl<'a> Over<'a> {
    /// Over this one.
    pub fn new(look: Look<'a>) -> Over<'a> {
        Over { look }
    }

    /// The bounds of an expression.
    pub fn value(&self, e: &Expr) -> Value {
        self.at(e, 0)
    }

    fn at(&self, e: &Expr, depth: usize) -> Value {
        if depth > MAX_EXPR_DEPTH {
            return Value::Unsure;
        }
        let of = |e: &Expr| self.at(e, depth + 1);
        match e {
            Expr::Num(n) => Value::Of(*n, *n),
            Expr::Var(_) => self.still(e),
            // A register of a module changes in more ways than are told.
            Expr::Place(name) if self.look.session.area_named(name).is_none() => Value::Unsure,
            Expr::Place(_) => self.still(e),
            // No slot is asked about in a run; registers change in more ways than are told.
            Expr::Here(_) | Expr::Reg { .. } => Value::Unsure,
            Expr::Name(name) => self.property(e, name),
            Expr::Queue { queue, path } => self.queue(e, queue, path),
            Expr::Slot { queue, dir, index, path } => match of(index) {
                Value::Of(a, b) if a == b => self.slot(e, queue, *dir, a, path),
                Value::None => Value::None,
                _ => Value::Unsure,
            },
            Expr::Mem { width, addr } => match of(addr) {
                Value::Of(a, b) if a == b => self.memory(e, a, u64::from(*width)),
                Value::None => Value::None,
                _ => Value::Unsure,
            },
            Expr::Unary(op, e) => match (op, of(e)) {
                (_, v @ (Value::None | Value::Unsure)) => v,
                (UnOp::Not, Value::Of(0, 0)) => Value::Of(1, 1),
                (UnOp::Not, Value::Of(a, _)) => Value::Of(0, u64::from(a == 0)),
                (UnOp::BitNot, Value::Of(a, b)) => Value::Of(!b, !a),
                (UnOp::Neg, Value::Of(a, b)) if a > 0 || b == 0 => {
                    Value::Of(b.wrapping_neg(), a.wrapping_neg())
                }
                (UnOp::Neg, _) => Value::Of(0, u64::MAX),
            },
            Expr::Binary(BinOp::LogAnd, a, b) => match of(a) {
                Value::Of(0, 0) => Value::Of(0, 0),
                Value::Of(least, _) => match of(b) {
                    Value::Of(l, g) => Value::Of(u64::from(least > 0 && l > 0), u64::from(g > 0)),
                    // Either 0 or without a value.
                    Value::None if least > 0 => Value::None,
                    Value::None => Value::Of(0, 0),
                    Value::Unsure => Value::Unsure,
                },
                other => other,
            },
            Expr::Binary(BinOp::LogOr, a, b) => match of(a) {
                Value::Of(least, _) if least > 0 => Value::Of(1, 1),
                Value::Of(_, greatest) => match of(b) {
                    Value::Of(l, g) => {
                        Value::Of(u64::from(l > 0), u64::from(greatest > 0 || g > 0))
                    }
                    Value::None if greatest == 0 => Value::None,
                    Value::None => Value::Of(1, 1),
                    Value::Unsure => Value::Unsure,
                },
                other => other,
            },
            Expr::Binary(op, a, b) => match (of(a), of(b)) {
                // An error of the other side may come first.
                (Value::Unsure, _) | (_, Value::Unsure) => Value::Unsure,
                (Value::None, _) | (_, Value::None) => Value::None,
                (Value::Of(a, b), Value::Of(c, d)) => binary(*op, (a, b), (c, d)),
            },
        }
    }

    /// The value where it is the same after each event.
    fn still(&self, e: &Expr) -> Value {
        match eval(self.look.session, self.look.end, e) {
            Ok(v) => Value::Of(v, v),
            Err(e) if e.is_for_now() => Value::None,
            Err(_) => Value::Unsure,
        }
    }

    /// Of a value that only grows.
    fn grows(&self, f: impl Fn(&Machine) -> u64) -> Value {
        both(f(self.look.start), f(self.look.end))
    }

    fn happened(&self, what: Happened) -> bool {
        self.look.span.happened.intersects(what)
    }

    fn property(&self, e: &Expr, name: &str) -> Value {
        let Look { start, end, span, session } = self.look;
        match name {
            "event" => Value::Of(start.n + 1, end.n),
            "time" => self.grows(|m| m.now_ns / 1000),
            "faults" => self.grows(Machine::faults),
            "findings" => self.grows(Machine::found),
            "timeouts" => self.grows(Machine::timeouts),
            "batch" => span.batches.map_or(Value::Unsure, |(a, b)| Value::Of(a, b)),
            "phase" if span.one_leap && start.phase() == end.phase() => self.still(e),
            "phase" => Value::Of(0, 5),
            "ret" if !end.seqs.is_empty() => Value::Unsure,
            // A call that hit an assertion has no value.
            "ret" => match (self.code(start), self.code(end), span.rets) {
                (None, None, None) => Value::None,
                (a, b, between) => {
                    let all = [a.map(|c| (c, c)), b.map(|c| (c, c)), between];
                    let least = all.iter().flatten().map(|b| b.0).min();
                    let most = all.iter().flatten().map(|b| b.1).max();
                    Value::Of(least.unwrap_or(0), most.unwrap_or(u64::MAX))
                }
            },
            "end" => self.still(e),
            "marker" => match session.selected() {
                Some(id) => self.marker(e, id),
                None => Value::Unsure,
            },
            _ => Value::Unsure,
        }
    }

    /// What the last call returned before this state.
    fn code(&self, m: &Machine) -> Option<u64> {
        match m.cpu().last_ret {
            Some(Ret::Code(c)) => Some(c as u64),
            _ => None,
        }
    }

    fn marker(&self, e: &Expr, id: QueueId) -> Value {
        let word = |m: &Machine| m.queue(id).map(|q| q.marker.wrapping_add(4));
        match (word(self.look.start), word(self.look.end)) {
            (Some(a), Some(b)) if a == b && !self.happened(Happened::MARKER) => {
                self.memory(e, a, 4)
            }
            _ => Value::Unsure,
        }
    }

    fn memory(&self, e: &Expr, addr: u64, width: u64) -> Value {
        if self.look.span.writes.meets((addr, addr.saturating_add(width))) {
            return Value::Unsure;
        }
        self.still(e)
    }

    fn ends(&self, queue: &QueueRef) -> Option<(&'a Queue, &'a Queue)> {
        let id = queue_of(self.look.session, queue).ok()?;
        Some((self.look.start.queue(id)?, self.look.end.queue(id)?))
    }

    fn slot(&self, e: &Expr, queue: &QueueRef, dir: Dir, index: u64, path: &[String]) -> Value {
        let Some((a, b)) = self.ends(queue) else { return Value::Unsure };
        let (ring, same) = (a.ring(dir), a.ring(dir) == b.ring(dir));
        // The life of a slot hangs on cursors too.
        if !same || index >= ring.size || path.iter().any(|p| p == "life") {
            return Value::Unsure;
        }
        let at = ring.slot_addr(index);
        if self.look.span.writes.meets((at, at.saturating_add(DESC_BYTES as u64))) {
            return Value::Unsure;
        }
        self.still(e)
    }

    fn queue(&self, e: &Expr, queue: &QueueRef, path: &[String]) -> Value {
        let Some((a, b)) = self.ends(queue) else { return Value::Unsure };
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        match names.as_slice() {
            ["tx" | "rx", name] if is_register(name) => Value::Unsure,
            ["tx", name] => self.ring(e, (a, b), Dir::Tx, name),
            ["rx", name] => self.ring(e, (a, b), Dir::Rx, name),
            ["free"] => match Dir::BOTH.map(|d| self.free((a, b), d)) {
                [Some(tx), Some(rx)] => Value::Of(tx.0.min(rx.0), tx.1.min(rx.1)),
                _ => Value::Unsure,
            },
            ["marker"] => self.marker(e, a.id()),
            ["batches"] => both(a.batches, b.batches),
            ["tx" | "rx"] | [] => Value::Unsure,
            [name, ..] => self.ring(e, (a, b), Dir::Tx, name),
        }
    }

    fn free(&self, (a, b): (&Queue, &Queue), dir: Dir) -> Option<Bounds> {
        let ends = (u64::from(a.free(dir)?), u64::from(b.free(dir)?));
        let between = self.look.span.free(a.id(), dir)?.unwrap_or(ends);
        Some((between.0.min(ends.0).min(ends.1), between.1.max(ends.0).max(ends.1)))
    }

    fn ring(&self, e: &Expr, (a, b): (&Queue, &Queue), dir: Dir, name: &str) -> Value {
        let sw = (a.sw(dir), b.sw(dir));
        let hw = (a.hw(dir), b.hw(dir));
        if sw.0.size != sw.1.size || hw.0.ring != hw.1.ring || hw.0.first != hw.1.first {
            return Value::Unsure;
        }
        let of = |f: fn(&HwRing) -> u64| (f(hw.0), f(hw.1));
        let place = |(from, to): (u64, u64)| {
            let first = hw.0.first.slot.checked_rem(hw.0.ring.size).unwrap_or(0);
            slots(hw.0.ring.size, (first.saturating_add(from), first.saturating_add(to)))
        };
        match name {
            "size" | "base" => self.still(e),
            "free" => self.free((a, b), dir).map_or(Value::Unsure, |f| Value::Of(f.0, f.1)),
            "next_desc_idx" => {
                let from = u64::from(sw.0.next_desc_idx);
                let taken = sw.1.staged.saturating_sub(sw.0.staged);
                slots(u64::from(sw.0.size), (from, from + taken))
            }
            "next_cdesc_idx" if self.happened(Happened::ACK) => Value::Unsure,
            "next_cdesc_idx" => self.still(e),
            // It changes where a lap begins.
            "desc_ring_id" => {
                let from = u64::from(sw.0.next_desc_idx);
                let taken = sw.1.staged.saturating_sub(sw.0.staged);
                if from + taken < u64::from(sw.0.size) { self.still(e) } else { Value::Of(0, 3) }
            }
            "head" => place(of(|h| h.retired)),
            "tail" => place(of(|h| h.posted)),
            "staged" => both(sw.0.staged, sw.1.staged),
            "posted" => both(hw.0.posted, hw.1.posted),
            "fetched" => both(hw.0.fetched, hw.1.fetched),
            "visible" => both(hw.0.visible, hw.1.visible),
            "retired" => both(hw.0.retired, hw.1.retired),
            "acked" => both(sw.0.acked, sw.1.acked),
            _ => Value::Unsure,
        }
    }
}

/// Whether a name of a ring is one of its registers.
fn is_register(name: &str) -> bool {
    Dir::BOTH.iter().any(|d| reg::queue_reg(*d, name).is_some())
}

/// The bounds of an operation on values between bounds.
fn binary(op: BinOp, (a, b): Bounds, (c, d): Bounds) -> Value {
    const ANY: Value = Value::Of(0, u64::MAX);
    let truth = |never: bool, always: bool| Value::Of(u64::from(always), u64::from(!never));
    let one = |f: &dyn Fn(u64, u64) -> u64| {
        if a == b && c == d { Value::Of(f(a, c), f(a, c)) } else { ANY }
    };
    match op {
        BinOp::Add => match b.checked_add(d) {
            Some(most) => Value::Of(a + c, most),
            None => one(&u64::wrapping_add),
        },
        BinOp::Sub if a >= d => Value::Of(a - d, b - c),
        BinOp::Sub => one(&u64::wrapping_sub),
        BinOp::Mul => match b.checked_mul(d) {
            Some(most) => Value::Of(a * c, most),
            None => one(&u64::wrapping_mul),
        },
        BinOp::Div | BinOp::Rem if c == 0 => Value::Unsure,
        BinOp::Div => Value::Of(a / d, b / c),
        BinOp::Rem if c == d && a / c == b / c => Value::Of(a % c, b % c),
        BinOp::Rem => Value::Of(0, b.min(d - 1)),
        BinOp::Shl if c == d && c < 64 && b.leading_zeros() as u64 >= c => {
            Value::Of(a << c, b << c)
        }
        BinOp::Shl => ANY,
        BinOp::Shr if c == d && c < 64 => Value::Of(a >> c, b >> c),
        BinOp::Shr => Value::Of(0, b),
        BinOp::Lt => truth(a >= d, b < c),
        BinOp::Le => truth(a > d, b <= c),
        BinOp::Gt => truth(b <= c, a > d),
        BinOp::Ge => truth(b < c, a >= d),
        BinOp::Eq => truth(b < c || d < a, a == b && c == d && a == c),
        BinOp::Ne => truth(a == b && c == d && a == c, b < c || d < a),
        BinOp::And if a == b && c == d => Value::Of(a & c, a & c),
        BinOp::And => Value::Of(0, b.min(d)),
        BinOp::Or => match b.max(d).checked_next_power_of_two() {
            _ if a == b && c == d => Value::Of(a | c, a | c),
            Some(most) => Value::Of(a.max(c), (most - 1) | b | d),
            None => Value::Of(a.max(c), u64::MAX),
        },
        BinOp::Xor => one(&|a, b| a ^ b),
        BinOp::LogAnd | BinOp::LogOr => ANY,
    }
}
