//! Why a transfer cannot be said in descriptors.

use crate::bir::{AluOp, Dtype, Pos};
use crate::diag::Diagnostic;
use crate::limits::MAX_AUTHORED_DESCS;
use crate::udma::count_of;

/// Why, and for which instruction.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{why}")]
pub struct AuthorError {
    /// The instruction that the transfer stems from.
    pub from: Pos,
    /// What is the matter.
    pub why: Why,
}

/// What is the matter with a transfer.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Why {
    /// The number of sources does not fit the operation.
    #[error("{} cannot be those of the operation", count_of(.0, "source"))]
    Sources(usize),
    /// The scales are not one for each source.
    #[error("{} for {}", count_of(.constants, "scale"), count_of(.sources, "source"))]
    Constants {
        /// Scales.
        constants: usize,
        /// Sources.
        sources: usize,
    },
    /// The two sides do not hold equally much: elements, or bytes where the types agree.
    #[error("the source holds {read}, the destination {written}")]
    Counts {
        /// In the source.
        read: u64,
        /// In the destination.
        written: u64,
    },
    /// Values of the one type cannot be made into the other.
    #[error("{0} cannot be cast to {1}")]
    Cast(Dtype, Dtype),
    /// A type on which the operation does not compute.
    #[error("{0} is no type that compute descriptors work on")]
    Dtype(Dtype),
    /// An operation that compute descriptors do not have.
    #[error("compute descriptors do not know `{0}`")]
    Operation(AluOp),
    /// The source of a replication does not divide its destination.
    #[error("{read} source elements do not divide the {written} of the destination")]
    Replication {
        /// In the source.
        read: u64,
        /// In the destination.
        written: u64,
    },
    /// Replication to several destinations before v3.
    #[error("replication to several destinations needs v3 or later")]
    ReplicationOnV2,
    /// A transpose that is not between four dimensions.
    #[error("a transpose needs four dimensions, the source has {0}")]
    Rank(usize),
    /// More descriptors than one block may have.
    #[error("more than {MAX_AUTHORED_DESCS} descriptors in one direction")]
    TooMany,
    /// Source and destination overlap so that no order of pieces works, and there is no scratch.
    #[error(
        "source and destination overlap so that no order of pieces works; scratch must have {}, there are {have}",
        count_of(.need, "byte")
    )]
    Overlap {
        /// Bytes needed.
        need: u64,
        /// Bytes that there are.
        have: u64,
    },
}

impl Why {
    /// Its code in the table of diagnostics.
    pub fn code(self) -> &'static str {
        match self {
            Why::ReplicationOnV2 => "D062",
            Why::TooMany => "D063",
            Why::Overlap { .. } => "D064",
            _ => "D061",
        }
    }
}

impl AuthorError {
    /// As a diagnostic, without a place.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(self.why.code(), self.why.to_string())
    }
}
