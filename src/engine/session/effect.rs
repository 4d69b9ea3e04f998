//! What a command asks of the world outside, as data: the session touches no file.

use crate::engine::command::ExportForm;

/// What the caller of a session has to do after a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Write the events up to the position, or the rings as they stand, to a file.
    Export {
        /// In which form.
        form: ExportForm,
        /// The file, as the user named it.
        file: String,
    },
}
