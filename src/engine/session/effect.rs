//! What a command asks of the world outside, as data: the session touches no file.

use crate::diag::Diagnostic;
use crate::engine::command::{ExportForm, PictureForm, SaveFormat};
use crate::engine::program::Program;
use std::sync::Arc;

/// What the caller of a session has to do after a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Write a program to a file.
    Save {
        /// The file, as the user named it.
        file: String,
        /// How.
        format: SaveFormat,
        /// Over a file that is there.
        over: bool,
        /// What.
        program: Arc<Program>,
    },
    /// Write a text to a file, over one that is there.
    Write {
        /// The file, as the user named it.
        file: String,
        /// What.
        text: String,
    },
    /// Write the events up to the position, or the rings as they stand, to a file.
    Export {
        /// In which form.
        form: ExportForm,
        /// The file, as the user named it.
        file: String,
    },
    /// Write a picture of the screen to a file.
    Screenshot {
        /// The file, as the user named it.
        file: String,
        /// In which form.
        form: PictureForm,
        /// Columns and rows, where they were said.
        size: Option<(u16, u16)>,
        /// Over a file that is there.
        over: bool,
    },
    /// Load the session's files again.
    Reload,
}

impl Effect {
    /// The file that is written; empty where none is.
    pub fn file(&self) -> &str {
        match self {
            Effect::Save { file, .. }
            | Effect::Write { file, .. }
            | Effect::Screenshot { file, .. }
            | Effect::Export { file, .. } => file,
            Effect::Reload => "",
        }
    }

    /// Why nobody but the screen can do it, where that is so.
    pub fn only_on_the_screen(&self) -> Option<Diagnostic> {
        let reload = matches!(self, Effect::Reload);
        let help = "a script is run on the files as they are: `dmadbg watch FILE --script S`";
        reload.then(|| Diagnostic::new("S042", "no files are loaded again here").help(help))
    }
}
