//! Evaluating expressions: unsigned 64-bit values that wrap; a shift by 64 or more gives 0;
//! division by zero and unknown bytes are errors (`docs/commands.md`, "Expressions").

use super::Session;
use crate::diag::Diagnostic;
use crate::engine::command::{distance, nearest};
use crate::engine::expr::{
    BinOp, Expr, INDEX, PROPERTIES, QueueRef, RING_PROPERTIES, SLOT_PROPERTIES, UnOp,
};
use crate::engine::program::QueueId;
use crate::engine::ring::queue::Queue;
use crate::engine::ring::{Machine, Ret, life};
use crate::limits::MAX_EXPR_DEPTH;
use crate::udma::{DESC_BYTES, Desc, Dir, Field, View, Word, count_of, field, reg};

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvalError {
    /// A name stands for nothing; what would, as help.
    Name(String, String),
    /// A division by this, which is 0.
    DivideByZero(String),
    /// Bytes that nobody wrote, or whose content is unknown.
    Unknown(String),
    /// Nested too deeply.
    Depth,
}

impl EvalError {
    /// Whether it may have a value at another event.
    pub fn is_for_now(&self) -> bool {
        matches!(self, EvalError::Unknown(_))
    }

    /// As a diagnostic: S005 or S006.
    pub fn into_diagnostic(self) -> Diagnostic {
        match self {
            EvalError::Name(text, help) => Diagnostic::new("S005", text).help(help),
            EvalError::DivideByZero(by) => {
                Diagnostic::new("S006", format!("division by zero: `{by}` is 0"))
            }
            EvalError::Unknown(text) => Diagnostic::new("S006", text),
            EvalError::Depth => {
                Diagnostic::new("S006", format!("nested deeper than {MAX_EXPR_DEPTH}"))
            }
        }
    }
}

/// The queue that a reference means.
///
/// # Errors
/// [`EvalError::Name`] where the program has no such queue.
pub fn queue_of(s: &Session, q: &QueueRef) -> Result<QueueId, EvalError> {
    let queues = &s.program().queues;
    let known = || queues.iter().map(|q| q.id.to_string()).collect::<Vec<_>>().join(", ");
    let found = match *q {
        QueueRef::Selected => s.selected(),
        QueueRef::Exact(id) => s.program().queue(id).map(|q| q.id),
        QueueRef::Queue(n) => {
            let engine = s.selected().map(|q| q.engine);
            let fit = |same: bool| {
                queues
                    .iter()
                    .map(|q| q.id)
                    .find(|q| q.queue == n && (!same || Some(q.engine) == engine))
            };
            fit(true).or_else(|| fit(false))
        }
    };
    found.ok_or_else(|| EvalError::Name(format!("no queue `{q}`"), format!("queues: {}", known())))
}

/// The value of an expression in the state `m`.
///
/// # Errors
/// [`EvalError`].
pub fn eval(s: &Session, m: &Machine, e: &Expr) -> Result<u64, EvalError> {
    Eval { s, m, here: None }.expr(e, 0)
}

/// The value of an expression about a slot: bare names are its words and fields.
///
/// # Errors
/// [`EvalError`].
pub fn eval_at(
    s: &Session,
    m: &Machine,
    e: &Expr,
    slot: (QueueId, Dir, u64),
) -> Result<u64, EvalError> {
    Eval { s, m, here: Some(slot) }.expr(e, 0)
}

struct Eval<'a> {
    s: &'a Session,
    m: &'a Machine,
    /// The slot that bare names are of.
    here: Option<(QueueId, Dir, u64)>,
}

