//! The screen: a model, a pure update, a view per pane, and a thin shell around them.
//!
//! [`update::update`] turns a message (key, mouse, resize) into changes of the [`Model`] and
//! into [`Effect`]s; it does no I/O. The [`view`] draws a model into a buffer and changes
//! nothing. [`shell::run`] owns the terminal and carries out the effects. Every key is a row
//! of [`keymap::KEYMAP`]; those that move or look name a command of the command table and do
//! what that command does. The screen is described in `docs/screen.md`.

mod abridged;
pub mod aligned;
pub mod arrange;
pub mod assembly;
pub mod begun;
mod budget;
pub mod build;
pub mod colour;
pub mod config;
pub mod copy;
pub mod derived;
mod drawn;
pub mod flip;
pub mod folding;
pub mod grid;
pub mod highlight;
pub mod journal;
pub mod jumps;
pub mod keymap;
pub mod layout;
pub mod lesson;
pub mod links;
pub mod live;
pub mod model;
pub mod outside;
pub mod palette;
pub mod passes;
pub mod picture;
pub mod record;
pub mod reload;
pub mod rows;
pub mod seams;
pub mod search;
pub mod shell;
pub mod sieve;
pub mod source;
pub mod stacked;
pub mod stops;
pub mod theme;
pub mod ties;
pub mod timeline;
pub mod unlocked;
pub mod update;
pub mod view;

pub use config::Config;
pub use journal::Journal;
pub use layout::Pane;
pub use live::{Fresh, Live, OnChange};
pub use model::{Model, Title};
pub use record::Recorder;
pub use reload::Notice;
pub use shell::{Kept, Opening, Options, ScreenError, check_terminal, run};
pub use theme::Theme;
pub use update::{Effect, Message};
