//! The backend IR: its model, where its operands lie in memory, its verifier, its reference
//! interpreter. No file formats and no passes live here (`docs/bir.md`).

pub mod blocks;
pub mod compute;
pub mod enums;
pub mod exec;
pub mod expr;
pub mod generate;
pub mod layout;
pub mod memory;
pub mod module;
pub mod operands;
pub mod quick;
pub mod shrink;
pub mod transfer;
pub mod value;
pub mod verify;
pub mod walk;

pub use enums::{
    AluOp, Arch, BranchOp, DgeType, Dtype, EdgeKind, Engine, Mode, Opcode, QosClass, Space,
    TensorKind, TransposeOp,
};
pub use expr::Expr;
pub use layout::{Layout, PlaceError, Placed};
pub use memory::Memory;
pub use module::*;
pub use operands::Operands;
pub use transfer::{Op, Side, Transfer};
pub use value::{Extra, Value};
pub use walk::Walk;

use std::sync::Arc;

/// A name of the module: shared, compared by its text.
pub type Name = Arc<str>;
