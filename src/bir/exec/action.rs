//! What an instruction does to memory, as data.

use crate::bir::blocks::BlockNo;
use crate::bir::module::Pos;
use crate::bir::{Transfer, Walk};

/// What must be done to memory before an instruction is complete.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Nothing: control flow, registers, semaphores.
    Nothing,
    /// Data is moved: one group after the other.
    Transfers(Vec<Group>),
    /// An opaque instruction writes what stands for its result.
    Opaque {
        /// The instruction.
        pos: Pos,
        /// Where, and the packed bytes.
        writes: Vec<(Walk, Vec<u8>)>,
    },
    /// A register goes to memory.
    Store {
        /// The instruction.
        pos: Pos,
        /// Where.
        walk: Walk,
        /// The packed bytes.
        bytes: Vec<u8>,
    },
}

/// One movement: all sources of all its transfers are read before anything is written. A
/// transfer before lowering, or one descriptor.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The instruction: the transfer or the descriptor.
    pub pos: Pos,
    /// Position of the descriptor in its block; 0 for a transfer before lowering.
    pub descriptor: u32,
    /// The block that was fired.
    pub fired: Option<Fired>,
    /// What is moved; empty where an index was skipped.
    pub transfers: Vec<Transfer>,
    /// First address of an index list that was read although nobody wrote it.
    pub unwritten_index: Option<u64>,
}

/// A block that a trigger fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fired {
    /// The trigger.
    pub trigger: Pos,
    /// The block, and with it its queue ([`super::Program::blocks`]).
    pub block: BlockNo,
    /// How often this trigger had fired before.
    pub count: u64,
}
