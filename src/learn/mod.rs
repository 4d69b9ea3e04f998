//! Lessons: what one asks, how an answer is judged, how far a learner has come
//! (`docs/learn.md`).
//!
//! A lesson is a file ([`read`]): a program, a few facts with their sources, and tasks. A
//! [`Play`] is a lesson under way: it stands around a session, judges it after every command
//! and answers the commands of the group `learn`. [`solve`] tries a lesson by itself, so that
//! none promises what does not hold. Nothing here reads a file: programs beside a lesson are
//! handed in by the caller.

mod allowed;
pub mod bundled;
mod fields;
mod judge;
mod model;
mod play;
pub mod progress;
mod read;
pub mod solve;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;

pub use fields::{FIELD_LESSONS, lesson_of};
pub use model::{Fact, Goal, Lesson, Line, ProgramRef, Races, State, Task, Wrong, WrongWay};
pub use play::{Fetch, Play, Ready, TaskState, Told, ToldKind, is_lesson_command, prepare};
pub use read::read;
