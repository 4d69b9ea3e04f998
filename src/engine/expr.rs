//! Expressions as data: unsigned 64-bit values that wrap, C operators and precedence
//! (`docs/commands.md`, "Expressions"). `script` parses them, `session` evaluates them.

use super::command::{is_plain_name, quote};
use super::program::QueueId;
use crate::udma::Dir;
use std::fmt;

/// Which queue is meant; by default the selected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum QueueRef {
    /// The selected queue.
    #[default]
    Selected,
    /// `q3`: the queue with this number, on the selected queue's engine if several have it.
    Queue(u32),
    /// `e5.q3`.
    Exact(QueueId),
}

impl fmt::Display for QueueRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueRef::Selected => Ok(()),
            QueueRef::Queue(q) => write!(f, "q{q}"),
            QueueRef::Exact(id) => write!(f, "{id}"),
        }
    }
}

/// Unary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnOp {
    /// `!`
    Not,
    /// `~`
    BitNot,
    /// `-`
    Neg,
}

impl UnOp {
    /// All operators.
    pub const ALL: [UnOp; 3] = [UnOp::Not, UnOp::BitNot, UnOp::Neg];

    /// As it is written.
    pub fn text(self) -> &'static str {
        match self {
            UnOp::Not => "!",
            UnOp::BitNot => "~",
            UnOp::Neg => "-",
        }
    }
}

/// Binary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinOp {
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `&`
    And,
    /// `^`
    Xor,
    /// `|`
    Or,
    /// `&&`
    LogAnd,
    /// `||`
    LogOr,
}

impl BinOp {
    /// All operators as written, longest spelling first where one begins with another, with
    /// their precedence: higher binds tighter, all associate to the left.
    pub const TABLE: &'static [(&'static str, BinOp, u8)] = &[
        ("||", BinOp::LogOr, 1),
        ("&&", BinOp::LogAnd, 2),
        ("==", BinOp::Eq, 6),
        ("!=", BinOp::Ne, 6),
        ("<<", BinOp::Shl, 8),
        (">>", BinOp::Shr, 8),
        ("<=", BinOp::Le, 7),
        (">=", BinOp::Ge, 7),
        ("<", BinOp::Lt, 7),
        (">", BinOp::Gt, 7),
        ("|", BinOp::Or, 3),
        ("^", BinOp::Xor, 4),
        ("&", BinOp::And, 5),
        ("+", BinOp::Add, 9),
        ("-", BinOp::Sub, 9),
        ("*", BinOp::Mul, 10),
        ("/", BinOp::Div, 10),
        ("%", BinOp::Rem, 10),
    ];

    /// As it is written, and its precedence.
    pub fn spelling(self) -> (&'static str, u8) {
        BinOp::TABLE.iter().find(|r| r.1 == self).map_or(("?", 0), |r| (r.0, r.2))
    }
}

/// An expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A number.
    Num(u64),
    /// `$name`: a variable of the session.
    Var(String),
    /// The name of something that the program has: a location or a region of memory, which is its
    /// first address, or a register of a module, which is what it holds.
    Place(String),
    /// A plain name: `event`, `time`, `marker`, `batch`, `phase`, `faults`, `end`, ..
    Name(String),
    /// `tx[3]`, `q0.rx[i].len_ctrl.dmb`: a slot and the path of names after it.
    Slot {
        /// Queue.
        queue: QueueRef,
        /// Ring.
        dir: Dir,
        /// Index.
        index: Box<Expr>,
        /// `len_ctrl`, `dmb`; empty for the slot itself.
        path: Vec<String>,
    },
    /// `length`, `len_ctrl.dmb`, `index`: of the slot that `find` asks about.
    Here(Vec<String>),
    /// `q0.free`, `q0.tx.head`: a property of a queue or of one of its rings.
    Queue {
        /// Queue.
        queue: QueueRef,
        /// The names after it, such as `["tx", "head"]`.
        path: Vec<String>,
    },
    /// `mem8[..]`, `mem16[..]`, `mem32[..]`, `mem64[..]`: little-endian memory.
    Mem {
        /// Bytes: 1, 2, 4, 8.
        width: u8,
        /// Address.
        addr: Box<Expr>,
    },
    /// `reg[0x200]`, `q0.reg[0x200]`: a register of a queue's engine.
    Reg {
        /// The queue whose engine is meant.
        queue: QueueRef,
        /// Offset inside the engine's block.
        offset: Box<Expr>,
    },
    /// A unary operation.
    Unary(UnOp, Box<Expr>),
    /// A binary operation.
    Binary(BinOp, Box<Expr>, Box<Expr>),
}

/// Properties of a session by plain name, with what each is.
pub const PROPERTIES: &[(&str, &str)] = &[
    ("event", "number of the position's event"),
    ("end", "number of the last event; an error until a run came there"),
    ("time", "virtual time, microseconds"),
    ("marker", "the marker word that the selected queue's newest batch polls"),
    ("batch", "the batch of the newest event"),
    ("phase", "the host's phase: 1 stage, 2 trigger, 3 doorbell, 4 poll, 5 ack"),
    ("ret", "what the last call returned"),
    ("faults", "causes recorded so far"),
    ("findings", "findings so far"),
    ("timeouts", "batches that timed out so far"),
];

