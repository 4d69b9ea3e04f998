//! One concrete movement of data: every address known, nothing left to look up.
//!
//! What a transfer or a descriptor is at the moment it is executed. The reference interpreter
//! carries it out on memory; the author turns it into ring descriptors.

use super::enums::{AluOp, Dtype, TransposeOp};
use super::module::Pos;
use super::walk::Walk;

/// Elements of one type, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Side {
    /// Where they lie.
    pub walk: Walk,
    /// Their type.
    pub dtype: Dtype,
    /// The base was looked up at run time (a register or an index): the descriptors of this
    /// side are patched before the doorbell.
    pub patched: bool,
}

/// What is done with the data.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Element n of the source becomes element n of the destination, cast where types differ.
    Copy,
    /// The four dimensions of the source are permuted into those of the destination.
    Transpose(TransposeOp),
    /// The rows of the source (outermost dimension) are written over and over until the
    /// destination is full: destination row p takes source row p mod rows.
    Replicate,
    /// `acc += c_i * in_i`, or max or min over `c_i * in_i`, in f32, cast at the write.
    Cce {
        /// add, max or min.
        op: AluOp,
        /// One scale for each source.
        constants: Vec<f32>,
    },
}

/// A movement.
#[derive(Debug, Clone, PartialEq)]
pub struct Transfer {
    /// What is done.
    pub op: Op,
    /// One source; several for CCE.
    pub sources: Vec<Side>,
    /// The destination.
    pub dest: Side,
    /// Whether bytes that nobody wrote may be read without a word.
    pub can_read_uninit: bool,
    /// The instruction that it stems from.
    pub from: Pos,
}
