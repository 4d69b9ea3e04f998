//! `asm` and `disasm`: one form in, the other out.

use super::out::{Failure, Out};
use std::io;
use std::path::Path;

/// Writes a result to a file, or to standard output where none (or `-`) is named.
///
/// # Errors
/// [`Failure`] with the file's name.
pub fn emit(bytes: &[u8], to: Option<&Path>, out: &mut Out<'_>) -> Result<(), Failure> {
    match to.filter(|p| p.as_os_str() != "-") {
        None => out.bytes(bytes)?,
        Some(path) => std::fs::write(path, bytes)
            .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?,
    }
    Ok(())
}
