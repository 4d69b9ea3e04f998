//! The wire: what sixteen bytes in a ring mean, which registers a queue has, what can go
//! wrong, and what each driver release permits.
//!
//! Everything here is a table or a pure function over one value; there is no state and no
//! I/O. The rules are written down in `docs/wire.md`, `docs/registers.md` and
//! `docs/driver.md`.

pub mod arch;
pub mod builder;
pub mod class;
pub mod desc;
pub mod describe;
pub mod field;
pub mod order;
pub mod profile;
pub mod ring;
pub mod template;

pub use arch::Generation;
pub use builder::{BuildError, Errno, PairRequest, build_pair, stage_pair};
pub use class::{Class, Family, readings};
pub use desc::{DESC_BYTES, Desc, Dir, View};
pub use describe::{FieldRow, Note, explain, explain_word, flags, notes, sentence};
pub use field::{Field, Kind, Word};
pub use order::Barrier;
pub use profile::Profile;
