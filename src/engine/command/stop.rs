//! What a session can be asked to stop at, and what then (`docs/stops.md`).

use super::Command;
use crate::diag::Place;
use crate::engine::expr::{Expr, QueueRef};
use crate::udma::Dir;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Numbers of stops or displays: ranges with both ends included; all of them where it is empty.
pub type Numbers = Vec<(u64, u64)>;

/// Which accesses of watched bytes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Access {
    /// Reads.
    Read,
    /// Writes, of the value that was there as well.
    #[default]
    Write,
    /// Both.
    Access,
    /// Writes after which a byte is another one than before.
    Change,
}

impl Access {
    /// All choices.
    pub const ALL: [Access; 4] = [Access::Read, Access::Write, Access::Access, Access::Change];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Access => "access",
            Access::Change => "change",
        }
    }
}

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Watched {
    /// An expression: the marker word where it is `marker`, a slot's bytes where it is a slot or
    /// a word or field of one (not its pointer), the bytes that it reads where it is memory; else
    /// its value is an address.
    Expr(Expr),
    /// Slots of a ring, the last included.
    Slots {
        /// Queue.
        queue: QueueRef,
        /// Ring.
        dir: Dir,
        /// First.
        first: u64,
        /// Last.
        last: u64,
    },
    /// A memory location of a module.
    Name(String),
    /// A semaphore of a module by its id.
    Semaphore(u64),
}

/// A watchpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Watch {
    /// What.
    pub what: Watched,
    /// Bytes, where they do not follow from what is watched.
    pub len: Option<Expr>,
    /// Which accesses.
    pub on: Access,
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            // A bare number is an address.
            Watched::Expr(Expr::Num(n)) => write!(f, "{n:#x}")?,
            Watched::Expr(e) => write!(f, "{e}")?,
            Watched::Slots { queue, dir, first, last } => {
                let (queue, dir, first, last) = (*queue, *dir, *first, *last);
                write!(f, "{}", super::Loc::Slots { queue, dir, first, last })?;
            }
            Watched::Name(name) => f.write_str(&super::name_text(name))?,
            Watched::Semaphore(id) => write!(f, "semaphore {id}")?,
        }
        if let Some(len) = &self.len {
            write!(f, ",{len}")?;
        }
        if self.on != Access::default() {
            write!(f, " {}", self.on.name())?;
        }
        Ok(())
    }
}

/// What a catchpoint catches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Catch {
    /// A fault, of this name where one is named.
    Fault(Option<String>),
    /// An event that closes a race.
    Race,
    /// A doorbell, of this queue where one is named.
    Doorbell(Option<QueueRef>),
    /// The marker word becoming the marker.
    Marker,
    /// A batch that is given up.
    Timeout,
    /// A driver call that returns anything but 0; that returns this, where it is said.
    Ret(Option<i64>),
    /// A driver call that hits an assertion.
    Bug,
    /// An engine queue or a sequencer that cannot go on.
    Stall,
    /// The files were changed and the program is loaded anew.
    Reload,
}

impl Catch {
    /// What may be caught, as it is written.
    pub const WORDS: [&str; 8] =
        ["fault", "race", "doorbell", "marker", "timeout", "ret", "stall", "reload"];
}

impl fmt::Display for Catch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Catch::Fault(None) => f.write_str("fault"),
            Catch::Fault(Some(name)) => write!(f, "fault {name}"),
            Catch::Race => f.write_str("race"),
            Catch::Doorbell(None) => f.write_str("doorbell"),
            Catch::Doorbell(Some(queue)) => write!(f, "doorbell {queue}"),
            Catch::Marker => f.write_str("marker"),
            Catch::Timeout => f.write_str("timeout"),
            Catch::Ret(None) => f.write_str("ret"),
            Catch::Ret(Some(code)) => write!(f, "ret {code}"),
            Catch::Bug => f.write_str("ret BUG"),
            Catch::Stall => f.write_str("stall"),
            Catch::Reload => f.write_str("reload"),
        }
    }
}

/// What becomes of stops that are named by `enable` and `disable`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Switch {
    /// Heeded.
    On,
    /// Passed over.
    Off,
    /// Heeded, and passed over after the next hit.
    Once,
    /// Heeded, and deleted at the next hit.
    Delete,
}

/// What `commands` does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Attached {
    /// Show them; in a script the lines of a block follow.
    Show,
    /// Take them away.
    Clear,
    /// Execute these whenever the stop is hit.
    Set(Block),
}

/// Commands that are executed when a stop is hit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Block {
    /// Nothing is told of the stop itself.
    pub silent: bool,
    /// The commands, in order.
    pub lines: Vec<BlockLine>,
}

/// A command of a block.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BlockLine {
    /// The command.
    pub command: Command,
    /// How and where it is written.
    pub written: Written,
}

/// How and where a command is written. It is no part of what the command says: all are equal.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// The line, without blanks around it.
    pub text: String,
    /// Where it stands; nothing where it was typed.
    pub place: Option<Arc<Place>>,
}

impl PartialEq for Written {
    fn eq(&self, _: &Written) -> bool {
        true
    }
}

impl Eq for Written {}

impl Hash for Written {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