impl Eval<'_> {
    fn expr(&self, e: &Expr, depth: usize) -> Result<u64, EvalError> {
        if depth > MAX_EXPR_DEPTH {
            return Err(EvalError::Depth);
        }
        let value = |e: &Expr| self.expr(e, depth + 1);
        match e {
            Expr::Num(n) => Ok(*n),
            Expr::Var(name) => self.s.vars.get(name).copied().ok_or_else(|| {
                let known: Vec<String> = self.s.vars.keys().map(|k| format!("${k}")).collect();
                let near = nearest(name, self.s.vars.keys().map(String::as_str));
                let help = match near.as_slice() {
                    [] => format!("variables: {}", list(&known)),
                    near => format!("did you mean `${}`?", near.join("` or `$")),
                };
                EvalError::Name(format!("no variable `${name}`"), help)
            }),
            Expr::Name(name) => self.property(name),
            Expr::Place(name) => self.place(name),
            Expr::Slot { queue, dir, index, path } => {
                let id = queue_of(self.s, queue)?;
                self.slot(id, *dir, value(index)?, path)
            }
            Expr::Here(path) => match self.here {
                Some((_, _, index)) if path.len() == 1 && path[0] == INDEX => Ok(index),
                Some((id, dir, index)) => self.slot(id, dir, index, path),
                None => Err(EvalError::Name("no slot is asked about".into(), String::new())),
            },
            Expr::Queue { queue, path } => self.queue(queue_of(self.s, queue)?, path),
            Expr::Mem { width, addr } => self.memory(value(addr)?, *width),
            Expr::Reg { queue, offset } => {
                self.register(queue_of(self.s, queue)?.engine, value(offset)?)
            }
            Expr::Unary(op, e) => {
                let v = value(e)?;
                Ok(match op {
                    UnOp::Not => u64::from(v == 0),
                    UnOp::BitNot => !v,
                    UnOp::Neg => v.wrapping_neg(),
                })
            }
            Expr::Binary(BinOp::LogAnd, a, b) => Ok(u64::from(value(a)? != 0 && value(b)? != 0)),
            Expr::Binary(BinOp::LogOr, a, b) => Ok(u64::from(value(a)? != 0 || value(b)? != 0)),
            Expr::Binary(op, a, b) => binary(*op, value(a)?, value(b)?)
                .ok_or_else(|| EvalError::DivideByZero(b.to_string())),
        }
    }

    /// The first address of a location or region, or what a register of a module holds.
    fn place(&self, name: &str) -> Result<u64, EvalError> {
        if let Some(area) = self.s.area_named(name) {
            return Ok(area.addr);
        }
        let unwritten = || EvalError::Unknown(format!("nobody wrote register {name} yet"));
        if self.s.has_register(name) {
            let value = self.m.control.as_ref().and_then(|c| c.register(name));
            return value.map(|v| v as u64).ok_or_else(unwritten);
        }
        let known = self.s.place_names();
        let plain = PROPERTIES.iter().chain(RING_PROPERTIES).map(|p| p.0);
        Err(unknown(name, known.iter().map(String::as_str).chain(plain)))
    }

    fn property(&self, name: &str) -> Result<u64, EvalError> {
        let m = self.m;
        let queue = self.s.selected().and_then(|id| m.queue(id));
        match name {
            "event" => Ok(m.n),
            "end" => self.s.end().ok_or_else(|| {
                EvalError::Unknown("the end of the run is not known yet".to_owned())
            }),
            "time" => Ok(m.now_ns / 1000),
            "marker" => match queue {
                Some(q) => self.memory(q.marker.wrapping_add(4), 4),
                None => Err(EvalError::Name("no queue is selected".into(), String::new())),
            },
            "batch" => Ok(m.last.map_or(0, |e| e.batch)),
            "phase" => Ok(m.phase().map_or(0, |p| p as u64 + 1)),
            "ret" => match m.cpu().last_ret {
                Some(Ret::Code(c)) => Ok(c as u64),
                Some(Ret::Bug) => Err(EvalError::Unknown("the last call hit an assertion".into())),
                None => Err(EvalError::Unknown("no call has returned yet".into())),
            },
            "faults" => Ok(m.faults()),
            "findings" => Ok(m.found()),
            "timeouts" => Ok(m.timeouts()),
            _ => {
                let names =
                    PROPERTIES.iter().map(|p| p.0).chain(RING_PROPERTIES.iter().map(|p| p.0));
                Err(unknown(name, names))
            }
        }
    }

    fn queue(&self, id: QueueId, path: &[String]) -> Result<u64, EvalError> {
        let Some(q) = self.m.queue(id) else {
            return Err(EvalError::Name(format!("no queue `{id}`"), String::new()));
        };
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        match names.as_slice() {
            ["tx", name] => self.of_ring(q, Dir::Tx, name),
            ["rx", name] => self.of_ring(q, Dir::Rx, name),
            ["free"] => Ok(free(q, Dir::Tx)?.min(free(q, Dir::Rx)?)),
            ["marker"] => self.memory(q.marker.wrapping_add(4), 4),
            ["batches"] => Ok(q.batches),
            ["tx" | "rx"] | [] => Err(EvalError::Name(
                "a queue has no value".into(),
                format!("name a property: {}", list_of(RING_PROPERTIES)),
            )),
            [name, ..] => ring(q, Dir::Tx, name),
        }
    }

    /// A property of a ring, or one of its registers as a read would give it.
    fn of_ring(&self, q: &Queue, dir: Dir, name: &str) -> Result<u64, EvalError> {
        if reg::queue_reg(dir, name).is_none() {
            return ring(q, dir, name);
        }
        let value = self.m.queue_reg(q.id(), dir, name);
        value
            .map(u64::from)
            .ok_or_else(|| EvalError::Unknown(format!("nobody wrote {name} of {}.{dir}", q.id())))
    }

    /// A register of an engine as a read would give it.
    fn register(&self, engine: u32, offset: u64) -> Result<u64, EvalError> {
        let at = u32::try_from(offset).ok().filter(|o| o % 4 == 0 && *o < reg::ENGINE_BLOCK_BYTES);
        let Some(at) = at else {
            return Err(EvalError::Name(
                format!("no register lies at {offset:#x} of an engine's block"),
                format!("multiples of 4 below {:#x}", reg::ENGINE_BLOCK_BYTES),
            ));
        };
        let known = reg::name_at(at).and_then(|r| Some((r.name, r.queue?)));
        let read = match known {
            Some((name, (dir, queue))) => self.m.queue_reg(QueueId { engine, queue }, dir, name),
            None => None,
        };
        let value = read.or_else(|| self.m.regs.get(&(engine, at)).copied());
        value.map(u64::from).ok_or_else(|| {
            EvalError::Unknown(format!("nobody wrote register {at:#x} of engine {engine}"))
        })
    }

    fn slot(&self, id: QueueId, dir: Dir, index: u64, path: &[String]) -> Result<u64, EvalError> {
        let Some(q) = self.m.queue(id) else {
            return Err(EvalError::Name(format!("no queue `{id}`"), String::new()));
        };
        let decl = q.ring(dir);
        if index >= decl.size {
            let text =
                format!("`{dir}[{index}]` is not in a ring of {}", count_of(decl.size, "slot"));
            return Err(EvalError::Name(text, String::new()));
        }
        let addr = decl.slot_addr(index);
        let mut bytes = [0; DESC_BYTES];
        self.m.memory.read(addr, &mut bytes);
        let desc = Desc::from_bytes(&bytes);
        Ok(match part_of(desc.view(dir), path)? {
            SlotPart::Addr => addr,
            SlotPart::Life => {
                life::of_program(self.s.program(), q, dir, index, !desc.is_zero()) as u64
            }
            SlotPart::Phase => u64::from(desc.ring_id()),
            SlotPart::Length => desc.length(),
            SlotPart::Word(w) => desc.word(w),
            SlotPart::Field(f) => desc.get(f),
        })
    }

    fn memory(&self, addr: u64, width: u8) -> Result<u64, EvalError> {
        let mut bytes = [0; 8];
        let n = usize::from(width.min(8));
        if let Some(at) = self.m.memory.outside(addr, n as u64) {
            return Err(EvalError::Unknown(format!("no memory is known at {at:#x}")));
        }
        let known = self.m.memory.read(addr, &mut bytes[..n]);
        match (known.never_written, known.unknown) {
            (Some(at), _) => Err(EvalError::Unknown(format!("nobody wrote the byte at {at:#x}"))),
            (_, Some(at)) => Err(EvalError::Unknown(format!("the byte at {at:#x} is unknown"))),
            _ => Ok(u64::from_le_bytes(bytes)),
        }
    }
}

