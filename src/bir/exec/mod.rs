//! The reference interpreter: what a module means, at any stage of its lowering
//! (`docs/execution.md`).
//!
//! Control is apart from effect. [`Control`] is the state of the instruction streams of all
//! engines: it says who can act ([`Control::next_engine`], [`Control::ready`]), what that one
//! does to memory ([`Control::fetch`]), and goes on when that is done ([`Control::complete`]).
//! [`run`] does so on a [`crate::bir::Memory`], at once; a model of rings does it in its own
//! time, and with its own memory.
//!
//! ```text
//! Program (prepared, shared)  --+
//! Control (small, cloned)      --+--> fetch -> Action -> (memory) -> complete
//! ```

// A finding is large, and is made once: where it ends the execution.
#![allow(clippy::result_large_err)]

mod action;
mod apply;
mod control;
mod edges;
mod fetch;
mod indirect;
mod opaque;
mod order;
mod program;
mod register;
mod resolve;
mod run;
mod stream;

#[cfg(test)]
mod tests;

pub use action::{Action, Fired, Group};
pub use apply::{apply, gather, locate, result, scatter};
pub use control::{Choice, Control, Why};
pub use program::{Engines, Item, Program};
pub use resolve::{Env, Family, NoEnv, family, resolve_descriptor, resolve_dma};
pub use run::{Options, Outcome, run, run_from};
