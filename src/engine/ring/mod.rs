//! The ring model: queues, the host agent, the engine agent, memory, and the events that
//! they produce one by one.
//!
//! [`Machine::step`] is the whole interface: it makes the next event happen and says what it
//! was. The order of events is the calm one unless the program has a schedule (`loose`): the
//! engine works as soon as it may, everything becomes visible in ring order. What silicon does inside is not public; each such choice is
//! marked MODEL where it is taken and listed in `docs/decisions.md`.

pub mod device;
pub mod digest;
pub mod edit;
pub mod end;
pub mod event;
pub mod few;
pub mod host;
pub mod inject;
pub mod json;
pub mod keys;
pub mod leap;
pub mod life;
mod lint;
pub mod loose;
pub mod machine;
pub mod memory;
mod poll;
pub mod queue;
pub mod seq;

pub use event::{Agent, Event, EventKind, Phase, Ret, Role};
pub use leap::{Leap, LeapWork};
pub use life::Life;
pub use machine::{Machine, Step};
pub use memory::Memory;

#[cfg(test)]
mod tests;
