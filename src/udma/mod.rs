//! The wire: what sixteen bytes in a ring mean, which registers a queue has, what can go
//! wrong, and what each driver release permits.
//!
//! Everything here is a table or a pure function over one value; there is no state and no
//! I/O. The rules are written down in `docs/wire.md`, `docs/registers.md` and
//! `docs/driver.md`.

pub mod arch;
pub mod bringup;
pub mod builder;
pub mod cause;
pub mod class;
mod count;
pub mod desc;
pub mod describe;
pub mod digits;
pub mod engine_state;
pub mod field;
pub mod host;
pub mod known;
pub mod lanes;
pub mod order;
pub mod payload;
pub mod profile;
pub mod queue_init;
pub mod reg;
pub mod ring;
pub mod rows;
pub mod template;

pub use arch::Generation;
pub use bringup::{Access, bring_up};
pub use builder::{BuildError, Errno, PairRequest, build_pair, stage_pair};
pub use cause::Cause;
pub use class::{Class, Family, readings};
pub use count::count_of;
pub use desc::{DESC_BYTES, Desc, Dir, View};
pub use describe::{Note, explain, explain_word, flags, notes, sentence};
pub use engine_state::EngineState;
pub use field::{Field, Kind, Word};
pub use known::known;
pub use lanes::Rows;
pub use order::Barrier;
pub use payload::Payload;
pub use profile::Profile;
pub use queue_init::{QueueInit, QueueInitError, QueueWrite, RingAt, queue_init};
pub use reg::{FieldRow, Place};