/// Properties of a ring, `q0.tx.NAME`; without a direction they are the Tx ring's.
pub const RING_PROPERTIES: &[(&str, &str)] = &[
    ("size", "slots"),
    (
        "free",
        "free slots; of a queue: the smaller count of its two rings; no value where the ring is authored elsewhere",
    ),
    ("next_desc_idx", "producer cursor"),
    ("next_cdesc_idx", "ack cursor"),
    ("desc_ring_id", "phase of the next slot taken"),
    ("head", "head register's index"),
    ("tail", "tail register's index"),
    ("staged", "descriptors written since initialisation"),
    ("posted", "descriptors posted by doorbells"),
    ("fetched", "descriptors fetched"),
    ("visible", "descriptors whose bytes are visible"),
    ("retired", "descriptors retired"),
    ("acked", "descriptors acked"),
    ("base", "address of slot 0"),
];

/// Properties of a queue alone, `q0.NAME`, beside those of its Tx ring.
pub const QUEUE_PROPERTIES: &[(&str, &str)] = &[
    ("marker", "the marker word that the queue's newest batch polls"),
    ("batches", "batches rung so far"),
];

/// Properties of a slot, `tx[3].NAME`, beside its words and their fields.
pub const SLOT_PROPERTIES: &[(&str, &str)] = &[
    ("addr", "address of the slot"),
    ("phase", "its phase: the field ring_id"),
    (
        "life",
        "its life: 0 faulted, 1 guard, 2 acked, 3 retired, 4 visible, 5 fetched, 6 posted, 7 staged, 8 stale, 9 never written, 10 not run",
    ),
];

/// The number of the slot that `find` asks about.
pub const INDEX: &str = "index";

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl Expr {
    /// Whether its value depends on a name of the table, as `end` is one.
    pub fn names(&self, name: &str) -> bool {
        match self {
            Expr::Name(n) => n == name,
            Expr::Slot { index: e, .. }
            | Expr::Mem { addr: e, .. }
            | Expr::Reg { offset: e, .. }
            | Expr::Unary(_, e) => e.names(name),
            Expr::Binary(_, a, b) => a.names(name) || b.names(name),
            Expr::Place(_) | Expr::Num(_) | Expr::Var(_) | Expr::Here(_) | Expr::Queue { .. } => {
                false
            }
        }
    }

    /// Calls `f` for every name of something that the program has.
    pub fn each_place(&self, f: &mut dyn FnMut(&Expr)) {
        self.each(&mut |e| {
            if matches!(e, Expr::Place(_)) {
                f(e);
            }
        });
    }

    /// Calls `f` with itself and every part of it.
    pub fn each(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        match self {
            Expr::Slot { index: e, .. }
            | Expr::Mem { addr: e, .. }
            | Expr::Reg { offset: e, .. }
            | Expr::Unary(_, e) => e.each(f),
            Expr::Binary(_, a, b) => {
                a.each(f);
                b.each(f);
            }
            Expr::Num(_)
            | Expr::Var(_)
            | Expr::Place(_)
            | Expr::Name(_)
            | Expr::Here(_)
            | Expr::Queue { .. } => {}
        }
    }

    /// Writes it with the brackets that `outer`, the precedence around it, asks for.
    fn write(&self, f: &mut fmt::Formatter<'_>, outer: u8) -> fmt::Result {
        let path = |f: &mut fmt::Formatter<'_>, names: &[String]| {
            names.iter().try_for_each(|n| write!(f, ".{n}"))
        };
        match self {
            Expr::Num(n) if *n < 1 << 16 => write!(f, "{n}"),
            Expr::Num(n) => write!(f, "{n:#x}"),
            Expr::Var(name) => write!(f, "${name}"),
            Expr::Name(name) => f.write_str(name),
            Expr::Place(name) if is_bare_place(name) => f.write_str(name),
            Expr::Place(name) => f.write_str(&quote(name)),
            Expr::Slot { queue, dir, index, path: names } => {
                write!(f, "{queue}{}{dir}[{index}]", dot(queue))?;
                path(f, names)
            }
            Expr::Here(names) => f.write_str(&names.join(".")),
            Expr::Queue { queue, path: names } => {
                let names = names.join(".");
                write!(f, "{queue}{}{names}", if names.is_empty() { "" } else { dot(queue) })
            }
            Expr::Mem { width, addr } => write!(f, "mem{}[{addr}]", u32::from(*width) * 8),
            Expr::Reg { queue, offset } => write!(f, "{queue}{}reg[{offset}]", dot(queue)),
            Expr::Unary(op, e) => {
                f.write_str(op.text())?;
                e.write(f, 11)
            }
            Expr::Binary(op, a, b) => {
                let (text, level) = op.spelling();
                let bracket = level < outer;
                if bracket {
                    f.write_str("(")?;
                }
                a.write(f, level)?;
                write!(f, " {text} ")?;
                b.write(f, level + 1)?;
                if bracket {
                    f.write_str(")")?;
                }
                Ok(())
            }
        }
    }
}

/// Whether the name of a place stands for itself in an expression, where `-` and `.` are other
/// things than parts of a name.
pub fn is_bare_place(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(inner) && is_plain_name(name)
}

fn dot(queue: &QueueRef) -> &'static str {
    if *queue == QueueRef::Selected { "" } else { "." }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_stand_only_where_precedence_asks_for_them() {
        let n = |v| Box::new(Expr::Num(v));
        let sum = Expr::Binary(BinOp::Add, n(1), n(2));
        let e = Expr::Binary(BinOp::Mul, Box::new(sum.clone()), n(3));
        assert_eq!(e.to_string(), "(1 + 2) * 3");
        let e = Expr::Binary(BinOp::Sub, n(1), Box::new(sum));
        assert_eq!(e.to_string(), "1 - (1 + 2)");
    }
}