/// What a path names of a slot.
#[derive(Debug, Clone, Copy)]
pub(super) enum SlotPart {
    Addr,
    Life,
    /// The field of the phase, whatever the descriptor is.
    Phase,
    /// Bytes, as every listing shows them; the bare bits are at len_ctrl.length.
    Length,
    Word(Word),
    Field(&'static Field),
}

/// What a path names of a slot whose descriptor is seen so.
pub(super) fn part_of(view: View, path: &[String]) -> Result<SlotPart, EvalError> {
    let words = Word::of(view);
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    let word = |name: &str| words.iter().copied().find(|w| w.name() == name);
    match names.as_slice() {
        ["addr"] => Ok(SlotPart::Addr),
        ["phase"] => Ok(SlotPart::Phase),
        ["life"] => Ok(SlotPart::Life),
        ["length"] => Ok(SlotPart::Length),
        [name] => match (word(name), field::find(view, name)) {
            (Some(w), _) => Ok(SlotPart::Word(w)),
            (None, Some(f)) => Ok(SlotPart::Field(f)),
            (None, None) => Err(unknown(name, slot_names(view))),
        },
        [w, name] => match (word(w), field::find(view, name)) {
            (Some(w), Some(f)) if f.word == w => Ok(SlotPart::Field(f)),
            (Some(w), _) => Err(unknown(name, field::fields_of(view, w).map(|f| f.name))),
            (None, _) => Err(unknown(w, words.iter().map(|w| w.name()))),
        },
        [] => Err(EvalError::Name(
            "a slot has no value".into(),
            "name a word or field, such as tx[0].len_ctrl or tx[0].length".to_owned(),
        )),
        _ => Err(EvalError::Name(format!("`{}` is too deep", path.join(".")), String::new())),
    }
}

fn slot_names(view: crate::udma::View) -> impl Iterator<Item = &'static str> {
    let words = Word::of(view).iter().map(|w| w.name());
    let fields = field::FIELDS.iter().filter(move |f| f.views.has(view)).map(|f| f.name);
    words.chain(fields).chain(SLOT_PROPERTIES.iter().map(|p| p.0))
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn list_of(table: &[(&str, &str)]) -> String {
    table.iter().map(|p| p.0).collect::<Vec<_>>().join(", ")
}

/// A name that stands for nothing, with the nearest ones that would.
fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> EvalError {
    let mut near: Vec<(usize, &str)> = known.map(|k| (distance(name, k), k)).collect();
    near.sort_unstable();
    near.dedup();
    let close: Vec<&str> = near.iter().filter(|n| n.0 <= 2).map(|n| n.1).take(3).collect();
    let help = if close.is_empty() {
        format!("known: {}", near.iter().map(|n| n.1).collect::<Vec<_>>().join(", "))
    } else {
        format!("did you mean {}?", close.join(" or "))
    };
    EvalError::Name(format!("`{name}` stands for nothing here"), help)
}

/// Free slots, of a ring that the driver hands out the slots of.
fn free(q: &Queue, dir: Dir) -> Result<u64, EvalError> {
    q.free(dir).map(u64::from).ok_or_else(|| {
        EvalError::Name(
            format!("{} is authored elsewhere: the driver hands out none of its slots", q.id()),
            "`posted`, `retired` and `acked` tell how far it is".to_owned(),
        )
    })
}

fn ring(q: &Queue, dir: Dir, name: &str) -> Result<u64, EvalError> {
    let (sw, hw) = (q.sw(dir), q.hw(dir));
    Ok(match name {
        "size" => u64::from(sw.size),
        "free" => free(q, dir)?,
        "next_desc_idx" => u64::from(sw.next_desc_idx),
        "next_cdesc_idx" => u64::from(sw.next_cdesc_idx),
        "desc_ring_id" => u64::from(sw.desc_ring_id),
        "head" => hw.slot(hw.retired),
        "tail" => hw.slot(hw.posted),
        "staged" => sw.staged,
        "posted" => hw.posted,
        "fetched" => hw.fetched,
        "visible" => hw.visible,
        "retired" => hw.retired,
        "acked" => sw.acked,
        "base" => q.ring(dir).base,
        _ => return Err(unknown(name, RING_PROPERTIES.iter().map(|p| p.0))),
    })
}

/// `None` where it divides by zero.
pub(super) fn binary(op: BinOp, a: u64, b: u64) -> Option<u64> {
    let shift = |f: fn(u64, u32) -> u64| if b >= 64 { 0 } else { f(a, b as u32) };
    Some(match op {
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::Div => a.checked_div(b)?,
        BinOp::Rem => a.checked_rem(b)?,
        BinOp::Add => a.wrapping_add(b),
        BinOp::Sub => a.wrapping_sub(b),
        BinOp::Shl => shift(|a, b| a << b),
        BinOp::Shr => shift(|a, b| a >> b),
        BinOp::Lt => u64::from(a < b),
        BinOp::Le => u64::from(a <= b),
        BinOp::Gt => u64::from(a > b),
        BinOp::Ge => u64::from(a >= b),
        BinOp::Eq => u64::from(a == b),
        BinOp::Ne => u64::from(a != b),
        BinOp::And => a & b,
        BinOp::Xor => a ^ b,
        BinOp::Or => a | b,
        BinOp::LogAnd => u64::from(a != 0 && b != 0),
        BinOp::LogOr => u64::from(a != 0 || b != 0),
    })
}
